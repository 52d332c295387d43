"""Cells of every group within the strata of a confounder: what adjusted comparisons read."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import check_names, check_that
from fairstats.ground.counts import CellCounts, ConfusionCounts, SelectionCounts, confusion_cells
from fairstats.ground.encoding import label_text
from fairstats.ground.errors import InputError
from fairstats.ground.factors import Factor
from fairstats.ground.outcomes import Outcomes
from fairstats.ground.serialise import serialisable

#: What comparisons within strata cannot take yet.
_WEIGHTED_WORDS = "weights or clusters"


@serialisable(eq=False)
class StratumCounts:
    """Rows in every cell per stratum and group.

    Attributes
    ----------
    strata, groups, cells : tuple of str
        Names of the H strata, G groups and c cells (tp, fp, fn, tn; or selected, not_selected).
    rows : ndarray of int, shape (H, G, c)
        Independent rows of equal weight.
    attribute : str
        Name of the column of strata, empty where it is not known.
    """

    strata: tuple[str, ...]
    groups: tuple[str, ...]
    cells: tuple[str, ...]
    rows: NDArray[np.int64]
    attribute: str = ""

    @classmethod
    def _from_outcomes(
        cls,
        outcomes: Outcomes,
        kind: type[CellCounts],
        attribute: str = "",
    ) -> StratumCounts:
        """Count validated rows that have strata, in the cells of a kind of table."""
        refuse_weights(
            "strata", weighted=outcomes.weight is not None or outcomes.cluster is not None
        )
        if outcomes.strata is None or outcomes.y_pred is None:
            raise InputError("strata", got="None", allowed="one value per row", cure="pass strata=")
        if issubclass(kind, ConfusionCounts):
            cell_codes = confusion_cells(outcomes)
        else:
            cell_codes = 1 - outcomes.y_pred
        levels = outcomes.strata.levels
        names, order = strata_in_order(outcomes.strata)
        table_shape = (len(levels), len(outcomes.groups.labels), len(kind.cells))
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
        return cls(
            strata=tuple(names[stratum] for stratum in stratum_positions),
            groups=outcomes.groups.labels,
            cells=kind.cells,
            rows=row_counts[stratum_positions],
            attribute=attribute,
        )

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
        selection_counts = np.stack(
            [self.total("tp", "fp"), self.total("fn", "tn")], axis=-1
        ).astype(np.int64)
        return StratumCounts(
            strata=self.strata,
            groups=self.groups,
            cells=SelectionCounts.cells,
            rows=selection_counts,
            attribute=self.attribute,
        )

    def _select_groups(self, groups: Sequence[str]) -> StratumCounts:
        """The counts of some of the groups, in this order."""
        unknown_groups = []
        for group_name in groups:
            if group_name not in self.groups:
                unknown_groups.append(group_name)
        check_that(
            not unknown_groups, "groups", unknown_groups, f"some of {', '.join(self.groups)}"
        )
        places = [self.groups.index(group_name) for group_name in groups]
        return StratumCounts(
            strata=self.strata,
            groups=tuple(groups),
            cells=self.cells,
            rows=self.rows[:, places],
            attribute=self.attribute,
        )


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


def refuse_weights(argument: str, *, weighted: bool) -> None:
    """Raise where strata meet weights or clusters."""
    if weighted:
        raise InputError(
            argument,
            got=f"strata of rows with {_WEIGHTED_WORDS}",
            allowed="independent rows of equal weight",
            cure=(
                "leave out strata, or weights and clusters; or pass strata as a further sensitive"
                " column"
            ),
        )
