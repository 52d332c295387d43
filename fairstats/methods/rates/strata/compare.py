"""Comparisons within the strata of a confounder, beside the crude ones: the stratified score.

The estimate is that of Mantel and Haenszel, where the stratified score is 0; interval, tests and
verdict are by that score (`numerics/rates/strata.py`), its decisions by the rule of every other
comparison.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from fairstats.ground.checks import Floats
from fairstats.ground.errors import InputError
from fairstats.ground.multiplicity import normal_cdf, normal_quantile, two_sided_pvalue
from fairstats.ground.progress import each_of
from fairstats.ground.registry import RATES, Metric, Rate
from fairstats.ground.results import HypothesisTest, Interval
from fairstats.ground.strata import StratumCounts
from fairstats.ground.verdict import (
    Evidence,
    Procedure,
    beside_equality,
    bound_level,
    reach_fair_range,
    with_the_other_direction,
    z_evidence,
)
from fairstats.methods.rates.decision import equivalence_test
from fairstats.methods.rates.estimates import without_ratio
from fairstats.methods.rates.limits import Mover
from fairstats.methods.rates.pair import Refused
from fairstats.methods.rates.result import Inference, RateComparison, as_family
from fairstats.methods.rates.strata.design import SCORE, PairTables, pair_counts, pair_tables
from fairstats.methods.rates.strata.functions import (
    CellQuantity,
    decide_by_delta,
    estimates_within,
    groups_without_value,
    name_of_delta,
)
from fairstats.methods.rates.strata.result import (
    BRESLOW_DAY,
    COCHRAN_MANTEL_HAENSZEL,
    CONDITIONAL,
    ENDING,
    HOMOGENEITY,
    StratifiedComparison,
    StratifiedDifferenceResult,
    StratifiedOddsRatioResult,
    StratifiedRatioResult,
    disagreement,
    quantity_of_row,
    rates_of,
)
from fairstats.numerics.rates import conditional, homogeneity, pooled, strata
from fairstats.numerics.rates.score import EQUALITY, Contrast
from fairstats.numerics.rates.strata import Strata

_WHOLE_RANGE: dict[str, tuple[float, float]] = {
    "ratio": (0.0, math.inf),
    "difference": (-1.0, 1.0),
    "odds_ratio": (0.0, math.inf),
}
_RESULT_CLASSES = {
    "ratio": StratifiedRatioResult,
    "difference": StratifiedDifferenceResult,
    "odds_ratio": StratifiedOddsRatioResult,
}


def can_be_adjusted(metric: Metric) -> bool:
    """Whether a metric has an adjusted version.

    Ratios, differences and odds ratios of rates, differences and ratios of their means and of
    functions of the cells.
    """
    interval_kinds = {RATES[rate_name].interval for rate_name in metric.rates if rate_name in RATES}
    if (
        not metric.rates
        or len(interval_kinds) != 1
        or not all(rate_name in RATES for rate_name in metric.rates)
    ):
        return False
    if interval_kinds == {"score"}:
        return metric.contrast in _WHOLE_RANGE
    return metric.contrast in ("difference", "ratio")


def check_adjustable(metric: Metric) -> None:
    """Raise where a metric has no adjusted version."""
    if can_be_adjusted(metric):
        return
    if metric.contrast == "gap":
        received = "strata with the largest gap"
        suggestion = "the signed differences, with comparisons='all' for all pairs"
    else:
        received = f"strata with {metric.name}"
        suggestion = "a rate such as 'true_positive_rate', or leave out strata"
    allowed = (
        "ratios, differences and odds ratios of rates (successes among cases), or ratios and"
        " differences of their means and of functions of the cells"
    )
    raise InputError("strata", got=received, allowed=allowed, cure=suggestion)


def adjusted(
    result: Any, metric: Metric, counts: StratumCounts, quantity: CellQuantity | None = None
) -> Any:
    """The result with its comparisons within strata in `stratified`.

    The same pairs, as one family of their own; `quantity`: of a function of the user's.
    """
    if quantity is None:
        check_adjustable(metric)
    compared = []
    for comparison in result.comparisons:
        if quantity is not None:
            compared.append(Compared(counts, (), quantity))
        else:
            compared.append(compared_row(comparison.metric, counts, metric.contrast))
    settings, judged = compare_within(result, metric, compared)
    result_fields: dict[str, Any] = {
        "metric": metric.name + ENDING,
        "comparisons": judged,
        "settings": settings,
        "counts": result.counts,
        "words": f"{metric.label} within strata",
        "stratum_counts": counts,
    }
    within: Any = _RESULT_CLASSES[metric.contrast](**result_fields)
    return replace(result, stratified=within)


@dataclass(frozen=True, eq=False)
class Compared:
    """What one comparison within strata is of.

    `counts`: the cells of every group; `rates`: one rate of these, or those that it is the mean of;
    `quantity`: in their place what is compared by the delta method.
    """

    counts: StratumCounts
    rates: tuple[Rate, ...]
    quantity: CellQuantity | None = None


def compared_row(metric: str, counts: StratumCounts, contrast: str) -> Compared:
    """What the row of a metric compares, of these cells of two labels."""
    quantity = quantity_of_row(metric, counts, contrast)
    if quantity is not None:
        return Compared(counts, (), quantity)
    return Compared(counts, rates_of(metric, counts))


def compare_within(
    result: Any, metric: Metric, of_comparisons: Sequence[Compared]
) -> tuple[Inference, tuple[StratifiedComparison, ...]]:
    """The comparisons of a result within strata, as one family, and their settings.

    `of_comparisons`: the cells and rates that each is of.
    """
    method = SCORE
    if of_comparisons[0].quantity is not None:
        method = name_of_delta(of_comparisons[0].counts, metric.contrast)
    settings = replace(result.settings, method=method)
    chosen_by_data = settings.reference_rule == "highest"
    together = together_of(result)
    levels = _JointLevels.of(settings, together)
    compared = []
    within_strata = list(zip(result.comparisons, of_comparisons, strict=True))
    for comparison, of_comparison in each_of(within_strata, "comparisons within strata"):
        compared.append(
            _compare_within_strata(comparison, metric.contrast, of_comparison, settings, levels)
        )
    judged = as_family(compared, settings, chosen_among=together if chosen_by_data else 0)
    first_counts = of_comparisons[0].counts
    return settings, _with_disagreements(result.comparisons, judged, metric.contrast, first_counts)


def together_of(result: Any) -> int:
    """Comparisons whose intervals hold at once (Bonferroni).

    All that the data could have chosen, or those shown.
    """
    if result.settings.reference_rule == "highest":
        n_groups = len(result.counts.groups)
        n_metrics = len({comparison.metric for comparison in result.comparisons})
        return int(max(n_metrics * n_groups * (n_groups - 1) // 2, 1))
    if result.settings.simultaneous:
        return max(len(result.comparisons), 1)
    return 1


def _with_disagreements(
    crude_comparisons: Sequence[RateComparison],
    judged: Sequence[StratifiedComparison],
    scale: str,
    counts: StratumCounts,
) -> tuple[StratifiedComparison, ...]:
    """Comparisons within strata, with a note where the crude verdict is another."""
    strata_words = f"{len(counts.strata)} strata" + (
        f" of {counts.attribute}" if counts.attribute else ""
    )
    crude_and_judged = zip(crude_comparisons, judged, strict=True)
    result = []
    for crude_comparison, comparison in crude_and_judged:
        result.append(
            replace(
                comparison,
                disagreement=disagreement(crude_comparison, comparison, scale, strata_words),
            )
        )
    return tuple(result)


@dataclass(frozen=True)
class _JointLevels:
    """Levels of intervals that hold together (Bonferroni): two-sided ones, and one-sided ones."""

    two_sided: float
    one_sided: float

    @classmethod
    def of(cls, settings: Inference, together: int) -> _JointLevels:
        single_level = 1 - (1 - settings.confidence_level) / together
        return cls(two_sided=single_level, one_sided=single_level)


@dataclass(frozen=True)
class _StratifiedScore:
    """The stratified score of one rate, as a method of limits.

    `scale`: what the statistic is multiplied by at a null value, where groups share clusters.
    """

    tables: Strata
    contrast: Contrast
    guarded: bool
    scale: Callable[[float], float] | None = None

    def statistic(self, null: float) -> float:
        """Stratified score z(θ)."""
        if self.guarded:
            compute = strata.guarded_statistic
        else:
            compute = strata.score_statistic
        z = float(compute(self.tables, null, self.contrast))
        return z if self.scale is None else self.scale(null) * z

    def limit(self, critical: float, side: int) -> float:
        """Lower (side −1) or upper end of {θ : |z(θ)| ≤ critical}."""
        return float(self.limits(critical, side))

    def limits(
        self,
        critical: float,
        side: int,
        between: tuple[Floats | None, Floats | None] = (None, None),
    ) -> Floats:
        """Of every table, shape (…); `between`: as in `score_limit`."""
        return strata.score_limit(
            self.tables,
            critical,
            self.contrast,
            side=side,
            guarded=self.guarded,
            scale_of_statistic=None if self.scale is None else self._scales,
            between=between,
        )

    def _scales(self, nulls: Floats) -> Floats:
        """The scale at many null values."""
        return np.array([self._scale_at(null) for null in nulls.ravel()]).reshape(nulls.shape)

    def _scale_at(self, null: float) -> float:
        return 1.0 if self.scale is None else self.scale(float(null))


#: Critical values whose limits may bracket another one's lie at least so far from it.
_APART = 1e-6


@dataclass(eq=False)
class _MoverOfStrata(Mover):
    """MOVER of stratified scores of differences, all of whose limits are searched for together.

    `together`: the score of all parts, shape (M, H); `known`: side → critical value → limits of the
    parts, between which those at another critical value lie.
    """

    together: _StratifiedScore
    known: dict[int, dict[float, Floats]] = field(default_factory=lambda: {-1: {}, 1: {}})

    def _distance(self, critical: float, side: int) -> float:
        """Of a limit from the estimate: the root of the sum of the parts' squared ones, over M."""
        differences = np.array([difference for difference, _ in self.parts])
        distances = self._limits_of_parts(critical, side) - differences
        return math.hypot(*distances.tolist()) / len(self.parts)

    def _limits_of_parts(self, critical: float, side: int) -> Floats:
        """Of every part, shape (M,)."""
        known = self.known[side]
        if critical not in known:
            smaller = [other for other in known if other < critical - _APART]
            larger = [other for other in known if other > critical + _APART]
            nearer = known[max(smaller)] if smaller else None
            farther = known[min(larger)] if larger else None
            known[critical] = self.together.limits(critical, side, (nearer, farther))
        return known[critical]


