"""Discriminative risk: how often a prediction changes with the sensitive attribute alone."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fairstats.ground.caution import caution
from fairstats.ground.encoding import factorize
from fairstats.ground.errors import DataWarning, InputError
from fairstats.ground.features import as_features
from fairstats.ground.randomness import as_generator
from fairstats.ground.results import Interval, check_confidence_level
from fairstats.methods.hfm.disturbed import changed_labels, find_attributes, labels_of
from fairstats.methods.hfm.entries import JOINT
from fairstats.methods.hfm.risk_result import ALL_ROWS, DiscriminativeRiskResult, RiskEntry

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fairstats.ground.features import FeatureTable

__all__ = ["discriminative_risk"]

#: Rows that are predicted twice, to see whether the model is deterministic.
_TWICE = 500


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
    X : data frame (pandas, polars, Arrow) or array, shape (n, p)
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
    table = as_features(X)
    number = _check_draws(draws)
    generator, seed = as_generator(rng)
    attributes = find_attributes(table, protected)
    original = labels_of(answer, table.block(0, table.n_rows), table.n_rows)
    _check_deterministic(answer, table, original)
    persons = _persons(cluster, table.n_rows)
    entries: list[RiskEntry] = []
    for attribute in attributes:
        changed = changed_labels(answer, table, original, [attribute], number, generator)
        entries.append(_entry(attribute.name, ALL_ROWS, changed, persons, level))
        for k, value in enumerate(attribute.labels):
            rows = attribute.codes == k
            if rows.any():
                entries.append(_entry(attribute.name, value, changed[:, rows], persons[rows], level))
    if len(attributes) > 1:
        changed = changed_labels(answer, table, original, attributes, number, generator)
        entries.append(_entry(JOINT, ALL_ROWS, changed, persons, level))
    return DiscriminativeRiskResult(tuple(entries), "all" if number is None else number, seed)


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


def _check_draws(draws: Any) -> int | None:
    if isinstance(draws, str) and draws == "all":
        return None
    if isinstance(draws, (int, np.integer)) and not isinstance(draws, bool) and draws >= 1:
        return int(draws)
    raise InputError("draws", got=repr(draws), allowed='a whole number ≥ 1, or "all"', cure="draws=1")


def _check_deterministic(answer: Callable[[Any], Any], table: FeatureTable, original: NDArray[Any]) -> None:
    n = min(table.n_rows, _TWICE)
    again = labels_of(answer, table.block(0, n), n)
    if (again != original[:n]).any():
        caution(
            f"The model gives other labels to {int((again != original[:n]).sum()):,} of {n:,} rows when "
            "asked again: the risk includes its noise.",
            DataWarning,
        )


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
