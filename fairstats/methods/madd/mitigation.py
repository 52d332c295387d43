"""The map of scores to a common distribution, its losses, and its effect on rows that it was not
fitted to.
"""

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
from fairstats.ground.progress import each_of
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
_NEAR_ZERO = 3.0
_WORDS = {"madd": "MADD", "disparate_impact": "disparate impact", "accuracy": "accuracy"}


@dataclass(frozen=True, eq=False)
class GroupCdf:
    """F_s, piecewise linear between corners (`values`, `heights`), both ascending; `n`: rows (or
    weight) of its fit.
    """

    values: NDArray[np.float64]
    heights: NDArray[np.float64]
    n: float

    @classmethod
    def fit(cls, scores: Floats, weights: Floats | None = None) -> GroupCdf:
        """Mid-distribution function of scores in [0, 1]; weights are above 0."""
        values, value_codes = np.unique(scores, return_inverse=True)
        counts = np.bincount(value_codes, weights)
        total_weight = scores.size if weights is None else float(weights.sum())
        heights = (np.cumsum(counts) - counts / 2) / total_weight
        if values[0] > 0:
            values = np.concatenate([[0.0], values])
            heights = np.concatenate([[0.0], heights])
        if values[-1] < 1:
            values = np.concatenate([values, [1.0]])
            heights = np.concatenate([heights, [1.0]])
        return cls(values, heights, total_weight)

    def __call__(self, x: Floats) -> Floats:
        """F_s(x)."""
        return np.asarray(np.interp(x, self.values, self.heights))


@dataclass(frozen=True, eq=False)
class MixtureCdfs:
    """F_s of every group and F of all; `corners`, shape (k,): of all together.

    `heights`, shape (G, k): F_s there.
    """

    cdfs: tuple[GroupCdf, ...]
    corners: NDArray[np.float64]
    heights: NDArray[np.float64]

    @classmethod
    def fit(cls, scores: Sequence[Floats], weights: Sequence[Floats | None] = ()) -> MixtureCdfs:
        """Fit every group; each has at least one score."""
        group_cdfs = tuple(map(GroupCdf.fit, scores, weights or [None] * len(scores)))
        corners = np.unique(np.concatenate([group_cdf.values for group_cdf in group_cdfs]))
        return cls(group_cdfs, corners, np.vstack([group_cdf(corners) for group_cdf in group_cdfs]))

    @property
    def shares(self) -> Floats:
        """n_s/n, shape (G,)."""
        group_sizes = np.array([group_cdf.n for group_cdf in self.cdfs], dtype=np.float64)
        return np.asarray(group_sizes / group_sizes.sum())

    def pooled(self, x: Floats) -> Floats:
        """F(x)."""
        return np.asarray(self.shares @ np.vstack([group_cdf(x) for group_cdf in self.cdfs]))

    def towards(self, group: int, lambdas: Floats, x: Floats) -> Floats:
        """F_s^λ(x) = (1 − λ)F_s(x) + λF(x), shape (λ, x)."""
        own_heights = self.cdfs[group](x)
        pooled_heights = self.pooled(x)
        return np.asarray(
            np.multiply.outer(1 - lambdas, own_heights) + np.multiply.outer(lambdas, pooled_heights)
        )

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
        """Sum of values (default 1 per row) times weights of the first 0, 1, …, n rows, shape (n +
        1,).
        """
        if values is None:
            row_values = np.ones(self.scores.size, dtype=np.int64)
        else:
            row_values = values
        return np.concatenate(
            [[0], np.cumsum(row_values if self.weights is None else row_values * self.weights)]
        )

    @property
    def n_effective(self) -> float:
        """Rows that an unweighted sample of the same precision has."""
        if self.weights is None:
            return self.scores.size
        return effective_rows(self.weights)

    def rows(self, keep: NDArray[np.bool_]) -> LabelledSample:
        """Some of the rows."""
        return LabelledSample(*(None if column is None else column[keep] for column in self))  # type: ignore[arg-type]


