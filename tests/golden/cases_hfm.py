"""Cases of HFM: distances of sets, the measure, discriminative risk, choice and ranking of
models.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from tests.golden.api import call
from tests.golden.cases import Room
from tests.golden.data import bundled, simulated_frame

ROOM = Room("hfm")


def _sets(kind: str) -> tuple[Any, Any]:
    rng = np.random.default_rng(7)
    if kind == "line":
        return rng.normal(size=(400, 1)), rng.normal(0.4, 1.2, size=(300, 1))
    if kind == "square":
        return rng.random((900, 2)), rng.random((700, 2))
    if kind == "clouds":
        return rng.normal(size=(500, 8)), rng.normal(0.3, 1.0, size=(400, 8))
    if kind == "many-dimensions":
        return rng.normal(size=(200, 60)), rng.normal(size=(150, 60))
    if kind == "ties":
        return rng.integers(0, 3, (300, 4)).astype(float), rng.integers(0, 4, (200, 4)).astype(
            float
        )
    if kind == "sheet":
        flat = rng.random((800, 2)) @ rng.normal(size=(2, 12))
        return flat[:500], flat[500:] + 0.01 * rng.normal(size=(300, 12))
    if kind == "same":
        rows = rng.random((50, 3))
        return rows, rows[::-1].copy()
    if kind == "one-row":
        return rng.random((1, 3)), rng.random((40, 3))
    frame = simulated_frame()
    numbers = pd.get_dummies(frame[["x1", "x2", "x3"]], dtype=float)
    return numbers[frame["sex"] == "f"], numbers[frame["sex"] == "m"]


KINDS = (
    "line",
    "square",
    "clouds",
    "many-dimensions",
    "ties",
    "sheet",
    "same",
    "one-row",
    "one-hot",
)


def _distances(kind: str) -> dict[str, Any]:
    a, b = _sets(kind)
    return {str(s): call("set_distance", a, b, statistic=s) for s in ("max", "mean", 0.9, 0.5)}


for _kind in KINDS:
    ROOM.add(f"set_distance/{_kind}", lambda _, kind=_kind: _distances(kind), "closed")  # type: ignore[misc]
    ROOM.add(
        f"approx_set_distance/{_kind}",
        lambda seed, kind=_kind: call("approx_set_distance", *_sets(kind), rng=seed),  # type: ignore[misc]
        "seeded",
    )
ROOM.add(
    "approx_set_distance/settings",
    lambda seed: call("approx_set_distance", *_sets("clouds"), m1=7, m2=3, rng=seed),
    "seeded",
)


def _hfm(
    seed: int, *, attributes: Any = "sex", columns: Any = ("x1", "x2", "x3"), **options: Any
) -> Any:
    frame = simulated_frame().iloc[:240]
    settings = {"n_resamples": 49, "n_subsamples": 10, "rng": seed, **options}
    result = call(
        "hfm",
        frame[list(columns)],
        frame["y_true"],
        frame["y_pred"],
        sensitive_features=frame[attributes],
        **settings,
    )
    return {"result": result, "witnesses": result.witnesses(), "stability": result.stability()}


_GROUPS = ["group", "sex"]
ROOM.add("hfm/one", lambda seed: _hfm(seed), "seeded")
ROOM.add("hfm/several", lambda seed: _hfm(seed, attributes=_GROUPS, intersections=True), "seeded")
ROOM.add("hfm/mean", lambda seed: _hfm(seed, attributes="group", statistic="mean"), "seeded")
ROOM.add("hfm/quantile", lambda seed: _hfm(seed, attributes="group", statistic=0.9), "seeded")
ROOM.add("hfm/unscaled", lambda seed: _hfm(seed, columns=("x1", "x2"), scale="none"), "seeded")
ROOM.add(
    "hfm/no-tests",
    lambda seed: _hfm(seed, n_resamples=0, n_subsamples=0, attributes=_GROUPS),
    "seeded",
)


def _hfm_of(data: str, seed: int) -> Any:
    if data == "ricci":
        frame = call("datasets.load_ricci").frame
        features = frame[["Position", "Oral", "Written"]]
        attribute = frame["Race"]
    elif data == "german":
        frame = call("datasets.load_german_credit").frame
        features = frame[["month", "credit_amount", "housing", "savings"]]
        attribute = frame["sex"]
    else:
        frame = call("datasets.load_compas", subset="besse").frame.iloc[:800]
        features = frame[["age", "priors_count", "c_charge_degree"]]
        attribute = frame["sex"]
    rows = bundled("compas-besse" if data == "compas" else data)
    n = len(frame)
    options = {"n_resamples": 19, "n_subsamples": 5, "rng": seed}
    result = call(
        "hfm", features, rows.y_true[:n], rows.y_pred[:n], sensitive_features=attribute, **options
    )
    return {"result": result, "witnesses": result.witnesses()}


for _data in ("ricci", "german", "compas"):
    ROOM.add(f"hfm/{_data}", lambda seed, data=_data: _hfm_of(data, seed), "seeded", repeats=3)  # type: ignore[misc]


def _model(rows: Any) -> Any:
    return (rows["x1"] + 0.6 * (rows["sex"] == "m") - 0.4 * (rows["group"] == "c")) > 0.2


def _risk(seed: int, **options: Any) -> Any:
    frame = simulated_frame()
    if options.get("cluster"):
        options["cluster"] = frame["cluster"].to_numpy()
    settings = {"sensitive_features": _GROUPS, "rng": seed, **options}
    return call("discriminative_risk", _model, frame[["x1", "x2", "sex", "group"]], **settings)


ROOM.add("discriminative_risk/default", lambda seed: _risk(seed), "seeded")
ROOM.add(
    "discriminative_risk/two-values", lambda seed: _risk(seed, sensitive_features="sex"), "closed"
)
ROOM.add(
    "discriminative_risk/all", lambda seed: _risk(seed, draws="all", confidence_level=0.9), "seeded"
)
ROOM.add(
    "discriminative_risk/draws-clusters", lambda seed: _risk(seed, draws=3, cluster=True), "seeded"
)


def _selection() -> dict[str, Any]:
    error = [0.20, 0.25, 0.22, 0.22]
    fairness = [0.3, -0.01, 0.02, float("inf")]
    scores = np.random.default_rng(3).random((12, 4)).round(1)
    return {
        "default": call("select_model", error, fairness),
        "error only": call("select_model", error, fairness, alpha=1),
        "ranks": call("rank_rules", scores, rules=["a", "b", "c", "d"]),
        "ranks, smaller": call("rank_rules", scores, larger_is_better=False, confidence_level=0.9),
        "ties": call("rank_rules", np.ones((3, 3))),
    }


ROOM.add("selection", lambda _: _selection(), "closed")
