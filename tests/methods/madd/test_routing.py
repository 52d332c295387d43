"""Names of arguments, and scikit-learn's routing of the sensitive features through a search."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, StratifiedKFold

import fairstats as fs
from fairstats.ground.errors import InputError

RNG = np.random.default_rng(1)
GROUP = RNG.choice(["a", "b"], 600)
X = np.column_stack([RNG.normal(size=600) + (GROUP == "b"), RNG.normal(size=600)])
Y = X.sum(axis=1) + RNG.normal(size=600) > 0.5
SCORE = 1 / (1 + np.exp(-X.sum(axis=1)))
FOLDS = StratifiedKFold(3)


def gap(y_true: Any, y_pred: Any, sensitive_features: Any) -> float:
    result = fs.demographic_parity_difference(
        y_true, y_pred, sensitive_features=sensitive_features, agg="max"
    )
    return float(result.estimate)


def test_grid_search_with_a_scorer_that_is_told_the_groups() -> None:
    """Witness: the gap counted by hand in every fold."""
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = make_scorer(gap, greater_is_better=False)
        scorer = scorer.set_score_request(sensitive_features=True)
        grid = {"C": [0.01, 1.0]}
        search = GridSearchCV(LogisticRegression(), grid, scoring=scorer, cv=FOLDS)
        search.fit(X, Y, sensitive_features=GROUP)
    by_hand = []
    for train, test in FOLDS.split(X, Y):
        predicted = LogisticRegression(C=1.0).fit(X[train], Y[train]).predict(X[test])
        rates = pd.Series(predicted).groupby(GROUP[test]).mean()
        by_hand.append(-(rates.max() - rates.min()))
    found = search.cv_results_
    where = list(found["param_C"]).index(1.0)
    scores = [found[f"split{fold}_test_score"][where] for fold in range(3)]
    np.testing.assert_allclose(scores, by_hand, atol=1e-12)


def test_grid_search_over_the_mitigator() -> None:
    """Witness: the same folds by hand."""
    with sklearn.config_context(enable_metadata_routing=True):
        mitigator = fs.MaddMitigator(n_lambdas=6, random_state=1)
        mitigator.set_fit_request(sensitive_features=True)
        mitigator.set_score_request(sensitive_features=True)
        search = GridSearchCV(mitigator, {"theta": [0.0, 1.0]}, cv=FOLDS)
        search.fit(SCORE, Y, sensitive_features=GROUP)
    assert search.best_params_ == {"theta": 0.0}
    by_hand = []
    for train, test in FOLDS.split(SCORE, Y):
        fitted = fs.MaddMitigator(theta=1.0, n_lambdas=6, random_state=1)
        fitted.fit(SCORE[train], Y[train], sensitive_features=GROUP[train])
        predicted = fitted.predict(SCORE[test], sensitive_features=GROUP[test])
        by_hand.append(np.mean(predicted == Y[test]))
    found = search.cv_results_
    scores = [found[f"split{fold}_test_score"][1] for fold in range(3)]
    np.testing.assert_allclose(scores, by_hand, atol=1e-12)


def test_score_weighs() -> None:
    mitigator = fs.MaddMitigator(n_lambdas=3).fit(SCORE, Y, sensitive_features=GROUP)
    predicted = mitigator.predict(SCORE, sensitive_features=GROUP)
    weight = np.arange(1.0, 601.0)
    found = mitigator.score(SCORE, Y, sensitive_features=GROUP, sample_weight=weight)
    assert found == pytest.approx(float((weight * (predicted == Y)).sum() / weight.sum()))


def test_number_and_names_of_features() -> None:
    mitigator = fs.MaddMitigator(n_lambdas=3).fit(SCORE, Y, sensitive_features=GROUP)
    assert mitigator.n_features_in_ == 1
    assert not hasattr(mitigator, "feature_names_in_")
    frame = pd.DataFrame(X, columns=["first", "second"])
    model = LogisticRegression().fit(frame, Y)
    wrapped = fs.MaddMitigator(n_lambdas=3, estimator=model).fit(frame, Y, sensitive_features=GROUP)
    assert wrapped.n_features_in_ == 2
    assert list(wrapped.feature_names_in_) == ["first", "second"]


def test_the_first_argument_is_x_and_its_old_name_still_works() -> None:
    mitigator = fs.MaddMitigator(n_lambdas=3)
    mitigator.fit(X=SCORE, y=Y, sensitive_features=GROUP)
    mapped = mitigator.predict_proba(X=SCORE, sensitive_features=GROUP)
    with pytest.warns(DeprecationWarning, match="`score` is called `X` now"):
        before = mitigator.predict_proba(score=SCORE, sensitive_features=GROUP)
    np.testing.assert_array_equal(mapped, before)
    with pytest.raises(InputError, match="`X`: got"):
        mitigator.transform(SCORE + 1, sensitive_features=GROUP)
