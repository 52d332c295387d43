"""PyMC: the model's posterior is the conjugate one; partial pooling against no pooling."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fairstats as fs
from fairstats.ground.errors import DataWarning, InputError

from .conftest import cells

pm = pytest.importorskip("pymc", reason="pymc is not installed")
#: PyTensor warns where it finds no BLAS; ArviZ 0.23 announces its successor.
pytestmark = [
    pytest.mark.filterwarnings(
        "ignore::UserWarning:pytensor", "ignore::FutureWarning", "ignore::DeprecationWarning"
    ),
    pytest.mark.filterwarnings("ignore:PyTensor could not link"),
]
SMALL = {"men": cells(42, 38, 12, 8), "women": cells(15, 23, 7, 5)}


def test_model_has_named_dimensions() -> None:
    model = fs.um_model(SMALL)
    assert model.named_vars_to_dims["pi"] == ("group", "cell")
    assert list(model.coords["group"]) == ["men", "women"]
    assert list(model.coords["cell"]) == ["tp", "fp", "fn", "tn"]
    assert [v.name for v in model.observed_RVs] == ["counts"]
    with model:
        pm.Deterministic("gap", model["pi"][0, 0] - model["pi"][1, 0])  # what the model is handed out for


@pytest.mark.parametrize("scale", [1.0, 0.7])
def test_log_density_is_that_of_the_dirichlet_posterior(scale: float) -> None:
    """Witness: difference of log densities at two points against Dirichlet(α + C), whole and effective."""
    from pytensor.tensor import as_tensor_variable
    from scipy import stats

    counts = {g: {k: scale * v for k, v in c.items()} for g, c in SMALL.items()}
    model = fs.um_model(counts, prior=0.5)
    points = [
        np.array([[0.4, 0.3, 0.2, 0.1], [0.25, 0.25, 0.25, 0.25]]),
        np.array([[0.3, 0.4, 0.1, 0.2]] * 2),
    ]
    logp = model.compile_logp(jacobian=False, mode="FAST_COMPILE")
    transform = model.rvs_to_transforms[model["pi"]]
    found = []
    for pi in points:
        value = transform.forward(as_tensor_variable(pi))
        found.append(float(logp({model.value_vars[0].name: np.asarray(value.eval())})))
    exact = []
    for pi in points:
        alphas = [0.5 + np.array([c[k] for k in ("tp", "fp", "fn", "tn")]) for c in counts.values()]
        exact.append(sum(stats.dirichlet(a).logpdf(p) for a, p in zip(alphas, pi, strict=True)))
    assert found[0] - found[1] == pytest.approx(exact[0] - exact[1], rel=1e-9)


@pytest.mark.parametrize("scale", [1.0, 0.7])
def test_log_density_of_the_pooling_model(scale: float) -> None:
    """Witness: Dirichlet-multinomial density times the prior of κ, by SciPy; whole and effective counts."""
    from pytensor.tensor import as_tensor_variable
    from scipy import stats
    from scipy.special import gammaln

    from fairstats.methods.um.counting import as_counts
    from fairstats.methods.um.pymc_models import hierarchical_model

    named = {g: {k: scale * v for k, v in c.items()} for g, c in SMALL.items()}
    table, _ = as_counts(named)
    model = hierarchical_model(table, (20.0, 1.5))
    logp = model.compile_logp(jacobian=False, mode="FAST_COMPILE")
    found, exact = [], []
    for mu, kappa in ((np.array([0.3, 0.4, 0.1, 0.2]), 12.0), (np.array([0.25] * 4), 70.0)):
        values = {}
        for rv, value in ((model["mu"], mu), (model["kappa"], kappa)):
            moved = (
                model.rvs_to_transforms[rv]
                .forward(as_tensor_variable(np.asarray(value, dtype=np.float64)))
                .eval()
            )
            values[model.rvs_to_values[rv].name] = np.asarray(moved)
        found.append(float(logp(values)))
        alpha, total = kappa * mu, table.totals.sum(axis=1)
        density = (gammaln(kappa) - gammaln(total + kappa)).sum() + (
            gammaln(table.totals + alpha) - gammaln(alpha)
        ).sum()
        exact.append(density + stats.lognorm(1.5, scale=20.0).logpdf(kappa))
    assert found[0] - found[1] == pytest.approx(exact[0] - exact[1], rel=1e-9)


@pytest.mark.slow
def test_sampled_posterior_agrees_with_the_conjugate_draws() -> None:
    """Mean and sd of six metrics; 5 standard errors at the sampler's own effective size."""
    sampled = fs.um_posterior(counts=SMALL, rng=1, draws=2_000, sampler="pymc")
    exact = fs.um_posterior(counts=SMALL, rng=1, draws=100_000)
    assert sampled.diagnostics is not None
    assert sampled.diagnostics.converged
    assert sampled.diagnostics.divergences == 0
    error = 5 / np.sqrt(sampled.diagnostics.ess)
    for name in ("accuracy", "mcc", "equal_opportunity", "predictive_parity", "demographic_parity_max"):
        a, b = sampled.metric(name), exact.metric(name)
        assert a.mean() == pytest.approx(b.mean(), abs=error * b.std()), name
        assert a.std() == pytest.approx(b.std(), rel=error), name
    assert "r-hat" in sampled.summary()
    assert sampled.to_arviz()["posterior"]["pi"].dims == ("chain", "draw", "group", "cell")
    back = fs.results.UmPosterior.from_dict(sampled.to_dict())
    assert np.array_equal(back.metric("mcc"), sampled.metric("mcc"))
    comparison = fs.um_compare(sampled, exact, rng=1, draws=2_000)
    assert not comparison.paired
    assert comparison.delta.mean(axis=0) == pytest.approx([0, 0], abs=0.01)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*did not converge", "ignore:The rhat", "ignore:The effective")
