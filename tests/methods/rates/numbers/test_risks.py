"""Isotonic calibration, parts of the Brier score, net benefit and rates along cut-offs.

Witnesses: scikit-learn's isotonic regression and Brier score, Clopper and Pearson's limits by
`scipy.stats.beta`, the min-max formula of isotonic regression written out, net benefit by its
definition (Vickers, Elkin 2006), `group_metric` and `means` of the same rows, and R (base R twins,
`isoreg`). Coverage: cells of `tests/calibration/risks.py`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta

import fairstats as fs
from fairstats.ground.errors import InsufficientEvidenceWarning
from fairstats.methods.rates.numbers.contrasts import CentredContrast, LimitContrast
from fairstats.numerics.means.isotonic import (
    CountedRisks,
    HonestBand,
    discrimination,
    equality_of_curves,
    isotonic_curve,
    miscalibration,
    uncertainty_limits,
    value_of_curve,
)

PARTS = ("miscalibration", "discrimination", "uncertainty")


def risks(n: tuple[int, ...] = (240, 120, 60), seed: int = 1) -> dict[str, Any]:
    """Labels, risks and groups: calibrated in the first group."""
    rng = np.random.default_rng(seed)
    group = np.repeat(["a", "b", "c"][: len(n)], n)
    score = rng.uniform(0.03, 0.97, group.size).round(2)
    y = (rng.random(group.size) < np.where(group == "a", score, 0.2 + 0.6 * score)).astype(int)
    return {"y_true": y, "score": score, "sensitive_features": group}


def counted(y: Any, score: Any) -> CountedRisks:
    scores, place = np.unique(score, return_inverse=True)
    positives = np.bincount(place, y, scores.size)
    return CountedRisks.of(scores, np.bincount(place) - positives, positives)


def test_curves_are_those_of_scikit_learn() -> None:
    isotonic = pytest.importorskip("sklearn.isotonic")
    data = risks()
    model = isotonic.IsotonicRegression(out_of_bounds="clip").fit(data["score"], data["y_true"])
    own = counted(data["y_true"], data["score"])
    np.testing.assert_allclose(isotonic_curve(own), model.predict(own.scores), atol=1e-12)
    for score in (0.0, 0.123, 0.5, 1.0):
        assert value_of_curve(own, score) == pytest.approx(float(model.predict([score])[0]))


def test_parts_add_up_to_the_brier_score() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    data = risks()
    parts = {
        metric: fs.scores(**data, metric=metric, reference="a")  # type: ignore[arg-type]
        for metric in PARTS
    }
    for group in ("b", "c"):
        inside = data["sensitive_features"] == group
        brier = metrics.brier_score_loss(data["y_true"][inside], data["score"][inside])
        values = [parts[metric][group].rate for metric in PARTS]
        assert values[0] - values[1] + values[2] == pytest.approx(brier, rel=1e-12)
        for metric in PARTS:
            row = parts[metric][group]
            assert row.value_interval.low <= row.rate <= row.value_interval.high


def without_row(y: Any, score: Any, row: int) -> float:
    """The curve at a row's score without it, by the min-max formula over all runs."""
    kept = np.arange(y.size) != row
    at = score[row]
    scores = np.unique(score[kept])

    def mean(low: float, high: float) -> float:
        return float(y[kept & (score >= low) & (score <= high)].mean())

    def value(place: float) -> float:
        return max(
            min(mean(low, high) for high in scores[scores >= place])
            for low in scores[scores <= place]
        )

    if at in scores:
        return value(at)
    beside = [value(scores[scores < at].max())] if (scores < at).any() else []
    beside += [value(scores[scores > at].min())] if (scores > at).any() else []
    return float(np.mean(beside))


