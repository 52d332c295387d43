"""Isotonic curves and parts of the Brier score of rows with weights or in clusters.

Witnesses: scikit-learn's isotonic regression with `sample_weight`, the comparison without weights
where they are equal, expanded rows, the beta function, units left out one by one with scikit-learn,
and our twin in base R, which pools by hand.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from scipy import stats

import fairstats as fs
from fairstats.ground.errors import InsufficientEvidenceWarning
from fairstats.ground.outcomes import Outcomes
from fairstats.ground.serialise import decode
from fairstats.methods.rates.numbers.cutoffs import CutRows
from fairstats.methods.rates.numbers.parts_of_all import Gains
from fairstats.numerics.means.isotonic import (
    CountedRisks,
    HonestBand,
    discrimination,
    equality_of_curves,
    miscalibration,
    uncertainty_limits,
    value_of_curve,
)
from fairstats.numerics.means.weighted_risks import (
    WeightedBand,
    WeightedRisks,
    equality_of_weighted_curves,
    weighted_part,
    weighted_uncertainty_limits,
)

PARTS = ("miscalibration", "discrimination", "uncertainty")
AT = [0.2, 0.5, 0.8]


def rows(n: tuple[int, ...] = (220, 130), seed: int = 1) -> dict[str, Any]:
    """Labels, tied risks, groups, weights and clusters within groups."""
    rng = np.random.default_rng(seed)
    group = np.repeat(["a", "b", "c"][: len(n)], n)
    score = rng.uniform(0.03, 0.97, group.size).round(2)
    y = (rng.random(group.size) < np.where(group == "a", score, 0.2 + 0.6 * score)).astype(int)
    unit = rng.integers(0, 40, group.size)
    return {
        "y_true": y,
        "score": score,
        "sensitive_features": group,
        "sample_weight": rng.gamma(2, 1, group.size),
        "cluster": np.array([f"{name}{code}" for name, code in zip(group, unit, strict=True)]),
    }


def columns(*further: str, **options: Any) -> dict[str, Any]:
    table = rows(**options)
    return {name: table[name] for name in ("y_true", "score", "sensitive_features", *further)}


def one_group(n: int = 120, seed: int = 2, rows_of_unit: int = 1) -> WeightedRisks:
    rng = np.random.default_rng(seed)
    score = rng.uniform(size=n).round(2)
    labels = (rng.random(n) < score**1.5).astype(float)
    return WeightedRisks.of(score, labels, rng.gamma(2, 1, n), np.arange(n) // rows_of_unit)


def counted(risks: WeightedRisks) -> CountedRisks:
    """The same rows, each of weight 1."""
    counts = np.zeros((2, risks.scores.size))
    np.add.at(counts, (risks.labels.astype(int), risks.place), 1)
    return CountedRisks.of(risks.scores, counts[0], counts[1])


def even(risks: WeightedRisks) -> WeightedRisks:
    score = risks.scores[risks.place]
    return WeightedRisks.of(score, risks.labels, np.full(score.size, 3.0), None)


def test_curves_are_those_of_scikit_learn() -> None:
    isotonic = pytest.importorskip("sklearn.isotonic")
    risks = one_group()
    score = risks.scores[risks.place]
    fit = isotonic.IsotonicRegression(out_of_bounds="clip")
    fit.fit(score, risks.labels, sample_weight=risks.weights)
    assert risks.curve() == pytest.approx(fit.predict(risks.scores), abs=1e-12)
    for at in (0.0, 0.333, 0.71, 1.0):
        assert risks.value_at(at) == pytest.approx(float(fit.predict([at])[0]), abs=1e-12)


def test_equal_weights_are_none() -> None:
    """The kernels of weighted rows have the numbers of counted ones where all weigh alike."""
    risks = even(one_group())
    plain = counted(risks)
    other = even(one_group(90, seed=5))
    for metric, part in (("miscalibration", miscalibration), ("discrimination", discrimination)):
        ours = weighted_part(risks, metric)
        wanted = part(plain)
        assert ours.estimate == pytest.approx(wanted.estimate, rel=1e-9)
        assert ours.left_out == pytest.approx(wanted.left_out, rel=1e-9)
        assert ours.variance == pytest.approx(wanted.variance, rel=1e-9)
        # Student's t of 119 degrees of freedom
        assert ours.limits(1.96) == pytest.approx(wanted.limits(1.98), rel=2e-3)
    positives = float(plain.positives.sum())
    assert weighted_uncertainty_limits(risks.effective_share(), 1.96) == pytest.approx(
        uncertainty_limits(positives, plain.size, 1.96), rel=1e-9
    )
    points = np.array(AT)
    band = WeightedBand.of(risks, points)
    wanted_band = HonestBand.of(plain, points.size)
    for at in AT:
        assert band.limits(at, 0.05) == pytest.approx(wanted_band.limits(at, 0.05), rel=1e-9)
        assert risks.value_at(at) == pytest.approx(value_of_curve(plain, at), rel=1e-9)
    test = equality_of_weighted_curves(risks, other, 199, np.random.default_rng(1))
    wanted_test = equality_of_curves(plain, counted(other), 199, np.random.default_rng(1))
    t = -stats.norm.ppf(stats.t.sf(wanted_test.statistic, 89))
    assert test.statistic == pytest.approx(t, rel=1e-6)
    assert (test.low, test.high) == (wanted_test.low, wanted_test.high)
    assert test.pvalue == pytest.approx(wanted_test.pvalue, abs=0.12)


@pytest.mark.parametrize("metric", [*PARTS, "isotonic"])
def test_weights_that_are_equal_in_every_group_change_nothing(metric: str) -> None:
    table = columns()
    weight = np.where(table["sensitive_features"] == "a", 2.0, 5.0)
    options: dict[str, Any] = {"metric": metric}
    function: Any = fs.scores
    if metric == "isotonic":
        function = fs.calibration
        options |= {"at": AT, "n_resamples": 99, "rng": 1}
    plain = function(**table, **options)
    weighted = function(**table, **options, sample_weight=weight)
    for one, other in zip(plain, weighted, strict=True):
        assert one.estimate == other.estimate
        assert tuple(one.confidence_interval) == tuple(other.confidence_interval)


@pytest.mark.parametrize("rows_of_unit", [1, 3])
def test_units_are_left_out_one_by_one(rows_of_unit: int) -> None:
    """The optimism of the parts, with scikit-learn's curves of all other units."""
    isotonic = pytest.importorskip("sklearn.isotonic")
    risks = one_group(60, rows_of_unit=rows_of_unit)
    score = risks.scores[risks.place]
    total = 0.0
    fitted = risks.curve()[risks.place]
    for unit in range(risks.n_units):
        own = risks.unit == unit
        fit = isotonic.IsotonicRegression(out_of_bounds="clip")
        fit.fit(score[~own], risks.labels[~own], sample_weight=risks.weights[~own])
        others = np.unique(score[~own])
        for row in np.flatnonzero(own):
            # between the scores next to one that nobody else has the curve is their mean
            near = [
                others[others <= score[row]].max(initial=-1),
                others[others >= score[row]].min(initial=2),
            ]
            value = fit.predict(near).mean()
            gain = (risks.labels[row] - value) ** 2 - (risks.labels[row] - fitted[row]) ** 2
            total += risks.weights[row] * gain
    part = weighted_part(risks, "miscalibration")
    assert part.estimate - part.left_out == pytest.approx(total / risks.weights.sum(), rel=1e-9)


