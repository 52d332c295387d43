"""Parts of changes and their combination.

Formulas of Wilson and of Zou and Donner, searches by halves.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from statsmodels.stats.proportion import proportion_confint

from fairstats.numerics.paired.score import (
    Part,
    change_within,
    contrast,
    crossing,
    difference_end,
    difference_statistic,
    log_ratio_end,
    ratio_statistic,
    sum_within,
    wilson_limits,
)

LEVELS = (0.5, 1.2816, 1.959964, 3.0)
TABLES = [
    (50.0, 9.0, 21.0, 40.0),
    (12.0, 1.0, 5.0, 3.0),
    (3.0, 0.0, 0.0, 7.0),
    (0.0, 4.0, 6.0, 2.0),
    (5.0, 0.0, 3.0, 0.0),
    (0.5, 2.5, 0.25, 9.0),
    (0.0, 4.0, 0.0, 9.0),
    (0.0, 0.0, 3.0, 5.0),
]


@pytest.mark.parametrize(("k", "n"), [(0, 9), (3, 9), (9, 9), (120, 400), (1, 40)])
@pytest.mark.parametrize("z", LEVELS)
def test_wilsons_limits_as_statsmodels(k: int, n: int, z: float) -> None:
    """`proportion_confint(method="wilson")` at the level of z.

    On the log scale for ratios, −∞ for 0.
    """
    from scipy.stats import norm

    low, high = proportion_confint(k, n, alpha=2 * norm.sf(z), method="wilson")
    low = 0.0 if k == 0 else low
    assert wilson_limits(k, n, z, ratio=False) == pytest.approx((low, min(high, 1.0)), abs=1e-12)
    logs = -np.inf if k == 0 else np.log(low), np.log(min(high, 1.0))
    assert wilson_limits(k, n, z, ratio=True) == pytest.approx(logs, abs=1e-12)


@pytest.mark.parametrize("z", LEVELS)
@pytest.mark.parametrize("table", TABLES, ids=str)
def test_ends_are_where_the_statistic_has_the_critical_value(table: Any, z: float) -> None:
    """Both ends of both scales, by SciPy's search from the estimate outwards.

    Open or at ±1 where it ends.
    """
    both, only_a, only_b, _ = table
    n = sum(table)
    centre = (only_b - only_a) / n
    for side in (1, -1):  # the lower end has a positive statistic
        target = side * z

        def excess(d: float, target: float = target) -> float:
            return float(np.clip(difference_statistic(table, d), -1e6, 1e6) - target)

        end = -1.0 + 1e-13 if side > 0 else 1.0 - 1e-13
        reached = excess(end) * side > 0
        wanted = brentq(excess, centre, end, xtol=1e-14) if reached else -side
        assert difference_end(table, target) == pytest.approx(wanted, abs=1e-8)
        a = both + only_a
        b = both + only_b
        if (b if side > 0 else a) == 0:
            assert log_ratio_end(table, target) == -side * np.inf
            continue
        at = log_ratio_end(table, target)
        assert ratio_statistic(table, float(np.exp(at))) == pytest.approx(target, abs=1e-6)
        known = a > 0 and b > 0
        assert not known or side * (np.log(b / a) - at) > 0


@pytest.mark.parametrize("ratio", [False, True])
@pytest.mark.parametrize("table", TABLES, ids=str)
def test_change_and_sum_within_a_group(table: Any, ratio: bool) -> None:
    """Estimates by hand; of the sum Wilson's limits by MOVER with the correlation φ of both
    successes.
    """
    both, only_a, only_b, none = table
    n = sum(table)
    a = both + only_a
    b = both + only_b
    with np.errstate(divide="ignore"):
        one, other = (np.log([a / n, b / n]) if ratio else np.array([a / n, b / n])).tolist()
    change = change_within(table, ratio=ratio)
    total = sum_within(table, ratio=ratio)
    assert change.estimate == pytest.approx(other - one, abs=1e-12, nan_ok=True)
    assert total.estimate == pytest.approx(one + other, abs=1e-12)
    spread = a * b * (n - a) * (n - b)
    phi = (both * none - only_a * only_b) / np.sqrt(spread) if spread > 0 else 1.0
    for z in LEVELS:
        limits = [wilson_limits(k, n, z, ratio=ratio) for k in (a, b)]
        wanted = [-np.inf, limits[0][1] + limits[1][1]]
        for side in (0, 1) if np.isfinite(one + other) else ():
            far = [abs(own[side] - at) for own, at in zip(limits, (one, other), strict=True)]
            square = far[0] ** 2 + far[1] ** 2 + 2 * phi * far[0] * far[1]
            wanted[side] = one + other + (2 * side - 1) * np.sqrt(max(square, 0.0))
        assert total.limits(z) == pytest.approx(tuple(wanted), abs=1e-12)
        end = log_ratio_end if ratio else difference_end
        assert change.limits(z) == (end(table, z), end(table, -z))


def test_a_group_without_rows_has_no_limits() -> None:
    """NaN, and every value possible."""
    for part in (change_within((0.0,) * 4, ratio=False), sum_within((0.0,) * 4, ratio=True)):
        assert np.isnan(part.estimate)
        assert part.limits(1.96) == (-np.inf, np.inf)
        assert np.isnan(part.statistic())


def skew(at: float, below: float, above: float) -> Part:
    """A quantity whose limits lie unequally far."""
    return Part(at, lambda z: at - below * z**1.1, lambda z: at + above * z**0.9)


def test_combinations_are_squares_added() -> None:
    """Difference and mean of independent quantities, end by end (Zou & Donner 2008)."""
    one = skew(0.4, 0.1, 0.25)
    other = skew(-0.1, 0.2, 0.05)
    third = skew(1.0, 0.3, 0.3)
    apart = contrast(one, other)
    mean = Part.mean([one, other, third])
    assert apart.estimate == pytest.approx(0.5)
    assert mean.estimate == pytest.approx(1.3 / 3)
    for z in LEVELS:
        low = z**1.1
        high = z**0.9
        assert apart.limits(z) == pytest.approx(
            (0.5 - np.hypot(0.1 * low, 0.05 * high), 0.5 + np.hypot(0.25 * high, 0.2 * low)),
            rel=1e-12,
        )
        reach = [
            np.sqrt(np.dot(far, far)) / 3
            for far in (low * np.array([0.1, 0.2, 0.3]), high * np.array([0.25, 0.05, 0.3]))
        ]
        assert mean.limits(z) == pytest.approx(
            (mean.estimate - reach[0], mean.estimate + reach[1]), rel=1e-12
        )
    kept = one.kept()
    assert (kept.estimate, kept.limits(1.5)) == (one.estimate, one.limits(1.5))
    around = Part.normal(0.3, 0.1, 0.5)
    assert around.estimate == 0.3
    assert around.limits(2.0) == pytest.approx((0.3, 0.7))
    assert Part.normal(0.3, 0.1).limits(2.0) == pytest.approx((0.1, 0.5))
    # limits on the wrong side of their estimate count as none
    inner = Part(0.4, lambda z: 0.5, lambda z: 0.3)
    assert contrast(inner, other).limits(1.0) == pytest.approx((0.5 - 0.05, 0.5 + 0.2), abs=1e-12)
    assert contrast(other, inner).limits(1.0) == pytest.approx((-0.5 - 0.2, -0.5 + 0.05), abs=1e-12)


@pytest.mark.parametrize("at", [0.4, -0.4, 1e-3, -7.0, 0.9])
def test_the_statistic_is_where_an_interval_ends_at_zero(at: float) -> None:
    """In closed form: (|θ|/s)^(1/1.1) of the lower end, (|θ|/s)^(1/.9) of the upper one.

    30 at most.
    """
    below = 0.1
    above = 0.25
    wanted = (at / below) ** (1 / 1.1) if at > 0 else -((-at / above) ** (1 / 0.9))
    assert skew(at, below, above).statistic() == pytest.approx(np.clip(wanted, -30, 30), rel=1e-9)


def test_statistics_without_a_root() -> None:
    """No estimate or none but 0, an interval that never leaves 0, or never reaches it.

    Infinite ones.
    """
    assert Part.normal(0.0, 0.1).statistic() == 0.0
    assert np.isnan(Part.normal(np.nan, 0.1).statistic())
    assert Part(0.5, lambda z: -0.1, lambda z: 1.0).statistic() == 0.0
    assert Part(0.5, lambda z: 0.1, lambda z: 1.0).statistic() == 30.0
    assert Part(-0.5, lambda z: -1.0, lambda z: -0.1).statistic() == -30.0
    assert Part(np.inf, lambda z: 2.5 - z, lambda z: np.inf).statistic() == pytest.approx(
        2.5, rel=1e-9
    )
    assert Part(-np.inf, lambda z: -np.inf, lambda z: z - 2.5).statistic() == pytest.approx(
        -2.5, rel=1e-9
    )


@pytest.mark.parametrize("ends", [(0.0, 3.0), (3.0, 0.0)])
def test_a_crossing_as_scipys(ends: tuple[float, float]) -> None:
    """Flat, steep and bent functions; brentq is the witness, to 1e-12 and with few more calls."""
    for function in (
        lambda x: x**3 - 2,
        lambda x: np.expm1(5 * (x - 1)),
        lambda x: np.cbrt(x - 2.9),
        lambda x: 1.0 - x,
        lambda x: np.tanh(40 * (x - 0.3)) - 0.5,
    ):
        calls: list[float] = []

        def counted(x: float, function: Any = function, calls: list[float] = calls) -> float:
            calls.append(x)
            return float(function(x))

        wanted, said = brentq(function, 0.0, 3.0, xtol=1e-15, full_output=True)
        assert crossing(counted, *ends, 1e-14) == pytest.approx(wanted, abs=1e-12)
        assert len(calls) <= 3 * said.function_calls + 10
