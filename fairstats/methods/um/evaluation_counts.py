"""Confusion counts per group, whole or effective: what every posterior is computed from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from fairstats.ground.counts import CellCounts, ConfusionCounts
from fairstats.ground.encoding import label_text
from fairstats.ground.errors import InputError
from fairstats.ground.frames import as_frame_columns
from fairstats.ground.outcomes import MissingReport, Outcomes
from fairstats.ground.serialise import serialisable

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CELLS", "EvaluationCounts", "Rows", "as_counts"]

#: The paper's order of the cells, C_s = (TP_s, TN_s, FP_s, FN_s).
CELLS = ("tp", "tn", "fp", "fn")


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows behind the counts, coded; never written to a file.

    Attributes
    ----------
    y_true, y_pred : ndarray of uint8, shape (n,)
    group : ndarray of int, shape (n,)
        Positions in the groups.
    fold : ndarray of int, shape (n,), or None
        Fold in which each row was held out.
    """

    y_true: NDArray[Any]
    y_pred: NDArray[Any]
    group: NDArray[Any]
    fold: NDArray[Any] | None = None


@serialisable
@dataclass(frozen=True, eq=False)
class EvaluationCounts:
    """Confusion counts per group.

    Attributes
    ----------
    groups : tuple of str
        Group labels, length G.
    cells : ndarray of float, shape (G, 4)
        Counts in the order of `CELLS`; not whole where they are effective counts.
    sizes : ndarray of float, shape (G,)
        Rows evaluated per group: the weight of a group in metrics over all rows. Larger than the sum of the
        cells where these are effective counts.
    missing : MissingReport
        What was left out.
    """

    groups: tuple[str, ...]
    cells: NDArray[np.float64]
    sizes: NDArray[np.float64]
    missing: MissingReport = field(default_factory=MissingReport)

    @property
    def totals(self) -> NDArray[np.float64]:
        """Sum of the cells per group, shape (G,)."""
        return np.asarray(self.cells.sum(axis=1))

    @property
    def whole(self) -> bool:
        """Whether every count is a whole number."""
        return bool((self.cells == np.floor(self.cells)).all())

    @classmethod
    def from_rows(
        cls, rows: Rows, groups: tuple[str, ...], missing: MissingReport | None = None
    ) -> EvaluationCounts:
        """Count coded rows."""
        cells = count_cells(rows.y_true, rows.y_pred, rows.group, len(groups))
        return cls(groups, cells, cells.sum(axis=1), missing or MissingReport(n_rows=int(rows.group.size)))


def count_cells(y_true: Any, y_pred: Any, group: Any, n_groups: int) -> NDArray[np.float64]:
    """Counts of shape (G, 4) of coded rows."""
    true, pred = np.asarray(y_true, dtype=np.intp), np.asarray(y_pred, dtype=np.intp)
    # (ŷ, y) → cell: (1, 1) tp 0, (0, 0) tn 1, (1, 0) fp 2, (0, 1) fn 3
    cell = np.array([[1, 3], [2, 0]])[pred, true]
    code = np.asarray(group, dtype=np.intp) * 4 + cell
    return np.bincount(code, minlength=4 * n_groups).reshape(n_groups, 4).astype(np.float64)


def as_counts(y_true: Any, y_pred: Any, counts: Any, **columns: Any) -> tuple[EvaluationCounts, Rows | None]:
    """Counts, and the rows where there are some.

    Parameters
    ----------
    y_true, y_pred : array-like, shape (n,), or None
    counts : ConfusionCounts, EvaluationCounts, mapping, frame or None
        A mapping has the cells by name, ``{"a": {"tp": 30.5, "tn": …, "fp": …, "fn": …}}``; a frame has the
        columns tp, tn, fp, fn, and the groups in its index or in a column ``group``.
    **columns
        Of `Outcomes.from_arrays`.

    Raises
    ------
    InputError
        Neither or both; weighted counts; negative or unnamed cells.
    """
    if counts is not None:
        if y_true is not None or y_pred is not None or columns.get("sensitive_features") is not None:
            raise InputError(
                "counts",
                got="both counts and rows",
                allowed="either counts= or the columns",
                cure="leave one of them out",
            )
        return _given(counts), None
    if y_true is None or y_pred is None:
        raise InputError(
            "y_true, y_pred",
            got="None",
            allowed="labels, predictions and sensitive_features, row by row, or counts=",
            cure="pass the columns, or ConfusionCounts.from_counts(…)",
        )
    outcomes = Outcomes.from_arrays(y_true, y_pred, **columns)
    true, pred = outcomes.y_true, outcomes.y_pred
    if true is None or pred is None:
        raise InputError("y_true, y_pred", got="None", allowed="one value per row", cure="pass both columns")
    rows = Rows(true, pred, outcomes.groups.codes)
    return EvaluationCounts.from_rows(rows, outcomes.groups.labels, outcomes.missing), rows


