"""Metrics as functions of arrays of counts.

Rates, contrasts between groups, objectives of a comparison.

A count array has the shape (draws, G, 4) with the last axis (tp, fp, fn, tn). What is undefined
(0/0, or a quotient over 0) is NaN. Rates and notions of fairness are those of the registry.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats, check_that, check_type
from fairstats.ground.errors import InputError
from fairstats.ground.registry import CELLS, CRITERIA, RATES

#: How a comparison of groups is made: against the reference, but "max" is the largest gap of all.
CONTRASTS = ("difference", "absolute", "ratio", "max")
#: (counts (n, G, 4), reference) → (n, …).
Evaluator = Callable[[Any, int], Any]


@dataclass(frozen=True)
class Metric:
    """A metric by name: of all rows, or a contrast between groups.

    `name` is as asked for, `short` in names of events; `rates` are rates of the registry, two for
    equalized odds. `contrast` is None (all rows), "difference" (group − reference), "absolute",
    "ratio", or "max": the largest gap.
    """

    name: str
    short: str
    rates: tuple[str, ...]
    contrast: str | None

    @property
    def between_groups(self) -> bool:
        """Whether it compares groups."""
        return self.contrast is not None

    @property
    def larger_is_better(self) -> bool | None:
        """Orientation as an objective: a gap is better small, None where neither is better."""
        if self.between_groups:
            return False
        return RATES[self.rates[0]].larger_is_better

    def needs_groups(self, groups: tuple[str, ...], argument: str = "metric") -> None:
        """Raise where there is nothing to compare."""
        if self.between_groups and len(groups) < 2:
            received = f"{self.name!r} with one group ({groups[0]!r})"
            suggestion = "pass two groups or more to compare them"
            raise InputError(
                argument,
                got=received,
                allowed="metrics of all rows, such as 'accuracy'",
                cure=suggestion,
            )

    def by_group(self, counts: NDArray[Any]) -> Floats:
        """Value of every group, shape (draws, G), or (draws, G, 2) for equalized odds."""
        cell_counts = dict(zip(CELLS, np.moveaxis(counts, -1, 0), strict=True))
        values_of_rates = []
        for rate_name in self.rates:
            values_of_rates.append(np.asarray(RATES[rate_name].evaluate(cell_counts)))
        # a case over no case: undefined like 0/0
        if any(RATES[rate_name].high == np.inf for rate_name in self.rates):
            values_of_rates = [
                np.where(np.isinf(rate_values), np.nan, rate_values)
                for rate_values in values_of_rates
            ]
        if len(values_of_rates) == 1:
            return values_of_rates[0]
        return np.stack(values_of_rates, axis=-1)

    def values(self, counts: Floats, reference: int) -> Floats:
        """Draws: (n,) of all rows and of "max", else (n, G − 1), without the reference.

        (…, 2) of equalized odds.
        """
        if self.contrast is None:
            return self.by_group(counts.sum(axis=-2, keepdims=True))[:, 0]
        group_rates = self.by_group(counts)
        if self.contrast == "max":
            largest_gaps = group_rates.max(axis=1) - group_rates.min(axis=1)
            return np.asarray(largest_gaps.reshape(len(largest_gaps), -1).max(axis=1))
        reference_rates = group_rates[:, [reference]]
        other_rates = np.delete(group_rates, reference, axis=1)
        if self.contrast == "ratio":
            return np.asarray(
                np.divide(
                    other_rates,
                    reference_rates,
                    out=np.full(other_rates.shape, np.nan),
                    where=reference_rates > 0,
                )
            )
        differences = other_rates - reference_rates
        return np.asarray(np.abs(differences) if self.contrast == "absolute" else differences)

    def objective(self, counts: Floats, reference: int) -> Floats:
        """Draws oriented so that larger is better, (n,).

        A fairness metric is minus the largest gap (of log ratios).
        """
        values = self.values(counts, reference)
        if self.contrast is None:
            return np.asarray(values if self.larger_is_better else -values)
        if self.contrast == "ratio":
            with np.errstate(divide="ignore", invalid="ignore"):
                values = np.log(values)
        return np.asarray(-np.abs(values).reshape(len(values), -1).max(axis=1))


def _divide_or_nan(part: Any, whole: Any) -> Any:
    common_shape = np.broadcast_shapes(np.shape(part), np.shape(whole))
    return np.divide(part, whole, out=np.full(common_shape, np.nan), where=whole > 0)


class _ClassSums:
    """Sums over counts (draws, G, J²), label by prediction, per group and class.

    `rows` per group, (draws, G, 1).
    """

    def __init__(self, counts: NDArray[Any]) -> None:
        n_classes = math.isqrt(counts.shape[-1])
        counts = counts.reshape(*counts.shape[:-1], n_classes, n_classes)
        self.selected = counts.sum(axis=-2)
        self.labelled = counts.sum(axis=-1)
        self.true = np.diagonal(counts, axis1=-2, axis2=-1)
        self.rows = self.labelled.sum(axis=-1, keepdims=True)

    def gap(self, part: Any, whole: Any) -> Floats:
        """Largest difference between groups of a share."""
        values = _divide_or_nan(part, whole)
        return np.asarray(values.max(axis=1) - values.min(axis=1))

    def macro(self, part: Any, whole: Any) -> Floats:
        """Gaps of the classes, averaged with p(y = j) over all groups."""
        class_totals = self.labelled.sum(axis=1)
        weights = _divide_or_nan(class_totals, class_totals.sum(axis=-1, keepdims=True))
        return np.asarray((weights * self.gap(part, whole)).sum(axis=-1))


def _equal_accuracy(class_sums: _ClassSums) -> Floats:
    return class_sums.gap(class_sums.true.sum(axis=-1), class_sums.labelled.sum(axis=-1))


def _demographic_parity_micro(class_sums: _ClassSums) -> Floats:
    gap_values = class_sums.gap(
        class_sums.selected.sum(axis=-1), class_sums.rows[..., 0] * class_sums.selected.shape[-1]
    )
    # 0, but for the rounding of sums
    return np.asarray(np.where(np.abs(gap_values) < 1e-12, 0.0, gap_values))


def _demographic_parity_macro_micro(class_sums: _ClassSums) -> Floats:
    averaged = (
        _divide_or_nan(class_sums.labelled, class_sums.rows)
        * _divide_or_nan(class_sums.selected, class_sums.rows)
    ).sum(axis=-1)
    return class_sums.gap(averaged, np.ones_like(averaged))


#: Metrics of several classes: name → function of the sums.
CLASS_METRICS: dict[str, Callable[[_ClassSums], Floats]] = {
    "demographic_parity_micro": _demographic_parity_micro,
    "equal_opportunity_micro": _equal_accuracy,
    "demographic_parity_macro": lambda t: t.macro(t.selected, t.rows),
    "equal_opportunity_macro": lambda t: t.macro(t.true, t.labelled),
    "demographic_parity_macro_micro": _demographic_parity_macro_micro,
    "equal_opportunity_macro_micro": _equal_accuracy,
}


@dataclass(frozen=True)
class ClassMetric(Metric):
    """Accuracy, or a largest gap between groups, of counts (draws, G, J²) of J classes (appendix
    8).
    """

    def by_group(self, counts: NDArray[Any]) -> Floats:
        """Accuracy of every group, shape (draws, G)."""
        class_sums = _ClassSums(counts)
        return np.asarray(_divide_or_nan(class_sums.true.sum(axis=-1), class_sums.rows[..., 0]))

    def values(self, counts: Floats, reference: int) -> Floats:
        """Draws of the metric, shape (draws,)."""
        if self.contrast is None:
            return super().values(counts, reference)
        return CLASS_METRICS[self.name if self.name in CLASS_METRICS else f"{self.name}_macro"](
            _ClassSums(counts)
        )


def metric_names() -> list[str]:
    """Every plain name that `parse_metric` takes."""
    return [*RATES, *CRITERIA]


def parse_metric(
    name: Any,
    *,
    argument: str = "metric",
    default: str = "difference",
    several: bool = False,
) -> Metric:
    """The metric of a name; `default`: contrast of a notion of fairness without an ending.

    `several`: of classes.
    """
    if several:
        if isinstance(name, str):
            base_name = name.split("_m")[0]
        else:
            base_name = name
        if name == "accuracy":
            return ClassMetric(name, RATES[name].short, (name,), None)
        if name in CLASS_METRICS or (name in CRITERIA and f"{name}_macro" in CLASS_METRICS):
            return ClassMetric(name, CRITERIA[base_name].short, ("accuracy",), "max")
        allowed = "a function of the counts, or of several classes " + ", ".join(
            ["accuracy", *CLASS_METRICS]
        )
        suggestion = "'equal_opportunity_macro', or pos_label= for one class against the rest"
        raise InputError(argument, got=repr(name), allowed=allowed, cure=suggestion)
    base_name = name
    contrast = None
    if isinstance(name, str) and name not in RATES:
        for ending in CONTRASTS:
            if name.endswith("_" + ending):
                base_name = name.removesuffix("_" + ending)
                contrast = ending
    if isinstance(base_name, str) and base_name in CRITERIA:
        return Metric(
            name, CRITERIA[base_name].short, CRITERIA[base_name].rates, contrast or default
        )
    if isinstance(base_name, str) and base_name in RATES:
        return Metric(name, RATES[base_name].short, (base_name,), contrast)
    allowed = (
        "a function of the counts (functions are not stored in files: compute again), or one of "
    )
    allowed += (
        f"{', '.join(metric_names())}; those that compare groups may end in"
        f" _{', _'.join(CONTRASTS)}"
    )
    raise InputError(
        argument,
        got=repr(name),
        allowed=allowed,
        cure="'accuracy' or 'equal_opportunity_max', say",
    )


def several(metrics: Any) -> list[Any]:
    """One metric or several (names, functions), as a list."""
    if isinstance(metrics, str) or callable(metrics):
        return [metrics]
    suggestion = '("accuracy", "equal_opportunity")'
    return list(
        check_type(
            "metrics",
            metrics,
            (list, tuple),
            "names of metrics, or functions of the counts",
            suggestion,
        )
    )


def name_of(metric: Any) -> str:
    """Name of a metric in tables: its text, or the name of the function."""
    if isinstance(metric, str):
        return metric
    return str(getattr(metric, "__name__", type(metric).__name__))


def evaluator(function: Callable[[Any], Any], *, one_value: bool = False) -> Evaluator:
    """A function of the user's as one of counts and reference; `one_value`: it must answer one
    number per draw.
    """
    function_name = name_of(function)
    argument = "metrics" if one_value else "metric"
    allowed = "a function of counts (draws, groups, 4)"

    def of_counts(counts: Any, _: int) -> Any:
        try:
            values = np.asarray(function(counts), dtype=np.float64)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as problem:
            received = f"{function_name}, which fails ({type(problem).__name__}: {problem})"
            raise InputError(argument, got=received, allowed=allowed) from problem
        if values.shape[:1] != counts.shape[:1] or (one_value and values.ndim > 1):
            received = (
                f"{function_name}, which turns counts of shape {counts.shape} into {values.shape}"
            )
            allowed_words = (
                f"{allowed} whose answer has one entry per draw"
                f" first{', and nothing else' * one_value}"
            )
            suggestion = (
                "tp, fp, fn, tn are the last axis; keep the first: lambda c: c[..., 0].sum(axis=1)"
            )
            raise InputError(argument, got=received, allowed=allowed_words, cure=suggestion)
        return values

    return of_counts


class Objectives(NamedTuple):
    """The metrics of a comparison.

    Names in tables and in events, functions (counts, reference) → (n,).
    """

    names: tuple[str, ...]
    shorts: tuple[str, ...]
    functions: tuple[Evaluator, ...]


def as_objectives(
    metrics: Any, groups: tuple[str, ...], several_classes: bool = False
) -> Objectives:
    """Objectives of names and functions, oriented so that larger is better."""
    metrics_given = several(metrics)
    metric_names_given = tuple(name_of(metric_given) for metric_given in metrics_given)
    each_once = metrics_given and len(set(metric_names_given)) == len(metric_names_given)
    check_that(
        each_once, "metrics", metric_names_given, "one metric or more, each once", '("accuracy",)'
    )
    functions = []
    short_names = []
    fairness_positions = []
    for position, metric in enumerate(metrics_given):
        if callable(metric):
            functions.append(evaluator(metric, one_value=True))
            short_names.append(metric_names_given[position])
            continue
        known_metric = parse_metric(
            metric,
            argument="metrics",
            default="max",
            several=several_classes,
        )
        known_metric.needs_groups(groups, "metrics")
        if known_metric.larger_is_better is None:
            allowed = "metrics of which more is better or worse"
            suggestion = (
                "compare groups ('demographic_parity'), or pass a function that is larger when"
                " better"
            )
            raise InputError("metrics", got=repr(metric), allowed=allowed, cure=suggestion)
        functions.append(known_metric.objective)
        short_names.append(known_metric.short)
        fairness_positions += [position] if known_metric.between_groups else []
    if len(fairness_positions) == 1:
        short_names[fairness_positions[0]] = "fair"  # the paper's name
    if len(set(short_names)) < len(short_names):
        short_names = [
            f"{short_name}{position + 1}" for position, short_name in enumerate(short_names)
        ]
    return Objectives(metric_names_given, tuple(short_names), tuple(functions))
