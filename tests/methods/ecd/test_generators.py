"""Built-in generators keep margins, types and dependence.

Foreign ones are told apart from broken ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.stats import norm

import fairstats as fs
from fairstats.methods.ecd.generators import (
    GaussianCopula,
    SmoothedBootstrap,
    _invert_cells,
    _mean_scores,
    _root_of,
    as_columns,
    as_people,
    fit_generator,
)

BUILT_IN = [SmoothedBootstrap, GaussianCopula]


def people(n: int = 600, seed: int = 1) -> pd.DataFrame:
    """Mixed types, dependent: pay grows with age, and the married are older."""
    rng = np.random.default_rng(seed)
    age = rng.normal(45, 10, n)
    return pd.DataFrame(
        {
            "age": age,
            "years": rng.poisson(np.maximum(age - 20, 1)).astype("int64"),
            "married": np.where(rng.random(n) < 1 / (1 + np.exp(-(age - 45) / 5)), "yes", "no"),
            "member": rng.random(n) < 0.2,
            "region": pd.Categorical(rng.choice(["N", "S", "W"], n, p=[0.6, 0.3, 0.1])),
            "grade": rng.integers(1, 5, n),
            "country": "X",
        },
        index=[f"p{i}" for i in range(n)],
    )


@pytest.mark.parametrize("kind", BUILT_IN)
def test_types_columns_and_values(kind: Any) -> None:
    frame = people()
    made = kind(rng=1).fit(frame).sample(1000)
    assert list(made.columns) == list(frame.columns)
    pd.testing.assert_series_equal(made.dtypes, frame.dtypes)
    for name in ("married", "member", "region", "grade", "country"):
        assert set(made[name]) <= set(frame[name])
    for name in ("age", "years"):
        assert frame[name].min() <= made[name].min()
        assert made[name].max() <= frame[name].max()


@pytest.mark.parametrize("kind", BUILT_IN)
def test_margins_and_dependence(kind: Any) -> None:
    """Means within four standard errors, shares likewise; the correlation of age with years within
    .02, the gap of age by marriage within a tenth: kernel noise and the latent normal blur it by 2
    to 5%."""
    frame = people()
    made = kind(rng=2).fit(frame).sample(20_000)
    for name in ("age", "years"):
        assert (
            abs(made[name].mean() - frame[name].mean())
            < 4 * frame[name].std() / np.sqrt(20_000) + 0.05
        )
        assert made[name].std() == pytest.approx(frame[name].std(), rel=0.03)
    for name in ("married", "member", "region"):
        shares = (
            made[name].value_counts(normalize=True).sub(frame[name].value_counts(normalize=True))
        )
        assert shares.abs().max() < 4 * 0.5 / np.sqrt(20_000) + 0.002
    assert made["age"].corr(made["years"]) == pytest.approx(
        frame["age"].corr(frame["years"]), abs=0.02
    )
    gap = frame.groupby("married")["age"].mean().diff().iloc[-1]
    assert made.groupby("married")["age"].mean().diff().iloc[-1] == pytest.approx(gap, rel=0.1)


@pytest.mark.parametrize("kind", BUILT_IN)
def test_seeds(kind: Any) -> None:
    frames = [kind(rng=s).fit(people()).sample(50) for s in (5, 5, 6)]
    pd.testing.assert_frame_equal(frames[0], frames[1])
    assert not frames[0].equals(frames[2])


def test_the_smoothed_bootstrap_keeps_combinations_of_categories() -> None:
    frame = people(60)
    made = SmoothedBootstrap(rng=1).fit(frame).sample(2000)
    columns = ["married", "member", "region", "grade"]
    assert set(made[columns].itertuples(index=False)) <= set(frame[columns].itertuples(index=False))
    plain = SmoothedBootstrap(bandwidth=0, rng=1).fit(frame).sample(2000)
    assert set(plain["age"].round(9)) <= set(frame["age"].round(9))


@pytest.mark.parametrize("kind", BUILT_IN)
@pytest.mark.parametrize(
    ("frame", "match"),
    [
        (np.zeros((5, 2)), "ndarray"),
        (people().iloc[:1], "1 rows"),
        (people().assign(age=np.nan), "missing values"),
    ],
)
def test_bad_frames(kind: Any, frame: Any, match: str) -> None:
    with pytest.raises(fs.InputError, match=match):
        kind().fit(frame)


class Foreign:
    """A generator of somebody else's."""

    def __init__(self, fails: str = "", columns: list[str] | None = None) -> None:
        self.fails = fails
        self.columns = columns
        self.told = None

    def fit(self, frame: pd.DataFrame, discrete_columns: Any = ()) -> None:
        if self.fails == "fit":
            raise RuntimeError("no GPU")
        self.frame = frame
        self.told = discrete_columns

    def sample(self, n: int) -> Any:
        if self.fails == "sample":
            raise MemoryError("too many")
        if self.fails == "shape":
            return np.zeros((n, 3))
        made = self.frame.sample(n, replace=True, random_state=1)
        return (
            made.drop(columns="age") if self.fails == "columns" else made.astype({"years": float})
        )


