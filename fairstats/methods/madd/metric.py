"""`madd`, the model absolute density distance.

Pairs, estimate, grid, interval, test and verdict of each.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import as_generator
from fairstats.ground.errors import DataWarning, InputError, InsufficientEvidenceWarning, caution
from fairstats.ground.groups import find_reference
from fairstats.ground.multiplicity import adjust_pvalues, make_pairs
from fairstats.ground.progress import each_of, under_way
from fairstats.ground.results import HypothesisTest, Interval
from fairstats.ground.scores import Bins, bandwidth_order
from fairstats.ground.verdict import Evidence, beside_equality, fair_range, settle, with_fields
from fairstats.methods.madd import permutation
from fairstats.methods.madd.columns import RowScores, name_in_column, read_columns, split_columns
from fairstats.methods.madd.curve import (
    MaddCurve,
    StableBandwidth,
    curves_of,
    stable_bandwidths,
    stable_means,
)
from fairstats.methods.madd.noise import SMALLEST_GROUP, DistanceLimits, distance_limits, noise_of
from fairstats.methods.madd.result import (
    FEW_GROUPS,
    MOST_GRID_BINS,
    REST,
    LargestMadd,
    MaddComparison,
    MaddResult,
    MaddSettings,
    make_settings,
)
from fairstats.methods.madd.scales import scale_scores
from fairstats.methods.madd.scores import (
    GridCounts,
    GroupScores,
    Sample,
    bin_edges,
    histogram_distance,
    read_scores,
)
from fairstats.numerics.draws import SharedNormals

#: Fewer rows than this in a comparison call for a warning.
FEW_ROWS = 50
#: Rows up to which Algorithm 1 may run again in every permutation.
MOST_SEARCHED_ROWS = 100_000
#: Pairs whose bins are held in memory at a time.
_PAIRS_TOGETHER = 256
#: Draws behind the limits of one comparison of plain rows (250 comparisons at 95% need these).
MOST_LIMIT_DRAWS = 10_000
_NAN = float("nan")
_LIMITS_METHOD = "directional delta"
_NULL_HYPOTHESIS = "one score distribution in both groups"


def madd(
    score: Any = None,
    *,
    sensitive_features: Any = None,
    bandwidth: float | Literal["auto"] = "auto",
    n_bins: int | None = None,
    grid_bins: int | None = None,
    scale: Literal["probability", "rank", "class"] = "probability",
    comparisons: Literal["auto", "all", "rest", "reference"] = "auto",
    reference: Hashable | None = None,
    sample_weight: Any = None,
    cluster: Any = None,
    permutations: Literal["grid", "search"] = "grid",
    margin: float = 0.2,
    confidence_level: float = 0.95,
    adjust: str = "holm",
    n_resamples: int = 1_999,
    max_bins: int = 1000,
    min_points: int = 50,
    width: float = 0.45,
    missing: Literal["raise", "drop", "group"] = "raise",
    groups: Sequence[Hashable] | None = None,
    counts: Any = None,
    rng: Any = None,
) -> MaddResult:
    """Model absolute density distance: how far the score distributions of groups lie apart.

    MADD = Σ_k |d0_k − d1_k| ∈ [0, 2], d_k the share of a group's scores in bin k: 0 where the
    groups have the same histogram, 2 where they share no bin. MADD/2 bounds the difference of
    selection rates under any rule by bins.

    Parameters
    ----------
    score : array-like of float, shape (n,) or (n, k)
        Scores in [0, 1]; with another `scale` a numeric outcome, or predicted classes. A matrix or
        data frame of k columns has a MADD per column: probabilities of k classes, or with
        ``scale="rank"`` k numeric outcomes. Groups are then named with their column, as in
        ``result["women, low", "men, low"]``, p-values are adjusted over all columns, and `largest`
        is the largest of all, tested by permutations of whole rows.
    sensitive_features : array-like (n,) or (n, k), data frame or mapping
        Group of each row; several columns are crossed.
    bandwidth : "auto" or float, default "auto"
        "auto": MADD is tested and judged in bins at the quantiles of the pooled scores; the
        published MADD, the mean over the stable stretch of bandwidths (`stable_bandwidth`), stands
        beside it as `headline`. A number h in (0, 1] makes ⌊1/h⌋ equally wide bins, as the paper
        does: then all is of the MADD in these.
    n_bins : int, optional
        Number of equally wide bins, instead of a bandwidth. Above 2,000 they give the headline
        only.
    grid_bins : int, optional
        Number of quantiles of the pooled scores that are judged, at most 2,000; with `n_bins` those
        are the headline. Default: ⌈1/h_sup⌉ of every comparison, by group sizes only.
    scale : {"probability", "rank", "class"}
        "rank": `score` is a numeric outcome of any range, an income, a mark, a prediction of a
        regression; its pooled mid-ranks are taken, so that the judged bins end at its quantiles.
        "class": `score` are predicted classes, of which each is a bin: Σ_c |p0_c − p1_c|, whatever
        the order of the classes.
    comparisons : {"auto", "all", "rest", "reference"}
        All pairs; each group against all others; each against the reference. "auto": all pairs of
        up to 10 groups, of more (or where a reference is named) each against the reference. With
        several comparisons the largest is given, too, with a p-value that accounts for the search.
    reference : hashable, optional
        For ``comparisons="reference"``; default the largest group.
    sample_weight : array-like of float, shape (n,), optional
        Weights ≥ 0. Linearised variances; the test is a multiplier bootstrap, since weights forbid
        permutation. Weights that are the same for all rows of each group change no comparison of
        two groups.
    cluster : array-like, shape (n,), optional
        Sampling unit of each row: permuted whole where every unit lies in one group.
    permutations : {"grid", "search"}
        "search" also runs Algorithm 1 again in every permutation: an exact p-value of the searched
        estimate (plain rows, at most 10⁵; some 15 ms per permutation at 20,000).
    margin : float, default 0.2
        The verdict asks on which side of it the distance in the bins lies; 0.2 bounds differences
        of selection rates by 0.1.
    confidence_level : float, default 0.95
    adjust : str, default "holm"
        Adjustment of the p-values over the comparisons.
    n_resamples : int, default 1999
        Permutations, and bootstrap resamples; of many comparisons more, 2·comparisons/(1 −
        `confidence_level`) up to 10,000, so that an adjusted p-value can be as small as a verdict
        needs.
    max_bins, min_points, width
        Of the search: bandwidths 1, 1/2, …, 1/`max_bins`, and Algorithm 1's two conditions.
    missing : {"raise", "drop", "group"}
    groups : sequence, optional
        Order of the groups.
    counts : Tally, optional
        Made with `score`, in place of the rows; not of clustered ones.
    rng : None, int or numpy.random.Generator

    Returns
    -------
    MaddResult
        `estimate`, `null_mean`, `bias_corrected`, `confidence_interval`, `lower_limit`, `pvalue`,
        `mid_pvalue` and `verdict`, all of the MADD in `edges` (`contributions()` prints the bins);
        beside them `headline`, `headline_null_mean`, `bandwidth` (its stable stretch) and `h_sup`.

    Raises
    ------
    InputError
        Scores outside [0, 1], missing values, one group, a bandwidth outside (0, 1], no eligible
        stretch, and the like.

    Warns
    -----
    InsufficientEvidenceWarning
        Where a group has no row, or one.
    DataWarning
        Below 50 rows, where all scores are equal, and where clusters lie in several groups.

    Notes
    -----
    The bins that are judged end at the quantiles of the scores of both groups together: m =
    ⌈1/h_sup⌉ bins, or the distinct scores if these are no more; equal scores are never parted. They
    are blind to the labels, so that the permutation test is exact, and follow a monotone map of the
    scores: a model whose scores all lie near 1% is judged like any other. The distance δ = Σ_k
    |p0_k − p1_k| that the interval is for is that in these very bins; it depends on the shares that
    the groups have of the pooled rows.

    The estimate is biased upwards, the more the smaller the groups and the bins: read it beside
    `null_mean`, the exact mean over all permutations of the labels. p = (1 + #{MADD* ≥ MADD})/(B +
    1) is exact (counts with a variance of 30 and more are drawn by their quantiles: a test at 5%
    has 5% to .0015); mid-p counts half of the ties.

    For the L1 distance of the densities, δ ≤ ∫|f0 − f1|, only the lower limit holds: without
    smoothness no upper one exists. The percentile bootstrap is not offered: it never covers equal
    groups. Intervals that do are conservative where groups may be alike.

    *Beside maddlib.* The authors' package (maddlib 1.1.0) finds another headline: its stretches are
    at least .05 wide instead of .45·h_sup as in Algorithm 1, it skips short stretches instead of
    extending them, and ⌊1/h⌋ in floating point loses a bin for 70 of its 999 bandwidths. In its
    tutorial: gender .4622, here .4427; disability .4576, here .3758.

    References
    ----------
    .. [1] Verger, Fan, Lallé, Bouchet, Luengo (2024). A comprehensive study on evaluating and
       mitigating algorithmic unfairness with the MADD metric. JEDM 16(1), 365–409.
       doi:10.5281/zenodo.12180668
    .. [2] Fang, Santos (2019). Inference on directionally differentiable functions. Rev. Econ.
       Studies 86, 377–412.

    Examples
    --------
    >>> import numpy as np, fairstats as fs
    >>> rng = np.random.default_rng(1)
    >>> score = np.concatenate([rng.beta(2, 4, 2000), rng.beta(4, 2, 2000)])
    >>> result = fs.madd(score, sensitive_features=np.repeat(["a", "b"], 2000), rng=1)
    >>> low, high = result.confidence_interval
    >>> print(f"{result.estimate:.2f} [{low:.2f}, {high:.2f}] in {result.grid_bins} bins, {result.verdict}")
    1.24 [1.19, 1.29] in 8 bins, violated
    >>> print(f"p = {result.pvalue:.4f}; as published {result.headline:.2f}")
    p = 0.0005; as published 1.25

    Three predicted classes, and a numeric outcome:

    >>> grade = ["A"] * 30 + ["B"] * 50 + ["C"] * 20 + ["A"] * 10 + ["B"] * 60 + ["C"] * 30
    >>> group = np.repeat(["a", "b"], 100)
    >>> print(f"{fs.madd(grade, sensitive_features=group, scale='class', rng=1).estimate:.2f}")
    0.40
    >>> income = 1_000 * np.exp(6 * score)
    >>> wide = fs.madd(income, sensitive_features=np.repeat(["a", "b"], 2000), scale="rank", rng=1)
    >>> wide.estimate == result.estimate
    True

    Probabilities of three classes, a column each:

    >>> share = rng.dirichlet([2, 3, 4], 200)
    >>> three = fs.madd(share, sensitive_features=group, rng=1)
    >>> three["a, 2", "b, 2"].estimate == fs.madd(share[:, 2], sensitive_features=group).estimate
    True
    >>> bool(three.largest.pvalue > 0.05)
    True
    """
    options: dict[str, Any] = {
        "bandwidth": bandwidth,
        "grid_bins": grid_bins,
        "comparisons": comparisons,
        "permutations": permutations,
        "margin": margin,
        "confidence_level": confidence_level,
        "adjust": adjust,
        "n_resamples": n_resamples,
        "max_bins": max_bins,
        "min_points": min_points,
        "width": width,
    }
    row_columns: dict[str, Any] = {
        "sensitive_features": sensitive_features,
        "sample_weight": sample_weight,
        "cluster": cluster,
        "missing": missing,
        "groups": groups,
    }
    several = split_columns(score, scale) if counts is None else None
    if several is not None:
        rows = read_columns(several, **row_columns)
        settings = make_settings(n_bins=n_bins, **options)
        result = madd_of_columns(rows, reference, settings, rng)
        note = several.note
    else:
        scaled = scale_scores(
            score,
            scale,
            counts=counts,
            bandwidth=bandwidth,
            n_bins=n_bins,
            grid_bins=grid_bins,
        )
        settings = make_settings(n_bins=scaled.n_bins, **options)
        scores = read_scores(
            counts, settings.n_bins or settings.max_bins, score=scaled.score, **row_columns
        )
        result = madd_of_scores(scores, reference, settings, rng)
        note = scaled.note
    if note:
        noted = [replace(c, note=f"{c.note} {note}".strip()) for c in result.comparisons]
        result = replace(result, comparisons=tuple(noted))
    warn_of(result)
    return result


def madd_of_scores(
    scores: GroupScores,
    reference: Hashable | None,
    settings: MaddSettings,
    rng: Any,
) -> MaddResult:
    """MADD from sorted scores, without warnings."""
    generator, seed = as_generator(rng)
    settings = _with_comparisons(settings, len(scores.groups), reference)
    scores = scores.without_constant_weights(pooled=settings.comparisons == "rest")
    score_pairs, rule_of_reference = _make_score_pairs(scores, reference, settings)
    settings = replace(settings, seed=seed, reference_rule=rule_of_reference)
    n_rows = int(scores.sizes.sum())
    all_plain = all(sample.plain for sample in scores.samples)
    if settings.permutations == "search" and not (all_plain and n_rows <= MOST_SEARCHED_ROWS):
        received = f"'search' with {f'{n_rows:,} rows' if all_plain else 'weights or clusters'}"
        allowed = f"'search' for at most {MOST_SEARCHED_ROWS:,} rows without weights and clusters"
        raise InputError("permutations", got=received, allowed=allowed, cure="permutations='grid'")
    # as many draws behind the limits as the smallest adjusted p-value needs; of plain rows a bound
    # stands for more of them
    limit_draws = int(np.ceil(2 * len(score_pairs) / (1 - settings.confidence_level)))
    bounded = all_plain and limit_draws > MOST_LIMIT_DRAWS
    if bounded:
        limit_draws = settings.n_resamples
    compared = compare_all(
        score_pairs,
        settings,
        generator,
        merged=scores.merged,
        limit_draws=limit_draws,
        bounded=bounded,
    )
    largest = largest_of(
        score_pairs,
        compared,
        n_rows,
        settings,
        lambda made: _largest_test(made, scores, settings, generator),
    )
    picture_grids = (
        () if settings.n_bins is None or settings.n_bins > MOST_GRID_BINS else (settings.n_bins,)
    )
    return MaddResult(
        comparisons=_settle_comparisons(compared, settings),
        largest=largest,
        settings=settings,
        counts=GridCounts._of(scores, picture_grids),
    )


def _settle_comparisons(
    compared: Sequence[Compared], settings: MaddSettings
) -> tuple[MaddComparison, ...]:
    """Verdicts and adjusted p-values of comparisons that are one family."""
    evidence = []
    for comparison, limits in compared:
        if comparison.verdict or not limits:
            evidence.append(Evidence())
            continue
        of_limits = limits.evidence(settings.margin)
        evidence.append(
            beside_equality(of_limits, comparison.pvalue, fair_range("gap", settings.margin))
        )
    adjusted = adjust_pvalues(
        [comparison.pvalue for comparison, _ in compared], settings.adjust
    ).tolist()
    rulings = settle(
        evidence,
        confidence_level=settings.confidence_level,
        adjust=settings.adjust,
        adjusted_equality=adjusted,
    )
    settled = []
    for (comparison, _), ruling, adjusted_pvalue in zip(compared, rulings, adjusted, strict=True):
        settled.append(comparison._with_ruling(ruling, pvalue_adjusted=adjusted_pvalue))
    return tuple(settled)


def madd_of_columns(
    rows: RowScores,
    reference: Hashable | None,
    settings: MaddSettings,
    rng: Any,
) -> MaddResult:
    """MADD of every column of scores, and the largest of them, without warnings."""
    generator, seed = as_generator(rng)
    settings = _with_comparisons(settings, len(rows.groups), reference)
    if settings.comparisons == "rest":
        raise InputError(
            "comparisons",
            got="'rest' with several columns of score",
            allowed="'all' or 'reference'",
            cure="one column at a time",
        )
    if settings.permutations == "search":
        raise InputError(
            "permutations",
            got="'search' with several columns of score",
            allowed="'grid'",
            cure="one column at a time",
        )
    pairs: list[Pair] = []
    for column, (name, scores) in enumerate(zip(rows.names, rows.by_column, strict=True)):
        pairs_of_column, rule_of_reference = _make_score_pairs(scores, reference, settings)
        settings = replace(settings, reference_rule=rule_of_reference)
        for pair in pairs_of_column:
            first_name, second_name = pair.names
            names = (name_in_column(first_name, name), name_in_column(second_name, name))
            pairs.append(pair._replace(names=names, column=column))
    settings = replace(settings, seed=seed)
    limit_draws = int(np.ceil(2 * len(pairs) / (1 - settings.confidence_level)))
    compared = compare_all(pairs, settings, generator, merged=False, limit_draws=limit_draws)
    largest = largest_of(
        pairs,
        compared,
        int(rows.sizes.sum()),
        settings,
        lambda made: (_largest_test_of_columns(made, rows, settings, generator), None),
    )
    picture_grids = (
        () if settings.n_bins is None or settings.n_bins > MOST_GRID_BINS else (settings.n_bins,)
    )
    return MaddResult(
        comparisons=_settle_comparisons(compared, settings),
        largest=largest,
        settings=settings,
        counts=GridCounts._of(rows.side_by_side(), picture_grids),
    )


def _with_comparisons(
    settings: MaddSettings, n_groups: int, reference: Hashable | None
) -> MaddSettings:
    """The settings with "auto" comparisons decided by the number of groups, or by a reference that
    is named.
    """
    if settings.comparisons != "auto":
        return settings
    if reference is not None:
        return replace(settings, comparisons="reference")
    few_groups = n_groups <= FEW_GROUPS
    return replace(
        settings, comparisons="all" if few_groups else "reference", chosen_by_number=True
    )


def _make_score_pairs(
    scores: GroupScores, reference: Hashable | None, settings: MaddSettings
) -> tuple[list[Pair], str]:
    """The comparisons asked for, and how the reference was chosen."""
    groups = scores.groups
    samples = scores.samples
    comparison_kind = settings.comparisons
    reference_index = 0
    rule_of_reference = "largest"
    if comparison_kind == "reference":
        reference_index, rule_of_reference = find_reference(groups, reference, sizes=scores.sizes)
    elif reference is not None:
        received = f"{reference!r} with comparisons={comparison_kind!r}"
        allowed = "a reference with comparisons='reference'"
        raise InputError(
            "reference",
            got=received,
            allowed=allowed,
            cure="pass comparisons='reference'",
        )
    n_groups = len(groups)
    if comparison_kind == "rest" and n_groups > 2:
        others = []
        for group_index in range(n_groups):
            others.append(
                tuple(other_index for other_index in range(n_groups) if other_index != group_index)
            )
        joined_rest = []
        for other_groups in others:
            joined_rest.append(
                Sample.joined([samples[other_index] for other_index in other_groups])
            )
        return [
            Pair(
                (group_name, REST),
                ((group_index,), others[group_index]),
                (samples[group_index], joined_rest[group_index]),
            )
            for group_index, group_name in enumerate(groups)
        ], rule_of_reference
    index_pairs = make_pairs(
        n_groups, reference_index, "reference" if comparison_kind == "reference" else "all"
    )
    return [
        Pair(
            (groups[group_index], groups[other_index]),
            ((group_index,), (other_index,)),
            (samples[group_index], samples[other_index]),
        )
        for group_index, other_index in index_pairs
    ], rule_of_reference


def warn_of(result: MaddResult) -> None:
    """Warn of groups that are too small, of scores that do not vary, and of tests that had to be
    replaced.
    """
    lacking = sorted(
        {
            comparison.note
            for comparison in result.comparisons
            if comparison.verdict == "insufficient evidence"
        }
    )
    if lacking:
        caution(f"madd: {' '.join(lacking)}", InsufficientEvidenceWarning)
    pairs_of_few_rows = []
    for comparison in result.comparisons:
        if 0 < comparison.n + comparison.n_reference < FEW_ROWS:
            pairs_of_few_rows.append(f"{comparison.group} and {comparison.reference}")
    if pairs_of_few_rows:
        warning_text = (
            f"madd: fewer than {FEW_ROWS} rows in {'; '.join(pairs_of_few_rows)}: alike groups show a large MADD,"
            " too;"
        )
        caution(f"{warning_text} compare with null_mean.", DataWarning)
    all_in_one_bin = []
    for comparison in result.comparisons:
        all_in_one_bin.append(comparison.atoms is not None and comparison.grid_bins == 1)
    if result.settings.equal_width:
        n_bins_used = []
        for comparison in result.comparisons:
            n_bins_used.append(int((comparison.counts.sum(axis=0) > 0).sum()))
        all_in_one_bin = []
        for n_used, comparison in zip(n_bins_used, result.comparisons, strict=True):
            all_in_one_bin.append(n_used == 1 < comparison.grid_bins)
    if all_in_one_bin and all(all_in_one_bin):
        if result.settings.equal_width:
            scores_words = "lie in one bin"
        else:
            scores_words = "are equal"
        caution(f"madd: all scores {scores_words}: there is nothing to compare.", DataWarning)
    replaced = any(
        hypothesis_test.method == permutation.MULTIPLIER
        for comparison in result.comparisons
        for hypothesis_test in comparison.tests
    )
    if replaced and not result.counts.weighted:
        warning_text = (
            "madd: clusters lie in several groups and cannot be permuted; the test is a multiplier"
            " bootstrap."
        )
        caution(warning_text, DataWarning)


class Pair(NamedTuple):
    """Two sides to compare; `groups`: positions of the groups on either side."""

    names: tuple[str, str]
    groups: tuple[tuple[int, ...], tuple[int, ...]]
    samples: tuple[Sample, Sample]
    #: Number of the column of scores, where there are several.
    column: int = 0


class Headline(NamedTuple):
    """MADD of a pair as published.

    `expected`: what alike groups would show over the stable stretch; NaN under weights or clusters.
    """

    curve: MaddCurve
    stable: StableBandwidth
    expected: float


class Judged(NamedTuple):
    """The bins that a pair is judged in, with rows (or weight) of both sides.

    `expected`: mean of MADD over all permutations of the labels; None under weights or clusters.
    """

    bins: Bins
    counts: tuple[NDArray[Any], NDArray[Any]]
    expected: float | None


#: A comparison, and the limits that its verdict and the largest rest on; None where it cannot be
#: made.
Compared: TypeAlias = tuple[MaddComparison, DistanceLimits | None]
#: Comparisons that can be made.
Made: TypeAlias = Sequence[tuple[Pair, MaddComparison, DistanceLimits]]
#: Their test by permutations, with rows per group and cell; (None, None) where there is none.
TestOfAll: TypeAlias = Callable[
    [Made], tuple[permutation.DistributionTest | None, NDArray[np.int64] | None]
]


def compare_all(
    pairs: Sequence[Pair],
    settings: MaddSettings,
    rng: np.random.Generator,
    *,
    merged: bool,
    limit_draws: int,
    bounded: bool = False,
) -> list[Compared]:
    """Compare the samples of each pair, yet without verdicts; `merged`: scores are ends of
    intervals.

    `limit_draws`: for limits, and for the p-value up to `MOST_LIMIT_DRAWS`; `bounded`: whether a
    bound stands for more of them. Comparisons share the normal values that their draws are made of.
    """
    headlines = _headlines_of(pairs, settings)
    normals = SharedNormals(rng)
    compared = []
    judged: list[Judged | None] = []
    for place, pair in enumerate(each_of(pairs, "MADD comparisons")):
        place_in_block = place % _PAIRS_TOGETHER
        if place_in_block == 0:
            judged = _judge(pairs[place : place + _PAIRS_TOGETHER], settings, merged=merged)
        compared.append(
            compare(
                pair,
                judged[place_in_block],
                settings,
                normals,
                headlines.get(place),
                limit_draws=limit_draws,
                bounded=bounded,
            )
        )
    return compared


def _judge(pairs: Sequence[Pair], settings: MaddSettings, *, merged: bool) -> list[Judged | None]:
    """The bins that each pair is judged in; None where a side has no scores."""
    judged: dict[int, Judged] = {}
    permutable = []
    for place, pair in enumerate(pairs):
        first, second = pair.samples
        if not (first.total > 0 and second.total > 0):
            continue
        bins = judged_bins(pair, settings, merged=merged)
        counts = (first.histogram(bins.edges), second.histogram(bins.edges))
        judged[place] = Judged(bins=bins, counts=counts, expected=None)
        if first.plain and second.plain:
            permutable.append(place)

    def pooled_bins() -> Iterator[tuple[NDArray[Any], int, int]]:
        for place in permutable:
            first, second = pairs[place].samples
            first_counts, second_counts = judged[place].counts
            yield first_counts + second_counts, first.n, second.n

    expected_of_pairs = permutation.null_means(pooled_bins()).tolist()
    for place, expected in zip(permutable, expected_of_pairs, strict=True):
        judged[place] = judged[place]._replace(expected=expected)
    return [judged.get(place) for place in range(len(pairs))]


@under_way("MADD curves")
def _headlines_of(pairs: Sequence[Pair], settings: MaddSettings) -> dict[int, Headline]:
    """Curve and stable stretch of the pairs that have both, by their place."""
    if settings.n_bins is not None:
        return {}
    places_by_column: dict[int, list[int]] = {}
    for place, pair in enumerate(pairs):
        if all(sample.total > 0 for sample in pair.samples):
            places_by_column.setdefault(pair.column, []).append(place)
    headlines: dict[int, Headline] = {}
    for places in places_by_column.values():
        curves = curves_of(
            [pairs[place].samples for place in places],
            settings.max_bins,
            [pairs[place].names for place in places],
        )
        stretches = stable_bandwidths(curves, min_points=settings.min_points, width=settings.width)
        expected = _expected_headlines([pairs[place] for place in places], stretches, settings)
        for place, curve, stable, mean in zip(places, curves, stretches, expected, strict=True):
            headlines[place] = Headline(curve=curve, stable=stable, expected=mean)
    return headlines


def _expected_headlines(
    pairs: Sequence[Pair], stretches: Sequence[StableBandwidth], settings: MaddSettings
) -> list[float]:
    """The mean over the grids of each stretch of what alike groups would show; NaN where labels
    cannot be permuted.
    """
    permutable = []
    for place, pair in enumerate(pairs):
        if all(sample.plain for sample in pair.samples):
            permutable.append(place)

    def pooled_bins() -> Iterator[tuple[NDArray[Any], int, int]]:
        for place in permutable:
            first, second = pairs[place].samples
            fewest, most = stretches[place].n_bins
            counts = first.pooled_grids(second, settings.max_bins, fewest, most)
            yield counts, first.n, second.n

    expected = [_NAN] * len(pairs)
    for place, over_all_grids in zip(
        permutable, permutation.null_means(pooled_bins()).tolist(), strict=True
    ):
        fewest, most = stretches[place].n_bins
        expected[place] = over_all_grids / (most - fewest + 1)
    return expected


def compare(
    pair: Pair,
    judged: Judged | None,
    settings: MaddSettings,
    normals: SharedNormals,
    headline: Headline | None,
    *,
    limit_draws: int,
    bounded: bool = False,
) -> Compared:
    """Compare two samples, as in `compare_all`; `judged`: their bins, None where a side has no
    scores.
    """
    first_sample, second_sample = pair.samples
    group_names = pair.names
    confidence_level = settings.confidence_level
    pair_fields: dict[str, Any] = {
        "group": group_names[0],
        "reference": group_names[1],
        "n": first_sample.n,
        "n_reference": second_sample.n,
    }
    lacking = []
    for group_name, sample in zip(group_names, pair.samples, strict=True):
        if sample.n < 2 or not sample.total > 0:
            lacking.append(group_name)
    if judged is None:
        whole_interval = Interval(
            low=0.0, high=2.0, confidence_level=confidence_level, method=_LIMITS_METHOD
        )
        weightless = all(sample.n for sample in pair.samples if not sample.total > 0)
        if weightless:
            what_lacks = "all weights of rows are 0"
        else:
            what_lacks = "no rows"
        empty_comparison = MaddComparison(
            **pair_fields,
            confidence_interval=whole_interval,
            bounds=whole_interval,
            verdict="insufficient evidence",
            note=f"{' and '.join(lacking)}: {what_lacks}, so no score distribution.",
        )
        return empty_comparison, None
    score_bins = judged.bins
    counts = judged.counts
    sampling_noise = noise_of(first_sample, second_sample, score_bins.edges, counts)
    n_units = min(first_sample.n_units, second_sample.n_units)
    limits = distance_limits(
        sampling_noise, n_units, max(settings.n_resamples, limit_draws), normals, bounded=bounded
    )
    bootstrap = sampling_noise.distances(settings.n_resamples, normals)
    measurable = bool(np.isfinite(limits.shortfall))
    # of n comparisons an adjusted p-value is at least n/(draws + 1)
    test_draws = max(settings.n_resamples, min(limit_draws, MOST_LIMIT_DRAWS))
    equality_test = permutation.pair_test(
        first_sample,
        second_sample,
        score_bins.edges,
        test_draws,
        normals,
        counts=counts,
        expected=judged.expected,
        fewest=settings.n_resamples,
    )
    if equality_test is None:
        equality_test = permutation.multiplier_test(sampling_noise, test_draws, normals)
        if not measurable:
            equality_test = replace(equality_test, pvalue=_NAN, mid_pvalue=_NAN, null_mean=_NAN)
    remark = ""
    if measurable and first_sample.without_value_of(second_sample):
        limits = replace(limits, shortfall=np.inf)
        remark = (
            f"{' and '.join(group_names)} have no score in common: bins cannot show them alike."
        )
    if lacking:
        remark_of_insufficiency = f"{' and '.join(lacking)}: one row is no distribution."
    elif not measurable:
        remark_of_insufficiency = _remark_on_few_units(pair)
    else:
        remark_of_insufficiency = ""
    two_sided = (1 + confidence_level) / 2
    # as the test of equality: no interval above 0, and no limit of the verdict above the margin
    differs = not equality_test.pvalue > 1 - confidence_level
    bounds = Interval(
        low=min(limits.lower(confidence_level), 2.0 if differs else settings.margin),
        high=limits.upper(confidence_level),
        confidence_level=confidence_level,
        method=_LIMITS_METHOD,
    )
    confidence_interval = Interval(
        low=limits.lower(two_sided) if differs else 0.0,
        high=limits.upper(two_sided),
        confidence_level=confidence_level,
        method=_LIMITS_METHOD,
    )
    comparison = MaddComparison(
        **pair_fields,
        estimate=equality_test.statistic,
        null_mean=equality_test.null_mean,
        bias_corrected=(
            max(2 * limits.estimate - float(bootstrap.mean()), 0.0) if measurable else _NAN
        ),
        std_error=float(bootstrap.std()) if measurable else _NAN,
        confidence_interval=confidence_interval,
        bounds=bounds,
        lower_limit=bounds.low,
        statistic=equality_test.statistic,
        pvalue=equality_test.pvalue,
        mid_pvalue=equality_test.mid_pvalue,
        tests=(
            HypothesisTest(
                null=_NULL_HYPOTHESIS,
                alternative="two-sided",
                statistic=equality_test.statistic,
                pvalue=equality_test.pvalue,
                method=equality_test.method,
            ),
        ),
        edges=score_bins.edges,
        atoms=score_bins.atoms,
        counts=np.stack(counts),
        h_sup=bandwidth_order(first_sample.n_effective, second_sample.n_effective),
        headline=equality_test.statistic,
        headline_null_mean=equality_test.null_mean,
        verdict="insufficient evidence" if remark_of_insufficiency else "",
        note=remark_of_insufficiency or remark,
    )
    if settings.n_bins is not None and not settings.equal_width:
        comparison = _with_headline_in_bins(comparison, pair, settings.n_bins)
    elif headline is not None:
        comparison = _with_headline(comparison, pair, headline, settings, normals.rng)
    return comparison, limits


def _remark_on_few_units(pair: Pair) -> str:
    """Which of two samples are too few for a variance."""
    names_of_few = []
    for group_name, sample in zip(pair.names, pair.samples, strict=True):
        if sample.n_units < SMALLEST_GROUP:
            names_of_few.append(group_name)
    if pair.samples[0].clusters is not None:
        unit_words = "clusters"
    else:
        unit_words = "effective rows"
    return (
        f"{' and '.join(names_of_few)}: fewer than {SMALLEST_GROUP} {unit_words}, too few for a"
        " variance."
    )


def judged_bins(pair: Pair, settings: MaddSettings, *, merged: bool) -> Bins:
    """The bins in which a pair is judged.

    Quantiles of its pooled scores, or the equally wide ones asked for.
    """
    first_sample, second_sample = pair.samples
    largest_bins = settings._most_bins(first_sample.n_effective, second_sample.n_effective)
    if settings.equal_width:
        return Bins(bin_edges(largest_bins))
    return Sample.joined(pair.samples).quantile_bins(largest_bins, merged=merged)


def _with_headline_in_bins(comparison: MaddComparison, pair: Pair, n_bins: int) -> MaddComparison:
    """The comparison with MADD as published, in the bins asked for."""
    first_sample, second_sample = pair.samples
    bin_counts = [sample.histogram(bin_edges(n_bins)) for sample in pair.samples]
    expected_headline = _NAN
    if all(sample.plain for sample in pair.samples):
        expected_headline = permutation.null_mean(
            bin_counts[0] + bin_counts[1], first_sample.n, second_sample.n
        )
    return replace(
        comparison,
        headline=float(histogram_distance(*bin_counts)),
        headline_null_mean=expected_headline,
    )


def _with_headline(
    comparison: MaddComparison,
    pair: Pair,
    headline: Headline,
    settings: MaddSettings,
    rng: np.random.Generator,
) -> MaddComparison:
    """The comparison with MADD as published, over the stable stretch of bandwidths."""
    first_sample, second_sample = pair.samples
    stable_stretch = headline.stable
    with_search = with_fields(
        comparison,
        headline=stable_stretch.mean,
        headline_null_mean=headline.expected,
        bandwidth=stable_stretch,
        curve=headline.curve,
    )
    if settings.permutations == "grid":
        return with_search
    search_test = permutation.search_test(
        first_sample,
        second_sample,
        stable_stretch.mean,
        lambda curves: stable_means(
            curves, stable_stretch.h_sup, min_points=settings.min_points, width=settings.width
        ),
        settings.max_bins,
        settings.n_resamples,
        rng,
    )
    hypothesis_test = HypothesisTest(
        null=_NULL_HYPOTHESIS,
        alternative="two-sided",
        statistic=stable_stretch.mean,
        pvalue=search_test.pvalue,
        method=search_test.method,
    )
    return replace(
        with_search,
        headline_pvalue=search_test.pvalue,
        headline_null_mean=search_test.null_mean,
        tests=(*with_search.tests, hypothesis_test),
    )


def largest_of(
    pairs: Sequence[Pair],
    compared: Sequence[Compared],
    n_rows: int,
    settings: MaddSettings,
    test_all: TestOfAll,
) -> LargestMadd | None:
    """The largest MADD of several comparisons in their bins; None where fewer than two can be made.

    `test_all`: the test of all that can be made, by permutations of all labels.

    If every δ_j lies in [L_j, U_j] then max_j δ_j lies in [max_j L_j, max_j U_j]; Bonferroni makes
    the former hold. A comparison that cannot be made leaves the interval open upwards.
    """
    made_comparisons = [
        (score_pair, comparison, limits)
        for score_pair, (comparison, limits) in zip(pairs, compared, strict=True)
        if limits is not None
    ]
    if len(made_comparisons) < 2:
        return None
    complete = len(made_comparisons) == len(pairs)
    largest_comparison = max(
        (comparison for _, comparison, _ in made_comparisons),
        key=lambda comparison: comparison.estimate,
    )
    confidence_level = settings.confidence_level
    n_comparisons = len(made_comparisons)

    def projected(error: float, *, at_most: float) -> Interval:
        lower_limit = max(
            limits.lower(1 - error / n_comparisons) for *_, limits in made_comparisons
        )
        upper_limit = max(
            limits.upper(1 - error / n_comparisons) for *_, limits in made_comparisons
        )
        return Interval(
            low=min(lower_limit, at_most),
            high=upper_limit if complete else 2.0,
            confidence_level=confidence_level,
            method=f"{_LIMITS_METHOD}, Bonferroni",
        )

    limited_by = max(
        made_comparisons,
        key=lambda entry: entry[2].lower(1 - (1 - confidence_level) / n_comparisons),
    )[0]
    largest_test, cell_counts = test_all(made_comparisons)
    if largest_test is None:
        pvalues = [
            comparison.pvalue
            for _, comparison, _ in made_comparisons
            if np.isfinite(comparison.pvalue)
        ]
        if pvalues:
            bonferroni = min(1.0, n_comparisons * min(pvalues))
        else:
            bonferroni = _NAN
        largest_test = permutation.DistributionTest(
            statistic=largest_comparison.estimate,
            pvalue=bonferroni,
            mid_pvalue=bonferroni,
            null_mean=_NAN,
            method="multiplier bootstrap, Bonferroni",
        )
    evidence = [limits.evidence(settings.margin) for *_, limits in made_comparisons]
    pvalue_above = min(
        n_comparisons * min(evidence_of_pair.above for evidence_of_pair in evidence), 1.0
    )
    if complete:
        pvalue_inside = min(
            n_comparisons * max(evidence_of_pair.inside for evidence_of_pair in evidence), 1.0
        )
    else:
        pvalue_inside = 1.0
    evidence_of_largest = beside_equality(
        Evidence(above=pvalue_above, inside=pvalue_inside),
        largest_test.pvalue,
        fair_range("gap", settings.margin),
    )
    (ruling,) = settle([evidence_of_largest], confidence_level=confidence_level, adjust="none")
    differs = not largest_test.pvalue > 1 - confidence_level
    return LargestMadd(
        **vars(largest_test),
        group=largest_comparison.group,
        reference=largest_comparison.reference,
        limited_by=limited_by.names,
        estimate=largest_comparison.estimate,
        confidence_interval=projected((1 - confidence_level) / 2, at_most=2.0 if differs else 0.0),
        bounds=projected(1 - confidence_level, at_most=2.0 if differs else settings.margin),
        pvalue_adjusted=largest_test.pvalue,
        n=n_rows,
        cells=cell_counts,
    )._with_ruling(ruling)


def _largest_test(
    made_comparisons: Made,
    scores: GroupScores,
    settings: MaddSettings,
    rng: np.random.Generator,
) -> tuple[permutation.DistributionTest | None, NDArray[np.int64] | None]:
    """The test of one distribution in all groups that have rows.

    (None, None) where labels cannot be permuted.
    """
    with_rows = []
    for group_index, sample in enumerate(scores.samples):
        if sample.n:
            with_rows.append(group_index)
    position_of_group = {group_index: position for position, group_index in enumerate(with_rows)}
    sides_of_pairs = []
    for score_pair, _, _ in made_comparisons:
        first_side, second_side = (
            tuple(
                position_of_group[group_index]
                for group_index in group_side
                if group_index in position_of_group
            )
            for group_side in score_pair.groups
        )
        n0, n1 = (sample.n_effective for sample in score_pair.samples)
        sides_of_pairs.append(
            permutation.Sides(first_side, second_side, settings._most_bins(n0, n1))
        )
    samples = [scores.samples[group_index] for group_index in with_rows]
    test_and_cells = permutation.largest_test(
        samples,
        sides_of_pairs,
        settings.n_resamples,
        rng,
        equal_width=settings.equal_width,
        merged=scores.merged,
    )
    if test_and_cells is None:
        return (None, None)
    return test_and_cells


def _largest_test_of_columns(
    made_comparisons: Made,
    rows: RowScores,
    settings: MaddSettings,
    rng: np.random.Generator,
) -> permutation.DistributionTest | None:
    """The test of one distribution of all columns in all groups that have rows."""
    with_rows = np.flatnonzero(rows.sizes > 0)
    position_of_group = {int(group): position for position, group in enumerate(with_rows)}
    sides_of_pairs = []
    for pair, _, _ in made_comparisons:
        first_side, second_side = (
            tuple(position_of_group[group] for group in side) for side in pair.groups
        )
        n0, n1 = (sample.n_effective for sample in pair.samples)
        sides = permutation.Sides(first_side, second_side, settings._most_bins(n0, n1))
        sides_of_pairs.append(permutation.ColumnSides(pair.column, sides))
    samples = []
    for scores in rows.by_column:
        samples.append([scores.samples[group] for group in with_rows])
    return permutation.largest_test_of_columns(
        rows.values,
        samples,
        np.searchsorted(with_rows, rows.group_codes),
        rows.units,
        sides_of_pairs,
        settings.n_resamples,
        rng,
        equal_width=settings.equal_width,
    )
