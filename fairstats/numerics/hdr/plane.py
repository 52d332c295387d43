"""Regions of two quantities: a contour level, its area, and who is inside."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairstats.ground.errors import InputError
from fairstats.numerics.hdr.bandwidth_2d import hdr_bandwidth_2d
from fairstats.numerics.hdr.cautions import check_level, warn_of_mass, warn_of_plateau
from fairstats.numerics.hdr.contract import FloatArray, Kernel, Levels, Surface
from fairstats.numerics.hdr.grids import bounded, fold, plan_axis
from fairstats.numerics.hdr.montecarlo import level_error, size_error
from fairstats.numerics.hdr.result import HdrRegion
from fairstats.numerics.hdr.surface import (
    Triangles,
    area_above,
    level_of_mass,
    local_maxima,
    mass_above,
    triangles,
)

__all__ = ["given_surface", "histogram_regions", "plane_regions"]

#: Grid points per axis (as `ks::kde`), and how far the grid goes beyond the draws: this share of their range
#: (as `hdrcde::hdr.2d`), or so many bandwidths where that is more.
GRIDSIZE, MARGIN, CUT = 151, 0.15, 3.0
LARGEST_GRID = 1001


def plane_regions(
    samples: FloatArray,
    probs: FloatArray,
    *,
    bandwidth: FloatArray | None,
    support: tuple[tuple[float, float], ...],
    gridsize: int | None,
    kernel: Kernel,
) -> dict[str, Any]:
    """Fields of the result for draws of two quantities, shape (n, 2)."""
    if bandwidth is None:
        _check_plane(samples)
        bandwidth = hdr_bandwidth_2d(samples, (support[0], support[1]))
    axes = []
    for k in (0, 1):
        h, x = float(bandwidth[k]), samples[:, k]
        reach = max(MARGIN * float(np.ptp(x)), CUT * h)
        axes.append(plan_axis(x, h, reach, gridsize or GRIDSIZE, support[k], LARGEST_GRID))
    surface = kernel.density_2d(
        samples,
        bandwidth,
        np.array([axis.low for axis in axes]),
        np.array([axis.high for axis in axes]),
        (axes[0].size, axes[1].size),
    )
    x, y = (bounded(grid, axes[k], support[k]) for k, grid in enumerate((surface.x, surface.y)))
    surface = Surface(x, y, fold(fold(surface.values, axes[0]), axes[1], along=1))
    levels = kernel.levels_2d(surface, samples, probs)
    fields = {"bandwidth": bandwidth, "method": "product Gaussian kernel density"}
    return _fields(surface, probs, levels, samples) | fields


def _check_plane(samples: FloatArray) -> None:
    correlation = float(np.asarray(np.corrcoef(samples.T))[0, 1])
    if abs(correlation) > 1 - 1e-10:
        raise InputError(
            "samples",
            got=f"two columns with correlation {correlation:g}",
            allowed="draws with a density on the plane",
            cure="pass one of the columns",
        )


def histogram_regions(samples: FloatArray, probs: FloatArray, kernel: Kernel) -> dict[str, Any]:
    """Fields of the result by hdrcde's default density, an averaged shifted histogram."""
    low, high = samples.min(axis=0), samples.max(axis=0)
    margin = MARGIN * (high - low)
    surface = kernel.shifted_histogram(samples, low - margin, high + margin)
    levels = kernel.levels_2d(surface, samples, probs)
    method = "averaged shifted histogram (20 × 20 bins, 5 × 5 shifts)"
    return _fields(surface, probs, levels, samples) | {"bandwidth": None, "method": method}


def given_surface(
    surface: Surface, samples: FloatArray | None, probs: FloatArray, kernel: Kernel
) -> dict[str, Any]:
    """Fields of the result for a given density, its levels from draws or, without them, exact."""
    pieces = triangles(surface)
    warn_of_mass(pieces.mass)
    if samples is None:
        levels = Levels(np.array([level_of_mass(pieces, prob) for prob in probs]), np.empty(0))
        method = "density as given, exact level"
    else:
        levels = kernel.levels_2d(surface, samples, probs)
        check_level(float(levels.falpha.min()))
        method = "density as given, level from the draws"
    fields = _fields(surface, probs, levels, samples, pieces)
    if samples is None:
        for region in fields["regions"]:
            warn_of_plateau(region.prob, region.mass)
    return fields | {"bandwidth": None, "method": method}


def _fields(
    surface: Surface,
    probs: FloatArray,
    levels: Levels,
    samples: FloatArray | None,
    pieces: Triangles | None = None,
) -> dict[str, Any]:
    pieces = triangles(surface) if pieces is None else pieces
    total, n = pieces.mass, levels.at_samples.size
    regions = []
    for prob, level in zip(probs.tolist(), levels.falpha.tolist(), strict=True):
        density_mass = mass_above(pieces, level) / total
        regions.append(
            HdrRegion(
                prob=prob,
                falpha=level,
                falpha_error=level_error(levels.at_samples, prob) if n else 0.0,
                mass=float((levels.at_samples >= level).mean()) if n else density_mass,
                density_mass=density_mass,
                size=area_above(pieces, level),
                size_error=size_error(prob, n, level) if n else 0.0,
            )
        )
    if samples is None:
        i, j = np.unravel_index(surface.values.argmax(), surface.values.shape)
        mode = np.array([surface.x[i], surface.y[j]])
    else:
        mode = samples[levels.at_samples.argmax()].copy()
    return {
        "regions": tuple(regions),
        "dimension": 2,
        "kind": "density",
        "mode": mode,
        "modes": local_maxima(surface, min(region.falpha for region in regions)),
        "axes": (surface.x, surface.y),
        "values": surface.values,
    }
