"""Live R: every class of result cross-checked; broken twins are caught; counts, data and versions.

The witness is R: base-R twins written for this, and stats::prop.test, glm, p.adjust, r2dtable,
dhyper, qbeta, mantelhaen.test, evd. No tolerance is set here: they are those of the cross-check.
"""

from __future__ import annotations

import warnings
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from statsmodels.stats.multitest import multipletests

import fairstats as fs
from fairstats.ground.errors import InputError
from fairstats.report.crosscheck.table import Crosscheck

pytestmark = pytest.mark.r

N = 600


@lru_cache(maxsize=1)
def people() -> dict[str, Any]:
    rng = np.random.default_rng(3)
    group = rng.choice(["a", "b", "c"], N)
    y = rng.integers(0, 2, N)
    return {
        "group": group,
        "y": y,
        "first": np.where(rng.random(N) < 0.3, 1 - y, y),
        "second": np.where(rng.random(N) < 0.2, 1 - y, y),
        "score": np.clip(rng.normal(0.4 + 0.2 * y, 0.2), 0, 1),
        "weight": rng.integers(1, 4, N).astype(float),
        "cluster": rng.integers(0, 60, N),
        "stratum": rng.integers(0, 4, N),
        "X": pd.DataFrame(
            {"x": rng.normal(size=N), "k": rng.choice(["u", "v"], N), "b": rng.random(N) < 0.5}
        ),
    }


def assert_all_agree(found: Crosscheck, *, at_least: int, not_recomputed: int = 0) -> None:
    assert found.disagreements == ()
    assert found.n_agree == found.n_checked >= at_least
    assert found.counts()["not recomputed"] == not_recomputed
    assert str(found).splitlines()[-1] == f"{found.n_checked} of {found.n_checked} agree"


# ---------------------------------------------------------------- rates


@pytest.mark.parametrize(
    "options",
    [
        {"adjust": "hommel"},
        {"method": "delta", "adjust": "fdr_bh"},
        {"method": "score"},
        {"method": "koopman", "confidence_level": 0.9, "threshold": 0.7},
        {"method": "bootstrap", "rng": 1},
        {"alternative": "less"},
        {"alternative": "greater", "simultaneous": "bonferroni"},
        {"simultaneous": "max-z"},
        {"reference": "highest"},
        {"comparisons": "all", "adjust": "sidak"},
        {"reference": "highest", "alternative": "less"},
        {"reference": "highest", "simultaneous": "bonferroni"},
    ],
    ids=str,
)
def test_ratios(options: dict[str, Any]) -> None:
    p = people()
    result = fs.disparate_impact(p["first"], sensitive_features=p["group"], **options)
    assert_all_agree(fs.crosscheck(result), at_least=26)


@pytest.mark.parametrize("comparisons", ["rest", "overall"])
@pytest.mark.parametrize("contrast", ["ratio", "difference", "odds_ratio"])
def test_strata_beside_all_others_and_everybody(contrast: str, comparisons: str) -> None:
    p = people()
    result = fs.group_metric(
        y_pred=p["first"],
        metric="selection_rate",
        contrast=contrast,
        sensitive_features=p["group"],
        strata=p["stratum"],
        comparisons=comparisons,
    )
    assert_all_agree(fs.crosscheck(result), at_least=60)


@pytest.mark.parametrize(
    "design", ["uneven", "one group uneven", "even", "few clusters", "both", "shared clusters"]
)
def test_weights_and_clusters(design: str) -> None:
    """Effective counts, degrees of freedom and even weights, with a group whose true positive rate
    is 1.
    """
    rng = np.random.default_rng(8)
    group = np.repeat(["a", "b", "c"], [60, 240, 600])
    y = rng.integers(0, 2, 900)
    predicted = (rng.random(900) < 0.3 + 0.3 * y).astype(int)
    predicted[(group == "a") & (y == 1)] = 1
    few = np.r_[np.repeat(np.arange(6), 10), 6 + rng.integers(0, 40, 840)]
    uneven = rng.lognormal(0, 0.7, 900)
    options: dict[str, Any] = {
        "uneven": {"sample_weight": uneven},
        "one group uneven": {
            "sample_weight": np.where(group == "b", uneven, np.where(group == "a", 0.3, 2.0))
        },
        "even": {"sample_weight": np.where(group == "c", 1 / 3, 0.2)},
        "few clusters": {"cluster": few},
        "both": {"cluster": few, "sample_weight": uneven},
        "shared clusters": {"cluster": rng.integers(0, 30, 900)},
    }[design]
    for metric in ("conditional_accuracy_1", "average_odds_difference"):
        result = fs.group_metric(
            y, predicted, metric=metric, sensitive_features=group, reference="c", **options
        )
        assert_all_agree(fs.crosscheck(result), at_least=38)
    largest = fs.equalized_odds_difference(
        y, predicted, agg="max", sensitive_features=group, **options
    )
    assert_all_agree(fs.crosscheck(largest), at_least=30)


