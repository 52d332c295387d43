"""Power and sample size. Witnesses: all tables one by one through the score statistic or the public
test, the formula of Farrington and Manning, samples, and every smaller size."""

from __future__ import annotations

import math
import warnings
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, norm

import fairstats as fs
from fairstats.ground.verdict import z_evidence
from fairstats.methods.rates.planning import (
    PowerResult,
    _Plan,
    chance_of_verdict,
    detectable_ratio,
    equality_power,
)
from fairstats.numerics.rates.score import ratio_score_statistic

ALLOCATIONS = (1.0, 4.0, 10.0, 20.0, 0.1)


def rejected(z_low: float, z_high: float, z_one: float, alternative: str, level: float) -> bool:
    """Whether a test or a verdict speaks, from the statistics of θ, 1/θ and 1.

    By the rule of verdicts.
    """
    c = norm.ppf(level)
    if alternative in ("violated", "satisfied"):
        evidence = z_evidence(z_low, z_high)
        smallest = min(evidence.below, evidence.above)
        return (evidence.inside if alternative == "satisfied" else smallest) <= 1 - level
    shown = {
        "less": z_low <= -c,
        "greater": z_low >= c,
        "two-sided": abs(z_one) >= norm.ppf((1 + level) / 2),
    }
    return bool(shown[alternative])


def all_tables(
    rate: float, ratio: float, n: int, m: int, alternative: str, threshold: float, level: float
) -> float:
    """P(the test rejects) from the binomial probabilities of all pairs of counts."""
    k0, k1 = np.meshgrid(np.arange(n + 1), np.arange(m + 1), indexing="ij")
    z = [ratio_score_statistic(k0, n, k1, m, null) for null in (threshold, 1 / threshold, 1.0)]
    speaks = np.vectorize(lambda *s: rejected(*s, alternative=alternative, level=level))(*z)
    weight = binom.pmf(np.arange(n + 1), n, rate * ratio)[:, None] * binom.pmf(
        np.arange(m + 1), m, rate
    )
    return float((weight * speaks).sum())


@pytest.mark.parametrize(
    ("rate", "ratio", "n", "m", "alternative", "threshold", "level"),
    [
        (0.5, 0.4, 40, 40, "less", 0.8, 0.95),
        (0.3, 0.6, 15, 90, "less", 0.8, 0.9),
        (0.95, 0.7, 90, 12, "less", 0.9, 0.95),
        (0.6, 1.2, 50, 30, "greater", 0.8, 0.95),
        (0.1, 1.5, 30, 80, "greater", 1.0, 0.99),
        (0.5, 0.6, 40, 60, "two-sided", 0.8, 0.95),
        (0.2, 1.9, 50, 25, "two-sided", 0.8, 0.9),
        (0.5, 0.5, 40, 60, "violated", 0.95, 0.95),
        (0.4, 1.8, 60, 30, "violated", 0.9, 0.95),
        (0.7, 0.6, 30, 70, "violated", 1.0, 0.9),
        (0.8, 1.05, 60, 70, "satisfied", 0.7, 0.9),
        (0.9, 0.95, 70, 40, "satisfied", 0.8, 0.95),
    ],
)
def test_power_is_the_probability_of_all_tables(
    rate: float, ratio: float, n: int, m: int, alternative: Any, threshold: float, level: float
) -> None:
    """Of tests; of verdicts what the score alone would show, before exact tests of few cases."""
    options: dict[str, Any] = {"threshold": threshold, "confidence_level": level}
    found = (
        _Plan(rate, ratio, threshold, alternative, level).score_power(n, m)
        if alternative in ("violated", "satisfied")
        else fs.power_ratio(
            rate, ratio, n=n, n_reference=m, alternative=alternative, **options
        ).power
    )
    wanted = all_tables(rate, ratio, n, m, alternative, threshold, level)
    assert found == pytest.approx(wanted, rel=1e-10)


