"""The entries of a result of MADD: one comparison of two groups, and the largest of several."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairstats.ground.results import HypothesisTest, Interval
from fairstats.ground.serialise import serialisable
from fairstats.methods.madd.curve import MaddCurve
from fairstats.methods.madd.stable import StableBandwidth

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["REST", "LargestMadd", "MaddComparison"]

#: The other side of a comparison of one group with all others.
REST = "all others"


@serialisable
@dataclass(frozen=True, eq=False)
class MaddComparison:
    """MADD of two groups.

    Attributes
    ----------
    group, reference : str
        The order gives the sign of the contributions; MADD itself is symmetric.
    estimate : float
        MADD: with the bins asked for, or its mean over the stable stretch.
    bandwidth : StableBandwidth or None
        The stretch, where it was searched.
    curve : MaddCurve or None
        What was searched.
    h_sup : float
        Order of the best bandwidth.
    null_mean : float
        What `estimate` would be on average if the groups were alike, its bandwidths held fixed; NaN under
        weights or clusters where they were searched.
    search_pvalue : float
        p-value of `estimate` when the search runs again in every permutation; NaN unless asked for.
    grid_bins : int
        Bins of the label-blind grid, on which everything below was computed.
    binned : float
        MADD on the grid.
    binned_null_mean : float
        What it would be on average if the groups were alike.
    bias_corrected : float
        2·binned − mean of its bootstrap, floored at 0.
    std_error : float
        Bootstrap standard deviation of `binned`.
    interval : Interval
        For the binned distance δ_m.
    bounds : Interval
        The two one-sided limits that the verdict rests on.
    lower_limit : float
        Lower confidence limit, one-sided, for the L1 distance of the densities; there is no upper one.
    pvalue, mid_pvalue, pvalue_adjusted : float
        Of "both groups have one score distribution".
    tests : tuple of HypothesisTest
    verdict : {"violated", "satisfied", "undecided", "insufficient evidence"}
        Whether δ_m lies above or below the threshold.
    n, n_reference : int
        Rows of either side.
    contributions : ndarray, shape (grid_bins,)
        d_k − d_ref,k per bin; their absolute values sum to `binned`.
    method : str
        Of the interval.
    note : str
        What could not be computed.
    """

    group: str
    reference: str
    estimate: float
    bandwidth: StableBandwidth | None
    curve: MaddCurve | None
    h_sup: float
    null_mean: float
    search_pvalue: float
    grid_bins: int
    binned: float
    binned_null_mean: float
    bias_corrected: float
    std_error: float
    interval: Interval
    bounds: Interval
    lower_limit: float
    pvalue: float
    mid_pvalue: float
    pvalue_adjusted: float
    tests: tuple[HypothesisTest, ...]
    verdict: str
    n: int
    n_reference: int
    contributions: NDArray[np.float64]
    method: str = "directional delta"
    note: str = ""


@serialisable
@dataclass(frozen=True)
class LargestMadd:
    """The largest MADD of several comparisons.

    Attributes
    ----------
    group, reference : str
        Where it was found.
    limited_by : tuple of two str
        Groups whose lower limit is the highest: a verdict "violated" rests on these.
    estimate : float
        Largest MADD on the grids; biased upwards, as every maximum of noisy values.
    null_mean : float
        Mean of the largest MADD over the permutations.
    interval, bounds : Interval
        For the largest δ_m, from limits that hold for all comparisons at once (Bonferroni).
    statistic, pvalue, mid_pvalue, pvalue_adjusted : float
        Of "all groups have one score distribution", by the largest standardised MADD; accounts for the
        search. The last is adjusted only where the family is the whole audit.
    verdict : str
    n : int
        Rows of all groups.
    method : str
        Of the test.
    """

    group: str
    reference: str
    limited_by: tuple[str, str]
    estimate: float
    null_mean: float
    interval: Interval
    bounds: Interval
    statistic: float
    pvalue: float
    mid_pvalue: float
    verdict: str
    n: int
    method: str
    pvalue_adjusted: float = float("nan")
