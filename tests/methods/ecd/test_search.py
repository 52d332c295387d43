"""EcdSearch: the constraint, the split, resuming, what is reported; both samplers."""

from __future__ import annotations

import pickle
import sys
import warnings
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier

import fairstats as fs
from fairstats.ground.errors import MissingDependencyError

RNG = np.random.default_rng(4)
X = pd.DataFrame(
    {"sex": RNG.integers(0, 2, 1500), "a": RNG.normal(size=1500), "b": RNG.normal(size=1500)}
)
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
    sample = fs.counterfactual_discrimination(
        fitted.best_estimator_, third, sensitive_features="sex"
    )
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
    given.set_params(
        param_distributions={"max_depth": randint(2, 6), "ccp_alpha": uniform(0, 0.01)}
    )
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
    """The paper's comparison of mitigators over seeds, with fairlearn's.

    Ranks come out of `scott_knott`.
    """
    reductions = pytest.importorskip("fairlearn.reductions", reason="fairlearn is not installed")
    from sklearn.linear_model import LogisticRegression

    y = (Y == "yes").astype(int)
    found: dict[str, list[float]] = {"none": [], "EG": []}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(4):
            rows = np.random.default_rng(seed).permutation(1500)[:700]
            x = X.iloc[rows]
            label = y[rows]
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


def quick(**change: Any) -> fs.EcdSearch:
    """A search that costs milliseconds a trial: average case, a tree, 400 rows."""
    given: dict[str, Any] = {
        "sensitive_features": "sex",
        "privileged": 1,
        "unprivileged": 0,
        "objective": "acd",
        "n_iter": 4,
        "sampler": "random",
        "threshold": 10,
        "interactions": 50,
        **change,
    }
    choices = given.pop("choices", {"max_depth": [1, 2, 4], "min_samples_leaf": [2, 9]})
    return fs.EcdSearch(DecisionTreeClassifier(max_depth=3, random_state=0), choices, **given)


def few(n: int = 400) -> tuple[pd.DataFrame, np.ndarray]:
    return X.iloc[:n], Y[:n]


def test_every_setting_has_the_default_that_is_documented() -> None:
    """Witness: the guide and the docstring of `ecd`; the seed of a scikit-learn estimator is 0."""
    plain = fs.EcdSearch(
        DecisionTreeClassifier(), {}, sensitive_features=0, privileged=1, unprivileged=0
    )
    wanted = {
        "objective": "ecd",
        "accuracy_loss": 0.02,
        "n_iter": 20,
        "timeout": None,
        "interactions": 1000,
        "threshold": None,
        "pos_label": None,
        "backend": None,
        "splits": (0.6, 0.2, 0.2),
        "sampler": "auto",
        "warm_start": False,
        "random_state": 0,
        "progress": True,
    }
    assert {name: getattr(plain, name) for name in wanted} == wanted


def test_the_three_parts_are_shares_of_every_group_and_label() -> None:
    """Witness: .5, .3 and .2 of each cell, to a row.

    No row twice, each part in the order of the rows.
    """
    x, y = few(1000)
    parts = quick(splits=(0.5, 0.3, 0.2))._parts(x, y)
    assert np.concatenate(parts).size == len(set(np.concatenate(parts).tolist())) == 1000
    cells = x["sex"].astype(str) + y
    for part, share in zip(parts, (0.5, 0.3, 0.2), strict=True):
        assert (np.diff(part) > 0).all()
        assert part.size == 1000 * share
        counts = cells.iloc[part].value_counts() - share * cells.value_counts()
        assert counts.abs().max() <= 1.01
    again, other = (
        quick(splits=(0.5, 0.3, 0.2), random_state=seed)._parts(x, y) for seed in (0, 1)
    )
    assert all((a == b).all() for a, b in zip(parts, again, strict=True))
    assert not (parts[0] == other[0]).all()


