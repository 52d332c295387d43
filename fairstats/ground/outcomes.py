"""Validated columns: with `encoding` the only place that looks at what a user passes; the rest sees arrays of codes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import LARGEST, check_choice, check_one_length, check_summand, check_that
from fairstats.ground.encoding import as_float_column, binary_columns, rows_of_labels
from fairstats.ground.errors import DataWarning, InputError, MissingValuesWarning, caution
from fairstats.ground.factors import MISSING, Factor
from fairstats.ground.groups import Grouping, encode_groups
from fairstats.ground.lazy import pd
from fairstats.ground.reading.record import TOKENS
from fairstats.ground.serialise import serialisable
from fairstats.ground.values import factorize, missing_rows

MissingPolicy = Literal["raise", "drop", "group"]

#: Scores may miss the ends of [0, 1] by so much, a few units in the last place, and are clipped.
_ROUNDING = 8 * float(np.finfo(np.float64).eps)


@serialisable()
class MissingReport:
    """What was missing and what was done about it, and which labels counted as not favourable.

    `n_rows`: that came in; `by_column`: missing values per argument; `patterns`: rows left out by what is known of
    them, for worst-case bounds: position of the group, label, prediction (-1 where unknown), and how many; empty when
    rows were weighted; `tokens`: of columns of a text file, column → token that stood for a missing value → rows;
    `unfavourable`: argument → label → rows, where several labels beside `pos_label` count as not favourable.
    """

    policy: str = "raise"
    n_rows: int = 0
    n_dropped: int = 0
    by_column: dict[str, int] = field(default_factory=dict)
    patterns: tuple[tuple[int, int, int, int], ...] = ()
    tokens: dict[str, dict[str, int]] = field(default_factory=dict)
    unfavourable: dict[str, dict[str, int]] = field(default_factory=dict)

    def _regrouped(self, position: Sequence[int]) -> MissingReport:
        """The same report where group g has become group ``position[g]``."""
        moved: Counter[tuple[int, int, int]] = Counter()
        for group, label, prediction, count in self.patterns:
            moved[group if group < 0 else int(position[group]), label, prediction] += count
        return replace(self, patterns=tuple((*key, count) for key, count in sorted(moved.items())))

    def __add__(self, other: MissingReport) -> MissingReport:
        """What was left out of two sets of rows with the same groups."""
        check_summand(self, other)
        both = Counter(self.by_column)
        both.update(other.by_column)
        joined = replace(
            self, policy=self.policy if self.n_dropped or not other.n_dropped else other.policy,
            n_rows=self.n_rows + other.n_rows, n_dropped=self.n_dropped + other.n_dropped, by_column=dict(both),
            patterns=self.patterns + other.patterns, tokens=_added(self.tokens, other.tokens),
            unfavourable=_added(self.unfavourable, other.unfavourable),
        )  # fmt: skip
        groups = [group for group, *_ in joined.patterns]
        return joined._regrouped(range(max(groups, default=-1) + 1))

    @property
    def sentence(self) -> str:
        """What the report says about missing rows."""
        if self.policy == "drop" and self.n_dropped:
            where = ", ".join(f"{name}: {count}" for name, count in self.by_column.items() if count)
            text = f"{self.n_dropped} of {self.n_rows} rows left out for missing values ({where})."
        elif self.policy == "group" and any(self.by_column.values()):
            count = sum(self.by_column.values())
            text = f"{count} rows with a missing sensitive value form a group of their own."
        else:
            return "No rows were left out for missing values."
        return f"{text} {self._tokens_in_words}" if self.tokens else text

    @property
    def _tokens_in_words(self) -> str:
        """Which tokens of a text file were read as missing: "race: 480 rows with 'NA'"."""
        said = []
        for column, tokens in self.tokens.items():
            counted = ", ".join(f"{count:,} rows with {token!r}" for token, count in tokens.items())
            said.append(f"{column}: {counted}")
        return f"Read as missing: {'; '.join(said)} (na_values= says what is)."

    @property
    def labels_in_words(self) -> str:
        """The labels beside `pos_label` with their rows, where there are several; empty where there are none."""
        return " ".join(words_of_labels(argument, labels) for argument, labels in self.unfavourable.items())

    @property
    def sentences(self) -> tuple[str, ...]:
        """What a result says of rows left out, and of labels that count as not favourable; empty where nothing is."""
        said = [self.sentence] if self.n_dropped or (self.tokens and self.policy == "group") else []
        return (*said, self.labels_in_words) if self.unfavourable else tuple(said)


#: Labels that are named with their rows; of more only their number is said.
_MOST_LABELS = 8


def words_of_labels(column: str, labels: Mapping[str, int]) -> str:
    """The labels that count as not favourable: "risk: counted as not favourable: Medium 1,200 rows, High 800."."""
    counted = [f"{label} {count:,}" for label, count in labels.items()]
    counted[0] += " rows"
    more = len(counted) - _MOST_LABELS
    if more > 0:
        counted = [*counted[:_MOST_LABELS], f"and {more:,} other labels"]
    return f"{column}: counted as not favourable: {', '.join(counted)}."


def _added(a: dict[str, dict[str, int]], b: dict[str, dict[str, int]]) -> dict[str, dict[str, int]]:
    """Column → value → rows of two sets of rows together."""
    both = {name: dict(counts) for name, counts in a.items()}
    for name, counts in b.items():
        own = both.setdefault(name, {})
        for value, count in counts.items():
            own[value] = own.get(value, 0) + count
    return both


@dataclass(frozen=True)
class Outcomes:
    """Validated columns of one data set, row by row; all of shape (n,).

    `y_true`, `y_pred`, `extra`: 1 where the favourable label is present, else 0, `extra` of a second model; `score`
    in [0, 1]; `weight`: non-negative, finite; `kept`: positions of these rows among those that came, None for all.
    Rows counted elsewhere come as one row per combination of values: `number` of rows that each stands for (None:
    one); `weight` then is the sum of their weights, `squares` that of the squared weights.
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

    @classmethod
    def from_arrays(
        cls, y_true: Any = None, y_pred: Any = None, *, sensitive_features: Any, score: Any = None,
        sample_weight: Any = None, cluster: Any = None, strata: Any = None, extra: Any = None, pos_label: Any = None,
        missing: MissingPolicy = "raise", groups: Sequence[Hashable] | None = None,
        number: NDArray[np.int64] | None = None, squares: NDArray[np.float64] | None = None,
        label_values: Any = None, features: Any = None,
    ) -> Outcomes:  # fmt: skip
        """Validate and encode columns, of any type and library, as `disparate_impact` takes them.

        `extra`: a second prediction of the same rows, already coded; `missing`: an error; leave rows out and count
        them; or make missing sensitive values a group of their own; `number`, `squares`: where rows stand for several;
        `label_values`: the labels that may occur; `features`: columns (or the mask of their missing rows) that are
        not kept here, but whose missing values count as those of the other columns.
        """
        check_choice("missing", missing, ("raise", "drop", "group"), cure="name a policy")
        allowed = "one column, or several, that say which group each row belongs to"
        cure = "pass sensitive_features=, or counts= if the data are already counted"
        check_that(sensitive_features is not None, "sensitive_features", None, allowed, cure)
        check_row_labels(
            y_true=y_true, y_pred=y_pred, sensitive_features=sensitive_features, score=score,
            sample_weight=sample_weight, cluster=cluster, strata=strata, y_pred_b=extra,
        )  # fmt: skip
        grouping = encode_groups(sensitive_features, missing=missing, groups=groups, number=number)
        true, pred = binary_columns(pos_label, label_values, y_true=y_true, y_pred=y_pred).values()
        second = binary_columns(None, y_pred_b=extra)["y_pred_b"]
        codes = [None if factor is None else factor.codes for factor in (true, pred, second)]
        tokens = _tokens_of(sensitive_features, y_true, y_pred, strata, cluster)
        columns = cls(
            groups=grouping, y_true=codes[0], y_pred=codes[1], extra=codes[2],  # type: ignore[arg-type]
            score=None if score is None else as_float_column(score, "score"),
            weight=None if sample_weight is None else as_float_column(sample_weight, "sample_weight"),
            cluster=None if cluster is None else factorize(cluster, "cluster"),
            strata=None if strata is None else factorize(strata, "strata"),
            missing=MissingReport(policy=missing, tokens=tokens),
            number=number, squares=squares, features=_missing_features(features),
        )  # fmt: skip
        lengths = {name: column.size for name, column in columns._columns().items()}
        check_one_length(", ".join(lengths), lengths)
        if columns.n_rows == 0:
            raise InputError("sensitive_features", got="0 rows", allowed="at least one row", cure="pass data")
        check_weight_column(columns.weight)
        columns = columns._settle_missing(missing)
        unfavourable = {}
        for argument, labels in (("y_true", true), ("y_pred", pred)):
            if labels is not None and labels.beside is not None:
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
        return self.groups.codes.size if self.number is None else int(self.number.sum())

    def _columns(self) -> dict[str, NDArray[Any]]:
        """The columns that were given, by argument."""
        found: dict[str, Any] = {
            "sensitive_features": self.groups.codes, "y_true": self.y_true, "y_pred": self.y_pred,
            "y_pred_b": self.extra, "score": self.score, "sample_weight": self.weight,
            "cluster": self.cluster and self.cluster.codes, "strata": self.strata and self.strata.codes,
            "features": self.features,
        }  # fmt: skip
        return {name: column for name, column in found.items() if column is not None}

    def rows_by_label(self, labels: Factor, codes: NDArray[Any]) -> dict[str, int]:
        """Rows of each label that counts as not favourable, the most frequent first; `codes`: 1 where favourable."""
        kept = slice(None) if self.kept is None else self.kept
        used = replace(labels, codes=labels.codes[kept])
        return rows_of_labels(used, codes[kept] == 0, self.number)

    def _number_of(self, mask: NDArray[np.bool_]) -> int:
        """Rows where the mask is true; an empty mask has none."""
        return int((mask if self.number is None or not mask.size else self.number[mask]).sum())

    def _settle_missing(self, policy: MissingPolicy) -> Outcomes:
        """Refuse or leave out the rows with a missing value, and count them."""
        masks = {name: _missing_mask(column) for name, column in self._columns().items()}
        by_column = {name: self._number_of(mask) for name, mask in masks.items()}
        if policy == "group":
            by_column["sensitive_features"] = self.groups.n_missing
        lacking = {name: mask for name, mask in masks.items() if mask.any()}
        if lacking and policy != "drop":
            names = ", ".join(f"{name} ({by_column[name]:,})" for name in lacking)
            got = f"missing values: {names} of {self.n_rows:,} rows"
            allowed = 'no missing values under missing="raise"; under "group" only in sensitive_features'
            cure = 'pass missing="drop" to leave those rows out and count them'
            cure += ', or missing="group"' if set(lacking) == {"sensitive_features"} else ""
            raise InputError(next(iter(lacking)), got=got, allowed=allowed, cure=cure)
        report = replace(self.missing, n_rows=self.n_rows, by_column=by_column)
        if not lacking:
            return replace(self, missing=report)
        drop = np.logical_or.reduce(list(lacking.values()))
        patterns = _patterns(self, drop) if self.weight is None and self.cluster is None else ()
        report = replace(report, n_dropped=self._number_of(drop), patterns=patterns)
        if drop.all():
            got, allowed = f"no complete row among {self.n_rows:,}", "at least one row without missing values"
            cure = "look at the columns that are missing"
            raise InputError(next(iter(lacking)), got=got, allowed=allowed, cure=cure)
        caution(report.sentence, MissingValuesWarning)
        return self.take(~drop, missing=report)

    def take(self, keep: NDArray[np.bool_], *, missing: MissingReport | None = None) -> Outcomes:
        """The rows where `keep` is true."""

        def cut(column: Any) -> Any:
            if isinstance(column, (Factor, Grouping)):
                return replace(column, codes=column.codes[keep])
            return None if column is None else column[keep]

        kept = np.flatnonzero(keep) if self.kept is None else self.kept[keep]
        parts = {name: cut(column) for name, column in vars(self).items() if name not in ("missing", "kept")}
        return replace(self, missing=missing or self.missing, kept=kept, **parts)


