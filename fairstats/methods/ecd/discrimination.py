"""`counterfactual_discrimination`.

What another value of the sensitive attribute would have changed.

The attribute is a column, columns crossed, indicators, bands, or any assignment (`find_attribute`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fairstats.ground import checks
from fairstats.ground.checks import SeedOrGenerator, check_names, check_that, finite_array
from fairstats.ground.encoding import MISSING, as_float_column, factorize, label_text
from fairstats.ground.errors import DataWarning, InputError, InsufficientEvidenceWarning, caution
from fairstats.ground.groups import INTERSECTION, group_index, say_what_is_empty
from fairstats.ground.outcomes import check_row_labels, check_weight_column
from fairstats.ground.predictions import (
    FeatureTable,
    Replacement,
    as_features,
    favourable_probability,
)
from fairstats.ground.progress import each_of
from fairstats.methods.ecd.sample import CounterfactualSample, GroupSample, thinned
from fairstats.numerics.evt.distributions import Floats

_TRAINING = (
    "Some of these rows, or all, trained the model: its scores there are not those of new people."
)
#: More values than this are no groups.
_MOST_VALUES = 64
#: Name of the value of rows where every indicator is off (an encoding that drops the first
#: category).
BASELINE = "(none of these)"


def counterfactual_discrimination(
    predict: Any,
    X: Any,
    *,
    sensitive_features: Any,
    values: Sequence[Hashable] | None = None,
    counterfactual: Literal["worst", "all"] = "worst",
    cuts: Sequence[float] | Mapping[Hashable, Sequence[float]] | None = None,
    flip: Callable[[Any], Any] | None = None,
    pos_label: Hashable | None = None,
    label_values: Any = None,
    cluster: Any = None,
    sample_weight: Any = None,
    rng: SeedOrGenerator = None,
    trained_on: bool = False,
    batch: int = 100_000,
    confidence_level: float = 0.95,
    progress: bool = True,
) -> CounterfactualSample:
    """Counterfactual discrimination of every individual, by group.

    CD(x, z) = ML(x, z′) − ML(x, z), where ML is the probability of the favourable outcome, z the
    value of the sensitive attribute and z′ another one: positive where group z is disadvantaged
    (Monjezi et al., Definition III.1; see `ecd`). Everything else about the person stays as it is:
    a statement about the model, not about causes in the world.

    Parameters
    ----------
    predict : callable or classifier
        Called with blocks of X: probabilities of the favourable outcome, shape (n,), or (n, 2) with
        the favourable class second; a classifier is asked for `predict_proba`.
    X : data frame or array-like, shape (n, p)
        pandas, polars, Arrow or NumPy, as the model takes it.
    sensitive_features : column, list of columns, or mapping
        A column of X (a position for arrays); columns to be crossed (groups are the combinations
        that occur, "F & black"); indicators of one attribute (numbers of two values each, never two
        of them on: one-hot), which are flipped together; or a mapping value → {column: what it
        holds}.
    values : sequence, optional
        The values to compare, in this order; rows with others are left out, and counted.
    counterfactual : {"worst", "all"}
        With more than two values: CD to the best of the other values, or every ordered pair by
        itself.
    cuts : sequence of float, or mapping of column to such, optional
        Cut points of a column of numbers: its groups are the bands between them ("25 to < 60"), and
        another band stands for the middle one of its values.
    flip : callable, optional
        Given the one sensitive column as an array, returns what it holds in the counterfactual of
        each row; groups are the values of the column, or the bands of `cuts`.
    pos_label : optional
        The classifier's favourable class (default: its second), or the position of a function's
        column.
    label_values : sequence, optional
        The classes that a classifier may have: more is an error, and a favourable one that it does
        not have has the probability 0, with a warning. Not with a function, which knows no labels.
    cluster : array-like, shape (n,), optional
        Whose row it is, where people have several: rows of a person are one cluster.
    sample_weight : array-like, shape (n,), optional
        Sampling weights. Each row is kept with probability weight / largest weight of its group,
        which leaves an unweighted sample of every group's population (few rows, where a weight is
        far above the others).
    rng : None, int or numpy.random.Generator
        Which rows of weighted ones are kept; the result names the seed.
    trained_on : bool
        Whether the model was trained on these rows; the result says so.
    batch : int
        Rows in a block: memory grows with it, and not with n times p.
    confidence_level : float
    progress : bool, default True
        Whether a terminal shows a bar once it takes more than two seconds.

    Returns
    -------
    CounterfactualSample

    Raises
    ------
    InputError
        A column that is not there, fewer than two values, predictions that are no probabilities.

    Warns
    -----
    InsufficientEvidenceWarning
        A group without rows.
    DataWarning
        A model that does not look at the sensitive attribute at all: every CD is 0; a classifier
        without the favourable class.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> import fairstats as fs
    >>> people = pd.DataFrame({"sex": ["F", "M"] * 50, "years": np.arange(100) % 10})
    >>> def model(x):
    ...     return 0.4 + 0.03 * x["years"].to_numpy() + 0.1 * (x["sex"] == "M").to_numpy()
    >>> sample = fs.counterfactual_discrimination(model, people, sensitive_features="sex")
    >>> round(sample["F"].average.estimate, 3), round(sample["M"].average.estimate, 3)
    (0.1, -0.1)
    """
    table = as_features(X)
    checks.check_flag("trained_on", trained_on)
    checks.check_flag("progress", progress)
    checks.check_choice("counterfactual", counterfactual, ("worst", "all"))
    level = checks.check_confidence_level(confidence_level)
    checks.check_whole("batch", batch, low=1, cure="100_000")
    attribute = find_attribute(table, sensitive_features, values, cuts, flip)
    check_row_labels(X=X, cluster=cluster, sample_weight=sample_weight)
    cluster_codes = _code_clusters(cluster, table.n_rows)
    left_out = int((attribute.codes < 0).sum())
    notes = [_TRAINING] if trained_on else []
    if sample_weight is not None:
        weight = as_float_column(sample_weight, "sample_weight")
        checks.check_rows("sample_weight", weight, table.n_rows)
        check_weight_column(weight)
        kept, thinning_note = thinned(weight, attribute.codes, len(attribute.labels), rng)
        attribute = replace(attribute, codes=np.where(kept, attribute.codes, -1))
        notes.append(thinning_note)
    probability = favourable_probability(predict, pos_label, label_values)
    actual, flipped = flipped_scores(probability, table, attribute, batch, progress=progress)
    change = np.subtract(flipped, actual[:, None], out=flipped)
    if not change.any():
        why = "the model does not look at these columns, or `predict` does not pass them on"
        caution(f"No score changes with {attribute.name}: {why}.", DataWarning)
    pairing = "other" if attribute.turns == 1 else counterfactual
    groups = _sample_groups(attribute, pairing, change, actual, table, cluster_codes)
    if empty := dict.fromkeys(g.group for g in groups if g.n == 0):
        caution(f"No rows: {', '.join(empty)}.", InsufficientEvidenceWarning)
    return CounterfactualSample(
        attribute=attribute.name,
        groups=tuple(groups),
        pairing=pairing,
        confidence_level=level,
        n_left_out=left_out,
        note=" ".join(notes),
    )


def _sample_groups(
    attribute: Attribute,
    pairing: str,
    change: Floats,
    actual: Floats,
    table: FeatureTable,
    cluster_codes: NDArray[Any] | None,
) -> list[GroupSample]:
    """What a change of the attribute does to every row, group by group of those it really has."""
    group_samples = []
    codes = attribute.codes
    kept_rows = None
    if actual.size < table.n_rows:
        kept_rows = np.flatnonzero(codes >= 0)
        codes = codes[kept_rows]
    for level, name in enumerate(attribute.labels):
        group_rows = np.flatnonzero(codes == level)
        rows = group_rows if kept_rows is None else kept_rows[group_rows]
        row_facts = (
            table.labels_of(rows),
            actual.take(group_rows),
            None if cluster_codes is None else cluster_codes[rows],
        )
        if pairing == "worst":
            group_samples.append(
                GroupSample._of(name, "worst", change[group_rows].max(axis=1), *row_facts)
            )
            continue
        for turn in range(attribute.turns):
            counterfactual_name = attribute.counterfactual(level, turn)
            group_samples.append(
                GroupSample._of(
                    name, counterfactual_name, change[:, turn].take(group_rows), *row_facts
                )
            )
    return group_samples


def _code_clusters(cluster: Any, n_rows: int) -> NDArray[Any] | None:
    if cluster is None:
        return None
    factor = factorize(cluster, "cluster")
    checks.check_rows("cluster", factor.codes, n_rows)
    allowed = "the person of every row"
    cure = "leave out the rows, or number them by person"
    checks.check_that(not factor.has_missing, "cluster", "missing values", allowed, cure)
    return factor.codes


def flipped_scores(
    probability: Callable[[Any, int], Floats],
    table: FeatureTable,
    attribute: Attribute,
    batch: int = 100_000,
    *,
    progress: bool = True,
) -> tuple[Floats, Floats]:
    """ML(x, z) and ML(x, z′) for every z′ ≠ z, of the rows that have one of the values, in their
    order.

    Shapes (n,) and (n, turns). A block costs one call of the model and one for every turn; one is
    copied at a time.
    """
    n = int(np.count_nonzero(attribute.codes >= 0))
    actual = np.empty(n)
    flipped = np.empty((n, attribute.turns), order="F")
    whole = n == table.n_rows
    done = 0
    for start in each_of(range(0, table.n_rows, batch), "counterfactuals", shown=progress):
        stop = min(start + batch, table.n_rows)
        codes = attribute.codes[start:stop]
        used = slice(None) if whole else codes >= 0
        count = codes.size if whole else int((codes >= 0).sum())
        if count == 0:
            continue
        here = slice(done, done + count)
        actual[here] = probability(table.block(start, stop), codes.size)[used]
        for turn in range(attribute.turns):
            block = table.block(start, stop, attribute.replacement(turn, slice(start, stop)))
            flipped[here, turn] = probability(block, codes.size)[used]
        done += count
    return actual, flipped


@dataclass(frozen=True)
class Attribute:
    """A sensitive attribute.

    `labels`: names of the values; `codes`, shape (n,): value of each row, -1 for another one or
    none; `columns`: for each column, what it holds under each value; `flipped`: where a function
    flips the rows, the columns that it does, as the values that occur and the place of each row's
    among them.
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
        if self.flipped:
            return "flipped"
        return self.labels[(level + turn + 1) % len(self.labels)]

    def replacement(self, turn: int, rows: slice) -> Replacement:
        """Columns of these rows in a counterfactual.

        The value (z + turn + 1) mod L, or what was flipped.
        """
        if self.flipped:
            return {name: (values, codes[rows]) for name, (values, codes) in self.flipped.items()}
        # a row without one of the values (code −1) is turned like one with the last, and not used
        turned = np.roll(np.arange(len(self.labels), dtype=self.codes.dtype), -turn - 1)[
            self.codes[rows]
        ]
        return {name: (values, turned) for name, values in self.columns.items()}


