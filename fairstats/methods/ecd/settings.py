"""Settings of an ECD inference, checked once and reported in full."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fairstats.ground.backends import BACKENDS
from fairstats.ground.checks import check_choice, check_confidence_level, check_number, check_whole
from fairstats.ground.encoding import label_text
from fairstats.ground.multiplicity import ADJUSTMENTS
from fairstats.ground.serialise import serialisable


@serialisable
@dataclass(frozen=True)
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

    def __post_init__(self) -> None:
        check_choice("location", self.location, ("return_level", "paper"))
        check_choice("calibrated", self.calibrated, (False, True))
        check_choice("backend", self.backend, (None, *BACKENDS))
        check_choice("adjust", self.adjust, ADJUSTMENTS)
        m = _more_than_one("interactions", self.interactions)
        others = tuple(_more_than_one("other_interactions", v) for v in self.other_interactions)
        check_whole("n_resamples", self.n_resamples, low=0)
        check_confidence_level(self.confidence_level)
        check_number("margin", self.margin, low=0, open_low=True, cure="0.05")
        check_number("horizon_width", self.horizon_width, low=0, open_low=True, cure="0.5")
        for name, value in (
            ("interactions", m),
            ("other_interactions", tuple(v for v in others if v != m)),
            ("threshold", _threshold(self.threshold)),
            ("calibrated", bool(self.calibrated)),
        ):
            object.__setattr__(self, name, value)  # as they are meant, and only here

    @property
    def n_exceedances(self) -> int:
        """k, where the threshold is an order statistic that was asked for; else 0."""
        return self.threshold if isinstance(self.threshold, int) else 0


def _threshold(threshold: Any) -> int | dict[str, float] | None:
    if threshold is None:
        return None
    if not isinstance(threshold, Mapping):
        return check_whole("threshold", threshold, low=10)
    words = "for every group a number in [−1, 1)"
    return {
        label_text(k): check_number("threshold", v, low=-1, high=1, open_high=True, allowed=words, cure="0.2")
        for k, v in threshold.items()
    }


def _more_than_one(argument: str, value: Any) -> float:
    words = "a number of interactions above 1"
    return check_number(argument, value, low=1, high=1e15, open_low=True, allowed=words, cure="1000")
