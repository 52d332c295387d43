"""Quantiles, slopes, intercepts, areas of designs, what is drawn, and curves, within strata.

Witnesses: the crude comparison of one stratum (equal to the last digits), quantiles and areas of
each stratum by themselves joined by hand, the bias of a logit in closed form, `group_metric` within
strata at every cut-off, tallies and files, and our twin in base R.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import logit

import fairstats as fs
from fairstats.ground.errors import DataWarning, InsufficientEvidenceWarning
from fairstats.ground.serialise import decode
from fairstats.numerics.means.logistic import (
    WeightedRows,
    calibration_intercept,
    calibration_slope,
    weighted_slope,
)
from fairstats.numerics.means.smooth import (
    DeterminationDifference,
    StandardisedDifference,
    strata_kept_unbiased,
)

CUTOFFS = [0.3, 0.6]


def people(n: int = 900, seed: int = 1) -> pd.DataFrame:
    """Wages, predictions, risks and labels whose law depends on the branch, as the share of sex."""
    rng = np.random.default_rng(seed)
    branch = rng.integers(0, 3, n)
    sex = np.where(rng.random(n) < 0.3 + 0.15 * branch, "m", "f")
    wage = rng.lognormal(2 + 0.4 * branch, 0.4)
    risk = np.clip(rng.beta(2 + branch, 3), 0.01, 0.99).round(3)
    return pd.DataFrame(
        {
            "wage": wage,
            "predicted": wage + rng.normal(0, 3, n),
            "risk": risk,
            "y": (rng.random(n) < risk).astype(int),
            "weight": rng.lognormal(0, 0.5, n),
            "sex": sex,
            "branch": branch,
        }
    )


def clusters(frame: pd.DataFrame, rows: int = 5) -> list[str]:
    """Each within one sex and branch."""
    place = frame.groupby(["sex", "branch"]).cumcount() // rows
    return [
        f"{sex}{branch}{k}" for sex, branch, k in zip(frame.sex, frame.branch, place, strict=True)
    ]


def compare(frame: pd.DataFrame, what: str, **options: Any) -> Any:
    """Women against men, by branch."""
    options = {
        "sensitive_features": frame["sex"],
        "strata": frame["branch"],
        "reference": "m",
        **options,
    }
    if what == "means":
        return fs.means(frame["wage"], **options)
    if what == "errors":
        return fs.prediction_errors(frame["wage"], frame["predicted"], **options)
    if what == "calibration":
        return fs.calibration(frame["y"], frame["risk"], **options)
    return fs.scores(frame["y"], frame["risk"], **options)


DRAWN = {"n_resamples": 199, "rng": 1}
KINDS: list[tuple[str, dict[str, Any]]] = [
    ("means", {"statistic": "median"}),
    ("means", {"statistic": 0.8, "contrast": "ratio"}),
    ("calibration", {"metric": "slope"}),
    ("calibration", {"metric": "intercept"}),
    ("means", {"contrast": "standardised_difference", **DRAWN}),
    ("errors", {"metric": "r_squared", **DRAWN}),
    ("scores", {"metric": "net_benefit", "cutoffs": CUTOFFS}),
]
#: Of rows with weights, and of clusters.
DESIGNED = [
    ("scores", {"metric": "auc"}),
    ("scores", {"metric": "auc", "contrast": "ratio"}),
    ("calibration", {"metric": "slope"}),
    ("calibration", {"metric": "intercept"}),
    ("errors", {"metric": "r_squared", **DRAWN}),
]
OF_RATES: list[tuple[str, dict[str, Any]]] = [
    ("scores", {"metric": "tpr", "cutoffs": CUTOFFS}),
    ("scores", {"metric": "ppv", "cutoffs": CUTOFFS, "contrast": "ratio"}),
    ("means", {"statistic": "selection_rate", "quantiles": [0.4, 0.7]}),
]


def same(one: Any, other: Any) -> None:
    """Two rows with the same numbers."""
    assert other.estimate == pytest.approx(one.estimate, rel=1e-12, abs=1e-15)
    assert other.std_error == pytest.approx(one.std_error, rel=1e-10)
    assert other.pvalue == pytest.approx(one.pvalue, rel=1e-8)
    for name in ("confidence_interval", "bounds", "value_interval", "value_reference_interval"):
        assert tuple(getattr(other, name)) == pytest.approx(
            tuple(getattr(one, name)), rel=1e-9, abs=1e-12
        )
    assert other.verdict == one.verdict


@pytest.mark.parametrize(("what", "options"), KINDS)
def test_one_stratum_is_the_crude_comparison(what: str, options: dict[str, Any]) -> None:
    frame = people()
    result = compare(frame, what, strata=np.ones(len(frame)), **options)
    for one, other in zip(result.comparisons, result.stratified.comparisons, strict=True):
        same(one, other)
        assert other.n_strata == 1
        assert math.isnan(other.pvalue_homogeneity)


@pytest.mark.parametrize(("what", "options"), DESIGNED)
def test_one_stratum_is_the_crude_comparison_of_designs(what: str, options: Any) -> None:
    frame = people()
    result = compare(
        frame,
        what,
        strata=np.ones(len(frame)),
        sample_weight=frame["weight"],
        cluster=clusters(frame),
        **options,
    )
    same(result.comparisons[0], result.stratified.comparisons[0])


@pytest.mark.parametrize(("what", "options"), OF_RATES)
def test_one_stratum_has_the_crude_rates(what: str, options: dict[str, Any]) -> None:
    """Limits of rates in one stratum are by the stratified score, not by the crude one's rule."""
    frame = people()
    result = compare(frame, what, strata=np.ones(len(frame)), **options)
    for one, other in zip(result.comparisons, result.stratified.comparisons, strict=True):
        assert other.estimate == pytest.approx(one.estimate, rel=1e-12)
        assert other.cutoff == one.cutoff
        assert tuple(other.value_interval) == pytest.approx(tuple(one.value_interval), rel=1e-9)