def test_a_foreign_generator_is_told_its_categories_and_gives_our_types() -> None:
    frame = people()
    foreign = Foreign()
    fitted = fit_generator(foreign, frame, None)
    assert foreign.told == ["married", "member", "region", "grade", "country"]
    made = fitted.sample(30)
    pd.testing.assert_series_equal(made.dtypes, frame.dtypes)


def test_classes_of_ctgan_hide_their_arguments_and_are_told_all_the_same() -> None:
    """`CTGAN.fit` of ctgan 0.12 is ``(self, *args, **kwargs)``.

    A decorator without `functools.wraps`.
    """

    def fit(self: Any, *args: Any, **kwargs: Any) -> None:
        Foreign.fit(self, *args, **kwargs)

    hidden = type("CTGAN", (Foreign,), {"fit": fit, "__module__": "ctgan.synthesizers.ctgan"})()
    fit_generator(hidden, people(), None)
    assert hidden.told == ["married", "member", "region", "grade", "country"]
    # somebody else's fit(*args, **kwargs) need not know the argument
    other = type("Other", (Foreign,), {"fit": fit, "__module__": "elsewhere"})()
    fit_generator(other, people(), None)
    assert other.told == ()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["CTGAN", "TVAE"])
def test_ctgan_itself(name: str) -> None:
    """The real package (extra `generate`), two epochs.

    Our columns, types and categories, and looks.
    """
    ctgan = pytest.importorskip("ctgan", reason="ctgan is not installed")
    frame = people(300)
    fitted = fit_generator(getattr(ctgan, name)(epochs=2), frame, None)
    made = fitted.sample(120)
    assert fitted.name == name
    pd.testing.assert_series_equal(made.dtypes, frame.dtypes)
    for column in ("married", "member", "region", "grade", "country"):
        assert set(made[column]) <= set(frame[column])

    def model(x: pd.DataFrame) -> np.ndarray:
        return 0.1 + 0.002 * x["age"].clip(0, 100).to_numpy() * (x["married"] == "yes").to_numpy()

    found = fs.sample_tail(
        model,
        frame,
        sensitive_features="married",
        group="no",
        generator=getattr(ctgan, name)(epochs=2),
        stop="all_looks",
        max_looks=2,
        batch=200,
        n_resamples=999,
        rng=1,
    )
    assert (found.generator, found.sample.n_synthetic) == (name, 200)


@pytest.mark.parametrize(
    ("fails", "match"),
    [
        ("fit", "RuntimeError in its fit: no GPU"),
        ("sample", "MemoryError in its sample"),
        ("shape", "ndarray from"),
        ("columns", "30 rows, columns"),
    ],
)
def test_a_broken_generator_is_named(fails: str, match: str) -> None:
    with pytest.raises(fs.InputError, match=match):
        fit_generator(Foreign(fails), people(), None).sample(30)


@pytest.mark.parametrize("what", ["gan", 7, object()])
def test_no_generator(what: Any) -> None:
    with pytest.raises(fs.InputError, match="generator"):
        fit_generator(what, people(), None)