#: Maps, each with the rows that it is judged by: those of its fit, or rows left out of it.
Fitted = Sequence[tuple[MixtureCdfs, Sequence[LabelledSample]]]


def left_out(samples: Sequence[LabelledSample], splits: int, rng: np.random.Generator) -> Fitted:
    """Random halves of every group, each with the maps of the other.

    Pooled over folds their errors would cancel.
    """
    fitted = []
    for _ in range(splits):
        half_codes = [rng.permutation(np.arange(sample.scores.size) % 2) for sample in samples]
        halves = []
        for half_code in (0, 1):
            halves.append(
                [
                    sample.rows(codes_of_group == half_code)
                    for sample, codes_of_group in zip(samples, half_codes, strict=True)
                ]
            )
        for own_half, other_half in (halves, halves[::-1]):
            fitted.append(
                (
                    MixtureCdfs.fit(
                        [sample.scores for sample in other_half],
                        [sample.weights for sample in other_half],
                    ),
                    own_half,
                )
            )
    return fitted


def _bin_shares(
    mixture_maps: MixtureCdfs,
    samples: Sequence[LabelledSample],
    lambdas: Floats,
    n_bins: int,
) -> Floats:
    """Shares of every group in bins of the mapped scores, shape (G, λ, m)."""
    inner_edges = bin_edges(n_bins)
    shares_of_groups = []
    for group_index, sample in enumerate(samples):
        rows_below_edges = np.searchsorted(
            mixture_maps.cdfs[group_index](sample.scores),
            mixture_maps.towards(group_index, lambdas, inner_edges),
        )
        weight_below = sample.below()
        shares_of_groups.append(
            np.diff(weight_below[rows_below_edges], axis=1, prepend=0, append=weight_below[-1])
            / weight_below[-1]
        )
    return np.array(shares_of_groups)


def fairness_losses(fitted: Fitted, lambdas: Floats, n_bins: int) -> Floats:
    """MADD/2 of the mapped scores (equation 19), the largest over pairs of groups, in [0, 1], shape
    (λ,).
    """
    return np.asarray(fairness_limits(fitted, lambdas, n_bins)[0])


def fairness_limits(
    fitted: Fitted,
    lambdas: Floats,
    n_bins: int,
    confidence_level: float = 0.95,
) -> Floats:
    """The fairness losses with their limits, shape (3, λ): loss, low, high.

    Of several pairs of groups the largest.

    Means over the maps. The limits are those of MADD (`noise`) with normal differences of bin
    shares, at every λ by itself, given the maps; over pairs by Bonferroni.
    """
    group_pairs = list(combinations(range(len(fitted[0][1])), 2))
    z = normal_quantile(1 - (1 - confidence_level) / (2 * len(group_pairs)))
    summed_limits = np.zeros((len(group_pairs), 3, lambdas.size))
    for mixture_maps, samples in each_of(fitted, "MADD of mapped scores"):
        shares = _bin_shares(mixture_maps, samples, lambdas, n_bins)
        for pair_index, group_pair in enumerate(group_pairs):
            pair_sizes = np.array([samples[group_index].n_effective for group_index in group_pair])[
                :, None
            ]
            summed_limits[pair_index] += _madd_with_limits(shares[list(group_pair)], pair_sizes, z)
    return np.asarray(np.clip(summed_limits.max(axis=0) / (2 * len(fitted)), 0.0, 1.0))


