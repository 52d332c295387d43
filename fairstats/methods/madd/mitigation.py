"""The map of scores to a common distribution, its losses, and its effect on rows that it was not fitted to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats, check_choice
from fairstats.ground.counts import PairedCounts
from fairstats.ground.errors import InputError, InsufficientEvidenceWarning, caution
from fairstats.ground.groups import find_reference
from fairstats.ground.lazy import Axes
from fairstats.ground.multiplicity import make_pairs, normal_quantile
from fairstats.ground.outcomes import Outcomes
from fairstats.ground.registry import RATES
from fairstats.ground.results import Result
from fairstats.ground.serialise import serialisable
from fairstats.methods.madd.result import MaddResult, MaddSettings
from fairstats.methods.madd.scores import bin_edges
from fairstats.numerics.paired.change import (
    KINDS,
    OVERALL,
    UNCHANGED,
    Found,
    ModelPair,
    OfPairs,
    PairedChange,
    finished,
)
from fairstats.numerics.paired.distance import bins_of_models, effective_rows, madd
from fairstats.numerics.paired.rate import PairedRate, change_of_rate
from fairstats.plots.madd import plot_before_after

_LEAST_PROBABILITY = 1e-15
#: A difference of bin shares within so many standard errors of 0 may be 0.
_NEAR = 3.0
_WORDS = {"madd": "MADD", "disparate_impact": "disparate impact", "accuracy": "accuracy"}


@dataclass(frozen=True, eq=False)
class GroupCdf:
    """F_s, piecewise linear between corners (`values`, `heights`), both ascending; `n`: rows (or weight) of its fit."""

    values: NDArray[np.float64]
    heights: NDArray[np.float64]
    n: float

    @classmethod
    def fit(cls, scores: Floats, weights: Floats | None = None) -> GroupCdf:
        """Mid-distribution function of scores in [0, 1]; weights are above 0."""
        values, place = np.unique(scores, return_inverse=True)
        counts = np.bincount(place, weights)
        total = scores.size if weights is None else float(weights.sum())
        heights = (np.cumsum(counts) - counts / 2) / total
        if values[0] > 0:
            values, heights = np.concatenate([[0.0], values]), np.concatenate([[0.0], heights])
        if values[-1] < 1:
            values, heights = np.concatenate([values, [1.0]]), np.concatenate([heights, [1.0]])
        return cls(values, heights, total)

    def __call__(self, x: Floats) -> Floats:
        """F_s(x)."""
        return np.asarray(np.interp(x, self.values, self.heights))


@dataclass(frozen=True, eq=False)
class MixtureCdfs:
    """F_s of every group and F of all; `corners`, shape (k,): of all together; `heights`, shape (G, k): F_s there."""

    cdfs: tuple[GroupCdf, ...]
    corners: NDArray[np.float64]
    heights: NDArray[np.float64]

    @classmethod
    def fit(cls, scores: Sequence[Floats], weights: Sequence[Floats | None] = ()) -> MixtureCdfs:
        """Fit every group; each has at least one score."""
        cdfs = tuple(map(GroupCdf.fit, scores, weights or [None] * len(scores)))
        corners = np.unique(np.concatenate([c.values for c in cdfs]))
        return cls(cdfs, corners, np.vstack([c(corners) for c in cdfs]))

    @property
    def shares(self) -> Floats:
        """n_s/n, shape (G,)."""
        sizes = np.array([c.n for c in self.cdfs], dtype=np.float64)
        return np.asarray(sizes / sizes.sum())

    def pooled(self, x: Floats) -> Floats:
        """F(x)."""
        return np.asarray(self.shares @ np.vstack([c(x) for c in self.cdfs]))

    def towards(self, group: int, lambdas: Floats, x: Floats) -> Floats:
        """F_s^λ(x) = (1 − λ)F_s(x) + λF(x), shape (λ, x)."""
        own, all_groups = self.cdfs[group](x), self.pooled(x)
        return np.asarray(np.multiply.outer(1 - lambdas, own) + np.multiply.outer(lambdas, all_groups))

    def map(self, scores: Floats, group: int, lambda_: float) -> Floats:
        """(F_s^λ)⁻¹(F_s(p)) of scores of one group, ascending in p; λ = 0 changes nothing."""
        if lambda_ == 0:
            return scores.copy()
        heights = (1 - lambda_) * self.heights[group] + lambda_ * (self.shares @ self.heights)
        mapped = np.interp(self.cdfs[group](scores), heights, self.corners)
        return np.asarray(np.clip(mapped, 0.0, 1.0))


class LabelledSample(NamedTuple):
    """Scores of one group, ascending, labels, 1 where favourable, and weights, shape (n,)."""

    scores: NDArray[np.float64]
    labels: NDArray[np.uint8]
    weights: NDArray[np.float64] | None = None

    def below(self, values: NDArray[Any] | None = None) -> NDArray[Any]:
        """Sum of values (default 1 per row) times weights of the first 0, 1, …, n rows, shape (n + 1,)."""
        own = np.ones(self.scores.size, dtype=np.int64) if values is None else values
        return np.concatenate([[0], np.cumsum(own if self.weights is None else own * self.weights)])

    @property
    def n_effective(self) -> float:
        """Rows that an unweighted sample of the same precision has."""
        return self.scores.size if self.weights is None else effective_rows(self.weights)

    def rows(self, keep: NDArray[np.bool_]) -> LabelledSample:
        """Some of the rows."""
        return LabelledSample(*(None if part is None else part[keep] for part in self))  # type: ignore[arg-type]


#: Maps, each with the rows that it is judged by: those of its fit, or rows left out of it.
Fitted = Sequence[tuple[MixtureCdfs, Sequence[LabelledSample]]]


def left_out(samples: Sequence[LabelledSample], splits: int, rng: np.random.Generator) -> Fitted:
    """Random halves of every group, each with the maps of the other; pooled over folds their errors would cancel."""
    fitted = []
    for _ in range(splits):
        codes = [rng.permutation(np.arange(s.scores.size) % 2) for s in samples]
        halves = [[s.rows(c == side) for s, c in zip(samples, codes, strict=True)] for side in (0, 1)]
        for own, rest in (halves, halves[::-1]):
            fitted.append((MixtureCdfs.fit([s.scores for s in rest], [s.weights for s in rest]), own))
    return fitted


def _bin_shares(maps: MixtureCdfs, samples: Sequence[LabelledSample], lambdas: Floats, n_bins: int) -> Floats:
    """Shares of every group in bins of the mapped scores, shape (G, λ, m)."""
    edges, found = bin_edges(n_bins), []
    for g, sample in enumerate(samples):
        inner = np.searchsorted(maps.cdfs[g](sample.scores), maps.towards(g, lambdas, edges))
        ends = sample.below()
        found.append(np.diff(ends[inner], axis=1, prepend=0, append=ends[-1]) / ends[-1])
    return np.array(found)


def fairness_losses(fitted: Fitted, lambdas: Floats, n_bins: int) -> Floats:
    """MADD/2 of the mapped scores (equation 19), the largest over pairs of groups, in [0, 1], shape (λ,)."""
    return np.asarray(fairness_limits(fitted, lambdas, n_bins)[0])


def fairness_limits(fitted: Fitted, lambdas: Floats, n_bins: int, confidence_level: float = 0.95) -> Floats:
    """The fairness losses with their limits, shape (3, λ): loss, low, high; of several pairs of groups the largest.

    Means over the maps. The limits are those of MADD (`noise`) with normal differences of bin shares, at every λ by
    itself, given the maps; over pairs by Bonferroni.
    """
    pairs = list(combinations(range(len(fitted[0][1])), 2))
    z = normal_quantile(1 - (1 - confidence_level) / (2 * len(pairs)))
    found = np.zeros((len(pairs), 3, lambdas.size))
    for maps, samples in fitted:
        shares = _bin_shares(maps, samples, lambdas, n_bins)
        for k, pair in enumerate(pairs):
            n = np.array([samples[g].n_effective for g in pair])[:, None]
            found[k] += _limits(shares[list(pair)], n, z)
    return np.asarray(np.clip(found.max(axis=0) / (2 * len(fitted)), 0.0, 1.0))


def _limits(p: Floats, n: Floats, z: float) -> Floats:
    """MADD and its limits, shape (3, λ); `p`, shape (2, λ, m): bin shares; `n`, shape (2, 1): rows."""
    d, pooled = p[0] - p[1], (p * n[:, None]).sum(axis=0) / n.sum()
    variance = np.maximum((p * (1 - p) / n[:, None]).sum(axis=0), pooled * (1 - pooled) * (1 / n).sum())
    reach = max(_NEAR, np.log(n.min()) ** 0.5, (2 * np.log(p.shape[2])) ** 0.5)
    near, signs = np.abs(d) <= reach * variance**0.5, np.sign(d)
    far = np.where(near, 0.0, signs)
    smooth, fixed = (((p * s**2).sum(axis=2) - (p * s).sum(axis=2) ** 2) / n for s in (signs, far))
    spread = fixed.sum(axis=0) + (1 - 2 / np.pi) * (variance * near).sum(axis=1)
    excess = (2 / np.pi) ** 0.5 * (variance**0.5 * near).sum(axis=1) + z * spread**0.5
    least = np.maximum(np.abs((p * far).sum(axis=2)) - (p * near).sum(axis=2), 0.0)
    worst = ((1 - np.minimum(least, 1.0) ** 2) / n).sum(axis=0)
    below = np.maximum(excess, z * np.maximum(smooth.sum(axis=0), 0.0) ** 0.5)
    madd = np.abs(d).sum(axis=1)
    return np.stack([madd, np.maximum(madd - below, 0.0), np.minimum(madd + z * worst**0.5, 2.0)])


def error_losses(fitted: Fitted, lambdas: Floats, threshold: float) -> Floats:
    """Share of wrong predictions, mapped scores from `threshold` on predicting 1 (equation 18), (λ,)."""
    cut, wrong, total = np.array([threshold]), np.zeros(lambdas.size), 0.0
    for maps, samples in fitted:
        for g, sample in enumerate(samples):
            predicted_0 = np.searchsorted(maps.cdfs[g](sample.scores), maps.towards(g, lambdas, cut)[:, 0])
            rows, positives = sample.below(), sample.below(sample.labels.astype(np.int64))
            negatives = rows - positives
            wrong += positives[predicted_0] + negatives[-1] - negatives[predicted_0]
            total += rows[-1]
    return np.asarray(wrong / total)


def log_loss(labels: NDArray[np.uint8], scores: Floats, sample_weight: Floats | None = None) -> float:
    """Binary cross-entropy, natural logarithm; scores are kept 1e-15 from 0 and 1."""
    p = np.clip(scores, _LEAST_PROBABILITY, 1 - _LEAST_PROBABILITY)
    return float(-np.average(np.where(labels == 1, np.log(p), np.log1p(-p)), weights=sample_weight))


def mapped_losses(fitted: Fitted, lambdas: Floats, loss: Callable[..., float]) -> Floats:
    """Any loss of (labels, mapped scores), with `sample_weight` if weighted: mean over the maps at every λ, (λ,)."""
    found = np.zeros(lambdas.size)
    for maps, samples in fitted:
        labels = np.concatenate([s.labels for s in samples])
        weights = [s.weights for s in samples if s.weights is not None]
        given = {"sample_weight": np.concatenate(weights)} if weights else {}
        for k, v in enumerate(lambdas.tolist()):
            mapped = np.concatenate([maps.map(s.scores, g, v) for g, s in enumerate(samples)])
            value = loss(labels, mapped, **given)
            if not np.isscalar(value) or not np.isfinite(value):
                allowed = "a function of (labels, scores) that returns a finite number"
                raise InputError("loss", got=f"{value!r} for λ = {v:g}", allowed=allowed, cure="let it return a float")
            found[k] += float(value) / len(fitted)  # type: ignore[arg-type]
    return found


@serialisable(eq=False)
class MitigationResult(OfPairs, Result):
    """What a mitigation changes on the same rows: MADD, disparate impact, and accuracy (1 − error) by group.

    `comparisons`: the changes, as `compare_models` computes them ("madd_change", "disparate_impact_change", the latter
    as a ratio, of every group against `reference`; "accuracy_change" of every group and of all rows), each with
    `before`, `after`, paired interval and verdict; `before`, `after`: MADD of the scores as they were, and mapped;
    `pairs`: label × prediction before × prediction after, and the bins of both scores, per group: all that the changes
    rest on; predictions are 1 from `threshold` on.
    """

    before: MaddResult
    after: MaddResult
    comparisons: tuple[PairedChange, ...]
    pairs: tuple[ModelPair, ...]
    reference: str
    lambda_: float
    threshold: float

    title: ClassVar[str] = "MADD mitigation: what changes on the same rows"
    _shown: ClassVar[tuple[str, ...]] = (
        "metric", "stage", "group", "reference", "before", "after", "estimate", "ci_low", "ci_high", "pvalue",
        "n", "verdict",
    )  # fmt: skip
    backend: ClassVar[str] = "numpy"
    metrics: ClassVar[tuple[str, ...]] = tuple(_WORDS)
    models: ClassVar[tuple[str, ...]] = ("before", "after")

    @property
    def settings(self) -> MaddSettings:
        """Of level, adjustment and resamples."""
        return self.before.settings

    def change(self, metric: str, group: str = OVERALL) -> PairedChange:
        """The change of "madd", "disparate_impact" or "accuracy" of a group; of all rows for the last."""
        known = {(c.metric.removesuffix("_change"), c.group): c for c in self.comparisons}
        check_choice("metric, group", (metric, str(group)), tuple(known))
        return known[metric, str(group)]

    @property
    def error_before(self) -> float:
        """Share of wrong predictions before."""
        return 1 - self.change("accuracy").before

    @property
    def error_after(self) -> float:
        """Share of wrong predictions after."""
        return 1 - self.change("accuracy").after

    def rows(self) -> list[dict[str, Any]]:
        """Rows of the tidy table: MADD before and after, then the changes."""
        stages = {"before": self.before, "after": self.after}
        found = [{**row, "stage": s} for s, result in stages.items() for row in result.rows()]
        return found + [{**c._row(self.backend), "stage": "change"} for c in self.comparisons]

    def sentences(self) -> list[str]:
        """One sentence per change."""
        found = []
        for c in self.comparisons:
            who = f"{c.group} against {c.reference}" if c.reference else c.group
            if c.verdict == "insufficient evidence":
                found.append(f"{who}: insufficient evidence. {c.note}".strip())
                continue
            low, high = c.confidence_interval
            found.append(
                f"{who}: {_WORDS[c.metric.removesuffix('_change')]} {c.before:.3f} before, {c.after:.3f} after (change "
                f"{c.estimate:.3f}, {100 * self.confidence_level:g}% interval {low:.3f} to {high:.3f}): {c.verdict}."
            )
        return found

    def notes(self) -> list[str]:
        """Sentences below the table."""
        said = (
            f"λ = {self.lambda_:.3f}, predictions 1 from {self.threshold:g} on; MADD: see `before.notes()`. "
            "Changes are after − before, of disparate impact after / before; their intervals use that both "
            "are of the same rows, and take the map as given."
        )
        return [said, *sorted({c.note for c in self.comparisons if c.note})]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the distributions before and after; see `fairstats.plots.madd.plot_before_after`."""
        return plot_before_after(self, ax=ax)


