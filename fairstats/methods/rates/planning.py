"""Planning: exact power of the score test of a ratio, and the smallest sample size that reaches it.

A test rejects where a table shows a low ratio, or a high one. Both are monotone: for each count of
the group, all counts of the reference from some `low` on show a low ratio, and all up to some
`high` a high one. Power is a sum over the counts of the group of binomial tails at these ends, so
that millions of cases cost milliseconds.
"""

from __future__ import annotations

import functools
from bisect import bisect_left
from dataclasses import dataclass
from functools import partial
from math import ceil, pi, sqrt
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, betaln, ndtr, xlog1py, xlogy

from fairstats.ground.checks import (
    Floats,
    check_choice,
    check_confidence_level,
    check_number,
    check_that,
)
from fairstats.ground.errors import InputError
from fairstats.ground.lazy import Axes
from fairstats.ground.multiplicity import normal_cdf, normal_quantile
from fairstats.ground.progress import under_way
from fairstats.ground.results import Result, columns_of
from fairstats.ground.serialise import serialisable
from fairstats.numerics.rates.region import exactly_shown, first_true
from fairstats.numerics.rates.score import ratio_score_statistic
from fairstats.numerics.rates.switch import needed_cases, smallest_expected
from fairstats.plots.picture import LIMIT, Picture, draw, mark

Alternative = Literal["less", "greater", "two-sided", "violated", "satisfied"]
_VERDICTS = ("violated", "satisfied")
#: Cases of either side that a plan can have.
MAX_CASES = 10_000_000
#: So many sizes are tried one by one, by score and with exact tests; among more the power counts as
#: monotone.
_TRIED = 500
_TRIED_EXACTLY = 20
#: Exact tests change the power of the score by as much at sizes near each other, to less than this
#: share of the largest probability of one count of the smaller group (.013 with 30 cases at .9,
#: .003 with 85 at .7).
_NEAR_WANTED = 0.06
#: From so many expected cases on the formula of Farrington and Manning stands for the exact power
#: of equality.
_FEW = 10
#: Exact tests are enumerated for group times reference up to this: it takes more than seconds
#: beyond.
_TABLES = 100_000
#: Tables of less than this probability, 4e-7 of all together, are judged by the score, whatever the
#: verdict rests on.
_RARE = 1e-9
_ASSUMED = "a plan has no data; .estimate is the power under the assumed rates"


