"""The page of numbers: means, quantiles and errors of predictions by group."""

from __future__ import annotations

from dataclasses import replace

from fairstats.ground.results import Result
from fairstats.ground.tallies.moments import ERRORS, OUTCOME, MomentCounts
from fairstats.methods.rates.numbers.means import TITLES, compare_means
from fairstats.methods.rates.numbers.result import HALL, NumberDifferenceResult, NumberRatioResult
from fairstats.methods.rates.numbers.stratified import (
    StratifiedNumberDifferenceResult,
    StratifiedNumberRatioResult,
)
from fairstats.methods.rates.result import Inference
from fairstats.methods.rates.strata.result import ENDING
from fairstats.report import questions
from fairstats.report.crosscheck import numbers
from fairstats.report.inputs import AuditInput
from fairstats.report.methods.page import HOLM, Answer, Exhibit, Page, Words


def run_numbers(inputs: AuditInput) -> list[Result]:
    """Means of the outcome, and errors of its prediction, where they are numbers.

    Ratios of what cannot be negative, against the threshold; differences of what can, which are
    judged by whether they are shown at all, since no margin is known in their unit.
    """
    moments = inputs.moments
    if moments is None:
        return []
    results = [_compare(inputs, moments, "mean", ratio=not _has_negative(moments, OUTCOME))]
    if ERRORS[0] in moments.columns:
        results.append(_compare(inputs, moments, "mean_absolute_error", ratio=True))
        results.append(_compare(inputs, moments, "mean_residual", ratio=False))
    within = [result.stratified for result in results if result.stratified is not None]
    # in a report the adjusted comparisons are results of their own
    crude = [replace(result, stratified=None) for result in results]
    return [*crude, *within]


def _has_negative(moments: MomentCounts, column: str) -> bool:
    return bool(moments.negative[moments.columns.index(column)].any())


def _compare(
    inputs: AuditInput, moments: MomentCounts, metric: str, *, ratio: bool
) -> NumberDifferenceResult | NumberRatioResult:
    audited = inputs.settings
    settings = Inference(
        confidence_level=audited.confidence_level,
        simultaneous=audited.simultaneous,
        adjust=audited.adjust,
        comparisons=audited.comparisons,
        threshold=audited.threshold if ratio else None,
        margin=None if ratio else 0.0,
    )
    within = inputs.stratum_moments
    return compare_means(moments, metric, settings, inputs.reference, ratio=ratio, within=within)


_TEXTS = {
    "mean": "Means of a number, each group's with its interval by Student's t.",
    "median": "Medians of a number, each group's with its interval by order statistics.",
    "mean_absolute_error": "Means of |prediction − outcome|.",
    "mean_residual": "Means of prediction − outcome: above 0 predictions are too high.",
    "root_mean_squared_error": "Roots of the means of (prediction − outcome)².",
}
_WITHIN_STRATA = Words(
    heading="Means within strata",
    text=(
        "Each mean is Σ w m/Σ w over the strata, with m the mean within a stratum and w ="
        " n·n_ref/(n + n_ref), n the rows of a group and of its reference (Mantel and Haenszel):"
        " like is compared with like. Strata without two rows of both are left out and named."
        " crude is the same comparison without strata; whether one difference, or ratio, holds in"
        " all strata is tested, too (Cochran's Q, each stratum's statistic mended for skewness)."
    ),
    cites=("mantel",),
)


def _words_of_means() -> dict[str, Words]:
    """Of every mean, and of its comparisons within strata."""
    words = {}
    for metric, text in _TEXTS.items():
        words[metric] = Words(text=text, title=TITLES[metric])
        if metric != "median":
            title = f"{TITLES[metric]}, within strata"
            words[metric + ENDING] = _WITHIN_STRATA._replace(title=title)
    return words


_WORDS = _words_of_means()
WORDS_OF_HALL = Words(
    text=(
        "Welch's statistic of two means, as it is, transformed by the skewness of their"
        " difference, and by that which it would have if the groups had one shape; the widest"
        " of the three limits counts on each side. Ratios θ: of m₁ − θ·m₀."
    ),
    cites=("hall", "fieller"),
)
_INTERVALS = {HALL: WORDS_OF_HALL}

PAGE = Page(
    method="numbers",
    run=run_numbers,
    answers=(Answer(questions.NUMBERS, words=_WORDS, intervals=_INTERVALS, tests=(HOLM,)),),
    exhibits=(
        Exhibit(NumberDifferenceResult, questions.NUMBERS, twin=numbers.numbers),
        Exhibit(NumberRatioResult, questions.NUMBERS, twin=numbers.numbers),
        Exhibit(StratifiedNumberDifferenceResult, questions.NUMBERS, twin=numbers.stratified),
        Exhibit(StratifiedNumberRatioResult, questions.NUMBERS, twin=numbers.stratified),
    ),
)