@pytest.mark.parametrize("moved", [0.0, 0.02, 0.3])
@pytest.mark.parametrize("metric", ["auc", "brier", "abroca"])
def test_scores_that_agree_nearly_everywhere(metric: str, moved: float) -> None:
    """None, five of ninety rows a little, five much: what may change unseen enters the limits."""
    rng = np.random.default_rng(4)
    y = rng.integers(0, 2, 180)
    group = np.repeat(["a", "b"], 90)
    score = np.clip(0.4 + 0.2 * y + 0.15 * rng.standard_normal(180), 0.01, 0.6)
    other = score.copy()
    other[::18] += moved
    result = fs.compare_models(
        y,
        score={"A": score, "B": other},
        metrics=metric,
        sensitive_features=group,
        n_resamples=199,
        rng=1,
    )
    assert fs.crosscheck(result).disagreements == ()


@pytest.mark.parametrize(
    "metric", ["disparate_impact", "demographic_parity_max", "balanced_accuracy_difference"]
)
def test_unequal_clusters(metric: str) -> None:
    """What clusters are worth: 8 in 80 have ten times as many rows."""
    rng = np.random.default_rng(5)
    cluster = np.repeat(
        np.arange(230), np.r_[np.tile(np.r_[60, np.full(9, 6)], 8), np.full(150, 10)]
    )
    y, predicted = rng.random((2, cluster.size)) < rng.beta(1.0, 4.0, 230)[cluster]
    result = fs.group_metric(
        y.astype(int),
        predicted.astype(int),
        metric=metric,
        cluster=cluster,
        reference="b",
        sensitive_features=np.where(cluster < 80, "a", "b"),
    )
    assert any("by their clusters" in note for note in result.notes()) or "max" in metric
    assert_all_agree(fs.crosscheck(result), at_least=10)


@pytest.mark.parametrize("design", [(), ("weight",), ("cluster",), ("weight", "cluster")], ids=str)
def test_differences_and_gaps_under_every_design(design: tuple[str, ...]) -> None:
    p = people()
    how = {{"weight": "sample_weight"}.get(name, name): p[name] for name in design}
    for result in (
        fs.equalized_odds_difference(p["y"], p["first"], sensitive_features=p["group"], **how),
        fs.average_odds_difference(p["y"], p["first"], sensitive_features=p["group"], **how),
        fs.equalized_odds_difference(
            p["y"], p["first"], sensitive_features=p["group"], agg="max", **how
        ),
        fs.average_odds_difference(
            p["y"], p["first"], sensitive_features=p["group"], agg="max", **how
        ),
    ):
        assert_all_agree(fs.crosscheck(result), at_least=20)


def test_small_and_empty_cells() -> None:
    counts = {"few": (1, 6), "none": (0, 9), "all": (8, 0), "many": (60, 40)}
    results = [
        fs.disparate_impact(counts=counts, reference="many"),
        fs.demographic_parity_difference(counts=counts, reference="many"),
        fs.demographic_parity_difference(counts=counts, agg="max"),
    ]
    for result in results:
        assert_all_agree(fs.crosscheck(result), at_least=30)


