"""The sensitive attribute of a table: a column, columns crossed, indicators, bands, or any assignment."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import check_names, check_that, finite_array
from fairstats.ground.encoding import MISSING, factorize, label_text
from fairstats.ground.errors import InputError
from fairstats.ground.groups import INTERSECTION, group_index, say_what_is_empty
from fairstats.ground.predictions import FeatureTable, Replacement
from fairstats.numerics.evt.distributions import Floats

#: More values than this are no groups.
_MOST_VALUES = 64
#: Name of the value of rows where every indicator is off (an encoding that drops the first category).
BASELINE = "(none of these)"


@dataclass(frozen=True)
class Attribute:
    """A sensitive attribute.

    `labels`: names of the values; `codes`, shape (n,): value of each row; -1 for rows that have another one,
    or none; `columns`: for each column, what it holds under each value; `flipped`: where a function flips
    the rows, the columns that it does, as the values that occur and the place of each row's among them.
    """

    name: str
    labels: tuple[str, ...]
    codes: NDArray[np.signedinteger[Any]]
    columns: dict[Hashable, tuple[Any, ...]]
    flipped: Replacement | None = None

    @property
    def turns(self) -> int:
        """Counterfactuals of a row."""
        return 1 if self.flipped else len(self.labels) - 1

    def counterfactual(self, level: int, turn: int) -> str:
        """Name of what rows with a value are turned to."""
        return "flipped" if self.flipped else self.labels[(level + turn + 1) % len(self.labels)]

    def replacement(self, turn: int, rows: slice) -> Replacement:
        """Columns of these rows in a counterfactual: the value (z + turn + 1) mod L, or what was flipped."""
        if self.flipped:
            return {name: (values, codes[rows]) for name, (values, codes) in self.flipped.items()}
        # a row without one of the values (code −1) is turned like one with the last, and not used
        turned = np.roll(np.arange(len(self.labels), dtype=self.codes.dtype), -turn - 1)[self.codes[rows]]
        return {name: (values, turned) for name, values in self.columns.items()}


def find_attribute(
    table: FeatureTable,
    columns: Any,
    values: Sequence[Hashable] | None = None,
    cuts: Any = None,
    flip: Callable[[Any], Any] | None = None,
) -> Attribute:
    """Read the sensitive attribute from arguments of `counterfactual_discrimination`.

    Raises InputError: a column that is not there, fewer than two values, bands without rows.
    """
    listed = isinstance(columns, list) or (isinstance(columns, tuple) and columns not in table.columns)
    names = [] if isinstance(columns, Mapping) else list(columns) if listed else [columns]
    bands = _checked_cuts(cuts, names)
    if isinstance(columns, Mapping):
        found = _from_mapping(table, columns)
    elif listed and not bands and (found_one := _from_indicators(table, names)):
        found = found_one
    else:
        table.check_columns(names, "sensitive_features")
        found = _crossed(
            [
                _from_bands(table, name, bands[name])
                if name in bands
                else _from_column(table, name, listed=values is not None or len(names) > 1)
                for name in names
            ]
        )
    if flip is not None:
        check_that(callable(flip), "flip", flip, "a function of a column")
        check_that(len(names) == 1, "flip", columns, "one sensitive column to flip", "name one column")
        found = replace(found, flipped={names[0]: _flipped(table, names[0], flip)})
    if values is not None:
        found = _selected(found, values)
    elif (found.codes == MISSING).any():
        raise _unfit(
            f"{int((found.codes == MISSING).sum()):,} rows with none of the values of {found.name}",
            "a value in every row",
            "values=[…] names the values to compare and leaves the other rows out",
        )
    if len(found.labels) > _MOST_VALUES:
        raise _unfit(
            f"{found.name} with {len(found.labels)} values",
            f"at most {_MOST_VALUES} values",
            "group them first, or choose some with values=",
        )
    present = [int(np.count_nonzero(found.codes == j)) for j in range(len(found.labels))]
    least = 1 if isinstance(columns, Mapping) else 2  # a mapping knows values that do not occur
    if len(found.labels) < 2 or np.count_nonzero(present) < least:
        there = [label for label, n in zip(found.labels, present, strict=True) if n]
        raise _unfit(
            f"{found.name} with only the value {there[0]!r}" if there else f"{found.name} without values",
            "an attribute with at least two values",
            "take rows of several groups, or name the values with a mapping",
        )
    return found


def _unfit(got: str, allowed: str, cure: str) -> InputError:
    return InputError("sensitive_features", got=got, allowed=allowed, cure=cure)


def _from_column(table: FeatureTable, column: Any, *, listed: bool) -> Attribute:
    factor = factorize(table.column(column), "sensitive_features")
    if not listed:
        say_what_is_empty(str(column), factor)
    labels, codes = tuple(label_text(v) for v in factor.levels), factor.codes
    levels: tuple[Any, ...] = factor.levels
    if not factor.ordered_by_user:
        order = sorted(range(len(levels)), key=lambda j: labels[j])
        place = np.empty(len(order) + 1, dtype=codes.dtype)
        place[order] = np.arange(len(order))
        place[-1] = MISSING
        labels, levels, codes = tuple(labels[j] for j in order), tuple(levels[j] for j in order), place[codes]
    return Attribute(str(column), labels, codes, {column: levels})


def _checked_cuts(cuts: Any, names: list[Hashable]) -> dict[Hashable, Floats]:
    """Column → its cut points, ascending."""
    if cuts is None:
        return {}
    if not isinstance(cuts, Mapping):
        allowed = "of one sensitive column its cut points; of several a mapping of column to these"
        check_that(len(names) == 1, "cuts", cuts, allowed, 'cuts={"age": [25, 60]}')
        cuts = {names[0]: cuts}
    check_names("cuts", list(cuts), names)
    words = "one number or several, ascending"
    found = {column: np.atleast_1d(finite_array("cuts", given, words)) for column, given in cuts.items()}
    for column, points in found.items():
        check_that(points.size and (np.diff(points) > 0).all(), "cuts", cuts[column], words, "[25, 60]")
    return found


def _from_bands(table: FeatureTable, column: Hashable, points: Floats) -> Attribute:
    """Bands of numbers; a band stands for the middle one of its values, which occurs."""
    given = np.asarray(table.column(column))
    x = finite_array("sensitive_features", given, f"finite numbers in column {column!r}, which has cuts")
    codes = np.searchsorted(points, x, side="right")
    ends = [f"{p:g}" for p in points]
    labels = [f"< {ends[0]}", *(f"{a} to < {b}" for a, b in itertools.pairwise(ends)), f"≥ {ends[-1]}"]
    order = [np.flatnonzero(codes == j)[np.argsort(x[codes == j])] for j in range(len(labels))]
    lacking = [label for label, rows in zip(labels, order, strict=True) if not rows.size]
    check_that(not lacking, "cuts", lacking, "bands with rows", "leave out cut points beyond the values")
    return Attribute(str(column), tuple(labels), codes, {column: tuple(given[r[r.size // 2]] for r in order)})


def _flipped(table: FeatureTable, column: Hashable, flip: Callable[[Any], Any]) -> tuple[Any, Any]:
    """Values that a function gives to a column, and the place of each row's among them."""
    made = np.asarray(flip(np.asarray(table.column(column))))
    allowed = f"one value per row of column {column!r}, none missing"
    cure = "flip=lambda age: 80 - age"
    check_that(made.shape == (table.n_rows,), "flip", f"an array of shape {made.shape}", allowed, cure)
    found = factorize(made, "flip")
    check_that(not found.has_missing, "flip", "an array with missing values", allowed, cure)
    return tuple(found.levels), found.codes


