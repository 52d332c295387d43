"""Probabilities of groups and true groups beside them: what `sensitive_probabilities=` brings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairstats.ground import checks
from fairstats.ground.checks import Floats
from fairstats.ground.encoding import as_float_column
from fairstats.ground.errors import InputError
from fairstats.ground.factors import MISSING
from fairstats.ground.groups import find_group, listed_groups, sensitive_columns
from fairstats.ground.values import factorize, label_text

ARGUMENT = "sensitive_probabilities"
#: How far the probabilities of a row may be from a sum of 1, as rounded ones are.
_SUM_TOLERANCE = 0.02
_ALLOWED = "a column of probabilities for each group: a frame or a mapping by name, or an array"
_CURE = 'sensitive_probabilities=frame[["f", "m"]], or {"f": p, "m": 1 - p}'


def read_probabilities(
    probabilities: Any, groups: Any = None, argument: str = ARGUMENT
) -> dict[str, Floats]:
    """Group → column of its probabilities, as given, NaN where missing.

    `groups`: names of the columns of an array, or the order of those of a frame.
    """
    if isinstance(probabilities, np.ndarray) and probabilities.ndim == 2:
        names = [str(number) for number in range(probabilities.shape[1])]
        if groups is not None:
            names = [label_text(group) for group in listed_groups(groups, names)]
        fits = len(set(names)) == probabilities.shape[1]
        checks.check_that(fits, "groups", groups, "a name for each column of the probabilities")
        columns: dict[str, Any] = {}
        for number, name in enumerate(names):
            columns[name] = probabilities[:, number]
    else:
        named = isinstance(probabilities, Mapping) or hasattr(probabilities, "columns")
        if not named:
            raise InputError(
                argument, got=checks.shown(probabilities), allowed=_ALLOWED, cure=_CURE
            )
        columns = sensitive_columns(probabilities)
        if groups is not None:
            columns = _in_order(columns, groups, argument)
    if len(columns) < 2:
        raise InputError(argument, got=f"{len(columns)} columns", allowed=_ALLOWED, cure=_CURE)
    result = {}
    for name, column in columns.items():
        result[name] = as_float_column(column, f"{argument}[{name!r}]")
    lengths = {f"{argument}[{name!r}]": column.size for name, column in result.items()}
    checks.check_one_length(argument, lengths)
    return result


def _in_order(columns: dict[str, Any], groups: Any, argument: str) -> dict[str, Any]:
    names = [label_text(group) for group in listed_groups(groups, list(columns))]
    same = sorted(names) == sorted(columns)
    if argument == ARGUMENT:
        allowed = f"the columns {checks.listed(list(columns))}"
        checks.check_that(same, "groups", names, allowed)
    allowed = f"columns of probabilities of {checks.listed(names)}"
    checks.check_that(same, argument, checks.listed(list(columns)), allowed)
    return {name: columns[name] for name in names}


def as_shares(columns: Mapping[str, Floats], argument: str = ARGUMENT) -> Floats:
    """The columns as an array (n, G) whose rows sum to 1; an error where they do not by far."""
    shares = np.column_stack(list(columns.values()))
    outside = ~((shares >= 0) & (shares <= 1)).all(axis=1)
    if outside.any():
        row = int(np.flatnonzero(outside)[0])
        raise InputError(
            argument,
            got=f"{int(outside.sum()):,} rows with values outside 0 to 1 (row {row}:"
            f" {', '.join(f'{value:g}' for value in shares[row])})",
            allowed="probabilities from 0 to 1",
            cure="divide percentages by 100",
        )
    sums = shares.sum(axis=1)
    off = np.abs(sums - 1) > _SUM_TOLERANCE
    if off.any():
        row = int(np.flatnonzero(off)[0])
        raise InputError(
            argument,
            got=f"{int(off.sum()):,} rows whose probabilities do not sum to 1 (row {row}:"
            f" {sums[row]:g})",
            allowed="a probability for every group, which sum to 1 in each row",
            cure="add a column for all other groups, such as 1 less the sum of the others",
        )
    return np.asarray(shares / sums[:, None])


def as_true_groups(values: Any, names: Sequence[str], argument: str) -> NDArray[np.int64]:
    """Position of the true group of every row among the names, `MISSING` where it is not known."""
    factor = factorize(values, argument)
    positions = np.full(len(factor.levels) + 1, MISSING, dtype=np.int64)
    for code, level in enumerate(factor.levels):
        place = find_group(names, level)
        if place is None:
            if not (factor.codes == code).any():
                continue
            raise InputError(
                argument,
                got=f"the group {label_text(level)!r}",
                allowed=f"the groups that have probabilities: {checks.listed(names)}",
                cure=f"name the columns of {ARGUMENT}= as the groups are named",
            )
        positions[code] = place
    return np.asarray(positions[factor.codes])
