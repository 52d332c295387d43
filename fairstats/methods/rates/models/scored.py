"""A quantity of the scores of several models: which rows it is of, and what it says of two groups.

AUC and Brier score are of one group, or of all rows; MADD and ABROCA are distances of two groups.
Each is measured for every model at once, so that changes between models see the same people.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats
from fairstats.ground.verdict import Evidence
from fairstats.methods.rates.models.scores import DrawnCurves, abroca, auc, brier, score_cuts
from fairstats.methods.rates.result import Inference
from fairstats.numerics.paired.change import Change, ModelPair
from fairstats.numerics.paired.distance import MIN_ROWS, Level, Measured, madd

#: Group → curves drawn from its rows; None where it has too few.
Curves = Mapping[int, DrawnCurves | None]
_OF_ONE_GROUP = ("auc", "brier")
#: Quantities that need rows; the others need rows of both labels.
_WITHOUT_LABELS = ("madd", "brier")


@dataclass(frozen=True, eq=False)
class ScoredModels:
    """The models that have scores, on the same rows.

    `scores` has shape (models, n); `positions` are those of model and baseline of each of `pairs`.
    """

    name: str
    models: list[str]
    scores: Floats
    labels: NDArray[Any]
    group_codes: NDArray[Any]
    pairs: list[ModelPair]
    positions: list[tuple[int, int]]
    settings: Inference

    @property
    def of_one_group(self) -> bool:
        """Whether the quantity is of one group, or of all rows, and no distance of two."""
        return self.name in _OF_ONE_GROUP

    def masks(self, groups: Sequence[int]) -> list[NDArray[np.bool_]]:
        """The rows of each group; all rows where none is named."""
        if not groups:
            return [np.ones(self.group_codes.size, dtype=bool)]
        return [self.group_codes == group for group in groups]

    def draw_curves(
        self, compared: Iterable[tuple[int, int]], rng: np.random.Generator
    ) -> dict[int, DrawnCurves | None]:
        """For ABROCA: resampled curves of every group that is compared, each drawn once."""
        drawn: dict[int, DrawnCurves | None] = {}
        if self.name != "abroca":
            return drawn
        cuts_of_models = [score_cuts(scores) for scores in self.scores]
        for groups in compared:
            for group in groups:
                if group in drawn:
                    continue
                mask = self.group_codes == group
                drawn[group] = DrawnCurves.of(
                    self.scores[:, mask],
                    self.labels[mask],
                    cuts_of_models,
                    self.settings.n_resamples,
                    rng,
                )
        return drawn

    def measure(
        self,
        groups: Sequence[int],
        curves: Curves,
        rng: np.random.Generator,
    ) -> Measured | str:
        """The quantity of all models, and its changes; in words why there is none."""
        masks = self.masks(groups)
        margin = float(self.settings.margin)  # type: ignore[arg-type]
        if self.name == "auc":
            return auc(self.scores[:, masks[0]], self.labels[masks[0]], self.positions)
        if self.name == "brier":
            return brier(self.scores[:, masks[0]], self.labels[masks[0]], self.positions)
        if self.name == "abroca":
            return abroca(curves[groups[0]], curves[groups[1]], self.positions, margin)
        scores_of_groups = (self.scores[:, masks[0]], self.scores[:, masks[1]])
        # MADD lies within [0, 2], differences of rates within [0, 1]
        return madd(scores_of_groups, self.positions, 2 * margin, self.settings.n_resamples, rng)

    def name_groups_of_few(self, groups: Sequence[int], names: Sequence[str]) -> str:
        """Which groups have too few rows for the quantity; all of them where none has."""
        few = []
        for name, mask in zip(names, self.masks(groups), strict=True):
            labels = self.labels[mask]
            if self.name in _WITHOUT_LABELS:
                size = labels.size
            else:
                size = np.bincount(labels, minlength=2).min()
            if size < MIN_ROWS:
                few.append(name)
        return " and ".join(few or names)


@dataclass(frozen=True, eq=False)
class ScoreAnswer:
    """What a quantity says of one group, or of two: `level` in words where it says nothing.

    `estimates` and `evidence` have one entry for each model.
    """

    level: Level | str
    changes: Mapping[tuple[int, int], Change | str]
    estimates: list[float]
    evidence: list[Evidence]

    @classmethod
    def of(cls, measured: Measured) -> ScoreAnswer:
        """What was measured."""
        return cls(
            level=measured.level,
            changes=measured.changes,
            estimates=measured.level.estimates.tolist(),
            evidence=list(measured.level.evidence),
        )

    @classmethod
    def without(cls, reason: str, scored: ScoredModels) -> ScoreAnswer:
        """Nothing, and why."""
        n_models = len(scored.models)
        return cls(
            level=reason,
            changes=dict.fromkeys(scored.positions, reason),
            estimates=[nan] * n_models,
            evidence=[Evidence()] * n_models,
        )
