"""Rates of groups that are inferred from probabilities.

Witnesses: textbook formulas by rows (Chen et al. 2019; ratio estimates), linear programmes of SciPy
for the bounds, two-phase estimates by rows, R by the twin."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog
from scipy.stats import t as student

import fairstats as fs
from fairstats.ground.errors import InputError, InsufficientEvidenceWarning, MissingValuesWarning
from fairstats.methods.rates.bounds import imbens_manski
from fairstats.numerics.rates import inferred as kernels
from fairstats.results import InferredResult

N = 1_600


def people(n: int = N, seed: int = 5) -> pd.DataFrame:
    """Three groups by probabilities in hundredths, an outcome and a decision."""
    rng = np.random.default_rng(seed)
    shares = rng.multinomial(100, [0.5, 0.3, 0.2], n) * 1.0
    far = rng.dirichlet([0.2, 0.2, 0.2], n)
    shares = 0.2 * shares / 100 + 0.8 * far
    group = (rng.random(n)[:, None] > shares.cumsum(axis=1)).sum(axis=1).clip(0, 2)
    able = rng.random(n) < np.array([0.5, 0.6, 0.4])[group]
    hired = rng.random(n) < np.array([0.45, 0.3, 0.4])[group] + 0.2 * able
    table = pd.DataFrame(shares, columns=["a", "b", "c"])
    table["able"] = able.astype(int)
    table["hired"] = hired.astype(int)
    table["group"] = np.array(["a", "b", "c"])[group]
    return table


def probabilities(table: pd.DataFrame) -> pd.DataFrame:
    return table[["a", "b", "c"]]


def test_the_weighted_estimate_is_that_of_chen_and_others() -> None:
    table = people()
    result = fs.demographic_parity_difference(
        table["able"],
        table["hired"],
        sensitive_probabilities=probabilities(table),
        reference="a",
        rng=1,
    )
    for group in ("b", "c"):
        rates = []
        influences = []
        for name in (group, "a"):
            rate = (table[name] * table["hired"]).sum() / table[name].sum()
            rates.append(rate)
            influences.append(table[name] * (table["hired"] - rate) / table[name].sum())
        influence = influences[0] - influences[1]
        comparison = result[group]
        assert comparison.weighted == pytest.approx(rates[0] - rates[1], abs=1e-12)
        assert comparison.estimate == comparison.weighted
        expected_error = math.sqrt(N / (N - 1) * (influence**2).sum())
        assert comparison.std_error == pytest.approx(expected_error, rel=1e-9)
        assert comparison.n == round(table[group].sum())
        low, high = comparison.weighted_interval
        assert (high - low) / 2 == pytest.approx(1.959964 * expected_error, rel=1e-6)


def test_regression_is_least_squares_without_a_constant() -> None:
    table = people()
    result = fs.equal_opportunity_difference(
        table["able"],
        table["hired"],
        sensitive_probabilities=probabilities(table),
        reference="a",
        rng=1,
    )
    cases = table[table["able"] == 1]
    slopes, *_ = np.linalg.lstsq(cases[["a", "b", "c"]], cases["hired"], rcond=None)
    assert result["b"].regression == pytest.approx(slopes[1] - slopes[0], abs=1e-9)


def test_known_groups_leave_nothing_open() -> None:
    table = people()
    sure = pd.get_dummies(table["group"]).astype(float)
    inferred = fs.disparate_impact(
        table["hired"], sensitive_probabilities=sure, reference="a", rng=1
    )
    recorded = fs.disparate_impact(
        table["hired"], sensitive_features=table["group"], reference="a", method="log"
    )
    for group in ("b", "c"):
        assert inferred[group].set_low == pytest.approx(recorded[group].estimate, abs=1e-12)
        assert inferred[group].set_high == pytest.approx(recorded[group].estimate, abs=1e-12)
        for own, known in zip(
            inferred[group].confidence_interval, recorded[group].confidence_interval, strict=True
        ):
            assert own == pytest.approx(known, rel=2e-3)  # n − 1 in place of n
        assert inferred[group].verdict == recorded[group].verdict


# ------------------------------------------------------------------ the bounds against programmes

#: Probabilities of three groups in four cells, and outcomes there (success, failure, no case): a
#: clear choice in each cell, so that both halves of very many rows make the right one.
CELLS = np.array([[0.70, 0.20, 0.10], [0.15, 0.75, 0.10], [0.30, 0.30, 0.40], [0.05, 0.15, 0.80]])
OUTCOMES = {
    "no case": np.array([[0.3, 0.5, 0.2], [0.4, 0.3, 0.3], [0.5, 0.2, 0.3], [0.1, 0.6, 0.3]]),
    "all cases": np.array([[0.35, 0.65, 0], [0.45, 0.55, 0], [0.55, 0.45, 0], [0.1, 0.9, 0]]),
}
SHARES_OF_CELLS = np.array([0.4, 0.3, 0.2, 0.1])


def sums_of_cells(outcomes: np.ndarray, n: float = 1e7) -> kernels.Sums:
    """So many rows, both halves alike, just as the laws say."""
    number = np.repeat((n / 2 * SHARES_OF_CELLS[:, None] * outcomes)[:, None], 2, axis=1)
    sums = number[..., None] * CELLS[:, None, None]
    products = sums[..., None] * CELLS[:, None, None, None]
    return kernels.Sums(number, sums, products)


def extreme_rate(outcomes: np.ndarray, group: int, sign: int) -> float:
    """Largest (sign 1) or smallest rate of a group over all joint laws, by Charnes and Cooper."""
    n_cells, n_groups = CELLS.shape
    size = n_cells * n_groups * 3

    def at(cell: int, one: int, outcome: int) -> int:
        return (cell * n_groups + one) * 3 + outcome

    objective = np.zeros(size + 1)
    cases = np.zeros(size + 1)
    for cell in range(n_cells):
        objective[at(cell, group, 0)] = -sign
        cases[at(cell, group, 0)] = cases[at(cell, group, 1)] = 1.0
    rows = [cases]
    values = [1.0]
    for cell, weight in enumerate(SHARES_OF_CELLS):
        for one in range(n_groups):
            row = np.zeros(size + 1)
            row[[at(cell, one, outcome) for outcome in range(3)]] = 1.0
            row[-1] = -weight * CELLS[cell, one]
            rows.append(row)
            values.append(0.0)
        for outcome in range(3):
            row = np.zeros(size + 1)
            row[[at(cell, one, outcome) for one in range(n_groups)]] = 1.0
            row[-1] = -weight * outcomes[cell, outcome]
            rows.append(row)
            values.append(0.0)
    solved = linprog(objective, A_eq=np.array(rows), b_eq=values, bounds=(0, None))
    return float(-sign * solved.fun)


@pytest.mark.parametrize("name", list(OUTCOMES))
@pytest.mark.parametrize("pair", [(1, 0), (2, 0), (2, 1)])
def test_rates_reach_the_ends_of_linear_programmes(name: str, pair: tuple[int, int]) -> None:
    told = kernels.compare_groups(sums_of_cells(OUTCOMES[name]), pair, "difference")
    for group, (low, high) in zip(pair, told.ranges, strict=True):
        assert low == pytest.approx(extreme_rate(OUTCOMES[name], group, -1), abs=1e-9)
        assert high == pytest.approx(extreme_rate(OUTCOMES[name], group, 1), abs=1e-9)


@pytest.mark.parametrize("pair", [(1, 0), (2, 0), (2, 1)])
@pytest.mark.parametrize("sign", [1, -1])
def test_differences_are_attained_together(pair: tuple[int, int], sign: int) -> None:
    """With every row a case the difference is linear in the joint law: one programme for both."""
    outcomes = OUTCOMES["all cases"]
    n_cells, n_groups = CELLS.shape
    totals = SHARES_OF_CELLS @ CELLS
    objective = np.zeros((n_cells, n_groups, 2))
    objective[:, pair[0], 0] = -sign / totals[pair[0]]
    objective[:, pair[1], 0] = sign / totals[pair[1]]
    rows = []
    values = []
    for cell, weight in enumerate(SHARES_OF_CELLS):
        for group in range(n_groups):
            row = np.zeros_like(objective)
            row[cell, group] = 1.0
            rows.append(row.ravel())
            values.append(weight * CELLS[cell, group])
        for outcome in range(2):
            row = np.zeros_like(objective)
            row[cell, :, outcome] = 1.0
            rows.append(row.ravel())
            values.append(weight * outcomes[cell, outcome])
    solved = linprog(objective.ravel(), A_eq=np.array(rows), b_eq=values, bounds=(0, None))
    told = kernels.compare_groups(sums_of_cells(outcomes), pair, "difference")
    end = told.high.value if sign > 0 else told.low.value
    assert end == pytest.approx(-sign * solved.fun, abs=1e-9)


def test_bounds_hold_the_weighted_and_the_true_value_whatever_the_halves_are() -> None:
    table = people()
    for seed in range(5):
        result = fs.equalized_odds_difference(
            table["able"],
            table["hired"],
            sensitive_probabilities=probabilities(table),
            comparisons="all",
            rng=seed,
        )
        for comparison in result.comparisons:
            assert comparison.set_low <= comparison.weighted <= comparison.set_high
            low, high = comparison.confidence_interval
            assert low <= comparison.set_low < comparison.set_high <= high
            both = comparison.set_interval
            assert both.low <= low
            assert both.high >= high


def test_the_interval_has_the_critical_value_of_imbens_and_manski() -> None:
    table = people()
    result = fs.demographic_parity_difference(
        table["able"],
        table["hired"],
        sensitive_probabilities=probabilities(table),
        reference="a",
        rng=1,
    )
    counts = result.counts[0]
    told = kernels.compare_groups(counts._table, (1, 0), "difference")
    largest = max(told.low.std_error, told.high.std_error)
    width = min((told.high.value - told.low.value) / largest, 10)
    critical = imbens_manski(width, 0.95, n=N)
    low, high = result["b"].confidence_interval
    assert low == pytest.approx(told.low.value - critical * told.low.std_error)
    assert high == pytest.approx(told.high.value + critical * told.high.std_error)


# ------------------------------------------------------------------ samples


def test_an_audit_of_everybody_is_the_plain_comparison() -> None:
    table = people()
    all_known = fs.equal_opportunity_difference(
        table["able"],
        table["hired"],
        sensitive_probabilities=probabilities(table),
        sensitive_features=table["group"],
        reference="a",
        rng=1,
    )
    recorded = fs.equal_opportunity_difference(
        table["able"],
        table["hired"],
        sensitive_features=table["group"],
        reference="a",
        method="delta",
    )
    for group in ("b", "c"):
        assert all_known[group].estimate == pytest.approx(recorded[group].estimate, abs=1e-12)
        assert all_known[group].std_error == pytest.approx(recorded[group].std_error, rel=2e-2)
        assert all_known[group].n_audited == N


def test_an_audit_sample_is_the_two_phase_estimate_by_rows() -> None:
    table = people()
    rng = np.random.default_rng(3)
    known = rng.random(N) < 0.25
    halves = rng.permutation(N) % 2
    shares = probabilities(table).to_numpy()
    group = table["group"].map({"a": 0, "b": 1, "c": 2}).to_numpy()
    kinds = np.where(table["able"] == 0, 2, np.where(table["hired"] == 1, 0, 1))
    codes = np.where(known, group, 3)
    audited = kernels.Audited(kernels.sum_rows(shares, kinds, halves, codes, 4))
    value, rates = kernels.audited_contrast(audited, (1, 0), "difference")

    means = {}
    influences = {}
    for one in (1, 0):
        for outcome in (0, 1):
            expected = np.zeros(N)
            for half in (0, 1):
                fitted = known & (halves != half) & (kinds == outcome)
                slope, constant = np.polyfit(shares[fitted, one], group[fitted] == one, 1)
                here = (halves == half) & (kinds == outcome)
                expected[here] = constant + slope * shares[here, one]
            truth = (group == one) & (kinds == outcome)
            error = np.where(known, truth - expected, 0.0)
            mean_error = error.sum() / known.sum()
            means[one, outcome] = expected.mean() + mean_error
            share = known.mean()
            influences[one, outcome] = (
                expected - expected.mean() + known * (truth - expected - mean_error) / share
            )
    by_hand = {one: means[one, 0] / (means[one, 0] + means[one, 1]) for one in (1, 0)}
    assert rates == pytest.approx((by_hand[1], by_hand[0]), abs=1e-10)
    assert value.value == pytest.approx(by_hand[1] - by_hand[0], abs=1e-10)
    influence = np.zeros(N)
    for one, sign in ((1, 1), (0, -1)):
        cases = means[one, 0] + means[one, 1]
        rate = by_hand[one]
        own = (1 - rate) * influences[one, 0] - rate * influences[one, 1]
        influence += sign * own / cases
    n_known = known.sum()
    variance = (influence**2).sum() / N**2 * n_known / (n_known - 1)
    assert value.std_error == pytest.approx(math.sqrt(variance), rel=1e-9)


def test_a_calibration_sample_corrects_by_the_mean_error_of_each_cell() -> None:
    table = people()
    other = people(900, seed=8)
    wrong = probabilities(table).to_numpy() ** 0.5
    wrong /= wrong.sum(axis=1, keepdims=True)
    told = probabilities(other).to_numpy() ** 0.5
    told /= told.sum(axis=1, keepdims=True)
    result = fs.demographic_parity_difference(
        table["able"],
        table["hired"],
        sensitive_probabilities=pd.DataFrame(wrong, columns=["a", "b", "c"]),
        calibration_sample=(other["group"], pd.DataFrame(told, columns=["a", "b", "c"])),
        reference="a",
        rng=1,
    )
    cells, cells_of_sample = kernels.split_by_probabilities(wrong, told)
    truth = pd.get_dummies(other["group"]).to_numpy(dtype=float)
    corrected = wrong.copy()
    for cell in range(cells.max() + 1):
        inside = cells_of_sample == cell
        assert inside.sum() >= kernels.CELL_SAMPLE
        corrected[cells == cell] += (truth[inside] - told[inside]).mean(axis=0)
    hired = table["hired"].to_numpy()
    rates = (corrected * hired[:, None]).sum(axis=0) / corrected.sum(axis=0)
    assert result["b"].weighted == pytest.approx(rates[1] - rates[0], abs=1e-12)
    assert "calibration sample" in " ".join(result.notes())
    # and its error counts: with nine times as many rows the limits are narrower
    many = people(8_100, seed=8)
    told = probabilities(many).to_numpy() ** 0.5
    told /= told.sum(axis=1, keepdims=True)
    counts = result.counts[0]
    calibration = counts._calibration
    sharper = kernels.Calibration(9 * calibration.number, calibration.shift, calibration.covariance)
    before = kernels.compare_groups(counts._table, (1, 0), "difference", calibration)
    after = kernels.compare_groups(counts._table, (1, 0), "difference", sharper)
    assert after.low.std_error < before.low.std_error
    assert after.low.value == before.low.value


# ------------------------------------------------------------------ verdicts, words, files


def test_bounds_that_straddle_the_limit_are_undecided_and_the_head_says_inferred() -> None:
    table = people()
    result = fs.disparate_impact(
        table["hired"], sensitive_probabilities=probabilities(table), reference="a", rng=1
    )
    for comparison in result.comparisons:
        assert comparison.set_low < 0.8 or comparison.set_high > 1.25
        assert comparison.verdict == "undecided"
        assert comparison.pvalue_verdict_adjusted > 0.05
    assert result.notes()[0].startswith("Groups are inferred from probabilities")
    assert "groups inferred" in result.title
    assert "is possible" in result.sentences()[0]


def test_a_violation_beyond_all_doubt_is_one() -> None:
    rng = np.random.default_rng(2)
    p = np.where(rng.random(4_000) < 0.5, 0.97, 0.03)
    hired = (rng.random(4_000) < np.where(p > 0.5, 0.2, 0.6)).astype(int)
    result = fs.disparate_impact(
        hired, sensitive_probabilities={"f": p, "m": 1 - p}, reference="m", rng=1
    )
    assert result.verdict == "violated"
    assert result.comparisons[0].direction == "below"
    assert result.pvalue < 1e-6
    fair = (rng.random(4_000) < 0.5).astype(int)
    result = fs.demographic_parity_difference(
        fair, fair, sensitive_probabilities={"f": p, "m": 1 - p}, margin=0.2, rng=1
    )
    assert result.verdict == "satisfied"


def test_small_groups_are_no_evidence() -> None:
    rng = np.random.default_rng(2)
    p = np.where(np.arange(300) < 15, 0.9, 0.0)
    hired = rng.integers(0, 2, 300)
    with pytest.warns(InsufficientEvidenceWarning, match="worth"):
        result = fs.disparate_impact(
            hired, sensitive_probabilities={"f": p, "m": 1 - p}, reference="m", rng=1
        )
    assert result.verdict == "insufficient evidence"
    assert math.isnan(result.pvalue)
    assert math.isnan(result.confidence_interval.low)
    known = np.full(300, None, dtype=object)
    known[:40] = "m"
    with pytest.warns(InsufficientEvidenceWarning, match="true group"):
        result = fs.disparate_impact(
            hired,
            sensitive_probabilities={"f": p, "m": 1 - p},
            sensitive_features=known,
            reference="m",
            rng=1,
        )
    assert result.verdict == "insufficient evidence"


def test_a_result_survives_json_and_holds_no_rows() -> None:
    table = people()
    result = fs.equalized_odds_difference(
        table["able"],
        table["hired"],
        sensitive_probabilities=probabilities(table),
        sensitive_features=table["group"].where(table.index % 4 == 0),
        rng=1,
    )
    text = json.dumps(result.to_dict())
    again = InferredResult.from_dict(json.loads(text))
    pd.testing.assert_frame_equal(again.to_frame(), result.to_frame())
    assert again.summary() == result.summary()
    assert max(counts.number.size for counts in result.counts) < N / 10


def test_rows_with_missing_values_are_left_out_when_asked() -> None:
    table = people()
    gaps = table.astype({"hired": float})
    gaps.loc[3, "hired"] = np.nan
    gaps.loc[7, "a"] = np.nan
    options = {"sensitive_probabilities": probabilities(gaps), "reference": "a", "rng": 1}
    with pytest.raises(InputError, match="missing values"):
        fs.disparate_impact(gaps["hired"], **options)
    with pytest.warns(MissingValuesWarning):
        result = fs.disparate_impact(gaps["hired"], missing="drop", **options)
    kept = table.drop(index=[3, 7])
    full = fs.disparate_impact(
        kept["hired"], sensitive_probabilities=probabilities(kept), reference="a", rng=1
    )
    assert result.estimate == pytest.approx(full.estimate)


def test_an_array_with_names_is_the_frame() -> None:
    table = people()
    shares = probabilities(table)
    named = fs.disparate_impact(
        table["hired"],
        sensitive_probabilities=shares.to_numpy(),
        groups=["a", "b", "c"],
        reference="a",
        rng=1,
    )
    frame = fs.disparate_impact(
        table["hired"], sensitive_probabilities=shares, reference="a", rng=1
    )
    pd.testing.assert_frame_equal(named.to_frame(), frame.to_frame())
    metric = fs.group_metric(
        None,
        table["hired"],
        metric="disparate_impact",
        sensitive_probabilities=shares,
        reference="a",
        rng=1,
    )
    pd.testing.assert_frame_equal(metric.to_frame(), frame.to_frame())


def test_a_picture_shows_what_is_possible() -> None:
    pytest.importorskip("matplotlib")
    table = people()
    result = fs.disparate_impact(
        table["hired"], sensitive_probabilities=probabilities(table), reference="a", rng=1
    )
    axes = result.plot()
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels == ["c against a", "b against a"]


HIRED = np.tile([0, 1, 1], 40)
HALF = np.full(120, 0.5)
BOTH = {"f": HALF, "m": HALF}


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"sensitive_probabilities": HALF}, "sensitive_probabilities"),
        ({"sensitive_probabilities": {"f": HALF}}, "sensitive_probabilities"),
        ({"sensitive_probabilities": {"f": HALF, "m": HALF / 2}}, "sensitive_probabilities"),
        ({"sensitive_probabilities": {"f": HALF * 3, "m": -HALF}}, "sensitive_probabilities"),
        ({"sensitive_probabilities": {"f": HALF[:9], "m": HALF[:9]}}, "y_pred"),
        (
            {"sensitive_probabilities": BOTH, "sensitive_features": ["x"] * 120},
            "sensitive_features",
        ),
        ({"sensitive_probabilities": BOTH, "sample_weight": HALF * 0}, "sample_weight"),
        ({"sensitive_probabilities": BOTH, "sample_weight": -HALF}, "sample_weight"),
        ({"sensitive_probabilities": BOTH, "sample_weight": HALF[:9]}, "sample_weight"),
        ({"sensitive_probabilities": BOTH, "cluster": HIRED[:9]}, "cluster"),
        ({"sensitive_probabilities": BOTH, "strata": HIRED}, "strata"),
        ({"sensitive_probabilities": BOTH, "method": "log"}, "method"),
        ({"sensitive_probabilities": BOTH, "missing": "group"}, "missing"),
        ({"sensitive_probabilities": BOTH, "alternative": "less"}, "alternative"),
        ({"sensitive_probabilities": BOTH, "reference": "x"}, "reference"),
        ({"sensitive_probabilities": BOTH, "reference": "highest"}, "reference"),
        ({"sensitive_probabilities": BOTH, "comparisons": "rest"}, "comparisons"),
        ({"sensitive_probabilities": BOTH, "calibration_sample": HALF}, "calibration_sample"),
        (
            {"sensitive_probabilities": BOTH, "calibration_sample": (["f"] * 9, {"f": HALF[:9]})},
            "calibration_sample",
        ),
        ({"sensitive_features": HIRED, "calibration_sample": (HIRED, BOTH)}, "calibration_sample"),
    ],
)
def test_what_cannot_be_used_is_named(options: dict[str, Any], argument: str) -> None:
    with pytest.raises(InputError) as raised:
        fs.disparate_impact(HIRED, **options)
    assert argument in str(raised.value)


def test_means_of_rates_and_gaps_are_refused_with_a_cure() -> None:
    with pytest.raises(InputError, match="equalized_odds_difference"):
        fs.average_odds_difference(HIRED, HIRED, sensitive_probabilities=BOTH)
    with pytest.raises(InputError, match="agg"):
        fs.equalized_odds_difference(HIRED, HIRED, sensitive_probabilities=BOTH, agg="max")
    with pytest.raises(InputError, match="f1"):
        fs.group_metric(HIRED, HIRED, metric="f1", sensitive_probabilities=BOTH)


# ------------------------------------------------------------------ weights and clusters

WEIGHTS = np.random.default_rng(41).exponential(size=N)
CLUSTERS = np.random.default_rng(42).integers(0, 160, N)


def compared(table: pd.DataFrame, **options: Any) -> InferredResult:
    """Selection rates of three groups, each against a."""
    return fs.demographic_parity_difference(
        table["able"],
        table["hired"],
        sensitive_probabilities=probabilities(table),
        reference="a",
        rng=1,
        **options,
    )


def test_one_weight_for_all_changes_no_digit() -> None:
    table = people()
    known = table["group"].where(table.index % 4 == 0)
    for options in ({}, {"sensitive_features": known}):
        plain = compared(table, **options)
        weighted = compared(table, sample_weight=np.full(N, 0.3), **options)
        pd.testing.assert_frame_equal(weighted.to_frame(), plain.to_frame(), check_exact=True)
        assert weighted.notes() == plain.notes()


def squares_by_cluster(weighted_influence: np.ndarray, clusters: np.ndarray) -> float:
    """Σ over clusters of the squared sum."""
    return float((np.bincount(clusters, weighted_influence) ** 2).sum())


@pytest.mark.parametrize("clustered", [False, True])
def test_weights_and_clusters_count_as_in_a_linearised_ratio(clustered: bool) -> None:
    table = people()
    units = CLUSTERS if clustered else np.arange(N)
    options = {"cluster": CLUSTERS} if clustered else {}
    result = compared(table, sample_weight=WEIGHTS, **options)
    worth = WEIGHTS.sum() ** 2 / squares_by_cluster(WEIGHTS, units)
    of_groups = []
    for group in ("b", "a"):
        chance = WEIGHTS * table[group].to_numpy()
        of_groups.append(chance.sum() ** 2 / squares_by_cluster(chance, units))
    rates = []
    influences = []
    for name in ("b", "a"):
        chance = (WEIGHTS * table[name]).to_numpy()
        rate = (chance * table["hired"]).sum() / chance.sum()
        rates.append(rate)
        influences.append(chance * (table["hired"].to_numpy() - rate) / chance.sum())
    squares = squares_by_cluster(influences[0] - influences[1], units)
    error = math.sqrt(squares * worth / (worth - 1))
    comparison = result["b"]
    assert comparison.weighted == pytest.approx(rates[0] - rates[1], abs=1e-12)
    assert comparison.std_error == pytest.approx(error, rel=1e-9)
    low, high = comparison.weighted_interval
    critical = student.ppf(0.975, min(of_groups) - 1)
    assert (high - low) / 2 == pytest.approx(critical * error, rel=1e-8)
    # rows are counted once, whatever they weigh
    assert comparison.n == round(table["b"].sum())
    assert any("limits are wider for it (Student's t)" in note for note in result.notes())


def test_clusters_of_one_row_are_independent_rows_with_students_t() -> None:
    table = people().head(700)  # in four cells, as many as clusters would have
    plain = compared(table)
    alone = compared(table, cluster=[f"person {row}" for row in range(700)])
    for group in ("b", "c"):
        own = alone[group]
        as_rows = plain[group]
        for name in ("estimate", "std_error", "set_low", "set_high", "regression", "n"):
            assert getattr(own, name) == pytest.approx(getattr(as_rows, name), abs=1e-12)
        units = alone.counts[0].effective_cases
        position = alone.counts[0].groups.index(group)
        freedom = min(units[position], units[0]) - 1
        ratio = student.ppf(0.975, freedom) / student.ppf(0.975, np.inf)
        of_set = as_rows.set_interval
        assert own.set_interval.low - own.set_low == pytest.approx(
            ratio * (of_set.low - as_rows.set_low)
        )


def test_the_scatter_of_clusters_gives_the_squares_by_rows() -> None:
    table = people()
    shares = probabilities(table).to_numpy()
    rng = np.random.default_rng(9)
    kinds = rng.integers(0, 3, N)
    cells = rng.integers(0, 4, N)
    halves = kernels.halve_clusters(CLUSTERS, rng)
    sums = kernels.sum_rows(shares, kinds, halves, cells, 4, WEIGHTS, CLUSTERS)
    term = kernels.Term(rng.normal(size=(4, 2, 3)), rng.normal(size=(4, 2, 3, 3)))
    constant = term.constant[cells, halves, kinds]
    by_row = WEIGHTS * (constant + (term.slope[cells, halves, kinds] * shares).sum(axis=1))
    assert term.total(sums) == pytest.approx(by_row.sum())
    assert term.sum_of_squares(sums) == pytest.approx(squares_by_cluster(by_row, CLUSTERS))
    independent = kernels.sum_rows(shares, kinds, halves, cells, 4, WEIGHTS)
    assert term.sum_of_squares(independent) == pytest.approx((by_row**2).sum())


def test_a_cluster_lies_in_one_half_whatever_it_is_called() -> None:
    halves = kernels.halve_clusters(CLUSTERS, np.random.default_rng(3))
    by_cluster = pd.Series(halves).groupby(CLUSTERS).nunique()
    assert by_cluster.max() == 1
    assert 70 <= pd.Series(halves).groupby(CLUSTERS).first().sum() <= 90
    renamed = kernels.halve_clusters(1_000 - CLUSTERS, np.random.default_rng(3))
    assert (renamed == halves).all()


def test_few_clusters_have_no_limits() -> None:
    table = people()
    with pytest.warns(InsufficientEvidenceWarning, match="18.9 clusters"):
        result = compared(table, cluster=table.index % 19)
    assert result["b"].verdict == "insufficient evidence"
    assert math.isnan(result["b"].confidence_interval.low)
    assert "clusters; limits need 20" in result["b"].note


@pytest.mark.parametrize(
    "kind",
    [
        "probabilities",
        "sample",
        "audit",
        "weights",
        "clusters",
        "sample of clusters",
        "audit of clusters",
    ],
)
@pytest.mark.r
def test_r_computes_the_same(kind: str) -> None:
    table = people()
    options: dict[str, Any] = {"sensitive_probabilities": probabilities(table), "rng": 1}
    if kind == "weights" or "clusters" in kind:
        options["sample_weight"] = WEIGHTS
    if "clusters" in kind:
        options["cluster"] = CLUSTERS
    if "audit" in kind:
        options["sensitive_features"] = table["group"].where(table.index % 4 == 0)
    if "sample" in kind:
        other = people(900, seed=8)
        options["calibration_sample"] = (other["group"], probabilities(other))
    result = fs.equalized_odds_difference(
        table["able"], table["hired"], comparisons="all", **options
    )
    table_of_checks = fs.crosscheck(result).to_frame()
    assert len(table_of_checks) > 100
    assert set(table_of_checks["verdict"]) == {"agrees"}
