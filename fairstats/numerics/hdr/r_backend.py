"""The back end with R: the functions of `contract.Kernel` by R's density, ks, ash and hdrcde."""

from __future__ import annotations

import numpy as np

from fairstats.ground import rsession
from fairstats.ground.errors import BackendError
from fairstats.ground.rprobe import probe_r
from fairstats.numerics.hdr.contract import Curve, FloatArray, Levels, Surface

__all__ = ["density_1d", "density_2d", "levels_1d", "levels_2d", "shifted_histogram", "version"]


def version() -> str:
    """Names and versions for `Result.backend`."""
    found = probe_r()
    return f"r: hdrcde {found.packages.get('hdrcde', '')}".strip()


def density_1d(samples: FloatArray, bandwidth: float, low: float, high: float, size: int) -> Curve:
    """Gaussian kernel density by `stats::density`: see `contract.Kernel.density_1d`."""
    found = rsession.call("density_1d", samples, float(bandwidth), float(low), float(high), int(size))
    return Curve(found["grid"], found["values"])


def levels_1d(curve: Curve, samples: FloatArray, probs: FloatArray) -> Levels:
    """Levels from a curve by `hdrcde::hdr`: see `contract.Kernel.levels_1d`."""
    return _levels(rsession.call("hdr_levels_1d", curve.grid, curve.values, samples, probs))


def density_2d(
    samples: FloatArray,
    bandwidth: FloatArray,
    low: FloatArray,
    high: FloatArray,
    size: tuple[int, int],
) -> Surface:
    """Binned product-Gaussian density by `ks::kde`: see `contract.Kernel.density_2d`."""
    return _surface(rsession.call("density_2d", samples, bandwidth, low, high, list(size)))


def shifted_histogram(samples: FloatArray, low: FloatArray, high: FloatArray) -> Surface:
    """Averaged shifted histogram by `ash::ash2`: see `contract.Kernel.shifted_histogram`."""
    return _surface(rsession.call("shifted_histogram", samples, low, high))


def levels_2d(surface: Surface, samples: FloatArray, probs: FloatArray) -> Levels:
    """Levels from a surface by `hdrcde::hdr.2d`: see `contract.Kernel.levels_2d`.

    Raises
    ------
    BackendError
        Where the grid is not equally spaced: hdrcde would read it wrongly.
    """
    if not surface.evenly_spaced:
        raise BackendError("hdrcde reads equally spaced grids only, and this one is not")
    return _levels(rsession.call("hdr_levels_2d", surface.x, surface.y, surface.values, samples, probs))


def _surface(found: dict[str, FloatArray]) -> Surface:
    return Surface(found["x"], found["y"], found["values"])


def _levels(found: dict[str, FloatArray]) -> Levels:
    return Levels(np.atleast_1d(found["falpha"]), np.atleast_1d(found["at_samples"]))
