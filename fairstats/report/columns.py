"""The columns of an audit: names as they were given, checked, or as a tally knows them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from fairstats.ground.checks import check_that, check_type, column_name
from fairstats.ground.counts import ConfusionCounts, PairedCounts
from fairstats.ground.encoding import label_text
from fairstats.ground.errors import InputError
from fairstats.ground.serialise import serialisable
from fairstats.ground.tally import Tally


@serialisable()
class AuditColumns:
    """Names of the columns, by what they hold.

    `y_true`, `y_pred`, `score`: outcome, prediction, score; `pos_label_true`, `pos_label_pred`: the
    favourable value of outcome and prediction, as text; None where 1 or True speaks for itself; `features`:
    features of the rows, for distances between sets; `counterfactual_scores`: sensitive column → column of
    the score that the row would have with another value of it; `models`, `model_scores`: of several models,
    name → column of the predictions, and of the scores; `y_pred` and `score` are those of the first.
    """

    y_true: str | None
    y_pred: str | None
    score: str | None
    sensitive_features: tuple[str, ...]
    sample_weight: str | None = None
    cluster: str | None = None
    pos_label_true: str | None = None
    pos_label_pred: str | None = None
    features: tuple[str, ...] = ()
    counterfactual_scores: dict[str, str] = field(default_factory=dict)
    models: dict[str, str] = field(default_factory=dict)
    model_scores: dict[str, str] = field(default_factory=dict)

    @property
    def roles(self) -> dict[str, str]:
        """Argument of the methods → the column that was named for it."""
        roles = ("y_true", "y_pred", "score", "sample_weight", "cluster")
        return {role: getattr(self, role) for role in roles if getattr(self, role) is not None}

    @property
    def names(self) -> list[str]:
        """Every column that the audit reads, each once."""
        others = (*self.counterfactual_scores.values(), *self.models.values(), *self.model_scores.values())
        return list(dict.fromkeys((*self.roles.values(), *self.sensitive_features, *self.features, *others)))


def columns_of_frame(
    roles: Mapping[str, Any], sensitive_features: Any, features: Any, counterfactual_score: Any, pos_label: Any
) -> AuditColumns:
    """The names of the columns, checked; `roles` are those of `AuditColumns.roles`."""
    names = _attribute_names(sensitive_features)
    models, scores = (_by_model(role, roles[role]) for role in ("y_pred", "score"))
    first = next(iter(models or scores), "")
    roles = {**roles, **({"y_pred": models[first]} if models else {})}
    roles |= {"score": scores.get(first)} if scores else {}
    labels = {f"pos_label_{part}": label for part, label in _pos_labels(pos_label).items()}
    return AuditColumns(
        **{role: column_name(role, name) for role, name in roles.items()},
        **{name: label for name, label in labels.items() if roles[name.replace("pos_label", "y")] is not None},
        sensitive_features=names,
        features=_feature_names(features),
        counterfactual_scores=_counterfactual_columns(counterfactual_score, names, roles["score"]),
        models=models,
        model_scores=scores,
    )


def columns_of_tally(counted: Tally, sensitive_features: Any, asked: Iterable[Any]) -> AuditColumns:
    """The columns of a tally; those asked for beside it are an error, but for a choice of attributes."""
    if any(name is not None for name in asked):
        allowed, cure = "a Tally alone: what it counted is fixed", "leave the columns out, or pass the rows"
        raise InputError("frame", got="a Tally, and names of columns", allowed=allowed, cure=cure)
    columns = _counted_columns(counted)
    if sensitive_features is None:
        return columns
    return replace(columns, sensitive_features=_attribute_names(sensitive_features))


def _attribute_names(sensitive_features: Any) -> tuple[str, ...]:
    names = (sensitive_features,) if isinstance(sensitive_features, str) else sensitive_features
    if not isinstance(names, (list, tuple)) or not names or not all(isinstance(n, str) for n in names):
        raise InputError(
            "sensitive_features",
            got=f"{type(sensitive_features).__name__} {sensitive_features!r}"[:120],
            allowed="the name of a column of the frame, or a list of names",
            cure='e.g. sensitive_features="sex" or ["sex", "race"]',
        )
    once = len(set(names)) == len(names)
    check_that(once, "sensitive_features", list(names), "each column once", "leave out the repeat")
    return tuple(names)


def _by_model(argument: str, given: Any) -> dict[str, str]:
    """Model → column, of a mapping; of one column nothing."""
    if not isinstance(given, Mapping):
        return {}
    cure = f'{argument}="column" for one model'
    check_that(len(given) > 1, argument, dict(given), "a mapping of two models or more", cure)
    return {str(model): str(column_name(argument, column)) for model, column in given.items()}


def _feature_names(features: Any) -> tuple[str, ...]:
    names = (features,) if isinstance(features, str) else () if features is None else features
    says = "different names of columns of the frame", 'features=["age", "income"]'
    several = isinstance(names, Iterable) and getattr(names, "ndim", 1) == 1
    check_that(several, "features", features, *says)
    found = tuple(str(check_type("features", name, str, *says)) for name in names)
    check_that(len(set(found)) == len(found), "features", found, *says)
    return found


def _counterfactual_columns(given: Any, attributes: Sequence[str], score: str | None) -> dict[str, str]:
    """Sensitive column → score column."""
    if given is None:
        return {}
    found = given if isinstance(given, Mapping) else {attributes[0]: given}
    unknown = [name for name in found if name not in attributes]
    if unknown or score is None or (not isinstance(given, Mapping) and len(attributes) > 1):
        raise InputError(
            "counterfactual_score",
            got=repr(given) + (" without score" if score is None else f" for {', '.join(attributes)}"),
            allowed="with score: a column for one sensitive attribute, or a mapping from attribute to column",
            cure=f"counterfactual_score={{{attributes[0]!r}: …}}, score=…",
        )
    return {name: str(column_name("counterfactual_score", column)) for name, column in found.items()}


def _pos_labels(pos_label: Any) -> dict[str, str | None]:
    """Favourable values of outcome ("true") and prediction ("pred") as text."""
    given = pos_label if isinstance(pos_label, Mapping) else {"y_true": pos_label, "y_pred": pos_label}
    unknown = set(given) - {"y_true", "y_pred"}
    if unknown:
        got = f"a mapping with {', '.join(sorted(map(repr, unknown)))}"
        allowed = "a mapping with the keys 'y_true' and 'y_pred', or one value"
        raise InputError("pos_label", got=got, allowed=allowed, cure="name the favourable value of each")
    values = {part: given.get(f"y_{part}") for part in ("true", "pred")}
    return {part: None if value is None else label_text(value) for part, value in values.items()}


def check_outcomes(y_true: Any, y_pred: Any) -> None:
    """Raise where there is neither a prediction nor an outcome."""
    if y_true is None and y_pred is None:
        allowed, cure = "the column of the predictions, of the outcomes, or both", "name at least one of them"
        raise InputError("y_pred", got="None for both y_true and y_pred", allowed=allowed, cure=cure)


def _counted_columns(counted: Tally) -> AuditColumns:
    """What a tally counted, by the names that its columns had."""
    names = counted.columns
    changed = names.get("counterfactual_score", "counterfactual_score")
    labelled = counted.scores is not None and counted.scores.labelled
    confusion = isinstance(counted.cells, (ConfusionCounts, PairedCounts))
    predicted = confusion or (counted.cells is not None and not counted.of_labels)
    return AuditColumns(
        y_true=names.get("y_true", "y_true") if confusion or counted.of_labels or labelled else None,
        y_pred=names.get("y_pred", "y_pred") if predicted else None,
        score=names.get("score", "score") if counted.scores is not None else None,
        sensitive_features=counted.sensitive,
        sample_weight=names.get("sample_weight"),
        cluster=names.get("cluster"),
        pos_label_true=names.get("pos_label_true"),
        pos_label_pred=names.get("pos_label_pred"),
        features=() if counted.distinct is None else counted.distinct.columns,
        counterfactual_scores={} if counted.tails is None else dict.fromkeys(counted.sensitive[:1], changed),
    )
