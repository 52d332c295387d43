"""What was asked of an audit, and what its sections receive: columns, choices, counts."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import check_choice, check_confidence_level, check_names, check_number, check_whole
from fairstats.ground.counts import CellCounts, ConfusionCounts, SelectionCounts
from fairstats.ground.encoding import as_float_column, label_text
from fairstats.ground.errors import InputError
from fairstats.ground.groups import INTERSECTION
from fairstats.ground.lazy import pd
from fairstats.ground.outcomes import Outcomes, check_changed, check_probability
from fairstats.ground.scores import ScoreCounts
from fairstats.ground.serialise import serialisable
from fairstats.ground.tally import Tally, tally
from fairstats.methods.madd.mitigation import MitigationResult
from fairstats.methods.rates.models.work import ModelRows
from fairstats.report.columns import AuditColumns

#: `method=` of an audit → method of the differences that goes with it.
AUDIT_METHODS: dict[str | None, str | None] = {
    None: None, "log": None, "score": "score", "koopman": "mee", "delta": "delta", "bootstrap": "bootstrap"
}  # fmt: skip


@serialisable()
class AuditSettings:
    """The choices of an audit.

    `confidence_level`: level of the intervals; verdicts use one-sided bounds at this level; `threshold`: ratio that
    separates violated from satisfied; `margin`: size of a difference that separates them; `method`: interval method;
    None takes the default of every metric; `simultaneous`, {None, "bonferroni", "max-z"}; `comparisons`, {"reference",
    "all"}; `adjust`: adjustment of p-values within one metric; `family`, {"metric", "audit"}: what p-values are
    adjusted over; `missing`, {"raise", "drop", "group"}; `evaluated_on`, {None, "training", "held-out"}: whether the
    rows were used in training; None: not stated; `references`: reference asked for, per set of attributes;
    `n_resamples`: bootstrap resamples; None takes the default of every metric; `seed`: of everything random.
    """

    confidence_level: float = 0.95
    threshold: float = 0.8
    margin: float = 0.1
    method: str | None = None
    simultaneous: str | None = None
    comparisons: str = "reference"
    adjust: str = "holm"
    family: str = "metric"
    missing: str = "raise"
    evaluated_on: str | None = None
    references: dict[str, str] = field(default_factory=dict)
    n_resamples: int | None = None
    seed: int | None = None

    def __post_init__(self) -> None:
        check_confidence_level(self.confidence_level)
        check_choice("method", self.method, AUDIT_METHODS)
        check_choice("family", self.family, ("metric", "audit"))
        check_choice("missing", self.missing, ("raise", "drop", "group"))
        check_choice("evaluated_on", self.evaluated_on, (None, "training", "held-out"))
        cure = "0.8 is the four-fifths rule; the margin of differences is margin="
        allowed = "a ratio above 0 and at most 1"
        check_number("threshold", self.threshold, low=0, high=1, open_low=True, allowed=allowed, cure=cure)
        if self.n_resamples is not None:
            check_whole("n_resamples", self.n_resamples, low=100, cure="9999, say")


#: A reference that is a rule, not the name of a group.
REFERENCE_RULES = ("largest", "highest")


@dataclass(frozen=True, eq=False)
class AuditInput:
    """One set of sensitive attributes with everything that the columns give.

    `attributes`: the sensitive columns whose values, crossed, are the groups; `outcomes`: validated rows, for
    methods that need rows; None where a tally is audited; `counts`: confusion counts where labels and
    predictions are there; otherwise selected = favourable value of the one that is; `reference`: reference
    group of this set, or a rule; `features`: features of the rows in `outcomes`, numbered from 0;
    `counterfactual_score`, shape (n,): score of the same rows with another value of the one sensitive
    attribute; `tally`: what is audited where there are no rows; `models`: rows with what several models
    predict; `mitigation`: what a mitigation was found to change for these groups.
    """

    attributes: tuple[str, ...]
    outcomes: Outcomes | None
    counts: CellCounts
    columns: AuditColumns
    settings: AuditSettings
    reference: Hashable | None = None
    features: pd.DataFrame | None = None
    counterfactual_score: NDArray[np.float64] | None = None
    tally: Tally | None = None
    models: ModelRows | None = None
    mitigation: MitigationResult | None = None

    @property
    def rows(self) -> Outcomes:
        """The validated rows."""
        if self.outcomes is None:
            raise TypeError("a tally has no rows")
        return self.outcomes

    @property
    def score_counts(self) -> ScoreCounts:
        """Rows per group, label and score."""
        if self.tally is not None:
            return self.tally.histogram()
        return ScoreCounts.from_outcomes(self.rows, labelled=self.has_labels)

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


def set_references(reference: Any, sets: Sequence[tuple[str, ...]]) -> dict[tuple[str, ...], Hashable | None]:
    """Reference group per set of attributes.

    `reference`: a group; or, for several attributes, a mapping from column (or ``"a & b"`` for the
    intersection) to group. The intersection takes the references of its columns where all are named. Raises
    InputError if one group is named for several attributes, or the mapping names an unknown column.
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
    check_names("reference", reference, keys, cure="name each sensitive column and its reference group")
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
    """Validate the rows of one set of attributes and count them."""
    given: dict[str, Any] = {role: frame[name] for role, name in columns.roles.items()}
    changed = columns.counterfactual_scores.get(attributes[0]) if len(attributes) == 1 else None
    if changed is not None and settings.missing == "drop":
        # a row lacks its score where it lacks either of the two
        given["score"] = given["score"].where(frame[changed].notna())
    outcomes = Outcomes.from_arrays(
        sensitive_features={name: frame[name] for name in attributes},
        pos_label=pos_label,
        missing=settings.missing,  # type: ignore[arg-type]
        **given,
    )
    _check_groups(outcomes.groups.labels, attributes)
    kept = slice(None) if outcomes.kept is None else outcomes.kept
    features = frame[list(columns.features)].iloc[kept].reset_index(drop=True) if columns.features else None
    return AuditInput(
        attributes, outcomes, _count(outcomes, columns), columns, settings, reference, features,
        None if changed is None else _scores(frame[changed].iloc[kept], changed),
        models=_models(frame, attributes, columns, settings, pos_label),
    )  # fmt: skip


