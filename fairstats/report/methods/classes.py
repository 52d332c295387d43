"""The page of several classes: rates of each class, of cuts of ordered ones, and their mean."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fairstats.ground.registry import METRICS, Metric, find_metric, with_class
from fairstats.ground.results import Result
from fairstats.ground.tallies.classes import ClassCounts
from fairstats.methods.rates.classes.compare import column_of_classes, compare_classes
from fairstats.methods.rates.classes.rates import Kind
from fairstats.methods.rates.classes.result import (
    ClassDifferenceResult,
    ClassMaximumResult,
    ClassOddsRatioResult,
    ClassRatioResult,
)
from fairstats.methods.rates.classes.strata import (
    ClassStratifiedDifferenceResult,
    ClassStratifiedOddsRatioResult,
    ClassStratifiedRatioResult,
)
from fairstats.methods.rates.setup import POOLED, RateArguments, make_settings
from fairstats.methods.rates.strata.compare import can_be_adjusted
from fairstats.methods.rates.strata.design import SCORE
from fairstats.methods.rates.strata.result import ENDING
from fairstats.report import questions
from fairstats.report.crosscheck import pairs, rates
from fairstats.report.inputs import AUDIT_METHODS, AuditInput
from fairstats.report.methods import rates as page_of_rates
from fairstats.report.methods.page import Answer, Exhibit, Page, Words

#: What an audit asks of classes: the metric, and how classes are asked about.
_ASKED: tuple[tuple[str, Kind], ...] = (
    ("disparate_impact", "one-vs-rest"),
    ("disparate_impact_labels", "one-vs-rest"),
    ("conditional_accuracy_1", "one-vs-rest"),
    ("conditional_use_accuracy_1", "one-vs-rest"),
    ("accuracy_difference", "macro"),
    ("equal_opportunity_difference", "macro"),
    ("demographic_parity_max", "one-vs-rest"),
    ("equal_opportunity_max", "one-vs-rest"),
)
#: The same of classes that have an order, beside them.
_ASKED_IN_ORDER: tuple[tuple[str, Kind], ...] = (
    ("disparate_impact", "ordered"),
    ("conditional_accuracy_1", "ordered"),
)


def run_classes(inputs: AuditInput) -> list[Result]:
    """Every metric of classes that the columns allow; nothing of two labels."""
    counts = inputs.counts
    if not isinstance(counts, ClassCounts):
        return []
    metrics = list(_ASKED)
    if counts.ordered and len(counts.classes) > 2:
        metrics += _ASKED_IN_ORDER
    given = set()
    if "y_true" in inputs.columns.roles:
        given.add("labels")
    if "y_pred" in inputs.columns.roles:
        given.add("predictions")
    results = []
    within = []
    for name, kind in metrics:
        metric = find_metric(name)
        if metric is None or not given >= set(metric.needs):
            continue
        result = _compare(metric, kind, counts, inputs)
        if getattr(result, "stratified", None) is not None:
            within.append(result.stratified)
            # in a report the adjusted comparisons are results of their own
            result = replace(result, stratified=None)
        results.append(result)
    return [*results, *within]


def _compare(metric: Metric, kind: Kind, counts: ClassCounts, inputs: AuditInput) -> Any:
    """One metric of several classes, by the methods that the audit's settings ask for."""
    audited = inputs.settings
    method = AUDIT_METHODS[audited.method]
    if metric.contrast == "ratio":
        method = audited.method
    is_gap = metric.contrast == "gap"
    if is_gap or _is_mean(metric, kind) or method == "bootstrap":
        method = None
    arguments = RateArguments(
        method=method,
        threshold=audited.threshold,
        margin=audited.margin,
        confidence_level=audited.confidence_level,
        simultaneous=audited.simultaneous,
        adjust=audited.adjust,
        comparisons=audited._comparisons_among("all", *(() if is_gap else POOLED)),
    )
    settings = make_settings(metric.contrast, arguments, rest=not is_gap)
    strata = inputs.strata
    if len(metric.needs) == 1:
        only_labels = metric.needs == ("labels",)
        counts, strata = column_of_classes(counts, strata, only_labels=only_labels)
    if not can_be_adjusted(metric):
        strata = None
    return compare_classes(metric, counts, settings, kind, inputs.reference, strata=strata)


