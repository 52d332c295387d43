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
    Line("mean", "estimate"),
    Line("standard deviation", "std_error"),
    *ends("shortest interval", "confidence_interval"),
    Line("median", "median"),
    Line("P(|difference| ≤ RoPE)", "p_rope"),
    Line("share undefined", "undefined"),
)
_MOMENTS = (
    Line(quantity="mean (closed form)", attribute="estimate", twin="mean", error="mean_error"),
    Line(
        quantity="standard deviation (closed form)",
        attribute="std_error",
        twin="sd",
        error="sd_error",
    ),
)
#: Of a rate, and of the difference of two.
_BETA = (
    *_MOMENTS,
    Line(quantity="median (closed form)", attribute="median", twin="median", error="median_error"),
)
_BETA_DIFFERENCE = (
    *_MOMENTS,
    Line(
        quantity="P(|difference| ≤ RoPE) (closed form)",
        attribute="p_rope",
        twin="p_rope",
        error="p_rope_error",
    ),
)
_SEVERAL = "of several classes: R's twin draws two"
#: Draws of R per batch at most: as many as Python's where these are fewer.
_MOST = 20_000


def posterior(result: UmPosterior, bench: Bench) -> Iterator[Check]:
    """Every number of the table of a posterior."""
    rows = result.comparisons
    several = len(result.groups) > 1
    names = result.table_metrics or [
        m for m in DEFAULT_METRICS if several or not parse_metric(m).between_groups
    ]
    parts: list[Any] = []
    if not result.classes:
        parts = []
        for name in names:
            for part in _parts_of_metric(result.groups, result.reference, name):
                parts.append(part)
    reason = ""
    if result.classes:
        reason = _SEVERAL
    elif len(parts) != len(rows) or None in parts or result.n_draws > _MOST:
        reason = "of functions of the user's, or of very many draws"
    elif result.stored is not None:
        reason = f"draws of a sampler ({result.backend}): only it can repeat them"
    if reason:
        for row in rows:
            yield bench.place_of(row).left_out("mean", row.estimate, reason)
        return
    answer = bench.call(
        "crosscheck_um",
        np.asarray(result.counts.totals),
        np.asarray(result.counts.group_sizes, dtype=float),
        np.asarray(result.prior),
        result.target,
        result.reference_index + 1,
        parts,
        result.n_draws,
        result.table_prob,
        result.table_rope,
        **_shifts_of(result),
    )
    value = np.atleast_2d(answer["value"])
    error = np.atleast_2d(answer["error"])
    observed = np.atleast_1d(answer["observed"])
    for part, row, seen, their_summary, their_errors in zip(
        parts, rows, observed, value, error, strict=True
    ):
        place = bench.place_of(row)
        yield from place.compare_all(_OBSERVED, row, {"observed": seen}, "fs_um_metric")
        for line, their_value, their_error in zip(
            _SUMMARY, their_summary, their_errors, strict=True
        ):
            our_value = attrgetter(line.attribute)(row)
            if np.isnan(our_value) or (
                line.attribute == "undefined" and our_value == 0 == their_value
            ):
                continue
            # batches may agree by chance near 0 and 1
            if line.attribute in (
                "p_rope",
                "undefined",
            ):
                their_error = max(
                    their_error,
                    np.sqrt(
                        (their_value * (1 - their_value) + 1 / result.n_draws) / result.n_draws
                    ),
                )
            yield place.compare(
                line.quantity, our_value, their_value, "fs_um_draws", error=their_error
            )
        if result.target == "parameter":
            yield from _closed_form(result, row, part, bench)


def _shifts_of(*posteriors: UmPosterior) -> dict[str, Any]:
    """Of models fitted anew the shifts of both labels, side by side; nothing for other targets."""
    sides = []
    for posterior_of in posteriors:
        if posterior_of.shifts is not None:
            sides.append(np.hstack([posterior_of.shifts[..., 0], posterior_of.shifts[..., 1]]))
    if not sides:
        return {}
    return {"shifts": sides[0] if len(posteriors) == 1 else sides}


