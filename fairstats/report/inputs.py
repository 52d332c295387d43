"""What was asked of an audit, and what its sections receive: columns, choices, counts."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import (
    check_choice,
    check_confidence_level,
    check_given,
    check_names,
    check_number,
    check_that,
    check_type,
    check_whole,
    column_name,
)
from fairstats.ground.columns import check_score_range
from fairstats.ground.counts import (
    CellCounts,
    ConfusionCounts,
    PairedCounts,
    SelectionCounts,
    SizeCounts,
)
from fairstats.ground.encoding import as_float_column, as_frame_columns, declared_labels
from fairstats.ground.engines.sources import as_lazy
from fairstats.ground.errors import DataWarning, InputError, caution
from fairstats.ground.groups import INTERSECTION
from fairstats.ground.lazy import pd
from fairstats.ground.outcomes import Outcomes, check_changed, on_unit_interval
from fairstats.ground.reading.roles import Roles
from fairstats.ground.scores import ScoreCounts
from fairstats.ground.serialise import serialisable
from fairstats.ground.strata import StratumCounts
from fairstats.ground.tallies.classes import ClassCounts
from fairstats.ground.tallies.moments import MomentCounts, numbers_of_outcome
from fairstats.ground.tallies.stratum_moments import StratumMoments
from fairstats.ground.tally import Tally, tally
from fairstats.ground.values import label_text, missing_rows
from fairstats.methods.madd.mitigation import MitigationResult
from fairstats.methods.rates.classes.strata import count_in_strata
from fairstats.methods.rates.models.work import ModelRows
from fairstats.methods.rates.setup import POOLED, RateArguments
from fairstats.methods.rates.subgroups import SubgroupResult

#: `method=` of an audit → method of the differences that goes with it.
AUDIT_METHODS: dict[str | None, str | None] = {
    None: None,
    "log": None,
    "score": "score",
    "koopman": "mee",
    "delta": "delta",
    "bootstrap": "bootstrap",
}
#: A reference that is a rule, not the name of a group.
_REFERENCE_RULES = ("largest", "highest")
References = Mapping[tuple[str, ...], Hashable | None]


@serialisable()
class AuditSettings:
    """The choices of an audit.

    `confidence_level`: level of the intervals; verdicts use one-sided bounds at this level;
    `threshold`: ratio that separates violated from satisfied; `margin`: size of a difference that
    separates them; `method`: interval method; None takes the default of every metric;
    `simultaneous`, {None, "bonferroni", "max-z"}; `comparisons`, {"reference", "all", "rest",
    "overall"}; `adjust`: adjustment of p-values within one metric; `family`, {"metric", "audit"}: what p-values are
    adjusted over; `missing`, {"raise", "drop", "group"}; `evaluated_on`, {None, "training",
    "held-out"}: whether the rows were used in training; None: not stated; `references`: reference
    asked for, per set of attributes; `n_resamples`: bootstrap resamples; None takes the default of
    every metric; `seed`: of everything random; `risks`: whether what goes along the scores is shown.
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
    risks: bool = False

    def __post_init__(self) -> None:
        check_confidence_level(self.confidence_level)
        check_choice("method", self.method, AUDIT_METHODS)
        check_choice("comparisons", self.comparisons, ("reference", "all", *POOLED))
        check_choice("family", self.family, ("metric", "audit"))
        check_choice("missing", self.missing, ("raise", "drop", "group"))
        check_choice("evaluated_on", self.evaluated_on, (None, "training", "held-out"))
        cure = "0.8 is the four-fifths rule; the margin of differences is margin="
        allowed = "a ratio above 0 and at most 1"
        check_number(
            "threshold",
            self.threshold,
            low=0,
            high=1,
            open_low=True,
            allowed=allowed,
            cure=cure,
        )
        if self.n_resamples is not None:
            check_whole("n_resamples", self.n_resamples, low=100, cure="9999, say")

    def _comparisons_among(self, *allowed: str) -> str:
        """The comparisons that were asked for where a method has them, else with the reference."""
        return self.comparisons if self.comparisons in allowed else "reference"

    @property
    def pooled(self) -> bool:
        """Whether each group is compared with several groups together."""
        return self.comparisons in POOLED

    def _check_pooled(self, reference: Any) -> None:
        """Raise where comparisons with pooled groups are asked with what they do not have."""
        if not self.pooled:
            return
        others = "all other rows" if self.comparisons == "rest" else "all rows"
        nothing = f"None: each group is compared with {others}"
        check_that(
            reference is None,
            "reference",
            reference,
            nothing,
            "leave it out; what has no such comparison takes the largest group",
        )
        check_that(
            self.simultaneous != "max-z",
            "simultaneous",
            self.simultaneous,
            f'None or "bonferroni" with comparisons="{self.comparisons}", whose groups overlap',
            'simultaneous="bonferroni"',
        )
        if self.comparisons == "overall":
            check_choice(
                "method", self.method, (None, "score"), cure='leave it out, or comparisons="rest"'
            )


