"""ECD: the paper's table I, return levels at one number of interactions, the ways tails fail, bad
input.
"""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import genpareto, t

import fairstats as fs
from fairstats.ground.errors import DataWarning, InsufficientEvidenceWarning
from fairstats.ground.results import Interval
from fairstats.methods.ecd.contrast import BY_CLUSTERS
from fairstats.methods.ecd.level_contrast import LevelContrast
from fairstats.methods.ecd.sample import GroupSample, average_of, average_of_sums, difference_of
from fairstats.methods.ecd.settings import (
    EcdSettings,
    check_grid,
    distinct_of,
    grid_of,
    rounding_width,
)
from fairstats.methods.ecd.tail import (
    GroupLevel,
    _choose_by_tests,
    _choose_exceedances,
    _explain_degenerate,
    _make_remarks,
    group_tail,
)
from fairstats.numerics.evt import fit_gpd, fit_point_process
from fairstats.numerics.evt.choice import candidate_counts
from fairstats.numerics.evt.distributions import power_ratio
from fairstats.numerics.evt.tail import excess_parameters

RNG = np.random.default_rng(21)
WHITE = 0.3 * RNG.beta(2, 8, 25_000)
BLACK = 0.5 * RNG.beta(2, 8, 3000)
FAST: dict[str, Any] = {
    "privileged": "white",
    "unprivileged": "black",
    "backend": "scipy",
    "n_resamples": 0,
}


def result_of(cd: np.ndarray) -> fs.results.EcdResult:
    return fs.ecd({"white": WHITE, "black": cd}, **FAST, threshold=50)


def result(**change: Any) -> fs.results.EcdResult:
    return fs.ecd({"white": WHITE, "black": BLACK}, **{**FAST, **change})


# ---------------------------------------------------------------- the paper

# group: u, μ, σ, ξ and N as printed (section II), and table I's return levels at 500, 1,000 and
# 2,000
TABLE_I = {
    "white": ((0.12, 0.15, 0.03, -0.08, 25_658), (0.12, 0.14, 0.16), (0.119, 0.141, 0.162)),
    "black": ((0.20, 0.28, 0.08, -0.08, 3_076), (0.37, 0.42, 0.47), (0.367, 0.416, 0.462)),
}


@pytest.mark.parametrize("group", TABLE_I)
def test_table_i(group: str) -> None:
    """Published: every cell within .01 with σ_gpd = σ − ξ(μ − u); METHODS' three digits (cut)."""
    (u, location, scale, shape, n), printed, computed = TABLE_I[group]
    sigma, xi = excess_parameters(np.array([location, scale, shape]), u)
    assert sigma == pytest.approx(scale - shape * (location - u))
    m = np.array([500, 1000, 2000])
    levels = u + sigma * power_ratio(np.log(m * 50 / n), np.asarray(xi))
    assert np.abs(levels - printed).max() < 0.01
    np.testing.assert_allclose(levels, computed, atol=1e-3)


def test_table_i_is_exact_for_parameters_within_the_rounding() -> None:
    """Some (u, μ, σ, ξ) that print as the paper's give all six cells as printed."""
    rng = np.random.default_rng(1)
    for (u, location, scale, shape, n), printed, _ in TABLE_I.values():
        draws = rng.uniform(-0.005, 0.005, (20_000, 4)) + np.array([u, location, scale, shape])
        sigma = draws[:, 2] - draws[:, 3] * (draws[:, 1] - draws[:, 0])
        s = np.log(np.array([500, 1000, 2000]) * 50 / n)
        levels = draws[:, :1] + sigma[:, None] * power_ratio(s[None, :], draws[:, 3:])
        assert (np.abs(levels - printed) <= 0.005).all(axis=1).any()


def test_the_point_process_location_is_the_return_level() -> None:
    """METHODS §5: equal to 1e-10."""
    found = result()
    for name, cd in (("white", WHITE), ("black", BLACK)):
        process = fit_point_process(cd, found[name].threshold, 1000, backend="scipy")
        assert process.location == pytest.approx(found[name].level.estimate, abs=1e-10)


# ---------------------------------------------------------------- the result


def test_the_groups_tails_are_those_of_evt() -> None:
    found = result()
    for name, cd in (("white", WHITE), ("black", BLACK)):
        tail = found[name]
        k = {"white": 317, "black": 38}[name]  # 1.25% of 3,000, and the same share of 25,000
        u = np.sort(cd)[-k - 1]
        assert (tail.threshold, tail.n_exceedances, tail.n) == (u, k, cd.size)
        fit = fit_gpd(cd, u, backend="scipy")
        assert tail.fit.params == fit.params
        for level in (tail.level, *tail.levels):
            wanted = fit.return_level(level.interactions)
            assert level.estimate == wanted.estimate
            assert level.confidence_interval == wanted.confidence_interval
    assert {level.interactions for level in found["white"].levels} == {500.0, 2000.0, 10_000.0}


