"""Regions of a circular quantity: hours of a day, directions, days of a year.

The density is that of the wrapped Gaussian kernel, f(x) = (1/n) Σ_i Σ_k K_h(x − X_i − kP) with the
period P, on a grid from 0 to P. A region that goes on across the cut is one interval: it begins
below P and ends beyond it, so that [22, 26] of a period of 24 is 22 to 24 and 0 to 2. Every
interval begins in [0, P).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from fairstats.ground.errors import InputError
from fairstats.numerics.hdr import grids
from fairstats.numerics.hdr.grids import Curve, FloatArray, onto_circle
from fairstats.numerics.hdr.line import GRIDSIZE, LARGEST_GRID, estimated_regions, local_maxima
from fairstats.numerics.hdr.result import HdrRegion

#: A kernel beyond this many bandwidths is nothing: exp(−32) of its height.
REACH = 8.0
#: A kernel of half a period is flat to exp(−π²/2) = .7%; a wider one says nothing.
WIDEST_SHARE = 0.5


def wrapped_density(
    samples: FloatArray,
    bandwidth: float,
    period: float,
    size: int,
    kernel: grids.Kernel,
) -> Curve:
    """The wrapped kernel density at `size` points from 0 to the period.

    The line's, cut into periods and added up.
    """
    n_turns = math.ceil(REACH * bandwidth / period)
    n_steps = size - 1
    wide_curve = kernel.density_1d(
        samples,
        bandwidth,
        -n_turns * period,
        (1 + n_turns) * period,
        n_steps * (1 + 2 * n_turns) + 1,
    )
    period_values = wide_curve.values[:-1].reshape(-1, n_steps).sum(axis=0)
    # the last point of the line is the first of a period of its own
    period_values[0] += wide_curve.values[-1]
    return Curve(np.linspace(0.0, period, size), np.append(period_values, period_values[0]))


def circle_regions(
    samples: FloatArray,
    probs: FloatArray,
    *,
    bandwidth: float,
    period: float,
    gridsize: int | None,
    kernel: grids.Kernel,
    level: str,
) -> dict[str, Any]:
    """Fields of the result for draws in [0, period), shape (n,)."""
    if bandwidth > WIDEST_SHARE * period:
        allowed = f"at most half the period, {WIDEST_SHARE * period:g}"
        raise InputError(
            "bandwidth",
            got=f"{bandwidth:g}",
            allowed=allowed,
            cure="leave it out for the default",
        )
    grid_size = _grid_size_for(period / bandwidth, gridsize or GRIDSIZE)
    wrapped_curve = wrapped_density(samples, bandwidth, period, grid_size, kernel)
    turn_numbers = range(1, math.ceil(REACH * bandwidth / period) + 1)
    wrapped_samples = []
    for turn_number in turn_numbers:
        for direction in (-1, 1):
            wrapped_samples.append(samples + direction * turn_number * period)
    grid_axis = grids.Axis(0.0, period, grid_size)
    result_fields = estimated_regions(
        wrapped_curve,
        samples,
        probs,
        bandwidth=bandwidth,
        axis=grid_axis,
        images=wrapped_samples,
        kernel=kernel,
        level=level,
    )
    lowest_level = min(region.falpha for region in result_fields["regions"])
    regions = tuple(across_the_cut(region, period) for region in result_fields["regions"])
    method = "wrapped Gaussian kernel density"
    return result_fields | {
        "regions": regions,
        "modes": _maxima_around(wrapped_curve, lowest_level),
        "method": method,
    }


def _grid_size_for(n_bandwidths: float, default_size: int) -> int:
    """Points of the grid over so many bandwidths, more where they would be too far apart."""
    if n_bandwidths <= grids.COARSEST_STEP * (default_size - 1):
        return default_size
    if n_bandwidths > grids.COARSEST_STEP * (LARGEST_GRID - 1):
        allowed = f"a period of at most {grids.COARSEST_STEP * (LARGEST_GRID - 1):.2g} bandwidths"
        cure = "give a larger bandwidth"
        raise InputError(
            "samples",
            got=f"draws within 1/{n_bandwidths:.2g} of the period",
            allowed=allowed,
            cure=cure,
        )
    return min(LARGEST_GRID, math.ceil(n_bandwidths / grids.REFINED_STEP) + 1)


def across_the_cut(region: HdrRegion, period: float) -> HdrRegion:
    """The region with its last and first interval joined where it goes on across the cut."""
    intervals = np.asarray(region.intervals)
    if len(intervals) < 2 or intervals[0, 0] > 0 or intervals[-1, 1] < period:
        return region
    return _join_last_to_first(region, period)


def joined_runs(region: HdrRegion, first: float, last: float, period: float) -> HdrRegion:
    """The same of runs of discrete values, of which `first` and `last` are the ends of what
    occurs.
    """
    intervals = np.asarray(region.intervals)
    if len(intervals) < 2 or intervals[0, 0] > first or intervals[-1, 1] < last:
        return region
    return _join_last_to_first(region, period)


def _join_last_to_first(region: HdrRegion, period: float) -> HdrRegion:
    """The region whose last interval goes on with the first, a period later."""
    intervals = np.asarray(region.intervals)
    end_errors = region.errors
    part_masses = region.interval_masses
    joining_interval = [[intervals[-1, 0], intervals[0, 1] + period]]
    if end_errors is not None:
        end_errors = np.concatenate([end_errors[1:-1], [[end_errors[-1, 0], end_errors[0, 1]]]])
    if part_masses is not None:
        part_masses = np.append(part_masses[1:-1], part_masses[0] + part_masses[-1])
    joined_intervals = np.concatenate([intervals[1:-1], joining_interval])
    return replace(
        region,
        intervals=joined_intervals,
        errors=end_errors,
        interval_masses=part_masses,
    )


def _maxima_around(curve: Curve, level: float) -> FloatArray:
    """Local maxima of at least `level` on the circle, highest first."""
    period = curve.grid[-1]
    values = curve.values[:-1]
    # cut where the density is least, an end of the grid is no maximum
    cut_index = int(values.argmin())
    turned_values = np.append(np.roll(values, -cut_index), values[cut_index])
    return onto_circle(
        local_maxima(Curve(curve.grid + curve.grid[cut_index], turned_values), level), period
    )
