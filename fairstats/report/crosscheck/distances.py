"""Distances between groups: MADD, areas between ROC curves, HFM and distances between sets of
rows.
"""

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
from fairstats.methods.madd.permutation import EXACT_PERMUTATION, LARGEST_CLUSTER_PERMUTATION
from fairstats.methods.madd.result import LargestMadd, MaddComparison, MaddResult
from fairstats.methods.rates.abroca import AbrocaResult
from fairstats.report.crosscheck.check import VERDICT, Bench, Check, Line, Place, ends, rows_of
from fairstats.report.crosscheck.rates import adjusted, positions

# ---------------------------------------------------------------- MADD

_ORDER = "madd_bandwidth_order"
_PERMUTED = "stats::r2dtable"
_WEIGHTED = "of weighted or clustered rows: R has no twin of its linearisation"
_ROWS = "the search for a stable bandwidth needs every score"
_CELLS = "of weighted rows, or clusters: no permutation of single rows"
_SETS = "a distance between sets of rows"
_PERMUTATIONS = (
    Line(
        quantity="p-value (permutation)",
        attribute="pvalue",
        twin="pvalue",
        error="pvalue_error",
        function=_PERMUTED,
    ),
    Line(
        quantity="mid-p value",
        attribute="mid_pvalue",
        twin="mid",
        error="pvalue_error",
        function=_PERMUTED,
    ),
)
_ON_GRID = (
    Line("estimate", "estimate", "madd"),
    Line("h_sup", "h_sup", function=_ORDER),
    Line("mean if alike", "null_mean", "null_mean", function="fs_madd_null_mean"),
    *_PERMUTATIONS,
    Line(quantity="standard error", attribute="std_error", twin="sd", error="sd_error"),
    Line(
        quantity="bias-corrected",
        attribute="bias_corrected",
        twin="bias_corrected",
        error="bias_error",
    ),
    Line(
        quantity="interval, lower end",
        attribute="confidence_interval.low",
        twin="low",
        error="low_error",
    ),
    Line("interval, upper end", "confidence_interval.high", "high"),
    Line(
        quantity="one-sided bound, lower end",
        attribute="bounds.low",
        twin="bound_low",
        error="bound_low_error",
    ),
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
    Line(
        quantity="mean if alike",
        attribute="null_mean",
        twin="null_mean",
        error="null_mean_error",
        function=_PERMUTED,
    ),
)


def madd(result: MaddResult, bench: Bench) -> Iterator[Check]:
    """Every number of MADD."""
    rows = result.comparisons
    adjust = result.settings.adjust
    for comparison in rows:
        place = bench.place_of(comparison)
        if not comparison.tests:
            yield place.left_out(
                "estimate", comparison.estimate, comparison.note or "nothing was computed"
            )
            continue
        yield from _compare_pair(result, comparison, place, bench)
        if not result.settings.equal_width:
            yield from _compare_headline(result, comparison, place, bench)
    yield from bench.adjusted(rows, bench.place_of, adjust)
    yield from bench.adjusted(rows, bench.place_of, adjust, "pvalue_verdict")
    if result.largest is not None:
        yield from _compare_largest(result, result.largest, bench)


def _compare_pair(
    result: MaddResult,
    comparison: MaddComparison,
    place: Place,
    bench: Bench,
) -> Iterator[Check]:
    settings = result.settings
    r_function = "crosscheck_madd_pair"
    sides = list(np.asarray(comparison.counts, dtype=np.float64))
    plain = comparison.tests[0].method == EXACT_PERMUTATION
    yield from _compare_edges(result, comparison, sides, place, bench)
    if not plain:
        first, second = (side / side.sum() for side in sides)
        yield place.compare(
            "estimate",
            comparison.estimate,
            bench.call("base::sum", np.abs(first - second)),
            "base::sum",
        )
        yield place.left_out("interval and test", comparison.confidence_interval.low, _WEIGHTED)
        return
    # no score in common: no upper limit
    no_common_score = bool(comparison.note) and comparison.bounds.high == 2.0
    answer = bench.call(
        r_function,
        *sides,
        settings.confidence_level,
        settings.n_resamples,
        settings.margin,
        no_common_score,
    )
    yield from place.compare_all(_ON_GRID, comparison, answer, r_function)
    if comparison.direction:
        # a p-value that only draws can settle is compared within their error
        value = answer[f"p_{comparison.direction}"]
        error = answer[f"p_{comparison.direction}_error"]
        yield place.compare(VERDICT, comparison.pvalue_verdict, value, r_function, error=error)
    our_values = np.asarray(comparison.contributions)
    their_values = np.atleast_1d(answer["contributions"])
    if our_values.shape == their_values.shape:
        apart = np.abs(our_values - their_values)
    else:
        apart = np.abs(our_values)
    farthest = int(np.argmax(apart))
    quantity = f"contribution of bin {farthest + 1} (the least alike)"
    yield place.compare(
        quantity,
        our_values[farthest],
        their_values[min(farthest, their_values.size - 1)],
        r_function,
    )


