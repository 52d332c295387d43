"""Numbers and scores within strata whose clusters lie in several of them.

Witnesses: estimates are those of clusters that lie in one stratum each (whose estimates R's survey
has: `test_weighted_quantiles.py`, `test_calibration_means.py`); standard errors leave out, or sum what
is linearised over, whole clusters by hand; our twin in base R.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairstats as fs
from fairstats.ground.serialise import decode
from fairstats.numerics.means.shared_units import (
    correlations_of,
    degrees_of_freedom,
    products_between_strata,
    root_of_products,
)
from tests.methods.rates.numbers.test_stratified_pooled import compare, designed, people

DRAWS: dict[str, Any] = {"n_resamples": 199, "rng": 1}
#: What clusters that lie in several strata had no comparison of.
WHAT = [
    ("means", {"statistic": "median"}),
    ("means", {"statistic": 0.6, "contrast": "ratio"}),
    ("means", {"contrast": "standardised_difference", **DRAWS}),
    ("errors", {"metric": "r_squared", **DRAWS}),
    ("scores", {"metric": "auc"}),
    ("scores", {"metric": "auc", "contrast": "ratio"}),
    ("scores", {"metric": "discrimination"}),
    ("scores", {"metric": "uncertainty"}),
    ("fits", {"metric": "slope"}),
    ("fits", {"metric": "intercept"}),
]
COMPARISONS = ["reference", "rest", "overall"]

pytestmark = pytest.mark.filterwarnings(
    "ignore:(calibration|median|quantile|discrimination|uncertainty|auc|r_squared|standardised)"
)


def visits(n: int = 1200, seed: int = 1, common: float = 0.8) -> pd.DataFrame:
    """People whose rows in all branches have much in common."""
    frame = people(n, seed)
    rng = np.random.default_rng(seed)
    persons = {name: rng.normal() for name in sorted(set(frame["person"]))}
    share = frame["person"].map(persons).to_numpy()
    noise = math.sqrt(common) * share + math.sqrt(1 - common) * rng.normal(size=n)
    frame["wage"] = np.exp(1 + 0.3 * frame["branch"] + 0.5 * noise)
    frame["predicted"] = frame["wage"] * np.exp(0.3 * rng.normal(size=n) + 0.1 * share)
    chance = np.where(rng.random(n) < common, 1 / (1 + np.exp(-1.7 * share)), rng.random(n))
    frame["label"] = (chance < frame["risk"]).astype(int)
    return frame


def options_of(comparisons: str) -> dict[str, Any]:
    named = {"reference": "a"} if comparisons == "reference" else {}
    return {"comparisons": comparisons, **named}


@pytest.mark.parametrize("comparisons", COMPARISONS)
@pytest.mark.parametrize(("what", "options"), WHAT)
def test_estimates_do_not_depend_on_where_clusters_lie(
    what: str, options: dict[str, Any], comparisons: str
) -> None:
    frame = visits()
    options = {**options, **options_of(comparisons)}
    together = compare(frame, what, cluster=frame["person"], **options).stratified
    apart = compare(
        frame, what, cluster=frame["person"] + frame["branch"].astype(str), **options
    ).stratified
    wider = 0
    for row, other in zip(together.comparisons, apart.comparisons, strict=True):
        for name in ("estimate", "rate", "rate_reference", "n", "n_reference", "n_strata"):
            assert getattr(row, name) == pytest.approx(getattr(other, name), rel=1e-12)
        low, high = row.confidence_interval
        assert low < row.estimate < high
        wider += int(row.std_error > other.std_error)
        # strata that share people are not independent: nothing tests them
        assert math.isnan(row.pvalue_homogeneity)
        assert all(test.alternative != "heterogeneity" for test in row.tests)
    # what a person's rows have in common counts: but for parts of the Brier score, in nearly all
    if options.get("metric") not in ("discrimination", "uncertainty", "slope", "r_squared"):
        assert wider >= len(together.comparisons) - 1
    again = decode(json.loads(json.dumps(together.to_dict())))
    pd.testing.assert_frame_equal(again.to_frame(), together.to_frame())
    pd.testing.assert_frame_equal(again.by_stratum(), together.by_stratum())


def left_out(frame: pd.DataFrame, statistic: Callable[[pd.DataFrame], float], group: str) -> float:
    """The jackknife's variance that leaves out one person of a group at a time, over all strata."""
    persons = frame.loc[frame["group"] == group, "person"].unique()
    values = np.array([statistic(frame[frame["person"] != person]) for person in persons])
    return float((persons.size - 1) / persons.size * ((values - values.mean()) ** 2).sum())


