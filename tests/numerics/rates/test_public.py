"""`fairstats.rates`: intervals and p-values that broadcast.

Witnesses: the χ² quantile at both ends of every table with n ≤ 12; statsmodels; SciPy; closed
forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import beta, binomtest, chi2, contingency, norm
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

import fairstats as fs
from fairstats.ground.errors import InputError
from fairstats.numerics.rates.score import (
    difference_score_statistic,
    odds_ratio_score_statistic,
    odds_ratio_statistic,
    ratio_score_statistic,
)
from fairstats.numerics.rates.score_limits import (
    difference_limit,
    odds_ratio_limit,
    ratio_limit,
)
from tests.numerics.rates.score_arrays import limit_by_search

STATISTICS: dict[str, Any] = {
    "ratio": ratio_score_statistic,
    "difference": difference_score_statistic,
    "odds_ratio": odds_ratio_score_statistic,
}
#: Every table with at most 12 cases a group, shape (4, tables).
ALL = np.array(
    [
        (k, n, k0, n0)
        for n in range(1, 13)
        for n0 in range(1, 13)
        for k in range(n + 1)
        for k0 in range(n0 + 1)
    ]
).T


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("contrast", ["ratio", "difference", "odds_ratio"])
def test_score_limits_are_where_the_test_begins_to_reject(contrast: Any, level: float) -> None:
    """z² is the χ² quantile to 1e-8 at each end inside of the range.

    At the range's end it never reaches it.
    """
    low, high = fs.rates.contrast_interval(*ALL, contrast=contrast, confidence_level=level)
    least, most = (-1.0, 1.0) if contrast == "difference" else (0.0, np.inf)
    quantile = chi2.ppf(level, 1)
    for limit, sign in ((low, 1), (high, -1)):
        inner = (limit > least) & (limit < most)
        assert inner.mean() > 0.7
        z = STATISTICS[contrast](*ALL[:, inner], limit[inner])
        np.testing.assert_allclose(z**2, quantile, atol=1e-8)
        assert (sign * z > 0).all()
    k, _, k0, n0 = ALL
    if contrast == "ratio":
        np.testing.assert_array_equal(low == 0, k == 0)
        np.testing.assert_array_equal(high == np.inf, k0 == 0)
    if contrast == "difference":
        np.testing.assert_array_equal(low == -1, (k == 0) & (k0 == n0))
    if contrast == "odds_ratio":
        np.testing.assert_array_equal(low == 0, (k == 0) | (k0 == n0))


def test_score_limits_are_those_of_single_tables() -> None:
    """Witness of both: the statistic, which shares nothing with their equation, inverted by
    SciPy's `brentq`.
    """
    z = float(norm.ppf(0.975))
    tables = ALL[:, ::301]
    limits: dict[str, Any] = {
        "ratio": ratio_limit,
        "difference": difference_limit,
        "odds_ratio": odds_ratio_limit,
    }
    for contrast, limit in limits.items():
        low, high = fs.rates.contrast_interval(*tables, contrast=contrast)  # type: ignore[arg-type]
        for place, table in enumerate(tables.T.tolist()):
            counts = tuple(map(float, table))
            for found, side in ((low, -1), (high, 1)):
                of_one = limit(counts, z, True, continuity=False, side=side)
                assert found[place] == pytest.approx(of_one, rel=1e-12, abs=1e-12)
                wanted = limit_by_search(counts, contrast, z, side)
                assert of_one == pytest.approx(wanted, rel=1e-9, abs=1e-9)


def test_ratios_are_those_of_statsmodels() -> None:
    """statsmodels has the score interval of the ratio for 0 < k < n."""
    for table in ((3, 12, 8, 15), (30, 100, 900, 2_000), (1, 9, 2, 7)):
        ends = confint_proportions_2indep(*table, compare="ratio", method="score", correction=True)
        assert fs.rates.contrast_interval(*table) == pytest.approx(ends, rel=1e-6)


@pytest.mark.parametrize(
    ("method", "name"),
    [("wilson", "wilson"), ("clopper-pearson", "beta"), ("jeffreys", "jeffreys")],
)
def test_one_rate(method: Any, name: str) -> None:
    """Witness: statsmodels; for no success and no failure Jeffreys' interval reaches the end."""
    for k, n in ((0, 7), (3, 7), (7, 7), (1, 300), (150, 300)):
        low, high = fs.rates.interval(k, n, method=method, confidence_level=0.9)
        ends = list(proportion_confint(k, n, alpha=0.1, method=name))
        if method == "jeffreys" and k == 0:
            ends = [0.0, beta.ppf(0.95, 0.5, n + 0.5)]
        if method == "jeffreys" and k == n:
            ends = [beta.ppf(0.05, n + 0.5, 0.5), 1.0]
        assert (low, high) == pytest.approx(ends, abs=1e-10)
    assert fs.rates.interval(3, 7, method="clopper-pearson") == pytest.approx(
        tuple(binomtest(3, 7).proportion_ci())
    )


