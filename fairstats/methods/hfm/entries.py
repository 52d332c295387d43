"""The entries of an HFM: one per value of a sensitive attribute, and the maxima over them."""

from __future__ import annotations

from dataclasses import dataclass

from fairstats.ground.results import HypothesisTest
from fairstats.ground.serialise import serialisable
from fairstats.methods.hfm.set_distance import SetDistance

__all__ = ["ANY_VALUE", "JOINT", "REST", "HfmEntry", "StabilityRange", "harmonic"]

#: The other side of a comparison of one value with all others.
REST = "all others"
#: The group of an entry that is the maximum over the values of its attribute.
ANY_VALUE = "maximum over values"
#: The attribute of the entry that is the maximum over attributes.
JOINT = "all attributes"


def harmonic(d: float, d_f: float) -> float:
    """HFM = D_f/D − 1 (Eq. 3); 0/0 gives 0, x/0 gives +∞, as in the paper.

    Examples
    --------
    >>> harmonic(0.5, 0.75), harmonic(0.0, 0.0), harmonic(0.0, 1.0)
    (0.5, 0.0, inf)
    """
    if d == 0:
        return 0.0 if d_f == 0 else float("inf")
    return d_f / d - 1


@serialisable
@dataclass(frozen=True)
class StabilityRange:
    """What subsamples of one size give: how far single rows decide. No confidence is claimed.

    Attributes
    ----------
    quantity : {"D", "D_f", "HFM"}
    share : float
        Share of the rows in a subsample.
    low, median, high : float
        5%, 50% and 95% quantiles over the subsamples.
    drift : float
        Median minus the value on all rows: distances depend on the number of rows.
    n_subsamples : int
        Subsamples in which both groups occur.
    """

    quantity: str
    share: float
    low: float
    median: float
    high: float
    drift: float
    n_subsamples: int


@serialisable
@dataclass(frozen=True)
class HfmEntry:
    """D, D_f and HFM of one comparison.

    Attributes
    ----------
    attribute : str
        Sensitive attribute, "all attributes" for the maximum over them, or an intersection.
    group, reference : str
        The value and all others; or "maximum over values".
    d, d_f : float
        D(S0, S1) of features and labels, D_f of features and predictions.
    hfm : float
        D_f/D − 1.
    distance, distance_f : SetDistance
        Where they come from, with the rows that attain them; those of the attaining value for a maximum.
    tests : tuple of HypothesisTest
        For D, D_f and HFM in this order; empty where none were asked for.
    pvalues_adjusted : tuple of float
        Holm over all values of all attributes, per quantity; of single values only.
    stability : tuple of StabilityRange
    n, n_reference : int
        Rows of either side; of all rows and 0 for a maximum over attributes.
    """

    attribute: str
    group: str
    reference: str
    d: float
    d_f: float
    hfm: float
    distance: SetDistance
    distance_f: SetDistance
    n: int
    n_reference: int
    tests: tuple[HypothesisTest, ...] = ()
    pvalues_adjusted: tuple[float, ...] = ()
    stability: tuple[StabilityRange, ...] = ()

    @property
    def is_maximum(self) -> bool:
        """Whether it is a maximum over values or attributes."""
        return self.group == ANY_VALUE
