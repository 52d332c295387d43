"""Every method that can computes from a `Tally` alone.

The same from rows and from the tally's JSON.

Witness of each case: the same function on the rows themselves, compared to rounding. What needs
rows or a model is not here: counterfactual scores, discriminative risk, cross-validation, synthetic
quality, sampled tails, fitted mitigators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairstats as fs

COLUMNS = {
    "y_true": "y",
    "y_pred": "hat",
    "y_pred_b": "hat_b",
    "score": "score",
    "counterfactual_score": "flipped",
    "features": ("age", "job"),
    "sensitive_features": "sex",
}


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(11)
    n = 700
    sex = rng.choice(["f", "m"], n, p=[0.35, 0.65])
    score = np.clip(rng.beta(2, 2, n) + 0.08 * (sex == "m"), 0, 1).round(3)
    return pd.DataFrame(
        {
            "sex": sex,
            "score": score,
            "flipped": np.clip(score + rng.normal(0.02 * (sex == "f"), 0.05, n), 0, 1),
            "y": (rng.random(n) < score).astype(int),
            "hat": (score > 0.5).astype(int),
            "hat_b": (score + rng.normal(0, 0.1, n) > 0.5).astype(int),
            "age": rng.integers(18, 60, n),
            "job": rng.choice(["clerk", "cook", "driver"], n),
            "site": rng.choice(["east", "west"], n),
        }
    )


@pytest.fixture(scope="module")
def counted(people: pd.DataFrame) -> fs.Tally:
    return fs.Tally.from_json(fs.tally(people, **COLUMNS).to_json(exact=True))


Case = tuple[Callable[[pd.DataFrame], Any], Callable[[fs.Tally], Any]]


def of_rates(name: str, *positional: str, **options: Any) -> Case:
    """A function of labels and predictions, from rows and from a tally."""

    def rows(p: pd.DataFrame) -> Any:
        return getattr(fs, name)(
            *(p[c] for c in positional), sensitive_features=p["sex"], **options
        )

    return rows, lambda t: getattr(fs, name)(counts=t, **options)


def dummies(p: pd.DataFrame) -> pd.DataFrame:
    return pd.get_dummies(p[["age", "job"]], dtype=float)


def differences(p: pd.DataFrame) -> dict[str, Any]:
    return {g: (p["flipped"] - p["score"])[p["sex"] == g] for g in ("m", "f")}


CASES: dict[str, Case] = {
    "disparate_impact": of_rates("disparate_impact", "hat"),
    "conditional_accuracy": of_rates("conditional_accuracy", "y", "hat", label=0),
    "conditional_use_accuracy": of_rates("conditional_use_accuracy", "y", "hat"),
    "demographic_parity_difference": of_rates(
        "demographic_parity_difference", "y", "hat", agg="max"
    ),
    "equal_opportunity_difference": of_rates("equal_opportunity_difference", "y", "hat"),
    "predictive_parity_difference": of_rates("predictive_parity_difference", "y", "hat"),
    "average_odds_difference": of_rates("average_odds_difference", "y", "hat"),
    "equalized_odds_difference": of_rates("equalized_odds_difference", "y", "hat"),
    "group_metric": of_rates("group_metric", "y", "hat", metric="mcc"),
    "abroca": of_rates("abroca", "y", "score", n_resamples=199, rng=1),
    "scores": of_rates("scores", "y", "score", metric="brier_score"),
    "compare_models": of_rates("compare_models", "y", "hat", "hat_b"),
    "um_posterior": of_rates("um_posterior", "y", "hat", draws=500, rng=1),
    "um_multiclass": of_rates("um_multiclass", "y", "hat", draws=500, rng=1),
    "madd": (
        lambda p: fs.madd(p["score"], sensitive_features=p["sex"], n_resamples=199, rng=1),
        lambda t: fs.madd(counts=t, n_resamples=199, rng=1),
    ),
    "madd_curve": (
        lambda p: fs.madd_curve(p["score"], sensitive_features=p["sex"], max_bins=300),
        lambda t: fs.madd_curve(counts=t, max_bins=300),
    ),
    "stable_bandwidth": (
        lambda p: fs.stable_bandwidth(fs.madd_curve(p["score"], sensitive_features=p["sex"])),
        lambda t: fs.stable_bandwidth(fs.madd_curve(counts=t)),
    ),
    "set_distance": (
        lambda p: fs.set_distance(
            *(pd.get_dummies(p[["age", "job"]], dtype=float)[p["sex"] == g] for g in "mf")
        ),
        lambda t: fs.set_distance(counts=t),
    ),
    "ecd": (
        lambda p: fs.ecd(differences(p), privileged="m", unprivileged="f", interactions=200, rng=1),
        lambda t: fs.ecd(t, privileged="m", unprivileged="f", interactions=200, rng=1),
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore::fairstats.ground.errors.FairstatsWarning")
def test_a_tally_gives_what_its_rows_give(name, people, counted):
    rows, tally = CASES[name]
    first = rows(people).to_frame()
    second = tally(counted).to_frame()
    # a tally has its distinct rows in an order of its own
    numbers = [c for c in first.columns if first[c].dtype.kind in "fi" and not c.startswith("row_")]
    pd.testing.assert_frame_equal(
        second[numbers], first[numbers], check_exact=False, rtol=1e-9, atol=1e-12
    )
    for column in {"verdict", "metric", "group"} & set(first.columns):
        assert second[column].astype(str).tolist() == first[column].astype(str).tolist()


@pytest.mark.filterwarnings("ignore::fairstats.ground.errors.FairstatsWarning")
def test_strata_and_two_models_and_set_distances_of_groups(people, counted):
    rows = fs.disparate_impact(
        people["hat"], sensitive_features=people["sex"], strata=people["site"]
    )
    table = fs.tally(people, y_pred="hat", sensitive_features="sex", strata="site")
    again = fs.disparate_impact(counts=fs.Tally.from_json(table.to_json(exact=True)))
    pd.testing.assert_frame_equal(again.to_frame(), rows.to_frame())
    pd.testing.assert_frame_equal(again.stratified.to_frame(), rows.stratified.to_frame())

    X = people[["age", "job"]].astype({"job": "category"})
    columns = (X, people["y"], people["hat"])
    named = {"sensitive_features": {"sex": people["sex"]}, "n_resamples": 0, "n_subsamples": 0}
    distances = fs.hfm(*columns, **named).to_frame()["estimate"]
    counts = fs.hfm(counts=counted, n_resamples=0, n_subsamples=0).to_frame()["estimate"]
    np.testing.assert_allclose(counts, distances, rtol=1e-12)
