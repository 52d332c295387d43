"""The door to ArviZ, old and new: coordinates, values, its HDI against ours."""

from __future__ import annotations

import numpy as np
import pytest

import fairstats as fs
from fairstats.methods.um.draws import describe

from .conftest import TABLE

az = pytest.importorskip("arviz", reason="arviz is not installed")
#: ArviZ 0.23 announces its successor by a warning at import.
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")


def test_draws_arrive_with_their_coordinates() -> None:
    posterior = fs.um_posterior(counts=TABLE, rng=1, draws=2_000)
    data = posterior.to_arviz()
    pi = data["posterior"]["pi"]
    assert pi.dims == ("chain", "draw", "group", "cell")
    assert pi.shape == (4, 500, 2, 4)
    assert list(pi["group"].values) == ["men", "women"]
    assert list(pi["cell"].values) == ["tp", "fp", "fn", "tn"]
    women = pi.sel(group="women")
    tpr = women.sel(cell="tp") / (women.sel(cell="tp") + women.sel(cell="fn"))
    assert np.allclose(tpr.values.ravel(), posterior.metric("tpr", group="women"))
    assert np.array_equal(data["observed_data"]["counts"].values, posterior.counts.totals)


def test_next_test_sets_come_from_their_probabilities() -> None:
    """Witness: given π, the counts are multinomial.

    Their standardised residuals have variance 1.
    """
    posterior = fs.um_posterior(counts=TABLE, rng=1, draws=8_000, target="predictive")
    data = posterior.to_arviz()
    counts = data["posterior_predictive"]["counts"].values
    assert np.array_equal(counts.reshape(8_000, 2, 4), posterior.draws)
    pi = data["posterior"]["pi"].values
    n = counts.sum(axis=-1, keepdims=True)
    residual = (counts - n * pi) / np.sqrt(n * pi * (1 - pi))
    assert residual.var(axis=(0, 1)) == pytest.approx(1.0, abs=5 * np.sqrt(2 / 8_000))


def test_an_odd_number_of_draws_is_one_chain() -> None:
    data = fs.um_posterior(counts=TABLE, rng=1, draws=1_001).to_arviz()
    assert data["posterior"]["pi"].shape == (1, 1_001, 2, 4)


def test_shortest_interval_is_arvizs_hdi() -> None:
    """Witness: arviz.hdi of the same draws (hdi_prob in 0.x, prob in 1.x)."""
    draws = fs.um_posterior(counts=TABLE, rng=1, draws=2_000).metric("tpr")
    old = az.__version__.startswith("0.")
    expected = np.asarray(az.hdi(draws, **{"hdi_prob" if old else "prob": 0.9}))
    # 0.x takes ⌊prob·n⌋ steps, 1.x may round otherwise: one gap between neighbours in the tails.
    found = list(describe(draws, 0.9).confidence_interval)
    assert found == pytest.approx(expected.tolist(), abs=1e-12 if old else 2e-3)


def test_predictive_checks_are_arvizs() -> None:
    """ArviZ draws its checks from the groups that partial pooling assembles.

    No sampler is needed here.
    """
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    import matplotlib.pyplot as plt

    counts = {g: {"tp": 5, "tn": 6, "fp": 2, "fn": 1} for g in "abc"}
    data = fs.um_hierarchical(counts, draws=400, rng=1).to_arviz()
    assert data["posterior_predictive"]["counts"].shape == (4, 100, 3, 4)
    assert data["prior_predictive"]["counts"].shape == (1, 400, 3, 4)
    assert list(data["posterior"]["mean"]["rate"].values) == ["base_rate", "tpr", "fpr"]
    for part in ("posterior_predictive", "prior_predictive"):
        assert (data[part]["counts"].values.sum(axis=-1) == 14).all()
    if az.__version__.startswith("0."):
        az.plot_ppc(data, num_pp_samples=10)
        az.plot_ppc(data, group="prior", num_pp_samples=10)
    else:
        az.plot_ppc_dist(data)
        az.plot_ppc_dist(data, group="prior_predictive")
    plt.close("all")
