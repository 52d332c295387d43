"""Distances between groups: MADD, areas between ROC curves, HFM and distances between sets of rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from fairstats.ground.encoding import label_text
from fairstats.ground.groups import sensitive_columns
from fairstats.ground.lazy import pd
from fairstats.ground.parts import dates_as_days
from fairstats.methods.hfm.result import HfmEntry, HfmResult
from fairstats.methods.hfm.set_distance import SetDistance
from fairstats.methods.madd.result import LargestMadd, MaddComparison, MaddResult
from fairstats.methods.rates.abroca import AbrocaResult
from fairstats.report.crosscheck.check import VERDICT, Bench, Check, Line, Place, ends, rows_of
from fairstats.report.crosscheck.rates import adjusted, positions

# ---------------------------------------------------------------- MADD

_ORDER, _PERMUTED = "madd_bandwidth_order", "stats::r2dtable"
_WEIGHTED = "of weighted or clustered rows: R has no twin of its linearisation"
_ROWS = "the search for a stable bandwidth needs every score"
_CELLS = "of weighted rows, or clusters: no permutation of single rows"
_SETS = "a distance between sets of rows"
_PERMUTATIONS = (
    Line("p-value (permutation)", "pvalue", "pvalue", "pvalue_error", function=_PERMUTED),
    Line("mid-p value", "mid_pvalue", "mid", "pvalue_error", function=_PERMUTED),
)
_ON_GRID = (
    Line("estimate", "estimate", "madd"),
    Line("h_sup", "h_sup", function=_ORDER),
    Line("mean if alike", "null_mean", "null_mean", function="fs_madd_null_mean"),
    *_PERMUTATIONS,
    Line("standard error", "std_error", "sd", "sd_error"),
    Line("bias-corrected", "bias_corrected", "bias_corrected", "bias_error"),
    Line("interval, lower end", "confidence_interval.low", "low", "low_error"),
    Line("interval, upper end", "confidence_interval.high", "high"),
    Line("one-sided bound, lower end", "bounds.low", "bound_low", "bound_low_error"),
    Line("one-sided bound, upper end", "bounds.high", "bound_high"),
)
_STRETCH = (
    Line("headline", "headline", "mean"),
    Line("stable bandwidth, least", "bandwidth.low", "low"),
    Line("stable bandwidth, largest", "bandwidth.high", "high"),
    Line("standard deviation over it", "bandwidth.std", "std", relative=1e-6, absolute=1e-9),
    Line("bandwidths in it", "bandwidth.n_points", "n_points"),
    Line("h_sup", "bandwidth.h_sup", "h_sup", function=_ORDER),
)
_MOST = (
    Line("statistic", "statistic"),
    *_PERMUTATIONS,
    Line("mean if alike", "null_mean", "null_mean", "null_mean_error", function=_PERMUTED),
)


def madd(result: MaddResult, bench: Bench) -> Iterator[Check]:
    """Every number of MADD."""
    rows, adjust = result.comparisons, result.settings.adjust
    for c in rows:
        place = bench.place_of(c)
        if not c.tests:
            yield place.left_out("estimate", c.estimate, c.note or "nothing was computed")
            continue
        yield from _pair(result, c, place, bench)
        if not result.settings.equal_width:
            yield from _headline(result, c, place, bench)
    yield from bench.adjusted(rows, bench.place_of, adjust)
    yield from bench.adjusted(rows, bench.place_of, adjust, "pvalue_verdict")
    if result.largest is not None:
        yield from _largest(result, result.largest, bench)


def _pair(result: MaddResult, c: MaddComparison, place: Place, bench: Bench) -> Iterator[Check]:
    settings, twin = result.settings, "crosscheck_madd_pair"
    sides = list(np.asarray(c.counts, dtype=np.float64))
    plain = c.tests[0].method == "exact permutation"
    yield from _bins(result, c, sides, place, bench)
    if not plain:
        first, second = (side / side.sum() for side in sides)
        yield place.compare("estimate", c.estimate, bench.call("base::sum", np.abs(first - second)), "base::sum")
        yield place.left_out("interval and test", c.confidence_interval.low, _WEIGHTED)
        return
    apart = bool(c.note) and c.bounds.high == 2.0  # no score in common: no upper limit
    found = bench.call(twin, *sides, settings.confidence_level, settings.n_resamples, settings.margin, apart)
    yield from place.compare_all(_ON_GRID, c, found, twin)
    if c.direction:
        # a p-value that only draws can settle is compared within their error
        value, error = found[f"p_{c.direction}"], found[f"p_{c.direction}_error"]
        yield place.compare(VERDICT, c.pvalue_verdict, value, twin, error=error)
    mine, theirs = np.asarray(c.contributions), np.atleast_1d(found["contributions"])
    far = int(np.argmax(np.abs(mine - theirs) if mine.shape == theirs.shape else np.abs(mine)))
    quantity = f"contribution of bin {far + 1} (the least alike)"
    yield place.compare(quantity, mine[far], theirs[min(far, theirs.size - 1)], twin)


def _bins(result: MaddResult, c: MaddComparison, sides: list[Any], place: Place, bench: Bench) -> Iterator[Check]:
    """The inner edges, by the scores of both sides; of weighted rows, or without scores, they are taken as given."""
    given = bench.given("score", "sensitive_features")
    settings, twin = result.settings, "pooled_edges"
    if given is None or bench.given("sample_weight") is not None or settings.equal_width or not c.edges.size:
        return
    most = settings.grid_bins or 0
    edges = np.atleast_1d(bench.call(twin, *_scores(result, c, *given), most))
    if edges.size != c.edges.size:
        yield place.compare("number of bins", c.grid_bins, edges.size + 1, twin)
        return
    far = int(np.argmax(np.abs(edges - c.edges)))
    yield place.compare(f"edge {far + 1} of the bins (the least alike)", c.edges[far], edges[far], twin)


def _headline(result: MaddResult, c: MaddComparison, place: Place, bench: Bench) -> Iterator[Check]:
    """MADD in equally wide bins, or over the stable stretch: from curve or scores."""
    settings, curve, twin = result.settings, c.curve, "fs_stable_bandwidth"
    given = bench.given("score", "sensitive_features")
    if given is not None and bench.given("sample_weight") is None:
        scores = _scores(result, c, *given)
        if settings.n_bins is not None:
            yield place.compare("headline", c.headline, bench.call("madd", *scores, settings.n_bins), "madd")
            return
        searched = (settings.max_bins, settings.min_points, settings.width)
        found = bench.call("crosscheck_madd_search", *scores, *searched)
    elif curve is not None and c.bandwidth is not None:
        sizes = (curve.n0, curve.n1, settings.min_points, settings.width)
        found = bench.call(twin, curve.bandwidth, curve.madd, *sizes)
    else:
        why = _ROWS if settings.n_bins is None else "these bins are not those that were stored"
        yield place.needs_data("headline", c.headline, why)
        if c.bandwidth is not None:
            yield place.needs_data("stable bandwidth, least", c.bandwidth.low, why)
            yield place.needs_data("stable bandwidth, largest", c.bandwidth.high, why)
        return
    yield from place.compare_all(_STRETCH, c, found, twin)
    if "curve" in found and curve is not None:
        mine = np.asarray(curve.madd)
        yield place.compare("least MADD of the curve", mine.min(), found["lowest"], "fs_madd_curve")
        apart = float(np.abs(mine - np.asarray(found["curve"])).max())
        yield place.compare("largest difference of the curves", 0.0, apart, "fs_madd_curve")


def _scores(result: MaddResult, c: MaddComparison, score: Any, group: Any) -> list[Any]:
    """Scores on either side; the other side of "all others" is the rest."""
    names, values, labels = np.asarray(group).astype(str), np.asarray(score, dtype=np.float64), result.counts.groups
    sides = result.counts._sides(c.group, c.reference)
    return [values[~np.isnan(values) & np.isin(names, [labels[g] for g in side])] for side in sides]


def _largest(result: MaddResult, largest: LargestMadd, bench: Bench) -> Iterator[Check]:
    made, counts, twin = [c for c in result.comparisons if c.tests], result.counts, "crosscheck_madd_largest"
    place = bench.place_of(largest)
    most = max(c.estimate for c in made)
    yield place.compare("estimate", largest.estimate, bench.call("base::max", [c.estimate for c in made]), "base::max")
    if largest.cells is None or "clusters" in largest.method:
        yield place.left_out("test of the largest", most, _CELLS)
        return
    present = [g for g, n in enumerate(np.asarray(counts.sizes).tolist()) if n]
    at = {g: k + 1 for k, g in enumerate(present)}
    sides = [[np.array([at[g] for g in side if g in at]) for side in counts._sides(c.group, c.reference)] for c in made]
    bins = [result.settings._most_bins(c.n, c.n_reference) for c in made]
    found = bench.call(
        twin,
        np.asarray(largest.cells, dtype=np.float64),
        [first for first, _ in sides],
        [second for _, second in sides],
        bins,
        result.settings.n_resamples,
        result.settings.equal_width,
    )
    yield from place.compare_all(_MOST, largest, found, twin)


# ---------------------------------------------------------------- areas between ROC curves

#: A result stores at most so many bins of scores, with so many rows on average.
_BINS, _ROWS_A_BIN = 2048, 10
_BLURRED = "scores were stored in bins: within what these can blur; exact with the data"
_AUC = (Line("AUC", "rate", "auc"), Line("AUC of the reference", "rate_reference", "auc_reference"))
_AREA = (Line("estimate", "estimate"), *ends("interval", "confidence_interval", random=True))
_SPREAD = (Line("standard error", "std_error", "sd", "sd_error"), Line("p-value", "pvalue", "pvalue", "pvalue_error"))
#: Direction of a verdict → its p-value in the twin.
_EVIDENCE = {
    side: (Line(f"{VERDICT} ({side})", "pvalue_verdict", name, f"{name}_error"),)
    for side, name in (("above", "p_above"), ("inside", "p_inside"))
}


def abroca(result: AbrocaResult, bench: Bench) -> Iterator[Check]:
    """Exact areas and AUCs; the bootstrap within its Monte Carlo error."""
    scores: Any = result.counts
    s, groups, twin = result.settings, scores.groups, "crosscheck_abroca"
    given = bench.given("y_true", "score", "sensitive_features")
    if given is None:
        counts = np.asarray(scores.counts, dtype=np.float64)
        most = max(2, min(_BINS, int(counts.sum()) // _ROWS_A_BIN))
        blurred = scores.values.size >= most / 2
    else:
        y, score, group = given
        counts = bench.call("abroca_counts", score, np.asarray(y, dtype=float), list(group), list(groups))
        blurred = False
    # all pairs count where the data chose the reference
    level = 1 - (1 - s.confidence_level) / (math.comb(len(groups), 2) if s.reference_rule == "highest" else 1)
    found = bench.call(twin, counts, *positions(scores, result.comparisons), level, int(s.n_resamples), s.limit)
    for c, row, mean in zip(result.comparisons, rows_of(found), result.expected_if_equal, strict=True):
        place = bench.place_of(c)
        near: dict[str, Any] = {"absolute": 1e-10 + row["slack"], "note": _BLURRED} if blurred else {}
        yield from place.compare_all(_AUC, c, row, twin, **near)
        if not c.tests:
            continue
        row |= {
            "low": max(row["estimate"] - row["reach"], 0.0), "high": min(row["upper"], 1.0),
            "low_error": row["reach_error"], "high_error": row["reach_error"],
        }  # fmt: skip
        yield from place.compare_all(_AREA, c, row, twin, **near)
        yield from place.compare_all((*_SPREAD, *_EVIDENCE.get(c.direction, ())), c, row, twin)
        yield place.compare("mean if equal", mean, row["mean"], twin, error=row["mean_error"])
    yield from adjusted(result, bench)


# ---------------------------------------------------------------- HFM and distances between sets of rows

_RATIO_TWIN = "harmonic_measure"
#: HFM is a ratio less 1: what is lost of the distances is lost of their ratio.
_RATIO = 1e-7
_DISTANCES = tuple(Line(words, name, relative=_RATIO) for words, name in (("D", "d"), ("D_f", "d_f"), ("HFM", "hfm")))
_OF_THESE = (Line("HFM of these distances", "hfm", relative=_RATIO),)
_NO_PERMUTATIONS = "of permutations of the rows, each with its own set distances: R has no twin as fast"
_DIRECTED = (
    Line("estimate", "value"), Line("from a to b", "a_to_b.value", "a_to_b"),
    Line("from b to a", "b_to_a.value", "b_to_a"),
)  # fmt: skip


def hfm(result: HfmResult, bench: Bench) -> Iterator[Check]:
    """D, D_f and HFM of every entry; HFM from the distances of the report without rows."""
    given = bench.given("X", "y_true", "y_pred", "sensitive_features")
    learnt = bench.given("reference_data") is not None
    columns = None if given is None or learnt else _columns(given[0], result)
    groups = {} if given is None else _groups(given[3], bench, result)
    places = [bench.place("hfm", f"{entry.attribute}: {entry.group}", entry.reference) for entry in result.entries]
    seen: dict[tuple[str, str], dict[str, float]] = {}
    for entry, place in zip(result.entries, places, strict=True):
        ratio = {"hfm": bench.call(_RATIO_TWIN, entry.d, entry.d_f)}
        yield from place.compare_all(_OF_THESE, entry, ratio, _RATIO_TWIN)
        if columns is None or given is None or (entry.attribute not in groups and not entry.is_maximum):
            for quantity, value in (("D", entry.d), ("D_f", entry.d_f)):
                yield place.needs_data(quantity, value, _SETS)
        else:
            found = _distances(result, entry, columns, given, groups, seen, bench)
            yield from place.compare_all(_DISTANCES, entry, found, "crosscheck_hfm")
    for entry, place in zip(result.entries, places, strict=True):
        for line, test in zip(_DISTANCES, entry.tests, strict=False):
            yield place.left_out(f"p-value of {line.quantity}", test.pvalue, _NO_PERMUTATIONS)


def _columns(X: Any, result: HfmResult) -> dict[str, Any]:
    """Columns as R takes them: numbers, or text."""
    frame = X if isinstance(X, pd.DataFrame) else pd.DataFrame(np.asarray(X))
    found: dict[str, Any] = {}
    for name in frame.columns:
        column, days = frame[name], dates_as_days(frame[name])
        if str(name) in result.left_out:
            continue
        if days is not None or pd.api.types.is_numeric_dtype(column.dtype):
            found[str(name)] = column.to_numpy(dtype=np.float64) if days is None else days
        else:
            found[str(name)] = _texts(column)
    return found


def _texts(column: Any) -> list[str]:
    return [label_text(v) for v in column]


def _groups(sensitive: Any, bench: Bench, result: HfmResult) -> dict[str, list[str]]:
    """Attribute → group of every row."""
    if isinstance(sensitive, Mapping) or hasattr(sensitive, "columns"):
        given: Mapping[str, Any] = sensitive_columns(sensitive)
    else:
        (name,) = bench.given("attribute") or [result.entries[0].attribute]
        given = {str(name): sensitive}
    return {str(k): _texts(np.asarray(column).tolist()) for k, column in given.items()}


def _distances(
    result: HfmResult,
    entry: HfmEntry,
    columns: dict[str, Any],
    given: list[Any],
    groups: dict[str, list[str]],
    seen: dict[tuple[str, str], dict[str, float]],
    bench: Bench,
) -> dict[str, float]:
    """D, D_f and HFM of one value against all others; a maximum is that of its values."""
    if entry.is_maximum:
        own = [v for (attribute, _), v in seen.items() if attribute == entry.attribute or entry.attribute not in groups]
        d, d_f = (max(v[name] for v in own) for name in ("d", "d_f"))
        return {"d": d, "d_f": d_f, "hfm": bench.call(_RATIO_TWIN, d, d_f)}
    labels = [_texts(np.asarray(y).tolist()) for y in given[1:3]]
    of = groups[entry.attribute]
    found = bench.call("crosscheck_hfm", columns, *labels, of, entry.group, result.scale, result.statistic)
    seen[entry.attribute, entry.group] = found
    return dict(found)


def set_distance(result: SetDistance, bench: Bench) -> Iterator[Check]:
    """The distance in both directions, by all pairs; the data are the sets `a` and `b`."""
    place, given = bench.place(f"set distance ({result.statistic})", "a", "b"), bench.given("a", "b")
    if not result.exact:
        yield place.left_out("estimate", result.value, "ApproxDist rests on Python's random projections")
    elif given is None:
        yield place.needs_data("estimate", result.value, _SETS)
    else:
        a, b = (np.asarray(rows, dtype=np.float64) for rows in given)
        found = bench.call("fs_set_distance", a, b, result.statistic)
        yield from place.compare_all(_DIRECTED, result, found, "fs_set_distance")
