"""The variance ratio behind the relative correlation: Var_over and its jackknife (the paper's section 10)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fairstats.methods.um.origin import VarianceRatio

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["jackknife_ratio", "overestimated_variance", "variance_ratio_of"]


def overestimated_variance(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Var_over = (1/2J) Σ_j (θ_j − θ_j^c)² (equation 20).

    Parameters
    ----------
    values : ndarray, shape (J, 2, G)
        The K-fold estimate in both halves of each split.
    """
    return np.asarray(((values[:, 0] - values[:, 1]) ** 2).mean(axis=0) / 2)


def jackknife_ratio(
    squares: NDArray[np.float64], confidence_level: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """R per group with its delete-one jackknife interval on the log scale (t with J − 1 degrees of freedom).

    Parameters
    ----------
    squares : ndarray, shape (2, J, G)
        (θ_j − θ_j^c)² of the reference and of the method.
    confidence_level : float

    Returns
    -------
    ratio, low, high : ndarray, shape (G,)
        NaN where a variance is 0; limits NaN where one vanishes without some split, and for J = 1.
    """
    from scipy.special import stdtrit

    sums = squares.sum(axis=1)
    splits = squares.shape[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where((sums > 0).all(axis=0), sums[1] / sums[0], np.nan)
        left = sums[:, None] - squares
        left = np.where(left > 1e-12 * sums[:, None], left, np.nan)
        logs = np.log(left[1] / left[0])
        spread = np.sqrt((splits - 1) / splits * ((logs - logs.mean(axis=0)) ** 2).sum(axis=0))
        if splits < 2:
            spread = np.full(ratio.shape, np.nan)
        reach = float(stdtrit(max(splits - 1, 1), 0.5 + confidence_level / 2)) * spread
        return ratio, ratio * np.exp(-reach), ratio * np.exp(reach)


def variance_ratio_of(
    values: NDArray[np.float64], metric: str, reference: str, confidence_level: float = 0.95
) -> VarianceRatio:
    """R = Var_over of the method over Var_over of the reference, with its interval.

    Parameters
    ----------
    values : ndarray, shape (2, J, 2, G)
        By algorithm (reference, method), split, half, group.
    metric, reference : str
        For the record.
    confidence_level : float
    """
    squares = (values[:, :, 0] - values[:, :, 1]) ** 2
    ratio, low, high = jackknife_ratio(squares, confidence_level)
    return VarianceRatio(metric, reference, values, ratio, low, high, confidence_level)