def test_exact_p_values_of_peaks_near_the_end() -> None:
    """Nuisance rates that 999 of 1,407 exclude do not count.

    The p-value is .001, at a rate of .0007 it is .005.

    Closed form of the latter: every table with no success in the reference is extreme, P(k1 = 0, k0
    ≥ 1). Only rates within the Clopper–Pearson interval of level 1 − 10⁻⁷ count (Berger & Boos
    1994)."""
    result = fs.disparate_impact(counts={"few": (21, 3), "many": (999, 408)}, reference="many")
    found = fs.crosscheck(result)
    exact = [c for c in found.checks if "exact" in c.quantity and c.quantity.startswith("p-value")]
    assert len(exact) == 3
    assert found.agrees
    greater = next(c for c in exact if "greater" in c.quantity)
    p = np.linspace(1e-5, 0.02, 20_001)
    assert greater.python < ((1 - (1 - 0.8 * p) ** 24) * (1 - p) ** 1407).max() / 4


@pytest.mark.filterwarnings("ignore::fairstats.FairstatsWarning")
def test_changes_that_few_clusters_refuse_and_references_that_the_data_chose() -> None:
    """R gives the estimate and no limits, too.

    A chosen reference counts all pairs without adjustment.
    """
    p = people()
    models = {
        "y_true": p["y"],
        "y_pred": p["first"],
        "y_pred_b": p["second"],
        "sensitive_features": p["group"],
    }
    asked = {"metrics": ["disparate_impact", "average_odds_difference", "accuracy"]}
    few = fs.compare_models(
        **models, **asked, cluster=[int(c) % 6 for c in pd.factorize(p["cluster"])[0]]
    )
    assert {c.verdict for c in few.comparisons} == {"insufficient evidence"}
    for result in (few, fs.compare_models(**models, **asked, reference="highest", adjust="none")):
        found = fs.crosscheck(result)
        assert_all_agree(found, at_least=40)
        assert not any(np.isnan(c.python) for c in found.checks if c.quantity == "estimate")


@pytest.mark.parametrize("metric", ["disparate_impact", "average_odds_difference", "f1_difference"])
def test_pairs_with_few_changed_clusters(metric: str) -> None:
    """By score with as many rows as give twelve clusters their variance; in three as clusters."""
    rng = np.random.default_rng(7)
    cluster = np.repeat(np.arange(110), 15)
    y, a = rng.integers(0, 2, (2, cluster.size))
    gained = np.select([cluster < 12, cluster < 15, cluster < 27], [0.3, 0.3, 0.0], 0.1)
    b = np.maximum(a, rng.random(cluster.size) < gained).astype(int)
    result = fs.compare_models(
        y,
        a,
        b,
        metrics=metric,
        cluster=cluster,
        reference="d",
        sensitive_features=np.select([cluster < 12, cluster < 27], ["b", "c"], "d"),
    )
    assert_all_agree(fs.crosscheck(result), at_least=10)


def test_functions_of_counts_pairs_and_strata() -> None:
    p = people()
    of_group = {"sensitive_features": p["group"]}
    for result in (
        fs.group_metric(p["y"], p["first"], metric="f1", **of_group),
        fs.group_metric(
            p["y"], p["first"], metric="mcc", contrast="ratio", cluster=p["cluster"], **of_group
        ),
        fs.compare_models(p["y"], p["first"], p["second"], **of_group),
        fs.compare_models(
            p["y"],
            p["first"],
            p["second"],
            metrics="equal_opportunity_difference",
            cluster=p["cluster"],
            **of_group,
        ),
        fs.disparate_impact(p["first"], strata=p["stratum"], **of_group).stratified,
        fs.equal_opportunity_difference(
            p["y"], p["first"], strata=p["stratum"], **of_group
        ).stratified,
    ):
        assert_all_agree(fs.crosscheck(result), at_least=20)
    own = fs.group_metric(
        p["y"], p["first"], metric=lambda tp, fp, fn, tn: tp / (tp + fn), **of_group
    )
    found = fs.crosscheck(own)
    assert found.counts()["not recomputed"] == 2
    assert "function of the user's" in found.checks[0].note


# ---------------------------------------------------------------- scores, sets of rows


