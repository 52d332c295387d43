"""Verger et al. (2024): equations and theorems of section 6.1 and the appendix, and a claim of 7."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from scipy.integrate import quad
from scipy.optimize import minimize_scalar

from fairstats.ground.scores import bandwidth_order
from fairstats.methods.madd.mitigation import MixtureCdfs
from fairstats.methods.madd.mitigator import MaddMitigator
from fairstats.report.replication.items import Outcome
from fairstats.report.replication.verger import (
    RIGHT,
    ROWS,
    Density,
    curves,
    draw_scores,
    stable_stretches,
)

Outcomes = Mapping[str, Outcome]
_SEED = 34
_DRAWS = 100_000
#: Three scores, as a decision tree gives them, and their shares.
_ATOMS = np.array([0.0, 0.5, 1.0])
_SHARES = np.array([0.3, 0.4, 0.3])


def _distance_from_uniform(values: np.ndarray) -> float:
    """Kolmogorov's distance of a sample from the uniform law."""
    ordered = np.sort(values)
    steps = np.arange(len(ordered) + 1) / len(ordered)
    return float(max((steps[1:] - ordered).max(), (ordered - steps[:-1]).max()))


def _theorem_3() -> Outcomes:
    """F(X) of continuous scores, and of three scores, whose F jumps by .4 at one half."""
    generator = np.random.default_rng(_SEED)
    exponential = generator.exponential(size=_DRAWS)
    tied = generator.choice(np.cumsum(_SHARES), _DRAWS, p=_SHARES)
    return {
        "continuous law: distance of F(X) from uniform": Outcome(
            _distance_from_uniform(-np.expm1(-exponential))
        ),
        "three scores: distance of F(X) from uniform": Outcome(_distance_from_uniform(tied)),
    }


def _theorem_4() -> Outcomes:
    """The generalised inverse of three scores' F at uniform draws: their shares again."""
    generator = np.random.default_rng(_SEED)
    place = np.searchsorted(np.cumsum(_SHARES), generator.random(_DRAWS))
    shares = np.bincount(np.minimum(place, 2), minlength=3) / _DRAWS
    return {
        "three scores: largest difference of a share": Outcome(
            float(np.abs(shares - _SHARES).max())
        )
    }


def _equations_11_12() -> Outcomes:
    """The pooled histogram between those of the groups: d = (n₀d⁰ + n₁d¹)/n in every bin."""
    first, second = draw_scores(400, 1_100, np.random.default_rng(_SEED))
    largest = 0.0
    for n_bins in (3, 10, 47):
        edges = np.arange(n_bins + 1) / n_bins
        counts = [np.histogram(values, edges)[0] for values in (first, second)]
        pooled = np.histogram(np.concatenate([first, second]), edges)[0] / 1_500
        between = (400 * (counts[0] / 400) + 1_100 * (counts[1] / 1_100)) / 1_500
        largest = max(largest, float(np.abs(pooled - between).max()))
    return {"largest difference of a bin": Outcome(largest)}


def _equations_13_14() -> Outcomes:
    """Mapped scores have the distribution function (1 − λ)F_s + λF, up to a few steps of F_s."""
    n = 4_000
    scores = draw_scores(n, n, np.random.default_rng(_SEED))
    pooled = np.sort(np.concatenate(scores))
    maps = MixtureCdfs.fit(scores)
    largest = 0.0
    for s, scores_of_group in enumerate(scores):
        for share in (0.3, 0.7, 1.0):
            mapped = np.sort(maps.map(scores_of_group, s, share))
            points = np.linspace(0.05, 0.95, 181)
            of_mapped = np.searchsorted(mapped, points, side="right") / n
            of_own = np.searchsorted(np.sort(scores_of_group), points, side="right") / n
            of_all = np.searchsorted(pooled, points, side="right") / (2 * n)
            aim = (1 - share) * of_own + share * of_all
            largest = max(largest, float(np.abs(of_mapped - aim).max()))
    return {"largest difference of the distribution functions": Outcome(largest)}