@serialisable()
class PowerResult(Result):
    """Power of the score test of a ratio at given sample sizes.

    Attributes
    ----------
    power : float
        Probability of rejecting the null hypothesis, or of the verdict; exact (see Notes of
        `power_ratio`).
    n, n_reference : int
        Cases in the group and in the reference.
    rate, rate_reference, ratio : float
        Assumed rates and their ratio.
    threshold : float
        Ratio under the null hypothesis (1 for the two-sided test).
    alternative, confidence_level
        As in `power_ratio`.
    """

    power: float
    n: int
    n_reference: int
    rate: float
    rate_reference: float
    ratio: float
    threshold: float
    alternative: str
    confidence_level: float
    backend: str = "numpy"

    title: ClassVar[str] = "Power of the disparate-impact test (score)"
    method: ClassVar[str] = "score"
    lacks: ClassVar[dict[str, str]] = {
        **dict.fromkeys(
            ("confidence_interval", "pvalue", "verdict", "statistic", "std_error"), _ASSUMED
        ),
        **dict.fromkeys(("comparisons", "__getitem__"), "there is one row: to_frame()"),
    }

    @property
    def estimate(self) -> float:
        """The power."""
        return self.power

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the exact power by true ratio, at these sizes and this rate of the reference.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
        """
        low = min(0.5 * self.threshold, self.ratio)
        high = max(1.0, 1.5 * self.ratio)
        ratios = np.sort(
            [*np.linspace(low, min(high, 0.999 / self.rate_reference), 41), self.ratio]
        )
        about = self.threshold, self.alternative, self.confidence_level
        power = []
        for r in ratios.tolist():
            power.append(_Plan(self.rate_reference, r, *about).power(self.n, self.n_reference))
        marks = (
            mark("rule", self.threshold, (), LIMIT, f"threshold {self.threshold:g}"),
            mark("line", ratios, power, 0, f"{self.n:,} and {self.n_reference:,} cases"),
            mark(
                "dots",
                [self.ratio],
                [self.power],
                0,
                f"ratio {self.ratio:.3g}: power {self.power:.3f}",
            ),
        )
        span = float(ratios[0]), float(ratios[-1])
        return draw(
            Picture(
                title=self.title,
                xlabel="true ratio",
                ylabel="power",
                xlim=span,
                ylim=(0.0, 1.0),
                marks=marks,
            ),
            ax,
        )

    def rows(self) -> list[dict[str, Any]]:
        """Row of the tidy table: the assumed ratio with its power."""
        assumed = "rate", "rate_reference", "ratio", "threshold", "alternative", "confidence_level"
        columns = columns_of(self, "estimate", "method", "n", "backend", "n_reference", *assumed)
        return [{"metric": "power_ratio", **columns}]

    def sentences(self) -> list[str]:
        """The plan in words."""
        null = {"less": "≥", "greater": "≤", "two-sided": "="}.get(self.alternative)
        event = f"H0: ratio {null} {self.threshold:g} is rejected"
        if null is None:
            event = f"the verdict at threshold {self.threshold:g} is “{self.alternative}”"
        rates = (
            f"{100 * self.rate:.1f}% and {100 * self.rate_reference:.1f}% (ratio {self.ratio:.3f})"
        )
        sizes = f"With {self.n} cases in the group and {self.n_reference} in the reference"
        return [f"{sizes}, {event} with probability {self.power:.3f} where the rates are {rates}."]

    def notes(self) -> list[str]:
        """A sentence where verdicts do not rest on the score statistic alone."""
        plan = _Plan(
            rate_reference=self.rate_reference,
            ratio=self.ratio,
            threshold=self.threshold,
            alternative=self.alternative,
            level=self.confidence_level,
        )
        n = self.n
        m = self.n_reference
        if not plan.uses_exact_tests(n, m):
            return []
        expected = float(smallest_expected(n * self.rate, n, m * self.rate_reference, m))
        few = (
            f"At the pooled rate {expected:.1f} successes or failures of the smaller group are"
            " expected, so few that verdicts are by exact tests"
        )
        if self.alternative not in _VERDICTS:
            return [f'{few}: alternative="violated" or "satisfied" gives their probability.']
        if plan.counts_exactly(n, m):
            return [f"{few}, as counted here."]
        return [
            f"{few}; here they are counted by the score test, since there are more than {_TABLES:,}"
            " tables."
        ]


def _check_design(
    rate_reference: float,
    ratio: float,
    threshold: float,
    alternative: str,
    level: float,
) -> _Plan:
    """What is assumed, or an error unless the assumptions agree with each other."""
    check_choice("alternative", alternative, get_args(Alternative))
    bounds: dict[str, Any] = {"low": 0, "open_low": True, "open_high": True}
    bounds["cure"] = "assume a plausible value"
    check_number("rate_reference", rate_reference, high=1, allowed="a rate in (0, 1)", **bounds)
    check_number(
        "threshold",
        threshold,
        low=0,
        high=1,
        open_low=True,
        allowed="a ratio in (0, 1]",
        cure="0.8",
    )
    largest_ratio = 1 / rate_reference
    bounds["cure"] = "ratio × rate_reference is a rate and stays below 1"
    check_number(
        "ratio",
        ratio,
        high=largest_ratio,
        allowed=f"above 0 and below 1/rate_reference = {largest_ratio:.4g}",
        **bounds,
    )
    fair_range = f"({threshold:g}, {1 / threshold:g})"
    is_consistent, allowed = {
        "less": (ratio < threshold, f"a ratio below the threshold {threshold:g}"),
        "greater": (ratio > threshold, f"a ratio above the threshold {threshold:g}"),
        "two-sided": (ratio != 1, "another ratio than 1"),
        "violated": (not threshold <= ratio <= 1 / threshold, f"a ratio outside {fair_range}"),
        "satisfied": (threshold < ratio < 1 / threshold, f"a ratio inside {fair_range}"),
    }[alternative]
    if not is_consistent:
        got = f"{ratio:g} with alternative={alternative!r} and threshold {threshold:g}"
        raise InputError(
            "ratio",
            got=got,
            allowed=allowed,
            cure="the assumed ratio must be what is to be shown",
        )
    level = check_confidence_level(level)
    return _Plan(
        rate_reference=float(rate_reference),
        ratio=float(ratio),
        threshold=float(threshold),
        alternative=alternative,
        level=level,
    )


def _cases_in_words(name: str, value: float) -> int:
    """A number of cases; 400.0 is one, 400.7 is not."""
    allowed = f"a whole number from 1 to {MAX_CASES:,}"
    number = check_number(
        name,
        value,
        low=1,
        high=MAX_CASES,
        allowed=allowed,
        cure="pass the planned size",
    )
    check_that(float(number).is_integer(), name, value, allowed, "pass the planned size")
    return int(number)


def _count_fewest_expected(n: int, m: int, p: float, q: float) -> float:
    """The smallest expected count of the four."""
    return min(n * p, n * (1 - p), m * q, m * (1 - q))


def _list_likely_counts(n: int, p: float) -> tuple[NDArray[np.int64], Floats]:
    """Counts of n cases with all but 1e-16 of the probability, and the probability of each."""
    reach = 9 * sqrt(n * p * (1 - p)) + 40
    k = np.arange(max(0, int(n * p - reach)), min(n, ceil(n * p + reach)) + 1)
    return k, np.exp(xlogy(k, p) + xlog1py(n - k, -p) - betaln(k + 1, n - k + 1) - np.log(n + 1))


@dataclass(frozen=True)
class _Plan:
    """What is assumed, and what is to be shown."""

    rate_reference: float
    ratio: float
    threshold: float
    alternative: str
    level: float

    @property
    def rate(self) -> float:
        return self.rate_reference * self.ratio

    @property
    def critical(self) -> float:
        return normal_quantile(
            (1 + self.level) / 2 if self.alternative == "two-sided" else self.level
        )

    @property
    def nulls(self) -> tuple[float, float]:
        """The ratios that are to be excluded, from above and from below.

        The lower and the upper end.
        """
        if self.alternative == "two-sided":
            return 1.0, 1.0
        return self.threshold, (
            1 / self.threshold if self.alternative in _VERDICTS else self.threshold
        )

    def statistics(self, k: NDArray[Any], n: int, j: NDArray[Any], m: int) -> tuple[Floats, Floats]:
        """Statistics of k of n against j of m at the lower and the upper end."""
        low, high = self.nulls
        return ratio_score_statistic(k, n, j, m, low), ratio_score_statistic(k, n, j, m, high)

    def shown(self, low: Floats, high: Floats) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Whether these statistics show a ratio below the lower end, and one above the upper end.

        For "satisfied": one below the upper end, and one above the lower end.
        """
        if self.alternative == "satisfied":
            return high <= -self.critical, low >= self.critical
        if self.alternative == "violated":  # the test of an interval hypothesis
            return (
                ndtr(low) + ndtr(high) <= 1 - self.level,
                ndtr(-high) + ndtr(-low) <= 1 - self.level,
            )
        return low <= -self.critical, high >= self.critical

    def power(self, n: int, m: int) -> float:
        """P(the test rejects), or P(verdict), of tables of n and m cases that are not all but
        impossible.
        """
        by_score = self.score_power(n, m)
        if not self.counts_exactly(n, m):
            return by_score
        return min(max(by_score + _correct_by_exact_tests(self, n, m), 0.0), 1.0)

    def largest_probability(self, n: int, m: int) -> float:
        """About the largest probability of one count of the smaller group, 1/√(2πv) of variance v."""
        rate = self.rate if n <= m else self.rate_reference
        return 1 / sqrt(2 * pi * min(n, m) * rate * (1 - rate))

    def uses_exact_tests(self, n: int, m: int) -> bool:
        """Whether verdicts are by exact tests where both groups have as many successes as
        expected.
        """
        expected = smallest_expected(n * self.rate, n, m * self.rate_reference, m)
        return bool(expected < needed_cases(n, m, 1 - self.level))

    def counts_exactly(self, n: int, m: int) -> bool:
        """Whether the tables that verdicts judge by exact tests are counted so."""
        return self.alternative in _VERDICTS and n * m <= _TABLES

    def score_power(self, n: int, m: int) -> float:
        """P(the score test rejects)."""
        q = self.rate_reference
        k, weight = _list_likely_counts(n, self.rate)
        power = np.zeros(k.size)
        if self.alternative != "greater":
            low = first_true(lambda j: self.shown(*self.statistics(k, n, j, m))[0], k.size, m)
            power += 1 - np.where(low > 0, bdtr(np.maximum(low - 1.0, 0), m, q), 0.0)
        if self.alternative != "less":
            high = first_true(lambda j: ~self.shown(*self.statistics(k, n, j, m))[1], k.size, m)
            power += np.where(high > 0, bdtr(np.maximum(high - 1.0, 0), m, q), 0.0)
        if self.alternative == "satisfied":  # both at once
            power = np.maximum(power - 1, 0.0)
        return min(float(np.sum(weight * power)), 1.0)

    def normal_power(self, n: int, m: int) -> float:
        """About `power`: the variances under the null and the assumed rates (Farrington & Manning
        1990).
        """
        p = self.rate
        q = self.rate_reference
        shown = []
        for null, side in zip(self.nulls, (-1, 1), strict=True):
            distance = p - null * q
            spread = sqrt(p * (1 - p) / n + null**2 * q * (1 - q) / m)
            statistic = float(ratio_score_statistic(n * p, n, m * q, m, null))
            null_spread = distance / statistic if statistic else spread
            toward = -side if self.alternative == "satisfied" else side
            shown.append(normal_cdf((toward * distance - self.critical * null_spread) / spread))
        one = {"less": shown[0], "greater": shown[1], "satisfied": max(sum(shown) - 1, 0.0)}
        return one.get(self.alternative, min(sum(shown), 1.0))


