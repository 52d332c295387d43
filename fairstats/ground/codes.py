"""Arithmetic on codes: one number for a combination of coded values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def cross_codes(*parts: tuple[NDArray[Any], int]) -> NDArray[np.int64]:
    """Number of each row's combination of values, the last part running fastest.

    Codes are stored in the smallest integers that hold them, in which products overflow (or, in
    NumPy 2, are refused): they are widened here, and nowhere else.

    Parameters
    ----------
    *parts : tuple of (codes, number of values)
        Codes 0, …, number − 1 of shape (n,). Where the first is -1 the row is in no combination,
        and its number is negative.

    Returns
    -------
    ndarray of int64, shape (n,)
        From 0 to the product of the numbers of values, less one.

    Examples
    --------
    >>> import numpy as np
    >>> cross_codes((np.array([0, 1, 99], dtype=np.int8), 100), (np.array([2, 0, 2]), 3)).tolist()
    [2, 3, 299]
    """
    first_codes, _ = parts[0]
    crossed = np.asarray(first_codes, dtype=np.int64)
    for codes, n_values in parts[1:]:
        crossed = crossed * n_values + codes
    return crossed
