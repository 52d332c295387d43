"""Distances between two groups under several scores of the same people, and what changes.

MADD and ABROCA are ∫|D| of a difference D of two groups, with a kink where D is 0. Rows are drawn
again, all models' scores with them, and the noise h of D goes through the directional derivative:
sign(D)·h away from 0, |h| where D may be 0. Where that is, within 0, 1.5 or 3 and more standard
errors, gives three laws, and the interval is the widest.
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
_MANY_ROWS = 2_000
#: Rows of either group taken to have changed bins besides (z² ≈ 4, as Agresti and Coull add).
_PSEUDO_CHANGED_ROWS = 4.0
#: |D| within so many standard errors of 0 may be 0.
NEAR = 3.0
#: A normal value beyond which nothing lies.
_FARTHEST_NORMAL = 38.0
#: A reach between none and that: of two models one may be alike where the other is not.
_MIDDLE_REACH = 1.5


@dataclass(frozen=True, eq=False)
class Level:
    """A quantity of every model for one group, or pair of groups.

    Estimates, and the part of each.
    """

    estimates: Floats
    parts: tuple[Part, ...]
    std_errors: Floats
    degrees_of_freedom: float = float("inf")
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, eq=False)
class Measured:
    """The same, and what changes from one model to another.

    `edges`: of MADD, inner edges of the bins of every model; `tables`: of MADD, rows of the group
    and of its reference by bins of both models of a pair, shape (2, m of the first, m of the
    second).
    """

    level: Level
    changes: dict[tuple[int, int], Change]
    edges: tuple[Floats, ...] = ()
    tables: dict[tuple[int, int], NDArray[np.int64]] = field(default_factory=dict)


#: A row whose contribution moved by so much has changed; one that moved less has changed by that
#: part of it.
MOVED = 0.05
#: From so many changed rows on their variance tells what rows do; of fewer it is also asked what is
#: not seen.
ENOUGH_CHANGED = 20.0


def unseen_share(moved: Floats) -> float:
    """How far rows of a set leave open what other rows do, from 1 (none changed) to 0
    (`ENOUGH_CHANGED` did).

    `moved`: by how much the contribution of each row changed. It is continuous in them: of scores
    that agree nearly everywhere the limits are nearly those of scores that agree everywhere.
    """
    n_changed = float(np.minimum(np.abs(moved) / MOVED, 1.0).sum())
    return max(1.0 - n_changed / ENOUGH_CHANGED, 0.0)


def unseen_reach(rows: Sequence[float], shares: Sequence[float], weight: float = 1.0) -> End:
    """By how much a quantity may change by rows that were not seen to, at a critical value z.

        weight·√Σ (share·z²/(n + z²))²

    over sets of n rows, z²/(n + z²) being Tango's limit of a share of changed rows of which none is
    seen; `shares`: of each set, by `unseen_share`.
    """

    def reach(z: float) -> float:
        return weight * hypot(
            *(share * z * z / (n + z * z) for n, share in zip(rows, shares, strict=True))
        )

    return reach


def with_unseen(part: Part, reach: End) -> Part:
    """Limits of what changed, and of what may change unseen: their squared distances add up."""
    estimate = part.estimate
    return Part(
        estimate,
        lambda z: estimate - hypot(estimate - part.low(z), reach(z)),
        lambda z: estimate + hypot(part.high(z) - estimate, reach(z)),
    )


def placements(scores: Floats, y: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Of every row with label 0 the share of those with label 1 above it, and of those the share
    below, ties half.

    `scores`, shape (M, n) of M models; shapes (M, n₀), (M, n₁). An AUC is the mean of either.
    """
    negatives, positives = (scores[:, y == label] for label in (0, 1))
    n_negatives = negatives.shape[1]
    n_positives = positives.shape[1]
    pooled_ranks = scipy.stats.rankdata(np.hstack([positives, negatives]), axis=1)
    shares_below = (
        pooled_ranks[:, :n_positives] - scipy.stats.rankdata(positives, axis=1)
    ) / n_negatives
    shares_above = (
        1 - (pooled_ranks[:, n_positives:] - scipy.stats.rankdata(negatives, axis=1)) / n_positives
    )
    return shares_above, shares_below


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

    That is the rule of `fairstats.madd`: what is compared are the distances that it judges, which
    do not depend on the scale of a model's scores.

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
    if all(
        row_weights is None or bool((row_weights == row_weights[0]).all())
        for row_weights in weights
        if row_weights is None or row_weights.size
    ):
        weights = (None, None)
    weighted_scores = list(zip(scores, weights, strict=True))
    group_sizes = []
    for group_scores, row_weights in weighted_scores:
        group_sizes.append(
            group_scores.shape[1] if row_weights is None else effective_rows(row_weights)
        )
    if min(group_sizes) < MIN_ROWS:
        return f"fewer than {MIN_ROWS} rows{'' if weights[0] is None else ', by their weights'}."
    n_models = scores[0].shape[0]
    if n_bins is not None:
        model_edges = (np.arange(1, n_bins) / n_bins,) * n_models
    else:
        n_quantiles = grid_bins or label_blind_bins(*group_sizes)
        model_edges = tuple(
            _pooled_edges(scores[0][model_index], scores[1][model_index], weights, n_quantiles)
            for model_index in range(n_models)
        )
    bin_codes = []
    for group_scores in scores:
        bin_codes.append(
            np.stack(
                [
                    grid_codes(one_scores, one_edges)
                    for one_scores, one_edges in zip(group_scores, model_edges, strict=True)
                ]
            )
        )
    # a model with fewer bins has empty ones, which add nothing
    most_bins = 1 + max(one_edges.size for one_edges in model_edges)
    bin_shares = []
    resampled_shares = []
    for group_codes, (_, row_weights) in zip(bin_codes, weighted_scores, strict=True):
        if row_weights is None:
            total_weight = group_codes.shape[1]
        else:
            total_weight = row_weights.sum()
        bin_shares.append(
            np.stack(
                [
                    np.bincount(model_codes, row_weights, most_bins) / total_weight
                    for model_codes in group_codes
                ]
            )
        )
        resampled_shares.append(drawn_shares(group_codes, most_bins, n_resamples, rng, row_weights))
    observed = bin_shares[0] - bin_shares[1]
    resampling_noise = resampled_shares[0] - resampled_shares[1] - observed[:, None]
    near_errors = max(
        NEAR, math.sqrt(math.log(min(group_sizes))), math.sqrt(2 * math.log(most_bins))
    )
    group_difference = Apart(
        observed,
        resampling_noise,
        near_errors,
        step=1.0,
        most=2.0,
        rows=group_sizes,
        pseudo=_PSEUDO_CHANGED_ROWS,
    )
    measured = group_difference.measure(np.abs(observed).sum(axis=1), pairs, margin)
    cross_tables = {}
    for model, baseline in pairs:
        table_shape = (model_edges[baseline].size + 1, model_edges[model].size + 1)
        cross_tables[model, baseline] = np.stack(
            [
                cross_table(group_codes[baseline], group_codes[model], table_shape)
                for group_codes in bin_codes
            ]
        )
    return replace(measured, edges=model_edges, tables=cross_tables)


