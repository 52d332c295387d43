"""From rows, or a tally of them, to the crossed table of which all subgroups are added up, and to
the leaves of a tree.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from fairstats.ground import checks
from fairstats.ground.checks import Floats
from fairstats.ground.counts import CellCounts, ConfusionCounts
from fairstats.ground.errors import InputError
from fairstats.ground.groups import INTERSECTION, MISSING_GROUP
from fairstats.ground.reading.table import read_table
from fairstats.ground.registry import Rate
from fairstats.ground.tally import Tally, tally
from fairstats.methods.rates.estimates import rate_in
from fairstats.numerics.rates import subgroups as kernels
from fairstats.numerics.rates.leaves import Leaf, grow_leaves, half_of_rows

#: Most values of one attribute: more are numbers that want cuts.
MOST_LEVELS = 50
#: Groups of equal size into which a tree sees numbers of more values than that.
_GROUPS_OF_TREE = 32
#: The attribute of a tally of leaves.
LEAF = "leaf"
#: Attributes that a subgroup fixes, and to which values.
Fixed = tuple[tuple[str, ...], tuple[str, ...]]


def tally_rows(
    data: Any,
    attributes: Sequence[str] | None,
    cuts: Mapping[str, int | Sequence[float]] | None,
    *,
    for_tree: bool,
    **columns: Any,
) -> tuple[Tally, dict[str, str]]:
    """The crossed table of rows; numeric attributes with cuts are cut first.

    `for_tree`: what is cut is named by where its interval begins, which keeps it a number; numbers
    of many values are cut without being asked for. Beside the table where each was cut, in words.
    """
    are_names = (
        isinstance(attributes, Sequence)
        and not isinstance(attributes, str)
        and len(attributes) > 0
        and all(isinstance(name, str) for name in attributes)
    )
    checks.check_that(
        are_names,
        "attributes",
        attributes,
        "names of columns",
        'attributes=["sex", "age", "region"]',
    )
    if cuts is not None:
        checks.check_that(
            isinstance(cuts, Mapping),
            "cuts",
            cuts,
            "a mapping of column to cut points, or to a number of groups",
            'cuts={"age": [25, 40, 60], "income": 4}',
        )
    if cuts is not None or for_tree:
        used = (*(attributes or ()), columns["y_true"], columns["y_pred"])
        data, words = _cut_columns(data, cuts or {}, attributes or (), used, for_tree=for_tree)
    else:
        words = {}
    return tally(data, sensitive_features=list(attributes or ()), **columns), words


def _cut_columns(
    data: Any,
    cuts: Mapping[str, int | Sequence[float]],
    attributes: Sequence[str],
    used: Iterable[str | None],
    *,
    for_tree: bool,
) -> tuple[Any, dict[str, str]]:
    """The frame with intervals in place of numbers (of a lazy table the columns that are used), and
    where each was cut.
    """
    if isinstance(data, (str, Path)):
        data = read_table(data)
    frame = nw.from_native(data, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        columns = dict.fromkeys(name for name in used if name is not None)
        column_names = frame.collect_schema().names()
        frame = frame.select([name for name in columns if name in column_names]).collect()
    if not isinstance(frame, nw.DataFrame):
        raise InputError(
            "data",
            got=type(data).__name__,
            allowed="a data frame, or the path of a file, where numbers are cut",
            cure="leave out cuts= and search=, or pass a frame",
        )
    cuts_left = dict(cuts)
    if for_tree:
        for name in attributes:
            if name in frame.columns and name not in cuts_left and _has_many_numbers(frame[name]):
                cuts_left[name] = _GROUPS_OF_TREE
    words: dict[str, str] = {}
    for name, points in cuts_left.items():
        if name not in attributes or name not in frame.columns:
            raise InputError(
                "cuts",
                got=repr(name),
                allowed=f"some of {list(attributes)}",
                cure="check the name",
            )
        numbers = _numbers_of(name, frame[name].to_numpy())
        inner = _inner_cuts(name, numbers, points, for_tree=for_tree)
        words[name] = ", ".join(f"{point:g}" for point in inner.tolist())
        if isinstance(points, (int, np.integer)):
            words[name] += f" ({points} groups of equal size)"
        labels = _cut_labels(numbers, inner, for_tree=for_tree)
        frame = frame.with_columns(
            nw.new_series(name, labels, backend=nw.get_native_namespace(frame))
        )
    return frame.to_native(), words


def _has_many_numbers(column: Any) -> bool:
    return bool(column.dtype.is_numeric()) and int(column.n_unique()) > MOST_LEVELS


def _numbers_of(name: str, values: Any) -> Floats:
    """The values of a column as numbers, NaN where they are missing."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as problem:
        raise InputError(
            "cuts",
            got=f"cuts of {name!r}, which are no numbers",
            allowed="numeric columns",
            cure=f"leave {name!r} out of cuts=",
        ) from problem


