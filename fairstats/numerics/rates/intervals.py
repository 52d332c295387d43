"""Intervals and p-values of whole arrays of counts: one rate, and the contrast of two."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv, ndtr, ndtri

from fairstats.ground.checks import Floats, check_choice, check_confidence_level, check_that, float_array, shown
from fairstats.ground.errors import InputError
from fairstats.numerics.rates.exact import exact_interval, exact_pvalue
from fairstats.numerics.rates.score import (
    Contrast,
    difference_score_statistic,
    odds_ratio_score_statistic,
    ratio_score_statistic,
)
from fairstats.numerics.rates.score_limits import lower_limits, upper_limits
from fairstats.numerics.rates.search import null_range

CONTRASTS: tuple[Contrast, ...] = ("ratio", "difference", "odds_ratio")
_EQUAL: dict[Contrast, float] = {"ratio": 1.0, "difference": 0.0, "odds_ratio": 1.0}
_STATISTICS: dict[Contrast, Callable[..., Floats]] = {
    "ratio": ratio_score_statistic,
    "difference": difference_score_statistic,
    "odds_ratio": odds_ratio_score_statistic,
}


#: Cases, and null values of ratios, up to which nothing overflows.
MOST = 1e15


class Limits(NamedTuple):
    """Ends of intervals: numbers, or arrays of the shape of the counts."""

    low: Any
    high: Any


def interval(
    k: ArrayLike, n: ArrayLike, *, method: Literal["wilson", "clopper-pearson", "jeffreys"] = "wilson",
    confidence_level: float = 0.95,
) -> Limits:  # fmt: skip
    """Interval of a rate.

    Parameters
    ----------
    k, n : array_like
        Successes and cases; they broadcast. Fractions are allowed (effective counts).
    method : {"wilson", "clopper-pearson", "jeffreys"}
        The score interval (Wilson 1927); the exact one (Clopper & Pearson 1934); equal tails of the posterior under a
        Beta(½, ½) prior, with an end at 0 or 1 where all cases agree (Brown, Cai & DasGupta 2001).
    confidence_level : float
        Coverage of the two-sided interval.

    Returns
    -------
    Limits
        `low` and `high`, numbers for numbers.

    Raises
    ------
    InputError
        Unless 0 ≤ k ≤ n and n > 0 in every place.

    Examples
    --------
    >>> import fairstats as fs
    >>> low, high = fs.rates.interval([0, 12], [20, 40])
    >>> print(low.round(4), high.round(4))
    [0.     0.1807] [0.1611 0.4543]
    """
    check_choice("method", method, ("wilson", "clopper-pearson", "jeffreys"))
    level = check_confidence_level(confidence_level)
    k, n = _counts(("k", k), ("n", n))
    error = 1 - level
    if method == "wilson":
        square = float(ndtri(1 - error / 2)) ** 2
        centre = (k + square / 2) / (n + square)
        half = np.sqrt(square * (k * ((n - k) / n) + square / 4)) / (n + square)
        # by hand at the ends, where the difference leaves a rounding error
        low = np.where(k == 0, 0.0, centre - half)
        high = np.where(k == n, 1.0, centre + half)
    else:
        prior = 0.5 if method == "jeffreys" else 0.0
        rest = n - k
        below = 0.5 if method == "jeffreys" else 1.0
        some, others = np.maximum(k, 1e-300), np.maximum(rest, 1e-300)
        low = np.where(k == 0, 0.0, betaincinv(some + prior, others + below, error / 2))
        high = np.where(rest == 0, 1.0, betaincinv(some + below, others + prior, 1 - error / 2))
    return Limits(_plain(low), _plain(high))


def contrast_interval(
    k: ArrayLike, n: ArrayLike, k0: ArrayLike, n0: ArrayLike, *,
    contrast: Contrast = "ratio", method: Literal["score", "exact", "wald"] = "score",
    confidence_level: float = 0.95,
) -> Limits:  # fmt: skip
    """Interval of the ratio, difference or odds ratio of two independent rates k/n and k₀/n₀.

    Parameters
    ----------
    k, n, k0, n0 : array_like
        Successes and cases of group and reference; they broadcast.
    contrast : {"ratio", "difference", "odds_ratio"}
        Group over, or less, reference.
    method : {"score", "exact", "wald"}
        "score": every value that the score test, with the factor N/(N − 1), does not reject (Miettinen & Nurminen
        1985); a million in about a second. "exact": by inversion of the two-sided exact unconditional test, with tables
        ordered by the score (`fairstats.numerics.rates.exact`); milliseconds each, equal tables once. "wald": estimate
        ± z standard errors, of the logarithm for ratio and odds ratio; NaN where a cell that it needs is empty.
    confidence_level : float
        Coverage of the two-sided interval.

    Returns
    -------
    Limits
        `low` and `high`, numbers for numbers.

    Raises
    ------
    InputError
        Unless 0 ≤ k ≤ n and n > 0 in every place; whole counts for "exact".

    Examples
    --------
    >>> import fairstats as fs
    >>> low, high = fs.rates.contrast_interval(30, 100, 9000, 20000)
    >>> print(f"{low:.4f} {high:.4f}")
    0.4864 0.8801
    >>> low, high = fs.rates.contrast_interval([1, 8], [1, 8], [0, 3], [300, 12], contrast="difference")
    >>> print(low.round(3), high.round(3))
    [0.206 0.345] [1.    0.913]
    """
    contrast = _checked_contrast(contrast)
    check_choice("method", method, ("score", "exact", "wald"))
    level = check_confidence_level(confidence_level)
    k, n, k0, n0 = _counts(("k", k), ("n", n), ("k0", k0), ("n0", n0))
    if method == "exact":
        tables = _whole(k, n, k0, n0)

        equal = _EQUAL[contrast]
        ends = [exact_interval(*counts, contrast=contrast, confidence_level=level, equal=equal) for counts in tables]
        low, high = np.array(ends).reshape(-1, 2).T
        return Limits(_plain(low.reshape(k.shape)), _plain(high.reshape(k.shape)))
    critical = float(ndtri((1 + level) / 2))
    if method == "wald":
        low, high = _wald(k, n, k0, n0, contrast, critical)
        return Limits(_plain(low), _plain(high))
    total = n + n0
    with np.errstate(divide="ignore"):
        wider = np.where(total > 1, critical * np.sqrt(total / (total - 1)), np.inf)
    table = (k.ravel(), n.ravel(), k0.ravel(), n0.ravel())
    low = lower_limits(*table, contrast, wider.ravel()).reshape(k.shape)
    high = upper_limits(*table, contrast, wider.ravel()).reshape(k.shape)
    return Limits(_plain(low), _plain(high))


def pvalue(
    k: ArrayLike, n: ArrayLike, k0: ArrayLike, n0: ArrayLike, *,
    contrast: Contrast = "ratio", null: ArrayLike | None = None,
    alternative: Literal["two-sided", "less", "greater"] = "two-sided", method: Literal["score", "exact"] = "score",
) -> Any:  # fmt: skip
    """p-value of a hypothesis about the contrast of two independent rates.

    Parameters
    ----------
    k, n, k0, n0 : array_like
        Successes and cases of group and reference; they broadcast, `null` with them.
    contrast : {"ratio", "difference", "odds_ratio"}
        Group over, or less, reference.
    null : array_like, optional
        Value of the contrast under the null hypothesis; equality (1, or 0 for a difference) where it is left out.
    alternative : {"two-sided", "less", "greater"}
        "less": the contrast is smaller than `null`.
    method : {"score", "exact"}
        Normal p-value of the score statistic with the factor N/(N − 1), or the exact unconditional test with tables
        ordered by the score (Chan 1998; nuisance rate within an interval of level 1 − 10⁻⁷, Berger & Boos 1994).

    Returns
    -------
    float or ndarray
        Of 0 successes in both groups 1 for a ratio or an odds ratio.

    Raises
    ------
    InputError
        Unless 0 ≤ k ≤ n and n > 0 in every place, and `null` lies within the contrast's range.

    Examples
    --------
    >>> import fairstats as fs
    >>> print(f"{fs.rates.pvalue(1, 1, 0, 300):.1e} {fs.rates.pvalue(1, 1, 0, 300, method='exact'):.4f}")
    3.3e-67 0.0012
    """
    contrast = _checked_contrast(contrast)
    check_choice("alternative", alternative, ("two-sided", "less", "greater"))
    check_choice("method", method, ("score", "exact"))
    nulls = float_array("null", _EQUAL[contrast] if null is None else null, "numbers")
    least, most = null_range(contrast)
    most = min(most, MOST)
    check_that(bool(np.all((nulls > least) & (nulls < most))), "null", null, f"values between {least:g} and {most:g}")
    k, n, k0, n0 = _counts(("k", k), ("n", n), ("k0", k0), ("n0", n0))
    k, n, k0, n0, nulls = _alike_in_shape(k=k, n=n, k0=k0, n0=n0, null=nulls)
    if method == "exact":
        values = [
            exact_pvalue(*table, contrast=contrast, null=value, alternative=alternative)
            for table, value in zip(_whole(k, n, k0, n0), nulls.ravel().tolist(), strict=True)
        ]
        return _plain(np.array(values).reshape(k.shape))
    z = _STATISTICS[contrast](k, n, k0, n0, nulls)
    if alternative == "less":
        return _plain(ndtr(z))
    if alternative == "greater":
        return _plain(ndtr(-z))
    return _plain(2 * ndtr(-np.abs(z)))


def _wald(k: Floats, n: Floats, k0: Floats, n0: Floats, contrast: Contrast, critical: float) -> tuple[Floats, Floats]:
    """Estimate ± z standard errors, or the same of its logarithm."""
    p, q = k / n, k0 / n0
    if contrast == "difference":
        half = critical * np.sqrt(p * (1 - p) / n + q * (1 - q) / n0)
        return p - q - half, p - q + half
    with np.errstate(divide="ignore", invalid="ignore"):
        if contrast == "ratio":
            centre = np.log(p) - np.log(q)
            error = np.sqrt((1 - p) / k + (1 - q) / k0)
        else:
            centre = np.log(p / (1 - p)) - np.log(q / (1 - q))
            error = np.sqrt(1 / k + 1 / (n - k) + 1 / k0 + 1 / (n0 - k0))
        fine = np.isfinite(centre) & np.isfinite(error)
        low = np.where(fine, np.exp(centre - critical * error), np.nan)
        high = np.where(fine, np.exp(centre + critical * error), np.nan)
    return low, high


def _checked_contrast(contrast: Any) -> Contrast:
    check_choice("contrast", contrast, CONTRASTS)
    return contrast  # type: ignore[no-any-return]


def _counts(*named: tuple[str, ArrayLike]) -> list[Floats]:
    """Counts as arrays of one shape; names and values in pairs of successes and cases."""
    arrays = _alike_in_shape(**{name: float_array(name, value, "numbers") for name, value in named})
    for place in range(0, len(arrays), 2):
        (name, value), (size_name, size) = named[place : place + 2]
        successes, cases = arrays[place : place + 2]
        check_that(bool(np.all((cases > 0) & (cases <= MOST))), size_name, size, f"numbers above 0, up to {MOST:g}")
        fine = (successes >= 0) & (successes <= cases)
        check_that(bool(np.all(fine)), name, value, f"from 0 to {size_name}")
    return arrays


def _alike_in_shape(**arrays: Floats) -> list[Floats]:
    """Arrays of one shape, by broadcasting."""
    try:
        return list(np.broadcast_arrays(*arrays.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        first = next(iter(arrays))
        raise InputError(
            first, got=f"shapes {shapes}", allowed="shapes that broadcast", cure="pass one value for each other"
        ) from None


def _whole(*columns: NDArray[Any]) -> list[tuple[int, int, int, int]]:
    """Tables of whole counts, in the order of raveled arrays."""
    names = ("k", "n", "k0", "n0")
    for name, values in zip(names, columns, strict=True):
        if not np.all(values == np.floor(values)):
            raise InputError(
                name, got=shown(values), allowed="whole counts", cure='method="score" for effective counts'
            )
    rows = zip(*(values.ravel().astype(np.int64).tolist() for values in columns), strict=True)
    return list(rows)


def _plain(values: Any) -> Any:
    """A float where all counts were numbers."""
    return float(values) if np.ndim(values) == 0 else np.asarray(values)
