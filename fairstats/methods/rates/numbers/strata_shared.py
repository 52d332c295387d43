"""What strata share whose clusters lie in several of them: correlations of their values.

Of what has limits in every stratum (quantiles, slopes, intercepts, parts of the Brier score): by what
each unit moves the value of a stratum, to the first order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats
from fairstats.numerics.means.shared_units import correlations_of, products_between_strata


class Moves(NamedTuple):
    """What units move a value by, in any unit; arrays of shape (k,), in which units may recur."""

    unit: NDArray[np.intp]
    values: Floats


class MovingEverybody(Protocol):
    """All rows of a stratum, whose clusters may lie in others."""

    def moves(self) -> Moves:
        """Of everybody's value."""

    def moves_beside(self, group: int) -> tuple[Moves, Moves] | None:
        """Of both parts of the difference that a group has from everybody; None without one."""


#: Of what has no value.
NO_MOVES = Moves(np.zeros(0, dtype=np.intp), np.zeros(0))


@dataclass(frozen=True, eq=False)
class SharedClusters:
    """Correlations of the values of strata.

    `of_sides`: of every side, shape (S, H, H); `of_all`: of everybody's, (H, H); `of_group`,
    `of_others`: of both parts of the difference that each group has from everybody, (G, H, H).
    """

    of_sides: Floats
    of_all: Floats | None = None
    of_group: Floats | None = None
    of_others: Floats | None = None


def correlations_of_moves(moves: Sequence[Moves], shape: tuple[int, int]) -> Floats:
    """Of every side, shape (S, H, H).

    `moves`: of the crossings of strata and sides, the sides of a stratum next to each other;
    `shape`: numbers of strata and of sides.
    """
    cell = np.repeat(np.arange(len(moves)), [each.unit.size for each in moves])
    unit = np.concatenate([each.unit for each in moves])
    values = np.concatenate([each.values for each in moves])
    return correlations_of(products_between_strata(unit, cell, values, shape))


def correlations_with_all(
    of_sides: Floats, strata: Sequence[MovingEverybody], n_groups: int
) -> SharedClusters:
    """The same with those of everybody."""
    shape = (len(strata), 1)
    of_parts: tuple[list[Floats], list[Floats]] = ([], [])
    for group in range(n_groups):
        pairs = [each.moves_beside(group) or (NO_MOVES, NO_MOVES) for each in strata]
        for part, found in enumerate(of_parts):
            moves = [pair[part] for pair in pairs]
            found.append(correlations_of_moves(moves, shape)[0])
    return SharedClusters(
        of_sides=of_sides,
        of_all=correlations_of_moves([each.moves() for each in strata], shape)[0],
        of_group=np.stack(of_parts[0]),
        of_others=np.stack(of_parts[1]),
    )
