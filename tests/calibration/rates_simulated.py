"""Simulated calibration of the rates: largest gaps, intervals that hold at once, ABROCA."""

from __future__ import annotations

import warnings
from itertools import product
from typing import NamedTuple
from unittest import mock

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri

import fairstats as fs


class Design(NamedTuple):
    """Groups of a simulated maximum: cases per rate and group, and the true rates."""

    name: str
    cases: tuple[tuple[int, ...], ...]
    rates: tuple[tuple[float, ...], ...]

    @property
    def truth(self) -> float:
        """max_j |δ_j|."""
        return max(max(r) - min(r) for r in self.rates)


MAXIMA = (
    Design("2 equal groups", ((100, 100),), ((0.3, 0.3),)),
    Design("2 equal groups, rare", ((100, 100),), ((0.05, 0.05),)),
    Design("2 groups, 10 and 1,000", ((10, 1000),), ((0.3, 0.3),)),
    Design("2 groups, one rate near 0", ((100, 100),), ((0.005, 0.05),)),
    Design("2 groups, far apart", ((100, 100),), ((0.3, 0.6),)),
    Design("5 equal groups", ((100,) * 5,), ((0.5,) * 5,)),
    Design("5 groups, one apart", ((100,) * 5,), ((0.5, 0.5, 0.5, 0.5, 0.7),)),
    Design("5 groups, spread", ((60, 80, 100, 200, 400),), ((0.1, 0.15, 0.2, 0.25, 0.3),)),
    Design("equalised odds, 2 equal groups", ((100, 100), (100, 100)), ((0.7, 0.7), (0.2, 0.2))),
    Design(
        "equalised odds, 3 groups", ((80, 120, 300), (150, 100, 300)), ((0.6, 0.7, 0.75), (0.2, 0.25, 0.2))
    ),
    Design(
        "equalised odds, 3 small groups", ((20, 25, 60), (30, 20, 60)), ((0.8, 0.8, 0.9), (0.1, 0.15, 0.1))
    ),
)


def maximum_of(design: Design, rng: np.random.Generator) -> fs.MaximumResult:
    """The public result for one simulated sample."""
    drawn = [rng.binomial(n, p) for n, p in zip(design.cases, design.rates, strict=True)]
    names = [f"g{j}" for j in range(len(design.cases[0]))]
    if len(design.cases) == 1:
        pairs = zip(drawn[0].tolist(), design.cases[0], strict=True)
        counts = {g: (k, n - k) for g, (k, n) in zip(names, pairs, strict=True)}
        return fs.demographic_parity_difference(counts=counts, agg="max")
    tp, fp = drawn
    table = {
        g: (int(tp[j]), int(fp[j]), design.cases[0][j] - int(tp[j]), design.cases[1][j] - int(fp[j]))
        for j, g in enumerate(names)
    }
    return fs.equalized_odds_difference(counts=table, agg="max")


def maxima_study(
    replicates: int = 2_000, seed: int = 1, designs: tuple[Design, ...] = MAXIMA
) -> pd.DataFrame:
    """Coverage and width of the interval of the largest gap, and its test where all groups are equal."""
    rows = []
    for number, design in enumerate(designs):
        rng = np.random.default_rng([seed, number])
        covered, width, estimate, rejected = 0, 0.0, 0.0, 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", fs.FairstatsWarning)
            for _ in range(replicates):
                result = maximum_of(design, rng)
                low, high = result.confidence_interval
                covered += low - 1e-12 <= design.truth <= high + 1e-12
                width += high - low
                estimate += result.estimate
                rejected += result.pvalue <= 0.05
        rows.append(
            {
                "groups": design.name,
                "truth": design.truth,
                "mean_estimate": estimate / replicates,
                "coverage": covered / replicates,
                "mean_width": width / replicates,
                "rejected": rejected / replicates,
                "replicates": replicates,
            }
        )
    return pd.DataFrame(rows)