@pytest.mark.parametrize(
    ("rate", "ratio", "n", "m", "alternative", "options"),
    [
        (0.7, 0.2, 6, 9, "violated", {"threshold": 1.0, "confidence_level": 0.9}),
        (0.3, 2.8, 6, 11, "violated", {}),
        (0.95, 1.0, 5, 7, "satisfied", {"threshold": 0.5, "confidence_level": 0.8}),
        pytest.param(0.999, 0.6, 27, 27, "violated", {}, marks=pytest.mark.slow),
        pytest.param(0.4, 0.4, 15, 30, "violated", {"threshold": 0.9}, marks=pytest.mark.slow),
        (0.3, 2.4, 15, 6, "violated", {"threshold": 0.9}),
        (0.7, 1.0, 5, 12, "satisfied", {"threshold": 0.3}),
        pytest.param(0.4, 0.4, 15, 40, "violated", {}, marks=pytest.mark.slow),
    ],
)
def test_the_power_of_a_verdict_is_the_probability_of_its_tables(
    rate: float, ratio: float, n: int, m: int, alternative: Any, options: dict[str, Any]
) -> None:
    """Every table through `disparate_impact`; those left out have together less than 1e-10.

    At 27 beside 27 the score test has .810, verdicts .689.
    """
    weight = np.outer(
        binom.pmf(np.arange(n + 1), n, rate * ratio), binom.pmf(np.arange(m + 1), m, rate)
    )
    total = 0.0
    for k, j in np.argwhere(weight > 1e-12).tolist():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", fs.FairstatsWarning)
            tables = {"a": (k, n - k), "b": (j, m - j)}
            (c,) = fs.disparate_impact(counts=tables, reference="b", **options).comparisons
        total += weight[k, j] * (c.verdict == alternative)
    found = fs.power_ratio(rate, ratio, n=n, n_reference=m, alternative=alternative, **options)
    assert 0.02 < total < 0.999
    assert found.power == pytest.approx(total, abs=1e-9)
    by_score = _Plan(rate, ratio, found.threshold, alternative, found.confidence_level).score_power(
        n, m
    )
    assert by_score > total + 1e-3, "the score shows more, so that the case can tell them apart"


@pytest.mark.parametrize(
    ("sizes", "alternative", "exactly"),
    [
        ((20, 3_000), "violated", True),
        ((3_000, 20), "satisfied", True),
        ((20, 3_000), "less", False),
        ((40, 2_600), "violated", False),
    ],
)
def test_verdicts_of_so_many_tables_are_counted_exactly(
    sizes: tuple[int, int], alternative: Any, exactly: bool
) -> None:
    """Verdicts, of at most 100,000 tables."""
    assert _Plan(0.3, 0.5, 0.8, alternative, 0.95).counts_exactly(*sizes) is exactly


def test_power_is_that_of_the_public_test() -> None:
    """Every table of 4 and 6 cases through `disparate_impact(method="score")`."""
    ratios: dict[Any, float] = {"less": 0.3, "greater": 1.4, "two-sided": 0.2}
    totals = dict.fromkeys(ratios, 0.0)
    for k0, k1 in product(range(5), range(7)):
        if k0 + k1:  # 0/0 shows nothing
            counts = {"a": (k0, 4 - k0), "b": (k1, 6 - k1)}
            result = fs.disparate_impact(counts=counts, reference="b", method="score")
            tests = {t.alternative: t for t in result.comparisons[0].tests if t.method == "score"}
            for alternative, ratio in ratios.items():
                weight = binom.pmf(k0, 4, 0.6 * ratio) * binom.pmf(k1, 6, 0.6)
                totals[alternative] += weight * (tests[alternative].pvalue <= 0.05)
    for alternative, ratio in ratios.items():
        found = fs.power_ratio(0.6, ratio, n=4, n_reference=6, alternative=alternative)
        assert found.power == pytest.approx(totals[alternative], rel=1e-9)