def test_partial_pooling_has_lower_error_and_covers() -> None:
    """30 intersectional groups, some below 10 rows, with known accuracies: simulated truth.

    Coverage of 30 intervals at 95%: at least 26 (the binomial's .5% point).
    """
    rng = np.random.default_rng(0)
    truth = rng.dirichlet(40 * np.array([0.3, 0.4, 0.15, 0.15]), 30)
    sizes = rng.integers(4, 60, 30)
    counts = {
        f"g{i}": cells(*map(int, rng.multinomial(n, p)))
        for i, (n, p) in enumerate(zip(sizes, truth, strict=True))
    }
    pooled = fs.um_hierarchical(counts, rng=1, draws=2_000)
    apart = fs.um_posterior(counts=counts, prior=1.0, rng=1)
    accuracy = truth[:, 0] + truth[:, 1]
    errors = []
    for result in (pooled, apart):
        draws = result.metric("accuracy", by_group=True)
        errors.append(np.sqrt(((draws.mean(axis=0) - accuracy) ** 2).mean()))
        low, high = np.quantile(draws, [0.025, 0.975], axis=0)
        assert ((low <= accuracy) & (accuracy <= high)).sum() >= 26
    assert errors[0] < 0.8 * errors[1]
    data = pooled.to_arviz()
    for group in ("posterior", "prior_predictive", "posterior_predictive", "observed_data"):
        assert data[group] is not None
    replicated = data["posterior_predictive"]["counts"].values
    assert (replicated.sum(axis=-1) == sizes).all()
    exceeding = (replicated >= pooled.counts.totals).mean(axis=(0, 1))
    assert ((exceeding > 0.01) & (exceeding < 1.0 + 1e-12)).all()


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"counts": SMALL}, "counts"),
        ({"concentration": (0, 1)}, "concentration"),
        ({"concentration": 3}, "concentration"),
        ({"tune": 3}, "tune"),
        ({"chains": 1}, "chains"),
        ({"draws": 1}, "draws"),
        ({"target": "mean"}, "target"),
        ({"target_accept": 2}, "target_accept"),
    ],
)
def test_pooling_refuses(options: dict[str, Any], argument: str) -> None:
    given = {"counts": {g: cells(3, 4, 2, 1) for g in "abc"}, **options}
    with pytest.raises(InputError) as problem:
        fs.um_hierarchical(given.pop("counts"), **given)
    assert problem.value.argument == argument


def test_a_model_needs_a_proper_prior() -> None:
    with pytest.raises(InputError, match="above 0 in a PyMC model"):
        fs.um_model(SMALL, prior=0)
    with pytest.warns(DataWarning), pytest.raises(InputError, match="above 0"):
        fs.um_model({"a": cells(1, 2, 3, 0)}, prior=0)
