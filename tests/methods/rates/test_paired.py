"""Two models on the same people. Witnesses: statsmodels' NonlinearDeltaCov on the eight cells, closed forms,
simulation.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import norm
from statsmodels.stats._delta_method import NonlinearDeltaCov

import fairstats as fs
from fairstats.methods.rates.paired import PAIRED_METRICS

#: Cells 111 110 101 100 011 010 001 000: label, prediction of A, prediction of B.
COUNTS = {"a": (60, 12, 9, 30, 14, 8, 11, 70), "b": (40, 5, 20, 35, 10, 3, 16, 60)}
SUCCESS_CASES = {
    "selection_rate": (lambda y, p: p == 1, lambda y, p: True),
    "tpr": (lambda y, p: p == 1, lambda y, p: y == 1),
    "tnr": (lambda y, p: p == 0, lambda y, p: y == 0),
    "ppv": (lambda y, p: y == 1, lambda y, p: p == 1),
    "npv": (lambda y, p: y == 0, lambda y, p: p == 0),
}


def rate_of(cells: Any, rate: str, model: int) -> Any:
    """A rate of one model from the eight cells of one group."""
    success, case = SUCCESS_CASES[rate]
    k = d = 0.0
    for name, count in zip(("111", "110", "101", "100", "011", "010", "001", "000"), cells, strict=True):
        y, p = int(name[0]), int(name[1 + model])
        if case(y, p):
            d = d + count
            if success(y, p):
                k = k + count
    return k / d


def expand(counts: dict[str, tuple[int, ...]]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
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
def test_change_and_interval_as_statsmodels(metric: str) -> None:
    rate, contrast = PAIRED_METRICS[metric]
    cells = np.concatenate([COUNTS["b"], COUNTS["a"]]).astype(float)

    def change(x: np.ndarray) -> np.ndarray:
        values = [[rate_of(part, rate, model) for part in (x[:8], x[8:])] for model in (0, 1)]
        if contrast == "ratio":
            return np.array([np.log(values[1][0] / values[1][1]) - np.log(values[0][0] / values[0][1])])
        return np.array([values[1][0] - values[1][1] - values[0][0] + values[0][1]])

    covariance = np.diag(cells) - np.outer(cells, cells) / cells.sum()
    gradient = np.column_stack([(change(cells + e) - change(cells - e)) / 2e-3 for e in 1e-3 * np.eye(16)])
    witness = NonlinearDeltaCov(change, cells, covariance, deriv=lambda _: gradient)
    error = float(np.sqrt(np.squeeze(witness.cov())))
    result = fs.compare_models(
        None, None, None, metric=metric, counts=fs.PairedCounts.from_counts(COUNTS), reference="a"
    )
    value = float(change(cells)[0])
    low, high = value - norm.ppf(0.975) * error, value + norm.ppf(0.975) * error
    if contrast == "ratio":
        value, low, high = np.exp([value, low, high])
    assert result.estimate == pytest.approx(value, rel=1e-10)
    assert tuple(result.confidence_interval) == pytest.approx(
        (low, high), rel=1e-6
    )  # the gradient is numerical
    assert result.pvalue == pytest.approx(2 * norm.sf(abs(change(cells)[0]) / error), rel=1e-5)


def test_before_and_after_are_the_unpaired_metrics() -> None:
    y, a, b, g = expand(COUNTS)
    result = fs.compare_models(y, a, b, sensitive_features=g, reference="a", metric="conditional_accuracy_1")
    change = result.changes[0]
    assert change.before == pytest.approx(
        fs.conditional_accuracy(y, a, sensitive_features=g, reference="a").estimate
    )
    assert change.after == pytest.approx(
        fs.conditional_accuracy(y, b, sensitive_features=g, reference="a").estimate
    )
    assert change.estimate == pytest.approx(change.after / change.before, rel=1e-12)


def test_a_difference_of_selection_rates_in_closed_form() -> None:
    """Var = Σ_s Var(ŷ_B − ŷ_A | s)/n_s, as in McNemar's setting: (b + c − (b − c)²/n)/n² per group."""
    y, a, b, g = expand(COUNTS)
    result = fs.compare_models(
        y, a, b, sensitive_features=g, reference="a", metric="demographic_parity_difference"
    )
    variance = 0.0
    for group in "ab":
        d = (b - a)[g == group]
        variance += d.var() / d.size
    assert result.changes[0].std_error == pytest.approx(np.sqrt(variance), rel=1e-10)
    assert result.estimate == pytest.approx((b - a)[g == "b"].mean() - (b - a)[g == "a"].mean(), abs=1e-14)


