"""The page of rates: ratios, differences, largest gaps, ABROCA, amplification, adverse impact.

Every metric of the registry that the columns allow; within strata, and with bounds for the missing
values, where these are there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from fairstats.ground.counts import CellCounts, ConfusionCounts
from fairstats.ground.registry import METRICS, RATES, Metric, Title
from fairstats.ground.results import Comparison, Result
from fairstats.methods.rates.abroca import AbrocaResult, abroca_from_counts
from fairstats.methods.rates.compare import compare_metric
from fairstats.methods.rates.disparity import DisparityResult
from fairstats.methods.rates.employment.result import AdverseImpact
from fairstats.methods.rates.extremes import ExtremeDifferenceResult, ExtremeRatioResult
from fairstats.methods.rates.inferred.result import (
    AUDIT_METHOD,
    BOUNDS_METHOD,
    InferredResult,
)
from fairstats.methods.rates.maxima import MaximumResult
from fairstats.methods.rates.models.compare import amplification
from fairstats.methods.rates.models.result import AmplificationResult
from fairstats.methods.rates.planning import PowerResult, chance_of_verdict, detectable_ratio
from fairstats.methods.rates.result import (
    ANYTIME_METHODS,
    ComparisonResult,
    DifferenceResult,
    Inference,
    OddsRatioResult,
    RatioResult,
)
from fairstats.methods.rates.setup import RateArguments, make_settings
from fairstats.methods.rates.strata.compare import can_be_adjusted
from fairstats.methods.rates.strata.result import (
    ENDING,
    StratifiedComparison,
    StratifiedDifferenceResult,
    StratifiedOddsRatioResult,
    StratifiedRatioResult,
)
from fairstats.methods.rates.worst_case import WorstCaseResult, bound_comparisons
from fairstats.plots.figures import power_curves
from fairstats.plots.inferred import inferred_picture
from fairstats.plots.picture import Picture
from fairstats.report import questions
from fairstats.report.contents import Section, compared
from fairstats.report.crosscheck import distances, inferred, pairs, rates
from fairstats.report.format import chance, count, percent, printable
from fairstats.report.inputs import AUDIT_METHODS, AuditInput, AuditSettings
from fairstats.report.leads import (
    MEANING,
    NOTHING_COMPARED,
    count_others,
    isolate_names,
    one_row,
    order_comparisons,
)
from fairstats.report.methods.page import (
    HOLM,
    Answer,
    Exhibit,
    Page,
    Words,
    WordsOfTest,
    show_plain_part,
    tests_alternative,
)
from fairstats.report.view import Part, SetView, Table

# ---------------------------------------------------------------- results

_ABROCA_RESAMPLES = 999
_RESAMPLES = 9_999


def run_rates(inputs: AuditInput) -> list[Result]:
    """Every metric of the registry that stands in an audit and that the columns allow, in order.

    `inputs`: predictions only: disparate impact and demographic parity. With labels also the
    disparate impact of the labels, conditional (use) accuracies, the other differences, the maxima
    and amplification. With labels and a score: ABROCA. With strata each ratio and difference within
    them, too.
    """
    results = []
    for metric in METRICS.values():
        if _is_asked(metric, inputs):
            results.append(_compute_metric(metric, inputs))
    bounds = bound_comparisons(results)
    within = []
    for result in results:
        if isinstance(result, (RatioResult, DifferenceResult)) and result.stratified is not None:
            within.append(result.stratified)
    crude = [_without_strata(result) for result in results]
    if inputs.has("y_true", "y_pred") and isinstance(inputs.counts, ConfusionCounts):
        settings = ratio_settings(inputs.settings)
        crude.append(amplification(inputs.counts, inputs.reference, settings))
    return [*crude, *within, *bounds]


def _is_asked(metric: Metric, inputs: AuditInput) -> bool:
    """Whether the columns allow a metric, and an audit of them has it."""
    columns = {
        "predictions": inputs.has("y_pred"),
        "labels": inputs.has("y_true"),
        "scores": inputs.has("score"),
    }
    labels_only = columns["labels"] and not columns["predictions"]
    if not (metric.audit == "yes" or (metric.audit == "labels only" and labels_only)):
        return False
    if "scores" in metric.needs and inputs.counts.weighted:
        return False
    return all(columns[part] for part in metric.needs)


def _without_strata(result: Result) -> Result:
    """The crude comparisons alone: the adjusted ones are results of their own in a report."""
    if isinstance(result, (RatioResult, DifferenceResult)) and result.stratified is not None:
        return replace(result, stratified=None)
    return result


def ratio_settings(settings: AuditSettings) -> Inference:
    """Settings of what compares ratios and differences at once."""
    arguments = RateArguments(
        confidence_level=settings.confidence_level,
        adjust=settings.adjust,
        comparisons=settings._comparisons_among("all"),
        threshold=settings.threshold,
    )
    return replace(make_settings("ratio", arguments), margin=settings.margin)


def _compute_metric(metric: Metric, inputs: AuditInput) -> Result:
    """One metric of an audit, by the methods that its settings ask for and the metric has."""
    audited = inputs.settings
    of_scores = "scores" in metric.needs
    single_rates = all(RATES[rate].interval == "score" for rate in metric.rates)
    method = AUDIT_METHODS[audited.method]
    if metric.contrast == "ratio":
        method = audited.method
    if (
        of_scores
        or (metric.contrast == "gap" and method != "mee")
        or (method == "bootstrap" and not single_rates)
    ):
        method = None
    n_resamples = _ABROCA_RESAMPLES if of_scores else _RESAMPLES
    if single_rates and audited.n_resamples:  # no bootstrap of cells
        n_resamples = audited.n_resamples
    arguments = RateArguments(
        method=method,
        threshold=audited.threshold,
        margin=audited.margin,
        confidence_level=audited.confidence_level,
        simultaneous=None if of_scores else audited.simultaneous,
        adjust=audited.adjust,
        comparisons=_comparisons_of(metric, audited),
        n_resamples=n_resamples,
    )
    settings = make_settings(metric.contrast, arguments, rest=True)
    if of_scores:
        return abroca_from_counts(inputs.score_counts, inputs.reference, settings, audited.seed)
    strata = inputs.strata if can_be_adjusted(metric) else None
    if strata is not None and metric.needs == ("predictions",):  # of labels: those of the labels
        strata = strata.selection()
    return compare_metric(
        metric, inputs.counts, settings, inputs.reference, audited.seed, strata=strata
    )


def _comparisons_of(metric: Metric, audited: AuditSettings) -> str:
    """Comparisons that were asked for, or those with the reference where the metric has no others."""
    if "scores" in metric.needs or metric.contrast == "gap":
        return audited._comparisons_among("all")
    return audited.comparisons


# ---------------------------------------------------------------- parts, and what could have been
# shown

#: Below so many expected cases of one kind a verdict is by an exact test, whose power is not this
#: one.
_FEW_CASES = 10
#: Power that "could have been shown" means.
_POWER = 0.8
_POWER_TITLE = "What this audit could have shown"
_POWER_HEADS = (
    "group",
    "reference",
    "cases",
    "cases of the reference",
    "rate of the reference",
    "ratio found as a violation in 8 of 10 audits",
    "chance to show that equal groups are so",
)


def _show_rates(section: Section, view: SetView) -> Iterator[Part]:
    """The parts of rates: forest plots first, then what else belongs to them."""
    charts = tuple(chart for chart in view.charts if chart.kind != "distance")
    impacts = []
    for result in section.results:
        if isinstance(result, RatioResult) and result.metric in _DISPARATE_IMPACTS:
            impacts.append(result)
    # of numbers alone there are no rates, and their charts stand with the amounts
    if charts and section.results:
        if impacts:
            lead = _lead_of_rates(impacts[0])
        else:
            lead = ""
        yield Part("rates", "Rates: who is selected, and how often rightly", lead, charts)
    for result in section.results:
        if isinstance(result, AmplificationResult):
            yield _show_amplification(section, result)
        elif any(result is other for other in view.others):
            concern = None
            if isinstance(result, WorstCaseResult):
                concern = questions.WORST
            yield replace(show_plain_part(section, result), concern=concern)
    if not impacts or impacts[0].settings.method in ANYTIME_METHODS:
        return
    if not (impacts[0].counts.weighted or impacts[0].counts.clustered):
        yield replace(_show_power(impacts[0]), concern=questions.CERTAINTY)


def _show_inferred(section: Section, view: SetView) -> Iterator[Part]:
    for result in section.results:
        pictures: tuple[Picture, ...] = ()
        if isinstance(result, InferredResult):
            pictures = (inferred_picture(result),)
        yield replace(show_plain_part(section, result), figures=one_row(pictures))


def _show_amplification(section: Section, result: AmplificationResult) -> Part:
    groups = dict.fromkeys(
        comparison.group for comparison in result.comparisons if comparison.verdict == "amplified"
    )
    lead = (
        "In no group are the predictions shown to be further from parity than the recorded"
        " outcomes."
    )
    if groups:
        text = (
            "The predictions are further from parity than the recorded outcomes for"
            f" {', '.join(groups)}."
        )
        lead = isolate_names(text, *groups)
    title = "Amplification: whether the predictions repeat the differences of the outcomes"
    return replace(show_plain_part(section, result), title=title, lead=lead)


def _lead_of_rates(result: RatioResult) -> str:
    """The ratio that is furthest from equality, in a sentence."""

    def distance(comparison: Comparison) -> float:
        # from equality on the logarithmic scale; of a ratio of 0 more than any other
        return abs(math.log(max(comparison.estimate, 1e-9)))

    ordered = order_comparisons(result.comparisons, distance)
    if not ordered:
        return NOTHING_COMPARED
    first = ordered[0]
    favourable = "a favourable decision"
    if METRICS[result.metric].needs == ("labels",):
        favourable = "a favourable outcome"
    text = (
        f"Of 100 people in the group {first.group}, {100 * first.rate:.0f} got {favourable}; of 100"
        f" in {first.reference}, {100 * first.rate_reference:.0f}:"
        f" {MEANING[first.verdict]}.{count_others(first, result.comparisons)}"
    )
    return isolate_names(text, first.group, first.reference)


class _Detectable(NamedTuple):
    """What one comparison could have shown.

    `ratio`: the largest that is found with the power, 0 for none; `if_equal`: chance to show that
    equal groups are so.
    """

    comparison: Any
    ratio: float
    if_equal: float


def _detectable_ratios(result: RatioResult, level: float) -> list[_Detectable]:
    """Of every comparison whose reference has cases of both kinds."""
    threshold = result.settings.limit
    detectable = []
    for comparison in result.comparisons:
        rate = comparison.rate_reference
        cases = comparison.n
        cases_reference = comparison.n_reference or 0
        if not (cases and cases_reference and 0 < rate < 1):
            continue
        expected = []
        for number in (cases, cases_reference):
            for share in (rate, 1 - rate):
                expected.append(number * share)
        least = 0.0
        if_equal = math.nan
        if min(expected) >= _FEW_CASES:
            sizes = (cases, cases_reference, threshold, level)
            least = detectable_ratio(rate, *sizes, _POWER)
            if_equal = chance_of_verdict(rate, 1.0, *sizes)
        detectable.append(_Detectable(comparison=comparison, ratio=least, if_equal=if_equal))
    return detectable


def comparisons_of_family(result: Any) -> int:
    """The comparisons that share the error of a metric: all pairs where the data chose from them."""
    settings = result.settings
    if settings.reference_rule == "highest":
        return math.comb(len(result.counts.groups), 2)
    if settings.adjust == "none":
        return 1
    return max(len(result.comparisons), 1)


def level_of_one_comparison(result: Any) -> float:
    """Confidence level that each comparison of a metric has at least, by Bonferroni."""
    return float(1 - (1 - result.settings.confidence_level) / comparisons_of_family(result))


def _show_power(result: RatioResult) -> Part:
    """How large a difference the numbers of cases could have shown, whatever was found."""
    settings: Any = result.settings
    family = comparisons_of_family(result)
    level = level_of_one_comparison(result)
    detectable = _detectable_ratios(result, level)
    if not detectable:
        lead = (
            "Nobody, or everybody, of the reference had a favourable result: no ratio could be"
            " shown."
        )
        return Part("power", _POWER_TITLE, lead)
    shown = [one for one in detectable if one.ratio > 0]
    shown.sort(key=lambda one: one.ratio, reverse=True)
    curves = []
    for one in [*shown[:2], *shown[2:][-2:]]:
        ratios = np.linspace(max(0.02, min(0.4, one.ratio - 0.1)), 1.0, 41)
        ratios = ratios[np.abs(ratios - settings.threshold) > 1e-6]
        comparison = one.comparison
        sizes = (comparison.n, comparison.n_reference, settings.threshold, level)
        chances = []
        for ratio in ratios.tolist():
            chances.append(chance_of_verdict(comparison.rate_reference, ratio, *sizes))
        curves.append((comparison.group, ratios, chances))
    rows = tuple(_row_of_power(one) for one in detectable)
    about = (
        "About, by the normal approximation to the score test (Farrington and Manning 1990), at"
        f" the level {100 * level:.4g}% that each of {family} comparisons has. It rests on the"
        " numbers of cases and the rate of the reference, not on what was found."
    )
    table = Table(
        title="Smallest effects that could have been shown",
        heads=_POWER_HEADS,
        rows=rows,
        notes=(about,),
    )
    pictures = (power_curves(curves, settings.threshold),) if curves else ()
    lead = _lead_of_power(shown, len(detectable) - len(shown))
    return Part("power", _POWER_TITLE, lead, figures=one_row(pictures), tables=(table,))


def _lead_of_power(shown: Sequence[_Detectable], n_too_few: int) -> str:
    """The largest and the smallest of the ratios that could have been shown."""
    if not shown:
        return (
            "The groups are too small for any violation of the ratio to be shown with a chance of"
            " 80%."
        )
    most = shown[0]
    least = shown[-1]
    first = most.comparison
    last = least.comparison
    lead = (
        f"A violation is found in 8 of 10 audits like this one if the true ratio is"
        f" {most.ratio:.2f} or less for {first.group} ({first.n:,} cases)"
    )
    if last is not first:
        lead += f", and only if it is {least.ratio:.2f} or less for {last.group} ({last.n:,} cases)"
    if n_too_few:
        ending = f"; {n_too_few} more: too few cases."
    else:
        ending = "."
    return isolate_names(lead, first.group, last.group) + ending


def _row_of_power(one: _Detectable) -> tuple[str, ...]:
    comparison = one.comparison
    return (
        printable(comparison.group),
        printable(comparison.reference),
        count(comparison.n),
        count(comparison.n_reference),
        percent(comparison.rate_reference),
        f"{one.ratio:.3f} or less" if one.ratio > 0 else "none: too few cases",
        chance(one.if_equal),
    )


# ---------------------------------------------------------------- words

#: Ratios of who is selected, or has a favourable outcome: the first of an audit leads its rates.
_DISPARATE_IMPACTS = ("disparate_impact", "disparate_impact_labels")
#: Comparisons within strata: what the report says once of all ratios, of all differences, of all
#: means of differences.
_WITHIN_STRATA = {
    "ratio": Words(
        heading="Ratios within strata",
        text=(
            "The ratio of Mantel and Haenszel, Σ w r / Σ w r_ref over the strata, "
            "with r and r_ref the rates of a group and of its reference within a "
            "stratum, w = n·n_ref/(n + n_ref) and n the cases: like is compared with "
            "like. Strata without cases of both do not count. crude is the same ratio "
            "without strata; whether one ratio holds in all strata is tested, too."
        ),
        cites=("mantel",),
    ),
    "difference": Words(
        heading="Differences within strata",
        text=(
            "The difference of Mantel and Haenszel, Σ w (r − r_ref) / Σ w over the "
            "strata, with r and r_ref the rates of a group and of its reference "
            "within a stratum, w = n·n_ref/(n + n_ref) and n the cases: like is "
            "compared with like. Strata without cases of both do not count. crude is "
            "the same difference without strata; whether one difference holds in all "
            "strata is tested, too."
        ),
        cites=("mantel",),
    ),
    "mean": Words(
        heading="Means of differences within strata",
        text=(
            "The mean of two differences of Mantel and Haenszel over the strata, each "
            "of its own rate; limits by MOVER from the stratified scores of both. "
            "crude is the same mean without strata."
        ),
        cites=("mantel", "zou"),
    ),
}


def _words_of_registry() -> dict[str, Words]:
    """Of every metric of the registry, and of its comparisons within strata where it has them."""
    words = {}
    for name, metric in METRICS.items():
        words[name] = Words(text=metric.definition, cites=metric.references, title=metric.title)
    for name, metric in METRICS.items():
        if not can_be_adjusted(metric):
            continue
        kind: str = metric.contrast
        if any(RATES[rate].parts for rate in metric.rates):
            kind = "mean"
        quantity = Title(metric.title).quantity
        title = f"{metric.label} within strata"
        if quantity:
            title = f"{title}: {quantity} within strata"
        words[name + ENDING] = _WITHIN_STRATA[kind]._replace(title=title)
    return words


_WORDS = {
    "disparate_impact_amplification": Words(
        title=("Amplification: disparate impact of the predictions over that of the labels"),
        text=(
            "DI(predictions) / DI(labels) on the same people: whether the predictions "
            "are further from parity than the outcomes that are recorded. Amplified, "
            "or reduced, where the ratio and the side of parity are shown together."
        ),
        cites=("besse", "nam"),
    )
}
WORDS_OF_STRATIFIED_SCORE = Words(
    text=(
        "stratified score: estimates of Mantel and Haenszel over the strata, and "
        "all values that the score test with the constrained rates of each "
        "stratum does not reject; at equality the test of Cochran, Mantel and "
        "Haenszel, in small strata the less favourable of it and the exact "
        "conditional one."
    ),
    cites=("miettinen", "mantel"),
)
WORDS_OF_SCORE = Words(
    text=(
        "score: all values that the score test does not reject, with the factor "
        "N/(N−1) of Miettinen and Nurminen."
    ),
    cites=("miettinen",),
)
WORDS_OF_EXACT_TESTS = Words(
    text=(
        "exact unconditional, where few cases are expected: all values that the "
        "exact test does not reject that orders tables by the score statistic; "
        "verdict, p-value and limits are of this one test."
    ),
    cites=("chan",),
)
_INTERVALS = {
    "stratified score": WORDS_OF_STRATIFIED_SCORE,
    "paired score, MOVER": Words(
        text=(
            "paired score, MOVER: within a group all ratios that the score test for "
            "pairs does not reject; groups are combined by MOVER."
        ),
        cites=("nam", "zou"),
    ),
    "log": Words(
        text=(
            "log: T·exp(±z·√[(1−r₀)/k₀ + (1−r₁)/k₁]), with r the two rates and k the "
            "two numbers of successes."
        ),
        cites=("katz",),
    ),
    "fieller": Words(
        text=(
            "fieller: all ratios θ with |a − θb| ≤ z·√(v₁ + θ²v₀), a and b by the "
            "delta method with half a row and with a whole one more in every cell; "
            "the wider of both."
        ),
        cites=("fieller",),
    ),
    "delta": Words(
        text=("delta: estimate ± z·standard error; for a ratio Theorem 3.1 of Besse et al."),
        cites=("besse",),
    ),
    "score": WORDS_OF_SCORE,
    "exact unconditional": WORDS_OF_EXACT_TESTS,
    "anytime": Words(
        text=(
            "anytime: all values at which the score is at most c, c² = (1 + 1/τ)·"
            "log[(1 + τ)/α²], τ = 8·rows/planned rows: limits, p-values and verdicts hold at every "
            "look; nothing before 5 successes and 5 failures of both groups."
        ),
        cites=("robbins", "miettinen"),
    ),
    "anytime-exact": Words(
        text=(
            "anytime-exact: all values at which Jeffreys's mixture is less than 1/α times the "
            "largest likelihood of the sequence: limits, p-values and verdicts hold at every look, "
            "for counts in any order of arrival."
        ),
        cites=("ville", "robbins"),
    ),
    "koopman": Words(
        text=("koopman: all ratios that the score test does not reject, without N/(N−1)."),
        cites=("koopman",),
    ),
    "mee": Words(
        text=("mee: all differences that the score test does not reject, without N/(N−1)."),
        cites=("mee",),
    ),
    "score (MOVER)": Words(
        text=("score (MOVER): recovered from the score intervals of the two differences of rates."),
        cites=("zou", "miettinen"),
    ),
    "mee (MOVER)": Words(
        text="mee (MOVER): recovered from the intervals of the two differences.",
        cites=("zou", "mee"),
    ),
    "bootstrap (BCa)": Words(text="bootstrap: BCa over resampled cell counts.", cites=("efron",)),
    "simultaneous band": Words(
        text=(
            "simultaneous band: [max(|d| − c·s)₊, max(|d| + c·s)] with c the critical "
            "value of the largest |z|."
        ),
        cites=("hothorn",),
    ),
    "simultaneous band (mee)": Words(
        text=(
            "simultaneous band (mee): the same by the score without N/(N−1), and without exact "
            "tests."
        ),
        cites=("hothorn", "mee"),
    ),
    "bootstrap and exchange of groups": Words(
        text=(
            "bootstrap and exchange of groups: [(A − q)₊, min(A + q, 1)], q the "
            "larger of two quantiles: of the area between a resampled and the "
            "observed difference of curves, and of the area after groups have "
            "exchanged rows of the same label; at least the nominal coverage."
        )
    ),
    "log or plain scale, linearised, Satterthwaite": Words(
        text=(
            "log or plain scale, linearised: changes under weights or clusters by the "
            "delta method, of logarithms for ratios, with Student's t."
        ),
        cites=("binder",),
    ),
}


def _tests_exactly(results: Sequence[Result], settings: AuditSettings) -> bool:
    """Whether some test is exact; that within strata has its words with the stratified score."""
    return any(
        test.exact
        for result in results
        for comparison in compared(result)
        if not isinstance(comparison, StratifiedComparison)
        for test in comparison.tests
    )


def _weighs_rows(results: Sequence[Result], settings: AuditSettings) -> bool:
    return any(
        isinstance(result, ComparisonResult)
        and isinstance(result.counts, CellCounts)
        and result.counts.weighted
        for result in results
    )


def _bounds_missing(results: Sequence[Result], settings: AuditSettings) -> bool:
    return any(isinstance(result, WorstCaseResult) for result in results)


_TESTS = (
    WordsOfTest(
        tests_alternative("less", "greater"),
        Words(
            text=(
                "Both directions are tested against the threshold: a small p-value of H0: "
                "ratio ≥ threshold shows a violation, of H0: ratio ≤ threshold shows "
                "compliance."
            )
        ),
    ),
    WordsOfTest(
        tests_alternative("equivalence"),
        Words(
            text=(
                "Equivalence is tested by two one-sided tests (TOST) of the whole range "
                "from threshold to 1/threshold."
            ),
            cites=("schuirmann",),
        ),
    ),
    WordsOfTest(
        _tests_exactly,
        Words(
            text=(
                "Where few cases are expected, exact unconditional tests (tables ordered "
                "by the score statistic, the nuisance rate within its interval) serve "
                "verdict, p-value and limits; the asymptotic ones stand beside them."
            ),
            cites=("chan",),
        ),
    ),
    HOLM,
    WordsOfTest(
        _weighs_rows,
        Words(
            text=(
                "Standard errors under weights or clusters are linearised over the "
                "sampling units. The score method works with effective counts and "
                "Student's t with the effective units of the smaller group less 1; "
                "methods that are linear in the rates have Satterthwaite's degrees of "
                "freedom. Weights that are equal within every group change nothing."
            ),
            cites=("binder", "korn"),
        ),
    ),
    WordsOfTest(
        _bounds_missing,
        Words(
            text=(
                "Worst-case bounds are the extremes of the estimate over all values that "
                "the missing entries could have; the interval around them holds the true "
                "value, which lies somewhere between the bounds of the population "
                "(critical value of Imbens and Manski, shrunk as by Stoye; score limits "
                "with continuity correction)."
            ),
            cites=("manski", "imbens", "stoye"),
        ),
    ),
)
_IMPACT_WORDS = {
    "adverse_impact": Words(
        title="Adverse impact: ratio of selection rates to the highest",
        text=(
            "Selection rate of each group over that of the reference of its table. "
            "Beside it Fisher's exact test, Lancaster's mid-P (less half the "
            "probability of the table), z of the pooled rate, Cohen's h, φ, the "
            "selections lacking to the pooled rate and to the threshold, and whether "
            "one other decision would change on which side of the threshold the ratio "
            "lies."
        ),
        cites=("ugesp", "biddle"),
    )
}
_IMPACT_INTERVALS = {
    "stratified score": WORDS_OF_STRATIFIED_SCORE,
    "score": Words(
        text=(
            "score: all ratios that the score test does not reject, with the factor "
            "N/(N−1) of Miettinen and Nurminen; simultaneous over all pairs of groups "
            "where the reference is the group with the highest rate."
        ),
        cites=("miettinen",),
    ),
}

_INFERRED_INTERVALS = {
    BOUNDS_METHOD: Words(
        text=(
            "bounds from probabilities: the smallest and the largest value that the probabilities "
            "of the groups allow (Fréchet bounds within equal probabilities, sharp by Kallus, Mao "
            "and Zhou), computed on the one half of the rows with the choices that the other half "
            "suggests (dual bounds); the interval around them holds the true value, with the "
            "critical value of Imbens and Manski, shrunk as by Stoye. The weighted estimate is "
            "that of Chen and others."
        ),
        cites=("kallus", "ji", "chen", "imbens", "stoye"),
    ),
    AUDIT_METHOD: Words(
        text=(
            "probabilities and true groups: expected groups of all rows plus the mean error of "
            "that among the rows with a true group (difference estimate; prediction-powered "
            "inference), delta method, Student's t."
        ),
        cites=("sarndal", "angelopoulos"),
    ),
}

PAGE = Page(
    method="rates",
    run=run_rates,
    answers=(
        Answer(
            questions.RATES,
            parts=_show_rates,
            words={**_words_of_registry(), **_WORDS},
            intervals=_INTERVALS,
            tests=_TESTS,
        ),
        Answer(questions.ADVERSE_IMPACT, words=_IMPACT_WORDS, intervals=_IMPACT_INTERVALS),
        Answer(
            questions.INFERRED,
            parts=_show_inferred,
            words=_words_of_registry(),
            intervals=_INFERRED_INTERVALS,
        ),
    ),
    exhibits=(
        Exhibit(RatioResult, questions.RATES, twin=rates.comparisons),
        Exhibit(DifferenceResult, questions.RATES, twin=rates.comparisons),
        Exhibit(OddsRatioResult, twin=rates.comparisons),
        Exhibit(MaximumResult, questions.RATES, twin=pairs.largest_gap),
        Exhibit(DisparityResult, twin=pairs.disparity),
        Exhibit(ExtremeRatioResult, twin=pairs.extreme),
        Exhibit(ExtremeDifferenceResult, twin=pairs.extreme),
        Exhibit(AbrocaResult, questions.RATES, twin=distances.abroca),
        Exhibit(AmplificationResult, questions.RATES, twin=pairs.models),
        Exhibit(StratifiedRatioResult, questions.RATES, twin=pairs.stratified),
        Exhibit(StratifiedDifferenceResult, questions.RATES, twin=pairs.stratified),
        Exhibit(StratifiedOddsRatioResult, twin=pairs.stratified),
        Exhibit(WorstCaseResult, questions.RATES, twin=rates.worst_case),
        Exhibit(AdverseImpact, questions.ADVERSE_IMPACT, twin=pairs.adverse_impact),
        Exhibit(InferredResult, questions.INFERRED, twin=inferred.inferred),
        Exhibit(
            PowerResult, no_twin="a plan before data: tested against R, but no number of a report"
        ),
    ),
)
