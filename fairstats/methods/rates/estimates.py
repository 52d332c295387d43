"""Rates per group with their joint covariance, from a count table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairstats.ground.counts import CellCounts, SelectionCounts
from fairstats.methods.rates.definitions import AVERAGE_ODDS, RATES, SELECTION_ONLY, Rate

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "RateEstimates",
    "estimate_average_odds",
    "estimate_rates",
    "influence_matrix",
    "joint_covariance",
]


@dataclass(frozen=True, eq=False)
class RateEstimates:
    """Rates of G groups.

    Attributes
    ----------
    rate_of : Rate
        Which rate.
    groups : tuple of str, length G
    successes, cases : ndarray of float, shape (G,)
        k_s and d_s (weighted totals).
    rows : ndarray of int, shape (G,)
        Rows behind d_s.
    rate : ndarray of float, shape (G,)
        k_s / d_s, NaN where d_s = 0.
    covariance : ndarray of float, shape (G, G)
        Of the rates: diag(r(1−r)/d) for independent unweighted rows, linearised otherwise.
    degrees_of_freedom : float
        Infinite, or sampling units − 1.
    weighted, clustered : bool
        Whether the variance is linearised, and whether over clusters.
    parts : tuple of RateEstimates
        The rates that this one is the mean of (average odds); empty for a plain rate.
    smooth : bool
        Whether `rate` holds a general function of the counts, which has no successes.
    """

    rate_of: Rate
    groups: tuple[str, ...]
    successes: NDArray[np.float64]
    cases: NDArray[np.float64]
    rows: NDArray[np.int64]
    rate: NDArray[np.float64]
    covariance: NDArray[np.float64]
    degrees_of_freedom: float = float("inf")
    weighted: bool = False
    clustered: bool = False
    parts: tuple[RateEstimates, ...] = ()
    smooth: bool = False

    def effective(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Effective successes and cases, shape (G,) each.

        The counts themselves without weights; under weights n* = r(1−r)/Var(r) (Korn & Graubard 1998) and
        k* = r·n*, with the rows for n* where r is 0 or 1 and the variance vanishes.
        """
        if not self.weighted:
            return self.successes, self.cases
        variance = np.diag(self.covariance)
        with np.errstate(divide="ignore", invalid="ignore"):
            cases = np.where(variance > 0, self.rate * (1 - self.rate) / variance, self.rows)
        return np.where(cases > 0, self.rate * cases, 0.0), cases


def influence_matrix(counts: CellCounts, rate: Rate) -> NDArray[np.float64]:
    """Gradient of the rates in the cell totals: rows (K_s − r_s D_s)/d_s, shape (G, G·c)."""
    successes, cases = counts.total(*rate.successes), counts.total(*rate.cases)
    n_groups, n_cells = counts.totals.shape
    matrix = np.zeros((n_groups, n_groups, n_cells))
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = successes / cases
        for cell in rate.cases:
            success = float(cell in rate.successes)
            where = counts.cells.index(cell)
            matrix[np.arange(n_groups), np.arange(n_groups), where] = (success - rates) / cases
    return matrix.reshape(n_groups, n_groups * n_cells)


def joint_covariance(counts: CellCounts, rates: Sequence[Rate]) -> NDArray[np.float64]:
    """Covariance of several rates of all groups, shape (R·G, R·G), rate by rate; NaN where a rate is."""
    influence = np.vstack([influence_matrix(counts, rate) for rate in rates])
    known = np.isfinite(influence).all(axis=1)
    part = influence[known]
    covariance = np.full((known.size, known.size), np.nan)
    if counts.scatter is None:
        inner = (part * counts.totals.ravel()) @ part.T
    else:
        inner = part @ counts.scatter @ part.T * (counts.n_units / (counts.n_units - 1))
    covariance[np.ix_(known, known)] = inner
    return covariance


def estimate_rates(counts: CellCounts, key: str) -> RateEstimates:
    """Rates of every group.

    Parameters
    ----------
    counts : ConfusionCounts or SelectionCounts
        The table.
    key : str
        Key of `RATES`; a table without labels has the selection rate only.
    """
    rate = SELECTION_ONLY if isinstance(counts, SelectionCounts) else RATES[key]
    successes, cases = counts.total(*rate.successes), counts.total(*rate.cases)
    rows = counts.rows[:, [counts.cells.index(cell) for cell in rate.cases]].sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = successes / cases
        if counts.scatter is None:
            covariance = np.diag(rates * (1 - rates) / cases)
        else:
            covariance = joint_covariance(counts, [rate])
    return RateEstimates(
        rate_of=rate,
        groups=counts.groups,
        successes=successes,
        cases=cases,
        rows=rows,
        rate=rates,
        covariance=covariance,
        degrees_of_freedom=counts.degrees_of_freedom,
        weighted=counts.weighted,
        clustered=counts.clustered,
    )


def estimate_average_odds(counts: CellCounts) -> RateEstimates:
    """Average odds (TPR + FPR)/2 of every group: linear in the rates, so its covariance is closed."""
    parts = (estimate_rates(counts, "tpr"), estimate_rates(counts, "fpr"))
    n_groups = len(counts.groups)
    mean = np.hstack([np.eye(n_groups), np.eye(n_groups)]) / 2
    joint = joint_covariance(counts, [part.rate_of for part in parts])
    known = np.isfinite(parts[0].rate + parts[1].rate)
    covariance = np.full((n_groups, n_groups), np.nan)
    used = np.tile(known, 2)
    covariance[np.ix_(known, known)] = (
        mean[np.ix_(known, used)] @ joint[np.ix_(used, used)] @ mean[np.ix_(known, used)].T
    )
    return RateEstimates(
        rate_of=AVERAGE_ODDS,
        groups=counts.groups,
        successes=np.full(n_groups, np.nan),
        cases=np.minimum(parts[0].cases, parts[1].cases),
        rows=parts[0].rows + parts[1].rows,
        rate=(parts[0].rate + parts[1].rate) / 2,
        covariance=covariance,
        degrees_of_freedom=counts.degrees_of_freedom,
        weighted=counts.weighted,
        clustered=counts.clustered,
        parts=parts,
    )