def test_parts_add_up_to_the_brier_score() -> None:
    table = columns("sample_weight", "cluster")
    found = {metric: fs.scores(**table, metric=metric) for metric in PARTS}
    brier = fs.scores(**table, metric="brier_score")
    for group in ("b",):
        values = [found[metric][group].rate for metric in PARTS]
        assert values[0] - values[1] + values[2] == pytest.approx(brier[group].rate)


def test_whole_weights_are_expanded_rows_but_for_their_number() -> None:
    """Curves and parts of rows that stand w times; limits are wider, for rows are fewer."""
    rng = np.random.default_rng(7)
    risks = one_group(150, seed=8)
    score = risks.scores[risks.place]
    weight = rng.integers(1, 5, 150)
    weighted = WeightedRisks.of(score, risks.labels, weight.astype(float), None)
    expanded = even(
        WeightedRisks.of(
            np.repeat(score, weight), np.repeat(risks.labels, weight), np.ones(weight.sum()), None
        )
    )
    assert weighted.curve() == pytest.approx(expanded.curve(), abs=1e-12)
    for metric in ("miscalibration", "discrimination"):
        ours = weighted_part(weighted, metric)
        wanted = weighted_part(expanded, metric)
        assert ours.estimate == pytest.approx(wanted.estimate, rel=1e-9)
        assert np.ptp(ours.limits(1.96)) > np.ptp(wanted.limits(1.96))
    share = weighted.effective_share()
    assert share.number < 150


