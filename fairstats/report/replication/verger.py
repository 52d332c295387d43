"""Verger et al. (2024): MADD on the paper's simulated scores and on its own printed tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
from scipy.integrate import quad
from scipy.special import gammainc, gammaincinv, gammaln, ndtr, ndtri

from fairstats.ground.scores import bandwidth_order
from fairstats.methods.madd.curve import MaddCurve, StableBandwidth, madd_curve, stable_bandwidth
from fairstats.methods.madd.metric import madd
from fairstats.methods.madd.mitigator import MaddMitigator
from fairstats.report.replication.items import Outcome, PrintedNumber, read_items

Outcomes = Mapping[str, Outcome]
Density = Callable[[float], float]
#: Rows of either group, bandwidths and samples of section 4.4.
ROWS = 10_000
BANDWIDTHS = 1_000
_SAMPLES = 10
_MASS_OF_GAMMA = float(gammainc(4, 11))


# -------------------------------------------------------------------- the simulation of 4.4


def _gamma_density(x: float) -> float:
    """f⁰ ∝ Γ(4, 1) at 11x, cut to [0, 1]."""
    z = 11 * x
    return float(11 * np.exp(3 * np.log(max(z, 1e-300)) - z - gammaln(4)) / _MASS_OF_GAMMA)


def _normal_density(mean: float) -> Density:
    """N(mean, 1) at 10x, cut to [0, 1]; the paper's numbers need the mean 5.5."""
    mass = ndtr(10 - mean) - ndtr(-mean)

    def density(x: float) -> float:
        z = 10 * x - mean
        return float(10 * np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi) / mass)

    return density


#: Equation 9 as the numbers need it, and as printed.
RIGHT = (_gamma_density, _normal_density(5.5))
_PRINTED = (_gamma_density, _normal_density(0.55))


def _l1_distance(densities: tuple[Density, Density]) -> float:
    """∫₀¹ |f⁰ − f¹|, cut where the difference changes its sign."""
    first, second = densities
    grid = np.linspace(0, 1, 2001)
    gap = np.array([first(x) - second(x) for x in grid])
    crossings = grid[:-1][np.sign(gap[:-1]) != np.sign(gap[1:])]
    points = list(crossings)
    return float(quad(lambda x: abs(first(x) - second(x)), 0, 1, points=points, limit=500)[0])


def _mean_score(density: Density) -> float:
    return float(quad(lambda x: x * density(x), 0, 1, limit=200)[0])


