"""Two models on the same people. Witnesses: statsmodels' NonlinearDeltaCov on the eight cells,
closed forms, simulation."""

from __future__ import annotations

import importlib
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm, t
from statsmodels.stats._delta_method import NonlinearDeltaCov

import fairstats as fs
from fairstats.ground.registry import METRICS
from fairstats.numerics.paired.distance import madd as paired_madd
from fairstats.numerics.paired.score import (
    Part,
    change_within,
    contrast,
    difference_end,
    difference_statistic,
    distance_limits,
    log_ratio_end,
    ratio_statistic,
    sum_within,
)

#: Ratios and differences of one proportion.
PAIRED_METRICS = tuple(
    name
    for name, metric in METRICS.items()
    if metric.contrast != "gap"
    and len(metric.rates) == 1
    and metric.rates[0]
    in ("selection_rate", "tpr", "fpr", "tnr", "ppv", "npv", "false_omission_rate")
    and "predictions" in metric.needs
)
#: Cells 111 110 101 100 011 010 001 000: label, prediction of A, prediction of B.
COUNTS = {"a": (60, 12, 9, 30, 14, 8, 11, 70), "b": (40, 5, 20, 35, 10, 3, 16, 60)}
SUCCESS_CASES = {
    "selection_rate": (lambda y, p: p == 1, lambda y, p: True),
    "tpr": (lambda y, p: p == 1, lambda y, p: y == 1),
    "tnr": (lambda y, p: p == 0, lambda y, p: y == 0),
    "ppv": (lambda y, p: y == 1, lambda y, p: p == 1),
    "npv": (lambda y, p: y == 0, lambda y, p: p == 0),
    "fpr": (lambda y, p: p == 1, lambda y, p: y == 0),
    "false_omission_rate": (lambda y, p: y == 1, lambda y, p: p == 0),
}


def rate_of(cells: Any, rate: str, model: int) -> Any:
    """A rate of one model from the eight cells of one group."""
    success, case = SUCCESS_CASES[rate]
    k = d = 0.0
    for name, count in zip(
        ("111", "110", "101", "100", "011", "010", "001", "000"), cells, strict=True
    ):
        y = int(name[0])
        p = int(name[1 + model])
        if case(y, p):
            d = d + count
            if success(y, p):
                k = k + count
    return k / d


