"""`madd`, the model absolute density distance: pairs, estimate, grid, interval, test and verdict of each."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from fairstats.ground.checks import Floats, as_generator
from fairstats.ground.errors import DataWarning, InputError, InsufficientEvidenceWarning, caution
from fairstats.ground.groups import find_reference
from fairstats.ground.multiplicity import adjust_pvalues, make_pairs
from fairstats.ground.results import HypothesisTest, Interval
from fairstats.ground.scores import Bins, bandwidth_order
from fairstats.ground.verdict import Evidence, settle
from fairstats.methods.madd import permutation
from fairstats.methods.madd.curve import StableBandwidth, curve_of, stable_bandwidth
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
from fairstats.methods.madd.scores import GridCounts, GroupScores, Sample, bin_edges, histogram_distance, read_scores

#: Fewer rows than this in a comparison call for a warning.
FEW_ROWS = 50
#: Rows up to which Algorithm 1 may run again in every permutation.
MOST_SEARCHED_ROWS = 100_000
_NAN = float("nan")
_METHOD = "directional delta"
_NULL = "one score distribution in both groups"


def madd(
    score: Any = None,
    *,
    sensitive_features: Any = None,
    bandwidth: float | Literal["auto"] = "auto",
    n_bins: int | None = None,
    grid_bins: int | None = None,
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

    MADD = Σ_k |d0_k − d1_k| ∈ [0, 2], d_k the share of a group's scores in bin k: 0 where the groups have the same
    histogram, 2 where they share no bin. MADD/2 bounds the difference of selection rates under any rule by bins.

    Parameters
    ----------
    score : array-like of float, shape (n,)
        Scores in [0, 1].
    sensitive_features : array-like (n,) or (n, k), data frame or mapping
        Group of each row; several columns are crossed.
    bandwidth : "auto" or float, default "auto"
        "auto": MADD is tested and judged in bins at the quantiles of the pooled scores; the published MADD, the mean
        over the stable stretch of bandwidths (`stable_bandwidth`), stands beside it as `headline`. A number h in (0, 1]
        makes ⌊1/h⌋ equally wide bins, as the paper does: then all is of the MADD in these.
    n_bins : int, optional
        Number of equally wide bins, instead of a bandwidth. Above 2,000 they give the headline only.
    grid_bins : int, optional
        Number of quantiles of the pooled scores that are judged, at most 2,000; with `n_bins` those are the headline.
        Default: ⌈1/h_sup⌉ of every comparison, by group sizes only.
    comparisons : {"auto", "all", "rest", "reference"}
        All pairs; each group against all others; each against the reference. "auto": all pairs of up to 10 groups,
        of more (or where a reference is named) each against the reference. With several comparisons the largest is
        given, too, with a p-value that accounts for the search.
    reference : hashable, optional
        For ``comparisons="reference"``; default the largest group.
    sample_weight : array-like of float, shape (n,), optional
        Weights ≥ 0. Linearised variances; the test is a multiplier bootstrap, since weights forbid permutation.
        Weights that are the same for all rows of each group change no comparison of two groups.
    cluster : array-like, shape (n,), optional
        Sampling unit of each row: permuted whole where every unit lies in one group.
    permutations : {"grid", "search"}
        "search" also runs Algorithm 1 again in every permutation: an exact p-value of the searched estimate (plain
        rows, at most 10⁵; some 15 ms per permutation at 20,000).
    margin : float, default 0.2
        The verdict asks on which side of it the distance in the bins lies; 0.2 bounds differences of selection rates
        by 0.1.
    confidence_level : float, default 0.95
    adjust : str, default "holm"
        Adjustment of the p-values over the comparisons.
    n_resamples : int, default 1999
        Permutations, and bootstrap resamples.
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
        `estimate`, `null_mean`, `bias_corrected`, `confidence_interval`, `lower_limit`, `pvalue`, `mid_pvalue` and
        `verdict`, all of the MADD in `edges` (`contributions()` prints the bins); beside them `headline`,
        `headline_null_mean`, `bandwidth` (its stable stretch) and `h_sup`.

    Raises
    ------
    InputError
        Scores outside [0, 1], missing values, one group, a bandwidth outside (0, 1], no eligible stretch, and the like.

    Warns
    -----
    InsufficientEvidenceWarning
        Where a group has no row, or one.
    DataWarning
        Below 50 rows, where all scores are equal, and where clusters lie in several groups.

    Notes
    -----
    The bins that are judged end at the quantiles of the scores of both groups together: m = ⌈1/h_sup⌉ bins, or the
    distinct scores if these are no more; equal scores are never parted. They are blind to the labels, so that the
    permutation test is exact, and follow a monotone map of the scores: a model whose scores all lie near 1% is judged
    like any other. The distance δ = Σ_k |p0_k − p1_k| that the interval is for is that in these very bins; it depends
    on the shares that the groups have of the pooled rows.

    The estimate is biased upwards, the more the smaller the groups and the bins: read it beside `null_mean`, the exact
    mean over all permutations of the labels. p = (1 + #{MADD* ≥ MADD})/(B + 1) is exact; mid-p counts half of the ties.

    For the L1 distance of the densities, δ ≤ ∫|f0 − f1|, only the lower limit holds: without smoothness no upper one
    exists. The percentile bootstrap is not offered: it never covers equal groups. Intervals that do are conservative
    where groups may be alike.

    *Beside maddlib.* The authors' package (maddlib 1.1.0) finds another headline: its stretches are at least .05 wide
    instead of .45·h_sup as in Algorithm 1, it skips short stretches instead of extending them, and ⌊1/h⌋ in floating
    point loses a bin for 70 of its 999 bandwidths. In its tutorial: gender .4622, here .4427; disability .4576, here
    .3758.

    References
    ----------
    .. [1] Verger, Fan, Lallé, Bouchet, Luengo (2024). A comprehensive study on evaluating and mitigating
       algorithmic unfairness with the MADD metric. JEDM 16(1), 365–409. doi:10.5281/zenodo.12180668
    .. [2] Fang, Santos (2019). Inference on directionally differentiable functions. Rev. Econ. Studies 86, 377–412.

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
    """
    settings = make_settings(
        bandwidth=bandwidth, n_bins=n_bins, grid_bins=grid_bins, comparisons=comparisons,
        permutations=permutations, margin=margin, confidence_level=confidence_level, adjust=adjust,
        n_resamples=n_resamples, max_bins=max_bins, min_points=min_points, width=width,
    )  # fmt: skip
    scores = read_scores(
        counts, settings.n_bins or settings.max_bins, score=score,
        sensitive_features=sensitive_features, sample_weight=sample_weight, cluster=cluster, missing=missing,
        groups=groups,
    )  # fmt: skip
    result = madd_of_scores(scores, reference, settings, rng)
    warn_of(result)
    return result


