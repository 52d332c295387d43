"""The registry of metrics is whole, and every consumer has every entry."""

from __future__ import annotations

import inspect
import json
import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairstats as fs
from fairstats.ground.registry import (
    CELLS,
    CRITERIA,
    ENDINGS,
    METRICS,
    RATES,
    Metric,
    Rate,
    find_metric,
    registry_json,
)
from fairstats.methods.um.metrics import metric_names, parse_metric
from fairstats.report.references import REFERENCES

JSON = Path(__file__).resolve().parents[2] / "r" / "inst" / "metrics.json"
#: Counts per group without an empty cell.
TABLE = {
    "tp": np.array([40.0, 30.0]),
    "fp": np.array([10.0, 12.0]),
    "fn": np.array([9.0, 20.0]),
} | {"tn": np.array([41.0, 44.0])}


def test_r_reads_the_same_table() -> None:
    written = "python -m fairstats.ground.registry writes it anew"
    assert JSON.read_text(encoding="utf-8") == registry_json(), (
        f"r/inst/metrics.json is old: {written}"
    )


@pytest.mark.parametrize(
    ("name", "title", "definition"),
    [
        (
            "accuracy_ratio",
            "Accuracy: ratio between groups",
            "Ratio between groups of (tp + tn) / (tp + fp + fn + tn).",
        ),
        (
            "f1_difference",
            "F1: difference between groups",
            "Difference between groups of 2 * tp / (2 * tp + fp + fn).",
        ),
        (
            "tnr_max",
            "True negative rate: largest gap between groups",
            "Largest gap between groups of tn / (tn + fp).",
        ),
    ],
)
def test_words_of_a_metric_that_is_made_of_a_rate(name: str, title: str, definition: str) -> None:
    made = find_metric(name)
    assert made is not None
    assert (made.title, made.definition) == (title, definition)


@pytest.mark.parametrize("rate", RATES.values(), ids=str)
def test_a_rate_is_whole(rate: Rate) -> None:
    values = rate.evaluate(TABLE)
    assert values.shape == (2,)
    assert (rate.low <= values).all(), f"{rate.name} below its range"
    assert (values <= rate.high).all(), f"{rate.name} above its range"
    assert rate.title, f"{rate.name} has no title"
    assert rate.case_words, f"{rate.name} has no case_words"
    assert (rate.interval == "delta") == bool(rate.no_bounds), (
        f"{rate.name}: bounds exist for proportions and their means; others say in no_bounds why not"
    )
    if rate.successes:
        assert set(rate.successes) < set(rate.cases) <= set(CELLS)
    else:
        assert not rate.cases
    if rate.interval == "mover":
        for part in rate.parts:
            assert part.name in RATES, f"{rate.name}: {part.formula} needs an entry of its own"
        parts = [part.evaluate(TABLE) for part in rate.parts]
        np.testing.assert_allclose(np.mean(parts, axis=0), values, rtol=1e-15)


@pytest.mark.parametrize("metric", METRICS.values(), ids=lambda metric: metric.name)
def test_a_metric_is_whole(metric: Metric) -> None:
    assert ":" in metric.title, f"{metric.name}: the title is 'notion: what is compared'"
    assert metric.definition, f"{metric.name} has no definition for the methods paragraph"
    assert set(metric.rates) <= set(RATES), f"{metric.name}: unknown rates"
    for reference in metric.references:
        assert reference in REFERENCES or len(reference) > 40, (
            f"{metric.name}: {reference!r} is no reference"
        )
    assert metric.name == "abroca" or metric.rates
    assert set(metric.needs) <= {"predictions", "labels", "scores"}
    if metric.contrast != "gap" and len(metric.rates) > 1:
        assert len(metric.components) == len(metric.rates)
    for name, rate in zip(metric.components, metric.rates, strict=False):
        assert METRICS[name].rates == (rate,), (
            f"{metric.name}: component {name} is no entry of {rate}"
        )


