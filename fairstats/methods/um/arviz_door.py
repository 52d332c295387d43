"""The one place that knows ArviZ: 0.2x has InferenceData, 1.x DataTree; from both the same answers."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from fairstats.ground.errors import MissingDependencyError
from fairstats.methods.um.evaluation_counts import CELLS
from fairstats.methods.um.origin import Diagnostics

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["arviz", "assemble", "diagnose", "from_posterior", "pymc", "values_of"]

_DIMS = {"pi": ["group", "cell"], "counts": ["group", "cell"], "mu": ["cell"], "kappa": []}
#: Chains that exact draws are dealt to, where their number can be divided by it.
_CHAINS = 4


def _load(package: str, purpose: str) -> Any:
    try:
        return import_module(package)
    except ImportError as problem:
        raise MissingDependencyError(
            package, extra="bayes", purpose=purpose, alternative="use engine='exact', metric() and to_frame()"
        ) from problem


def arviz() -> Any:
    """The package, or an error that names the extra."""
    return _load("arviz", "A posterior for ArviZ")


def pymc() -> Any:
    """The package, or an error that names the extra."""
    return _load("pymc", "Sampling a PyMC model")


def assemble(groups: tuple[str, ...], **parts: dict[str, NDArray[Any]]) -> Any:
    """InferenceData or DataTree of named groups of variables.

    Parameters
    ----------
    groups : tuple of str
        Sensitive groups: the coordinate ``group``.
    **parts : dict of str to ndarray
        ``posterior={"pi": array (chain, draw, group, cell)}``, ``observed_data={"counts": …}``, …
    """
    az = arviz()
    coords = {"group": list(groups), "cell": list(CELLS)}
    dims = {name: _DIMS[name] for variables in parts.values() for name in variables if name in _DIMS}
    if int(str(az.__version__).split(".")[0]) < 1:
        return az.from_dict(**parts, coords=coords, dims=dims)
    return az.from_dict(parts, coords=coords, dims=dims)


def from_posterior(posterior: Any) -> Any:
    """The draws of a `UmPosterior`: cell probabilities (chain, draw, group, cell) and the counts.

    Under ``target="predictive"`` also the next test sets, drawn from these probabilities one by one.
    """
    expected = replace(posterior, target="parameter").draws
    total = expected.sum(axis=-1, keepdims=True)
    pi = np.divide(expected, total, out=np.full(expected.shape, np.nan), where=total > 0)
    chains = _CHAINS if len(pi) % _CHAINS == 0 else 1
    parts = {"posterior": {"pi": pi.reshape(chains, -1, *pi.shape[1:])}}
    if posterior.target == "predictive":
        counts = posterior.draws
        parts["posterior_predictive"] = {"counts": counts.reshape(chains, -1, *counts.shape[1:])}
    return assemble(posterior.groups, **parts, observed_data={"counts": posterior.counts.cells})


def values_of(data: Any, name: str, group: str = "posterior") -> NDArray[np.float64]:
    """A variable as an array (chain, draw, …)."""
    return np.asarray(data[group][name].transpose("chain", "draw", ...).values)


def diagnose(data: Any, names: list[str], sampler: str) -> Diagnostics:
    """Largest r-hat, least bulk ESS and divergences over the named variables of the posterior."""
    az = arviz()
    rhat, ess = -np.inf, np.inf
    for name in names:
        # One variable at a time: the answer is an array in every version.
        values = values_of(data, name)
        flat = values.reshape(*values.shape[:2], -1)
        for k in range(flat.shape[2]):
            column = flat[:, :, k]
            rhat = max(rhat, float(np.asarray(az.rhat(column)).item()))
            ess = min(ess, float(np.asarray(az.ess(column, method="bulk")).item()))
    chains, draws = values_of(data, names[0]).shape[:2]
    divergences = int(np.asarray(data["sample_stats"]["diverging"].values).sum())
    return Diagnostics(rhat, ess, divergences, int(chains), int(draws), sampler)