@pytest.mark.parametrize(
    ("what", "options"), [*DESIGNED[:4], ("scores", {"metric": "net_benefit", "cutoffs": CUTOFFS})]
)
def test_equal_weights_are_none(what: str, options: Any) -> None:
    frame = people()
    plain = compare(frame, what, **options).stratified
    weighted = compare(frame, what, sample_weight=np.full(len(frame), 3.0), **options).stratified
    numbers = ["estimate", "ci_low", "ci_high", "pvalue", "value_low", "value_high"]
    expected = plain.to_frame()[numbers].to_numpy(dtype=float)
    found = weighted.to_frame()[numbers].to_numpy(dtype=float)
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-14)


def shares(frame: pd.DataFrame, weight: Any = None) -> np.ndarray:
    """w₁w₀/(w₁ + w₀) by branch, as shares."""
    weight = np.ones(len(frame)) if weight is None else np.asarray(weight)
    sums = pd.Series(weight).groupby([frame["branch"], frame["sex"]]).sum().unstack()
    w = sums["f"] * sums["m"] / (sums["f"] + sums["m"])
    return (w / w.sum()).to_numpy()


def test_medians_are_joined_by_their_own_limits() -> None:
    frame = people()
    row = compare(frame, "means", statistic="median").stratified["f"]
    w = shares(frame)
    values = {"f": 0.0, "m": 0.0}
    squares = {"f": np.zeros(2), "m": np.zeros(2)}
    for share, (_, part) in zip(w, frame.groupby("branch"), strict=True):
        alone = fs.means(
            part["wage"], sensitive_features=part["sex"], statistic="median", reference="m"
        )["f"]
        for sex, value, interval in (
            ("f", alone.rate, alone.value_interval),
            ("m", alone.rate_reference, alone.value_reference_interval),
        ):
            values[sex] += share * value
            squares[sex] += share**2 * (np.array(tuple(interval)) - value) ** 2
    low, high = (values["f"] + sign * math.sqrt(squares["f"][k]) for k, sign in ((0, -1), (1, 1)))
    assert tuple(row.value_interval) == pytest.approx((low, high), rel=1e-10)
    difference = values["f"] - values["m"]
    assert row.estimate == pytest.approx(difference, rel=1e-12)
    expected = (
        difference - math.sqrt(squares["f"][0] + squares["m"][1]),
        difference + math.sqrt(squares["f"][1] + squares["m"][0]),
    )
    assert tuple(row.confidence_interval) == pytest.approx(expected, rel=1e-10)


