"""D, D_f and HFM of the same rows under other labels: permutations, exchanges, subsamples.

*Are the groups further apart than random ones?* The sensitive values are permuted among the rows. The nearest rows of
every row are found once: its nearest row of the other group is then the first of these with another label. Where all
of them bear its own label, the exact methods settle it. Where rows are few, all their pairs are kept instead.

*Does the classifier add distance?* y and ŷ are exchanged at random in every row; only rows with y ≠ ŷ change. The
distance of two rows is that of their features plus 1 (squared) where their labels differ; so for every row the nearest
rows of the other group are found once, among the unchanged ones of every label and among the changing ones.

*How much depends on the rows that happen to be there?* Quantiles over subsamples: how far the value moves when rows are
left out, and which way it drifts with their number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.spatial.distance import cdist
from tqdm import tqdm

from fairstats.ground.checks import Floats
from fairstats.methods.hfm.blocks import Targets, Work
from fairstats.methods.hfm.encoding import Comparison, Scene, Side
from fairstats.methods.hfm.nearest import farthest_row, nearest_rows, row_minima
from fairstats.methods.hfm.result import StabilityRange
from fairstats.methods.hfm.rows import Indices, Mask
from fairstats.methods.hfm.set_distance import Statistic, over_minima

#: All pairs are taken for so many rows at most, and where they are fewer than this by the number of sides.
_MOST_ROWS, _PER_SIDE = 2_000, 100_000
#: Distances that are looked at in the time of a call of NumPy.
_CALL = 3_000
#: Neighbours per row, and those that nearly always suffice.
_LISTED, _FIRST = 32, 6
#: Relative difference below which two distances are one.
_TIE = 1e-9
#: Sizes of the subsamples, and the quantiles over them.
SHARES = (0.8, 0.4)
_QUANTILES = (0.05, 0.5, 0.95)


def worthwhile(scene: Scene) -> bool:
    """Whether all pairs of the rows are cheaper than their neighbours: few rows, or many values."""
    attributes = len({side.attribute for side in scene.sides})
    return scene.n <= _MOST_ROWS and scene.n**2 * attributes <= _PER_SIDE * len(scene.sides)


class AllPairs:
    """Squared distances of all rows, shape (n, n), and the values of every attribute.

    `parts` has for every attribute the code of each row, the number of codes, and the codes of its sides:
    one for an attribute with two values.
    """

    def __init__(self, rows: Floats, sides: Sequence[Side]) -> None:
        self.squared = cdist(rows, rows, "sqeuclidean")  # sums of squared differences: exact
        self.parts: list[tuple[Indices, int, list[int]]] = []
        for attribute in dict.fromkeys(side.attribute for side in sides):
            own = np.array([side.rows for side in sides if side.attribute == attribute])
            codes = own.argmax(axis=0) if len(own) > 1 else own[0].astype(np.intp)
            self.parts.append((codes, max(len(own), 2), [*range(len(own))] if len(own) > 1 else [1]))

    def distances(self, statistic: Statistic, order: Indices | None = None, present: Mask | None = None) -> list[float]:
        """Distance of every side; `order` permutes them among the rows, `present` leaves rows out."""
        found: list[float] = []
        here = np.arange(len(self.squared)) if present is None else np.flatnonzero(present)
        for codes, n_codes, sides in self.parts:
            own = (codes if order is None else codes[order])[here]
            nearest = self._nearest(here, own, n_codes)
            found += _of_sides(own, nearest if present is None else nearest[:, here], sides, statistic)
        return found

    def relabelled(self, first: Indices, second: Indices, statistic: Statistic) -> Callable[[Indices], list[float]]:
        """Distance of every side as a function of labels, each of them one of the two of its row.

        Two rows whose labels differ are 1 further apart, squared. Only rows with two labels are looked at anew.
        """
        n_labels = int(max(first.max(), second.max())) + 1
        moving, fixed = np.flatnonzero(first != second), np.flatnonzero(first == second)

        def among(rows: Indices, codes: Indices, labels: Indices, n_codes: int) -> Floats:
            return self._nearest(rows, codes[rows] * n_labels + labels[rows], n_codes * n_labels)

        known = [among(fixed, codes, first, n_codes) for codes, n_codes, _ in self.parts]

        def distances(labels: Indices) -> list[float]:
            found: list[float] = []
            apart = np.not_equal.outer(np.arange(n_labels), labels)
            for (codes, n_codes, sides), of_fixed in zip(self.parts, known, strict=True):
                split = among(moving, codes, labels, n_codes)
                split = np.minimum(split, of_fixed, out=split).reshape(n_codes, n_labels, -1)
                split += apart
                found += _of_sides(codes, split.min(axis=1), sides, statistic)
            return found

        return distances

    def _nearest(self, rows: Indices, codes: Indices, n_codes: int) -> Floats:
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


def _of_sides(codes: Indices, nearest: Floats, sides: list[int], statistic: Statistic) -> list[float]:
    """Distance of every side from the other rows; NaN where either has none."""
    rows = np.arange(codes.size)
    nearest[codes, rows] = np.inf
    nearest[codes, rows] = nearest.min(axis=0)  # of a row's own value: the nearest row of any other
    size = np.bincount(codes, minlength=len(nearest))
    lacking = (size == 0) | (size == codes.size)
    if statistic == "max":
        return list(np.where(lacking, np.nan, np.sqrt(nearest.max(axis=1)))[sides].tolist())
    parts = (np.nan if lacking[k] else _of_both(np.sqrt(nearest[k]), codes == k, statistic) for k in sides)
    return list(parts)


def _of_both(minima: Floats, inside: Mask, statistic: Statistic) -> float:
    """The larger direction: of the rows inside, and of the others."""
    return max(over_minima(minima[side], statistic) for side in (inside, ~inside))


class NeighbourLists:
    """Rows, at least two, the nearest of all other rows of each, and the sides that they are in."""

    def __init__(self, rows: Floats, sides: Sequence[Side] = ()) -> None:
        self.rows, self.sides = rows, sides
        self.squared, self.index = nearest_rows(rows, rows, min(_LISTED, len(rows) - 1), same=True)

    def distances(self, statistic: Statistic, order: Indices | None = None, present: Mask | None = None) -> list[float]:
        """Distance of every side; `order` permutes them among the rows, `present` leaves rows out."""
        own = (side.rows if order is None else side.rows[order] for side in self.sides)
        return [self.distance(rows, statistic, present) for rows in own]

    def distance(self, in_first: Mask, statistic: Statistic, present: Mask | None = None) -> float:
        """Exact distance of rows `in_first` from the others, of those `present`; NaN if a group is empty."""
        here = np.arange(len(self.rows)) if present is None else np.flatnonzero(present)
        n_first = int(np.count_nonzero(in_first[here]))
        if n_first in (0, here.size):
            return float("nan")
        squared = np.full(len(self.rows), np.nan)
        left = here
        for columns in (slice(0, _FIRST), slice(_FIRST, None)):
            listed = self.index[left, columns]
            if not listed.size:
                break
            other = in_first[listed] != in_first[left, None]
            if present is not None:
                other &= present[listed]
            place = other.argmax(axis=1)
            found = other[np.arange(left.size), place]
            squared[left[found]] = self.squared[left[found], place[found] + columns.start]
            left = left[~found]
        highest = self._settle(squared, left, here, in_first, statistic)
        if statistic == "max":
            return float(np.sqrt(highest))
        return _of_both(np.sqrt(squared[here]), in_first[here], statistic)

    def _settle(self, squared: Floats, left: Indices, here: Indices, in_first: Mask, statistic: Statistic) -> float:
        """Rows without a listed row of the other group: the largest minimum of all, or all their minima."""
        highest = float(np.nanmax(squared[here], initial=0.0))
        for side in (True, False):
            queries = left[in_first[left] == side]
            if queries.size:
                own = self.rows[queries]
                targets = Targets(self.rows[here[in_first[here] != side]], own, Work())
                if statistic == "max":
                    highest = farthest_row(own, targets, floor=highest).squared
                else:
                    squared[queries], _ = row_minima(own, targets)
        return highest


#: Of the rows with y and of those with ŷ.
Distances = tuple[NeighbourLists | AllPairs, NeighbourLists | AllPairs]


def make_distances(scene: Scene) -> Distances:
    """What finds the distances of every side, for rows with y and with ŷ: the same ones either way."""
    kind = AllPairs if worthwhile(scene) else NeighbourLists
    return kind(scene.with_true, scene.sides), kind(scene.with_pred, scene.sides)


def upper_pvalue(observed: float, drawn: Floats) -> float:
    """(1 + #{drawn ≥ observed}) / (1 + B), ties within rounding counted."""
    limit = observed if np.isinf(observed) else observed - _TIE * max(abs(observed), 1.0)
    return float((1 + np.count_nonzero(drawn >= limit)) / (1 + drawn.size))


def of_comparisons(of_sides: Floats, comparisons: list[Comparison]) -> Floats:
    """Maxima over the members of every comparison: (…, sides) → (…, comparisons)."""
    return np.stack([of_sides[..., list(c.members)].max(axis=-1) for c in comparisons], axis=-1)


def harmonics(d: Floats, d_f: Floats) -> Floats:
    """HFM elementwise; NaN where a distance is."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((d == 0) & (d_f == 0), 0.0, d_f / d - 1)


def _drawn(scene: Scene, n: int, what: str, draw: Callable[[], list[list[float]]]) -> Floats:
    """D and D_f of every side under n draws, shape (2, n, sides); a draw gives both of all sides."""
    drawn = np.empty((2, n, len(scene.sides)))
    for b in tqdm(range(n), desc=f"HFM {what}", leave=False, disable=None, delay=2.0):
        drawn[:, b] = draw()
    return drawn


def label_permutation(
    scene: Scene, lists: Distances, statistic: Statistic, n_resamples: int, rng: np.random.Generator
) -> Floats:
    """D and D_f of every side when the rows' sensitive values, all attributes together, are permuted."""

    def draw() -> list[list[float]]:
        order = rng.permutation(scene.n)
        return [rows.distances(statistic, order) for rows in lists]

    return _drawn(scene, n_resamples, "permutations", draw)


class _Exchangeable:
    """One side whose labels change.

    `unchanged`, (n, c): squared distance of the features to the nearest unchanged row of the other group with each
    label; `squared`, `index`, (n, k): its nearest changing rows; `all_listed`, (n,): whether those are all of them.
    """

    def __init__(self, scene: Scene, side: Side, true: Indices, pred: Indices) -> None:
        x = scene.features.values
        n, n_labels = len(x), max(len(scene.label_levels), 2)
        changing = true != pred
        self.x, self.rows, self.others = x, side.rows, {}
        self.unchanged = np.full((n, n_labels), np.inf)
        self.squared, self.index = np.full((n, _LISTED), np.inf), np.zeros((n, _LISTED), dtype=np.int32)
        self.all_listed = np.ones(n, dtype=bool)
        for own in (True, False):
            other = side.rows != own
            queries = np.flatnonzero(~other)
            for label in range(n_labels):
                targets = np.flatnonzero(other & ~changing & (true == label))
                if targets.size:
                    there = Targets(x[targets], x[queries], Work())
                    self.unchanged[queries, label], _ = row_minima(x[queries], there)
            movers = np.flatnonzero(other & changing)
            self.others[own] = movers
            k = min(_LISTED, movers.size)
            if k:
                squared, index = nearest_rows(x[queries], x[movers], k)
                self.squared[queries, :k], self.index[queries, :k] = squared, movers[index]
                self.all_listed[queries] = movers.size <= _LISTED

    def distance(self, labels: Indices, statistic: Statistic) -> float:
        """Distance of the two groups under these labels."""
        minima = self.unchanged + 1
        minima[np.arange(len(labels)), labels] -= 1
        listed = self.squared + (labels[self.index] != labels[:, None])
        best = np.minimum(minima.min(axis=1), listed.min(axis=1))
        open_rows = np.flatnonzero(~self.all_listed & (best > self.squared[:, -1]))
        if statistic == "max" and open_rows.size:
            level = float(np.delete(best, open_rows).max(initial=0.0))  # of the settled ones
            open_rows = open_rows[best[open_rows] > level]
        for side in (True, False):  # rows that the listed do not settle: all changing rows of the other group
            queries, movers = open_rows[self.rows[open_rows] == side], self.others[side]
            for label in np.unique(labels[movers]) if queries.size else ():
                targets, own = self.x[movers[labels[movers] == label]], self.x[queries]
                squared, _ = row_minima(own, Targets(targets, own, Work()))
                best[queries] = np.minimum(best[queries], squared + (labels[queries] != label))
        return _of_both(np.sqrt(best), self.rows, statistic)


def label_exchange(scene: Scene, statistic: Statistic, n_resamples: int, rng: np.random.Generator) -> Floats:
    """D and D_f of every side when y and ŷ change places in a random half of the rows."""
    true, pred = (v[:, 0].astype(np.intp) if v.shape[1] == 1 else v.argmax(axis=1) for v in (scene.true, scene.pred))
    distances: Callable[[Indices], list[float]]
    if worthwhile(scene):
        distances = AllPairs(scene.features.values, scene.sides).relabelled(true, pred, statistic)
    else:
        sides = [_Exchangeable(scene, side, true, pred) for side in scene.sides]

        def distances(labels: Indices) -> list[float]:
            return [side.distance(labels, statistic) for side in sides]

    def draw() -> list[list[float]]:
        swap = rng.random(scene.n) < 0.5
        return [distances(np.where(swap, pred, true)), distances(np.where(swap, true, pred))]

    return _drawn(scene, n_resamples, "exchanges", draw)


def subsample_distances(
    scene: Scene, lists: Distances, statistic: Statistic, share: float, n_subsamples: int, rng: np.random.Generator
) -> Floats:
    """D and D_f of every side in random subsamples without replacement; NaN where a group is empty."""
    size = max(round(share * scene.n), 2)

    def draw() -> list[list[float]]:
        present = np.zeros(scene.n, dtype=bool)
        present[rng.choice(scene.n, size=size, replace=False)] = True
        return [rows.distances(statistic, present=present) for rows in lists]

    return _drawn(scene, n_subsamples, "subsamples", draw)


def stability_ranges(
    scene: Scene, comparisons: list[Comparison], values: Floats, lists: Distances,
    statistic: Statistic, n_subsamples: int, rng: np.random.Generator,
) -> list[tuple[StabilityRange, ...]]:  # fmt: skip
    """Stability ranges of every comparison at either size; `values`, (3, comparisons): D, D_f, HFM on all rows."""
    found: list[list[StabilityRange]] = [[] for _ in comparisons]
    for share in SHARES:
        drawn = subsample_distances(scene, lists, statistic, share, n_subsamples, rng)
        d, d_f = of_comparisons(drawn, comparisons)
        three = (d, d_f, harmonics(d, d_f))
        for row, quantity, of_all in zip(three, ("D", "D_f", "HFM"), values, strict=True):
            for ranges, of_one, value in zip(found, row.T, of_all.tolist(), strict=True):
                ranges.append(_range_of(of_one, quantity, share, value))
    return [tuple(ranges) for ranges in found]


def _range_of(drawn: Floats, quantity: str, share: float, value: float) -> StabilityRange:
    usable = drawn[~np.isnan(drawn)]
    low = median = high = float("nan")
    if usable.size:  # values that occurred: infinite ones cannot be interpolated
        low, median, high = np.quantile(usable, _QUANTILES, method="inverted_cdf").tolist()
    drift = median - value if np.isfinite(median) and np.isfinite(value) else float("nan")
    return StabilityRange(quantity, share, low, median, high, drift, int(usable.size))