def _inner_cuts(
    name: str,
    numbers: Floats,
    points: int | Sequence[float],
    *,
    for_tree: bool,
) -> Floats:
    """The inner cut points, given or at quantiles; increasing."""
    finite = numbers[np.isfinite(numbers)]
    inner = np.empty(0)
    if isinstance(points, (int, np.integer)) and not isinstance(points, bool):
        n_groups = checks.check_whole("cuts", points, low=2, high=MOST_LEVELS, cure='{"age": 4}')
        if finite.size:
            inner = np.unique(np.quantile(finite, np.arange(1, n_groups) / n_groups))
        if for_tree:  # a leaf is named by them
            inner = np.unique([float(f"{point:.4g}") for point in inner])
    elif isinstance(points, (Sequence, np.ndarray)) and not isinstance(points, (str, bytes)):
        places = []
        for point in points:
            places.append(checks.check_number("cuts", point, cure='cuts={"age": [25, 40, 60]}'))
        inner = np.asarray(places, dtype=np.float64)
    increasing = inner.ndim == 1 and inner.size > 0 and bool(np.isfinite(inner).all())
    if not increasing or not (np.diff(inner) > 0).all():
        raise InputError(
            "cuts",
            got=f"{points!r} of {name!r}",
            allowed="increasing numbers, or a number of groups",
            cure='cuts={"age": [25, 40, 60], "income": 4}',
        )
    return inner


def _cut_labels(numbers: Floats, inner: Floats, *, for_tree: bool) -> list[str | None]:
    """The interval of each value in words, or where it begins; None where it is missing."""
    if for_tree:
        finite = numbers[np.isfinite(numbers)]
        lowest = min(float(finite.min(initial=inner[0])), float(inner[0]) - 1.0)
        words = [f"{begin:.12g}" for begin in (lowest, *inner.tolist())]
    else:
        words = interval_words([f"{end:g}" for end in inner.tolist()])
    place = np.searchsorted(inner, numbers, side="right")
    cut_labels: list[str | None] = []
    for position, is_known in zip(place.tolist(), np.isfinite(numbers).tolist(), strict=True):
        cut_labels.append(words[position] if is_known else None)
    return cut_labels


def interval_words(ends: Sequence[str]) -> list[str]:
    """Names of the intervals between these ends, one more than they are."""
    between = [f"{low} to below {high}" for low, high in itertools.pairwise(ends)]
    return [f"below {ends[0]}", *between, f"{ends[-1]} or more"]


