"""What the counts of one pair of rates show: p-values and limits, by the method of the row or by exact tests.

Everything that one row says comes from here, and from one procedure: the verdict's evidence and its one-sided limits,
the p-value of equality and the two-sided interval. Where an exact test is switched on (`exact_pair`) all of it is exact,
with tables ordered by the score statistic.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fairstats.ground.multiplicity import normal_cdf, normal_quantile, two_sided_pvalue
from fairstats.ground.results import HypothesisTest, Interval
from fairstats.ground.verdict import Evidence, Procedure, bound_level, z_evidence
from fairstats.methods.rates.estimates import RateEstimates
from fairstats.methods.rates.exact import ExactTest, exact_unconditional_pvalue
from fairstats.methods.rates.pair import Chosen
from fairstats.methods.rates.result import Inference
from fairstats.methods.rates.score import KEPT, LOG_SPAN, Contrast, Table, difference_statistic, ratio_statistic

EXACT = "exact unconditional"
#: What rows say that are judged by exact tests.
EXACTLY = Procedure("exact unconditional, tables ordered by the score", "exact", exact=True)
#: Cases of the smaller group up to which tests are exact.
MAX_CASES = 2_000
#: Relative error of the score's tail from which on tests are exact: 6% of 5%.
TAIL_ERROR = 0.12
#: Limits by exact tests are sought on its multiples: steps of log θ, or of 2 atanh of a difference.
_STEP = 2.0**-14
_OPEN_ENDS: dict[Contrast, tuple[float, float]] = {"ratio": (0.0, math.inf), "difference": (-1.0, 1.0)}


@dataclass(frozen=True)
class PairDecision:
    """Everything that a row says of one pair.

    `bounds`: the one-sided limits that belong to `evidence`; `interval`: two-sided, or with one open end where the
    alternative is one-sided; `statistic`, `pvalue`: of the test that was asked for; `tests`: all of them, those that
    the row quotes first.
    """

    evidence: Evidence
    bounds: Interval
    interval: Interval
    statistic: float
    pvalue: float
    tests: tuple[HypothesisTest, ...]
    procedure: Procedure


def smallest_expected_cell(table: Table, rates: tuple[float, float]) -> float:
    """Least of the successes and failures that both groups have on average at these rates."""
    _, n, _, n_reference = table
    cells = []
    for cases, rate in ((n, rates[0]), (n_reference, rates[1])):
        cells += [cases * rate, cases * (1 - rate)]
    return min(cells)


@functools.lru_cache(maxsize=64)
def cells_for_score(error: float) -> float:
    """Expected cases of the rarer kind from which on the score's tail at this error is right to `TAIL_ERROR`.

    Edgeworth's first term: the tail beyond z is off by γ(z² − 1)φ(z)/6, with the skewness γ ≈ 1/√cell.
    """
    z = normal_quantile(1 - min(error, 0.5))
    density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    return ((z * z - 1) * density / (6 * TAIL_ERROR * error)) ** 2


def needs_exact(table: Table, error: float) -> bool:
    """Whether a pair is judged by exact tests: by sizes, expected cells and the error of the adjusted decision.

    The expected cells are those at the pooled rate, which is that of the larger group where one is large: never the
    observed cell, since many failures in it *are* the evidence.
    """
    k, n, k_reference, n_reference = table
    if min(n, n_reference) > MAX_CASES:
        return False
    pooled = (k + k_reference) / (n + n_reference)
    return smallest_expected_cell(table, (pooled, pooled)) < cells_for_score(error)


def exact_pair(estimates: RateEstimates, i: int, j: int, error: float) -> ExactPair | None:
    """The exact tests of a pair, where they are switched on; None under weights, for means and for functions."""
    if estimates.parts or estimates.weighted or estimates.smooth:
        return None
    table = estimates.table(i, j)
    if not all(value.is_integer() for value in table) or not needs_exact(table, error):
        return None
    k, n, k_reference, n_reference = (int(value) for value in table)
    return ExactPair(k, n, k_reference, n_reference)


@dataclass(frozen=True)
class ExactPair:
    """Exact tests of one table of whole counts; equal tables are computed once."""

    k: int
    n: int
    k_reference: int
    n_reference: int

    @property
    def table(self) -> tuple[int, int, int, int]:
        """Successes and cases of the group and of its reference."""
        return self.k, self.n, self.k_reference, self.n_reference

    def evidence(self, contrast: Contrast, fair: tuple[float, float]) -> Evidence:
        """p-values of ratio or difference below, above and inside the fair range.

        Both directions count, as in `z_evidence`: p + Φ(Φ⁻¹(p) − width), the width of the range by the score.
        """
        return _evidence(self.table, contrast, fair)

    def equality(self) -> float:
        """p-value of equal rates: tables with as large a score statistic, on either side, are as extreme."""
        return exact_unconditional_pvalue(*self.table, contrast="difference", null=0.0)[1]

    def one_sided_limits(self, contrast: Contrast, ends: tuple[float, float], level: float) -> tuple[float, float]:
        """One-sided limits, each at this level; `ends`: of the fair range, where they agree with the p-values."""
        return _one_sided_limits(self.table, contrast, ends, level)

    def interval(self, contrast: Contrast, level: float) -> tuple[float, float]:
        """Two-sided interval: all values that the two-sided test does not reject."""
        return _two_sided_limits(self.table, contrast, level)

    def width(self, contrast: Contrast, fair: tuple[float, float]) -> float:
        """Standard errors in the fair range, by the score."""
        statistic = ratio_statistic if contrast == "ratio" else difference_statistic
        return statistic(self.table, fair[0], True) - statistic(self.table, fair[1], True)


@functools.lru_cache(maxsize=KEPT)
def _evidence(table: tuple[int, int, int, int], contrast: Contrast, fair: tuple[float, float]) -> Evidence:
    width = ExactPair(*table).width(contrast, fair)
    test = ExactTest(table, contrast)

    def both_directions(end: float, alternative: str) -> float:
        p = test.pvalue(end, alternative)
        return min(p + normal_cdf(normal_quantile(p) - width), 1.0)

    low, high = fair
    return Evidence(
        below=both_directions(low, "less"),
        above=both_directions(high, "greater"),
        inside=max(both_directions(low, "greater"), both_directions(high, "less")),
    )


@functools.lru_cache(maxsize=KEPT)
def _one_sided_limits(
    table: tuple[int, int, int, int], contrast: Contrast, ends: tuple[float, float], level: float
) -> tuple[float, float]:
    test = ExactTest(table, contrast)
    low, high = _start(table, contrast)
    return test.limit(level, "greater", ends, low), test.limit(level, "less", ends, high)


def _start(table: tuple[int, int, int, int], contrast: Contrast) -> tuple[float, float]:
    """Where limits are about: half a case more in every cell."""
    k, n, k_reference, n_reference = table
    rate = (k + 0.5) / (n + 1)
    rate_reference = (k_reference + 0.5) / (n_reference + 1)
    if contrast == "difference":
        spread = math.sqrt(rate * (1 - rate) / n + rate_reference * (1 - rate_reference) / n_reference)
        centre = rate - rate_reference
        return max(centre - 1.8 * spread, -0.999), min(centre + 1.8 * spread, 0.999)
    spread = math.sqrt((1 - rate) / (rate * n) + (1 - rate_reference) / (rate_reference * n_reference))
    ratio = rate / rate_reference
    return ratio * math.exp(-1.8 * spread), ratio * math.exp(1.8 * spread)


@functools.lru_cache(maxsize=KEPT)
def _two_sided_limits(table: tuple[int, int, int, int], contrast: Contrast, level: float) -> tuple[float, float]:
    """{θ : p(θ) > 1 − level}, p of the two-sided test; searched for from equality, so that both say the same of it."""
    k, n, k_reference, n_reference = table
    ratio = contrast == "ratio"
    to, back = (math.log, math.exp) if ratio else (_atanh, _tanh)
    least, most = _OPEN_ENDS[contrast]
    nothing = 0.0  # log 1 and 2 atanh 0: equality

    def kept(x: float) -> bool:
        if x == nothing:
            return ExactPair(*table).equality() > 1 - level
        p = exact_unconditional_pvalue(*table, contrast=contrast, null=back(x), alternative="two-sided")[1]
        return p > 1 - level

    if ratio and 0 in (k, k_reference):
        estimate = LOG_SPAN if k else -LOG_SPAN
    else:
        rate, rate_reference = k / n, k_reference / n_reference
        estimate = to(rate / rate_reference) if ratio else to(rate - rate_reference)
    starts = [to(start) for start in _start(table, contrast)]
    equal = kept(nothing)
    low_is_open = (k == 0) if ratio else (k == 0 and k_reference == n_reference)
    high_is_open = (k_reference == 0) if ratio else (k == n and k_reference == 0)
    low, high = least, most
    if not low_is_open:
        inside = min(estimate, nothing) if equal else min(estimate, starts[1])
        outside = nothing if not equal and nothing < estimate else None
        low = _end(kept, inside, outside, starts[0], -1.0, back, least)
    if not high_is_open:
        inside = max(estimate, nothing) if equal else max(estimate, starts[0])
        outside = nothing if not equal and nothing > estimate else None
        high = _end(kept, inside, outside, starts[1], 1.0, back, most)
    return low, high


def _end(
    kept: Callable[[float], bool], inside: float, outside: float | None, start: float, side: float,
    back: Callable[[float], float], open_end: float,
) -> float:  # fmt: skip
    """The end of what is kept on a side (±1), from a value inside and one outside, where known.

    By halves over multiples of a fixed step: where p jumps back and forth over the error, a root depends on the last
    digits of where the search began; this does not.
    """
    if outside is not None and side * (start - outside) < 0 and side * (start - inside) > 0:
        if kept(start):
            inside = start
        else:
            outside = start
    if outside is None:
        outside, step = side * max(side * start, side * inside + _STEP), 0.05
        while kept(outside):
            inside = outside
            outside, step = outside + side * step, 2 * step
            if abs(outside) > LOG_SPAN:
                return open_end
    while abs(inside) > LOG_SPAN - 1 and abs(outside) < LOG_SPAN - 1:  # an infinite estimate: walk towards it
        inside = outside - side * 0.5
        while not kept(inside):
            outside, inside = inside, inside - side * 0.5 * (1 + abs(inside - start))
            if abs(inside) > LOG_SPAN:
                return back(outside)
    while (first := math.floor(min(inside, outside) / _STEP) + 1) <= (
        last := math.ceil(max(inside, outside) / _STEP) - 1
    ):
        middle = (first + last) // 2 * _STEP
        if kept(middle):
            inside = middle
        else:
            outside = middle
    return back((inside + outside) / 2)


def _atanh(difference: float) -> float:
    return 2 * math.atanh(min(max(difference, -1 + 1e-15), 1 - 1e-15))


def _tanh(x: float) -> float:
    return math.tanh(x / 2)


def decide_by_method(
    by: Chosen, contrast: Contrast, settings: Inference, levels: tuple[float, float], *, bounded: bool = True
) -> PairDecision:
    """By the score, a standard error or the bootstrap: whatever inverts one statistic.

    `levels`: of the two-sided interval, and of the two-sided one whose ends are one-sided limits; `bounded`: whether a
    difference lies within ±1.
    """
    fair = settings.fair(contrast)
    z_low, z_high = (by.how.statistic(end) for end in fair)
    side = bound_level(z_low - z_high, settings.confidence_level, by.degrees_of_freedom)
    tests = [*directed_tests(by, contrast, settings), *_equivalence(by, contrast, settings)]
    one_sided = settings.alternative != "two-sided"
    ends = by.how.interval(levels[1] if one_sided else levels[0])
    open_ends = _OPEN_ENDS[contrast] if bounded or contrast == "ratio" else (-math.inf, math.inf)
    return _decision(
        evidence=z_evidence(z_low, z_high, by.degrees_of_freedom),
        bounds=Interval(*by.how.interval(2 * side - 1), side, by.name),
        ends=ends, open_ends=open_ends, tests=tests, settings=settings, method=by.name, procedure=by.procedure,
    )  # fmt: skip


def decide_exactly(
    pair: ExactPair, by: Chosen, contrast: Contrast, settings: Inference, levels: tuple[float, float]
) -> PairDecision:
    """By exact tests; the score tests `by` stand behind them in the list of tests."""
    low, high = fair = settings.fair(contrast)
    nulls = settings.nulls(contrast)
    side = bound_level(pair.width(contrast, fair), settings.confidence_level)
    test = ExactTest(pair.table, contrast)
    less, greater = (test.pvalue(nulls[alternative], alternative) for alternative in ("less", "greater"))
    tests = [
        _exact_test(f"{contrast} >= {nulls['less']:.6g}", "less", by.how.statistic(nulls["less"]), less),
        _exact_test(f"{contrast} <= {nulls['greater']:.6g}", "greater", by.how.statistic(nulls["greater"]), greater),
        _exact_test(
            f"{contrast} = {nulls['two-sided']:g}", "two-sided", by.how.statistic(nulls["two-sided"]), pair.equality()
        ),
    ]
    if low < high:
        above_low, below_high = test.pvalue(low, "greater"), test.pvalue(high, "less")
        worse = low if above_low >= below_high else high
        null = f"{contrast} outside ({low:.6g}, {high:.6g})"
        tests.append(_exact_test(null, "equivalence", by.how.statistic(worse), max(above_low, below_high)))
    tests += directed_tests(by, contrast, settings)
    tests += _equivalence(by, contrast, settings)
    if settings.alternative == "two-sided":
        ends = pair.interval(contrast, levels[0])
    else:
        null = nulls[settings.alternative]
        ends = pair.one_sided_limits(contrast, (null, null), (1 + levels[1]) / 2)
    return _decision(
        evidence=pair.evidence(contrast, fair),
        bounds=Interval(*pair.one_sided_limits(contrast, fair, side), side, EXACT),
        ends=ends, open_ends=_OPEN_ENDS[contrast], tests=tests, settings=settings, method=EXACT, procedure=EXACTLY,
    )  # fmt: skip


def _exact_test(null: str, alternative: str, statistic: float, pvalue: float) -> HypothesisTest:
    return HypothesisTest(null, alternative, statistic, pvalue, EXACT, exact=True)


def _decision(
    *, evidence: Evidence, bounds: Interval, ends: tuple[float, float], open_ends: tuple[float, float],
    tests: list[HypothesisTest], settings: Inference, method: str, procedure: Procedure,
) -> PairDecision:  # fmt: skip
    """The end that the alternative does not ask about is open; the first test of the alternative is the row's."""
    low, high = ends
    if settings.alternative == "less":
        low = open_ends[0]
    if settings.alternative == "greater":
        high = open_ends[1]
    quoted = next(test for test in tests if test.alternative == settings.alternative)
    return PairDecision(
        evidence=evidence, bounds=bounds, interval=Interval(low, high, settings.confidence_level, method),
        statistic=quoted.statistic, pvalue=quoted.pvalue, tests=tuple(tests), procedure=procedure,
    )  # fmt: skip