def find_attribute(
    table: FeatureTable,
    columns: Any,
    values: Sequence[Hashable] | None = None,
    cuts: Any = None,
    flip: Callable[[Any], Any] | None = None,
) -> Attribute:
    """Read the sensitive attribute from arguments of `counterfactual_discrimination`, or raise
    InputError.
    """
    listed = isinstance(columns, list) or (
        isinstance(columns, tuple) and columns not in table.columns
    )
    if isinstance(columns, Mapping):
        names = []
    else:
        names = list(columns) if listed else [columns]
    bands = _check_cuts(cuts, names)
    if isinstance(columns, Mapping):
        attribute = _attribute_from_mapping(table, columns)
    elif listed and not bands and (found_one := _attribute_from_indicators(table, names)):
        attribute = found_one
    else:
        table.check_columns(names, "sensitive_features")
        band_columns = values is not None or len(names) > 1
        parts = []
        for name in names:
            banded = name in bands
            parts.append(
                _attribute_from_bands(table, name, bands[name])
                if banded
                else _attribute_from_column(table, name, listed=band_columns)
            )
        attribute = _cross_attributes(parts)
    if flip is not None:
        check_that(callable(flip), "flip", flip, "a function of a column")
        check_that(
            len(names) == 1, "flip", columns, "one sensitive column to flip", "name one column"
        )
        attribute = replace(attribute, flipped={names[0]: _flip_values(table, names[0], flip)})
    if values is not None:
        attribute = _select_values(attribute, values)
    elif lacking := int((attribute.codes == MISSING).sum()):
        got = f"{lacking:,} rows with none of the values of {attribute.name}"
        allowed = "a value in every row"
        raise _make_attribute_error(
            got, allowed, "values=[…] names the values to compare and leaves the other rows out"
        )
    if len(attribute.labels) > _MOST_VALUES:
        got = f"{attribute.name} with {len(attribute.labels)} values"
        allowed = f"at most {_MOST_VALUES} values"
        raise _make_attribute_error(got, allowed, "group them first, or choose some with values=")
    present = []
    for j, label in enumerate(attribute.labels):
        if (attribute.codes == j).any():
            present.append(label)
    n_least = 1 if isinstance(columns, Mapping) else 2  # a mapping knows values that do not occur
    if len(attribute.labels) < 2 or len(present) < n_least:
        if present:
            got = f"{attribute.name} with only the value {present[0]!r}"
        else:
            got = f"{attribute.name} without values"
        cure = "take rows of several groups, or name the values with a mapping"
        raise _make_attribute_error(got, "an attribute with at least two values", cure)
    return attribute


