"""MADD, the model absolute density distance: the public function."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any, Literal
from warnings import warn

import numpy as np
from tqdm import tqdm

from fairstats.ground.checks import as_generator
from fairstats.ground.errors import DataWarning, InputError, InsufficientEvidenceWarning
from fairstats.ground.groups import find_reference
from fairstats.ground.multiplicity import adjust_pvalues, make_pairs
from fairstats.ground.verdict import Evidence, settle
from fairstats.methods.madd.comparison import Pair, compare, largest_of
from fairstats.methods.madd.result import REST, MaddResult
from fairstats.methods.madd.scores import GridCounts, GroupScores, Sample, read_scores
from fairstats.methods.madd.settings import MaddSettings, make_settings

#: Fewer rows than this in a comparison call for a warning.
FEW_ROWS = 50
#: Rows up to which Algorithm 1 may run again in every permutation.
MOST_SEARCHED_ROWS = 100_000


def madd(
    score: Any = None,
    *,
    sensitive_features: Any = None,
    bandwidth: float | Literal["auto"] = "auto",
    n_bins: int | None = None,
    grid_bins: int | None = None,
    comparisons: Literal["all", "rest", "reference"] = "all",
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

    MADD = Σ_k |d0_k − d1_k| ∈ [0, 2], d_k the share of a group's scores in bin k: 0 where the groups have the
    same histogram, 2 where they share no bin. MADD/2 bounds the difference of selection rates under any rule
    that depends on the bin alone, whatever the cut-off.

    Parameters
    ----------
    score : array-like of float, shape (n,)
        Scores in [0, 1].
    sensitive_features : array-like (n,) or (n, k), data frame or mapping
        Group of each row; several columns are crossed.
    bandwidth : "auto" or float, default "auto"
        "auto": the mean of MADD over the stable stretch of bandwidths (`stable_bandwidth`). A number h in (0,
        1] makes ⌊1/h⌋ bins.
    n_bins : int, optional
        Number of bins m, instead of a bandwidth.
    grid_bins : int, optional
        Bins of the grid on which interval, test and contributions are computed. It must not depend on the
        labels; at most 2,000. Default: the bins given, up to 2,000; else ⌈1/h_sup⌉ of every comparison,
        which depends on group sizes only.
    comparisons : {"all", "rest", "reference"}
        All pairs; each group against all others; each against the reference. With several comparisons the
        largest is given, too, with a p-value that accounts for the search.
    reference : hashable, optional
        For ``comparisons="reference"``; default the largest group.
    sample_weight : array-like of float, shape (n,), optional
        Weights ≥ 0. Linearised variances; the test is a multiplier bootstrap, since weights forbid permutation.
    cluster : array-like, shape (n,), optional
        Sampling unit of each row: permuted whole where every unit lies in one group.
    permutations : {"grid", "search"}
        "search" also runs Algorithm 1 again in every permutation: an exact p-value of the searched estimate
        (plain rows, at most 10⁵; some 15 ms per permutation at 20,000).
    margin : float, default 0.2
        The verdict asks on which side of it the binned distance lies; 0.2 bounds every difference of
        selection rates by 0.1.
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
        `estimate`, `bandwidth` (the stable stretch), `h_sup`, `null_mean`, and on the grid: `binned`,
        `bias_corrected`, `confidence_interval`, `lower_limit`, `pvalue`, `mid_pvalue`, `contributions()`.

    Raises
    ------
    InputError
        For scores outside [0, 1], missing values, one group, a bandwidth outside (0, 1], no bins, no eligible
        stretch, and other input that cannot be used.

    Warns
    -----
    InsufficientEvidenceWarning
        Where a group has no row, or one.
    DataWarning
        Below 50 rows, where all scores are equal, and where clusters lie in several groups.

    Notes
    -----
    The estimate is biased upwards, the more the smaller the groups and the bins: read it beside `null_mean`,
    the exact mean over all permutations of the labels. The p-value is exact on the grid: p = (1 + #{MADD* ≥
    MADD})/(B + 1); the mid-p value counts half of the ties.

    The interval is for the binned distance δ_m = Σ_k |p0_k − p1_k| on the grid. For the L1 distance of the
    densities, δ_m ≤ ∫|f0 − f1|, only the lower limit holds: without smoothness no upper one exists. The
    percentile bootstrap is not offered: it never covers equal groups. Intervals that do are conservative, as
    signs of bins are left open where groups may be alike.

    References
    ----------
    .. [1] Verger, Fan, Lallé, Bouchet, Luengo (2024). A comprehensive study on evaluating and mitigating
       algorithmic unfairness with the MADD metric. JEDM 16(1), 365–409. doi:10.5281/zenodo.12180668
    .. [2] Fang, Santos (2019). Inference on directionally differentiable functions. Review of Economic
       Studies 86, 377–412.

    Examples
    --------
    >>> import numpy as np, fairstats as fs
    >>> rng = np.random.default_rng(1)
    >>> score = np.concatenate([rng.beta(2, 4, 2000), rng.beta(4, 2, 2000)])
    >>> result = fs.madd(score, sensitive_features=np.repeat(["a", "b"], 2000), rng=1)
    >>> print(f"{result.estimate:.2f}, p = {result.pvalue:.4f}, {result.verdict}")
    1.25, p = 0.0005, violated
    >>> low, high = result.confidence_interval
    >>> print(f"in {result.comparisons[0].grid_bins} bins {result.binned:.2f} [{low:.2f}, {high:.2f}]")
    in 8 bins 1.25 [1.20, 1.30]
    """
    settings = make_settings(
        bandwidth=bandwidth, n_bins=n_bins, grid_bins=grid_bins, comparisons=comparisons,
        permutations=permutations, margin=margin, confidence_level=confidence_level, adjust=adjust,
        n_resamples=n_resamples, max_bins=max_bins, min_points=min_points, width=width,
    )  # fmt: skip
    scores = read_scores(
        counts, max(settings.n_bins or settings.max_bins, settings.grid_bins or 1), score=score,
        sensitive_features=sensitive_features, sample_weight=sample_weight, cluster=cluster, missing=missing,
        groups=groups,
    )  # fmt: skip
    result = madd_of_scores(scores, reference, settings, rng)
    warn_of(result, stacklevel=3)
    return result