def test_curves_that_leave_a_row_out_are_those_of_the_min_max_formula() -> None:
    rng = np.random.default_rng(3)
    score = rng.choice([0.1, 0.2, 0.35, 0.4, 0.7, 0.9], 25)
    score[:3] = (0.05, 0.55, 0.95)
    y = (rng.random(25) < score).astype(int)
    own = counted(y, score)
    fitted = np.interp(score, own.scores, isotonic_curve(own))
    left_out = np.array([without_row(y, score, row) for row in range(y.size)])
    expected = np.mean((y - score) ** 2) - np.mean((y - left_out) ** 2)
    part = miscalibration(own)
    assert part.left_out == pytest.approx(expected, abs=1e-12)
    gain = (y - score) ** 2 - (y - fitted) ** 2
    assert part.variance == pytest.approx(gain.var(ddof=1) / y.size)
    assert discrimination(own).estimate == pytest.approx(
        np.mean((y - y.mean()) ** 2) - np.mean((y - fitted) ** 2)
    )


def test_limits_of_uncertainty_reach_a_quarter_near_one_half() -> None:
    assert uncertainty_limits(50, 100, 1.96)[1] == 0.25
    low, high = uncertainty_limits(10, 100, 1.96)
    assert 0 < low < 0.09 < high < 0.25


def test_a_difference_of_biased_estimates() -> None:
    """Away from 0 it is MOVER about the centres; at 0 the one's limit less the other's."""
    away = CentredContrast(
        (3.0, 1.0), lambda z: (3 - z, 3 + z), lambda z: (1 - z / 4, 1 + z / 4), biased=(3.2, 1.1)
    )
    assert away.estimate == pytest.approx(2.1)
    assert away.limits(2.0)[0] == pytest.approx(2 - math.hypot(2, 0.5))
    at_zero = CentredContrast((1.0, 2.0), lambda z: (0.0, 1 + z), lambda z: (2 - z, 2 + z))
    assert at_zero.limits(1.0)[0] == pytest.approx(-3.0)


def test_bands_are_clopper_and_pearsons_over_runs() -> None:
    """Two blocks: runs of one and two next to each of three scores, a sixth of the error each."""
    score = np.repeat([0.2, 0.6], 30)
    y = np.r_[np.ones(9), np.zeros(21), np.ones(20), np.zeros(10)]
    band = HonestBand.of(counted(y, score), 3)
    low, high = band.limits(0.4, 0.05)
    each = 0.05 / 6
    assert low == pytest.approx(beta.ppf(each, 9, 22))
    assert high == pytest.approx(beta.isf(each, 21, 10))
    # both blocks lie at or below .6
    at_end = max(beta.ppf(each, 20, 11), beta.ppf(each, 29, 32))
    assert band.limits(0.6, 0.05)[0] == pytest.approx(at_end)
    assert band.limits(0.1, 0.05)[0] == 0


def test_a_difference_of_limits_has_half_the_error_on_each_side() -> None:
    contrast = LimitContrast((0.5, 0.4), lambda z: (-z, z), lambda z: (-z, z))
    from scipy.special import ndtr, ndtri

    each = -ndtri(ndtr(-1.5) / 2)
    assert contrast.limits(1.5) == pytest.approx((-2 * each, 2 * each))


def test_groups_with_one_curve_and_with_two() -> None:
    rng = np.random.default_rng(4)
    score = rng.uniform(size=600)
    alike = (rng.random(600) < score).astype(int)
    higher = (rng.random(600) < np.clip(score + 0.25, 0, 1)).astype(int)
    reference = counted(alike[:300], score[:300])
    same = equality_of_curves(counted(alike[300:], score[300:]), reference, 199, rng)
    other = equality_of_curves(counted(higher[300:], score[300:]), reference, 199, rng)
    back = equality_of_curves(reference, counted(higher[300:], score[300:]), 199, rng)
    assert same.pvalue > 0.05
    assert other.pvalue == 1 / 200
    assert other.difference > 0.1
    assert back.statistic == pytest.approx(other.statistic)
    assert back.difference == pytest.approx(-other.difference)
    assert math.isnan(equality_of_curves(counted([], []), reference, 199, rng).pvalue)


