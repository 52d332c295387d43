"""Extreme values: fits of tails, return levels with honest intervals, and diagnostics
(``fairstats.evt``).
"""

from fairstats.numerics.evt.averaging import average_return_level
from fairstats.numerics.evt.choice import choose_threshold
from fairstats.numerics.evt.diagnostics import (
    exponentiality_test,
    goodness_of_fit,
    mean_residual_life,
)
from fairstats.numerics.evt.extrapolation import tail_type
from fairstats.numerics.evt.fit import EvtFit, fit_gev, fit_gpd, fit_point_process
from fairstats.numerics.evt.return_levels import ReturnLevel, empirical_return_level
from fairstats.numerics.evt.series import decluster, extremal_index
from fairstats.numerics.evt.thresholds import threshold_stability, threshold_tests

__all__ = [
    "EvtFit",
    "ReturnLevel",
    "average_return_level",
    "choose_threshold",
    "decluster",
    "empirical_return_level",
    "exponentiality_test",
    "extremal_index",
    "fit_gev",
    "fit_gpd",
    "fit_point_process",
    "goodness_of_fit",
    "mean_residual_life",
    "tail_type",
    "threshold_stability",
    "threshold_tests",
]