def test_power_by_simulation_at_large_unequal_sizes(rng: np.random.Generator) -> None:
    """40,000 samples of 1,000 beside 20,000; four binomial standard errors."""
    k0 = rng.binomial(1_000, 0.36, 40_000)
    k1 = rng.binomial(20_000, 0.5, 40_000)
    share = np.mean(ratio_score_statistic(k0, 1_000, k1, 20_000, 0.8) <= -norm.ppf(0.95))
    found = fs.power_ratio(0.5, 0.72, n=1_000, n_reference=20_000).power
    assert found == pytest.approx(share, abs=4 * np.sqrt(found * (1 - found) / 40_000))


def test_the_formula_of_farrington_and_manning() -> None:
    """With 20,000 cases the exact power is that of the normal distribution.

    0.002 for its lattice.
    """
    p = 0.385
    q = 0.5
    theta = 0.8
    n = 20_000
    m = 5_000
    z = float(ratio_score_statistic(n * p, n, m * q, m, theta))
    spread = np.sqrt(p * (1 - p) / n + theta**2 * q * (1 - q) / m)
    wanted = norm.cdf((theta * q - p - norm.ppf(0.95) * (p - theta * q) / z) / spread)
    assert 0.2 < wanted < 0.9
    assert fs.power_ratio(q, p / q, n=n, n_reference=m).power == pytest.approx(wanted, abs=0.002)


@pytest.mark.parametrize(
    ("ratio", "alternative"),
    [
        (0.7, "less"),
        (1.4, "greater"),
        (0.85, "greater"),
        (0.8, "two-sided"),
        (1.2, "two-sided"),
        (0.6, "violated"),
        (1.5, "violated"),
        (1.0, "satisfied"),
        (0.9, "satisfied"),
        (1.15, "satisfied"),
    ],
)
@pytest.mark.parametrize(("n", "m", "level"), [(300, 700, 0.95), (500, 90, 0.9)])
def test_the_formula_for_every_alternative(
    ratio: float, alternative: Any, n: int, m: int, level: float
) -> None:
    """Normal estimates of the distance p − θq, rejected beyond the critical value times the null's
    error.

    The null's error is that of the constrained rates, distance/z of the score statistic of the
    expected counts. "two-sided": θ = 1 on both sides; verdicts: .8 and 1.25, "satisfied" where both
    ends are excluded."""
    q = 0.55
    p = ratio * q
    two_sided = alternative == "two-sided"
    z = norm.ppf((1 + level) / 2 if two_sided else level)

    def law(theta: float) -> tuple[float, float]:
        """Expected distance, and how far the critical value lies, in units of the distance's own
        error.
        """
        distance = p - theta * q
        error = np.sqrt(p * (1 - p) / n + theta**2 * q * (1 - q) / m)
        statistic = float(ratio_score_statistic(n * p, n, m * q, m, theta))
        return distance / error, z * (distance / statistic if statistic else error) / error

    ends = {"two-sided": (1.0, 1.0), "less": (0.8, 0.8), "greater": (0.8, 0.8)}.get(
        alternative, (0.8, 1.25)
    )
    (low, far_low), (high, far_high) = law(ends[0]), law(ends[1])
    wanted = {
        "less": norm.cdf(-low - far_low),
        "greater": norm.sf(far_high - high),
        "satisfied": max(norm.sf(far_low - low) + norm.cdf(-far_high - high) - 1, 0.0),
    }.get(alternative, norm.cdf(-low - far_low) + norm.sf(far_high - high))
    plan = _Plan(q, ratio, 1.0 if two_sided else 0.8, alternative, level)
    assert plan.normal_power(n, m) == pytest.approx(wanted, rel=1e-9)
    assert plan.normal_power(n, m) == pytest.approx(plan.score_power(n, m), abs=0.03)
    if alternative in ("violated", "satisfied"):
        assert chance_of_verdict(q, ratio, n, m, 0.8, level) == plan.normal_power(n, m)


