"""Sufficient statistics of rates: tables of cell totals per group, with their covariance."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
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

_BLOCK_ROWS = 1 << 20
_Kind = TypeVar("_Kind", bound="CellCounts")


@dataclass(frozen=True, eq=False)
class CellCounts:
    """Totals of mutually exclusive cells per group.

    `totals`, shape (G, c): weighted total of each cell, the row counts where there are no weights;
    `rows`, shape (G, c): number of rows in each cell (of effective counts these themselves, as
    floats); `scatter`, shape (G·c, G·c): Σ over sampling units of the outer product of their cell
    totals (row-major), None for unweighted independent rows, where it is diag(totals); `n_units`:
    clusters, or rows; `group_units`, shape (G,): those with rows in each group, None where not
    known (clustered groups merged); `attributes`: names of the sensitive columns; `squares`, shape
    (G, c): of clustered rows the sums of squared weights in each cell, which the scatter of
    independent rows has on its diagonal; None otherwise, and in files that were written before
    there were any.
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
        """Raise unless the tables that were read from a file have a row per group and a column per
        cell.
        """
        table_shape = (len(self.groups), len(self.cells))
        n_cells = table_shape[0] * table_shape[1]
        check_shape(self, "totals", self.totals, table_shape)
        check_shape(self, "rows", self.rows, table_shape)
        check_shape(self, "scatter", self.scatter, (n_cells, n_cells))
        check_shape(self, "group_units", self.group_units, table_shape[:1])
        check_amounts(self, "totals", self.totals)
        check_counts(self, "rows", self.rows)
        check_amounts(self, "scatter", self.scatter)
        check_counts(self, "group_units", self.group_units)

    @property
    def weighted(self) -> bool:
        """Whether the variance comes from linearisation over sampling units (weights or
        clusters).
        """
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
        are_names = all(isinstance(cell_name, str) for cell_name in cells)
        if not are_names or len(set(cells)) < len(cells) or not set(cells).issubset(self.cells):
            checks.check_names("cells", cells, self.cells)
        return self._sum_of_cells(self.totals, cells)

    def _sum_of_cells(self, table: NDArray[Any], cells: tuple[str, ...]) -> NDArray[Any]:
        """Sum of the columns of known cells of a table with a column per cell, shape (G,)."""
        total = np.zeros(len(self.groups), dtype=table.dtype)
        for cell_name in cells:
            total += table[:, self.cells.index(cell_name)]
        return total

    def covariance(self) -> NDArray[np.float64]:
        """Covariance of the cell totals, shape (G·c, G·c).

        The multinomial diag(N) − N Nᵀ/n for independent unweighted rows; otherwise the
        with-replacement linearisation n/(n−1)·(Σ t tᵀ − N Nᵀ/n) over the totals t of the n sampling
        units.
        """
        totals = self.totals.ravel()
        if self.scatter is None:
            return np.asarray(np.diag(totals) - np.outer(totals, totals) / totals.sum())
        return np.asarray(
            (self.scatter - np.outer(totals, totals) / self.n_units) * self.unit_factor
        )

    @property
    def unit_factor(self) -> float:
        """n/(n − 1) of the n sampling units, the factor of a linearised variance.

        One unit has none.
        """
        if self.n_units < 2:
            advice = "a variance needs at least two independent units"
            received = f"{self.n_units} sampling unit"
            raise InputError(
                "cluster" if self.clustered else "sample_weight",
                got=received,
                allowed="two or more",
                cure=advice,
            )
        return self.n_units / (self.n_units - 1)

    @property
    def degrees_of_freedom(self) -> float:
        """Sampling units − 1 under weights or clusters, infinite otherwise."""
        if self.weighted:
            return float(self.n_units - 1)
        return float("inf")

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
        """The table as far as groups are compared with each other.

        Weights that are equal within a group drop out.

        The rates of a group do not depend on the scale of its weights, and neither do their
        covariances. Where all groups have equal weights within, this is the table without weights,
        to the last digit; where some have, their totals are rows. What pools groups, as a rate of
        all rows or of all other groups, needs the table itself.
        """
        if self.scatter is None:
            return self
        evenly_weighted = self.even_groups
        if not evenly_weighted.any():
            return self
        totals = np.where(evenly_weighted[:, None], self.rows, self.totals).astype(np.float64)
        if evenly_weighted.all() and not self.clustered:
            return replace(self, totals=totals, scatter=None)
        group_totals = self.totals.sum(axis=1)
        rows_per_group = self.rows.sum(axis=1)
        weight = np.divide(
            group_totals,
            rows_per_group,
            out=np.ones(rows_per_group.size),
            where=evenly_weighted & (rows_per_group > 0),
        )
        of_cells = np.repeat(weight, len(self.cells))
        scatter = self.scatter / np.outer(of_cells, of_cells)
        # between groups of equal weights it sums products of whole numbers of rows
        in_even_group = np.repeat(evenly_weighted, len(self.cells))
        scatter = np.where(np.outer(in_even_group, in_even_group), np.rint(scatter), scatter)
        squares = self.squares
        if squares is not None:
            squares = np.where(evenly_weighted[:, None], self.rows, squares).astype(np.float64)
        return replace(self, totals=totals, scatter=scatter, squares=squares)

    def _effective_rows(self, cells: Any) -> NDArray[np.float64]:
        """(Σw)²/Σw² over the rows of each group in these cells, shape (G,).

        What they are worth (Kish 1965).

        Rows themselves where the squares of clustered weights were not kept; NaN where a group has
        no case.
        """
        squares = self.squared_weights
        if squares is None:
            return np.asarray(self.rows[:, cells].sum(axis=1), dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(
                self.totals[:, cells].sum(axis=1) ** 2 / squares[:, cells].sum(axis=1)
            )

    def _effective_units(self, cells: Any) -> NDArray[np.float64]:
        """(Σ_u d_u)²/Σ_u d_u² of each group, with d_u the weighted cases of a sampling unit in
        these cells (Kish 1965).

        `cells`: their places, or which of all. Shape (G,), NaN where a group has no case.
        """
        groups = np.arange(len(self.groups))
        squares = self.scatter.reshape(self.totals.shape * 2)[groups, :, groups]  # type: ignore[union-attr]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(
                self.totals[:, cells].sum(axis=1) ** 2
                / squares[:, cells][..., cells].sum(axis=(1, 2))
            )

    @classmethod
    def _count_rows(
        cls,
        outcomes: Outcomes,
        cell: NDArray[Any],
        *,
        n_cells: int | None = None,
        **own_fields: Any,
    ) -> Self:
        """Count the cell codes of validated rows.

        `n_cells`, `own_fields`: of a table whose cells the rows say.
        """
        grouping = _check_outcomes(outcomes).groups
        if n_cells is None:
            n_cells = len(cls.cells)
        n_groups = len(grouping.labels)
        cell = np.asarray(cell)
        is_valid = cell.shape == grouping.codes.shape and cell.dtype.kind in "iu"
        is_valid = is_valid and 0 <= cell.min(initial=0) <= cell.max(initial=0) < n_cells
        check_that(
            is_valid, "cell", cell, f"the number of the cell of every row, from 0 to {n_cells - 1}"
        )
        size = n_groups * n_cells
        row_counts = np.zeros(size, dtype=np.int64)
        totals = np.zeros(size)
        squares = np.zeros(size)
        weight = outcomes.weight
        number = outcomes.number
        for block_start in range(0, cell.size, _BLOCK_ROWS):
            block_rows = slice(block_start, block_start + _BLOCK_ROWS)
            group_cell_codes = (
                grouping.codes[block_rows].astype(np.intp) * n_cells + cell[block_rows]
            )
            row_counts += np.bincount(
                group_cell_codes, None if number is None else number[block_rows], size
            ).astype(np.int64, copy=False)
            if weight is not None:
                totals += np.bincount(group_cell_codes, weights=weight[block_rows], minlength=size)
                if outcomes.squares is None:
                    squared_weights = weight[block_rows] ** 2
                else:
                    squared_weights = outcomes.squares[block_rows]
                squares += np.bincount(group_cell_codes, weights=squared_weights, minlength=size)
        n_units = int(row_counts.sum())
        group_units = row_counts.reshape(n_groups, n_cells).sum(axis=1)
        if weight is None:
            totals = row_counts.astype(np.float64)
            scatter = None
        else:
            scatter = np.diag(squares)
        row_squares = None
        if outcomes.cluster is not None:
            row_squares = (
                (row_counts if weight is None else squares)
                .astype(np.float64)
                .reshape(n_groups, n_cells)
            )
            cluster = outcomes.cluster.codes
            group_cell_codes = grouping.codes.astype(np.intp) * n_cells + cell
            scatter, n_units = _cluster_scatter(cluster, group_cell_codes, weight, size)
            cluster_group_pairs = np.unique(cluster.astype(np.int64) * n_groups + grouping.codes)
            group_units = np.bincount(cluster_group_pairs % n_groups, minlength=n_groups)
        return cls(
            groups=grouping.labels,
            totals=totals.reshape(n_groups, n_cells),
            rows=row_counts.reshape(n_groups, n_cells),
            scatter=scatter,
            n_units=n_units,
            clustered=outcomes.cluster is not None,
            missing=outcomes.missing,
            attributes=grouping.attributes,
            group_units=group_units,
            squares=row_squares,
            **own_fields,
        )

    @classmethod
    def from_counts(
        cls,
        counts: Any,
        *,
        groups: Sequence[Hashable] | None = None,
        left_out: Any = None,
    ) -> Self:
        """Table of counts that are already there.

        Parameters
        ----------
        counts : mapping of group to cells, or data frame
            Cells as a sequence in the order of `cells`, or as a mapping by name. A frame has one
            row per group, the cells as columns, and the groups in its index or in a column
            ``group``.
        groups : sequence, optional
            Order of the groups; default the order given.
        left_out : int or mapping, optional
            Rows in no group or cell, for worst-case bounds: a number of rows of which nothing is
            known; or what is known → number, ``{(group, [label, ]prediction): n}``, None for
            unknown.

        Raises
        ------
        InputError
            If a cell is missing, negative, not finite or not whole.
        """
        cls._check_cells()
        table = cls._from_given_cells(_as_mapping(counts, cls.cells), groups, only_whole=True)
        if left_out is None:
            return table
        return replace(table, missing=table._left_out_report(left_out))

    def _left_out_report(self, left_out: Any, argument: str = "left_out") -> MissingReport:
        """What is known of rows that the table has no cell for, as `from_counts` takes it."""
        roles = ("y_true", "y_pred") if "tp" in self.cells else ("y_pred",)
        if isinstance(left_out, Mapping):
            left_out_rows = left_out
        else:
            left_out_rows = {(None,) * (1 + len(roles)): left_out}
        allowed_words = f"numbers of rows by ({', '.join(('group', *roles))}), None for unknown"
        patterns: Counter[Any] = Counter()
        by_column: Counter[str] = Counter()
        for row_pattern, number in left_out_rows.items():
            is_valid_key = (
                isinstance(row_pattern, tuple)
                and len(row_pattern) == 1 + len(roles)
                and None in row_pattern
                and {*row_pattern[1:]} <= {None, 0, 1}
            )
            check_that(
                is_valid_key,
                argument,
                row_pattern,
                allowed_words,
                "{(None, 1): 5, (None, 0): 20}, say",
            )
            n_rows = checks.check_whole(argument, number, low=0, cure="pass numbers of rows")
            if row_pattern[0] is None:
                group_position = -1
            else:
                group_position = group_index(self.groups, row_pattern[0], argument)
            codes = tuple(
                -1 if outcome_value is None else int(outcome_value)
                for outcome_value in row_pattern[1:]
            )
            patterns[group_position, *((-1,) * (2 - len(codes))), *codes] += n_rows
            for column_role, outcome_value in zip(
                ("sensitive_features", *roles), row_pattern, strict=True
            ):
                by_column[column_role] += n_rows if outcome_value is None else 0
        n_left_out = patterns.total()
        pattern_rows = tuple(
            (*row_pattern, n_rows) for row_pattern, n_rows in sorted(patterns.items()) if n_rows
        )
        return MissingReport(
            policy="drop",
            n_rows=self.n + n_left_out,
            n_dropped=n_left_out,
            by_column=dict(by_column),
            patterns=pattern_rows,
        )

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
            advice = repr(
                {cell_name: 10 + cell_number for cell_number, cell_name in enumerate(cls.cells)}
            )
            check_that(
                isinstance(cells, Mapping),
                "counts",
                cells,
                f"the cells {', '.join(cls.cells)} by name",
                advice,
            )
        return cls._from_given_cells(_as_mapping(counts, cls.cells), None, only_whole=False)

    @classmethod
    def _check_cells(cls) -> None:
        """Raise where a class of tables has no cells by itself.

        Those of several classes of labels have theirs.
        """
        if not isinstance(cls.cells, tuple) or not cls.cells:
            received = (
                f"counts for a {cls.__name__}, whose cells are not known before its labels are"
            )
            allowed = "SelectionCounts, ConfusionCounts or PairedCounts, whose cells have names"
            advice = (
                "fs.um_multiclass(y_true, y_pred, …) counts rows with labels of several classes"
            )
            raise InputError("counts", got=received, allowed=allowed, cure=advice)

    @classmethod
    def _from_given_cells(
        cls,
        table: dict[Hashable, Any],
        groups: Sequence[Hashable] | None,
        *,
        only_whole: bool,
    ) -> Self:
        """The table of given cells: finite, not negative and, where asked for, whole."""
        group_order = list(table)
        if groups is not None:
            advice = "name every group of `counts` once"
            checks.check_names("groups", groups, table, cure=advice)
            group_order = list(groups)
            check_that(
                len(group_order) == len(table),
                "groups",
                group_order,
                f"the groups of `counts` {list(table)!r} in some order",
                advice,
            )
        if not table:
            allowed = "at least one group with its cells"
            raise InputError("counts", got="no group", allowed=allowed, cure="pass the counts")
        labels = label_texts(group_order, "counts")
        check_that(
            len(set(labels)) == len(labels),
            "counts",
            group_order,
            "groups that do not read alike",
            "rename one",
        )
        cells_by_group = []
        for group in group_order:
            cells = _cells_of(table[group], group, cls.cells)
            cells_by_group.append([_as_count(cell_value, group) for cell_value in cells])
        all_whole = True
        for group, counts_of_group in zip(group_order, cells_by_group, strict=True):
            for cell, count in zip(cls.cells, counts_of_group, strict=True):
                is_whole = count.is_integer()
                all_whole = all_whole and is_whole
                if math.isfinite(count) and count >= 0 and (is_whole or not only_whole):
                    continue
                allowed = "finite numbers ≥ 0, whole or effective"
                if only_whole:
                    allowed = "whole numbers ≥ 0"
                raise InputError(
                    "counts",
                    got=f"{cell} = {count:g} in group {group!r}",
                    allowed=allowed,
                    cure="pass row counts; weighted data go in row by row with sample_weight=",
                )
        totals = np.array(cells_by_group)
        row_counts: NDArray[Any] = totals
        if all_whole:
            row_counts = totals.astype(np.int64)
        n_rows = round(float(totals.sum()))
        units_per_group = np.rint(totals.sum(axis=1)).astype(np.int64)
        return cls(
            labels,
            totals,
            row_counts,
            n_units=n_rows,
            missing=MissingReport(n_rows=n_rows),
            group_units=units_per_group,
        )

    def to_frame(self) -> pd.DataFrame:
        """One row per group: the cells' totals and the number of rows."""
        if self.weighted:
            totals = self.totals
        else:
            totals = self.totals.astype(np.int64)
        columns = [list(self.groups), *totals.T, self.group_sizes]
        return pd.DataFrame(dict(zip(("group", *self.cells, "n"), columns, strict=True)))

    def __str__(self) -> str:
        return self.to_frame().to_string(index=False)

    def _merge_cells(self, counts_class: type[_Kind], mapping: NDArray[np.float64]) -> _Kind:
        """Merge cells by a 0/1 matrix of shape (cells, new cells)."""
        is_valid = isinstance(counts_class, type) and issubclass(counts_class, CellCounts)
        check_that(is_valid, "kind", counts_class, "a class of counts", "SelectionCounts, say")
        mapping = checks.finite_array("mapping", mapping, "zeros and ones")
        mapping_shape = (len(self.cells), len(counts_class.cells))
        is_valid = mapping.shape == mapping_shape and bool(np.isin(mapping, (0, 1)).all())
        check_that(is_valid, "mapping", mapping, f"zeros and ones in shape {mapping_shape}")
        return counts_class(**self._merged_fields(mapping))

    def _merged_fields(self, mapping: NDArray[np.float64]) -> dict[str, Any]:
        """The fields that every table has, with cells merged by a matrix of zeros and ones."""
        table_mapping = np.kron(np.eye(len(self.groups)), mapping)
        if self.scatter is None:
            scatter = None
        else:
            scatter = table_mapping.T @ self.scatter @ table_mapping
        merged = {
            table_field.name: getattr(self, table_field.name) for table_field in fields(CellCounts)
        }
        merged |= {
            "totals": self.totals @ mapping,
            "rows": self.rows @ mapping.astype(np.int64),
            "scatter": scatter,
            "squares": None if self.squares is None else self.squares @ mapping,
        }
        return merged

    def _with_new_groups(self, groups: tuple[str, ...], position: Sequence[int]) -> Self:
        """Groups merged, reordered or added: group g becomes group ``position[g]`` of `groups`."""
        names = (
            isinstance(groups, Sequence)
            and not isinstance(groups, str)
            and all(map(is_plain, groups))
        )
        check_that(names, "groups", groups, "a tuple of names")
        target = checks.finite_array("position", position, "whole numbers")
        is_valid = (
            target.shape == (len(self.groups),) and np.isin(target, np.arange(len(groups))).all()
        )
        check_that(
            is_valid,
            "position",
            position,
            f"for each group one of 0 to {len(groups) - 1}, its new place",
        )
        position = target.astype(int).tolist()
        mapping = np.eye(len(groups))[position]
        table_mapping = np.kron(mapping, np.eye(len(self.cells)))
        integer_mapping = mapping.astype(np.int64)
        # a cluster with rows in two merged groups would be counted twice
        if self.clustered and len(set(position)) < len(self.groups):
            new_group_units = None
        else:
            new_group_units = self.group_units
        return replace(
            self,
            groups=groups,
            totals=mapping.T @ self.totals,
            rows=integer_mapping.T @ self.rows,
            scatter=None
            if self.scatter is None
            else table_mapping.T @ self.scatter @ table_mapping,
            missing=self.missing._with_new_groups(position),
            group_units=None if new_group_units is None else new_group_units @ integer_mapping,
            squares=None if self.squares is None else mapping.T @ self.squares,
        )

    def __add__(self, other: Self) -> Self:
        """Table of two sets of rows with the same groups and no sampling unit in common."""
        checks.check_summand(self, other, "groups", "cells")
        own_scatter = self.scatter
        other_scatter = other.scatter
        # of the unweighted one the scatter of its rows is written out
        if (own_scatter is None) != (other_scatter is None):
            own_scatter, other_scatter = (
                np.diag(count_table.totals.ravel())
                if count_table.scatter is None
                else count_table.scatter
                for count_table in (self, other)
            )
        if self.group_units is None or other.group_units is None:
            new_group_units = None
        else:
            new_group_units = self.group_units + other.group_units
        clustered = self.clustered or other.clustered
        squares = None
        own_squares = self.squared_weights
        other_squares = other.squared_weights
        if clustered and own_squares is not None and other_squares is not None:
            squares = own_squares + other_squares
        return replace(
            self,
            totals=self.totals + other.totals,
            rows=self.rows + other.rows,
            scatter=None
            if own_scatter is None or other_scatter is None
            else own_scatter + other_scatter,
            n_units=self.n_units + other.n_units,
            clustered=clustered,
            missing=self.missing + other.missing,
            group_units=new_group_units,
            squares=squares,
        )


