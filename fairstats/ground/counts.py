"""Sufficient statistics of rates: tables of cell totals per group, with their covariance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self, TypeVar

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from fairstats.ground import checks
from fairstats.ground.checks import check_that, check_type, is_plain
from fairstats.ground.encoding import as_frame_columns, label_texts
from fairstats.ground.errors import InputError
from fairstats.ground.groups import group_index
from fairstats.ground.lazy import pd
from fairstats.ground.outcomes import MissingReport, Outcomes, even_weights
from fairstats.ground.serialise import serialisable
from fairstats.ground.stored import check_amounts, check_counts, check_shape

_BLOCK = 1 << 20
_Kind = TypeVar("_Kind", bound="CellCounts")


@dataclass(frozen=True, eq=False)
class CellCounts:
    """Totals of mutually exclusive cells per group.

    `totals`, shape (G, c): weighted total of each cell, the row counts where there are no weights; `rows`, shape
    (G, c): number of rows in each cell (of effective counts these themselves, as floats); `scatter`, shape
    (G·c, G·c): Σ over sampling units of the outer product of their cell totals (row-major), None for unweighted
    independent rows, where it is diag(totals); `n_units`: clusters, or rows; `group_units`, shape (G,): those with
    rows in each group, None where not known (clustered groups merged); `attributes`: names of the sensitive columns;
    `squares`, shape (G, c): of clustered rows the sums of squared weights in each cell, which the scatter of
    independent rows has on its diagonal; None otherwise, and in files that were written before there were any.
    """

    groups: tuple[str, ...]
    totals: NDArray[np.float64]
    rows: NDArray[Any]
    scatter: NDArray[np.float64] | None = None
    n_units: int = 0
    clustered: bool = False
    missing: MissingReport = field(default_factory=MissingReport)
    attributes: tuple[str, ...] = ("group",)
    group_units: NDArray[np.int64] | None = None
    squares: NDArray[np.float64] | None = None

    #: Names of the cells, in the order of the columns.
    cells: ClassVar[tuple[str, ...]] = ()
    #: A file of counts says what its columns are.
    in_file: ClassVar[tuple[str, ...]] = ("cells",)

    def check_stored(self) -> None:
        """Raise unless the tables that were read from a file have a row per group and a column per cell."""
        shape = (len(self.groups), len(self.cells))
        n_cells = shape[0] * shape[1]
        check_shape(self, "totals", self.totals, shape)
        check_shape(self, "rows", self.rows, shape)
        check_shape(self, "scatter", self.scatter, (n_cells, n_cells))
        check_shape(self, "group_units", self.group_units, shape[:1])
        check_amounts(self, "totals", self.totals)
        check_counts(self, "rows", self.rows)
        check_amounts(self, "scatter", self.scatter)
        check_counts(self, "group_units", self.group_units)

    @property
    def weighted(self) -> bool:
        """Whether the variance comes from linearisation over sampling units (weights or clusters)."""
        return self.scatter is not None

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(np.rint(self.rows.sum()))

    @property
    def whole(self) -> bool:
        """Whether every total is a whole number: counts of rows, not effective ones."""
        return bool((self.totals == np.floor(self.totals)).all())

    @property
    def group_sizes(self) -> NDArray[np.int64]:
        """Rows per group, shape (G,)."""
        return np.asarray(self.rows.sum(axis=1))

    def total(self, *cells: str) -> NDArray[np.float64]:
        """Sum of the named cells per group, shape (G,).

        Parameters
        ----------
        *cells : str
            Different ones of `cells`.

        Raises
        ------
        InputError
            For a name that is no cell, or a cell that is named twice.
        """
        checks.check_names("cells", cells, self.cells)
        return np.asarray(self.totals[:, [self.cells.index(cell) for cell in cells]].sum(axis=1))

    def covariance(self) -> NDArray[np.float64]:
        """Covariance of the cell totals, shape (G·c, G·c).

        The multinomial diag(N) − N Nᵀ/n for independent unweighted rows; otherwise the with-replacement
        linearisation n/(n−1)·(Σ t tᵀ − N Nᵀ/n) over the totals t of the n sampling units.
        """
        totals = self.totals.ravel()
        if self.scatter is None:
            return np.asarray(np.diag(totals) - np.outer(totals, totals) / totals.sum())
        return np.asarray((self.scatter - np.outer(totals, totals) / self.n_units) * self.unit_factor)

    @property
    def unit_factor(self) -> float:
        """n/(n − 1) of the n sampling units, the factor of a linearised variance; one unit has none."""
        if self.n_units < 2:
            cure, got = "a variance needs at least two independent units", f"{self.n_units} sampling unit"
            raise InputError(
                "cluster" if self.clustered else "sample_weight", got=got, allowed="two or more", cure=cure
            )
        return self.n_units / (self.n_units - 1)

    @property
    def degrees_of_freedom(self) -> float:
        """Sampling units − 1 under weights or clusters, infinite otherwise."""
        return float(self.n_units - 1) if self.weighted else float("inf")

    @property
    def squared_weights(self) -> NDArray[np.float64] | None:
        """Σw² over the rows of each cell, shape (G, c); None of clusters where it was not kept."""
        if self.scatter is None:
            return self.totals
        if self.clustered:
            return self.squares
        return np.diag(self.scatter).reshape(self.totals.shape)

    @property
    def even_groups(self) -> NDArray[np.bool_]:
        """Groups in which every row has the same weight (`even_weights`), shape (G,)."""
        squares = self.squared_weights
        if squares is None:
            return np.zeros(len(self.groups), dtype=bool)
        return even_weights(self.rows.sum(axis=1), self.totals.sum(axis=1), squares.sum(axis=1))

    def without_even_weights(self) -> Self:
        """The table as far as groups are compared with each other: weights that are equal within a group drop out.

        The rates of a group do not depend on the scale of its weights, and neither do their covariances. Where all
        groups have equal weights within, this is the table without weights, to the last digit; where some have, their
        totals are rows. What pools groups, as a rate of all rows or of all other groups, needs the table itself.
        """
        if self.scatter is None:
            return self
        even = self.even_groups
        if not even.any():
            return self
        totals = np.where(even[:, None], self.rows, self.totals).astype(np.float64)
        if even.all() and not self.clustered:
            return replace(self, totals=totals, scatter=None)
        sums, rows = self.totals.sum(axis=1), self.rows.sum(axis=1)
        weight = np.divide(sums, rows, out=np.ones(rows.size), where=even & (rows > 0))
        of_cells = np.repeat(weight, len(self.cells))
        scatter = self.scatter / np.outer(of_cells, of_cells)
        # between groups of equal weights it sums products of whole numbers of rows
        counted = np.repeat(even, len(self.cells))
        scatter = np.where(np.outer(counted, counted), np.rint(scatter), scatter)
        squares = self.squares
        if squares is not None:
            squares = np.where(even[:, None], self.rows, squares).astype(np.float64)
        return replace(self, totals=totals, scatter=scatter, squares=squares)

    def _effective_rows(self, cells: Any) -> NDArray[np.float64]:
        """(Σw)²/Σw² over the rows of each group in these cells, shape (G,): what they are worth (Kish 1965).

        Rows themselves where the squares of clustered weights were not kept; NaN where a group has no case.
        """
        squares = self.squared_weights
        if squares is None:
            return np.asarray(self.rows[:, cells].sum(axis=1), dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.totals[:, cells].sum(axis=1) ** 2 / squares[:, cells].sum(axis=1))

    def _effective_units(self, cells: Any) -> NDArray[np.float64]:
        """(Σ_u d_u)²/Σ_u d_u² of each group, with d_u the weighted cases of a sampling unit in these cells (Kish 1965).

        `cells`: their places, or which of all. Shape (G,), NaN where a group has no case.
        """
        groups = np.arange(len(self.groups))
        squares = self.scatter.reshape(self.totals.shape * 2)[groups, :, groups]  # type: ignore[union-attr]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.totals[:, cells].sum(axis=1) ** 2 / squares[:, cells][..., cells].sum(axis=(1, 2)))

    @classmethod
    def _count_rows(cls, outcomes: Outcomes, cell: NDArray[Any]) -> Self:
        """Count the cell codes of validated rows."""
        grouping, n_cells = _rows(outcomes).groups, len(cls.cells)
        n_groups, cell = len(grouping.labels), np.asarray(cell)
        fine = cell.shape == grouping.codes.shape and cell.dtype.kind in "iu"
        fine = fine and 0 <= cell.min(initial=0) <= cell.max(initial=0) < n_cells
        check_that(fine, "cell", cell, f"the number of the cell of every row, from 0 to {n_cells - 1}")
        size = n_groups * n_cells
        rows, totals, squares = np.zeros(size, dtype=np.int64), np.zeros(size), np.zeros(size)
        weight, number = outcomes.weight, outcomes.number
        for start in range(0, cell.size, _BLOCK):
            block = slice(start, start + _BLOCK)
            code = grouping.codes[block].astype(np.intp) * n_cells + cell[block]
            rows += np.bincount(code, None if number is None else number[block], size).astype(np.int64, copy=False)
            if weight is not None:
                totals += np.bincount(code, weights=weight[block], minlength=size)
                square = weight[block] ** 2 if outcomes.squares is None else outcomes.squares[block]
                squares += np.bincount(code, weights=square, minlength=size)
        n_units, group_units = int(rows.sum()), rows.reshape(n_groups, n_cells).sum(axis=1)
        totals, scatter = (rows.astype(np.float64), None) if weight is None else (totals, np.diag(squares))
        row_squares = None
        if outcomes.cluster is not None:
            row_squares = (rows if weight is None else squares).astype(np.float64).reshape(n_groups, n_cells)
            cluster, code = outcomes.cluster.codes, grouping.codes.astype(np.intp) * n_cells + cell
            scatter, n_units = _cluster_scatter(cluster, code, weight, size)
            pairs = np.unique(cluster.astype(np.int64) * n_groups + grouping.codes)
            group_units = np.bincount(pairs % n_groups, minlength=n_groups)
        return cls(
            groups=grouping.labels, totals=totals.reshape(n_groups, n_cells),
            rows=rows.reshape(n_groups, n_cells), scatter=scatter, n_units=n_units,
            clustered=outcomes.cluster is not None, missing=outcomes.missing,
            attributes=grouping.attributes, group_units=group_units, squares=row_squares,
        )  # fmt: skip

    @classmethod
    def from_counts(cls, counts: Any, *, groups: Sequence[Hashable] | None = None, left_out: Any = None) -> Self:
        """Table of counts that are already there.

        Parameters
        ----------
        counts : mapping of group to cells, or data frame
            Cells as a sequence in the order of `cells`, or as a mapping by name. A frame has one row per
            group, the cells as columns, and the groups in its index or in a column ``group``.
        groups : sequence, optional
            Order of the groups; default the order given.
        left_out : int or mapping, optional
            Rows in no group or cell, for worst-case bounds: a number of rows of which nothing is known; or what
            is known → number, ``{(group, [label, ]prediction): n}``, None for unknown.

        Raises
        ------
        InputError
            If a cell is missing, negative, not finite or not whole.
        """
        cls._check_cells()
        table = cls._given(_as_mapping(counts, cls.cells), groups, whole=True)
        return table if left_out is None else replace(table, missing=table._left_out_report(left_out))

    def _left_out_report(self, left_out: Any, argument: str = "left_out") -> MissingReport:
        """What is known of rows that the table has no cell for, as `from_counts` takes it."""
        roles = ("y_true", "y_pred") if "tp" in self.cells else ("y_pred",)
        known = left_out if isinstance(left_out, Mapping) else {(None,) * (1 + len(roles)): left_out}
        words = f"numbers of rows by ({', '.join(('group', *roles))}), None for unknown"
        patterns: Counter[Any] = Counter()
        by_column: Counter[str] = Counter()
        for key, number in known.items():
            fine = isinstance(key, tuple) and len(key) == 1 + len(roles) and None in key and {*key[1:]} <= {None, 0, 1}
            check_that(fine, argument, key, words, "{(None, 1): 5, (None, 0): 20}, say")
            n = checks.check_whole(argument, number, low=0, cure="pass numbers of rows")
            g = -1 if key[0] is None else group_index(self.groups, key[0], argument)
            codes = tuple(-1 if value is None else int(value) for value in key[1:])
            patterns[g, *((-1,) * (2 - len(codes))), *codes] += n
            for name, value in zip(("sensitive_features", *roles), key, strict=True):
                by_column[name] += n if value is None else 0
        total = patterns.total()
        rows = tuple((*key, n) for key, n in sorted(patterns.items()) if n)
        return MissingReport("drop", self.n + total, total, dict(by_column), rows)

    @classmethod
    def from_effective(cls, counts: Any) -> Self:
        """Table of effective counts, which need not be whole: what correlated rows are worth.

        Parameters
        ----------
        counts : mapping of group to cells by name, or data frame
            As in `from_counts`, but a mapping names the cells.

        Raises
        ------
        InputError
            If a cell is missing, negative or not finite, or not named.
        """
        cls._check_cells()
        for cells in counts.values() if isinstance(counts, Mapping) else ():
            cure = repr({cell: 10 + k for k, cell in enumerate(cls.cells)})
            check_that(isinstance(cells, Mapping), "counts", cells, f"the cells {', '.join(cls.cells)} by name", cure)
        return cls._given(_as_mapping(counts, cls.cells), None, whole=False)

    @classmethod
    def _check_cells(cls) -> None:
        """Raise where a class of tables has no cells by itself: those of several classes of labels have theirs."""
        if not isinstance(cls.cells, tuple) or not cls.cells:
            got = f"counts for a {cls.__name__}, whose cells are not known before its labels are"
            allowed = "SelectionCounts, ConfusionCounts or PairedCounts, whose cells have names"
            cure = "fs.um_multiclass(y_true, y_pred, …) counts rows with labels of several classes"
            raise InputError("counts", got=got, allowed=allowed, cure=cure)

    @classmethod
    def _given(cls, table: dict[Hashable, Any], groups: Sequence[Hashable] | None, *, whole: bool) -> Self:
        """The table of given cells: finite, not negative and, where asked for, whole."""
        order = list(table)
        if groups is not None:
            cure = "name every group of `counts` once"
            checks.check_names("groups", groups, table, cure=cure)
            order = list(groups)
            check_that(
                len(order) == len(table), "groups", order, f"the groups of `counts` {list(table)!r} in some order", cure
            )
        if not table:
            allowed = "at least one group with its cells"
            raise InputError("counts", got="no group", allowed=allowed, cure="pass the counts")
        labels = label_texts(order, "counts")
        check_that(len(set(labels)) == len(labels), "counts", order, "groups that do not read alike", "rename one")
        totals = np.array([[_number(v, g) for v in _cells_of(table[g], g, cls.cells)] for g in order])
        broken = totals != np.floor(totals)
        bad = ~np.isfinite(totals) | (totals < 0) | (whole & broken)
        if bad.any():
            g, c = np.argwhere(bad)[0]
            got = f"{cls.cells[c]} = {totals[g, c]:g} in group {order[g]!r}"
            allowed = "whole numbers ≥ 0" if whole else "finite numbers ≥ 0, whole or effective"
            cure = "pass row counts; weighted data go in row by row with sample_weight="
            raise InputError("counts", got=got, allowed=allowed, cure=cure)
        rows, n = totals if broken.any() else totals.astype(np.int64), int(np.rint(totals.sum()))
        units = np.rint(totals.sum(axis=1)).astype(np.int64)
        return cls(labels, totals, rows, n_units=n, missing=MissingReport(n_rows=n), group_units=units)

    def to_frame(self) -> pd.DataFrame:
        """One row per group: the cells' totals and the number of rows."""
        totals = self.totals if self.weighted else self.totals.astype(np.int64)
        columns = [list(self.groups), *totals.T, self.group_sizes]
        return pd.DataFrame(dict(zip(("group", *self.cells, "n"), columns, strict=True)))

    def __str__(self) -> str:
        return self.to_frame().to_string(index=False)

    def _collapse(self, kind: type[_Kind], mapping: NDArray[np.float64]) -> _Kind:
        """Merge cells by a 0/1 matrix of shape (cells, new cells)."""
        fine = isinstance(kind, type) and issubclass(kind, CellCounts)
        check_that(fine, "kind", kind, "a class of counts", "SelectionCounts, say")
        mapping = checks.finite_array("mapping", mapping, "zeros and ones")
        shape = (len(self.cells), len(kind.cells))
        fine = mapping.shape == shape and bool(np.isin(mapping, (0, 1)).all())
        check_that(fine, "mapping", mapping, f"zeros and ones in shape {shape}")
        whole = np.kron(np.eye(len(self.groups)), mapping)
        scatter = None if self.scatter is None else whole.T @ self.scatter @ whole
        merged = {"totals": self.totals @ mapping, "rows": self.rows @ mapping.astype(np.int64), "scatter": scatter}
        merged["squares"] = None if self.squares is None else self.squares @ mapping
        return kind(**{**vars(self), **merged})

    def _regrouped(self, groups: tuple[str, ...], position: Sequence[int]) -> Self:
        """Groups merged, reordered or added: group g becomes group ``position[g]`` of `groups`."""
        names = isinstance(groups, Sequence) and not isinstance(groups, str) and all(map(is_plain, groups))
        check_that(names, "groups", groups, "a tuple of names")
        target = checks.finite_array("position", position, "whole numbers")
        fine = target.shape == (len(self.groups),) and np.isin(target, np.arange(len(groups))).all()
        check_that(fine, "position", position, f"for each group one of 0 to {len(groups) - 1}, its new place")
        position = target.astype(int).tolist()
        mapping = np.eye(len(groups))[position]
        whole, one = np.kron(mapping, np.eye(len(self.cells))), mapping.astype(np.int64)
        # a cluster with rows in two merged groups would be counted twice
        units = None if self.clustered and len(set(position)) < len(self.groups) else self.group_units
        return replace(
            self, groups=groups, totals=mapping.T @ self.totals, rows=one.T @ self.rows,
            scatter=None if self.scatter is None else whole.T @ self.scatter @ whole,
            missing=self.missing._regrouped(position), group_units=None if units is None else units @ one,
            squares=None if self.squares is None else mapping.T @ self.squares,
        )  # fmt: skip

    def __add__(self, other: Self) -> Self:
        """Table of two sets of rows with the same groups and no sampling unit in common."""
        checks.check_summand(self, other, "groups", "cells")
        a, b = self.scatter, other.scatter
        if (a is None) != (b is None):  # of the unweighted one the scatter of its rows is written out
            a, b = (np.diag(t.totals.ravel()) if t.scatter is None else t.scatter for t in (self, other))
        units = None if self.group_units is None or other.group_units is None else self.group_units + other.group_units
        clustered, squares = self.clustered or other.clustered, None
        first, second = self.squared_weights, other.squared_weights
        if clustered and first is not None and second is not None:
            squares = first + second
        return replace(
            self, totals=self.totals + other.totals, rows=self.rows + other.rows,
            scatter=None if a is None or b is None else a + b, n_units=self.n_units + other.n_units,
            clustered=clustered, missing=self.missing + other.missing, group_units=units, squares=squares,
        )  # fmt: skip


