"""`strata=` of weighted and clustered rates.

Witnesses: the crude comparison where there is one stratum, the unweighted one where weights say
nothing, influence values row by row, and R's survey (`tests/r/test_rates_twins.py`).
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

import fairstats as fs
from fairstats.ground.registry import SELECTED, find_metric
from fairstats.ground.serialise import decode, encode
from fairstats.methods.rates.strata.compare import adjusted
from fairstats.methods.rates.strata.design import pair_tables

sys.path.insert(
    0, str(Path(__file__).resolve().parents[3])
)  # the folder of studies is no part of the package

from tests.calibration import strata_designs as study

ROWS = 400


def people(seed: int = 3) -> pd.DataFrame:
    """Rows whose rates differ by group, stratum and label; clusters lie in several strata."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "group": rng.choice(["a", "b"], ROWS, p=[0.35, 0.65]),
            "stratum": rng.choice(["x", "y", "z"], ROWS, p=[0.2, 0.5, 0.3]),
            "label": rng.integers(0, 2, ROWS),
            "weight": rng.lognormal(0, 0.7, ROWS),
            "cluster": rng.integers(0, 60, ROWS),
        }
    )
    chance = 0.3 + 0.2 * (frame["stratum"] == "y") + 0.15 * (frame["group"] == "b")
    frame["chosen"] = (rng.random(ROWS) < chance).astype(int)
    # clusters that lie within one stratum
    frame["nested"] = frame["stratum"] + (frame["cluster"] % 20).astype(str)
    return frame


FRAME = people()
DESIGNS: dict[str, dict[str, str]] = {
    "weights": {"sample_weight": "weight"},
    "clusters": {"cluster": "cluster"},
    "both": {"sample_weight": "weight", "cluster": "cluster"},
    "nested": {"sample_weight": "weight", "cluster": "nested"},
}


def compared(
    contrast: str, metric: str = "selection_rate", frame: pd.DataFrame = FRAME, **columns: Any
) -> Any:
    options = {}
    for name, column in columns.items():
        is_column = isinstance(column, str) and column in frame
        options[name] = frame[column] if is_column else column
    return fs.group_metric(
        y_true=None if metric == "selection_rate" else frame["label"],
        y_pred=frame["chosen"],
        metric=metric,
        contrast=contrast,
        sensitive_features=frame["group"],
        reference="b",
        **options,
    )


CONTRASTS = ("ratio", "difference", "odds_ratio")


@pytest.mark.parametrize("design", ["weights", "clusters", "both"])
@pytest.mark.parametrize("contrast", CONTRASTS)
def test_one_stratum_is_the_crude_comparison(contrast: str, design: str) -> None:
    """Estimate, error, limits and p-values, though code and sums are others'."""
    found = compared(contrast, strata=np.zeros(ROWS, dtype=int), **DESIGNS[design])
    crude = found.comparisons[0]
    (within,) = found.stratified.comparisons
    for name in ("estimate", "std_error", "rate", "rate_reference", "statistic", "pvalue"):
        assert getattr(within, name) == pytest.approx(getattr(crude, name), rel=1e-9), name
    # scores of odds ratios weigh both rates otherwise, but at equality
    for end in () if contrast == "odds_ratio" else ("low", "high"):
        wanted = getattr(crude.confidence_interval, end)
        assert getattr(within.confidence_interval, end) == pytest.approx(wanted, rel=1e-7)
    assert within.procedure.df == pytest.approx(crude.procedure.df, rel=1e-9)
    assert within.method == f"stratified {crude.method}"


@pytest.mark.parametrize("contrast", CONTRASTS)
def test_weights_that_are_equal_within_group_and_stratum_say_nothing(contrast: str) -> None:
    plain = compared(contrast, strata="stratum").stratified
    code = pd.factorize(FRAME["group"] + FRAME["stratum"])[0]
    weighted = compared(contrast, strata="stratum", sample_weight=1.7 + code).stratified
    drop = ["crude", "crude_verdict"]
    assert_frame_equal(plain.to_frame().drop(columns=drop), weighted.to_frame().drop(columns=drop))


