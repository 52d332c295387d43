"""One comparison: estimate, grid, interval, test, verdict of two samples; and the largest of several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from fairstats.ground.results import HypothesisTest, Interval
from fairstats.methods.madd.binning import bin_edges, histogram_distance
from fairstats.methods.madd.curve import MaddCurve, curve_of
from fairstats.methods.madd.entries import LargestMadd, MaddComparison
from fairstats.methods.madd.farey import farey_grid, grid_counts
from fairstats.methods.madd.hypergeometric import null_mean
from fairstats.methods.madd.interval import SMALLEST_GROUP, DistanceLimits, distance_limits
from fairstats.methods.madd.noise import noise_of
from fairstats.methods.madd.permutation import (
    DistributionTest,
    largest_test,
    multiplier_test,
    pair_test,
    search_test,
)
from fairstats.methods.madd.scores import Sample
from fairstats.methods.madd.settings import MaddSettings
from fairstats.methods.madd.stable import (
    StableBandwidth,
    bandwidth_order,
    label_blind_bins,
    stable_bandwidth,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Pair", "compare", "largest_of"]

_METHOD = "directional delta"
_NULL = "one score distribution in both groups"


@dataclass(frozen=True, eq=False)
class Pair:
    """Two sides to compare.

    Attributes
    ----------
    names : tuple of two str
    groups : tuple of two tuples of int
        Positions of the groups on either side.
    samples : tuple of two Sample
    """

    names: tuple[str, str]
    groups: tuple[tuple[int, ...], tuple[int, ...]]
    samples: tuple[Sample, Sample]


@dataclass(frozen=True, eq=False)
class Compared:
    """A comparison, and the limits that the largest of several needs again."""

    comparison: MaddComparison
    limits: DistanceLimits | None


def compare(pair: Pair, settings: MaddSettings, rng: np.random.Generator) -> Compared:
    """Compare two samples.

    Parameters
    ----------
    pair : Pair
    settings : MaddSettings
    rng : numpy.random.Generator

    Raises
    ------
    InputError
        If no stretch of bandwidths is eligible.
    """
    first, second = pair.samples
    lacking = [name for name, s in zip(pair.names, pair.samples, strict=True) if s.n < 2 or not s.total > 0]
    if any(not s.total > 0 for s in pair.samples):
        return Compared(
            _empty(pair, settings, f"{' and '.join(lacking)}: no rows, so no score distribution."), None
        )
    sizes = [s.n if s.weights is None else s.n_effective for s in pair.samples]
    n_bins = settings.grid_bins or label_blind_bins(sizes[0], sizes[1])
    edges = bin_edges(n_bins)
    noise = noise_of(first, second, edges)
    units = min(s.n_units for s in pair.samples)
    limits = distance_limits(noise, units, settings.n_resamples, rng)
    distances = noise.distances(settings.n_resamples, rng)
    measurable = bool(np.isfinite(limits.shortfall))
    test = pair_test(first, second, n_bins, settings.n_resamples, rng)
    if test is None:
        test = multiplier_test(noise, settings.n_resamples, rng)
        if not measurable:
            test = replace(test, pvalue=float("nan"), mid_pvalue=float("nan"), null_mean=float("nan"))
    level = settings.confidence_level
    bounds = Interval(limits.lower(level), limits.upper(level), 2 * level - 1, _METHOD)
    note = _lacks(pair, lacking, measurable)
    verdict = "insufficient evidence" if note else _verdict(bounds, settings.threshold)
    comparison = MaddComparison(
        group=pair.names[0],
        reference=pair.names[1],
        estimate=test.statistic,
        bandwidth=None,
        curve=None,
        h_sup=bandwidth_order(sizes[0], sizes[1]),
        null_mean=test.null_mean,
        search_pvalue=float("nan"),
        grid_bins=n_bins,
        binned=test.statistic,
        binned_null_mean=test.null_mean,
        bias_corrected=max(2 * limits.estimate - float(distances.mean()), 0.0)
        if measurable
        else float("nan"),
        std_error=float(distances.std()) if measurable else float("nan"),
        interval=_two_sided(limits, level),
        bounds=bounds,
        lower_limit=bounds.low,
        pvalue=test.pvalue,
        mid_pvalue=test.mid_pvalue,
        pvalue_adjusted=float("nan"),
        tests=(HypothesisTest(_NULL, "two-sided", test.statistic, test.pvalue, test.method),),
        verdict=verdict,
        n=first.n,
        n_reference=second.n,
        contributions=noise.difference,
        note=note,
    )
    return Compared(_with_estimate(comparison, pair, settings, rng), limits)


def _lacks(pair: Pair, lacking: Sequence[str], measurable: bool) -> str:
    """What keeps a comparison from being judged; empty for nothing."""
    if lacking:
        return f"{' and '.join(lacking)}: one row is no distribution."
    if measurable:
        return ""
    units = "clusters" if pair.samples[0].clusters is not None else "effective rows"
    few = [name for name, s in zip(pair.names, pair.samples, strict=True) if s.n_units < SMALLEST_GROUP]
    return f"{' and '.join(few)}: fewer than {SMALLEST_GROUP} {units}, too few for a variance."


def _two_sided(limits: DistanceLimits, level: float) -> Interval:
    tail = (1 + level) / 2
    return Interval(limits.lower(tail), limits.upper(tail), level, _METHOD)


def _verdict(bounds: Interval, threshold: float) -> str:
    if bounds.low > threshold:
        return "violated"
    return "satisfied" if bounds.high < threshold else "undecided"


def _with_estimate(
    comparison: MaddComparison, pair: Pair, settings: MaddSettings, rng: np.random.Generator
) -> MaddComparison:
    """The comparison with the estimate asked for: other bins than the grid's, or the search."""
    first, second = pair.samples
    plain = all(s.weights is None and s.clusters is None for s in pair.samples)
    if settings.n_bins is not None:
        if settings.n_bins == comparison.grid_bins:
            return comparison
        counts = [s.histogram(bin_edges(settings.n_bins)) for s in pair.samples]
        expected = null_mean(counts[0] + counts[1], first.n, second.n) if plain else float("nan")
        return replace(
            comparison, estimate=float(histogram_distance(counts[0], counts[1])), null_mean=expected
        )
    curve = curve_of(first, second, settings.max_bins, pair.names)
    stable = stable_bandwidth(curve, min_points=settings.min_points, width=settings.width)
    found = replace(
        comparison,
        estimate=stable.mean,
        bandwidth=stable,
        curve=curve,
        null_mean=_null_mean(first, second, stable, settings.max_bins) if plain else float("nan"),
    )
    if settings.permutations == "grid":
        return found
    test = _test_of_search(pair, curve, stable, settings, rng)
    null = HypothesisTest(_NULL, "two-sided", stable.mean, test.pvalue, test.method)
    return replace(found, search_pvalue=test.pvalue, null_mean=test.null_mean, tests=(*found.tests, null))


