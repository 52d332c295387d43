"""Draws of several algorithms together: paired through the rows they share, or independent.

Paired: each group has a table of label × ŷ_1 × … × ŷ_m (8 cells for two algorithms) with one
Dirichlet, whose margins over (y, ŷ_k) have the prior of a single algorithm. Independent draws
overstate the variance of a difference.

Where effective counts shrink by different factors, the table takes the smallest, and what an
algorithm has beyond it is added as independent gamma variables before normalising: so every
algorithm keeps exactly its own posterior.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import combinations, product
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
MOST_PAIRED = 6
_MOST_CELLS = 1_000


@serialisable(eq=False)
class JointDraws:
    """Several posteriors, one per algorithm, and how their draws go together.

    `reason` says why they are paired, or not; `entropy` seeds the draws; `cells`, shape (G,
    J^(m+1)) or None, holds counts by label and predictions of the m algorithms, at index y·J^m +
    Σ_k ŷ_k·J^(m−1−k); J = 2 for two labels.
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
        """Rows (effective ones) that the algorithms predict differently.

        None where it is not known.
        """
        if self.cells is None:
            return None
        _, *predicted = np.unravel_index(np.arange(self.cells.shape[1]), self._shape)
        different = np.any(np.array(predicted) != predicted[0], axis=0)
        return float(self.cells[:, different].sum())

    @property
    def note(self) -> str:
        """The reason as a sentence."""
        return self.reason[0].upper() + self.reason[1:] + "."

    def _notes_about(self, names: Sequence[str]) -> list[str]:
        """The reason, and who speaks where algorithms of these names are not told apart by the
        data.
        """
        sentences = [self.note]
        same_rows = []
        same_counts = []
        for first_index, second_index in combinations(range(len(names)), 2):
            pair_words = f"{names[first_index]} and {names[second_index]}"
            if self._predict_alike(first_index, second_index):
                same_rows.append(pair_words)
            elif self.cells is None and _counted_alike(
                self.posteriors[first_index], self.posteriors[second_index]
            ):
                same_counts.append(pair_words)
        if same_rows:
            sentences.append(
                f"No row is predicted differently by {'; '.join(same_rows)}: probabilities of a"
                " difference are what the prior allows, and no evidence of one."
            )
        if same_counts:
            sentences.append(
                f"The counts are the same for {'; '.join(same_counts)}: nothing that was observed"
                " tells them apart, and probabilities of a difference are what the prior and"
                " independent draws allow."
            )
        return sentences

    def _predict_alike(self, i: int, j: int) -> bool:
        """Whether two of the algorithms are known to predict every row alike."""
        first_posterior = self.posteriors[i]
        second_posterior = self.posteriors[j]
        if self.cells is not None:
            _, *predicted = np.unravel_index(np.arange(self.cells.shape[1]), self._shape)
            return not self.cells[:, predicted[i] != predicted[j]].any()
        if first_posterior._rows is None or second_posterior._rows is None:
            return False
        column_pairs = (
            (
                getattr(first_posterior._rows, column_name),
                getattr(second_posterior._rows, column_name),
            )
            for column_name in ("y_true", "y_pred", "group")
        )
        return all(
            np.array_equal(first_column, second_column)
            for first_column, second_column in column_pairs
        )

    @property
    def _shape(self) -> tuple[int, ...]:
        """Of the joint table of one group: labels × predictions of each algorithm."""
        return (len(self.first.classes) or 2,) * (len(self.posteriors) + 1)

    @property
    def uneven(self) -> bool:
        """Whether the effective counts of the algorithms differ in number."""
        return _totals_differ(self.posteriors)

    @cached_property
    def _independent_posteriors(self) -> list[PosteriorDraws]:
        """The posteriors with draws of their own.

        Two posteriors of one seed would move together.
        """
        posteriors: list[PosteriorDraws] = []
        for position, posterior in enumerate(self.posteriors):
            stream = np.random.SeedSequence(self.entropy, spawn_key=(position, 7))
            own_seed = int(stream.generate_state(1, np.uint64)[0]) >> 2
            stored = posterior.stored
            generator = np.random.default_rng(own_seed)
            if stored is not None and self.n_draws <= len(stored):
                stored = stored[generator.permutation(len(stored))[: self.n_draws]]
            elif stored is not None:
                stored = stored[generator.integers(len(stored), size=self.n_draws)]
            posteriors.append(
                replace(posterior, entropy=own_seed, n_draws=self.n_draws, stored=stored)
            )
        return posteriors

    def _draw_objectives(self, objectives: Objectives) -> Floats:
        """Draws of every objective of every algorithm, shape (n_draws, m, M)."""

        def every(counts: list[Floats], reference: int) -> Floats:
            values = []
            for algorithm_counts in counts:
                values.append(
                    [function(algorithm_counts, reference) for function in objectives.functions]
                )
            return np.moveaxis(np.array(values), -1, 0)

        return evaluate(self._draw_block, self.n_draws, [every], self.first.reference_index)[0]

    def _draw_block(self, index: int, first: int, last: int) -> list[Floats]:
        """Counts (last − first, G, 4) of every algorithm."""
        if self.cells is None:
            result: list[Floats] = []
            for posterior_draws in self._independent_posteriors:
                result.append(posterior_draws._draw_block(index, first, last))
            return result
        n_algorithms = len(self.posteriors)
        classes = len(self.first.classes)
        n_draws = last - first
        joint_parameters = paired_prior(self.first.prior, n_algorithms, classes) + self.cells
        margins = _margins_of_algorithms(n_algorithms, classes)
        if not self.uneven:
            joint_table = replace(
                self.first.dirichlet, alpha=joint_parameters, entropy=self.entropy
            )._draw_block(index, n_draws)
            block: list[Floats] = []
            for posterior_draws, margin in zip(self._independent_posteriors, margins, strict=True):
                block.append(
                    posterior_draws._with_training_spread(
                        np.stack(
                            [
                                joint_table[..., cell_numbers].sum(axis=-1)
                                for cell_numbers in margin
                            ],
                            axis=-1,
                        ),
                        index,
                    )
                )
            return block
        generator = np.random.default_rng(np.random.SeedSequence(self.entropy, spawn_key=(index,)))
        shared = gamma_table(joint_parameters, n_draws, generator)
        algorithm_counts = []
        for posterior, margin in zip(self.posteriors, margins, strict=True):
            of_table = np.column_stack(
                [self.cells[:, cell_numbers].sum(axis=1) for cell_numbers in margin]
            )
            own_gammas = gamma_table(
                np.clip(posterior.counts.totals - of_table, 0.0, None), n_draws, generator
            )
            own_gammas += np.stack([shared[cell_numbers].sum(axis=0) for cell_numbers in margin])
            with np.errstate(divide="ignore", invalid="ignore"):
                own_gammas *= posterior.counts.group_sizes[:, None] / own_gammas.sum(axis=0)
            algorithm_counts.append(own_gammas.transpose(2, 1, 0))
        return algorithm_counts


