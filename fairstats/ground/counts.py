"""Sufficient statistics per group: selection counts, confusion counts, paired counts."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.cells import CellCounts, column_of
from fairstats.ground.checks import column_name, column_names
from fairstats.ground.encoding import as_frame_columns
from fairstats.ground.outcomes import Outcomes
from fairstats.ground.serialise import serialisable

__all__ = ["CellCounts", "ConfusionCounts", "PairedCounts", "SelectionCounts", "confusion_cells"]


@serialisable(eq=False)
class SelectionCounts(CellCounts):
    """Selected and not selected, per group: all that disparate impact needs.

    Examples
    --------
    >>> from fairstats.results import SelectionCounts
    >>> print(SelectionCounts.from_counts({"Male": (6395, 13798), "Female": (1112, 8520)}))
     group  selected  not_selected     n
      Male      6395         13798 20193
    Female      1112          8520  9632
    """

    cells: ClassVar[tuple[str, ...]] = ("selected", "not_selected")

    @classmethod
    def from_outcomes(cls, outcomes: Outcomes) -> Self:
        """Count validated rows."""
        return cls.count_rows(outcomes, 1 - column_of(outcomes, "y_pred"))


@serialisable(eq=False)
class ConfusionCounts(CellCounts):
    """True and false positives and negatives, per group.

    Examples
    --------
    >>> from fairstats import ConfusionCounts
    >>> counts = ConfusionCounts.from_arrays(
    ...     [1, 1, 0, 0, 1, 0], [1, 0, 0, 1, 1, 0], sensitive_features=list("aaabbb")
    ... )
    >>> print(counts)
    group  tp  fp  fn  tn  n
        a   1   0   1   1  3
        b   1   1   0   1  3
    """

    cells: ClassVar[tuple[str, ...]] = ("tp", "fp", "fn", "tn")

    @classmethod
    def from_outcomes(cls, outcomes: Outcomes) -> Self:
        """Count validated rows."""
        return cls.count_rows(outcomes, confusion_cells(outcomes))

    @classmethod
    def from_arrays(
        cls,
        y_true: Any,
        y_pred: Any,
        *,
        sensitive_features: Any,
        sample_weight: Any = None,
        cluster: Any = None,
        pos_label: Any = None,
        missing: Any = "raise",
        groups: Sequence[Hashable] | None = None,
    ) -> Self:
        """Count rows.

        Parameters
        ----------
        y_true, y_pred : array-like, shape (n,)
            Labels and predictions.
        sensitive_features : array-like, frame or mapping
            One or several sensitive columns.
        sample_weight, cluster : array-like, shape (n,), optional
            Weights, sampling units.
        pos_label, missing, groups
            As in `Outcomes.from_arrays`.
        """
        outcomes = Outcomes.from_arrays(
            y_true, y_pred, sensitive_features=sensitive_features, sample_weight=sample_weight,
            cluster=cluster, pos_label=pos_label, missing=missing, groups=groups,
        )  # fmt: skip
        return cls.from_outcomes(outcomes)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        y_true: str,
        y_pred: str,
        sensitive_features: str | Sequence[str],
        sample_weight: str | None = None,
        cluster: str | None = None,
        **options: Any,
    ) -> Self:
        """Count the rows of a data frame (pandas, polars, pyarrow …), columns by name."""
        names = list(column_names("sensitive_features", sensitive_features))
        given = {"y_true": y_true, "y_pred": y_pred, "sample_weight": sample_weight, "cluster": cluster}
        for role, column in given.items():
            column_name(role, column)
        optional = [name for name in (sample_weight, cluster) if name is not None]
        columns = as_frame_columns(frame, [y_true, y_pred, *names, *optional], "frame")
        return cls.from_arrays(
            columns[y_true], columns[y_pred], sensitive_features={name: columns[name] for name in names},
            sample_weight=None if sample_weight is None else columns[sample_weight],
            cluster=None if cluster is None else columns[cluster], **options,
        )  # fmt: skip

    def selection(self) -> SelectionCounts:
        """The same table without the labels."""
        mapping = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
        return self.collapse(SelectionCounts, mapping)


@serialisable(eq=False)
class PairedCounts(CellCounts):
    """Label × prediction of model A × prediction of model B, per group (the same people).

    The cell ``yab`` counts rows with y_true = y, ŷ_A = a, ŷ_B = b.
    """

    cells: ClassVar[tuple[str, ...]] = ("111", "110", "101", "100", "011", "010", "001", "000")

    @classmethod
    def from_predictions(cls, outcomes: Outcomes) -> Self:
        """Count validated rows that carry a second prediction."""
        true, first, second = (column_of(outcomes, name) for name in ("y_true", "y_pred", "y_pred_b"))
        return cls.count_rows(outcomes, 7 - 4 * true - 2 * first - second)

    def confusion(self, model: int) -> ConfusionCounts:
        """Confusion counts of model A (0) or B (1)."""
        return self.collapse(ConfusionCounts, self.confusion_map(model))

    @classmethod
    def confusion_map(cls, model: int) -> NDArray[np.float64]:
        """0/1 matrix of shape (8, 4) from paired cells to confusion cells of one model."""
        target = {("1", "1"): 0, ("0", "1"): 1, ("1", "0"): 2, ("0", "0"): 3}
        mapping = np.zeros((8, 4))
        for i, cell in enumerate(cls.cells):
            mapping[i, target[(cell[0], cell[1 + model])]] = 1.0
        return mapping


def effective(number: float, kind: str) -> str:
    """So many effective cases in words; `kind`: in the plural.

    Examples
    --------
    >>> effective(1.0, "clusters"), effective(1.56, "successes")
    ('1 effective cluster', '1.56 effective successes')
    """
    told = f"{number:.3g}"
    one = {"successes": "success"}.get(kind, kind.removesuffix("s"))
    return f"{told} effective {one if told == '1' else kind}"


def confusion_cells(outcomes: Outcomes) -> NDArray[Any]:
    """Cell codes 0 (tp), 1 (fp), 2 (fn), 3 (tn) of validated rows, shape (n,)."""
    return 3 - 2 * column_of(outcomes, "y_pred") - column_of(outcomes, "y_true")