def test_swapping_the_groups() -> None:
    plain = {"calibrated": False}  # simulations differ
    there = result(**plain)
    back = result(**plain, privileged="black", unprivileged="white")
    assert there.estimate == -back.estimate
    np.testing.assert_allclose(
        list(there.confidence_interval), [-v for v in back.confidence_interval][::-1], rtol=1e-6
    )
    assert there.pvalue == pytest.approx(back.pvalue, rel=1e-5)


def test_interval_test_and_verdict_agree() -> None:
    """The interval at the level 1 − p ends at 0: both are the likelihood ratio."""
    close = {"white": WHITE[:3000], "black": 0.92 * BLACK * 0.6}
    found = fs.ecd(close, **FAST)
    edge = fs.ecd(close, **FAST, confidence_level=1 - found.pvalue).confidence_interval
    assert min(abs(v) for v in edge) < 1e-6
    assert result().verdict == "violated"
    assert "violated" in result().sentences()[0]
    same = fs.ecd({"white": WHITE, "black": WHITE[::-1]}, **FAST)
    assert same.estimate == 0
    assert same.pvalue == pytest.approx(1.0, abs=0.02)
    assert same.verdict == "satisfied"


def test_the_root_is_standardised() -> None:
    """p-value, limits and verdict from (root − mean)/sd, both linear in the root between those of
    `root_law`.
    """
    close = {"white": WHITE[:3000], "black": 0.92 * BLACK * 0.6}
    plain, found = (fs.ecd(close, **FAST, threshold=50, calibrated=c) for c in (False, True))
    (c,) = found.comparisons
    assert found.statistic == plain.statistic
    assert (plain.comparisons[0].root_mean, plain.comparisons[0].root_sd) == (0, 1)
    root = np.copysign(np.sqrt(found.statistic), found.estimate)
    # as it is: Student's t, of the fewer exceedances less the tail's three parameters
    fewer = min(found[name].n_exceedances for name in close)
    assert plain.pvalue == pytest.approx(2 * t.sf(abs(root), fewer - 3), rel=1e-9)
    z = (root - c.root_mean) / c.root_sd
    assert c.pvalue == pytest.approx(2 * t.sf(abs(z), fewer - 3), rel=1e-9)
    contrast = LevelContrast.of(found["black"].fit, found["white"].fit, 1000)
    for (low, high), level in (
        (c.confidence_interval, 0.975),
        (c.bounds, c.bounds.confidence_level),
    ):
        roots = np.sqrt(contrast.deviance(np.array([low, high]))) * [1, -1]
        at, mean, sd = np.transpose(c.root_law)
        z = (roots - np.interp(roots, at, mean)) / np.interp(roots, at, sd)
        # the profiles are cubic between nodes: roots are right to 1e-4
        wanted = t.ppf(level, fewer - 3)
        np.testing.assert_allclose(z, [wanted, -wanted], atol=1e-3)
    # nothing of it is random
    again, other = (fs.ecd(close, **FAST, threshold=50, **seed).pvalue for seed in ({}, {"rng": 4}))
    assert again == found.pvalue == other


def test_half_of_unlike_exceedances_is_as_sure_as_the_fewer() -> None:
    """50 and 100, halved: the interval by itself, of 25 and 50, whose t has 25 − 3 degrees of
    freedom.
    """

    def at(k: int) -> fs.results.EcdResult:
        threshold = {
            "white": float(np.sort(WHITE)[-k - 1]),
            "black": float(np.sort(BLACK)[-2 * k - 1]),
        }
        return result(threshold=threshold, calibrated=False)

    half = at(50).sensitivity[0]
    alone = at(25)
    assert half.exceedances == (50, 25)
    assert "t with 22 degrees" in alone.comparisons[0].method
    np.testing.assert_allclose(
        list(half.confidence_interval), list(alone.confidence_interval), rtol=1e-6
    )


def test_half_and_twice_the_exceedances() -> None:
    """Each as by itself; a note where the answer changes."""
    found = result(threshold=50)
    half, twice = found.sensitivity
    for k, row in ((25, half), (100, twice)):
        alone = result(threshold=k, calibrated=False)
        assert row.estimate == pytest.approx(alone.estimate, rel=1e-9)
        np.testing.assert_allclose(
            list(row.confidence_interval), list(alone.confidence_interval), rtol=1e-6
        )
    assert [r["metric"] for r in found.rows()][1:3] == [half.metric, twice.metric]
    assert "depends on the threshold" not in found.note
    assert "depends on the threshold: with half" in result(interactions=100_000, threshold=50).note