def madd_of_scores(
    scores: GroupScores, reference: Hashable | None, settings: MaddSettings, rng: Any, *, few: bool = True
) -> MaddResult:
    """MADD from sorted scores, without warnings; `reference` is for settings that compare with one.

    `few`: whether few distinct scores are the bins.
    """
    generator, seed = as_generator(rng)
    pairs, rule = _pairs(scores, reference, settings)
    settings = replace(settings, seed=seed, reference_rule=rule)
    n, plain = int(scores.sizes.sum()), all(s.plain for s in scores.samples)
    if settings.permutations == "search" and not (plain and n <= MOST_SEARCHED_ROWS):
        got = f"'search' with {f'{n:,} rows' if plain else 'weights or clusters'}"
        allowed = f"'search' for at most {MOST_SEARCHED_ROWS:,} rows without weights and clusters"
        raise InputError("permutations", got=got, allowed=allowed, cure="permutations='grid'")
    shown = tqdm(pairs, desc="MADD comparisons", leave=False, disable=None, delay=2.0)
    # as many draws behind the limits as the smallest adjusted p-value needs
    draws = int(np.ceil(2 * len(pairs) / (1 - settings.confidence_level)))
    atoms = scores.atoms() if few and settings.grid_bins is None else None
    compared = [compare(p, settings, generator, atoms=atoms, limit_draws=draws) for p in shown]
    found = [c for c, _ in compared]
    grids = GridCounts.of(scores, {c.grid_bins for c in found}, atoms)
    largest = largest_of(pairs, compared, scores.samples, grids, settings, generator)
    evidence = [Evidence() if c.verdict or not m else m.evidence(settings.margin) for c, m in compared]
    rulings = settle(evidence, confidence_level=settings.confidence_level, adjust=settings.adjust)
    adjusted = adjust_pvalues([c.pvalue for c in found], settings.adjust)
    return MaddResult(
        comparisons=tuple(
            replace(c.ruled(r), pvalue_adjusted=float(p)) for c, r, p in zip(found, rulings, adjusted, strict=True)
        ),
        largest=largest,
        settings=settings,
        counts=grids,
    )


def _pairs(scores: GroupScores, reference: Hashable | None, settings: MaddSettings) -> tuple[list[Pair], str]:
    """The comparisons asked for, and how the reference was chosen."""
    groups, samples, kind = scores.groups, scores.samples, settings.comparisons
    index, rule = 0, "largest"
    if kind == "reference":
        index, rule = find_reference(groups, reference, sizes=scores.sizes)
    elif reference is not None:
        got, allowed = f"{reference!r} with comparisons={kind!r}", "a reference with comparisons='reference'"
        raise InputError("reference", got=got, allowed=allowed, cure="pass comparisons='reference'")
    if kind == "rest" and len(groups) > 2:
        others = [tuple(h for h in range(len(groups)) if h != g) for g in range(len(groups))]
        rest = [Sample.joined([samples[h] for h in other]) for other in others]
        return [Pair((name, REST), ((g,), others[g]), (samples[g], rest[g])) for g, name in enumerate(groups)], rule
    pairs = make_pairs(len(groups), index, "reference" if kind == "reference" else "all")
    return [Pair((groups[g], groups[h]), ((g,), (h,)), (samples[g], samples[h])) for g, h in pairs], rule


def warn_of(result: MaddResult, *, stacklevel: int = 2) -> None:
    """Warn of groups that are too small, of scores that do not vary, and of tests that had to be replaced."""
    lacking = sorted({c.note for c in result.comparisons if c.verdict == "insufficient evidence"})
    if lacking:
        warn(f"madd: {' '.join(lacking)}", InsufficientEvidenceWarning, stacklevel=stacklevel + 1)
    few = [f"{c.group} and {c.reference}" for c in result.comparisons if 0 < c.n + c.n_reference < FEW_ROWS]
    if few:
        text = f"madd: fewer than {FEW_ROWS} rows in {'; '.join(few)}: alike groups show a large MADD, too;"
        warn(f"{text} compare with null_mean.", DataWarning, stacklevel=stacklevel + 1)
    if int((result.counts.counts.sum(axis=0) > 0).sum()) == 1 and len(result.comparisons):
        text = "madd: all scores lie in one bin of a hundred: there is next to nothing to compare."
        warn(text, DataWarning, stacklevel=stacklevel + 1)
    replaced = any(t.method == "multiplier bootstrap" for c in result.comparisons for t in c.tests)
    if replaced and not result.counts.weighted:
        text = "madd: clusters lie in several groups and cannot be permuted; the test is a"
        warn(f"{text} multiplier bootstrap.", DataWarning, stacklevel=stacklevel + 1)
