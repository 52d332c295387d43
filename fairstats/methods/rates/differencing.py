"""Common kernel of the differences: signed differences of one or two rates, or their maximum."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import Any, Literal

from fairstats.ground.counts import CellCounts
from fairstats.ground.groups import find_reference
from fairstats.ground.results import check_choice
from fairstats.methods.rates.estimates import RateEstimates, estimate_average_odds, estimate_rates
from fairstats.methods.rates.inference import compare_rates, warn_about
from fairstats.methods.rates.maxima import MaximumResult, largest_gap
from fairstats.methods.rates.result import DifferenceResult
from fairstats.methods.rates.setup import confusion_table, generator_for, make_settings
from fairstats.methods.rates.simultaneous import adjust_pvalues

__all__ = ["DIFFERENCE_METRICS", "confusion_difference", "rate_difference"]

DifferenceMethod = Literal["score", "delta", "mee", "bootstrap"] | None
Alternative = Literal["two-sided", "less", "greater"]
Simultaneous = Literal["bonferroni", "max-z"] | None
Aggregate = Literal["max"] | None
#: metric → (rates, words)
DIFFERENCE_METRICS: dict[str, tuple[tuple[str, ...], str]] = {
    "demographic_parity_difference": (
        ("selection_rate",),
        "Demographic parity: difference of selection rates",
    ),
    "equal_opportunity_difference": (("tpr",), "Equal opportunity: difference of true positive rates"),
    "predictive_parity_difference": (("ppv",), "Predictive parity: difference of precisions"),
    "average_odds_difference": (("average_odds",), "Average odds: mean of the differences of TPR and FPR"),
    "equalized_odds_difference": (("tpr", "fpr"), "Equalised odds: differences of TPR and FPR"),
}


def confusion_difference(
    metric: str,
    y_true: Any,
    y_pred: Any,
    counts: Any,
    columns: dict[str, Any],
    agg: Aggregate,
    reference: Hashable | None,
    rng: Any,
    **settings: Any,
) -> DifferenceResult | MaximumResult:
    """Difference of a metric that needs labels and predictions, from rows or counts."""
    check_choice("agg", agg, (None, "max"))
    table = confusion_table(y_true, y_pred, counts, **columns)
    return rate_difference(metric, table, agg, reference, rng, **settings)


def rate_difference(
    metric: str,
    table: CellCounts,
    agg: Aggregate,
    reference: Hashable | None,
    rng: Any,
    *,
    quiet: bool = False,
    **options: Any,
) -> DifferenceResult | MaximumResult:
    """Signed differences of one or two rates, or their maximum."""
    check_choice("agg", agg, (None, "max"))
    rates, words = DIFFERENCE_METRICS[metric]
    settings = make_settings("difference", **options)
    if options.get("method") is None:
        settings = replace(settings, method="delta" if table.weighted else "score")
    if agg == "max":
        name = metric.removesuffix("_difference")
        maximum = largest_gap(
            table,
            rates,
            metric=f"{name}_max",
            words=f"{words.split(':')[0]}: largest gap",
            settings=replace(settings, method="simultaneous band", comparisons="all"),
        )
        if not quiet:
            warn_about(maximum, stacklevel=4)
        return maximum
    estimates = [_estimates(table, rate) for rate in rates]
    index, rule = find_reference(table.groups, reference, sizes=table.group_sizes, rates=estimates[0].rate)
    generator, seed = generator_for(settings, rng)
    settings = replace(settings, reference_rule=rule, seed=seed)
    comparisons = tuple(
        c
        for e, rate in zip(estimates, rates, strict=True)
        for c in compare_rates(
            e,
            metric=metric if len(rates) == 1 else f"{rate}_difference",
            contrast="difference",
            reference=index,
            settings=settings,
            rng=generator,
        )
    )
    if len(rates) > 1:
        adjusted = adjust_pvalues([c.pvalue for c in comparisons], settings.adjust)
        comparisons = tuple(
            replace(c, pvalue_adjusted=float(p)) for c, p in zip(comparisons, adjusted, strict=True)
        )
    result = DifferenceResult(
        metric=metric, comparisons=comparisons, settings=settings, counts=table, words=words
    )
    if not quiet:
        warn_about(result, stacklevel=4)
    return result


def _estimates(table: CellCounts, rate: str) -> RateEstimates:
    return estimate_average_odds(table) if rate == "average_odds" else estimate_rates(table, rate)
