"""Tables of cell totals per group, with their covariance.

A count table holds, per group and cell, the (weighted) total and the number of rows, and — for weights and
clusters — the scatter of the cell totals over sampling units. That is all that the inference on rates needs.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self, TypeVar

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import check_given, check_that, check_type, check_whole, finite_array, is_plain
from fairstats.ground.encoding import as_frame_columns, label_text
from fairstats.ground.errors import InputError
from fairstats.ground.groups import group_index
from fairstats.ground.lazy import pd
from fairstats.ground.outcomes import MissingReport, Outcomes

_BLOCK = 1 << 20
_Kind = TypeVar("_Kind", bound="CellCounts")


@dataclass(frozen=True, eq=False)
class CellCounts:
    """Totals of mutually exclusive cells per group.

    `totals`, shape (G, c): weighted total of each cell, the row counts where there are no weights; `rows`,
    shape (G, c): number of rows in each cell (of effective counts the rows that were evaluated; where only
    the counts are known these themselves, as floats); `scatter`, shape (G·c, G·c): Σ over sampling units of
    the outer product of their cell totals (row-major), None for unweighted independent rows, where it is
    diag(totals); `n_units`: clusters, or rows; `group_units`, shape (G,): those with rows in each group, None
    where not known (clustered groups merged); `attributes`: names of the sensitive columns.
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

    #: Names of the cells, in the order of the columns.
    cells: ClassVar[tuple[str, ...]] = ()
    #: A file of counts says what its columns are.
    in_file: ClassVar[tuple[str, ...]] = ("cells",)

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
        """Sum of the named cells per group, shape (G,)."""
        return np.asarray(self.totals[:, [self.cells.index(cell) for cell in cells]].sum(axis=1))

    def covariance(self) -> NDArray[np.float64]:
        """Covariance of the cell totals, shape (G·c, G·c).

        The multinomial diag(N) − N Nᵀ/n for independent unweighted rows; otherwise the with-replacement
        linearisation n/(n−1)·(Σ_u t_u t_uᵀ − N Nᵀ/n) over the n sampling units u.
        """
        totals = self.totals.ravel()
        if self.scatter is None:
            return np.asarray(np.diag(totals) - np.outer(totals, totals) / totals.sum())
        centred = self.scatter - np.outer(totals, totals) / self.n_units
        return np.asarray(centred * self.unit_factor)

    @property
    def unit_factor(self) -> float:
        """n/(n − 1) of the n sampling units, the factor of a linearised variance; one unit has none."""
        if self.n_units < 2:
            argument, got = "cluster" if self.clustered else "sample_weight", f"{self.n_units} sampling unit"
            cure = "a variance needs at least two independent units"
            raise InputError(argument, got=got, allowed="two or more", cure=cure)
        return self.n_units / (self.n_units - 1)

    @property
    def degrees_of_freedom(self) -> float:
        """Sampling units − 1 under weights or clusters, infinite otherwise."""
        return float(self.n_units - 1) if self.weighted else float("inf")

    @classmethod
    def count_rows(cls, outcomes: Outcomes, cell: NDArray[Any]) -> Self:
        """Count the cell codes of validated rows."""
        grouping, n_cells = _rows(outcomes).groups, len(cls.cells)
        n_groups, cell = len(grouping.labels), np.asarray(cell)
        fine = cell.shape == grouping.codes.shape and cell.dtype.kind in "iu"
        fine = fine and (cell.size == 0 or bool(cell.min() >= 0 and cell.max() < n_cells))
        check_that(fine, "cell", cell, f"the number of the cell of every row, from 0 to {n_cells - 1}")
        size = n_groups * n_cells
        rows = np.zeros(size, dtype=np.int64)
        totals = np.zeros(size)
        squares = np.zeros(size)
        weight, number = outcomes.weight, outcomes.number
        for start in range(0, cell.size, _BLOCK):
            block = slice(start, start + _BLOCK)
            code = grouping.codes[block].astype(np.intp) * n_cells + cell[block]
            own = None if number is None else number[block]
            rows += np.bincount(code, own, size).astype(np.int64, copy=False)
            if weight is not None:
                totals += np.bincount(code, weights=weight[block], minlength=size)
                square = weight[block] ** 2 if outcomes.squares is None else outcomes.squares[block]
                squares += np.bincount(code, weights=square, minlength=size)
        if weight is None:
            totals = rows.astype(np.float64)
            squares = totals
        n_units = int(rows.sum())
        group_units = rows.reshape(n_groups, n_cells).sum(axis=1)
        scatter = None if weight is None else np.diag(squares)
        if outcomes.cluster is not None:
            cluster, code = outcomes.cluster.codes, grouping.codes.astype(np.intp) * n_cells + cell
            scatter, n_units = _cluster_scatter(cluster, code, weight, size)
            pairs = np.unique(cluster.astype(np.int64) * n_groups + grouping.codes)
            group_units = np.bincount(pairs % n_groups, minlength=n_groups)
        return cls(
            groups=grouping.labels, totals=totals.reshape(n_groups, n_cells),
            rows=rows.reshape(n_groups, n_cells), scatter=scatter, n_units=n_units,
            clustered=outcomes.cluster is not None, missing=outcomes.missing,
            attributes=grouping.attributes, group_units=group_units,
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
            Rows that are in no group or cell because something of them is unknown, for worst-case bounds: a
            number of rows of which nothing is known; or what is known → number, ``{(group, prediction): n}``
            and with labels ``{(group, label, prediction): n}``, None for unknown.

        Raises
        ------
        InputError
            If a cell is missing, negative, not finite or not whole.
        """
        table = cls._given(_as_mapping(counts, cls.cells), groups, whole=True)
        return table if left_out is None else replace(table, missing=table.left_out_report(left_out))

    def left_out_report(self, left_out: Any, argument: str = "left_out") -> MissingReport:
        """What is known of rows that the table has no cell for, as `from_counts` takes it."""
        roles = ("y_true", "y_pred") if "tp" in self.cells else ("y_pred",)
        known = left_out if isinstance(left_out, Mapping) else {(None,) * (1 + len(roles)): left_out}
        words = f"numbers of rows by ({', '.join(('group', *roles))}), None for unknown"
        patterns: dict[tuple[int, int, int], int] = {}
        by_column: dict[str, int] = {}
        for key, number in known.items():
            fine = isinstance(key, tuple) and len(key) == 1 + len(roles) and None in key
            fine = fine and all(value in (None, 0, 1) for value in key[1:])
            check_that(fine, argument, key, words, "{(None, 1): 5, (None, 0): 20}, say")
            n = check_whole(argument, number, low=0, cure="pass numbers of rows")
            g = -1 if key[0] is None else group_index(self.groups, key[0], argument)
            codes = tuple(-1 if value is None else int(value) for value in key[1:])
            pattern = (g, *((-1,) * (2 - len(codes))), *codes)
            patterns[pattern] = patterns.get(pattern, 0) + n  # type: ignore[index, arg-type]
            for name, value in zip(("sensitive_features", *roles), key, strict=True):
                by_column[name] = by_column.get(name, 0) + (n if value is None else 0)
        total = sum(patterns.values())
        rows = tuple((*key, n) for key, n in sorted(patterns.items()) if n)
        return MissingReport("drop", self.n + total, total, by_column, rows)

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
            If a cell is missing or unnamed, negative or not finite.
        """
        for cells in counts.values() if isinstance(counts, Mapping) else ():
            cure = repr({cell: 10 + k for k, cell in enumerate(cls.cells)})
            fine = isinstance(cells, Mapping)
            check_that(fine, "counts", cells, f"the cells {', '.join(cls.cells)} by name", cure)
        return cls._given(_as_mapping(counts, cls.cells), None, whole=False)

    @classmethod
    def _given(cls, table: dict[Hashable, Any], groups: Sequence[Hashable] | None, *, whole: bool) -> Self:
        """The table of given cells: finite, not negative and, where asked for, whole."""
        order = list(table) if groups is None else list(groups)
        fine = groups is None or (set(order) == set(table) and len(order) == len(table))
        check_that(fine, "groups", order, f"the groups of `counts` {list(table)!r} in some order")
        if not table:
            allowed = "at least one group with its cells"
            raise InputError("counts", got="no group", allowed=allowed, cure="pass the counts")
        labels = tuple(map(label_text, order))
        check_that(len(set(labels)) == len(labels), "counts", order, "groups that do not read alike", "rename one")
        totals = np.array([[_number(v, g) for v in _cells_of(table[g], g, cls.cells)] for g in order])
        bad = ~np.isfinite(totals) | (totals < 0) | (whole & (totals != np.floor(totals)))
        if bad.any():
            g, c = np.argwhere(bad)[0]
            got = f"{cls.cells[c]} = {totals[g, c]:g} in group {order[g]!r}"
            allowed = "whole numbers ≥ 0" if whole else "finite numbers ≥ 0, whole or effective"
            cure = "pass row counts; weighted data go in row by row with sample_weight="
            raise InputError("counts", got=got, allowed=allowed, cure=cure)
        rows = totals.astype(np.int64) if (totals == np.floor(totals)).all() else totals
        n = int(np.rint(totals.sum()))
        return cls(
            groups=labels, totals=totals, rows=rows, n_units=n, missing=MissingReport(n_rows=n),
            group_units=np.rint(totals.sum(axis=1)).astype(np.int64),
        )  # fmt: skip

    def to_frame(self) -> pd.DataFrame:
        """One row per group: the cells' totals and the number of rows."""
        frame = pd.DataFrame(self.totals, columns=list(self.cells))
        if not self.weighted:
            frame = frame.astype("int64")
        frame.insert(0, "group", list(self.groups))
        frame["n"] = self.group_sizes
        return frame

    def __str__(self) -> str:
        return self.to_frame().to_string(index=False)

    def collapse(self, kind: type[_Kind], mapping: NDArray[np.float64]) -> _Kind:
        """Merge cells by a 0/1 matrix of shape (cells, new cells)."""
        fine = isinstance(kind, type) and issubclass(kind, CellCounts)
        check_that(fine, "kind", kind, "a class of counts", "SelectionCounts, say")
        mapping = finite_array("mapping", mapping, "zeros and ones")
        shape = (len(self.cells), len(kind.cells))
        fine = mapping.shape == shape and bool(np.isin(mapping, (0, 1)).all())
        check_that(fine, "mapping", mapping, f"zeros and ones in shape {shape}")
        whole = np.kron(np.eye(len(self.groups)), mapping)
        merged = {
            "totals": self.totals @ mapping,
            "rows": self.rows @ mapping.astype(np.int64),
            "scatter": None if self.scatter is None else whole.T @ self.scatter @ whole,
        }
        return kind(**{**vars(self), **merged})

    def regrouped(self, groups: tuple[str, ...], position: Sequence[int]) -> Self:
        """Groups merged, reordered or added: group g becomes group ``position[g]`` of `groups`."""
        names = isinstance(groups, Sequence) and not isinstance(groups, str) and all(map(is_plain, groups))
        check_that(names, "groups", groups, "a tuple of names")
        target = finite_array("position", position, "whole numbers")
        fine = target.shape == (len(self.groups),) and np.isin(target, np.arange(len(groups))).all()
        check_that(fine, "position", position, f"for each group one of 0 to {len(groups) - 1}, its new place")
        position = target.astype(int).tolist()
        mapping = np.zeros((len(self.groups), len(groups)))
        mapping[np.arange(len(self.groups)), position] = 1.0
        whole = np.kron(mapping, np.eye(len(self.cells)))
        units = self.group_units
        if units is not None:
            # a cluster with rows in two merged groups would be counted twice
            merged = len(set(position)) < len(self.groups)
            units = None if merged and self.clustered else units @ mapping.astype(np.int64)
        return replace(
            self, groups=groups, totals=mapping.T @ self.totals,
            rows=mapping.T.astype(np.int64) @ self.rows,
            scatter=None if self.scatter is None else whole.T @ self.scatter @ whole,
            missing=self.missing.regrouped(position), group_units=units,
        )  # fmt: skip

    def __add__(self, other: Self) -> Self:
        """Table of two sets of rows with the same groups and no sampling unit in common."""
        check_type("other", other, type(self), f"a {type(self).__name__}", "a + b of two tables of one kind")
        a, b = self.scatter, other.scatter
        if (a is None) != (b is None):  # of the unweighted one the scatter of its rows is written out
            a, b = (np.diag(t.totals.ravel()) if t.scatter is None else t.scatter for t in (self, other))
        lacking = self.group_units is None or other.group_units is None
        return replace(
            self,
            totals=self.totals + other.totals,
            rows=self.rows + other.rows,
            scatter=None if a is None or b is None else a + b,
            n_units=self.n_units + other.n_units,
            clustered=self.clustered or other.clustered,
            missing=self.missing + other.missing,
            group_units=None if lacking else self.group_units + other.group_units,  # type: ignore[operator]
        )


def _rows(outcomes: Any) -> Outcomes:
    allowed = "validated rows: Outcomes.from_arrays(…)"
    return check_type("outcomes", outcomes, Outcomes, allowed, "count arrays with from_arrays")


def column_of(outcomes: Any, argument: str) -> NDArray[np.uint8]:
    """Outcomes, predictions or second predictions of validated rows, as 0 and 1."""
    return check_given(argument, getattr(_rows(outcomes), "extra" if argument == "y_pred_b" else argument))


def _cluster_scatter(
    cluster: NDArray[Any], code: NDArray[np.intp], weight: NDArray[np.float64] | None, size: int
) -> tuple[NDArray[np.float64], int]:
    """Σ over clusters of t tᵀ, with t the cell totals of a cluster; clusters are taken in blocks."""
    used, unit = np.unique(cluster, return_inverse=True)
    weight = np.ones(code.size) if weight is None else weight
    order = np.argsort(unit, kind="stable")
    unit, code, weight = unit[order], code[order], weight[order]
    scatter = np.zeros((size, size))
    step = max(1, _BLOCK // size)
    for first in range(0, used.size, step):
        low, high = np.searchsorted(unit, [first, min(first + step, used.size)])
        local = (unit[low:high] - first) * size + code[low:high]
        n_local = min(step, used.size - first)
        totals = np.bincount(local, weights=weight[low:high], minlength=n_local * size).reshape(-1, size)
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
    if isinstance(value, Mapping) and set(value) == set(cells):
        return [value[c] for c in cells]
    if not isinstance(value, Mapping) and np.ndim(value) == 1 and len(value) == len(cells):
        return list(value)
    allowed = f"{len(cells)} counts: {', '.join(cells)}"
    cure = "pass them in this order, or as a mapping with these names"
    raise InputError("counts", got=f"{value!r} for group {group!r}", allowed=allowed, cure=cure)
