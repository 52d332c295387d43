"""Means within strata.

Witnesses: least squares on group and strata (`numpy.linalg.lstsq`: the same estimate), Welch and
Satterthwaite by hand, the crude comparison of one stratum, Berkeley's published ratio of Mantel and
Haenszel, tallies by every engine, and R: `lm`, and our twin in base R.
"""

from __future__ import annotations

import json
import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import fairstats as fs
from fairstats.ground.errors import DataWarning, InsufficientEvidenceWarning
from fairstats.ground.serialise import decode
from fairstats.methods.rates.numbers.strata_pairs import names_of_pair, pair_within_strata
from fairstats.numerics.means.hall import hall_statistics
from fairstats.numerics.means.strata import adjusted_mean, homogeneity_test
from tests.calibration.means import moments_of_samples
from tests.report.test_strata import BERKELEY
from tests.test_consistency import of_row


def jobs(n: int = 600, seed: int = 1) -> pd.DataFrame:
    """Wages that depend on the grade, and grades that depend on sex: crude and adjusted differ."""
    rng = np.random.default_rng(seed)
    grade = rng.integers(0, 4, n)
    sex = np.where(rng.random(n) < 0.2 + 0.15 * grade, "m", "f")
    wage = rng.lognormal(2 + 0.4 * grade, 0.4)
    return pd.DataFrame({"wage": wage, "sex": sex, "grade": grade})


def compare(frame: pd.DataFrame, **options: Any) -> Any:
    """Women against men, by grade."""
    options = {"strata": frame["grade"], "reference": "m", **options}
    return fs.means(frame["wage"], sensitive_features=frame["sex"], **options)


def balanced(values: Any, strata: tuple[str, ...] = ("x", "y")) -> tuple[Any, Any, Any]:
    """Symmetric numbers of two groups in every stratum: nothing is skewed."""
    y = np.concatenate(list(values))
    sizes = [len(each) for each in values]
    group = np.repeat(["a", "b"] * len(strata), sizes)
    stratum = np.repeat(np.repeat(strata, 2), sizes)
    return y, group, stratum


SYMMETRIC = (
    np.linspace(-1, 1, 30),
    np.linspace(-2, 4, 20),
    np.linspace(3, 9, 11),
    np.linspace(0, 8, 25),
)


def test_the_difference_is_that_of_least_squares_on_group_and_strata() -> None:
    """Σ w d/Σ w with w = n₁n₀/(n₁ + n₀) is the coefficient of the group beside dummies of strata;
    under weights with w = W₁W₀/(W₁ + W₀) that of weighted least squares."""
    frame = jobs()
    dummies = pd.get_dummies(frame["grade"]).to_numpy(float)
    design = np.column_stack([(frame["sex"] == "f").to_numpy(float), dummies])
    weight = np.random.default_rng(2).uniform(0.5, 2, len(frame))
    for w, options in ((np.ones(len(frame)), {}), (weight, {"sample_weight": weight})):
        root = np.sqrt(w)
        coefficients = np.linalg.lstsq(design * root[:, None], frame["wage"] * root, rcond=None)[0]
        result = compare(frame, **options)
        assert result.stratified.estimate == pytest.approx(coefficients[0], rel=1e-10)


def test_without_skewness_it_is_welchs_statistic_with_satterthwaites_degrees() -> None:
    y, group, stratum = balanced(SYMMETRIC)
    result = fs.means(y, sensitive_features=group, strata=stratum, reference="a")
    within = result.stratified
    samples = SYMMETRIC
    w = np.array([30 * 20 / 50, 11 * 25 / 36])
    w /= w.sum()
    estimate = w @ [samples[1].mean() - samples[0].mean(), samples[3].mean() - samples[2].mean()]
    v = [each.var(ddof=1) / each.size for each in samples]
    terms = np.repeat(w, 2) ** 2 * v
    df_of_groups = []
    for parts in ((0, 2), (1, 3)):
        sizes = np.array([samples[part].size for part in parts])
        own = terms[list(parts)]
        df_of_groups.append(own.sum() ** 2 / np.sum(own**2 / (sizes - 1)))
    both = np.array([terms[[0, 2]].sum(), terms[[1, 3]].sum()])
    df = both.sum() ** 2 / np.sum(both**2 / df_of_groups)
    # the same as Satterthwaite over all four at once
    sizes = np.array([each.size for each in samples])
    assert df == pytest.approx(terms.sum() ** 2 / np.sum(terms**2 / (sizes - 1)))
    error = math.sqrt(terms.sum())
    assert within.estimate == pytest.approx(estimate)
    assert within.std_error == pytest.approx(error)
    assert within.pvalue == pytest.approx(2 * stats.t.sf(abs(estimate) / error, df), rel=1e-10)
    expected = estimate + np.array([-1, 1]) * stats.t.ppf(0.975, df) * error
    assert tuple(within.confidence_interval) == pytest.approx(tuple(expected), rel=1e-10)
    own = stats.t.interval(0.95, df_of_groups[1], within["b"].rate, math.sqrt(both[1]))
    assert tuple(within["b"].value_interval) == pytest.approx(own, rel=1e-10)