@serialisable()
class AuditColumns:
    """Names of the columns, by what they hold.

    `y_true`, `y_pred`, `score`: outcome, prediction, score; `pos_label_true`, `pos_label_pred`: the
    favourable value of outcome and prediction, as text; None where 1 or True speaks for itself;
    `features`: features of the rows, for distances between sets; `circumstances`: columns that may
    explain a gap; `counterfactual_scores`: sensitive
    column → column of the score that the row would have with another value of it; `models`,
    `model_scores`: of several models, name → column of the predictions, and of the scores; `y_pred`
    and `score` are those of the first; `label_values`: ``"y_true"``, ``"y_pred"`` → the labels that
    may occur, where they were declared; `strata`: of a confounder; `outcome`, `predicted`: an
    outcome that is a number, and its prediction; `score_range`: scale of the scores, its worse end
    first; `subgroups`: columns whose crossings are compared with the rest; `subgroup_cuts`: those
    of them that are numbers, and are cut; `sensitive_probabilities`: group → column of its
    probabilities, where groups are inferred.
    """

    y_true: str | None
    y_pred: str | None
    score: str | None
    sensitive_features: tuple[str, ...]
    sample_weight: str | None = None
    cluster: str | None = None
    strata: str | None = None
    pos_label_true: str | None = None
    pos_label_pred: str | None = None
    features: tuple[str, ...] = ()
    circumstances: tuple[str, ...] = ()
    counterfactual_scores: dict[str, str] = field(default_factory=dict)
    models: dict[str, str] = field(default_factory=dict)
    model_scores: dict[str, str] = field(default_factory=dict)
    label_values: dict[str, tuple[str, ...]] = field(default_factory=dict)
    outcome: str | None = None
    predicted: str | None = None
    score_range: tuple[float, float] = (0.0, 1.0)
    subgroups: tuple[str, ...] = ()
    subgroup_cuts: tuple[str, ...] = ()
    sensitive_probabilities: dict[str, str] = field(default_factory=dict)

    @property
    def number_roles(self) -> dict[str, str]:
        """Argument → column, of an outcome that is a number and its prediction."""
        columns = {"outcome": self.outcome, "predicted": self.predicted}
        result: dict[str, str] = {}
        for role, column in columns.items():
            if column is not None:
                result[role] = column
        return result

    @property
    def has_model(self) -> bool:
        """Whether anything is audited that a model may have said, and not outcomes alone."""
        said = (self.y_pred, self.score, self.predicted)
        return any(column is not None for column in said)

    @cached_property
    def roles(self) -> dict[str, str]:
        """Argument of the methods → the column that was named for it."""
        roles = ("y_true", "y_pred", "score", "sample_weight", "cluster", "strata")
        result: dict[str, str] = {}
        for role in roles:
            if getattr(self, role) is not None:
                result[role] = getattr(self, role)
        return result

    @property
    def names(self) -> list[str]:
        """Every column that the audit reads, each once."""
        others = (
            *self.circumstances,
            *self.counterfactual_scores.values(),
            *self.models.values(),
            *self.model_scores.values(),
            *self.number_roles.values(),
        )
        return list(
            dict.fromkeys((*self.roles.values(), *self.sensitive_features, *self.features, *others))
        )

    @property
    def _reading_roles(self) -> Roles:
        """What the columns are read as from a file."""
        labels = (
            *self.sensitive_features,
            self.y_true,
            self.y_pred,
            *self.models.values(),
            self.cluster,
            self.strata,
            *(name for name in self.subgroups if name not in self.subgroup_cuts),
        )
        scores = (self.score, *self.model_scores.values(), *self.counterfactual_scores.values())
        numbers = (
            *scores,
            self.sample_weight,
            *self.number_roles.values(),
            *self.subgroup_cuts,
        )
        return Roles.of(labels, numbers, (*self.features, *self.circumstances))


