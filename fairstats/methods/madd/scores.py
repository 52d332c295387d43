"""Scores per group, sorted once, and their histograms: bins [0, 1/m), …, [(m−1)/m, 1], and the distance of two.

Everything rests on counts below edges, so that one sort serves every number of bins. The M(M − 1)/2 inner edges k/m of
the grids with 1 … M bins are only about 3M²/π² distinct Farey fractions, counted once: every grid picks its own.
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
#: Edges looked at together: arrays of this size stay in the processor's cache.
_CELLS = 1 << 16


def check_bins(argument: str, n_bins: Any, *, least: int = 1, most: int = MOST_BINS) -> int:
    """Return the number of bins m, or raise unless it is a whole number from `least` to `most`."""
    return check_whole(argument, n_bins, low=least, high=most, cure="20 bins are a bandwidth h of 0.05")


def bin_edges(n_bins: int) -> Floats:
    """Inner edges k/m, k = 1 … m − 1, each rounded once (k·(1/m) would be rounded twice)."""
    return np.arange(1, n_bins) / n_bins


def below(scores: Floats, edges: Floats, weights: NDArray[Any] | None = None) -> NDArray[Any]:
    """Rows (or weight; whole `weights` are rows) with a score below each edge, (e,); scores and edges ascend."""
    if edges.size > _EDGES_PER_SCORE * scores.size:
        place = np.searchsorted(edges, scores, side="right")
        counts = np.bincount(place, weights=weights, minlength=edges.size + 1)[: edges.size]
        if weights is not None and weights.dtype.kind == "i":
            counts = np.rint(counts).astype(np.int64)
        return np.cumsum(counts, out=counts)  # in place: new pages cost more than the sum
    position = np.searchsorted(scores, edges, side="left")
    if weights is None:
        return position
    return np.concatenate([[0], np.cumsum(weights)])[position]


def histogram(scores: Floats, edges: Floats, weights: NDArray[Any] | None = None) -> NDArray[Any]:
    """Rows (or weight) per bin between inner edges, shape (e + 1,); the last bin is closed."""
    total = scores.size if weights is None else weights.sum()
    return np.diff(np.concatenate([[0], below(scores, edges, weights), [total]]))


def histogram_distance(counts0: NDArray[Any], counts1: NDArray[Any]) -> Any:
    """MADD = Σ_k |d0_k − d1_k| of counts in the same bins (equation 3), on the last axis; of integers rounded once."""
    n0, n1 = (counts.sum(axis=-1, keepdims=True) for counts in (counts0, counts1))
    whole = counts0.dtype.kind == "i" and counts1.dtype.kind == "i"
    if not (whole and float(n0.max()) * float(n1.max()) < MOST_WHOLE):
        return np.abs(counts0 / n0 - counts1 / n1).sum(axis=-1)
    crossed = np.abs(counts0 * n1 - counts1 * n0).sum(axis=-1)
    return crossed / (n0[..., 0] * n1[..., 0])


@dataclass(frozen=True, eq=False)
class FareyGrid:
    """All edges of the grids with 1 … M bins.

    `edges`, shape (e,): the distinct inner edges, ascending; `pick`, shape (M(M + 1)/2 + 1,): for every grid in turn 0
    for the end at 0, then 1 + position in `edges` of each inner edge (the end at 1 is the 0 that opens the next grid);
    `starts`, shape (M,): where each grid starts in `pick`.
    """

    edges: NDArray[np.float64]
    pick: NDArray[np.int32]
    starts: NDArray[np.int64]


@lru_cache(maxsize=4)
def farey_grid(max_bins: int) -> FareyGrid:
    """The edges of the grids with 1 … `max_bins` bins, put in order by counting, without a sort; kept for next time."""
    grids = range(1, max_bins + 1)
    starts = np.concatenate([[0], np.cumsum(grids)])
    steps = np.arange(max_bins, dtype=np.int64)
    met = np.zeros(max_bins**2, dtype=bool)
    for m in grids:  # fractions k/m lie further apart than 1/M²: ⌊M²·k/m⌋ is a different whole number for each
        met[steps[:m] * max_bins**2 // m] = True
    rank = np.cumsum(met, dtype=np.int32)  # 1 for the end at 0
    pick = np.zeros(starts[-1] + 1, dtype=np.int32)
    edges = np.empty(int(rank[-1]))
    for m, start in zip(grids, starts.tolist(), strict=False):
        place = rank[steps[:m] * max_bins**2 // m] - 1
        pick[start : start + m] = place
        edges[place] = steps[:m] / m
    edges = edges[1:]
    for array in (edges, pick, starts):
        array.flags.writeable = False
    return FareyGrid(edges, pick, starts[:-1])


def distances_from_below(
    grid: FareyGrid, below0: NDArray[Any], below1: NDArray[Any], total0: float, total1: float
) -> Floats:
    """MADD with 1 … M bins, (M,), from rows (or weight) below the edges and in all; of integers rounded once."""
    whole = below0.dtype.kind == "i" and below1.dtype.kind == "i" and total0 * total1 < MOST_WHOLE
    gap = np.zeros(below0.size + 1, dtype=np.int64 if whole else np.float64)
    for start in range(0, below0.size, _CELLS):
        part0, part1 = below0[start : start + _CELLS], below1[start : start + _CELLS]
        crossed = part0 * int(total1) - part1 * int(total0) if whole else part0 / total0 - part1 / total1
        gap[start + 1 : start + 1 + crossed.size] = crossed
    distances = np.empty(grid.starts.size, dtype=gap.dtype)
    ends = np.append(grid.starts, grid.pick.size - 1)
    cuts = np.searchsorted(ends, np.arange(0, ends[-1] + _CELLS, _CELLS)).clip(max=grid.starts.size)
    for first, last in pairwise(np.unique(cuts).tolist()):
        low, high = ends[first], ends[last]
        steps = np.abs(np.diff(gap[grid.pick[low : high + 1]]))
        distances[first:last] = np.add.reduceat(steps, grid.starts[first:last] - low)
    return np.asarray(distances / (int(total0) * int(total1)) if whole else distances)


def grid_counts(grid: FareyGrid, below: NDArray[np.int64], total: int, fewest: int, most: int) -> NDArray[np.int64]:
    """Rows per bin of the grids with `fewest` to `most` bins in turn, from rows below the edges."""
    start = int(grid.starts[fewest - 1])
    stop = int(grid.starts[most - 1]) + most
    counts = np.diff(np.concatenate([[0], below])[grid.pick[start : stop + 1]])
    ends = np.append(grid.starts[fewest:most], stop) - 1 - start
    counts[ends] += total
    return np.asarray(counts)


@dataclass(frozen=True, eq=False)
class Sample:
    """Scores of one group, or of several together: arrays of shape (n,).

    `scores`: ascending, in [0, 1], with `weights` and sampling units (`clusters`); `counts`: rows that have each score;
    None: one each; `squares`: sum of the squared weights of these rows; None: those of `weights`.
    """

    scores: NDArray[np.float64]
    weights: NDArray[np.float64] | None = None
    clusters: NDArray[np.signedinteger[Any]] | None = None
    counts: NDArray[np.int64] | None = None
    squares: NDArray[np.float64] | None = None
    _below: dict[int, NDArray[Any]] = field(default_factory=dict, init=False, repr=False)

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
        """The weight of every row, above 0, where all have the same; 1 without weights; else None."""
        if self.weights is None:
            return 1.0
        if not self.n:
            return None
        each = self.weights if self.counts is None else self.weights / self.counts
        weight = float(each[0])
        if not weight > 0 or np.ptp(each) > 1e-12 * weight:
            return None
        if self.squares is not None and self.counts is not None:
            spread = self.squares / self.counts - weight**2
            if np.abs(spread).max() > 1e-9 * weight**2:
                return None
        return weight

    @property
    def n_effective(self) -> float:
        """Rows that an unweighted sample of the same precision has (Kish): (Σw)²/Σw²; n without weights."""
        if self.weights is None or not self.n:
            return self.n
        return 1 / float(self.square_shares.sum()) if self.total > 0 else 0.0

    @property
    def square_shares(self) -> Floats:
        """Sum of the squared shares of the weight that the rows with each score have, shape (n,)."""
        if self.squares is not None:
            return np.asarray(self.squares / self.total**2)
        return np.square(np.asarray(self.weights) / self.total)

    @property
    def n_units(self) -> float:
        """Independent units: clusters where there are any, else effective rows."""
        return self.n_effective if self.clusters is None else float(np.unique(self.clusters).size)

    def below(self, edges: Floats) -> NDArray[Any]:
        """Rows (or weight) below each edge, shape (e,)."""
        return below(self.scores, edges, self.counts if self.weights is None else self.weights)

    def below_grids(self, max_bins: int) -> NDArray[Any]:
        """Rows (or weight) below each edge of the grids with 1 … `max_bins` bins; kept for the next pair."""
        if max_bins not in self._below:
            self._below[max_bins] = self.below(farey_grid(max_bins).edges)
        return self._below[max_bins]

    def pooled_grids(self, other: Sample, max_bins: int, fewest: int, most: int) -> NDArray[np.int64]:
        """Rows per bin of both samples in the grids with `fewest` to `most` bins in turn."""
        below = self.below_grids(max_bins) + other.below_grids(max_bins)
        return grid_counts(farey_grid(max_bins), below, self.n + other.n, fewest, most)

    def without_value_of(self, other: Sample) -> bool:
        """Whether scores are tied and yet no value occurs in both samples: then coarse bins show no likeness."""
        one, two = (s.scores[np.diff(s.scores, prepend=-1) > 0] for s in (self, other))
        if TIED * (one.size + two.size) > self.n_units + other.n_units:
            return False
        parts = (one[:1000], one[1000:])  # mostly the first few settle it
        return not any((two[np.minimum(np.searchsorted(two, p), two.size - 1)] == p).any() for p in parts)

    def quantile_bins(self, n_bins: int, *, merged: bool = False) -> Bins:
        """Up to so many bins at the quantiles of these scores; `merged`: they are upper ends of intervals."""
        amounts = self.counts if self.weights is None else self.weights
        return pooled_bins(self.scores, n_bins, amounts, merged=merged)

    def histogram(self, edges: Floats) -> NDArray[Any]:
        """Rows (or weight) per bin between inner edges, shape (e + 1,)."""
        return histogram(self.scores, edges, self.counts if self.weights is None else self.weights)

    @classmethod
    def joined(cls, parts: Sequence[Sample]) -> Sample:
        """Several samples as one, sorted."""
        scores = np.concatenate([p.scores for p in parts])
        if all(p.plain and p.counts is None for p in parts):
            # several parts are sorted already, and merging them is faster
            scores.sort(kind="stable" if len(parts) > 1 else None)
            return cls(scores)
        order = np.argsort(scores, kind="stable")
        columns = zip(*((p.weights, p.clusters, p.counts, p.squares) for p in parts), strict=True)
        return cls(scores[order], *(None if c[0] is None else np.concatenate(c)[order] for c in columns))


def cluster_codes(samples: Sequence[Sample]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Cluster of every row, counted from 0, and group of every row."""
    clusters = np.concatenate([np.asarray(s.clusters) for s in samples])
    group = np.repeat(np.arange(len(samples)), [s.n for s in samples])
    return np.unique(clusters, return_inverse=True)[1], group