def _make_attribute_error(got: str, allowed: str, cure: str) -> InputError:
    return InputError("sensitive_features", got=got, allowed=allowed, cure=cure)


def _attribute_from_column(table: FeatureTable, column: Any, *, listed: bool) -> Attribute:
    factor = factorize(table.column(column), "sensitive_features")
    if not listed:
        say_what_is_empty(str(column), factor)
    labels = tuple(label_text(level_value) for level_value in factor.levels)
    levels = tuple(factor.levels)
    attribute = Attribute(str(column), labels, factor.codes, {column: levels})
    if factor.ordered_by_user:
        return attribute
    return _keep_values(attribute, sorted(range(len(levels)), key=lambda j: labels[j]))


def _keep_values(attribute: Attribute, keep: list[int]) -> Attribute:
    """With these values, in this order; rows with others have none."""
    new_codes = np.full(len(attribute.labels) + 1, MISSING, dtype=attribute.codes.dtype)
    new_codes[keep] = np.arange(len(keep))
    columns = {}
    for column, column_values in attribute.columns.items():
        columns[column] = tuple(column_values[j] for j in keep)
    return replace(
        attribute,
        labels=tuple(attribute.labels[j] for j in keep),
        codes=new_codes[attribute.codes],
        columns=columns,
    )


