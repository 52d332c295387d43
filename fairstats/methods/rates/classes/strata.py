"""Several classes within strata: each class, or cut, as one of two labels, all as one family."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from fairstats.ground.counts import ConfusionCounts, SelectionCounts
from fairstats.ground.errors import InputError
from fairstats.ground.outcomes import Outcomes
from fairstats.ground.registry import Metric, with_class, without_class
from fairstats.ground.serialise import serialisable
from fairstats.ground.strata import StratumCounts
from fairstats.ground.tallies.classes import (
    ClassCounts,
    class_cells,
    names_of_cells,
    places_of_cells,
)
from fairstats.methods.rates.classes.rates import Kind, events_of
from fairstats.methods.rates.result import RateComparison
from fairstats.methods.rates.strata.compare import can_be_adjusted, check_adjustable, compare_within
from fairstats.methods.rates.strata.result import (
    ENDING,
    StratifiedComparison,
    StratifiedDifferenceResult,
    StratifiedOddsRatioResult,
    StratifiedRatioResult,
)


@serialisable(kw_only=True)
class StratifiedClassComparison(StratifiedComparison):
    """A group against its reference within strata, in one class or cut.

    Attributes
    ----------
    label : str
        The class, "class" in tables; of a cut "from … on".
    """

    further: ClassVar[tuple[str, ...]] = ("class=label", *StratifiedComparison.further)

    label: str = ""


@dataclass(frozen=True, eq=False)
class _ClassesWithinStrata:
    """What ratios, differences and odds ratios of several classes within strata share.

    `class_counts`: the classes in their order, as the crude comparisons have them; `kind`: how they
    are asked about.
    """

    class_counts: ClassCounts = None  # type: ignore[assignment]
    kind: str = "one-vs-rest"

    def _counts_of(self, comparison: RateComparison) -> StratumCounts:
        """The cells of the class of a comparison, favourable, and of all others."""
        kind: Any = self.kind
        for event in events_of(self.class_counts, kind):
            if event.label == getattr(comparison, "label", ""):
                of_strata: Any = self
                return of_two_labels(of_strata.stratum_counts, self.class_counts, event.positions)
        raise TypeError("a comparison of no class")


@serialisable(eq=False)
class ClassStratifiedRatioResult(_ClassesWithinStrata, StratifiedRatioResult):
    """Ratios of rates of several classes within strata.

    Attributes
    ----------
    class_counts : ClassCounts
        Rows per group, label and prediction.
    kind : {"one-vs-rest", "ordered"}
        How the classes are asked about.
    """


@serialisable(eq=False)
class ClassStratifiedDifferenceResult(_ClassesWithinStrata, StratifiedDifferenceResult):
    """Differences of rates of several classes within strata.

    Attributes
    ----------
    class_counts : ClassCounts
        Rows per group, label and prediction.
    kind : {"one-vs-rest", "ordered"}
        How the classes are asked about.
    """


@serialisable(eq=False)
class ClassStratifiedOddsRatioResult(_ClassesWithinStrata, StratifiedOddsRatioResult):
    """Odds ratios of rates of several classes within strata.

    Attributes
    ----------
    class_counts : ClassCounts
        Rows per group, label and prediction.
    kind : {"one-vs-rest", "ordered"}
        How the classes are asked about.
    """


_RESULT_CLASSES: dict[str, Any] = {
    "ratio": ClassStratifiedRatioResult,
    "difference": ClassStratifiedDifferenceResult,
    "odds_ratio": ClassStratifiedOddsRatioResult,
}


def count_in_strata(outcomes: Outcomes, attribute: str) -> StratumCounts:
    """Rows per stratum, group and cell of several classes."""
    classes = outcomes.classes
    if classes is None:
        raise TypeError("rows without codes of classes")
    labelled = outcomes.y_true is not None and outcomes.y_pred is not None
    cells = names_of_cells(classes.names, labelled)
    return StratumCounts._of_rows(outcomes, class_cells(outcomes), cells, attribute)


def of_two_labels(
    counts: StratumCounts, class_counts: ClassCounts, positions: Sequence[int]
) -> StratumCounts:
    """The counts with the classes at these positions as the favourable ones."""
    names = names_of_cells(class_counts.classes, class_counts.labelled)
    places = places_of_cells(len(class_counts.classes), positions, labelled=class_counts.labelled)
    place_of_cell = dict(zip(names, places.tolist(), strict=True))
    cells: tuple[str, ...] = SelectionCounts.cells
    if class_counts.labelled:
        cells = ConfusionCounts.cells
    return counts._with_cells(cells, [place_of_cell[name] for name in counts.cells])


def has_strata_of_classes(metric: Metric, kind: Kind) -> bool:
    """Whether several classes have a comparison within strata."""
    return can_be_adjusted(metric) and kind != "macro"


def check_classes_within_strata(metric: Metric, kind: Kind) -> None:
    """Raise where several classes have no comparison within strata."""
    check_adjustable(metric)
    if not has_strata_of_classes(metric, kind):
        raise InputError(
            "classes",
            got="'macro' with strata",
            allowed="'one-vs-rest' or 'ordered': each class, or cut, within strata",
            cure='classes="one-vs-rest"',
        )


def adjusted_classes(result: Any, metric: Metric, counts: StratumCounts, kind: Kind) -> Any:
    """The result with its comparisons within strata in `stratified`; all are one family."""
    class_counts: ClassCounts = result.class_counts
    places = {}
    for event in events_of(class_counts, kind):
        places[event.label] = of_two_labels(counts, class_counts, event.positions)
    of_comparisons = [places[comparison.label] for comparison in result.comparisons]
    settings, judged = compare_within(result, metric, of_comparisons)
    comparisons = []
    for crude, comparison in zip(result.comparisons, judged, strict=True):
        name = with_class(without_class(crude.metric) + ENDING, crude.label)
        fields = {**vars(comparison), "metric": name}
        comparisons.append(StratifiedClassComparison(**fields, label=crude.label))
    within = _RESULT_CLASSES[metric.contrast](
        metric=metric.name + ENDING,
        comparisons=tuple(comparisons),
        settings=settings,
        counts=class_counts,
        words=f"{metric.label} of every class within strata",
        stratum_counts=counts,
        class_counts=class_counts,
        kind=kind,
    )
    return replace(result, stratified=within)
