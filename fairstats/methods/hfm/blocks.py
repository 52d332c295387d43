"""Squared distances by blocks: BLAS finds the candidates, direct differences decide.

|q − t|² = |q|² + |t|² − 2 q·t is fast and, where rows are close, wrong by rounding. Here it only *bounds* distances
(``γ`` is the rounding that d + 1 products can gather), and every number that is returned is a sum of squared
differences in double precision. All of it runs under one thread of BLAS: the blocks are made to fit the cache of one
core, and further threads took four to five times as much of the processor's time.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from fairstats.ground.checks import Floats
from fairstats.methods.hfm.rows import Indices, portions

#: Two squared distances that differ by less than this share are one.
TIE = 1e-12
#: Targets of one block of a scan; cells of a part of it, and the fewest targets of one.
_SCAN, _CELLS, _NARROWEST = 4096, 1 << 19, 256
#: In no more dimensions than this, rows are prepared column by column.
_NARROW = 6
#: Bytes of prepared blocks that are kept.
_CACHE = 96 * 2**20
#: Share of doubtful pairs above which scans go on in double precision.
_DOUBTFUL = 0.002
_CHUNK = 1 << 18

_LOCK = threading.Lock()
_INSIDE: list[Any] = []


@cache
def _controller() -> ThreadpoolController:
    """The BLAS libraries of the process, looked up once: that takes milliseconds."""
    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Run BLAS in one thread; several Python threads may be inside, the last one out restores the number."""
    with _LOCK:
        if not _INSIDE:
            _INSIDE.append(_controller().limit(limits=1, user_api="blas"))
        _INSIDE.append(None)
    try:
        yield
    finally:
        with _LOCK:
            _INSIDE.pop()
            if len(_INSIDE) == 1:
                _INSIDE.pop().restore_original_limits()


class Work:
    """Distances that were evaluated, and queries put to a tree."""

    def __init__(self) -> None:
        self.distances = self.tree_queries = 0


