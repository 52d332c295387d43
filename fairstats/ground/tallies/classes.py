"""Counts of several classes per group: the sufficient statistic of rates of three labels or more."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import check_different, check_summand, check_that
from fairstats.ground.counts import CellCounts, ConfusionCounts, SelectionCounts
from fairstats.ground.encoding import label_texts
from fairstats.ground.errors import InputError
from fairstats.ground.outcomes import MissingReport, Outcomes
from fairstats.ground.serialise import serialisable
from fairstats.ground.stored import damaged

#: A scatter of so many cells, groups × classes × classes, takes 128 MB.
_MOST_CELLS = 4_096


@serialisable(eq=False)
class ClassCounts(CellCounts):
    """Labels × predictions of J classes, per group; or one column of J classes.

    The cell of label a and prediction b is a·J + b, that of one column a.

    Attributes
    ----------
    classes : tuple of str
        Names of the J classes, in their order.
    labelled : bool
        Whether labels and predictions are counted, J·J cells, or one column, J cells.
    ordered : bool
        Whether the order of the classes means something: declared, or that of numbers.

    Examples
    --------
    >>> from fairstats.results import ClassCounts
    >>> tables = {"f": [[30, 5, 5], [4, 20, 6], [1, 9, 10]], "m": [[50, 9, 1], [5, 40, 5], [0, 6, 24]]}
    >>> counts = ClassCounts.from_tables(tables, classes=["low", "medium", "high"])
    >>> print(counts.one_against_rest("high"))
    group  tp  fp  fn  tn  n
        f  10  11  10  59 90
        m  24   6   6 104 140
    """

    classes: tuple[str, ...] = ()
    labelled: bool = True
    ordered: bool = False

    in_file: ClassVar[tuple[str, ...]] = ()

    def check_stored(self) -> None:
        """Raise unless the table that was read from a file has its classes, each once."""
        if len(self.classes) < 2 or len(set(self.classes)) < len(self.classes):
            raise damaged(f"the classes {self.classes!r:.80}", "two or more, each once")
        super().check_stored()

    @property
    def cells(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of the cells."""
        return names_of_cells(self.classes, self.labelled)

    @classmethod
    def _from_outcomes(cls, outcomes: Outcomes) -> Self:
        """Count validated rows with codes of classes; of one column where there is one only."""
        classes = outcomes.classes
        if classes is None:
            raise TypeError("rows without codes of classes")
        n_classes = len(classes.names)
        labelled = outcomes.y_true is not None and outcomes.y_pred is not None
        n_cells = n_classes**2 if labelled else n_classes
        n_groups = len(outcomes.groups.labels)
        if outcomes.weight is not None or outcomes.cluster is not None:
            check_that(
                n_groups * n_cells <= _MOST_CELLS,
                "sample_weight" if outcomes.cluster is None else "cluster",
                f"{n_groups} groups and {n_classes} classes",
                f"at most {_MOST_CELLS:,} cells of groups, labels and predictions",
                "pos_label= asks about one class; or merge classes or groups",
            )
        return cls._count_rows(
            outcomes,
            class_cells(outcomes),
            n_cells=n_cells,
            classes=classes.names,
            labelled=labelled,
            ordered=classes.ordered,
        )

    @classmethod
    def from_tables(
        cls,
        tables: Mapping[Hashable, Any],
        *,
        classes: Sequence[Hashable] | None = None,
    ) -> Self:
        """Counts that are already there: of every group its table of labels and predictions.

        Parameters
        ----------
        tables : mapping of group to array-like, shape (J, J) or (J,)
            Rows by label (down) and prediction (across), as scikit-learn's `confusion_matrix`; or
            rows of every class in one column.
        classes : sequence, optional
            Names of the classes in this order, which then counts as their order; default their
            numbers, from 0.

        Raises
        ------
        InputError
            Where tables have other shapes than each other, or entries are no counts.
        """
        allowed = "a mapping from group to its table of labels and predictions, J × J for all"
        cure = "{'f': sklearn.metrics.confusion_matrix(y, hat), …}"
        check_that(isinstance(tables, Mapping) and tables, "counts", tables, allowed, cure)
        arrays = []
        for table in tables.values():
            try:
                arrays.append(np.asarray(table, dtype=np.float64))
            except (TypeError, ValueError) as problem:
                raise InputError(
                    "counts", got=f"{table!r:.80}", allowed=allowed, cure=cure
                ) from problem
        shape = arrays[0].shape
        n_classes = shape[0] if shape else 0
        is_table = n_classes >= 2 and shape in ((n_classes, n_classes), (n_classes,))
        fine = is_table and all(array.shape == shape for array in arrays)
        check_that(fine, "counts", [array.shape for array in arrays], allowed, cure)
        totals = np.array([array.ravel() for array in arrays])
        fine = bool((np.isfinite(totals) & (totals >= 0) & (totals == np.floor(totals))).all())
        check_that(fine, "counts", "other entries", "whole numbers ≥ 0", "pass counts of rows")
        if classes is None:
            classes = range(shape[0])
        fine = isinstance(classes, (Sequence, np.ndarray)) and not isinstance(classes, (str, bytes))
        fine &= getattr(classes, "ndim", 1) == 1
        check_that(fine, "classes", classes, f"{shape[0]} names", "name every class once")
        names = label_texts(classes, "classes")
        check_different("classes", names)
        fine = len(names) == shape[0]
        check_that(fine, "classes", list(names), f"{shape[0]} names", "name every class once")
        rows = totals.astype(np.int64)
        return cls(
            groups=label_texts(tables, "counts"),
            totals=totals,
            rows=rows,
            n_units=int(rows.sum()),
            missing=MissingReport(n_rows=int(rows.sum())),
            group_units=rows.sum(axis=1),
            classes=names,
            labelled=len(shape) == 2,
            ordered=True,
        )

    def one_against_rest(self, label: Hashable) -> ConfusionCounts | SelectionCounts:
        """The table of one class and all others together, as with ``pos_label=label``.

        Raises
        ------
        InputError
            For a label that is none of the classes.
        """
        (name,) = label_texts([label], "label")
        cure = f"one of {', '.join(self.classes)}"
        check_that(name in self.classes, "label", label, "one of the classes", cure)
        return self._binary([self.classes.index(name)])

    def _binary(self, favourable: Sequence[int]) -> ConfusionCounts | SelectionCounts:
        """The table in which the classes at these positions are favourable, all others not."""
        place = places_of_cells(len(self.classes), favourable, labelled=self.labelled)
        if not self.labelled:
            return self._merge_cells(SelectionCounts, np.eye(2)[place])
        return self._merge_cells(ConfusionCounts, np.eye(4)[place])

    def selection(self) -> ClassCounts:
        """The same table without the labels."""
        return self._one_column(0)

    def of_labels(self) -> ClassCounts:
        """The same table without the predictions."""
        return self._one_column(1)

    def _one_column(self, summed_axis: int) -> ClassCounts:
        if not self.labelled:
            return self
        n_classes = len(self.classes)
        places = np.indices((n_classes, n_classes))[1 - summed_axis].ravel()
        return replace(self, **self._merged_fields(np.eye(n_classes)[places]), labelled=False)

    def _with_order(self, names: Sequence[str], *, ordered: bool = True) -> ClassCounts:
        """The same counts with these classes, in this order; new ones have no rows.

        Raises
        ------
        InputError
            Where a class that has rows is not named.
        """
        check_different("label_values", names)
        lacking = [name for name in self.classes if name not in names]
        allowed = f"every class: {', '.join(self.classes)}"
        check_that(not lacking, "label_values", list(names), allowed, "name them in their order")
        if tuple(names) == self.classes:
            return replace(self, ordered=ordered)
        position = np.array([list(names).index(name) for name in self.classes], dtype=np.intp)
        n_new = len(names)
        cells = position
        size = n_new
        if self.labelled:
            cells = (position[:, None] * n_new + position).ravel()
            size = n_new**2
        moved = self._merged_fields(np.eye(size)[cells])
        return replace(self, **moved, classes=tuple(names), ordered=ordered)

    def __add__(self, other: Self) -> Self:
        """Table of two sets of rows with the same groups, of the classes of both."""
        check_summand(self, other, "groups", "labelled")
        names, ordered = join_classes(self, other)
        both = (self._with_order(names), other._with_order(names))
        added: Any = CellCounts.__add__(*both)
        return replace(added, ordered=ordered)  # type: ignore[no-any-return]


