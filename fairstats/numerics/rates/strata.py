"""One contrast of two rates over strata.

The stratified score, exact conditional tests, homogeneity.

In stratum h of H a group has k₁ successes among n₁ cases, its reference k₀ among n₀; r = k/n, N =
n₁ + n₀. Under the hypothesis that one contrast θ holds in all strata, with p̃₁, p̃₀ the maximum
likelihood estimates of both rates of the stratum under it (Miettinen & Nurminen 1985) and w =
n₁n₀/N the weights of Mantel and Haenszel (1959),

    z(θ) = Σ w S / √(Σ w² V),        V = Var(S | p̃₁, p̃₀) · N/(N − 1),

    ratio        S = r₁ − θ r₀                        V = [p̃₁q̃₁/n₁ + θ² p̃₀q̃₀/n₀] · N/(N − 1)
    difference   S = r₁ − r₀ − θ                      V = [p̃₁q̃₁/n₁ + p̃₀q̃₀/n₀] · N/(N − 1)
    odds ratio   S = r₁(1 − r₀) − θ r₀(1 − r₁)        V = [(q̃₀ + θp̃₀)² p̃₁q̃₁/n₁ + (p̃₁ + θq̃₁)² p̃₀q̃₀/n₀
                                                           + (θ − 1)² p̃₁q̃₁p̃₀q̃₀/(n₁n₀)] · N/(N − 1).

S has mean 0 under the hypothesis whatever the rates are, so that many small strata do no harm.
z(θ̂) = 0 at the estimates of Mantel and Haenszel: Σwr₁/Σwr₀, Σw(r₁ − r₀)/Σw, Σwr₁(1 − r₀)/Σwr₀(1 −
r₁). At equality (θ = 1, or a difference of 0) z² is the statistic of Cochran, Mantel and Haenszel
without continuity correction. The interval holds every θ with |z(θ)| ≤ c. Arrays have the shape (…,
H), and answers the shape (…).

Where a group is small the law of z is skew. Verdicts therefore rest on the less favourable of two
tails, the normal one and that of a gamma law with the skewness of Σ w S (Pearson's type III; to its
first term the correction of Gart & Nam 1988, which Laud 2017 takes over to strata):

    γ(θ) = Σ w³ μ₃ / (Σ w² V)^(3/2),       μ₃ = a³ p̃₁q̃₁(q̃₁ − p̃₁)/n₁² − b³ p̃₀q̃₀(q̃₀ − p̃₀)/n₀²,

    a, b = 1, θ (ratio);  1, 1 (difference);  q̃₀ + θp̃₀, p̃₁ + θq̃₁ (odds ratio, with the terms of
    its product r₁r₀).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammainc, gammaincc, ndtri

from fairstats.ground.checks import Floats
from fairstats.numerics.rates.score import (
    EQUALITY,
    Contrast,
    rates_with_difference,
    rates_with_odds_ratio,
    rates_with_ratio,
)

#: Limits of ratios are looked for between exp(−40) and exp(40).
LOG_SPAN = 40.0
#: Contrasts with all others beyond which nothing lies: of a group that is nearly everybody.
NEARLY_ONE = 1 - 1e-9
LARGEST_RATIO = 1e9
#: Below this skewness the gamma law is the normal one.
LEAST_SKEWNESS = 1e-4
#: Steps of a search for a limit; bisection alone needs about 60.
MOST_STEPS = 100


@dataclass(frozen=True, eq=False)
class Strata:
    """Successes and cases of a group (k₁, n₁) and its reference (k₀, n₀), shape (…, H) each.

    A stratum where either has no case has weight 0. Counts may be effective ones, of weighted or
    clustered rows (`numerics/rates/stratum_design.py`); `sizes` then are the weights of Mantel and
    Haenszel. `share`: f of the group in all cases of a stratum, where it is compared with all, its
    own cases among them, and the reference here is all others.
    """

    k1: Floats
    n1: Floats
    k0: Floats
    n0: Floats
    sizes: Floats | None = None
    share: Floats | None = None

    @classmethod
    def of(cls, k1: ArrayLike, n1: ArrayLike, k0: ArrayLike, n0: ArrayLike) -> Strata:
        """The counts, broadcast to one shape."""
        columns = np.broadcast_arrays(
            *(np.asarray(counts, dtype=np.float64) for counts in (k1, n1, k0, n0))
        )
        return cls(*columns)

    @property
    def shared(self) -> NDArray[np.bool_]:
        """Strata with cases of both."""
        return np.asarray((self.n1 > 0) & (self.n0 > 0))

    @property
    def informative(self) -> NDArray[np.bool_]:
        """Strata with cases of both, successes and failures: what tests of homogeneity count."""
        hits = self.k1 + self.k0
        return np.asarray(self.shared & (hits > 0) & (hits < self.n1 + self.n0))

    @property
    def weight(self) -> Floats:
        """Mantel and Haenszel's w = n₁n₀/N; beside everybody n₁, which makes w of (1 − f)(r₁ − r₀)."""
        if self.sizes is not None:
            return self.sizes
        if self.share is not None:
            return np.where(self.shared, self.n1, 0.0)
        return self.n1 * self.n0 / np.maximum(self.n1 + self.n0, 1)

    @property
    def rate1(self) -> Floats:
        """r₁, 0 where there is no case."""
        return self.k1 / _or_one(self.n1)

    @property
    def rate0(self) -> Floats:
        """r₀, 0 where there is no case."""
        return self.k0 / _or_one(self.n0)

    def at(self, index: Any) -> Strata:
        """Some of the tables."""
        return Strata(
            k1=self.k1[index],
            n1=self.n1[index],
            k0=self.k0[index],
            n0=self.n0[index],
            sizes=None if self.sizes is None else self.sizes[index],
            share=None if self.share is None else self.share[index],
        )

    def terms(self, theta: Floats, contrast: Contrast) -> tuple[Floats, Floats]:
        """Factors of both rates in S, shape (…, H); `theta`: (…, 1)."""
        if contrast == "difference":
            factor = np.ones_like(self.n1)
            if self.share is not None:
                factor = 1 - self.share
            return factor, factor
        if self.share is None:
            return np.ones_like(self.n1), theta
        # everybody's rate holds the group's: a ratio beyond 1/f is that of no rates
        return np.maximum(1 - theta * self.share, 0.0), theta * (1 - self.share)

    def theta_of_others(self, theta: Floats, contrast: Contrast) -> Floats:
        """The contrast with the reference here that θ is in every stratum; `theta`: (…, 1)."""
        if self.share is None:
            return theta
        of_others = 1 - self.share
        if contrast == "difference":
            with np.errstate(divide="ignore", invalid="ignore"):
                beyond = np.where(of_others > 0, theta / of_others, np.sign(theta))
            return np.clip(beyond, -NEARLY_ONE, NEARLY_ONE)
        denominator = 1 - theta * self.share
        largest = theta * of_others >= LARGEST_RATIO * denominator
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(largest, LARGEST_RATIO, theta * of_others / denominator)

    @property
    def rate_of_reference(self) -> Floats:
        """What the group is compared with: r₀, or everybody's f·r₁ + (1 − f)·r₀."""
        if self.share is None:
            return self.rate0
        return self.share * self.rate1 + (1 - self.share) * self.rate0