@functools.lru_cache(maxsize=64)
def _correct_by_exact_tests(plan: _Plan, n: int, m: int) -> float:
    """What P(verdict) changes by where tables are judged by exact tests."""
    group_counts, weight = _list_likely_counts(n, plan.rate)
    reference_counts, weight_reference = _list_likely_counts(m, plan.rate_reference)
    group, reference = np.meshgrid(group_counts, reference_counts, indexing="ij")
    chance = np.outer(weight, weight_reference)
    # tables without a success of either group have no ratio, and no verdict
    is_exact = smallest_expected(group, n, reference, m) < needed_cases(n, m, 1 - plan.level)
    is_exact &= (chance > _RARE) & (group + reference > 0)
    if not is_exact.any():
        return 0.0
    low, high = plan.statistics(group, n, reference, m)
    low_null, high_null = plan.nulls
    show_exactly = partial(
        exactly_shown, group_counts, n, reference_counts, m, error=1 - plan.level
    )
    is_low = partial(show_exactly, side="less")
    is_high = partial(show_exactly, side="greater")
    # a table whose ratio lies on the other side of an end cannot show that it is left
    if plan.alternative == "violated":
        shown_exactly = is_low(
            null=low_null,
            other=high_null,
            asked=is_exact & (low < 0),
            violation=True,
        )
        shown_exactly |= is_high(
            null=high_null,
            other=low_null,
            asked=is_exact & (high > 0),
            violation=True,
        )
    else:
        shown_exactly = is_high(
            null=low_null,
            other=high_null,
            asked=is_exact & (low > 0) & (high < 0),
        )
        shown_exactly = is_low(null=high_null, other=low_null, asked=shown_exactly)
    shown_low, shown_high = plan.shown(low, high)
    if plan.alternative == "satisfied":
        by_score = shown_low & shown_high
    else:
        by_score = shown_low | shown_high
    return float(
        chance[is_exact] @ (shown_exactly[is_exact].astype(np.float64) - by_score[is_exact])
    )