@pytest.mark.parametrize("contrast", ["difference", "ratio"])
def test_one_stratum_is_the_crude_comparison(contrast: Any) -> None:
    frame = jobs()
    result = compare(frame, strata=np.ones(len(frame)), contrast=contrast, margin=1.0)
    one, other = result.comparisons[0], result.stratified.comparisons[0]
    assert other.estimate == pytest.approx(one.estimate, rel=1e-12)
    assert other.pvalue == pytest.approx(one.pvalue, rel=1e-9)
    assert tuple(other.bounds) == pytest.approx(tuple(one.bounds), rel=1e-9)
    assert tuple(other.value_interval) == pytest.approx(tuple(one.value_interval), rel=1e-12)
    assert other.verdict == one.verdict
    assert (other.n, other.n_reference, other.n_strata) == (one.n, one.n_reference, 1)
    assert math.isnan(other.pvalue_homogeneity)
    assert result.disagreements() == []


def test_the_shape_is_one_in_all_strata() -> None:
    """γ = Σ n k/Σ n s³ over strata of three rows or more, κ = γ Σ ω³ s³/n²."""
    rng = np.random.default_rng(3)
    samples = [rng.exponential(size=size) for size in (2, 5, 30)]
    parts = moments_of_samples(samples[2])
    shares = np.array([0.2, 0.3, 0.5])
    size = np.array([2.0, 5.0, 30.0])
    joined = type(parts)(
        mean=np.array([sample.mean() for sample in samples]),
        variance=np.array([sample.var(ddof=1) / sample.size for sample in samples]),
        third=np.array(
            [math.nan] + [float(stats.kstat(sample, 3)) / sample.size**2 for sample in samples[1:]]
        ),
        size=size,
    )
    sd = np.array([sample.std(ddof=1) for sample in samples])
    third = np.array([float(stats.kstat(sample, 3)) for sample in samples[1:]])
    shape = np.sum(size[1:] * third) / np.sum(size[1:] * sd[1:] ** 3)
    found = adjusted_mean(joined, shares)
    assert float(found.third) == pytest.approx(shape * np.sum(shares**3 * sd**3 / size**2))
    assert float(found.mean) == pytest.approx(shares @ joined.mean)


def test_berkeleys_ratio_and_difference_of_mantel_and_haenszel() -> None:
    """Of labels 0 and 1: statsmodels' riskratio_pooled 1.058307, as for rates."""
    admitted, sex, dept = [], [], []
    for name, cells in BERKELEY.items():
        for who, (yes, no) in zip(("women", "men"), cells, strict=True):
            admitted += [1] * yes + [0] * no
            sex += [who] * (yes + no)
            dept += [name] * (yes + no)
    options: dict[str, Any] = {"sensitive_features": sex, "strata": dept, "reference": "men"}
    ratio = fs.means(admitted, contrast="ratio", **options)
    assert ratio.stratified.estimate == pytest.approx(1.058307, abs=1e-6)
    assert (ratio.verdict, ratio.stratified.verdict) == ("violated", "satisfied")
    rates = fs.demographic_parity_difference(None, admitted, **options)
    difference = fs.means(admitted, **options)
    assert difference.stratified.estimate == pytest.approx(rates.stratified.estimate, rel=1e-12)
    (sentence,) = difference.disagreements()
    assert "crude difference -0.1416 (violated), within 6 strata +0.01" in sentence


def test_simpsons_reversal_is_said() -> None:
    result = compare(jobs())
    assert result.estimate < -3
    assert abs(result.stratified.estimate) < 1
    (sentence,) = result.disagreements()
    assert sentence.startswith("f against m: crude difference -5.453 (violated)")
    assert "within 4 strata of grade" in sentence
    assert sentence in result.sentences()[0]
    assert sentence in result.summary().replace("\n", " ")
    row = result.to_frame().iloc[0]
    assert row["adjusted"] == result.stratified.estimate
    assert row["adjusted_verdict"] == result.stratified.verdict
    assert row["pvalue_homogeneity"] == result.stratified.comparisons[0].pvalue_homogeneity


@pytest.mark.parametrize("contrast", ["difference", "ratio"])
@pytest.mark.parametrize("alternative", ["two-sided", "less"])
def test_rows_say_one_thing(contrast: Any, alternative: Any) -> None:
    for seed in range(4):
        frame = jobs(seed=seed)
        frame["sex"] = np.where(frame.index % 5 == 0, "d", frame["sex"])
        result = compare(
            frame,
            contrast=contrast,
            comparisons="all",
            alternative=alternative,
            margin=float(seed),
            threshold=0.9,
        )
        within = result.stratified
        for row, sentence in zip(within.comparisons, within.sentences(), strict=True):
            if alternative == "two-sided":
                assert list(of_row(within, row, sentence)) == []
            assert row.confidence_interval.low <= row.estimate <= row.confidence_interval.high
        again = fs.results.Result.from_dict(result.to_dict())
        assert again.to_dict() == result.to_dict()
        pd.testing.assert_frame_equal(again.stratified.by_stratum(), within.by_stratum())


