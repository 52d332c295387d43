"""Scores of several models on the same people: AUC, Brier score and ABROCA, and what changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from fairstats.ground.checks import Floats
from fairstats.methods.rates.abroca import hidden_by_rows
from fairstats.methods.rates.roc import RocCurve, area_between, roc_on_grid
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
)
from fairstats.numerics.paired.score import Part

#: Bins of scores that drawn ROC curves are made of.
_CURVE_BINS = 50


def auc(scores: Floats, y: NDArray[np.int64], pairs: Sequence[tuple[int, int]]) -> Measured | str:
    """AUCs of models, with the covariance of DeLong, DeLong and Clarke-Pearson (1988).

    `scores`, shape (M, n); `pairs`: (model, baseline).
    """
    above, below = placements(scores, y)
    n = above.shape[1]
    m = below.shape[1]
    if min(n, m) < MIN_ROWS:
        return f"fewer than {MIN_ROWS} rows of one label."
    covariance = np.atleast_2d(np.cov(below)) / m + np.atleast_2d(np.cov(above)) / n
    return _measured_as_normal(below.mean(axis=1), covariance, pairs, [above, below])


def brier(scores: Floats, y: NDArray[np.int64], pairs: Sequence[tuple[int, int]]) -> Measured | str:
    """Brier scores of models: means over the same rows."""
    n = y.size
    if n < 2:
        return "fewer than two rows."
    errors = (scores - y) ** 2
    return _measured_as_normal(
        errors.mean(axis=1), np.atleast_2d(np.cov(errors)) / n, pairs, [errors], n - 1.0
    )


def _measured_as_normal(
    estimates: Floats,
    covariance: Floats,
    pairs: Sequence[tuple[int, int]],
    rows: Sequence[Floats],
    degrees: float = inf,
) -> Measured:
    """Estimates in [0, 1] with a covariance.

    `rows`: of each set of rows what they contribute under every model, shape (M, n). Where few of a
    set changed, the limits allow for what others may do (`unseen_share`).
    """

    def held(estimate: float, std_error: float) -> Part:
        return Part(
            estimate,
            lambda z: max(estimate - z * std_error, 0.0),
            lambda z: min(estimate + z * std_error, 1.0),
        )

    std_errors = np.sqrt(np.diag(covariance))
    changes = {}
    set_sizes = [contributions.shape[1] for contributions in rows]
    for model, baseline in pairs:
        estimate = float(estimates[model] - estimates[baseline])
        std_error = float(
            np.sqrt(
                max(
                    covariance[baseline, baseline]
                    + covariance[model, model]
                    - 2 * covariance[baseline, model],
                    0.0,
                )
            )
        )
        are_alike = std_error < 1e-12 and abs(estimate) < 1e-12
        normal_part = Part.normal(estimate, 0.0 if are_alike else std_error)
        if are_alike:
            shares = [1.0] * len(rows)
        else:
            shares = []
            for contributions in rows:
                shares.append(unseen_share(contributions[model] - contributions[baseline]))
        if any(shares):
            normal_part = with_unseen(normal_part, unseen_reach(set_sizes, shares))
        changes[model, baseline] = Change(
            shift=normal_part,
            total=normal_part,
            std_error=0.0 if are_alike else std_error,
            degrees_of_freedom=degrees,
            note=UNCHANGED if are_alike else "",
        )
    return Measured(
        Level(
            estimates=estimates,
            parts=tuple(map(held, estimates.tolist(), std_errors.tolist())),
            std_errors=std_errors,
            degrees_of_freedom=degrees,
        ),
        changes,
    )


@dataclass(frozen=True, eq=False)
class DrawnCurves:
    """ROC curves of every model in one group: exact ones, and on a grid those of rows drawn again.

    `on_grid`: per model, shape (1 + B, grid), the first from the rows themselves; `rows`: of either
    label; `places`: of rows with label 0 and 1 what they contribute to the AUC of every model,
    shape (M, n) each.
    """

    exact: tuple[RocCurve, ...]
    on_grid: tuple[Floats, ...]
    rows: tuple[int, ...]
    places: tuple[Floats, Floats]

    @classmethod
    def of(
        cls,
        scores: Floats,
        y: NDArray[np.int64],
        cuts: Sequence[Floats],
        n_resamples: int,
        rng: Generator,
    ) -> DrawnCurves | None:
        """None where a label has too few rows; `scores`, shape (M, n); `cuts`: of every model."""
        scores_by_label = [scores[:, y == label] for label in (0, 1)]
        if min(scores_of_label.shape[1] for scores_of_label in scores_by_label) < MIN_ROWS:
            return None
        n_bins = max(model_column.size for model_column in cuts) + 1
        shares = []
        for scores_of_label in scores_by_label:
            bin_codes = np.stack(
                [
                    np.searchsorted(model_column, model_scores, side="right")
                    for model_column, model_scores in zip(cuts, scores_of_label, strict=True)
                ]
            )
            observed_shares = np.stack(
                [
                    np.bincount(model_column, minlength=n_bins) / model_column.size
                    for model_column in bin_codes
                ]
            )
            shares.append(
                np.hstack(
                    [observed_shares[:, None], drawn_shares(bin_codes, n_bins, n_resamples, rng)]
                )
            )
        exact = tuple(
            _roc_curve_of_scores(*label_pair) for label_pair in zip(*scores_by_label, strict=True)
        )
        on_grid = tuple(roc_on_grid(*label_shares) for label_shares in zip(*shares, strict=True))
        label_sizes = tuple(scores_of_label.shape[1] for scores_of_label in scores_by_label)
        return cls(exact=exact, on_grid=on_grid, rows=label_sizes, places=placements(scores, y))


def abroca(
    group: DrawnCurves | None,
    reference: DrawnCurves | None,
    pairs: Sequence[tuple[int, int]],
    margin: float,
) -> Measured | str:
    """ABROCA of models between two groups."""
    if group is None or reference is None:
        return f"fewer than {MIN_ROWS} rows of one label, too few to resample a ROC curve."
    samples = group, reference
    estimates = np.array(
        [area_between(*curve_pair) for curve_pair in zip(group.exact, reference.exact, strict=True)]
    )
    curve_gaps = np.stack(
        [
            group_curves - reference_curves
            for group_curves, reference_curves in zip(group.on_grid, reference.on_grid, strict=True)
        ]
    )
    observed = curve_gaps[:, 0]
    label_sizes = [sample.rows for sample in samples]
    hidden = []
    for model_index in range(len(estimates)):
        unmoved = []
        for sample in samples:
            unmoved.append(
                bool((sample.on_grid[model_index] == sample.on_grid[model_index][0]).all())
            )
        hidden.append(
            hidden_by_rows([sample.exact[model_index] for sample in samples], label_sizes, unmoved)
        )
    noise = curve_gaps[:, 1:] - curve_gaps[:, :1]
    grid_step = 1 / observed.shape[1]
    places = []
    for sample in samples:
        for place_values in sample.places:
            places.append(place_values)
    unseen = {}
    for model, baseline in pairs:
        unseen[(model, baseline)] = [
            unseen_share(place_values[model] - place_values[baseline]) for place_values in places
        ]
    rows_of_all = [*group.rows, *reference.rows]
    curves_apart = Apart(
        observed=observed,
        noise=noise,
        near=NEAR,
        step=grid_step,
        most=1.0,
        rows=rows_of_all,
        unseen=unseen,
        hidden=hidden,
    )
    return curves_apart.measure(estimates, pairs, margin)


def _roc_curve_of_scores(negatives: Floats, positives: Floats) -> RocCurve:
    values = np.unique(np.concatenate([negatives, positives]))
    counts = (
        np.bincount(np.searchsorted(values, label_scores), minlength=values.size)
        for label_scores in (negatives, positives)
    )
    return RocCurve._from_counts(*counts)


def score_cuts(scores: Floats) -> Floats:
    """Edges of at most `_CURVE_BINS` bins of about equal size, none between equal scores."""
    return np.unique(np.quantile(scores, np.arange(1, _CURVE_BINS) / _CURVE_BINS, method="higher"))
