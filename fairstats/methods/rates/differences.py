"""Differences of rates between groups, with fairlearn's signature: signed, or the largest gap."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Literal

from fairstats.methods.rates.differencing import (
    DIFFERENCE_METRICS,
    Aggregate,
    Alternative,
    DifferenceMethod,
    Simultaneous,
    confusion_difference,
    rate_difference,
)
from fairstats.methods.rates.maxima import MaximumResult
from fairstats.methods.rates.odds import (
    average_odds_difference,
    equal_opportunity_difference,
    equalized_odds_difference,
)
from fairstats.methods.rates.result import DifferenceResult
from fairstats.methods.rates.setup import data_columns, selection_table

__all__ = [
    "DIFFERENCE_METRICS",
    "average_odds_difference",
    "demographic_parity_difference",
    "equal_opportunity_difference",
    "equalized_odds_difference",
    "predictive_parity_difference",
]


def demographic_parity_difference(
    y_true: Any = None,
    y_pred: Any = None,
    *,
    sensitive_features: Any = None,
    agg: Aggregate = None,
    counts: Any = None,
    reference: Hashable | None = None,
    comparisons: Literal["reference", "all"] = "reference",
    method: DifferenceMethod = None,
    threshold: float = 0.1,
    alternative: Alternative = "two-sided",
    confidence_level: float = 0.95,
    simultaneous: Simultaneous = None,
    adjust: str = "holm",
    sample_weight: Any = None,
    cluster: Any = None,
    pos_label: Any = None,
    missing: Literal["raise", "drop", "group"] = "raise",
    groups: Sequence[Hashable] | None = None,
    n_resamples: int = 9_999,
    rng: Any = None,
) -> DifferenceResult | MaximumResult:
    """Demographic parity difference: P(ŷ=1 | S=s) − P(ŷ=1 | S=reference).

    Also known as statistical parity difference, SPD (the HFM and ECD papers), and DP (Uncertainty Matters).

    Parameters
    ----------
    y_true : array-like, shape (n,), or None
        Not used; there for the signature that all differences share with fairlearn.
    y_pred : array-like, shape (n,)
        Predictions, any type with two values.
    sensitive_features : array-like (n,) or (n, k), data frame or mapping
        Group of each row; several columns are crossed.
    agg : {None, "max"}, default None
        None: signed differences against the reference. ``"max"``: the largest gap between any two groups,
        which is fairlearn's value, with an interval for the maximum.
    counts : SelectionCounts, ConfusionCounts, mapping or frame, optional
        Counts instead of rows.
    reference, comparisons
        As in `disparate_impact`; not used with ``agg="max"``.
    method : {None, "score", "delta", "mee", "bootstrap"}
        ``"score"``: Miettinen–Nurminen; ``"mee"`` without the factor N/(N−1). ``"delta"``: Wald.
        ``"bootstrap"``: BCa on cell counts. Default: score, or delta under weights or clusters.
    threshold : float, default 0.1
        Tolerance: the verdict asks whether |difference| lies above or below it (0.1 is AIF360's convention,
        not a law).
    alternative : {"two-sided", "less", "greater"}, default "two-sided"
        Two-sided: H0 difference = 0. ``"less"``: H0 difference ≥ −threshold. ``"greater"``: H0 difference ≤
        threshold. Equivalence (TOST within ±threshold) is in `tests()`.
    confidence_level, simultaneous, adjust, sample_weight, cluster, pos_label, missing, groups
        As in `disparate_impact`.
    n_resamples, rng
        Of the bootstrap.

    Returns
    -------
    DifferenceResult or MaximumResult

    Raises
    ------
    InputError
        Where the input cannot be used.

    Warns
    -----
    InsufficientEvidenceWarning
        Where a group has no rows.

    References
    ----------
    .. [1] Agresti, Min (2005). Frequentist performance of Bayesian confidence intervals for comparing
       proportions. Biometrics 61, 515–523.

    Examples
    --------
    >>> import fairstats as fs
    >>> counts = {"Male": (6395, 13798), "Female": (1112, 8520)}
    >>> result = fs.demographic_parity_difference(counts=counts)
    >>> low, high = result.confidence_interval
    >>> print(f"{result.estimate:.4f} [{low:.4f}, {high:.4f}] {result.verdict}")
    -0.2012 [-0.2102, -0.1921] violated
    """
    columns = data_columns(sensitive_features, sample_weight, cluster, pos_label, missing, groups)
    return rate_difference(
        "demographic_parity_difference",
        selection_table(y_pred, counts, **columns),
        agg,
        reference,
        rng,
        method=method,
        threshold=threshold,
        alternative=alternative,
        confidence_level=confidence_level,
        simultaneous=simultaneous,
        adjust=adjust,
        comparisons=comparisons,
        n_resamples=n_resamples,
    )


def predictive_parity_difference(
    y_true: Any = None,
    y_pred: Any = None,
    *,
    sensitive_features: Any = None,
    agg: Aggregate = None,
    counts: Any = None,
    reference: Hashable | None = None,
    comparisons: Literal["reference", "all"] = "reference",
    method: DifferenceMethod = None,
    threshold: float = 0.1,
    alternative: Alternative = "two-sided",
    confidence_level: float = 0.95,
    simultaneous: Simultaneous = None,
    adjust: str = "holm",
    sample_weight: Any = None,
    cluster: Any = None,
    pos_label: Any = None,
    missing: Literal["raise", "drop", "group"] = "raise",
    groups: Sequence[Hashable] | None = None,
    n_resamples: int = 9_999,
    rng: Any = None,
) -> DifferenceResult | MaximumResult:
    """Predictive parity difference: PPV (precision) of each group − PPV of the reference.

    Also known as PP (Uncertainty Matters) and PQP, predictive quality parity (HFM).

    Parameters
    ----------
    y_true, y_pred : array-like, shape (n,)
        Labels and predictions, any type with two values.
    sensitive_features, agg, counts, reference, comparisons, method, threshold, alternative
        As in `demographic_parity_difference`; counts are confusion counts.
    confidence_level, simultaneous, adjust, sample_weight, cluster, pos_label, missing, groups
        As in `demographic_parity_difference`.
    n_resamples, rng
        As in `demographic_parity_difference`.

    Returns
    -------
    DifferenceResult or MaximumResult

    Raises
    ------
    InputError
        Where the input cannot be used.

    Warns
    -----
    InsufficientEvidenceWarning
        Where a group has no row with a favourable prediction.

    References
    ----------
    .. [1] Chouldechova (2017). Fair prediction with disparate impact. Big Data 5, 153–163.

    Examples
    --------
    >>> import fairstats as fs
    >>> counts = {"a": (40, 10, 10, 40), "b": (30, 10, 20, 40)}
    >>> print(f"{fs.predictive_parity_difference(counts=counts, reference='a').estimate:.2f}")
    -0.05
    """
    return confusion_difference(
        "predictive_parity_difference",
        y_true,
        y_pred,
        counts,
        data_columns(sensitive_features, sample_weight, cluster, pos_label, missing, groups),
        agg,
        reference,
        rng,
        method=method,
        threshold=threshold,
        alternative=alternative,
        confidence_level=confidence_level,
        simultaneous=simultaneous,
        adjust=adjust,
        comparisons=comparisons,
        n_resamples=n_resamples,
    )