def test_intervals_at_once_are_bonferronis() -> None:
    frame = jobs()
    frame["sex"] = np.where(frame.index % 4 == 0, "d", frame["sex"])
    plain = compare(frame, comparisons="all", confidence_level=1 - 0.05 / 3)
    for kind in ("bonferroni", "max-z"):
        joint = compare(frame, comparisons="all", simultaneous=kind)
        for one, other in zip(
            joint.stratified.comparisons, plain.stratified.comparisons, strict=True
        ):
            assert tuple(one.confidence_interval) == pytest.approx(
                tuple(other.confidence_interval), rel=1e-9
            )
            assert one.pvalue == other.pvalue
    chosen = compare(frame, reference="highest")
    row = chosen.stratified.comparisons[0]
    assert row.pvalue_adjusted == pytest.approx(min(3 * row.pvalue, 1))


def test_units_and_order_do_not_matter() -> None:
    frame = jobs()
    here = compare(frame)
    scaled = compare(frame.assign(wage=1000 * frame["wage"] + 5).sample(frac=1, random_state=1))
    assert scaled.stratified.estimate == pytest.approx(1000 * here.stratified.estimate)
    assert scaled.stratified.pvalue == pytest.approx(here.stratified.pvalue, rel=1e-8)
    one = scaled.stratified.comparisons[0].pvalue_homogeneity
    assert one == pytest.approx(here.stratified.comparisons[0].pvalue_homogeneity, rel=1e-6)
    ratio = compare(frame, contrast="ratio")
    other = compare(frame, contrast="ratio", reference="f")
    assert other.stratified.estimate == pytest.approx(1 / ratio.stratified.estimate)
    assert other.stratified.pvalue == pytest.approx(ratio.stratified.pvalue)


def test_a_shift_of_every_stratum_changes_no_difference() -> None:
    frame = jobs()
    moved = frame.assign(wage=frame["wage"] + np.array([0, 50, -20, 7])[frame["grade"]])
    assert compare(moved).stratified.estimate == pytest.approx(compare(frame).stratified.estimate)
    assert compare(moved).stratified.pvalue == pytest.approx(compare(frame).stratified.pvalue)


def test_homogeneity_of_two_large_strata_is_the_difference_of_both() -> None:
    """Q = (d₁ − d₂)²/(v₁ + v₂) of two strata, large and not skewed; of many that of Cochran."""
    samples = [np.linspace(-1, 1, n) * s + m for n, s, m in ((900, 1, 0), (800, 2, 0.3))]
    samples += [np.linspace(-1, 1, n) * s + m for n, s, m in ((700, 3, 1), (600, 1, 1.5))]
    y, group, stratum = balanced(samples)
    row = fs.means(y, sensitive_features=group, strata=stratum).stratified.comparisons[0]
    v = [sample.var(ddof=1) / sample.size for sample in samples]
    q = (0.3 - 0.5) ** 2 / sum(v)
    (test,) = [test for test in row.tests if test.alternative == "heterogeneity"]
    assert test.statistic == pytest.approx(q, rel=0.01)
    assert row.pvalue_homogeneity == pytest.approx(stats.chi2.sf(test.statistic, 1))
    rng = np.random.default_rng(4)
    many = [rng.normal(m, 2, 3000) for m in (0, 0.2, 0, -0.1, 1, 1, 2, 2.1)]
    y, group, stratum = balanced(many, ("p", "q", "r", "s"))
    row = fs.means(y, sensitive_features=group, strata=stratum).stratified.comparisons[0]
    d = np.array([many[2 * k + 1].mean() - many[2 * k].mean() for k in range(4)])
    u = [1 / sum(many[2 * k + j].var(ddof=1) / 3000 for j in (0, 1)) for k in range(4)]
    sign = 1 if row.group == "b" else -1
    cochran = np.sum(u * (sign * d - np.average(sign * d, weights=u)) ** 2)
    (test,) = [test for test in row.tests if test.alternative == "heterogeneity"]
    assert test.statistic == pytest.approx(cochran, rel=0.02)
    assert row.pvalue_homogeneity < 0.001
    assert "one difference does not describe all strata" in " ".join(
        fs.means(y, sensitive_features=group, strata=stratum).notes()
    )


def test_homogeneity_is_the_least_of_all_values() -> None:
    frame = jobs(200)
    within = compare(frame).stratified
    pair = pair_within_strata(
        within.stratum_moments, names_of_pair(within.stratum_moments, "f", "m"), "y", root=False
    )
    parts = pair.used_parts(0), pair.used_parts(1)
    for ratio in (False, True):
        found = homogeneity_test(*parts, ratio=ratio)
        totals = []
        for value in np.linspace(0.5, 1.5, 2001) if ratio else np.linspace(-4, 4, 2001):
            null = {"ratio": value} if ratio else {"difference": value}
            z = hall_statistics(*parts, **null)
            towards = np.where(z.plain > 0, np.maximum(z.above, 0), np.minimum(z.below, 0))
            totals.append(np.sum(towards**2))
        assert found.statistic == pytest.approx(min(totals), rel=1e-3)
        assert found.statistic <= min(totals) + 1e-9