def _missing_mask(column: NDArray[Any]) -> NDArray[np.bool_]:
    if column.dtype.kind == "f":
        return np.asarray(np.isnan(column))
    if column.dtype.kind == "i" and column.size and int(column.min()) == MISSING:
        return np.asarray(column == MISSING)
    return np.zeros(0, dtype=bool)


def _patterns(columns: Outcomes, drop: NDArray[np.bool_]) -> tuple[tuple[int, int, int, int], ...]:
    """Dropped rows by what is known of them."""
    n = int(drop.sum())
    number = np.ones(n, dtype=np.int64) if columns.number is None else columns.number[drop]
    known = [
        np.full(n, MISSING, dtype=np.int64) if column is None else column[drop].astype(np.int64)
        for column in (columns.groups.codes, columns.y_true, columns.y_pred)
    ]
    rows, place = np.unique(np.column_stack(known), axis=0, return_inverse=True)
    counts = np.bincount(place.ravel(), number).astype(np.int64)
    return tuple((g, t, p, c) for (g, t, p), c in zip(rows.tolist(), counts.tolist(), strict=True))


def check_weight_column(weight: NDArray[np.float64] | None) -> None:
    """Raise unless weights can be used: see `check_weights`."""
    if weight is not None and weight.size:
        bad, negative = int((~np.isfinite(weight)).sum()), int((weight < 0).sum())
        check_weights(bad, negative, float(weight.min()), float(weight.max()))


