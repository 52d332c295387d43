"""Differences of rates between groups, with fairlearn's signature."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Literal

from fairstats.ground.checks import SeedOrGenerator
from fairstats.methods.rates import setup
from fairstats.methods.rates.extremes import ExtremeDifferenceResult
from fairstats.methods.rates.inferred.result import InferredResult
from fairstats.methods.rates.maxima import MaximumResult
from fairstats.methods.rates.metrics import compare_by_name
from fairstats.methods.rates.result import DifferenceResult


def demographic_parity_difference(
    y_true: Any = None,
    y_pred: Any = None,
    *,
    sensitive_features: Any = None,
    agg: Literal["max"] | None = None,
    counts: Any = None,
    reference: Hashable | None = None,
    comparisons: Literal["reference", "all", "rest", "overall"] = "reference",
    method: Literal["score", "delta", "mee", "bootstrap", "anytime", "anytime-exact"] | None = None,
    margin: float = 0.1,
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
    n_resamples: int = 9_999,
    rng: SeedOrGenerator = None,
    planned: int | None = None,
    sensitive_probabilities: Any = None,
    calibration_sample: Any = None,
) -> DifferenceResult | MaximumResult | InferredResult:
    """Demographic parity difference: P(ŷ=1 | S=s) − P(ŷ=1 | S=reference).

    Also known as statistical parity difference, SPD (the HFM and ECD papers), and DP (Uncertainty
    Matters).

    Parameters
    ----------
    y_true : array-like, shape (n,), or None
        Not used; there for the signature that all differences share with fairlearn.
    y_pred : array-like, shape (n,)
        Predictions (or labels), any type with two values.
    sensitive_features : array-like (n,) or (n, k), data frame or mapping
        Group of each row; several columns are crossed.
    agg : {None, "max"}, default None
        None: signed differences against the reference. ``"max"``: the largest gap between any two
        groups, which is fairlearn's value, with an interval for the maximum, whose coverage is at
        least nominal; then `reference` and `comparisons` are not used.
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
    method : {None, "score", "delta", "mee", "bootstrap", "anytime", "anytime-exact"}
        ``"score"``: Miettinen–Nurminen; ``"mee"`` without the factor N/(N−1) and without exact
        tests, of largest gaps, too. ``"delta"``: Wald.
        ``"bootstrap"``: BCa on cell counts. Interval, tests and verdict are by one method.
        Default: score; the exact unconditional test, for all three, where fewer successes or
        failures are expected than the score needs (125 in a group beside a far larger one, half of
        that in equal ones, more in a family; effective counts under weights or clusters). Exact
        tests are conservative: over 102,240 settings of 1 to 20 groups no family has a false
        verdict of a kind in more than .0543. Delta is too liberal beside a small group, which a
        note says, and is warned of where a cell has fewer than 5 rows; so does one of intervals by
        Mee's, which may be too narrow where fewer than 5 successes or failures are expected.
    margin : float, default 0.1
        A violation is shown by a difference below −margin or above it, compliance by one between
        them; over the comparisons of the metric as `adjust` says. (0.1 is AIF360's convention, not
        a law.)
    alternative : {"two-sided", "less", "greater"}, default "two-sided"
        Two-sided: H0 difference = 0. ``"less"``: H0 difference ≥ −margin. ``"greater"``: H0
        difference ≤ margin. Equivalence (TOST within ±margin) is in `tests()`.
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
        samples (vignettes/calibration.md). Means over classes (``classes="macro"``): each class by
        the weights of its own cases, limits by MOVER of their scores, or by the delta method where
        classes share cases, and of ratios.
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
    n_resamples : int, default 9999
        Bootstrap resamples.
    rng : None, int or numpy.random.Generator
        Seed of the bootstrap.
    planned : int, optional
        Rows that are expected in all, fixed before the first look; needed by
        ``method="anytime"``. Its limits, p-values and verdicts hold at every look at growing
        counts, however often one looks (the score at the critical value of a normal mixture,
        Robbins 1970): narrowest about the planned
        number, there 1.55 times as wide as those of one look, and silent before 5 successes and
        5 failures of both groups. ``"anytime-exact"`` needs no plan and no least number: it holds
        for counts alone in any order of arrival, and is wider. Independent rows; a reference by
        name where there are more than two groups.
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
    DifferenceResult or MaximumResult, or InferredResult

    Raises
    ------
    InputError
        Where the input cannot be used; the message names the argument and the cure.

    Warns
    -----
    InsufficientEvidenceWarning
        Where a group has no rows for its rate, or neither group a success for a ratio.
    DataWarning
        Where a method had to be replaced because a cell is empty.

    References
    ----------
    .. [1] Agresti, Min (2005). Frequentist performance of Bayesian confidence intervals for
       comparing proportions. Biometrics 61, 515–523.

    Examples
    --------
    >>> import fairstats as fs
    >>> result = fs.demographic_parity_difference(counts={"Male": (6395, 13798), "Female": (1112, 8520)})
    >>> low, high = result.confidence_interval
    >>> print(f"{result.estimate:.4f} [{low:.4f}, {high:.4f}] {result.verdict}")
    -0.2012 [-0.2102, -0.1921] violated
    """
    return compare_by_name(
        "demographic_parity_difference",
        setup.RateArguments(
            y_true=y_true,
            y_pred=y_pred,
            sensitive_features=sensitive_features,
            agg=agg,
            counts=counts,
            reference=reference,
            comparisons=comparisons,
            method=method,
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
            n_resamples=n_resamples,
            rng=rng,
            planned=planned,
            sensitive_probabilities=sensitive_probabilities,
            calibration_sample=calibration_sample,
        ),
    )


def equal_opportunity_difference(
    y_true: Any = None,
    y_pred: Any = None,
    *,
    sensitive_features: Any = None,
    agg: Literal["max"] | None = None,
    counts: Any = None,
    reference: Hashable | None = None,
    comparisons: Literal["reference", "all", "rest", "overall"] = "reference",
    method: Literal["score", "delta", "mee", "bootstrap", "anytime", "anytime-exact"] | None = None,
    margin: float = 0.1,
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
    n_resamples: int = 9_999,
    rng: SeedOrGenerator = None,
    planned: int | None = None,
    sensitive_probabilities: Any = None,
    calibration_sample: Any = None,
) -> DifferenceResult | MaximumResult | InferredResult:
    """Equal opportunity difference: TPR of each group − TPR of the reference.

    Also known as EOp (Uncertainty Matters) and EO (HFM); the ECD paper's undefined "EOD" is often
    this.

    Parameters
    ----------
    y_true, y_pred : array-like, shape (n,)
        Labels and predictions, any type with two values.
    sensitive_features : array-like (n,) or (n, k), data frame or mapping
        Group of each row; several columns are crossed.
    agg : {None, "max"}, default None
        None: signed differences against the reference. ``"max"``: the largest gap between any two
        groups, which is fairlearn's value, with an interval for the maximum, whose coverage is at
        least nominal; then `reference` and `comparisons` are not used.
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
    method : {None, "score", "delta", "mee", "bootstrap", "anytime", "anytime-exact"}
        ``"score"``: Miettinen–Nurminen; ``"mee"`` without the factor N/(N−1) and without exact
        tests, of largest gaps, too. ``"delta"``: Wald.
        ``"bootstrap"``: BCa on cell counts. Interval, tests and verdict are by one method.
        Default: score; the exact unconditional test, for all three, where fewer successes or
        failures are expected than the score needs (125 in a group beside a far larger one, half of
        that in equal ones, more in a family; effective counts under weights or clusters). Exact
        tests are conservative: over 102,240 settings of 1 to 20 groups no family has a false
        verdict of a kind in more than .0543. Delta is too liberal beside a small group, which a
        note says, and is warned of where a cell has fewer than 5 rows; so does one of intervals by
        Mee's, which may be too narrow where fewer than 5 successes or failures are expected.
    margin : float, default 0.1
        A violation is shown by a difference below −margin or above it, compliance by one between
        them; over the comparisons of the metric as `adjust` says. (0.1 is AIF360's convention, not
        a law.)
    alternative : {"two-sided", "less", "greater"}, default "two-sided"
        Two-sided: H0 difference = 0. ``"less"``: H0 difference ≥ −margin. ``"greater"``: H0
        difference ≤ margin. Equivalence (TOST within ±margin) is in `tests()`.
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
        samples (vignettes/calibration.md). Means over classes (``classes="macro"``): each class by
        the weights of its own cases, limits by MOVER of their scores, or by the delta method where
        classes share cases, and of ratios.
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
    n_resamples : int, default 9999
        Bootstrap resamples.
    rng : None, int or numpy.random.Generator
        Seed of the bootstrap.
    planned : int, optional
        Rows that are expected in all, fixed before the first look; needed by
        ``method="anytime"``. Its limits, p-values and verdicts hold at every look at growing
        counts, however often one looks (the score at the critical value of a normal mixture,
        Robbins 1970): narrowest about the planned
        number, there 1.55 times as wide as those of one look, and silent before 5 successes and
        5 failures of both groups. ``"anytime-exact"`` needs no plan and no least number: it holds
        for counts alone in any order of arrival, and is wider. Independent rows; a reference by
        name where there are more than two groups.
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
    DifferenceResult or MaximumResult, or InferredResult

    Raises
    ------
    InputError
        Where the input cannot be used; the message names the argument and the cure.

    Warns
    -----
    InsufficientEvidenceWarning
        Where a group has no rows for its rate, or neither group a success for a ratio.
    DataWarning
        Where a method had to be replaced because a cell is empty.

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
    return compare_by_name(
        "equal_opportunity_difference",
        setup.RateArguments(
            y_true=y_true,
            y_pred=y_pred,
            sensitive_features=sensitive_features,
            agg=agg,
            counts=counts,
            reference=reference,
            comparisons=comparisons,
            method=method,
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
            n_resamples=n_resamples,
            rng=rng,
            planned=planned,
            sensitive_probabilities=sensitive_probabilities,
            calibration_sample=calibration_sample,
        ),
    )