def _equations_15_19() -> Outcomes:
    """The mitigator's loss at every λ: half the errors and half of MADD/2 with θ = 1/2."""
    generator = np.random.default_rng(_SEED)
    score = np.concatenate(draw_scores(1_500, 1_500, generator))
    y = (generator.random(score.size) < score).astype(int)
    group = np.repeat(["0", "1"], 1_500)
    mitigator = MaddMitigator(splits=None, random_state=1)
    mitigator.fit(score, y, sensitive_features=group)
    curve = mitigator.loss_curve_
    total = (curve["accuracy_loss"] + curve["fairness_loss"]) / 2
    errors = float(np.mean((score >= 0.5) != y))
    return {
        "L less (accuracy loss + fairness loss)/2": Outcome(
            float((curve["loss"] - total).abs().max())
        ),
        "accuracy loss at λ = 0 less the share of wrong predictions": Outcome(
            float(curve["accuracy_loss"].iloc[0]) - errors
        ),
    }


# -------------------------------------------------------------------------------- appendix 10.2


def _integral_of_root(density: Density) -> float:
    """∫₀¹ √f."""
    return float(quad(lambda x: math.sqrt(density(x)), 0, 1, limit=500)[0])


def _equation_26() -> Outcomes:
    """The bandwidth that minimises equation 25, beside equation 26, at 500 and 5,000 rows."""
    n0 = 500
    n1 = 5_000
    roots = []
    slopes = []
    for density in RIGHT:
        roots.append(_integral_of_root(density))
        grid = np.linspace(0, 1, 20_001)
        slopes.append(float(np.abs(np.diff([density(x) for x in grid])).sum()))

    def bound(log_h: float) -> float:
        h = math.exp(log_h)
        noise = math.sqrt(2 / math.pi) * (roots[0] / math.sqrt(n0) + roots[1] / math.sqrt(n1))
        return noise / math.sqrt(h) + sum(slopes) * h / 4

    least = math.exp(minimize_scalar(bound, bounds=(-8, 0), method="bounded").x)
    outer = 2 * math.pi ** (-1 / 3) * sum(slopes) ** (-2 / 3)
    values = {}
    for name, weights in (
        ("√n₀∫√f⁰ + √n₁∫√f¹, as printed: over the minimiser", (n0, n1)),
        ("√n₁∫√f⁰ + √n₀∫√f¹: over the minimiser", (n1, n0)),
    ):
        inner = math.sqrt(weights[0]) * roots[0] + math.sqrt(weights[1]) * roots[1]
        values[name] = Outcome(outer * (inner / math.sqrt(n0 * n1)) ** (2 / 3) / least)
    return values


# ------------------------------------------------------------------------------------ section 7


def _stretch_by_range(bandwidths: np.ndarray, values: np.ndarray) -> tuple[float, float, float]:
    """Algorithm 1 with the range for the standard deviation: mean, and ends of the stretch."""
    shortest = 0.45 * float(bandwidth_order(ROWS, ROWS))
    best = (math.inf, 0, 0)
    for i in range(len(values) - 50):
        if bandwidths[i] > bandwidths[-1] - shortest:
            break
        end = int(np.searchsorted(bandwidths, bandwidths[i] + shortest, side="right")) - 1
        j = max(end, i + 50)
        spread = float(np.ptp(values[i : j + 1]))
        # a longer stretch has no smaller range
        if spread < best[0]:
            best = (spread, i, j)
    _, i, j = best
    return float(values[i : j + 1].mean()), float(bandwidths[i]), float(bandwidths[j])


def _other_spread() -> Outcomes:
    """Ten samples of section 4.4: MADD and stretch by the range, less those by the deviation."""
    shifts = []
    moved = []
    for curve, stable in zip(curves(), stable_stretches(), strict=True):
        mean, low, high = _stretch_by_range(curve.bandwidth[::-1], curve.madd[::-1])
        shifts.append(mean - stable.mean)
        moved.append(max(abs(low - stable.low), abs(high - stable.high)))
    return {
        "MADD, largest |difference|": Outcome(float(np.abs(shifts).max())),
        "ends of the stretch, largest difference": Outcome(float(max(moved))),
    }


COMPUTATIONS = {
    "verger.theorem-3": _theorem_3,
    "verger.theorem-4": _theorem_4,
    "verger.equations-11-12": _equations_11_12,
    "verger.equations-13-14": _equations_13_14,
    "verger.equations-15-19": _equations_15_19,
    "verger.equation-26": _equation_26,
    "verger.other-spread": _other_spread,
}
