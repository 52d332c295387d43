"""Labels counted at every group's own scores: with G groups and n rows in n cells, not in 2Gn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats, check_given
from fairstats.ground.outcomes import Outcomes
from fairstats.ground.scores import ScoreCounts, find_bin_starts

#: A result carries at most so many bins, with so many rows on average: no person can be read off.
_STORED_BINS = 2048
_ROWS_PER_BIN = 10


@dataclass(frozen=True, eq=False)
class OwnScores:
    """Rows by label and ascending score of every group by itself.

    `counts`: of each group shape (2, its distinct scores); `auc_error`, shape (G,): largest error
    of an AUC for scores counted in intervals; `binned`: the same rows in the bins of a result.
    """

    groups: tuple[str, ...]
    counts: tuple[NDArray[np.int64], ...]
    auc_error: Floats
    binned: ScoreCounts

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Rows per group, shape (G,)."""
        return np.array([int(own_counts.sum()) for own_counts in self.counts], dtype=np.int64)

    @classmethod
    def of_counts(cls, scores: ScoreCounts) -> OwnScores:
        """Of counts at the scores of all groups."""
        own_counts = tuple(
            group_counts[:, group_counts.any(axis=0)] for group_counts in scores.counts
        )
        n_rows = sum(int(group_counts.sum()) for group_counts in own_counts)
        return cls(
            groups=scores.groups,
            counts=own_counts,
            auc_error=scores.auc_error,
            binned=scores._merge_into_bins(_number_of_bins(n_rows)),
        )

    @classmethod
    def of_rows(cls, outcomes: Outcomes) -> OwnScores:
        """Of validated rows of equal weight with labels and scores."""
        scores, positions = np.unique(check_given("score", outcomes.score), return_inverse=True)
        labels = check_given("y_true", outcomes.y_true)
        n_groups = len(outcomes.groups.labels)
        group_codes = outcomes.groups.codes.astype(np.int64)
        cells, cell_codes = np.unique(group_codes * scores.size + positions, return_inverse=True)
        counted = np.bincount(2 * cell_codes + labels, minlength=2 * cells.size)
        by_label = np.ascontiguousarray(counted.reshape(-1, 2).T)
        cuts = np.searchsorted(cells, np.arange(1, n_groups) * scores.size)
        rows_up_to = np.cumsum(np.bincount(positions, minlength=scores.size))
        n_bins = _number_of_bins(positions.size)
        if scores.size <= n_bins:
            starts = np.arange(scores.size)
        else:
            starts = find_bin_starts(rows_up_to / positions.size, n_bins)
        bin_of_score = np.searchsorted(starts, np.arange(scores.size), side="right") - 1
        bin_codes = (2 * group_codes + labels) * starts.size + bin_of_score[positions]
        in_bins = np.bincount(bin_codes, minlength=2 * n_groups * starts.size)
        ends = np.append(starts[1:], scores.size) - 1
        binned = ScoreCounts(
            groups=outcomes.groups.labels,
            values=scores[ends],
            lower=None if scores.size <= n_bins else scores[starts],
            counts=in_bins.reshape(n_groups, 2, starts.size),
            missing=outcomes.missing,
        )
        return cls(
            groups=outcomes.groups.labels,
            counts=tuple(np.split(by_label, cuts, axis=1)),
            auc_error=np.zeros(n_groups),
            binned=binned,
        )


def _number_of_bins(n_rows: int) -> int:
    """Bins that a result of so many rows carries."""
    return max(2, min(_STORED_BINS, n_rows // _ROWS_PER_BIN))