def test_both_groups_have_the_same_share_of_their_rows_above_the_threshold() -> None:
    """1.25% of the smaller, at least 30 and at most 5%, ten at least.

    Of 25,000 the share that it is.
    """
    for n, k, of_white in ((3000, 38, 317), (600, 30, 1000), (150, 10, 1000), (2400, 30, 312)):
        found = fs.ecd({"white": WHITE, "black": BLACK[:n]}, **FAST, interactions=100)
        assert (found["black"].n_exceedances, found["white"].n_exceedances) == (k, of_white)
        assert (
            fs.ecd({"white": WHITE, "black": BLACK[:n]}, **FAST, threshold=50)[
                "black"
            ].n_exceedances
            == 50
        )


def test_no_verdict_beyond_the_horizon() -> None:
    """At 100,000 interactions the level's interval ends beyond 1 or is as wide as the level."""
    near = result()
    far = result(interactions=100_000)
    assert near.verdict == "violated"
    assert far["black"].type.horizon < 100_000
    assert far.verdict == "undecided"
    assert "beyond the horizon of black" in far.note
    # far below the margin a wide interval does not matter
    tiny = {g: 1e-4 * x for g, x in (("white", WHITE), ("black", BLACK))}
    assert fs.ecd(tiny, **FAST, interactions=100_000).verdict == "satisfied"


def test_json_has_no_rows_and_comes_back() -> None:
    found = result(n_resamples=99, rng=1)
    text = json.dumps(found.to_dict(), allow_nan=False)
    back = fs.results.EcdResult.from_dict(json.loads(text))
    pd.testing.assert_frame_equal(back.to_frame(), found.to_frame())
    assert str(back) == str(found)
    assert len(text) < 20_000  # 28,000 values went in: exceedances and parameters come out


def test_goodness_of_fit_and_types_are_reported() -> None:
    found = result(n_resamples=99, rng=1)
    for tail in found.tails:
        assert 0.01 <= tail.goodness_pvalue <= 1
        assert tail.type.bound == 1
    assert found["white"].endpoint.low >= WHITE.max()
    assert "horizon" in str(found)


# ---------------------------------------------------------------- thresholds


def test_the_threshold_is_lowered_where_m_needs_it() -> None:
    """N = 100,000 and m = 1,000: 50 exceedances come every 2,000 interactions, so 120 are taken."""
    many = RNG.beta(2, 8, 100_000)
    found = fs.ecd({"white": many, "black": BLACK}, **FAST)
    assert found["white"].n_exceedances == 1000  # the share of the other, as far as it goes
    found = fs.ecd({"white": many, "black": BLACK}, **FAST, threshold=50)
    assert found["white"].n_exceedances == 120
    assert not found["white"].level.empirical
    assert "lowered to 120" in str(found)


def test_a_threshold_that_m_does_not_reach_gives_the_empirical_quantile() -> None:
    """m·λ < 1: the 1 − 1/m quantile with its binomial interval, and no test."""
    found = result(threshold={"white": float(np.sort(WHITE)[-16]), "black": 0.25})
    assert found["white"].rate * 1000 < 1
    assert found["white"].level.empirical
    assert found["white"].level.estimate == pytest.approx(np.quantile(WHITE, 0.999))
    assert np.isnan(found.pvalue)
    assert found.confidence_interval.method.startswith("from the two intervals")
    assert "order statistic" in found.note


def test_own_thresholds_need_both_groups() -> None:
    with pytest.raises(fs.InputError, match="no threshold for 'black'"):
        result(threshold={"white": 0.2})


# ---------------------------------------------------------------- tails that are none

DEGENERATE = {
    "constant": (np.full(500, 0.1), "all 500 values equal 0.1"),
    "ties": (np.repeat([0.1, 0.2, 0.3], 200), "ties|fewer"),
    "rounded": (np.round(RNG.beta(2, 8, 2000), 1), "distinct"),
    "few": (RNG.random(9) * 0.2, "no threshold has 10 values above it"),
}


@pytest.mark.parametrize("what", DEGENERATE)
def test_degenerate_tails_are_named(what: str) -> None:
    values, reason = DEGENERATE[what]
    with pytest.warns(InsufficientEvidenceWarning, match=reason):
        found = fs.ecd({"white": WHITE, "black": values}, **FAST)
    tail = found["black"]
    assert tail.fit is None
    assert tail.type is None
    assert np.isnan(found.pvalue)
    if what == "few":
        assert found.verdict == "insufficient evidence"
        return
    assert tail.level.empirical
    assert tail.level.estimate <= tail.maximum + 1e-15
    low, high = tail.level.confidence_interval
    assert -1 <= low <= tail.level.estimate <= high <= 1
    assert found.verdict in ("undecided", "violated")


