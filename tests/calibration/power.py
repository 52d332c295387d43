"""Cells of planning, and of the area between ROC curves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

import fairstats as fs
from fairstats.ground.scores import ScoreCounts
from fairstats.ground.verdict import z_evidence
from fairstats.numerics.rates.score import ratio_score_statistic
from tests.calibration.study import Cell, Counts, tally_interval

# ---------------------------------------------------------------- planned power


#: Of ABROCA: 2 draws each group in intervals of its own scores, 3 large groups as bridges.
OF_DRAWS = "3"


def planned(
    rate: float, ratio: float, allocation: float, alternative: Any, threshold: float
) -> Cell:
    """Share of samples of the planned size in which the score test, or the verdict, speaks."""

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        options: dict[str, Any] = {"alternative": alternative, "threshold": threshold}
        plan = fs.sample_size_ratio(rate, ratio, power=0.8, allocation=allocation, **options)
        k0, k1 = (
            rng.binomial(n, p, runs) for n, p in ((plan.n, plan.rate), (plan.n_reference, rate))
        )
        ends = (1.0, 1.0) if alternative == "two-sided" else (threshold, 1 / threshold)
        z = [ratio_score_statistic(k0, plan.n, k1, plan.n_reference, end) for end in ends]
        if alternative == "two-sided":
            speaks = 2 * ndtr(-np.abs(z[0])) <= 0.05
        elif alternative == "less":
            speaks = ndtr(z[0]) <= 0.05
        else:
            found = [z_evidence(*pair) for pair in zip(*z, strict=True)]
            inside = alternative == "satisfied"
            speaks = np.array(
                [(e.inside if inside else min(e.below, e.above)) <= 0.05 for e in found]
            )
        return {"power": (float(speaks.sum()), runs)}

    method = f'sample_size_ratio(power=0.8, alternative="{alternative}", threshold={threshold:g})'
    regime = f"reference rate {rate:g}, ratio {ratio:g}, allocation 1:{allocation:g}"
    return Cell("power", method, regime, simulate, runs=20_000, remark="planned power .80")


def power_of(rate: float, ratio: float, n: int, n_reference: int) -> Cell:
    """The power that `power_ratio` states, and the share of samples in which the score test
    rejects.
    """

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        k0 = rng.binomial(n, rate * ratio, runs)
        k1 = rng.binomial(n_reference, rate, runs)
        speaks = ndtr(ratio_score_statistic(k0, n, k1, n_reference, 0.8)) <= 0.05
        return {"power": (float(speaks.sum()), runs)}

    stated = fs.power_ratio(rate, ratio, n=n, n_reference=n_reference).power
    regime = f"reference rate {rate:g}, ratio {ratio:g}, {n} and {n_reference:,} cases"
    return Cell("power", "power_ratio()", regime, simulate, 40_000, remark=f"stated: {stated:.3f}")


# ---------------------------------------------------------------- area between ROC curves


def area(auc: tuple[float, float]) -> float:
    """∫ |ROC₁ − ROC₂| of two binormal curves, by the midpoint rule."""
    t = (np.arange(20_000) + 0.5) / 20_000
    first, second = (ndtr(math.sqrt(2) * ndtri(a) + ndtri(t)) for a in auc)
    return float(np.abs(first - second).mean())


def score_counts(
    rng: np.random.Generator, sizes: Sequence[Any], auc: Sequence[float], ties: int
) -> ScoreCounts:
    """Counts of binormal scores; `ties` > 0 rounds them to so many values.

    The groups differ in scale too.
    """
    scores = []
    codes = []
    for g, ((n0, n1), a) in enumerate(zip(sizes, auc, strict=True)):
        z = rng.standard_normal(n0 + n1) + np.repeat([0.0, math.sqrt(2) * ndtri(a)], [n0, n1])
        scores.append(ndtr(0.7 * z - 0.3 * g))
        codes.append(np.repeat([2 * g, 2 * g + 1], [n0, n1]))
    score = np.concatenate(scores)
    values, place = np.unique(np.round(score * ties) / ties if ties else score, return_inverse=True)
    counts = np.zeros((2 * len(sizes), values.size), dtype=np.int64)
    np.add.at(counts, (np.concatenate(codes), place), 1)
    names = tuple(f"g{g}" for g in range(len(sizes)))
    return ScoreCounts(groups=names, values=values, counts=counts.reshape(len(sizes), 2, -1))


def curves(
    sizes: tuple[Any, ...], auc: tuple[float, float], ties: int = 0, runs: int = 1_000
) -> Cell:
    """Coverage of the area, size where the curves are equal, verdicts with the margin at the
    truth.
    """
    truth = area(auc)
    margin = max(truth, 0.02)

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        intervals = []
        rejected = 0
        wrong = 0
        for _ in range(runs):
            counts = score_counts(rng, sizes, auc, ties)
            (c,) = fs.abroca(
                counts=counts, reference="g1", margin=margin, n_resamples=199, rng=rng
            ).comparisons
            intervals.append(tuple(c.confidence_interval))
            rejected += c.pvalue <= 0.05
            wrong += c.verdict == "violated" or (truth >= margin and c.verdict == "satisfied")
        found = {**tally_interval(truth, intervals), "false verdict": (wrong, runs)}
        return found | ({"size": (rejected, runs)} if truth == 0 else {})

    words = " + ".join(f"{n1} of {n0 + n1}" for n0, n1 in sizes)
    regime = f"positives {words}, AUC {auc[0]:g} and {auc[1]:g}" + (
        f", {ties + 1} score values" if ties else ""
    )
    return Cell(
        "power",
        "abroca",
        regime,
        simulate,
        runs,
        "conservative",
        "by the triangle inequality",
        version=OF_DRAWS,
    )


SMALL = ((40, 10), (200, 100))
CELLS = [
    *(
        planned(r, t, a, "less", 0.8)
        for r, t in ((0.5, 0.6), (0.1, 0.4), (0.9, 0.7))
        for a in (1, 4, 10, 20, 0.1)
    ),
    *(
        power_of(*case)
        for case in ((0.5, 0.6, 100, 100), (0.9, 0.7, 40, 2_000), (0.05, 0.4, 400, 4_000))
    ),
    *(planned(0.6, t, a, "violated", 0.9) for t in (0.6, 1.5) for a in (1, 10)),
    *(planned(0.7, 1.0, a, "satisfied", 0.8) for a in (1, 10, 20)),
    *(planned(0.3, 0.6, a, "two-sided", 0.8) for a in (1, 20)),
    *(curves(SMALL, (auc, auc)) for auc in (0.5, 0.7, 0.9)),
    *(curves(((10, 10), (10, 10)), (auc, auc)) for auc in (0.5, 0.9)),
    *(curves(((20, 20), (300, 100)), (auc, auc)) for auc in (0.5, 0.7, 0.9)),
    *(curves(((50, 50), (50, 50)), (auc, auc)) for auc in (0.7, 0.9)),
    curves(((100, 15), (400, 200)), (0.8, 0.8), ties=10),
    curves(SMALL, (0.6, 0.8)),
    curves(((50, 50), (200, 200)), (0.6, 0.8)),
    *(curves(((1_000, 1_000), (100, 10)), (auc, auc)) for auc in (0.7, 0.9)),
    curves(((100, 20), (300, 100)), (0.75, 0.9)),
]
