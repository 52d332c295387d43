"""Worst-case bounds; the witness is every completion of the missing values, one by one."""

from __future__ import annotations

import warnings
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairstats as fs

COMPLETE = [(1, 1, "a"), (0, 0, "a"), (1, 0, "a"), (0, 1, "b"), (1, 1, "b"), (0, 0, "b"), (1, 0, "b")]
ROWS = st.lists(
    st.tuples(
        st.sampled_from([0, 1, None]), st.sampled_from([0, 1, None]), st.sampled_from(["a", "b", None])
    ),
    min_size=1,
    max_size=4,
).filter(lambda rows: any(None in row for row in rows))
METRICS: dict[str, Any] = {
    "DI": lambda y, p, **k: fs.disparate_impact(p, **k),
    "CA1": lambda y, p, **k: fs.conditional_accuracy(y, p, label=1, **k),
    "CA0": lambda y, p, **k: fs.conditional_accuracy(y, p, label=0, **k),
    "CU1": lambda y, p, **k: fs.conditional_use_accuracy(y, p, prediction=1, **k),
    "CU0": lambda y, p, **k: fs.conditional_use_accuracy(y, p, prediction=0, **k),
    "DP": fs.demographic_parity_difference,
    "EO": fs.equal_opportunity_difference,
    "PP": fs.predictive_parity_difference,
}


def value(metric: str, rows: list[tuple[int, int, str]]) -> float:
    """The contrast of group a against b, by counting."""
    rate = []
    for g in "ab":
        part = [(y, p) for y, p, h in rows if h == g]
        cases, successes = {
            "DI": (part, [r for r in part if r[1]]),
            "DP": (part, [r for r in part if r[1]]),
            "CA1": ([r for r in part if r[0]], [r for r in part if r == (1, 1)]),
            "EO": ([r for r in part if r[0]], [r for r in part if r == (1, 1)]),
            "CA0": ([r for r in part if not r[0]], [r for r in part if r == (0, 0)]),
            "CU1": ([r for r in part if r[1]], [r for r in part if r == (1, 1)]),
            "PP": ([r for r in part if r[1]], [r for r in part if r == (1, 1)]),
            "CU0": ([r for r in part if not r[1]], [r for r in part if r == (0, 0)]),
        }[metric]
        rate.append(len(successes) / len(cases) if cases else np.nan)
    if metric in {"DP", "EO", "PP"}:
        return rate[0] - rate[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.divide(rate[0], rate[1]))


def completions(rows: list[tuple[Any, Any, Any]]) -> Any:
    options = [
        list(
            product(
                *[
                    (v,) if v is not None else every
                    for v, every in zip(row, ((0, 1), (0, 1), ("a", "b")), strict=True)
                ]
            )
        )
        for row in rows
    ]
    return product(*options)


@pytest.mark.parametrize("metric", METRICS)
@settings(max_examples=40)
@given(rows=ROWS)
def test_the_range_over_all_completions(metric: str, rows: list[tuple[Any, Any, Any]]) -> None:
    whole = [*COMPLETE, *rows]
    y, p, g = (np.array(column, dtype=object) for column in zip(*whole, strict=True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fs.FairstatsWarning)
        result = METRICS[metric](y, p, sensitive_features=g, missing="drop", reference="b")
    if metric == "DI":  # the label is not looked at: only rows without prediction or group are left out
        rows = [(0, *row[1:]) for row in rows]
    values = [value(metric, [*COMPLETE, *filled]) for filled in completions(rows)]
    frame = result.worst_case_bounds()
    assert frame.loc[0, "low"] == pytest.approx(np.nanmin(values), abs=1e-12)
    assert frame.loc[0, "high"] == pytest.approx(np.nanmax(values), abs=1e-12)
    assert (
        frame.loc[0, "n_missing"] == sum(None in (row[1:] if metric in {"DI"} else row) for row in rows)
        or metric == "DP"
    )


def test_nothing_missing_is_the_estimate() -> None:
    result = fs.disparate_impact(counts={"a": (5, 6), "b": (7, 5), "c": (3, 3)}, reference="b")
    frame = result.worst_case_bounds()
    np.testing.assert_allclose(frame["low"], frame["estimate"], rtol=1e-14)
    np.testing.assert_allclose(frame["high"], frame["estimate"], rtol=1e-14)
    assert (frame["n_missing"] == 0).all()


def test_bounds_contain_the_estimate_with_many_missing_rows(rng: np.random.Generator) -> None:
    n = 20_000
    y, p = (rng.integers(0, 2, n).astype(object) for _ in range(2))
    g = rng.choice(["a", "b", "c"], n).astype(object)
    for column in (y, p, g):
        column[rng.random(n) < 0.1] = None
    for metric in METRICS:
        with pytest.warns(fs.FairstatsWarning, match="rows left out"):
            result = METRICS[metric](y, p, sensitive_features=g, missing="drop", reference="c")
        frame = result.worst_case_bounds()
        assert (frame["low"] < frame["estimate"]).all()
        assert (frame["estimate"] < frame["high"]).all()


def test_average_odds_range_is_the_mean_of_its_parts() -> None:
    y, p, g = (np.array(c, dtype=object) for c in zip(*COMPLETE, (None, 1, "a"), (1, None, "b"), strict=True))
    options = {"sensitive_features": g, "missing": "drop", "reference": "b"}
    with pytest.warns(fs.FairstatsWarning, match="2 of 9 rows left out"):
        odds = fs.average_odds_difference(y, p, **options).worst_case_bounds()
    with pytest.warns(fs.FairstatsWarning, match="2 of 9 rows left out"):
        both = fs.equalized_odds_difference(y, p, **options).worst_case_bounds()
    assert odds.loc[0, "low"] == pytest.approx(both["low"].mean())
    assert odds.loc[0, "high"] == pytest.approx(both["high"].mean())


def test_refusals() -> None:
    weighted = fs.disparate_impact(
        [1, 0] * 100, sensitive_features=["a"] * 100 + ["b"] * 100, sample_weight=[1, 2, 3, 4] * 50
    )
    with pytest.raises(fs.InputError, match="worst_case_bounds.*with weights"):
        weighted.worst_case_bounds()
    smooth = fs.group_metric(metric="f1", counts={"a": (5, 5, 5, 5), "b": (6, 5, 5, 5)})
    with pytest.raises(fs.InputError, match="worst_case_bounds"):
        smooth.worst_case_bounds()
