"""What the counts of one pair of rates show.

P-values and limits, by the method of the row or by exact tests.

Everything that one row says comes from here, and from one procedure: the verdict's evidence and its
one-sided limits, the p-value of equality and the two-sided interval. Where an exact test is
switched on (`exact_pair`) all of it is exact, with tables ordered by the score statistic.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from fairstats.ground.multiplicity import normal_cdf, two_sided_pvalue
from fairstats.ground.registry import Metric, rates_of_largest_family
from fairstats.ground.results import HypothesisTest, Interval
from fairstats.ground.verdict import (
    Evidence,
    Procedure,
    beside_equality,
    bound_level,
    reach_fair_range,
    sharpest_level,
    with_the_other_direction,
    z_evidence,
)
from fairstats.methods.rates.estimates import RateEstimates
from fairstats.methods.rates.pair import Chosen
from fairstats.methods.rates.result import Inference
from fairstats.numerics.rates.exact import (
    AT_ONCE,
    ExactEvidence,
    ExactRow,
    RowAsked,
    exact_evidence,
    exact_interval,
    exact_limits,
    exact_pvalue,
    exact_rows,
)
from fairstats.numerics.rates.score import Contrast, Table, score_statistic
from fairstats.numerics.rates.switch import needs_exact, smallest_expected

EXACT = "exact unconditional"
#: What rows say that are judged by exact tests.
EXACTLY = Procedure("exact unconditional, tables ordered by the score", "exact", exact=True)
_OPEN_ENDS: dict[Contrast, tuple[float, float]] = {
    "ratio": (0.0, math.inf),
    "difference": (-1.0, 1.0),
    "odds_ratio": (0.0, math.inf),
}
_EQUALITY_OF_CONTRAST: dict[Contrast, float] = {
    "ratio": 1.0,
    "difference": 0.0,
    "odds_ratio": 1.0,
}


class PairDecision(NamedTuple):
    """Everything that a row says of one pair.

    `bounds`: the one-sided limits that belong to `evidence`; `interval`: two-sided, or with one
    open end where the alternative is one-sided; `statistic`, `pvalue`: of the test that was asked
    for; `tests`: all of them, those that the row quotes first.
    """

    evidence: Evidence
    bounds: Interval
    interval: Interval
    statistic: float
    pvalue: float
    tests: tuple[HypothesisTest, ...]
    procedure: Procedure

    def fields_of_row(self) -> dict[str, Any]:
        """What a comparison takes over of it, by the comparison's fields."""
        return {
            "procedure": self.procedure,
            "bounds": self.bounds,
            "confidence_interval": self.interval,
            "tests": self.tests,
            "statistic": self.statistic,
            "pvalue": self.pvalue,
        }


def smallest_expected_cell(table: Table) -> float:
    """Fewest successes or failures that a group has on average at the pooled rate.

    Of the pooled rate, which is that of the larger group where one is large: never the observed
    cell, since many failures in it *are* the evidence.
    """
    k, n, k_reference, n_reference = table
    return float(smallest_expected(k, n, k_reference, n_reference))


def error_of_switch(
    metric: Metric, settings: Inference, n_comparisons: float, *, chosen_by_data: bool = False
) -> float:
    """The error that says which tests of a metric are exact: what its smallest p-value is held to.

    A rate may stand in several metrics, alone and beside another, and equal rates are one question
    with one p-value: so its family counts as large as the largest that it stands in.

    Parameters
    ----------
    metric : Metric
    settings : Inference
    n_comparisons : float
        Pairs of groups, and of classes, that each rate is compared in.
    chosen_by_data : bool
        Whether the data chose the pairs that are shown.
    """
    n_rates = max((rates_of_largest_family(name) for name in metric.rates), default=1)
    n_of_family = round(n_comparisons * n_rates)
    return sharpest_level(
        settings.confidence_level,
        n_of_family,
        settings.adjust,
        chosen_among=n_of_family if chosen_by_data else 0,
    )


