"""Any metric of the registry, and any smooth function of the confusion counts, compared between groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Unpack

from fairstats.ground import registry
from fairstats.ground.checks import check_choice
from fairstats.ground.errors import InputError
from fairstats.methods.rates.compare import compare_estimates, compare_metric
from fairstats.methods.rates.estimates import estimate_smooth
from fairstats.methods.rates.maxima import MaximumResult
from fairstats.methods.rates.result import DifferenceResult, RatioResult
from fairstats.methods.rates.setup import Options, check_groups, count_table, documented, make_settings

CountFunction = Callable[..., Any]


@documented()
def group_metric(
    y_true: Any = None,
    y_pred: Any = None,
    *,
    metric: str | CountFunction,
    contrast: Literal["difference", "ratio", "gap"] | None = None,
    method: Literal["delta", "score"] | None = None,
    threshold: float = 0.8,
    margin: float = 0.1,
    **options: Unpack[Options],
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
    (simulated; about the value itself .18 to .93); of a function of few of the rows (a rate of the positives, one or
    two expected) in up to 11%. Under weights they are about the value, ratios on the log scale. Variances come from
    `statsmodels.stats._delta_method.NonlinearDeltaCov` at the cell totals, with the multinomial (or linearised)
    covariance and central differences for the gradient.

    Examples
    --------
    >>> import fairstats as fs
    >>> counts = {"a": (40, 10, 10, 40), "b": (30, 10, 20, 40)}
    >>> result = fs.group_metric(metric="f1", counts=counts, reference="a")
    >>> low, high = result.confidence_interval
    >>> print(f"{result.estimate:.4f} [{low:.4f}, {high:.4f}]")
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
    table = count_table(given, chosen.needs)
    check_groups(table.groups)
    settings = make_settings(chosen.contrast, given, any_margin=True)
    if callable(metric):
        estimates = estimate_smooth(table, registry.Rate(name, name, ""), metric)
        return compare_estimates(chosen, table, [estimates], settings, given["reference"])
    return compare_metric(chosen, table, settings, given["reference"], asked=method is not None)


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