@dataclass(frozen=True, eq=False)
class _MeanOfScores:
    """The stratified score of a difference of means of rates: their scores, joined by MOVER.

    `known`: statistics by their null values; several tests ask for one.
    """

    scores: tuple[_StratifiedScore, ...]
    known: dict[float, float] = field(default_factory=dict)

    @functools.cached_property
    def mover(self) -> Mover:
        """MOVER of the parts' differences."""
        parts_with_scores: Any = tuple(
            (
                float(strata.mantel_haenszel(stratified_score.tables, stratified_score.contrast)),
                stratified_score,
            )
            for stratified_score in self.scores
        )
        tables = strata.stacked([stratified_score.tables for stratified_score in self.scores])
        return _MoverOfStrata(
            math.inf, parts_with_scores, together=replace(self.scores[0], tables=tables)
        )

    def statistic(self, null: float) -> float:
        """Critical value at which the interval ends at `null`."""
        if null not in self.known:
            self.known[null] = self.mover.statistic(null)
        return self.known[null]

    def limit(self, critical: float, side: int) -> float:
        """Lower (side −1) or upper end."""
        lower_limit, upper_limit = self.mover.limits(critical)
        return lower_limit if side < 0 else upper_limit


def compare_within_strata(
    crude_comparison: RateComparison,
    contrast: str,
    counts: StratumCounts,
    settings: Inference,
    together: int,
) -> tuple[StratifiedComparison, Evidence]:
    """One adjusted comparison, with so many whose intervals hold at once, and its evidence."""
    levels = _JointLevels.of(settings, together)
    compared = Compared(counts, rates_of(crude_comparison.metric, counts))
    return _compare_within_strata(crude_comparison, contrast, compared, settings, levels)


