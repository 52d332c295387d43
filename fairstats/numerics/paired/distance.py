"""Distances between two groups under several scores of the same people, and what changes.

MADD and ABROCA are ∫|D| of a difference D of two groups, with a kink where D is 0. Rows are drawn again, all models'
scores with them, and the noise h of D goes through the directional derivative: sign(D)·h away from 0, |h| where D may
be 0. Where that is, within 0, 1.5 or 3 and more standard errors, gives three laws, and the interval is the widest.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import hypot
from typing import Any

import numpy as np
import scipy
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.special import betainc, betaincinv

from fairstats.ground.checks import Floats
from fairstats.ground.codes import cross_codes
from fairstats.ground.multiplicity import normal_cdf
from fairstats.ground.scores import label_blind_bins, pooled_bins
from fairstats.ground.verdict import Evidence
from fairstats.numerics.paired.change import UNCHANGED, Change
from fairstats.numerics.paired.score import End, Part

#: A group needs so many rows (of each label): the bootstrap of fewer understates the noise.
MIN_ROWS = 10
#: Beyond so many rows the noise of bin shares is drawn as normal with their covariance.
_MANY = 2_000
#: Rows of either group taken to have changed bins besides (z² ≈ 4, as Agresti and Coull add).
_PSEUDO = 4.0
#: |D| within so many standard errors of 0 may be 0.
NEAR = 3.0
#: A normal value beyond which nothing lies.
_FAR = 38.0
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
    """The same, and what changes from one model to another.

    `edges`: of MADD, inner edges of the bins of every model; `tables`: of MADD, rows of the group and of its reference
    by bins of both models of a pair, shape (2, m of the first, m of the second).
    """

    level: Level
    changes: dict[tuple[int, int], Change]
    edges: tuple[Floats, ...] = ()
    tables: dict[tuple[int, int], NDArray[np.int64]] = field(default_factory=dict)


#: A row whose contribution moved by so much has changed; one that moved less has changed by that part of it.
MOVED = 0.05
#: From so many changed rows on their variance tells what rows do; of fewer it is also asked what is not seen.
ENOUGH_CHANGED = 20.0


def unseen_share(moved: Floats) -> float:
    """How far rows of a set leave open what other rows do, from 1 (none changed) to 0 (`ENOUGH_CHANGED` did).

    `moved`: by how much the contribution of each row changed. It is continuous in them: of scores that agree nearly
    everywhere the limits are nearly those of scores that agree everywhere.
    """
    changed = float(np.minimum(np.abs(moved) / MOVED, 1.0).sum())
    return max(1.0 - changed / ENOUGH_CHANGED, 0.0)


def unseen_reach(rows: Sequence[float], shares: Sequence[float], weight: float = 1.0) -> End:
    """By how much a quantity may change by rows that were not seen to, at a critical value z.

        weight·√Σ (share·z²/(n + z²))²

    over sets of n rows, z²/(n + z²) being Tango's limit of a share of changed rows of which none is seen; `shares`: of
    each set, by `unseen_share`.
    """

    def reach(z: float) -> float:
        return weight * hypot(*(share * z * z / (n + z * z) for n, share in zip(rows, shares, strict=True)))

    return reach


def with_unseen(part: Part, reach: End) -> Part:
    """Limits of what changed, and of what may change unseen: their squared distances add up."""
    at = part.estimate
    return Part(at, lambda z: at - hypot(at - part.low(z), reach(z)), lambda z: at + hypot(part.high(z) - at, reach(z)))


def placements(scores: Floats, y: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Of every row with label 0 the share of those with label 1 above it, and of those the share below, ties half.

    `scores`, shape (M, n) of M models; shapes (M, n₀), (M, n₁). An AUC is the mean of either.
    """
    negatives, positives = (scores[:, y == label] for label in (0, 1))
    n, m = negatives.shape[1], positives.shape[1]
    every = scipy.stats.rankdata(np.hstack([positives, negatives]), axis=1)
    below = (every[:, :m] - scipy.stats.rankdata(positives, axis=1)) / n
    above = 1 - (every[:, m:] - scipy.stats.rankdata(negatives, axis=1)) / m
    return above, below