def simultaneous_study(
    replicates: int = 2_000,
    seed: int = 1,
    methods: tuple[str, ...] = ("score", "delta"),
    adjustments: tuple[str, ...] = ("max-z", "bonferroni"),
) -> pd.DataFrame:
    """Probability that the intervals of all comparisons hold at once, per method and adjustment.

    The exact tests of small tables are not looked at here and would take most of the time: they are
    switched off.
    """
    rows = []
    designs = (
        ("4 groups, n 100", (100,) * 4, (0.3, 0.3, 0.4, 0.5)),
        ("4 groups, n 30", (30,) * 4, (0.3, 0.3, 0.4, 0.5)),
        ("6 groups, n 100, rare", (100,) * 6, (0.05,) * 6),
        ("5 groups, small beside large", (1000, 20, 20, 40, 40), (0.2,) * 5),
    )
    for number, (name, sizes, rates) in enumerate(designs):
        rng = np.random.default_rng([seed, number])
        drawn = rng.binomial(sizes, rates, (replicates, len(sizes)))
        for contrast, method, how in product(("ratio", "difference"), methods, adjustments):
            held = 0
            with warnings.catch_warnings(), mock.patch("fairstats.methods.rates.inference.MAX_TABLES", 0):
                warnings.simplefilter("ignore", fs.FairstatsWarning)
                for k in drawn.tolist():
                    counts = {f"g{j}": (k[j], n - k[j]) for j, n in enumerate(sizes)}
                    function = (
                        fs.disparate_impact if contrast == "ratio" else fs.demographic_parity_difference
                    )
                    result = function(counts=counts, reference="g0", method=method, simultaneous=how)  # type: ignore[arg-type]
                    truths = [r / rates[0] if contrast == "ratio" else r - rates[0] for r in rates[1:]]
                    held += all(
                        not c.interval.low > t + 1e-12 and not c.interval.high < t - 1e-12
                        for c, t in zip(result.comparisons, truths, strict=True)
                    )
            rows.append(
                {
                    "groups": name,
                    "contrast": contrast,
                    "method": method,
                    "simultaneous": how,
                    "coverage_of_all": held / replicates,
                    "replicates": replicates,
                }
            )
    return pd.DataFrame(rows)


class Curves(NamedTuple):
    """Binormal scores: positives of each group are N(mean, sd), negatives N(0, 1)."""

    name: str
    n: tuple[int, int]
    mean: tuple[float, float]
    sd: tuple[float, float]

    @property
    def truth(self) -> float:
        """Area between the two binormal ROC curves, Φ((μ + Φ⁻¹(t))/σ), by the midpoint rule."""
        t = ndtri((np.arange(200_000) + 0.5) / 200_000)
        first, second = (ndtr((m + t) / s) for m, s in zip(self.mean, self.sd, strict=True))
        return float(np.mean(np.abs(first - second)))


CURVES = (
    Curves("equal, 40 + 40 a group", (80, 80), (1.0, 1.0), (1.0, 1.0)),
    Curves("equal, 200 + 200 a group", (400, 400), (1.0, 1.0), (1.0, 1.0)),
    Curves("close", (300, 300), (1.0, 0.8), (1.0, 1.0)),
    Curves("far", (300, 300), (1.5, 0.5), (1.0, 1.0)),
    Curves("crossing", (300, 300), (1.0, 1.0), (1.0, 2.5)),
    Curves("far, 60 against 1,000", (60, 1000), (0.5, 1.5), (1.0, 1.0)),
)


def scored_sample(design: Curves, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels (half positive), scores in (0, 1), groups."""
    y, score_of, g = [], [], []
    for group, n, mean, sd in zip("ab", design.n, design.mean, design.sd, strict=True):
        label = np.arange(n) % 2
        z = np.where(label, mean + sd * rng.standard_normal(n), rng.standard_normal(n))
        y.append(label)
        score_of.append(ndtr(z))
        g.append(np.repeat(group, n))
    return np.concatenate(y), np.concatenate(score_of), np.concatenate(g)


def abroca_study(
    replicates: int = 2_000, seed: int = 1, designs: tuple[Curves, ...] = CURVES, n_resamples: int = 199
) -> pd.DataFrame:
    """Coverage and width of the ABROCA interval; size of its test; verdicts with a threshold at the truth."""
    rows = []
    for number, design in enumerate(designs):
        rng = np.random.default_rng([seed, number])
        truth = design.truth
        threshold = max(truth, 0.01)
        covered, width, estimate, expected, rejected, violated, satisfied = 0, 0.0, 0.0, 0.0, 0, 0, 0
        for _ in range(replicates):
            y, s, g = scored_sample(design, rng)
            result = fs.abroca(
                y,
                s,
                sensitive_features=g,
                reference="b",
                n_resamples=n_resamples,
                threshold=threshold,
                rng=rng,
            )
            low, high = result.confidence_interval
            covered += low <= truth <= high
            width += high - low
            estimate += result.estimate
            expected += result.expected_if_equal[0]
            rejected += result.pvalue <= 0.05
            violated += result.verdict == "violated"
            satisfied += result.verdict == "satisfied"
        rows.append(
            {
                "curves": design.name,
                "truth": truth,
                "mean_estimate": estimate / replicates,
                "expected_if_equal": expected / replicates,
                "coverage": covered / replicates,
                "mean_width": width / replicates,
                "rejected": rejected / replicates,
                "threshold": threshold,
                "wrongly_violated": violated / replicates,
                "wrongly_satisfied": satisfied / replicates,
                "replicates": replicates,
            }
        )
    return pd.DataFrame(rows)
