"""How the signed root of the likelihood ratio of two return levels is distributed, and what
`fs.ecd` makes of it: `python -m tests.calibration.contrast_roots`.

Three things, all from tails that are exactly generalised Pareto above the (k + 1)-th largest of N:

* the tables of `fairstats.methods.ecd.root_law` (and `r/R/tails.R`): mean and variance of the
  signed root of *one* level at knots of (k, ξ, s), and what a difference of two levels adds, by
  least squares over pairs drawn at random. The record is `results/contrast_roots.json`.
* the size of the standardised root of equal laws, many samples at once (`sizes_of`), of which a test
  says that it is `fs.ecd`'s own.
* the quick likelihood that both rest on. With θ = ξ/σ, ν = 1/σ and D̄(θ) the mean of
  log(1 + θy)/θ over the excesses y, the negative log-likelihood of k of N values is

      F(θ, ν, λ) = k[−log ν + (θ + ν)·D̄(θ)] − k log λ − (N − k) log(1 − λ),

  and a level d above the threshold ties log(mλ) = ν·log(1 + θd)/θ. θ runs over a grid on which D̄ is
  found once, ν has Newton's method, the least over θ is that of a parabola through three points; the
  root is right to about .02.
"""

from __future__ import annotations

import json
import math
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from fairstats.methods.ecd.root_law import TailsUnder, contrast_moments
from fairstats.methods.ecd.root_tables import (
    KNOTS_OF_BEND,
    KNOTS_OF_EXCEEDANCES,
    KNOTS_OF_PERIOD,
    KNOTS_OF_SHAPE,
    SHAPES_OF_BEND,
)
from fairstats.numerics.evt.bootstrap import condense_ranks
from fairstats.numerics.evt.distributions import Floats, Rows, power_ratio
from fairstats.numerics.evt.fit import EvtFit

#: What the tables were made of. Its pairs are of this study's first run, with 28 points of θ, 600 to
#: 1,500 samples each, and shapes from −.8 to .75.
RECORD = Path(__file__).with_name("results") / "contrast_roots.json"
#: Points of the grid of θ, and of that of the level, which is laid twice.
_POINTS = 40
_LEVELS = 5
_ZOOMS = 2
#: Steps of Newton's method for ν.
_STEPS = 8
#: Shapes that the grid may reach: an end point at the largest excess, and the heaviest tail with a
#: mean.
_LIGHTEST = -1.5
_HEAVIEST = 0.95
#: Least distance of the end point from the largest excess, as a share of it, that the grid has
#: beside ξ = −1.
_NEAREST = 5e-4
_NEAREST_OF_HEAVY = 1e-2
#: Where a neighbour on a grid lies so far above the least, a parabola through both says nothing.
_STEEP = 2.0
#: Stands for infinity where the arithmetic has to go on.
_OUTSIDE = 1e9
_M = 1_000.0


@dataclass(frozen=True)
class TailLaw:
    """Generalised Pareto tails above a threshold.

    Scale, shape, and rate of exceedances, each of shape (P,).
    """

    scale: Floats
    shape: Floats
    rate: Floats