def area(label: Any, score: Any) -> float:
    above = np.asarray(score)[np.asarray(label) == 1]
    below = np.asarray(score)[np.asarray(label) == 0]
    return float(np.mean((np.sign(above[:, None] - below) + 1) / 2))


def shares_of(frame: pd.DataFrame, groups: tuple[str, str], *, positives: bool) -> pd.Series:
    """Weights of Mantel and Haenszel of the branches."""
    counted = frame[frame["label"] == 1] if positives else frame
    sizes = counted.groupby(["group", "branch"]).size()
    weight = sizes[groups[0]] * sizes[groups[1]] / (sizes[groups[0]] + sizes[groups[1]])
    return weight / weight.sum()


def test_areas_have_the_error_of_whole_clusters() -> None:
    frame = visits(600)
    result = compare(frame, "scores", cluster=frame["person"], reference="a").stratified
    shares = shares_of(frame, ("b", "a"), positives=True)
    areas = result.stratum_areas
    for group in "ab":
        place = result.stratum_moments.groups.index(group)
        covariance = areas.covariance[place]
        variance = float(shares.to_numpy() @ covariance @ shares.to_numpy())

        def adjusted(rows: pd.DataFrame, group: str = group) -> float:
            own = rows[rows["group"] == group]
            of_branch = {
                branch: area(part["label"], part["risk"]) for branch, part in own.groupby("branch")
            }
            return float(sum(shares[branch] * value for branch, value in of_branch.items()))

        # an area is a ratio of sums over pairs: near the jackknife, not its own
        by_jackknife = math.sqrt(left_out(frame, adjusted, group))
        assert math.sqrt(variance) == pytest.approx(by_jackknife, rel=0.05)
        # and beyond what independent strata would have
        assert variance > float(shares.to_numpy() ** 2 @ np.diag(covariance)) * 1.05


def test_r_squared_leaves_out_whole_clusters() -> None:
    """The jackknife by hand: whole clusters of either group, of all strata."""
    frame = visits(500)
    result = compare(
        frame, "errors", metric="r_squared", cluster=frame["person"], reference="a", **DRAWS
    ).stratified
    shares = shares_of(frame, ("b", "a"), positives=False)
    clusters = frame.groupby(["group", "branch"])["person"].agg(
        lambda names: names.value_counts().sum() ** 2 / (names.value_counts() ** 2).sum()
    )

    def difference(rows: pd.DataFrame) -> float:
        values = {}
        for group in "ab":
            units = clusters[group]
            kept = units / (units - 1) * (units.sum() - 1) / units.sum()
            own = rows[rows["group"] == group]
            loss = ((own["predicted"] - own["wage"]) ** 2).groupby(own["branch"]).mean()
            spread = own.groupby("branch")["wage"].var(ddof=0)
            values[group] = 1 - (shares * loss).sum() / (shares * kept * spread).sum()
        return float(values["b"] - values["a"])

    row = result["b"]
    assert row.estimate == pytest.approx(difference(frame), rel=1e-9)
    variance = sum(left_out(frame, difference, group) for group in "ab")
    assert row.std_error == pytest.approx(math.sqrt(variance), rel=1e-8)


def test_standardised_differences_have_the_error_of_whole_clusters() -> None:
    frame = visits(600)
    # the delta method is near the jackknife where no long tail is
    frame["wage"] = np.log(frame["wage"])
    result = compare(
        frame,
        "means",
        contrast="standardised_difference",
        cluster=frame["person"],
        reference="a",
        **DRAWS,
    ).stratified
    shares = shares_of(frame, ("b", "a"), positives=False)

    def standardised(rows: pd.DataFrame) -> float:
        means = rows.groupby(["group", "branch"])["wage"].mean()
        spread = rows.groupby(["group", "branch"])["wage"].var(ddof=0)
        distance = (shares * (means["b"] - means["a"])).sum()
        return float(distance / math.sqrt((shares * (spread["a"] + spread["b"])).sum() / 2))

    # by the delta method, and with strata's variances a hundredth larger
    variance = sum(left_out(frame, standardised, group) for group in "ab")
    assert result["b"].std_error == pytest.approx(math.sqrt(variance), rel=0.06)


