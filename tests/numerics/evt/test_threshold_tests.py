"""Tests of a shape that does not change over thresholds."""

from __future__ import annotations

import json

import numpy as np
import pytest

from fairstats.ground.errors import InputError, InsufficientEvidenceWarning
from fairstats.numerics.evt import fit_gpd, threshold_tests
from fairstats.numerics.evt.thresholds import change_statistics
from fairstats.results import ThresholdTests

from .conftest import REFERENCE, gpd_series

R = json.loads((REFERENCE / "evt_threshold_tests.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", R["cases"], ids=["heavy", "normal", "exponential"])
def test_score_tests_against_mev(case: dict) -> None:
    """Witness: `NC.diag` of mev, recorded.

    Its fits stop at 1e-11; near ξ = 0 it interpolates (1e-7).
    """
    found = threshold_tests(case["x"], case["u"], n_resamples=19, rng=1)
    np.testing.assert_allclose(found.statistics[:-1], case["statistic"], rtol=1e-6)
    np.testing.assert_allclose(found.pvalues[:-1], case["pvalue"], rtol=1e-6)
    np.testing.assert_allclose(found.shape, case["shape"], atol=1e-9)
    assert np.isnan(found.pvalues[-1])


def test_white_noise() -> None:
    """Witnesses: mev's `.norm_LRT`, recorded; increments by hand from fits one by one."""
    white = R["white"]
    np.testing.assert_allclose(
        change_statistics(np.array(white["noise"])), white["change"], rtol=1e-9
    )
    x = gpd_series(np.random.default_rng(2), 0.1, 1000)
    u = [0.2, 0.8, 1.5]
    found = threshold_tests(x, u, n_resamples=19, rng=1)
    fits = [fit_gpd(x, t, backend="scipy") for t in u]
    k = [f.n_exceedances for f in fits]
    shape = [f.shape for f in fits]
    by_hand = [
        (shape[i + 1] - shape[i]) / (1 + shape[0]) / (1 / k[i + 1] - 1 / k[i]) ** 0.5
        for i in (0, 1)
    ]
    np.testing.assert_allclose(found.white_noise[1:], by_hand, rtol=1e-7)
    np.testing.assert_allclose(found.change[2:], change_statistics(np.array(by_hand)), rtol=1e-6)


def two_shapes(rng: np.random.Generator, n: int) -> np.ndarray:
    """Slope .4 of the hazard's reciprocal up to the level that 150 of 500 exceed, −.2 above."""
    e = rng.standard_exponential(n)
    c = np.log(500 / 150)
    low = np.expm1(0.4 * np.minimum(e, c)) / 0.4
    scale = np.exp(0.4 * c)
    return low - scale * np.expm1(-0.2 * np.maximum(e - c, 0.0)) / 0.2


def test_a_change_of_shape_is_found_below_it_only() -> None:
    x = two_shapes(np.random.default_rng(4), 3000)
    u = np.quantile(x, [0.0, 0.3, 0.5, 0.7, 0.8, 0.9])
    found = threshold_tests(x, u, rng=1)
    assert found.pvalues[0] < 0.01
    assert found.change_pvalue <= 0.01
    assert (found.pvalues[3:5] > 0.05).all()
    assert "white noise: p = 0.005" in found.sentences()[1]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*no score test")
def test_size_at_one_shape() -> None:
    """Nominal 5%; 120 samples of 300, four thresholds.

    At most 5% + three Monte Carlo errors of 2%.
    """
    rng = np.random.default_rng(6)
    rejected = np.zeros(2)
    for _ in range(120):
        x = np.sort(gpd_series(rng, -0.2, 300))
        found = threshold_tests(x, x[[9, 99, 179, 239]], n_resamples=39, rng=rng)
        rejected += found.pvalues[0] < 0.05, found.change_pvalue < 0.051
    assert (rejected / 120 <= 0.11).all()


def test_result() -> None:
    x = gpd_series(np.random.default_rng(2), 0.1, 1000)
    found = threshold_tests(x, [0.2, 0.8, 1.5], n_resamples=19, rng=3)
    frame = found.to_frame()
    assert frame["threshold"].tolist() == [0.2, 0.8, 1.5]
    assert {"statistic", "pvalue", "white_noise", "change"} <= set(frame)
    again = ThresholdTests.from_dict(found.to_dict())
    assert again.change_pvalue == found.change_pvalue
    repeated = threshold_tests(7.0 * x, [1.4, 1.4, 5.6, 10.5], n_resamples=19, rng=3)
    np.testing.assert_allclose(repeated.statistics, found.statistics, rtol=1e-6)


def test_what_is_refused() -> None:
    x = np.random.default_rng(2).random(400) ** 0.4
    with pytest.warns(InsufficientEvidenceWarning, match="no score test"):
        found = threshold_tests(x, [0.3, 0.5, 0.7], n_resamples=19, rng=1)
    assert np.isnan(found.pvalues).all()
    assert np.isnan(found.change_pvalue)
    assert found.sentences()
    with pytest.raises(InputError, match="three or more"):
        threshold_tests(x, [0.3, 0.5])


@pytest.mark.filterwarnings("error")
def test_what_an_irregular_shape_takes_away() -> None:
    """A uniform top has ξ = −1: there is no score test there; at the lowest threshold no white
    noise either. At the highest, of which nothing is tested, it does not matter."""
    rng = np.random.default_rng(5)
    low = rng.exponential(size=3000)
    x = np.r_[low[low < 4.0], 4.0 + 0.5 * rng.random(60)]
    with pytest.warns(
        InsufficientEvidenceWarning, match=r"above 4: at −1/2 or less there is no score test$"
    ):
        found = threshold_tests(x, [0.5, 4.0, 4.2], n_resamples=19, rng=1)
    assert np.isnan(found.pvalues).tolist() == [False, True, True]
    assert np.isnan(found.white_noise).tolist() == [True, False, False]
    assert 0 < found.change_pvalue <= 1
    with pytest.warns(InsufficientEvidenceWarning, match="no score test, and no white noise"):
        found = threshold_tests(x, [4.0, 4.1, 4.2], n_resamples=19, rng=1)
    assert np.isnan(found.white_noise).all()
    assert np.isnan(found.change_pvalue)
    assert threshold_tests(x, [0.2, 0.5, 4.0], n_resamples=19, rng=1).shape[2] < -0.5
