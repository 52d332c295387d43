"""Discriminative risk: how often a prediction changes with the sensitive attribute alone."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import as_generator, check_confidence_level, check_that, check_whole, is_plain
from fairstats.ground.encoding import factorize, label_text
from fairstats.ground.errors import DataWarning, InputError, caution
from fairstats.ground.groups import group_index
from fairstats.ground.outcomes import check_row_labels
from fairstats.ground.predictions import FeatureTable, as_features
from fairstats.ground.results import Comparison, Interval, Result
from fairstats.ground.serialise import serialisable
from fairstats.methods.hfm.encoding import JOINT, refuse_missing
from fairstats.methods.hfm.rows import Indices, Mask

ALL_ROWS = "all rows"
#: Rows that are predicted twice, to see whether the model is deterministic.
_TWICE = 500
_MOST_COMBINATIONS = 256
_UNTESTED = "nothing is tested: any change at all shows that the model uses the attribute"


@serialisable(kw_only=True)
class RiskComparison(Comparison):
    """Discriminative risk of one attribute, or of all disturbed together; as `discriminative_risk` says.

    `group` says in which rows: "all rows", or those with one value of the attribute. `estimate` is the share
    of disturbed predictions that differ, mean over persons of their means; `n` the number of persons.

    Attributes
    ----------
    attribute : str
        What was disturbed; "all attributes" for all at once.
    n_draws, n_changed : int
        Disturbed rows, and those whose prediction differs.
    """

    further: ClassVar[tuple[str, ...]] = ("attribute", "n_draws", "n_changed")

    metric: str = "discriminative_risk"
    attribute: str = ""
    n_draws: int = 0
    n_changed: int = 0


@serialisable()
class DiscriminativeRiskResult(Result):
    """Discriminative risk of a model.

    `estimate` and `confidence_interval` are those over all rows, all attributes disturbed together.

    Attributes
    ----------
    comparisons : tuple of RiskComparison
        Of every attribute: all rows, then each value; last all attributes together, where there are several.
    draws : int or "all"
    seed : int or None
    """

    title: ClassVar[str] = "Discriminative risk: predictions that change with the sensitive attribute alone"
    backend: ClassVar[str] = "statsmodels"
    lacks: ClassVar[Mapping[str, str]] = {
        "std_error": "the interval is an exact one, not an estimate ± standard errors",
        **dict.fromkeys(("statistic", "pvalue"), _UNTESTED),
        "verdict": "no margin is fixed for a risk; compare .confidence_interval with yours",
        "plot": "its table is in to_frame()",
    }

    comparisons: tuple[RiskComparison, ...]
    draws: int | str
    seed: int | None

    @property
    def method(self) -> str:
        """How the interval was computed."""
        return self._overall.method

    @property
    def estimate(self) -> float:
        """Risk over all rows, all attributes disturbed together."""
        return self._overall.estimate

    @property
    def confidence_interval(self) -> Interval:
        """Its interval."""
        return self._overall.confidence_interval

    @property
    def _overall(self) -> RiskComparison:
        return [e for e in self.comparisons if e.group == ALL_ROWS][-1]

    def __getitem__(self, group: Hashable) -> RiskComparison:
        """The risk in rows with one value; where several attributes have it, of ``(attribute, value)``."""
        for e in self.comparisons:
            if isinstance(group, tuple) and is_plain(group) and group == (e.attribute, e.group):
                return e
        return self.comparisons[group_index([e.group for e in self.comparisons], group, "group")]

    def sentences(self) -> list[str]:
        """One sentence per risk."""
        return [
            f"{e.estimate:.1%} of the predictions of {e.group} change with {e.attribute} alone "
            f"({e.confidence_interval.confidence_level:.0%} interval {low:.1%} to {high:.1%})."
            for e, (low, high) in ((e, e.confidence_interval) for e in self.comparisons)
        ]

    def notes(self) -> list[str]:
        """How the attribute was disturbed."""
        seed = "" if self.seed is None else f" (seed {self.seed})"
        values = f"{self.draws} other value(s) of the attribute, drawn evenly from the others{seed}"
        values = "every other value of the attribute" if self.draws == "all" else values
        level = f"{self.confidence_interval.confidence_level:.0%}"
        return [f"Every row was predicted with {values}.", f"Intervals at {level}; one person is one unit."]


def discriminative_risk(
    predict: Callable[[Any], Any] | Any,
    X: Any,
    *,
    sensitive_features: Hashable | Sequence[Hashable] | Mapping[Hashable, Sequence[Hashable]],
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
    X : data frame (pandas, polars, Arrow) or array, shape (n, p)
        Rows with the sensitive columns that the model sees.
    sensitive_features : column, list of columns, or mapping of column to its values
        Sensitive columns: names, or positions in an array. Values default to those that occur.
    draws : int or "all", default 1
        Disturbed values per row, drawn evenly from the other values; "all" takes each of them once.
    cluster : array-like, shape (n,), optional
        The person of each row, where persons have several rows.
    confidence_level : float, default 0.95
    rng : None, int or numpy.random.Generator
        Of the draws.

    Returns
    -------
    DiscriminativeRiskResult
        Every attribute by itself (all rows, and by the value that was changed), and all at once.

    Raises
    ------
    InputError
        For a column that is not there, one value only, missing values, or a model that does not give one label per row.

    Warns
    -----
    DataWarning
        If the model gives two answers to the same rows: its risk then includes its noise.

    Notes
    -----
    The interval is Clopper and Pearson's, conservative by construction. Where a person is drawn several times, the
    mean of its draws is one observation between 0 and 1, and the interval that of as many persons, however many rows
    they have: no number of rows says how often a *person's* answers change together. Over 5 to 300 persons with 2 to 40
    rows, of which 0 to 100% share the person's answer, rates .02 to .5, it covered .952 and more (4,000 samples each).
    The number of draws that have the variance of the means (Korn and Graubard) covered .32 at worst: where two of a
    hundred persons change in nearly all of their rows, most samples of twelve persons have none of them.

    References
    ----------
    .. [1] Bian, Y. and Luo, Y. (2024), section 4.1 (baseline fairness measures).
    .. [2] Bian, Y., Zhang, K., Qiu, A. and Chen, N. (2023), Increasing fairness via combination, arXiv:2301.10813.
    .. [3] Clopper, C. J. and Pearson, E. S. (1934), The use of confidence or fiducial limits, Biometrika 26, 404–413.

    Examples
    --------
    >>> import pandas as pd
    >>> import fairstats as fs
    >>> X = pd.DataFrame({"income": [1, 2, 3, 4], "sex": ["f", "m", "f", "m"]})
    >>> rich = lambda rows: (rows["income"] + (rows["sex"] == "m")) > 2
    >>> result = fs.discriminative_risk(rich, X, sensitive_features="sex")
    >>> result.estimate
    0.25
    >>> round(result.confidence_interval.low, 3), round(result.confidence_interval.high, 3)
    (0.006, 0.806)
    """
    level = check_confidence_level(confidence_level)
    answer = getattr(predict, "predict", predict)
    if not callable(answer) or isinstance(predict, type):
        got, allowed = f"a {type(predict).__name__}", "a function of rows, or a fitted model with predict"
        raise InputError("predict", got=got, allowed=allowed, cure="pass model or model.predict")
    table = as_features(X)
    everything = isinstance(draws, str) and draws == "all"
    number = None if everything else check_whole("draws", draws, low=1, cure='draws=1, or "all"')
    generator, seed = as_generator(rng)
    attributes = find_attributes(table, sensitive_features)
    original = labels_of(answer, table.block(0, table.n_rows), table.n_rows)
    n = min(table.n_rows, _TWICE)
    other = int((labels_of(answer, table.block(0, n), n) != original[:n]).sum())
    if other:
        text = f"The model gives other labels to {other:,} of {n:,} rows when asked again"
        caution(f"{text}: the risk includes its noise.", DataWarning)
    check_row_labels(X=X, cluster=cluster)
    persons = _persons(cluster, table.n_rows)
    found: list[RiskComparison] = []
    for attribute in attributes:
        changed = changed_labels(answer, table, original, [attribute], number, generator)
        found.append(_entry(attribute.name, ALL_ROWS, changed, persons, level))
        for k, value in enumerate(attribute.labels):
            rows = attribute.codes == k
            if rows.any():
                found.append(_entry(attribute.name, value, changed[:, rows], persons[rows], level))
    if len(attributes) > 1:
        changed = changed_labels(answer, table, original, attributes, number, generator)
        found.append(_entry(JOINT, ALL_ROWS, changed, persons, level))
    return DiscriminativeRiskResult(tuple(found), "all" if number is None else number, seed)


