"""`counterfactual_discrimination`: what another value of the sensitive attribute would have changed.

The attribute is a column, columns crossed, indicators, bands, or any assignment (`find_attribute`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from fairstats.ground import checks
from fairstats.ground.checks import check_names, check_that, finite_array
from fairstats.ground.encoding import MISSING, as_float_column, factorize, label_text
from fairstats.ground.errors import DataWarning, InputError, InsufficientEvidenceWarning, caution
from fairstats.ground.groups import INTERSECTION, group_index, say_what_is_empty
from fairstats.ground.outcomes import check_row_labels, check_weight_column
from fairstats.ground.predictions import FeatureTable, Replacement, as_features, favourable_probability
from fairstats.methods.ecd.sample import CounterfactualSample, GroupSample, thinned
from fairstats.numerics.evt.distributions import Floats

_TRAINING = "Some of these rows, or all, trained the model: its scores there are not those of new people."
#: More values than this are no groups.
_MOST_VALUES = 64
#: Name of the value of rows where every indicator is off (an encoding that drops the first category).
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
    person: Any = None,
    sample_weight: Any = None,
    rng: Any = None,
    trained_on: bool = False,
    batch: int = 100_000,
    confidence_level: float = 0.95,
    progress: bool = False,
) -> CounterfactualSample:
    """Counterfactual discrimination of every individual, by group.

    CD(x, z) = ML(x, z′) − ML(x, z), where ML is the probability of the favourable outcome, z the value of the sensitive
    attribute and z′ another one: positive where group z is disadvantaged (Monjezi et al., Definition III.1; see `ecd`).
    Everything else about the person stays as it is: a statement about the model, not about causes in the world.

    Parameters
    ----------
    predict : callable or classifier
        Called with blocks of X: probabilities of the favourable outcome, shape (n,), or (n, 2) with the favourable
        class second; a classifier is asked for `predict_proba`.
    X : data frame or array-like, shape (n, p)
        pandas, polars, Arrow or NumPy, as the model takes it.
    sensitive_features : column, list of columns, or mapping
        A column of X (a position for arrays); columns to be crossed (groups are the combinations that occur, "F &
        black"); indicators of one attribute (numbers of two values each, never two of them on: one-hot), which are
        flipped together; or a mapping value → {column: what it holds}.
    values : sequence, optional
        The values to compare, in this order; rows with others are left out, and counted.
    counterfactual : {"worst", "all"}
        With more than two values: CD to the best of the other values, or every ordered pair by itself.
    cuts : sequence of float, or mapping of column to such, optional
        Cut points of a column of numbers: its groups are the bands between them ("25 to < 60"), and another band stands
        for the middle one of its values.
    flip : callable, optional
        Given the one sensitive column as an array, returns what it holds in the counterfactual of each row; groups are
        the values of the column, or the bands of `cuts`.
    pos_label : optional
        The classifier's favourable class (default: its second), or the position of a function's column.
    label_values : sequence, optional
        The classes that a classifier may have: more is an error, and a favourable one that it does not have has the
        probability 0, with a warning. Not with a function, which knows no labels.
    person : array-like, shape (n,), optional
        Whose row it is, where people have several: rows of a person are one cluster.
    sample_weight : array-like, shape (n,), optional
        Sampling weights. Each row is kept with probability weight / largest weight of its group, which leaves an
        unweighted sample of every group's population (few rows, where a weight is far above the others).
    rng : None, int or numpy.random.Generator
        Which rows of weighted ones are kept; the result names the seed.
    trained_on : bool
        Whether the model was trained on these rows; the result says so.
    batch : int
        Rows in a block: memory grows with it, and not with n times p.
    confidence_level : float
    progress : bool

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
        A model that does not look at the sensitive attribute at all: every CD is 0; a classifier without the favourable
        class.

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
    check_row_labels(X=X, person=person, sample_weight=sample_weight)
    owner = _owners(person, table.n_rows)
    left_out, notes = int((attribute.codes < 0).sum()), [_TRAINING] if trained_on else []
    if sample_weight is not None:
        weight = as_float_column(sample_weight, "sample_weight")
        checks.check_rows("sample_weight", weight, table.n_rows)
        check_weight_column(weight)
        kept, told = thinned(weight, attribute.codes, len(attribute.labels), rng)
        attribute = replace(attribute, codes=np.where(kept, attribute.codes, -1))
        notes.append(told)
    probability = favourable_probability(predict, pos_label, label_values)
    actual, flipped = flipped_scores(probability, table, attribute, batch, progress=progress)
    change = np.subtract(flipped, actual[:, None], out=flipped)
    if not change.any():
        why = "the model does not look at these columns, or `predict` does not pass them on"
        caution(f"No score changes with {attribute.name}: {why}.", DataWarning)
    pairing = "other" if attribute.turns == 1 else counterfactual
    groups = _groups(attribute, pairing, change, actual, table, owner)
    if empty := dict.fromkeys(g.group for g in groups if g.n == 0):
        caution(f"No rows: {', '.join(empty)}.", InsufficientEvidenceWarning)
    return CounterfactualSample(attribute.name, tuple(groups), pairing, level, left_out, " ".join(notes))


def _groups(
    attribute: Attribute, pairing: str, change: Floats, actual: Floats, table: FeatureTable, owner: NDArray[Any] | None
) -> list[GroupSample]:
    found, codes, kept = [], attribute.codes, None
    if actual.size < table.n_rows:
        kept = np.flatnonzero(codes >= 0)
        codes = codes[kept]
    for level, name in enumerate(attribute.labels):
        here = np.flatnonzero(codes == level)
        rows = here if kept is None else kept[here]
        about = (table.labels_of(rows), actual.take(here), None if owner is None else owner[rows])
        if pairing == "worst":
            found.append(GroupSample._of(name, "worst", change[here].max(axis=1), *about))
            continue
        for s in range(attribute.turns):
            other = attribute.counterfactual(level, s)
            found.append(GroupSample._of(name, other, change[:, s].take(here), *about))
    return found


def _owners(person: Any, n_rows: int) -> NDArray[Any] | None:
    if person is None:
        return None
    factor = factorize(person, "person")
    checks.check_rows("person", factor.codes, n_rows)
    allowed, cure = "the person of every row", "leave out the rows, or number them by person"
    checks.check_that(not factor.has_missing, "person", "missing values", allowed, cure)
    return factor.codes


def flipped_scores(
    probability: Callable[[Any, int], Floats], table: FeatureTable, attribute: Attribute, batch: int = 100_000, *,
    progress: bool = False,
) -> tuple[Floats, Floats]:  # fmt: skip
    """ML(x, z) and ML(x, z′) for every z′ ≠ z, of the rows that have one of the values, in their order.

    Shapes (n,) and (n, turns). A block costs one call of the model and one for every turn; one is copied at a time.
    """
    n = int(np.count_nonzero(attribute.codes >= 0))
    actual, flipped = np.empty(n), np.empty((n, attribute.turns), order="F")
    whole, done = n == table.n_rows, 0
    for start in tqdm(range(0, table.n_rows, batch), desc="counterfactuals", disable=not progress, leave=False):
        stop = min(start + batch, table.n_rows)
        codes = attribute.codes[start:stop]
        used = slice(None) if whole else codes >= 0
        count = codes.size if whole else int((codes >= 0).sum())
        if count == 0:
            continue
        here = slice(done, done + count)
        actual[here] = probability(table.block(start, stop), codes.size)[used]
        for s in range(attribute.turns):
            block = table.block(start, stop, attribute.replacement(s, slice(start, stop)))
            flipped[here, s] = probability(block, codes.size)[used]
        done += count
    return actual, flipped


@dataclass(frozen=True)
class Attribute:
    """A sensitive attribute.

    `labels`: names of the values; `codes`, shape (n,): value of each row, -1 for another one or none; `columns`: for
    each column, what it holds under each value; `flipped`: where a function flips the rows, the columns that it does,
    as the values that occur and the place of each row's among them.
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
    table: FeatureTable, columns: Any, values: Sequence[Hashable] | None = None, cuts: Any = None,
    flip: Callable[[Any], Any] | None = None,
) -> Attribute:  # fmt: skip
    """Read the sensitive attribute from arguments of `counterfactual_discrimination`, or raise InputError."""
    listed = isinstance(columns, list) or (isinstance(columns, tuple) and columns not in table.columns)
    names = [] if isinstance(columns, Mapping) else list(columns) if listed else [columns]
    bands = _checked_cuts(cuts, names)
    if isinstance(columns, Mapping):
        found = _from_mapping(table, columns)
    elif listed and not bands and (found_one := _from_indicators(table, names)):
        found = found_one
    else:
        table.check_columns(names, "sensitive_features")
        known, parts = values is not None or len(names) > 1, []
        for name in names:
            banded = name in bands
            parts.append(_from_bands(table, name, bands[name]) if banded else _from_column(table, name, listed=known))
        found = _crossed(parts)
    if flip is not None:
        check_that(callable(flip), "flip", flip, "a function of a column")
        check_that(len(names) == 1, "flip", columns, "one sensitive column to flip", "name one column")
        found = replace(found, flipped={names[0]: _flipped(table, names[0], flip)})
    if values is not None:
        found = _selected(found, values)
    elif lacking := int((found.codes == MISSING).sum()):
        got, allowed = f"{lacking:,} rows with none of the values of {found.name}", "a value in every row"
        raise _unfit(got, allowed, "values=[…] names the values to compare and leaves the other rows out")
    if len(found.labels) > _MOST_VALUES:
        got, allowed = f"{found.name} with {len(found.labels)} values", f"at most {_MOST_VALUES} values"
        raise _unfit(got, allowed, "group them first, or choose some with values=")
    there = [label for j, label in enumerate(found.labels) if (found.codes == j).any()]
    least = 1 if isinstance(columns, Mapping) else 2  # a mapping knows values that do not occur
    if len(found.labels) < 2 or len(there) < least:
        got = f"{found.name} with only the value {there[0]!r}" if there else f"{found.name} without values"
        cure = "take rows of several groups, or name the values with a mapping"
        raise _unfit(got, "an attribute with at least two values", cure)
    return found


def _unfit(got: str, allowed: str, cure: str) -> InputError:
    return InputError("sensitive_features", got=got, allowed=allowed, cure=cure)


def _from_column(table: FeatureTable, column: Any, *, listed: bool) -> Attribute:
    factor = factorize(table.column(column), "sensitive_features")
    if not listed:
        say_what_is_empty(str(column), factor)
    labels, levels = tuple(label_text(v) for v in factor.levels), tuple(factor.levels)
    found = Attribute(str(column), labels, factor.codes, {column: levels})
    return found if factor.ordered_by_user else _chosen(found, sorted(range(len(levels)), key=lambda j: labels[j]))


def _chosen(found: Attribute, keep: list[int]) -> Attribute:
    """With these values, in this order; rows with others have none."""
    place = np.full(len(found.labels) + 1, MISSING, dtype=found.codes.dtype)
    place[keep] = np.arange(len(keep))
    columns = {name: tuple(held[j] for j in keep) for name, held in found.columns.items()}
    return replace(found, labels=tuple(found.labels[j] for j in keep), codes=place[found.codes], columns=columns)


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
    allowed, cure = f"one value per row of column {column!r}, none missing", "flip=lambda age: 80 - age"
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
    codes = np.full(known.size, MISSING, dtype=np.int64)
    present, codes[known] = np.unique(cells[known], return_inverse=True)
    own = list(zip(*np.unravel_index(present, sizes), strict=True))
    names = [part.labels for part in parts]
    if len(set(itertools.chain(*names))) < sum(sizes):  # 0 and 1 of several columns
        names = [tuple(f"{part.name} = {label}" for label in part.labels) for part in parts]
    labels = tuple(INTERSECTION.join(n[j] for n, j in zip(names, cell, strict=True)) for cell in own)
    held = [(i, column, values) for i, part in enumerate(parts) for column, values in part.columns.items()]
    columns = {column: tuple(values[cell[i]] for cell in own) for i, column, values in held}
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
    labels = [*map(str, columns), *([BASELINE] if (count == 0).any() else [])]
    codes = np.where(count == 1, on.argmax(axis=1), len(columns))
    owned = enumerate(zip(columns, pairs, strict=True))
    held = {column: tuple(pair[int(level == j)] for level in range(len(labels))) for j, (column, pair) in owned}
    return Attribute(" / ".join(map(str, columns)), tuple(labels), codes, held)


def _from_mapping(table: FeatureTable, assignments: Mapping[Hashable, Any]) -> Attribute:
    if not all(isinstance(held, Mapping) and held for held in assignments.values()):
        got, cure = "a mapping whose values are no mappings", 'sensitive_features={"F": {"sex": 0}, "M": {"sex": 1}}'
        raise _unfit(got, "value → {column: what it holds}", cure)
    columns = list(dict.fromkeys(c for held in assignments.values() for c in held))
    table.check_columns(columns, "sensitive_features")
    if ragged := [str(name) for name, held in assignments.items() if set(held) != set(columns)]:
        got = f"{', '.join(ragged)} without some of the columns {columns!r}"
        raise _unfit(got, "every value names every column", "say what each column holds under each value")
    held = {c: tuple(given[c] for given in assignments.values()) for c in columns}
    codes = np.full(table.n_rows, MISSING, dtype=np.int64)
    data = {c: np.asarray(table.column(c)) for c in columns}
    for level in range(len(assignments)):
        has = np.all([np.asarray(data[c] == held[c][level], dtype=bool) for c in columns], axis=0)
        if (codes[has] != MISSING).any():
            got, allowed = "two values that say the same of the columns", "values that differ in at least one column"
            raise _unfit(got, allowed, "leave one of them out")
        codes[has] = level
    return Attribute(" / ".join(map(str, columns)), tuple(label_text(k) for k in assignments), codes, held)


def _selected(found: Attribute, values: Sequence[Hashable]) -> Attribute:
    several = isinstance(values, (list, tuple)) or (isinstance(values, np.ndarray) and values.ndim == 1)
    check_that(several, "values", values, "a list of values", "values=['F', 'M']")
    keep = [group_index(found.labels, value, "values") for value in values]
    check_names("values", [found.labels[k] for k in keep], found.labels)
    return _chosen(found, keep)
