"""scikit-learn's own checks of `MaddMitigator`, with groups made of the rows that a check passes.

scikit-learn calls `fit(X, y)`. Here the score of a row is a function of its features, and its group
whether its first feature is above the median of the fit: everything else is the mitigator's.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator
from sklearn.utils.validation import check_is_fitted, validate_data

import fairstats as fs
from fairstats.ground.errors import FairstatsWarning


class Grouped(fs.MaddMitigator):
    """The mitigator with scores and groups from features."""

    def __init__(self, theta: float = 0.5, n_lambdas: int = 5, splits: int | None = None) -> None:
        super().__init__(theta=theta, n_lambdas=n_lambdas, splits=splits)

    def _read(self, X: Any) -> tuple[Any, Any]:
        first = X[:, 0]
        return 1 / (1 + np.exp(-np.clip(X.sum(axis=1) / 4, -30, 30))), first > self.median_

    def fit(self, X: Any, y: Any) -> Any:  # type: ignore[override]
        """As that of the mitigator."""
        X, y = validate_data(self, X, y)
        labels = y != np.min(y)
        if labels.all() or not labels.any():
            raise ValueError("one class, or one sample: two are needed")
        self.label_of_fit_ = np.max(y)
        self.median_ = float(np.median(X[:, 0]))
        score, group = self._read(X)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FairstatsWarning)
            super().fit(score, labels, sensitive_features=group)
        self.n_features_in_ = X.shape[1]  # of what the check passes, not of the scores
        return self

    def transform(self, X: Any) -> Any:  # type: ignore[override]
        """As that of the mitigator."""
        check_is_fitted(self)
        score, group = self._read(validate_data(self, X, reset=False))
        return super().transform(score, sensitive_features=group)

    def predict(self, X: Any) -> Any:  # type: ignore[override]
        """By the mapped scores."""
        favourable = np.ravel(self.transform(X)) >= self.threshold
        return self.classes_[favourable.astype(int)]

    def predict_proba(self, X: Any) -> Any:  # type: ignore[override]
        """By the mapped scores."""
        mapped = np.ravel(self.transform(X))
        return np.column_stack([1 - mapped, mapped])

    def score(self, X: Any, y: Any) -> float:  # type: ignore[override]
        """As that of the mitigator."""
        check_is_fitted(self)
        score, group = self._read(validate_data(self, X, reset=False))
        labels = np.asarray(y) == self.label_of_fit_
        predicted = np.ravel(super().transform(score, sensitive_features=group)) >= self.threshold
        return float(np.mean(labels == predicted))

    def fit_transform(self, X: Any, y: Any) -> Any:  # type: ignore[override]
        """Both."""
        return self.fit(X, y).transform(X)


CHECKS = list(estimator_checks_generator(Grouped(), legacy=True))


def name_of(check: Any) -> str:
    return getattr(check, "func", check).__name__


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("pair", CHECKS, ids=lambda pair: name_of(pair[1]))
def test_scikit_learn_checks(pair: Any) -> None:
    """All of them: none is excluded. That of other array libraries asks for an environment of its
    own, and skips itself.
    """
    estimator, check = pair
    check(estimator)
