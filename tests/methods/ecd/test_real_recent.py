"""MAAT and STEALTH of the study on the paper's data: what they do, and their record.

Witnesses: shares counted by hand after rows left; sizes of clusters; the record of the original
models for the splits.
"""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.stats import t

from tests.benchmarks import ecd_real_data, ecd_real_recent
from tests.benchmarks.ecd_real_claims import Claim, Mean, interval
from tests.benchmarks.ecd_real_recent import clusters, rows_of_equal_shares, tasks_that_decide


@pytest.mark.parametrize("rates", [(0.3, 0.6), (0.7, 0.2)])
def test_rows_that_stay_have_equal_shares(rates: tuple[float, float]) -> None:
    rng = np.random.default_rng(1)
    group = np.repeat(["a", "b"], [400, 900])
    y = np.concatenate([rng.random(400) < rates[0], rng.random(900) < rates[1]]).astype(int)
    rows = rows_of_equal_shares(group, y, rng)
    shares = {value: y[rows][group[rows] == value].mean() for value in ("a", "b")}
    assert shares["a"] == pytest.approx(shares["b"], abs=2 / 200)
    # what leaves: unfavourable rows of the lower group, favourable ones of the other, by size
    gone = np.setdiff1d(np.arange(len(y)), rows)
    lower = "a" if rates[0] < rates[1] else "b"
    assert set(y[gone][group[gone] == lower]) == {0}
    assert set(y[gone][group[gone] != lower]) == {1}
    number = (group[gone] == lower).sum()
    ratio = (group == lower).sum() / (group != lower).sum()
    assert number / (len(gone) - number) == pytest.approx(ratio, rel=0.05)


def test_equal_shares_lose_no_row() -> None:
    group = np.repeat(["a", "b"], [100, 200])
    y = np.tile([0, 1], 150)
    assert len(rows_of_equal_shares(group, y, np.random.default_rng(1))) == 300


def test_clusters_are_a_partition_of_about_root_n() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(1_000, 5))
    parts = clusters(X, rng)
    assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(1_000))
    sizes = np.array([len(part) for part in parts])
    assert sizes.min() >= np.sqrt(1_000)
    assert sizes.max() < 2 * np.sqrt(1_000)
    # rows of a cluster lie nearer to each other than rows of different ones
    within = np.mean([X[part].var(axis=0).sum() for part in parts])
    assert within < 0.8 * X.var(axis=0).sum()


def test_tasks_that_decide() -> None:
    """The interval of so many tasks leaves the bound, that of one fewer does not."""
    values = {str(number): value for number, value in enumerate([0.3, -0.1, 0.3, -0.1])}
    found = interval(values)
    spread = np.std(list(values.values()), ddof=1)
    claim = Claim("RQ3", "", "", Mean(0.1, found.low, found.high, values), "above", 0.0, False)
    number = tasks_that_decide(claim)

    def low(n: int) -> float:
        return 0.1 - float(t.ppf(0.975, n - 1)) * spread / np.sqrt(n)

    assert low(number) >= 0 > low(number - 1)


def test_the_record_is_of_the_same_splits() -> None:
    original = {}
    for line in ecd_real_data.read(ecd_real_data.RECORD):
        task, model, seed, what = json.loads(line["key"])
        if what == "EG":
            original[task, model, seed] = line
    lines = ecd_real_data.read(ecd_real_recent.RECORD)
    assert len(lines) >= 64
    for line in lines:
        task, model, seed, what = json.loads(line["key"])
        own = original[task, model, seed]
        assert line["train"] == own["train"]
        if what in line["fits"]:
            sizes = [group[0] for group in line["fits"][what]["groups"].values()]
            expected = [group[0] for group in own["fits"]["original"]["groups"].values()]
            assert sizes == expected
