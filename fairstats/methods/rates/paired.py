"""Two models on the same people: what changes between groups, with the covariance of the pairing."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fairstats.ground.caution import caution
from fairstats.ground.counts import PairedCounts
from fairstats.ground.errors import InputError, InsufficientEvidenceWarning
from fairstats.ground.groups import find_reference
from fairstats.ground.outcomes import Outcomes
from fairstats.ground.results import Interval, check_choice, check_confidence_level
from fairstats.methods.rates.definitions import RATES
from fairstats.methods.rates.estimates import influence_matrix
from fairstats.methods.rates.pair import Wald
from fairstats.methods.rates.paired_result import PairedChange, PairedResult
from fairstats.methods.rates.simultaneous import adjust_pvalues, two_sided_pvalue

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["PairedChange", "PairedResult", "compare_models"]

#: metric → (rates, contrast)
PAIRED_METRICS: dict[str, tuple[str, str]] = {
    "disparate_impact": ("selection_rate", "ratio"),
    "conditional_accuracy_1": ("tpr", "ratio"),
    "conditional_accuracy_0": ("tnr", "ratio"),
    "conditional_use_accuracy_1": ("ppv", "ratio"),
    "conditional_use_accuracy_0": ("npv", "ratio"),
    "demographic_parity_difference": ("selection_rate", "difference"),
    "equal_opportunity_difference": ("tpr", "difference"),
    "predictive_parity_difference": ("ppv", "difference"),
}


def compare_models(
    y_true: Any,
    y_pred_a: Any,
    y_pred_b: Any,
    *,
    sensitive_features: Any = None,
    metric: str = "disparate_impact",
    counts: PairedCounts | None = None,
    reference: Hashable | None = None,
    confidence_level: float = 0.95,
    adjust: str = "holm",
    sample_weight: Any = None,
    cluster: Any = None,
    pos_label: Any = None,
    missing: Literal["raise", "drop", "group"] = "raise",
    groups: Sequence[Hashable] | None = None,
) -> PairedResult:
    """Compare a fairness metric of two models on the same people, e.g. before and after mitigation.

    Parameters
    ----------
    y_true : array-like, shape (n,), or None with `counts`
        Labels.
    y_pred_a, y_pred_b : array-like, shape (n,)
        Predictions of model A (before) and B (after).
    sensitive_features : array-like (n,) or (n, k), data frame or mapping
        Group of each row.
    metric : str, default "disparate_impact"
        One of the ratios or differences: "disparate_impact", "conditional_accuracy_1",
        "conditional_accuracy_0", "conditional_use_accuracy_1", "conditional_use_accuracy_0",
        "demographic_parity_difference", "equal_opportunity_difference", "predictive_parity_difference".
    counts : PairedCounts, optional
        Counts of label × prediction A × prediction B instead of rows.
    reference, confidence_level, adjust, sample_weight, cluster, pos_label, missing, groups
        As in `disparate_impact`.

    Returns
    -------
    PairedResult

    Raises
    ------
    InputError
        Where the input cannot be used.

    Warns
    -----
    InsufficientEvidenceWarning
        Where a rate is 0 or has no cases, so that no change can be computed.

    Notes
    -----
    Delta method on the eight cells of label × ŷ_A × ŷ_B per group: the covariance of the two models' metrics
    is part of the variance. Treating the models as independent overstates it.

    References
    ----------
    .. [1] Leisenring, Alonzo, Pepe (2000). Comparisons of predictive values of binary medical diagnostic
       tests for paired designs. Biometrics 56, 345–351.

    Examples
    --------
    >>> import fairstats as fs
    >>> y = [1, 0] * 40
    >>> before = [1] * 30 + [0] * 10 + [1] * 12 + [0] * 28
    >>> after = [1] * 28 + [0] * 12 + [1] * 24 + [0] * 16
    >>> group = ["a"] * 40 + ["b"] * 40
    >>> result = fs.compare_models(y, before, after, sensitive_features=group, reference="a")
    >>> print(f"{result.estimate:.3f} {result.changes[0].verdict}")
    2.143 closer to parity
    """
    check_choice("metric", metric, tuple(PAIRED_METRICS))
    level = check_confidence_level(confidence_level)
    if counts is None:
        counts = _paired_counts(
            y_true, y_pred_a, y_pred_b, sensitive_features, sample_weight, cluster, pos_label, missing, groups
        )
    elif sensitive_features is not None or y_pred_a is not None:
        raise InputError(
            "counts", got="both counts and rows", allowed="either", cure="leave one of them out (None)"
        )
    if not isinstance(counts, PairedCounts):
        raise InputError(
            "counts",
            got=type(counts).__name__,
            allowed="PairedCounts: label × prediction A × prediction B",
            cure="PairedCounts.from_counts({group: (n111, n110, n101, n100, n011, n010, n001, n000)})",
        )
    if len(counts.groups) < 2:
        raise InputError(
            "sensitive_features",
            got=f"one group ({counts.groups[0]!r})",
            allowed="two groups or more",
            cure="compare with another group",
        )
    rate, contrast = PAIRED_METRICS[metric]
    index, _ = find_reference(counts.groups, reference, sizes=counts.group_sizes)
    rates, joint = _joint_rates(counts, rate)
    changes = [
        _change(counts, rates, joint, g, index, contrast, level)
        for g in range(len(counts.groups))
        if g != index
    ]
    adjusted = adjust_pvalues([c.pvalue for c in changes], adjust)
    result = PairedResult(
        metric=metric,
        contrast=contrast,
        changes=tuple(replace(c, pvalue_adjusted=float(p)) for c, p in zip(changes, adjusted, strict=True)),
        confidence_level=level,
        adjust=adjust,
        counts=counts,
    )
    lacking = sorted({c.note for c in changes if c.note})
    if lacking:
        caution(f"{metric}: " + " ".join(lacking), InsufficientEvidenceWarning)
    return result


def _paired_counts(
    y_true: Any,
    y_pred_a: Any,
    y_pred_b: Any,
    sensitive_features: Any,
    sample_weight: Any,
    cluster: Any,
    pos_label: Any,
    missing: Any,
    groups: Any,
) -> PairedCounts:
    """Count label × prediction A × prediction B."""
    from fairstats.ground.labels import binary_columns

    if y_true is None or y_pred_a is None or y_pred_b is None:
        raise InputError(
            "y_true, y_pred_a, y_pred_b",
            got="None",
            allowed="three columns of the same rows",
            cure="pass all",
        )
    codes = binary_columns(pos_label, y_true=y_true, y_pred_a=y_pred_a, y_pred_b=y_pred_b)
    coded = {name: factor.codes.astype(np.float64) for name, factor in codes.items() if factor is not None}
    for column in coded.values():
        column[column < 0] = np.nan
    return PairedCounts.from_predictions(
        Outcomes.from_arrays(
            coded["y_true"],
            coded["y_pred_a"],
            extra=coded["y_pred_b"],
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
            cluster=cluster,
            missing=missing,
            groups=groups,
        )
    )


def _joint_rates(counts: PairedCounts, key: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Rates of both models, shape (2, G), and their covariance, shape (2G, 2G)."""
    rate = RATES[key]
    n_groups = len(counts.groups)
    rates, influences = [], []
    for model in (0, 1):
        table = counts.confusion(model)
        with np.errstate(divide="ignore", invalid="ignore"):
            rates.append(table.total(*rate.successes) / table.total(*rate.cases))
        whole = np.kron(np.eye(n_groups), PairedCounts.confusion_map(model))
        influences.append(influence_matrix(table, rate) @ whole.T)
    influence = np.vstack(influences)
    known = np.isfinite(influence).all(axis=1)
    joint = np.full((2 * n_groups, 2 * n_groups), np.nan)
    joint[np.ix_(known, known)] = influence[known] @ counts.covariance() @ influence[known].T
    return np.vstack(rates), joint