def test_the_ratio_that_can_be_detected_has_the_power() -> None:
    """Just below it the formula gives the power or more, just above less.

    Halving 20 times is 1e-6.
    """
    for rate, n, m, power in ((0.5, 300, 300, 0.8), (0.2, 900, 400, 0.9)):
        found = detectable_ratio(rate, n, m, 0.8, 0.95, power)
        assert 0 < found < 0.8
        assert chance_of_verdict(rate, found, n, m, 0.8, 0.95) >= power
        assert chance_of_verdict(rate, found + 2e-6, n, m, 0.8, 0.95) < power
    assert detectable_ratio(0.5, 300, 300, 0.8, 0.95) == detectable_ratio(
        0.5, 300, 300, 0.8, 0.95, 0.8
    )


def test_the_power_of_equality_is_exact_where_few_are_expected() -> None:
    """Ten of each kind expected: the formula, fewer: all tables.

    NaN where a rate or a size is none.
    """
    for n, m, rate, ratio in (
        (24, 80, 0.5, 0.8),
        (26, 80, 0.5, 0.8),
        (200, 19, 0.5, 0.8),
        (200, 21, 0.5, 0.8),
    ):
        plan = _Plan(rate, ratio, 1.0, "two-sided", 0.95)
        few = min(n * 0.4, n * 0.6, m * 0.5) < 10
        wanted = (
            all_tables(rate, ratio, n, m, "two-sided", 0.8, 0.95)
            if few
            else plan.normal_power(n, m)
        )
        found = equality_power(n, m, rate, ratio, 0.95)
        assert found == pytest.approx(wanted, rel=1e-10)
        assert abs(plan.power(n, m) - plan.normal_power(n, m)) > 1e-5
    for odd in (
        (0, 9, 0.5, 0.8),
        (9, 0, 0.5, 0.8),
        (9, 9, 0.0, 0.8),
        (9, 9, 1.0, 0.8),
        (9, 9, 0.5, 0.0),
        (9, 9, 0.5, 1.0),
    ):
        assert math.isnan(equality_power(*odd, 0.95))


def test_power_grows_with_size_and_effect() -> None:
    sizes = [fs.power_ratio(0.5, 0.7, n=n).power for n in (50, 100, 500, 5_000)]
    assert sizes == sorted(sizes)
    ratios = [fs.power_ratio(0.5, r, n=300).power for r in (0.79, 0.7, 0.6, 0.4)]
    assert ratios == sorted(ratios)
    near = fs.power_ratio(0.5, 0.8 - 1e-9, n=3_000).power
    assert near == pytest.approx(0.05, abs=0.002), "at the threshold the power is the size"


def test_verdicts_ask_more_than_one_sided_tests() -> None:
    """Both ends for "satisfied"; both directions at their joint level for "violated"."""
    options: dict[str, Any] = {"n": 200, "threshold": 0.8}
    assert fs.power_ratio(0.5, 1.0, alternative="satisfied", **options).power < 0.9 * (
        fs.power_ratio(0.5, 1.0, alternative="greater", **options).power
    )
    narrow: dict[str, Any] = {"n": 200, "threshold": 0.99}
    one, both, equal = (
        fs.power_ratio(0.5, 0.8, alternative=a, **narrow).power
        for a in ("less", "violated", "two-sided")
    )
    assert one - 0.01 > both
    assert both == pytest.approx(equal, abs=0.05)
    assert fs.power_ratio(0.5, 0.5, n=200, alternative="violated").power == pytest.approx(
        fs.power_ratio(0.5, 0.5, n=200).power, abs=1e-3
    ), "at 0.8 the other direction hardly counts"


# ---------------------------------------------------------------- sample size


