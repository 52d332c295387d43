"""Rates compared between groups: ratios (Besse et al. 2018), differences with fairlearn's signature, any metric."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Unpack

from fairstats.ground import registry
from fairstats.ground.checks import check_choice
from fairstats.ground.errors import InputError
from fairstats.methods.rates import setup
from fairstats.methods.rates.compare import compare_estimates, compare_metric, run
from fairstats.methods.rates.estimates import estimate_smooth
from fairstats.methods.rates.maxima import MaximumResult
from fairstats.methods.rates.result import DifferenceResult, RatioResult
from fairstats.methods.rates.stratified import can_be_adjusted, check_adjustable


@setup.documented(setup.RATIO)
def disparate_impact(y_pred: Any = None, **options: Unpack[setup.RatioOptions]) -> RatioResult:
    """Disparate impact: the ratio of selection rates P(ŷ=1 | S=s) / P(ŷ=1 | S=reference).

    The ratio T_n of Besse et al. (2018), section 3, with interval, tests against the four-fifths rule, and a
    three-way verdict. Passing labels in place of predictions gives the disparate impact of the data.

    Returns
    -------
    RatioResult
        `estimate`, `confidence_interval`, `pvalue`, `verdict`, `tests()`, `to_frame()`, `plot()`.

    Notes
    -----
    σ²/n of Theorem 3.1 is T²·[(1−r₀)/k₀ + (1−r₁)/k₁]; ``vignettes/methods.md`` lists the misprints settled here.

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
    return run("disparate_impact", y_pred=y_pred, **options)


@setup.documented(setup.RATIO)
def conditional_accuracy(
    y_true: Any = None, y_pred: Any = None, *, label: Literal[0, 1] = 1, **options: Unpack[setup.RatioOptions]
) -> RatioResult:
    """Conditional procedure accuracy: ratio of P(ŷ=label | Y=label, S=s) between groups (the TPR or TNR ratio).

    Parameters
    ----------
    label : {1, 0}, default 1
        Which label to condition on: CA₁ compares true positive rates, CA₀ true negative rates.

    References
    ----------
    .. [1] Besse et al. (2018), section 2 and Theorem 3.2; ``vignettes/methods.md`` lists its misprints.

    Examples
    --------
    >>> import fairstats as fs
    >>> result = fs.conditional_accuracy(counts={"a": (40, 10, 10, 40), "b": (30, 10, 20, 40)}, reference="a")
    >>> print(f"{result.estimate:.2f} {result.verdict}")
    0.75 undecided
    """
    check_choice("label", label, (0, 1))
    return run(f"conditional_accuracy_{int(label)}", y_true=y_true, y_pred=y_pred, **options)


@setup.documented(setup.RATIO)
def conditional_use_accuracy(
    y_true: Any = None, y_pred: Any = None, *, prediction: Literal[0, 1] = 1, **options: Unpack[setup.RatioOptions]
) -> RatioResult:
    """Conditional use accuracy: ratio of P(Y=prediction | ŷ=prediction, S=s) between groups (the PPV or NPV ratio).

    Parameters
    ----------
    prediction : {1, 0}, default 1
        Which prediction to condition on: CU₁ compares positive predictive values, CU₀ negative ones.

    References
    ----------
    .. [1] Besse et al. (2018), section 2 and Theorem 3.3; ``vignettes/methods.md`` lists its misprints.

    Examples
    --------
    >>> import fairstats as fs
    >>> result = fs.conditional_use_accuracy(counts={"a": (40, 10, 10, 40), "b": (30, 10, 20, 40)}, reference="a")
    >>> print(f"{result.estimate:.4f}")
    0.9375
    """
    check_choice("prediction", prediction, (0, 1))
    return run(f"conditional_use_accuracy_{int(prediction)}", y_true=y_true, y_pred=y_pred, **options)


@setup.documented(setup.DIFFERENCE)
def demographic_parity_difference(
    y_true: Any = None, y_pred: Any = None, **options: Unpack[setup.DifferenceOptions]
) -> DifferenceResult | MaximumResult:
    """Demographic parity difference: P(ŷ=1 | S=s) − P(ŷ=1 | S=reference).

    Also known as statistical parity difference, SPD (the HFM and ECD papers), and DP (Uncertainty Matters).

    Parameters
    ----------
    y_true : array-like, shape (n,), or None
        Not used; there for the signature that all differences share with fairlearn.

    References
    ----------
    .. [1] Agresti, Min (2005). Frequentist performance of Bayesian confidence intervals for comparing
       proportions. Biometrics 61, 515–523.

    Examples
    --------
    >>> import fairstats as fs
    >>> result = fs.demographic_parity_difference(counts={"Male": (6395, 13798), "Female": (1112, 8520)})
    >>> low, high = result.confidence_interval
    >>> print(f"{result.estimate:.4f} [{low:.4f}, {high:.4f}] {result.verdict}")
    -0.2012 [-0.2102, -0.1921] violated
    """
    return run("demographic_parity_difference", y_true=y_true, y_pred=y_pred, **options)