def test_coefficients_have_the_error_of_whole_clusters() -> None:
    frame = visits(900)
    result = compare(
        frame, "fits", metric="intercept", cluster=frame["person"], reference="a"
    ).stratified
    table = result.by_stratum()
    shares = table[table["group"] == "b"].set_index("stratum")["weight"]
    variance = 0.0
    for group in "ab":
        own = frame[frame["group"] == group]
        steps = pd.Series(0.0, index=sorted(set(own["person"])))
        for branch, rows in own.groupby("branch"):
            logits = np.log(rows["risk"] / (1 - rows["risk"]))
            intercept = _intercept(rows["label"].to_numpy(), logits.to_numpy())
            fitted = 1 / (1 + np.exp(-(intercept + logits)))
            scores = (rows["label"] - fitted).groupby(rows["person"]).sum()
            information = (fitted * (1 - fitted)).groupby(rows["person"]).sum()
            moved = scores / (information.sum() - information)
            factor = math.sqrt((len(moved) - 1) / len(moved))
            steps[moved.index] += shares[str(branch)] * factor * moved
        variance += float((steps**2).sum())
    # limits at one standard error by Student's t of the clusters of every stratum
    assert result["b"].std_error == pytest.approx(math.sqrt(variance), rel=0.03)


def _intercept(label: np.ndarray, logits: np.ndarray) -> float:
    """α with the slope 1, by Newton's steps."""
    value = 0.0
    for _ in range(50):
        fitted = 1 / (1 + np.exp(-(value + logits)))
        value += float((label - fitted).sum() / (fitted * (1 - fitted)).sum())
    return value


def test_medians_are_joined_with_the_correlations_of_shares_below() -> None:
    frame = visits(900)
    result = compare(
        frame, "means", statistic="median", cluster=frame["person"], reference="a"
    ).stratified
    row = result["b"]
    table = result.by_stratum()
    shares = table[table["group"] == "b"]["weight"].to_numpy()
    own = frame[frame["group"] == "b"]
    distances = []
    moved: dict[Any, pd.Series] = {}
    for branch, rows in own.groupby("branch"):
        alone = fs.means(
            pd.concat([rows["wage"], rows["wage"]]),
            sensitive_features=np.repeat(["x", "y"], len(rows)),
            statistic="median",
            cluster=pd.concat([rows["person"] + "x", rows["person"] + "y"]),
            reference="y",
        )["x"]
        distances.append(
            [alone.rate - alone.value_interval.low, alone.value_interval.high - alone.rate]
        )
        # the median of an odd number of rows is one of them, but for the last digit
        below = (rows["wage"] <= alone.rate * (1 + 1e-12)).astype(float)
        moved[branch] = (below - below.mean()).groupby(rows["person"]).sum()
    sums = pd.DataFrame(moved).fillna(0.0).to_numpy()
    products = sums.T @ sums
    scale = np.sqrt(np.diag(products))
    correlations = products / scale / scale[:, None]
    below, above = (shares * np.array(distances).T[side] for side in (0, 1))
    assert correlations[0, 1] > 0.2
    assert row.rate - row.value_interval.low == pytest.approx(
        math.sqrt(below @ correlations @ below), rel=1e-9
    )
    assert row.value_interval.high - row.rate == pytest.approx(
        math.sqrt(above @ correlations @ above), rel=1e-9
    )


def test_few_clusters_in_many_strata_are_few() -> None:
    """Eight people in three branches are eight, not twenty-four."""
    frame = visits(900)
    few = frame[(frame["group"] != "c") | frame["person"].isin([f"c{k}" for k in range(8)])]
    few = pd.concat([few, few[few["group"] == "c"], few[few["group"] == "c"]], ignore_index=True)
    result = compare(few, "scores", cluster=few["person"], reference="a").stratified
    assert result["c"].verdict == "insufficient evidence"
    assert "adjusted areas need 9" in result["c"].note or "no stratum has" in result["c"].note


@pytest.mark.parametrize("engine", ["rows", "duckdb"])
def test_a_tally_of_numbers_names_what_holds_such_clusters(engine: Any) -> None:
    frame = people(200)
    columns = {"sensitive_features": "group", "cluster": "person", "outcome": "wage"}
    with pytest.raises(
        fs.InputError, match="more than one group or stratum.*To fix: pass the rows"
    ):
        fs.tally(frame, strata="branch", engine=engine, **columns)
    # without strata each lies in one group
    assert fs.tally(frame, engine=engine, **columns).numbers().clustered