def _crossed(parts: list[Attribute]) -> Attribute:
    """The combinations of several attributes that occur, in the order of their values."""
    if len(parts) == 1:
        return parts[0]
    known = np.all([part.codes != MISSING for part in parts], axis=0)
    sizes = [len(part.labels) for part in parts]
    cells = np.ravel_multi_index([np.where(known, part.codes, 0) for part in parts], sizes)
    present, place = np.unique(cells[known], return_inverse=True)
    codes = np.full(known.size, MISSING, dtype=np.int64)
    codes[known] = place
    own = list(zip(*np.unravel_index(present, sizes), strict=True))
    names = [part.labels for part in parts]
    if len(set(itertools.chain(*names))) < sum(sizes):  # 0 and 1 of several columns
        names = [tuple(f"{part.name} = {label}" for label in part.labels) for part in parts]
    labels = tuple(INTERSECTION.join(n[j] for n, j in zip(names, cell, strict=True)) for cell in own)
    columns = {
        column: tuple(held[cell[i]] for cell in own)
        for i, part in enumerate(parts)
        for column, held in part.columns.items()
    }
    return Attribute(INTERSECTION.join(part.name for part in parts), labels, codes, columns)


def _from_indicators(table: FeatureTable, columns: list[Hashable]) -> Attribute | None:
    """Indicators of one attribute; None where the columns are attributes of their own."""
    if not columns:
        raise _unfit("no columns", "at least one column", "name the columns")
    table.check_columns(columns, "sensitive_features")
    factors = [factorize(table.column(column), "sensitive_features") for column in columns]
    if any(factor.has_missing or len(factor.levels) != 2 for factor in factors):
        return None
    pairs = [tuple(sorted(factor.levels)) for factor in factors]  # type: ignore[type-var]
    numbers = all(isinstance(v, (bool, int, float, np.number, np.bool_)) for pair in pairs for v in pair)
    on = np.column_stack([f.codes == f.levels.index(p[1]) for f, p in zip(factors, pairs, strict=True)])
    count = on.sum(axis=1)
    if (count > 1).any() or not (numbers or len(set(pairs)) == 1):
        return None
    labels = [str(column) for column in columns]
    codes = np.where(count == 1, on.argmax(axis=1), len(columns))
    if (count == 0).any():
        labels.append(BASELINE)
    held = {
        column: tuple(pair[int(level == j)] for level in range(len(labels)))
        for j, (column, pair) in enumerate(zip(columns, pairs, strict=True))
    }
    return Attribute(" / ".join(map(str, columns)), tuple(labels), codes, held)