def check_weights(bad: int, negative: int, least: float, most: float) -> None:
    """Raise where some weights are NaN or infinite (`bad` of them) or `negative`, or the largest is 0 or extreme."""
    if bad:
        got = f"{bad:,} values that are NaN or infinite"
    elif negative:
        got = f"{negative:,} negative values (least {least:g})"
    elif most == 0:
        got = "only zeros"
    elif most > LARGEST or most < 1 / LARGEST:
        got = f"a largest weight of {most:g}"
    else:
        return
    allowed = f"finite weights ≥ 0, the largest between {1 / LARGEST:g} and {LARGEST:g}, since squares overflow"
    cure = "drop or repair those rows before the audit, or change the unit of all weights"
    raise InputError("sample_weight", got=got, allowed=allowed, cure=cure)


def check_row_labels(**columns: Any) -> None:
    """Say where pandas columns (or mappings of them) are paired by position although their row labels differ."""
    first: tuple[str, pd.Index] | None = None
    named = ((f"{a}[{n!r}]", c) for a, v in columns.items() if isinstance(v, Mapping) for n, c in v.items())
    for name, column in (*columns.items(), *named):
        if not isinstance(column, (pd.Series, pd.DataFrame)):
            continue
        own = column.index
        if first is None:
            first = name, own
        known, index = first
        if index is own or len(index) != len(own) or index.equals(own):
            continue
        both = f"{known} and {name}"
        if own.nlevels == index.nlevels and own.is_unique and own.isin(index).all():
            text = f"{both} have equal row labels in another order, and were paired by position. "
            text += f"Aligned by label? Pass {name}.loc[{known}.index]"
        else:
            text = f"{both} have different row labels, and were paired by position. "
            text += f"Not the same rows? Take both from one frame, or join them by label: {name}.reindex(…)"
        caution(f"{text}; .to_numpy() says that the position is meant.", DataWarning)
        return


