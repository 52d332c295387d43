"""Discriminative risk: counted by hand, the exact interval by beta quantiles, coverage by
simulation.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta
from sklearn.tree import DecisionTreeClassifier

import fairstats as fs
from fairstats.ground.errors import DataWarning, InputError
from fairstats.methods.hfm.risk import DiscriminativeRiskResult, _risk_of_rows


def exact(p: float, n: float) -> tuple[float, float]:
    """Clopper and Pearson (1934) by SciPy's beta quantiles; n need not be whole."""
    low = beta.ppf(0.025, p * n, n - p * n + 1) if p > 0 else 0.0
    high = beta.ppf(0.975, p * n + 1, n - p * n) if p < 1 else 1.0
    return float(low), float(high)


def people(n: int, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "income": rng.random(n),
            "sex": rng.choice(["f", "m"], n),
            "race": rng.choice(["x", "y", "z"], n),
        },
        index=[f"p{i}" for i in range(n)],
    )


def by_sex(rows: pd.DataFrame) -> np.ndarray:
    return ((rows["income"] > 0.3) & ((rows["sex"] == "m") | (rows["income"] > 0.6))).to_numpy()


def by_race(rows: pd.DataFrame) -> np.ndarray:
    """Only x is treated in another way."""
    return ((rows["income"] > 0.5) & (rows["race"] != "x")).to_numpy()


def test_two_values_by_hand() -> None:
    X = people(400)
    result = fs.discriminative_risk(by_sex, X, sensitive_features="sex")
    changes = (
        (X["income"] > 0.3) & (X["income"] <= 0.6)
    ).to_numpy()  # where by_sex looks at the sex
    assert result.estimate == pytest.approx(changes.mean(), abs=1e-15)
    interval = result.confidence_interval
    assert (interval.low, interval.high) == pytest.approx(exact(changes.mean(), 400), rel=1e-12)
    groups = {e.group: e for e in result.comparisons}
    assert groups["f"].estimate == pytest.approx(changes[X["sex"] == "f"].mean())
    assert groups["all rows"].n_changed == changes.sum()


def test_several_values_each_once() -> None:
    """From x both others differ; from y and z only x does, one of two."""
    X = people(600)
    result = fs.discriminative_risk(by_race, X, sensitive_features="race", draws="all")
    rich = (X["income"] > 0.5).to_numpy()
    means = rich * np.where(X["race"] == "x", 1.0, 0.5)
    assert result.estimate == pytest.approx(means.mean())
    overall = result.comparisons[0]
    assert (overall.n, overall.n_draws) == (600, 1_200)
    assert tuple(overall.confidence_interval) == pytest.approx(exact(means.mean(), 600), rel=1e-12)
    assert overall.confidence_interval.method.endswith("clustered by person")


def test_two_persons_are_two_observations() -> None:
    """By hand: changes 1 and 1/2, so 1.5 of 2."""
    X = pd.DataFrame({"income": [0.9, 0.9], "race": ["x", "y"]})
    values = {"race": ["x", "y", "z"]}
    found = fs.discriminative_risk(by_race, X, sensitive_features=values, draws="all").comparisons[
        0
    ]
    assert (found.estimate, found.n) == (0.75, 2)
    assert tuple(found.confidence_interval) == pytest.approx(exact(0.75, 2), rel=1e-12)


def test_drawn_values_are_other_values_and_even() -> None:
    seen: list[pd.DataFrame] = []

    def model(rows: pd.DataFrame) -> np.ndarray:
        seen.append(rows.copy())
        return by_race(rows)

    X = people(3_000)
    result = fs.discriminative_risk(model, X, sensitive_features="race", draws=4, rng=77)
    disturbed = [rows for rows in seen if len(rows) == 3_000 and not rows["race"].equals(X["race"])]
    assert len(disturbed) == 4
    for rows in disturbed:
        assert (rows["race"] != X["race"]).all()
        assert rows.drop(columns="race").equals(X.drop(columns="race"))
        assert (rows["race"][X["race"] == "x"] == "y").mean() == pytest.approx(
            0.5, abs=0.06
        )  # 4 se
    exact = fs.discriminative_risk(by_race, X, sensitive_features="race", draws="all").estimate
    assert result.estimate == pytest.approx(exact, abs=0.02)
    assert (
        fs.discriminative_risk(by_race, X, sensitive_features="race", draws=4, rng=77).estimate
        == result.estimate
    )


