"""Groups, of one sensitive column or intersections of several, in the order given or declared, or
by size and label.
"""

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
#: More intersections are listed only where they occur; more combinations are refused: such columns
#: are identifiers.
MAX_CROSSED = 256
MAX_CODES = 2**62
INTERSECTION = " & "


@dataclass(frozen=True)
class Grouping:
    """Group codes of the rows.

    `codes`, shape (n,): position in `labels`, -1 where missing; `labels`: names in tables, as
    ``"Female & Black"``; `levels`: the values, of an intersection a tuple; `attributes`: the
    columns; `n_missing`: rows in "(missing)".
    """

    codes: NDArray[np.signedinteger[Any]]
    labels: tuple[str, ...]
    levels: tuple[Hashable, ...]
    attributes: tuple[str, ...]
    n_missing: int = 0


def encode_groups(
    sensitive_features: Any,
    *,
    missing: str = "raise",
    groups: Sequence[Hashable] | None = None,
    number: NDArray[np.int64] | None = None,
) -> Grouping:
    """Codes of one sensitive column, or of the intersections of several.

    Under ``missing="group"`` a missing value is a level of its own; `groups`: the order, by value
    or by label, an error where it leaves out a value that occurs; `number`: rows that each row
    stands for. Declared values without rows are no groups, and a warning names them, unless
    `groups` lists them.
    """
    factors: dict[str, Factor] = {}
    n_missing = 0
    for attribute_name, column in sensitive_columns(sensitive_features).items():
        factor = factorize(column, "sensitive_features")
        if groups is None:
            say_what_is_empty(attribute_name, factor)
        if missing == "group" and factor.has_missing:
            is_missing = factor.codes == MISSING
            n_missing += int(is_missing.sum() if number is None else number[is_missing].sum())
            codes = np.where(is_missing, len(factor.levels), factor.codes)
            missing_label = MISSING_GROUP
            while missing_label in factor.levels:  # a real value
                missing_label = f"({missing_label})"
            factor = Factor(codes, (*factor.levels, missing_label), factor.ordered_by_user)
        factors[attribute_name] = factor
    checks.check_one_length(
        "sensitive_features",
        {attribute_name: factor.codes.size for attribute_name, factor in factors.items()},
    )
    if len(factors) == 1:
        factor = next(iter(factors.values()))
    else:
        factor = _cross_factors(
            list(factors.values()), only_seen=_is_list_of_tuples(sensitive_features)
        )
    ordered = _order_levels(factor, groups, number)
    return Grouping(
        codes=ordered.codes,
        labels=_label_groups(ordered.levels),
        levels=ordered.levels,
        attributes=tuple(factors),
        n_missing=n_missing,
    )


def say_what_is_empty(name: str, factor: Factor) -> None:
    """Name the values that a column declares and no row has: they are no groups."""
    empty_levels = []
    for level in factor.declared:
        if level not in factor.levels:
            empty_levels.append(level)
    if empty_levels:
        empty_words = (
            f"{checks.listed(empty_levels, 8)} {'have' if len(empty_levels) > 1 else 'has'} no rows, and no place"
            " among the groups"
        )
        warning_text = (
            f"{name}: of the declared values {empty_words}; where an argument lists the groups, it keeps"
            " them."
        )
        caution(warning_text, DataWarning)


def sensitive_columns(sensitive_features: Any) -> dict[str, Any]:
    """Named columns; several columns are several attributes."""
    named_columns = []
    for attribute_name, column in _columns_of(sensitive_features):
        named_columns.append((str(attribute_name), column))
    if not named_columns:
        received = f"no columns ({checks.shown(sensitive_features)})"
        allowed = "one column or several"
        raise InputError("sensitive_features", got=received, allowed=allowed, cure="add a column")
    checks.check_different(
        "sensitive_features", (attribute_name for attribute_name, _ in named_columns)
    )
    return dict(named_columns)


def _is_list_of_tuples(sensitive_features: Any) -> bool:
    """Whether the groups come as a list of tuples.

    Each is a value by itself, and none is made up by crossing.
    """
    return (
        isinstance(sensitive_features, (list, tuple))
        and bool(sensitive_features)
        and isinstance(sensitive_features[0], tuple)
    )


