"""Maxima of absolute differences: equalised odds, the largest gap over many groups.

θ = max_j |δ_j| over J signed differences. With c the simultaneous critical value of max_j |Z_j|,
the band of all δ̂_j ± c·s_j covers all δ_j at once, and so the interval [max_j(|δ̂_j| − c·s_j)₊,
max_j(|δ̂_j| + c·s_j)] covers θ with at least the nominal probability. For δ̂_j ± c·s_j stand the
score limits at the same c: with Wald limits the coverage fell to 86–92% at 10 to 30 rows per group.
Of one difference (two groups, one rate) the largest gap is its size, and everything about it is
taken from there. Where exact tests are switched on (`numerics.rates.switch.needs_exact`) they replace the
score's p-values and limits if these are near a decision (by Bonferroni's share of the error, so
that nothing random decides); elsewhere the continuity correction widens limits where few cases are
expected. Under weights or clusters as for single differences; those of a group that has too few
units may be as large as 1. `method="mee"` takes the score without its factor N/(N − 1), and no exact
tests.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy.special import ndtr, stdtr

from fairstats.ground.checks import Floats
from fairstats.ground.counts import CellCounts
from fairstats.ground.multiplicity import MaxZ, make_pairs, normal_cdf, normal_quantile
from fairstats.ground.progress import under_way
from fairstats.ground.registry import RATES, Metric, Rate
from fairstats.ground.results import Interval
from fairstats.ground.serialise import serialisable
from fairstats.ground.verdict import Evidence, Procedure, settle
from fairstats.methods.rates.decision import (
    ExactPair,
    decide_by_method,
    decide_exactly,
    error_of_switch,
    exact_pair,
)
from fairstats.methods.rates.estimates import (
    RateEstimates,
    estimate_rate,
    joint_covariance,
    linear_covariance,
    with_added_rows,
)
from fairstats.methods.rates.exact_terms import ExactTerms
from fairstats.methods.rates.gaps import GapComponent, GapComponents
from fairstats.methods.rates.pair import (
    CORRECTED_IN_MEANS,
    Chosen,
    Refused,
    pair_method,
    too_few_units,
)
from fairstats.methods.rates.result import ComparisonResult, Inference, RateComparison
from fairstats.numerics.rates.score import difference_score_statistic
from fairstats.numerics.rates.score_limits import difference_limits_of
from fairstats.numerics.rates.switch import needed_cases, smallest_expected

#: No critical value of a mean of proportions is looked for beyond this one.
_LARGEST_CRITICAL = 30.0
#: Limits by the score have the continuity correction where fewer cases than this are expected in a
#: cell: without it the band of 10 beside 1,000 rows covered .919.
CORRECTED_BELOW = 10.0
#: A p-value by the score that is above so many times the error is far from a decision.
_NEAR_DECISION = 4.0
#: Likewise of one among several, whose error is known as Bonferroni's share, up to half of the
#: simulated one.
_NEAR_OF_EACH = 8.0
#: Differences whose limits are searched for at once before the others are asked for theirs.
_SEARCHED_TOGETHER = 512
#: Names of the band's method: by default, and where the score without the factor N/(N − 1) is asked
#: for, which has no exact tests.
_BAND = "simultaneous band"
BAND_BY_MEE = "simultaneous band (mee)"
_OPEN_UPWARDS = "A gap that is not known leaves the interval open up to 1."


@serialisable(eq=False)
class MaximumResult(ComparisonResult):
    """The largest absolute difference between any two groups.

    The one comparison is between the groups that attain it. Its estimate in [0, 1] is biased
    upwards, as every maximum of noisy values; the interval covers the population maximum with at
    least the nominal probability; statistic and p-value are max_j |δ̂_j|/s_j and its simultaneous
    p-value for H0: all differences are 0. Of one difference (two groups, one rate) all of it is
    that of the difference, without its sign.

    Attributes
    ----------
    critical_value : float
        c of the interval, of the law with all units' degrees of freedom. Under weights or clusters
        each difference has the quantile of its own law with the same error, which is larger where
        its two groups have few units.
    components : sequence of GapComponent
        Every difference; the first attains the maximum.

    Examples
    --------
    >>> import fairstats as fs
    >>> counts = {"a": (40, 60), "b": (25, 75), "c": (30, 70)}
    >>> result = fs.demographic_parity_difference(counts=counts, agg="max")
    >>> round(result.estimate, 3), [(gap.group, gap.reference) for gap in result.components]
    (0.15, [('a', 'b'), ('a', 'c'), ('b', 'c')])
    """

    critical_value: float = float("nan")
    components: Sequence[GapComponent] = ()

    scale: ClassVar[str] = "maximum"
    tails: ClassVar[dict[str, str]] = {
        "violated": "show a gap above {high}",
        "satisfied": "show that every gap is below {high}",
        "undecided": "do not settle on which side of {high} it lies",
    }

    @property
    def width(self) -> float:
        """Width of the interval."""
        return float(self.confidence_interval.width)

    @property
    def attained_by(self) -> str | None:
        """Rate whose difference is the largest."""
        if self.components:
            return self.components[0].rate
        return None

    def rows(self) -> list[dict[str, Any]]:
        """Row of the tidy table."""
        (row,) = super().rows()
        known_groups = {}
        for column_name in ("group", "reference"):
            known_groups[column_name] = row[column_name] or None
        return [{**row, **known_groups, "width": self.width, "attained_by": self.attained_by}]

    def _name_comparison(self, c: RateComparison) -> str:
        return self.title

    def _describe_finding(self, c: RateComparison) -> str:
        rate_name = self.attained_by or ""
        if rate_name in RATES:
            rate_words = RATES[rate_name].title
        else:
            rate_words = rate_name.replace("_", " ")
        size_in_words = f"Largest gap {c.estimate:.3f} ({c.confidence_interval.words()})"
        return f"{size_in_words}, between {c.group} and {c.reference} in {rate_words}"

    def _by_value(self, c: RateComparison) -> tuple[str, str, Rate | None]:
        """By the sign of the difference that is the largest.

        Its size, which is judged, has none.
        """
        largest_component = self.components[0]
        if largest_component.estimate < 0:
            lower_group = largest_component.group
            higher_group = largest_component.reference
        else:
            lower_group = largest_component.reference
            higher_group = largest_component.group
        return lower_group, higher_group, RATES.get(largest_component.rate)

    def notes(self) -> list[str]:
        """Sentences below the table."""
        n_differences = len(self.components)
        if n_differences > 1:
            scope_in_words = f"all {n_differences} differences at once"
        else:
            scope_in_words = "the only difference"
        band_in_words = (
            f"{self.settings.level_text} interval from a band that holds for {scope_in_words} (c ="
            f" {self.critical_value:.3f})"
        )
        sentence = f"{band_in_words}: coverage is at least nominal, width {self.width:.3f}."
        if n_differences == 1:
            sentence = (
                "The only difference, without its sign: its tests, limits and verdict"
                f" ({self.settings.level_text})."
            )
        return [sentence, *self._common_notes()]


def largest_gap(
    counts: CellCounts,
    metric: Metric,
    settings: Inference,
    rates: Sequence[Rate] | None = None,
    *,
    chosen_by_data: bool = False,
) -> MaximumResult:
    """Largest absolute difference of any of a metric's rates (proportions or their means) between
    groups; `rates`: others in their place, as of several classes; `chosen_by_data`: whether the
    rows beside it have the group with the highest rate for their reference.

    Of one difference (two groups and one rate, or all others unknown) it is the size of that
    difference: the same tests, limits and verdict. Where others are unknown, nothing shows that the
    largest is small.
    """
    by_mee = settings.method == "mee"
    # the rows' own number, so that the difference has their p-value where it is the only one
    pairs_beside = "all" if chosen_by_data else settings.comparisons
    n_pairs = len(make_pairs(len(counts.groups), 0, pairs_beside))
    error = error_of_switch(metric, settings, n_pairs, chosen_by_data=chosen_by_data)
    settings = replace(settings, method=BAND_BY_MEE if by_mee else _BAND, comparisons="all")
    if rates is None:
        rates = [RATES[rate_name] for rate_name in metric.rates]
    estimates = [estimate_rate(counts, rate) for rate in rates]
    lacking = _what_is_unknown(estimates)
    only_difference = _only_difference(estimates)
    if only_difference is not None:
        result = _size_of_difference(counts, metric, only_difference, settings, lacking, error)
        if result is not None:
            return result
    band = _SimultaneousBand.of(counts, estimates, by_mee=by_mee)
    confidence_level = settings.confidence_level
    method_name = settings.method
    empty_comparison = RateComparison(metric=metric.name, n=counts.n)
    if not band.difference.size:
        whole_interval = Interval(
            low=0.0, high=1.0, confidence_level=confidence_level, method="none"
        )
        unknown_comparison = replace(
            empty_comparison,
            confidence_interval=whole_interval,
            bounds=whole_interval,
            verdict="insufficient evidence",
            method="none",
            note=" ".join(lacking),
        )
        return MaximumResult(
            metric=metric.name,
            comparisons=(unknown_comparison,),
            settings=settings,
            counts=counts,
            words=metric.title,
        )
    if counts.weighted:
        of_all_units = counts.degrees_of_freedom
    else:
        of_all_units = math.inf
    joint_law = MaxZ(
        covariance_of_rates(counts, estimates, smoothed=True), of_all_units, band.places
    )
    critical_value = joint_law.quantile(confidence_level)
    band = band.with_exact_terms(_exact_level(band, confidence_level))
    decision = decide_gap(
        band, estimates, joint_law, critical_value, settings, complete=not lacking
    )
    components = _signed_differences(band, estimates, counts, decision)
    pvalue = decision.pvalue
    largest_component = components[0]
    comparison = replace(
        empty_comparison,
        group=largest_component.group,
        reference=largest_component.reference,
        estimate=abs(largest_component.estimate),
        std_error=largest_component.std_error,
        confidence_interval=Interval(
            *_range_of_largest(decision, not lacking),
            confidence_level,
            method_name,
        ),
        bounds=Interval(*decision.bounds, confidence_level, method_name),
        statistic=decision.statistic,
        pvalue=pvalue,
        pvalue_adjusted=pvalue,
        method=method_name,
        note=" ".join([*lacking, _OPEN_UPWARDS] if lacking else []),
        procedure=decision.procedure,
    )
    (ruling,) = settle([decision.evidence], confidence_level=confidence_level, adjust="none")
    return MaximumResult(
        metric=metric.name,
        comparisons=(comparison._with_ruling(ruling),),
        settings=settings,
        counts=counts,
        words=metric.title,
        critical_value=critical_value,
        components=components,
    )


def _signed_differences(
    band: _SimultaneousBand,
    estimates: Sequence[RateEstimates],
    counts: CellCounts,
    decision: GapDecision,
) -> GapComponents:
    """Every difference with its simultaneous limits, the largest first."""
    rate_numbers, group_numbers, reference_numbers = band.terms.T
    rows = np.stack([rate_estimates.rows for rate_estimates in estimates])
    rows_of_both = rows[rate_numbers, group_numbers] + rows[rate_numbers, reference_numbers]
    order = np.argsort(-np.abs(band.difference), kind="stable")
    rate_names = [rate_estimates.rate_of.name for rate_estimates in estimates]
    groups = np.array(counts.groups, dtype=object)
    columns = {
        "rate": np.array(rate_names, dtype=object)[rate_numbers],
        "group": groups[group_numbers],
        "reference": groups[reference_numbers],
        "estimate": band.difference,
        "std_error": band.std_error,
        "low": decision.low,
        "high": decision.high,
        "n": rows_of_both.astype(np.int64),
    }
    return GapComponents(columns, order, decision.exact)


def _exact_level(band: _SimultaneousBand, confidence_level: float) -> float:
    """What the smallest p-value of a band is held to where exact tests are switched on.

    Bonferroni's share.

    Never the level of the simulated critical value, which is at least as large: whether a
    difference is judged exactly would then depend on random numbers at the border, and differ
    between machines and languages.
    """
    return (1 - confidence_level) / band.difference.size


def _only_difference(estimates: Sequence[RateEstimates]) -> tuple[RateEstimates, int, int] | None:
    """The rate and the two groups of the only difference that is known.

    None of several, and of none.
    """
    known_groups = []
    for rate_estimates in estimates:
        known_groups.append(
            (rate_estimates, np.flatnonzero(np.isfinite(rate_estimates.rate)).tolist())
        )
    comparable = [
        (rate_estimates, group_indices)
        for rate_estimates, group_indices in known_groups
        if len(group_indices) > 1
    ]
    if len(comparable) != 1:
        return None
    ((only_estimates, group_indices),) = comparable
    if len(group_indices) != 2:
        return None
    first_group, second_group = group_indices
    return only_estimates, first_group, second_group


def _size_of_difference(
    counts: CellCounts,
    metric: Metric,
    only_difference: tuple[RateEstimates, int, int],
    settings: Inference,
    lacking: Sequence[str],
    error: float,
) -> MaximumResult | None:
    """The gap of the only two groups: what their difference shows, without its sign.

    None where there is no method.

    `lacking`: why others are unknown, if there are any. The gap may then be as large as 1; `error`:
    of the switch to exact tests, as where the difference is asked for itself.
    """
    estimates, group_index, reference_index = only_difference
    confidence_level = settings.confidence_level
    score_method = "mee" if settings.method == BAND_BY_MEE else "score"
    chosen_method = pair_method(
        estimates, group_index, reference_index, "difference", score_method, n_resamples=0, rng=None
    )
    if isinstance(chosen_method, Refused):
        return None
    exact_tests = None
    if score_method == "score":
        exact_tests = exact_pair(estimates, group_index, reference_index, error)
    levels = (confidence_level, 2 * confidence_level - 1)
    if exact_tests is None:
        decision = decide_by_method(chosen_method, "difference", settings, levels)
    else:
        decision = decide_exactly(exact_tests, chosen_method, "difference", settings, levels)
    difference, std_error = estimates.contrast(group_index, reference_index, contrast="difference")
    lower_limit, upper_limit = decision.interval
    component = GapComponent(
        rate=estimates.rate_of.name,
        group=counts.groups[group_index],
        reference=counts.groups[reference_index],
        estimate=difference,
        std_error=std_error,
        low=lower_limit,
        high=upper_limit,
        n=int(estimates.rows[[group_index, reference_index]].sum()),
    )
    method = decision.interval.method
    complete = not lacking
    bounds = decision.bounds
    comparison = RateComparison(
        metric=metric.name,
        group=counts.groups[group_index],
        reference=counts.groups[reference_index],
        estimate=abs(difference),
        std_error=std_error,
        confidence_interval=Interval(
            *_range_of_size(lower_limit, upper_limit, complete), confidence_level, method
        ),
        bounds=Interval(
            *_range_of_size(bounds.low, bounds.high, complete), bounds.confidence_level, method
        ),
        statistic=abs(decision.statistic),
        pvalue=decision.pvalue,
        pvalue_adjusted=decision.pvalue,
        n=counts.n,
        method=method,
        note="" if complete else " ".join([*lacking, _OPEN_UPWARDS]),
        procedure=decision.procedure,
    )
    evidence_shown = decision.evidence
    inside = evidence_shown.inside if complete else 1.0
    evidence = Evidence(
        above=min(evidence_shown.below, evidence_shown.above),
        inside=inside,
        equality=evidence_shown.equality,
    )
    (ruling,) = settle([evidence], confidence_level=confidence_level, adjust="none")
    return MaximumResult(
        metric=metric.name,
        comparisons=(comparison._with_ruling(ruling),),
        settings=replace(settings, method=method),
        counts=counts,
        words=metric.title,
        critical_value=_critical_value(chosen_method, confidence_level),
        components=(component,),
    )


def _critical_value(chosen_method: Chosen, level: float) -> float:
    """Two-sided critical value of a single difference."""
    return normal_quantile((1 + level) / 2, chosen_method.degrees_of_freedom)


def _range_of_size(lower_limit: float, upper_limit: float, complete: bool) -> tuple[float, float]:
    """Range of |δ| for δ between two limits; open to 1 where other differences are unknown."""
    smallest_size = max(lower_limit, -upper_limit, 0.0)
    largest_size = min(max(abs(lower_limit), abs(upper_limit)), 1.0)
    return smallest_size, (largest_size if complete else 1.0)


@dataclass(frozen=True, eq=False)
class GapDecision:
    """What all differences show together of the largest.

    `evidence`, `pvalue`, `statistic`: over all differences; `bounds`: one-sided limits of the
    largest; `low`, `high`, shape (J,): limits of every difference that hold at once, by the score,
    which those of `exact` replace.
    """

    evidence: Evidence
    bounds: tuple[float, float]
    pvalue: float
    statistic: float
    low: Floats
    high: Floats
    exact: ExactTerms
    procedure: Procedure


@under_way("largest gap")
def decide_gap(
    band: _SimultaneousBand,
    estimates: Sequence[RateEstimates],
    joint: MaxZ,
    critical: float,
    settings: Inference,
    *,
    complete: bool,
) -> GapDecision:
    """The largest of several differences against the margin.

    *Above*: some difference is, so that the smallest p-value of a difference below or above ±margin
    counts, taken over all of them by the law of the largest |Z|. *Inside*: every difference is, so
    that the largest p-value counts as it is (an intersection-union test: Berger 1982). Exact tests
    replace the score where they are switched on and where the score is not far from deciding. Under
    weights or clusters each difference has the degrees of freedom of its own two groups: a group of
    few units makes its own differences uncertain, not those of the others.
    """
    margin = settings.limit
    confidence_level = settings.confidence_level
    degrees_of_freedom = band.degrees_of_freedom
    error_over_all = 1 - confidence_level
    # each p-value that is at most this one is at most the error over all differences
    error_of_each = 2 * normal_cdf(-critical, joint.degrees_of_freedom)
    z_low = band.statistics(-margin)
    z_high = band.statistics(margin)
    z_equal = band.statistics(0.0)
    margin_width = np.maximum(z_low - z_high, 0.0)
    pvalues_outside = np.minimum(
        _both_tails(-z_low, margin_width, degrees_of_freedom),
        _both_tails(z_high, margin_width, degrees_of_freedom),
    )
    pvalues_inside = np.maximum(
        _both_tails(z_low, margin_width, degrees_of_freedom),
        _both_tails(-z_high, margin_width, degrees_of_freedom),
    )
    pvalues_equal = 2 * _both_tails(
        np.abs(z_equal), np.full(margin_width.size, np.inf), degrees_of_freedom
    )
    for pvalues in (pvalues_outside, pvalues_inside, pvalues_equal):
        pvalues[band.few] = 1.0
    lower_limits, upper_limits = band.limits_at(
        _student_quantiles(1 - error_of_each / 2, degrees_of_freedom)
    )
    # the difference that the statistic is of; of equal p-values the one with the largest statistic
    shown_best = int(np.lexsort((-np.abs(z_equal), pvalues_equal))[0])
    statistic = float(abs(z_equal[shown_best]))
    df_of_statistic = float(degrees_of_freedom[shown_best])
    near_error = _NEAR_OF_EACH * _exact_level(band, confidence_level)
    may_be_inside = bool((pvalues_inside <= _NEAR_DECISION * error_over_all).all()) and complete
    near_deciding = np.minimum(pvalues_outside, pvalues_equal) <= near_error
    pairs_used: dict[int, ExactPair] = {}
    for j in band.exact_terms:
        if not (near_deciding[j] or may_be_inside):
            continue
        exact_tests = band.exact_pair(j, estimates, _exact_level(band, confidence_level))
        if exact_tests is None:
            continue
        pairs_used[j] = exact_tests
    exact = ExactTerms(pairs_used, margin, error_of_each)
    others = np.ones(band.difference.size, dtype=bool)
    others[exact.places] = False
    # a difference beyond the margin is one
    pvalues_outside = np.maximum(pvalues_outside, pvalues_equal)
    no_decision = band.few.all()
    # one-sided limits: the lower one of the largest over all differences, its upper one as each
    # alone has it
    limits_over_all = band.farthest_limits(
        _one_sided_critical(error_of_each, margin_width, degrees_of_freedom),
        exact.places,
        near=True,
    )
    limits_alone = band.farthest_limits(
        _one_sided_critical(error_over_all, margin_width, degrees_of_freedom),
        exact.places,
        near=False,
    )
    bounds = (
        _lower_limit_of_largest(
            limits_over_all,
            exact,
            others,
            may_be_equal=pvalues_equal > error_of_each,
            margin=margin,
        ),
        _upper_limit_of_largest(limits_alone, exact, others, error_over_all) if complete else 1.0,
    )
    procedure = Procedure(settings.method, "score", df=df_of_statistic)
    if len(exact):
        procedure_name = f"{settings.method}, exact tests of small groups"
        procedure = Procedure(procedure_name, "exact", exact=True, df=df_of_statistic)
    if no_decision:
        return GapDecision(
            evidence=Evidence(),
            bounds=bounds,
            pvalue=float("nan"),
            statistic=0.0,
            low=lower_limits,
            high=upper_limits,
            exact=exact,
            procedure=procedure,
        )
    smallest_outside = exact.smallest_outside(float(pvalues_outside[others].min(initial=1.0)))
    largest_inside = 1.0
    if complete:
        largest_inside = exact.largest_inside(
            float(pvalues_inside[others].max(initial=0.0)), pvalues_inside[exact.places]
        )
    evidence = Evidence(above=_over_all(joint, smallest_outside), inside=largest_inside)
    smallest = _over_all(
        joint, exact.smallest_of_equality(float(pvalues_equal[others].min(initial=1.0)))
    )
    return GapDecision(
        evidence=evidence,
        bounds=bounds,
        pvalue=smallest,
        statistic=statistic,
        low=lower_limits,
        high=upper_limits,
        exact=exact,
        procedure=procedure,
    )


def _lower_limit_of_largest(
    limits: tuple[Floats, Floats],
    exact: ExactTerms,
    others: NDArray[np.bool_],
    *,
    may_be_equal: NDArray[np.bool_],
    margin: float,
) -> float:
    """Lower limit of the largest of several sizes.

    The largest distance from 0 of the near ends of all differences.

    `limits`: of every difference by the score; `others`: those that no exact tests judge;
    `may_be_equal`: whether its test of equality keeps 0, so that its limit does not exceed the margin.
    """
    near_ends = np.maximum(limits[0], -limits[1])
    near_ends = np.minimum(near_ends, np.where(may_be_equal, margin, 1.0))
    of_others = float(near_ends[others].max(initial=0.0))
    return exact.lower_limit_of_largest(_at(limits, exact.places), of_others)


def _upper_limit_of_largest(
    limits: tuple[Floats, Floats],
    exact: ExactTerms,
    others: NDArray[np.bool_],
    error: float,
) -> float:
    """Upper limit of the largest of several sizes: the largest distance from 0 of any end.

    As `_lower_limit_of_largest`; `error`: of each limit.
    """
    far_ends = np.maximum(np.abs(limits[0]), np.abs(limits[1]))
    of_others = float(far_ends[others].max(initial=0.0))
    return exact.upper_limit_of_largest(_at(limits, exact.places), of_others, error)


def _at(limits: tuple[Floats, Floats], places: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Limits of some differences."""
    low, high = limits
    return low[places], high[places]