def test_several_attributes_alone_and_together() -> None:
    X = people(500)

    def model(rows: pd.DataFrame) -> np.ndarray:
        return by_sex(rows) ^ by_race(rows)

    result = fs.discriminative_risk(model, X, sensitive_features=["sex", "race"], draws="all")
    alone = {e.attribute: e.estimate for e in result.comparisons if e.group == "all rows"}
    for name in ("sex", "race"):
        assert (
            alone[name]
            == fs.discriminative_risk(model, X, sensitive_features=name, draws="all").estimate
        )
    swapped = X.assign(sex=X["sex"].map({"f": "m", "m": "f"}))
    found = []
    for moved in ({"x": "y", "y": "z", "z": "x"}, {"x": "z", "y": "x", "z": "y"}):
        found.append(model(swapped.assign(race=X["race"].map(moved))) != model(X))
    assert alone["all attributes"] == result.estimate == pytest.approx(np.mean(found))


def test_risks_are_found_by_value_and_by_pair_and_told() -> None:
    """Two attributes with a value "x" in common: by name the first.

    Words from the entries, by hand.
    """
    X = people(80).replace({"sex": {"f": "x"}})
    result = fs.discriminative_risk(
        by_race, X, sensitive_features=["sex", "race"], draws=2, confidence_level=0.9, rng=7
    )
    places = [(e.attribute, e.group) for e in result.comparisons]
    assert result["x"] is result.comparisons[places.index(("sex", "x"))]
    assert result[("race", "x")] is result.comparisons[places.index(("race", "x"))]
    assert (
        result[("race", "x")].estimate > result["x"].estimate == 0
    )  # by_race does not look at the sex
    with pytest.raises(InputError, match="`group`: got 'w'"):
        result["w"]
    e = result[("race", "x")]
    low, high = e.confidence_interval
    assert (
        result.sentences()[places.index(("race", "x"))]
        == f"{100 * e.estimate:.1f}% of the predictions of x change with race alone "
        f"(90% interval {100 * low:.1f}% to {100 * high:.1f}%)."
    )
    assert result.notes() == [
        (
            "Every row was predicted with 2 other value(s) of the attribute, drawn evenly from the"
            " others (seed 7)."
        ),
        "Intervals at 90%; one person is one unit.",
    ]
    assert result.method == result.comparisons[-1].method
    every = fs.discriminative_risk(by_race, X, sensitive_features="race", draws="all")
    assert every.notes()[0] == "Every row was predicted with every other value of the attribute."


def test_labels_in_a_column_and_too_many_combinations() -> None:
    """Closed form: 4⁴ = 256 combinations are taken, 4⁵ = 1,024 are not.

    One column is one label per row.
    """
    X = people(60)
    column = fs.discriminative_risk(
        lambda rows: by_race(rows)[:, None], X, sensitive_features="race", rng=1
    )
    assert (
        column.estimate
        == fs.discriminative_risk(by_race, X, sensitive_features="race", rng=1).estimate
    )
    rng = np.random.default_rng(1)
    wide = pd.DataFrame({name: rng.permutation(np.arange(20) % 5) for name in "abcde"})

    def model(rows: pd.DataFrame) -> np.ndarray:
        return np.zeros(len(rows))

    found = fs.discriminative_risk(model, wide, sensitive_features=list("abcd"), draws="all")
    assert found.comparisons[-1].n_draws == 256 * 20
    assert found.estimate == 0
    with pytest.raises(InputError) as problem:
        fs.discriminative_risk(model, wide, sensitive_features=list("abcde"), draws="all")
    said = "`draws`: got 'all' of 1,024 combinations of other values; allowed: at most 256. "
    assert str(problem.value) == said + "To fix: draws=20 takes random ones."


