"""Numbers, scores and curves within strata against all other rows, and against everybody.

Witnesses: the comparison with two groups only, the group and all that are not of it (the same to
the last digits, whatever the design); observed and expected sums by hand; the crude comparison of
one stratum; and our twin in base R.
"""

from __future__ import annotations

import json
import math
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairstats as fs
from fairstats.ground.errors import DataWarning, InsufficientEvidenceWarning
from fairstats.ground.serialise import decode
from fairstats.numerics.means.logistic import calibration_slope
from tests.calibration.strata_pooled import statistics_of

CUTOFFS = [0.4, 0.6]
DRAWS: dict[str, Any] = {"n_resamples": 199, "rng": 1}


def people(n: int = 900, seed: int = 1) -> pd.DataFrame:
    """Three groups of unequal shares in three branches, with wages, risks, weights and clusters."""
    rng = np.random.default_rng(seed)
    branch = rng.integers(0, 3, n)
    group = rng.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2])
    group = np.where((group == "c") & (branch == 2) & (rng.random(n) < 0.5), "a", group)
    wage = rng.lognormal(1 + 0.3 * branch + 0.2 * (group == "b"), 0.6)
    risk = np.clip(rng.beta(2, 2, n) + 0.05 * branch, 0.02, 0.98)
    person = rng.integers(0, 120, n)
    return pd.DataFrame(
        {
            "group": group,
            "branch": branch,
            "wage": wage,
            "predicted": wage * rng.lognormal(0, 0.3, n),
            "risk": risk,
            "label": (rng.random(n) < risk).astype(int),
            "weight": rng.uniform(0.5, 2, n),
            "person": [f"{name}{each}" for name, each in zip(group, person, strict=True)],
        }
    )


def compare(frame: pd.DataFrame, what: str, **options: Any) -> Any:
    """By the function of that name."""
    options = {"sensitive_features": frame["group"], "strata": frame["branch"], **options}
    if what == "means":
        return fs.means(frame["wage"], **options)
    if what == "errors":
        return fs.prediction_errors(frame["wage"], frame["predicted"], **options)
    scored = (frame["label"], frame["risk"])
    return fs.calibration(*scored, **options) if what == "fits" else fs.scores(*scored, **options)


def designed(frame: pd.DataFrame, design: str) -> dict[str, Any]:
    """Weights, or clusters (that lie in several branches, or in one each)."""
    clusters = frame["person"]
    if "one branch" in design:
        clusters = clusters + frame["branch"].astype(str)
    columns: dict[str, Any] = {}
    if "weights" in design:
        columns["sample_weight"] = frame["weight"]
    if "clusters" in design:
        columns["cluster"] = clusters
    return columns


#: What is compared, its options, and the designs that it takes.
WHAT = [
    ("means", {}, "weights and clusters"),
    ("means", {"contrast": "ratio"}, "clusters"),
    ("means", {"statistic": "median"}, ""),
    ("means", {"statistic": "selection_rate", "quantiles": [0.5, 0.8]}, "weights"),
    ("errors", {}, "clusters"),
    ("errors", {"metric": "root_mean_squared_error"}, "weights"),
    ("errors", {"metric": "root_mean_squared_error", "contrast": "ratio"}, ""),
    ("scores", {"metric": "brier_score"}, "weights"),
    ("scores", {"metric": "balance_positive"}, ""),
    ("scores", {"metric": "auc"}, ""),
    ("scores", {"metric": "auc"}, "weights"),
    ("scores", {"metric": "miscalibration"}, ""),
    ("scores", {"metric": "tpr", "cutoffs": CUTOFFS}, "clusters"),
    ("scores", {"metric": "net_benefit", "cutoffs": CUTOFFS}, "clusters"),
    ("scores", {"metric": "net_benefit", "cutoffs": CUTOFFS}, ""),
    ("fits", {"metric": "slope"}, ""),
    ("fits", {"metric": "intercept"}, "weights"),
]