def _null_mean(first: Sample, second: Sample, stable: StableBandwidth, max_bins: int) -> float:
    """Mean over the grids of the stretch of what alike groups would show."""
    grid = farey_grid(max_bins)
    fewest, most = stable.n_bins
    below = first.below(grid.edges) + second.below(grid.edges)
    counts = grid_counts(grid, below, first.n + second.n, fewest, most)
    return null_mean(counts, first.n, second.n) / (most - fewest + 1)


def _test_of_search(
    pair: Pair, curve: MaddCurve, stable: StableBandwidth, settings: MaddSettings, rng: np.random.Generator
) -> DistributionTest:
    def estimate_of(madd: NDArray[np.float64]) -> float:
        again = replace(curve, madd=madd)
        return stable_bandwidth(again, min_points=settings.min_points, width=settings.width).mean

    return search_test(*pair.samples, stable.mean, estimate_of, settings.max_bins, settings.n_resamples, rng)


def _empty(pair: Pair, settings: MaddSettings, note: str) -> MaddComparison:
    """A comparison that the data cannot give."""
    nan, level = float("nan"), settings.confidence_level
    return MaddComparison(
        group=pair.names[0],
        reference=pair.names[1],
        estimate=nan,
        bandwidth=None,
        curve=None,
        h_sup=nan,
        null_mean=nan,
        search_pvalue=nan,
        grid_bins=settings.grid_bins or 2,
        binned=nan,
        binned_null_mean=nan,
        bias_corrected=nan,
        std_error=nan,
        interval=Interval(0.0, 2.0, level, _METHOD),
        bounds=Interval(0.0, 2.0, 2 * level - 1, _METHOD),
        lower_limit=0.0,
        pvalue=nan,
        mid_pvalue=nan,
        pvalue_adjusted=nan,
        tests=(),
        verdict="insufficient evidence",
        n=pair.samples[0].n,
        n_reference=pair.samples[1].n,
        contributions=np.full(settings.grid_bins or 2, nan),
        note=note,
    )