def exact_pair(estimates: RateEstimates, i: int, j: int, error: float) -> ExactPair | None:
    """The exact tests of a pair, where they are switched on.

    None under weights, for means and for functions.
    """
    if estimates.parts or estimates.weighted or estimates.smooth:
        return None
    effective_table = estimates.table(i, j)
    if not all(cell_value.is_integer() for cell_value in effective_table):
        return None
    k, n, k_reference, n_reference = (int(cell_value) for cell_value in effective_table)
    if not needs_exact(n, n_reference, smallest_expected_cell(effective_table), error):
        return None
    return ExactPair(k=k, n=n, k_reference=k_reference, n_reference=n_reference)


@dataclass(frozen=True)
class ExactPair:
    """Exact tests of one table of whole counts.

    Equal tables are computed once (`numerics.rates.exact` keeps them).
    """

    k: int
    n: int
    k_reference: int
    n_reference: int

    @property
    def table(self) -> tuple[int, int, int, int]:
        """Successes and cases of the group and of its reference."""
        return self.k, self.n, self.k_reference, self.n_reference

    def width(self, contrast: Contrast, fair: tuple[float, float]) -> float:
        """Standard errors in the fair range, by the score."""
        return _width(self.table, contrast, fair)

    def equality(self) -> float:
        """p-value of equal rates: tables with as large a score statistic, on either side, are as
        extreme.
        """
        return exact_pvalue(*self.table, contrast="difference", null=0.0, alternative="two-sided")

    def pvalue(self, contrast: Contrast, null: float, alternative: str) -> float:
        """Of H0: contrast ≥ null ("less") or ≤ null ("greater")."""
        smallest_value, largest_value = _OPEN_ENDS[contrast]
        if not smallest_value < null < largest_value:
            return 1.0
        return exact_pvalue(*self.table, contrast=contrast, null=null, alternative=alternative)

    def row(
        self,
        contrast: Contrast,
        fair: tuple[float, float],
        bound_level: float,
        confidence_level: float,
    ) -> ExactRow:
        """p-values of single directions, one-sided limits, and the two-sided interval."""
        (row,) = exact_rows([self.asked_of_row(contrast, fair, bound_level, confidence_level)])
        return row

    def asked_of_row(
        self,
        contrast: Contrast,
        fair: tuple[float, float],
        bound_level: float,
        confidence_level: float,
    ) -> RowAsked:
        """What `row` asks, to be computed for many tables together."""
        return RowAsked(
            table=self.table,
            contrast=contrast,
            low=fair[0],
            high=fair[1],
            equal=_EQUALITY_OF_CONTRAST[contrast],
            bound_level=bound_level,
            confidence_level=confidence_level,
        )

    def limits(
        self,
        contrast: Contrast,
        level: float,
        anchors: tuple[float, ...],
    ) -> tuple[float, float]:
        """One-sided limits, each at this level, on the side of each anchor that its p-value
        says.
        """
        return exact_limits(*self.table, contrast=contrast, level=level, anchors=anchors)

    def interval(self, contrast: Contrast, level: float) -> tuple[float, float]:
        """Two-sided interval: the values that the two-sided test does not reject."""
        return exact_interval(
            *self.table,
            contrast=contrast,
            confidence_level=level,
            equal=_EQUALITY_OF_CONTRAST[contrast],
        )

    def evidence(self, contrast: Contrast, fair: tuple[float, float]) -> Evidence:
        """p-values of ratio or difference below, above and inside the fair range, where both
        directions count.
        """
        exact_pvalues = exact_evidence(
            *self.table,
            contrast=contrast,
            low=fair[0],
            high=fair[1],
            equal=_EQUALITY_OF_CONTRAST[contrast],
        )
        return both_directions(exact_pvalues, self.width(contrast, fair))


