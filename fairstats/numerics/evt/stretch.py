"""The one function that both tails are made of, accurate through the exponential limit.

``v(y; θ) = log(1 + θy) / θ`` turns generalised Pareto excesses into exponential ones and block maxima into
Gumbel ones (θ = ξ/σ); at θ = 0 it is y itself. Near 0 the quotient cancels, so a power series takes over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["mean_stretch", "mean_stretch_of_one", "power_ratio", "power_ratio_shape_derivative", "stretch"]

#: Where |θy| stays below this, the series of `TERMS` terms is exact to rounding.
_SMALL = 0.02
_TERMS = 12
#: Elements handled at a time: what fits the processor's cache.
_CHUNK = 1 << 16


def stretch(y: Floats, theta: Floats) -> tuple[Floats, Floats, Floats]:
    """v(y; θ) and its first two derivatives in θ.

    Parameters
    ----------
    y : ndarray of float, shape (..., n)
        Values with 1 + θy > 0.
    theta : ndarray of float, shape (...)
        θ, one for each row of `y` (broadcast).

    Returns
    -------
    v, v_θ, v_θθ : ndarray of float, shape (..., n)
    """
    t = np.asarray(theta, dtype=np.float64)[..., None]
    near_zero = np.abs(t) * np.max(np.abs(y), axis=-1, keepdims=True) < _SMALL
    safe = np.where(near_zero, 1.0, t)
    z = np.where(near_zero, 0.0, t * y)
    v = np.log1p(z) / safe
    slope = y / (1.0 + z)
    first = (slope - v) / safe
    second = -(slope * slope + 2.0 * first) / safe
    if near_zero.any():
        which = near_zero[..., 0]
        series = _series(t[which], np.broadcast_to(y, v.shape)[which])
        for target, values in zip((v, first, second), series, strict=True):
            target[which] = values
    return v, first, second


def _series(t: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
    """Taylor series v = Σ_j (−θ)^j y^(j+1)/(j+1) and its derivatives, by Horner from the top."""
    z = np.clip(t * y, -_SMALL, _SMALL)
    v = np.zeros_like(z)
    first = np.zeros_like(z)
    second = np.zeros_like(z)
    for j in range(_TERMS, -1, -1):
        c = (-1.0) ** j / (j + 1)
        v = v * z + c
        if j >= 1:
            first = first * z + j * c
        if j >= 2:
            second = second * z + j * (j - 1) * c
    return v * y, first * y**2, second * y**3


def mean_stretch(y: Floats, n: Floats, largest: Floats, theta: Floats) -> tuple[Floats, Floats, Floats]:
    """Row means of v(y; θ) and of its first two derivatives, several θ for each row.

    Only one logarithm and one reciprocal per value: the derivatives follow from row sums,
    since ``θ v' = y/(1+θy) − v`` and ``θ v'' = −(y/(1+θy))² − 2v'``.

    Parameters
    ----------
    y : ndarray of float, shape (P, N)
        Non-negative values; rows shorter than N are filled up with zeros, which add nothing.
    n : ndarray of float, shape (P,)
        Values in each row.
    largest : ndarray of float, shape (P,)
        Largest value of each row.
    theta : ndarray of float, shape (P, K)
        θ.

    Returns
    -------
    D, D_θ, D_θθ : ndarray of float, shape (P, K)
    """
    rows, width = y.shape
    shape = theta.shape
    log_sum, slope_sum, square_sum = np.empty(shape), np.empty(shape), np.empty(shape)
    step = max(1, _CHUNK // max(1, shape[1] * width))
    for start in range(0, rows, step):
        part = slice(start, start + step)
        block = y[part, None, :]
        z = theta[part, :, None] * block
        log_sum[part] = np.log1p(z).sum(axis=-1)
        slope = block / (1.0 + z)
        slope_sum[part] = slope.sum(axis=-1)
        square_sum[part] = np.einsum("...i,...i->...", slope, slope)
    count = n[:, None]
    near_zero = np.abs(theta) * largest[:, None] < _SMALL
    some = near_zero.any()
    safe = np.where(near_zero, 1.0, theta) if some else theta
    mean = log_sum / count / safe
    first = (slope_sum / count - mean) / safe
    second = -(square_sum / count + 2.0 * first) / safe
    if some:
        row, column = np.nonzero(near_zero)
        series = _mean_series(theta[row, column], _moments(y, n, row))
        for target, values in zip((mean, first, second), series, strict=True):
            target[row, column] = values
    return mean, first, second


def mean_stretch_of_one(y: Floats, largest: float, theta: float) -> tuple[float, float, float]:
    """`mean_stretch` of one full row of shape (N,) at one θ, in plain numbers: what small samples gain by."""
    if abs(theta) * largest < _SMALL:
        values = mean_stretch(y[None, :], np.array([y.size]), np.array([largest]), np.array([[theta]]))
        return float(values[0][0, 0]), float(values[1][0, 0]), float(values[2][0, 0])
    z = theta * y
    mean = float(np.log1p(z).sum()) / y.size / theta
    z += 1.0
    slope = y / z
    first = (float(slope.sum()) / y.size - mean) / theta
    return mean, first, -(float(slope @ slope) / y.size + 2.0 * first) / theta


def _moments(y: Floats, n: Floats, row: NDArray[np.intp]) -> Floats:
    """Row means of y, y², … for the rows asked for, shape (len(row), terms)."""
    rows, inverse = np.unique(row, return_inverse=True)
    block = y[rows]
    power = block.copy()
    moments = np.empty((rows.size, _TERMS + 1))
    for j in range(_TERMS + 1):
        moments[:, j] = power.sum(axis=1)
        power *= block
    return np.asarray((moments / n[rows, None])[inverse])


def _mean_series(theta: Floats, moments: Floats) -> tuple[Floats, Floats, Floats]:
    """The same series for means: y^(j+1) replaced by its row mean."""
    j = np.arange(moments.shape[1])
    c = (-1.0) ** j / (j + 1) * moments
    powers = theta[:, None] ** j
    return (
        np.einsum("ij,ij->i", powers, c),
        np.einsum("ij,ij->i", powers[:, :-1], j[1:] * c[:, 1:]),
        np.einsum("ij,ij->i", powers[:, :-2], j[2:] * (j[2:] - 1) * c[:, 2:]),
    )


def power_ratio(s: Floats, shape: Floats) -> Floats:
    """``(e^(ξs) − 1)/ξ``, s itself at ξ = 0: the excess at s exponential units; +inf where it overflows."""
    s, xi = np.broadcast_arrays(np.asarray(s, dtype=np.float64), np.asarray(shape, dtype=np.float64))
    safe = np.where(np.abs(xi) < 1e-300, 1.0, xi)
    with np.errstate(over="ignore"):
        return np.where(np.abs(xi) < 1e-300, s, np.expm1(xi * s) / safe)


def power_ratio_shape_derivative(s: Floats, shape: Floats) -> Floats:
    """Derivative of `power_ratio` in ξ: ``(s e^(ξs) − power_ratio)/ξ``, s²/2 at ξ = 0."""
    s, xi = np.broadcast_arrays(np.asarray(s, dtype=np.float64), np.asarray(shape, dtype=np.float64))
    z = xi * s
    small = np.abs(z) < 1e-2
    series = s * s * (0.5 + z * (1 / 3 + z * (1 / 8 + z * (1 / 30 + z * (1 / 144 + z / 840)))))
    safe = np.where(small, 1.0, xi)
    with np.errstate(over="ignore", invalid="ignore"):
        direct = (s * np.exp(z) - np.expm1(z) / safe) / safe
        return np.where(small, series, direct)
