"""What the mitigator reads: labelled scores to fit on, further scores with the groups of the fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fairstats.ground.encoding import as_float_column
from fairstats.ground.errors import InputError
from fairstats.ground.groups import encode_groups
from fairstats.ground.labels import binary_codes
from fairstats.ground.outcomes import Outcomes, check_probability
from fairstats.methods.madd.losses import LabelledSample

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["is_real", "is_whole", "label_pair", "labelled", "read_scores"]


def is_real(value: Any) -> bool:
    """Whether a parameter is a number."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def is_whole(value: Any) -> bool:
    """Whether a parameter is a whole number."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def read_scores(
    score: Any, sensitive_features: Any, groups: tuple[str, ...]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Scores, and the positions of their groups among those of the fit.

    Raises
    ------
    InputError
        For missing values, scores outside [0, 1], columns of different lengths and new groups.
    """
    scores = as_float_column(score, "score")
    if np.isnan(scores).any():
        raise InputError(
            "score",
            got=f"{int(np.isnan(scores).sum()):,} missing values",
            allowed="scores in [0, 1]",
            cure="leave those rows out",
        )
    check_probability(scores, "score")
    grouping = encode_groups(sensitive_features)
    if grouping.codes.size != scores.size:
        raise InputError(
            "sensitive_features",
            got=f"{grouping.codes.size:,} values for {scores.size:,} scores",
            allowed="one value per score",
            cure="take both from the same rows",
        )
    present = np.unique(grouping.codes).tolist()
    names = ["a missing value" if g < 0 else grouping.labels[g] for g in present]
    unknown = [name for name, g in zip(names, present, strict=True) if g < 0 or name not in groups]
    if unknown:
        raise InputError(
            "sensitive_features",
            got=", ".join(map(repr, unknown)),
            allowed="the groups of the fit: " + ", ".join(map(repr, groups)),
            cure="fit with rows of every group",
        )
    place = [groups.index(label) if label in groups else -1 for label in grouping.labels]
    return scores, np.array(place, dtype=np.int64)[grouping.codes]


def labelled(outcomes: Outcomes) -> list[LabelledSample]:
    """Sorted scores of every group with their labels.

    Raises
    ------
    InputError
        If there are fewer than two groups, or one has no rows.
    """
    labels, codes = outcomes.groups.labels, outcomes.groups.codes
    scores, y = np.asarray(outcomes.score), np.asarray(outcomes.y_true)
    found = []
    for g, name in enumerate(labels):
        rows = np.flatnonzero(codes == g)
        if not rows.size:
            raise InputError(
                "sensitive_features",
                got=f"no rows in group {name!r}",
                allowed="groups with rows",
                cure="leave the group out, or merge it with another",
            )
        order = rows[np.argsort(scores[rows], kind="stable")]
        found.append(LabelledSample(scores[order], y[order]))
    if len(found) < 2:
        raise InputError(
            "sensitive_features",
            got="one group",
            allowed="two groups or more",
            cure="add rows of another group",
        )
    return found


def label_pair(y: Any, pos_label: Any) -> NDArray[Any]:
    """The unfavourable and the favourable label as they came; 0 and 1 where they are not two."""
    levels = binary_codes(y, "y", pos_label).levels
    wanted = 1 if pos_label is None else pos_label
    favourable = [v for v in levels if v == wanted or str(v) == str(wanted)]
    others = [v for v in levels if v not in favourable]
    if len(favourable) != 1 or len(others) != 1:
        return np.array([0, 1])
    return np.array([others[0], favourable[0]])
