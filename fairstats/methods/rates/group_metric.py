"""Any smooth function of the confusion counts, compared between groups by the delta method of statsmodels."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fairstats.ground.counts import ConfusionCounts
from fairstats.ground.errors import InputError
from fairstats.ground.groups import find_reference
from fairstats.ground.results import check_choice
from fairstats.methods.rates.definitions import RATES, Rate
from fairstats.methods.rates.delta import delta_covariance
from fairstats.methods.rates.estimates import RateEstimates
from fairstats.methods.rates.inference import compare_rates, warn_about
from fairstats.methods.rates.result import DifferenceResult, RatioResult
from fairstats.methods.rates.setup import confusion_table, data_columns, make_settings

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["COUNT_METRICS", "group_metric"]

CountFunction = Callable[..., Any]


def _f1(tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
    return 2 * tp / (2 * tp + fp + fn)


def _balanced_accuracy(tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
    return (tp / (tp + fn) + tn / (tn + fp)) / 2


def _mcc(tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
    return (tp * tn - fp * fn) / np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))


def _treatment(tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
    return fn / fp


def _rate_function(rate: Rate) -> CountFunction:
    def function(tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
        cells = {"tp": tp, "fp": fp, "fn": fn, "tn": tn}
        return sum(cells[c] for c in rate.successes) / sum(cells[c] for c in rate.cases)

    return function


#: Metrics by name: functions of (tp, fp, fn, tn).
COUNT_METRICS: dict[str, CountFunction] = {
    "f1": _f1,
    "balanced_accuracy": _balanced_accuracy,
    "mcc": _mcc,
    "treatment_equality": _treatment,
    **{key: _rate_function(rate) for key, rate in RATES.items()},
}


def group_metric(
    y_true: Any = None,
    y_pred: Any = None,
    *,
    metric: str | CountFunction,
    sensitive_features: Any = None,
    contrast: Literal["difference", "ratio"] = "difference",
    counts: Any = None,
    reference: Hashable | None = None,
    comparisons: Literal["reference", "all"] = "reference",
    threshold: float | None = None,
    alternative: Literal["two-sided", "less", "greater"] = "two-sided",
    confidence_level: float = 0.95,
    simultaneous: Literal["bonferroni", "max-z"] | None = None,
    adjust: str = "holm",
    sample_weight: Any = None,
    cluster: Any = None,
    pos_label: Any = None,
    missing: Literal["raise", "drop", "group"] = "raise",
    groups: Sequence[Hashable] | None = None,
) -> DifferenceResult | RatioResult:
    """Compare a smooth function of the confusion counts between groups.

    Parameters
    ----------
    y_true, y_pred : array-like, shape (n,)
        Labels and predictions, any type with two values.
    metric : str or callable
        A name — ``"f1"``, ``"balanced_accuracy"``, ``"mcc"``, ``"treatment_equality"`` (FN/FP), or a rate
        such as ``"accuracy"`` — or a function ``f(tp, fp, fn, tn)`` that takes floats or arrays of counts and
        does not depend on their total (f1, not a sum of counts).
    sensitive_features : array-like (n,) or (n, k), data frame or mapping
        Group of each row.
    contrast : {"difference", "ratio"}, default "difference"
        Difference with a Wald interval, or ratio with an interval on the log scale.
    threshold : float, optional
        Default 0.1 for differences, 0.8 for ratios.
    counts, reference, comparisons, alternative, confidence_level, simultaneous, adjust
        As in `disparate_impact`.
    sample_weight, cluster, pos_label, missing, groups
        As in `disparate_impact`.

    Returns
    -------
    DifferenceResult or RatioResult

    Raises
    ------
    InputError
        If the metric is not known, or the function does not return one number per group.

    Warns
    -----
    InsufficientEvidenceWarning
        Where a group's metric is not finite or has no variance.

    Notes
    -----
    Variances come from `statsmodels.stats._delta_method.NonlinearDeltaCov` at the cell totals, with the
    multinomial (or linearised) covariance and central differences for the gradient.

    Examples
    --------
    >>> import fairstats as fs
    >>> counts = {"a": (40, 10, 10, 40), "b": (30, 10, 20, 40)}
    >>> result = fs.group_metric(metric="f1", counts=counts, reference="a")
    >>> low, high = result.confidence_interval
    >>> print(f"{result.estimate:.4f} [{low:.4f}, {high:.4f}]")
    -0.1333 [-0.2748, 0.0082]
    """
    check_choice("contrast", contrast, ("difference", "ratio"))
    name, function = _metric(metric)
    if threshold is None:
        threshold = 0.1 if contrast == "difference" else 0.8
    method = "delta" if contrast == "difference" else "log"
    settings = make_settings(
        contrast,
        method=method,
        threshold=threshold,
        alternative=alternative,
        confidence_level=confidence_level,
        simultaneous=simultaneous,
        adjust=adjust,
        comparisons=comparisons,
        n_resamples=9_999,
        largest=np.inf,
    )
    columns = data_columns(sensitive_features, sample_weight, cluster, pos_label, missing, groups)
    table = confusion_table(y_true, y_pred, counts, **columns)
    estimates = smooth_estimates(table, name, function)
    index, rule = find_reference(table.groups, reference, sizes=table.group_sizes, rates=estimates.rate)
    settings = replace(settings, reference_rule=rule)
    compared = compare_rates(
        estimates, metric=f"{name}_{contrast}", contrast=contrast, reference=index, settings=settings
    )
    kind = DifferenceResult if contrast == "difference" else RatioResult
    result = kind(
        metric=f"{name}_{contrast}",
        comparisons=compared,
        settings=settings,
        counts=table,
        words=f"{name}: {contrast} between groups",
        backend="statsmodels",
    )
    warn_about(result)
    return result


def _metric(metric: str | CountFunction) -> tuple[str, CountFunction]:
    if callable(metric):
        return getattr(metric, "__name__", "metric").strip("<>"), metric
    check_choice("metric", metric, tuple(COUNT_METRICS))
    return metric, COUNT_METRICS[metric]


def smooth_estimates(table: ConfusionCounts, name: str, function: CountFunction) -> RateEstimates:
    """Values of the function per group with their covariance."""

    def values(totals: NDArray[np.float64]) -> NDArray[np.float64]:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(function(*totals.reshape(table.totals.shape).T), dtype=np.float64)

    value = values(table.totals.ravel())
    if value.shape != (len(table.groups),):
        raise InputError(
            "metric",
            got=f"a function that returns shape {value.shape} for {len(table.groups)} groups",
            allowed="one number per group: element-wise arithmetic on arrays (tp, fp, fn, tn)",
            cure="write it with NumPy functions",
        )
    known = np.isfinite(value)

    def known_values(totals: NDArray[np.float64]) -> NDArray[np.float64]:
        return values(totals)[known]

    covariance = np.full((known.size, known.size), np.nan)
    if known.any():
        covariance[np.ix_(known, known)] = delta_covariance(
            known_values, table.totals.ravel(), table.covariance()
        )
    variance = np.diag(covariance)
    usable = known & np.isfinite(variance) & (variance > 1e-24 * np.maximum(value**2, 1e-24))
    return RateEstimates(
        rate_of=Rate(name, name, (), (), "cells from which the metric and its variance can be computed"),
        groups=table.groups,
        successes=np.full(known.size, np.nan),
        cases=np.where(usable, table.totals.sum(axis=1), 0.0),
        rows=table.group_sizes,
        rate=value,
        covariance=covariance,
        degrees_of_freedom=table.degrees_of_freedom,
        weighted=table.weighted,
        clustered=table.clustered,
        smooth=True,
    )
