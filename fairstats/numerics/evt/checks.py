"""What the public functions accept: series, thresholds, block maxima, periods; checked once."""

from __future__ import annotations

import inspect
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from fairstats.ground.errors import DataWarning, InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = [
    "LEAST_EXCEEDANCES",
    "as_count",
    "as_maxima",
    "as_positive",
    "as_series",
    "as_threshold",
    "exceedances_of",
    "kth_largest",
    "warn",
    "warn_of_ties",
]

#: Fewer values than this are refused: R's packages return ξ ≤ −1 there, or an obscure error.
LEAST_EXCEEDANCES = 10
#: Fewer distinct values than this share of the values is worth a warning.
_DISTINCT = 0.5
#: Beyond this, squares overflow.
_LARGEST = 1e100
#: Spread below this share of the magnitude is rounding, not data.
_ROUNDING = 1e-13


def warn(message: str) -> None:
    """Issue a `DataWarning` that points at the code outside fairstats which asked."""
    frame, level = inspect.currentframe(), 0
    while frame is not None and frame.f_globals.get("__name__", "").startswith("fairstats."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, DataWarning, stacklevel=level + 1)


def as_series(argument: str, value: Any) -> Floats:
    """One-dimensional finite float64 array.

    Raises
    ------
    InputError
        For other shapes, types, and values that are NaN, infinite or beyond 1e100.
    """
    allowed = "a one-dimensional array of finite numbers"
    if isinstance(value, np.ma.MaskedArray) and np.ma.getmaskarray(value).any():
        raise InputError(argument, got="a masked array", allowed=allowed, cure="pass value.compressed()")
    raw = np.asarray(value)
    if raw.ndim != 1:
        raise InputError(
            argument,
            got=f"an array of shape {raw.shape}",
            allowed=allowed,
            cure="pass one column or ravel it",
        )
    try:
        if raw.dtype.kind not in "biufO":
            raise TypeError
        array = np.array(raw, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(
            argument, got=f"values of type {raw.dtype}", allowed=allowed, cure="convert them to numbers"
        ) from None
    low, high = (float(array.min()), float(array.max())) if array.size else (0.0, 0.0)  # NaN passes through
    if not (np.isfinite(low) and np.isfinite(high)):
        bad = int(array.size - np.isfinite(array).sum())
        raise InputError(
            argument,
            got=f"{bad} NaN or infinite values among {array.size}",
            allowed=allowed,
            cure="leave them out, and say so in your report",
        )
    if max(-low, high) > _LARGEST:
        raise InputError(argument, got=f"values beyond {_LARGEST:g}", allowed=allowed, cure="change the unit")
    return array


def as_threshold(value: Any) -> float:
    """A finite number."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if not np.isfinite(number):
        raise InputError(
            "threshold", got=repr(value), allowed="a finite number", cure="choose_threshold(x) suggests one"
        )
    return number


def as_positive(argument: str, value: Any, cure: str) -> float:
    """A finite number above 0."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if not (np.isfinite(number) and number > 0):
        raise InputError(argument, got=repr(value), allowed="a finite number above 0", cure=cure)
    return number


def as_count(argument: str, value: Any, *, least: int = 1, most: int | None = None) -> int:
    """A whole number between `least` and `most`."""
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or value < least or (most is not None and value > most):
        top = "" if most is None else f" and at most {most}"
        raise InputError(
            argument, got=repr(value), allowed=f"a whole number of at least {least}{top}", cure=f"{least}"
        )
    return int(value)


def exceedances_of(series: Floats, threshold: float) -> Floats:
    """Values above the threshold, ascending.

    Raises
    ------
    InputError
        Fewer than ten of them, or all the same.
    """
    above = np.sort(series[series > threshold])
    if above.size == 0:
        largest = float(series.max()) if series.size else np.nan
        raise InputError(
            "threshold",
            got=f"{threshold:g}, which none of the {series.size} values exceeds (largest {largest:g})",
            allowed=f"a number that at least {LEAST_EXCEEDANCES} values exceed",
            cure="choose_threshold(x, method='k_largest') sets one by the number of exceedances",
        )
    if above.size < LEAST_EXCEEDANCES:
        raise InputError(
            "threshold",
            got=f"{threshold:g}, which {above.size} of the {series.size} values exceed",
            allowed=f"a number that at least {LEAST_EXCEEDANCES} values exceed",
            cure="lower it",
        )
    if _constant(above):
        raise InputError(
            "x",
            got=f"{above.size} values above the threshold that all equal {above[0]:g}",
            allowed="exceedances that differ",
            cure="a constant tail has no distribution to fit; report the value itself",
        )
    return above


def as_maxima(value: Any) -> Floats:
    """Block maxima, ascending: at least ten, not all the same."""
    maxima = np.sort(as_series("block_maxima", value))
    if maxima.size < LEAST_EXCEEDANCES:
        raise InputError(
            "block_maxima",
            got=f"{maxima.size} values",
            allowed=f"at least {LEAST_EXCEEDANCES}",
            cure="shorter blocks, or fit_gpd on the values above a threshold",
        )
    if _constant(maxima):
        raise InputError(
            "block_maxima",
            got=f"{maxima.size} values that all equal {maxima[0]:g}",
            allowed="maxima that differ",
            cure="constant maxima have no distribution to fit; report the value itself",
        )
    return maxima


def _constant(ordered: Floats) -> bool:
    return bool(ordered[-1] - ordered[0] <= _ROUNDING * np.abs(ordered).max())


def kth_largest(series: Floats, k: int) -> float:
    """The (k + 1)-th largest value: the threshold that k values exceed where there are no ties."""
    return float(np.partition(series, series.size - k - 1)[series.size - k - 1])


def warn_of_ties(values: Floats, what: str) -> None:
    """Say so where many values coincide: the likelihood is one of a continuous distribution."""
    distinct = np.unique(values).size
    if distinct < _DISTINCT * values.size:
        warn(
            f"{values.size} {what} have only {distinct} distinct values: they are rounded or tied, and "
            "likelihood, standard errors and tests treat them as continuous"
        )
