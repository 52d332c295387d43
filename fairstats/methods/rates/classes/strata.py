"""Several classes within strata: each class, or cut, as one of two labels, all as one family; or
the mean over classes, whose difference is that of every class within strata, joined by MOVER.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from fairstats.ground.counts import ConfusionCounts, SelectionCounts
from fairstats.ground.errors import InputError
from fairstats.ground.outcomes import Outcomes
from fairstats.ground.registry import RATES, Metric, Rate, with_class, without_class
from fairstats.ground.serialise import serialisable
from fairstats.ground.strata import StratumCounts
from fairstats.ground.tallies.classes import (
    ClassCounts,
    class_cells,
    names_of_cells,
    places_of_cells,
)
from fairstats.methods.rates.classes.rates import ClassRate, Kind, events_of, rates_of_classes
from fairstats.methods.rates.result import RateComparison
from fairstats.methods.rates.strata.compare import (
    Compared,
    can_be_adjusted,
    check_adjustable,
    compare_within,
)
from fairstats.methods.rates.strata.result import (
    ENDING,
    StratifiedComparison,
    StratifiedDifferenceResult,
    StratifiedOddsRatioResult,
    StratifiedRatioResult,
    find_crude_metric,
    rates_of,
)

#: What stands in place of a class in the name of a metric of means.
MEAN = "mean over classes"


@serialisable(kw_only=True)
class StratifiedClassComparison(StratifiedComparison):
    """A group against its reference within strata, in one class or cut, or the mean over classes.

    Attributes
    ----------
    label : str
        The class, "class" in tables; of a cut "from … on"; empty of a mean.
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
        """The cells of the class of a comparison, favourable, and of all others; of a mean all."""
        kind: Any = self.kind
        of_strata: Any = self
        counts: StratumCounts = of_strata.stratum_counts
        if kind == "macro":
            return counts
        for event in events_of(self.class_counts, kind):
            if event.label == getattr(comparison, "label", ""):
                return of_two_labels(counts, self.class_counts, event.positions)
        raise TypeError("a comparison of no class")

    def _rates_of(self, comparison: RateComparison) -> tuple[Rate, ...]:
        """The rates that a comparison is of; of a mean over classes those of every class."""
        if self.kind != "macro":
            return rates_of(comparison.metric, self._counts_of(comparison))
        metric = find_crude_metric(without_class(comparison.metric))
        if metric is None:
            raise TypeError("a comparison of no metric")
        (mean,) = means_over_classes(metric, self.class_counts)
        return mean.parts or (mean,)


@serialisable(eq=False)
class ClassStratifiedRatioResult(_ClassesWithinStrata, StratifiedRatioResult):
    """Ratios of rates of several classes within strata.

    Attributes
    ----------
    class_counts : ClassCounts
        Rows per group, label and prediction.
    kind : {"one-vs-rest", "macro", "ordered"}
        How the classes are asked about.
    """


@serialisable(eq=False)
class ClassStratifiedDifferenceResult(_ClassesWithinStrata, StratifiedDifferenceResult):
    """Differences of rates of several classes within strata.

    Attributes
    ----------
    class_counts : ClassCounts
        Rows per group, label and prediction.
    kind : {"one-vs-rest", "macro", "ordered"}
        How the classes are asked about.
    """


@serialisable(eq=False)
class ClassStratifiedOddsRatioResult(_ClassesWithinStrata, StratifiedOddsRatioResult):
    """Odds ratios of rates of several classes within strata.

    Attributes
    ----------
    class_counts : ClassCounts
        Rows per group, label and prediction.
    kind : {"one-vs-rest", "macro", "ordered"}
        How the classes are asked about.
    """


_RESULT_CLASSES: dict[str, Any] = {
    "ratio": ClassStratifiedRatioResult,
    "difference": ClassStratifiedDifferenceResult,
    "odds_ratio": ClassStratifiedOddsRatioResult,
}


#: How classes are asked about → what follows the name of a metric.
_OF_KIND: dict[Kind, str] = {
    "one-vs-rest": "of every class",
    "macro": "(mean over classes)",
    "ordered": "of every class",
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


def means_over_classes(metric: Metric, class_counts: ClassCounts) -> list[ClassRate]:
    """The mean over classes of every rate of a metric."""
    return rates_of_classes(class_counts, [RATES[name] for name in metric.rates], "macro")


def has_strata_of_classes(metric: Metric, kind: Kind, class_counts: ClassCounts) -> bool:
    """Whether several classes have a comparison within strata.

    Of means over classes a share of right predictions has all contrasts, and a mean of rates whose
    cases are different rows its difference.
    """
    if not can_be_adjusted(metric):
        return False
    if kind != "macro":
        return True
    for mean in means_over_classes(metric, class_counts):
        if mean.interval == "delta" or (mean.parts and metric.contrast != "difference"):
            return False
    return True


def check_classes_within_strata(metric: Metric, kind: Kind, class_counts: ClassCounts) -> None:
    """Raise where several classes have no comparison within strata."""
    check_adjustable(metric)
    if not has_strata_of_classes(metric, kind, class_counts):
        raise InputError(
            "classes",
            got=f"'macro' of {metric.name} with strata",
            allowed=(
                "differences of means over classes whose cases are different rows, as of true"
                " positive rates and precision, and the share of right predictions ('accuracy')"
            ),
            cure='classes="one-vs-rest", each class within strata',
        )


def adjusted_classes(result: Any, metric: Metric, counts: StratumCounts, kind: Kind) -> Any:
    """The result with its comparisons within strata in `stratified`; all are one family."""
    class_counts: ClassCounts = result.class_counts
    if kind == "macro":
        compared = _compared_means(result, metric, counts)
    else:
        compared = _compared_classes(result, counts, kind)
    settings, judged = compare_within(result, metric, compared)
    comparisons = []
    for crude, comparison in zip(result.comparisons, judged, strict=True):
        name = with_class(without_class(crude.metric) + ENDING, crude.label or MEAN)
        fields = {**vars(comparison), "metric": name}
        comparisons.append(StratifiedClassComparison(**fields, label=crude.label))
    within = _RESULT_CLASSES[metric.contrast](
        metric=metric.name + ENDING,
        comparisons=tuple(comparisons),
        settings=settings,
        counts=class_counts,
        words=f"{metric.label} {_OF_KIND[kind]} within strata",
        stratum_counts=counts,
        class_counts=class_counts,
        kind=kind,
    )
    return replace(result, stratified=within)


def _compared_classes(result: Any, counts: StratumCounts, kind: Kind) -> list[Compared]:
    """Of every comparison the cells of its class, or cut, and its rates."""
    class_counts: ClassCounts = result.class_counts
    cells_of_label = {}
    for event in events_of(class_counts, kind):
        cells_of_label[event.label] = of_two_labels(counts, class_counts, event.positions)
    compared = []
    for comparison in result.comparisons:
        cells = cells_of_label[comparison.label]
        compared.append(Compared(cells, rates_of(comparison.metric, cells)))
    return compared


def _compared_means(result: Any, metric: Metric, counts: StratumCounts) -> list[Compared]:
    """Of every comparison all cells, and the rates of the classes: pairs come rate by rate."""
    means = means_over_classes(metric, result.class_counts)
    n_pairs = len(result.comparisons) // len(means)
    compared = []
    for mean in means:
        compared += [Compared(counts, mean.parts or (mean,))] * n_pairs
    return compared