def _compare_within_strata(
    crude_comparison: RateComparison,
    contrast: str,
    compared: Compared,
    settings: Inference,
    levels: _JointLevels,
) -> tuple[StratifiedComparison, Evidence]:
    """One adjusted comparison, and the evidence of its verdict."""
    if compared.quantity is not None:
        return _compare_by_delta(
            crude_comparison, contrast, compared.counts, compared.quantity, settings, levels
        )
    contrast_kind = cast("Contrast", contrast)
    pair = pair_tables(
        compared.counts,
        compared.rates,
        contrast_kind,
        crude_comparison.group,
        crude_comparison.reference,
        settings.comparisons,
    )
    open_interval = Interval(*_WHOLE_RANGE[contrast], settings.confidence_level, pair.method)
    first_tables = pair.tables[0]
    shared = [part_tables.shared for part_tables in pair.tables]
    pvalue_homogeneity = math.nan
    if len(pair.tables) == 1 and not pair.spread:
        pvalue_homogeneity = float(homogeneity.homogeneity_test(first_tables, contrast_kind).pvalue)
    comparison = StratifiedComparison(
        metric=crude_comparison.metric + ENDING,
        group=crude_comparison.group,
        reference=crude_comparison.reference,
        confidence_interval=open_interval,
        bounds=open_interval,
        verdict="insufficient evidence",
        n=pair.cases[0],
        n_reference=pair.cases[1],
        method=pair.method,
        crude=crude_comparison.estimate,
        crude_verdict=crude_comparison.verdict,
        n_strata=int(np.min([own_shared.sum() for own_shared in shared])),
        n_informative=int(first_tables.informative.sum()),
        contrast=contrast,
        pvalue_homogeneity=pvalue_homogeneity,
    )
    group_names = f"{crude_comparison.group} and {crude_comparison.reference}"
    if any(not own_shared.any() for own_shared in shared):
        return replace(comparison, note=f"{group_names}: no stratum has cases of both."), Evidence()
    adjusted_rates = np.mean(
        [strata.adjusted_rates(part_tables) for part_tables in pair.tables], axis=0
    )
    comparison = replace(
        comparison,
        estimate=pair.estimate(),
        std_error=pair.std_error(),
        rate=float(adjusted_rates[0]),
        rate_reference=float(adjusted_rates[1]),
    )
    if math.isnan(comparison.estimate):
        note = f"{group_names}: no success in any stratum that both share; 0/0 can be any ratio."
        return replace(comparison, note=note), Evidence()
    if lacking := pair.lacking(crude_comparison.group, crude_comparison.reference):
        return replace(comparison, note=lacking), Evidence()
    return _decide_within_strata(comparison, pair, settings, levels)