def madd(
    scores: tuple[Floats, Floats],
    pairs: Sequence[tuple[int, int]],
    margin: float,
    n_resamples: int,
    rng: Generator,
    *,
    n_bins: int | None = None,
    grid_bins: int | None = None,
    weights: tuple[Floats | None, Floats | None] = (None, None),
) -> Measured | str:
    """MADD of models between two groups, each model's at the quantiles of its own pooled scores.

    That is the rule of `fairstats.madd`: what is compared are the distances that it judges, which do not depend on the
    scale of a model's scores.

    Parameters
    ----------
    scores : two ndarrays, shape (M, n) each
        Of the group and of its reference, by model.
    pairs : sequence of (model, baseline)
        Positions of the models whose change is asked for.
    n_bins, grid_bins : int, optional
        Equally wide bins instead; or another number of quantiles.
    weights : two ndarrays, shape (n,) each, or None
        Of the rows of either group; constant ones are left out.
    """
    if all(w is None or bool((w == w[0]).all()) for w in weights if w is None or w.size):
        weights = (None, None)
    sized = list(zip(scores, weights, strict=True))
    sizes = [part.shape[1] if w is None else effective_rows(w) for part, w in sized]
    if min(sizes) < MIN_ROWS:
        return f"fewer than {MIN_ROWS} rows{'' if weights[0] is None else ', by their weights'}."
    n_models = scores[0].shape[0]
    if n_bins is not None:
        edges = (np.arange(1, n_bins) / n_bins,) * n_models
    else:
        most = grid_bins or label_blind_bins(*sizes)
        edges = tuple(_pooled_edges(scores[0][k], scores[1][k], weights, most) for k in range(n_models))
    codes = [np.stack([grid_codes(s, e) for s, e in zip(part, edges, strict=True)]) for part in scores]
    # a model with fewer bins has empty ones, which add nothing
    width = 1 + max(e.size for e in edges)
    shares, drawn = [], []
    for code, (_, w) in zip(codes, sized, strict=True):
        total = code.shape[1] if w is None else w.sum()
        shares.append(np.stack([np.bincount(c, w, width) / total for c in code]))
        drawn.append(drawn_shares(code, width, n_resamples, rng, w))
    observed = shares[0] - shares[1]
    noise = drawn[0] - drawn[1] - observed[:, None]
    near = max(NEAR, math.sqrt(math.log(min(sizes))), math.sqrt(2 * math.log(width)))
    apart = Apart(observed, noise, near, step=1.0, most=2.0, rows=sizes, pseudo=_PSEUDO)
    measured = apart.measure(np.abs(observed).sum(axis=1), pairs, margin)
    tables = {}
    for model, baseline in pairs:
        shape = (edges[baseline].size + 1, edges[model].size + 1)
        tables[model, baseline] = np.stack([cross_table(code[baseline], code[model], shape) for code in codes])
    return replace(measured, edges=edges, tables=tables)


def _pooled_edges(first: Floats, second: Floats, weights: tuple[Floats | None, Floats | None], most: int) -> Floats:
    """Inner edges of the bins at the quantiles of the scores of both groups."""
    pooled = np.concatenate([first, second])
    if weights[0] is None or weights[1] is None:
        return pooled_bins(np.sort(pooled), most).edges
    order = np.argsort(pooled, kind="stable")
    return pooled_bins(pooled[order], most, np.concatenate([weights[0], weights[1]])[order]).edges


def effective_rows(weights: Floats) -> float:
    """Rows that an unweighted sample of the same precision has (Kish): (Σw)²/Σw²."""
    return float(weights.sum() ** 2 / np.sum(weights**2)) if weights.any() else 0.0


def grid_codes(scores: Floats, edges: Floats) -> NDArray[np.int64]:
    """Bins of scores, from 0, by the inner edges: [0, e₁), [e₁, e₂), …, [eₘ₋₁, 1]."""
    return np.searchsorted(edges, scores, side="right")