@lru_cache(maxsize=64)
def names_of_cells(classes: tuple[str, ...], labelled: bool) -> tuple[str, ...]:
    """Names of the cells of these classes: of labels and predictions, or of one column."""
    if not labelled:
        return classes
    result = []
    for label in classes:
        for prediction in classes:
            result.append(f"{label}, predicted {prediction}")
    return tuple(result)


def join_classes(first: ClassCounts, second: ClassCounts) -> tuple[tuple[str, ...], bool]:
    """The classes of both in one order, and whether it means something.

    It does where the one has all classes of the other in the same order, or all are numbers.
    """
    names = tuple(dict.fromkeys((*first.classes, *second.classes)))
    if not (first.ordered and second.ordered):
        return names, False
    for counts, other in ((first, second), (second, first)):
        shared = tuple(name for name in counts.classes if name in other.classes)
        if shared == other.classes:
            return counts.classes, True
    numbers = as_numbers(names)
    if numbers is None:
        return names, False
    return tuple(sorted(names, key=dict(zip(names, numbers, strict=True)).__getitem__)), True


def as_numbers(names: Sequence[str]) -> list[float] | None:
    """The numbers that texts are, None where one is none."""
    try:
        return [float(name) for name in names]
    except ValueError:
        return None


def class_cells(outcomes: Outcomes) -> NDArray[np.intp]:
    """Position of the cell of every validated row, shape (n,)."""
    if outcomes.classes is None:
        raise TypeError("rows without codes of classes")
    if outcomes.y_true is None or outcomes.y_pred is None:
        only_column = outcomes.y_true if outcomes.y_pred is None else outcomes.y_pred
        return np.asarray(only_column, dtype=np.intp)
    labels = outcomes.y_true.astype(np.intp)
    return labels * len(outcomes.classes.names) + outcomes.y_pred


def places_of_cells(
    n_classes: int, favourable: Sequence[int], *, labelled: bool = True
) -> NDArray[np.intp]:
    """Which of tp, fp, fn, tn (0 to 3) each cell of J classes belongs to; of one column which of
    selected and not selected.
    """
    is_favourable = np.zeros(n_classes, dtype=np.intp)
    is_favourable[list(favourable)] = 1
    if not labelled:
        return 1 - is_favourable
    return np.asarray(3 - 2 * is_favourable[None, :] - is_favourable[:, None]).ravel()
