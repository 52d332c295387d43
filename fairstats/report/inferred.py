"""The audit of rows whose groups nobody recorded: rates from probabilities of the groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairstats.ground.checks import (
    check_choice,
    check_different,
    check_that,
    column_name,
    column_names,
)
from fairstats.ground.counts import CellCounts, ConfusionCounts, SelectionCounts
from fairstats.ground.encoding import as_frame_columns
from fairstats.ground.errors import InputError
from fairstats.ground.proxies import ARGUMENT
from fairstats.ground.reading.roles import ReadingOptions, Roles
from fairstats.ground.reading.table import is_file, read_roles
from fairstats.ground.registry import METRICS, RATES, Metric
from fairstats.ground.results import Result
from fairstats.methods.rates.inferred.compare import compare_counts
from fairstats.methods.rates.inferred.reading import CellsOfRows, InferredRows
from fairstats.methods.rates.inferred.result import BOUNDS_METHOD, InferredResult
from fairstats.methods.rates.setup import RateArguments, make_settings
from fairstats.methods.um.posterior import um_posterior
from fairstats.report import questions
from fairstats.report.contents import Section
from fairstats.report.inputs import AuditColumns, AuditInput, AuditSettings
from fairstats.report.methods.um import UM_METRICS

#: What the groups are called where no column has true ones.
NO_COLUMN = "group"
_NO_POSTERIOR = "The posterior takes rows to be independent and of one weight: it is left out."
#: Draws of the posterior.
_DRAWS = 4_000
#: Statements of an audit that are about inferred groups, too.
INFERRED_STATEMENTS = (
    "Conditional on the model",
    "Rows used in training",
    "Missing values",
    "Verdicts",
    "What it cannot say",
)


@dataclass(frozen=True, kw_only=True)
class InferredAudit:
    """What an audit of inferred groups is asked for: names of columns, and choices."""

    y_true: str | None
    y_pred: str | None
    probabilities: dict[str, str]
    true_groups: str | None
    reference: Any
    pos_label: Any
    label_values: Any
    calibration_sample: Any
    settings: AuditSettings
    sample_weight: str | None = None
    cluster: str | None = None

    @property
    def attribute(self) -> str:
        """What the groups are groups of."""
        return self.true_groups or NO_COLUMN

    @property
    def has_design(self) -> bool:
        """Whether rows have weights or come in clusters."""
        return self.sample_weight is not None or self.cluster is not None


def columns_of_probabilities(probability_columns: Any) -> dict[str, str]:
    """Group → column, of a mapping or of names of columns."""
    if isinstance(probability_columns, Mapping):
        columns = {
            str(group): str(column_name(ARGUMENT, name))
            for group, name in probability_columns.items()
        }
    else:
        names = column_names(ARGUMENT, probability_columns)
        columns = dict(zip(names, names, strict=True))
    check_different(ARGUMENT, columns.values())
    cure = f'{ARGUMENT}={{"f": "prob_f", "m": "prob_m"}}'
    check_that(len(columns) > 1, ARGUMENT, probability_columns, "a column for each group", cure)
    return columns


def refuse_beside(arguments: Mapping[str, Any]) -> None:
    """Raise where something is asked for that does not go with probabilities of groups."""
    for argument, value in arguments.items():
        if value is None or value is False or (isinstance(value, tuple) and not value):
            continue
        raise InputError(
            argument,
            got=f"{value!r} with {ARGUMENT}="[:120],
            allowed="outcomes, predictions and probabilities: rates of inferred groups",
            cure=f"leave out {argument}=",
        )


def read_inferred(frame: Any, asked: InferredAudit) -> tuple[Any, Any]:
    """The columns that are needed, as a frame, and what they were read from."""
    labels = []
    for name in (asked.y_true, asked.y_pred, asked.true_groups, asked.cluster):
        if name is not None:
            labels.append(name)
    numbers = tuple(asked.probabilities.values())
    if asked.sample_weight is not None:
        numbers += (asked.sample_weight,)
    read = frame
    if is_file(frame):
        read, _ = read_roles(
            frame, Roles.of(labels, numbers), ReadingOptions(), engine="rows", needs_rows=True
        )
    names = tuple(dict.fromkeys((*labels, *numbers)))
    return as_frame_columns(read, names, "frame"), read


def audit_inferred(table: Any, asked: InferredAudit) -> tuple[list[Section], list[AuditInput]]:
    """Sections of all metrics that the columns allow, and the expected counts by group."""
    columns = AuditColumns(
        y_true=asked.y_true,
        y_pred=asked.y_pred,
        score=None,
        sensitive_features=(asked.attribute,),
        sensitive_probabilities=dict(asked.probabilities),
        sample_weight=asked.sample_weight,
        cluster=asked.cluster,
    )
    check_choice("missing", asked.settings.missing, ("raise", "drop"))
    arguments = _arguments(table, asked)
    needs = []
    if asked.y_true is not None:
        needs.append("labels")
    if asked.y_pred is not None:
        needs.append("predictions")
    rows = InferredRows.read(arguments, needs=tuple(needs))
    cells = CellsOfRows.of(rows, asked.calibration_sample, asked.settings.seed)
    results: list[Result] = []
    for metric in METRICS.values():
        if _is_asked(metric, asked):
            results.append(_compare(metric, cells, arguments, asked))
    question = questions.INFERRED
    attributes = (asked.attribute,)
    sections = [
        Section(
            key=question.key, title=question.title, attributes=attributes, results=tuple(results)
        )
    ]
    has_labels_and_predictions = asked.y_true is not None and asked.y_pred is not None
    if has_labels_and_predictions and not asked.has_design:
        posterior = um_posterior(
            arguments.y_true,
            arguments.y_pred,
            sensitive_probabilities=arguments.sensitive_probabilities,
            sensitive_features=arguments.sensitive_features,
            pos_label=asked.pos_label,
            label_values=asked.label_values,
            missing=asked.settings.missing,  # type: ignore[arg-type]
            draws=_DRAWS,
            reference=asked.reference,
            rng=asked.settings.seed,
        )
        of_posteriors = questions.POSTERIORS
        shown = replace(
            posterior,
            table_metrics=UM_METRICS,
            table_prob=asked.settings.confidence_level,
            table_rope=asked.settings.margin,
        )
        sections.append(
            Section(
                key=of_posteriors.key,
                title=of_posteriors.title,
                attributes=attributes,
                results=(shown,),
            )
        )
    counts = _expected_counts(rows, attributes)
    inputs = AuditInput(
        attributes=attributes,
        outcomes=None,
        counts=counts,
        columns=columns,
        settings=asked.settings,
        reference=asked.reference,
    )
    return sections, [inputs]


def _arguments(table: Any, asked: InferredAudit) -> RateArguments:
    """What a rate function would be given."""
    probabilities = {group: table[name] for group, name in asked.probabilities.items()}
    return RateArguments(
        y_true=None if asked.y_true is None else table[asked.y_true],
        y_pred=None if asked.y_pred is None else table[asked.y_pred],
        sensitive_features=None if asked.true_groups is None else table[asked.true_groups],
        sensitive_probabilities=probabilities,
        calibration_sample=asked.calibration_sample,
        sample_weight=None if asked.sample_weight is None else table[asked.sample_weight],
        cluster=None if asked.cluster is None else table[asked.cluster],
        comparisons=asked.settings.comparisons,
        threshold=asked.settings.threshold,
        margin=asked.settings.margin,
        confidence_level=asked.settings.confidence_level,
        adjust=asked.settings.adjust,
        pos_label=asked.pos_label,
        label_values=asked.label_values,
        missing=asked.settings.missing,
    )


def _is_asked(metric: Metric, asked: InferredAudit) -> bool:
    """Whether an audit has a metric, the columns allow it, and its rates can be inferred."""
    labels_only = asked.y_true is not None and asked.y_pred is None
    shown = metric.audit == "yes" or (metric.audit == "labels only" and labels_only)
    if not shown or metric.contrast not in ("ratio", "difference") or not metric.rates:
        return False
    if not all(RATES[name].successes for name in metric.rates):
        return False
    present = {"predictions": asked.y_pred is not None, "labels": asked.y_true is not None}
    return all(present.get(part, False) for part in metric.needs)


def _compare(
    metric: Metric, cells: CellsOfRows, arguments: RateArguments, asked: InferredAudit
) -> InferredResult:
    settings = make_settings(metric.contrast, arguments)
    counts = tuple(cells.count(RATES[name]) for name in metric.rates)
    by_bounds = replace(settings, method=BOUNDS_METHOD)
    result = compare_counts(metric, counts, by_bounds, asked.reference)
    return replace(result, in_report=True)


def _expected_counts(rows: InferredRows, attributes: tuple[str, ...]) -> CellCounts:
    """Cells by group as the probabilities expect them, true groups where known."""
    shares = rows.shares
    if rows.true_groups is not None:
        has_true_group = rows.true_groups >= 0
        shares = shares.copy()
        shares[has_true_group] = np.eye(len(rows.groups))[rows.true_groups[has_true_group]]
    outcomes = rows.outcomes
    if outcomes.y_true is None or outcomes.y_pred is None:
        column = np.asarray(outcomes.y_pred if outcomes.y_true is None else outcomes.y_true)
        kinds = {"selected": column == 1, "not_selected": column != 1}
        table_class: type[CellCounts] = SelectionCounts
    else:
        predicted = outcomes.y_pred == 1
        favourable = outcomes.y_true == 1
        kinds = {
            "tp": predicted & favourable,
            "fp": predicted & ~favourable,
            "fn": ~predicted & favourable,
            "tn": ~predicted & ~favourable,
        }
        table_class = ConfusionCounts
    if rows.weights is not None:
        shares = shares * rows.weights[:, None]
    cells = {}
    for position, group in enumerate(rows.groups):
        cells[group] = {
            name: float(shares[is_kind, position].sum()) for name, is_kind in kinds.items()
        }
    counts = table_class.from_effective(cells)
    return replace(counts, attributes=attributes, missing=outcomes.missing)


def inferred_notes(sections: Sequence[Section], asked: InferredAudit) -> list[str]:
    """What the results say of inferred groups, each sentence once."""
    sentences: list[str] = []
    for section in sections:
        for result in section.results:
            if isinstance(result, InferredResult) and not sentences:
                sentences = result.about_groups()
    if asked.has_design and asked.y_true is not None and asked.y_pred is not None:
        sentences.append(_NO_POSTERIOR)
    return sentences
