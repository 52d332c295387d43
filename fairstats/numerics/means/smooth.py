"""Contrasts that are smooth functions of sums over sampling units: studentised bootstrap.

A unit u (a row, or a cluster of rows) of a group has the sums t_u = Σ w·c of some columns c of its
rows, and a group the totals T_g = Σ t_u. A contrast is a function θ of the totals of two sides, of
which each is a sum of groups. With the gradient ∂_g of θ in T_g,

    V = Σ_g u_g/(u_g − 1) Σ_u (∂_g·(t_u − t̄_g))²

is the variance by the delta method. Each resample draws the units of every group by themselves and
computes θ* and V* anew: T* = (θ* − θ)/√V* (Hall 1988, Annals of Statistics 16, 927–953). V* needs
the sums of the products of the columns only, so that a resample costs one product of a vector of
how often each unit was drawn with a table of the units.

Where θ is a ratio of squares, as R² is, V is too small while few units have shown their tail. The
jackknife, which asks what θ would be without each unit (Efron and Stein 1981, Annals of Statistics
9, 586–596),

    V_J = Σ_g (u_g − 1)/u_g Σ_u (θ_(−u) − mean of these)²,

is larger there, and takes the place of V in the sample, not in the resamples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats
from fairstats.ground.progress import each_of
from fairstats.numerics.means.resampling import Draws


class SmoothContrast(Protocol):
    """A function of the totals of two sides, or of the strata of both."""

    @property
    def n_columns(self) -> int:
        """Columns whose totals it takes."""

    def value(self, totals: Floats) -> Floats:
        """Of totals, shape (…, 2, p); NaN where it has none."""

    def gradient(self, totals: Floats) -> Floats:
        """Of the value in the totals, shape (…, 2, p)."""


#: Two sides of one stratum each.
_TWO_SIDES = np.ones(2)


@dataclass(frozen=True, eq=False)
class StandardisedDifference:
    """(m₁ − m₀)/√((s₁² + s₀²)/2): the difference of means in standard deviations.

    Columns: the weight, and its product with x and x². s² are variances with the divisor n, so that
    they are functions of the totals. Within strata m = Σ ω·m_h and s² = Σ ω·c·s_h²: `shares` are
    the ω of the strata of the group and then of its reference, `spreads` the ω·c; then totals have
    the shape (…, 2H, p).
    """

    shares: Floats = field(default_factory=_TWO_SIDES.copy)
    spreads: Floats = field(default_factory=_TWO_SIDES.copy)
    n_columns: int = 3

    def _signed(self) -> Floats:
        return np.repeat([1.0, -1.0], self.shares.size // 2) * self.shares

    def value(self, totals: Floats) -> Floats:
        """Of the totals of both sides."""
        mean, variance = _mean_and_variance(totals)
        pooled = variance @ self.spreads / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            scaled = mean @ self._signed() / np.sqrt(pooled)
        return np.asarray(np.where(pooled > 0, scaled, np.nan))

    def gradient(self, totals: Floats) -> Floats:
        """∂d/∂m = ±ω/s and ∂d/∂s_h² = −d·ω·c/(4 s²), by the chain rule."""
        mean, variance = _mean_and_variance(totals)
        pooled = (variance @ self.spreads / 2)[..., None]
        distance = self.value(totals)[..., None]
        with np.errstate(divide="ignore", invalid="ignore"):
            by_mean = self._signed() / np.sqrt(pooled)
            by_variance = -distance * self.spreads / (4 * pooled)
            weight = totals[..., 0]
            by_square = by_variance / weight
            by_sum = by_mean / weight - 2 * mean * by_square
            by_weight = -by_mean * mean / weight + by_variance * (mean**2 - variance) / weight
        return np.stack([by_weight, by_sum, by_square], axis=-1)


@dataclass(frozen=True, eq=False)
class DeterminationDifference:
    """R²₁ − R²₀, each 1 − Σ w(y − f)²/Σ w(y − ȳ)²; of `single`, that of the first side alone.

    Columns: the weight, and its product with y, y² and the squared error. Within strata 1 − Σ ω·e_h
    / Σ ω·c·s_h², e_h the mean squared error and s_h² the variance in a stratum; `shares`, `spreads`
    as in `StandardisedDifference`.
    """

    single: bool = False
    shares: Floats = field(default_factory=_TWO_SIDES.copy)
    spreads: Floats = field(default_factory=_TWO_SIDES.copy)
    n_columns: int = 4

    def _sides(self) -> NDArray[np.float64]:
        return np.array([1.0, 0.0 if self.single else -1.0])

    def _by_side(self, of_strata: Floats) -> Floats:
        """Sums over the strata of either side, shape (…, 2)."""
        halves = of_strata.reshape((*of_strata.shape[:-1], 2, -1))
        return np.asarray(halves.sum(axis=-1))

    def _losses_and_spreads(self, totals: Floats) -> tuple[Floats, Floats]:
        """Mean squared error and variance of every side, the latter NaN where it is none."""
        mean, variance = _mean_and_variance(totals)
        with np.errstate(divide="ignore", invalid="ignore"):
            losses = self._by_side(self.shares * totals[..., 3] / totals[..., 0])
            largest = self._by_side(self.spreads * (1 + mean**2))
        spread = self._by_side(self.spreads * variance)
        return losses, np.where(spread > 1e-12 * largest, spread, np.nan)

    def determination(self, totals: Floats) -> Floats:
        """R² of every side, NaN where the outcome does not vary."""
        losses, spread = self._losses_and_spreads(totals)
        return np.asarray(1 - losses / spread)

    def value(self, totals: Floats) -> Floats:
        """Of the totals of both sides."""
        determination = self.determination(totals)
        if self.single:
            return np.asarray(determination[..., 0])
        return np.asarray(determination[..., 0] - determination[..., 1])

    def gradient(self, totals: Floats) -> Floats:
        """By the quotient rule, of 1 − N/D: −∂N/D + N·∂D/D²."""
        mean, variance = _mean_and_variance(totals)
        losses, spread = self._losses_and_spreads(totals)
        n_strata = self.shares.size // 2
        with np.errstate(divide="ignore", invalid="ignore"):
            by_loss = np.repeat(-1 / spread, n_strata, axis=-1) * self.shares
            by_spread = np.repeat(losses / spread**2, n_strata, axis=-1) * self.spreads
            weight = totals[..., 0]
            by_error = by_loss / weight
            by_square = by_spread / weight
            by_sum = -2 * mean * by_square
            by_weight = (
                -by_loss * totals[..., 3] / weight + by_spread * (mean**2 - variance)
            ) / weight
            slopes = np.stack([by_weight, by_sum, by_square, by_error], axis=-1)
        sides = np.repeat(self._sides(), n_strata)
        return np.where(sides[:, None] != 0, slopes * sides[:, None], 0.0)


@dataclass(frozen=True, eq=False)
class OverStrata:
    """A contrast of strata whose units have rows in several: totals are of all strata of a side.

    `contrast`: of the strata that are used, `used`, shape (H,); totals have the shape (…, 2, H·p).
    """

    contrast: SmoothContrast
    used: NDArray[np.bool_]

    @property
    def n_columns(self) -> int:
        """Columns whose totals it takes."""
        return self.used.size * self.contrast.n_columns

    def _of_strata(self, totals: Floats) -> Floats:
        """Totals of the strata that are used, of the first side and then of the second."""
        columns = totals.shape[-1] // self.used.size
        apart = totals.reshape((*totals.shape[:-1], self.used.size, columns))
        kept = apart[..., self.used, :]
        return np.asarray(kept.reshape((*totals.shape[:-2], -1, columns)))

    def value(self, totals: Floats) -> Floats:
        """Of totals of both sides."""
        return self.contrast.value(self._of_strata(totals))

    def gradient(self, totals: Floats) -> Floats:
        """0 in what is not used."""
        columns = totals.shape[-1] // self.used.size
        slopes = self.contrast.gradient(self._of_strata(totals))
        n_used = int(self.used.sum())
        found = np.zeros((*totals.shape[:-1], self.used.size, columns))
        found[..., self.used, :] = slopes.reshape((*totals.shape[:-1], n_used, -1))
        return np.asarray(found.reshape(totals.shape))


def _mean_and_variance(totals: Floats) -> tuple[Floats, Floats]:
    """Of totals of w, w·x and w·x², shape (…, sides, p)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = totals[..., 1] / totals[..., 0]
        variance = totals[..., 2] / totals[..., 0] - mean**2
    return mean, np.maximum(variance, 0.0)