def _pooled_edges(
    first_scores: Floats,
    second_scores: Floats,
    weights: tuple[Floats | None, Floats | None],
    n_quantiles: int,
) -> Floats:
    """Inner edges of the bins at the quantiles of the scores of both groups."""
    pooled_scores = np.concatenate([first_scores, second_scores])
    if weights[0] is None or weights[1] is None:
        return pooled_bins(np.sort(pooled_scores), n_quantiles).edges
    sort_order = np.argsort(pooled_scores, kind="stable")
    return pooled_bins(
        pooled_scores[sort_order], n_quantiles, np.concatenate([weights[0], weights[1]])[sort_order]
    ).edges


def effective_rows(weights: Floats) -> float:
    """Rows that an unweighted sample of the same precision has (Kish): (Σw)²/Σw²."""
    if weights.any():
        return float(weights.sum() ** 2 / np.sum(weights**2))
    return 0.0


def grid_codes(scores: Floats, edges: Floats) -> NDArray[np.int64]:
    """Bins of scores, from 0, by the inner edges: [0, e₁), [e₁, e₂), …, [eₘ₋₁, 1]."""
    return np.searchsorted(edges, scores, side="right")


def drawn_shares(
    codes: NDArray[np.int64],
    bins: int,
    n_resamples: int,
    rng: Generator,
    weights: Floats | None = None,
) -> Floats:
    """Shares of the bins of every model in samples of the same rows drawn again, shape (M, B,
    bins).
    """
    n_models, n_rows = codes.shape
    if n_rows > _MANY_ROWS or weights is not None:
        return _normal_shares(codes, bins, n_resamples, rng, weights)
    resampled_shares = np.empty((n_models, n_resamples, bins))
    block_size = max(1, (1 << 21) // n_rows)
    for block_start in range(0, n_resamples, block_size):
        n_drawn = min(block_size, n_resamples - block_start)
        row_numbers = rng.integers(0, n_rows, (n_drawn, n_rows))
        bin_offsets = bins * np.arange(n_drawn)[:, None]
        for model_index in range(n_models):
            bin_counts = np.bincount(
                (codes[model_index][row_numbers] + bin_offsets).ravel(), minlength=bins * n_drawn
            )
            resampled_shares[model_index, block_start : block_start + n_drawn] = (
                bin_counts.reshape(n_drawn, bins) / n_rows
            )
    return resampled_shares


def _normal_shares(
    bin_codes: NDArray[np.int64],
    n_bins: int,
    n_resamples: int,
    rng: Generator,
    weights: Floats | None,
) -> Floats:
    """The same with the covariance of the shares of all models, normal.

    For many rows, and weighted ones.
    """
    n_models, n_rows = bin_codes.shape
    squared_weights = None if weights is None else weights**2
    joint_shares = np.zeros((n_models * n_bins, n_models * n_bins))
    for first_model in range(n_models):
        for second_model in range(first_model, n_models):
            pair_counts = np.bincount(
                bin_codes[first_model] * n_bins + bin_codes[second_model],
                squared_weights,
                n_bins * n_bins,
            )
            cross_shares = pair_counts.reshape(n_bins, n_bins) / (
                n_rows if squared_weights is None else squared_weights.sum()
            )
            joint_shares[
                first_model * n_bins : (first_model + 1) * n_bins,
                second_model * n_bins : (second_model + 1) * n_bins,
            ] = cross_shares
            joint_shares[
                second_model * n_bins : (second_model + 1) * n_bins,
                first_model * n_bins : (first_model + 1) * n_bins,
            ] = cross_shares.T
    model_shares = joint_shares[:n_bins].reshape(n_bins, n_models, n_bins).sum(axis=0).ravel()
    covariance = (joint_shares - np.outer(model_shares, model_shares)) / n_rows
    if weights is not None:  # by linearisation; `model_shares` are those of the squared weights
        weighted_shares = (
            np.concatenate([np.bincount(model_codes, weights, n_bins) for model_codes in bin_codes])
            / weights.sum()
        )
        joint_shares += np.outer(
            weighted_shares - model_shares, weighted_shares - model_shares
        ) - np.outer(model_shares, model_shares)
        covariance = joint_shares / effective_rows(weights)
        model_shares = weighted_shares
    eigenvalues, eigenvectors = np.linalg.eigh(covariance)
    if eigenvalues[-1] > 0:
        is_used = eigenvalues > 1e-14 * eigenvalues[-1]
    else:
        is_used = np.zeros(eigenvalues.size, dtype=bool)
    normal_noise = (
        rng.standard_normal((n_resamples, int(is_used.sum())))
        @ (eigenvectors[:, is_used] * np.sqrt(eigenvalues[is_used])).T
    )
    resampled_shares = np.maximum(model_shares + normal_noise, 0.0).reshape(
        n_resamples, n_models, n_bins
    )
    return np.moveaxis(resampled_shares / resampled_shares.sum(axis=2, keepdims=True), 1, 0)


def cross_table(
    first: NDArray[np.int64], second: NDArray[np.int64], shape: tuple[int, int]
) -> NDArray[np.int64]:
    """Rows by the bins of two scores."""
    cell_codes = cross_codes((first, shape[0]), (second, shape[1]))
    return np.bincount(cell_codes, minlength=shape[0] * shape[1]).reshape(shape)


def bins_of_models(
    measured: Measured,
    model: int,
    baseline: int,
    *,
    group: str,
    reference: str,
) -> dict[str, Any]:
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

    `observed`, shape (M, T): D; `noise`, shape (M, B, T); `near`: standard errors within which D
    may be 0; `step`: of the grid; `most`: largest value of ∫|D|; `rows`: of every sample drawn
    from; `pseudo`: rows of each taken to have changed, beyond those that did: where few did,
    intervals would be too short (with none, Tango's limits); `unseen`, of ROC curves: (model,
    baseline) → share of every sample's rows that leaves open what others do, by `unseen_share`;
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

    def measure(
        self,
        estimates: Floats,
        pairs: Sequence[tuple[int, int]],
        margin: float,
    ) -> Measured:
        """Limits of ∫|D| and of its changes."""
        error_laws = []
        largest_area = self.most
        for difference, noise_draws, std_error in zip(
            self.observed, self.noise, self.noise.std(axis=1), strict=True
        ):
            # how near to 0 D may be 0
            near_zero_sets = (
                np.abs(difference) < zero_reach * std_error
                for zero_reach in (0.0, _MIDDLE_REACH, self.near)
            )
            error_laws.append(
                [
                    self.step
                    * (
                        noise_draws @ np.where(near_zero, 0.0, np.sign(difference))
                        + np.abs(noise_draws[:, near_zero]).sum(axis=1)
                    )
                    for near_zero in near_zero_sets
                ]
            )
        resampled_areas = self.step * np.abs(self.observed[:, None] + self.noise).sum(axis=2)
        area_errors = resampled_areas.std(axis=1, ddof=1)
        unseen_errors: Sequence[Unseen | None] = self.hidden or [None] * len(error_laws)
        parts_and_evidence = [
            _distance_by_laws(estimate, model_laws, margin, largest_area, allowance)
            if std_error > 1e-12 or allowance
            else _distance_of_unmoved(estimate, self.rows, margin, largest_area)
            for estimate, model_laws, std_error, allowance in zip(
                estimates.tolist(), error_laws, area_errors, unseen_errors, strict=True
            )
        ]
        model_parts, evidence = zip(*parts_and_evidence, strict=True)
        model_changes = {}
        for model, baseline in pairs:
            estimate = float(estimates[model] - estimates[baseline])
            difference_laws = np.sort(
                np.stack(
                    [
                        model_law - baseline_law
                        for model_law, baseline_law in zip(
                            error_laws[model], error_laws[baseline], strict=True
                        )
                    ]
                ),
                axis=1,
            )
            std_error = float((resampled_areas[model] - resampled_areas[baseline]).std(ddof=1))
            allowance = self.pseudo * sum((largest_area / n_rows) ** 2 for n_rows in self.rows)
            difference_laws *= (1 + allowance / max(std_error, 1e-12) ** 2) ** 0.5
            full_shares = [1.0] * len(self.rows)
            are_alike = std_error < 1e-12
            if are_alike:
                change_part = Part.normal(estimate, 0.0)
            else:
                change_part = Part(
                    estimate, *_widest_ends(estimate, difference_laws, -largest_area, largest_area)
                )
            unseen_shares = full_shares if are_alike else self.unseen.get((model, baseline), [])
            if any(unseen_shares):
                change_part = with_unseen(
                    change_part, unseen_reach(self.rows, unseen_shares, largest_area)
                )
            if are_alike and abs(estimate) < 1e-12:
                change_note = UNCHANGED
            else:
                change_note = ""
            model_changes[model, baseline] = Change(
                change_part, change_part, std_error, note=change_note
            )
        return Measured(
            Level(estimates, model_parts, area_errors, evidence=evidence), model_changes
        )


def _widest_ends(at: float, laws: Floats, least: float, most: float) -> tuple[End, End]:
    """Ends of the widest interval of laws of the error of `at`, shape (L, B), each ascending."""

    def beyond(z: float) -> int:
        return int((1 - normal_cdf(z)) * (laws.shape[1] + 1) + 1e-9)

    def low(z: float) -> float:
        tail_rank = beyond(z)
        if tail_rank == 0:
            return least
        return max(at - float(laws[:, -tail_rank].max()), least)

    def high(z: float) -> float:
        tail_rank = beyond(z)
        if tail_rank == 0:
            return most
        return min(at - float(laws[:, tail_rank - 1].min()), most)

    return low, high


def unseen(p: float, rows: float) -> float:
    """The distance d of two ROC curves at which k rows show no error with probability p = (1 −
    d/2)²ᵏ.

    k pairs of a row of each label all have their order with a probability of at most (1 − d)ᵏ where
    the true curve is d away; for two such curves d apart that is (1 − d/2)²ᵏ at most.
    """
    return float(2.0 - 2.0 * p ** (0.5 / rows))


@dataclass(frozen=True)
class AucGap:
    """Upper limits of the difference of two AUCs, which the area between the curves is never below.

    `own` and `other`: rows of either label, of the worse curve and of the better one. The variance
    is that at the limit (Newcombe 2006, method 5): a curve that came out too good by chance shows
    too little noise.
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
        lower_auc = min(max(0.5, self.worse - distance), self.worse)
        upper_auc = max(min(0.5, self.better + distance), self.better)
        variance = auc_variance(lower_auc, *self.own) + auc_variance(upper_auc, *self.other)
        if variance:
            return math.erfc(distance / math.sqrt(2.0 * variance))
        return 0.0

    def upper(self, p: float) -> float:
        """The largest difference that is not rejected at p; 1 where none is."""
        observed_gap = self.better - self.worse
        if self.pvalue(1.0) > p:
            return 1.0
        if self.pvalue(observed_gap + 1e-12) < p:  # no noise
            return observed_gap
        return float(
            scipy.optimize.brentq(
                lambda gap: self.pvalue(gap) - p, observed_gap + 1e-12, 1.0, xtol=1e-12
            )
        )


def auc_variance(auc: float, n: float, m: float) -> float:
    """Variance of an AUC with n and m rows of the labels.

    Hanley and McNeil's, with (n + m)/2 for either.
    """
    if math.isinf(n):
        return 0.0
    extra_pairs = (n + m) / 2 - 1
    return (
        auc
        * (1 - auc)
        * (1 + extra_pairs * (1 - auc) / (2 - auc) + extra_pairs * auc / (1 + auc))
        / (n * m)
    )


@dataclass(frozen=True)
class Unseen:
    """What samples of two ROC curves do not show of their distance, whatever rows drawn again say.

    `rows`: fewest of a label in a group with less than one whole error (infinite: none); `errors`:
    of either label of a group rows k, misplaced ones x and the size c of each, by the share v of
    the other label on a row's wrong side: x = (Σv)²/Σv² rows of c = Σv²/Σv have the sum and the
    squares of all. `gap`: of their AUCs.
    """

    rows: float = float("inf")
    errors: tuple[tuple[float, float, float], ...] = ()
    gap: AucGap | None = None

    def reach(self, p: float) -> float:
        """The largest distance that is not rejected at p.

        By Clopper and Pearson's limit of x of k.
        """
        count_limits = (
            c * (1.0 - float(betaincinv(k - x, x + 1.0, p)) - x / k) for k, x, c in self.errors
        )
        return max(unseen(p, self.rows), *count_limits, 0.0)

    def pvalue(self, distance: float) -> float:
        """The probability of as few errors where the curves are that much farther apart."""
        unseen_pvalue = float((1.0 - min(max(distance, 0.0), 1.0) / 2.0) ** (2.0 * self.rows))
        tail_shares = ((k, x, max(1.0 - x / k - distance / c, 0.0)) for k, x, c in self.errors)
        return max(
            unseen_pvalue,
            *(float(betainc(k - x, x + 1.0, tail_share)) for k, x, tail_share in tail_shares),
            0.0,
        )

    def upper(self, p: float) -> float:
        """What the area may be, at least, for its AUCs are not rejected at p."""
        return 0.0 if self.gap is None else self.gap.upper(p)

    def pvalue_of_less(self, area: float) -> float:
        """p-value of that area by its AUCs, against less."""
        return 0.0 if self.gap is None else self.gap.pvalue(area)


def _distance_by_laws(
    at: float,
    laws: Sequence[Floats],
    margin: float,
    most: float,
    hidden: Unseen | None,
) -> tuple[Part, Evidence]:
    """Limits of a distance by the laws of its error, and the evidence against a margin."""
    lower_end, upper_end = _widest_ends(at, np.sort(np.stack(laws), axis=1), 0.0, most)
    pvalue_above, pvalue_inside = (
        max(
            (1 + int(np.count_nonzero(sign * error_law >= sign * (at - margin))))
            / (1 + error_law.size)
            for error_law in laws
        )
        for sign in (1, -1)
    )
    if hidden is None:
        return Part(at, lower_end, upper_end), Evidence(above=pvalue_above, inside=pvalue_inside)
    hidden_pvalue = hidden.pvalue(abs(at - margin))

    def p(z: float) -> float:
        return max(normal_cdf(-z), 1e-300)

    limited_part = Part(
        at,
        lambda z: max(min(lower_end(z), at - hidden.reach(p(z))), 0.0),
        lambda z: min(max(upper_end(z), at + hidden.reach(p(z)), hidden.upper(p(z))), most),
    )
    return limited_part, Evidence(
        above=max(pvalue_above, hidden_pvalue),
        inside=max(pvalue_inside, hidden_pvalue, hidden.pvalue_of_less(margin)),
    )


def _distance_of_unmoved(
    estimate: float,
    rows: Sequence[float],
    margin: float,
    highest: float,
) -> tuple[Part, Evidence]:
    """The same of a distance that no draw moves, as of equal scores: by rows that could differ."""
    unseen_limit = unseen_reach(rows, [1.0] * len(rows), highest)
    margin_distance = abs(estimate - margin)
    if unseen_limit(_FARTHEST_NORMAL) > margin_distance:
        z = float(
            scipy.optimize.brentq(
                lambda z: unseen_limit(z) - margin_distance, 0.0, _FARTHEST_NORMAL
            )
        )
    else:
        z = _FARTHEST_NORMAL
    if estimate > margin:
        pvalue_above = normal_cdf(-z)
        pvalue_inside = normal_cdf(z)
    else:
        pvalue_above = normal_cdf(z)
        pvalue_inside = normal_cdf(-z)
    limited_part = Part(
        estimate,
        lambda z: max(estimate - unseen_limit(z), 0.0),
        lambda z: min(estimate + unseen_limit(z), highest),
    )
    return limited_part, Evidence(above=pvalue_above, inside=pvalue_inside)
