"""MADD: distances on the grid, exact means of alike groups, permutation tests, limits, the stable stretch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from fairstats.report.crosscheck.adjusted import ADJUSTED, adjusted_in_r
from fairstats.report.crosscheck.bench import Bench
from fairstats.report.crosscheck.check import Check, Place

if TYPE_CHECKING:
    from fairstats.methods.madd.entries import LargestMadd, MaddComparison
    from fairstats.methods.madd.result import MaddResult

__all__ = ["checks"]

_PAIR, _LARGEST, _SEARCH = "crosscheck_madd_pair", "crosscheck_madd_largest", "crosscheck_madd_search"
_WEIGHTED = "of weighted or clustered rows: R has no twin of its linearisation"
_ROWS = "the search for a stable bandwidth needs every score"


def checks(result: MaddResult, bench: Bench) -> Iterator[Check]:
    """Every number of MADD."""
    for c in result.comparisons:
        on_grid = bench.place("madd_binned" if result.settings.apart else "madd", c.group, c.reference)
        if not c.tests:
            yield on_grid.left_out("estimate", c.binned, c.note or "nothing was computed")
            continue
        sides = _sides(result, c)
        if result.settings.apart:
            yield from _estimate(result, c, bench)
        if result.counts.weighted or c.tests[0].method != "exact permutation":
            first, second = (side / side.sum() for side in sides)
            source = bench.source("base::sum")
            value = bench.call("base::sum", np.abs(first - second))
            yield on_grid.compare("estimate", c.binned, value, source)
            yield on_grid.left_out("interval and test", c.interval.low, _WEIGHTED)
            continue
        yield from _pair(result, c, sides, on_grid, bench)
    plain = not result.counts.weighted and (result.largest is None or "clusters" not in result.largest.method)
    if bench.adjusted_here:
        yield from _adjusted(result, bench)
    if result.largest is not None and plain:
        yield from _largest(result, result.largest, bench)


def _sides(result: MaddResult, c: MaddComparison) -> list[np.ndarray[Any, Any]]:
    counts = np.asarray(result.counts.on(c.grid_bins), dtype=np.float64)
    return [counts[list(groups)].sum(axis=0) for groups in _positions(result, c)]


def _positions(result: MaddResult, c: MaddComparison) -> tuple[list[int], list[int]]:
    """Groups on either side; the other side of "all others" is the rest."""
    groups = list(result.counts.groups)
    first = groups.index(c.group)
    if c.reference in groups:
        return [first], [groups.index(c.reference)]
    return [first], [g for g in range(len(groups)) if g != first]


def _pair(
    result: MaddResult, c: MaddComparison, sides: list[Any], place: Place, bench: Bench
) -> Iterator[Check]:
    s = result.settings
    found = bench.call(_PAIR, *sides, s.confidence_level, s.n_resamples)
    source = bench.source(_PAIR)
    grid = bench.source("madd_null_mean")
    yield place.compare("estimate", c.binned, found["madd"], source)
    largest = int(np.argmax(np.abs(c.contributions)))
    mine = np.asarray(c.contributions)
    theirs = np.atleast_1d(found["contributions"])
    far = int(np.argmax(np.abs(mine - theirs))) if mine.shape == theirs.shape else largest
    yield place.compare(
        f"contribution of bin {far + 1} (the least alike)",
        mine[far],
        theirs[min(far, theirs.size - 1)],
        source,
    )
    yield place.compare("h_sup", c.h_sup, found["h_sup"], bench.source("madd_bandwidth_order"))
    yield place.compare("mean if alike", c.binned_null_mean, found["null_mean"], grid)
    permuted = bench.source("stats::r2dtable")
    error = found["pvalue_error"]
    yield place.compare("p-value (permutation)", c.pvalue, found["pvalue"], permuted, error=error)
    yield place.compare("mid-p value", c.mid_pvalue, found["mid"], permuted, error=error)
    yield place.compare("standard error", c.std_error, found["sd"], source, error=found["sd_error"])
    bias = found["bias_error"]
    yield place.compare("bias-corrected", c.bias_corrected, found["bias_corrected"], source, error=bias)
    low, one = found["low_error"], found["bound_low_error"]
    yield place.compare("interval, lower end", c.interval.low, found["low"], source, error=low)
    yield place.compare("interval, upper end", c.interval.high, found["high"], source)
    yield place.compare("one-sided bound, lower end", c.bounds.low, found["bound_low"], source, error=one)
    yield place.compare("one-sided bound, upper end", c.bounds.high, found["bound_high"], source)


def _estimate(result: MaddResult, c: MaddComparison, bench: Bench) -> Iterator[Check]:
    """The estimate with other bins than the grid's, or over the stable stretch: from curve or scores."""
    place = bench.place("madd", c.group, c.reference)
    s = result.settings
    given = bench.given("score", "sensitive_features")
    weighted = bench.data is not None and bench.data.get("sample_weight") is not None
    if given is not None and not weighted:
        scores = _scores(result, c, *given)
        if s.n_bins is not None:
            value = bench.call("madd", *scores, s.n_bins)
            yield place.compare("estimate", c.estimate, value, bench.source("madd"))
            return
        found = bench.call(_SEARCH, *scores, s.max_bins, s.min_points, s.width)
    elif c.curve is not None and c.bandwidth is not None:
        found = bench.call(
            "madd_stable", c.curve.bandwidth, c.curve.madd, c.curve.n0, c.curve.n1, s.min_points, s.width
        )
    else:
        why = _ROWS if s.n_bins is None else "these bins are not those of the stored grid"
        yield place.needs_data("estimate", c.estimate, why)
        if c.bandwidth is not None:
            yield place.needs_data("stable bandwidth, least", c.bandwidth.low, why)
            yield place.needs_data("stable bandwidth, largest", c.bandwidth.high, why)
        return
    yield from _stretch(c, found, place, bench, with_curve="curve" in found)


