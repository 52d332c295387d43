"""The functions of several classes in R, from a data frame, beside the Python ones of that name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairstats as fs
from fairstats.ground.rsession import call

pytestmark = pytest.mark.r

CLASSES = ["low", "medium", "high"]


@pytest.fixture(scope="module")
def columns() -> dict[str, list[Any]]:
    rng = np.random.default_rng(35)
    n = 600
    y = rng.choice(CLASSES, n, p=[0.5, 0.35, 0.15])
    hat = np.where(rng.random(n) < 0.65, y, rng.choice(CLASSES, n))
    group = rng.choice(["a", "b", "c"], n, p=[0.5, 0.35, 0.15])
    weight = rng.integers(1, 4, n).astype(float)
    table = {"y": y, "hat": hat, "g": group, "w": weight, "c": np.arange(n) // 3}
    return {name: column.tolist() for name, column in table.items()}


@pytest.mark.parametrize(
    ("metric", "classes", "design"),
    [
        ("selection_rate_ratio", "one-vs-rest", ()),
        ("f1_difference", "one-vs-rest", ()),
        ("tpr_difference", "macro", ()),
        ("tpr_ratio", "macro", ()),
        ("f1_difference", "macro", ()),
        ("accuracy_difference", "macro", ()),
        ("ppv_difference", "macro", ("w",)),
        ("tpr_difference", "macro", ("c",)),
        ("equalized_odds_difference", "ordered", ()),
        ("tpr_odds_ratio", "one-vs-rest", ("w", "c")),
        ("fpr_difference", "macro", ("w",)),
    ],
)
def test_same_tables(
    metric: str, classes: str, design: tuple[str, ...], columns: dict[str, list[Any]]
) -> None:
    roles = {"w": "sample_weight", "c": "cluster"}
    options: dict[str, Any] = {
        "reference": "a",
        "classes": classes,
        "label_values": CLASSES,
        **{roles[name]: columns[name] for name in design},
    }
    ours = fs.group_metric(
        columns["y"],
        columns["hat"],
        metric=metric,
        sensitive_features=columns["g"],
        **options,
    ).to_frame()
    theirs = pd.DataFrame(
        call(
            "fs_group_metric",
            None,
            metric,
            y_true=columns["y"],
            y_pred=columns["hat"],
            sensitive_features=columns["g"],
            **options,
        )
    )
    for name in ("metric", "group", "reference", "class", "verdict", "method"):
        assert list(theirs[name]) == list(ours[name]), name
    exact = (ours["method"] == "exact unconditional").to_numpy()
    for name in ("estimate", "std_error", "ci_low", "ci_high", "pvalue", "pvalue_adjusted"):
        wanted = ours[name].to_numpy(dtype=np.float64)
        found = theirs[name].to_numpy(dtype=np.float64)
        allowed = np.where(exact & (name not in ("estimate", "std_error")), 1e-3, 1e-6)
        if name == "pvalue_adjusted" and exact.any():
            allowed = np.full(len(ours), 1e-3)
        assert (np.abs(found - wanted) <= allowed * np.maximum(1, np.abs(wanted))).all(), name


def test_largest_gaps(columns: dict[str, list[Any]]) -> None:
    options = {"classes": "one-vs-rest", "agg": "max"}
    labels = (columns["y"], columns["hat"])
    ours = fs.equal_opportunity_difference(*labels, sensitive_features=columns["g"], **options)
    theirs = call(
        "fs_equal_opportunity_difference",
        None,
        *labels,
        columns["g"],
        **options,
    )
    assert theirs["estimate"] == pytest.approx(float(ours), rel=1e-12)
    assert theirs["attained_by"] == ours.attained_by
    low, high = ours.confidence_interval
    assert theirs["ci_high"] == pytest.approx(high, abs=0.01)
    assert theirs["ci_low"] == pytest.approx(low, abs=0.01)


def test_two_classes_are_two_labels(columns: dict[str, list[Any]]) -> None:
    hat = ["yes" if name == "high" else "no" for name in columns["hat"]]
    options = {"sensitive_features": columns["g"], "pos_label": "yes"}
    ours = call("fs_disparate_impact", None, hat, **options, classes="one-vs-rest")
    today = call("fs_disparate_impact", None, hat, **options)
    assert {name: list(column) for name, column in ours.items()} == {
        name: list(column) for name, column in today.items()
    }


def test_audits(columns: dict[str, list[Any]]) -> None:
    table = {name: columns[name] for name in ("y", "hat", "g")}
    roles = {"y_true": "y", "y_pred": "hat", "sensitive_features": "g", "reference": "a"}
    ours = fs.audit(pd.DataFrame(table), **roles, label_values=CLASSES, rng=1).to_frame()
    theirs = pd.DataFrame(call("fs_audit", table, **roles, label_values=CLASSES))
    keys = ["section", "metric", "group"]
    both = ours.merge(theirs, on=keys, suffixes=("", "_r"))
    assert len(both) == len(ours) == len(theirs)
    assert both["verdict"].tolist() == both["verdict_r"].tolist()
    for name, allowed in (("estimate", 1e-9), ("pvalue_verdict", 1e-3)):
        np.testing.assert_allclose(both[name], both[f"{name}_r"], atol=allowed)
    bands = both["metric"].str.contains("_max")
    for name in ("ci_low", "ci_high"):
        apart = (both[name] - both[f"{name}_r"]).abs()
        assert apart[~bands].max() < 1e-3
        assert apart[bands].max() < 0.02
