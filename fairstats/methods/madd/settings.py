"""The choices behind a MADD, checked once and all of them reported."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairstats.ground.errors import InputError
from fairstats.ground.results import check_choice, check_confidence_level
from fairstats.ground.serialise import serialisable
from fairstats.methods.madd.binning import MOST_BINS, check_bins
from fairstats.methods.madd.curve import MOST_SEARCHED
from fairstats.methods.madd.multiplicity import ADJUSTMENTS

__all__ = ["COMPARISONS", "MaddSettings", "bins_of_bandwidth", "make_settings"]

COMPARISONS = ("all", "rest", "reference")
PERMUTATIONS = ("grid", "search")
#: Draws of B·m counts for more bins than this would need gigabytes.
MOST_GRID_BINS = 2_000
#: 1/h this close to a whole number, relative to it, is meant to be that number (single precision has 1e-7).
_SLACK = 1e-6


@serialisable
@dataclass(frozen=True)
class MaddSettings:
    """The settings of a MADD.

    Attributes
    ----------
    n_bins : int or None
        Number of bins m of the estimate; None: the mean over the stable stretch of bandwidths.
    grid_bins : int or None
        Bins of the grid of interval and test; None: ⌈1/h_sup⌉ of every comparison.
    comparisons : {"all", "rest", "reference"}
        All pairs, each group against all others, or each group against the reference.
    permutations : {"grid", "search"}
        Whether Algorithm 1 also runs again in every permutation.
    threshold : float
        MADD that separates violated from satisfied.
    confidence_level : float
        Level of the intervals; verdicts use one-sided limits at this level.
    adjust, family : str
        Adjustment of the p-values, and what over.
    n_resamples : int
        Permutations, and bootstrap resamples.
    seed : int or None
    max_bins, min_points, width : int, int, float
        Of the search for the stable stretch.
    reference_rule : {"named", "largest"}
        How the reference group was chosen, where there is one.
    """

    n_bins: int | None = None
    grid_bins: int | None = None
    comparisons: str = "all"
    permutations: str = "grid"
    threshold: float = 0.2
    confidence_level: float = 0.95
    adjust: str = "holm"
    family: str = "metric"
    n_resamples: int = 1_999
    seed: int | None = None
    max_bins: int = 1000
    min_points: int = 50
    width: float = 0.45
    reference_rule: str = "largest"

    @property
    def searched(self) -> bool:
        """Whether the bandwidth was searched (Algorithm 1)."""
        return self.n_bins is None

    @property
    def apart(self) -> bool:
        """Whether the estimate rests on other bins than interval and test, and has a row of its own."""
        return self.n_bins is None or self.n_bins != self.grid_bins


def make_settings(
    *,
    bandwidth: Any = "auto",
    n_bins: int | None = None,
    grid_bins: int | None = None,
    comparisons: str = "all",
    permutations: str = "grid",
    threshold: float = 0.2,
    confidence_level: float = 0.95,
    adjust: str = "holm",
    n_resamples: int = 1_999,
    max_bins: int = 1000,
    min_points: int = 50,
    width: float = 0.45,
) -> MaddSettings:
    """Check the choices.

    Raises
    ------
    InputError
        Where one cannot be used.
    """
    check_choice("comparisons", comparisons, COMPARISONS)
    check_choice("permutations", permutations, PERMUTATIONS)
    check_choice("adjust", adjust, ADJUSTMENTS)
    bins = _chosen_bins(bandwidth, n_bins)
    if bins is not None and permutations == "search":
        raise InputError(
            "permutations",
            got=f"'search' with {bins} bins given",
            allowed="'search' with bandwidth='auto'",
            cure="permutations='grid': with a given grid nothing is searched",
        )
    if not 0 <= threshold <= 2:
        raise InputError(
            "threshold", got=repr(threshold), allowed="a MADD from 0 to 2", cure="the default is 0.2"
        )
    grid = bins if bins is not None and bins <= MOST_GRID_BINS else None
    if grid_bins is not None:
        grid = check_bins("grid_bins", grid_bins, least=2, most=MOST_GRID_BINS)
    return MaddSettings(
        n_bins=bins,
        grid_bins=grid,
        comparisons=comparisons,
        permutations=permutations,
        threshold=float(threshold),
        confidence_level=_level(confidence_level),
        adjust=adjust,
        n_resamples=_resamples(n_resamples),
        max_bins=check_bins("max_bins", max_bins, most=MOST_SEARCHED),
        min_points=min_points,
        width=width,
    )


def _chosen_bins(bandwidth: Any, n_bins: int | None) -> int | None:
    """Number of bins asked for; None for the search."""
    automatic = isinstance(bandwidth, str) and bandwidth == "auto"
    if n_bins is None:
        return None if automatic else bins_of_bandwidth(bandwidth)
    if not automatic:
        raise InputError(
            "n_bins",
            got=f"n_bins={n_bins!r} and bandwidth={bandwidth!r}",
            allowed="one of them",
            cure=f"leave out bandwidth: {n_bins!r} bins are h = 1/{n_bins!r}",
        )
    return check_bins("n_bins", n_bins)


def bins_of_bandwidth(bandwidth: Any) -> int:
    """Number of bins ⌊1/h⌋ for h in (0, 1]; 1/h within rounding of a whole number is that number.

    Raises
    ------
    InputError
        For anything else.

    Examples
    --------
    >>> bins_of_bandwidth(0.022), bins_of_bandwidth(1 / 93)
    (45, 93)
    """
    real = isinstance(bandwidth, (int, float, np.integer, np.floating)) and not isinstance(bandwidth, bool)
    if not real or not 1 / MOST_BINS <= bandwidth <= 1:
        raise InputError(
            "bandwidth",
            got=repr(bandwidth),
            allowed=f"'auto', or a bandwidth h from {1 / MOST_BINS:g} to 1",
            cure="0.05 makes 20 bins; n_bins=20 does the same",
        )
    inverse = 1 / float(bandwidth)
    nearest = round(inverse)
    return nearest if abs(inverse - nearest) <= _SLACK * inverse else int(inverse)


def _level(confidence_level: float) -> float:
    level = check_confidence_level(confidence_level)
    if level <= 0.5:
        raise InputError(
            "confidence_level",
            got=repr(confidence_level),
            allowed="a level above 0.5: verdicts use one-sided limits",
            cure="0.95 for a 95% interval",
        )
    return level


def _resamples(n_resamples: Any) -> int:
    whole = isinstance(n_resamples, (int, np.integer)) and not isinstance(n_resamples, bool)
    if not whole or n_resamples < 99:
        raise InputError(
            "n_resamples", got=repr(n_resamples), allowed="a whole number of at least 99", cure="1999"
        )
    return int(n_resamples)
