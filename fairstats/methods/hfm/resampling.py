"""D, D_f and HFM of the same rows under other labels: permutations, exchanges, subsamples.

*Are the groups further apart than random ones?* The sensitive values are permuted among the rows.
The nearest rows of every row are found once: its nearest row of the other group is then the first
of these with another label. Where all of them bear its own label, the exact methods settle it.
Where rows are few, all their pairs are kept instead.

*Does the classifier add distance?* y and ŷ are exchanged at random in every row; only rows with y ≠
ŷ change. The distance of two rows is that of their features plus 1 (squared) where their labels
differ; so for every row the nearest rows of the other group are found once, among the unchanged
ones of every label and among the changing ones.

*How much depends on the rows that happen to be there?* Quantiles over subsamples: how far the value
moves when rows are left out, and which way it drifts with their number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from fairstats.ground.checks import Floats
from fairstats.ground.progress import each_of, under_way
from fairstats.methods.hfm.blocks import Targets, Work, squared_pairs
from fairstats.methods.hfm.drawn_pairs import MOST_CODES, DrawnPairs
from fairstats.methods.hfm.encoding import Comparison, Scene, Side
from fairstats.methods.hfm.nearest import farthest_row, nearest_by_portions, row_minima
from fairstats.methods.hfm.result import StabilityRange
from fairstats.methods.hfm.rows import Indices, Mask, portions
from fairstats.methods.hfm.set_distance import Statistic, over_minima

#: All pairs are taken for so many rows at most, and where they are fewer than this by the number of
#: sides.
_MOST_ROWS = 2_000
_PER_SIDE = 100_000
#: The same where all draws are looked at together, a tenth of the time of one after the other.
_MOST_TOGETHER = 700
#: Distances that are looked at in the time of a call of NumPy.
_CALL_COST = 3_000
#: Neighbours per row at most, and at least.
_LISTED_NEIGHBOURS = 32
_FEWEST_NEIGHBOURS = 6
#: Rows of which the largest minimum is sought at a time.
_ROWS_OF_RACE = 1 << 11
#: Changing rows that are listed where y and ŷ are exchanged; half of them have the label sought.
_LISTED_CHANGING = 12
#: Relative difference below which two distances are one.
_EQUAL_WITHIN = 1e-9
#: Sizes of the subsamples, and the quantiles over them.
SHARES = (0.8, 0.4)
_QUANTILES = (0.05, 0.5, 0.95)


def worthwhile(scene: Scene, statistic: Statistic, n_labels: int = 1) -> bool:
    """Whether all pairs of the rows are cheaper than their neighbours: few rows, or many values.

    More rows where all draws are looked at together; `n_labels`: by which values are told apart.
    """
    if scene.n > _MOST_ROWS:
        return False
    sides_of_attributes = Counter(side.attribute for side in scene.sides)
    # an attribute with two values has one side, and two codes all the same
    most_codes = max([2, *sides_of_attributes.values()]) * n_labels
    if scene.n <= _MOST_TOGETHER and are_drawn_together(statistic, most_codes):
        return True
    n_pairs = scene.n**2 * len(sides_of_attributes)
    return n_pairs <= _PER_SIDE * len(scene.sides)


def are_drawn_together(statistic: Statistic, most_codes: int) -> bool:
    """Whether the distances of all draws are found at once, of attributes with so many values."""
    return statistic == "max" and most_codes <= MOST_CODES


class AllPairs:
    """Squared distances of all rows, shape (n, n), and the values of every attribute.

    `parts` has for every attribute the code of each row, the number of codes, and the codes of its
    sides: one for an attribute with two values.
    """

    def __init__(self, rows: Floats, sides: Sequence[Side]) -> None:
        self.squared = cdist(rows, rows, "sqeuclidean")  # sums of squared differences: exact
        self.parts: list[tuple[Indices, int, list[int]]] = []
        for attribute in dict.fromkeys(side.attribute for side in sides):
            masks_of_attribute = np.array(
                [side.rows for side in sides if side.attribute == attribute]
            )
            if len(masks_of_attribute) > 1:
                value_codes = masks_of_attribute.argmax(axis=0)
            else:
                value_codes = masks_of_attribute[0].astype(np.intp)
            self.parts.append(
                (
                    value_codes,
                    max(len(masks_of_attribute), 2),
                    [*range(len(masks_of_attribute))] if len(masks_of_attribute) > 1 else [1],
                )
            )

    def distances(
        self,
        statistic: Statistic,
        order: Indices | None = None,
        present: Mask | None = None,
    ) -> list[float]:
        """Distance of every side; `order` permutes them among the rows, `present` leaves rows
        out.
        """
        side_distances: list[float] = []
        if present is None:
            present_rows = np.arange(len(self.squared))
        else:
            present_rows = np.flatnonzero(present)
        for value_codes, n_codes, side_codes in self.parts:
            own_codes = (value_codes if order is None else value_codes[order])[present_rows]
            nearest = self._nearest(present_rows, own_codes, n_codes)
            side_distances += _of_sides(
                own_codes,
                nearest if present is None else nearest[:, present_rows],
                side_codes,
                statistic,
            )
        return side_distances

    def relabelled(
        self,
        first: Indices,
        second: Indices,
        statistic: Statistic,
    ) -> Callable[[Indices], list[float]]:
        """Distance of every side as a function of labels, each of them one of the two of its row.

        Two rows whose labels differ are 1 further apart, squared. Only rows with two labels are
        looked at anew.
        """
        n_labels = int(max(first.max(), second.max())) + 1
        moving_rows = np.flatnonzero(first != second)
        fixed_rows = np.flatnonzero(first == second)

        def among(rows: Indices, value_codes: Indices, labels: Indices, n_codes: int) -> Floats:
            return self._nearest(
                rows, value_codes[rows] * n_labels + labels[rows], n_codes * n_labels
            )

        fixed_squared = [
            among(fixed_rows, value_codes, first, n_codes) for value_codes, n_codes, _ in self.parts
        ]

        def distances(labels: Indices) -> list[float]:
            side_distances: list[float] = []
            label_differs = np.not_equal.outer(np.arange(n_labels), labels)
            for (value_codes, n_codes, side_codes), of_fixed in zip(
                self.parts, fixed_squared, strict=True
            ):
                squared_by_label = among(moving_rows, value_codes, labels, n_codes)
                squared_by_label = np.minimum(
                    squared_by_label, of_fixed, out=squared_by_label
                ).reshape(n_codes, n_labels, -1)
                squared_by_label += label_differs
                side_distances += _of_sides(
                    value_codes, squared_by_label.min(axis=1), side_codes, statistic
                )
            return side_distances

        return distances

    def drawn_together(self, statistic: Statistic, n_labels: int = 1) -> DrawnPairs | None:
        """What finds the distances of many draws at once; None where they are better found one by
        one.
        """
        most_codes = max(n_codes for _, n_codes, _ in self.parts) * n_labels
        if not are_drawn_together(statistic, most_codes):
            return None
        return DrawnPairs(self.squared, self.parts)

    def _nearest(self, row_numbers: Indices, value_codes: Indices, n_codes: int) -> Floats:
        """Squared distance to the nearest of these rows with every code, (n_codes, n).

        Infinite for none.
        """
        nearest = np.full((n_codes, len(self.squared)), np.inf)
        if not row_numbers.size:
            return nearest
        sorted_order = np.argsort(value_codes, kind="stable")
        code_sizes = np.bincount(value_codes, minlength=n_codes)
        occurring = np.flatnonzero(code_sizes)
        code_sizes = code_sizes[occurring]
        first_places = np.cumsum(code_sizes) - code_sizes
        row_numbers = row_numbers[sorted_order]
        largest_size = int(code_sizes.max())
        # at once, repeating last rows, unless that takes longer than one call for every code
        if (
            largest_size * occurring.size
            <= 2 * row_numbers.size + _CALL_COST * occurring.size // len(nearest[0])
        ):
            row_places = first_places[:, None] + np.minimum(
                np.arange(largest_size), code_sizes[:, None] - 1
            )
            nearest[occurring] = self.squared[row_numbers[row_places]].min(axis=1)
        else:
            for single_code, rows_of_code in zip(
                occurring, np.split(row_numbers, first_places[1:]), strict=True
            ):
                self.squared[rows_of_code].min(axis=0, out=nearest[single_code])
        return nearest


def _of_sides(
    value_codes: Indices,
    nearest: Floats,
    side_codes: list[int],
    statistic: Statistic,
) -> list[float]:
    """Distance of every side from the other rows; NaN where either has none."""
    row_numbers = np.arange(value_codes.size)
    nearest[value_codes, row_numbers] = np.inf
    nearest[value_codes, row_numbers] = nearest.min(
        axis=0
    )  # of a row's own value: the nearest row of any other
    code_sizes = np.bincount(value_codes, minlength=len(nearest))
    lacking = (code_sizes == 0) | (code_sizes == value_codes.size)
    if statistic == "max":
        return list(np.where(lacking, np.nan, np.sqrt(nearest.max(axis=1)))[side_codes].tolist())
    distances = (
        np.nan
        if lacking[side_code]
        else _of_both(nearest[side_code], value_codes == side_code, statistic)
        for side_code in side_codes
    )
    return list(distances)


def _of_both(minima: Floats, inside: Mask, statistic: Statistic) -> float:
    """The larger direction of squared minima: of the rows inside, and of the others."""
    if statistic == "max":
        return float(np.sqrt(minima.max()))
    return max(over_minima(np.sqrt(minima[in_side]), statistic) for in_side in (inside, ~inside))


class NeighbourLists:
    """Rows, at least two, the nearest of all other rows of each, and the sides that they are in.

    Of the neighbours only their numbers are kept: a distance is computed when it is the one.
    """

    def __init__(
        self, rows: Floats, sides: Sequence[Side] = (), present_share: float = 1.0
    ) -> None:
        self.rows = rows
        self.sides = sides
        n_listed = min(_neighbours_needed(len(rows), sides, present_share), len(rows) - 1)
        self.index = np.empty((n_listed, len(rows)), dtype=np.int32)
        farthest_listed = np.empty(len(rows))
        for portion, squared, neighbours in nearest_by_portions(rows, rows, n_listed, same=True):
            self.index[:, portion] = neighbours.T
            farthest_listed[portion] = squared[:, -1]
        #: A row with a listed row of the other group is no farther from it than that.
        self.farthest_listed = farthest_listed
        self.farthest_first = np.argsort(-farthest_listed, kind="stable")

    def distances(
        self,
        statistic: Statistic,
        order: Indices | None = None,
        present: Mask | None = None,
    ) -> list[float]:
        """Distance of every side; `order` permutes them among the rows, `present` leaves rows
        out.
        """
        permuted_masks = (
            group_side.rows if order is None else group_side.rows[order]
            for group_side in self.sides
        )
        return [self.distance(in_first, statistic, present) for in_first in permuted_masks]

    def distance(self, in_first: Mask, statistic: Statistic, present: Mask | None = None) -> float:
        """Exact distance of rows `in_first` from the others, of those `present`.

        NaN if a group is empty.
        """
        if present is None:
            present_rows = np.arange(len(self.rows))
        else:
            present_rows = np.flatnonzero(present)
        n_first = int(np.count_nonzero(in_first[present_rows]))
        if n_first in (0, present_rows.size):
            return float("nan")
        squared = np.full(len(self.rows), np.nan)
        if statistic == "max":
            rows_left = present_rows
            for listed in self.index:
                rows_left = rows_left[~self._in_other_group(listed, rows_left, in_first, present)]
                if not rows_left.size:
                    break
            self._settle_farthest(squared, in_first, present)
        else:
            rows_left = self._settle_listed(squared, present_rows, in_first, present)
        highest = self._settle_unlisted(squared, rows_left, present_rows, in_first, statistic)
        if statistic == "max":
            return float(np.sqrt(highest))
        return _of_both(squared[present_rows], in_first[present_rows], statistic)

    def _in_other_group(
        self, listed: NDArray[np.int32], rows: Indices, in_first: Mask, present: Mask | None
    ) -> Mask:
        """Whether the listed row of each of these rows is present, and of the other group."""
        neighbours = listed[rows]
        in_other_group: Mask = in_first[neighbours] != in_first[rows]
        if present is not None:
            in_other_group &= present[neighbours]
        return in_other_group

    def _settle_listed(
        self,
        squared: Floats,
        rows_left: Indices,
        in_first: Mask,
        present: Mask | None,
    ) -> Indices:
        """Minima of rows with a listed row of the other group, in place; the rows without one."""
        for listed in self.index:
            if not rows_left.size:
                break
            is_found = self._in_other_group(listed, rows_left, in_first, present)
            settled = rows_left[is_found]
            squared[settled] = squared_pairs(self.rows, settled, self.rows, listed[settled])
            rows_left = rows_left[~is_found]
        return rows_left

    def _settle_farthest(self, squared: Floats, in_first: Mask, present: Mask | None) -> None:
        """`_settle_listed` of those rows only whose minimum may be the largest."""
        highest = -1.0
        for portion in portions(len(self.rows), _ROWS_OF_RACE):
            rows = self.farthest_first[portion]
            if self.farthest_listed[rows[0]] <= highest:
                break
            if present is not None:
                rows = rows[present[rows]]
            self._settle_listed(squared, rows, in_first, present)
            highest = max(highest, float(np.nanmax(squared[rows], initial=-1.0)))

    def _settle_unlisted(
        self,
        squared: Floats,
        rows_left: Indices,
        present_rows: Indices,
        in_first: Mask,
        statistic: Statistic,
    ) -> float:
        """Rows without a listed row of the other group.

        The largest minimum of all, or all their minima.
        """
        highest = float(np.nanmax(squared[present_rows], initial=0.0))
        for is_first in (True, False):
            queries = rows_left[in_first[rows_left] == is_first]
            if queries.size:
                query_rows = self.rows[queries]
                targets = Targets(
                    self.rows[present_rows[in_first[present_rows] != is_first]], query_rows, Work()
                )
                if statistic == "max":
                    highest = farthest_row(query_rows, targets, floor=highest).squared
                else:
                    squared[queries], _ = row_minima(query_rows, targets)
        return highest


def _neighbours_needed(n_rows: int, sides: Sequence[Side], present_share: float) -> int:
    """So many neighbours that about four rows have none of another side among them, up to a limit.

    A neighbour is of a side with the side's share of the rows, if `present_share` of them are there.
    """
    needed = float(_FEWEST_NEIGHBOURS if sides else _LISTED_NEIGHBOURS)
    for side in sides:
        n_inside = int(np.count_nonzero(side.rows))
        smaller_share = min(n_inside, n_rows - n_inside) / n_rows * present_share
        if smaller_share > 0:
            needed = max(needed, np.log(n_rows / 4) / -np.log1p(-smaller_share))
    return int(min(np.ceil(needed), _LISTED_NEIGHBOURS))


#: Of the rows with y and of those with ŷ.
Distances = tuple[NeighbourLists | AllPairs, NeighbourLists | AllPairs]


@under_way("HFM: nearest rows")
def make_distances(scene: Scene, statistic: Statistic, present_share: float = 1.0) -> Distances:
    """What finds the distances of every side, for rows with y and with ŷ.

    The same ones either way. `present_share`: of the rows that the smallest subsample has.
    """
    rows_of_both = (scene.with_true, scene.with_pred)
    if worthwhile(scene, statistic):
        first, second = (AllPairs(rows, scene.sides) for rows in rows_of_both)
        return first, second
    of_true, of_pred = (NeighbourLists(rows, scene.sides, present_share) for rows in rows_of_both)
    return of_true, of_pred


def upper_pvalue(observed: float, drawn: Floats) -> float:
    """(1 + #{drawn ≥ observed}) / (1 + B), ties within rounding counted."""
    if np.isinf(observed):
        tie_limit = observed
    else:
        tie_limit = observed - _EQUAL_WITHIN * max(abs(observed), 1.0)
    return float((1 + np.count_nonzero(drawn >= tie_limit)) / (1 + drawn.size))


def of_comparisons(of_sides: Floats, comparisons: list[Comparison]) -> Floats:
    """Maxima over the members of every comparison: (…, sides) → (…, comparisons)."""
    return np.stack(
        [of_sides[..., list(comparison.members)].max(axis=-1) for comparison in comparisons],
        axis=-1,
    )


def harmonics(d: Floats, d_f: Floats) -> Floats:
    """HFM elementwise; NaN where a distance is."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((d == 0) & (d_f == 0), 0.0, d_f / d - 1)


def _draw_distances(
    scene: Scene,
    n: int,
    description: str,
    draw_once: Callable[[], list[list[float]]],
) -> Floats:
    """D and D_f of every side under n draws, shape (2, n, sides).

    A draw gives both of all sides.
    """
    drawn_distances = np.empty((2, n, len(scene.sides)))
    for draw_number in each_of(range(n), f"HFM {description}"):
        drawn_distances[:, draw_number] = draw_once()
    return drawn_distances


def _drawn_together(lists: Distances, statistic: Statistic) -> list[DrawnPairs] | None:
    """What finds D and D_f of many draws at once; None where they are found one by one."""
    together = []
    for distance_finder in lists:
        if isinstance(distance_finder, AllPairs):
            together.append(distance_finder.drawn_together(statistic))
    found = [pairs for pairs in together if pairs is not None]
    return found if len(found) == len(lists) else None


def label_permutation(
    scene: Scene,
    lists: Distances,
    statistic: Statistic,
    n_resamples: int,
    rng: np.random.Generator,
) -> Floats:
    """D and D_f of every side when the rows' sensitive values, all attributes together, are
    permuted.
    """
    together = _drawn_together(lists, statistic)
    if together is not None:
        orders = np.array([rng.permutation(scene.n) for _ in range(n_resamples)])
        with under_way("HFM permutations"):
            return np.stack([pairs.permuted(orders) for pairs in together])

    def draw() -> list[list[float]]:
        permuted_rows = rng.permutation(scene.n)
        return [distance_finder.distances(statistic, permuted_rows) for distance_finder in lists]

    return _draw_distances(scene, n_resamples, "permutations", draw)


class _ExchangeableSide:
    """One side whose labels change.

    `unchanged`, (n, c): squared distance of the features to the nearest unchanged row of the other
    group with each label; `squared`, `index`, (n, k): its nearest changing rows; `all_listed`,
    (n,): whether those are all of them.
    """

    def __init__(self, scene: Scene, side: Side, true: Indices, pred: Indices) -> None:
        feature_rows = scene.features.values
        n_rows = len(feature_rows)
        n_labels = max(len(scene.label_levels), 2)
        changing = true != pred
        self.x = feature_rows
        self.rows = side.rows
        self.others = {}
        self.unchanged = np.full((n_rows, n_labels), np.inf)
        self.squared = np.full((n_rows, _LISTED_CHANGING), np.inf)
        self.index = np.zeros((n_rows, _LISTED_CHANGING), dtype=np.int32)
        self.all_listed = np.ones(n_rows, dtype=bool)
        for is_first in (True, False):
            in_other_group = side.rows != is_first
            queries = np.flatnonzero(~in_other_group)
            for label in range(n_labels):
                targets = np.flatnonzero(in_other_group & ~changing & (true == label))
                if targets.size:
                    unchanged_targets = Targets(
                        feature_rows[targets], feature_rows[queries], Work()
                    )
                    self.unchanged[queries, label], _ = row_minima(
                        feature_rows[queries], unchanged_targets
                    )
            movers = np.flatnonzero(in_other_group & changing)
            self.others[is_first] = movers
            n_listed = min(_LISTED_CHANGING, movers.size)
            if n_listed:
                for portion, squared, neighbours in nearest_by_portions(
                    feature_rows[queries], feature_rows[movers], n_listed
                ):
                    self.squared[queries[portion], :n_listed] = squared
                    self.index[queries[portion], :n_listed] = movers[neighbours]
                self.all_listed[queries] = movers.size <= _LISTED_CHANGING
        # among unchanged rows, under the less favourable of the two labels that a row may have
        numbers = np.arange(n_rows)
        elsewhere = self.unchanged.min(axis=1) + 1
        self.bounds = np.maximum(
            np.minimum(self.unchanged[numbers, true], elsewhere),
            np.minimum(self.unchanged[numbers, pred], elsewhere),
        )
        self.farthest_first = np.argsort(-self.bounds, kind="stable")

    def distance(self, labels: Indices, statistic: Statistic) -> float:
        """Distance of the two groups under these labels."""
        best_squared = np.full(len(labels), -1.0)
        open_rows = []
        settled_highest = -1.0
        for portion in portions(len(labels), _ROWS_OF_RACE):
            rows = self.farthest_first[portion]
            if statistic == "max" and self.bounds[rows[0]] <= settled_highest:
                break
            squared = self._listed_minima(rows, labels)
            best_squared[rows] = squared
            is_open = ~self.all_listed[rows] & (squared > self.squared[rows, -1])
            open_rows.append(rows[is_open])
            settled_highest = max(settled_highest, float(squared[~is_open].max(initial=-1.0)))
        left = np.concatenate(open_rows)
        if statistic == "max":
            left = left[best_squared[left] > settled_highest]
        self._settle_open(best_squared, left, labels)
        return _of_both(best_squared, self.rows, statistic)

    def _listed_minima(self, rows: Indices, labels: Indices) -> Floats:
        """Squared distance to the nearest row of the other group, of the unchanged and the listed.

        Lists go from near to far: of listed rows only the first with the same label counts, and the
        first of all, 1 further away where its label differs.
        """
        own_labels = labels[rows]
        minima = self.unchanged[rows] + 1
        minima[np.arange(rows.size), own_labels] -= 1
        squared: Floats = np.minimum(minima.min(axis=1), self.squared[rows, 0] + 1)
        places = np.arange(rows.size)
        for column in range(self.index.shape[1]):
            own_rows = rows[places]
            # no farther one can be nearer
            places = places[self.squared[own_rows, column] < squared[places]]
            if not places.size:
                break
            own_rows = rows[places]
            alike = labels[self.index[own_rows, column]] == own_labels[places]
            squared[places[alike]] = self.squared[own_rows[alike], column]
            places = places[~alike]
        return squared

    def _settle_open(self, best_squared: Floats, open_rows: Indices, labels: Indices) -> None:
        """Minima, in place, over all changing rows of the other group."""
        for is_first in (True, False):
            queries = open_rows[self.rows[open_rows] == is_first]
            movers = self.others[is_first]
            for label_code in np.unique(labels[movers]) if queries.size else ():
                targets = self.x[movers[labels[movers] == label_code]]
                query_rows = self.x[queries]
                squared, _ = row_minima(query_rows, Targets(targets, query_rows, Work()))
                best_squared[queries] = np.minimum(
                    best_squared[queries], squared + (labels[queries] != label_code)
                )


def label_exchange(
    scene: Scene,
    statistic: Statistic,
    n_resamples: int,
    rng: np.random.Generator,
) -> Floats:
    """D and D_f of every side when y and ŷ change places in a random half of the rows."""
    true_codes, predicted_codes = (
        label_places[:, 0].astype(np.intp)
        if label_places.shape[1] == 1
        else label_places.argmax(axis=1)
        for label_places in (scene.true, scene.pred)
    )
    distances: Callable[[Indices], list[float]]
    n_labels = int(max(true_codes.max(), predicted_codes.max())) + 1
    if worthwhile(scene, statistic, n_labels):
        all_pairs = AllPairs(scene.features.values, scene.sides)
        together = all_pairs.drawn_together(statistic, n_labels)
        if together is not None:
            swapped = rng.random((n_resamples, scene.n)) < 0.5
            return np.stack(
                [
                    together.relabelled(np.where(swapped, other, own), n_labels)
                    for own, other in ((true_codes, predicted_codes), (predicted_codes, true_codes))
                ]
            )
        distances = all_pairs.relabelled(true_codes, predicted_codes, statistic)
    else:
        exchangeable_sides = []
        for group_side in scene.sides:
            exchangeable_sides.append(
                _ExchangeableSide(scene, group_side, true_codes, predicted_codes)
            )

        def distances(labels: Indices) -> list[float]:
            return [group_side.distance(labels, statistic) for group_side in exchangeable_sides]

    def draw() -> list[list[float]]:
        is_swapped = rng.random(scene.n) < 0.5
        return [
            distances(np.where(is_swapped, predicted_codes, true_codes)),
            distances(np.where(is_swapped, true_codes, predicted_codes)),
        ]

    return _draw_distances(scene, n_resamples, "exchanges", draw)


def subsample_distances(
    scene: Scene,
    lists: Distances,
    statistic: Statistic,
    share: float,
    n_subsamples: int,
    rng: np.random.Generator,
) -> Floats:
    """D and D_f of every side in random subsamples without replacement.

    NaN where a group is empty.
    """
    subsample_size = max(round(share * scene.n), 2)

    together = _drawn_together(lists, statistic)
    if together is not None:
        present_rows = np.zeros((n_subsamples, scene.n), dtype=bool)
        for rows_of_draw in present_rows:
            rows_of_draw[rng.choice(scene.n, size=subsample_size, replace=False)] = True
        return np.stack([pairs.present(present_rows) for pairs in together])

    def draw() -> list[list[float]]:
        present = np.zeros(scene.n, dtype=bool)
        present[rng.choice(scene.n, size=subsample_size, replace=False)] = True
        return [distance_finder.distances(statistic, present=present) for distance_finder in lists]

    return _draw_distances(scene, n_subsamples, "subsamples", draw)


def stability_ranges(
    scene: Scene,
    comparisons: list[Comparison],
    values: Floats,
    lists: Distances,
    statistic: Statistic,
    n_subsamples: int,
    rng: np.random.Generator,
) -> list[tuple[StabilityRange, ...]]:
    """Stability ranges of every comparison at either size; `values`, (3, comparisons).

    D, D_f, HFM on all rows.
    """
    ranges_by_comparison: list[list[StabilityRange]] = [[] for _ in comparisons]
    for share in SHARES:
        drawn_distances = subsample_distances(scene, lists, statistic, share, n_subsamples, rng)
        drawn_d, drawn_d_f = of_comparisons(drawn_distances, comparisons)
        drawn_quantities = (drawn_d, drawn_d_f, harmonics(drawn_d, drawn_d_f))
        for drawn_values, quantity, of_all in zip(
            drawn_quantities, ("D", "D_f", "HFM"), values, strict=True
        ):
            for ranges, of_one, observed_value in zip(
                ranges_by_comparison, drawn_values.T, of_all.tolist(), strict=True
            ):
                ranges.append(_range_of(of_one, quantity, share, observed_value))
    return [tuple(ranges) for ranges in ranges_by_comparison]


def _range_of(
    drawn_values: Floats,
    quantity: str,
    share: float,
    observed_value: float,
) -> StabilityRange:
    usable = drawn_values[~np.isnan(drawn_values)]
    low_quantile = median = high_quantile = float("nan")
    if usable.size:  # values that occurred: infinite ones cannot be interpolated
        low_quantile, median, high_quantile = np.quantile(
            usable, _QUANTILES, method="inverted_cdf"
        ).tolist()
    if np.isfinite(median) and np.isfinite(observed_value):
        drift = median - observed_value
    else:
        drift = float("nan")
    return StabilityRange(
        quantity=quantity,
        share=share,
        low=low_quantile,
        median=median,
        high=high_quantile,
        drift=drift,
        n_subsamples=int(usable.size),
    )