@dataclass(frozen=True)
class Tails:
    """P samples of excesses of one group, with their likelihood on a grid of θ, in units of their
    mean excess.

    `count`: k; `total`: N; `log_period`: log m. Of shape (P,): `threshold`, `unit`, `largest`
    (excess), `lowest` (value of the likelihood), `level` and the fitted `shape`. `theta`,
    `mean_log`: θ and D̄(θ), shape (P, G).
    """

    count: int
    total: int
    log_period: float
    threshold: Floats
    unit: Floats
    largest: Floats
    lowest: Floats
    level: Floats
    shape: Floats
    theta: Floats
    mean_log: Floats

    @classmethod
    def of_fit(cls, fit: EvtFit, m: float, copies: int) -> Tails:
        """The excesses of a fit, so many times."""
        excess = np.sort(np.asarray(fit.sample) - fit.origin)[::-1]
        one = cls.of(excess[None, :], np.array([fit.origin]), fit.n_total, m, np.array([fit.shape]))
        return one.take(np.zeros(copies, dtype=np.intp))

    @classmethod
    def of(cls, excesses: Floats, threshold: Floats, total: int, m: float, about: Floats) -> Tails:
        """Samples of excesses, descending, (P, k); `about`.

        Shapes near theirs, (P,), to lay the grid around.
        """
        count = excesses.shape[1]
        unit = excesses.mean(axis=1)
        largest = excesses[:, 0] / unit
        values, weights = condense_ranks(excesses / unit[:, None])
        theta = _grid_of_theta(np.clip(about, _LIGHTEST, 0.6), largest, count)
        mean_log = (np.log1p(theta[:, :, None] * values[:, None, :]) @ weights) / count / theta
        nu = np.maximum(1.0 / mean_log, -theta)
        free = count * ((theta + nu) * mean_log - np.log(nu))
        lowest, index = _least(free)
        edge = count * np.log(largest)  # ξ = −1: the end point is the largest excess
        at_edge = edge < lowest
        theta_hat = np.where(at_edge, -1.0 / largest, _between(theta, index))
        nu_hat = np.where(at_edge, 1.0 / largest, _between(nu, index))
        shape = theta_hat / nu_hat
        reach = math.log(m * count / total)
        level = threshold + unit / nu_hat * power_ratio(np.full_like(shape, reach), shape)
        return cls(
            count=count,
            total=total,
            log_period=math.log(m),
            threshold=threshold,
            unit=unit,
            largest=largest,
            lowest=np.where(at_edge, edge, lowest)
            + _rate_term(math.log(count / total), count, total),
            level=level,
            shape=shape,
            theta=theta,
            mean_log=mean_log,
        )

    def take(self, rows: Rows) -> Tails:
        """Some of the samples."""
        arrays = {
            name: value for name, value in vars(self).items() if isinstance(value, np.ndarray)
        }
        chosen: dict[str, Any] = {name: values[rows] for name, values in arrays.items()}
        return replace(self, **chosen)

    def redrawn(self, law: TailLaw, rows: Rows, samples: int, rng: np.random.Generator) -> Tails:
        """The k + 1 largest of N values of each law: the threshold moves.

        The same random numbers for every law.
        """
        k = self.count
        laws = rows.size // samples
        ranks = np.arange(k, 0, -1.0)
        # Rényi: ordered exponentials are sums of exponentials over their ranks
        above = np.cumsum(rng.standard_exponential((samples, k)) / ranks, axis=1)[:, ::-1]
        survival = (
            rng.beta(k + 1.0, max(self.total - k, 1), samples)
            if self.total > k
            else np.ones(samples)
        )
        scale = law.scale[rows]
        shape = law.shape[rows]
        depth = np.log(law.rate[rows] / np.tile(survival, laws))
        moved = scale * power_ratio(depth, shape)
        values = scale[:, None] * power_ratio(
            depth[:, None] + np.tile(above, (laws, 1)), shape[:, None]
        )
        excesses = np.maximum(values - moved[:, None], 1e-300)
        return Tails.of(
            excesses, self.threshold[rows] + moved, self.total, math.exp(self.log_period), shape
        )

    def fall(self, levels: Floats) -> Floats:
        """Fall of the profile log-likelihood at levels of shape (P, J)."""
        value, _, _, _ = self._profile(levels)
        return value - self.lowest[:, None]

    def law_at(self, level: Floats) -> TailLaw:
        """The tail that is most likely with a level, shape (P,)."""
        _, theta, nu, log_rate = (x[:, 0] for x in self._profile(level[:, None]))
        scale = self.unit / nu
        shape = theta / nu
        # θ lies on the grid: the rate is that of the level with it
        reach = 1.0 + shape * (level - self.threshold) / scale
        with np.errstate(all="ignore"):
            exact = np.log(reach) / np.where(np.abs(shape) < 1e-9, 1e-9, shape) - self.log_period
        log_rate = np.where((reach > 1e-9) & np.isfinite(exact), exact, log_rate)
        return TailLaw(scale=scale, shape=shape, rate=np.exp(np.clip(log_rate, -30.0, -0.01)))

    def _profile(self, levels: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Least negative log-likelihood at the levels, and its θ, ν and log λ.

        All of shape (P, J).
        """
        k = self.count
        n = self.total
        tau = self.log_period
        d = (levels - self.threshold[:, None]) / self.unit[:, None]
        theta = self.theta[:, None, :]
        mean_log = self.mean_log[:, None, :]
        inside = 1.0 + theta * d[:, :, None]
        possible = inside > 1e-12
        v = np.log(np.where(possible, inside, 1.0)) / theta
        nu = self._best_nu(theta, mean_log, v)
        log_rate = np.minimum(nu * v - tau, -1e-9)
        value = k * ((theta + nu) * mean_log - np.log(nu)) + _rate_term(log_rate, k, n)
        value = np.where(possible, value, _OUTSIDE)
        least, _ = _least(value)
        at = value.argmin(axis=-1)[..., None]
        theta_at, nu_at, rate_at = (
            np.take_along_axis(np.broadcast_to(x, value.shape), at, axis=-1)[..., 0]
            for x in (theta, nu, log_rate)
        )
        # ξ = −1 with the end point at the largest excess
        top = np.broadcast_to(self.largest[:, None], d.shape)
        edge_rate = -np.log1p(-np.where(d < top, d, 0.0) / top) - tau
        on_edge = (d < top) & (edge_rate < -1e-9)
        edge_value = k * np.log(top) + _rate_term(np.minimum(edge_rate, -1e-9), k, n)
        lower = on_edge & (edge_value < least)
        return (
            np.where(lower, edge_value, least),
            np.where(lower, -1.0 / top, theta_at),
            np.where(lower, 1.0 / top, nu_at),
            np.where(lower, edge_rate, rate_at),
        )

    def _best_nu(self, theta: Floats, mean_log: Floats, v: Floats) -> Floats:
        """ν that minimises at fixed θ with log(mλ) = νv, by Newton's method in log ν.

        ξ ≥ −1 is ν ≥ −θ.
        """
        k = self.count
        n = self.total
        tau = self.log_period
        reach = math.log(math.exp(tau) * k / n)
        rising = v > 0
        safe = np.where(rising, v, 1.0)
        by_excesses = np.log(np.maximum(1.0 / mean_log, 1e-12))
        by_rate = np.where(rising & (reach > 0), np.log(max(reach, 1e-12) / safe), by_excesses)
        weight = reach * reach / (1.0 + reach * reach)
        least = np.log(np.maximum(-theta, 1e-12))
        most = np.where(rising, np.log((tau - 1e-6) / safe), 50.0)
        w = np.minimum(np.maximum((1.0 - weight) * by_excesses + weight * by_rate, least), most)
        for _ in range(_STEPS):
            nu = np.exp(w)
            reached = nu * v
            rate = np.exp(np.minimum(reached - tau, -1e-9))
            odds = (n - k) * rate / (1.0 - rate)
            slope = k * (nu * mean_log - 1.0) + (odds - k) * reached
            curvature = (
                k * nu * mean_log + (odds - k) * reached + odds / (1.0 - rate) * reached * reached
            )
            step = np.clip(slope / np.where(curvature > 0, curvature, float(k)), -1.0, 1.0)
            w = np.minimum(np.maximum(w - step, least), most)
        return np.asarray(np.exp(w))


def signed_roots(first: Tails, second: Tails, difference: Floats) -> Floats:
    """Signed root of the likelihood ratio of a difference of the levels in each pair of samples,
    shape (P,).
    """
    deviance, _ = _least_sum(first, second, difference, _ZOOMS)
    return np.copysign(np.sqrt(np.maximum(deviance, 0.0)), first.level - second.level - difference)


def constrained(first: Tails, second: Tails, difference: Floats) -> tuple[TailLaw, TailLaw]:
    """The two tails that are most likely with a difference of their levels."""
    _, level = _least_sum(first, second, difference, _ZOOMS + 1)
    return first.law_at(level + difference), second.law_at(level)


def _least_sum(
    first: Tails, second: Tails, difference: Floats, zooms: int
) -> tuple[Floats, Floats]:
    """Least deviance of both samples with a difference of levels, and the second's level there,
    shape (P,).

    It lies between the two estimates, and often next to that of the larger tail: the first grid is
    denser at its ends.
    """
    low = second.level
    high = first.level - difference
    at = np.broadcast_to(
        0.5 - 0.5 * np.cos(np.pi * np.linspace(0.0, 1.0, _LEVELS)), (low.size, _LEVELS)
    )
    least = np.full(low.size, np.inf)
    best = low
    for zoom in range(zooms):
        levels = low[:, None] + (high - low)[:, None] * at
        total = 2.0 * (first.fall(levels + difference[:, None]) + second.fall(levels))
        i = total.argmin(axis=1)[:, None]
        best = np.take_along_axis(levels, i, axis=1)[:, 0]
        last = zoom == zooms - 1
        least = np.minimum(least, _least(total)[0] if last else total.min(axis=1))
        left = np.take_along_axis(at, np.maximum(i - 1, 0), axis=1)
        right = np.take_along_axis(at, np.minimum(i + 1, _LEVELS - 1), axis=1)
        at = left + (right - left) * np.linspace(0.0, 1.0, _LEVELS)
    return least, best


def _rate_term(log_rate: Floats | float, count: int, total: int) -> Floats:
    """−k log λ − (N − k) log(1 − λ)."""
    rest = total - count
    if not rest:
        return np.asarray(-count * np.asarray(log_rate))
    return np.asarray(-count * np.asarray(log_rate) - rest * np.log(-np.expm1(log_rate)))


def _grid_of_theta(shape: Floats, largest: Floats, count: int) -> Floats:
    """θ, (P, G), even in log(1 + θ·largest), over five standard errors about each shape.

    Never 0.
    """
    error = np.maximum((1.0 + np.maximum(shape, -0.3)) / math.sqrt(count), 0.05)
    low = np.maximum(shape - 5.0 * error - 0.1, _LIGHTEST)
    high = np.minimum(shape + 5.0 * error + 0.1, _HEAVIEST)
    # the scale of a tail of mean excess 1 is 1 − ξ
    nearest = np.where(shape > 0.0, _NEAREST_OF_HEAVY, _NEAREST)
    least = np.log(np.maximum(1.0 + low / (1.0 - low) * largest, nearest))
    most = np.log1p(high / (1.0 - high) * largest)
    steps = np.linspace(0.0, 1.0, _POINTS)
    theta = np.expm1(least[:, None] + (most - least)[:, None] * steps) / largest[:, None]
    return np.where(np.abs(theta) < 1e-6, 1e-6, theta)


def _least(values: Floats) -> tuple[Floats, Floats]:
    """Least of values on an even grid, the last axis, by a parabola through three points, and its
    place on the grid.
    """
    i = np.clip(values.argmin(axis=-1), 1, values.shape[-1] - 2)[..., None]
    left, middle, right = (np.take_along_axis(values, i + j, axis=-1)[..., 0] for j in (-1, 0, 1))
    lowest = np.minimum(np.minimum(left, middle), right)
    bend = left - 2.0 * middle + right
    curved = (bend > 0) & (np.maximum(left, right) < middle + _STEEP)
    shift = np.clip(
        np.where(curved, 0.5 * (left - right) / np.where(curved, bend, 1.0), 0.0), -1.0, 1.0
    )
    fitted = np.where(curved, middle - 0.25 * (left - right) * shift, lowest)
    return np.minimum(fitted, lowest), i[..., 0] + shift


def _between(values: Floats, place: Floats) -> Floats:
    """Values at places between the points of a grid, (P, G) at (P,)."""
    left = np.clip(np.floor(place).astype(np.intp), 0, values.shape[-1] - 2)
    rows = np.arange(left.size)
    share = place - left
    return np.asarray(values[rows, left] * (1.0 - share) + values[rows, left + 1] * share)


# ---------------------------------------------------------------- tables of the package

_SAMPLES_OF_LEVELS = 4_000
_SAMPLES_OF_PAIRS = 800
_PAIRS = 900
_EXCEEDANCES = (10, 15, 20, 30, 40, 50, 80, 150, 400)


def pareto_samples(
    rng: np.random.Generator, samples: int, count: int, total: int, scale: float, shape: float
) -> Tails:
    """The k + 1 largest of N values, generalised Pareto above a level that k of N exceed."""
    law = TailLaw(np.full(1, scale), np.full(1, shape), np.full(1, count / total))
    nothing = np.zeros(1)
    begin = Tails(
        count=count,
        total=total,
        log_period=math.log(_M),
        threshold=nothing,
        unit=nothing,
        largest=nothing,
        lowest=nothing,
        level=nothing,
        shape=nothing,
        theta=nothing,
        mean_log=nothing,
    )
    return begin.redrawn(law, np.zeros(samples, dtype=np.intp), samples, rng)


def rows_for(count: int, reach: float) -> int:
    """N with log(mk/N) = s, at least k + 1."""
    return max(round(count * _M / math.exp(reach)), count + 1)


def level_of(total: int, count: int, scale: float, shape: float) -> float:
    """Level of m observations above the threshold that k of N exceed."""
    return scale * float(power_ratio(np.asarray(math.log(_M * count / total)), np.asarray(shape)))


def level_tables(samples: int = _SAMPLES_OF_LEVELS, seed: int = 5) -> tuple[Floats, Floats]:
    """√k·mean and variance of the signed root of one level at the knots of (k, ξ, s).

    The same samples for every s.
    """
    size = (len(KNOTS_OF_EXCEEDANCES), len(KNOTS_OF_SHAPE), len(KNOTS_OF_PERIOD))
    means = np.zeros(size)
    variances = np.zeros(size)
    for place in np.ndindex(size):
        count = int(KNOTS_OF_EXCEEDANCES[place[0]])
        shape = float(KNOTS_OF_SHAPE[place[1]])
        total = rows_for(count, float(KNOTS_OF_PERIOD[place[2]]))
        rng = np.random.default_rng([seed, place[0], place[1]])
        drawn = pareto_samples(rng, samples, count, total, 1.0, shape)
        true = np.full(samples, level_of(total, count, 1.0, shape))
        fall = np.maximum(drawn.fall(true[:, None])[:, 0], 0.0)
        root = np.copysign(np.sqrt(2.0 * fall), drawn.level - true)
        means[place] = root.mean() * math.sqrt(count)
        variances[place] = root.var()
    return means, variances


def random_pairs(
    pairs: int = _PAIRS, samples: int = _SAMPLES_OF_PAIRS, seed: int = 1
) -> list[dict[str, Any]]:
    """Mean and variance of the root of a difference, for pairs of tails drawn at random."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(pairs):
        counts = rng.choice(_EXCEEDANCES, 2)
        reach = rng.uniform(0.25, 6.0, 2)
        if rng.random() < 0.6:  # equal shares of the rows, as `fs.ecd` has
            reach[0] = reach[1]
        shapes = rng.uniform(-0.8, 0.65, 2)
        ratio = math.exp(rng.normal(0.0, 1.1))
        totals = [rows_for(int(k), float(s)) for k, s in zip(counts, reach, strict=True)]
        of_each = list(zip(counts.tolist(), totals, shapes.tolist(), strict=True))
        errors = [under(k, n, 1.0, shape).level_error()[0] for k, n, shape in of_each]
        scales = (ratio * errors[1] / errors[0], 1.0)
        drawn = [
            pareto_samples(rng, samples, k, n, scale, shape)
            for (k, n, shape), scale in zip(of_each, scales, strict=True)
        ]
        first, second = (
            level_of(n, k, scale, shape)
            for (k, n, shape), scale in zip(of_each, scales, strict=True)
        )
        roots = signed_roots(drawn[0], drawn[1], np.full(samples, first - second))
        found.append(
            {
                "exceedances": counts.tolist(),
                "rows": totals,
                "shapes": shapes.tolist(),
                "scales": list(scales),
                "mean": float(roots.mean()),
                "variance": float(roots.var(ddof=1)),
            }
        )
    return found


def under(count: int, total: int, scale: float, shape: float) -> TailsUnder:
    """A tail as the law of the root sees it."""
    return TailsUnder(
        exceedances=count,
        total=float(total),
        log_period=math.log(_M),
        scale=np.full(1, scale),
        shape=np.full(1, shape),
        log_rate=np.full(1, math.log(count / total)),
    )


def bends(
    pairs: list[dict[str, Any]], means: Floats, variances: Floats, ridge: float = 3e-3
) -> tuple[Floats, Floats]:
    """b and c at their knots of s as quadratics in ξ, by ridge regression.

    Of what the tables of one level leave of mean and variance of the pairs.
    """
    from fairstats.methods.ecd.root_law import interpolated

    in_mean = []
    in_variance = []
    rest_of_mean = []
    rest_of_variance = []
    for pair in pairs:
        tails = [
            under(*of_one)
            for of_one in zip(
                pair["exceedances"], pair["rows"], pair["scales"], pair["shapes"], strict=True
            )
        ]
        errors = np.array([tail.level_error()[0] for tail in tails])
        share = errors / np.hypot(errors[0], errors[1])
        k = np.array(pair["exceedances"], dtype=np.float64)
        a, v = (
            np.array([interpolated(t, x.exceedances, x.shape, x.reach)[0] for x in tails])
            for t in (means, variances)
        )
        v = 1.0 + (v - 1.0) * np.minimum(KNOTS_OF_EXCEEDANCES[-1] / k, 1.0)
        rest_of_mean.append(
            pair["mean"] - (share[0] * a[0] / k[0] ** 0.5 - share[1] * a[1] / k[1] ** 0.5)
        )
        rest_of_variance.append(pair["variance"] - (share**2 * v).sum())
        basis = [_basis(float(x.shape[0]), float(x.reach[0])) for x in tails]
        both = share[0] * share[1]
        in_mean.append(
            both * (share[1] * basis[0] / k[0] ** 0.5 - share[0] * basis[1] / k[1] ** 0.5)
        )
        in_variance.append(both**2 * (basis[0] / k[0] + basis[1] / k[1]))
    return (
        _ridge(np.array(in_mean), np.array(rest_of_mean), ridge),
        _ridge(np.array(in_variance), np.array(rest_of_variance), ridge),
    )


def _basis(shape: float, reach: float) -> Floats:
    xi = float(np.clip(shape, *SHAPES_OF_BEND))
    hats = [np.interp(reach, KNOTS_OF_BEND, row) for row in np.eye(len(KNOTS_OF_BEND))]
    return np.outer(hats, [1.0, xi, xi**2]).ravel()


def _ridge(design: Floats, wanted: Floats, ridge: float) -> Floats:
    square = design.T @ design
    penalty = ridge * np.trace(square) / len(square) * np.eye(len(square))
    return np.linalg.solve(square + penalty, design.T @ wanted).reshape(len(KNOTS_OF_BEND), 3)


# ---------------------------------------------------------------- size of the standardised root


def standardised_roots(first: Tails, second: Tails, difference: Floats) -> Floats:
    """z of a difference of the levels in each pair of samples, (P,)."""
    laws = constrained(first, second, difference)
    tails = [
        TailsUnder(
            exceedances=side.count,
            total=float(side.total),
            log_period=side.log_period,
            scale=law.scale,
            shape=law.shape,
            log_rate=np.log(law.rate),
        )
        for side, law in zip((first, second), laws, strict=True)
    ]
    mean, deviation = contrast_moments(*tails)
    return (signed_roots(first, second, difference) - mean) / deviation


def sizes_of(z: Floats) -> dict[str, float]:
    """Two-sided and one-sided errors of standardised roots, .05 each."""
    return {
        "two-sided": float((np.abs(z) > 1.959964).mean()),
        "above": float((z > 1.644854).mean()),
        "below": float((z < -1.644854).mean()),
    }


if __name__ == "__main__":
    tables = level_tables()
    drawn_pairs = random_pairs()
    fitted = bends(drawn_pairs, *tables)
    named = zip(
        ("mean", "variance", "bend of mean", "bend of variance"), [*tables, *fitted], strict=True
    )
    record = {name: values.round(3).tolist() for name, values in named}
    RECORD.write_text(json.dumps({**record, "pairs": drawn_pairs}))
    sys.stdout.write(json.dumps(record))
