"""PyMC and ArviZ: models, sampling, and draws in ArviZ's form (InferenceData in 0.2x, DataTree in
1.x).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats, check_that
from fairstats.ground.counts import CellCounts, ConfusionCounts
from fairstats.ground.errors import MissingDependencyError
from fairstats.ground.progress import under_way
from fairstats.ground.serialise import serialisable
from fairstats.methods.um.counting import CELLS, as_counts, as_prior
from fairstats.methods.um.draws import PosteriorDraws, multinomial_counts
from fairstats.methods.um.pooling import POOLED, cells_of_rates, successes_and_trials
from fairstats.numerics.rates.pooling import PRIOR_OF_MEAN

_DIMENSIONS = {
    "pi": ["group", "cell"],
    "counts": ["group", "cell"],
    "mean": ["rate"],
    "kappa": ["rate"],
}
#: Chains that exact draws are dealt to, where their number can be divided by it.
_CHAINS = 4
#: A shape below this makes a beta variable 0 or 1, and one of 0 is refused.
_LEAST_SHAPE = 1e-300


@serialisable()
class Diagnostics:
    """Convergence: largest r-hat and least bulk ESS over the parameters.

    `chains` and `draws` count after warm-up.
    """

    rhat: float
    ess: float
    divergences: int
    chains: int
    draws: int
    sampler: str

    @property
    def words(self) -> str:
        """The numbers in words."""
        return (
            f"r-hat {self.rhat:.3f} at most, ESS {self.ess:.0f} at least, {self.divergences}"
            " divergences"
        )

    @property
    def converged(self) -> bool:
        """r-hat ≤ 1.01, at least 100 effective draws per chain, no divergence (Vehtari et al.
        2021).
        """
        return self.rhat <= 1.01 and self.ess >= 100 * self.chains and self.divergences == 0


@dataclass(frozen=True)
class Nuts:
    """Settings of the sampler: draws in all chains together, warm-up, chains, acceptance rate,
    seed.
    """

    draws: int
    entropy: int
    tune: int = 1_000
    chains: int = 4
    target_accept: float = 0.9


@dataclass(frozen=True, eq=False)
class Sampled:
    """What a sampler gave: cell probabilities (draws, G, 4), diagnostics, and its own object for
    ArviZ.
    """

    pi: NDArray[np.float64]
    diagnostics: Diagnostics
    data: Any


@dataclass(frozen=True, eq=False)
class Pooled:
    """Draws of means and of κ behind partial pooling over a grid, (draws, rate), and the prior of
    κ.
    """

    mean: Floats
    kappa: Floats
    concentration: tuple[float, float]

    def for_arviz(self, draws: PosteriorDraws) -> Any:
        """As `sample_hierarchy` hands them over, with the cell probabilities that `draws`
        stores.
        """
        pi = np.asarray(draws.stored)
        chains = _CHAINS if len(pi) % _CHAINS == 0 else 1
        pi, mean, kappa = (
            draws_of_one.reshape(chains, -1, *draws_of_one.shape[1:])
            for draws_of_one in (pi, self.mean, self.kappa)
        )
        stream = np.random.default_rng(np.random.SeedSequence(draws.entropy, spawn_key=(1,)))
        count_table = draws.counts
        return _pooled_for_arviz(
            count_table,
            self.concentration,
            pi,
            mean=mean,
            kappa=kappa,
            rng=stream,
        )


def _load_package(package: str, purpose: str) -> Any:
    try:
        # PyMC takes ten seconds
        with under_way(f"loading {package}"):
            return import_module(package)
    except ImportError as problem:
        alternative = "use sampler='exact', metric() and to_frame()"
        raise MissingDependencyError(
            package,
            extra="bayes",
            purpose=purpose,
            alternative=alternative,
        ) from problem


def assemble(
    groups: tuple[str, ...], cells: tuple[str, ...] = CELLS, **parts: dict[str, NDArray[Any]]
) -> Any:
    """InferenceData or DataTree of groups of variables, such as ``posterior={"pi".

    (chain, draw, group, cell)}``.
    """
    arviz = _load_package("arviz", "A posterior for ArviZ")
    dimensions = {}
    for variables in parts.values():
        for variable in variables:
            if variable in _DIMENSIONS:
                dimensions[variable] = _DIMENSIONS[variable]
    coordinates = {
        "coords": {"group": list(groups), "cell": list(cells), "rate": list(POOLED)},
        "dims": dimensions,
    }
    is_old_version = int(str(arviz.__version__).split(".")[0]) < 1
    if is_old_version:
        return arviz.from_dict(**parts, **coordinates)
    return arviz.from_dict(parts, **coordinates)


def as_arviz(draws: PosteriorDraws) -> Any:
    """Cell probabilities and counts.

    Under ``target="predictive"`` also the next test sets, drawn one by one.
    """
    expected = (replace(draws, target="parameter") if draws.target == "predictive" else draws).draws
    group_totals = expected.sum(axis=-1, keepdims=True)
    probabilities = np.divide(
        expected, group_totals, out=np.full(expected.shape, np.nan), where=group_totals > 0
    )
    if len(probabilities) % _CHAINS == 0:
        chains = _CHAINS
    else:
        chains = 1
    variable_groups = {
        "posterior": {"pi": probabilities.reshape(chains, -1, *probabilities.shape[1:])}
    }
    if draws.target == "predictive":
        counts = draws.draws
        variable_groups["posterior_predictive"] = {
            "counts": counts.reshape(chains, -1, *counts.shape[1:])
        }
    return assemble(
        draws.counts.groups,
        draws.counts.cells,
        **variable_groups,
        observed_data={"counts": draws.counts.totals},
    )


def _values_of(inference_data: Any, variable: str) -> Floats:
    """A variable of the posterior as an array (chain, draw, …)."""
    return np.asarray(inference_data["posterior"][variable].transpose("chain", "draw", ...).values)


def _draws_and_diagnostics(data: Any, draws: int, checked: list[str], sampler: str) -> Sampled:
    """Draws of ``probabilities``, with largest r-hat, least bulk ESS and divergences over the variables
    `checked`.
    """
    arviz = _load_package("arviz", "Diagnostics of a sampler")
    largest_rhat = -np.inf
    smallest_ess = np.inf
    for variable in checked:
        # One variable at a time: the answer is an array in every version.
        values = _values_of(data, variable)
        for one_parameter in np.moveaxis(values.reshape(*values.shape[:2], -1), -1, 0):
            largest_rhat = max(largest_rhat, float(np.asarray(arviz.rhat(one_parameter)).item()))
            smallest_ess = min(
                smallest_ess, float(np.asarray(arviz.ess(one_parameter, method="bulk")).item())
            )
    divergences = int(np.asarray(data["sample_stats"]["diverging"].values).sum())
    probabilities = _values_of(data, "pi")
    diagnostics = Diagnostics(
        rhat=largest_rhat,
        ess=smallest_ess,
        divergences=divergences,
        chains=probabilities.shape[0],
        draws=probabilities.shape[1],
        sampler=sampler,
    )
    return Sampled(
        probabilities.swapaxes(0, 1).reshape(-1, *probabilities.shape[2:])[:draws],
        diagnostics,
        data,
    )


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
        With the dimensions ``group`` and ``cell`` (tp, fp, fn, tn), the random variable ``pi``
        (group, cell) and the observed ``counts``. Effective counts, which are not whole, enter as a
        potential.

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
    count_table, _ = as_counts(counts)
    prior_parameters = as_prior(prior, count_table)
    check_that(
        (prior_parameters > 0).all(),
        "prior",
        prior,
        "a number above 0 in a PyMC model",
        "1.0, or 0.5",
    )
    pymc = _load_package("pymc", "Sampling a PyMC model")
    with pymc.Model(coords={"group": list(count_table.groups), "cell": list(CELLS)}) as model:
        pi = pymc.Dirichlet("pi", a=prior_parameters, dims=("group", "cell"))
        if count_table.whole:
            cell_counts = count_table.totals.astype(np.int64)
            pymc.Multinomial(
                "counts",
                n=cell_counts.sum(axis=1),
                p=pi,
                observed=cell_counts,
                dims=("group", "cell"),
            )
        else:
            pymc.Potential("effective_counts", (count_table.totals * pymc.math.log(pi)).sum())
    return model


def sample_model(table: ConfusionCounts, prior: Any, nuts: Nuts) -> Sampled:
    """Draws of `um_model` by NUTS."""
    inference_data = _run_nuts(um_model(table, prior), nuts)
    return _draws_and_diagnostics(
        inference_data, nuts.draws, ["pi"], f"NUTS, PyMC {_load_package('pymc', '').__version__}"
    )


@under_way("sampling by PyMC")
def _run_nuts(model: Any, settings: Nuts) -> Any:
    return _load_package("pymc", "Sampling a PyMC model").sample(
        model=model,
        draws=-(-settings.draws // settings.chains),
        tune=settings.tune,
        chains=settings.chains,
        random_seed=settings.entropy % 2**32,
        progressbar=False,
        target_accept=settings.target_accept,
    )


#: Ends of what the hierarchical likelihood is asked for.
_LEAST_MEAN = 1e-9
_LEAST_KAPPA = 1e-8
_LARGEST_KAPPA = 1e9


def hierarchical_model(table: ConfusionCounts, concentration: tuple[float, float]) -> Any:
    """Each rate by itself: x_g ~ BetaBinomial(n_g, κm, κ(1 − m)), m ~ Beta(½, ½), log κ ~ Normal.

    p_g integrated out.

    The model that `pooling` integrates over a grid, for those who extend it, and as the witness of
    the grid.
    """
    pymc = _load_package("pymc", "Sampling a PyMC model")
    tensor = import_module("pytensor.tensor")
    gammaln = tensor.gammaln
    with pymc.Model(coords={"group": list(table.groups), "rate": list(POOLED)}) as model:
        mean = pymc.Beta("mean", PRIOR_OF_MEAN, PRIOR_OF_MEAN, dims="rate")
        kappa = pymc.LogNormal(
            "kappa",
            mu=np.log(concentration[0]),
            sigma=concentration[1],
            dims="rate",
        )
        # Proposals of the warm-up go so far that gammaln has no value there; beyond these ends the
        # likelihood is flat.
        inner_mean = tensor.clip(mean, _LEAST_MEAN, 1 - _LEAST_MEAN)
        inner_kappa = tensor.clip(kappa, _LEAST_KAPPA, _LARGEST_KAPPA)
        for rate_index, rate_name in enumerate(POOLED):
            successes, trials = successes_and_trials(table.totals, rate_name)
            of_successes = inner_kappa[rate_index] * inner_mean[rate_index]
            of_failures = inner_kappa[rate_index] * (1 - inner_mean[rate_index])
            log_likelihood = gammaln(successes + of_successes) - gammaln(of_successes)
            log_likelihood += gammaln(trials - successes + of_failures) - gammaln(of_failures)
            log_likelihood -= gammaln(trials + inner_kappa[rate_index]) - gammaln(
                inner_kappa[rate_index]
            )
            pymc.Potential(f"counts_of_{rate_name}", log_likelihood.sum())
    return model


def sample_hierarchy(
    table: ConfusionCounts, concentration: tuple[float, float], nuts: Nuts
) -> Sampled:
    """Draws of partial pooling: mean and κ of each rate by NUTS, the groups' rates exactly given
    them.
    """
    inference_data = _run_nuts(hierarchical_model(table, concentration), nuts)
    mean = _values_of(inference_data, "mean")
    kappa = _values_of(inference_data, "kappa")
    stream = np.random.default_rng(np.random.SeedSequence(nuts.entropy, spawn_key=(1,)))
    rate_draws = {}
    for rate_index, rate_name in enumerate(POOLED):
        successes, trials = successes_and_trials(table.totals, rate_name)
        mean_draws = mean[..., rate_index, None]
        kappa_draws = kappa[..., rate_index, None]
        rate_draws[rate_name] = stream.beta(
            kappa_draws * mean_draws + successes,
            kappa_draws * (1 - mean_draws) + (trials - successes),
        )
    joined = _pooled_for_arviz(
        table,
        concentration,
        cells_of_rates(**rate_draws),
        mean=mean,
        kappa=kappa,
        rng=stream,
        sample_stats={"diverging": np.asarray(inference_data["sample_stats"]["diverging"].values)},
    )
    sampler_words = (
        f"partial pooling of each rate by NUTS, PyMC {_load_package('pymc', '').__version__}"
    )
    return _draws_and_diagnostics(joined, nuts.draws, ["mean", "kappa"], sampler_words)


def _pooled_for_arviz(
    table: CellCounts,
    concentration: tuple[float, float],
    pi: Floats,
    *,
    mean: Floats,
    kappa: Floats,
    rng: np.random.Generator,
    **parts: Any,
) -> Any:
    """Posterior, replicated tables, and tables from the prior.

    All but those with the axes (chain, draw, …).
    """
    n_draws = pi.shape[0] * pi.shape[1]
    return assemble(
        table.groups,
        posterior={"pi": pi, "mean": mean, "kappa": kappa},
        posterior_predictive={"counts": _replicate_tables(pi, table, rng)},
        prior_predictive={"counts": _prior_counts(table, concentration, n_draws, rng)},
        observed_data={"counts": table.totals},
        **parts,
    )


def _replicate_tables(pi: Floats, table: CellCounts, rng: np.random.Generator) -> Floats:
    """Tables of the same sizes given cell probabilities."""
    chains, n_draws, n_groups, n_cells = pi.shape
    cell_probabilities = pi.reshape(-1, n_groups, n_cells).transpose(2, 1, 0)
    trials = np.rint(table.totals.sum(axis=1)).astype(np.int64)
    drawn_counts = multinomial_counts(cell_probabilities, trials, rng)
    return drawn_counts.transpose(2, 1, 0).reshape(chains, n_draws, n_groups, n_cells)


def _prior_counts(
    table: CellCounts,
    concentration: tuple[float, float],
    draws: int,
    rng: np.random.Generator,
) -> Floats:
    """Tables from the prior, (1, draw, group, cell)."""
    rate_draws = {}
    for rate_name in POOLED:
        mean_draws = rng.beta(PRIOR_OF_MEAN, PRIOR_OF_MEAN, size=(draws, 1))
        kappa_draws = rng.lognormal(np.log(concentration[0]), concentration[1], size=(draws, 1))
        shapes = (
            np.maximum(kappa_draws * mean_draws, _LEAST_SHAPE),
            np.maximum(kappa_draws * (1 - mean_draws), _LEAST_SHAPE),
        )
        rate_draws[rate_name] = rng.beta(*shapes, size=(draws, len(table.groups)))
    return _replicate_tables(cells_of_rates(**rate_draws)[None], table, rng)
