"""Verdicts of ECD: dual to their one-sided limits, family-wise over groups.

The rows of people.
"""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.stats import t as student

import fairstats as fs
from fairstats.ground.errors import InputError, InsufficientEvidenceWarning
from fairstats.ground.multiplicity import adjust_pvalues
from fairstats.ground.results import Interval
from fairstats.methods.ecd.clusters import effect_of_clusters, level_influence
from fairstats.methods.ecd.contrast import BY_CLUSTERS
from fairstats.methods.ecd.ecd import _explain_horizon, _note_sensitivity
from fairstats.methods.ecd.level_curve import CurveContrast
from fairstats.methods.ecd.root_law import RootLaw
from fairstats.methods.ecd.sample import GroupSample

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
    assert c.method == BY_CLUSTERS
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
    """Witness: the law of the root of independent rows, its mean times the design effect d² and its
    deviation times d, and SciPy's t; limits are the differences with the roots of its quantiles."""
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
    found = fs.ecd(whole, **options, n_resamples=0, rng=7, margin=margin, confidence_level=0.9)
    (c,) = found.comparisons
    fits = (found["b"].fit, found["a"].fit)
    effect = effect_of_clusters((whole["b"], whole["a"]), fits, 200.0)
    stretch = max(effect.design_effect, 1.0)
    contrast = CurveContrast.of_fits(*fits, 200.0)
    law = RootLaw.of_contrast(contrast, farthest=2.0)
    degrees = max(min(30 / stretch, effect.owners) - 3, 1.0)

    def z_of(difference: float) -> float:
        """The root at a difference, less its mean and divided by its deviation."""
        root = np.copysign(
            np.sqrt(contrast.deviance(np.array([difference]))[0]), contrast.estimate - difference
        )
        mean, deviation = law.moments(float(root))
        return float((root - stretch * mean) / (np.sqrt(stretch) * deviation))

    assert c.pvalue == pytest.approx(2 * student.sf(abs(z_of(0.0)), degrees), rel=1e-6)
    low, high = c.confidence_interval
    quantile = student.ppf(0.95, degrees)
    assert z_of(low) == pytest.approx(quantile, rel=1e-3)
    assert z_of(high) == pytest.approx(-quantile, rel=1e-3)
    assert c.std_error == pytest.approx(effect.std_error)
    assert c.method == BY_CLUSTERS
    assert "People own several rows" in found.note


def _sample_of(name: str, values: np.ndarray, owner: np.ndarray) -> GroupSample:
    return GroupSample._of(name, "other", values, np.arange(values.size), None, owner)


def _quantile_sample(rows: int, shape: float = 0.1) -> np.ndarray:
    """The quantiles of a generalised Pareto tail: a sample without noise."""
    share = (np.arange(rows) + 0.5) / rows
    return 0.02 * ((1 - share) ** -shape - 1) / shape


def test_the_influence_of_rows_has_the_variance_of_the_level() -> None:
    """Witness: the expected information's standard error, in closed form; a sample of quantiles of
    the law has the moments of its scores to about 2%."""
    values = _quantile_sample(20_000)
    for k in (400, 2_000):
        fit = fs.evt.fit_gpd(values, float(np.sort(values)[-k - 1]), backend="scipy")
        sample = _sample_of("a", values, np.arange(values.size))
        influence = level_influence(sample, fit, 1000.0)
        expected = fit.return_level(1000.0, method="delta").std_error
        assert np.sqrt(np.sum(influence**2)) == pytest.approx(expected, rel=0.03)
        assert influence.sum() == pytest.approx(0.0, abs=0.01 * expected)


def test_an_exponential_tail_is_the_limit_of_the_influence() -> None:
    """ξ → 0: the formulas of both branches agree where they meet, to their distance in ξ."""
    values = _quantile_sample(5_000, shape=1e-9)
    fit = fs.evt.fit_gpd(values, float(np.sort(values)[-201]), backend="scipy")
    sample = _sample_of("a", values, np.arange(values.size))
    near, nearer = (
        level_influence(
            sample, SimpleNamespace(origin=fit.threshold, scale=fit.scale, shape=shape), 1000.0
        )
        for shape in (2e-5, 5e-6)
    )
    np.testing.assert_allclose(near, nearer, rtol=1e-3, atol=1e-4 * np.abs(near).max())


def test_equal_rows_of_a_person_count_as_one() -> None:
    """Closed form: everyone twice has the design effect 2, but for the parameters: k = 80
    exceedances of 40 people, 40/37 beside 80/77."""
    values = np.repeat(_quantile_sample(800), 2)
    owner = np.repeat(np.arange(800), 2)
    fit = fs.evt.fit_gpd(values, float(np.sort(values)[-81]), backend="scipy")
    first = _sample_of("a", values, owner)
    second = _sample_of("b", values, owner + 1000)
    effect = effect_of_clusters((first, second), (fit, fit), 1000.0)
    assert effect.design_effect == pytest.approx(2 * (40 / 37) / (80 / 77))
    assert effect.owners == 40
    alone = effect_of_clusters(
        (replace(first, cluster=np.arange(1600)), replace(second, cluster=2000 + np.arange(1600))),
        (fit, fit),
        1000.0,
    )
    assert alone.design_effect == pytest.approx(1.0)


def test_people_of_both_groups_make_nothing_surer() -> None:
    """The same people with the same values in both groups: the difference has no variance over
    people, and the rows count as independent ones all the same."""
    values = _quantile_sample(800)
    fit = fs.evt.fit_gpd(values, float(np.sort(values)[-41]), backend="scipy")
    first = _sample_of("a", values, np.arange(800))
    effect = effect_of_clusters((first, replace(first, group="b")), (fit, fit), 1000.0)
    assert effect.std_error == pytest.approx(0.0, abs=1e-12)
    assert effect.rows_for_one == 1.0


def test_exceedances_of_few_people_are_no_evidence() -> None:
    """Five people own all exceedances of a group: the sum of influences says nothing."""
    whole = fs.results.CounterfactualSample.from_values({"b": CD["a"][:500], "a": CD["d"][:600]})
    order = np.argsort(np.argsort(-whole["b"].values()))
    object.__setattr__(whole["b"], "cluster", np.where(order < 40, order % 5, 10 + order))
    object.__setattr__(whole["a"], "cluster", 1000 + np.arange(600))
    with pytest.warns(InsufficientEvidenceWarning, match="belong to 5 people"):
        found = fs.ecd(
            whole,
            privileged="a",
            unprivileged="b",
            backend="scipy",
            interactions=200.0,
            threshold=30,
            n_resamples=0,
        )
    assert found.verdict == "insufficient evidence"
    assert np.isnan(found.pvalue)
