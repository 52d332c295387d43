"""The PyMC model of one evaluation, for those who extend it, and its sampling."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from fairstats.ground.caution import caution
from fairstats.ground.errors import DataWarning, InputError
from fairstats.ground.groups import find_reference
from fairstats.ground.randomness import as_generator
from fairstats.methods.um.arviz_door import diagnose, pymc, values_of
from fairstats.methods.um.checks import as_prior, check_draws, warn_of_empty
from fairstats.methods.um.evaluation_counts import CELLS, EvaluationCounts, Rows, as_counts
from fairstats.methods.um.result import UmPosterior

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["sample_model", "sampled_posterior", "um_model"]

_CHAINS = 4
_TUNE = 1_000


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
        With the dimensions ``group`` and ``cell`` (tp, tn, fp, fn), the random variable ``pi`` (group, cell)
        and the observed ``counts``. Effective counts, which are not whole, enter as a potential.

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
    table, _ = as_counts(None, None, counts)
    alpha = as_prior(prior, table)
    if (alpha <= 0).any():
        raise InputError(
            "prior", got=repr(prior), allowed="a number above 0 in a PyMC model", cure="1.0, or 0.5"
        )
    pm = pymc()
    with pm.Model(coords={"group": list(table.groups), "cell": list(CELLS)}) as model:
        pi = pm.Dirichlet("pi", a=alpha, dims=("group", "cell"))
        if table.whole:
            cells = table.cells.astype(np.int64)
            pm.Multinomial("counts", n=cells.sum(axis=1), p=pi, observed=cells, dims=("group", "cell"))
        else:
            pm.Potential("effective_counts", (table.cells * pm.math.log(pi)).sum())
    return model


def sample_model(
    table: EvaluationCounts,
    rows: Rows | None,
    *,
    prior: Any,
    draws: Any,
    target: str,
    reference: Hashable | None,
    rng: Any,
) -> UmPosterior:
    """Posterior by NUTS on `um_model`; for the arguments see `um_posterior`."""
    number = check_draws(draws)
    warn_of_empty(table)
    pm = pymc()
    generator, seed = as_generator(rng)
    entropy = int(generator.integers(2**62)) if seed is None else seed
    with um_model(table, prior):
        data = pm.sample(
            draws=-(-number // _CHAINS),
            tune=_TUNE,
            chains=_CHAINS,
            random_seed=entropy % 2**32,
            progressbar=False,
            target_accept=0.9,
        )
    alpha = as_prior(prior, table)
    return sampled_posterior(
        table, data, number, alpha, target, reference, entropy, f"NUTS, PyMC {pm.__version__}", ["pi"], rows
    )


def sampled_posterior(
    table: EvaluationCounts,
    data: Any,
    number: int,
    prior: NDArray[np.float64],
    target: str,
    reference: Hashable | None,
    entropy: int,
    engine: str,
    checked: list[str],
    rows: Rows | None = None,
) -> UmPosterior:
    """A `UmPosterior` of a sampler's draws of ``pi``, diagnosed; warns where it did not converge."""
    pi = values_of(data, "pi")
    stored = pi.swapaxes(0, 1).reshape(-1, *pi.shape[2:])[:number]
    diagnostics = diagnose(data, checked, engine)
    index, rule = find_reference(table.groups, reference, sizes=table.sizes)
    result = UmPosterior(
        counts=table,
        prior=prior,
        n_draws=len(stored),
        target=target,
        engine=engine,
        entropy=entropy,
        reference=table.groups[index],
        reference_rule=rule,
        diagnostics=diagnostics,
        stored=stored,
    )
    object.__setattr__(result, "_inference", data)  # a frozen result; not written to a file
    object.__setattr__(result, "_rows", rows)
    if not diagnostics.converged:
        caution(
            f"{engine} did not converge: r-hat {diagnostics.rhat:.3f}, ESS {diagnostics.ess:.0f}, "
            f"{diagnostics.divergences} divergences. More tuning or a higher target_accept may help.",
            DataWarning,
        )
    return result
