"""`strata=` of functions of the cells, and of ratios of means of rates.

Witnesses: scikit-learn's F1 of rows that weigh what standardisation makes of them, the crude
comparison where there is one stratum, derivatives and covariances written out again, R's survey
(`tests/r/test_rates_twins.py`), and R's own functions.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal
from sklearn import metrics

import fairstats as fs
from fairstats.ground.errors import InsufficientEvidenceWarning
from fairstats.ground.rsession import call

sys.path.insert(
    0, str(Path(__file__).resolve().parents[3])
)  # the folder of studies is no part of the package

from tests.calibration import strata_functions as study

ROWS = 400
CELLS = ("tp", "fp", "fn", "tn")


def people() -> pd.DataFrame:
    """Group a is more often in stratum x, where predictions are worse; clusters lie in several."""
    rng = np.random.default_rng(35)
    stratum = rng.choice(["x", "y", "z"], ROWS, p=[0.4, 0.35, 0.25])
    group = np.where(rng.random(ROWS) < np.where(stratum == "x", 0.6, 0.3), "a", "b")
    label = rng.random(ROWS) < 0.4
    right = rng.random(ROWS) < np.where(stratum == "x", 0.65, 0.85)
    return pd.DataFrame(
        {
            "group": group,
            "stratum": stratum,
            "label": label.astype(int),
            "hat": np.where(right, label, ~label).astype(int),
            "weight": rng.lognormal(0, 0.6, ROWS),
            "unit": rng.integers(0, 80, ROWS),
        }
    )


FRAME = people()
DESIGNS: dict[str, dict[str, str]] = {
    "plain": {},
    "weights": {"sample_weight": "weight"},
    "clusters": {"cluster": "unit"},
}


def jaccard(tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
    return tp / (tp + fp + fn)


def compared(
    metric: Any = "f1", design: str = "plain", frame: pd.DataFrame = FRAME, **options: Any
) -> Any:
    columns = {name: frame[column] for name, column in DESIGNS[design].items()}
    if options.get("comparisons", "reference") == "reference":
        options = {"reference": "b", **options}
    return fs.group_metric(
        frame["label"],
        frame["hat"],
        metric=metric,
        sensitive_features=frame["group"],
        **{"strata": frame["stratum"], **options},
        **columns,
    )


def standardised_weights(frame: pd.DataFrame, weight: np.ndarray) -> np.ndarray:
    """What a row counts by: its weight times W/(rows of its group and stratum, by weight)."""
    sizes = pd.Series(weight).groupby([frame["group"], frame["stratum"]]).sum()
    by_stratum = sizes.unstack()
    common = by_stratum.loc["a"] * by_stratum.loc["b"] / by_stratum.sum()
    of_rows = sizes.loc[list(zip(frame["group"], frame["stratum"], strict=True))].to_numpy()
    return weight * common[frame["stratum"]].to_numpy() / of_rows


@pytest.mark.parametrize("design", ["plain", "weights"])
def test_values_are_those_of_standardised_rows(design: str) -> None:
    """scikit-learn's F1 and Matthews's correlation of rows weighted to common strata."""
    weight = np.ones(ROWS) if design == "plain" else FRAME["weight"].to_numpy()
    of_rows = standardised_weights(FRAME, weight)
    for metric, theirs in (("f1", metrics.f1_score), ("mcc", metrics.matthews_corrcoef)):
        (found,) = compared(metric, design).stratified.comparisons
        wanted = {}
        for group in ("a", "b"):
            own = (FRAME["group"] == group).to_numpy()
            rows = FRAME[own]
            wanted[group] = theirs(rows["label"], rows["hat"], sample_weight=of_rows[own])
        assert found.rate == pytest.approx(wanted["a"], rel=1e-12)
        assert found.rate_reference == pytest.approx(wanted["b"], rel=1e-12)
        assert found.estimate == pytest.approx(wanted["a"] - wanted["b"], rel=1e-11)


@pytest.mark.parametrize("design", list(DESIGNS))
@pytest.mark.parametrize("comparisons", ["reference", "rest", "overall"])
@pytest.mark.parametrize(
    ("metric", "contrast"),
    [
        ("f1", "difference"),
        ("f1", "ratio"),
        ("mcc", "difference"),
        ("error_ratio", "difference"),
        ("balanced_accuracy", "ratio"),
        (jaccard, "difference"),
    ],
)
def test_one_stratum_is_the_crude_comparison(
    metric: Any, contrast: str, comparisons: str, design: str
) -> None:
    result = compared(
        metric,
        design,
        contrast=contrast,
        comparisons=comparisons,
        strata=np.zeros(ROWS, dtype=int),
    )
    for crude, within in zip(result.comparisons, result.stratified.comparisons, strict=True):
        # the derivatives are differences with steps of their own
        for name in ("estimate", "std_error", "statistic", "pvalue", "rate", "rate_reference"):
            wanted = getattr(crude, name)
            assert getattr(within, name) == pytest.approx(wanted, rel=1e-8, abs=1e-10), name
        for name in ("confidence_interval", "bounds"):
            wanted = tuple(getattr(crude, name))
            assert tuple(getattr(within, name)) == pytest.approx(wanted, rel=1e-8, abs=1e-10)
        for name in ("n", "n_reference", "method", "verdict", "pvalue_verdict"):
            wanted = getattr(crude, name)
            if isinstance(wanted, float):
                wanted = pytest.approx(wanted, rel=1e-7)
            assert getattr(within, name) == wanted, name
        assert within.procedure.df == pytest.approx(crude.procedure.df, rel=1e-9)


def cells_by_hand(frame: pd.DataFrame) -> dict[tuple[str, str], np.ndarray]:
    """tp, fp, fn and tn of every group and stratum."""
    cells = {}
    for key, rows in frame.groupby(["group", "stratum"]):
        label = rows["label"] == 1
        hat = rows["hat"] == 1
        both = [(label & hat), (~label & hat), (label & ~hat), (~label & ~hat)]
        cells[key] = np.array([each.sum() for each in both], dtype=float)
    return cells


def f1_of_shares(shares: np.ndarray) -> float:
    tp, fp, fn, _ = shares
    return float(2 * tp / (2 * tp + fp + fn))


def test_the_standard_error_is_that_of_the_multinomials() -> None:
    """Derivatives by hand, Σ W²·g'(diag(p) − pp')g/n, and what the strata take given back."""
    (found,) = compared().stratified.comparisons
    cells = cells_by_hand(FRAME)
    sizes = {key: counts.sum() for key, counts in cells.items()}
    weights = {}
    for stratum in ("x", "y", "z"):
        n, m = sizes[("a", stratum)], sizes[("b", stratum)]
        weights[stratum] = n * m / (n + m)
    total = sum(weights.values())
    variance = 0.0
    for group in ("a", "b"):
        shares = np.zeros(4)
        for stratum, weight in weights.items():
            key = (group, stratum)
            shares += weight / total * cells[key] / sizes[key]
        tp, fp, fn, _ = shares
        below = 2 * tp + fp + fn
        slope = np.array([2 * (fp + fn), -2 * tp, -2 * tp, 0.0]) / below**2
        own = 0.0
        taken = 0.0
        lost = 0.0
        for stratum, weight in weights.items():
            n = sizes[(group, stratum)]
            part = weight / total
            p = cells[(group, stratum)] / n
            own += part**2 * (slope**2 @ p - (slope @ p) ** 2) / n
            taken += part**2 / n
            lost += part**2 / n**2
        variance += own * (1 - taken) / (1 - lost / taken)
    # the function is differentiated by differences
    assert found.std_error == pytest.approx(math.sqrt(variance), rel=1e-9)


def test_limits_are_about_more_rows_at_the_worth_of_the_standardised_cells() -> None:
    """Half a row and a whole one in every cell of cells scaled to 1/Σ(W²/n) rows: the centre of the
    wider side of both.
    """
    (found,) = compared().stratified.comparisons
    cells = cells_by_hand(FRAME)
    sizes = {key: counts.sum() for key, counts in cells.items()}
    strata = ("x", "y", "z")
    weights = []
    for h in strata:
        n, m = sizes[("a", h)], sizes[("b", h)]
        weights.append(n * m / (n + m))
    parts = np.array(weights) / np.sum(weights)
    centres = []
    for more in (0.5, 1.0):
        values = []
        for group in ("a", "b"):
            n = np.array([sizes[(group, h)] for h in strata])
            worth = 1 / (parts**2 / n).sum()
            shares = sum(
                part * cells[(group, h)] / sizes[(group, h)]
                for part, h in zip(parts, strata, strict=True)
            )
            values.append(f1_of_shares(worth * shares + more))
        centres.append(values[0] - values[1])
    # one distance to each end about each centre: the middle lies between both
    low, high = found.confidence_interval.low, found.confidence_interval.high
    assert min(centres) <= (low + high) / 2 <= max(centres)
    assert low < min(centres) - 1.9 * found.std_error
    assert high > max(centres) + 1.9 * found.std_error


def test_everybody_is_standardised_to_the_strata_of_the_group() -> None:
    """The group's own cells, beside everybody's weighted by the group's rows in every stratum."""
    result = compared(comparisons="overall").stratified
    for comparison in result.comparisons:
        own = FRAME[FRAME["group"] == comparison.group]
        assert comparison.rate == pytest.approx(metrics.f1_score(own["label"], own["hat"]))
        rows = own["stratum"].value_counts()
        everybody = FRAME["stratum"].value_counts()
        weight = (rows / everybody)[FRAME["stratum"]].to_numpy()
        wanted = metrics.f1_score(FRAME["label"], FRAME["hat"], sample_weight=weight)
        assert comparison.rate_reference == pytest.approx(wanted, rel=1e-12)
    rest = compared(comparisons="rest").stratified
    assert [c.reference for c in rest.comparisons] == ["all but b", "all but a"]


