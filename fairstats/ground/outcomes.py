"""Validated columns: y_true, y_pred, score, groups, weights, clusters, strata.

The only place (with `encoding`) that looks at what a user passes. Everything after it sees arrays of codes.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fairstats.ground.caution import caution
from fairstats.ground.encoding import MISSING, Factor, as_float_column, factorize
from fairstats.ground.errors import InputError, MissingValuesWarning
from fairstats.ground.groups import Grouping, encode_groups
from fairstats.ground.labels import binary_codes, binary_columns
from fairstats.ground.serialise import serialisable

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MissingReport", "Outcomes", "check_probability"]

MissingPolicy = Literal["raise", "drop", "group"]
_POLICIES = ("raise", "drop", "group")


@serialisable
@dataclass(frozen=True)
class MissingReport:
    """What was missing and what was done about it.

    Attributes
    ----------
    policy : {"raise", "drop", "group"}
        The policy asked for.
    n_rows : int
        Rows that came in.
    n_dropped : int
        Rows left out.
    by_column : dict of str to int
        Missing values per argument.
    patterns : tuple of (group, y_true, y_pred, count)
        Rows left out, by what is known of them: position of the group, label 0/1, prediction 0/1, -1 where
        unknown. Enough for worst-case bounds; no row is kept. Empty when rows were weighted.
    """

    policy: str = "raise"
    n_rows: int = 0
    n_dropped: int = 0
    by_column: dict[str, int] = field(default_factory=dict)
    patterns: tuple[tuple[int, int, int, int], ...] = ()

    @property
    def sentence(self) -> str:
        """What the report says about missing rows."""
        if self.policy == "drop" and self.n_dropped:
            where = ", ".join(f"{name}: {count}" for name, count in self.by_column.items() if count)
            return f"{self.n_dropped} of {self.n_rows} rows left out for missing values ({where})."
        if self.policy == "group" and any(self.by_column.values()):
            count = sum(self.by_column.values())
            return f"{count} rows with a missing sensitive value form a group of their own."
        return "No rows were left out for missing values."


@dataclass(frozen=True)
class Outcomes:
    """Validated columns of one data set, row by row.

    Attributes
    ----------
    groups : Grouping
        Group codes, shape (n,), and labels.
    y_true, y_pred : ndarray of uint8, shape (n,), or None
        1 where the favourable label is present, else 0.
    score : ndarray of float, shape (n,), or None
        Values in [0, 1].
    weight : ndarray of float, shape (n,), or None
        Non-negative, finite.
    cluster, strata : Factor or None
        Codes of the sampling unit and of the stratum of each row.
    extra : ndarray of uint8, shape (n,), or None
        A second prediction of the same rows.
    missing : MissingReport
        What was left out.
    kept : ndarray of int, shape (n,), or None
        Positions of these rows among those that came; None for all of them.
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

    @classmethod
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
    ) -> Outcomes:
        """Validate and encode columns.

        Parameters
        ----------
        y_true, y_pred : array-like, shape (n,), optional
            Labels and predictions of any type with two values, or more when `pos_label` names one.
        sensitive_features : array-like, shape (n,) or (n, k), frame, or mapping of name to column
            One sensitive column, or several (their intersections are the groups).
        score : array-like of float, shape (n,), optional
            Score in [0, 1], larger for the favourable outcome.
        sample_weight : array-like of float, shape (n,), optional
            Non-negative weights.
        cluster, strata : array-like, shape (n,), optional
            Sampling unit and stratum of each row.
        extra : array-like of 0/1, shape (n,), optional
            A second prediction of the same rows, already coded.
        pos_label : scalar or mapping, optional
            The favourable value; a mapping ``{"y_true": …, "y_pred": …}`` where the two columns differ.
        missing : {"raise", "drop", "group"}, default "raise"
            Error; leave out and count; or make missing sensitive values a group of their own.
        groups : sequence, optional
            Order of the groups; values that it does not name are an error.

        Raises
        ------
        InputError
            Where a column cannot be used; the message names the argument and the cure.
        """
        if missing not in _POLICIES:
            raise InputError(
                "missing", got=repr(missing), allowed=", ".join(map(repr, _POLICIES)), cure="name a policy"
            )
        if sensitive_features is None:
            raise InputError(
                "sensitive_features",
                got="None",
                allowed="one column, or several, that say which group each row belongs to",
                cure="pass sensitive_features=, or counts= if the data are already counted",
            )
        grouping = encode_groups(sensitive_features, missing=missing, groups=groups)
        binary = binary_columns(pos_label, y_true=y_true, y_pred=y_pred)
        true, pred = binary["y_true"], binary["y_pred"]
        columns = cls(
            groups=grouping,
            y_true=None if true is None else true.codes,  # type: ignore[arg-type]
            y_pred=None if pred is None else pred.codes,  # type: ignore[arg-type]
            score=None if score is None else as_float_column(score, "score"),
            weight=None if sample_weight is None else as_float_column(sample_weight, "sample_weight"),
            cluster=None if cluster is None else factorize(cluster, "cluster"),
            strata=None if strata is None else factorize(strata, "strata"),
            missing=MissingReport(policy=missing, n_rows=grouping.codes.size),
            extra=None if extra is None else binary_codes(extra, "y_pred_b").codes,  # type: ignore[arg-type]
        )
        columns._check_lengths()
        _check_weight(columns.weight)
        columns = columns._settle_missing(missing)
        check_probability(columns.score, "score")
        return columns

    @property
    def n_rows(self) -> int:
        """Number of rows that are used."""
        return int(self.groups.codes.size)

    def _columns(self) -> dict[str, NDArray[Any]]:
        found: dict[str, NDArray[Any] | None] = {
            "sensitive_features": self.groups.codes,
            "y_true": self.y_true,
            "y_pred": self.y_pred,
            "y_pred_b": self.extra,
            "score": self.score,
            "sample_weight": self.weight,
            "cluster": None if self.cluster is None else self.cluster.codes,
            "strata": None if self.strata is None else self.strata.codes,
        }
        return {name: column for name, column in found.items() if column is not None}

    def _check_lengths(self) -> None:
        lengths = {name: column.size for name, column in self._columns().items()}
        if len(set(lengths.values())) > 1:
            raise InputError(
                ", ".join(lengths),
                got="different lengths: " + ", ".join(f"{name} {n:,}" for name, n in lengths.items()),
                allowed="columns of one length, one entry per row",
                cure="take all columns from the same rows",
            )
        if self.n_rows == 0:
            raise InputError("sensitive_features", got="0 rows", allowed="at least one row", cure="pass data")

    def _settle_missing(self, policy: MissingPolicy) -> Outcomes:
        """Refuse or leave out the rows with a missing value, and count them."""
        masks = {name: _missing_mask(column) for name, column in self._columns().items()}
        by_column = {name: int(mask.sum()) for name, mask in masks.items() if mask is not None}
        if policy == "group":
            by_column["sensitive_features"] = self.groups.n_missing
        lacking = {name: mask for name, mask in masks.items() if mask is not None and mask.any()}
        if lacking and policy != "drop":
            names = ", ".join(f"{name} ({by_column[name]:,})" for name in lacking)
            raise InputError(
                next(iter(lacking)),
                got=f"missing values: {names} of {self.n_rows:,} rows",
                allowed='no missing values under missing="raise"; under "group" only in sensitive_features',
                cure='pass missing="drop" to leave those rows out and count them'
                + (', or missing="group"' if set(lacking) == {"sensitive_features"} else ""),
            )
        report = replace(self.missing, by_column=by_column)
        if not lacking:
            return replace(self, missing=report)
        drop = np.logical_or.reduce(list(lacking.values()))
        patterns = _patterns(self, drop) if self.weight is None and self.cluster is None else ()
        report = replace(report, n_dropped=int(drop.sum()), patterns=patterns)
        if drop.all():
            raise InputError(
                next(iter(lacking)),
                got=f"no complete row among {self.n_rows:,}",
                allowed="at least one row without missing values",
                cure="look at the columns that are missing",
            )
        caution(report.sentence, MissingValuesWarning)
        return self.take(~drop, missing=report)

    def take(self, keep: NDArray[np.bool_], *, missing: MissingReport | None = None) -> Outcomes:
        """The rows where `keep` is true."""

        def cut(column: Any) -> Any:
            if isinstance(column, Factor):
                return replace(column, codes=column.codes[keep])
            return None if column is None else column[keep]

        return Outcomes(
            groups=replace(self.groups, codes=self.groups.codes[keep]),
            y_true=cut(self.y_true),
            y_pred=cut(self.y_pred),
            score=cut(self.score),
            weight=cut(self.weight),
            cluster=cut(self.cluster),
            strata=cut(self.strata),
            missing=missing or self.missing,
            extra=cut(self.extra),
            kept=np.flatnonzero(keep) if self.kept is None else self.kept[keep],
        )


