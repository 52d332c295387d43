"""Ratios of rates between groups (Besse et al. 2018)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Literal

from fairstats.ground.checks import SeedOrGenerator, check_choice
from fairstats.methods.rates import setup
from fairstats.methods.rates.inferred.result import InferredResult
from fairstats.methods.rates.metrics import compare_by_name
from fairstats.methods.rates.result import RatioResult


def disparate_impact(
    y_pred: Any = None,
    *,
    sensitive_features: Any = None,
    counts: Any = None,
    reference: Hashable | None = None,
    comparisons: Literal["reference", "all", "rest", "overall"] = "reference",
    method: Literal["score", "koopman", "log", "delta", "bootstrap", "anytime", "anytime-exact"]
    | None = None,
    threshold: float = 0.8,
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
) -> RatioResult | InferredResult:
    """Disparate impact: the ratio of selection rates P(ŷ=1 | S=s) / P(ŷ=1 | S=reference).

    The ratio T_n of Besse et al. (2018), section 3, with interval, tests against the four-fifths
    rule, and a three-way verdict. Passing labels in place of predictions gives the disparate impact
    of the data.

    Parameters
    ----------
    y_pred : array-like, shape (n,)
        Predictions (or labels), any type with two values.
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
    method : {None, "score", "koopman", "log", "delta", "bootstrap", "anytime", "anytime-exact"}
        ``"score"``: Miettinen–Nurminen; ``"koopman"`` without the factor N/(N−1) and without exact
        tests. ``"log"``:
        T·exp(±z·√[(1−r₀)/k₀ + (1−r₁)/k₁]). ``"delta"``: Theorem 3.1, T ± z·T·√[…].
        ``"bootstrap"``: BCa on cell counts. Interval, tests and verdict are by one method.
        Default: score; the exact unconditional test, for all three, where fewer successes or
        failures are expected than the score needs (125 in a group beside a far larger one, half of
        that in equal ones, more in a family). Exact tests are conservative: over 102,240 settings
        of 1 to 20 groups no family has a false verdict of a kind in more than .0543. Under weights
        or clusters by effective counts. An explicit method is obeyed, with a warning where a cell
        has fewer than 5 rows; log and delta are too liberal beside a small group (verdicts wrong
        in up to 10% of samples), and intervals by Koopman's may be too narrow where fewer than 5
        successes or failures are expected.
    threshold : float, default 0.8
        θ in (0, 1]. A violation is shown by a ratio below θ or above 1/θ, compliance by one
        between them, with the error 1 − confidence_level over all comparisons of the metric (see
        `adjust`).
    alternative : {"two-sided", "less", "greater"}, default "two-sided"
        Test and interval of the tidy table. Two-sided: H0 ratio = 1. ``"less"``: H0 ratio ≥
        threshold (rejected: a violation is shown). ``"greater"``: H0 ratio ≤ threshold (the
        paper's).
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
    RatioResult, or InferredResult
        `estimate`, `confidence_interval`, `pvalue`, `verdict`, `tests()`, `to_frame()`, `plot()`.

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

    Notes
    -----
    σ²/n of Theorem 3.1 is T²·[(1−r₀)/k₀ + (1−r₁)/k₁]; ``vignettes/methods.md`` lists the misprints
    settled here.

    References
    ----------
    .. [1] Besse, del Barrio, Gordaliza, Loubes (2018). Confidence intervals for testing disparate
       impact in fair learning. arXiv:1807.06362.
    .. [2] Miettinen, Nurminen (1985). Comparative analysis of two rates. Statistics in Medicine 4,
       213–226.

    Examples
    --------
    The disparate impact of sex in the Adult data (Besse et al., section 4: 0.36 in [0.34, 0.39]):

    >>> import fairstats as fs
    >>> result = fs.disparate_impact(counts={"Male": (6395, 13798), "Female": (1112, 8520)}, method="delta")
    >>> low, high = result.confidence_interval
    >>> print(f"{result.estimate:.4f} [{low:.4f}, {high:.4f}] {result.verdict}")
    0.3645 [0.3431, 0.3860] violated
    """
    return compare_by_name(
        "disparate_impact",
        setup.RateArguments(
            y_pred=y_pred,
            sensitive_features=sensitive_features,
            counts=counts,
            reference=reference,
            comparisons=comparisons,
            method=method,
            threshold=threshold,
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


def conditional_accuracy(
    y_true: Any = None,
    y_pred: Any = None,
    *,
    label: Literal[0, 1] = 1,
    sensitive_features: Any = None,
    counts: Any = None,
    reference: Hashable | None = None,
    comparisons: Literal["reference", "all", "rest", "overall"] = "reference",
    method: Literal["score", "koopman", "log", "delta", "bootstrap", "anytime", "anytime-exact"]
    | None = None,
    threshold: float = 0.8,
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
) -> RatioResult | InferredResult:
    """Conditional procedure accuracy.

    Ratio of P(ŷ=label | Y=label, S=s) between groups (the TPR or TNR ratio).

    Parameters
    ----------
    y_true, y_pred : array-like, shape (n,)
        Labels and predictions, any type with two values.
    label : {1, 0}, default 1
        Which label to condition on: CA₁ compares true positive rates, CA₀ true negative rates.
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
    method : {None, "score", "koopman", "log", "delta", "bootstrap", "anytime", "anytime-exact"}
        ``"score"``: Miettinen–Nurminen; ``"koopman"`` without the factor N/(N−1) and without exact
        tests. ``"log"``:
        T·exp(±z·√[(1−r₀)/k₀ + (1−r₁)/k₁]). ``"delta"``: Theorem 3.1, T ± z·T·√[…].
        ``"bootstrap"``: BCa on cell counts. Interval, tests and verdict are by one method.
        Default: score; the exact unconditional test, for all three, where fewer successes or
        failures are expected than the score needs (125 in a group beside a far larger one, half of
        that in equal ones, more in a family). Exact tests are conservative: over 102,240 settings
        of 1 to 20 groups no family has a false verdict of a kind in more than .0543. Under weights
        or clusters by effective counts. An explicit method is obeyed, with a warning where a cell
        has fewer than 5 rows; log and delta are too liberal beside a small group (verdicts wrong
        in up to 10% of samples), and intervals by Koopman's may be too narrow where fewer than 5
        successes or failures are expected.
    threshold : float, default 0.8
        θ in (0, 1]. A violation is shown by a ratio below θ or above 1/θ, compliance by one
        between them, with the error 1 − confidence_level over all comparisons of the metric (see
        `adjust`).
    alternative : {"two-sided", "less", "greater"}, default "two-sided"
        Test and interval of the tidy table. Two-sided: H0 ratio = 1. ``"less"``: H0 ratio ≥
        threshold (rejected: a violation is shown). ``"greater"``: H0 ratio ≤ threshold (the
        paper's).
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
    RatioResult, or InferredResult

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
    .. [1] Besse et al. (2018), section 2 and Theorem 3.2; ``vignettes/methods.md`` lists its
       misprints.

    Examples
    --------
    >>> import fairstats as fs
    >>> result = fs.conditional_accuracy(counts={"a": (40, 10, 10, 40), "b": (30, 10, 20, 40)}, reference="a")
    >>> print(f"{result.estimate:.2f} {result.verdict}")
    0.75 undecided
    """
    check_choice("label", label, (0, 1))
    return compare_by_name(
        f"conditional_accuracy_{int(label)}",
        setup.RateArguments(
            y_true=y_true,
            y_pred=y_pred,
            sensitive_features=sensitive_features,
            counts=counts,
            reference=reference,
            comparisons=comparisons,
            method=method,
            threshold=threshold,
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


def conditional_use_accuracy(
    y_true: Any = None,
    y_pred: Any = None,
    *,
    prediction: Literal[0, 1] = 1,
    sensitive_features: Any = None,
    counts: Any = None,
    reference: Hashable | None = None,
    comparisons: Literal["reference", "all", "rest", "overall"] = "reference",
    method: Literal["score", "koopman", "log", "delta", "bootstrap", "anytime", "anytime-exact"]
    | None = None,
    threshold: float = 0.8,
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
) -> RatioResult | InferredResult:
    """Conditional use accuracy: ratio of P(Y=prediction | ŷ=prediction, S=s) between groups (the
    PPV or NPV ratio).

    Parameters
    ----------
    y_true, y_pred : array-like, shape (n,)
        Labels and predictions, any type with two values.
    prediction : {1, 0}, default 1
        Which prediction to condition on: CU₁ compares positive predictive values, CU₀ negative
        ones.
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
    method : {None, "score", "koopman", "log", "delta", "bootstrap", "anytime", "anytime-exact"}
        ``"score"``: Miettinen–Nurminen; ``"koopman"`` without the factor N/(N−1) and without exact
        tests. ``"log"``:
        T·exp(±z·√[(1−r₀)/k₀ + (1−r₁)/k₁]). ``"delta"``: Theorem 3.1, T ± z·T·√[…].
        ``"bootstrap"``: BCa on cell counts. Interval, tests and verdict are by one method.
        Default: score; the exact unconditional test, for all three, where fewer successes or
        failures are expected than the score needs (125 in a group beside a far larger one, half of
        that in equal ones, more in a family). Exact tests are conservative: over 102,240 settings
        of 1 to 20 groups no family has a false verdict of a kind in more than .0543. Under weights
        or clusters by effective counts. An explicit method is obeyed, with a warning where a cell
        has fewer than 5 rows; log and delta are too liberal beside a small group (verdicts wrong
        in up to 10% of samples), and intervals by Koopman's may be too narrow where fewer than 5
        successes or failures are expected.
    threshold : float, default 0.8
        θ in (0, 1]. A violation is shown by a ratio below θ or above 1/θ, compliance by one
        between them, with the error 1 − confidence_level over all comparisons of the metric (see
        `adjust`).
    alternative : {"two-sided", "less", "greater"}, default "two-sided"
        Test and interval of the tidy table. Two-sided: H0 ratio = 1. ``"less"``: H0 ratio ≥
        threshold (rejected: a violation is shown). ``"greater"``: H0 ratio ≤ threshold (the
        paper's).
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
    RatioResult, or InferredResult

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
    .. [1] Besse et al. (2018), section 2 and Theorem 3.3; ``vignettes/methods.md`` lists its
       misprints.

    Examples
    --------
    >>> import fairstats as fs
    >>> result = fs.conditional_use_accuracy(counts={"a": (40, 10, 10, 40), "b": (30, 10, 20, 40)}, reference="a")
    >>> print(f"{result.estimate:.4f}")
    0.9375
    """
    check_choice("prediction", prediction, (0, 1))
    return compare_by_name(
        f"conditional_use_accuracy_{int(prediction)}",
        setup.RateArguments(
            y_true=y_true,
            y_pred=y_pred,
            sensitive_features=sensitive_features,
            counts=counts,
            reference=reference,
            comparisons=comparisons,
            method=method,
            threshold=threshold,
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
