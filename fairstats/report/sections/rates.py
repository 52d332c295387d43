"""Rates: ratios, differences, largest gaps, ABROCA — every metric of the registry that the columns allow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from fairstats.ground.counts import CellCounts, ConfusionCounts
from fairstats.ground.registry import METRICS, RATES, Metric
from fairstats.ground.results import Interval, Result
from fairstats.ground.serialise import serialisable
from fairstats.methods.rates.abroca import abroca_from_counts
from fairstats.methods.rates.bounds import bounded_rate, worst_case_rows
from fairstats.methods.rates.compare import compare_metric
from fairstats.methods.rates.models.compare import amplification
from fairstats.methods.rates.result import ComparisonResult, DifferenceResult, RatioResult
from fairstats.methods.rates.setup import make_settings
from fairstats.methods.rates.stratified import can_be_adjusted
from fairstats.report.inputs import AUDIT_METHODS, AuditInput, AuditSettings

_ABROCA_RESAMPLES = 999


@serialisable()
class WorstCase:
    """Range of one estimate (on the complete rows) whatever the `n` rows left out hold.

    `confidence_interval`: of the true value, which lies somewhere in the population's range.
    """

    metric: str
    group: str
    reference: str
    estimate: float
    low: float
    high: float
    confidence_interval: Interval
    n: int


@serialisable()
class WorstCaseResult(Result):
    """Worst-case bounds with intervals around them, one row per estimate.

    Attributes
    ----------
    metric : str
    bounds : tuple of WorstCase
    counts : CellCounts
        The sufficient statistics: complete rows, and what is known of those left out.
    """

    metric: str
    bounds: tuple[WorstCase, ...]
    counts: CellCounts

    title: ClassVar[str] = "Worst-case bounds for the missing values"
    lacks: ClassVar[Mapping[str, str]] = {
        "std_error": "the ends of a range have one each: see confidence_interval",
        "statistic": "nothing is tested",
        "pvalue": "nothing is tested", "verdict": "the comparisons of the rates themselves are judged",
        "plot": "its table is in to_frame()",
    }  # fmt: skip

    @property
    def comparisons(self) -> tuple[WorstCase, ...]:
        """One per estimate."""
        return self.bounds

    def sentences(self) -> list[str]:
        """One sentence per estimate."""
        return [
            f"{METRICS[b.metric].title.split(':')[0]}, {b.group} against {b.reference}: {b.estimate:.3f} on "
            f"the complete rows, between {b.low:.3f} and {b.high:.3f} whatever the {b.n:,} rows left out "
            f"hold ({b.confidence_interval.words()})."
            for b in self.bounds
        ]

    def rows(self) -> list[dict[str, Any]]:
        """Rows of the tidy table."""
        return [
            {
                "metric": f"worst_case_{b.metric}", "group": b.group, "reference": b.reference,
                "estimate": b.estimate, "ci_low": b.confidence_interval.low, "ci_high": b.confidence_interval.high,
                "n": b.n, "method": "worst case", "backend": "numpy", "bound_low": b.low, "bound_high": b.high,
            }
            for b in self.bounds
        ]  # fmt: skip

    def notes(self) -> list[str]:
        """Sentences below the table."""
        return [
            "Bounds: the estimate if every missing value were what makes it smallest, or largest. The "
            "interval around them adds the sampling error: it holds the true value, which lies somewhere "
            "between the bounds of the population (Imbens and Manski 2004, Stoye 2009)."
        ]


def worst_case(results: Sequence[Result]) -> list[Result]:
    """Bounds of all comparisons of rates whose counts know what was left out; an empty list for none."""
    found = []
    for result in results:
        if not isinstance(result, ComparisonResult) or not isinstance(result.counts, CellCounts):
            continue
        counts, level = result.counts, result.settings.confidence_level
        if counts.missing.patterns and all(bounded_rate(c.metric) for c in result.comparisons):
            for row in worst_case_rows(counts, result.comparisons, result.scale, level):
                interval = Interval(row.pop("ci_low"), row.pop("ci_high"), level, "Imbens–Manski, Stoye")
                n = row.pop("n_missing")
                found.append(WorstCase(**row, confidence_interval=interval, n=n))
    return [WorstCaseResult("worst_case", tuple(found), counts)] if found else []


def run_rates(inputs: AuditInput) -> list[Result]:
    """Every metric of the registry that stands in an audit and that the columns allow, in its order.

    `inputs`: predictions only: disparate impact and demographic parity. With labels also the disparate impact
    of the labels, conditional (use) accuracies, the other differences, the maxima and amplification. With
    labels and a score: ABROCA. With strata each ratio and difference within them, too.
    """
    given = {"predictions": inputs.has("y_pred"), "labels": inputs.has("y_true"), "scores": inputs.has("score")}
    alone = given["labels"] and not given["predictions"]
    found = [
        _compute(metric, inputs)
        for metric in METRICS.values()
        if (metric.audit == "yes" or (metric.audit == "labels only" and alone))
        and all(given[part] for part in metric.needs)
        and not ("scores" in metric.needs and inputs.counts.weighted)
    ]
    bounds = worst_case(found)
    compared = [result for result in found if isinstance(result, (RatioResult, DifferenceResult))]
    within = [result.stratified for result in compared if result.stratified is not None]
    found = [_without_strata(result) for result in found]
    if inputs.has("y_true", "y_pred") and isinstance(inputs.counts, ConfusionCounts):
        found.append(amplification(inputs.counts, inputs.reference, ratio_settings(inputs.settings)))
    return found + within + bounds


def _without_strata(result: Result) -> Result:
    """The crude comparisons alone: the adjusted ones are results of their own in a report."""
    if isinstance(result, (RatioResult, DifferenceResult)) and result.stratified is not None:
        return replace(result, stratified=None)
    return result


def ratio_settings(s: AuditSettings) -> Any:
    """Settings of what compares ratios and differences at once."""
    shared = {"confidence_level": s.confidence_level, "adjust": s.adjust, "comparisons": s.comparisons}
    return replace(make_settings("ratio", {**shared, "threshold": s.threshold}), margin=s.margin)


def _compute(metric: Metric, inputs: AuditInput) -> Result:
    s = inputs.settings
    ratio, scores = metric.contrast == "ratio", "scores" in metric.needs
    single = all(RATES[rate].interval == "score" for rate in metric.rates)
    method, n_resamples = s.method if ratio else AUDIT_METHODS[s.method], s.n_resamples
    if scores or metric.contrast == "gap" or (method == "bootstrap" and not single):
        method = None
    if not single:  # no bootstrap of cells
        n_resamples = None
    options = {
        "method": method, "threshold": s.threshold, "margin": s.margin, "confidence_level": s.confidence_level,
        "simultaneous": None if scores else s.simultaneous, "adjust": s.adjust, "comparisons": s.comparisons,
        "n_resamples": n_resamples or (_ABROCA_RESAMPLES if scores else 9_999),
    }  # fmt: skip
    settings = make_settings(metric.contrast, options)
    if scores:
        return abroca_from_counts(inputs.score_counts, inputs.reference, settings, s.seed)
    strata = inputs.strata if can_be_adjusted(metric) else None
    if strata is not None and metric.needs == ("predictions",):  # of labels: those of the labels
        strata = strata.selection()
    return compare_metric(metric, inputs.counts, settings, inputs.reference, s.seed, strata=strata)
