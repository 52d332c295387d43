"""PyMC: the model's posterior is the conjugate one; partial pooling against no pooling."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import fairstats as fs
from fairstats.ground.errors import DataWarning, InputError
from fairstats.methods.um.counting import as_counts
from fairstats.methods.um.pymc_models import Diagnostics, assemble

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
        pm.Deterministic(
            "gap", model["pi"][0, 0] - model["pi"][1, 0]
        )  # what the model is handed out for


@pytest.mark.parametrize("scale", [1.0, 0.7])
def test_log_density_is_that_of_the_dirichlet_posterior(scale: float) -> None:
    """Witness: difference of log densities at two points against Dirichlet(α + C), whole and
    effective.
    """
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
    """Witness: beta-binomial densities of three rates times the priors, by SciPy.

    Whole and effective counts.
    """
    from pytensor.tensor import as_tensor_variable
    from scipy import stats
    from scipy.special import betaln

    from fairstats.methods.um.pymc_models import hierarchical_model

    named = {g: {k: scale * v for k, v in c.items()} for g, c in SMALL.items()}
    table, _ = as_counts(named)
    model = hierarchical_model(table, (20.0, 1.5))
    logp = model.compile_logp(jacobian=False, mode="FAST_COMPILE")
    tp, fp, fn, tn = table.totals.T
    of_rates = (tp + fn, fp + tn), (tp, fn), (fp, tn)
    found = []
    exact = []
    for mean, kappa in (
        (np.array([0.3, 0.8, 0.2]), np.array([12.0, 3.0, 30.0])),
        (np.array([0.5, 0.6, 0.1]), np.array([70.0, 9.0, 2.0])),
    ):
        values = {}
        for rv, value in ((model["mean"], mean), (model["kappa"], kappa)):
            moved = model.rvs_to_transforms[rv].forward(as_tensor_variable(value)).eval()
            values[model.rvs_to_values[rv].name] = np.asarray(moved)
        found.append(float(logp(values)))
        density = (
            stats.beta(0.5, 0.5).logpdf(mean).sum()
            + stats.lognorm(1.5, scale=20.0).logpdf(kappa).sum()
        )
        for k, (hits, misses) in enumerate(of_rates):
            shapes = kappa[k] * mean[k], kappa[k] * (1 - mean[k])
            density += (betaln(hits + shapes[0], misses + shapes[1]) - betaln(*shapes)).sum()
        exact.append(density)
    assert found[0] - found[1] == pytest.approx(exact[0] - exact[1], rel=1e-9)


class Sampler:
    """In place of NUTS: draws of the conjugate posterior dealt to chains, and what was asked
    for.
    """

    def __init__(
        self, posterior: dict[str, np.ndarray], groups: tuple[str, ...], divergences: int = 0
    ) -> None:
        self.posterior = posterior
        self.groups = groups
        self.divergences = divergences
        self.asked: dict[str, Any] = {}

    def __call__(self, **asked: Any) -> Any:
        self.asked = asked
        chains, draws = next(iter(self.posterior.values())).shape[:2]
        diverging = np.zeros((chains, draws), dtype=bool)
        diverging[0, : self.divergences] = True
        parts = {"posterior": self.posterior, "sample_stats": {"diverging": diverging}}
        return assemble(self.groups, ("tp", "fp", "fn", "tn"), **parts)


def _conjugate(counts: Any, chains: int, draws: int) -> tuple[fs.ConfusionCounts, np.ndarray]:
    """Cell probabilities (chain, draw, group, cell) of Dirichlet(1 + counts)."""
    table, _ = as_counts(counts)
    rng = np.random.default_rng(5)
    pi = [rng.dirichlet(1 + row, (chains, draws)) for row in table.totals]
    return table, np.stack(pi, axis=2)


@pytest.mark.parametrize("divergences", [0, 3])
def test_draws_of_a_sampler_become_a_posterior(
    monkeypatch: pytest.MonkeyPatch, divergences: int
) -> None:
    """Witness: the draws themselves, taken chain by chain in turn, and ArviZ's r-hat and ESS of
    each cell.
    """
    az = pytest.importorskip("arviz")
    table, pi = _conjugate(SMALL, 4, 251)
    sampler = Sampler({"pi": pi}, table.groups, divergences)
    monkeypatch.setattr(pm, "sample", sampler)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DataWarning)
        result = fs.um_posterior(counts=SMALL, rng=9, draws=1_001, sampler="pymc", reference="men")
    asked = {
        k: sampler.asked[k] for k in ("draws", "tune", "chains", "random_seed", "target_accept")
    }
    assert asked == {
        "draws": 251,
        "tune": 1_000,
        "chains": 4,
        "random_seed": 9,
        "target_accept": 0.9,
    }
    dealt = pi.swapaxes(0, 1).reshape(-1, 2, 4)[:1_001]
    np.testing.assert_allclose(result.draws, dealt * table.totals.sum(axis=1)[:, None], rtol=1e-12)
    tpr = dealt[..., 0] / (dealt[..., 0] + dealt[..., 2])
    np.testing.assert_allclose(result.metric("equal_opportunity"), tpr[:, 1] - tpr[:, 0], rtol=1e-9)
    found = result.diagnostics
    assert found is not None
    columns = [pi[..., g, c] for g in range(2) for c in range(4)]
    assert found.rhat == pytest.approx(max(float(np.asarray(az.rhat(v)).item()) for v in columns))
    assert found.ess == pytest.approx(
        min(float(np.asarray(az.ess(v, method="bulk")).item()) for v in columns)
    )
    assert (found.chains, found.draws, found.divergences) == (4, 251, divergences)
    words = (
        f"r-hat {found.rhat:.3f} at most, ESS {found.ess:.0f} at least, {divergences} divergences"
    )
    notes = result.notes()
    assert notes[1] == f"1,001 draws by NUTS, PyMC {pm.__version__}."
    assert result.backend == f"NUTS, PyMC {pm.__version__}"
    said = [str(w.message) for w in caught if issubclass(w.category, DataWarning)]
    if divergences:
        assert f"Convergence: {words}: not converged, do not use these draws." in notes
        more = "More tuning or a higher target_accept may help."
        assert said == [f"{result.backend} did not converge: {words}. {more}"]
    else:
        assert f"Convergence: {words}." in notes
        assert said == []


@pytest.mark.parametrize(
    ("change", "converged"),
    [
        ({}, True),
        ({"rhat": 1.0101}, False),
        ({"ess": 399.0}, False),
        ({"divergences": 1}, False),
        ({"chains": 5}, False),
    ],
    ids=str,
)
def test_convergence_is_that_of_vehtari_and_others(change: dict[str, Any], converged: bool) -> None:
    """r-hat ≤ 1.01, 100 effective draws per chain, no divergence (Vehtari et al. 2021), written
    down.
    """
    given = {
        "rhat": 1.01,
        "ess": 400.0,
        "divergences": 0,
        "chains": 4,
        "draws": 500,
        "sampler": "NUTS",
    }
    assert Diagnostics(**{**given, **change}).converged is converged


def test_next_test_sets_of_a_sampler_have_whole_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """Closed form: given π the counts are multinomial with mean N·π.

    The mean of all within 5 errors.
    """
    table, pi = _conjugate(SMALL, 4, 500)
    monkeypatch.setattr(pm, "sample", Sampler({"pi": pi}, table.groups))
    result = fs.um_posterior(counts=SMALL, rng=9, draws=2_000, sampler="pymc", target="predictive")
    n = table.totals.sum(axis=1)
    counts = result.draws
    assert np.array_equal(counts, np.rint(counts))
    assert (counts.sum(axis=-1) == n).all()
    expected = pi.swapaxes(0, 1).reshape(-1, 2, 4) * n[:, None]
    apart = (counts - expected).mean(axis=0)
    error = np.sqrt((expected * (1 - expected / n[:, None])).mean(axis=0) / len(expected))
    assert (np.abs(apart) < 5 * error).all()
    again = fs.um_posterior(counts=SMALL, rng=9, draws=2_000, sampler="pymc", target="predictive")
    assert np.array_equal(again.draws, counts)
    # weights that sum to 14.6 are 15 next rows, at the scale of 14.6
    weighted = {
        name: {cell: value * 14.6 / sum(row.values()) for cell, value in row.items()}
        for name, row in SMALL.items()
    }
    drawn = fs.um_posterior(
        counts=weighted, rng=9, draws=2_000, sampler="pymc", target="predictive"
    ).draws
    assert drawn.sum(axis=-1) == pytest.approx(14.6)
    assert (drawn * 15 / 14.6) == pytest.approx(np.rint(drawn * 15 / 14.6))


def test_draws_of_samplers_are_compared_as_independent(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sampler's draws are taken once each where there are enough; the reason is said."""
    rng = np.random.default_rng(2)
    y, hat, group = rng.integers(0, 2, (3, 200))
    exact = fs.um_posterior(y, hat, sensitive_features=group, rng=1, draws=1_000)
    table, pi = _conjugate(exact.counts, 4, 250)
    monkeypatch.setattr(pm, "sample", Sampler({"pi": pi}, table.groups))
    sampled = fs.um_posterior(y, hat, sensitive_features=group, rng=1, draws=1_000, sampler="pymc")
    found = fs.um_compare(sampled, exact, metrics="accuracy", rng=1, draws=1_000)
    assert not found.paired
    assert "Independent draws: a sampler's draws cannot be paired." in found.notes()
    other = fs.um_compare(sampled, sampled, metrics="accuracy", rng=1, draws=1_000)
    assert other.delta.std() == pytest.approx(
        np.sqrt(2) * sampled.metric("accuracy").std(), rel=0.15
    )
    assert other.delta.mean() == pytest.approx(
        0, abs=1e-12
    )  # both are the same 1,000 draws in other orders
    more = fs.um_compare(sampled, exact, metrics="accuracy", rng=1, draws=1_500)
    assert len(more.delta) == 1_500