def test_trials_by_hand() -> None:
    """Witness: the same trees on the first part, and their ACD and accuracy on the second. The
    floor is the accuracy of the tree as it is given less the loss allowed; the best feasible one is
    told of the third."""
    x, y = few()
    found = quick(accuracy_loss=0.01).fit(x, y)
    first, second, third = (part for part in found._parts(x, y))
    names = ("max_depth", "min_samples_leaf")
    assert (
        len(
            {
                tuple(row)
                for row in found.trials_[["param_max_depth", "param_min_samples_leaf"]].to_numpy()
            }
        )
        == 5
    )
    for trial in found.trials_.to_dict("records"):
        params = (
            {k: int(trial[f"param_{k}"]) for k in names} if trial["number"] else {"max_depth": 3}
        )
        tree = DecisionTreeClassifier(random_state=0, **params).fit(x.iloc[first], y[first])
        accuracy = (tree.predict(x.iloc[second]) == y[second]).mean()
        sample = fs.counterfactual_discrimination(tree, x.iloc[second], sensitive_features="sex")
        assert trial["accuracy"] == accuracy
        assert trial["objective"] == pytest.approx(abs(sample.difference(0, 1)[0]), abs=1e-15)
        assert trial["feasible"] == (accuracy >= found.trials_["accuracy"][0] - 0.01 - 1e-12)
        assert trial["error"] == ""
        assert 0 <= trial["seconds"] < 60
    best = found.trials_[found.trials_["feasible"]]["objective"].idxmin()
    chosen = found.best_params_ or {"max_depth": 3}
    tree = DecisionTreeClassifier(random_state=0, **chosen).fit(x.iloc[first], y[first])
    assert (found.best_params_ == {}) == (best == 0)
    np.testing.assert_array_equal(found.predict(x), tree.predict(x))
    assert found.accuracy_ == (tree.predict(x.iloc[third]) == y[third]).mean()
    given = DecisionTreeClassifier(max_depth=3, random_state=0).fit(x.iloc[first], y[first])
    assert found.baseline_accuracy_ == (given.predict(x.iloc[third]) == y[third]).mean()
    assert found.to_frame() is found.trials_


def test_a_list_of_choices_is_tried_once_each() -> None:
    """Six combinations; scikit-learn's sampler without replacement, then none are left."""
    found = quick(n_iter=9).fit(*few())
    assert len(found.trials_) == 7
    drawn = quick(n_iter=9, choices={"ccp_alpha": stats.uniform(0, 0.01)}).fit(*few())
    assert len(drawn.trials_) == 10
    assert drawn.trials_["param_ccp_alpha"].dropna().between(0, 0.01).all()


def test_more_trials_of_the_same_rows() -> None:
    """Witness: one search of as many trials; without a warm start it begins again."""
    columns = ["number", "param_max_depth", "param_min_samples_leaf", "accuracy", "objective"]
    whole = quick().fit(*few())
    parts = quick(warm_start=True, n_iter=3).fit(*few())
    parts.set_params(n_iter=1).fit(*few())
    pd.testing.assert_frame_equal(parts.trials_[columns], whole.trials_[columns])
    assert len(whole.fit(*few()).trials_) == 5


def test_a_trial_that_raises_is_told_and_not_chosen() -> None:
    """A depth below 1 is refused by the tree.

    An estimator that fails as it is given ends the search.
    """
    found = quick(choices={"max_depth": [-3, 2]}, n_iter=2).fit(*few())
    failed = found.trials_[found.trials_["error"] != ""]
    assert failed["param_max_depth"].tolist() == [-3]
    assert failed["error"].iloc[0].startswith("InvalidParameterError: ")
    assert failed[["accuracy", "objective"]].isna().all(axis=None)
    assert not failed["feasible"].any()
    with pytest.raises(ValueError, match="max_depth"):
        quick().set_params(estimator__max_depth=-3).fit(*few())


class Study:
    """What of optuna's study is used: every suggestion is the middle, or the last.

    Told values are kept.
    """

    told: ClassVar[list[float]] = []

    def ask(self) -> Study:
        return self

    def suggest_categorical(self, name: str, choices: list[int]) -> int:
        return choices[-1]

    def suggest_float(self, name: str, low: float, high: float) -> float:
        assert 0 < low < 1e-6
        assert 1 - 1e-6 < high < 1
        return 0.5

    def tell(self, trial: Study, value: float) -> None:
        assert trial is self
        self.told.append(value)


