"""Rates: ratios, differences, largest gaps, ABROCA — everything that the given columns allow."""

from __future__ import annotations

from typing import Any

from fairstats.ground.results import Result
from fairstats.ground.scores import ScoreCounts
from fairstats.methods.rates.abroca import abroca_from_counts
from fairstats.methods.rates.differences import demographic_parity_difference, predictive_parity_difference
from fairstats.methods.rates.inference import warn_about
from fairstats.methods.rates.odds import (
    average_odds_difference,
    equal_opportunity_difference,
    equalized_odds_difference,
)
from fairstats.methods.rates.ratios import conditional_accuracy, conditional_use_accuracy, disparate_impact
from fairstats.methods.rates.result import DifferenceResult, RatioResult
from fairstats.methods.rates.setup import comparison_result, make_settings
from fairstats.report.inputs import AuditInput
from fairstats.report.sections.rates_words import INTERVALS, REFERENCES, TESTS, WORDS
from fairstats.report.sections.worst_case import worst_case

__all__ = ["INTERVALS", "REFERENCES", "TESTS", "WORDS", "run"]

_ABROCA_RESAMPLES = 999


def run(inputs: AuditInput) -> list[Result]:
    """Every rate metric that the columns allow.

    Parameters
    ----------
    inputs : AuditInput
        Predictions only: disparate impact and demographic parity. With labels also the disparate impact of
        the labels, conditional (use) accuracies, the other differences and the maxima. With labels and a
        score: ABROCA.
    """
    found: list[Result] = []
    if inputs.has_predictions:
        found += _of_predictions(inputs)
    if inputs.has_labels:
        found += _of_labels(inputs)
    if inputs.has_predictions and inputs.has_labels:
        found += _of_both(inputs)
    if inputs.has_predictions:
        found.append(demographic_parity_difference(agg="max", **_differences(inputs)))
    if inputs.has_predictions and inputs.has_labels:
        found.append(equalized_odds_difference(agg="max", **_differences(inputs)))
    if inputs.has_scores and inputs.has_labels and not inputs.counts.weighted:
        found.append(_abroca(inputs))
    found.sort(key=_position)
    return found + worst_case(found)


def _position(result: Result) -> int:
    """Ratios, then differences, then maxima."""
    scale = getattr(result, "scale", "maximum")
    return {"ratio": 0, "difference": 1}.get(scale, 2)


def _common(inputs: AuditInput) -> dict[str, Any]:
    s = inputs.settings
    options: dict[str, Any] = {
        "counts": inputs.counts,
        "reference": inputs.reference,
        "comparisons": s.comparisons,
        "confidence_level": s.confidence_level,
        "simultaneous": s.simultaneous,
        "adjust": s.adjust,
        "rng": s.seed,
    }
    return options if s.n_resamples is None else {**options, "n_resamples": s.n_resamples}


def _ratios(inputs: AuditInput) -> dict[str, Any]:
    s = inputs.settings
    return {**_common(inputs), "threshold": s.threshold, "method": s.method or "log"}


def _differences(inputs: AuditInput) -> dict[str, Any]:
    s = inputs.settings
    return {**_common(inputs), "threshold": s.tolerance, "method": s.difference_method}


def _of_predictions(inputs: AuditInput) -> list[Result]:
    return [
        disparate_impact(**_ratios(inputs)),
        demographic_parity_difference(**_differences(inputs)),
    ]


def _of_both(inputs: AuditInput) -> list[Result]:
    ratios, differences = _ratios(inputs), _differences(inputs)
    average = {k: v for k, v in differences.items() if k not in ("rng", "n_resamples")}
    if average["method"] == "bootstrap":
        average["method"] = None
    return [
        conditional_accuracy(label=1, **ratios),
        conditional_accuracy(label=0, **ratios),
        conditional_use_accuracy(prediction=1, **ratios),
        conditional_use_accuracy(prediction=0, **ratios),
        equal_opportunity_difference(**differences),
        predictive_parity_difference(**differences),
        average_odds_difference(**average),
        equalized_odds_difference(**differences),
    ]


def _of_labels(inputs: AuditInput) -> list[Result]:
    """The disparate impact of the recorded outcomes (without predictions also the difference)."""
    found: list[Result] = []
    kinds: list[tuple[Any, str, str, dict[str, Any]]] = [
        (RatioResult, "ratio", "disparate_impact_labels", _ratios(inputs)),
    ]
    if not inputs.has_predictions:
        metric = "demographic_parity_difference_labels"
        kinds.append((DifferenceResult, "difference", metric, _differences(inputs)))
    for kind, contrast, metric, options in kinds:
        chosen: Any = contrast
        method = options["method"] or ("delta" if inputs.counts.weighted else "score")
        settings = make_settings(
            chosen,
            method=method,
            threshold=options["threshold"],
            alternative="two-sided",
            confidence_level=options["confidence_level"],
            simultaneous=options["simultaneous"],
            adjust=options["adjust"],
            comparisons=options["comparisons"],
            n_resamples=options.get("n_resamples", 9_999),
        )
        found.append(
            comparison_result(
                kind,
                inputs.counts,
                rate="base_rate",
                metric=metric,
                words=WORDS[metric].title,
                contrast=chosen,
                reference=inputs.reference,
                settings=settings,
                rng=options["rng"],
            )
        )
    return found


def _abroca(inputs: AuditInput) -> Result:
    s = inputs.settings
    settings = make_settings(
        "difference",
        method=None,
        threshold=s.tolerance,
        alternative="two-sided",
        confidence_level=s.confidence_level,
        simultaneous=None,
        adjust=s.adjust,
        comparisons=s.comparisons,
        n_resamples=s.n_resamples or _ABROCA_RESAMPLES,
    )
    result = abroca_from_counts(
        ScoreCounts.from_outcomes(inputs.outcomes), inputs.reference, settings, s.seed
    )
    warn_about(result)
    return result