def _or_one(cases: Floats) -> Floats:
    """Cases, and 1 where there is none; effective ones may be fewer than 1."""
    return np.asarray(np.where(cases > 0, cases, 1.0))


class Rates(NamedTuple):
    """p̃₁, q̃₁ = 1 − p̃₁, p̃₀ and q̃₀ of every stratum, shape (…, H)."""

    p1: Floats
    q1: Floats
    p0: Floats
    q0: Floats


def constrained_rates(tables: Strata, theta: ArrayLike, contrast: Contrast) -> Rates:
    """p̃₁, q̃₁, p̃₀, q̃₀ of every stratum.

    Maximum likelihood estimates where its contrast is θ (shape (…)).
    """
    theta = tables.theta_of_others(np.asarray(theta, dtype=np.float64)[..., None], contrast)
    n1 = _or_one(tables.n1)
    n0 = _or_one(tables.n0)
    if contrast == "ratio":
        return _solve_with_ratio(tables.k1, n1, tables.k0, n0, theta)
    if contrast == "difference":
        return _solve_with_difference(tables.k1, n1, tables.k0, n0, theta)
    return _solve_with_odds_ratio(tables.k1, n1, tables.k0, n0, theta)


def _solve_with_ratio(k1: Floats, n1: Floats, k0: Floats, n0: Floats, theta: Floats) -> Rates:
    p1, p0 = rates_with_ratio(k1, n1, k0, n0, theta)
    return Rates(p1=p1, q1=1 - p1, p0=p0, q0=1 - p0)