@pytest.mark.parametrize("metric", METRICS.values(), ids=lambda metric: metric.name)
def test_a_metric_has_its_public_function(metric: Metric) -> None:
    function = getattr(fs, metric.function)
    known = inspect.signature(function).parameters
    assert {name for name, _ in metric.arguments} <= set(known), (
        f"{metric.function} lacks an argument"
    )


def test_every_difference_has_its_largest_gap() -> None:
    parts = {name for metric in METRICS.values() for name in metric.components}
    for metric in METRICS.values():
        shares = all(RATES[rate].interval != "delta" for rate in metric.rates)
        if metric.contrast == "difference" and shares and metric.name not in parts:
            largest = METRICS[metric.name.removesuffix("_difference") + "_max"]
            assert largest.contrast == "gap"
            assert largest.rates == metric.rates


@pytest.mark.parametrize("stem", [*RATES, *CRITERIA])
@pytest.mark.parametrize("ending", ENDINGS.values())
def test_every_rate_and_criterion_can_be_compared(stem: str, ending: str) -> None:
    metric = find_metric(stem + ending)
    assert metric is not None
    assert metric.rates == (CRITERIA[stem].rates if stem in CRITERIA else (stem,))


def test_unknown_names_are_none() -> None:
    assert find_metric("tpr") is None
    assert find_metric("fairness_difference") is None


@pytest.mark.parametrize("name", [*RATES, *CRITERIA])
def test_uncertainty_matters_has_it(name: str) -> None:
    assert name in metric_names(), f"fs.um_posterior(…).metric({name!r}) is missing"
    metric = parse_metric(name)
    counts = np.stack([TABLE[cell] for cell in CELLS], axis=-1)[None]
    rates = CRITERIA[name].rates if name in CRITERIA else (name,)
    expected = np.stack([RATES[rate].evaluate(TABLE) for rate in rates], axis=-1)
    np.testing.assert_allclose(
        metric.by_group(counts)[0].reshape(expected.shape), expected, rtol=1e-12
    )
    assert metric.short == (CRITERIA[name].short if name in CRITERIA else RATES[name].short)
    if name in RATES:
        assert metric.larger_is_better == RATES[name].larger_is_better


def test_the_table_for_r_is_plain_json() -> None:
    tables = json.loads(registry_json())
    assert [rate["name"] for rate in tables["rates"]] == list(RATES)
    assert [metric["name"] for metric in tables["metrics"]] == list(METRICS)
    assert all(math.isfinite(rate["low"]) for rate in tables["rates"])
    assert tables["metrics"][2]["arguments"] == {"label": 1}


# ---------------------------------------------------------------- every consumer has every metric

COUNTS = {"a": (40, 10, 9, 41), "b": (30, 12, 20, 44), "c": (12, 9, 6, 28)}
OF_CELLS = [metric for metric in METRICS.values() if metric.rates]
#: Entries that an audit shows where labels and predictions are there.
AUDITED = [m for m in OF_CELLS if m.audit == "yes"]
COMPONENTS = {name for metric in METRICS.values() for name in metric.components}


def people() -> pd.DataFrame:
    """The rows of `COUNTS`, some labels missing, with a score."""
    cells = {"tp": (1, 1), "fp": (0, 1), "fn": (1, 0), "tn": (0, 0)}
    rows = [
        (group, *cells[cell])
        for group, counts in COUNTS.items()
        for cell, n in zip(CELLS, counts, strict=True)
        for _ in range(n)
    ]
    frame = pd.DataFrame(rows, columns=["group", "y", "p"]).astype({"y": "Int64", "p": "Int64"})
    frame["score"] = np.random.default_rng(1).uniform(size=len(frame)).round(3)
    more = pd.concat([frame, frame.iloc[::29]], ignore_index=True)
    return more.assign(y=more["y"].astype(float).where(more.index < len(frame)))


@pytest.fixture(scope="module")
def report() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fs.audit(
            people(),
            y_true="y",
            y_pred="p",
            score="score",
            sensitive_features="group",
            reference={"group": "a"},
            missing="drop",
            n_resamples=100,
            rng=1,
        )