@pytest.mark.parametrize("allocation", ALLOCATIONS)
@pytest.mark.parametrize(
    ("rate", "ratio", "alternative", "power"),
    [
        (0.4, 0.45, "less", 0.8),
        (0.8, 0.5, "less", 0.9),
        (0.6, 0.7, "violated", 0.7),
        (0.3, 0.5, "two-sided", 0.8),
    ],
)
def test_the_sample_size_is_the_smallest(
    rate: float, ratio: float, alternative: Any, power: float, allocation: float
) -> None:
    plan = fs.sample_size_ratio(
        rate, ratio, power=power, alternative=alternative, allocation=allocation
    )
    assert plan.n_reference == math.ceil(allocation * plan.n)
    assert plan.power >= power

    def reached(n: int) -> float:
        sizes = {"n": n, "n_reference": math.ceil(allocation * n)}
        return fs.power_ratio(rate, ratio, alternative=alternative, **sizes).power  # type: ignore[arg-type]

    assert reached(plan.n) == plan.power
    step = max(1, plan.n // 60)
    fewer = {*range(2, plan.n, step), *range(max(2, plan.n - 40), plan.n)}
    if alternative == "violated":  # exact tests of few cases take their time
        fewer = {n for n in fewer if n > plan.n - 41}
    assert max(reached(n) for n in fewer) < power


def test_the_sample_size_of_few_cases_is_the_smallest() -> None:
    """15, where the score test, which verdicts do not rest on, would have 12 do."""
    plan = fs.sample_size_ratio(0.95, 0.4, alternative="violated")
    power = [
        fs.power_ratio(0.95, 0.4, n=n, alternative="violated").power for n in range(2, plan.n + 1)
    ]
    assert max(power[:-1]) < 0.8 <= power[-1] == plan.power
    assert plan.n > fs.sample_size_ratio(0.95, 0.4).n
    assert "verdicts are by exact tests, as counted here" in plan.notes()[0]


def test_of_more_tables_than_are_enumerated_the_note_says_so() -> None:
    """500 beside 500 of 1%: five successes expected, 250,000 tables."""
    plan = fs.power_ratio(0.01, 0.1, n=500, alternative="violated")
    assert plan.power == _Plan(0.01, 0.1, 0.8, "violated", 0.95).score_power(500, 500)
    assert "here they are counted by the score test" in plan.notes()[0]


def check_no_more_than_needed(
    rate: float, ratio: float, alternative: Any, allocation: float
) -> None:
    plan = fs.sample_size_ratio(rate, ratio, alternative=alternative, allocation=allocation)
    assert min(plan.n, plan.n_reference) >= 50
    assert 0.8 <= plan.power <= 0.82


@pytest.mark.parametrize("allocation", ALLOCATIONS)
@pytest.mark.parametrize(
    ("rate", "ratio", "alternative"),
    [(0.5, 0.6, "less"), (0.1, 0.35, "less"), (0.5, 0.7, "two-sided")],
)
def test_no_more_than_needed(
    rate: float, ratio: float, alternative: Any, allocation: float
) -> None:
    check_no_more_than_needed(rate, ratio, alternative, allocation)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rate", "ratio", "alternative", "allocation"),
    [
        (0.9, 0.7, "violated", 1.0),
        (0.9, 0.7, "violated", 4.0),
        (0.9, 0.7, "violated", 0.1),
        (0.7, 1.0, "satisfied", 1.0),
    ],
)
def test_no_more_than_needed_for_a_verdict(
    rate: float, ratio: float, alternative: Any, allocation: float
) -> None:
    check_no_more_than_needed(rate, ratio, alternative, allocation)


def test_many_cases_by_halving() -> None:
    plan = fs.sample_size_ratio(0.5, 0.785)
    assert plan.n > 40_000
    assert plan.power >= 0.8 > fs.power_ratio(0.5, 0.785, n=plan.n - 1).power


@pytest.mark.parametrize(
    ("ratio", "options"),
    [
        (0.79999, {}),
        (0.7, {"power": 1 - 1e-15, "allocation": 1e-9}),
        (0.7, {"allocation": 1e9}),
        (0.7, {"allocation": 1e-9}),
        (0.7, {"allocation": 6e6}),
        (1 + 1e-9, {"alternative": "two-sided"}),
    ],
)
def test_more_than_can_be_planned_is_an_error_and_no_endless_search(
    ratio: float, options: dict[str, Any]
) -> None:
    with pytest.raises(fs.InputError, match="10,000,000 cases"):
        fs.sample_size_ratio(0.5, ratio, **options)


# ---------------------------------------------------------------- input