def test_kinds_of_columns() -> None:
    """By hand: two values, text and truth are categories, as are up to twelve whole numbers."""
    n = 60
    frame = pd.DataFrame(
        {
            "same": 3.5,
            "text": ["a", "b", "c"] * 20,
            "truth": [True, False] * 30,
            "two": [0.25, 0.75] * 30,
            "twelve": np.arange(n) % 12,
            "thirteen": np.arange(n) % 13,
            "whole floats": np.arange(n) / 1.0,
            "few floats": (np.arange(n) % 5) / 1.0,
            "halves": np.arange(n) / 2,
            "three": [0.1, 0.2, 0.3] * 20,
        }
    )
    kinds = {column.name: (column.kind, column.numeric) for column in as_columns(frame)}
    assert kinds == {
        "same": ("constant", False),
        "text": ("category", False),
        "truth": ("category", False),
        "two": ("category", False),
        "twelve": ("category", False),
        "thirteen": ("whole", True),
        "whole floats": ("whole", True),
        "few floats": ("category", False),
        "halves": ("real", True),
        "three": ("real", True),
    }
    assert as_people(frame.iloc[:2], "frame").shape == (2, 10)
    with pytest.raises(fs.InputError, match="60 rows, 2 of them with missing values") as caught:
        as_people(frame.assign(text=[None, None, *"abc" * 19, "a"]), "data")
    assert caught.value.argument == "data"


def test_mean_scores_are_conditional_means() -> None:
    """Witness: ∫ z·φ(z) over the interval of each value, by quadrature, over its probability."""
    values = np.array([2.0, 1.0, 1.0, 5.0, 2.0, 2.0, 9.0, 1.0, 2.0, 5.0])
    ends = {1.0: (0.0, 0.3), 2.0: (0.3, 0.7), 5.0: (0.7, 0.9), 9.0: (0.9, 1.0)}
    wanted = [
        quad(lambda z: z * norm.pdf(z), *norm.ppf(ends[v]))[0] / (ends[v][1] - ends[v][0])
        for v in values
    ]
    np.testing.assert_allclose(_mean_scores(values), wanted, atol=1e-9)


