"""Discriminative risk: how often a prediction changes with the sensitive attribute alone."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from fairstats.ground.caution import caution
from fairstats.ground.encoding import MISSING, factorize, label_text
from fairstats.ground.errors import DataWarning, InputError
from fairstats.ground.randomness import as_generator
from fairstats.ground.results import Interval, Result, check_confidence_level
from fairstats.ground.serialise import serialisable
from fairstats.methods.hfm.entries import JOINT

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["DiscriminativeRiskResult", "RiskEntry", "discriminative_risk"]

#: Rows that are predicted twice, to see whether the model is deterministic.
_TWICE = 500
_MOST_COMBINATIONS = 256
ALL_ROWS = "all rows"


@serialisable
@dataclass(frozen=True)
class RiskEntry:
    """Discriminative risk of one attribute, or of all disturbed together.

    Attributes
    ----------
    attribute : str
        What was disturbed; "all attributes" for all at once.
    group : str
        Rows it was disturbed in: "all rows", or those with one value of the attribute.
    estimate : float
        Share of disturbed predictions that differ, mean over persons of their means.
    interval : Interval
        Wilson's score interval; with the effective number of rows where a person counts several times.
    n : int
        Persons.
    n_draws : int
        Disturbed rows.
    n_changed : int
        Disturbed rows whose prediction differs.
    """

    attribute: str
    group: str
    estimate: float
    interval: Interval
    n: int
    n_draws: int
    n_changed: int


@serialisable
@dataclass(frozen=True)
class DiscriminativeRiskResult(Result):
    """Discriminative risk of a model.

    Attributes
    ----------
    entries : tuple of RiskEntry
        Of every attribute: all rows, then each value; last all attributes together, where there are several.
    draws : int or "all"
    seed : int or None
    """

    title: ClassVar[str] = "Discriminative risk: predictions that change with the sensitive attribute alone"

    entries: tuple[RiskEntry, ...]
    draws: int | str
    seed: int | None

    @property
    def estimate(self) -> float:
        """Risk over all rows, all attributes disturbed together."""
        return self._overall.estimate

    @property
    def confidence_interval(self) -> Interval:
        """Its interval."""
        return self._overall.interval

    @property
    def _overall(self) -> RiskEntry:
        return [e for e in self.entries if e.group == ALL_ROWS][-1]

    def rows(self) -> list[dict[str, Any]]:
        """One row per entry."""
        return [
            {
                "metric": "discriminative_risk",
                "group": e.group,
                "reference": None,
                "estimate": e.estimate,
                "ci_low": e.interval.low,
                "ci_high": e.interval.high,
                "n": e.n,
                "method": e.interval.method,
                "backend": "statsmodels",
                "attribute": e.attribute,
                "n_draws": e.n_draws,
                "n_changed": e.n_changed,
            }
            for e in self.entries
        ]

    def notes(self) -> list[str]:
        """How the attribute was disturbed."""
        how = (
            "Every row was predicted with every other value of the attribute."
            if self.draws == "all"
            else f"Every row was predicted with {self.draws} other value(s) of the attribute, drawn evenly "
            "from the others" + ("." if self.seed is None else f" (seed {self.seed}).")
        )
        return [how, f"Intervals at {self.confidence_interval.confidence_level:.0%}; one person is one unit."]


def discriminative_risk(
    predict: Callable[[Any], Any] | Any,
    X: Any,
    *,
    protected: Hashable | Sequence[Hashable] | Mapping[Hashable, Sequence[Hashable]],
    draws: int | str = 1,
    cluster: Any = None,
    confidence_level: float = 0.95,
    rng: Any = None,
) -> DiscriminativeRiskResult:
    """DR = P[f(x̌, a) ≠ f(x̌, ã)], with ã another value of the sensitive attribute.

    Parameters
    ----------
    predict : callable or estimator with ``predict``
        Gives a label to every row of what it is passed: a frame or array like `X`.
    X : pandas.DataFrame or ndarray, shape (n, p)
        Rows with the sensitive columns that the model sees.
    protected : column, list of columns, or mapping of column to its values
        Sensitive columns: names, or positions in an array. Values default to those that occur.
    draws : int or "all", default 1
        Disturbed values per row, drawn evenly from the other values; "all" takes each of them once. With two
        values there is only one other.
    cluster : array-like, shape (n,), optional
        The person of each row, where persons have several rows.
    confidence_level : float, default 0.95
    rng : None, int or numpy.random.Generator
        Of the draws.

    Returns
    -------
    DiscriminativeRiskResult
        Every attribute by itself (all rows, and by the value that was changed), and all together: then every
        attribute takes another value at once.

    Raises
    ------
    InputError
        For a column that is not there, one value only, missing values, or a model that does not give one
        label per row.

    Warns
    -----
    DataWarning
        If the model gives two answers to the same rows: its risk then includes its noise.

    Notes
    -----
    The interval is Wilson's. Where a person is drawn several times, the mean of its draws is one observation,
    and the interval takes the number of independent draws that would have the variance of these means.

    References
    ----------
    .. [1] Bian, Y. and Luo, Y. (2024), section 4.1 (baseline fairness measures).
    .. [2] Bian, Y., Zhang, K., Qiu, A. and Chen, N. (2023), Increasing fairness via combination with learning
       guarantees, arXiv:2301.10813.

    Examples
    --------
    >>> import pandas as pd
    >>> import fairstats as fs
    >>> X = pd.DataFrame({"income": [1, 2, 3, 4], "sex": ["f", "m", "f", "m"]})
    >>> result = fs.discriminative_risk(
    ...     lambda rows: (rows["income"] + (rows["sex"] == "m")) > 2, X, protected="sex"
    ... )
    >>> result.estimate
    0.25
    >>> round(result.confidence_interval.low, 3), round(result.confidence_interval.high, 3)
    (0.046, 0.699)
    """
    level = check_confidence_level(confidence_level)
    answer = _predictor(predict)
    frame, back = _frame_of(X)
    number = _check_draws(draws)
    generator, seed = as_generator(rng)
    attributes = _attributes(frame, protected)
    original = _labels(answer, back(frame), len(frame))
    _check_deterministic(answer, frame, back, original)
    persons = _persons(cluster, len(frame))
    entries: list[RiskEntry] = []
    for attribute in attributes:
        changed = _changed(answer, frame, back, original, [attribute], number, generator)
        entries.append(_entry(attribute.name, ALL_ROWS, changed, persons, level))
        for k, value in enumerate(attribute.labels):
            rows = attribute.codes == k
            if rows.any():
                entries.append(_entry(attribute.name, value, changed[:, rows], persons[rows], level))
    if len(attributes) > 1:
        changed = _changed(answer, frame, back, original, attributes, number, generator)
        entries.append(_entry(JOINT, ALL_ROWS, changed, persons, level))
    return DiscriminativeRiskResult(tuple(entries), "all" if number is None else number, seed)


@dataclass(frozen=True, eq=False)
class _Attribute:
    """A sensitive column: its values, and the value of each row."""

    column: Hashable
    name: str
    levels: pd.Series[Any]
    labels: tuple[str, ...]
    codes: NDArray[np.intp]

    def others(self, steps: NDArray[np.intp]) -> Any:
        """The column with every row moved on by so many values, cyclically."""
        return self.levels.take((self.codes + steps) % len(self.levels)).reset_index(drop=True)


def _predictor(predict: Any) -> Callable[[Any], Any]:
    found = predict.predict if hasattr(predict, "predict") else predict
    if not callable(found):
        raise InputError(
            "predict",
            got=f"a {type(predict).__name__}",
            allowed="a function of rows, or a fitted model with predict",
            cure="pass model or model.predict",
        )
    return found  # type: ignore[no-any-return]


def _frame_of(X: Any) -> tuple[pd.DataFrame, Callable[[pd.DataFrame], Any]]:
    """Rows as a frame, and the way back to what the model expects."""
    if isinstance(X, pd.DataFrame):
        frame, back = X.reset_index(drop=True), lambda rows: rows.set_axis(X.index)
    elif isinstance(X, np.ndarray) and X.ndim == 2:
        frame, back = pd.DataFrame(X), lambda rows: rows.to_numpy(dtype=X.dtype)
    else:
        raise InputError(
            "X",
            got=f"a {type(X).__name__}",
            allowed="a pandas data frame or an array of shape (n, p)",
            cure="convert it, e.g. frame.to_pandas()",
        )
    if not len(frame):
        raise InputError("X", got="0 rows", allowed="at least one row", cure="pass data")
    return frame, back


def _check_draws(draws: Any) -> int | None:
    if isinstance(draws, str) and draws == "all":
        return None
    if isinstance(draws, (int, np.integer)) and not isinstance(draws, bool) and draws >= 1:
        return int(draws)
    raise InputError("draws", got=repr(draws), allowed='a whole number ≥ 1, or "all"', cure="draws=1")


def _attributes(frame: pd.DataFrame, protected: Any) -> list[_Attribute]:
    columns: list[Any] = list(frame.columns)
    values: Mapping[Any, Any]
    if isinstance(protected, Mapping):
        values = protected
    elif isinstance(protected, list) or (isinstance(protected, tuple) and protected not in columns):
        values = dict.fromkeys(protected)
    else:
        values = {protected: None}
    if not values:
        raise InputError("protected", got="no column", allowed="at least one column", cure="name a column")
    return [_attribute(frame, column, given) for column, given in values.items()]


def _attribute(frame: pd.DataFrame, column: Hashable, given: Sequence[Hashable] | None) -> _Attribute:
    if column not in frame.columns:
        raise InputError(
            "protected",
            got=repr(column),
            allowed="a column of X: " + ", ".join(repr(c) for c in list(frame.columns)[:20]),
            cure="check the spelling; in an array columns are positions",
        )
    factor = factorize(frame[column], f"X[{column!r}]")
    if factor.has_missing:
        raise InputError(
            "X",
            got=f"{int((factor.codes == MISSING).sum()):,} missing values in {column!r}",
            allowed="a value in every row",
            cure="drop those rows and say so, or make the missing ones a value",
        )
    occurring = [factor.levels[k] for k in np.unique(factor.codes)]
    levels = occurring if given is None else list(given)
    lacking = [level for level in occurring if level not in levels]
    if lacking or len(levels) < 2 or len(set(levels)) < len(levels):
        raise InputError(
            "protected",
            got=f"the values {levels!r} of {column!r}" + (f" without {lacking!r}" if lacking else ""),
            allowed="two or more different values, those that occur among them",
            cure="name them, {column: [value, …]}; a column with one value cannot be disturbed",
        )
    place = np.array(
        [levels.index(level) if level in levels else -1 for level in factor.levels], dtype=np.intp
    )
    try:
        as_series = pd.Series(levels, dtype=object).astype(frame[column].dtype)
    except (TypeError, ValueError) as problem:
        raise InputError(
            "protected",
            got=f"values of {column!r} that a column of type {frame[column].dtype} cannot hold ({problem})",
            allowed="values of the column's type",
            cure="convert the column first",
        ) from problem
    return _Attribute(
        column, str(column), as_series, tuple(label_text(level) for level in levels), place[factor.codes]
    )


def _labels(answer: Callable[[Any], Any], rows: Any, n: int) -> NDArray[Any]:
    labels = np.asarray(answer(rows))
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.shape != (n,):
        raise InputError(
            "predict",
            got=f"an answer of shape {labels.shape} to {n:,} rows",
            allowed="one label per row",
            cure="return predicted labels, not probabilities of each class",
        )
    return labels


def _check_deterministic(
    answer: Callable[[Any], Any],
    frame: pd.DataFrame,
    back: Callable[[pd.DataFrame], Any],
    original: NDArray[Any],
) -> None:
    n = min(len(frame), _TWICE)
    again = _labels(answer, _first(back(frame.copy()), n), n)
    if (again != original[:n]).any():
        caution(
            f"The model gives other labels to {int((again != original[:n]).sum()):,} of {n:,} rows when "
            "asked again: the risk includes its noise.",
            DataWarning,
        )


def _first(rows: Any, n: int) -> Any:
    return rows.iloc[:n] if isinstance(rows, pd.DataFrame) else rows[:n]


def _persons(cluster: Any, n: int) -> NDArray[np.intp]:
    if cluster is None:
        return np.arange(n)
    factor = factorize(cluster, "cluster")
    if factor.codes.size != n or factor.has_missing:
        raise InputError(
            "cluster",
            got="missing values" if factor.has_missing else f"{factor.codes.size:,} entries for {n:,} rows",
            allowed="the person of every row",
            cure="take it from the same rows as X",
        )
    return factor.codes.astype(np.intp)


def _changed(
    answer: Callable[[Any], Any],
    frame: pd.DataFrame,
    back: Callable[[pd.DataFrame], Any],
    original: NDArray[Any],
    attributes: Sequence[_Attribute],
    number: int | None,
    rng: np.random.Generator,
) -> NDArray[np.bool_]:
    """Whether the prediction differs, shape (draws, n), when all these attributes take other values."""
    n = len(frame)
    sizes = [len(attribute.levels) for attribute in attributes]
    if number is None or all(size == 2 for size in sizes):
        n_combinations = int(np.prod([size - 1 for size in sizes]))
        if n_combinations > _MOST_COMBINATIONS:
            raise InputError(
                "draws",
                got=f"'all' of {n_combinations:,} combinations of other values",
                allowed=f"at most {_MOST_COMBINATIONS}",
                cure="draws=20 takes random ones",
            )
        steps = [
            [np.full(n, step, dtype=np.intp) for step in combination]
            for combination in product(*(range(1, size) for size in sizes))
        ]
    else:
        steps = [[rng.integers(1, size, size=n) for size in sizes] for _ in range(number)]
    found = []
    for draw in steps:
        disturbed = frame.copy()
        for attribute, step in zip(attributes, draw, strict=True):
            disturbed[attribute.column] = attribute.others(step)
        found.append(_labels(answer, back(disturbed), n) != original)
    return np.array(found)


def _entry(
    attribute: str,
    group: str,
    changed: NDArray[np.bool_],
    persons: NDArray[np.intp],
    level: float,
) -> RiskEntry:
    from statsmodels.stats.proportion import proportion_confint

    _, person = np.unique(persons, return_inverse=True)
    rows_of = np.bincount(person)
    means = np.bincount(person, weights=changed.mean(axis=0)) / rows_of
    n, draws = means.size, changed.size
    estimate = float(means.mean())
    single = draws == n
    size = float(n)
    variance = float(means.var(ddof=1) / n) if n > 1 else 0.0
    if not single and variance > 0:
        size = float(np.clip(estimate * (1 - estimate) / variance, n, draws))
    low, high = proportion_confint(estimate * size, size, alpha=1 - level, method="wilson")
    method = "Wilson score" if single else "Wilson score, clustered by person"
    return RiskEntry(
        attribute,
        group,
        estimate,
        Interval(max(float(low), 0.0), min(float(high), 1.0), level, method),
        n,
        int(draws),
        int(changed.sum()),
    )
