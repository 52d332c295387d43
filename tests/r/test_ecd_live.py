"""Tails in base R beside the Python fits: the edge of the Pareto law, ties, and what has no tail."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest

import fairstats as fs
from fairstats.ground.rsession import call

pytestmark = pytest.mark.r

K = 50


def logistic(seed: int, shift: float, n: int = 2000) -> np.ndarray[Any, Any]:
    """Differences of logistic scores: many values near their upper end point."""
    z = np.random.default_rng(seed).normal(size=n)
    return 1 / (1 + np.exp(-z - shift)) - 1 / (1 + np.exp(-z))


@pytest.mark.parametrize("shift", [0.3, 1.0, 3.0])
def test_pareto_fits_of_logistic_tails(shift: float) -> None:
    edges = 0
    for seed in range(8):
        x = np.sort(logistic(seed, shift))
        u = float(x[-K - 1])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", fs.FairstatsWarning)
            ours = fs.evt.fit_gpd(x, u, backend="scipy")
        twin = call("fs_fit_gpd", x[-K:] - u, source="base")
        assert twin["at_boundary"] == ours.at_boundary
        assert twin["regular"] == ours.regular
        assert twin["nll"] == pytest.approx(ours.nll, abs=1e-7)
        assert twin["estimate"] == pytest.approx(list(ours.params.values()), rel=1e-4)
        assert np.isfinite(twin["std_error"]).all() == ours.regular
        block = call("fs_fit_point_process", x[-K:] - u, float(x.size), u, 500.0, source="base")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", fs.FairstatsWarning)
            theirs = fs.evt.fit_point_process(x, u, 500.0, backend="scipy")
        assert block["nll"] == pytest.approx(theirs.nll, abs=1e-7)
        assert block["estimate"] == pytest.approx(list(theirs.params.values()), rel=1e-4)
        edges += ours.at_boundary
    assert edges >= 6


def beta(seed: int, n: int, scale: float = 0.3) -> np.ndarray[Any, Any]:
    return scale * np.random.default_rng(seed).beta(2, 8, n)


@pytest.mark.parametrize(
    ("u", "p", "m"),
    [
        (logistic(1, 1.0), beta(2, 3000), 1000),  # the end point is near: a power tail in Python, none in R
        (beta(1, 3000).round(2), beta(2, 3000), 1000),  # a grid
        (beta(1, 3000).round(1), beta(2, 3000), 1000),  # ties
        (np.full(500, 0.1), beta(2, 3000), 1000),  # a constant
        (beta(1, 8), beta(2, 3000), 1000),  # too few values
        (beta(1, 30), beta(2, 3000), 20),  # order statistics of a small group
        (np.repeat(beta(1, 1500), 2), beta(2, 3000), 1000),  # pairs of equal values
        # the threshold is lowered
        pytest.param(beta(1, 3000), beta(2, 5000), 40, marks=pytest.mark.slow),
        pytest.param(beta(1, 3000) ** 0.02, beta(2, 3000), 10_000_000, marks=pytest.mark.slow),
    ],
    ids=["edge", "grid", "ties", "constant", "few", "small", "pairs", "lowered", "far"],
)
def test_tails_of_all_kinds(u: Any, p: Any, m: float) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fs.FairstatsWarning)
        ours = fs.ecd(
            {"u": u, "p": p},
            privileged="p",
            unprivileged="u",
            interactions=m,
            n_resamples=0,
            calibrated=False,
            backend="scipy",
        )
        found = call("fs_ecd", u, p, m)

    def same(mine: float, theirs: float, near: float) -> None:
        if math.isnan(mine):
            assert math.isnan(theirs)
        else:
            assert theirs == pytest.approx(mine, abs=near)

    for k, tail in enumerate(ours.tails):
        row = {name: column[k] for name, column in found["tails"].items()}
        assert row["exceedances"] == tail.n_exceedances
        same(tail.threshold, row["threshold"], 1e-15)
        if tail.fit is not None and tail.fit.by_power:
            assert "power tail that Python takes" in row["degenerate"]
            wanted = fs.evt.empirical_return_level((u, p)[k], m)
            same(float(max((u, p)[k])) if m >= tail.n else wanted.estimate, row["return_level"], 1e-12)
            continue
        assert bool(row["degenerate"]) == bool(tail.degenerate), row["degenerate"]
        same(math.nan if tail.fit is None else tail.fit.shape, row["shape"], 1e-4)
        same(tail.level.estimate, row["return_level"], 1e-6)
    if any(tail.fit is not None and tail.fit.by_power for tail in ours.tails):
        assert found["test"] == "none"
        assert np.isnan([found["pvalue"], found["std_error"]]).all()
        row = {name: np.asarray(column) for name, column in found["tails"].items() if name != "degenerate"}
        assert found["estimate"] == pytest.approx(row["return_level"][0] - row["return_level"][1], abs=1e-12)
        at, (low_u, low_p), (high_u, high_p) = row["return_level"], row["ci_low"], row["ci_high"]
        low = found["estimate"] - math.hypot(at[0] - low_u, high_p - at[1])
        high = found["estimate"] + math.hypot(high_u - at[0], at[1] - low_p)
        assert (found["ci_low"], found["ci_high"]) == pytest.approx((low, high), abs=1e-12)
        return
    same(ours.estimate, found["estimate"], 1e-5)
    same(ours.std_error, found["std_error"], 1e-4)
    same(ours.pvalue, found["pvalue"], 1e-3)
    low, high = ours.confidence_interval
    same(low, found["ci_low"], 2e-4)
    same(high, found["ci_high"], 2e-4)
    assert found["verdict"] == ours.verdict
