"""The protected attribute of a table of features: who has which value, and how to give a row another one.

One column, several that encode one attribute together (one-hot), or any assignment of columns per value.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairstats.ground.encoding import MISSING, factorize, label_text
from fairstats.ground.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fairstats.ground.features import FeatureTable, Replacement

__all__ = ["Protected", "find_protected"]

#: More values than this are no groups.
_MOST_VALUES = 64
#: Name of the value of rows where every indicator is off (an encoding that drops the first category).
BASELINE = "(none of these)"


@dataclass(frozen=True)
class Protected:
    """A protected attribute.

    Attributes
    ----------
    name : str
    labels : tuple of str
        Names of the values.
    codes : ndarray of int, shape (n,)
        Value of each row; -1 for rows that have another one, or none.
    columns : dict of column to tuple
        For each column, what it holds under each value.
    """

    name: str
    labels: tuple[str, ...]
    codes: NDArray[np.signedinteger[Any]]
    columns: dict[Hashable, tuple[Any, ...]]

    def replacement(self, codes: NDArray[np.signedinteger[Any]]) -> Replacement:
        """Columns as they are when the rows have these values."""
        return {name: (values, codes) for name, values in self.columns.items()}


def find_protected(table: FeatureTable, protected: Any, values: Sequence[Hashable] | None) -> Protected:
    """Read the protected attribute.

    Parameters
    ----------
    table : FeatureTable
    protected : column, list of columns, or mapping
        A column; a list of indicator columns that encode one attribute; or, for any other encoding, a
        mapping from the name of a value to what the columns hold: ``{"F": {"sex": 0}, "M": {"sex": 1}}``.
    values : sequence, optional
        Values to compare, in this order; rows with others are left out.

    Raises
    ------
    InputError
        A column that is not there, fewer than two values, indicators that overlap.
    """
    if isinstance(protected, Mapping):
        found = _from_mapping(table, protected)
    elif isinstance(protected, (list, tuple)) and not _is_column(table, protected):
        found = _from_indicators(table, list(protected))
    else:
        found = _from_column(table, protected)
    if values is not None:
        found = _selected(found, values)
    elif (found.codes == MISSING).any():
        raise InputError(
            "protected",
            got=f"{int((found.codes == MISSING).sum()):,} rows with none of the values of {found.name}",
            allowed="a value in every row",
            cure="values=[…] names the values to compare and leaves the other rows out",
        )
    if len(found.labels) > _MOST_VALUES:
        raise InputError(
            "protected",
            got=f"{found.name} with {len(found.labels)} values",
            allowed=f"at most {_MOST_VALUES} values",
            cure="group them first, or choose some with values=",
        )
    present = [int(np.count_nonzero(found.codes == j)) for j in range(len(found.labels))]
    least = 1 if isinstance(protected, Mapping) else 2  # a mapping knows values that do not occur
    if len(found.labels) < 2 or np.count_nonzero(present) < least:
        there = [label for label, n in zip(found.labels, present, strict=True) if n]
        raise InputError(
            "protected",
            got=f"{found.name} with only the value {there[0]!r}" if there else f"{found.name} without values",
            allowed="an attribute with at least two values",
            cure="take rows of several groups, or name the values with a mapping",
        )
    return found


def _is_column(table: FeatureTable, protected: Any) -> bool:
    return isinstance(protected, tuple) and protected in table.columns


def _from_column(table: FeatureTable, column: Any) -> Protected:
    table.check_columns([column], "protected")
    factor = factorize(table.column(column), "protected")
    labels, codes = tuple(label_text(v) for v in factor.levels), factor.codes
    levels: tuple[Any, ...] = factor.levels
    if not factor.ordered_by_user:
        order = sorted(range(len(levels)), key=lambda j: labels[j])
        place = np.empty(len(order) + 1, dtype=codes.dtype)
        place[order] = np.arange(len(order))
        place[-1] = MISSING
        labels, levels, codes = tuple(labels[j] for j in order), tuple(levels[j] for j in order), place[codes]
    return Protected(str(column), labels, codes, {column: levels})


def _from_indicators(table: FeatureTable, columns: list[Hashable]) -> Protected:
    table.check_columns(columns, "protected")
    on = np.zeros((table.n_rows, len(columns)), dtype=bool)
    pairs: dict[Hashable, tuple[Any, Any]] = {}
    for j, column in enumerate(columns):
        factor = factorize(table.column(column), "protected")
        if factor.has_missing or len(factor.levels) != 2:
            raise InputError(
                "protected",
                got=f"column {column!r} with {len(factor.levels)} values"
                + (" and missing ones" if factor.has_missing else ""),
                allowed="in a list: indicator columns with two values each, off and on",
                cure="name the one column itself, or give a mapping from values to columns",
            )
        off, yes = sorted(factor.levels)  # type: ignore[type-var]
        pairs[column] = (off, yes)
        on[:, j] = factor.codes == factor.levels.index(yes)
    count = on.sum(axis=1)
    if (count > 1).any():
        raise InputError(
            "protected",
            got=f"{int((count > 1).sum()):,} rows with several of the indicators on",
            allowed="indicators of one attribute: at most one of them on",
            cure="list the columns of one attribute only",
        )
    labels = [str(column) for column in columns]
    codes = np.where(count == 1, on.argmax(axis=1), len(columns))
    if (count == 0).any():
        labels.append(BASELINE)
    held = {
        column: tuple(pairs[column][int(level == j)] for level in range(len(labels)))
        for j, column in enumerate(columns)
    }
    return Protected(" / ".join(map(str, columns)), tuple(labels), codes, held)


def _from_mapping(table: FeatureTable, assignments: Mapping[Hashable, Any]) -> Protected:
    if not all(isinstance(held, Mapping) and held for held in assignments.values()):
        raise InputError(
            "protected",
            got="a mapping whose values are no mappings",
            allowed="value → {column: what it holds}",
            cure='protected={"F": {"sex": 0}, "M": {"sex": 1}}',
        )
    columns = list(dict.fromkeys(c for held in assignments.values() for c in held))
    table.check_columns(columns, "protected")
    ragged = [str(name) for name, held in assignments.items() if set(held) != set(columns)]
    if ragged:
        raise InputError(
            "protected",
            got=f"{', '.join(ragged)} without some of the columns {columns!r}",
            allowed="every value names every column",
            cure="say what each column holds under each value",
        )
    held = {c: tuple(given[c] for given in assignments.values()) for c in columns}
    codes = np.full(table.n_rows, MISSING, dtype=np.int64)
    data = {c: np.asarray(table.column(c)) for c in columns}
    for level in range(len(assignments)):
        has = np.ones(table.n_rows, dtype=bool)
        for c in columns:
            has &= np.asarray(data[c] == held[c][level], dtype=bool)
        if (codes[has] != MISSING).any():
            raise InputError(
                "protected",
                got="two values that say the same of the columns",
                allowed="values that differ in at least one column",
                cure="leave one of them out",
            )
        codes[has] = level
    return Protected(" / ".join(map(str, columns)), tuple(label_text(k) for k in assignments), codes, held)


def _selected(found: Protected, values: Sequence[Hashable]) -> Protected:
    wanted = [label_text(v) for v in values]
    unknown = [w for w in wanted if w not in found.labels]
    if unknown or len(set(wanted)) != len(wanted):
        raise InputError(
            "values",
            got=repr(list(values)),
            allowed=f"different values of {found.name}: {', '.join(map(repr, found.labels))}",
            cure="check the spelling",
        )
    keep = [found.labels.index(w) for w in wanted]
    place = np.full(len(found.labels) + 1, MISSING, dtype=np.int64)
    place[keep] = np.arange(len(keep))
    columns = {name: tuple(held[j] for j in keep) for name, held in found.columns.items()}
    return Protected(found.name, tuple(wanted), place[found.codes], columns)
