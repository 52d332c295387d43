"""Regions of highest probability for draws with few distinct values.

A kernel density of such draws is a row of spikes whose height is a matter of bandwidth. The region that
means something is the least set of values that holds the probability: the most frequent values first,
ties together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairstats.numerics.hdr.contract import FloatArray

__all__ = ["Frequencies", "frequencies", "is_constant", "is_discrete", "least_mass", "runs"]

#: Draws are taken as discrete when they have at most this many distinct values …
MOST_VALUES = 25
#: … and each occurs at least this often on average.
LEAST_REPEATS = 5


@dataclass(frozen=True)
class Frequencies:
    """Distinct values and their shares.

    Attributes
    ----------
    values : array, shape (m, d)
        Distinct draws, in lexicographic order.
    masses : array, shape (m,)
        Share of the draws at each, summing to 1.
    """

    values: FloatArray
    masses: FloatArray


def is_constant(samples: FloatArray) -> bool:
    """Whether all rows are one point, up to rounding (8 units in the last place)."""
    spread = np.ptp(samples, axis=0)
    return bool((spread <= 8 * np.finfo(float).eps * np.abs(samples).max(axis=0)).all())


def is_discrete(samples: FloatArray) -> bool:
    """Whether the rows take at most `MOST_VALUES` values, each `LEAST_REPEATS` times on average."""
    first = samples[: MOST_VALUES * 10]
    if np.unique(first[:, 0]).size > MOST_VALUES:
        return False
    if np.unique(samples[:, 0]).size > MOST_VALUES:
        return False
    count = len(np.unique(samples, axis=0))
    return count <= MOST_VALUES and len(samples) >= LEAST_REPEATS * count


def frequencies(samples: FloatArray) -> Frequencies:
    """Count the distinct rows.

    Parameters
    ----------
    samples : array, shape (n, d)
        Draws; a constant up to rounding is one value, its median.
    """
    if is_constant(samples):
        return Frequencies(np.median(samples, axis=0)[None, :], np.ones(1))
    values, counts = np.unique(samples, axis=0, return_counts=True)
    return Frequencies(values, counts / len(samples))


def least_mass(masses: FloatArray, prob: float) -> float:
    """The largest p such that the values of mass ≥ p together hold at least `prob`.

    Examples
    --------
    >>> import numpy as np
    >>> least_mass(np.array([0.1, 0.4, 0.3, 0.2]), 0.8)
    0.2
    """
    descending = np.sort(masses)[::-1]
    enough = np.cumsum(descending) >= prob * (1 - 1e-12)
    return float(descending[int(enough.argmax())])


def runs(values: FloatArray, included: np.ndarray) -> FloatArray:
    """Intervals [first, last] of neighbouring included values, shape (k, 2).

    Examples
    --------
    >>> import numpy as np
    >>> runs(np.array([0.0, 1.0, 2.0, 3.0]), np.array([True, True, False, True]))
    array([[0., 1.],
           [3., 3.]])
    """
    padded = np.concatenate([[False], included, [False]])
    first = np.flatnonzero(padded[1:] & ~padded[:-1])
    last = np.flatnonzero(padded[:-1] & ~padded[1:]) - 1
    return np.column_stack([values[first], values[last]])