def _models(
    frame: pd.DataFrame, attributes: tuple[str, ...], columns: AuditColumns, settings: AuditSettings, pos_label: Any
) -> ModelRows | None:
    """The rows with the predictions and scores of all models; None where there is one."""
    if not (columns.models or columns.model_scores):
        return None
    units = {role: frame[name] for role, name in columns.roles.items() if role in ("sample_weight", "cluster")}
    options = {
        "sensitive_features": {name: frame[name] for name in attributes}, "pos_label": pos_label,
        "missing": settings.missing, **units,
    }  # fmt: skip
    predictions, scores = (
        {model: frame[column] for model, column in by_model.items()}
        for by_model in (columns.models, columns.model_scores)
    )
    y_true = None if columns.y_true is None else frame[columns.y_true]
    return ModelRows.read(y_true, predictions, scores, options)


def tally_input(
    counted: Tally,
    attributes: tuple[str, ...],
    columns: AuditColumns,
    settings: AuditSettings,
    reference: Hashable | None,
) -> AuditInput:
    """What the sections receive of one set of attributes of a tally."""
    own = counted.by(*attributes)
    _check_groups(own.groups, attributes)
    both = columns.y_true is not None and columns.y_pred is not None
    cells: CellCounts = own.confusion() if both and not own.of_labels else own.selection()
    return AuditInput(attributes, None, cells, columns, settings, reference, tally=own)


def engine_inputs(
    lazy: Any,
    columns: AuditColumns,
    settings: AuditSettings,
    references: Mapping[tuple[str, ...], Hashable | None],
    pos_label: Any,
) -> list[AuditInput]:
    """What the sections receive of a lazy table: one tally, with all attributes crossed, serves every set.

    A set with counterfactual scores has a tally of its own, and so has every set where rows are left out:
    those that lack another attribute count in it, and groups are ordered by size before rows are left out.
    """
    roles = ("y_true", "y_pred", "score", "sample_weight", "cluster", "features")
    asked = {role: getattr(columns, role) for role in roles}
    asked |= {"pos_label": pos_label, "missing": settings.missing}
    every = columns.sensitive_features
    crossed = tally(lazy, sensitive_features=every, **asked)
    apart = crossed.missing.n_dropped > 0
    inputs = []
    for names, reference in references.items():
        own, changed = crossed, columns.counterfactual_scores.get(names[0]) if len(names) == 1 else None
        if changed is not None or (apart and names != every):
            own = tally(lazy, sensitive_features=names, counterfactual_score=changed, **asked)
        inputs.append(tally_input(own, names, columns, settings, reference))
    return inputs


def _check_groups(groups: Sequence[str], attributes: Sequence[str]) -> None:
    if len(groups) < 2:
        got = f"one group ({groups[0]!r}) in {INTERSECTION.join(attributes)!r}"
        cure = "choose a column with several values"
        raise InputError("sensitive_features", got=got, allowed="two groups or more", cure=cure)


def _scores(column: Any, name: str) -> NDArray[np.float64]:
    scores = as_float_column(column, name)
    check_changed(int(np.isnan(scores).sum()), name)
    check_probability(scores, name)
    return scores


def _count(outcomes: Outcomes, columns: AuditColumns) -> CellCounts:
    """Confusion counts, or counts of the one binary column that is there."""
    if columns.y_true is not None and columns.y_pred is not None:
        return ConfusionCounts.from_outcomes(outcomes)
    if columns.y_pred is None:
        patterns = tuple((g, -1, label, n) for g, label, _, n in outcomes.missing.patterns)
        missing = replace(outcomes.missing, patterns=patterns)
        outcomes = replace(outcomes, y_pred=outcomes.y_true, missing=missing)
    return SelectionCounts.from_outcomes(outcomes)


def reference_text(reference: Hashable | None) -> str:
    """Text of a reference as it was asked for."""
    if reference is None:
        return "largest"
    if isinstance(reference, tuple):
        return INTERSECTION.join(map(label_text, reference))
    return label_text(reference)