def madd_of_scores(scores: GroupScores, reference: Hashable | None, settings: MaddSettings, rng: Any) -> MaddResult:
    """MADD from sorted scores, without warnings."""
    generator, seed = as_generator(rng)
    settings = _with_comparisons(settings, len(scores.groups), reference)
    scores = scores.without_constant_weights(pooled=settings.comparisons == "rest")
    pairs, rule = _pairs(scores, reference, settings)
    settings = replace(settings, seed=seed, reference_rule=rule)
    n, plain = int(scores.sizes.sum()), all(s.plain for s in scores.samples)
    if settings.permutations == "search" and not (plain and n <= MOST_SEARCHED_ROWS):
        got = f"'search' with {f'{n:,} rows' if plain else 'weights or clusters'}"
        allowed = f"'search' for at most {MOST_SEARCHED_ROWS:,} rows without weights and clusters"
        raise InputError("permutations", got=got, allowed=allowed, cure="permutations='grid'")
    # as many draws behind the limits as the smallest adjusted p-value needs
    limit_draws = int(np.ceil(2 * len(pairs) / (1 - settings.confidence_level)))
    progress = tqdm(pairs, desc="MADD comparisons", leave=False, disable=None, delay=2.0)
    compared = [compare(pair, settings, generator, merged=scores.merged, limit_draws=limit_draws) for pair in progress]
    largest = largest_of(pairs, compared, scores, settings, generator)
    evidence = [Evidence() if c.verdict or not limits else limits.evidence(settings.margin) for c, limits in compared]
    rulings = settle(evidence, confidence_level=settings.confidence_level, adjust=settings.adjust)
    adjusted = adjust_pvalues([c.pvalue for c, _ in compared], settings.adjust).tolist()
    comparisons = tuple(
        replace(c._ruled(ruling), pvalue_adjusted=p)
        for (c, _), ruling, p in zip(compared, rulings, adjusted, strict=True)
    )
    grids = () if settings.n_bins is None or settings.n_bins > MOST_GRID_BINS else (settings.n_bins,)
    return MaddResult(comparisons=comparisons, largest=largest, settings=settings, counts=GridCounts._of(scores, grids))


