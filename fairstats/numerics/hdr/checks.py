"""What `hdr` accepts: arrays, probabilities, supports, densities and bandwidths, checked once."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fairstats.ground.errors import InputError
from fairstats.numerics.hdr.contract import Curve, FloatArray, Surface
from fairstats.numerics.hdr.discrete import is_constant

__all__ = [
    "LEAST_SAMPLES",
    "as_bandwidth",
    "as_density",
    "as_gridsize",
    "as_probs",
    "as_samples",
    "as_support",
    "check_columns",
    "check_inside",
]

#: Fewer draws than this give no density worth a region.
LEAST_SAMPLES = 10
#: Squares of larger magnitudes overflow.
LARGEST = 1e100


def _floats(argument: str, value: Any, allowed: str) -> FloatArray:
    """`value` as finite float64 array, or an error that says why not."""
    if isinstance(value, np.ma.MaskedArray) and np.ma.getmaskarray(value).any():
        raise InputError(argument, got="a masked array", allowed=allowed, cure="pass value.compressed()")
    raw = np.asarray(value)
    try:
        if raw.dtype.kind not in "biufO":
            raise TypeError
        array = np.array(raw, dtype=np.float64)
    except (TypeError, ValueError):
        got = f"values of type {raw.dtype}"
        raise InputError(argument, got=got, allowed=allowed, cure="convert them to numbers") from None
    bad = int(array.size - np.isfinite(array).sum())
    if bad:
        got = f"{bad} NaN or infinite values among {array.size}"
        raise InputError(argument, got=got, allowed=allowed, cure="leave them out, and say so in your report")
    if array.size and float(np.abs(array).max()) > LARGEST:
        raise InputError(argument, got=f"values beyond {LARGEST:g}", allowed=allowed, cure="change the unit")
    return array


def as_samples(samples: Any) -> FloatArray:
    """Draws as an array of shape (n, d).

    Raises
    ------
    InputError
        Not numbers, not finite, no one- or two-dimensional array, fewer than `LEAST_SAMPLES` rows, or too
        few for the number of columns.
    """
    allowed = "finite numbers: shape (n,) for one dimension, (n, d) for d dimensions"
    array = _floats("samples", samples, allowed)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or array.shape[1] == 0:
        cure = "one row per draw, one column per quantity"
        raise InputError("samples", got=f"an array of shape {array.shape}", allowed=allowed, cure=cure)
    least = max(LEAST_SAMPLES, 5 * array.shape[1])
    if len(array) < least:
        raise InputError(
            "samples",
            got=f"{len(array)} draws of {array.shape[1]} quantities",
            allowed=f"at least {least} draws",
            cure="draw more, or pass the density itself as density=(grid, values)",
        )
    return array


def as_probs(prob: Any) -> tuple[FloatArray, bool]:
    """Probabilities as an array of shape (p,), and whether a single number came."""
    allowed = "numbers between 0 and 1, both excluded"
    probs = _floats("prob", prob, allowed)
    if probs.ndim > 1 or probs.size == 0:
        raise InputError(
            "prob", got=f"an array of shape {probs.shape}", allowed=allowed, cure="prob=[0.5, 0.95]"
        )
    if not ((probs > 0) & (probs < 1)).all():
        raise InputError("prob", got=repr(prob), allowed=allowed, cure="0.95 for a 95% region")
    return np.atleast_1d(probs), probs.ndim == 0


def as_support(support: Any, dimension: int) -> tuple[tuple[float, float], ...]:
    """Bounds per dimension, infinite where none is stated.

    One pair for one dimension; one pair per dimension otherwise. None stands for no bound.
    """
    allowed = "a pair (low, high) with low < high, None for no bound; one such pair per dimension"
    if support is None:
        return ((-math.inf, math.inf),) * dimension
    if dimension > 2:
        got = f"bounds in {dimension} dimensions"
        raise InputError("support", got=got, allowed="bounds in one or two dimensions", cure="leave it out")
    try:
        pairs = [support] if dimension == 1 and np.shape(support) == (2,) else list(support)
        bounds = [_bound_pair(low, high) for low, high in pairs]
    except (TypeError, ValueError):
        raise InputError("support", got=repr(support), allowed=allowed, cure="support=(0, 1)") from None
    if len(bounds) != dimension or not all(low < high for low, high in bounds):
        raise InputError("support", got=repr(support), allowed=allowed, cure="support=(0, 1)")
    return tuple(bounds)


def _bound_pair(low: Any, high: Any) -> tuple[float, float]:
    return (-math.inf if low is None else float(low)), (math.inf if high is None else float(high))


def check_inside(samples: FloatArray, bounds: FloatArray, what: str) -> None:
    """Raise unless every row of `samples` lies in the box `bounds`, shape (d, 2)."""
    beyond = (samples < bounds[:, 0]) | (samples > bounds[:, 1])
    if beyond.any():
        outside = int(beyond.any(axis=1).sum())
        raise InputError(
            "samples",
            got=f"{outside} of {len(samples)} draws outside the {what}",
            allowed=f"draws inside the {what} " + " × ".join(f"[{a:g}, {b:g}]" for a, b in bounds),
            cure=f"widen the {what}, or leave out draws that cannot occur",
        )


def as_bandwidth(bandwidth: Any, dimension: int) -> FloatArray:
    """Positive bandwidths, shape (d,); one number stands for all dimensions."""
    allowed = "a positive number" + (f", or {dimension} of them" if dimension > 1 else "")
    array = np.atleast_1d(_floats("bandwidth", bandwidth, allowed))
    if array.ndim > 1 or array.size not in {1, dimension} or not (array > 0).all():
        raise InputError(
            "bandwidth", got=repr(bandwidth), allowed=allowed, cure="leave it out for the default"
        )
    return np.broadcast_to(array, (dimension,)).copy()


def as_gridsize(gridsize: Any) -> int | None:
    """A whole number of grid points from 16 on, or None."""
    if gridsize is None:
        return None
    if isinstance(gridsize, bool) or not isinstance(gridsize, (int, np.integer)) or gridsize < 16:
        allowed = "a whole number, 16 or more"
        raise InputError("gridsize", got=repr(gridsize), allowed=allowed, cure="leave it out for the default")
    return int(gridsize)


def check_columns(samples: FloatArray) -> None:
    """Raise where one of several columns is constant: there is no density then."""
    for k in range(samples.shape[1]):
        if is_constant(samples[:, k : k + 1]):
            raise InputError(
                "samples",
                got=f"column {k}, which is {samples[0, k]:g} in every draw",
                allowed="columns that vary",
                cure="leave that column out: its value is certain",
            )


def as_density(density: Any) -> Curve | Surface:
    """A density on a grid: (grid, values) on a line, (x, y, values) on a plane.

    Values below 0 by no more than rounding (1e-9 of the largest) become 0.
    """
    allowed = "(grid, values) on a line or (x, y, values) on a plane, values of shape (len(x), len(y))"
    if isinstance(density, (Curve, Surface)):
        density = tuple(vars(density).values())
    if not isinstance(density, (tuple, list)) or len(density) not in {2, 3}:
        got = f"a {type(density).__name__}"
        raise InputError("density", got=got, allowed=allowed, cure="density=(grid, values)")
    *axes, values = (_floats("density", part, allowed) for part in density)
    shape = tuple(axis.size for axis in axes)
    if any(axis.ndim != 1 for axis in axes) or values.shape != shape or min(shape) < 2:
        shapes = ", ".join(str(part.shape) for part in (*axes, values))
        raise InputError(
            "density", got=f"arrays of shapes {shapes}", allowed=allowed, cure="transpose the values?"
        )
    if any((np.diff(axis) <= 0).any() for axis in axes):
        raise InputError(
            "density", got="a grid that does not ascend", allowed=allowed, cure="sort it, without ties"
        )
    top = float(values.max())
    if top <= 0 or float(values.min()) < -1e-9 * top:
        got = f"values from {values.min():g} to {top:g}"
        raise InputError("density", got=got, allowed="values ≥ 0, not all 0", cure="check its sign and scale")
    values = np.maximum(values, 0.0)
    return Curve(axes[0], values) if len(axes) == 1 else Surface(axes[0], axes[1], values)
