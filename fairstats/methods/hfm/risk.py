"""Discriminative risk: how often a prediction changes with the sensitive attribute alone."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import (
    as_generator,
    check_confidence_level,
    check_that,
    check_whole,
    is_plain,
)
from fairstats.ground.encoding import factorize, label_text
from fairstats.ground.errors import DataWarning, InputError, caution
from fairstats.ground.groups import group_index
from fairstats.ground.outcomes import check_row_labels
from fairstats.ground.predictions import FeatureTable, as_features
from fairstats.ground.progress import each_of
from fairstats.ground.results import Comparison, Interval, Result
from fairstats.ground.serialise import serialisable
from fairstats.methods.hfm.encoding import JOINT, refuse_missing
from fairstats.methods.hfm.rows import Indices, Mask

ALL_ROWS = "all rows"
#: Rows that are predicted twice, to see whether the model is deterministic.
_ROWS_ASKED_TWICE = 500
_MOST_COMBINATIONS = 256
_UNTESTED = "nothing is tested: any change at all shows that the model uses the attribute"


@serialisable(kw_only=True)
class RiskComparison(Comparison):
    """Discriminative risk of one attribute, or of all disturbed together.

    As `discriminative_risk` says.

    `group` says in which rows: "all rows", or those with one value of the attribute. `estimate` is
    the share of disturbed predictions that differ, mean over persons of their means; `n` the number
    of persons.

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
        Of every attribute: all rows, then each value; last all attributes together, where there are
        several.
    draws : int or "all"
    seed : int or None
    """

    title: ClassVar[str] = (
        "Discriminative risk: predictions that change with the sensitive attribute alone"
    )
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
        return self._overall_risk.method

    @property
    def estimate(self) -> float:
        """Risk over all rows, all attributes disturbed together."""
        return self._overall_risk.estimate

    @property
    def confidence_interval(self) -> Interval:
        """Its interval."""
        return self._overall_risk.confidence_interval

    @property
    def _overall_risk(self) -> RiskComparison:
        return [comparison for comparison in self.comparisons if comparison.group == ALL_ROWS][-1]

    def __getitem__(self, group: Hashable) -> RiskComparison:
        """The risk in rows with one value.

        Where several attributes have it, of ``(attribute, value)``.
        """
        for comparison in self.comparisons:
            if (
                isinstance(group, tuple)
                and is_plain(group)
                and group == (comparison.attribute, comparison.group)
            ):
                return comparison
        return self.comparisons[
            group_index([comparison.group for comparison in self.comparisons], group, "group")
        ]

    def sentences(self) -> list[str]:
        """One sentence per risk."""
        sentences = []
        for comparison in self.comparisons:
            interval = comparison.confidence_interval
            sentences.append(
                f"{comparison.estimate:.1%} of the predictions of {comparison.group} "
                f"change with {comparison.attribute} alone ({interval.confidence_level:.0%} "
                f"interval {interval.low:.1%} to {interval.high:.1%})."
            )
        return sentences

    def notes(self) -> list[str]:
        """How the attribute was disturbed."""
        if self.seed is None:
            seed_words = ""
        else:
            seed_words = f" (seed {self.seed})"
        value_words = f"{self.draws} other value(s) of the attribute, drawn evenly from the others{seed_words}"
        if self.draws == "all":
            value_words = "every other value of the attribute"
        level_words = f"{self.confidence_interval.confidence_level:.0%}"
        return [
            f"Every row was predicted with {value_words}.",
            f"Intervals at {level_words}; one person is one unit.",
        ]


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
        For a column that is not there, one value only, missing values, or a model that does not
        give one label per row.

    Warns
    -----
    DataWarning
        If the model gives two answers to the same rows: its risk then includes its noise.

    Notes
    -----
    The interval is Clopper and Pearson's, conservative by construction. Where a person is drawn
    several times, the mean of its draws is one observation between 0 and 1, and the interval that
    of as many persons, however many rows they have: no number of rows says how often a *person's*
    answers change together. Over 5 to 300 persons with 2 to 40 rows, of which 0 to 100% share the
    person's answer, rates .02 to .5, it covered .952 and more (4,000 samples each). The number of
    draws that have the variance of the means (Korn and Graubard) covered .32 at worst: where two of
    a hundred persons change in nearly all of their rows, most samples of twelve persons have none
    of them.

    References
    ----------
    .. [1] Bian, Y. and Luo, Y. (2024), section 4.1 (baseline fairness measures).
    .. [2] Bian, Y., Zhang, K., Qiu, A. and Chen, N. (2023), Increasing fairness via combination,
       arXiv:2301.10813.
    .. [3] Clopper, C. J. and Pearson, E. S. (1934), The use of confidence or fiducial limits,
       Biometrika 26, 404–413.

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
    confidence = check_confidence_level(confidence_level)
    predict_labels = getattr(predict, "predict", predict)
    if not callable(predict_labels) or isinstance(predict, type):
        received = f"a {type(predict).__name__}"
        allowed = "a function of rows, or a fitted model with predict"
        raise InputError(
            "predict",
            got=received,
            allowed=allowed,
            cure="pass model or model.predict",
        )
    feature_table = as_features(X)
    everything = isinstance(draws, str) and draws == "all"
    if everything:
        number = None
    else:
        number = check_whole("draws", draws, low=1, cure='draws=1, or "all"')
    generator, seed = as_generator(rng)
    attributes = find_attributes(feature_table, sensitive_features)
    original = labels_of(
        predict_labels, feature_table.block(0, feature_table.n_rows), feature_table.n_rows
    )
    n_asked_twice = min(feature_table.n_rows, _ROWS_ASKED_TWICE)
    n_other_labels = int(
        (
            labels_of(predict_labels, feature_table.block(0, n_asked_twice), n_asked_twice)
            != original[:n_asked_twice]
        ).sum()
    )
    if n_other_labels:
        warning_text = f"The model gives other labels to {n_other_labels:,} of {n_asked_twice:,} rows when asked again"
        caution(f"{warning_text}: the risk includes its noise.", DataWarning)
    check_row_labels(X=X, cluster=cluster)
    persons = _person_codes(cluster, feature_table.n_rows)
    comparisons: list[RiskComparison] = []
    for attribute in attributes:
        changed = changed_labels(
            predict_labels, feature_table, original, [attribute], number, generator
        )
        comparisons.append(_risk_of_rows(attribute.name, ALL_ROWS, changed, persons, confidence))
        for value_index, value_label in enumerate(attribute.labels):
            has_value = attribute.codes == value_index
            if has_value.any():
                comparisons.append(
                    _risk_of_rows(
                        attribute.name,
                        value_label,
                        changed[:, has_value],
                        persons[has_value],
                        confidence,
                    )
                )
    if len(attributes) > 1:
        changed = changed_labels(
            predict_labels, feature_table, original, attributes, number, generator
        )
        comparisons.append(_risk_of_rows(JOINT, ALL_ROWS, changed, persons, confidence))
    return DiscriminativeRiskResult(tuple(comparisons), "all" if number is None else number, seed)


def _person_codes(cluster: Any, n: int) -> Indices:
    if cluster is None:
        return np.arange(n)
    factor = factorize(cluster, "cluster")
    if factor.codes.size != n or factor.has_missing:
        if factor.has_missing:
            received = "missing values"
        else:
            received = f"{factor.codes.size:,} entries for {n:,} rows"
        suggestion = "take it from the same rows as X"
        raise InputError(
            "cluster",
            got=received,
            allowed="the person of every row",
            cure=suggestion,
        )
    return factor.codes.astype(np.intp)


def _risk_of_rows(
    attribute: str,
    group: str,
    changed: Mask,
    persons: Indices,
    level: float,
) -> RiskComparison:
    from statsmodels.stats.proportion import proportion_confint

    _, person = np.unique(persons, return_inverse=True)
    means_of_persons = np.bincount(person, weights=changed.mean(axis=0)) / np.bincount(person)
    n_persons = means_of_persons.size
    estimate = float(means_of_persons.mean())
    # the mean of a person's draws lies in [0, 1]: it varies at most as one draw does
    lower_limit, upper_limit = proportion_confint(
        estimate * n_persons, n_persons, alpha=1 - level, method="beta"
    )
    if changed.size == n_persons:
        method = "Clopper–Pearson"
    else:
        method = "Clopper–Pearson, clustered by person"
    interval = Interval(
        low=max(float(lower_limit), 0.0),
        high=min(float(upper_limit), 1.0),
        confidence_level=level,
        method=method,
    )
    return RiskComparison(
        attribute=attribute,
        group=group,
        estimate=estimate,
        confidence_interval=interval,
        n=n_persons,
        method=method,
        n_draws=int(changed.size),
        n_changed=int(changed.sum()),
    )


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
    named_features = sensitive_features
    one_name = not isinstance(named_features, (Mapping, list, tuple)) or (
        isinstance(named_features, tuple) and named_features in table.columns
    )
    if one_name:
        column_names = [named_features]
    else:
        column_names = list(named_features)
    table.check_columns(column_names, "sensitive_features")
    if not column_names:
        allowed = "at least one column"
        suggestion = "name a column"
        raise InputError("sensitive_features", got="no column", allowed=allowed, cure=suggestion)
    if isinstance(named_features, Mapping):
        values = named_features
    else:
        values = dict.fromkeys(column_names)
    return [_sensitive_attribute(table, column, levels) for column, levels in values.items()]


def _sensitive_attribute(
    feature_table: FeatureTable, column: Hashable, given_values: Sequence[Hashable] | None
) -> Attribute:
    factor = factorize(feature_table.column(column), f"X[{column!r}]")
    refuse_missing(factor.codes, "X", f" in {column!r}")
    occurring = [factor.levels[level_code] for level_code in np.unique(factor.codes)]
    several = given_values is None or (
        isinstance(given_values, (list, tuple)) and all(map(is_plain, given_values))
    )
    check_that(
        several, "sensitive_features", given_values, "a list of values", "{'sex': ['F', 'M']}"
    )
    if given_values is None:
        levels = occurring
    else:
        levels = list(given_values)
    lacking = []
    for level in occurring:
        if level not in levels:
            lacking.append(level)
    if lacking or len(levels) < 2 or len(set(levels)) < len(levels):
        received = f"the values {levels!r} of {column!r}" + (
            f" without {lacking!r}" if lacking else ""
        )
        allowed = "two or more different values, those that occur among them"
        suggestion = "name them, {column: [value, …]}; a column with one value cannot be disturbed"
        raise InputError("sensitive_features", got=received, allowed=allowed, cure=suggestion)
    level_places = []
    for level in factor.levels:
        level_places.append(levels.index(level) if level in levels else -1)
    value_codes = np.array(level_places, dtype=np.intp)[factor.codes]
    return Attribute(
        column, str(column), tuple(levels), tuple(map(label_text, levels)), value_codes
    )


def labels_of(answer: Callable[[Any], Any], rows: Any, n: int) -> NDArray[Any]:
    """The model's labels of rows, one for each of the ``n``."""
    labels = np.asarray(answer(rows))
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.shape != (n,):
        received = f"an answer of shape {labels.shape} to {n:,} rows"
        suggestion = "return predicted labels, not probabilities of each class"
        raise InputError("predict", got=received, allowed="one label per row", cure=suggestion)
    return labels


