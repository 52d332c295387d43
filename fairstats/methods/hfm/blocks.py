"""Squared distances by blocks: BLAS finds the candidates, direct differences decide.

|q − t|² = |q|² + |t|² − 2 q·t is fast and, where rows are close, wrong by rounding. Here it only *bounds* distances
(``γ`` is the rounding that d + 1 products can gather), and every number that is returned is a sum
of squared differences in double precision. All of it runs under one thread of BLAS: the blocks are
made to fit the cache of one core, and further threads took four to five times as much of the
processor's time.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from fairstats.ground.checks import Floats
from fairstats.methods.hfm.rows import Indices, portions

#: Two squared distances that differ by less than this share are one.
TIE = 1e-12
#: Targets of one block of a scan; cells of a part of it, and the fewest targets of one.
_SCAN_TARGETS = 4096
_SCAN_CELLS = 1 << 19
_NARROWEST = 256
#: In no more dimensions than this, rows are prepared column by column.
_FEW_DIMENSIONS = 6
#: Bytes of prepared blocks that are kept.
_CACHE_BYTES = 96 * 2**20
#: Share of doubtful pairs above which scans go on in double precision.
_DOUBTFUL_SHARE = 0.002
_NUMBERS_AT_ONCE = 1 << 18

_LOCK = threading.Lock()
_INSIDE: list[Any] = []


@cache
def _blas_controller() -> ThreadpoolController:
    """The BLAS libraries of the process, looked up once: that takes milliseconds."""
    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Run BLAS in one thread; several Python threads may be inside, the last one out restores the
    number.
    """
    with _LOCK:
        if not _INSIDE:
            _INSIDE.append(_blas_controller().limit(limits=1, user_api="blas"))
        _INSIDE.append(None)
    try:
        yield
    finally:
        with _LOCK:
            _INSIDE.pop()
            if len(_INSIDE) == 1:
                _INSIDE.pop().restore_original_limits()


class Work:
    """Distances that were evaluated, queries put to a tree, and rows put to SciPy's loop."""

    def __init__(self) -> None:
        self.distances = self.tree_queries = self.loop_rows = 0