@dataclass(frozen=True, eq=False)
class UnitTable:
    """The units of one group: their sums, shape (u, p), and products of these, (u, p(p + 1)/2)."""

    sums: Floats
    products: Floats

    @classmethod
    def of(cls, sums: Floats) -> UnitTable:
        """Products of each pair of columns."""
        first, second = np.triu_indices(sums.shape[1])
        return cls(sums, sums[:, first] * sums[:, second])

    @property
    def size(self) -> int:
        """Number of units."""
        return len(self.sums)

    def scatter(self, totals: Floats, squares: Floats) -> Floats:
        """u/(u − 1)·Σ (t − t̄)(t − t̄)ᵀ, shape (…, p, p), of totals and sums of products."""
        n_columns = self.sums.shape[1]
        first, second = np.triu_indices(n_columns)
        matrix = np.empty((*totals.shape[:-1], n_columns, n_columns))
        matrix[..., first, second] = squares
        matrix[..., second, first] = squares
        matrix -= totals[..., :, None] * totals[..., None, :] / self.size
        return np.asarray(matrix * (self.size / max(self.size - 1, 1)))


@dataclass(frozen=True, eq=False)
class GroupTotals:
    """Totals of every group, shape (…, G, p), and the scatter of their units, (…, G, p, p)."""

    totals: Floats
    scatter: Floats


