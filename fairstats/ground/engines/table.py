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
from fairstats.ground.values import factorize, labels_of

#: Columns of the prepared table; keys and features are numbered.
TRUE, PRED, PRED_B, SCORE, CHANGED, WEIGHT, CLUSTER = (
    "fs_true", "fs_pred", "fs_pred_b", "fs_score", "fs_changed", "fs_weight", "fs_cluster",
)  # fmt: skip
#: Up to so many values of keys and labels are coded in the engine.
MOST_CODED = 100
KEY, FEATURE, NUMBER, CODE = "fs_key", "fs_feature", "fs_n", "fs_code"


@dataclass(frozen=True)
class Question:
    """What is counted of a table: names of its columns, and how they are read, as `fairstats.tally` says."""

    keys: tuple[str, ...]
    y_true: str | None = None
    y_pred: str | None = None
    y_pred_b: str | None = None
    score: str | None = None
    counterfactual_score: str | None = None
    sample_weight: str | None = None
    cluster: str | None = None
    features: tuple[str, ...] = ()
    pos_label: Any = None
    label_values: Any = None
    missing: str = "raise"
    groups: Sequence[Hashable] | None = None
    score_range: tuple[float, float] = (0.0, 1.0)
    number: str | None = None

    def __post_init__(self) -> None:
        check_different("sensitive_features, strata", self.keys)

    @property
    def names(self) -> list[str]:
        """Every column that is asked for."""
        clusters = [] if self.cluster is None else [self.cluster]
        return [*self.labels.values(), *clusters, *self.features, *(column for _, column in self.numbers.values())]

    @property
    def reading_roles(self) -> Roles:
        """What the columns are read as from a file."""
        numbers = [column for _, column in self.numbers.values()]
        return Roles.of([*self.labels.values(), self.cluster], [*numbers, self.number], self.features)

    def on_unit(self, scores: Any) -> Any:
        """Scores (an array, or an expression) on the scale from 0 to 1."""
        low, high = self.score_range
        return scores if (low, high) == (0.0, 1.0) else (scores - low) / (high - low)

    @property
    def labels(self) -> dict[str, str]:
        """Name in the prepared table → column, of keys and labels."""
        named = {f"{KEY}{k}": name for k, name in enumerate(self.keys)}
        asked = {TRUE: self.y_true, PRED: self.y_pred, PRED_B: self.y_pred_b}
        return named | {name: column for name, column in asked.items() if column is not None}

    @property
    def numbers(self) -> dict[str, tuple[str, str]]:
        """Name in the prepared table → (argument, column), of numbers."""
        asked = {SCORE: "score", CHANGED: "counterfactual_score", WEIGHT: "sample_weight"}
        columns = {name: (argument, getattr(self, argument)) for name, argument in asked.items()}
        return {name: both for name, both in columns.items() if both[1] is not None}