def directed_tests(by: Chosen, contrast: Contrast, settings: Inference) -> list[HypothesisTest]:
    """Both directions against the threshold, and equality."""
    null, df, name = settings.nulls(contrast), by.degrees_of_freedom, by.name
    less, greater, equal = (by.how.statistic(null[side]) for side in ("less", "greater", "two-sided"))
    return [
        HypothesisTest(f"{contrast} >= {null['less']:.6g}", "less", less, normal_cdf(less, df), name),
        HypothesisTest(f"{contrast} <= {null['greater']:.6g}", "greater", greater, normal_cdf(-greater, df), name),
        HypothesisTest(f"{contrast} = {null['two-sided']:g}", "two-sided", equal, two_sided_pvalue(equal, df), name),
    ]


def _equivalence(by: Chosen, contrast: Contrast, settings: Inference) -> list[HypothesisTest]:
    low, high = settings.fair(contrast)
    if not low < high:
        return []
    z_low, z_high = by.how.statistic(low), by.how.statistic(high)
    p_low, p_high = normal_cdf(-z_low, by.degrees_of_freedom), normal_cdf(z_high, by.degrees_of_freedom)
    statistic, pvalue = (z_low, p_low) if p_low >= p_high else (z_high, p_high)
    null = f"{contrast} outside ({low:.6g}, {high:.6g})"
    return [HypothesisTest(null, "equivalence", statistic, pvalue, f"TOST ({by.name})")]
