"""Settings of an ECD inference, checked once and reported in full."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairstats.ground.backends import BACKENDS
from fairstats.ground.encoding import label_text
from fairstats.ground.errors import InputError
from fairstats.ground.results import check_choice, check_confidence_level
from fairstats.ground.serialise import serialisable
from fairstats.numerics.evt.checks import as_count

__all__ = ["EcdSettings", "make_settings"]

LOCATIONS = ("return_level", "paper")
MODELS = ("point_process", "gpd")


@serialisable
@dataclass(frozen=True)
class EcdSettings:
    """Settings.

    Attributes
    ----------
    interactions : float
        m, common to both groups.
    other_interactions : tuple of float
        Further numbers of interactions that return levels are given at.
    model : {"point_process", "gpd"}
        Poisson or binomial law of the number of exceedances; names the parameters that are printed.
    location : {"return_level", "paper"}
    threshold : int or dict
        Exceedances k in each group, or a threshold for each.
    confidence_level : float
    tolerance : float
        Size of a difference that the verdict is about.
    horizon_width : float
        Widest interval of a return level within the horizon, as a share of the level.
    n_resamples : int
        Of goodness of fit and calibration; 0 leaves both out.
    calibrated : bool or "bartlett"
        Whether the likelihood ratio's law is simulated, or its mean.
    seed : int or None
    backend : str or None
    """

    interactions: float
    other_interactions: tuple[float, ...]
    model: str
    location: str
    threshold: Any
    confidence_level: float
    tolerance: float
    horizon_width: float
    n_resamples: int
    calibrated: Any
    seed: int | None
    backend: str | None

    @property
    def n_exceedances(self) -> int:
        """k, where the threshold is an order statistic."""
        return self.threshold if isinstance(self.threshold, int) else 0


def make_settings(
    *,
    interactions: Any,
    other_interactions: Any,
    model: Any,
    location: Any,
    threshold: Any,
    confidence_level: Any,
    tolerance: Any,
    horizon_width: Any,
    n_resamples: Any,
    calibrated: Any,
    seed: int | None,
    backend: Any,
) -> EcdSettings:
    """Check every setting.

    Raises
    ------
    InputError
        The first that cannot be used.
    """
    check_choice("model", model, MODELS)
    check_choice("location", location, LOCATIONS)
    check_choice("calibrated", calibrated, (False, True, "bartlett"))
    check_choice("backend", backend, (None, *BACKENDS))
    m = _more_than_one("interactions", interactions)
    others = tuple(_more_than_one("other_interactions", v) for v in other_interactions)
    resamples = as_count("n_resamples", n_resamples, least=0)
    if calibrated and resamples < 99:
        raise InputError(
            "n_resamples",
            got=f"{resamples} for a calibrated test",
            allowed="at least 99",
            cure="n_resamples=999, or calibrated=False",
        )
    return EcdSettings(
        m,
        tuple(v for v in others if v != m),
        model,
        location,
        _threshold(threshold),
        check_confidence_level(confidence_level),
        _share("tolerance", tolerance),
        _share("horizon_width", horizon_width),
        resamples,
        calibrated if isinstance(calibrated, str) else bool(calibrated),
        seed,
        backend,
    )


def _threshold(threshold: Any) -> int | dict[str, float]:
    if isinstance(threshold, Mapping):
        return {label_text(k): _number(k, v) for k, v in threshold.items()}
    return as_count("threshold", threshold, least=10)


def _number(group: Hashable, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not -1 <= number < 1:
        raise InputError(
            "threshold", got=f"{value!r} for {group!r}", allowed="a number in [−1, 1)", cure="0.2, say"
        )
    return number


def _more_than_one(argument: str, value: Any) -> float:
    good = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not good or not 1 < value < 1e15:
        raise InputError(argument, got=repr(value), allowed="a number of interactions above 1", cure="1000")
    return float(value)


def _share(argument: str, value: Any) -> float:
    good = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not good or not 0 < value < np.inf:
        raise InputError(argument, got=repr(value), allowed="a number above 0", cure="0.05")
    return float(value)
