"""Ratios of rates between groups (Besse et al. 2018): disparate impact, conditional (use) accuracy."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Literal

from fairstats.ground.results import check_choice
from fairstats.methods.rates.result import RatioResult
from fairstats.methods.rates.setup import (
    comparison_result,
    confusion_table,
    data_columns,
    make_settings,
    selection_table,
)

__all__ = ["conditional_accuracy", "conditional_use_accuracy", "disparate_impact"]

RatioMethod = Literal["log", "delta", "score", "koopman", "bootstrap"]
Alternative = Literal["two-sided", "less", "greater"]
Simultaneous = Literal["bonferroni", "max-z"] | None
#: metric → (rate, words)
RATIO_METRICS = {
    "disparate_impact": ("selection_rate", "Disparate impact: ratio of selection rates"),
    "conditional_accuracy_1": ("tpr", "Conditional accuracy, label 1: ratio of true positive rates"),
    "conditional_accuracy_0": ("tnr", "Conditional accuracy, label 0: ratio of true negative rates"),
    "conditional_use_accuracy_1": ("ppv", "Conditional use accuracy, prediction 1: ratio of precisions"),
    "conditional_use_accuracy_0": (
        "npv",
        "Conditional use accuracy, prediction 0: ratio of negative predictive values",
    ),
}


def disparate_impact(
    y_pred: Any = None,
    *,
    sensitive_features: Any = None,
    counts: Any = None,
    reference: Hashable | None = None,
    comparisons: Literal["reference", "all"] = "reference",
    method: RatioMethod = "log",
    threshold: float = 0.8,
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
) -> RatioResult:
    """Disparate impact: the ratio of selection rates P(ŷ=1 | S=s) / P(ŷ=1 | S=reference).

    The ratio T_n of Besse et al. (2018), section 3, with interval, tests against the four-fifths rule, and a
    three-way verdict. Passing labels in place of predictions gives the disparate impact of the data.

    Parameters
    ----------
    y_pred : array-like, shape (n,)
        Predictions (or labels), any type with two values.
    sensitive_features : array-like (n,) or (n, k), data frame or mapping
        Group of each row; several columns are crossed.
    counts : SelectionCounts, ConfusionCounts, mapping or frame, optional
        Counts instead of rows.
    reference : hashable, optional
        Reference group (value or label). Default: the largest, said in the result. ``"highest"`` takes the
        group with the highest rate and makes the intervals simultaneous over all pairs.
    comparisons : {"reference", "all"}, default "reference"
        Each other group against the reference, or all pairs.
    method : {"log", "delta", "score", "koopman", "bootstrap"}, default "log"
        ``"log"``: T·exp(±z·√[(1−r₀)/k₀ + (1−r₁)/k₁]). ``"delta"``: Theorem 3.1, T ± z·T·√[…]. ``"score"``:
        Miettinen–Nurminen; ``"koopman"`` without the factor N/(N−1). ``"bootstrap"``: BCa on cell counts.
        Where a cell is empty, score takes the place of log and bootstrap, with a warning.
    threshold : float, default 0.8
        Null value of the one-sided tests; the verdict asks on which side of it the ratio lies.
    alternative : {"two-sided", "less", "greater"}, default "two-sided"
        Test and interval of the tidy table. Two-sided: H0 ratio = 1. ``"less"``: H0 ratio ≥ threshold
        (rejected: a violation is shown). ``"greater"``: H0 ratio ≤ threshold (the paper's).
    confidence_level : float, default 0.95
        Of intervals; verdicts use the one-sided bounds at this level.
    simultaneous : {None, "bonferroni", "max-z"}
        Make the intervals hold for all comparisons at once.
    adjust : str, default "holm"
        Adjustment of p-values over the comparisons.
    sample_weight, cluster : array-like, shape (n,), optional
        Weights and sampling units: variances by linearisation, t with (units − 1) degrees of freedom.
    pos_label : scalar or mapping, optional
        The favourable value, needed unless labels are 0/1, False/True or −1/1.
    missing : {"raise", "drop", "group"}, default "raise"
        What to do with missing values.
    groups : sequence, optional
        Order of the groups; default category order, else by decreasing size.
    n_resamples : int, default 9999
        Bootstrap resamples.
    rng : None, int or numpy.random.Generator
        Seed of the bootstrap.

    Returns
    -------
    RatioResult
        `estimate`, `confidence_interval`, `pvalue`, `verdict`, `tests()`, `to_frame()`, `plot()`.

    Raises
    ------
    InputError
        Where the input cannot be used; the message names the argument and the cure.

    Warns
    -----
    InsufficientEvidenceWarning
        Where a group has no rows, or neither has a success.
    DataWarning
        Where a method had to be replaced because a cell is empty.

    Notes
    -----
    σ²/n of Theorem 3.1 is T²·[(1−r₀)/k₀ + (1−r₁)/k₁]. The rule below the theorem prints "P(…) ≥ α" for the
    rejection at √n(T_n − β)/σ ≥ z_{1−α}; read ≤ α.

    References
    ----------
    .. [1] Besse, del Barrio, Gordaliza, Loubes (2018). Confidence intervals for testing disparate impact in
       fair learning. arXiv:1807.06362.
    .. [2] Miettinen, Nurminen (1985). Comparative analysis of two rates. Statistics in Medicine 4, 213–226.

    Examples
    --------
    The disparate impact of sex in the Adult data (Besse et al., section 4: 0.36 in [0.34, 0.39]):

    >>> import fairstats as fs
    >>> result = fs.disparate_impact(counts={"Male": (6395, 13798), "Female": (1112, 8520)}, method="delta")
    >>> low, high = result.confidence_interval
    >>> print(f"{result.estimate:.4f} [{low:.4f}, {high:.4f}] {result.verdict}")
    0.3645 [0.3431, 0.3860] violated
    """
    settings = make_settings(
        "ratio",
        method=method,
        threshold=threshold,
        alternative=alternative,
        confidence_level=confidence_level,
        simultaneous=simultaneous,
        adjust=adjust,
        comparisons=comparisons,
        n_resamples=n_resamples,
    )
    columns = data_columns(sensitive_features, sample_weight, cluster, pos_label, missing, groups)
    rate, words = RATIO_METRICS["disparate_impact"]
    return comparison_result(
        RatioResult,
        selection_table(y_pred, counts, **columns),
        rate=rate,
        metric="disparate_impact",
        words=words,
        contrast="ratio",
        reference=reference,
        settings=settings,
        rng=rng,
    )


def conditional_accuracy(
    y_true: Any = None,
    y_pred: Any = None,
    *,
    sensitive_features: Any = None,
    label: Literal[0, 1] = 1,
    counts: Any = None,
    reference: Hashable | None = None,
    comparisons: Literal["reference", "all"] = "reference",
    method: RatioMethod = "log",
    threshold: float = 0.8,
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
) -> RatioResult:
    """Conditional procedure accuracy: ratio of P(ŷ=label | Y=label, S=s) between groups.

    CA₁ (label 1) compares true positive rates, CA₀ (label 0) true negative rates; Theorem 3.2 of Besse et al.
    (2018). The usual names are TPR ratio and TNR ratio.

    Parameters
    ----------
    y_true, y_pred : array-like, shape (n,)
        Labels and predictions, any type with two values.
    sensitive_features : array-like (n,) or (n, k), data frame or mapping
        Group of each row.
    label : {1, 0}, default 1
        Which label to condition on: 1 the favourable, 0 the other.
    counts : ConfusionCounts, mapping or frame, optional
        Counts instead of rows.
    reference, comparisons, method, threshold, alternative, confidence_level, simultaneous, adjust
        As in `disparate_impact`.
    sample_weight, cluster, pos_label, missing, groups, n_resamples, rng
        As in `disparate_impact`.

    Returns
    -------
    RatioResult

    Raises
    ------
    InputError
        Where the input cannot be used.

    Warns
    -----
    InsufficientEvidenceWarning
        Where a group has no row with that label.

    Notes
    -----
    Misprints settled: the definitions in section 2 divide a conditional probability again by a joint one; the
    estimator R_n and the meaning are the plain ratio of rates. R_n's denominator prints 1{g=1}1{g=1}; read
    1{g=1}1{Y=1}. In Σ₄ of Theorems 3.2 and 3.3 the entries (4,1) and (2,1) print +p₀r₁ and −p₀r₁; right are
    −p₀r₁ and −p₀p₁ (`fairstats.methods.rates.delta.multinomial_sigma4`). As printed σ² is too large by 4T².

    References
    ----------
    .. [1] Besse et al. (2018), section 2 and Theorem 3.2.

    Examples
    --------
    >>> import fairstats as fs
    >>> result = fs.conditional_accuracy(counts={"a": (40, 10, 10, 40), "b": (30, 10, 20, 40)}, reference="a")
    >>> print(f"{result.estimate:.2f} {result.verdict}")
    0.75 undecided
    """
    check_choice("label", label, (0, 1))
    return _confusion_ratio(
        f"conditional_accuracy_{int(label)}",
        y_true,
        y_pred,
        counts,
        data_columns(sensitive_features, sample_weight, cluster, pos_label, missing, groups),
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


def conditional_use_accuracy(
    y_true: Any = None,
    y_pred: Any = None,
    *,
    sensitive_features: Any = None,
    prediction: Literal[0, 1] = 1,
    counts: Any = None,
    reference: Hashable | None = None,
    comparisons: Literal["reference", "all"] = "reference",
    method: RatioMethod = "log",
    threshold: float = 0.8,
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
) -> RatioResult:
    """Conditional use accuracy: ratio of P(Y=prediction | ŷ=prediction, S=s) between groups.

    CU₁ (prediction 1) compares positive predictive values, CU₀ (prediction 0) negative predictive values;
    Theorem 3.3 of Besse et al. (2018). The usual names are PPV ratio (precision ratio) and NPV ratio.

    Parameters
    ----------
    y_true, y_pred : array-like, shape (n,)
        Labels and predictions, any type with two values.
    sensitive_features : array-like (n,) or (n, k), data frame or mapping
        Group of each row.
    prediction : {1, 0}, default 1
        Which prediction to condition on.
    counts : ConfusionCounts, mapping or frame, optional
        Counts instead of rows.
    reference, comparisons, method, threshold, alternative, confidence_level, simultaneous, adjust
        As in `disparate_impact`.
    sample_weight, cluster, pos_label, missing, groups, n_resamples, rng
        As in `disparate_impact`.

    Returns
    -------
    RatioResult

    Raises
    ------
    InputError
        Where the input cannot be used.

    Warns
    -----
    InsufficientEvidenceWarning
        Where a group has no row with that prediction.

    Notes
    -----
    The misprints of the paper are those that `conditional_accuracy` names; p_s = P(ŷ=1, Y=1, S=s) and
    r_s = P(ŷ=1, S=s) here.

    References
    ----------
    .. [1] Besse et al. (2018), section 2 and Theorem 3.3.

    Examples
    --------
    >>> import fairstats as fs
    >>> counts = {"a": (40, 10, 10, 40), "b": (30, 10, 20, 40)}
    >>> result = fs.conditional_use_accuracy(counts=counts, reference="a")
    >>> print(f"{result.estimate:.4f}")
    0.9375
    """
    check_choice("prediction", prediction, (0, 1))
    return _confusion_ratio(
        f"conditional_use_accuracy_{int(prediction)}",
        y_true,
        y_pred,
        counts,
        data_columns(sensitive_features, sample_weight, cluster, pos_label, missing, groups),
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


def _confusion_ratio(
    metric: str,
    y_true: Any,
    y_pred: Any,
    counts: Any,
    columns: dict[str, Any],
    reference: Hashable | None,
    rng: Any,
    **settings: Any,
) -> RatioResult:
    rate, words = RATIO_METRICS[metric]
    return comparison_result(
        RatioResult,
        confusion_table(y_true, y_pred, counts, **columns),
        rate=rate,
        metric=metric,
        words=words,
        contrast="ratio",
        reference=reference,
        settings=make_settings("ratio", **settings),
        rng=rng,
    )
