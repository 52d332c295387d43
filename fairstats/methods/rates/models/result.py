"""Results of comparing models on the same people: their values, and what changes from one to another."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import fields, replace
from functools import cached_property
from math import isfinite
from typing import Any, ClassVar, Self

from fairstats.ground import results
from fairstats.ground.checks import check_choice
from fairstats.ground.counts import ConfusionCounts, PairedCounts
from fairstats.ground.errors import FairstatsWarning
from fairstats.ground.lazy import Axes, pd
from fairstats.ground.multiplicity import normal_quantile
from fairstats.ground.registry import find_metric, is_ratio
from fairstats.ground.results import Interval, Result, printed
from fairstats.ground.serialise import serialisable
from fairstats.methods.rates.compare import compare_metric
from fairstats.methods.rates.result import Inference, with_adjusted
from fairstats.methods.rates.setup import make_settings
from fairstats.numerics.paired.change import ModelPair, OfPairs, PairedChange
from fairstats.numerics.paired.score import wilson_limits
from fairstats.plots.forest import model_forest, model_table

AMPLIFICATION = "disparate_impact_amplification"
#: Quantities that are no comparison of rates → title, whether larger is better (None: closer to 0 is).
QUANTITIES: dict[str, tuple[str, bool | None]] = {
    "accuracy": ("Accuracy", True),
    "auc": ("AUC: area under the ROC curve", True),
    "brier": ("Brier score: mean squared error of the score", False),
    "madd": ("MADD: distance between score distributions", None),
    "abroca": ("ABROCA: area between ROC curves", None),
}


@serialisable(kw_only=True)
class ModelValue(results.Comparison):
    """A metric of one model, with its own interval and verdict."""

    further: ClassVar[tuple[str, ...]] = ("model", results.LEVEL, "verdict", "note")

    model: str


@serialisable(eq=False)
class ModelComparison(OfPairs, Result):
    """Models on the same rows: `values` of each, and in `comparisons` the changes from one to another.

    `to_frame()` has the changes, `values_frame()` every model by itself.

    Attributes
    ----------
    metrics, models : tuple of str
    comparisons : tuple of PairedChange
        Per metric, pair of models, and group or pair of groups.
    score_values : tuple of ModelValue
        Of metrics of scores, per model, and group or pair of groups.
    settings, reference : Inference, str
    pairs : tuple of ModelPair
        The sufficient statistics.
    """

    metrics: tuple[str, ...]
    models: tuple[str, ...]
    comparisons: tuple[PairedChange, ...]
    score_values: tuple[ModelValue, ...]
    settings: Inference
    reference: str
    pairs: tuple[ModelPair, ...]
    backend: str = "numpy"

    title: ClassVar[str] = "Models on the same people"
    _shown: ClassVar[tuple[str, ...]] = (
        "metric", "model", "baseline", "group", "reference", "before", "after", "estimate", "ci_low",
        "ci_high", "pvalue", "pvalue_adjusted", "n", "verdict",
    )  # fmt: skip

    @property
    def counts(self) -> PairedCounts | None:
        """Label × prediction × prediction of the first pair of models."""
        return self.pairs[0].counts

    @cached_property
    def values(self) -> tuple[ModelValue, ...]:
        """Every metric of every model by itself, per group or pair of groups, with interval and verdict."""
        tables: dict[str, ConfusionCounts] = {}
        for pair in self.pairs:
            if pair.counts is not None:
                tables.setdefault(pair.baseline, pair.counts.confusion(0))
                tables.setdefault(pair.model, pair.counts.confusion(1))
        found: list[ModelValue] = []
        for metric in self.metrics:
            own = [v for v in self.score_values if v.metric == metric]
            for model in () if own else (m for m in self.models if m in tables):
                own += _values_of(metric, tables[model], model, self.settings, self.reference)
            found += own
        return tuple(found)

    def values_frame(self) -> pd.DataFrame:
        """One row per metric, model and group: estimate, interval, verdict."""
        return pd.DataFrame([v._row(self.backend) for v in self.values])

    def sentences(self) -> list[str]:
        """One sentence per change."""
        return [self._sentence(c) for c in self.comparisons]

    def _sentence(self, c: PairedChange) -> str:
        who, first, then = _who(c), "before", "after"
        if self.models != ("A", "B"):
            who, first, then = f"{who}, {c.model} against {c.baseline}", f"with {c.baseline}", f"with {c.model}"
        if c.verdict == "insufficient evidence":
            return f"{who}: insufficient evidence. {c.note}".strip()
        change = f"change {c.estimate:.3f}" if isfinite(c.estimate) else "no finite change"
        values = f"{_metric(c)} {c.before:.3f} {first}, {c.after:.3f} {then}"
        told = c.confidence_interval.words().replace("inf", "∞")
        return f"{who}: {values}; {change} ({told}): {c.verdict}. {self._why(c)}".strip()

    def _why(self, c: PairedChange) -> str:
        """Why a change is undecided although its interval leaves out that there is none; else empty."""
        (low, high), together = c.confidence_interval, c.simultaneous
        null = float(is_ratio(_metric(c)) or c.metric == AMPLIFICATION)
        if c.verdict != "undecided" or low <= null <= high:
            return ""
        if self.adjust != "none" and together.low <= null <= together.high:
            return f"Alone its interval leaves out {null:g}; over all changes of the metric it does not."
        return (
            f"The interval leaves out {null:g}, so that there is a change; but the values may lie on "
            "different sides of parity, and which of them is closer to it is open."
        )

    def summary(self) -> str:
        """The result as text: title, table, notes, and why verdicts are other than intervals suggest."""
        whys = [f"{self._about(c)}: {why}" for c in self.comparisons if (why := self._why(c))]
        frame = self.to_frame()
        return printed(self.title, frame[self._telling_columns(frame)], [*self.notes(), *whys])

    def _about(self, c: PairedChange) -> str:
        """Groups, and where there are several of them, models and metric of a change."""
        named = [f"{c.model} against {c.baseline}"] if len(self.models) > 2 else []
        named += [_metric(c)] if len(self.metrics) > 1 else []
        return ", ".join([_who(c), *named])

    def notes(self) -> list[str]:
        """Sentences below the table."""
        ratios = {is_ratio(m) for m in self.metrics}
        kind = "after / before" if ratios == {True} else "after − before"
        kind += " (of ratios after / before)" if len(ratios) > 1 else ""
        lines = [f"The estimate is {kind}; the interval uses that all models saw the same rows."]
        how, alone = f"adjusted by {self.adjust}", "over all changes of a metric at once"
        if self.settings.reference_rule == "highest":
            why = f"the highest selection rate under {self.pairs[0].baseline}, chosen by the data"
            held = "intervals, p-values and verdicts hold over all pairs of groups"
            lines.append(f"Reference: {self.reference}, {why}: {held}.")
            how = "adjusted by bonferroni over all pairs"
        elif self.adjust == "none":
            how, alone = "not adjusted", "each by itself"
        if len(self.comparisons) > len(self.metrics):
            lines.append(f"p-values {how}; what is said to change is shown {alone}.")
        about: dict[str, dict[str, None]] = {}
        for c in self.comparisons:
            if c.note:
                about.setdefault(c.note, {})[_metric(c)] = None
        several = len({c.metric for c in self.comparisons}) > 1
        lines += [f"{n} ({', '.join(names)})" if several else n for n, names in sorted(about.items())]
        counts = next((pair.counts for pair in self.pairs if pair.counts is not None), None)
        return lines if counts is None else [*lines, *counts.missing.sentences]

    def _with_adjusted(self, adjusted: Iterable[float], family: str) -> Self:
        """The same result with these adjusted p-values and this family."""
        found = with_adjusted(self.comparisons, adjusted)
        return replace(self, comparisons=found, settings=replace(self.settings, family=family))

    def plot(self, ax: Axes | None = None, *, kind: str = "forest", metric: str | None = None) -> Axes:
        """Forest plot of one metric, or table of models and attributes.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; default a new figure.
        kind : {"forest", "table"}
            "table": models × groups, coloured by distance from parity, with the mark of the verdict.
        metric : str, optional
            Default: the first (forest), all (table).
        """
        check_choice("kind", kind, ("forest", "table"))
        return model_forest(self, ax=ax, metric=metric) if kind == "forest" else model_table(self, ax=ax)


@serialisable(eq=False)
class AmplificationResult(ModelComparison):
    """Disparate impact of the predictions over that of the labels, with paired intervals.

    `before`, `after`: the ratio of base rates, and that of selection rates; the estimate is after / before.
    """

    title: ClassVar[str] = "Amplification: disparate impact of the predictions over that of the labels"

    def _sentence(self, c: PairedChange) -> str:
        who = _who(c)
        if c.verdict == "insufficient evidence":
            return f"{who}: insufficient evidence. {c.note}".strip()
        said = {
            "amplified": "the predictions are further from parity than the labels",
            "reduced": "the predictions are closer to parity than the labels",
        }.get(c.verdict, "the data do not settle whether the predictions are closer to parity than the labels")
        return (
            f"{who}: disparate impact {c.before:.3f} of the labels, {c.after:.3f} of the predictions, ratio "
            f"{c.estimate:.3f} ({c.confidence_interval.words()}): {c.verdict}; {said}. {self._why(c)}"
        ).strip()

    def notes(self) -> list[str]:
        """Sentences below the table."""
        said = "The estimate is the ratio of both; its interval uses that they are of the same people."
        return [said, *sorted({c.note for c in self.comparisons if c.note})]


def _metric(c: PairedChange) -> str:
    return c.metric.removesuffix("_change")


def _who(c: PairedChange) -> str:
    return f"{c.group} against {c.reference}" if c.reference else c.group


def _values_of(
    name: str, counts: ConfusionCounts, model: str, settings: Inference, reference: str
) -> Iterable[ModelValue]:
    """A metric of rates, or accuracy, of one model: by its usual method, with its verdict."""
    metric = find_metric(name)
    if metric is None:
        return _accuracy(counts, model, settings)
    limit = "threshold" if metric.contrast == "ratio" else "margin"
    kept = {key: getattr(settings, key) for key in (limit, "confidence_level", "adjust", "comparisons")}
    own = replace(make_settings(metric.contrast, kept), reference_rule=settings.reference_rule)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairstatsWarning)  # the changes warn of the same
        compared = compare_metric(metric, counts, own, reference).comparisons
    names = [f.name for f in fields(results.Comparison)]
    return [ModelValue(model=model, **{name: getattr(c, name) for name in names}) for c in compared]


def _accuracy(counts: Any, model: str, settings: Inference) -> Iterator[ModelValue]:
    """Accuracy per group, by Wilson's interval; under weights its estimate alone."""
    z = normal_quantile((1 + settings.confidence_level) / 2)
    for g, name in enumerate(counts.groups):
        right, cases = float(counts.total("tp", "tn")[g]), float(counts.totals[g].sum())
        known = cases > 0 and not counts.weighted
        ends = wilson_limits(right, cases, z, ratio=False) if known else (float("nan"), float("nan"))
        yield ModelValue(
            metric="accuracy", group=name, estimate=right / cases if cases > 0 else float("nan"), model=model,
            confidence_interval=Interval(*ends, settings.confidence_level, "Wilson"), method="Wilson",
            n=int(counts.group_sizes[g]),
        )  # fmt: skip
