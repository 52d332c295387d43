"""Rows whose sensitive attributes take other values, and the labels that a model gives them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from fairstats.ground.encoding import MISSING, factorize, label_text
from fairstats.ground.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fairstats.ground.features import FeatureTable

__all__ = ["Attribute", "changed_labels", "find_attributes", "labels_of"]

_MOST_COMBINATIONS = 256


@dataclass(frozen=True, eq=False)
class Attribute:
    """A sensitive column: its values, and the value of each row."""

    column: Hashable
    name: str
    levels: tuple[Hashable, ...]
    codes: NDArray[np.intp]

    @property
    def labels(self) -> tuple[str, ...]:
        """The values as text."""
        return tuple(label_text(level) for level in self.levels)

    def others(self, steps: NDArray[np.intp]) -> tuple[tuple[Hashable, ...], NDArray[np.intp]]:
        """The values, and their codes with every row moved on by so many values, cyclically."""
        return self.levels, (self.codes + steps) % len(self.levels)


def find_attributes(table: FeatureTable, protected: Any) -> list[Attribute]:
    """The sensitive columns that the user named: one, several, or several with their values."""
    columns = table.columns
    values: Mapping[Any, Any]
    if isinstance(protected, Mapping):
        values = protected
    elif isinstance(protected, list) or (isinstance(protected, tuple) and protected not in columns):
        values = dict.fromkeys(protected)
    else:
        values = {protected: None}
    if not values:
        raise InputError("protected", got="no column", allowed="at least one column", cure="name a column")
    table.check_columns(list(values), "protected")
    return [_attribute(table, column, given) for column, given in values.items()]


def _attribute(table: FeatureTable, column: Hashable, given: Sequence[Hashable] | None) -> Attribute:
    factor = factorize(table.column(column), f"X[{column!r}]")
    if factor.has_missing:
        raise InputError(
            "X",
            got=f"{int((factor.codes == MISSING).sum()):,} missing values in {column!r}",
            allowed="a value in every row",
            cure="drop those rows and say so, or make the missing ones a value",
        )
    occurring = [factor.levels[k] for k in np.unique(factor.codes)]
    levels = occurring if given is None else list(given)
    lacking = [level for level in occurring if level not in levels]
    if lacking or len(levels) < 2 or len(set(levels)) < len(levels):
        raise InputError(
            "protected",
            got=f"the values {levels!r} of {column!r}" + (f" without {lacking!r}" if lacking else ""),
            allowed="two or more different values, those that occur among them",
            cure="name them, {column: [value, …]}; a column with one value cannot be disturbed",
        )
    place = np.array(
        [levels.index(level) if level in levels else -1 for level in factor.levels], dtype=np.intp
    )
    return Attribute(column, str(column), tuple(levels), place[factor.codes])


def labels_of(answer: Callable[[Any], Any], rows: Any, n: int) -> NDArray[Any]:
    """The model's labels of rows, one for each of the ``n``."""
    labels = np.asarray(answer(rows))
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.shape != (n,):
        raise InputError(
            "predict",
            got=f"an answer of shape {labels.shape} to {n:,} rows",
            allowed="one label per row",
            cure="return predicted labels, not probabilities of each class",
        )
    return labels


def changed_labels(
    answer: Callable[[Any], Any],
    table: FeatureTable,
    original: NDArray[Any],
    attributes: Sequence[Attribute],
    number: int | None,
    rng: np.random.Generator,
) -> NDArray[np.bool_]:
    """Whether the prediction differs, shape (draws, n), when all these attributes take other values."""
    n = table.n_rows
    sizes = [len(attribute.levels) for attribute in attributes]
    if number is None or all(size == 2 for size in sizes):
        n_combinations = int(np.prod([size - 1 for size in sizes]))
        if n_combinations > _MOST_COMBINATIONS:
            raise InputError(
                "draws",
                got=f"'all' of {n_combinations:,} combinations of other values",
                allowed=f"at most {_MOST_COMBINATIONS}",
                cure="draws=20 takes random ones",
            )
        steps = [
            [np.full(n, step, dtype=np.intp) for step in combination]
            for combination in product(*(range(1, size) for size in sizes))
        ]
    else:
        steps = [[rng.integers(1, size, size=n) for size in sizes] for _ in range(number)]
    found = []
    for draw in steps:
        changed = {a.column: a.others(step) for a, step in zip(attributes, draw, strict=True)}
        found.append(labels_of(answer, table.block(0, n, changed), n) != original)
    return np.array(found)
