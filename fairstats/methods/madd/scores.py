"""Scores per group, sorted once, and their histograms.

Bins [0, 1/m), …, [(m−1)/m, 1], and the distance of two.

Everything rests on counts below edges, so that one sort serves every number of bins. The M(M − 1)/2
inner edges k/m of the grids with 1 … M bins are only about 3M²/π² distinct Farey fractions, counted
once: every grid picks its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats, check_given, check_two_groups, check_whole
from fairstats.ground.errors import DataWarning, InputError, caution
from fairstats.ground.outcomes import MissingReport, Outcomes
from fairstats.ground.scores import Bins, ScoreCounts, pooled_bins
from fairstats.ground.serialise import serialisable
from fairstats.ground.tally import Tally, counts_or_rows

#: Scores merged between the edges of all grids of up to so many bins are as good as single ones.
EXACT_BINS = 1_000
#: Bins that pictures are drawn from, besides those of the grids.
PICTURE_BINS = 100
#: Independent rows per distinct score from which scores are tied.
TIED = 5
#: More bins than this are asked for by mistake.
MOST_BINS = 100_000
#: From this many edges per score on, it is cheaper to look the scores up among the edges.
_EDGES_PER_SCORE = 2
#: Products of counts from here on (two groups of 2·10⁹ rows) would not fit a whole number of NumPy.
MOST_WHOLE = 2**62
#: The same of a number of 32 bits.
MOST_HALF = 2**31
#: Edges looked at together: arrays of this size stay in the processor's cache.
_EDGES_AT_ONCE = 1 << 16
#: Counts in the bins of all grids of up to so many bins are kept with a sample for its next pair
#: (8,256 numbers of 32 bits): most stable stretches end before.
_KEPT_GRIDS = 128


def check_bins(argument: str, n_bins: Any, *, least: int = 1, most: int = MOST_BINS) -> int:
    """Return the number of bins m, or raise unless it is a whole number from `least` to `most`."""
    return check_whole(
        argument,
        n_bins,
        low=least,
        high=most,
        cure="20 bins are a bandwidth h of 0.05",
    )


def bin_edges(n_bins: int) -> Floats:
    """Inner edges k/m, k = 1 … m − 1, each rounded once (k·(1/m) would be rounded twice)."""
    return np.arange(1, n_bins) / n_bins


def below(scores: Floats, edges: Floats, weights: NDArray[Any] | None = None) -> NDArray[Any]:
    """Rows (or weight; whole `weights` are rows) with a score below each edge, (e,).

    Scores and edges ascend.
    """
    if edges.size > _EDGES_PER_SCORE * scores.size:
        edge_positions = np.searchsorted(edges, scores, side="right")
        counts = np.bincount(edge_positions, weights=weights, minlength=edges.size + 1)[
            : edges.size
        ]
        if weights is not None and weights.dtype.kind == "i":
            counts = np.rint(counts).astype(np.int64)
        return np.cumsum(counts, out=counts)  # in place: new pages cost more than the sum
    position = np.searchsorted(scores, edges, side="left")
    if weights is None:
        return position
    return np.concatenate([[0], np.cumsum(weights)])[position]


def histogram(scores: Floats, edges: Floats, weights: NDArray[Any] | None = None) -> NDArray[Any]:
    """Rows (or weight) per bin between inner edges, shape (e + 1,); the last bin is closed."""
    if weights is None:
        total_weight = scores.size
    else:
        total_weight = weights.sum()
    return np.diff(np.concatenate([[0], below(scores, edges, weights), [total_weight]]))


def histogram_distance(counts0: NDArray[Any], counts1: NDArray[Any]) -> Any:
    """MADD = Σ_k |d0_k − d1_k| of counts in the same bins (equation 3), on the last axis.

    Of integers rounded once.
    """
    total_0, total_1 = (counts.sum(axis=-1, keepdims=True) for counts in (counts0, counts1))
    whole_counts = counts0.dtype.kind == "i" and counts1.dtype.kind == "i"
    if not (whole_counts and float(total_0.max()) * float(total_1.max()) < MOST_WHOLE):
        return np.abs(counts0 / total_0 - counts1 / total_1).sum(axis=-1)
    crossed = np.abs(counts0 * total_1 - counts1 * total_0).sum(axis=-1)
    return crossed / (total_0[..., 0] * total_1[..., 0])


@dataclass(frozen=True, eq=False)
class FareyGrid:
    """All edges of the grids with 1 … M bins.

    `edges`, shape (e,): the distinct inner edges, ascending; `pick`, shape (M(M + 1)/2 + 1,): for
    every grid in turn 0 for the end at 0, then 1 + position in `edges` of each inner edge (the end
    at 1 is the 0 that opens the next grid); `starts`, shape (M,): where each grid starts in `pick`.
    """

    edges: NDArray[np.float64]
    pick: NDArray[np.int32]
    starts: NDArray[np.int64]


@lru_cache(maxsize=4)
def farey_grid(max_bins: int) -> FareyGrid:
    """The edges of the grids with 1 … `max_bins` bins, put in order by counting, without a sort.

    Kept for next time.
    """
    numbers_of_bins = range(1, max_bins + 1)
    grid_starts = np.concatenate([[0], np.cumsum(numbers_of_bins)])
    whole_numbers = np.arange(max_bins, dtype=np.int64)
    is_met = np.zeros(max_bins**2, dtype=bool)
    for n_bins in (
        numbers_of_bins
    ):  # fractions k/m lie further apart than 1/M²: ⌊M²·k/m⌋ is a different whole number for each
        is_met[whole_numbers[:n_bins] * max_bins**2 // n_bins] = True
    ranks = np.cumsum(is_met, dtype=np.int32)  # 1 for the end at 0
    picked_edges = np.zeros(grid_starts[-1] + 1, dtype=np.int32)
    distinct_edges = np.empty(int(ranks[-1]))
    for n_bins, grid_start in zip(numbers_of_bins, grid_starts.tolist(), strict=False):
        edge_places = ranks[whole_numbers[:n_bins] * max_bins**2 // n_bins] - 1
        picked_edges[grid_start : grid_start + n_bins] = edge_places
        distinct_edges[edge_places] = whole_numbers[:n_bins] / n_bins
    distinct_edges = distinct_edges[1:]
    for fixed_array in (distinct_edges, picked_edges, grid_starts):
        fixed_array.flags.writeable = False
    return FareyGrid(distinct_edges, picked_edges, grid_starts[:-1])


def distances_from_below(
    grid: FareyGrid,
    below0: NDArray[Any],
    below1: NDArray[Any],
    total0: float,
    total1: float,
) -> Floats:
    """MADD with 1 … M bins, (M,), from rows (or weight) below the edges and in all.

    Of integers rounded once.
    """
    whole_counts = (
        below0.dtype.kind == "i" and below1.dtype.kind == "i" and total0 * total1 < MOST_WHOLE
    )
    if not whole_counts:
        gap_type: Any = np.float64
    elif 2 * total0 * total1 < MOST_HALF:
        gap_type = np.int32  # a distance is at most 2·n0·n1: half of the memory to go through
    else:
        gap_type = np.int64
    crossed_gap = np.zeros(below0.size + 1, dtype=gap_type)
    for block_start in range(0, below0.size, _EDGES_AT_ONCE):
        block_below0 = below0[block_start : block_start + _EDGES_AT_ONCE]
        block_below1 = below1[block_start : block_start + _EDGES_AT_ONCE]
        if whole_counts:
            crossed = block_below0 * gap_type(total1) - block_below1 * gap_type(total0)
        else:
            crossed = block_below0 / total0 - block_below1 / total1
        crossed_gap[block_start + 1 : block_start + 1 + crossed.size] = crossed
    distances = sum_by_grid(grid, crossed_gap)
    return np.asarray(distances / (int(total0) * int(total1)) if whole_counts else distances)


def sum_by_grid(grid: FareyGrid, crossed_gap: NDArray[Any]) -> NDArray[Any]:
    """Σ_k |gap_(k+1) − gap_k| over the bins of every grid, (M,); `crossed_gap`, shape (e + 1,): 0
    for both ends, then the gap at every edge.
    """
    distances = np.empty(grid.starts.size, dtype=crossed_gap.dtype)
    grid_ends = np.append(grid.starts, grid.pick.size - 1)
    block_cuts = np.searchsorted(
        grid_ends, np.arange(0, grid_ends[-1] + _EDGES_AT_ONCE, _EDGES_AT_ONCE)
    ).clip(max=grid.starts.size)
    for first_grid, last_grid in pairwise(np.unique(block_cuts).tolist()):
        first_edge = grid_ends[first_grid]
        last_edge = grid_ends[last_grid]
        picked = crossed_gap.take(grid.pick[first_edge : last_edge + 1])
        bin_gaps = picked[1:] - picked[:-1]
        np.abs(bin_gaps, out=bin_gaps)
        distances[first_grid:last_grid] = np.add.reduceat(
            bin_gaps, grid.starts[first_grid:last_grid] - first_edge
        )
    return distances


def distances_of_pair(first: Sample, second: Sample, max_bins: int) -> Floats:
    """MADD of two samples with 1 … `max_bins` bins, (M,); of integers rounded once."""
    grid = farey_grid(max_bins)
    product = first.total * second.total
    whole_counts = first.weights is None and second.weights is None and product < MOST_WHOLE
    if not whole_counts:
        gap_type: Any = np.float64
        factors = (1 / first.total, 1 / second.total)
    else:
        # a distance is at most 2·n0·n1: half of the memory to go through where that is small
        gap_type = np.int32 if 2 * product < MOST_HALF else np.int64
        factors = (int(second.total), int(first.total))
    crossed_gap = np.zeros(grid.edges.size + 1, dtype=gap_type)
    crossed_gap[1:] = first.below_grids(max_bins, (first.cumulative * factors[0]).astype(gap_type))
    crossed_gap[1:] -= second.below_grids(
        max_bins, (second.cumulative * factors[1]).astype(gap_type)
    )
    distances = sum_by_grid(grid, crossed_gap)
    if whole_counts:
        return np.asarray(distances / (int(first.total) * int(second.total)))
    return np.asarray(distances)


def pair_places(
    first: NDArray[np.int64], second: NDArray[np.int64], n_groups: int
) -> NDArray[np.int64]:
    """Where pairs of groups stand among all pairs, in the order (0, 1), (0, 2), … of `pdist`."""
    lower = np.minimum(first, second)
    upper = np.maximum(first, second)
    return np.asarray(n_groups * lower + upper - (lower + 2) * (lower + 1) // 2)


def grid_counts(
    grid: FareyGrid,
    below: NDArray[np.signedinteger[Any]],
    total: int,
    fewest: int,
    most: int,
) -> NDArray[np.signedinteger[Any]]:
    """Rows per bin of the grids with `fewest` to `most` bins in turn, from rows below the edges."""
    first_pick = int(grid.starts[fewest - 1])
    last_pick = int(grid.starts[most - 1]) + most
    from_start = np.concatenate([np.zeros(1, dtype=below.dtype), below])
    counts = np.diff(from_start.take(grid.pick[first_pick : last_pick + 1]))
    last_bins = np.append(grid.starts[fewest:most], last_pick) - 1 - first_pick
    counts[last_bins] += total
    return np.asarray(counts)


@dataclass(frozen=True, eq=False)
class Sample:
    """Scores of one group, or of several together: arrays of shape (n,).

    `scores`: ascending, in [0, 1], with `weights` and sampling units (`clusters`); `counts`: rows
    that have each score; None: one each; `squares`: sum of the squared weights of these rows; None:
    those of `weights`.
    """

    scores: NDArray[np.float64]
    weights: NDArray[np.float64] | None = None
    clusters: NDArray[np.signedinteger[Any]] | None = None
    counts: NDArray[np.int64] | None = None
    squares: NDArray[np.float64] | None = None
    _runs: dict[int, NDArray[np.int64]] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def _counts_in_kept_grids(self) -> NDArray[np.signedinteger[Any]]:
        """Rows per bin of the grids with 1 … `_KEPT_GRIDS` bins in turn."""
        grid = farey_grid(_KEPT_GRIDS)
        kind: Any = np.int32 if self.n < MOST_HALF else np.int64
        rows_below: NDArray[np.signedinteger[Any]] = self.below(grid.edges).astype(kind)
        return grid_counts(grid, rows_below, self.n, 1, _KEPT_GRIDS)

    @property
    def plain(self) -> bool:
        """Whether rows have neither weights nor clusters."""
        return self.weights is None and self.clusters is None

    @cached_property
    def n(self) -> int:
        """Number of rows."""
        return int(self.scores.size if self.counts is None else self.counts.sum())

    @cached_property
    def total(self) -> float:
        """Sum of the weights; the number of rows without any."""
        return float(self.n if self.weights is None else self.weights.sum())

    @cached_property
    def constant_weight(self) -> float | None:
        """The weight of every row, above 0, where all have the same; 1 without weights.

        Else None.
        """
        if self.weights is None:
            return 1.0
        if not self.n:
            return None
        if self.counts is None:
            row_weights = self.weights
        else:
            row_weights = self.weights / self.counts
        common_weight = float(row_weights[0])
        if not common_weight > 0 or np.ptp(row_weights) > 1e-12 * common_weight:
            return None
        if self.squares is not None and self.counts is not None:
            spread = self.squares / self.counts - common_weight**2
            if np.abs(spread).max() > 1e-9 * common_weight**2:
                return None
        return common_weight

    @property
    def n_effective(self) -> float:
        """Rows that an unweighted sample of the same precision has (Kish): (Σw)²/Σw².

        n without weights.
        """
        if self.weights is None or not self.n:
            return self.n
        if self.total > 0:
            return 1 / float(self.square_shares.sum())
        return 0.0

    @property
    def square_shares(self) -> Floats:
        """Sum of the squared shares of the weight that the rows with each score have, shape
        (n,).
        """
        if self.squares is not None:
            return np.asarray(self.squares / self.total**2)
        return np.square(np.asarray(self.weights) / self.total)

    @property
    def n_units(self) -> float:
        """Independent units: clusters where there are any, else effective rows."""
        if self.clusters is None:
            return self.n_effective
        return float(np.unique(self.clusters).size)

    def below(self, edges: Floats) -> NDArray[Any]:
        """Rows (or weight) below each edge, shape (e,)."""
        return below(self.scores, edges, self.counts if self.weights is None else self.weights)

    def grid_runs(self, max_bins: int) -> NDArray[np.int64]:
        """How many edges of the grids with 1 … `max_bins` bins lie between neighbouring scores, the
        ends included, shape (n + 1,); kept for the next pair.
        """
        if max_bins not in self._runs:
            edges = farey_grid(max_bins).edges
            cells = np.searchsorted(edges, self.scores, side="right")
            self._runs[max_bins] = np.diff(cells, prepend=0, append=edges.size)
        return self._runs[max_bins]

    def below_grids(self, max_bins: int, cumulative: NDArray[Any]) -> NDArray[Any]:
        """The amount below each edge of the grids with 1 … `max_bins` bins; `cumulative`, shape
        (n + 1,): that of the first k scores, k = 0 … n.
        """
        # between two scores the amount stays
        return np.repeat(cumulative, self.grid_runs(max_bins))

    @cached_property
    def cumulative(self) -> NDArray[Any]:
        """Rows (or weight) with one of the first k scores, k = 0 … n."""
        amounts = self.counts if self.weights is None else self.weights
        if amounts is None:
            return np.arange(len(self.scores) + 1)
        return np.concatenate([np.zeros(1, dtype=amounts.dtype), np.cumsum(amounts)])

    def pooled_grids(
        self,
        other: Sample,
        max_bins: int,
        fewest: int,
        most: int,
    ) -> NDArray[np.signedinteger[Any]]:
        """Rows per bin of both plain samples in the grids with `fewest` to `most` bins in turn."""
        rows = self.n + other.n
        kind: Any = np.int32 if rows < MOST_HALF else np.int64
        if most <= _KEPT_GRIDS:
            starts = farey_grid(_KEPT_GRIDS).starts
            in_stretch = slice(int(starts[fewest - 1]), int(starts[most - 1]) + most)
            counts: NDArray[Any] = self._counts_in_kept_grids[in_stretch].astype(kind)
            counts += other._counts_in_kept_grids[in_stretch]
            return counts
        below = self.below_grids(max_bins, self.cumulative.astype(kind))
        below += other.below_grids(max_bins, other.cumulative.astype(kind))
        return grid_counts(farey_grid(max_bins), below, rows, fewest, most)

    @cached_property
    def distinct_scores(self) -> Floats:
        """The scores without repetition, ascending."""
        return self.scores[np.diff(self.scores, prepend=-1) > 0]

    def without_value_of(self, other: Sample) -> bool:
        """Whether scores are tied and yet no value occurs in both samples.

        Then coarse bins show no likeness.
        """
        own_values = self.distinct_scores
        other_values = other.distinct_scores
        if TIED * (own_values.size + other_values.size) > self.n_units + other.n_units:
            return False
        value_parts = (own_values[:1000], own_values[1000:])  # mostly the first few settle it
        return not any(
            (
                other_values[
                    np.minimum(np.searchsorted(other_values, value_part), other_values.size - 1)
                ]
                == value_part
            ).any()
            for value_part in value_parts
        )

    def quantile_bins(self, n_bins: int, *, merged: bool = False) -> Bins:
        """Up to so many bins at the quantiles of these scores; `merged`: they are upper ends of
        intervals.
        """
        amounts = self.counts if self.weights is None else self.weights
        return pooled_bins(self.scores, n_bins, amounts, merged=merged)

    def histogram(self, edges: Floats) -> NDArray[Any]:
        """Rows (or weight) per bin between inner edges, shape (e + 1,)."""
        return histogram(self.scores, edges, self.counts if self.weights is None else self.weights)

    @classmethod
    def joined(cls, parts: Sequence[Sample]) -> Sample:
        """Several samples as one, sorted."""
        scores = np.concatenate([part.scores for part in parts])
        if all(part.plain and part.counts is None for part in parts):
            # several parts are sorted already, and merging them is faster
            scores.sort(kind="stable" if len(parts) > 1 else None)
            return cls(scores)
        sorted_order = np.argsort(scores, kind="stable")
        columns = zip(
            *((part.weights, part.clusters, part.counts, part.squares) for part in parts),
            strict=True,
        )
        return cls(
            scores[sorted_order],
            *(
                None if column_parts[0] is None else np.concatenate(column_parts)[sorted_order]
                for column_parts in columns
            ),
        )


def cluster_codes(samples: Sequence[Sample]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Cluster of every row, counted from 0, and group of every row."""
    clusters = np.concatenate([np.asarray(sample.clusters) for sample in samples])
    group_codes = np.repeat(np.arange(len(samples)), [sample.n for sample in samples])
    return np.unique(clusters, return_inverse=True)[1], group_codes


