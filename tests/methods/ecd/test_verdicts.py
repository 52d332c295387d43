"""Verdicts of ECD: dual to their one-sided limits, family-wise over groups.

The bootstrap of people.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import t as student

import fairstats as fs
from fairstats.ground.errors import InputError
from fairstats.ground.multiplicity import adjust_pvalues
from fairstats.ground.results import Interval
from fairstats.methods.ecd.contrast import cluster_bootstrap
from fairstats.methods.ecd.ecd import _explain_horizon, _note_sensitivity

RNG = np.random.default_rng(31)
CD = {
    "a": 0.30 * RNG.beta(2, 8, 6000),
    "b": 0.33 * RNG.beta(2, 8, 1500),
    "c": 0.50 * RNG.beta(2, 8, 900),
    "d": 0.30 * RNG.beta(2, 8, 2500),
}
FAST: dict[str, Any] = {"backend": "scipy", "n_resamples": 0}


@pytest.fixture(scope="module")
def family() -> fs.results.EcdResult:
    # the level of c has an interval just wider than half of it: beyond the usual horizon
    return fs.ecd(CD, **FAST, margin=0.04, horizon_width=0.65, threshold=45)


@pytest.mark.parametrize(
    ("calibrated", "margin"),
    [*((False, m) for m in (0.002, 0.03, 0.06, 0.2)), (True, 0.002), (True, 0.1)],
)
def test_pvalue_and_limit_agree(calibrated: Any, margin: float) -> None:
    """p < α exactly where the limits leave the fair range, or lie inside it.

    At wide and narrow ranges.
    """
    for level in (0.8, 0.95) if not calibrated else (0.9,):
        options = {**FAST, "n_resamples": 199, "rng": 2, "calibrated": calibrated, "margin": margin}
        two = {g: CD[g] for g in ("a", "b")}
        found = fs.ecd(two, privileged="a", unprivileged="b", confidence_level=level, **options)
        (c,) = found.comparisons
        low, high = c.bounds
        beyond = low > margin or high < -margin
        inside = -margin < low and high < margin
        assert (c.pvalue_verdict < 1 - level) == (beyond or inside)
        assert c.verdict == ("violated" if beyond else "satisfied" if inside else "undecided")
        assert 0.5 + level / 2 >= c.bounds.confidence_level - 1e-9
        if not calibrated:
            assert c.bounds.confidence_level >= level - 1e-9


def test_a_range_without_width_is_the_two_sided_test() -> None:
    """With margin → 0 the verdict's p-value is that of equality."""
    (c,) = fs.ecd({g: CD[g] for g in ("a", "b")}, **FAST, margin=1e-9).comparisons
    assert c.pvalue_verdict == pytest.approx(c.pvalue, rel=1e-5)


def test_all_groups_against_the_largest(family: fs.results.EcdResult) -> None:
    """Rows are those of the pairs by themselves; p-values are adjusted over the groups, by Holm."""
    assert [c.group for c in family.comparisons] == ["b", "c", "d"]
    assert {c.reference for c in family.comparisons} == {"a"}
    for c in family.comparisons:
        alone = fs.ecd(
            CD, privileged="a", unprivileged=c.group, **FAST, margin=0.04, threshold=45
        ).comparisons[0]
        for name in ("estimate", "statistic", "pvalue", "pvalue_verdict"):
            assert getattr(c, name) == getattr(alone, name)
        for name in ("confidence_interval", "bounds"):  # found together with the simultaneous ends
            assert tuple(getattr(c, name)) == pytest.approx(tuple(getattr(alone, name)), rel=1e-9)
    for plain, adjusted in (
        ("pvalue", "pvalue_adjusted"),
        ("pvalue_verdict", "pvalue_verdict_adjusted"),
    ):
        wanted = adjust_pvalues([getattr(c, plain) for c in family.comparisons], "holm")
        np.testing.assert_allclose([getattr(c, adjusted) for c in family.comparisons], wanted)
        assert max(wanted) > min(getattr(c, plain) for c in family.comparisons)
    assert family.comparisons[1].verdict == "violated"
    assert len(family.sentences()) == 4  # one for each, and the largest
    assert family.unprivileged == ("b", "c", "d")
    assert family.privileged == "a"
    assert len(family.tails) == 4
    assert family["d"].n == 2500


