"""Squared distances by blocks: BLAS finds the candidates, direct differences decide.

|q − t|² = |q|² + |t|² − 2 q·t is fast and, where rows are close, wrong by rounding: the expansion of two
equal rows in single precision gives 0.004. Here it only ever *bounds* a distance (``γ`` is the rounding that
d + 1 products can gather), and every number that is returned is a sum of squared differences in double
precision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["TIE", "Targets", "Work", "squared_pairs"]

#: Two squared distances that differ by less than this share are one.
TIE = 1e-12
#: Targets of one block of a scan.
_SCAN = 4096
#: In no more dimensions than this, rows are prepared column by column.
_NARROW = 6
#: Bytes of prepared blocks that are kept.
_CACHE = 96 * 2**20
#: Share of doubtful pairs above which scans go on in double precision.
_DOUBTFUL = 0.002
#: Share of the pairs of a block above which direct differences of all of them are cheaper.
_MANY = 0.1
_CHUNK = 1 << 18


class Work:
    """Distances that were evaluated, and queries put to a tree."""

    def __init__(self) -> None:
        self.distances = 0
        self.tree_queries = 0


def squared_pairs(
    a: NDArray[np.float64], rows_a: NDArray[Any], b: NDArray[np.float64], rows_b: NDArray[Any]
) -> NDArray[np.float64]:
    """|a[rows_a[i]] − b[rows_b[i]]|² by direct differences.

    Parameters
    ----------
    a, b : ndarray, shape (n, d), (m, d)
    rows_a, rows_b : ndarray of int, shape (k,)

    Returns
    -------
    ndarray of float, shape (k,)
    """
    found = np.empty(rows_a.size)
    step = max(_CHUNK // a.shape[1], 1)
    for start in range(0, rows_a.size, step):
        part = slice(start, start + step)
        difference = a[rows_a[part]] - b[rows_b[part]]
        np.einsum("ij,ij->i", difference, difference, out=found[part])
    return found


class Targets:
    """The rows of one set, ready to be compared with rows of another.

    Parameters
    ----------
    rows : ndarray of float, shape (k, d)
    others : ndarray of float, shape (m, d)
        The other set, for a common centre and unit.
    work : Work
        Counts what is evaluated.
    """

    def __init__(self, rows: NDArray[np.float64], others: NDArray[np.float64], work: Work) -> None:
        self.rows = rows
        self.work = work
        self.n, self.d = rows.shape
        both = (rows[:: max(self.n // 1000, 1)], others[:: max(len(others) // 1000, 1)])
        self.centre = (both[0].mean(axis=0) + both[1].mean(axis=0)) / 2
        widest = max(-float(min(rows.min(), others.min())), float(max(rows.max(), others.max())))
        self.unit = 1 / (2 * widest) if widest > 0 else 1.0
        _, norms = self.prepare(both[1], np.float64)
        self.typical_norm = float(norms.mean())
        self._scan_type: type[np.floating[Any]] = np.float32
        self._kept: dict[tuple[int, str], NDArray[Any]] = {}
        self._bytes = 0

    def gamma(self, dtype: type[np.floating[Any]]) -> float:
        """Share of |q|² + |t|² by which the expansion may be wrong, one way."""
        return float(2 * (self.d + 12) * np.finfo(dtype).eps)

    def prepare(
        self, rows: NDArray[np.float64], dtype: type[np.floating[Any]]
    ) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Centred rows with a column of ones, shape (m, d + 1), and their squared norms."""
        if self.d <= _NARROW:  # column by column: loops over two or three columns are slow
            columns = np.empty((self.d + 1, len(rows)), dtype=dtype)
            for j in range(self.d):
                np.subtract(rows[:, j], self.centre[j], out=columns[j], casting="same_kind")
            columns[: self.d] *= dtype(self.unit)
            columns[self.d] = 1
            squares = np.einsum("ji,ji->i", columns[:-1], columns[:-1], dtype=np.float64)
            return columns.T, squares
        ready = np.empty((len(rows), self.d + 1), dtype=dtype)
        part = ready[:, : self.d]
        np.subtract(rows, self.centre, out=part, casting="same_kind")
        part *= dtype(self.unit)
        ready[:, self.d] = 1
        return ready, np.einsum("ij,ij->i", part, part, dtype=np.float64)

    def block(self, rows: NDArray[np.float64], dtype: type[np.floating[Any]], sign: int) -> NDArray[Any]:
        """Rows as (−2t, |t|²(1 ± γ)), shape (k, d + 1): an upper (+1) or lower (−1) bound."""
        ready, norms = self.prepare(rows, dtype)
        ready[:, : self.d] *= dtype(-2)
        ready[:, self.d] = norms * (1 + sign * self.gamma(dtype))
        return ready

    def _scan_block(self, start: int, dtype: type[np.floating[Any]]) -> NDArray[Any]:
        key = (start, dtype.__name__)
        if key not in self._kept:
            made = self.block(self.rows[start : start + _SCAN], dtype, -1)
            if self._bytes + made.nbytes > _CACHE:
                return made
            self._bytes += made.nbytes
            self._kept[key] = made
        return self._kept[key]

    def scan(
        self, queries: NDArray[np.float64], at_least: float = -np.inf
    ) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """Exact squared distance of every query to its nearest row, and that row.

        Parameters
        ----------
        queries : ndarray, shape (m, d)
            A few hundred rows at most: the block m × 4096 is held in memory.
        at_least : float
            A query is left as soon as a row is found at this squared distance or nearer; its answer is
            then an upper bound, at most `at_least`.

        Returns
        -------
        squared : ndarray of float, shape (m,)
        nearest : ndarray of int, shape (m,)
        """
        dtype = self._scan_type
        ready, norms = self.prepare(queries, dtype)
        lowered = norms * (1 - self.gamma(dtype))
        seen = refined = 0
        best = np.full(len(queries), np.inf)
        nearest = np.zeros(len(queries), dtype=np.intp)
        active = np.arange(len(queries))
        for start in range(0, self.n, _SCAN):
            lower = ready[active] @ self._scan_block(start, dtype).T
            seen += lower.size
            j = lower.argmin(axis=1)
            bound = lower[np.arange(active.size), j] + lowered[active]
            self._decide(queries, active, start + j, bound / self.unit**2, best, nearest)
            close = lower < (best[active] * (self.unit**2 * (1 - 10 * TIE)) - lowered[active])[:, None]
            close[np.arange(active.size), j] = False
            doubts = int(np.count_nonzero(close))
            if doubts:
                self._refine(queries, active, start, close, best, nearest)
                refined += doubts
            active = active[best[active] > at_least]
            if not active.size:
                break
        self.work.distances += seen + refined
        if refined > _DOUBTFUL * seen:  # ties, or rows so near that single precision cannot tell them apart
            self._scan_type = np.float64
        return best, nearest

    def _decide(
        self,
        queries: NDArray[np.float64],
        active: NDArray[np.intp],
        candidates: NDArray[np.intp],
        bound: NDArray[np.float64],
        best: NDArray[np.float64],
        nearest: NDArray[np.intp],
    ) -> None:
        """Take the candidate of every active query if it is nearer than the best so far."""
        maybe = np.flatnonzero(bound < best[active])
        exact = squared_pairs(queries, active[maybe], self.rows, candidates[maybe])
        better = exact < best[active[maybe]]
        best[active[maybe[better]]] = exact[better]
        nearest[active[maybe[better]]] = candidates[maybe[better]]

    def _refine(
        self,
        queries: NDArray[np.float64],
        active: NDArray[np.intp],
        start: int,
        close: NDArray[np.bool_],
        best: NDArray[np.float64],
        nearest: NDArray[np.intp],
    ) -> None:
        """Evaluate directly every pair that rounding leaves in doubt."""
        doubts = close.sum(axis=1)
        for i in np.flatnonzero(doubts):
            if doubts[i] > _MANY * close.shape[1]:
                candidates = np.arange(start, start + close.shape[1])
            else:
                candidates = start + np.flatnonzero(close[i])
            difference = self.rows[candidates] - queries[active[i]]
            exact = np.einsum("ij,ij->i", difference, difference)
            k = int(exact.argmin())
            if exact[k] < best[active[i]]:
                best[active[i]], nearest[active[i]] = exact[k], candidates[k]
