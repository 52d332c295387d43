"""What the public functions accept: series, thresholds, block maxima, periods; checked once."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairstats.ground.checks import check_whole, finite_array
from fairstats.ground.errors import DataWarning, InputError, caution
from fairstats.numerics.evt.distributions import Counts, Floats

#: Fewer values than this are refused: R's packages return ξ ≤ −1 there, or an obscure error.
LEAST_EXCEEDANCES = 10
#: More thresholds than this are of no use to anybody.
MOST_THRESHOLDS = 10_000
#: Fewer distinct values than this share of the values is worth a warning.
_DISTINCT = 0.5
#: Spread below this share of the magnitude is rounding, not data.
_ROUNDING = 1e-13


def as_series(argument: str, value: Any) -> Floats:
    """One-dimensional finite float64 array, or an InputError (see `finite_array`)."""
    allowed = "a one-dimensional array of finite numbers"
    array = finite_array(argument, value, allowed)
    if array.ndim != 1:
        got, cure = f"an array of shape {array.shape}", "pass one column or ravel it"
        raise InputError(argument, got=got, allowed=allowed, cure=cure)
    return array


def exceedances_of(series: Floats, threshold: float) -> Floats:
    """Values above the threshold, ascending; raise where they are fewer than ten, or all the same."""
    above = np.sort(series[series > threshold])
    if above.size < LEAST_EXCEEDANCES:
        count = f"{above.size} of the {series.size} values exceed"
        if above.size == 0:
            largest = float(series.max()) if series.size else np.nan
            count = f"none of the {series.size} values exceeds (largest {largest:g})"
        allowed = f"a number that at least {LEAST_EXCEEDANCES} values exceed"
        cure = "lower it; choose_threshold(x, method='k_largest') sets one by the number of exceedances"
        raise InputError("threshold", got=f"{threshold:g}, which {count}", allowed=allowed, cure=cure)
    refuse_constant("x", above, "values above the threshold")
    return above


def as_maxima(value: Any) -> Floats:
    """Block maxima, ascending: at least ten, not all the same."""
    maxima = np.sort(as_series("block_maxima", value))
    if maxima.size < LEAST_EXCEEDANCES:
        allowed, cure = f"at least {LEAST_EXCEEDANCES}", "shorter blocks, or fit_gpd above a threshold"
        raise InputError("block_maxima", got=f"{maxima.size} values", allowed=allowed, cure=cure)
    refuse_constant("block_maxima", maxima, "values")
    return maxima


def refuse_constant(argument: str, ordered: Floats, what: str) -> None:
    """Raise where ascending values are all the same, up to rounding."""
    if ordered[-1] - ordered[0] <= _ROUNDING * np.abs(ordered).max():
        got = f"{ordered.size} {what} that all equal {ordered[0]:g}"
        cure = "a constant tail has no distribution to fit or to test; report the value itself"
        raise InputError(argument, got=got, allowed="values that differ", cure=cure)


def kth_largest(series: Floats, k: int) -> float:
    """The (k + 1)-th largest value: the threshold that k values exceed where there are no ties."""
    return float(np.partition(series, series.size - k - 1)[series.size - k - 1])


def are_tied(values: Floats) -> bool:
    """Whether more than half of the values coincide with others."""
    return bool(np.unique(values).size < _DISTINCT * values.size)


def warn_of_ties(values: Floats, what: str) -> None:
    """Say so where many values coincide: the likelihood is one of a continuous distribution."""
    distinct = np.unique(values).size
    if are_tied(values):
        caution(
            f"{values.size} {what} have only {distinct} distinct values: they are rounded or tied, and "
            "likelihood, standard errors and tests treat them as continuous",
            DataWarning,
        )


def usable_thresholds(series: Floats, thresholds: Any, n_thresholds: int) -> tuple[Floats, Counts]:
    """Thresholds in ascending order, and how many values exceed each: at least ten, not all equal.

    Default: from the median to the value that ten exceed, the numbers of exceedances in geometric
    progression.
    """
    ordered, least = np.sort(series), 2 * LEAST_EXCEEDANCES + 1
    if thresholds is not None:
        u = np.unique(finite_array("thresholds", thresholds, "numbers within the range of x"))
    else:
        wanted = check_whole("n_thresholds", n_thresholds, low=2, high=MOST_THRESHOLDS)
        if series.size < least:
            cure = "more values, or thresholds= of one's own"
            raise InputError("x", got=f"{series.size} values", allowed=f"at least {least}", cure=cure)
        above = np.geomspace(ordered.size // 2, LEAST_EXCEEDANCES, wanted).astype(int)
        u = np.unique(ordered[ordered.size - 1 - above])
    count = np.asarray(ordered.size - np.searchsorted(ordered, u, side="right"))
    if thresholds is None:  # ties may leave fewer above
        u, count = u[count >= LEAST_EXCEEDANCES], count[count >= LEAST_EXCEEDANCES]
    if not u.size or count.min() < LEAST_EXCEEDANCES:
        worst = "none" if not u.size else f"{u[count.argmin()]:g}, which {count.min()} values exceed"
        allowed = f"numbers that at least {LEAST_EXCEEDANCES} values exceed"
        raise InputError("thresholds", got=worst, allowed=allowed, cure="lower thresholds, or fewer ties")
    refuse_constant("x", ordered[ordered.size - count[-1] :], f"values above {u[-1]:g}")
    return u, count
