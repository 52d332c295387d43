"""Counterfactual discrimination.

Flips of every kind of table, averages with intervals, bad input.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats

import fairstats as fs
from fairstats.ground import progress
from fairstats.ground.errors import DataWarning, InsufficientEvidenceWarning
from fairstats.methods.ecd import sampling

RNG = np.random.default_rng(11)
N = 400
SEX = RNG.choice(["F", "M"], N, p=[0.3, 0.7])
YEARS = RNG.integers(0, 30, N)
RACE = RNG.choice(["a", "b", "c"], N)
BONUS = {"a": 0.0, "b": 0.1, "c": -0.05}


def logistic(z: Any) -> Any:
    return 1 / (1 + np.exp(-np.asarray(z, float)))


def by_sex(x: Any) -> np.ndarray:
    """The model of the tests: years, and years times sex."""
    male = np.asarray(x["sex"] == "M")
    return logistic(0.1 * np.asarray(x["years"]) - 1 + 0.02 * male * np.asarray(x["years"]))


def expected(own: str) -> np.ndarray:
    """CD by the formula, for the rows of one sex."""
    years = YEARS[own == SEX]
    female = logistic(0.1 * years - 1)
    male = logistic(0.12 * years - 1)
    return male - female if own == "F" else female - male


def frame() -> pd.DataFrame:
    return pd.DataFrame({"sex": SEX, "years": YEARS}, index=[f"p{i}" for i in range(N)])


@pytest.mark.parametrize(
    "table",
    [
        frame(),
        frame().astype({"sex": "category"}),
        frame().astype({"sex": object}),
        pl.DataFrame({"sex": SEX, "years": YEARS}),
        pl.DataFrame({"sex": SEX, "years": YEARS}).to_arrow(),
    ],
    ids=["pandas", "categorical", "object", "polars", "arrow"],
)
@pytest.mark.parametrize("batch", [100_000, 33])
def test_cd_is_the_formula(table: Any, batch: int) -> None:
    """Closed form; the model sees its own kind of table, and the categories stay as they are."""
    kinds = set()

    def model(x: Any) -> np.ndarray:
        kinds.add(type(x))
        if isinstance(x, pd.DataFrame) and isinstance(x["sex"].dtype, pd.CategoricalDtype):
            assert list(x["sex"].cat.categories) == ["F", "M"]
        if not isinstance(x, (pd.DataFrame, pl.DataFrame)):
            x = x.to_pandas()
        return by_sex(x)

    sample = fs.counterfactual_discrimination(model, table, sensitive_features="sex", batch=batch)
    assert kinds == {type(table)}
    for own in "FM":
        np.testing.assert_allclose(sample[own].cd, expected(own), atol=1e-15)
        assert sample[own].n == (own == SEX).sum()


def test_two_calls_a_block() -> None:
    sizes = []

    def model(x: pd.DataFrame) -> np.ndarray:
        sizes.append(len(x))
        return by_sex(x)

    fs.counterfactual_discrimination(model, frame(), sensitive_features="sex", batch=150)
    assert sizes == [150, 150, 150, 150, 100, 100]


def test_the_callers_table_is_not_touched() -> None:
    table = frame()
    kept = frame()
    fs.counterfactual_discrimination(by_sex, table, sensitive_features="sex")
    pd.testing.assert_frame_equal(table, kept)
    array = np.column_stack([(SEX == "M").astype(float), YEARS])
    before = array.copy()
    fs.counterfactual_discrimination(
        lambda x: logistic(x[:, 0] + x[:, 1]), array, sensitive_features=0
    )
    np.testing.assert_array_equal(array, before)


def test_averages_against_scipy() -> None:
    """ACD, its interval and its test: SciPy's `ttest_1samp`; the difference.

    Welch's `ttest_ind`.
    """
    from scipy.stats import ttest_1samp, ttest_ind

    sample = fs.counterfactual_discrimination(by_sex, frame(), sensitive_features="sex")
    table = sample.to_frame().set_index(["metric", "group"])
    for own in "FM":
        row = table.loc[("average causal discrimination", own)]
        witness = ttest_1samp(expected(own), 0.0)
        np.testing.assert_allclose(
            [row["ci_low"], row["ci_high"]], list(witness.confidence_interval(0.95))
        )
        assert row["pvalue"] == pytest.approx(witness.pvalue)
    value, interval, test = sample.difference("F", "M")
    f = expected("F")
    m = expected("M")
    witness = ttest_ind(f, m, equal_var=False)
    assert value == pytest.approx(f.mean() - m.mean())
    assert tuple(interval) == pytest.approx(tuple(witness.confidence_interval(0.95)))
    assert (test.statistic, test.pvalue) == pytest.approx((witness.statistic, witness.pvalue))


def test_extremes_name_the_people() -> None:
    sample = fs.counterfactual_discrimination(by_sex, frame(), sensitive_features="sex")
    top = sample.extremes("F", 5)
    cd = pd.Series(expected("F"), index=frame().index[SEX == "F"])
    np.testing.assert_allclose(top["cd"], cd.sort_values(ascending=False).iloc[:5])
    np.testing.assert_allclose(cd[top["row"]], top["cd"])
    np.testing.assert_allclose(top["counterfactual_score"] - top["score"], top["cd"], atol=1e-15)


def test_indicator_columns_are_flipped_together() -> None:
    """A one-hot attribute; the same with the first category dropped; the same scaled.

    As a mapping.
    """
    hot = pd.get_dummies(pd.Series(RACE), dtype=float)

    def model(x: pd.DataFrame) -> np.ndarray:
        on = x[["b", "c"]].to_numpy() > 0
        if "a" in x:
            assert ((x[["a", "b", "c"]].to_numpy() > 0).sum(axis=1) == 1).all()
        return 0.5 + on @ np.array([0.1, -0.05])

    wanted = {own: max(BONUS[o] - BONUS[own] for o in "abc" if o != own) for own in "abc"}
    scaled = (hot - 0.3) / 0.7
    dropped = hot[["b", "c"]]
    mapping = {v: {c: float(c == v) for c in "abc"} for v in "abc"}
    for table, sensitive_features, names in (
        (hot, ["a", "b", "c"], "abc"),
        (scaled, ["a", "b", "c"], "abc"),
        (dropped, ["b", "c"], ("(none of these)", "b", "c")),
        (hot, mapping, "abc"),
    ):
        sample = fs.counterfactual_discrimination(
            model, table, sensitive_features=sensitive_features
        )
        for own, name in zip("abc", names, strict=True):
            np.testing.assert_allclose(sample[name].cd, wanted[own], atol=1e-12)
            assert sample[name].n == (own == RACE).sum()


def test_all_ordered_pairs() -> None:
    table = pd.DataFrame({"race": RACE})
    sample = fs.counterfactual_discrimination(
        lambda x: 0.5 + x["race"].map(BONUS).to_numpy(float),
        table,
        sensitive_features="race",
        counterfactual="all",
    )
    assert len(sample.groups) == 6
    for own in "abc":
        for other in "abc":
            if own != other:
                np.testing.assert_allclose(
                    sample[own, other].cd, BONUS[other] - BONUS[own], atol=1e-15
                )
    with pytest.raises(fs.InputError, match="several pairs"):
        sample["a"]
    assert set(sample.to_frame()["group"]) == {f"{a} → {b}" for a in "abc" for b in "abc" if a != b}


def test_some_values_only() -> None:
    table = pd.DataFrame({"race": RACE})
    model = lambda x: 0.5 + x["race"].map(BONUS).to_numpy(float)  # noqa: E731
    sample = fs.counterfactual_discrimination(
        model, table, sensitive_features="race", values=["b", "a"], batch=37
    )
    assert [g.group for g in sample.groups] == ["b", "a"]
    assert sample.n_left_out == (RACE == "c").sum()
    np.testing.assert_allclose(sample["a"].cd, 0.1, atol=1e-15)
    assert "left out" in str(sample)


def test_a_mapping_names_values_that_need_not_occur() -> None:
    """One group alone, as a generator gives it: the mapping says what the other value is."""
    women = frame()[SEX == "F"]
    with pytest.warns(InsufficientEvidenceWarning, match="No rows: M"):
        sample = fs.counterfactual_discrimination(
            by_sex, women, sensitive_features={"F": {"sex": "F"}, "M": {"sex": "M"}}
        )
    np.testing.assert_allclose(sample["F"].cd, expected("F"), atol=1e-15)


def test_classifiers() -> None:
    from sklearn.linear_model import LogisticRegression

    x = np.column_stack([SEX == "M", YEARS]).astype(float)
    y = np.where(RNG.random(N) < logistic(0.1 * YEARS - 1.5), "yes", "no")
    model = LogisticRegression().fit(x, y)
    sample = fs.counterfactual_discrimination(model, x, sensitive_features=0)
    other = x.copy()
    other[:, 0] = 1 - other[:, 0]
    cd = model.predict_proba(other)[:, 1] - model.predict_proba(x)[:, 1]
    np.testing.assert_array_equal(sample["1"].cd, cd[SEX == "M"])
    unfavourable = fs.counterfactual_discrimination(model, x, sensitive_features=0, pos_label="no")
    np.testing.assert_allclose(unfavourable["1"].cd, -cd[SEX == "M"], atol=1e-15)


def test_people_with_several_rows_are_clusters() -> None:
    """Every row twice is no new information.

    The clustered standard error stays, the other shrinks.
    """
    twice = pd.concat([frame(), frame()])
    once = fs.counterfactual_discrimination(by_sex, frame(), sensitive_features="sex")["F"].average
    clustered = fs.counterfactual_discrimination(
        by_sex, twice, sensitive_features="sex", cluster=twice.index
    )["F"]
    assert clustered.average.n_people == once.n
    assert clustered.average.std_error == pytest.approx(once.std_error, rel=1e-12)


def test_cvar_and_quantile() -> None:
    """CVaR of a uniform on [0, 1] is (1 + α)/2; coverage of its interval in 400 samples (3 sd)."""
    rng = np.random.default_rng(3)
    held = 0
    for _ in range(400):
        sample = fs.results.CounterfactualSample.from_values({"g": rng.random(500)})
        value, interval = sample.cvar("g", 0.9)
        held += 0.95 in interval
        assert abs(value - 0.95) < 0.05
    assert held / 400 > 0.95 - 3 * np.sqrt(0.95 * 0.05 / 400)
    assert 0.9 in sample.quantile("g", 0.9).confidence_interval


@pytest.mark.parametrize("n", [99, 100, 101, 110, 119])
def test_cvar_is_the_mean_of_the_worst_twentieth_with_its_part_of_a_row(n: int) -> None:
    """By hand: whole rows from the top, and of the next one what is left of n/20."""
    cd = np.random.default_rng(n).uniform(-0.5, 0.5, n)
    sample = fs.results.CounterfactualSample.from_values({"g": cd})
    worst = np.sort(cd)[::-1]
    share = n / 20
    whole = int(share)
    expected = (worst[:whole].sum() + (share - whole) * worst[whole]) / share
    assert sample.cvar("g", 0.95)[0] == pytest.approx(expected, rel=1e-12)


def test_it_survives_json_without_rows() -> None:
    sample = fs.counterfactual_discrimination(by_sex, frame(), sensitive_features="sex")
    import json

    text = json.dumps(sample.to_dict())
    assert "p17" not in text
    back = fs.results.CounterfactualSample.from_dict(json.loads(text))
    pd.testing.assert_frame_equal(back.to_frame(), sample.to_frame())
    with pytest.raises(fs.InputError, match="holds no rows"):
        back.extremes("F")


@pytest.mark.parametrize("told", [True, np.True_])
def test_it_says_when_rows_were_training_rows(told: Any) -> None:
    assert "trained the model" in str(
        fs.counterfactual_discrimination(by_sex, frame(), sensitive_features="sex", trained_on=told)
    )


def test_weighted_rows_are_thinned_to_a_sample_of_the_population() -> None:
    """Closed form: years 0 … 29 were drawn with probability ∝ 1/(1 + years).

    Weights 1 + years undo that.

    What is kept is uniform, so its largest CD and its mean are those of the formula over 30 years;
    rows without weights have a mean two thirds of it."""
    rng = np.random.default_rng(5)
    chance = 1 / (1.0 + np.arange(30))
    years = rng.choice(30, 60_000, p=chance / chance.sum())
    people = pd.DataFrame(
        {"sex": rng.choice(["F", "M", "X"], years.size, p=[0.3, 0.6, 0.1]), "years": years}
    )
    how: dict[str, Any] = {"sensitive_features": "sex", "values": ["F", "M"]}
    sample = fs.counterfactual_discrimination(
        by_sex, people, sample_weight=3.0 + 3.0 * years, rng=2, **how
    )
    plain = fs.counterfactual_discrimination(by_sex, people, **how)
    every = np.arange(30)
    gain = logistic(0.12 * every - 1) - logistic(0.1 * every - 1)
    for name, sign in (("F", 1), ("M", -1)):
        group = sample[name]
        assert 0 < group.n < 0.5 * plain[name].n
        assert abs(group.average.estimate - sign * gain.mean()) < 4 * group.average.std_error
        assert abs(plain[name].average.estimate) < 0.7 * gain.mean()
        of_years = np.bincount(people["years"].to_numpy()[group.rows], minlength=30)
        assert stats.chisquare(of_years).pvalue > 1e-4
    assert sample.n_left_out == plain.n_left_out == (people["sex"] == "X").sum()
    kept = sample["F"].n + sample["M"].n
    assert f"{kept:,} of {years.size - sample.n_left_out:,} were kept" in sample.note
    assert "(rng=2)" in sample.note


def test_weights_of_a_group_are_relative_to_its_own() -> None:
    """Equal weights within a group keep all of it, whatever those of the others."""
    weight = np.where(SEX == "F", 100.0, 0.5)
    sample = fs.counterfactual_discrimination(
        by_sex, frame(), sensitive_features="sex", sample_weight=weight
    )
    assert [sample[s].n for s in "FM"] == [(s == SEX).sum() for s in "FM"]


def test_a_flip_gives_values_of_any_type() -> None:
    """Mixed types cannot be sorted; a missing value is refused as one."""
    table = frame().assign(sex=np.where(SEX == "F", 1, 0).astype(object))
    model = lambda x: np.where(x["sex"] == "M", 0.6, np.where(x["sex"] == 1, 0.2, 0.3))  # noqa: E731
    turned = np.array([1, "M"] * (N // 2), dtype=object)
    sample = fs.counterfactual_discrimination(
        model, table, sensitive_features="sex", flip=lambda x: turned
    )
    own = np.where(SEX == "F", 0.2, 0.3)
    wanted = np.where(turned == "M", 0.6, 0.2) - own
    np.testing.assert_allclose(sample["1"].cd, wanted[SEX == "F"])
    with pytest.raises(fs.InputError, match="missing values"):
        fs.counterfactual_discrimination(
            model,
            table,
            sensitive_features="sex",
            flip=lambda x: np.array([None] * N, dtype=object),
        )


def test_a_tally_of_weighted_rows_is_no_sample() -> None:
    data = frame().assign(w=1.0 + YEARS, score=0.5, other=0.6, y=1)
    counted = fs.tally(
        data,
        y_pred="y",
        score="score",
        counterfactual_score="other",
        sensitive_features="sex",
        sample_weight="w",
        pos_label=1,
    )
    with pytest.raises(fs.InputError, match="a tally of weighted"):
        fs.results.CounterfactualSample.from_tally(counted)


def test_a_model_that_does_not_look_is_told() -> None:
    with pytest.warns(DataWarning, match="does not look"):
        fs.counterfactual_discrimination(
            lambda x: np.full(len(x), 0.3), frame(), sensitive_features="sex"
        )


def test_a_declared_value_without_rows_is_told() -> None:
    """A filter leaves it behind: no row is flipped to it."""
    table = frame().assign(sex=pd.Categorical(SEX, categories=["F", "M", "X"]))
    with pytest.warns(DataWarning, match="sex: of the declared values 'X' has no rows"):
        sample = fs.counterfactual_discrimination(by_sex, table, sensitive_features="sex")
    assert [g.group for g in sample.groups] == ["F", "M"]


def test_an_empty_group_is_told() -> None:
    values = {"F": {"sex": "F"}, "M": {"sex": "M"}, "X": {"sex": "X"}}
    with pytest.warns(InsufficientEvidenceWarning, match="No rows: X"):
        sample = fs.counterfactual_discrimination(by_sex, frame(), sensitive_features=values)
    assert np.isnan(sample["X"].average.estimate)


def _probability(x: Any) -> np.ndarray:
    return np.full(len(x), 0.5)


TYPED = pd.DataFrame({"years": [1, 2, 1]})
BAD: list[tuple[str, dict[str, Any], str]] = [
    ("no such column", {"sensitive_features": "gender"}, "no column 'gender'"),
    ("one value", {"X": frame()[SEX == "F"]}, "only the value 'F'"),
    ("labels", {"predict": lambda x: np.ones(len(x), int)}, "labels"),
    ("text labels", {"predict": lambda x: np.full(len(x), "yes")}, "labels"),
    ("wrong shape", {"predict": lambda x: np.full(3, 0.5)}, "shape"),
    ("three columns", {"predict": lambda x: np.full((len(x), 3), 0.5)}, "3 columns"),
    ("NaN", {"predict": lambda x: np.full(len(x), np.nan)}, "NaN"),
    ("scores", {"predict": lambda x: np.full(len(x), 2.5)}, "2.5"),
    ("no model", {"predict": 3}, "predict_proba"),
    ("a column, not a table", {"X": np.arange(5)}, "shape"),
    ("no rows", {"X": frame().iloc[:0]}, "without rows"),
    ("missing value", {"X": frame().assign(sex=[None, *SEX[1:]])}, "1 rows with none"),
    ("unknown value", {"values": ["F", "W"]}, "'F', 'M'"),
    ("batch 0", {"batch": 0}, "≥ 1"),
    ("short cluster", {"cluster": [1, 2]}, "2 values for 400 rows"),
    ("what", {"counterfactual": "best"}, "'worst'"),
    (
        "many values",
        {"sensitive_features": "years", "X": frame().assign(years=range(N))},
        "400 values",
    ),
    ("level", {"confidence_level": 95}, "between 0 and 1"),
    ("crossed, missing", {"sensitive_features": ["years", "gender"]}, "no column 'gender'"),
    ("cuts of text", {"cuts": [1]}, "which has cuts"),
    ("cuts of another", {"cuts": {"years": [1]}}, "cuts"),
    ("descending", {"sensitive_features": "years", "cuts": [5, 2]}, "ascending"),
    ("empty band", {"sensitive_features": "years", "cuts": [2, 1e6]}, "bands with rows"),
    (
        "several cut alike",
        {"sensitive_features": ["years", "sex"], "cuts": [3]},
        "mapping of column",
    ),
    ("flip of two", {"sensitive_features": ["years", "sex"], "flip": abs}, "one column"),
    ("flip, one value", {"flip": lambda x: "F"}, "one value per row"),
    ("flip, no function", {"flip": "M"}, "a function"),
    ("weights", {"sample_weight": np.ones(N - 1)}, "sample_weight"),
    ("weights below 0", {"sample_weight": np.r_[-1.0, np.ones(N - 1)]}, "negative"),
    ("mapping", {"sensitive_features": {"F": 1, "M": 2}}, "no mappings"),
    (
        "mapping type",
        {
            "sensitive_features": {"F": {"years": 1}, "M": {"years": 2}, "X": {"years": 1.5}},
            "X": TYPED,
        },
        "of type",
    ),
    (
        "equal mapping",
        {"sensitive_features": {"F": {"years": 1}, "M": {"years": 1}}},
        "say the same",
    ),
]


@pytest.mark.parametrize(("what", "change", "match"), BAD, ids=[b[0] for b in BAD])
def test_bad_input(what: str, change: dict[str, Any], match: str) -> None:
    given: dict[str, Any] = {
        "predict": _probability,
        "X": frame(),
        "sensitive_features": "sex",
        **change,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fs.FairstatsWarning)
        with pytest.raises(fs.InputError, match=match):
            fs.counterfactual_discrimination(given.pop("predict"), given.pop("X"), **given)


@pytest.mark.parametrize(
    "values", [{}, {"a": [0.1, np.nan]}, {"a": [0.1, 1.5]}, {"a": ["x"]}, {"a": [[0.1]]}]
)
def test_bad_values(values: Any) -> None:
    with pytest.raises(fs.InputError, match="values"):
        fs.results.CounterfactualSample.from_values(values)


@pytest.mark.parametrize("shown", [False, True])
def test_progress_is_counted_where_it_is_asked_for(
    shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks of rows, and looks at a tail; how bars look is tested in tests/ground."""
    asked = {}
    under_way = progress.under_way

    def listen(words: str, total: int | None = None, *, shown: bool = True) -> Any:
        asked[words] = (total, shown)
        return under_way(words, total, shown=shown)

    monkeypatch.setattr(progress, "is_watched", lambda: True)
    monkeypatch.setattr(progress, "DELAY", 1e9)
    monkeypatch.setattr(progress, "under_way", listen)
    monkeypatch.setattr(sampling, "under_way", listen)
    fs.counterfactual_discrimination(
        by_sex, frame(), sensitive_features="sex", batch=100, progress=shown
    )
    counted = {"counterfactuals": (math.ceil(len(frame()) / 100), True)}
    assert asked == (counted if shown else {})
    people = pd.concat([frame()] * 3, ignore_index=True)
    ties = {"ties": np.random.default_rng(1).random(len(people)) * 1e-6}
    model = lambda x: by_sex(x) + 1e-3 * np.asarray(x["ties"])  # noqa: E731
    fs.sample_tail(
        model,
        people.assign(**ties),
        sensitive_features="sex",
        group="M",
        n_resamples=99,
        rng=1,
        progress=shown,
    )
    assert asked["looks at the tail"][1] == shown


