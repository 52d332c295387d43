"""What a section receives: one set of sensitive attributes, validated and counted once."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fairstats.ground.counts import CellCounts, ConfusionCounts, SelectionCounts
from fairstats.ground.encoding import as_float_column, label_text
from fairstats.ground.errors import InputError
from fairstats.ground.groups import INTERSECTION
from fairstats.ground.outcomes import Outcomes, check_probability
from fairstats.report.settings import AuditColumns, AuditSettings

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

__all__ = ["AuditInput", "attribute_sets", "build_input", "set_references"]

#: A reference that is a rule, not the name of a group.
REFERENCE_RULES = ("largest", "highest")


@dataclass(frozen=True, eq=False)
class AuditInput:
    """One set of sensitive attributes with everything that the columns give.

    Attributes
    ----------
    attributes : tuple of str
        The sensitive columns whose values, crossed, are the groups.
    outcomes : Outcomes
        Validated rows, for methods that need rows.
    counts : ConfusionCounts or SelectionCounts
        Confusion counts where labels and predictions are there; otherwise selected = favourable value of the
        one that is.
    columns : AuditColumns
    settings : AuditSettings
    reference : hashable or None
        Reference group of this set, or a rule.
    features : DataFrame or None
        Features of the rows in `outcomes`, numbered from 0.
    counterfactual_score : ndarray of float, shape (n,), or None
        Score of the same rows with another value of the one sensitive attribute.
    """

    attributes: tuple[str, ...]
    outcomes: Outcomes
    counts: CellCounts
    columns: AuditColumns
    settings: AuditSettings
    reference: Hashable | None = None
    features: pd.DataFrame | None = None
    counterfactual_score: NDArray[np.float64] | None = None

    @property
    def has_labels(self) -> bool:
        """Whether an outcome column was given."""
        return self.columns.y_true is not None

    @property
    def has_predictions(self) -> bool:
        """Whether a prediction column was given."""
        return self.columns.y_pred is not None

    @property
    def has_scores(self) -> bool:
        """Whether a score column was given."""
        return self.columns.score is not None


def attribute_sets(names: Sequence[str], *, intersections: bool) -> list[tuple[str, ...]]:
    """Each attribute by itself, then all of them crossed."""
    sets: list[tuple[str, ...]] = [(name,) for name in names]
    if intersections and len(names) > 1:
        sets.append(tuple(names))
    return sets


def set_references(reference: Any, sets: Sequence[tuple[str, ...]]) -> dict[tuple[str, ...], Hashable | None]:
    """Reference group per set of attributes.

    Parameters
    ----------
    reference : hashable, mapping or None
        A group; or, for several attributes, a mapping from column (or ``"a & b"`` for the intersection) to
        group. The intersection takes the references of its columns where all are named.
    sets : sequence of tuple of str

    Raises
    ------
    InputError
        If one group is named for several attributes, or the mapping names an unknown column.
    """
    if reference is None or (isinstance(reference, str) and reference in REFERENCE_RULES):
        return dict.fromkeys(sets, reference)
    keys = {INTERSECTION.join(names): names for names in sets}
    if not isinstance(reference, Mapping):
        if len(sets) > 1:
            raise InputError(
                "reference",
                got=f"{reference!r} for {len(sets)} sets of groups ({', '.join(map(repr, keys))})",
                allowed="a mapping from sensitive column to its reference group, 'largest' or 'highest'",
                cure=f"reference={{{sets[0][0]!r}: {reference!r}, …}}",
            )
        return {sets[0]: reference}
    unknown = [key for key in reference if key not in keys]
    if unknown:
        raise InputError(
            "reference",
            got=f"a mapping with {', '.join(map(repr, unknown))}",
            allowed=f"the keys {', '.join(map(repr, keys))}",
            cure="name each sensitive column and its reference group",
        )
    found: dict[tuple[str, ...], Hashable | None] = {}
    for key, names in keys.items():
        parts = tuple(reference.get(name) for name in names)
        crossed = len(names) > 1 and all(p is not None and p not in REFERENCE_RULES for p in parts)
        found[names] = reference.get(key, parts if crossed else None)
    return found


def build_input(
    frame: pd.DataFrame,
    attributes: tuple[str, ...],
    columns: AuditColumns,
    settings: AuditSettings,
    *,
    pos_label: Any,
    reference: Hashable | None,
) -> AuditInput:
    """Validate the rows of one set of attributes and count them.

    Raises
    ------
    InputError
        Where a column cannot be used, or there is only one group.
    """

    def column(name: str | None) -> Any:
        return None if name is None else frame[name]

    outcomes = Outcomes.from_arrays(
        column(columns.y_true),
        column(columns.y_pred),
        sensitive_features={name: frame[name] for name in attributes},
        score=column(columns.score),
        sample_weight=column(columns.sample_weight),
        cluster=column(columns.cluster),
        pos_label=pos_label,
        missing=settings.missing,  # type: ignore[arg-type]
    )
    groups = outcomes.groups.labels
    if len(groups) < 2:
        raise InputError(
            "sensitive_features",
            got=f"one group ({groups[0]!r}) in {INTERSECTION.join(attributes)!r}",
            allowed="two groups or more",
            cure="choose a column with several values",
        )
    kept = slice(None) if outcomes.kept is None else outcomes.kept
    features = frame[list(columns.features)].iloc[kept].reset_index(drop=True) if columns.features else None
    changed = columns.counterfactual_scores.get(attributes[0]) if len(attributes) == 1 else None
    return AuditInput(
        attributes,
        outcomes,
        count(outcomes, columns),
        columns,
        settings,
        reference,
        features,
        None if changed is None else _scores(frame[changed], changed)[kept],
    )


def _scores(column: Any, name: str) -> NDArray[np.float64]:
    scores = as_float_column(column, name)
    missing = int(np.isnan(scores).sum())
    if missing:
        raise InputError(
            "counterfactual_score",
            got=f"{missing:,} missing values in {name!r}",
            allowed="a score in [0, 1] for every row",
            cure="score every row with the other value of the attribute",
        )
    check_probability(scores, name)
    return scores


def count(outcomes: Outcomes, columns: AuditColumns) -> CellCounts:
    """Confusion counts, or counts of the one binary column that is there."""
    if columns.y_true is not None and columns.y_pred is not None:
        return ConfusionCounts.from_outcomes(outcomes)
    if columns.y_pred is not None:
        return SelectionCounts.from_outcomes(outcomes)
    patterns = tuple((g, -1, label, n) for g, label, _, n in outcomes.missing.patterns)
    missing = replace(outcomes.missing, patterns=patterns)
    return SelectionCounts.from_outcomes(replace(outcomes, y_pred=outcomes.y_true, missing=missing))


def reference_text(reference: Hashable | None) -> str:
    """Text of a reference as it was asked for."""
    if reference is None:
        return "largest"
    if isinstance(reference, tuple):
        return INTERSECTION.join(map(label_text, reference))
    return label_text(reference)