def equality_power(
    n: int,
    n_reference: int,
    rate_reference: float,
    ratio: float,
    level: float,
) -> float:
    """Power of the two-sided score test of equal rates; NaN where the rates are no rates in (0, 1).

    Exact, but by the formula of Farrington and Manning where ten of each kind are expected.
    """
    if not (0 < rate_reference < 1 and 0 < ratio < 1 and n > 0 and n_reference > 0):
        return float("nan")
    plan = _Plan(
        rate_reference=rate_reference,
        ratio=ratio,
        threshold=1.0,
        alternative="two-sided",
        level=level,
    )
    few = _count_fewest_expected(n, n_reference, plan.rate, rate_reference) < _FEW
    if few:
        return plan.power(n, n_reference)
    return plan.normal_power(n, n_reference)


def power_ratio(
    rate_reference: float,
    ratio: float,
    *,
    n: int,
    n_reference: int | None = None,
    threshold: float = 0.8,
    alternative: Alternative = "less",
    confidence_level: float = 0.95,
) -> PowerResult:
    """Power of the disparate-impact test with ``method="score"``, by enumeration.

    Parameters
    ----------
    rate_reference, ratio : float
        Assumed rate of the reference, in (0, 1), and true ratio; what is to be shown must be true
        of it.
    n, n_reference : int
        Cases in the group and in the reference (default: as many as in the group).
    threshold : float, default 0.8
        In (0, 1]: null value of the one-sided tests, and (threshold, 1/threshold) the fair range of
        verdicts.
    alternative : {"less", "greater", "two-sided", "violated", "satisfied"}, default "less"
        "less": H0 ratio ≥ threshold; "greater": H0 ratio ≤ threshold; "two-sided": H0 ratio = 1.
        "violated", "satisfied": the probability of that verdict on a single comparison. "less" is
        about "violated" unless the threshold is near 1; "satisfied" needs more than "greater": both
        ends of the range excluded.
    confidence_level : float, default 0.95

    Returns
    -------
    PowerResult

    Raises
    ------
    InputError
        If the assumptions contradict each other; if a size is no whole number up to 10,000,000.

    Notes
    -----
    The probability of all tables that the score test (Miettinen & Nurminen 1985) rejects. Verdicts
    are by exact unconditional tests where few cases are expected: "violated" and "satisfied" count
    those tables so, where group × reference is at most 100,000. Else the score test is counted, and
    a note says so.

    Examples
    --------
    >>> import fairstats as fs
    >>> print(f"{fs.power_ratio(0.5, 0.7, n=400).power:.3f}")
    0.479
    """
    plan = _check_design(rate_reference, ratio, threshold, alternative, confidence_level)
    size = _cases_in_words("n", n)
    return _describe_power(
        plan, size, size if n_reference is None else _cases_in_words("n_reference", n_reference)
    )