class CrossedTable:
    """Counts of the crossed cells and of all their subgroups.

    `nodes`: crossings that lead to the subgroups; `names`: attributes and values of each subgroup;
    `rows`, `cases`, `successes`: of each subgroup; those with `cell_` before: of each cell;
    `total_successes`: of everybody; `leaves`: what a leaf fixes by its name, where they are the
    subgroups.
    """

    def __init__(
        self,
        *,
        nodes: list[kernels.Node],
        level_names: list[list[str]],
        attributes: tuple[str, ...],
        depth: int,
        cell_rows: Floats,
        cell_cases: Floats,
        cell_successes: Floats,
        leaves: Mapping[str, Fixed],
    ) -> None:
        self.nodes = nodes
        self.leaves = leaves
        self.level_names = level_names
        self.attributes = attributes
        self.depth = depth
        self.cell_rows = cell_rows
        self.cell_cases = cell_cases
        self.total_successes = float(cell_successes.sum())
        self.rows, self.cases, self.successes = (
            kernels.marginal_sums(nodes, values, depth)
            for values in (cell_rows, cell_cases, cell_successes)
        )

    @classmethod
    def of(
        cls,
        crossed: Tally,
        rate: Rate,
        depth: int,
        leaves: Mapping[str, Fixed] | None = None,
    ) -> CrossedTable:
        """The table of a tally; an InputError for weights, clusters and too many values."""
        cells = _cells_of(crossed, rate)
        rate = rate_in(cells, rate)
        codes = []
        level_names = []
        for position, name in enumerate(crossed.attributes):
            values = np.array([level[position] for level in crossed.levels], dtype=object)
            distinct, code = np.unique(values.astype(str), return_inverse=True)
            if distinct.size > MOST_LEVELS and not leaves:
                raise InputError(
                    "attributes",
                    got=f"{name!r} with {distinct.size:,} values",
                    allowed=f"at most {MOST_LEVELS} values of an attribute",
                    cure=f"cuts={{{name!r}: 4}} where they are numbers",
                )
            codes.append(code.reshape(-1))
            level_names.append(distinct.tolist())
        return cls(
            nodes=kernels.lattice(np.column_stack(codes).astype(np.int64), depth),
            level_names=level_names,
            attributes=crossed.attributes,
            depth=depth,
            cell_rows=np.asarray(crossed.group_sizes, dtype=np.float64),
            cell_cases=np.asarray(cells.total(*rate.cases), dtype=np.float64),
            cell_successes=np.asarray(cells.total(*rate.successes), dtype=np.float64),
            leaves=leaves or {},
        )

    def names(self) -> list[Fixed]:
        """Attributes and values of every subgroup, in the order of the counts."""
        if self.leaves:
            return [self.leaves[self.level_names[0][code]] for code in self.nodes[0].codes[:, 0]]
        fixed_values: list[Fixed] = []
        for node in self.nodes:
            if len(node.attributes) > self.depth:
                continue
            attributes = tuple(self.attributes[position] for position in node.attributes)
            names_of_levels = [self.level_names[position] for position in node.attributes]
            for row in node.codes.tolist():
                values = [names[code] for names, code in zip(names_of_levels, row, strict=True)]
                fixed_values.append((attributes, tuple(values)))
        return fixed_values


def _cells_of(crossed: Tally, rate: Rate) -> CellCounts:
    """Cells of what the rate needs, of plain rows."""
    if crossed.cells is not None and crossed.cells.weighted:
        raise InputError(
            "data",
            got="weighted or clustered rows",
            allowed="independent rows of equal weight",
            cure="make the tally without weights and clusters",
        )
    if isinstance(crossed.cells, ConfusionCounts) or rate.name != "selection_rate":
        return crossed.confusion()
    return crossed.selection()


# ---------------------------------------------------------------- leaves of a tree


@dataclass(frozen=True)
class _Values:
    """The values of one attribute as a tree sees them.

    `names`: in order; `ordered`: whether they are numbers; `with_missing`: whether the first of
    them stands for missing values.
    """

    names: tuple[str, ...]
    ordered: bool
    with_missing: bool

    @classmethod
    def of(cls, names: Iterable[str]) -> _Values:
        """Numbers in their order, what is missing before them; else by name."""
        distinct = sorted(set(names))
        values = [name for name in distinct if name != MISSING_GROUP]
        with_missing = len(values) < len(distinct)
        numbers = [_number_of(name) for name in values]
        if values and not any(math.isnan(number) for number in numbers):
            in_order = [name for _, name in sorted(zip(numbers, values, strict=True))]
            missing = [MISSING_GROUP] if with_missing else []
            return cls((*missing, *in_order), ordered=True, with_missing=with_missing)
        return cls(tuple(distinct), ordered=False, with_missing=with_missing)

    def words(self, allowed: NDArray[np.bool_]) -> str:
        """The values that a leaf holds, in words."""
        chosen: list[str] = []
        others: list[str] = []
        for name, is_allowed in zip(self.names, allowed.tolist(), strict=True):
            side = chosen if is_allowed else others
            side.append(name)
        if not self.ordered:
            if len(chosen) <= len(others) or len(chosen) == 1:
                return " or ".join(chosen)
            return f"other than {' or '.join(others)}"
        first_number = int(self.with_missing)
        places = np.flatnonzero(allowed[first_number:])
        if places.size == 0:
            return MISSING_GROUP
        numbers = self.names[first_number:]
        lowest = int(places[0])
        highest = int(places[-1])
        parts = []
        if lowest > 0 and highest < len(numbers) - 1:
            parts.append(f"{numbers[lowest]} to below {numbers[highest + 1]}")
        elif lowest > 0:
            parts.append(f"{numbers[lowest]} or more")
        elif highest < len(numbers) - 1:
            parts.append(f"below {numbers[highest + 1]}")
        else:
            parts.append("known")
        if self.with_missing and allowed[0]:
            parts.append("missing")
        return " or ".join(parts)


