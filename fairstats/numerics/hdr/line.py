"""A density on a line, linear between the points of its grid.

Levels, intervals, masses, and regions.

The ends of a region, the mass above a level and the level that has a given mass above it are closed
formulas.

Monte Carlo errors of the ends of an estimated region (`displacement_errors`): let x_1 … x_m be the
ends of R = {f ≥ f_α}, s_k = |f'(x_k)|, and draws X_1 … X_n independent. To first order the level
and an end move with draw i by

    δ_i = [ (1{X_i ∈ R} − prob)/f_α + Σ_k (K_h(x_k − X_i) − f(x_k))/s_k ] / Σ_k 1/s_k,
    Δ_ik = [ K_h(x_k − X_i) − f(x_k) − δ_i ]/s_k        (outwards positive),

because the share of the draws in the region is held at `prob`. The error is the standard deviation
of these influence values over √n (infinitesimal jackknife): noise of the kernel estimate at the
end, of the level, and their covariance; the bandwidth is held fixed, and smoothing bias is no Monte
Carlo error. The asymptotic displacement is in Samworth and Wand (2010), Annals of Statistics 38,
section 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.progress import under_way
from fairstats.numerics.hdr import grids
from fairstats.numerics.hdr.grids import Curve, FloatArray, Levels
from fairstats.numerics.hdr.result import HdrRegion, level_error, size_error
from fairstats.numerics.hdr.scipy_backend import gaussian

#: hdrcde's grid, and how many bandwidths it goes beyond the draws (R's `density`).
GRIDSIZE = 1001
CUT = 3.0
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
    grid_points = curve.grid
    densities = curve.values
    is_above = densities >= level
    crossed_cells = np.flatnonzero(is_above[1:] != is_above[:-1])
    crossing_points = grid_points[crossed_cells] + (level - densities[crossed_cells]) / (
        densities[crossed_cells + 1] - densities[crossed_cells]
    ) * (grid_points[crossed_cells + 1] - grid_points[crossed_cells])
    if is_above[0]:
        first_end = grid_points[:1]
    else:
        first_end = grid_points[:0]
    if is_above[-1]:
        last_end = grid_points[-1:]
    else:
        last_end = grid_points[:0]
    intervals = np.concatenate([first_end, crossing_points, last_end]).reshape(-1, 2)
    has_width = intervals[:, 1] > intervals[:, 0]
    if has_width.any():
        return intervals[has_width]
    return intervals[:1]


def slopes(curve: Curve, points: FloatArray) -> FloatArray:
    """Slope of the density at `points` (of the cell to the left at a grid point inside)."""
    cell_index = np.clip(
        np.searchsorted(curve.grid, points, side="left") - 1, 0, curve.grid.size - 2
    )
    cell_slopes: FloatArray = np.diff(curve.values) / np.diff(curve.grid)
    return cell_slopes[cell_index]


def mass_between(curve: Curve, intervals: FloatArray) -> FloatArray:
    """Integral of the density over each interval, shape (k, 2), exactly.

    Parts outside the grid hold nothing.
    """
    grid_points = curve.grid
    densities = curve.values
    cell_widths = np.diff(grid_points)
    mass_before = np.concatenate(
        [[0.0], np.cumsum(cell_widths * (densities[1:] + densities[:-1]) / 2)]
    )
    clipped_ends = np.clip(intervals, grid_points[0], grid_points[-1])
    cell_index = np.clip(
        np.searchsorted(grid_points, clipped_ends, side="right") - 1, 0, grid_points.size - 2
    )
    cell_offsets = clipped_ends - grid_points[cell_index]
    cell_slopes = (densities[cell_index + 1] - densities[cell_index]) / cell_widths[cell_index]
    cumulative = mass_before[cell_index] + cell_offsets * (
        densities[cell_index] + cell_slopes * cell_offsets / 2
    )
    return np.asarray(cumulative[:, 1] - cumulative[:, 0])


def level_of_mass(curve: Curve, prob: float) -> float:
    """The level above which a piecewise-linear density has the share `prob` of its mass, exactly.

    A cell of width w whose ends have the densities a < b holds, above a level t between them, the
    mass w(b² − t²)/(2(b − a)); a cell above t holds w(a + b)/2. Between two neighbouring grid
    values the sum over cells is therefore A − C·t², which is solved for t. Where the density is
    flat at this level, the mass jumps there and the region {f ≥ f_α} holds more than `prob`.
    """
    cell_widths = np.diff(curve.grid)
    cell_minima = np.minimum(curve.values[1:], curve.values[:-1])
    cell_maxima = np.maximum(curve.values[1:], curve.values[:-1])
    cell_masses = cell_widths * (cell_minima + cell_maxima) / 2
    per_square = np.divide(
        cell_widths,
        2 * (cell_maxima - cell_minima),
        out=np.zeros_like(cell_widths),
        where=cell_maxima > cell_minima,
    )
    wanted_mass = prob * float(cell_masses.sum())

    def coefficients(lower_level: float, upper_level: float) -> tuple[float, float]:
        """A and C for levels between two neighbouring grid values."""
        is_full = cell_minima >= upper_level
        is_cut = (cell_minima <= lower_level) & (cell_maxima >= upper_level) & ~is_full
        a = float(
            cell_masses[is_full].sum() + (per_square[is_cut] * cell_maxima[is_cut] ** 2).sum()
        )
        return a, float(per_square[is_cut].sum())

    grid_values = np.unique(curve.values)
    # {f ≥ values[below]} holds enough; {f ≥ values[above]} may not
    lower_index = 0
    upper_index = grid_values.size - 1
    while upper_index - lower_index > 1:
        middle_index = (lower_index + upper_index) // 2
        a, c = coefficients(grid_values[middle_index], grid_values[middle_index + 1])
        flat_mass = float(
            cell_masses[
                (cell_minima == cell_maxima) & (cell_minima == grid_values[middle_index])
            ].sum()
        )
        mass_held = a - c * float(grid_values[middle_index]) ** 2 + flat_mass
        if mass_held >= wanted_mass:
            lower_index = middle_index
        else:
            upper_index = middle_index
    lower_level = float(grid_values[lower_index])
    upper_level = float(grid_values[upper_index])
    a, c = coefficients(lower_level, upper_level)
    if c > 0:
        solved_level = math.sqrt(max((a - wanted_mass) / c, 0.0))
    else:
        solved_level = lower_level
    return min(max(solved_level, lower_level), upper_level)


def local_maxima(curve: Curve, level: float) -> FloatArray:
    """Grid points where the density is at least `level` and higher than on both sides.

    Highest first.

    The middle of a plateau stands for it; an end of the grid counts when the density falls away
    from it.
    """
    densities = curve.values
    plateau_starts = np.flatnonzero(np.concatenate([[True], densities[1:] != densities[:-1]]))
    plateau_ends = np.concatenate([plateau_starts[1:], [densities.size]]) - 1
    plateau_heights = np.concatenate([[-np.inf], densities[plateau_starts], [-np.inf]])
    is_peak: NDArray[np.bool_] = (plateau_heights[1:-1] > plateau_heights[:-2]) & (
        plateau_heights[1:-1] > plateau_heights[2:]
    )
    is_peak &= densities[plateau_starts] >= level
    peak_index = (plateau_starts[is_peak] + plateau_ends[is_peak]) // 2
    return np.asarray(curve.grid[peak_index[np.argsort(-densities[peak_index], kind="stable")]])


def displacement_errors(
    samples: FloatArray,
    in_region: NDArray[np.bool_],
    ends: FloatArray,
    slopes: FloatArray,
    level: float,
    bandwidth: float,
    images: Sequence[FloatArray],
) -> tuple[FloatArray, float]:
    """Monte Carlo errors of the ends of a region, infinite where the density is flat, and of its
    level f_α.

    `in_region`, shape (n,): whether each draw lies in the region; `ends`, `slopes`, shape (m,):
    ends inside the support, and the slope of the density there; `images`: where else each draw has
    a kernel, reflected or wrapped.
    """
    n_samples = samples.size
    steepness = np.abs(slopes)
    steepness = np.where(steepness > FLAT * level / bandwidth, steepness, 0.0)
    if ends.size == 0 or not steepness.all():
        return np.full(ends.size, math.inf), math.inf
    kernel_values = gaussian(samples - ends[:, None], bandwidth)
    for mirror_image in images:
        kernel_values += gaussian(mirror_image - ends[:, None], bandwidth)
    kernel_values -= kernel_values.mean(axis=1, keepdims=True)
    membership_noise = (in_region.astype(np.float64) - in_region.mean()) / level
    level_shifts = (membership_noise + (kernel_values / steepness[:, None]).sum(axis=0)) / (
        1 / steepness
    ).sum()
    end_shifts = (kernel_values - level_shifts) / steepness[:, None]
    end_errors: FloatArray = end_shifts.std(axis=1) / math.sqrt(n_samples)
    return end_errors, float(level_shifts.std()) / math.sqrt(n_samples)


@under_way("density regions")
def line_regions(
    samples: FloatArray,
    probs: FloatArray,
    *,
    bandwidth: float,
    support: tuple[float, float],
    gridsize: int | None,
    kernel: grids.Kernel,
    level: str,
) -> dict[str, Any]:
    """Fields of the result for draws of one quantity, shape (n,); `level`: one of `grids.LEVELS`."""
    grid_axis = grids.plan_axis(
        samples, bandwidth, CUT * bandwidth, gridsize or GRIDSIZE, support, LARGEST_GRID
    )
    density_curve = kernel.density_1d(
        samples, bandwidth, grid_axis.low, grid_axis.high, grid_axis.size
    )
    density_curve = Curve(
        grids.bounded(density_curve.grid, grid_axis, support),
        grids.fold(density_curve.values, grid_axis),
    )
    if density_curve.grid.size > (gridsize or GRIDSIZE):
        density_curve = grids.without_empty_stretches(density_curve)
    mirrored_samples = grids.mirror_images(samples, support)
    return estimated_regions(
        density_curve,
        samples,
        probs,
        bandwidth=bandwidth,
        axis=grid_axis,
        images=mirrored_samples,
        kernel=kernel,
        level=level,
    )


def estimated_regions(
    curve: Curve,
    samples: FloatArray,
    probs: FloatArray,
    *,
    bandwidth: float,
    axis: grids.Axis,
    images: Sequence[FloatArray],
    kernel: grids.Kernel,
    level: str,
) -> dict[str, Any]:
    """Fields of the result for a kernel density of the draws, which have kernels at their `images`
    too.
    """
    region_levels = kernel.levels(curve, samples, probs)
    if level == "leave_one_out":
        region_levels = grids.leave_one_out(
            region_levels, grids.own_kernels(samples, bandwidth, axis, images), probs
        )

    def errors_of(prob: float, level: float, ends: FloatArray) -> tuple[FloatArray, float]:
        is_inside = region_levels.at_samples >= level
        end_slopes = slopes(curve, ends)
        return displacement_errors(samples, is_inside, ends, end_slopes, level, bandwidth, images)

    method_fields = {"bandwidth": bandwidth, "method": "Gaussian kernel density", "level": level}
    return _result_fields(curve, probs, region_levels, errors_of, samples) | method_fields


def given_curve(
    curve: Curve,
    samples: FloatArray | None,
    probs: FloatArray,
    kernel: grids.Kernel,
) -> dict[str, Any]:
    """Fields of the result for a given density, its levels from draws or, without them, exact."""
    region_levels, method_fields = grids.given_levels(
        curve, samples, probs, kernel, lambda prob: level_of_mass(curve, prob)
    )

    def errors_of(prob: float, level: float, ends: FloatArray) -> tuple[FloatArray, float]:
        """The density is known: an end moves with the level alone."""
        if samples is None:
            return np.zeros(ends.size), 0.0
        falpha_error = level_error(region_levels.at_samples, prob)
        steepness = np.abs(slopes(curve, ends))
        return np.divide(
            falpha_error, steepness, out=np.full(steepness.shape, math.inf), where=steepness > 0
        ), falpha_error

    return _result_fields(curve, probs, region_levels, errors_of, samples) | method_fields


def _result_fields(
    curve: Curve,
    probs: FloatArray,
    levels: Levels,
    errors_of: Callable[[float, float, FloatArray], tuple[FloatArray, float]],
    samples: FloatArray | None,
) -> dict[str, Any]:
    """What the density says of every region and, where there are draws, what they say."""
    region_list = []
    for prob, falpha in zip(probs.tolist(), levels.falpha.tolist(), strict=True):
        intervals = superlevel_intervals(curve, falpha)
        is_crossing = (intervals > curve.grid[0]) & (intervals < curve.grid[-1])
        end_errors = np.zeros_like(intervals)  # an end of the grid is known
        end_errors[is_crossing], falpha_error = errors_of(prob, falpha, intervals[is_crossing])
        masses_held = mass_between(curve, intervals) / curve.mass
        error_of_size = 0.0
        mass_held = density_mass = float(masses_held.sum())
        if samples is not None:
            samples_inside = samples[levels.at_samples >= falpha]
            # a draw on a boundary goes to the nearest
            gap_centres = (intervals[1:, 0] + intervals[:-1, 1]) / 2
            masses_held = (
                np.bincount(np.searchsorted(gap_centres, samples_inside), minlength=len(intervals))
                / samples.size
            )
            mass_held = samples_inside.size / samples.size
            error_of_size = size_error(prob, samples.size, falpha)
        region_list.append(
            HdrRegion(
                prob=prob,
                falpha=falpha,
                falpha_error=falpha_error,
                mass=mass_held,
                density_mass=density_mass,
                intervals=intervals,
                interval_masses=masses_held,
                errors=end_errors,
                size=float(np.diff(intervals).sum()),
                size_error=error_of_size,
            )
        )
    return {
        "regions": tuple(region_list),
        "dimension": 1,
        "kind": "density",
        "mode": float(curve.grid[curve.values.argmax()]),
        "modes": local_maxima(curve, float(levels.falpha.min())),
        "axes": curve.axes,
        "values": curve.values,
    }


def find_atom(samples: FloatArray) -> tuple[float, float] | None:
    """The value that most draws share, and their share, where otherwise continuous draws have
    one.
    """
    distinct_values, counts = np.unique(samples, return_counts=True)
    most_frequent = int(counts.argmax())
    is_atom = counts[most_frequent] >= max(5, ATOM * samples.size)
    if is_atom:
        return (float(distinct_values[most_frequent]), float(counts[most_frequent] / samples.size))
    return None


def errors_with_atoms(
    samples: FloatArray,
    regions: tuple[HdrRegion, ...],
    estimate: Callable[[FloatArray], tuple[HdrRegion, ...]],
) -> tuple[HdrRegion, ...]:
    """The regions of draws with an atom, with errors from `RESAMPLES` resamples, always the same
    ones.

    The ends of an atom's spike move with the bandwidth, which the influence functions hold fixed:
    they state less than half of the error there.
    """
    row_numbers = np.random.default_rng(0).integers(0, samples.size, (RESAMPLES, samples.size))
    resamples = samples[row_numbers]
    # a resample of one value, as an atom with few draws beside it gives, has no density
    resamples = resamples[np.ptp(resamples, axis=1) > 0]
    if len(resamples) < 2:
        errors = []
        for region in regions:
            errors.append(
                replace(
                    region,
                    errors=np.full(np.asarray(region.intervals).shape, np.nan),
                    falpha_error=np.nan,
                )
            )
        return tuple(errors)
    resampled_regions = [estimate(resample) for resample in resamples]
    regions_with_errors = []
    for region_index, region in enumerate(regions):
        resampled_ends = np.stack(
            [
                _nearest_ends(
                    np.asarray(region.intervals), resampled_region[region_index].intervals
                )
                for resampled_region in resampled_regions
            ]
        )
        falpha_error = float(
            np.std(
                [resampled_region[region_index].falpha for resampled_region in resampled_regions],
                ddof=1,
            )
        )
        regions_with_errors.append(
            replace(region, errors=resampled_ends.std(axis=0, ddof=1), falpha_error=falpha_error)
        )
    return tuple(regions_with_errors)


def _nearest_ends(ends: FloatArray, others: Any) -> FloatArray:
    """For each end of an interval the nearest end on the same side of other intervals, shape (k,
    2).
    """
    nearest_index = np.abs(ends[:, None, :] - others[None, :, :]).argmin(axis=1)
    return np.take_along_axis(others, nearest_index, axis=0)
