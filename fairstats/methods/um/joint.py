"""Draws of several algorithms together: paired through the rows they share, or independent.

Paired: each group has a table of label × ŷ_1 × … × ŷ_m (8 cells for two algorithms) with one Dirichlet, whose
margins over (y, ŷ_k) have the prior of a single algorithm. Independent draws overstate the variance of a
difference between algorithms that predict the same rows.

After cross-validation the effective counts of two algorithms may shrink by different factors. Then the table
takes the smallest, and what an algorithm has beyond it is added as independent gamma variables before
normalising: a sum of independent gammas is a gamma, so that every algorithm keeps exactly its own posterior.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fairstats.ground.errors import InputError
from fairstats.ground.serialise import serialisable
from fairstats.methods.um.draws import DirichletSampler, gamma_table
from fairstats.methods.um.result import UmPosterior

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MOST_PAIRED", "JointDraws", "join"]

#: More algorithms than this make a table with too many cells to be paired.
MOST_PAIRED = 6


@serialisable
@dataclass(frozen=True, eq=False)
class JointDraws:
    """Several posteriors, and how their draws go together.

    Attributes
    ----------
    posteriors : tuple of UmPosterior
        One per algorithm.
    paired : bool
    reason : str
        Why they are paired, or not.
    n_draws : int
    entropy : int
        Seed of the draws.
    cells : ndarray of float, shape (G, 2^(m+1)), or None
        Counts by label and predictions of the m algorithms; index y·2^m + Σ_k ŷ_k·2^(m−1−k).
    """

    posteriors: tuple[UmPosterior, ...]
    paired: bool
    reason: str
    n_draws: int
    entropy: int
    cells: NDArray[np.float64] | None = None
    _parts: list[Any] = field(default_factory=list, init=False, repr=False)

    @property
    def first(self) -> UmPosterior:
        """The first posterior: groups, target and reference are the same in all."""
        return self.posteriors[0]

    def block(self, index: int, first: int, last: int) -> list[NDArray[np.float64]]:
        """Counts (last − first, G, 4) of every algorithm."""
        if self.cells is None:
            if not self._parts:
                self._parts.extend(_reseeded(p, self, k) for k, p in enumerate(self.posteriors))
            return [part._block(index, first, last) for part in self._parts]
        if self.uneven:
            return self._uneven_block(self.cells, index, last - first)
        sampler = self._paired_sampler(self.cells)
        table = sampler.block(index, last - first)
        m = len(self.posteriors)
        return [np.stack([table[..., c].sum(axis=-1) for c in _margin(m, k)], axis=-1) for k in range(m)]

    @property
    def uneven(self) -> bool:
        """Whether the effective counts of the algorithms differ in number."""
        return any(not _same_totals(p, self.first) for p in self.posteriors[1:])

    def _uneven_block(self, cells: NDArray[np.float64], index: int, size: int) -> list[NDArray[np.float64]]:
        rng = np.random.default_rng(np.random.SeedSequence(self.entropy, spawn_key=(index,)))
        m = len(self.posteriors)
        shared = gamma_table(paired_prior(self.first.prior, m) + cells, size, rng)
        found = []
        for k, posterior in enumerate(self.posteriors):
            margin = _margin(m, k)
            of_table = np.column_stack([cells[:, c].sum(axis=1) for c in margin])
            beyond = np.clip(posterior.counts.cells - of_table, 0.0, None)
            own = gamma_table(beyond, size, rng)
            for total, c in zip(own, margin, strict=True):
                total += shared[c].sum(axis=0)
            with np.errstate(divide="ignore", invalid="ignore"):
                own *= posterior.counts.sizes[:, None] / own.sum(axis=0)
            found.append(own.transpose(2, 1, 0))
        return found

    def _paired_sampler(self, cells: NDArray[np.float64]) -> DirichletSampler:
        alone = self.first.sampler
        prior = paired_prior(self.first.prior, len(self.posteriors))
        return DirichletSampler(prior + cells, alone.scale, self.entropy, alone.trials)


def _margin(m: int, k: int) -> list[list[int]]:
    """Cells of the joint table that make up tp, tn, fp, fn of algorithm k."""
    size = 1 << m
    found: list[list[int]] = [[], [], [], []]
    for cell in range(2 * size):
        y, predicted = cell // size, cell >> (m - 1 - k) & 1
        found[{(1, 1): 0, (0, 0): 1, (0, 1): 2, (1, 0): 3}[y, predicted]].append(cell)
    return found


def paired_prior(prior: NDArray[np.float64], m: int) -> NDArray[np.float64]:
    """Prior of the joint table, shape (G, 2^(m+1)), whose margins over (y, ŷ_k) are `prior`.

    Given y the predictions are a priori independent: α(y)·Π_k α(y, ŷ_k)/α(y), with α(y) the sum over ŷ; for a
    symmetric prior α this is α/2^(m−1) in every cell.
    """
    size = 1 << m
    joint = np.zeros((len(prior), 2 * size))
    cell_of = {(1, 1): 0, (0, 0): 1, (0, 1): 2, (1, 0): 3}
    for cell in range(2 * size):
        y = cell // size
        mass = prior[:, cell_of[y, 0]] + prior[:, cell_of[y, 1]]
        value = mass.copy()
        for k in range(m):
            part = prior[:, cell_of[y, cell >> (m - 1 - k) & 1]]
            value *= np.divide(part, mass, out=np.zeros_like(mass), where=mass > 0)
        joint[:, cell] = value
    return joint


def join(posteriors: Sequence[UmPosterior], *, paired: Any, draws: int | None, entropy: int) -> JointDraws:
    """Decide how the draws of several posteriors go together.

    Parameters
    ----------
    posteriors : sequence of UmPosterior
        Of the same groups and target.
    paired : {"auto", True, False}
        "auto" pairs where it can.
    draws : int or None
        None: as many as the first posterior has.
    entropy : int

    Raises
    ------
    InputError
        Different groups or targets; ``paired=True`` where that cannot be.
    """
    first = posteriors[0]
    for other in posteriors[1:]:
        if set(other.groups) != set(first.groups):
            raise InputError(
                "a, b",
                got=f"posteriors of the groups {list(first.groups)} and {list(other.groups)}",
                allowed="posteriors of the same groups",
                cure="pass groups= to um_posterior where one of them lacks a group",
            )
        if other.target != first.target:
            raise InputError(
                "a, b",
                got=f"targets {first.target!r} and {other.target!r}",
                allowed="posteriors of one target",
                cure="compute both with the same target=",
            )
    aligned = tuple(_in_order(p, first.groups) for p in posteriors)
    if not (isinstance(paired, bool) or paired == "auto"):
        raise InputError("paired", got=repr(paired), allowed="'auto', True or False", cure="paired='auto'")
    number = first.n_draws if draws is None else draws
    obstacle = "asked for" if paired is False else _obstacle(aligned)
    if paired is True and obstacle:
        raise InputError(
            "paired",
            got=f"True, but {obstacle}",
            allowed="True where the algorithms predicted the same rows",
            cure="compute the posteriors from rows (y_true, y_pred) in the same order, or paired=False",
        )
    if obstacle:
        return JointDraws(aligned, False, f"independent draws: {obstacle}", number, entropy)
    uneven = any(not _same_totals(p, aligned[0]) for p in aligned[1:])
    reason = "paired by row-wise predictions" + (
        ", up to the smaller effective counts of the two"
        if uneven and len(aligned) == 2
        else ", up to the smallest effective counts"
        if uneven
        else ""
    )
    return JointDraws(aligned, True, reason, number, entropy, _joint_cells(aligned))


def _in_order(posterior: UmPosterior, groups: tuple[str, ...]) -> UmPosterior:
    """The same posterior with its groups in another order."""
    if posterior.groups == groups:
        return posterior
    order = [posterior.groups.index(g) for g in groups]
    counts = posterior.counts
    moved = replace(
        posterior,
        counts=replace(counts, groups=groups, cells=counts.cells[order], sizes=counts.sizes[order]),
        prior=posterior.prior[order],
        stored=None if posterior.stored is None else posterior.stored[:, order],
        cross_validation=None,
    )
    rows = posterior._rows
    if rows is not None:
        position = np.argsort(order)
        object.__setattr__(
            moved, "_rows", replace(rows, group=position[np.asarray(rows.group, dtype=np.intp)])
        )
    return moved


def _obstacle(posteriors: tuple[UmPosterior, ...]) -> str:
    """Why the draws cannot be paired; empty where they can."""
    first = posteriors[0]
    if len(posteriors) > MOST_PAIRED:
        return f"more than {MOST_PAIRED} algorithms"
    if any(p._rows is None for p in posteriors):
        return "row-wise predictions are not there for all"
    if any(p.engine != "exact" for p in posteriors):
        return "a sampler's draws cannot be paired"
    base = first._rows
    for other in posteriors[1:]:
        rows = other._rows
        if rows is None or base is None:
            return "row-wise predictions are not there for all"
        if not (np.array_equal(rows.y_true, base.y_true) and np.array_equal(rows.group, base.group)):
            return "the rows differ (labels or groups)"
        if not np.array_equal(other.prior, first.prior):
            return "the priors differ"
        if first.target == "predictive" and not _same_totals(other, first):
            return "the next test sets of the algorithms have different effective sizes"
    return ""


def _same_totals(posterior: UmPosterior, other: UmPosterior) -> bool:
    return np.allclose(posterior.counts.totals, other.counts.totals, rtol=1e-9)


def _joint_cells(posteriors: tuple[UmPosterior, ...]) -> NDArray[np.float64]:
    """Counts by label and all predictions, scaled to the least effective totals."""
    m = len(posteriors)
    rows = [p._rows for p in posteriors if p._rows is not None]
    code = rows[0].y_true.astype(np.int64)
    for r in rows:
        code = 2 * code + r.y_pred
    n_groups, size = len(posteriors[0].groups), 1 << (m + 1)
    flat = rows[0].group.astype(np.int64) * size + code
    cells = np.bincount(flat, minlength=n_groups * size).reshape(n_groups, size).astype(np.float64)
    whole = cells.sum(axis=1)
    least = np.min([p.counts.totals for p in posteriors], axis=0)
    factor = np.divide(least, whole, out=np.ones(n_groups), where=whole > 0)
    return np.asarray(cells * factor[:, None])


def _reseeded(posterior: UmPosterior, joint: JointDraws, k: int) -> UmPosterior:
    """The posterior with draws of its own: two posteriors of one seed would move together."""
    seed = int(np.random.SeedSequence(joint.entropy, spawn_key=(k, 7)).generate_state(1, np.uint64)[0]) >> 2
    stored = posterior.stored
    if stored is not None:
        order = np.random.default_rng(seed)
        stored = stored[
            order.permutation(len(stored))[: joint.n_draws]
            if joint.n_draws <= len(stored)
            else order.integers(len(stored), size=joint.n_draws)
        ]
    return replace(posterior, entropy=seed, n_draws=joint.n_draws, stored=stored)
