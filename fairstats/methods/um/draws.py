"""Conjugate draws: Dirichlet posteriors of cell probabilities, in blocks, alike for any number of threads.

Block i of a run is drawn by a generator of its own, seeded by (entropy, i). A block is laid out cell by
cell and group by group, so that every operation of a metric runs over contiguous draws.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["BLOCK", "DirichletSampler", "block_bounds", "gamma_table", "in_blocks", "multinomial_counts"]

#: Draws per block.
BLOCK = 1 << 13
_Answer = TypeVar("_Answer")


def block_bounds(draws: int) -> list[tuple[int, int]]:
    """First and last (excluded) draw of each block."""
    return [(start, min(start + BLOCK, draws)) for start in range(0, draws, BLOCK)]


@dataclass(frozen=True, eq=False)
class DirichletSampler:
    """Draws of cell probabilities, one Dirichlet per group, or of counts given them.

    Attributes
    ----------
    alpha : ndarray of float, shape (G, c)
        Prior plus counts; a cell with 0 has probability 0.
    scale : ndarray of float, shape (G,)
        What a draw of group g is multiplied by: its size for probabilities.
    entropy : int
        Seed of the run.
    trials : ndarray of int, shape (G,), or None
        Size of the next test set; None stops at the probabilities.
    """

    alpha: NDArray[np.float64]
    scale: NDArray[np.float64]
    entropy: int
    trials: NDArray[np.int64] | None = None

    def block(self, index: int, size: int) -> NDArray[np.float64]:
        """Draws of block `index`, shape (size, G, c)."""
        rng = np.random.default_rng(np.random.SeedSequence(self.entropy, spawn_key=(index,)))
        cells = gamma_table(self.alpha, size, rng)
        total = cells.sum(axis=0)
        if self.trials is None:
            with np.errstate(divide="ignore", invalid="ignore"):
                cells *= self.scale[:, None] / total
        else:
            cells = multinomial_counts(cells, total, self.trials, rng) * self.scale[:, None]
        return cells.transpose(2, 1, 0)


def gamma_table(alpha: NDArray[np.float64], size: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Independent gamma variables, (c, G, size), with shapes `alpha`, (G, c): a Dirichlet once normalised."""
    n_groups, n_cells = alpha.shape
    cells = np.empty((n_cells, n_groups, size))
    for g in range(n_groups):
        for c in range(n_cells):
            rng.standard_gamma(alpha[g, c], out=cells[c, g])
    return cells


def multinomial_counts(
    cells: NDArray[np.float64],
    total: NDArray[np.float64],
    trials: NDArray[np.int64],
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Counts of shape (c, G, n) given unnormalised cell probabilities, by conditional binomials."""
    left_mass = total.copy()
    left = np.broadcast_to(trials[:, None], total.shape).copy()
    counts = np.empty_like(cells)
    for c in range(cells.shape[0] - 1):
        share = np.divide(cells[c], left_mass, out=np.zeros_like(total), where=left_mass > 0)
        drawn = rng.binomial(left, np.clip(share, 0.0, 1.0))
        counts[c] = drawn
        left -= drawn
        left_mass -= cells[c]
    counts[-1] = left
    return counts


def in_blocks(
    draws: int, work: Callable[[int, int, int], _Answer], n_jobs: int | None = None
) -> list[_Answer]:
    """Answers of ``work(index, first, last)`` for every block, in order, in threads where there are many.

    Parameters
    ----------
    draws : int
    work : callable
    n_jobs : int, optional
        Threads; default as many as processors. The answers do not depend on it.
    """
    bounds = block_bounds(draws)
    workers = min(n_jobs or os.cpu_count() or 1, len(bounds))
    if workers < 2 or len(bounds) < 8:
        return [work(i, *ends) for i, ends in enumerate(bounds)]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(lambda item: work(item[0], *item[1]), enumerate(bounds)))
