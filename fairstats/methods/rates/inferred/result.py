"""Comparisons of groups that are inferred from probabilities."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from fairstats.ground.lazy import Axes, pd
from fairstats.ground.registry import RATES, Title, find_metric
from fairstats.ground.results import LEVEL, OF_VERDICT, Comparison, Interval, Result
from fairstats.ground.serialise import serialisable
from fairstats.ground.verdict import explain
from fairstats.methods.rates.inferred.reading import InferredCounts
from fairstats.methods.rates.result import Inference, with_adjusted
from fairstats.plots.inferred import inferred_picture
from fairstats.plots.picture import draw

#: Of limits around bounds, and with rows whose groups are known.
BOUNDS_METHOD = "bounds from probabilities"
AUDIT_METHOD = "probabilities and true groups"
_NONE = Interval(low=math.nan, high=math.nan, confidence_level=math.nan, method="")
#: What the head of a result and of a report says.
INFERRED = "Groups are inferred from probabilities, not recorded"
_TAILS = {
    "below": "show a {scale} below {low}",
    "above": "show a {scale} above {high}",
    "satisfied": "show a {scale} between {low} and {high}",
    "undecided": "do not settle whether it lies between {low} and {high}",
}


@serialisable(kw_only=True)
class InferredComparison(Comparison):
    """One group against its reference, where the groups are known by probabilities.

    `estimate`: weighted by the probabilities, or, with an audit sample, without bias;
    `confidence_interval`: of the true value, whatever the groups of single rows are.

    Attributes
    ----------
    set_low, set_high : float
        The values that are possible given the probabilities; NaN where the rates do not allow one.
    set_interval : Interval
        Of all that is possible: both ends lie within, with the confidence level.
    weighted : float
        Weighted by the probabilities: right where, among people of equal probabilities, outcomes do
        not differ between groups.
    weighted_interval : Interval
        Of the weighted value, right under the same assumption.
    regression : float
        Ecological regression: right where outcomes depend on the group alone.
    rate, rate_reference : float
        Those of the estimate.
    n_reference : int
        Expected rows of the reference that count for the rate, as `n` of the group.
    n_audited : int
        Rows with a true group.
    """

    further: ClassVar[tuple[str, ...]] = (
        "n_reference",
        "rate",
        "rate_reference",
        "set_low",
        "set_high",
        "set_ci_low=set_interval.low",
        "set_ci_high=set_interval.high",
        "weighted",
        "weighted_ci_low=weighted_interval.low",
        "weighted_ci_high=weighted_interval.high",
        "regression",
        "n_audited",
        LEVEL,
        *OF_VERDICT,
        "note",
    )

    set_low: float = math.nan
    set_high: float = math.nan
    set_interval: Interval = _NONE
    weighted: float = math.nan
    weighted_interval: Interval = _NONE
    regression: float = math.nan
    rate: float = math.nan
    rate_reference: float = math.nan
    n_reference: int = 0
    n_audited: int = 0


@serialisable(eq=False, kw_only=True)
class InferredResult(Result):
    """Comparisons of groups that nobody recorded, from probabilities of the groups.

    Attributes
    ----------
    metric, words : str
        The metric and its title.
    scale : {"ratio", "difference"}
    comparisons : tuple of InferredComparison
        One per group (or pair) and rate.
    settings : Inference
        Everything that was chosen.
    counts : tuple of InferredCounts
        The sufficient statistics, one for each rate of the metric.
    in_report : bool
        Whether it stands in a report, which says once what is taken for granted.
    """

    metric: str
    words: str
    scale: str
    comparisons: tuple[InferredComparison, ...]
    settings: Inference
    counts: tuple[InferredCounts, ...]
    in_report: bool = False
    backend: str = "numpy"

    _shown: ClassVar[tuple[str, ...]] = (
        "metric",
        "group",
        "reference",
        "n",
        "n_reference",
        "estimate",
        "set_low",
        "set_high",
        "ci_low",
        "ci_high",
        "pvalue",
        "verdict",
        "n_audited",
    )
    lacks: ClassVar[Mapping[str, str]] = {}

    @property
    def title(self) -> str:  # type: ignore[override]
        """One line above the table."""
        return f"{self.words} (groups inferred)"

    @property
    def audited(self) -> bool:
        """Whether some rows have a true group."""
        return self.counts[0]._audited is not None

    def _summary_columns(self, frame: pd.DataFrame) -> list[str]:
        idle = set()
        if frame["metric"].nunique() < 2:
            idle.add("metric")
        if not self.audited:
            idle.add("n_audited")
        return [name for name in super()._summary_columns(frame) if name not in idle]

    def sentences(self) -> list[str]:
        """One sentence per comparison: what is possible, and the verdict."""
        sentences = []
        several_rates = len({comparison.metric for comparison in self.comparisons}) > 1
        for comparison in self.comparisons:
            name = f"{comparison.group} against {comparison.reference}"
            if several_rates:
                name = f"{_rate_title(comparison.metric)}, {name}"
            if comparison.verdict == "insufficient evidence":
                sentences.append(f"{name}: insufficient evidence. {comparison.note}".strip())
                continue
            sentences.append(
                f"{name}: {self._describe(comparison)} {self._judge_words(comparison)}"
            )
        return sentences

    def _describe(self, comparison: InferredComparison) -> str:
        """The figures of one comparison in words."""
        number = "+.3f" if self.scale == "difference" else ".3f"
        interval = comparison.confidence_interval.words(number)
        possible = f"{comparison.set_low:{number}} to {comparison.set_high:{number}}"
        if comparison.n_audited:
            return (
                f"{self.scale} {comparison.estimate:{number}} ({interval}), from"
                f" {comparison.n_audited:,} rows with true groups and the probabilities of all;"
                f" the probabilities alone allow {possible}."
            )
        return (
            f"{self.scale} {comparison.estimate:{number}} weighted by the probabilities; {possible}"
            f" is possible ({interval})."
        )

    def _judge_words(self, comparison: InferredComparison) -> str:
        """The verdict of one comparison in words."""
        fair_low, fair_high = fair = self.settings._fair_range(self.scale)
        key = comparison.verdict
        if key == "violated":
            key = comparison.direction
        words = _TAILS[key].format(scale=self.scale, low=f"{fair_low:.4g}", high=f"{fair_high:.4g}")
        sentence = f"{comparison.verdict.capitalize()}; the data {words}."
        adjusted = self.settings.adjust != "none" and len(self.comparisons) > 1
        explanation = explain(
            comparison.confidence_interval,
            comparison.bounds,
            fair,
            comparison.verdict,
            adjusted=adjusted,
        )
        return f"{sentence} {explanation}".strip()

    def about_groups(self) -> list[str]:
        """Sentences on how the groups are known, and on what is taken for granted."""
        counts = self.counts[0]
        sentences = [f"{INFERRED}: {', '.join(counts.groups)}."]
        if self.audited:
            return [*sentences, _WITH_AUDIT, *self._about_design()]
        sentences += _ASSUMPTIONS
        if counts._calibration is None:
            return [*sentences, _AS_GIVEN, *self._about_design()]
        number = int(counts._calibration.number.sum())
        return [
            *sentences,
            *self._about_design(),
            f"The probabilities are corrected by {number:,} rows of a calibration sample, whose"
            " error the limits count; rows of similar probabilities there and here are taken to be"
            " alike.",
        ]

    def _about_design(self) -> list[str]:
        """What weights and clusters are worth; nothing without either."""
        counts = self.counts[0]
        if counts.design is None:
            return []
        worth = ", ".join(
            f"{group} {units:.3g}"
            for group, units in zip(counts.groups, counts.effective_cases, strict=True)
        )
        causes = []
        if counts.weighted:
            causes.append("weights")
        if counts.clustered:
            causes.append("clusters")
        unit = "clusters" if counts.clustered else "rows"
        sentence = (
            f"By {' and '.join(causes)} the cases of the groups are worth so many {unit}: {worth};"
            " limits are wider for it (Student's t)."
        )
        if not counts.weighted:
            return [sentence]
        return [
            sentence,
            "Probabilities are taken to be right among the people that the weights stand for.",
        ]

    def notes(self) -> list[str]:
        """Sentences below the table: first, that groups are inferred."""
        settings = self.settings
        counts = self.counts[0]
        sentences = self.about_groups()
        if self.in_report:
            sentences = sentences[:1]
        if settings.comparisons != "all":
            sentences.append(f"Reference: {self.comparisons[0].reference}.")
        sentences.append(
            f"{settings.level_text} intervals of the true value; verdicts by one-sided limits."
        )
        if len(self.comparisons) > 1:
            words = f"adjusted by {settings.adjust} over {settings.family}"
            if settings.adjust == "none":
                words = "not adjusted, each verdict by itself"
            sentences.append(f"p-values {words}.")
        if counts.seed is not None:
            sentences.append(f"Rows were halved by chance (seed {counts.seed}).")
        notes_of_comparisons = sorted(
            {comparison.note for comparison in self.comparisons if comparison.note}
        )
        return [*sentences, *counts.missing.sentences, *notes_of_comparisons]

    def _with_adjusted(self, adjusted: Iterable[float], family: str) -> InferredResult:
        """The same result with these adjusted p-values and this family."""
        comparisons = with_adjusted(self.comparisons, adjusted)
        return replace(
            self, comparisons=comparisons, settings=replace(self.settings, family=family)
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw what is possible (thick), its interval (thin) and the estimate of each comparison.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
        """
        return draw(inferred_picture(self), ax)