def _compare_by_delta(
    crude_comparison: RateComparison,
    contrast: str,
    counts: StratumCounts,
    quantity: CellQuantity,
    settings: Inference,
    levels: _JointLevels,
) -> tuple[StratifiedComparison, Evidence]:
    """One adjusted comparison of a function or a mean by the delta method, and its evidence."""
    contrast_kind = cast("Contrast", contrast)
    of_pair = pair_counts(
        counts, crude_comparison.group, crude_comparison.reference, settings.comparisons
    )
    estimates = estimates_within(of_pair, quantity, of_all=settings.comparisons == "overall")
    group_names = f"{crude_comparison.group} and {crude_comparison.reference}"
    no_interval = Interval(math.nan, math.nan, settings.confidence_level, settings.method)
    # rows without weight are none
    totals = of_pair.rows if of_pair.design is None else of_pair.design.totals
    n_shared = int((totals.sum(axis=2) > 0).all(axis=1).sum())
    comparison = StratifiedComparison(
        metric=crude_comparison.metric + ENDING,
        group=crude_comparison.group,
        reference=crude_comparison.reference,
        confidence_interval=no_interval,
        bounds=no_interval,
        verdict="insufficient evidence",
        n=0,
        n_reference=0,
        method=settings.method,
        crude=crude_comparison.estimate,
        crude_verdict=crude_comparison.verdict,
        n_strata=n_shared,
        n_informative=n_shared,
        contrast=contrast,
    )
    if estimates is None:
        note = f"{group_names}: no stratum has cases of both."
        return replace(comparison, n_strata=0, n_informative=0, note=note), Evidence()
    estimate, std_error = estimates.contrast(0, 1, contrast=contrast_kind)
    comparison = replace(
        comparison,
        n=int(estimates.rows[0]),
        n_reference=int(estimates.rows[1]),
        estimate=estimate,
        std_error=std_error,
        rate=float(estimates.rate[0]),
        rate_reference=float(estimates.rate[1]),
    )
    undefined = without_ratio(estimates, (0, 1), contrast_kind)
    if undefined and not groups_without_value(estimates):
        unbounded = Interval(0.0, math.inf, settings.confidence_level, settings.method)
        note = f"{group_names}: {undefined}"
        return replace(
            comparison, confidence_interval=unbounded, bounds=unbounded, note=note
        ), Evidence()
    joint_levels = (levels.two_sided, levels.one_sided)
    decision = decide_by_delta(estimates, contrast_kind, settings, joint_levels)
    if isinstance(decision, Refused):
        return replace(comparison, method=decision.name, note=decision.note), Evidence()
    return (
        replace(
            comparison,
            method=decision.interval.method,
            **decision.fields_of_row(),
        ),
        decision.evidence,
    )


