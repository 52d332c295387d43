"""The back end with R: the functions of `grids.Kernel` by R's density, ks, ash and hdrcde."""

from __future__ import annotations

import numpy as np

from fairstats.ground import rsession
from fairstats.ground.backends import label_of_r
from fairstats.ground.errors import BackendError
from fairstats.numerics.hdr.grids import Curve, FloatArray, Levels, Surface


def version() -> str:
    """Names and versions for `Result.backend`."""
    return label_of_r("hdrcde")


def density_1d(samples: FloatArray, bandwidth: float, low: float, high: float, size: int) -> Curve:
    """Gaussian kernel density by `stats::density`: see `grids.Kernel.density_1d`."""
    r_result = rsession.call(
        "fs_density_1d", samples, float(bandwidth), float(low), float(high), int(size)
    )
    return Curve(r_result["grid"], r_result["values"])


def density_2d(
    samples: FloatArray,
    bandwidth: FloatArray,
    low: FloatArray,
    high: FloatArray,
    size: tuple[int, int],
) -> Surface:
    """Binned product-Gaussian density by `ks::kde`: see `grids.Kernel.density_2d`."""
    return _read_surface(rsession.call("fs_density_2d", samples, bandwidth, low, high, list(size)))


def shifted_histogram(samples: FloatArray, low: FloatArray, high: FloatArray) -> Surface:
    """Averaged shifted histogram by `ash::ash2`: see `grids.Kernel.shifted_histogram`."""
    return _read_surface(rsession.call("fs_shifted_histogram", samples, low, high))


def levels(density: Curve | Surface, samples: FloatArray, probs: FloatArray) -> Levels:
    """Levels by `hdrcde::hdr` and `hdrcde::hdr.2d`.

    BackendError for a grid that hdrcde would read wrongly.
    """
    if isinstance(density, Surface) and not density.evenly_spaced:
        raise BackendError("hdrcde reads equally spaced grids only, and this one is not")
    r_result = rsession.call(
        f"fs_hdr_levels_{len(density.axes)}d", *density.axes, density.values, samples, probs
    )
    return Levels(np.atleast_1d(r_result["falpha"]), np.atleast_1d(r_result["at_samples"]))


def _read_surface(r_result: dict[str, FloatArray]) -> Surface:
    return Surface(r_result["x"], r_result["y"], r_result["values"])
