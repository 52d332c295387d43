"""Draws of several algorithms together: paired through the rows they share, or independent.

Paired: each group has a table of label × ŷ_1 × … × ŷ_m (8 cells for two algorithms) with one Dirichlet, whose margins
over (y, ŷ_k) have the prior of a single algorithm. Independent draws overstate the variance of a difference.

Where effective counts shrink by different factors, the table takes the smallest, and what an algorithm has beyond it is
added as independent gamma variables before normalising: so every algorithm keeps exactly its own posterior.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats, check_choice
from fairstats.ground.errors import DataWarning, InputError, caution
from fairstats.ground.serialise import serialisable
from fairstats.methods.um.counting import Rows, cell_of
from fairstats.methods.um.draws import PosteriorDraws, evaluate, gamma_table
from fairstats.methods.um.metrics import Objectives
from fairstats.methods.um.result import UmPosterior

#: More algorithms, or cells of their joint table, than these are too many to be paired.
MOST_PAIRED, _MOST_CELLS = 6, 1_000


@serialisable(eq=False)
class JointDraws:
    """Several posteriors, one per algorithm, and how their draws go together.

    `reason` says why they are paired, or not; `entropy` seeds the draws; `cells`, shape (G, J^(m+1)) or None, holds
    counts by label and predictions of the m algorithms, at index y·J^m + Σ_k ŷ_k·J^(m−1−k); J = 2 for two labels.
    """

    posteriors: tuple[UmPosterior, ...]
    paired: bool
    reason: str
    n_draws: int
    entropy: int
    cells: NDArray[np.float64] | None = None

    @property
    def first(self) -> UmPosterior:
        """The first posterior: groups, target and reference are the same in all."""
        return self.posteriors[0]

    @property
    def about(self) -> dict[str, Any]:
        """What every row of a table says: rows evaluated, and how the draws go together."""
        return {"n": self.first.counts.n, "method": "paired" if self.paired else "independent"}

    @property
    def n_different(self) -> float | None:
        """Rows (effective ones) that the algorithms predict differently; None where it is not known."""
        if self.cells is None:
            return None
        _, *predicted = np.unravel_index(np.arange(self.cells.shape[1]), self._shape)
        different = np.any(np.array(predicted) != predicted[0], axis=0)
        return float(self.cells[:, different].sum())

    @property
    def note(self) -> str:
        """The reason as a sentence, and who speaks where no row is predicted differently."""
        reason = self.reason[0].upper() + self.reason[1:] + "."
        if self.n_different == 0:
            reason += (
                " No row is predicted differently: probabilities of a difference are what the prior allows, and no "
                "evidence of one."
            )
        return reason

    @property
    def _shape(self) -> tuple[int, ...]:
        """Of the joint table of one group: labels × predictions of each algorithm."""
        return (len(self.first.classes) or 2,) * (len(self.posteriors) + 1)

    @property
    def uneven(self) -> bool:
        """Whether the effective counts of the algorithms differ in number."""
        return _uneven(self.posteriors)

    @cached_property
    def _apart(self) -> list[PosteriorDraws]:
        """The posteriors with draws of their own: two posteriors of one seed would move together."""
        apart: list[PosteriorDraws] = []
        for k, posterior in enumerate(self.posteriors):
            stream = np.random.SeedSequence(self.entropy, spawn_key=(k, 7))
            seed = int(stream.generate_state(1, np.uint64)[0]) >> 2
            stored, order = posterior.stored, np.random.default_rng(seed)
            if stored is not None and self.n_draws <= len(stored):
                stored = stored[order.permutation(len(stored))[: self.n_draws]]
            elif stored is not None:
                stored = stored[order.integers(len(stored), size=self.n_draws)]
            apart.append(replace(posterior, entropy=seed, n_draws=self.n_draws, stored=stored))
        return apart

    def _objectives(self, objectives: Objectives) -> Floats:
        """Draws of every objective of every algorithm, shape (n_draws, m, M)."""

        def every(counts: list[Floats], reference: int) -> Floats:
            values = [[function(c, reference) for function in objectives.functions] for c in counts]
            return np.moveaxis(np.array(values), -1, 0)

        return evaluate(self._block, self.n_draws, [every], self.first.reference_index)[0]

    def _block(self, index: int, first: int, last: int) -> list[Floats]:
        """Counts (last − first, G, 4) of every algorithm."""
        if self.cells is None:
            return [part._block(index, first, last) for part in self._apart]
        m, classes, size = len(self.posteriors), len(self.first.classes), last - first
        alpha, margins = paired_prior(self.first.prior, m, classes) + self.cells, _margins(m, classes)
        if not self.uneven:
            table = replace(self.first.dirichlet, alpha=alpha, entropy=self.entropy)._block(index, size)
            return [
                part._refitted(np.stack([table[..., c].sum(axis=-1) for c in margin], axis=-1), index)
                for part, margin in zip(self._apart, margins, strict=True)
            ]
        rng = np.random.default_rng(np.random.SeedSequence(self.entropy, spawn_key=(index,)))
        shared = gamma_table(alpha, size, rng)
        found = []
        for posterior, margin in zip(self.posteriors, margins, strict=True):
            of_table = np.column_stack([self.cells[:, c].sum(axis=1) for c in margin])
            own = gamma_table(np.clip(posterior.counts.totals - of_table, 0.0, None), size, rng)
            own += np.stack([shared[c].sum(axis=0) for c in margin])
            with np.errstate(divide="ignore", invalid="ignore"):
                own *= posterior.counts.group_sizes[:, None] / own.sum(axis=0)
            found.append(own.transpose(2, 1, 0))
        return found


def _own_cells(m: int, n_classes: int) -> NDArray[np.intp]:
    """The label and each algorithm's cell of every cell of the joint table, shape (1 + m, cells)."""
    base = n_classes or 2
    label, *predicted = np.unravel_index(np.arange(base ** (m + 1)), (base,) * (m + 1))
    return np.stack([label, *(cell_of(label, hat, n_classes) for hat in predicted)])


