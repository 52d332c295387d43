"""Built-in generators keep margins, types and dependence; foreign ones are told apart from broken ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairstats as fs
from fairstats.methods.ecd.generators import GaussianCopula, SmoothedBootstrap, fit_generator

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
    """Means within four standard errors, shares likewise; the correlation of age with years within .02, the
    gap of age by marriage within a tenth: kernel noise and the latent normal blur it by 2 to 5%.
    """
    frame = people()
    made = kind(rng=2).fit(frame).sample(20_000)
    for name in ("age", "years"):
        assert abs(made[name].mean() - frame[name].mean()) < 4 * frame[name].std() / np.sqrt(20_000) + 0.05
        assert made[name].std() == pytest.approx(frame[name].std(), rel=0.03)
    for name in ("married", "member", "region"):
        shares = made[name].value_counts(normalize=True).sub(frame[name].value_counts(normalize=True))
        assert shares.abs().max() < 4 * 0.5 / np.sqrt(20_000) + 0.002
    assert made["age"].corr(made["years"]) == pytest.approx(frame["age"].corr(frame["years"]), abs=0.02)
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
        self.fails, self.columns, self.told = fails, columns, None

    def fit(self, frame: pd.DataFrame, discrete_columns: Any = ()) -> None:
        if self.fails == "fit":
            raise RuntimeError("no GPU")
        self.frame, self.told = frame, discrete_columns

    def sample(self, n: int) -> Any:
        if self.fails == "sample":
            raise MemoryError("too many")
        if self.fails == "shape":
            return np.zeros((n, 3))
        made = self.frame.sample(n, replace=True, random_state=1)
        return made.drop(columns="age") if self.fails == "columns" else made.astype({"years": float})


def test_a_foreign_generator_is_told_its_categories_and_gives_our_types() -> None:
    frame, foreign = people(), Foreign()
    fitted = fit_generator(foreign, frame, None)
    assert foreign.told == ["married", "member", "region", "grade", "country"]
    made = fitted.sample(30)
    pd.testing.assert_series_equal(made.dtypes, frame.dtypes)


def test_classes_of_ctgan_hide_their_arguments_and_are_told_all_the_same() -> None:
    """`CTGAN.fit` of ctgan 0.12 is ``(self, *args, **kwargs)``: a decorator without `functools.wraps`."""

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
    """The real package (extra `generate`), two epochs: our columns, types and categories, and looks."""
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
