"""Differences of TPR and FPR: equal opportunity, average odds, equalised odds."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Literal

from fairstats.methods.rates.differencing import (
    Aggregate,
    Alternative,
    DifferenceMethod,
    Simultaneous,
    confusion_difference,
)
from fairstats.methods.rates.maxima import MaximumResult
from fairstats.methods.rates.result import DifferenceResult
from fairstats.methods.rates.setup import data_columns

__all__ = ["average_odds_difference", "equal_opportunity_difference", "equalized_odds_difference"]


def equal_opportunity_difference(
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
    """Equal opportunity difference: TPR of each group − TPR of the reference.

    Also known as EOp (Uncertainty Matters) and EO (HFM); the ECD paper's undefined "EOD" is often this.

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
        Where a group has no row with a favourable label.

    References
    ----------
    .. [1] Hardt, Price, Srebro (2016). Equality of opportunity in supervised learning. NeurIPS 29.

    Examples
    --------
    >>> import fairstats as fs
    >>> counts = {"a": (40, 10, 10, 40), "b": (30, 10, 20, 40)}
    >>> print(f"{fs.equal_opportunity_difference(counts=counts, reference='a').estimate:.2f}")
    -0.20
    """
    return confusion_difference(
        "equal_opportunity_difference",
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


def average_odds_difference(
    y_true: Any = None,
    y_pred: Any = None,
    *,
    sensitive_features: Any = None,
    agg: Aggregate = None,
    counts: Any = None,
    reference: Hashable | None = None,
    comparisons: Literal["reference", "all"] = "reference",
    method: Literal["score", "delta", "mee"] | None = None,
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
) -> DifferenceResult | MaximumResult:
    """Average odds difference, AOD: mean of the differences of TPR and of FPR against the reference.

    Parameters
    ----------
    y_true, y_pred : array-like, shape (n,)
        Labels and predictions, any type with two values.
    sensitive_features, agg, counts, reference, comparisons, threshold, alternative
        As in `demographic_parity_difference`; counts are confusion counts.
    method : {None, "delta", "score", "mee"}
        ``"delta"``: the delta method, closed because AOD is linear in the rates. ``"score"``: MOVER from the
        score intervals of the two differences (Zou & Donner 2008). Default: score, or delta under weights.
    confidence_level, simultaneous, adjust, sample_weight, cluster, pos_label, missing, groups
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
        Where a group lacks rows with one of the labels.

    References
    ----------
    .. [1] Bellamy et al. (2019). AI Fairness 360. IBM J. Res. Dev. 63.
    .. [2] Zou, Donner (2008). Construction of confidence limits about effect measures. Stat. Med. 27.

    Examples
    --------
    >>> import fairstats as fs
    >>> counts = {"a": (40, 10, 10, 40), "b": (30, 10, 20, 40)}
    >>> print(f"{fs.average_odds_difference(counts=counts, reference='a').estimate:.2f}")
    -0.10
    """
    return confusion_difference(
        "average_odds_difference",
        y_true,
        y_pred,
        counts,
        data_columns(sensitive_features, sample_weight, cluster, pos_label, missing, groups),
        agg,
        reference,
        None,
        method=method,
        threshold=threshold,
        alternative=alternative,
        confidence_level=confidence_level,
        simultaneous=simultaneous,
        adjust=adjust,
        comparisons=comparisons,
        n_resamples=9_999,
    )


def equalized_odds_difference(
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
    """Equalised odds: differences of TPR and of FPR against the reference, or the largest of them.

    Parameters
    ----------
    y_true, y_pred : array-like, shape (n,)
        Labels and predictions, any type with two values.
    agg : {None, "max"}, default None
        None: one row per group for TPR and one for FPR, adjusted as one family. ``"max"``: the largest gap
        of either rate between any two groups, which is fairlearn's value, with an interval for it.
    sensitive_features, counts, reference, comparisons, method, threshold, alternative
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
        Where a group lacks rows with one of the labels.

    References
    ----------
    .. [1] Hardt, Price, Srebro (2016). Equality of opportunity in supervised learning. NeurIPS 29.

    Examples
    --------
    >>> import fairstats as fs
    >>> counts = {"a": (40, 10, 10, 40), "b": (30, 10, 20, 40)}
    >>> result = fs.equalized_odds_difference(counts=counts, agg="max")
    >>> low, high = result.confidence_interval
    >>> print(f"{result.estimate:.2f} [{low:.2f}, {high:.2f}]")
    0.20 [0.00, 0.39]
    """
    return confusion_difference(
        "equalized_odds_difference",
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