def largest_of(
    pairs: Sequence[Pair],
    compared: Sequence[Compared],
    samples: Sequence[Sample],
    settings: MaddSettings,
    rng: np.random.Generator,
) -> LargestMadd | None:
    """The largest MADD of several comparisons on their grids; None where fewer than two can be made.

    Parameters
    ----------
    pairs, compared : sequence
        The comparisons.
    samples : sequence of Sample, length G
        Every group.
    settings : MaddSettings
    rng : numpy.random.Generator

    Notes
    -----
    If every δ_j lies in [L_j, U_j] then max_j δ_j lies in [max_j L_j, max_j U_j]; Bonferroni makes the former
    hold. A comparison that cannot be made leaves the interval open upwards.
    """
    known = [(p, c, c.limits) for p, c in zip(pairs, compared, strict=True) if c.limits is not None]
    if len(known) < 2:
        return None
    complete = len(known) == len(pairs)
    top = max((c.comparison for _, c, _ in known), key=lambda c: c.binned)
    level, count = settings.confidence_level, len(known)

    def projected(error: float, name: float) -> Interval:
        low = max(limits.lower(1 - error / count) for *_, limits in known)
        high = max(limits.upper(1 - error / count) for *_, limits in known)
        return Interval(low, high if complete else 2.0, name, f"{_METHOD}, Bonferroni")

    bounds = projected(1 - level, 2 * level - 1)
    lowest = max(known, key=lambda entry: entry[2].lower(1 - (1 - level) / count))[0]
    test = _test_of_largest(known, samples, settings, rng)
    return LargestMadd(
        group=top.group,
        reference=top.reference,
        limited_by=lowest.names,
        estimate=top.binned,
        null_mean=test.null_mean,
        interval=projected((1 - level) / 2, level),
        bounds=bounds,
        statistic=test.statistic,
        pvalue=test.pvalue,
        mid_pvalue=test.mid_pvalue,
        verdict=_verdict(bounds, settings.threshold),
        n=sum(s.n for s in samples),
        method=test.method,
    )


def _test_of_largest(
    known: Sequence[tuple[Pair, Compared, DistanceLimits]],
    samples: Sequence[Sample],
    settings: MaddSettings,
    rng: np.random.Generator,
) -> DistributionTest:
    present = [g for g, s in enumerate(samples) if s.n]
    position = {g: i for i, g in enumerate(present)}
    sides = [
        (
            tuple(position[g] for g in p.groups[0] if g in position),
            tuple(position[g] for g in p.groups[1] if g in position),
            c.comparison.grid_bins,
        )
        for p, c, _ in known
    ]
    test = largest_test([samples[g] for g in present], sides, settings.n_resamples, rng)
    if test is not None:
        return test
    pvalues = [c.comparison.pvalue for _, c, _ in known if np.isfinite(c.comparison.pvalue)]
    bonferroni = min(1.0, len(known) * min(pvalues)) if pvalues else float("nan")
    largest = max(c.comparison.binned for _, c, _ in known)
    return DistributionTest(largest, bonferroni, bonferroni, float("nan"), "multiplier bootstrap, Bonferroni")
