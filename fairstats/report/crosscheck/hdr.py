"""Highest density regions on a line: levels, ends and masses from the density, levels from the samples."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from fairstats.report.crosscheck.bench import Bench
from fairstats.report.crosscheck.check import Check, Place

if TYPE_CHECKING:
    from fairstats.numerics.hdr.result import HdrRegion, HdrResult

__all__ = ["checks"]

#: R's density bins the samples on a grid of twice as many points and interpolates.
_DENSITY = 1e-6


def checks(result: HdrResult, bench: Bench) -> Iterator[Check]:
    """Every number of regions in one dimension."""
    if result.kind != "density" or result.dimension != 1:
        why = "of discrete draws" if result.kind != "density" else f"in {result.dimension} dimensions"
        for region in result.regions:
            place = bench.place(f"region {region.prob:g}")
            yield place.left_out("level f_alpha", region.falpha, f"{why}: R has no twin")
        return
    samples = bench.given("samples")
    grid, values = result.axes[0].ravel(), np.asarray(result.values).ravel()
    x = None if samples is None else np.asarray(samples[0], dtype=np.float64).ravel()
    if x is not None and result.bandwidth is not None and not np.isfinite(result.support[0]).any():
        yield from _density(result, x, grid, values, bench.place("density"), bench)
    for region in result.regions:
        place = bench.place(f"region {region.prob:g}")
        yield from _level(result, region, x, grid, values, place, bench)
        yield from _ends(region, grid, values, place, bench)


def _density(
    result: HdrResult, x: np.ndarray, grid: np.ndarray, values: np.ndarray, place: Place, bench: Bench
) -> Iterator[Check]:
    found = bench.call("density_1d", x, float(result.bandwidth), float(grid[0]), float(grid[-1]), grid.size)
    theirs = np.asarray(found["values"])
    far = int(np.abs(theirs - values).argmax())
    source = bench.source("stats::density")
    near = _DENSITY * float(values.max())
    yield place.compare(
        f"density at {grid[far]:.4g} (the least alike)", values[far], theirs[far], source, absolute=near
    )


def _level(
    result: HdrResult,
    region: HdrRegion,
    x: np.ndarray | None,
    grid: np.ndarray,
    values: np.ndarray,
    place: Place,
    bench: Bench,
) -> Iterator[Check]:
    if result.n is None:
        found = bench.call("grid_level", grid, values, region.prob)
        yield place.compare("level f_alpha", region.falpha, found, bench.source("grid_level"))
        return
    if x is None:
        yield place.needs_data("level f_alpha", region.falpha, "a quantile over the samples")
        return
    found = bench.call("sample_level", grid, values, x, region.prob)
    yield place.compare("level f_alpha", region.falpha, found, bench.source("stats::quantile"))
    if bench.door.has("hdrcde"):
        found = bench.call("hdr_levels_1d", grid, values, x, [region.prob])["falpha"]
        yield place.compare("level f_alpha", region.falpha, found, bench.source("hdrcde::hdr"))


def _ends(
    region: HdrRegion, grid: np.ndarray, values: np.ndarray, place: Place, bench: Bench
) -> Iterator[Check]:
    mine = np.asarray(region.intervals, dtype=np.float64)
    theirs = np.atleast_2d(bench.call("level_crossings", grid, values, region.falpha))
    source = bench.source("level_crossings")
    near = 1e-9 * float(grid[-1] - grid[0])
    yield place.compare("number of intervals", len(mine), len(theirs), source)
    if mine.shape == theirs.shape:
        for k in range(len(mine)):
            yield place.compare(
                f"interval {k + 1}, lower end", mine[k, 0], theirs[k, 0], source, absolute=near
            )
            yield place.compare(
                f"interval {k + 1}, upper end", mine[k, 1], theirs[k, 1], source, absolute=near
            )
    if region.density_mass is not None and not math.isnan(region.density_mass):
        total = bench.call("mass_above", grid, values, -1.0)
        mass = bench.call("mass_above", grid, values, region.falpha) / total
        yield place.compare(
            "share of the density's mass", region.density_mass, mass, bench.source("mass_above")
        )