@functools.lru_cache(maxsize=AT_ONCE)
def _width(
    table: tuple[int, int, int, int], contrast: Contrast, fair: tuple[float, float]
) -> float:
    """Standard errors in the fair range of a table, which is asked for again where it is judged."""
    low, high = fair
    statistic_at_low = score_statistic(table, contrast, low, True)
    return statistic_at_low - score_statistic(table, contrast, high, True)


def both_directions(shown: ExactEvidence, width: float) -> Evidence:
    """Evidence from p-values of single directions, `width` standard errors in the fair range.

    p falls with the distance of the null value, but for jumps where a table comes to be as extreme.
    So what lies below the fair range must be shown to lie below its upper end, too.
    """
    return Evidence(
        below=with_the_other_direction(max(shown.below, shown.below_high), width),
        above=with_the_other_direction(max(shown.above, shown.above_low), width),
        inside=with_the_other_direction(shown.inside, width),
    )


def decide_by_method(
    by: Chosen,
    contrast: Contrast,
    settings: Inference,
    levels: tuple[float, float],
    *,
    bounded: bool = True,
) -> PairDecision:
    """By the score, a standard error or the bootstrap: whatever inverts one statistic.

    `levels`: of the two-sided interval, and of the two-sided one whose ends are one-sided limits;
    `bounded`: whether a difference lies within ±1.
    """
    fair_range = settings._fair_range(contrast)
    statistic = _remembered(by.how.statistic)
    z_low = statistic(fair_range[0])
    z_high = statistic(fair_range[1])
    level_of_bounds = bound_level(z_low - z_high, settings.confidence_level, by.degrees_of_freedom)
    all_tests = [
        *directed_tests(by, statistic, contrast, settings),
        *_equivalence_tests(by, statistic, contrast, fair_range),
    ]
    one_sided = settings.alternative != "two-sided"
    interval_ends = by.how.interval(levels[1] if one_sided else levels[0])
    if bounded or contrast != "difference":
        open_ends = _OPEN_ENDS[contrast]
    else:
        open_ends = (-math.inf, math.inf)
    return assemble_decision(
        evidence=z_evidence(z_low, z_high, by.degrees_of_freedom),
        bounds=by.how.interval(2 * level_of_bounds - 1),
        level_of_bounds=level_of_bounds,
        ends=interval_ends,
        contrast=contrast,
        open_ends=open_ends,
        tests=all_tests,
        settings=settings,
        method=by.name,
        procedure=by.procedure,
    )


def _remembered(statistic: Callable[[float], float]) -> Callable[[float], float]:
    """The same function, which is asked once for each null value: evidence and tests share them."""
    values: dict[float, float] = {}

    def value_at(null: float) -> float:
        if null not in values:
            values[null] = statistic(null)
        return values[null]

    return value_at


def asked_exactly(
    pair: ExactPair,
    contrast: Contrast,
    settings: Inference,
    levels: tuple[float, float],
) -> RowAsked:
    """What `decide_exactly` asks about a table, but for what few settings need."""
    fair_range = settings._fair_range(contrast)
    level_of_bounds = bound_level(pair.width(contrast, fair_range), settings.confidence_level)
    return pair.asked_of_row(contrast, fair_range, level_of_bounds, levels[0])


