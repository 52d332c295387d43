"""The part of a tally that holds moments: what merges gives what all rows give.

Witnesses: NumPy's and SciPy's moments of the rows, and all rows counted at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import fairstats as fs
from fairstats.ground.errors import MissingValuesWarning
from fairstats.ground.tallies.moments import MomentCounts

FIELDS = ("n", "units", "weights", "mean", "centred", "negative")


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"sex": rng.choice(["m", "f", "d"], 300, p=[0.6, 0.3, 0.1])})
    frame["wage"] = rng.lognormal(10, 0.5, 300)
    frame["predicted"] = frame["wage"] * rng.uniform(0.8, 1.3, 300)
    frame["weight"] = rng.uniform(0.5, 2, 300)
    frame["site"] = frame["sex"] + (np.arange(300) // 5).astype(str)
    frame["year"] = np.arange(300) % 3
    return frame


def count(frame: pd.DataFrame, **options: Any) -> fs.Tally:
    return fs.tally(
        frame, sensitive_features="sex", outcome="wage", predicted="predicted", **options
    )


def assert_same(first: MomentCounts, second: MomentCounts) -> None:
    assert first.groups == second.groups
    for name in FIELDS:
        there = getattr(first, name)
        scale = np.abs(there).max()
        np.testing.assert_allclose(getattr(second, name), there, rtol=1e-9, atol=1e-13 * scale)


DESIGNS: list[dict[str, Any]] = [
    {},
    {"sample_weight": "weight"},
    {"cluster": "site"},
    {"cluster": "site", "sample_weight": "weight"},
]


def test_moments_are_those_of_scipy(people: pd.DataFrame) -> None:
    moments = count(people).numbers()
    for place, name in enumerate(moments.groups):
        wage = people.loc[people["sex"] == name, "wage"].to_numpy()
        n = wage.size
        assert moments.means("y")[place] == pytest.approx(wage.mean(), rel=1e-13)
        assert moments.variance_of_mean("y")[place] == pytest.approx(wage.var(ddof=1) / n)
        third = stats.kstat(wage, 3) / n**2
        assert moments.third_cumulant_of_mean("y")[place] == pytest.approx(third)
        assert moments.effective_units[place] == pytest.approx(n)
    residual = people["predicted"] - people["wage"]
    for column, values in {"absolute_error": residual.abs(), "squared_error": residual**2}.items():
        expected = values.groupby(people["sex"]).mean()[list(moments.groups)]
        np.testing.assert_allclose(moments.means(column), expected, rtol=1e-12)


@pytest.mark.parametrize("design", DESIGNS, ids=str)
def test_parts_of_the_rows_add_up(people: pd.DataFrame, design: dict[str, Any]) -> None:
    sites = people["site"].str.extract(r"(\d+)")[0].astype(int)
    first = sites % 2 == 0
    parts = count(people[first], **design), count(people[~first], **design)
    joined = parts[0].add(parts[1], disjoint_clusters="cluster" in design)
    assert_same(count(people, **design).numbers(), joined.numbers())


@pytest.mark.parametrize("design", DESIGNS, ids=str)
@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_engines_count_the_same(people: pd.DataFrame, design: dict[str, Any], engine: Any) -> None:
    pytest.importorskip(engine)
    frame = people.copy()
    frame.loc[7, "wage"] = np.nan
    with pytest.warns(MissingValuesWarning):
        rows = count(frame, missing="drop", engine="rows", **design)
    with pytest.warns(MissingValuesWarning):
        lazy = count(frame, missing="drop", engine=engine, **design)
    assert_same(rows.numbers(), lazy.numbers())
    assert lazy.missing.n_dropped == 1


def test_json_keeps_moments(people: pd.DataFrame) -> None:
    counted = count(people, sample_weight="weight")
    assert_same(counted.numbers(), fs.Tally.from_json(counted.to_json()).numbers())


def test_groups_that_are_merged_are_counted_together(people: pd.DataFrame) -> None:
    crossed = fs.tally(people, sensitive_features=["sex", "year"], outcome="wage")
    by_sex = fs.tally(people, sensitive_features="sex", outcome="wage")
    assert_same(by_sex.numbers(), crossed.by("sex").numbers())


def test_large_numbers_do_not_cancel() -> None:
    """Raw sums of squares of numbers near 1e9 with a spread of 1 have no digit of it."""
    rng = np.random.default_rng(4)
    small = rng.exponential(size=200)
    frame = pd.DataFrame({"wage": 1e9 + small, "sex": np.repeat(["a", "b"], 100)})
    halves = [fs.tally(frame[part::2], sensitive_features="sex", outcome="wage") for part in (0, 1)]
    variance = (halves[0] + halves[1]).numbers().variance_of_mean("y")
    spread = frame["wage"] - 1e9
    expected = [spread[:100].var() / 100, spread[100:].var() / 100]
    np.testing.assert_allclose(variance, expected, rtol=1e-6)


def test_a_cluster_lies_in_one_group(people: pd.DataFrame) -> None:
    with pytest.raises(fs.InputError, match="more than one group"):
        count(people, cluster="year")
    pytest.importorskip("polars")
    with pytest.raises(fs.InputError, match="more than one group"):
        count(people, cluster="year", engine="polars")


def test_a_damaged_file_is_refused(people: pd.DataFrame) -> None:
    written = count(people).to_json()
    with pytest.raises(fs.InputError, match="centred|shape|5"):
        fs.Tally.from_json(written.replace('"shape": [5, ', '"shape": [1, ', 1))