def _with_comparisons(settings: MaddSettings, n_groups: int, reference: Hashable | None) -> MaddSettings:
    """The settings with "auto" comparisons decided by the number of groups, or by a reference that is named."""
    if settings.comparisons != "auto":
        return settings
    if reference is not None:
        return replace(settings, comparisons="reference")
    few = n_groups <= FEW_GROUPS
    return replace(settings, comparisons="all" if few else "reference", chosen_by_number=True)


def _pairs(scores: GroupScores, reference: Hashable | None, settings: MaddSettings) -> tuple[list[Pair], str]:
    """The comparisons asked for, and how the reference was chosen."""
    groups, samples, kind = scores.groups, scores.samples, settings.comparisons
    index, rule = 0, "largest"
    if kind == "reference":
        index, rule = find_reference(groups, reference, sizes=scores.sizes)
    elif reference is not None:
        got, allowed = f"{reference!r} with comparisons={kind!r}", "a reference with comparisons='reference'"
        raise InputError("reference", got=got, allowed=allowed, cure="pass comparisons='reference'")
    size = len(groups)
    if kind == "rest" and size > 2:
        others = [tuple(h for h in range(size) if h != g) for g in range(size)]
        rest = [Sample.joined([samples[h] for h in other]) for other in others]
        return [Pair((name, REST), ((g,), others[g]), (samples[g], rest[g])) for g, name in enumerate(groups)], rule
    pairs = make_pairs(size, index, "reference" if kind == "reference" else "all")
    return [Pair((groups[g], groups[h]), ((g,), (h,)), (samples[g], samples[h])) for g, h in pairs], rule


def warn_of(result: MaddResult) -> None:
    """Warn of groups that are too small, of scores that do not vary, and of tests that had to be replaced."""
    lacking = sorted({c.note for c in result.comparisons if c.verdict == "insufficient evidence"})
    if lacking:
        caution(f"madd: {' '.join(lacking)}", InsufficientEvidenceWarning)
    few = [f"{c.group} and {c.reference}" for c in result.comparisons if 0 < c.n + c.n_reference < FEW_ROWS]
    if few:
        text = f"madd: fewer than {FEW_ROWS} rows in {'; '.join(few)}: alike groups show a large MADD, too;"
        caution(f"{text} compare with null_mean.", DataWarning)
    equal = [c.atoms is not None and c.grid_bins == 1 for c in result.comparisons]
    if result.settings.equal_width:
        used = [int((c.counts.sum(axis=0) > 0).sum()) for c in result.comparisons]
        equal = [bins == 1 < c.grid_bins for bins, c in zip(used, result.comparisons, strict=True)]
    if equal and all(equal):
        what = "lie in one bin" if result.settings.equal_width else "are equal"
        caution(f"madd: all scores {what}: there is nothing to compare.", DataWarning)
    replaced = any(t.method == "multiplier bootstrap" for c in result.comparisons for t in c.tests)
    if replaced and not result.counts.weighted:
        text = "madd: clusters lie in several groups and cannot be permuted; the test is a multiplier bootstrap."
        caution(text, DataWarning)


class Pair(NamedTuple):
    """Two sides to compare; `groups`: positions of the groups on either side."""

    names: tuple[str, str]
    groups: tuple[tuple[int, ...], tuple[int, ...]]
    samples: tuple[Sample, Sample]


#: A comparison, and the limits that its verdict and the largest rest on; None where it cannot be made.
Compared: TypeAlias = tuple[MaddComparison, DistanceLimits | None]