def expand(
    counts: dict[str, tuple[int, ...]],
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    names = ("111", "110", "101", "100", "011", "010", "001", "000")
    rows = [
        (*map(int, name), g)
        for g, c in counts.items()
        for name, n in zip(names, c, strict=True)
        for _ in range(n)
    ]
    y, a, b, g = zip(*rows, strict=True)
    return np.array(y), np.array(a), np.array(b), np.array(g)


@pytest.mark.parametrize("metric", PAIRED_METRICS)
def test_change_and_standard_error_as_statsmodels(metric: str) -> None:
    (rate,), contrast = METRICS[metric].rates, METRICS[metric].contrast
    cells = np.concatenate([COUNTS["b"], COUNTS["a"]]).astype(float)

    def change(x: np.ndarray) -> np.ndarray:
        values = [[rate_of(part, rate, model) for part in (x[:8], x[8:])] for model in (0, 1)]
        if contrast == "ratio":
            return np.array(
                [np.log(values[1][0] / values[1][1]) - np.log(values[0][0] / values[0][1])]
            )
        return np.array([values[1][0] - values[1][1] - values[0][0] + values[0][1]])

    covariance = np.diag(cells) - np.outer(cells, cells) / cells.sum()
    gradient = np.column_stack(
        [(change(cells + e) - change(cells - e)) / 2e-3 for e in 1e-3 * np.eye(16)]
    )
    witness = NonlinearDeltaCov(change, cells, covariance, deriv=lambda _: gradient)
    error = float(np.sqrt(np.squeeze(witness.cov())))
    result = fs.compare_models(
        None,
        None,
        None,
        metrics=metric,
        counts=fs.results.PairedCounts.from_counts(COUNTS),
        reference="a",
    )
    value = float(change(cells)[0])
    if contrast == "ratio":
        value = float(np.exp(value))
        error *= value
    assert result.estimate == pytest.approx(value, rel=1e-10)
    assert result.std_error == pytest.approx(error, rel=1e-6)  # the gradient is numerical


def test_before_and_after_are_the_unpaired_metrics() -> None:
    y, a, b, g = expand(COUNTS)
    result = fs.compare_models(
        y, a, b, sensitive_features=g, reference="a", metrics="conditional_accuracy_1"
    )
    change = result.comparisons[0]
    assert change.before == pytest.approx(
        fs.conditional_accuracy(y, a, sensitive_features=g, reference="a").estimate
    )
    assert change.after == pytest.approx(
        fs.conditional_accuracy(y, b, sensitive_features=g, reference="a").estimate
    )
    assert change.estimate == pytest.approx(change.after / change.before, rel=1e-12)


def test_a_difference_of_selection_rates_in_closed_form() -> None:
    """Var = Σ_s Var(ŷ_B − ŷ_A | s)/n_s, as in McNemar's setting.

    (b + c − (b − c)²/n)/n² per group.
    """
    y, a, b, g = expand(COUNTS)
    result = fs.compare_models(
        y, a, b, sensitive_features=g, reference="a", metrics="demographic_parity_difference"
    )
    variance = 0.0
    for group in "ab":
        d = (b - a)[g == group]
        variance += d.var() / d.size
    assert result.comparisons[0].std_error == pytest.approx(np.sqrt(variance), rel=1e-10)
    assert result.estimate == pytest.approx(
        (b - a)[g == "b"].mean() - (b - a)[g == "a"].mean(), abs=1e-14
    )


def test_pairing_matters() -> None:
    """Models that nearly agree: the paired interval is several times shorter than two independent
    samples allow."""
    y, a, _, g = expand(COUNTS)
    b = np.where(np.arange(a.size) % 40 == 0, 1 - a, a)
    result = fs.compare_models(
        y, a, b, sensitive_features=g, reference="a", metrics="demographic_parity_difference"
    )
    alone = fs.demographic_parity_difference(
        y, a, sensitive_features=g, reference="a", method="delta"
    ).std_error
    assert result.comparisons[0].std_error < alone * np.sqrt(2) / 3


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["disparate_impact", "equal_opportunity_difference"])
def test_coverage(metric: str, rng: np.random.Generator) -> None:
    """600 samples of 600 + 600 rows: 95% within four binomial standard errors (3.6%)."""
    shares = {g: np.array(c) / sum(c) for g, c in COUNTS.items()}
    (rate,), contrast = METRICS[metric].rates, METRICS[metric].contrast
    value = [[rate_of(shares[g], rate, model) for g in "ba"] for model in (0, 1)]
    truth = (
        (value[1][0] / value[1][1]) / (value[0][0] / value[0][1])
        if contrast == "ratio"
        else (value[1][0] - value[1][1] - value[0][0] + value[0][1])
    )
    hits = 0
    for _ in range(600):
        counts = {g: tuple(int(v) for v in rng.multinomial(600, shares[g])) for g in "ab"}
        result = fs.compare_models(
            None,
            None,
            None,
            metrics=metric,
            counts=fs.results.PairedCounts.from_counts(counts),
            reference="a",
        )
        hits += truth in result.confidence_interval
    assert hits / 600 == pytest.approx(0.95, abs=0.036)


@pytest.mark.parametrize("metric", PAIRED_METRICS)
def test_identical_predictions_are_evidence_of_little_change(metric: str) -> None:
    y, a, _, g = expand(COUNTS)
    change = fs.compare_models(
        y, a, a, sensitive_features=g, reference="a", metrics=metric
    ).comparisons[0]
    none = 1.0 if METRICS[metric].contrast == "ratio" else 0.0
    low, high = change.confidence_interval
    assert change.estimate == none
    assert change.pvalue == 1.0
    assert change.verdict == "undecided"
    assert low < none < high
    assert high - low < 0.6


def test_identical_predictions_in_closed_form() -> None:
    """Tango's limits with no changed decision are ±z²/(n + z²); MOVER adds their squares."""
    z2 = norm.ppf(0.975) ** 2
    counts = fs.results.PairedCounts.from_counts(
        {"a": (30, 0, 0, 20, 10, 0, 0, 40), "b": (4, 0, 0, 6, 5, 0, 0, 5)}
    )
    change = fs.compare_models(
        counts=counts, metrics="demographic_parity_difference", reference="a"
    )
    reach = float(np.hypot(z2 / (100 + z2), z2 / (20 + z2)))
    assert tuple(change.confidence_interval) == pytest.approx((-reach, reach), rel=1e-9)


