"""Several columns of scores of the same rows: probabilities of several classes, several outcomes.

Each column is judged by itself, in its own bins. What holds for all of them at once rests on
permutations of whole rows: columns of one row belong together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats, check_choice, check_that
from fairstats.ground.encoding import as_float_column
from fairstats.ground.errors import InputError
from fairstats.ground.outcomes import Outcomes
from fairstats.methods.madd.scales import rank_outcomes
from fairstats.methods.madd.scores import GroupScores, Sample

#: More columns than this are features and not scores of classes.
_MOST_COLUMNS = 1_000
_LISTED = 12


@dataclass(frozen=True)
class ScoreColumns:
    """Columns of scores by name, before rows are split by group.

    `note`: what the result says about them.
    """

    names: tuple[str, ...]
    values: tuple[Floats, ...]
    note: str


def split_columns(score: Any, scale: str) -> ScoreColumns | None:
    """The columns of a table or matrix of scores; None where there is one column.

    A row that lacks one of them lacks all.
    """
    shape = getattr(score, "shape", None)
    if shape is None or len(shape) != 2 or shape[1] < 2:
        return None
    check_choice("scale", scale, ("probability", "rank"), cure="one column of predicted classes")
    number = int(shape[1])
    check_that(
        number <= _MOST_COLUMNS,
        "score",
        f"{number:,} columns",
        f"at most {_MOST_COLUMNS:,} columns, one a class or outcome",
        "pass the scores, not the features",
    )
    if hasattr(score, "columns"):
        names = tuple(str(name) for name in score.columns)
        raw_columns = [score[name] for name in score.columns]
    else:
        names = tuple(str(number_of_class) for number_of_class in range(number))
        raw_columns = [np.asarray(score)[:, column] for column in range(number)]
    if len(set(names)) < number:
        raise InputError(
            "score",
            got="columns of one name",
            allowed="a name each",
            cure="rename them",
        )
    values = [as_float_column(raw, "score") for raw in raw_columns]
    lacking = np.isnan(np.column_stack(values)).any(axis=1)
    if lacking.any():
        values = [np.where(lacking, np.nan, column) for column in values]
    if scale == "rank":
        values = [rank_outcomes(column) for column in values]
    listed = ", ".join(names[:_LISTED]) + (", …" if number > _LISTED else "")
    note = (
        f"Each of {number} columns of score is judged in its own bins: {listed}. The largest of all"
        " is tested by permutations of whole rows."
    )
    if scale == "rank":
        note += " Scores are the pooled mid-ranks of numeric outcomes."
    return ScoreColumns(names=names, values=tuple(values), note=note)


def name_in_column(group: str, column: str) -> str:
    """How a result names a group in one column.

    >>> name_in_column("women", "low risk")
    'women, low risk'
    """
    return f"{group}, {column}"


@dataclass(frozen=True, eq=False)
class RowScores:
    """Scores of every row and column, by group.

    `values`, shape (n, K); `group_codes`, shape (n,); `units`, shape (n,): number of the sampling
    unit of each row, None where rows are units; `by_column`: the same, sorted, column by column.
    """

    names: tuple[str, ...]
    by_column: tuple[GroupScores, ...]
    values: NDArray[np.float64]
    group_codes: NDArray[np.intp]
    units: NDArray[np.intp] | None = None

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of the groups."""
        return self.by_column[0].groups

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Rows per group, shape (G,)."""
        return self.by_column[0].sizes

    @property
    def weighted(self) -> bool:
        """Whether weights differ within a group."""
        return any(sample.weights is not None for sample in self.by_column[0].samples)

    def side_by_side(self) -> GroupScores:
        """All columns as groups of their own: what pictures are drawn from."""
        labels: list[str] = []
        samples: list[Sample] = []
        for name, scores in zip(self.names, self.by_column, strict=True):
            labels += [name_in_column(group, name) for group in scores.groups]
            samples += scores.samples
        return GroupScores(tuple(labels), tuple(samples), self.by_column[0].missing)


def read_columns(columns: ScoreColumns, **other: Any) -> RowScores:
    """Scores of every column, of the same rows; `other`: as `Outcomes.from_arrays` takes them."""
    outcomes = [Outcomes.from_arrays(score=values, **other) for values in columns.values]
    first = outcomes[0]
    by_column = []
    for column in outcomes:
        by_column.append(GroupScores.from_outcomes(column).without_constant_weights(pooled=False))
    units = None
    if first.cluster is not None:
        units = np.unique(first.cluster.codes, return_inverse=True)[1]
    return RowScores(
        names=columns.names,
        by_column=tuple(by_column),
        values=np.column_stack([np.asarray(column.score) for column in outcomes]),
        group_codes=np.asarray(first.groups.codes, dtype=np.intp),
        units=units,
    )