def _is_mean(metric: Metric, kind: Kind) -> bool:
    """Whether classes are asked about by a mean over them; that of accuracy is one share."""
    return kind == "macro" and metric.rates != ("accuracy",)


_HOW = (
    "Of several classes: each class against all others, the same question as of two labels with"
    " that class as the favourable one; of ordered classes also each cut, all from a class on"
    " against those before. All classes and groups are one family. Means over the classes have"
    " limits by MOVER from the scores of all classes; a largest gap is that of any class and any"
    " two groups."
)


#: Of a mean over classes within strata; the title is that of each metric.
_MEAN_WITHIN_STRATA = Words(
    heading="Means over classes within strata",
    text=(
        "The mean over the classes of the differences of Mantel and Haenszel, Σ w (r − r_ref) / Σ w"
        " over the strata, with r and r_ref the rates of a class in a group and in its reference"
        " within a stratum, w = n·n_ref/(n + n_ref) and n the cases of that class; limits by MOVER"
        " from the stratified scores of all classes. crude is the same mean without strata."
    ),
    cites=("mantel", "zou"),
)


(_RATES_ANSWER, *_) = page_of_rates.PAGE.answers


def _words_of_classes() -> dict[str, Words]:
    """One text for all, and what each metric cites; within strata those of two labels."""
    words = {}
    for name, kind in dict.fromkeys((*_ASKED, *_ASKED_IN_ORDER)):
        metric = METRICS.get(name) or find_metric(name)
        if metric is not None:
            words[with_class(name, "")] = Words(
                text=_HOW,
                cites=(*metric.references, "zou"),
                title=metric.title,
                heading="Several classes",
            )
        of_strata = _RATES_ANSWER.words.get(name + ENDING)
        if of_strata is None:
            continue
        if metric is not None and _is_mean(metric, kind):
            of_strata = _MEAN_WITHIN_STRATA._replace(title=of_strata.title)
        words[with_class(name + ENDING, "")] = of_strata
    return words


#: Methods that comparisons of classes have in common with those of two labels.
_SHARED = (
    "log",
    "delta",
    "score",
    "exact unconditional",
    "koopman",
    "mee",
    "simultaneous band",
    SCORE,
)
_INTERVALS = {name: _RATES_ANSWER.intervals[name] for name in _SHARED} | {
    "score (MOVER)": Words(
        text=(
            "score (MOVER): recovered from the score intervals of the differences in every class,"
            " with continuity correction where fewer than 20 cases of one kind are expected in"
            " one."
        ),
        cites=("zou", "miettinen"),
    )
}

PAGE = Page(
    method="classes",
    run=run_classes,
    answers=(
        Answer(
            questions.CLASSES,
            words=_words_of_classes(),
            intervals=_INTERVALS,
            tests=_RATES_ANSWER.tests,
        ),
    ),
    exhibits=(
        Exhibit(ClassRatioResult, questions.CLASSES, twin=rates.comparisons),
        Exhibit(ClassDifferenceResult, questions.CLASSES, twin=rates.comparisons),
        Exhibit(ClassOddsRatioResult, twin=rates.comparisons),
        Exhibit(ClassMaximumResult, questions.CLASSES, twin=pairs.largest_gap),
        Exhibit(ClassStratifiedRatioResult, questions.CLASSES, twin=pairs.stratified),
        Exhibit(ClassStratifiedDifferenceResult, questions.CLASSES, twin=pairs.stratified),
        Exhibit(ClassStratifiedOddsRatioResult, twin=pairs.stratified),
    ),
)
