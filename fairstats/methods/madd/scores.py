"""Scores per group, sorted once: what every part of MADD reads."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from fairstats.ground.errors import InputError
from fairstats.ground.outcomes import MissingReport, Outcomes
from fairstats.methods.madd.binning import below, histogram

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["GroupScores", "Sample"]


@dataclass(frozen=True, eq=False)
class Sample:
    """Scores of one group, or of several together.

    Attributes
    ----------
    scores : ndarray of float, shape (n,)
        Ascending, in [0, 1].
    weights : ndarray of float, shape (n,), or None
        Weight of each score.
    clusters : ndarray of int, shape (n,), or None
        Sampling unit of each score.
    """

    scores: NDArray[np.float64]
    weights: NDArray[np.float64] | None = None
    clusters: NDArray[np.signedinteger[Any]] | None = None

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.scores.size)

    @property
    def total(self) -> float:
        """Sum of the weights; the number of rows without any."""
        return float(self.n if self.weights is None else self.weights.sum())

    @property
    def n_effective(self) -> float:
        """Rows that an unweighted sample of the same precision has (Kish): (Σw)²/Σw²."""
        if self.weights is None or not self.n:
            return float(self.n)
        total = self.total
        return 1 / float(np.square(self.weights / total).sum()) if total > 0 else 0.0

    @property
    def n_units(self) -> float:
        """Independent units: clusters where there are any, else effective rows."""
        return self.n_effective if self.clusters is None else float(np.unique(self.clusters).size)

    def below(self, edges: NDArray[np.float64]) -> NDArray[Any]:
        """Rows (or weight) below each edge, shape (e,)."""
        return below(self.scores, edges, self.weights)

    def histogram(self, edges: NDArray[np.float64]) -> NDArray[Any]:
        """Rows (or weight) per bin between inner edges, shape (e + 1,)."""
        return histogram(self.scores, edges, self.weights)

    @classmethod
    def joined(cls, parts: list[Sample]) -> Sample:
        """Several samples as one."""
        scores = np.concatenate([p.scores for p in parts])
        plain = all(p.weights is None and p.clusters is None for p in parts)
        if plain:
            scores.sort()
            return cls(scores)
        order = np.argsort(scores, kind="stable")

        def together(columns: list[Any]) -> Any:
            return None if any(c is None for c in columns) else np.concatenate(columns)[order]

        return cls(scores[order], together([p.weights for p in parts]), together([p.clusters for p in parts]))


@dataclass(frozen=True, eq=False)
class GroupScores:
    """Sorted scores of every group.

    Attributes
    ----------
    groups : tuple of str, length G
    samples : tuple of Sample, length G
    missing : MissingReport
        What was left out.
    """

    groups: tuple[str, ...]
    samples: tuple[Sample, ...]
    missing: MissingReport = field(default_factory=MissingReport)

    @classmethod
    def from_outcomes(cls, outcomes: Outcomes) -> GroupScores:
        """Split validated rows by group and sort each part.

        Raises
        ------
        InputError
            Without a score, or with one group only.
        """
        labels = outcomes.groups.labels
        if outcomes.score is None:
            raise InputError("score", got="None", allowed="one score in [0, 1] per row", cure="pass score")
        if len(labels) < 2:
            raise InputError(
                "sensitive_features",
                got=f"one group ({labels[0]!r})" if labels else "no group",
                allowed="two groups or more",
                cure="compare with another group",
            )
        samples = tuple(_sample(outcomes, g) for g in range(len(labels)))
        return cls(labels, samples, outcomes.missing)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Rows per group, shape (G,)."""
        return np.array([s.n for s in self.samples], dtype=np.int64)

    @property
    def weighted(self) -> bool:
        """Whether rows carry weights."""
        return any(s.weights is not None for s in self.samples)

    @property
    def clustered(self) -> bool:
        """Whether rows come in clusters."""
        return any(s.clusters is not None for s in self.samples)

    def rest(self, group: int) -> Sample:
        """All rows outside a group."""
        return Sample.joined([s for g, s in enumerate(self.samples) if g != group])


def _sample(outcomes: Outcomes, group: int) -> Sample:
    chosen = outcomes.groups.codes == group
    scores = np.asarray(outcomes.score)[chosen]
    if outcomes.weight is None and outcomes.cluster is None:
        scores.sort()
        return Sample(scores)
    order = np.argsort(scores, kind="stable")
    weight, cluster = outcomes.weight, outcomes.cluster
    return Sample(
        scores[order],
        None if weight is None else weight[chosen][order],
        None if cluster is None else cluster.codes[chosen][order],
    )
