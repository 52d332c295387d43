"""Intervals and p-values of whole arrays of counts: one rate, and the contrast of two.

One rate k/n at the critical value z, error α on both sides together:

    Wilson (1927)             [k + z²/2 ± z·√{k(n − k)/n + z²/4}]/(n + z²)
    Clopper & Pearson (1934)  quantiles: α/2 of Beta(k, n − k + 1), 1 − α/2 of Beta(k + 1, n − k)
    Jeffreys                  quantiles: α/2 and 1 − α/2 of Beta(k + ½, n − k + ½)

Two rates p = k/n and q = k₀/n₀: by the score (`score`, `score_limits`), by exact tests (`exact`),
or by Wald's estimate ± z standard errors, of the logarithm for ratio and odds ratio:

    difference  √{p(1 − p)/n + q(1 − q)/n₀},      ratio  √{(1 − p)/k + (1 − q)/k₀},
    odds ratio  √{1/k + 1/(n − k) + 1/k₀ + 1/(n₀ − k₀)}.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

from fairstats.ground.checks import (
    Floats,
    check_choice,
    check_confidence_level,
    check_that,
    float_array,
    shown,
)
from fairstats.ground.errors import InputError
from fairstats.numerics.rates.binomial import beta_limits
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
    k: ArrayLike,
    n: ArrayLike,
    *,
    method: Literal["wilson", "clopper-pearson", "jeffreys"] = "wilson",
    confidence_level: float = 0.95,
) -> Limits:
    """Interval of a rate.

    Parameters
    ----------
    k, n : array_like
        Successes and cases; they broadcast. Fractions are allowed (effective counts).
    method : {"wilson", "clopper-pearson", "jeffreys"}
        The score interval (Wilson 1927); the exact one (Clopper & Pearson 1934); equal tails of the
        posterior under a Beta(½, ½) prior, with an end at 0 or 1 where all cases agree (Brown, Cai
        & DasGupta 2001).
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
    k, n = _check_counts(("k", k), ("n", n))
    error_rate = 1 - level
    if method == "wilson":
        square = float(ndtri(1 - error_rate / 2)) ** 2
        centre = (k + square / 2) / (n + square)
        half_width = np.sqrt(square * (k * ((n - k) / n) + square / 4)) / (n + square)
        # by hand at the ends, where the difference leaves a rounding error
        low = np.where(k == 0, 0.0, centre - half_width)
        high = np.where(k == n, 1.0, centre + half_width)
    else:
        prior = 0.5 if method == "jeffreys" else 0.0
        low, high = beta_limits(k, n, error_rate / 2, prior=prior)
    return Limits(_unwrap_scalar(low), _unwrap_scalar(high))


def contrast_interval(
    k: ArrayLike,
    n: ArrayLike,
    k0: ArrayLike,
    n0: ArrayLike,
    *,
    contrast: Contrast = "ratio",
    method: Literal["score", "exact", "wald"] = "score",
    confidence_level: float = 0.95,
) -> Limits:
    """Interval of the ratio, difference or odds ratio of two independent rates k/n and k₀/n₀.

    Parameters
    ----------
    k, n, k0, n0 : array_like
        Successes and cases of group and reference; they broadcast.
    contrast : {"ratio", "difference", "odds_ratio"}
        Group over, or less, reference.
    method : {"score", "exact", "wald"}
        "score": every value that the score test, with the factor N/(N − 1), does not reject
        (Miettinen & Nurminen 1985); a million in about a second. "exact": by inversion of the
        two-sided exact unconditional test, with tables ordered by the score
        (`fairstats.numerics.rates.exact`); milliseconds each, equal tables once. "wald": estimate ±
        z standard errors, of the logarithm for ratio and odds ratio; NaN where a cell that it needs
        is empty.
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
    k, n, k0, n0 = _check_counts(("k", k), ("n", n), ("k0", k0), ("n0", n0))
    if method == "exact":
        tables = _check_whole_numbers(k, n, k0, n0)

        equal = _EQUAL[contrast]
        ends = []
        for counts in tables:
            ends.append(
                exact_interval(*counts, contrast=contrast, confidence_level=level, equal=equal)
            )
        low, high = np.array(ends).reshape(-1, 2).T
        return Limits(_unwrap_scalar(low.reshape(k.shape)), _unwrap_scalar(high.reshape(k.shape)))
    critical = float(ndtri((1 + level) / 2))
    if method == "wald":
        low, high = _compute_wald(k, n, k0, n0, contrast, critical)
        return Limits(_unwrap_scalar(low), _unwrap_scalar(high))
    total = n + n0
    with np.errstate(divide="ignore"):
        wider = np.where(total > 1, critical * np.sqrt(total / (total - 1)), np.inf)
    table = (k.ravel(), n.ravel(), k0.ravel(), n0.ravel())
    low = lower_limits(*table, contrast, wider.ravel()).reshape(k.shape)
    high = upper_limits(*table, contrast, wider.ravel()).reshape(k.shape)
    return Limits(_unwrap_scalar(low), _unwrap_scalar(high))


def pvalue(
    k: ArrayLike,
    n: ArrayLike,
    k0: ArrayLike,
    n0: ArrayLike,
    *,
    contrast: Contrast = "ratio",
    null: ArrayLike | None = None,
    alternative: Literal["two-sided", "less", "greater"] = "two-sided",
    method: Literal["score", "exact"] = "score",
) -> Any:
    """p-value of a hypothesis about the contrast of two independent rates.

    Parameters
    ----------
    k, n, k0, n0 : array_like
        Successes and cases of group and reference; they broadcast, `null` with them.
    contrast : {"ratio", "difference", "odds_ratio"}
        Group over, or less, reference.
    null : array_like, optional
        Value of the contrast under the null hypothesis; equality (1, or 0 for a difference) where
        it is left out.
    alternative : {"two-sided", "less", "greater"}
        "less": the contrast is smaller than `null`.
    method : {"score", "exact"}
        Normal p-value of the score statistic with the factor N/(N − 1), or the exact unconditional
        test with tables ordered by the score (Chan 1998; nuisance rate within an interval of level
        1 − 10⁻⁷, Berger & Boos 1994).

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
    check_that(
        bool(np.all((nulls > least) & (nulls < most))),
        "null",
        null,
        f"values between {least:g} and {most:g}",
    )
    k, n, k0, n0 = _check_counts(("k", k), ("n", n), ("k0", k0), ("n0", n0))
    k, n, k0, n0, nulls = _check_shapes(k=k, n=n, k0=k0, n0=n0, null=nulls)
    if method == "exact":
        values = []
        for table, value in zip(
            _check_whole_numbers(k, n, k0, n0), nulls.ravel().tolist(), strict=True
        ):
            values.append(
                exact_pvalue(*table, contrast=contrast, null=value, alternative=alternative)
            )
        return _unwrap_scalar(np.array(values).reshape(k.shape))
    z = _STATISTICS[contrast](k, n, k0, n0, nulls)
    if alternative == "less":
        return _unwrap_scalar(ndtr(z))
    if alternative == "greater":
        return _unwrap_scalar(ndtr(-z))
    return _unwrap_scalar(2 * ndtr(-np.abs(z)))