def test_strata_of_one_group_do_not_count() -> None:
    more = pd.DataFrame(
        {"group": "a", "stratum": "w", "label": [0, 1] * 10, "hat": 1, "weight": 1.0, "unit": 99}
    )
    with_more = pd.concat([FRAME, more], ignore_index=True)
    for design in DESIGNS:
        (found,) = compared(design=design, frame=with_more).stratified.comparisons
        (wanted,) = compared(design=design).stratified.comparisons
        for name in ("estimate", "rate", "n", "n_strata"):
            assert getattr(found, name) == pytest.approx(getattr(wanted, name), rel=1e-12)
        # of weighted rows the sampling units of all are counted
        tolerance = 1e-12 if design == "plain" else 2e-3
        assert found.std_error == pytest.approx(wanted.std_error, rel=tolerance)


def test_weights_that_are_equal_within_group_and_stratum_say_nothing() -> None:
    plain = compared().stratified.to_frame()
    code = pd.factorize(FRAME["group"] + FRAME["stratum"])[0]
    weighted = compared(sample_weight=1.7 + code).stratified.to_frame()
    drop = ["crude", "crude_verdict"]
    assert_frame_equal(plain.drop(columns=drop), weighted.drop(columns=drop))


@pytest.mark.parametrize("metric", ["f1", "mcc"])
def test_swapping_the_groups_turns_the_difference(metric: str) -> None:
    (one,) = compared(metric).stratified.comparisons
    (other,) = compared(metric, reference="a").stratified.comparisons
    assert other.estimate == pytest.approx(-one.estimate, rel=1e-12)
    assert other.pvalue == pytest.approx(one.pvalue, rel=1e-9)
    low, high = one.confidence_interval
    assert tuple(other.confidence_interval) == pytest.approx((-high, -low), rel=1e-9)


