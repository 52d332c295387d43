"""Score histograms per group and label: the sufficient statistic of everything that looks at a score."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

import numpy as np

from fairstats.ground.errors import InputError
from fairstats.ground.outcomes import MissingReport, Outcomes
from fairstats.ground.serialise import serialisable

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ScoreCounts"]


@serialisable
@dataclass(frozen=True, eq=False)
class ScoreCounts:
    """Rows per group, label and score value.

    Attributes
    ----------
    groups : tuple of str, length G
    values : ndarray of float, shape (m,)
        Distinct scores in ascending order, or the upper ends of bins.
    counts : ndarray of int, shape (G, 2, m)
        Rows of group g with label 0 or 1 and that score.
    missing : MissingReport
        What was left out.
    """

    groups: tuple[str, ...]
    values: NDArray[np.float64]
    counts: NDArray[np.int64]
    missing: MissingReport = field(default_factory=MissingReport)

    @classmethod
    def from_outcomes(cls, outcomes: Outcomes) -> Self:
        """Count validated rows at every distinct score."""
        if outcomes.score is None or outcomes.y_true is None:
            name = "score" if outcomes.score is None else "y_true"
            raise InputError(name, got="None", allowed="one value per row", cure=f"pass {name}")
        values, position = np.unique(outcomes.score, return_inverse=True)
        n_groups = len(outcomes.groups.labels)
        row = outcomes.groups.codes.astype(np.intp) * 2 + outcomes.y_true
        counts = np.bincount(row * values.size + position, minlength=2 * n_groups * values.size)
        return cls(
            groups=outcomes.groups.labels,
            values=values,
            counts=counts.reshape(n_groups, 2, values.size),
            missing=outcomes.missing,
        )

    @property
    def group_sizes(self) -> NDArray[np.int64]:
        """Rows per group, shape (G,)."""
        return np.asarray(self.counts.sum(axis=(1, 2)))

    def binned(self, n_bins: int) -> ScoreCounts:
        """The same counts in at most `n_bins` bins of about equal size; unchanged where values are few."""
        if self.values.size <= n_bins:
            return self
        share = np.cumsum(self.counts.sum(axis=(0, 1))) / self.counts.sum()
        cut = np.unique(np.searchsorted(share, np.arange(1, n_bins + 1) / n_bins - 1e-12))
        cut = np.minimum(cut, self.values.size - 1)
        starts = np.concatenate([[0], cut[:-1] + 1])
        merged = np.add.reduceat(self.counts, starts, axis=2)
        return ScoreCounts(self.groups, self.values[cut], merged, self.missing)