def _over_all(joint_law: MaxZ, pvalue: float) -> float:
    """The smallest of several p-values over all of them, by the law of the largest |Z|."""
    z = -normal_quantile(min(pvalue, 1.0) / 2, joint_law.degrees_of_freedom)
    return max(joint_law.pvalue(z), pvalue)


def _student_probabilities(z: Floats, degrees_of_freedom: Floats) -> Floats:
    """P(Z ≤ z) of Student's t at each difference's degrees of freedom, of the normal where these
    are infinite.
    """
    normal = np.isinf(degrees_of_freedom)
    if normal.all():
        return np.asarray(ndtr(z))
    return np.asarray(
        np.where(normal, ndtr(z), stdtr(np.where(normal, 1.0, degrees_of_freedom), z))
    )


def _student_quantiles(probability: float, degrees_of_freedom: Floats) -> Floats:
    """Quantile of the law of each difference, shape (J,)."""
    distinct, positions = np.unique(degrees_of_freedom, return_inverse=True)
    quantiles = [normal_quantile(probability, degrees) for degrees in distinct.tolist()]
    return np.array(quantiles)[positions]


def _both_tails(z: Floats, width: Floats, degrees_of_freedom: Floats) -> Floats:
    """Φ(−z) + Φ(−z − width), at most 1: both directions count, as in `z_evidence`."""
    return np.minimum(
        _student_probabilities(-z, degrees_of_freedom)
        + _student_probabilities(-z - width, degrees_of_freedom),
        1.0,
    )