def of_cutoff(result: Any, row: Any) -> Any:
    """The first comparison of a result at the cut-off of a row."""
    cutoff = getattr(row, "cutoff", None)
    return next(other for other in result.comparisons if getattr(other, "cutoff", None) == cutoff)


@pytest.mark.filterwarnings("ignore:(calibration|median)_")
@pytest.mark.parametrize(("what", "options", "design"), WHAT)
def test_all_other_rows_are_a_group_of_their_own(
    what: str, options: dict[str, Any], design: str
) -> None:
    frame = people()
    columns = designed(frame, design)
    n_cutoffs = 2 if "cutoffs" in options or "quantiles" in options else 1
    result = compare(frame, what, comparisons="rest", **options, **columns).stratified
    for row in result.comparisons:
        two = frame.assign(group=np.where(frame["group"] == row.group, row.group, "others"))
        alone = compare(two, what, reference="others", **options, **columns).stratified
        expected = of_cutoff(alone, row)
        assert row.reference in ("the rest", f"all but {row.group}")
        assert row.estimate == pytest.approx(expected.estimate, rel=1e-9)
        assert row.std_error == pytest.approx(expected.std_error, rel=1e-8)
        assert row.pvalue == pytest.approx(expected.pvalue, rel=1e-7)
        # all cut-offs and pairs of a curve are one family
        if n_cutoffs == 1:
            assert tuple(row.confidence_interval) == pytest.approx(
                tuple(expected.confidence_interval), rel=1e-7
            )
        assert (row.n, row.n_reference) == (expected.n, expected.n_reference)
    table = result.by_stratum()
    assert len(table) == 9 * n_cutoffs
    again = decode(json.loads(json.dumps(result.to_dict())))
    pd.testing.assert_frame_equal(again.by_stratum(), table)


@pytest.mark.parametrize(
    ("what", "option", "design"),
    [
        ("errors", {"metric": "r_squared"}, ""),
        ("means", {"contrast": "standardised_difference"}, "weights and clusters in one branch"),
    ],
)
def test_what_is_drawn_beside_all_other_rows_draws_these(
    what: str, option: dict[str, Any], design: str
) -> None:
    frame = people()
    options = {**option, **DRAWS, **designed(frame, design)}
    result = compare(frame, what, comparisons="rest", **options).stratified
    two = frame.assign(group=np.where(frame["group"] == "b", "b", "others"))
    alone = compare(two, what, reference="others", **options).stratified
    assert result["b"].estimate == pytest.approx(alone["b"].estimate, rel=1e-9)
    # of all crossings at once, other rows are drawn
    assert result["b"].std_error == pytest.approx(alone["b"].std_error, rel=1e-9)
    assert result["b"].pvalue == pytest.approx(alone["b"].pvalue, abs=0.15)


@pytest.mark.parametrize("design", ["", "weights", "weights and clusters"])
def test_everybody_is_observed_over_expected(design: str) -> None:
    frame = people()
    columns = designed(frame, design)
    weight = frame["weight"] if "weights" in design else pd.Series(np.ones(len(frame)))
    tables = {
        contrast: compare(
            frame, "means", comparisons="overall", contrast=contrast, **columns
        ).stratified
        for contrast in ("difference", "ratio")
    }
    rest = compare(frame, "means", comparisons="rest", **columns).stratified
    for group in "abc":
        own = frame["group"] == group
        observed = np.average(frame["wage"][own], weights=weight[own])
        of_branch = {
            branch: np.average(rows["wage"], weights=weight[rows.index])
            for branch, rows in frame.groupby("branch")
        }
        everybody = frame["branch"].map(of_branch)
        expected = np.average(everybody[own], weights=weight[own])
        row = tables["difference"][group]
        assert row.reference == "all"
        assert row.rate == pytest.approx(observed)
        assert row.rate_reference == pytest.approx(expected)
        assert row.estimate == pytest.approx(observed - expected)
        assert tables["ratio"][group].estimate == pytest.approx(observed / expected)
        assert row.n_reference == len(frame)
        assert math.isnan(row.pvalue_homogeneity)
        # equality with everybody is equality with all others
        for table in tables.values():
            assert table[group].pvalue == pytest.approx(rest[group].pvalue, rel=1e-9)
        low, high = tables["ratio"][group].confidence_interval
        assert low < observed / expected < high


