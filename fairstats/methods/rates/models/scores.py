"""Scores of several models on the same people: AUC, Brier score and ABROCA, and what changes.

AUCs have the covariance of DeLong, DeLong and Clarke-Pearson (1988).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.random import Generator
from numpy.typing import NDArray

from fairstats.methods.rates.abroca import RocCurve, area_between, hidden_by_rows, roc_on_grid
from fairstats.numerics.paired.change import Change
from fairstats.numerics.paired.distance import MIN_ROWS, NEAR, Apart, Floats, Level, Measured, drawn_shares, unchanged
from fairstats.numerics.paired.score import Part

#: Bins of scores that drawn ROC curves are made of.
_BINS = 50


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
    m, n = positives.shape[1], negatives.shape[1]
    every = scipy.stats.rankdata(np.hstack([positives, negatives]), axis=1)
    places = (every[:, :m] - scipy.stats.rankdata(positives, axis=1)) / n
    others = 1 - (every[:, m:] - scipy.stats.rankdata(negatives, axis=1)) / m
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
        part = unchanged(rows) if same else Part.normal(at, error)
        found[b, a] = Change(part, part, 0.0 if same else error, degrees)
    return Measured(Level(estimates, parts, errors, degrees), found)


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
            shares.append(np.hstack([seen[:, None], drawn_shares(codes, bins, n_resamples, rng)]))
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
    samples = group, reference
    hidden = [
        hidden_by_rows(
            [g.exact[k] for g in samples],
            [g.rows for g in samples],
            [bool((g.on_grid[k] == g.on_grid[k][0]).all()) for g in samples],
        )
        for k in range(len(estimates))
    ]
    curves_apart = Apart(observed, noise, NEAR, step=1 / observed.shape[1], most=1.0, rows=rows, hidden=hidden)
    return curves_apart.measure(estimates, pairs, margin)


def _curve(negatives: Floats, positives: Floats) -> RocCurve:
    values, at = np.unique(np.concatenate([negatives, positives]), return_inverse=True)
    size = negatives.size
    return RocCurve.from_counts(*(np.bincount(part, minlength=values.size) for part in (at[:size], at[size:])))


def score_cuts(scores: Floats) -> Floats:
    """Edges of at most `_BINS` bins of about equal size, none between equal scores."""
    return np.unique(np.quantile(scores, np.arange(1, _BINS) / _BINS, method="higher"))
