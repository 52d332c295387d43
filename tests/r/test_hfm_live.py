"""The base-R twins of HFM against the Python functions: recorded everywhere, live where R is.

The twins subtract every row from every other, one after the other; Python leaves out nearly all pairs.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fairstats as fs
from fairstats.ground.errors import RBackendError
from fairstats.ground.rsession import call
from fairstats.methods.hfm.approx import acceleration, random_weights

REFERENCE = Path(__file__).resolve().parents[1] / "reference" / "hfm_twins.json"
CASES = ("normal", "binary", "offset")
#: Both sides sum squared differences in double precision; the scaled offsets of 1e8 keep eight digits.
RELATIVE = 1e-9


@lru_cache(maxsize=1)
def recorded() -> dict[str, Any]:
    return json.loads(REFERENCE.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def sets(case: dict[str, Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    x = np.array(case["x"], dtype=float).reshape(case["n_columns"], -1).T  # R stores columns
    first = np.array(case["in_group"]) == 1
    return x, x[first], x[~first]


@pytest.mark.parametrize("name", CASES)
def test_recorded_distances(name: str) -> None:
    case = recorded()[name]
    _, a, b = sets(case)
    found = fs.set_distance(a, b)
    assert found.value == pytest.approx(case["max"]["value"], rel=RELATIVE)
    assert found.a_to_b.value == pytest.approx(case["max"]["a_to_b"], rel=RELATIVE)
    assert found.b_to_a.value == pytest.approx(case["max"]["b_to_a"], rel=RELATIVE)
    assert fs.set_distance(a, b, statistic="mean").value == pytest.approx(case["mean"], rel=RELATIVE)
    assert fs.set_distance(a, b, statistic=0.9).value == pytest.approx(case["q90"], rel=RELATIVE)
    if name == "normal":  # no ties: the rows are the same, too
        assert found.a_to_b.row == case["max"]["row_a_to_b"] - 1
        assert found.b_to_a.nearest == case["max"]["nearest_b_to_a"] - 1


@pytest.mark.parametrize("name", CASES)
def test_recorded_projection(name: str) -> None:
    case = recorded()[name]
    _, a, b = sets(case)
    (ab, *_), (ba, *_), _ = acceleration(a, b, np.array(case["w"]), 3)
    if name == "binary":  # rows with one projection stand in another order; any is as printed
        assert max(ab, ba) >= fs.set_distance(a, b).value - 1e-12
        return
    assert max(ab, ba) == pytest.approx(case["accele_3"], rel=RELATIVE)


@pytest.mark.parametrize("name", CASES)
def test_recorded_hfm(name: str) -> None:
    case = recorded()[name]
    x, *_ = sets(case)
    for key, statistic in (("hfm", "max"), ("hfm_mean", "mean")):
        result = fs.hfm(
            x, case["y_true"], case["y_pred"], sensitive_features=case["in_group"],
            statistic=statistic, n_resamples=0, n_subsamples=0,
        )  # fmt: skip
        assert result.d == pytest.approx(case[key]["d"], rel=RELATIVE)
        assert result.d_f == pytest.approx(case[key]["d_f"], rel=RELATIVE)
        assert result.hfm == pytest.approx(case[key]["hfm"], rel=1e-7, abs=1e-9)


@pytest.mark.r
@pytest.mark.parametrize(("d", "statistic"), [(1, "max"), (8, "max"), (40, "max"), (8, "mean"), (8, 0.75)])
def test_live_distances(d: int, statistic: str | float) -> None:
    rng = np.random.default_rng(d)
    a, b = rng.normal(size=(150, d)), rng.normal(size=(120, d)) + 0.2
    twin = call("set_distance", a, b, statistic)
    found = fs.set_distance(a, b, statistic=statistic)
    assert found.value == pytest.approx(twin["value"], rel=1e-12)
    if statistic == "max":
        assert (found.a_to_b.row, found.a_to_b.nearest) == (
            twin["row_a_to_b"] - 1,
            twin["nearest_a_to_b"] - 1,
        )
    w = random_weights(d, rng)
    (ab, *_), (ba, *_), _ = acceleration(a, b, w, 4)
    assert max(ab, ba) == pytest.approx(call("accele_dist", a, b, w, 4), rel=1e-12)


@pytest.mark.r
def test_live_hfm() -> None:
    rng = np.random.default_rng(9)
    x, group, y = rng.normal(size=(100, 5)), rng.integers(0, 2, 100), rng.integers(0, 2, 100)
    y_pred = np.where(rng.random(100) < 0.3, 1 - y, y)
    result = fs.hfm(x, y, y_pred, sensitive_features=group, n_resamples=0, n_subsamples=0)
    twin = call("hfm", x, y, y_pred, group)
    assert (result.d, result.d_f, result.hfm) == pytest.approx(
        (twin["d"], twin["d_f"], twin["hfm"]), rel=1e-10
    )


@pytest.mark.r
def test_live_errors_are_ours() -> None:
    with pytest.raises(RBackendError, match="same columns"):
        call("set_distance", np.ones((2, 2)), np.ones((2, 3)))