def by_hand(frame: pd.DataFrame, contrast: str, unit: str | None) -> tuple[float, float]:
    """The estimate of Mantel and Haenszel by weights, and its error: every row's influence, summed
    over the rows of its sampling unit in all strata.
    """
    total = 0.0
    reference_total = 0.0
    influence = np.zeros(len(frame))
    pieces = []
    for _, rows in frame.groupby("stratum"):
        own = rows[rows["group"] == "a"]
        others = rows[rows["group"] == "b"]
        size = own["weight"].sum()
        other_size = others["weight"].sum()
        share = size * other_size / (size + other_size)
        rate = np.average(own["chosen"], weights=own["weight"])
        other_rate = np.average(others["chosen"], weights=others["weight"])
        if contrast == "odds_ratio":
            total += share * rate * (1 - other_rate)
            reference_total += share * other_rate * (1 - rate)
        else:
            total += share * rate
            reference_total += share * other_rate
        pieces.append((own.index, others.index, share, rate, other_rate, size, other_size))
    estimate = total / reference_total
    below = reference_total
    if contrast == "difference":
        below = sum(piece[2] for piece in pieces)
        estimate = (total - reference_total) / below
    for own_index, other_index, share, rate, other_rate, size, other_size in pieces:
        slope, other_slope = 1.0, estimate
        if contrast == "difference":
            other_slope = 1.0
        if contrast == "odds_ratio":
            slope = 1 - other_rate + estimate * other_rate
            other_slope = rate + estimate * (1 - rate)
        for index, factor, of, weights in (
            (own_index, share * slope, rate, size),
            (other_index, -share * other_slope, other_rate, other_size),
        ):
            rows = frame.loc[index]
            influence[index] = factor * rows["weight"] * (rows["chosen"] - of) / weights
    units = pd.Series(influence).groupby(frame[unit] if unit else frame.index).sum()
    n = len(units)
    return estimate, math.sqrt((units**2).sum() * n / (n - 1)) / below


@pytest.mark.parametrize("unit", [None, "cluster", "nested"])
@pytest.mark.parametrize("contrast", CONTRASTS)
def test_estimate_and_error_row_by_row(contrast: str, unit: str | None) -> None:
    columns = {"sample_weight": "weight", **({"cluster": unit} if unit else {})}
    (within,) = compared(contrast, strata="stratum", **columns).stratified.comparisons
    estimate, error = by_hand(FRAME, contrast, unit)
    assert within.estimate == pytest.approx(estimate, rel=1e-12)
    assert within.std_error == pytest.approx(error, rel=1e-10)


def test_means_of_numbers_have_the_same_estimate() -> None:
    """A rate is the mean of zeros and ones: one weight of strata for both."""
    mean = fs.means(
        FRAME["chosen"],
        sensitive_features=FRAME["group"],
        strata=FRAME["stratum"],
        sample_weight=FRAME["weight"],
        reference="b",
    )
    rate = compared("difference", strata="stratum", sample_weight="weight")
    assert rate.stratified.estimate == pytest.approx(mean.stratified.estimate, rel=1e-12)


@pytest.mark.parametrize("design", list(DESIGNS))
def test_a_one_sided_limit_is_where_its_test_stands_at_five_percent(design: str) -> None:
    """The threshold at the lower limit of a ratio: p = .05 of H0: ratio ≤ threshold."""
    columns = {"strata": "stratum", "alternative": "greater", **DESIGNS[design]}
    end = compared("ratio", **columns).stratified.comparisons[0].confidence_interval.low
    assert 0 < end < 1
    there = compared("ratio", **columns, threshold=end).stratified.comparisons[0]
    assert there.pvalue == pytest.approx(0.05, rel=1e-6)


def test_swapping_groups_inverts_the_ratio() -> None:
    there = compared("ratio", strata="stratum", cluster="cluster").stratified.comparisons[0]
    swapped = FRAME.assign(group=FRAME["group"].map({"a": "b", "b": "a"}))
    back = compared("ratio", frame=swapped, strata="stratum", cluster="cluster")
    (inverse,) = back.stratified.comparisons
    assert inverse.estimate == pytest.approx(1 / there.estimate, rel=1e-12)
    assert inverse.pvalue == pytest.approx(there.pvalue, rel=1e-9)
    low = 1 / there.confidence_interval.high
    assert inverse.confidence_interval.low == pytest.approx(low, rel=1e-7)