def test_swapping_the_models_turns_the_change_over() -> None:
    y, a, b, g = expand(COUNTS)
    for metric in PAIRED_METRICS:
        contrast = METRICS[metric].contrast
        ab, ba = (
            fs.compare_models(
                y, *models, sensitive_features=g, metrics=metric, reference="a"
            ).comparisons[0]
            for models in ((a, b), (b, a))
        )
        assert ab.before == ba.after
        assert ab.pvalue == pytest.approx(ba.pvalue, rel=1e-9)
        assert ab.distance_change == pytest.approx(-ba.distance_change, abs=1e-13)
        if contrast == "ratio":
            assert ab.estimate == pytest.approx(1 / ba.estimate, rel=1e-12)
            assert tuple(ab.confidence_interval) == pytest.approx(
                (1 / ba.confidence_interval.high, 1 / ba.confidence_interval.low), rel=1e-9
            )
        else:
            assert tuple(ab.confidence_interval) == pytest.approx(
                (-ba.confidence_interval.high, -ba.confidence_interval.low), abs=1e-12
            )


def test_distance_to_parity() -> None:
    """From −0.30 to +0.05 is closer, from 0 to −0.3 further."""
    far = {"a": (500, 0, 0, 0, 0, 0, 0, 500), "b": (200, 0, 350, 450, 0, 0, 0, 0)}
    near = None
    result = fs.compare_models(
        None,
        None,
        None,
        metrics="demographic_parity_difference",
        counts=fs.results.PairedCounts.from_counts(far),
        reference="a",
    )
    change = result.comparisons[0]
    assert (change.before, change.after) == (pytest.approx(-0.3), pytest.approx(0.05))
    assert change.distance_change == pytest.approx(-0.25)
    assert change.verdict == "closer to parity"
    assert near is None


def test_labels_missing_values_and_weights(rng: np.random.Generator) -> None:
    y, a, b, g = expand(COUNTS)
    names = np.array(["no", "yes"])
    wanted = fs.compare_models(y, a, b, sensitive_features=g, reference="a")
    found = fs.compare_models(
        names[y], names[a], names[b], sensitive_features=g, reference="a", pos_label="yes"
    )
    assert found.confidence_interval == wanted.confidence_interval
    mapped = fs.compare_models(
        y,
        names[a],
        b + 1,
        sensitive_features=g,
        reference="a",
        pos_label={"y_true": 1, "y_pred": "yes", "y_pred_b": 2},
    )
    assert mapped.confidence_interval == wanted.confidence_interval
    holes: list[Any] = b.tolist()
    holes[0] = None
    with pytest.warns(fs.FairstatsWarning, match=r"1 of .* rows left out .*y_pred_b: 1"):
        dropped = fs.compare_models(
            y, a, holes, sensitive_features=g, reference="a", missing="drop"
        )
    assert (
        dropped.estimate
        == fs.compare_models(y[1:], a[1:], b[1:], sensitive_features=g[1:], reference="a").estimate
    )
    unit = fs.compare_models(
        y, a, b, sensitive_features=g, reference="a", sample_weight=np.ones(y.size)
    )
    assert unit.comparisons == wanted.comparisons


def test_many_groups_are_adjusted(rng: np.random.Generator) -> None:
    n = 900
    y, a, b = rng.integers(0, 2, (3, n))
    result = fs.compare_models(y, a, b, sensitive_features=rng.choice(list("abcd"), n))
    assert len(result.comparisons) == 3
    frame = result.to_frame()
    assert (frame["pvalue_adjusted"] >= frame["pvalue"]).all()


# ---------------------------------------------------------------- the paired score test


def constrained(table: Any, probabilities: Any) -> float:
    """Largest log-likelihood of the table on a line of cell probabilities, by a bounded search."""
    from scipy.optimize import minimize_scalar
    from scipy.special import xlogy

    def negative(x: float) -> float:
        p = np.array(probabilities(x))
        return (
            np.inf if (p < -1e-15).any() else -float(np.sum(xlogy(table, np.clip(p, 1e-300, None))))
        )

    low, high = probabilities.ends
    found = minimize_scalar(
        negative, bounds=(low, high), method="bounded", options={"xatol": 1e-13}
    )
    return float(min((found.x, low, high), key=negative))