def _columns_of(sensitive_features: Any) -> Iterable[tuple[Any, Any]]:
    """Columns with their names, of a mapping, frame, array, list of rows, or the one column."""
    if type(sensitive_features) is np.ndarray and sensitive_features.ndim == 1:
        return [("group", sensitive_features)]
    if is_of_r(sensitive_features):
        sensitive_features = from_r(sensitive_features, "sensitive_features")
    if isinstance(sensitive_features, Mapping):
        return sensitive_features.items()
    if isinstance(sensitive_features, pd.DataFrame):
        return (
            (attribute_name, sensitive_features.iloc[:, feature_number])
            for feature_number, attribute_name in enumerate(sensitive_features.columns)
        )
    if isinstance(sensitive_features, (pd.Series, pd.Index)):
        return [
            (
                sensitive_features.name
                if checks.is_plain(sensitive_features.name) and sensitive_features.name
                else "group",
                sensitive_features,
            )
        ]
    if isinstance(sensitive_features, np.ndarray) and sensitive_features.ndim == 2:
        return (
            (f"feature_{feature_number}", sensitive_features[:, feature_number])
            for feature_number in range(sensitive_features.shape[1])
        )
    if (
        isinstance(sensitive_features, (list, tuple))
        and sensitive_features
        and isinstance(sensitive_features[0], (list, tuple))
    ):
        widths = set()
        for feature_row in sensitive_features:
            widths.add(len(feature_row) if isinstance(feature_row, (list, tuple)) else 0)
        if len(widths) > 1:
            received = f"rows with {', '.join(map(str, sorted(widths)))} values"
            allowed = "the same number of attributes in every row"
            advice = "fill the gaps with None and pass missing="
            raise InputError("sensitive_features", got=received, allowed=allowed, cure=advice)
        return (
            (f"feature_{feature_number}", list(column))
            for feature_number, column in enumerate(zip(*sensitive_features, strict=True))
        )
    if not isinstance(sensitive_features, (np.ndarray, list, tuple, pd.Categorical)):
        narwhals_object = as_narwhals(sensitive_features)
        if isinstance(narwhals_object, nw.DataFrame):
            return (
                (attribute_name, narwhals_object[attribute_name].to_native())
                for attribute_name in narwhals_object.columns
            )
        if isinstance(narwhals_object, nw.Series):
            return [(narwhals_object.name or "group", sensitive_features)]
    return [("group", as_column(sensitive_features, "sensitive_features"))]


def _cross_factors(factors: list[Factor], *, only_seen: bool = False) -> Factor:
    """Intersections of several factors.

    A combination without rows is kept while there are few, or not at all.
    """
    sizes = [len(factor.levels) for factor in factors]
    n_combinations = prod(sizes)
    if n_combinations > MAX_CODES:
        received = " × ".join(map(str, sizes))
        advice = "leave out identifiers and continuous columns, or bin them"
        allowed = "attributes whose combinations can be counted"
        raise InputError(
            "sensitive_features",
            got=f"columns with {received} values",
            allowed=allowed,
            cure=advice,
        )
    crossed_codes = np.zeros(factors[0].codes.size, dtype=np.int64)
    is_missing = np.zeros(crossed_codes.size, dtype=bool)
    for each_factor, size in zip(factors, sizes, strict=True):
        is_missing |= each_factor.codes == MISSING
        crossed_codes = crossed_codes * size + each_factor.codes
    crossed_codes[is_missing] = MISSING
    if only_seen or n_combinations > MAX_CROSSED:
        occurring_codes = np.unique(crossed_codes[~is_missing])
        crossed_codes = np.where(
            is_missing, MISSING, np.searchsorted(occurring_codes, crossed_codes)
        )
    else:
        occurring_codes = np.arange(n_combinations)
    positions = np.column_stack(np.unravel_index(occurring_codes, sizes)).tolist()
    levels = tuple(
        tuple(
            each_factor.levels[level_position]
            for each_factor, level_position in zip(factors, position_tuple, strict=True)
        )
        for position_tuple in positions
    )
    return Factor(crossed_codes, levels, all(factor.ordered_by_user for factor in factors))


def _label_groups(levels: tuple[Hashable, ...]) -> tuple[str, ...]:
    texts = tuple(map(_group_text, levels))  # alike of ("a & b", "c") and ("a", "b & c"), say
    if len(set(texts)) == len(texts):
        return texts
    return tuple(map(repr, levels))


def _order_levels(
    factor: Factor, groups: Sequence[Hashable] | None, number: NDArray[np.int64] | None
) -> Factor:
    """The same factor with its levels in the order asked for, declared, or by decreasing size."""
    if factor.has_missing:
        known_rows = factor.codes != MISSING
    else:
        known_rows = slice(None)
    if number is None:
        row_numbers = None
    else:
        row_numbers = number[known_rows]
    sizes = np.bincount(factor.codes[known_rows], row_numbers, len(factor.levels))[
        : len(factor.levels)
    ]
    labels = _label_groups(factor.levels)
    if groups is not None:
        return _as_listed(factor, groups, labels, sizes)
    if factor.ordered_by_user:
        return factor
    group_order = sorted(
        range(len(labels)),
        key=lambda group_position: (-int(sizes[group_position]), labels[group_position]),
    )
    new_position = [MISSING] * (len(group_order) + 1)  # the last: of a missing value
    for place, group_position in enumerate(group_order):
        new_position[group_position] = place
    type_of_codes = factor.codes.dtype if len(group_order) < 127 else np.int64
    return Factor(
        np.array(new_position, dtype=type_of_codes)[factor.codes],
        tuple(factor.levels[group_position] for group_position in group_order),
        True,
    )


