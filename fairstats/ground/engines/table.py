"""A lazy table, prepared and counted: cells of labels per group, and the scatter of clusters."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from operator import and_
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import check_different
from fairstats.ground.counts import CellCounts, confusion_cells
from fairstats.ground.encoding import as_frame_columns, check_columns
from fairstats.ground.engines.sources import collected, joinable, real, whole
from fairstats.ground.errors import InputError
from fairstats.ground.lazy import pd
from fairstats.ground.outcomes import Outcomes, check_changed, check_weights, on_unit_interval
from fairstats.ground.reading.record import TOKENS, record_of
from fairstats.ground.reading.roles import Roles
from fairstats.ground.tallies.classes import class_cells
from fairstats.ground.values import factorize, labels_of

#: Columns of the prepared table; keys and features are numbered.
TRUE = "fs_true"
PRED = "fs_pred"
PRED_B = "fs_pred_b"
SCORE = "fs_score"
CHANGED = "fs_changed"
OUTCOME = "fs_outcome"
PREDICTED = "fs_predicted"
WEIGHT = "fs_weight"
CLUSTER = "fs_cluster"
#: Up to so many values of keys and labels are coded in the engine.
MOST_CODED = 100
KEY = "fs_key"
FEATURE = "fs_feature"
NUMBER = "fs_n"
CODE = "fs_code"


@dataclass(frozen=True)
class Question:
    """What is counted of a table.

    Names of its columns, and how they are read, as `fairstats.tally` says; `stratified`: whether the
    last of the keys is a column of strata.
    """

    keys: tuple[str, ...]
    y_true: str | None = None
    y_pred: str | None = None
    y_pred_b: str | None = None
    score: str | None = None
    counterfactual_score: str | None = None
    outcome: str | None = None
    predicted: str | None = None
    sample_weight: str | None = None
    cluster: str | None = None
    features: tuple[str, ...] = ()
    pos_label: Any = None
    label_values: Any = None
    missing: str = "raise"
    groups: Sequence[Hashable] | None = None
    score_range: tuple[float, float] = (0.0, 1.0)
    number: str | None = None
    classes: bool | None = False
    stratified: bool = False

    def __post_init__(self) -> None:
        check_different("sensitive_features, strata", self.keys)

    @property
    def names(self) -> list[str]:
        """Every column that is asked for."""
        clusters = [] if self.cluster is None else [self.cluster]
        return [
            *self.labels.values(),
            *clusters,
            *self.features,
            *(column for _, column in self.numbers.values()),
        ]

    @property
    def reading_roles(self) -> Roles:
        """What the columns are read as from a file."""
        numbers = [column for _, column in self.numbers.values()]
        return Roles.of(
            [*self.labels.values(), self.cluster], [*numbers, self.number], self.features
        )

    def on_unit(self, scores: Any) -> Any:
        """Scores (an array, or an expression) on the scale from 0 to 1."""
        worse_end, better_end = self.score_range
        if (worse_end, better_end) == (0.0, 1.0):
            return scores
        return (scores - worse_end) / (better_end - worse_end)

    @property
    def labels(self) -> dict[str, str]:
        """Name in the prepared table → column, of keys and labels."""
        key_by_name = {}
        for key_number, prepared_name in enumerate(self.keys):
            key_by_name[f"{KEY}{key_number}"] = prepared_name
        label_columns = {TRUE: self.y_true, PRED: self.y_pred, PRED_B: self.y_pred_b}
        return key_by_name | {
            prepared_name: column
            for prepared_name, column in label_columns.items()
            if column is not None
        }

    @property
    def outcome_columns(self) -> dict[str, str]:
        """Argument → column, of an outcome that is a number and its prediction."""
        columns = {"outcome": self.outcome, "predicted": self.predicted}
        result: dict[str, str] = {}
        for argument, column in columns.items():
            if column is not None:
                result[argument] = column
        return result

    @property
    def numbers(self) -> dict[str, tuple[str, str]]:
        """Name in the prepared table → (argument, column), of numbers."""
        argument_by_name = {
            SCORE: "score",
            CHANGED: "counterfactual_score",
            OUTCOME: "outcome",
            PREDICTED: "predicted",
            WEIGHT: "sample_weight",
        }
        columns = {}
        for prepared_name, argument in argument_by_name.items():
            columns[prepared_name] = (argument, getattr(self, argument))
        result: dict[str, tuple[str, str]] = {}
        for prepared_name, argument_and_column in columns.items():
            if argument_and_column[1] is not None:
                result[prepared_name] = argument_and_column
        return result


@dataclass(frozen=True, eq=False)
class LazyRows:
    """A lazy table and the question asked of it; every part is a query of its own."""

    table: Any
    question: Question
    #: Column of a text file → token that reads as missing → number of fields.
    tokens: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    @classmethod
    def prepare(cls, table: Any, question: Question) -> LazyRows:
        """Choose and name the columns by the rule of `values`.

        Numbers are doubles, what is missing is null.

        Among scores it can be NaN still, and among keys and labels empty text, which `_is_known`
        asks for: DuckDB forgets the range of a column once a CASE stands around it, and then groups
        and joins more slowly. Only where missing values are a group of their own, must null and
        empty text be one value.
        """
        schema = table.collect_schema()
        check_columns("frame", list(dict.fromkeys(question.names)), schema.names())
        label_columns = question.labels | (
            {CLUSTER: question.cluster} if question.cluster is not None else {}
        )
        label_columns |= {
            f"{FEATURE}{feature_number}": prepared_name
            for feature_number, prepared_name in enumerate(question.features)
        }
        chosen_expressions = {}
        for prepared_name, column in label_columns.items():
            chosen_expressions[prepared_name] = nw.col(column)
            if schema[column].is_float():
                chosen_expressions[prepared_name] = _without_negative_zero(
                    _null_for_nan(nw.col(column))
                )
            elif (
                _may_be_empty(schema[column])
                and question.missing == "group"
                and prepared_name.startswith(KEY)
            ):
                chosen_expressions[prepared_name] = nw.when(nw.col(column) != "").then(
                    nw.col(column)
                )
        for prepared_name, (argument, column) in question.numbers.items():
            if not schema[column].is_numeric():
                received = f"a column of type {schema[column]}"
                advice = f"convert {column!r} to numbers in the table"
                raise InputError(argument, got=received, allowed="one number per row", cure=advice)
            chosen_expressions[prepared_name] = nw.col(column).cast(nw.Float64)
            chosen_expressions[prepared_name] = (
                chosen_expressions[prepared_name]
                if prepared_name in (WEIGHT, OUTCOME, PREDICTED)
                else question.on_unit(chosen_expressions[prepared_name])
            )
        return cls(table.select(**chosen_expressions), question, record_of(table).tokens)

    @property
    def key_names(self) -> list[str]:
        """The sensitive columns and strata in the prepared table."""
        return [f"{KEY}{key_number}" for key_number in range(len(self.question.keys))]

    @cached_property
    def complete(self) -> Any:
        """The rows that count: those without a missing value.

        All of them where none was left out.
        """
        table = self.table
        if self.outcomes.missing.n_dropped > 0:
            table = table.filter(
                *(self._is_known(prepared_name) for prepared_name in self._needed_columns)
            )
        if self._has_rounded_ends:
            for prepared_name in (SCORE, CHANGED):
                if prepared_name in self.columns:
                    table = table.with_columns(
                        **{prepared_name: nw.col(prepared_name).clip(0.0, 1.0)}
                    )
        return table

    @cached_property
    def _schema(self) -> Any:
        return self.table.collect_schema()

    @property
    def _needed_columns(self) -> list[str]:
        """The prepared columns without which a row is incomplete.

        Where missing keys are a group, not these.
        """
        further_columns = []
        for prepared_name in self.columns:
            if prepared_name in (SCORE, CLUSTER, OUTCOME, PREDICTED) or prepared_name.startswith(
                FEATURE
            ):
                further_columns.append(prepared_name)
        if self.question.missing == "group":
            optional_columns = self.key_names
        else:
            optional_columns = []
        return [
            *(
                prepared_name
                for prepared_name in self.question.labels
                if prepared_name not in optional_columns
            ),
            *further_columns,
        ]

    def _is_known(self, prepared_name: str) -> Any:
        """Where a prepared column is not missing, by the rule of `values`."""
        column = nw.col(prepared_name)
        column_type = self._schema[prepared_name]
        is_known = ~column.is_null()
        if _may_be_empty(column_type):
            is_known = is_known & (column != "")
        if prepared_name in (SCORE, OUTCOME, PREDICTED):
            is_known = is_known & ~column.is_nan()
        return is_known

    @property
    def weights(self) -> list[Any]:
        """What the score's query needs beside keys: the score, the weight and its square."""
        weight = nw.col(WEIGHT)
        return [
            SCORE,
            *([weight, (weight * weight).alias("fs_squares")] if WEIGHT in self.columns else []),
        ]

    @cached_property
    def columns(self) -> list[str]:
        """Names of the prepared columns."""
        return list(self.table.collect_schema().names())

    @cached_property
    def _cells(self) -> tuple[pd.DataFrame, Outcomes, bool]:
        """One row per combination of keys, labels and what is missing, without those left out.

        The same validated.

        And whether scores miss an end of [0, 1] by rounding.
        """
        table = self.table
        question = self.question
        aggregates = dict[str, Any]()
        clipped = False
        group_columns = list(question.labels)
        for name in (SCORE, CLUSTER, OUTCOME, PREDICTED):
            if name in self.columns:
                group_columns.append(f"{name}_known")
                table = table.with_columns(**{group_columns[-1]: _as_flag(self._is_known(name))})
        features = [name for name in self.columns if name.startswith(FEATURE)]
        if features:
            group_columns.append(f"{FEATURE}_known")
            table = table.with_columns(
                **{group_columns[-1]: _as_flag(reduce(and_, map(self._is_known, features)))}
            )
        for name in (SCORE, CHANGED):
            if name in self.columns:
                table = table.with_columns(**{name: _null_for_nan(nw.col(name))})
        if SCORE in self.columns:
            aggregates |= {"low": nw.col(SCORE).min(), "high": nw.col(SCORE).max()}
        if CHANGED in self.columns:
            table = table.with_columns(unchanged=_as_flag(nw.col(CHANGED).is_null()))
            aggregates["unchanged"] = nw.col("unchanged").sum()
            aggregates |= {
                "changed_low": nw.col(CHANGED).min(),
                "changed_high": nw.col(CHANGED).max(),
            }
        if WEIGHT in self.columns:
            weight = nw.col(WEIGHT)
            weight_flags = {
                "bad": 1 - _as_flag(weight.is_finite()),
                "negative": _as_flag(weight < 0),
            }
            table = table.with_columns(squares=weight * weight, **weight_flags)
            aggregates |= {name: nw.col(name).sum() for name in ("squares", *weight_flags)}
            aggregates |= {"total": weight.sum(), "least": weight.min(), "most": weight.max()}
        answer = collected(table.group_by(*group_columns).agg(nw.len().alias(NUMBER), **aggregates))
        frame = as_frame_columns(nw.to_native(answer), list(question.labels), "frame")
        weights = squares = None
        if WEIGHT in self.columns:
            least_weight = np.fmin.reduce(real(answer, "least"))
            greatest_weight = np.fmax.reduce(real(answer, "most"))
            n_not_finite, n_negative = (
                int(whole(answer, name).sum()) for name in ("bad", "negative")
            )
            check_weights(n_not_finite, n_negative, float(least_weight), float(greatest_weight))
            weights = real(answer, "total")
            squares = real(answer, "squares")

        def known(name: str, value: float) -> Any:
            if f"{name}_known" not in group_columns:
                return None
            return np.where(whole(answer, f"{name}_known") == 1, value, np.nan)

        def with_tokens(values: Any, column: str | None) -> Any:
            """A column under the name that it has in the file, with the tokens that were missing
            there.
            """
            if values is None:
                return None
            named_column = pd.Series(values, name=column, index=frame.index)
            if self.tokens:
                named_column.attrs[TOKENS] = self.tokens
            return named_column

        keys = zip(self.key_names, question.keys, strict=True)
        outcomes = Outcomes.from_arrays(
            with_tokens(frame.get(TRUE), question.y_true),
            with_tokens(frame.get(PRED), question.y_pred),
            score=known(SCORE, 0.0),
            sample_weight=weights,
            sensitive_features={
                name: with_tokens(frame[key_name], name) for key_name, name in keys
            },
            cluster=with_tokens(known(CLUSTER, 0.0), question.cluster),
            extra=frame.get(PRED_B),
            pos_label=question.pos_label,
            groups=question.groups,
            label_values=question.label_values,
            features=None if not features else np.isnan(known(FEATURE, 0.0)),
            numbers={
                argument: known(prepared_name, 0.0)
                for prepared_name, argument in ((OUTCOME, "outcome"), (PREDICTED, "predicted"))
                if prepared_name in self.columns
            },
            missing=question.missing,  # type: ignore[arg-type]
            number=whole(answer, NUMBER),
            squares=squares,
            classes=question.classes,
        )
        kept_rows = slice(None) if outcomes.kept is None else outcomes.kept
        if SCORE in self.columns:
            score_ends = np.array(
                [real(answer, "low")[kept_rows].min(), real(answer, "high")[kept_rows].max()]
            )
            clipped = on_unit_interval(score_ends, "score") is not score_ends
        if CHANGED in self.columns:
            check_changed(
                int(whole(answer, "unchanged")[kept_rows].sum()), str(question.counterfactual_score)
            )
            score_ends = np.array(
                [
                    real(answer, "changed_low")[kept_rows].min(),
                    real(answer, "changed_high")[kept_rows].max(),
                ]
            )
            clipped |= on_unit_interval(score_ends, "counterfactual_score") is not score_ends
        return (
            frame.iloc[kept_rows],
            replace(outcomes, cluster=None, score=None, numbers={}),
            clipped,
        )

    @cached_property
    def _has_rounded_ends(self) -> bool:
        """Whether a score misses an end of [0, 1] by rounding."""
        return self._cells[2]

    @property
    def outcomes(self) -> Outcomes:
        """The validated cells: one row per combination, with its number of rows.

        No scores, no clusters.
        """
        return self._cells[1]

    def key_columns(self) -> dict[str, Any]:
        """Sensitive column (and strata) → its values, with the order that the column declares."""
        frame = self._cells[0]
        result: dict[str, Any] = {}
        for key_name, column in zip(self.key_names, self.question.keys, strict=True):
            result[column] = frame[key_name]
        return result

    def place(self, answer: Any, *names: str) -> NDArray[np.intp]:
        """Position in `outcomes` of a row with the same keys and `names`, for every row of an
        answer.
        """
        cell_frame = self._cells[0]
        cell_codes = np.zeros(len(cell_frame), dtype=np.int64)
        answer_codes = np.zeros(len(answer), dtype=np.int64)
        for column_label in (*self.key_names, *names):
            labels = []
            for column in (cell_frame[column_label], answer[column_label].to_native()):
                labels.append(labels_of(column, "frame"))
            factor = factorize(np.concatenate(labels), "frame")
            size = len(factor.levels) + 1
            cell_codes = cell_codes * size + factor.codes[: len(cell_frame)] + 1
            answer_codes = answer_codes * size + factor.codes[len(cell_frame) :] + 1
        distinct_codes, first_positions = np.unique(cell_codes, return_index=True)
        return np.asarray(first_positions[np.searchsorted(distinct_codes, answer_codes)])

    def coded(self, *names: str) -> tuple[Any, list[str], Callable[[Any], NDArray[np.intp]]]:
        """The complete rows with keys and `names` as one whole number, by which engines group
        faster.

        The table; the columns to group by; and a function from an answer to the positions that
        `place` gives. Columns of many values, or of other types than text and numbers, stay as they
        are.
        """
        group_columns = [*self.key_names, *names]
        cell_frame = self._cells[0]
        factors = [factorize(cell_frame[column_label], "frame") for column_label in group_columns]
        all_plain = all(_is_plain(self._schema[column_label]) for column_label in group_columns)
        if not all_plain or sum(len(factor.levels) for factor in factors) > MOST_CODED:
            return self.complete, group_columns, lambda answer: self.place(answer, *names)
        cell_codes = np.zeros(len(cell_frame), dtype=np.int64)
        code_expression = nw.lit(0, nw.Int32)
        for column_label, factor in zip(group_columns, factors, strict=True):
            size = len(factor.levels) + 1
            cell_codes = cell_codes * size + factor.codes + 1
            code_expression = code_expression * size
            for position, level_value in enumerate(factor.levels):
                code_expression = code_expression + (position + 1) * _as_flag(
                    nw.col(column_label) == level_value
                )
        numbers, first_positions = np.unique(cell_codes, return_index=True)
        place = np.zeros(int(numbers[-1]) + 1, dtype=np.intp)
        place[numbers] = first_positions
        table = self.complete.with_columns(**{CODE: code_expression.cast(nw.Int32)})
        return table, [CODE], lambda answer: place[whole(answer, CODE)]

    def with_clusters(self, cells: CellCounts) -> CellCounts:
        """The same table with the scatter over clusters, whose totals are aggregated again in the
        engine.
        """
        labels = list(self.question.labels)
        if WEIGHT in self.columns:
            unit_total = nw.col(WEIGHT).sum()
        else:
            unit_total = nw.len()
        unit_table = self.complete.group_by(*labels, CLUSTER).agg(unit_total.alias("total"))
        unit_table = joinable(unit_table.with_columns(total=nw.col("total").cast(nw.Float64)))
        other_names = {label_name: f"{label_name}_other" for label_name in labels}
        paired_units = unit_table.join(
            unit_table.rename({**other_names, "total": "total_other"}), on=CLUSTER, how="inner"
        )
        paired_units = paired_units.with_columns(product=nw.col("total") * nw.col("total_other"))
        answer = collected(
            paired_units.group_by(*labels, *other_names.values()).agg(nw.col("product").sum())
        )
        twin_answer = answer.select(
            **{label_name: nw.col(twin_name) for label_name, twin_name in other_names.items()}
        )
        outcomes = self.outcomes
        cell_codes: NDArray[Any]
        if outcomes.classes is not None:
            cell_codes = class_cells(outcomes)
        elif outcomes.y_true is None or outcomes.y_pred is None:
            cell_codes = 1 - (outcomes.y_true if outcomes.y_pred is None else outcomes.y_pred)  # type: ignore[operator, assignment]
        else:
            if outcomes.extra is None:
                cell_codes = confusion_cells(outcomes)
            else:
                cell_codes = 7 - 4 * outcomes.y_true - 2 * outcomes.y_pred - outcomes.extra
        position = outcomes.groups.codes.astype(np.intp) * len(cells.cells) + cell_codes
        scatter = np.zeros((cells.totals.size, cells.totals.size))
        places = tuple(
            position[self.place(answer_part, *labels)] for answer_part in (answer, twin_answer)
        )
        np.add.at(scatter, places, real(answer, "product"))
        groups = self.complete.group_by(*self.key_names, CLUSTER).agg(nw.len().alias(NUMBER))
        answer = collected(groups.group_by(*self.key_names).agg(nw.len().alias(NUMBER)))
        group = outcomes.groups.codes[self.place(answer)]
        n_units = collected(self.complete.select(nw.col(CLUSTER).n_unique().alias(NUMBER)))
        return replace(
            cells,
            scatter=scatter,
            n_units=int(whole(n_units, NUMBER)[0]),
            clustered=True,
            group_units=np.bincount(group, whole(answer, NUMBER), len(cells.groups)).astype(
                np.int64
            ),
            squares=cells.squared_weights,
        )


def _null_for_nan(expression: Any) -> Any:
    return nw.when(~expression.is_nan()).then(expression)


def _without_negative_zero(expression: Any) -> Any:
    return nw.when(expression == 0).then(0.0).otherwise(expression)


def _is_text(column_type: Any) -> bool:
    return isinstance(column_type, (nw.String, nw.Categorical))


def _may_be_empty(column_type: Any) -> bool:
    """Whether a column can hold empty text.

    Engines refuse to compare an enumeration with what it does not have.
    """
    return _is_text(column_type) or (
        isinstance(column_type, nw.Enum) and "" in column_type.categories
    )


def _is_plain(column_type: Any) -> bool:
    """Whether values are compared with Python's own in every engine.

    Text, truth values, integers and floats.
    """
    is_wide_integer = isinstance(column_type, (nw.Int128, nw.UInt128))
    number = (column_type.is_integer() or column_type.is_float()) and not is_wide_integer
    return number or _is_text(column_type) or isinstance(column_type, (nw.Enum, nw.Boolean))


def _as_flag(condition: Any) -> Any:
    """1 where it holds, else 0."""
    return nw.when(condition).then(1).otherwise(0)