def test_a_rounded_top_is_its_cell() -> None:
    """More than half of 1,000 values are .1, rounded to .05: the level lies within .1 ± .05.

    Witness: two scores, each within half a width. It is no answer where few values lie in it, nor
    are there cells of values that are tied without being rounded (fractions have a common divisor,
    too), or of two distinct ones."""

    def rounded(cd: np.ndarray) -> Any:
        with pytest.warns(InsufficientEvidenceWarning, match="ties"):
            return fs.ecd({"white": WHITE, "black": cd}, **FAST)["black"]

    rng = np.random.default_rng(2)
    cd = rng.choice([-0.05, 0.0, 0.05, 0.1], 1000, p=[0.1, 0.2, 0.15, 0.55])
    found = rounded(cd)
    assert (found.level.estimate, *found.level.confidence_interval) == pytest.approx(
        (0.1, 0.05, 0.15)
    )
    assert "the answer is that cell" in found.sentence
    few = np.where(np.arange(1000) < 960, np.minimum(cd, 0.0), cd)
    assert tuple(rounded(few).level.confidence_interval) == pytest.approx((0.05, 1.0))
    fractions = np.choose((100 * cd / 5 + 1).astype(int), [0.0, 1 / 77, 3 / 190, 2 / 11])
    for other in (
        np.where(cd > 0.06, 0.1, 0.0),
        np.where(cd > 0.06, 0.1, np.pi * cd**2),
        fractions,
    ):
        found = rounded(other)
        assert tuple(found.level.confidence_interval) == pytest.approx((other.max(), 1.0))
        assert "grid" not in found.sentence


@pytest.mark.parametrize("step", [0.1, 0.13, 0.16, 0.22, 0.3])
def test_the_cell_of_a_rounded_top_holds_the_level(step: float) -> None:
    """Logistic scores, rounded to .01, of rows that all move by a step on the scale of log odds.

    Witness: the largest difference of two logistic probabilities, tanh(step/4), which thousands of
    rows reach: the level is that to 1e-5. Half a width, right for one rounding, missed it in all of
    300 samples with steps of .1, .22 and .3, a whole one in none (300, 3,000 and 25,000 rows)."""
    for seed in range(5):
        log_odds = np.random.default_rng(seed).normal(0, 1.5, 3000)
        before, after = (np.round(1 / (1 + np.exp(-x)), 2) for x in (log_odds, log_odds + step))
        with pytest.warns(InsufficientEvidenceWarning, match="ties"):
            found = fs.ecd({"white": WHITE, "black": after - before}, **FAST)["black"]
        low, high = found.level.confidence_interval
        assert low <= np.tanh(step / 4) <= high + 1e-12
        if "the answer is that cell" in found.sentence:
            assert high - low <= 0.02 + 1e-12


def test_differences_of_rounded_scores_are_equal_where_they_are() -> None:
    """.93 − .84 and .92 − .83 differ in floating point.

    The tail of differences is that of their cells.

    Witness: whole hundredths, whose differences are exact.
    """
    rng = np.random.default_rng(4)
    before = rng.integers(20, 60, 3000)
    step = rng.poisson(4, 3000)
    exact = step / 100
    noisy = (before + step) / 100 - before / 100
    assert np.unique(noisy).size > 3 * np.unique(exact).size
    ours, wanted = (result_of(cd)["black"] for cd in (noisy, exact))
    assert ours.n_exceedances == wanted.n_exceedances
    assert ours.fit.grid == pytest.approx(0.01)
    assert ours.level.estimate == pytest.approx(wanted.level.estimate, rel=1e-9)
    theirs = tuple(wanted.level.confidence_interval)
    assert tuple(ours.level.confidence_interval) == pytest.approx(theirs, rel=1e-6)


def test_a_level_ends_at_1() -> None:
    """Likelihood limits of a heavy tail of a bounded quantity.

    Cut, and said to be beyond the horizon.
    """
    found = result_of(np.minimum(0.02 * np.random.default_rng(5).pareto(1.5, 2000), 1.0))["black"]
    assert found.level.confidence_interval.high == 1
    assert found.fit.return_level(1000).confidence_interval.high > 1


# ---------------------------------------------------------------- dependence and synthetic rows