def test_sums_over_units() -> None:
    """By hand: two units in two strata, one in one."""
    unit = np.array([5, 5, 7, 7, 9])
    cell = np.array([0, 2, 0, 2, 2])
    values = np.array([1.0, 2.0, -3.0, 1.0, 4.0])
    products = products_between_strata(unit, cell, values, (2, 2))
    assert products[0].tolist() == [[10.0, -1.0], [-1.0, 21.0]]
    assert not products[1].any()
    correlations = correlations_of(products)
    assert correlations[0][0, 1] == pytest.approx(-1 / math.sqrt(210))
    assert np.diag(correlations[1]).tolist() == [1.0, 1.0]
    distances = np.array([3.0, 4.0])
    assert root_of_products(distances, None) == 5.0
    assert root_of_products(distances, np.ones((2, 2))) == pytest.approx(7.0)
    assert root_of_products(np.array([3.0, math.inf]), np.ones((2, 2))) == math.inf
    # n units of one stratum have n − 1 degrees of freedom; the same in two strata as well
    assert degrees_of_freedom(np.ones(1), np.array([[0.1]])) == pytest.approx(9.0)
    assert degrees_of_freedom(np.ones(2), np.full((2, 2), 0.1)) == pytest.approx(9.0)


# ---------------------------------------------------------------- R

NAMES = {
    "means": {"y": "wage"},
    "errors": {"y_true": "wage", "y_pred": "predicted"},
    "scores": {"y_true": "label", "score": "risk"},
    "fits": {"y_true": "label", "score": "risk"},
}


@pytest.mark.r
@pytest.mark.parametrize("comparisons", COMPARISONS)
@pytest.mark.parametrize(("what", "options"), WHAT)
def test_every_number_of_shared_clusters_is_recomputed_in_r(
    what: str, options: dict[str, Any], comparisons: str
) -> None:
    frame = people(900 if what in ("fits", "scores") else 500)
    options = {**options, **options_of(comparisons)}
    if "n_resamples" in options:
        # R draws, and leaves out, slowly
        frame = people(400)
    columns = designed(frame, "clusters" if what == "errors" else "weights and clusters")
    result = compare(frame, what, **options, **columns).stratified
    data = {"sensitive_features": frame["group"].to_numpy(), "strata": frame["branch"].to_numpy()}
    for argument, name in NAMES[what].items():
        data[argument] = frame[name].to_numpy()
    data.update({argument: column.to_numpy() for argument, column in columns.items()})
    table = fs.crosscheck(result, data=data).to_frame()
    wrong = table[~table["verdict"].isin(["agrees", "within Monte Carlo error"])]
    # draws of both languages are others: one p-value near 1 may lie beyond its error
    allowed = 1 if "n_resamples" in options else 0
    assert len(wrong) <= allowed, wrong
    assert len(table) >= 30


@pytest.mark.r
@pytest.mark.parametrize("comparisons", COMPARISONS)
def test_functions_of_r_take_clusters_in_several_strata(comparisons: str) -> None:
    from fairstats.ground.rsession import call

    frame = people()
    columns: dict[str, Any] = {
        "sensitive_features": frame["group"].tolist(),
        "strata": frame["branch"].astype(str).tolist(),
        "cluster": frame["person"].tolist(),
        **options_of(comparisons),
    }
    scored = {"y_true": frame["label"].to_numpy(), "score": frame["risk"].to_numpy()}
    asked: list[Any] = [
        ("fs_means", {"y": frame["wage"].to_numpy()}, "means", {"statistic": "median"}),
        ("fs_calibration", scored, "fits", {"metric": "slope"}),
        ("fs_scores", scored, "scores", {"metric": "auc"}),
        ("fs_scores", scored, "scores", {"metric": "miscalibration"}),
    ]
    for function, arguments, what, options in asked:
        found = call(function, **arguments, **options, **columns)
        rows = compare(
            frame, what, cluster=frame["person"], **options, **options_of(comparisons)
        ).stratified.comparisons
        for column, expected in (
            ("adjusted", [row.estimate for row in rows]),
            ("adjusted_pvalue", [row.pvalue for row in rows]),
            ("adjusted_ci_low", [row.confidence_interval.low for row in rows]),
        ):
            there = np.atleast_1d(found[column]).astype(float)
            assert there == pytest.approx(expected, rel=1e-6), (function, column)