def _stretch(
    c: MaddComparison, found: dict[str, Any], place: Place, bench: Bench, *, with_curve: bool
) -> Iterator[Check]:
    source = bench.source("madd_stable")
    stable: Any = c.bandwidth
    yield place.compare("estimate", c.estimate, found["mean"], source)
    yield place.compare("stable bandwidth, least", stable.low, found["low"], source)
    yield place.compare("stable bandwidth, largest", stable.high, found["high"], source)
    std = found["std"]
    yield place.compare("standard deviation over it", stable.std, std, source, relative=1e-6, absolute=1e-9)
    yield place.compare("bandwidths in it", stable.n_points, found["n_points"], source)
    yield place.compare("h_sup", stable.h_sup, found["h_sup"], bench.source("madd_bandwidth_order"))
    if with_curve and c.curve is not None:
        of = bench.source("madd_curve")
        yield place.compare("least MADD of the curve", c.curve.madd.min(), found["lowest"], of)
        apart = float(np.abs(np.asarray(c.curve.madd) - np.asarray(found["curve"])).max())
        yield place.compare("largest difference of the curves", 0.0, apart, of)


def _scores(result: MaddResult, c: MaddComparison, score: Any, group: Any) -> list[Any]:
    names = np.asarray(group)
    values = np.asarray(score, dtype=np.float64)
    if np.isnan(values).any():
        values, names = values[~np.isnan(values)], names[~np.isnan(values)]
    labels = result.counts.groups
    return [
        values[np.isin(names.astype(str), [labels[g] for g in positions])]
        for positions in _positions(result, c)
    ]


def _largest(result: MaddResult, largest: LargestMadd, bench: Bench) -> Iterator[Check]:
    place = bench.place("madd_max", largest.group, largest.reference)
    known = [c for c in result.comparisons if c.tests]
    present = [g for g, n in enumerate(np.asarray(result.counts.sizes).tolist()) if n]
    position = {g: k + 1 for k, g in enumerate(present)}
    sides = [
        [[position[g] for g in groups if g in position] for groups in _positions(result, c)] for c in known
    ]
    counts = np.asarray(result.counts.counts, dtype=np.float64)[present]
    found = bench.call(
        _LARGEST, counts, np.asarray(result.counts.edges),
        [np.array(first) for first, _ in sides], [np.array(second) for _, second in sides],
        [c.grid_bins for c in known], result.settings.n_resamples,
    )  # fmt: skip
    source, permuted = bench.source(_LARGEST), bench.source("stats::r2dtable")
    yield place.compare("estimate", largest.estimate, found["estimate"], source)
    error = found["statistic_error"]
    yield place.compare("statistic", largest.statistic, found["statistic"], permuted, error=error)
    error = found["pvalue_error"]
    yield place.compare("p-value (permutation)", largest.pvalue, found["pvalue"], permuted, error=error)
    yield place.compare("mid-p value", largest.mid_pvalue, found["mid"], permuted, error=error)
    error = found["null_mean_error"]
    yield place.compare("mean if alike", largest.null_mean, found["null_mean"], permuted, error=error)


def _adjusted(result: MaddResult, bench: Bench) -> Iterator[Check]:
    found, source = adjusted_in_r(bench, [c.pvalue for c in result.comparisons], result.settings.adjust)
    name = "madd_binned" if result.settings.apart else "madd"
    for c, p in zip(result.comparisons, found, strict=True):
        yield bench.place(name, c.group, c.reference).compare(ADJUSTED, c.pvalue_adjusted, p, source)
