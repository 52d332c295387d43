"""Algorithm 1: looks, batches, how it ends, and what its rules are worth."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairstats as fs
from fairstats.ground.errors import InsufficientEvidenceWarning
from fairstats.methods.ecd.contrast import NEAR_END
from fairstats.methods.ecd.sampling import Look, status_words

N = 900


def people(seed: int = 1, n: int = N) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "sex": rng.choice(["F", "M"], n),
            "pay": rng.exponential(1.0, n),
            "heavy": rng.pareto(1.2, n),
        }
    )


def exponential(x: Any) -> np.ndarray:
    """CD of women is 0.02·pay: an exponential tail."""
    return 0.1 + 0.02 * np.asarray(x["pay"]) * np.asarray(x["sex"] == "M")


def heavy(x: Any) -> np.ndarray:
    """CD of women has a Pareto tail with ξ = .83, well below its bound."""
    return 0.1 + 0.0005 * np.minimum(np.asarray(x["heavy"]), 1000) * np.asarray(x["sex"] == "M")


def sample(predict: Any = exponential, data: Any = None, **change: Any) -> fs.results.TailSample:
    given: dict[str, Any] = {
        "sensitive_features": "sex",
        "group": "F",
        "rng": 1,
        "n_resamples": 999,
        **change,
    }
    return fs.sample_tail(predict, people() if data is None else data, **given)


def test_one_look_at_the_real_rows() -> None:
    found = sample()
    women = people()[people()["sex"] == "F"]
    np.testing.assert_allclose(found.sample.cd, 0.02 * women["pay"])
    assert list(found.sample.rows) == list(women.index)
    assert (found.status, len(found.looks), found.sample.n_synthetic) == ("passed", 1, 0)
    assert found.looks[0].confidence_level == 0.95
    wanted = fs.evt.exponentiality_test(found.sample.cd, n_resamples=999, rng=1)
    assert found.looks[0].statistic == pytest.approx(wanted.statistic, abs=0.1)


def test_a_heavy_tail_fails_and_uses_up_its_looks() -> None:
    found = sample(heavy, generator="smoothed_bootstrap", max_looks=3, batch=200)
    assert found.status == "not passed: looks used up"
    assert not found.passed
    assert [look.n for look in found.looks] == [found.sample.n_real + 200 * j for j in range(3)]
    assert found.sample.n_synthetic == 400
    assert all(look.confidence_level == pytest.approx(1 - 0.05 / 3) for look in found.looks)
    assert list(found.sample.rows[-2:]) == ["synthetic 399", "synthetic 400"]


def test_a_small_group_gets_rows_first() -> None:
    """A group of 30 rows, fewer than k_max, with the copula: the first look waits."""
    data = pd.concat([people()[people()["sex"] == "F"].iloc[:30], people()[people()["sex"] == "M"]])
    found = sample(data=data, generator="gaussian_copula", batch=40, max_looks=5)
    assert found.looks[0].n == 70
    assert found.sample.n_real == 30
    assert "synthetic" in str(found)


def german_credit() -> tuple[pd.DataFrame, Any]:
    """150 women and all men of German credit, mixed columns, and a forest's probability of good
    credit.
    """
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    everyone = fs.datasets.load_german_credit().frame.drop(columns="personal_status")
    women = everyone["sex"] == "female"
    data = pd.concat([everyone[women].sample(150, random_state=2), everyone[~women]])
    texts = make_column_selector(dtype_exclude=np.number)
    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), texts), remainder="passthrough"
    )
    model = make_pipeline(encode, RandomForestClassifier(20, min_samples_leaf=5, random_state=1))
    features = data.drop(columns="credit")
    return features, model.fit(features, data["credit"])


def test_150_rows_with_the_copula_are_labelled_as_the_stopping_rule_allows() -> None:
    """German credit: women, 150 rows.

    Every look made: one at α/6 each, and the synthetic rows are named.
    """
    features, model = german_credit()
    given: dict[str, Any] = {"group": "female", "generator": "gaussian_copula", "pos_label": "good"}
    found = sample(model, features, **given, stop="all_looks", max_looks=6, batch=500)
    assert (found.sample.n_real, found.sample.n_synthetic, len(found.looks)) == (150, 2500, 6)
    assert list(found.sample.rows[:150]) == list(features.index[features["sex"] == "female"])
    assert found.sample.rows[150] == "synthetic 1"
    rejected = sum(look.pvalue <= 0.05 / 6 for look in found.looks)
    assert found.passed == (rejected == 0)
    told = " ".join(str(found).split())  # lines are wrapped
    assert "150 real rows and 2,500 synthetic ones by GaussianCopula, 6 looks of at most 6" in told
    assert "each at level 0.00833" in told
    assert "the generator's law, not of the population" in told
    # the paper's rule on the same rows: whatever it ends with, it is not a bare "passed"
    theirs = sample(model, features, **given, test="paper_excess", max_looks=20, batch=500)
    assert theirs.status in (
        "passed at the first look",
        "passed by stopping rule, no error guarantee",
        "not passed: looks used up",
    )
    assert theirs.looks[-1].passed == theirs.passed
    assert "no error level" in str(theirs)
    # and what comes of it carries no p-value about people
    others = sample(model, features, **{**given, "group": "male", "generator": None})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InsufficientEvidenceWarning)
        ecd = fs.ecd(
            fs.results.CounterfactualSample.of_groups(found, others),
            privileged="male",
            unprivileged="female",
            backend="scipy",
            n_resamples=0,
        )
    assert ecd["female"].n_synthetic == 2500
    assert np.isnan(ecd.pvalue)


def test_a_pass_after_a_failed_look_is_by_stopping_rule() -> None:
    """The paper's rule, repeated.

    Of ten samples with an exponential tail some pass late, and say so.
    """
    ends = {
        sample(
            data=people(seed),
            generator="gaussian_copula",
            test="paper_excess",
            max_looks=10,
            batch=300,
        ).status
        for seed in range(10)
    }
    assert "passed by stopping rule, no error guarantee" in ends
    assert ends <= {
        "passed by stopping rule, no error guarantee",
        "passed at the first look",
        "not passed: looks used up",
    }


def test_all_looks_spend_the_level_and_never_stops_early() -> None:
    found = sample(generator="gaussian_copula", stop="all_looks", max_looks=4, batch=50)
    assert len(found.looks) == 4
    assert found.status == "passed"
    assert all(look.confidence_level == pytest.approx(0.9875) for look in found.looks)


def test_words() -> None:
    good = Look(100, 1.0, 0.3, 0.05, True, "")
    bad = Look(100, 4.0, 0.01, 0.05, False, "")
    assert status_words([good], "", "first_pass", 1) == "passed"
    assert status_words([good], "", "first_pass", 5) == "passed at the first look"
    assert (
        status_words([bad, good], "", "first_pass", 5)
        == "passed by stopping rule, no error guarantee"
    )
    assert status_words([bad], "timed out", "first_pass", 5) == "not passed: timed out"
    assert status_words([bad, good], "", "all_looks", 2).startswith("not passed: 1 of 2")
    assert (
        status_words([good], "timed out", "all_looks", 2) == "not passed: timed out after 1 looks"
    )
    assert (
        status_words([], "timed out", "first_pass", 2)
        == "not passed: timed out before the first look"
    )


def test_a_timeout_ends_it_between_looks() -> None:
    found = sample(heavy, generator="smoothed_bootstrap", timeout=1e-9, max_looks=50)
    assert found.status == "not passed: timed out"
    assert len(found.looks) == 1


def test_a_timeout_ends_the_wait_for_a_first_look() -> None:
    """Two rows a batch for a group of 30: rows for a first look would take eleven batches."""
    data = pd.concat([people()[people()["sex"] == "F"].iloc[:30], people()[people()["sex"] == "M"]])
    found = sample(data=data, generator="gaussian_copula", batch=2, timeout=1e-9)
    assert found.status == "not passed: timed out before the first look"
    assert (found.sample.n_synthetic, found.looks) == (2, ())
    assert "0 looks of at most 20" in str(found)


class Broken:
    """A generator that fails when asked for the second time."""

    def __init__(self, fails: str) -> None:
        self.fails = fails
        self.calls = 0

    def fit(self, frame: pd.DataFrame) -> None:
        if self.fails == "fit":
            raise RuntimeError("no GPU")
        self.frame = frame

    def sample(self, n: int) -> pd.DataFrame:
        self.calls += 1
        if self.calls == 2:
            raise MemoryError("too many")
        return self.frame.sample(n, replace=True, random_state=1)


@pytest.mark.parametrize(
    ("fails", "match"),
    [("fit", "RuntimeError in its fit: no GPU"), ("sample", "MemoryError in its sample")],
)
def test_a_generator_that_raises_is_named(fails: str, match: str) -> None:
    with pytest.raises(fs.InputError, match=match) as caught:
        sample(heavy, generator=Broken(fails), batch=50)
    assert caught.value.argument == "generator"
    assert isinstance(caught.value.__cause__, (RuntimeError, MemoryError))


def test_ties_are_named() -> None:
    def stepped(x: Any) -> np.ndarray:
        return 0.1 + 0.2 * np.asarray(x["sex"] == "M")

    assert sample(stepped).status.startswith("degenerate")


def test_the_sample_goes_into_ecd() -> None:
    tails = [sample(group=g, generator="gaussian_copula", batch=100) for g in ("F", "M")]
    whole = fs.results.CounterfactualSample.of_groups(*tails)
    assert whole.attribute == "sex"
    found = fs.ecd(whole, privileged="M", unprivileged="F", backend="scipy", n_resamples=0)
    # differences of men are −0.02·pay: their end point, 0, is near
    assert found["M"].fit is not None
    assert found["M"].fit.by_power
    assert "Its end point is near" in found["M"].sentence
    assert found.comparisons[0].method == NEAR_END
    assert np.isnan(found.pvalue) == any(t.sample.n_synthetic > 0 for t in tails)
    assert found["F"].n == tails[0].sample.n
    with pytest.raises(fs.InputError, match="different groups"):
        fs.results.CounterfactualSample.of_groups(tails[0], tails[0])


def test_seed_and_json() -> None:
    first, second = (
        sample(heavy, generator="gaussian_copula", batch=50, max_looks=3) for _ in range(2)
    )
    np.testing.assert_array_equal(first.sample.cd, second.sample.cd)
    text = json.dumps(first.to_dict(), allow_nan=False)
    assert "synthetic 1" not in text
    back = fs.results.TailSample.from_dict(json.loads(text))
    pd.testing.assert_frame_equal(back.to_frame(), first.to_frame())


def test_the_other_values_count_by_the_best() -> None:
    data = people().assign(sex=np.random.default_rng(3).choice(["F", "M", "X"], N))

    def three(x: Any) -> np.ndarray:
        return 0.1 + 0.02 * np.asarray(x["pay"]) * np.asarray(
            x["sex"].map({"F": 0, "M": 1, "X": 2}), float
        )

    found = sample(three, data)
    assert found.sample.counterfactual == "worst"
    np.testing.assert_allclose(found.sample.cd, 0.04 * data.loc[data["sex"] == "F", "pay"])


def women(count: int) -> pd.DataFrame:
    """All men, and so many women."""
    data = people()
    return pd.concat([data[data["sex"] == "F"].iloc[:count], data[data["sex"] == "M"]])


def test_the_result_is_its_last_look() -> None:
    """Witness: the looks themselves; a result without looks has neither statistic nor p-value."""
    found = sample(heavy, generator="smoothed_bootstrap", max_looks=3, batch=200)
    assert (found.statistic, found.pvalue) == (found.looks[-1].statistic, found.looks[-1].pvalue)
    assert 0 < found.pvalue < 1
    assert len({look.statistic for look in found.looks}) == 3
    none = sample(data=women(30), generator="gaussian_copula", batch=2, timeout=1e-9)
    assert np.isnan([none.statistic, none.pvalue]).all()
    rows = found.rows()
    assert [row["n"] for row in rows] == [look.n for look in found.looks]
    assert [row["statistic"] for row in rows] == [look.statistic for look in found.looks]
    assert {row["group"] for row in rows} == {"F"}
    assert {row["passed"] for row in rows} == {False}


def test_a_look_needs_more_rows_than_k_max() -> None:
    """51 rows have 50 excesses; 50 have not, and get a batch first where there is a generator."""
    found = sample(data=women(51))
    assert (len(found.looks), found.looks[0].n, found.max_looks) == (1, 51, 1)
    with pytest.raises(fs.InputError, match="50 for 50 rows of 'F'") as caught:
        sample(data=women(50))
    assert caught.value.argument == "k_max"
    assert (
        sample(data=women(50), generator="gaussian_copula", batch=7, max_looks=1).looks[0].n == 57
    )
    # a batch that does not reach it is followed by another, without a look
    waits = sample(data=women(30), generator="gaussian_copula", batch=15, max_looks=1)
    assert (waits.looks[0].n, waits.sample.n_synthetic) == (60, 30)


def test_a_test_that_is_refused_is_no_degenerate_tail() -> None:
    """More looks than the test can share its level among.

    The error of the test, not of the values.
    """
    with pytest.raises(fs.InputError, match="max_looks"):
        sample(generator="gaussian_copula", max_looks=10**7)


def test_what_it_says() -> None:
    """By hand: one look and several, with and without synthetic rows.

    Of the paper's rules it warns.
    """
    one = sample()
    assert one.sentences() == [
        f"F: passed. {one.sample.n_real:,} real rows and no synthetic ones, 1 look of at most 1,"
        " each at level 0.05."
    ]
    assert one.notes() == [*one.sentences(), "Passing means: not shown heavier than exponential."]
    many = sample(
        heavy, generator="smoothed_bootstrap", max_looks=2, batch=1200, test="paper_excess"
    )
    assert many.sentences() == [
        f"F: {many.status}. {many.sample.n_real:,} real rows and 1,200 synthetic ones by"
        " SmoothedBootstrap, 2 looks of at most 2."
    ]
    assert [line.partition(" ")[0] for line in many.notes()] == ["F:", "With", "The"]
    assert not many.passed
    assert np.isnan(many.pvalue)


def test_simulated_samples_resolve_the_level() -> None:
    """Twenty beyond the critical value at least.

    α/400 asks for 20·400/α of them, whatever was asked for.
    """
    found = sample(heavy, generator="smoothed_bootstrap", max_looks=4, batch=60, n_resamples=99)
    steps = [(look.pvalue * 1601) % 1 for look in found.looks]  # 1,600 samples of 4 looks at .0125
    np.testing.assert_allclose(np.minimum(steps, 1 - np.array(steps)), 0, atol=1e-6)


def test_the_words_of_looks_that_fail() -> None:
    reason = Look(60, float("nan"), float("nan"), 0.95, False, "degenerate: all equal")
    bad = Look(100, 4.0, 0.01, 0.05, False, "")
    assert status_words([bad, reason], "looks used up", "all_looks", 5) == "degenerate: all equal"
    assert (
        status_words([bad], "looks used up", "all_looks", 1)
        == "not passed: 1 of 1 looks found it heavier than exponential"
    )


BAD: list[tuple[str, dict[str, Any], str]] = [
    ("group", {"group": "Q"}, "'F', 'M'"),
    ("k_max above n", {"k_max": 5000}, "less than the number of rows"),
    ("k_min 1", {"k_min": 1}, "≥ 2"),
    ("k_max below k_min", {"k_max": 5}, "≥ 10"),
    ("batch", {"batch": 0}, "≥ 1"),
    ("looks", {"max_looks": 0}, "≥ 1"),
    ("timeout", {"timeout": -3}, "seconds"),
    ("test", {"test": "ks"}, "'max_cv'"),
    ("stop", {"stop": "never"}, "'first_pass'"),
    ("level", {"confidence_level": 1.5}, "between 0 and 1"),
    ("generator", {"generator": "gan"}, "gaussian_copula"),
    ("sensitive_features", {"sensitive_features": "gender"}, "no column"),
    ("one value", {"data": people()[people()["sex"] == "F"]}, "only the value 'F'"),
    ("labels", {"predict": lambda x: np.ones(len(x), int)}, "labels"),
    ("wrong shape", {"predict": lambda x: np.full(3, 0.5)}, "shape"),
    ("NaN", {"predict": lambda x: np.full(len(x), np.nan)}, "NaN"),
    ("timeout as text", {"timeout": "soon"}, "seconds"),
    (
        "array with a generator",
        {
            "data": np.eye(200)[:, :2],
            "sensitive_features": 0,
            "group": 0,
            "generator": "gaussian_copula",
        },
        "frame",
    ),
]


@pytest.mark.parametrize(("what", "change", "match"), BAD, ids=[b[0] for b in BAD])
def test_bad_input(what: str, change: dict[str, Any], match: str) -> None:
    with pytest.raises(fs.InputError, match=match):
        sample(**change)