# ---------------------------------------------------------------- names as they were given, or as a
# tally knows them


def columns_of_frame(
    roles: Mapping[str, Any],
    sensitive_features: Any,
    features: Any,
    counterfactual_score: Any,
    pos_label: Any,
    label_values: Any = None,
    score_range: Any = (0.0, 1.0),
) -> AuditColumns:
    """The names of the columns, checked; `roles` are those of `AuditColumns.roles`."""
    names = _attribute_names(sensitive_features)
    models, scores = (_by_model(role, roles[role]) for role in ("y_pred", "score"))
    first = next(iter(models or scores), "")
    roles = {**roles, **({"y_pred": models[first]} if models else {})}
    roles |= {"score": scores.get(first)} if scores else {}
    labels = _pos_labels(pos_label)
    if roles["predicted"] is not None:
        check_given("outcome", roles["outcome"], "the outcome of the same rows")
    names_of_roles: dict[str, Any] = {}
    for role, name in roles.items():
        names_of_roles[role] = column_name(role, name)
    for name, label in labels.items():
        if roles[name.replace("pos_label", "y")] is not None:
            names_of_roles[name] = label
    return AuditColumns(
        **names_of_roles,
        sensitive_features=names,
        features=_feature_names(features),
        models=models,
        model_scores=scores,
        counterfactual_scores=_counterfactual_columns(counterfactual_score, names, roles["score"]),
        label_values=_label_values(label_values, roles),
        score_range=check_score_range(score_range),
        sensitive_probabilities={},
    )


def columns_of_tally(counted: Tally, sensitive_features: Any, asked: Iterable[Any]) -> AuditColumns:
    """What a tally counted, by the names that its columns had.

    Names that were asked for beside it are an error, but for a choice of attributes.
    """
    if any(name is not None for name in asked):
        allowed = "a Tally alone: what it counted is fixed"
        cure = "leave the columns out, or pass the rows"
        raise InputError("frame", got="a Tally, and names of columns", allowed=allowed, cure=cure)
    names = counted.columns
    scores = counted.scores
    confusion = isinstance(counted.cells, (ConfusionCounts, PairedCounts))
    if counted.classes is not None:
        confusion = counted.classes.labelled
    has_labels = counted.cells is not None or counted.classes is not None
    present: dict[str, Any] = {
        "y_true": confusion or counted.of_labels or (scores is not None and scores.labelled),
        "y_pred": confusion or (has_labels and not counted.of_labels),
        "score": scores is not None,
    }
    columns_found: dict[str, Any] = {}
    for role, known in present.items():
        columns_found[role] = names.get(role, role) if known else None
    columns_found |= {
        role: names.get(role)
        for role in ("sample_weight", "cluster", "pos_label_true", "pos_label_pred")
    }
    if counted.moments is not None:
        columns_found["outcome"] = names.get("outcome", "outcome")
        if len(counted.moments.columns) > 1:
            columns_found["predicted"] = names.get("predicted", "predicted")
    columns_found["strata"] = counted.attributes[-1] if counted.stratified else None
    changed = names.get("counterfactual_score", "counterfactual_score")
    return AuditColumns(
        **columns_found,
        sensitive_features=(
            counted.sensitive
            if sensitive_features is None
            else _attribute_names(sensitive_features)
        ),
        features=() if counted.distinct is None else counted.distinct.columns,
        counterfactual_scores=(
            {} if counted.tails is None else dict.fromkeys(counted.sensitive[:1], changed)
        ),
    )


