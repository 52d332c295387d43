"""Extreme counterfactual discrimination: the cost beside the model's own, and of the inference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairstats as fs

pytest.importorskip("pytest_benchmark", reason="pytest-benchmark is not installed")

N = 1_000_000


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(N, 10)), columns=[f"x{i}" for i in range(10)])
    return frame.assign(sex=pd.Categorical(rng.choice(["F", "M"], N)))


def model(x: pd.DataFrame) -> np.ndarray:
    """A forest's worth of work: 50 logistic functions of all columns."""
    z = x[[f"x{i}" for i in range(10)]].to_numpy()
    weights = np.random.default_rng(2).normal(size=(10, 50))
    male = (x["sex"] == "M").to_numpy()
    return (1 / (1 + np.exp(-(z @ weights + 0.1 * male[:, None])))).mean(axis=1)


@pytest.mark.benchmark(group="counterfactuals of 10^6 rows")
def test_two_calls_of_the_model(benchmark: Any, people: pd.DataFrame) -> None:
    """The peer: the model itself, twice."""

    def twice() -> None:
        for _ in range(2):
            for start in range(0, N, 100_000):
                model(people.iloc[start : start + 100_000])

    benchmark.pedantic(twice, rounds=3)


@pytest.mark.benchmark(group="counterfactuals of 10^6 rows")
def test_counterfactual_discrimination(benchmark: Any, people: pd.DataFrame) -> None:
    benchmark.pedantic(
        fs.counterfactual_discrimination, args=(model, people), kwargs={"protected": "sex"}, rounds=3
    )


@pytest.mark.benchmark(group="ECD of 25,000 against 3,000")
@pytest.mark.parametrize("calibrated", [False, True])
def test_ecd(benchmark: Any, calibrated: bool) -> None:
    """Profile intervals, goodness of fit by 1,000 resamples; calibrated: the likelihood ratio, too."""
    rng = np.random.default_rng(1)
    cd = {"white": 0.3 * rng.beta(2, 8, 25_000), "black": 0.5 * rng.beta(2, 8, 3000)}
    benchmark.pedantic(
        fs.ecd,
        args=(cd,),
        kwargs={
            "privileged": "white",
            "unprivileged": "black",
            "backend": "scipy",
            "n_resamples": 999,
            "calibrated": calibrated,
            "rng": 1,
        },
        rounds=3,
    )
