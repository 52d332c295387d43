"""Distances between the values of an attribute from all pairs of few rows, for many labellings of them.

Neighbour lists settle one value against the others at a time, and small groups are seldom in them. Where the
rows are few, their squared distances are kept, and the nearest row of *every* value to every row is one
reduction: with forty values a labelling takes as long as four by lists.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from fairstats.methods.hfm.set_distance import Statistic, over_minima

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fairstats.methods.hfm.scene import Scene, Side

#: All pairs are taken for so many rows at most, and where they are fewer than this by the number of sides.
_MOST_ROWS, _PER_SIDE = 2_000, 100_000
#: Distances that are looked at in the time of a call of NumPy.
_CALL = 3_000


def worthwhile(scene: Scene) -> bool:
    """Whether all pairs of the rows are cheaper than their neighbours: few rows, or many values."""
    attributes = len({side.attribute for side in scene.sides})
    return scene.n <= _MOST_ROWS and scene.n**2 * attributes <= _PER_SIDE * len(scene.sides)


class AllPairs:
    """Squared distances of all rows, shape (n, n), and the values of every attribute.

    `parts` has for every attribute the code of each row, the number of codes, and the codes of its sides:
    one for an attribute with two values.
    """

    def __init__(self, rows: NDArray[np.float64], sides: Sequence[Side]) -> None:
        from scipy.spatial.distance import cdist

        self.squared = cdist(rows, rows, "sqeuclidean")  # sums of squared differences: exact
        self.parts: list[tuple[NDArray[np.intp], int, list[int]]] = []
        for attribute in dict.fromkeys(side.attribute for side in sides):
            own = np.array([side.rows for side in sides if side.attribute == attribute])
            codes = own.argmax(axis=0) if len(own) > 1 else own[0].astype(np.intp)
            self.parts.append((codes, max(len(own), 2), [*range(len(own))] if len(own) > 1 else [1]))

    def distances(
        self,
        statistic: Statistic,
        order: NDArray[np.intp] | None = None,
        present: NDArray[np.bool_] | None = None,
    ) -> list[float]:
        """Distance of every side; `order` permutes them among the rows, `present` leaves rows out."""
        found: list[float] = []
        all_rows = np.arange(len(self.squared))
        for codes, n_codes, sides in self.parts:
            own = codes if order is None else codes[order]
            if present is None:
                nearest = self._nearest(all_rows, own, n_codes)
            else:
                here = np.flatnonzero(present)
                own = own[here]
                nearest = self._nearest(here, own, n_codes)[:, here]
            found += _of_sides(own, nearest, sides, statistic)
        return found

    def relabelled(
        self, first: NDArray[np.intp], second: NDArray[np.intp], statistic: Statistic
    ) -> Callable[[NDArray[np.intp]], list[float]]:
        """Distance of every side as a function of labels, each of them one of the two of its row.

        Two rows whose labels differ are 1 further apart, squared. Only rows with two labels are looked at
        anew.
        """
        n_labels = int(max(first.max(), second.max())) + 1
        moving, fixed = np.flatnonzero(first != second), np.flatnonzero(first == second)
        among = [n_codes * n_labels for _, n_codes, _ in self.parts]
        known = [
            self._nearest(fixed, codes[fixed] * n_labels + first[fixed], n)
            for (codes, _, _), n in zip(self.parts, among, strict=True)
        ]

        def distances(labels: NDArray[np.intp]) -> list[float]:
            found: list[float] = []
            apart = np.not_equal.outer(np.arange(n_labels), labels)
            for (codes, n_codes, sides), of_fixed, n in zip(self.parts, known, among, strict=True):
                split = self._nearest(moving, codes[moving] * n_labels + labels[moving], n)
                split = np.minimum(split, of_fixed, out=split).reshape(n_codes, n_labels, -1)
                split += apart
                found += _of_sides(codes, split.min(axis=1), sides, statistic)
            return found

        return distances

    def _nearest(self, rows: NDArray[np.intp], codes: NDArray[np.intp], n_codes: int) -> NDArray[np.float64]:
        """Squared distance to the nearest of these rows with every code, (n_codes, n); infinite for none."""
        nearest = np.full((n_codes, len(self.squared)), np.inf)
        if not rows.size:
            return nearest
        order = np.argsort(codes, kind="stable")
        size = np.bincount(codes, minlength=n_codes)
        there = np.flatnonzero(size)
        size = size[there]
        start = np.cumsum(size) - size
        rows, most = rows[order], int(size.max())
        # at once, repeating last rows, unless that takes longer than one call for every code
        if most * there.size <= 2 * rows.size + _CALL * there.size // len(nearest[0]):
            place = start[:, None] + np.minimum(np.arange(most), size[:, None] - 1)
            nearest[there] = self.squared[rows[place]].min(axis=1)
        else:
            for code, part in zip(there, np.split(rows, start[1:]), strict=True):
                self.squared[part].min(axis=0, out=nearest[code])
        return nearest


def _of_sides(
    codes: NDArray[np.intp], nearest: NDArray[np.float64], sides: list[int], statistic: Statistic
) -> list[float]:
    """Distance of every side from the other rows; NaN where either has none."""
    rows = np.arange(codes.size)
    nearest[codes, rows] = np.inf
    nearest[codes, rows] = nearest.min(axis=0)  # of a row's own value: the nearest row of any other
    size = np.bincount(codes, minlength=len(nearest))
    lacking = (size == 0) | (size == codes.size)
    found: list[float]
    if statistic == "max":
        found = np.where(lacking, np.nan, np.sqrt(nearest.max(axis=1)))[sides].tolist()
        return found
    found = []
    for k in sides:
        minima, inside = np.sqrt(nearest[k]), codes == k
        parts = (minima[inside], minima[~inside])
        found.append(np.nan if lacking[k] else max(over_minima(part, statistic) for part in parts))
    return found