def test_the_root_of_latent_correlations() -> None:
    """Witness: moments divided by both variances and cut at ±.999; where that is no correlation
    matrix, its nearest by eigenvalues (`numpy.linalg`), with a diagonal of ones again."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal((200, 3)) @ np.array(
        [[1.0, 0.4, 0.2], [0.0, 0.8, -0.3], [0.0, 0.0, 0.9]]
    )
    scores = (x - x.mean(axis=0)) * [0.95, 0.9, 0.97] / x.std(axis=0)
    wanted = (
        scores.T @ scores / 200 / np.outer([0.95**2, 0.9**2, 0.97**2], [0.95**2, 0.9**2, 0.97**2])
    )
    np.fill_diagonal(wanted, 1.0)
    root = _root_of(scores)
    np.testing.assert_allclose(root @ root.T, wanted, atol=1e-12)
    # the same column twice, coarse: over 1, and cut
    twice = _root_of(np.column_stack([scores[:, 0], scores[:, 0]]))
    np.testing.assert_allclose(twice @ twice.T, [[1, 0.999], [0.999, 1]], atol=1e-12)
    # a, b and (a − b)/√2 with their variances shrunk contradict each other
    a = scores[:, 0]
    b = scores[:, 1]
    third = (a / a.std() - b / b.std()) / np.std(a / a.std() - b / b.std())
    small = np.column_stack([a / a.std() * 0.8, b / b.std() * 0.8, third * 0.8])
    given = np.clip(small.T @ small / 200 / 0.64**2, -0.999, 0.999)
    np.fill_diagonal(given, 1.0)
    values, vectors = np.linalg.eigh(given)
    assert values[0] < -0.1
    near = vectors @ np.diag(np.maximum(values, 0)) @ vectors.T
    near /= np.sqrt(np.outer(np.diag(near), np.diag(near)))
    root = _root_of(small)
    np.testing.assert_allclose(root @ root.T, near, atol=1e-12)


def test_inverses_of_margins() -> None:
    """By hand: quantiles of numbers are between order statistics, of categories steps of their
    shares.
    """
    frame = pd.DataFrame(
        {
            "real": [0.5, 4.5, 2.5],
            "sex": pd.Categorical(["M", "F", "M"], categories=["M", "F"]),
            "n": [7, 5, 7],
        }
    )
    real, sex, n = as_columns(frame)
    uniform = np.array([0.0, 0.25, 0.5, 0.66, 0.67, 0.999, 1.0])
    np.testing.assert_allclose(
        _invert_cells(real, uniform), [0.5, 1.5, 2.5, 3.14, 3.18, 4.496, 4.5]
    )
    assert list(_invert_cells(sex, uniform)) == ["M", "M", "M", "M", "F", "F", "F"]
    assert list(_invert_cells(n, uniform)) == [5, 5, 7, 7, 7, 7, 7]


def test_the_bandwidth_of_the_smoothed_bootstrap() -> None:
    """Silverman's rule by hand, d = 2 numeric columns and n = 80; the same seed gives the same
    rows. Columns that are a line stay one, as their noise has the covariance of the data."""
    frame = people(80)[["age", "years", "married"]].assign(pay=1.5)
    h = (4 / ((2 + 2) * 80)) ** (1 / (2 + 4))
    ours, given = (SmoothedBootstrap(bandwidth=b, rng=3).fit(frame).sample(500) for b in (None, h))
    pd.testing.assert_frame_equal(ours, given)
    assert not ours.equals(SmoothedBootstrap(bandwidth=1.02 * h, rng=3).fit(frame).sample(500))
    line = people(80)[["age"]].assign(half=lambda x: 3 - 0.5 * x["age"])
    made = SmoothedBootstrap(bandwidth=0.8, rng=1).fit(line).sample(2000)
    inside = made["age"].between(line["age"].min() + 1e-9, line["age"].max() - 1e-9)
    assert inside.mean() > 0.8
    np.testing.assert_allclose(made["half"][inside], 3 - 0.5 * made["age"][inside], atol=1e-6)
    # mean and covariance are kept whatever the bandwidth, up to what is cut at the range: 4
    # standard errors
    many = SmoothedBootstrap(bandwidth=0.5, rng=2).fit(people()[["age", "years"]]).sample(40_000)
    np.testing.assert_allclose(many.cov() / people()[["age", "years"]].cov(), 1.0, atol=0.06)
    with pytest.raises(fs.InputError, match="bandwidth"):
        SmoothedBootstrap(bandwidth=-0.1).fit(frame)


@pytest.mark.parametrize("kind", BUILT_IN)
def test_the_order_of_calls_and_numbers_of_rows(kind: Any) -> None:
    with pytest.raises(RuntimeError, match="fit comes before sample"):
        kind().sample(3)
    fitted = kind(rng=1).fit(people(40))
    assert fitted.sample(1).shape == (1, 7)
    with pytest.raises(fs.InputError, match="`n`"):
        fitted.sample(0)
    only = people(40)[["married", "country"]]
    assert set(kind(rng=1).fit(only).sample(50)["country"]) == {"X"}


def test_generators_by_name() -> None:
    """The name makes the class, and the seed is handed over."""
    for name, kind in (
        ("smoothed_bootstrap", SmoothedBootstrap),
        ("gaussian_copula", GaussianCopula),
    ):
        fitted = fit_generator(name, people(60), 4)
        assert fitted.name == kind.__name__
        pd.testing.assert_frame_equal(fitted.sample(20), kind(rng=4).fit(people(60)).sample(20))


class Given:
    """A generator that gives what it was told to."""

    def __init__(self, made: pd.DataFrame) -> None:
        self.made = made

    def fit(self, frame: pd.DataFrame) -> None:
        self.index = list(frame.index)

    def sample(self, n: int) -> pd.DataFrame:
        return self.made


def test_what_a_foreign_generator_may_give() -> None:
    """Further columns and any order and index are put right; another number of rows, or values of
    another type, are refused."""
    frame = people(30)
    right = frame.assign(more=1)[[*reversed(frame.columns), "more"]]
    generator = Given(right)
    fitted = fit_generator(generator, frame, None)
    assert generator.index == list(range(30))
    made = fitted.sample(30)
    assert list(made.columns) == list(frame.columns)
    assert list(made.index) == list(range(30))
    with pytest.raises(fs.InputError, match=r"30 rows, columns .* from sample\(29\)"):
        fitted.sample(29)
    with pytest.raises(fs.InputError, match="ValueError in its sample"):
        fit_generator(Given(frame.assign(years="old")), frame, None).sample(30)
