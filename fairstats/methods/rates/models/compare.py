"""Any number of models on the same people, by rates and by scores.

Labels and predictions as two of them.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from fairstats.ground.checks import SeedOrGenerator, as_generator, check_choice, check_that
from fairstats.ground.counts import ConfusionCounts, PairedCounts
from fairstats.ground.errors import InputError
from fairstats.ground.tally import Tally, counts_or_rows
from fairstats.methods.rates.models.result import (
    AMPLIFICATION,
    AmplificationResult,
    ModelComparison,
)
from fairstats.methods.rates.models.work import ModelRows, compare_all
from fairstats.methods.rates.result import Inference
from fairstats.methods.rates.setup import RateArguments, make_settings


def compare_models(
    y_true: Any = None,
    y_pred: Any = None,
    y_pred_b: Any = None,
    *,
    score: Mapping[str, Any] | None = None,
    metrics: str | Sequence[str] = "disparate_impact",
    baseline: str | None = None,
    counts: PairedCounts | Tally | None = None,
    comparisons: Literal["reference", "all"] = "reference",
    threshold: float = 0.8,
    margin: float = 0.1,
    sample_weight: Any = None,
    cluster: Any = None,
    n_resamples: int = 999,
    rng: SeedOrGenerator = None,
    sensitive_features: Any = None,
    reference: Hashable | None = None,
    confidence_level: float = 0.95,
    adjust: str = "holm",
    pos_label: Any = None,
    label_values: Any = None,
    missing: Literal["raise", "drop", "group"] = "raise",
    groups: Sequence[Hashable] | None = None,
) -> ModelComparison:
    """Compare models on the same people.

    Their fairness and quality, and what changes from one to another.

    Parameters
    ----------
    y_true : array-like, shape (n,), optional
        Labels; metrics of selection and MADD need none.
    y_pred : mapping of name to array-like, or array-like, shape (n,)
        Predictions of every model; or those of model "A", the one before.
    y_pred_b : array-like, shape (n,), optional
        Predictions of model "B", the one after.
    score : mapping of name to array-like, shape (n,), optional
        Scores of the models in [0, 1], larger for the favourable label.
    metrics : str or sequence of str, default "disparate_impact"
        Metrics of rates by their names in the registry ("equal_opportunity_difference",
        "f1_ratio", "equalized_odds_max", …), "accuracy" (per group), "auc", "brier" (and of all
        rows), "madd", "abroca"; "all": those of an audit and the last five, as far as the columns
        allow.
    baseline : str, optional
        The model that the others are compared with; default all pairs, the earlier one as the
        baseline.
    counts : PairedCounts or Tally, optional
        Counts of label × prediction A × prediction B instead of rows; they give rates and
        accuracy.
    comparisons : {"reference", "all"}, default "reference"
        Each other group against the reference, or all pairs.
    threshold, margin : float
        For the verdict on every model by itself: as for one model; of MADD twice the margin.
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
    n_resamples : int, default 999
        Bootstrap samples of rows for MADD and ABROCA.
    rng : None, int or numpy.random.Generator
        Seed of the bootstrap; `settings.seed` is None where nothing is drawn.
    sensitive_features : array-like (n,) or (n, k), data frame or mapping
        Group of each row; several columns are crossed.
    reference : hashable, optional
        Reference group (value or label). Default: the largest, said in the result. ``"highest"``
        takes the group with the highest rate and makes the intervals simultaneous over all pairs:
        coverage is at least nominal; p-values of equality by the same law, those of verdicts by
        Bonferroni over all pairs.
    confidence_level : float, default 0.95
        Of intervals; verdicts have the error 1 − confidence_level.
    adjust : str, default "holm"
        Adjustment of p-values, and so of verdicts, over the comparisons of the metric: holm,
        bonferroni, sidak, hommel, fdr_bh or none.
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

    Returns
    -------
    ModelComparison

    Raises
    ------
    InputError
        Where the input cannot be used; the message names the argument and the cure.

    Warns
    -----
    InsufficientEvidenceWarning
        Where a rate is 0 or has no cases, or rows are too few, so that no change can be computed.
    DataWarning
        ``metrics="all"`` with scores under weights or clusters: what needs scores is left out.

    Notes
    -----
    Within a group the change of a rate has the limits of the paired score test (ratios: [1]_,
    differences: [2]_); groups, and the two rates of average odds, are combined by MOVER [3]_. So no
    changed decision is evidence of little change, not a variance of 0. Rates whose cases depend on
    the prediction (predictive values, [4]_), and functions such as F1, are by the delta method with
    half a row in every cell; weights and clusters by the delta method with Satterthwaite's degrees
    of freedom over effective units, (Σc)²/Σc² with c the changed rows of a unit. A group in which
    fewer than 20 of them changed is compared by the score test with as many rows as give the change
    its variance, below five as its weights or clusters are worth (the interval is wide: coverage
    .95 to 1.00); one with fewer than 8 effective clusters or rows gets no interval. AUCs are
    compared by DeLong's covariance [5]_, Brier scores by paired t; where fewer than 20 rows of a
    label, or of all, moved by .05 or more, what others may do unseen enters the limits, up to
    Tango's of no change where none did, so that scores that agree nearly everywhere have nearly the
    limits of identical ones. MADD and ABROCA by drawing rows again, all models together; where the
    groups may be alike, both what a smooth difference and what its size would do is allowed for
    [6]_: the interval is wide (ABROCA, 150 beside 1,500 rows, 80 to 99% of the scores alike:
    coverage .96 to 1.00, size at most .04). A largest gap changes by no less, and no more, than all
    gaps under it together.

    With ``reference="highest"`` the group with the highest selection rate under the first baseline
    is the reference of every metric and model; intervals and verdicts hold over all pairs. The
    p-value is below α exactly where the interval excludes no change. `simultaneous` intervals hold
    for all changes of a metric at once (Bonferroni), and so does the verdict, unless
    ``adjust="none"``. "closer to parity" and "further from parity" speak of |log ratio|
    (|difference|) and are said where both the change and the sum of the two models' values are
    shown to be on one side of 0, since after² − before² = (after − before)(after + before): wrong
    in at most 1 − `confidence_level`.

    References
    ----------
    .. [1] Nam, Blackwelder (2002). Analysis of the ratio of marginal probabilities in a
       matched-pair setting. Statistics in Medicine 21, 689–699.
    .. [2] Tango (1998). Equivalence test and confidence interval for the difference in proportions
       for the paired-sample design. Statistics in Medicine 17, 891–908.
    .. [3] Zou, Donner (2008). Construction of confidence limits about effect measures. Stat. Med.
       27, 1693–1702.
    .. [4] Moskowitz, Pepe (2006). Comparing the predictive values of diagnostic tests. Clinical
       Trials 3, 272–279.
    .. [5] DeLong, DeLong, Clarke-Pearson (1988). Comparing the areas under two or more correlated
       receiver operating characteristic curves. Biometrics 44, 837–845.
    .. [6] Fang, Santos (2019). Inference on directionally differentiable functions. Rev. Econ.
       Stud. 86, 377–412.

    Examples
    --------
    >>> import fairstats as fs
    >>> y = [1, 0] * 40
    >>> before = [1] * 30 + [0] * 10 + [1] * 12 + [0] * 28
    >>> after = [1] * 28 + [0] * 12 + [1] * 24 + [0] * 16
    >>> group = ["a"] * 40 + ["b"] * 40
    >>> result = fs.compare_models(y, before, after, sensitive_features=group, reference="a")
    >>> print(f"{result.estimate:.3f} {result.verdict}")
    2.143 closer to parity
    >>> models = {"first": before, "second": after, "all": [1] * 80}
    >>> several = fs.compare_models(
    ...     y, models, metrics=["disparate_impact", "accuracy"], baseline="first", sensitive_features=group
    ... )
    >>> own = several.values_frame().query("metric == 'disparate_impact'")
    >>> own[["model", "estimate", "verdict"]].round(3)
        model  estimate    verdict
    0   first     0.400   violated
    1  second     0.857  undecided
    2     all     1.000  satisfied
    """
    arguments = RateArguments(
        sensitive_features=sensitive_features,
        reference=reference,
        comparisons=comparisons,
        threshold=threshold,
        margin=margin,
        confidence_level=confidence_level,
        adjust=adjust,
        sample_weight=sample_weight,
        cluster=cluster,
        pos_label=pos_label,
        label_values=label_values,
        missing=missing,
        groups=groups,
        n_resamples=n_resamples,
    )
    settings = make_settings("ratio", arguments)
    of_differences = make_settings("difference", arguments)
    generator, seed = as_generator(rng)
    settings = replace(settings, margin=of_differences.margin, method="paired", seed=seed)
    row_columns = {"y_true": y_true, "y_pred": y_pred, "y_pred_b": y_pred_b, "score": score}
    needed_columns = "y_pred" if score is None else ""
    if counts_or_rows(
        counts, needs=needed_columns, **row_columns, sensitive_features=sensitive_features
    ):
        model_data: ModelRows | PairedCounts = _paired_table(counts)
        model_names: tuple[str, ...] = ("A", "B")
    else:
        predictions = _predictions_by_model(y_pred, y_pred_b)
        scores = _scores_by_model(score)
        model_names = tuple(dict.fromkeys([*predictions, *scores]))
        are_several = len(model_names) > 1
        suggestion = "y_pred_b=, or {name: column}"
        check_that(
            are_several,
            "y_pred",
            f"one model ({model_names[0]!r})",
            "two models or more",
            suggestion,
        )
        if y_pred_b is not None:
            columns = dict(zip(predictions, ("y_pred", "y_pred_b"), strict=False))
        else:
            columns = None
        model_data = ModelRows.read(y_true, predictions, scores, arguments, columns)
    check_choice("baseline", baseline, (None, *model_names))
    return compare_all(model_data, model_names, metrics, baseline, reference, settings, generator)


def amplification(
    counts: ConfusionCounts, reference: Hashable | None, settings: Inference
) -> AmplificationResult:
    """Disparate impact of the predictions over that of the labels (paired ratio of ratios).

    Labels and predictions are two "models" of the same people: within a group the ratio of
    selection rate and base rate has the limits of Nam and Blackwelder's paired score test, and
    MOVER combines the groups, as in `compare_models`. "amplified" and "reduced" are said where the
    predictions are shown to be further from parity, or closer to it, in |log ratio|.

    `reference`: "highest" is the group with the highest selection rate.
    """
    # tp, fp, fn, tn among label × label × prediction
    places = [PairedCounts.cells.index(cell_name) for cell_name in ("111", "001", "110", "000")]
    paired_table = counts._merge_cells(PairedCounts, np.eye(8)[places])
    settings = replace(settings, method="paired")
    # draws nothing
    model_names = ("labels", "predictions")
    unused_generator = np.random.default_rng(0)
    comparison_of_models = compare_all(
        paired_table,
        model_names,
        "disparate_impact",
        None,
        reference,
        settings,
        unused_generator,
        chosen_by=1,
    )
    amplification_words = {"further from parity": "amplified", "closer to parity": "reduced"}
    changes = (
        replace(
            comparison,
            metric=AMPLIFICATION,
            verdict=amplification_words.get(comparison.verdict, comparison.verdict),
        )
        for comparison in comparison_of_models.comparisons
    )
    return AmplificationResult(**{**vars(comparison_of_models), "comparisons": tuple(changes)})


def _paired_table(counts: Any) -> PairedCounts:
    """Label × prediction × prediction from what was passed as counts."""
    if isinstance(counts, Tally):
        paired_table = counts.paired()
    else:
        paired_table = counts
    if not isinstance(paired_table, PairedCounts):
        allowed = "PairedCounts: label × prediction A × prediction B"
        suggestion = (
            "PairedCounts.from_counts({group: (n111, n110, n101, n100, n011, n010, n001, n000)})"
        )
        raise InputError(
            "counts",
            got=type(paired_table).__name__,
            allowed=allowed,
            cure=suggestion,
        )
    return paired_table


def _predictions_by_model(y_pred: Any, y_pred_b: Any) -> dict[str, Any]:
    """Model → predictions."""
    if isinstance(y_pred, Mapping):
        if y_pred_b is not None:
            received = "a column beside a mapping"
            allowed = "either a mapping of models, or y_pred and y_pred_b"
            raise InputError(
                "y_pred_b",
                got=received,
                allowed=allowed,
                cure="put it into the mapping",
            )
        return {str(model_name): values for model_name, values in y_pred.items()}
    predictions: dict[str, Any] = {}
    for model_name, values in (("A", y_pred), ("B", y_pred_b)):
        if values is not None:
            predictions[model_name] = values
    return predictions


def _scores_by_model(score: Any) -> dict[str, Any]:
    if not isinstance(score, (Mapping, type(None))):
        allowed = "a mapping from model to its scores"
        raise InputError(
            "score",
            got=type(score).__name__,
            allowed=allowed,
            cure='score={"A": …, "B": …}',
        )
    return {str(model_name): values for model_name, values in (score or {}).items()}
