"""`scores` and `calibration`: how good and how well calibrated risks are, by group."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

import numpy as np

from fairstats.ground.checks import Floats, SeedOrGenerator, check_choice, check_given, check_that
from fairstats.ground.errors import InputError
from fairstats.ground.outcomes import Outcomes
from fairstats.ground.scores import ScoreCounts
from fairstats.ground.strata import StratumCounts
from fairstats.ground.tallies.moments import MomentCounts
from fairstats.ground.tallies.stratum_moments import (
    StratumMoments,
    cross_names,
    cross_with_strata,
    names_of_rests,
    places_of_strata,
)
from fairstats.ground.tally import Tally, counts_or_rows
from fairstats.methods.rates.abroca import check_score_counts
from fairstats.methods.rates.numbers.areas import (
    area_values,
    label_sizes,
    scored_rows,
    sides_of_all,
)
from fairstats.methods.rates.numbers.compare import (
    MeanValues,
    Side,
    compare_numbers,
    sides_of_rest,
)
from fairstats.methods.rates.numbers.curves import (
    CurveDifferenceResult,
    CurveRatioResult,
    CurveResult,
    cutoffs_of,
    z_of_level,
)
from fairstats.methods.rates.numbers.cutoffs import (
    CURVE_RATES,
    NET_BENEFIT,
    OVERALL_ROWS,
    REST_OF_ROWS,
    CutRows,
    check_unmerged,
    compare_net_benefits,
    compare_rates_along,
)
from fairstats.methods.rates.numbers.isotonic import (
    BRIER_PARTS,
    ISOTONIC,
    PartValues,
    compare_isotonic,
    part_values,
)
from fairstats.methods.rates.numbers.options import (
    check_contrast,
    check_strata_of_numbers,
    make_number_settings,
    name_of_strata,
)
from fairstats.methods.rates.numbers.parts_of_all import (
    PartOfAll,
    moves_of_parts,
    sides_of_all_parts,
)
from fairstats.methods.rates.numbers.regressions import (
    CALIBRATIONS,
    CoefficientOfAll,
    RegressionValues,
    coefficients_beside_all,
    moves_of_coefficient,
    regression_values,
)
from fairstats.methods.rates.numbers.result import NumberDifferenceResult, NumberRatioResult
from fairstats.methods.rates.numbers.strata_areas import StratumAreas
from fairstats.methods.rates.numbers.strata_limits import CellValues
from fairstats.methods.rates.numbers.strata_pairs import rows_by_side
from fairstats.methods.rates.numbers.strata_parts import part_cells
from fairstats.methods.rates.numbers.strata_shared import (
    SharedClusters,
    correlations_of_moves,
    correlations_with_all,
)
from fairstats.methods.rates.numbers.stratified import (
    stratum_moments_of_rows,
    with_adjusted_means,
)
from fairstats.methods.rates.numbers.stratified_curves import (
    cells_of_rows,
    cells_of_scores,
    with_adjusted_benefits,
    with_adjusted_rates,
)
from fairstats.methods.rates.result import Inference
from fairstats.methods.rates.setup import POOLED

SCORE_TITLES = {
    "auc": "Areas under ROC curves",
    "brier_score": "Brier scores",
    "log_loss": "Logarithmic losses",
    "balance_positive": "Balance: mean scores of rows with a favourable label",
    "balance_negative": "Balance: mean scores of rows with an unfavourable label",
    "calibration_in_the_large": "Calibration in the large: observed less predicted",
    "calibration_slope": "Calibration slopes",
    "calibration_intercept": "Calibration intercepts",
    "miscalibration": "Miscalibration (MCB), part of the Brier score",
    "discrimination": "Discrimination (DSC), part of the Brier score",
    "uncertainty": "Uncertainty (UNC), part of the Brier score",
}
SCORE_METRICS = (
    "auc",
    "brier_score",
    "log_loss",
    "balance_positive",
    "balance_negative",
    "calibration_in_the_large",
    *BRIER_PARTS,
    NET_BENEFIT,
    *CURVE_RATES,
)
#: Metrics that can be negative, of which there is no ratio.
_SIGNED = ("calibration_in_the_large", *CALIBRATIONS, NET_BENEFIT)
_OF_PAIRS = ("reference", "all")
#: Rows of either label that a regression needs in a stratum.
LEAST_OF_STRATUM = 20
AREA = "auc"
#: Means of a number per row, which may have weights and come in clusters.
_MEANS = (
    "brier_score",
    "log_loss",
    "balance_positive",
    "balance_negative",
    "calibration_in_the_large",
)


def scores(
    y_true: Any = None,
    score: Any = None,
    *,
    sensitive_features: Any = None,
    counts: ScoreCounts | Tally | None = None,
    metric: Literal[
        "auc",
        "brier_score",
        "log_loss",
        "balance_positive",
        "balance_negative",
        "calibration_in_the_large",
        "miscalibration",
        "discrimination",
        "uncertainty",
        "net_benefit",
        "selection_rate",
        "accuracy",
        "tpr",
        "fnr",
        "tnr",
        "fpr",
        "ppv",
        "npv",
        "false_omission_rate",
    ] = "auc",
    cutoffs: Any = None,
    contrast: Literal["difference", "ratio"] = "difference",
    reference: Hashable | None = None,
    comparisons: Literal["reference", "all", "rest", "overall"] = "reference",
    margin: float = 0.0,
    threshold: float = 0.8,
    alternative: Literal["two-sided", "less", "greater"] = "two-sided",
    confidence_level: float = 0.95,
    simultaneous: Literal["bonferroni", "max-z"] | None = None,
    adjust: str = "holm",
    strata: Any = None,
    sample_weight: Any = None,
    cluster: Any = None,
    pos_label: Any = None,
    label_values: Any = None,
    missing: Literal["raise", "drop", "group"] = "raise",
    groups: Sequence[Hashable] | None = None,
) -> NumberDifferenceResult | NumberRatioResult | CurveDifferenceResult | CurveRatioResult:
    """How good risks are by group: AUC, losses, balance, calibration, and rates by cut-off.

    Parameters
    ----------
    y_true : array-like, shape (n,)
        Labels, any type with two values.
    score : array-like of float, shape (n,)
        Score in [0, 1], larger for the favourable label; for losses and calibration its
        probability.
    sensitive_features : array-like (n,) or (n, k), data frame or mapping
        Group of each row; several columns are crossed.
    counts : ScoreCounts or Tally, optional
        Rows per group, label and score instead of the columns; not merged to intervals.
    metric : str, default "auc"
        "auc"; "brier_score", mean (y − s)²; "log_loss", mean −log of the probability of what
        happened; "balance_positive" and "balance_negative", mean score of rows with a favourable
        (unfavourable) label [1]_; "calibration_in_the_large", mean y − s. Parts of the Brier score
        by isotonic calibration [4]_: "miscalibration" − "discrimination" + "uncertainty". Along
        cut-offs c: "net_benefit" of selecting s ≥ c, (tp − fp·c/(1 − c))/n [5]_; and rates of that
        selection, "selection_rate", "tpr", "fpr", "ppv" …
    cutoffs : array-like of float, optional
        Cut-offs of what goes along them; default up to 19 quantiles of the scores of all groups.
    contrast : {"difference", "ratio"}, default "difference"
        Group less reference, or group by reference (not of what can be 0 or negative: calibration
        in the large, parts of the Brier score, net benefit).
    reference, comparisons, margin, threshold, alternative, confidence_level, simultaneous, adjust
        As in `means`; all other rows ("rest") and everybody ("overall") for every metric.
        Margin and threshold of rates as in `group_metric`.
    strata : array-like, shape (n,), optional
        Confounder, as in `means`; parts of the Brier score are sums over the strata, too. AUCs are
        adjusted as ΣωA over the strata with the weights of Mantel and Haenszel of their positives, ω ∝ p₁p₀/(p₁ +
        p₀) [7]_ (or the weights of these; beside everybody ω ∝ p₁), net benefit as a mean, and rates
        by the stratified score at every cut-off, all of them one family.
    sample_weight, cluster : array-like, shape (n,), optional
        Weights and sampling units of the rows, each unit within one group; clusters may lie in
        several strata.
    pos_label, label_values, missing, groups
        As in `abroca`.

    Returns
    -------
    NumberDifferenceResult or NumberRatioResult
        Along cut-offs their kin `CurveDifferenceResult` and `CurveRatioResult`, with a row for
        every cut-off, `stretches()` of equal verdict, and limits that hold at all cut-offs at once.

    Raises
    ------
    InputError
        For scores outside [0, 1], weights or clusters in `counts`, a log loss that is infinite, and
        other input that cannot be used.

    Warns
    -----
    InsufficientEvidenceWarning
        Where a group has fewer than 10 rows (or clusters) of either label (AUC), or fewer than 20
        rows of those that the mean is over.

    Notes
    -----
    Losses, balance and calibration in the large are means of a number per row and are compared as
    in `means`. Limits of an AUC are the wider of two: DeLong's variance on the logit scale with
    Student's t, and Newcombe's, which has a width where the scores separate the labels; groups are
    combined by MOVER. Simulated beside 150 + 300 rows: 10 positives and 10 to 200 negatives at AUCs
    of .6 to .99, one-sided errors at a nominal .05 up to .036, and where positives spread twice as
    much as negatives up to .079 (10 + 200, AUC .85); two-sided coverage .949 and more.

    Under weights the AUC is that of all pairs, each with the product of its weights; its variance
    is DeLong's with weighted placements, of clusters Obuchowski's [6]_, and both limits have
    Student's t and Kish's numbers of rows (of clusters as many rows as show their variance).
    One-sided errors at a nominal .05, 10,000 samples, CV of the weights .5 to 1.5, from 10 + 50
    beside 30 + 570 rows on, weights with the score too: up to .043, clusters of 5 up to .042. Beside
    all rows ("overall") the shares of the groups in the rows of a label are held fixed; limits are
    by MOVER of those of both areas, each by the share of its variance that the difference has from
    it: up to .06.

    Within strata the two limits of an AUC are those of the adjusted one: with the variance Σω²·Var A
    and Satterthwaite's degrees of freedom, and with Newcombe's Σω²·V(a). Strata without three rows
    of each label in both groups are left out and named, and a group needs nine rows of each label
    beyond the first of every stratum. One-sided errors at a nominal .05 up to .043 (AUCs of .6 to
    .9, 3 strata of 10 + 20 rows beside 60 + 120 to 8 of 3 + 8 beside 15 + 30), and where positives
    spread twice as much .051; with weights (CV .5 and 1) and clusters of 3 up to .044. One
    difference in all strata is tested by Cochran's Q with DeLong's variances, over strata with five
    rows of each label: at AUCs of .9 and more, and opposite sizes of both groups, its level is up
    to .13. Beside everybody the group's AUC and that of all rows in each stratum are summed by its
    positives (or their weights), and so are the variances of what either adds to the differences:
    one-sided errors up to .048. Clusters that lie in several strata are one linearised value each:
    up to .044 (2,000 samples).

    Along cut-offs within strata the limits of a group's own adjusted rate are conservative: Wilson's
    in every stratum, by MOVER, of effective counts under weights and clusters (coverage of 400 samples
    each .957 to .980: 3 strata of 30 to 100 rows, weights of CV .7, clusters of 5).

    The isotonic curve p̂ fits its own rows too well, so limits of miscalibration, S(s) − S(p̂) with
    S the Brier score, and of discrimination, S(ȳ) − S(p̂), reach from the estimate less its optimism
    (curves that leave each row out) to the estimate, z standard errors beyond both: conservative at
    10 events and more. Those of uncertainty, ȳ(1 − ȳ), are Wilson's limits of ȳ. With weights or
    clusters p̂ is the weighted isotonic regression, curves leave each unit out, variances are summed by
    unit, with Student's t, and Wilson's limits are of the effective rows: one-sided errors at a
    nominal .05 up to .05, CV of the weights .5 and 1, weights that go with the label, clusters of 5.
    Within strata (with ten rows of each label of both) estimates, optimism and variances are summed:
    conservative. Beside everybody miscalibration and discrimination have the variance that the group's
    rows and all others add to the difference, and uncertainty, as curves, the one's limit less the
    other's; within strata all are summed by the group's rows (or their weights). What parts of strata
    that share clusters have in common counts by the correlation of the clusters' sums.

    Net benefit is a mean of a number per row, and rates at a cut-off are those of predictions:
    each is compared by the rule of `means` and of `group_metric` (score, or exact where few cases
    are expected at the level that is used), and all cut-offs and pairs are one family.

    References
    ----------
    .. [1] Kleinberg, Mullainathan, Raghavan (2016). Inherent trade-offs in the fair determination
       of risk scores. arXiv:1609.05807.
    .. [2] DeLong, DeLong, Clarke-Pearson (1988). Biometrics 44, 837–845.
    .. [3] Newcombe (2006). Statistics in Medicine 25, 559–573.
    .. [4] Dimitriadis, Gneiting, Jordan (2021). Stable reliability diagrams for probabilistic
       classifiers. PNAS 118, e2016191118.
    .. [5] Vickers, Elkin (2006). Decision curve analysis. Medical Decision Making 26, 565–574.
    .. [6] Obuchowski (1997). Nonparametric analysis of clustered ROC curve data. Biometrics 53,
       567–578.
    .. [7] Janes, Pepe (2009). Adjusting for covariate effects on classification accuracy using the
       covariate-adjusted receiver operating characteristic curve. Biometrika 96, 371–382.

    Examples
    --------
    >>> import numpy as np, fairstats as fs
    >>> rng = np.random.default_rng(1)
    >>> y, group = rng.integers(0, 2, 600), np.repeat(["a", "b"], [400, 200])
    >>> score = np.clip(0.4 + np.where(group == "a", 0.3, 0.1) * y + rng.normal(0, 0.15, 600), 0, 1)
    >>> result = fs.scores(y, score, sensitive_features=group, metric="auc")
    >>> print(f"{result.estimate:.3f} {result.verdict}")
    -0.252 violated
    >>> along = fs.scores(
    ...     y, score, sensitive_features=group, metric="tpr", cutoffs=[0.4, 0.6, 0.8], margin=0.1
    ... )
    >>> along.stretches()[["verdict", "first", "last"]]
        verdict  first  last
    0  violated    0.4   0.8
    """
    check_choice("metric", metric, SCORE_METRICS)
    return _compare_scores(
        y_true,
        score,
        metric=metric,
        row_options={
            "sensitive_features": sensitive_features,
            "pos_label": pos_label,
            "label_values": label_values,
            "missing": missing,
            "groups": groups,
            "strata": strata,
            "sample_weight": sample_weight,
            "cluster": cluster,
        },
        counts=counts,
        reference=reference,
        contrast=contrast,
        curve_options={"cutoffs": cutoffs},
        setting_options={
            "comparisons": comparisons,
            "margin": margin,
            "threshold": threshold,
            "alternative": alternative,
            "confidence_level": confidence_level,
            "simultaneous": simultaneous,
            "adjust": adjust,
        },
    )


def calibration(
    y_true: Any = None,
    score: Any = None,
    *,
    sensitive_features: Any = None,
    counts: ScoreCounts | Tally | None = None,
    metric: Literal["slope", "intercept", "isotonic"] = "slope",
    at: Any = None,
    reference: Hashable | None = None,
    comparisons: Literal["reference", "all", "rest", "overall"] = "reference",
    margin: float = 0.0,
    alternative: Literal["two-sided", "less", "greater"] = "two-sided",
    confidence_level: float = 0.95,
    simultaneous: Literal["bonferroni", "max-z"] | None = None,
    adjust: str = "holm",
    strata: Any = None,
    sample_weight: Any = None,
    cluster: Any = None,
    pos_label: Any = None,
    label_values: Any = None,
    missing: Literal["raise", "drop", "group"] = "raise",
    groups: Sequence[Hashable] | None = None,
    n_resamples: int = 999,
    rng: SeedOrGenerator = None,
) -> NumberDifferenceResult | CurveDifferenceResult:
    """Calibration of risks by group: slope or intercept of a logistic regression, or a curve.

    Parameters
    ----------
    y_true : array-like, shape (n,)
        Labels, any type with two values.
    score : array-like of float, shape (n,)
        Probability of the favourable label, in (0, 1); of a curve also 0 and 1.
    sensitive_features : array-like (n,) or (n, k), data frame or mapping
        Group of each row; several columns are crossed.
    counts : ScoreCounts or Tally, optional
        Rows per group, label and score instead of the columns; not merged to intervals.
    metric : {"slope", "intercept", "isotonic"}, default "slope"
        β of logit P(y = 1) = α + β·logit(s): 1 where the score is as spread as the risks, below 1
        where it is too spread; or α with the slope held at 1: above 0 risks are too low. Or the
        share of the favourable label by score, an isotonic regression, with a test that groups have
        one curve.
    at : array-like of float, optional
        Scores at which curves are compared; default up to 19 quantiles of all scores.
    reference, comparisons, margin, alternative, confidence_level, simultaneous, adjust
        As in `means`. Limits and p-values of curves hold at all scores and for all comparisons at
        once, whatever `simultaneous` and `adjust` say.
    strata : array-like, shape (n,), optional
        Confounder of slopes and intercepts, as in `means`: a coefficient is Σωβ over the strata.
        Those without 20 rows (or clusters) of each label of both groups are left out and named.
    sample_weight, cluster : array-like, shape (n,), optional
        Weights and sampling units of the rows, each unit within one group; clusters may lie in
        several strata.
    pos_label, label_values, missing, groups
        As in `abroca`.
    n_resamples, rng
        Draws of labels that test equal curves, and their seed or Generator.

    Returns
    -------
    NumberDifferenceResult
        Differences between groups, and each group's own value with its interval. Of curves a
        `CurveDifferenceResult`: a row for every score, and tests of equal curves in `equality`.

    Raises
    ------
    InputError
        For scores of 0 or 1, whose logit is infinite, and other input that cannot be used.

    Warns
    -----
    InsufficientEvidenceWarning
        Where a group has fewer than 10 rows (or clusters) of either label, or its scores separate
        the labels.

    Notes
    -----
    Estimates and standard errors are those of R's ``glm(y ~ qlogis(s), binomial)``, and with
    ``offset(qlogis(s))``; limits are Wald's: with 50 to 300 rows beside 2,000, risks about .3,
    coverage .947 to .970, one-sided errors at a nominal .05 up to .07 (`vignettes/calibration.md`).

    Beside everybody ("overall") a coefficient is compared with that of the regression of all rows,
    whose errors both have: by the jackknife within groups of the difference of both, one step of
    Newton each, and Student's t. Within strata the group's and everybody's coefficients are summed
    with the group's rows (or weights), and the distances to the limits of their differences are
    joined by MOVER; one stratum has the numbers without strata.

    With weights or clusters estimates are those of R's ``survey::svyglm``; standard errors leave
    out one row or cluster each (one step of Newton, as HC3 does [3]_), for the sandwich of few
    units with much weight is too small. Student's t has the smaller of Kish's number of units less
    the coefficients, and the number that the variance rests on. One-sided errors of one group at a
    nominal .05, 4,000 samples, 60 to 600 rows, CV of the weights .5 to 1.5, clusters of 5: up to .05.

    Within strata limits are by MOVER of the strata's own, and the bias of a coefficient to the first
    order [4]_ is taken away as far as one regression of all rows of the group would not have it.
    One-sided errors at a nominal .05, 80/400 in three strata to 80/120 in eight and 120/500 in six
    with risks about .23: slopes .053, intercepts .058. Strata that share clusters are joined with the
    correlations of what the clusters move their coefficients by: up to .048 (100 beside 200 clusters of
    six rows in three strata).

    Bands of isotonic curves are exact limits of Clopper and Pearson over runs of rows next to each
    score, Bonferroni over the runs [2]_: those of a group hold at all scores at once for any curve
    that does not fall and any number of rows, and are wide. Differences are by MOVER of both bands:
    one-sided errors at a nominal .05 up to .02, 60 beside 600 rows and more, flat curves too. The
    test that two groups have one curve is sharper: the largest standardised difference, over runs
    of ten blocks of scores, of the mean residuals about the curve of both groups together; its law
    from labels drawn by that curve. With weights or clusters limits are those of the effective rows
    [5]_ of every run, and the variance of the test has what clusters, and weights that go with the label,
    add: errors up to .033, size up to .038 at .05.

    References
    ----------
    .. [1] Cox (1958). Two further applications of a model for binary regression. Biometrika 45.
    .. [2] Dimitriadis, Dümbgen, Henzi, Puke, Ziegel (2023). Honest calibration assessment for
       binary outcome predictions. Biometrika 110, 663–680.
    .. [3] Bell, McCaffrey (2002). Bias reduction in standard errors for linear regression with
       multi-stage samples. Survey Methodology 28, 169–181.
    .. [4] Cox, Snell (1968). A general definition of residuals. JRSS B 30, 248–275.
    .. [5] Korn, Graubard (1998). Confidence intervals for proportions with small expected number of
       positive counts estimated from survey data. Survey Methodology 24, 193–201.

    Examples
    --------
    >>> import numpy as np, fairstats as fs
    >>> rng = np.random.default_rng(1)
    >>> score, group = rng.uniform(0.05, 0.95, 2000), np.repeat(["a", "b"], 1000)
    >>> y = rng.random(2000) < np.where(group == "a", score, 0.25 + score / 2)
    >>> result = fs.calibration(y, score, sensitive_features=group, reference="a")
    >>> print(f"{result['b'].rate:.2f} against {result['b'].rate_reference:.2f}: {result.verdict}")
    0.44 against 0.96: violated
    >>> curves = fs.calibration(y, score, sensitive_features=group, metric="isotonic", rng=1)
    >>> print(f"{curves.equality[0].test.pvalue:.3f}")
    0.001
    """
    check_choice("metric", metric, ("slope", "intercept", "isotonic"))
    result: Any = _compare_scores(
        y_true,
        score,
        metric=ISOTONIC if metric == "isotonic" else f"calibration_{metric}",
        row_options={
            "sensitive_features": sensitive_features,
            "pos_label": pos_label,
            "label_values": label_values,
            "missing": missing,
            "groups": groups,
            "strata": strata,
            "sample_weight": sample_weight,
            "cluster": cluster,
        },
        counts=counts,
        reference=reference,
        contrast="difference",
        curve_options={"cutoffs": at, "n_resamples": n_resamples, "rng": rng},
        setting_options={
            "comparisons": comparisons,
            "margin": margin,
            "threshold": 0.8,
            "alternative": alternative,
            "confidence_level": confidence_level,
            "simultaneous": simultaneous,
            "adjust": adjust,
        },
    )
    return result  # type: ignore[no-any-return]


def _compare_scores(
    y_true: Any,
    score: Any,
    *,
    metric: str,
    row_options: dict[str, Any],
    counts: Any,
    reference: Hashable | None,
    contrast: str,
    curve_options: dict[str, Any],
    setting_options: dict[str, Any],
) -> NumberDifferenceResult | NumberRatioResult:
    """From the arguments of a public function to its result."""
    ratio = check_contrast(contrast)
    if ratio and metric in (*_SIGNED, *BRIER_PARTS):
        raise InputError(
            "contrast",
            got=f"'ratio' of {metric}",
            allowed="its difference: it has both signs, or can be 0",
            cure='contrast="difference"',
        )
    _check_comparisons(metric, setting_options)
    check_strata_of_numbers(row_options.get("strata"), _without_strata(metric))
    settings = make_number_settings(ratio=ratio, **setting_options)
    is_curve = metric in (*CURVE_RATES, NET_BENEFIT, ISOTONIC)
    check_that(
        is_curve or curve_options["cutoffs"] is None,
        "cutoffs" if "rng" not in curve_options else "at",
        curve_options["cutoffs"],
        f"None for {metric}, which does not go along the scores",
        'metric="tpr", or metric="isotonic" of fs.calibration',
    )
    is_pooled = settings.comparisons in POOLED
    rows = _rows_of(y_true, score, metric, row_options, counts, is_pooled=is_pooled)
    strata = row_options.get("strata")
    if metric in CURVE_RATES:
        rates = compare_rates_along(
            rows, metric, curve_options["cutoffs"], settings, reference, ratio=ratio
        )
        tables = rates_by_stratum(rates, rows, strata, counts)
        return with_adjusted_rates(rates, tables) if tables else rates
    if metric == NET_BENEFIT:
        benefits = compare_net_benefits(rows, curve_options["cutoffs"], settings, reference)
        parts = benefits_by_stratum(benefits, rows, strata, counts)
        return with_adjusted_benefits(benefits, parts) if parts else benefits
    if metric == ISOTONIC:
        return compare_isotonic(
            rows,
            curve_options["cutoffs"],
            settings,
            reference,
            curve_options["n_resamples"],
            curve_options["rng"],
        )
    sums = _sums_of(rows, metric, settings, strata, counts)
    if metric in _MEANS:
        return compare_scores_by(
            MeanValues(sums.moments, metric),
            sums.moments,
            metric,
            settings,
            reference,
            within=sums.within,
        )
    return _compare_one_number(rows, sums, metric, settings, reference)


def _without_strata(metric: str) -> str:
    """What has no comparison within strata, in words; empty for what has one."""
    if metric == ISOTONIC:
        return "curves, which strata do not have at the same scores"
    return ""


def rates_by_stratum(
    curve: CurveResult, rows: CutRows, strata: Any, counts: Any
) -> list[StratumCounts]:
    """Cells of every group within the strata at every cut-off; empty without strata."""
    outcomes = rows.outcomes
    if outcomes is not None and outcomes.strata is not None:
        name = name_of_strata(strata)
        return [cells_of_rows(rows.of_rows(), cutoff, name) for cutoff in cutoffs_of(curve)]
    within = _scores_by_stratum(counts, outcomes, strata)
    tables = []
    if within.cells is not None:
        for cutoff in cutoffs_of(curve):
            tables.append(
                cells_of_scores(
                    CutRows(counts=within.cells),
                    cutoff,
                    within.strata,
                    within.groups,
                    within.attribute,
                )
            )
    return tables


def benefits_by_stratum(
    curve: CurveResult, rows: CutRows, strata: Any, counts: Any
) -> list[StratumMoments]:
    """Moments of the net benefit within the strata at every cut-off; empty without strata."""
    outcomes = rows.outcomes
    parts = []
    if outcomes is not None and outcomes.strata is not None:
        name = name_of_strata(strata)
        for cutoff in cutoffs_of(curve):
            numbers = {NET_BENEFIT: rows.benefits(cutoff)}
            parts.append(StratumMoments._from_outcomes(outcomes, numbers, name))
        return parts
    within = _scores_by_stratum(counts, outcomes, strata)
    if within.cells is None:
        return []
    crossings = CutRows(counts=within.cells)
    for cutoff in cutoffs_of(curve):
        parts.append(
            StratumMoments(
                strata=within.strata,
                groups=within.groups,
                cells=crossings.moments(cutoff),
                attribute=within.attribute,
            )
        )
    return parts


@dataclass(frozen=True, eq=False)
class _Sums:
    """Moments of the number per row, and where there are strata those, and of AUC the areas, of
    each.
    """

    moments: MomentCounts
    within: StratumMoments | None = None
    areas: StratumAreas | None = None
    cells: CellValues | None = None


def _sums_of(rows: CutRows, metric: str, settings: Inference, strata: Any, counts: Any) -> _Sums:
    """What a metric is computed from besides the scores themselves."""
    if rows.counts is None or (rows.outcomes is not None and metric in _MEANS):
        outcomes, numbers = _numbers_of_rows(rows.required_outcomes(), metric)
        moments = MomentCounts._from_outcomes(outcomes, numbers)
        within = stratum_moments_of_rows(outcomes, numbers, strata)
        if within is None:
            return _Sums(moments)
        cells = None
        areas = None
        by_side, _ = rows_by_side(rows.required_outcomes(), settings.comparisons)
        n_sides = len(by_side.groups.labels)
        if metric in (*CALIBRATIONS, *BRIER_PARTS):
            _, crossed = cross_with_strata(by_side)
            cells = _limits_by_stratum(CutRows(outcomes=crossed), metric, within, n_sides)
            if within.shared is not None:
                cells = replace(cells, shared=_shared_by_strata(crossed, metric, cells))
            if settings.comparisons == OVERALL_ROWS:
                cells = _beside_everybody(cells, _rows_of_strata(rows.required_outcomes()), metric)
        elif metric == AREA:
            is_spread = within.shared is not None
            _, crossed = cross_with_strata(by_side)
            scored = scored_rows(CutRows(outcomes=crossed))
            areas = StratumAreas._from_rows(
                scored, len(within.strata), n_sides, is_spread=is_spread
            )
            if settings.comparisons == OVERALL_ROWS:
                areas = areas._with_everybody(_rows_of_strata(rows.required_outcomes()))
        return _Sums(moments, within=within, areas=areas, cells=cells)
    moments = moments_of_scores(rows.counts, metric)
    in_strata = _scores_by_stratum(counts, rows.outcomes, strata)
    if in_strata.cells is None:
        return _Sums(moments)
    within = in_strata.moments(metric)
    if metric in _MEANS:
        return _Sums(moments, within=within)
    sides = in_strata
    if settings.comparisons in POOLED:
        sides = in_strata.beside_rests()
    counted = check_given("counts", sides.cells)
    n_sides = len(sides.groups)
    if metric == AREA:
        areas = StratumAreas._from_scores(counted, len(within.strata), n_sides)
        if settings.comparisons == OVERALL_ROWS:
            areas = areas._with_everybody(in_strata.each())
        return _Sums(moments, within=within, areas=areas)
    cells = _limits_by_stratum(CutRows(counts=counted), metric, within, n_sides)
    if settings.comparisons == OVERALL_ROWS:
        cells = _beside_everybody(cells, in_strata.each(), metric)
    return _Sums(moments, within=within, cells=cells)


def _rows_of_strata(outcomes: Outcomes) -> list[CutRows]:
    """The rows of every stratum."""
    codes, names = places_of_strata(outcomes)
    return [CutRows(outcomes=outcomes.take(codes == place)) for place in range(len(names))]


def _beside_everybody(cells: CellValues, strata: Sequence[CutRows], metric: str) -> CellValues:
    """With what compares every group with all rows of a stratum, `strata`."""
    n_sides = cells.enough.shape[1]
    enough = cells.enough.copy()
    everybody: list[CoefficientOfAll | PartOfAll] = []
    for place, rows in enumerate(strata):
        found: CoefficientOfAll | PartOfAll
        if metric in BRIER_PARTS:
            parts = cast("PartValues", cells.values)
            found = PartOfAll(rows, metric, parts, place * n_sides)
        else:
            values = cast("RegressionValues", cells.values)
            found = CoefficientOfAll(rows, metric, values, place * n_sides)
        everybody.append(found)
        for group in range(n_sides // 2):
            enough[place, group] &= found.has_error(group)
    shared = cells.shared
    if shared is not None:
        shared = correlations_with_all(shared.of_sides, everybody, n_sides // 2)
    return replace(cells, enough=enough, everybody=tuple(everybody), shared=shared)


def _shared_by_strata(crossed: Outcomes, metric: str, cells: CellValues) -> SharedClusters:
    """What strata share whose clusters lie in several."""
    if metric in BRIER_PARTS:
        moves = moves_of_parts(CutRows(outcomes=crossed), metric)
    else:
        values = cast("RegressionValues", cells.values)
        moves = [moves_of_coefficient(each) for each in values.coefficients]
    return SharedClusters(correlations_of_moves(moves, cells.enough.shape))


def _limits_by_stratum(
    crossed: CutRows, metric: str, within: StratumMoments, n_sides: int
) -> CellValues:
    """What has limits in every crossing of stratum and group, or all others of each."""
    if metric in BRIER_PARTS:
        return part_cells(crossed, metric, within, n_sides)
    return _regressions_by_stratum(crossed, metric, within, n_sides)


def _regressions_by_stratum(
    crossed: CutRows, metric: str, within: StratumMoments, n_sides: int
) -> CellValues:
    """Slope or intercept of every crossing of stratum and group, or all others of each."""
    values = regression_values(crossed, metric)
    shape = (len(within.strata), n_sides)
    sizes = label_sizes(crossed).sizes.min(axis=1)
    has_one = [not note for note in values.notes]
    enough = np.array(has_one) & (sizes >= LEAST_OF_STRATUM)
    kind = "clusters" if within.cells.clustered else "rows"
    return CellValues(
        values=values,
        enough=enough.reshape(shape),
        positive=np.ones(shape, dtype=bool),
        needs=f"{LEAST_OF_STRATUM} {kind} of each label of both, which the scores do not separate",
        biases=np.array([coefficient.bias for coefficient in values.coefficients]),
    )


def _compare_one_number(
    rows: CutRows,
    sums: _Sums,
    metric: str,
    settings: Inference,
    reference: Hashable | None,
) -> NumberDifferenceResult | NumberRatioResult:
    """Compare what has one number for every group and is no mean."""
    beside_rest = settings.comparisons == REST_OF_ROWS
    remarks: tuple[str, ...] = ()
    values: Any
    if metric == AREA:
        values = area_values(rows, beside_rest=beside_rest)
        remarks = label_sizes(rows, beside_rest=beside_rest).remarks()
    elif metric in CALIBRATIONS:
        values = regression_values(rows, metric, beside_rest=beside_rest)
    else:
        values = part_values(rows, metric, beside_rest=beside_rest)
    sizes = sums.moments.group_sizes
    z = z_of_level(settings.confidence_level)
    ratio = settings.threshold is not None
    pooled = None
    if beside_rest:
        pooled = sides_of_rest(values, sizes, z, ratio=ratio)
    elif settings.comparisons == OVERALL_ROWS and metric in BRIER_PARTS:
        pooled = sides_of_all_parts(rows, values, metric, sizes, z)
    elif settings.comparisons == OVERALL_ROWS and metric in CALIBRATIONS:
        pooled = coefficients_beside_all(rows, values, metric, sizes, z)
    elif settings.comparisons == OVERALL_ROWS:
        pooled = sides_of_all(rows, values, sizes, z, ratio=ratio)
    return compare_scores_by(
        values,
        sums.moments,
        metric,
        settings,
        reference,
        remarks=remarks,
        pooled=pooled,
        within=sums.within,
        areas=sums.areas,
        cells=sums.cells,
    )


def _check_comparisons(metric: str, options: dict[str, Any]) -> None:
    """Raise for comparisons that a metric does not have."""
    check_choice("comparisons", options["comparisons"], (*_OF_PAIRS, *POOLED))
    is_pooled = options["comparisons"] in POOLED
    simultaneous = options["simultaneous"]
    # what is no word at all is refused where settings are made
    has_joint_law = metric in _MEANS or not (
        isinstance(simultaneous, str) and simultaneous == "max-z"
    )
    check_that(
        has_joint_law or not is_pooled or metric in (*CURVE_RATES, NET_BENEFIT, ISOTONIC),
        "simultaneous",
        simultaneous,
        f'None or "bonferroni" of {metric} with comparisons="{options["comparisons"]}"',
        '"bonferroni"',
    )


def compare_scores_by(
    values: Any,
    moments: MomentCounts,
    metric: str,
    settings: Inference,
    reference: Hashable | None,
    *,
    remarks: tuple[str, ...] = (),
    within: StratumMoments | None = None,
    pooled: Mapping[int, Side] | None = None,
    areas: StratumAreas | None = None,
    cells: CellValues | None = None,
) -> NumberDifferenceResult | NumberRatioResult:
    """Compare one number of every group's scores; `within`, `areas`, `cells`: the same by strata."""
    ratio = settings.threshold is not None
    kind = "ratio" if ratio else "difference"
    result = compare_numbers(
        values,
        moments,
        settings,
        reference,
        metric=metric,
        words=f"{SCORE_TITLES[metric]}: {kind} between groups",
        column=metric,
        ratio=ratio,
        remarks=remarks,
        pooled=pooled,
    )
    return with_adjusted_means(result, within, areas, cells)