def test_limits_of_a_run_are_by_the_beta_function() -> None:
    """Clusters of two equal rows are worth one row each."""
    labels = np.repeat([1.0, 0.0], [14, 26])
    alone = WeightedRisks.of(np.full(40, 0.5), labels, np.ones(40), None).effective_share()
    assert alone.lower_limit(0.01) == pytest.approx(stats.beta.ppf(0.01, 14, 27))
    doubled = WeightedRisks.of(
        np.full(80, 0.5), np.repeat(labels, 2), np.ones(80), np.repeat(np.arange(40), 2)
    ).effective_share()
    assert doubled.number == pytest.approx(40, rel=0.02)
    assert doubled.lower_limit(0.01) == pytest.approx(alone.lower_limit(0.01), abs=0.01)
    nobody = WeightedRisks.of(np.full(6, 0.5), np.ones(6), np.ones(6), np.zeros(6, int))
    assert nobody.effective_share().lower_limit(0.05) == 0.0


def test_the_order_of_the_rows_says_nothing() -> None:
    table = columns("sample_weight", "cluster")
    mixed = np.random.default_rng(3).permutation(table["y_true"].size)
    shuffled = {name: column[mixed] for name, column in table.items()}
    for metric in PARTS:
        one = fs.scores(**table, metric=metric, reference="a")
        other = fs.scores(**shuffled, metric=metric, reference="a")
        assert other.estimate == pytest.approx(one.estimate, rel=1e-9)
        assert tuple(other.confidence_interval) == pytest.approx(tuple(one.confidence_interval))


def test_more_than_a_thousand_scores_and_two_thousand_units() -> None:
    """Scores are merged and units thinned out: about the same optimism, which is small."""
    rng = np.random.default_rng(4)
    score = rng.uniform(size=4_500)
    labels = (rng.random(4_500) < score).astype(float)
    risks = WeightedRisks.of(score, labels, rng.gamma(4, 1, 4_500), None)
    part = weighted_part(risks, "miscalibration")
    plain = miscalibration(counted(risks))
    assert part.estimate - part.left_out == pytest.approx(plain.estimate - plain.left_out, rel=0.5)
    assert 0 <= part.limits(1.96)[0] < part.limits(1.96)[1] < 0.02


def test_too_few_clusters_of_a_label_are_no_evidence() -> None:
    table = columns()
    unit = [f"{name}{place % 6}" for place, name in enumerate(table["sensitive_features"])]
    with pytest.warns(InsufficientEvidenceWarning, match="clusters of the two labels"):
        found = fs.scores(**table, cluster=unit, metric="miscalibration")
    assert found.verdict == "insufficient evidence"


def test_results_go_through_files() -> None:
    table = columns("sample_weight", "cluster")
    part = fs.scores(**table, metric="discrimination", comparisons="rest")
    curve = fs.calibration(**table, metric="isotonic", at=AT, n_resamples=99, rng=1)
    for result in (part, curve):
        again = decode(json.loads(json.dumps(result.to_dict())))
        assert [tuple(row.confidence_interval) for row in again] == [
            tuple(row.confidence_interval) for row in result
        ]


@pytest.mark.r
@pytest.mark.parametrize("design", [("sample_weight",), ("cluster",), ("sample_weight", "cluster")])
@pytest.mark.parametrize("metric", PARTS)
def test_parts_are_recomputed_in_r(metric: str, design: tuple[str, ...]) -> None:
    data = columns(*design)
    comparisons: Any = "rest" if metric == "uncertainty" else "reference"
    result = fs.scores(**data, metric=metric, comparisons=comparisons)
    table = fs.crosscheck(result, data=data).to_frame()
    assert set(table["verdict"]) == {"agrees"}
    assert len(table) >= 15


@pytest.mark.r
@pytest.mark.parametrize("design", [("sample_weight",), ("cluster",), ("sample_weight", "cluster")])
def test_curves_are_recomputed_in_r(design: tuple[str, ...]) -> None:
    data = columns(*design)
    result = fs.calibration(**data, metric="isotonic", at=AT, n_resamples=99, rng=1)
    table = fs.crosscheck(result, data=data).to_frame()
    assert set(table["verdict"]) <= {"agrees", "within Monte Carlo error"}
    assert len(table) >= 40


