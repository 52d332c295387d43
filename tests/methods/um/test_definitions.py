"""Definitions of the metrics against scikit-learn and fairlearn, and 0/0."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn import metrics as sk

from fairstats.ground.errors import InputError
from fairstats.ground.registry import CRITERIA, RATES
from fairstats.methods.um.counting import count_cells
from fairstats.methods.um.metrics import parse_metric

from .conftest import Sample

SKLEARN = {
    "accuracy": sk.accuracy_score,
    "balanced_accuracy": sk.balanced_accuracy_score,
    "f1": sk.f1_score,
    "mcc": sk.matthews_corrcoef,
    "tpr": sk.recall_score,
    "ppv": sk.precision_score,
    "tnr": lambda y, p: sk.recall_score(y, p, pos_label=0),
    "npv": lambda y, p: sk.precision_score(y, p, pos_label=0),
    "false_omission_rate": lambda y, p: 1 - sk.precision_score(y, p, pos_label=0),
    "fpr": lambda y, p: 1 - sk.recall_score(y, p, pos_label=0),
    "fnr": lambda y, p: 1 - sk.recall_score(y, p),
    "selection_rate": lambda _, p: p.mean(),
    "base_rate": lambda y, _: y.mean(),
    "average_odds": lambda y, p: p[y == 1].mean() / 2 + p[y == 0].mean() / 2,
    "error_ratio": lambda y, p: ((y == 1) & (p == 0)).sum() / ((y == 0) & (p == 1)).sum(),
}


def counts_of(sample: Sample) -> np.ndarray:
    group = (sample.group == "z").astype(int)
    return count_cells(sample.y, sample.a, group, 2)[None]


@pytest.mark.parametrize("name", [name for name in RATES if name in SKLEARN])
def test_rates_are_scikit_learns(name: str, two_models: Sample) -> None:
    counts = counts_of(two_models)
    metric = parse_metric(name)
    expected = SKLEARN[name](two_models.y, two_models.a)
    assert metric.values(counts, 0)[0] == pytest.approx(expected, rel=1e-12)
    z = two_models.group == "z"
    assert metric.by_group(counts)[0, 1] == pytest.approx(
        SKLEARN[name](two_models.y[z], two_models.a[z]), rel=1e-12
    )


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("demographic_parity_max", "demographic_parity_difference"),
        ("equalized_odds_max", "equalized_odds_difference"),
        ("equal_opportunity_max", "equal_opportunity_difference"),
    ],
)
def test_largest_gaps_are_fairlearns(name: str, function: str, two_models: Sample) -> None:
    fairlearn = pytest.importorskip("fairlearn.metrics", reason="fairlearn is not installed")
    expected = getattr(fairlearn, function)(
        two_models.y, two_models.a, sensitive_features=two_models.group
    )
    assert parse_metric(name).values(counts_of(two_models), 0)[0] == pytest.approx(
        expected, rel=1e-12
    )


@pytest.mark.parametrize("name", [*CRITERIA])
def test_contrasts_of_rates(name: str, two_models: Sample) -> None:
    """Witness: the rates of the groups, compared by hand."""
    counts = counts_of(two_models)
    rates = np.stack([parse_metric(r).by_group(counts)[0] for r in CRITERIA[name].rates], axis=-1)
    gap = rates[1] - rates[0]
    for ending, expected in (
        ("", gap),
        ("_difference", gap),
        ("_absolute", np.abs(gap)),
        ("_ratio", rates[1] / rates[0]),
        ("_max", np.abs(gap).max()),
    ):
        metric = parse_metric(name + ending)
        assert np.allclose(metric.values(counts, 0).ravel(), np.ravel(expected), rtol=1e-12), ending


def test_objectives_are_larger_when_better(two_models: Sample) -> None:
    counts = counts_of(two_models)
    gap = parse_metric("equal_opportunity_max").values(counts, 0)
    assert parse_metric("equal_opportunity", default="max").objective(counts, 0) == -gap
    assert parse_metric("fpr").objective(counts, 0) == -parse_metric("fpr").values(counts, 0)
    ratio = parse_metric("tpr_ratio")
    assert ratio.objective(counts, 0) == pytest.approx(-abs(np.log(ratio.values(counts, 0)[0, 0])))


def test_nothing_over_nothing_is_nan_and_stays_with_its_draw() -> None:
    counts = np.array([[[0.0, 5, 0, 5], [3, 2, 1, 4]], [[2, 5, 2, 5], [3, 2, 1, 4]]])
    assert np.isnan(parse_metric("equal_opportunity").values(counts, 0)).ravel().tolist() == [
        True,
        False,
    ]
    assert np.isnan(parse_metric("equal_opportunity_max").values(counts, 0)).tolist() == [
        True,
        False,
    ]
    assert np.isnan(parse_metric("mcc").by_group(np.array([[[0.0, 0, 3, 5]]]))).all()
    assert np.isnan(parse_metric("error_ratio").by_group(np.array([[[4.0, 0, 3, 5]]]))).all()


@pytest.mark.parametrize(
    "name", ["acuracy", "accuracy_", "", None, 3, "max", "equal_opportunity_maximum"]
)
def test_unknown_names_list_the_known_ones(name: Any) -> None:
    with pytest.raises(InputError, match="equal_opportunity"):
        parse_metric(name)