def test_p_values_by_the_score() -> None:
    """Equal rates: Pearson's χ² times (N − 1)/N, whichever contrast asks."""
    table = [[8, 15 - 8], [3, 12 - 3]]
    square = contingency.chi2_contingency(table, correction=False).statistic * 26 / 27
    for contrast in ("ratio", "difference", "odds_ratio"):
        p = fs.rates.pvalue(8, 15, 3, 12, contrast=contrast)  # type: ignore[arg-type]
        assert p == pytest.approx(chi2.sf(square, 1), rel=1e-9)
        less, greater = (
            fs.rates.pvalue(8, 15, 3, 12, contrast=contrast, alternative=side)  # type: ignore[arg-type]
            for side in ("less", "greater")
        )
        assert less + greater == pytest.approx(1.0)
        assert 2 * greater == pytest.approx(p)


def test_odds_ratios_of_numbers_and_arrays_are_one() -> None:
    for table in ((3, 12, 8, 15), (0, 4, 2, 9), (4, 4, 0, 3), (0, 3, 0, 5), (3, 3, 5, 5)):
        for null in (0.3, 1.0, 4.0):
            one = odds_ratio_statistic(tuple(map(float, table)), null, True)  # type: ignore[arg-type]
            many = float(odds_ratio_score_statistic(*table, null))
            assert one == pytest.approx(many, rel=1e-12, abs=1e-12)


def test_shapes_and_numbers() -> None:
    low, high = fs.rates.contrast_interval([[3], [4]], 12, [5, 6, 7], 20)
    assert low.shape == high.shape == (2, 3)
    assert isinstance(fs.rates.contrast_interval(3, 12, 5, 20).low, float)
    assert isinstance(fs.rates.pvalue(3, 12, 5, 20), float)
    p = fs.rates.pvalue([3, 4], 12, 5, 20, null=[0.8, 1.0], method="exact")
    assert p.shape == (2,)
    exact = fs.rates.contrast_interval([3, 3], 12, 5, 20, method="exact")
    assert (
        exact.low[0] == exact.low[1] == fs.rates.contrast_interval(3, 12, 5, 20, method="exact").low
    )
    empty = fs.rates.contrast_interval([], [], [], [])
    assert empty.low.shape == (0,)


def test_wald_is_refused_where_a_cell_is_empty() -> None:
    low, high = fs.rates.contrast_interval([0, 30], 100, 40, 100, method="wald")
    assert np.isnan([low[0], high[0]]).all()
    error = np.sqrt(0.7 / 30 + 0.6 / 40)
    assert (low[1], high[1]) == pytest.approx(
        (0.75 * np.exp(-norm.ppf(0.975) * error), 0.75 * np.exp(norm.ppf(0.975) * error))
    )


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: fs.rates.interval(5, 4), "k"),
        (lambda: fs.rates.interval(-1, 4), "k"),
        (lambda: fs.rates.interval(0, 0), "n"),
        (lambda: fs.rates.interval(0, np.nan), "n"),
        (lambda: fs.rates.interval(0, 4, method="wald"), "method"),  # type: ignore[arg-type]
        (lambda: fs.rates.interval("three", 4), "k"),
        (lambda: fs.rates.interval([1, 2], [3, 4, 5]), "k"),
        (lambda: fs.rates.contrast_interval(1, 4, 2, 4, contrast="gap"), "contrast"),  # type: ignore[arg-type]
        (lambda: fs.rates.contrast_interval(1.5, 4, 2, 4, method="exact"), "k"),
        (lambda: fs.rates.contrast_interval(1, 4, 2, 4, confidence_level=95), "confidence_level"),
        (lambda: fs.rates.pvalue(1, 4, 2, 4, null=0.0), "null"),
        (lambda: fs.rates.pvalue(1, 4, 2, 4, contrast="difference", null=1.5), "null"),
        (lambda: fs.rates.pvalue(1, 4, 5, 4), "k0"),
        (lambda: fs.rates.pvalue(1, 4, 2, 4, alternative="smaller"), "alternative"),  # type: ignore[arg-type]
    ],
)
def test_bad_input_is_named(call: Any, argument: str) -> None:
    with pytest.raises(InputError) as caught:
        call()
    assert caught.value.argument == argument
