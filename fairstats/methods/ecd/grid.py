"""Grids of rounded scores: which width values of CD lie on, if any."""

from __future__ import annotations

import numpy as np

from fairstats.ground.errors import InputError
from fairstats.methods.ecd.sample import GroupSample
from fairstats.methods.ecd.settings import EcdSettings
from fairstats.numerics.evt.distributions import Floats
from fairstats.numerics.evt.grid import LEAST_CELLS, OFF_GRID, grid_width
from fairstats.numerics.evt.series import may_be_rounded

#: Of the cells between rounded values so many have one at least, else rounding does not matter.
_FILLED = 0.05
#: Coarser values are decisions, or votes of a few: they are what they are, and no rounded probabilities.
_COARSEST = 0.2
#: Values closer than this are one value.
TIE = 1e-12


def check_grid(name: str, sample: GroupSample, settings: EcdSettings) -> None:
    """Raise unless the values lie on the grid that was given, if one was."""
    cd = sample.largest()
    if not isinstance(settings.grid, float) or not cd.size:
        return
    cells = (cd - cd.max()) / settings.grid
    if np.abs(cells - np.round(cells)).max() > OFF_GRID:
        got = f"{settings.grid:g}, of which the values of {name!r} are no multiples"
        allowed = "the width of the grid that all values of CD lie on"
        raise InputError("grid", got=got, allowed=allowed, cure="grid='auto'")


def grid_of(above: Floats, settings: EcdSettings) -> float:
    """Width of the grid of values that a tail can be fitted to; 0 where there is none.

    Not with fewer cells than `fit_gpd` takes, nor with so many that rounding does not matter. That CD is the
    difference of two rounded scores does no harm from there on (the calibration page has such scores).
    """
    distinct, width = distinct_of(above), rounding_width(above, settings)
    return width if distinct >= LEAST_CELLS and _is_filled(above, distinct, width) else 0.0


def distinct_of(values: Floats) -> int:
    """Number of distinct values."""
    return int(np.unique(np.round(values / TIE) * TIE).size)


def rounding_width(values: Floats, settings: EcdSettings) -> float:
    """Width of the grid of the values, as it was given or of those that are tied; 0 where there is none.

    Not found where the largest are not tied, nor most, nor of fewer than three values, which any grid fits;
    nor of steps above .2, as of decisions.
    """
    if not isinstance(settings.grid, str):
        return settings.grid or 0.0
    distinct = distinct_of(values)
    if distinct < 3 or not may_be_rounded(np.round(values, 9)):
        return 0.0
    width = grid_width(values)
    # a few fractions have a common divisor, too, but their grid is empty
    return width if width <= _COARSEST + TIE and _is_filled(values, distinct, width) else 0.0


def _is_filled(values: Floats, distinct: int, width: float) -> bool:
    return bool(distinct >= _FILLED * np.ptp(values) / (width or 1.0))
