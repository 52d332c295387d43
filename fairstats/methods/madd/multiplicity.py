"""Adjusted p-values over the comparisons of one MADD."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ADJUSTMENTS", "adjusted_pvalues"]

ADJUSTMENTS = ("holm", "bonferroni", "sidak", "hommel", "fdr_bh", "none")


def adjusted_pvalues(pvalues: Sequence[float], method: str) -> NDArray[np.float64]:
    """Adjusted p-values; missing ones stay missing and do not count in the family.

    Parameters
    ----------
    pvalues : sequence of float
        One family.
    method : {"holm", "bonferroni", "sidak", "hommel", "fdr_bh", "none"}
        By statsmodels' `multipletests`.

    Examples
    --------
    >>> adjusted_pvalues([0.01, 0.04, 0.03], "holm")
    array([0.03, 0.06, 0.06])
    """
    values = np.asarray(pvalues, dtype=np.float64)
    known = np.isfinite(values)
    adjusted = values.copy()
    if method == "none" or known.sum() < 2:
        return adjusted
    from statsmodels.stats.multitest import multipletests

    adjusted[known] = multipletests(values[known], method=method)[1]
    return adjusted
