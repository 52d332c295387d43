"""`um_hierarchical`: partial pooling over many groups, where the conjugate shortcut does not exist."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from fairstats.ground.errors import InputError
from fairstats.ground.randomness import as_generator
from fairstats.methods.um.arviz_door import assemble, pymc, values_of
from fairstats.methods.um.checks import check_draws
from fairstats.methods.um.draws import multinomial_counts
from fairstats.methods.um.evaluation_counts import CELLS, EvaluationCounts, as_counts
from fairstats.methods.um.model import sampled_posterior
from fairstats.methods.um.result import UmPosterior

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["hierarchical_model", "um_hierarchical"]


def hierarchical_model(table: EvaluationCounts, concentration: tuple[float, float]) -> Any:
    """π_g ~ Dirichlet(κμ), μ ~ Dirichlet(1, 1, 1, 1), log κ ~ Normal, with π_g integrated out.

    The counts are Dirichlet-multinomial given (κ, μ): four free parameters however many groups there are.
    """
    pm = pymc()
    with pm.Model(coords={"group": list(table.groups), "cell": list(CELLS)}) as model:
        mu = pm.Dirichlet("mu", a=np.ones(4), dims="cell")
        kappa = pm.LogNormal("kappa", mu=np.log(concentration[0]), sigma=concentration[1])
        alpha = kappa * mu
        if table.whole:
            cells = table.cells.astype(np.int64)
            pm.DirichletMultinomial(
                "counts", n=cells.sum(axis=1), a=alpha, observed=cells, dims=("group", "cell")
            )
        else:
            gammaln = pm.math.gammaln if hasattr(pm.math, "gammaln") else _gammaln()
            total = table.totals
            pm.Potential(
                "effective_counts",
                (gammaln(kappa) - gammaln(total + kappa)).sum()
                + (gammaln(table.cells + alpha[None, :]) - gammaln(alpha)[None, :]).sum(),
            )
    return model


def _gammaln() -> Any:
    from importlib import import_module

    return import_module("pytensor.tensor").gammaln


def um_hierarchical(
    counts: Any,
    *,
    concentration: tuple[float, float] = (20.0, 1.5),
    draws: int = 4_000,
    tune: int = 1_000,
    chains: int = 4,
    target: str = "parameter",
    target_accept: float = 0.95,
    reference: Hashable | None = None,
    rng: Any = None,
) -> UmPosterior:
    """Posterior of the metrics of many, possibly small, groups that borrow strength from each other.

    The cell probabilities of the groups are draws from one Dirichlet(κμ), whose mean μ and concentration κ
    are estimated: small groups are drawn towards μ, the more the more alike the groups are. κ and μ are
    sampled by NUTS with the π_g integrated out (Dirichlet-multinomial counts); π_g given κ, μ and the counts
    is then an exact draw of Dirichlet(κμ + C_g).

    Parameters
    ----------
    counts : ConfusionCounts, mapping or frame
        As in `um_posterior`; at least three groups.
    concentration : (float, float), default (20, 1.5)
        Median of κ a priori, in rows, and standard deviation of log κ.
    draws : int, default 4,000
        In all chains together.
    tune, chains, target_accept
        Of NUTS.
    target, reference, rng
        As in `um_posterior`.

    Returns
    -------
    UmPosterior
        With ``.diagnostics`` (r-hat, ESS, divergences). ``.to_arviz()`` has the groups posterior (pi, mu,
        kappa), prior_predictive, posterior_predictive and observed_data for ArviZ's predictive checks.

    Raises
    ------
    InputError
        Fewer than three groups, and other input that cannot be used.
    MissingDependencyError
        Without PyMC.

    Warns
    -----
    DataWarning
        Where the sampler did not converge.

    Examples
    --------
    >>> import fairstats as fs
    >>> cells = ("tp", "tn", "fp", "fn")
    >>> rows = {"a": (50, 40, 5, 5), "b": (30, 22, 4, 4), "c": (9, 8, 2, 1), "d": (3, 2, 0, 1)}
    >>> counts = {group: dict(zip(cells, row)) for group, row in rows.items()}
    >>> pooled = fs.um_hierarchical(counts, draws=1000, chains=2, reference="a", rng=1)  # doctest: +SKIP
    >>> pooled.groups  # doctest: +SKIP
    ('a', 'b', 'c', 'd')
    """
    table, _ = as_counts(None, None, counts)
    _check(table, concentration, tune, chains, target_accept, target)
    number = check_draws(draws)
    pm = pymc()
    generator, seed = as_generator(rng)
    entropy = int(generator.integers(2**62)) if seed is None else seed
    model = hierarchical_model(table, concentration)
    with model:
        data = pm.sample(
            draws=-(-number // chains),
            tune=tune,
            chains=chains,
            random_seed=entropy % 2**32,
            progressbar=False,
            target_accept=target_accept,
        )
    mu, kappa = values_of(data, "mu"), values_of(data, "kappa")
    stream = np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=(1,)))
    pi, replicated = _groups_given(kappa[..., None] * mu, table, stream)
    joined = assemble(
        table.groups,
        posterior={"pi": pi, "mu": mu, "kappa": kappa},
        sample_stats={"diverging": np.asarray(data["sample_stats"]["diverging"].values)},
        posterior_predictive={"counts": replicated},
        prior_predictive={"counts": _prior_counts(table, concentration, number, stream)},
        observed_data={"counts": table.cells},
    )
    return sampled_posterior(
        table,
        joined,
        number,
        np.full(table.cells.shape, np.nan),
        target,
        reference,
        entropy,
        f"partial pooling by NUTS, PyMC {pm.__version__}",
        ["mu", "kappa"],
    )


def _check(
    table: EvaluationCounts,
    concentration: Any,
    tune: Any,
    chains: Any,
    target_accept: Any,
    target: Any,
) -> None:
    from fairstats.ground.results import check_choice
    from fairstats.methods.um.checks import check_share

    check_choice("target", target, ("parameter", "predictive"))
    if len(table.groups) < 3:
        raise InputError(
            "counts",
            got=f"{len(table.groups)} groups",
            allowed="three or more: how alike groups are cannot be learnt from two",
            cure="um_posterior",
        )
    try:
        good = len(concentration) == 2 and all(np.isfinite(float(v)) and float(v) > 0 for v in concentration)
    except (TypeError, ValueError):
        good = False
    if not good:
        raise InputError(
            "concentration",
            got=repr(concentration),
            allowed="the median of κ and the standard deviation of log κ, both above 0",
            cure="(20.0, 1.5)",
        )
    for name, value, least in (("tune", tune, 100), ("chains", chains, 2)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise InputError(name, got=repr(value), allowed=f"{least} or more", cure="the default")
    check_share("target_accept", target_accept)


def _groups_given(
    alpha: NDArray[np.float64], table: EvaluationCounts, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Draws of π_g given κμ, and of a replicated table, each (chain, draw, group, cell)."""
    gamma = rng.standard_gamma(alpha[:, :, None, :] + table.cells)
    pi = gamma / gamma.sum(axis=-1, keepdims=True)
    return pi, _replicate(pi, table, rng)