@dataclass(frozen=True, eq=False)
class GroupScores:
    """Sorted scores of every group; `missing`: what was left out; `merged`: whether near scores
    were counted as one.
    """

    groups: tuple[str, ...]
    samples: tuple[Sample, ...]
    missing: MissingReport = field(default_factory=MissingReport)
    merged: bool = False

    def __post_init__(self) -> None:
        check_two_groups(self.groups)

    @classmethod
    def from_outcomes(cls, outcomes: Outcomes) -> GroupScores:
        """Split validated rows by group and sort each part."""
        scores = check_given("score", outcomes.score, "one score in [0, 1] per row")
        labels = outcomes.groups.labels
        group_codes = outcomes.groups.codes
        if outcomes.cluster is None:
            clusters = None
        else:
            clusters = outcomes.cluster.codes
        columns = (np.asarray(scores), outcomes.weight, clusters)
        group_columns: list[list[Any]] = []
        # one sort by group, and not a look at all rows for each of them
        sizes = np.bincount(group_codes[group_codes >= 0], minlength=len(labels))
        order = np.argsort(group_codes, kind="stable")[group_codes.size - sizes.sum() :]
        for rows_of_group in np.split(order, np.cumsum(sizes)[:-1]):
            group_columns.append(
                [None if column is None else column[rows_of_group] for column in columns]
            )
        return cls(
            labels,
            tuple(Sample.joined([Sample(*columns_of_group)]) for columns_of_group in group_columns),
            outcomes.missing,
        )

    @classmethod
    def from_counts(cls, counts: Tally | ScoreCounts, most_bins: int = EXACT_BINS) -> GroupScores:
        """The same of a tally: distinct scores with their rows.

        Warns where merged ones lie across an edge.
        """
        if isinstance(counts, Tally):
            score_counts = counts.histogram()
        else:
            score_counts = counts
        if not isinstance(score_counts, ScoreCounts):
            allowed = "a Tally with scores"
            suggestion = "fs.tally(…, score=…)"
            raise InputError("counts", got=type(counts).__name__, allowed=allowed, cure=suggestion)
        if score_counts.clustered:
            allowed = (
                "the rows: clusters are permuted whole, and a tally does not keep their scores"
            )
            suggestion = "pass score=, sensitive_features= and cluster="
            raise InputError(
                "counts",
                got="a tally of clustered rows",
                allowed=allowed,
                cure=suggestion,
            )
        if most_bins > EXACT_BINS:
            finer_edges = bin_edges(most_bins)
        else:
            finer_edges = np.zeros(0)
        if score_counts.cost > 0 and (
            score_counts._splits_interval(farey_grid(EXACT_BINS).edges)
            or score_counts._splits_interval(finer_edges)
        ):
            warning_text = (
                f"Scores are merged to intervals of up to {score_counts.cost:.3g} of a group's rows"
            )
            caution(
                f"{warning_text}: its share below an edge of a bin is right to that only.",
                DataWarning,
            )
        group_samples = []
        for group_index in range(len(score_counts.groups)):
            has_rows = score_counts.counts[group_index].sum(axis=0) > 0
            columns = (score_counts.totals, score_counts.counts, score_counts.squares)
            weight, row_counts, squares = (
                None if column is None else column[group_index].sum(axis=0)[has_rows]
                for column in columns
            )
            group_samples.append(
                Sample(
                    scores=score_counts.values[has_rows],
                    weights=weight,
                    clusters=None,
                    counts=row_counts,
                    squares=squares,
                )
            )
        return cls(
            score_counts.groups, tuple(group_samples), score_counts.missing, score_counts.cost > 0
        )

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Rows per group, shape (G,)."""
        return np.array([sample.n for sample in self.samples], dtype=np.int64)

    def without_constant_weights(self, *, pooled: bool) -> GroupScores:
        """The same without weights where they are equal within every group.

        If `pooled`, over all groups.
        """
        weights = [sample.constant_weight for sample in self.samples]
        same_weight = (
            not pooled
            or len(
                {weight for weight, sample in zip(weights, self.samples, strict=True) if sample.n}
            )
            == 1
        )
        if (
            any(
                weight is None
                for weight, sample in zip(weights, self.samples, strict=True)
                if sample.n
            )
            or not same_weight
        ):
            return self
        samples = tuple(replace(sample, weights=None, squares=None) for sample in self.samples)
        return replace(self, samples=samples)


def read_scores(counts: Any, most_bins: int, **columns: Any) -> GroupScores:
    """Scores of a tally, or of the columns that `Outcomes.from_arrays` takes; `most_bins`: of a
    grid.
    """
    row_columns = {}
    for column_name, value in columns.items():
        if column_name not in ("missing", "groups"):
            row_columns[column_name] = value
    if counts_or_rows(counts, needs="score", **row_columns):
        return GroupScores.from_counts(counts, most_bins)
    return GroupScores.from_outcomes(Outcomes.from_arrays(**columns))


@serialisable(eq=False)
class GridCounts:
    """Rows (or weight) per group in equally wide bins: what pictures of a result are drawn from.

    `edges`, shape (e,): inner edges of 100 bins, and of the bins that were asked for; `counts`,
    shape (G, e + 1): sums of weights where rows are weighted; `sizes`, shape (G,): rows per group;
    `missing`: what was left out.
    """

    groups: tuple[str, ...]
    edges: NDArray[np.float64]
    counts: NDArray[Any]
    sizes: NDArray[np.int64]
    weighted: bool = False
    missing: MissingReport = field(default_factory=MissingReport)

    @classmethod
    def _of(cls, scores: GroupScores, grids: Iterable[int]) -> GridCounts:
        """Count at the edges of the grids with these numbers of bins, and of 100."""
        all_edges = np.unique(
            np.concatenate([bin_edges(n_bins) for n_bins in {*grids, PICTURE_BINS}])
        )
        return cls(
            groups=scores.groups,
            edges=all_edges,
            counts=np.vstack([sample.histogram(all_edges) for sample in scores.samples]),
            sizes=scores.sizes,
            weighted=any(sample.weights is not None for sample in scores.samples),
            missing=scores.missing,
        )

    def _counts_on_grid(self, n_bins: int) -> NDArray[Any]:
        """Counts on a grid of `n_bins` equally wide bins, shape (G, n_bins)."""
        wanted = bin_edges(n_bins)
        edge_places = np.searchsorted(self.edges, wanted)
        if wanted.size and not (
            edge_places[-1] < self.edges.size and np.array_equal(self.edges[edge_places], wanted)
        ):
            allowed = f"the number of bins that was asked for, or a divisor of {PICTURE_BINS}"
            suggestion = "call madd again with this n_bins"
            raise InputError("n_bins", got=repr(n_bins), allowed=allowed, cure=suggestion)
        return np.add.reduceat(self.counts, np.concatenate([[0], edge_places + 1]), axis=1)

    def _sides(self, group: str, reference: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Positions of the groups on either side of a comparison; against all others the rest."""
        group_position = self.groups.index(group)
        if reference in self.groups:
            return (group_position,), (self.groups.index(reference),)
        return (group_position,), tuple(
            group_index for group_index in range(len(self.groups)) if group_index != group_position
        )