@dataclass(frozen=True, eq=False)
class LazyRows:
    """A lazy table and the question asked of it; every part is a query of its own."""

    table: Any
    question: Question
    #: Column of a text file → token that reads as missing → number of fields.
    tokens: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    @classmethod
    def prepare(cls, table: Any, question: Question) -> LazyRows:
        """Choose and name the columns by the rule of `values`: numbers are doubles, what is missing is null.

        Among scores it can be NaN still, and among keys and labels empty text, which `_is_known` asks for: DuckDB
        forgets the range of a column once a CASE stands around it, and then groups and joins more slowly. Only
        where missing values are a group of their own, must null and empty text be one value.
        """
        schema = table.collect_schema()
        check_columns("frame", list(dict.fromkeys(question.names)), schema.names())
        plain = question.labels | ({CLUSTER: question.cluster} if question.cluster is not None else {})
        plain |= {f"{FEATURE}{k}": name for k, name in enumerate(question.features)}
        chosen = {}
        for name, column in plain.items():
            chosen[name] = nw.col(column)
            if schema[column].is_float():
                chosen[name] = _without_negative_zero(_null_for_nan(nw.col(column)))
            elif _may_be_empty(schema[column]) and question.missing == "group" and name.startswith(KEY):
                chosen[name] = nw.when(nw.col(column) != "").then(nw.col(column))
        for name, (argument, column) in question.numbers.items():
            if not schema[column].is_numeric():
                got, cure = f"a column of type {schema[column]}", f"convert {column!r} to numbers in the table"
                raise InputError(argument, got=got, allowed="one number per row", cure=cure)
            chosen[name] = nw.col(column).cast(nw.Float64)
            chosen[name] = chosen[name] if name == WEIGHT else question.on_unit(chosen[name])
        return cls(table.select(**chosen), question, record_of(table).tokens)

    @property
    def key_names(self) -> list[str]:
        """The sensitive columns and strata in the prepared table."""
        return [f"{KEY}{k}" for k in range(len(self.question.keys))]

    @cached_property
    def complete(self) -> Any:
        """The rows that count: those without a missing value; all of them where none was left out."""
        table = self.table
        if self.outcomes.missing.n_dropped > 0:
            table = table.filter(*(self._is_known(name) for name in self._needed))
        if self._clipped:
            for name in (SCORE, CHANGED):
                if name in self.columns:
                    table = table.with_columns(**{name: nw.col(name).clip(0.0, 1.0)})
        return table

    @cached_property
    def _schema(self) -> Any:
        return self.table.collect_schema()

    @property
    def _needed(self) -> list[str]:
        """The prepared columns without which a row is incomplete; where missing keys are a group, not these."""
        others = [name for name in self.columns if name in (SCORE, CLUSTER) or name.startswith(FEATURE)]
        optional = self.key_names if self.question.missing == "group" else []
        return [*(name for name in self.question.labels if name not in optional), *others]

    def _is_known(self, name: str) -> Any:
        """Where a prepared column is not missing, by the rule of `values`."""
        column = nw.col(name)
        dtype = self._schema[name]
        known = ~column.is_null()
        if _may_be_empty(dtype):
            known = known & (column != "")
        if name == SCORE:
            known = known & ~column.is_nan()
        return known

    @property
    def weights(self) -> list[Any]:
        """What the score's query needs beside keys: the score, the weight and its square."""
        weight = nw.col(WEIGHT)
        return [SCORE, *([weight, (weight * weight).alias("fs_squares")] if WEIGHT in self.columns else [])]

    @cached_property
    def columns(self) -> list[str]:
        """Names of the prepared columns."""
        return list(self.table.collect_schema().names())

    @cached_property
    def _cells(self) -> tuple[pd.DataFrame, Outcomes, bool]:
        """One row per combination of keys, labels and what is missing, without those left out; the same validated.

        And whether scores miss an end of [0, 1] by rounding.
        """
        table, q, sums = self.table, self.question, dict[str, Any]()
        clipped = False
        by = list(q.labels)
        for name in (SCORE, CLUSTER):
            if name in self.columns:
                by.append(f"{name}_known")
                table = table.with_columns(**{by[-1]: _flag(self._is_known(name))})
        features = [name for name in self.columns if name.startswith(FEATURE)]
        if features:
            by.append(f"{FEATURE}_known")
            table = table.with_columns(**{by[-1]: _flag(reduce(and_, map(self._is_known, features)))})
        for name in (SCORE, CHANGED):
            if name in self.columns:
                table = table.with_columns(**{name: _null_for_nan(nw.col(name))})
        if SCORE in self.columns:
            sums |= {"low": nw.col(SCORE).min(), "high": nw.col(SCORE).max()}
        if CHANGED in self.columns:
            table = table.with_columns(unchanged=_flag(nw.col(CHANGED).is_null()))
            sums["unchanged"] = nw.col("unchanged").sum()
            sums |= {"changed_low": nw.col(CHANGED).min(), "changed_high": nw.col(CHANGED).max()}
        if WEIGHT in self.columns:
            weight = nw.col(WEIGHT)
            flags = {"bad": 1 - _flag(weight.is_finite()), "negative": _flag(weight < 0)}
            table = table.with_columns(squares=weight * weight, **flags)
            sums |= {name: nw.col(name).sum() for name in ("squares", *flags)}
            sums |= {"total": weight.sum(), "least": weight.min(), "most": weight.max()}
        answer = collected(table.group_by(*by).agg(nw.len().alias(NUMBER), **sums))
        frame = as_frame_columns(nw.to_native(answer), list(q.labels), "frame")
        weights = squares = None
        if WEIGHT in self.columns:
            least, most = np.fmin.reduce(real(answer, "least")), np.fmax.reduce(real(answer, "most"))
            bad, negative = (int(whole(answer, name).sum()) for name in ("bad", "negative"))
            check_weights(bad, negative, float(least), float(most))
            weights, squares = real(answer, "total"), real(answer, "squares")

        def known(name: str, value: float) -> Any:
            if f"{name}_known" not in by:
                return None
            return np.where(whole(answer, f"{name}_known") == 1, value, np.nan)

        def with_tokens(values: Any, column: str | None) -> Any:
            """A column under the name that it has in the file, with the tokens that were missing there."""
            if values is None:
                return None
            named = pd.Series(values, name=column, index=frame.index)
            if self.tokens:
                named.attrs[TOKENS] = self.tokens
            return named

        keys = zip(self.key_names, q.keys, strict=True)
        outcomes = Outcomes.from_arrays(
            with_tokens(frame.get(TRUE), q.y_true), with_tokens(frame.get(PRED), q.y_pred),
            score=known(SCORE, 0.0), sample_weight=weights,
            sensitive_features={name: with_tokens(frame[key], name) for key, name in keys},
            cluster=with_tokens(known(CLUSTER, 0.0), q.cluster), extra=frame.get(PRED_B),
            pos_label=q.pos_label, groups=q.groups,
            label_values=q.label_values, features=None if not features else np.isnan(known(FEATURE, 0.0)),
            missing=q.missing, number=whole(answer, NUMBER), squares=squares,  # type: ignore[arg-type]
        )  # fmt: skip
        kept = slice(None) if outcomes.kept is None else outcomes.kept
        if SCORE in self.columns:
            ends = np.array([real(answer, "low")[kept].min(), real(answer, "high")[kept].max()])
            clipped = on_unit_interval(ends, "score") is not ends
        if CHANGED in self.columns:
            check_changed(int(whole(answer, "unchanged")[kept].sum()), str(q.counterfactual_score))
            ends = np.array([real(answer, "changed_low")[kept].min(), real(answer, "changed_high")[kept].max()])
            clipped |= on_unit_interval(ends, "counterfactual_score") is not ends
        return frame.iloc[kept], replace(outcomes, cluster=None, score=None), clipped

    @cached_property
    def _clipped(self) -> bool:
        """Whether a score misses an end of [0, 1] by rounding."""
        return self._cells[2]

    @property
    def outcomes(self) -> Outcomes:
        """The validated cells: one row per combination, with its number of rows; no scores, no clusters."""
        return self._cells[1]

    def key_columns(self) -> dict[str, Any]:
        """Sensitive column (and strata) → its values, with the order that the column declares."""
        frame = self._cells[0]
        return {column: frame[name] for name, column in zip(self.key_names, self.question.keys, strict=True)}

    def place(self, answer: Any, *names: str) -> NDArray[np.intp]:
        """Position in `outcomes` of a row with the same keys and `names`, for every row of an answer."""
        known = self._cells[0]
        mine, theirs = np.zeros(len(known), dtype=np.int64), np.zeros(len(answer), dtype=np.int64)
        for name in (*self.key_names, *names):
            labels = [labels_of(column, "frame") for column in (known[name], answer[name].to_native())]
            factor = factorize(np.concatenate(labels), "frame")
            size = len(factor.levels) + 1
            mine = mine * size + factor.codes[: len(known)] + 1
            theirs = theirs * size + factor.codes[len(known) :] + 1
        found, first = np.unique(mine, return_index=True)
        return np.asarray(first[np.searchsorted(found, theirs)])

    def coded(self, *names: str) -> tuple[Any, list[str], Callable[[Any], NDArray[np.intp]]]:
        """The complete rows with keys and `names` as one whole number, by which engines group faster.

        The table; the columns to group by; and a function from an answer to the positions that `place` gives.
        Columns of many values, or of other types than text and numbers, stay as they are.
        """
        by, known = [*self.key_names, *names], self._cells[0]
        factors = [factorize(known[name], "frame") for name in by]
        plain = all(_is_plain(self._schema[name]) for name in by)
        if not plain or sum(len(factor.levels) for factor in factors) > MOST_CODED:
            return self.complete, by, lambda answer: self.place(answer, *names)
        mine, code = np.zeros(len(known), dtype=np.int64), nw.lit(0, nw.Int32)
        for name, factor in zip(by, factors, strict=True):
            size = len(factor.levels) + 1
            mine = mine * size + factor.codes + 1
            code = code * size
            for position, value in enumerate(factor.levels):
                code = code + (position + 1) * _flag(nw.col(name) == value)
        numbers, first = np.unique(mine, return_index=True)
        place = np.zeros(int(numbers[-1]) + 1, dtype=np.intp)
        place[numbers] = first
        table = self.complete.with_columns(**{CODE: code.cast(nw.Int32)})
        return table, [CODE], lambda answer: place[whole(answer, CODE)]

    def with_clusters(self, cells: CellCounts) -> CellCounts:
        """The same table with the scatter over clusters, whose totals are aggregated again in the engine."""
        labels = list(self.question.labels)
        value = nw.col(WEIGHT).sum() if WEIGHT in self.columns else nw.len()
        units = self.complete.group_by(*labels, CLUSTER).agg(value.alias("total"))
        units = joinable(units.with_columns(total=nw.col("total").cast(nw.Float64)))
        other = {name: f"{name}_other" for name in labels}
        both = units.join(units.rename({**other, "total": "total_other"}), on=CLUSTER, how="inner")
        both = both.with_columns(product=nw.col("total") * nw.col("total_other"))
        answer = collected(both.group_by(*labels, *other.values()).agg(nw.col("product").sum()))
        twins = answer.select(**{name: nw.col(twin) for name, twin in other.items()})
        out = self.outcomes
        if out.y_true is None or out.y_pred is None:
            cell = 1 - (out.y_true if out.y_pred is None else out.y_pred)  # type: ignore[operator]
        else:
            cell = confusion_cells(out) if out.extra is None else 7 - 4 * out.y_true - 2 * out.y_pred - out.extra
        position = out.groups.codes.astype(np.intp) * len(cells.cells) + cell
        scatter = np.zeros((cells.totals.size, cells.totals.size))
        places = tuple(position[self.place(part, *labels)] for part in (answer, twins))
        np.add.at(scatter, places, real(answer, "product"))
        groups = self.complete.group_by(*self.key_names, CLUSTER).agg(nw.len().alias(NUMBER))
        answer = collected(groups.group_by(*self.key_names).agg(nw.len().alias(NUMBER)))
        group = out.groups.codes[self.place(answer)]
        n_units = collected(self.complete.select(nw.col(CLUSTER).n_unique().alias(NUMBER)))
        return replace(
            cells, scatter=scatter, n_units=int(whole(n_units, NUMBER)[0]), clustered=True,
            group_units=np.bincount(group, whole(answer, NUMBER), len(cells.groups)).astype(np.int64),
            squares=cells.squared_weights,
        )  # fmt: skip


def _null_for_nan(value: Any) -> Any:
    return nw.when(~value.is_nan()).then(value)


def _without_negative_zero(value: Any) -> Any:
    return nw.when(value == 0).then(0.0).otherwise(value)


def _is_text(dtype: Any) -> bool:
    return isinstance(dtype, (nw.String, nw.Categorical))


def _may_be_empty(dtype: Any) -> bool:
    """Whether a column can hold empty text; engines refuse to compare an enumeration with what it does not have."""
    return _is_text(dtype) or (isinstance(dtype, nw.Enum) and "" in dtype.categories)


def _is_plain(dtype: Any) -> bool:
    """Whether values are compared with Python's own in every engine: text, truth values, integers and floats."""
    wide = isinstance(dtype, (nw.Int128, nw.UInt128))
    number = (dtype.is_integer() or dtype.is_float()) and not wide
    return number or _is_text(dtype) or isinstance(dtype, (nw.Enum, nw.Boolean))


def _flag(condition: Any) -> Any:
    """1 where it holds, else 0."""
    return nw.when(condition).then(1).otherwise(0)