def test_a_mapping_of_one_value_and_columns_of_one() -> None:
    """Two values at least: of a mapping they need not occur, of a column they must, of chosen ones,
    too.
    """
    with pytest.raises(fs.InputError, match="sex with only the value 'F'"):
        fs.counterfactual_discrimination(
            by_sex, frame(), sensitive_features={"F": {"sex": "F"}}, values=["F"]
        )
    with pytest.raises(fs.InputError, match="sex with only the value 'M'"):
        fs.counterfactual_discrimination(by_sex, frame(), sensitive_features="sex", values=["M"])
    nobody = {"X": {"sex": "X"}, "Y": {"sex": "Y"}}
    with pytest.raises(fs.InputError, match="sex without values"):
        fs.counterfactual_discrimination(
            by_sex, frame(), sensitive_features=nobody, values=["X", "Y"]
        )
    wide = frame().assign(code=np.arange(N) % 64)
    model = by_sex
    with pytest.warns(DataWarning, match="No score changes"):
        found = fs.counterfactual_discrimination(model, wide, sensitive_features="code")
    assert len(found.groups) == 64
    with pytest.raises(fs.InputError, match="65 values"):
        fs.counterfactual_discrimination(
            model, wide.assign(code=np.arange(N) % 65), sensitive_features="code"
        )


