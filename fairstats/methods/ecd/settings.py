"""The settings of `fairstats.ecd`, checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairstats.ground import checks
from fairstats.ground.backends import BACKENDS
from fairstats.ground.encoding import label_text
from fairstats.ground.errors import InputError
from fairstats.ground.multiplicity import ADJUSTMENTS
from fairstats.ground.serialise import serialisable


@serialisable()
class EcdSettings:
    """The arguments of `fairstats.ecd`, checked; the thresholds by the names of the groups."""

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
        m = _more_than_one("interactions", self.interactions)
        others = tuple(_more_than_one("other_interactions", v) for v in self.other_interactions)
        checks.check_whole("n_resamples", self.n_resamples, low=0)
        checks.check_confidence_level(self.confidence_level)
        checks.check_number("margin", self.margin, low=0, open_low=True, cure="0.05")
        checks.check_number("horizon_width", self.horizon_width, low=0, open_low=True, cure="0.5")
        checks.check_share("cvar_level", self.cvar_level)
        words = "factors of the exceedances, between 0.01 and 100"
        factors = (
            checks.check_number("sensitivity", f, low=0.01, high=100, allowed=words, cure="(0.5, 2)")
            for f in self.sensitivity
        )
        for name, value in (
            ("sensitivity", tuple(factors)),
            ("interactions", m),
            ("other_interactions", tuple(v for v in others if v != m)),
            ("threshold", _checked_threshold(self.threshold)),
            ("calibrated", bool(self.calibrated)),
            ("grid", _checked_grid(self.grid)),
        ):
            object.__setattr__(self, name, value)  # as they are meant, and only here

    @property
    def n_exceedances(self) -> int:
        """k, where it was asked for; else 0."""
        return self.threshold if isinstance(self.threshold, int) else 0


def _checked_threshold(threshold: Any) -> int | str | dict[str, float] | None:
    if threshold is None or (isinstance(threshold, str) and threshold == "forward_stop"):
        return threshold
    if isinstance(threshold, str):
        allowed = 'k of 10 or more, "forward_stop", or a threshold for each group'
        raise InputError("threshold", got=repr(threshold), allowed=allowed, cure="threshold=50")
    if not isinstance(threshold, Mapping):
        return checks.check_whole("threshold", threshold, low=10)
    words = "for every group a number in [−1, 1)"
    return {
        label_text(k): checks.check_number("threshold", v, low=-1, high=1, open_high=True, allowed=words, cure="0.2")
        for k, v in threshold.items()
    }


def _checked_grid(grid: Any) -> float | str | None:
    if grid is None or isinstance(grid, str):
        checks.check_choice("grid", grid, ("auto", None), cure="'auto', or a width, 0.01, say")
        return grid
    words = "a width above 0 and at most 1, 'auto', or None for values as they are"
    return checks.check_number("grid", grid, low=0, high=1, open_low=True, allowed=words, cure="0.01")


def _more_than_one(argument: str, value: Any) -> float:
    words = "a number of interactions above 1"
    return checks.check_number(argument, value, low=1, high=1e15, open_low=True, allowed=words, cure="1000")