def test_values_that_do_not_occur() -> None:
    X = people(100)[["income", "race"]]
    result = fs.discriminative_risk(
        by_race, X[X["race"] != "x"], sensitive_features={"race": ["x", "y", "z"]}, draws="all"
    )
    rich = (X["income"] > 0.5)[X["race"] != "x"]
    assert result.estimate == pytest.approx(rich.mean() / 2)


def test_estimators_and_arrays() -> None:
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.random(300), rng.integers(0, 2, 300)])
    model = DecisionTreeClassifier(random_state=1, max_depth=3).fit(
        X, (X[:, 0] + 0.3 * X[:, 1]) > 0.6
    )
    flipped = X.copy()
    flipped[:, 1] = 1 - flipped[:, 1]
    result = fs.discriminative_risk(model, X, sensitive_features=1)
    assert result.estimate == pytest.approx((model.predict(X) != model.predict(flipped)).mean())
    assert 0 < result.estimate < 0.5


def test_polars() -> None:
    """The model is called with polars frames, and the numbers are those of pandas."""
    polars = pytest.importorskip("polars")
    X = people(200).reset_index(drop=True)
    frame = polars.DataFrame({name: X[name].tolist() for name in X})

    def model(rows: polars.DataFrame) -> np.ndarray:
        assert isinstance(rows, polars.DataFrame)
        return by_sex(pd.DataFrame(rows.to_dict(as_series=False)))

    found = fs.discriminative_risk(model, frame, sensitive_features=["sex", "race"], draws=3, rng=2)
    same = fs.discriminative_risk(by_sex, X, sensitive_features=["sex", "race"], draws=3, rng=2)
    assert found == same


@pytest.mark.parametrize("dtype", ["category", "string", "object"])
def test_types_of_columns_are_kept(dtype: str) -> None:
    X = people(50).astype({"sex": dtype})

    def model(rows: pd.DataFrame) -> np.ndarray:
        assert rows["sex"].dtype == X["sex"].dtype
        assert (rows.index == X.index[: len(rows)]).all()
        return np.asarray(rows["sex"] == "m")

    result = fs.discriminative_risk(model, X, sensitive_features="sex")
    assert result.estimate == 1.0
    assert result.confidence_interval.high == 1.0
    assert result.confidence_interval.low == pytest.approx(exact(1.0, 50)[0])


def test_values_that_a_column_cannot_hold_exactly() -> None:
    """0.1 is no 32-bit number, and the model would see another value; −0.5 is one."""
    X = people(30).assign(level=pd.Series([0.5, 0.25] * 15, dtype="float32").to_numpy())
    with pytest.raises(
        InputError, match="for column 'level' of type float32; allowed: values that the column"
    ):
        fs.discriminative_risk(by_sex, X, sensitive_features={"level": [0.5, 0.25, 0.1]})
    assert (
        fs.discriminative_risk(by_sex, X, sensitive_features={"level": [0.5, 0.25, -0.5]}).estimate
        == 0
    )


def test_persons_with_several_rows() -> None:
    """Ten copies of every row say no more than one."""
    X = people(80)
    once = fs.discriminative_risk(by_sex, X, sensitive_features="sex")
    ten = fs.discriminative_risk(
        by_sex, pd.concat([X] * 10), sensitive_features="sex", cluster=list(range(80)) * 10
    )
    assert ten.estimate == pytest.approx(once.estimate)
    assert tuple(ten.confidence_interval) == pytest.approx(
        tuple(once.confidence_interval), rel=0.02
    )


def test_persons_whose_rows_mostly_share_an_answer() -> None:
    """D20 and worse: 12 persons of 10 or 40 rows, most of them with the person's answer.

    At least .93 of 1,000 samples.

    By the variance of the persons' means .81 to .87 of the first were covered, .32 of the last.
    """
    rng = np.random.default_rng(20)
    for rows, rate, sharing in ((10, 0.3, 0.6), (10, 0.1, 0.6), (40, 0.02, 0.8)):
        hits = 0
        for _ in range(1_000):
            own = rng.random(12)[:, None] < rate
            changed = np.where(rng.random((12, rows)) < sharing, own, rng.random((12, rows)) < rate)
            person = np.repeat(np.arange(12), rows)
            hits += (
                rate
                in _risk_of_rows(
                    "a", "all rows", changed.ravel()[None], person, 0.95
                ).confidence_interval
            )
        assert hits / 1_000 >= 0.93, (rows, rate, sharing)