def _own_cells(m: int, n_classes: int) -> NDArray[np.intp]:
    """The label and each algorithm's cell of every cell of the joint table, shape (1 + m,
    cells).
    """
    n_labels = n_classes or 2
    labels, *predicted = np.unravel_index(np.arange(n_labels ** (m + 1)), (n_labels,) * (m + 1))
    return np.stack(
        [labels, *(cell_of(labels, predictions, n_classes) for predictions in predicted)]
    )


def _margins_of_algorithms(m: int, n_classes: int) -> list[list[NDArray[np.intp]]]:
    """Of every algorithm: the cells of the joint table that make up each of its own."""
    own_cells = _own_cells(m, n_classes)[1:]
    margins: list[list[NDArray[np.intp]]] = []
    for cells_of_algorithm in own_cells:
        margins.append(
            [
                np.flatnonzero(cells_of_algorithm == cell_number)
                for cell_number in range(n_classes**2 or 4)
            ]
        )
    return margins


def paired_prior(prior: Floats, m: int, n_classes: int = 0) -> Floats:
    """Prior of the joint table, shape (G, J^(m+1)), whose margins over (y, ŷ_k) are `prior`.

    Given y predictions are a priori independent: α(y)·Π_k α(y, ŷ_k)/α(y), of a symmetric prior
    α/J^(m−1) in each cell.
    """
    labels, *own_cells = _own_cells(m, n_classes)
    n_labels = n_classes or 2
    of_label = []
    for label_code in range(n_labels):
        of_label.append(cell_of(label_code, np.arange(n_labels), n_classes))
    label_mass = np.stack(
        [prior[:, np.sort(cell_numbers)].sum(axis=1) for cell_numbers in of_label], axis=1
    )[:, labels]
    joint_prior = label_mass.copy()
    for cell_numbers in own_cells:
        joint_prior *= np.divide(
            prior[:, cell_numbers], label_mass, out=np.zeros_like(label_mass), where=label_mass > 0
        )
    return joint_prior


