"""Posteriors of Uncertainty Matters: closed forms where there are any, R's own draws elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from fairstats.methods.um.definitions import Metric, parse_metric
from fairstats.methods.um.table import DEFAULT_METRICS
from fairstats.report.crosscheck.bench import Bench
from fairstats.report.crosscheck.check import Check, Place

if TYPE_CHECKING:
    from fairstats.methods.um.result import UmPosterior

__all__ = ["checks", "wanted_of"]

_TWIN, _BETA, _DIFFERENCE = "crosscheck_um", "crosscheck_beta", "crosscheck_beta_difference"
#: Rates that are Beta(α of the first cells, α of the others) a posteriori; cells in the order tp, tn, fp, fn.
_BETAS = {
    "accuracy": ((0, 1), (2, 3)), "tpr": ((0,), (3,)), "tnr": ((1,), (2,)), "fpr": ((2,), (1,)),
    "fnr": ((3,), (0,)), "ppv": ((0,), (2,)), "npv": ((1,), (3,)), "selection_rate": ((0, 2), (1, 3)),
    "base_rate": ((0, 3), (1, 2)),
}  # fmt: skip
#: Columns of the table, in the order of the twin's summary.
_COLUMNS = (
    ("mean", "estimate"), ("standard deviation", "std_error"), ("shortest interval, lower end", "ci_low"),
    ("shortest interval, upper end", "ci_high"), ("median", "median"), ("P(|difference| ≤ RoPE)", "p_rope"),
    ("share undefined", "undefined"),
)  # fmt: skip
#: Draws of R per batch at most: as many as Python's where these are fewer.
_MOST = 20_000


def checks(result: UmPosterior, bench: Bench) -> Iterator[Check]:
    """Every number of the table of a posterior."""
    rows = result.rows()
    names = result.table_metrics or [
        m for m in DEFAULT_METRICS if len(result.groups) > 1 or not parse_metric(m).between_groups
    ]
    parts = [part for name in names for part in wanted_of(result.groups, result.reference, name)]
    if len(parts) != len(rows) or any(part is None for part in parts) or result.n_draws > _MOST:
        yield from _left_out(result, bench, rows, "of functions of the user's, or of very many draws")
        return
    if result.stored is not None:
        yield from _left_out(
            result, bench, rows, f"draws of a sampler ({result.engine}): only it can repeat them"
        )
        return
    found = bench.call(
        _TWIN, np.asarray(result.counts.cells), np.asarray(result.counts.sizes), np.asarray(result.prior),
        result.target, result.reference_index + 1, parts, result.n_draws, result.table_prob,
        result.table_rope,
    )  # fmt: skip
    value, error = np.atleast_2d(found["value"]), np.atleast_2d(found["error"])
    observed = np.atleast_1d(found["observed"])
    source = bench.source("um_draws")
    for k, (part, row) in enumerate(zip(parts, rows, strict=True)):
        place = bench.place(row["metric"], row["group"], row["reference"])
        yield place.compare("observed", row["observed"], observed[k], bench.source("um_metric"))
        for j, (quantity, name) in enumerate(_COLUMNS):
            if np.isnan(row[name]) or (name == "undefined" and row[name] == 0 == value[k, j]):
                continue
            spread = error[k, j]
            if name in ("p_rope", "undefined"):  # batches may agree by chance near 0 and 1
                p = value[k, j]
                spread = max(spread, np.sqrt((p * (1 - p) + 1 / result.n_draws) / result.n_draws))
            yield place.compare(quantity, row[name], value[k, j], source, error=spread)
        if result.target == "parameter":
            yield from _closed(result, row, part, place, bench)


def wanted_of(groups: tuple[str, ...], reference: str, name: Any) -> list[dict[str, Any] | None]:
    """What the rows of one metric are, as the twin takes it; None for functions."""
    if callable(name):
        return [None]
    metric: Metric = parse_metric(name)
    of: dict[str, Any] = {"rates": list(metric.rates)}
    if not metric.between_groups:
        every = [{**of, "contrast": "overall", "group": 0}]
        own = [{**of, "contrast": "group", "group": g + 1} for g in range(len(groups))]
        return [*every, *(own if len(groups) > 1 else [])]
    if metric.contrast == "max":
        return [{**of, "contrast": "max", "group": 0}]
    others = [g for g, label in enumerate(groups) if label != reference]
    return [
        {"rates": [rate], "contrast": metric.contrast, "group": g + 1}
        for g in others
        for rate in metric.rates
    ]


def _closed(
    result: UmPosterior, row: dict[str, Any], part: Any, place: Place, bench: Bench
) -> Iterator[Check]:
    """Mean, standard deviation, median, P(RoPE) of rates and differences that are betas."""
    name, kind, n = part["rates"][0], part["contrast"], result.n_draws
    alpha = np.asarray(result.prior + result.counts.cells)
    if len(result.groups) == 1 and kind == "overall":
        part = {**part, "group": 1}
        kind = "group"
    if name not in _BETAS or kind not in ("group", "difference"):
        return
    hit, miss = _BETAS[name]

    def beta(g: int) -> tuple[float, float]:
        return float(alpha[g, list(hit)].sum()), float(alpha[g, list(miss)].sum())

    own = beta(part["group"] - 1)
    if min(own) <= 0:
        return
    if kind == "group":
        found, source = bench.call(_BETA, *own, n), bench.source("stats::qbeta")
        compared = _COLUMNS[0], _COLUMNS[1], _COLUMNS[4]
        keys = "mean", "sd", "median"
    else:
        other = beta(result.reference_index)
        if min(other) <= 0:
            return
        found = bench.call(_DIFFERENCE, *own, *other, result.table_rope, n)
        source = bench.source("stats::pbeta")
        compared = _COLUMNS[0], _COLUMNS[1], _COLUMNS[5]
        keys = "mean", "sd", "p_rope"
    for (quantity, column), key in zip(compared, keys, strict=True):
        error = found[f"{key}_error"]
        words = f"{quantity} (closed form)"
        yield place.compare(words, row[column], found[key], source, error=error)


def _left_out(result: UmPosterior, bench: Bench, rows: list[dict[str, Any]], why: str) -> Iterator[Check]:
    for row in rows:
        place = bench.place(row["metric"], row["group"], row["reference"])
        yield place.left_out("mean", row["estimate"], why)