def listed_groups(groups: Sequence[Hashable], labels: Sequence[str]) -> list[Hashable]:
    """The entries of `groups`, an order of groups by the user; an error where it is no such list.

    `labels`: what the groups are called, for the error.
    """
    example = f"groups={list(labels)!r}"
    is_list = isinstance(groups, (Sequence, np.ndarray, pd.Index, pd.Series))
    is_text = isinstance(groups, (str, bytes))
    is_scalar = isinstance(groups, np.ndarray) and groups.ndim == 0
    fits = is_list and not is_text and not is_scalar
    checks.check_that(fits, "groups", groups, "a list of all groups in order", example)
    wanted_groups = []
    for group in groups:
        wanted_group = tuple(group) if isinstance(group, list) else group
        checks.check_label("groups", wanted_group, "values or labels of groups", example)
        wanted_groups.append(wanted_group)
    return wanted_groups


def _as_listed(
    factor: Factor,
    groups: Sequence[Hashable],
    labels: tuple[str, ...],
    sizes: NDArray[np.int64],
) -> Factor:
    """The factor with the groups in the order of a list, which names every one that occurs."""
    wanted_groups = listed_groups(groups, labels)
    found_positions = [find_group(labels, group, factor.levels) for group in wanted_groups]
    left_out = []
    for wanted_group, (label, n_rows) in enumerate(zip(labels, sizes, strict=True)):
        if n_rows and wanted_group not in found_positions:
            left_out.append(label)
    final_levels = tuple(
        wanted_group if old_position is None else factor.levels[old_position]
        for wanted_group, old_position in zip(wanted_groups, found_positions, strict=True)
    )
    if (
        left_out
        or len(set(_label_groups(final_levels))) < len(final_levels)
        or len(set(final_levels)) < len(final_levels)
    ):
        received = f"{list(groups)!r}" + (
            f", without {', '.join(map(repr, left_out))}" if left_out else ""
        )
        allowed = "every group that occurs, each once, in the order wanted"
        advice = "list all groups; filter the rows first to leave some out"
        raise InputError("groups", got=received, allowed=allowed, cure=advice)
    position = np.full(len(labels) + 1, MISSING, dtype=np.int64)
    for new_code, old_position in enumerate(found_positions):
        if old_position is not None:
            position[old_position] = new_code
    return Factor(position[factor.codes], final_levels, True)


def find_group(
    labels: Sequence[str], group: Hashable, levels: Sequence[Hashable] | None = None
) -> int | None:
    """Position of a group by its value, or by a text that stands for it.

    None where there is no such group.

    1, 1.0, ``np.float64(1)`` and True are one value; so are a day and its timestamp.
    """
    if isinstance(group, np.generic) and not isinstance(group, np.datetime64):
        group = group.item()  # NumPy compares with every entry of a tuple
    if levels is not None and group in levels:
        return list(levels).index(group)
    texts = [_group_text(group), repr(group)]
    if isinstance(group, (bool, np.bool_)):
        texts.append(str(int(group)))
    elif not isinstance(group, (str, tuple)) and label_text(group) in ("0", "1"):
        texts.append(str(label_text(group) == "1"))
    elif isinstance(group, tuple):
        label_parts = [label.split(INTERSECTION) for label in labels]
        for own_parts in label_parts:
            if len(own_parts) == len(group) and all(
                find_group([candidate], attribute_value) == 0
                for candidate, attribute_value in zip(own_parts, group, strict=True)
            ):
                texts.append(INTERSECTION.join(own_parts))
    return next((list(labels).index(candidate) for candidate in texts if candidate in labels), None)


def _group_text(group: Hashable) -> str:
    if isinstance(group, tuple):
        return INTERSECTION.join(map(label_text, group))
    return label_text(group)


def group_index(
    labels: Sequence[str],
    group: Hashable,
    argument: str,
    levels: Sequence[Hashable] | None = None,
) -> int:
    """Position of a group named by value or by label; an error if there is no such group."""
    if checks.is_plain(group):
        found_position = find_group(labels, group, levels)
    else:
        found_position = None
    if found_position is None:
        allowed = "one of " + checks.listed(labels)
        raise InputError(
            argument,
            got=checks.shown(group),
            allowed=allowed,
            cure="name an existing group",
        )
    return found_position


def find_reference(
    labels: Sequence[str],
    reference: Hashable | None,
    *,
    sizes: NDArray[Any],
    rates: Floats | None = None,
) -> tuple[int, str]:
    """Position of the reference group and the rule that chose it, "named", "largest" or "highest".

    None and "largest" take the group with most rows (the first of equals); "highest" that with the
    highest of the `rates`, as the US four-fifths rule does. A group without a name, as published
    counts may have it, is neither.
    """
    if isinstance(reference, str) and reference not in labels:
        rule_name = reference
    else:
        rule_name = None
    if (
        "" in labels
        and len(labels) > 1
        and (reference is None or rule_name in ("largest", "highest"))
    ):
        has_name = np.array([label != "" for label in labels])
        sizes = np.where(has_name, sizes, -1)
        if rates is None:
            rates = None
        else:
            rates = np.where(has_name, rates, np.nan)
    if reference is None or rule_name == "largest":
        return int(sizes.argmax()), "largest"
    if rule_name == "highest" and rates is not None:
        has_rates = not np.isnan(rates).all()
        if has_rates:
            return (int(np.nanargmax(rates)), "highest")
        return (int(np.argmax(sizes)), "largest")
    return group_index(labels, reference, "reference"), "named"