def join(
    posteriors: Sequence[UmPosterior],
    *,
    paired: Any,
    draws: int | None,
    entropy: int,
    cells: Floats | None = None,
) -> JointDraws:
    """Decide how draws of posteriors of the same groups and target go together; `cells`: a table
    already counted.
    """
    first_posterior = posteriors[0]
    for other_posterior, field_name in product(posteriors[1:], ("groups", "classes", "target")):
        own_value, other_value = (
            getattr(posterior, field_name) if field_name != "groups" else sorted(posterior.groups)
            for posterior in (first_posterior, other_posterior)
        )
        if own_value != other_value:
            received = f"posteriors with the {field_name} {own_value} and {other_value}"
            allowed = "posteriors of the same groups, classes and target"
            raise InputError(
                "a, b",
                got=received,
                allowed=allowed,
                cure=f"compute both with the same {field_name}=",
            )
    check_choice("paired", paired, ("auto", True, False))
    aligned = tuple(_in_order(posterior, first_posterior.groups) for posterior in posteriors)
    if draws is None:
        n_draws = first_posterior.n_draws
    else:
        n_draws = draws
    training_words = (
        "; the spread between training sets is drawn for each algorithm apart, which overstates"
        " that of Δ"
    )
    if first_posterior.target != "algorithm":
        training_words = ""
    if not paired:
        obstacle = "asked for"
    else:
        obstacle = "" if cells is not None else _obstacle_to_pairing(aligned)
    if obstacle and paired and paired != "auto":
        allowed = "True where the algorithms predicted the same rows"
        suggestion = (
            "compute the posteriors from rows (y_true, y_pred) in the same order, or paired=False"
        )
        raise InputError("paired", got=f"True, but {obstacle}", allowed=allowed, cure=suggestion)
    if obstacle:
        return JointDraws(
            posteriors=aligned,
            paired=False,
            reason=f"independent draws: {obstacle}{training_words}",
            n_draws=n_draws,
            entropy=entropy,
        )
    fold_columns = [rows.fold for rows in _rows_of(aligned)]
    if any(not _same_partition(fold_columns[0], fold_column) for fold_column in fold_columns[1:]):
        warning_text = (
            "the posteriors are of different folds (or one of none), and part of Δ is the"
            " partition. Give all the"
        )
        caution(f"{warning_text} same cv= and rng=, or call um_compare_estimators.", DataWarning)
    reason = "paired by row-wise predictions"
    if _totals_differ(aligned):
        if len(aligned) == 2:
            least_words = "smaller effective counts of the two"
        else:
            least_words = "smallest effective counts"
        reason += f", up to the {least_words}"
    if cells is None:
        joint_table = _joint_cells(aligned)
    else:
        joint_table = cells
    return JointDraws(
        posteriors=aligned,
        paired=True,
        reason=reason + training_words,
        n_draws=n_draws,
        entropy=entropy,
        cells=joint_table,
    )