def _from_mapping(table: FeatureTable, assignments: Mapping[Hashable, Any]) -> Attribute:
    if not all(isinstance(held, Mapping) and held for held in assignments.values()):
        raise _unfit(
            "a mapping whose values are no mappings",
            "value → {column: what it holds}",
            'sensitive_features={"F": {"sex": 0}, "M": {"sex": 1}}',
        )
    columns = list(dict.fromkeys(c for held in assignments.values() for c in held))
    table.check_columns(columns, "sensitive_features")
    ragged = [str(name) for name, held in assignments.items() if set(held) != set(columns)]
    if ragged:
        raise _unfit(
            f"{', '.join(ragged)} without some of the columns {columns!r}",
            "every value names every column",
            "say what each column holds under each value",
        )
    held = {c: tuple(given[c] for given in assignments.values()) for c in columns}
    codes = np.full(table.n_rows, MISSING, dtype=np.int64)
    data = {c: np.asarray(table.column(c)) for c in columns}
    for level in range(len(assignments)):
        has = np.ones(table.n_rows, dtype=bool)
        for c in columns:
            has &= np.asarray(data[c] == held[c][level], dtype=bool)
        if (codes[has] != MISSING).any():
            raise _unfit(
                "two values that say the same of the columns",
                "values that differ in at least one column",
                "leave one of them out",
            )
        codes[has] = level
    return Attribute(" / ".join(map(str, columns)), tuple(label_text(k) for k in assignments), codes, held)


def _selected(found: Attribute, values: Sequence[Hashable]) -> Attribute:
    several = isinstance(values, (list, tuple)) or (isinstance(values, np.ndarray) and values.ndim == 1)
    check_that(several, "values", values, "a list of values", "values=['F', 'M']")
    keep = [group_index(found.labels, value, "values") for value in values]
    wanted = [found.labels[k] for k in keep]
    check_names("values", wanted, found.labels)
    place = np.full(len(found.labels) + 1, MISSING, dtype=np.int64)
    place[keep] = np.arange(len(keep))
    columns = {name: tuple(held[j] for j in keep) for name, held in found.columns.items()}
    return replace(found, labels=tuple(wanted), codes=place[found.codes], columns=columns)
