"""Regions of one quantity: intervals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairstats.numerics.hdr.bandwidth import hdr_bandwidth
from fairstats.numerics.hdr.cautions import (
    check_level,
    warn_of_atoms,
    warn_of_mass,
    warn_of_plateau,
)
from fairstats.numerics.hdr.contract import Curve, FloatArray, Kernel
from fairstats.numerics.hdr.grids import bounded, fold, plan_axis, without_empty_stretches
from fairstats.numerics.hdr.montecarlo import displacement_errors, level_error, size_error
from fairstats.numerics.hdr.piecewise import (
    level_of_mass,
    local_maxima,
    mass_between,
    slopes,
    superlevel_intervals,
)
from fairstats.numerics.hdr.result import HdrRegion

__all__ = ["given_curve", "line_regions"]

#: hdrcde's grid, and how many bandwidths it goes beyond the draws (R's `density`).
GRIDSIZE, CUT = 1001, 3.0
LARGEST_GRID = 2**20 + 1


def line_regions(
    samples: FloatArray,
    probs: FloatArray,
    *,
    bandwidth: float | None,
    support: tuple[float, float],
    gridsize: int | None,
    look_for_atoms: bool,
    kernel: Kernel,
) -> dict[str, Any]:
    """Fields of the result for draws of one quantity, shape (n,)."""
    if look_for_atoms:
        warn_of_atoms(samples)
    h = hdr_bandwidth(samples, float(probs.mean()), support) if bandwidth is None else bandwidth
    axis = plan_axis(samples, h, CUT * h, gridsize or GRIDSIZE, support, LARGEST_GRID)
    curve = kernel.density_1d(samples, h, axis.low, axis.high, axis.size)
    curve = Curve(bounded(curve.grid, axis, support), fold(curve.values, axis))
    if curve.grid.size > (gridsize or GRIDSIZE):
        curve = without_empty_stretches(curve)
    levels = kernel.levels_1d(curve, samples, probs)
    regions = []
    for prob, level in zip(probs.tolist(), levels.falpha.tolist(), strict=True):
        inside = levels.at_samples >= level
        intervals = superlevel_intervals(curve, level)
        free = _free(curve, intervals)
        ends, errors = intervals[free], np.zeros_like(intervals)
        errors[free], error = displacement_errors(
            samples, inside, ends, slopes(curve, ends), level, h, support
        )
        own = _own_fields(curve, prob, level, intervals)
        drawn = _drawn_fields(prob, level, intervals, samples[inside], samples.size)
        regions.append(HdrRegion(**own | drawn, falpha_error=error, errors=errors))
    return _fields(curve, regions) | {"bandwidth": h, "method": "Gaussian kernel density"}


def given_curve(
    curve: Curve, samples: FloatArray | None, probs: FloatArray, kernel: Kernel
) -> dict[str, Any]:
    """Fields of the result for a given density, its levels from draws or, without them, exact."""
    warn_of_mass(_total(curve))
    if samples is None:
        regions = []
        for prob in probs.tolist():
            level = level_of_mass(curve, prob)
            intervals = superlevel_intervals(curve, level)
            own = _own_fields(curve, prob, level, intervals)
            regions.append(HdrRegion(**own, falpha_error=0.0, errors=np.zeros_like(intervals)))
            warn_of_plateau(prob, regions[-1].mass)
        return _fields(curve, regions) | {"bandwidth": None, "method": "density as given, exact level"}
    levels = kernel.levels_1d(curve, samples, probs)
    check_level(float(levels.falpha.min()))
    regions = []
    for prob, level in zip(probs.tolist(), levels.falpha.tolist(), strict=True):
        intervals = superlevel_intervals(curve, level)
        error = level_error(levels.at_samples, prob)
        free = _free(curve, intervals)
        steep, errors = np.abs(slopes(curve, intervals[free])), np.zeros_like(intervals)
        errors[free] = np.divide(error, steep, out=np.full(steep.shape, math.inf), where=steep > 0)
        own = _own_fields(curve, prob, level, intervals)
        drawn = _drawn_fields(prob, level, intervals, samples[levels.at_samples >= level], samples.size)
        regions.append(HdrRegion(**own | drawn, falpha_error=error, errors=errors))
    return _fields(curve, regions) | {"bandwidth": None, "method": "density as given, level from the draws"}


def _free(curve: Curve, intervals: FloatArray) -> NDArray[np.bool_]:
    """Which ends are crossings, not ends of the grid."""
    free: NDArray[np.bool_] = (intervals > curve.grid[0]) & (intervals < curve.grid[-1])
    return free


def _total(curve: Curve) -> float:
    return float(mass_between(curve, curve.grid[[0, -1]][None, :])[0])


def _own_fields(curve: Curve, prob: float, level: float, intervals: FloatArray) -> dict[str, Any]:
    """What the density alone says of a region."""
    masses = mass_between(curve, intervals) / _total(curve)
    return {
        "prob": prob,
        "falpha": level,
        "mass": float(masses.sum()),
        "density_mass": float(masses.sum()),
        "intervals": intervals,
        "interval_masses": masses,
        "size": float(np.diff(intervals).sum()),
        "size_error": 0.0,
    }


def _drawn_fields(
    prob: float, level: float, intervals: FloatArray, inside: FloatArray, n: int
) -> dict[str, Any]:
    """What the draws say of it: the share in each interval (a draw on a boundary goes to the nearest)."""
    gaps = (intervals[1:, 0] + intervals[:-1, 1]) / 2
    counts = np.bincount(np.searchsorted(gaps, inside), minlength=len(intervals))
    return {
        "mass": inside.size / n,
        "interval_masses": counts / n,
        "size_error": size_error(prob, n, level),
    }


def _fields(curve: Curve, regions: list[HdrRegion]) -> dict[str, Any]:
    lowest = min(region.falpha for region in regions)
    return {
        "regions": tuple(regions),
        "dimension": 1,
        "kind": "density",
        "mode": float(curve.grid[curve.values.argmax()]),
        "modes": local_maxima(curve, lowest),
        "axes": (curve.grid,),
        "values": curve.values,
    }
