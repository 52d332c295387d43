"""One comparison: estimate, grid, interval, test, verdict of two samples; and the largest of several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.results import HypothesisTest, Interval
from fairstats.ground.scores import bandwidth_order, label_blind_bins
from fairstats.ground.verdict import Evidence, settle
from fairstats.methods.madd import permutation
from fairstats.methods.madd.binning import bin_edges, farey_grid, grid_counts, histogram_distance
from fairstats.methods.madd.curve import StableBandwidth, curve_of, stable_bandwidth
from fairstats.methods.madd.noise import SMALLEST_GROUP, DistanceLimits, distance_limits, noise_of
from fairstats.methods.madd.result import LargestMadd, MaddComparison
from fairstats.methods.madd.scores import TIED, GridCounts, Sample
from fairstats.methods.madd.settings import MaddSettings

_NAN = float("nan")
_METHOD = "directional delta"
_NULL = "one score distribution in both groups"


class Pair(NamedTuple):
    """Two sides to compare; `groups`: positions of the groups on either side."""

    names: tuple[str, str]
    groups: tuple[tuple[int, ...], tuple[int, ...]]
    samples: tuple[Sample, Sample]


def compare(
    pair: Pair, settings: MaddSettings, rng: np.random.Generator, *, atoms: NDArray[np.float64] | None = None,
    limit_draws: int = 0,
) -> tuple[MaddComparison, DistanceLimits | None]:  # fmt: skip
    """Compare two samples, yet without a verdict; the limits, too, which verdicts and the largest need.

    `atoms`: the distinct scores, where they are the bins; `limit_draws`: draws behind the lower limit, if
    more than others. Raises InputError if no stretch of bandwidths is eligible.
    """
    first, second = pair.samples
    level, draws = settings.confidence_level, settings.n_resamples
    known: dict[str, Any] = dict(zip(("group", "reference"), pair.names, strict=True))
    known |= {"n": first.n, "n_reference": second.n}
    lacking = [name for name, s in zip(pair.names, pair.samples, strict=True) if s.n < 2 or not s.total > 0]
    if not (first.total > 0 and second.total > 0):
        bins = (settings.grid_bins or 2) if atoms is None else atoms.size
        weightless = all(s.n for s in pair.samples if not s.total > 0)
        none = "all weights of rows are 0" if weightless else "no rows"
        empty = MaddComparison(
            **known, grid_bins=bins, atoms=atoms is not None,
            confidence_interval=Interval(0.0, 2.0, level, _METHOD), bounds=Interval(0.0, 2.0, level, _METHOD),
            verdict="insufficient evidence", contributions=np.full(bins, _NAN),
            note=f"{' and '.join(lacking)}: {none}, so no score distribution.",
        )  # fmt: skip
        return empty, None
    if atoms is None:
        edges = bin_edges(settings.grid_bins or label_blind_bins(first.n_effective, second.n_effective))
    else:
        edges = atoms[1:]
    noise = noise_of(first, second, edges)
    limits = distance_limits(noise, min(first.n_units, second.n_units), max(draws, limit_draws), rng)
    distances = noise.distances(draws, rng)
    measurable = bool(np.isfinite(limits.shortfall))
    test = permutation.pair_test(first, second, edges, draws, rng)
    if test is None:
        test = permutation.multiplier_test(noise, draws, rng)
        if not measurable:
            test = replace(test, pvalue=_NAN, mid_pvalue=_NAN, null_mean=_NAN)
    remark = ""
    if measurable and _without_common_score(first, second):
        limits = replace(limits, shortfall=np.inf)
        remark = f"{' and '.join(pair.names)} have no score in common: bins cannot show them alike."
    bounds = Interval(limits.lower(level), limits.upper(level), level, _METHOD)
    tail = (1 + level) / 2
    note = f"{' and '.join(lacking)}: one row is no distribution." if lacking else ""
    if not (lacking or measurable):
        few = [name for name, s in zip(pair.names, pair.samples, strict=True) if s.n_units < SMALLEST_GROUP]
        units = "clusters" if first.clusters is not None else "effective rows"
        note = f"{' and '.join(few)}: fewer than {SMALLEST_GROUP} {units}, too few for a variance."
    comparison = MaddComparison(
        **known, estimate=test.statistic, h_sup=bandwidth_order(first.n_effective, second.n_effective),
        null_mean=test.null_mean, grid_bins=edges.size + 1, atoms=atoms is not None, binned=test.statistic,
        binned_null_mean=test.null_mean,
        bias_corrected=max(2 * limits.estimate - float(distances.mean()), 0.0) if measurable else _NAN,
        std_error=float(distances.std()) if measurable else _NAN,
        confidence_interval=Interval(limits.lower(tail), limits.upper(tail), level, _METHOD), bounds=bounds,
        lower_limit=bounds.low, statistic=test.statistic, pvalue=test.pvalue, mid_pvalue=test.mid_pvalue,
        tests=(HypothesisTest(_NULL, "two-sided", test.statistic, test.pvalue, test.method),),
        verdict="insufficient evidence" if note else "", contributions=noise.difference, note=note or remark,
    )  # fmt: skip
    return _with_estimate(comparison, pair, settings, rng), limits


def _with_estimate(
    comparison: MaddComparison, pair: Pair, settings: MaddSettings, rng: np.random.Generator
) -> MaddComparison:
    """The comparison with the estimate asked for: other bins than the grid's, or the search."""
    first, second = pair.samples
    plain = first.plain and second.plain
    if settings.n_bins is not None:
        if settings.n_bins == comparison.grid_bins:
            return comparison
        bins = [s.histogram(bin_edges(settings.n_bins)) for s in pair.samples]
        expected = permutation.null_mean(bins[0] + bins[1], first.n, second.n) if plain else _NAN
        return replace(comparison, estimate=float(histogram_distance(*bins)), null_mean=expected)
    curve = curve_of(first, second, settings.max_bins, pair.names)

    def stretch(madd: NDArray[np.float64]) -> StableBandwidth:
        again = replace(curve, madd=madd)
        return stable_bandwidth(again, min_points=settings.min_points, width=settings.width)

    stable = stretch(curve.madd)
    expected = _NAN
    if plain:  # the mean over the grids of the stretch of what alike groups would show
        grid, (fewest, most) = farey_grid(settings.max_bins), stable.n_bins
        below = first.below_grids(settings.max_bins) + second.below_grids(settings.max_bins)
        counts = grid_counts(grid, below, first.n + second.n, fewest, most)
        expected = permutation.null_mean(counts, first.n, second.n) / (most - fewest + 1)
    found = replace(comparison, estimate=stable.mean, bandwidth=stable, curve=curve, null_mean=expected)
    if settings.permutations == "grid":
        return found
    draws, estimate_of = settings.n_resamples, lambda madd: stretch(madd).mean
    test = permutation.search_test(first, second, stable.mean, estimate_of, settings.max_bins, draws, rng)
    null = HypothesisTest(_NULL, "two-sided", stable.mean, test.pvalue, test.method)
    return replace(found, search_pvalue=test.pvalue, null_mean=test.null_mean, tests=(*found.tests, null))