def _parts_of_few_cases(pair: PairTables) -> list[Strata]:
    """Tables of the rates whose verdict would rest on too few cases; of odds ratios none.

    What counts are the rows, of weighted ones, too, for which odds ratios are no exception: with few
    of them limits are wide.
    """
    if pair.contrast == "odds_ratio" and not pair.units:
        return []
    found = []
    for part_counts in pair.counts:
        if strata.fewest_cases(part_counts) < pooled.FEWEST_CASES:
            found.append(part_counts)
    return found


def _decide_within_strata(
    comparison: StratifiedComparison,
    pair: PairTables,
    settings: Inference,
    levels: _JointLevels,
) -> tuple[StratifiedComparison, Evidence]:
    """Interval, tests, limits and evidence of a comparison that has an estimate."""
    stratum_tables = pair.tables
    contrast = pair.contrast
    method = pair.method
    df = pair.degrees
    equality = EQUALITY[contrast]
    alpha = 1 - settings.confidence_level
    plain_score = _score_of(pair, guarded=False)
    guarded_score = _score_of(pair, guarded=True)
    exact_pvalue = math.nan
    if not pair.units:
        exact_pvalue = _exact_equality(stratum_tables)
    z_equal = plain_score.statistic(equality)
    p_equal = two_sided_pvalue(z_equal, df)
    if not math.isnan(exact_pvalue):
        p_equal = max(p_equal, exact_pvalue)
    # the exact conditional test of an odds ratio, where cells are small
    small_odds = None
    if contrast == "odds_ratio" and not math.isnan(exact_pvalue):
        small_odds = _ExactOdds(stratum_tables[0])
    parts_of_few = _parts_of_few_cases(pair)

    fair_low, fair_high = settings._fair_range(contrast)
    judged_by_equality = fair_low == fair_high
    if judged_by_equality:
        judging_score = plain_score
    else:
        judging_score = guarded_score
    z_low = judging_score.statistic(fair_low)
    z_high = judging_score.statistic(fair_high)
    fair_range = (fair_low, fair_high)
    evidence = z_evidence(z_low, z_high, df)
    if small_odds is not None:
        evidence = small_odds.less_favourable(evidence, fair_range, z_low - z_high)
    evidence = beside_equality(evidence, p_equal, fair_range)
    level_of_bounds = bound_level(z_low - z_high, settings.confidence_level, df)
    critical_value = normal_quantile(level_of_bounds, df)
    ends_of_bounds = (
        judging_score.limit(critical_value, -1),
        judging_score.limit(critical_value, 1),
    )
    if small_odds is not None:
        ends_of_bounds = small_odds.widened(ends_of_bounds, 1 - level_of_bounds)
    bounds = Interval(
        *reach_fair_range(ends_of_bounds, evidence, fair_range, alpha),
        level_of_bounds,
        method,
    )

    null_values = settings._null_values(contrast)
    z_less = judging_score.statistic(null_values["less"])
    z_greater = judging_score.statistic(null_values["greater"])
    p_less = normal_cdf(z_less, df)
    p_greater = normal_cdf(-z_greater, df)
    if small_odds is not None:
        p_less = max(p_less, small_odds.pvalue(null_values["less"], "less"))
        p_greater = max(p_greater, small_odds.pvalue(null_values["greater"], "greater"))
    note = ""
    if parts_of_few and not judged_by_equality:
        evidence = Evidence()
        p_less = p_greater = math.nan
        fewest_cases = int(min(strata.fewest_cases(part_counts) for part_counts in parts_of_few))
        note = (
            f"{comparison.group} against {comparison.reference}: {fewest_cases} cases of the smaller group in the"
            f" strata that both share; below {pooled.FEWEST_CASES} only equality is tested within"
            " strata."
        )
    all_tests = [
        HypothesisTest(
            null=f"{contrast} >= {null_values['less']:.6g}",
            alternative="less",
            statistic=z_less,
            pvalue=p_less,
            method=method,
        ),
        HypothesisTest(
            null=f"{contrast} <= {null_values['greater']:.6g}",
            alternative="greater",
            statistic=z_greater,
            pvalue=p_greater,
            method=method,
        ),
        HypothesisTest(
            null=f"{contrast} = {equality:g}",
            alternative="two-sided",
            statistic=z_equal,
            pvalue=p_equal,
            method=method,
        ),
    ]
    if not parts_of_few:
        pvalues_of_ends = (normal_cdf(-z_low, df), normal_cdf(z_high, df))
        if small_odds is not None:
            pvalues_of_ends = (
                max(pvalues_of_ends[0], small_odds.pvalue(fair_low, "greater")),
                max(pvalues_of_ends[1], small_odds.pvalue(fair_high, "less")),
            )
        all_tests += equivalence_test(
            contrast,
            (fair_low, fair_high),
            statistics=(z_low, z_high),
            pvalues=pvalues_of_ends,
            method=f"TOST ({method})",
        )
    if len(stratum_tables) == 1 and not pair.units:
        all_tests += _tests_of_strata(stratum_tables[0], contrast)
    elif len(stratum_tables) == 1 and not pair.spread:
        all_tests += _tests_of_homogeneity(stratum_tables[0], contrast)

    quoted = next(
        hypothesis_test
        for hypothesis_test in all_tests
        if hypothesis_test.alternative == settings.alternative
    )
    interval = _interval_by_score(plain_score, guarded_score, settings, levels, pair)
    if small_odds is not None:
        error = (1 - levels.two_sided) / 2
        if settings.alternative != "two-sided":
            error = 1 - levels.one_sided
        interval = small_odds.widened(interval, error)
    has_exact_test = settings.alternative == "two-sided" and not math.isnan(exact_pvalue)
    if has_exact_test and p_equal > 1 - levels.two_sided:
        # the exact test does not reject equality at the level of the interval: nor does that
        interval = (min(interval[0], equality), max(interval[1], equality))
    return (
        replace(
            comparison,
            confidence_interval=Interval(*interval, settings.confidence_level, method),
            bounds=bounds,
            statistic=quoted.statistic,
            pvalue=quoted.pvalue,
            tests=tuple(all_tests),
            note=note,
            procedure=Procedure(method, "score", df=df),
        ),
        evidence,
    )