def draw_scores(n0: int, n1: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Scores of either group by the inverse distribution functions."""
    first = gammaincinv(4, rng.random(n0) * _MASS_OF_GAMMA) / 11
    low = ndtr(-5.5)
    share = low + rng.random(n1) * (ndtr(4.5) - low)
    second = (ndtri(share) + 5.5) / 10
    return np.clip(first, 0, 1), np.clip(second, 0, 1)


@cache
def curves() -> tuple[MaddCurve, ...]:
    """MADD over 1,000 bandwidths of ten samples."""
    curves_of_runs = []
    for seed in range(_SAMPLES):
        first, second = draw_scores(ROWS, ROWS, np.random.default_rng(seed))
        score = np.concatenate([first, second])
        group = np.repeat(["0", "1"], [ROWS, ROWS])
        curves_of_runs.append(madd_curve(score, sensitive_features=group, max_bins=BANDWIDTHS))
    return tuple(curves_of_runs)


@cache
def stable_stretches() -> tuple[StableBandwidth, ...]:
    """Algorithm 1 on those curves."""
    return tuple(stable_bandwidth(curve) for curve in curves())


def _range_of(values: list[float]) -> Outcome:
    """Mean and range over samples."""
    return Outcome(float(np.mean(values)), float(min(values)), float(max(values)))


# ----------------------------------------------------------------------- definitions, theorems


def _equation_4() -> Outcomes:
    """MADD of equal, disjoint and a hundred random pairs of histograms; the triangle inequality."""
    generator = np.random.default_rng(34)
    shares = generator.dirichlet(np.full(20, 0.3), size=(100, 3))
    distances = np.abs(shares[:, [0, 1, 0]] - shares[:, [1, 2, 2]]).sum(axis=2)
    triangle = distances[:, 2] - distances[:, 0] - distances[:, 1]
    apart = np.repeat([0.05, 0.95], 50)
    alike = np.tile(np.linspace(0.05, 0.95, 50), 2)
    group = np.repeat(["a", "b"], 50)
    options: dict[str, Any] = {
        "sensitive_features": group,
        "n_bins": 10,
        "n_resamples": 99,
        "rng": 1,
    }
    return {
        "largest MADD of random pairs": Outcome(float(distances.max())),
        "MADD of disjoint scores": Outcome(float(madd(apart, **options).estimate)),
        "MADD of equal scores": Outcome(float(madd(alike, **options).estimate)),
        "largest d(0,2) − d(0,1) − d(1,2)": Outcome(float(triangle.max())),
    }


def _theorem_1() -> Outcomes:
    """Σ|d⁰ − d¹| against the integral of |f̂⁰ − f̂¹| on a grid of a thousand points a bin."""
    first, second = draw_scores(500, 800, np.random.default_rng(1))
    curve = madd_curve(
        np.concatenate([first, second]),
        sensitive_features=np.repeat(["0", "1"], [500, 800]),
        max_bins=45,
    )
    largest = 0.0
    for n_bins, value in zip(curve.n_bins, curve.madd, strict=True):
        edges = np.arange(n_bins + 1) / n_bins
        heights = [np.histogram(x, edges, density=True)[0] for x in (first, second)]
        points = (np.arange(1000 * n_bins) + 0.5) / (1000 * n_bins)
        place = np.minimum((points * n_bins).astype(int), n_bins - 1)
        integral = np.abs(heights[0][place] - heights[1][place]).mean()
        largest = max(largest, abs(float(integral) - float(value)))
    return {"largest difference over 45 bandwidths": Outcome(largest)}


def _algorithm_1() -> Outcomes:
    """Algorithm 1 as a plain loop over its own lines, beside `stable_bandwidth`."""
    first, second = draw_scores(400, 600, np.random.default_rng(2))
    curve = madd_curve(
        np.concatenate([first, second]),
        sensitive_features=np.repeat(["0", "1"], [400, 600]),
        max_bins=250,
    )
    bandwidths = curve.bandwidth[::-1]
    values = curve.madd[::-1]
    shortest = 0.45 * float(bandwidth_order(400, 600))
    best = (math.inf, math.nan)
    for i in range(len(values) - 50):
        if bandwidths[i] > bandwidths[-1] - shortest:
            break
        end = int(np.searchsorted(bandwidths, bandwidths[i] + shortest, side="right")) - 1
        for j in range(max(end, i + 50), len(values)):
            deviation = float(np.std(values[i : j + 1]))
            if deviation < best[0]:
                best = (deviation, float(np.mean(values[i : j + 1])))
    stable = stable_bandwidth(curve)
    return {
        "mean over the stretch, difference": Outcome(best[1] - stable.mean),
        "standard deviation, difference": Outcome(best[0] - stable.std),
    }


def _equation_9() -> Outcomes:
    gap = _mean_score(_PRINTED[1]) - _mean_score(_PRINTED[0])
    right = _mean_score(RIGHT[1]) - _mean_score(RIGHT[0])
    return {
        "distance as printed": Outcome(_l1_distance(_PRINTED)),
        "distance with N(0.55, sd 0.1)": Outcome(_l1_distance(RIGHT)),
        "group 1's mean score less group 0's, as printed": Outcome(gap),
        "group 1's mean score less group 0's, with sd 0.1": Outcome(right),
    }


def _figure_5() -> Outcomes:
    values = {}
    for name, n_bins in (("h = 0.1", 10), ("h = 0.05", 20)):
        values[name] = _range_of([float(curve.madd[n_bins - 1]) for curve in curves()])
    return values


def _figure_9() -> Outcomes:
    """h_sup, and the error at fewer than ten bins against that within the stretch."""
    truth = _l1_distance(RIGHT)
    coarse = [float(np.abs(curve.madd[:5] - truth).mean()) for curve in curves()]
    stable = [abs(s.mean - truth) for s in stable_stretches()]
    more = [a - b for a, b in zip(coarse, stable, strict=True)]
    return {
        "h_sup": Outcome(float(bandwidth_order(ROWS, ROWS))),
        "upper end of the stretch": _range_of([s.high for s in stable_stretches()]),
        "error with at most 5 bins less error over the stretch": _range_of(more),
    }


def _figure_10() -> Outcomes:
    stable = stable_stretches()
    return {
        "MADD": _range_of([s.mean for s in stable]),
        "stretch from": _range_of([s.low for s in stable]),
        "stretch to": _range_of([s.high for s in stable]),
    }


def _equation_10() -> Outcomes:
    """Log of ((√n₀ + √n₁)/√(n₀n₁))^(2/3) against −⅓·c − ⅓·log n, n = 3,000 and α = .2."""
    n = 3_000
    alpha = 0.2
    left = math.log(bandwidth_order(int(alpha * n), int((1 - alpha) * n)))
    share = alpha * (1 - alpha)
    inner = share / (1 + 2 * math.sqrt(share))
    return {
        "right side as printed, less the left": Outcome(-inner / 3 - math.log(n) / 3 - left),
        "with log of the intercept's fraction": Outcome(
            -math.log(inner) / 3 - math.log(n) / 3 - left
        ),
    }


# ------------------------------------------------------------------------- the printed tables


def _printed(item: str) -> dict[str, PrintedNumber]:
    items = {one_item.name: one_item for one_item in read_items("verger")}
    return {number.name: number for number in items[item].numbers}


def _compare_tables(before: str, after: str) -> Outcomes:
    """Identical cells of two printed tables, and the mean difference of the others."""
    first = _printed(before)
    second = _printed(after)
    gaps = [abs(float(first[name].printed) - float(second[name].printed)) for name in first]
    changed = [gap for gap in gaps if gap > 1e-9]
    return {
        "identical values": Outcome(float(len(gaps) - len(changed))),
        "mean difference of the others": Outcome(float(np.mean(changed))),
        "the same in % of MADD's range of 2": Outcome(50 * float(np.mean(changed))),
    }


def _averages(item: str) -> Outcomes:
    """Row and column averages of a printed table of four models and three attributes."""
    cells = {name: float(number.printed) for name, number in _printed(item).items()}
    averages = {}
    for part in ("LR", "KN", "DT", "NB", "gender", "poverty", "disability"):
        distances = []
        for name, value in cells.items():
            if part in name.split(", "):
                distances.append(value)
        averages[f"average {part}"] = Outcome(float(np.mean(distances)))
    return averages


# -------------------------------------------------------------------------------- mitigation


@cache
def _mitigated() -> Outcomes:
    """Section 6.3.1 on three samples, the map judged on the rows that fitted it, as in the paper."""
    names = ("accuracy loss at λ = 0", "accuracy loss at λ = 1", "fairness loss at λ = 0")
    values_of_item: dict[str, list[float]] = {
        name: [] for name in (*names, "fairness loss at λ = 1")
    }
    values_of_item |= {"λ*": [], "least total loss": []}
    for seed in range(3):
        generator = np.random.default_rng(seed)
        score = np.concatenate(draw_scores(ROWS, ROWS, generator))
        y = (generator.random(score.size) < score).astype(int)
        group = np.repeat(["0", "1"], [ROWS, ROWS])
        mitigator = MaddMitigator(splits=None, random_state=1)
        mitigator.fit(score, y, sensitive_features=group)
        curve = mitigator.loss_curve_
        accuracy = curve["accuracy_loss"].to_numpy()
        fairness = curve["fairness_loss"].to_numpy()
        values_of_item["accuracy loss at λ = 0"].append(float(accuracy[0]))
        values_of_item["accuracy loss at λ = 1"].append(float(accuracy[-1]))
        values_of_item["fairness loss at λ = 0"].append(float(fairness[0]))
        values_of_item["fairness loss at λ = 1"].append(float(fairness[-1]))
        values_of_item["λ*"].append(float(mitigator.lambda_))
        values_of_item["least total loss"].append(float(((accuracy + fairness) / 2).min()))
    return {name: _range_of(values) for name, values in values_of_item.items()}


def _figure_18() -> Outcomes:
    return _mitigated()


def _claim_18() -> Outcomes:
    losses = _mitigated()
    cost = losses["accuracy loss at λ = 1"].value / losses["accuracy loss at λ = 0"].value - 1
    gain = 1 - losses["fairness loss at λ = 1"].value / losses["fairness loss at λ = 0"].value
    return {
        "accuracy loss rises by, %": Outcome(100 * cost),
        "fairness loss falls by, %": Outcome(100 * gain),
    }


COMPUTATIONS = {
    "verger.equation-4": _equation_4,
    "verger.theorem-1": _theorem_1,
    "verger.figure-5": _figure_5,
    "verger.algorithm-1": _algorithm_1,
    "verger.equation-9": _equation_9,
    "verger.figure-9": _figure_9,
    "verger.figure-10": _figure_10,
    "verger.equation-10": _equation_10,
    "verger.bbb-averages": lambda: _averages("table-3"),
    "verger.fff-averages": lambda: _averages("table-5"),
    "verger.bbb-changes": lambda: _compare_tables("table-2", "table-3"),
    "verger.fff-changes": lambda: _compare_tables("table-4", "table-5"),
    "verger.figure-18": _figure_18,
    "verger.claim-18": _claim_18,
}