def squared_pairs(a: Floats, rows_a: NDArray[Any], b: Floats, rows_b: NDArray[Any]) -> Floats:
    """|a[rows_a[i]] − b[rows_b[i]]|² by direct differences, shape (k,)."""
    squared_distances = np.empty(rows_a.size)
    for portion in portions(rows_a.size, max(_NUMBERS_AT_ONCE // a.shape[1], 1)):
        difference = a[rows_a[portion]] - b[rows_b[portion]]
        np.einsum("ij,ij->i", difference, difference, out=squared_distances[portion])
    return squared_distances


class Targets:
    """The rows of one set, (k, d), ready to be compared with `others`, in a common unit.

    `work` counts what is done.
    """

    def __init__(self, rows: Floats, others: Floats, work: Work) -> None:
        self.rows = rows
        self.work = work
        self.n, self.d = rows.shape
        self._others = others
        self._scan_type: type[np.floating[Any]] = np.float32
        self._n_blocks = -(-self.n // _SCAN_TARGETS)
        self._kept: dict[tuple[int, str], NDArray[Any]] = {}
        self._bytes = 0

    @cached_property
    def centre(self) -> Floats:
        """The middle of both sets, about, shape (d,)."""
        middles = []
        for rows in (self.rows, self._others):
            middles.append(rows[:: max(len(rows) // 1000, 1)].mean(axis=0))
        return np.asarray((middles[0] + middles[1]) / 2)

    @cached_property
    def unit(self) -> float:
        """What prepared rows are multiplied with."""
        lowest = min(self.rows.min(), self._others.min())
        highest = max(self.rows.max(), self._others.max())
        widest = max(-float(lowest), float(highest))
        return 1 / (2 * widest) if widest > 0 else 1.0

    @cached_property
    def typical_norm(self) -> float:
        """Mean squared norm of prepared rows of the others."""
        some = self._others[:: max(len(self._others) // 1000, 1)]
        return float(self.prepare(some, np.float64)[1].mean())

    def gamma(self, dtype: type[np.floating[Any]]) -> float:
        """Share of |q|² + |t|² by which the expansion may be wrong, one way."""
        return float(2 * (self.d + 12) * np.finfo(dtype).eps)

    def prepare(
        self,
        rows: Floats,
        dtype: type[np.floating[Any]],
        centre: Floats | None = None,
    ) -> tuple[NDArray[Any], Floats]:
        """Centred rows with a column of ones, shape (m, d + 1), and their squared norms.

        `centre`: of all rows (d,), or of each (m, d); default the middle of both sets.
        """
        if centre is None:
            centre = self.centre
        if self.d <= _FEW_DIMENSIONS:  # column by column: loops over two or three columns are slow
            columns = np.empty((self.d + 1, len(rows)), dtype=dtype)
            for dimension in range(self.d):
                np.subtract(
                    rows[:, dimension],
                    centre[..., dimension],
                    out=columns[dimension],
                    casting="same_kind",
                )
            columns[: self.d] *= dtype(self.unit)
            columns[self.d] = 1
            return columns.T, np.einsum("ji,ji->i", columns[:-1], columns[:-1], dtype=np.float64)
        prepared = np.empty((len(rows), self.d + 1), dtype=dtype)
        centred = prepared[:, : self.d]
        np.subtract(rows, centre, out=centred, casting="same_kind")
        centred *= dtype(self.unit)
        prepared[:, self.d] = 1
        return prepared, np.einsum("ij,ij->i", centred, centred, dtype=np.float64)

    def block(
        self,
        rows: Floats,
        dtype: type[np.floating[Any]],
        sign: int,
        centre: Floats | None = None,
    ) -> NDArray[Any]:
        """Rows as (−2t, |t|²(1 ± γ)), shape (k, d + 1): an upper (+1) or lower (−1) bound."""
        prepared, squared_norms = self.prepare(rows, dtype, centre)
        prepared[:, : self.d] *= dtype(-2)
        prepared[:, self.d] = squared_norms * (1 + sign * self.gamma(dtype))
        return prepared

    def _scan_block(self, block: int, dtype: type[np.floating[Any]]) -> NDArray[Any]:
        """Every so many-th row, so that whatever order the rows have, each block is like the
        whole.
        """
        block_key = (block, dtype.__name__)
        if block_key not in self._kept:
            prepared_block = self.block(self.rows[block :: self._n_blocks], dtype, -1)
            if self._bytes + prepared_block.nbytes > _CACHE_BYTES:
                return prepared_block
            self._bytes += prepared_block.nbytes
            self._kept[block_key] = prepared_block
        return self._kept[block_key]

    def scan(self, queries: Floats, at_least: float = -np.inf) -> tuple[Floats, Indices]:
        """Exact squared distance of every query to its nearest row, and that row.

        A query is left as soon as a row is found at the squared distance `at_least` or nearer; its
        answer is then an upper bound, and not above that.
        """
        dtype = self._scan_type
        prepared, squared_norms = self.prepare(queries, dtype)
        lowered = squared_norms * (1 - self.gamma(dtype))
        n_seen = n_refined = 0
        best_squared = np.full(len(queries), np.inf)
        nearest = np.zeros(len(queries), dtype=np.intp)
        active = np.arange(len(queries))

        def take_nearer(rows: Indices, candidates: Indices) -> None:
            exact_squared = squared_pairs(queries, rows, self.rows, candidates)
            writing_order = np.argsort(exact_squared, kind="stable")[
                ::-1
            ]  # of several of one row the last written stays
            writing_order = writing_order[
                exact_squared[writing_order] < best_squared[rows[writing_order]]
            ]
            best_squared[rows[writing_order]] = exact_squared[writing_order]
            nearest[rows[writing_order]] = candidates[writing_order]

        for block_number in range(self._n_blocks):
            prepared_block = self._scan_block(block_number, dtype)
            first_target = 0
            while first_target < len(prepared_block) and active.size:
                targets_part = prepared_block[
                    first_target : first_target + max(_SCAN_CELLS // active.size, _NARROWEST)
                ]
                places = block_number + self._n_blocks * np.arange(
                    first_target, first_target + len(targets_part)
                )
                first_target += len(targets_part)
                lower_bounds = prepared[active] @ targets_part.T
                n_seen += lower_bounds.size
                best_columns = lower_bounds.argmin(axis=1)
                row_bounds = (
                    lower_bounds[np.arange(active.size), best_columns] + lowered[active]
                ) / self.unit**2
                maybe_nearer = np.flatnonzero(row_bounds < best_squared[active])
                take_nearer(active[maybe_nearer], places[best_columns[maybe_nearer]])
                still_active = best_squared[active] > at_least
                active = active[still_active]
                best_columns = best_columns[still_active]
                lower_bounds = lower_bounds[still_active]
                # pairs that rounding leaves in doubt
                in_doubt = (
                    lower_bounds
                    < (best_squared[active] * (self.unit**2 * (1 - 10 * TIE)) - lowered[active])[
                        :, None
                    ]
                )
                in_doubt[np.arange(active.size), best_columns] = False
                doubtful_rows, doubtful_columns = np.divmod(
                    np.flatnonzero(in_doubt), len(targets_part)
                )  # ten times as fast as nonzero of a table
                if doubtful_rows.size:
                    take_nearer(active[doubtful_rows], places[doubtful_columns])
                n_refined += doubtful_rows.size
                active = active[best_squared[active] > at_least]
        self.work.distances += n_seen + n_refined
        if (
            n_refined > _DOUBTFUL_SHARE * n_seen
        ):  # ties, or rows so near that single precision cannot tell them apart
            self._scan_type = np.float64
        return best_squared, nearest
