"""Cells of areas under ROC curves and of calibration regressions whose rows have weights or come in
clusters, and of the area of a group beside that of all rows.

Scores are normal given the label, so that every truth is known exactly. Weights are lognormal: they
have nothing to do with the scores, or grow with them ("with the score"), which moves the truth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.stats
from scipy.special import logit, ndtr, ndtri

from fairstats.methods.rates.numbers.areas import LEAST_OF_LABEL
from fairstats.numerics.means.hall import as_student
from fairstats.numerics.means.logistic import (
    Coefficient,
    WeightedRows,
    weighted_intercept,
    weighted_slope,
)
from fairstats.numerics.means.placements import BesideAll, ScoredRows, area_beside_all, area_of_rows
from fairstats.numerics.means.ranks import Areas, area_limits
from tests.calibration.means import mover_decisions
from tests.calibration.study import Cell, Counts

#: Growth of the logarithm of a weight with the score, in its standard deviations.
_TILT = 0.5
_Limits = Callable[[float], tuple[np.ndarray, ...]]


@dataclass(frozen=True)
class Design:
    """How rows are drawn: CV of their weights, whether these grow with the score, rows a cluster.

    Scores of a cluster have the correlation ½ within each label.
    """

    words: str
    cv: float = 0.0
    with_score: bool = False
    cluster_rows: int = 0

    def weights(self, rng: np.random.Generator, standard_scores: np.ndarray) -> np.ndarray:
        """Of every row."""
        weight = np.exp(rng.normal(0, np.sqrt(np.log1p(self.cv**2)), standard_scores.size))
        return weight * np.exp(_TILT * standard_scores) if self.with_score else weight

    def units(self, rng: np.random.Generator, n: int) -> np.ndarray | None:
        """The cluster of every row."""
        if not self.cluster_rows:
            return None
        return rng.permutation(np.arange(n) % (n // self.cluster_rows))

    def rows(
        self, rng: np.random.Generator, sizes: Sequence[int], distance: float, spread: float
    ) -> ScoredRows:
        """`sizes`: rows with label 1, of mean `distance` and sd `spread`, and with label 0."""
        n = sum(sizes)
        positive = np.arange(n) < sizes[0]
        unit = self.units(rng, n)
        noise = _normal(rng, n, unit)
        score = np.where(positive, distance + spread * noise, noise)
        weight = self.weights(rng, score)
        return rows_of(score, positive, np.zeros(n, dtype=np.intp), weight, unit)

    def area(self, distance: float, spread: float) -> float:
        """The truth: a tilted normal law has another mean."""
        if self.with_score:
            distance += _TILT * (spread**2 - 1)
        return float(ndtr(distance / np.hypot(1, spread)))


def _normal(rng: np.random.Generator, n: int, unit: np.ndarray | None) -> np.ndarray:
    """Standard normal numbers, with the correlation ½ within clusters."""
    noise = rng.normal(size=n)
    if unit is None:
        return noise
    return (noise + rng.normal(size=unit.max() + 1)[unit]) / np.sqrt(2)


def _uniform(rng: np.random.Generator, n: int, unit: np.ndarray | None) -> np.ndarray:
    """Uniform numbers, whose normal scores have that correlation."""
    return np.asarray(ndtr(_normal(rng, n, unit)))


def rows_of(
    score: np.ndarray,
    positive: np.ndarray,
    stratum: np.ndarray,
    weight: np.ndarray | None = None,
    unit: np.ndarray | None = None,
) -> ScoredRows:
    """Rows as the package has them."""
    if weight is None:
        weight = np.ones(score.size)
    place = np.empty(score.size, dtype=np.intp)
    place[np.argsort(score)] = np.arange(score.size)
    number = np.ones(score.size, dtype=np.int64)
    return ScoredRows(place, positive, stratum, number, weight, weight**2, unit)


def _stacked(areas: Sequence[Areas]) -> Areas:
    """Many areas as arrays."""
    columns = {}
    for name in ("area", "variance", "positives", "negatives", "df"):
        columns[name] = np.array([getattr(area, name) for area in areas], dtype=np.float64)
    if np.isnan(columns["df"]).all():
        columns.pop("df")
    return Areas(**columns)


def _counted(limits: _Limits, estimates: tuple[np.ndarray, np.ndarray], truth: float) -> Counts:
    runs = estimates[0].size
    sums = {}
    for measure, wrong in mover_decisions(limits, estimates, truth).items():
        sums[measure] = float(wrong.sum())
    counts = {measure: (total, runs) for measure, total in sums.items()}
    counts["coverage"] = (runs - sums["above"] - sums["below"], runs)
    return counts


def _areas(
    design: Design,
    small: tuple[int, int],
    large: tuple[int, int],
    area: float,
    spread: float = 1.0,
    runs: int = 10_000,
    **about: str,
) -> Cell:
    """Two groups of one law."""
    distance = float(np.hypot(1, spread) * ndtri(area))

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        pair = []
        for sizes in (small, large):
            drawn = [area_of_rows(design.rows(rng, sizes, distance, spread)) for _ in range(runs)]
            pair.append(_stacked(drawn))

        def limits(z: float) -> tuple[np.ndarray, ...]:
            return tuple(end for areas in pair for end in area_limits(areas, z))

        return _counted(limits, (pair[0].area, pair[1].area), 0.0)

    beside = f"{small[0]} + {small[1]} rows beside {large[0]} + {large[1]:,}"
    regime = f"{design.words}, {beside}, AUC {area:g}, spread {spread:g}"
    claim = {"claim": "conservative", **about}
    return Cell("means", "scores(metric='auc'): designs", regime, simulate, runs, **claim)


def _beside_all(
    sizes: Sequence[tuple[int, int]],
    distances: Sequence[float],
    shifts: Sequence[float],
    words: str,
    runs: int = 10_000,
) -> Cell:
    """The first group beside all; the shares of groups in the rows of a label are fixed.

    `distances`, `shifts`: of positive scores from negative ones, and of all scores, by group.
    """
    n_positives = np.array([size[0] for size in sizes], dtype=float)
    n_negatives = np.array([size[1] for size in sizes], dtype=float)
    of_positives = np.add(distances, shifts)
    between = ndtr(np.subtract.outer(of_positives, shifts) / np.sqrt(2))
    of_all = n_positives @ between @ n_negatives / n_positives.sum() / n_negatives.sum()
    truth = float(between[0, 0] - of_all)
    positive = np.concatenate([np.arange(sum(size)) < size[0] for size in sizes])
    stratum = np.repeat(np.arange(len(sizes)), [sum(size) for size in sizes])
    means = np.take(shifts, stratum) + np.where(positive, np.take(distances, stratum), 0.0)

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        found: list[BesideAll] = []
        for _ in range(runs):
            rows = rows_of(means + rng.normal(size=means.size), positive, stratum)
            found.append(area_beside_all(rows, stratum == 0))
        pair = [_stacked([each.area for each in found]), _stacked([each.of_all for each in found])]
        parts = [each.part((1.0, 1.0)) for each in found]
        shares = np.array([[part.own, part.others] for part in parts]).T

        def limits(z: float) -> tuple[np.ndarray, ...]:
            ends = []
            for areas, share in zip(pair, shares, strict=True):
                for end in area_limits(areas, z):
                    ends.append(areas.area + share * (end - areas.area))
            return tuple(ends)

        return _counted(limits, (pair[0].area, pair[1].area), truth)

    listed = ", ".join(f"{size[0]} + {size[1]}" for size in sizes)
    method = "scores(metric='auc', comparisons='overall')"
    return Cell("means", method, f"{listed} rows, {words}", simulate, runs, "conservative")


def _coefficients(
    metric: str, design: Design, n: int, low: bool, runs: int = 4_000, **about: str
) -> Cell:
    """The coefficient of n rows of a calibrated score, beside one that is known."""
    fit = weighted_slope if metric == "slope" else weighted_intercept
    truth = 1.0 if metric == "slope" else 0.0

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        found: list[Coefficient] = []
        for _ in range(runs):
            unit = design.units(rng, n)
            law = scipy.stats.beta(*((1.5, 6) if low else (2, 2)))
            score = np.clip(law.ppf(_uniform(rng, n, unit)), 0.01, 0.99)
            label = (_uniform(rng, n, unit) < score).astype(np.float64)
            if min(label.sum(), n - label.sum()) < LEAST_OF_LABEL:
                continue
            weight = design.weights(rng, logit(score))
            coefficient = fit(WeightedRows(score, label, weight, unit))
            if not np.isnan(coefficient.estimate):
                found.append(coefficient)
        estimate = np.array([coefficient.estimate for coefficient in found])
        error = np.array([coefficient.std_error for coefficient in found])
        df = np.array([coefficient.df for coefficient in found])
        known = np.full(estimate.size, truth)

        def limits(z: float) -> tuple[np.ndarray, ...]:
            reach = as_student(z, df) * error
            return estimate - reach, estimate + reach, known, known

        counts = dict(_counted(limits, (estimate, known), 0.0))
        counts["answered"] = (float(estimate.size), runs)
        return counts

    risks = "low risks" if low else "even risks"
    regime = f"{design.words}, {n} rows, calibrated, {risks}"
    claim = {"claim": "conservative", **about}
    method = f"calibration(metric='{metric}'): designs"
    return Cell("means", method, regime, simulate, runs, **claim)


HALF = Design("weights, CV .5", 0.5)
ONE = Design("weights, CV 1", 1.0)
LARGE = Design("weights, CV 1.5", 1.5)
TILTED = Design("weights with the score, CV 1", 1.0, with_score=True)
CLUSTERS = Design("clusters of 5, correlation ½", cluster_rows=5)
BOTH = Design("clusters of 5, correlation ½, weights, CV 1", 1.0, cluster_rows=5)


def _cells() -> Iterator[Cell]:
    for design in (HALF, ONE, LARGE):
        yield _areas(design, (10, 50), (30, 570), 0.8)
        yield _areas(design, (40, 160), (400, 1_600), 0.7)
    yield _areas(LARGE, (10, 190), (100, 1_900), 0.9)
    yield _areas(ONE, (20, 40), (200, 400), 0.8, spread=2.0)
    yield _areas(TILTED, (20, 40), (200, 400), 0.8)
    yield _areas(TILTED, (40, 160), (400, 1_600), 0.9)
    for design in (CLUSTERS, BOTH):
        yield _areas(design, (60, 140), (300, 700), 0.75)
        yield _areas(design, (100, 400), (400, 1_600), 0.9)
    alike = ((30, 70), (60, 140), (150, 350))
    yield _beside_all(alike, (1.0, 1.0, 1.0), (0.0, 0.0, 0.0), "AUC .76 in each")
    yield _beside_all(alike, (1.5, 0.8, 1.0), (0.0, 0.5, -0.5), "AUC .86, .71, .76, shifted")
    yield _beside_all(((300, 600), (20, 40)), (1.0, 0.3), (0.0, 0.5), "AUC .76, .58, shifted")
    few = ((10, 50), (60, 540))
    yield _beside_all(few, (2.0, 1.0), (0.3, 0.0), "AUC .92, .76, shifted")
    for metric in ("slope", "intercept"):
        yield _coefficients(metric, ONE, 60, low=False)
        yield _coefficients(metric, LARGE, 200, low=True)
        yield _coefficients(metric, HALF, 600, low=True)
        yield _coefficients(metric, CLUSTERS, 200, low=False)


CELLS = tuple(_cells())
