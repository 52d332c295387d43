"""The page of risks: calibration curves, net benefit and rates along the scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from fairstats.ground.registry import RATES
from fairstats.ground.results import Result
from fairstats.methods.rates.numbers.curves import (
    CURVES,
    CurveDifferenceResult,
    CurveRatioResult,
    CurveResult,
)
from fairstats.methods.rates.numbers.cutoffs import (
    NET_BENEFIT,
    NET_BENEFIT_TITLE,
    REST_OF_ROWS,
    CutRows,
    compare_net_benefits,
    compare_rates_along,
    metric_along,
    title_along,
)
from fairstats.methods.rates.numbers.isotonic import (
    BAND_METHOD,
    ISOTONIC,
    ISOTONIC_TITLE,
    compare_isotonic,
)
from fairstats.methods.rates.numbers.result import HALL
from fairstats.methods.rates.numbers.scores import benefits_by_stratum, rates_by_stratum
from fairstats.methods.rates.numbers.stratified_curves import (
    StratifiedCurveDifferenceResult,
    StratifiedCurveRatioResult,
    with_adjusted_benefits,
    with_adjusted_rates,
)
from fairstats.methods.rates.result import Inference
from fairstats.methods.rates.setup import POOLED
from fairstats.methods.rates.strata.design import SCORE
from fairstats.methods.rates.strata.result import ENDING
from fairstats.report import questions
from fairstats.report.contents import Section
from fairstats.report.crosscheck import curves
from fairstats.report.format import printable
from fairstats.report.inputs import AuditInput, AuditSettings
from fairstats.report.methods.numbers import WORDS_OF_HALL
from fairstats.report.methods.page import Answer, Exhibit, Page, Words, WordsOfTest
from fairstats.report.methods.rates import (
    WORDS_OF_EXACT_TESTS,
    WORDS_OF_SCORE,
    WORDS_OF_STRATIFIED_SCORE,
)
from fairstats.report.view import Part, SetView, Table

#: Rates that an audit shows along the cut-offs.
_SHOWN = ("selection_rate", "tpr", "fpr", "ppv")
_DRAWS = 999
#: Pairs of groups that have pictures.
_MOST_PAIRS = 6


def run_risks(inputs: AuditInput) -> list[Result]:
    """What goes along the scores, where it is asked for and there are scores and labels.

    Nothing where the scores are merged to intervals, or rows have weights or clusters of which only
    counts are there.
    """
    audited = inputs.settings
    if not (audited.risks and inputs.has("y_true", "score")):
        return []
    rows = _rows_of(inputs)
    if rows is None or inputs.reference == "highest":
        return []
    settings = Inference(
        confidence_level=audited.confidence_level,
        adjust=audited.adjust,
        comparisons=audited._comparisons_among("all", *POOLED),
        margin=audited.margin,
    )
    results: list[Result] = []
    within: list[Result] = []
    if rows.counts is not None:
        n_resamples = audited.n_resamples or _DRAWS
        # a curve of everybody depends on those of its groups
        of_curves = replace(settings, comparisons=audited._comparisons_among("all", REST_OF_ROWS))
        results.append(
            compare_isotonic(rows, None, of_curves, inputs.reference, n_resamples, audited.seed)
        )
    benefits = compare_net_benefits(rows, None, settings, inputs.reference)
    results.append(benefits)
    name = inputs.columns.strata
    if name:
        parts = benefits_by_stratum(benefits, rows, name, inputs.crossed_tally)
        within += _within(with_adjusted_benefits(benefits, parts))
    for rate in _SHOWN:
        curve = compare_rates_along(rows, rate, None, settings, inputs.reference, ratio=False)
        results.append(curve)
        if name:
            tables = rates_by_stratum(curve, rows, name, inputs.crossed_tally)
            within += _within(with_adjusted_rates(curve, tables))
    # in a report the adjusted comparisons are results of their own
    return [*results, *within]


def _within(result: CurveResult) -> list[Result]:
    """The comparisons within strata of a curve that has some."""
    return [] if result.stratified is None else [result.stratified]


def _rows_of(inputs: AuditInput) -> CutRows | None:
    """Counts of scores, or rows with weights and clusters; None where neither tells enough.

    Rows of strata stay beside their counts.
    """
    outcomes = inputs.outcomes
    if outcomes is not None and (outcomes.weight is not None or outcomes.cluster is not None):
        return CutRows(outcomes=outcomes)
    counted = inputs.score_counts.without_even_weights()
    if counted.lower is not None or counted.weighted or counted.clustered:
        return None
    if outcomes is not None and outcomes.strata is not None:
        return CutRows(counts=counted, outcomes=outcomes)
    return CutRows(counts=counted)


def _show_risks(section: Section, view: SetView) -> Iterator[Part]:
    for result in section.results:
        if not isinstance(result, CURVES):
            continue
        figures = []
        for group, reference in result.pairs()[:_MOST_PAIRS]:
            pictures = (
                result.picture("difference", (group, reference)),
                result.picture("groups", (group, reference)),
            )
            figures.append((printable(f"{group} against {reference}"), pictures))
        lead = printable(" ".join(result.sentences()))
        tables = (_stretches_of(result),)
        yield Part(
            f"risks-{result.metric}", printable(result.title), lead, (), tuple(figures), tables
        )


def _stretches_of(result: Any) -> Table:
    """The stretches of cut-offs of one verdict."""
    heads = ("group", "reference", "verdict", "direction", "first", "last", "cut-offs")
    rows = []
    for stretch in result.stretches().itertuples(index=False):
        rows.append(
            (
                printable(stretch.group),
                printable(stretch.reference),
                stretch.verdict,
                stretch.direction or "—",
                f"{stretch.first:.4g}",
                f"{stretch.last:.4g}",
                str(stretch.n_cutoffs),
            )
        )
    return Table(printable(result.title), heads, tuple(rows))


# ---------------------------------------------------------------- words

_WORDS = {
    ISOTONIC: Words(
        title=ISOTONIC_TITLE,
        text=(
            "Share of favourable labels by score, an isotonic regression, of each group less that"
            " of the reference."
        ),
        cites=("corp",),
    ),
    NET_BENEFIT: Words(
        title=NET_BENEFIT_TITLE,
        text=(
            "(tp − fp·c/(1 − c))/n of selecting the rows with a score of c or more: what a cut-off"
            " at the risk c gains, in favourable labels per row."
        ),
        cites=("vickers",),
    ),
}
for _rate in _SHOWN:
    _WORDS[metric_along(_rate, "difference")] = Words(
        title=title_along(_rate, "difference"),
        text=f"{RATES[_rate].formula} of selecting the rows with a score of c or more.",
    )
for _name in (NET_BENEFIT, *(metric_along(rate, "difference") for rate in _SHOWN)):
    _WORDS[_name + ENDING] = Words(
        title=f"{_WORDS[_name].title}, within strata",
        heading="Along cut-offs within strata",
        text=(
            "The same at every cut-off within the strata, by the weights n·n_ref/(n + n_ref) of"
            " Mantel and Haenszel: rates by the stratified score, net benefit as means within"
            " strata are. All cut-offs and groups are one family."
        ),
        cites=("mantel",),
    )
_INTERVALS = {
    HALL: WORDS_OF_HALL,
    "score": WORDS_OF_SCORE,
    SCORE: WORDS_OF_STRATIFIED_SCORE,
    "exact unconditional": WORDS_OF_EXACT_TESTS,
    BAND_METHOD: Words(
        text=(
            "Exact limits over runs of rows next to each score, Bonferroni over the runs: those of a"
            " group hold at all scores at once for any curve that does not fall; groups are combined"
            " by MOVER."
        ),
        cites=("honest",),
    ),
}


def _tests_equality(results: Sequence[Result], settings: AuditSettings) -> bool:
    return any(isinstance(result, CurveDifferenceResult) and result.equality for result in results)


_TESTS = (
    WordsOfTest(
        _tests_equality,
        Words(
            text=(
                "That two groups have one calibration curve is tested by the largest standardised"
                " difference of their mean residuals about the curve of both, over runs of ten"
                " blocks of scores; its law is that of labels drawn by that curve."
            )
        ),
    ),
)

PAGE = Page(
    method="risks",
    run=run_risks,
    answers=(
        Answer(
            questions.RISKS, parts=_show_risks, words=_WORDS, intervals=_INTERVALS, tests=_TESTS
        ),
    ),
    exhibits=(
        Exhibit(CurveDifferenceResult, questions.RISKS, twin=curves.curves),
        Exhibit(CurveRatioResult, twin=curves.curves),
        Exhibit(StratifiedCurveDifferenceResult, questions.RISKS, twin=curves.stratified_curves),
        Exhibit(StratifiedCurveRatioResult, twin=curves.stratified_curves),
    ),
)