@pytest.mark.parametrize("sampler", ["optuna", "auto"])
def test_what_a_sampler_is_asked_and_told(sampler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Optuna's interface by a stand-in: medians of distributions, values of lists; it is told the
    objective, 10 for a trial that fails, and 10 times what accuracy falls short of the floor
    more."""
    Study.told.clear()
    seeds: list[int] = []

    def seeded(seed: int) -> None:
        seeds.append(seed)

    levels = [20]
    fake = SimpleNamespace(
        __spec__=SimpleNamespace(name="optuna"),
        create_study=lambda sampler: Study(),
        samplers=SimpleNamespace(TPESampler=seeded),
        logging=SimpleNamespace(
            get_verbosity=lambda: levels[-1], set_verbosity=levels.append, WARNING=30
        ),
    )
    monkeypatch.setitem(sys.modules, "optuna", fake)
    choices = {
        "max_depth": stats.randint(1, 8),
        "ccp_alpha": stats.uniform(0, 0.01),
        "criterion": ["gini", "entropy"],
    }
    found = quick(choices=choices, n_iter=2, sampler=sampler, random_state=3).fit(*few())
    trials = found.trials_.iloc[1:]
    assert trials["param_max_depth"].tolist() == [4, 4]
    assert trials["param_ccp_alpha"].tolist() == pytest.approx([0.005, 0.005])
    assert trials["param_criterion"].tolist() == ["entropy", "entropy"]
    assert seeds == [3]
    assert levels == [20, 30, 20]
    floor = found.trials_["accuracy"][0] - 0.02
    short = np.maximum(floor - trials["accuracy"], 0)
    assert Study.told == pytest.approx((trials["objective"] + 10 * short).tolist())
    Study.told.clear()
    quick(choices={"max_depth": [-3]}, n_iter=1, sampler=sampler).fit(*few())
    assert Study.told == [10.0]
    worse = quick(choices={"max_leaf_nodes": [2]}, n_iter=1, sampler=sampler, accuracy_loss=0).fit(
        *few()
    )
    trial = worse.trials_.iloc[1]
    short = worse.trials_["accuracy"][0] - trial["accuracy"]
    assert short > 0
    assert Study.told[1] == pytest.approx(trial["objective"] + 10 * short)


def test_a_parameter_without_values_is_refused() -> None:
    for empty in ([], ()):
        with pytest.raises(fs.InputError, match="for 'max_depth'"):
            quick(choices={"max_depth": empty}).fit(*few())


def test_without_optuna(monkeypatch: pytest.MonkeyPatch) -> None:
    from fairstats.methods.ecd import search as module

    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match="optuna"):
        quick(sampler="optuna").fit(*few())
    assert len(quick(sampler="auto", n_iter=1).fit(*few()).trials_) == 2


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
        ({"param_distributions": [1]}, "param_distributions"),
        ({"accuracy_loss": 1}, "accuracy_loss"),
        ({"splits": (0.5, 0.5)}, "splits"),
        ({"splits": (0.6, 0.4, 0.0)}, "splits"),
        ({"splits": (0.6, 0.2, 0.2 + 1e-8)}, "splits"),
        ({"timeout": 0}, "timeout"),
        ({"random_state": -1}, "random_state"),
        ({"random_state": None}, "random_state"),
        ({"warm_start": "yes"}, "warm_start"),
        ({"progress": 3}, "progress"),
        ({"pos_label": ("yes",)}, "one class of the labels"),
        ({"estimator": RandomForestClassifier}, "an estimator as scikit-learn's are"),
        ({"estimator": 3}, "an estimator as scikit-learn's are"),
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


def test_number_and_names_of_features() -> None:
    found = search(n_iter=1, objective="acd").fit(X, Y)
    assert found.n_features_in_ == 3
    assert list(found.feature_names_in_) == ["sex", "a", "b"]
    found.set_params(sensitive_features=0).fit(X.to_numpy(), Y)
    assert found.n_features_in_ == 3
    assert not hasattr(found, "feature_names_in_")


def test_numbers_are_no_classes() -> None:
    with pytest.raises(fs.InputError, match=r"`y`: got continuous numbers.*classes"):
        search().fit(X, X["a"])


@pytest.mark.slow
@pytest.mark.parametrize("sampler", ["random", "optuna"])
def test_a_search_from_a_file_goes_on_where_it_was(sampler: str) -> None:
    """Witness: the search that never was in a file."""
    if sampler == "optuna":
        pytest.importorskip("optuna", reason="optuna is not installed")
    straight = search(warm_start=True, n_iter=2, sampler=sampler).fit(X, Y)
    from_file = pickle.loads(pickle.dumps(straight))  # noqa: S301 - our own bytes
    straight.set_params(n_iter=1).fit(X, Y)
    from_file.set_params(n_iter=1).fit(X, Y)
    columns = ["param_max_depth", "param_max_features", "objective"]
    pd.testing.assert_frame_equal(from_file.trials_[columns], straight.trials_[columns])