def _change(
    counts: PairedCounts,
    rates: NDArray[np.float64],
    joint: NDArray[np.float64],
    i: int,
    j: int,
    contrast: str,
    level: float,
) -> PairedChange:
    n_groups = len(counts.groups)
    where = [i, j, n_groups + i, n_groups + j]
    r = np.array([rates[0, i], rates[0, j], rates[1, i], rates[1, j]])
    covariance = joint[np.ix_(where, where)]
    ratio = contrast == "ratio"
    nan = float("nan")
    unknown = Interval(-np.inf if not ratio else 0.0, np.inf, level, "delta, paired")
    with np.errstate(divide="ignore", invalid="ignore"):
        before = float(r[0] / r[1] if ratio else r[0] - r[1])
        after = float(r[2] / r[3] if ratio else r[2] - r[3])
    empty = PairedChange(
        group=counts.groups[i],
        reference=counts.groups[j],
        before=before,
        after=after,
        estimate=nan,
        std_error=nan,
        interval=unknown,
        statistic=nan,
        pvalue=nan,
        pvalue_adjusted=nan,
        distance_change=nan,
        distance_interval=unknown,
        verdict="insufficient evidence",
        n=int(counts.group_sizes[i] + counts.group_sizes[j]),
    )
    if np.isnan(r).any() or (ratio and (r == 0).any()):
        what = "a rate of 0" if ratio and (r == 0).any() else "no cases for the rate"
        return replace(empty, note=f"{empty.group} or {empty.reference} has {what} under one of the models.")
    sign = np.array([-1.0, 1.0, 1.0, -1.0])
    gradient = sign / r if ratio else sign
    scaled = [float(np.log(v)) if ratio else v for v in (before, after)]
    std_error = float(np.sqrt(max(gradient @ covariance @ gradient, 0.0)))
    if std_error <= 1e-12:
        return replace(empty, note=f"{empty.group} and {empty.reference}: no variation, so no change.")
    shift = Wald(scaled[1] - scaled[0], std_error, counts.degrees_of_freedom)
    low, high = shift.interval(level)
    toward = gradient * np.sign([scaled[0], scaled[0], scaled[1], scaled[1]])
    distance_error = float(np.sqrt(max(toward @ covariance @ toward, 0.0)))
    distance = Wald(abs(scaled[1]) - abs(scaled[0]), distance_error, counts.degrees_of_freedom)
    distance_interval = Interval(*distance.interval(level), level, "delta, paired")
    statistic = shift.statistic(0.0)
    estimate = float(np.exp(shift.estimate)) if ratio else shift.estimate
    return replace(
        empty,
        estimate=estimate,
        std_error=std_error * (estimate if ratio else 1.0),
        interval=Interval(
            float(np.exp(low)) if ratio else low,
            float(np.exp(high)) if ratio else high,
            level,
            "delta, paired",
        ),
        statistic=statistic,
        pvalue=two_sided_pvalue(statistic, counts.degrees_of_freedom),
        distance_change=distance.estimate,
        distance_interval=distance_interval,
        verdict=_paired_verdict(distance_interval),
    )


def _paired_verdict(distance: Interval) -> str:
    if distance.high < 0:
        return "closer to parity"
    return "further from parity" if distance.low > 0 else "undecided"