@under_way("exact power")
def _describe_power(plan: _Plan, n: int, n_reference: int) -> PowerResult:
    power = plan.power(n, n_reference)
    rates_and_ratio = (plan.rate, plan.rate_reference, plan.ratio)
    return PowerResult(
        power, n, n_reference, *rates_and_ratio, plan.nulls[0], plan.alternative, plan.level
    )


def chance_of_verdict(
    rate_reference: float,
    ratio: float,
    n: int,
    n_reference: int,
    threshold: float,
    level: float,
) -> float:
    """About the power of "violated" where the ratio lies outside the fair range, else of
    "satisfied".
    """
    if threshold < ratio < 1 / threshold:
        alternative = "satisfied"
    else:
        alternative = "violated"
    return _Plan(
        rate_reference=rate_reference,
        ratio=ratio,
        threshold=threshold,
        alternative=alternative,
        level=level,
    ).normal_power(n, n_reference)


def detectable_ratio(
    rate_reference: float,
    n: int,
    n_reference: int,
    threshold: float,
    level: float,
    power: float = 0.8,
) -> float:
    """About the largest ratio below the threshold that is judged "violated" with this power.

    0 for none.
    """
    low = 0.0
    high = threshold
    for _ in range(20):
        middle = (low + high) / 2
        is_detected = (
            chance_of_verdict(rate_reference, middle, n, n_reference, threshold, level) >= power
        )
        if is_detected:
            low = middle
        else:
            high = middle
    return low if low > 1e-4 else 0.0


#: More rows than so many times those at hand are none that somebody could collect.
MOST_GROWTH = 100.0