@pytest.mark.parametrize("n", [400, 400.0, np.int64(400), np.float64(400)], ids=repr)
def test_numbers_of_any_type(n: Any) -> None:
    plan = fs.power_ratio(np.float64(0.5), np.float64(0.7), n=n, n_reference=n)
    assert plan.power == fs.power_ratio(0.5, 0.7, n=400).power
    assert (type(plan.n), type(plan.n_reference), type(plan.ratio)) == (int, int, float)


@pytest.mark.parametrize(
    "value", [400.7, 0, -3, 10_000_001, "400", None, True, math.inf, math.nan, [400]], ids=repr
)
@pytest.mark.parametrize("argument", ["n", "n_reference"])
def test_cases_are_whole_numbers(argument: str, value: Any) -> None:
    if argument == "n_reference" and value is None:
        pytest.skip("as many as in the group")
    sizes = {"n": 400, "n_reference": 300} | {argument: value}
    with pytest.raises(fs.InputError, match=f"`{argument}`: .*a whole number from 1 to 10,000,000"):
        fs.power_ratio(0.5, 0.7, **sizes)


@pytest.mark.parametrize("value", ["0.5", math.inf, -math.inf, math.nan, None, True, 1j], ids=repr)
@pytest.mark.parametrize(
    "argument", ["rate_reference", "ratio", "power", "allocation", "threshold", "confidence_level"]
)
def test_no_number_of_a_plan_may_be_text_or_infinite(argument: str, value: Any) -> None:
    given: dict[str, Any] = {"rate_reference": 0.5, "ratio": 0.7, argument: value}
    with pytest.raises(fs.InputError, match=f"`{argument}`"):
        fs.sample_size_ratio(**given)


@pytest.mark.parametrize(
    ("ratio", "threshold", "alternative"),
    [
        (0.8, 0.8, "less"),
        (0.8, 0.8, "greater"),
        (1.0, 0.8, "two-sided"),
        (1.25, 0.8, "violated"),
        (0.8, 0.8, "violated"),
        (0.8, 0.8, "satisfied"),
        (1.25, 0.8, "satisfied"),
        (1.0, 1.0, "satisfied"),
        (0.9, 0.8, "violated"),
        (1.3, 0.8, "satisfied"),
        (0.7, 1.25, "less"),
        (0.7, 0.0, "greater"),
    ],
)
def test_what_is_to_be_shown_must_be_true(ratio: float, threshold: float, alternative: Any) -> None:
    with pytest.raises(fs.InputError, match="ratio|threshold"):
        fs.power_ratio(0.5, ratio, n=100, threshold=threshold, alternative=alternative)


def test_a_plan_is_a_result() -> None:
    plan = fs.sample_size_ratio(0.5, 0.6)
    frame = plan.to_frame()
    assert frame.loc[0, "estimate"] == plan.power
    assert frame.loc[0, "n"] == plan.n
    assert frame.loc[0, "method"] == "score"
    assert "power" in str(plan).lower()
    assert fs.power_ratio(0.5, 0.6, n=plan.n).power == plan.power
    assert "H0: ratio ≥ 0.8 is rejected with probability" in plan.sentences()[0]
    verdict = fs.power_ratio(0.5, 1.0, n=300, alternative="satisfied").sentences()[0]
    assert "the verdict at threshold 0.8 is “satisfied” with probability" in verdict
    assert fs.power_ratio(0.5, 0.7, n=300, alternative="two-sided").threshold == 1


@pytest.mark.parametrize(
    ("ratio", "alternative", "event"),
    [
        (0.7, "less", "H0: ratio ≥ 0.8 is rejected"),
        (0.9, "greater", "H0: ratio ≤ 0.8 is rejected"),
        (0.7, "two-sided", "H0: ratio = 1 is rejected"),
        (0.7, "violated", "the verdict at threshold 0.8 is “violated”"),
        (0.9, "satisfied", "the verdict at threshold 0.8 is “satisfied”"),
    ],
)
def test_a_plan_is_told_whole(ratio: float, alternative: Any, event: str) -> None:
    """Sizes, event, power, both rates and the ratio, by hand."""
    plan = fs.power_ratio(0.5, ratio, n=200, n_reference=300, alternative=alternative)
    assert plan.sentences() == [
        f"With 200 cases in the group and 300 in the reference, {event} with probability"
        f" {plan.power:.3f} where the rates are {50 * ratio:.1f}% and 50.0% (ratio {ratio:.3f})."
    ]
    assert plan.notes() == []