def _one_sided_critical(error: float, width: Floats, degrees_of_freedom: Floats) -> Floats:
    """Critical values c with Φ(−c) + Φ(−c − width) = error, shape (J,)."""
    critical = _student_quantiles(1 - error, degrees_of_freedom)
    narrow = np.flatnonzero(_both_tails(critical, width, degrees_of_freedom) > error + 1e-12)
    if not narrow.size:
        return critical
    narrow_width = width[narrow]
    narrow_degrees = degrees_of_freedom[narrow]
    smallest_value = critical[narrow]
    largest_value = _student_quantiles(1 - error / 2, narrow_degrees)
    for _ in range(48):
        middle = (smallest_value + largest_value) / 2
        beyond = _both_tails(middle, narrow_width, narrow_degrees) > error
        smallest_value = np.where(beyond, middle, smallest_value)
        largest_value = np.where(beyond, largest_value, middle)
    critical[narrow] = largest_value
    return critical


def covariance_of_rates(
    counts: CellCounts, estimates: Sequence[RateEstimates], *, smoothed: bool = False
) -> Floats:
    """Covariance of all rates of all groups, shape (R·G, R·G), rate by rate.

    `smoothed`, of unweighted tables: with half a row in every cell, so that no variance vanishes
    where one is empty.
    """
    if smoothed and not counts.weighted:
        counts = with_added_rows(counts, 0.5)
    rates_of_parts = []
    for rate_estimates in estimates:
        rates_of_parts.append(
            [proportion.rate_of for proportion in rate_estimates.parts or (rate_estimates,)]
        )
    all_rates = [each_rate for own_rates in rates_of_parts for each_rate in own_rates]
    covariance = joint_covariance(counts, all_rates)
    if len(all_rates) == len(estimates):
        return covariance
    averaging_matrix = scipy.linalg.block_diag(
        *(np.full((1, len(own_rates)), 1 / len(own_rates)) for own_rates in rates_of_parts)
    )
    return linear_covariance(np.kron(averaging_matrix, np.eye(len(counts.groups))), covariance)