def test_tallies_files_and_tables_by_stratum() -> None:
    columns = {"y_true": "label", "y_pred": "hat", "sensitive_features": "group"}
    for design in DESIGNS:
        tally = fs.tally(FRAME, **columns, strata="stratum", **DESIGNS[design])
        counted = fs.group_metric(metric="f1", counts=tally, reference="b").stratified
        rows = compared(design=design).stratified
        assert_frame_equal(
            counted.to_frame().drop(columns="crude"), rows.to_frame().drop(columns="crude")
        )
        again = fs.results.Result.from_dict(rows.to_dict())
        assert_frame_equal(again.to_frame(), rows.to_frame())
        assert_frame_equal(again.by_stratum(), rows.by_stratum())
    table = compared().stratified.by_stratum()
    for _, row in table.iterrows():
        rows = FRAME[FRAME["stratum"] == row["stratum"]]
        alone = compared(frame=rows, strata=None).comparisons[0]
        assert row["rate"] == pytest.approx(alone.rate, rel=1e-12)
        limits = tuple(alone.confidence_interval)
        assert (row["ci_low"], row["ci_high"]) == pytest.approx(limits, rel=1e-8)


def test_simultaneous_limits_and_families() -> None:
    frame = FRAME.assign(group=np.where(np.arange(ROWS) % 5 == 0, "c", FRAME["group"]))
    alone = compared(frame=frame).stratified
    together = compared(frame=frame, simultaneous="bonferroni").stratified
    for one, joint in zip(alone.comparisons, together.comparisons, strict=True):
        assert joint.confidence_interval.low < one.confidence_interval.low
        assert joint.pvalue == one.pvalue
    pvalues = sorted(comparison.pvalue for comparison in alone.comparisons)
    adjusted = sorted(comparison.pvalue_adjusted for comparison in alone.comparisons)
    assert adjusted[0] == pytest.approx(min(1.0, 2 * pvalues[0]))