def drawn_shares(
    codes: NDArray[np.int64], bins: int, n_resamples: int, rng: Generator, weights: Floats | None = None
) -> Floats:
    """Shares of the bins of every model in samples of the same rows drawn again, shape (M, B, bins)."""
    models, n = codes.shape
    if n > _MANY or weights is not None:
        return _normal_shares(codes, bins, n_resamples, rng, weights)
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


def _normal_shares(
    codes: NDArray[np.int64], bins: int, n_resamples: int, rng: Generator, weights: Floats | None
) -> Floats:
    """The same with the covariance of the shares of all models, normal: for many rows, and weighted ones."""
    models, n = codes.shape
    squares = None if weights is None else weights**2
    joint = np.zeros((models * bins, models * bins))
    for a in range(models):
        for b in range(a, models):
            counts = np.bincount(codes[a] * bins + codes[b], squares, bins * bins)
            table = counts.reshape(bins, bins) / (n if squares is None else squares.sum())
            joint[a * bins : (a + 1) * bins, b * bins : (b + 1) * bins] = table
            joint[b * bins : (b + 1) * bins, a * bins : (a + 1) * bins] = table.T
    shares = joint[:bins].reshape(bins, models, bins).sum(axis=0).ravel()
    covariance = (joint - np.outer(shares, shares)) / n
    if weights is not None:  # by linearisation; `shares` are those of the squared weights
        own = np.concatenate([np.bincount(c, weights, bins) for c in codes]) / weights.sum()
        joint += np.outer(own - shares, own - shares) - np.outer(shares, shares)
        covariance, shares = joint / effective_rows(weights), own
    values, vectors = np.linalg.eigh(covariance)
    used = values > 1e-14 * values[-1] if values[-1] > 0 else np.zeros(values.size, dtype=bool)
    noise = rng.standard_normal((n_resamples, int(used.sum()))) @ (vectors[:, used] * np.sqrt(values[used])).T
    drawn = np.maximum(shares + noise, 0.0).reshape(n_resamples, models, bins)
    return np.moveaxis(drawn / drawn.sum(axis=2, keepdims=True), 1, 0)


def cross_table(first: NDArray[np.int64], second: NDArray[np.int64], shape: tuple[int, int]) -> NDArray[np.int64]:
    """Rows by the bins of two scores."""
    cell = cross_codes((first, shape[0]), (second, shape[1]))
    return np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape)


def bins_of_models(measured: Measured, model: int, baseline: int, *, group: str, reference: str) -> dict[str, Any]:
    """What a change of MADD rests on, as `ModelPair.grids` keeps it."""
    return {
        "group": group,
        "reference": reference,
        "edges": [measured.edges[baseline], measured.edges[model]],
        "rows": measured.tables[model, baseline],
    }