def _attribute_names(sensitive_features: Any) -> tuple[str, ...]:
    if isinstance(sensitive_features, str):
        names = (sensitive_features,)
    else:
        names = sensitive_features
    if (
        not isinstance(names, (list, tuple))
        or not names
        or not all(isinstance(n_rows, str) for n_rows in names)
    ):
        got = f"{type(sensitive_features).__name__} {sensitive_features!r}"[:120]
        cure = 'e.g. sensitive_features="sex" or ["sex", "race"]'
        allowed = "the name of a column of the frame, or a list of names"
        raise InputError("sensitive_features", got=got, allowed=allowed, cure=cure)
    named_once = len(set(names)) == len(names)
    check_that(
        named_once, "sensitive_features", list(names), "each column once", "leave out the repeat"
    )
    return tuple(names)


def _by_model(argument: str, columns_given: Any) -> dict[str, str]:
    """Model → column, of a mapping; of one column nothing."""
    if not isinstance(columns_given, Mapping):
        return {}
    cure = f'{argument}="column" for one model'
    check_that(
        len(columns_given) > 1,
        argument,
        dict(columns_given),
        "a mapping of two models or more",
        cure,
    )
    result: dict[str, str] = {}
    for model, column in columns_given.items():
        result[str(model)] = str(column_name(argument, column))
    return result


def _feature_names(features: Any, argument: str = "features") -> tuple[str, ...]:
    names = features
    if features is None:
        names = ()
    elif isinstance(features, str):
        names = (features,)
    allowed_words = "different names of columns of the frame", f'{argument}=["age", "income"]'
    several = isinstance(names, Iterable) and getattr(names, "ndim", 1) == 1
    check_that(several, argument, features, *allowed_words)
    feature_names = tuple(str(check_type(argument, name, str, *allowed_words)) for name in names)
    check_that(
        len(set(feature_names)) == len(feature_names), argument, feature_names, *allowed_words
    )
    return feature_names


def _counterfactual_columns(
    columns_given: Any, attributes: Sequence[str], score: str | None
) -> dict[str, str]:
    """Sensitive column → score column."""
    if columns_given is None:
        return {}
    if isinstance(columns_given, Mapping):
        columns_found = columns_given
    else:
        columns_found = {attributes[0]: columns_given}
    unknown = []
    for name in columns_found:
        if name not in attributes:
            unknown.append(name)
    if unknown or score is None or (not isinstance(columns_given, Mapping) and len(attributes) > 1):
        got = repr(columns_given) + (
            " without score" if score is None else f" for {', '.join(attributes)}"
        )
        allowed = (
            "with score: a column for one sensitive attribute, or a mapping from attribute to"
            " column"
        )
        cure = f"counterfactual_score={{{attributes[0]!r}: …}}, score=…"
        raise InputError("counterfactual_score", got=got, allowed=allowed, cure=cure)
    counterfactual_columns: dict[str, str] = {}
    for name, column in columns_found.items():
        counterfactual_columns[name] = str(column_name("counterfactual_score", column))
    return counterfactual_columns


def _pos_labels(pos_label: Any) -> dict[str, str | None]:
    """Favourable values of outcome and prediction as text, by field of `AuditColumns`."""
    if isinstance(pos_label, Mapping):
        by_column = pos_label
    else:
        by_column = {"y_true": pos_label, "y_pred": pos_label}
    unknown = set(by_column) - {"y_true", "y_pred"}
    if unknown:
        got = f"a mapping with {', '.join(sorted(map(repr, unknown)))}"
        allowed = "a mapping with the keys 'y_true' and 'y_pred', or one value"
        raise InputError(
            "pos_label",
            got=got,
            allowed=allowed,
            cure="name the favourable value of each",
        )
    values = {f"pos_label_{part}": by_column.get(f"y_{part}") for part in ("true", "pred")}
    pos_labels: dict[str, str | None] = {}
    for name, value in values.items():
        pos_labels[name] = None if value is None else label_text(value)
    return pos_labels


