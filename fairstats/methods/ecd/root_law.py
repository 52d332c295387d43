"""The law of the signed root of the likelihood ratio of two return levels, near each difference
that is asked about.

For a difference δ the root is r(δ) = sign(δ̂ − δ)·√D(δ), with D(δ) twice the fall of the
log-likelihood from its maximum to its maximum under δ. In small tails r(δ) is not standard normal:
its mean μ and standard deviation s are those in samples of the tails that are most likely *under
δ*. Those of the free fit will not do: where a small tail is taken for much lighter than it is, they
are far too sure (size .09 to .15 where the constrained ones have .05 to .065).

They are functions of the two tails under δ. With k exceedances, shape ξ and s = log(mλ) of a tail,
a(k, ξ, s)/√k and v(k, ξ, s) are mean and variance of the root of *its* level. With e its level's
standard error and ρ₁ = e₁/√(e₁² + e₂²), ρ₂ likewise, the root of the difference of two levels has

    μ  = ρ₁·a₁/√k₁ − ρ₂·a₂/√k₂ + ρ₁ρ₂·(ρ₂·b₁/√k₁ − ρ₁·b₂/√k₂),
    s² = ρ₁²·v₁ + ρ₂²·v₂ + ρ₁²ρ₂²·(c₁/k₁ + c₂/k₂):

the signed distance of a point from a line that is bent by what the levels are skewed. a and v are
tables, b(ξ, s) and c(ξ, s) least squares (`tests/calibration/contrast_roots.py` simulates them).
They are taken at three differences, the estimate and those with r = ±2, and are linear in r
between: z(r) = (r − μ(r))/s(r) is then a function of the root alone, which gives p-values and,
inverted, ends.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairstats.methods.ecd.level_curve import CurveContrast, LevelCurve
from fairstats.methods.ecd.root_tables import (
    BEND_OF_MEAN,
    BEND_OF_VARIANCE,
    KNOTS_OF_BEND,
    KNOTS_OF_EXCEEDANCES,
    KNOTS_OF_PERIOD,
    KNOTS_OF_SHAPE,
    MEAN,
    SHAPES_OF_BEND,
    VARIANCE,
)
from fairstats.numerics.evt.distributions import (
    Floats,
    Rows,
    power_ratio,
    power_ratio_shape_derivative,
)

#: Roots at whose differences the law is asked for, beside the estimate.
_NODE = 2.0
#: Below this shape the information about ξ is not finite.
_REGULAR = -0.45
#: Least variance that least squares may extrapolate to.
_LEAST_VARIANCE = 0.36


@dataclass(frozen=True)
class TailsUnder:
    """One group's tails under Q differences: `exceedances`, k of `total` values; `scale`, `shape`
    and `log_rate`, shape (Q,); `log_period`, log m.
    """

    exceedances: int
    total: float
    log_period: float
    scale: Floats
    shape: Floats
    log_rate: Floats

    @classmethod
    def of_curve(cls, curve: LevelCurve, levels: Floats) -> TailsUnder:
        """The tails that are most likely with these levels."""
        scale, shape, log_rate = curve.law_at(levels)
        return cls(
            exceedances=curve.exceedances,
            total=curve.total,
            log_period=curve.log_period,
            scale=scale,
            shape=shape,
            log_rate=log_rate,
        )

    @property
    def reach(self) -> Floats:
        """S = log(mλ)."""
        return self.log_rate + self.log_period

    @property
    def known_shape(self) -> Floats:
        """ξ, or the least at which the information about it is finite."""
        return np.maximum(self.shape, _REGULAR)

    def level_partials(self) -> tuple[Floats, Floats, Floats]:
        """∂h/∂σ, ∂h/∂ξ and ∂h/∂log λ of the level h = u + σ·((mλ)^ξ − 1)/ξ."""
        in_scale = power_ratio(self.reach, self.shape)
        in_shape = self.scale * power_ratio_shape_derivative(self.reach, self.shape)
        in_rate = self.scale * np.exp(self.shape * self.reach)
        return in_scale, in_shape, in_rate

    def level_error(self) -> Floats:
        """Standard error of the level of m observations, by the expected information.

        Var(σ̂, ξ̂) = (1 + ξ)/k · [2σ², −σ; −σ, 1 + ξ], Var(log λ̂) = (1 − λ)/k.
        """
        shape = self.known_shape
        in_scale, in_shape, in_rate = self.level_partials()
        of_excesses = (1.0 + shape) * (
            2.0 * (self.scale * in_scale) ** 2
            - 2.0 * self.scale * in_scale * in_shape
            + (1.0 + shape) * in_shape**2
        )
        of_rate = in_rate**2 * -np.expm1(self.log_rate)
        return np.asarray(np.sqrt((of_excesses + of_rate) / self.exceedances))

    def root_moments(self) -> tuple[Floats, Floats]:
        """Mean and variance of the signed root of the level alone."""
        mean = interpolated(MEAN, self.exceedances, self.shape, self.reach)
        variance = interpolated(VARIANCE, self.exceedances, self.shape, self.reach)
        # beyond the last knot the variance comes near to 1 as 1/k does
        share = min(KNOTS_OF_EXCEEDANCES[-1] / self.exceedances, 1.0)
        return mean / np.sqrt(self.exceedances), 1.0 + (variance - 1.0) * share

    def bends(self) -> tuple[Floats, Floats]:
        """b/√k and c/k: what the level adds to mean and variance of a difference."""
        xi = np.clip(self.shape, *SHAPES_OF_BEND)
        powers = np.stack([np.ones_like(xi), xi, xi**2], -1)
        mean, variance = (
            np.sum(
                powers
                * np.stack(
                    [
                        np.interp(self.reach, KNOTS_OF_BEND, column)
                        for column in np.transpose(table)
                    ],
                    -1,
                ),
                axis=-1,
            )
            for table in (BEND_OF_MEAN, BEND_OF_VARIANCE)
        )
        return mean / np.sqrt(self.exceedances), variance / self.exceedances


def contrast_moments(first: TailsUnder, second: TailsUnder) -> tuple[Floats, Floats]:
    """Mean and standard deviation of the signed root of a difference of levels, each (Q,)."""
    errors = np.stack([first.level_error(), second.level_error()])
    share_first, share_second = errors / np.hypot(errors[0], errors[1])
    mean_first, variance_first = first.root_moments()
    mean_second, variance_second = second.root_moments()
    bend_first, spread_first = first.bends()
    bend_second, spread_second = second.bends()
    both = share_first * share_second
    mean = share_first * mean_first - share_second * mean_second
    mean = mean + both * (share_second * bend_first - share_first * bend_second)
    variance = share_first**2 * variance_first + share_second**2 * variance_second
    variance = variance + both**2 * (spread_first + spread_second)
    return mean, np.sqrt(np.maximum(variance, _LEAST_VARIANCE))


def interpolated(table: Floats, exceedances: int, shape: Floats, reach: Floats) -> Floats:
    """Values of a table, linear in 1/√k, ξ and s between its knots, and constant beyond."""
    few = -1.0 / np.sqrt(np.asarray([exceedances], dtype=np.float64))
    ranks = -1.0 / np.sqrt(np.asarray(KNOTS_OF_EXCEEDANCES, dtype=np.float64))
    in_k, share_k = _cell_of(few, ranks)
    at_k = table[in_k[0]] + share_k[0] * (table[in_k[0] + 1] - table[in_k[0]])
    in_shape, share_shape = _cell_of(shape, np.asarray(KNOTS_OF_SHAPE))
    in_reach, share_reach = _cell_of(reach, np.asarray(KNOTS_OF_PERIOD))
    low = at_k[in_shape, in_reach] + share_reach * (
        at_k[in_shape, in_reach + 1] - at_k[in_shape, in_reach]
    )
    high = at_k[in_shape + 1, in_reach] + share_reach * (
        at_k[in_shape + 1, in_reach + 1] - at_k[in_shape + 1, in_reach]
    )
    return np.asarray(low + share_shape * (high - low))


def _cell_of(values: Floats, knots: Floats) -> tuple[Rows, Floats]:
    """Knots below the values, and the shares of the way to the next; ends for what lies beyond."""
    inside = np.clip(values, knots[0], knots[-1])
    below = np.clip(np.searchsorted(knots, inside) - 1, 0, knots.size - 2).astype(np.intp)
    return below, (inside - knots[below]) / (knots[below + 1] - knots[below])


@dataclass(frozen=True)
class RootLaw:
    """Mean and standard deviation of the signed root, each of shape (Q,), at ascending roots.

    Linear between them.
    """

    roots: Floats
    means: Floats
    deviations: Floats

    @classmethod
    def of_contrast(cls, contrast: CurveContrast, farthest: float) -> RootLaw:
        """At the estimate and where the root is ±2; differences lie within ±`farthest`."""
        sides = np.array([1.0, -1.0])  # the root falls in the difference
        ends = contrast.ends(sides, np.full(2, _NODE), farthest=farthest)
        differences = np.array([ends[0], contrast.estimate, ends[1]])
        deviances, levels = contrast.lowest(differences)
        roots = np.copysign(np.sqrt(deviances), contrast.estimate - differences)
        roots[1] = 0.0
        first = TailsUnder.of_curve(contrast.first, levels + differences)
        second = TailsUnder.of_curve(contrast.second, levels)
        means, deviations = contrast_moments(first, second)
        # where both ends lie beyond what a difference can be, their roots are near 0
        apart = (np.abs(roots) > 0.1) | (np.arange(3) == 1)
        return cls(roots[apart], means[apart], deviations[apart])

    def stretched(self, design_effect: float) -> RootLaw:
        """The law where so many rows know as much as one independent row (`clusters`)."""
        return RootLaw(
            roots=self.roots,
            means=self.means * design_effect,
            deviations=self.deviations * np.sqrt(design_effect),
        )

    def moments(self, root: float) -> tuple[float, float]:
        """Mean and standard deviation where the root of the data is `root`."""
        mean = float(np.interp(root, self.roots, self.means))
        deviation = float(np.interp(root, self.roots, self.deviations))
        return mean, deviation

    def standardised(self, root: float) -> float:
        """The standardised root, z."""
        mean, deviation = self.moments(root)
        return (root - mean) / deviation

    def root_of(self, z: float) -> float:
        """The root whose z is this; z rises with the root and is a ratio of lines between nodes."""
        at_nodes = (self.roots - self.means) / self.deviations
        after = int(np.searchsorted(at_nodes, z))
        if after in (0, self.roots.size):
            beyond = min(after, self.roots.size - 1)
            return float(self.means[beyond] + z * self.deviations[beyond])
        # r = μ + z·s with μ and s linear in r between the two nodes
        width = self.roots[after] - self.roots[after - 1]
        in_mean = (self.means[after] - self.means[after - 1]) / width
        in_deviation = (self.deviations[after] - self.deviations[after - 1]) / width
        fixed = self.means[after - 1] + z * self.deviations[after - 1]
        fixed = fixed - (in_mean + z * in_deviation) * self.roots[after - 1]
        return float(fixed / (1.0 - in_mean - z * in_deviation))