def test_adjustment_can_be_left_out(family: fs.results.EcdResult) -> None:
    single = fs.ecd(CD, reference="a", adjust="none", **FAST, margin=0.04, threshold=45)
    for c, d in zip(single.comparisons, family.comparisons, strict=True):
        assert c.pvalue_verdict_adjusted == c.pvalue_verdict == d.pvalue_verdict
        assert c.pvalue_adjusted == c.pvalue


def test_order_statistics_are_judged_at_bonferronis_level() -> None:
    """Rounded values have no tail.

    Limits at 1 − α/3 for three groups, wider than those of a pair alone.
    """
    rounded = {g: np.round(x, 1) for g, x in CD.items()}
    with pytest.warns(fs.FairstatsWarning):
        three = fs.ecd(rounded, **FAST)
    with pytest.warns(fs.FairstatsWarning):
        alone = fs.ecd(rounded, privileged="a", unprivileged="c", **FAST).comparisons[0]
    c = three.comparisons[1]
    assert (c.group, c.method) == ("c", "none")
    assert math.isnan(c.pvalue_verdict)
    assert c.confidence_interval == alone.confidence_interval
    assert c.bounds.confidence_level == pytest.approx(1 - 0.05 / 3)
    assert c.bounds.low <= alone.bounds.low
    assert c.bounds.high >= alone.bounds.high
    assert alone.bounds.confidence_level == 0.95


@pytest.mark.parametrize(
    ("arguments", "argument"),
    [
        ({"privileged": "a"}, "unprivileged"),
        ({"privileged": "a", "unprivileged": "b", "reference": "c"}, "reference"),
        ({"reference": "z"}, "group"),
        ({"adjust": "tukey"}, "adjust"),
    ],
)
def test_what_is_compared_is_checked(arguments: dict[str, Any], argument: str) -> None:
    with pytest.raises(InputError) as problem:
        fs.ecd(CD, **FAST, **arguments)
    assert problem.value.argument == argument


def test_large_tails_are_said() -> None:
    large = fs.ecd({g: CD[g] for g in "ab"}, **FAST, threshold=210)
    assert "210 of 1,500 values are 14%" in " ".join(large.notes())


@pytest.mark.filterwarnings("ignore::fairstats.ground.errors.DataWarning")
def test_the_bootstrap_of_people_draws_people() -> None:
    """Witness: every resample done plainly, values repeated by how often their owner was drawn."""
    rng = np.random.default_rng(5)
    whole = fs.results.CounterfactualSample.from_values({g: CD[g][:400] for g in "ac"})
    first = whole["c"]
    second = whole["a"]
    owners = rng.integers(0, 150, 800)  # people have rows in both groups
    for g, part in ((first, owners[:400]), (second, owners[400:])):
        object.__setattr__(g, "cluster", part)
    drawn = cluster_bootstrap(first, second, (40, 30), 200.0, 25, np.random.default_rng(9))
    stream = np.random.default_rng(9)
    people = np.unique(owners)
    wanted = []
    for _ in range(25):
        times = np.bincount(stream.integers(0, people.size, people.size), minlength=people.size)
        levels = []
        for g, k in ((first, 40), (second, 30)):
            x = np.repeat(g.values(), times[np.searchsorted(people, g.cluster)])
            fit = fs.evt.fit_gpd(x, float(np.sort(x)[-k - 1]), backend="scipy")
            levels.append(
                fit.return_level(200.0, method="delta" if fit.regular else "profile").estimate
            )
        wanted.append(levels[0] - levels[1])
    np.testing.assert_allclose(drawn, wanted, rtol=1e-6)


@pytest.mark.parametrize("margin", [0.01, 0.3])
def test_the_verdict_on_people_is_dual_to_its_limits(margin: float) -> None:
    whole = fs.results.CounterfactualSample.from_values({g: CD[g][:800] for g in "ac"})
    for g, name in ((whole["a"], "a"), (whole["c"], "c")):
        object.__setattr__(g, "cluster", np.array([f"{name}{i // 2}" for i in range(g.n)]))
    options = {
        "backend": "scipy",
        "n_resamples": 60,
        "interactions": 300,
        "rng": 3,
        "margin": margin,
    }
    (c,) = fs.ecd(whole, privileged="a", unprivileged="c", **options).comparisons
    assert c.method.startswith("t, standard error by resampling people")
    low, high = c.bounds
    assert (low > margin) == (c.verdict == "violated") == (margin == 0.01)
    assert (-margin < low and high < margin) == (c.verdict == "satisfied") == (margin == 0.3)
    assert c.pvalue_verdict < 0.05