def _rows_of(
    y_true: Any,
    score: Any,
    metric: str,
    row_options: dict[str, Any],
    counts: Any,
    *,
    is_pooled: bool,
) -> CutRows:
    """Counts of scores, or rows where these have weights or clusters."""
    columns = {
        "y_true": y_true,
        "score": score,
        "sensitive_features": row_options["sensitive_features"],
        "strata": row_options.get("strata"),
    }
    if counts_or_rows(counts, needs="y_true, score", **columns):
        counted = check_score_counts(counts)
        check_unmerged(counted)
        return CutRows(counts=counted)
    outcomes = Outcomes.from_arrays(y_true, None, score=score, **row_options)
    if metric in (*_MEANS, NET_BENEFIT, *CURVE_RATES):
        # a mean and a rate know themselves which weights are idle
        if outcomes.weight is not None or outcomes.cluster is not None:
            return CutRows(outcomes=outcomes)
        if outcomes.strata is not None:
            return CutRows(counts=ScoreCounts._from_outcomes(outcomes), outcomes=outcomes)
        return CutRows(counts=ScoreCounts._from_outcomes(outcomes))
    counted = _without_idle_weights(ScoreCounts._from_outcomes(outcomes), is_pooled=is_pooled)
    if counted.weighted or counted.clustered:
        return CutRows(outcomes=outcomes if counted.weighted else replace(outcomes, weight=None))
    if outcomes.strata is not None:
        return CutRows(counts=counted, outcomes=outcomes)
    return CutRows(counts=counted)