def test_abroca_from_counts_and_from_rows() -> None:
    p = people()
    result = fs.abroca(p["y"], p["score"], sensitive_features=p["group"], rng=1)
    blurred = fs.crosscheck(result)
    assert_all_agree(blurred, at_least=18)
    assert any("stored in bins" in check.note for check in blurred.checks)
    given = {"y_true": p["y"], "score": p["score"], "sensitive_features": p["group"]}
    exact = fs.crosscheck(result, data=given)
    assert_all_agree(exact, at_least=18)
    areas = [c for c in exact.checks if c.quantity == "estimate"]
    assert max(c.absolute_difference for c in areas) < 1e-12


@pytest.mark.filterwarnings("ignore:abroca.*separate:fairstats.ground.errors.DataWarning")
def test_abroca_of_perfect_scores() -> None:
    p = people()
    score = 0.2 + 0.6 * p["y"]
    result = fs.abroca(p["y"], score, sensitive_features=p["group"], rng=1)
    assert_all_agree(fs.crosscheck(result), at_least=10)


@pytest.mark.parametrize("options", [{}, {"n_bins": 20}, {"comparisons": "rest"}], ids=str)
def test_madd(options: dict[str, Any]) -> None:
    p = people()
    result = fs.madd(p["score"], sensitive_features=p["group"], rng=1, **options)
    given = {"score": p["score"], "sensitive_features": p["group"]}
    assert_all_agree(fs.crosscheck(result, data=given), at_least=40)


def test_a_report_without_curve_needs_the_scores(frame: pd.DataFrame) -> None:
    report = fs.audit(
        frame, y_pred="granted", score="score", sensitive_features="sex", n_resamples=199, rng=1
    )
    alone = fs.crosscheck(report)
    with_rows = fs.crosscheck(report, data=frame)
    assert alone.counts()["needs --data"] == 3
    assert_all_agree(alone, at_least=60)
    assert with_rows.counts()["needs --data"] == 0
    assert_all_agree(with_rows, at_least=alone.n_checked + 3)


def test_set_distances_need_rows() -> None:
    p = people()
    given = {"X": p["X"], "y_true": p["y"], "y_pred": p["first"], "sensitive_features": p["group"]}
    result = fs.hfm(
        *list(given.values())[:3], sensitive_features=p["group"], n_resamples=0, n_subsamples=0
    )
    alone = fs.crosscheck(result)
    assert alone.counts()["needs --data"] == 2 * len(result.entries)
    assert_all_agree(fs.crosscheck(result, data=given), at_least=16)
    both = {**given, "sensitive_features": {"g": p["group"], "h": p["group"] == "a"}}
    joint = fs.hfm(**both, statistic="mean", n_resamples=0, n_subsamples=0)
    assert_all_agree(fs.crosscheck(joint, data=both), at_least=24)
    a, b = np.random.default_rng(1).normal(size=(2, 50, 3))
    assert_all_agree(fs.crosscheck(fs.set_distance(a, b), data={"a": a, "b": b}), at_least=3)


def test_blocks_of_pairs_are_the_same_distance() -> None:
    """More than 10^6 pairs take the way of blocks; the witness is a tree."""
    from scipy.spatial import KDTree

    from fairstats.ground.rsession import call

    rng = np.random.default_rng(2)
    a = rng.normal(size=(1100, 4))
    b = rng.normal(size=(1000, 4))
    there = KDTree(b).query(a)[0]
    back = KDTree(a).query(b)[0]
    for statistic, over in (("max", np.max), ("mean", np.mean)):
        found = call("fs_set_distance", a, b, statistic)
        assert [found["a_to_b"], found["b_to_a"]] == pytest.approx(
            [over(there), over(back)], rel=1e-12
        )


def test_discriminative_risk() -> None:
    p = people()
    frame = p["X"].assign(g=p["group"])
    result = fs.discriminative_risk(
        lambda rows: ((rows["x"] > 0) ^ (rows["g"] == "a")).astype(int),
        frame,
        sensitive_features="g",
        draws=1,
        rng=1,
    )
    assert_all_agree(fs.crosscheck(result), at_least=12)


# ---------------------------------------------------------------- posteriors


