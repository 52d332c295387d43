"""Noise of the area between two ROC curves: two laws of ∫|D̂ − D|, drawn on a grid.

With R a group's curve, n₀ and n₁ its rows of either label and t a false positive rate:

* few rows, rare errors or ties: counts of at most `DRAWN_BINS` intervals of the group's own scores
  are drawn, multinomial for the bootstrap and hypergeometric for the exchange of groups;
* many rows: the empirical distribution of the places of negatives and positives differs from its
  own by two independent Brownian bridges B₀, B₁ (Hsieh and Turnbull 1996, theorem 2.2), so that

      R*(t) = R(t − B₀(t)/√n₀) + B₁(R(t))/√n₁,

  and for an exchange of two groups, with P their pooled curve, n = n₀ⱼ/(n₀ᵢ + n₀ⱼ), m = n₀ᵢ/(…),
  and c_l² = 1/n_lᵢ + 1/n_lⱼ for either label l,

      D*(t) = P(t − n·c₀·B₀(t)) − P(t + m·c₀·B₀(t)) + c₁·B₁(P(t)).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats
from fairstats.ground.scores import find_bin_starts
from fairstats.methods.rates.roc import RocCurve, roc_on_grid
from fairstats.numerics.draws import redrawn_rows, split_rows
from fairstats.numerics.paired.distance import Unseen

#: Places of the grid on which drawn curves are compared, equally far apart along the mean curve.
GRID_PLACES = 64
#: Drawn are the counts of at most so many intervals of a group's own scores, of equal shares of its
#: two labels: both noises are within 1% of those by 500 intervals.
DRAWN_BINS = 128
#: Points between which a curve of many rows is taken as straight.
_TABLE_STEPS = 4_096
#: From so many rows of either label, of which so many lie on the wrong side, with no more than such
#: a share tied, a curve moves as its Brownian bridges say: quantiles of ∫|D̂ − D| within 2%.
LARGE_ROWS = 200
LARGE_MISPLACED = 40.0
LARGE_TIES = 1 / 64


@dataclass(frozen=True, eq=False)
class CurveNoise:
    """Draws of one pair: two laws of ∫|D̂ − D|, ascending, and the areas; `hidden`: what the rows
    do not show.
    """

    laws: tuple[Floats, Floats]
    areas: Floats
    hidden: Unseen

    def pvalue(self, distance: float) -> float:
        """The larger share of draws of at least this distance; 1 where it is 0 or less."""
        if distance <= 0:
            return 1.0
        n_below = min(
            int(np.searchsorted(sorted_draws, distance - 1e-12)) for sorted_draws in self.laws
        )
        return max(
            (1 + self.areas.size - n_below) / (1 + self.areas.size), self.hidden.pvalue(distance)
        )

    def pvalue_of_less(self, area: float, estimate: float) -> float:
        """p-value of an area at or above the estimate; 1 below it."""
        return max(self.pvalue(area - estimate), self.hidden.pvalue_of_less(area))

    def reach(self, level: float) -> float:
        """The largest distance whose p-value is above 1 − level.

        With K draws, (1 + #{draws ≥ d})/(K + 1) > 1 − level as long as d is no larger than the
        draw of rank ⌊(1 − level)(K + 1)⌋ from above; where that is 0, every distance is.
        """
        beyond = int((1 - level) * (1 + self.areas.size) + 1e-9)
        if beyond:
            return max(
                self.hidden.reach(1 - level),
                *(float(sorted_draws[-beyond]) for sorted_draws in self.laws),
            )
        return 1.0


@dataclass(frozen=True, eq=False)
class Grid:
    """False positive rates at which curves are compared, and the width that each stands for."""

    places: Floats
    widths: Floats

    @classmethod
    def of(cls, curves: Sequence[RocCurve]) -> Grid:
        """Equal steps along the mean of the curves, in false and true positive rate together.

        So a curve that rises within the first hundredth has as many places there as beyond.
        """
        # fine at both ends, where curves are steep
        rates = np.sin(np.linspace(0, np.pi / 2, 1_025)) ** 2
        mean_curve = np.mean([curve._heights_at(rates) for curve in curves], axis=0)
        steps = np.arange(GRID_PLACES + 1) / GRID_PLACES
        ends = np.interp(steps, (rates + mean_curve) / 2, rates)
        ends[[0, -1]] = 0.0, 1.0
        widths = np.diff(ends)
        wide = widths > 0
        return cls(((ends[1:] + ends[:-1]) / 2)[wide], widths[wide])

    def area(self, gaps: Floats) -> Floats:
        """∫|gap| of curves on the grid, (curves, places) → (curves,)."""
        return np.asarray(np.abs(gaps) @ self.widths)


@dataclass(frozen=True, eq=False)
class _SmoothCurve:
    """A curve of many rows, by its heights at equal steps of the false positive rate."""

    table: Floats

    def heights_at(self, rates: Floats) -> Floats:
        """Heights at false positive rates, which may lie beyond 0 and 1."""
        positions = np.clip(rates, 0.0, 1.0) * _TABLE_STEPS
        steps = np.minimum(positions.astype(np.int32), _TABLE_STEPS - 1)
        positions -= steps
        heights = self.table.take(steps)
        heights += positions * (self.table.take(steps + 1) - heights)
        return np.asarray(heights)


class CurveDraws:
    """Drawn curves of every group, once for all its pairs.

    `counts`: of every group rows by label and ascending score, shape (2, its scores); `curves`: of
    the groups with both labels.
    """

    def __init__(
        self,
        counts: Sequence[NDArray[np.int64]],
        curves: Sequence[RocCurve | None],
        n: int,
        rng: np.random.Generator,
        pairs: Sequence[tuple[int, int]] = (),
    ) -> None:
        self._counts = counts
        self._curves = curves
        self._pairs_left = Counter(group_number for pair in pairs for group_number in pair)
        self._n = n
        self._rng = rng
        self._known_cells: dict[int, NDArray[np.int64]] = {}
        self._known: dict[int, tuple[Floats, Floats]] = {}
        self._smooth = [
            _smooth_curve(curve, own_counts)
            for curve, own_counts in zip(curves, counts, strict=True)
        ]

    @cached_property
    def grid(self) -> Grid:
        """Where the curves of all groups are compared."""
        return Grid.of([curve for curve in self._curves if curve is not None])

    def noise(self, i: int, j: int, hidden: Unseen) -> CurveNoise:
        """Draws of a pair, whichever is the reference."""
        i, j = sorted((i, j))
        curve_i, drawn_i = self._bootstrap_curves(i)
        curve_j, drawn_j = self._bootstrap_curves(j)
        difference = drawn_i - drawn_j
        areas = self.grid.area(difference)
        difference -= curve_i - curve_j
        laws = np.sort(self.grid.area(difference)), np.sort(self._exchange_groups(i, j))
        self._forget_after_last_pair(i, j)
        return CurveNoise(laws, areas, hidden)

    def _forget_after_last_pair(self, i: int, j: int) -> None:
        """Let go of curves that no other pair needs: all but the reference's."""
        for group_number in (i, j):
            self._pairs_left[group_number] -= 1
            if self._pairs_left[group_number] == 0:
                del self._known[group_number]

    def _count_cells(self, group_number: int) -> NDArray[np.int64]:
        """Rows of a group by label and interval of its own scores, shape (2, intervals).

        A curve knows the order of its group's scores alone, so that the intervals are its own: a
        small group whose scores lie close together has as many as a large one.
        """
        if group_number not in self._known_cells:
            own_counts = self._counts[group_number]
            if own_counts.shape[1] > DRAWN_BINS:
                label_shares = own_counts / own_counts.sum(axis=1, keepdims=True)
                shares_up_to = np.cumsum(label_shares.mean(axis=0))
                starts = find_bin_starts(shares_up_to / shares_up_to[-1], DRAWN_BINS)
                own_counts = np.add.reduceat(own_counts, starts, axis=1)
            self._known_cells[group_number] = own_counts
        return self._known_cells[group_number]

    def _bootstrap_curves(self, group_number: int) -> tuple[Floats, Floats]:
        """The curve of a group on the grid, shape (1, places), and as many drawn ones as wanted."""
        if group_number not in self._known:
            smooth_curve = self._smooth[group_number]
            if smooth_curve is None:
                self._known[group_number] = self._bootstrap_counts(group_number)
            else:
                self._known[group_number] = self._bootstrap_bridges(group_number, smooth_curve)
        return self._known[group_number]

    def _bootstrap_counts(self, group_number: int) -> tuple[Floats, Floats]:
        """The same by counts of intervals."""
        group_cells = self._count_cells(group_number)
        group_cells = _join_same_label(group_cells)
        negatives, positives = group_cells[:, None]
        drawn_negatives = redrawn_rows(group_cells[0], self._n, self._rng)
        drawn_positives = redrawn_rows(group_cells[1], self._n, self._rng)
        return (
            roc_on_grid(negatives, positives, self.grid.places),
            roc_on_grid(drawn_negatives, drawn_positives, self.grid.places),
        )

    def _bootstrap_bridges(
        self, group_number: int, smooth_curve: _SmoothCurve
    ) -> tuple[Floats, Floats]:
        """The same by Brownian bridges."""
        n_negative, n_positive = self._counts[group_number].sum(axis=1).tolist()
        heights = smooth_curve.heights_at(self.grid.places)
        shifts = self._draw_bridges(self.grid.places)
        shifts *= -(n_negative**-0.5)
        shifts += self.grid.places
        drawn = smooth_curve.heights_at(shifts)
        lifts = self._draw_bridges(heights)
        lifts *= n_positive**-0.5
        drawn += lifts
        return heights[None], drawn

    def _draw_bridges(self, ends: Floats) -> Floats:
        """Brownian bridges from 0 to 1 at ascending places, shape (n, places)."""
        steps = np.diff(ends, prepend=0.0, append=1.0)
        paths = self._rng.standard_normal((self._n, steps.size))
        paths *= np.sqrt(np.maximum(steps, 0.0))
        np.cumsum(paths, axis=1, out=paths)
        return np.asarray(paths[:, :-1] - paths[:, -1:] * ends)

    def _exchange_groups(self, i: int, j: int) -> Floats:
        """Areas between the curves after exchanging groups within labels, shape (n,)."""
        curve_i = self._smooth[i]
        curve_j = self._smooth[j]
        if curve_i is None or curve_j is None:
            return self._exchange_counts(i, j)
        sizes = np.array([self._counts[group_number].sum(axis=1) for group_number in (i, j)])
        shares = sizes / sizes.sum(axis=0)
        pooled = _SmoothCurve(shares[0, 1] * curve_i.table + shares[1, 1] * curve_j.table)
        spreads = np.sqrt((1 / sizes).sum(axis=0))
        shifts = self._draw_bridges(self.grid.places)
        shifts *= spreads[0]
        gaps = pooled.heights_at(self.grid.places - shares[1, 0] * shifts)
        gaps -= pooled.heights_at(self.grid.places + shares[0, 0] * shifts)
        lifts = self._draw_bridges(pooled.heights_at(self.grid.places))
        lifts *= spreads[1]
        gaps += lifts
        return self.grid.area(gaps)

    def _exchange_counts(self, i: int, j: int) -> Floats:
        """The same by counts of intervals, each at its places among the negatives of its group."""
        of_both = []
        for group_number in (i, j):
            of_both.append(locate_among_negatives(self._count_cells(group_number)))
        all_places = np.unique(np.concatenate([group_places for group_places, _ in of_both]))
        pooled = np.zeros((2, all_places.size), dtype=np.int64)
        label_totals = of_both[0][1].sum(axis=1)
        for group_places, counts in of_both:
            pooled[:, np.searchsorted(all_places, group_places)] += counts
        pooled = _join_same_label(pooled)
        n_negative, n_positive = label_totals.tolist()
        negatives = split_rows(pooled[0], n_negative, self._n, self._rng)
        positives = split_rows(pooled[1], n_positive, self._n, self._rng)
        drawn_curves = roc_on_grid(negatives, positives, self.grid.places)
        other_curves = roc_on_grid(pooled[0] - negatives, pooled[1] - positives, self.grid.places)
        return self.grid.area(drawn_curves - other_curves)


def _join_same_label(cells: NDArray[np.int64]) -> NDArray[np.int64]:
    """The same with neighbours of one label as one: a level or upright piece of any drawn curve."""
    has_rows = cells > 0
    alone = has_rows[0] != has_rows[1]
    same_label = alone[1:] & alone[:-1] & (has_rows[0, 1:] == has_rows[0, :-1])
    return np.add.reduceat(cells, np.concatenate([[0], np.flatnonzero(~same_label) + 1]), axis=1)


def _smooth_curve(curve: RocCurve | None, counts: NDArray[np.int64]) -> _SmoothCurve | None:
    """The curve, if its rows are so many that it moves as Brownian bridges do; else None."""
    if curve is None:
        return None
    label_rows = counts.sum(axis=1)
    if label_rows.min() < LARGE_ROWS or (counts.max(axis=1) > LARGE_TIES * label_rows).any():
        return None
    for (mean_error, mean_square), n_rows in zip(curve.misplaced, label_rows.tolist(), strict=True):
        if n_rows * mean_error**2 < LARGE_MISPLACED * mean_square:
            return None
    return _SmoothCurve(curve._heights_at(np.arange(_TABLE_STEPS + 1) / _TABLE_STEPS))


def no_draw_moves(cells: NDArray[np.int64]) -> bool:
    """Whether no draw of these rows moves their curve.

    Scores that separate the labels, or one score only.
    """
    (first_negative, last_negative), (first_positive, last_positive) = (
        np.flatnonzero(counts)[[0, -1]].tolist() for counts in cells
    )
    return bool(
        last_negative < first_positive
        or last_positive < first_negative
        or first_negative == last_negative == first_positive == last_positive
    )


def locate_among_negatives(cells: NDArray[np.int64]) -> tuple[Floats, NDArray[np.int64]]:
    """Where the scores of a group lie among its negatives, in [0, 1] and ascending, and the counts
    there.
    """
    negatives = cells[0]
    negative_shares = ((np.cumsum(negatives) - negatives / 2) / negatives.sum()).round(12)
    distinct_places, place_codes = np.unique(negative_shares, return_inverse=True)
    return distinct_places, np.array(
        [np.bincount(place_codes, label_counts, distinct_places.size) for label_counts in cells]
    ).astype(np.int64)
