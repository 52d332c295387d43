"""Several classes within strata: each class, or cut, as one of two labels, all as one family; or
the mean over classes, whose difference is that of every class within strata, joined by MOVER, or by
the delta method where classes share their cases, and for ratios.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from fairstats.ground.counts import ConfusionCounts, SelectionCounts
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
    compare_within,
    compared_row,
)
from fairstats.methods.rates.strata.functions import CellQuantity
from fairstats.methods.rates.strata.result import (
    ENDING,
    StratifiedComparison,
    StratifiedDifferenceResult,
    StratifiedOddsRatioResult,
    StratifiedRatioResult,
    find_crude_metric,
    function_not_kept,
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
            return in_order_of_classes(counts, self.class_counts)
        for event in events_of(self.class_counts, kind):
            if event.label == getattr(comparison, "label", ""):
                return of_two_labels(counts, self.class_counts, event.positions)
        raise TypeError("a comparison of no class")

    def _rates_of(self, comparison: RateComparison) -> tuple[Rate, ...]:
        """The rates that a comparison is of; of a mean over classes those of every class."""
        if self.kind != "macro":
            return rates_of(comparison.metric, self._counts_of(comparison))
        mean = self._mean_of(comparison)
        return mean.parts or (mean,)

    def _mean_of(self, comparison: RateComparison) -> ClassRate:
        """The mean over classes that a comparison is of."""
        metric = find_crude_metric(without_class(comparison.metric))
        if metric is None:
            raise function_not_kept()
        (mean,) = means_over_classes(metric, self.class_counts)
        return mean

    def _quantity_of(self, comparison: RateComparison) -> CellQuantity | None:
        """What a comparison by the delta method is of; None of one by the stratified score."""
        of_strata: Any = self
        if self.kind == "macro" and not of_strata._by_score:
            mean = self._mean_of(comparison)
            return quantity_of_mean(self.class_counts, mean, of_strata.scale)
        quantity: CellQuantity | None = super()._quantity_of(comparison)  # type: ignore[misc]
        return quantity


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


def quantity_of_mean(
    class_counts: ClassCounts,
    mean: ClassRate,
    contrast: str,
) -> CellQuantity | None:
    """What a mean over classes compares by the delta method; None of what has stratified scores: a
    share of right predictions, and differences of rates whose cases are different rows.
    """
    if mean.success_cells or (mean.parts and contrast == "difference"):
        return None
    rates = mean.parts
    if not rates and mean.of_rate in RATES:
        rates = _proportions_of_classes(class_counts, RATES[mean.of_rate])
    if rates:
        return CellQuantity(rate=mean, rates=rates)
    return CellQuantity(rate=mean, function=mean.function_of(class_counts.cells))


def _proportions_of_classes(class_counts: ClassCounts, rate: Rate) -> tuple[Rate, ...]:
    """The rates of all classes that a mean over them is the mean of; nothing of functions."""
    proportions: list[Rate] = []
    for of_class in rates_of_classes(class_counts, [rate], "one-vs-rest"):
        proportions += of_class.parts or (of_class,)
    if all(proportion.successes for proportion in proportions):
        return tuple(proportions)
    return ()


def adjusted_classes(
    result: Any,
    metric: Metric,
    counts: StratumCounts,
    kind: Kind,
    function: Callable[..., Any] | None = None,
) -> Any:
    """The result with its comparisons within strata in `stratified`; all are one family.

    `function`: of the user, in place of the formula of a rate.
    """
    class_counts: ClassCounts = result.class_counts
    if kind == "macro":
        compared = _compared_means(result, metric, counts, function)
    else:
        compared = _compared_classes(result, metric, counts, kind, function)
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


def _compared_classes(
    result: Any,
    metric: Metric,
    counts: StratumCounts,
    kind: Kind,
    function: Callable[..., Any] | None,
) -> list[Compared]:
    """Of every comparison the cells of its class, or cut, and its rates or what they make."""
    class_counts: ClassCounts = result.class_counts
    cells_of_label = {}
    for event in events_of(class_counts, kind):
        cells_of_label[event.label] = of_two_labels(counts, class_counts, event.positions)
    compared = []
    for comparison in result.comparisons:
        cells = cells_of_label[comparison.label]
        if function is not None:
            (name,) = metric.rates
            quantity = CellQuantity(rate=Rate(name, name, ""), function=function)
            compared.append(Compared(cells, (), quantity))
        else:
            compared.append(compared_row(comparison.metric, cells, metric.contrast))
    return compared


def _compared_means(
    result: Any,
    metric: Metric,
    counts: StratumCounts,
    function: Callable[..., Any] | None,
) -> list[Compared]:
    """Of every comparison all cells, and the rates of the classes or what they make: pairs come
    rate by rate.
    """
    class_counts: ClassCounts = result.class_counts
    if function is None:
        means = means_over_classes(metric, class_counts)
    else:
        (name,) = metric.rates
        means = rates_of_classes(class_counts, [Rate(name, name, "")], "macro", function)
    n_pairs = len(result.comparisons) // len(means)
    in_order = in_order_of_classes(counts, class_counts)
    compared = []
    for mean in means:
        quantity = quantity_of_mean(class_counts, mean, metric.contrast)
        rates: tuple[Rate, ...] = ()
        if quantity is None:
            rates = mean.parts or (mean,)
        compared += [Compared(in_order, rates, quantity)] * n_pairs
    return compared


def in_order_of_classes(counts: StratumCounts, class_counts: ClassCounts) -> StratumCounts:
    """The counts with their cells as the classes have them, whose order may have been turned."""
    names = class_counts.cells
    if counts.cells == names:
        return counts
    return counts._with_cells(names, [names.index(name) for name in counts.cells])
