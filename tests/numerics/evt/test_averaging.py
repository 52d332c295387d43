"""Return levels averaged over thresholds.

Scores by threshr and by hand, posteriors by brute force.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import genpareto

import fairstats as fs
from fairstats.ground.errors import InputError
from fairstats.numerics.evt import average_return_level
from fairstats.numerics.evt.averaging import _Posterior
from fairstats.results import AveragedReturnLevel

REFERENCE = Path(__file__).resolve().parents[2] / "reference"
R = json.loads((REFERENCE / "evt_averaging.json").read_text(encoding="utf-8"))
X = np.random.default_rng(6).exponential(size=60)
U = np.sort(X)[[-31, -13]] + 1e-3


@pytest.mark.parametrize("case", R["cases"], ids=["exponential", "beta", "t5"])
def test_scores_are_those_of_threshr(case: dict) -> None:
    """threshr draws from the posterior, and averages 1/density, whose Monte Carlo law is heavy.

    Five of its standard errors, and .03: its scores of sixteen runs of 20,000 draws differ by that
    much."""
    found = average_return_level(case["x"], 1000, case["u"])
    np.testing.assert_array_less(
        np.abs(found.scores - case["score"]), 5 * np.array(case["error"]) + 0.03
    )


class Brute:
    """The posterior of (σ, ξ) on a plain grid, with or without some values, and p as a beta law."""

    def __init__(self, excesses: np.ndarray, n: int) -> None:
        log_scale, shape = np.meshgrid(np.linspace(-2.5, 2.5, 250), np.linspace(-1, 3, 250))
        self.scale, self.shape = np.exp(log_scale).ravel(), shape.ravel()
        with np.errstate(all="ignore"):
            log = sum(genpareto.logpdf(y, self.shape, scale=self.scale) for y in excesses)
        log = log - 0.6 * self.shape  # dσ/σ is the measure of the grid
        self.weight = np.exp(log - log.max())
        self.weight /= self.weight.sum()
        self.a, self.b = excesses.size + 0.5, n - excesses.size + 0.5

    def mean(self, values: np.ndarray) -> float:
        return float((self.weight * values).sum())


def test_scores_by_hand() -> None:
    """One of each kind: every value is left out and its posterior computed anew, on a grid of (σ,
    ξ).

    The grid leaves 1e-3 of each density, the nodes of the function 1e-3 of the score.
    """
    low, high = U
    found = average_return_level(X, 100, U)
    for u, score in zip(U, found.scores, strict=True):
        above = np.sort(X[u < X])[::-1] - u
        total = 0.0
        for i, y in enumerate(above):
            rest = Brute(np.delete(above, i), X.size - 1)
            p = rest.a / (rest.a + rest.b)
            if y > high - u:
                total += np.log(p * rest.mean(genpareto.pdf(y, rest.shape, scale=rest.scale)))
            else:
                total += np.log1p(
                    -p * rest.mean(genpareto.sf(high - u, rest.shape, scale=rest.scale))
                )
        rest = Brute(above, X.size - 1)
        p = rest.a / (rest.a + rest.b)
        one = np.log1p(-p * rest.mean(genpareto.sf(high - u, rest.shape, scale=rest.scale)))
        assert score == pytest.approx(total + (X.size - above.size) * one, abs=0.02)
    assert low < high


def test_levels_are_quantiles_of_draws() -> None:
    """200,000 draws of (p, σ, ξ) from the grid; four Monte Carlo errors of their shares."""
    found = average_return_level(X, 100, U)
    rng = np.random.default_rng(1)
    for u, levels in zip(U, found.levels, strict=True):
        brute = Brute(X[u < X] - u, X.size)
        i = rng.choice(brute.weight.size, 200_000, p=brute.weight)
        p = rng.beta(brute.a, brute.b, i.size)
        with np.errstate(all="ignore"):
            drawn = u + genpareto.isf(
                np.minimum(1 / (100 * p), 1.0), brute.shape[i], scale=brute.scale[i]
            )
        for share, level in zip((0.025, 0.5, 0.975), levels, strict=True):
            assert (drawn <= level).mean() == pytest.approx(
                share, abs=4 * np.sqrt(share / 2e5) + 0.002
            )
        drawn_shape = float((brute.weight * brute.shape).sum())
        assert found.shape[list(U).index(u)] == pytest.approx(drawn_shape, abs=0.01)


def test_exceedances_have_jeffreys_prior() -> None:
    """Beta(1/2, 1/2) and 12 of 60: Beta(12.5, 48.5)."""
    assert _Posterior.of(np.sort(X)[:-13:-1] - U[1], 60, U[1]).beta == (12.5, 48.5)


def test_the_average_is_the_mixture() -> None:
    found = average_return_level(X, 100, U)
    np.testing.assert_allclose(
        found.weights, np.exp(found.scores) / np.exp(found.scores).sum(), rtol=1e-12
    )
    low, high = found.confidence_interval
    assert found.levels[:, 0].min() <= low <= found.levels[:, 0].max()
    assert found.levels[:, 2].min() <= high <= found.levels[:, 2].max()
    one = average_return_level(X, 100, [U[0], U[0], U[1]])
    assert one.estimate == found.estimate


@pytest.mark.parametrize(("stretch", "move"), [(1e8, 0.0), (1e-8, 0.0), (2.0, -30.0)])
def test_units_do_not_matter(stretch: float, move: float) -> None:
    found = average_return_level(X, 100, U)
    moved = average_return_level(move + stretch * X, 100, move + stretch * U)
    np.testing.assert_allclose(moved.weights, found.weights, rtol=1e-6)
    np.testing.assert_allclose((moved.levels - move) / stretch, found.levels, rtol=1e-6)


def test_what_it_says() -> None:
    found = average_return_level(X, 100, U)
    again = AveragedReturnLevel.from_dict(found.to_dict())
    assert again.to_frame().equals(found.to_frame())
    frame = found.to_frame()
    assert frame["weight"].tolist() == [1.0, *found.weights]
    assert frame["estimate"].tolist() == [found.estimate, *found.levels[:, 1]]
    said = " ".join(found.sentences())
    for word in (
        f"{found.estimate:.4g}",
        f"{found.confidence_interval.high:.4g}",
        f"{found.weights.max():.2f}",
    ):
        assert word in said
    pytest.importorskip("matplotlib")
    ax = found.plot()
    assert len(ax.lines) == 3
    assert ax.get_ylabel() == "return level of 100"


def test_default_thresholds() -> None:
    x = np.random.default_rng(2).exponential(size=400)
    found = average_return_level(x, 1000, n_thresholds=4)
    assert found.n_exceedances.tolist() == [100, 58, 34, 20]
    assert found.n_total == 400


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"x": X[:40]}, "x"),
        ({"thresholds": [1.0]}, "thresholds"),
        ({"thresholds": [0.1, 9.0]}, "thresholds"),
        ({"m": 2.0}, "m"),
        ({"m": -1}, "m"),
        ({"x": [1.0, np.nan]}, "x"),
        ({"confidence_level": 1.0}, "confidence_level"),
        ({"x": np.repeat([0.0, 1.0], 50), "thresholds": [0.2, 0.5]}, "x"),
    ],
)
def test_errors_name_the_argument(given: dict, named: str) -> None:
    known = {
        "x": X,
        "m": 100,
        "thresholds": None if "x" in given and "thresholds" not in given else U,
    }
    with pytest.raises(InputError, match=f"`{named}`"):
        fs.evt.average_return_level(**(known | given))
