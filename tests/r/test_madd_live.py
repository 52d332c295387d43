"""The base-R twins of MADD against the Python functions: recorded everywhere, live where R is.

The twins count by `findInterval` for one grid after the other, shift every stretch of Algorithm 1
to its first value, sum hypergeometric probabilities over their whole range, and solve the equation
of the map by bisection; Python sorts once, uses prefix sums, De Moivre's closed form and linear
interpolation."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fairstats as fs
from fairstats.ground.errors import RBackendError
from fairstats.ground.rsession import call
from fairstats.ground.scores import bandwidth_order
from fairstats.methods.madd.curve import MaddCurve, curve_of, stable_bandwidth
from fairstats.methods.madd.mitigation import MixtureCdfs
from fairstats.methods.madd.noise import noise_of
from fairstats.methods.madd.permutation import null_mean
from fairstats.methods.madd.scales import rank_outcomes, scale_scores
from fairstats.methods.madd.scores import Sample, bin_edges

REFERENCE = Path(__file__).resolve().parents[1] / "reference" / "madd_twins.json"
CASES = ("continuous", "tied")


@lru_cache(maxsize=1)
def recorded() -> dict[str, Any]:
    return json.loads(REFERENCE.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def samples(case: dict[str, Any], *, weighted: bool = False) -> list[Sample]:
    score = np.array(case["score"])
    group = np.array(case["group"])
    found = []
    for g in ("a", "b"):
        rows = np.flatnonzero(group == g)
        rows = rows[np.argsort(score[rows], kind="stable")]
        found.append(
            Sample(score[rows], np.array(case["weight"], dtype=float)[rows] if weighted else None)
        )
    return found


@pytest.mark.parametrize("name", CASES)
def test_recorded_distances(name: str) -> None:
    case = recorded()[name]
    first, second = samples(case)
    contributions = noise_of(first, second, bin_edges(12)).difference
    assert np.allclose(contributions, case["contributions_12"], atol=1e-14)
    assert np.abs(contributions).sum() == pytest.approx(case["madd_12"], abs=1e-13)
    weighted = noise_of(*samples(case, weighted=True), bin_edges(12)).difference
    assert np.abs(weighted).sum() == pytest.approx(case["weighted_12"], abs=1e-13)
    assert np.allclose(curve_of(first, second, 150, ("a", "b")).madd, case["curve"], atol=1e-13)


@pytest.mark.parametrize("name", CASES)
def test_recorded_stretch_and_null_mean(name: str) -> None:
    case = recorded()[name]
    first, second = samples(case)
    stable = stable_bandwidth(curve_of(first, second, 150, ("a", "b")))
    for key in ("low", "high", "mean", "h_sup"):
        assert getattr(stable, key) == pytest.approx(case["stable"][key], rel=1e-12), key
    assert stable.n_points == case["stable"]["n_points"]
    assert stable.std == pytest.approx(case["stable"]["std"], rel=1e-9, abs=1e-14)
    pooled = Sample.joined([first, second]).histogram(bin_edges(12))
    assert null_mean(pooled, first.n, second.n) == pytest.approx(case["null_mean_12"], rel=1e-11)


@pytest.mark.parametrize("name", CASES)
def test_recorded_map(name: str) -> None:
    case = recorded()[name]
    maps = MixtureCdfs.fit([s.scores for s in samples(case)])
    new = np.array(case["new_score"])
    for g, group in enumerate(("a", "b")):
        for lambda_, mapped in case["mapped"][group].items():
            assert np.allclose(maps.map(new, g, float(lambda_)), mapped, atol=1e-9), (
                group,
                lambda_,
            )


@pytest.mark.r
@pytest.mark.parametrize("seed", [1, 2])
def test_live_curve_and_stretch(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first = Sample(np.sort(rng.beta(2, 3, 400)))
    second = Sample(np.sort(rng.beta(3, 3, 250)))
    ours = curve_of(first, second, 200, ("a", "b"))
    theirs = call("fs_madd_curve", first.scores, second.scores, max_bins=200)
    assert np.array_equal(theirs["n_bins"], ours.n_bins)
    assert np.allclose(theirs["madd"], ours.madd, atol=1e-13)
    stable = stable_bandwidth(ours)
    twin = call("fs_stable_bandwidth", ours.bandwidth, ours.madd, 400, 250)
    assert (twin["low"], twin["high"]) == pytest.approx((stable.low, stable.high), rel=1e-12)
    assert twin["mean"] == pytest.approx(stable.mean, rel=1e-12)
    assert twin["std"] == pytest.approx(stable.std, rel=1e-9)
    assert call("madd_bandwidth_order", 400, 250) == pytest.approx(
        bandwidth_order(400, 250), rel=1e-14
    )


@pytest.mark.r
def test_live_scores_on_edges() -> None:
    """Decimals lie on many edges; both sides must put them into the same bin at every m."""
    rng = np.random.default_rng(3)
    first, second = (Sample(np.sort(rng.integers(0, 101, n) / 100)) for n in (80, 60))
    ours = curve_of(first, second, 250, ("a", "b")).madd
    assert np.allclose(
        call("fs_madd_curve", first.scores, second.scores, max_bins=250)["madd"], ours, atol=1e-13
    )


@pytest.mark.r
def test_live_numbers_and_classes_as_scores() -> None:
    rng = np.random.default_rng(5)
    income = rng.lognormal(size=60).round(1)
    twin = call("fs_madd_scale", income, "rank")
    assert np.allclose(twin, rank_outcomes(income), atol=1e-14)
    classes = rng.choice(["B", "a", "C", "d"], 60)
    placed = scale_scores(
        classes, "class", counts=None, bandwidth="auto", n_bins=None, grid_bins=None
    )
    assert placed.n_bins == 4
    assert np.allclose(call("fs_madd_scale", classes.tolist(), "class"), placed.score, atol=1e-14)


@pytest.mark.r
def test_live_null_mean_and_map() -> None:
    rng = np.random.default_rng(4)
    pooled = rng.multinomial(90, np.full(15, 1 / 15))
    assert call("fs_madd_null_mean", pooled, 40, 50) == pytest.approx(
        null_mean(pooled, 40, 50), rel=1e-11
    )
    score = rng.random(120).round(2)
    group = np.repeat(["a", "b", "c"], 40)
    new = np.array([0.0, 0.005, 0.5, 0.75, 1.0])
    maps = MixtureCdfs.fit([np.sort(score[group == g]) for g in ("a", "b", "c")])
    for g, name in enumerate(("a", "b", "c")):
        twin = call("fs_madd_map", score, group.tolist(), 0.6, new, [name] * 5)
        assert np.allclose(twin, maps.map(new, g, 0.6), atol=1e-9)


@pytest.mark.r
def test_live_errors_are_ours() -> None:
    with pytest.raises(RBackendError, match="`score0`: got values from 0.1 to 1.5"):
        call("madd", [0.1, 1.5], [0.2, 0.3], 10)
    curve = MaddCurve(np.arange(1, 41), np.linspace(0, 1, 40), 100, 100, ("a", "b"))
    with pytest.raises(RBackendError, match="no stretch of bandwidths is eligible"):
        call("fs_stable_bandwidth", curve.bandwidth, curve.madd, 100, 100)


@pytest.mark.r
def test_live_columns_of_scores() -> None:
    """Three classes' probabilities: distances, means of alike groups and the statistic of all."""
    rng = np.random.default_rng(8)
    group = np.repeat(["a", "b"], [70, 110])
    share = np.vstack([rng.dirichlet([2, 3, 4], 70), rng.dirichlet([2, 3, 5], 110)])
    ours = fs.madd(share, sensitive_features=group, rng=1)
    twin = call("fs_madd_columns", share, group.tolist(), resamples=999)
    columns = twin["columns"]
    assert np.allclose(columns["madd"], ours.estimate, atol=1e-13)
    assert np.allclose(columns["null_mean"], ours.null_mean, rtol=1e-11)
    largest = twin["largest"]
    assert largest["estimate"] == pytest.approx(ours.largest.estimate, rel=1e-13)
    assert largest["statistic"] == pytest.approx(ours.largest.statistic, rel=1e-9)
    # two p-values of 999 and 1,999 permutations: five Monte Carlo errors
    error = (0.25 * (1 / 999 + 1 / 1_999)) ** 0.5
    assert largest["pvalue"] == pytest.approx(ours.largest.pvalue, abs=5 * error)
    assert largest["null_mean"] == pytest.approx(ours.largest.null_mean, rel=0.05)
