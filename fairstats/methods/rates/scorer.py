"""A metric of fairness as a scorer of scikit-learn's searches and cross-validation."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairstats.ground.checks import check_choice, check_that
from fairstats.ground.results import Result
from fairstats.methods.rates.metrics import group_metric

_RESPONSES = ("predict", "predict_proba", "decision_function")
#: Of a function of rows a search needs the estimate, not the test.
_QUICK = {"method": "bca", "n_resamples": 199, "n_permutations": 0, "rng": 0}


@dataclass(frozen=True, eq=False)
class GroupScore:
    """Score of labels and predictions: 0 (of ratios 1) where all groups are alike, else less."""

    metric: str | Callable[..., Any]
    options: Mapping[str, Any]

    def __call__(
        self, y_true: Any, y_pred: Any, *, sensitive_features: Any, **columns: Any
    ) -> float:
        """Minus the largest difference, or the smallest ratio, of the groups."""
        options = {**self.options, **columns, "sensitive_features": sensitive_features}
        if callable(self.metric) and "sensitive_features" in _arguments_of(self.metric):
            labels = (y_true, y_pred) if "y_true" in _arguments_of(self.metric) else (y_pred,)
            result = self.metric(*labels, **options)
        else:
            quick = _QUICK if callable(self.metric) else {}
            result = group_metric(y_true, y_pred, metric=self.metric, **{**quick, **options})
        estimates = np.atleast_1d(np.asarray(_estimate_of(result), dtype=np.float64))
        if getattr(result, "scale", "") == "ratio":
            with np.errstate(divide="ignore"):
                return float(np.minimum(estimates, 1 / estimates).min())
        return -float(np.abs(estimates).max())


def _estimate_of(result: Result) -> Any:
    """Estimates of a result of ours; a number of another package is one."""
    return getattr(result, "estimate", result)


def _arguments_of(function: Callable[..., Any]) -> set[str]:
    return set(inspect.signature(function).parameters)


@dataclass(frozen=True, eq=False)
class ColumnScorer:
    """A scorer that takes the groups from the features: `scorer(estimator, X, y)`."""

    score: GroupScore
    sensitive_features: Any
    response_method: str

    def __call__(self, estimator: Any, X: Any, y: Any = None, **columns: Any) -> float:
        """The score of an estimator's predictions for X; larger is better."""
        if callable(self.sensitive_features):
            groups = self.sensitive_features(X)
        else:
            check_that(
                hasattr(X, "columns"),
                "sensitive_features",
                f"{self.sensitive_features!r}, and features of type {type(X).__name__}",
                "the name of a column of a frame of features",
                "a function of X: lambda X: X[:, 0]",
            )
            groups = X[self.sensitive_features]
        predictions = getattr(estimator, self.response_method)(X)
        if self.response_method == "predict_proba":
            predictions = predictions[:, 1]
        return self.score(y, predictions, sensitive_features=groups, **columns)


def make_scorer(
    metric: str | Callable[..., Any],
    *,
    sensitive_features: Any = None,
    response_method: str = "predict",
    **options: Any,
) -> Any:
    """Make a scorer for scikit-learn from a metric of fairness: larger is better.

    The score is minus the largest absolute difference of the comparisons, or the smallest of the
    ratios and their inverses; NaN where a group has no value, so that no small group looks fair.

    Parameters
    ----------
    metric : str or callable
        A metric by name, a function of labels and predictions (both as in `group_metric`), or a
        function of this package or another that takes ``sensitive_features``, such as
        `demographic_parity_difference`.
    sensitive_features : str, callable or None
        Column of the features that holds the groups, or a function of the features that returns
        them. None: they are passed to the search as metadata, which scikit-learn's routing hands
        over (``scorer.set_score_request(sensitive_features=True)``).
    response_method : {"predict", "predict_proba", "decision_function"}, default "predict"
        What of the estimator is judged; of ``predict_proba`` the second column.
    **options
        Further arguments of the metric: ``reference=``, ``pos_label=``, ``contrast=``.

    Returns
    -------
    callable
        ``scorer(estimator, X, y)``, for `GridSearchCV`, `cross_val_score` and others.

    Raises
    ------
    InputError
        For a response method that is not known, or a column of features that have no names.

    Examples
    --------
    >>> import numpy as np, pandas as pd, fairstats as fs
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> rng = np.random.default_rng(1)
    >>> X = pd.DataFrame({"sex": rng.integers(0, 2, 400), "skill": rng.normal(size=400)})
    >>> y = (X["skill"] + X["sex"] + rng.normal(size=400) > 0).astype(int)
    >>> search = GridSearchCV(
    ...     DecisionTreeClassifier(random_state=0), {"max_depth": [1, 2, 4]},
    ...     scoring={
    ...         "accuracy": "accuracy",
    ...         "parity": fs.make_scorer(fs.demographic_parity_difference, sensitive_features="sex"),
    ...     },
    ...     refit="accuracy",
    ... ).fit(X, y)
    >>> bool((search.cv_results_["mean_test_parity"] <= 0).all())
    True
    """
    check_choice("response_method", response_method, _RESPONSES)
    allowed = "a name, or a function of labels and predictions"
    check_that(isinstance(metric, str) or callable(metric), "metric", metric, allowed)
    score = GroupScore(metric, options)
    if sensitive_features is not None:
        return ColumnScorer(score, sensitive_features, response_method)
    from sklearn import metrics

    return metrics.make_scorer(score, response_method=response_method)
