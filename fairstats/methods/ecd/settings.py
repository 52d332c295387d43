"""The settings of `fairstats.ecd`, checked, and the grid of rounded scores that values of CD lie on
by them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fairstats.ground import checks
from fairstats.ground.backends import BACKENDS
from fairstats.ground.encoding import label_text
from fairstats.ground.errors import InputError
from fairstats.ground.multiplicity import ADJUSTMENTS
from fairstats.ground.serialise import serialisable
from fairstats.methods.ecd.sample import GroupSample
from fairstats.numerics.evt.distributions import Floats
from fairstats.numerics.evt.grid import LEAST_CELLS, OFF_GRID, grid_width
from fairstats.numerics.evt.series import may_be_rounded

#: Of the cells between rounded values so many have one at least, else rounding does not matter.
_FILLED = 0.05
#: Coarser values are decisions, or votes of a few: they are what they are, and no rounded
#: probabilities.
_COARSEST = 0.2
#: Values closer than this are one value.
TIE = 1e-12


@serialisable()
class EcdSettings:
    """The arguments of `fairstats.ecd`; the thresholds by the names of the groups."""

    interactions: float
    other_interactions: tuple[float, ...]
    location: str
    threshold: Any
    confidence_level: float
    margin: float
    horizon_width: float
    n_resamples: int
    calibrated: bool
    seed: int | None
    backend: str | None
    adjust: str = "holm"
    sensitivity: tuple[float, ...] = (0.5, 2.0)
    cvar_level: float = 0.95
    grid: float | str | None = "auto"

    def __post_init__(self) -> None:
        checks.check_choice("location", self.location, ("return_level", "paper"))
        checks.check_choice("calibrated", self.calibrated, (False, True))
        checks.check_choice("backend", self.backend, (None, *BACKENDS))
        checks.check_choice("adjust", self.adjust, ADJUSTMENTS)
        m = _check_interactions("interactions", self.interactions)
        other_periods = []
        for period in self.other_interactions:
            other_periods.append(_check_interactions("other_interactions", period))
        margin = checks.check_number(
            "margin",
            self.margin,
            low=0,
            high=2,
            open_low=True,
            allowed="a difference of probabilities' levels, above 0 and at most 2",
            cure="0.05",
        )
        horizon_width = checks.check_number(
            "horizon_width",
            self.horizon_width,
            low=0,
            open_low=True,
            cure="0.5",
        )
        bounds: Any = {
            "low": 0.01,
            "high": 100,
            "allowed": "factors of the exceedances, between 0.01 and 100",
        }
        factors = []
        for factor in self.sensitivity:
            factors.append(checks.check_number("sensitivity", factor, **bounds, cure="(0.5, 2)"))
        # what was checked is kept, as Python's own numbers: SciPy knows no long doubles
        checked_values = {
            "n_resamples": checks.check_whole("n_resamples", self.n_resamples, low=0),
            "confidence_level": checks.check_confidence_level(self.confidence_level),
            "margin": margin,
            "horizon_width": horizon_width,
            "cvar_level": checks.check_share("cvar_level", self.cvar_level),
            "interactions": m,
            "other_interactions": tuple(period for period in other_periods if period != m),
            "sensitivity": tuple(factors),
            "threshold": _check_threshold(self.threshold),
            "calibrated": bool(self.calibrated),
            "grid": _check_grid_width(self.grid),
        }
        for name, value in checked_values.items():
            object.__setattr__(self, name, value)

    @property
    def n_exceedances(self) -> int:
        """k, where it was asked for; else 0."""
        return self.threshold if isinstance(self.threshold, int) else 0


def _check_threshold(threshold: Any) -> int | str | dict[str, float] | None:
    """Number of exceedances, the rule's name, or a threshold for each group."""
    if threshold is None or (isinstance(threshold, str) and threshold == "forward_stop"):
        return threshold
    if isinstance(threshold, str):
        allowed = 'k of 10 or more, "forward_stop", or a threshold for each group'
        raise InputError("threshold", got=repr(threshold), allowed=allowed, cure="threshold=50")
    if not isinstance(threshold, Mapping):
        return checks.check_whole("threshold", threshold, low=10)
    bounds: Any = {
        "low": -1,
        "high": 1,
        "open_high": True,
        "allowed": "for every group a number in [−1, 1)",
    }
    result = {}
    for k, v in threshold.items():
        result[label_text(k)] = checks.check_number("threshold", v, **bounds, cure="0.2")
    return result


def _check_grid_width(grid: Any) -> float | str | None:
    if grid is None or isinstance(grid, str):
        checks.check_choice("grid", grid, ("auto", None), cure="'auto', or a width, 0.01, say")
        return grid
    words = "a width above 0 and at most 1, 'auto', or None for values as they are"
    return checks.check_number(
        "grid",
        grid,
        low=0,
        high=1,
        open_low=True,
        allowed=words,
        cure="0.01",
    )


def _check_interactions(argument: str, value: Any) -> float:
    words = "a number of interactions above 1"
    return checks.check_number(
        argument,
        value,
        low=1,
        high=1e15,
        open_low=True,
        allowed=words,
        cure="1000",
    )


def check_grid(name: str, sample: GroupSample, settings: EcdSettings) -> None:
    """Raise unless the values lie on the grid that was given, if one was."""
    cd = sample._largest()
    if not isinstance(settings.grid, float) or not cd.size:
        return
    cells = (cd - cd.max()) / settings.grid
    if np.abs(cells - np.round(cells)).max() > OFF_GRID:
        got = f"{settings.grid:g}, of which the values of {name!r} are no multiples"
        allowed = "the width of the grid that all values of CD lie on"
        raise InputError("grid", got=got, allowed=allowed, cure="grid='auto'")


def grid_of(above: Floats, settings: EcdSettings) -> float:
    """Width of the grid of values that a tail can be fitted to.

    0 where there is none, or rounding does not matter.

    That CD is the difference of two rounded scores does no harm from there on (the calibration page
    has such scores).
    """
    distinct = distinct_of(above)
    width = rounding_width(above, settings)
    if distinct >= LEAST_CELLS and _is_filled(above, distinct, width):
        return width
    return 0.0


def distinct_of(values: Floats) -> int:
    """Number of distinct values."""
    return int(np.unique(np.round(values / TIE) * TIE).size)


def rounding_width(values: Floats, settings: EcdSettings) -> float:
    """Width of the grid of the values, as given or of those that are tied; 0 where there is none.

    Not found where the largest are not tied, nor most, nor of fewer than three values, which any
    grid fits.
    """
    if not isinstance(settings.grid, str):
        return settings.grid or 0.0
    distinct = distinct_of(values)
    if distinct < 3 or not may_be_rounded(np.round(values, 9)):
        return 0.0
    width = grid_width(values)
    # a few fractions have a common divisor, too, but their grid is empty
    if width <= _COARSEST + TIE and _is_filled(values, distinct, width):
        return width
    return 0.0


def _is_filled(values: Floats, distinct: int, width: float) -> bool:
    return bool(distinct >= _FILLED * np.ptp(values) / (width or 1.0))