def _missing_mask(column: NDArray[Any]) -> NDArray[np.bool_] | None:
    if column.dtype.kind == "f":
        mask = np.isnan(column)
        return mask if mask.any() else np.zeros(0, dtype=bool)
    if column.dtype.kind == "i" and column.size and int(column.min()) == MISSING:
        return np.asarray(column == MISSING)
    return np.zeros(0, dtype=bool)


def _patterns(columns: Outcomes, drop: NDArray[np.bool_]) -> tuple[tuple[int, int, int, int], ...]:
    """Dropped rows by what is known of them."""
    n = int(drop.sum())
    known = [
        np.full(n, MISSING, dtype=np.int64) if column is None else column[drop].astype(np.int64)
        for column in (columns.groups.codes, columns.y_true, columns.y_pred)
    ]
    rows, counts = np.unique(np.column_stack(known), axis=0, return_counts=True)
    return tuple(
        (int(g), int(t), int(p), int(c)) for (g, t, p), c in zip(rows.tolist(), counts.tolist(), strict=True)
    )


def _check_weight(weight: NDArray[np.float64] | None) -> None:
    if weight is None:
        return
    if not np.isfinite(weight).all():
        got = f"{int((~np.isfinite(weight)).sum()):,} values that are NaN or infinite"
    elif (weight < 0).any():
        got = f"{int((weight < 0).sum()):,} negative values (least {weight.min():g})"
    elif weight.size and weight.max() == 0:
        got = "only zeros"
    else:
        return
    raise InputError(
        "sample_weight",
        got=got,
        allowed="finite weights ≥ 0, at least one above 0",
        cure="drop or repair those rows before the audit",
    )


def check_probability(score: NDArray[np.float64] | None, argument: str) -> None:
    """Raise unless every value lies in [0, 1]."""
    if score is None or not score.size:
        return
    low, high = float(score.min()), float(score.max())
    if not (low >= 0 and high <= 1):
        raise InputError(
            argument,
            got=f"values from {low:g} to {high:g}",
            allowed="scores in [0, 1]",
            cure="rescale them, e.g. 1/(1+exp(-s)) for log-odds or s/10 for deciles; order is kept",
        )