def changed_labels(
    answer: Callable[[Any], Any],
    table: FeatureTable,
    original: NDArray[Any],
    attributes: Sequence[Attribute],
    number: int | None,
    rng: np.random.Generator,
) -> Mask:
    """Whether the prediction differs, shape (draws, n), when all these attributes take other
    values.
    """
    n_rows = table.n_rows
    numbers_of_levels = [len(attribute.levels) for attribute in attributes]
    if number is None or all(n_levels == 2 for n_levels in numbers_of_levels):
        n_combinations = int(np.prod([n_levels - 1 for n_levels in numbers_of_levels]))
        if n_combinations > _MOST_COMBINATIONS:
            received = f"'all' of {n_combinations:,} combinations of other values"
            allowed = f"at most {_MOST_COMBINATIONS}"
            raise InputError(
                "draws",
                got=received,
                allowed=allowed,
                cure="draws=20 takes random ones",
            )
        combinations = product(*(range(1, n_levels) for n_levels in numbers_of_levels))
        steps_of_draws = []
        for combination in combinations:
            steps_of_draws.append([np.full(n_rows, shift) for shift in combination])
    else:
        steps_of_draws = []
        for _ in range(number):
            steps_of_draws.append(
                [rng.integers(1, n_levels, size=n_rows) for n_levels in numbers_of_levels]
            )
    changed_by_draw = []
    for shifts in each_of(steps_of_draws, "disturbed rows"):
        attributes_and_steps = zip(
            attributes, shifts, strict=True
        )  # every row moved on by so many values, cyclically
        changed = {}
        for each_attribute, shift in attributes_and_steps:
            changed[each_attribute.column] = (
                each_attribute.levels,
                (each_attribute.codes + shift) % len(each_attribute.levels),
            )
        changed_by_draw.append(
            labels_of(answer, table.block(0, n_rows, changed), n_rows) != original
        )
    return np.array(changed_by_draw)