def test_net_benefit_is_that_of_its_definition() -> None:
    data = risks()
    result = fs.scores(**data, metric="net_benefit", cutoffs=[0.0, 0.3])
    for row in result.comparisons:
        inside = data["sensitive_features"] == row.group  # type: ignore[attr-defined]
        y = data["y_true"][inside]
        selected = data["score"][inside] >= row.cutoff  # type: ignore[attr-defined]
        odds = row.cutoff / (1 - row.cutoff)  # type: ignore[attr-defined]
        expected = (selected & (y == 1)).mean() - (selected & (y == 0)).mean() * odds
        assert row.rate == pytest.approx(expected)
    # of selecting everybody at no cost the share of favourable labels
    everybody = result["b", 0.0]
    assert everybody.rate == data["y_true"][data["sensitive_features"] == "b"].mean()


@pytest.mark.parametrize("contrast", ["difference", "ratio"])
@pytest.mark.parametrize("rate", ["selection_rate", "tpr", "ppv"])
def test_one_cutoff_is_a_metric_of_predictions(rate: Any, contrast: Any) -> None:
    data = risks()
    along = fs.scores(
        **data, metric=rate, cutoffs=[0.5], contrast=contrast, margin=0.1, reference="a"
    )
    options = {"margin": 0.1} if contrast == "difference" else {}
    of_predictions = fs.group_metric(
        data["y_true"],
        data["score"] >= 0.5,
        sensitive_features=data["sensitive_features"],
        metric=f"{rate}_{contrast}",
        simultaneous="bonferroni",
        reference="a",
        **options,  # type: ignore[arg-type]
    )
    np.testing.assert_allclose(along.estimate, of_predictions.estimate)
    np.testing.assert_allclose(along.pvalue, of_predictions.pvalue)
    for ours, theirs in zip(along.comparisons, of_predictions.comparisons, strict=True):
        assert tuple(ours.confidence_interval) == pytest.approx(tuple(theirs.confidence_interval))
        assert ours.verdict == theirs.verdict


def test_weights_and_clusters_are_those_of_the_rules_behind() -> None:
    data = risks()
    rng = np.random.default_rng(5)
    weight = rng.exponential(size=data["y_true"].size)
    cluster = np.char.add(data["sensitive_features"], (np.arange(weight.size) % 40).astype(str))
    design = {"sample_weight": weight, "cluster": cluster}
    rows = fs.scores(**data, **design, metric="tpr", cutoffs=[0.4], margin=0.1, reference="a")
    expected = fs.group_metric(
        data["y_true"],
        data["score"] >= 0.4,
        sensitive_features=data["sensitive_features"],
        metric="tpr_difference",
        margin=0.1,
        reference="a",
        simultaneous="bonferroni",
        **design,
    )
    np.testing.assert_allclose(rows.pvalue, expected.pvalue)
    benefit = np.where(data["y_true"] == 1, 1.0, -0.4 / 0.6) * (data["score"] >= 0.4)
    numbers = {"brier_score": (data["y_true"] - data["score"]) ** 2, "net_benefit": benefit}
    for metric, number in numbers.items():
        options = {"cutoffs": [0.4]} if metric == "net_benefit" else {}
        result = fs.scores(
            **data,
            **design,
            **options,  # type: ignore[arg-type]
            metric=metric,  # type: ignore[arg-type]
            reference="a",
        )
        of_means = fs.means(
            number, sensitive_features=data["sensitive_features"], reference="a", **design
        )
        np.testing.assert_allclose(result.estimate, of_means.estimate)
        np.testing.assert_allclose(result.pvalue, of_means.pvalue)


