"""Does the permutation test of MADD keep its size, and do the intervals cover?

Three studies in one table, column `study`:

* "size": share of p ≤ 5% for groups with one score distribution. The permutation p-value must never exceed 5%
  beyond Monte Carlo error; the mid-p value should lie in 4–6% where the pooled histogram has 5 occupied bins.
* "coverage": share of two-sided 95% intervals that hold the binned distance, with the misses of either end,
  the width, and the coverage of the percentile bootstrap, which shows why that one is not offered.
* "linearised": the same for weighted and clustered rows, and the size of their tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from fairstats.methods.madd.binning import bin_edges, histogram_distance
from fairstats.methods.madd.interval import distance_limits
from fairstats.methods.madd.noise import MultinomialNoise, noise_of
from fairstats.methods.madd.permutation import largest_test, multiplier_test, pair_test
from fairstats.methods.madd.scores import Sample

__all__ = ["COVERAGE_CASES", "SIZE_CASES", "run"]

LEVEL = 0.95
ALPHA = 0.05
#: A decision tree's leaves.
LEAVES = np.array([0.0, 0.25, 0.5, 0.6, 1.0])


@dataclass(frozen=True)
class SizeCase:
    """Group sizes, score distribution and grid of a study of size."""

    n0: int
    n1: int
    scores: str
    n_bins: int


SIZE_CASES = tuple(
    SizeCase(n0, n1, scores, n_bins)
    for n0, n1 in ((50, 50), (50, 5_000), (500, 500))
    for scores, n_bins in (("continuous", 10), ("continuous", 50), ("tree", 5), ("tree", 20))
)


@dataclass(frozen=True)
class CoverageCase:
    """Group sizes, bins, and how far apart: multiples of the standard error per bin, or "far"."""

    n0: int
    n1: int
    n_bins: int
    apart: float | str


COVERAGE_CASES = tuple(
    CoverageCase(n0, n1, n_bins, apart)
    for n0, n1 in ((250, 250), (50, 450), (2_500, 2_500), (500, 4_500))
    for n_bins in (5, 15, 30)
    for apart in (0.0, 0.25, 0.5, 1.0, 2.0, "far")
)


def run(
    replicates: int = 1000,
    seed: int = 1,
    *,
    studies: tuple[str, ...] = ("size", "coverage", "linearised"),
    n_resamples: int = 499,
    choose: Callable[[Any], bool] = lambda _: True,
) -> pd.DataFrame:
    """Run the studies.

    Parameters
    ----------
    replicates : int, default 1000
        Data sets per case.
    seed : int, default 1
        The same seed gives the same numbers.
    studies : tuple of str
        Which of "size", "coverage", "linearised".
    n_resamples : int, default 499
        Permutations and bootstrap resamples per data set.
    choose : callable
        Which cases of the first two.

    Returns
    -------
    DataFrame
        One row per case.
    """
    makers = {"size": _sizes, "coverage": _coverages, "linearised": _linearised}
    rows = [row for study in studies for row in makers[study](replicates, seed, n_resamples, choose)]
    return pd.DataFrame(rows)


def _sizes(
    replicates: int, seed: int, n_resamples: int, choose: Callable[[Any], bool]
) -> Iterator[dict[str, Any]]:
    for position, case in enumerate(SIZE_CASES):
        if not choose(case):
            continue
        rng = np.random.default_rng([seed, 1, position])
        found, occupied = [], []
        for _ in range(replicates):
            samples = [Sample(np.sort(_draw(case.scores, n, rng))) for n in (case.n0, case.n1)]
            test = pair_test(*samples, case.n_bins, n_resamples, rng)
            found.append((test.pvalue, test.mid_pvalue))
            occupied.append(int((sum(s.histogram(bin_edges(case.n_bins)) for s in samples) > 0).sum()))
        p, mid = np.array(found).T
        yield {
            "study": "size",
            "n0": case.n0,
            "n1": case.n1,
            "scores": case.scores,
            "n_bins": case.n_bins,
            "occupied_bins": int(np.median(occupied)),
            "size": float(np.mean(p <= ALPHA)),
            "size_mid": float(np.mean(mid <= ALPHA)),
            "mc_error": float(np.sqrt(ALPHA * (1 - ALPHA) / replicates)),
        }


def _draw(scores: str, n: int, rng: np.random.Generator) -> np.ndarray:
    if scores == "continuous":
        return rng.beta(2, 3, n)
    return rng.choice(LEAVES, n, p=[0.3, 0.2, 0.2, 0.1, 0.2])


def _laws(case: CoverageCase, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Bin probabilities of both groups."""
    first = rng.dirichlet(np.full(case.n_bins, 3.0))
    if case.apart == "far":
        return first, rng.dirichlet(np.full(case.n_bins, 3.0))
    step = float(case.apart) * np.sqrt(first * (1 / case.n0 + 1 / case.n1))
    step *= np.where(np.arange(case.n_bins) % 2, -1.0, 1.0)
    second = np.clip(first + step - first * step.sum(), 0, None)
    return first, second / second.sum()


