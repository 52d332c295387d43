"""What posteriors are of: coded rows, counts of two labels or several classes, Dirichlet priors."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats, check_choice, check_number, check_one_length, check_that
from fairstats.ground.counts import CellCounts, ConfusionCounts
from fairstats.ground.encoding import as_column, factorize, label_text
from fairstats.ground.errors import DataWarning, InputError, InsufficientEvidenceWarning, caution
from fairstats.ground.groups import encode_groups
from fairstats.ground.outcomes import MissingReport, Outcomes, check_row_labels
from fairstats.ground.serialise import serialisable
from fairstats.ground.tally import Tally, counts_or_rows

#: The order of the cells: of counts, priors and draws.
CELLS = ConfusionCounts.cells
#: Priors by name: the Dirichlet parameter of every cell.
PRIORS = {"uniform": 1.0, "jeffreys": 0.5, "perks": 0.25}
#: Labels with more values than this are no classes.
MOST_CLASSES = 20


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows behind the counts, coded, and the fold in which each was held out; never written to a file."""

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


@serialisable(eq=False)
class ClassCounts(CellCounts):
    """Labels × predictions of J classes, per group: the cell of label a and prediction b is a·J + b."""

    classes: tuple[str, ...] = ()

    in_file: ClassVar[tuple[str, ...]] = ()

    @property
    def cells(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of the cells."""
        return tuple(f"{a}, predicted {b}" for a in self.classes for b in self.classes)


def classes_of(counts: CellCounts) -> tuple[str, ...]:
    """The classes; empty for two labels, whose cells are tp, fp, fn, tn."""
    return counts.classes if isinstance(counts, ClassCounts) else ()


def cell_of(y_true: Any, y_pred: Any, n_classes: int) -> NDArray[np.intp]:
    """Position of coded labels and predictions among the cells; `n_classes` 0: tp, fp, fn, tn."""
    label, predicted = np.asarray(y_true, dtype=np.intp), np.asarray(y_pred, dtype=np.intp)
    return label * n_classes + predicted if n_classes else 3 - 2 * predicted - label


def count_cells(y_true: Any, y_pred: Any, group: Any, n_groups: int, n_classes: int = 0) -> NDArray[np.int64]:
    """Counts of shape (G, 4), or (G, J²) of J classes, of coded rows."""
    size = n_classes**2 or 4
    code = np.asarray(group, dtype=np.intp) * size + cell_of(y_true, y_pred, n_classes)
    return np.bincount(code, minlength=size * n_groups).reshape(n_groups, size)


def coded_rows(
    y_true: Any, y_pred: Any, *, sensitive_features: Any, pos_label: Any = None, label_values: Any = None,
    groups: Sequence[Hashable] | None = None, names: tuple[str, str] = ("y_true", "y_pred"), several: bool = False,
) -> tuple[Outcomes, tuple[str, ...]]:  # fmt: skip
    """Coded columns, and the names of the classes: none for two labels (unless `several`) or with `pos_label`."""
    given = {name: column for name, column in zip(names, (y_true, y_pred), strict=True) if column is not None}
    labels = factorize(y_true, names[0]) if pos_label is None and y_true is not None else None
    if not several and (labels is None or not 2 < len(labels.levels) <= MOST_CLASSES):
        return Outcomes.from_arrays(
            y_true,
            y_pred,
            sensitive_features=sensitive_features,
            pos_label=pos_label,
            label_values=label_values,
            groups=groups,
        ), ()
    check_row_labels(**given, sensitive_features=sensitive_features)
    grouping = encode_groups(sensitive_features, groups=groups)
    columns, argument = {k: as_column(v, k) for k, v in given.items()}, ", ".join(given)
    n = grouping.codes.size
    check_one_length(argument, {**{k: len(column) for k, column in columns.items()}, "sensitive_features": n})
    both = factorize([v for c in columns.values() for v in np.asarray(c, dtype=object)], names[0])
    if both.has_missing or (grouping.codes < 0).any():
        allowed, cure = "complete rows", "leave out the rows with missing values"
        raise InputError(f"{argument}, sensitive_features", got="missing values", allowed=allowed, cure=cure)
    if len(both.levels) < 2 or len(grouping.labels) < 2:
        name = names[0] if len(both.levels) < 2 else "sensitive_features"
        got = f"{len(both.levels)} classes and {len(grouping.labels)} groups"
        cure = "compare groups on a question with several answers"
        raise InputError(name, got=got, allowed="two of each or more", cure=cure)
    codes = [*np.split(both.codes, len(columns)), None]
    coded = Outcomes(grouping, codes[0], codes[1], None, None, None, None, MissingReport(n_rows=n))
    return coded, tuple(label_text(level) for level in both.levels)


def as_counts(
    counts: Any, y_true: Any = None, y_pred: Any = None, **columns: Any
) -> tuple[ConfusionCounts, Rows | None]:
    """Counts of a Tally, ConfusionCounts, mapping or frame, or of rows as in `Outcomes.from_arrays`, and the rows."""
    sensitive = columns.get("sensitive_features")
    counts_or_rows(counts, needs="y_true, y_pred", y_true=y_true, y_pred=y_pred, sensitive_features=sensitive)
    if isinstance(counts, Tally):
        counts = counts.confusion()
    if isinstance(counts, ConfusionCounts):
        counts = counts.without_even_weights()
        if counts.weighted:
            allowed = "counts of independent rows: a multinomial likelihood has no design weights"
            cure = "count without sample_weight and cluster, or pass effective counts as a mapping"
            raise InputError("counts", got="weighted or clustered counts", allowed=allowed, cure=cure)
        return counts, None
    if isinstance(counts, CellCounts):
        allowed = "confusion counts: these metrics need labels and predictions"
        cure = "pass ConfusionCounts, or y_true and y_pred"
        raise InputError("counts", got=type(counts).__name__, allowed=allowed, cure=cure)
    if counts is not None:
        return ConfusionCounts.from_effective(counts), None
    outcomes = Outcomes.from_arrays(y_true, y_pred, **columns)
    return ConfusionCounts._from_outcomes(outcomes), Rows.of(outcomes)


def as_prior(prior: Any, counts: CellCounts) -> Floats:
    """Dirichlet parameters, (G, cells); with J classes accuracy has the prior that it has with two, Beta(2α, 2α)."""
    cure, size = "1.0 (uniform), 0.5 (Jeffreys)", len(classes_of(counts))
    if isinstance(prior, str):
        check_choice("prior", prior, tuple(PRIORS))
        prior = PRIORS[prior]
    if size:
        value = check_number("prior", prior, low=0, high=1e6, open_low=True, cure=cure)
        cells = np.full((size, size), 2.0 * value / (size * (size - 1)))
        np.fill_diagonal(cells, 2.0 * value / size)
        return np.tile(cells.ravel(), (len(counts.groups), 1))
    by_name = prior if isinstance(prior, Mapping) else dict.fromkeys(CELLS, prior)
    allowed = f"a number ≥ 0 for every cell, or a mapping with {', '.join(CELLS)}"
    check_that(set(by_name) == set(CELLS), "prior", prior, allowed, cure)
    by_cell = [check_number("prior", by_name[c], low=0, high=1e6, cure=cure) for c in CELLS]
    values = np.tile(by_cell, (len(counts.groups), 1))
    alpha = values + counts.totals
    if alpha.all():
        return values
    without = [group for group, total in zip(counts.groups, alpha.sum(axis=1), strict=True) if total == 0]
    if without:
        got = f"0 with no row of group {without[0]!r}: there is no posterior"
        allowed = "a prior above 0, or rows in every group"
        raise InputError("prior", got=got, allowed=allowed, cure="prior=1.0, or leave the group out")
    zero = ", ".join(f"{CELLS[c]} of {counts.groups[g]!r}" for g, c in np.argwhere(alpha == 0))
    text = "the posterior is improper; its limit is used, in which these cells have probability 0."
    caution(f"prior 0 with empty cells ({zero}): {text}", DataWarning)
    return values


def only_prior(counts: CellCounts, *, labels_too: bool = True) -> str:
    """Which rates of which groups rest on the prior alone; `labels_too`: False where another model told of these."""
    classes, lacking = classes_of(counts), []
    if classes:
        names = [f"rows of class {name!r}" for name in classes]
        labels = counts.totals.reshape(-1, len(classes), len(classes)).sum(axis=2)
    else:
        names = [
            "rows with a favourable label (TPR)", "rows with an unfavourable label (FPR, TNR)",
            "rows with a favourable prediction (PPV)", "rows with an unfavourable prediction (NPV)",
        ]  # fmt: skip
        cells = ("tp", "fn"), ("fp", "tn"), ("tp", "fp"), ("fn", "tn")
        labels = np.column_stack([counts.total(*pair) for pair in cells])
    told = 0 if labels_too else 2 if not classes else len(classes)
    for group, row in zip(counts.groups, labels, strict=True):
        if row.any():
            missing = zip(names[told:], row[told:], strict=True)
            lacking += [f"{group!r} has no {name}" for name, n in missing if n == 0]
    words = "; ".join(lacking)
    return words and f"{words}: the posterior of the rates named is the prior, not evidence."


def warn_of_empty(counts: CellCounts, model: str = "", *, labels_too: bool = True) -> None:
    """Warn of groups whose rates rest on the prior alone; `model`: the name of one among several."""
    if counts.totals.all():
        return
    for group, row in zip(counts.groups, counts.totals, strict=True):
        if labels_too and not row.any():
            caution(f"{group!r} has no rows: its metrics are undefined (NaN).", InsufficientEvidenceWarning)
    lacking = only_prior(counts, labels_too=labels_too)
    if lacking:
        caution(f"{model}: " * bool(model) + lacking, InsufficientEvidenceWarning)