def _margins(m: int, n_classes: int) -> list[list[NDArray[np.intp]]]:
    """Of every algorithm: the cells of the joint table that make up each of its own."""
    own = _own_cells(m, n_classes)[1:]
    return [[np.flatnonzero(row == cell) for cell in range(n_classes**2 or 4)] for row in own]


def paired_prior(prior: Floats, m: int, n_classes: int = 0) -> Floats:
    """Prior of the joint table, shape (G, J^(m+1)), whose margins over (y, ŷ_k) are `prior`.

    Given y predictions are a priori independent: α(y)·Π_k α(y, ŷ_k)/α(y), of a symmetric prior α/J^(m−1) in each cell.
    """
    label, *own = _own_cells(m, n_classes)
    base = n_classes or 2
    of_label = [cell_of(y, np.arange(base), n_classes) for y in range(base)]
    mass = np.stack([prior[:, np.sort(cells)].sum(axis=1) for cells in of_label], axis=1)[:, label]
    joint = mass.copy()
    for cells in own:
        joint *= np.divide(prior[:, cells], mass, out=np.zeros_like(mass), where=mass > 0)
    return joint


def join(
    posteriors: Sequence[UmPosterior], *, paired: Any, draws: int | None, entropy: int, cells: Floats | None = None
) -> JointDraws:
    """Decide how draws of posteriors of the same groups and target go together; `cells`: a table already counted."""
    first = posteriors[0]
    for other, what in product(posteriors[1:], ("groups", "classes", "target")):
        own, theirs = (getattr(p, what) if what != "groups" else sorted(p.groups) for p in (first, other))
        if own != theirs:
            got = f"posteriors with the {what} {own} and {theirs}"
            allowed = "posteriors of the same groups, classes and target"
            raise InputError("a, b", got=got, allowed=allowed, cure=f"compute both with the same {what}=")
    check_choice("paired", paired, ("auto", True, False))
    aligned = tuple(_in_order(p, first.groups) for p in posteriors)
    number = first.n_draws if draws is None else draws
    anew = "; the spread between training sets is drawn for each algorithm apart, which overstates that of Δ"
    anew = anew if first.target == "algorithm" else ""
    obstacle = "asked for" if not paired else "" if cells is not None else _obstacle(aligned)
    if obstacle and paired and paired != "auto":
        allowed = "True where the algorithms predicted the same rows"
        cure = "compute the posteriors from rows (y_true, y_pred) in the same order, or paired=False"
        raise InputError("paired", got=f"True, but {obstacle}", allowed=allowed, cure=cure)
    if obstacle:
        return JointDraws(aligned, False, f"independent draws: {obstacle}{anew}", number, entropy)
    folds = [r.fold for r in _rows_of(aligned)]
    if any(not _same_partition(folds[0], fold) for fold in folds[1:]):
        text = "the posteriors are of different folds (or one of none), and part of Δ is the partition. Give all the"
        caution(f"{text} same cv= and rng=, or call um_compare_estimators.", DataWarning)
    reason = "paired by row-wise predictions"
    if _uneven(aligned):
        least = "smaller effective counts of the two" if len(aligned) == 2 else "smallest effective counts"
        reason += f", up to the {least}"
    table = _joint_cells(aligned) if cells is None else cells
    return JointDraws(aligned, True, reason + anew, number, entropy, table)