def test_an_empty_declared_value_of_one_column_is_told_and_of_several_not() -> None:
    """Of crossed columns, and of values that were chosen, what does not occur is no news."""
    table = frame().assign(sex=pd.Categorical(SEX, categories=["F", "M", "X"]), old=YEARS > 10)
    for how in (
        {"sensitive_features": ["sex", "old"]},
        {"sensitive_features": "sex", "values": ["F", "M"]},
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fs.counterfactual_discrimination(by_sex, table, **how)


def test_labels_are_in_order_and_codes_with_them() -> None:
    """Sorted by name where no order is declared, as declared where one is.

    Numbers by their names, too.
    """
    table = frame().assign(age=np.array([20, 3, 100])[np.arange(N) % 3], score=YEARS / 40)
    model = lambda x: np.asarray(x["score"]) + 0.001 * np.asarray(x["age"])  # noqa: E731
    found = fs.counterfactual_discrimination(model, table, sensitive_features="age")
    assert [g.group for g in found.groups] == ["100", "20", "3"]
    for name, gain in (("100", -0.08), ("20", 0.08), ("3", 0.097)):
        np.testing.assert_allclose(found[name].cd, gain, atol=1e-12)
    declared = table.assign(sex=pd.Categorical(SEX, categories=["M", "F"], ordered=True))
    ordered = fs.counterfactual_discrimination(by_sex, declared, sensitive_features="sex")
    assert [g.group for g in ordered.groups] == ["M", "F"]
    np.testing.assert_allclose(ordered["F"].cd, expected("F"), atol=1e-15)