@pytest.mark.parametrize("options", [{}, {"target": "predictive"}, {"prior": 0.5}], ids=str)
def test_posteriors(options: dict[str, Any]) -> None:
    p = people()
    result = fs.um_posterior(p["y"], p["first"], sensitive_features=p["group"], rng=1, **options)
    assert_all_agree(fs.crosscheck(result), at_least=250)


def test_comparisons_of_algorithms() -> None:
    p = people()
    first, second = (
        fs.um_posterior(p["y"], p[name], sensitive_features=p["group"], rng=1)
        for name in ("first", "second")
    )
    assert_all_agree(fs.crosscheck(fs.um_compare(first, second, rng=2)), at_least=10)
    independent = fs.um_compare(
        first,
        second,
        paired=False,
        metrics=["f1", "demographic_parity_ratio"],
        rope=(0.01, 0.1),
        rng=2,
    )
    assert_all_agree(fs.crosscheck(independent), at_least=10)
    ranking = fs.um_compare({"a": first, "b": second, "c": first}, rng=2)
    assert_all_agree(fs.crosscheck(ranking), at_least=9)


# ---------------------------------------------------------------- tails and regions


@pytest.mark.parametrize("calibrated", [False, True])
def test_ecd(calibrated: bool) -> None:
    rng = np.random.default_rng(3)
    cd = {"white": 0.3 * rng.beta(2, 8, 8000), "black": 0.5 * rng.beta(2, 8, 3000)}
    result = fs.ecd(
        cd,
        privileged="white",
        unprivileged="black",
        calibrated=calibrated,
        n_resamples=0,
        backend="scipy",
    )
    assert_all_agree(fs.crosscheck(result), at_least=30)


@pytest.mark.parametrize("grid", [0.1, None])
@pytest.mark.filterwarnings("ignore::fairstats.ground.errors.InsufficientEvidenceWarning")
def test_ecd_with_a_grid_that_is_given(grid: float | None) -> None:
    """Order statistics of two distinct values, whose grid is not found.

    R takes the width that was given.
    """
    rng = np.random.default_rng(3)
    cd = np.round(rng.beta(2, 8, 3000), 1)
    cd[1000:] = rng.choice([0.0, 0.1], 2000)
    rows = {
        "score": np.zeros(3000),
        "counterfactual_score": cd,
        "sensitive_features": np.repeat(["a", "b", "b"], 1000),
    }
    result = fs.ecd({"a": cd[:1000], "b": cd[1000:]}, grid=grid, n_resamples=0, backend="scipy")
    assert ("cells" in result["b"].level.confidence_interval.method) == (grid is not None)
    assert_all_agree(fs.crosscheck(result, data=rows), at_least=20)


def test_tails_by_evd_too() -> None:
    x = np.random.default_rng(3).exponential(size=5000)
    for fit in (
        fs.evt.fit_gpd(x, 3.0, backend="scipy"),
        fs.evt.fit_point_process(x, 3.0, 500, backend="scipy"),
        fs.evt.fit_gev(x.reshape(100, 50).max(axis=1), backend="scipy"),
    ):
        assert_all_agree(fs.crosscheck(fit), at_least=6)


@pytest.mark.r_extra("extRemes")
def test_tails_by_extremes() -> None:
    fit = fs.evt.fit_gpd(np.random.default_rng(3).exponential(size=5000), 3.0, backend="scipy")
    found = fs.crosscheck(fit)
    assert any(source.startswith("extRemes::fevd (extRemes") for source in found.sources)
    assert_all_agree(found, at_least=10)


@pytest.mark.slow
def test_averages_of_counterfactuals_with_and_without_rows(frame: pd.DataFrame) -> None:
    rng = np.random.default_rng(8)
    frame = frame.assign(changed=np.clip(frame["score"] + rng.beta(1, 12, len(frame)), 0, 1))
    report = fs.audit(
        frame,
        y_pred="granted",
        score="score",
        counterfactual_score="changed",
        sensitive_features="sex",
        n_resamples=199,
        rng=1,
    )
    alone = fs.crosscheck(report)
    with_rows = fs.crosscheck(report, data=frame)
    assert alone.disagreements == with_rows.disagreements == ()
    assert alone.counts()["needs --data"] > with_rows.counts()["needs --data"] == 0
    means = [
        c
        for c in with_rows.checks
        if c.metric == "average causal discrimination" and c.quantity == "estimate"
    ]
    assert [c.verdict for c in means] == ["agrees", "agrees"]