def _madd_with_limits(p: Floats, n: Floats, z: float) -> Floats:
    """MADD and its limits, shape (3, λ); `p`, shape (2, λ, m): bin shares; `n`, shape (2, 1).

    Rows.
    """
    difference = p[0] - p[1]
    pooled = (p * n[:, None]).sum(axis=0) / n.sum()
    variance = np.maximum(
        (p * (1 - p) / n[:, None]).sum(axis=0), pooled * (1 - pooled) * (1 / n).sum()
    )
    near_distance = max(_NEAR_ZERO, np.log(n.min()) ** 0.5, (2 * np.log(p.shape[2])) ** 0.5)
    is_near = np.abs(difference) <= near_distance * variance**0.5
    signs = np.sign(difference)
    far_signs = np.where(is_near, 0.0, signs)
    smooth_variance, fixed_variance = (
        ((p * sign_values**2).sum(axis=2) - (p * sign_values).sum(axis=2) ** 2) / n
        for sign_values in (signs, far_signs)
    )
    spread = fixed_variance.sum(axis=0) + (1 - 2 / np.pi) * (variance * is_near).sum(axis=1)
    excess = (2 / np.pi) ** 0.5 * (variance**0.5 * is_near).sum(axis=1) + z * spread**0.5
    least_mean = np.maximum(np.abs((p * far_signs).sum(axis=2)) - (p * is_near).sum(axis=2), 0.0)
    worst_variance = ((1 - np.minimum(least_mean, 1.0) ** 2) / n).sum(axis=0)
    distance_below = np.maximum(excess, z * np.maximum(smooth_variance.sum(axis=0), 0.0) ** 0.5)
    madd = np.abs(difference).sum(axis=1)
    return np.stack(
        [
            madd,
            np.maximum(madd - distance_below, 0.0),
            np.minimum(madd + z * worst_variance**0.5, 2.0),
        ]
    )


def error_losses(fitted: Fitted, lambdas: Floats, threshold: float) -> Floats:
    """Share of wrong predictions, mapped scores from `threshold` on predicting 1 (equation 18),
    (λ,).
    """
    cutoff = np.array([threshold])
    n_wrong = np.zeros(lambdas.size)
    total_weight = 0.0
    for mixture_maps, samples in each_of(fitted, "errors of mapped scores"):
        for group_index, sample in enumerate(samples):
            predicted_0 = np.searchsorted(
                mixture_maps.cdfs[group_index](sample.scores),
                mixture_maps.towards(group_index, lambdas, cutoff)[:, 0],
            )
            rows_below = sample.below()
            positives = sample.below(sample.labels.astype(np.int64))
            negatives = rows_below - positives
            n_wrong += positives[predicted_0] + negatives[-1] - negatives[predicted_0]
            total_weight += rows_below[-1]
    return np.asarray(n_wrong / total_weight)


def log_loss(
    labels: NDArray[np.uint8], scores: Floats, sample_weight: Floats | None = None
) -> float:
    """Binary cross-entropy, natural logarithm; scores are kept 1e-15 from 0 and 1."""
    clipped_scores = np.clip(scores, _LEAST_PROBABILITY, 1 - _LEAST_PROBABILITY)
    return float(
        -np.average(
            np.where(labels == 1, np.log(clipped_scores), np.log1p(-clipped_scores)),
            weights=sample_weight,
        )
    )


def mapped_losses(fitted: Fitted, lambdas: Floats, loss: Callable[..., float]) -> Floats:
    """Any loss of (labels, mapped scores), with `sample_weight` if weighted.

    Mean over the maps at every λ, (λ,).
    """
    mean_losses = np.zeros(lambdas.size)
    for mixture_maps, samples in each_of(fitted, "losses of mapped scores"):
        labels = np.concatenate([sample.labels for sample in samples])
        weights = []
        for sample in samples:
            if sample.weights is not None:
                weights.append(sample.weights)
        if weights:
            weight_options = {"sample_weight": np.concatenate(weights)}
        else:
            weight_options = {}
        for lambda_index, lambda_value in enumerate(lambdas.tolist()):
            mapped_scores = np.concatenate(
                [
                    mixture_maps.map(sample.scores, group_index, lambda_value)
                    for group_index, sample in enumerate(samples)
                ]
            )
            loss_value = loss(labels, mapped_scores, **weight_options)
            if not np.isscalar(loss_value) or not np.isfinite(loss_value):
                allowed = "a function of (labels, scores) that returns a finite number"
                raise InputError(
                    "loss",
                    got=f"{loss_value!r} for λ = {lambda_value:g}",
                    allowed=allowed,
                    cure="let it return a float",
                )
            mean_losses[lambda_index] += float(loss_value) / len(fitted)  # type: ignore[arg-type]
    return mean_losses