@dataclass(frozen=True)
class _ExactOdds:
    """The exact conditional law of one odds ratio over strata."""

    tables: Strata

    def pvalue(self, null: float, alternative: str) -> float:
        """Of H0: odds ratio ≥ null ("less") or ≤ null ("greater")."""
        test = conditional.conditional_test(self.tables, null)
        return float(test.less if alternative == "less" else test.greater)

    def less_favourable(
        self, by_score: Evidence, fair: tuple[float, float], width: float
    ) -> Evidence:
        """The larger of the score's p-values and the exact ones, both directions counted."""
        low, high = fair
        inside = max(self.pvalue(low, "greater"), self.pvalue(high, "less"))
        below = with_the_other_direction(self.pvalue(low, "less"), width)
        above = with_the_other_direction(self.pvalue(high, "greater"), width)
        return Evidence(
            below=max(by_score.below, below),
            above=max(by_score.above, above),
            inside=max(by_score.inside, with_the_other_direction(inside, width)),
        )

    def widened(self, by_score: tuple[float, float], error: float) -> tuple[float, float]:
        """The outer of the score's limits and the exact ones, each with this error."""
        low = float(conditional.conditional_limit(self.tables, error, side=-1))
        high = float(conditional.conditional_limit(self.tables, error, side=1))
        return min(by_score[0], low), max(by_score[1], high)


