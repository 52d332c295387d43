"""The base-R twins of Uncertainty Matters against the Python functions.

Recorded everywhere, live where R is.

The twins draw by stick breaking with beta variables, integrate the effective counts numerically,
classify events row by row from the definition, and take the jackknife as a variance; Python
normalises gamma variables, has closed forms, codes patterns in base three and sums squares."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fairstats as fs
from fairstats.ground.errors import RBackendError
from fairstats.ground.registry import RATES
from fairstats.ground.rsession import call
from fairstats.methods.um.events import probabilities
from fairstats.methods.um.folds import (
    STRATEGIES,
    checked_factors,
    strategy_factors,
    variance_ratio_of,
)
from fairstats.methods.um.metrics import parse_metric

#: The order of the cells in these tables, and their places in the twins (tp, fp, fn, tn).
CELLS = ("tp", "tn", "fp", "fn")
IN_R = [0, 2, 3, 1]
REFERENCE = Path(__file__).resolve().parents[1] / "reference" / "um_twins.json"
#: Label and prediction of every cell of a table of three classes.
AXES = tuple(np.divmod(np.arange(9), 3))
#: Both sides draw 200,000: five standard errors of a difference of means, and of a ratio of sds.
DRAWS = 200_000
MEANS = 5 * np.sqrt(2 / DRAWS)
SDS = 5 * np.sqrt(1 / DRAWS) * 1.5  # a half more for tails heavier than the normal's


@lru_cache(maxsize=1)
def recorded() -> dict[str, Any]:
    return json.loads(REFERENCE.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def posterior(cells: Any, **options: Any) -> fs.results.UmPosterior:
    counts = {f"g{i}": dict(zip(CELLS, row, strict=True)) for i, row in enumerate(cells)}
    return fs.um_posterior(counts=counts, draws=DRAWS, rng=5, **options)


def same_moments(ours: np.ndarray, mean: Any, sd: Any) -> None:
    spread = np.asarray(sd)
    assert np.all(np.abs(np.nanmean(ours, axis=0) - mean) < MEANS * spread)
    assert np.all(np.abs(np.nanstd(ours, axis=0, ddof=1) / spread - 1) < SDS)


#: Rates that R's answers were recorded for; R's own tests go through every entry of the table.
NAMES = [name for name in RATES if name in recorded()["metrics"]]


@pytest.mark.parametrize("name", NAMES)
def test_recorded_metrics(name: str) -> None:
    """The same draws through both definitions."""
    case = recorded()
    counts = np.stack([np.array(case["drawn"][cell]) for cell in fs.ConfusionCounts.cells], axis=-1)
    answer = case["metrics"][name]
    for ending, key in (
        ("", "overall"),
        ("_difference", "difference"),
        ("_ratio", "ratio"),
        ("_max", "max"),
    ):
        ours = parse_metric(name + ending).values(counts, 1)
        assert np.allclose(ours, np.array(answer[key]), rtol=1e-11, atol=1e-13), ending


@pytest.mark.parametrize("name", [n for n in NAMES if n != "error_ratio"])
def test_recorded_moments_of_the_posterior(name: str) -> None:
    """FN/FP of a small group has too heavy a tail for its moments to be compared."""
    case = recorded()
    ours = posterior(case["counts"]).metric(name, by_group=True)
    same_moments(ours, case["moments"][name]["mean"], case["moments"][name]["sd"])


@pytest.mark.parametrize("name", ["tpr", "accuracy", "selection_rate"])
def test_recorded_moments_of_the_next_test_set(name: str) -> None:
    case = recorded()
    ours = posterior(np.round(case["counts"]), target="predictive").metric(name, by_group=True)
    same_moments(ours, case["predictive"][name]["mean"], case["predictive"][name]["sd"])


def check_events(delta: np.ndarray, rope: Any, twin: dict[str, Any]) -> None:
    shorts = [f"m{j}" for j in range(delta.shape[1])]
    ours = {e.name: e.probability for e in probabilities(delta, rope, ("A", "B"), shorts)}
    assert ours.pop("A≫B") == pytest.approx(twin["a_better"], abs=1e-12)
    assert ours.pop("B≫A") == pytest.approx(twin["b_better"], abs=1e-12)
    assert ours.pop("A≈B") == pytest.approx(twin["equivalent"], abs=1e-12)
    assert sum(ours.values()) == pytest.approx(twin["mixed"], abs=1e-12)
    patterns = dict(zip(twin["patterns"]["pattern"], twin["patterns"]["probability"], strict=True))
    for pattern, probability in patterns.items():
        signs = [int(s) for s in pattern.split(",")]
        if 1 in signs and -1 in signs:
            name = ", ".join({1: "A", -1: "B", 0: "≈"}[s] + f"_m{j}" for j, s in enumerate(signs))
            assert ours.pop(name) == pytest.approx(probability, abs=1e-12)
    assert all(p == 0 for p in ours.values())


def test_recorded_events() -> None:
    case = recorded()
    check_events(np.array(case["delta"]), case["rope"], case["events"])


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_recorded_effective_counts(strategy: str) -> None:
    case = recorded()
    for key, folds in (("five", 5), ("ten", 10)):
        ours, _ = strategy_factors(strategy, folds, np.array(case["ratios"]))
        assert np.allclose(ours, case["factors"][strategy][key], rtol=1e-8), folds


def test_recorded_variance_ratio() -> None:
    case = recorded()
    halves = np.array(case["halves"])  # method, method^c, reference, reference^c
    values = np.stack([np.stack(halves[[2, 3]], axis=1), np.stack(halves[[0, 1]], axis=1)])
    ours = variance_ratio_of(values, "accuracy", "a reference", 0.9)
    for key in ("ratio", "low", "high"):
        assert np.allclose(getattr(ours, key), case["variance_ratio"][key], rtol=1e-10), key


@pytest.mark.r
@pytest.mark.parametrize("target", ["parameter", "predictive"])
def test_live_draws(target: Any) -> None:
    cells = np.array([[42.0, 38, 12, 8], [15, 23, 7, 5]])
    twin = call("fs_um_draws", cells[:, IN_R], 100_000, target=target, rng=3)
    ours = posterior(cells, target=target)
    for name in ("tpr", "accuracy", "mcc"):
        theirs = np.asarray(call("fs_um_metric", twin, name, "group"))
        mean = np.nanmean(theirs, axis=0)
        sd = np.nanstd(theirs, axis=0, ddof=1)
        drawn = ours.metric(name, by_group=True)
        assert np.all(np.abs(np.nanmean(drawn, axis=0) - mean) < 1.5 * MEANS * sd), name
        assert np.all(np.abs(np.nanstd(drawn, axis=0, ddof=1) / sd - 1) < 1.5 * SDS), name


@pytest.mark.r
def test_live_comparison() -> None:
    """Event probabilities of our own draws of ΔΘ through the twin."""
    first = posterior([[42, 38, 12, 8], [15, 23, 7, 5]])
    second = posterior([[40, 36, 14, 10], [17, 22, 8, 3]])
    result = fs.um_compare(first, second, rng=1, draws=5_000)
    twin = call("fs_um_events", result.delta, list(result.rope))
    assert [e.probability for e in result.events[:3]] == pytest.approx(
        [twin["a_better"], twin["b_better"], twin["equivalent"]], abs=1e-12
    )
    check_events(result.delta, result.rope, twin)


@pytest.mark.r
@pytest.mark.filterwarnings("ignore::fairstats.ground.errors.DataWarning")  # clips
def test_live_effective_counts() -> None:
    ratios = np.random.default_rng(2).lognormal(0, 1, 12)
    for strategy in STRATEGIES:
        ours, _ = strategy_factors(strategy, 7, ratios)
        assert np.allclose(call("fs_um_effective_factor", strategy, 7, ratios), ours, rtol=1e-8), (
            strategy
        )
    for strategy in STRATEGIES[2:]:  # R integrates over F(J, J), we take 1,000 of its quantiles
        averaged, _ = checked_factors(strategy, 7, ratios, tuple(map(str, range(12))), 5)
        assert np.allclose(
            call("fs_um_effective_factor", strategy, 7, ratios, splits=5), averaged, atol=1e-5
        )


@pytest.mark.r
def test_live_errors_are_ours() -> None:
    with pytest.raises(RBackendError, match="`rope`: got -1, 0"):
        call("fs_um_events", np.zeros((3, 2)), [-1.0, 0.0])
    with pytest.raises(RBackendError, match="nor 0 for a group without rows"):
        call("fs_um_draws", np.zeros((1, 4)), 10, prior=0)


@pytest.mark.r_extra("hdrcde", "ks")
def test_live_joint_region_is_hdrcdes() -> None:
    """The same 2-D HDR by R's hdrcde: membership of the draws agrees for all but 3%."""
    result = posterior([[42, 38, 12, 8], [15, 23, 7, 5]])
    region = fs.results.UmPosterior.hdr(
        fs.um_posterior(counts=result.counts, draws=4_000, rng=1),
        ("accuracy", "equal_opportunity"),
        backend="r",
    )
    assert "hdrcde" in region.backend
    ours = fs.um_posterior(counts=result.counts, draws=4_000, rng=1)
    draws = np.column_stack(list(ours.metrics(("accuracy", "equal_opportunity")).values()))
    plain = ours.hdr(("accuracy", "equal_opportunity"), backend="scipy")
    assert (region.contains(draws) == plain.contains(draws)).mean() > 0.97