def _rows(outcomes: Any) -> Outcomes:
    return check_type(
        "outcomes", outcomes, Outcomes, "validated rows: Outcomes.from_arrays(…)", "count arrays with from_arrays"
    )


def _column_of(outcomes: Any, argument: str) -> NDArray[np.uint8]:
    """Outcomes, predictions or second predictions of validated rows, as 0 and 1."""
    return checks.check_given(argument, getattr(_rows(outcomes), "extra" if argument == "y_pred_b" else argument))


def _cluster_scatter(
    cluster: NDArray[Any], code: NDArray[np.intp], weight: NDArray[np.float64] | None, size: int
) -> tuple[NDArray[np.float64], int]:
    """Σ over clusters of t tᵀ, with t the cell totals of a cluster; clusters are taken in blocks."""
    used, unit = np.unique(cluster, return_inverse=True)
    order = np.argsort(unit, kind="stable")
    unit, code, weight = unit[order], code[order], np.ones(code.size) if weight is None else weight[order]
    scatter = np.zeros((size, size))
    step = max(1, _BLOCK // size)
    for first in range(0, used.size, step):
        low, high = np.searchsorted(unit, [first, min(first + step, used.size)])
        local = (unit[low:high] - first) * size + code[low:high]
        totals = np.bincount(local, weight[low:high], min(step, used.size - first) * size).reshape(-1, size)
        scatter += totals.T @ totals
    return scatter, int(used.size)


def _as_mapping(counts: Any, cells: tuple[str, ...]) -> dict[Hashable, Any]:
    if isinstance(counts, Mapping):
        return dict(counts)
    try:
        have = nw.from_native(counts).collect_schema().names()
    except (TypeError, nw.exceptions.NarwhalsError) as problem:
        allowed = f"a mapping group → ({', '.join(cells)}), or a frame with these columns"
        cure = "e.g. {'a': " + repr(tuple(range(10, 10 + len(cells)))) + ", 'b': …}"
        raise InputError("counts", got=type(counts).__name__, allowed=allowed, cure=cure) from problem
    frame = as_frame_columns(counts, [*(["group"] if "group" in have else []), *cells], "counts")
    labels = frame["group"] if "group" in frame.columns else frame.index
    if len(set(labels)) < len(labels):
        raise InputError("counts", got="a group twice", allowed="one row per group", cure="add them up first")
    return {label: tuple(row) for label, row in zip(labels, frame[list(cells)].to_numpy(), strict=True)}


def _number(value: Any, group: Hashable) -> float:
    try:
        return float(value)
    except (TypeError, ValueError) as problem:
        got, cure = f"{value!r} in group {group!r}", "pass the counts as numbers"
        raise InputError("counts", got=got, allowed="whole numbers ≥ 0", cure=cure) from problem


def _cells_of(value: Any, group: Hashable, cells: tuple[str, ...]) -> list[Any]:
    if isinstance(value, Mapping) and all(map(is_plain, value)) and set(value) == set(cells):
        return [value[c] for c in cells]
    if not isinstance(value, Mapping) and np.ndim(value) == 1 and len(value) == len(cells):
        return list(value)
    got, allowed = f"{value!r} for group {group!r}", f"{len(cells)} counts: {', '.join(cells)}"
    cure = "pass them in this order, or as a mapping with these names"
    raise InputError("counts", got=got, allowed=allowed, cure=cure)


@serialisable(eq=False)
class SelectionCounts(CellCounts):
    """Selected and not selected, per group: all that disparate impact needs.

    Examples
    --------
    >>> from fairstats.results import SelectionCounts
    >>> print(SelectionCounts.from_counts({"Male": (6395, 13798), "Female": (1112, 8520)}))
     group  selected  not_selected     n
      Male      6395         13798 20193
    Female      1112          8520  9632
    """

    cells: ClassVar[tuple[str, ...]] = ("selected", "not_selected")

    @classmethod
    def _from_outcomes(cls, outcomes: Outcomes) -> Self:
        """Count validated rows."""
        return cls._count_rows(outcomes, 1 - _column_of(outcomes, "y_pred"))


@serialisable(eq=False)
class ConfusionCounts(CellCounts):
    """True and false positives and negatives, per group.

    Examples
    --------
    >>> from fairstats import ConfusionCounts
    >>> counts = ConfusionCounts.from_arrays(
    ...     [1, 1, 0, 0, 1, 0], [1, 0, 0, 1, 1, 0], sensitive_features=list("aaabbb")
    ... )
    >>> print(counts)
    group  tp  fp  fn  tn  n
        a   1   0   1   1  3
        b   1   1   0   1  3
    """

    cells: ClassVar[tuple[str, ...]] = ("tp", "fp", "fn", "tn")

    @classmethod
    def _from_outcomes(cls, outcomes: Outcomes) -> Self:
        """Count validated rows."""
        return cls._count_rows(outcomes, confusion_cells(outcomes))

    @classmethod
    def from_arrays(
        cls, y_true: Any, y_pred: Any, *, sensitive_features: Any, sample_weight: Any = None, cluster: Any = None,
        pos_label: Any = None, label_values: Any = None, missing: Any = "raise",
        groups: Sequence[Hashable] | None = None,
    ) -> Self:  # fmt: skip
        """Count rows.

        Parameters
        ----------
        y_true, y_pred : array-like, shape (n,)
            Labels and predictions.
        sensitive_features : array-like, frame or mapping
            One or several sensitive columns.
        sample_weight, cluster : array-like, shape (n,), optional
            Weights, sampling units.
        pos_label, label_values, missing, groups
            As in `disparate_impact`.
        """
        outcomes = Outcomes.from_arrays(
            y_true, y_pred, sensitive_features=sensitive_features, sample_weight=sample_weight,
            cluster=cluster, pos_label=pos_label, label_values=label_values, missing=missing, groups=groups,
        )  # fmt: skip
        return cls._from_outcomes(outcomes)

    @classmethod
    def from_frame(
        cls, frame: Any, *, y_true: str, y_pred: str, sensitive_features: str | Sequence[str],
        sample_weight: str | None = None, cluster: str | None = None, **options: Any,
    ) -> Self:  # fmt: skip
        """Count the rows of a data frame (pandas, polars, pyarrow …), columns by name."""
        names = list(checks.column_names("sensitive_features", sensitive_features))
        further = {"sample_weight": sample_weight, "cluster": cluster}
        for role, column in {"y_true": y_true, "y_pred": y_pred, **further}.items():
            checks.column_name(role, column)
        given = {role: column for role, column in further.items() if column is not None}
        columns = as_frame_columns(frame, [y_true, y_pred, *names, *given.values()], "frame")
        options |= {role: columns[name] for role, name in given.items()}
        return cls.from_arrays(columns[y_true], columns[y_pred], sensitive_features=columns[names], **options)

    def selection(self) -> SelectionCounts:
        """The same table without the labels."""
        return self._collapse(SelectionCounts, np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]))