def _without_idle_weights(counted: ScoreCounts, *, is_pooled: bool) -> ScoreCounts:
    """The counts without weights that change no comparison.

    Those that are equal within every group, where groups are pooled in all of them.
    """
    even = counted.without_even_weights()
    if not is_pooled or counted.totals is None or even.totals is not None:
        return even
    rows = counted.group_sizes
    mean_weights = counted.totals.sum(axis=(1, 2))[rows > 0] / rows[rows > 0]
    is_one_weight = mean_weights.size == 0 or np.ptp(mean_weights) < 1e-12 * mean_weights[0]
    return even if is_one_weight else counted


def _numbers_of_rows(outcomes: Outcomes, metric: str) -> tuple[Outcomes, dict[str, Floats]]:
    """The number per row that a metric is the mean of, and the rows that it is over."""
    if metric == "balance_positive":
        outcomes = outcomes.take(check_given("y_true", outcomes.y_true) == 1)
    elif metric == "balance_negative":
        outcomes = outcomes.take(check_given("y_true", outcomes.y_true) == 0)
    label = check_given("y_true", outcomes.y_true).astype(np.float64)
    score = check_given("score", outcomes.score)
    numbers = score
    if metric == "brier_score":
        numbers = (label - score) ** 2
    elif metric == "calibration_in_the_large":
        numbers = label - score
    elif metric == "log_loss":
        probability = np.where(label == 1, score, 1 - score)
        _refuse_infinite_losses(int((probability <= 0).sum()))
        numbers = -np.log(probability)
    return outcomes, {metric: numbers}


