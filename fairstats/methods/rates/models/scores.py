"""Scores of several models on the same people: AUC, Brier score and ABROCA, and what changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
import scipy
from numpy.random import Generator
from numpy.typing import NDArray

from fairstats.ground.checks import Floats
from fairstats.methods.rates.abroca import RocCurve, area_between, hidden_by_rows, roc_on_grid
from fairstats.numerics.paired.change import Change
from fairstats.numerics.paired.distance import MIN_ROWS, NEAR, Apart, Level, Measured, drawn_shares, unchanged
from fairstats.numerics.paired.score import Part

#: Bins of scores that drawn ROC curves are made of.
_BINS = 50


def auc(scores: Floats, y: NDArray[np.int64], pairs: Sequence[tuple[int, int]]) -> Measured | str:
    """AUCs of models, with the covariance of DeLong, DeLong and Clarke-Pearson (1988).

    `scores`, shape (M, n); `pairs`: (model, baseline).
    """
    negatives, positives = (scores[:, y == label] for label in (0, 1))
    n, m = negatives.shape[1], positives.shape[1]
    if min(n, m) < MIN_ROWS:
        return f"fewer than {MIN_ROWS} rows of one label."
    every = scipy.stats.rankdata(np.hstack([positives, negatives]), axis=1)
    places = (every[:, :m] - scipy.stats.rankdata(positives, axis=1)) / n
    others = 1 - (every[:, m:] - scipy.stats.rankdata(negatives, axis=1)) / m
    covariance = np.atleast_2d(np.cov(places)) / m + np.atleast_2d(np.cov(others)) / n
    # scores of the same order: by how many rows of either label it could yet change
    return _normal(places.mean(axis=1), covariance, pairs, [n, m])


def brier(scores: Floats, y: NDArray[np.int64], pairs: Sequence[tuple[int, int]]) -> Measured | str:
    """Brier scores of models: means over the same rows."""
    n = y.size
    if n < 2:
        return "fewer than two rows."
    errors = (scores - y) ** 2
    return _normal(errors.mean(axis=1), np.atleast_2d(np.cov(errors)) / n, pairs, [n], n - 1.0)


def _normal(
    estimates: Floats, covariance: Floats, pairs: Sequence[tuple[int, int]], rows: Sequence[int], degrees: float = inf
) -> Measured:
    """Estimates in [0, 1] with a covariance; models that agree on every row have the limits of no change."""

    def held(at: float, error: float) -> Part:
        return Part(at, lambda z: max(at - z * error, 0.0), lambda z: min(at + z * error, 1.0))

    errors, found = np.sqrt(np.diag(covariance)), {}
    for b, a in pairs:
        at = float(estimates[b] - estimates[a])
        error = float(np.sqrt(max(covariance[a, a] + covariance[b, b] - 2 * covariance[a, b], 0.0)))
        same = error < 1e-12 and abs(at) < 1e-12
        part = unchanged(rows) if same else Part.normal(at, error)
        found[b, a] = Change(part, part, 0.0 if same else error, degrees)
    return Measured(Level(estimates, tuple(map(held, estimates.tolist(), errors.tolist())), errors, degrees), found)


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
    samples = group, reference
    estimates = np.array([area_between(*both) for both in zip(group.exact, reference.exact, strict=True)])
    apart = np.stack([one - other for one, other in zip(group.on_grid, reference.on_grid, strict=True)])
    observed, rows, hidden = apart[:, 0], [g.rows for g in samples], []
    for k in range(len(estimates)):
        still = [bool((g.on_grid[k] == g.on_grid[k][0]).all()) for g in samples]
        hidden.append(hidden_by_rows([g.exact[k] for g in samples], rows, still))
    noise, step = apart[:, 1:] - apart[:, :1], 1 / observed.shape[1]
    curves_apart = Apart(observed, noise, NEAR, step, most=1.0, rows=[*group.rows, *reference.rows], hidden=hidden)
    return curves_apart.measure(estimates, pairs, margin)


def _curve(negatives: Floats, positives: Floats) -> RocCurve:
    values = np.unique(np.concatenate([negatives, positives]))
    counts = (np.bincount(np.searchsorted(values, own), minlength=values.size) for own in (negatives, positives))
    return RocCurve.from_counts(*counts)


def score_cuts(scores: Floats) -> Floats:
    """Edges of at most `_BINS` bins of about equal size, none between equal scores."""
    return np.unique(np.quantile(scores, np.arange(1, _BINS) / _BINS, method="higher"))