@pytest.mark.slow
def test_people_with_several_rows_count_once() -> None:
    """Every person twice: the standard error over people is that of the single rows' bootstrap, not
    1/√2 of it.

    999 resamples: each of two standard deviations is known to 2%; the linear influence of some 100
    exceedances leaves out terms of their size, 1/√100. (.980 of the bootstrap's here.)"""
    rows = np.arange(3000)
    table = pd.DataFrame(
        {"g": np.repeat(["black", "white"], 3000), "cd": np.r_[BLACK, WHITE[:3000]]}
    )
    twice = pd.concat([table, table], ignore_index=True)
    owner = np.tile(np.r_[rows, rows + 3000], 2)

    def flipped(x: pd.DataFrame) -> np.ndarray:
        """0.2 for everyone as they are, 0.2 + CD for those whose group differs from what it was."""
        original = np.where(x["cd"].index % 6000 < 3000, "black", "white")
        return 0.2 + x["cd"].to_numpy() * (x["g"].to_numpy() != original)

    sample = fs.counterfactual_discrimination(flipped, twice, sensitive_features="g", cluster=owner)
    assert sample["black"].average.n_people == 3000
    found = fs.ecd(sample, **{**FAST, "n_resamples": 0}, threshold=100, rng=2)
    assert found.test == BY_CLUSTERS
    single = fs.ecd({"white": WHITE[:3000], "black": BLACK}, **FAST)
    errors = [
        single[g].fit.return_level(1000, method="bootstrap", rng=1).std_error
        for g in ("black", "white")
    ]
    assert found.std_error == pytest.approx(np.hypot(*errors), rel=0.1)
    naive = fs.ecd(
        {"white": np.tile(WHITE[:3000], 2), "black": np.tile(BLACK, 2)}, **FAST, threshold=100
    )
    assert found.std_error > 1.15 * naive.std_error