def test_regions() -> None:
    x = np.random.default_rng(3).normal(size=3000)
    samples = {"samples": x}
    assert_all_agree(
        fs.crosscheck(fs.hdr(x, [0.5, 0.95], backend="scipy"), data=samples), at_least=10
    )
    grid = np.linspace(-5, 5, 2001)
    two_peaks = np.exp(-(grid**2) / 2) + np.exp(-4 * (grid - 3) ** 2)
    two_peaks /= two_peaks.sum() * (grid[1] - grid[0])  # the ends are 0
    assert_all_agree(fs.crosscheck(fs.hdr(density=(grid, two_peaks), backend="scipy")), at_least=6)


def test_what_r_has_of_a_region_depends_on_its_density() -> None:
    """Written down: R smooths on the whole line, weighs no atoms and has no regions of planes.

    It says so.
    """
    rng = np.random.default_rng(3)
    x = rng.exponential(size=500)
    ends = [
        "number of intervals",
        "interval 1, lower end",
        "interval 1, upper end",
        "share of the density's mass",
    ]
    bounded = fs.hdr(x, 0.5, support=(0, None), backend="scipy")
    found = fs.crosscheck(bounded, data={"samples": x})
    assert_all_agree(found, at_least=5)
    assert [c.quantity for c in found.checks] == ["level f_alpha", *ends]
    without = fs.crosscheck(bounded)
    assert [(c.quantity, c.verdict) for c in without.checks] == [
        ("level f_alpha", "needs --data"),
        *((end, "agrees") for end in ends),
    ]
    assert without.checks[0].note == "a quantile over the samples"
    atoms = fs.hdr(rng.integers(0, 6, 500), 0.9, discrete=True, backend="scipy")
    plane = fs.hdr(rng.normal(size=(200, 2)), 0.9, backend="scipy")
    for result, why in (
        (atoms, "of discrete draws: R has no twin"),
        (plane, "in 2 dimensions: R has no twin"),
    ):
        (check,) = fs.crosscheck(result).checks
        assert (check.verdict, check.note) == ("not recomputed", why)
        assert check.metric == "region 0.9"


def left_out(found: Crosscheck) -> list[tuple[str, str, str]]:
    """(metric, quantity, reason) of what was not recomputed, or needs data."""
    return [
        (c.metric, c.quantity, c.note)
        for c in found.checks
        if c.verdict in ("not recomputed", "needs --data")
    ]


@lru_cache(maxsize=1)
def halves() -> dict[str, Any]:
    """300 of the people in two groups, with scores of two models."""
    p = people()
    score = p["score"][:300]
    other = np.clip(score + np.random.default_rng(1).normal(0, 0.1, 300), 0, 1)
    group = np.where(p["group"] == "c", "b", p["group"])
    return {
        "y": p["y"][:300],
        "group": group[:300],
        "score": {"a": score, "b": other},
        "groups": group,
    }


def test_distances_of_weights_and_of_given_bins() -> None:
    """Of weights the estimate alone; with bins of one's own all.

    With the scores also the quantiles and headline.
    """
    p = people()
    own = halves()
    weighted = fs.madd(
        own["score"]["a"],
        sensitive_features=own["group"],
        sample_weight=p["weight"][:300],
        n_resamples=199,
        rng=1,
    )
    found = fs.crosscheck(weighted)
    assert found.disagreements == ()
    why = "of weighted or clustered rows: R has no twin of its linearisation"
    assert left_out(found) == [("madd", "interval and test", why)]
    assert [c.quantity for c in found.checks if c.metric == "madd"][:1] == ["estimate"]
    data = {"score": own["score"]["a"], "sensitive_features": own["group"]}
    for options in ({"n_bins": 7}, {"n_bins": 7, "grid_bins": 5}, {}):
        found = fs.crosscheck(fs.madd(**data, n_resamples=199, rng=1, **options), data=data)
        assert_all_agree(found, at_least=15)
        quantities = {c.quantity.partition(" ")[0] for c in found.checks}
        assert ("edge" in quantities) == ("headline" in quantities) == (options != {"n_bins": 7})