def test_average_odds_and_clusters() -> None:
    """The mean of two differences; groups and rates share clusters, which the statistic knows."""
    found = compared("difference", "average_odds", strata="stratum", cluster="cluster")
    (within,) = found.stratified.comparisons
    parts = []
    for metric in ("tpr", "fpr"):
        part = compared("difference", metric, strata="stratum", cluster="cluster")
        parts.append(part.stratified.estimate)
    assert within.estimate == pytest.approx(np.mean(parts), rel=1e-12)
    assert within.method == "stratified score (effective clusters)"
    crude = found.comparisons[0]
    one = compared("difference", "average_odds", strata=np.zeros(ROWS, int), cluster="cluster")
    (alone,) = one.stratified.comparisons
    assert alone.std_error == pytest.approx(crude.std_error, rel=1e-9)
    assert alone.pvalue == pytest.approx(crude.pvalue, rel=1e-6)


@pytest.mark.parametrize("design", ["weights", "both"])
def test_rows_tallies_files_and_engines_agree(design: str) -> None:
    columns = DESIGNS[design]
    rows = compared("ratio", "tpr", strata="stratum", **columns).stratified
    tallied = {"y_true": "label", "y_pred": "chosen", "sensitive_features": "group"}
    one = fs.tally(FRAME, **tallied, strata="stratum", **columns)
    whole = fs.Tally.from_json(one.to_json())
    engine = fs.tally(FRAME, **tallied, strata="stratum", **columns, engine="duckdb")
    for counted in (one, whole, engine):
        result = fs.group_metric(counts=counted, metric="tpr", contrast="ratio", reference="b")
        frame = result.stratified.to_frame()
        assert_frame_equal(frame, rows.to_frame(), rtol=1e-9)
    again: Any = decode(json.loads(json.dumps(encode(rows))))
    assert_frame_equal(again.to_frame(), rows.to_frame())
    assert_frame_equal(again.by_stratum(), rows.by_stratum())


def test_homogeneity_wants_independent_strata() -> None:
    nested = compared("ratio", strata="stratum", **DESIGNS["nested"]).stratified.comparisons[0]
    spread = compared("ratio", strata="stratum", **DESIGNS["both"]).stratified.comparisons[0]
    assert 0 < nested.pvalue_homogeneity < 1
    assert math.isnan(spread.pvalue_homogeneity)
    assert not [test for test in spread.tests if test.alternative == "heterogeneity"]
    # three strata with rates of their own: far from one ratio
    frame = FRAME.assign(
        chosen=np.where(FRAME["stratum"] == "x", FRAME["group"] == "a", FRAME["chosen"]).astype(int)
    )
    other = compared("difference", frame=frame, strata="stratum", sample_weight="weight")
    assert other.stratified.comparisons[0].pvalue_homogeneity < 1e-6


def test_too_few_clusters_have_no_verdict() -> None:
    frame = FRAME.assign(few=FRAME["stratum"])
    with pytest.warns(fs.FairstatsWarning, match="too few for an interval"):
        found = compared("ratio", frame=frame, strata="stratum", cluster="few")
    (within,) = found.stratified.comparisons
    assert within.verdict == "insufficient evidence"
    assert math.isnan(within.pvalue)
    assert "clusters beyond those that the rates of the strata take" in within.note


def test_every_stratum_has_weighted_rates() -> None:
    within = compared("difference", strata="stratum", sample_weight="weight").stratified
    table = within.by_stratum().set_index("stratum")
    for stratum, rows in FRAME.groupby("stratum"):
        own = rows[rows["group"] == "a"]
        rate = np.average(own["chosen"], weights=own["weight"])
        assert table.loc[stratum, "rate"] == pytest.approx(rate, rel=1e-12)
        assert table.loc[stratum, "n"] == len(own)
        row = table.loc[stratum]
        assert row["ci_low"] < row["estimate"] < row["ci_high"]


@pytest.mark.parametrize("design", ["plain", *DESIGNS])
def test_the_rest_is_all_other_groups_as_one(design: str) -> None:
    columns = DESIGNS.get(design, {})
    three = FRAME.assign(group=FRAME["group"].where(FRAME.index % 3 > 0, "c"))
    found = compared_with("rest", three, **columns)
    pooled = three.assign(group=np.where(three["group"] == "a", "a", "b"))
    wanted = compared("ratio", frame=pooled, strata="stratum", **columns).stratified
    one = found.stratified["a"]
    assert one.reference == "all but a"
    for name in ("estimate", "std_error", "pvalue", "n", "n_reference"):
        assert getattr(one, name) == pytest.approx(getattr(wanted.comparisons[0], name), rel=1e-9)


