"""Cells of every group within the strata of a confounder: what adjusted comparisons read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import check_names, check_that
from fairstats.ground.counts import CellCounts, ConfusionCounts, SelectionCounts, confusion_cells
from fairstats.ground.encoding import label_text
from fairstats.ground.errors import InputError
from fairstats.ground.factors import Factor
from fairstats.ground.outcomes import Outcomes, even_weights
from fairstats.ground.serialise import serialisable
from fairstats.ground.stored import check_shape


@serialisable(eq=False)
class StratumDesign:
    """Weights and clusters of the rows in the cells of strata and groups.

    Attributes
    ----------
    totals, squares : ndarray of float, shape (H, G, c)
        Σw and Σw² over the rows of every cell.
    places : ndarray of int, shape (m, 2)
        Pairs of cells in which a sampling unit has rows, each by its position in `totals`
        (row-major), the smaller first.
    products : ndarray of float, shape (m,)
        Of each pair Σ over sampling units of the product of their totals in both cells.
    n_units : int
        Sampling units: clusters, or rows.
    clustered : bool
        Whether units are clusters.
    """

    totals: NDArray[np.float64]
    squares: NDArray[np.float64]
    places: NDArray[np.int64]
    products: NDArray[np.float64]
    n_units: int
    clustered: bool

    def check_stored(self) -> None:
        """Raise unless what was read from a file has sums of every cell and pair."""
        check_shape(self, "squares", self.squares, self.totals.shape)
        check_shape(self, "places", self.places, (self.products.size, 2))

    @classmethod
    def _of_rows(
        cls,
        positions: NDArray[np.intp],
        shape: tuple[int, ...],
        weight: NDArray[np.float64],
        cluster: NDArray[np.intp] | None,
        squares: NDArray[np.float64] | None,
    ) -> StratumDesign:
        """Of rows with the position of their cell; `squares`: where a row stands for several."""
        size = int(np.prod(shape))
        totals = np.bincount(positions, weight, size).astype(np.float64)
        if squares is None:
            squares = weight**2
        of_cells = np.bincount(positions, squares, size).astype(np.float64)
        if cluster is None:
            diagonal = np.arange(size)
            places = np.stack([diagonal, diagonal], axis=1)
            products = of_cells
            n_units = positions.size
        else:
            places, products, n_units = _products_of_clusters(positions, size, weight, cluster)
        return cls(
            totals=totals.reshape(shape),
            squares=of_cells.reshape(shape),
            places=places,
            products=products,
            n_units=n_units,
            clustered=cluster is not None,
        )

    def _moved(self, new_positions: NDArray[np.intp], shape: tuple[int, ...]) -> StratumDesign:
        """The same units with every cell at a new position (−1: nowhere), in a table of this
        shape; cells that come to the same position add up.
        """
        size = int(np.prod(shape))
        kept = new_positions >= 0
        first, second = new_positions[self.places].T
        both = (first >= 0) & (second >= 0)
        # two cells that become one had a product on either side of the diagonal
        merged = (first == second) & (self.places[:, 0] != self.places[:, 1])
        products = np.where(merged, 2.0, 1.0) * self.products
        codes = np.minimum(first, second) * size + np.maximum(first, second)
        distinct, place_of_code = np.unique(codes[both], return_inverse=True)
        totals = np.bincount(new_positions[kept], self.totals.ravel()[kept], size)
        squares = np.bincount(new_positions[kept], self.squares.ravel()[kept], size)
        moved_products = np.bincount(place_of_code, products[both], distinct.size)
        return StratumDesign(
            totals=totals.astype(np.float64).reshape(shape),
            squares=squares.astype(np.float64).reshape(shape),
            places=np.stack(np.divmod(distinct, size), axis=1).astype(np.int64),
            products=moved_products.astype(np.float64),
            n_units=self.n_units,
            clustered=self.clustered,
        )


def _products_of_clusters(
    positions: NDArray[np.intp],
    size: int,
    weight: NDArray[np.float64],
    cluster: NDArray[np.intp],
) -> tuple[NDArray[np.int64], NDArray[np.float64], int]:
    """Pairs of cells that share clusters, Σ over clusters of the product of both totals, and the
    number of clusters.
    """
    from scipy.sparse import coo_array, triu

    used_clusters, unit = np.unique(cluster, return_inverse=True)
    totals = coo_array((weight, (unit, positions)), shape=(used_clusters.size, size)).tocsr()
    products = triu(totals.T @ totals, format="coo")
    places = np.stack([products.row, products.col], axis=1).astype(np.int64)
    return places, np.asarray(products.data, dtype=np.float64), int(used_clusters.size)


@serialisable(eq=False)
class StratumCounts:
    """Rows in every cell per stratum and group.

    Attributes
    ----------
    strata, groups, cells : tuple of str
        Names of the H strata, G groups and c cells (tp, fp, fn, tn; or selected, not_selected).
    rows : ndarray of int, shape (H, G, c)
        Rows in every cell.
    attribute : str
        Name of the column of strata, empty where it is not known.
    design : StratumDesign, optional
        Weights and clusters of the rows. None where rows are independent, and have one weight in
        every stratum: no comparison within strata depends on such weights.
    """

    strata: tuple[str, ...]
    groups: tuple[str, ...]
    cells: tuple[str, ...]
    rows: NDArray[np.int64]
    attribute: str = ""
    design: StratumDesign | None = None

    def check_stored(self) -> None:
        """Raise unless the design that was read from a file has the cells of the rows."""
        if self.design is not None:
            check_shape(self, "design", self.design.totals, self.rows.shape)

    @classmethod
    def _from_outcomes(
        cls,
        outcomes: Outcomes,
        kind: type[CellCounts],
        attribute: str = "",
    ) -> StratumCounts:
        """Count validated rows that have strata, in the cells of a kind of table."""
        if outcomes.strata is None or outcomes.y_pred is None:
            raise InputError("strata", got="None", allowed="one value per row", cure="pass strata=")
        if issubclass(kind, ConfusionCounts):
            cell_codes = confusion_cells(outcomes)
        else:
            cell_codes = 1 - outcomes.y_pred
        return cls._of_rows(outcomes, np.asarray(cell_codes), kind.cells, attribute)

    @classmethod
    def _of_rows(
        cls,
        outcomes: Outcomes,
        cell_codes: NDArray[Any],
        cells: tuple[str, ...],
        attribute: str = "",
    ) -> StratumCounts:
        """Count validated rows that have strata, each in its cell."""
        if outcomes.strata is None:
            raise InputError("strata", got="None", allowed="one value per row", cure="pass strata=")
        levels = outcomes.strata.levels
        names, order = strata_in_order(outcomes.strata)
        table_shape = (len(levels), len(outcomes.groups.labels), len(cells))
        table_positions = np.ravel_multi_index(
            (outcomes.strata.codes, outcomes.groups.codes, np.asarray(cell_codes)), table_shape
        )
        row_counts = (
            np.bincount(table_positions, outcomes.number, minlength=int(np.prod(table_shape)))
            .astype(np.int64)
            .reshape(table_shape)
        )
        stratum_positions = []
        for stratum in order:
            if row_counts[stratum].any():
                stratum_positions.append(stratum)
        counts = cls(
            strata=tuple(names[stratum] for stratum in stratum_positions),
            groups=outcomes.groups.labels,
            cells=cells,
            rows=row_counts[stratum_positions],
            attribute=attribute,
        )
        if outcomes.weight is None and outcomes.cluster is None:
            return counts
        weight = outcomes.weight
        if weight is None:
            weight = np.ones(table_positions.size)
        design = StratumDesign._of_rows(
            table_positions,
            table_shape,
            weight,
            None if outcomes.cluster is None else outcomes.cluster.codes,
            outcomes.squares,
        )
        if not design.clustered:
            # a row may stand for several
            design = replace(design, n_units=int(row_counts.sum()))
        rank = np.full(len(levels), -1)
        rank[stratum_positions] = np.arange(len(stratum_positions))
        ordered = _positions_of(table_shape, rank, np.arange(table_shape[1]))
        return counts._with_design(design._moved(ordered, counts.rows.shape))

    def _with_design(self, design: StratumDesign) -> StratumCounts:
        """The counts with weights and clusters; without weights that are one in every stratum."""
        return self if self._is_even(design, by_group=False) else replace(self, design=design)

    def _is_even(self, design: StratumDesign, *, by_group: bool) -> bool:
        """Whether rows are independent and have one weight in every stratum, or in every group of
        every stratum.
        """
        sums = [self.rows, design.totals, design.squares]
        axes = (2,) if by_group else (1, 2)
        even = even_weights(*(of_cells.sum(axis=axes) for of_cells in sums))
        return bool(even.all()) and not design.clustered

    @classmethod
    def _of_crossings(
        cls,
        strata: tuple[str, ...],
        groups: tuple[str, ...],
        cells: CellCounts,
        places: Sequence[tuple[int, int]],
        attribute: str,
    ) -> StratumCounts:
        """From a table of some crossings, with the places of stratum and group of each."""
        shape = (len(strata), len(groups), len(cells.cells))
        row_counts = np.zeros(shape, dtype=np.int64)
        for place, group_cells in zip(places, cells.rows, strict=True):
            row_counts[place] = group_cells
        counts = cls(
            strata=strata, groups=groups, cells=cells.cells, rows=row_counts, attribute=attribute
        )
        if cells.scatter is None:
            return counts
        squares = cells.squared_weights
        if squares is None:
            squares = cells.totals
        first, second = np.nonzero(np.triu(cells.scatter))
        design = StratumDesign(
            totals=cells.totals,
            squares=np.asarray(squares, dtype=np.float64),
            places=np.stack([first, second], axis=1).astype(np.int64),
            products=cells.scatter[first, second],
            n_units=cells.n_units,
            clustered=cells.clustered,
        )
        new_positions = []
        for stratum, group in places:
            start = (stratum * shape[1] + group) * shape[2]
            new_positions.append(np.arange(start, start + shape[2]))
        return counts._with_design(design._moved(np.concatenate(new_positions), shape))

    def total(self, *cells: str) -> NDArray[np.float64]:
        """Sum of the named cells, shape (H, G).

        Parameters
        ----------
        *cells : str
            Different ones of `cells`.

        Raises
        ------
        InputError
            For a name that is no cell, or a cell that is named twice.
        """
        check_names("cells", cells, self.cells)
        return np.asarray(
            self.rows[..., [self.cells.index(cell_name) for cell_name in cells]].sum(axis=-1),
            dtype=np.float64,
        )

    def selection(self) -> StratumCounts:
        """The same counts without the labels."""
        if self.cells == SelectionCounts.cells:
            return self
        places = [0 if cell_name in ("tp", "fp") else 1 for cell_name in self.cells]
        return self._with_cells(SelectionCounts.cells, places)

    def _with_cells(self, names: tuple[str, ...], places: Sequence[int]) -> StratumCounts:
        """The counts in other cells; `places`: where each of the cells goes."""
        shape = (*self.rows.shape[:2], len(names))
        rows = np.zeros(shape, dtype=np.int64)
        for old, new in enumerate(places):
            rows[..., new] += self.rows[..., old]
        design = self.design
        if design is not None:
            strata = np.arange(shape[0])
            groups = np.arange(shape[1])
            positions = _positions_of(shape, strata, groups, np.asarray(places))
            design = design._moved(positions, shape)
        return replace(self, cells=names, rows=rows, design=design)

    def _select_groups(self, groups: Sequence[str]) -> StratumCounts:
        """The counts of some of the groups, in this order."""
        unknown_groups = []
        for group_name in groups:
            if group_name not in self.groups:
                unknown_groups.append(group_name)
        check_that(
            not unknown_groups, "groups", unknown_groups, f"some of {', '.join(self.groups)}"
        )
        return self._merged([[self.groups.index(group_name)] for group_name in groups], groups)

    def _pair(
        self, group: str, reference: str, others: Sequence[str] | None = None
    ) -> StratumCounts:
        """The counts of two groups, with their design as far as it has a say.

        `others`: the groups that are the reference together; by default the one of that name.
        """
        members = [[self.groups.index(group)]]
        members.append([self.groups.index(name) for name in others or (reference,)])
        of_pair = self._merged(members, (group, reference))
        if of_pair.design is not None and of_pair._is_even(of_pair.design, by_group=True):
            return replace(of_pair, design=None)
        return of_pair

    def _of_stratum(self, stratum: int) -> StratumCounts:
        """The counts of one stratum alone."""
        shape = (1, *self.rows.shape[1:])
        design = self.design
        if design is not None:
            places = np.full(len(self.strata), -1)
            places[stratum] = 0
            design = design._moved(_positions_of(shape, places, np.arange(shape[1])), shape)
        return replace(
            self,
            strata=(self.strata[stratum],),
            rows=self.rows[[stratum]],
            design=design,
        )

    def _merged(self, members: Sequence[Sequence[int]], names: Sequence[str]) -> StratumCounts:
        """The counts of new groups, each made of some of the groups, none of them twice."""
        shape = (len(self.strata), len(names), len(self.cells))
        new_groups = np.full(len(self.groups), -1)
        rows = np.zeros(shape, dtype=np.int64)
        for new_group, places in enumerate(members):
            new_groups[list(places)] = new_group
            rows[:, new_group] = self.rows[:, list(places)].sum(axis=1)
        design = self.design
        if design is not None:
            design = design._moved(_positions_of(shape, np.arange(shape[0]), new_groups), shape)
        return replace(self, groups=tuple(names), rows=rows, design=design)


def _positions_of(
    shape: tuple[int, ...],
    strata: NDArray[np.intp],
    groups: NDArray[np.intp],
    cells: NDArray[np.intp] | None = None,
) -> NDArray[np.intp]:
    """Positions in a table of this shape of all cells of another one, whose strata, groups and
    cells have these places in it (−1: nowhere).
    """
    if cells is None:
        cells = np.arange(shape[2])
    positions = (strata[:, None, None] * shape[1] + groups[:, None]) * shape[2] + cells
    nowhere = (strata[:, None, None] < 0) | (groups[:, None] < 0) | (cells < 0)
    return np.asarray(np.where(nowhere, -1, positions).ravel())


def strata_in_order(strata: Factor) -> tuple[tuple[str, ...], list[int]]:
    """Names of the strata, and their places in order."""
    names = tuple(label_text(level) for level in strata.levels)
    declared_names: tuple[str, ...] = ()
    if strata.ordered_by_user:
        declared_names = tuple(map(label_text, strata.declared))
    return names, stratum_order(names, declared_names)


def stratum_order(names: Sequence[str], declared: Sequence[str] = ()) -> list[int]:
    """Places of the strata in their declared order, else as numbers where all are, else by name."""
    places = range(len(names))
    if declared:
        declared_places = {}
        for stratum_place, stratum_name in enumerate(declared):
            declared_places[stratum_name] = stratum_place
        return sorted(
            places,
            key=lambda stratum_index: declared_places.get(
                names[stratum_index], len(declared_places)
            ),
        )
    numbers = [_as_number(stratum_name) for stratum_name in names]
    if any(math.isnan(number) for number in numbers):
        return sorted(places, key=lambda stratum_index: names[stratum_index])
    return sorted(places, key=lambda stratum_index: numbers[stratum_index])


def _as_number(stratum_name: str) -> float:
    try:
        return float(stratum_name)
    except ValueError:
        return math.nan
