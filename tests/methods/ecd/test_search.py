"""EcdSearch: the constraint, the split, resuming, what is reported; both samplers."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError

import fairstats as fs

RNG = np.random.default_rng(4)
X = pd.DataFrame({"sex": RNG.integers(0, 2, 1500), "a": RNG.normal(size=1500), "b": RNG.normal(size=1500)})
Y = np.where(X["a"] + 0.8 * X["sex"] * X["b"] + RNG.normal(size=1500) > 0.4, "yes", "no")


def search(**change: Any) -> fs.EcdSearch:
    given: dict[str, Any] = {
        "sensitive_features": "sex",
        "privileged": 1,
        "unprivileged": 0,
        "n_iter": 3,
        "sampler": "random",
        "threshold": 20,
        "interactions": 200,
        "random_state": 1,
        **change,
    }
    forest = RandomForestClassifier(n_estimators=15, min_samples_leaf=5, random_state=1)
    return fs.EcdSearch(forest, {"max_depth": [1, 2, 3, 5, 8], "max_features": [1, 2, 3]}, **given)


#: Shallow trees make ties, which the search reports and these tests are not about.
pytestmark = pytest.mark.filterwarnings("ignore::fairstats.ground.errors.FairstatsWarning")


@pytest.fixture(scope="module")
def fitted() -> fs.EcdSearch:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fs.FairstatsWarning)
        return search().fit(X, Y)


def test_the_least_feasible_trial_is_chosen(fitted: fs.EcdSearch) -> None:
    trials = fitted.to_frame()
    assert len(trials) == 4
    floor = trials["accuracy"][0] - 0.02
    assert (trials["feasible"] == (trials["accuracy"] >= floor - 1e-12)).all()
    best = trials[trials["feasible"]].nsmallest(1, "objective").iloc[0]
    chosen = {f"param_{k}": v for k, v in fitted.best_params_.items()}
    assert all(best[k] == v for k, v in chosen.items())
    assert trials["number"].tolist() == [0, 1, 2, 3]


def test_the_report_is_on_rows_that_the_search_has_not_seen(fitted: fs.EcdSearch) -> None:
    parts = fitted._parts(X, Y)
    assert sum(p.size for p in parts) == len(X)
    assert len(set(np.concatenate(parts))) == len(X)
    third = X.iloc[parts[2]]
    sample = fs.counterfactual_discrimination(fitted.best_estimator_, third, sensitive_features="sex")
    wanted = fs.ecd(
        sample, privileged=1, unprivileged=0, interactions=200, threshold=20, n_resamples=0, rng=1
    )
    assert fitted.result_.estimate == wanted.estimate
    assert fitted.accuracy_ == (fitted.predict(third) == Y[parts[2]]).mean()
    assert fitted.baseline_result_["0"].n == fitted.result_["0"].n


def test_it_is_a_classifier(fitted: fs.EcdSearch) -> None:
    assert list(fitted.classes_) == ["no", "yes"]
    np.testing.assert_allclose(fitted.predict_proba(X).sum(axis=1), 1)
    assert clone(fitted).get_params()["accuracy_loss"] == 0.02
    with pytest.raises(NotFittedError):
        search().predict(X)


@pytest.mark.slow
def test_the_seed_repeats_it(fitted: fs.EcdSearch) -> None:
    again = search().fit(X, Y)
    columns = ["param_max_depth", "param_max_features", "accuracy", "objective"]
    pd.testing.assert_frame_equal(again.trials_[columns], fitted.trials_[columns])


@pytest.mark.slow
def test_it_resumes(fitted: fs.EcdSearch) -> None:
    more = search(warm_start=True, n_iter=2).fit(X, Y)
    more.set_params(n_iter=1).fit(X, Y)
    assert len(more.trials_) == 4
    columns = ["param_max_depth", "param_max_features", "objective"]
    pd.testing.assert_frame_equal(more.trials_[columns], fitted.trials_[columns])


def test_average_case_objective_and_timeout() -> None:
    found = search(objective="acd", timeout=1e-9).fit(X, Y)
    assert len(found.trials_) == 1
    assert found.best_params_ == {}
    assert found.result_ is found.baseline_result_
    sample = fs.counterfactual_discrimination(
        found.best_estimator_, X.iloc[found._parts(X, Y)[1]], sensitive_features="sex"
    )
    assert found.trials_["objective"][0] == pytest.approx(abs(sample.difference(0, 1)[0]))


@pytest.mark.slow
def test_optuna() -> None:
    pytest.importorskip("optuna", reason="optuna is not installed")
    from scipy.stats import randint, uniform

    given = search(sampler="optuna")
    given.set_params(param_distributions={"max_depth": randint(2, 6), "ccp_alpha": uniform(0, 0.01)})
    trials = given.fit(X, Y).trials_
    assert trials["param_max_depth"].dropna().between(2, 5).all()
    assert trials["param_ccp_alpha"].dropna().between(0, 0.01).all()


@pytest.mark.slow
def test_a_trial_that_fails_is_kept_and_not_chosen() -> None:
    given = search().set_params(param_distributions={"max_depth": [-3, 2]})
    trials = given.fit(X, Y).trials_
    failed = trials[trials["error"] != ""]
    assert len(failed) == 1
    assert not failed["feasible"].any()


@pytest.mark.slow
def test_exponentiated_gradient_against_the_plain_model() -> None:
    """The paper's comparison of mitigators over seeds, with fairlearn's; ranks come out of `scott_knott`."""
    reductions = pytest.importorskip("fairlearn.reductions", reason="fairlearn is not installed")
    from sklearn.linear_model import LogisticRegression

    y = (Y == "yes").astype(int)
    found: dict[str, list[float]] = {"none": [], "EG": []}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(4):
            rows = np.random.default_rng(seed).permutation(1500)[:700]
            x, label = X.iloc[rows], y[rows]
            plain = LogisticRegression().fit(x, label)
            fair = reductions.ExponentiatedGradient(
                LogisticRegression(), reductions.DemographicParity(), max_iter=5
            ).fit(x, label, sensitive_features=x["sex"])
            for name, model in (("none", plain.predict_proba), ("EG", fair._pmf_predict)):
                sample = fs.counterfactual_discrimination(model, X, sensitive_features="sex")
                found[name].append(abs(sample.difference(0, 1)[0]))
    ranks = fs.scott_knott(found, rng=1)
    assert {t.name for t in ranks.treatments} == {"none", "EG"}
    assert all(t.n == 4 for t in ranks.treatments)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"objective": "sum"}, "objective"),
        ({"accuracy_loss": -1}, "accuracy_loss"),
        ({"splits": (0.5, 0.5, 0.5)}, "splits"),
        ({"n_iter": 0}, "n_iter"),
        ({"sampler": "grid"}, "sampler"),
        ({"backend": "R"}, "backend"),
        ({"param_distributions": {}}, "param_distributions"),
        ({"param_distributions": {"max_depth": 3}}, "int for 'max_depth'"),
        ({"sensitive_features": "gender"}, "no column"),
    ],
)
def test_bad_input(change: dict[str, Any], match: str) -> None:
    with pytest.raises(fs.InputError, match=match):
        search().set_params(**change).fit(X, Y)


def test_bad_labels() -> None:
    for other in (1, None):
        with pytest.raises(fs.InputError, match="one label per row, all of one type"):
            search().fit(X, np.array([other, *Y[1:].tolist()], dtype=object))
    with pytest.raises(fs.InputError, match="one label"):
        search().fit(X, Y[:5])
    with pytest.raises(fs.InputError, match="three ways"):
        search().fit(X.iloc[[0, 1, *np.flatnonzero(X["sex"] != X["sex"][0])[:2]]], Y[:4])


@pytest.mark.slow
def test_trials_are_by_scipy_whatever_the_report_is_by(monkeypatch: pytest.MonkeyPatch) -> None:
    """R is asked for the results that are reported only: two fits of two groups here."""
    from fairstats.methods.ecd import search as module

    asked: list[Any] = []

    def spied(*args: Any, backend: Any, **options: Any) -> Any:
        asked.append(backend)
        return fs.ecd(*args, backend="scipy", **options)

    monkeypatch.setattr(module, "ecd", spied)
    found = search(backend="r", n_iter=2).fit(X, Y)
    assert asked[:3] == ["scipy"] * 3
    assert set(asked[3:]) == {"r"}
    assert clone(found).backend == "r"