def check_changed(n_missing: int, column: str) -> None:
    """Raise where a column of counterfactual scores lacks some."""
    if n_missing:
        got, allowed = f"{n_missing:,} missing values in {column!r}", "a score in [0, 1] for every row"
        cure = 'score every row with the other value of the attribute, or missing="drop"'
        raise InputError("counterfactual_score", got=got, allowed=allowed, cure=cure)


def on_unit_interval(score: NDArray[np.float64] | None, argument: str) -> NDArray[np.float64] | None:
    """Scores in [0, 1]: what misses an end by a few units in the last place is clipped, more is an error."""
    if score is None or not score.size:
        return score
    low, high = float(score.min()), float(score.max())
    if low >= 0 and high <= 1:
        return score
    if low >= -_ROUNDING and high <= 1 + _ROUNDING:
        return np.clip(score, 0.0, 1.0)
    cure = "rescale them, e.g. 1/(1+exp(-s)) for log-odds or s/10 for deciles; order is kept"
    got = f"values from {_digits(low)} to {_digits(high)}"
    raise InputError(argument, got=got, allowed="scores in [0, 1]", cure=cure)


def _digits(value: float) -> str:
    """A number with as many digits as tell it apart from others, and no more where six do."""
    short = f"{value:g}"
    return short if float(short) == value else repr(value)


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


def _tokens_of(sensitive_features: Any, *columns: Any) -> dict[str, dict[str, int]]:
    """Column → token → rows where it stands for a missing value, of columns of frames that were read from text."""
    parts = [*columns]
    if isinstance(sensitive_features, Mapping):
        parts += sensitive_features.values()
    else:
        parts.append(sensitive_features)
    found: dict[str, dict[str, int]] = {}
    for part in parts:
        if not isinstance(part, (pd.Series, pd.DataFrame)) or TOKENS not in part.attrs:
            continue
        names = part.columns if isinstance(part, pd.DataFrame) else [part.name]
        tokens = part.attrs[TOKENS]
        found |= {str(name): dict(tokens[name]) for name in names if tokens.get(name)}
    return found


def even_weights(rows: Any, totals: Any, squares: Any) -> NDArray[np.bool_]:
    """Whether n rows with Σw and Σw² have one weight, of arrays of sets of rows.

    By the inequality of Cauchy and Schwarz n·Σw² ≥ (Σw)², with equality for equal weights only. Sums of n equal weights
    are off by up to n units of rounding, so that a relative excess of 4n of them, and of 1e-12 at least, is none:
    weights that vary by less than a millionth count as equal. No rows have one weight; rows of weight 0 have none.
    """
    rounding = np.maximum(4 * np.finfo(np.float64).eps * rows, 1e-12)
    return np.asarray(((totals > 0) | (rows == 0)) & (rows * squares - totals**2 <= rounding * totals**2))