def _check_cuts(cuts: Any, names: list[Hashable]) -> dict[Hashable, Floats]:
    """Column → its cut points, ascending."""
    if cuts is None:
        return {}
    if not isinstance(cuts, Mapping):
        allowed = "of one sensitive column its cut points; of several a mapping of column to these"
        check_that(len(names) == 1, "cuts", cuts, allowed, 'cuts={"age": [25, 60]}')
        cuts = {names[0]: cuts}
    check_names("cuts", list(cuts), names)
    words = "one number or several, ascending"
    cut_points = {}
    for column, points_given in cuts.items():
        cut_points[column] = np.atleast_1d(finite_array("cuts", points_given, words))
    for column, points in cut_points.items():
        check_that(
            points.size and (np.diff(points) > 0).all(), "cuts", cuts[column], words, "[25, 60]"
        )
    return cut_points


def _attribute_from_bands(table: FeatureTable, column: Hashable, points: Floats) -> Attribute:
    """Bands of numbers; a band stands for the middle one of its values, which occurs."""
    column_values = np.asarray(table.column(column))
    x = finite_array(
        "sensitive_features", column_values, f"finite numbers in column {column!r}, which has cuts"
    )
    codes = np.searchsorted(points, x, side="right")
    points_in_words = [f"{p:g}" for p in points]
    labels = [
        f"< {points_in_words[0]}",
        *(f"{a} to < {b}" for a, b in itertools.pairwise(points_in_words)),
        f"≥ {points_in_words[-1]}",
    ]
    rows_by_band = []
    for j in range(len(labels)):
        rows_by_band.append(np.flatnonzero(codes == j)[np.argsort(x[codes == j])])
    empty_bands = []
    for label, rows in zip(labels, rows_by_band, strict=True):
        if not rows.size:
            empty_bands.append(label)
    check_that(
        not empty_bands,
        "cuts",
        empty_bands,
        "bands with rows",
        "leave out cut points beyond the values",
    )
    return Attribute(
        str(column),
        tuple(labels),
        codes,
        {
            column: tuple(
                column_values[band_rows[band_rows.size // 2]] for band_rows in rows_by_band
            )
        },
    )


def _flip_values(
    table: FeatureTable, column: Hashable, flip: Callable[[Any], Any]
) -> tuple[Any, Any]:
    """Values that a function gives to a column, and the place of each row's among them."""
    new_values = np.asarray(flip(np.asarray(table.column(column))))
    allowed = f"one value per row of column {column!r}, none missing"
    cure = "flip=lambda age: 80 - age"
    check_that(
        new_values.shape == (table.n_rows,),
        "flip",
        f"an array of shape {new_values.shape}",
        allowed,
        cure,
    )
    factor = factorize(new_values, "flip")
    check_that(not factor.has_missing, "flip", "an array with missing values", allowed, cure)
    return tuple(factor.levels), factor.codes


def _cross_attributes(parts: list[Attribute]) -> Attribute:
    """The combinations of several attributes that occur, in the order of their values."""
    if len(parts) == 1:
        return parts[0]
    is_known = np.all([part.codes != MISSING for part in parts], axis=0)
    sizes = [len(part.labels) for part in parts]
    cells = np.ravel_multi_index([np.where(is_known, part.codes, 0) for part in parts], sizes)
    codes = np.full(is_known.size, MISSING, dtype=np.int64)
    present, codes[is_known] = np.unique(cells[is_known], return_inverse=True)
    level_cells = list(zip(*np.unravel_index(present, sizes), strict=True))
    label_lists = [part.labels for part in parts]
    if len(set(itertools.chain(*label_lists))) < sum(sizes):  # 0 and 1 of several columns
        label_lists = []
        for part in parts:
            label_lists.append(tuple(f"{part.name} = {label}" for label in part.labels))
    labels = tuple(
        INTERSECTION.join(
            labels_of_part[j] for labels_of_part, j in zip(label_lists, level_cell, strict=True)
        )
        for level_cell in level_cells
    )
    part_columns = []
    for i, part in enumerate(parts):
        for column, values in part.columns.items():
            part_columns.append((i, column, values))
    columns = {}
    for i, column, values in part_columns:
        columns[column] = tuple(values[level_cell[i]] for level_cell in level_cells)
    return Attribute(INTERSECTION.join(part.name for part in parts), labels, codes, columns)


def _attribute_from_indicators(table: FeatureTable, columns: list[Hashable]) -> Attribute | None:
    """Indicators of one attribute; None where the columns are attributes of their own."""
    if not columns:
        raise _make_attribute_error("no columns", "at least one column", "name the columns")
    table.check_columns(columns, "sensitive_features")
    factors = [factorize(table.column(column), "sensitive_features") for column in columns]
    if any(factor.has_missing or len(factor.levels) != 2 for factor in factors):
        return None
    pairs = [tuple(sorted(factor.levels)) for factor in factors]  # type: ignore[type-var]
    numbers = all(
        isinstance(level_value, (bool, int, float, np.number, np.bool_))
        for pair in pairs
        for level_value in pair
    )
    is_set = np.column_stack(
        [
            f.codes == f.levels.index(level_pair[1])
            for f, level_pair in zip(factors, pairs, strict=True)
        ]
    )
    n_set = is_set.sum(axis=1)
    if (n_set > 1).any() or not (numbers or len(set(pairs)) == 1):
        return None
    labels = [*map(str, columns), *([BASELINE] if (n_set == 0).any() else [])]
    codes = np.where(n_set == 1, is_set.argmax(axis=1), len(columns))
    columns_and_pairs = enumerate(zip(columns, pairs, strict=True))
    values_by_column = {}
    for j, (column, pair) in columns_and_pairs:
        values_by_column[column] = tuple(pair[int(level == j)] for level in range(len(labels)))
    return Attribute(" / ".join(map(str, columns)), tuple(labels), codes, values_by_column)


def _attribute_from_mapping(table: FeatureTable, assignments: Mapping[Hashable, Any]) -> Attribute:
    """An attribute that several columns encode, from value → {column: what it holds}."""
    if not all(
        isinstance(assigned_values, Mapping) and assigned_values
        for assigned_values in assignments.values()
    ):
        got = "a mapping whose values are no mappings"
        cure = 'sensitive_features={"F": {"sex": 0}, "M": {"sex": 1}}'
        raise _make_attribute_error(got, "value → {column: what it holds}", cure)
    columns = list(
        dict.fromkeys(
            column for assigned_values in assignments.values() for column in assigned_values
        )
    )
    table.check_columns(columns, "sensitive_features")
    if ragged := [
        str(name)
        for name, assigned_values in assignments.items()
        if set(assigned_values) != set(columns)
    ]:
        got = f"{', '.join(ragged)} without some of the columns {columns!r}"
        raise _make_attribute_error(
            got, "every value names every column", "say what each column holds under each value"
        )
    assigned_values = {}
    for column in columns:
        assigned_values[column] = tuple(assignment[column] for assignment in assignments.values())
    codes = np.full(table.n_rows, MISSING, dtype=np.int64)
    data_by_column = {column: np.asarray(table.column(column)) for column in columns}
    for level in range(len(assignments)):
        is_level = np.all(
            [
                np.asarray(data_by_column[column] == assigned_values[column][level], dtype=bool)
                for column in columns
            ],
            axis=0,
        )
        if (codes[is_level] != MISSING).any():
            got = "two values that say the same of the columns"
            allowed = "values that differ in at least one column"
            raise _make_attribute_error(got, allowed, "leave one of them out")
        codes[is_level] = level
    return Attribute(
        " / ".join(map(str, columns)),
        tuple(label_text(value) for value in assignments),
        codes,
        assigned_values,
    )


def _select_values(attribute: Attribute, values: Sequence[Hashable]) -> Attribute:
    is_list = isinstance(values, (list, tuple)) or (
        isinstance(values, np.ndarray) and values.ndim == 1
    )
    check_that(is_list, "values", values, "a list of values", "values=['F', 'M']")
    keep = [group_index(attribute.labels, value, "values") for value in values]
    check_names("values", [attribute.labels[kept_code] for kept_code in keep], attribute.labels)
    return _keep_values(attribute, keep)
