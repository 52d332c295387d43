"""Groups, of one sensitive column or intersections of several, in the order given or declared, or by size and label."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from fairstats.ground import checks
from fairstats.ground.checks import Floats
from fairstats.ground.containers import as_column, as_narwhals, from_r, is_of_r
from fairstats.ground.errors import DataWarning, InputError, caution
from fairstats.ground.factors import MISSING, Factor
from fairstats.ground.lazy import pd
from fairstats.ground.values import factorize, label_text

#: Name of the group of rows whose sensitive value is missing, under ``missing="group"``.
MISSING_GROUP = "(missing)"
#: More intersections are listed only where they occur; more combinations are refused: such columns are identifiers.
MAX_CROSSED, MAX_CODES = 256, 2**62
INTERSECTION = " & "


@dataclass(frozen=True)
class Grouping:
    """Group codes of the rows.

    `codes`, shape (n,): position in `labels`, -1 where missing; `labels`: names in tables, as ``"Female & Black"``;
    `levels`: the values, of an intersection a tuple; `attributes`: the columns; `n_missing`: rows in "(missing)".
    """

    codes: NDArray[np.signedinteger[Any]]
    labels: tuple[str, ...]
    levels: tuple[Hashable, ...]
    attributes: tuple[str, ...]
    n_missing: int = 0


def encode_groups(
    sensitive_features: Any, *, missing: str = "raise", groups: Sequence[Hashable] | None = None,
    number: NDArray[np.int64] | None = None,
) -> Grouping:  # fmt: skip
    """Codes of one sensitive column, or of the intersections of several.

    Under ``missing="group"`` a missing value is a level of its own; `groups`: the order, by value or by label, an error
    where it leaves out a value that occurs; `number`: rows that each row stands for. Declared values without rows are
    no groups, and a warning names them, unless `groups` lists them.
    """
    factors: dict[str, Factor] = {}
    n_missing = 0
    for name, column in sensitive_columns(sensitive_features).items():
        factor = factorize(column, "sensitive_features")
        if groups is None:
            say_what_is_empty(name, factor)
        if missing == "group" and factor.has_missing:
            absent = factor.codes == MISSING
            n_missing += int(absent.sum() if number is None else number[absent].sum())
            codes, own = np.where(absent, len(factor.levels), factor.codes), MISSING_GROUP
            while own in factor.levels:  # a real value
                own = f"({own})"
            factor = Factor(codes, (*factor.levels, own), factor.ordered_by_user)
        factors[name] = factor
    checks.check_one_length("sensitive_features", {name: factor.codes.size for name, factor in factors.items()})
    if len(factors) == 1:
        factor = next(iter(factors.values()))
    else:
        factor = _cross(list(factors.values()), only_seen=_is_list_of_tuples(sensitive_features))
    ordered = _ordered(factor, groups, number)
    return Grouping(ordered.codes, _labels(ordered.levels), ordered.levels, tuple(factors), n_missing)


def say_what_is_empty(name: str, factor: Factor) -> None:
    """Name the values that a column declares and no row has: they are no groups."""
    empty = [level for level in factor.declared if level not in factor.levels]
    if empty:
        have = f"{checks.listed(empty, 8)} {'have' if len(empty) > 1 else 'has'} no rows, and no place among the groups"
        text = f"{name}: of the declared values {have}; where an argument lists the groups, it keeps them."
        caution(text, DataWarning)


def sensitive_columns(sensitive_features: Any) -> dict[str, Any]:
    """Named columns; several columns are several attributes."""
    found = [(str(name), column) for name, column in _columns_of(sensitive_features)]
    if not found:
        got, allowed = f"no columns ({checks.shown(sensitive_features)})", "one column or several"
        raise InputError("sensitive_features", got=got, allowed=allowed, cure="add a column")
    checks.check_different("sensitive_features", (name for name, _ in found))
    return dict(found)


def _is_list_of_tuples(given: Any) -> bool:
    """Whether the groups come as a list of tuples: each is a value by itself, and none is made up by crossing."""
    return isinstance(given, (list, tuple)) and bool(given) and isinstance(given[0], tuple)


def _columns_of(given: Any) -> Iterable[tuple[Any, Any]]:
    """Columns with their names, of a mapping, frame, array, list of rows, or the one column."""
    if type(given) is np.ndarray and given.ndim == 1:
        return [("group", given)]
    if is_of_r(given):
        given = from_r(given, "sensitive_features")
    if isinstance(given, Mapping):
        return given.items()
    if isinstance(given, pd.DataFrame):
        return ((name, given.iloc[:, j]) for j, name in enumerate(given.columns))
    if isinstance(given, (pd.Series, pd.Index)):
        return [(given.name if checks.is_plain(given.name) and given.name else "group", given)]
    if isinstance(given, np.ndarray) and given.ndim == 2:
        return ((f"feature_{j}", given[:, j]) for j in range(given.shape[1]))
    if isinstance(given, (list, tuple)) and given and isinstance(given[0], (list, tuple)):
        widths = {len(row) if isinstance(row, (list, tuple)) else 0 for row in given}
        if len(widths) > 1:
            got = f"rows with {', '.join(map(str, sorted(widths)))} values"
            allowed, cure = "the same number of attributes in every row", "fill the gaps with None and pass missing="
            raise InputError("sensitive_features", got=got, allowed=allowed, cure=cure)
        return ((f"feature_{j}", list(column)) for j, column in enumerate(zip(*given, strict=True)))
    if not isinstance(given, (np.ndarray, list, tuple, pd.Categorical)):
        native = as_narwhals(given)
        if isinstance(native, nw.DataFrame):
            return ((name, native[name].to_native()) for name in native.columns)
        if isinstance(native, nw.Series):
            return [(native.name or "group", given)]
    return [("group", as_column(given, "sensitive_features"))]


def _cross(parts: list[Factor], *, only_seen: bool = False) -> Factor:
    """Intersections of several factors; a combination without rows is kept while there are few, or not at all."""
    sizes = [len(f.levels) for f in parts]
    n_combinations = prod(sizes)
    if n_combinations > MAX_CODES:
        got, cure = " × ".join(map(str, sizes)), "leave out identifiers and continuous columns, or bin them"
        allowed = "attributes whose combinations can be counted"
        raise InputError("sensitive_features", got=f"columns with {got} values", allowed=allowed, cure=cure)
    code = np.zeros(parts[0].codes.size, dtype=np.int64)
    absent = np.zeros(code.size, dtype=bool)
    for part, size in zip(parts, sizes, strict=True):
        absent |= part.codes == MISSING
        code = code * size + part.codes
    code[absent] = MISSING
    if only_seen or n_combinations > MAX_CROSSED:
        seen = np.unique(code[~absent])
        code = np.where(absent, MISSING, np.searchsorted(seen, code))
    else:
        seen = np.arange(n_combinations)
    positions = np.column_stack(np.unravel_index(seen, sizes)).tolist()
    levels = tuple(tuple(part.levels[i] for part, i in zip(parts, where, strict=True)) for where in positions)
    return Factor(code, levels, all(f.ordered_by_user for f in parts))


def _labels(levels: tuple[Hashable, ...]) -> tuple[str, ...]:
    texts = tuple(map(_text, levels))  # alike of ("a & b", "c") and ("a", "b & c"), say
    return texts if len(set(texts)) == len(texts) else tuple(map(repr, levels))


def _ordered(factor: Factor, groups: Sequence[Hashable] | None, number: NDArray[np.int64] | None) -> Factor:
    """The same factor with its levels in the order asked for, declared, or by decreasing size."""
    present = factor.codes != MISSING if factor.has_missing else slice(None)
    rows = None if number is None else number[present]
    sizes = np.bincount(factor.codes[present], rows, len(factor.levels))[: len(factor.levels)]
    labels = _labels(factor.levels)
    if groups is not None:
        return _as_listed(factor, groups, labels, sizes)
    if factor.ordered_by_user:
        return factor
    order = sorted(range(len(labels)), key=lambda g: (-int(sizes[g]), labels[g]))
    position = np.empty(len(order) + 1, dtype=factor.codes.dtype if len(order) < 127 else np.int64)
    position[list(order)] = np.arange(len(order))
    position[-1] = MISSING
    return Factor(position[factor.codes], tuple(factor.levels[g] for g in order), True)


def _as_listed(factor: Factor, groups: Sequence[Hashable], labels: tuple[str, ...], sizes: NDArray[np.int64]) -> Factor:
    fine = isinstance(groups, (Sequence, np.ndarray, pd.Index, pd.Series)) and not isinstance(groups, (str, bytes))
    fine = fine and not (isinstance(groups, np.ndarray) and groups.ndim == 0)
    checks.check_that(fine, "groups", groups, "a list of all groups in order", f"groups={list(labels)!r}")
    wanted = [tuple(g) if isinstance(g, list) else g for g in groups]
    for group in wanted:
        checks.check_label("groups", group, "values or labels of groups", f"groups={list(labels)!r}")
    found = [find_group(labels, group, factor.levels) for group in wanted]
    left_out = [label for g, (label, n) in enumerate(zip(labels, sizes, strict=True)) if n and g not in found]
    final = tuple(g if at is None else factor.levels[at] for g, at in zip(wanted, found, strict=True))
    if left_out or len(set(_labels(final))) < len(final) or len(set(final)) < len(final):
        got = f"{list(groups)!r}" + (f", without {', '.join(map(repr, left_out))}" if left_out else "")
        allowed = "every group that occurs, each once, in the order wanted"
        cure = "list all groups; filter the rows first to leave some out"
        raise InputError("groups", got=got, allowed=allowed, cure=cure)
    position = np.full(len(labels) + 1, MISSING, dtype=np.int64)
    for place, at in enumerate(found):
        if at is not None:
            position[at] = place
    return Factor(position[factor.codes], final, True)


def find_group(labels: Sequence[str], group: Hashable, levels: Sequence[Hashable] | None = None) -> int | None:
    """Position of a group by its value, or by a text that stands for it; None where there is no such group.

    1, 1.0, ``np.float64(1)`` and True are one value; so are a day and its timestamp.
    """
    if isinstance(group, np.generic) and not isinstance(group, np.datetime64):
        group = group.item()  # NumPy compares with every entry of a tuple
    if levels is not None and group in levels:
        return list(levels).index(group)
    texts = [_text(group), repr(group)]
    if isinstance(group, (bool, np.bool_)):
        texts.append(str(int(group)))
    elif not isinstance(group, (str, tuple)) and label_text(group) in ("0", "1"):
        texts.append(str(label_text(group) == "1"))
    elif isinstance(group, tuple):
        parts = [label.split(INTERSECTION) for label in labels]
        texts += [
            INTERSECTION.join(own)
            for own in parts
            if len(own) == len(group)
            and all(find_group([text], value) == 0 for text, value in zip(own, group, strict=True))
        ]
    return next((list(labels).index(text) for text in texts if text in labels), None)


def _text(group: Hashable) -> str:
    return INTERSECTION.join(map(label_text, group)) if isinstance(group, tuple) else label_text(group)


def group_index(labels: Sequence[str], group: Hashable, argument: str, levels: Sequence[Hashable] | None = None) -> int:
    """Position of a group named by value or by label; an error if there is no such group."""
    found = find_group(labels, group, levels) if checks.is_plain(group) else None
    if found is None:
        allowed = "one of " + checks.listed(labels)
        raise InputError(argument, got=checks.shown(group), allowed=allowed, cure="name an existing group")
    return found


def find_reference(
    labels: Sequence[str], reference: Hashable | None, *, sizes: NDArray[Any], rates: Floats | None = None
) -> tuple[int, str]:
    """Position of the reference group and the rule that chose it, "named", "largest" or "highest".

    None and "largest" take the group with most rows (the first of equals); "highest" that with the highest of the
    `rates`, as the US four-fifths rule does. A group without a name, as published counts may have it, is neither.
    """
    rule = reference if isinstance(reference, str) and reference not in labels else None
    if "" in labels and len(labels) > 1 and (reference is None or rule in ("largest", "highest")):
        named = np.array([label != "" for label in labels])
        sizes = np.where(named, sizes, -1)
        rates = None if rates is None else np.where(named, rates, np.nan)
    if reference is None or rule == "largest":
        return int(np.argmax(sizes)), "largest"
    if rule == "highest" and rates is not None:
        known = not np.isnan(rates).all()
        return (int(np.nanargmax(rates)), "highest") if known else (int(np.argmax(sizes)), "largest")
    return group_index(labels, reference, "reference"), "named"
