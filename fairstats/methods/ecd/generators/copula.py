"""Gaussian copula over mixed columns: every margin as observed, dependence through normal scores."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairstats.ground.randomness import as_generator
from fairstats.methods.ecd.generators.columns import Column, as_columns, as_people
from fairstats.numerics.evt.checks import as_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["GaussianCopula"]

#: Largest correlation of latent variables.
_MOST = 0.999


@dataclass
class GaussianCopula:
    """Synthetic rows with the observed margins and the correlations of the normal scores.

    Mixed types share one normal copula: a category, or a number with ties, stands for an interval of its
    latent normal variable, and correlations are those of the conditional means S = E(Z | value), divided by
    var S of each column, which undoes to first order what the intervals take away. Categories are ordered as
    their column declares, else by their label.

    Parameters
    ----------
    rng : None, int or Generator

    Notes
    -----
    Numbers are drawn from the observed range by interpolating between order statistics: no synthetic value
    lies outside it. Dependence beyond correlations of scores (interactions, tails) is lost.

    References
    ----------
    Hoff, P. D. (2007). Extending the rank likelihood for semiparametric copula estimation. Annals of Applied
    Statistics 1, 265–283.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from fairstats.methods.ecd.generators.copula import GaussianCopula
    >>> age = np.random.default_rng(1).normal(40, 9, 300)
    >>> people = pd.DataFrame({"age": age, "old": np.where(age > 45, "yes", "no")})
    >>> made = GaussianCopula(rng=1).fit(people).sample(2000)
    >>> made.shape, bool(made.loc[made["old"] == "yes", "age"].mean() > 45)
    ((2000, 2), True)
    """

    rng: Any = None
    _columns: list[Column] = field(default_factory=list, init=False, repr=False)
    _names: list[Any] = field(default_factory=list, init=False, repr=False)
    _root: Floats | None = field(default=None, init=False, repr=False)

    def fit(self, frame: Any) -> GaussianCopula:
        """Learn margins and correlations.

        Parameters
        ----------
        frame : DataFrame, shape (n, p)

        Raises
        ------
        InputError
            No frame, fewer than two rows, missing values.
        """
        people = as_people(frame, "frame")
        self._generator, _ = as_generator(self.rng)
        self._names = list(people.columns)
        self._columns = as_columns(people)
        varying = [c for c in self._columns if c.kind != "constant"]
        scores = np.empty((len(people), len(varying)))
        for j, column in enumerate(varying):
            scores[:, j] = _mean_scores(_order(column))
        self._root = _root_of(scores)
        return self

    def sample(self, n: int) -> pd.DataFrame:
        """Synthetic rows, shape (n, p), with the columns and types of the frame."""
        from scipy.special import ndtr

        count = as_count("n", n, least=1)
        if self._root is None:
            raise RuntimeError("fit comes before sample")
        uniform = ndtr(self._generator.standard_normal((count, self._root.shape[0])) @ self._root.T)
        made, j = {}, 0
        for column in self._columns:
            if column.kind == "constant":
                made[column.name] = column.finish(column.at(np.zeros(count, dtype=np.intp)))
                continue
            made[column.name] = _inverse(column, uniform[:, j])
            j += 1
        return pd.DataFrame(made, columns=self._names)


def _order(column: Column) -> NDArray[Any]:
    """Rank-like numbers: the values themselves, or the place of the category."""
    if column.kind in ("whole", "real"):
        return column.numbers
    categories = column.series.astype("category").cat
    return np.asarray(categories.codes)


def _mean_scores(values: NDArray[Any]) -> Floats:
    """E(Z | value) of a normal variable Z cut at the empirical distribution function; mean 0."""
    from scipy.special import ndtri

    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.concatenate([[0], np.cumsum(count)]) / values.size
    density = np.exp(-0.5 * ndtri(ends) ** 2) / np.sqrt(2 * np.pi)
    means = (density[:-1] - density[1:]) * values.size / count
    return np.asarray(means[place])


def _root_of(scores: Floats) -> Floats:
    """Square root of the latent correlation matrix, made positive semidefinite with a unit diagonal."""
    variance = scores.var(axis=0)
    correlation = (scores.T @ scores) / len(scores) / np.outer(variance, variance)
    correlation = np.clip(correlation, -_MOST, _MOST)
    np.fill_diagonal(correlation, 1.0)
    values, vectors = np.linalg.eigh(correlation)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return np.asarray(root / np.sqrt((root**2).sum(axis=1))[:, None])


def _inverse(column: Column, uniform: Floats) -> pd.Series[Any]:
    """Quantiles of the observed margin."""
    if column.kind == "real":
        return column.finish(np.quantile(column.numbers, uniform))
    order = np.argsort(_order(column), kind="stable")
    place = np.minimum((uniform * order.size).astype(np.intp), order.size - 1)
    return column.finish(column.at(order[place]))