def test_the_error_beside_everybody_is_that_of_linearised_values() -> None:
    """Each person once: the derivative of observed by expected in every mean."""
    frame = people()
    rows = compare(
        frame,
        "means",
        comparisons="overall",
        contrast="ratio",
        cluster=frame["person"],
    ).stratified
    row = rows["b"]
    own = frame["group"] == "b"
    n = own.sum()
    values: pd.Series = pd.Series(0.0, index=sorted(set(frame["person"])))
    for _, of_branch in frame.groupby("branch"):
        mine = of_branch["group"] == "b"
        share = mine.mean()
        weight = mine.sum() / n
        slopes = (
            weight * (row.rate_reference - row.rate * share) / row.rate_reference**2,
            -row.rate * weight * (1 - share) / row.rate_reference**2,
        )
        for slope, part in zip(slopes, (of_branch[mine], of_branch[~mine]), strict=True):
            excess = (part["wage"] - part["wage"].mean()).groupby(part["person"]).sum() / len(part)
            factor = math.sqrt(len(excess) / (len(excess) - 1))
            values[excess.index] += slope * factor * excess
    assert row.std_error == pytest.approx(math.sqrt((values**2).sum()), rel=1e-9)


@pytest.mark.parametrize(
    ("what", "options"),
    [
        ("means", {}),
        ("means", {"contrast": "ratio"}),
        ("errors", {"metric": "root_mean_squared_error"}),
        ("errors", {"metric": "root_mean_squared_error", "contrast": "ratio"}),
        ("scores", {"metric": "brier_score"}),
        ("scores", {"metric": "net_benefit", "cutoffs": CUTOFFS}),
    ],
)
def test_everybody_of_one_stratum_is_everybody(what: str, options: dict[str, Any]) -> None:
    """Of two groups all others are one group here, too; of more their means may differ, which
    counts as error within strata."""
    frame = people()
    frame["group"] = np.where(frame["group"] == "a", "a", "others")
    options = {"comparisons": "overall", **options}
    result = compare(frame, what, strata=np.ones(len(frame)), **options)
    for row, crude in zip(result.stratified.comparisons, result.comparisons, strict=True):
        assert row.estimate == pytest.approx(crude.estimate, rel=1e-9)
        assert row.std_error == pytest.approx(crude.std_error, rel=1e-9)
        assert tuple(row.confidence_interval) == pytest.approx(
            tuple(crude.confidence_interval), rel=1e-6
        )


def test_roots_and_draws_beside_everybody() -> None:
    frame = people()
    squares = (frame["predicted"] - frame["wage"]) ** 2
    roots = compare(
        frame, "errors", metric="root_mean_squared_error", comparisons="overall"
    ).stratified
    means = fs.means(
        squares,
        sensitive_features=frame["group"],
        strata=frame["branch"],
        comparisons="overall",
    ).stratified
    row = roots["c"]
    assert row.estimate == pytest.approx(
        math.sqrt(means["c"].rate) - math.sqrt(means["c"].rate_reference)
    )
    smd = compare(
        frame, "means", contrast="standardised_difference", comparisons="overall", **DRAWS
    ).stratified
    own = compare(frame, "means", comparisons="overall").stratified
    for group in "abc":
        assert smd[group].rate == pytest.approx(own[group].rate)
        assert smd[group].rate_reference == pytest.approx(own[group].rate_reference)
        assert np.sign(smd[group].estimate) == np.sign(own[group].estimate)
    again = decode(json.loads(json.dumps(smd.to_dict())))
    assert again.to_frame().equals(smd.to_frame())
    determination = compare(
        frame, "errors", metric="r_squared", comparisons="overall", **DRAWS
    ).stratified
    own_row = frame["group"] == "c"
    shares = frame.loc[own_row, "branch"].value_counts(normalize=True).sort_index()
    spread = frame.groupby("branch")["wage"].var(ddof=0)
    loss = squares.groupby(frame["branch"]).mean()
    sizes = frame["branch"].value_counts().sort_index()
    kept = sizes / (sizes - 1) * (sizes.sum() - 1) / sizes.sum()
    expected = 1 - (shares * loss).sum() / (shares * kept * spread).sum()
    assert determination["c"].rate_reference == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("comparisons", ["rest", "overall"])