def _solve_with_odds_ratio(k1: Floats, n1: Floats, k0: Floats, n0: Floats, theta: Floats) -> Rates:
    return Rates(*rates_with_odds_ratio(k1 + k0, n1, n0, theta))


def _solve_with_difference(k1: Floats, n1: Floats, k0: Floats, n0: Floats, theta: Floats) -> Rates:
    p1, p0 = rates_with_difference(k1 / n1, k0 / n0, n0 / n1, theta)
    return Rates(p1=p1, q1=1 - p1, p0=p0, q0=1 - p0)


def score_parts(
    tables: Strata, theta: ArrayLike, contrast: Contrast, rates: Rates | None = None
) -> tuple[Floats, Floats]:
    """S and V of every stratum, shape (…, H); 0 where a group has no case.

    `rates`: the most likely ones under θ, where they are known already.
    """
    theta_of_stratum = np.asarray(theta, dtype=np.float64)[..., None]
    if rates is None:
        rates = constrained_rates(tables, theta, contrast)
    p1, q1, p0, q0 = rates
    n1 = _or_one(tables.n1)
    n0 = _or_one(tables.n0)
    r1 = tables.rate1
    r0 = tables.rate0
    of_group = p1 * q1 / n1
    of_reference = p0 * q0 / n0
    if contrast != "odds_ratio":
        factor, factor_of_reference = tables.terms(theta_of_stratum, contrast)
        score = r1 - theta_of_stratum * r0
        if contrast == "difference":
            score = factor * (r1 - r0) - theta_of_stratum
        elif tables.share is not None:
            score = r1 - theta_of_stratum * tables.rate_of_reference
        variance = factor**2 * of_group + factor_of_reference**2 * of_reference
    else:
        score = r1 * (1 - r0) - theta_of_stratum * r0 * (1 - r1)
        # ∂S/∂r₁ and −∂S/∂r₀ at the constrained rates, without cancellation
        slope1 = q0 + theta_of_stratum * p0
        slope0 = p1 + theta_of_stratum * q1
        variance = slope1**2 * of_group + slope0**2 * of_reference
        variance = variance + (theta_of_stratum - 1) ** 2 * of_group * of_reference
    total = tables.n1 + tables.n0
    # effective cases may be fewer than two
    variance = variance * np.maximum(total, 2) / np.maximum(total - 1, 1)
    return np.where(tables.shared, score, 0.0), np.where(tables.shared, variance, 0.0)


def score_statistic(tables: Strata, theta: ArrayLike, contrast: Contrast) -> Floats:
    """z(θ), positive where the estimate lies above.

    ±∞ where no variance is left, 0 where nothing speaks.
    """
    score, variance = score_parts(tables, theta, contrast)
    return _standardise(tables.weight, score, variance)


def _standardise(weight: Floats, score: Floats, variance: Floats) -> Floats:
    """Σ w S / √(Σ w² V)."""
    distance = (weight * score).sum(axis=-1)
    spread = np.sqrt((weight**2 * variance).sum(axis=-1))
    with np.errstate(divide="ignore", invalid="ignore"):
        z = distance / spread
    exact = np.abs(distance) <= 1e-13 * (weight * np.abs(score)).sum(axis=-1)
    return np.asarray(np.where(exact, 0.0, np.where(spread > 0, z, np.copysign(np.inf, distance))))


def skewness(tables: Strata, theta: ArrayLike, contrast: Contrast) -> Floats:
    """γ(θ), the skewness of Σ w S under the hypothesis; 0 where there is no variance."""
    rates = constrained_rates(tables, theta, contrast)
    _, variance = score_parts(tables, theta, contrast, rates)
    return _skewness_of(tables, theta, contrast, rates, variance)