@pytest.mark.parametrize(
    ("n", "m", "alternative", "rest"),
    [
        (18, 18, "less", ': alternative="violated" or "satisfied" gives their probability.'),
        (18, 18, "violated", ", as counted here."),
        (
            50,
            2_100,
            "violated",
            "; here they are counted by the score test, since there are more than 100,000 tables.",
        ),
        (50, 2_000, "violated", ", as counted here."),
        (300, 300, "violated", None),
        (300, 300, "less", None),
    ],
)
def test_which_note_a_plan_of_few_cases_has(
    n: int, m: int, alternative: Any, rest: str | None
) -> None:
    """By the rule of verdicts, with the counts that are expected.

    Enumerated up to 100,000 tables.
    """
    plan = PowerResult(0.5, n, m, 0.35, 0.5, 0.7, 0.8, alternative, 0.95)
    pooled = (0.35 * n + 0.5 * m) / (n + m)
    few = min(n, m) * min(pooled, 1 - pooled)
    said = (
        f"At the pooled rate {few:.1f} successes or failures of the smaller group are expected, so"
        " few that "
    )
    assert plan.notes() == ([] if rest is None else [f"{said}verdicts are by exact tests{rest}"])


@pytest.mark.parametrize(
    ("rate", "ratio", "n", "m", "few"),
    [(0.5, 0.6, 30, 400, "14.6"), (0.9, 0.8, 400, 50, "13.0"), (0.96, 0.75, 30, 900, "1.4")],
)
def test_few_expected_cases_are_told(rate: float, ratio: float, n: int, m: int, few: str) -> None:
    """Cases of the smaller group at the pooled rate.

    30·209/430, 50·(1 − 333/450), 30·(1 − 885.6/930).
    """
    (note,) = fs.power_ratio(rate, ratio, n=n, n_reference=m, threshold=0.85).notes()
    assert f"At the pooled rate {few} successes or failures" in note


def test_the_reference_of_a_plan_stays_within_what_can_be_planned() -> None:
    """Two cases for 5,000,000 each are the most.

    At 4,000,000 each two do for a ratio of nearly 0.
    """
    assert fs.sample_size_ratio(0.999, 1e-6, allocation=4_000_000).n_reference <= 10_000_000
    with pytest.raises(fs.InputError, match="10,000,000 cases"):
        fs.sample_size_ratio(0.999, 0.5, allocation=4_000_000)


def test_a_plan_is_drawn_with_its_own_power() -> None:
    pytest.importorskip("matplotlib")
    found = fs.power_ratio(0.5, 0.7, n=120, n_reference=300)
    ax = found.plot()
    curve = next(line for line in ax.lines if len(line.get_xdata()) > 2)
    x = np.asarray(curve.get_xdata())
    y = np.asarray(curve.get_ydata())
    assert y[x == 0.7] == found.power  # witness: power_ratio
    other = fs.power_ratio(0.5, float(x[3]), n=120, n_reference=300)
    assert y[3] == other.power
    assert (np.diff(y) <= 1e-12).all()


def test_a_size_is_found_where_exact_power_goes_up_and_down() -> None:
    """Exact power falls from .81 to .70 between neighbouring sizes here, as enumeration shows.

    Sizes tried by halves said that one reached the power, and no longer so when they were asked
    again: an error said that 10,000,000 cases show nothing.
    """
    plan = fs.sample_size_ratio(0.6, 1.5, power=0.8, alternative="violated", threshold=0.9)
    assert 40 < plan.n < 60  # 46 is the first size that reaches it, from 55 on nearly all do
    assert plan.power >= 0.8