def growth_for_ratio(
    rate_reference: float,
    ratio: float,
    n: int,
    n_reference: int,
    threshold: float,
    level: float,
    power: float = 0.8,
) -> float:
    """How many times the cases at hand would settle a ratio with this power.

    About, by the formula behind `chance_of_verdict`, with the groups in the proportion that they
    have.

    Parameters
    ----------
    rate_reference, ratio : float
        The rates that are assumed: those of the sample, or others.
    n, n_reference : int
        Cases at hand of the group and of the reference.
    threshold, level, power : float
        Of the ratio; confidence level of the one comparison; power of the verdict that is right.

    Returns
    -------
    float
        1 or more; infinity where more than `MOST_GROWTH` times the cases are needed, as they are
        for a ratio near the threshold; NaN where a rate is 0 or 1.
    """
    if not (0 < rate_reference < 1 and 0 < ratio * rate_reference < 1 and n and n_reference):
        return float("nan")

    def chance(growth: float) -> float:
        cases = ceil(growth * n), ceil(growth * n_reference)
        return chance_of_verdict(rate_reference, ratio, *cases, threshold, level)

    if chance(1.0) >= power:
        return 1.0
    if chance(MOST_GROWTH) < power:
        return float("inf")
    low = 1.0
    high = MOST_GROWTH
    for _ in range(30):
        middle = sqrt(low * high)
        if chance(middle) >= power:
            high = middle
        else:
            low = middle
    return high


def growth_for_difference(
    rate: float,
    rate_reference: float,
    n: int,
    n_reference: int,
    margin: float,
    level: float,
    power: float = 0.8,
) -> float:
    """How many times the cases at hand would settle a difference with this power.

    Parameters and what is returned as in `growth_for_ratio`; `margin` is what the size of the
    difference is judged against.
    """
    # The nearer end of ±margin is excluded with the wanted power where
    #     | |d| − margin | = (z_level + z_power) √(v / growth),   v = r(1 − r)/n + r₀(1 − r₀)/n₀.
    variance = rate * (1 - rate) / n + rate_reference * (1 - rate_reference) / n_reference
    distance = abs(abs(rate - rate_reference) - margin)
    if not variance > 0:
        return float("nan")
    both_quantiles = normal_quantile(level) + normal_quantile(power)
    if distance**2 * MOST_GROWTH < both_quantiles**2 * variance:
        return float("inf")
    return max(float(both_quantiles**2 * variance / distance**2), 1.0)


def growth_by_interval(
    assumed: float,
    interval: tuple[float, float],
    fair: tuple[float, float],
    *,
    confidence_level: float,
    level: float,
    power: float = 0.8,
    log: bool = False,
) -> float:
    """How many times the rows at hand would settle a contrast of numbers with this power.

    Parameters
    ----------
    assumed : float
        The true contrast.
    interval : tuple of float
        Its two-sided interval at `confidence_level`, whose width says how far means scatter.
    fair : tuple of float
        Ends of the fair range.
    level : float
        Confidence level of one-sided limits.
    power : float
        Wanted probability that they leave out the nearer end of the fair range.
    log : bool
        Whether it is a ratio, which scatters as its logarithm does.

    Returns
    -------
    float
        At least 1; infinite above 100, NaN where the interval is of no use.
    """
    ends = np.array([assumed, *interval, *fair], dtype=np.float64)
    if log:
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = np.log(ends)
    if not np.isfinite(ends).all():
        return float("nan")
    value, low, high, fair_low, fair_high = ends.tolist()
    std_error = (high - low) / (2 * normal_quantile((1 + confidence_level) / 2))
    if not std_error > 0:
        return float("nan")
    # The nearer end is excluded with the wanted power where
    #     |value − end| = (z_level + z_power) · std_error / √growth.
    distance = min(abs(value - fair_low), abs(value - fair_high))
    wanted = (normal_quantile(level) + normal_quantile(power)) * std_error
    if distance**2 * MOST_GROWTH < wanted**2:
        return float("inf")
    return max(float((wanted / distance) ** 2), 1.0)


