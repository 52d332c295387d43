"""`counterfactual_discrimination`: what another value of the sensitive attribute would have changed.

The attribute is one column, several that encode it together (one-hot), or any assignment of columns per
value.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fairstats.ground.checks import (
    check_choice,
    check_confidence_level,
    check_flag,
    check_names,
    check_rows,
    check_that,
    check_whole,
)
from fairstats.ground.encoding import MISSING, factorize, label_text
from fairstats.ground.errors import DataWarning, InputError, InsufficientEvidenceWarning, caution
from fairstats.ground.groups import group_index, say_what_is_empty
from fairstats.ground.outcomes import check_row_labels
from fairstats.ground.predictions import as_features, favourable_probability
from fairstats.methods.ecd.sample import CounterfactualSample, GroupSample
from fairstats.numerics.evt.distributions import Floats

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fairstats.ground.predictions import FeatureTable, Replacement


#: More values than this are no groups.
_MOST_VALUES = 64
#: Name of the value of rows where every indicator is off (an encoding that drops the first category).
BASELINE = "(none of these)"
_TRAINING = "Some of these rows, or all, trained the model: its scores there are not those of new people."


def counterfactual_discrimination(
    predict: Any,
    X: Any,
    *,
    sensitive_features: Any,
    values: Sequence[Hashable] | None = None,
    counterfactual: Literal["worst", "all"] = "worst",
    pos_label: Hashable | None = None,
    person: Any = None,
    trained_on: bool = False,
    batch: int = 100_000,
    confidence_level: float = 0.95,
    progress: bool = False,
) -> CounterfactualSample:
    """Counterfactual discrimination of every individual, by group.

    CD(x, z) = ML(x, z′) − ML(x, z), where ML is the probability of the favourable outcome, z the value of the
    sensitive attribute and z′ another one: positive where group z is disadvantaged (Monjezi et al.,
    Definition III.1). Everything else about the person stays as it is, which is a statement about the model,
    not about causes in the world.

    Parameters
    ----------
    predict : callable or classifier
        Called with blocks of X. Returns probabilities of the favourable outcome, shape (n,), or (n, 2) with
        the favourable class second; a classifier is asked for `predict_proba`.
    X : data frame or array-like, shape (n, p)
        pandas, polars, Arrow or NumPy, as the model takes it.
    sensitive_features : column, list of columns, or mapping
        A column of X (a position for arrays); a list of indicator columns that encode one attribute
        (one-hot), which are flipped together; or a mapping value → {column: what it holds}.
    values : sequence, optional
        The values to compare, in this order; rows with others are left out, and counted.
    counterfactual : {"worst", "all"}
        With more than two values: CD to the best of the other values, or every ordered pair by itself.
    pos_label : optional
        The classifier's favourable class (default: its second), or the position of its column.
    person : array-like, shape (n,), optional
        Whose row it is, where people have several: rows of a person are one cluster.
    trained_on : bool
        Whether the model was trained on these rows; the result says so.
    batch : int
        Rows in a block: memory grows with it, and not with n times p.
    confidence_level : float
    progress : bool
        Show a progress bar.

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
        A model that does not look at the sensitive attribute at all: every CD is 0.

    References
    ----------
    Monjezi, V., Kreinovich, V., Trivedi, A., Tizpaz-Niari, S. Fairness Testing through Extreme Value Theory,
    section III.

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
    check_flag("trained_on", trained_on)
    check_flag("progress", progress)
    check_choice("counterfactual", counterfactual, ("worst", "all"))
    level = check_confidence_level(confidence_level)
    check_whole("batch", batch, low=1, cure="100_000")
    attribute = find_attribute(table, sensitive_features, values)
    check_row_labels(X=X, person=person)
    owner = _owners(person, table.n_rows)
    probability = favourable_probability(predict, pos_label)
    actual, flipped = flipped_scores(probability, table, attribute, batch, progress=progress)
    change = np.subtract(flipped, actual[:, None], out=flipped)
    if not change.any():
        caution(
            f"No score changes with {attribute.name}: the model does not look at these columns, or `predict` "
            "does not pass them on.",
            DataWarning,
        )
    pairing = "other" if len(attribute.labels) == 2 else counterfactual
    groups = _groups(attribute, pairing, change, actual, table, owner)
    empty = [g.group for g in groups if g.n == 0]
    if empty:
        caution(f"No rows: {', '.join(dict.fromkeys(empty))}.", InsufficientEvidenceWarning)
    return CounterfactualSample(
        attribute.name, tuple(groups), pairing, level, table.n_rows - actual.size,
        _TRAINING if trained_on else "",
    )  # fmt: skip