@dataclass(frozen=True, eq=False)
class GroupScores:
    """Sorted scores of every group; `missing`: what was left out; `merged`: whether near scores were counted as one."""

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
        labels, codes = outcomes.groups.labels, outcomes.groups.codes
        clusters = None if outcomes.cluster is None else outcomes.cluster.codes
        columns = (np.asarray(scores), outcomes.weight, clusters)
        parts: list[list[Any]] = [[None if c is None else c[codes == g] for c in columns] for g in range(len(labels))]
        return cls(labels, tuple(Sample.joined([Sample(*part)]) for part in parts), outcomes.missing)

    @classmethod
    def from_counts(cls, counts: Tally | ScoreCounts, most_bins: int = EXACT_BINS) -> GroupScores:
        """The same of a tally: distinct scores with their rows; warns where merged ones lie across an edge."""
        table = counts.histogram() if isinstance(counts, Tally) else counts
        if not isinstance(table, ScoreCounts):
            allowed, cure = "a Tally with scores", "fs.tally(…, score=…)"
            raise InputError("counts", got=type(counts).__name__, allowed=allowed, cure=cure)
        if table.clustered:
            allowed = "the rows: clusters are permuted whole, and a tally does not keep their scores"
            cure = "pass score=, sensitive_features= and cluster="
            raise InputError("counts", got="a tally of clustered rows", allowed=allowed, cure=cure)
        finer = bin_edges(most_bins) if most_bins > EXACT_BINS else np.zeros(0)
        if table.cost > 0 and (table._splits(farey_grid(EXACT_BINS).edges) or table._splits(finer)):
            text = f"Scores are merged to intervals of up to {table.cost:.3g} of a group's rows"
            caution(f"{text}: its share below an edge of a bin is right to that only.", DataWarning)
        found = []
        for g in range(len(table.groups)):
            here = table.counts[g].sum(axis=0) > 0
            columns = (table.totals, table.counts, table.squares)
            weight, rows, squares = (None if c is None else c[g].sum(axis=0)[here] for c in columns)
            found.append(Sample(table.values[here], weight, None, rows, squares))
        return cls(table.groups, tuple(found), table.missing, table.cost > 0)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Rows per group, shape (G,)."""
        return np.array([s.n for s in self.samples], dtype=np.int64)

    def without_constant_weights(self, *, pooled: bool) -> GroupScores:
        """The same without weights where they are equal within every group; if `pooled`, over all groups."""
        weights = [s.constant_weight for s in self.samples]
        same = not pooled or len({w for w, s in zip(weights, self.samples, strict=True) if s.n}) == 1
        if any(w is None for w, s in zip(weights, self.samples, strict=True) if s.n) or not same:
            return self
        samples = tuple(replace(s, weights=None, squares=None) for s in self.samples)
        return replace(self, samples=samples)


def read_scores(counts: Any, most_bins: int, **columns: Any) -> GroupScores:
    """Scores of a tally, or of the columns that `Outcomes.from_arrays` takes; `most_bins`: of a grid."""
    rows = {name: value for name, value in columns.items() if name not in ("missing", "groups")}
    if counts_or_rows(counts, needs="score", **rows):
        return GroupScores.from_counts(counts, most_bins)
    return GroupScores.from_outcomes(Outcomes.from_arrays(**columns))


@serialisable(eq=False)
class GridCounts:
    """Rows (or weight) per group in equally wide bins: what pictures of a result are drawn from.

    `edges`, shape (e,): inner edges of 100 bins, and of the bins that were asked for; `counts`, shape (G, e + 1): sums
    of weights where rows are weighted; `sizes`, shape (G,): rows per group; `missing`: what was left out.
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
        edges = np.unique(np.concatenate([bin_edges(m) for m in {*grids, PICTURE_BINS}]))
        return cls(
            groups=scores.groups,
            edges=edges,
            counts=np.vstack([s.histogram(edges) for s in scores.samples]),
            sizes=scores.sizes,
            weighted=any(s.weights is not None for s in scores.samples),
            missing=scores.missing,
        )

    def _on(self, n_bins: int) -> NDArray[Any]:
        """Counts on a grid of `n_bins` equally wide bins, shape (G, n_bins)."""
        wanted = bin_edges(n_bins)
        place = np.searchsorted(self.edges, wanted)
        if wanted.size and not (place[-1] < self.edges.size and np.array_equal(self.edges[place], wanted)):
            allowed = f"the number of bins that was asked for, or a divisor of {PICTURE_BINS}"
            cure = "call madd again with this n_bins"
            raise InputError("n_bins", got=repr(n_bins), allowed=allowed, cure=cure)
        return np.add.reduceat(self.counts, np.concatenate([[0], place + 1]), axis=1)

    def _sides(self, group: str, reference: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Positions of the groups on either side of a comparison; against all others the rest."""
        first = self.groups.index(group)
        if reference in self.groups:
            return (first,), (self.groups.index(reference),)
        return (first,), tuple(g for g in range(len(self.groups)) if g != first)