def sample_size_ratio(
    rate_reference: float,
    ratio: float,
    *,
    power: float = 0.8,
    allocation: float = 1.0,
    threshold: float = 0.8,
    alternative: Alternative = "less",
    confidence_level: float = 0.95,
) -> PowerResult:
    """Smallest group size at which the disparate-impact test has the wanted power.

    Parameters
    ----------
    rate_reference, ratio, threshold, alternative, confidence_level
        As in `power_ratio`.
    power : float, default 0.8
        Wanted power, in (0, 1) and above 1 − confidence_level.
    allocation : float, default 1
        Cases in the reference per case in the group; rounded up.

    Returns
    -------
    PowerResult
        With `n`, `n_reference` and the power that they reach.

    Raises
    ------
    InputError
        If the assumptions contradict each other, or ask for more than 10,000,000 cases.

    Notes
    -----
    Exact power is no monotone function of size: the answer is the first size that reaches the
    wanted one, looked for from where the formula with variances under the null and the assumed
    rates [1]_ comes near it. Where that leaves more than 500 sizes (20 with exact tests of
    verdicts), power counts as monotone among them.

    References
    ----------
    .. [1] Farrington, Manning (1990). Test statistics and sample size formulae for comparative
       binomial trials with null hypothesis of non-zero risk difference or non-unity relative risk.
       Statistics in Medicine 9, 1447–1454.

    Examples
    --------
    >>> import fairstats as fs
    >>> plan = fs.sample_size_ratio(0.5, 0.7, power=0.8)
    >>> print(plan.n, f"{plan.power:.3f}")
    971 0.800
    """
    plan = _check_design(rate_reference, ratio, threshold, alternative, confidence_level)
    least_power = 1 - plan.level
    allowed_power = f"between 1 − confidence_level = {least_power:.4g} and 1"
    bounds: dict[str, Any] = {"low": least_power, "high": 1, "open_low": True, "open_high": True}
    wanted = check_number("power", power, allowed=allowed_power, cure="0.8 or 0.9", **bounds)
    cases_per_case = check_number(
        "allocation",
        allocation,
        low=0,
        open_low=True,
        cure="reference cases per case",
    )
    n = _find_smallest_size(plan, wanted, cases_per_case)
    return _describe_power(plan, n, ceil(cases_per_case * n))


@under_way("search for the smallest sample")
def _find_smallest_size(plan: _Plan, wanted: float, allocation: float) -> int:
    """The first size of the group, of 2 or more, whose exact power is the wanted one."""
    most_cases = int(min(MAX_CASES, MAX_CASES / allocation))
    sizes = range(2, most_cases + 1)

    def about(n: int) -> float:
        return plan.normal_power(n, ceil(allocation * n))

    differences: dict[int, float] = {}

    def reaches(n: int) -> bool:
        # exact tests change the power of the score by about as much at one size as at the next one
        # tried, and take seconds where the score takes milliseconds: they decide where both are
        # near the wanted power
        m = ceil(allocation * n)
        by_score = plan.score_power(n, m)
        if not plan.counts_exactly(n, m):
            return by_score >= wanted
        if differences and n not in differences:
            nearest = min(differences, key=lambda size: abs(size - n))
            expected = by_score + differences[nearest]
            if abs(expected - wanted) > _NEAR_WANTED * plan.largest_probability(n, m):
                return expected >= wanted
        if n not in differences:
            differences[n] = plan.power(n, m) - by_score
        return by_score + differences[n] >= wanted

    if most_cases >= 2:
        size_by_formula = min(2 + bisect_left(sizes, wanted, key=about), most_cases)
        least_expected = _count_fewest_expected(
            size_by_formula, ceil(allocation * size_by_formula), plan.rate, plan.rate_reference
        )
        # the formula misses by less than this at each of 4,000 settings enumerated
        first_tried = min(
            2 + bisect_left(sizes, wanted - 0.2 / sqrt(1 + least_expected), key=about), most_cases
        )
        last_tried = min(first_tried + 1, most_cases)
        while last_tried < most_cases and not reaches(last_tried):
            last_tried = min(2 * last_tried - first_tried, most_cases)
        if reaches(last_tried):
            sizes_tried = range(first_tried, last_tried + 1)
            counts_exactly = plan.counts_exactly(first_tried, ceil(allocation * first_tried))
            start = first_tried
            if len(sizes_tried) > (_TRIED_EXACTLY if counts_exactly else _TRIED):
                start += bisect_left(sizes_tried[:-1], True, key=reaches)
            # exact tests at sizes tried meanwhile may say otherwise of the last one, not of many
            # after it
            for n in range(start, most_cases + 1):
                if reaches(n):
                    return n
    problem = f"{plan.ratio:g} with power {wanted:g} and allocation {allocation:g}"
    allowed = f"what {MAX_CASES:,} cases"
    cure = "assume a ratio further from the threshold, or less power"
    raise InputError("ratio", got=problem, allowed=f"{allowed} of each group can show", cure=cure)
