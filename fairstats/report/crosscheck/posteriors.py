"""Posteriors of Uncertainty Matters: closed forms where there are any, R's own draws elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from operator import attrgetter
from typing import Any

import numpy as np

from fairstats.ground.errors import InputError
from fairstats.ground.registry import CELLS, RATES
from fairstats.methods.um.comparison import UmComparison
from fairstats.methods.um.draws import DEFAULT_METRICS, PosteriorRow
from fairstats.methods.um.estimators import UmEstimators
from fairstats.methods.um.events import UmRanking
from fairstats.methods.um.joint import JointDraws, paired_prior
from fairstats.methods.um.metrics import parse_metric
from fairstats.methods.um.result import UmPosterior
from fairstats.report.crosscheck.check import Bench, Check, Line, column, ends

_OBSERVED = (Line("observed", "observed", function="fs_um_metric"),)
#: Of each row, in the order of the twin's summary.
_SUMMARY = (
    Line("mean", "estimate"), Line("standard deviation", "std_error"),
    *ends("shortest interval", "confidence_interval"), Line("median", "median"),
    Line("P(|difference| ≤ RoPE)", "p_rope"), Line("share undefined", "undefined"),
)  # fmt: skip
_MOMENTS = (
    Line("mean (closed form)", "estimate", "mean", "mean_error"),
    Line("standard deviation (closed form)", "std_error", "sd", "sd_error"),
)
#: Of a rate, and of the difference of two.
_BETA = (*_MOMENTS, Line("median (closed form)", "median", "median", "median_error"))
_BETA_DIFFERENCE = (*_MOMENTS, Line("P(|difference| ≤ RoPE) (closed form)", "p_rope", "p_rope", "p_rope_error"))
_SEVERAL = "of several classes: R's twin draws two"
#: Draws of R per batch at most: as many as Python's where these are fewer.
_MOST = 20_000


def posterior(result: UmPosterior, bench: Bench) -> Iterator[Check]:
    """Every number of the table of a posterior."""
    rows, several = result.comparisons, len(result.groups) > 1
    names = result.table_metrics or [m for m in DEFAULT_METRICS if several or not parse_metric(m).between_groups]
    parts: list[Any] = []
    if not result.classes:
        parts = [part for name in names for part in _wanted(result.groups, result.reference, name)]
    why = ""
    if result.classes:
        why = _SEVERAL
    elif len(parts) != len(rows) or None in parts or result.n_draws > _MOST:
        why = "of functions of the user's, or of very many draws"
    elif result.stored is not None:
        why = f"draws of a sampler ({result.backend}): only it can repeat them"
    if why:
        for row in rows:
            yield bench.place_of(row).left_out("mean", row.estimate, why)
        return
    found = bench.call(
        "crosscheck_um", np.asarray(result.counts.totals),
        np.asarray(result.counts.group_sizes, dtype=float), np.asarray(result.prior), result.target,
        result.reference_index + 1, parts, result.n_draws, result.table_prob, result.table_rope,
        **_shifts(result),
    )  # fmt: skip
    value, error = np.atleast_2d(found["value"]), np.atleast_2d(found["error"])
    observed = np.atleast_1d(found["observed"])
    for part, row, seen, mine, spread in zip(parts, rows, observed, value, error, strict=True):
        place = bench.place_of(row)
        yield from place.compare_all(_OBSERVED, row, {"observed": seen}, "fs_um_metric")
        for line, theirs, size in zip(_SUMMARY, mine, spread, strict=True):
            tidy = attrgetter(line.attribute)(row)
            if np.isnan(tidy) or (line.attribute == "undefined" and tidy == 0 == theirs):
                continue
            if line.attribute in ("p_rope", "undefined"):  # batches may agree by chance near 0 and 1
                size = max(size, np.sqrt((theirs * (1 - theirs) + 1 / result.n_draws) / result.n_draws))
            yield place.compare(line.quantity, tidy, theirs, "fs_um_draws", error=size)
        if result.target == "parameter":
            yield from _closed_form(result, row, part, bench)


def _shifts(*posteriors: UmPosterior) -> dict[str, Any]:
    """Of models fitted anew the shifts of both labels, side by side; nothing for other targets."""
    sides = [np.hstack([p.shifts[..., 0], p.shifts[..., 1]]) for p in posteriors if p.shifts is not None]
    return {} if not sides else {"shifts": sides[0] if len(posteriors) == 1 else sides}


def _wanted(groups: tuple[str, ...], reference: str, name: Any) -> list[dict[str, Any] | None]:
    """What the rows of one metric are, as the twin takes it; None for functions."""
    if callable(name):
        return [None]
    metric = parse_metric(name)
    of: dict[str, Any] = {"rates": list(metric.rates)}
    if not metric.between_groups:
        own = [{**of, "contrast": "group", "group": g + 1} for g in range(len(groups))]
        return [{**of, "contrast": "overall", "group": 0}, *(own if len(groups) > 1 else [])]
    if metric.contrast == "max":
        return [{**of, "contrast": "max", "group": 0}]
    others = [g for g, label in enumerate(groups) if label != reference]
    return [{"rates": [rate], "contrast": metric.contrast, "group": g + 1} for g in others for rate in metric.rates]


def _closed_form(result: UmPosterior, row: PosteriorRow, part: Any, bench: Bench) -> Iterator[Check]:
    """Rates that are successes among cases are betas a posteriori; so are the parts of their differences."""
    rate, kind, group = RATES[part["rates"][0]], part["contrast"], part["group"]
    if len(result.groups) == 1 and kind == "overall":
        kind, group = "group", 1
    if not rate.successes or kind not in ("group", "difference"):
        return
    alpha = np.asarray(result.prior + result.counts.totals)
    hit = [CELLS.index(cell) for cell in rate.successes]
    miss = [CELLS.index(cell) for cell in rate.cases if cell not in rate.successes]
    both = [group - 1, *([result.reference_index] if kind == "difference" else [])]
    betas = [float(alpha[g, cells].sum()) for g in both for cells in (hit, miss)]
    if min(betas) <= 0:
        return
    if kind == "group":
        found = bench.call("crosscheck_beta", *betas, result.n_draws)
        lines, function = _BETA, "stats::qbeta"
    else:
        found = bench.call("crosscheck_beta_difference", *betas, result.table_rope, result.n_draws)
        lines, function = _BETA_DIFFERENCE, "stats::pbeta"
    yield from bench.place_of(row).compare_all(lines, row, found, function)


def comparison(result: UmComparison, bench: Bench) -> Iterator[Check]:
    """Probabilities of the events of two algorithms; mean and standard deviation of Δ."""
    a, b = result.names
    events = result.unconditional
    wanted = [
        *((f"P({event.name})", event.probability) for event in events[:3]),
        ("P(mixed)", sum(event.probability for event in events[3:])),
        *((f"P(|Δ {m}| ≤ RoPE)", p) for m, p in zip(result.metrics, result.rope_share, strict=True)),
        *((f"mean of Δ {m}", v) for m, v in zip(result.metrics, result.delta_mean, strict=True)),
        *((f"standard deviation of Δ {m}", v) for m, v in zip(result.metrics, result.delta_sd, strict=True)),
    ]
    compared = [(a, b, quantity, float(value), k) for k, (quantity, value) in enumerate(wanted)]
    yield from _compared(result, "crosscheck_um_events", compared, bench)
    if result.hdr is not None and not _obstacle(result):
        why = "conditional on a highest density region of the draws: R has no twin"
        place = bench.place(", ".join(result.metrics), a, b)
        yield place.left_out(f"P({a} ≫ {b} | HDR)", result.events[0].probability, why)


def ranking(result: UmRanking, bench: Bench) -> Iterator[Check]:
    """P(row ≫ column) of all pairs, and of being on the Pareto front."""
    names, m = result.names, len(result.names)
    pairs = permutations(enumerate(names), 2)
    compared = [(a, b, f"P({a} ≫ {b})", float(result.better[i, j]), j * m + i) for (i, a), (j, b) in pairs]
    compared += [(a, "", "P(on the Pareto front)", float(result.front[i]), m * m + i) for i, a in enumerate(names)]
    yield from _compared(result, "crosscheck_um_ranking", compared, bench)


def estimators(result: UmEstimators, bench: Bench) -> Iterator[Check]:
    """The rankings under every target."""
    for found in result.rankings:
        yield from ranking(found, bench)


def _compared(
    result: UmComparison | UmRanking, twin: str, compared: list[tuple[str, str, str, float, int]], bench: Bench
) -> Iterator[Check]:
    """Algorithms, quantity, our value, and its place in the twin's answer."""
    metrics, why, joint = ", ".join(result.metrics), _obstacle(result), result.joint
    if why:
        for a, b, quantity, mine, _ in compared:
            yield bench.place(metrics, a, b).left_out(quantity, mine, why)
        return
    found = bench.call(
        twin, *_parameters(joint), _objectives(result.metrics) or [], joint.first.reference_index + 1,
        list(result.rope), joint.n_draws, **_shifts(*joint.posteriors),
    )  # fmt: skip
    value, error = column(found, "value"), column(found, "error")
    for a, b, quantity, mine, k in compared:
        yield bench.place(metrics, a, b).compare(quantity, mine, value[k], twin, error=error[k])


