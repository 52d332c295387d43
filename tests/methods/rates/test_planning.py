"""Power and sample size. Witnesses: the normal formula, the enumerated power of the test itself,
statsmodels.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, norm

import fairstats as fs


def power_by_enumeration(
    rate: float, ratio: float, n: int, n_reference: int, threshold: float, alternative: str, level: float
) -> float:
    """P(the log test rejects) from the binomial probabilities of all pairs of counts."""
    k0, k1 = np.arange(n + 1)[:, None], np.arange(n_reference + 1)[None, :]
    null = 1.0 if alternative == "two-sided" else threshold
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.log(k0 / n / (k1 / n_reference) / null) / np.sqrt(1 / k0 - 1 / n + 1 / k1 - 1 / n_reference)
    critical = norm.ppf(level if alternative != "two-sided" else (1 + level) / 2)
    reject = {"less": z <= -critical, "greater": z >= critical, "two-sided": np.abs(z) >= critical}[
        alternative
    ]
    return float(
        (binom.pmf(k0, n, rate * ratio) * binom.pmf(k1, n_reference, rate) * np.nan_to_num(reject)).sum()
    )


@pytest.mark.parametrize(
    ("rate", "ratio", "n", "n_reference", "alternative"),
    [
        (0.5, 0.7, 400, 400, "less"),
        (0.3, 0.6, 300, 600, "less"),
        (0.1, 0.5, 1_000, 1_000, "less"),
        (0.6, 1.0, 500, 500, "greater"),
        (0.4, 0.95, 800, 1_500, "greater"),
        (0.5, 0.8, 300, 300, "two-sided"),
        (0.2, 1.3, 500, 400, "two-sided"),
    ],
)
def test_power_as_enumerated(rate: float, ratio: float, n: int, n_reference: int, alternative: Any) -> None:
    """Every expected count is above 40: the formula is a normal approximation, good to 2.5 percentage points
    there.
    """
    found = fs.power_ratio(rate, ratio, n=n, n_reference=n_reference, alternative=alternative).power
    wanted = power_by_enumeration(rate, ratio, n, n_reference, 0.8, alternative, 0.95)
    assert found == pytest.approx(wanted, abs=0.025)


def test_power_by_simulation_of_the_public_test(rng: np.random.Generator) -> None:
    """1,000 samples through `disparate_impact`; four binomial standard errors (5%) and the approximation
    (1%).
    """
    plan = fs.power_ratio(0.5, 0.65, n=300)
    k0, k1 = rng.binomial(300, 0.325, 1_000), rng.binomial(300, 0.5, 1_000)
    rejected = [
        fs.disparate_impact(
            counts={"a": (a, 300 - a), "b": (b, 300 - b)}, reference="b", alternative="less"
        ).pvalue
        < 0.05
        for a, b in zip(k0.tolist(), k1.tolist(), strict=True)
    ]
    assert plan.power == pytest.approx(np.mean(rejected), abs=0.06)


def test_the_formula_by_hand() -> None:
    plan = fs.power_ratio(0.5, 0.7, n=400, n_reference=700, confidence_level=0.9)
    error = np.sqrt(0.65 / (400 * 0.35) + 0.5 / (700 * 0.5))
    assert plan.power == pytest.approx(norm.cdf(np.log(0.8 / 0.7) / error - norm.ppf(0.9)), rel=1e-12)
    two = fs.power_ratio(0.5, 0.7, n=400, alternative="two-sided")
    error = np.sqrt(0.65 / (400 * 0.35) + 0.5 / (400 * 0.5))
    distance = np.log(0.7) / error
    assert two.power == pytest.approx(
        norm.cdf(distance - norm.ppf(0.975)) + norm.cdf(-distance - norm.ppf(0.975)), rel=1e-12
    )
    assert two.threshold == 1


def test_power_grows_with_size_and_effect() -> None:
    sizes = [fs.power_ratio(0.5, 0.7, n=n).power for n in (50, 100, 500, 5_000)]
    assert sizes == sorted(sizes)
    ratios = [fs.power_ratio(0.5, r, n=300).power for r in (0.79, 0.7, 0.6, 0.4)]
    assert ratios == sorted(ratios)
    near = fs.power_ratio(0.5, 0.8 - 1e-9, n=300).power
    assert near == pytest.approx(0.05, abs=1e-6), "at the threshold the power is the size"


@pytest.mark.parametrize("allocation", [1.0, 2.0, 0.5, 0.37, 3.0])
@pytest.mark.parametrize("alternative", ["less", "two-sided"])
@pytest.mark.parametrize("power", [0.5, 0.8, 0.95])
def test_the_sample_size_is_the_smallest(power: float, alternative: Any, allocation: float) -> None:
    plan = fs.sample_size_ratio(0.4, 0.6, power=power, alternative=alternative, allocation=allocation)
    assert plan.power >= power
    assert plan.n_reference == int(np.ceil(allocation * plan.n))
    fewer = plan.n - 1
    # One fewer, with the exact (not rounded up) share of reference cases, does not reach it.
    error = np.sqrt((1 - 0.24) / (fewer * 0.24) + 0.6 / (allocation * fewer * 0.4))
    if alternative == "less":
        reached = norm.cdf(np.log(0.8 / 0.6) / error - norm.ppf(0.95))
    else:
        reached = norm.cdf(-np.log(0.6) / error - norm.ppf(0.975)) + norm.cdf(
            np.log(0.6) / error - norm.ppf(0.975)
        )
    assert reached < power


def test_the_closed_sample_size() -> None:
    """n = (z_α + z_β)²·[(1−r₀)/r₀ + (1−r₁)/r₁]/log²(ratio/threshold), rounded up."""
    wanted = (norm.ppf(0.95) + norm.ppf(0.8)) ** 2 * (0.65 / 0.35 + 1) / np.log(0.7 / 0.8) ** 2
    assert fs.sample_size_ratio(0.5, 0.7, power=0.8).n == int(np.ceil(wanted))


@pytest.mark.parametrize("n", [400, 400.0, np.int64(400), np.float64(400)], ids=repr)
def test_numbers_of_any_type(n: Any) -> None:
    assert fs.power_ratio(np.float64(0.5), np.float64(0.7), n=n, n_reference=n).power == pytest.approx(
        0.474, abs=1e-3
    )


def test_a_plan_is_a_result() -> None:
    plan = fs.sample_size_ratio(0.5, 0.7)
    frame = plan.to_frame()
    assert frame.loc[0, "estimate"] == plan.power
    assert frame.loc[0, "n"] == plan.n
    assert "power" in str(plan).lower()
    assert fs.power_ratio(0.5, 0.7, n=plan.n).power == plan.power
