"""`counterfactual_discrimination`: what another value of the sensitive attribute would have changed."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from fairstats.ground import checks
from fairstats.ground.encoding import as_float_column, factorize
from fairstats.ground.errors import DataWarning, InsufficientEvidenceWarning, caution
from fairstats.ground.outcomes import check_row_labels, check_weight_column
from fairstats.ground.predictions import FeatureTable, as_features, favourable_probability
from fairstats.methods.ecd.attribute import Attribute, find_attribute
from fairstats.methods.ecd.sample import CounterfactualSample, GroupSample, thinned
from fairstats.numerics.evt.distributions import Floats

_TRAINING = "Some of these rows, or all, trained the model: its scores there are not those of new people."


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
    attribute and z′ another one: positive where group z is disadvantaged (Monjezi et al., Definition III.1). Everything
    else about the person stays as it is, which is a statement about the model, not about causes in the world.

    Parameters
    ----------
    predict : callable or classifier
        Called with blocks of X. Returns probabilities of the favourable outcome, shape (n,), or (n, 2) with
        the favourable class second; a classifier is asked for `predict_proba`.
    X : data frame or array-like, shape (n, p)
        pandas, polars, Arrow or NumPy, as the model takes it.
    sensitive_features : column, list of columns, or mapping
        A column of X (a position for arrays); a list of columns, which are crossed (the groups are the
        combinations that occur, "F & black"); a list of indicators of one attribute (numbers of two values each, never
        two of them on: one-hot), which are flipped together; or a mapping value → {column: what it holds}.
    values : sequence, optional
        The values to compare, in this order; rows with others are left out, and counted.
    counterfactual : {"worst", "all"}
        With more than two values: CD to the best of the other values, or every ordered pair by itself.
    cuts : sequence of float, or mapping of column to such, optional
        Cut points of a column of numbers: its groups are the bands between them ("25 to < 60"), and another
        band stands for the middle one of its values.
    flip : callable, optional
        Given the one sensitive column as an array, returns what it holds in the counterfactual: then there is
        one for each row, and groups are the values of the column, or the bands of `cuts`.
    pos_label : optional
        The classifier's favourable class (default: its second), or the position of its column.
    person : array-like, shape (n,), optional
        Whose row it is, where people have several: rows of a person are one cluster.
    sample_weight : array-like, shape (n,), optional
        Sampling weights. Each row is kept with probability weight / largest weight of its group: what is kept
        is an unweighted sample of every group's population, of which averages and extremes are inferred as
        of any other (rejection sampling; few rows stay where a weight is far above the others).
    rng : None, int or numpy.random.Generator
        Which rows of weighted ones are kept; the result names the seed.
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
    Monjezi, V., Trivedi, A., Kreinovich, V., Tizpaz-Niari, S. Fairness Testing through Extreme Value Theory,
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
    probability = favourable_probability(predict, pos_label)
    actual, flipped = flipped_scores(probability, table, attribute, batch, progress=progress)
    change = np.subtract(flipped, actual[:, None], out=flipped)
    if not change.any():
        caution(
            f"No score changes with {attribute.name}: the model does not look at these columns, or `predict` "
            "does not pass them on.",
            DataWarning,
        )
    pairing = "other" if attribute.turns == 1 else counterfactual
    groups = _groups(attribute, pairing, change, actual, table, owner)
    empty = [g.group for g in groups if g.n == 0]
    if empty:
        caution(f"No rows: {', '.join(dict.fromkeys(empty))}.", InsufficientEvidenceWarning)
    return CounterfactualSample(
        attribute.name, tuple(groups), pairing, level, left_out, " ".join(notes)
    )  # fmt: skip


def _groups(
    attribute: Attribute, pairing: str, change: Floats, actual: Floats, table: FeatureTable, owner: NDArray[Any] | None
) -> list[GroupSample]:
    found = []
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
        for s in range(attribute.turns):
            other = attribute.counterfactual(level, s)
            found.append(GroupSample.of(name, other, change[:, s].take(here), *about))
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
    probability: Callable[[Any, int], Floats],
    table: FeatureTable,
    attribute: Attribute,
    batch: int = 100_000,
    *,
    progress: bool = False,
) -> tuple[Floats, Floats]:
    """ML(x, z) and ML(x, z′) for every z′ ≠ z, of the rows that have one of the values, in their order.

    Shapes (n,) and (n, turns). A block costs one call of the model and one for every turn, two for a binary
    attribute; only one block is copied at a time.
    """
    n = int(np.count_nonzero(attribute.codes >= 0))
    actual = np.empty(n)
    flipped = np.empty((n, attribute.turns), order="F")
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
        for s in range(attribute.turns):
            block = table.block(start, stop, attribute.replacement(s, slice(start, stop)))
            flipped[here, s] = probability(block, codes.size)[used]
        done += count
    return actual, flipped
