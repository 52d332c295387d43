"""The favourable label: which value of a column counts as 1."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from fairstats.ground.caution import caution
from fairstats.ground.encoding import MISSING, Factor, factorize, label_text
from fairstats.ground.errors import DataWarning, InputError

__all__ = ["binary_codes", "binary_columns"]


def binary_columns(pos_label: Any, **columns: Any) -> dict[str, Factor | None]:
    """Codes 0/1 of several label columns that share `pos_label`; None stays None."""
    if isinstance(pos_label, Mapping) and set(pos_label) - set(columns):
        raise InputError(
            "pos_label",
            got=f"a mapping with {sorted(map(str, pos_label))}",
            allowed=f"a mapping with the keys {', '.join(map(repr, columns))}, or one value",
            cure="name the favourable value of each column",
        )
    codes = {
        name: None if values is None else binary_codes(values, name, _label_for(name, pos_label))
        for name, values in columns.items()
    }
    _check_pos_label_occurs(pos_label, codes)
    return codes


def _label_for(argument: str, pos_label: Any) -> Any:
    return pos_label.get(argument) if isinstance(pos_label, Mapping) else pos_label


def binary_codes(values: Any, argument: str, pos_label: Any = None) -> Factor:
    """Codes 0/1 of a label column; -1 where missing.

    Parameters
    ----------
    values : array-like, shape (n,)
        Labels of any type.
    argument : str
        Name for error messages.
    pos_label : scalar, optional
        The favourable value. May be left out for labels in {0, 1}, {False, True} or {-1, 1}.

    Returns
    -------
    Factor
        Codes of 0 and 1; `levels` holds the values that occurred.

    Raises
    ------
    InputError
        If the favourable value is not clear.
    """
    factor = factorize(values, argument)
    positive = _positive_level(factor.levels, argument, pos_label)
    if factor.codes.size and not factor.has_missing:
        codes: Any = (factor.codes == positive).view(np.uint8)
    else:
        codes = np.where(factor.codes == MISSING, MISSING, factor.codes == positive).astype(np.int8)
    return Factor(codes, factor.levels)


def _same(level: Hashable, pos_label: Any) -> bool:
    """Whether a value is the favourable one: equal, or the same text."""
    return bool(level == pos_label) or label_text(level) == label_text(pos_label)


def _positive_level(levels: tuple[Hashable, ...], argument: str, pos_label: Any) -> int:
    """Position of the favourable value, -2 where it does not occur."""
    shown = ", ".join(repr(v) for v in levels[:8]) + (", …" if len(levels) > 8 else "")
    if pos_label is not None:
        for position, level in enumerate(levels):
            if _same(level, pos_label):
                return position
        return -2
    if set(levels) <= {0, 1} or set(levels) <= {-1, 1}:
        return levels.index(1) if 1 in levels else -2
    raise InputError(
        argument,
        got=f"the values {shown}",
        allowed="labels 0/1, False/True or -1/1, or any labels with `pos_label` naming the favourable one",
        cure=f"pass pos_label= (one of {shown})",
    )


def _check_pos_label_occurs(pos_label: Any, columns: dict[str, Factor | None]) -> None:
    if pos_label is None:
        return
    given = {name: factor for name, factor in columns.items() if factor is not None}
    absent = {
        name: factor
        for name, factor in given.items()
        if _label_for(name, pos_label) is not None
        and not any(_same(level, _label_for(name, pos_label)) for level in factor.levels)
    }
    if not absent:
        return
    name, factor = next(iter(absent.items()))
    shown = ", ".join(repr(v) for v in factor.levels[:8]) + (", …" if len(factor.levels) > 8 else "")
    if len(absent) == len(given) or isinstance(pos_label, Mapping) or len(factor.levels) > 1:
        raise InputError(
            "pos_label",
            got=f"{_label_for(name, pos_label)!r}, which does not occur in {name}",
            allowed=f"a value that occurs; {name} has {shown}",
            cure="name the favourable value; a mapping {'y_true': …, 'y_pred': …} where the columns differ",
        )
    caution(
        f"`pos_label` {pos_label!r} does not occur in {name}, whose only value is {shown}: "
        f"every row of {name} counts as unfavourable.",
        DataWarning,
    )