def decide_exactly(
    pair: ExactPair,
    by: Chosen,
    contrast: Contrast,
    settings: Inference,
    levels: tuple[float, float],
) -> PairDecision:
    """By exact tests; the score tests `by` stand behind them in the list of tests."""
    fair_low, fair_high = fair_range = settings._fair_range(contrast)
    null_values = settings._null_values(contrast)
    statistic = _remembered(by.how.statistic)
    range_width = pair.width(contrast, fair_range)
    level_of_bounds = bound_level(range_width, settings.confidence_level)
    exact_results = pair.row(contrast, fair_range, level_of_bounds, levels[0])
    exact_pvalues = exact_results.evidence
    pvalue_equality = exact_pvalues.equality
    pvalue_less = exact_pvalues.below
    if null_values["greater"] == fair_high:
        pvalue_greater = exact_pvalues.above
    elif null_values["greater"] == fair_low:
        pvalue_greater = exact_pvalues.above_low
    else:
        pvalue_greater = pair.pvalue(contrast, null_values["greater"], "greater")
    all_tests = [
        _exact_test(
            f"{contrast} >= {null_values['less']:.6g}",
            "less",
            statistic(null_values["less"]),
            pvalue_less,
        ),
        _exact_test(
            f"{contrast} <= {null_values['greater']:.6g}",
            "greater",
            statistic(null_values["greater"]),
            pvalue_greater,
        ),
        _exact_test(
            f"{contrast} = {null_values['two-sided']:g}",
            "two-sided",
            statistic(_EQUALITY_OF_CONTRAST[contrast]),
            pvalue_equality,
        ),
    ]
    statistics = statistic(fair_low), statistic(fair_high)
    all_tests += equivalence_test(
        contrast,
        fair_range,
        statistics=statistics,
        pvalues=(exact_pvalues.above_low, exact_pvalues.below_high),
        method=EXACT,
        exact=True,
    )
    all_tests += directed_tests(by, statistic, contrast, settings)
    all_tests += _equivalence_tests(by, statistic, contrast, fair_range)
    exact_bounds = exact_results.bounds
    if fair_low == fair_high:
        # one value is fair: outside it and different are one question, which both tails answer
        exact_bounds = pair.interval(contrast, settings.confidence_level)
    interval_ends = exact_results.interval
    if settings.alternative != "two-sided":
        interval_ends = pair.limits(
            contrast, (1 + levels[1]) / 2, (null_values[settings.alternative],)
        )
    return assemble_decision(
        evidence=both_directions(exact_pvalues, range_width),
        bounds=exact_bounds,
        level_of_bounds=level_of_bounds,
        ends=interval_ends,
        contrast=contrast,
        open_ends=_OPEN_ENDS[contrast],
        tests=all_tests,
        settings=settings,
        method=EXACT,
        procedure=EXACTLY,
    )


def _exact_test(
    null_hypothesis: str,
    alternative: str,
    statistic: float,
    pvalue: float,
) -> HypothesisTest:
    return HypothesisTest(
        null=null_hypothesis,
        alternative=alternative,
        statistic=statistic,
        pvalue=pvalue,
        method=EXACT,
        exact=True,
    )


def assemble_decision(
    *,
    evidence: Evidence,
    bounds: tuple[float, float],
    level_of_bounds: float,
    ends: tuple[float, float],
    contrast: Contrast,
    open_ends: tuple[float, float],
    tests: list[HypothesisTest],
    settings: Inference,
    method: str,
    procedure: Procedure,
) -> PairDecision:
    """The decision on one pair, from its evidence, the ends of its interval and its tests.

    The end that the alternative does not ask about is open; the first test of the alternative is
    the row's. Evidence and one-sided limits say no more than
    the first test of equality allows.
    """
    pvalue_equality = _first_test(tests, "two-sided").pvalue
    fair_range = settings._fair_range(contrast)
    evidence = beside_equality(evidence, pvalue_equality, fair_range)
    bound_low, bound_high = reach_fair_range(
        bounds, evidence, fair_range, 1 - settings.confidence_level
    )
    interval_low, interval_high = ends
    if settings.alternative == "less":
        interval_low = open_ends[0]
    if settings.alternative == "greater":
        interval_high = open_ends[1]
    quoted = _first_test(tests, settings.alternative)
    return PairDecision(
        evidence=evidence,
        bounds=Interval(bound_low, bound_high, level_of_bounds, method),
        interval=Interval(
            low=interval_low,
            high=interval_high,
            confidence_level=settings.confidence_level,
            method=method,
        ),
        statistic=quoted.statistic,
        pvalue=quoted.pvalue,
        tests=tuple(tests),
        procedure=procedure,
    )