def _groups(
    attribute: Attribute,
    pairing: str,
    change: Floats,
    actual: Floats,
    table: FeatureTable,
    owner: NDArray[Any] | None,
) -> list[GroupSample]:
    found = []
    count = len(attribute.labels)
    codes, kept = attribute.codes, None
    if actual.size < table.n_rows:
        kept = np.flatnonzero(codes >= 0)
        codes = codes[kept]
    for level, name in enumerate(attribute.labels):
        here = np.flatnonzero(codes == level)
        rows = here if kept is None else kept[here]
        about = (table.labels_of(rows), actual.take(here), None if owner is None else owner[rows])
        if pairing == "worst":
            found.append(GroupSample.of(name, "worst", change[here].max(axis=1), *about))
            continue
        for s in range(count - 1):
            other = attribute.labels[(level + s + 1) % count]
            found.append(GroupSample.of(name, other, change[:, s].take(here), *about))
    return found


def _owners(person: Any, n_rows: int) -> NDArray[Any] | None:
    if person is None:
        return None
    factor = factorize(person, "person")
    check_rows("person", factor.codes, n_rows)
    allowed, cure = "the person of every row", "leave out the rows, or number them by person"
    check_that(not factor.has_missing, "person", "missing values", allowed, cure)
    return factor.codes


def flipped_scores(
    probability: Callable[[Any, int], Floats],
    table: FeatureTable,
    attribute: Attribute,
    batch: int = 100_000,
    *,
    progress: bool = False,
) -> tuple[Floats, Floats]:
    """ML(x, z) and ML(x, z′) for every z′ ≠ z, of the rows that have one of the values, in their order.

    Shapes (n,) and (n, L − 1): column s has the value (z + s + 1) mod L, for two values the other one. A
    block costs L calls of the model, two for a binary attribute; only one block is copied at a time.
    """
    from tqdm import tqdm

    levels = len(attribute.labels)
    n = int(np.count_nonzero(attribute.codes >= 0))
    actual = np.empty(n)
    flipped = np.empty((n, levels - 1), order="F")
    # a row without one of the values (code −1) is flipped like one with the last, and not used
    every = np.arange(levels, dtype=attribute.codes.dtype)
    turned = [np.roll(every, -s - 1) for s in range(levels - 1)]
    whole = n == table.n_rows
    starts = range(0, table.n_rows, batch)
    done = 0
    for start in tqdm(starts, desc="counterfactuals", disable=not progress, leave=False):
        stop = min(start + batch, table.n_rows)
        codes = attribute.codes[start:stop]
        used = slice(None) if whole else codes >= 0
        count = codes.size if whole else int((codes >= 0).sum())
        if count == 0:
            continue
        here = slice(done, done + count)
        actual[here] = probability(table.block(start, stop), codes.size)[used]
        for s, others in enumerate(turned):
            block = table.block(start, stop, attribute.replacement(others[codes]))
            flipped[here, s] = probability(block, codes.size)[used]
        done += count
    return actual, flipped


@dataclass(frozen=True)
class Attribute:
    """A sensitive attribute.

    `labels`: names of the values; `codes`, shape (n,): value of each row; -1 for rows that have another one,
    or none; `columns`: for each column, what it holds under each value.
    """

    name: str
    labels: tuple[str, ...]
    codes: NDArray[np.signedinteger[Any]]
    columns: dict[Hashable, tuple[Any, ...]]

    def replacement(self, codes: NDArray[np.signedinteger[Any]]) -> Replacement:
        """Columns as they are when the rows have these values."""
        return {name: (values, codes) for name, values in self.columns.items()}


def find_attribute(table: FeatureTable, columns: Any, values: Sequence[Hashable] | None) -> Attribute:
    """Read the sensitive attribute.

    `columns` is a column; a list of indicator columns that encode one attribute; or, for any other encoding,
    a mapping from the name of a value to what the columns hold: ``{"F": {"sex": 0}, "M": {"sex": 1}}``.
    `values` are those to compare, in this order; rows with others are left out.

    Raises InputError: a column that is not there, fewer than two values, indicators that overlap.
    """
    if isinstance(columns, Mapping):
        found = _from_mapping(table, columns)
    elif isinstance(columns, list) or (isinstance(columns, tuple) and columns not in table.columns):
        found = _from_indicators(table, list(columns))
    else:
        found = _from_column(table, columns, listed=values is not None)
    if values is not None:
        found = _selected(found, values)
    elif (found.codes == MISSING).any():
        raise _unfit(
            f"{int((found.codes == MISSING).sum()):,} rows with none of the values of {found.name}",
            "a value in every row",
            "values=[…] names the values to compare and leaves the other rows out",
        )
    if len(found.labels) > _MOST_VALUES:
        raise _unfit(
            f"{found.name} with {len(found.labels)} values",
            f"at most {_MOST_VALUES} values",
            "group them first, or choose some with values=",
        )
    present = [int(np.count_nonzero(found.codes == j)) for j in range(len(found.labels))]
    least = 1 if isinstance(columns, Mapping) else 2  # a mapping knows values that do not occur
    if len(found.labels) < 2 or np.count_nonzero(present) < least:
        there = [label for label, n in zip(found.labels, present, strict=True) if n]
        raise _unfit(
            f"{found.name} with only the value {there[0]!r}" if there else f"{found.name} without values",
            "an attribute with at least two values",
            "take rows of several groups, or name the values with a mapping",
        )
    return found