def _label_values(label_values: Any, roles: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """The labels that may occur as text, by the argument of their column."""
    declared = declared_labels(label_values, y_true=None, y_pred=None)
    columns_named = {}
    for argument, values in declared.items():
        if roles[argument] is not None:
            columns_named[argument] = values
    result: dict[str, tuple[str, ...]] = {}
    for argument, values in columns_named.items():
        if values is not None:
            result[argument] = tuple(map(label_text, values))
    return result


def check_outcomes(y_true: Any, y_pred: Any, number: Any = None) -> None:
    """Raise where there is neither a prediction nor an outcome, nor a column of numbers."""
    if y_true is None and y_pred is None and number is None:
        raise InputError(
            "y_pred",
            got="None for both y_true and y_pred",
            allowed="the column of the predictions, of the outcomes, or both",
            cure="name at least one of them, or compare a number: outcome= of an audit, fs.means",
        )


def set_references(
    reference: Any, sets: Sequence[tuple[str, ...]]
) -> dict[tuple[str, ...], Hashable | None]:
    """Reference group per set of attributes.

    `reference`: a group; or, for several attributes, a mapping from column (or ``"a & b"`` for the
    intersection) to group. The intersection takes the references of its columns where all are
    named. Raises InputError if one group is named for several attributes, or the mapping names an
    unknown column.
    """
    if reference is None or (isinstance(reference, str) and reference in _REFERENCE_RULES):
        return dict.fromkeys(sets, reference)
    keys = {INTERSECTION.join(names): names for names in sets}
    if not isinstance(reference, Mapping):
        if len(sets) > 1:
            got = f"{reference!r} for {len(sets)} sets of groups ({', '.join(map(repr, keys))})"
            allowed = (
                "a mapping from sensitive column to its reference group, 'largest' or 'highest'"
            )
            cure = f"reference={{{sets[0][0]!r}: {reference!r}, …}}"
            raise InputError("reference", got=got, allowed=allowed, cure=cure)
        return {sets[0]: reference}
    check_names(
        "reference", reference, keys, cure="name each sensitive column and its reference group"
    )
    by_set: dict[tuple[str, ...], Hashable | None] = {}
    for key, names in keys.items():
        parts = tuple(reference.get(name) for name in names)
        crossed = len(names) > 1 and all(
            part is not None and part not in _REFERENCE_RULES for part in parts
        )
        by_set[names] = reference.get(key, parts if crossed else None)
    return by_set


def reference_text(reference: Hashable | None) -> str:
    """Text of a reference as it was asked for."""
    if reference is None:
        return "largest"
    return INTERSECTION.join(
        map(label_text, reference if isinstance(reference, tuple) else (reference,))
    )


# ---------------------------------------------------------------- what the sections receive


@dataclass(frozen=True, eq=False)
class AuditInput:
    """One set of sensitive attributes with everything that the columns give.

    `attributes`: the sensitive columns whose values, crossed, are the groups; `outcomes`: validated
    rows, for methods that need rows; None where a tally is audited; `counts`: confusion counts
    where labels and predictions are there; otherwise selected = favourable value of the one that
    is; `reference`: reference group of this set, or a rule; `features`: features of the rows in
    `outcomes`, numbered from 0; `circumstances`: of the same rows, what may explain a gap;
    `counterfactual_score`, shape (n,): score of the same rows with
    another value of the one sensitive attribute; `tally`: what is audited where there are no rows,
    `crossed_tally` the same within strata;
    `models`: rows with what several models predict; `mitigation`: what a mitigation was found to
    change for these groups; `strata`: the cells within strata; `moments`: of an outcome that is a
    number, and of the errors of its prediction; `stratum_moments`: these within strata;
    `subgroups`: what was found for crossings of columns.
    """

    attributes: tuple[str, ...]
    outcomes: Outcomes | None
    counts: CellCounts
    columns: AuditColumns
    settings: AuditSettings
    reference: Hashable | None = None
    features: pd.DataFrame | None = None
    circumstances: pd.DataFrame | None = None
    counterfactual_score: NDArray[np.float64] | None = None
    tally: Tally | None = None
    crossed_tally: Tally | None = None
    models: ModelRows | None = None
    mitigation: MitigationResult | None = None
    strata: StratumCounts | None = None
    moments: MomentCounts | None = None
    stratum_moments: StratumMoments | None = None
    subgroups: tuple[SubgroupResult, ...] = ()

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
        return ScoreCounts._from_outcomes(self.rows, labelled=self.has("y_true"))

    def has(self, *roles: str) -> bool:
        """Whether a column was given for each of these roles; labels of several classes are none
        that divide people into two.
        """
        known_roles = self.columns.roles
        if isinstance(self.counts, ClassCounts):
            known_roles = {
                role: name for role, name in known_roles.items() if role not in ("y_true", "y_pred")
            }
        return all(role in known_roles for role in roles)


def lacks_rows(inputs: AuditInput, what: str, *, weights_too: bool = False) -> bool:
    """Whether a tally of clusters is asked for what needs their rows: then a warning says so.

    `what`: that is not computed; `weights_too`: whether it needs those of weighted rows as well.
    """
    if inputs.outcomes is not None:
        return False
    if inputs.counts.clustered:
        kind = "clusters"
    elif weights_too and inputs.counts.weighted:
        kind = "weighted rows"
    else:
        return False
    reason = f"{what} of {kind} is not computed from a tally, which does not keep them"
    caution(f"{reason}: pass the rows, or engine='rows'.", DataWarning)
    return True


def read_inputs(
    frame: Any,
    columns: AuditColumns,
    settings: AuditSettings,
    references: References,
    pos_label: Any,
    engine: str,
) -> list[AuditInput]:
    """What the sections receive of each set of attributes, the keys of `references`."""
    if isinstance(frame, Tally):
        result: list[AuditInput] = []
        for attributes, of_set in references.items():
            result.append(_tally_input(frame, attributes, columns, settings, of_set))
        return result
    if (lazy_table := as_lazy(frame, engine)) is not None:
        if columns.models or columns.model_scores:
            got = "several models of a lazy table"
            cure = "engine='rows' reads all rows"
            raise InputError("y_pred", got=got, allowed="rows in memory", cure=cure)
        with_circumstances(columns, columns.circumstances, has_rows=False)
        return _lazy_inputs(lazy_table, columns, settings, references, pos_label)
    table = as_frame_columns(frame, columns.names, "frame")
    if table.empty:
        raise InputError("frame", got="0 rows", allowed="at least one row", cure="pass data")
    inputs: list[AuditInput] = []
    for attributes, of_set in references.items():
        inputs.append(
            build_input(table, attributes, columns, settings, pos_label=pos_label, reference=of_set)
        )
    return inputs


def _with_scores_on_unit(frame: pd.DataFrame, columns: AuditColumns) -> pd.DataFrame:
    """The rows with every score on the scale from 0 to 1, where another one was named."""
    if columns.score_range == (0.0, 1.0):
        return frame
    worse_end, better_end = columns.score_range
    named = (columns.score, *columns.model_scores.values(), *columns.counterfactual_scores.values())
    scaled = {}
    for name in named:
        if name is not None:
            scores = as_float_column(frame[name], name)
            scaled[name] = (scores - worse_end) / (better_end - worse_end)
    return frame.assign(**scaled)


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
    frame = _with_scores_on_unit(frame, columns)
    columns_given: dict[str, Any] = {role: frame[name] for role, name in columns.roles.items()}
    options: dict[str, Any] = {
        "sensitive_features": {name: frame[name] for name in attributes},
        "pos_label": pos_label,
        "missing": settings.missing,
        "label_values": columns.label_values or None,
    }
    changed = columns.counterfactual_scores.get(attributes[0]) if len(attributes) == 1 else None
    if changed is not None and settings.missing == "drop":
        # a row lacks its score where it lacks either of the two
        columns_given["score"] = columns_given["score"].where(
            ~missing_rows(frame[changed], changed)
        )
    described = list(dict.fromkeys((*columns.features, *columns.circumstances)))
    number_columns = {role: frame[name] for role, name in columns.number_roles.items()}
    outcomes = Outcomes.from_arrays(
        **options,
        **columns_given,
        features=frame[described] if described else None,
        numbers=number_columns,
        classes=None,
    )
    _check_groups(outcomes.groups.labels, attributes)
    models = None
    if columns.models or columns.model_scores:
        predictions = {model: frame[name] for model, name in columns.models.items()}
        scores = {model: frame[name] for model, name in columns.model_scores.items()}
        arguments = RateArguments(
            **options,
            sample_weight=columns_given.get("sample_weight"),
            cluster=columns_given.get("cluster"),
        )
        models = ModelRows.read(columns_given.get("y_true"), predictions, scores, arguments)
    counts = _count_cells(outcomes, columns)
    strata = None
    if columns.strata is not None and not isinstance(counts, SizeCounts):
        strata = _cells_within_strata(outcomes, counts, columns.strata)
    moments = None
    stratum_moments = None
    if outcomes.numbers:
        numbers = numbers_of_outcome(outcomes.numbers)
        moments = MomentCounts._from_outcomes(outcomes, numbers)
        if columns.strata is not None:
            stratum_moments = StratumMoments._from_outcomes(outcomes, numbers, columns.strata)
    kept_rows: Any = slice(None)
    if outcomes.kept is not None:
        kept_rows = outcomes.kept
    return AuditInput(
        attributes=attributes,
        outcomes=outcomes.without_classes(),
        counts=counts,
        columns=columns,
        settings=settings,
        reference=reference,
        features=_kept_columns(frame, columns.features, kept_rows),
        circumstances=_kept_columns(frame, columns.circumstances, kept_rows),
        counterfactual_score=None
        if changed is None
        else _read_scores(frame[changed].iloc[kept_rows], changed),
        models=models,
        strata=strata,
        moments=moments,
        stratum_moments=stratum_moments,
    )


def _kept_columns(
    frame: pd.DataFrame, names: tuple[str, ...], kept_rows: Any
) -> pd.DataFrame | None:
    """These columns of the rows that are kept, numbered from 0; None for none."""
    if not names:
        return None
    kept: pd.DataFrame = frame[list(names)].iloc[kept_rows].reset_index(drop=True)
    return kept


def with_circumstances(columns: AuditColumns, asked: Any, *, has_rows: bool) -> AuditColumns:
    """The columns of an audit with those that may explain a gap; they need rows."""
    names = _feature_names(asked, "circumstances")
    if names and not has_rows:
        raise InputError(
            "circumstances",
            got="circumstances beside counts, or a table that an engine counts",
            allowed="rows: a gap given circumstances is found by a regression",
            cure="pass the rows, or engine='rows'",
        )
    return replace(columns, circumstances=names)


def _cells_within_strata(outcomes: Outcomes, counts: CellCounts, attribute: str) -> StratumCounts:
    """The cells of the audit, of two labels or of several classes, in every stratum."""
    if isinstance(counts, ClassCounts):
        return count_in_strata(outcomes, attribute)
    if outcomes.y_pred is None:
        outcomes = replace(outcomes, y_pred=outcomes.y_true)
    return StratumCounts._from_outcomes(outcomes, type(counts), attribute)


def _tally_input(
    counted: Tally,
    attributes: tuple[str, ...],
    columns: AuditColumns,
    settings: AuditSettings,
    reference: Any,
) -> AuditInput:
    """What the sections receive of one set of attributes of a tally."""
    of_set = counted.by(*attributes)
    _check_groups(of_set.groups, attributes)
    both = columns.y_true is not None and columns.y_pred is not None
    cells: CellCounts
    if of_set.classes is not None:
        cells = of_set.of_classes()
    elif of_set.cells is None and of_set.moments is not None:
        cells = _sizes_of_moments(of_set.numbers(), attributes)
    elif both and not of_set.of_labels:
        cells = of_set.confusion()
    else:
        cells = of_set.selection()
    strata = None
    stratum_moments = None
    within_strata = None
    if counted.stratified:
        within_strata = counted.by(*attributes, counted.attributes[-1])
        if not isinstance(cells, SizeCounts):
            strata = within_strata.strata()
        if within_strata.moments is not None:
            stratum_moments = within_strata.stratum_numbers()
        if isinstance(cells, SelectionCounts) and strata is not None:
            strata = strata.selection()
    return AuditInput(
        attributes=attributes,
        outcomes=None,
        counts=cells,
        columns=columns,
        settings=settings,
        reference=reference,
        tally=of_set,
        crossed_tally=within_strata,
        strata=strata,
        moments=None if of_set.moments is None else of_set.numbers(),
        stratum_moments=stratum_moments,
    )


def _sizes_of_moments(moments: MomentCounts, attributes: tuple[str, ...]) -> SizeCounts:
    """Rows per group of a tally that counted numbers and no labels.

    No cluster of numbers lies in two groups, so that none scatters between them.
    """
    designed = moments.weighted or moments.clustered
    return SizeCounts(
        groups=moments.groups,
        totals=moments.weights[0][:, None],
        rows=moments.n[:, None],
        scatter=np.diag(moments.weights[1]) if designed else None,
        n_units=int(moments.units.sum()),
        clustered=moments.clustered,
        missing=moments.missing,
        attributes=attributes,
        group_units=moments.units,
    )


def _lazy_inputs(
    lazy_table: Any,
    columns: AuditColumns,
    settings: AuditSettings,
    references: References,
    pos_label: Any,
) -> list[AuditInput]:
    """What the sections receive of a lazy table.

    One tally, with all attributes crossed, serves every set.

    A set with counterfactual scores has a tally of its own, and so has every set where rows are
    left out: those that lack another attribute count in it, and groups are ordered by size before
    rows are left out.
    """
    roles = ("y_true", "y_pred", "score", "sample_weight", "cluster", "strata", "features")
    options = {role: getattr(columns, role) for role in roles}
    options |= columns.number_roles
    options |= {
        "score_range": columns.score_range,
        "pos_label": pos_label,
        "missing": settings.missing,
        "label_values": columns.label_values or None,
    }
    all_attributes = columns.sensitive_features
    options["classes"] = None
    crossed = tally(lazy_table, sensitive_features=all_attributes, **options)
    rows_left_out = crossed.missing.n_dropped > 0
    inputs = []
    for names, reference in references.items():
        of_set = crossed
        changed = columns.counterfactual_scores.get(names[0]) if len(names) == 1 else None
        if changed is not None or (rows_left_out and names != all_attributes):
            of_set = tally(
                lazy_table, sensitive_features=names, counterfactual_score=changed, **options
            )
        inputs.append(_tally_input(of_set, names, columns, settings, reference))
    return inputs


def _check_groups(groups: Sequence[str], attributes: Sequence[str]) -> None:
    if len(groups) < 2:
        got = f"one group ({groups[0]!r}) in {INTERSECTION.join(attributes)!r}"
        cure = "choose a column with several values"
        raise InputError("sensitive_features", got=got, allowed="two groups or more", cure=cure)


def _read_scores(column: Any, name: str) -> NDArray[np.float64]:
    scores = as_float_column(column, name)
    check_changed(int(np.isnan(scores).sum()), name)
    return np.asarray(on_unit_interval(scores, name))


def _count_cells(outcomes: Outcomes, columns: AuditColumns) -> CellCounts:
    """Confusion counts, or counts of the one binary column that is there; of classes all cells."""
    if outcomes.classes is not None:
        return ClassCounts._from_outcomes(outcomes)
    if columns.y_true is None and columns.y_pred is None:
        return SizeCounts._from_outcomes(outcomes)
    if columns.y_true is not None and columns.y_pred is not None:
        return ConfusionCounts._from_outcomes(outcomes)
    if columns.y_pred is None:
        patterns = tuple(
            (group_code, -1, label, n_rows)
            for group_code, label, _, n_rows in outcomes.missing.patterns
        )
        missing = replace(outcomes.missing, patterns=patterns)
        outcomes = replace(outcomes, y_pred=outcomes.y_true, missing=missing)
    return SelectionCounts._from_outcomes(outcomes)
