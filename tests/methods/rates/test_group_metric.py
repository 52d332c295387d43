"""Any smooth function of the counts. Witnesses: scikit-learn for the values, analytic delta
variances, simulation."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm
from sklearn import metrics

import fairstats as fs
from fairstats.ground.registry import CELLS, RATES, evaluate

FORMULAS = {**{name: rate.formula for name, rate in RATES.items()}, "treatment_equality": "fn / fp"}

COUNTS = {"a": (40, 10, 12, 38), "b": (30, 14, 20, 46), "c": (25, 5, 9, 21)}
SKLEARN = {
    "f1": metrics.f1_score,
    "balanced_accuracy": metrics.balanced_accuracy_score,
    "mcc": metrics.matthews_corrcoef,
    "accuracy": metrics.accuracy_score,
    "tpr": metrics.recall_score,
    "ppv": metrics.precision_score,
}


@pytest.mark.parametrize("metric", SKLEARN)
def test_values_as_scikit_learn(metric: str, rows_of: Any) -> None:
    rows = rows_of(COUNTS)
    result = fs.group_metric(
        rows.y_true, rows.y_pred, metric=metric, sensitive_features=rows.group, reference="a"
    )
    value = {
        g: SKLEARN[metric](rows.y_true[rows.group == g], rows.y_pred[rows.group == g])
        for g in "abc"
    }
    for c in result.comparisons:
        assert c.estimate == pytest.approx(value[c.group] - value["a"], abs=1e-12)
        assert c.rate == pytest.approx(value[c.group], abs=1e-12)
    ratio = fs.group_metric(metric=metric, counts=COUNTS, reference="a", contrast="ratio")
    assert ratio["b"].estimate == pytest.approx(value["b"] / value["a"], rel=1e-12)


def fieller_ends(a: Any, b: Any, v: Any, w: Any, z: float) -> tuple[Any, Any]:
    """Roots of (a − θb)² = z²(v + θ²w), cut at 0; no upper end where b² ≤ z²w."""
    square = b**2 - z**2 * w
    last = a**2 - z**2 * v
    root = np.sqrt(np.maximum((a * b) ** 2 - square * last, 0))
    low = np.where(last > 0, last / (a * b + root), 0.0)
    return low, np.where(square > 0, (a * b + root) / np.where(square > 0, square, 1.0), np.inf)


@pytest.mark.parametrize("cells", [(0, 2), (0, 1)], ids=["tpr", "ppv"])
def test_functions_have_the_closed_delta_interval(cells: tuple[int, int]) -> None:
    """Numerical gradients through statsmodels against r(1 − r)/n: 1e-8.

    The wider of the limits of cells with half a row and with a whole one more.
    """
    z = norm.ppf(0.975)

    def share(*counts: Any) -> Any:
        return counts[cells[0]] / (counts[cells[0]] + counts[cells[1]])

    smooth = fs.group_metric(metric=share, counts=COUNTS, reference="a")
    ratio = fs.group_metric(metric=share, counts=COUNTS, reference="a", contrast="ratio")
    for g in (1, 2):
        ends: dict[str, list[tuple[Any, Any]]] = {"difference": [], "ratio": []}
        for more in (0.5, 1.0):
            k, other = (np.array([COUNTS[g][c] + more for g in "abc"]) for c in cells)
            rate = k / (k + other)
            variance = k * other / (k + other) ** 3
            reach = z * np.sqrt(variance[g] + variance[0])
            ends["difference"].append((rate[g] - rate[0] - reach, rate[g] - rate[0] + reach))
            ends["ratio"].append(fieller_ends(rate[g], rate[0], variance[g], variance[0], z))
        for found, of in ((smooth, ends["difference"]), (ratio, ends["ratio"])):
            lows, highs = zip(*of, strict=True)
            wanted = (float(min(lows)), float(max(highs)))
            assert tuple(found["abc"[g]].confidence_interval) == pytest.approx(
                wanted, rel=1e-8, abs=1e-10
            )


def f1_variance(tp: float, fp: float, fn: float) -> float:
    """Var(F1) = 4·(1−q)·q/(…): with e = fp + fn errors, F1 = 2tp/(2tp+e); gradient by hand."""
    whole = 2 * tp + fp + fn
    to_tp = 2 * (fp + fn) / whole**2
    to_error = -2 * tp / whole**2
    return to_tp**2 * tp + to_error**2 * (
        fp + fn
    )  # the multinomial's −NNᵀ/n vanishes: F1 has degree 0


def test_f1_interval_by_hand() -> None:
    result = fs.group_metric(metric="f1", counts=COUNTS, reference="a")
    for group in "bc":
        error = np.sqrt(sum(f1_variance(*COUNTS[g][:3]) for g in ("a", group)))
        assert result[group].std_error == pytest.approx(error, rel=1e-7)
        ends = []
        for more in (0.5, 1.0):
            cells = [[n + more for n in COUNTS[g][:3]] for g in (group, "a")]
            centre = np.subtract(*(2 * tp / (2 * tp + fp + fn) for tp, fp, fn in cells))
            reach = norm.ppf(0.975) * np.sqrt(sum(f1_variance(*c) for c in cells))
            ends.append((centre - reach, centre + reach))
        # the wider of cells with half a row and a whole one more
        wanted = (min(low for low, _ in ends), max(high for _, high in ends))
        assert tuple(result[group].confidence_interval) == pytest.approx(wanted, rel=1e-7)


def delta_ends(
    metric: str, contrast: str, cells: list[np.ndarray], more: float, z: float
) -> tuple[Any, Any]:
    """Limits by the delta method about the value with `more` rows in every cell; cells.

    Shape (4, N).
    """
    values = []
    variances = []
    for counts in cells:
        steps = 1e-4 * np.eye(4)[:, :, None]
        at, up, down = (
            evaluate(FORMULAS[metric], dict(zip(CELLS, np.moveaxis(c, -2, 0), strict=True)))
            for c in (counts + more, counts + more + steps, counts + more - steps)
        )
        slopes = (up - down) / 2e-4
        n = counts + more
        values.append(at)
        variances.append(
            (n * slopes**2).sum(axis=0) - (n * slopes).sum(axis=0) ** 2 / n.sum(axis=0)
        )
    if contrast == "ratio":
        return fieller_ends(values[1], values[0], variances[1], variances[0], z)
    reach = z * np.sqrt(sum(variances))
    return values[1] - values[0] - reach, values[1] - values[0] + reach


def least_cases(metric: str, cells: np.ndarray) -> Any:
    """Of positives and negatives.

    For Matthews's correlation of predictions too, for F1 of what it counts.
    """
    tp, fp, fn, tn = cells
    if metric == "f1":
        return tp + fp + fn
    predicted = [tp + fp, fn + tn] if metric == "mcc" else []
    return np.minimum.reduce([tp + fn, fp + tn, *predicted])


@pytest.mark.parametrize(
    ("metric", "contrast"),
    [
        ("f1", "difference"),
        ("f1", "ratio"),
        ("mcc", "difference"),
        ("average_odds", "ratio"),
        ("balanced_accuracy", "ratio"),
    ],
)
def test_limits_hold_where_errors_or_cases_are_few(metric: str, contrast: str) -> None:
    """Small groups beside large ones, few errors or few positives.

    3,000 samples each of 60 settings.

    Witness: simulation, by a formula that is the public interval (checked on a sample of each
    setting). With 8,000 samples coverage is at least .94 and each limit errs in at most .073 (.929
    and .086 here: three Monte Carlo errors), with half a row more alone up to .10, with a whole one
    alone up to .17. About the values themselves coverage falls to .18."""
    rng = np.random.default_rng(1)
    truth = float(contrast == "ratio")
    plain = []
    sizes = ((20, 20), (2000, 10), (2000, 20), (2000, 40), (300, 20), (20, 2000))
    laws = [
        (0.95, 0.05, 0.05),
        (0.8, 0.2, 0.1),
        (0.5, 0.3, 0.2),
        (0.99, 0.01, 0.1),
        (0.3, 0.05, 0.1),
    ]
    laws += [
        (0.6, 0.4, 0.4),
        (0.95, 0.05, 0.5),
        (0.8, 0.2, 0.3),
        (0.99, 0.01, 0.5),
        (0.99, 0.3, 0.5),
    ]
    for (n0, n1), (tpr, fpr, base) in itertools.product(sizes, laws):
        law = [base * tpr, (1 - base) * fpr, base * (1 - tpr), (1 - base) * (1 - fpr)]
        cells = [rng.multinomial(n, law, 3000).T.astype(float) for n in (n0, n1)]
        with np.errstate(all="ignore"):
            answers = np.all(
                [least_cases(metric, c) >= (1 if metric in ("f1", "mcc") else 3) for c in cells], 0
            )
            if answers.sum() < 400:
                continue
            two, one = (
                [delta_ends(metric, contrast, cells, more, z) for more in (0.5, 1.0)]
                for z in norm.ppf([0.975, 0.95])
            )
            bare = delta_ends(metric, contrast, cells, 0.0, norm.ppf(0.975))
        low = np.minimum(two[0][0], two[1][0])
        high = np.maximum(two[0][1], two[1][1])
        at = int(np.flatnonzero(answers)[0])
        ours = fs.group_metric(
            metric=metric,
            contrast=contrast,
            reference="a",
            method="delta",  # type: ignore[arg-type]
            counts={g: c[:, at] for g, c in zip("ab", cells, strict=True)},
        ).confidence_interval
        assert tuple(ours) == pytest.approx((low[at], high[at]), rel=1e-6, abs=1e-8)
        assert np.mean(((low <= truth) & (truth <= high))[answers]) > 0.929, (
            n0,
            n1,
            tpr,
            fpr,
            base,
        )
        above = np.mean((np.minimum(one[0][0], one[1][0]) > truth)[answers])
        below = np.mean((np.maximum(one[0][1], one[1][1]) < truth)[answers])
        assert max(above, below) < 0.086, (n0, n1, tpr, fpr, base)
        plain.append(np.mean(((bare[0] <= truth) & (truth <= bare[1]))[answers]))
    assert len(plain) > 40
    assert min(plain) < 0.85


@pytest.mark.parametrize("metric", ["f1", "balanced_accuracy", "mcc", "treatment_equality"])
def test_standard_errors_are_those_of_repeated_samples(
    metric: str, rng: np.random.Generator
) -> None:
    """20,000 multinomial samples of 2,000 rows a group; four Monte Carlo standard errors are 2%,
    bias 1% more."""
    cells = {g: tuple(20 * c for c in COUNTS[g]) for g in "ab"}
    values = {}
    for g, c in cells.items():
        draws = rng.multinomial(sum(c), np.array(c) / sum(c), size=20_000).astype(float)
        values[g] = evaluate(FORMULAS[metric], dict(zip(CELLS, draws.T, strict=True)))
    result = fs.group_metric(metric=metric, counts=cells, reference="a")
    assert result.std_error == pytest.approx(np.std(values["b"] - values["a"]), rel=0.03)


def test_a_function_of_the_counts() -> None:
    def positive_rate(tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
        return (tp + fp) / (tp + fp + fn + tn)

    result = fs.group_metric(metric=positive_rate, counts=COUNTS, reference="a")
    closed = fs.demographic_parity_difference(counts=COUNTS, reference="a", method="delta")
    assert result.metric == "positive_rate_difference"
    assert result["b"].std_error == pytest.approx(closed["b"].std_error, rel=1e-8)


def test_weights_and_clusters(rows_of: Any, rng: np.random.Generator) -> None:
    """The linearised covariance goes through the same delta method.

    TPR difference as the closed form.
    """
    rows = rows_of(COUNTS)
    options = {
        "sensitive_features": rows.group,
        "reference": "a",
        "sample_weight": rng.uniform(0.5, 2, rows.group.size),
        "cluster": rng.integers(0, 40, rows.group.size),
    }
    smooth = fs.group_metric(rows.y_true, rows.y_pred, metric="tpr", **options)
    closed = fs.equal_opportunity_difference(rows.y_true, rows.y_pred, **options)
    for c, d in zip(smooth.comparisons, closed.comparisons, strict=True):
        assert c.estimate == pytest.approx(d.estimate, rel=1e-12)
        assert c.std_error == pytest.approx(d.std_error, rel=1e-7)


@pytest.mark.parametrize("alternative", ["less", "greater"])
@pytest.mark.parametrize(
    ("metric", "counts"),
    [
        ("treatment_equality", {"a": (40, 5, 60, 38), "b": (30, 60, 9, 46)}),
        ("treatment_equality", {"a": (40, 60, 9, 38), "b": (30, 5, 60, 46)}),
        ("mcc", {"a": (2, 50, 50, 2), "b": (50, 2, 2, 50)}),
        ("mcc", {"a": (50, 2, 2, 50), "b": (2, 50, 50, 2)}),
    ],
)
def test_one_sided_intervals_of_metrics_beyond_one(
    metric: str, counts: dict[str, Any], alternative: str
) -> None:
    """A difference of FN/FP has no limits at ±1, one of MCC lies in [−2, 2].

    The open end must leave room.
    """
    result = fs.group_metric(metric=metric, counts=counts, reference="b", alternative=alternative)
    low, high = result.confidence_interval
    assert low <= result.estimate <= high
    if alternative == "less":
        assert low <= -2
    else:
        assert high >= 2


@pytest.mark.parametrize("threshold", [0.5, 1.5])
def test_thresholds_of_metrics_beyond_one(threshold: float) -> None:
    """A tolerance of 1.5 makes sense for FN/FP."""
    result = fs.group_metric(
        metric="treatment_equality",
        counts={"a": (40, 10, 12, 38), "b": (30, 14, 20, 46)},
        margin=threshold,
    )
    assert result.settings.margin == threshold


def test_groups_without_the_metric() -> None:
    with pytest.warns(fs.FairstatsWarning, match="none: no "):
        result = fs.group_metric(
            metric="f1", counts={**COUNTS, "none": (0, 0, 0, 9)}, reference="a"
        )
    assert result["none"].verdict == "insufficient evidence"
    assert result["b"].verdict != "insufficient evidence"


def test_small_groups_do_not_look_certain() -> None:
    """Nine rows that are all right: no interval by the delta method.

    Ten: they say that the rest varies.
    """
    counts = {"a": (40, 10, 12, 38), "b": (4, 0, 0, 5)}
    with pytest.warns(fs.FairstatsWarning, match="b: 9 rows, too few for an interval"):
        result = fs.group_metric(metric="f1", counts=counts, reference="a")
    assert result.verdict == "insufficient evidence"
    assert result.estimate == pytest.approx(1 - 80 / 102)
    result = fs.group_metric(metric="f1", counts={**counts, "b": (5, 0, 0, 5)}, reference="a")
    assert result.verdict == "undecided"
    assert result.confidence_interval.width > 0.3


# ---------------------------------------------------------------- names of the registry


@pytest.mark.parametrize(
    ("name", "method"),
    [("tpr", "score"), ("selection_rate", "score"), ("average_odds", "score (MOVER)")],
)
def test_the_score_kind_is_that_of_the_public_functions(name: str, method: str) -> None:
    function = {
        "tpr": fs.equal_opportunity_difference,
        "selection_rate": fs.demographic_parity_difference,
        "average_odds": fs.average_odds_difference,
    }[name]
    found = fs.group_metric(metric=name, method="score", counts=COUNTS, reference="a")
    for c, d in zip(
        found.comparisons, function(counts=COUNTS, reference="a").comparisons, strict=True
    ):
        assert c.method == ("exact unconditional" if c.procedure.exact else method)
        assert c.confidence_interval == d.confidence_interval
        assert c.tests == d.tests
        assert c.bounds == d.bounds


@pytest.mark.parametrize("contrast", ["difference", "ratio"])
def test_a_rate_by_its_name_is_that_of_an_audit(contrast: Any) -> None:
    """Witness: the metric by its full name, whose intervals other tests meet by R."""
    by_rate = fs.group_metric(metric="accuracy", contrast=contrast, counts=COUNTS, reference="a")
    by_name = fs.group_metric(metric=f"accuracy_{contrast}", counts=COUNTS, reference="a")
    assert {c.method for c in by_rate.comparisons} <= {"score", "exact unconditional"}
    assert by_rate.to_frame().equals(by_name.to_frame())


def test_ratios_and_gaps_by_name() -> None:
    ratio = fs.group_metric(metric="npv_ratio", counts=COUNTS, reference="a")
    wanted = fs.conditional_use_accuracy(counts=COUNTS, prediction=0, reference="a")
    assert [c.confidence_interval for c in ratio.comparisons] == [
        c.confidence_interval for c in wanted.comparisons
    ]
    gap = fs.group_metric(metric="equalized_odds", contrast="gap", counts=COUNTS)
    assert (
        gap.confidence_interval
        == fs.equalized_odds_difference(counts=COUNTS, agg="max").confidence_interval
    )


def test_several_rates_in_one_family() -> None:
    found = fs.group_metric(metric="equalized_odds", counts=COUNTS, reference="a")
    wanted = fs.equalized_odds_difference(counts=COUNTS, reference="a")
    np.testing.assert_array_equal(
        [c.pvalue_adjusted for c in found.comparisons],
        [c.pvalue_adjusted for c in wanted.comparisons],
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"metric": "npv_ratio", "contrast": "difference"}, "as the name says"),
        ({"metric": "f1", "contrast": "gap"}, "shares"),
        ({"metric": "abroca"}, "fs.abroca"),
        ({"metric": "tpr", "method": "wald"}, "'delta', 'score'"),
    ],
)
def test_what_cannot_be_asked(options: dict[str, Any], words: str) -> None:
    with pytest.raises(fs.InputError, match=words):
        fs.group_metric(counts=COUNTS, **options)
