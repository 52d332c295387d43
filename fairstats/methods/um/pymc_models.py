"""PyMC and ArviZ: models, sampling, and draws in ArviZ's form (InferenceData in 0.2x, DataTree in 1.x)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats, check_that
from fairstats.ground.counts import ConfusionCounts
from fairstats.ground.errors import MissingDependencyError
from fairstats.ground.serialise import serialisable
from fairstats.methods.um.counting import CELLS, as_counts, as_prior
from fairstats.methods.um.draws import PosteriorDraws, multinomial_counts

_DIMS = {"pi": ["group", "cell"], "counts": ["group", "cell"], "mu": ["cell"], "kappa": []}
#: Chains that exact draws are dealt to, where their number can be divided by it.
_CHAINS = 4


@serialisable()
class Diagnostics:
    """Convergence: largest r-hat and least bulk ESS over the parameters; `chains` and `draws` count after warm-up."""

    rhat: float
    ess: float
    divergences: int
    chains: int
    draws: int
    sampler: str

    @property
    def words(self) -> str:
        """The numbers in words."""
        return f"r-hat {self.rhat:.3f} at most, ESS {self.ess:.0f} at least, {self.divergences} divergences"

    @property
    def converged(self) -> bool:
        """r-hat ≤ 1.01, at least 100 effective draws per chain, no divergence (Vehtari et al. 2021)."""
        return self.rhat <= 1.01 and self.ess >= 100 * self.chains and self.divergences == 0


@dataclass(frozen=True)
class Nuts:
    """Settings of the sampler: draws in all chains together, warm-up, chains, acceptance rate, seed."""

    draws: int
    entropy: int
    tune: int = 1_000
    chains: int = 4
    target_accept: float = 0.9


@dataclass(frozen=True, eq=False)
class Sampled:
    """What a sampler gave: cell probabilities (draws, G, 4), diagnostics, and its own object for ArviZ."""

    pi: NDArray[np.float64]
    diagnostics: Diagnostics
    data: Any


def _load(package: str, purpose: str) -> Any:
    try:
        return import_module(package)
    except ImportError as problem:
        other = "use sampler='exact', metric() and to_frame()"
        raise MissingDependencyError(package, extra="bayes", purpose=purpose, alternative=other) from problem


def assemble(groups: tuple[str, ...], cells: tuple[str, ...] = CELLS, **parts: dict[str, NDArray[Any]]) -> Any:
    """InferenceData or DataTree of groups of variables, such as ``posterior={"pi": (chain, draw, group, cell)}``."""
    az = _load("arviz", "A posterior for ArviZ")
    dims = {name: _DIMS[name] for variables in parts.values() for name in variables if name in _DIMS}
    about = {"coords": {"group": list(groups), "cell": list(cells)}, "dims": dims}
    old = int(str(az.__version__).split(".")[0]) < 1
    return az.from_dict(**parts, **about) if old else az.from_dict(parts, **about)


def as_arviz(draws: PosteriorDraws) -> Any:
    """Cell probabilities and counts; under ``target="predictive"`` also the next test sets, drawn one by one."""
    expected = (replace(draws, target="parameter") if draws.target == "predictive" else draws).draws
    total = expected.sum(axis=-1, keepdims=True)
    pi = np.divide(expected, total, out=np.full(expected.shape, np.nan), where=total > 0)
    chains = _CHAINS if len(pi) % _CHAINS == 0 else 1
    parts = {"posterior": {"pi": pi.reshape(chains, -1, *pi.shape[1:])}}
    if draws.target == "predictive":
        counts = draws.draws
        parts["posterior_predictive"] = {"counts": counts.reshape(chains, -1, *counts.shape[1:])}
    return assemble(draws.counts.groups, draws.counts.cells, **parts, observed_data={"counts": draws.counts.totals})


def _values_of(data: Any, name: str) -> Floats:
    """A variable of the posterior as an array (chain, draw, …)."""
    return np.asarray(data["posterior"][name].transpose("chain", "draw", ...).values)


def _sampled(data: Any, draws: int, checked: list[str], sampler: str) -> Sampled:
    """Draws of ``pi``, with largest r-hat, least bulk ESS and divergences over the variables `checked`."""
    az = _load("arviz", "Diagnostics of a sampler")
    rhat, ess = -np.inf, np.inf
    for name in checked:
        # One variable at a time: the answer is an array in every version.
        values = _values_of(data, name)
        for column in np.moveaxis(values.reshape(*values.shape[:2], -1), -1, 0):
            rhat = max(rhat, float(np.asarray(az.rhat(column)).item()))
            ess = min(ess, float(np.asarray(az.ess(column, method="bulk")).item()))
    divergences = int(np.asarray(data["sample_stats"]["diverging"].values).sum())
    pi = _values_of(data, "pi")
    found = Diagnostics(rhat, ess, divergences, pi.shape[0], pi.shape[1], sampler)
    return Sampled(pi.swapaxes(0, 1).reshape(-1, *pi.shape[2:])[:draws], found, data)


def um_model(counts: Any, prior: Any = 1.0) -> Any:
    """The PyMC model behind `um_posterior`: Dirichlet prior, multinomial counts, per group.

    Parameters
    ----------
    counts : ConfusionCounts, mapping or frame
        As in `um_posterior`.
    prior : float or mapping of cell to float, default 1.0
        Above 0.

    Returns
    -------
    pymc.Model
        With the dimensions ``group`` and ``cell`` (tp, fp, fn, tn), the random variable ``pi`` (group, cell) and the
        observed ``counts``. Effective counts, which are not whole, enter as a potential.

    Raises
    ------
    InputError
        For a prior of 0: the model has no density then.
    MissingDependencyError
        Without PyMC.

    Examples
    --------
    >>> import fairstats as fs
    >>> counts = {"men": {"tp": 42, "tn": 38, "fp": 12, "fn": 8}}
    >>> with fs.um_model(counts) as model:
    ...     pass  # add what the question needs, and sample
    """
    table, _ = as_counts(counts)
    alpha = as_prior(prior, table)
    check_that((alpha > 0).all(), "prior", prior, "a number above 0 in a PyMC model", "1.0, or 0.5")
    pm = _load("pymc", "Sampling a PyMC model")
    with pm.Model(coords={"group": list(table.groups), "cell": list(CELLS)}) as model:
        pi = pm.Dirichlet("pi", a=alpha, dims=("group", "cell"))
        if table.whole:
            cells = table.totals.astype(np.int64)
            pm.Multinomial("counts", n=cells.sum(axis=1), p=pi, observed=cells, dims=("group", "cell"))
        else:
            pm.Potential("effective_counts", (table.totals * pm.math.log(pi)).sum())
    return model


def sample_model(table: ConfusionCounts, prior: Any, nuts: Nuts) -> Sampled:
    """Draws of `um_model` by NUTS."""
    data = _run(um_model(table, prior), nuts)
    return _sampled(data, nuts.draws, ["pi"], f"NUTS, PyMC {_load('pymc', '').__version__}")


def _run(model: Any, nuts: Nuts) -> Any:
    return _load("pymc", "Sampling a PyMC model").sample(
        model=model, draws=-(-nuts.draws // nuts.chains), tune=nuts.tune, chains=nuts.chains,
        random_seed=nuts.entropy % 2**32, progressbar=False, target_accept=nuts.target_accept,
    )  # fmt: skip


def hierarchical_model(table: ConfusionCounts, concentration: tuple[float, float]) -> Any:
    """π_g ~ Dirichlet(κμ), μ ~ Dirichlet(1, 1, 1, 1), log κ ~ Normal, π_g integrated out: four free parameters."""
    pm = _load("pymc", "Sampling a PyMC model")
    with pm.Model(coords={"group": list(table.groups), "cell": list(CELLS)}) as model:
        mu = pm.Dirichlet("mu", a=np.ones(4), dims="cell")
        kappa = pm.LogNormal("kappa", mu=np.log(concentration[0]), sigma=concentration[1])
        alpha = kappa * mu
        if table.whole:
            cells = table.totals.astype(np.int64)
            pm.DirichletMultinomial("counts", n=cells.sum(axis=1), a=alpha, observed=cells, dims=("group", "cell"))
        else:
            gammaln = import_module("pytensor.tensor").gammaln
            pm.Potential(
                "effective_counts",
                (gammaln(kappa) - gammaln(table.totals.sum(axis=1) + kappa)).sum()
                + (gammaln(table.totals + alpha[None, :]) - gammaln(alpha)[None, :]).sum(),
            )
    return model


def sample_hierarchy(table: ConfusionCounts, concentration: tuple[float, float], nuts: Nuts) -> Sampled:
    """Draws of partial pooling: (κ, μ) by NUTS, π_g exactly given them; prior and posterior predictions."""
    data = _run(hierarchical_model(table, concentration), nuts)
    mu, kappa = _values_of(data, "mu"), _values_of(data, "kappa")
    stream = np.random.default_rng(np.random.SeedSequence(nuts.entropy, spawn_key=(1,)))
    pi, replicated = _groups_given(kappa[..., None] * mu, table, stream)
    joined = assemble(
        table.groups, posterior={"pi": pi, "mu": mu, "kappa": kappa},
        sample_stats={"diverging": np.asarray(data["sample_stats"]["diverging"].values)},
        posterior_predictive={"counts": replicated},
        prior_predictive={"counts": _prior_counts(table, concentration, nuts.draws, stream)},
        observed_data={"counts": table.totals},
    )  # fmt: skip
    words = f"partial pooling by NUTS, PyMC {_load('pymc', '').__version__}"
    return _sampled(joined, nuts.draws, ["mu", "kappa"], words)


def _groups_given(alpha: Floats, table: ConfusionCounts, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Draws of π_g given κμ, and of a replicated table, each (chain, draw, group, cell)."""
    gamma = rng.standard_gamma(alpha[:, :, None, :] + table.totals)
    pi = gamma / gamma.sum(axis=-1, keepdims=True)
    return pi, _replicate(pi, table, rng)


