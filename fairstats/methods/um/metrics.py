"""Metrics as functions of arrays of counts: rates, contrasts between groups, objectives of a comparison.

A count array has the shape (draws, G, 4) with the last axis (tp, fp, fn, tn). What is undefined (0/0, or a quotient
over 0) is NaN. Rates and notions of fairness are those of the registry.
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

    `name` is as asked for, `short` in names of events; `rates` are rates of the registry, two for equalized odds.
    `contrast` is None (all rows), "difference" (group − reference), "absolute", "ratio", or "max": the largest gap.
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
        return False if self.between_groups else RATES[self.rates[0]].larger_is_better

    def needs_groups(self, groups: tuple[str, ...], argument: str = "metric") -> None:
        """Raise where there is nothing to compare."""
        if self.between_groups and len(groups) < 2:
            got = f"{self.name!r} with one group ({groups[0]!r})"
            cure = "pass two groups or more to compare them"
            raise InputError(argument, got=got, allowed="metrics of all rows, such as 'accuracy'", cure=cure)

    def by_group(self, counts: NDArray[Any]) -> Floats:
        """Value of every group, shape (draws, G), or (draws, G, 2) for equalized odds."""
        cells = dict(zip(CELLS, np.moveaxis(counts, -1, 0), strict=True))
        values = [np.asarray(RATES[rate].evaluate(cells)) for rate in self.rates]
        if any(RATES[rate].high == np.inf for rate in self.rates):  # a case over no case: undefined like 0/0
            values = [np.where(np.isinf(v), np.nan, v) for v in values]
        return values[0] if len(values) == 1 else np.stack(values, axis=-1)

    def values(self, counts: Floats, reference: int) -> Floats:
        """Draws: (n,) of all rows and of "max", else (n, G − 1), without the reference; (…, 2) of equalized odds."""
        if self.contrast is None:
            return self.by_group(counts.sum(axis=-2, keepdims=True))[:, 0]
        rates = self.by_group(counts)
        if self.contrast == "max":
            gaps = rates.max(axis=1) - rates.min(axis=1)
            return np.asarray(gaps.reshape(len(gaps), -1).max(axis=1))
        base, rest = rates[:, [reference]], np.delete(rates, reference, axis=1)
        if self.contrast == "ratio":
            return np.asarray(np.divide(rest, base, out=np.full(rest.shape, np.nan), where=base > 0))
        gap = rest - base
        return np.asarray(np.abs(gap) if self.contrast == "absolute" else gap)

    def objective(self, counts: Floats, reference: int) -> Floats:
        """Draws oriented so that larger is better, (n,): a fairness metric is minus the largest gap (of log ratios)."""
        values = self.values(counts, reference)
        if self.contrast is None:
            return np.asarray(values if self.larger_is_better else -values)
        if self.contrast == "ratio":
            with np.errstate(divide="ignore", invalid="ignore"):
                values = np.log(values)
        return np.asarray(-np.abs(values).reshape(len(values), -1).max(axis=1))


def _share(part: Any, whole: Any) -> Any:
    shape = np.broadcast_shapes(np.shape(part), np.shape(whole))
    return np.divide(part, whole, out=np.full(shape, np.nan), where=whole > 0)


class _Table:
    """Sums over counts (draws, G, J²), label by prediction, per group and class; `rows` per group, (draws, G, 1)."""

    def __init__(self, counts: NDArray[Any]) -> None:
        size = math.isqrt(counts.shape[-1])
        counts = counts.reshape(*counts.shape[:-1], size, size)
        self.selected, self.labelled = counts.sum(axis=-2), counts.sum(axis=-1)
        self.true = np.diagonal(counts, axis1=-2, axis2=-1)
        self.rows = self.labelled.sum(axis=-1, keepdims=True)

    def gap(self, part: Any, whole: Any) -> Floats:
        """Largest difference between groups of a share."""
        values = _share(part, whole)
        return np.asarray(values.max(axis=1) - values.min(axis=1))

    def macro(self, part: Any, whole: Any) -> Floats:
        """Gaps of the classes, averaged with p(y = j) over all groups."""
        total = self.labelled.sum(axis=1)
        weights = _share(total, total.sum(axis=-1, keepdims=True))
        return np.asarray((weights * self.gap(part, whole)).sum(axis=-1))


def _equal_accuracy(t: _Table) -> Floats:
    return t.gap(t.true.sum(axis=-1), t.labelled.sum(axis=-1))


def _dp_micro(t: _Table) -> Floats:
    found = t.gap(t.selected.sum(axis=-1), t.rows[..., 0] * t.selected.shape[-1])
    return np.asarray(np.where(np.abs(found) < 1e-12, 0.0, found))  # 0, but for the rounding of sums


def _dp_macro_micro(t: _Table) -> Floats:
    averaged = (_share(t.labelled, t.rows) * _share(t.selected, t.rows)).sum(axis=-1)
    return t.gap(averaged, np.ones_like(averaged))


#: Metrics of several classes: name → function of the sums.
CLASS_METRICS: dict[str, Callable[[_Table], Floats]] = {
    "demographic_parity_micro": _dp_micro, "equal_opportunity_micro": _equal_accuracy,
    "demographic_parity_macro": lambda t: t.macro(t.selected, t.rows),
    "equal_opportunity_macro": lambda t: t.macro(t.true, t.labelled),
    "demographic_parity_macro_micro": _dp_macro_micro, "equal_opportunity_macro_micro": _equal_accuracy,
}  # fmt: skip


@dataclass(frozen=True)
class ClassMetric(Metric):
    """Accuracy, or a largest gap between groups, of counts (draws, G, J²) of J classes (appendix 8)."""

    def by_group(self, counts: NDArray[Any]) -> Floats:
        """Accuracy of every group, shape (draws, G)."""
        table = _Table(counts)
        return np.asarray(_share(table.true.sum(axis=-1), table.rows[..., 0]))

    def values(self, counts: Floats, reference: int) -> Floats:
        """Draws of the metric, shape (draws,)."""
        if self.contrast is None:
            return super().values(counts, reference)
        return CLASS_METRICS[self.name if self.name in CLASS_METRICS else f"{self.name}_macro"](_Table(counts))


def metric_names() -> list[str]:
    """Every plain name that `parse_metric` takes."""
    return [*RATES, *CRITERIA]


def parse_metric(name: Any, *, argument: str = "metric", default: str = "difference", several: bool = False) -> Metric:
    """The metric of a name; `default`: contrast of a notion of fairness without an ending; `several`: of classes."""
    if several:
        base = name.split("_m")[0] if isinstance(name, str) else name
        if name == "accuracy":
            return ClassMetric(name, RATES[name].short, (name,), None)
        if name in CLASS_METRICS or (name in CRITERIA and f"{name}_macro" in CLASS_METRICS):
            return ClassMetric(name, CRITERIA[base].short, ("accuracy",), "max")
        allowed = "a function of the counts, or of several classes " + ", ".join(["accuracy", *CLASS_METRICS])
        cure = "'equal_opportunity_macro', or pos_label= for one class against the rest"
        raise InputError(argument, got=repr(name), allowed=allowed, cure=cure)
    base, contrast = name, None
    if isinstance(name, str) and name not in RATES:
        for ending in CONTRASTS:
            if name.endswith("_" + ending):
                base, contrast = name.removesuffix("_" + ending), ending
    if isinstance(base, str) and base in CRITERIA:
        return Metric(name, CRITERIA[base].short, CRITERIA[base].rates, contrast or default)
    if isinstance(base, str) and base in RATES:
        return Metric(name, RATES[base].short, (base,), contrast)
    allowed = "a function of the counts (functions are not stored in files: compute again), or one of "
    allowed += f"{', '.join(metric_names())}; those that compare groups may end in _{', _'.join(CONTRASTS)}"
    raise InputError(argument, got=repr(name), allowed=allowed, cure="'accuracy' or 'equal_opportunity_max', say")


def several(metrics: Any) -> list[Any]:
    """One metric or several (names, functions), as a list."""
    if isinstance(metrics, str) or callable(metrics):
        return [metrics]
    cure = '("accuracy", "equal_opportunity")'
    return list(check_type("metrics", metrics, (list, tuple), "names of metrics, or functions of the counts", cure))


def name_of(metric: Any) -> str:
    """Name of a metric in tables: its text, or the name of the function."""
    return metric if isinstance(metric, str) else str(getattr(metric, "__name__", type(metric).__name__))


def evaluator(function: Callable[[Any], Any], *, one_value: bool = False) -> Evaluator:
    """A function of the user's as one of counts and reference; `one_value`: it must answer one number per draw."""
    name, argument = name_of(function), "metrics" if one_value else "metric"
    allowed = "a function of counts (draws, groups, 4)"

    def of_counts(counts: Any, _: int) -> Any:
        try:
            values = np.asarray(function(counts), dtype=np.float64)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as problem:
            got = f"{name}, which fails ({type(problem).__name__}: {problem})"
            raise InputError(argument, got=got, allowed=allowed) from problem
        if values.shape[:1] != counts.shape[:1] or (one_value and values.ndim > 1):
            got = f"{name}, which turns counts of shape {counts.shape} into {values.shape}"
            words = f"{allowed} whose answer has one entry per draw first{', and nothing else' * one_value}"
            cure = "tp, fp, fn, tn are the last axis; keep the first: lambda c: c[..., 0].sum(axis=1)"
            raise InputError(argument, got=got, allowed=words, cure=cure)
        return values

    return of_counts


