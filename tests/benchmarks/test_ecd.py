"""Extreme counterfactual discrimination: the cost beside the model's own, and of the inference."""

from __future__ import annotations

import time
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairstats as fs

pytest.importorskip("pytest_benchmark", reason="pytest-benchmark is not installed")

N = 1_000_000
BLOCK = 100_000
NUMBERS = [f"x{i}" for i in range(10)]
#: Overhead asked for; seconds that 10^6 rows cost beside a light model, on a busy machine, at most.
SHARE = 0.05
FLOOR = 0.15


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(N, 10)), columns=NUMBERS)
    return frame.assign(sex=pd.Categorical(rng.choice(["F", "M"], N)))


@pytest.fixture(scope="module")
def flipped(people: pd.DataFrame) -> pd.DataFrame:
    return people.assign(sex=pd.Categorical(np.where(people["sex"] == "M", "F", "M")))


def outcome(people: pd.DataFrame) -> np.ndarray:
    return (people["x0"] + people["x1"] * people["x2"] + (people["sex"] == "M") > 0).to_numpy()


@pytest.fixture(scope="module", params=["logistic regression", "random forest"])
def model(request: pytest.FixtureRequest, people: pd.DataFrame) -> Any:
    """A light one, and one of usual cost: a pipeline that encodes and scales, and 30 trees."""
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    encode = make_column_transformer(
        (StandardScaler(), NUMBERS), (OneHotEncoder(drop="first"), ["sex"])
    )
    light = request.param == "logistic regression"
    last = (
        LogisticRegression() if light else RandomForestClassifier(30, max_depth=10, random_state=1)
    )
    few = people.iloc[:20_000]
    return make_pipeline(encode, last).fit(few, outcome(few))


class Timed:
    """A model that counts the processor time spent in it."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.classes_ = model.classes_
        self.seconds = 0.0

    def predict_proba(self, x: pd.DataFrame) -> Any:
        started = time.process_time()
        found = self.model.predict_proba(x)
        self.seconds += time.process_time() - started
        return found


@pytest.mark.benchmark(group="counterfactuals of 10^6 rows")
def test_counterfactual_discrimination_beside_two_calls_of_the_model(
    benchmark: Any, model: Any, people: pd.DataFrame, flipped: pd.DataFrame
) -> None:
    """The peer: the model on the same blocks of a frame that somebody has flipped already.

    Processor time.

    Beside the model 10^6 rows cost .04 to .1 s, whatever the model: below 5% where its two calls
    take 2 s or more, as a forest's do, and up to 10% of the .6 to .9 s of the logistic regression
    with its encoder."""
    timed = Timed(model)
    beside = []

    def bare() -> None:
        for start in range(0, N, BLOCK):
            for frame in (people, flipped):
                model.predict_proba(frame.iloc[start : start + BLOCK])

    def ours() -> None:
        started = time.process_time()
        timed.seconds = 0.0
        fs.counterfactual_discrimination(timed, people, sensitive_features="sex")
        beside.append(time.process_time() - started - timed.seconds)

    bare_time, our_time = fastest(bare, ours, rounds=2)
    benchmark.extra_info.update(bare=bare_time, ours=our_time, beside=min(beside))
    benchmark.pedantic(ours, rounds=1)
    if benchmark.enabled:
        assert min(beside) < max(FLOOR, SHARE * bare_time)


def fastest(*calls: Any, rounds: int) -> list[float]:
    """Least processor time of each call, taken in turns."""
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(rounds):
        for call, taken in zip(calls, times, strict=True):
            started = time.process_time()
            call()
            taken.append(time.process_time() - started)
    return [min(taken) for taken in times]


def test_memory_beside_the_table(people: pd.DataFrame) -> None:
    """10^6 rows: a block at a time, and eight numbers of eight bytes a row that are kept or pass
    through.
    """

    def constant(x: pd.DataFrame) -> np.ndarray:
        return np.where(x["sex"] == "M", 0.6, 0.4)

    tracemalloc.start()
    try:
        fs.counterfactual_discrimination(constant, people, sensitive_features="sex")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 64 * N


@pytest.mark.benchmark(group="ECD of 25,000 against 3,000")
@pytest.mark.parametrize("calibrated", [False, True])
def test_ecd(benchmark: Any, calibrated: bool) -> None:
    """Profile intervals, goodness of fit by 1,000 resamples; calibrated.

    The likelihood ratio, too.
    """
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


#: The same inference in R by its own functions: fit, and delta intervals of the five return levels
#: of `ecd`.
IN_R = """
fairstats_peer <- function(x, k, type) {
  u <- sort(x, decreasing = TRUE)[k + 1]
  fit <- extRemes::fevd(x, threshold = u, type = type, time.units = "1000/year")
  levels <- extRemes::return.level(fit, return.period = c(1.001, 1.5, 2, 5, 10), do.ci = TRUE)
  as.numeric(levels)
}
TRUE
"""


@pytest.mark.r_extra("extRemes")
@pytest.mark.benchmark(group="ECD through R")
@pytest.mark.parametrize("model", ["point_process", "gpd"])
def test_through_r(benchmark: Any, model: str, tmp_path: Path) -> None:
    """Inference of both groups, with profile intervals, within 3 times of plain calls of extRemes
    in R.

    Measured: .3 times (point process) and 1.2 times (GPD). The whole of `ecd`, whose contrast of
    the groups extRemes has not, is kept beside it: 1.1 to 1.4 and 3.3 to 5 times."""
    from fairstats.ground import rsession

    file = tmp_path / "peer.R"
    file.write_text(IN_R, encoding="utf-8")
    rsession.call("base::source", str(file))
    rng = np.random.default_rng(1)
    cd = {"white": 0.3 * rng.beta(2, 8, 25_000), "black": 0.5 * rng.beta(2, 8, 3000)}

    def peer() -> None:
        for values in cd.values():
            rsession.call("fairstats_peer", values, 50, "PP" if model == "point_process" else "GP")

    def ours() -> None:
        for values in cd.values():
            threshold = float(np.partition(values, -51)[-51])
            if model == "gpd":
                fit = fs.evt.fit_gpd(values, threshold, backend="r")
            else:
                fit = fs.evt.fit_point_process(values, threshold, 1000, backend="r")
            for m in (1001, 1500, 2000, 5000, 10_000):
                fit.return_level(m)

    def whole() -> None:
        fs.ecd(cd, privileged="white", unprivileged="black", backend="r", n_resamples=0)

    peer_time, our_time, whole_time = fastest(peer, ours, whole, rounds=3)
    benchmark.extra_info.update(
        peer=peer_time, ratio=our_time / peer_time, ecd=whole_time / peer_time
    )
    benchmark.pedantic(ours, rounds=1)
    if benchmark.enabled:
        assert our_time < 3 * peer_time
