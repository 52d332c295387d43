"""Validated columns: with `encoding` the only place that looks at what a user passes.

The rest sees arrays of codes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import (
    LARGEST,
    check_choice,
    check_one_length,
    check_summand,
    check_that,
)
from fairstats.ground.encoding import (
    ClassNames,
    LabelCodes,
    are_classes,
    as_float_column,
    binary_columns,
    class_columns,
    rows_of_labels,
)
from fairstats.ground.errors import DataWarning, InputError, MissingValuesWarning, caution
from fairstats.ground.factors import MISSING, Factor
from fairstats.ground.groups import Grouping, encode_groups
from fairstats.ground.lazy import pd
from fairstats.ground.progress import under_way
from fairstats.ground.reading.record import TOKENS
from fairstats.ground.serialise import serialisable
from fairstats.ground.values import factorize, missing_rows
from fairstats.ground.verdict import with_fields

MissingPolicy = Literal["raise", "drop", "group"]

#: Scores may miss the ends of [0, 1] by so much, a few units in the last place, and are clipped.
_ROUNDING_TOLERANCE = 8 * float(np.finfo(np.float64).eps)


@serialisable()
class MissingReport:
    """What was missing and what was done about it, and which labels counted as not favourable.

    `n_rows`: that came in; `by_column`: missing values per argument; `patterns`: rows left out by
    what is known of them, for worst-case bounds: position of the group, label, prediction (-1 where
    unknown), and how many; empty when rows were weighted; `tokens`: of columns of a text file,
    column → token that stood for a missing value → rows; `unfavourable`: argument → label → rows,
    where several labels beside `pos_label` count as not favourable.
    """

    policy: str = "raise"
    n_rows: int = 0
    n_dropped: int = 0
    by_column: dict[str, int] = field(default_factory=dict)
    patterns: tuple[tuple[int, int, int, int], ...] = ()
    tokens: dict[str, dict[str, int]] = field(default_factory=dict)
    unfavourable: dict[str, dict[str, int]] = field(default_factory=dict)

    def _with_new_groups(self, position: Sequence[int]) -> MissingReport:
        """The same report where group g has become group ``position[g]``."""
        moved_counts: Counter[tuple[int, int, int]] = Counter()
        for group, label, prediction, count in self.patterns:
            moved_counts[group if group < 0 else int(position[group]), label, prediction] += count
        return replace(
            self,
            patterns=tuple(
                (*row_pattern, count) for row_pattern, count in sorted(moved_counts.items())
            ),
        )

    def __add__(self, other: MissingReport) -> MissingReport:
        """What was left out of two sets of rows with the same groups."""
        check_summand(self, other)
        column_counts = Counter(self.by_column)
        column_counts.update(other.by_column)
        joined = replace(
            self,
            policy=self.policy if self.n_dropped or not other.n_dropped else other.policy,
            n_rows=self.n_rows + other.n_rows,
            n_dropped=self.n_dropped + other.n_dropped,
            by_column=dict(column_counts),
            patterns=self.patterns + other.patterns,
            tokens=_add_counts(self.tokens, other.tokens),
            unfavourable=_add_counts(self.unfavourable, other.unfavourable),
        )
        groups = [group for group, *_ in joined.patterns]
        return joined._with_new_groups(range(max(groups, default=-1) + 1))

    @property
    def sentence(self) -> str:
        """What the report says about missing rows."""
        if self.policy == "drop" and self.n_dropped:
            missing_by_column = ", ".join(
                f"{column_label}: {count}"
                for column_label, count in self.by_column.items()
                if count
            )
            sentence_text = f"{self.n_dropped} of {self.n_rows} rows left out for missing values ({missing_by_column})."
        elif self.policy == "group" and any(self.by_column.values()):
            count = sum(self.by_column.values())
            sentence_text = (
                f"{count} rows with a missing sensitive value form a group of their own."
            )
        else:
            return "No rows were left out for missing values."
        if self.tokens:
            return f"{sentence_text} {self._tokens_in_words}"
        return sentence_text

    @property
    def _tokens_in_words(self) -> str:
        """Which tokens of a text file were read as missing: "race: 480 rows with 'NA'"."""
        column_sentences = []
        for column, tokens in self.tokens.items():
            token_words = ", ".join(
                f"{count:,} rows with {token!r}" for token, count in tokens.items()
            )
            column_sentences.append(f"{column}: {token_words}")
        return f"Read as missing: {'; '.join(column_sentences)} (na_values= says what is)."

    @property
    def labels_in_words(self) -> str:
        """The labels beside `pos_label` with their rows, where there are several.

        Empty where there are none.
        """
        return " ".join(
            words_of_labels(argument, labels) for argument, labels in self.unfavourable.items()
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """What a result says of rows left out, and of labels that count as not favourable.

        Empty where nothing is.
        """
        if self.n_dropped or (self.tokens and self.policy == "group"):
            missing_sentences = [self.sentence]
        else:
            missing_sentences = []
        if self.unfavourable:
            return (*missing_sentences, self.labels_in_words)
        return tuple(missing_sentences)


#: Labels that are named with their rows; of more only their number is said.
_MOST_LABELS = 8


def words_of_labels(column: str, labels: Mapping[str, int]) -> str:
    """The labels that count as not favourable.

    "risk: counted as not favourable: Medium 1,200 rows, High 800.".
    """
    label_words = [f"{label} {count:,}" for label, count in labels.items()]
    label_words[0] += " rows"
    n_more_labels = len(label_words) - _MOST_LABELS
    if n_more_labels > 0:
        noun = "label" if n_more_labels == 1 else "labels"
        label_words = [*label_words[:_MOST_LABELS], f"and {n_more_labels:,} other {noun}"]
    return f"{column}: counted as not favourable: {', '.join(label_words)}."


def _add_counts(
    first_counts: dict[str, dict[str, int]], second_counts: dict[str, dict[str, int]]
) -> dict[str, dict[str, int]]:
    """Column → value → rows of two sets of rows together."""
    joined_counts = {column_label: dict(counts) for column_label, counts in first_counts.items()}
    for column_label, counts in second_counts.items():
        own_counts = joined_counts.setdefault(column_label, {})
        for column_value, count in counts.items():
            own_counts[column_value] = own_counts.get(column_value, 0) + count
    return joined_counts


@dataclass(frozen=True)
class Outcomes:
    """Validated columns of one data set, row by row; all of shape (n,).

    `y_true`, `y_pred`, `extra`: 1 where the favourable label is present, else 0, `extra` of a
    second model; of several `classes` the position of the class; `score` in [0, 1]; `weight`:
    non-negative, finite; `kept`: positions of these rows among those that came, None for all. Rows
    counted elsewhere come as one row per combination of values: `number` of rows that each stands
    for (None: one); `weight` then is the sum of their weights, `squares` that of the squared
    weights.
    """

    groups: Grouping
    y_true: NDArray[np.uint8] | None
    y_pred: NDArray[np.uint8] | None
    score: NDArray[np.float64] | None
    weight: NDArray[np.float64] | None
    cluster: Factor | None
    strata: Factor | None
    missing: MissingReport
    extra: NDArray[np.uint8] | None = None
    kept: NDArray[np.intp] | None = None
    number: NDArray[np.int64] | None = None
    squares: NDArray[np.float64] | None = None
    #: Rows with a missing feature, while missing values are settled.
    features: NDArray[np.float64] | None = None
    #: Columns of any numbers (wages, prices, errors), by argument.
    numbers: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    classes: ClassNames | None = None

    @classmethod
    @under_way("reading rows")
    def from_arrays(
        cls,
        y_true: Any = None,
        y_pred: Any = None,
        *,
        sensitive_features: Any,
        score: Any = None,
        sample_weight: Any = None,
        cluster: Any = None,
        strata: Any = None,
        extra: Any = None,
        pos_label: Any = None,
        missing: MissingPolicy = "raise",
        groups: Sequence[Hashable] | None = None,
        number: NDArray[np.int64] | None = None,
        squares: NDArray[np.float64] | None = None,
        label_values: Any = None,
        features: Any = None,
        numbers: Mapping[str, Any] | None = None,
        classes: bool | None = False,
    ) -> Outcomes:
        """Validate and encode columns, of any type and library, as `disparate_impact` takes them.

        `extra`: a second prediction of the same rows, already coded; `missing`: an error; leave
        rows out and count them; or make missing sensitive values a group of their own; `number`,
        `squares`: where rows stand for several; `label_values`: the labels that may occur;
        `features`: columns (or the mask of their missing rows) that are not kept here, but whose
        missing values count as those of the other columns; `numbers`: argument → column of any
        numbers, as wages or prices; `classes`: whether outcome and prediction are coded as several
        classes, None where they have three values or more and no favourable one.
        """
        numbers = numbers or {}
        check_choice("missing", missing, ("raise", "drop", "group"), cure="name a policy")
        allowed = "one column, or several, that say which group each row belongs to"
        advice = "pass sensitive_features=, or counts= if the data are already counted"
        check_that(sensitive_features is not None, "sensitive_features", None, allowed, advice)
        check_row_labels(
            y_true=y_true,
            y_pred=y_pred,
            sensitive_features=sensitive_features,
            score=score,
            sample_weight=sample_weight,
            cluster=cluster,
            strata=strata,
            y_pred_b=extra,
        )
        if numbers:
            check_row_labels(sensitive_features=sensitive_features, **numbers)
        grouping = encode_groups(sensitive_features, missing=missing, groups=groups, number=number)
        if classes is None:
            classes = are_classes(pos_label, label_values, y_true=y_true, y_pred=y_pred)
        class_names = None
        coded: Mapping[str, Factor | None]
        if classes and (y_true is not None or y_pred is not None):
            check_that(extra is None, "y_pred_b", "a column", "None beside classes", "leave it out")
            coded, class_names = class_columns(
                pos_label, label_values, y_true=y_true, y_pred=y_pred
            )
        else:
            coded = binary_columns(pos_label, label_values, y_true=y_true, y_pred=y_pred)
        true_labels, predicted_labels = coded.values()
        second_labels = None
        if extra is not None:
            second_labels = binary_columns(None, y_pred_b=extra)["y_pred_b"]
        codes = []
        for factor in (true_labels, predicted_labels, second_labels):
            codes.append(None if factor is None else factor.codes)
        tokens = _missing_tokens(sensitive_features, y_true, y_pred, strata, cluster)
        columns = cls(
            groups=grouping,
            y_true=codes[0],  # type: ignore[arg-type]
            y_pred=codes[1],  # type: ignore[arg-type]
            extra=codes[2],  # type: ignore[arg-type]
            score=None if score is None else as_float_column(score, "score"),
            weight=(
                None if sample_weight is None else as_float_column(sample_weight, "sample_weight")
            ),
            cluster=None if cluster is None else factorize(cluster, "cluster"),
            strata=None if strata is None else factorize(strata, "strata"),
            missing=MissingReport(policy=missing, tokens=tokens),
            number=number,
            squares=squares,
            features=_missing_features(features),
            numbers={
                argument: _check_number_column(as_float_column(column, argument), argument)
                for argument, column in numbers.items()
            },
            classes=class_names,
        )
        lengths = {column_role: column.size for column_role, column in columns._columns().items()}
        check_one_length(", ".join(lengths), lengths)
        if columns.n_rows == 0:
            raise InputError(
                "sensitive_features",
                got="0 rows",
                allowed="at least one row",
                cure="pass data",
            )
        check_weight_column(columns.weight)
        columns = columns._settle_missing(missing)
        unfavourable = {}
        for argument, labels in (("y_true", true_labels), ("y_pred", predicted_labels)):
            if isinstance(labels, LabelCodes) and labels.beside is not None:
                unfavourable[argument] = columns.rows_by_label(labels.beside, labels.codes)
        if unfavourable:
            columns = replace(columns, missing=replace(columns.missing, unfavourable=unfavourable))
        score = on_unit_interval(columns.score, "score")
        if score is columns.score and columns.features is None:
            return columns
        return replace(columns, score=score, features=None)

    @property
    def n_rows(self) -> int:
        """Number of rows that are used."""
        if self.number is None:
            return self.groups.codes.size
        return int(self.number.sum())

    def _columns(self) -> dict[str, NDArray[Any]]:
        """The columns that were given, by argument."""
        column_by_role: dict[str, Any] = {
            "sensitive_features": self.groups.codes,
            "y_true": self.y_true,
            "y_pred": self.y_pred,
            "y_pred_b": self.extra,
            "score": self.score,
            "sample_weight": self.weight,
            "cluster": self.cluster and self.cluster.codes,
            "strata": self.strata and self.strata.codes,
            "features": self.features,
            **self.numbers,
        }
        columns: dict[str, NDArray[Any]] = {}
        for column_role, column in column_by_role.items():
            if column is not None:
                columns[column_role] = column
        return columns

    def rows_by_label(self, labels: Factor, codes: NDArray[Any]) -> dict[str, int]:
        """Rows of each label that counts as not favourable, the most frequent first; `codes`: 1
        where favourable.
        """
        kept_rows = slice(None) if self.kept is None else self.kept
        used_labels = replace(labels, codes=labels.codes[kept_rows])
        return rows_of_labels(used_labels, codes[kept_rows] == 0, self.number)

    def _number_of(self, mask: NDArray[np.bool_]) -> int:
        """Rows where the mask is true."""
        return int((mask if self.number is None else self.number[mask]).sum())

    def _settle_missing(self, policy: MissingPolicy) -> Outcomes:
        """Refuse or leave out the rows with a missing value, and count them."""
        by_column = {}
        lacking = {}
        for column_role, column in self._columns().items():
            by_column[column_role] = 0
            missing_mask = _missing_mask(column)
            if missing_mask is not None:
                by_column[column_role] = self._number_of(missing_mask)
                lacking[column_role] = missing_mask
        if policy == "group":
            by_column["sensitive_features"] = self.groups.n_missing
        if lacking and policy != "drop":
            names = ", ".join(
                f"{column_role} ({by_column[column_role]:,})" for column_role in lacking
            )
            received = f"missing values: {names} of {self.n_rows:,} rows"
            allowed = (
                'no missing values under missing="raise"; under "group" only in sensitive_features'
            )
            advice = 'pass missing="drop" to leave those rows out and count them'
            advice += ', or missing="group"' if set(lacking) == {"sensitive_features"} else ""
            raise InputError(next(iter(lacking)), got=received, allowed=allowed, cure=advice)
        report = with_fields(self.missing, n_rows=self.n_rows, by_column=by_column)
        if not lacking:
            return with_fields(self, missing=report)
        is_dropped = np.logical_or.reduce(list(lacking.values()))
        if self.weight is None and self.cluster is None and self.classes is None:
            patterns = _dropped_patterns(self, is_dropped)
        else:
            patterns = ()
        report = replace(report, n_dropped=self._number_of(is_dropped), patterns=patterns)
        if is_dropped.all():
            received = f"no complete row among {self.n_rows:,}"
            allowed = "at least one row without missing values"
            advice = "look at the columns that are missing"
            raise InputError(next(iter(lacking)), got=received, allowed=allowed, cure=advice)
        caution(report.sentence, MissingValuesWarning)
        return self.take(~is_dropped, missing=report)

    def without_classes(self) -> Outcomes:
        """The rows without labels, where these are classes, of which other parts know nothing."""
        if self.classes is None:
            return self
        return replace(self, y_true=None, y_pred=None, classes=None)

    def take(self, keep: NDArray[np.bool_], *, missing: MissingReport | None = None) -> Outcomes:
        """The rows where `keep` is true."""

        def cut(column: Any) -> Any:
            if isinstance(column, (Factor, Grouping)):
                return replace(column, codes=column.codes[keep])
            return None if column is None else column[keep]

        kept_rows = np.flatnonzero(keep) if self.kept is None else self.kept[keep]
        cut_columns = {
            field_name: cut(column)
            for field_name, column in vars(self).items()
            if field_name not in ("missing", "kept", "numbers", "classes")
        }
        cut_columns["numbers"] = {
            argument: column[keep] for argument, column in self.numbers.items()
        }
        return replace(self, missing=missing or self.missing, kept=kept_rows, **cut_columns)


def _missing_mask(column: NDArray[Any]) -> NDArray[np.bool_] | None:
    """Where a column lacks its value; None where it has all."""
    if column.dtype.kind == "f":
        is_missing = np.isnan(column)
        return is_missing if is_missing.any() else None
    if column.dtype.kind == "i" and column.size and int(column.min()) == MISSING:
        return np.asarray(column == MISSING)
    return None


def _dropped_patterns(
    columns: Outcomes, is_dropped: NDArray[np.bool_]
) -> tuple[tuple[int, int, int, int], ...]:
    """Dropped rows by what is known of them."""
    n_dropped = int(is_dropped.sum())
    if columns.number is None:
        number = np.ones(n_dropped, dtype=np.int64)
    else:
        number = columns.number[is_dropped]
    known_codes = []
    for column in (columns.groups.codes, columns.y_true, columns.y_pred):
        known_codes.append(
            np.full(n_dropped, MISSING, dtype=np.int64)
            if column is None
            else column[is_dropped].astype(np.int64)
        )
    distinct_patterns, pattern_codes = np.unique(
        np.column_stack(known_codes), axis=0, return_inverse=True
    )
    counts = np.bincount(pattern_codes.ravel(), number).astype(np.int64)
    dropped_patterns = []
    for (group_code, true_code, predicted_code), pattern_count in zip(
        distinct_patterns.tolist(), counts.tolist(), strict=True
    ):
        dropped_patterns.append((group_code, true_code, predicted_code, pattern_count))
    return tuple(dropped_patterns)


def check_weight_column(weight: NDArray[np.float64] | None) -> None:
    """Raise unless weights can be used: see `check_weights`."""
    if weight is not None and weight.size:
        n_not_finite = int((~np.isfinite(weight)).sum())
        n_negative = int((weight < 0).sum())
        check_weights(n_not_finite, n_negative, float(weight.min()), float(weight.max()))


#: Largest size of a number whose third power is summed.
_LARGEST_NUMBER = 1e80


def _check_number_column(column: NDArray[np.float64], argument: str) -> NDArray[np.float64]:
    """The column, or an error where a value is infinite or so large that its cube overflows, or
    where all are so small that their cubes are 0.
    """
    sizes = np.abs(column)
    n_beyond = int((sizes > _LARGEST_NUMBER).sum())
    if n_beyond:
        raise InputError(
            argument,
            got=f"{n_beyond:,} values that are infinite or beyond {_LARGEST_NUMBER:g}",
            allowed="finite numbers, whose cubes can be summed",
            cure="leave them out, and say so, or change the unit",
        )
    largest = float(np.nanmax(sizes, initial=0.0))
    if 0 < largest < 1 / _LARGEST_NUMBER:
        raise InputError(
            argument,
            got=f"no number beyond {largest:g}",
            allowed=f"numbers whose cubes can be summed: some beyond {1 / _LARGEST_NUMBER:g}",
            cure="change the unit",
        )
    return column


def check_weights(bad: int, negative: int, least: float, most: float) -> None:
    """Raise where some weights are NaN or infinite (`bad` of them) or `negative`, or the largest is
    0 or extreme.
    """
    if bad:
        received = f"{bad:,} values that are NaN or infinite"
    elif negative:
        received = f"{negative:,} negative values (least {least:g})"
    elif most == 0:
        received = "only zeros"
    elif most > LARGEST or most < 1 / LARGEST:
        received = f"a largest weight of {most:g}"
    else:
        return
    allowed = (
        f"finite weights ≥ 0, the largest between {1 / LARGEST:g} and {LARGEST:g}, since squares"
        " overflow"
    )
    advice = "drop or repair those rows before the audit, or change the unit of all weights"
    raise InputError("sample_weight", got=received, allowed=allowed, cure=advice)


def check_row_labels(**columns: Any) -> None:
    """Say where pandas columns (or mappings of them) are paired by position although their row
    labels differ.
    """
    first_labelled: tuple[str, pd.Index] | None = None
    single_columns = []
    mapped_columns = []
    for argument, value in columns.items():
        if value is None or isinstance(value, np.ndarray):  # what most columns are
            continue
        single_columns.append((argument, value))
        if isinstance(value, Mapping):
            for key, mapped_column in value.items():
                mapped_columns.append((f"{argument}[{key!r}]", mapped_column))
    for column_label, column in (*single_columns, *mapped_columns):
        if not isinstance(column, (pd.Series, pd.DataFrame)):
            continue
        own_index = column.index
        if first_labelled is None:
            first_labelled = column_label, own_index
        first_name, first_index = first_labelled
        if (
            first_index is own_index
            or len(first_index) != len(own_index)
            or first_index.equals(own_index)
        ):
            continue
        both_names = f"{first_name} and {column_label}"
        if (
            own_index.nlevels == first_index.nlevels
            and own_index.is_unique
            and own_index.isin(first_index).all()
        ):
            warning_text = f"{both_names} have equal row labels in another order, and were paired by position. "
            warning_text += f"Aligned by label? Pass {column_label}.loc[{first_name}.index]"
        else:
            warning_text = f"{both_names} have different row labels, and were paired by position. "
            warning_text += (
                "Not the same rows? Take both from one frame, or join them by label:"
                f" {column_label}.reindex(…)"
            )
        caution(f"{warning_text}; .to_numpy() says that the position is meant.", DataWarning)
        return


def check_changed(n_missing: int, column: str) -> None:
    """Raise where a column of counterfactual scores lacks some."""
    if n_missing:
        received = f"{n_missing:,} missing values in {column!r}"
        allowed = "a score in [0, 1] for every row"
        advice = 'score every row with the other value of the attribute, or missing="drop"'
        raise InputError("counterfactual_score", got=received, allowed=allowed, cure=advice)


def on_unit_interval(
    score: NDArray[np.float64] | None, argument: str
) -> NDArray[np.float64] | None:
    """Scores in [0, 1]: what misses an end by a few units in the last place is clipped, more is an
    error.
    """
    if score is None or not score.size:
        return score
    smallest = float(score.min())
    greatest = float(score.max())
    if smallest >= 0 and greatest <= 1:
        return score
    if smallest >= -_ROUNDING_TOLERANCE and greatest <= 1 + _ROUNDING_TOLERANCE:
        return np.clip(score, 0.0, 1.0)
    advice = (
        "rescale them, e.g. 1/(1+exp(-s)) for log-odds or s/10 for deciles, which keeps their"
        " order; audit and tally do it, score_range=(1, 10), or (10, 1) where small is good"
    )
    received = f"values from {_distinct_digits(smallest)} to {_distinct_digits(greatest)}"
    raise InputError(argument, got=received, allowed="scores in [0, 1]", cure=advice)


def _distinct_digits(number: float) -> str:
    """A number with as many digits as tell it apart from others, and no more where six do."""
    short_text = f"{number:g}"
    if float(short_text) == number:
        return short_text
    return repr(number)


def _missing_features(features: Any) -> NDArray[np.float64] | None:
    """NaN where a row lacks a feature, else 0; of columns by name, or of a mask."""
    if features is None:
        return None
    if isinstance(features, np.ndarray):
        return np.where(features, np.nan, 0.0)
    lacking = np.zeros(len(features), dtype=bool)
    for _, column in features.items():
        lacking |= missing_rows(column, "features")
    return np.where(lacking, np.nan, 0.0)


def _missing_tokens(sensitive_features: Any, *columns: Any) -> dict[str, dict[str, int]]:
    """Column → token → rows where it stands for a missing value, of columns of frames that were
    read from text.
    """
    column_sources = [*columns]
    if isinstance(sensitive_features, Mapping):
        column_sources += sensitive_features.values()
    else:
        column_sources.append(sensitive_features)
    tokens_by_column: dict[str, dict[str, int]] = {}
    for column_source in column_sources:
        if column_source is None or isinstance(column_source, np.ndarray):
            continue
        if (
            not isinstance(column_source, (pd.Series, pd.DataFrame))
            or TOKENS not in column_source.attrs
        ):
            continue
        names = (
            column_source.columns
            if isinstance(column_source, pd.DataFrame)
            else [column_source.name]
        )
        tokens = column_source.attrs[TOKENS]
        tokens_by_column |= {
            str(column_label): dict(tokens[column_label])
            for column_label in names
            if tokens.get(column_label)
        }
    return tokens_by_column


def even_weights(rows: Any, totals: Any, squares: Any) -> NDArray[np.bool_]:
    """Whether n rows with Σw and Σw² have one weight, of arrays of sets of rows.

    By the inequality of Cauchy and Schwarz n·Σw² ≥ (Σw)², with equality for equal weights only.
    Sums of n equal weights are off by up to n units of rounding, so that a relative excess of 4n of
    them, and of 1e-12 at least, is none: weights that vary by less than a millionth count as equal.
    No rows have one weight; rows of weight 0 have none.
    """
    rounding_tolerance = np.maximum(4 * np.finfo(np.float64).eps * rows, 1e-12)
    return np.asarray(
        ((totals > 0) | (rows == 0))
        & (rows * squares - totals**2 <= rounding_tolerance * totals**2)
    )
