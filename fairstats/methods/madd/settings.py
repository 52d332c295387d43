"""The choices behind a MADD, checked once and all of them reported."""

from __future__ import annotations

from typing import Any

from fairstats.ground.checks import check_choice, check_number, check_whole
from fairstats.ground.errors import InputError
from fairstats.ground.multiplicity import ADJUSTMENTS
from fairstats.ground.serialise import serialisable
from fairstats.methods.madd.binning import MOST_BINS, check_bins
from fairstats.methods.madd.curve import MOST_SEARCHED

#: Draws of B·m counts for more bins than this would need gigabytes.
MOST_GRID_BINS = 2_000
#: 1/h this close to a whole number, relative to it, is meant to be that number (single precision has 1e-7).
_SLACK = 1e-6


@serialisable()
class MaddSettings:
    """The settings of a MADD: the arguments of `fairstats.madd`, checked.

    `n_bins`: number of bins m of the estimate; None: the mean over the stable stretch of bandwidths; `grid_bins`: bins
    of the grid of interval and test; None: ⌈1/h_sup⌉ of every comparison; `family`: what the p-values are adjusted
    over; `reference_rule`, {"named", "largest"}: how the reference group was chosen, where there is one.
    """

    n_bins: int | None = None
    grid_bins: int | None = None
    comparisons: str = "all"
    permutations: str = "grid"
    margin: float = 0.2
    confidence_level: float = 0.95
    adjust: str = "holm"
    family: str = "metric"
    n_resamples: int = 1_999
    seed: int | None = None
    max_bins: int = 1000
    min_points: int = 50
    width: float = 0.45
    reference_rule: str = "largest"

    def __post_init__(self) -> None:
        check_choice("comparisons", self.comparisons, ("all", "rest", "reference"))
        check_choice("permutations", self.permutations, ("grid", "search"))
        check_choice("adjust", self.adjust, ADJUSTMENTS)
        if self.n_bins is not None and self.permutations == "search":
            got = f"'search' with {self.n_bins} bins given"
            cure = "permutations='grid': with a given grid nothing is searched"
            raise InputError("permutations", got=got, allowed="'search' with bandwidth='auto'", cure=cure)
        check_number("margin", self.margin, low=0, high=2, allowed="a MADD from 0 to 2", cure="0.2")
        level, words = self.confidence_level, "a level above 0.5 and below 1: verdicts use one-sided limits"
        check_number("confidence_level", level, low=0.5, high=1, open_low=True, open_high=True, allowed=words)
        check_whole("n_resamples", self.n_resamples, low=99, cure="1999")
        check_bins("max_bins", self.max_bins, most=MOST_SEARCHED)

    @property
    def apart(self) -> bool:
        """Whether the estimate rests on other bins than interval and test, and has a row of its own."""
        return self.n_bins is None or self.n_bins != self.grid_bins


def make_settings(
    *, bandwidth: Any = "auto", n_bins: int | None = None, grid_bins: int | None = None, **options: Any
) -> MaddSettings:
    """Settings of `MaddSettings` with the bins that are asked for.

    Raises InputError where a choice cannot be used.
    """
    automatic = isinstance(bandwidth, str) and bandwidth == "auto"
    if n_bins is not None and not automatic:
        got = f"n_bins={n_bins!r} and bandwidth={bandwidth!r}"
        cure = f"leave out bandwidth: {n_bins!r} bins are h = 1/{n_bins!r}"
        raise InputError("n_bins", got=got, allowed="one of them", cure=cure)
    if n_bins is not None:
        n_bins = check_bins("n_bins", n_bins)
    elif not automatic:
        n_bins = bins_of_bandwidth(bandwidth)
    if grid_bins is not None:
        check_bins("grid_bins", grid_bins, least=2, most=MOST_GRID_BINS)
    elif n_bins is not None and n_bins <= MOST_GRID_BINS:
        grid_bins = n_bins
    return MaddSettings(n_bins=n_bins, grid_bins=grid_bins, **options)


def bins_of_bandwidth(bandwidth: Any) -> int:
    """Number of bins ⌊1/h⌋ for h in (0, 1]; 1/h within rounding of a whole number is that number.

    Raises InputError for anything else.
    """
    inverse = 1 / check_number(
        "bandwidth", bandwidth, low=1 / MOST_BINS, high=1,
        allowed=f"'auto', or a bandwidth h from {1 / MOST_BINS:g} to 1",
        cure="0.05 makes 20 bins; n_bins=20 does the same",
    )  # fmt: skip
    nearest = round(inverse)
    return nearest if abs(inverse - nearest) <= _SLACK * inverse else int(inverse)