def test_people_with_several_rounded_rows_are_not_judged() -> None:
    """The influence of a row is that of a continuous excess."""
    rng = np.random.default_rng(3)
    both = np.repeat(rng.exponential(0.05, 2000), 2) - 1e-4 * rng.random(4000)
    whole = fs.results.CounterfactualSample.from_values(
        {
            "white": np.round(rng.exponential(0.05, 3000), 2),
            "black": np.round(np.maximum(both, 0.0), 2),
        }
    )
    for g, person in (
        (whole["black"], np.arange(4000) // 2),
        (whole["white"], 4000 + np.arange(3000)),
    ):
        object.__setattr__(g, "cluster", person)
    with pytest.warns(
        InsufficientEvidenceWarning, match="several rows, and the tail of black and white"
    ):
        found = fs.ecd(whole, **FAST)
    assert found.verdict == "insufficient evidence"
    assert tuple(found.confidence_interval) == (-2, 2)
    assert np.isnan(found.pvalue)


def test_people_near_an_end_point_are_judged_by_the_likelihood_ratio() -> None:
    """Uniform laws, nearly equal rows of two people: the ratio alone, by the design effect; the
    calibration page has its size near end points."""
    rng = np.random.default_rng(3)
    both = np.repeat(0.25 * rng.random(2000), 2) - 1e-4 * rng.random(4000)
    whole = fs.results.CounterfactualSample.from_values(
        {"white": 0.4 * rng.random(3000), "black": both}
    )
    for g, person in (
        (whole["black"], np.arange(4000) // 2),
        (whole["white"], 4000 + np.arange(3000)),
    ):
        object.__setattr__(g, "cluster", person)
    found = fs.ecd(whole, **FAST)
    assert found.test == BY_CLUSTERS
    assert found.confidence_interval.low < -0.15 < found.confidence_interval.high < 0
    assert found.verdict == "violated"


def test_synthetic_rows_carry_no_pvalue_about_people() -> None:
    sample = fs.results.CounterfactualSample.from_values(
        {"white": WHITE, "black": BLACK}, n_synthetic={"black": 2000}
    )
    found = fs.ecd(sample, **FAST)
    assert (found["black"].n_real, found["black"].n_synthetic) == (1000, 2000)
    assert np.isnan(found.pvalue)
    assert found.verdict == "insufficient evidence"
    assert "generator's law" in str(found)
    assert sample.notes()[-1].startswith(
        "2,000 rows are synthetic: intervals and tests describe the generator"
    )


def test_the_papers_location_warns_and_gives_no_verdict() -> None:
    """Equal tails, 25,000 against 3,000.

    The p-value of the comparison at own thresholds is tiny.
    """
    equal = genpareto.rvs(-0.2, scale=0.05, size=28_000, random_state=np.random.default_rng(5))
    groups = {"white": equal[:25_000], "black": equal[25_000:]}
    with pytest.warns(DataWarning, match="94–100%"):
        found = fs.ecd(groups, **FAST, location="paper")
    assert found.pvalue < 1e-3
    assert found.verdict == "insufficient evidence"
    assert fs.ecd(groups, **FAST).pvalue > 0.01


# ---------------------------------------------------------------- bad input

BAD: list[tuple[str, dict[str, Any], str]] = [
    ("no such group", {"unprivileged": "red"}, "'white', 'black'|one of"),
    ("one group twice", {"unprivileged": "white"}, "another group"),
    ("m = 1", {"interactions": 1}, "above 1"),
    ("m text", {"interactions": "many"}, "above 1"),
    ("k = 5", {"threshold": 5}, "≥ 10"),
    ("k = 50.5", {"threshold": 50.5}, "whole number"),
    ("threshold 2", {"threshold": {"white": 2, "black": 0.2}}, r"\[−1, 1\)"),
    ("location", {"location": "mean"}, "'return_level', 'paper'"),
    ("level", {"confidence_level": 0}, "between 0 and 1"),
    ("margin", {"margin": -0.1}, "above 0"),
    ("calibrated", {"calibrated": "bartlett"}, "False, True"),
    ("backend", {"backend": "julia"}, "'scipy'"),
    ("rng", {"rng": "seed"}, "rng"),
]


@pytest.mark.parametrize(("what", "change", "match"), BAD, ids=[b[0] for b in BAD])
def test_bad_input(what: str, change: dict[str, Any], match: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(fs.InputError, match=match):
            result(**change)


@pytest.mark.filterwarnings("ignore::fairstats.ground.errors.InsufficientEvidenceWarning")
@pytest.mark.parametrize(("cells", "modelled"), [(4, True), (3, False)])
def test_four_cells_have_a_model(cells: int, modelled: bool) -> None:
    """60 of 1,000 differences of rounded scores on so many values above the bulk.

    R has the same rule.
    """
    counts = [30, 16, 9, 5][:cells]
    top = np.repeat(0.3 + 0.1 * np.arange(cells), [*counts[:-1], 60 - sum(counts[:-1])])
    cd = np.concatenate([np.linspace(0.0, 0.2, 940), top])
    found = fs.ecd(
        {"a": cd, "b": cd}, privileged="a", unprivileged="b", n_resamples=0, threshold=50, rng=1
    )
    assert [tail.fit is not None for tail in found.tails] == [modelled, modelled]
    assert np.isnan(found.pvalue) == (not modelled)


# ---------------------------------------------------------------- thresholds and words by hand


def settings(**change: Any) -> EcdSettings:
    given: dict[str, Any] = {
        "interactions": 1000,
        "other_interactions": (),
        "location": "return_level",
        "threshold": None,
        "confidence_level": 0.95,
        "margin": 0.05,
        "horizon_width": 0.5,
        "n_resamples": 0,
        "calibrated": False,
        "seed": None,
        "backend": "scipy",
        **change,
    }
    return EcdSettings(**given)


def group_of(cd: Any, **more: Any) -> GroupSample:
    cd = np.asarray(cd, dtype=float)
    return GroupSample._of("g", "other", cd, np.arange(cd.size), **more)


@pytest.mark.parametrize(
    ("n", "change", "k"),
    [
        (199, {}, 10),
        (200, {}, 10),
        (220, {}, 11),
        (999, {}, 49),
        (1000, {}, 50),
        (50_000, {}, 50),
        (50_001, {}, 61),
        (100_000, {}, 120),
        (50_001, {"threshold": 70}, 70),
        (80_000, {"threshold": 70}, 96),
        (5000, {"interactions": 20}, 300),
        (50_001, {"threshold": {"g": 0.2}}, 50),
    ],
)
def test_numbers_of_exceedances_by_hand(n: int, change: dict[str, Any], k: int) -> None:
    """5% of the rows, at least 10, at most 50; with k·m < n, 1.2 are expected in m interactions."""
    found, said = _choose_exceedances(
        group_of(np.zeros(n)), settings(**change), np.random.default_rng(1)
    )
    assert found == k
    wanted = [f"The threshold is lowered to {k} exceedances"] if k in (61, 96, 120, 300) else []
    assert [words.partition(":")[0] for words in said] == wanted


def test_why_there_is_no_tail_by_hand() -> None:
    def why(cd: Any, k: int, **change: Any) -> str:
        sample = group_of(cd)
        ordered = np.sort(sample._largest())[::-1]
        threshold = float(ordered[min(k, ordered.size - 1)])
        return _explain_degenerate(
            sample, ordered[ordered > threshold], threshold, settings(**change)
        )

    x = np.linspace(0.1, 0.5, 100)
    assert why(x, 20) == ""
    assert why(x[:11], 10) == ""
    assert why(x[:10], 9) == "among 10 rows no threshold has 10 values above it"
    assert (
        why(np.zeros(50), 20) == "all 50 values are 0: the scores do not change with the attribute"
    )
    assert why(np.full(1500, 0.25), 20) == "all 1,500 values equal 0.25"
    assert why(x, 9) == "9 values above the threshold, fewer than 10".replace(
        "values", "values lie"
    )
    assert why(x, 1) == "1 value lies above the threshold, fewer than 10"
    tied = np.append(np.full(6, 0.3), x[-8:])
    assert why(tied, 10) == "6 values are tied at the threshold and 8 lie above it: ties, no tail"
    fewer = np.concatenate([x[:50], np.repeat([0.6, 0.61, 0.7], 8)])
    assert (
        why(fewer, 24, grid=None)
        == "its 24 largest values are 3 distinct ones: ties, not a continuous tail"
    )
    same = np.concatenate([x[:50], np.full(24, 0.6)])
    assert (
        why(same, 24, grid=None)
        == "its 24 largest values are one and the same: ties, not a continuous tail"
    )
    # ten distinct ones of twenty are a tail, of twenty-one not
    pairs = np.concatenate([x[:50], np.repeat(0.6 + 0.0137 * np.arange(10) ** 1.1, 2)])
    assert why(pairs, 20, grid=None) == ""
    assert why(np.append(pairs, pairs[-1]), 21, grid=None).startswith(
        "its 21 largest values are 10 distinct"
    )


@pytest.mark.filterwarnings("ignore:the likelihood has no maximum")
def test_what_is_said_of_a_tail() -> None:
    """By hand: shares of the rows above the threshold, ties with it, the end point, whose rows they
    are.
    """
    x = np.random.default_rng(3).beta(2, 8, 200)
    given = settings(threshold=30, interactions=100, grid=None, n_resamples=99)

    def said(cd: np.ndarray, k: int, beyond: bool = False, **more: Any) -> str:
        fit = fit_gpd(cd, float(np.sort(cd)[-k - 1]), grid=None, backend="scipy")
        level = GroupLevel(100.0, 0.4, 0.1, Interval(0.3, 0.5, 0.95, "x"), beyond, beyond)
        return " ".join(
            _make_remarks(group_of(cd, **more), k, fit.n_exceedances, fit, level, given)
        )

    assert said(x, 10) == ""
    assert said(x, 11).startswith("11 of 200 values are 6%: so far from the end")
    assert said(x, 50).startswith("50 of 200 values are 25%: so far from the end")
    assert said(x, 51) == "51 of 200 values lie above the threshold: hardly a tail."
    ordered = np.sort(x)[::-1]
    for ties, words in ((1, "1 value is tied"), (2, "2 values are tied")):
        tied = ordered.copy()
        tied[13 - ties : 14] = ordered[13]
        assert said(np.append(tied, np.zeros(100)), 13) == f"{words} with the threshold."
    assert said(x, 10, beyond=True).startswith("The model's level lies beyond the bound of 1")
    assert said(x, 10, cluster=np.arange(200)) == ""
    assert said(x, 10, cluster=np.arange(200) // 2).startswith("People own several rows")
    assert said(1 - 0.3 * np.random.default_rng(1).random(300) ** 0.7, 15).startswith(
        "Its end point is near"
    )
    tail = group_tail("black", group_of(x), given, np.random.default_rng(1))
    assert tail.sentence.startswith(f"black: N = 200, 30 above {ordered[30]:.4g}; type ")
    assert f"; goodness of fit p = {tail.goodness_pvalue:.3g}. 30 of 200" in tail.sentence


def test_averages_by_hand() -> None:
    """1, 2, 6: mean 3, of variance 7/3; two people: (−3)² and 3² about it, over 9, times 2.

    From sums.
    """
    x = np.array([1.0, 2.0, 6.0])
    plain = average_of(x)
    people = average_of(x, np.array(["b", "b", "a"]))
    assert (plain.estimate, plain.std_error, plain.n, plain.n_people) == (
        3,
        pytest.approx(np.sqrt(7 / 3)),
        3,
        3,
    )
    assert (people.estimate, people.std_error, people.n, people.n_people) == (
        3,
        pytest.approx(2.0),
        3,
        2,
    )
    sums = average_of_sums(3, 9.0, 41.0)
    assert (sums.estimate, sums.std_error, sums.n, sums.n_people) == (
        3,
        pytest.approx(np.sqrt(7 / 3)),
        3,
        3,
    )
    for one in (average_of(x[:1]), average_of(x[:2], np.zeros(2)), average_of_sums(1, 1.0, 1.0)):
        assert one.estimate in (1.0, 1.5)
        assert np.isnan(one.std_error)
        assert one.n_people == 1
    for none in (average_of(x[:0]), average_of_sums(0, 0.0, 0.0)):
        assert np.isnan([none.estimate, none.std_error]).all()
        assert (none.n, none.n_people) == (0, 0)
    assert average_of_sums(2, 0.2, 0.02).std_error == 0  # rounding below 0
    gap = difference_of(plain, people)
    assert (gap.estimate, gap.n, gap.n_people) == (0, 6, 5)
    assert gap.std_error == pytest.approx(np.sqrt(7 / 3 + 4))
    interval, test = plain._inference(0.9, "it is 0")
    z = 3 / np.sqrt(7 / 3)
    reach = 3 / z * t(2).ppf(0.95)
    assert tuple(interval) == pytest.approx((3 - reach, 3 + reach))
    assert (test.statistic, test.pvalue) == pytest.approx((z, 2 * t(2).sf(z)))
    assert test.null == "it is 0"
    # two rows and one: worth 9/5 people
    assert people.degrees_of_freedom == pytest.approx(9 / 5 - 1)
    # Welch and Satterthwaite by hand: (7/3 + 4)²/((7/3)²/2 + 4²/.8)
    assert gap.degrees_of_freedom == pytest.approx(
        (7 / 3 + 4) ** 2 / ((7 / 3) ** 2 / 2 + 4**2 / 0.8)
    )
    assert np.isnan(average_of(np.ones(4))._inference(0.9)[1].pvalue)


@pytest.mark.parametrize("clustered", [False, True])
def test_cvar_by_hand(clustered: bool) -> None:
    """q + mean of max(CD − q, 0)/(1 − α), q the value of rank 48 = .8·60.

    Its error by the means of people.
    """
    x = np.random.default_rng(2).beta(2, 5, 60)
    person = np.repeat(np.arange(20), 3) if clustered else None
    found = group_of(x, cluster=person).cvar(0.8)
    q = np.sort(x)[47]
    beyond = np.maximum(x - q, 0) / 0.2
    assert found.estimate == pytest.approx(q + beyond.mean())
    sums = (
        (beyond - beyond.mean()).reshape(20, 3).sum(axis=1) if clustered else beyond - beyond.mean()
    )
    assert found.std_error == pytest.approx(
        np.sqrt((sums**2).sum() * sums.size / (sums.size - 1)) / 60
    )
    assert np.isnan(group_of([]).cvar(0.8).estimate)


def test_widths_of_rounded_scores_by_hand() -> None:
    """Given widths are taken; else that of tied values, at least three, whose grid is filled to 5%;
    a tail of fewer than four distinct values is on none."""
    cells = np.repeat([0.1, 0.2, 0.3, 0.4], 5)
    for values, given, width, of_tail in (
        (cells, "auto", 0.1, 0.1),
        (cells, None, 0.0, 0.0),
        (cells, 0.05, 0.05, 0.05),
        (cells, 0.001, 0.001, 0.0),
        (cells[:15], "auto", 0.1, 0.0),
        (cells[:10], "auto", 0.0, 0.0),
        (cells[:15], 0.1, 0.1, 0.0),
        (np.linspace(0.1, 0.4, 20), "auto", 0.0, 0.0),
        (np.append(np.linspace(0.1, 0.4, 31), 0.4), "auto", 0.01, 0.01),  # the two largest are tied
        (np.repeat([0.0, 0.3, 0.301, 0.999], 5), "auto", 0.0, 0.0),  # four of a thousand cells
        (np.repeat([0.0, 0.3, 0.31, 0.79], 5), "auto", 0.01, 0.01),  # four of eighty
        (np.repeat([0.0, 0.3, 0.31, 0.81], 5), "auto", 0.0, 0.0),
    ):
        found = settings(grid=given)
        assert rounding_width(values, found) == pytest.approx(width, rel=1e-9)
        assert grid_of(values, found) == pytest.approx(of_tail, rel=1e-9)
    assert distinct_of(np.array([0.1, 0.1 + 4e-13, 0.1 + 3e-12, 0.2])) == 3
    with pytest.raises(fs.InputError, match="values of 'x' are no multiples"):
        check_grid("x", group_of(np.append(cells, 0.2 + 1.1e-7)), settings(grid=0.1))
    check_grid("x", group_of(np.append(cells, 0.2 + 0.9e-7)), settings(grid=0.1))
    check_grid("x", group_of(cells + 0.0123), settings(grid="auto"))


def test_where_no_threshold_is_chosen_by_tests() -> None:
    """Few values that many share, candidates that are one value, a given grid, and too few rows: 0.
    Else a number of exceedances from 20 up to 5% of the rows, the default 50 or a quarter of the
    rows."""
    rng = np.random.default_rng(1)
    plain = np.sort(rng.exponential(size=8000) / 40)[::-1]
    candidates = np.sort(candidate_counts(8000, 12))  # 20 to 8000^(2/3)/5 = 80
    shared = plain.copy()
    one = plain.copy()
    # each candidate has a value of its own, which the values up to the next one share
    shared[:82] = plain[
        np.append(0, candidates)[np.searchsorted(candidates, np.arange(82), side="right")]
    ]
    one[18:27] = plain[22]

    def chosen(cd: np.ndarray, fewest: int = 20, **change: Any) -> int:
        return _choose_by_tests(
            group_of(cd), fewest, settings(threshold="forward_stop", **change), rng
        )

    assert chosen(plain) in candidates
    assert chosen(shared) == chosen(one) == chosen(plain, grid=0.001) == 0
    assert chosen(plain[:80]) == 20
    assert chosen(plain[:79]) == 0
    assert chosen(plain, 80) == 80
    assert chosen(plain, 81) == 0
