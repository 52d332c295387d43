"""Scores of several models on the same people: AUC, Brier score, MADD and ABROCA, and what changes.

AUCs have the covariance of DeLong, DeLong and Clarke-Pearson (1988). MADD and ABROCA are ∫|D| of a difference
D of two groups, with a kink where D is 0. Rows are drawn again, all models' scores with them, and the noise h
of D goes through the directional derivative: sign(D)·h away from 0, |h| where D may be 0. Where that is,
within 0, 1.5 or 3 and more standard errors, gives three laws, and the interval is the widest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from fairstats.ground.multiplicity import normal_cdf
from fairstats.ground.scores import label_blind_bins
from fairstats.ground.verdict import Evidence
from fairstats.methods.rates.abroca import MIN_ROWS, RocCurve, area_between, roc_on_grid
from fairstats.methods.rates.models.paired import Change
from fairstats.methods.rates.models.paired_score import End, Part

Floats = NDArray[np.float64]
#: Bins of scores that drawn ROC curves are made of.
_BINS = 50
#: Beyond so many rows the noise of bin shares is drawn as normal with their covariance.
_MANY = 2_000
#: |D| within so many standard errors of 0 may be 0.
_NEAR = 3.0
#: A reach between none and that: of two models one may be alike where the other is not.
_BETWEEN = 1.5


@dataclass(frozen=True, eq=False)
class Level:
    """A quantity of every model for one group, or pair of groups: estimates, and the part of each."""

    estimates: Floats
    parts: tuple[Part, ...]
    std_errors: Floats
    degrees_of_freedom: float = float("inf")
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, eq=False)
class Measured:
    """The same, and what changes from one model to another; `grid`: bins of MADD."""

    level: Level
    changes: dict[tuple[int, int], Change]
    grid: int = 0


def auc(scores: Floats, y: NDArray[np.int64], pairs: Sequence[tuple[int, int]]) -> Measured | str:
    """AUCs of models, with DeLong's covariance; `scores`, shape (M, n); `pairs`: (model, baseline)."""
    rows = [scores[:, y == label] for label in (0, 1)]
    if min(part.shape[1] for part in rows) < MIN_ROWS:
        return f"fewer than {MIN_ROWS} rows of one label."
    estimates, covariance = delong(*rows)
    # scores of the same order: by how many rows of either label it could yet change
    floors = [part.shape[1] for part in rows]
    return _normal(estimates, covariance, pairs, floors, float("inf"), (0.0, 1.0))


def delong(negatives: Floats, positives: Floats) -> tuple[Floats, Floats]:
    """AUC of every model, shape (M,), and their covariance, shape (M, M)."""
    from scipy.stats import rankdata

    m, n = positives.shape[1], negatives.shape[1]
    every = rankdata(np.hstack([positives, negatives]), axis=1)
    places = (every[:, :m] - rankdata(positives, axis=1)) / n
    others = 1 - (every[:, m:] - rankdata(negatives, axis=1)) / m
    covariance = np.atleast_2d(np.cov(places)) / m + np.atleast_2d(np.cov(others)) / n
    return places.mean(axis=1), covariance


def brier(scores: Floats, y: NDArray[np.int64], pairs: Sequence[tuple[int, int]]) -> Measured | str:
    """Brier scores of models: means over the same rows."""
    n = y.size
    if n < 2:
        return "fewer than two rows."
    errors = (scores - y) ** 2
    return _normal(errors.mean(axis=1), np.atleast_2d(np.cov(errors)) / n, pairs, [n], n - 1.0, (0.0, 1.0))


def _normal(
    estimates: Floats,
    covariance: Floats,
    pairs: Sequence[tuple[int, int]],
    rows: Sequence[int],
    degrees: float,
    ends: tuple[float, float],
) -> Measured:
    """Estimates with a covariance; models that agree on every row have the limits of no change."""

    def held(at: float, error: float) -> Part:
        return Part(at, lambda z: max(at - z * error, ends[0]), lambda z: min(at + z * error, ends[1]))

    errors = np.sqrt(np.diag(covariance))
    parts = tuple(held(float(a), float(e)) for a, e in zip(estimates, errors, strict=True))
    found = {}
    for b, a in pairs:
        at = float(estimates[b] - estimates[a])
        variance = covariance[a, a] + covariance[b, b] - 2 * covariance[a, b]
        error = float(np.sqrt(max(variance, 0.0)))
        same = error < 1e-12 and abs(at) < 1e-12
        part = _unchanged(rows) if same else Part.normal(at, error)
        found[b, a] = Change(part, part, 0.0 if same else error, degrees)
    return Measured(Level(estimates, parts, errors, degrees), found)


def _unchanged(rows: Sequence[int], weight: float = 1.0) -> Part:
    """No row told the models apart: by how many of each set of rows it could yet be (Tango's limits)."""

    def reach(z: float) -> float:
        return weight * hypot(*(z * z / (n + z * z) for n in rows))

    return Part(0.0, lambda z: -reach(z), reach)


