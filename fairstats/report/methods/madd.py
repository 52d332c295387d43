"""The page of MADD: how far the score distributions of groups lie apart."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from fairstats.ground.results import Result
from fairstats.methods.madd.curve import MaddCurve, StableBandwidth
from fairstats.methods.madd.metric import madd_of_scores, warn_of
from fairstats.methods.madd.permutation import (
    CLUSTER_PERMUTATION,
    EXACT_PERMUTATION,
    SEARCH_PERMUTATION,
)
from fairstats.methods.madd.result import MaddComparison, MaddResult, make_settings
from fairstats.methods.madd.scores import GroupScores
from fairstats.methods.rates.abroca import AbrocaResult
from fairstats.plots.figures import (
    calibration_curves,
    madd_by_bandwidth,
    roc_curves,
    score_histograms,
)
from fairstats.plots.picture import Picture
from fairstats.report import questions
from fairstats.report.contents import Section
from fairstats.report.crosscheck import distances
from fairstats.report.format import percent
from fairstats.report.inputs import AuditInput, AuditSettings, lacks_rows
from fairstats.report.leads import (
    MEANING,
    NOTHING_COMPARED,
    PICTURED,
    count_others,
    name_pair,
    order_comparisons,
)
from fairstats.report.methods.page import HOLM, Answer, Exhibit, Page, Words, WordsOfTest
from fairstats.report.view import Part, SetView

_RESAMPLES = 1_999


def run_madd(inputs: AuditInput) -> list[Result]:
    """MADD of every comparison that the audit makes, of all pairs for "highest".

    Nothing without a score.

    The margin is twice that of the rates, since MADD/2 bounds the difference of selection rates.
    The curves that were searched are not kept: a thousand numbers per comparison.
    """
    if not inputs.has("score") or lacks_rows(inputs, "MADD"):
        return []
    audited = inputs.settings
    all_pairs = audited.comparisons == "all" or inputs.reference == "highest"
    settings = make_settings(
        comparisons="all" if all_pairs else audited._comparisons_among("rest"),
        margin=min(2 * audited.margin, 2.0),
        confidence_level=audited.confidence_level,
        adjust=audited.adjust,
        n_resamples=audited.n_resamples or _RESAMPLES,
    )
    if inputs.outcomes is None:
        scores = GroupScores.from_counts(inputs.score_counts)
    else:
        scores = GroupScores.from_outcomes(inputs.outcomes)
    reference = None if all_pairs else inputs.reference
    result = madd_of_scores(scores, reference, settings, audited.seed)
    warn_of(result)
    comparisons = tuple(replace(comparison, curve=None) for comparison in result.comparisons)
    return [replace(result, comparisons=comparisons)]


# ---------------------------------------------------------------- parts


def _show_madd(section: Section, view: SetView) -> Iterator[Part]:
    """A part for each result of MADD: the largest distance in words, and pictures of its pairs."""
    charts = tuple(chart for chart in view.charts if chart.kind == "distance")
    areas = []
    for result in view.results:
        if isinstance(result, AbrocaResult):
            areas.append(result)
    for result in section.results:
        if not isinstance(result, MaddResult):
            continue
        ordered = order_comparisons(result.comparisons, lambda comparison: comparison.estimate)
        figures = tuple(
            (name_pair(comparison), _pictures_of_pair(result, comparison, areas))
            for comparison in ordered[:PICTURED]
        )
        lead = NOTHING_COMPARED
        if ordered:
            first = ordered[0]
            lead = (
                f"The scores of {name_pair(first)} overlap by {percent(1 - first.estimate / 2)},"
                f" where 100% are alike (groups that are alike would show"
                f" {percent(1 - first.null_mean / 2)}):"
                f" {MEANING[first.verdict]}.{count_others(first, ordered)}"
            )
        n_without = len(ordered) - len(figures)
        if n_without > 0:
            more = f"{n_without} more {'is' if n_without == 1 else 'are'}"
            lead += f" {len(figures)} comparisons have pictures; {more} in the tables."
        yield Part("madd", "Scores: how alike they are", lead, charts, figures)


def _pictures_of_pair(
    result: MaddResult, comparison: MaddComparison, areas: Sequence[AbrocaResult]
) -> tuple[Picture, ...]:
    """Histograms and bandwidths of two groups, with the curves of their scores against labels."""
    pictures = [score_histograms(comparison), madd_by_bandwidth(result, comparison)]
    pair = {comparison.group, comparison.reference}
    for area in areas:
        for curves in area.comparisons:
            if {curves.group, curves.reference} != pair:
                continue
            if math.isfinite(curves.estimate):
                pictures.append(roc_curves(area, curves))
            pictures.append(calibration_curves(area, curves))
    return tuple(pictures)


# ---------------------------------------------------------------- words

_WORDS = {
    "madd": Words(
        title="MADD: distance between score distributions",
        text=(
            "Σ_k |d_k − d_ref,k| over bins of the score, d_k the share of a group's "
            "rows (equation 3 of Verger et al.), from 0 (same histogram) to 2 (no bin "
            "in common). The bins end at the quantiles of the scores of both groups "
            "together: up to ⌈1/h_sup⌉ of them, h_sup = ((√n₀+√n₁)/√(n₀n₁))^(2/3) "
            "(theorem 2), equal scores never parted. Estimate, null mean, interval, "
            "test and verdict are about the distance in these bins, which depends on "
            "the groups' shares of the rows, and not on the scale of the scores. It "
            "is biased upwards: null_mean is what alike groups would show. Half of it "
            "bounds the difference of selection rates under any cut-off at an edge, "
            "so the threshold is twice the margin. headline is MADD as published, "
            "averaged over the stable stretch of equally wide bandwidths (Algorithm "
            "1), with headline_null_mean; nothing else in the row is about it."
        ),
        cites=("verger",),
    ),
    "madd_max": Words(
        title="MADD: the largest of all comparisons",
        text=(
            "The largest of these distances, with limits that hold for all "
            "comparisons at once: its lower limit is the largest of theirs, and may "
            "be that of other groups than those named. The permutation test is of one "
            "distribution in all groups by the largest standardised MADD, which "
            "accounts for the search; every MADD is standardised by the mean and "
            "standard deviation of the permutation law in closed form."
        ),
        cites=("verger", "pitman"),
    ),
}
_INTERVALS = {
    "directional delta": Words(
        text=(
            "directional delta: MADD less the quantile of its bootstrap noise, "
            "absolute values kept in the bins whose difference may be 0, up to MADD "
            "plus z times the largest standard error over the signs left open. It "
            "covers alike groups, too, where a percentile interval never does."
        ),
        cites=("fang",),
    )
}


def _tests_by(*methods: str) -> Callable[[Sequence[Result], AuditSettings], bool]:
    """Whether some comparison is tested by one of these."""

    def applies(results: Sequence[Result], settings: AuditSettings) -> bool:
        return any(
            test.method in methods
            for result in results
            if isinstance(result, MaddResult)
            for comparison in result.comparisons
            for test in comparison.tests
        )

    return applies


def _weighs_rows(results: Sequence[Result], settings: AuditSettings) -> bool:
    return any(isinstance(result, MaddResult) and result.counts.weighted for result in results)


_TESTS = (
    WordsOfTest(
        _tests_by(EXACT_PERMUTATION, SEARCH_PERMUTATION),
        Words(
            text=(
                "Equal score distributions are tested by permutation of the labels, "
                "exactly: p = (1 + #{MADD* ≥ MADD})/(B + 1)."
            ),
            cites=("pitman",),
        ),
    ),
    WordsOfTest(
        _tests_by(CLUSTER_PERMUTATION),
        Words(
            text=(
                "Equal score distributions are tested by permutation of the labels of "
                "whole clusters."
            ),
            cites=("pitman",),
        ),
    ),
    HOLM,
    WordsOfTest(
        _weighs_rows,
        Words(
            text=(
                "Weighted rows cannot be permuted: variances are linearised, and the test "
                "compares MADD with draws of the noise alone."
            ),
            cites=("binder",),
        ),
    ),
)

PAGE = Page(
    method="madd",
    run=run_madd,
    answers=(
        Answer(
            questions.SCORES,
            parts=_show_madd,
            words=_WORDS,
            intervals=_INTERVALS,
            tests=_TESTS,
        ),
    ),
    exhibits=(
        Exhibit(MaddResult, questions.SCORES, twin=distances.madd),
        Exhibit(StableBandwidth, no_twin="part of a MaddResult, which is recomputed"),
        Exhibit(MaddCurve, no_twin="part of a MaddResult, which is recomputed"),
    ),
)
