"""Tables of cell totals per group, with their covariance.

A count table holds, per group and cell, the (weighted) total and the number of rows, and — for weights and
clusters — the scatter of the cell totals over sampling units. That is all that the inference on rates needs.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np

from fairstats.ground.encoding import label_text
from fairstats.ground.errors import InputError
from fairstats.ground.frames import as_frame_columns
from fairstats.ground.outcomes import MissingReport, Outcomes

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

__all__ = ["CellCounts", "collapse"]

_BLOCK = 1 << 20
_Kind = TypeVar("_Kind", bound="CellCounts")


@dataclass(frozen=True, eq=False)
class CellCounts:
    """Totals of mutually exclusive cells per group.

    Attributes
    ----------
    groups : tuple of str
        Group labels, length G.
    totals : ndarray of float, shape (G, c)
        Weighted total of each cell; the row counts where there are no weights.
    rows : ndarray of int, shape (G, c)
        Number of rows in each cell.
    scatter : ndarray of float, shape (G·c, G·c), or None
        Σ over sampling units of the outer product of their cell totals (cells in row-major order of
        `totals`); None for unweighted independent rows, where it is diag(totals).
    n_units : int
        Number of sampling units: clusters, or rows.
    missing : MissingReport
        What was left out.
    attributes : tuple of str
        Names of the sensitive columns.
    """

    groups: tuple[str, ...]
    totals: NDArray[np.float64]
    rows: NDArray[np.int64]
    scatter: NDArray[np.float64] | None = None
    n_units: int = 0
    clustered: bool = False
    missing: MissingReport = field(default_factory=MissingReport)
    attributes: tuple[str, ...] = ("group",)

    #: Names of the cells, in the order of the columns.
    cells: ClassVar[tuple[str, ...]] = ()

    @property
    def weighted(self) -> bool:
        """Whether the variance comes from linearisation over sampling units (weights or clusters)."""
        return self.scatter is not None

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.rows.sum())

    @property
    def group_sizes(self) -> NDArray[np.int64]:
        """Rows per group, shape (G,)."""
        return np.asarray(self.rows.sum(axis=1))

    def total(self, *cells: str) -> NDArray[np.float64]:
        """Sum of the named cells per group, shape (G,)."""
        return np.asarray(self.totals[:, [self.cells.index(cell) for cell in cells]].sum(axis=1))

    def indicator(self, group: int, cells: Sequence[str]) -> NDArray[np.float64]:
        """Vector of shape (G·c,) that is 1 at the named cells of one group."""
        vector = np.zeros(self.totals.shape)
        vector[group, [self.cells.index(cell) for cell in cells]] = 1.0
        return vector.ravel()

    def covariance(self) -> NDArray[np.float64]:
        """Covariance of the cell totals, shape (G·c, G·c).

        The multinomial diag(N) − N Nᵀ/n for independent unweighted rows; otherwise the with-replacement
        linearisation n/(n−1)·(Σ_u t_u t_uᵀ − N Nᵀ/n) over the n sampling units u.
        """
        totals = self.totals.ravel()
        if self.scatter is None:
            return np.asarray(np.diag(totals) - np.outer(totals, totals) / totals.sum())
        units = self.n_units
        return np.asarray((self.scatter - np.outer(totals, totals) / units) * (units / (units - 1)))

    @property
    def degrees_of_freedom(self) -> float:
        """Sampling units − 1 under weights or clusters, infinite otherwise."""
        return float(self.n_units - 1) if self.weighted else float("inf")

    @classmethod
    def count_rows(cls, outcomes: Outcomes, cell: NDArray[Any]) -> Self:
        """Count the cell codes of validated rows."""
        grouping = outcomes.groups
        n_groups, n_cells = len(grouping.labels), len(cls.cells)
        size = n_groups * n_cells
        rows = np.zeros(size, dtype=np.int64)
        totals = np.zeros(size)
        squares = np.zeros(size)
        weight = outcomes.weight
        for start in range(0, cell.size, _BLOCK):
            block = slice(start, start + _BLOCK)
            code = grouping.codes[block].astype(np.intp) * n_cells + cell[block]
            rows += np.bincount(code, minlength=size)
            if weight is not None:
                totals += np.bincount(code, weights=weight[block], minlength=size)
                squares += np.bincount(code, weights=weight[block] ** 2, minlength=size)
        if weight is None:
            totals = rows.astype(np.float64)
            squares = totals
        n_units = cell.size
        scatter = None if weight is None else np.diag(squares)
        if outcomes.cluster is not None:
            scatter, n_units = _cluster_scatter(outcomes, cell, n_cells, size)
        if scatter is not None and n_units < 2:
            raise InputError(
                "cluster" if outcomes.cluster is not None else "sample_weight",
                got=f"{n_units} sampling unit",
                allowed="two or more",
                cure="a variance needs at least two independent units",
            )
        return cls(
            groups=grouping.labels,
            totals=totals.reshape(n_groups, n_cells),
            rows=rows.reshape(n_groups, n_cells),
            scatter=scatter,
            n_units=n_units,
            clustered=outcomes.cluster is not None,
            missing=outcomes.missing,
            attributes=grouping.attributes,
        )

    @classmethod
    def from_counts(cls, counts: Any, *, groups: Sequence[Hashable] | None = None) -> Self:
        """Table of counts that are already there.

        Parameters
        ----------
        counts : mapping of group to cells, or data frame
            Cells as a sequence in the order of `cells`, or as a mapping by name. A frame has one row per
            group, the cells as columns, and the groups in its index or in a column ``group``.
        groups : sequence, optional
            Order of the groups; default the order given.

        Raises
        ------
        InputError
            If a cell is missing, negative, not finite or not whole.
        """
        table = _as_mapping(counts, cls.cells)
        order = list(table) if groups is None else list(groups)
        if groups is not None and (set(order) != set(table) or len(order) != len(table)):
            raise InputError(
                "groups", got=repr(order), allowed=f"the groups of `counts` {list(table)!r} in some order"
            )
        if not table:
            raise InputError(
                "counts", got="no group", allowed="at least one group with its cells", cure="pass the counts"
            )
        labels = tuple(label_text(g) for g in order)
        if len(set(labels)) < len(labels):
            raise InputError(
                "counts",
                got=f"groups that read alike: {order!r}",
                allowed="distinct names",
                cure="rename one",
            )
        totals = np.array([[_number(v, g) for v in _cells_of(table[g], g, cls.cells)] for g in order])
        bad = ~np.isfinite(totals) | (totals < 0) | (totals != np.floor(totals))
        if bad.any():
            g, c = np.argwhere(bad)[0]
            raise InputError(
                "counts",
                got=f"{cls.cells[c]} = {totals[g, c]:g} in group {order[g]!r}",
                allowed="whole numbers ≥ 0",
                cure="pass row counts; weighted data go in row by row with sample_weight=",
            )
        return cls(
            groups=labels,
            totals=totals,
            rows=totals.astype(np.int64),
            n_units=int(totals.sum()),
            missing=MissingReport(n_rows=int(totals.sum())),
        )

    def to_frame(self) -> pd.DataFrame:
        """One row per group: the cells' totals and the number of rows."""
        import pandas as pd

        frame = pd.DataFrame(self.totals, columns=list(self.cells))
        if not self.weighted:
            frame = frame.astype("int64")
        frame.insert(0, "group", list(self.groups))
        frame["n"] = self.group_sizes
        return frame

    def __str__(self) -> str:
        return self.to_frame().to_string(index=False)