def row(result: Any) -> pd.DataFrame:
    return result.to_frame().drop(columns="note")


@pytest.mark.parametrize("metric", OF_CELLS, ids=lambda metric: metric.name)
def test_the_public_function_and_the_name_give_the_same_rows(metric: Metric) -> None:
    found = getattr(fs, metric.function)(counts=COUNTS, reference="a", **dict(metric.arguments))
    if metric.name in COMPONENTS:
        assert metric.name in set(row(found)["metric"])
        return
    by_name = fs.group_metric(metric=metric.name, counts=COUNTS, reference="a")
    pd.testing.assert_frame_equal(row(found), row(by_name))
    assert set(row(found)["metric"]) == set(metric.row_names)
    for c in by_name.comparisons:
        low, high = c.confidence_interval
        assert low <= c.estimate <= high, f"{metric.name} has no interval"
        assert np.isfinite(c.pvalue), f"{metric.name} has no test"


@pytest.mark.parametrize("metric", AUDITED, ids=lambda metric: metric.name)
def test_the_audit_shows_it_and_says_what_it_is(metric: Metric, report: Any) -> None:
    table = report.to_frame()
    shown = table[table["metric"].isin(metric.row_names)]
    assert len(shown), f"{metric.name} is missing in the audit"
    assert set(shown["verdict"]) <= {"violated", "satisfied", "undecided", "insufficient evidence"}
    words = {said.title: said.text for said in report.methods}
    for name in metric.row_names:
        assert words[METRICS[name].title] == METRICS[name].definition, (
            f"{name} is not in the methods text"
        )
    for reference in metric.references:
        assert REFERENCES.get(reference, reference) in report.references


@pytest.mark.parametrize("metric", OF_CELLS, ids=lambda metric: metric.name)
def test_bounds_exist_or_the_registry_says_why_not(metric: Metric, report: Any) -> None:
    if metric.contrast == "gap":
        return
    rows = people()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = fs.group_metric(
            rows["y"],
            rows["p"],
            metric=metric.name,
            sensitive_features=rows["group"],
            missing="drop",
        )
    if any(RATES[rate].no_bounds for rate in metric.rates):
        with pytest.raises(fs.InputError, match="worst_case_bounds"):
            result.worst_case_bounds()
        return
    bounds = result.worst_case_bounds()
    assert (bounds["low"] <= bounds["estimate"]).all()
    assert (bounds["estimate"] <= bounds["high"]).all()
    if metric.audit == "yes":
        named = {f"worst_case_{name}" for name in metric.row_names}
        assert named <= set(report.to_frame()["metric"]), f"{metric.name} has no worst-case row"


@pytest.mark.r
@pytest.mark.parametrize("metric", OF_CELLS, ids=lambda metric: metric.name)
def test_r_computes_it_again(metric: Metric) -> None:
    checked = fs.crosscheck(fs.group_metric(metric=metric.name, counts=COUNTS, reference="a"))
    table = checked.to_frame()
    assert checked.agrees, table.to_string()
    assert not table["verdict"].str.contains("not").any(), (
        f"R leaves {metric.name} out:\n{table.to_string()}"
    )
    assert "estimate" in set(table["quantity"])


@pytest.mark.parametrize(
    ("name", "value", "method"),
    [
        (
            "balanced_accuracy_difference",
            (30 / 50 + 44 / 56) / 2 - (40 / 49 + 41 / 51) / 2,
            "score (MOVER)",
        ),
        ("false_omission_rate_difference", 20 / 64 - 9 / 50, "exact unconditional"),
    ],
)
def test_metrics_of_no_function_of_their_own(name: str, value: float, method: str) -> None:
    result = fs.group_metric(metric=name, counts=COUNTS, reference="a")
    assert result["b"].estimate == pytest.approx(value, rel=1e-14)
    assert result["b"].method == method
