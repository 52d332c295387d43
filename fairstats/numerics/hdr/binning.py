"""Linear binning: each sample is shared between its neighbouring grid points, in O(n)."""

from __future__ import annotations

import numpy as np

from fairstats.numerics.hdr.contract import FloatArray

__all__ = ["bin_line", "bin_plane"]


def bin_line(samples: FloatArray, low: float, high: float, size: int) -> FloatArray:
    """Linear-binning counts on ``linspace(low, high, size)``.

    Parameters
    ----------
    samples : array, shape (n,)
        Values; one in a cell gives 1 − u to its left grid point and u to its right, u its place in the cell.
    low, high : float
        First and last grid point.
    size : int
        Number of grid points.

    Returns
    -------
    array, shape (size,)
        Their sum is the number of samples inside [low, high].

    Examples
    --------
    >>> import numpy as np
    >>> bin_line(np.array([0.25, 2.0]), 0.0, 2.0, 3)
    array([0.75, 0.25, 1.  ])
    """
    inside = (samples >= low) & (samples <= high)
    if not inside.all():
        samples = samples[inside]
    cell, share = _place(samples, low, (high - low) / (size - 1), size)
    left: FloatArray = np.bincount(cell, 1 - share, size).astype(np.float64, copy=False)
    right = np.bincount(cell, share, size)
    left[1:] += right[:-1]
    return left


def bin_plane(samples: FloatArray, low: FloatArray, high: FloatArray, size: tuple[int, int]) -> FloatArray:
    """Linear-binning counts on a rectangular grid, each sample shared among four grid points.

    Parameters
    ----------
    samples : array, shape (n, 2)
        Points.
    low, high : array, shape (2,)
        Corners of the grid.
    size : tuple of int
        Grid points per axis.

    Returns
    -------
    array, shape `size`

    Examples
    --------
    >>> import numpy as np
    >>> bin_plane(np.array([[0.5, 0.0]]), np.zeros(2), np.ones(2), (2, 2))
    array([[0.5, 0. ],
           [0.5, 0. ]])
    """
    inside = (samples >= low) & (samples <= high)
    if not inside.all():
        samples = samples[inside.all(axis=1)]
    step = (high - low) / (np.array(size) - 1)
    i, u = _place(samples[:, 0], low[0], step[0], size[0])
    j, v = _place(samples[:, 1], low[1], step[1], size[1])
    corner = i * size[1] + j
    counts = np.zeros((size[0], size[1]))
    cells = size[0] * size[1]

    def shared(weight: FloatArray) -> FloatArray:
        return np.bincount(corner, weight, cells).astype(np.float64, copy=False).reshape(size)

    uv = u * v
    counts += shared(1 - u - v + uv)
    counts[1:] += shared(u - uv)[:-1]
    counts[:, 1:] += shared(v - uv)[:, :-1]
    counts[1:, 1:] += shared(uv)[:-1, :-1]
    return counts


def _place(samples: FloatArray, low: float, step: float, size: int) -> tuple[np.ndarray, FloatArray]:
    """Cell of each sample and its place in the cell, in [0, 1]."""
    position = (samples - low) / step
    cell = np.clip(position.astype(np.int64), 0, size - 2)
    return cell, position - cell