class RatioLine:
    """Cell probabilities with p_B = ratio·p_A, given the share of rows with no success."""

    def __init__(self, table: Any, ratio: float) -> None:
        self.s = 1 - table[3] / sum(table)
        self.ratio = ratio
        self.ends = max(0.0, (1 - ratio) * self.s), self.s / (1 + ratio)

    def __call__(self, a: float) -> tuple[float, ...]:
        b = (a + (self.ratio - 1) * self.s) / self.ratio
        return self.s - a - b, a, b, 1 - self.s


def test_the_ratio_statistic_by_a_numeric_maximum(rng: np.random.Generator) -> None:
    for _ in range(300):
        table = tuple(
            map(float, rng.multinomial(rng.integers(5, 150), rng.dirichlet([1, 0.5, 0.5, 1])))
        )
        ratio = float(np.exp(rng.normal(0, 0.5)))
        n = sum(table)
        if sum(table[:3]) == 0:
            continue
        _, a, b, _ = RatioLine(table, ratio)(constrained(table, RatioLine(table, ratio)))
        distance = table[0] + table[2] - ratio * (table[0] + table[1])
        wanted = distance / np.sqrt(n * ratio * (a + b))
        assert ratio_statistic(table, ratio) == pytest.approx(wanted, abs=2e-5)


def test_the_difference_statistic_by_a_numeric_maximum(rng: np.random.Generator) -> None:
    """Given the difference, the changed decisions are the only parameter.

    The others are one cell.
    """
    from scipy.optimize import minimize_scalar
    from scipy.special import xlogy

    for _ in range(300):
        n = int(rng.integers(5, 150))
        same, a, b = map(float, rng.multinomial(n, rng.dirichlet([2, 0.5, 0.5])))
        d = float(rng.uniform(-0.6, 0.6))

        def negative(q: float, cells: Any = (same, a, b), d: float = d) -> float:
            p = np.clip([1 - 2 * q - d, q, q + d], 1e-300, None)
            return -float(np.sum(xlogy(cells, p)))

        low = max(0.0, -d)
        high = (1 - d) / 2
        found = minimize_scalar(
            negative, bounds=(low, high), method="bounded", options={"xatol": 1e-13}
        )
        q = min((found.x, low, high), key=negative)
        wanted = (b - a - n * d) / np.sqrt(n * (2 * q + d - d * d))
        assert difference_statistic((same, a, b, 0.0), d) == pytest.approx(wanted, abs=2e-5)


def test_equality_is_mcnemars_test() -> None:
    table = (50.0, 9.0, 21.0, 40.0)
    wanted = 12 / np.sqrt(30)
    assert ratio_statistic(table, 1.0) == pytest.approx(wanted, rel=1e-12)
    assert difference_statistic(table, 0.0) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize(
    ("table", "difference", "ratio"),
    [
        ((43, 0, 1, 0), (-0.059393, 0.118077), (0.939339, 1.133886)),
        ((50, 9, 21, 40), (0.011103, 0.191325), (1.020706, 1.440601)),
        ((12, 1, 5, 3), (-0.047074, 0.420126), (0.933502, 1.963354)),
        ((30, 0, 0, 20), (-0.071348, 0.071348), (0.886487, 1.128049)),
        ((5, 2, 9, 60), (0.007784, 0.189006), (1.053733, 4.051173)),
    ],
)
def test_limits_as_ratesci(table: Any, difference: Any, ratio: Any) -> None:
    """R's ratesci 1.0.0, pairbinci(method = "Score", skew = FALSE, bcf = FALSE), which prints six
    digits.
    """
    z = norm.ppf(0.975)
    table = tuple(map(float, table))
    assert [difference_end(table, end) for end in (z, -z)] == pytest.approx(difference, abs=1e-6)
    assert np.exp([log_ratio_end(table, end) for end in (z, -z)]) == pytest.approx(ratio, abs=1e-6)