@pytest.mark.r
def test_live_draws_of_models_fitted_anew() -> None:
    """Quartiles, since multivariate t shifts have heavy tails; near.

    Five errors, three for the density.
    """
    cells = np.array([[42.0, 38, 12, 8], [15, 23, 7, 5]])
    rng = np.random.default_rng(8)
    shifts = rng.normal(size=(6, 2, 2)) * 0.4
    ours = replace(posterior(cells), shifts=shifts, target="algorithm")
    still = call("fs_um_draws", cells[:, IN_R], DRAWS, rng=3)
    twin = call("um_refit", still, shifts[..., 0], shifts[..., 1], rng=4)
    for name in ("tpr", "fpr", "accuracy", "ppv"):
        theirs = np.asarray(call("fs_um_metric", twin, name, "group"))
        mine = ours.metric(name, by_group=True)
        for q in (0.25, 0.5, 0.75):
            near = 5 * np.sqrt(2 * q * (1 - q) / DRAWS) * 3 * mine.std(axis=0)
            assert np.all(
                np.abs(np.quantile(mine, q, axis=0) - np.quantile(theirs, q, axis=0)) < near
            ), name
    difference = ours.metric("demographic_parity")
    theirs = np.asarray(call("fs_um_metric", twin, "selection_rate", "difference")).ravel()
    assert np.quantile(difference, 0.9) == pytest.approx(np.quantile(theirs, 0.9), abs=0.01)