def madd(
    scores: tuple[Floats, Floats],
    pairs: Sequence[tuple[int, int]],
    margin: float,
    n_resamples: int,
    rng: Generator,
) -> Measured | str:
    """MADD of models between two groups, on one grid that depends on the group sizes only.

    `scores`: of the group and its reference, shape (M, n) each.
    """
    sizes = [part.shape[1] for part in scores]
    if min(sizes) < MIN_ROWS:
        return f"fewer than {MIN_ROWS} rows."
    bins = label_blind_bins(*sizes)
    codes = [grid_codes(part, bins) for part in scores]
    shares = [np.stack([np.bincount(c, minlength=bins) / c.size for c in part]) for part in codes]
    drawn = [_drawn_shares(part, bins, n_resamples, rng) for part in codes]
    observed = shares[0] - shares[1]
    noise = drawn[0] - drawn[1] - observed[:, None]
    near = max(_NEAR, float(np.sqrt(np.log(min(sizes)))), float(np.sqrt(2 * np.log(bins))))
    estimates = np.abs(observed).sum(axis=1)
    apart = _Apart(observed, noise, near, step=1.0, most=2.0, rows=sizes)
    return apart.measure(estimates, pairs, margin, bins)


def grid_codes(scores: Floats, bins: int) -> NDArray[np.int64]:
    """Bins [0, 1/m), …, [(m−1)/m, 1] of scores, each edge rounded once."""
    return np.searchsorted(np.arange(1, bins) / bins, scores, side="right")


@dataclass(frozen=True, eq=False)
class DrawnCurves:
    """ROC curves of every model in one group: exact ones, and on a grid those of rows drawn again.

    `on_grid`: per model, shape (1 + B, grid), the first from the rows themselves; `rows`: of either label.
    """

    exact: tuple[RocCurve, ...]
    on_grid: tuple[Floats, ...]
    rows: tuple[int, ...]

    @classmethod
    def of(
        cls, scores: Floats, y: NDArray[np.int64], cuts: Sequence[Floats], n_resamples: int, rng: Generator
    ) -> DrawnCurves | None:
        """None where a label has too few rows; `scores`, shape (M, n); `cuts`: of every model."""
        rows = [scores[:, y == label] for label in (0, 1)]
        if min(part.shape[1] for part in rows) < MIN_ROWS:
            return None
        bins = max(c.size for c in cuts) + 1
        shares = []
        for part in rows:
            codes = np.stack([np.searchsorted(c, s, side="right") for c, s in zip(cuts, part, strict=True)])
            seen = np.stack([np.bincount(c, minlength=bins) / c.size for c in codes])
            shares.append(np.hstack([seen[:, None], _drawn_shares(codes, bins, n_resamples, rng)]))
        exact = tuple(_curve(*pair) for pair in zip(*rows, strict=True))
        on_grid = tuple(roc_on_grid(*both) for both in zip(*shares, strict=True))
        return cls(exact, on_grid, tuple(part.shape[1] for part in rows))


def abroca(
    group: DrawnCurves | None, reference: DrawnCurves | None, pairs: Sequence[tuple[int, int]], margin: float
) -> Measured | str:
    """ABROCA of models between two groups."""
    if group is None or reference is None:
        return f"fewer than {MIN_ROWS} rows of one label, too few to resample a ROC curve."
    curves = zip(group.exact, reference.exact, strict=True)
    estimates = np.array([area_between(one, other) for one, other in curves])
    apart = np.stack([one - other for one, other in zip(group.on_grid, reference.on_grid, strict=True)])
    observed, noise = apart[:, 0], apart[:, 1:] - apart[:, :1]
    rows = [*group.rows, *reference.rows]
    curves_apart = _Apart(observed, noise, _NEAR, step=1 / observed.shape[1], most=1.0, rows=rows)
    return curves_apart.measure(estimates, pairs, margin)


def _curve(negatives: Floats, positives: Floats) -> RocCurve:
    values, at = np.unique(np.concatenate([negatives, positives]), return_inverse=True)
    size = negatives.size
    return RocCurve.from_counts(
        *(np.bincount(part, minlength=values.size) for part in (at[:size], at[size:]))
    )


def score_cuts(scores: Floats) -> Floats:
    """Edges of at most `_BINS` bins of about equal size, none between equal scores."""
    return np.unique(np.quantile(scores, np.arange(1, _BINS) / _BINS, method="higher"))