def test_changes_of_scores_with_and_without_their_rows() -> None:
    own = halves()
    given = {"score": own["score"], "sensitive_features": own["group"]}
    predicted = {name: (v > 0.5).astype(int) for name, v in own["score"].items()}
    models = fs.compare_models(
        own["y"],
        predicted,
        metrics=["auc", "brier", "madd", "abroca", "accuracy"],
        baseline="a",
        n_resamples=100,
        rng=1,
        **given,
    )
    with_rows = fs.crosscheck(models, data={"y_true": own["y"], **given})
    assert_all_agree(with_rows, at_least=100)
    without = fs.crosscheck(models)
    assert without.disagreements == ()
    assert {(q, why) for _, q, why in left_out(without)} == {
        ("estimate", "scores of single rows: pass data=")
    }
    names = [m.split("_")[0] for m, _, _ in left_out(without)]
    assert names == ["auc"] * 3 + ["brier"] * 3 + ["madd", "abroca"]
    unlabelled = fs.crosscheck(models, data=given)  # MADD needs no labels
    names = [m.split("_")[0] for m, _, _ in left_out(unlabelled)]
    assert names == ["auc"] * 3 + ["brier"] * 3 + ["abroca"]


def test_mitigations_before_and_after() -> None:
    p = people()
    own = halves()
    fitted = fs.MaddMitigator(n_lambdas=11, random_state=1)
    fitted.fit(own["score"]["a"], own["y"], sensitive_features=own["group"])
    rest = slice(300, N)
    effect = fitted.evaluate(
        p["score"][rest], p["y"][rest], sensitive_features=own["groups"][rest], n_resamples=199
    )
    found = fs.crosscheck(effect)
    assert found.disagreements == ()
    assert [q for _, q, _ in left_out(found)] == [
        "estimate"
    ]  # the paired change of MADD needs the rows
    stages = [c.metric.rpartition(", ")[2] for c in found.checks if c.metric.startswith("madd,")]
    assert set(stages) == {"before", "after"}
    assert stages == sorted(stages, reverse=True)
    assert found.n_checked > 90


def test_posteriors_of_estimators_and_regions() -> None:
    """The rankings under both targets; what is conditional on a region is not recomputed."""
    p = people()
    own = halves()
    x = np.column_stack([own["score"]["a"], own["score"]["b"]])
    models = {"a": LogisticRegression(), "b": LogisticRegression(C=0.05)}
    asked = {"sensitive_features": own["group"], "draws": 400, "rng": 1}
    ranked = fs.um_compare_estimators(
        models, x, own["y"], cv=3, correlation="1/K", progress=False, **asked
    )
    assert_all_agree(fs.crosscheck(ranked), at_least=8)
    first, second = (fs.um_posterior(own["y"], p[k][:300], **asked) for k in ("first", "second"))
    found = fs.crosscheck(fs.um_compare(first, second, hdr=0.9, rng=1, draws=400))
    assert_all_agree(found, at_least=10, not_recomputed=1)
    why = "conditional on a highest density region of the draws: R has no twin"
    assert left_out(found) == [("accuracy, equal_opportunity", "P(A ≫ B | HDR)", why)]


@pytest.mark.parametrize(("reference", "method"), [("b", "holm"), ("highest", "bonferroni")])
def test_worst_cases_and_a_family_that_is_the_audit(reference: str, method: str) -> None:
    """Adjusted here: the method of the whole audit, over every row with a p-value, in their
    order.
    """
    p = people()
    frame = pd.DataFrame({"g": p["group"], "p": p["first"]})[:300]
    frame["p"] = frame["p"].where(np.arange(300) % 30 > 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fs.FairstatsWarning)
        report = fs.audit(
            frame,
            y_pred="p",
            sensitive_features="g",
            missing="drop",
            family="audit",
            reference=reference,
            rng=1,
        )
    found = fs.crosscheck(report)
    assert_all_agree(found, at_least=90)
    assert sum(c.metric.startswith("worst_case_") for c in found.checks) >= 8
    table = report.to_frame()
    tested = table[table["pvalue"].notna() & (table["metric"] != "worst_case")]
    pairs = np.where(
        tested["metric"].str.endswith("_max") | (method == "holm"), 1, 1.5
    )  # 3 pairs, 2 compared
    raw = np.minimum(tested["pvalue"] * pairs, 1)
    adjusted = multipletests(raw, method=method)[1]
    np.testing.assert_allclose(tested["pvalue_adjusted"], adjusted, rtol=1e-12)
    mine = [c for c in found.checks if c.quantity == "p-value, adjusted"]
    assert len(mine) == len(tested)
    assert {c.section for c in mine} == {"rates"}
    np.testing.assert_allclose([c.python for c in mine], adjusted, rtol=1e-12)