@serialisable(eq=False)
class MitigationResult(OfPairs, Result):
    """What a mitigation changes on the same rows.

    MADD, disparate impact, and accuracy (1 − error) by group.

    `comparisons`: the changes, as `compare_models` computes them ("madd_change",
    "disparate_impact_change", the latter as a ratio, of every group against `reference`;
    "accuracy_change" of every group and of all rows), each with `before`, `after`, paired interval
    and verdict; `before`, `after`: MADD of the scores as they were, and mapped; `pairs`: label ×
    prediction before × prediction after, and the bins of both scores, per group: all that the
    changes rest on; predictions are 1 from `threshold` on.
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
        "metric",
        "stage",
        "group",
        "reference",
        "before",
        "after",
        "estimate",
        "ci_low",
        "ci_high",
        "pvalue",
        "n",
        "verdict",
    )
    backend: ClassVar[str] = "numpy"
    metrics: ClassVar[tuple[str, ...]] = tuple(_WORDS)
    models: ClassVar[tuple[str, ...]] = ("before", "after")

    @property
    def settings(self) -> MaddSettings:
        """Of level, adjustment and resamples."""
        return self.before.settings

    def change(self, metric: str, group: str = OVERALL) -> PairedChange:
        """The change of "madd", "disparate_impact" or "accuracy" of a group.

        Of all rows for the last.
        """
        known_changes = {}
        for comparison in self.comparisons:
            known_changes[(comparison.metric.removesuffix("_change"), comparison.group)] = (
                comparison
            )
        check_choice("metric, group", (metric, str(group)), tuple(known_changes))
        return known_changes[metric, str(group)]

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
        stage_rows = []
        for stage_name, result in stages.items():
            for table_row in result.rows():
                stage_rows.append({**table_row, "stage": stage_name})
        return stage_rows + [
            {**comparison._row(self.backend), "stage": "change"} for comparison in self.comparisons
        ]

    def sentences(self) -> list[str]:
        """One sentence per change."""
        sentences = []
        for comparison in self.comparisons:
            if comparison.reference:
                group_words = f"{comparison.group} against {comparison.reference}"
            else:
                group_words = comparison.group
            if comparison.verdict == "insufficient evidence":
                sentences.append(f"{group_words}: insufficient evidence. {comparison.note}".strip())
                continue
            lower_limit, upper_limit = comparison.confidence_interval
            sentences.append(
                f"{group_words}: {_WORDS[comparison.metric.removesuffix('_change')]} {comparison.before:.3f} before,"
                f" {comparison.after:.3f} after (change {comparison.estimate:.3f}, {100 * self.confidence_level:g}%"
                f" interval {lower_limit:.3f} to {upper_limit:.3f}): {comparison.verdict}."
            )
        return sentences

    def notes(self) -> list[str]:
        """Sentences below the table."""
        sentence = (
            f"λ = {self.lambda_:.3f}, predictions 1 from {self.threshold:g} on; MADD: see"
            " `before.notes()`. Changes are after − before, of disparate impact after / before;"
            " their intervals use that both are of the same rows, and take the map as given."
        )
        return [
            sentence,
            *sorted({comparison.note for comparison in self.comparisons if comparison.note}),
        ]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the distributions before and after; see `fairstats.plots.madd.plot_before_after`."""
        return plot_before_after(self, ax=ax)


