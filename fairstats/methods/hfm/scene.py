"""Everything that HFM needs of the data, as arrays: features, labels, predictions, groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats
from fairstats.ground.errors import InputError
from fairstats.ground.groups import encode_groups, sensitive_columns
from fairstats.ground.outcomes import check_row_labels
from fairstats.ground.tally import Tally, counts_or_rows
from fairstats.methods.hfm.encoding import FrameEncoder, counted_rows, encode_labels, refuse_missing
from fairstats.methods.hfm.result import ANY_VALUE, JOINT, REST
from fairstats.methods.hfm.rows import Mask, Rows, as_pandas


@dataclass(frozen=True, eq=False)
class Side:
    """One value of an attribute against all others.

    `rows`, shape (n,): those with the value; `crossed`: whether it is an intersection of several attributes.
    """

    attribute: str
    group: str
    reference: str
    rows: Mask
    crossed: bool = False


@dataclass(frozen=True)
class Comparison:
    """One entry of the result: a side, or the maximum over several; `members` are their positions."""

    attribute: str
    group: str
    reference: str
    members: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Scene:
    """Validated data of an HFM.

    `features`: encoded, shape (n, p); `true`, `pred`: labels and predictions as coordinates, shape (n, c);
    `sides`: one per value of every attribute; one for both values of an attribute with two; `left_out`:
    columns of X that are sensitive attributes; `constant`: columns with a single value.
    """

    features: Rows
    true: Floats
    pred: Floats
    label_levels: tuple[str, ...]
    sides: tuple[Side, ...]
    left_out: tuple[str, ...]
    constant: tuple[str, ...]

    @property
    def n(self) -> int:
        """Rows."""
        return len(self.true)

    @property
    def with_true(self) -> Floats:
        """Rows (x, y), shape (n, p + c)."""
        return np.hstack([self.features.values, self.true])

    @property
    def with_pred(self) -> Floats:
        """Rows (x, ŷ), shape (n, p + c)."""
        return np.hstack([self.features.values, self.pred])

    def comparisons(self) -> list[Comparison]:
        """The entries: every side, the maximum over the values of an attribute, that over all attributes."""
        found: list[Comparison] = []
        for attribute in dict.fromkeys(side.attribute for side in self.sides):
            own = {k: side for k, side in enumerate(self.sides) if side.attribute == attribute}
            found += [Comparison(attribute, side.group, side.reference, (k,)) for k, side in own.items()]
            if len(own) > 1:
                found.append(Comparison(attribute, ANY_VALUE, REST, tuple(own)))
        single = tuple(k for k, side in enumerate(self.sides) if not side.crossed)
        if len({self.sides[k].attribute for k in single}) > 1:
            found.append(Comparison(JOINT, ANY_VALUE, REST, single))
        return found


def make_scene(
    X: Any, y_true: Any, y_pred: Any, *, sensitive_features: Any, counts: Tally | None = None, scale: str,
    reference_data: Any, intersections: bool,
) -> Scene:  # fmt: skip
    """Validate and encode what `hfm` was given.

    Raises InputError where a column cannot be used, or a group is empty.
    """
    if counts_or_rows(
        counts, needs="X, y_true, y_pred, sensitive_features",
        X=X, y_true=y_true, y_pred=y_pred, sensitive_features=sensitive_features,
    ):  # fmt: skip
        X, y_true, y_pred, sensitive_features = _columns_of(counts)  # type: ignore[arg-type]
    check_row_labels(X=X, y_true=y_true, y_pred=y_pred, sensitive_features=sensitive_features)
    columns = sensitive_columns(sensitive_features)
    frame = as_pandas(X, "X")
    present = () if frame is None else tuple(str(c) for c in frame.columns if str(c) in columns)
    encoder = FrameEncoder.fit(
        X if reference_data is None else reference_data, scale=scale, leave_out=present,
        argument="X" if reference_data is None else "reference_data",
    )  # fmt: skip
    features = encoder.encode(X, leave_out=present)
    true, pred, levels = encode_labels(y_true, y_pred)
    _check_lengths(X=len(features.values), y_true=len(true), y_pred=len(pred))
    attributes = {name: {name: column} for name, column in columns.items()}
    if intersections and len(columns) > 1:
        attributes[" × ".join(columns)] = columns
    sides = [side for name, own in attributes.items() for side in _sides(name, own, len(true))]
    return Scene(features, true, pred, levels, tuple(sides), present, encoder.constant)


def _columns_of(counts: Tally) -> tuple[Any, Any, Any, dict[str, NDArray[Any]]]:
    """Features, labels, predictions and sensitive columns from the distinct rows of a tally."""
    part = counted_rows(counts)
    for name, labels in (("y_true", part.y_true), ("y_pred", part.y_pred)):
        if labels is None:
            allowed = "distinct rows of features, labels and predictions"
            cure = f"name the column when counting: fs.tally(frame, {name}=…, features=…)"
            raise InputError("counts", got=f"a tally without {name}", allowed=allowed, cure=cure)
    group = part.column(part.group)
    levels = counts.by(*counts.sensitive).levels if counts.stratified else counts.levels
    sensitive = {
        name: np.array([level[k] for level in levels], dtype=object)[group] for k, name in enumerate(counts.sensitive)
    }
    return part.frame(), part.column(part.y_true), part.column(part.y_pred), sensitive  # type: ignore[arg-type]


def _check_lengths(**lengths: int) -> None:
    if len(set(lengths.values())) > 1:
        got = "different lengths: " + ", ".join(f"{name} {n:,}" for name, n in lengths.items())
        cure = "take all of them from the same rows"
        raise InputError(", ".join(lengths), got=got, allowed="one entry per row", cure=cure)


def _sides(name: str, columns: dict[str, Any], n: int) -> list[Side]:
    grouping = encode_groups(columns)
    _check_lengths(X=n, sensitive_features=grouping.codes.size)
    refuse_missing(grouping.codes, "sensitive_features", f" in {name!r}")
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
