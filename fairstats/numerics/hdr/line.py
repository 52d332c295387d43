"""A density on a line, linear between the points of its grid: levels, intervals, masses, and regions.

The ends of a region, the mass above a level and the level that has a given mass above it are closed formulas.

Monte Carlo errors of the ends of an estimated region (`displacement_errors`): let x_1 … x_m be the ends of R =
{f ≥ f_α}, s_k = |f'(x_k)|, and draws X_1 … X_n independent. To first order the level and an end move with draw i by

    δ_i = [ (1{X_i ∈ R} − prob)/f_α + Σ_k (K_h(x_k − X_i) − f(x_k))/s_k ] / Σ_k 1/s_k,
    Δ_ik = [ K_h(x_k − X_i) − f(x_k) − δ_i ]/s_k        (outwards positive),

because the share of the draws in the region is held at `prob`. The error is the standard deviation of these influence
values over √n (infinitesimal jackknife): noise of the kernel estimate at the end, of the level, and their covariance;
the bandwidth is held fixed, and smoothing bias is no Monte Carlo error. The asymptotic displacement is in Samworth and
Wand (2010), Annals of Statistics 38, section 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairstats.numerics.hdr import grids
from fairstats.numerics.hdr.grids import Curve, FloatArray, Levels
from fairstats.numerics.hdr.result import HdrRegion, level_error, size_error
from fairstats.numerics.hdr.scipy_backend import gaussian

#: hdrcde's grid, and how many bandwidths it goes beyond the draws (R's `density`).
GRIDSIZE, CUT = 1001, 3.0
LARGEST_GRID = 2**20 + 1
#: A slope below this share of f_α per bandwidth is flat: the end is not determined.
FLAT = 1e-6
#: A value that holds this share of the draws, and at least five of them, is pointed out as an atom.
ATOM = 0.1
#: Resamples for the errors beside an atom.
RESAMPLES = 50


def superlevel_intervals(curve: Curve, level: float) -> FloatArray:
    """Intervals on which a piecewise-linear density is at least `level`, shape (k, 2), ascending.

    A single touching point is left out unless it is all there is.
    """
    x, y = curve.grid, curve.values
    above = y >= level
    cell = np.flatnonzero(above[1:] != above[:-1])
    ends = x[cell] + (level - y[cell]) / (y[cell + 1] - y[cell]) * (x[cell + 1] - x[cell])
    first = x[:1] if above[0] else x[:0]
    last = x[-1:] if above[-1] else x[:0]
    intervals = np.concatenate([first, ends, last]).reshape(-1, 2)
    wide = intervals[:, 1] > intervals[:, 0]
    return intervals[wide] if wide.any() else intervals[:1]


def slopes(curve: Curve, points: FloatArray) -> FloatArray:
    """Slope of the density at `points` (of the cell to the left at a grid point inside)."""
    cell = np.clip(np.searchsorted(curve.grid, points, side="left") - 1, 0, curve.grid.size - 2)
    rise: FloatArray = np.diff(curve.values) / np.diff(curve.grid)
    return rise[cell]


def mass_between(curve: Curve, intervals: FloatArray) -> FloatArray:
    """Integral of the density over each interval, shape (k, 2), exactly; parts outside the grid hold nothing."""
    x, y = curve.grid, curve.values
    width = np.diff(x)
    before = np.concatenate([[0.0], np.cumsum(width * (y[1:] + y[:-1]) / 2)])
    points = np.clip(intervals, x[0], x[-1])
    cell = np.clip(np.searchsorted(x, points, side="right") - 1, 0, x.size - 2)
    run = points - x[cell]
    rise = (y[cell + 1] - y[cell]) / width[cell]
    cumulative = before[cell] + run * (y[cell] + rise * run / 2)
    return np.asarray(cumulative[:, 1] - cumulative[:, 0])


def level_of_mass(curve: Curve, prob: float) -> float:
    """The level above which a piecewise-linear density has the share `prob` of its mass, exactly.

    A cell of width w whose ends have the densities a < b holds, above a level t between them, the mass
    w(b² − t²)/(2(b − a)); a cell above t holds w(a + b)/2. Between two neighbouring grid values the sum
    over cells is therefore A − C·t², which is solved for t. Where the density is flat at this level, the
    mass jumps there and the region {f ≥ f_α} holds more than `prob`.
    """
    width = np.diff(curve.grid)
    low = np.minimum(curve.values[1:], curve.values[:-1])
    high = np.maximum(curve.values[1:], curve.values[:-1])
    whole = width * (low + high) / 2
    per_square = np.divide(width, 2 * (high - low), out=np.zeros_like(width), where=high > low)
    wanted = prob * float(whole.sum())

    def coefficients(floor: float, ceiling: float) -> tuple[float, float]:
        """A and C for levels between two neighbouring grid values."""
        full = low >= ceiling
        cut = (low <= floor) & (high >= ceiling) & ~full
        a = float(whole[full].sum() + (per_square[cut] * high[cut] ** 2).sum())
        return a, float(per_square[cut].sum())

    values = np.unique(curve.values)
    below, above = 0, values.size - 1  # {f ≥ values[below]} holds enough; {f ≥ values[above]} may not
    while above - below > 1:
        middle = (below + above) // 2
        a, c = coefficients(values[middle], values[middle + 1])
        flat = float(whole[(low == high) & (low == values[middle])].sum())
        enough = a - c * float(values[middle]) ** 2 + flat
        below, above = (middle, above) if enough >= wanted else (below, middle)
    floor, ceiling = float(values[below]), float(values[above])
    a, c = coefficients(floor, ceiling)
    level = math.sqrt(max((a - wanted) / c, 0.0)) if c > 0 else floor
    return min(max(level, floor), ceiling)


def local_maxima(curve: Curve, level: float) -> FloatArray:
    """Grid points where the density is at least `level` and higher than on both sides; highest first.

    The middle of a plateau stands for it; an end of the grid counts when the density falls away from it.
    """
    y = curve.values
    starts = np.flatnonzero(np.concatenate([[True], y[1:] != y[:-1]]))
    ends = np.concatenate([starts[1:], [y.size]]) - 1
    heights = np.concatenate([[-np.inf], y[starts], [-np.inf]])
    peaks: NDArray[np.bool_] = (heights[1:-1] > heights[:-2]) & (heights[1:-1] > heights[2:])
    peaks &= y[starts] >= level
    middles = (starts[peaks] + ends[peaks]) // 2
    return np.asarray(curve.grid[middles[np.argsort(-y[middles], kind="stable")]])


def displacement_errors(
    samples: FloatArray, in_region: NDArray[np.bool_], ends: FloatArray, slopes: FloatArray, level: float,
    bandwidth: float, support: tuple[float, float],
) -> tuple[FloatArray, float]:  # fmt: skip
    """Monte Carlo errors of the ends of a region, infinite where the density is flat, and of its level f_α.

    `in_region`, shape (n,): whether each draw lies in the region; `ends`, `slopes`, shape (m,): ends inside the
    support, and the slope of the density there; `support`: bounds at which the kernel is reflected.
    """
    n, steep = samples.size, np.abs(slopes)
    steep = np.where(steep > FLAT * level / bandwidth, steep, 0.0)
    if ends.size == 0 or not steep.all():
        return np.full(ends.size, math.inf), math.inf
    kernels = gaussian(samples - ends[:, None], bandwidth)
    for bound in filter(math.isfinite, support):
        kernels += gaussian(2 * bound - samples - ends[:, None], bandwidth)
    kernels -= kernels.mean(axis=1, keepdims=True)
    inside = (in_region.astype(np.float64) - in_region.mean()) / level
    shift = (inside + (kernels / steep[:, None]).sum(axis=0)) / (1 / steep).sum()
    moves = (kernels - shift) / steep[:, None]
    errors: FloatArray = moves.std(axis=1) / math.sqrt(n)
    return errors, float(shift.std()) / math.sqrt(n)


def line_regions(
    samples: FloatArray, probs: FloatArray, *, bandwidth: float, support: tuple[float, float],
    gridsize: int | None, kernel: grids.Kernel, level: str,
) -> dict[str, Any]:  # fmt: skip
    """Fields of the result for draws of one quantity, shape (n,); `level`: one of `grids.LEVELS`."""
    axis = grids.plan_axis(samples, bandwidth, CUT * bandwidth, gridsize or GRIDSIZE, support, LARGEST_GRID)
    curve = kernel.density_1d(samples, bandwidth, axis.low, axis.high, axis.size)
    curve = Curve(grids.bounded(curve.grid, axis, support), grids.fold(curve.values, axis))
    if curve.grid.size > (gridsize or GRIDSIZE):
        curve = grids.without_empty_stretches(curve)
    levels = kernel.levels(curve, samples, probs)
    if level == "leave_one_out":
        levels = grids.leave_one_out(levels, grids.own_kernels(samples, bandwidth, axis, support), probs)

    def errors_of(prob: float, level: float, ends: FloatArray) -> tuple[FloatArray, float]:
        inside, rise = levels.at_samples >= level, slopes(curve, ends)
        return displacement_errors(samples, inside, ends, rise, level, bandwidth, support)

    how = {"bandwidth": bandwidth, "method": "Gaussian kernel density", "level": level}
    return _fields(curve, probs, levels, errors_of, samples) | how


def given_curve(curve: Curve, samples: FloatArray | None, probs: FloatArray, kernel: grids.Kernel) -> dict[str, Any]:
    """Fields of the result for a given density, its levels from draws or, without them, exact."""
    levels, how = grids.given_levels(curve, samples, probs, kernel, lambda prob: level_of_mass(curve, prob))

    def errors_of(prob: float, level: float, ends: FloatArray) -> tuple[FloatArray, float]:
        """The density is known: an end moves with the level alone."""
        if samples is None:
            return np.zeros(ends.size), 0.0
        error, steep = level_error(levels.at_samples, prob), np.abs(slopes(curve, ends))
        return np.divide(error, steep, out=np.full(steep.shape, math.inf), where=steep > 0), error

    return _fields(curve, probs, levels, errors_of, samples) | how


def _fields(
    curve: Curve, probs: FloatArray, levels: Levels,
    errors_of: Callable[[float, float, FloatArray], tuple[FloatArray, float]], samples: FloatArray | None,
) -> dict[str, Any]:  # fmt: skip
    """What the density says of every region and, where there are draws, what they say."""
    regions = []
    for prob, level in zip(probs.tolist(), levels.falpha.tolist(), strict=True):
        intervals = superlevel_intervals(curve, level)
        crossings = (intervals > curve.grid[0]) & (intervals < curve.grid[-1])
        errors = np.zeros_like(intervals)  # an end of the grid is known
        errors[crossings], falpha_error = errors_of(prob, level, intervals[crossings])
        masses, error_of_size = mass_between(curve, intervals) / curve.mass, 0.0
        mass = density_mass = float(masses.sum())
        if samples is not None:
            inside = samples[levels.at_samples >= level]
            gaps = (intervals[1:, 0] + intervals[:-1, 1]) / 2  # a draw on a boundary goes to the nearest
            masses = np.bincount(np.searchsorted(gaps, inside), minlength=len(intervals)) / samples.size
            mass, error_of_size = inside.size / samples.size, size_error(prob, samples.size, level)
        regions.append(HdrRegion(
            prob=prob, falpha=level, falpha_error=falpha_error, mass=mass, density_mass=density_mass,
            intervals=intervals, interval_masses=masses, errors=errors,
            size=float(np.diff(intervals).sum()), size_error=error_of_size,
        ))  # fmt: skip
    return {
        "regions": tuple(regions), "dimension": 1, "kind": "density",
        "mode": float(curve.grid[curve.values.argmax()]),
        "modes": local_maxima(curve, float(levels.falpha.min())), "axes": curve.axes, "values": curve.values,
    }  # fmt: skip


def find_atom(samples: FloatArray) -> tuple[float, float] | None:
    """The value that most draws share, and their share, where otherwise continuous draws have one."""
    values, counts = np.unique(samples, return_counts=True)
    most = int(counts.argmax())
    is_atom = counts[most] >= max(5, ATOM * samples.size)
    return (float(values[most]), float(counts[most] / samples.size)) if is_atom else None


def errors_with_atoms(
    samples: FloatArray, regions: tuple[HdrRegion, ...], estimate: Callable[[FloatArray], tuple[HdrRegion, ...]]
) -> tuple[HdrRegion, ...]:
    """The regions of draws with an atom, with errors from `RESAMPLES` resamples, always the same ones.

    The ends of an atom's spike move with the bandwidth, which the influence functions hold fixed: they state less than
    half of the error there.
    """
    drawn = np.random.default_rng(0).integers(0, samples.size, (RESAMPLES, samples.size))
    resamples = samples[drawn]
    # a resample of one value, as an atom with few draws beside it gives, has no density
    resamples = resamples[np.ptp(resamples, axis=1) > 0]
    if len(resamples) < 2:
        return tuple(
            replace(region, errors=np.full(np.asarray(region.intervals).shape, np.nan), falpha_error=np.nan)
            for region in regions
        )
    others = [estimate(resample) for resample in resamples]
    found = []
    for k, region in enumerate(regions):
        ends = np.stack([_nearest(np.asarray(region.intervals), other[k].intervals) for other in others])
        error = float(np.std([other[k].falpha for other in others], ddof=1))
        found.append(replace(region, errors=ends.std(axis=0, ddof=1), falpha_error=error))
    return tuple(found)


def _nearest(ends: FloatArray, others: Any) -> FloatArray:
    """For each end of an interval the nearest end on the same side of other intervals, shape (k, 2)."""
    near = np.abs(ends[:, None, :] - others[None, :, :]).argmin(axis=1)
    return np.take_along_axis(others, near, axis=0)