def _first_test(tests: Sequence[HypothesisTest], alternative: str) -> HypothesisTest:
    """The first test of an alternative, which stands for the row."""
    for hypothesis_test in tests:
        if hypothesis_test.alternative == alternative:
            return hypothesis_test
    raise TypeError(f"no test of {alternative!r}")


def directed_tests(
    by: Chosen, statistic: Callable[[float], float], contrast: Contrast, settings: Inference
) -> list[HypothesisTest]:
    """Both directions against the threshold, and equality; `statistic`: that of `by`, of a null
    value.
    """
    null_values = settings._null_values(contrast)
    degrees_of_freedom = by.degrees_of_freedom
    method_name = by.name
    statistic_less = statistic(null_values["less"])
    statistic_greater = statistic(null_values["greater"])
    statistic_equal = statistic(null_values["two-sided"])
    return [
        HypothesisTest(
            null=f"{contrast} >= {null_values['less']:.6g}",
            alternative="less",
            statistic=statistic_less,
            pvalue=normal_cdf(statistic_less, degrees_of_freedom),
            method=method_name,
        ),
        HypothesisTest(
            null=f"{contrast} <= {null_values['greater']:.6g}",
            alternative="greater",
            statistic=statistic_greater,
            pvalue=normal_cdf(-statistic_greater, degrees_of_freedom),
            method=method_name,
        ),
        HypothesisTest(
            null=f"{contrast} = {null_values['two-sided']:g}",
            alternative="two-sided",
            statistic=statistic_equal,
            pvalue=two_sided_pvalue(statistic_equal, degrees_of_freedom),
            method=method_name,
        ),
    ]


def _equivalence_tests(
    chosen_method: Chosen,
    statistic: Callable[[float], float],
    contrast: Contrast,
    fair_range: tuple[float, float],
) -> list[HypothesisTest]:
    """Two one-sided tests: that the contrast lies above the low and below the high end."""
    z_low = statistic(fair_range[0])
    z_high = statistic(fair_range[1])
    pvalues = (
        normal_cdf(-z_low, chosen_method.degrees_of_freedom),
        normal_cdf(z_high, chosen_method.degrees_of_freedom),
    )
    return equivalence_test(
        contrast,
        fair_range,
        statistics=(z_low, z_high),
        pvalues=pvalues,
        method=f"TOST ({chosen_method.name})",
    )


def equivalence_test(
    contrast: str,
    fair: tuple[float, float],
    *,
    statistics: tuple[float, float],
    pvalues: tuple[float, float],
    method: str,
    exact: bool = False,
) -> list[HypothesisTest]:
    """Two one-sided tests of the fair range (TOST), as the one of them that decides.

    None for a range of one value.

    The p-value is the larger of both, and the statistic is that of the same test, with its own sign
    (as in statsmodels' `tost_proportions_2indep`): positive where the estimate lies above the end
    that it is about. So a small p-value goes with a statistic far above 0 at the lower end, or far
    below 0 at the upper end.

    Parameters
    ----------
    contrast : str
        What is compared, in words.
    fair : tuple of float
        Lower and upper end of the fair range.
    statistics : tuple of float
        Of H0: contrast = lower end, and H0: contrast = upper end.
    pvalues : tuple of float
        Of H0: contrast ≤ lower end, and H0: contrast ≥ upper end.
    method : str
        Name of the test.
    exact : bool
        Whether the p-values hold at every size.

    Returns
    -------
    list of HypothesisTest
        One test, or none.
    """
    fair_low, fair_high = fair
    if not fair_low < fair_high:
        return []
    # of an estimate in the middle of the fair range both p-values are alike, but for rounding
    if pvalues[0] >= pvalues[1] * (1 - 1e-9):
        deciding = 0
    else:
        deciding = 1
    null_hypothesis = f"{contrast} outside ({fair_low:.6g}, {fair_high:.6g})"
    return [
        HypothesisTest(
            null=null_hypothesis,
            alternative="equivalence",
            statistic=statistics[deciding],
            pvalue=pvalues[deciding],
            method=method,
            exact=exact,
        )
    ]