def _without_common_score(first: Sample, second: Sample) -> bool:
    """Whether scores are tied and yet no value occurs in both groups: then coarse bins show no likeness."""
    one, two = (s.scores[np.diff(s.scores, prepend=-1) > 0] for s in (first, second))
    if TIED * (one.size + two.size) > first.n_units + second.n_units:
        return False
    for some in (one[:1000], one[1000:]):  # mostly the first few settle it
        if (two[np.minimum(np.searchsorted(two, some), two.size - 1)] == some).any():
            return False
    return True


def largest_of(
    pairs: Sequence[Pair], compared: Sequence[tuple[MaddComparison, DistanceLimits | None]],
    samples: Sequence[Sample], grids: GridCounts, settings: MaddSettings, rng: np.random.Generator,
) -> LargestMadd | None:  # fmt: skip
    """The largest MADD of several comparisons on their grids; None where fewer than two can be made.

    If every δ_j lies in [L_j, U_j] then max_j δ_j lies in [max_j L_j, max_j U_j]; Bonferroni makes the former
    hold. A comparison that cannot be made leaves the interval open upwards.
    """
    known = [(p, c, limits) for p, (c, limits) in zip(pairs, compared, strict=True) if limits is not None]
    if len(known) < 2:
        return None
    complete = len(known) == len(pairs)
    top = max((c for _, c, _ in known), key=lambda c: c.binned)
    level, count = settings.confidence_level, len(known)

    def projected(error: float, name: float) -> Interval:
        low = max(limits.lower(1 - error / count) for *_, limits in known)
        high = max(limits.upper(1 - error / count) for *_, limits in known)
        return Interval(low, high if complete else 2.0, name, f"{_METHOD}, Bonferroni")

    lowest = max(known, key=lambda entry: entry[2].lower(1 - (1 - level) / count))[0]
    place = np.cumsum([s.n > 0 for s in samples]) - 1  # among the groups that have rows

    def placed(side: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(int(place[g]) for g in side if samples[g].n)

    sides = [(placed(p.groups[0]), placed(p.groups[1]), grids.grid(c.grid_bins)) for p, c, _ in known]
    test = permutation.largest_test([s for s in samples if s.n], sides, settings.n_resamples, rng)
    if test is None:
        pvalues = [c.pvalue for _, c, _ in known if np.isfinite(c.pvalue)]
        bonferroni = min(1.0, count * min(pvalues)) if pvalues else _NAN
        name = "multiplier bootstrap, Bonferroni"
        test = permutation.DistributionTest(top.binned, bonferroni, bonferroni, _NAN, name)
    own = [limits.evidence(settings.margin) for *_, limits in known]
    above = min(count * min(e.above for e in own), 1.0)
    inside = min(count * max(e.inside for e in own), 1.0) if complete else 1.0
    (ruling,) = settle([Evidence(above=above, inside=inside)], confidence_level=level, adjust="none")
    largest = LargestMadd(
        group=top.group, reference=top.reference, limited_by=lowest.names, estimate=top.binned,
        null_mean=test.null_mean, confidence_interval=projected((1 - level) / 2, level),
        bounds=projected(1 - level, level), statistic=test.statistic, pvalue=test.pvalue,
        mid_pvalue=test.mid_pvalue, pvalue_adjusted=test.pvalue, n=sum(s.n for s in samples),
        method=test.method,
    )  # fmt: skip
    return largest.ruled(ruling)