def test_exchanging_the_models_turns_the_limits_over() -> None:
    table = (43.0, 0.0, 3.0, 2.0)
    turned = (43.0, 3.0, 0.0, 2.0)
    for end in (difference_end, log_ratio_end):
        low = end(table, 1.96)
        high = end(table, -1.96)
        assert (end(turned, 1.96), end(turned, -1.96)) == pytest.approx((-high, -low), abs=1e-9)


def test_p_is_below_alpha_exactly_where_the_interval_excludes_no_change(
    rng: np.random.Generator,
) -> None:
    for metric in (
        "disparate_impact",
        "demographic_parity_difference",
        "conditional_use_accuracy_1",
    ):
        none = 1.0 if METRICS[metric].contrast == "ratio" else 0.0
        for _ in range(150):
            cells = {
                g: tuple(map(int, rng.multinomial(n, rng.dirichlet(np.full(8, 0.4)))))
                for g, n in (("a", 300), ("b", int(rng.integers(5, 80))))
            }
            counts = fs.results.PairedCounts.from_counts(cells)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", fs.FairstatsWarning)
                change = fs.compare_models(
                    counts=counts, metrics=metric, reference="a"
                ).comparisons[0]
            low, high = change.confidence_interval
            assert not np.isnan([low, high]).any()
            if not np.isnan(change.pvalue) and abs(change.pvalue - 0.05) > 1e-9:
                assert (change.pvalue < 0.05) == (none < low or none > high)


def test_one_model_that_selects_nobody_in_a_group() -> None:
    """The change is infinite or 0, the interval is not: its other end is known."""
    cells = {"a": (60, 12, 9, 30, 14, 8, 11, 70), "b": (0, 0, 9, 21, 0, 0, 4, 30)}
    counts = fs.results.PairedCounts.from_counts(cells)
    with pytest.warns(fs.FairstatsWarning, match="a rate of 0"):
        change = fs.compare_models(counts=counts, reference="a").comparisons[0]
    assert change.estimate == np.inf
    assert 1 < change.confidence_interval.low < change.confidence_interval.high == np.inf
    assert 0 < change.pvalue < 0.05


def test_a_selection_rate_needs_no_labels() -> None:
    y, a, b, g = expand(COUNTS)
    with_labels = fs.compare_models(y, a, b, sensitive_features=g, reference="a")
    without = fs.compare_models(None, a, b, sensitive_features=g, reference="a")
    assert without.confidence_interval == with_labels.confidence_interval
    with pytest.raises(fs.InputError, match="y_true"):
        fs.compare_models(None, a, b, sensitive_features=g, metrics="conditional_accuracy_1")


def test_degrees_of_freedom_of_few_clusters_by_satterthwaite() -> None:
    """40 clusters beside 92: Satterthwaite's, where all units less 1 would be 131.

    In 8 of them by score.

    Variances are wider by 1/(1 − 2/m), m clusters of the group, as of a rate of one model (Bell &
    McCaffrey)."""
    rng = np.random.default_rng(3)
    cluster = np.repeat(np.arange(132), 20)
    group = np.where(cluster < 40, "b", "a")
    shift = rng.normal(0, 0.15, 132)[cluster]
    a = (rng.random(2_640) < np.clip(0.5 + shift, 0, 1)).astype(int)
    b = np.where(rng.random(2_640) < np.clip(0.15 + shift, 0, 1), 1 - a, a)
    change = fs.compare_models(
        None,
        a,
        b,
        sensitive_features=group,
        reference="a",
        cluster=cluster,
        metrics="demographic_parity_difference",
    ).comparisons[0]
    means = {}
    for name in "ab":
        totals = np.array([(b - a)[cluster == c].sum() for c in np.unique(cluster[group == name])])
        n = (group == name).sum()
        means[name] = np.sum((totals - 20 * (b - a)[group == name].mean()) ** 2) / n**2
    df = (means["a"] + means["b"]) ** 2 / (means["a"] ** 2 / 91 + means["b"] ** 2 / 39)
    width = t.ppf(0.975, df) * np.sqrt(means["a"] / (1 - 2 / 92) + means["b"] / (1 - 2 / 40))
    assert change.confidence_interval.high - change.estimate == pytest.approx(width, rel=1e-6)
    assert change.std_error == pytest.approx(
        np.sqrt(132 / 131 * (means["a"] + means["b"])), rel=1e-6
    )
    few = np.isin(cluster, range(32))
    change = fs.compare_models(
        None,
        a[~few],
        b[~few],
        sensitive_features=group[~few],
        reference="a",
        cluster=cluster[~few],
        metrics="demographic_parity_difference",
    ).comparisons[0]
    own = (group == "b") & ~few
    moved = (b - a)[own]
    share = moved.mean()
    n = own.sum()
    totals = np.array([moved[cluster[own] == c].sum() for c in range(32, 40)])
    means["b"] = np.sum((totals - 20 * share) ** 2) / n**2
    rows = moved.var() / (means["b"] / (1 - 2 / 8))  # as many as give the change its variance
    table = [
        rows * np.mean((a[own] == x) & (b[own] == y)) for x, y in ((1, 1), (1, 0), (0, 1), (0, 0))
    ]
    df = (means["a"] + means["b"]) ** 2 / (means["a"] ** 2 / 91 + means["b"] ** 2 / 7)
    z = t.ppf(0.975, df)
    reach = (
        change_within(tuple(table), ratio=False).high(z) - share,
        z * np.sqrt(means["a"] / (1 - 2 / 92)),
    )
    assert change.confidence_interval.high - change.estimate == pytest.approx(
        np.hypot(*reach), rel=1e-6
    )


