"""Tails in base R beside the Python fits.

The edge of the Pareto law, ties, and what has no tail.
"""

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
        (logistic(1, 1.0), beta(2, 3000), 1000),  # the end point is near: a power tail
        (beta(1, 3000).round(2), beta(2, 3000), 1000),  # a grid
        (beta(1, 3000).round(1), beta(2, 3000), 1000),  # ties
        (np.full(500, 0.1), beta(2, 3000), 1000),  # a constant
        (beta(1, 8), beta(2, 3000), 1000),  # too few values
        (beta(1, 30), beta(2, 3000), 25),  # order statistics of a small group
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
        found = call("fs_ecd", u, p, m, calibrated=False, rng=1)

    def same(mine: float, theirs: float, near: float) -> None:
        if math.isnan(mine):
            assert math.isnan(theirs)
        else:
            assert theirs == pytest.approx(mine, abs=near)

    def close(mine: list[float], row: Any, estimate: str = "return_level") -> None:
        """Median and ends of 2,000 draws on either side, seeded.

        Errors of an end are .02 to .05 widths.
        """
        theirs = [row[name] for name in (estimate, "ci_low", "ci_high")]
        assert theirs == pytest.approx(mine, abs=0.15 * (mine[2] - mine[1]))

    for k, tail in enumerate(ours.tails):
        row = {name: column[k] for name, column in found["tails"].items()}
        assert row["exceedances"] == tail.n_exceedances
        same(tail.threshold, row["threshold"], 1e-15)
        if tail.fit is not None and tail.fit.by_power and not tail.level.empirical:
            assert not row["degenerate"]
            close([tail.level.estimate, *tail.level.confidence_interval], row)
            continue
        assert bool(row["degenerate"]) == bool(tail.degenerate), row["degenerate"]
        same(math.nan if tail.fit is None else tail.fit.shape, row["shape"], 1e-4)
        same(tail.level.estimate, row["return_level"], 1e-6)
    if found["test"] == "draws of a power tail":
        assert any(tail.fit is not None and tail.fit.by_power for tail in ours.tails)
        close([ours.estimate, *ours.confidence_interval], found, "estimate")
        # twice a share of 2,000 draws, on either side
        p = (ours.pvalue + found["pvalue"]) / 2
        assert found["pvalue"] == pytest.approx(
            ours.pvalue, abs=7 * math.sqrt(2 * p * (1 - p) / 2000) + 0.002
        )
        return
    same(ours.estimate, found["estimate"], 1e-5)
    same(ours.std_error, found["std_error"], 1e-4)
    same(ours.pvalue, found["pvalue"], 1e-3)
    low, high = ours.confidence_interval
    same(low, found["ci_low"], 2e-4)
    same(high, found["ci_high"], 2e-4)
    assert found["verdict"] == ours.verdict


def test_defaults_are_those_of_python() -> None:
    """Standardised root, equal shares, half and twice the exceedances; two searches for one maximum."""
    u = 0.5 * np.random.default_rng(4).beta(2, 8, 1500)
    p = 0.3 * np.random.default_rng(5).beta(2, 8, 9000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fs.FairstatsWarning)
        ours = fs.ecd(
            {"u": u, "p": p}, privileged="p", unprivileged="u", n_resamples=0, backend="scipy"
        )
    found = call("fs_ecd", u, p)
    assert found["tails"]["exceedances"].tolist() == list(ours.comparisons[0].exceedances)
    ends = found["ci_low"], found["ci_high"]
    assert ends == pytest.approx(tuple(ours.confidence_interval), abs=2e-4)
    assert found["pvalue"] == pytest.approx(ours.pvalue, rel=1e-2, abs=1e-6)
    assert found["verdict"] == ours.verdict
    beside = found["sensitivity"]
    assert len(ours.sensitivity) == 2
    for k, other in enumerate(ours.sensitivity):
        counts = (beside["exceedances_first"][k], beside["exceedances_second"][k])
        assert counts == other.exceedances
        assert beside["estimate"][k] == pytest.approx(other.estimate, abs=1e-5)
        ends = beside["ci_low"][k], beside["ci_high"][k]
        assert ends == pytest.approx(tuple(other.confidence_interval), abs=2e-4)


@pytest.mark.parametrize(("grid", "told"), [(0.001, 0.001), (None, 0.0)], ids=["given", "none"])
def test_a_grid_that_is_given(grid: float | None, told: float) -> None:
    """`privileged` has too few ties for its grid to be found.

    R has the likelihood of its cells, too.
    """
    rng = np.random.default_rng(3)
    p = (0.3 * rng.beta(2, 8, 6000)).round(3)
    u = (0.5 * rng.beta(2, 8, 2000)).round(3)
    settings = {
        "n_resamples": 0,
        "calibrated": False,
        "backend": "scipy",
        "grid": grid,
        "threshold": 50,
    }
    ours = fs.ecd({"u": u, "p": p}, privileged="p", unprivileged="u", **settings)
    found = call("fs_ecd", u, p, threshold=50, grid=told, calibrated=False)
    for k, tail in enumerate(ours.tails):
        assert tail.fit.grid == grid
        assert found["tails"]["exceedances"][k] == tail.n_exceedances
        assert found["tails"]["threshold"][k] == pytest.approx(tail.threshold, abs=1e-15)
        assert found["tails"]["shape"][k] == pytest.approx(tail.fit.shape, abs=1e-4)
        assert found["tails"]["return_level"][k] == pytest.approx(tail.level.estimate, abs=1e-6)
    assert found["estimate"] == pytest.approx(ours.estimate, abs=1e-5)
    ends = found["ci_low"], found["ci_high"]
    assert ends == pytest.approx(tuple(ours.confidence_interval), abs=2e-4)
