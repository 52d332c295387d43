"""Results of comparisons of several classes: one row per class, or cut, and group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from fairstats.ground import registry
from fairstats.ground.encoding import label_text
from fairstats.ground.lazy import pd
from fairstats.ground.registry import Rate
from fairstats.ground.results import Comparison
from fairstats.ground.serialise import serialisable
from fairstats.ground.tallies.classes import ClassCounts
from fairstats.methods.rates.classes.rates import rates_of_classes
from fairstats.methods.rates.estimates import estimate_rate
from fairstats.methods.rates.maxima import MaximumResult
from fairstats.methods.rates.pair import worth_notes
from fairstats.methods.rates.result import (
    ComparisonResult,
    DifferenceResult,
    OddsRatioResult,
    RateComparison,
    RatioResult,
)

#: How classes are asked about → what a title says of it.
TITLE_OF_KIND: dict[str, str] = {
    "one-vs-rest": "each class against the others",
    "macro": "mean over the classes",
    "ordered": "cuts of ordered classes",
}


@serialisable(kw_only=True)
class ClassComparison(RateComparison):
    """One group against its reference in one class, or cut, or the mean over classes.

    Attributes
    ----------
    label : str
        The class, "class" in tables; of a cut "from … on"; empty of a mean.
    """

    further: ClassVar[tuple[str, ...]] = ("class=label", *RateComparison.further)

    label: str = ""


@dataclass(frozen=True, eq=False)
class _OfClasses(ComparisonResult):
    """Comparisons of several classes; `counts` are those of all of them.

    `kind`, {"one-vs-rest", "macro", "ordered"}: how they are asked about.
    """

    kind: str = "one-vs-rest"

    lacks: ClassVar[dict[str, str]] = {
        "worst_case_bounds": "those of one class have them: pos_label= names it"
    }
    _shown: ClassVar[tuple[str, ...]] = (
        *ComparisonResult._shown[:1],
        "class",
        *ComparisonResult._shown[1:],
    )

    def _summary_columns(self, frame: pd.DataFrame) -> list[str]:
        """The class beside the groups, or the whole name of the metric where there are several."""
        metrics = {registry.without_class(name) for name in frame["metric"]}
        superfluous = "metric" if len(metrics) < 2 else "class"
        return [name for name in super()._summary_columns(frame) if name != superfluous]

    @property
    def class_counts(self) -> ClassCounts:
        """Rows per group, label and prediction."""
        return self.counts  # type: ignore[return-value]

    def of_class(self, label: Any) -> tuple[Any, ...]:
        """The comparisons of one class, or cut, by the name that it has in the table."""
        name = label_text(label)
        result = []
        comparison: Any
        for comparison in self.comparisons:
            if comparison.label == name:
                result.append(comparison)
        return tuple(result)

    def _rate(self, comparison: Comparison) -> Rate | None:
        """The rate of two labels that a comparison is about; None for a function of the user's."""
        metric = registry.find_metric(registry.without_class(comparison.metric))
        if metric is None or not metric.rates:
            return None
        return registry.RATES[metric.rates[0]]

    def _name_comparison(self, c: Any) -> str:
        named = f"{c.group} against {c.reference}"
        if not c.label:
            return named
        return f"{c.label}: {named}"

    def _by_value(self, c: Comparison) -> tuple[str, str, Rate | None]:
        """The group with the lower value, the other one, and no rate: of a class that is neither
        favourable nor unfavourable nobody knows who is at a disadvantage.
        """
        if c.direction == "below":
            return c.group, c.reference, None
        return c.reference, c.group, None

    def regime_notes(self) -> list[str]:
        """Where simulation (`vignettes/calibration.md`) shows less than is nominal."""
        rates = []
        for comparison in self.comparisons:
            rate = self._rate(comparison)
            if rate is not None and rate not in rates:
                rates.append(rate)
        if not self.counts.weighted or self.backend != "numpy":
            return super().regime_notes()
        shown = {c.group for c in self.comparisons} | {c.reference for c in self.comparisons}
        notes: list[str] = []
        kind: Any = self.kind
        for of_class in rates_of_classes(self.class_counts, rates, kind):
            notes += worth_notes(estimate_rate(self.class_counts, of_class), shown)
        return list(dict.fromkeys(notes))

    def notes(self) -> list[str]:
        """Sentences below the table."""
        classes = ", ".join(self.class_counts.classes)
        scope = {
            "one-vs-rest": f"Each class against all others: {classes}",
            "macro": f"Mean over the classes {classes}, each of the same weight",
            "ordered": f"Cuts between the ordered classes {classes}",
        }[self.kind]
        if self.kind != "macro":
            scope += "; all classes and groups are one family"
        return [f"{scope}.", *super().notes()]


@serialisable(eq=False)
class ClassRatioResult(_OfClasses, RatioResult):
    """Ratios of rates of several classes against a reference group.

    Attributes
    ----------
    kind : {"one-vs-rest", "macro", "ordered"}
        How the classes are asked about.
    """


@serialisable(eq=False)
class ClassDifferenceResult(_OfClasses, DifferenceResult):
    """Differences of rates of several classes against a reference group.

    Attributes
    ----------
    kind : {"one-vs-rest", "macro", "ordered"}
        How the classes are asked about.
    """


@serialisable(eq=False)
class ClassOddsRatioResult(_OfClasses, OddsRatioResult):
    """Odds ratios of rates of several classes against a reference group.

    Attributes
    ----------
    kind : {"one-vs-rest", "macro", "ordered"}
        How the classes are asked about.
    """


@serialisable(eq=False)
class ClassMaximumResult(MaximumResult):
    """The largest gap over classes, or cuts, and any two groups.

    Attributes
    ----------
    kind : {"one-vs-rest", "macro", "ordered"}
        How the classes are asked about.
    """

    kind: str = "one-vs-rest"

    lacks: ClassVar[dict[str, str]] = {
        "worst_case_bounds": "those of one class have them: pos_label= names it"
    }

    def regime_notes(self) -> list[str]:
        """None: its band is at least nominal."""
        return []