def test_stretches_say_where_each_verdict_holds() -> None:
    rng = np.random.default_rng(6)
    group = np.repeat(["a", "b"], 1500)
    score = np.r_[rng.uniform(0, 1, 1500), rng.uniform(0, 0.6, 1500)].round(2)
    y = (rng.random(3000) < score).astype(int)
    result = fs.scores(
        y,
        score,
        sensitive_features=group,
        metric="selection_rate",
        cutoffs=np.arange(1, 10) / 10,
        margin=0.1,
        reference="a",
    )
    stretches = result.stretches()  # type: ignore[union-attr]
    assert stretches["n_cutoffs"].sum() == 9
    violated = stretches[stretches["verdict"] == "violated"]
    assert violated["direction"].tolist() == ["below"]
    assert violated["first"].item() <= 0.4
    assert violated["last"].item() >= 0.8
    assert "violated (below)" in result.sentences()[0]
    assert result["b", 0.4].verdict == "violated"
    with pytest.raises(fs.InputError, match="cutoff"):
        result["b", 0.44]
    narrow = fs.scores(
        y, score, sensitive_features=group, metric="selection_rate", cutoffs=[0.4], margin=0.1
    )
    wide_interval = result["b", 0.4].confidence_interval
    assert narrow["b", 0.4].confidence_interval.width < wide_interval.width


def test_few_events_are_refused_by_parts_and_not_by_bands() -> None:
    data = risks((200, 60))
    data["y_true"][200:] = 0
    data["y_true"][200:209] = 1
    with pytest.warns(InsufficientEvidenceWarning, match="51 and 9 rows"):
        refused = fs.scores(**data, metric="miscalibration")
    assert refused["b"].verdict == "insufficient evidence"
    answered = fs.calibration(**data, metric="isotonic", at=[0.5], n_resamples=99, rng=1)
    row = answered["b"]
    assert row.value_interval.low < 0.05 < row.value_interval.high
    assert row.confidence_interval.low < row.estimate < row.confidence_interval.high


def test_tallies_and_engines_give_what_rows_give() -> None:
    data = risks()
    frame = pd.DataFrame({"y": data["y_true"], "s": data["score"], "g": data["sensitive_features"]})
    names: dict[str, Any] = {"y_true": "y", "score": "s", "sensitive_features": "g"}
    tallies = [fs.Tally.from_json(fs.tally(frame, **names).to_json(exact=True))]
    polars = pytest.importorskip("polars")
    tallies.append(fs.tally(polars.from_pandas(frame).lazy(), **names))
    for metric in ("discrimination", "net_benefit", "fpr"):
        options: dict[str, Any] = {"metric": metric, "reference": "a"}
        if metric != "discrimination":
            options["cutoffs"] = [0.3, 0.6]
        expected = fs.scores(**data, **options).to_frame()
        for tally in tallies:
            pd.testing.assert_frame_equal(fs.scores(counts=tally, **options).to_frame(), expected)
    curve: dict[str, Any] = {"metric": "isotonic", "at": [0.4], "n_resamples": 99, "rng": 2}
    expected_curve = fs.calibration(**data, **curve).to_dict()
    for tally in tallies:
        assert fs.calibration(counts=tally, **curve).to_dict() == expected_curve
    restored = type(fs.calibration(**data, **curve)).from_dict(expected_curve)
    assert restored.to_dict() == expected_curve


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": "tpr", "cutoffs": [0.2, 1.2]}, "numbers from 0 to 1"),
        ({"metric": "net_benefit", "cutoffs": [1.0]}, "cutoffs"),
        ({"metric": "auc", "cutoffs": [0.5]}, "does not go along the scores"),
        ({"metric": "net_benefit", "contrast": "ratio"}, "both signs, or can be 0"),
        ({"metric": "miscalibration", "contrast": "ratio"}, "both signs, or can be 0"),
        ({"metric": "tpr", "reference": "highest"}, "highest"),
    ],
)
def test_what_cannot_be_used_is_said(options: dict[str, Any], message: str) -> None:
    data = risks()
    with pytest.raises(fs.InputError, match=message):
        fs.scores(**data, **options)