def _unfit(got: str, allowed: str, cure: str) -> InputError:
    return InputError("sensitive_features", got=got, allowed=allowed, cure=cure)


def _from_column(table: FeatureTable, column: Any, *, listed: bool) -> Attribute:
    table.check_columns([column], "sensitive_features")
    factor = factorize(table.column(column), "sensitive_features")
    if not listed:
        say_what_is_empty(str(column), factor)
    labels, codes = tuple(label_text(v) for v in factor.levels), factor.codes
    levels: tuple[Any, ...] = factor.levels
    if not factor.ordered_by_user:
        order = sorted(range(len(levels)), key=lambda j: labels[j])
        place = np.empty(len(order) + 1, dtype=codes.dtype)
        place[order] = np.arange(len(order))
        place[-1] = MISSING
        labels, levels, codes = tuple(labels[j] for j in order), tuple(levels[j] for j in order), place[codes]
    return Attribute(str(column), labels, codes, {column: levels})


def _from_indicators(table: FeatureTable, columns: list[Hashable]) -> Attribute:
    table.check_columns(columns, "sensitive_features")
    if not columns:
        raise _unfit("no columns", "at least one indicator column", "name the columns")
    on = np.zeros((table.n_rows, len(columns)), dtype=bool)
    pairs: dict[Hashable, tuple[Any, Any]] = {}
    for j, column in enumerate(columns):
        factor = factorize(table.column(column), "sensitive_features")
        if factor.has_missing or len(factor.levels) != 2:
            raise _unfit(
                f"column {column!r} with {len(factor.levels)} values"
                + (" and missing ones" if factor.has_missing else ""),
                "in a list: indicator columns with two values each, off and on",
                "name the one column itself, or give a mapping from values to columns",
            )
        off, yes = sorted(factor.levels)  # type: ignore[type-var]
        pairs[column] = (off, yes)
        on[:, j] = factor.codes == factor.levels.index(yes)
    count = on.sum(axis=1)
    if (count > 1).any():
        raise _unfit(
            f"{int((count > 1).sum()):,} rows with several of the indicators on",
            "indicators of one attribute: at most one of them on",
            "list the columns of one attribute only",
        )
    labels = [str(column) for column in columns]
    codes = np.where(count == 1, on.argmax(axis=1), len(columns))
    if (count == 0).any():
        labels.append(BASELINE)
    held = {
        column: tuple(pairs[column][int(level == j)] for level in range(len(labels)))
        for j, column in enumerate(columns)
    }
    return Attribute(" / ".join(map(str, columns)), tuple(labels), codes, held)


def _from_mapping(table: FeatureTable, assignments: Mapping[Hashable, Any]) -> Attribute:
    if not all(isinstance(held, Mapping) and held for held in assignments.values()):
        raise _unfit(
            "a mapping whose values are no mappings",
            "value → {column: what it holds}",
            'sensitive_features={"F": {"sex": 0}, "M": {"sex": 1}}',
        )
    columns = list(dict.fromkeys(c for held in assignments.values() for c in held))
    table.check_columns(columns, "sensitive_features")
    ragged = [str(name) for name, held in assignments.items() if set(held) != set(columns)]
    if ragged:
        raise _unfit(
            f"{', '.join(ragged)} without some of the columns {columns!r}",
            "every value names every column",
            "say what each column holds under each value",
        )
    held = {c: tuple(given[c] for given in assignments.values()) for c in columns}
    codes = np.full(table.n_rows, MISSING, dtype=np.int64)
    data = {c: np.asarray(table.column(c)) for c in columns}
    for level in range(len(assignments)):
        has = np.ones(table.n_rows, dtype=bool)
        for c in columns:
            has &= np.asarray(data[c] == held[c][level], dtype=bool)
        if (codes[has] != MISSING).any():
            raise _unfit(
                "two values that say the same of the columns",
                "values that differ in at least one column",
                "leave one of them out",
            )
        codes[has] = level
    return Attribute(" / ".join(map(str, columns)), tuple(label_text(k) for k in assignments), codes, held)


def _selected(found: Attribute, values: Sequence[Hashable]) -> Attribute:
    several = isinstance(values, (list, tuple)) or (isinstance(values, np.ndarray) and values.ndim == 1)
    check_that(several, "values", values, "a list of values", "values=['F', 'M']")
    keep = [group_index(found.labels, value, "values") for value in values]
    wanted = [found.labels[k] for k in keep]
    check_names("values", wanted, found.labels)
    place = np.full(len(found.labels) + 1, MISSING, dtype=np.int64)
    place[keep] = np.arange(len(keep))
    columns = {name: tuple(held[j] for j in keep) for name, held in found.columns.items()}
    return Attribute(found.name, tuple(wanted), place[found.codes], columns)
