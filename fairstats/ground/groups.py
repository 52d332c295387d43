"""Groups: one sensitive column or the intersections of several, in an order that is never an accident.

The order is the one that the user gives (``groups=``) or that a categorical column declares; otherwise the
largest group comes first, and groups of one size stand in the order of their labels.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairstats.ground.encoding import MISSING, Factor, as_column, factorize, label_text
from fairstats.ground.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Grouping", "encode_groups", "find_reference", "group_index", "sensitive_columns"]

#: Name of the group of rows whose sensitive value is missing, under ``missing="group"``.
MISSING_GROUP = "(missing)"
#: More intersections than this are listed only where they occur.
MAX_CROSSED = 256
#: More combinations than this are refused: such columns are identifiers.
MAX_CODES = 2**62
INTERSECTION = " & "


@dataclass(frozen=True)
class Grouping:
    """Group codes of the rows.

    Attributes
    ----------
    codes : ndarray of int, shape (n,)
        Position in `labels`, -1 where missing.
    labels : tuple of str
        Names in tables; intersections read ``"Female & Black"``.
    levels : tuple
        The values themselves; a tuple for an intersection.
    attributes : tuple of str
        Names of the sensitive columns.
    n_missing : int
        Rows put into the group "(missing)".
    """

    codes: NDArray[np.signedinteger[Any]]
    labels: tuple[str, ...]
    levels: tuple[Hashable, ...]
    attributes: tuple[str, ...]
    n_missing: int = 0


def encode_groups(
    sensitive_features: Any, *, missing: str = "raise", groups: Sequence[Hashable] | None = None
) -> Grouping:
    """Codes of one sensitive column, or of the intersections of several.

    Parameters
    ----------
    sensitive_features : array-like (n,) or (n, k), data frame, or mapping of name to column
        One column is one attribute; several are crossed.
    missing : {"raise", "drop", "group"}
        Under "group" a missing value is a level of its own.
    groups : sequence, optional
        Explicit order of the groups, by value or by label. A group without rows stays in the table.

    Raises
    ------
    InputError
        If `groups` leaves out a value that occurs.
    """
    columns = sensitive_columns(sensitive_features)
    factors: dict[str, Factor] = {}
    n_missing = 0
    for name, column in columns.items():
        factor = factorize(column, "sensitive_features")
        if missing == "group" and factor.has_missing:
            absent = factor.codes == MISSING
            n_missing += int(absent.sum())
            codes = np.where(absent, len(factor.levels), factor.codes)
            factor = Factor(codes, (*factor.levels, MISSING_GROUP), factor.ordered_by_user)
        factors[name] = factor
    lengths = {name: factor.codes.size for name, factor in factors.items()}
    if len(set(lengths.values())) > 1:
        raise InputError(
            "sensitive_features",
            got="columns of different lengths: " + ", ".join(f"{k} {v:,}" for k, v in lengths.items()),
            allowed="columns of one length",
            cure="take all columns from the same rows",
        )
    factor = next(iter(factors.values())) if len(factors) == 1 else _cross(factors)
    ordered = _ordered(factor, groups)
    return Grouping(ordered.codes, _labels(ordered.levels), ordered.levels, tuple(factors), n_missing)


def sensitive_columns(sensitive_features: Any) -> dict[str, Any]:
    """Named columns; several columns are several attributes."""
    if isinstance(sensitive_features, Mapping):
        named = {str(name): column for name, column in sensitive_features.items()}
        if not named:
            raise InputError("sensitive_features", got="an empty mapping", allowed="at least one column")
        return named
    if isinstance(sensitive_features, pd.DataFrame):
        if not sensitive_features.columns.is_unique:
            raise InputError(
                "sensitive_features",
                got=f"two columns of one name: {list(sensitive_features.columns)!r}",
                allowed="columns with different names",
                cure="rename one of them",
            )
        return {str(name): sensitive_features[name] for name in sensitive_features.columns}
    if isinstance(sensitive_features, (pd.Series, pd.Index)):
        return {str(sensitive_features.name or "group"): sensitive_features}
    if isinstance(sensitive_features, np.ndarray) and sensitive_features.ndim == 2:
        return {f"feature_{j}": sensitive_features[:, j] for j in range(sensitive_features.shape[1])}
    if isinstance(sensitive_features, (list, tuple)) and sensitive_features:
        first = sensitive_features[0]
        if isinstance(first, (list, tuple)):
            widths = {len(row) if isinstance(row, (list, tuple)) else 0 for row in sensitive_features}
            if len(widths) > 1:
                raise InputError(
                    "sensitive_features",
                    got=f"rows with {', '.join(map(str, sorted(widths)))} values",
                    allowed="the same number of attributes in every row",
                    cure="fill the gaps with None and pass missing=",
                )
            return {f"feature_{j}": list(c) for j, c in enumerate(zip(*sensitive_features, strict=True))}
    if not isinstance(sensitive_features, (np.ndarray, list, tuple, pd.Categorical)):
        import narwhals as nw

        native = nw.from_native(sensitive_features, allow_series=True, pass_through=True)
        if isinstance(native, nw.LazyFrame):
            native = native.collect()
        if isinstance(native, nw.DataFrame):
            return {name: native[name].to_native() for name in native.columns}
        if isinstance(native, nw.Series):
            return {native.name or "group": sensitive_features}
    return {"group": as_column(sensitive_features, "sensitive_features")}


def _cross(factors: dict[str, Factor]) -> Factor:
    """Intersections of several factors; a combination without rows is kept while there are few."""
    parts = list(factors.values())
    sizes = [len(f.levels) for f in parts]
    n_combinations = prod(sizes)
    if n_combinations > MAX_CODES:
        raise InputError(
            "sensitive_features",
            got=f"columns with {' × '.join(map(str, sizes))} values",
            allowed="attributes whose combinations can be counted",
            cure="leave out identifiers and continuous columns, or bin them",
        )
    code = np.zeros(parts[0].codes.size, dtype=np.int64)
    absent = np.zeros(code.size, dtype=bool)
    for part, size in zip(parts, sizes, strict=True):
        absent |= part.codes == MISSING
        code = code * size + part.codes
    code[absent] = MISSING
    if n_combinations > MAX_CROSSED:
        seen = np.unique(code[~absent])
        code = np.where(absent, MISSING, np.searchsorted(seen, code))
    else:
        seen = np.arange(n_combinations)
    positions = np.unravel_index(seen, sizes)
    levels = tuple(
        tuple(part.levels[i] for part, i in zip(parts, where, strict=True))
        for where in zip(*(p.tolist() for p in positions), strict=True)
    )
    return Factor(code, levels, all(f.ordered_by_user for f in parts))


def _labels(levels: tuple[Hashable, ...]) -> tuple[str, ...]:
    texts = [
        INTERSECTION.join(label_text(v) for v in level) if isinstance(level, tuple) else label_text(level)
        for level in levels
    ]
    if len(set(texts)) < len(texts):  # 1 and "1", say
        texts = [f"{level!r}" for level in levels]
    return tuple(texts)


def _ordered(factor: Factor, groups: Sequence[Hashable] | None) -> Factor:
    """The same factor with its levels in the order asked for, declared, or by decreasing size."""
    known = factor.codes[factor.codes != MISSING] if factor.has_missing else factor.codes
    sizes = np.bincount(known, minlength=len(factor.levels))[: len(factor.levels)]
    labels = _labels(factor.levels)
    if groups is not None:
        return _as_listed(factor, groups, labels, sizes)
    if factor.ordered_by_user:
        return factor
    order = sorted(range(len(labels)), key=lambda g: (-int(sizes[g]), labels[g]))
    return _reordered(factor, order)


def _reordered(factor: Factor, order: Sequence[int]) -> Factor:
    position = np.empty(len(order) + 1, dtype=factor.codes.dtype if len(order) < 127 else np.int64)
    position[list(order)] = np.arange(len(order))
    position[-1] = MISSING
    return Factor(position[factor.codes], tuple(factor.levels[g] for g in order), True)


def _as_listed(
    factor: Factor, groups: Sequence[Hashable], labels: tuple[str, ...], sizes: NDArray[np.int64]
) -> Factor:
    if isinstance(groups, str) or not isinstance(groups, (Sequence, np.ndarray, pd.Index, pd.Series)):
        raise InputError(
            "groups",
            got=repr(groups),
            allowed="a list of all groups in order",
            cure=f"groups={list(labels)!r}",
        )
    wanted = [tuple(g) if isinstance(g, list) else g for g in groups]
    wanted_labels = _labels(tuple(wanted))
    left_out = [
        label for label, level, size in zip(labels, factor.levels, sizes, strict=True)
        if size and label not in wanted_labels and level not in wanted
    ]  # fmt: skip
    if left_out or len(set(wanted_labels)) < len(wanted_labels):
        raise InputError(
            "groups",
            got=f"{list(groups)!r}" + (f", without {', '.join(map(repr, left_out))}" if left_out else ""),
            allowed="every group that occurs, each once, in the order wanted",
            cure="list all groups; filter the rows first to leave some out",
        )
    place = {label: i for i, label in enumerate(wanted_labels)}
    position = np.full(len(labels) + 1, MISSING, dtype=np.int64)
    for g, (label, level) in enumerate(zip(labels, factor.levels, strict=True)):
        if label in place:
            position[g] = place[label]
        elif level in wanted:
            position[g] = wanted.index(level)
    return Factor(position[factor.codes], tuple(wanted), True)


def group_index(
    labels: Sequence[str], group: Hashable, argument: str, levels: Sequence[Hashable] | None = None
) -> int:
    """Position of a group named by value or by label.

    Raises
    ------
    InputError
        If there is no such group.
    """
    if levels is not None and group in levels:
        return list(levels).index(group)
    text = INTERSECTION.join(map(label_text, group)) if isinstance(group, tuple) else label_text(group)
    if isinstance(group, str) and repr(group) in labels:  # the text "1" beside the number 1
        return list(labels).index(repr(group))
    if text in labels:
        return list(labels).index(text)
    raise InputError(
        argument,
        got=repr(group),
        allowed="one of " + ", ".join(map(repr, labels)),
        cure="name an existing group",
    )


def find_reference(
    labels: Sequence[str],
    reference: Hashable | None,
    *,
    sizes: NDArray[Any],
    rates: NDArray[np.float64] | None = None,
) -> tuple[int, str]:
    """Position of the reference group and the rule that chose it.

    Parameters
    ----------
    labels : sequence of str
        Groups in their order.
    reference : hashable, "largest", "highest" or None
        A group; None and "largest" take the group with most rows (the first of equals); "highest" the one
        with the highest rate, as the US four-fifths rule does.
    sizes : ndarray, shape (G,)
        Rows per group.
    rates : ndarray, shape (G,), optional
        Rate per group, for "highest".

    Returns
    -------
    index : int
    rule : {"named", "largest", "highest"}
    """
    if reference is not None and label_text(reference) in labels:
        return group_index(labels, reference, "reference"), "named"
    if reference is None or reference == "largest":
        return int(np.argmax(sizes)), "largest"
    if reference == "highest" and rates is not None:
        if np.isnan(rates).all():
            return int(np.argmax(sizes)), "largest"
        return int(np.nanargmax(rates)), "highest"
    return group_index(labels, reference, "reference"), "named"
