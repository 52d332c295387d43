"""Rules that choose models, compared on test rows.

Witnesses: scikit-learn's metrics and fits, `fs.hfm`, pandas for the measures; SciPy's `ttest_rel`
and
 `friedmanchisquare`; statsmodels' studentized range for Nemenyi's difference; choices by hand.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pandas as pd
import pytest
from scipy.stats import friedmanchisquare, ttest_rel
from sklearn.base import clone
from sklearn.metrics import accuracy_score, f1_score
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import fairstats as fs
from fairstats.ground.errors import InputError
from fairstats.methods.hfm.experiment import _paired_t
from fairstats.results import HfmExperiment

POOL = {"tree": DecisionTreeClassifier(max_depth=3, random_state=1), "bayes": GaussianNB()}


@lru_cache(maxsize=1)
def made() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"a": rng.normal(size=180), "b": rng.random(180)})
    X = X.assign(sex=rng.integers(0, 2, 180), race=rng.integers(0, 3, 180))
    return X, (X["a"] + X["sex"] + rng.normal(size=180) > 0.5).to_numpy().astype(int)


SPLITS = [(np.arange(60, 180), np.arange(60)), (np.arange(120), np.arange(120, 180))]


@lru_cache(maxsize=1)
def found() -> HfmExperiment:
    X, y = made()
    return fs.hfm_experiment(POOL, {"made": (X, y, ["sex", "race"])}, cv=SPLITS, rng=1)


def gap(rows: pd.DataFrame, by: str, column: str) -> float:
    return float(np.ptp(rows.groupby(by)[column].mean()))


def test_measures_of_every_model_on_either_part() -> None:
    X, y = made()
    result = found()
    assert result.rules == ("Accuracy", "DP", "EO", "PQP", "DR", "HFM", "HFM approx")
    assert result.cases == ("made, sex", "made, race")
    assert result.ratios == (0.5, 0.5)
    for k, (train, test) in enumerate(SPLITS):
        for m, model in enumerate(POOL.values()):
            fitted = clone(model).fit(X.iloc[train], y[train])
            for part, rows in ((result.train, train), (result.test, test)):
                here = X.iloc[rows]
                y_pred = fitted.predict(X.iloc[rows])
                table = here.assign(y=y[rows], p=y_pred)
                for case, by in zip(part, ("sex", "race"), strict=True):
                    values = dict(zip(result.rules, case[k, m], strict=True))
                    assert values["Accuracy"] == pytest.approx(1 - accuracy_score(y[rows], y_pred))
                    assert values["DP"] == pytest.approx(gap(table, by, "p"))
                    assert values["EO"] == pytest.approx(gap(table[table["y"] == 1], by, "p"))
                    assert values["PQP"] == pytest.approx(gap(table[table["p"] == 1], by, "y"))
                    hfm = fs.hfm(
                        here[["a", "b"]],
                        y[rows],
                        y_pred,
                        sensitive_features=here[[by]],
                        reference_data=X.iloc[train][["a", "b"]],
                        n_resamples=0,
                        n_subsamples=0,
                    ).hfm
                    assert values["HFM"] == pytest.approx(hfm, rel=1e-9)
                flipped = here.assign(
                    sex=1 - here["sex"]
                )  # race takes another value at random, too
                others = np.array(
                    [
                        fitted.predict(flipped.assign(race=(here["race"] + s) % 3)) != y_pred
                        for s in (1, 2)
                    ]
                )
                assert others.all(0).mean() <= values["DR"] <= others.any(0).mean()


def test_choice_and_means_by_hand() -> None:
    result = found()
    for rule, alpha in (("Accuracy", 1.0), ("DP", 0.05), ("HFM", 0.05)):
        column = result.rules.index(rule)
        for train, test, values in zip(
            result.train, result.test, result.scores(rule, "DR"), strict=True
        ):
            chosen = [
                int(np.argmin(alpha * f[:, 0] + (1 - alpha) * np.abs(f[:, column]))) for f in train
            ]
            assert values.tolist() == [test[k, m, 4] for k, m in enumerate(chosen)]
    row = result.to_frame().query("group == 'DP' and case == 'made, race'").iloc[0]
    assert row["estimate"] == pytest.approx(result.scores("DP")[1].mean())
    assert row["sd"] == pytest.approx(result.scores("DP")[1].std())
    assert (row["metric"], row["reference"], row["n"]) == ("Accuracy", "HFM approx", 2)


def simulated(seed: int = 0, cases: int = 9, folds: int = 5) -> HfmExperiment:
    """Tables of an experiment with four models and three rules, without fitting any."""
    rng = np.random.default_rng(seed)
    tables = [rng.random((2, folds, 4, 3)) * np.array([0.2, 1, 1]) for _ in range(cases)]
    for table in tables:
        table[:, :, 0, 0] -= 0.25  # one model is far better, and the fairest by the second measure
        table[:, :, 0, 2] = 0.001
    return replace(
        found(),
        rules=("Accuracy", "DP", "HFM"),
        cases=tuple(map(str, range(cases))),
        baseline="HFM",
        train=tuple(t[0] for t in tables),
        test=tuple(t[1] for t in tables),
        ratios=(0.25,) * cases,
    )


def test_ranks_and_tests_against_scipy_and_statsmodels() -> None:
    from statsmodels.stats.libqsturng import qsturng

    result = simulated()
    means = np.array([[v.mean() for v in result.scores(rule)] for rule in result.rules])
    ranking = result.ranking()
    assert ranking.pvalue == pytest.approx(friedmanchisquare(*means).pvalue, rel=1e-12)
    assert ranking.ranks == pytest.approx(pd.DataFrame(-means).rank().mean(axis=1).tolist())
    nemenyi = qsturng(0.95, 3, 1e6) / math.sqrt(2) * math.sqrt(3 * 4 / (6 * 9))
    assert ranking.critical_difference == pytest.approx(nemenyi, rel=1e-3)  # its table of infinity
    for c in result.compare("DP"):
        base, own = (result.scores(rule, "DP")[int(c.case)] for rule in ("HFM", c.group))
        if c.group == "HFM":
            assert (c.outcome, c.pvalue) == ("", 1.0)
        elif np.array_equal(base, own):
            assert (c.outcome, c.statistic) == ("tie", 0.0)
        else:
            t = ttest_rel(base, own)
            assert (c.statistic, c.pvalue) == pytest.approx((t.statistic, t.pvalue), rel=1e-10)
            shrunk = t.statistic * math.sqrt((1 / 5) / (1 / 5 + 0.25))
            assert c.pvalue_corrected == pytest.approx(2 * _t_tail(abs(shrunk), 4), rel=1e-10)


def _t_tail(value: float, df: int) -> float:
    from scipy.special import stdtr

    return float(stdtr(df, -value))


@pytest.mark.parametrize("measure", ["", "HFM"])
def test_wins_count_what_is_significant_and_in_which_direction(measure: str) -> None:
    result = simulated()
    wins = result.wins(measure)
    assert wins.index.tolist() == ["Accuracy", "DP"]
    assert wins.loc["Accuracy"].tolist() == [0, 9, 0, 0]  # both always choose the first model
    tests = [
        ttest_rel(*pair)
        for pair in zip(*(result.scores(r, measure) for r in ("HFM", "DP")), strict=True)
    ]
    better = -1 if measure else 1  # of a size, smaller is better
    won = sum(t.pvalue < 0.05 and better * t.statistic > 0 for t in tests)
    lost = sum(t.pvalue < 0.05 and better * t.statistic < 0 for t in tests)
    assert won >= 4
    assert wins.loc["DP", ["win", "tie", "loss"]].tolist() == [won, 9 - won - lost, lost]
    sure = [c.pvalue_corrected < 0.05 for c in result.compare(measure) if c.group == "DP"]
    assert wins.loc["DP", "confirmed"] == sum(sure) < won + lost


def test_wins_are_told_and_constant_differences_are_no_ties() -> None:
    result = simulated()
    assert any("HFM against DP: " in text for text in result.sentences())
    assert _paired_t(np.full(5, 0.1), 0.25) == (math.inf, 0.0, 0.0)
    assert _paired_t(np.array([-0.1, np.nan, -0.1]), 0.25) == (-math.inf, 0.0, 0.0)
    for nothing in (np.zeros(5), np.array([0.1, np.nan]), np.full(3, np.nan)):
        assert _paired_t(nothing, 0.25) == (0.0, 1.0, 1.0)


def test_tradeoff_by_hand() -> None:
    result = simulated(1, cases=4)
    frame = result.tradeoff([0.3, 1.0])
    row = frame.query("alpha == 0.3 and rule == 'DP'").iloc[0]
    costs = []
    for train, test in zip(result.train, result.test, strict=True):
        chosen = np.argmin(0.3 * train[:, :, 0] + 0.7 * train[:, :, 1], axis=1)
        costs.append((0.3 * test[range(5), chosen, 0] + 0.7 * test[range(5), chosen, 1]).mean())
    assert row["cost"] == pytest.approx(np.mean(costs))
    half = 3.182446 * np.std(costs, ddof=1) / 2  # t of 3 degrees of freedom
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(
        (row["cost"] - half, row["cost"] + half), rel=1e-6
    )
    only = frame.query("alpha == 1.0")
    assert only["cost"].nunique() == 1
    assert only["cost"].iloc[0] == pytest.approx(only["error"].iloc[0])
    same = result.tradeoff([0.3], measure="HFM")
    assert same["fairness"].iloc[0] == pytest.approx(
        np.mean([v.mean() for v in result.scores("DP", "HFM", 0.3)])
    )


def test_undefined_measures_come_last_and_are_left_out() -> None:
    result = simulated(2, cases=3)
    train, test = (tuple(t.copy() for t in part) for part in (result.train, result.test))
    train[0][:, 0, 2], test[1][0, :, 1] = np.nan, np.nan
    spoiled = replace(result, train=train, test=test)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert all(m != result.test[0][k, 0, 0] for k, m in enumerate(1 - spoiled.scores("HFM")[0]))
        kept = spoiled.compare("DP")[1]
    assert kept.estimate == pytest.approx(result.scores("Accuracy", "DP")[1][1:].mean())


def test_fitted_models_other_labels_and_json() -> None:
    X, y = made()
    words = np.where(y == 1, "good", "bad")
    fitted = {name: clone(m).fit(X, words) for name, m in POOL.items()}
    options = {"measures": ("DP", "DR"), "error": "f1", "pos_label": "good", "rng": 2}
    result = fs.hfm_experiment(
        {"made": fitted}, {"made": (X, words, ["sex", "race"])}, refit=False, cv=SPLITS, **options
    )
    predicted = fitted["bayes"].predict(X.iloc[:60])
    assert result.rules[0] == "F1"
    assert result.test[0][0, 1, 0] == pytest.approx(
        1 - f1_score(words[:60], predicted, pos_label="good")
    )
    again = HfmExperiment.from_dict(result.to_dict())
    assert again.to_frame().equals(result.to_frame())
    assert again.tradeoff([0.5]).equals(result.tradeoff([0.5]))
    same = [
        fs.hfm_experiment(POOL, {"m": (X, words, ["sex", "race"])}, cv=3, **options).test[0]
        for _ in range(2)
    ]
    assert np.array_equal(*same)
    with pytest.raises(AttributeError, match="critical difference"):
        _ = result.confidence_interval


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"models": {"one": GaussianNB()}}, "two or more estimators"),
        ({"models": {"a": 1, "b": 2}}, "fit, predict"),
        ({"models": [GaussianNB()]}, "mapping"),
        ({"data": {"d": 3}}, "sensitive"),
        ({"sensitive": "sex"}, "two or more of each"),
        ({"sensitive": ["nobody"]}, "nobody"),
        ({"measures": ("DP",)}, "two or more of each"),
        ({"measures": ("DP", "XY")}, "XY"),
        ({"baseline": "HFM"}, "baseline"),
        ({"error": "auc"}, "error"),
        ({"alpha": 2}, "alpha"),
        ({"cv": 1}, "cv"),
        ({"cv": "x"}, "cv"),
        ({"cv": [(np.arange(90), np.flatnonzero(np.arange(180) < 0))]}, "cv"),
        ({"cv": [([0, 1], [500])] * 2}, "cv"),
        ({"array": True}, "data frame"),
    ],
)
def test_bad_experiments(change: dict, words: str) -> None:
    X, y = made()
    sensitive = change.pop("sensitive", ["sex", "race"])
    X = X.to_numpy() if change.pop("array", False) else X
    good = {
        "models": POOL,
        "data": {"d": (X, y, sensitive)},
        "measures": ("DP", "EO"),
        "cv": SPLITS,
        "rng": 1,
    }
    with pytest.raises(InputError, match=words):
        fs.hfm_experiment(**{**good, **change})


def test_pictures() -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    from fairstats.plots.hfm import plot_tradeoff

    result = simulated()
    ax = result.plot()
    assert [line.get_xdata()[0] for line in ax.lines] == pytest.approx(list(result.ranking().ranks))
    frame = result.tradeoff([0.0, 0.5, 1.0])
    ax = plot_tradeoff(frame)
    assert [line.get_label() for line in ax.lines] == ["DP", "HFM"]
    assert ax.lines[0].get_ydata().tolist() == frame[frame["rule"] == "DP"]["cost"].tolist()