def _cluster_scatter(
    outcomes: Outcomes, cell: NDArray[Any], n_cells: int, size: int
) -> tuple[NDArray[np.float64], int]:
    """Σ over clusters of t tᵀ, with t the cell totals of a cluster; clusters are taken in blocks."""
    cluster = outcomes.cluster
    if cluster is None:
        raise TypeError("no clusters")
    used = np.unique(cluster.codes)
    unit = np.searchsorted(used, cluster.codes)
    code = outcomes.groups.codes.astype(np.intp) * n_cells + cell
    weight = np.ones(cell.size) if outcomes.weight is None else outcomes.weight
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
        import narwhals as nw

        have = nw.from_native(counts).collect_schema().names()
    except TypeError as problem:
        raise InputError(
            "counts",
            got=type(counts).__name__,
            allowed=f"a mapping group → ({', '.join(cells)}), or a frame with these columns",
            cure="e.g. {'a': " + repr(tuple(range(10, 10 + len(cells)))) + ", 'b': …}",
        ) from problem
    frame = as_frame_columns(counts, [*(["group"] if "group" in have else []), *cells], "counts")
    labels = frame["group"] if "group" in frame.columns else frame.index
    if len(set(labels)) < len(labels):
        raise InputError("counts", got="a group twice", allowed="one row per group", cure="add them up first")
    return {label: tuple(row) for label, row in zip(labels, frame[list(cells)].to_numpy(), strict=True)}


def _number(value: Any, group: Hashable) -> float:
    try:
        return float(value)
    except (TypeError, ValueError) as problem:
        raise InputError(
            "counts",
            got=f"{value!r} in group {group!r}",
            allowed="whole numbers ≥ 0",
            cure="pass the counts as numbers",
        ) from problem


def _cells_of(value: Any, group: Hashable, cells: tuple[str, ...]) -> list[Any]:
    if isinstance(value, Mapping) and set(value) == set(cells):
        return [value[c] for c in cells]
    if not isinstance(value, Mapping) and np.ndim(value) == 1 and len(value) == len(cells):
        return list(value)
    raise InputError(
        "counts",
        got=f"{value!r} for group {group!r}",
        allowed=f"{len(cells)} counts: {', '.join(cells)}",
        cure="pass them in this order, or as a mapping with these names",
    )


def collapse(table: CellCounts, kind: type[_Kind], mapping: NDArray[np.float64]) -> _Kind:
    """Merge cells by a 0/1 matrix of shape (cells, new cells)."""
    scatter = table.scatter
    if scatter is not None:
        whole = np.kron(np.eye(len(table.groups)), mapping)
        scatter = whole.T @ scatter @ whole
    return kind(
        groups=table.groups,
        totals=table.totals @ mapping,
        rows=table.rows @ mapping.astype(np.int64),
        scatter=scatter,
        n_units=table.n_units,
        clustered=table.clustered,
        missing=table.missing,
        attributes=table.attributes,
    )