@serialisable(eq=False)
class PairedCounts(CellCounts):
    """Label × prediction of model A × prediction of model B, per group (the same people).

    The cell ``yab`` counts rows with y_true = y, ŷ_A = a, ŷ_B = b.
    """

    cells: ClassVar[tuple[str, ...]] = ("111", "110", "101", "100", "011", "010", "001", "000")

    @classmethod
    def _from_outcomes(cls, outcomes: Outcomes) -> Self:
        """Count validated rows that carry a second prediction."""
        true, first, second = (_column_of(outcomes, name) for name in ("y_true", "y_pred", "y_pred_b"))
        return cls._count_rows(outcomes, 7 - 4 * true - 2 * first - second)

    def confusion(self, model: int) -> ConfusionCounts:
        """Confusion counts of one of the two models.

        Parameters
        ----------
        model : {0, 1}
            Model A, the first prediction, or model B.

        Raises
        ------
        InputError
            For another number.
        """
        model = checks.check_whole("model", model, low=0, high=1, cure="0 for model A, 1 for model B")
        return self._collapse(ConfusionCounts, self._confusion_map(model))

    @classmethod
    def _confusion_map(cls, model: int) -> NDArray[np.float64]:
        """0/1 matrix of shape (8, 4) from paired cells to confusion cells of one model."""
        kinds = ("11", "01", "10", "00")  # label and prediction
        return np.array([[float(cell[0] + cell[1 + model] == kind) for kind in kinds] for cell in cls.cells])


def confusion_cells(outcomes: Outcomes) -> NDArray[Any]:
    """Cell codes 0 (tp), 1 (fp), 2 (fn), 3 (tn) of validated rows, shape (n,)."""
    return 3 - 2 * _column_of(outcomes, "y_pred") - _column_of(outcomes, "y_true")
