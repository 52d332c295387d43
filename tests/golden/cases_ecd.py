"""Cases of extreme counterfactual discrimination."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from tests.golden.api import call
from tests.golden.cases import Room
from tests.golden.data import simulated_frame

ROOM = Room("ecd")


def _model(rows: Any) -> Any:
    x1, group, sex = (rows[c].to_numpy() for c in ("x1", "group", "sex"))
    lift = 0.4 * (sex == "m") * (1 + 0.5 * x1) - 0.3 * (group == "c") + 0.1 * (group == "b")
    return 1 / (1 + np.exp(-(x1 + lift)))


def _frame() -> pd.DataFrame:
    return simulated_frame()[["x1", "x2", "sex", "group"]]


def _discrimination(attribute: str, **options: Any) -> dict[str, Any]:
    if options.get("cluster"):
        options["cluster"] = simulated_frame()["cluster"].to_numpy()
    found = call(
        "counterfactual_discrimination", _model, _frame(), sensitive_features=attribute, **options
    )
    described: dict[str, Any] = {"sample": found}
    if options.get("counterfactual") != "all":
        names = [g.group for g in found.groups]
        described["cvar"] = {name: found.cvar(name, 0.9) for name in names}
        described["quantile"] = {name: found.quantile(name, 0.9) for name in names}
        described["extremes"] = {name: found.extremes(name, 5) for name in names}
        described["difference"] = found.difference(names[1], names[0])
    return described


ROOM.add("discrimination/two", lambda _: _discrimination("sex"), "closed")
ROOM.add("discrimination/worst", lambda _: _discrimination("group"), "closed")
ROOM.add("discrimination/all", lambda _: _discrimination("group", counterfactual="all"), "closed")
ROOM.add("discrimination/values", lambda _: _discrimination("group", values=["a", "b"]), "closed")
ROOM.add(
    "discrimination/people",
    lambda _: _discrimination("sex", cluster=True, confidence_level=0.9),
    "closed",
)
ROOM.add("discrimination/batches", lambda _: _discrimination("sex", batch=64), "closed")


@cache
def _values(kind: str) -> Any:
    rng = np.random.default_rng(4)
    if kind == "plain":
        found = {"white": 0.3 * rng.beta(2, 8, 4000), "black": 0.5 * rng.beta(2, 8, 2000)}
    elif kind == "small":
        found = {"white": 0.3 * rng.beta(2, 8, 90), "black": 0.5 * rng.beta(2, 8, 80)}
    elif kind == "ties":
        found = {
            "white": np.round(0.3 * rng.beta(2, 8, 2000), 2),
            "black": np.round(0.3 * rng.beta(2, 8, 900), 2),
        }
    elif kind == "constant":
        found = {"white": np.full(500, 0.1), "black": 0.3 * rng.beta(2, 8, 500)}
    elif kind == "end":
        found = {"white": rng.random(1500) * 0.9, "black": rng.random(1200) * 0.95}
    else:
        found = {
            "white": np.minimum(rng.pareto(4, 3000) / 10, 1),
            "black": np.minimum(rng.pareto(3, 2000) / 10, 1),
        }
    return found


def _ecd(kind: str, seed: int, **options: Any) -> Any:
    settings = {
        "privileged": "white",
        "unprivileged": "black",
        "n_resamples": 99,
        "rng": seed,
        **options,
    }
    return call("ecd", _values(kind), **settings)


def _add(name: str, kind: str, *, simulated: bool = True, **options: Any) -> None:
    ROOM.add(
        f"ecd/{name}",
        lambda seed: _ecd(kind, seed, **options),
        "seeded" if simulated else "optimised",
        repeats=4,
    )


for _kind in ("plain", "small", "ties", "constant", "end", "heavy"):
    _add(
        f"{_kind}/no-resamples",
        _kind,
        simulated=False,
        n_resamples=0,
        **({"threshold": 25} if _kind == "small" else {}),
    )
_add("plain/default", "plain")
_add("heavy/default", "heavy")
_add("plain/paper", "plain", simulated=False, location="paper", n_resamples=0)
_add("plain/t", "plain", simulated=False, calibrated=False, n_resamples=0)
_add(
    "plain/thresholds",
    "plain",
    simulated=False,
    n_resamples=0,
    threshold={"white": 0.12, "black": 0.22},
)
_add(
    "plain/settings",
    "plain",
    simulated=False,
    n_resamples=0,
    interactions=400,
    other_interactions=(100, 3000),
    margin=0.2,
    confidence_level=0.9,
    horizon_width=0.3,
    threshold=80,
)
_add("end/interactions", "end", simulated=False, n_resamples=0, interactions=5000)


def _of_people(seed: int) -> Any:
    person = simulated_frame()["cluster"].to_numpy()
    options = {"sensitive_features": "sex", "cluster": person}
    sample = call("counterfactual_discrimination", _model, _frame(), **options)
    options = {"privileged": "m", "unprivileged": "f", "interactions": 200, "threshold": 30}
    return call("ecd", sample, **options, n_resamples=99, rng=seed)


ROOM.add("ecd/people", _of_people, "seeded", repeats=4)


def _tails(seed: int) -> dict[str, Any]:
    frame = _frame()
    common: dict[str, Any] = {"sensitive_features": "sex", "n_resamples": 299, "rng": seed}
    found = {
        "real": call("sample_tail", _model, frame, group="f", **common),
        "all looks": call(
            "sample_tail",
            _model,
            frame,
            group="f",
            generator="smoothed_bootstrap",
            batch=200,
            max_looks=3,
            stop="all_looks",
            **common,
        ),
        "copula": call(
            "sample_tail",
            _model,
            frame,
            group="m",
            generator="gaussian_copula",
            batch=200,
            max_looks=3,
            **common,
        ),
        "paper": call(
            "sample_tail", _model, frame, group="m", test="paper_excess", k_max=30, **common
        ),
    }
    joined = call("results.CounterfactualSample.of_groups", found["real"], found["copula"])
    options = {"privileged": "m", "unprivileged": "f", "interactions": 200, "threshold": 30}
    return {
        **found,
        "joined": joined,
        "ecd": call("ecd", joined, **options, n_resamples=0, rng=seed),
    }


ROOM.add("sample_tail", _tails, "seeded", repeats=4)


def _quality(seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(6)
    frame = simulated_frame()
    real = frame[["x1", "x2", "sex", "y_true"]].iloc[:300]
    noise = pd.DataFrame(
        {
            "x1": rng.normal(0.2, 1.3, 250),
            "x2": rng.integers(0, 5, 250),
            "sex": rng.choice(["f", "m"], 250),
            "y_true": rng.integers(0, 2, 250),
        }
    )
    return {
        "without target": call("synthetic_quality", real, noise, rng=seed),
        "with target": call(
            "synthetic_quality", real, noise, "y_true", confidence_level=0.9, rng=seed
        ),
    }


ROOM.add("synthetic_quality", _quality, "seeded")


def _ranked(seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(8)
    means = {"none": 0.2, "EG": 0.1, "ROC": 0.11, "DIR": 0.19}
    runs = {name: rng.normal(mean, 0.02, 20) for name, mean in means.items()}
    return {
        "default": call("scott_knott", runs, rng=seed, n_resamples=199),
        "larger": call(
            "scott_knott", runs, larger_is_better=True, least_effect=0.33, rng=seed, n_resamples=199
        ),
    }


ROOM.add("scott_knott", _ranked, "seeded")


def _search(seed: int) -> dict[str, Any]:
    from sklearn.linear_model import LogisticRegression

    r = np.random.default_rng(1)
    x = np.column_stack([r.integers(0, 2, 1200), r.normal(size=1200), r.normal(size=1200)])
    y = (x[:, 1] + 0.8 * x[:, 0] * x[:, 2] + r.normal(size=1200) > 0.4).astype(int)
    search = call(
        "EcdSearch",
        LogisticRegression(),
        {"C": [0.001, 0.01, 0.1, 1.0]},
        sensitive_features=0,
        privileged=1,
        unprivileged=0,
        n_iter=3,
        sampler="random",
        threshold=20,
        interactions=200,
        random_state=seed,
    )
    search.fit(x, y)
    trials = search.trials_
    return {
        "trials": trials[[c for c in trials.columns if c != "seconds"]],
        "best": search.best_params_,
        "accuracy": [search.accuracy_, search.baseline_accuracy_],
        "result": search.result_,
        "baseline": search.baseline_result_,
        "predicted": search.predict(x[:30]),
    }


ROOM.add("search", _search, "seeded", repeats=4, slow=True)