def test_partial_pooling_draws_groups_given_the_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    """Closed form: a rate given m, κ and x of n has the law Beta(κm + x, κ(1 − m) + n − x)."""
    counts = {"a": cells(50, 40, 5, 5), "b": cells(3, 2, 1, 1), "c": cells(0, 0, 0, 0)}
    counts["c"]["tn"] = 1
    table, _ = as_counts(counts)
    rng = np.random.default_rng(3)
    # a constant has no r-hat
    mean = np.array([0.5, 0.8, 0.2]) + rng.normal(0, 1e-6, (4, 1_000, 3))
    kappa = np.array([15.0, 6.0, 30.0]) + rng.normal(0, 1e-6, (4, 1_000, 3))
    sampler = Sampler({"mean": mean, "kappa": kappa}, table.groups)
    monkeypatch.setattr(pm, "sample", sampler)
    result = fs.um_hierarchical(
        counts, sampler="pymc", draws=4_000, reference="a", rng=2, chains=4, tune=500
    )
    assert (sampler.asked["draws"], sampler.asked["tune"], sampler.asked["target_accept"]) == (
        1_000,
        500,
        0.95,
    )
    tp, fp, fn, tn = table.totals.T
    of_rates = {"base_rate": (tp + fn, fp + tn), "tpr": (tp, fn), "fpr": (fp, tn)}
    for k, (name, (hits, misses)) in enumerate(of_rates.items()):
        first = mean[0, 0, k] * kappa[0, 0, k] + hits
        total = kappa[0, 0, k] + hits + misses
        expected = first / total
        spread = np.sqrt(first * (total - first) / total**2 / (total + 1))
        rates = result.metric(name, by_group=True)
        np.testing.assert_array_less(
            np.abs(rates.mean(axis=0) - expected), 5 * spread / np.sqrt(4_000)
        )
        np.testing.assert_allclose(rates.std(axis=0), spread, rtol=0.1)
    assert result.backend == f"partial pooling of each rate by NUTS, PyMC {pm.__version__}"
    data = result.to_arviz()
    assert data["posterior"]["kappa"].dims == ("chain", "draw", "rate")
    n = table.totals.sum(axis=1)
    replicated = data["posterior_predictive"]["counts"].values
    assert replicated.shape == (4, 1_000, 3, 4)
    assert (replicated.sum(axis=-1) == n).all()
    before = data["prior_predictive"]["counts"].values
    assert before.shape == (1, 4_000, 3, 4)
    assert (before.sum(axis=-1) == n).all()
    # each of the four cells is a product of two means of one half
    np.testing.assert_allclose(before[0, :, 0].mean(axis=0) / n[0], 0.25, atol=0.025)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*did not converge", "ignore:The rhat", "ignore:The effective")
