"""What posteriors are of: coded rows, counts of two labels or several classes, Dirichlet priors."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats, check_choice, check_number, check_one_length, check_that
from fairstats.ground.counts import CellCounts, ConfusionCounts
from fairstats.ground.encoding import as_column, factorize, label_text
from fairstats.ground.errors import DataWarning, InputError, InsufficientEvidenceWarning, caution
from fairstats.ground.groups import encode_groups
from fairstats.ground.outcomes import MissingReport, Outcomes, check_row_labels
from fairstats.ground.tallies.classes import ClassCounts
from fairstats.ground.tally import Tally, counts_or_rows

#: The order of the cells: of counts, priors and draws.
CELLS = ConfusionCounts.cells
#: Priors by name: the Dirichlet parameter of every cell.
PRIORS = {"uniform": 1.0, "jeffreys": 0.5, "perks": 0.25}
#: Labels with more values than this are no classes.
MOST_CLASSES = 20


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows behind the counts, coded, and the fold in which each was held out.

    Never written to a file.
    """

    y_true: NDArray[Any]
    y_pred: NDArray[Any]
    group: NDArray[Any]
    fold: NDArray[Any] | None = None

    @classmethod
    def of(cls, outcomes: Outcomes) -> Rows:
        """The rows of coded columns."""
        return cls(np.asarray(outcomes.y_true), np.asarray(outcomes.y_pred), outcomes.groups.codes)

    def count(self, n_groups: int, n_classes: int) -> NDArray[np.int64]:
        """Counts (G, cells)."""
        return count_cells(self.y_true, self.y_pred, self.group, n_groups, n_classes)


def classes_of(counts: CellCounts) -> tuple[str, ...]:
    """The classes; empty for two labels, whose cells are tp, fp, fn, tn."""
    if isinstance(counts, ClassCounts):
        return counts.classes
    return ()


def cell_of(y_true: Any, y_pred: Any, n_classes: int) -> NDArray[np.intp]:
    """Position of coded labels and predictions among the cells; `n_classes` 0: tp, fp, fn, tn."""
    labels = np.asarray(y_true, dtype=np.intp)
    predictions = np.asarray(y_pred, dtype=np.intp)
    if n_classes:
        return labels * n_classes + predictions
    return 3 - 2 * predictions - labels


def count_cells(
    y_true: Any,
    y_pred: Any,
    group: Any,
    n_groups: int,
    n_classes: int = 0,
) -> NDArray[np.int64]:
    """Counts of shape (G, 4), or (G, J²) of J classes, of coded rows."""
    n_cells = n_classes**2 or 4
    cell_codes = np.asarray(group, dtype=np.intp) * n_cells + cell_of(y_true, y_pred, n_classes)
    return np.bincount(cell_codes, minlength=n_cells * n_groups).reshape(n_groups, n_cells)


def coded_rows(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    pos_label: Any = None,
    label_values: Any = None,
    groups: Sequence[Hashable] | None = None,
    names: tuple[str, str] = ("y_true", "y_pred"),
    several: bool = False,
) -> tuple[Outcomes, tuple[str, ...]]:
    """Coded columns, and the names of the classes.

    None for two labels (unless `several`) or with `pos_label`.
    """
    given_columns = {
        column_name: column
        for column_name, column in zip(names, (y_true, y_pred), strict=True)
        if column is not None
    }
    if pos_label is None and y_true is not None:
        labels = factorize(y_true, names[0])
    else:
        labels = None
    if not several and (labels is None or not 2 < len(labels.levels) <= MOST_CLASSES):
        return Outcomes.from_arrays(
            y_true,
            y_pred,
            sensitive_features=sensitive_features,
            pos_label=pos_label,
            label_values=label_values,
            groups=groups,
        ), ()
    check_row_labels(**given_columns, sensitive_features=sensitive_features)
    grouping = encode_groups(sensitive_features, groups=groups)
    columns = {key: as_column(values, key) for key, values in given_columns.items()}
    argument = ", ".join(given_columns)
    n_rows = grouping.codes.size
    check_one_length(
        argument,
        {**{key: len(column) for key, column in columns.items()}, "sensitive_features": n_rows},
    )
    class_factor = factorize(
        [values for entries in columns.values() for values in np.asarray(entries, dtype=object)],
        names[0],
    )
    if class_factor.has_missing or (grouping.codes < 0).any():
        allowed = "complete rows"
        suggestion = "leave out the rows with missing values"
        raise InputError(
            f"{argument}, sensitive_features",
            got="missing values",
            allowed=allowed,
            cure=suggestion,
        )
    if len(class_factor.levels) < 2 or len(grouping.labels) < 2:
        if len(class_factor.levels) < 2:
            column_name = names[0]
        else:
            column_name = "sensitive_features"
        received = f"{len(class_factor.levels)} classes and {len(grouping.labels)} groups"
        suggestion = "compare groups on a question with several answers"
        raise InputError(column_name, got=received, allowed="two of each or more", cure=suggestion)
    class_codes = [*np.split(class_factor.codes, len(columns)), None]
    coded_outcomes = Outcomes(
        groups=grouping,
        y_true=class_codes[0],
        y_pred=class_codes[1],
        score=None,
        weight=None,
        cluster=None,
        strata=None,
        missing=MissingReport(n_rows=n_rows),
    )
    return coded_outcomes, tuple(label_text(level) for level in class_factor.levels)


