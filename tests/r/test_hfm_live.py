"""The base-R twins of HFM against the Python functions: recorded everywhere, live where R is.

The twins subtract every row from every other, one after the other; Python leaves out nearly all
pairs."""

from __future__ import annotations

import json
import math
import warnings
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairstats as fs
from fairstats.ground.errors import RBackendError
from fairstats.ground.rsession import call
from fairstats.methods.hfm.approx import acceleration, random_weights

REFERENCE = Path(__file__).resolve().parents[1] / "reference" / "hfm_twins.json"
CASES = ("normal", "binary", "offset")
#: Both sides sum squared differences in double precision; the scaled offsets of 1e8 keep eight
#: digits.
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
    assert fs.set_distance(a, b, statistic="mean").value == pytest.approx(
        case["mean"], rel=RELATIVE
    )
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
            x,
            case["y_true"],
            case["y_pred"],
            sensitive_features=case["in_group"],
            statistic=statistic,
            n_resamples=0,
            n_subsamples=0,
        )
        assert result.d == pytest.approx(case[key]["d"], rel=RELATIVE)
        assert result.d_f == pytest.approx(case[key]["d_f"], rel=RELATIVE)
        assert result.hfm == pytest.approx(case[key]["hfm"], rel=1e-7, abs=1e-9)


@pytest.mark.r
@pytest.mark.parametrize(
    ("d", "statistic"), [(1, "max"), (8, "max"), (40, "max"), (8, "mean"), (8, 0.75)]
)
def test_live_distances(d: int, statistic: str | float) -> None:
    rng = np.random.default_rng(d)
    a = rng.normal(size=(150, d))
    b = rng.normal(size=(120, d)) + 0.2
    twin = call("fs_set_distance", a, b, statistic)
    found = fs.set_distance(a, b, statistic=statistic)
    assert found.value == pytest.approx(twin["value"], rel=1e-12)
    if statistic == "max":
        assert (found.a_to_b.row, found.a_to_b.nearest) == (
            twin["row_a_to_b"] - 1,
            twin["nearest_a_to_b"] - 1,
        )
    w = random_weights(d, rng)
    (ab, *_), (ba, *_), _ = acceleration(a, b, w, 4)
    assert max(ab, ba) == pytest.approx(call("fs_approx_set_distance", a, b, w, 4), rel=1e-12)


@pytest.mark.r
def test_live_hfm() -> None:
    rng = np.random.default_rng(9)
    x = rng.normal(size=(100, 5))
    group = rng.integers(0, 2, 100)
    y = rng.integers(0, 2, 100)
    y_pred = np.where(rng.random(100) < 0.3, 1 - y, y)
    result = fs.hfm(x, y, y_pred, sensitive_features=group, n_resamples=0, n_subsamples=0)
    twin = call("hfm", x, y, y_pred, group)
    assert (result.d, result.d_f, result.hfm) == pytest.approx(
        (twin["d"], twin["d_f"], twin["hfm"]), rel=1e-10
    )


@pytest.mark.r
def test_live_ranks_and_paired_tests() -> None:
    """R's own `friedman.test`, `ptukey` (Nemenyi) and `t.test`, with the ties of the paper's table
    1(a).
    """
    from fairstats.methods.hfm.experiment import _paired_t
    from tests.methods.hfm.test_selection import TABLE_1A

    scores = np.array(TABLE_1A)
    found = fs.rank_rules(scores)
    friedman = call("stats::friedman.test", scores)
    assert found.statistic == pytest.approx(np.ravel(friedman["statistic"])[0], rel=1e-10)
    assert found.pvalue == pytest.approx(np.ravel(friedman["p.value"])[0], rel=1e-10)
    apart = (
        np.abs(np.subtract.outer(found.ranks, found.ranks))
        / math.sqrt(7 * 8 / (6 * 9))
        * math.sqrt(2)
    )
    nemenyi = call("stats::ptukey", apart.ravel(), 7, math.inf, **{"lower.tail": False})
    assert np.ravel(found.pvalues) == pytest.approx(
        np.ravel(nemenyi), abs=1e-8
    )  # R's ptukey: eight digits
    test = call("stats::t.test", scores[:, 0], scores[:, 1], paired=True)
    t, p, _ = _paired_t(scores[:, 0] - scores[:, 1], 0.25)
    assert (t, p) == pytest.approx(
        (np.ravel(test["statistic"])[0], np.ravel(test["p.value"])[0]), rel=1e-10
    )


@pytest.mark.r
def test_live_errors_are_ours() -> None:
    with pytest.raises(RBackendError, match="same columns"):
        call("fs_set_distance", np.ones((2, 2)), np.ones((2, 3)))


def with_tests(case: dict[str, Any], statistic: str, n_resamples: int) -> Any:
    x, _, _ = sets(case)
    group = np.where(np.array(case["in_group"]) == 1, "inside", "outside")
    return fs.hfm(
        x,
        case["y_true"],
        case["y_pred"],
        sensitive_features=group,
        statistic=statistic,
        n_resamples=n_resamples,
        n_subsamples=0,
        rng=5,
    ).overall