def _skewness_of(
    tables: Strata, theta: ArrayLike, contrast: Contrast, rates: Rates, variance: Floats
) -> Floats:
    """γ(θ) of the most likely rates under θ and the variance V that they give."""
    theta_of_stratum = np.asarray(theta, dtype=np.float64)[..., None]
    p1, q1, p0, q0 = rates
    n1 = _or_one(tables.n1)
    n0 = _or_one(tables.n0)
    third = p1 * q1 * (q1 - p1) / n1**2
    third_reference = p0 * q0 * (q0 - p0) / n0**2
    if contrast != "odds_ratio":
        factor, factor_of_reference = tables.terms(theta_of_stratum, contrast)
        third = factor**3 * third - factor_of_reference**3 * third_reference
    else:
        third = _third_moment_of_odds_ratio(rates, theta_of_stratum, n1, n0, third, third_reference)
    weight = tables.weight
    spread = np.sqrt((weight**2 * variance).sum(axis=-1))
    with np.errstate(divide="ignore", invalid="ignore"):
        gamma = (weight**3 * third).sum(axis=-1) / spread**3
    return np.asarray(np.where(spread > 0, gamma, 0.0))


def _third_moment_of_odds_ratio(
    rates: Rates,
    theta: Floats,
    n1: Floats,
    n0: Floats,
    third: Floats,
    third_reference: Floats,
) -> Floats:
    """E[S³] of S = aA − bB + δAB, from the second and third moments of both rates."""
    # S = aA − bB + δAB with the deviations A = r₁ − p₁ and B = r₀ − p₀, δ = θ − 1
    p1, q1, p0, q0 = rates
    a = q0 + theta * p0
    b = p1 + theta * q1
    delta = theta - 1
    variance = p1 * q1 / n1
    variance_reference = p0 * q0 / n0
    unmixed = a**3 * third - b**3 * third_reference + delta**3 * third * third_reference
    mixed = a * third * variance_reference - b * variance * third_reference
    return unmixed + 3 * delta**2 * mixed - 6 * a * b * delta * variance * variance_reference


def guarded_statistic(tables: Strata, theta: ArrayLike, contrast: Contrast) -> Floats:
    """z(θ), or the normal quantile of the gamma law's tail probability where that is nearer to
    0.
    """
    rates = constrained_rates(tables, theta, contrast)
    score, variance = score_parts(tables, theta, contrast, rates)
    z = _standardise(tables.weight, score, variance)
    gamma = _skewness_of(tables, theta, contrast, rates, variance)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        shape = 4 / gamma**2
        # of z in the gamma law; mirrored where γ < 0
        place = np.maximum(shape + 2 * z / gamma, 0.0)
        beyond = np.where((gamma > 0) == (z > 0), gammaincc(shape, place), gammainc(shape, place))
        corrected = -ndtri(np.minimum(beyond, 0.5))
    has_skewness = (np.abs(gamma) > LEAST_SKEWNESS) & np.isfinite(z)
    size = np.where(has_skewness, np.minimum(np.abs(z), corrected), np.abs(z))
    return np.asarray(np.copysign(size, z))


def mantel_haenszel(tables: Strata, contrast: Contrast) -> Floats:
    """The estimate of Mantel and Haenszel, where z is 0.

    NaN for 0/0 and where no stratum has both groups.
    """
    weight = tables.weight
    if contrast == "difference":
        numerator = (weight * (tables.rate1 - tables.rate_of_reference)).sum(axis=-1)
        denominator = weight.sum(axis=-1)
    elif contrast == "ratio":
        numerator = (weight * tables.rate1).sum(axis=-1)
        denominator = (weight * tables.rate_of_reference).sum(axis=-1)
    else:
        numerator = (weight * tables.rate1 * (1 - tables.rate0)).sum(axis=-1)
        denominator = (weight * tables.rate0 * (1 - tables.rate1)).sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(numerator / denominator)


