"""Score histograms per group and label: the sufficient statistic of everything that looks at a score."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats, check_given, check_summand, check_type
from fairstats.ground.multiplicity import normal_quantile
from fairstats.ground.outcomes import MissingReport, Outcomes, even_weights
from fairstats.ground.serialise import serialisable
from fairstats.ground.stored import check_amounts, check_counts, check_shape, damaged


@serialisable(eq=False)
class ScoreCounts:
    """Rows per group, label and score value.

    Attributes
    ----------
    groups : tuple of str, length G
    values, lower : ndarray of float, shape (m,)
        Distinct scores in ascending order, `lower` None; or ends of the intervals [lower, value] to which they were
        merged.
    counts : ndarray of int, shape (G, 2, m), or (G, 1, m) where there are no labels
        Rows of group g with label 0 or 1 and that score.
    missing : MissingReport
        What was left out.
    totals, squares : ndarray of float, shape as `counts`, or None
        Sums of the weights and of their squares; None without weights.
    clustered : bool
        Whether rows came in clusters, which these counts do not keep.
    """

    groups: tuple[str, ...]
    values: NDArray[np.float64]
    counts: NDArray[np.int64]
    missing: MissingReport = field(default_factory=MissingReport)
    lower: NDArray[np.float64] | None = None
    totals: NDArray[np.float64] | None = None
    squares: NDArray[np.float64] | None = None
    clustered: bool = False

    def check_stored(self) -> None:
        """Raise unless the counts that were read from a file have an entry per group, label and score."""
        shape = self.counts.shape
        if len(shape) != 3 or shape[1] not in (1, 2):
            got = f"counts of scores of shape {shape}"
            raise damaged(got, "an entry per group, label (1 or 2 of them) and score")
        check_shape(self, "counts", self.counts, (len(self.groups), shape[1], self.values.size))
        check_shape(self, "values", self.values, shape[2:])
        check_shape(self, "lower", self.lower, shape[2:])
        check_shape(self, "totals", self.totals, shape)
        check_shape(self, "squares", self.squares, shape)
        check_counts(self, "counts", self.counts)
        check_amounts(self, "totals", self.totals)
        check_amounts(self, "squares", self.squares)
        check_amounts(self, "values", self.values)
        check_amounts(self, "lower", self.lower)
        if (self.totals is None) != (self.squares is None):
            raise damaged("weighted counts of scores without their squares", "sums of weights and of their squares")
        if self.totals is not None and self.squares is not None and ((self.totals > 0) != (self.squares > 0)).any():
            raise damaged("sums of weights that do not go with the sums of their squares", "both, of the same rows")
        ascending = bool((np.diff(self.values) > 0).all())
        within = self.lower is None or bool((self.lower <= self.values).all())
        if not ascending or not within or (self.values.size and self.values[-1] > 1):
            raise damaged("scores that are out of order or beyond 1", "distinct scores in [0, 1], ascending")

    @classmethod
    def _from_outcomes(cls, outcomes: Outcomes, *, labelled: bool = True) -> Self:
        """Count validated rows at every distinct score; without labels where `labelled` is false."""
        check_type("outcomes", outcomes, Outcomes, "validated rows: Outcomes.from_arrays(…)")
        values, position = np.unique(check_given("score", outcomes.score), return_inverse=True)
        n_groups, n_labels = len(outcomes.groups.labels), 2 if labelled else 1
        row = outcomes.groups.codes.astype(np.intp) * n_labels
        if labelled:
            row = row + check_given("y_true", outcomes.y_true)
        code, shape = row * values.size + position, (n_groups, n_labels, values.size)

        def total(weights: Any) -> NDArray[Any]:
            return np.bincount(code, weights, n_groups * n_labels * values.size).reshape(shape)

        weight, squares = outcomes.weight, outcomes.squares
        squares = weight**2 if weight is not None and squares is None else squares
        return cls(
            groups=outcomes.groups.labels, values=values, missing=outcomes.missing,
            counts=total(outcomes.number).astype(np.int64, copy=False),
            totals=None if weight is None else total(weight), squares=None if squares is None else total(squares),
            clustered=outcomes.cluster is not None,
        )  # fmt: skip

    @property
    def labelled(self) -> bool:
        """Whether the rows have labels."""
        return bool(self.counts.shape[1] == 2)

    @property
    def weighted(self) -> bool:
        """Whether rows carry weights."""
        return self.totals is not None

    def without_even_weights(self) -> ScoreCounts:
        """The same counts without weights, where these are equal within every group: so groups are compared."""
        if self.totals is None or self.squares is None:
            return self
        sums = (part.sum(axis=(1, 2)) for part in (self.counts, self.totals, self.squares))
        return replace(self, totals=None, squares=None) if even_weights(*sums).all() else self

    @cached_property
    def group_sizes(self) -> NDArray[np.int64]:
        """Rows per group, shape (G,)."""
        return np.asarray(self.counts.sum(axis=(1, 2)))

    @cached_property
    def cost(self) -> float:
        """Largest share of a group's rows in one interval: a share below any cut moves by at most this."""
        if self.lower is None:
            return 0.0
        wide = self.counts.sum(axis=1)[:, self.lower < self.values]
        sizes = np.maximum(self.group_sizes, 1)[:, None]
        return float((wide / sizes).max()) if wide.size else 0.0

    @cached_property
    def auc_error(self) -> Floats:
        """Largest error of each group's AUC for not knowing the order within intervals, shape (G,).

        Half of Σ p₀p₁ over intervals, p the shares of the rows with label 0 and 1; the area between two
        groups' ROC curves errs by the sum of theirs at most.
        """
        if self.lower is None or not self.labelled:
            return np.zeros(len(self.groups))
        shares = self.counts if self.totals is None else self.totals
        sums = shares.sum(axis=2, keepdims=True)
        shares = shares[:, :, self.lower < self.values] / np.where(sums > 0, sums, 1)
        return np.asarray((shares[:, 0] * shares[:, 1]).sum(axis=1) / 2)

    def _calibration(self, group: int, confidence_level: float = 0.95, n_bins: int = 10) -> tuple[Floats, ...]:
        """Mean score, rows, share with label 1 and the ends of its Wilson interval, by bin of scores.

        Bins of about equal size of one group, up to `n_bins` with 20 rows each on average; tied scores stay
        together. Intervals hold for each bin alone.
        """
        here = self.counts[group].sum(axis=0) > 0
        lower = self.values if self.lower is None else self.lower
        middle, counts = (lower[here] + self.values[here]) / 2, self.counts[group][:, here]
        rows = counts.sum(axis=0)
        most = int(np.clip(rows.sum() // 20, 1, n_bins))
        starts = _starts(np.cumsum(rows) / max(rows.sum(), 1), most)
        parts = (rows, counts[1], rows * middle)
        n, ones, total = (np.add.reduceat(v, starts) if rows.size else np.zeros(0) for v in parts)
        z2 = normal_quantile((1 + confidence_level) / 2) ** 2
        centre = (ones + z2 / 2) / (n + z2)
        half = np.sqrt(z2 * (ones * (n - ones) / n + z2 / 4)) / (n + z2)
        return total / n, n, ones / n, centre - half, centre + half

    def _splits(self, edges: Floats) -> bool:
        """Whether one of the edges, in ascending order, cuts through an interval."""
        if self.lower is None:
            return False
        first, last = (np.searchsorted(edges, ends, side="right") for ends in (self.lower, self.values))
        return bool((first < last).any())

    def _binned(self, n_bins: int, *, each: bool = False) -> ScoreCounts:
        """The same counts in at most `n_bins` bins of about equal size; unchanged where values are few.

        `each`: of equal share on average over groups and labels, whatever their sizes.
        """
        if self.values.size <= n_bins:
            return self
        counts = self.counts / np.maximum(self.counts.sum(axis=2, keepdims=True), 1) if each else self.counts
        return self._merged(_starts(np.cumsum(counts.sum(axis=(0, 1))) / counts.sum(), n_bins))

    def _gridded(self, least: int = 10) -> ScoreCounts:
        """Scores merged until each interval holds at least `least` rows, so that no row can be read off."""
        starts, held = [0], 0
        for k, n in enumerate(self.counts.sum(axis=(0, 1)).tolist()):
            if held >= least:
                starts.append(k)
                held = 0
            held += n
        if held < least and len(starts) > 1:
            starts.pop()
        return self._merged(np.array(starts))

    def _merged(self, starts: NDArray[np.intp]) -> ScoreCounts:
        """The same counts in intervals that begin at the values at `starts`."""
        ends = np.append(starts[1:], self.values.size) - 1
        lower = self.values if self.lower is None else self.lower
        merged = self._each(lambda part: np.add.reduceat(part, starts, axis=2))
        return replace(self, values=self.values[ends], lower=lower[starts], **merged)

    def _each(self, change: Callable[[NDArray[Any]], NDArray[Any]]) -> dict[str, Any]:
        """Counts, and sums of weights and of their squares where there are any, each changed."""
        parts = {name: getattr(self, name) for name in ("counts", "totals", "squares")}
        return {name: change(part) for name, part in parts.items() if part is not None}

    def _regrouped(self, groups: tuple[str, ...], position: Sequence[int]) -> ScoreCounts:
        """Groups merged, reordered or added: group g becomes group ``position[g]`` of `groups`."""

        def moved(part: NDArray[Any]) -> NDArray[Any]:
            new = np.zeros((len(groups), *part.shape[1:]), dtype=part.dtype)
            for g, own in zip(position, part, strict=True):
                new[g] += own
            return new

        return replace(self, groups=groups, missing=self.missing._regrouped(position), **self._each(moved))

    def __add__(self, other: ScoreCounts) -> ScoreCounts:
        """Counts of two sets of rows with the same groups; intervals that overlap become one."""
        check_summand(self, other, "groups", "labelled")
        low = np.concatenate([s.values if s.lower is None else s.lower for s in (self, other)])
        high = np.concatenate([self.values, other.values])
        order = np.lexsort((high, low))
        low, reach = low[order], np.maximum.accumulate(high[order])
        new = np.concatenate([[True], low[1:] > reach[:-1]])
        place = np.empty(order.size, dtype=np.intp)
        place[order] = np.cumsum(new) - 1
        exact = self.lower is None and other.lower is None

        def joined(name: str) -> NDArray[Any]:
            a, b = (s.counts if getattr(s, name) is None else getattr(s, name) for s in (self, other))
            parts = np.concatenate([a, b], axis=2)
            both = np.zeros((*a.shape[:2], int(new.sum())), dtype=parts.dtype)
            np.add.at(np.moveaxis(both, 2, 0), place, np.moveaxis(parts, 2, 0))
            return both

        weighted = self.weighted or other.weighted
        return replace(
            self, values=reach[np.append(np.flatnonzero(new)[1:] - 1, reach.size - 1)],
            lower=None if exact else low[new], counts=joined("counts"),
            totals=joined("totals") if weighted else None, squares=joined("squares") if weighted else None,
            missing=self.missing + other.missing, clustered=self.clustered or other.clustered,
        )  # fmt: skip


def _starts(share: Floats, n_bins: int) -> NDArray[np.intp]:
    """Where up to `n_bins` bins of about equal size begin, by the share of rows up to each value."""
    cut = np.unique(np.searchsorted(share, np.arange(1, n_bins + 1) / n_bins - 1e-12))
    return np.concatenate([[0], np.minimum(cut, share.size - 1)[:-1] + 1])


def bandwidth_order(n0: float, n1: float) -> float:
    """h_sup = ((√n0 + √n1)/√(n0·n1))^(2/3), the order of the best bandwidth (theorem 2)."""
    return float((n0**-0.5 + n1**-0.5) ** (2 / 3))  # one place of the paper prints 1/3; 2/3 gives its 0.0737


def label_blind_bins(n0: float, n1: float) -> int:
    """Bins m = ⌈1/h_sup⌉ of a grid that depends on the group sizes only; at least 2."""
    return max(int(np.ceil(1 / bandwidth_order(n0, n1))), 2)


@dataclass(frozen=True, eq=False)
class Bins:
    """Bins of scores: [0, e₁), [e₁, e₂), …, [eₘ₋₁, 1].

    Attributes
    ----------
    edges : ndarray of float, shape (m - 1,)
        Inner edges e₁ < e₂ < … of the m bins.
    atoms : ndarray of float, shape (m,), or None
        The distinct scores, where each has a bin of its own.
    """

    edges: NDArray[np.float64]
    atoms: NDArray[np.float64] | None = None


def pooled_bins(scores: Floats, n_bins: int, amounts: NDArray[Any] | None = None, *, merged: bool = False) -> Bins:
    """Bins at the quantiles of pooled scores: the grid on which MADD is judged, blind to whose scores they are.

    The k-th bin ends with the first score x whose share of pooled rows F(x) reaches k/m. Equal scores stay together,
    so that ties leave fewer bins; where there are no more than m distinct scores, each is a bin. Only the order of the
    scores counts: a monotone map moves the edges with the scores, and no row changes its bin.

    Parameters
    ----------
    scores : ndarray, shape (n,)
        Scores of all rows that are compared, ascending.
    n_bins : int
        m, at most so many bins.
    amounts : ndarray, shape (n,), optional
        Rows, or weight, of each score; default one row each.
    merged : bool
        Whether the scores are upper ends of intervals: edges then lie just above them, otherwise half way between
        neighbours, where no row's score can be read off.
    """
    if amounts is not None:
        present = amounts > 0
        scores, amounts = scores[present], amounts[present]
    steps = np.flatnonzero(scores[1:] > scores[:-1])
    if steps.size < n_bins:
        atoms = scores[np.concatenate([steps, [scores.size - 1]])]
        return Bins(_edges_between(atoms[:-1], atoms[1:], merged), atoms)
    parts = np.arange(1, n_bins)
    if amounts is None:
        # the first i with i + 1 rows of at least k·n/m, in whole numbers
        reached = -(-parts * scores.size // n_bins) - 1
    elif amounts.dtype.kind == "i":
        reached = np.searchsorted(np.cumsum(amounts), -(-parts * int(amounts.sum()) // n_bins))
    else:
        # sums of weights are right to rounding only
        cumulative = np.cumsum(amounts)
        reached = np.searchsorted(cumulative, parts * (cumulative[-1] / n_bins) * (1 - 1e-12))
    last = np.unique(scores[reached])
    after = np.searchsorted(scores, last, side="right")
    inside = after < scores.size
    return Bins(_edges_between(last[inside], scores[after[inside]], merged))


def _edges_between(last: Floats, first: Floats, merged: bool) -> Floats:
    """Edges above the last score of a bin and at most at the first one of the next."""
    if merged:
        return np.asarray(np.nextafter(last, 2.0))
    middle = last + (first - last) / 2
    return np.asarray(np.where(middle > last, middle, first))
