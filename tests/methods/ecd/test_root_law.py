"""The law of the signed root: its tables against simulation, and its use by hand."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy.stats import genpareto

from fairstats.methods.ecd.level_curve import CurveContrast
from fairstats.methods.ecd.root_law import RootLaw, TailsUnder, contrast_moments, interpolated
from fairstats.methods.ecd.root_tables import (
    BEND_OF_MEAN,
    BEND_OF_VARIANCE,
    KNOTS_OF_EXCEEDANCES,
    KNOTS_OF_PERIOD,
    KNOTS_OF_SHAPE,
    MEAN,
    VARIANCE,
)
from fairstats.numerics.evt import EvtFit, fit_gpd

M = 1000.0


def tail(seed: int, n: int, shape: float, k: int) -> EvtFit:
    x = genpareto.rvs(shape, size=n, random_state=np.random.default_rng(seed))
    return fit_gpd(x, float(np.sort(x)[-k - 1]), backend="scipy")


def under(count: int, total: int, scale: float, shape: float) -> TailsUnder:
    return TailsUnder(
        exceedances=count,
        total=float(total),
        log_period=math.log(M),
        scale=np.full(1, scale),
        shape=np.full(1, shape),
        log_rate=np.full(1, math.log(count / total)),
    )


def test_the_tables_at_their_knots_and_between() -> None:
    """Values at knots; half way in ξ the mean of two; beyond the last knot that knot's."""
    found = interpolated(MEAN, 20, KNOTS_OF_SHAPE, np.full(7, KNOTS_OF_PERIOD[3]))
    np.testing.assert_allclose(found, MEAN[1, :, 3], atol=1e-12)
    middle = 0.5 * (KNOTS_OF_SHAPE[2] + KNOTS_OF_SHAPE[3])
    between = interpolated(VARIANCE, 50, np.full(1, middle), np.full(1, KNOTS_OF_PERIOD[1]))
    assert between[0] == pytest.approx(VARIANCE[2, 2:4, 1].mean(), abs=1e-12)
    far = interpolated(MEAN, 9_999, np.full(1, 5.0), np.full(1, 99.0))
    assert far[0] == MEAN[-1, -1, -1]
    assert MEAN.shape == VARIANCE.shape == (KNOTS_OF_EXCEEDANCES.size, 7, 5)


def test_the_level_error_is_the_delta_methods() -> None:
    """Of a fit at its maximum: `EvtFit`'s own, by the observed information, within a fifth."""
    fit = tail(5, 4_000, 0.1, 200)
    ours = under(200, 4_000, fit.scale, fit.shape).level_error()[0]
    theirs = fit.return_level(M, method="delta").std_error
    assert ours == pytest.approx(theirs, rel=0.2)


def test_two_alike_tails_have_a_root_without_mean() -> None:
    """By symmetry; and exchanging the two turns the sign and keeps the deviation."""
    alike = under(30, 1_500, 0.05, -0.2)
    mean, _ = contrast_moments(alike, alike)
    assert mean[0] == pytest.approx(0.0, abs=1e-12)
    other = under(400, 20_000, 0.05, 0.1)
    mean, deviation = contrast_moments(alike, other)
    turned, same = contrast_moments(other, alike)
    assert mean[0] == pytest.approx(-turned[0], abs=1e-12)
    assert deviation[0] == pytest.approx(same[0], abs=1e-12)


def test_near_standard_normal_for_many_exceedances() -> None:
    """Mean and deviation tend to 0 and 1 as 1/√k and 1/k do."""
    first = under(20_000, 1_000_000, 1.0, 0.0)
    second = under(40_000, 2_000_000, 2.0, -0.1)
    mean, deviation = contrast_moments(first, second)
    assert abs(mean[0]) < 0.05
    assert deviation[0] == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((30, 1_500, 1.0, -0.2), (400, 20_000, 1.0, -0.2)),
        ((30, 1_500, 1.0, 0.2), (50, 2_500, 2.0, 0.0)),
        ((20, 1_000, 1.5, 0.4), (80, 4_000, 1.0, 0.1)),
    ],
)
def test_against_simulated_roots(
    first: tuple[int, int, float, float], second: tuple[int, int, float, float]
) -> None:
    """Mean within .12 and deviation within .1 of those in 2,000 samples of both laws (error .025).

    The tables have an error of about .07 in the mean; without them it would be .2 to .35.
    """
    from tests.calibration.contrast_roots import level_of, pareto_samples, signed_roots

    rng = np.random.default_rng(8)
    drawn = [
        pareto_samples(rng, 2_000, count, total, scale, shape)
        for count, total, scale, shape in (first, second)
    ]
    levels = [
        level_of(total, count, scale, shape) for count, total, scale, shape in (first, second)
    ]
    roots = signed_roots(drawn[0], drawn[1], np.full(2_000, levels[0] - levels[1]))
    mean, deviation = contrast_moments(under(*first), under(*second))
    assert mean[0] == pytest.approx(roots.mean(), abs=0.12)
    assert deviation[0] == pytest.approx(roots.std(), abs=0.1)


def test_the_law_of_a_contrast_has_three_roots() -> None:
    fits = tail(11, 10_000, 0.0, 200), tail(12, 20_000, 0.0, 200)
    law = RootLaw.of_contrast(CurveContrast.of_fits(*fits, M), farthest=np.inf)
    np.testing.assert_allclose(law.roots, [-2, 0, 2], atol=1e-3)
    assert (np.abs(law.means) < 0.3).all()
    assert (np.abs(law.deviations - 1) < 0.1).all()


def test_between_the_roots_by_hand() -> None:
    law = RootLaw(
        np.array([-2.0, 0.0, 2.0]), np.array([-0.4, -0.2, 0.0]), np.array([1.0, 1.2, 1.4])
    )
    assert law.moments(1.0) == pytest.approx((-0.1, 1.3))
    assert law.moments(9.0) == pytest.approx((0.0, 1.4))
    assert law.standardised(1.0) == pytest.approx(1.1 / 1.3)
    for z in (-2.5, -1.0, 0.0, 0.3, 4.0):
        assert law.standardised(law.root_of(z)) == pytest.approx(z, abs=1e-9)
    plain = RootLaw(np.zeros(1), np.zeros(1), np.ones(1))
    assert plain.root_of(1.7) == 1.7


def test_the_tables_are_those_of_the_record() -> None:
    """Of one level as recorded, of a difference by least squares over the pairs of the record."""
    from tests.calibration.contrast_roots import RECORD, bends

    record = json.loads(RECORD.read_text(encoding="utf-8"))
    means = np.array(record["mean"])
    variances = np.array(record["variance"])
    np.testing.assert_allclose(MEAN, means, atol=0.006)
    np.testing.assert_allclose(VARIANCE, variances, atol=6e-4)
    of_mean, of_variance = bends(record["pairs"], means, variances)
    np.testing.assert_allclose(BEND_OF_MEAN, of_mean, atol=0.02)
    np.testing.assert_allclose(BEND_OF_VARIANCE, of_variance, atol=0.2)
