"""Regions without a grid: three or more quantities, and draws with few distinct values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fairstats.numerics.hdr.contract import FloatArray
from fairstats.numerics.hdr.discrete import frequencies, least_mass, runs
from fairstats.numerics.hdr.montecarlo import level_error
from fairstats.numerics.hdr.points import PointDensity, normal_reference_bandwidth
from fairstats.numerics.hdr.result import HdrRegion

__all__ = ["discrete_regions", "space_regions"]


def space_regions(
    samples: FloatArray, probs: FloatArray, bandwidth: FloatArray | None
) -> tuple[dict[str, Any], PointDensity]:
    """Fields of the result for draws of d ≥ 3 quantities, and the density that places new points."""
    h = normal_reference_bandwidth(samples) if bandwidth is None else bandwidth
    density = PointDensity.of(samples, h)
    at_samples = density.at_own(samples)
    regions = []
    for prob, level in zip(probs.tolist(), np.quantile(at_samples, 1 - probs).tolist(), strict=True):
        share = float((at_samples >= level).mean())
        error = level_error(at_samples, prob)
        regions.append(HdrRegion(prob=prob, falpha=level, falpha_error=error, mass=share, density_mass=None))
    mode = samples[at_samples.argmax()].copy()
    return {
        "regions": tuple(regions),
        "dimension": samples.shape[1],
        "kind": "density",
        "mode": mode,
        "modes": mode[None, :],
        "bandwidth": h,
        "axes": (),
        "values": np.empty(0),
        "method": "Gaussian kernel density at the draws, each without its own kernel",
    }, density


def discrete_regions(samples: FloatArray, probs: FloatArray) -> dict[str, Any]:
    """Fields of the result for draws with few distinct values, shape (n, d)."""
    found = frequencies(samples)
    n, d = samples.shape
    regions = []
    for prob in probs.tolist():
        level = least_mass(found.masses, prob)
        members = found.masses >= level
        mass = float(found.masses[members].sum())
        intervals = runs(found.values[:, 0], members) if d == 1 else None
        masses = None
        if intervals is not None:
            x = found.values[:, 0]
            masses = np.array([found.masses[(x >= low) & (x <= high)].sum() for low, high in intervals])
        error = math.sqrt(level * (1 - level) / n)
        regions.append(HdrRegion(prob, level, error, mass, None, intervals, masses))
    order = np.argsort(-found.masses, kind="stable")
    modes = found.values[order[found.masses[order] == found.masses.max()]]
    return {
        "regions": tuple(regions),
        "dimension": d,
        "kind": "discrete",
        "mode": float(modes[0, 0]) if d == 1 else modes[0],
        "modes": modes[:, 0] if d == 1 else modes,
        "bandwidth": None,
        "axes": (found.values,),
        "values": found.masses,
        "method": "frequencies of the distinct values",
    }