def test_pictures_show_differences_and_groups() -> None:
    data = risks()
    result: Any = fs.scores(**data, metric="tpr", cutoffs=[0.3, 0.5, 0.7], margin=0.1)
    kinds = [mark.kind for mark in result.picture("difference", "b").marks]
    assert kinds[:2] == ["band", "line"]
    both = result.picture("groups", ("c", "a"))
    assert [mark.label for mark in both.marks if mark.kind == "line"] == ["c", "a"]
    with pytest.raises(fs.InputError, match="kind"):
        result.picture("other")


def test_every_test_is_in_the_table() -> None:
    result: Any = fs.calibration(**risks(), metric="isotonic", at=[0.4, 0.6], n_resamples=99, rng=1)
    tests = result.tests()
    assert (tests["null"] == "equal calibration curves").sum() == 2
    assert any("equal calibration curves, p =" in sentence for sentence in result.sentences())


@pytest.mark.r
def test_every_number_is_recomputed_in_r() -> None:
    data = risks((60, 40))
    results: list[Any] = [fs.scores(**data, metric=metric) for metric in PARTS]  # type: ignore[arg-type]
    results.append(fs.scores(**data, metric="net_benefit", cutoffs=[0.3, 0.6]))
    results.append(fs.scores(**data, metric="tpr", cutoffs=[0.5], margin=0.1))
    curve: dict[str, Any] = {"metric": "isotonic", "at": [0.5], "n_resamples": 199, "rng": 1}
    results.append(fs.calibration(**data, **curve, margin=0.05))
    for result in results:
        verdicts = set(fs.crosscheck(result, data=data).to_frame()["verdict"])
        assert verdicts <= {"agrees", "within Monte Carlo error"}
        assert "agrees" in verdicts


@pytest.mark.r
def test_weighted_curves_are_recomputed_in_r() -> None:
    data = risks((150, 80))
    rng = np.random.default_rng(7)
    data["sample_weight"] = rng.exponential(size=230)
    data["cluster"] = np.char.add(
        data["sensitive_features"], (np.arange(230) % 30).astype(str)
    ).tolist()
    for metric in ("net_benefit", "tpr"):
        result = fs.scores(**data, metric=metric, cutoffs=[0.3, 0.6])  # type: ignore[arg-type]
        assert set(fs.crosscheck(result, data=data).to_frame()["verdict"]) == {"agrees"}


def test_an_audit_shows_what_goes_along_the_scores() -> None:
    data = risks((150, 80))
    frame = pd.DataFrame({"y": data["y_true"], "s": data["score"], "g": data["sensitive_features"]})
    options: dict[str, Any] = {"y_true": "y", "score": "s", "sensitive_features": "g", "rng": 1}
    report = fs.audit(frame, **options, n_resamples=199, risks=True)
    section = next(section for section in report.sections if section.key == "risks")
    assert [result.metric for result in section.results] == [
        "isotonic_calibration",
        "net_benefit",
        "selection_rate_difference_by_cutoff",
        "tpr_difference_by_cutoff",
        "fpr_difference_by_cutoff",
        "ppv_difference_by_cutoff",
    ]
    plain = fs.audit(frame, **options, n_resamples=199)
    assert plain.verdicts == report.verdicts


def test_an_audit_compares_rates_along_the_scores_with_all_other_rows() -> None:
    data = risks((150, 80, 70))
    frame = pd.DataFrame({"y": data["y_true"], "s": data["score"], "g": data["sensitive_features"]})
    report = fs.audit(
        frame,
        y_true="y",
        score="s",
        sensitive_features="g",
        comparisons="rest",
        n_resamples=199,
        risks=True,
        rng=1,
    )
    section = next(section for section in report.sections if section.key == "risks")
    by_metric = {result.metric: result for result in section.results}
    alone = fs.scores(**data, metric="tpr", comparisons="rest", margin=0.1)
    along = by_metric["tpr_difference_by_cutoff"]
    pd.testing.assert_frame_equal(along.to_frame(), alone.to_frame())
    assert along.comparisons[0].reference == "all but a"
    for metric in ("net_benefit", "isotonic_calibration"):
        assert by_metric[metric].comparisons[0].reference == "the rest"