@dataclass(frozen=True, eq=False)
class Apart:
    """A difference D of two groups on a grid, of every model, and its noise.

    `observed`, shape (M, T): D; `noise`, shape (M, B, T); `near`: standard errors within which D may be 0; `step`: of
    the grid; `most`: largest value of ∫|D|; `rows`: of every sample drawn from; `pseudo`: rows of each taken to have
    changed, beyond those that did: where few did, intervals would be too short (with none, Tango's limits); `unseen`,
    of ROC curves: (model, baseline) → share of every sample's rows that leaves open what others do, by `unseen_share`;
    `hidden`, of ROC curves: of every model what few errors do not show.
    """

    observed: Floats
    noise: Floats
    near: float
    step: float
    most: float
    rows: Sequence[float]
    pseudo: float = 0.0
    unseen: Mapping[tuple[int, int], Sequence[float]] = field(default_factory=dict)
    hidden: Sequence[Unseen] = ()

    def measure(self, estimates: Floats, pairs: Sequence[tuple[int, int]], margin: float) -> Measured:
        """Limits of ∫|D| and of its changes."""
        laws, most = [], self.most
        for d, h, error in zip(self.observed, self.noise, self.noise.std(axis=1), strict=True):
            zeros = (np.abs(d) < reach * error for reach in (0.0, _BETWEEN, self.near))  # how near to 0 D may be 0
            laws.append([self.step * (h @ np.where(z, 0.0, np.sign(d)) + np.abs(h[:, z]).sum(axis=1)) for z in zeros])
        areas = self.step * np.abs(self.observed[:, None] + self.noise).sum(axis=2)
        spread = areas.std(axis=1, ddof=1)
        hidden: Sequence[Unseen | None] = self.hidden or [None] * len(laws)
        own = [
            _known(at, law, margin, most, few) if error > 1e-12 or few else _unmoved(at, self.rows, margin, most)
            for at, law, error, few in zip(estimates.tolist(), laws, spread, hidden, strict=True)
        ]
        parts, evidence = zip(*own, strict=True)
        found = {}
        for b, a in pairs:
            at = float(estimates[b] - estimates[a])
            both = np.sort(np.stack([one - other for one, other in zip(laws[b], laws[a], strict=True)]), axis=1)
            error = float((areas[b] - areas[a]).std(ddof=1))
            few = self.pseudo * sum((most / n) ** 2 for n in self.rows)
            both *= (1 + few / max(error, 1e-12) ** 2) ** 0.5
            everywhere = [1.0] * len(self.rows)
            alike = error < 1e-12
            part = Part.normal(at, 0.0) if alike else Part(at, *_ends(at, both, -most, most))
            shares = everywhere if alike else self.unseen.get((b, a), [])
            if any(shares):
                part = with_unseen(part, unseen_reach(self.rows, shares, most))
            note = UNCHANGED if alike and abs(at) < 1e-12 else ""
            found[b, a] = Change(part, part, error, note=note)
        return Measured(Level(estimates, parts, spread, evidence=evidence), found)


def _ends(at: float, laws: Floats, least: float, most: float) -> tuple[End, End]:
    """Ends of the widest interval of laws of the error of `at`, shape (L, B), each ascending."""

    def beyond(z: float) -> int:
        return int((1 - normal_cdf(z)) * (laws.shape[1] + 1) + 1e-9)

    def low(z: float) -> float:
        return max(at - float(laws[:, -k].max()), least) if (k := beyond(z)) else least

    def high(z: float) -> float:
        return min(at - float(laws[:, k - 1].min()), most) if (k := beyond(z)) else most

    return low, high


def unseen(p: float, rows: float) -> float:
    """The distance d of two ROC curves at which k rows show no error with probability p = (1 − d/2)²ᵏ.

    k pairs of a row of each label all have their order with a probability of at most (1 − d)ᵏ where the true curve is d
    away; for two such curves d apart that is (1 − d/2)²ᵏ at most.
    """
    return float(2.0 - 2.0 * p ** (0.5 / rows))


@dataclass(frozen=True)
class AucGap:
    """Upper limits of the difference of two AUCs, which the area between the curves is never below.

    `own` and `other`: rows of either label, of the worse curve and of the better one. The variance is that at
    the limit (Newcombe 2006, method 5): a curve that came out too good by chance shows too little noise.
    """

    worse: float
    better: float
    own: tuple[float, ...]
    other: tuple[float, ...]

    def pvalue(self, gap: float) -> float:
        """Two-sided p-value of a difference above the one seen; 1 where it is not."""
        distance = gap - (self.better - self.worse)
        if distance <= 0:
            return 1.0
        # the values nearest to .5, where the variance is largest, of those that either may have
        lower = min(max(0.5, self.worse - distance), self.worse)
        upper = max(min(0.5, self.better + distance), self.better)
        variance = auc_variance(lower, *self.own) + auc_variance(upper, *self.other)
        return math.erfc(distance / math.sqrt(2.0 * variance)) if variance else 0.0

    def upper(self, p: float) -> float:
        """The largest difference that is not rejected at p; 1 where none is."""
        seen = self.better - self.worse
        if self.pvalue(1.0) > p:
            return 1.0
        if self.pvalue(seen + 1e-12) < p:  # no noise
            return seen
        return float(scipy.optimize.brentq(lambda gap: self.pvalue(gap) - p, seen + 1e-12, 1.0, xtol=1e-12))