def test_what_has_too_few_rows_says_so() -> None:
    few = pd.concat([FRAME[FRAME["group"] == "b"], FRAME[FRAME["group"] == "a"].head(8)])
    with pytest.warns(InsufficientEvidenceWarning, match="8 rows, too few"):
        result = compared(frame=few)
    (found,) = result.stratified.comparisons
    assert found.verdict == "insufficient evidence"
    assert math.isfinite(found.estimate)
    # 28 rows of a, of which those of stratum z are worth nearly nothing
    seven = FRAME[(FRAME["group"] == "a") & (FRAME["stratum"] == "y")].head(7)
    many = FRAME[(FRAME["group"] == "a") & (FRAME["stratum"] == "z")].head(21)
    others = FRAME[(FRAME["group"] == "b") & (FRAME["stratum"] == "y")]
    one = FRAME[(FRAME["group"] == "b") & (FRAME["stratum"] == "z")].head(1)
    with pytest.warns(InsufficientEvidenceWarning, match="a: 9.* rows by the weights of the str"):
        compared(frame=pd.concat([seven, many, others, one]))
    apart = FRAME[(FRAME["stratum"] == "x") == (FRAME["group"] == "a")]
    with pytest.warns(InsufficientEvidenceWarning, match="no stratum has cases of both"):
        result = compared(frame=apart)
    assert math.isnan(result.stratified.comparisons[0].estimate)
    # a stratum for every pair of rows leaves no variance within strata
    pairs = FRAME.groupby("group").head(30).sort_values("group").reset_index(drop=True)
    with pytest.warns(InsufficientEvidenceWarning, match="does not vary"):
        compared(frame=pairs, strata=np.arange(60) % 30)


def test_a_ratio_of_values_below_zero_has_no_limits() -> None:
    """Matthews's correlation of group a is below 0 in stratum x, which most of its rows are not in."""
    rng = np.random.default_rng(2)
    stratum = np.repeat(["x", "y"], [120, 240])
    group = np.where(np.arange(360) % 3 == 0, "a", "b")
    group = np.where((stratum == "y") & (np.arange(360) % 12 > 0), "a", group)
    label = rng.integers(0, 2, 360)
    hat = np.where(rng.random(360) < 0.8, label, 1 - label)
    hat = np.where((group == "a") & (stratum == "x"), 1 - label, hat)
    columns = {"sensitive_features": group, "strata": stratum, "reference": "b"}
    with pytest.warns(InsufficientEvidenceWarning, match="not above 0 in both"):
        result = fs.group_metric(label, hat, metric="mcc_ratio", **columns)
    assert result.estimate > 0
    assert result.stratified.comparisons[0].verdict == "insufficient evidence"