def test_a_horizon_forbids_verdicts_where_the_interval_is_wide_for_the_margin(
    family: fs.results.EcdResult,
) -> None:
    """Wider than .6 of the margin .04, not of the level: .02 is not, .03 is.

    And not short of the horizon.
    """
    one = family.comparisons[0]
    for width, horizon, said in ((0.02, 500.0, False), (0.03, 500.0, True), (0.03, 5000.0, False)):
        tails = []
        for tail in family.tails:
            interval = Interval(0.2, 0.2 + width, 0.95, "")
            level = replace(tail.level, confidence_interval=interval)
            tails.append(replace(tail, level=level, type=replace(tail.type, horizon=horizon)))
        assert bool(_explain_horizon(one, tuple(tails), family.settings)) == said


def test_another_estimate_outside_the_interval_is_said(family: fs.results.EcdResult) -> None:
    """With the same verdict: the threshold matters although nothing is judged otherwise."""
    one = family.comparisons[0]
    low, high = one.confidence_interval
    inside, outside = (
        replace(one, estimate=at, metric="ECD, half") for at in ((low + high) / 2, high + 0.01)
    )
    assert _note_sensitivity(one, [inside], family.settings) == ""
    assert "depends on the threshold" in _note_sensitivity(one, [inside, outside], family.settings)
    bounds = Interval(one.bounds.low + 1, one.bounds.high + 1, 0.9, "")
    assert "depends" in _note_sensitivity(one, [replace(inside, bounds=bounds)], family.settings)


@pytest.mark.parametrize(("shift", "margin"), [(0.0, 0.05), (0.02, 0.004)])
def test_people_with_several_rows_by_hand(shift: float, margin: float) -> None:
    """Witness: the resamples of `cluster_bootstrap` with the same seed; SciPy's t of 200 people less
    one with their standard deviation, limits at their own level, and the verdict's p-value: T(−z) +
    T(−z − Δ) in the direction that it takes, Δ being the fair range in standard errors."""
    whole = fs.results.CounterfactualSample.from_values(
        {"b": CD["a"][:500] + shift, "a": CD["d"][:600]}
    )
    for g, person in ((whole["b"], np.arange(500) // 2), (whole["a"], 1000 + np.arange(600) // 3)):
        object.__setattr__(g, "cluster", person)
    options = {
        "privileged": "a",
        "unprivileged": "b",
        "backend": "scipy",
        "interactions": 200.0,
        "threshold": 30,
    }
    found = fs.ecd(whole, **options, n_resamples=40, rng=7, margin=margin, confidence_level=0.9)
    (c,) = found.comparisons
    t = student(199)
    drawn = cluster_bootstrap(whole["b"], whole["a"], (30, 30), 200.0, 40, np.random.default_rng(7))
    sd = drawn.std(ddof=1)
    estimate = found["b"].level.estimate - found["a"].level.estimate
    assert (c.estimate, c.std_error) == pytest.approx((estimate, sd))
    assert c.statistic == pytest.approx(estimate / sd)
    assert c.pvalue == pytest.approx(2 * t.sf(abs(estimate / sd)))
    for ends, level in ((c.confidence_interval, 0.95), (c.bounds, c.bounds.confidence_level)):
        reach = t.ppf(level) * sd
        assert tuple(ends) == pytest.approx((estimate - reach, estimate + reach))
    width = 2 * margin / sd
    z = {"below": -(estimate + margin) / sd, "above": (estimate - margin) / sd}
    p = {way: t.sf(value) + t.sf(value + width) for way, value in z.items()}
    p["inside"] = max(t.sf(-value) + t.sf(width - value) for value in z.values())
    assert c.pvalue_verdict == pytest.approx(min(min(p.values()), 1.0), rel=1e-6)
    assert c.method == "t, standard error by resampling people"
    assert "People own several rows" in found.note
