"""Differences of rates between groups, with fairlearn's signature: signed, or the largest gap."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any, Literal

from fairstats.ground.counts import CellCounts
from fairstats.ground.groups import find_reference
from fairstats.ground.results import check_choice
from fairstats.methods.rates.estimates import RateEstimates, estimate_average_odds, estimate_rates
from fairstats.methods.rates.inference import compare_rates, warn_about
from fairstats.methods.rates.maxima import MaximumResult, largest_gap
from fairstats.methods.rates.result import DifferenceResult
from fairstats.methods.rates.setup import (
    confusion_table,
    data_columns,
    generator_for,
    make_settings,
    selection_table,
)
from fairstats.methods.rates.simultaneous import adjust_pvalues

__all__ = [
    "average_odds_difference",
    "demographic_parity_difference",
    "equal_opportunity_difference",
    "equalized_odds_difference",
    "predictive_parity_difference",
]

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
    return _difference(
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
    return _confusion_difference(
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
    return _confusion_difference(
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
    return _confusion_difference(
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
    0.20 [0.00, 0.40]
    """
    return _confusion_difference(
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


def _confusion_difference(
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
    check_choice("agg", agg, (None, "max"))
    table = confusion_table(y_true, y_pred, counts, **columns)
    return _difference(metric, table, agg, reference, rng, **settings)


def _difference(
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
