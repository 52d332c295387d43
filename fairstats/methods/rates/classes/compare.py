"""From counts of several classes to a result: the comparisons of two labels, class by class."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fairstats.ground.checks import Floats, SeedOrGenerator, check_choice, check_that
from fairstats.ground.counts import CellCounts
from fairstats.ground.encoding import declared_labels, label_text, one_label
from fairstats.ground.errors import InputError
from fairstats.ground.outcomes import Outcomes
from fairstats.ground.registry import RATES, Metric, Rate, with_class
from fairstats.ground.results import Result
from fairstats.ground.strata import StratumCounts
from fairstats.ground.tallies.classes import ClassCounts
from fairstats.ground.tally import Tally, counts_or_rows
from fairstats.methods.rates.classes.rates import KINDS, ClassRate, Kind, rates_of_classes
from fairstats.methods.rates.classes.result import (
    TITLE_OF_KIND,
    ClassComparison,
    ClassDifferenceResult,
    ClassMaximumResult,
    ClassOddsRatioResult,
    ClassRatioResult,
)
from fairstats.methods.rates.classes.strata import (
    MEAN,
    adjusted_classes,
    count_in_strata,
    of_two_labels,
)
from fairstats.methods.rates.compare import (
    PooledEstimates,
    compare_estimates,
    compare_metric,
)
from fairstats.methods.rates.estimates import RateEstimates, estimate_rate, estimate_smooth
from fairstats.methods.rates.maxima import largest_gap
from fairstats.methods.rates.overall import (
    OVERALL,
    Everybody,
    EverybodyByDelta,
    estimate_beside_all,
    is_by_delta,
)
from fairstats.methods.rates.result import ANYTIME_METHODS, Inference, warned
from fairstats.methods.rates.setup import (
    POOLED,
    RateArguments,
    beside_all,
    beside_rest,
    check_groups,
    make_settings,
    without_idle_weights,
)
from fairstats.methods.rates.strata.compare import check_adjustable

#: What stands in place of a class in the name of largest gaps.
ALL: dict[Kind, str] = {"one-vs-rest": "all classes", "macro": MEAN, "ordered": "all cuts"}
RESULT_CLASSES: dict[str, Any] = {
    "ratio": ClassRatioResult,
    "difference": ClassDifferenceResult,
    "odds_ratio": ClassOddsRatioResult,
}


def run_classes(
    metric: Metric,
    arguments: RateArguments,
    function: Callable[..., Any] | None = None,
    *,
    any_margin: bool = False,
) -> Any:
    """A metric of several classes, from the arguments of its public function."""
    check_choice("classes", arguments.classes, (None, *KINDS))
    kind: Any = arguments.classes
    counted, strata = count_classes(arguments, metric.needs)
    counts = _order_of_arguments(counted, arguments, kind)
    is_gap = metric.contrast == "gap"
    settings = make_settings(metric.contrast, arguments, any_margin=any_margin, rest=not is_gap)
    return compare_classes(
        metric,
        counts,
        settings,
        kind,
        arguments.reference,
        rng=arguments.rng,
        function=function,
        strata=strata,
    )


def count_classes(
    arguments: RateArguments, needs: tuple[str, ...]
) -> tuple[ClassCounts, StratumCounts | None]:
    """Rows per group, label and prediction, or of the one column that a metric needs; and those by
    stratum, where rows have strata.
    """
    only_labels = needs == ("labels",)
    one_column = len(needs) == 1
    required = "y_true, y_pred"
    if one_column:
        required = "y_true" if only_labels else "y_pred"
    columns = {
        "y_true": arguments.y_true,
        "y_pred": arguments.y_pred,
        "sensitive_features": arguments.sensitive_features,
        "strata": arguments.strata,
    }
    if required == "y_pred":
        del columns["y_true"]
    if counts_or_rows(arguments.counts, needs=required, **columns):
        counts = _given_classes(arguments.counts)
        within = None
        if isinstance(arguments.counts, Tally) and arguments.counts.stratified:
            within = arguments.counts.strata()
        if one_column:
            return column_of_classes(counts, within, only_labels=only_labels)
        check_that(
            counts.labelled,
            "counts",
            "one column of classes",
            "tables of labels and predictions: this metric needs both",
            "fs.tally(…, y_true=…, y_pred=…, classes=True)",
        )
        return counts, within
    outcomes = Outcomes.from_arrays(
        None if required == "y_pred" else arguments.y_true,
        None if required == "y_true" else arguments.y_pred,
        classes=True,
        strata=arguments.strata,
        **arguments.row_options(),
    )
    counted = ClassCounts._from_outcomes(outcomes)
    if arguments.strata is None:
        return counted, None
    title = label_text(getattr(arguments.strata, "name", None) or "")
    return counted, count_in_strata(outcomes, title)


def column_of_classes(
    counts: ClassCounts, within: StratumCounts | None, *, only_labels: bool
) -> tuple[ClassCounts, StratumCounts | None]:
    """Rows of every class of labels, or of predictions, and within strata where there are some."""
    of_column = counts.of_labels() if only_labels else counts.selection()
    if within is None or not counts.labelled:
        return of_column, within
    n_classes = len(counts.classes)
    of_label, of_prediction = np.divmod(np.arange(n_classes**2), n_classes)
    place = of_label if only_labels else of_prediction
    return of_column, within._with_cells(of_column.cells, place.tolist())


def _given_classes(counts: Any) -> ClassCounts:
    """Counts of classes in any of their forms."""
    if isinstance(counts, Tally):
        return counts.of_classes()
    if isinstance(counts, ClassCounts):
        return counts
    return ClassCounts.from_tables(counts)


def _order_of_arguments(counts: ClassCounts, arguments: RateArguments, kind: Kind) -> ClassCounts:
    """The classes in the order that `label_values` and `pos_label` say: the end that `pos_label`
    names comes last.
    """
    if arguments.counts is not None:
        declared = declared_labels(arguments.label_values, y_true=None, y_pred=None)
        names = declared["y_pred"] or declared["y_true"]
        if names is not None:
            counts = counts._with_order(tuple(map(label_text, names)))
    favourable = one_label(arguments.pos_label, "y_true", "y_pred")
    if favourable is None:
        return counts
    name = label_text(favourable)
    if len(counts.classes) == 2 and arguments.counts is None:
        return counts
    ends = (counts.classes[0], counts.classes[-1])
    is_end = name in ends and (kind == "ordered" or len(counts.classes) == 2)
    allowed = "None, which asks about every class; of ordered ones the class at either end"
    cure = "leave out classes=, to ask about one class only"
    check_that(is_end, "pos_label", favourable, allowed, cure)
    if name == counts.classes[0]:
        return counts._with_order(counts.classes[::-1], ordered=counts.ordered)
    return counts


def compare_classes(
    metric: Metric,
    counts: ClassCounts,
    settings: Inference,
    kind: Kind,
    reference: Hashable | None = None,
    *,
    rng: SeedOrGenerator = None,
    function: Callable[..., Any] | None = None,
    strata: StratumCounts | None = None,
) -> Any:
    """Compare the rates of a metric over all groups and classes, as one family.

    Of two classes the question is that of two labels, and so is the answer, but for means.
    `strata`: the same rows by the strata of a confounder.
    """
    check_groups(counts.groups)
    if strata is not None and function is None:
        check_adjustable(metric)
    compared: Any = without_idle_weights(counts, settings.comparisons)
    counts = compared
    if len(counts.classes) == 2 and kind != "macro" and function is None:
        of_two = None
        if strata is not None:
            of_two = of_two_labels(strata, counts, [1])
        return compare_metric(metric, counts._binary([1]), settings, reference, rng, strata=of_two)
    _check_asked(kind, settings, reference)
    if function is None:
        rates = [RATES[name] for name in metric.rates]
    else:
        rates = [Rate(metric.rates[0], metric.rates[0], "")]
    of_classes = rates_of_classes(counts, rates, kind, function)
    _check_contrast(metric, of_classes)
    row_names = {}
    for rate, row_name in zip(rates, metric.row_names, strict=False):
        row_names[rate.name] = row_name
    of_family = replace(
        metric,
        title=f"{metric.title}, {TITLE_OF_KIND[kind]}",
        components=tuple(row_names.get(rate.of_rate, metric.name) for rate in of_classes),
    )
    if metric.contrast == "gap":
        largest = warned(largest_gap(counts, of_family, settings, of_classes), metric.name)
        (comparison,) = largest.comparisons
        named = replace(comparison, metric=with_class(comparison.metric, ALL[kind]))
        return ClassMaximumResult(**{**vars(largest), "comparisons": (named,)}, kind=kind)
    pooled = _pool_classes(counts, of_classes, metric.contrast, settings, function)
    result = compare_estimates(
        of_family,
        pooled.table,
        pooled.estimates,
        settings,
        reference,
        rng,
        everybody=pooled.everybody,
    )
    labelled = _with_labels(result, metric.contrast, of_classes, kind)
    if strata is None:
        return labelled
    with_strata = adjusted_classes(labelled, metric, strata, kind, function)
    warned(with_strata.stratified, metric.name)
    return with_strata


def _pool_classes(
    counts: ClassCounts,
    rates: Sequence[ClassRate],
    contrast: str,
    settings: Inference,
    function: Callable[..., Any] | None,
) -> PooledEstimates:
    """Rates of classes as comparisons of two groups, with the rest or with everybody need them.

    A function of one class with everybody is that of its two labels, a mean over classes one of all
    cells.
    """
    table: CellCounts = counts
    if settings.comparisons in POOLED:
        table = beside_rest(counts)
    estimates = []
    everybody: list[Everybody | EverybodyByDelta] = []
    for rate in rates:
        by_delta = function is not None or is_by_delta(rate, contrast)
        if settings.comparisons != "overall":
            estimates.append(_estimate(rate, function, table))
        elif by_delta:
            beside_everybody = _estimate_beside_all(counts, rate, function)
            estimates.append(beside_everybody)
            everybody.append(
                EverybodyByDelta.of(
                    counts,
                    beside_everybody,
                    functools.partial(_estimate, rate, function),
                    settings.confidence_level,
                )
            )
        else:
            estimates.append(_estimate(rate, function, table))
            everybody.append(Everybody.of(counts, rate, settings.confidence_level))
    return PooledEstimates(table=table, estimates=estimates, everybody=everybody)


def _estimate_beside_all(
    counts: ClassCounts, rate: ClassRate, function: Callable[..., Any] | None
) -> RateEstimates:
    """By the delta method, with everybody behind the groups."""
    if rate.positions:
        of_two = counts._binary(rate.positions)
        rate_of_two = rate if function is not None else RATES[rate.of_rate]
        return replace(estimate_beside_all(of_two, rate_of_two, function), rate_of=rate)
    estimates = estimate_beside_all(counts, rate)
    if len(counts.classes) == 2:
        return estimates
    together: Any = beside_all(counts, OVERALL)
    return replace(estimates, fewest=_rows_of_rarest(together))


def _estimate(
    rate: ClassRate, function: Callable[..., Any] | None, table: CellCounts
) -> RateEstimates:
    """A rate of every group; of one class, or cut, as the table of two labels gives it."""
    if not isinstance(table, ClassCounts):
        return estimate_rate(table, rate)
    if not rate.positions:
        estimates = estimate_rate(table, rate)
        if rate.success_cells or len(table.classes) == 2:
            return estimates
        return replace(estimates, fewest=_rows_of_rarest(table))
    of_two = table._binary(rate.positions)
    if function is None:
        estimates = estimate_rate(of_two, RATES[rate.of_rate])
    else:
        estimates = estimate_smooth(of_two, rate, function)
    parts = []
    for part, rate_of_part in zip(estimates.parts, rate.parts, strict=True):
        parts.append(replace(part, rate_of=rate_of_part))
    return replace(estimates, rate_of=rate, parts=tuple(parts))


def _rows_of_rarest(table: ClassCounts) -> Floats:
    """Rows of the label that a group has fewest of, shape (G,)."""
    n_classes = len(table.classes)
    of_labels = table.rows.reshape(-1, n_classes, n_classes).sum(axis=2)
    return np.asarray(of_labels.min(axis=1), dtype=np.float64)


def _with_labels(result: Result, contrast: str, rates: Sequence[ClassRate], kind: Kind) -> Any:
    """The result with the class of every comparison: pairs come class by class."""
    n_pairs = len(result.comparisons) // len(rates)
    comparisons = []
    for place, comparison in enumerate(result.comparisons):
        label = rates[place // n_pairs].label
        fields = {**vars(comparison), "metric": with_class(comparison.metric, label or MEAN)}
        comparisons.append(ClassComparison(**fields, label=label))
    fields = {**vars(result), "comparisons": tuple(comparisons)}
    return RESULT_CLASSES[contrast](**fields, kind=kind)


def _check_contrast(metric: Metric, rates: Sequence[ClassRate]) -> None:
    """Refuse largest gaps of functions of the cells, and odds ratios of what is no rate."""
    wanted = {"gap": ("score", "mover"), "odds_ratio": ("score",)}.get(metric.contrast, ())
    for rate in rates:
        if wanted and rate.interval not in wanted:
            raise InputError(
                "contrast",
                got=f"{metric.contrast!r} of the {rate.title}",
                allowed="rates, which are successes among cases; of gaps also their means",
                cure='contrast="difference"',
            )


def _check_asked(kind: Kind, settings: Inference, reference: Hashable | None) -> None:
    """Refuse what is not shown to hold over classes."""
    if settings.method in ANYTIME_METHODS or settings.method == "bootstrap":
        raise InputError(
            "method",
            got=f"{settings.method!r} with classes={kind!r}",
            allowed="the default, by score, exact tests and the delta method",
            cure="leave out method=, or pos_label= for one class",
        )
    if reference == "highest" and kind != "macro":
        raise InputError(
            "reference",
            got=f"'highest' with classes={kind!r}",
            allowed="a group by name: each class may have another highest group",
            cure="comparisons='all'",
        )