def squared_pairs(a: Floats, rows_a: NDArray[Any], b: Floats, rows_b: NDArray[Any]) -> Floats:
    """|a[rows_a[i]] − b[rows_b[i]]|² by direct differences, shape (k,)."""
    found = np.empty(rows_a.size)
    for part in portions(rows_a.size, max(_CHUNK // a.shape[1], 1)):
        difference = a[rows_a[part]] - b[rows_b[part]]
        np.einsum("ij,ij->i", difference, difference, out=found[part])
    return found


class Targets:
    """The rows of one set, (k, d), ready to be compared with `others`, in a common unit; `work` counts what is done."""

    def __init__(self, rows: Floats, others: Floats, work: Work) -> None:
        self.rows, self.work = rows, work
        self.n, self.d = rows.shape
        both = (rows[:: max(self.n // 1000, 1)], others[:: max(len(others) // 1000, 1)])
        self.centre = (both[0].mean(axis=0) + both[1].mean(axis=0)) / 2
        widest = max(-float(min(rows.min(), others.min())), float(max(rows.max(), others.max())))
        self.unit = 1 / (2 * widest) if widest > 0 else 1.0
        self.typical_norm = float(self.prepare(both[1], np.float64)[1].mean())
        self._scan_type: type[np.floating[Any]] = np.float32
        self._n_blocks = -(-self.n // _SCAN)
        self._kept: dict[tuple[int, str], NDArray[Any]] = {}
        self._bytes = 0

    def gamma(self, dtype: type[np.floating[Any]]) -> float:
        """Share of |q|² + |t|² by which the expansion may be wrong, one way."""
        return float(2 * (self.d + 12) * np.finfo(dtype).eps)

    def prepare(self, rows: Floats, dtype: type[np.floating[Any]]) -> tuple[NDArray[Any], Floats]:
        """Centred rows with a column of ones, shape (m, d + 1), and their squared norms."""
        if self.d <= _NARROW:  # column by column: loops over two or three columns are slow
            columns = np.empty((self.d + 1, len(rows)), dtype=dtype)
            for j in range(self.d):
                np.subtract(rows[:, j], self.centre[j], out=columns[j], casting="same_kind")
            columns[: self.d] *= dtype(self.unit)
            columns[self.d] = 1
            return columns.T, np.einsum("ji,ji->i", columns[:-1], columns[:-1], dtype=np.float64)
        ready = np.empty((len(rows), self.d + 1), dtype=dtype)
        part = ready[:, : self.d]
        np.subtract(rows, self.centre, out=part, casting="same_kind")
        part *= dtype(self.unit)
        ready[:, self.d] = 1
        return ready, np.einsum("ij,ij->i", part, part, dtype=np.float64)

    def block(self, rows: Floats, dtype: type[np.floating[Any]], sign: int) -> NDArray[Any]:
        """Rows as (−2t, |t|²(1 ± γ)), shape (k, d + 1): an upper (+1) or lower (−1) bound."""
        ready, norms = self.prepare(rows, dtype)
        ready[:, : self.d] *= dtype(-2)
        ready[:, self.d] = norms * (1 + sign * self.gamma(dtype))
        return ready

    def _scan_block(self, block: int, dtype: type[np.floating[Any]]) -> NDArray[Any]:
        """Every so many-th row, so that whatever order the rows have, each block is like the whole."""
        key = (block, dtype.__name__)
        if key not in self._kept:
            made = self.block(self.rows[block :: self._n_blocks], dtype, -1)
            if self._bytes + made.nbytes > _CACHE:
                return made
            self._bytes += made.nbytes
            self._kept[key] = made
        return self._kept[key]

    def scan(self, queries: Floats, at_least: float = -np.inf) -> tuple[Floats, Indices]:
        """Exact squared distance of every query to its nearest row, and that row.

        A query is left as soon as a row is found at the squared distance `at_least` or nearer; its answer is
        then an upper bound, and not above that.
        """
        dtype = self._scan_type
        ready, norms = self.prepare(queries, dtype)
        lowered = norms * (1 - self.gamma(dtype))
        seen = refined = 0
        best = np.full(len(queries), np.inf)
        nearest = np.zeros(len(queries), dtype=np.intp)
        active = np.arange(len(queries))

        def take_nearer(rows: Indices, candidates: Indices) -> None:
            exact = squared_pairs(queries, rows, self.rows, candidates)
            order = np.argsort(exact, kind="stable")[::-1]  # of several of one row the last written stays
            order = order[exact[order] < best[rows[order]]]
            best[rows[order]], nearest[rows[order]] = exact[order], candidates[order]

        for b in range(self._n_blocks):
            block, start = self._scan_block(b, dtype), 0
            while start < len(block) and active.size:
                part = block[start : start + max(_CELLS // active.size, _NARROWEST)]
                places = b + self._n_blocks * np.arange(start, start + len(part))
                start += len(part)
                lower = ready[active] @ part.T
                seen += lower.size
                j = lower.argmin(axis=1)
                bound = (lower[np.arange(active.size), j] + lowered[active]) / self.unit**2
                maybe = np.flatnonzero(bound < best[active])
                take_nearer(active[maybe], places[j[maybe]])
                left = best[active] > at_least
                active, j, lower = active[left], j[left], lower[left]
                # pairs that rounding leaves in doubt
                close = lower < (best[active] * (self.unit**2 * (1 - 10 * TIE)) - lowered[active])[:, None]
                close[np.arange(active.size), j] = False
                i, k = np.divmod(np.flatnonzero(close), len(part))  # ten times as fast as nonzero of a table
                if i.size:
                    take_nearer(active[i], places[k])
                refined += i.size
                active = active[best[active] > at_least]
        self.work.distances += seen + refined
        if refined > _DOUBTFUL * seen:  # ties, or rows so near that single precision cannot tell them apart
            self._scan_type = np.float64
        return best, nearest