def auc_variance(auc: float, n: float, m: float) -> float:
    """Variance of an AUC with n and m rows of the labels: Hanley and McNeil's, with (n + m)/2 for either."""
    if math.isinf(n):
        return 0.0
    many = (n + m) / 2 - 1
    return auc * (1 - auc) * (1 + many * (1 - auc) / (2 - auc) + many * auc / (1 + auc)) / (n * m)


@dataclass(frozen=True)
class Unseen:
    """What samples of two ROC curves do not show of their distance, whatever rows drawn again say.

    `rows`: fewest of a label in a group with less than one whole error (infinite: none); `errors`: of either label of a
    group rows k, misplaced ones x and the size c of each, by the share v of the other label on a row's wrong side: x =
    (Σv)²/Σv² rows of c = Σv²/Σv have the sum and the squares of all. `gap`: of their AUCs.
    """

    rows: float = float("inf")
    errors: tuple[tuple[float, float, float], ...] = ()
    gap: AucGap | None = None

    def reach(self, p: float) -> float:
        """The largest distance that is not rejected at p: by Clopper and Pearson's limit of x of k."""
        ends = (c * (1.0 - float(betaincinv(k - x, x + 1.0, p)) - x / k) for k, x, c in self.errors)
        return max(unseen(p, self.rows), *ends, 0.0)

    def pvalue(self, distance: float) -> float:
        """The probability of as few errors where the curves are that much farther apart."""
        least = float((1.0 - min(max(distance, 0.0), 1.0) / 2.0) ** (2.0 * self.rows))
        right = ((k, x, max(1.0 - x / k - distance / c, 0.0)) for k, x, c in self.errors)
        return max(least, *(float(betainc(k - x, x + 1.0, share)) for k, x, share in right), 0.0)

    def upper(self, p: float) -> float:
        """What the area may be, at least, for its AUCs are not rejected at p."""
        return 0.0 if self.gap is None else self.gap.upper(p)

    def pvalue_of_less(self, area: float) -> float:
        """p-value of that area by its AUCs, against less."""
        return 0.0 if self.gap is None else self.gap.pvalue(area)


def _known(
    at: float, laws: Sequence[Floats], margin: float, most: float, hidden: Unseen | None
) -> tuple[Part, Evidence]:
    """Limits of a distance by the laws of its error, and the evidence against a margin."""
    low, high = _ends(at, np.sort(np.stack(laws), axis=1), 0.0, most)
    above, inside = (
        max((1 + int(np.count_nonzero(sign * law >= sign * (at - margin)))) / (1 + law.size) for law in laws)
        for sign in (1, -1)
    )
    if hidden is None:
        return Part(at, low, high), Evidence(above=above, inside=inside)
    least = hidden.pvalue(abs(at - margin))

    def p(z: float) -> float:
        return max(normal_cdf(-z), 1e-300)

    ends = Part(
        at,
        lambda z: max(min(low(z), at - hidden.reach(p(z))), 0.0),
        lambda z: min(max(high(z), at + hidden.reach(p(z)), hidden.upper(p(z))), most),
    )
    return ends, Evidence(above=max(above, least), inside=max(inside, least, hidden.pvalue_of_less(margin)))


def _unmoved(at: float, rows: Sequence[float], margin: float, most: float) -> tuple[Part, Evidence]:
    """The same of a distance that no draw moves, as of equal scores: by rows that could differ."""
    reach, distance = unseen_reach(rows, [1.0] * len(rows), most), abs(at - margin)
    z = float(scipy.optimize.brentq(lambda z: reach(z) - distance, 0.0, _FAR)) if reach(_FAR) > distance else _FAR
    above, inside = (normal_cdf(-z), normal_cdf(z)) if at > margin else (normal_cdf(z), normal_cdf(-z))
    ends = Part(at, lambda z: max(at - reach(z), 0.0), lambda z: min(at + reach(z), most))
    return ends, Evidence(above=above, inside=inside)
