"""Results of comparing models on the same people.

Their values, and what changes from one to another.
"""

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
from fairstats.methods.rates.setup import RateArguments, make_settings
from fairstats.numerics.paired.change import ModelPair, OfPairs, PairedChange
from fairstats.numerics.paired.score import wilson_limits
from fairstats.plots.forest import model_forest, model_table

AMPLIFICATION = "disparate_impact_amplification"
#: Quantities that are no comparison of rates → title, whether larger is better (None: closer to 0
#: is).
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
    """Models on the same rows: `values` of each, and in `comparisons` the changes from one to
    another.

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

    Examples
    --------
    >>> import fairstats as fs
    >>> before, after = [1] * 30 + [0] * 10 + [1] * 12 + [0] * 28, [1] * 28 + [0] * 12 + [1] * 24 + [0] * 16
    >>> result = fs.compare_models(
    ...     [1, 0] * 40, before, after, sensitive_features=["a"] * 40 + ["b"] * 40, reference="a"
    ... )
    >>> change = result.comparisons[0]
    >>> change.metric, change.group, round(change.estimate, 3), change.verdict
    ('disparate_impact_change', 'b', 2.143, 'closer to parity')
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
        "metric",
        "model",
        "baseline",
        "group",
        "reference",
        "before",
        "after",
        "estimate",
        "ci_low",
        "ci_high",
        "pvalue",
        "pvalue_adjusted",
        "n",
        "verdict",
    )

    @property
    def counts(self) -> PairedCounts | None:
        """Label × prediction × prediction of the first pair of models."""
        return self.pairs[0].counts

    @cached_property
    def values(self) -> tuple[ModelValue, ...]:
        """Every metric of every model by itself, per group or pair of groups, with interval and
        verdict.
        """
        tables: dict[str, ConfusionCounts] = {}
        for model_pair in self.pairs:
            if model_pair.counts is not None:
                tables.setdefault(model_pair.baseline, model_pair.counts.confusion(0))
                tables.setdefault(model_pair.model, model_pair.counts.confusion(1))
        model_values: list[ModelValue] = []
        for metric in self.metrics:
            values_of_metric = []
            for score_value in self.score_values:
                if score_value.metric == metric:
                    values_of_metric.append(score_value)
            for model in (
                ()
                if values_of_metric
                else (model_name for model_name in self.models if model_name in tables)
            ):
                values_of_metric += _values_of(
                    metric, tables[model], model, self.settings, self.reference
                )
            model_values += values_of_metric
        return tuple(model_values)

    def values_frame(self) -> pd.DataFrame:
        """One row per metric, model and group: estimate, interval, verdict."""
        return pd.DataFrame([model_value._row(self.backend) for model_value in self.values])

    def sentences(self) -> list[str]:
        """One sentence per change."""
        return [self._sentence(comparison) for comparison in self.comparisons]

    def _sentence(self, c: PairedChange) -> str:
        group_words = _groups_of_change(c)
        before_words = "before"
        after_words = "after"
        if self.models != ("A", "B"):
            group_words = f"{group_words}, {c.model} against {c.baseline}"
            before_words = f"with {c.baseline}"
            after_words = f"with {c.model}"
        if c.verdict == "insufficient evidence":
            return f"{group_words}: insufficient evidence. {c.note}".strip()
        if isfinite(c.estimate):
            change = f"change {c.estimate:.3f}"
        else:
            change = "no finite change"
        values = (
            f"{_metric_of_change(c)} {c.before:.3f} {before_words}, {c.after:.3f} {after_words}"
        )
        interval_words = c.confidence_interval.words().replace("inf", "∞")
        return (
            f"{group_words}: {values}; {change} ({interval_words}): "
            f"{c.verdict}. {self._explain_undecided(c)}"
        ).strip()

    def _explain_undecided(self, c: PairedChange) -> str:
        """Why a change is undecided although its interval leaves out that there is none.

        Else empty.
        """
        lower_limit, upper_limit = c.confidence_interval
        together = c.simultaneous
        no_change = float(is_ratio(_metric_of_change(c)) or c.metric == AMPLIFICATION)
        if c.verdict != "undecided" or lower_limit <= no_change <= upper_limit:
            return ""
        if self.adjust != "none" and together.low <= no_change <= together.high:
            return (
                f"Alone its interval leaves out {no_change:g}; over all changes of the metric it does"
                " not."
            )
        return (
            f"The interval leaves out {no_change:g}, so that there is a change; but the values may lie"
            " on different sides of parity, and which of them is closer to it is open."
        )

    def summary(self) -> str:
        """The result as text: title, table, notes, and why verdicts are other than intervals
        suggest.
        """
        explanations = [
            f"{self._about(comparison)}: {explanation}"
            for comparison in self.comparisons
            if (explanation := self._explain_undecided(comparison))
        ]
        frame = self.to_frame()
        return printed(
            self.title, frame[self._telling_columns(frame)], [*self.notes(), *explanations]
        )

    def _about(self, c: PairedChange) -> str:
        """Groups, and where there are several of them, models and metric of a change."""
        if len(self.models) > 2:
            model_and_metric = [f"{c.model} against {c.baseline}"]
        else:
            model_and_metric = []
        model_and_metric += [_metric_of_change(c)] if len(self.metrics) > 1 else []
        return ", ".join([_groups_of_change(c), *model_and_metric])

    def notes(self) -> list[str]:
        """Sentences below the table."""
        ratios = {is_ratio(metric_name) for metric_name in self.metrics}
        if ratios == {True}:
            estimate_words = "after / before"
        else:
            estimate_words = "after − before"
        estimate_words += " (of ratios after / before)" if len(ratios) > 1 else ""
        sentences = [
            f"The estimate is {estimate_words}; the interval uses that all models saw the same rows."
        ]
        adjustment_words = f"adjusted by {self.adjust}"
        scope_words = "over all changes of a metric at once"
        if self.settings.reference_rule == "highest":
            reason = (
                f"the highest selection rate under {self.pairs[0].baseline}, chosen by the data"
            )
            held_words = "intervals, p-values and verdicts hold over all pairs of groups"
            sentences.append(f"Reference: {self.reference}, {reason}: {held_words}.")
            adjustment_words = "adjusted by bonferroni over all pairs"
        elif self.adjust == "none":
            adjustment_words = "not adjusted"
            scope_words = "each by itself"
        if len(self.comparisons) > len(self.metrics):
            sentences.append(
                f"p-values {adjustment_words}; what is said to change is shown {scope_words}."
            )
        metrics_by_note: dict[str, dict[str, None]] = {}
        for comparison in self.comparisons:
            if comparison.note:
                metrics_by_note.setdefault(comparison.note, {})[_metric_of_change(comparison)] = (
                    None
                )
        several = len({comparison.metric for comparison in self.comparisons}) > 1
        for note, metric_names in sorted(metrics_by_note.items()):
            sentences.append(f"{note} ({', '.join(metric_names)})" if several else note)
        counts = next(
            (model_pair.counts for model_pair in self.pairs if model_pair.counts is not None), None
        )
        if counts is None:
            return sentences
        return [*sentences, *counts.missing.sentences]

    def _with_adjusted(self, adjusted: Iterable[float], family: str) -> Self:
        """The same result with these adjusted p-values and this family."""
        adjusted_changes = with_adjusted(self.comparisons, adjusted)
        return replace(
            self, comparisons=adjusted_changes, settings=replace(self.settings, family=family)
        )

    def plot(
        self,
        ax: Axes | None = None,
        *,
        kind: str = "forest",
        metric: str | None = None,
    ) -> Axes:
        """Forest plot of one metric, or table of models and attributes.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; default a new figure.
        kind : {"forest", "table"}
            "table": models × groups, coloured by distance from parity, with the mark of the
            verdict.
        metric : str, optional
            Default: the first (forest), all (table).
        """
        check_choice("kind", kind, ("forest", "table"))
        if kind == "forest":
            return model_forest(self, ax=ax, metric=metric)
        return model_table(self, ax=ax)


@serialisable(eq=False)
class AmplificationResult(ModelComparison):
    """Disparate impact of the predictions over that of the labels, with paired intervals.

    `before`, `after`: the ratio of base rates, and that of selection rates; the estimate is after /
    before.
    """

    title: ClassVar[str] = (
        "Amplification: disparate impact of the predictions over that of the labels"
    )
    # metric, model and baseline are the same in every row, and stand in the title
    _shown: ClassVar[tuple[str, ...]] = (
        "group",
        "reference",
        "before",
        "after",
        "estimate",
        "ci_low",
        "ci_high",
        "pvalue",
        "pvalue_adjusted",
        "n",
        "verdict",
    )

    def _sentence(self, c: PairedChange) -> str:
        group_words = _groups_of_change(c)
        if c.verdict == "insufficient evidence":
            return f"{group_words}: insufficient evidence. {c.note}".strip()
        conclusion = {
            "amplified": "the predictions are further from parity than the labels",
            "reduced": "the predictions are closer to parity than the labels",
        }.get(
            c.verdict,
            "the data do not settle whether the predictions are closer to parity than the labels",
        )
        return (
            f"{group_words}: disparate impact {c.before:.3f} of the labels, {c.after:.3f} of the"
            f" predictions, ratio {c.estimate:.3f} ({c.confidence_interval.words()}): {c.verdict};"
            f" {conclusion}. {self._explain_undecided(c)}"
        ).strip()

    def notes(self) -> list[str]:
        """Sentences below the table."""
        sentence = (
            "The estimate is the ratio of both; its interval uses that they are of the same people."
        )
        return [
            sentence,
            *sorted({comparison.note for comparison in self.comparisons if comparison.note}),
        ]


def _metric_of_change(c: PairedChange) -> str:
    return c.metric.removesuffix("_change")


def _groups_of_change(c: PairedChange) -> str:
    if c.reference:
        return f"{c.group} against {c.reference}"
    return c.group


def _values_of(
    field_name: str,
    counts: ConfusionCounts,
    model: str,
    settings: Inference,
    reference: str,
) -> Iterable[ModelValue]:
    """A metric of rates, or accuracy, of one model: by its usual method, with its verdict."""
    metric = find_metric(field_name)
    if metric is None:
        return _accuracy_by_group(counts, model, settings)
    arguments = RateArguments(
        confidence_level=settings.confidence_level,
        adjust=settings.adjust,
        comparisons=settings.comparisons,
    )
    if settings.threshold is not None and metric.contrast == "ratio":
        arguments = replace(arguments, threshold=settings.threshold)
    elif settings.margin is not None:
        arguments = replace(arguments, margin=settings.margin)
    own_settings = replace(
        make_settings(metric.contrast, arguments), reference_rule=settings.reference_rule
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairstatsWarning)  # the changes warn of the same
        compared = compare_metric(metric, counts, own_settings, reference).comparisons
    field_names = [field.name for field in fields(results.Comparison)]
    values = []
    for comparison in compared:
        values.append(
            ModelValue(
                model=model,
                **{field_name: getattr(comparison, field_name) for field_name in field_names},
            )
        )
    return values


def _accuracy_by_group(counts: Any, model: str, settings: Inference) -> Iterator[ModelValue]:
    """Accuracy per group, by Wilson's interval; under weights its estimate alone."""
    critical_value = normal_quantile((1 + settings.confidence_level) / 2)
    for group_index, group_name in enumerate(counts.groups):
        n_correct = float(counts.total("tp", "tn")[group_index])
        n_cases = float(counts.totals[group_index].sum())
        has_interval = n_cases > 0 and not counts.weighted
        if has_interval:
            interval_ends = wilson_limits(n_correct, n_cases, critical_value, ratio=False)
        else:
            interval_ends = (float("nan"), float("nan"))
        yield ModelValue(
            metric="accuracy",
            group=group_name,
            estimate=n_correct / n_cases if n_cases > 0 else float("nan"),
            model=model,
            confidence_interval=Interval(*interval_ends, settings.confidence_level, "Wilson"),
            method="Wilson",
            n=int(counts.group_sizes[group_index]),
        )
