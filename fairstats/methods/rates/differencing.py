"""Common kernel of the differences: signed differences of one or two rates, or their maximum."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fairstats.ground.counts import CellCounts
from fairstats.ground.groups import find_reference
from fairstats.ground.results import check_choice
from fairstats.methods.rates.definitions import RATES
from fairstats.methods.rates.estimates import (
    RateEstimates,
    estimate_average_odds,
    estimate_rates,
    joint_covariance,
)
from fairstats.methods.rates.inference import compare_rates, make_pairs, warn_about
from fairstats.methods.rates.maxima import MaximumResult, largest_gap
from fairstats.methods.rates.result import DifferenceResult, Inference
from fairstats.methods.rates.setup import confusion_table, generator_for, make_settings
from fairstats.methods.rates.simultaneous import adjust_pvalues

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
            warn_about(maximum)
        return maximum
    estimates = [_estimates(table, rate) for rate in rates]
    index, rule = find_reference(table.groups, reference, sizes=table.group_sizes, rates=estimates[0].rate)
    generator, seed = generator_for(settings, rng)
    settings = replace(settings, reference_rule=rule, seed=seed)
    spread = _joint_spread(table, rates, index, settings) if len(rates) > 1 else None
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
            spread=spread,
        )
    )
    if len(rates) > 1 and rule != "highest":
        adjusted = adjust_pvalues([c.pvalue for c in comparisons], settings.adjust)
        comparisons = tuple(
            replace(c, pvalue_adjusted=float(p)) for c, p in zip(comparisons, adjusted, strict=True)
        )
    result = DifferenceResult(
        metric=metric, comparisons=comparisons, settings=settings, counts=table, words=words
    )
    if not quiet:
        warn_about(result)
    return result


def _estimates(table: CellCounts, rate: str) -> RateEstimates:
    return estimate_average_odds(table) if rate == "average_odds" else estimate_rates(table, rate)


def _joint_spread(
    table: CellCounts, rates: tuple[str, ...], reference: int, settings: Inference
) -> NDArray[np.float64]:
    """Covariance of the differences of several rates over all their pairs, shape (J, J)."""
    by_data = settings.reference_rule == "highest"
    pairs = make_pairs(len(table.groups), reference, "all" if by_data else settings.comparisons)
    matrix = np.zeros((len(pairs), len(table.groups)))
    for row, (i, j) in enumerate(pairs):
        matrix[row, i], matrix[row, j] = 1.0, -1.0
    joint = joint_covariance(table, [RATES[rate] for rate in rates])
    contrasts = np.kron(np.eye(len(rates)), matrix)
    known = np.isfinite(np.diag(joint))
    usable = ~(np.abs(contrasts) @ (~known)).astype(bool)
    spread = np.full((contrasts.shape[0], contrasts.shape[0]), np.nan)
    part = contrasts[np.ix_(usable, known)]
    spread[np.ix_(usable, usable)] = part @ joint[np.ix_(known, known)] @ part.T
    return spread