def _check_outcomes(outcomes: Any) -> Outcomes:
    return check_type(
        "outcomes",
        outcomes,
        Outcomes,
        "validated rows: Outcomes.from_arrays(…)",
        "count arrays with from_arrays",
    )


def _column_of(outcomes: Any, argument: str) -> NDArray[np.uint8]:
    """Outcomes, predictions or second predictions of validated rows, as 0 and 1."""
    return checks.check_given(
        argument,
        getattr(_check_outcomes(outcomes), "extra" if argument == "y_pred_b" else argument),
    )


def _cluster_scatter(
    cluster: NDArray[Any],
    group_cell_codes: NDArray[np.intp],
    weight: NDArray[np.float64] | None,
    size: int,
) -> tuple[NDArray[np.float64], int]:
    """Σ over clusters of t tᵀ, with t the cell totals of a cluster.

    Clusters are taken in blocks.
    """
    used_clusters, unit_positions = np.unique(cluster, return_inverse=True)
    unit_order = np.argsort(unit_positions, kind="stable")
    if weight is None:
        weight = np.ones(group_cell_codes.size)
    else:
        weight = weight[unit_order]
    unit_positions = unit_positions[unit_order]
    group_cell_codes = group_cell_codes[unit_order]
    scatter = np.zeros((size, size))
    units_per_block = max(1, _BLOCK_ROWS // size)
    for first_unit in range(0, used_clusters.size, units_per_block):
        first_row, end_row = np.searchsorted(
            unit_positions, [first_unit, min(first_unit + units_per_block, used_clusters.size)]
        )
        block_codes = (unit_positions[first_row:end_row] - first_unit) * size + group_cell_codes[
            first_row:end_row
        ]
        totals = np.bincount(
            block_codes,
            weight[first_row:end_row],
            min(units_per_block, used_clusters.size - first_unit) * size,
        ).reshape(-1, size)
        scatter += totals.T @ totals
    return scatter, int(used_clusters.size)


def _as_mapping(counts: Any, cells: tuple[str, ...]) -> dict[Hashable, Any]:
    """Group → its cells, from a mapping or from a frame with a column for each cell."""
    if isinstance(counts, Mapping):
        return dict(counts)
    try:
        column_names_present = nw.from_native(counts).collect_schema().names()
    except (TypeError, nw.exceptions.NarwhalsError) as problem:
        allowed = f"a mapping group → ({', '.join(cells)}), or a frame with these columns"
        advice = "e.g. {'a': " + repr(tuple(range(10, 10 + len(cells)))) + ", 'b': …}"
        raise InputError(
            "counts",
            got=type(counts).__name__,
            allowed=allowed,
            cure=advice,
        ) from problem
    frame = as_frame_columns(
        counts, [*(["group"] if "group" in column_names_present else []), *cells], "counts"
    )
    labels = frame["group"] if "group" in frame.columns else frame.index
    if len(set(labels)) < len(labels):
        raise InputError(
            "counts",
            got="a group twice",
            allowed="one row per group",
            cure="add them up first",
        )
    mapping: dict[Hashable, Any] = {}
    for label, group_cells in zip(labels, frame[list(cells)].to_numpy(), strict=True):
        mapping[label] = tuple(group_cells)
    return mapping


def _as_count(value: Any, group: Hashable) -> float:
    try:
        return float(value)
    except (TypeError, ValueError) as problem:
        received = f"{value!r} in group {group!r}"
        advice = "pass the counts as numbers"
        raise InputError(
            "counts",
            got=received,
            allowed="whole numbers ≥ 0",
            cure=advice,
        ) from problem


def _cells_of(value: Any, group: Hashable, cells: tuple[str, ...]) -> list[Any]:
    if isinstance(value, Mapping) and all(map(is_plain, value)) and set(value) == set(cells):
        return [value[cell_name] for cell_name in cells]
    if not isinstance(value, Mapping) and np.ndim(value) == 1 and len(value) == len(cells):
        return list(value)
    received = f"{value!r} for group {group!r}"
    allowed = f"{len(cells)} counts: {', '.join(cells)}"
    advice = "pass them in this order, or as a mapping with these names"
    raise InputError("counts", got=received, allowed=allowed, cure=advice)


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
class SizeCounts(CellCounts):
    """Rows per group, where an outcome that is a number is all that is compared.

    Examples
    --------
    >>> from fairstats.results import SizeCounts
    >>> print(SizeCounts.from_counts({"Female": (9632,), "Male": (20193,)}))
      group  counted     n
     Female     9632  9632
       Male    20193 20193
    """

    cells: ClassVar[tuple[str, ...]] = ("counted",)

    @classmethod
    def _from_outcomes(cls, outcomes: Outcomes) -> Self:
        """Count validated rows."""
        return cls._count_rows(outcomes, np.zeros(outcomes.n_rows, dtype=np.intp))


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
        cls,
        y_true: Any,
        y_pred: Any,
        *,
        sensitive_features: Any,
        sample_weight: Any = None,
        cluster: Any = None,
        pos_label: Any = None,
        label_values: Any = None,
        missing: Any = "raise",
        groups: Sequence[Hashable] | None = None,
    ) -> Self:
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
            y_true,
            y_pred,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
            cluster=cluster,
            pos_label=pos_label,
            label_values=label_values,
            missing=missing,
            groups=groups,
        )
        return cls._from_outcomes(outcomes)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        y_true: str,
        y_pred: str,
        sensitive_features: str | Sequence[str],
        sample_weight: str | None = None,
        cluster: str | None = None,
        **options: Any,
    ) -> Self:
        """Count the rows of a data frame (pandas, polars, pyarrow …), columns by name."""
        names = list(checks.column_names("sensitive_features", sensitive_features))
        further = {"sample_weight": sample_weight, "cluster": cluster}
        for argument_name, column in {"y_true": y_true, "y_pred": y_pred, **further}.items():
            checks.column_name(argument_name, column)
        given_columns = {}
        for argument_name, column in further.items():
            if column is not None:
                given_columns[argument_name] = column
        columns = as_frame_columns(
            frame, [y_true, y_pred, *names, *given_columns.values()], "frame"
        )
        options |= {
            argument_name: columns[column_label]
            for argument_name, column_label in given_columns.items()
        }
        return cls.from_arrays(
            columns[y_true], columns[y_pred], sensitive_features=columns[names], **options
        )

    def selection(self) -> SelectionCounts:
        """The same table without the labels."""
        return self._merge_cells(
            SelectionCounts, np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
        )