_WITH_AUDIT = (
    "The estimate rests on rows with true groups, taken to be a random part of all; the"
    " probabilities of the others make it more certain and need not be right."
)
_AS_GIVEN = (
    "All of it takes the probabilities to be right: of people with the same ones, such a share is of"
    " the group."
)
_ASSUMPTIONS = [
    "The weighted estimate is right if, among people of equal probabilities, outcomes do not differ"
    " between groups. It is too low for a group whose members have more successes than others of"
    " equal probabilities, too high for one whose members have fewer: a difference that goes the"
    " same way within equal probabilities is larger than the weighted one.",
    "The bounds need no such assumption: they hold whatever the group of each row is.",
]


def _rate_title(metric_name: str) -> str:
    metric = find_metric(metric_name)
    if metric is None or not metric.rates:
        return metric_name
    return RATES[metric.rates[0]].title


def lead_of_inferred(results: Iterable[Any]) -> str:
    """What stands at the head of a report that holds results of inferred groups; empty for others."""
    inferred = [result for result in results if isinstance(result, InferredResult)]
    if not inferred:
        return ""
    verdicts = []
    for result in inferred:
        for comparison in result.comparisons:
            verdicts.append(comparison.verdict)
    n_decided = sum(verdict in ("violated", "satisfied") for verdict in verdicts)
    basis = "all figures rest on these probabilities"
    if inferred[0].audited:
        basis = f"{inferred[0].comparisons[0].n_audited:,} rows have a true group"
    return (
        f"{INFERRED}: {basis}. {n_decided} of {len(verdicts)} comparisons can be decided,"
        f" {verdicts.count('violated')} of them as violated."
    )


def sentences_of_inferred(results: Iterable[Any]) -> list[str]:
    """What the first screen says of inferred groups: the sentences of the first metric."""
    for result in results:
        if isinstance(result, InferredResult):
            title = Title(result.words).label
            return [f"{title}: {sentence}" for sentence in result.sentences()]
    return []