def test_tallies_bring_pooled_groups_within_strata(comparisons: Any) -> None:
    frame = people()
    tally = fs.tally(
        frame, outcome="wage", predicted="predicted", strata="branch", sensitive_features="group"
    )
    there = fs.means(counts=tally, comparisons=comparisons, contrast="ratio").stratified
    here = compare(frame, "means", comparisons=comparisons, contrast="ratio").stratified
    scored = fs.tally(
        frame,
        y_true="label",
        score="risk",
        strata="branch",
        sensitive_features="group",
        pos_label=1,
    )
    pairs = [(there, here)]
    for metric in ("brier_score", "auc", "discrimination", "uncertainty", "net_benefit"):
        options: dict[str, Any] = {"metric": metric, "comparisons": comparisons}
        if metric == "net_benefit":
            options["cutoffs"] = CUTOFFS
        counted = fs.scores(counts=scored, **options).stratified
        pairs.append((counted, compare(frame, "scores", **options).stratified))
    for one, other in pairs:
        for row, same in zip(one.comparisons, other.comparisons, strict=True):
            assert row.estimate == pytest.approx(same.estimate, rel=1e-9)
            assert row.pvalue == pytest.approx(same.pvalue, rel=1e-6)
            assert tuple(row.confidence_interval) == pytest.approx(
                tuple(same.confidence_interval), rel=1e-6
            )


#: AUC and parts of the Brier score beside everybody.
OF_SCORES = [
    ({"metric": "auc"}, ""),
    ({"metric": "auc", "contrast": "ratio"}, "weights"),
    ({"metric": "auc"}, "weights and clusters in one branch"),
    ({"metric": "miscalibration"}, ""),
    ({"metric": "discrimination"}, "weights and clusters in one branch"),
    ({"metric": "uncertainty"}, "weights"),
]


@pytest.mark.parametrize(("options", "design"), OF_SCORES)
def test_scores_beside_everybody_of_one_stratum_are_those_without_strata(
    options: dict[str, Any], design: str
) -> None:
    frame = people(600)
    options = {"comparisons": "overall", **options, **designed(frame, design)}
    one = compare(frame.assign(branch=0), "scores", **options)
    for crude, within in zip(one.comparisons, one.stratified.comparisons, strict=True):
        for name in ("estimate", "std_error", "rate", "rate_reference", "n_reference"):
            assert getattr(within, name) == pytest.approx(getattr(crude, name), rel=1e-13)
        # limits are ends of searches
        assert within.pvalue == pytest.approx(crude.pvalue, rel=1e-9)
        for name in ("confidence_interval", "bounds", "value_reference_interval"):
            assert tuple(getattr(within, name)) == pytest.approx(
                tuple(getattr(crude, name)), rel=1e-9
            )
        assert within.verdict == crude.verdict