def _in_order(posterior: UmPosterior, groups: tuple[str, ...]) -> UmPosterior:
    """The same posterior with its groups in another order."""
    if posterior.groups == groups:
        return posterior
    order = [posterior.groups.index(g) for g in groups]
    counts = posterior.counts
    moved = replace(
        posterior, prior=posterior.prior[order], cross_validation=None,
        counts=replace(counts, groups=groups, totals=counts.totals[order], rows=counts.rows[order]),
        stored=None if posterior.stored is None else posterior.stored[:, order],
    )  # fmt: skip
    rows = posterior._rows
    return moved._holding(rows and replace(rows, group=np.argsort(order)[rows.group.astype(np.intp)]))


def _obstacle(posteriors: tuple[UmPosterior, ...]) -> str:
    """Why the draws cannot be paired; empty where they can."""
    first = posteriors[0]
    if len(posteriors) > MOST_PAIRED:
        return f"more than {MOST_PAIRED} algorithms"
    if len(first.classes) ** (len(posteriors) + 1) > _MOST_CELLS:
        return f"{len(first.classes)} classes make a joint table of more than {_MOST_CELLS:,} cells"
    rows = _rows_of(posteriors)
    if len(rows) < len(posteriors):
        return "row-wise predictions are not there for all"
    if any(p.stored is not None for p in posteriors):
        return "a sampler's draws cannot be paired"
    for other, own in zip(posteriors[1:], rows[1:], strict=True):
        if not (np.array_equal(own.y_true, rows[0].y_true) and np.array_equal(own.group, rows[0].group)):
            return "the rows differ (labels or groups)"
        if not np.array_equal(other.prior, first.prior):
            return "the priors differ"
    if first.target == "predictive" and _uneven(posteriors):
        return "the next test sets of the algorithms have different effective sizes"
    return ""


def _rows_of(posteriors: tuple[UmPosterior, ...]) -> list[Rows]:
    return [p._rows for p in posteriors if p._rows is not None]


def _same_partition(a: NDArray[Any] | None, b: NDArray[Any] | None) -> bool:
    """Whether the same rows are held out together, whatever the numbers of the folds."""
    if a is None or b is None:
        return a is b
    return len({len(set(part)) for part in (zip(a, b, strict=True), a, b)}) == 1


def _totals(posteriors: tuple[UmPosterior, ...]) -> Floats:
    return np.array([p.counts.totals.sum(axis=1) for p in posteriors])


def _uneven(posteriors: tuple[UmPosterior, ...]) -> bool:
    totals = _totals(posteriors)
    return not np.allclose(totals, totals[0], rtol=1e-9)


def _joint_cells(posteriors: tuple[UmPosterior, ...]) -> Floats:
    """Counts by label and all predictions, scaled to the least effective totals."""
    rows, base = _rows_of(posteriors), len(posteriors[0].classes) or 2
    code = base * rows[0].group.astype(np.int64) + rows[0].y_true
    for r in rows:
        code = base * code + r.y_pred
    n_groups, size = len(posteriors[0].groups), base ** (len(rows) + 1)
    cells = np.bincount(code, minlength=n_groups * size).reshape(n_groups, size)
    whole, least = cells.sum(axis=1), _totals(posteriors).min(axis=0)
    return np.asarray(cells * np.divide(least, whole, out=np.ones(n_groups), where=whole > 0)[:, None])