@pytest.mark.r
@pytest.mark.parametrize(("name", "alpha"), [("uniform", 1.0), ("jeffreys", 0.5), ("perks", 0.25)])
def test_live_priors_by_name(name: str, alpha: float) -> None:
    cells = np.array([[4.0, 38, 1, 0]])
    twin = call("fs_um_draws", cells[:, IN_R], 50_000, prior=name, rng=3)
    errors = np.asarray(twin["fp"]) + np.asarray(twin["fn"])
    mean = 43 * (1 + 2 * alpha) / (43 + 4 * alpha)
    assert errors.mean() == pytest.approx(mean, abs=5 * errors.std() / np.sqrt(50_000))


@pytest.mark.r
def test_live_draws_of_several_classes() -> None:
    """R draws the J × J tables by stick breaking; the averages are written out here."""
    counts = np.array([[[20.0, 5, 5], [4, 30, 6], [3, 7, 20]], [[9, 3, 3], [2, 12, 1], [4, 2, 4]]])
    y, p = (
        np.concatenate([np.repeat(axis, c) for c in counts.astype(int).reshape(2, 9)])
        for axis in AXES
    )
    group = np.repeat(["a", "b"], counts.sum(axis=(1, 2)).astype(int))
    ours = fs.um_multiclass(y, p, sensitive_features=group, draws=50_000, rng=2)
    sizes = counts.sum(axis=(1, 2))
    prior = np.where(np.eye(3).ravel(), 2 / 3, 1 / 3)
    drawn = call(
        "dirichlet_counts", counts.reshape(2, 9) + prior, sizes, "parameter", sizes, 50_000, rng=3
    )
    cells = np.stack([np.asarray(cell) for cell in drawn], axis=-1).reshape(-1, 2, 3, 3)
    right = np.trace(cells, axis1=2, axis2=3)
    rows = cells.sum(axis=(2, 3))
    gap = np.abs(right[:, 0] / rows[:, 0] - right[:, 1] / rows[:, 1])
    hit = np.diagonal(cells, axis1=2, axis2=3) / cells.sum(axis=3)
    weight = cells.sum(axis=(1, 3)) / rows.sum(axis=1, keepdims=True)
    theirs = {
        "accuracy": right.sum(axis=1) / rows.sum(axis=1),
        "equal_opportunity_micro": gap,
        "equal_opportunity_macro": (weight * np.abs(hit[:, 0] - hit[:, 1])).sum(axis=1),
    }
    for name, values in theirs.items():
        mine = ours.metric(name)
        assert mine.mean() == pytest.approx(
            values.mean(), abs=5 * mine.std() * np.sqrt(2 / 50_000)
        ), name
        assert mine.std() == pytest.approx(values.std(), rel=5 * np.sqrt(2 / 50_000)), name


@pytest.mark.r
@pytest.mark.parametrize("concentration", [(5.0, 1.5), (40.0, 0.5)])
def test_live_pooled_rates(concentration: tuple[float, float]) -> None:
    """R sums over a rectangle of its own.

    Means and sds of 200,000 draws, within five of their errors.
    """
    from fairstats.numerics.rates.pooling import pool_rate

    successes = np.array([42.0, 3.0, 0.0, 0.0, 11.5, 30.0])
    trials = np.array([60.0, 3.0, 9.0, 0.0, 14.5, 31.0])
    theirs = call("um_pool", successes, trials, *concentration)
    n = 200_000
    _, _, rates = pool_rate(successes, trials, concentration).draw(n, np.random.default_rng(4))
    mean, sd = (np.asarray(theirs[name]) for name in ("mean", "sd"))
    assert np.all(np.abs(rates.mean(axis=0) - mean) < 5 * sd / np.sqrt(n))
    np.testing.assert_allclose(rates.std(axis=0), sd, rtol=0.015)