def test_pairing_matters() -> None:
    """Models that nearly agree: the paired interval is several times shorter than two independent samples
    allow.
    """
    y, a, _, g = expand(COUNTS)
    b = np.where(np.arange(a.size) % 40 == 0, 1 - a, a)
    result = fs.compare_models(
        y, a, b, sensitive_features=g, reference="a", metric="demographic_parity_difference"
    )
    alone = fs.demographic_parity_difference(
        y, a, sensitive_features=g, reference="a", method="delta"
    ).std_error
    assert result.changes[0].std_error < alone * np.sqrt(2) / 3


@pytest.mark.parametrize("metric", ["disparate_impact", "equal_opportunity_difference"])
def test_coverage(metric: str, rng: np.random.Generator) -> None:
    """2,000 samples of 600 + 600 rows: 95% within four binomial standard errors (1.9%)."""
    shares = {g: np.array(c) / sum(c) for g, c in COUNTS.items()}
    rate, contrast = PAIRED_METRICS[metric]
    value = [[rate_of(shares[g], rate, model) for g in "ba"] for model in (0, 1)]
    truth = (
        (value[1][0] / value[1][1]) / (value[0][0] / value[0][1])
        if contrast == "ratio"
        else (value[1][0] - value[1][1] - value[0][0] + value[0][1])
    )
    hits = 0
    for _ in range(2_000):
        counts = {g: tuple(int(v) for v in rng.multinomial(600, shares[g])) for g in "ab"}
        result = fs.compare_models(
            None, None, None, metric=metric, counts=fs.PairedCounts.from_counts(counts), reference="a"
        )
        hits += truth in result.confidence_interval
    assert hits / 2_000 == pytest.approx(0.95, abs=0.019)


def test_no_change_is_no_evidence() -> None:
    y, a, _, g = expand(COUNTS)
    with pytest.warns(fs.FairstatsWarning, match="no variation"):
        result = fs.compare_models(y, a, a, sensitive_features=g, reference="a")
    assert result.changes[0].verdict == "insufficient evidence"
    assert result.changes[0].before == result.changes[0].after


def test_swapping_the_models_turns_the_change_over() -> None:
    y, a, b, g = expand(COUNTS)
    for metric, (_, contrast) in PAIRED_METRICS.items():
        ab, ba = (
            fs.compare_models(y, *models, sensitive_features=g, metric=metric, reference="a").changes[0]
            for models in ((a, b), (b, a))
        )
        assert ab.before == ba.after
        assert ab.pvalue == pytest.approx(ba.pvalue, rel=1e-9)
        assert ab.distance_change == pytest.approx(-ba.distance_change, abs=1e-13)
        if contrast == "ratio":
            assert ab.estimate == pytest.approx(1 / ba.estimate, rel=1e-12)
            assert tuple(ab.interval) == pytest.approx((1 / ba.interval.high, 1 / ba.interval.low), rel=1e-9)
        else:
            assert tuple(ab.interval) == pytest.approx((-ba.interval.high, -ba.interval.low), abs=1e-12)


def test_distance_to_parity() -> None:
    """From −0.30 to +0.05 is closer, from 0 to −0.3 further."""
    far, near = {"a": (500, 0, 0, 0, 0, 0, 0, 500), "b": (200, 0, 350, 450, 0, 0, 0, 0)}, None
    result = fs.compare_models(
        None,
        None,
        None,
        metric="demographic_parity_difference",
        counts=fs.PairedCounts.from_counts(far),
        reference="a",
    )
    change = result.changes[0]
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
        pos_label={"y_true": 1, "y_pred_a": "yes", "y_pred_b": 2},
    )
    assert mapped.confidence_interval == wanted.confidence_interval
    holes: list[Any] = b.tolist()
    holes[0] = None
    with pytest.warns(fs.FairstatsWarning, match=r"1 of .* rows left out .*y_pred_b: 1"):
        dropped = fs.compare_models(y, a, holes, sensitive_features=g, reference="a", missing="drop")
    assert (
        dropped.estimate
        == fs.compare_models(y[1:], a[1:], b[1:], sensitive_features=g[1:], reference="a").estimate
    )
    unit = fs.compare_models(y, a, b, sensitive_features=g, reference="a", sample_weight=np.ones(y.size))
    n = y.size
    assert unit.changes[0].std_error == pytest.approx(
        wanted.changes[0].std_error * np.sqrt(n / (n - 1)), rel=1e-9
    )


def test_many_groups_are_adjusted(rng: np.random.Generator) -> None:
    n = 900
    y, a, b = rng.integers(0, 2, (3, n))
    result = fs.compare_models(y, a, b, sensitive_features=rng.choice(list("abcd"), n))
    assert len(result.changes) == 3
    frame = result.to_frame()
    assert (frame["pvalue_adjusted"] >= frame["pvalue"]).all()
