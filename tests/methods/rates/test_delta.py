"""The delta method: Theorem 3.1 in closed form, through statsmodels, and the paper's two wrong
entries.

Witnesses: the closed form σ²/n = T²·[(1−r₀)/k₀ + (1−r₁)/k₁]; statsmodels' `NonlinearDeltaCov` with
φ(x) = x₁x₄/(x₂x₃) and Σ₄; the covariance of simulated indicators.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats._delta_method import NonlinearDeltaCov

import fairstats as fs
from fairstats.methods.rates import estimates
from fairstats.methods.rates.estimates import delta_covariance


def ratio_gradient(x: np.ndarray) -> np.ndarray:
    """Gradient of φ(x) = x₁x₄/(x₂x₃), shape (1, 4).

    Success shares of both groups, then case shares.
    """
    x1, x2, x3, x4 = x
    return np.array(
        [[x4 / (x2 * x3), -x1 * x4 / (x2**2 * x3), -x1 * x4 / (x2 * x3**2), x1 / (x2 * x3)]]
    )


def multinomial_sigma4(p0: float, p1: float, r0: float, r1: float) -> np.ndarray:
    """Covariance Σ₄ of (success₀, success₁, case₀, case₁) indicators of one row.

    Besse et al. (2018) print two wrong entries in Theorems 3.2 and 3.3: (4,1) as +p₀r₁ and (2,1) as
    −p₀r₁. Right are −p₀r₁ and −p₀p₁: the events of different groups exclude each other.

    Parameters
    ----------
    p0, p1 : float
        P(success, S = s).
    r0, r1 : float
        P(case, S = s), at least p_s.
    """
    return np.array(
        [
            [p0 * (1 - p0), -p0 * p1, p0 * (1 - r0), -p0 * r1],
            [-p0 * p1, p1 * (1 - p1), -p1 * r0, p1 * (1 - r1)],
            [p0 * (1 - r0), -p1 * r0, r0 * (1 - r0), -r0 * r1],
            [-p0 * r1, p1 * (1 - r1), -r0 * r1, r1 * (1 - r1)],
        ]
    )


Z = 1.959963984540054
TABLE = {"a": (31, 12, 17, 40), "b": (58, 9, 21, 33)}
#: metric → (cells of the successes, cells of the cases, the result with a method)
RATIOS: dict[str, tuple[tuple[int, ...], tuple[int, ...], Any]] = {
    "DI": ((0, 1), (0, 1, 2, 3), lambda **k: fs.disparate_impact(**k)),
    "CA1": ((0,), (0, 2), lambda **k: fs.conditional_accuracy(label=1, **k)),
    "CA0": ((3,), (1, 3), lambda **k: fs.conditional_accuracy(label=0, **k)),
    "CU1": ((0,), (0, 1), lambda **k: fs.conditional_use_accuracy(prediction=1, **k)),
    "CU0": ((3,), (2, 3), lambda **k: fs.conditional_use_accuracy(prediction=0, **k)),
}


def shares(
    table: dict[str, tuple[int, ...]], metric: str
) -> tuple[float, float, float, float, int]:
    """p₀, p₁, r₀, r₁ of Theorems 3.1 to 3.3 (group a is 0, reference b is 1) and n."""
    successes, cases, _ = RATIOS[metric]
    n = sum(map(sum, table.values()))
    p0, p1 = (sum(table[g][c] for c in successes) / n for g in "ab")
    r0, r1 = (sum(table[g][c] for c in cases) / n for g in "ab")
    return p0, p1, r0, r1, n


TABLES = st.fixed_dictionaries({g: st.tuples(*[st.integers(1, 10**6)] * 4) for g in "ab"})


@pytest.mark.filterwarnings("ignore::fairstats.ground.errors.DataWarning")
@pytest.mark.parametrize("metric", RATIOS)
@given(table=TABLES)
def test_theorem_31_is_the_closed_form(metric: str, table: dict[str, tuple[int, ...]]) -> None:
    p0, p1, r0, r1, n = shares(table, metric)
    result = RATIOS[metric][2](counts=table, reference="b", method="delta")
    ratio = (p0 / r0) / (p1 / r1)
    error = ratio * np.sqrt((1 - p0 / r0) / (n * p0) + (1 - p1 / r1) / (n * p1))
    low, high = result.confidence_interval
    assert result.estimate == pytest.approx(ratio, rel=1e-12)
    assert result.std_error == pytest.approx(error, rel=1e-12)
    # Relative to the width, since the ends may cancel to nearly 0.
    assert low == pytest.approx(ratio - Z * error, abs=1e-12 * (ratio + error))
    assert high == pytest.approx(ratio + Z * error, rel=1e-12)


@pytest.mark.filterwarnings("ignore::fairstats.ground.errors.DataWarning")
@pytest.mark.parametrize("metric", RATIOS)
@given(table=TABLES)
def test_theorem_31_through_statsmodels(metric: str, table: dict[str, tuple[int, ...]]) -> None:
    """φ(x) = x₁x₄/(x₂x₃) at x = (p₀, p₁, r₀, r₁), with Σ₄/n."""
    p0, p1, r0, r1, n = shares(table, metric)
    point = np.array([p0, p1, r0, r1])
    witness = NonlinearDeltaCov(
        lambda x: np.array([x[0] * x[3] / (x[1] * x[2])]),
        point,
        multinomial_sigma4(p0, p1, r0, r1) / n,
        deriv=ratio_gradient,
    )
    error = float(np.sqrt(np.squeeze(witness.cov())))
    result = RATIOS[metric][2](counts=table, reference="b", method="delta")
    low, high = result.confidence_interval
    assert result.std_error == pytest.approx(error, rel=1e-9)  # Σ₄ cancels about three digits
    assert (high - low) / 2 == pytest.approx(Z * error, rel=1e-9)


@pytest.mark.parametrize("metric", RATIOS)
def test_theorem_31_through_statsmodels_to_1e12(metric: str) -> None:
    """The same to 1e-12 on a table where Σ₄ cancels no digits."""
    p0, p1, r0, r1, n = shares(TABLE, metric)
    witness = NonlinearDeltaCov(
        lambda x: np.array([x[0] * x[3] / (x[1] * x[2])]),
        np.array([p0, p1, r0, r1]),
        multinomial_sigma4(p0, p1, r0, r1) / n,
        deriv=ratio_gradient,
    )
    result = RATIOS[metric][2](counts=TABLE, reference="b", method="delta")
    reach = Z * np.sqrt(np.squeeze(witness.cov()))
    low, high = result.confidence_interval
    assert low == pytest.approx(result.estimate - reach, rel=1e-12)
    assert high == pytest.approx(result.estimate + reach, rel=1e-12)


def test_statsmodels_has_the_delta_method_where_it_is_taken_from() -> None:
    """`NonlinearDeltaCov` has no public name in 0.15: this is what an upgrade would break."""
    import inspect

    arguments = list(inspect.signature(NonlinearDeltaCov.__init__).parameters)
    assert arguments[:5] == ["self", "func", "params", "cov_params", "deriv"]
    assert NonlinearDeltaCov.__module__ == "statsmodels.stats._delta_method"
    doubled = NonlinearDeltaCov(
        lambda x: 2 * x, np.array([3.0]), np.array([[0.25]]), deriv=lambda x: np.array([[2.0]])
    )
    assert doubled.cov() == pytest.approx(1.0)


def test_the_interval_of_a_ratio_is_statsmodels(monkeypatch: pytest.MonkeyPatch) -> None:
    """With its covariance four times as large the interval is twice as wide; others stay."""
    options = {"counts": TABLE, "reference": "b"}
    by_delta = fs.disparate_impact(**options, method="delta").confidence_interval
    by_log = fs.disparate_impact(**options, method="log").confidence_interval
    plain = NonlinearDeltaCov.cov
    monkeypatch.setattr(NonlinearDeltaCov, "cov", lambda self: 4 * plain(self))
    wider = fs.disparate_impact(**options, method="delta").confidence_interval
    assert wider.width == pytest.approx(2 * by_delta.width, rel=1e-12)
    assert fs.disparate_impact(**options, method="log").confidence_interval == by_log


@pytest.mark.filterwarnings("ignore::fairstats.ground.errors.DataWarning")
@given(table=TABLES)
def test_statsmodels_and_the_closed_form_are_twins(table: dict[str, tuple[int, ...]]) -> None:
    """Also where the two rates depend on each other: clusters with rows of both groups."""
    from fairstats.methods.rates.estimates import RateEstimates

    errors = []
    plain = RateEstimates.ratio_error_by_delta

    def remember(self: RateEstimates, i: int, j: int) -> float:
        errors.append((plain(self, i, j), self.contrast(i, j, contrast="ratio")[1]))
        return errors[-1][0]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RateEstimates, "ratio_error_by_delta", remember)
        fs.disparate_impact(counts=table, reference="b", method="delta")
        generator = np.random.default_rng(1)
        fs.disparate_impact(
            generator.random(400) < 0.4,
            sensitive_features=np.tile(["a", "b"], 200),
            cluster=np.repeat(np.arange(40), 10),
            reference="b",
            method="delta",
        )
    assert errors
    for by_statsmodels, closed in errors:
        assert by_statsmodels == pytest.approx(closed, rel=1e-9, abs=1e-12)


def test_the_gradient_is_that_of_phi() -> None:
    """Witness: central differences of φ; their error is h² ≈ 1e-10 relative."""
    point = np.array([0.2, 0.3, 0.45, 0.4])

    def phi(x: np.ndarray) -> float:
        return float(x[0] * x[3] / (x[1] * x[2]))

    numeric = [(phi(point + 1e-5 * e) - phi(point - 1e-5 * e)) / 2e-5 for e in np.eye(4)]
    np.testing.assert_allclose(ratio_gradient(point)[0], numeric, rtol=1e-8)


def test_numerical_gradients_are_as_good_as_analytic_ones() -> None:
    """The gradient that `delta_covariance` takes, for a function of counts."""
    totals = np.array([31.0, 12.0, 17.0, 40.0])
    covariance = np.diag(totals) - np.outer(totals, totals) / totals.sum()

    def f1_score(x: np.ndarray) -> np.ndarray:
        return np.array([2 * x[0] / (2 * x[0] + x[1] + x[2])])

    def gradient(x: np.ndarray) -> np.ndarray:
        whole = 2 * x[0] + x[1] + x[2]
        return np.array(
            [[2 * (x[1] + x[2]) / whole**2, -2 * x[0] / whole**2, -2 * x[0] / whole**2, 0.0]]
        )

    numeric = delta_covariance(f1_score, totals, covariance)
    np.testing.assert_allclose(
        numeric, gradient(totals) @ covariance @ gradient(totals).T, rtol=1e-8
    )


# ---------------------------------------------------------------- the misprinted covariance

#: Cell probabilities of (group, case, success): group 0 with success, case only, neither; then
#: group 1.
CELLS = np.array([0.12, 0.18, 0.15, 0.22, 0.08, 0.25])


def printed_sigma4(p0: float, p1: float, r0: float, r1: float) -> np.ndarray:
    """Σ₄ as Theorems 3.2 and 3.3 print it."""
    printed = multinomial_sigma4(p0, p1, r0, r1)
    printed[3, 0] = printed[0, 3] = p0 * r1
    printed[1, 0] = printed[0, 1] = -p0 * r1
    return printed


def indicators(
    n: int, rng: np.random.Generator
) -> tuple[np.ndarray, tuple[float, float, float, float]]:
    """Counts of the six cells turned into sums of (success₀, success₁, case₀, case₁), and p₀, p₁,
    r₀, r₁.
    """
    counts = rng.multinomial(n, CELLS, size=200_000) / n
    sums = np.column_stack(
        [counts[:, 0], counts[:, 3], counts[:, 0] + counts[:, 1], counts[:, 3] + counts[:, 4]]
    )
    return sums, (0.12, 0.22, 0.30, 0.30)


def test_sigma4_is_the_empirical_covariance_and_the_printed_one_is_not(
    rng: np.random.Generator,
) -> None:
    """200,000 samples of n = 1,000: an entry's Monte Carlo error is below √(2/200,000)·σᵢσⱼ.

    Five of them.
    """
    sums, point = indicators(1_000, rng)
    empirical = np.cov(sums.T) * 1_000
    scale = np.sqrt(np.diag(empirical))
    tolerance = 5 * np.sqrt(2 / 200_000) * np.outer(scale, scale)
    assert (np.abs(empirical - multinomial_sigma4(*point)) < tolerance).all()
    wrong = np.abs(empirical - printed_sigma4(*point)) > tolerance
    assert [tuple(map(int, place)) for place in np.argwhere(np.tril(wrong))] == [(1, 0), (3, 0)]


def test_the_printed_variance_is_too_large_by_four_t_squared(rng: np.random.Generator) -> None:
    """σ² of simulated ratios is that of the right Σ₄; entry (4,1) as printed adds exactly 4T²."""
    sums, point = indicators(10_000, rng)
    p0, p1, r0, r1 = point
    ratio = p0 * r1 / (p1 * r0)
    gradient = ratio_gradient(np.array(point))

    def variance(sigma: np.ndarray) -> float:
        return float((gradient @ sigma @ gradient.T)[0, 0])

    right = multinomial_sigma4(*point)
    one_wrong = right.copy()
    one_wrong[3, 0] = one_wrong[0, 3] = p0 * r1
    assert variance(one_wrong) - variance(right) == pytest.approx(4 * ratio**2, rel=1e-12)
    simulated = np.var(sums[:, 0] * sums[:, 3] / (sums[:, 1] * sums[:, 2])) * 10_000
    # Monte Carlo error √(2/200,000) = 0.3%, and a bias of order 1/n: 2% covers both.
    assert simulated == pytest.approx(variance(right), rel=0.02)
    assert variance(printed_sigma4(*point)) > 1.5 * simulated


def test_the_misprint_on_adult() -> None:
    """Adult with 15% of the labels flipped at random: σ ≈ 2.35 right, 3.09 with (4,1) wrong, 3.15
    as printed."""
    frame = fs.datasets.load_adult(subset="besse").frame
    rich = frame["income"].eq(">50K")
    male = frame["sex"].eq("Male")
    r0 = (rich & ~male).mean()
    r1 = (rich & male).mean()
    p0 = 0.85 * r0
    p1 = 0.85 * r1
    gradient = ratio_gradient(np.array([p0, p1, r0, r1]))

    def sigma(matrix: np.ndarray) -> float:
        return float(np.sqrt((gradient @ matrix @ gradient.T)[0, 0]))

    right = multinomial_sigma4(p0, p1, r0, r1)
    one_wrong = right.copy()
    one_wrong[3, 0] = one_wrong[0, 3] = p0 * r1
    found = [sigma(right), sigma(one_wrong), sigma(printed_sigma4(p0, p1, r0, r1))]
    # One unit in the second digit: the record comes from one random flip.
    np.testing.assert_allclose(found, [2.35, 3.09, 3.15], atol=0.01)


def test_our_interval_uses_the_right_covariance(rng: np.random.Generator) -> None:
    """The reported standard error is the standard deviation of repeated estimates, label and all.

    20,000 replicates: 4 Monte Carlo standard errors are 4·√(1/40,000) = 2%.
    """
    cells = np.array([0.15, 0.05, 0.10, 0.20, 0.20, 0.05, 0.05, 0.20])
    draws = rng.multinomial(2_000, cells, size=20_000).astype(float)
    k0 = draws[:, 0]
    d0 = draws[:, 0] + draws[:, 2]
    k1 = draws[:, 4]
    d1 = draws[:, 4] + draws[:, 6]
    spread = np.std(k0 / d0 / (k1 / d1))
    counts = {
        "a": tuple(int(2_000 * c) for c in cells[:4]),
        "b": tuple(int(2_000 * c) for c in cells[4:]),
    }
    result = fs.conditional_accuracy(counts=counts, reference="b", method="delta")
    assert result.std_error == pytest.approx(spread, rel=0.02)


def test_rows_are_added_where_limits_are_about_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ratios of means have limits about half a row and a whole one more in every cell; differences
    of means, by the limits of their parts, have not.
    """
    added = []
    with_added_rows = estimates.with_added_rows

    def counted(counts: Any, added_rows: float) -> Any:
        added.append(added_rows)
        return with_added_rows(counts, added_rows)

    monkeypatch.setattr(estimates, "with_added_rows", counted)
    counts = {"a": (30, 12, 9, 40), "b": (25, 10, 14, 33), "c": (41, 7, 12, 28)}

    fs.group_metric(metric="balanced_accuracy", counts=counts)
    assert added == []

    fs.group_metric(metric="balanced_accuracy", contrast="ratio", counts=counts)
    # once for all pairs
    assert added == [0.5, 1.0]