@pytest.mark.parametrize(("options", "design"), OF_SCORES)
def test_scores_beside_everybody_are_sums_of_those_of_the_strata(
    options: dict[str, Any], design: str
) -> None:
    """By hand: the comparison of every stratum by itself, with the group's weights."""
    frame = people(600)
    options = {"comparisons": "overall", **options, **designed(frame, design)}
    result = compare(frame, "scores", **options).stratified
    table = result.by_stratum()
    again = decode(json.loads(json.dumps(result.to_dict())))
    pd.testing.assert_frame_equal(again.by_stratum(), table)
    own = frame["group"] == "a"
    if options["metric"] == "auc":
        own &= frame["label"] == 1
    weight = frame["weight"] if "weights" in design else pd.Series(1.0, frame.index)
    shares = weight[own].groupby(frame["branch"]).sum()
    shares /= shares.sum()
    values = np.zeros((3, 2))
    squares = 0.0
    for branch, rows in frame.groupby("branch"):
        columns = {
            name: column[rows.index]
            for name, column in options.items()
            if isinstance(column, pd.Series)
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", (InsufficientEvidenceWarning, DataWarning))
            alone = compare(rows, "scores", **{**options, "strata": None, **columns})["a"]
        values[int(str(branch))] = alone.rate, alone.rate_reference
        squares += float(shares[branch]) ** 2 * alone.std_error**2
        row = table[(table["group"] == "a") & (table["stratum"] == str(branch))].iloc[0]
        assert row["weight"] == pytest.approx(float(shares[branch]))
        assert row["n_reference"] == len(rows)
        assert row["estimate"] == pytest.approx(alone.estimate, rel=1e-9)
        # of weights that are even in a stratum alone nothing is known to be weighted there
        if "weights" in design or not design:
            assert row["ci_low"] == pytest.approx(alone.confidence_interval.low, rel=1e-6)
            assert row["ci_high"] == pytest.approx(alone.confidence_interval.high, rel=1e-6)
    adjusted = result["a"]
    assert math.isnan(adjusted.pvalue_homogeneity)
    if options["metric"] == "uncertainty":
        # each is n/(n − 1) of itself there, less what that of all rows would lack
        return
    assert (adjusted.rate, adjusted.rate_reference) == pytest.approx(tuple(shares @ values))
    if options["metric"] == "auc" and options.get("contrast") != "ratio":
        assert adjusted.std_error == pytest.approx(math.sqrt(squares), rel=1e-9)


def test_the_area_beside_everybody_has_the_error_of_linearised_values() -> None:
    """Each row once: what it adds to both areas of its stratum, by all pairs of rows."""
    frame = people(300, seed=3)
    row = compare(frame, "scores", contrast="ratio", comparisons="overall").stratified["a"]
    positive = frame["label"] == 1
    own = frame["group"] == "a"
    shares = (positive & own).groupby(frame["branch"]).sum()
    shares /= shares.sum()
    variance = 0.0
    for branch, rows in frame.groupby("branch"):
        # of all rows the shares of the groups in a label are fixed: V less the mean of group and label
        small = {
            name: name != "a" and min(part["label"].sum(), (1 - part["label"]).sum()) < 10
            for name, part in rows.groupby("group")
        }
        stratum = np.where(rows["group"].map(small), "small", rows["group"])
        for name in np.unique(stratum):
            for label in (0, 1):
                here = (stratum == name) & (rows["label"] == label)
                errors = -_placements(rows, rows)[here] / (rows["label"] == label).sum()
                errors /= row.rate_reference
                if name == "a":
                    mine = rows[rows["group"] == "a"]
                    inside = mine["label"] == label
                    errors += _placements(mine, mine)[inside] / inside.sum() / row.rate
                variance += shares[branch] ** 2 * errors.var(ddof=1) * errors.size
    assert row.std_error == pytest.approx(row.estimate * math.sqrt(variance), rel=1e-9)


def _placements(rows: pd.DataFrame, among: pd.DataFrame) -> Any:
    """The share of rows of the other label that a row is on the right side of."""
    label = among["label"].to_numpy()
    found = []
    for own, score in zip(rows["label"], rows["risk"], strict=True):
        gaps = score - among["risk"].to_numpy()[label != own]
        found.append(np.mean((gaps * (1 if own else -1) > 0) + (gaps == 0) / 2))
    return np.array(found)


#: Quantiles, slopes and intercepts beside everybody, with the designs that they take.
OF_LIMITS = [
    ("fits", {"metric": "slope"}, ""),
    ("fits", {"metric": "intercept"}, "weights and clusters in one branch"),
    ("means", {"statistic": "median"}, "weights"),
    ("means", {"statistic": 0.6, "contrast": "ratio"}, "clusters in one branch"),
]


@pytest.mark.filterwarnings("ignore:(calibration|median|quantile)")
@pytest.mark.parametrize(("what", "options", "design"), OF_LIMITS)
def test_limits_beside_everybody_within_strata(
    what: str, options: dict[str, Any], design: str
) -> None:
    """One stratum is the crude comparison; several are its sums with the group's weights."""
    frame = people(600)
    options = {"comparisons": "overall", **options, **designed(frame, design)}
    one = compare(frame.assign(branch=0), what, **options)
    for crude, within in zip(one.comparisons, one.stratified.comparisons, strict=True):
        for name in ("estimate", "std_error", "pvalue", "rate", "rate_reference", "n_reference"):
            assert getattr(within, name) == pytest.approx(getattr(crude, name), rel=1e-13)
        for name in ("confidence_interval", "bounds", "value_reference_interval"):
            assert tuple(getattr(within, name)) == pytest.approx(
                tuple(getattr(crude, name)), rel=1e-13
            )
        assert within.verdict == crude.verdict
    result = compare(frame, what, **options).stratified
    table = result.by_stratum()
    row = result["a"]
    of_group = table[(table["group"] == "a") & (table["weight"] > 0)]
    weight = frame["weight"] if "weights" in design else pd.Series(1.0, frame.index)
    own = weight[frame["group"] == "a"].groupby(frame["branch"]).sum()
    used = own[[int(name) for name in of_group["stratum"]]]
    assert of_group["weight"].to_numpy() == pytest.approx((used / used.sum()).to_numpy())
    # of a coefficient some of its bias is taken away: another test
    if what == "means":
        for name, column in (("rate", "value"), ("rate_reference", "value_reference")):
            total = float(of_group["weight"] @ of_group[column])
            assert getattr(row, name) == pytest.approx(total, rel=1e-12)
    assert math.isnan(row.pvalue_homogeneity)
    if options.get("contrast") != "ratio":
        # distances to limits are added in squares
        below = of_group["weight"] * (of_group["estimate"] - of_group["ci_low"])
        above = of_group["weight"] * (of_group["ci_high"] - of_group["estimate"])
        distances = (
            row.estimate - row.confidence_interval.low,
            row.confidence_interval.high - row.estimate,
        )
        # of quantiles both distances of a stratum are themselves roots of squares
        expected = (math.hypot(*below), math.hypot(*above))
        assert distances == pytest.approx(expected, rel=1e-9)
    again = decode(json.loads(json.dumps(result.to_dict())))
    pd.testing.assert_frame_equal(again.by_stratum(), table)


def test_tallies_have_slopes_beside_everybody_within_strata() -> None:
    frame = people(600)
    tally = fs.tally(
        frame,
        y_true="label",
        score="risk",
        strata="branch",
        sensitive_features="group",
        pos_label=1,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", (InsufficientEvidenceWarning, DataWarning))
        there = fs.calibration(counts=tally, comparisons="overall").stratified
        here = compare(frame, "fits", comparisons="overall").stratified
    for row, same in zip(there.comparisons, here.comparisons, strict=True):
        assert row.estimate == pytest.approx(same.estimate, rel=1e-9)
        assert row.pvalue == pytest.approx(same.pvalue, rel=1e-7)


@pytest.mark.filterwarnings("ignore:calibration")
def test_the_bias_of_everybody_is_taken_away_as_that_of_the_group() -> None:
    """By hand: coefficients less the share of their bias that one regression would not have."""
    frame = people(600)
    result = compare(frame, "fits", comparisons="overall").stratified
    row = result["a"]
    values = {"rate": 0.0, "rate_reference": 0.0}
    own = frame["group"] == "a"
    for name, inside in (("rate", own), ("rate_reference", own | True)):
        n = frame[inside].groupby("branch").size()
        for branch, rows in frame[inside].groupby("branch"):
            negatives = 1.0 - rows["label"].to_numpy()
            positives = rows["label"].to_numpy()
            found = calibration_slope(rows["risk"].to_numpy(), negatives, positives)
            share = ((frame["branch"] == branch) & own).sum() / own.sum()
            kept = 1 - n[branch] / n.sum()
            values[name] += share * (found.estimate - kept * found.bias)
    assert row.rate == pytest.approx(values["rate"], rel=1e-9)
    assert row.rate_reference == pytest.approx(values["rate_reference"], rel=1e-9)
    assert row.estimate == pytest.approx(values["rate"] - values["rate_reference"], rel=1e-7)


def test_few_rows_and_what_has_no_everybody_are_said() -> None:
    frame = people()
    few = frame[(frame["group"] != "c") | (frame.index < 60)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", (InsufficientEvidenceWarning, DataWarning))
        result = compare(few, "means", comparisons="rest").stratified
    assert result["c"].verdict == "insufficient evidence"
    assert "beyond the first of every stratum that it shares with the rest" in result["c"].note
    assert result["a"].verdict != "insufficient evidence"
    with pytest.raises(fs.InputError, match="strata with curves"):
        compare(frame, "fits", comparisons="rest", metric="isotonic")


def test_the_study_decides_as_the_public_function() -> None:
    frame = people(300)
    for comparisons in ("rest", "overall"):
        for contrast in ("difference", "ratio"):
            result = compare(frame, "means", comparisons=comparisons, contrast=contrast).stratified
            low, high = result.comparisons[0].confidence_interval
            assert statistics_of(result, low).above == pytest.approx(1.959964, abs=1e-5)
            assert statistics_of(result, high).below == pytest.approx(-1.959964, abs=1e-5)


# ---------------------------------------------------------------- R


@pytest.mark.r
@pytest.mark.parametrize(
    ("what", "options", "design", "names"),
    [
        ("means", {"comparisons": "rest"}, "weights and clusters", {}),
        ("means", {"comparisons": "overall"}, "clusters", {}),
        ("means", {"comparisons": "overall", "contrast": "ratio"}, "weights", {}),
        (
            "errors",
            {"comparisons": "overall", "metric": "root_mean_squared_error"},
            "clusters",
            {},
        ),
        (
            "errors",
            {
                "comparisons": "overall",
                "metric": "root_mean_squared_error",
                "contrast": "ratio",
            },
            "",
            {},
        ),
        ("scores", {"comparisons": "rest"}, "weights", {}),
        (
            "scores",
            {"comparisons": "overall", "metric": "net_benefit", "cutoffs": CUTOFFS},
            "clusters",
            {},
        ),
        (
            "scores",
            {"comparisons": "rest", "metric": "tpr", "cutoffs": CUTOFFS},
            "",
            {},
        ),
        ("means", {"comparisons": "rest", "statistic": "median"}, "", {"y": "wage"}),
        ("fits", {"comparisons": "rest"}, "", {"y_true": "label", "score": "risk"}),
        ("fits", {"comparisons": "overall"}, "", {"y_true": "label", "score": "risk"}),
        ("scores", {"comparisons": "overall"}, "", {}),
        ("scores", {"comparisons": "overall", "contrast": "ratio"}, "weights", {}),
        ("scores", {"comparisons": "overall"}, "weights and clusters in one branch", {}),
        (
            "scores",
            {"comparisons": "overall", "metric": "discrimination"},
            "",
            {"y_true": "label", "score": "risk"},
        ),
        (
            "scores",
            {"comparisons": "overall", "metric": "miscalibration"},
            "weights and clusters in one branch",
            {"y_true": "label", "score": "risk"},
        ),
        (
            "scores",
            {"comparisons": "overall", "metric": "uncertainty"},
            "clusters in one branch",
            {"y_true": "label", "score": "risk"},
        ),
        (
            "fits",
            {"comparisons": "overall", "metric": "intercept"},
            "weights and clusters in one branch",
            {"y_true": "label", "score": "risk"},
        ),
        ("means", {"comparisons": "overall", "statistic": "median"}, "", {"y": "wage"}),
        (
            "means",
            {"comparisons": "overall", "statistic": 0.6, "contrast": "ratio"},
            "weights and clusters in one branch",
            {"y": "wage"},
        ),
        (
            "means",
            {"comparisons": "overall", "contrast": "standardised_difference", **DRAWS},
            "",
            {"y": "wage"},
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:(calibration|median|quantile|misc|disc|unc)")
def test_every_number_is_recomputed_in_r(
    what: str, options: dict[str, Any], design: str, names: dict[str, str]
) -> None:
    frame = people(900 if "score" in names else 500)
    columns = designed(frame, design)
    result = compare(frame, what, **options, **columns).stratified
    data = {"sensitive_features": frame["group"].to_numpy(), "strata": frame["branch"].to_numpy()}
    for argument, name in names.items():
        data[argument] = frame[name].to_numpy()
    if names:
        data.update({argument: column.to_numpy() for argument, column in columns.items()})
    table = fs.crosscheck(result, data=data).to_frame()
    assert set(table["verdict"]) <= {"agrees", "within Monte Carlo error"}
    assert len(table) >= 60


@pytest.mark.r
@pytest.mark.parametrize("comparisons", ["rest", "overall"])
@pytest.mark.filterwarnings("ignore:(calibration|median)_")
def test_functions_of_r_answer_alike(comparisons: str) -> None:
    from fairstats.ground.rsession import call

    frame = people()
    columns: dict[str, Any] = {
        "sensitive_features": frame["group"].tolist(),
        "strata": frame["branch"].astype(str).tolist(),
        "comparisons": comparisons,
    }
    wage = {"y": frame["wage"].to_numpy()}
    scored = {"y_true": frame["label"].to_numpy(), "score": frame["risk"].to_numpy()}
    asked: list[Any] = [
        ("fs_means", {**wage, "contrast": "ratio"}, ("means", {"contrast": "ratio"})),
        (
            "fs_means",
            {**wage, "cluster": frame["person"].tolist()},
            ("means", {"cluster": frame["person"]}),
        ),
        (
            "fs_scores",
            {**scored, "metric": "net_benefit", "cutoffs": CUTOFFS},
            ("scores", {"metric": "net_benefit", "cutoffs": CUTOFFS}),
        ),
        (
            "fs_scores",
            {**scored, "metric": "tpr", "cutoffs": CUTOFFS},
            ("scores", {"metric": "tpr", "cutoffs": CUTOFFS}),
        ),
    ]
    if comparisons == "rest":
        asked.append(
            ("fs_means", {**wage, "statistic": "median"}, ("means", {"statistic": "median"}))
        )
        asked.append(("fs_calibration", scored, ("fits", {})))
    asked.append(("fs_scores", scored, ("scores", {})))
    weighted = {**scored, "sample_weight": frame["weight"].to_numpy()}
    asked.append(("fs_scores", weighted, ("scores", {"sample_weight": frame["weight"]})))
    for metric in ("uncertainty", "discrimination"):
        asked.append(("fs_scores", {**scored, "metric": metric}, ("scores", {"metric": metric})))
    for function, arguments, (what, options) in asked:
        found = call(function, **arguments, **columns)
        rows = compare(frame, what, comparisons=comparisons, **options).stratified.comparisons
        adjusted = np.atleast_1d(found["adjusted"])
        pvalues = np.atleast_1d(found["adjusted_pvalue"])
        assert adjusted == pytest.approx([row.estimate for row in rows], rel=1e-6)
        assert pvalues == pytest.approx([row.pvalue for row in rows], rel=1e-5)


def test_a_table_by_stratum_of_what_is_drawn_names_all_others() -> None:
    """Standardised differences beside everybody: the values and rows of a stratum by hand."""
    rng = np.random.default_rng(1)
    group = rng.choice(["a", "b", "c"], 300)
    stratum = rng.choice(["x", "y"], 300)
    wage = rng.normal(size=300)
    result = fs.means(
        wage,
        sensitive_features=group,
        strata=stratum,
        contrast="standardised_difference",
        comparisons="overall",
    )
    table = result.stratified.by_stratum()
    for _, row in table.iterrows():
        inside = stratum == row["stratum"]
        others = inside & (group != row["group"])
        assert row["reference"] == f"all but {row['group']}"
        assert row["n_reference"] == others.sum()
        assert row["value_reference"] == pytest.approx(wage[others].mean())