def _replicate(
    pi: NDArray[np.float64], table: EvaluationCounts, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Tables of the same sizes given cell probabilities."""
    chains, draws, n_groups, n_cells = pi.shape
    cells = pi.reshape(-1, n_groups, n_cells).transpose(2, 1, 0)
    trials = np.rint(table.totals).astype(np.int64)
    drawn = multinomial_counts(cells, cells.sum(axis=0), trials, rng)
    return drawn.transpose(2, 1, 0).reshape(chains, draws, n_groups, n_cells)


def _prior_counts(
    table: EvaluationCounts, concentration: tuple[float, float], draws: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Tables from the prior, (1, draw, group, cell)."""
    mu = rng.dirichlet(np.ones(4), size=draws)
    kappa = rng.lognormal(np.log(concentration[0]), concentration[1], size=draws)
    gamma = rng.standard_gamma(np.repeat((kappa[:, None] * mu)[:, None], len(table.groups), axis=1))
    total = gamma.sum(axis=-1, keepdims=True)
    # A tiny shape can underflow to 0 in every cell: such a group has all its rows in its likeliest cell.
    certain = np.eye(4)[np.argmax(mu, axis=1)][:, None]
    pi = np.where(total > 0, np.divide(gamma, total, out=np.zeros_like(gamma), where=total > 0), certain)
    return _replicate(pi[None], table, rng)