@pytest.mark.parametrize("metric", ["disparate_impact", "average_odds_difference", "f1_ratio"])
def test_unequal_clusters_count_as_fewer(metric: str) -> None:
    """Twelve clusters of which one is large are worth (Σd)²/Σd² = 5.1.

    Copies of rows change nothing.
    """
    rng = np.random.default_rng(8)
    sizes = np.r_[60, np.full(11, 8), np.full(60, 10)]
    cluster = np.repeat(np.arange(72), sizes)
    group = np.where(cluster < 12, "b", "a")
    y, a, b = (rng.integers(0, 2, cluster.size) for _ in range(3))
    given = {"sensitive_features": group, "reference": "a", "metrics": metric}
    with pytest.warns(fs.FairstatsWarning, match="effective clusters"):
        few = fs.compare_models(y, a, b, cluster=cluster, **given).comparisons[0]
    assert few.verdict == "insufficient evidence"
    if metric == "disparate_impact":
        assert f"{148**2 / (60**2 + 11 * 8**2):.3g} effective clusters" in few.note
    even = np.arange(cluster.size) % 30
    once = fs.compare_models(y, a, b, cluster=np.where(group == "a", even, 100 + even), **given)
    thrice = [
        np.repeat(part, 3) for part in (y, a, b, group, np.where(group == "a", even, 100 + even))
    ]
    given["sensitive_features"] = thrice[3]
    copied = fs.compare_models(*thrice[:3], cluster=thrice[4], **given)
    assert once.verdict == copied.verdict
    for field in ("estimate", "pvalue", "std_error"):
        assert getattr(copied, field) == pytest.approx(getattr(once, field), rel=1e-9, nan_ok=True)


def test_a_gap_that_cannot_be_judged_may_be_the_largest() -> None:
    rng = np.random.default_rng(9)
    cluster = np.repeat(np.arange(65), 10)
    group = np.select([cluster < 5, cluster < 35], ["few", "b"], "a")
    a, b = (rng.random(650) < 0.5 + 0.3 * (group == "few") for _ in range(2))
    given = {"sensitive_features": group, "cluster": cluster, "metrics": "demographic_parity_max"}
    with pytest.warns(fs.FairstatsWarning, match="few: 5 effective clusters"):
        change = fs.compare_models(None, a, b, **given).comparisons[0]
    assert change.verdict == "insufficient evidence"
    kept = group != "few"
    parts = {name: given[name][kept] for name in ("sensitive_features", "cluster")}
    assert fs.compare_models(None, a[kept], b[kept], **{**given, **parts}).comparisons[0].pvalue > 0