def test_strata_without_two_rows_of_both_are_named_and_left_out() -> None:
    frame = jobs()
    alone = pd.DataFrame(
        {"wage": [50.0] * 8, "sex": ["m"] * 6 + ["f", "m"], "grade": [8] * 6 + [9, 9]}
    )
    with pytest.warns(DataWarning, match=r"left out 2 of 6 strata without two rows of both"):
        result = compare(pd.concat([frame, alone]))
    row = result.stratified.comparisons[0]
    assert row.estimate == pytest.approx(compare(frame).stratified.estimate)
    assert (row.n, row.n_strata) == (int((frame["sex"] == "f").sum()), 4)
    women = (frame["sex"] == "f").sum()
    assert f"(8, 9), with 1 of {women + 1} rows of f and 7 of" in row.note.replace("'", "")
    assert row.note in result.summary().replace("\n", " ")
    table = result.stratified.by_stratum().set_index("stratum")
    assert table.loc["9", "weight"] == 0
    assert table["weight"].sum() == pytest.approx(1)
    assert (table["weight"] * table["estimate"].fillna(0)).sum() == pytest.approx(row.estimate)


def test_too_few_rows_give_no_verdict() -> None:
    rng = np.random.default_rng(5)
    y = rng.normal(size=120)
    sex = np.repeat(["f", "m"], [24, 96])
    strata = np.concatenate([np.arange(24) // 4, np.arange(96) % 6])
    with pytest.warns(InsufficientEvidenceWarning, match="f has 18 rows beyond the first of every"):
        result = fs.means(y, sensitive_features=sex, strata=strata)
    assert result.verdict != "insufficient evidence"
    assert result.stratified.verdict == "insufficient evidence"
    assert math.isfinite(result.stratified["f"].rate)
    with pytest.warns(InsufficientEvidenceWarning, match="no stratum has two rows of both"):
        apart = fs.means(y, sensitive_features=sex, strata=sex)
    assert math.isnan(apart.stratified.estimate)
    assert apart.stratified.comparisons[0].n_strata == 0
    # pairs of two rows tell nothing of skewness
    with pytest.warns(InsufficientEvidenceWarning, match="no stratum with 3 rows"):
        fs.means(y, sensitive_features=["f", "f", "m", "m"] * 30, strata=np.arange(120) // 4)
    with pytest.warns(InsufficientEvidenceWarning, match="numbers below 0"):
        fs.means(y, sensitive_features=sex, strata=strata % 2, contrast="ratio")
    with pytest.warns(InsufficientEvidenceWarning, match="all numbers are equal"):
        fs.means(strata % 2, sensitive_features=sex, strata=strata % 2)


def test_weights_and_clusters_within_strata() -> None:
    """u/(u − 1)·Σ(Σ w(x − m))²/W² in every stratum, as `survey` has it of strata × groups."""
    frame = jobs()
    plain = compare(frame)
    weight = np.random.default_rng(8).uniform(0.5, 2, len(frame))
    even = compare(frame, sample_weight=np.full(len(frame), 2.5), cluster=np.arange(len(frame)))
    assert even.stratified.pvalue == pytest.approx(plain.stratified.pvalue, rel=1e-9)
    cell = frame["sex"] + frame["grade"].astype(str)
    site = cell + (frame.groupby(cell).cumcount() // 3).astype(str).str.rjust(4, "_")
    result = compare(frame, sample_weight=weight, cluster=site)
    totals = pd.Series(weight).groupby([frame["grade"], frame["sex"]]).sum().unstack()
    share = totals["f"] * totals["m"] / (totals["f"] + totals["m"])
    share /= share.sum()
    variance = 0.0
    for (_, grade), rows in frame.groupby(["sex", "grade"]):
        w = weight[rows.index]
        excess = w * (rows["wage"] - np.average(rows["wage"], weights=w))
        by_site = excess.groupby(site[rows.index]).sum()
        own = len(by_site) / (len(by_site) - 1) * (by_site**2).sum() / w.sum() ** 2
        variance += share[grade] ** 2 * own
    assert result.stratified.std_error == pytest.approx(math.sqrt(variance))
    assert result.stratified.comparisons[0].n_strata == 4
    with pytest.raises(fs.InputError, match="clusters with rows in more than one group"):
        compare(frame, cluster=np.arange(len(frame)) // 10)


def visits(n: int = 600) -> tuple[pd.DataFrame, np.ndarray]:
    """Rows of people who have several, in several grades, with a weight each."""
    rng = np.random.default_rng(9)
    person = rng.integers(0, 60, n)
    grade = rng.integers(0, 4, n)
    wage = rng.lognormal(2 + 0.4 * grade, 0.4) * np.exp(rng.normal(0, 0.3, 60))[person]
    frame = pd.DataFrame(
        {"wage": wage, "sex": np.where(person < 25, "m", "f"), "grade": grade, "person": person}
    )
    return frame, rng.uniform(0.5, 2, n)


def test_clusters_in_several_strata_are_one_value_each() -> None:
    """By hand, person by person: one linearised value over all strata; one stratum is the crude
    comparison, and people of one grade each are what they were."""
    frame, weight = visits()
    within = compare(frame, sample_weight=weight, cluster=frame["person"]).stratified
    totals = pd.Series(weight).groupby([frame["grade"], frame["sex"]]).sum().unstack()
    share = totals["f"] * totals["m"] / (totals["f"] + totals["m"])
    share /= share.sum()
    values = np.zeros(60)
    for (_, grade), rows in frame.groupby(["sex", "grade"]):
        w = pd.Series(weight)[rows.index]
        excess = w * (rows["wage"] - np.average(rows["wage"], weights=w))
        of_people = excess.groupby(rows["person"]).sum()
        factor = math.sqrt(len(of_people) / (len(of_people) - 1))
        values[of_people.index] += share[grade] * factor * of_people / w.sum()
    assert within.std_error == pytest.approx(math.sqrt((values**2).sum()), rel=1e-10)
    (row,) = within.comparisons
    assert math.isnan(row.pvalue_homogeneity)
    assert row.n_strata == 4
    again = decode(json.loads(json.dumps(within.to_dict())))
    assert again.to_frame().equals(within.to_frame())
    one = compare(frame, sample_weight=weight, cluster=frame["person"], strata=np.ones(len(frame)))
    assert one.stratified.pvalue == pytest.approx(one.pvalue, rel=1e-9)
    for metric in ("root_mean_squared_error", "mean_absolute_error"):
        error = fs.prediction_errors(
            frame["wage"],
            frame["wage"] * 1.1,
            metric=metric,
            sensitive_features=frame["sex"],
            strata=frame["grade"],
            cluster=frame["person"],
            reference="m",
        ).stratified
        assert error.verdict in ("violated", "undecided")
    many = np.where(frame["sex"] == "m", frame["person"] % 15, frame["person"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InsufficientEvidenceWarning)
        few = compare(frame, cluster=frame["sex"] + many.astype(str)).stratified
    # 15 people of all four grades count once, not in every grade
    assert few.verdict == "insufficient evidence"
    assert few.comparisons[0].note.startswith("m has 12 clusters beyond")


def test_clusters_in_few_of_the_strata_and_all_else_in_one() -> None:
    """What strata share is a sum over pairs of them: those that share nothing add nothing."""
    frame, _ = visits()
    grade = np.where(frame["person"] % 4 == 3, frame["person"] % 2 + 4, frame["grade"])
    within = compare(frame, cluster=frame["person"], strata=grade).stratified
    shared = within.stratum_moments.shared
    assert shared is not None
    strata, groups = np.divmod(shared.places, 2)
    assert (groups[:, 0] == groups[:, 1]).all()
    assert not (strata[:, 0] == strata[:, 1]).any()
    assert strata.max() == 3


@pytest.mark.parametrize("engine", ["rows", "polars", "duckdb"])
def test_tallies_bring_their_strata(engine: Any) -> None:
    if engine != "rows":
        pytest.importorskip(engine)
    frame = jobs()
    frame["predicted"] = frame["wage"] * 1.1
    tally = fs.tally(
        frame,
        outcome="wage",
        predicted="predicted",
        strata="grade",
        sensitive_features="sex",
        engine=engine,
    )
    for counted in (tally, fs.Tally.from_json(tally.to_json()), tally + tally):
        there = fs.means(counts=counted, reference="m", contrast="ratio").stratified
        is_doubled = counted.group_sizes.sum() > len(frame)
        rows = pd.concat([frame, frame]) if is_doubled else frame
        here = compare(rows, contrast="ratio").stratified
        assert there.estimate == pytest.approx(here.estimate, rel=1e-12)
        assert there.pvalue == pytest.approx(here.pvalue, rel=1e-8)
        assert there.strata == here.strata
        assert there.notes() == here.notes()
    pooled = fs.means(counts=tally, comparisons="rest").stratified["f"]
    assert pooled.estimate == pytest.approx(compare(frame).stratified.estimate)
    error = fs.prediction_errors(counts=tally, metric="mean_residual", reference="m")
    direct = fs.prediction_errors(
        frame["wage"],
        frame["predicted"],
        sensitive_features=frame["sex"],
        strata=frame["grade"],
        metric="mean_residual",
        reference="m",
    )
    assert error.stratified.estimate == pytest.approx(direct.stratified.estimate, rel=1e-9)


def test_errors_of_predictions_within_strata_are_means_of_errors() -> None:
    frame = jobs()
    predicted = frame["wage"] * np.random.default_rng(2).lognormal(0, 0.2, len(frame))
    residual = predicted - frame["wage"]
    options: dict[str, Any] = {
        "sensitive_features": frame["sex"],
        "strata": frame["grade"],
        "reference": "m",
    }
    for metric, error in (("mean_absolute_error", residual.abs()), ("mean_residual", residual)):
        found = fs.prediction_errors(frame["wage"], predicted, metric=metric, **options)
        expected = fs.means(error, **options)
        assert found.stratified.pvalue == pytest.approx(expected.stratified.pvalue, rel=1e-9)
        assert found.stratified.metric == f"{metric}_stratified"
    options["metric"] = "root_mean_squared_error"
    ratio = fs.prediction_errors(frame["wage"], predicted, contrast="ratio", **options)
    del options["metric"]
    squares = fs.means(residual**2, contrast="ratio", **options)
    assert ratio.stratified.estimate == pytest.approx(math.sqrt(squares.stratified.estimate))
    assert ratio.stratified.pvalue == pytest.approx(squares.stratified.pvalue)
    one, other = ratio.stratified.comparisons[0], squares.stratified.comparisons[0]
    assert one.pvalue_homogeneity == pytest.approx(other.pvalue_homogeneity)
    options["metric"] = "root_mean_squared_error"
    difference = fs.prediction_errors(frame["wage"], predicted, **options).stratified
    assert difference.estimate == pytest.approx(
        math.sqrt(other.rate) - math.sqrt(other.rate_reference)
    )
    row = difference.comparisons[0]
    assert math.isnan(row.pvalue_homogeneity)
    assert [test for test in row.tests if test.alternative == "heterogeneity"] == []
    assert list(of_row(difference, row, difference.sentences()[0])) == []


@pytest.mark.parametrize(
    "metric",
    ["brier_score", "log_loss", "balance_positive", "balance_negative", "calibration_in_the_large"],
)
def test_losses_within_strata_are_means_of_losses(metric: Any) -> None:
    frame = jobs(800)
    rng = np.random.default_rng(3)
    score = np.round(rng.uniform(0.05, 0.95, len(frame)), 2)
    y = (rng.random(len(frame)) < score).astype(int)
    numbers = {
        "brier_score": (y - score) ** 2,
        "log_loss": -np.log(np.where(y == 1, score, 1 - score)),
        "balance_positive": score,
        "balance_negative": score,
        "calibration_in_the_large": y - score,
    }[metric]
    kept = np.ones(len(frame), dtype=bool)
    if metric.startswith("balance"):
        kept = y == (1 if metric == "balance_positive" else 0)
    frame["wage"] = numbers
    expected = compare(frame[kept]).stratified
    options: dict[str, Any] = {"metric": metric, "reference": "m"}
    result = fs.scores(y, score, sensitive_features=frame["sex"], strata=frame["grade"], **options)
    crude = fs.scores(y, score, sensitive_features=frame["sex"], **options)
    assert result.pvalue == pytest.approx(crude.pvalue, rel=1e-8)
    assert result.stratified.estimate == pytest.approx(expected.estimate, rel=1e-10)
    assert result.stratified.pvalue == pytest.approx(expected.pvalue, rel=1e-8)
    counted = fs.tally(
        frame.assign(y=y, s=score), y_true="y", score="s", strata="grade", sensitive_features="sex"
    )
    by_tally = fs.scores(counts=counted, **options)
    assert by_tally.stratified.pvalue == pytest.approx(expected.pvalue, rel=1e-8)
    assert by_tally.stratified.notes() == result.stratified.notes()
    weighted = fs.scores(
        y,
        score,
        sensitive_features=frame["sex"],
        strata=frame["grade"],
        sample_weight=np.full(len(frame), 3.0),
        **options,
    )
    assert weighted.stratified.pvalue == pytest.approx(expected.pvalue, rel=1e-8)


# ---------------------------------------------------------------- areas under ROC curves


def risks(n: int = 800, seed: int = 3) -> pd.DataFrame:
    """Scores that are better in some grades than in others."""
    frame = jobs(n, seed)
    rng = np.random.default_rng(seed + 1)
    frame["y"] = rng.integers(0, 2, n)
    frame["score"] = np.round(1 / (1 + np.exp(-rng.normal(frame["y"] * (0.5 + frame["grade"])))), 2)
    return frame


def compare_areas(frame: pd.DataFrame, **options: Any) -> Any:
    """AUCs of women and men, by grade."""
    options = {"strata": frame["grade"], "reference": "m", **options}
    return fs.scores(frame["y"], frame["score"], sensitive_features=frame["sex"], **options)


def delong_by_hand(frame: pd.DataFrame) -> tuple[float, float]:
    """AUC and its variance from all pairs of rows."""
    positives = frame.loc[frame["y"] == 1, "score"].to_numpy()
    negatives = frame.loc[frame["y"] == 0, "score"].to_numpy()
    above = (positives[:, None] > negatives) + 0.5 * (positives[:, None] == negatives)
    of_positives = above.mean(axis=1).var(ddof=1) / positives.size
    return above.mean(), of_positives + above.mean(axis=0).var(ddof=1) / negatives.size


def test_areas_are_weighted_by_positives_and_have_delongs_variance() -> None:
    """Σ ω A, ω ∝ p₁p₀/(p₁ + p₀); limits hold those on the logit scale, t by Satterthwaite."""
    frame = risks()
    within = compare_areas(frame).stratified
    positives = frame.groupby(["grade", "sex"])["y"].sum().unstack()
    share = positives["f"] * positives["m"] / (positives["f"] + positives["m"])
    share = (share / share.sum()).to_numpy()
    adjusted = {}
    for sex in ("f", "m"):
        parts = [delong_by_hand(rows) for _, rows in frame[frame["sex"] == sex].groupby("grade")]
        area, variance = (np.array(column) for column in zip(*parts, strict=True))
        sizes = [
            rows["y"].value_counts().min() - 1
            for _, rows in frame[frame["sex"] == sex].groupby("grade")
        ]
        terms = share**2 * variance
        df = terms.sum() ** 2 / np.sum(terms**2 / sizes)
        adjusted[sex] = (share @ area, terms.sum(), df)
    assert within.estimate == pytest.approx(adjusted["f"][0] - adjusted["m"][0])
    area, variance, df = adjusted["f"]
    reach = stats.t.ppf(0.975, df) * math.sqrt(variance) / (area * (1 - area))
    by_logit = 1 / (1 + np.exp(-(np.log(area / (1 - area)) + np.array([-1, 1]) * reach)))
    low, high = within["f"].value_interval
    assert low <= by_logit[0] + 1e-12
    assert high >= by_logit[1] - 1e-12
    # here Newcombe's are wider on both sides: (A − a)² = z²·Σ ω²·V(a)
    women = frame[frame["sex"] == "f"].groupby("grade")["y"]
    p, n = women.sum().to_numpy(), (women.size() - women.sum()).to_numpy()
    m = (p + n) / 2 - 1
    for a in (low, high):
        spread = a * (1 - a) * (1 + m * (1 - a) / (2 - a) + m * a / (1 + a)) / (p * n)
        assert abs(area - a) == pytest.approx(stats.norm.ppf(0.975) * math.sqrt(share**2 @ spread))
    weights = within.by_stratum()["weight"]
    assert weights.tolist() == pytest.approx(share.tolist())


@pytest.mark.parametrize("contrast", ["difference", "ratio"])
def test_areas_in_one_stratum_are_the_crude_ones(contrast: Any) -> None:
    frame = risks()
    result = compare_areas(frame, strata=np.ones(len(frame)), contrast=contrast, margin=0.05)
    one, other = result.comparisons[0], result.stratified.comparisons[0]
    assert other.estimate == pytest.approx(one.estimate, rel=1e-12)
    assert other.pvalue == pytest.approx(one.pvalue, rel=1e-9)
    assert tuple(other.bounds) == pytest.approx(tuple(one.bounds), rel=1e-9)
    assert tuple(other.value_interval) == pytest.approx(tuple(one.value_interval), rel=1e-9)
    assert other.verdict == one.verdict


def test_areas_of_tallies_and_files_are_those_of_rows() -> None:
    frame = risks()
    result = compare_areas(frame)
    tally = fs.tally(frame, y_true="y", score="score", strata="grade", sensitive_features="sex")
    by_tally = fs.scores(counts=tally, reference="m")
    assert by_tally.stratified.pvalue == pytest.approx(result.stratified.pvalue, rel=1e-9)
    assert by_tally.stratified.notes() == result.stratified.notes()
    again = fs.results.Result.from_dict(result.to_dict())
    assert again.to_dict() == result.to_dict()
    pd.testing.assert_frame_equal(again.stratified.by_stratum(), result.stratified.by_stratum())
    row, sentence = result.stratified.comparisons[0], result.stratified.sentences()[0]
    assert list(of_row(result.stratified, row, sentence)) == []
    assert 0 < row.pvalue_homogeneity < 1
    assert (row.n_strata, row.n_informative) == (4, 4)


def test_strata_of_few_labels_are_left_out_of_areas() -> None:
    frame = risks()
    few = frame[(frame["grade"] > 0) | (frame["y"] == 0) | (frame["sex"] == "m")]
    with pytest.warns(DataWarning, match="left out 1 of 4 strata without 3 rows of each label"):
        result = compare_areas(few)
    assert result.stratified.comparisons[0].n_strata == 3
    expected = compare_areas(frame[frame["grade"] > 0])
    assert result.stratified.estimate == pytest.approx(expected.stratified.estimate)
    small = frame[(frame["sex"] == "m") | (frame.index < 45)]
    with pytest.warns(InsufficientEvidenceWarning, match="rows of its rarer label beyond"):
        assert compare_areas(small).stratified.verdict == "insufficient evidence"
    with pytest.warns(InsufficientEvidenceWarning, match="no stratum has 3 rows of each label"):
        compare_areas(frame, strata=frame["sex"])


# ---------------------------------------------------------------- R


@pytest.mark.r
@pytest.mark.parametrize("contrast", ["difference", "ratio"])
def test_every_number_is_recomputed_in_r(contrast: Any) -> None:
    frame = jobs()
    weight = np.random.default_rng(2).uniform(0.5, 2, len(frame))
    means = compare(frame, contrast=contrast, margin=0.5, sample_weight=weight)
    roots = fs.prediction_errors(
        frame["wage"],
        frame["wage"] * 1.1,
        metric="root_mean_squared_error",
        sensitive_features=frame["sex"],
        strata=frame["grade"],
        contrast=contrast,
    )
    areas = compare_areas(risks(), contrast=contrast, margin=0.05)
    people, weight = visits()
    across = compare(people, contrast=contrast, sample_weight=weight, cluster=people["person"])
    for result in (means, roots, areas, across):
        table = fs.crosscheck(result.stratified).to_frame()
        assert len(table) > 20
        assert set(table["verdict"]) == {"agrees"}


@pytest.mark.r("survey")
def test_clusters_in_several_strata_as_survey_has_them() -> None:
    """svyby of all crossings and svycontrast: the estimate, and the standard error but for the
    factor n/(n − 1), which is of all clusters there, and of those of every crossing here."""
    from fairstats.ground.rsession import call

    frame, weight = visits()
    groups = np.where(frame["sex"] == "m", "blue", "other")
    call("base::source", str(Path(__file__).parents[3] / "r" / "survey_rates.R"))
    there = call(
        "survey_strata",
        frame["wage"].to_numpy(),
        groups.tolist(),
        frame["grade"].astype(str).tolist(),
        weight,
        frame["person"].astype(str).tolist(),
    )
    options: dict[str, Any] = {"sample_weight": weight, "cluster": frame["person"]}
    for contrast in ("difference", "ratio"):
        within = compare(frame, contrast=contrast, **options).stratified
        assert within.estimate == pytest.approx(there[contrast], rel=1e-10)
        moments = within.stratum_moments
        places = [moments.groups.index(name) for name in ("f", "m")]
        pair = pair_within_strata(moments, names_of_pair(moments, "f", "m"), "y", root=False)
        variance = 0.0
        for position, place in enumerate(places):
            between = pair.between[position]
            assert between is not None
            units = moments._of_group(moments.cells.units.astype(float), place)
            factor = np.sqrt((units - 1) / units)
            slope = pair.shares * factor
            if contrast == "ratio":
                slope = slope / pair.value(1) * (within.estimate if position else 1.0)
            variance += slope @ between.errors @ slope
        expected = math.sqrt(variance * 60 / 59)
        assert there[f"{contrast}_error"] == pytest.approx(expected, rel=1e-8)
        assert within.std_error == pytest.approx(expected, rel=0.05)


@pytest.mark.r
def test_r_functions_say_the_same() -> None:
    from fairstats.ground.rsession import call

    frame = jobs()
    result = compare(frame, contrast="ratio").stratified
    columns: dict[str, Any] = {
        "sensitive_features": frame["sex"].tolist(),
        "strata": frame["grade"].astype(str).tolist(),
        "reference": "m",
    }
    found = call("fs_means", y=frame["wage"].to_numpy(), contrast="ratio", **columns)
    assert float(np.atleast_1d(found["adjusted"])[0]) == pytest.approx(result.estimate, rel=1e-9)
    pvalue = float(np.atleast_1d(found["adjusted_pvalue"])[0])
    assert pvalue == pytest.approx(result.pvalue, rel=1e-6)
    people, weight = visits()
    across = compare(people, sample_weight=weight, cluster=people["person"]).stratified
    columns["sensitive_features"] = people["sex"].tolist()
    columns["strata"] = people["grade"].astype(str).tolist()
    found = call(
        "fs_means",
        y=people["wage"].to_numpy(),
        sample_weight=weight,
        cluster=people["person"].astype(str).tolist(),
        **columns,
    )
    pvalue = float(np.atleast_1d(found["adjusted_pvalue"])[0])
    assert pvalue == pytest.approx(across.pvalue, rel=1e-6)
    scored = risks()
    areas = compare_areas(scored).stratified
    columns["sensitive_features"] = scored["sex"].tolist()
    columns["strata"] = scored["grade"].astype(str).tolist()
    found = call(
        "fs_scores",
        y_true=scored["y"].to_numpy(),
        score=scored["score"].to_numpy(),
        **columns,
    )
    assert float(np.atleast_1d(found["adjusted"])[0]) == pytest.approx(areas.estimate, rel=1e-9)
    pvalue = float(np.atleast_1d(found["adjusted_pvalue"])[0])
    assert pvalue == pytest.approx(areas.pvalue, rel=1e-5)


@pytest.mark.parametrize(
    ("function", "options", "message"),
    [
        (fs.calibration, {"metric": "isotonic"}, "strata with curves"),
    ],
)
def test_what_has_no_comparison_within_strata_is_said(
    function: Any, options: dict[str, Any], message: str
) -> None:
    frame = jobs()
    columns = [frame["wage"]]
    if function is fs.prediction_errors:
        columns *= 2
    if function in (fs.scores, fs.calibration):
        columns = [(frame["wage"] > 10).astype(int), frame["wage"] / frame["wage"].max() * 0.9]
    options = {"sensitive_features": frame["sex"], "strata": frame["grade"], **options}
    with pytest.raises(fs.InputError, match=message) as caught:
        function(*columns, **options)
    assert "To fix:" in str(caught.value)


def test_columns_of_strata_are_checked_as_others() -> None:
    frame = jobs()
    with pytest.raises(fs.InputError, match="strata"):
        compare(frame, strata=[1, 2, 3])
    with pytest.raises(fs.InputError, match="missing values: strata"):
        compare(frame, strata=np.where(frame["grade"] > 0, frame["grade"], np.nan))
    tally = fs.tally(frame, outcome="wage", sensitive_features="sex")
    with pytest.raises(fs.InputError, match="strata"):
        fs.means(counts=tally, strata=frame["grade"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fs.means(counts=tally).stratified is None
    with pytest.raises(fs.InputError, match="adjusted comparison"):
        compare(frame).stratified.worst_case_bounds()
