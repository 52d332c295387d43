"""Extreme values: fits of tails, return levels with honest intervals, and diagnostics (``fairstats.evt``).

Every public name is loaded on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

#: Public name → module that defines it.
_HOME = {
    "EvtFit": "result",
    "ReturnLevel": "return_level",
    "choose_threshold": "threshold",
    "empirical_return_level": "empirical",
    "exponentiality_test": "exponentiality",
    "fit_gev": "fit",
    "fit_gpd": "fit",
    "fit_point_process": "fit",
    "goodness_of_fit": "fit_tests",
    "mean_residual_life": "residual_life",
    "tail_type": "tails",
    "threshold_stability": "stability",
}

if TYPE_CHECKING:
    from fairstats.numerics.evt.empirical import empirical_return_level as empirical_return_level
    from fairstats.numerics.evt.exponentiality import exponentiality_test as exponentiality_test
    from fairstats.numerics.evt.fit import fit_gev as fit_gev
    from fairstats.numerics.evt.fit import fit_gpd as fit_gpd
    from fairstats.numerics.evt.fit import fit_point_process as fit_point_process
    from fairstats.numerics.evt.fit_tests import goodness_of_fit as goodness_of_fit
    from fairstats.numerics.evt.residual_life import mean_residual_life as mean_residual_life
    from fairstats.numerics.evt.result import EvtFit as EvtFit
    from fairstats.numerics.evt.return_level import ReturnLevel as ReturnLevel
    from fairstats.numerics.evt.stability import threshold_stability as threshold_stability
    from fairstats.numerics.evt.tails import tail_type as tail_type
    from fairstats.numerics.evt.threshold import choose_threshold as choose_threshold

__all__ = [*_HOME]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'fairstats.evt' has no attribute {name!r}")
    value = getattr(import_module(f"fairstats.numerics.evt.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