def _drawn_shares(codes: NDArray[np.int64], bins: int, n_resamples: int, rng: Generator) -> Floats:
    """Shares of the bins of every model in samples of the same rows drawn again, shape (M, B, bins)."""
    models, n = codes.shape
    if n > _MANY:
        return _normal_shares(codes, bins, n_resamples, rng)
    drawn = np.empty((models, n_resamples, bins))
    step = max(1, (1 << 21) // n)
    for start in range(0, n_resamples, step):
        size = min(step, n_resamples - start)
        rows = rng.integers(0, n, (size, n))
        place = bins * np.arange(size)[:, None]
        for k in range(models):
            counts = np.bincount((codes[k][rows] + place).ravel(), minlength=bins * size)
            drawn[k, start : start + size] = counts.reshape(size, bins) / n
    return drawn


def _normal_shares(codes: NDArray[np.int64], bins: int, n_resamples: int, rng: Generator) -> Floats:
    """The same with the covariance of the shares of all models, normal: for many rows."""
    models, n = codes.shape
    joint = np.zeros((models * bins, models * bins))
    for a in range(models):
        for b in range(a, models):
            table = np.bincount(codes[a] * bins + codes[b], minlength=bins * bins).reshape(bins, bins) / n
            joint[a * bins : (a + 1) * bins, b * bins : (b + 1) * bins] = table
            joint[b * bins : (b + 1) * bins, a * bins : (a + 1) * bins] = table.T
    shares = joint[:bins].reshape(bins, models, bins).sum(axis=0).ravel()
    values, vectors = np.linalg.eigh((joint - np.outer(shares, shares)) / n)
    used = values > 1e-14 * values[-1] if values[-1] > 0 else np.zeros(values.size, dtype=bool)
    noise = rng.standard_normal((n_resamples, int(used.sum()))) @ (vectors[:, used] * np.sqrt(values[used])).T
    drawn = np.maximum(shares + noise, 0.0).reshape(n_resamples, models, bins)
    return np.moveaxis(drawn / drawn.sum(axis=2, keepdims=True), 1, 0)


@dataclass(frozen=True, eq=False)
class _Apart:
    """A difference D of two groups on a grid, of every model, and its noise.

    `observed`, shape (M, T): D; `noise`, shape (M, B, T); `near`: standard errors within which D may be 0;
    `step`: width of a step of the grid; `most`: largest value of ∫|D|; `rows`: of every sample drawn from.
    """

    observed: Floats
    noise: Floats
    near: float
    step: float
    most: float
    rows: Sequence[int]

    def measure(
        self, estimates: Floats, pairs: Sequence[tuple[int, int]], margin: float, grid: int = 0
    ) -> Measured:
        """Limits of ∫|D| and of its changes."""
        laws, most = self._laws(), self.most
        areas = self.step * np.abs(self.observed[:, None] + self.noise).sum(axis=2)
        parts = tuple(
            Part(at, *_ends(at, np.sort(np.stack(law), axis=1), 0.0, most))
            for at, law in zip(estimates.tolist(), laws, strict=True)
        )
        evidence = tuple(_evidence(p.estimate, laws[k], margin) for k, p in enumerate(parts))
        found = {}
        for b, a in pairs:
            at = float(estimates[b] - estimates[a])
            both = np.sort(
                np.stack([one - other for one, other in zip(laws[b], laws[a], strict=True)]), axis=1
            )
            error = float((areas[b] - areas[a]).std(ddof=1))
            part = _unchanged(self.rows, most) if error < 1e-12 else Part(at, *_ends(at, both, -most, most))
            found[b, a] = Change(part, part, error)
        return Measured(Level(estimates, parts, areas.std(axis=1, ddof=1), evidence=evidence), found, grid)

    def _laws(self) -> list[list[Floats]]:
        """Errors of ∫|D| of every model, by how near to 0 D may be 0."""
        laws = []
        for d, h, error in zip(self.observed, self.noise, self.noise.std(axis=1), strict=True):
            zeros = (np.abs(d) < reach * error for reach in (0.0, _BETWEEN, self.near))
            laws.append(
                [self.step * (h @ np.where(z, 0.0, np.sign(d)) + np.abs(h[:, z]).sum(axis=1)) for z in zeros]
            )
        return laws


def _ends(at: float, laws: Floats, least: float, most: float) -> tuple[End, End]:
    """Ends of the widest interval of laws of the error of `at`, shape (L, B), each ascending."""
    n = laws.shape[1]

    def beyond(z: float) -> int:
        return int((1 - normal_cdf(z)) * (n + 1) + 1e-9)

    def low(z: float) -> float:
        k = beyond(z)
        return max(at - float(laws[:, -k].max()), least) if k else least

    def high(z: float) -> float:
        k = beyond(z)
        return min(at - float(laws[:, k - 1].min()), most) if k else most

    return low, high


def _evidence(at: float, laws: Sequence[Floats], margin: float) -> Evidence:
    """p-values of the quantity against a margin."""
    over, under = (
        max((1 + int(np.count_nonzero(sign * law >= sign * (at - margin)))) / (1 + law.size) for law in laws)
        for sign in (1, -1)
    )
    return Evidence(above=over, inside=under)
