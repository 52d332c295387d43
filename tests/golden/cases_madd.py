"""Cases of MADD: the distance, its curve, the stable bandwidth, the mitigator."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.golden.api import call
from tests.golden.cases import Room
from tests.golden.data import bundled, simulated_frame

ROOM = Room("madd")


def _columns(data: str) -> tuple[Any, Any]:
    if data == "simulated":
        frame = simulated_frame()
        return frame["score"].to_numpy(), frame["group"].to_numpy()
    if data == "two":
        frame = simulated_frame()
        return frame["score"].to_numpy(), frame["sex"].to_numpy()
    if data == "atoms":
        frame = simulated_frame()
        return np.round(frame["score"].to_numpy() * 4) / 4, frame["sex"].to_numpy()
    if data == "people":  # every cluster lies in one group
        frame = simulated_frame()
        return frame["score"].to_numpy(), np.where(frame["cluster"] % 2 == 0, "f", "m")
    rows = bundled(data)
    return rows.score[:4000], rows.group[:4000]


def _madd(data: str, seed: int, **options: Any) -> dict[str, Any]:
    score, group = _columns(data)
    for option, column in (("sample_weight", "weight"), ("cluster", "cluster")):
        if options.get(option):
            options[option] = simulated_frame()[column].to_numpy()
    result = call(
        "madd", score, sensitive_features=group, **{"n_resamples": 199, "rng": seed, **options}
    )
    return {"result": result, "contributions": result.contributions()}


def _add(name: str, data: str, **options: Any) -> None:
    ROOM.add(f"madd/{name}", lambda seed: _madd(data, seed, **options), "seeded")


for _data in ("simulated", "two", "atoms", "people"):
    _add(f"{_data}/default", _data)
for _data in ("adult-besse", "german", "ricci"):
    _add(f"{_data}/default", _data)
_add("compas-besse/default", "compas-besse", comparisons="reference", reference="Caucasian")
_add("two/bandwidth", "two", bandwidth=0.07, margin=0.1, confidence_level=0.9)
_add("two/n-bins", "two", n_bins=13)
_add("two/grid-bins", "two", n_bins=13, grid_bins=40)
_add("two/search", "two", permutations="search", max_bins=200, n_resamples=99)
_add("two/weights", "two", sample_weight=True, n_bins=20)
_add("two/clusters-split", "two", cluster=True, n_bins=20)
_add("two/weights-clusters", "two", sample_weight=True, cluster=True, n_bins=20)
_add("two/stretch", "two", max_bins=300, min_points=30, width=0.3)
_add("people/clusters", "people", cluster=True, n_bins=20)
_add("people/weights-clusters", "people", cluster=True, sample_weight=True)
_add("atoms/n-bins", "atoms", n_bins=4)
_add("simulated/rest", "simulated", comparisons="rest", adjust="fdr_bh")
_add("simulated/reference", "simulated", comparisons="reference", reference="a", adjust="none")
_add("simulated/weights", "simulated", sample_weight=True, n_bins=10)


def _curve(data: str, **options: Any) -> dict[str, Any]:
    score, group = _columns(data)
    if options.get("sample_weight"):
        options["sample_weight"] = simulated_frame()["weight"].to_numpy()
    curve = call("madd_curve", score, sensitive_features=group, **options)
    return {
        "curve": curve,
        "table": curve.to_frame(),
        "bandwidth": curve.bandwidth,
        "stable": call("stable_bandwidth", curve),
        "stable, shorter": call("stable_bandwidth", curve, min_points=20, width=0.3),
    }


for _data in ("two", "atoms", "people", "adult-besse", "german"):
    ROOM.add(f"curve/{_data}", lambda _, data=_data: _curve(data), "closed")  # type: ignore[misc]
ROOM.add("curve/pair", lambda _: _curve("simulated", pair=("c", "a"), max_bins=150), "closed")
ROOM.add("curve/weights", lambda _: _curve("two", sample_weight=True, max_bins=120), "closed")


def _mitigated(seed: int, **options: Any) -> dict[str, Any]:
    frame = simulated_frame()
    half = np.arange(len(frame)) % 2 == 0
    score, y, group = (frame[c].to_numpy() for c in ("score", "y_true", "sex"))
    mitigator = call("MaddMitigator", random_state=seed, **options)
    mitigator.fit(score[half], y[half], sensitive_features=group[half])
    mapped = mitigator.transform(score[~half], sensitive_features=group[~half])
    effect = mitigator.evaluate(
        score[~half], y[~half], sensitive_features=group[~half], n_resamples=99
    )
    return {
        "lambda": mitigator.lambda_,
        "curve": mitigator.loss_curve_,
        "n_bins": mitigator.n_bins_,
        "cdfs": {key: list(part) for key, part in mitigator.cdfs_.items()},
        "mapped": mapped,
        "predicted": mitigator.predict(score[~half], sensitive_features=group[~half]),
        "effect": effect,
    }


ROOM.add("mitigator/default", lambda seed: _mitigated(seed), "seeded")
ROOM.add(
    "mitigator/log-loss",
    lambda seed: _mitigated(
        seed, loss="log_loss", theta=0.8, n_lambdas=50, bandwidth=0.1, threshold=0.4
    ),
    "seeded",
)