def assert_same_tests(
    entry: Any, twin: dict[str, Any], n_resamples: int, error: float = 0.0
) -> None:
    """Distances as they are; p-values within five Monte Carlo errors and the 1 of (1 + #)/(1 +
    B).
    """
    for value, name in ((entry.d, "d"), (entry.d_f, "d_f"), (entry.hfm, "hfm")):
        assert value == pytest.approx(twin[name], rel=RELATIVE, abs=1e-12), name
    for test, name in zip(entry.tests, ("p_d", "p_d_f", "p_hfm"), strict=True):
        spread = np.sqrt(twin[name] * (1 - twin[name]) / n_resamples) + error
        assert test.pvalue == pytest.approx(twin[name], abs=5 * spread + 1 / n_resamples), name


@pytest.mark.parametrize("statistic", ["max", "mean"])
def test_recorded_tests_over_all_permutations_and_exchanges(statistic: str) -> None:
    """R takes all 210 permutations and all 32 exchanges of ten rows."""
    case = recorded()["tests"]
    assert case[statistic]["permutations"] == 210
    assert case[statistic]["exchanges"] == 32
    assert_same_tests(with_tests(case, statistic, 3999), case[statistic], 3999)


def risk_result(changed: np.ndarray, person: np.ndarray | None, level: float = 0.95) -> Any:
    """Discriminative risk of a model that changes its answer where `changed` says so, draw by
    draw.
    """
    draws, n = changed.shape
    own = np.arange(n) % (draws + 1)
    frame = pd.DataFrame({"row": np.arange(n), "own": own, "value": own})

    def predict(rows: pd.DataFrame) -> np.ndarray:
        step = ((rows["value"] - rows["own"]) % (draws + 1)).to_numpy()
        return np.where(step == 0, 0, changed[step - 1, rows["row"].to_numpy()])

    found = fs.discriminative_risk(
        predict,
        frame,
        sensitive_features="value",
        draws="all",
        cluster=person,
        confidence_level=level,
    )
    return found.comparisons[0]


def assert_same_risk(entry: Any, twin: dict[str, Any]) -> None:
    """Beta quantiles on both sides: qbeta in R, statsmodels and SciPy in Python."""
    assert entry.estimate == pytest.approx(twin["estimate"], rel=1e-12)
    low, high = entry.confidence_interval
    assert (low, high) == pytest.approx((twin["low"], twin["high"]), rel=1e-9)
    assert [entry.n, entry.n_draws, entry.n_changed] == [
        twin["n"],
        twin["n_draws"],
        twin["n_changed"],
    ]


@pytest.mark.parametrize("name", ["first_draw", "by_draws", "by_person", "first_draw_90"])
def test_recorded_discriminative_risk(name: str) -> None:
    case = recorded()["risk"]
    changed = np.array(case["changed"]).reshape(-1, case["n_draws"]).T
    person = np.array(case["person"]) if name == "by_person" else None
    single = name.startswith("first_draw")
    entry = risk_result(
        changed[:1] if single else changed, person, 0.9 if name.endswith("90") else 0.95
    )
    assert_same_risk(entry, case[name])


@pytest.mark.r
def test_live_tests_of_hfm() -> None:
    """Random rows: both sides draw, so that both errors count."""
    rng = np.random.default_rng(8)
    n = 60
    case = {
        "x": rng.normal(size=2 * n).tolist(),
        "n_columns": 2,
        "in_group": (np.arange(n) % 3 == 0).astype(int).tolist(),
        "y_true": rng.integers(0, 2, n).tolist(),
    }
    case["y_pred"] = np.where(np.array(case["in_group"]) == 1, case["y_true"], 1).tolist()
    x, _, _ = sets(case)
    inside = np.array(case["in_group"]) == 1
    given = (x, np.array(case["y_true"]), np.array(case["y_pred"]), inside)
    twin = call("hfm_tests", *given, rng=2)
    assert_same_tests(with_tests(case, "max", 999), twin, 999, error=float(np.max(twin["error"])))


@pytest.mark.r
@pytest.mark.parametrize("clustered", [False, True])
def test_live_discriminative_risk(clustered: bool) -> None:
    rng = np.random.default_rng(9)
    changed = rng.random((2, 80)) < 0.2
    person = rng.integers(0, 30, 80) if clustered else None
    twin = call("discriminative_risk", changed, person)
    assert_same_risk(risk_result(changed, person), twin)


@pytest.mark.r("jsonlite")
@pytest.mark.slow
def test_live_report_with_features(tmp_path: Path) -> None:
    """fs_audit's HFM of a frame with numbers and categories, from the report's JSON."""
    rng = np.random.default_rng(10)
    n = 90
    frame = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n),
            "race": rng.choice(["a", "b", "c"], n),
            "age": rng.integers(18, 70, n),
            "town": rng.choice(["x", "y", "z"], n),
            "y": rng.integers(0, 2, n),
            "p": rng.integers(0, 2, n),
        }
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fs.FairstatsWarning)
        report = fs.audit(
            frame,
            y_true="y",
            y_pred="p",
            sensitive_features=["sex", "race"],
            features=["age", "town"],
            intersections=False,
            n_resamples=199,
            rng=1,
        )
    report.to_json(tmp_path / "report.json")
    data = {name: column.tolist() for name, column in frame.items()}
    found = call("fs_compare", str(tmp_path / "report.json"), data, rng=4)
    agree = np.asarray(found["agree"], dtype=bool)
    assert agree.all()
    assert sum(metric.startswith("hfm") for metric in found["metric"]) > 40