def test_the_grid_and_nuts_are_one_posterior() -> None:
    """Means and sds of the rates of every group, within five errors at the sampler's effective
    size.
    """
    rng = np.random.default_rng(4)
    counts = {
        f"g{k}": cells(*map(int, rng.multinomial(n, [0.4, 0.3, 0.1, 0.2])))
        for k, n in enumerate((8, 15, 40, 70))
    }
    exact = fs.um_hierarchical(counts, draws=40_000, rng=1)
    sampled = fs.um_hierarchical(counts, sampler="pymc", draws=4_000, rng=1)
    assert sampled.diagnostics is not None
    error = 5 / np.sqrt(sampled.diagnostics.ess)
    for name in ("base_rate", "tpr", "fpr", "accuracy"):
        mine = exact.metric(name, by_group=True)
        theirs = sampled.metric(name, by_group=True)
        np.testing.assert_array_less(
            np.abs(mine.mean(axis=0) - theirs.mean(axis=0)), error * mine.std(axis=0)
        )
        np.testing.assert_allclose(theirs.std(axis=0), mine.std(axis=0), rtol=error)


@pytest.mark.slow
def test_sampled_posterior_agrees_with_the_conjugate_draws() -> None:
    """Mean and sd of six metrics; 5 standard errors at the sampler's own effective size."""
    sampled = fs.um_posterior(counts=SMALL, rng=1, draws=2_000, sampler="pymc")
    exact = fs.um_posterior(counts=SMALL, rng=1, draws=100_000)
    assert sampled.diagnostics is not None
    assert sampled.diagnostics.converged
    assert sampled.diagnostics.divergences == 0
    error = 5 / np.sqrt(sampled.diagnostics.ess)
    for name in (
        "accuracy",
        "mcc",
        "equal_opportunity",
        "predictive_parity",
        "demographic_parity_max",
    ):
        a = sampled.metric(name)
        b = exact.metric(name)
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
        ({"concentration": (5, 9)}, "concentration"),
        ({"sampler": "gibbs"}, "sampler"),
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