def _compare_edges(
    result: MaddResult,
    comparison: MaddComparison,
    sides: list[Any],
    place: Place,
    bench: Bench,
) -> Iterator[Check]:
    """The inner edges, by the scores of both sides.

    Of weighted rows, or without scores, they are taken as given.
    """
    arguments = bench.given("score", "sensitive_features")
    settings = result.settings
    r_function = "pooled_edges"
    if (
        arguments is None
        or bench.given("sample_weight") is not None
        or settings.equal_width
        or not comparison.edges.size
    ):
        return
    largest = settings.grid_bins or 0
    edges = np.atleast_1d(
        bench.call(r_function, *_scores_of_sides(result, comparison, *arguments), largest)
    )
    if edges.size != comparison.edges.size:
        yield place.compare("number of bins", comparison.grid_bins, edges.size + 1, r_function)
        return
    farthest = int(np.argmax(np.abs(edges - comparison.edges)))
    yield place.compare(
        f"edge {farthest + 1} of the bins (the least alike)",
        comparison.edges[farthest],
        edges[farthest],
        r_function,
    )


def _compare_headline(
    result: MaddResult,
    comparison: MaddComparison,
    place: Place,
    bench: Bench,
) -> Iterator[Check]:
    """MADD in equally wide bins, or over the stable stretch: from curve or scores."""
    settings = result.settings
    curve = comparison.curve
    r_function = "fs_stable_bandwidth"
    arguments = bench.given("score", "sensitive_features")
    if arguments is not None and bench.given("sample_weight") is None:
        scores = _scores_of_sides(result, comparison, *arguments)
        if settings.n_bins is not None:
            yield place.compare(
                "headline",
                comparison.headline,
                bench.call("madd", *scores, settings.n_bins),
                "madd",
            )
            return
        searched = (settings.max_bins, settings.min_points, settings.width)
        answer = bench.call("crosscheck_madd_search", *scores, *searched)
    elif curve is not None and comparison.bandwidth is not None:
        sizes = (curve.n0, curve.n1, settings.min_points, settings.width)
        answer = bench.call(r_function, curve.bandwidth, curve.madd, *sizes)
    else:
        if settings.n_bins is None:
            reason = _ROWS
        else:
            reason = "these bins are not those that were stored"
        yield place.needs_data("headline", comparison.headline, reason)
        if comparison.bandwidth is not None:
            yield place.needs_data("stable bandwidth, least", comparison.bandwidth.low, reason)
            yield place.needs_data("stable bandwidth, largest", comparison.bandwidth.high, reason)
        return
    yield from place.compare_all(_STRETCH, comparison, answer, r_function)
    if "curve" in answer and curve is not None:
        our_values = np.asarray(curve.madd)
        yield place.compare(
            "least MADD of the curve", our_values.min(), answer["lowest"], "fs_madd_curve"
        )
        difference = float(np.abs(our_values - np.asarray(answer["curve"])).max())
        yield place.compare("largest difference of the curves", 0.0, difference, "fs_madd_curve")


def _scores_of_sides(
    result: MaddResult,
    comparison: MaddComparison,
    score: Any,
    group: Any,
) -> list[Any]:
    """Scores on either side; the other side of "all others" is the rest."""
    names = np.asarray(group).astype(str)
    values = np.asarray(score, dtype=np.float64)
    labels = result.counts.groups
    sides = result.counts._sides(comparison.group, comparison.reference)
    return [
        values[~np.isnan(values) & np.isin(names, [labels[group_index] for group_index in side])]
        for side in sides
    ]


def _compare_largest(result: MaddResult, largest: LargestMadd, bench: Bench) -> Iterator[Check]:
    computed = []
    for comparison in result.comparisons:
        if comparison.tests:
            computed.append(comparison)
    counts = result.counts
    r_function = "crosscheck_madd_largest"
    place = bench.place_of(largest)
    most = max(comparison.estimate for comparison in computed)
    yield place.compare(
        "estimate",
        largest.estimate,
        bench.call("base::max", [comparison.estimate for comparison in computed]),
        "base::max",
    )
    if largest.cells is None or largest.method == LARGEST_CLUSTER_PERMUTATION:
        yield place.left_out("test of the largest", most, _CELLS)
        return
    present = []
    for group_index, n in enumerate(np.asarray(counts.sizes).tolist()):
        if n:
            present.append(group_index)
    position = {group_index: index + 1 for index, group_index in enumerate(present)}
    sides = []
    for comparison in computed:
        sides.append(
            [
                np.array([position[group_index] for group_index in side if group_index in position])
                for side in counts._sides(comparison.group, comparison.reference)
            ]
        )
    bins = []
    for comparison in computed:
        bins.append(result.settings._most_bins(comparison.n, comparison.n_reference))
    answer = bench.call(
        r_function,
        np.asarray(largest.cells, dtype=np.float64),
        [first for first, _ in sides],
        [second for _, second in sides],
        bins,
        result.settings.n_resamples,
        result.settings.equal_width,
    )
    yield from place.compare_all(_MOST, largest, answer, r_function)