def _objectives(metrics: tuple[str, ...]) -> list[dict[str, Any]] | None:
    """What the twin needs of every metric; None where one is a function."""
    try:
        found = [parse_metric(name, default="max") for name in metrics]
    except InputError:
        return None
    return [
        {"rates": list(m.rates), "contrast": m.contrast or "overall", "sign": 1.0 if m.larger_is_better else -1.0,
         "group": 0}
        for m in found
    ]  # fmt: skip


def _obstacle(result: UmComparison | UmRanking) -> str:
    joint = result.joint
    if joint.first.classes:
        return _SEVERAL
    if _objectives(result.metrics) is None:
        return "of functions of the user's"
    if joint.n_draws > _MOST:
        return f"more than {_MOST:,} draws"
    if any(p.stored is not None for p in joint.posteriors):
        return "draws of a sampler: only it can repeat them"
    uneven = joint.cells is not None and joint.uneven
    return "effective counts of different size, paired up to the smaller" if uneven else ""


def _parameters(joint: JointDraws) -> tuple[Any, ...]:
    """Parameters of the joint posterior: alphas, sizes, joint table, target, totals."""
    posteriors, table = joint.posteriors, None
    sizes = np.vstack([p.counts.group_sizes for p in posteriors]).astype(float)
    totals = np.vstack([p.counts.totals.sum(axis=1) for p in posteriors])
    if joint.cells is not None:
        table = np.asarray(paired_prior(joint.first.prior, len(posteriors)) + joint.cells)
    return [np.asarray(p.prior + p.counts.totals) for p in posteriors], sizes, table, joint.first.target, totals