def _compute_wald(
    k: Floats,
    n: Floats,
    k0: Floats,
    n0: Floats,
    contrast: Contrast,
    critical: float,
) -> tuple[Floats, Floats]:
    """Estimate ± z standard errors, or the same of its logarithm."""
    p = k / n
    q = k0 / n0
    if contrast == "difference":
        half_width = critical * np.sqrt(p * (1 - p) / n + q * (1 - q) / n0)
        return p - q - half_width, p - q + half_width
    with np.errstate(divide="ignore", invalid="ignore"):
        if contrast == "ratio":
            centre = np.log(p) - np.log(q)
            std_error = np.sqrt((1 - p) / k + (1 - q) / k0)
        else:
            centre = np.log(p / (1 - p)) - np.log(q / (1 - q))
            std_error = np.sqrt(1 / k + 1 / (n - k) + 1 / k0 + 1 / (n0 - k0))
        is_finite = np.isfinite(centre) & np.isfinite(std_error)
        low = np.where(is_finite, np.exp(centre - critical * std_error), np.nan)
        high = np.where(is_finite, np.exp(centre + critical * std_error), np.nan)
    return low, high


def _checked_contrast(contrast: Any) -> Contrast:
    check_choice("contrast", contrast, CONTRASTS)
    return contrast  # type: ignore[no-any-return]


def _check_counts(*named: tuple[str, ArrayLike]) -> list[Floats]:
    """Counts as arrays of one shape; names and values in pairs of successes and cases."""
    arrays = _check_shapes(**{name: float_array(name, value, "numbers") for name, value in named})
    for position in range(0, len(arrays), 2):
        (name, value), (size_name, size) = named[position : position + 2]
        successes, cases = arrays[position : position + 2]
        check_that(
            bool(np.all((cases > 0) & (cases <= MOST))),
            size_name,
            size,
            f"numbers above 0, up to {MOST:g}",
        )
        is_possible = (successes >= 0) & (successes <= cases)
        check_that(bool(np.all(is_possible)), name, value, f"from 0 to {size_name}")
    return arrays


def _check_shapes(**arrays: Floats) -> list[Floats]:
    """Arrays of one shape, by broadcasting."""
    try:
        return list(np.broadcast_arrays(*arrays.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        first = next(iter(arrays))
        raise InputError(
            first,
            got=f"shapes {shapes}",
            allowed="shapes that broadcast",
            cure="pass one value for each other",
        ) from None


def _check_whole_numbers(*columns: NDArray[Any]) -> list[tuple[int, int, int, int]]:
    """Tables of whole counts, in the order of raveled arrays."""
    names = ("k", "n", "k0", "n0")
    for name, values in zip(names, columns, strict=True):
        if not np.all(values == np.floor(values)):
            raise InputError(
                name,
                got=shown(values),
                allowed="whole counts",
                cure='method="score" for effective counts',
            )
    rows = zip(*(values.ravel().astype(np.int64).tolist() for values in columns), strict=True)
    return list(rows)


def _unwrap_scalar(values: Any) -> Any:
    """A float where all counts were numbers."""
    return float(values) if np.ndim(values) == 0 else np.asarray(values)