@pytest.mark.r
def test_functions_of_r_answer_alike() -> None:
    from fairstats.ground.rsession import call

    data = columns("sample_weight", "cluster")
    listed = {name: np.asarray(column).tolist() for name, column in data.items()}
    found = call("fs_scores", **listed, metric="miscalibration")
    result = fs.scores(**data, metric="miscalibration")
    assert found["estimate"] == pytest.approx(result.estimate)
    assert found["ci_high"] == pytest.approx(result.confidence_interval.high)
    curve = call("fs_calibration", **listed, metric="isotonic", at=AT, n_resamples=99)
    ours = fs.calibration(**data, metric="isotonic", at=AT, n_resamples=99, rng=1)
    assert curve["ci_low"] == pytest.approx([row.confidence_interval.low for row in ours])


@pytest.mark.parametrize("design", [(), ("sample_weight",), ("cluster",)])
@pytest.mark.parametrize("metric", ["miscalibration", "discrimination"])
def test_a_part_beside_everybody_has_the_error_of_the_jackknife(
    metric: str, design: tuple[str, ...]
) -> None:
    """Each unit left out, its group's weight kept; curves are no smooth functions: within a fifth."""
    table = rows(n=(140, 90), seed=9)
    group = table["sensitive_features"]
    weight = table["sample_weight"] if "sample_weight" in design else np.ones(group.size)
    unit = np.arange(group.size)
    if "cluster" in design:
        unit = np.unique(table["cluster"], return_inverse=True)[1]
    label = table["y_true"].astype(float)

    def part(own: Any) -> float:
        risks = WeightedRisks.of(table["score"], label, own, None)
        forecast = risks.scores
        if metric == "discrimination":
            forecast = np.full(risks.scores.size, risks.share())
        gain = (risks.labels - forecast[risks.place]) ** 2
        gain -= (risks.labels - risks.curve()[risks.place]) ** 2
        return float(np.average(gain, weights=risks.weights))

    def difference(own: Any) -> float:
        return part(own * (group == "b")) - part(own)

    variance = 0.0
    for name in ("a", "b"):
        values = []
        for left_out in np.unique(unit[group == name]):
            kept = weight * (unit != left_out)
            inside = group == name
            kept[inside] *= weight[inside].sum() / kept[inside].sum()
            values.append(difference(kept))
        variance += (len(values) - 1) * np.var(values)
    outcomes = Outcomes.from_arrays(
        table["y_true"],
        None,
        score=table["score"],
        sensitive_features=group,
        sample_weight=weight if "sample_weight" in design else None,
        cluster=table["cluster"] if "cluster" in design else None,
    )
    found = Gains(CutRows(outcomes=outcomes), metric).variances(1)
    assert np.sqrt(sum(found)) == pytest.approx(np.sqrt(variance), rel=0.2)


@pytest.mark.parametrize("metric", [*PARTS, "isotonic"])
def test_everybody_is_all_rows(metric: str) -> None:
    table = columns("sample_weight")
    options: dict[str, Any] = {"metric": metric}
    function: Any = fs.scores
    if metric == "isotonic":
        function = fs.calibration
        options |= {"at": AT, "n_resamples": 99, "rng": 1}
    beside = function(**table, **options, comparisons="overall")
    twice = {name: np.tile(column, 2) for name, column in table.items()}
    twice["sensitive_features"] = np.repeat(["x", "y"], 350)
    whole = function(**twice, **options)
    for row, other in zip(beside, whole, strict=False):
        assert row.reference == "all"
        assert row.n_reference == 350
        assert row.estimate == pytest.approx(row.rate - row.rate_reference)
        if metric != "isotonic":
            assert row.rate_reference == pytest.approx(other.rate_reference)
    if metric == "isotonic":
        rest = function(**table, **options, comparisons="rest")
        assert [test.test.pvalue for test in beside.equality] == [
            test.test.pvalue for test in rest.equality
        ]


@pytest.mark.r
@pytest.mark.parametrize("design", [(), ("sample_weight", "cluster")])
@pytest.mark.parametrize("metric", [*PARTS, "isotonic"])
def test_everybody_is_recomputed_in_r(metric: str, design: tuple[str, ...]) -> None:
    data = columns(*design, n=(180, 110, 70))
    result: Any
    if metric == "isotonic":
        result = fs.calibration(
            **data, metric="isotonic", comparisons="overall", at=AT, n_resamples=99, rng=1
        )
    else:
        result = fs.scores(**data, metric=metric, comparisons="overall")  # type: ignore[arg-type]
    table = fs.crosscheck(result, data=data).to_frame()
    assert set(table["verdict"]) <= {"agrees", "within Monte Carlo error"}
    assert len(table) >= 40