def mitigation_result(
    outcomes: Outcomes,
    scores: tuple[Floats, Floats],
    stages: tuple[MaddResult, MaddResult],
    rng: np.random.Generator,
    *,
    reference: Any,
    lambda_: float,
    threshold: float,
) -> MitigationResult:
    """Changes between the scores before and after, with labels, groups and weights of
    `outcomes`.
    """
    settings = stages[0].settings
    groups = outcomes.groups.labels
    group_codes = outcomes.groups.codes
    cell_codes = 7 - 4 * np.asarray(outcomes.y_true).astype(np.int64)
    cell_codes -= 2 * (scores[0] >= threshold) + (scores[1] >= threshold)
    counts = PairedCounts._count_rows(outcomes, cell_codes)
    reference_index, _ = find_reference(groups, reference, sizes=counts.group_sizes)
    index_pairs = make_pairs(len(groups), reference_index, "reference")
    model_pair = ModelPair("after", "before", counts)
    madd_changes = []
    tables = []
    for group_index, reference_of_pair in index_pairs:
        in_group = group_codes == group_index
        in_reference = group_codes == reference_of_pair
        scores_of_sides = (
            np.stack([stage_scores[in_group] for stage_scores in scores]),
            np.stack([stage_scores[in_reference] for stage_scores in scores]),
        )
        if outcomes.weight is None:
            weights = (None, None)
        else:
            weights = (outcomes.weight[in_group], outcomes.weight[in_reference])
        if settings.equal_width:
            n_bins = settings.n_bins
        else:
            n_bins = None
        paired_madd = madd(
            scores_of_sides,
            [(1, 0)],
            settings.margin,
            settings.n_resamples,
            rng,
            n_bins=n_bins,
            grid_bins=settings.grid_bins,
            weights=weights,
        )
        change_fields: dict[str, Any] = {
            "name": "madd",
            "groups": (groups[group_index], groups[reference_of_pair]),
            "kind": KINDS["madd"],
        }
        change_fields |= {
            "n": int(counts.group_sizes[[group_index, reference_of_pair]].sum()),
            "method": "paired bootstrap, directional",
        }
        if isinstance(paired_madd, str):
            madd_changes.append(
                Found(
                    **change_fields,
                    pair=model_pair,
                    change=f"{groups[group_index]} or {groups[reference_of_pair]}: {paired_madd}",
                )
            )
            continue
        if outcomes.weight is None:
            tables.append(
                bins_of_models(
                    paired_madd,
                    1,
                    0,
                    group=groups[group_index],
                    reference=groups[reference_of_pair],
                )
            )
        madd_before, madd_after = paired_madd.level.estimates.tolist()
        madd_changes.append(
            Found(
                **change_fields,
                pair=model_pair,
                change=paired_madd.changes[1, 0],
                ends=(madd_before, madd_after),
            )
        )
    selection_rate = PairedRate(counts, RATES["selection_rate"], True)
    accuracy_rate = RATES["accuracy"]
    impact_changes = []
    for index_pair in index_pairs:
        impact_changes.append(
            change_of_rate(selection_rate, index_pair, "disparate_impact", model_pair, "ratio")
        )
    groups_and_all = [(counts, (group_numbers,)) for group_numbers in range(len(groups))]
    groups_and_all.append((counts._with_new_groups((OVERALL,), [0] * len(groups)), (0,)))
    accuracy = []
    for change_or_counts, group_numbers in groups_and_all:
        accuracy.append(
            change_of_rate(
                PairedRate(change_or_counts, accuracy_rate, False),
                group_numbers,
                "accuracy",
                model_pair,
                "better",
            )
        )
    families = []
    for family_members in (madd_changes, impact_changes, accuracy):
        families.append(finished(family_members, settings.confidence_level, settings.adjust))
    changes = tuple(change_or_counts for family in families for change_or_counts in family)
    # identical scores are an answer: their note stands in the row, and is no warning
    lacking = sorted(
        {change_or_counts.note for change_or_counts in changes if change_or_counts.note}
        - {UNCHANGED}
    )
    if lacking:
        caution(f"MaddMitigator.evaluate: {' '.join(lacking)}", InsufficientEvidenceWarning)
    model_pair = replace(model_pair, grids=tuple(tables))
    return MitigationResult(
        *stages, changes, (model_pair,), groups[reference_index], lambda_, threshold
    )