def predictive_parity_difference(
    y_true: Any = None,
    y_pred: Any = None,
    *,
    sensitive_features: Any = None,
    agg: Literal["max"] | None = None,
    counts: Any = None,
    reference: Hashable | None = None,
    comparisons: Literal["reference", "all", "rest", "overall"] = "reference",
    method: Literal["score", "delta", "mee", "bootstrap", "anytime", "anytime-exact"] | None = None,
    margin: float = 0.1,
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
    n_resamples: int = 9_999,
    rng: SeedOrGenerator = None,
    planned: int | None = None,
    sensitive_probabilities: Any = None,
    calibration_sample: Any = None,
) -> DifferenceResult | MaximumResult | InferredResult:
    """Predictive parity difference: PPV (precision) of each group − PPV of the reference.

    Also known as PP (Uncertainty Matters) and PQP, predictive quality parity (HFM).

    Parameters
    ----------
    y_true, y_pred : array-like, shape (n,)
        Labels and predictions, any type with two values.
    sensitive_features : array-like (n,) or (n, k), data frame or mapping
        Group of each row; several columns are crossed.
    agg : {None, "max"}, default None
        None: signed differences against the reference. ``"max"``: the largest gap between any two
        groups, which is fairlearn's value, with an interval for the maximum, whose coverage is at
        least nominal; then `reference` and `comparisons` are not used.
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
    method : {None, "score", "delta", "mee", "bootstrap", "anytime", "anytime-exact"}
        ``"score"``: Miettinen–Nurminen; ``"mee"`` without the factor N/(N−1) and without exact
        tests, of largest gaps, too. ``"delta"``: Wald.
        ``"bootstrap"``: BCa on cell counts. Interval, tests and verdict are by one method.
        Default: score; the exact unconditional test, for all three, where fewer successes or
        failures are expected than the score needs (125 in a group beside a far larger one, half of
        that in equal ones, more in a family; effective counts under weights or clusters). Exact
        tests are conservative: over 102,240 settings of 1 to 20 groups no family has a false
        verdict of a kind in more than .0543. Delta is too liberal beside a small group, which a
        note says, and is warned of where a cell has fewer than 5 rows; so does one of intervals by
        Mee's, which may be too narrow where fewer than 5 successes or failures are expected.
    margin : float, default 0.1
        A violation is shown by a difference below −margin or above it, compliance by one between
        them; over the comparisons of the metric as `adjust` says. (0.1 is AIF360's convention, not
        a law.)
    alternative : {"two-sided", "less", "greater"}, default "two-sided"
        Two-sided: H0 difference = 0. ``"less"``: H0 difference ≥ −margin. ``"greater"``: H0
        difference ≤ margin. Equivalence (TOST within ±margin) is in `tests()`.
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
        samples (vignettes/calibration.md). Means over classes (``classes="macro"``): each class by
        the weights of its own cases, limits by MOVER of their scores, or by the delta method where
        classes share cases, and of ratios.
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
    n_resamples : int, default 9999
        Bootstrap resamples.
    rng : None, int or numpy.random.Generator
        Seed of the bootstrap.
    planned : int, optional
        Rows that are expected in all, fixed before the first look; needed by
        ``method="anytime"``. Its limits, p-values and verdicts hold at every look at growing
        counts, however often one looks (the score at the critical value of a normal mixture,
        Robbins 1970): narrowest about the planned
        number, there 1.55 times as wide as those of one look, and silent before 5 successes and
        5 failures of both groups. ``"anytime-exact"`` needs no plan and no least number: it holds
        for counts alone in any order of arrival, and is wider. Independent rows; a reference by
        name where there are more than two groups.
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
    DifferenceResult or MaximumResult, or InferredResult

    Raises
    ------
    InputError
        Where the input cannot be used; the message names the argument and the cure.

    Warns
    -----
    InsufficientEvidenceWarning
        Where a group has no rows for its rate, or neither group a success for a ratio.
    DataWarning
        Where a method had to be replaced because a cell is empty.

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
    return compare_by_name(
        "predictive_parity_difference",
        setup.RateArguments(
            y_true=y_true,
            y_pred=y_pred,
            sensitive_features=sensitive_features,
            agg=agg,
            counts=counts,
            reference=reference,
            comparisons=comparisons,
            method=method,
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
            n_resamples=n_resamples,
            rng=rng,
            planned=planned,
            sensitive_probabilities=sensitive_probabilities,
            calibration_sample=calibration_sample,
        ),
    )


def average_odds_difference(
    y_true: Any = None,
    y_pred: Any = None,
    *,
    sensitive_features: Any = None,
    agg: Literal["max"] | None = None,
    counts: Any = None,
    reference: Hashable | None = None,
    comparisons: Literal["reference", "all", "rest", "overall"] = "reference",
    method: Literal["score", "delta", "mee", "bootstrap", "anytime", "anytime-exact"] | None = None,
    margin: float = 0.1,
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
    sensitive_probabilities: Any = None,
    calibration_sample: Any = None,
) -> DifferenceResult | MaximumResult:
    """Average odds difference, AOD.

    Mean of the differences of TPR and of FPR against the reference.

    Parameters
    ----------
    y_true, y_pred : array-like, shape (n,)
        Labels and predictions, any type with two values.
    sensitive_features : array-like (n,) or (n, k), data frame or mapping
        Group of each row; several columns are crossed.
    agg : {None, "max"}, default None
        None: signed differences against the reference. ``"max"``: the largest gap between any two
        groups, which is fairlearn's value, with an interval for the maximum, whose coverage is at
        least nominal; then `reference` and `comparisons` are not used.
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
    method : {None, "delta", "score", "mee", "anytime"}
        ``"delta"``: the delta method, closed because AOD is linear in the rates. ``"score"``:
        MOVER from the score intervals of the two differences [2]_. Default: score.
    margin : float, default 0.1
        A violation is shown by a difference below −margin or above it, compliance by one between
        them; over the comparisons of the metric as `adjust` says. (0.1 is AIF360's convention, not
        a law.)
    alternative : {"two-sided", "less", "greater"}, default "two-sided"
        Two-sided: H0 difference = 0. ``"less"``: H0 difference ≥ −margin. ``"greater"``: H0
        difference ≤ margin. Equivalence (TOST within ±margin) is in `tests()`.
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
        samples (vignettes/calibration.md). Means over classes (``classes="macro"``): each class by
        the weights of its own cases, limits by MOVER of their scores, or by the delta method where
        classes share cases, and of ratios.
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
    DifferenceResult or MaximumResult

    Raises
    ------
    InputError
        Where the input cannot be used; the message names the argument and the cure. Of groups given by
        probabilities too: a mean of rates has no bounds here, `equalized_odds_difference` has both rates.

    Warns
    -----
    InsufficientEvidenceWarning
        Where a group has no rows for its rate, or neither group a success for a ratio.
    DataWarning
        Where a method had to be replaced because a cell is empty.

    References
    ----------
    .. [1] Bellamy et al. (2019). AI Fairness 360. IBM J. Res. Dev. 63.
    .. [2] Zou, Donner (2008). Construction of confidence limits about effect measures. Stat. Med.
       27.

    Examples
    --------
    >>> import fairstats as fs
    >>> counts = {"a": (40, 10, 10, 40), "b": (30, 10, 20, 40)}
    >>> print(f"{fs.average_odds_difference(counts=counts, reference='a').estimate:.2f}")
    -0.10
    """
    return compare_by_name(
        "average_odds_difference",
        setup.RateArguments(
            y_true=y_true,
            y_pred=y_pred,
            sensitive_features=sensitive_features,
            agg=agg,
            counts=counts,
            reference=reference,
            comparisons=comparisons,
            method=method,
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
            sensitive_probabilities=sensitive_probabilities,
            calibration_sample=calibration_sample,
        ),
    )


def equalized_odds_difference(
    y_true: Any = None,
    y_pred: Any = None,
    *,
    sensitive_features: Any = None,
    agg: Literal["max", "mean"] | None = None,
    counts: Any = None,
    reference: Hashable | None = None,
    comparisons: Literal["reference", "all", "rest", "overall"] = "reference",
    method: Literal["score", "delta", "mee", "bootstrap", "anytime", "anytime-exact"] | None = None,
    margin: float = 0.1,
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
    n_resamples: int = 9_999,
    rng: SeedOrGenerator = None,
    planned: int | None = None,
    sensitive_probabilities: Any = None,
    calibration_sample: Any = None,
) -> DifferenceResult | MaximumResult | ExtremeDifferenceResult | InferredResult:
    """Equalised odds: differences of TPR and of FPR against the reference, or the largest of them.

    Parameters
    ----------
    y_true, y_pred : array-like, shape (n,)
        Labels and predictions, any type with two values.
    sensitive_features : array-like (n,) or (n, k), data frame or mapping
        Group of each row; several columns are crossed.
    agg : {None, "max", "mean"}, default None
        None: one row per group for TPR and one for FPR, adjusted as one family. ``"max"``: the
        largest gap of either rate between any two groups, which is fairlearn's value, with an
        interval for it.
        ``"mean"``: the mean of the largest gaps of both rates, fairlearn's ``agg="mean"``, with
        limits from those of all pairs.
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
    method : {None, "score", "delta", "mee", "bootstrap", "anytime", "anytime-exact"}
        ``"score"``: Miettinen–Nurminen; ``"mee"`` without the factor N/(N−1) and without exact
        tests, of largest gaps, too. ``"delta"``: Wald.
        ``"bootstrap"``: BCa on cell counts. Interval, tests and verdict are by one method.
        Default: score; the exact unconditional test, for all three, where fewer successes or
        failures are expected than the score needs (125 in a group beside a far larger one, half of
        that in equal ones, more in a family; effective counts under weights or clusters). Exact
        tests are conservative: over 102,240 settings of 1 to 20 groups no family has a false
        verdict of a kind in more than .0543. Delta is too liberal beside a small group, which a
        note says, and is warned of where a cell has fewer than 5 rows; so does one of intervals by
        Mee's, which may be too narrow where fewer than 5 successes or failures are expected.
    margin : float, default 0.1
        A violation is shown by a difference below −margin or above it, compliance by one between
        them; over the comparisons of the metric as `adjust` says. (0.1 is AIF360's convention, not
        a law.)
    alternative : {"two-sided", "less", "greater"}, default "two-sided"
        Two-sided: H0 difference = 0. ``"less"``: H0 difference ≥ −margin. ``"greater"``: H0
        difference ≤ margin. Equivalence (TOST within ±margin) is in `tests()`.
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
        samples (vignettes/calibration.md). Means over classes (``classes="macro"``): each class by
        the weights of its own cases, limits by MOVER of their scores, or by the delta method where
        classes share cases, and of ratios.
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
    n_resamples : int, default 9999
        Bootstrap resamples.
    rng : None, int or numpy.random.Generator
        Seed of the bootstrap.
    planned : int, optional
        Rows that are expected in all, fixed before the first look; needed by
        ``method="anytime"``. Its limits, p-values and verdicts hold at every look at growing
        counts, however often one looks (the score at the critical value of a normal mixture,
        Robbins 1970): narrowest about the planned
        number, there 1.55 times as wide as those of one look, and silent before 5 successes and
        5 failures of both groups. ``"anytime-exact"`` needs no plan and no least number: it holds
        for counts alone in any order of arrival, and is wider. Independent rows; a reference by
        name where there are more than two groups.
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
    DifferenceResult, MaximumResult, ExtremeDifferenceResult or InferredResult

    Raises
    ------
    InputError
        Where the input cannot be used; the message names the argument and the cure.

    Warns
    -----
    InsufficientEvidenceWarning
        Where a group has no rows for its rate, or neither group a success for a ratio.
    DataWarning
        Where a method had to be replaced because a cell is empty.

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
    return compare_by_name(
        "equalized_odds_difference",
        setup.RateArguments(
            y_true=y_true,
            y_pred=y_pred,
            sensitive_features=sensitive_features,
            agg=agg,
            counts=counts,
            reference=reference,
            comparisons=comparisons,
            method=method,
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
            n_resamples=n_resamples,
            rng=rng,
            planned=planned,
            sensitive_probabilities=sensitive_probabilities,
            calibration_sample=calibration_sample,
        ),
    )
