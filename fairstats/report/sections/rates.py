"""Rates: ratios, differences, largest gaps, ABROCA — every metric of the registry that the columns allow."""

from __future__ import annotations

from dataclasses import replace

from fairstats.ground.counts import ConfusionCounts
from fairstats.ground.registry import METRICS, RATES, Metric
from fairstats.ground.results import Result
from fairstats.methods.rates.abroca import abroca_from_counts
from fairstats.methods.rates.compare import compare_metric
from fairstats.methods.rates.models.amplification import amplification
from fairstats.methods.rates.setup import make_settings
from fairstats.report.inputs import AUDIT_METHODS, AuditInput
from fairstats.report.sections.worst_case import worst_case

_ABROCA_RESAMPLES = 999


def run_rates(inputs: AuditInput) -> list[Result]:
    """Every metric of the registry that stands in an audit and that the columns allow, in its order.

    `inputs`: predictions only: disparate impact and demographic parity. With labels also the disparate impact
    of the labels, conditional (use) accuracies, the other differences, the maxima and amplification. With
    labels and a score: ABROCA.
    """
    given = {"predictions": inputs.has_predictions, "labels": inputs.has_labels, "scores": inputs.has_scores}
    alone = inputs.has_labels and not inputs.has_predictions
    found = [
        _compute(metric, inputs)
        for metric in METRICS.values()
        if (metric.audit == "yes" or (metric.audit == "labels only" and alone))
        and all(given[part] for part in metric.needs)
        and not ("scores" in metric.needs and inputs.counts.weighted)
    ]
    bounds = worst_case(found)
    if inputs.has_labels and inputs.has_predictions and isinstance(inputs.counts, ConfusionCounts):
        s = inputs.settings
        shared = {"confidence_level": s.confidence_level, "adjust": s.adjust, "comparisons": s.comparisons}
        settings = make_settings("ratio", {**shared, "threshold": s.threshold})
        found.append(amplification(inputs.counts, inputs.reference, replace(settings, margin=s.margin)))
    return found + bounds


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
        "method": method,
        "threshold": s.threshold,
        "margin": s.margin,
        "confidence_level": s.confidence_level,
        "simultaneous": None if scores else s.simultaneous,
        "adjust": s.adjust,
        "comparisons": s.comparisons,
        "n_resamples": n_resamples or (_ABROCA_RESAMPLES if scores else 9_999),
    }
    settings = make_settings(metric.contrast, options)
    if scores:
        return abroca_from_counts(inputs.score_counts, inputs.reference, settings, s.seed)
    asked = method is not None
    return compare_metric(metric, inputs.counts, settings, inputs.reference, s.seed, asked=asked)
