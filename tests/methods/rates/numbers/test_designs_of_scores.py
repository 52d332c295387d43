"""AUC and calibration of rows with weights or in clusters, and beside all others or all rows.

Witnesses: all pairs written out, the jackknife that leaves out one row (or cluster) of a group and
label, expanded rows, `survey::svyglm` (recorded), and the base R twins.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit

import fairstats as fs
from fairstats.ground.errors import InsufficientEvidenceWarning
from fairstats.numerics.means.logistic import WeightedRows, weighted_intercept, weighted_slope
from fairstats.numerics.means.placements import ScoredRows, area_beside_all, area_of_rows
from fairstats.numerics.means.ranks import area_limits, area_of_counts

REFERENCE = Path(__file__).parents[3] / "reference"


def rows(seed: int = 1, n: tuple[int, ...] = (220, 130, 70)) -> dict[str, Any]:
    """Labels, tied risks, groups, weights and clusters within groups."""
    rng = np.random.default_rng(seed)
    group = np.repeat(["a", "b", "c"][: len(n)], n)
    score = rng.uniform(0.03, 0.97, group.size).round(2)
    y = (rng.random(group.size) < np.where(group == "a", score, 0.2 + 0.6 * score)).astype(int)
    unit = rng.integers(0, 30, group.size)
    return {
        "y_true": y,
        "score": score,
        "sensitive_features": group,
        "sample_weight": rng.gamma(2, 1, group.size),
        "cluster": np.array([f"{name}{code}" for name, code in zip(group, unit, strict=True)]),
    }


def columns(*further: str, **options: Any) -> dict[str, Any]:
    """The rows with what is named of them beside labels, scores and groups."""
    table = rows(**options)
    return {name: table[name] for name in ("y_true", "score", "sensitive_features", *further)}


def area_by_pairs(y: Any, score: Any, weight: Any) -> float:
    """Σ w·w′·(s > s′, ties ½) over all pairs of a positive and a negative row."""
    gap = score[y == 1][:, None] - score[y == 0][None, :]
    weights = weight[y == 1][:, None] * weight[y == 0][None, :]
    return float((weights * ((gap > 0) + (gap == 0) / 2)).sum() / weights.sum())


def scored(table: dict[str, Any], weight: Any = None, unit: Any = None) -> ScoredRows:
    """Rows as the kernel has them, groups as strata."""
    score = table["score"]
    weight = np.ones(score.size) if weight is None else weight
    return ScoredRows(
        place=np.unique(score, return_inverse=True)[1],
        positive=table["y_true"] == 1,
        stratum=np.unique(table["sensitive_features"], return_inverse=True)[1],
        number=np.ones(score.size, dtype=int),
        weight=weight,
        squares=weight**2,
        unit=unit,
    )


def test_a_weighted_area_is_that_of_all_pairs() -> None:
    table = columns("sample_weight")
    result = fs.scores(**table)
    for row in result.comparisons:
        inside = table["sensitive_features"] == row.group
        y, score, weight = (table[name][inside] for name in ("y_true", "score", "sample_weight"))
        assert row.rate == pytest.approx(area_by_pairs(y, score, weight), rel=1e-12)
        assert row.value_interval.low < row.rate < row.value_interval.high


def test_equal_weights_change_nothing() -> None:
    """Weights that are equal within every group leave AUC and calibration to the last digit."""
    table = columns()
    weight = np.select([table["sensitive_features"] == "a"], [3.7], 0.4)
    for function, options in (
        (fs.scores, {"metric": "auc"}),
        (fs.calibration, {"metric": "slope"}),
        (fs.calibration, {"metric": "intercept", "comparisons": "all"}),
        (fs.scores, {"metric": "miscalibration"}),
    ):
        plain = function(**table, **options)  # type: ignore[operator]
        weighted = function(**table, sample_weight=weight, **options)  # type: ignore[operator]
        assert plain.comparisons == weighted.comparisons
    # groups of one weight each, pooled: now the weights say how much each group counts
    plain = fs.scores(**table, comparisons="rest")
    weighted = fs.scores(**table, sample_weight=weight, comparisons="rest")
    assert plain["c"].rate == pytest.approx(weighted["c"].rate, rel=1e-12)
    assert plain["c"].rate_reference != pytest.approx(weighted["c"].rate_reference, abs=1e-4)
    same = fs.scores(**table, sample_weight=np.full(weight.size, 2.5), comparisons="rest")
    assert plain.comparisons == same.comparisons


def test_variance_of_plain_rows_is_delongs() -> None:
    table = columns()
    counts = []
    places = np.unique(table["score"], return_inverse=True)[1]
    for label in (0, 1):
        counts.append(np.bincount(places[table["y_true"] == label], minlength=places.max() + 1))
    by_counts = area_of_counts(counts[0], counts[1])
    by_rows = area_of_rows(scored(table).as_one())
    assert by_rows.area == pytest.approx(by_counts.area, rel=1e-14)
    assert by_rows.variance == pytest.approx(by_counts.variance, rel=1e-12)
    assert (by_rows.positives, by_rows.negatives) == (by_counts.positives, by_counts.negatives)
    assert by_rows.df is None


def left_out(table: dict[str, Any], weight: Any, kinds: Any, statistic: Any) -> float:
    """The jackknife variance that leaves out one row of a kind, whose weight the others share."""
    variance = 0.0
    for kind in np.unique(kinds):
        values = []
        members = np.flatnonzero(kinds == kind)
        for row in members:
            without = weight.copy()
            without[row] = 0.0
            without[members] *= weight[members].sum() / without[members].sum()
            values.append(statistic(without))
        n = members.size
        variance += (n - 1) / n * float(np.sum((np.array(values) - np.mean(values)) ** 2))
    return variance


def test_a_group_beside_all_rows_has_the_variance_of_the_jackknife() -> None:
    """An area is linear in the rows of a label, so that leaving one out gives the variance exactly.

    The shares of the groups in the rows of a label are fixed.
    """
    table = columns(n=(60, 40, 30))
    y, score, group = (table[name] for name in ("y_true", "score", "sensitive_features"))
    kinds = np.char.add(group.astype(str), y.astype(str))
    chosen = group == "b"

    def difference(weight: Any) -> float:
        own = area_by_pairs(y[chosen], score[chosen], weight[chosen])
        return own - area_by_pairs(y, score, weight)

    ones = np.ones(y.size)
    beside = area_beside_all(scored(table), chosen)
    part = beside.part((1.0, 1.0))
    assert beside.area.area - beside.of_all.area == pytest.approx(difference(ones), rel=1e-12)
    expected = math.sqrt(left_out(table, ones, kinds, difference))
    assert part.std_error == pytest.approx(expected, rel=1e-10)
    # both parts of the variance: from the group's rows, and from those of all others
    own = part.own**2 * beside.area.variance
    others = part.others**2 * beside.of_all.variance
    assert own + others == pytest.approx(part.std_error**2, rel=1e-12)
    result = fs.scores(**table, comparisons="overall")["b"]
    assert result.estimate == pytest.approx(difference(ones), rel=1e-12)
    assert result.std_error == pytest.approx(expected, rel=1e-10)
    assert result.confidence_interval.low < result.estimate < result.confidence_interval.high
    ratio = fs.scores(**table, comparisons="overall", contrast="ratio")["b"]

    def log_ratio(weight: Any) -> float:
        own = area_by_pairs(y[chosen], score[chosen], weight[chosen])
        return math.log(own / area_by_pairs(y, score, weight))

    assert ratio.estimate == pytest.approx(math.exp(log_ratio(ones)), rel=1e-12)
    # the logarithm is not linear: the delta method is near the jackknife
    near = ratio.estimate * math.sqrt(left_out(table, ones, kinds, log_ratio))
    assert ratio.std_error == pytest.approx(near, rel=0.02)


def test_a_weighted_area_has_about_the_variance_of_the_jackknife() -> None:
    table = columns("sample_weight", "cluster", n=(300, 200, 100))
    y, score, weight = (table[name] for name in ("y_true", "score", "sample_weight"))

    def area(weight: Any) -> float:
        return area_by_pairs(y, score, weight)

    variance = area_of_rows(scored(table, weight).as_one()).variance
    by_row = left_out(table, weight, y.astype(str), area)
    assert variance == pytest.approx(by_row, rel=0.03)
    # clusters hold rows of both labels: leave out each by hand
    unit = np.unique(table["cluster"], return_inverse=True)[1]
    values = []
    for code in range(unit.max() + 1):
        values.append(area_by_pairs(y, score, np.where(unit == code, 0.0, weight)))
    n = len(values)
    by_cluster = (n - 1) / n * float(np.sum((np.array(values) - np.mean(values)) ** 2))
    of_clusters = area_of_rows(scored(table, weight, unit).as_one())
    assert of_clusters.variance == pytest.approx(by_cluster, rel=0.03)
    assert of_clusters.df is not None
    assert of_clusters.df < n


def test_clusters_of_one_row_are_rows() -> None:
    table = columns()
    alone = fs.scores(**table, cluster=np.arange(table["score"].size))
    plain = fs.scores(**table)
    for one, other in zip(alone, plain, strict=True):
        assert one.std_error == pytest.approx(other.std_error, rel=0.02)
        assert one.rate == pytest.approx(other.rate, rel=1e-12)


def test_rows_in_clusters_that_repeat_count_once() -> None:
    """Every row five times in its cluster: as many clusters, and the limits of one each."""
    table = columns(n=(90, 60))
    one = fs.scores(**table, cluster=np.arange(150).astype(str))
    often = {name: np.repeat(column, 5) for name, column in table.items()}
    five = fs.scores(**often, cluster=np.repeat(np.arange(150).astype(str), 5))
    # their number alone is by rows, with n/(n − 1) of five times as many
    for end, of_one in zip(five.confidence_interval, one.confidence_interval, strict=True):
        assert end == pytest.approx(of_one, rel=0.01)
    assert five.comparisons[0].rate == pytest.approx(one.comparisons[0].rate, rel=1e-12)


def test_separated_labels_of_weighted_rows_leave_a_width() -> None:
    """No variance is seen: then Kish's number of rows counts, with Student's t."""
    weight = np.array([1.0, 2.0, 3.0] * 10)
    table = {
        "score": np.arange(30) / 30,
        "y_true": (np.arange(30) >= 15).astype(int),
        "sensitive_features": np.repeat("a", 30),
    }
    area = area_of_rows(scored(table, weight).as_one())
    low, high = area_limits(area, 1.96)
    assert (area.area, area.variance, high) == (1.0, 0.0, 1.0)
    assert area.positives == pytest.approx(30**2 / 70)
    assert 0.7 < low < 1


def test_too_few_rows_of_a_label_are_no_answer_whatever_their_weights() -> None:
    table = rows(n=(200, 30))
    table["y_true"] = np.where(table["sensitive_features"] == "b", 0, table["y_true"])
    table["y_true"][-5:] = 1
    del table["cluster"]
    with pytest.warns(InsufficientEvidenceWarning, match="b has 25 and 5 rows of"):
        result = fs.scores(**table)
    assert result.verdict == "insufficient evidence"
    assert math.isnan(result.estimate)
    in_clusters = rows(n=(200, 60))
    in_clusters["cluster"] = np.where(
        in_clusters["sensitive_features"] == "b", "b" + "1", in_clusters["cluster"]
    )
    with pytest.warns(InsufficientEvidenceWarning, match="1 and 1 clusters"):
        fs.scores(**in_clusters)


def test_few_effective_rows_are_remarked_on() -> None:
    table = columns("sample_weight", n=(400, 70))
    notes = " ".join(fs.scores(**table).notes())
    assert "effective rows of a label" in notes
    assert "effective" not in " ".join(fs.scores(**columns(n=(400, 70))).notes())


def test_weights_of_whole_numbers_give_the_values_of_expanded_rows() -> None:
    table = columns()
    number = np.random.default_rng(3).integers(1, 4, table["score"].size)
    expanded = {name: np.repeat(column, number) for name, column in table.items()}
    for function, options in (
        (fs.scores, {"metric": "auc"}),
        (fs.calibration, {"metric": "slope"}),
        (fs.calibration, {"metric": "intercept"}),
    ):
        weighted = function(**table, sample_weight=number, **options)  # type: ignore[operator]
        plain = function(**expanded, **options)  # type: ignore[operator]
        for one, other in zip(weighted, plain, strict=True):
            assert one.rate == pytest.approx(other.rate, rel=1e-8)
            # as many rows were never seen
            assert one.std_error > other.std_error


# ---------------------------------------------------------------- regressions


def test_a_step_of_newton_is_the_row_left_out() -> None:
    """The standard error is that of refitted regressions, but for the second order."""
    table = columns("sample_weight", n=(150,))
    y, score, weight = (table[name] for name in ("y_true", "score", "sample_weight"))

    for fit, start in ((weighted_slope, 2), (weighted_intercept, 1)):
        found = fit(WeightedRows(score, y.astype(float), weight))
        refitted = []
        for row in range(y.size):
            kept = np.arange(y.size) != row
            refitted.append(
                fit(WeightedRows(score[kept], y[kept].astype(float), weight[kept])).estimate
            )
        n = y.size
        jackknife = math.sqrt((n - 1) / n * np.sum((np.array(refitted) - found.estimate) ** 2))
        assert found.std_error == pytest.approx(jackknife, rel=0.05)
        assert found.df <= weight.sum() ** 2 / (weight**2).sum() - start


def sandwich(rows: WeightedRows, *, slope: bool) -> float:
    """The standard error of survey::svyglm: the sandwich, whose units are not left out."""
    size = rows.scores.size
    x = logit(rows.scores)
    design = np.column_stack([np.ones(size), x]) if slope else np.ones((size, 1))
    offset = np.zeros(size) if slope else x
    params = np.zeros(design.shape[1])
    for _ in range(50):
        risk = expit(design @ params + offset)
        information = design.T @ ((rows.weights * risk * (1 - risk))[:, None] * design)
        params += np.linalg.solve(information, design.T @ (rows.weights * (rows.labels - risk)))
    influence = (rows.weights * (rows.labels - risk))[:, None] * design
    sums = (influence @ np.linalg.inv(information))[:, -1]
    if rows.unit is not None:
        sums = np.bincount(rows.unit, sums)
    return math.sqrt(sums.size / (sums.size - 1) * float(sums @ sums))


@pytest.mark.parametrize("metric", ["slope", "intercept"])
@pytest.mark.parametrize("units", ["rows", "clusters"])
def test_estimates_are_those_of_svyglm(metric: str, units: str) -> None:
    """Recorded estimates of survey::svyglm (svyglm.R); ours corrects its sandwich by leverages."""
    record = json.loads((REFERENCE / "svyglm.json").read_text(encoding="utf-8"))
    i = np.arange(120)
    score = 0.05 + 0.9 * ((i * 37) % 101) / 101
    rows_of_file = WeightedRows(
        scores=score,
        labels=(((i * 53) % 97) / 97 < score).astype(np.float64),
        weights=0.5 + ((i * 29) % 23) / 10,
        unit=i // 4 if units == "clusters" else None,
    )
    fit = weighted_slope if metric == "slope" else weighted_intercept
    found = fit(rows_of_file)
    estimate, error = record[metric][units]
    assert found.estimate == pytest.approx(estimate, rel=1e-8)
    assert sandwich(rows_of_file, slope=metric == "slope") == pytest.approx(error, rel=1e-8)
    # equal where all units have one leverage; measured here: .9995 to 1.023
    assert 0.999 * error < found.std_error < 1.03 * error


# ---------------------------------------------------------------- R, row by row

DESIGNS: tuple[tuple[str, ...], ...] = ((), ("sample_weight",), ("cluster",))


@pytest.mark.r
@pytest.mark.parametrize("comparisons", ["reference", "rest", "overall"])
@pytest.mark.parametrize("design", DESIGNS)
def test_areas_are_recomputed_in_r(comparisons: Any, design: tuple[str, ...]) -> None:
    data = columns(*design)
    for contrast in ("difference", "ratio"):
        result = fs.scores(**data, comparisons=comparisons, contrast=contrast, threshold=0.9)
        table = fs.crosscheck(result, data=data).to_frame()
        assert len(table) >= 42
        assert set(table["verdict"]) == {"agrees"}


@pytest.mark.r
@pytest.mark.parametrize("metric", ["slope", "intercept"])
@pytest.mark.parametrize("comparisons", ["reference", "rest"])
def test_weighted_calibration_is_recomputed_in_r(metric: Any, comparisons: Any) -> None:
    for design in DESIGNS:
        data = columns(*design)
        result = fs.calibration(**data, metric=metric, comparisons=comparisons, margin=0.1)
        table = fs.crosscheck(result, data=data).to_frame()
        assert set(table["verdict"]) == {"agrees"}


@pytest.mark.r
@pytest.mark.parametrize("comparisons", ["rest", "overall"])
def test_curves_beside_pooled_rows_are_recomputed_in_r(comparisons: Any) -> None:
    for design in ((), ("sample_weight",)):
        data = columns(*design)
        for metric, contrast in (
            ("net_benefit", "difference"),
            ("tpr", "difference"),
            ("tpr", "ratio"),
        ):
            result = fs.scores(
                **data,
                metric=metric,  # type: ignore[arg-type]
                comparisons=comparisons,
                contrast=contrast,  # type: ignore[arg-type]
                cutoffs=[0.3, 0.6],
            )
            table = fs.crosscheck(result, data=data).to_frame()
            assert len(table) >= 120
            assert set(table["verdict"]) == {"agrees"}


@pytest.mark.r
def test_parts_and_curves_beside_the_rest_are_recomputed_in_r() -> None:
    data = columns()
    for metric in ("miscalibration", "discrimination", "uncertainty"):
        result: Any = fs.scores(**data, metric=metric, comparisons="rest")  # type: ignore[arg-type]
        assert set(fs.crosscheck(result, data=data).to_frame()["verdict"]) == {"agrees"}
    result = fs.calibration(
        **data, metric="isotonic", comparisons="rest", at=[0.3, 0.6], rng=1, n_resamples=199
    )
    verdicts = set(fs.crosscheck(result, data=data).to_frame()["verdict"])
    assert verdicts <= {"agrees", "within Monte Carlo error"}


# ---------------------------------------------------------------- pooled rows


def test_curves_at_a_cutoff_are_group_metric_of_that_selection() -> None:
    """One cut-off of the rate, against everybody: the comparison of the predictions that it makes."""
    data = columns()
    along: Any = fs.scores(**data, metric="tpr", comparisons="overall", cutoffs=[0.5], margin=0.1)
    plain = fs.group_metric(
        data["y_true"],
        (data["score"] >= 0.5).astype(int),
        metric="tpr_difference",
        sensitive_features=data["sensitive_features"],
        comparisons="overall",
        margin=0.1,
        simultaneous="bonferroni",
        pos_label=1,
    )
    for one, other in zip(along, plain, strict=True):
        assert one.reference == "all"
        assert one.estimate == pytest.approx(other.estimate, rel=1e-12)
        assert one.std_error == pytest.approx(other.std_error, rel=1e-12)
        assert tuple(one.confidence_interval) == pytest.approx(tuple(other.confidence_interval))
        assert one.verdict == other.verdict
        assert one.rate_reference == pytest.approx(other.rate_reference, rel=1e-12)


def test_net_benefit_against_everybody_is_that_of_its_mean() -> None:
    data = columns()
    along: Any = fs.scores(
        **data, metric="net_benefit", comparisons="overall", cutoffs=[0.5], margin=0.05
    )
    benefit = np.where(data["y_true"] == 1, 1.0, -1.0) * (data["score"] >= 0.5)
    plain = fs.means(
        benefit,
        sensitive_features=data["sensitive_features"],
        comparisons="overall",
        margin=0.05,
        simultaneous="bonferroni",
    )
    for one, other in zip(along, plain, strict=True):
        assert one.estimate == pytest.approx(other.estimate, abs=1e-12)
        assert tuple(one.confidence_interval) == pytest.approx(tuple(other.confidence_interval))


def test_the_rest_is_all_other_rows() -> None:
    """Of three groups each against all others: what two groups have where the others are one."""
    data = columns()
    for function, options in (
        (fs.scores, {"metric": "auc", "contrast": "ratio"}),
        (fs.scores, {"metric": "miscalibration"}),
        (fs.calibration, {"metric": "slope"}),
    ):
        pooled = function(**data, comparisons="rest", **options)  # type: ignore[operator]
        for row in pooled:
            names = np.where(data["sensitive_features"] == row.group, row.group, "others")
            two = function(  # type: ignore[operator]
                data["y_true"],
                data["score"],
                sensitive_features=names,
                reference="others",
                **options,
            )
            assert row.estimate == pytest.approx(two.estimate, rel=1e-12)
            assert row.pvalue == pytest.approx(two.pvalue, rel=1e-9)
            assert row.reference == "the rest"
            assert row.n_reference == two.comparisons[0].n_reference


def test_a_small_group_does_not_take_everybodys_answer() -> None:
    """A group without an area of its own is a part of all rows."""
    data = columns(n=(200, 150, 9))
    with pytest.warns(InsufficientEvidenceWarning, match="c has"):
        result = fs.scores(**data, comparisons="overall")
    assert result["c"].verdict == "insufficient evidence"
    assert result["a"].n_reference == 359
    assert math.isfinite(result["a"].confidence_interval.low)


def test_what_pooled_comparisons_refuse() -> None:
    data = columns()
    with pytest.raises(fs.InputError, match="simultaneous"):
        fs.scores(**data, comparisons="rest", simultaneous="max-z")
    with pytest.raises(fs.InputError, match="reference"):
        fs.scores(**data, metric="net_benefit", comparisons="rest", reference="a", cutoffs=[0.5])
    with pytest.raises(fs.InputError, match="more than one group"):
        fs.scores(**data, cluster=np.arange(data["score"].size) % 40)


# ---------------------------------------------------------------- coefficients beside everybody


def scored_rows_of_three(n: int = 900) -> dict[str, Any]:
    """Three groups, of which the second is not calibrated."""
    rng = np.random.default_rng(8)
    group = rng.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2])
    score = np.clip(rng.beta(2, 2, n), 0.02, 0.98)
    chance = np.where(group == "b", 0.3 + score / 3, score)
    y = (rng.random(n) < chance).astype(int)
    return {"y_true": y, "score": score, "sensitive_features": group}


@pytest.mark.parametrize("metric", ["slope", "intercept"])
def test_a_coefficient_beside_everybody_is_that_of_both_regressions(metric: Any) -> None:
    """Leaving out every row, both regressions fitted anew: the jackknife within groups."""
    import statsmodels.api as sm

    data = scored_rows_of_three(300)
    y, score, group = (np.asarray(column) for column in data.values())
    x = np.log(score / (1 - score))
    design = np.column_stack([np.ones(y.size), x]) if metric == "slope" else np.ones((y.size, 1))
    offset = np.zeros(y.size) if metric == "slope" else x

    def coefficient(rows: Any) -> float:
        family = sm.families.Binomial()
        fit = sm.GLM(y[rows], design[rows], family=family, offset=offset[rows]).fit(tol=1e-12)
        return float(fit.params[-1])

    result = fs.calibration(**data, metric=metric, comparisons="overall")
    row = result["b"]
    everybody = np.arange(y.size)
    of_group = everybody[group == "b"]
    assert row.reference == "all"
    assert row.n_reference == y.size
    assert row.rate_reference == pytest.approx(coefficient(everybody), rel=1e-7)
    assert row.estimate == pytest.approx(
        coefficient(of_group) - coefficient(everybody), rel=1e-6, abs=1e-9
    )
    without = {name: [] for name in "abc"}  # type: ignore[var-annotated]
    for place in everybody.tolist():
        own = of_group[of_group != place]
        without[group[place]].append(coefficient(own) - coefficient(np.delete(everybody, place)))
    variance = 0.0
    for values in without.values():
        n = len(values)
        variance += (n - 1) / n * float(((np.array(values) - np.mean(values)) ** 2).sum())
    # one step of Newton in place of a new fit
    assert row.std_error == pytest.approx(math.sqrt(variance), rel=0.02)
    counted = fs.calibration(
        counts=fs.tally(
            pd.DataFrame(data),
            y_true="y_true",
            score="score",
            sensitive_features="sensitive_features",
            pos_label=1,
        ),
        metric=metric,
        comparisons="overall",
    )["b"]
    assert counted.estimate == pytest.approx(row.estimate, rel=1e-9)
    assert counted.std_error == pytest.approx(row.std_error, rel=1e-9)


def test_rows_that_stand_for_several_are_these_beside_everybody() -> None:
    data = scored_rows_of_three(400)
    data["score"] = np.clip(np.round(np.asarray(data["score"]), 1), 0.1, 0.9)
    tied = fs.calibration(**data, comparisons="overall")
    weighted = fs.calibration(**data, comparisons="overall", cluster=np.arange(400))
    for one, other in zip(tied, weighted, strict=True):
        assert one.estimate == pytest.approx(other.estimate, rel=1e-7)
        assert one.std_error == pytest.approx(other.std_error, rel=1e-7)
        assert one.pvalue == pytest.approx(other.pvalue, rel=1e-6)


@pytest.mark.r
@pytest.mark.parametrize("metric", ["slope", "intercept"])
@pytest.mark.parametrize("design", ["", "sample_weight", "cluster"])
def test_coefficients_beside_everybody_are_recomputed_in_r(metric: Any, design: str) -> None:
    data = scored_rows_of_three(400)
    group = np.asarray(data["sensitive_features"])
    if design == "sample_weight":
        data[design] = np.random.default_rng(1).uniform(0.5, 2, 400)
    if design == "cluster":
        data[design] = np.char.add(group, (np.arange(400) // 4).astype(str))
    result = fs.calibration(**data, metric=metric, comparisons="overall")
    table = fs.crosscheck(result, data=data).to_frame()
    assert len(table) >= 60
    assert set(table["verdict"]) == {"agrees"}