# ---------------------------------------------------------------- areas between ROC curves

#: A result stores at most so many bins of scores, with so many rows on average.
_BINS = 2048
_ROWS_A_BIN = 10
_BLURRED = "scores were stored in bins: within what these can blur; exact with the data"
_AUC = (Line("AUC", "rate", "auc"), Line("AUC of the reference", "rate_reference", "auc_reference"))
_AREA = (Line("estimate", "estimate"), *ends("interval", "confidence_interval", random=True))
_SPREAD = (
    Line(quantity="standard error", attribute="std_error", twin="sd", error="sd_error"),
    Line(quantity="p-value", attribute="pvalue", twin="pvalue", error="pvalue_error"),
)
#: Direction of a verdict → its p-value in the twin.
_EVIDENCE = {
    side: (
        Line(
            quantity=f"{VERDICT} ({side})",
            attribute="pvalue_verdict",
            twin=name,
            error=f"{name}_error",
        ),
    )
    for side, name in (("above", "p_above"), ("inside", "p_inside"))
}


def abroca(result: AbrocaResult, bench: Bench) -> Iterator[Check]:
    """Exact areas and AUCs; the bootstrap within its Monte Carlo error."""
    scores: Any = result.counts
    settings = result.settings
    groups = scores.groups
    r_function = "crosscheck_abroca"
    arguments = bench.given("y_true", "score", "sensitive_features")
    if arguments is None:
        counts = np.asarray(scores.counts, dtype=np.float64)
        largest = max(2, min(_BINS, int(counts.sum()) // _ROWS_A_BIN))
        blurred = scores.values.size >= largest / 2
    else:
        labels_given, score, group = arguments
        counts = bench.call(
            "abroca_counts", score, np.asarray(labels_given, dtype=float), list(group), list(groups)
        )
        blurred = False
    # all pairs count where the data chose the reference
    level = 1 - (1 - settings.confidence_level) / (
        math.comb(len(groups), 2) if settings.reference_rule == "highest" else 1
    )
    answer = bench.call(
        r_function,
        counts,
        *positions(scores, result.comparisons),
        level,
        int(settings.n_resamples),
        settings.limit,
    )
    for comparison, row, mean in zip(
        result.comparisons, rows_of(answer), result.expected_if_equal, strict=True
    ):
        place = bench.place_of(comparison)
        tolerances: dict[str, Any] = (
            {"absolute": 1e-10 + row["slack"], "note": _BLURRED} if blurred else {}
        )
        yield from place.compare_all(_AUC, comparison, row, r_function, **tolerances)
        if not comparison.tests:
            continue
        row |= {
            "low": max(row["estimate"] - row["reach"], 0.0),
            "high": min(row["upper"], 1.0),
            "low_error": row["reach_error"],
            "high_error": row["reach_error"],
        }
        yield from place.compare_all(_AREA, comparison, row, r_function, **tolerances)
        yield from place.compare_all(
            (*_SPREAD, *_EVIDENCE.get(comparison.direction, ())), comparison, row, r_function
        )
        yield place.compare("mean if equal", mean, row["mean"], r_function, error=row["mean_error"])
    yield from adjusted(result, bench)


# ---------------------------------------------------------------- HFM and distances between sets of
# rows

_RATIO_TWIN = "harmonic_measure"
#: HFM is a ratio less 1: what is lost of the distances is lost of their ratio.
_RATIO = 1e-7
_DISTANCES = tuple(
    Line(words, name, relative=_RATIO)
    for words, name in (("D", "d"), ("D_f", "d_f"), ("HFM", "hfm"))
)
_OF_THESE = (Line("HFM of these distances", "hfm", relative=_RATIO),)
_NO_PERMUTATIONS = (
    "of permutations of the rows, each with its own set distances: R has no twin as fast"
)
_DIRECTED = (
    Line("estimate", "value"),
    Line("from a to b", "a_to_b.value", "a_to_b"),
    Line("from b to a", "b_to_a.value", "b_to_a"),
)


def hfm(result: HfmResult, bench: Bench) -> Iterator[Check]:
    """D, D_f and HFM of every entry; HFM from the distances of the report without rows."""
    arguments = bench.given("X", "y_true", "y_pred", "sensitive_features")
    learnt = bench.given("reference_data") is not None
    if arguments is None or learnt:
        columns = None
    else:
        columns = _columns_for_r(arguments[0], result)
    if arguments is None:
        groups = {}
    else:
        groups = _groups_by_attribute(arguments[3], bench, result)
    places = []
    for entry in result.entries:
        places.append(bench.place("hfm", f"{entry.attribute}: {entry.group}", entry.reference))
    seen: dict[tuple[str, str], dict[str, float]] = {}
    for entry, place in zip(result.entries, places, strict=True):
        ratio = {"hfm": bench.call(_RATIO_TWIN, entry.d, entry.d_f)}
        yield from place.compare_all(_OF_THESE, entry, ratio, _RATIO_TWIN)
        if (
            columns is None
            or arguments is None
            or (entry.attribute not in groups and not entry.is_maximum)
        ):
            for quantity, value in (("D", entry.d), ("D_f", entry.d_f)):
                yield place.needs_data(quantity, value, _SETS)
        else:
            answer = _recompute_distances(result, entry, columns, arguments, groups, seen, bench)
            yield from place.compare_all(_DISTANCES, entry, answer, "crosscheck_hfm")
    for entry, place in zip(result.entries, places, strict=True):
        for line, test in zip(_DISTANCES, entry.tests, strict=False):
            yield place.left_out(f"p-value of {line.quantity}", test.pvalue, _NO_PERMUTATIONS)


def _columns_for_r(X: Any, result: HfmResult) -> dict[str, Any]:
    """Columns as R takes them: numbers, or text."""
    if isinstance(X, pd.DataFrame):
        frame = X
    else:
        frame = pd.DataFrame(np.asarray(X))
    columns: dict[str, Any] = {}
    for name in frame.columns:
        column = frame[name]
        days = dates_as_days(frame[name])
        if str(name) in result.left_out:
            continue
        if days is not None or pd.api.types.is_numeric_dtype(column.dtype):
            columns[str(name)] = column.to_numpy(dtype=np.float64) if days is None else days
        else:
            columns[str(name)] = _texts_of(column)
    return columns


def _texts_of(column: Any) -> list[str]:
    return [label_text(value) for value in column]


def _groups_by_attribute(sensitive: Any, bench: Bench, result: HfmResult) -> dict[str, list[str]]:
    """Attribute → group of every row."""
    if isinstance(sensitive, Mapping) or hasattr(sensitive, "columns"):
        arguments: Mapping[str, Any] = sensitive_columns(sensitive)
    else:
        (name,) = bench.given("attribute") or [result.entries[0].attribute]
        arguments = {str(name): sensitive}
    groups: dict[str, list[str]] = {}
    for attribute, column in arguments.items():
        groups[str(attribute)] = _texts_of(np.asarray(column).tolist())
    return groups


def _recompute_distances(
    result: HfmResult,
    entry: HfmEntry,
    columns: dict[str, Any],
    arguments: list[Any],
    groups: dict[str, list[str]],
    seen: dict[tuple[str, str], dict[str, float]],
    bench: Bench,
) -> dict[str, float]:
    """D, D_f and HFM of one value against all others; a maximum is that of its values."""
    if entry.is_maximum:
        of_values = []
        for (attribute, _), value in seen.items():
            if attribute == entry.attribute or entry.attribute not in groups:
                of_values.append(value)
        d, d_f = (max(value[name] for value in of_values) for name in ("d", "d_f"))
        return {"d": d, "d_f": d_f, "hfm": bench.call(_RATIO_TWIN, d, d_f)}
    labels = [_texts_of(np.asarray(labels_given).tolist()) for labels_given in arguments[1:3]]
    groups_of_rows = groups[entry.attribute]
    answer = bench.call(
        "crosscheck_hfm",
        columns,
        *labels,
        groups_of_rows,
        entry.group,
        result.scale,
        result.statistic,
    )
    seen[entry.attribute, entry.group] = answer
    return dict(answer)


def set_distance(result: SetDistance, bench: Bench) -> Iterator[Check]:
    """The distance in both directions, by all pairs; the data are the sets `a` and `b`."""
    place = bench.place(f"set distance ({result.statistic})", "a", "b")
    arguments = bench.given("a", "b")
    if not result.exact:
        yield place.left_out(
            "estimate", result.value, "ApproxDist rests on Python's random projections"
        )
    elif arguments is None:
        yield place.needs_data("estimate", result.value, _SETS)
    else:
        a, b = (np.asarray(rows, dtype=np.float64) for rows in arguments)
        answer = bench.call("fs_set_distance", a, b, result.statistic)
        yield from place.compare_all(_DIRECTED, result, answer, "fs_set_distance")