def _number_of(text: str) -> float:
    """The number that a label is, NaN for none: "01" is a label."""
    try:
        number = float(text)
    except ValueError:
        return math.nan
    begins_with_zero = len(text.lstrip("-")) > 1 and text.lstrip("-")[:2].isdigit()
    if text.lstrip("-").startswith("0") and begins_with_zero:
        return math.nan
    return number if math.isfinite(number) else math.nan


def honest_leaves(
    crossed: Tally,
    rate: Rate,
    *,
    depth: int,
    least: int,
    rng: np.random.Generator,
) -> tuple[Tally, dict[str, Fixed]]:
    """Leaves of a tree that a random half of the rows fits; the counts are those of the other half.

    Parameters
    ----------
    crossed : Tally
        By the attributes.
    rate : Rate
        What the tree tells apart, among its cases.
    depth, least : int
        Most splits above a leaf, and least cases of a leaf in the half that fits.
    rng : numpy.random.Generator
        Draws the half.

    Returns
    -------
    judging : Tally
        The other half by leaf, its one attribute `LEAF`.
    leaves : dict
        Name of a leaf → attributes and values that it fixes.
    """
    cells = _cells_of(crossed, rate)
    rate = rate_in(cells, rate)
    rows = np.asarray(cells.rows, dtype=np.int64)
    fitting_rows = half_of_rows(rows, rng)
    fitting = _with_rows(cells, fitting_rows)
    cases = np.asarray(fitting.total(*rate.cases), dtype=np.float64)
    if 2 * least > cases.sum():
        raise InputError(
            "min_rows",
            got=f"{least:,} for leaves of a half with {int(cases.sum()):,} cases",
            allowed="at most half of these cases",
            cure="fewer rows, or search='all'",
        )
    values = []
    codes = []
    for position in range(len(crossed.attributes)):
        names = [level[position] for level in crossed.levels]
        of_attribute = _Values.of(names)
        place = {name: code for code, name in enumerate(of_attribute.names)}
        values.append(of_attribute)
        codes.append([place[name] for name in names])
    grown = grow_leaves(
        np.array(codes, dtype=np.int64).T,
        tuple(len(values_of_attribute.names) for values_of_attribute in values),
        tuple(values_of_attribute.ordered for values_of_attribute in values),
        np.asarray(fitting.total(*rate.successes), dtype=np.float64),
        cases,
        depth=depth,
        least=least,
    )
    if len(grown) < 2:
        raise InputError(
            "min_rows",
            got=f"{least:,}, with which no tree splits the half that fits it",
            allowed="the cases of two leaves that differ",
            cure="fewer rows, other attributes, or search='all'",
        )
    leaves: dict[str, Fixed] = {}
    name_of_cell = np.empty(rows.shape[0], dtype=object)
    for leaf in grown:
        fixed = _fixed_by(leaf, crossed.attributes, values)
        name = name_of(*fixed)
        leaves[name] = fixed
        name_of_cell[leaf.cells] = name
    judging = replace(
        crossed,
        cells=_with_rows(cells, rows - fitting_rows),
        scores=None,
        tails=None,
        distinct=None,
        moments=None,
    )
    by_leaf = judging._move_onto(
        (LEAF,),
        [(name,) for name in leaves],
        [(str(name),) for name in name_of_cell],
        ((),),
        stratified=False,
    )
    return by_leaf, leaves


def _with_rows(cells: CellCounts, rows: NDArray[np.int64]) -> CellCounts:
    """Plain cells with these rows."""
    return replace(
        cells,
        totals=rows.astype(np.float64),
        rows=rows,
        n_units=int(rows.sum()),
        group_units=rows.sum(axis=1),
    )


def _fixed_by(leaf: Leaf, attributes: Sequence[str], values: Sequence[_Values]) -> Fixed:
    """What a leaf fixes: attributes that do not have all their values in it."""
    names = []
    words = []
    for name, of_attribute, allowed in zip(attributes, values, leaf.allowed, strict=True):
        if not allowed.all():
            names.append(name)
            words.append(of_attribute.words(allowed))
    return tuple(names), tuple(words)


def name_of(attributes: Sequence[str], values: Sequence[str]) -> str:
    """Name of the subgroup that fixes these attributes to these values."""
    pairs = zip(attributes, values, strict=True)
    return INTERSECTION.join(f"{attribute} = {value}" for attribute, value in pairs)