def _in_order(posterior: UmPosterior, groups: tuple[str, ...]) -> UmPosterior:
    """The same posterior with its groups in another order."""
    if posterior.groups == groups:
        return posterior
    group_order = [posterior.groups.index(group) for group in groups]
    counts = posterior.counts
    reordered = replace(
        posterior,
        prior=posterior.prior[group_order],
        cross_validation=None,
        counts=replace(
            counts,
            groups=groups,
            totals=counts.totals[group_order],
            rows=counts.rows[group_order],
        ),
        stored=None if posterior.stored is None else posterior.stored[:, group_order],
    )
    posterior_rows = posterior._rows
    return reordered._with_rows(
        posterior_rows
        and replace(
            posterior_rows, group=np.argsort(group_order)[posterior_rows.group.astype(np.intp)]
        )
    )


def _obstacle_to_pairing(posteriors: tuple[UmPosterior, ...]) -> str:
    """Why the draws cannot be paired; empty where they can."""
    first_posterior = posteriors[0]
    if len(posteriors) > MOST_PAIRED:
        return f"more than {MOST_PAIRED} algorithms"
    if len(first_posterior.classes) ** (len(posteriors) + 1) > _MOST_CELLS:
        return f"{len(first_posterior.classes)} classes make a joint table of more than {_MOST_CELLS:,} cells"
    posterior_rows = _rows_of(posteriors)
    if len(posterior_rows) < len(posteriors):
        return "row-wise predictions are not there for all"
    if any(posterior.stored is not None for posterior in posteriors):
        return "a sampler's draws cannot be paired"
    for other_posterior, own_rows in zip(posteriors[1:], posterior_rows[1:], strict=True):
        if not (
            np.array_equal(own_rows.y_true, posterior_rows[0].y_true)
            and np.array_equal(own_rows.group, posterior_rows[0].group)
        ):
            return "the rows differ (labels or groups)"
        if not np.array_equal(other_posterior.prior, first_posterior.prior):
            return "the priors differ"
    if first_posterior.target == "predictive" and _totals_differ(posteriors):
        return "the next test sets of the algorithms have different effective sizes"
    return ""


def _rows_of(posteriors: tuple[UmPosterior, ...]) -> list[Rows]:
    rows: list[Rows] = []
    for posterior in posteriors:
        if posterior._rows is not None:
            rows.append(posterior._rows)
    return rows


def _same_partition(first_folds: NDArray[Any] | None, second_folds: NDArray[Any] | None) -> bool:
    """Whether the same rows are held out together, whatever the numbers of the folds."""
    if first_folds is None or second_folds is None:
        return first_folds is second_folds
    return (
        len(
            {
                len(set(fold_column))
                for fold_column in (
                    zip(first_folds, second_folds, strict=True),
                    first_folds,
                    second_folds,
                )
            }
        )
        == 1
    )


def _effective_totals(posteriors: tuple[UmPosterior, ...]) -> Floats:
    return np.array([posterior.counts.totals.sum(axis=1) for posterior in posteriors])


def _counted_alike(first: UmPosterior, second: UmPosterior) -> bool:
    """Whether two posteriors rest on the same counts."""
    return np.array_equal(first.counts.rows, second.counts.rows)


def _totals_differ(posteriors: tuple[UmPosterior, ...]) -> bool:
    totals = _effective_totals(posteriors)
    return not np.allclose(totals, totals[0], rtol=1e-9)


def _joint_cells(posteriors: tuple[UmPosterior, ...]) -> Floats:
    """Counts by label and all predictions, scaled to the least effective totals."""
    posterior_rows = _rows_of(posteriors)
    n_labels = len(posteriors[0].classes) or 2
    cell_codes = n_labels * posterior_rows[0].group.astype(np.int64) + posterior_rows[0].y_true
    for algorithm_rows in posterior_rows:
        cell_codes = n_labels * cell_codes + algorithm_rows.y_pred
    n_groups = len(posteriors[0].groups)
    n_cells = n_labels ** (len(posterior_rows) + 1)
    cell_counts = np.bincount(cell_codes, minlength=n_groups * n_cells).reshape(n_groups, n_cells)
    group_totals = cell_counts.sum(axis=1)
    least_totals = _effective_totals(posteriors).min(axis=0)
    return np.asarray(
        cell_counts
        * np.divide(least_totals, group_totals, out=np.ones(n_groups), where=group_totals > 0)[
            :, None
        ]
    )
