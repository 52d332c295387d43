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
    """Witness: given π, the counts are multinomial: their standardised residuals have variance 1."""
    posterior = fs.um_posterior(counts=TABLE, rng=1, draws=8_000, target="predictive")
    data = posterior.to_arviz()
    counts = data["posterior_predictive"]["counts"].values
    assert np.array_equal(counts.reshape(8_000, 2, 4), posterior.draws)
    pi, n = data["posterior"]["pi"].values, counts.sum(axis=-1, keepdims=True)
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
    """ArviZ draws its checks from the groups that partial pooling assembles; no sampler is needed here."""
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    import matplotlib.pyplot as plt

    from fairstats.methods.um.counting import as_counts
    from fairstats.methods.um.pymc_models import _groups_given, _prior_counts, assemble

    table, _ = as_counts({g: {"tp": 5, "tn": 6, "fp": 2, "fn": 1} for g in "abc"})
    rng = np.random.default_rng(0)
    pi, replicated = _groups_given(rng.gamma(5, 1, (4, 50, 4)), table, rng)
    prior = _prior_counts(table, (20.0, 1.5), 200, rng)
    assert (replicated.sum(axis=-1) == 14).all()
    assert (prior.sum(axis=-1) == 14).all()
    data = assemble(
        table.groups,
        posterior={"pi": pi},
        posterior_predictive={"counts": replicated},
        prior_predictive={"counts": prior},
        observed_data={"counts": table.totals},
    )
    if az.__version__.startswith("0."):
        az.plot_ppc(data, num_pp_samples=10)
        az.plot_ppc(data, group="prior", num_pp_samples=10)
    else:
        az.plot_ppc_dist(data)
        az.plot_ppc_dist(data, group="prior_predictive")
    plt.close("all")