@pytest.mark.parametrize("design", ["plain", *DESIGNS])
@pytest.mark.parametrize("contrast", ["ratio", "difference"])
def test_everybody_within_strata(contrast: str, design: str) -> None:
    """The statistic at equality is that of the rest; with one stratum all is as without strata."""
    columns = DESIGNS.get(design, {})
    overall = compared_with("overall", FRAME, contrast, **columns)
    rest = compared_with("rest", FRAME, contrast, **columns)
    for of_all, of_rest in zip(overall.stratified, rest.stratified, strict=True):
        assert of_all.statistic == pytest.approx(of_rest.statistic, rel=1e-9)
        assert of_all.reference == "all"
        assert of_all.n_reference == ROWS
    (one, *_) = compared_with("overall", FRAME.assign(stratum=1), contrast, **columns).stratified
    crude = overall.comparisons[0]
    for name in ("estimate", "rate", "rate_reference"):
        assert getattr(one, name) == pytest.approx(getattr(crude, name), rel=1e-9), name
    if crude.procedure.exact:
        return  # without strata few rows are judged exactly
    assert one.pvalue == pytest.approx(crude.pvalue, rel=1e-9)
    for end in ("low", "high"):
        wanted = getattr(crude.confidence_interval, end)
        assert getattr(one.confidence_interval, end) == pytest.approx(wanted, rel=1e-7)


def test_everybody_is_what_is_expected() -> None:
    """Observed over expected successes: those of the group at everybody's rate in each stratum."""
    observed = 0.0
    expected = 0.0
    for _, rows in FRAME.groupby("stratum"):
        own = rows.loc[rows["group"] == "a", "chosen"]
        observed += own.sum()
        expected += len(own) * rows["chosen"].mean()
    cases = (FRAME["group"] == "a").sum()
    ratio = compared_with("overall", FRAME)
    difference = compared_with("overall", FRAME, "difference")
    assert ratio.stratified["a"].estimate == pytest.approx(observed / expected, rel=1e-12)
    wanted = (observed - expected) / cases
    assert difference.stratified["a"].estimate == pytest.approx(wanted, rel=1e-12)


def compared_with(
    comparisons: str, frame: pd.DataFrame, contrast: str = "ratio", **columns: Any
) -> Any:
    options = {name: frame[column] for name, column in columns.items()}
    return fs.group_metric(
        y_pred=frame["chosen"],
        metric="selection_rate",
        contrast=contrast,
        sensitive_features=frame["group"],
        strata=frame["stratum"],
        comparisons=comparisons,
        **options,
    )


@pytest.mark.parametrize("contrast", CONTRASTS)
def test_the_study_decides_as_the_functions_do(contrast: str) -> None:
    """The cells of the published table, sample by sample."""
    truth = {"ratio": 0.8, "difference": 0.1, "odds_ratio": 0.8}[contrast]
    setting = study.Setting(
        (20, 30, 15), (60, 80, 40), (0.3, 0.6), contrast, truth, cv=0.7, cluster=3, icc=0.3
    )
    rng = np.random.default_rng(4)
    for _ in range(4):
        counts = setting.draw(rng)
        pair = pair_tables(counts, [SELECTED], contrast, "a", "b")
        wanted = study.decided(pair, truth)
        crude = fs.group_metric(
            counts={"a": (30, 20, 5, 10), "b": (50, 40, 50, 40)},
            metric="selection_rate",
            contrast=contrast,
            reference="b",
            **({"margin": truth} if contrast == "difference" else {"threshold": truth}),
        )
        (within,) = adjusted(crude, find_metric(crude.metric), counts).stratified.comparisons
        interval = within.confidence_interval
        assert wanted["above"] == (interval.low > truth)
        assert wanted["below"] == (interval.high < truth)
        for test in within.tests:
            if test.alternative == "less" and contrast != "difference":
                assert wanted["false satisfied"] == (test.pvalue <= 0.05)
            if test.alternative == "greater":
                assert wanted["false violated"] == (test.pvalue <= 0.05)