def as_counts(
    counts: Any, y_true: Any = None, y_pred: Any = None, **columns: Any
) -> tuple[ConfusionCounts, Rows | None]:
    """Counts of a Tally, ConfusionCounts, mapping or frame, or of rows as in
    `Outcomes.from_arrays`, and the rows.
    """
    sensitive = columns.get("sensitive_features")
    counts_or_rows(
        counts,
        needs="y_true, y_pred",
        y_true=y_true,
        y_pred=y_pred,
        sensitive_features=sensitive,
    )
    if isinstance(counts, Tally):
        counts = counts.confusion()
    if isinstance(counts, ConfusionCounts):
        counts = counts.without_even_weights()
        if counts.weighted:
            allowed = "counts of independent rows: a multinomial likelihood has no design weights"
            suggestion = (
                "count without sample_weight and cluster, or pass effective counts as a mapping"
            )
            raise InputError(
                "counts",
                got="weighted or clustered counts",
                allowed=allowed,
                cure=suggestion,
            )
        return counts, None
    if isinstance(counts, CellCounts):
        allowed = "confusion counts: these metrics need labels and predictions"
        suggestion = "pass ConfusionCounts, or y_true and y_pred"
        raise InputError("counts", got=type(counts).__name__, allowed=allowed, cure=suggestion)
    if counts is not None:
        return ConfusionCounts.from_effective(counts), None
    outcomes = Outcomes.from_arrays(y_true, y_pred, **columns)
    return ConfusionCounts._from_outcomes(outcomes), Rows.of(outcomes)


def as_prior(prior: Any, counts: CellCounts) -> Floats:
    """Dirichlet parameters, (G, cells).

    With J classes accuracy has the prior that it has with two, Beta(2α, 2α).
    """
    suggestion = "1.0 (uniform), 0.5 (Jeffreys)"
    n_classes = len(classes_of(counts))
    if isinstance(prior, str):
        check_choice("prior", prior, tuple(PRIORS))
        prior = PRIORS[prior]
    if n_classes:
        cell_prior = check_number("prior", prior, low=0, high=1e6, open_low=True, cure=suggestion)
        prior_cells = np.full(
            (n_classes, n_classes), 2.0 * cell_prior / (n_classes * (n_classes - 1))
        )
        np.fill_diagonal(prior_cells, 2.0 * cell_prior / n_classes)
        return np.tile(prior_cells.ravel(), (len(counts.groups), 1))
    if isinstance(prior, Mapping):
        by_name = prior
    else:
        by_name = dict.fromkeys(CELLS, prior)
    allowed = f"a number ≥ 0 for every cell, or a mapping with {', '.join(CELLS)}"
    check_that(set(by_name) == set(CELLS), "prior", prior, allowed, suggestion)
    by_cell = []
    for cell_index in CELLS:
        by_cell.append(check_number("prior", by_name[cell_index], low=0, high=1e6, cure=suggestion))
    values = np.tile(by_cell, (len(counts.groups), 1))
    posterior_parameters = values + counts.totals
    if posterior_parameters.all():
        return values
    empty_groups = []
    for group, group_total in zip(counts.groups, posterior_parameters.sum(axis=1), strict=True):
        if group_total == 0:
            empty_groups.append(group)
    if empty_groups:
        received = f"0 with no row of group {empty_groups[0]!r}: there is no posterior"
        allowed = "a prior above 0, or rows in every group"
        raise InputError(
            "prior",
            got=received,
            allowed=allowed,
            cure="prior=1.0, or leave the group out",
        )
    empty_cells = ", ".join(
        f"{CELLS[cell_index]} of {counts.groups[group_index]!r}"
        for group_index, cell_index in np.argwhere(posterior_parameters == 0)
    )
    warning_text = (
        "the posterior is improper; its limit is used, in which these cells have probability 0."
    )
    caution(f"prior 0 with empty cells ({empty_cells}): {warning_text}", DataWarning)
    return values


def only_prior(counts: CellCounts, *, labels_too: bool = True) -> str:
    """Which rates of which groups rest on the prior alone; `labels_too`: False where another model
    told of these.
    """
    classes = classes_of(counts)
    lacking = []
    if classes:
        case_names = [f"rows of class {case_name!r}" for case_name in classes]
        labels = counts.totals.reshape(-1, len(classes), len(classes)).sum(axis=2)
    else:
        case_names = [
            "rows with a favourable label (TPR)",
            "rows with an unfavourable label (FPR, TNR)",
            "rows with a favourable prediction (PPV)",
            "rows with an unfavourable prediction (NPV)",
        ]
        cells_of_cases = ("tp", "fn"), ("fp", "tn"), ("tp", "fp"), ("fn", "tn")
        labels = np.column_stack([counts.total(*cell_pair) for cell_pair in cells_of_cases])
    if labels_too:
        n_told = 0
    else:
        n_told = 2 if not classes else len(classes)
    for group, group_cases in zip(counts.groups, labels, strict=True):
        if group_cases.any():
            missing = zip(case_names[n_told:], group_cases[n_told:], strict=True)
            for case_name, n_cases in missing:
                if n_cases == 0:
                    lacking.append(f"{group!r} has no {case_name}")
    lacking_words = "; ".join(lacking)
    return (
        lacking_words
        and f"{lacking_words}: the posterior of the rates named is the prior, not evidence."
    )


def warn_of_empty(counts: CellCounts, model: str = "", *, labels_too: bool = True) -> None:
    """Warn of groups whose rates rest on the prior alone; `model`: the name of one among several."""
    if counts.totals.all():
        return
    for group, group_counts in zip(counts.groups, counts.totals, strict=True):
        if labels_too and not group_counts.any():
            caution(
                f"{group!r} has no rows: its metrics are undefined (NaN).",
                InsufficientEvidenceWarning,
            )
    lacking = only_prior(counts, labels_too=labels_too)
    if lacking:
        caution(f"{model}: " * bool(model) + lacking, InsufficientEvidenceWarning)
