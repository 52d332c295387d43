"""Any metric of rates by its name, and any function of labels and predictions, between groups."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeVar

from fairstats.ground import registry
from fairstats.ground.checks import SeedOrGenerator, check_choice, check_that
from fairstats.ground.counts import CellCounts
from fairstats.ground.errors import InputError
from fairstats.methods.rates import setup
from fairstats.methods.rates.classes.compare import run_classes
from fairstats.methods.rates.compare import (
    compare_estimates,
    compare_extremes,
    compare_metric,
    name_with,
    pool_estimates,
    run,
)
from fairstats.methods.rates.disparity import CONDITIONAL_DISPARITY, conditional_disparity
from fairstats.methods.rates.estimates import RateEstimates, estimate_smooth
from fairstats.methods.rates.inferred.compare import is_inferred, run_inferred
from fairstats.methods.rates.maxima import MaximumResult
from fairstats.methods.rates.numbers.bootstrap import (
    compare_called_metric,
    name_of_metric,
    takes_rows,
)
from fairstats.methods.rates.result import (
    ANYTIME_METHODS,
    DifferenceResult,
    Inference,
    RatioResult,
    warned,
)
from fairstats.methods.rates.strata.compare import adjusted, can_be_adjusted, check_adjustable
from fairstats.methods.rates.strata.functions import CellQuantity

_Compared = TypeVar("_Compared", bound=RatioResult | DifferenceResult | MaximumResult)


def group_metric(
    y_true: Any = None,
    y_pred: Any = None,
    *,
    metric: str
    | Callable[..., Any]
    | Mapping[str, Callable[..., Any]]
    | Sequence[Callable[..., Any]],
    contrast: Literal["difference", "ratio", "odds_ratio", "gap"] | None = None,
    agg: Literal["max", "min", "mean"] | None = None,
    method: Literal["delta", "score", "anytime", "anytime-exact", "studentised", "bca"]
    | None = None,
    threshold: float = 0.8,
    margin: float = 0.1,
    sensitive_features: Any = None,
    counts: Any = None,
    reference: Hashable | None = None,
    comparisons: Literal["reference", "all", "rest", "overall"] = "reference",
    alternative: Literal["two-sided", "less", "greater"] = "two-sided",
    confidence_level: float = 0.95,
    simultaneous: Literal["bonferroni", "max-z"] | None = None,
    adjust: str = "holm",
    strata: Any = None,
    classes: Literal["one-vs-rest", "macro", "ordered"] | None = None,
    sample_weight: Any = None,
    cluster: Any = None,
    pos_label: Any = None,
    label_values: Any = None,
    missing: Literal["raise", "drop", "group"] = "raise",
    groups: Sequence[Hashable] | None = None,
    planned: int | None = None,
    n_resamples: int = 999,
    n_permutations: int = 199,
    rng: SeedOrGenerator = None,
    sensitive_probabilities: Any = None,
    calibration_sample: Any = None,
) -> Any:
    """Compare any rate of the registry, a function of the confusion counts, or any metric of
    labels and predictions, between groups.

    Parameters
    ----------
    y_true, y_pred : array-like, shape (n,)
        Labels and predictions, any type with two values; of a metric of labels and predictions
        whatever it takes.
    metric : str, callable, mapping or sequence of callables
        A rate — ``"f1"``, ``"balanced_accuracy"``, ``"mcc"``, ``"false_omission_rate"``,
        ``"accuracy"``, … —, a criterion such as ``"treatment_equality"`` (FN/FP), a metric of an
        audit by its name (``"balanced_accuracy_difference"``, ``"npv_ratio"``,
        ``"accuracy_max"``), ``"conditional_demographic_disparity"`` (Wachter et al. [5]_: the share
        of each group among the rejected less that among the accepted, within `strata`, which count
        by their rows; without strata demographic disparity), or a function ``f(tp, fp, fn, tn)``
        that takes floats or arrays of counts and does not depend on their total (f1, but no sum of
        counts; one that bears a metric's name is called ``own_f1``, say), or a function
        ``metric(y_true, y_pred[, sample_weight])`` that returns a number, scikit-learn's or your
        own: two arguments without a default tell it from the other. Several of these, as a list or
        {name: function}, give {name: result}, each adjusted by itself.
    contrast : {"difference", "ratio", "odds_ratio", "gap"}, optional
        Difference, ratio or ratio of the odds r/(1 − r) of each group to the reference, or the
        largest gap between any two groups. Default: what the name says, else the difference. Odds
        ratios are of rates (successes among cases), by the score of Miettinen and Nurminen, and by
        the exact test where few cases are expected; within strata by the stratified score, and the
        exact conditional test besides where few are.
    agg : {None, "max", "min", "mean"}
        One number over all groups, as fairlearn makes it, in place of comparisons: of differences
        ``"max"``, the largest gap; of ratios ``"min"``, the smallest between any two groups, of
        several rates the smallest of all (``metric="equalized_odds_ratio"``: fairlearn's
        ``agg="worst_case"``; ``"selection_rate_ratio"``: its `demographic_parity_ratio`); of both
        ``"mean"``, the mean of the rates' extremes. Limits and verdict of ratios and means are from
        the limits of all pairs, and conservative.
    method : {None, "delta", "score", "anytime", "anytime-exact", "studentised", "bca"}
        Default, and ``"score"``, what an audit prints: the score method for successes among cases,
        MOVER from score intervals for differences of means of such (balanced accuracy), the delta
        method for anything else. ``"delta"``: of rates and differences of their means estimate ±
        z·s, as in `disparate_impact`; too liberal beside a small group. Of functions of labels and
        predictions ``"studentised"`` (default), the bootstrap of (θ* − θ)/s* with s* by 25
        resamples of each resample [3]_, or ``"bca"`` [1]_, which asks the metric a twentieth as
        often.
    threshold : float, default 0.8
        Of ratios and odds ratios: null value of the one-sided tests.
    margin : float, default 0.1
        Of differences and gaps; for metrics that are no shares it may be 1 or more.
    sensitive_features : array-like (n,) or (n, k), data frame or mapping
        Group of each row; several columns are crossed.
    counts : ConfusionCounts, Tally, mapping or frame, optional
        Counts instead of rows: (tp, fp, fn, tn) per group; or, without labels, (selected, not
        selected).
    reference : hashable, optional
        Reference group (value or label). Default: the largest, said in the result. ``"highest"``
        takes the group with the highest rate and makes the intervals simultaneous over all pairs:
        coverage is at least nominal; p-values of equality by the same law, those of verdicts by
        Bonferroni over all pairs.
    comparisons : {"reference", "all", "rest", "overall"}, default "reference"
        Each other group against the reference; all pairs; each group against all other rows
        together; or against all rows, its own among them, with the groups' shares held fixed.
        The last two see weights that differ between groups.
    alternative : {"two-sided", "less", "greater"}, default "two-sided"
        As in `disparate_impact` for ratios and in `demographic_parity_difference` for differences.
    confidence_level : float, default 0.95
        Of intervals; verdicts have the error 1 − confidence_level.
    simultaneous : {None, "bonferroni", "max-z"}
        Make the intervals hold for all comparisons at once; each one's coverage is at least
        nominal.
    adjust : str, default "holm"
        Adjustment of p-values, and so of verdicts, over the comparisons of the metric: holm,
        bonferroni, sidak, hommel, fdr_bh or none.
    strata : array-like, shape (n,), optional
        Stratum of each row, a department or a risk class: the result then has the comparisons
        within strata beside the crude ones (`stratified`, and columns ``adjusted…``), by the
        stratified score [Miettinen, Nurminen 1985]: estimate of Mantel and Haenszel, interval,
        verdict, Cochran–Mantel–Haenszel and exact conditional tests, tests that one value holds in
        all strata. A tally that was made with strata brings them along. With weights or clusters by
        what rows are worth in each stratum, and Student's t; clusters may lie in several strata;
        these limits are conservative (coverage .940 to .992).
        Not with largest gaps. With fewer than 20 cases of a group in the strata that both share
        only equality is tested; from there on a limit of a verdict is wrong in at most .070 of
        samples (vignettes/calibration.md). Functions of the cells (F1, your own) are taken of the
        cells of each group standardised to common strata, Σ W t/n with the weights W of Mantel and
        Haenszel of the rows, and compared by the delta method as without strata. Means over classes
        (``classes="macro"``): each class by the weights of its own cases, limits by MOVER of their
        scores, or by the delta method where classes share cases, and of ratios.
    classes : {None, "one-vs-rest", "macro", "ordered"}
        Of labels with several values. ``"one-vs-rest"``: each class against all others, as
        ``pos_label=`` asks about one; ``"ordered"``: each cut of ordered classes, all from a class
        on against those before; all classes and groups are one family, adjusted and simultaneous
        together. ``"macro"``: the mean of the rate over the classes; of accuracy the share of right
        predictions. Of two classes the answer is that without it. `label_values` declares classes
        and their order (else that of categories, numbers, the alphabet); of ordered classes
        `pos_label` may name the end that comes last. `counts`: a tally of classes, or {group: table
        of labels and predictions}. Errors of limits: Notes of `group_metric`.
    sample_weight, cluster : array-like, shape (n,), optional
        Weights and sampling units. Weights that are equal within every group change no comparison.
        Otherwise standard errors are linearised over the units, and the score works with effective
        counts: of u = (Σd)²/Σd² units in a group at most u rows, or by clusters what all groups
        show that a cluster is worth, and no more than the variance of the rate says; t with u − 1
        of the smaller group. "Insufficient evidence" below 3 effective clusters (rows), 8 for
        methods other than the score. Simulated (3 to 60 clusters, 8 to 2,000 rows with weights of
        CV .5 to 1.5): coverage .945 and more, verdicts wrong in at most .058. Three settings
        are worse: weights that go with the outcome (CV 1: .075, CV 1.5: .092 near 0 or 1), a few
        clusters that hold together ten times as much as those of the other group (.08), and rates
        of .1 and .2 of two groups in the same clusters with an ICC of .3 (.065).
    pos_label : scalar or mapping, optional
        The favourable value, needed unless labels are 0/1, False/True or −1/1 (also as text); for
        labels and predictions that differ ``{"y_true": …, "y_pred": …}``. Where several other
        labels occur, the result names them with their rows: all count as not favourable.
    label_values : sequence or mapping, optional
        The labels that may occur: more is an error, and one that no row has is a rate of 0, with a
        warning.
    missing : {"raise", "drop", "group"}, default "raise"
        What to do with missing values.
    groups : sequence, optional
        Order of the groups; default category order, else by decreasing size.
    planned : int, optional
        Rows that are expected in all, fixed before the first look; needed by
        ``method="anytime"``. Its limits, p-values and verdicts hold at every look at growing
        counts, however often one looks (the score at the critical value of a normal mixture,
        Robbins 1970): narrowest about the planned
        number, there 1.55 times as wide as those of one look, and silent before 5 successes and
        5 failures of both groups. ``"anytime-exact"`` needs no plan and no least number: it holds
        for counts alone in any order of arrival, and is wider. Independent rows; a reference by
        name where there are more than two groups.
    n_resamples : int, default 999
        Of the bootstrap, at least 199. Limits at levels that need more are open.
    n_permutations : int, default 199
        Most permutations of the studentised test of equality [2]_ of each pair, which `tests()`
        shows beside the others; it ends after 20 that are as large [4]_. 0: no such test.
    rng : None, int or numpy.random.Generator
        Seed; None draws one that the result names.
    sensitive_probabilities : data frame, mapping or array (n, G), optional
        Probabilities of the groups by any proxy, a column each, where nobody recorded the group:
        the result is then an `InferredResult` with the weighted estimate [Chen et al. 2019], sharp
        bounds [Kallus, Mao, Zhou 2022], limits around these (conservative) and the verdict that
        they allow. Two-sided; under weights and clusters limits are Student's, by what the smaller
        group is worth. `sensitive_features`, missing in most rows, then says the true group of rows
        drawn at random: an audit sample, from which the estimate has no bias.
    calibration_sample : (groups, probabilities), optional
        True groups of other people and their probabilities by the same proxy: they correct it, and
        the limits count their error.

    Returns
    -------
    DifferenceResult, RatioResult, OddsRatioResult, MaximumResult, or with `agg`
        `ExtremeRatioResult` or `ExtremeDifferenceResult`.
        Of functions of labels and predictions `NumberDifferenceResult` or `NumberRatioResult`.

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
    Limits of the delta method are, without weights, the wider of those about the value with half a
    row and with a whole one more in every cell, of groups of ten rows or more: they are
    conservative. With one group of 10 to 40 rows 95% intervals of F1, Matthews's correlation and
    ratios of means cover .938 or more, and one limit errs in at most 7.5% (about the value itself
    .18 to .93); of a function of few of the rows (one or two expected) in up to 11%. Under weights
    they are about the value, ratios on the log scale, and too near on one side where fewer than 100
    effective rows, of ratios 500, stand behind a value (F1 of 60 rows with weights of CV .7 errs in
    up to .077; the result says so). Variances come from statsmodels' `NonlinearDeltaCov`.

    Within strata the rows that the delta method adds are at the worth of the standardised cells,
    1/Σ(W²/n) rows, and variances have back what the strata take of them (n/(n − 1) in each).
    Simulated (1 to 20 strata of 3 to 150 rows a group): where a function depends on 50 such rows or
    more of each group (of F1 all but true negatives), a limit errs in up to .06 of samples at a
    nominal .05, of fewer in up to .09; ratios of weighted functions of fewer than 500 effective rows
    in up to .07. The result says so.

    Of several classes (`classes`) one class, or cut, has the limits of two labels. Means over
    classes of true positive rates and precisions have limits by MOVER; of false positive rates, F1
    and ratios of means the widest by the delta method about the table and with 2 and 4 rows more in
    all, refused (of rows without weights) below 10 rows of a class. Simulated (3 and 5 classes, the
    rarest 4 to 10%, 40 to 300 independent rows beside 80 to 3,000): a limit errs in up to .06 of
    samples at a nominal .05.

    Functions of labels and predictions are computed from rows, by draws of the rows or clusters of
    each group (`n_resamples` × 26 calls a group), and refused below 40 of them, or where more than
    5% of the draws have no value. A group and everybody (``comparisons="overall"``) are drawn
    together, every group with its own number of rows; no largest gap. Limits of the metric of a
    small group with a long tail err on one side, by BCa more often than by the studentised
    bootstrap (`vignettes/calibration.md`): the mean of 40 exponential rows beside 200 in 6% of
    samples at a nominal 5%.

    Limits of odds ratios within small strata, and of conditional demographic disparity, are
    conservative: by the exact conditional law, and never nearer than the standard error says.

    References
    ----------
    .. [1] Efron (1987). Better bootstrap confidence intervals. JASA 82, 171–185.
    .. [2] Chung, Romano (2013). Exact and asymptotically robust permutation tests. Annals of
       Statistics 41, 484–507.
    .. [3] Hall (1988). Theoretical comparison of bootstrap confidence intervals. Annals of
       Statistics 16, 927–953.
    .. [4] Besag, Clifford (1991). Sequential Monte Carlo p-values. Biometrika 78, 301–304.
    .. [5] Wachter, Mittelstadt, Russell (2021). Why fairness cannot be automated. Computer Law &
       Security Review 41, 105567.

    Examples
    --------
    >>> import fairstats as fs
    >>> counts = {"a": (40, 10, 10, 40), "b": (30, 10, 20, 40)}
    >>> result = fs.group_metric(metric="f1", counts=counts, reference="a")
    >>> print(f"{result.estimate:.4f} [{result.confidence_interval.low:.4f}, {result.confidence_interval.high:.4f}]")
    -0.1333 [-0.2721, 0.0117]

    A metric of labels and predictions:

    >>> import numpy as np
    >>> random = np.random.default_rng(1)
    >>> group, price = np.repeat(["a", "b"], [120, 60]), random.gamma(2, 10, 180)
    >>> guess = price + random.normal(0, np.where(group == "b", 8, 2))
    >>> def median_error(y_true, y_pred):
    ...     return np.median(abs(y_true - y_pred))
    >>> result = fs.group_metric(
    ...     price, guess, metric=median_error, sensitive_features=group, margin=1,
    ...     n_resamples=199, rng=1,
    ... )
    >>> print(f"{float(result):.2f} {result.verdict}")
    5.64 violated
    """
    called = _called_metrics(metric)
    if called is not None:
        for argument, value in (
            ("counts", counts),
            ("strata", strata),
            ("pos_label", pos_label),
            ("label_values", label_values),
            ("planned", planned),
            ("agg", agg),
            ("sensitive_probabilities", sensitive_probabilities),
            ("calibration_sample", calibration_sample),
            ("classes", classes),
        ):
            cure = "leave it out; functools.partial(metric, pos_label=…) where the metric takes it"
            check_that(value is None, argument, value, "None of a function of rows", cure)
        results = {}
        for called_name, function in called.items():
            results[called_name] = compare_called_metric(
                function,
                y_true,
                y_pred,
                name=called_name,
                contrast=contrast,
                method=method,
                reference=reference,
                setting_options={
                    "comparisons": comparisons,
                    "margin": margin,
                    "threshold": threshold,
                    "alternative": alternative,
                    "confidence_level": confidence_level,
                    "simultaneous": simultaneous,
                    "adjust": adjust,
                },
                row_options={
                    "sensitive_features": sensitive_features,
                    "sample_weight": sample_weight,
                    "cluster": cluster,
                    "missing": missing,
                    "groups": groups,
                },
                n_resamples=n_resamples,
                n_permutations=n_permutations,
                rng=rng,
            )
        return next(iter(results.values())) if callable(metric) else results
    arguments = setup.RateArguments(
        y_true=y_true,
        y_pred=y_pred,
        sensitive_features=sensitive_features,
        counts=counts,
        agg=agg,
        reference=reference,
        comparisons=comparisons,
        method=method,
        threshold=threshold,
        margin=margin,
        alternative=alternative,
        confidence_level=confidence_level,
        simultaneous=simultaneous,
        adjust=adjust,
        strata=strata,
        classes=classes,
        sample_weight=sample_weight,
        cluster=cluster,
        pos_label=pos_label,
        label_values=label_values,
        missing=missing,
        groups=groups,
        planned=planned,
        rng=rng,
        sensitive_probabilities=sensitive_probabilities,
        calibration_sample=calibration_sample,
    )
    if metric == CONDITIONAL_DISPARITY:
        return conditional_disparity(arguments, contrast)
    check_choice("contrast", contrast, (None, *registry.ENDINGS))
    check_choice("agg", agg, (None, "max", "min", "mean"))
    check_choice("method", method, (None, "delta", "score", *ANYTIME_METHODS))
    if callable(metric):
        contrast_kind = contrast or "difference"
        rate_name = _name_of_function(metric, contrast_kind)
        chosen_metric = registry.Metric(
            f"{rate_name}_{contrast_kind}",
            f"{rate_name}: {contrast_kind} between groups",
            (rate_name,),
            contrast_kind,
            "",
        )
    else:
        chosen_metric = _of_given_column(_find_metric_by_name(str(metric), contrast), arguments)
        rate_name = chosen_metric.rates[0]
    if is_inferred(arguments):
        return run_inferred(chosen_metric, arguments)
    if agg == "max":
        chosen_metric = _largest_gap_of(chosen_metric)
    is_smooth = callable(metric) or any(
        registry.RATES[rate_of_metric].interval == "delta" for rate_of_metric in chosen_metric.rates
    )
    _check_contrast_of(chosen_metric, is_smooth=is_smooth)
    if classes is not None:
        check_choice("agg", agg, (None, "max"), cure="leave out classes=")
        return run_classes(
            chosen_metric, arguments, metric if callable(metric) else None, any_margin=True
        )
    if strata is not None and not callable(metric):
        check_adjustable(chosen_metric)
    count_table, by_stratum = setup.count_tables(arguments, chosen_metric.needs)
    setup.check_groups(count_table.groups)
    is_gap = chosen_metric.contrast == "gap" or agg in ("min", "mean")
    settings = setup.make_settings(
        chosen_metric.contrast, arguments, any_margin=True, rest=not is_gap
    )
    if agg in ("min", "mean"):
        return compare_extremes(chosen_metric, count_table, settings, arguments)
    if callable(metric):
        compared = _compare_function(chosen_metric, metric, count_table, settings, reference)
        if by_stratum is None:
            return compared
        rate = registry.Rate(rate_name, rate_name, "")
        quantity = CellQuantity(rate=rate, function=metric)
        within = adjusted(compared, chosen_metric, by_stratum, quantity)
        warned(within.stratified, chosen_metric.name)
        return within
    if not can_be_adjusted(chosen_metric):  # of a tally, whose strata nobody asked for
        by_stratum = None
    return compare_metric(chosen_metric, count_table, settings, reference, strata=by_stratum)


def _name_of_function(function: Callable[..., Any], contrast: str) -> str:
    """Its name, with "own_" before that of a metric of the registry, which is another one."""
    name: str = getattr(function, "__name__", "metric").strip("<>")
    is_registered = name in (*registry.RATES, *registry.CRITERIA)
    if is_registered or registry.find_metric(f"{name}_{contrast}") is not None:
        return f"own_{name}"
    return name


def _compare_function(
    metric: registry.Metric,
    function: Callable[..., Any],
    table: CellCounts,
    settings: Inference,
    reference: Hashable | None,
) -> Any:
    """A function of the cells, of the user."""
    (name,) = metric.rates

    def estimate(rate: registry.Rate, counts: CellCounts) -> RateEstimates:
        return estimate_smooth(counts, rate, function)

    rates = [registry.Rate(name, name, "")]
    pooled = pool_estimates(table, rates, metric.contrast, settings, estimate, function)
    return compare_estimates(
        metric,
        pooled.table,
        pooled.estimates,
        settings,
        reference,
        everybody=pooled.everybody,
    )


def compare_by_name(name: str, arguments: setup.RateArguments) -> _Compared:  # type: ignore[type-var]
    """A metric of the registry from the arguments of its public function, of two labels or more."""
    if arguments.classes is None or is_inferred(arguments):
        return run(name, arguments)
    result: Any = run_classes(registry.METRICS[name_with(arguments.agg, name)], arguments)
    return result  # type: ignore[no-any-return]


def _of_given_column(metric: registry.Metric, arguments: setup.RateArguments) -> registry.Metric:
    """The metric, of the one column that is given where its rate needs no other."""
    if arguments.counts is not None:
        return metric
    if metric.rates == ("selection_rate",) and arguments.y_true is None:
        return replace(metric, needs=("predictions",))
    if metric.rates == ("base_rate",) and arguments.y_pred is None:
        return replace(metric, needs=("labels",))
    return metric


def _check_contrast_of(metric: registry.Metric, *, is_smooth: bool) -> None:
    """Raise where a metric has no largest gap, or no odds."""
    rate_name = metric.rates[0]
    if metric.contrast == "gap" and is_smooth:
        raise InputError(
            "contrast",
            got=f"'gap' of {rate_name}",
            allowed="shares, and means of shares",
            cure='contrast="difference" with comparisons="all"',
        )
    is_no_share = is_smooth or any(registry.RATES[name].parts for name in metric.rates)
    if metric.contrast == "odds_ratio" and is_no_share:
        raise InputError(
            "contrast",
            got=f"'odds_ratio' of {rate_name}",
            allowed="rates, which are successes among cases",
            cure='contrast="difference", or a rate such as "true_positive_rate"',
        )


def _called_metrics(metric: Any) -> dict[str, Callable[..., Any]] | None:
    """Functions of labels and predictions by their names; None of a name or of counts."""
    if callable(metric):
        return {name_of_metric(metric): metric} if takes_rows(metric) else None
    if isinstance(metric, str):
        return None
    allowed = "a name, a function, or functions of labels and predictions by their names"
    cure = "{'pinball': sklearn.metrics.mean_pinball_loss}"
    check_that(isinstance(metric, (Mapping, Sequence)) and metric, "metric", metric, allowed, cure)
    if not isinstance(metric, Mapping):
        metric = {name_of_metric(function): function for function in metric}
    for function in metric.values():
        fine = callable(function) and takes_rows(function)
        check_that(fine, "metric", function, allowed, cure)
    return {str(name): function for name, function in metric.items()}


def _largest_gap_of(metric: registry.Metric) -> registry.Metric:
    """The largest gap of a metric of differences."""
    ending = registry.ENDINGS["difference"]
    gap_metric = None
    if metric.contrast == "difference":
        gap_metric = registry.find_metric(
            metric.name.removesuffix(ending) + registry.ENDINGS["gap"]
        )
    if metric.contrast == "gap":
        gap_metric = metric
    if gap_metric is None:
        raise InputError(
            "agg",
            got=f"'max' of {metric.name}",
            allowed="'max' of differences of rates, 'min' of ratios, 'mean' of both",
            cure='agg="min"',
        )
    return gap_metric


def _find_metric_by_name(name: str, contrast: registry.Contrast | None) -> registry.Metric:
    """The metric of a full name, or of the name of a rate or criterion with a contrast."""
    if isinstance(name, str):
        metric = registry.find_metric(name)
    else:
        metric = None
    if metric is None:
        check_choice("metric", name, (*registry.RATES, *registry.CRITERIA))
        derived = registry.derive_metric(name, contrast or "difference")
        registered = registry.METRICS.get(derived.name, derived)
        if registered.function == "group_metric":
            return registered
        return derived
    if not metric.rates:
        suggestion = f"call fs.{metric.function}"
        raise InputError("metric", got=repr(name), allowed="a metric of the cells", cure=suggestion)
    if contrast not in (None, metric.contrast):
        received = f"{contrast!r} with metric={name!r}"
        allowed = f"{metric.contrast!r}, as the name says"
        raise InputError(
            "contrast",
            got=received,
            allowed=allowed,
            cure="leave out contrast=, or name the rate",
        )
    return metric