@dataclass(frozen=True, eq=False)
class _SimultaneousBand:
    """All differences under a maximum, and their limits at any critical value.

    `terms`, shape (J, 3): rate, group, reference; `places`, shape (J, 2): of both among all rates
    of all groups; `difference`, `std_error`, `degrees_of_freedom`, shape (J,); `tables`, shape
    (parts, J, 4): (k, n) of both for each proportion that the rate is the mean of; `parts` of each
    term; `scale`, shape (2, parts, J): of the statistics, as in `Score`; `few`, shape (J,): whether
    rows are too few for limits; `small`, shape (J,): whether exact tests are switched on;
    `corrected`, shape (J,): whether limits by the score have the continuity correction; `by_mee`:
    whether the score is without the factor N/(N − 1), and no test exact.
    """

    terms: NDArray[np.intp]
    places: NDArray[np.intp]
    difference: Floats
    std_error: Floats
    tables: Floats
    parts: NDArray[np.intp]
    degrees_of_freedom: Floats
    scale: Floats
    few: NDArray[np.bool_]
    small: NDArray[np.bool_]
    corrected: NDArray[np.bool_]
    weighted: bool
    by_mee: bool = False

    @classmethod
    def of(
        cls, counts: CellCounts, estimates: Sequence[RateEstimates], *, by_mee: bool = False
    ) -> _SimultaneousBand:
        """Every difference that is known."""
        n_groups = len(counts.groups)
        i, j = np.triu_indices(n_groups, 1)
        rate_indices = np.repeat(np.arange(len(estimates)), i.size)
        group_terms = np.column_stack(
            [rate_indices, np.tile(i, len(estimates)), np.tile(j, len(estimates))]
        )
        differences = np.concatenate(
            [rate_index.rate[i] - rate_index.rate[j] for rate_index in estimates]
        )
        variances = covariance_of_rates(counts, estimates)
        first_place, second_place = places = n_groups * rate_indices + group_terms[:, 1:].T
        own_variances = np.diag(variances)
        variance = (
            own_variances[first_place]
            + own_variances[second_place]
            - 2 * variances[first_place, second_place]
        )
        n_parts = np.array([max(len(rate_index.parts), 1) for rate_index in estimates])
        tables = np.ones((n_parts.max(), len(group_terms), 4))
        independent_variance = np.zeros(len(group_terms))
        statistic_scale = np.ones((2, n_parts.max(), len(group_terms)))
        for rate_index, estimate in enumerate(estimates):
            for part_index, proportion in enumerate(estimate.parts or (estimate,)):
                successes, cases = proportion.effective
                tables[part_index, rate_indices == rate_index] = np.column_stack(
                    [successes[i], cases[i], successes[j], cases[j]]
                )
                independent_variance[rate_indices == rate_index] += (
                    proportion.variance[i] + proportion.variance[j]
                ) / n_parts[rate_index] ** 2
        too_few = np.zeros(len(group_terms), dtype=bool)
        is_known = np.isfinite(differences)
        # of a pair: weights that are equal within one group count beside unequal ones in the other
        if counts.weighted:
            too_few = np.array(
                [
                    bool(too_few_units(estimates[rate_index], group_a, group_b))
                    for rate_index, group_a, group_b in group_terms.tolist()
                ]
            )
        if counts.clustered:
            usable = (variance > 0) & (independent_variance > 0)
            statistic_scale[:, :, usable] *= np.sqrt(
                independent_variance[usable] / variance[usable]
            )
        degrees = np.full(len(group_terms), math.inf)
        if counts.weighted:
            degrees = np.array(
                [
                    estimates[rate_index].contrast_degrees(group_a, group_b, contrast="difference")
                    for rate_index, group_a, group_b in group_terms.tolist()
                ]
            )
            degrees[too_few] = counts.degrees_of_freedom  # nothing is read off them
        return cls(
            terms=group_terms[is_known],
            places=places.T[is_known],
            difference=differences[is_known],
            std_error=np.sqrt(np.maximum(variance[is_known], 0.0)),
            tables=tables[:, is_known],
            parts=n_parts[rate_indices[is_known]],
            degrees_of_freedom=degrees[is_known],
            scale=statistic_scale[:, :, is_known],
            few=too_few[is_known],
            small=np.zeros(int(is_known.sum()), dtype=bool),
            corrected=np.zeros(int(is_known.sum()), dtype=bool),
            weighted=counts.weighted,
            by_mee=by_mee,
        )

    def with_exact_terms(self, error: float) -> _SimultaneousBand:
        """The same band, with the differences for which exact tests are switched on at this
        error.
        """
        if self.weighted:
            return self
        small_terms = np.zeros(self.difference.size, dtype=bool)
        corrected_terms = np.zeros(self.difference.size, dtype=bool)
        for part_index, tables in enumerate(self.tables):
            k, n, k_reference, n_reference = tables.T
            expected = smallest_expected(k, n, k_reference, n_reference)
            asked = (self.parts > part_index) & ~self.few
            needed = needed_cases(n.astype(np.int64), n_reference.astype(np.int64), error)
            if not self.by_mee:
                small_terms |= asked & (expected < needed)
            below = np.where(self.parts > 2, CORRECTED_IN_MEANS, CORRECTED_BELOW)
            corrected_terms |= asked & (expected < below)
        return replace(self, small=small_terms, corrected=corrected_terms)

    @property
    def exact_terms(self) -> list[int]:
        """Positions of single proportions whose tests are exact."""
        return np.flatnonzero(self.small & (self.parts == 1) & ~self.few).tolist()

    def limits_at(
        self, critical: Floats, which: NDArray[np.intp] | slice = slice(None)
    ) -> tuple[Floats, Floats]:
        """Ends at a critical value of each difference, within [−1, 1].

        Means of proportions by MOVER.

        Limits by the score are corrected for continuity where few cases are expected.
        """
        difference = self.difference[which]
        statistic_scale = self.scale[:, :, which]
        is_corrected = self.corrected[which]
        squares_below = np.zeros(difference.size)
        squares_above = np.zeros(difference.size)
        for part_index, tables in enumerate(self.tables[:, which]):
            terms_used = np.flatnonzero(self.parts[which] > part_index)
            k0, n0, k1, n1 = tables[terms_used].T
            scaled_critical = critical[terms_used] / np.maximum(
                statistic_scale[:, part_index, terms_used], 1e-3
            )
            lower_limits, upper_limits = difference_limits_of(
                tables[terms_used],
                scaled_critical,
                is_corrected[terms_used],
                factor=not self.by_mee,
            )
            part_difference = k0 / n0 - k1 / n1
            squares_below[terms_used] += (part_difference - lower_limits) ** 2
            squares_above[terms_used] += (upper_limits - part_difference) ** 2
        n_parts = self.parts[which]
        lower_limits = difference - np.sqrt(squares_below) / n_parts
        upper_limits = difference + np.sqrt(squares_above) / n_parts
        too_few = self.few[which]
        return np.where(too_few, -1.0, np.maximum(lower_limits, -1.0)), np.where(
            too_few, 1.0, np.minimum(upper_limits, 1.0)
        )

    def farthest_limits(
        self,
        critical: Floats,
        judged_exactly: NDArray[np.intp],
        *,
        near: bool,
    ) -> tuple[Floats, Floats]:
        """`limits_at` of the differences whose near, or far, ends may lie farthest from 0.

        A limit lies beyond x exactly where the statistic of x is within the critical value. So once
        x is known as the farthest of the most likely ones, two statistics of each difference leave
        few whose limits have to be searched for; the others have limits that are no farther, and
        get 0. Limits of differences that exact tests judge are none of the farthest, but are found.
        """
        if self.difference.size <= _SEARCHED_TOGETHER or self.weighted or (self.parts > 1).any():
            return self.limits_at(critical)
        sizes = np.abs(self.difference)
        if near:
            likely = sizes - critical * self.std_error
        else:
            likely = sizes + critical * self.std_error
        likely[judged_exactly] = -np.inf
        likely[self.few] = -np.inf if near else 1.0
        first = np.argpartition(-likely, _SEARCHED_TOGETHER)[:_SEARCHED_TOGETHER]
        first = first[np.isfinite(likely[first])]
        if not first.size:
            return self.limits_at(critical)
        lower_limits, upper_limits = self.limits_at(critical[first], first)
        if near:
            farthest = float(np.maximum(lower_limits, -upper_limits).max())
            beyond = (self.statistics(farthest) > critical) | (
                self.statistics(-farthest) < -critical
            )
            beyond &= farthest > 0
        else:
            farthest = float(np.maximum(-lower_limits, upper_limits).max())
            beyond = (self.statistics(farthest) > -critical) | (
                self.statistics(-farthest) < critical
            )
        # limits with a continuity correction lie farther out than the statistics say
        beyond |= self.corrected
        beyond[first] = True
        beyond[judged_exactly] = True
        searched = np.flatnonzero(beyond)
        low = np.zeros(sizes.size)
        high = np.zeros(sizes.size)
        low[searched], high[searched] = self.limits_at(critical[searched], searched)
        return low, high

    def statistics(self, null: float) -> Floats:
        """Score statistics of H0: difference = null, 0 where rows are too few.

        Of means where their limits end.
        """
        k0, n0, k1, n1 = self.tables[0].T
        unscaled = difference_score_statistic(k0, n0, k1, n1, null, correction=not self.by_mee)
        statistics = unscaled * np.where(unscaled < 0, self.scale[1, 0], self.scale[0, 0])
        mean_terms = np.flatnonzero((self.parts > 1) & ~self.few)
        if mean_terms.size:
            statistics = statistics.copy()
            statistics[mean_terms] = self._statistics_of_means(mean_terms, null)
        return np.where(self.few, 0.0, statistics)

    def _statistics_of_means(self, mean_terms: NDArray[np.intp], null: float) -> Floats:
        """Critical values at which the limits of means end at `null`, at most 30 in size,
        signed.
        """
        from scipy.optimize.elementwise import find_root

        # of means of more than two the tests are corrected as the limits are
        uncorrected = replace(self, corrected=self.corrected & (self.parts > 2))
        direction = np.sign(self.difference[mean_terms] - null)

        def excess(critical: Floats, term_numbers: Floats) -> Floats:
            term_indices = term_numbers.astype(np.intp)
            lower_limits, upper_limits = uncorrected.limits_at(critical, term_indices)
            near_ends = np.where(self.difference[term_indices] > null, lower_limits, -upper_limits)
            far_ends = np.where(self.difference[term_indices] > null, null, -null)
            return np.asarray(near_ends - far_ends)

        zeros = np.zeros(mean_terms.size)
        largest_values = np.full(mean_terms.size, _LARGEST_CRITICAL)
        is_inner = excess(largest_values, mean_terms.astype(np.float64)) < 0
        critical_values = np.full(mean_terms.size, _LARGEST_CRITICAL)
        if is_inner.any():
            term_numbers = mean_terms[is_inner].astype(np.float64)
            root = find_root(
                excess, (zeros[is_inner], largest_values[is_inner]), args=(term_numbers,)
            )
            critical_values[is_inner] = np.where(root.success, root.x, 0.0)
        return np.asarray(direction * critical_values)

    def exact_pair(
        self,
        term: int,
        estimates: Sequence[RateEstimates],
        error: float,
    ) -> ExactPair | None:
        """The exact tests of one difference."""
        rate_index, group_index, reference_index = self.terms[term].tolist()
        return exact_pair(estimates[rate_index], group_index, reference_index, error)


