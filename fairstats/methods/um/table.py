"""Rows of the tidy table of a posterior."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fairstats.ground.caution import caution
from fairstats.ground.errors import InsufficientEvidenceWarning
from fairstats.methods.um.checks import MOST_UNDEFINED, check_rope, check_share
from fairstats.methods.um.definitions import Metric, parse_metric
from fairstats.methods.um.evaluate import evaluate, evaluator, name_of
from fairstats.methods.um.hdi import shortest_interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["DEFAULT_METRICS", "metric_rows"]

#: The metrics of the plain table; the comparisons only with two groups or more.
DEFAULT_METRICS = (
    "accuracy", "balanced_accuracy", "f1", "mcc", "tpr", "fpr", "ppv", "selection_rate",
    "demographic_parity", "equal_opportunity", "predictive_equality", "predictive_parity",
    "treatment_equality", "demographic_parity_max", "equal_opportunity_max", "equalized_odds_max",
)  # fmt: skip


def metric_rows(
    posterior: Any, metrics: Sequence[Any] | None, prob: float, rope: float
) -> list[dict[str, Any]]:
    """One row per metric and group of a `UmPosterior`, read by its attributes.

    Parameters
    ----------
    posterior : UmPosterior
    metrics : sequence of str or callable, or None
        None: `DEFAULT_METRICS`.
    prob : float
        Of the shortest interval.
    rope : float
        Half-width of the region of practical equivalence.
    """
    level = check_share("prob", prob)
    width = check_rope(rope, 1)[0]
    several = len(posterior.groups) > 1
    if metrics is None:
        wanted: list[Any] = [m for m in DEFAULT_METRICS if several or not parse_metric(m).between_groups]
    else:
        wanted = [metrics] if isinstance(metrics, str) or callable(metrics) else list(metrics)
    parts = [part for name in wanted for part in _parts(posterior, name)]
    index = posterior.reference_index
    values = evaluate(posterior._block, posterior.n_draws, [p.function for p in parts], index)
    observed = (
        posterior.counts.cells
        * np.divide(
            posterior.counts.sizes,
            posterior.counts.totals,
            out=np.ones_like(posterior.counts.sizes),
            where=posterior.counts.totals > 0,
        )[:, None]
    )
    rows = []
    for part, draws in zip(parts, values, strict=True):
        seen = np.asarray(part.function(observed[None], index)).reshape(-1)
        columns = draws.reshape(len(draws), -1)
        for k, (group, label) in enumerate(part.labels):
            shown = width if part.equivalence else None
            row = _row(columns[:, k], float(seen[k]), level, shown)
            row.update(metric=label, group=group, reference=part.reference, n=part.sizes[k])
            row.update(method=f"{posterior.target}, HDI", backend=posterior.engine)
            rows.append(row)
    _warn_of_undefined(rows)
    return rows


def _warn_of_undefined(rows: list[dict[str, Any]]) -> None:
    many = [
        f"{r['metric']} of {r['group']!r} {r['undefined']:.1%}"
        for r in rows
        if r["undefined"] > MOST_UNDEFINED
    ]
    if many:
        caution(
            f"draws undefined (0/0: a drawn group without the cases) and left out: {', '.join(many)}.",
            InsufficientEvidenceWarning,
        )


class _Part:
    """One evaluation: a function, and what its columns are."""

    def __init__(
        self,
        function: Callable[[Any, int], Any],
        labels: list[tuple[str, str]],
        sizes: list[int],
        reference: str,
        equivalence: bool,
    ) -> None:
        self.function = function
        self.labels = labels
        self.sizes = sizes
        self.reference = reference
        self.equivalence = equivalence


def _parts(posterior: Any, name: Any) -> list[_Part]:
    sizes = [int(n) for n in np.rint(posterior.counts.sizes)]
    total = sum(sizes)
    if callable(name):
        function = evaluator(name)
        width = int(np.asarray(function(posterior._block(0, 0, 2), 0)).reshape(2, -1).shape[1])
        label = name_of(name)
        labels = [("", label if width == 1 else f"{label}[{k}]") for k in range(width)]
        return [_Part(function, labels, [total] * width, "", False)]
    posterior.evaluator_of(name)  # one group: refuses comparisons
    metric = parse_metric(name)
    if not metric.between_groups:
        return _rate_parts(posterior, metric, sizes)
    if metric.contrast == "max":
        return [_Part(metric.values, [("largest gap", name)], [total], "", True)]
    others = [g for g in range(len(sizes)) if g != posterior.reference_index]
    endings = [""] if len(metric.rates) == 1 else [f" ({rate})" for rate in metric.rates]
    labels = [(posterior.groups[g], name + ending) for g in others for ending in endings]
    rows = [sizes[g] + sizes[posterior.reference_index] for g in others for _ in endings]
    return [_Part(metric.values, labels, rows, posterior.reference, metric.contrast != "ratio")]


def _rate_parts(posterior: Any, metric: Metric, sizes: list[int]) -> list[_Part]:
    every = _Part(metric.values, [("all", metric.name)], [sum(sizes)], "", False)
    if len(sizes) == 1:
        return [every]

    def by_group(counts: Any, _: int) -> Any:
        return metric.by_group(counts)

    return [every, _Part(by_group, [(g, metric.name) for g in posterior.groups], sizes, "", False)]


def _row(draws: NDArray[np.float64], observed: float, prob: float, rope: float | None) -> dict[str, Any]:
    known = draws[~np.isnan(draws)]
    nan = float("nan")
    low, high = shortest_interval(known, prob)
    spread = float(known.std(ddof=1)) if known.size > 1 else nan
    return {
        "estimate": float(known.mean()) if known.size else nan,
        "std_error": spread,
        "ci_low": low,
        "ci_high": high,
        "statistic": nan,
        "pvalue": nan,
        "pvalue_adjusted": nan,
        "median": float(np.median(known)) if known.size else nan,
        "observed": observed,
        "rope": nan if rope is None else rope,
        "p_rope": float((np.abs(known) <= rope + 1e-12).mean()) if rope is not None and known.size else nan,
        "mc_error": spread / np.sqrt(known.size) if known.size else nan,
        "undefined": 1.0 - known.size / draws.size,
        "confidence_level": prob,
    }
