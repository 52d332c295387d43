"""Ways to the limits of a pair.

Every limit is where its statistic has the critical value, by other means.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm, t

from fairstats.methods.rates.limits import (
    Fieller,
    LogRatio,
    Mover,
    Score,
    SharedUnits,
    Wald,
    Widest,
)
from fairstats.numerics.rates.score_limits import difference_limit

CRITICAL = (0.3, 1.2816, 1.96, 3.0)
#: Two parts of a mean of differences: tables (k₀, n₀, k₁, n₁) of different sizes.
PARTS = ((12.0, 30.0, 40.0, 60.0), (5.0, 25.0, 9.0, 50.0))


#: Groups that share clusters: their rates depend on each other.
SHARED = SharedUnits(variance=0.008, variance_reference=0.004, covariance=0.002)


def mover(*tables: Any, shared: SharedUnits | None = None) -> Mover:
    """Mean of two differences by their score limits."""
    parts = [
        (k0 / n0 - k1 / n1, Score(np.inf, (k0, n0, k1, n1), "difference", True, shared=shared))
        for k0, n0, k1, n1 in tables
    ]
    return Mover(np.inf, (parts[0], parts[1]))


METHODS = {
    "wald": Wald(np.inf, 0.7, 0.12),
    "log": LogRatio(np.inf, 0.7, 0.2),
    "fieller": Fieller(np.inf, (0.5, 0.8), (0.004, 0.009)),
    "widest": Widest(np.inf, (Wald(np.inf, 0.7, 0.12), Wald(np.inf, 0.6, 0.11))),
    "score ratio": Score(np.inf, (12.0, 30.0, 40.0, 60.0), "ratio", True),
    "continuity": Score(np.inf, (12.0, 30.0, 40.0, 60.0), "ratio", False, continuity=True),
    "shared": Score(np.inf, (12.0, 30.0, 40.0, 60.0), "difference", True, shared=SHARED),
    "shared ratio": Score(np.inf, (12.0, 30.0, 40.0, 60.0), "ratio", True, shared=SHARED),
    "shared odds": Score(np.inf, (12.0, 30.0, 40.0, 60.0), "odds_ratio", True, shared=SHARED),
    "mover": mover(*PARTS),
    "shared mover": mover(*PARTS, shared=SHARED),
}


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("critical", CRITICAL)
def test_the_statistic_at_an_end_is_the_critical_value(name: str, critical: float) -> None:
    """Positive at the lower end, where the estimate lies above.

    Intervals take it from the level.
    """
    how: Any = METHODS[name]
    low, high = how.limits(critical)
    assert low < high
    assert how.statistic(low) == pytest.approx(critical, abs=1e-7)
    assert how.statistic(high) == pytest.approx(-critical, abs=1e-7)
    assert how.interval(2 * norm.cdf(critical) - 1) == pytest.approx((low, high), rel=1e-12)
    few = type(how)(7.0, *list(vars(how).values())[1:])
    assert few.interval(0.9) == pytest.approx(how.limits(t(7).ppf(0.95)), rel=1e-9)


def test_closed_forms() -> None:
    """θ̂ ± z·s and its statistic, and the same of logarithms.

    No error has an infinite statistic.
    """
    wald = Wald(np.inf, 0.7, 0.1)
    log = LogRatio(np.inf, 0.7, 0.2)
    assert wald.limits(2.0) == pytest.approx((0.5, 0.9))
    assert wald.statistic(0.55) == pytest.approx(1.5)
    assert wald.statistic(0.7) == 0.0
    assert Wald(np.inf, 0.7, 0.0).statistic(0.7) == 0.0
    assert Wald(np.inf, 0.7, 0.0).statistic(0.6) == np.inf
    assert Wald(np.inf, 0.7, 0.0).statistic(0.8) == -np.inf
    assert log.limits(1.5) == pytest.approx((0.7 * np.exp(-0.3), 0.7 * np.exp(0.3)))
    assert log.statistic(0.5) == pytest.approx(np.log(1.4) / 0.2)


@pytest.mark.parametrize(
    ("values", "variances"),
    [
        ((0.5, 0.8), (0.004, 0.009)),
        ((0.05, 0.8), (0.004, 0.009)),
        ((0.5, 0.15), (0.004, 0.009)),
        ((0.05, 0.1), (0.01, 0.01)),
    ],
    ids=["inner", "from zero", "no upper end", "neither end"],
)
def test_fiellers_limits_are_all_that_is_not_rejected(values: Any, variances: Any) -> None:
    """(a − θb)² ≤ z²(v₁ + θ²v₀), ends by searches of SciPy.

    Open where the reference may be zero.
    """
    how = Fieller(np.inf, values, variances)
    z = 1.96
    (a, b), (v, w) = values, variances

    def excess(theta: float) -> float:
        return float(abs(a - theta * b) - z * np.sqrt(v + theta**2 * w))

    low, high = how.limits(z)
    assert low == pytest.approx(brentq(excess, 0, a / b) if a > z * np.sqrt(v) else 0.0, rel=1e-9)
    assert high == pytest.approx(
        brentq(excess, a / b, 1e4) if b > z * np.sqrt(w) else np.inf, rel=1e-9
    )
    for theta in (0.0, 0.3, 1.0, 2.5):
        assert how.statistic(theta) == pytest.approx(
            (a - theta * b) / np.sqrt(v + theta**2 * w), rel=1e-12
        )


def test_the_widest_of_two_rejects_what_both_do() -> None:
    """Its ends are the outer ones, its statistic the smaller one in size, 0 where they disagree."""
    one = Wald(np.inf, 0.7, 0.1)
    other = Wald(np.inf, 0.5, 0.2)
    both = Widest(np.inf, (one, other))
    assert both.limits(1.0) == pytest.approx((0.3, 0.8))
    assert both.limits(0.1) == pytest.approx((0.48, 0.71))
    for null, wanted in ((0.4, 0.5), (0.2, 1.5), (0.6, 0.0), (0.9, -2.0), (0.75, -0.5)):
        assert both.statistic(null) == pytest.approx(wanted)
        assert Widest(np.inf, (other, one)).statistic(null) == pytest.approx(wanted)


@pytest.mark.parametrize("contrast", ["ratio", "difference"])
def test_shared_clusters_multiply_the_statistic_by_what_they_take_from_the_variance(
    contrast: Any,
) -> None:
    """Closed form: of r − θr₀, independent over dependent; ends have the critical statistic."""
    table = (12.0, 30.0, 40.0, 60.0)
    plain = Score(np.inf, table, contrast, True)
    shared = Score(np.inf, table, contrast, True, shared=SHARED)
    for null in (0.4, 0.9) if contrast == "ratio" else (-0.5, -0.1):
        slope = null if contrast == "ratio" else 1.0
        apart = 0.008 + slope**2 * 0.004
        together = apart - 2 * slope * 0.002
        wanted = plain.statistic(null) * np.sqrt(apart / together)
        assert shared.statistic(null) == pytest.approx(wanted, rel=1e-12)
    low, high = shared.limits(1.5)
    assert plain.limits(1.5)[0] < low < high < plain.limits(1.5)[1]
    assert shared.statistic(low) == pytest.approx(1.5, abs=1e-8)
    assert shared.statistic(high) == pytest.approx(-1.5, abs=1e-8)


@pytest.mark.parametrize(
    "tables",
    [
        PARTS,
        ((1.0, 8.0, 7.0, 8.0), (3.0, 40.0, 35.0, 40.0)),
        ((0.0, 5.0, 5.0, 5.0), (20.0, 40.0, 20.0, 40.0)),
        ((20.0, 40.0, 20.0, 40.0), (0.0, 5.0, 5.0, 5.0)),
        ((4.0, 9.0, 4.0, 9.0), (9.0, 9.0, 0.0, 12.0)),
    ],
    ids=str,
)
def test_a_mean_of_differences_inverts_its_limits(tables: Any) -> None:
    """Witness: limits by the formula of Zou and Donner, and the critical value at which one is the
    null.

    The search ends at 30, where a value that no such interval reaches has its statistic.
    """
    how = mover(*tables)
    differences = [k0 / n0 - k1 / n1 for k0, n0, k1, n1 in tables]
    mean = sum(differences) / 2
    assert how.estimate == pytest.approx(mean, abs=1e-15)

    def limit(z: float, side: int) -> float:
        ends = [difference_limit(table, z, True, False, side) for table in tables]
        return mean + side * float(np.hypot(*(np.array(ends) - differences))) / 2

    for z in CRITICAL:
        wanted = max(limit(z, -1), -1.0), min(limit(z, 1), 1.0)
        assert how.limits(z) == pytest.approx(wanted, abs=1e-12)
    for null in np.linspace(-0.95, 0.95, 14).tolist():
        side = -1 if mean > null else 1
        reached = side * (limit(29.9, side) - null) > 0
        wanted = (
            brentq(lambda z, s=side, null=null: limit(z, s) - null, 1e-9, 29.9) if reached else 30.0
        )
        assert how.statistic(null) == pytest.approx(-side * wanted, abs=1e-5 if reached else 0.2), (
            null
        )
    assert how.statistic(mean) == 0.0