def standard_error(tables: Strata, contrast: Contrast) -> Floats:
    """Of the estimate of Mantel and Haenszel: √(Σ w² V(θ̂)) / |Σ w ∂S/∂θ|.

    NaN where the estimate is 0 or infinite.
    """
    estimate = mantel_haenszel(tables, contrast)
    usable = np.isfinite(estimate)
    if contrast != "difference":
        usable = usable & (estimate > 0)
    _, variance = score_parts(tables, np.where(usable, estimate, EQUALITY[contrast]), contrast)
    weight = tables.weight
    slope = weight
    if contrast == "ratio":
        slope = weight * tables.rate_of_reference
    elif contrast == "odds_ratio":
        slope = weight * tables.rate0 * (1 - tables.rate1)
    with np.errstate(divide="ignore", invalid="ignore"):
        std_error = np.sqrt((weight**2 * variance).sum(axis=-1)) / slope.sum(axis=-1)
    return np.asarray(np.where(usable, std_error, np.nan))


def least_expected(tables: Strata) -> Floats:
    """Least of the successes and failures of both groups that equal rates let expect over all
    strata, shape (…).
    """
    total = np.maximum(tables.n1 + tables.n0, 1)
    pooled = np.where(tables.shared, (tables.k1 + tables.k0) / total, 0.0)
    failing = np.where(tables.shared, 1 - pooled, 0.0)
    numbers = []
    for n in (tables.n1, tables.n0):
        for share in (pooled, failing):
            numbers.append((n * share).sum(axis=-1))
    return np.asarray(np.minimum.reduce(numbers))


def fewest_cases(tables: Strata) -> Floats:
    """Cases of the smaller group in the strata that both share, shape (…)."""
    of_group = np.where(tables.shared, tables.n1, 0.0).sum(axis=-1)
    of_reference = np.where(tables.shared, tables.n0, 0.0).sum(axis=-1)
    return np.asarray(np.minimum(of_group, of_reference))


def adjusted_rates(tables: Strata) -> tuple[Floats, Floats]:
    """Σwr₁/Σw and Σwr₀/Σw: their ratio and difference are those of Mantel and Haenszel."""
    weight = tables.weight
    with np.errstate(divide="ignore", invalid="ignore"):
        rate1 = (weight * tables.rate1).sum(axis=-1) / weight.sum(axis=-1)
        rate0 = (weight * tables.rate_of_reference).sum(axis=-1) / weight.sum(axis=-1)
    return rate1, rate0


def score_limit(
    tables: Strata,
    critical: ArrayLike,
    contrast: Contrast,
    *,
    side: int,
    guarded: bool = False,
    scale_of_statistic: Callable[[Floats], Floats] | None = None,
    between: tuple[Floats | None, Floats | None] = (None, None),
) -> Floats:
    """Lower (side −1) or upper (side 1) end of {θ .

    |z(θ)| ≤ critical}, shape (…), of the guarded statistic if asked; `scale_of_statistic`: what it
    is multiplied by, at every θ; `between`: ends at a smaller and at a larger critical value, where
    they are known, of differences.

    Of a ratio or odds ratio in [0, ∞], of a difference in [−1, 1]; the whole range where no stratum
    has both groups.
    """
    unscaled = guarded_statistic if guarded else score_statistic

    def statistic(tables: Strata, theta: ArrayLike, contrast: Contrast) -> Floats:
        z = unscaled(tables, theta, contrast)
        if scale_of_statistic is None:
            return z
        return np.asarray(z * scale_of_statistic(np.asarray(theta, dtype=np.float64)))

    estimate = mantel_haenszel(tables, contrast)
    critical = np.broadcast_to(np.asarray(critical, dtype=np.float64), estimate.shape)
    if contrast == "difference":
        nearer, farther = between
        outer = np.full(estimate.shape, float(side)) if farther is None else farther
        open_end = ~(side * statistic(tables, outer, contrast) < -critical)
        inner = np.where(np.isfinite(estimate), estimate, 0.0)
        if nearer is not None:
            inner = nearer
        scale: Callable[[Floats], Floats] = _keep_scale
    else:
        outer = np.full(estimate.shape, side * LOG_SPAN)
        # nothing bounds a ratio above without successes of the reference, or below without any of
        # the group
        open_end = np.isnan(estimate) | (estimate == (np.inf if side > 0 else 0.0))
        with np.errstate(divide="ignore"):
            inner = np.clip(
                np.log(np.where(np.isnan(estimate), 1.0, estimate)), -LOG_SPAN, LOG_SPAN
            )
        scale = np.exp
    outermost = outer
    if contrast != "difference":
        outermost = np.full(estimate.shape, np.inf if side > 0 else 0.0)
    ends = np.where(open_end, outermost, np.nan)
    searched = np.flatnonzero(~open_end)
    if searched.size:
        flat = flattened(tables).at(searched)
        target = -side * critical.ravel()[searched]

        def excess(x: Floats, rows: NDArray[np.intp]) -> Floats:
            z = statistic(flat.at(rows), scale(x), contrast)
            return np.asarray(np.clip(z, -1e6, 1e6) - target[rows])

        limit = scale(find_roots(excess, inner.ravel()[searched], outer.ravel()[searched]))
        ends = ends.ravel()
        ends[searched] = limit
        ends = ends.reshape(estimate.shape)
    return ends


