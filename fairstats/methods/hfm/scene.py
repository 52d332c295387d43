"""Everything that HFM needs of the data, as arrays: features, labels, predictions, groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairstats.ground.errors import InputError
from fairstats.ground.groups import encode_groups, sensitive_columns
from fairstats.methods.hfm.encoding import FrameEncoder, encode_labels
from fairstats.methods.hfm.entries import ANY_VALUE, JOINT, REST
from fairstats.methods.hfm.rows import Rows, as_pandas

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Comparison", "Scene", "Side", "make_scene"]


@dataclass(frozen=True, eq=False)
class Side:
    """One value of an attribute against all others.

    Attributes
    ----------
    attribute, group, reference : str
    rows : ndarray of bool, shape (n,)
        Rows with the value.
    crossed : bool
        Whether the value is an intersection of several attributes.
    """

    attribute: str
    group: str
    reference: str
    rows: NDArray[np.bool_]
    crossed: bool = False


@dataclass(frozen=True)
class Comparison:
    """One entry of the result: a side, or the maximum over several.

    Attributes
    ----------
    attribute, group, reference : str
    members : tuple of int
        Positions of the sides.
    """

    attribute: str
    group: str
    reference: str
    members: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Scene:
    """Validated data of an HFM.

    Attributes
    ----------
    features : Rows
        Encoded, shape (n, p).
    true, pred : ndarray of float, shape (n, c)
        Labels and predictions as coordinates.
    label_levels : tuple of str
    sides : tuple of Side
        One per value of every attribute; one for both values of an attribute with two.
    left_out : tuple of str
        Columns of X that are sensitive attributes.
    constant : tuple of str
        Columns with a single value.
    """

    features: Rows
    true: NDArray[np.float64]
    pred: NDArray[np.float64]
    label_levels: tuple[str, ...]
    sides: tuple[Side, ...]
    left_out: tuple[str, ...]
    constant: tuple[str, ...]

    @property
    def n(self) -> int:
        """Rows."""
        return len(self.true)

    @property
    def with_true(self) -> NDArray[np.float64]:
        """Rows (x, y), shape (n, p + c)."""
        return np.hstack([self.features.values, self.true])

    @property
    def with_pred(self) -> NDArray[np.float64]:
        """Rows (x, ŷ), shape (n, p + c)."""
        return np.hstack([self.features.values, self.pred])

    def comparisons(self) -> list[Comparison]:
        """The entries: every side, the maximum over the values of an attribute, that over all attributes."""
        found: list[Comparison] = []
        for attribute in dict.fromkeys(side.attribute for side in self.sides):
            members = [k for k, side in enumerate(self.sides) if side.attribute == attribute]
            own = [self.sides[k] for k in members]
            found += [
                Comparison(side.attribute, side.group, side.reference, (k,))
                for k, side in zip(members, own, strict=True)
            ]
            if len(members) > 1:
                found.append(Comparison(attribute, ANY_VALUE, REST, tuple(members)))
        single = tuple(k for k, side in enumerate(self.sides) if not side.crossed)
        if len({self.sides[k].attribute for k in single}) > 1:
            found.append(Comparison(JOINT, ANY_VALUE, REST, single))
        return found


def make_scene(
    X: Any,
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    scale: str,
    reference_data: Any,
    intersections: bool,
) -> Scene:
    """Validate and encode what `hfm` was given.

    Raises
    ------
    InputError
        Where a column cannot be used, or a group is empty.
    """
    if sensitive_features is None:
        raise InputError(
            "sensitive_features",
            got="None",
            allowed="one column, or several, that say which group each row belongs to",
            cure="pass sensitive_features=",
        )
    columns = sensitive_columns(sensitive_features)
    frame = as_pandas(X)
    present = () if frame is None else tuple(str(c) for c in frame.columns if str(c) in columns)
    encoder = FrameEncoder.fit(
        X if reference_data is None else reference_data,
        scale=scale,
        leave_out=present,
        argument="X" if reference_data is None else "reference_data",
    )
    features = encoder.encode(X, leave_out=present)
    true, pred, levels = encode_labels(y_true, y_pred)
    _check_lengths(X=len(features.values), y_true=len(true), y_pred=len(pred))
    sides: list[Side] = []
    for name, column in columns.items():
        sides += _sides(name, {name: column}, len(true))
    if intersections and len(columns) > 1:
        sides += _sides(" × ".join(columns), columns, len(true))
    return Scene(features, true, pred, levels, tuple(sides), present, encoder.constant)


def _check_lengths(**lengths: int) -> None:
    if len(set(lengths.values())) > 1:
        raise InputError(
            ", ".join(lengths),
            got="different lengths: " + ", ".join(f"{name} {n:,}" for name, n in lengths.items()),
            allowed="one entry per row",
            cure="take all of them from the same rows",
        )


def _sides(name: str, columns: dict[str, Any], n: int) -> list[Side]:
    grouping = encode_groups(columns)
    _check_lengths(X=n, sensitive_features=grouping.codes.size)
    if (grouping.codes < 0).any():
        raise InputError(
            "sensitive_features",
            got=f"{int((grouping.codes < 0).sum()):,} missing values in {name!r}",
            allowed="a value in every row",
            cure="drop those rows and say so, or make the missing ones a value",
        )
    sizes = np.bincount(grouping.codes, minlength=len(grouping.labels))
    groups = [g for g in range(len(grouping.labels)) if sizes[g]]
    if len(groups) < 2:
        raise InputError(
            "sensitive_features",
            got=f"one group with rows in {name!r}: "
            + ", ".join(f"{label!r} {size:,}" for label, size in zip(grouping.labels, sizes, strict=True)),
            allowed="at least two groups with rows",
            cure="the distance to an empty group is not defined; look at how the rows were chosen",
        )
    crossed = len(columns) > 1
    if len(groups) == 2:  # the distance is symmetric
        first, second = grouping.labels[groups[1]], grouping.labels[groups[0]]
        return [Side(name, first, second, grouping.codes == groups[1], crossed)]
    return [Side(name, grouping.labels[g], REST, grouping.codes == g, crossed) for g in groups]