def compare(
    pair: Pair, settings: MaddSettings, rng: np.random.Generator, *, merged: bool, limit_draws: int
) -> Compared:
    """Compare two samples, yet without a verdict; `merged`: scores are ends of intervals; `limit_draws`: for limits."""
    first, second = pair.samples
    names = pair.names
    level = settings.confidence_level
    sizes: dict[str, Any] = {"group": names[0], "reference": names[1], "n": first.n, "n_reference": second.n}
    lacking = [name for name, s in zip(names, pair.samples, strict=True) if s.n < 2 or not s.total > 0]
    if not (first.total > 0 and second.total > 0):
        whole = Interval(0.0, 2.0, level, _METHOD)
        weightless = all(s.n for s in pair.samples if not s.total > 0)
        none = "all weights of rows are 0" if weightless else "no rows"
        empty = MaddComparison(
            **sizes, confidence_interval=whole, bounds=whole, verdict="insufficient evidence",
            note=f"{' and '.join(lacking)}: {none}, so no score distribution.",
        )  # fmt: skip
        return empty, None
    bins = judged_bins(pair, settings, merged=merged)
    noise = noise_of(first, second, bins.edges)
    n_units = min(first.n_units, second.n_units)
    limits = distance_limits(noise, n_units, max(settings.n_resamples, limit_draws), rng)
    bootstrap = noise.distances(settings.n_resamples, rng)
    measurable = bool(np.isfinite(limits.shortfall))
    test = permutation.pair_test(first, second, bins.edges, settings.n_resamples, rng)
    if test is None:
        test = permutation.multiplier_test(noise, settings.n_resamples, rng)
        if not measurable:
            test = replace(test, pvalue=_NAN, mid_pvalue=_NAN, null_mean=_NAN)
    remark = ""
    if measurable and first.without_value_of(second):
        limits = replace(limits, shortfall=np.inf)
        remark = f"{' and '.join(names)} have no score in common: bins cannot show them alike."
    note = f"{' and '.join(lacking)}: one row is no distribution." if lacking else ""
    if not (lacking or measurable):
        few = [name for name, s in zip(names, pair.samples, strict=True) if s.n_units < SMALLEST_GROUP]
        units = "clusters" if first.clusters is not None else "effective rows"
        note = f"{' and '.join(few)}: fewer than {SMALLEST_GROUP} {units}, too few for a variance."
    two_sided = (1 + level) / 2
    bounds = Interval(limits.lower(level), limits.upper(level), level, _METHOD)
    comparison = MaddComparison(
        **sizes,
        estimate=test.statistic,
        null_mean=test.null_mean,
        bias_corrected=max(2 * limits.estimate - float(bootstrap.mean()), 0.0) if measurable else _NAN,
        std_error=float(bootstrap.std()) if measurable else _NAN,
        confidence_interval=Interval(limits.lower(two_sided), limits.upper(two_sided), level, _METHOD),
        bounds=bounds,
        lower_limit=bounds.low,
        statistic=test.statistic,
        pvalue=test.pvalue,
        mid_pvalue=test.mid_pvalue,
        tests=(HypothesisTest(_NULL, "two-sided", test.statistic, test.pvalue, test.method),),
        edges=bins.edges,
        atoms=bins.atoms,
        counts=np.stack([s.histogram(bins.edges) for s in pair.samples]),
        h_sup=bandwidth_order(first.n_effective, second.n_effective),
        headline=test.statistic,
        headline_null_mean=test.null_mean,
        verdict="insufficient evidence" if note else "",
        note=note or remark,
    )
    if settings.equal_width:
        return comparison, limits
    return _with_headline(comparison, pair, settings, rng), limits


def judged_bins(pair: Pair, settings: MaddSettings, *, merged: bool) -> Bins:
    """The bins in which a pair is judged: quantiles of its pooled scores, or the equally wide ones asked for."""
    first, second = pair.samples
    most = settings._most_bins(first.n_effective, second.n_effective)
    if settings.equal_width:
        return Bins(bin_edges(most))
    return Sample.joined(pair.samples).quantile_bins(most, merged=merged)


