"""Medians and quantiles of rows with weights or in clusters.

Witnesses: `survey::svyquantile` (recorded by `tests/reference/svyquantile.R`, and live), the law of
the share below a value by the beta function, the comparison without weights where they are equal,
rows that stand twice, and our twin in base R.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import fairstats as fs
from fairstats.ground.errors import InsufficientEvidenceWarning
from fairstats.ground.serialise import decode
from fairstats.numerics.means.weighted_quantiles import (
    QuantileOfRows,
    WeightedQuantile,
    quantile_of_rows,
)
from tests.calibration import weighted_quantiles as study

RECORD = Path(__file__).parents[3] / "reference" / "svyquantile.json"
ORDERS = (0.2, 0.5, 0.9)


def recorded_rows() -> dict[str, Any]:
    """The rows of the record: values, weights and clusters by formulas."""
    place = np.arange(400)
    rank = (place * 37) % 401
    return {
        "numbers": stats.lognorm.ppf((rank + 0.5) / 401, 1),
        "weights": 0.5 + ((place * 29) % 23) / 10,
        "units": rank // 16 + 30 * (place % 2),
    }


def people(n: tuple[int, ...] = (160, 120, 90), seed: int = 1) -> dict[str, Any]:
    """Wages, groups, weights and clusters within groups."""
    rng = np.random.default_rng(seed)
    group = np.repeat(["a", "b", "c"][: len(n)], n)
    unit = rng.integers(0, 35, group.size)
    names = [f"{name}{code}" for name, code in zip(group, unit, strict=True)]
    return {
        "y": np.round(rng.lognormal(3, 0.5, group.size), 1),
        "sensitive_features": group,
        "sample_weight": rng.gamma(3, 1, group.size),
        "cluster": np.array(names),
    }


def columns(*further: str, **options: Any) -> dict[str, Any]:
    table = people(**options)
    return {name: table[name] for name in ("y", "sensitive_features", *further)}


@pytest.mark.parametrize("design", ["rows", "clusters"])
@pytest.mark.parametrize("order", ORDERS)
def test_values_are_those_of_svyquantile(order: float, design: str) -> None:
    """The value to all digits; limits within a twelfth of the width of survey's "beta" limits.

    Survey takes the effective number of rows from the share up to the estimate, ours is the least of
    three, and survey's limits are single order statistics or straight between them.
    """
    rows = recorded_rows()
    if design == "rows":
        rows["units"] = None
    sample = quantile_of_rows(**rows, order=order)
    assert isinstance(sample, WeightedQuantile)
    record = json.loads(RECORD.read_text(encoding="utf-8"))[f"{order:g}"][design]
    value, low, high, number = record
    assert sample.value == pytest.approx(value, rel=1e-12)
    ascending = np.sort(rows["numbers"])
    ours = np.searchsorted(ascending, sample.limits(stats.norm.ppf(0.975)))
    wanted = np.searchsorted(ascending, (low, high))
    most = max((wanted[1] - wanted[0]) / 12, 3) if design == "rows" else 13
    assert np.abs(ours - wanted).max() <= most
    found = float(np.interp(order, sample.shares, sample.numbers))
    assert found == pytest.approx(number, rel=0.04)
    assert found <= sample.rows + 1e-9


@pytest.mark.r("survey")
@pytest.mark.parametrize("clustered", [False, True])
def test_live_survey(clustered: bool) -> None:
    """Values of `survey::svyquantile`, and limits within a tenth of its width, on fresh rows."""
    from fairstats.ground.rsession import call

    rng = np.random.default_rng(8)
    numbers = rng.lognormal(size=900)
    weights = rng.gamma(2, 1, 900)
    units = rng.integers(0, 90, 900) if clustered else None
    call("base::source", str(Path(__file__).with_name("survey_quantiles.R")))
    for order in ORDERS:
        there = call("survey_quantile", numbers, weights, units, order, 0.95)
        ours = quantile_of_rows(numbers, weights, units, order)
        assert ours.value == pytest.approx(float(there["value"]), rel=1e-12)
        width = there["ends"][1] - there["ends"][0]
        assert ours.limits(stats.norm.ppf(0.975)) == pytest.approx(there["ends"], abs=width / 10)


def test_limits_are_where_the_share_below_is_no_longer_likely() -> None:
    """Between rows: at each limit the beta function of effective rows passes the error."""
    rows = recorded_rows()
    rows["units"] = None
    sample = quantile_of_rows(**rows, order=0.5)
    assert isinstance(sample, WeightedQuantile)
    z = 1.96
    error = stats.norm.sf(z)
    low, _ = sample.limits(z)
    below = int(np.searchsorted(sample.values, low))
    factor = stats.t.ppf(error, 399) / stats.t.ppf(error, sample.size - 1)
    for rank, is_above in ((below - 1, False), (below, True)):
        number = sample.numbers[rank] * factor**2
        counted = number * sample.shares[rank]
        # P(B ≤ k) = I_{1−q}(n − k, k + 1)
        probability = stats.beta.cdf(0.5, number - counted, counted + 1)
        assert bool(probability > error) is is_above
    assert sample.values[below - 1] <= low <= sample.values[below]


def test_the_limits_mirror() -> None:
    """Limits of −X are those of X; values too where the weights at both ends are equal."""
    rows = recorded_rows()
    sample = quantile_of_rows(**rows, order=0.3)
    rows["numbers"] = -rows["numbers"]
    mirrored = quantile_of_rows(**rows, order=0.7)
    low, high = sample.limits(1.5)
    assert mirrored.limits(1.5) == pytest.approx((-high, -low), rel=1e-9)


@pytest.mark.parametrize("statistic", ["median", 0.8])
def test_equal_weights_and_clusters_of_one_row_change_nothing(statistic: Any) -> None:
    table = columns()
    n = table["y"].size
    for comparisons in ("all", "rest"):
        options = {"statistic": statistic, "comparisons": comparisons, "contrast": "ratio"}
        plain = fs.means(**table, **options)
        even = fs.means(**table, **options, sample_weight=np.full(n, 2.5), cluster=np.arange(n))
        for one, other in zip(plain, even, strict=True):
            assert one.estimate == other.estimate
            assert tuple(one.confidence_interval) == tuple(other.confidence_interval)
            assert one.pvalue == other.pvalue
            assert one.verdict == other.verdict


def test_weights_that_hardly_differ_hardly_change_limits() -> None:
    rng = np.random.default_rng(3)
    for numbers in (rng.normal(size=77), np.round(rng.normal(size=77))):
        plain = quantile_of_rows(numbers, None, None, 0.3)
        nearly = quantile_of_rows(numbers, 1 + 1e-9 * rng.random(77), None, 0.3)
        assert isinstance(plain, QuantileOfRows)
        assert isinstance(nearly, WeightedQuantile)
        assert nearly.value == pytest.approx(plain.value, abs=1e-7)
        for z in (0.0, 1.0, 1.96, 4.0):
            assert nearly.limits(z) == pytest.approx(plain.limits(z), abs=1e-7)


def test_rows_of_no_weight_are_no_rows() -> None:
    rng = np.random.default_rng(4)
    numbers = rng.normal(size=60)
    weights = rng.gamma(2, 1, 60)
    weights[::4] = 0
    found = quantile_of_rows(numbers, weights, None, 0.5)
    kept = weights > 0
    alone = quantile_of_rows(numbers[kept], weights[kept], None, 0.5)
    assert found.value == alone.value
    assert found.limits(1.96) == alone.limits(1.96)
    assert found.size == alone.size


def test_the_order_of_the_rows_says_nothing() -> None:
    """Also not that of rows with one value."""
    rng = np.random.default_rng(5)
    numbers = rng.integers(0, 6, 90).astype(float)
    weights = rng.gamma(2, 1, 90)
    units = rng.integers(0, 30, 90)
    mixed = rng.permutation(90)
    first = quantile_of_rows(numbers, weights, units, 0.4)
    second = quantile_of_rows(numbers[mixed], weights[mixed], units[mixed], 0.4)
    assert second.value == pytest.approx(first.value, rel=1e-12)
    assert second.limits(1.96) == pytest.approx(first.limits(1.96), rel=1e-9)


def test_rows_that_stand_twice_in_a_cluster_are_one() -> None:
    """Clusters of two equal rows have about the limits of one row each."""
    rng = np.random.default_rng(6)
    numbers = rng.normal(size=120)
    doubled = quantile_of_rows(np.tile(numbers, 2), None, np.tile(np.arange(120), 2), 0.5)
    alone = quantile_of_rows(numbers, None, None, 0.5)
    assert doubled.size == pytest.approx(120)
    # within the space of two rows on either side
    ascending = np.sort(numbers)
    places = np.searchsorted(ascending, doubled.limits(1.96))
    wanted = np.searchsorted(ascending, alone.limits(1.96))
    assert np.abs(places - wanted).max() <= 2
    as_rows = quantile_of_rows(np.tile(numbers, 2), None, None, 0.5)
    assert np.ptp(as_rows.limits(1.96)) < 0.85 * np.ptp(doubled.limits(1.96))


def test_too_few_effective_rows_or_clusters_are_no_evidence() -> None:
    table = people((60, 60))
    weight = np.ones(120)
    weight[:3] = 200.0
    with pytest.warns(InsufficientEvidenceWarning, match="effective rows, and quantiles need 20"):
        few = fs.means(
            table["y"],
            sensitive_features=table["sensitive_features"],
            statistic="median",
            sample_weight=weight,
        )
    assert few.verdict == "insufficient evidence"
    unit = [f"{name}{place % 12}" for place, name in enumerate(table["sensitive_features"])]
    with pytest.warns(InsufficientEvidenceWarning, match="clusters, and quantiles need 20"):
        few = fs.means(
            table["y"],
            sensitive_features=table["sensitive_features"],
            statistic=0.7,
            cluster=unit,
        )
    assert few.verdict == "insufficient evidence"
    assert math.isfinite(few["b"].rate)


def test_clusters_of_two_groups_are_refused() -> None:
    table = people()
    with pytest.raises(fs.InputError, match="cluster"):
        fs.means(
            table["y"],
            sensitive_features=table["sensitive_features"],
            statistic="median",
            cluster=np.arange(table["y"].size) % 9,
        )


def test_strata_have_weighted_quantiles() -> None:
    """One stratum is the crude comparison; more are joined from their own by hand."""
    table = people((300, 260), seed=7)
    options = {"statistic": "median", "sample_weight": table["sample_weight"], "reference": "a"}
    rows = {"y": table["y"], "sensitive_features": table["sensitive_features"]}
    one = fs.means(**rows, **options, strata=np.zeros(560))
    assert one.stratified["b"].estimate == one["b"].estimate
    assert tuple(one.stratified["b"].confidence_interval) == tuple(one["b"].confidence_interval)
    stratum = np.arange(560) % 3
    many = fs.means(**rows, **options, strata=stratum).stratified["b"]
    total = 0.0
    whole = 0.0
    for place in range(3):
        inside = stratum == place
        weight = table["sample_weight"][inside]
        sums = [weight[table["sensitive_features"][inside] == name].sum() for name in ("a", "b")]
        share = sums[0] * sums[1] / (sums[0] + sums[1])
        part = fs.means(
            table["y"][inside],
            sensitive_features=table["sensitive_features"][inside],
            statistic="median",
            sample_weight=weight,
            reference="a",
        )
        total += share * part.estimate
        whole += share
    assert many.estimate == pytest.approx(total / whole)


def test_a_result_goes_through_a_file() -> None:
    result = fs.means(**columns("sample_weight", "cluster"), statistic="median")
    again = decode(json.loads(json.dumps(result.to_dict())))
    assert tuple(again.confidence_interval) == tuple(result.confidence_interval)


@pytest.mark.r
@pytest.mark.parametrize("design", [("sample_weight",), ("cluster",), ("sample_weight", "cluster")])
@pytest.mark.parametrize(
    "options",
    [
        {"statistic": "median", "margin": 0.5},
        {"statistic": 0.8, "contrast": "ratio", "comparisons": "rest"},
    ],
)
def test_r_agrees(options: dict[str, Any], design: tuple[str, ...]) -> None:
    data = columns(*design)
    result = fs.means(**data, **options)
    table = fs.crosscheck(result, data=data).to_frame()
    assert set(table["verdict"]) == {"agrees"}
    assert len(table) >= 30


@pytest.mark.r
def test_r_agrees_within_strata() -> None:
    data = columns("sample_weight", n=(300, 260))
    stratum = np.arange(560) % 3
    cluster = [
        f"{name}{place}{k % 31}"
        for k, (name, place) in enumerate(zip(data["sensitive_features"], stratum, strict=True))
    ]
    data |= {"strata": stratum, "cluster": np.array(cluster)}
    result = fs.means(**data, statistic="median").stratified
    assert result["b"].n_strata == 3
    table = fs.crosscheck(result, data=data).to_frame()
    assert set(table["verdict"]) == {"agrees"}
    assert len(table) >= 20


@pytest.mark.r
def test_the_function_of_r_answers_alike() -> None:
    from fairstats.ground.rsession import call

    data = columns("sample_weight", "cluster")
    found = call(
        "fs_means",
        **{name: np.asarray(column).tolist() for name, column in data.items()},
        statistic="median",
    )
    result = fs.means(**data, statistic="median")
    assert found["estimate"] == pytest.approx([row.estimate for row in result])
    assert found["ci_low"] == pytest.approx([row.confidence_interval.low for row in result])
    assert found["pvalue"] == pytest.approx([row.pvalue for row in result], rel=1e-5)


def test_few_effective_rows_beyond_a_weighted_quantile_are_said() -> None:
    rng = np.random.default_rng(9)
    numbers = rng.normal(size=720)
    rows = {
        "y": numbers,
        "sensitive_features": np.repeat(["a", "b"], [600, 120]),
        "statistic": 0.9,
    }
    rising = fs.means(**rows, sample_weight=np.exp(0.83 * numbers))
    assert any("effective rows lie beyond a quantile" in note for note in rising.notes())
    plain = fs.means(**rows)
    assert not any("effective rows" in note for note in plain.notes())


@pytest.mark.parametrize("order", [0.5, 0.8])
def test_the_study_decides_as_the_public_function(order: float) -> None:
    sampling = study.Sampling(0.5, rows=5)
    rng = np.random.default_rng(11)
    for _ in range(5):
        pair = (sampling.draw(rng, 45), sampling.draw(rng, 60))
        limits = study.decide(pair, order)
        assert limits is not None
        names = np.repeat(["g", "r"], [pair[0].numbers.size, pair[1].numbers.size])
        units = np.concatenate([pair[0].units, 100 + pair[1].units])
        result = fs.means(
            np.concatenate([part.numbers for part in pair]),
            sensitive_features=names,
            sample_weight=np.concatenate([part.weights for part in pair]),
            cluster=units,
            statistic=order,
            reference="r",
        )
        assert tuple(result.confidence_interval) == pytest.approx(limits[:2], rel=1e-12)