def _coverages(
    replicates: int, seed: int, n_resamples: int, choose: Callable[[Any], bool]
) -> Iterator[dict[str, Any]]:
    for position, case in enumerate(COVERAGE_CASES):
        if not choose(case):
            continue
        rng = np.random.default_rng([seed, 2, position])
        laws = _laws(case, rng)
        truth = float(np.abs(laws[0] - laws[1]).sum())
        ends = np.empty((replicates, 5))
        for b in range(replicates):
            noise = MultinomialNoise(rng.multinomial(case.n0, laws[0]), rng.multinomial(case.n1, laws[1]))
            limits = distance_limits(noise, min(case.n0, case.n1), n_resamples, rng)
            drawn = noise.distances(n_resamples, rng)
            percentile = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
            ends[b] = (
                limits.lower((1 + LEVEL) / 2),
                limits.upper((1 + LEVEL) / 2),
                *percentile,
                limits.estimate,
            )
        low, high, low_p, high_p, estimate = ends.T
        yield {
            "study": "coverage",
            "n0": case.n0,
            "n1": case.n1,
            "n_bins": case.n_bins,
            "apart": str(case.apart),
            "distance": truth,
            "estimate": float(estimate.mean()),
            "coverage": float(np.mean((low <= truth) & (truth <= high))),
            "miss_low": float(np.mean(low > truth)),
            "miss_high": float(np.mean(high < truth)),
            "width": float(np.mean(high - low)),
            "coverage_percentile": float(np.mean((low_p <= truth) & (truth <= high_p))),
        }


def _linearised(
    replicates: int, seed: int, n_resamples: int, choose: Callable[[Any], bool]
) -> Iterator[dict[str, Any]]:
    n_bins, edges = 10, bin_edges(10)
    kinds = ("weights", "clusters in one group", "clusters in both groups", "three groups")
    for position, kind in enumerate(kinds):
        rng = np.random.default_rng([seed, 3, position])
        covered, small, width = [], [], []
        for _ in range(replicates):
            samples = _linearised_samples(kind, rng)
            test: Any
            if kind == "three groups":
                pairs = [((i,), (j,), n_bins) for i, j in ((0, 1), (0, 2), (1, 2))]
                test = largest_test(samples, pairs, n_resamples, rng)
                small.append(test.pvalue <= ALPHA)
                continue
            noise = noise_of(samples[0], samples[1], edges)
            limits = distance_limits(noise, min(s.n_units for s in samples), n_resamples, rng)
            test = pair_test(samples[0], samples[1], n_bins, n_resamples, rng)
            if test is None:
                test = multiplier_test(noise, n_resamples, rng)
            small.append(test.pvalue <= ALPHA)
            low, high = (f((1 + LEVEL) / 2) for f in (limits.lower, limits.upper))
            covered.append(low <= 0)
            width.append(high - low)
        yield {
            "study": "linearised",
            "scores": kind,
            "n_bins": n_bins,
            "apart": "0.0",
            "distance": 0.0,
            "size": float(np.mean(small)),
            "coverage": float(np.mean(covered)) if covered else float("nan"),
            "width": float(np.mean(width)) if width else float("nan"),
        }


def _linearised_samples(kind: str, rng: np.random.Generator) -> list[Sample]:
    """Samples of groups with one score distribution."""
    if kind == "three groups":
        return [Sample(np.sort(rng.beta(2, 3, n))) for n in (400, 200, 30)]
    if kind == "weights":
        return [Sample(np.sort(rng.beta(2, 3, n)), rng.gamma(2.0, 1.0, n)) for n in (400, 200)]
    within = kind == "clusters in one group"
    n_clusters, rows = 80, 6
    cluster = np.repeat(np.arange(n_clusters), rows)
    centre = np.repeat(rng.normal(0, 0.8, n_clusters), rows)
    score = 1 / (1 + np.exp(-(centre + rng.normal(0, 0.8, cluster.size))))
    group = np.repeat(np.arange(n_clusters) % 2, rows) if within else rng.integers(0, 2, cluster.size)
    found = []
    for g in (0, 1):
        order = np.flatnonzero(group == g)
        order = order[np.argsort(score[order])]
        found.append(Sample(score[order], None, cluster[order]))
    return found


def percentile_of_equal_groups(n: int, n_bins: int, replicates: int, seed: int) -> float:
    """Coverage of the percentile bootstrap for equal groups: the reason why it is not offered."""
    rng = np.random.default_rng(seed)
    law = np.full(n_bins, 1 / n_bins)
    covered = 0
    for _ in range(replicates):
        counts = rng.multinomial(n, law, size=2)
        drawn = [rng.multinomial(n, c / n, size=199) for c in counts]
        low = np.quantile(histogram_distance(drawn[0], drawn[1]), (1 - LEVEL) / 2)
        covered += low <= 0
    return covered / replicates