def _parts_of_metric(
    groups: tuple[str, ...], reference: str, name: Any
) -> list[dict[str, Any] | None]:
    """What the rows of one metric are, as the twin takes it; None for functions."""
    if callable(name):
        return [None]
    metric = parse_metric(name)
    rates_of_metric: dict[str, Any] = {"rates": list(metric.rates)}
    if not metric.between_groups:
        group_parts = []
        for group_index in range(len(groups)):
            group_parts.append({**rates_of_metric, "contrast": "group", "group": group_index + 1})
        return [
            {**rates_of_metric, "contrast": "overall", "group": 0},
            *(group_parts if len(groups) > 1 else []),
        ]
    if metric.contrast == "max":
        return [{**rates_of_metric, "contrast": "max", "group": 0}]
    others = []
    for group_index, label in enumerate(groups):
        if label != reference:
            others.append(group_index)
    parts: list[dict[str, Any] | None] = []
    for group_index in others:
        for rate in metric.rates:
            parts.append({"rates": [rate], "contrast": metric.contrast, "group": group_index + 1})
    return parts


def _closed_form(
    result: UmPosterior,
    row: PosteriorRow,
    part: Any,
    bench: Bench,
) -> Iterator[Check]:
    """Rates that are successes among cases are betas a posteriori.

    So are the parts of their differences.
    """
    rate = RATES[part["rates"][0]]
    kind = part["contrast"]
    group = part["group"]
    if len(result.groups) == 1 and kind == "overall":
        kind = "group"
        group = 1
    if not rate.successes or kind not in ("group", "difference"):
        return
    alpha = np.asarray(result.prior + result.counts.totals)
    successes = [CELLS.index(cell) for cell in rate.successes]
    failures = []
    for cell in rate.cases:
        if cell not in rate.successes:
            failures.append(CELLS.index(cell))
    compared_groups = [group - 1, *([result.reference_index] if kind == "difference" else [])]
    betas = []
    for group_index in compared_groups:
        for cells in (successes, failures):
            betas.append(float(alpha[group_index, cells].sum()))
    if min(betas) <= 0:
        return
    if kind == "group":
        answer = bench.call("crosscheck_beta", *betas, result.n_draws)
        lines = _BETA
        function = "stats::qbeta"
    else:
        answer = bench.call("crosscheck_beta_difference", *betas, result.table_rope, result.n_draws)
        lines = _BETA_DIFFERENCE
        function = "stats::pbeta"
    yield from bench.place_of(row).compare_all(lines, row, answer, function)


def comparison(result: UmComparison, bench: Bench) -> Iterator[Check]:
    """Probabilities of the events of two algorithms; mean and standard deviation of Δ."""
    a, b = result.names
    events = result.unconditional
    wanted = [
        *((f"P({event.name})", event.probability) for event in events[:3]),
        ("P(mixed)", sum(event.probability for event in events[3:])),
        *(
            (f"P(|Δ {metric}| ≤ RoPE)", probability)
            for metric, probability in zip(result.metrics, result.rope_share, strict=True)
        ),
        *(
            (f"mean of Δ {metric}", value)
            for metric, value in zip(result.metrics, result.delta_mean, strict=True)
        ),
        *(
            (f"standard deviation of Δ {metric}", value)
            for metric, value in zip(result.metrics, result.delta_sd, strict=True)
        ),
    ]
    compared = []
    for position, (quantity, value) in enumerate(wanted):
        compared.append((a, b, quantity, float(value), position))
    yield from _compare_quantities(result, "crosscheck_um_events", compared, bench)
    if result.hdr is not None and not _obstacle_to_twin(result):
        reason = "conditional on a highest density region of the draws: R has no twin"
        place = bench.place(", ".join(result.metrics), a, b)
        yield place.left_out(f"P({a} ≫ {b} | HDR)", result.events[0].probability, reason)


