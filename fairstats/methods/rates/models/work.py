"""Every metric of every model on the same people, and every change, from rows or counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import check_one_length, check_that
from fairstats.ground.counts import PairedCounts
from fairstats.ground.encoding import as_float_column, binary_columns
from fairstats.ground.errors import DataWarning, InputError, caution
from fairstats.ground.groups import find_reference
from fairstats.ground.multiplicity import make_pairs, normal_quantile
from fairstats.ground.outcomes import Outcomes, check_row_labels, even_weights, on_unit_interval
from fairstats.ground.progress import each_of
from fairstats.ground.registry import METRICS, RATES, find_metric
from fairstats.ground.results import Interval
from fairstats.ground.verdict import Evidence
from fairstats.methods.rates.models.result import QUANTITIES, ModelComparison, ModelValue
from fairstats.methods.rates.models.scored import ScoreAnswer, ScoredModels
from fairstats.methods.rates.result import Inference, as_family, warned
from fairstats.methods.rates.setup import RateArguments, check_groups
from fairstats.numerics.paired.change import (
    KINDS,
    OVERALL,
    UNCHANGED,
    Found,
    ModelPair,
    PairedChange,
    finished,
)
from fairstats.numerics.paired.distance import Level, Measured, bins_of_models
from fairstats.numerics.paired.rate import PairedRate, change_of_gap, change_of_rate

#: Quantity → what it needs of the rows.
_NEEDS_OF_QUANTITY = {
    "accuracy": ("predictions", "labels"),
    "auc": ("labels", "scores"),
    "brier": ("labels", "scores"),
    "madd": ("scores of groups",),
    "abroca": ("labels", "scores of groups"),
}
#: What quantities of scores need: of all rows, or of groups, whose weights may differ from group to
#: group.
_KINDS_OF_SCORES = ("scores", "scores of groups")
_RESAMPLED_QUANTITIES = frozenset({"madd", "abroca"})
_METHODS = {
    "auc": "DeLong",
    "brier": "paired t",
    **dict.fromkeys(_RESAMPLED_QUANTITIES, "paired bootstrap, directional"),
}
_ARGUMENTS = {
    "predictions": "y_pred",
    "labels": "y_true",
    **dict.fromkeys(_KINDS_OF_SCORES, "score"),
}


@dataclass(frozen=True, eq=False)
class ModelRows:
    """Validated rows with the predictions and scores of several models.

    `outcomes`: groups, weights, clusters, and labels (all 0 where there are none); `predictions`,
    `scores`: model → codes, or scores, shape (n,).
    """

    outcomes: Outcomes
    labelled: bool
    predictions: dict[str, NDArray[Any]]
    scores: dict[str, NDArray[np.float64]]

    @classmethod
    def read(
        cls,
        y_true: Any,
        predictions: Mapping[str, Any],
        scores: Mapping[str, Any],
        arguments: RateArguments,
        columns: Mapping[str, str] | None = None,
    ) -> ModelRows:
        """Encode columns; a row that any of them lacks is missing.

        `predictions`, `scores`: model → column; `arguments`: those that say how rows are read;
        `columns`: model → name of its column in messages.
        """
        column_names = columns or {
            column_name: f"y_pred[{column_name!r}]" for column_name in predictions
        }
        label_columns = {
            "y_true": y_true,
            **{column_names[model_name]: values for model_name, values in predictions.items()},
        }
        others = {
            "sensitive_features": arguments.sensitive_features,
            "sample_weight": arguments.sample_weight,
            "cluster": arguments.cluster,
        }
        check_row_labels(y_true=y_true, y_pred=dict(predictions), score=dict(scores), **others)
        pos_label = _by_column("pos_label", arguments.pos_label, column_names)
        label_values = _by_column("label_values", arguments.label_values, column_names)
        binary_read = binary_columns(pos_label, label_values, **label_columns)
        codes_by_column = {}
        for column_name, coded_column in binary_read.items():
            if coded_column:
                codes_by_column[column_name] = np.where(
                    coded_column.codes < 0, np.nan, coded_column.codes
                )
        numbers = {}
        for column_name, values in scores.items():
            numbers[column_name] = as_float_column(values, "score")
        for column_name, values in numbers.items():
            is_known = ~np.isnan(values)
            numbers[column_name] = np.where(is_known, 0.0, np.nan)
            numbers[column_name][is_known] = on_unit_interval(values[is_known], "score")
        true_codes = codes_by_column.pop("y_true", None)
        answers = [*codes_by_column.values(), *numbers.values()]
        lengths = {}
        for column_name, known_values in {
            "y_true": true_codes,
            **codes_by_column,
            **numbers,
        }.items():
            if known_values is not None:
                lengths[column_name] = known_values.size
        check_one_length(", ".join(lengths), lengths)
        lacking = np.isnan(answers[1:]).any(axis=0)
        if codes_by_column:
            first_codes = answers[0]
        else:
            first_codes = np.where(np.isnan(answers[0]), np.nan, 0.0)
        if true_codes is None:
            labels = np.zeros(first_codes.size)
        else:
            labels = true_codes
        missing_marks = np.where(lacking, np.nan, 0.0)
        # labels and predictions are encoded already
        encoded = replace(arguments, pos_label=None, label_values=None)
        outcomes = Outcomes.from_arrays(
            labels, first_codes, extra=missing_marks, **encoded.row_options()
        )
        unfavourable = {
            column_name: outcomes.rows_by_label(labels.beside, labels.codes)
            for column_name, labels in binary_read.items()
            if labels is not None and labels.beside is not None
        }
        outcomes = replace(outcomes, missing=replace(outcomes.missing, unfavourable=unfavourable))
        kept_rows = slice(None) if outcomes.kept is None else outcomes.kept
        codes_by_model = {}
        for model_name in predictions:
            codes_by_model[model_name] = codes_by_column[column_names[model_name]][
                kept_rows
            ].astype(np.int64)
        return cls(
            outcomes,
            true_codes is not None,
            codes_by_model,
            {column_name: values[kept_rows] for column_name, values in numbers.items()},
        )

    @property
    def labels(self) -> NDArray[np.int64]:
        """Labels 0 and 1, shape (n,)."""
        return np.asarray(self.outcomes.y_true).astype(np.int64)

    def counts(self, model: str, baseline: str) -> PairedCounts | None:
        """Label × prediction of the baseline × prediction of the model; None where one has none."""
        if model not in self.predictions or baseline not in self.predictions:
            return None
        cell_codes = 7 - 4 * self.labels - 2 * self.predictions[baseline] - self.predictions[model]
        return PairedCounts._count_rows(self.outcomes, cell_codes).without_even_weights()


def _by_column(argument: str, value: Any, columns: Mapping[str, str]) -> Any:
    """What is said of every column of labels.

    A mapping may name y_pred for all models, or each by its name.
    """
    if not isinstance(value, Mapping) or set(columns.values()) <= {"y_pred", "y_pred_b"}:
        return value
    if unknown := set(value) - {"y_true", "y_pred", *columns}:
        received = f"a mapping with {', '.join(sorted(map(repr, unknown)))}"
        raise InputError(
            argument,
            got=received,
            allowed="y_true, y_pred, and names of models",
            cure="name the columns",
        )
    labels = {}
    for column_name, column in columns.items():
        labels[column] = value.get(column_name, value.get("y_pred"))
    result = {}
    for column_name, column_value in {"y_true": value.get("y_true"), **labels}.items():
        if column_value is not None:
            result[column_name] = column_value
    return result


def compare_all(
    data: ModelRows | PairedCounts,
    models: Sequence[str],
    metrics: str | Sequence[str],
    baseline: str | None,
    reference: Any,
    settings: Inference,
    rng: np.random.Generator,
    *,
    chosen_by: int = 0,
) -> ModelComparison:
    """Every metric of every model, and every change; of counts those of two models.

    `chosen_by`: whose selection rates tell the highest: of the first pair the baseline (0) or the
    model (1).
    """
    if isinstance(data, PairedCounts):
        data = data.without_even_weights()
    if isinstance(data, PairedCounts):
        model_rows = None
        counted = data
    else:
        model_rows = data
        counted = None
    wanted = _check_metrics(metrics, model_rows)
    if model_rows is None or not _RESAMPLED_QUANTITIES & set(wanted):
        settings = replace(settings, seed=None)  # nothing is drawn
    name_pairs = (
        combinations(models, 2)
        if baseline is None
        else ((baseline, model) for model in models if model != baseline)
    )
    model_pairs = []
    for other_model, base_model in name_pairs:
        model_pairs.append(
            ModelPair(
                base_model,
                other_model,
                counted if model_rows is None else model_rows.counts(base_model, other_model),
            )
        )
    first_counts = next(
        (model_pair.counts for model_pair in model_pairs if model_pair.counts is not None), None
    )
    if first_counts is not None:
        groups = first_counts.groups
        group_sizes = first_counts.group_sizes
        selection_rates = PairedRate(first_counts, RATES["selection_rate"], False).values[chosen_by]
    else:
        if isinstance(data, ModelRows):
            row_outcomes = data.outcomes
        else:
            row_outcomes = None
        groups = row_outcomes.groups.labels  # type: ignore[union-attr]
        group_codes = row_outcomes.groups.codes  # type: ignore[union-attr]
        group_sizes = np.bincount(group_codes, minlength=len(groups))
        selection_rates = None
    check_groups(groups)
    reference_index, rule_of_reference = find_reference(
        groups, reference, sizes=group_sizes, rates=selection_rates
    )
    comparison_work = _ComparisonWork(
        models=tuple(models),
        groups=groups,
        reference=reference_index,
        settings=replace(settings, reference_rule=rule_of_reference),
        pairs=model_pairs,
    )
    changes: list[PairedChange] = []
    for metric_name in each_of(wanted, "metrics of models"):
        scored = model_rows is not None and metric_name in _METHODS
        if scored:
            changes += comparison_work.of_scores(metric_name, model_rows, rng)  # type: ignore[arg-type]
        else:
            changes += comparison_work.of_rates(metric_name)
    result_fields = (
        wanted,
        tuple(models),
        tuple(changes),
        tuple(comparison_work.values),
        comparison_work.settings,
        groups[reference_index],
        tuple(comparison_work.pairs),
    )
    return warned(ModelComparison(*result_fields), "compare_models", plain=UNCHANGED)


@dataclass(eq=False)
class _ComparisonWork:
    """The models, the groups, and what was found so far."""

    models: tuple[str, ...]
    groups: tuple[str, ...]
    reference: int
    settings: Inference
    pairs: list[ModelPair]

    def __post_init__(self) -> None:
        self.values: list[ModelValue] = []
        self.compared = make_pairs(len(self.groups), self.reference, self.settings.comparisons)
        n_all_pairs = len(make_pairs(len(self.groups), 0, "all"))
        #: comparisons that the data could have chosen: their number (0: none), and how many per one
        #: made
        if self.settings.reference_rule == "highest":
            self.among = n_all_pairs
        else:
            self.among = 0
        if self.among:
            self.chosen = n_all_pairs / len(self.compared)
        else:
            self.chosen = 1.0

    def of_rates(self, name: str) -> list[PairedChange]:
        """Changes of a metric of rates, or of accuracy."""
        metric = find_metric(name)
        changes_found: list[Found] = []
        for model_pair in self.pairs:
            counts = model_pair.counts
            if counts is None:
                continue
            if metric is None:
                paired_rate = PairedRate(counts, RATES[name], False)
                for group_index in range(len(self.groups)):
                    changes_found.append(
                        change_of_rate(paired_rate, (group_index,), name, model_pair, "better")
                    )
            elif metric.contrast == "gap":
                changes_found.append(change_of_gap(metric, counts, model_pair))
            else:
                for row_name, rate_name in zip(metric.row_names, metric.rates, strict=True):
                    paired_rate = PairedRate(counts, RATES[rate_name], metric.contrast == "ratio")
                    for groups in self.compared:
                        changes_found.append(
                            change_of_rate(
                                paired_rate, groups, row_name, model_pair, metric.contrast
                            )
                        )
        return self._finish_changes(
            changes_found, self.chosen if metric is not None and metric.contrast != "gap" else 1.0
        )

    def of_scores(self, name: str, rows: ModelRows, rng: np.random.Generator) -> list[PairedChange]:
        """Changes of a quantity of scores.

        The models' own values are kept, with verdicts on distances.
        """
        scored = self._scored_models(name, rows)
        if scored.of_one_group:
            group_sets: list[tuple[int, ...]] = [(index,) for index in range(len(self.groups))]
            group_sets.append(())
            level_of_each = self.settings.confidence_level
            chosen = 1.0
        else:
            group_sets = list(self.compared)
            level_of_each = 1 - (1 - self.settings.confidence_level) / max(self.among, 1)
            chosen = self.chosen
        curves = scored.draw_curves(self.compared, rng)
        changes_found: list[Found] = []
        values: list[ModelValue] = []
        evidence: list[Evidence] = []
        for groups in group_sets:
            group_names = tuple(self.groups[index] for index in groups) or (OVERALL,)
            measured = scored.measure(groups, curves, rng)
            if isinstance(measured, str):
                lacking = scored.name_groups_of_few(groups, group_names)
                answer = ScoreAnswer.without(f"{lacking}: {measured}", scored)
            else:
                answer = ScoreAnswer.of(measured)
                if name == "madd":
                    self._keep_bins(measured, scored.pairs, scored.positions, group_names)
            row = _ScoreRow(
                name=name,
                groups=group_names,
                n=sum(int(mask.sum()) for mask in scored.masks(groups)),
                method=_METHODS[name],
            )
            changes_found += _found_changes(row, scored, answer)
            for model_index, model in enumerate(scored.models):
                values.append(
                    _score_value(
                        row,
                        model,
                        answer.level,
                        model_index,
                        self.settings.confidence_level,
                        level_of_each,
                    )
                )
            evidence += answer.evidence
        if not scored.of_one_group:
            values = self._judge_distances(values, evidence, len(scored.models))
        self.values += values
        return self._finish_changes(changes_found, chosen)

    def _scored_models(self, name: str, rows: ModelRows) -> ScoredModels:
        """The models that have scores, and the pairs of which both have."""
        models = []
        for model in self.models:
            if model in rows.scores:
                models.append(model)
        pairs = []
        positions = []
        for pair in self.pairs:
            if pair.model in models and pair.baseline in models:
                pairs.append(pair)
                positions.append((models.index(pair.model), models.index(pair.baseline)))
        return ScoredModels(
            name=name,
            models=models,
            scores=np.stack([rows.scores[model] for model in models]),
            labels=rows.labels,
            group_codes=rows.outcomes.groups.codes,
            pairs=pairs,
            positions=positions,
            settings=self.settings,
        )

    def _judge_distances(
        self,
        values: list[ModelValue],
        evidence: list[Evidence],
        n_models: int,
    ) -> list[ModelValue]:
        """Distances with their verdicts: of each model over all pairs of groups, also those that
        the data chose from.
        """
        judged = list(values)
        for model_index in range(n_models):
            of_model = list(
                zip(values[model_index::n_models], evidence[model_index::n_models], strict=True)
            )
            judged[model_index::n_models] = as_family(
                of_model, self.settings, chosen_among=self.among
            )
        return judged

    def _keep_bins(
        self,
        measured: Measured,
        pairs: Sequence[ModelPair],
        positions: Sequence[tuple[int, int]],
        names: tuple[str, ...],
    ) -> None:
        """Rows of a group and its reference by the bins of both models' scores.

        What a change of MADD rests on.
        """
        for model_pair, (model, baseline) in zip(pairs, positions, strict=True):
            pair_position = next(
                position
                for position, known_pair in enumerate(self.pairs)
                if (known_pair.model, known_pair.baseline)
                == (model_pair.model, model_pair.baseline)
            )
            bin_table = bins_of_models(
                measured, model, baseline, group=names[0], reference=names[1]
            )
            self.pairs[pair_position] = replace(
                self.pairs[pair_position], grids=(*self.pairs[pair_position].grids, bin_table)
            )

    def _finish_changes(self, found_changes: list[Found], chosen: float) -> list[PairedChange]:
        return list(
            finished(found_changes, self.settings.confidence_level, self.settings.adjust, chosen)
        )


@dataclass(frozen=True)
class _ScoreRow:
    """What a row of a quantity of scores is of; `groups`: one, two, or `OVERALL`."""

    name: str
    groups: tuple[str, ...]
    n: int
    method: str


def _found_changes(row: _ScoreRow, scored: ScoredModels, answer: ScoreAnswer) -> list[Found]:
    """The change of every pair of models."""
    changes_found = []
    for pair, (model, baseline) in zip(scored.pairs, scored.positions, strict=True):
        changes_found.append(
            Found(
                name=row.name,
                groups=row.groups,
                n=row.n,
                method=row.method,
                kind=KINDS[row.name],
                pair=pair,
                change=answer.changes[model, baseline],
                ends=(answer.estimates[baseline], answer.estimates[model]),
            )
        )
    return changes_found


def _score_value(
    row: _ScoreRow,
    model: str,
    level: Level | str,
    model_index: int,
    confidence_level: float,
    level_of_each: float,
) -> ModelValue:
    """A quantity of scores of one model; `level`: in words why there is none.

    `level_of_each`: level of its limits.
    """
    group_names = (*row.groups, "")
    value_fields: dict[str, Any] = {"verdict": "insufficient evidence", "note": level}
    interval_ends = (nan, nan)
    if not isinstance(level, str):
        quantile = normal_quantile((1 + level_of_each) / 2, level.degrees_of_freedom)
        interval_ends = level.parts[model_index].limits(quantile)
        value_fields = {
            "estimate": float(level.estimates[model_index]),
            "std_error": float(level.std_errors[model_index]),
        }
    return ModelValue(
        metric=row.name,
        group=group_names[0],
        reference=group_names[1],
        n=row.n,
        method=row.method,
        model=model,
        confidence_interval=Interval(*interval_ends, confidence_level, row.method),
        **value_fields,
    )


def _check_metrics(names_given: Any, rows: ModelRows | None) -> tuple[str, ...]:
    """The names of the metrics, after checking that the data give what each needs."""
    if isinstance(names_given, str) and names_given == "all":
        audited = (
            metric_entry.name
            for metric_entry in METRICS.values()
            if metric_entry.audit == "yes" and "predictions" in metric_entry.needs
        )
        left_out = []
        for quantity in QUANTITIES:
            if not available(quantity, rows) and {*_KINDS_OF_SCORES} & {
                *_needs_of_metric(quantity)
            }:
                left_out.append(quantity)
        if left_out and rows is not None and len(rows.scores) > 1:
            reason = "they compare rows of equal weight, and these have weights or clusters"
            suggestion = "Without sample_weight= and cluster= they are of the rows as they are."
            caution(f"{', '.join(left_out)} are left out: {reason}. {suggestion}", DataWarning)
        metrics = []
        for metric_name in (*audited, *QUANTITIES):
            if available(metric_name, rows):
                metrics.append(metric_name)
        return tuple(metrics)
    if isinstance(names_given, str):
        names_given = [names_given]
    are_names = isinstance(names_given, (list, tuple)) and all(
        isinstance(metric_name, str) for metric_name in names_given
    )
    check_that(
        are_names,
        "metrics",
        names_given,
        "the name of a metric, or a list of names",
        'metrics="all"',
    )
    metric_names = tuple(dict.fromkeys(names_given))
    check_that(
        bool(metric_names), "metrics", "none", "at least one metric", 'metrics="disparate_impact"'
    )
    for metric_name in metric_names:
        metric = find_metric(metric_name)
        if metric_name not in QUANTITIES and (
            metric is None or metric.contrast == "odds_ratio" or "predictions" not in metric.needs
        ):
            allowed = (
                f"a metric of rates of predictions, {', '.join(map(repr, QUANTITIES))}, or 'all'"
            )
            suggestion = "e.g. 'disparate_impact', 'equal_opportunity_difference', 'f1_ratio'"
            raise InputError("metrics", got=repr(metric_name), allowed=allowed, cure=suggestion)
        if lacking := [
            needed_part
            for needed_part in _needs_of_metric(metric_name)
            if needed_part not in _available_data(rows)
        ]:
            if rows is None:
                of_models = {}
            else:
                of_models = {
                    "predictions": rows.predictions,
                    **dict.fromkeys(_KINDS_OF_SCORES, rows.scores),
                }
            columns_given = of_models.get(lacking[0], {})
            if len(columns_given) == 1:
                received = f"those of {next(iter(columns_given))!r} alone"
            else:
                received = "none"
            allowed = (
                f"{lacking[0].removesuffix(' of groups')} of every model, which {metric_name} needs"
            )
            suggestion = "leave the metric out, or pass them row by row"
            if lacking[0] in _KINDS_OF_SCORES and len(columns_given) > 1:
                received = "weights or clusters"
                allowed = f"rows of equal weight for {metric_name}"
                suggestion = (
                    "leave the metric out, or sample_weight= and cluster= (the answer is then for"
                    " these rows)"
                )
            raise InputError(_ARGUMENTS[lacking[0]], got=received, allowed=allowed, cure=suggestion)
    return metric_names


def available(name: str, rows: ModelRows | None) -> bool:
    """Whether the data give what a metric needs; `rows`: None for counts."""
    return _available_data(rows).issuperset(_needs_of_metric(name))


def _available_data(rows: ModelRows | None) -> set[str]:
    if rows is None:
        return {"predictions", "labels"}
    if len(rows.predictions) > 1:
        available_kinds = {"predictions"}
    else:
        available_kinds = set()
    if len(rows.scores) > 1 and rows.outcomes.cluster is None:
        within, throughout = _have_even_weights(rows.outcomes)
        available_kinds |= {"scores of groups"} if within else set()
        available_kinds |= {"scores"} if throughout else set()
    if rows.labelled:
        return available_kinds | {"labels"}
    return available_kinds


def _have_even_weights(outcomes: Outcomes) -> tuple[bool, bool]:
    """Whether rows have one weight within every group, and whether all rows have one."""
    if outcomes.weight is None:
        return True, True
    groups = outcomes.groups.codes
    weight = outcomes.weight
    weight_sums = [np.bincount(groups, values) for values in (None, weight, weight**2)]
    within = bool(even_weights(*weight_sums).all())
    return within, within and bool(
        even_weights(*(np.array([group_sums.sum()]) for group_sums in weight_sums)).all()
    )


def _needs_of_metric(name: str) -> tuple[str, ...]:
    metric = find_metric(name)
    return _NEEDS_OF_QUANTITY.get(name) or (metric.needs if metric else ())
