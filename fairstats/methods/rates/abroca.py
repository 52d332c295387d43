"""ABROCA: the area between the ROC curves of two groups, with an interval that can start at
zero.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from fairstats.ground.checks import Floats, SeedOrGenerator, as_generator, check_choice, check_that
from fairstats.ground.errors import InputError
from fairstats.ground.groups import find_reference, group_index
from fairstats.ground.lazy import Axes
from fairstats.ground.multiplicity import make_pairs
from fairstats.ground.outcomes import Outcomes
from fairstats.ground.progress import each_of
from fairstats.ground.registry import METRICS
from fairstats.ground.results import HypothesisTest, Interval
from fairstats.ground.scores import ScoreCounts
from fairstats.ground.serialise import serialisable
from fairstats.ground.tally import Tally, counts_or_rows
from fairstats.ground.verdict import Evidence, Procedure
from fairstats.methods.rates.curve_noise import CurveDraws, no_draw_moves
from fairstats.methods.rates.own_scores import OwnScores
from fairstats.methods.rates.result import (
    ComparisonResult,
    Inference,
    RateComparison,
    as_family,
    before_evidence,
    warned,
)
from fairstats.methods.rates.roc import RocCurve, area_between
from fairstats.methods.rates.setup import RateArguments, check_groups, make_settings
from fairstats.numerics.paired.distance import MIN_ROWS, AucGap, Unseen, unseen
from fairstats.plots.figures import calibration_curves, roc_curves
from fairstats.plots.picture import draw

_METHOD_NAME = "bootstrap and exchange of groups"


@serialisable(eq=False)
class AbrocaResult(ComparisonResult):
    """Areas between ROC curves; `rate` and `rate_reference` hold the two AUCs.

    Attributes
    ----------
    expected_if_equal : tuple of float
        Mean ABROCA that two equal curves would show at these sample sizes, one per comparison.
    """

    expected_if_equal: tuple[float, ...] = ()

    scale: ClassVar[str] = "maximum"
    tails: ClassVar[dict[str, str]] = {
        "violated": "show an area above {high}",
        "satisfied": "show an area below {high}",
        "undecided": "do not settle on which side of {high} it lies",
    }

    def rows(self) -> list[dict[str, Any]]:
        """Rows of the tidy table."""
        rows_and_means = zip(super().rows(), self.expected_if_equal, strict=True)
        return [{**row, "expected_if_equal": expected} for row, expected in rows_and_means]

    def roc(self, group: Hashable) -> RocCurve:
        """The ROC curve of a group; its scores are counted in at most 2,048 bins of ten rows.

        Parameters
        ----------
        group : hashable
            Any group, the reference too.

        Raises
        ------
        InputError
            For a group that is not there, or without rows of both labels, which has no ROC curve.
        """
        scores: Any = self.counts
        group_position = group_index(scores.groups, group, "group")
        n_negative, n_positive = scores.counts[group_position].sum(axis=1).tolist()
        if min(n_negative, n_positive) == 0:
            received = (
                f"{scores.groups[group_position]!r}, with {n_negative:,} rows of label 0 and {n_positive:,}"
                " of label 1"
            )
            raise InputError(
                "group",
                got=received,
                allowed="a group with rows of both labels",
                cure="name another group",
            )
        return RocCurve._from_counts(*scores.counts[group_position])

    def plot(
        self,
        ax: Axes | None = None,
        *,
        kind: Literal["forest", "roc", "calibration"] = "forest",
        group: Hashable | None = None,
    ) -> Axes:
        """Draw the areas with their intervals, the ROC curves of a comparison, or its calibration
        curves.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; default a new figure.
        kind : {"forest", "roc", "calibration"}, default "forest"
            "roc" fills the area between the curves, ABROCA; "calibration" is the share with label 1
            in up to ten bins of scores, each with its Wilson interval.
        group : hashable, optional
            Whose comparison; default the first.

        Raises
        ------
        InputError
            For a group without rows of both labels, which has no ROC curve.
        """
        check_choice("kind", kind, ("forest", "roc", "calibration"))
        if kind == "forest":
            return super().plot(ax)
        if group is None:
            chosen = self.comparisons[0]
        else:
            chosen = self[group]
        can_be_drawn = kind == "calibration" or np.isfinite(chosen.estimate)
        check_that(
            can_be_drawn,
            "group",
            chosen.group,
            "a comparison of groups with both labels",
            'kind="calibration"',
        )
        return draw((roc_curves if kind == "roc" else calibration_curves)(self, chosen), ax)

    def _describe_finding(self, c: RateComparison) -> str:
        details = f"{c.confidence_interval.words()}; AUC {c.rate:.3f} and {c.rate_reference:.3f}"
        return (
            f"{self._name_comparison(c)}: area between the ROC curves {c.estimate:.3f} ({details})"
        )

    def _name_disadvantaged(self, comparison: RateComparison) -> str:
        """Nobody: curves may cross, and an area has no sign."""
        return ""


def abroca(
    y_true: Any = None,
    score: Any = None,
    *,
    counts: ScoreCounts | Tally | None = None,
    comparisons: Literal["reference", "all"] = "reference",
    margin: float = 0.1,
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
) -> AbrocaResult:
    """Absolute area between the ROC curves of each group and the reference.

    A = ∫₀¹ |ROC_s(t) − ROC_ref(t)| dt ∈ [0, 1], exact for the empirical curves. As every norm of a
    noisy difference it is biased upwards; `expected_if_equal` says what equal curves would show.

    Parameters
    ----------
    y_true : array-like, shape (n,)
        Labels, any type with two values.
    score : array-like of float, shape (n,)
        Score in [0, 1], larger for the favourable label.
    counts : ScoreCounts or Tally, optional
        Rows per group, label and score value instead of the columns.
    comparisons : {"reference", "all"}, default "reference"
        Each other group against the reference, or all pairs.
    margin : float, default 0.1
        The verdict asks on which side of it the area lies.
    n_resamples : int, default 999
        Bootstrap resamples of the score counts within group and label.
    rng : None, int or numpy.random.Generator
        Seed of the bootstrap.
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
    AbrocaResult

    Raises
    ------
    InputError
        For scores outside [0, 1], and other input that cannot be used.

    Warns
    -----
    InsufficientEvidenceWarning
        Where a group has fewer than ten rows of one of the labels.
    DataWarning
        Where the scores separate the labels of a group without an error, or are all equal.

    Notes
    -----
    With D = ROC_s − ROC_ref and its bootstrap version D*, |Â − A| ≤ ∫|D̂ − D| by the triangle
    inequality, also for equal curves, where a percentile interval has no coverage. The law of ∫|D̂
    − D| is taken twice: as that of ∫|D* − D̂|, and from exchanging groups within labels, each score
    replaced by its place among the negatives of its group, so that only the curves count [2]_; the
    bootstrap alone understates the noise of ten positives beside many (size .13 at an AUC of .9).
    The p-value of H0: area = a is the larger of the two shares of distances of at least the one
    between a and Â, and the interval holds every a that is not rejected. It is conservative: at an
    AUC of .9 the size is about .01, not .05. `std_error` is that of the estimate, from its
    bootstrap.

    Groups of 200 rows and more of either label, of which some 40 and more are misplaced and few
    tied, are drawn by the Brownian bridges that their curves' noise tends to [4]_: quantiles are
    within 2% of those of the rows drawn one by one. All others are drawn as counts.

    Perfect separation shows no noise, which is no evidence that there is none: of k rows of the
    rarer label p-values are at least (1 − d/2)²ᵏ, so that the area of two such groups is at most
    .28 with 10 rows, .10 with 30. Where x rows lie far on the wrong side (wrong labels, say, of
    size c) the distance reaches at least to c times Clopper and Pearson's upper limit of x of k
    less x/k (without it 40 beside 400 rows with two to six wrong labels expected covered .79 to
    .94, with it .95 and more). The upper limit is never below that of the difference of the AUCs,
    which no area is below, with the variance of Hanley and McNeil at the limit [3]_ (without it 20
    rows a label beside a nearly perfect curve had an area above the limit in 7.5%, with it in 1%).

    References
    ----------
    .. [1] Gardner, Brooks, Baker (2019). Evaluating the fairness of predictive student models
       through slicing analysis. LAK19, 225–234.
    .. [2] Venkatraman (2000). A permutation test to compare receiver operating characteristic
       curves. Biometrics 56.
    .. [3] Newcombe (2006). Confidence intervals for an effect size measure based on the
       Mann–Whitney statistic, part 2 (method 5). Statistics in Medicine 25, 559–573.
    .. [4] Hsieh, Turnbull (1996). Nonparametric and semiparametric estimation of the receiver
       operating characteristic curve. Annals of Statistics 24, 25–40: theorem 2.2.

    Examples
    --------
    >>> import numpy as np, fairstats as fs
    >>> rng = np.random.default_rng(1)
    >>> y, group = rng.integers(0, 2, 400), np.repeat(["a", "b"], 200)
    >>> score = np.clip(0.4 + 0.2 * y * (group == "a") + 0.1 * rng.standard_normal(400), 0, 1)
    >>> result = fs.abroca(y, score, sensitive_features=group, reference="a", rng=1)
    >>> print(result.verdict)
    violated
    """
    arguments = RateArguments(
        sensitive_features=sensitive_features,
        reference=reference,
        comparisons=comparisons,
        margin=margin,
        confidence_level=confidence_level,
        adjust=adjust,
        pos_label=pos_label,
        label_values=label_values,
        missing=missing,
        groups=groups,
        n_resamples=n_resamples,
    )
    settings = make_settings("gap", arguments)
    row_columns = {"y_true": y_true, "score": score, "sensitive_features": sensitive_features}
    if counts_or_rows(counts, needs="y_true, score", **row_columns):
        return abroca_from_counts(check_score_counts(counts), reference, settings, rng)
    outcomes = Outcomes.from_arrays(y_true, None, score=score, **arguments.row_options())
    return _abroca_of_groups(OwnScores.of_rows(outcomes), reference, settings, rng)


def check_score_counts(counts: Any) -> ScoreCounts:
    """Score counts of rows of equal weight, from what was passed as counts."""
    if isinstance(counts, Tally):
        scores = counts.histogram()
    else:
        scores = counts
    if isinstance(scores, ScoreCounts):
        scores = scores.without_even_weights()
    if not isinstance(scores, ScoreCounts) or scores.counts.shape[1] < 2:
        received = f"a {type(scores).__name__}"
        allowed = "score counts per group and label"
    elif scores.totals is not None or scores.clustered:
        received = "weighted or clustered rows"
        allowed = "independent rows of equal weight"
    else:
        return scores
    raise InputError(
        "counts",
        got=received,
        allowed=allowed,
        cure="ScoreCounts, or fs.tally(…, y_true=, score=)",
    )


def abroca_from_counts(
    scores: ScoreCounts,
    reference: Hashable | None,
    settings: Inference,
    rng: SeedOrGenerator,
) -> AbrocaResult:
    """Area between ROC curves from score counts."""
    return _abroca_of_groups(OwnScores.of_counts(scores), reference, settings, rng)


def _abroca_of_groups(
    scores: OwnScores,
    reference: Hashable | None,
    settings: Inference,
    rng: SeedOrGenerator,
) -> AbrocaResult:
    """Area between ROC curves from the counts of every group."""
    check_groups(scores.groups)
    curves = []
    for own_counts in scores.counts:
        curves.append(
            RocCurve._from_counts(*own_counts) if own_counts.sum(axis=1).min() > 0 else None
        )
    group_aucs = np.array([np.nan if curve is None else curve.auc for curve in curves])
    reference_index, reference_rule = find_reference(
        scores.groups, reference, sizes=scores.sizes, rates=group_aucs
    )
    generator, seed = as_generator(rng)
    settings = replace(settings, method=_METHOD_NAME, seed=seed, reference_rule=reference_rule)
    pairs = make_pairs(len(curves), reference_index, settings.comparisons)
    # the pairs that could have been chosen count too
    if reference_rule == "highest":
        chosen_among = len(make_pairs(len(curves), reference_index, "all"))
    else:
        chosen_among = 0
    shared = _SharedByPairs(
        scores=scores,
        curves=curves,
        group_aucs=group_aucs,
        draws=CurveDraws(scores.counts, curves, settings.n_resamples, generator, pairs),
        settings=settings,
        single_level=1 - (1 - settings.confidence_level) / max(chosen_among, 1),
    )
    compared = [_compare_pair(shared, pair) for pair in each_of(pairs, "ABROCA")]
    judged = [(comparison, evidence) for comparison, evidence, _ in compared]
    result = AbrocaResult(
        metric="abroca",
        comparisons=as_family(judged, settings, chosen_among=chosen_among),
        settings=settings,
        counts=scores.binned,
        words=METRICS["abroca"].title,
        expected_if_equal=tuple(mean_area for _, _, mean_area in compared),
    )
    return warned(result, "abroca")


def hidden_by_rows(
    curves: Sequence[RocCurve], rows: Sequence[Sequence[float]], still: Sequence[bool]
) -> Unseen:
    """What so many rows of either label do not show of two curves; `still`: no draw moves it."""
    errors = []
    error_free_sizes = []
    auc_entries = []
    for curve, label_sizes, unmoved in zip(curves, rows, still, strict=True):
        # one score in all rows is no sample of a continuous law: its AUC is known
        auc_entries.append(
            (curve.auc, *((math.inf, math.inf) if unmoved and curve.auc == 0.5 else label_sizes))
        )
        of_both = curve.misplaced
        if unmoved or min(label_sizes) * of_both[0][0] < 1:
            error_free_sizes.append(float(min(label_sizes)))
        for (mean_error, mean_square), n_rows in zip(of_both, label_sizes, strict=True):
            # equal errors of all rows (one score) are no rare ones
            if 0 < mean_error**2 < (1 - 1e-9) * mean_square:
                errors.append(
                    (float(n_rows), n_rows * mean_error**2 / mean_square, mean_square / mean_error)
                )
    (lower_auc, *sizes_worse), (higher_auc, *sizes_better) = sorted(auc_entries)
    return Unseen(
        min(error_free_sizes, default=np.inf),
        tuple(errors),
        AucGap(
            worse=lower_auc, better=higher_auc, own=tuple(sizes_worse), other=tuple(sizes_better)
        ),
    )


@dataclass(frozen=True, eq=False)
class _SharedByPairs:
    """What every comparison is made from; `single_level`: of the limits of one alone."""

    scores: OwnScores
    curves: Sequence[RocCurve | None]
    group_aucs: Floats
    draws: CurveDraws
    settings: Inference
    single_level: float


def _compare_pair(
    shared: _SharedByPairs, pair: tuple[int, int]
) -> tuple[RateComparison, Evidence, float]:
    """A pair of groups, the evidence on it, and the mean area of equal curves."""
    scores = shared.scores
    settings = shared.settings
    level = shared.single_level
    without_groups = before_evidence("abroca", settings, (0.0, 1.0))
    empty_comparison = without_groups._of_pair(pair, scores.groups, shared.group_aucs, scores.sizes)
    group_names = [scores.groups[group_number] for group_number in pair]
    label_rows = np.stack([scores.counts[group_number].sum(axis=1) for group_number in pair])
    of_pair = []
    for curve in (shared.curves[group_number] for group_number in pair):
        if curve is not None:
            of_pair.append(curve)
    if len(of_pair) == 2:
        estimate = area_between(*of_pair)
    else:
        estimate = None
    note = ""
    if estimate is None:
        label_words = "an unfavourable", "a favourable"
        lacking = []
        for group_number, label_index in np.argwhere(label_rows == 0).tolist():
            lacking.append(
                f"{group_names[group_number]} has no row with {label_words[label_index]} label"
            )
        note = "; ".join(lacking) + ", so no ROC curve."
    elif label_rows.min() < MIN_ROWS:
        names_of_few_rows = " and ".join(
            group_name
            for group_name, rows_of_group in zip(group_names, label_rows, strict=True)
            if rows_of_group.min() < MIN_ROWS
        )
        note = f"{names_of_few_rows}: fewer than {MIN_ROWS} rows of one label, too few to resample a ROC curve."
    if note or estimate is None:
        return replace(empty_comparison, note=note), Evidence(), float("nan")
    unmoved = [no_draw_moves(scores.counts[group_number]) for group_number in pair]
    curve_noise = shared.draws.noise(*pair, hidden_by_rows(of_pair, label_rows.tolist(), unmoved))
    # The triangle inequality bounds each side by the same distance: no gain for a one-sided limit.
    interval_reach = curve_noise.reach(level)
    pvalue = curve_noise.pvalue(estimate)
    upper_limit = min(max(estimate + interval_reach, curve_noise.hidden.upper(1 - level)), 1.0)
    interval = Interval(
        low=max(estimate - interval_reach, 0.0),
        high=upper_limit,
        confidence_level=settings.confidence_level,
        method=settings.method,
    )
    equality_test = HypothesisTest(
        null="equal ROC curves",
        alternative="two-sided",
        statistic=estimate,
        pvalue=pvalue,
        method=settings.method,
    )
    if auc_error := float(scores.auc_error[list(pair)].sum()):
        note = (
            f"Scores were counted in intervals: the area and the AUCs can be off by {auc_error:.2g} at"
            " most. "
        )
    if any(unmoved):
        unmoved_names = " and ".join(np.compress(unmoved, group_names))
        fewest = float(label_rows[unmoved].min())
        note += (
            f"{unmoved_names}: the scores separate the labels without an error, or are all equal, so that"
            f" resampling shows no noise. {fewest:.0f} rows of a label allow a distance of"
            f" {unseen(1 - level, fewest):.2g}; more rows of the rarer label allow less."
        )
    comparison = replace(
        empty_comparison,
        estimate=estimate,
        confidence_interval=interval,
        bounds=interval,
        statistic=estimate,
        pvalue=pvalue,
        # two curves that no draw moves have no spread to estimate
        std_error=np.nan if all(unmoved) else float(np.std(curve_noise.areas, ddof=1)),
        tests=(equality_test,),
        note=note.strip(),
        procedure=Procedure(settings.method, "draws"),
    )
    _, largest_fair = settings._fair_range("gap")
    evidence = Evidence(
        1.0,
        curve_noise.pvalue(estimate - largest_fair),
        curve_noise.pvalue_of_less(largest_fair, estimate),
    )
    return comparison, evidence, float(curve_noise.laws[1].mean())