def _given(counts: Any) -> EvaluationCounts:
    if isinstance(counts, EvaluationCounts):
        return counts
    if isinstance(counts, ConfusionCounts):
        if counts.weighted:
            raise InputError(
                "counts",
                got="weighted or clustered counts",
                allowed="counts of independent rows: a multinomial likelihood has no design weights",
                cure="count without sample_weight and cluster, or pass effective counts as a mapping",
            )
        cells = np.column_stack([counts.total(cell) for cell in CELLS])
        return EvaluationCounts(counts.groups, cells, cells.sum(axis=1), counts.missing)
    if isinstance(counts, CellCounts):
        raise InputError(
            "counts",
            got=type(counts).__name__,
            allowed="confusion counts: these metrics need labels and predictions",
            cure="pass ConfusionCounts, or y_true and y_pred",
        )
    table = counts if isinstance(counts, Mapping) else _frame_table(counts)
    if not table:
        raise InputError("counts", got="no group", allowed="at least one group", cure="pass the counts")
    cells = np.array([_named(cells, group) for group, cells in table.items()])
    bad = ~np.isfinite(cells) | (cells < 0)
    if bad.any():
        g, c = np.argwhere(bad)[0]
        raise InputError(
            "counts",
            got=f"{CELLS[c]} = {cells[g, c]:g} in group {list(table)[g]!r}",
            allowed="finite numbers ≥ 0, whole or effective",
            cure="pass counts of rows",
        )
    labels = tuple(label_text(group) for group in table)
    if len(set(labels)) < len(labels):
        raise InputError(
            "counts", got=f"groups that read alike: {list(table)!r}", allowed="distinct names", cure="rename"
        )
    return EvaluationCounts(labels, cells, cells.sum(axis=1))


def _frame_table(counts: Any) -> dict[Any, dict[str, float]]:
    import narwhals as nw

    try:
        have = nw.from_native(counts).collect_schema().names()
    except TypeError as problem:
        raise InputError(
            "counts",
            got=type(counts).__name__,
            allowed="ConfusionCounts, a mapping group → cells by name, or a frame with tp, tn, fp, fn",
            cure="{'a': {'tp': 30, 'tn': 50, 'fp': 10, 'fn': 10}, 'b': …}",
        ) from problem
    frame = as_frame_columns(counts, [*(["group"] if "group" in have else []), *CELLS], "counts")
    labels = list(frame["group"] if "group" in frame.columns else frame.index)
    if len(set(labels)) < len(labels):
        raise InputError("counts", got="a group twice", allowed="one row per group", cure="add them up first")
    values = frame[list(CELLS)].to_numpy()
    return {label: dict(zip(CELLS, row, strict=True)) for label, row in zip(labels, values, strict=True)}


def _named(cells: Any, group: Any) -> list[float]:
    try:
        if not isinstance(cells, Mapping) or set(cells) != set(CELLS):
            raise TypeError
        return [float(cells[name]) for name in CELLS]
    except (TypeError, ValueError) as problem:
        raise InputError(
            "counts",
            got=f"{cells!r} for group {group!r}",
            allowed="the cells tp, tn, fp, fn by name: the paper's order differs from the usual one",
            cure="{'tp': 30, 'tn': 50, 'fp': 10, 'fn': 10}",
        ) from problem