def _persons(cluster: Any, n: int) -> Indices:
    if cluster is None:
        return np.arange(n)
    factor = factorize(cluster, "cluster")
    if factor.codes.size != n or factor.has_missing:
        got = "missing values" if factor.has_missing else f"{factor.codes.size:,} entries for {n:,} rows"
        cure = "take it from the same rows as X"
        raise InputError("cluster", got=got, allowed="the person of every row", cure=cure)
    return factor.codes.astype(np.intp)


def _entry(attribute: str, group: str, changed: Mask, persons: Indices, level: float) -> RiskComparison:
    from statsmodels.stats.proportion import proportion_confint

    _, person = np.unique(persons, return_inverse=True)
    means = np.bincount(person, weights=changed.mean(axis=0)) / np.bincount(person)
    n = means.size
    estimate = float(means.mean())
    # the mean of a person's draws lies in [0, 1]: it varies at most as one draw does
    low, high = proportion_confint(estimate * n, n, alpha=1 - level, method="beta")
    method = "Clopper–Pearson" if changed.size == n else "Clopper–Pearson, clustered by person"
    interval = Interval(max(float(low), 0.0), min(float(high), 1.0), level, method)
    return RiskComparison(
        attribute=attribute, group=group, estimate=estimate, confidence_interval=interval, n=n, method=method,
        n_draws=int(changed.size), n_changed=int(changed.sum()),
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Attribute:
    """A sensitive column: its values, and as text, and the value of each row."""

    column: Hashable
    name: str
    levels: tuple[Hashable, ...]
    labels: tuple[str, ...]
    codes: Indices


def find_attributes(table: FeatureTable, sensitive_features: Any) -> list[Attribute]:
    """The sensitive columns that the user named: one, several, or several with their values."""
    given = sensitive_features
    one_name = not isinstance(given, (Mapping, list, tuple)) or (isinstance(given, tuple) and given in table.columns)
    names = [given] if one_name else list(given)
    table.check_columns(names, "sensitive_features")
    if not names:
        allowed, cure = "at least one column", "name a column"
        raise InputError("sensitive_features", got="no column", allowed=allowed, cure=cure)
    values = given if isinstance(given, Mapping) else dict.fromkeys(names)
    return [_attribute(table, column, levels) for column, levels in values.items()]


def _attribute(table: FeatureTable, column: Hashable, given: Sequence[Hashable] | None) -> Attribute:
    factor = factorize(table.column(column), f"X[{column!r}]")
    refuse_missing(factor.codes, "X", f" in {column!r}")
    occurring = [factor.levels[k] for k in np.unique(factor.codes)]
    several = given is None or (isinstance(given, (list, tuple)) and all(map(is_plain, given)))
    check_that(several, "sensitive_features", given, "a list of values", "{'sex': ['F', 'M']}")
    levels = occurring if given is None else list(given)
    lacking = [level for level in occurring if level not in levels]
    if lacking or len(levels) < 2 or len(set(levels)) < len(levels):
        got = f"the values {levels!r} of {column!r}" + (f" without {lacking!r}" if lacking else "")
        allowed = "two or more different values, those that occur among them"
        cure = "name them, {column: [value, …]}; a column with one value cannot be disturbed"
        raise InputError("sensitive_features", got=got, allowed=allowed, cure=cure)
    place = [levels.index(level) if level in levels else -1 for level in factor.levels]
    codes = np.array(place, dtype=np.intp)[factor.codes]
    return Attribute(column, str(column), tuple(levels), tuple(map(label_text, levels)), codes)


def labels_of(answer: Callable[[Any], Any], rows: Any, n: int) -> NDArray[Any]:
    """The model's labels of rows, one for each of the ``n``."""
    labels = np.asarray(answer(rows))
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.shape != (n,):
        got = f"an answer of shape {labels.shape} to {n:,} rows"
        cure = "return predicted labels, not probabilities of each class"
        raise InputError("predict", got=got, allowed="one label per row", cure=cure)
    return labels


def changed_labels(
    answer: Callable[[Any], Any], table: FeatureTable, original: NDArray[Any], attributes: Sequence[Attribute],
    number: int | None, rng: np.random.Generator,
) -> Mask:  # fmt: skip
    """Whether the prediction differs, shape (draws, n), when all these attributes take other values."""
    n = table.n_rows
    sizes = [len(attribute.levels) for attribute in attributes]
    if number is None or all(size == 2 for size in sizes):
        n_combinations = int(np.prod([size - 1 for size in sizes]))
        if n_combinations > _MOST_COMBINATIONS:
            got, allowed = f"'all' of {n_combinations:,} combinations of other values", f"at most {_MOST_COMBINATIONS}"
            raise InputError("draws", got=got, allowed=allowed, cure="draws=20 takes random ones")
        combinations = product(*(range(1, size) for size in sizes))
        steps = [[np.full(n, step) for step in combination] for combination in combinations]
    else:
        steps = [[rng.integers(1, size, size=n) for size in sizes] for _ in range(number)]
    found = []
    for draw in steps:
        moved = zip(attributes, draw, strict=True)  # every row moved on by so many values, cyclically
        changed = {a.column: (a.levels, (a.codes + step) % len(a.levels)) for a, step in moved}
        found.append(labels_of(answer, table.block(0, n, changed), n) != original)
    return np.array(found)