def _replicate(pi: Floats, table: ConfusionCounts, rng: np.random.Generator) -> Floats:
    """Tables of the same sizes given cell probabilities."""
    chains, draws, n_groups, n_cells = pi.shape
    cells = pi.reshape(-1, n_groups, n_cells).transpose(2, 1, 0)
    trials = np.rint(table.totals.sum(axis=1)).astype(np.int64)
    drawn = multinomial_counts(cells, trials, rng)
    return drawn.transpose(2, 1, 0).reshape(chains, draws, n_groups, n_cells)


def _prior_counts(
    table: ConfusionCounts, concentration: tuple[float, float], draws: int, rng: np.random.Generator
) -> Floats:
    """Tables from the prior, (1, draw, group, cell)."""
    mu = rng.dirichlet(np.ones(4), size=draws)
    kappa = rng.lognormal(np.log(concentration[0]), concentration[1], size=draws)
    gamma = rng.standard_gamma(np.repeat((kappa[:, None] * mu)[:, None], len(table.groups), axis=1))
    total = gamma.sum(axis=-1, keepdims=True)
    # A tiny shape can underflow to 0 in every cell: such a group has all its rows in its likeliest cell.
    certain = np.eye(4)[np.argmax(mu, axis=1)][:, None]
    pi = np.where(total > 0, np.divide(gamma, total, out=np.zeros_like(gamma), where=total > 0), certain)
    return _replicate(pi[None], table, rng)
