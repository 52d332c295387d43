"""What was asked of an audit: the columns and the choices, all of them reported."""

from __future__ import annotations

from dataclasses import dataclass, field

from fairstats.ground.errors import InputError
from fairstats.ground.results import check_choice, check_confidence_level
from fairstats.ground.serialise import serialisable

__all__ = ["AUDIT_METHODS", "AuditColumns", "AuditSettings"]

#: `method=` of an audit → method of the differences that goes with it.
AUDIT_METHODS: dict[str | None, str | None] = {
    None: None,
    "log": None,
    "score": "score",
    "koopman": "mee",
    "delta": "delta",
    "bootstrap": "bootstrap",
}
EVALUATED_ON = (None, "training", "held-out")


@serialisable
@dataclass(frozen=True)
class AuditColumns:
    """Names of the columns, by what they hold.

    Attributes
    ----------
    y_true, y_pred, score : str or None
        Outcome, prediction, score.
    sensitive_features : tuple of str
    sample_weight, cluster : str or None
    favorable_true, favorable_pred : str or None
        The favourable value of outcome and prediction, as text; None where 1 or True speaks for itself.
    features : tuple of str
        Features of the rows, for distances between sets.
    counterfactual_scores : dict of str to str
        Sensitive column → column of the score that the row would have with another value of it.
    """

    y_true: str | None
    y_pred: str | None
    score: str | None
    sensitive_features: tuple[str, ...]
    sample_weight: str | None = None
    cluster: str | None = None
    favorable_true: str | None = None
    favorable_pred: str | None = None
    features: tuple[str, ...] = ()
    counterfactual_scores: dict[str, str] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """Every column that the audit reads, each once."""
        given = [
            self.y_true,
            self.y_pred,
            self.score,
            *self.sensitive_features,
            self.sample_weight,
            self.cluster,
            *self.features,
            *self.counterfactual_scores.values(),
        ]
        return list(dict.fromkeys(name for name in given if name is not None))


@serialisable
@dataclass(frozen=True)
class AuditSettings:
    """The choices of an audit.

    Attributes
    ----------
    confidence_level : float
        Level of the intervals; verdicts use one-sided bounds at this level.
    threshold : float
        Ratio that separates violated from satisfied.
    tolerance : float
        Size of a difference that separates them.
    method : str or None
        Interval method; None takes the default of every metric.
    simultaneous : {None, "bonferroni", "max-z"}
    comparisons : {"reference", "all"}
    adjust : str
        Adjustment of p-values within one metric.
    family : {"metric", "audit"}
        What p-values are adjusted over.
    missing : {"raise", "drop", "group"}
    evaluated_on : {None, "training", "held-out"}
        Whether the rows were used in training; None: not stated.
    references : dict of str to str
        Reference asked for, per set of attributes.
    n_resamples : int or None
        Bootstrap resamples; None takes the default of every metric.
    seed : int or None
        Of everything random.
    """

    confidence_level: float = 0.95
    threshold: float = 0.8
    tolerance: float = 0.1
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
        check_choice("method", self.method, tuple(AUDIT_METHODS))
        check_choice("family", self.family, ("metric", "audit"))
        check_choice("missing", self.missing, ("raise", "drop", "group"))
        check_choice("evaluated_on", self.evaluated_on, EVALUATED_ON)
        if not 0 < self.threshold <= 1:
            raise InputError(
                "threshold",
                got=repr(self.threshold),
                allowed="a ratio above 0 and at most 1",
                cure="0.8 is the four-fifths rule; the tolerance of differences is tolerance=",
            )

    @property
    def difference_method(self) -> str | None:
        """Method of the differences that goes with `method`."""
        return AUDIT_METHODS[self.method]