@pytest.mark.parametrize(
    ("change", "total", "wanted"),
    [
        ((0.1, 0.2), (0.5, 0.9), (0.1, 0.2)),
        ((0.1, 0.2), (-0.9, -0.5), (-0.2, -0.1)),
        ((0.3, 0.8), (-0.2, 0.4), (-0.2, 0.4)),
        ((-0.1, 0.2), (1.0, np.inf), (-0.1, 0.2)),
    ],
)
def test_the_distance_is_the_smaller_of_change_and_sum(
    change: Any, total: Any, wanted: Any
) -> None:
    assert distance_limits(change, total) == pytest.approx(wanted)
    rng = np.random.default_rng(1)
    finite = np.clip([change, total], -5, 5)
    c, s = (rng.uniform(low, high, 20_000) for low, high in finite)
    moved = np.abs(s + c) / 2 - np.abs(s - c) / 2
    assert moved.min() >= wanted[0] - 1e-12
    assert moved.max() <= wanted[1] + 1e-12


def test_an_infinite_change_has_the_ends_that_are_known() -> None:
    infinite = Part(np.inf, lambda z: 1.0, lambda z: np.inf)
    known = Part(0.5, lambda z: 0.2, lambda z: 0.9)
    assert contrast(infinite, known).limits(1.96) == (pytest.approx(0.1), np.inf)
    assert contrast(known, infinite).limits(1.96) == (-np.inf, pytest.approx(-0.1))
    assert contrast(infinite, infinite).limits(1.96) == (-np.inf, np.inf)


@pytest.mark.parametrize("table", [(30_000, 9_000, 4_000, 57_000), (9_000, 21_000, 25_000, 45_000)])
def test_limits_of_a_sum_know_the_correlation(table: Any) -> None:
    """In large tables p_A + p_B has the variance (p₁₀ + p₀₁ + 4p₁₁ − (p_A + p_B)²)/n."""
    both, a, b, _ = np.array(table) / sum(table)
    total = 2 * both + a + b
    reach = 1.96 * np.sqrt((a + b + 4 * both - total**2) / sum(table))
    part = sum_within(table, ratio=False)
    assert part.estimate == pytest.approx(total)
    assert part.limits(1.96) == pytest.approx((total - reach, total + reach), abs=0.01 * reach)


def test_models_far_from_parity_on_one_side_by_their_predictive_values() -> None:
    """Both far below parity: the sum is known, so the distance is the change turned over."""
    cells = {
        "a": (4_000, 300, 300, 0, 400, 50, 50, 900),
        "b": (900, 300, 100, 0, 900, 100, 300, 900),
    }
    counts = fs.results.PairedCounts.from_counts(cells)
    change = fs.compare_models(
        counts=counts, metrics="predictive_parity_difference", reference="a"
    ).comparisons[0]
    low, high = change.confidence_interval
    assert high < 0
    assert tuple(change.distance_interval) == pytest.approx((-high, -low), rel=1e-12)
    assert change.verdict == "further from parity"
    cells["b"] = (900, 100, 300, 0, 900, 300, 100, 900)  # the models exchanged
    counts = fs.results.PairedCounts.from_counts(cells)
    (back,) = fs.compare_models(
        counts=counts, metrics="predictive_parity_difference", reference="a"
    ).comparisons
    assert back.confidence_interval.low > 0
    assert back.verdict == "closer to parity"


def test_the_cells_of_the_calibration_count_what_they_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[4]))
    cells = importlib.import_module("tests.calibration.paired").CELLS
    run_cell = importlib.import_module("tests.calibration.study").run_cell
    cell = next(c for c in cells if c.regime.startswith("500 beside 500, .30"))
    measures = run_cell(cell, runs=60)["measures"]
    assert measures["answered"] == [60.0, 60]
    assert measures["coverage"][0] >= 50
    assert measures["false verdict"][0] <= 3


@pytest.mark.parametrize("margin", [0.2, 1.0, 1.9])
def test_evidence_of_a_distance_that_no_draw_moves(margin: float) -> None:
    """Groups of 10 in a bin each.

    MADD is 2, and z solves 2√2·z²/(10 + z²) = 2 − margin (Tango's limits).
    """
    scores = np.full((1, 10), 0.1), np.full((1, 10), 0.9)
    found: Any = paired_madd(scores, [], margin, 99, np.random.default_rng(1), n_bins=2)
    share = (2 - margin) / np.sqrt(8)
    (evidence,) = found.level.evidence
    assert found.level.estimates.tolist() == [2.0]
    assert evidence.above == pytest.approx(norm.sf(np.sqrt(10 * share / (1 - share))), rel=1e-9)
    assert evidence.inside == pytest.approx(1 - evidence.above, rel=1e-12)
