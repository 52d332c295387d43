"""scikit-learn's own checks of `EcdSearch`, with groups made of the rows that a check passes.

A check passes numbers without groups, often few rows. Here every row stands in either group as often
as a split in three needs it, the group in a column of its own before the others; everything else is
the search's.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import estimator_checks_generator
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

import fairstats as fs
from fairstats.ground.errors import FairstatsWarning

#: Each row comes so often, half of it in either group.
COPIES = 12


class Grouped(fs.EcdSearch):
    """The search with a column of groups."""

    def __init__(
        self, estimator: Any = None, param_distributions: Any = None, n_iter: int = 1
    ) -> None:
        super().__init__(
            estimator,
            param_distributions,
            sensitive_features=0,
            privileged=1.0,
            unprivileged=0.0,
            n_iter=n_iter,
            sampler="random",
            interactions=200,
            splits=(0.34, 0.33, 0.33),
            backend="scipy",
        )

    def __sklearn_tags__(self) -> Any:
        """A check does not say which of several classes is the favourable one."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def fit(self, X: Any, y: Any) -> Any:
        X, y = validate_data(self, X, y)
        if type_of_target(y).startswith("multiclass"):
            raise ValueError("Only binary classification is supported: no pos_label is given.")
        if np.unique(y).size < 2 and type_of_target(y) == "binary":
            raise ValueError("one class, or one sample: two are needed")
        in_both_groups = np.vstack([_with_group(X, copy % 2) for copy in range(COPIES)])
        kept = self.estimator, self.param_distributions
        self.estimator = kept[0] or LogisticRegression()
        self.param_distributions = kept[1] or {"C": [0.1, 1.0]}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FairstatsWarning)
            super().fit(in_both_groups, np.tile(y, COPIES))
        self.estimator, self.param_distributions = kept
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X: Any) -> Any:
        check_is_fitted(self)
        return super().predict(_with_group(validate_data(self, X, reset=False), 0))

    def predict_proba(self, X: Any) -> Any:
        check_is_fitted(self)
        return super().predict_proba(_with_group(validate_data(self, X, reset=False), 0))


def _with_group(X: Any, group: int) -> Any:
    return np.column_stack([np.full(len(X), group), X])


CHECKS = list(estimator_checks_generator(Grouped(), legacy=True))


def name_of(check: Any) -> str:
    return getattr(check, "func", check).__name__


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("pair", CHECKS, ids=lambda pair: name_of(pair[1]))
def test_scikit_learn_checks(pair: Any) -> None:
    estimator, check = pair
    check(estimator)


def test_what_is_left_out() -> None:
    """No check is excluded. One skips itself, since it asks for an environment variable
    (SCIPY_ARRAY_API); those of several classes are not made, since no check says which class is the
    favourable one: the tag says so, and the check that such labels are refused is made.
    """
    names = {name_of(check) for _, check in CHECKS}
    assert {"check_n_features_in", "check_estimators_pickle", "check_fit2d_1sample"} <= names
    assert "check_classifier_not_supporting_multiclass" in names
    assert len(CHECKS) >= 50