class Objectives(NamedTuple):
    """The metrics of a comparison: names in tables and in events, functions (counts, reference) → (n,)."""

    names: tuple[str, ...]
    shorts: tuple[str, ...]
    functions: tuple[Evaluator, ...]


def as_objectives(metrics: Any, groups: tuple[str, ...], several_classes: bool = False) -> Objectives:
    """Objectives of names and functions, oriented so that larger is better."""
    given = several(metrics)
    names = tuple(name_of(m) for m in given)
    once = given and len(set(names)) == len(names)
    check_that(once, "metrics", names, "one metric or more, each once", '("accuracy",)')
    functions, shorts, fair = [], [], []
    for k, metric in enumerate(given):
        if callable(metric):
            functions.append(evaluator(metric, one_value=True))
            shorts.append(names[k])
            continue
        known = parse_metric(metric, argument="metrics", default="max", several=several_classes)
        known.needs_groups(groups, "metrics")
        if known.larger_is_better is None:
            allowed = "metrics of which more is better or worse"
            cure = "compare groups ('demographic_parity'), or pass a function that is larger when better"
            raise InputError("metrics", got=repr(metric), allowed=allowed, cure=cure)
        functions.append(known.objective)
        shorts.append(known.short)
        fair += [k] if known.between_groups else []
    if len(fair) == 1:
        shorts[fair[0]] = "fair"  # the paper's name
    if len(set(shorts)) < len(shorts):
        shorts = [f"{short}{k + 1}" for k, short in enumerate(shorts)]
    return Objectives(names, tuple(shorts), tuple(functions))