# ---------------------------------------------------------------- broken twins, whole reports


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("score_z", "function(...) original(...) * 1.0001"),
        (
            "crosscheck_comparisons",
            "function(...) { x <- original(...); x$low <- x$low + 0.01; x }",
        ),
        (
            "known_prop_test",
            "function(...) { x <- original(...); x$estimate <- rev(x$estimate); x }",
        ),
    ],
)
def test_broken_twins_are_caught(perturbed: Any, name: str, code: str) -> None:
    p = people()
    result = fs.disparate_impact(p["first"], sensitive_features=p["group"], method="score")
    assert fs.crosscheck(result).agrees
    with perturbed(name, code):
        found = fs.crosscheck(result)
        assert not found.agrees
        assert found.disagreements
        assert str(found).splitlines()[-1] == f"{found.n_agree} of {found.n_checked} agree"
    assert fs.crosscheck(result).agrees


def test_broken_random_twins_are_caught(perturbed: Any) -> None:
    p = people()
    posterior = fs.um_posterior(p["y"], p["first"], sensitive_features=p["group"], rng=1)
    with perturbed("dirichlet_counts", "function(alpha, ...) original(alpha * 1.1 + 3, ...)"):
        assert len(fs.crosscheck(posterior).disagreements) > 50
    result = fs.madd(p["score"], sensitive_features=p["group"], rng=1)
    with perturbed("madd_limits", "function(c0, c1, level, ...) original(c0, c1, 0.8, ...)"):
        assert not fs.crosscheck(result).agrees


@pytest.mark.slow
def test_six_intersectional_groups(frame: pd.DataFrame) -> None:
    report = fs.audit(
        frame,
        y_true="repaid",
        y_pred="granted",
        score="score",
        sensitive_features=["region", "sex"],
        pos_label={"y_true": "yes", "y_pred": 1},
        n_resamples=200,
        family="audit",
        rng=1,
    )
    assert len(report.tables[-1].groups) == 6
    found = fs.crosscheck(report, data=frame)
    assert_all_agree(found, at_least=1000)
    crossed = [c for c in found.checks if c.sensitive_features == "region & sex" and c.counted]
    assert len(crossed) > 60
    assert any(c.quantity == "p-value, adjusted" for c in crossed)


def test_other_rows_are_refused(frame: pd.DataFrame) -> None:
    report = fs.audit(frame, y_pred="granted", sensitive_features="sex")
    with pytest.raises(InputError, match="not those of the report"):
        fs.crosscheck(report, data=frame.iloc[:-1])
    with pytest.raises(InputError, match="granted"):
        fs.crosscheck(report, data=frame.drop(columns="granted"))
    with pytest.raises(InputError, match="mapping"):
        fs.crosscheck(report.results[0], data=frame)


@pytest.mark.slow
def test_adult() -> None:
    """The bundled rows of Adult, predicted by a rule; sex and race."""
    from fairstats.datasets import load_adult

    frame, _ = load_adult()
    frame = frame.assign(
        rule=((frame["education_num"] >= 12) & (frame["hours_per_week"] >= 40)).astype(int)
    )
    report = fs.audit(
        frame,
        y_true="income",
        y_pred="rule",
        sensitive_features=["sex", "race"],
        pos_label={"y_true": ">50K", "y_pred": 1},
        intersections=False,
        rng=1,
    )
    assert_all_agree(fs.crosscheck(report), at_least=300)