def mitigation_result(
    outcomes: Outcomes, scores: tuple[Floats, Floats], stages: tuple[MaddResult, MaddResult], rng: np.random.Generator,
    *, reference: Any, lambda_: float, threshold: float,
) -> MitigationResult:  # fmt: skip
    """Changes between the scores before and after, with labels, groups and weights of `outcomes`."""
    s, groups, codes = stages[0].settings, outcomes.groups.labels, outcomes.groups.codes
    cell = 7 - 4 * np.asarray(outcomes.y_true).astype(np.int64)
    cell -= 2 * (scores[0] >= threshold) + (scores[1] >= threshold)
    counts = PairedCounts._count_rows(outcomes, cell)
    index, _ = find_reference(groups, reference, sizes=counts.group_sizes)
    pairs = make_pairs(len(groups), index, "reference")
    pair = ModelPair("after", "before", counts)
    apart, tables = [], []
    for i, j in pairs:
        one, two = codes == i, codes == j
        sides = np.stack([x[one] for x in scores]), np.stack([x[two] for x in scores])
        weights = (None, None) if outcomes.weight is None else (outcomes.weight[one], outcomes.weight[two])
        n_bins = s.n_bins if s.equal_width else None
        found = madd(
            sides, [(1, 0)], s.margin, s.n_resamples, rng, n_bins=n_bins, grid_bins=s.grid_bins, weights=weights
        )
        row: dict[str, Any] = {"name": "madd", "groups": (groups[i], groups[j]), "kind": KINDS["madd"]}
        row |= {"n": int(counts.group_sizes[[i, j]].sum()), "method": "paired bootstrap, directional"}
        if isinstance(found, str):
            apart.append(Found(**row, pair=pair, change=f"{groups[i]} or {groups[j]}: {found}"))
            continue
        if outcomes.weight is None:
            tables.append(bins_of_models(found, 1, 0, group=groups[i], reference=groups[j]))
        before, after = found.level.estimates.tolist()
        apart.append(Found(**row, pair=pair, change=found.changes[1, 0], ends=(before, after)))
    selected, right = PairedRate(counts, RATES["selection_rate"], True), RATES["accuracy"]
    impact = [change_of_rate(selected, p, "disparate_impact", pair, "ratio") for p in pairs]
    both = [(counts, (g,)) for g in range(len(groups))]
    both.append((counts._regrouped((OVERALL,), [0] * len(groups)), (0,)))
    accuracy = [change_of_rate(PairedRate(c, right, False), g, "accuracy", pair, "better") for c, g in both]
    families = [finished(f, s.confidence_level, s.adjust) for f in (apart, impact, accuracy)]
    changes = tuple(c for family in families for c in family)
    # identical scores are an answer: their note stands in the row, and is no warning
    lacking = sorted({c.note for c in changes if c.note} - {UNCHANGED})
    if lacking:
        caution(f"MaddMitigator.evaluate: {' '.join(lacking)}", InsufficientEvidenceWarning)
    pair = replace(pair, grids=tuple(tables))
    return MitigationResult(*stages, changes, (pair,), groups[index], lambda_, threshold)
