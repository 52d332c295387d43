"""Score histograms per group and label.

The sufficient statistic of everything that looks at a score.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats, check_given, check_summand, check_type
from fairstats.ground.multiplicity import normal_quantile
from fairstats.ground.outcomes import MissingReport, Outcomes, even_weights
from fairstats.ground.serialise import serialisable
from fairstats.ground.stored import check_amounts, check_counts, check_shape, damaged


@serialisable(eq=False)
class ScoreCounts:
    """Rows per group, label and score value.

    Attributes
    ----------
    groups : tuple of str, length G
    values, lower : ndarray of float, shape (m,)
        Distinct scores in ascending order, `lower` None; or ends of the intervals [lower, value] to
        which they were merged.
    counts : ndarray of int, shape (G, 2, m), or (G, 1, m) where there are no labels
        Rows of group g with label 0 or 1 and that score.
    missing : MissingReport
        What was left out.
    totals, squares : ndarray of float, shape as `counts`, or None
        Sums of the weights and of their squares; None without weights.
    clustered : bool
        Whether rows came in clusters, which these counts do not keep.
    """

    groups: tuple[str, ...]
    values: NDArray[np.float64]
    counts: NDArray[np.int64]
    missing: MissingReport = field(default_factory=MissingReport)
    lower: NDArray[np.float64] | None = None
    totals: NDArray[np.float64] | None = None
    squares: NDArray[np.float64] | None = None
    clustered: bool = False

    def check_stored(self) -> None:
        """Raise unless the counts that were read from a file have an entry per group, label and
        score.
        """
        counts_shape = self.counts.shape
        if len(counts_shape) != 3 or counts_shape[1] not in (1, 2):
            received = f"counts of scores of shape {counts_shape}"
            raise damaged(received, "an entry per group, label (1 or 2 of them) and score")
        check_shape(
            self, "counts", self.counts, (len(self.groups), counts_shape[1], self.values.size)
        )
        check_shape(self, "values", self.values, counts_shape[2:])
        check_shape(self, "lower", self.lower, counts_shape[2:])
        check_shape(self, "totals", self.totals, counts_shape)
        check_shape(self, "squares", self.squares, counts_shape)
        check_counts(self, "counts", self.counts)
        check_amounts(self, "totals", self.totals)
        check_amounts(self, "squares", self.squares)
        check_amounts(self, "values", self.values)
        check_amounts(self, "lower", self.lower)
        if (self.totals is None) != (self.squares is None):
            raise damaged(
                "weighted counts of scores without their squares",
                "sums of weights and of their squares",
            )
        if (
            self.totals is not None
            and self.squares is not None
            and ((self.totals > 0) != (self.squares > 0)).any()
        ):
            raise damaged(
                "sums of weights that do not go with the sums of their squares",
                "both, of the same rows",
            )
        is_ascending = bool((np.diff(self.values) > 0).all())
        is_within = self.lower is None or bool((self.lower <= self.values).all())
        if not is_ascending or not is_within or (self.values.size and self.values[-1] > 1):
            raise damaged(
                "scores that are out of order or beyond 1", "distinct scores in [0, 1], ascending"
            )

    @classmethod
    def _from_outcomes(cls, outcomes: Outcomes, *, labelled: bool = True) -> Self:
        """Count validated rows at every distinct score.

        Without labels where `labelled` is false.
        """
        check_type("outcomes", outcomes, Outcomes, "validated rows: Outcomes.from_arrays(…)")
        values, position = np.unique(check_given("score", outcomes.score), return_inverse=True)
        n_groups = len(outcomes.groups.labels)
        n_labels = 2 if labelled else 1
        group_label_codes = outcomes.groups.codes.astype(np.intp) * n_labels
        if labelled:
            group_label_codes = group_label_codes + check_given("y_true", outcomes.y_true)
        cell_codes = group_label_codes * values.size + position
        table_shape = (n_groups, n_labels, values.size)

        def total(weights: Any) -> NDArray[Any]:
            return np.bincount(cell_codes, weights, n_groups * n_labels * values.size).reshape(
                table_shape
            )

        weight = outcomes.weight
        squares = outcomes.squares
        if weight is not None and squares is None:
            squares = weight**2
        return cls(
            groups=outcomes.groups.labels,
            values=values,
            missing=outcomes.missing,
            counts=total(outcomes.number).astype(np.int64, copy=False),
            totals=None if weight is None else total(weight),
            squares=None if squares is None else total(squares),
            clustered=outcomes.cluster is not None,
        )

    @property
    def labelled(self) -> bool:
        """Whether the rows have labels."""
        return bool(self.counts.shape[1] == 2)

    @property
    def weighted(self) -> bool:
        """Whether rows carry weights."""
        return self.totals is not None

    def without_even_weights(self) -> ScoreCounts:
        """The same counts without weights, where these are equal within every group.

        So groups are compared.
        """
        if self.totals is None or self.squares is None:
            return self
        group_sums = (
            table_part.sum(axis=(1, 2)) for table_part in (self.counts, self.totals, self.squares)
        )
        if even_weights(*group_sums).all():
            return replace(self, totals=None, squares=None)
        return self

    @cached_property
    def group_sizes(self) -> NDArray[np.int64]:
        """Rows per group, shape (G,)."""
        return np.asarray(self.counts.sum(axis=(1, 2)))

    @cached_property
    def cost(self) -> float:
        """Largest share of a group's rows in one interval.

        A share below any cut moves by at most this.
        """
        if self.lower is None:
            return 0.0
        interval_counts = self.counts.sum(axis=1)[:, self.lower < self.values]
        sizes = np.maximum(self.group_sizes, 1)[:, None]
        if interval_counts.size:
            return float((interval_counts / sizes).max())
        return 0.0

    @cached_property
    def auc_error(self) -> Floats:
        """Largest error of each group's AUC for not knowing the order within intervals, shape (G,).

        Half of Σ p₀p₁ over intervals, p the shares of the rows with label 0 and 1; the area between
        two groups' ROC curves errs by the sum of theirs at most.
        """
        if self.lower is None or not self.labelled:
            return np.zeros(len(self.groups))
        shares = self.counts if self.totals is None else self.totals
        label_sums = shares.sum(axis=2, keepdims=True)
        shares = shares[:, :, self.lower < self.values] / np.where(label_sums > 0, label_sums, 1)
        return np.asarray((shares[:, 0] * shares[:, 1]).sum(axis=1) / 2)

    def _calibration_bins(
        self,
        group: int,
        confidence_level: float = 0.95,
        n_bins: int = 10,
    ) -> tuple[Floats, ...]:
        """Mean score, rows, share with label 1 and the ends of its Wilson interval, by bin of
        scores.

        Bins of about equal size of one group, up to `n_bins` with 20 rows each on average; tied
        scores stay together. Intervals hold for each bin alone.
        """
        has_rows = self.counts[group].sum(axis=0) > 0
        lower = self.values if self.lower is None else self.lower
        midpoints = (lower[has_rows] + self.values[has_rows]) / 2
        counts = self.counts[group][:, has_rows]
        rows_per_score = counts.sum(axis=0)
        most_bins = int(np.clip(rows_per_score.sum() // 20, 1, n_bins))
        bin_starts = find_bin_starts(
            np.cumsum(rows_per_score) / max(rows_per_score.sum(), 1), most_bins
        )
        binned_quantities = (rows_per_score, counts[1], rows_per_score * midpoints)
        bin_rows, positives, score_sums = (
            np.add.reduceat(quantity, bin_starts) if rows_per_score.size else np.zeros(0)
            for quantity in binned_quantities
        )
        z2 = normal_quantile((1 + confidence_level) / 2) ** 2
        centre = (positives + z2 / 2) / (bin_rows + z2)
        half_width = np.sqrt(z2 * (positives * (bin_rows - positives) / bin_rows + z2 / 4)) / (
            bin_rows + z2
        )
        return (
            score_sums / bin_rows,
            bin_rows,
            positives / bin_rows,
            centre - half_width,
            centre + half_width,
        )

    def _splits_interval(self, edges: Floats) -> bool:
        """Whether one of the edges, in ascending order, cuts through an interval."""
        if self.lower is None:
            return False
        edges_to_lower, edges_to_upper = (
            np.searchsorted(edges, interval_ends, side="right")
            for interval_ends in (self.lower, self.values)
        )
        return bool((edges_to_lower < edges_to_upper).any())

    def _merge_into_bins(self, n_bins: int) -> ScoreCounts:
        """The same counts in at most `n_bins` bins of about equal size.

        Unchanged where values are few.
        """
        if self.values.size <= n_bins:
            return self
        rows_up_to = np.cumsum(self.counts.sum(axis=(0, 1)))
        return self._merged(find_bin_starts(rows_up_to / self.counts.sum(), n_bins))

    def _merge_small_intervals(self, least: int = 10) -> ScoreCounts:
        """Scores merged until each interval holds at least `least` rows, so that no row can be read
        off.
        """
        interval_starts = [0]
        n_held = 0
        for score_position, n_rows in enumerate(self.counts.sum(axis=(0, 1)).tolist()):
            if n_held >= least:
                interval_starts.append(score_position)
                n_held = 0
            n_held += n_rows
        if n_held < least and len(interval_starts) > 1:
            interval_starts.pop()
        return self._merged(np.array(interval_starts))

    def _merged(self, starts: NDArray[np.intp]) -> ScoreCounts:
        """The same counts in intervals that begin at the values at `starts`."""
        interval_ends = np.append(starts[1:], self.values.size) - 1
        lower = self.values if self.lower is None else self.lower
        merged = self._change_arrays(lambda part: np.add.reduceat(part, starts, axis=2))
        return replace(self, values=self.values[interval_ends], lower=lower[starts], **merged)

    def _change_arrays(self, change: Callable[[NDArray[Any]], NDArray[Any]]) -> dict[str, Any]:
        """Counts, and sums of weights and of their squares where there are any, each changed."""
        arrays_by_name = {}
        for field_name in ("counts", "totals", "squares"):
            arrays_by_name[field_name] = getattr(self, field_name)
        change_arrays: dict[str, Any] = {}
        for field_name, field_array in arrays_by_name.items():
            if field_array is not None:
                change_arrays[field_name] = change(field_array)
        return change_arrays

    def _with_new_groups(self, groups: tuple[str, ...], position: Sequence[int]) -> ScoreCounts:
        """Groups merged, reordered or added: group g becomes group ``position[g]`` of `groups`."""

        def moved(old_array: NDArray[Any]) -> NDArray[Any]:
            moved_array = np.zeros((len(groups), *old_array.shape[1:]), dtype=old_array.dtype)
            for new_group, group_array in zip(position, old_array, strict=True):
                moved_array[new_group] += group_array
            return moved_array

        return replace(
            self,
            groups=groups,
            missing=self.missing._with_new_groups(position),
            **self._change_arrays(moved),
        )

    def __add__(self, other: ScoreCounts) -> ScoreCounts:
        """Counts of two sets of rows with the same groups; intervals that overlap become one."""
        check_summand(self, other, "groups", "labelled")
        lower_ends = np.concatenate(
            [
                score_counts.values if score_counts.lower is None else score_counts.lower
                for score_counts in (self, other)
            ]
        )
        upper_ends = np.concatenate([self.values, other.values])
        interval_order = np.lexsort((upper_ends, lower_ends))
        lower_ends = lower_ends[interval_order]
        reached_ends = np.maximum.accumulate(upper_ends[interval_order])
        starts_interval = np.concatenate([[True], lower_ends[1:] > reached_ends[:-1]])
        interval_codes = np.empty(interval_order.size, dtype=np.intp)
        interval_codes[interval_order] = np.cumsum(starts_interval) - 1
        is_exact = self.lower is None and other.lower is None

        def joined(field_name: str) -> NDArray[Any]:
            own_array, other_array = (
                score_counts.counts
                if getattr(score_counts, field_name) is None
                else getattr(score_counts, field_name)
                for score_counts in (self, other)
            )
            both_arrays = np.concatenate([own_array, other_array], axis=2)
            joined_array = np.zeros(
                (*own_array.shape[:2], int(starts_interval.sum())), dtype=both_arrays.dtype
            )
            np.add.at(
                np.moveaxis(joined_array, 2, 0), interval_codes, np.moveaxis(both_arrays, 2, 0)
            )
            return joined_array

        weighted = self.weighted or other.weighted
        return replace(
            self,
            values=reached_ends[
                np.append(np.flatnonzero(starts_interval)[1:] - 1, reached_ends.size - 1)
            ],
            lower=None if is_exact else lower_ends[starts_interval],
            counts=joined("counts"),
            totals=joined("totals") if weighted else None,
            squares=joined("squares") if weighted else None,
            missing=self.missing + other.missing,
            clustered=self.clustered or other.clustered,
        )


def find_bin_starts(share: Floats, n_bins: int) -> NDArray[np.intp]:
    """Where up to `n_bins` bins of about equal size begin, by the share of rows up to each
    value.
    """
    last_positions = np.unique(np.searchsorted(share, np.arange(1, n_bins + 1) / n_bins - 1e-12))
    return np.concatenate([[0], np.minimum(last_positions, share.size - 1)[:-1] + 1])


def bandwidth_order(n0: float, n1: float) -> float:
    """h_sup = ((√n0 + √n1)/√(n0·n1))^(2/3), the order of the best bandwidth (theorem 2)."""
    # one place of the paper prints 1/3; 2/3 gives its 0.0737
    return float((n0**-0.5 + n1**-0.5) ** (2 / 3))


def label_blind_bins(n0: float, n1: float) -> int:
    """Bins m = ⌈1/h_sup⌉ of a grid that depends on the group sizes only; at least 2."""
    return max(int(np.ceil(1 / bandwidth_order(n0, n1))), 2)


@dataclass(frozen=True, eq=False)
class Bins:
    """Bins of scores: [0, e₁), [e₁, e₂), …, [eₘ₋₁, 1].

    Attributes
    ----------
    edges : ndarray of float, shape (m - 1,)
        Inner edges e₁ < e₂ < … of the m bins.
    atoms : ndarray of float, shape (m,), or None
        The distinct scores, where each has a bin of its own.
    """

    edges: NDArray[np.float64]
    atoms: NDArray[np.float64] | None = None


def pooled_bins(
    scores: Floats,
    n_bins: int,
    amounts: NDArray[Any] | None = None,
    *,
    merged: bool = False,
) -> Bins:
    """Bins at the quantiles of pooled scores.

    The grid on which MADD is judged, blind to whose scores they are.

    The k-th bin ends with the first score x whose share of pooled rows F(x) reaches k/m. Equal
    scores stay together, so that ties leave fewer bins; where there are no more than m distinct
    scores, each is a bin. Only the order of the scores counts: a monotone map moves the edges with
    the scores, and no row changes its bin.

    Parameters
    ----------
    scores : ndarray, shape (n,)
        Scores of all rows that are compared, ascending.
    n_bins : int
        m, at most so many bins.
    amounts : ndarray, shape (n,), optional
        Rows, or weight, of each score; default one row each.
    merged : bool
        Whether the scores are upper ends of intervals: edges then lie just above them, otherwise
        half way between neighbours, where no row's score can be read off.
    """
    if amounts is not None:
        has_amount = amounts > 0
        scores = scores[has_amount]
        amounts = amounts[has_amount]
    step_positions = np.flatnonzero(scores[1:] > scores[:-1])
    if step_positions.size < n_bins:
        atom_scores = scores[np.concatenate([step_positions, [scores.size - 1]])]
        return Bins(_edges_between(atom_scores[:-1], atom_scores[1:], merged), atom_scores)
    cut_numbers = np.arange(1, n_bins)
    if amounts is None:
        # the first i with i + 1 rows of at least k·n/m, in whole numbers
        cut_positions = -(-cut_numbers * scores.size // n_bins) - 1
    elif amounts.dtype.kind == "i":
        cut_positions = np.searchsorted(
            np.cumsum(amounts), -(-cut_numbers * int(amounts.sum()) // n_bins)
        )
    else:
        # sums of weights are right to rounding only
        cumulative = np.cumsum(amounts)
        cut_positions = np.searchsorted(
            cumulative, cut_numbers * (cumulative[-1] / n_bins) * (1 - 1e-12)
        )
    last_scores = np.unique(scores[cut_positions])
    next_positions = np.searchsorted(scores, last_scores, side="right")
    has_next = next_positions < scores.size
    return Bins(_edges_between(last_scores[has_next], scores[next_positions[has_next]], merged))


def _edges_between(last_scores: Floats, first_scores: Floats, merged: bool) -> Floats:
    """Edges above the last score of a bin and at most at the first one of the next."""
    if merged:
        return np.asarray(np.nextafter(last_scores, 2.0))
    midpoints = last_scores + (first_scores - last_scores) / 2
    return np.asarray(np.where(midpoints > last_scores, midpoints, first_scores))