@pytest.mark.slow
def test_coverage_with_several_draws() -> None:
    """At least 95%; 400 samples of 150 persons with 5 draws.

    Standard error 0.011, allowed three of them.
    """
    truth = 0.5 * (1 / 3 * 1 + 2 / 3 * 0.5)
    hits = []
    for seed in range(400):
        X = people(150, 10_000 + seed)
        interval = fs.discriminative_risk(
            by_race, X, sensitive_features="race", draws=5, rng=seed
        ).confidence_interval
        hits.append(truth in interval)
    assert np.mean(hits) > 0.95 - 0.033


def test_a_person_is_one_observation_however_alike_its_draws_are() -> None:
    """statsmodels' exact interval of 40 persons: means nearly equal, and all or none."""
    from statsmodels.stats.proportion import proportion_confint

    alike = np.array([[True] * 40, [False] * 39 + [True]])  # means of .5, and one of 1
    apart = np.array([[True] * 12 + [False] * 28] * 2)  # both draws of a person agree
    for changed, estimate in ((alike, 0.5125), (apart, 0.3)):
        found = _risk_of_rows("a", "all rows", changed, np.arange(40), 0.95)
        ends = proportion_confint(estimate * 40, 40, method="beta")
        assert (found.estimate, found.n, found.n_draws) == (pytest.approx(estimate), 40, 80)
        assert tuple(found.confidence_interval) == pytest.approx(ends, rel=1e-12)


def test_noisy_models_are_said() -> None:
    rng = np.random.default_rng(5)
    with pytest.warns(DataWarning, match="asked again"):
        fs.discriminative_risk(
            lambda rows: rng.random(len(rows)) > 0.5, people(100), sensitive_features="sex"
        )


def test_result_prints_and_survives_json() -> None:
    result = fs.discriminative_risk(
        by_race, people(60), sensitive_features=["sex", "race"], draws=2, rng=1
    )
    assert DiscriminativeRiskResult.from_dict(result.to_dict()) == result
    assert len(result.to_frame()) == len(result.comparisons) == 8
    assert "drawn evenly" in result.summary()
    all_of_them = fs.discriminative_risk(
        by_race, people(60), sensitive_features="race", draws="all"
    )
    assert "every other value" in all_of_them.summary()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"sensitive_features": "age"}, "no column 'age'"),
        ({"sensitive_features": []}, "no column"),
        ({"sensitive_features": {"sex": ["f"]}}, "two or more"),
        ({"sensitive_features": {"sex": ["f", "d"]}}, "without \\['m'\\]"),
        (
            {
                "X": people(9).astype({"sex": "category"}),
                "sensitive_features": {"sex": ["f", "m", "d"]},
            },
            "exactly",
        ),
        ({"predict": 3}, "a function of rows"),
        ({"predict": lambda rows: np.zeros((len(rows), 2))}, "one label per row"),
        ({"predict": lambda rows: 1}, "one label per row"),
        ({"X": [1.0]}, "two-dimensional array"),
        ({"X": pd.DataFrame({"sex": []})}, "without rows"),
        ({"X": pd.DataFrame({"sex": ["f", None]})}, "missing values"),
        ({"X": pd.DataFrame({"sex": ["f", "f"]})}, "one value cannot"),
        ({"draws": 0}, "draws"),
        ({"draws": "some"}, "draws"),
        ({"cluster": [1, 2]}, "cluster"),
        ({"confidence_level": 95}, "confidence_level"),
    ],
)
def test_bad_input(change: dict, words: str) -> None:
    good = {"predict": by_sex, "X": people(30), "sensitive_features": "sex"}
    with pytest.raises(InputError, match=words):
        fs.discriminative_risk(**{**good, **change})