def test_the_bias_of_an_intercept_is_that_of_a_logit() -> None:
    """Of one score: α̂ = logit(k/n) − logit(s), with the bias −(1 − 2p)/(2np(1 − p))."""
    for positives in (7, 20, 33):
        found = calibration_intercept(np.array([0.3]), np.array([40 - positives]), [positives])
        p = positives / 40
        assert found.estimate == pytest.approx(logit(p) - logit(0.3))
        assert found.bias == pytest.approx(-(1 - 2 * p) / (2 * 40 * p * (1 - p)))


def test_the_bias_of_a_weighted_slope_is_that_of_draws() -> None:
    rng = np.random.default_rng(5)
    scores = rng.beta(2, 3, 80)
    weights = rng.lognormal(0, 0.5, 80)
    found = []
    for _ in range(300):
        labels = (rng.random(80) < scores).astype(float)
        found.append(weighted_slope(WeightedRows(scores, labels, weights)))
    estimates = np.array([each.estimate for each in found])
    biases = np.array([each.bias for each in found])
    error = 3 * (estimates - biases).std() / math.sqrt(300)
    assert biases.mean() > 0.02
    assert (estimates - biases).mean() == pytest.approx(1, abs=error)


def test_slopes_lose_the_bias_that_one_stratum_would_not_have() -> None:
    frame = people()
    result = compare(frame, "calibration", metric="slope").stratified
    women = frame[frame["sex"] == "f"]
    expected = 0.0
    plain = 0.0
    for share, (_, part) in zip(shares(frame), women.groupby("branch"), strict=True):
        label = part["y"].to_numpy(float)
        fitted = calibration_slope(part["risk"].to_numpy(), 1 - label, label)
        assert fitted.bias > 0
        expected += share * (fitted.estimate - fitted.bias * (1 - len(part) / len(women)))
        plain += share * fitted.estimate
    assert result["f"].rate == pytest.approx(expected, rel=1e-7)
    table = result.by_stratum()
    assert float((table["weight"] * table["value"]).sum()) == pytest.approx(plain, rel=1e-7)


def test_areas_of_weighted_rows_are_joined_by_the_weights_of_their_positives() -> None:
    frame = people()
    row = compare(frame, "scores", sample_weight=frame["weight"]).stratified["f"]
    positives = frame[frame["y"] == 1].reset_index(drop=True)
    w = shares(positives, positives["weight"])
    expected = 0.0
    for share, (_, part) in zip(w, frame.groupby("branch"), strict=True):
        alone = fs.scores(
            part["y"],
            part["risk"],
            sensitive_features=part["sex"],
            sample_weight=part["weight"],
            reference="m",
        )
        expected += share * alone.estimate
    assert row.estimate == pytest.approx(expected, rel=1e-12)


def test_standardised_differences_and_r_squared_are_functions_of_sums_over_strata() -> None:
    frame = people()
    w = shares(frame)
    row = compare(frame, "means", contrast="standardised_difference", **DRAWN).stratified["f"]
    of_r = compare(frame, "errors", metric="r_squared", **DRAWN).stratified["f"]
    squared = (frame["predicted"] - frame["wage"]) ** 2
    mean = {}
    variance = {}
    loss = {}
    for sex, own in frame.groupby("sex"):
        size = own.groupby("branch").size().to_numpy()
        factor = size / (size - 1) * (size.sum() - 1) / size.sum()
        assert strata_kept_unbiased(size.astype(float)) == pytest.approx(factor)
        mean[sex] = w @ own.groupby("branch")["wage"].mean()
        variance[sex] = w @ (factor * own.groupby("branch")["wage"].var(ddof=0))
        loss[sex] = w @ squared[own.index].groupby(own["branch"]).mean()
    expected = (mean["f"] - mean["m"]) / math.sqrt((variance["f"] + variance["m"]) / 2)
    assert row.estimate == pytest.approx(expected, rel=1e-9)
    assert row.rate == pytest.approx(mean["f"], rel=1e-12)
    of_sexes = {sex: 1 - loss[sex] / variance[sex] for sex in mean}
    assert of_r.rate == pytest.approx(of_sexes["f"], rel=1e-9)
    assert of_r.estimate == pytest.approx(of_sexes["f"] - of_sexes["m"], rel=1e-8)