def _keep_scale(x: Floats) -> Floats:
    return x


def stacked(several: Sequence[Strata]) -> Strata:
    """Tables of the same strata above each other, shape (M, H) of M of the shape (H,)."""
    columns: dict[str, Any] = {}
    for name in ("k1", "n1", "k0", "n0", "sizes", "share"):
        of_tables = [getattr(tables, name) for tables in several]
        columns[name] = None if of_tables[0] is None else np.stack(of_tables)
    return Strata(**columns)


def flattened(tables: Strata) -> Strata:
    """The same tables in one row after the other, shape (J, H)."""
    size = int(np.prod(tables.k1.shape[:-1], dtype=np.int64))
    columns = (tables.k1, tables.n1, tables.k0, tables.n0)
    flat = Strata(*(column.reshape(size, column.shape[-1]) for column in columns))
    for name in ("sizes", "share"):
        column = getattr(tables, name)
        if column is not None:
            flat = replace(flat, **{name: column.reshape(size, -1)})
    return flat


def find_roots(
    excess: Callable[[Floats, NDArray[np.intp]], Floats], first: Floats, last: Floats
) -> Floats:
    """Roots of many functions, each between its ends, by the method of Chandrupatla (1997).

    Inverse quadratic interpolation where it is safe, else bisection; `excess` takes places and the
    numbers of the functions. Where both ends have the same sign the root is beyond the last, which
    is the answer.
    """
    rows = np.arange(first.size)
    a = last.astype(np.float64)
    b = first.astype(np.float64)
    fa = excess(a, rows)
    fb = excess(b, rows)
    answer = np.where(fb == 0, b, a)
    open_rows = rows[(np.sign(fa) != np.sign(fb)) & (fa != 0) & (fb != 0)]
    a = a[open_rows]
    b = b[open_rows]
    fa = fa[open_rows]
    fb = fb[open_rows]
    c = a
    fc = fa
    t = np.full(open_rows.size, 0.5)
    for _ in range(MOST_STEPS):
        if not open_rows.size:
            break
        x = a + t * (b - a)
        fx = excess(x, open_rows)
        same = np.sign(fx) == np.sign(fa)
        c = np.where(same, a, b)
        fc = np.where(same, fa, fb)
        b = np.where(same, b, a)
        fb = np.where(same, fb, fa)
        a = x
        fa = fx
        nearer = np.abs(fa) < np.abs(fb)
        best = np.where(nearer, a, b)
        answer[open_rows] = best
        width = np.abs(b - a)
        room = 0.5 * (4e-16 * np.abs(best) + 1e-16) / np.maximum(width, 1e-300)
        going = (room < 0.5) & (np.where(nearer, fa, fb) != 0)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ratio = (a - b) / (c - b)
            height = (fa - fb) / (fc - fb)
            safe = (height**2 < ratio) & ((1 - height) ** 2 < 1 - ratio)
            step = fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (
                fc - fb
            )
        t = np.where(safe & np.isfinite(step), step, 0.5)
        t = np.clip(t, room, 1 - room)
        kept = (going, open_rows, a, b, c, fa, fb, fc, t)
        open_rows, a, b, c, fa, fb, fc, t = (column[going] for column in kept[1:])
    return answer
