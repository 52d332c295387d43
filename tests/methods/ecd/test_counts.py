"""ECD from a tally alone: sums and largest values give the same numbers as the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairstats as fs
from fairstats.ground.errors import InputError


def _frame() -> pd.DataFrame:
    rng = np.random.default_rng(2)
    group = np.repeat(["white", "black", "other"], [8_000, 3_000, 400])
    score = rng.uniform(0.1, 0.5, group.size)
    changed = score + np.where(group == "white", 0.3, 0.5) * rng.beta(2, 8, group.size)
    return pd.DataFrame({"race": group, "score": score, "changed": changed})


FRAME = _frame()
VALUES = {g: (rows["changed"] - rows["score"]).to_numpy() for g, rows in FRAME.groupby("race")}


@pytest.fixture(scope="module")
def counted() -> fs.Tally:
    made = fs.tally(FRAME, score="score", counterfactual_score="changed", sensitive_features="race")
    return fs.Tally.from_json(made.to_json(exact=True))


def both(counted: fs.Tally, **change: Any) -> tuple[fs.results.EcdResult, fs.results.EcdResult]:
    options = {
        "privileged": "white",
        "unprivileged": "black",
        "backend": "scipy",
        "n_resamples": 99,
        "rng": 1,
    }
    options |= change
    return fs.ecd(VALUES, **options), fs.ecd(counted, **options)


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"calibrated": False},
        {"unprivileged": "other"},
        {"threshold": {"white": 0.15, "black": 0.25}},
    ],
    ids=str,
)
def test_the_same_numbers(counted: fs.Tally, change: dict[str, Any]) -> None:
    rows, tallied = both(counted, **change)
    pd.testing.assert_frame_equal(tallied.to_frame(), rows.to_frame(), rtol=1e-10)
    assert tallied.sentences() == rows.sentences()
    assert tallied.notes() == rows.notes()
    assert tallied.attribute == "race"


def test_order_statistics_of_the_largest_values(counted: fs.Tally) -> None:
    """A level below the threshold is an order statistic.

    Right where the tally holds it, else an error.
    """
    rows, tallied = both(counted, other_interactions=(30,))
    pd.testing.assert_frame_equal(tallied.to_frame(), rows.to_frame(), rtol=1e-10)
    with pytest.raises(InputError, match="keep more of the largest"):
        both(counted, other_interactions=(2,))


def test_averages_from_sums(counted: fs.Tally) -> None:
    rows = fs.results.CounterfactualSample.from_values(VALUES)
    tallied = fs.results.CounterfactualSample.from_tally(counted)
    for group in VALUES:
        a = rows[group].average
        b = tallied[group].average
        assert (b.estimate, b.std_error) == pytest.approx((a.estimate, a.std_error), rel=1e-9)
    assert tallied.cvar("other") == rows.cvar("other")  # a small group is kept whole
    value, interval = rows.cvar("white")  # of the others the tally keeps the worst 5%
    assert (tallied.cvar("white")[0], *tallied.cvar("white")[1]) == pytest.approx(
        (value, *interval), rel=1e-9
    )
    with pytest.raises(InputError, match="the rows themselves"):
        tallied.cvar("white", 0.5)


def test_counts_argument_and_thresholds_that_lie_too_low(counted: fs.Tally) -> None:
    options: dict[str, Any] = {
        "privileged": "white",
        "unprivileged": "black",
        "backend": "scipy",
        "rng": 1,
    }
    named = fs.ecd(counts=counted, n_resamples=0, **options)
    assert named.estimate == fs.ecd(counted, n_resamples=0, **options).estimate
    with pytest.raises(InputError, match="both counts and rows"):
        fs.ecd(VALUES, counts=counted, **options)
    with pytest.raises(InputError, match="largest of"):
        fs.ecd(counted, threshold=2_500, **options)
    with pytest.raises(InputError, match="largest of"):
        fs.ecd(counted, threshold={"white": 0.0, "black": 0.0}, **options)