def ranking(result: UmRanking, bench: Bench) -> Iterator[Check]:
    """P(row ≫ column) of all pairs, and of being on the Pareto front."""
    names = result.names
    n_algorithms = len(result.names)
    pairs = permutations(enumerate(names), 2)
    compared = []
    for (first, algorithm), (second, b) in pairs:
        compared.append(
            (
                algorithm,
                b,
                f"P({algorithm} ≫ {b})",
                float(result.better[first, second]),
                second * n_algorithms + first,
            )
        )
    for first, algorithm in enumerate(names):
        compared.append(
            (
                algorithm,
                "",
                "P(on the Pareto front)",
                float(result.front[first]),
                n_algorithms * n_algorithms + first,
            )
        )
    yield from _compare_quantities(result, "crosscheck_um_ranking", compared, bench)


def estimators(result: UmEstimators, bench: Bench) -> Iterator[Check]:
    """The rankings under every target."""
    for ranked in result.rankings:
        yield from ranking(ranked, bench)


def _compare_quantities(
    result: UmComparison | UmRanking,
    r_function: str,
    compared: list[tuple[str, str, str, float, int]],
    bench: Bench,
) -> Iterator[Check]:
    """Algorithms, quantity, our value, and its place in the twin's answer."""
    metrics = ", ".join(result.metrics)
    reason = _obstacle_to_twin(result)
    joint = result.joint
    if reason:
        for a, b, quantity, our_value, _ in compared:
            yield bench.place(metrics, a, b).left_out(quantity, our_value, reason)
        return
    answer = bench.call(
        r_function,
        *_parameters_of(joint),
        _objectives_of(result.metrics) or [],
        joint.first.reference_index + 1,
        list(result.rope),
        joint.n_draws,
        **_shifts_of(*joint.posteriors),
    )
    value = column(answer, "value")
    error = column(answer, "error")
    for a, b, quantity, our_value, position in compared:
        yield bench.place(metrics, a, b).compare(
            quantity, our_value, value[position], r_function, error=error[position]
        )


def _objectives_of(metrics: tuple[str, ...]) -> list[dict[str, Any]] | None:
    """What the twin needs of every metric; None where one is a function."""
    try:
        parsed = [parse_metric(name, default="max") for name in metrics]
    except InputError:
        return None
    objectives: list[dict[str, Any]] = []
    for metric in parsed:
        objectives.append(
            {
                "rates": list(metric.rates),
                "contrast": metric.contrast or "overall",
                "sign": 1.0 if metric.larger_is_better else -1.0,
                "group": 0,
            }
        )
    return objectives


def _obstacle_to_twin(result: UmComparison | UmRanking) -> str:
    joint = result.joint
    if joint.first.classes:
        return _SEVERAL
    if _objectives_of(result.metrics) is None:
        return "of functions of the user's"
    if joint.n_draws > _MOST:
        return f"more than {_MOST:,} draws"
    if any(p.stored is not None for p in joint.posteriors):
        return "draws of a sampler: only it can repeat them"
    uneven = joint.cells is not None and joint.uneven
    if uneven:
        return "effective counts of different size, paired up to the smaller"
    return ""


def _parameters_of(joint: JointDraws) -> tuple[Any, ...]:
    """Parameters of the joint posterior: alphas, sizes, joint table, target, totals."""
    posteriors = joint.posteriors
    table = None
    sizes = np.vstack([posterior_of.counts.group_sizes for posterior_of in posteriors]).astype(
        float
    )
    totals = np.vstack([posterior_of.counts.totals.sum(axis=1) for posterior_of in posteriors])
    if joint.cells is not None:
        table = np.asarray(paired_prior(joint.first.prior, len(posteriors)) + joint.cells)
    return (
        [
            np.asarray(posterior_of.prior + posterior_of.counts.totals)
            for posterior_of in posteriors
        ],
        sizes,
        table,
        joint.first.target,
        totals,
    )