@pytest.mark.parametrize("kind", [StandardisedDifference, DeterminationDifference])
def test_gradients_within_strata_are_those_of_small_changes(kind: Any) -> None:
    rng = np.random.default_rng(3)
    contrast = kind(shares=np.tile([0.2, 0.3, 0.5], 2), spreads=rng.uniform(0.2, 0.6, 6))
    numbers = rng.normal(size=(6, 30))
    columns = [np.full(6, 30.0), numbers.sum(axis=1), (numbers**2).sum(axis=1)]
    if kind is DeterminationDifference:
        columns.append(rng.uniform(5, 20, 6))
    totals = np.stack(columns, axis=1)
    gradient = contrast.gradient(totals)
    for place in np.ndindex(totals.shape):
        step = np.zeros_like(totals)
        step[place] = 1e-5
        change = (contrast.value(totals + step) - contrast.value(totals - step)) / 2e-5
        assert gradient[place] == pytest.approx(float(change), rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("designed", [False, True])
@pytest.mark.parametrize("contrast", ["difference", "ratio"])
def test_rates_along_cut_offs_are_those_within_strata_at_the_joint_level(
    contrast: str, designed: bool
) -> None:
    frame = people()
    design: dict[str, Any] = {}
    if designed:
        design = {"sample_weight": frame["weight"], "cluster": clusters(frame)}
    function: Any = fs.equal_opportunity_difference
    if contrast == "ratio":
        function = fs.conditional_accuracy
    along = compare(frame, "scores", metric="tpr", cutoffs=CUTOFFS, contrast=contrast, **design)
    for row in along.stratified.comparisons:
        alone = function(
            frame["y"],
            (frame["risk"] >= row.cutoff).astype(int),
            sensitive_features=frame["sex"],
            strata=frame["branch"],
            reference="m",
            confidence_level=1 - 0.05 / 2,
            **design,
        ).stratified["f"]
        assert row.estimate == pytest.approx(alone.estimate, rel=1e-12)
        assert row.pvalue == pytest.approx(alone.pvalue, rel=1e-9)
        assert tuple(row.confidence_interval) == pytest.approx(
            tuple(alone.confidence_interval), rel=1e-9
        )
        assert row.pvalue_homogeneity == pytest.approx(
            alone.pvalue_homogeneity, rel=1e-9, nan_ok=True
        )
        assert row.rate in row.value_interval


@pytest.mark.parametrize(("what", "options"), [*KINDS, *OF_RATES])
def test_files_and_tables_of_strata(what: str, options: dict[str, Any]) -> None:
    result = compare(people(), what, **options)
    stratified = result.stratified
    again = decode(json.loads(json.dumps(result.to_dict()))).stratified
    pd.testing.assert_frame_equal(again.to_frame(), stratified.to_frame())
    table = stratified.by_stratum()
    pd.testing.assert_frame_equal(again.by_stratum(), table)
    assert table["stratum"].nunique() == 3
    if "weight" in table:
        assert table.groupby(table.get("cutoff", "group"))["weight"].sum().to_numpy() == (
            pytest.approx(1)
        )
    assert any("Mantel and Haenszel" in note for note in stratified.notes())
    assert "adjusted" in result.to_frame()


@pytest.mark.parametrize(
    ("what", "options"),
    [
        ("calibration", {"metric": "slope"}),
        ("scores", {"metric": "tpr", "cutoffs": CUTOFFS}),
        ("scores", {"metric": "net_benefit", "cutoffs": CUTOFFS}),
    ],
)
def test_a_tally_with_strata_brings_them(what: str, options: dict[str, Any]) -> None:
    frame = people()
    rows = compare(frame, what, **options).stratified
    tally = fs.tally(
        frame, y_true="y", score="risk", sensitive_features="sex", strata="branch", pos_label=1
    )
    tally = fs.Tally.from_json(tally.to_json(exact=True))
    function = fs.calibration if what == "calibration" else fs.scores
    counted = function(counts=tally, reference="m", **options).stratified
    pd.testing.assert_frame_equal(counted.to_frame(), rows.to_frame())
    pd.testing.assert_frame_equal(counted.by_stratum(), rows.by_stratum())


@pytest.mark.parametrize("larger", [True, False])
def test_selection_by_quantile_of_a_tally_with_strata(larger: bool) -> None:
    frame = people()
    options = {"statistic": "selection_rate", "quantiles": [0.4, 0.7], "larger_is_better": larger}
    tally = fs.tally(
        frame, y_true="y", score="risk", sensitive_features="sex", strata="branch", pos_label=1
    )
    counted = fs.means(counts=tally, reference="m", **options).stratified
    rows = fs.means(
        frame["risk"],
        sensitive_features=frame["sex"],
        strata=frame["branch"],
        reference="m",
        **options,
    ).stratified
    numbers = ["cutoff", "estimate", "ci_low", "ci_high", "pvalue", "value_low", "n"]
    pd.testing.assert_frame_equal(counted.to_frame()[numbers], rows.to_frame()[numbers])


def test_strata_of_few_rows_are_left_out_and_named() -> None:
    frame = people()
    few = frame["branch"].where(np.arange(len(frame)) > 12, 9)
    with pytest.warns(DataWarning, match=r"left out 1 of 4 strata without 20 rows of both \('9'\)"):
        medians = compare(frame, "means", statistic="median", strata=few)
    assert medians.stratified["f"].n_strata == 3
    with pytest.warns(DataWarning, match="20 rows of each label of both"):
        compare(frame, "calibration", strata=few)
    frame = people(400)
    with pytest.warns(InsufficientEvidenceWarning, match="no stratum has 20 rows of both"):
        many = compare(frame, "means", statistic="median", strata=np.arange(400) // 8)
    assert many.stratified["f"].verdict == "insufficient evidence"
    assert many.stratified.by_stratum()["weight"].sum() == 0
    with pytest.warns(InsufficientEvidenceWarning, match="no stratum has 5 rows of both"):
        drawn = compare(
            frame,
            "means",
            contrast="standardised_difference",
            strata=np.arange(400) // 6,
            **DRAWN,
        )
    assert drawn.stratified["f"].verdict == "insufficient evidence"


def test_numbers_of_0_have_no_ratio_of_quantiles_within_strata() -> None:
    frame = people(400)
    frame["wage"] = frame["wage"].where(np.arange(400) > 3, 0.0)
    with pytest.warns(InsufficientEvidenceWarning, match="0 or below"):
        result = compare(frame, "means", statistic="median", contrast="ratio")
    assert result.stratified["f"].verdict == "insufficient evidence"


@pytest.mark.r
@pytest.mark.parametrize(
    ("what", "options", "names"),
    [
        ("means", {"statistic": "median", "margin": 0.5}, {"y": "wage"}),
        ("means", {"statistic": 0.8, "contrast": "ratio"}, {"y": "wage"}),
        ("calibration", {"metric": "slope"}, {"y_true": "y", "score": "risk"}),
        (
            "calibration",
            {"metric": "intercept", "sample_weight": True, "cluster": True},
            {"y_true": "y", "score": "risk"},
        ),
        ("scores", {"sample_weight": True}, {}),
        ("scores", {"sample_weight": True, "cluster": True, "contrast": "ratio"}, {}),
        ("scores", {"metric": "tpr", "cutoffs": CUTOFFS, "margin": 0.05}, {}),
        ("scores", {"metric": "ppv", "cutoffs": CUTOFFS, "contrast": "ratio"}, {}),
        ("scores", {"metric": "tpr", "cutoffs": CUTOFFS, "sample_weight": True}, {}),
        ("scores", {"metric": "net_benefit", "cutoffs": CUTOFFS}, {}),
        ("means", {"contrast": "standardised_difference", **DRAWN}, {"y": "wage"}),
        ("errors", {"metric": "r_squared", **DRAWN}, {"y_true": "wage", "y_pred": "predicted"}),
    ],
)
def test_r_agrees(what: str, options: dict[str, Any], names: dict[str, str]) -> None:
    frame = people(300 if "rng" in options else 900)
    data = {"sensitive_features": frame["sex"].to_numpy(), "strata": frame["branch"].to_numpy()}
    for argument, name in names.items():
        data[argument] = frame[name].to_numpy()
    design = {"sample_weight": frame["weight"], "cluster": clusters(frame, 2)}
    for argument in design:
        if options.get(argument):
            options = {**options, argument: design[argument]}
            data[argument] = np.asarray(design[argument])
    result = compare(frame, what, **options).stratified
    table = fs.crosscheck(result, data=data).to_frame()
    assert set(table["verdict"]) <= {"agrees", "within Monte Carlo error"}
    assert len(table) >= 20


@pytest.mark.r
def test_functions_of_r_answer_alike() -> None:
    from fairstats.ground.rsession import call

    frame = people()
    columns: dict[str, Any] = {
        "sensitive_features": frame["sex"].tolist(),
        "strata": frame["branch"].astype(str).tolist(),
        "reference": "m",
    }
    scored = {"y_true": frame["y"].to_numpy(), "score": frame["risk"].to_numpy()}
    wage = {"y": frame["wage"].to_numpy()}
    asked = [
        ("fs_means", {**wage, "statistic": "median"}, ("means", {"statistic": "median"})),
        ("fs_calibration", scored, ("calibration", {})),
        (
            "fs_scores",
            {**scored, "metric": "net_benefit", "cutoffs": CUTOFFS},
            ("scores", {"metric": "net_benefit", "cutoffs": CUTOFFS}),
        ),
        (
            "fs_means",
            {**wage, "statistic": "selection_rate", "quantiles": [0.4, 0.7]},
            ("means", {"statistic": "selection_rate", "quantiles": [0.4, 0.7]}),
        ),
    ]
    for function, arguments, (what, options) in asked:
        found = call(function, **arguments, **columns)
        rows = compare(frame, what, **options).stratified.comparisons
        adjusted = np.atleast_1d(found["adjusted"])
        pvalues = np.atleast_1d(found["adjusted_pvalue"])
        # coefficients are the ends of two searches
        assert adjusted == pytest.approx([row.estimate for row in rows], rel=1e-6)
        assert pvalues == pytest.approx([row.pvalue for row in rows], rel=1e-5)


DESIGNS_OF_ROWS = [{}, {"sample_weight": "weight"}, {"cluster": "unit"}]


@pytest.mark.parametrize("comparisons", ["reference", "overall"])
@pytest.mark.parametrize("design", DESIGNS_OF_ROWS)
def test_own_intervals_of_adjusted_rates(design: dict[str, str], comparisons: str) -> None:
    """Of one stratum Wilson's limits of the effective counts; of several the adjusted rate, and about
    as wide as its standard error says.
    """
    frame = people().assign(one="all")
    frame["unit"] = clusters(frame)
    columns = {name: frame[column] for name, column in design.items()}

    def along(stratum: str) -> Any:
        return fs.scores(
            frame["y"],
            frame["risk"],
            sensitive_features=frame["sex"],
            metric="tpr",
            cutoffs=CUTOFFS,
            strata=frame[stratum],
            comparisons=comparisons,
            **columns,
        )

    result = along("one")
    for crude, within in zip(result.comparisons, result.stratified.comparisons, strict=True):
        assert within.rate == pytest.approx(crude.rate, rel=1e-9)
        low, high = within.value_interval
        assert low < within.rate < high
        # the crude rate of clusters counts at most as many cases as there are clusters
        wanted = crude.value_interval.width
        if "cluster" in design:
            assert 0.5 * wanted < high - low < 1.1 * wanted
        else:
            assert high - low == pytest.approx(wanted, rel=0.15 if design else 1e-9)
    for within in along("branch").stratified.comparisons:
        for rate, interval in (
            (within.rate, within.value_interval),
            (within.rate_reference, within.value_reference_interval),
        ):
            assert interval.low < rate < interval.high
        apart = within.value_interval.width**2 + within.value_reference_interval.width**2
        if comparisons == "reference":
            expected = 2 * 1.96 * within.std_error
            assert math.sqrt(apart) == pytest.approx(expected, rel=0.12)


@pytest.mark.r
@pytest.mark.parametrize("design", DESIGNS_OF_ROWS)
def test_own_intervals_of_adjusted_rates_in_r(design: dict[str, str]) -> None:
    frame = people(400)
    frame["unit"] = clusters(frame)
    columns = {name: frame[column] for name, column in design.items()}
    result = fs.scores(
        frame["y"],
        frame["risk"],
        sensitive_features=frame["sex"],
        metric="tpr",
        cutoffs=CUTOFFS,
        strata=frame["branch"],
        comparisons="overall",
        **columns,
    )
    table = fs.crosscheck(result.stratified).to_frame()
    assert set(table["verdict"]) == {"agrees"}
    assert len(table) > 60