def _with_headline(
    comparison: MaddComparison, pair: Pair, settings: MaddSettings, rng: np.random.Generator
) -> MaddComparison:
    """The comparison with MADD as published: in the bins asked for, or over the stable stretch of bandwidths."""
    (first, second), plain = pair.samples, all(s.plain for s in pair.samples)
    if settings.n_bins is not None:
        bins = [s.histogram(bin_edges(settings.n_bins)) for s in pair.samples]
        expected = permutation.null_mean(bins[0] + bins[1], first.n, second.n) if plain else _NAN
        return replace(comparison, headline=float(histogram_distance(*bins)), headline_null_mean=expected)
    curve = curve_of(first, second, settings.max_bins, pair.names)

    def stretch(madd: Floats) -> StableBandwidth:
        return stable_bandwidth(replace(curve, madd=madd), min_points=settings.min_points, width=settings.width)

    stable, expected = stretch(curve.madd), _NAN
    if plain:  # the mean over the grids of the stretch of what alike groups would show
        counts = first.pooled_grids(second, settings.max_bins, *stable.n_bins)
        expected = permutation.null_mean(counts, first.n, second.n) / (stable.n_bins[1] - stable.n_bins[0] + 1)
    with_search = replace(comparison, headline=stable.mean, headline_null_mean=expected, bandwidth=stable, curve=curve)
    if settings.permutations == "grid":
        return with_search
    test = permutation.search_test(
        first, second, stable.mean, lambda madd: stretch(madd).mean, settings.max_bins, settings.n_resamples, rng
    )
    null = HypothesisTest(_NULL, "two-sided", stable.mean, test.pvalue, test.method)
    return replace(
        with_search, headline_pvalue=test.pvalue, headline_null_mean=test.null_mean, tests=(*with_search.tests, null)
    )


def largest_of(
    pairs: Sequence[Pair],
    compared: Sequence[Compared],
    scores: GroupScores,
    settings: MaddSettings,
    rng: np.random.Generator,
) -> LargestMadd | None:
    """The largest MADD of several comparisons in their bins; None where fewer than two can be made.

    If every δ_j lies in [L_j, U_j] then max_j δ_j lies in [max_j L_j, max_j U_j]; Bonferroni makes the former hold. A
    comparison that cannot be made leaves the interval open upwards.
    """
    made = [(p, c, limits) for p, (c, limits) in zip(pairs, compared, strict=True) if limits is not None]
    if len(made) < 2:
        return None
    complete = len(made) == len(pairs)
    top = max((c for _, c, _ in made), key=lambda c: c.estimate)
    level, count = settings.confidence_level, len(made)

    def projected(error: float) -> Interval:
        low = max(limits.lower(1 - error / count) for *_, limits in made)
        high = max(limits.upper(1 - error / count) for *_, limits in made)
        return Interval(low, high if complete else 2.0, level, f"{_METHOD}, Bonferroni")

    limited_by = max(made, key=lambda entry: entry[2].lower(1 - (1 - level) / count))[0]
    test, cells = _largest_test(made, scores, settings, rng)
    if test is None:
        pvalues = [c.pvalue for _, c, _ in made if np.isfinite(c.pvalue)]
        bonferroni = min(1.0, count * min(pvalues)) if pvalues else _NAN
        test = permutation.DistributionTest(
            statistic=top.estimate,
            pvalue=bonferroni,
            mid_pvalue=bonferroni,
            null_mean=_NAN,
            method="multiplier bootstrap, Bonferroni",
        )
    evidence = [limits.evidence(settings.margin) for *_, limits in made]
    above = min(count * min(e.above for e in evidence), 1.0)
    inside = min(count * max(e.inside for e in evidence), 1.0) if complete else 1.0
    (ruling,) = settle([Evidence(above=above, inside=inside)], confidence_level=level, adjust="none")
    return LargestMadd(
        **vars(test),
        group=top.group,
        reference=top.reference,
        limited_by=limited_by.names,
        estimate=top.estimate,
        confidence_interval=projected((1 - level) / 2),
        bounds=projected(1 - level),
        pvalue_adjusted=test.pvalue,
        n=int(scores.sizes.sum()),
        cells=cells,
    )._ruled(ruling)


def _largest_test(
    made: Sequence[tuple[Pair, MaddComparison, DistanceLimits]],
    scores: GroupScores,
    settings: MaddSettings,
    rng: np.random.Generator,
) -> tuple[permutation.DistributionTest | None, NDArray[np.int64] | None]:
    """The test of one distribution in all groups that have rows; (None, None) where labels cannot be permuted."""
    with_rows = [g for g, s in enumerate(scores.samples) if s.n]
    place = {g: k for k, g in enumerate(with_rows)}
    sides = []
    for pair, _, _ in made:
        first, second = (tuple(place[g] for g in side if g in place) for side in pair.groups)
        n0, n1 = (s.n_effective for s in pair.samples)
        sides.append(permutation.Sides(first, second, settings._most_bins(n0, n1)))
    samples = [scores.samples[g] for g in with_rows]
    found = permutation.largest_test(
        samples, sides, settings.n_resamples, rng, equal_width=settings.equal_width, merged=scores.merged
    )
    return (None, None) if found is None else found