def _range_of_largest(decision: GapDecision, complete: bool) -> tuple[float, float]:
    """Range of max_j |δ_j| when every δ_j lies in its interval.

    Open to 1 where a group is not known.
    """
    exact = decision.exact
    others = np.ones(decision.low.size, dtype=bool)
    others[exact.places] = False
    low = decision.low[others]
    high = decision.high[others]
    nearest, farthest = exact.range_of_largest(
        _at((decision.low, decision.high), exact.places),
        float(np.maximum(low, -high).max(initial=0.0)),
        float(np.maximum(np.abs(low), np.abs(high)).max(initial=0.0)),
    )
    return nearest, min(farthest, 1.0) if complete else 1.0


def _what_is_unknown(estimates: Sequence[RateEstimates]) -> list[str]:
    proportions = []
    for rate_estimates in estimates:
        for proportion in rate_estimates.parts or (rate_estimates,):
            proportions.append(proportion)
    notes = []
    for proportion in proportions:
        for group, cases in zip(proportion.groups, proportion.cases, strict=True):
            if not cases > 0:
                notes.append(
                    f"{group}: no {proportion.rate_of.case_words}, so no {proportion.rate_of.title}."
                )
    for rate_estimates in estimates:
        if rate_estimates.units is None:
            continue
        present = []
        for group_index in range(len(rate_estimates.groups)):
            if rate_estimates.cases[group_index] > 0:
                present.append(group_index)
        too_few_notes = [
            note
            for group_pair in combinations(present, 2)
            if (note := too_few_units(rate_estimates, *group_pair))
        ]
        notes += [
            f"{note[:-1]} ({rate_estimates.rate_of.title})." if len(estimates) > 1 else note
            for note in too_few_notes
        ]
    return list(dict.fromkeys(notes))