@serialisable(eq=False)
class PairedCounts(CellCounts):
    """Label × prediction of model A × prediction of model B, per group (the same people).

    The cell ``yab`` counts rows with y_true = y, ŷ_A = a, ŷ_B = b.
    """

    cells: ClassVar[tuple[str, ...]] = ("111", "110", "101", "100", "011", "010", "001", "000")

    @classmethod
    def _from_outcomes(cls, outcomes: Outcomes) -> Self:
        """Count validated rows that carry a second prediction."""
        true_labels, first_prediction, second_prediction = (
            _column_of(outcomes, column_role) for column_role in ("y_true", "y_pred", "y_pred_b")
        )
        return cls._count_rows(
            outcomes, 7 - 4 * true_labels - 2 * first_prediction - second_prediction
        )

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
        model = checks.check_whole(
            "model",
            model,
            low=0,
            high=1,
            cure="0 for model A, 1 for model B",
        )
        return self._merge_cells(ConfusionCounts, self._confusion_map(model))

    @classmethod
    def _confusion_map(cls, model: int) -> NDArray[np.float64]:
        """0/1 matrix of shape (8, 4) from paired cells to confusion cells of one model."""
        confusion_codes = ("11", "01", "10", "00")  # label and prediction
        return np.array(
            [
                [
                    float(paired_code[0] + paired_code[1 + model] == confusion_code)
                    for confusion_code in confusion_codes
                ]
                for paired_code in cls.cells
            ]
        )


def confusion_cells(outcomes: Outcomes) -> NDArray[Any]:
    """Cell codes 0 (tp), 1 (fp), 2 (fn), 3 (tn) of validated rows, shape (n,)."""
    return 3 - 2 * _column_of(outcomes, "y_pred") - _column_of(outcomes, "y_true")