def test_a_function_of_the_user_is_the_one_of_the_same_name() -> None:
    def own_f1(tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
        return 2 * tp / (2 * tp + fp + fn)

    own = compared(own_f1).stratified
    known = compared("f1").stratified
    assert own.comparisons[0].estimate == known.comparisons[0].estimate
    assert own.comparisons[0].std_error == known.comparisons[0].std_error
    with pytest.raises(fs.InputError, match="which results do not keep"):
        own.by_stratum()
    assert "Values of the cells of both standardised over 3 strata" in " ".join(own.notes())


def f1(tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
    """No F1, but the negative predictive value."""
    return tn / (tn + fn)


@pytest.mark.parametrize("contrast", ["difference", "ratio"])
@pytest.mark.parametrize("classes", [None, "macro"])
def test_a_function_of_the_user_is_not_read_as_its_namesake(
    contrast: str, classes: str | None
) -> None:
    result = compared(f1, contrast=contrast, classes=classes)
    assert result.metric == f"own_f1_{contrast}"
    assert result.stratified.comparisons[0].metric.startswith(f"own_f1_{contrast}_stratified")
    if classes is None:
        known = compared("npv", contrast=contrast)
        assert result.comparisons[0].estimate == pytest.approx(known.estimate, rel=1e-12)
    with pytest.raises(fs.InputError, match="which results do not keep"):
        result.stratified.by_stratum()


@pytest.mark.r
def test_the_cross_check_leaves_out_a_namesake() -> None:
    result = compared(f1)
    for each in (result, result.stratified):
        checks = fs.crosscheck(each).to_frame()
        (note,) = checks.loc[checks["quantity"] == "estimate", "note"]
        assert "a function of the user's" in note
        assert "disagrees" not in set(checks["verdict"])


def misjudged(groups: str, *, several: bool = False) -> pd.DataFrame:
    """The rows with no favourable label of these groups found; of three classes with none right."""
    frame = FRAME.copy()
    wrong = frame["group"].isin(list(groups))
    if several:
        frame.loc[::3, ["label", "hat"]] = 2
        frame.loc[wrong, "hat"] = (frame["label"] + 1) % 3
    else:
        frame.loc[wrong & (frame["label"] == 1), "hat"] = 0
    return frame


@pytest.mark.r
@pytest.mark.parametrize("groups", ["a", "b", "ab"])
@pytest.mark.parametrize("classes", [None, "macro"])
def test_ratios_of_values_of_0(groups: str, classes: str | None) -> None:
    """One value of 0 has limits about rows more, within one stratum the crude ones; 0/0 has none.
    R has the same, function and twin.
    """
    options = {"contrast": "ratio", "classes": classes}
    frame = misjudged(groups, several=classes is not None)
    if groups == "ab":
        with pytest.warns(InsufficientEvidenceWarning, match="0/0 can be any ratio"):
            result = compared(frame=frame, **options)
    else:
        result = compared(frame=frame, **options)
    if groups == "ab":
        for comparison in (*result.comparisons, *result.stratified.comparisons):
            assert comparison.verdict == "insufficient evidence"
            assert comparison.note.endswith("0 in both; 0/0 can be any ratio.")
            assert tuple(comparison.confidence_interval) == (0, math.inf)
            assert math.isnan(comparison.pvalue)
    else:
        (found,) = result.stratified.comparisons
        assert found.verdict == "violated"
        assert found.estimate == (0.0 if groups == "a" else math.inf)
        one = compared(frame=frame, strata=np.zeros(ROWS, dtype=int), **options)
        crude = tuple(one.comparisons[0].confidence_interval)
        within = tuple(one.stratified.comparisons[0].confidence_interval)
        assert within == pytest.approx(crude, rel=1e-8)
    assert set(fs.crosscheck(result.stratified).to_frame()["verdict"]) == {"agrees"}
    data = {name: column.tolist() for name, column in frame.items()}
    more = {} if classes is None else {"classes": classes}
    theirs = call(
        "fs_group_metric",
        data,
        "f1_ratio",
        "label",
        "hat",
        "group",
        strata="stratum",
        reference="b",
        **more,
    )
    ours = result.to_frame()
    # R differentiates by symbols
    for column in ("adjusted_ci_low", "adjusted_ci_high", "ci_low", "ci_high"):
        wanted = np.atleast_1d(theirs[column])
        assert ours[column].to_numpy() == pytest.approx(wanted, rel=1e-6), column
    assert ours["adjusted_verdict"].tolist() == np.atleast_1d(theirs["adjusted_verdict"]).tolist()


def test_a_note_names_the_group_that_has_no_value() -> None:
    frame = FRAME.copy()
    frame.loc[frame["group"] == "a", ["label", "hat"]] = 0
    with pytest.warns(InsufficientEvidenceWarning) as said:
        result = compared(frame=frame)
    assert str(said[-1].message).endswith(": a: F1 is not defined within strata, or does not vary.")
    # refused: no limits that would err
    assert not any(note.startswith("Few of the rows") for note in result.stratified.notes())


def test_strata_without_weight_do_not_count() -> None:
    """A stratum whose rows of a group weigh 0 is as if it were left out."""
    frame = FRAME.copy()
    frame.loc[(frame["group"] == "a") & (frame["stratum"] == "z"), "weight"] = 0.0
    (found,) = compared(design="weights", frame=frame).stratified.comparisons
    (wanted,) = compared(
        design="weights", frame=frame[frame["stratum"] != "z"]
    ).stratified.comparisons
    for name in ("n_strata", "n", "n_reference", "verdict"):
        assert getattr(found, name) == getattr(wanted, name), name
    assert found.estimate == pytest.approx(wanted.estimate, rel=1e-12)
    assert found.pvalue == pytest.approx(wanted.pvalue, rel=1e-9)


def test_few_effective_rows_are_said() -> None:
    notes = compared(design="weights", frame=FRAME.head(150)).stratified.notes()
    assert any("fewer than 100 effective rows" in note for note in notes)
    assert not any("effective rows" in note for note in compared().stratified.notes())


def test_few_rows_that_count_are_said() -> None:
    """Of F1 all cells but tn count, of FN/FP two of them, of a correlation all."""
    for metric, said in (("error_ratio", True), ("f1", False), ("mcc", False)):
        notes = compared(metric).stratified.notes()
        assert any(note.startswith("Few of the rows count (a") for note in notes) == said, metric
    # a function of the user's is not kept: all of its rows count
    notes = compared(jaccard, frame=FRAME.head(150)).stratified.notes()
    assert any("Few of the rows count (a, b): " in note for note in notes)
    words = "limits of ratios of weighted functions"
    for metric in ("f1", jaccard):
        ratio = compared(metric, "weights", contrast="ratio")
        within = ratio.stratified.regime_notes()
        # without strata by the same rule, in the same words
        (crude,) = ratio.regime_notes()
        assert crude.replace("(b, a)", "(a, b)") == within[0]
        assert sum(words in note for note in within) == 1
        plain = compared(metric, contrast="ratio")
        assert not any(words in note for note in plain.notes())
    many = pd.concat([FRAME] * 6, ignore_index=True)
    ratio = compared("f1", "weights", frame=many, contrast="ratio")
    assert not any(words in note for note in ratio.notes())


@pytest.mark.r
@pytest.mark.parametrize("design", list(DESIGNS))
@pytest.mark.parametrize("comparisons", ["reference", "overall"])
@pytest.mark.parametrize("metric", ["f1_difference", "mcc_difference", "balanced_accuracy_ratio"])
def test_r_has_the_same(metric: str, comparisons: str, design: str) -> None:
    """The function of R from rows, and the twin of the cross-check from counts."""
    result = compared(metric, design, comparisons=comparisons)
    options: dict[str, Any] = {"strata": "stratum", "comparisons": comparisons, **DESIGNS[design]}
    if comparisons == "reference":
        options["reference"] = "b"
    data = {name: column.tolist() for name, column in FRAME.items()}
    theirs = call("fs_group_metric", data, metric, "label", "hat", "group", **options)
    ours = result.to_frame()
    # R differentiates by symbols
    for column in ("adjusted", "adjusted_ci_low", "adjusted_ci_high", "adjusted_pvalue"):
        wanted = np.atleast_1d(theirs[column])
        assert ours[column].to_numpy() == pytest.approx(wanted, rel=1e-6, abs=1e-9), column
    assert ours["adjusted_verdict"].tolist() == np.atleast_1d(theirs["adjusted_verdict"]).tolist()
    checks = fs.crosscheck(result.stratified).to_frame()
    assert len(checks) > 8
    assert set(checks["verdict"]) == {"agrees"}


# of weighted and clustered rows the study keeps sums only
@pytest.mark.parametrize(
    "setting", [setting for setting in study.SETTINGS if not (setting.cv or setting.cluster)]
)
def test_the_study_decides_as_the_public_function(setting: study.Setting) -> None:
    """A sample of every cell of independent rows, as rows for `group_metric`."""
    counts = setting.draw(np.random.default_rng(1))
    truth = setting.truth(counts)
    decision = study.decided(setting, counts, truth)
    assert decision is not None
    rows = np.array(list(np.ndindex(counts.rows.shape))).repeat(counts.rows.ravel(), axis=0)
    stratum, group, cell = rows.T
    names = np.array(counts.cells)[cell]
    options: dict[str, Any] = {"margin": abs(truth), "pos_label": 1}
    if setting.contrast == "ratio":
        options = {"threshold": min(truth, 1 / truth), "pos_label": 1}
    label = np.isin(names, ["tp", "fn"]).astype(int)
    hat = np.isin(names, ["tp", "fp"]).astype(int)
    if setting.n_classes > 2:
        del options["pos_label"]
        options["classes"] = "macro"
        label, hat = np.divmod(cell, setting.n_classes)
    if setting.comparisons == "reference":
        options["reference"] = "1"
    result = fs.group_metric(
        label,
        hat,
        metric=study.jaccard if setting.metric == "jaccard" else setting.metric,
        contrast=setting.contrast,
        sensitive_features=group.astype(str),
        strata=stratum,
        comparisons=setting.comparisons,
        **options,
    )
    comparison = result.stratified["0"]
    assert tuple(comparison.confidence_interval) == pytest.approx(tuple(decision.interval))
    equal = [test.pvalue for test in decision.tests if test.alternative == "two-sided"]
    assert comparison.pvalue == pytest.approx(equal[0], rel=1e-9)