def strata_kept_unbiased(units: Floats) -> Floats:
    """Factors c of variances with the divisor n in strata of so many units, shape (H,).

    n/(n − 1) by N/(N − 1), N = Σ n: then Σ ω·c·s² lacks as little as the variance of N units, and
    that of one stratum is what it is.
    """
    total = float(units.sum())
    return units / (units - 1) * ((total - 1) / total)


def sample_totals(groups: Sequence[UnitTable]) -> GroupTotals:
    """Of the sample itself."""
    totals = []
    scatter = []
    for units in groups:
        total = units.sums.sum(axis=0)
        totals.append(total)
        scatter.append(units.scatter(total, units.products.sum(axis=0)))
    return GroupTotals(np.stack(totals), np.stack(scatter))


def draw_totals(
    groups: Sequence[UnitTable], n_resamples: int, rng: np.random.Generator
) -> GroupTotals:
    """Of resamples of the units of every group."""
    totals = []
    scatter = []
    for units in groups:
        n_columns = units.sums.shape[1]
        table = np.concatenate([units.sums, units.products], axis=1)
        drawn = np.empty((n_resamples, table.shape[1]))
        for draw in each_of(range(n_resamples), "bootstrap"):
            places = rng.integers(0, units.size, units.size)
            drawn[draw] = np.bincount(places, minlength=units.size) @ table
        total = drawn[:, :n_columns]
        totals.append(total)
        scatter.append(units.scatter(total, drawn[:, n_columns:]))
    return GroupTotals(np.stack(totals, axis=1), np.stack(scatter, axis=1))


def contrast_with_variance(
    contrast: SmoothContrast, groups: GroupTotals, mix: Floats
) -> tuple[Floats, Floats]:
    """θ and its variance; `mix`, shape (2, G): how often each side counts each group.

    Within strata of both sides (2H, G), the groups then being crossings.
    """
    sides = np.einsum("sg,...gp->...sp", mix, groups.totals)
    by_group = np.einsum("sg,...sp->...gp", mix, contrast.gradient(sides))
    used = (mix != 0).any(axis=0)
    variance = np.einsum(
        "...gp,...gpq,...gq->...",
        by_group[..., used, :],
        groups.scatter[..., used, :, :],
        by_group[..., used, :],
    )
    return contrast.value(sides), np.maximum(variance, 0.0)


def jackknife_variance(
    contrast: SmoothContrast, groups: Sequence[UnitTable], sample: GroupTotals, mix: Floats
) -> float:
    """V_J; NaN where θ has no value without some unit."""
    sides = np.einsum("sg,gp->sp", mix, sample.totals)
    variance = 0.0
    for group, units in enumerate(groups):
        counted = mix[:, group]
        if not counted.any():
            continue
        without = sides - counted[:, None] * units.sums[:, None, :]
        values = contrast.value(without)
        deviations = values - values.mean()
        variance += float((deviations**2).sum()) * (units.size - 1) / units.size
    return variance


def draws_of_contrast(
    contrast: SmoothContrast,
    sample: GroupTotals,
    resamples: GroupTotals,
    mix: Floats,
    units: Sequence[UnitTable] | None = None,
) -> Draws:
    """The contrast of the sample and of its resamples, with the variances of all.

    `units`: of every group, where the variance of the sample is that of the jackknife.
    """
    value, variance = contrast_with_variance(contrast, sample, mix)
    if units is not None:
        variance = np.asarray(jackknife_variance(contrast, units, sample, mix))
    values, variances = contrast_with_variance(contrast, resamples, mix)
    return Draws(
        value=float(value),
        variance=float(variance),
        values=np.where(variances > 0, values, np.nan),
        variances=np.where(variances > 0, variances, np.nan),
        changes=np.zeros(0),
    )