def _score_of(pair: PairTables, *, guarded: bool) -> _StratifiedScore | _MeanOfScores:
    scale = None
    if pair.units and pair.units[0].clustered:
        scale = pair.scale
    scores = []
    for part_tables in pair.tables:
        scores.append(
            _StratifiedScore(
                tables=part_tables, contrast=pair.contrast, guarded=guarded, scale=scale
            )
        )
    if len(scores) == 1:
        return scores[0]
    return _MeanOfScores(tuple(scores))


def _exact_equality(stratum_tables: Sequence[Strata]) -> float:
    """Twice the smaller tail of the exact conditional test, where cells are small.

    NaN elsewhere and for means.
    """
    first_tables = stratum_tables[0]
    small_cells = strata.least_expected(first_tables) < pooled.EXACT_BELOW
    if (
        len(stratum_tables) > 1
        or not small_cells
        or conditional.values_possible(first_tables) > pooled.MOST_VALUES
    ):
        return math.nan
    return float(conditional.conditional_test(first_tables).central)


def _interval_by_score(
    plain_score: _StratifiedScore | _MeanOfScores,
    guarded_score: _StratifiedScore | _MeanOfScores,
    settings: Inference,
    levels: _JointLevels,
    pair: PairTables,
) -> tuple[float, float]:
    """Two-sided by the plain score; of a one-sided alternative the limit that its test inverts."""
    smallest_value, largest_value = _WHOLE_RANGE[pair.contrast]
    if settings.alternative == "two-sided":
        critical_value = normal_quantile((1 + levels.two_sided) / 2, pair.degrees)
        return plain_score.limit(critical_value, -1), plain_score.limit(critical_value, 1)
    critical_value = normal_quantile(levels.one_sided, pair.degrees)
    if settings.alternative == "less":
        return smallest_value, guarded_score.limit(critical_value, 1)
    return guarded_score.limit(critical_value, -1), largest_value


def _tests_of_strata(tables: Strata, contrast: Contrast) -> list[HypothesisTest]:
    """Cochran–Mantel–Haenszel, the exact conditional test, and homogeneity of the contrast and of
    odds ratios.
    """
    z = float(strata.score_statistic(tables, EQUALITY[contrast], contrast))
    null_hypothesis = "odds ratio = 1 in all strata"
    test_name = COCHRAN_MANTEL_HAENSZEL
    all_tests = [
        HypothesisTest(
            null=null_hypothesis,
            alternative="any difference",
            statistic=z * z,
            pvalue=two_sided_pvalue(z),
            method=test_name,
        )
    ]
    if conditional.values_possible(tables) <= pooled.MOST_VALUES:
        exact_pvalue = float(conditional.conditional_test(tables).central)
        successes = float(tables.k1[tables.shared].sum())
        all_tests.append(
            HypothesisTest(
                null=null_hypothesis,
                alternative="any difference",
                statistic=successes,
                pvalue=exact_pvalue,
                method=CONDITIONAL,
                exact=True,
            )
        )
    return [*all_tests, *_tests_of_homogeneity(tables, contrast)]


def _tests_of_homogeneity(tables: Strata, contrast: Contrast) -> list[HypothesisTest]:
    """That the contrast, and the odds ratio, is one in all strata."""
    all_tests = []
    informative = int(tables.informative.sum())
    strata_words = f"{informative} informative strata"
    by_contrast = homogeneity.homogeneity_test(tables, contrast)
    by_odds = homogeneity.homogeneity_test(tables, "odds_ratio")
    of_contrast = [(contrast, HOMOGENEITY, by_contrast)]
    if contrast == "odds_ratio":
        of_contrast = []
    for compared_words, test_name, homogeneity_test in (
        *of_contrast,
        ("odds ratio", BRESLOW_DAY, by_odds),
    ):
        null_hypothesis = f"one {compared_words} in all of {strata_words}"
        statistic_and_pvalue = float(homogeneity_test.statistic), float(homogeneity_test.pvalue)
        all_tests.append(
            HypothesisTest(null_hypothesis, "heterogeneity", *statistic_and_pvalue, test_name)
        )
    return all_tests
