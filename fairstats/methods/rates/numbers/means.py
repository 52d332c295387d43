"""`means` and `prediction_errors`: numbers by group, with differences and ratios."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any, Literal

import numpy as np

from fairstats.ground.checks import (
    SeedOrGenerator,
    check_choice,
    check_flag,
    check_number,
    check_that,
)
from fairstats.ground.errors import InputError
from fairstats.ground.outcomes import Outcomes
from fairstats.ground.tallies.moments import ERRORS, OUTCOME, MomentCounts, errors_of_prediction
from fairstats.ground.tallies.stratum_moments import StratumMoments, cross_with_strata
from fairstats.ground.tally import Tally, counts_or_rows
from fairstats.methods.rates.abroca import check_score_counts
from fairstats.methods.rates.numbers.compare import (
    MIN_UNITS,
    REST,
    MeanValues,
    QuantileValues,
    compare_numbers,
    sides_of_rest,
)
from fairstats.methods.rates.numbers.curves import (
    CurveDifferenceResult,
    CurveRatioResult,
    cutoffs_of,
    z_of_level,
)
from fairstats.methods.rates.numbers.cutoffs import (
    OVERALL_ROWS,
    REST_OF_ROWS,
    CutRows,
    check_unmerged,
    compare_selection_by_quantile,
)
from fairstats.methods.rates.numbers.options import (
    check_contrast,
    check_rows_of_bootstrap,
    make_number_settings,
    name_of_strata,
)
from fairstats.methods.rates.numbers.quantile_sides import (
    QuantileOfAll,
    quantiles_beside_all,
    quantiles_of_strata,
    shared_by_quantiles,
)
from fairstats.methods.rates.numbers.result import (
    STANDARDISED,
    NumberDifferenceResult,
    NumberRatioResult,
)
from fairstats.methods.rates.numbers.smooth import DETERMINATION, compare_smooth
from fairstats.methods.rates.numbers.strata_draws import drawn_cells
from fairstats.methods.rates.numbers.strata_limits import CellValues
from fairstats.methods.rates.numbers.strata_pairs import rows_by_side
from fairstats.methods.rates.numbers.stratified import (
    stratum_moments_of_rows,
    with_adjusted_means,
)
from fairstats.methods.rates.numbers.stratified_curves import (
    cells_of_rows,
    cells_of_scores,
    with_adjusted_rates,
)
from fairstats.methods.rates.result import Inference
from fairstats.methods.rates.setup import POOLED
from fairstats.numerics.means.weighted_quantiles import (
    SampleQuantile,
    WeightedQuantile,
    quantile_of_rows,
)

Comparisons = Literal["reference", "all", "rest", "overall"]
#: Metric → the error that it is a mean of.
ERROR_OF = {
    "mean_absolute_error": "absolute_error",
    "mean_residual": "residual",
    "root_mean_squared_error": "squared_error",
}
#: Rows that a stratum needs on either side of its quantile, so that limits are no open ends.
ROWS_BEYOND_QUANTILE = 5
#: Fewer effective rows beyond a weighted quantile are remarked on.
FEW_BEYOND_WEIGHTED = 5
_RESIDUAL = "mean_residual"
TITLES = {
    "mean": "Means",
    "median": "Medians",
    "mean_absolute_error": "Mean absolute errors",
    "mean_residual": "Mean residuals, prediction less outcome",
    "root_mean_squared_error": "Root mean squared errors",
}
#: Of what is computed from rows by draws.
TITLES_OF_DRAWN = {
    STANDARDISED: "Means: difference between groups in standard deviations",
    DETERMINATION: "R², share of the variance predicted: difference between groups",
}


def means(
    y: Any = None,
    *,
    sensitive_features: Any = None,
    counts: MomentCounts | Tally | None = None,
    statistic: Literal["mean", "median", "selection_rate"] | float = "mean",
    contrast: Literal["difference", "ratio", "standardised_difference"] = "difference",
    reference: Hashable | None = None,
    comparisons: Comparisons = "reference",
    margin: float = 0.0,
    threshold: float = 0.8,
    alternative: Literal["two-sided", "less", "greater"] = "two-sided",
    confidence_level: float = 0.95,
    simultaneous: Literal["bonferroni", "max-z"] | None = None,
    adjust: str = "holm",
    strata: Any = None,
    sample_weight: Any = None,
    cluster: Any = None,
    missing: Literal["raise", "drop", "group"] = "raise",
    groups: Sequence[Hashable] | None = None,
    quantiles: Any = None,
    larger_is_better: bool = True,
    n_resamples: int = 999,
    rng: SeedOrGenerator = None,
) -> NumberDifferenceResult | NumberRatioResult | CurveDifferenceResult | CurveRatioResult:
    """Means, medians or quantiles of a number (a wage, a price, a score) by group, or the share
    that cut-offs at quantiles of all rows select.

    Differences or ratios against a reference group, against all other rows, or against everybody,
    with intervals, tests and verdicts; and each group's own value with its interval.

    Parameters
    ----------
    y : array-like of float, shape (n,)
        The number, in any unit.
    sensitive_features : array-like (n,) or (n, k), data frame or mapping
        Group of each row; several columns are crossed.
    counts : MomentCounts or Tally, optional
        Moments per group instead of the columns, for means: ``fs.tally(…, outcome=…)``; for
        selection rates a tally with the scores of every row.
    statistic : {"mean", "median", "selection_rate"} or float, default "mean"
        What is compared; a number in (0, 1) is the order of a quantile. ``"selection_rate"``: the
        share of a group that is selected at cut-offs at quantiles of all rows, which with
        ``contrast="ratio"`` is what lending calls the adverse impact ratio by quantile.
    contrast : {"difference", "ratio", "standardised_difference"}, default "difference"
        Group less reference, in the unit of `y`; or group by reference, of numbers that are not
        negative (quantiles: above 0); or the difference of means divided by
        √((s₁² + s₀²)/2), the root of the mean of both variances [5]_, which has no unit.
    reference : hashable, optional
        Reference group (value or label). Default: the largest, said in the result. ``"highest"``
        takes the group with the highest value and makes intervals and verdicts hold over all pairs.
    comparisons : {"reference", "all", "rest", "overall"}, default "reference"
        Each other group against the reference; all pairs; each group against all other rows
        together; or against all rows, its own among them, with the groups' shares fixed ("overall",
        where other groups of fewer than 20 units count as one, which the smallest of the rest joins
        while these are too few; quantiles need no such rule, and standardised differences 40 rows
        of every group).
    margin : float, default 0
        Of differences: up to it a difference counts as fair. At 0 any difference that is shown is
        a violation, and none can be shown to be absent. Of standardised differences .1 or .2, say.
    threshold : float, default 0.8
        Of ratios: from it to its inverse they count as fair.
    alternative : {"two-sided", "less", "greater"}, default "two-sided"
        Of interval and test.
    confidence_level : float, default 0.95
        Of intervals; verdicts have the error 1 − confidence_level.
    simultaneous : {"bonferroni", "max-z"}, optional
        Intervals that hold for all comparisons at once.
    adjust : str, default "holm"
        Adjustment of p-values, and so of verdicts, over the comparisons: holm, bonferroni, sidak,
        hommel, fdr_bh or none.
    strata : array-like, shape (n,), optional
        Confounder: the result then has comparisons within strata
        beside the crude ones (`stratified`, and columns ``adjusted…``), and a sentence where they
        disagree. Each mean, or quantile, is Σωm over the strata, with the weights of Mantel and
        Haenszel, ω ∝ w₁w₀/(w₁ + w₀), w the rows of both groups (or the sums of their weights);
        standardised differences divide by the spread within strata, selection rates are compared by
        the stratified score. Strata without two rows (or
        clusters) of both are left out and named. With "rest" all other rows of a stratum are one
        group; with "overall" the group's mean is compared with everybody's, Σn₁m/Σn₁ over the
        strata, n₁ the group's rows: observed with expected; quantiles of both are summed alike. A
        tally that was made with strata brings them along.
    sample_weight, cluster : array-like, shape (n,), optional
        Weights, and sampling units, each of which lies within one group; clusters may lie in
        several strata. Variances are linearised over the units, with Kish's number of them.
    missing : {"raise", "drop", "group"}, default "raise"
        What to do with missing values.
    groups : sequence, optional
        Order of the groups; default category order, else by decreasing size.
    quantiles : array-like of float, optional
        Of selection rates: orders of the cut-offs among all rows; default the nine deciles. Limits
        and p-values hold at all of them at once.
    larger_is_better : bool, default True
        Of selection rates: whether rows from the cut-off on are selected (a score), or those up to
        it (a price, a predicted loss).
    n_resamples, rng
        Of standardised differences: draws of the rows or clusters of every group, at least 199, and
        their seed or Generator.

    Returns
    -------
    NumberDifferenceResult or NumberRatioResult
        Of selection rates `CurveDifferenceResult` or `CurveRatioResult`, a row for every cut-off.

    Raises
    ------
    InputError
        For input that cannot be used.

    Warns
    -----
    InsufficientEvidenceWarning
        Where a group has fewer than 20 (effective) rows or clusters (standardised differences: 40),
        or numbers of which there is no ratio.

    Notes
    -----
    Welch's test errs to one side where a small group is skewed. Its statistic is transformed as
    Hall [1]_ does, by the skewness of the difference, and once more as if both groups had the shape
    of the more skewed one: a small sample often misses its tail. The widest of these limits and of
    Welch's counts on each side. Ratios are the values θ for which m₁ − θ·m₀ is not rejected in the same way
    (Fieller). One-sided errors at a nominal .05 (`vignettes/calibration.md`): exponential 20/1,000
    .018 and .038, lognormal 40/400 .016 and .060, lognormal 50/50 .044 and .046; worse where most
    of a small sample is 0 (70% zeros, else lognormal, 40/400: .011 and .081) or only the small
    group is skewed (lognormal beside normal, 40/400: .011 and .089). On the side of the tail they
    are conservative. No limits hold for all laws.

    Within strata the same limits are those of two adjusted means, with variances Σω²v, degrees of
    freedom by Satterthwaite over the strata, and one skewness of a group in all of them. A group
    needs 19 rows beyond the first of every stratum. One-sided errors at a nominal .05: exponential
    3 × 20/200 .032 and .050, 8 × 8/40 .033 and .050, lognormal 3 × 20/200 .017 and .054, 8 × 8/40
    .019 and .063, 70% zeros 8 × 8/40 .013 and .079. That one difference (or ratio) holds in all
    strata is tested by Cochran's Q [6]_ of statistics that are mended in the same way, over strata
    with five rows of both: of level .05 it has .025 to .055, but up to .13 where tails are long and
    the sizes of both groups run opposite over the strata. Simultaneous limits within strata are
    Bonferroni's. Clusters that lie in several strata are one linearised value each, over all
    strata, and count once: 25 beside 100 clusters of four exponential rows .033 and .062, which is
    what the same clusters have without strata. Their quantiles are joined by MOVER with the
    correlations of the shares below (60 beside 120 clusters of 12 exponential rows in six strata: up
    to .048), and standardised differences draw whole clusters (60 beside 200 of four normal rows in
    three strata: .046 and .057). Nothing then tests one difference in all strata.

    Limits of a sum of quantiles over strata are by MOVER [3]_ of the strata's own, with 20 rows of
    both groups in each, and five on either side of the quantile; homogeneity by Cochran's Q with
    the widths of these limits. One-sided errors at a nominal .05: medians of 3 × 20/200 .053 and
    .032, of 8 × 40/100 .056 and .034; of few skewed rows in many strata more, for their medians are
    biased (exponential 8 × 20/100 .066, lognormal .080). Beside everybody it is the distances to
    the limits of the strata's own contrasts that are joined. Within strata standardised differences are
    (Σωm₁ − Σωm₀)/√((Σωs₁² + Σωs₀²)/2), by draws of the units of every stratum, of which five of
    both groups are needed, and 39 of a group beyond the first of every stratum.

    Limits of quantiles are interpolated order statistics [2]_, and those of their differences and
    ratios come from both groups' limits (MOVER [3]_). Values are R's type 7.

    With weights or clusters quantiles are those of R's ``svyquantile(qrule="hf7")``, and limits the
    values at which the weighted share below is no longer likely (Woodruff [7]_), by the binomial law
    of the effective rows that Korn and Graubard [8]_ take: of three estimates of these the least.
    One-sided errors at a nominal .05, CV of the weights .5 and 1, clusters of 5 and of 1 to 15 rows:
    up to .046; of weights that rise with the number itself up to .058, and .09 with few effective
    rows beyond the quantile (q = .9, 120 beside 600 rows, CV 1).

    A quantile of everybody contains the group's own rows: each distance between a quantile and its
    limit counts by the share of its error that the difference has from it, by Bahadur's form of
    both (`vignettes/methods.md`). One-sided errors at a nominal .05, 10,000 samples: see
    `vignettes/calibration.md`.

    Limits of standardised differences are by the studentised bootstrap [4]_ of rows or clusters,
    standard errors by the delta method; with weights and clusters, too. They need rows, not
    `counts`. Lending practice often divides by the standard deviation of all applicants instead.
    One-sided errors at a nominal .05 (2,000 samples): 40/400 normal rows .05 on either side,
    exponential .042 to .044, 50/50 .043 and .060; worse where the small group has a long tail
    (lognormal 40/400 up to .08) or is mostly 0 (.087).

    Selection rates are compared as those of predictions are (score, or exact where few are
    expected), with the cut-offs taken as given: they are quantiles of all rows, blind to groups.
    Cut-offs and pairs are one family.

    References
    ----------
    .. [1] Hall (1992). On the removal of skewness by transformation. JRSS B 54, 221–228.
    .. [2] Nyblom (1992). Note on interpolated order statistics. Statistics & Probability Letters
       14, 355–357.
    .. [3] Zou, Donner (2008). Construction of confidence limits about effect measures: a general
       approach. Statistics in Medicine 27, 1693–1702.
    .. [4] Hall (1988). Theoretical comparison of bootstrap confidence intervals. Annals of
       Statistics 16, 927–953.
    .. [5] Austin (2009). Balance diagnostics for comparing the distribution of baseline covariates.
       Statistics in Medicine 28, 3083–3107.
    .. [6] Cochran (1954). The combination of estimates from different experiments. Biometrics 10,
       101–129.
    .. [7] Woodruff (1952). Confidence intervals for medians and other position measures. JASA 47,
       635–646.
    .. [8] Korn, Graubard (1998). Confidence intervals for proportions with small expected number of
       positive counts estimated from survey data. Survey Methodology 24, 193–201.

    Examples
    --------
    >>> import numpy as np, fairstats as fs
    >>> rng = np.random.default_rng(1)
    >>> wage = np.concatenate([rng.lognormal(2.9, 0.5, 400), rng.lognormal(2.7, 0.5, 150)])
    >>> sex = np.repeat(["m", "f"], [400, 150])
    >>> result = fs.means(wage, sensitive_features=sex, contrast="ratio", threshold=0.95)
    >>> low, high = result.confidence_interval
    >>> print(f"{result.estimate:.3f} [{low:.3f}, {high:.3f}] {result.verdict}")
    0.915 [0.830, 1.011] undecided

    In standard deviations:

    >>> result = fs.means(
    ...     wage, sensitive_features=sex, contrast="standardised_difference", margin=0.1, rng=1
    ... )
    >>> low, high = result.confidence_interval
    >>> print(f"{result.estimate:.3f} [{low:.3f}, {high:.3f}] {result.verdict}")
    -0.175 [-0.353, 0.011] undecided
    """
    by_quantile = isinstance(statistic, str) and statistic == "selection_rate"
    order = None if by_quantile else _check_statistic(statistic)
    ratio = check_contrast(contrast, "standardised_difference")
    standardised = contrast == "standardised_difference"
    settings = make_number_settings(
        margin=margin,
        threshold=threshold,
        ratio=ratio,
        alternative=alternative,
        confidence_level=confidence_level,
        simultaneous=simultaneous,
        comparisons=comparisons,
        adjust=adjust,
    )
    row_columns = {"y": y, "sensitive_features": sensitive_features, "strata": strata}
    from_counts = counts_or_rows(counts, needs="y", **row_columns)
    check_that(
        quantiles is None or by_quantile,
        "quantiles",
        quantiles,
        'None but with statistic="selection_rate"',
        'statistic="selection_rate", or statistic=0.9 for a quantile of every group',
    )
    if order is not None:
        _check_quantiles(from_counts, settings)
    if standardised:
        _check_standardised(from_counts, order, by_quantile=by_quantile)
    if by_quantile:
        check_flag("larger_is_better", larger_is_better)
    if from_counts and by_quantile:
        counted = check_score_counts(counts)
        check_unmerged(counted)
        rows = CutRows(counts=counted, larger_is_better=larger_is_better)
        shares = compare_selection_by_quantile(rows, quantiles, settings, reference, ratio=ratio)
        return _with_shares_of_tally(shares, counts)
    if from_counts:
        moments = moments_of(counts, (OUTCOME,), "outcome=")
        within = stratum_moments_of(counts)
        return compare_means(moments, "mean", settings, reference, ratio=ratio, within=within)
    outcomes = Outcomes.from_arrays(
        sensitive_features=sensitive_features,
        sample_weight=sample_weight,
        cluster=cluster,
        strata=strata,
        missing=missing,
        groups=groups,
        numbers={OUTCOME: y},
    )
    if by_quantile:
        rows = CutRows(
            outcomes=outcomes,
            numbers=outcomes.numbers[OUTCOME],
            larger_is_better=larger_is_better,
        )
        shares = compare_selection_by_quantile(rows, quantiles, settings, reference, ratio=ratio)
        if outcomes.strata is None:
            return shares
        name = name_of_strata(strata)
        tables = [cells_of_rows(rows, cutoff, name) for cutoff in cutoffs_of(shares)]
        return with_adjusted_rates(shares, tables)
    if standardised:
        return _compare_drawn(
            outcomes, STANDARDISED, settings, reference, strata, n_resamples=n_resamples, rng=rng
        )
    moments = MomentCounts._from_outcomes(outcomes, outcomes.numbers)
    if order is None:
        within = stratum_moments_of_rows(outcomes, outcomes.numbers, strata)
        return compare_means(moments, "mean", settings, reference, ratio=ratio, within=within)
    result = _compare_quantiles(outcomes, moments, order, settings, reference, ratio=ratio)
    within = stratum_moments_of_rows(outcomes, outcomes.numbers, strata)
    if within is None:
        return result
    cells = _quantiles_by_stratum(outcomes, within, order, settings)
    return with_adjusted_means(result, within, cells=cells)


def _with_shares_of_tally(
    shares: CurveDifferenceResult | CurveRatioResult, counts: Any
) -> CurveDifferenceResult | CurveRatioResult:
    """Selection by quantile within the strata of a tally that has some."""
    if not (isinstance(counts, Tally) and counts.stratified):
        return shares
    strata, groups, cells, name = counts._scores_in_strata()
    crossed = CutRows(counts=cells, larger_is_better=shares.larger_is_better)
    tables = []
    for cutoff in cutoffs_of(shares):
        tables.append(cells_of_scores(crossed, cutoff, strata, groups, name))
    return with_adjusted_rates(shares, tables)


def _compare_drawn(
    outcomes: Outcomes,
    metric: str,
    settings: Inference,
    reference: Hashable | None,
    strata: Any,
    *,
    n_resamples: Any,
    rng: SeedOrGenerator,
) -> NumberDifferenceResult | NumberRatioResult:
    """Standardised differences or R², and where there are strata those within them."""
    compared = compare_smooth(
        outcomes,
        metric,
        settings,
        reference,
        words=TITLES_OF_DRAWN[metric],
        n_resamples=n_resamples,
        rng=rng,
    )
    within = stratum_moments_of_rows(outcomes, compared.numbers, strata)
    if within is None:
        return compared.result
    cells = drawn_cells(
        outcomes,
        compared.numbers,
        within,
        compared.values,
        settings,
        int(n_resamples),
        compared.rng,
    )
    return with_adjusted_means(compared.result, within, cells=cells)


def _quantiles_by_stratum(
    outcomes: Outcomes, within: StratumMoments, order: float, settings: Inference
) -> CellValues:
    """Quantiles of every crossing of stratum and group, or all others of each."""
    rows, _ = rows_by_side(outcomes, settings.comparisons)
    _, crossed = cross_with_strata(rows)
    samples = _quantiles_of_groups(crossed, order)
    rarer = min(order, 1 - order)
    least = max(math.ceil(ROWS_BEYOND_QUANTILE / rarer - 1e-9), MIN_UNITS)
    enough = []
    for sample in samples:
        enough.append(sample.rows >= least - 1e-9 and sample.size >= MIN_UNITS - 1e-9)
    positive = [sample.smallest > 0 for sample in samples]
    shape = (len(within.strata), len(rows.groups.labels))
    everybody: tuple[QuantileOfAll, ...] = ()
    if settings.comparisons == OVERALL_ROWS:
        n_sides = shape[1]
        of_strata = [samples[first : first + n_sides] for first in range(0, len(samples), n_sides)]
        ratio = settings.threshold is not None
        everybody = tuple(quantiles_of_strata(outcomes, of_strata, order, ratio=ratio))
    shared = None
    if within.shared is not None:
        shared = shared_by_quantiles(crossed, samples, shape, everybody)
    return CellValues(
        everybody=everybody,
        shared=shared,
        values=QuantileValues(groups=crossed.groups.labels, samples=samples),
        enough=np.array(enough).reshape(shape),
        positive=np.array(positive).reshape(shape),
        needs=_needs_of_quantiles(least, outcomes),
    )


def _needs_of_quantiles(least: int, outcomes: Outcomes) -> str:
    """What a stratum needs of both groups, in words."""
    effective = "" if outcomes.weight is None else "effective "
    words = f"{least:,} {effective}rows of both"
    if outcomes.cluster is not None:
        words += f" in {MIN_UNITS} {effective}clusters"
    return words


def _compare_quantiles(
    outcomes: Outcomes,
    moments: MomentCounts,
    order: float,
    settings: Inference,
    reference: Hashable | None,
    *,
    ratio: bool,
) -> NumberDifferenceResult | NumberRatioResult:
    """Compare a quantile of all groups, or of each and of all other rows."""
    names = moments.groups
    beside_rest = settings.comparisons == REST_OF_ROWS
    if beside_rest:
        names = (*names, *([REST] * len(names)))
    samples = _quantiles_of_groups(outcomes, order, beside_rest=beside_rest)
    values = QuantileValues(groups=names, samples=samples, clustered=moments.clustered)
    pooled = None
    z = z_of_level(settings.confidence_level)
    if beside_rest:
        pooled = sides_of_rest(values, moments.group_sizes, z, ratio=ratio)
    elif settings.comparisons == OVERALL_ROWS:
        pooled = quantiles_beside_all(outcomes, values, order, z, ratio=ratio)
    metric = "median" if order == 0.5 else f"quantile_{order:g}"
    title = TITLES.get(metric, f"Quantiles of order {order:g}")
    return compare_numbers(
        values,
        moments,
        settings,
        reference,
        metric=metric,
        words=_title(title, ratio=ratio),
        column=OUTCOME,
        ratio=ratio,
        order=order,
        pooled=pooled,
        remarks=_remarks_on_weights(samples, order),
    )


def _remarks_on_weights(samples: Sequence[SampleQuantile], order: float) -> tuple[str, ...]:
    """Where weights that go with the number would make limits too near."""
    beyond = []
    for sample in samples:
        if isinstance(sample, WeightedQuantile) and sample.is_weighted:
            beyond.append(sample.effective_rows * min(order, 1 - order))
    if not beyond or min(beyond) >= FEW_BEYOND_WEIGHTED:
        return ()
    return (
        f"Fewer than {FEW_BEYOND_WEIGHTED} effective rows lie beyond a quantile: where weights rise"
        " or fall with the number itself, one-sided limits at 5% missed in up to .09 of samples.",
    )


def prediction_errors(
    y_true: Any = None,
    y_pred: Any = None,
    *,
    sensitive_features: Any = None,
    counts: MomentCounts | Tally | None = None,
    metric: Literal[
        "mean_absolute_error", "mean_residual", "root_mean_squared_error", "r_squared"
    ] = "mean_absolute_error",
    contrast: Literal["difference", "ratio"] = "difference",
    reference: Hashable | None = None,
    comparisons: Comparisons = "reference",
    margin: float = 0.0,
    threshold: float = 0.8,
    alternative: Literal["two-sided", "less", "greater"] = "two-sided",
    confidence_level: float = 0.95,
    simultaneous: Literal["bonferroni", "max-z"] | None = None,
    adjust: str = "holm",
    strata: Any = None,
    sample_weight: Any = None,
    cluster: Any = None,
    missing: Literal["raise", "drop", "group"] = "raise",
    groups: Sequence[Hashable] | None = None,
    n_resamples: int = 999,
    rng: SeedOrGenerator = None,
) -> NumberDifferenceResult | NumberRatioResult:
    """Errors of predicted numbers by group: mean absolute error, residual, root mean square, R².

    Parameters
    ----------
    y_true, y_pred : array-like of float, shape (n,)
        Outcome and prediction, in one unit.
    sensitive_features : array-like (n,) or (n, k), data frame or mapping
        Group of each row; several columns are crossed.
    counts : MomentCounts or Tally, optional
        Moments of the errors instead of the columns: ``fs.tally(…, outcome=…, predicted=…)``.
    metric : {"mean_absolute_error", "mean_residual", "root_mean_squared_error", "r_squared"}
        A residual is the prediction less the outcome: above 0 predictions are too high.
        "r_squared" is 1 − Σ(y − f)²/Σ(y − ȳ)² within each group, scikit-learn's `r2_score`: the
        share of the group's own variance that is predicted, below 0 where its mean predicts better.
    contrast : {"difference", "ratio"}, default "difference"
        Group less reference, in the unit of `y_true`; or group by reference, not of residuals and
        R², which have both signs.
    reference, comparisons, margin, threshold, alternative, confidence_level, simultaneous, adjust
        As in `means`.
    strata, sample_weight, cluster, missing, groups, n_resamples, rng
        As in `means`; draws are those of R². Within strata root mean squared errors are roots of
        adjusted mean squares, and R² is 1 − Σωe/Σωs², e the mean squared error and s² the variance
        of a stratum: the share of the variance within strata that is predicted.

    Returns
    -------
    NumberDifferenceResult or NumberRatioResult

    Raises
    ------
    InputError
        For input that cannot be used.

    Warns
    -----
    InsufficientEvidenceWarning
        Where a group has fewer than 20 (effective) rows or clusters (R²: 40).

    Notes
    -----
    Errors are numbers, and their means are compared as in `means`. The root mean squared error is
    the root of a mean: ratios are roots of the limits of the ratio of mean squares, differences
    come from the limits of both groups (MOVER), and are conservative, but for the side of the tail
    of fewer than 100 rows: of normal errors 20/1,000 .072 at a nominal .05. Beside all rows
    ("overall") each distance to a limit is the larger of two: what the difference becomes at the
    limits of the group's mean square (with which that of all rows moves) and of the others' part,
    those of its skewness or of χ² with 2m²/v degrees of freedom; and that of either root by the share
    of its error that is its own. Normal errors miss in up to .06; where errors have a long tail and
    groups spread unequally they err in up to .078 (exponential, 400 rows beside 60 of twice the
    spread).

    R² depends on how much outcomes vary in a group: two groups that are predicted with equal errors
    have different R² where one varies more. Limits are by the studentised bootstrap of rows or
    clusters [1]_, with the standard error of the jackknife, and on each side no nearer than
    symmetric ones; `counts` do not hold what it needs. One-sided errors at a nominal .05 (2,000
    samples): normal outcomes 40/400 .062 and .015, 60/900 .051 and .021, exponential 60/600 .045
    and .038, lognormal (σ = .5) 50/50 .032 and .042; within strata normal 3 × 20/200 .071 and .020,
    exponential 8 × 8/40 .038 and .032.

    References
    ----------
    .. [1] Hall (1988). On symmetric bootstrap confidence intervals. Journal of the Royal
       Statistical Society B 50, 35–45.

    Examples
    --------
    >>> import numpy as np, fairstats as fs
    >>> rng = np.random.default_rng(1)
    >>> group, price = np.repeat(["a", "b"], [300, 100]), rng.normal(100, 20, 400)
    >>> predicted = price + rng.normal(0, np.where(group == "a", 5, 8))
    >>> result = fs.prediction_errors(price, predicted, sensitive_features=group)
    >>> print(result.verdict, f"{result.estimate:.2f}")
    violated 2.84
    """
    check_choice("metric", metric, (*ERROR_OF, DETERMINATION))
    ratio = check_contrast(contrast)
    if metric in (_RESIDUAL, DETERMINATION) and ratio:
        quantity = "mean residuals" if metric == _RESIDUAL else "R²"
        raise InputError(
            "contrast",
            got=f"'ratio' of {quantity}",
            allowed="their difference: they have both signs",
            cure='contrast="difference", or metric="mean_absolute_error"',
        )
    settings = make_number_settings(
        margin=margin,
        threshold=threshold,
        ratio=ratio,
        alternative=alternative,
        confidence_level=confidence_level,
        simultaneous=simultaneous,
        comparisons=comparisons,
        adjust=adjust,
    )
    row_columns = {
        "y_true": y_true,
        "y_pred": y_pred,
        "sensitive_features": sensitive_features,
        "strata": strata,
    }
    from_counts = counts_or_rows(counts, needs="y_true, y_pred", **row_columns)
    if metric == DETERMINATION:
        check_rows_of_bootstrap(from_counts, "metric", "R² of moments")
    if from_counts:
        moments = moments_of(counts, ERRORS, "outcome= and predicted=")
        within = stratum_moments_of(counts)
    else:
        outcomes = Outcomes.from_arrays(
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
            cluster=cluster,
            strata=strata,
            missing=missing,
            groups=groups,
            numbers={"y_true": y_true, "y_pred": y_pred},
        )
        if metric == DETERMINATION:
            return _compare_drawn(
                outcomes,
                DETERMINATION,
                settings,
                reference,
                strata,
                n_resamples=n_resamples,
                rng=rng,
            )
        errors = errors_of_prediction(outcomes.numbers["y_true"], outcomes.numbers["y_pred"])
        moments = MomentCounts._from_outcomes(outcomes, errors)
        within = stratum_moments_of_rows(outcomes, errors, strata)
    return compare_means(moments, metric, settings, reference, ratio=ratio, within=within)


def compare_means(
    moments: MomentCounts,
    metric: str,
    settings: Inference,
    reference: Hashable | None,
    *,
    ratio: bool,
    within: StratumMoments | None = None,
) -> NumberDifferenceResult | NumberRatioResult:
    """Compare means of the outcome, or errors of its prediction, from their moments.

    `within`: the same by strata; the result then has the adjusted comparisons, too.
    """
    column = ERROR_OF.get(metric, OUTCOME)
    result = compare_numbers(
        MeanValues(moments, column, root=metric == "root_mean_squared_error"),
        moments,
        settings,
        reference,
        metric=metric,
        words=_title(TITLES[metric], ratio=ratio),
        column=column,
        ratio=ratio,
    )
    return with_adjusted_means(result, within)


def stratum_moments_of(counts: Any) -> StratumMoments | None:
    """Moments by stratum of a tally that has strata."""
    if not (isinstance(counts, Tally) and counts.stratified):
        return None
    return counts.stratum_numbers()


def _title(quantity: str, *, ratio: bool) -> str:
    return f"{quantity}: {'ratio' if ratio else 'difference'} between groups"


def moments_of(counts: Any, columns: tuple[str, ...], arguments: str) -> MomentCounts:
    """Moments of these columns, from what was passed as counts."""
    moments = counts.numbers() if isinstance(counts, Tally) else counts
    has_columns = isinstance(moments, MomentCounts) and set(columns) <= set(moments.columns)
    if not has_columns:
        raise InputError(
            "counts",
            got=f"a {type(counts).__name__}",
            allowed=f"moments of {', '.join(columns)} per group",
            cure=f"fs.tally(…, {arguments}), or the columns row by row",
        )
    return moments


def _quantiles_of_groups(
    outcomes: Outcomes, order: float, *, beside_rest: bool = False
) -> tuple[SampleQuantile, ...]:
    """The quantile of every group, and behind them of all others of each where asked for."""
    numbers = outcomes.numbers[OUTCOME]
    codes = outcomes.groups.codes
    clusters = None if outcomes.cluster is None else outcomes.cluster.codes
    masks = [codes == position for position in range(len(outcomes.groups.labels))]
    if beside_rest:
        masks += [~mask for mask in masks]
    samples = []
    for mask in masks:
        samples.append(
            quantile_of_rows(
                numbers[mask],
                None if outcomes.weight is None else outcomes.weight[mask],
                None if clusters is None else clusters[mask],
                order,
            )
        )
    return tuple(samples)


def _check_statistic(statistic: Any) -> float | None:
    """The order of a quantile, None for the mean."""
    if isinstance(statistic, str):
        choices = ("mean", "median", "selection_rate")
        check_choice("statistic", statistic, choices, cure="0.9 is a quantile")
        return 0.5 if statistic == "median" else None
    return check_number(
        "statistic",
        statistic,
        low=0,
        high=1,
        open_low=True,
        open_high=True,
        allowed="'mean', 'median', 'selection_rate', or the order of a quantile in (0, 1)",
        cure="0.9, say",
    )


def _check_quantiles(from_counts: bool, settings: Inference) -> None:
    """Raise where quantiles are asked of what cannot give them."""
    if from_counts:
        raise InputError(
            "statistic",
            got="a quantile of moments",
            allowed="'mean' with counts=: moments do not hold the values",
            cure="pass y, row by row",
        )
    check_that(
        settings.comparisons not in POOLED or settings.simultaneous != "max-z",
        "simultaneous",
        settings.simultaneous,
        f'None or "bonferroni" of quantiles with comparisons="{settings.comparisons}", whose groups'
        " overlap",
        '"bonferroni"',
    )


def _check_standardised(from_counts: bool, order: float | None, *, by_quantile: bool) -> None:
    """Raise where standardised differences are asked of what cannot give them."""
    check_that(
        order is None and not by_quantile,
        "contrast",
        f"'standardised_difference' of {'selection rates' if by_quantile else 'quantiles'}",
        "a difference or ratio of these: standard deviations belong to means",
        'statistic="mean"',
    )
    check_rows_of_bootstrap(from_counts, "contrast", "a standardised difference of moments")
