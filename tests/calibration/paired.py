"""Two models on the same people.

Coverage of the change, and how often the direction is said wrongly.

Cells are by group sizes and by how many decisions change. "false verdict" counts "closer" or
"further from parity" where the truth is the other, or where both models are equally far from
parity."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import fairstats as fs

from .study import Cell, Counts, tally_interval

__all__ = ["CELLS"]

#: Of the procedure for scores: 2 counts what scores that agree nearly everywhere may change unseen.
VERSION = "2"
#: Favourable labels among rows that both models select, only A, only B, neither.
_LABELS = np.array([0.75, 0.55, 0.55, 0.3])
#: Sizes of the group and of its reference, rates under A, rates under B, decisions changed either
#: way beyond what the rates need.
_REGIMES = {
    "150 beside 1,500, .30/.50 to .35/.50, 6% changed": (
        (150, 1_500),
        (0.30, 0.50),
        (0.35, 0.50),
        0.005,
    ),
    "60 beside 2,000, no change, 2% changed": ((60, 2_000), (0.30, 0.50), (0.30, 0.50), 0.01),
    "60 beside 2,000, .10/.20 to .12/.20, 2.4% changed": (
        (60, 2_000),
        (0.10, 0.20),
        (0.12, 0.20),
        0.002,
    ),
    "40 beside 2,000, .90/.95 to .90/.90, 2 to 7% changed": (
        (40, 2_000),
        (0.90, 0.95),
        (0.90, 0.90),
        0.01,
    ),
    "500 beside 500, .30/.50 to .40/.50, 10 to 20% changed": (
        (500, 500),
        (0.30, 0.50),
        (0.40, 0.50),
        0.05,
    ),
    "500 beside 500, from .40/.50 to .50/.40, 14% changed": (
        (500, 500),
        (0.40, 0.50),
        (0.50, 0.40),
        0.02,
    ),
    "100 beside 1,000, from .25/.50 to .50/.25, 29% changed": (
        (100, 1_000),
        (0.25, 0.50),
        (0.50, 0.25),
        0.02,
    ),
}


#: Sizes of the group and of its reference × shares of decisions on which the models agree.
_AGREEMENT = [
    (sizes, agree) for sizes in ((150, 1_500), (500, 500)) for agree in (0.80, 0.90, 0.95, 0.99)
]


def _cells_of(before: float, after: float, changed: float) -> NDArray[np.float64]:
    """Probabilities of label × prediction A × prediction B in one group."""
    both = min(before, after) - changed
    table = np.array([both, before - both, after - both, 1 + both - before - after])
    return np.concatenate([table * _LABELS, table * (1 - _LABELS)])


def _compare(cells: dict[str, tuple[int, ...]], metric: str) -> fs.results.PairedChange:
    counts = fs.results.PairedCounts.from_counts(cells)
    return fs.compare_models(counts=counts, metrics=metric, reference="large").comparisons[0]


def of_changes(rng: np.random.Generator, runs: int, *, metric: str, regime: str) -> Counts:
    """Samples of one regime."""
    sizes, before, after, changed = _REGIMES[regime]
    chances = [_cells_of(a, b, changed) for a, b in zip(before, after, strict=True)]
    names = ("small", "large")
    truth = _compare(
        {n: tuple(np.rint(1e12 * p).astype(int)) for n, p in zip(names, chances, strict=True)},
        metric,
    )
    wrong = 0
    intervals = []
    moved = 0.0 if abs(truth.distance_change) < 1e-6 else truth.distance_change
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fs.FairstatsWarning)
        for _ in range(runs):
            drawn = [
                tuple(rng.multinomial(n, p).tolist()) for n, p in zip(sizes, chances, strict=True)
            ]
            found = _compare(dict(zip(names, drawn, strict=True)), metric)
            answered = found.verdict != "insufficient evidence"
            intervals.append(tuple(found.confidence_interval) if answered else (np.nan, np.nan))
            low, high = found.distance_interval
            wrong += answered and ((high < 0 <= moved) or (low > 0 >= moved))
    counts = tally_interval(truth.estimate, intervals)
    return {**counts, "false verdict": (wrong, counts["answered"][0])}


def of_agreement(
    rng: np.random.Generator, runs: int, *, metric: str, sizes: tuple[int, int], agree: float
) -> Counts:
    """Models that select .35 and .50 of the two groups, or by B a fifth of the changed decisions
    more.
    """
    regime = f"{sizes} {agree}"
    gain = 0.2 * (1 - agree)
    changed = (1 - agree - gain) / 2
    _REGIMES[regime] = (sizes, (0.35, 0.50), (0.35 + gain, 0.50 + gain), changed)
    try:
        return of_changes(rng, runs, metric=metric, regime=regime)
    finally:
        del _REGIMES[regime]


def of_auc(rng: np.random.Generator, runs: int, *, n: int, noise: float) -> Counts:
    """AUCs of two scores that share a signal, in a group of `n`; B has a little less noise."""
    from scipy.stats import norm

    signal = 1.2
    spread = [np.sqrt(1 + own**2) for own in (noise, 0.9 * noise)]
    truth = float(np.diff([norm.cdf(signal / (np.sqrt(2) * s)) for s in spread])[0])
    intervals = []
    for _ in range(runs):
        y = (np.arange(2 * n) % 2 == 0).astype(int)
        shared = rng.standard_normal(2 * n) + signal * y
        scores = {
            name: norm.cdf(shared + own * rng.standard_normal(2 * n))
            for name, own in (("A", noise), ("B", 0.9 * noise))
        }
        group = np.repeat(["small", "other"], n)
        found = fs.compare_models(y, score=scores, metrics="auc", sensitive_features=group)
        intervals.append(tuple(found["small"].confidence_interval))
    return tally_interval(truth, intervals)


def _abroca_of(signals: tuple[float, float], agree: float, redrawn: float) -> float:
    """ABROCA where positives score N(s, 1), a share 1 − `agree` of the small group's N(`redrawn`·s,
    1).
    """
    from scipy.stats import norm

    cut = norm.isf((np.arange(100_000) + 0.5) / 100_000)
    small, large = (norm.sf(cut - s) for s in signals)
    small = agree * small + (1 - agree) * norm.sf(cut - redrawn * signals[0])
    return float(np.abs(small - large).mean())


def of_abroca(rng: np.random.Generator, runs: int, *, agree: float, redrawn: float) -> Counts:
    """150 beside 1,500 rows; the share 1 − `agree` is scored anew by B, the small group's with less
    signal.

    "size" is of the test of no change, where B draws from the law of A (`redrawn` 1).
    """
    from scipy.stats import norm

    signals = (0.8, 1.6)
    group = np.repeat(["small", "large"], [150, 1_500])
    truth = _abroca_of(signals, agree, redrawn) - _abroca_of(signals, 1.0, 1.0)
    signal = np.where(group == "small", *signals)
    rejected = 0
    intervals = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fs.FairstatsWarning)
        for _ in range(runs):
            y = rng.integers(0, 2, group.size)
            first = signal * y + rng.standard_normal(group.size)
            weaker = np.where(group == "small", redrawn, 1.0) * signal * y
            second = np.where(
                rng.random(group.size) < agree, first, weaker + rng.standard_normal(group.size)
            )
            found = fs.compare_models(
                y,
                score={"A": norm.cdf(first), "B": norm.cdf(second)},
                metrics="abroca",
                sensitive_features=group,
                reference="large",
                rng=int(rng.integers(2**31)),
            ).comparisons[0]
            intervals.append(tuple(found.confidence_interval))
            rejected += found.pvalue < 0.05
    counts = tally_interval(truth, intervals)
    return {**counts, "size": (rejected, runs)} if redrawn == 1 else counts


def of_clusters(
    rng: np.random.Generator, runs: int, *, clusters: int, variation: float, gained: float = 0.0
) -> Counts:
    """Few clusters of 20 rows on average beside 94, one of ten decisions changed; ICC about .1.

    `variation`: of the sizes of the few (gamma). `gained`: instead B selects so many of those whom
    A does not, in the few clusters only, and as many in a cluster as a beta law of that ICC says.
    """
    truth = 0.5 * gained
    intervals = []
    sizes = np.full(clusters + 94, 20)
    for _ in range(runs):
        if variation:
            drawn = rng.gamma(1 / variation**2, 20 * variation**2, clusters)
            sizes[:clusters] = np.maximum(np.rint(drawn), 1)
        owner = np.repeat(np.arange(clusters + 94), sizes)
        group = np.where(owner < clusters, "small", "large")
        lean = rng.normal(0, 0.15, clusters + 94)[owner]
        a = rng.random(owner.size) < np.clip(0.5 + lean, 0, 1)
        often = np.clip(0.1 + rng.normal(0, 0.04, clusters + 94)[owner], 0, 1)
        b = np.where(rng.random(owner.size) < often, rng.random(owner.size) < 0.5, a)
        if gained:
            chance = rng.beta(9 * gained, 9 * (1 - gained), clusters + 94)[owner]
            b = np.where(owner < clusters, a | (rng.random(owner.size) < chance), b)
        found = fs.compare_models(
            None,
            a.astype(int),
            b.astype(int),
            sensitive_features=pd.Categorical(group),
            reference="large",
            cluster=owner,
            metrics="demographic_parity_difference",
        ).comparisons[0]
        known = found.verdict != "insufficient evidence"
        intervals.append(tuple(found.confidence_interval) if known else (np.nan, np.nan))
    return tally_interval(truth, intervals)


def _cells() -> Iterator[Cell]:
    few = {name for name, (sizes, *_) in _REGIMES.items() if sizes[0] < 150}
    for metric in (
        "disparate_impact",
        "demographic_parity_difference",
        "conditional_use_accuracy_1",
    ):
        for regime in _REGIMES:
            rare = regime in few
            yield Cell(
                "paired",
                f'compare_models(metrics="{metric}")',
                regime,
                partial(of_changes, metric=metric, regime=regime),
                runs=2_000,
                claim="conservative" if rare or metric.startswith("conditional") else "valid",
                remark="hardly any decision of the small group changes: the interval is wide"
                if rare
                else "",
            )
    for metric in ("disparate_impact", "demographic_parity_difference", "average_odds_difference"):
        for sizes, agree in _AGREEMENT:
            yield Cell(
                "paired",
                f'compare_models(metrics="{metric}")',
                f"{sizes[0]} beside {sizes[1]:,}, the models agree on {agree:.0%}",
                partial(of_agreement, metric=metric, sizes=sizes, agree=agree),
                runs=2_000,
                claim="conservative" if agree > 0.9 or metric.startswith("average") else "valid",
                remark="few changed decisions: the interval is wide" if agree > 0.9 else "",
            )
    for n, noise in ((150, 0.3), (150, 0.8), (500, 0.3)):
        yield Cell(
            "paired",
            'compare_models(metrics="auc")',
            f"{n} rows, noise {noise:g} of the signal",
            partial(of_auc, n=n, noise=noise),
            runs=2_000,
            version=VERSION,
        )
    for agree in (0.80, 0.90, 0.95, 0.99):
        for redrawn, words in (
            (1.0, "no change"),
            (0.0, "the small group's other scores without signal"),
        ):
            yield Cell(
                "paired",
                'compare_models(metrics="abroca")',
                f"150 beside 1,500, {agree:.0%} of the scores alike, {words}",
                partial(of_abroca, agree=agree, redrawn=redrawn),
                runs=500,
                claim="conservative",
                version=VERSION,
            )
    name = 'compare_models(metrics="demographic_parity_difference", cluster=)'
    for clusters, variation, gained in (
        (8, 0.0, 0.0),
        (20, 0.0, 0.0),
        (24, 0.7, 0.0),
        (12, 0.0, 0.15),
        (24, 1.2, 0.15),
        (60, 1.2, 0.05),
    ):
        uneven = f" (CV {variation:g})" if variation else ""
        told = f"{gained:.0%} gained" if gained else "10% changed"
        few = "few clusters change: the interval is wide"
        yield Cell(
            "paired",
            name,
            f"{clusters} clusters of 20{uneven} beside 94, {told}",
            partial(of_clusters, clusters=clusters, variation=variation, gained=gained),
            runs=2_000,
            claim="conservative",
            remark=few,
        )


CELLS = tuple(_cells())