@dataclass(frozen=True, eq=False)
class _ScoresByStratum:
    """Rows by score in the crossings of strata and groups; None without strata."""

    strata: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    cells: ScoreCounts | None = None
    attribute: str = ""

    def moments(self, metric: str) -> StratumMoments:
        """Moments of the number per row that a metric is the mean of."""
        return StratumMoments(
            strata=self.strata,
            groups=self.groups,
            cells=moments_of_scores(check_given("counts", self.cells), metric),
            attribute=self.attribute,
        )

    def each(self) -> list[CutRows]:
        """The rows of every stratum."""
        cells = check_given("counts", self.cells)
        shape = (len(self.strata), len(self.groups))
        found = []
        for counts in cells.counts.reshape(*shape, *cells.counts.shape[1:]):
            of_stratum = replace(
                cells, groups=self.groups, counts=counts, totals=None, squares=None
            )
            found.append(CutRows(counts=of_stratum))
        return found

    def beside_rests(self) -> _ScoresByStratum:
        """The same with all others of each group behind the groups."""
        cells = check_given("counts", self.cells)
        shape = (len(self.strata), len(self.groups))

        def with_rests(counts: Any) -> Any:
            if counts is None:
                return None
            of_strata = counts.reshape(*shape, *counts.shape[1:])
            rests = of_strata.sum(axis=1, keepdims=True) - of_strata
            return np.concatenate([of_strata, rests], axis=1).reshape(-1, *counts.shape[1:])

        groups = (*self.groups, *names_of_rests(self.groups))
        beside = replace(
            cells,
            groups=cross_names(self.strata, groups),
            counts=with_rests(cells.counts),
            totals=with_rests(cells.totals),
            squares=with_rests(cells.squares),
        )
        return replace(self, groups=groups, cells=beside)


