"""Scores of several models on the same people: AUC, Brier score and ABROCA, and what changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from fairstats.ground.checks import Floats
from fairstats.methods.rates.abroca import RocCurve, area_between, hidden_by_rows, roc_on_grid
from fairstats.numerics.paired.change import UNCHANGED, Change
from fairstats.numerics.paired.distance import (
    MIN_ROWS,
    NEAR,
    Apart,
    Level,
    Measured,
    drawn_shares,
    placements,
    unseen_reach,
    unseen_share,
    with_unseen,
)  # fmt: skip
from fairstats.numerics.paired.score import Part

#: Bins of scores that drawn ROC curves are made of.
_BINS = 50


def auc(scores: Floats, y: NDArray[np.int64], pairs: Sequence[tuple[int, int]]) -> Measured | str:
    """AUCs of models, with the covariance of DeLong, DeLong and Clarke-Pearson (1988).

    `scores`, shape (M, n); `pairs`: (model, baseline).
    """
    above, below = placements(scores, y)
    n, m = above.shape[1], below.shape[1]
    if min(n, m) < MIN_ROWS:
        return f"fewer than {MIN_ROWS} rows of one label."
    covariance = np.atleast_2d(np.cov(below)) / m + np.atleast_2d(np.cov(above)) / n
    return _normal(below.mean(axis=1), covariance, pairs, [above, below])


def brier(scores: Floats, y: NDArray[np.int64], pairs: Sequence[tuple[int, int]]) -> Measured | str:
    """Brier scores of models: means over the same rows."""
    n = y.size
    if n < 2:
        return "fewer than two rows."
    errors = (scores - y) ** 2
    return _normal(errors.mean(axis=1), np.atleast_2d(np.cov(errors)) / n, pairs, [errors], n - 1.0)


def _normal(
    estimates: Floats, covariance: Floats, pairs: Sequence[tuple[int, int]], rows: Sequence[Floats],
    degrees: float = inf,
) -> Measured:  # fmt: skip
    """Estimates in [0, 1] with a covariance.

    `rows`: of each set of rows what they contribute under every model, shape (M, n). Where few of a set changed, the
    limits allow for what others may do (`unseen_share`).
    """

    def held(at: float, error: float) -> Part:
        return Part(at, lambda z: max(at - z * error, 0.0), lambda z: min(at + z * error, 1.0))

    errors, found = np.sqrt(np.diag(covariance)), {}
    sizes = [own.shape[1] for own in rows]
    for b, a in pairs:
        at = float(estimates[b] - estimates[a])
        error = float(np.sqrt(max(covariance[a, a] + covariance[b, b] - 2 * covariance[a, b], 0.0)))
        alike = error < 1e-12 and abs(at) < 1e-12
        part = Part.normal(at, 0.0 if alike else error)
        shares = [1.0] * len(rows) if alike else [unseen_share(own[b] - own[a]) for own in rows]
        if any(shares):
            part = with_unseen(part, unseen_reach(sizes, shares))
        found[b, a] = Change(part, part, 0.0 if alike else error, degrees, UNCHANGED if alike else "")
    return Measured(Level(estimates, tuple(map(held, estimates.tolist(), errors.tolist())), errors, degrees), found)


@dataclass(frozen=True, eq=False)
class DrawnCurves:
    """ROC curves of every model in one group: exact ones, and on a grid those of rows drawn again.

    `on_grid`: per model, shape (1 + B, grid), the first from the rows themselves; `rows`: of either label; `places`: of
    rows with label 0 and 1 what they contribute to the AUC of every model, shape (M, n) each.
    """

    exact: tuple[RocCurve, ...]
    on_grid: tuple[Floats, ...]
    rows: tuple[int, ...]
    places: tuple[Floats, Floats]

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
        sizes = tuple(part.shape[1] for part in rows)
        return cls(exact=exact, on_grid=on_grid, rows=sizes, places=placements(scores, y))


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
    places = [own for g in samples for own in g.places]
    unseen = {(b, a): [unseen_share(own[b] - own[a]) for own in places] for b, a in pairs}
    rows_of_all = [*group.rows, *reference.rows]
    curves_apart = Apart(observed, noise, NEAR, step, most=1.0, rows=rows_of_all, unseen=unseen, hidden=hidden)
    return curves_apart.measure(estimates, pairs, margin)


def _curve(negatives: Floats, positives: Floats) -> RocCurve:
    values = np.unique(np.concatenate([negatives, positives]))
    counts = (np.bincount(np.searchsorted(values, own), minlength=values.size) for own in (negatives, positives))
    return RocCurve._from_counts(*counts)


def score_cuts(scores: Floats) -> Floats:
    """Edges of at most `_BINS` bins of about equal size, none between equal scores."""
    return np.unique(np.quantile(scores, np.arange(1, _BINS) / _BINS, method="higher"))