@setup.documented(setup.DIFFERENCE)
def equal_opportunity_difference(
    y_true: Any = None, y_pred: Any = None, **options: Unpack[setup.DifferenceOptions]
) -> DifferenceResult | MaximumResult:
    """Equal opportunity difference: TPR of each group − TPR of the reference.

    Also known as EOp (Uncertainty Matters) and EO (HFM); the ECD paper's undefined "EOD" is often this.

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
    return run("equal_opportunity_difference", y_true=y_true, y_pred=y_pred, **options)


@setup.documented(setup.DIFFERENCE)
def predictive_parity_difference(
    y_true: Any = None, y_pred: Any = None, **options: Unpack[setup.DifferenceOptions]
) -> DifferenceResult | MaximumResult:
    """Predictive parity difference: PPV (precision) of each group − PPV of the reference.

    Also known as PP (Uncertainty Matters) and PQP, predictive quality parity (HFM).

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
    return run("predictive_parity_difference", y_true=y_true, y_pred=y_pred, **options)


@setup.documented(setup.DIFFERENCE)
def average_odds_difference(
    y_true: Any = None, y_pred: Any = None, **options: Unpack[setup.OddsOptions]
) -> DifferenceResult | MaximumResult:
    """Average odds difference, AOD: mean of the differences of TPR and of FPR against the reference.

    Parameters
    ----------
    method : {None, "delta", "score", "mee"}
        ``"delta"``: the delta method, closed because AOD is linear in the rates. ``"score"``: MOVER from the
        score intervals of the two differences [2]_. Default: score.

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
    return run("average_odds_difference", y_true=y_true, y_pred=y_pred, **options)


@setup.documented(setup.DIFFERENCE)
def equalized_odds_difference(
    y_true: Any = None, y_pred: Any = None, **options: Unpack[setup.DifferenceOptions]
) -> DifferenceResult | MaximumResult:
    """Equalised odds: differences of TPR and of FPR against the reference, or the largest of them.

    Parameters
    ----------
    agg : {None, "max"}, default None
        None: one row per group for TPR and one for FPR, adjusted as one family. ``"max"``: the largest gap
        of either rate between any two groups, which is fairlearn's value, with an interval for it.

    References
    ----------
    .. [1] Hardt, Price, Srebro (2016). Equality of opportunity in supervised learning. NeurIPS 29.

    Examples
    --------
    >>> import fairstats as fs
    >>> counts = {"a": (40, 10, 10, 40), "b": (30, 10, 20, 40)}
    >>> result = fs.equalized_odds_difference(counts=counts, agg="max")
    >>> print(f"{result.estimate:.2f} [{result.confidence_interval.low:.2f}, {result.confidence_interval.high:.2f}]")
    0.20 [0.00, 0.39]
    """
    return run("equalized_odds_difference", y_true=y_true, y_pred=y_pred, **options)


@setup.documented()
def group_metric(
    y_true: Any = None,
    y_pred: Any = None,
    *,
    metric: str | Callable[..., Any],
    contrast: Literal["difference", "ratio", "gap"] | None = None,
    method: Literal["delta", "score"] | None = None,
    threshold: float = 0.8,
    margin: float = 0.1,
    **options: Unpack[setup.Options],
) -> DifferenceResult | RatioResult | MaximumResult:
    """Compare any rate of the registry, or a smooth function of the confusion counts, between groups.

    Parameters
    ----------
    metric : str or callable
        A rate — ``"f1"``, ``"balanced_accuracy"``, ``"mcc"``, ``"false_omission_rate"``, ``"accuracy"``, … —,
        a criterion such as ``"treatment_equality"`` (FN/FP), a metric of an audit by its name
        (``"balanced_accuracy_difference"``, ``"npv_ratio"``, ``"accuracy_max"``), or a function ``f(tp, fp, fn, tn)``
        that takes floats or arrays of counts and does not depend on their total (f1, but no sum of counts).
    contrast : {"difference", "ratio", "gap"}, optional
        Difference or ratio of each group to the reference, or the largest gap between any two groups.
        Default: what the name says, else the difference.
    method : {None, "delta", "score"}
        Default, and ``"score"``, what an audit prints: the score method for successes among cases, MOVER
        from score intervals for differences of means of such (balanced accuracy), the delta method for
        anything else. ``"delta"``: of rates and differences of their means estimate ± z·s, as in
        `disparate_impact`; too liberal beside a small group.
    threshold : float, default 0.8
        Of ratios: null value of the one-sided tests.
    margin : float, default 0.1
        Of differences and gaps; for metrics that are no shares it may be 1 or more.
    alternative : {"two-sided", "less", "greater"}, default "two-sided"
        As in `disparate_impact` for ratios and in `demographic_parity_difference` for differences.

    Raises
    ------
    InputError
        If the metric is not known, or the function does not return one number per group.

    Warns
    -----
    InsufficientEvidenceWarning
        Where a group's metric is not finite or has no variance.

    Notes
    -----
    Limits of the delta method are, without weights, the wider of those about the value with half a row and with a whole
    one more in every cell, of groups of ten rows or more: they are conservative. With one group of 10 to 40 rows 95%
    intervals of F1, Matthews's correlation and ratios of means cover .938 or more, and one limit errs in at most 7.5%
    (about the value itself .18 to .93); of a function of few of the rows (one or two expected) in up to 11%. Under
    weights they are about the value, ratios on the log scale. Variances come from statsmodels' `NonlinearDeltaCov`.

    Examples
    --------
    >>> import fairstats as fs
    >>> counts = {"a": (40, 10, 10, 40), "b": (30, 10, 20, 40)}
    >>> result = fs.group_metric(metric="f1", counts=counts, reference="a")
    >>> print(f"{result.estimate:.4f} [{result.confidence_interval.low:.4f}, {result.confidence_interval.high:.4f}]")
    -0.1333 [-0.2721, 0.0117]
    """
    given: dict[str, Any] = {"y_true": y_true, "y_pred": y_pred, "method": method, **options}
    given |= {"threshold": threshold, "margin": margin}
    check_choice("contrast", contrast, (None, *registry.ENDINGS))
    check_choice("method", method, (None, "delta", "score"))
    if callable(metric):
        name, kind = getattr(metric, "__name__", "metric").strip("<>"), contrast or "difference"
        chosen = registry.Metric(f"{name}_{kind}", f"{name}: {kind} between groups", (name,), kind, "")
    else:
        chosen = _of_name(metric, contrast)
        name = chosen.rates[0]
    smooth = callable(metric) or any(registry.RATES[rate].interval == "delta" for rate in chosen.rates)
    if chosen.contrast == "gap" and smooth:
        cure = 'contrast="difference" with comparisons="all"'
        raise InputError("contrast", got=f"'gap' of {name}", allowed="shares, and means of shares", cure=cure)
    if given["strata"] is not None:
        check_adjustable(chosen)
    table, strata = setup.count_tables(given, chosen.needs)
    setup.check_groups(table.groups)
    settings = setup.make_settings(chosen.contrast, given, any_margin=True)
    if callable(metric):
        estimates = estimate_smooth(table, registry.Rate(name, name, ""), metric)
        return compare_estimates(chosen, table, [estimates], settings, given["reference"])
    if not can_be_adjusted(chosen):  # of a tally, whose strata nobody asked for
        strata = None
    return compare_metric(chosen, table, settings, given["reference"], strata=strata)


def _of_name(name: str, contrast: registry.Contrast | None) -> registry.Metric:
    """The metric of a full name, or of the name of a rate or criterion with a contrast."""
    metric = registry.find_metric(name) if isinstance(name, str) else None
    if metric is None:
        check_choice("metric", name, (*registry.RATES, *registry.CRITERIA))
        derived = registry.derive_metric(name, contrast or "difference")
        entry = registry.METRICS.get(derived.name, derived)
        return entry if entry.function == "group_metric" else derived
    if not metric.rates:
        cure = f"call fs.{metric.function}"
        raise InputError("metric", got=repr(name), allowed="a metric of the cells", cure=cure)
    if contrast not in (None, metric.contrast):
        got, allowed = f"{contrast!r} with metric={name!r}", f"{metric.contrast!r}, as the name says"
        raise InputError("contrast", got=got, allowed=allowed, cure="leave out contrast=, or name the rate")
    return metric