def _scores_by_stratum(counts: Any, outcomes: Outcomes | None, strata: Any) -> _ScoresByStratum:
    """Of rows that have strata, or of a tally that has some."""
    if outcomes is not None and outcomes.strata is not None:
        names, crossed = cross_with_strata(outcomes)
        return _ScoresByStratum(
            strata=names,
            groups=outcomes.groups.labels,
            cells=ScoreCounts._from_outcomes(crossed),
            attribute=name_of_strata(strata),
        )
    is_stratified = isinstance(counts, Tally) and counts.stratified
    if not is_stratified or counts.scores is None:
        return _ScoresByStratum()
    return _ScoresByStratum(*counts._scores_in_strata())


def moments_of_scores(counted: ScoreCounts, metric: str) -> MomentCounts:
    """Moments of the number per row that a metric is the mean of; of others those of the score."""
    values = counted.values
    negatives = counted.counts[:, 0]
    positives = counted.counts[:, 1]
    both = np.concatenate([negatives, positives], axis=1)
    numbers = np.concatenate([values, values])
    rows = both
    if metric == "brier_score":
        numbers = np.concatenate([values**2, (1 - values) ** 2])
    elif metric == "log_loss":
        numbers = _log_losses(values, both)
    elif metric == "calibration_in_the_large":
        numbers = np.concatenate([-values, 1 - values])
    elif metric == "balance_positive":
        numbers = values
        rows = positives
    elif metric == "balance_negative":
        numbers = values
        rows = negatives
    return MomentCounts._from_counted(counted.groups, metric, numbers, rows, counted.missing)


def _log_losses(values: Floats, rows: Any) -> Floats:
    """−log of the probability of what happened, of label 0 and of label 1."""
    with np.errstate(divide="ignore"):
        losses = -np.concatenate([np.log1p(-values), np.log(values)])
    _refuse_infinite_losses(int(rows[:, np.isinf(losses)].sum()))
    return np.where(np.isinf(losses), 0.0, losses)


def _refuse_infinite_losses(n_infinite: int) -> None:
    if n_infinite:
        raise InputError(
            "score",
            got=f"{n_infinite:,} rows whose label had the probability 0",
            allowed="scores above 0 of label 1, and below 1 of label 0: other losses are infinite",
            cure='metric="brier_score", or scores that are kept off 0 and 1',
        )
