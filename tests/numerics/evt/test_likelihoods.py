"""The kernels against SciPy's distributions, a dense search, finite differences and Nelder–Mead."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from scipy.stats import genextreme, genpareto, uniform

from fairstats.numerics.evt import EvtFit, fit_gev
from fairstats.numerics.evt.contour import (
    Chart,
    cofactors,
    contour_extremes,
    level_interest,
    log_exceedance_interest,
    log_scale_interest,
    return_level_interest,
    shape_interest,
    solved,
)
from fairstats.numerics.evt.distributions import (
    exponential_scale,
    exponential_scale_partials,
    gev_from_lmoments,
    gev_logpdf,
    gpd_from_lmoments,
    gpd_logpdf,
    mean_exponential_scale,
    power_ratio,
    power_ratio_shape_derivative,
    sample_lmoments,
)
from fairstats.numerics.evt.gev import GevLikelihood, fit_gev_samples
from fairstats.numerics.evt.gpd import GpdLikelihood, fit_gpd_samples
from fairstats.numerics.evt.grid import GridLikelihood
from fairstats.numerics.evt.intervals import level_ends
from fairstats.numerics.evt.likelihood import Samples, level_profile
from fairstats.numerics.evt.optimise import (
    find_crossings,
    minimise_convex,
    minimise_over_tail,
    newton_in_bracket,
)

from .conftest import gpd_series

SHAPES = [-0.8, -0.3, -1e-9, 0.0, 1e-7, 0.2, 1.5]
CRITICAL = 3.841458820694124


def scipy_gev(shape: float, location: float, scale: float):  # type: ignore[no-untyped-def]
    """SciPy's `genextreme` has the opposite sign: the one place that converts."""
    return genextreme(-shape, location, scale)


@pytest.mark.parametrize("n", [10, 50, 400])
def test_a_sample_alone_is_fitted_as_among_others(n: int) -> None:
    """And the means of many values are the means of each."""
    rng = np.random.default_rng(n)
    shapes = rng.uniform(-0.9, 1.5, size=60)
    y = np.asarray(power_ratio(rng.exponential(size=(60, n)), shapes[:, None]))
    y[0] = rng.exponential(size=n)  # near 0 the series takes over
    together = fit_gpd_samples(Samples.from_excesses(y))
    for i, row in enumerate(y):
        alone = fit_gpd_samples(Samples.from_excesses(row))
        assert alone.at_boundary[0] == together.at_boundary[i]
        assert alone.nll[0] == pytest.approx(together.nll[i], abs=1e-10)
        np.testing.assert_allclose(
            [alone.scale[0], alone.shape[0]],
            [together.scale[i], together.shape[i]],
            rtol=1e-7,
            atol=1e-9,
        )
    for theta in (-0.9 / y[1].max(), -1e-6, 0.0, 1e-4, 0.3, 20.0):
        plain = [v.mean() for v in exponential_scale_partials(y[1], np.array(theta))]
        several = mean_exponential_scale(
            y[1:2], np.array([n]), y[1:2].max(axis=1), np.array([[theta]])
        )
        np.testing.assert_allclose([float(a[0, 0]) for a in several], plain, rtol=1e-9)


def known(model: str, **params: float) -> EvtFit:
    """A fit with these parameters, whatever the sample."""
    nothing = np.full((len(params), len(params)), np.nan)
    rest = (None, None, "mle", True, False, 0.95, "none")
    return EvtFit(model, params, nothing, 0.0, np.arange(10.0), 10, *rest)


def test_distributions_are_scipys() -> None:
    for shape in SHAPES:
        fitted = (
            known("gpd", scale=2.0, shape=shape),
            known("gev", location=3.0, scale=2.0, shape=shape),
        )
        for fit, law in zip(
            fitted, (genpareto(shape, scale=2.0), scipy_gev(shape, 3.0, 2.0)), strict=True
        ):
            x = law.ppf([0.01, 0.3, 0.9, 0.999])
            np.testing.assert_allclose(fit.cdf(x), law.cdf(x), rtol=1e-6)
            np.testing.assert_allclose(fit.sf(x), law.sf(x), rtol=1e-6)
            np.testing.assert_allclose(fit.quantile(fit.cdf(x)), x, rtol=1e-9)
            logpdf = gpd_logpdf if fit.model == "gpd" else gev_logpdf
            np.testing.assert_allclose(logpdf(x, *fit.params.values()), law.logpdf(x), rtol=1e-6)


def test_outside_the_support() -> None:
    assert gpd_logpdf(3.0, 1.0, -0.5) == -np.inf
    assert gpd_logpdf(-0.1, 1.0, 0.5) == -np.inf
    assert known("gpd", scale=1.0, shape=-0.5).cdf(3.0) == 1.0
    assert (
        gpd_logpdf(1.0, 1.0, -1.0) == 0.0
    )  # the end point of the uniform distribution belongs to it
    assert gev_logpdf(-3.0, 0.0, 1.0, 0.5) == -np.inf


@pytest.mark.parametrize("theta", [-0.3, -1e-3, -1e-9, 0.0, 1e-9, 1e-3, 0.3, 5.0])
def test_exponential_scale_against_extended_precision(theta: float) -> None:
    y = np.array([0.0, 1e-3, 0.5, 1.0, 3.0])
    v, first, second = exponential_scale_partials(y, np.array(theta))
    h = np.longdouble(2e-4) * max(1.0, abs(theta))
    t = np.longdouble(theta) + h * np.arange(-4, 5)

    def exact(t: np.longdouble) -> np.ndarray:
        z = t * y.astype(np.longdouble)
        return np.log1p(z) / t if t else y.astype(np.longdouble)

    f = np.array([exact(s) for s in t])
    f[np.isnan(f)] = 0
    np.testing.assert_allclose(v, f[4].astype(float), rtol=1e-14)
    slope = (f[2] - 8 * f[3] + 8 * f[5] - f[6]) / (12 * h)
    bend = (-f[2] + 16 * f[3] - 30 * f[4] + 16 * f[5] - f[6]) / (12 * h**2)
    np.testing.assert_allclose(first, slope.astype(float), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(second, bend.astype(float), rtol=1e-5, atol=1e-7)
    means = mean_exponential_scale(
        y[None, :], np.array([5.0]), np.array([3.0]), np.array([[theta]])
    )
    for mean, values in zip(means, (v, first, second), strict=True):
        assert mean[0, 0] == pytest.approx(values.mean(), rel=1e-9)


def test_power_ratio_is_continuous() -> None:
    for shape in (0.0, 1e-12, -1e-9, 1e-4, 0.5):
        assert float(power_ratio(2.0, shape)) == pytest.approx(
            np.expm1(2.0 * shape) / shape if shape else 2.0, rel=1e-10
        )
        h = 1e-5
        slope = (float(power_ratio(2.0, shape + h)) - float(power_ratio(2.0, shape - h))) / (2 * h)
        assert float(power_ratio_shape_derivative(2.0, shape)) == pytest.approx(slope, rel=1e-7)


@pytest.mark.parametrize("n", [10, 15, 50, 3000])
@pytest.mark.parametrize("shape", [-0.95, -0.6, -0.2, 0.0, 0.5, 2.0])
def test_gpd_optimum_is_global(n: int, shape: float) -> None:
    """Never above a dense grid of θ and the edge ξ = −1, and the likelihood of the parameters
    returned.
    """
    rng = np.random.default_rng([n, int(100 * (shape + 2))])
    samples = np.array([gpd_series(rng, shape, n) for _ in range(20 if n < 1000 else 3)])
    fits = fit_gpd_samples(Samples.from_excesses(samples))
    logs = gpd_logpdf(samples, fits.scale[:, None], fits.shape[:, None])
    np.testing.assert_allclose(-logs.sum(axis=1), fits.nll, atol=1e-8)
    for y, nll in zip(samples, fits.nll, strict=True):
        top = y.max()
        phi = np.linspace(-5, 5, 1501) * np.log(n)
        theta = np.expm1(phi[np.abs(phi) > 1e-6]) / top
        xi = np.array([np.log1p(np.maximum(t * y, -1 + 1e-15)).mean() for t in theta])
        inside = xi > -1
        grid = n * (np.log(xi[inside] / theta[inside]) + xi[inside] + 1.0)
        best = min(grid.min(), n * np.log(top))
        assert nll <= best + 1e-9


def test_gpd_likelihood_is_scipys() -> None:
    rng = np.random.default_rng(1)
    for shape in (-0.4, 0.0, 0.4):
        y = gpd_series(rng, shape, 80)
        fits = fit_gpd_samples(Samples.from_excesses(y[None, :]))
        nll = -genpareto.logpdf(y, fits.shape[0], scale=fits.scale[0]).sum()
        assert fits.nll[0] == pytest.approx(nll, abs=1e-9)


def test_gev_likelihood_is_scipys() -> None:
    rng = np.random.default_rng(2)
    for shape in (-0.4, 0.0, 0.4):
        x = scipy_gev(shape, 5.0, 2.0).rvs(80, random_state=rng)
        fits = fit_gev_samples(Samples.from_maxima(x[None, :]))
        law = scipy_gev(fits.shape[0], fits.params[0, 0], fits.scale[0])
        assert fits.nll[0] == pytest.approx(-law.logpdf(x).sum(), abs=1e-9)
        moved = minimize(
            lambda p, x=x: -scipy_gev(p[2], p[0], abs(p[1])).logpdf(x).sum(),
            [fits.params[0, 0], fits.scale[0], fits.shape[0]],
            method="Nelder-Mead",
        )
        assert moved.fun > fits.nll[0] - 1e-8


@pytest.mark.parametrize("family", ["gpd", "gev"])
@pytest.mark.parametrize("shape", [-0.3, -0.2, 0.0, 0.3, 0.9])
def test_standard_errors_against_extended_precision(family: str, shape: float) -> None:
    """Observed information by fourth-order differences in long double.

    1e-6, where R's own differ by 2e-3.
    """
    rng = np.random.default_rng(int(100 * (shape + 1)))
    e = rng.exponential(size=120)
    if family == "gpd":
        x = np.asarray(power_ratio(e, np.array(shape)))
        fits = fit_gpd_samples(Samples.from_excesses(x[None, :]))
        point = [fits.scale[0], fits.shape[0]]
    else:
        x = np.asarray(power_ratio(-np.log(e), np.array(shape)))
        blocks = fit_gev_samples(Samples.from_maxima(x[None, :]))
        fits = blocks  # type: ignore[assignment]
        point = [blocks.params[0, 0], blocks.scale[0], blocks.shape[0]]
    data = x.astype(np.longdouble)

    def nll(p: np.ndarray) -> np.longdouble:
        location, scale, xi = (0, p[0], p[1]) if family == "gpd" else p
        t = np.log1p(xi * (data - location) / scale) / xi
        extra = np.exp(-t).sum() if family == "gev" else 0
        return data.size * np.log(scale) + (1 + xi) * t.sum() + extra

    information = _hessian(nll, np.array(point, dtype=np.longdouble))
    expected = np.linalg.inv(information.astype(float))
    np.testing.assert_allclose(fits.covariance[0], expected, rtol=1e-6, atol=1e-9 * expected.max())


def _hessian(f, p: np.ndarray, h: float = 3e-5) -> np.ndarray:  # type: ignore[no-untyped-def]
    size = p.size
    out = np.zeros((size, size), dtype=np.longdouble)
    weights = {-2: 1, -1: -8, 1: 8, 2: -1}
    for i in range(size):
        for j in range(size):

            def at(a: int, b: int, i: int = i, j: int = j) -> np.longdouble:
                q = p.copy()
                q[i] += a * h
                q[j] += b * h
                return f(q)

            if i == j:
                second = -at(2, 0) + 16 * at(1, 0) - 30 * at(0, 0) + 16 * at(-1, 0) - at(-2, 0)
                out[i, i] = second / (12 * h * h)
            else:
                total = sum(
                    wa * wb * at(a, b) for a, wa in weights.items() for b, wb in weights.items()
                )
                out[i, j] = total / (144 * h * h)
    return out


@pytest.mark.parametrize("law", ["binomial", "poisson"])
@pytest.mark.parametrize(("n", "shape"), [(15, 0.1), (50, -0.4), (200, 0.3), (30, -0.8)])
def test_level_profile_against_nelder_mead(law: str, n: int, shape: float) -> None:
    """The profile over (λ, σ, ξ) at several levels, also below the threshold: 1e-7."""
    rng = np.random.default_rng(n)
    y = gpd_series(rng, shape, n)
    samples = Samples.from_excesses(y[None, :])
    total = 20.0 * n
    likelihood = GpdLikelihood.from_samples(samples, np.array([total]), law)  # type: ignore[arg-type]
    z = samples.y[0]
    for m_lambda in (1.2, 5.0, 50.0):
        log_m = np.log(m_lambda * total / n)
        centre = (
            float(power_ratio(np.log(m_lambda), likelihood.fits.shape[0])) / likelihood.fits.nu[0]
        )
        levels = centre * np.array([-0.3, 0.6, 1.0, 1.5])
        points = level_profile(likelihood, np.zeros(4, dtype=int), levels, np.full(4, log_m))
        for d, value, theta, nu in zip(levels, points.value, points.theta, points.nu, strict=True):

            def nll(p: np.ndarray, d: float = d, log_m: float = log_m) -> float:
                scale = np.exp(p[0])
                xi = p[1]
                if (
                    1 + xi * min(z.max() / scale, d / scale) <= 0
                    or 1 + xi * max(z.max(), d) / scale <= 0
                ):
                    return 1e10
                log_rate = np.log1p(xi * d / scale) / xi - log_m
                if xi < -1 or (law == "binomial" and log_rate >= 0):
                    return 1e10
                rate = np.exp(log_rate)
                count = (
                    -n * log_rate - (total - n) * np.log1p(-rate)
                    if law == "binomial"
                    else total * rate - n * log_rate
                )
                return float(n * p[0] + (1 + 1 / xi) * np.log1p(xi * z / scale).sum() + count)

            options = {"xatol": 1e-9, "fatol": 1e-11, "maxiter": 4000, "maxfev": 4000}
            at_minimum = np.array([-np.log(nu), np.clip(theta / nu, -0.999, None) + 1e-9])
            starts = [
                at_minimum,
                np.array([-np.log(likelihood.fits.nu[0]), likelihood.fits.shape[0] + 1e-9]),
            ]
            found = min(minimize(nll, s, method="Nelder-Mead", options=options).fun for s in starts)
            assert value <= found + 1e-7
            assert value > found - 1e-3  # the simplex may stop short of the edge ξ = −1
        assert points.value[2] == pytest.approx(likelihood.minimum()[0], abs=1e-9)


def test_level_slopes_are_derivatives() -> None:
    rng = np.random.default_rng(5)
    likelihoods = [
        GpdLikelihood.from_samples(
            Samples.from_excesses(gpd_series(rng, 0.1, 40)[None, :]), np.array([900.0]), "binomial"
        ),
        GevLikelihood.from_samples(Samples.from_maxima(rng.gumbel(size=(1, 40)))),
    ]
    row = np.zeros(1, dtype=int)
    for likelihood in likelihoods:
        d = np.array([4.0])
        tau = np.array([5.0])
        h = 1e-5
        for in_offset in (False, True):
            ends = [
                level_profile(
                    likelihood, row, d + s * h * (not in_offset), tau + s * h * in_offset
                ).value[0]
                for s in (-1.0, 1.0)
            ]
            slope = level_profile(likelihood, row, d, tau, in_offset=in_offset).slope[0]
            assert slope == pytest.approx((ends[1] - ends[0]) / (2 * h), rel=1e-6)


LIKELIHOODS = ["binomial", "poisson", "fixed", "gev", "grid", "cells of each"]


def likelihood_of(kind: str) -> GpdLikelihood | GevLikelihood:
    """Two samples of 40 values: excesses by the law of their number, maxima, or rounded
    excesses.
    """
    rng = np.random.default_rng(11)
    y = np.stack([gpd_series(rng, shape, 40) for shape in (-0.2, 0.3)])
    if kind == "gev":
        return GevLikelihood.from_samples(Samples.from_maxima(rng.gumbel(size=(2, 40))))
    if kind == "grid":
        counts = np.stack(
            [np.bincount(np.minimum(row / 0.4, 7).astype(int), minlength=8) for row in y]
        )
        return GridLikelihood.of_counts(
            np.arange(8.0), counts.astype(float), 0.4, 900.0, "binomial"
        )
    if kind == "cells of each":
        return GridLikelihood.of_counts(np.floor(y / 0.4), np.ones_like(y), 0.4, 900.0, "poisson")
    return GpdLikelihood.from_samples(Samples.from_excesses(y), np.array([900.0, 800.0]), kind)  # type: ignore[arg-type]


def points_of(likelihood: GpdLikelihood | GevLikelihood) -> tuple[np.ndarray, ...]:
    """Rows, θ, ν and ℓ beside the maxima.

    Tails that end, that are exponential, and that are heavy.
    """
    rows = np.array([0, 1, 1], dtype=np.intp)
    unit = 1.0 / likelihood.samples.upper[rows]
    nu = likelihood.fits.nu[rows] * np.array([0.9, 1.2, 1.05])
    return (
        rows,
        unit * np.array([-0.6, 1e-4, 0.8]),
        nu,
        likelihood.log_rate[rows] + np.array([-0.2, 0.1, 0.3]),
    )


@pytest.mark.parametrize("kind", LIKELIHOODS)
def test_gradients_and_hessians_are_differences(kind: str) -> None:
    """Witness: central differences of step 1e-5, whose error is 1e-6. A known rate does not vary,
    and the Hessian has a 1 in its place, so that the equations stay solvable."""
    likelihood = likelihood_of(kind)
    rows, *point = points_of(likelihood)
    _, gradient, hessian = likelihood.whole(rows, *point)
    scale = np.abs(hessian).max((1, 2))
    h = 1e-5
    for i in range(3):
        up, down = (
            likelihood.whole(rows, *(x + sign * h * (i == j) for j, x in enumerate(point)))
            for sign in (1.0, -1.0)
        )
        np.testing.assert_allclose(
            (up[0] - down[0]) / (2 * h), gradient[:, i], rtol=1e-6, atol=1e-5
        )
        wanted = (up[1] - down[1]) / (2 * h)
        if kind == "fixed" and i == 2:
            wanted[:, 2] = 1.0
        np.testing.assert_allclose(
            hessian[:, i] / scale[:, None], wanted / scale[:, None], rtol=1e-6, atol=1e-6
        )


@pytest.mark.parametrize("kind", LIKELIHOODS)
def test_profiles_over_the_rate_and_the_scale(kind: str) -> None:
    """Witness: lowest values over ℓ, and over ν where ξ ≥ −1, by SciPy's bounded search; slopes and
    curvatures by central differences, also along ξ = −1."""
    likelihood = likelihood_of(kind)
    rows, theta, nu, ell = points_of(likelihood)
    upper = likelihood.samples.upper
    found = likelihood.partials(rows, theta[:, None], nu[:, None])

    def lowest(of: Callable[[float], float], low: float, high: float) -> float:
        return float(
            minimize_scalar(of, bounds=(low, high), method="bounded", options={"xatol": 1e-9}).fun
        )

    for i, row in enumerate(rows):
        one = rows[i : i + 1]
        t = theta[i : i + 1]
        v = nu[i : i + 1]
        wanted = lowest(
            lambda x, one=one, t=t, v=v: likelihood.whole(one, t, v, np.array([x]))[0][0],
            ell[i] - 1,
            ell[i] + 1,
        )
        assert found[0][i, 0] == pytest.approx(wanted, abs=1e-8)
        for share in (-0.97, -0.6, 1e-4, 0.9):
            t = np.array([[share / upper[row]]])
            free = likelihood.free(one, t)
            wanted = lowest(
                lambda x, one=one, t=t: likelihood.partials(one, t, np.array([[x]]))[0][0, 0],
                max(-float(t[0, 0]), 1e-3),
                10.0,
            )
            assert free[0][0, 0] == pytest.approx(wanted, abs=1e-5)
            h = 2e-6
            up, down = (likelihood.free(one, t + sign * h) for sign in (1.0, -1.0))
            assert free[1][0, 0] == pytest.approx(
                (up[0] - down[0])[0, 0] / (2 * h), rel=1e-5, abs=1e-4
            )
            assert free[2][0, 0] == pytest.approx(
                (up[1] - down[1])[0, 0] / (2 * h), rel=1e-5, abs=1e-3
            )
    h = 1e-5
    in_theta = [
        likelihood.partials(rows, (theta + s * h)[:, None], nu[:, None]) for s in (1.0, -1.0)
    ]
    in_nu = [likelihood.partials(rows, theta[:, None], (nu + s * h)[:, None]) for s in (1.0, -1.0)]
    for i, (pair, j) in enumerate(
        ((in_theta, 0), (in_nu, 0), (in_theta, 1), (in_theta, 2), (in_nu, 2)), 1
    ):
        np.testing.assert_allclose(
            found[i], (pair[0][j] - pair[1][j]) / (2 * h), rtol=1e-6, atol=1e-4
        )


@pytest.mark.parametrize("kind", LIKELIHOODS)
def test_the_profile_of_a_level_at_a_tail_parameter(kind: str) -> None:
    """Witness: the lowest value over ν of F at ℓ = ν·log(1 + θd)/θ − τ, by SciPy's bounded search,
    and differences in θ, d and τ. A known rate fixes ν by that equation."""
    likelihood = likelihood_of(kind)
    rows, theta, nu, ell = points_of(likelihood)
    theta = np.append(theta, -0.97 / likelihood.samples.upper[1])  # where ξ = −1 for some levels
    rows = np.append(rows, 1)
    nu = np.append(nu, nu[1])
    ell = np.append(ell, ell[1])
    for share in (0.4, 0.8):
        d = share * likelihood.samples.upper[rows]
        tau = nu * np.log1p(theta * d) / theta - ell
        given = theta[:, None], d, tau
        f, slope, curvature, in_d, in_tau, best = (a[:, 0] for a in likelihood.level(rows, *given))
        for i, (t, x, period) in enumerate(zip(theta, d, tau, strict=True)):
            v = np.log1p(t * x) / t

            def value(
                log_nu: float, i: int = i, t: float = t, v: float = v, period: float = period
            ) -> float:
                n = np.exp(np.array([log_nu]))
                ell = n * v - period
                if not likelihood.inside(rows[i : i + 1], ell)[0]:
                    return 1e9
                return float(likelihood.whole(rows[i : i + 1], np.array([t]), n, ell)[0][0])

            if kind == "fixed":
                wanted = np.log((likelihood.log_rate[rows[i]] + period) / v)
                assert np.log(best[i]) == pytest.approx(wanted, abs=1e-12)
                wanted = value(wanted)
            else:
                low = np.log(max(-t, 1e-3))
                high = np.log(period / v) if kind in ("binomial", "grid") else 3.0
                wanted = minimize_scalar(
                    value, bounds=(low, high), method="bounded", options={"xatol": 1e-10}
                ).fun
            assert f[i] == pytest.approx(wanted, abs=1e-5)
        h = 2e-6
        for place, found in ((0, slope), (1, in_d), (2, in_tau)):
            up, down = (
                likelihood.level(rows, *(a + sign * h * (place == j) for j, a in enumerate(given)))
                for sign in (1.0, -1.0)
            )
            np.testing.assert_allclose(
                found, (up[0] - down[0])[:, 0] / (2 * h), rtol=1e-5, atol=1e-4
            )
            if place == 0:
                wanted = (up[1] - down[1])[:, 0] / (2 * h)
                np.testing.assert_allclose(curvature, wanted, rtol=1e-5, atol=1e-2)


def test_the_edge_of_the_parameter_space() -> None:
    """Witness: SciPy's uniform law on (0, largest) with the number of exceedances by its binomial
    or Poisson law at the rate that the level asks for; for maxima the law with ξ = −1 below the
    largest."""
    row = np.zeros(1, dtype=np.intp)
    for kind in ("binomial", "poisson"):
        one = likelihood_of(kind)
        top = float(one.samples.upper[0])

        def number(rate: float, kind: str = kind) -> float:
            rest = -860 * np.log1p(-rate) if kind == "binomial" else 900 * rate
            return float(rest - 40 * np.log(rate))

        for d, tau in ((0.5 * top, 5.0), (0.2 * top, 3.0), (0.9 * top, 8.0)):
            # the share (1 − d/top) of the exceedances lies above d: once in e^τ
            wanted = -uniform(0, top).logpdf(one.samples.y[0]).sum() + number(
                np.exp(-tau) / (1 - d / top)
            )
            assert one.edge(row, np.array([d]), np.array([tau]))[0] == pytest.approx(
                wanted, rel=1e-12
            )
        beyond = np.array([top]), np.array([1.01 * top])
        assert [one.edge(row, d, np.array([5.0]))[0] for d in beyond] == [np.inf, np.inf]
        assert one.boundary()[0] == pytest.approx(40 * np.log(top) + number(40 / 900), rel=1e-12)
    # a rate above 1 is none of a binomial law
    assert likelihood_of("binomial").edge(row, np.array([0.9]), np.array([-1.0]))[0] == np.inf
    assert np.isfinite(likelihood_of("poisson").edge(row, np.array([0.9]), np.array([-1.0]))[0])
    assert likelihood_of("fixed").edge(row, np.array([0.1]), np.array([5.0]))[0] == np.inf
    maxima = likelihood_of("gev")
    top = float(maxima.samples.upper[0])
    y = maxima.samples.y[0]
    for d, tau in ((0.5 * top, 1.0), (-0.5, -0.3)):
        scale = (top - d) * np.exp(tau)  # exp(−(top − d)/scale) = exp(−e^−τ)
        wanted = -scipy_gev(-1.0, top - scale, scale).logpdf(y).sum()
        assert maxima.edge(row, np.array([d]), np.array([tau]))[0] == pytest.approx(
            wanted, rel=1e-9
        )
    best = minimize_scalar(
        lambda s: -scipy_gev(-1.0, top - s, s).logpdf(y).sum(), bounds=(0.1, 10), method="bounded"
    )
    assert maxima.boundary()[0] == pytest.approx(best.fun, abs=1e-8)
    assert maxima.edge(row, np.array([top]), np.array([1.0]))[0] == np.inf


@pytest.mark.parametrize("family", ["gpd", "gev"])
@pytest.mark.parametrize("shape", [-0.4, 0.0, 0.5])
def test_contour_and_search_agree(family: str, shape: float) -> None:
    """Two ways to the ends of an interval.

    Lagrange conditions, and a bracketed search on the profile.
    """
    rng = np.random.default_rng(6)
    e = rng.exponential(size=(30, 60))
    if family == "gpd":
        samples = Samples.from_excesses(np.asarray(power_ratio(e, np.array(shape))))
        likelihood: GpdLikelihood | GevLikelihood = GpdLikelihood.from_samples(
            samples, np.full(30, 1200.0), "binomial"
        )
        periods = (1.5 * 20, 20.0 * 20, 100.0 * 20)
    else:
        maxima = np.asarray(power_ratio(-np.log(e), np.array(shape)))
        likelihood = GevLikelihood.from_samples(Samples.from_maxima(maxima))
        periods = (2.0, 20.0, 100.0)
    rows = np.tile(np.arange(30), 2)
    side = np.repeat([-1.0, 1.0], 30)
    target = np.full(60, CRITICAL)
    for m in periods:
        tau = np.full(30, np.log(m) if family == "gpd" else -np.log(-np.log1p(-1 / m)))
        d = np.asarray(
            power_ratio((likelihood.log_rate + tau) / likelihood.fits.nu, likelihood.fits.theta)
        )
        given = likelihood, rows, d[rows], tau[rows], side, target
        fast = level_ends(*given).reshape(2, 30)
        slow = level_ends(*given, newton=False).reshape(2, 30)
        np.testing.assert_allclose(fast, slow, atol=float(1e-6 * np.min(slow[1] - slow[0])))


def test_contour_points_lie_on_the_contour_and_are_extreme() -> None:
    """At the ends of the shape and scale intervals the profile has the critical deviance."""
    from fairstats.numerics.evt.likelihood import scale_profile, shape_profile

    rng = np.random.default_rng(7)
    samples = Samples.from_excesses(rng.exponential(size=(20, 80)))
    likelihood = GpdLikelihood.from_samples(samples, np.full(20, 2000.0), "fixed")
    rows = np.tile(np.arange(20), 2)
    side = np.repeat([-1.0, 1.0], 20)
    target = np.full(40, CRITICAL)
    xi = contour_extremes(likelihood, rows, shape_interest(), side, target)
    assert np.isfinite(xi).all()
    deviance = 2.0 * (
        shape_profile(likelihood, rows, xi, likelihood.fits.nu[rows]).value
        - likelihood.minimum()[rows]
    )
    np.testing.assert_allclose(deviance, CRITICAL, atol=1e-6)
    log_scale = contour_extremes(likelihood, rows, log_scale_interest(None), side, target)
    nu = np.exp(-log_scale)
    deviance = 2.0 * (
        scale_profile(likelihood, rows, nu, likelihood.fits.theta[rows]).value
        - likelihood.minimum()[rows]
    )
    np.testing.assert_allclose(deviance, CRITICAL, atol=1e-6)


TAU = np.array([np.log(400.0)])
UNIT = np.array([2.0])
GOALS = {
    "level": return_level_interest(TAU, UNIT),
    "level by itself": level_interest(TAU),
    "level, known rate": return_level_interest(TAU, UNIT, rate_known=True),
    "shape": shape_interest(),
    "scale": log_scale_interest(None),
    "block scale": log_scale_interest(TAU),
    "exceedance": log_exceedance_interest(np.array([2.5])),
}


@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize(
    "point", [[0.2, 1.1, -3.0], [-0.15, 0.9, -3.2], [1e-9, 1.0, -3.0], [-0.02, 1.3, -2.0]]
)
def test_goal_derivatives(goal: str, point: list[float]) -> None:
    """Witness: the formulas by hand, and central differences of step 1e-4, whose error is 1e-6. A
    known rate does not vary."""
    row = np.zeros(1, dtype=np.intp)
    p = np.array(point)
    h = 1e-4

    def at(q: np.ndarray) -> tuple[np.ndarray, ...]:
        return GOALS[goal](row, q[:1], q[1:2], q[2:])

    theta, nu, ell = point
    level = np.expm1(theta * (ell + TAU[0]) / nu) / theta
    by_hand = {
        "level by itself": level,
        "shape": theta / nu,
        "scale": -np.log(nu),
        "block scale": theta * (ell + TAU[0]) / nu - np.log(nu),
        "exceedance": ell - nu * np.log1p(theta * 2.5) / theta,
    }
    value, gradient, hessian = at(p)
    assert value[0] == pytest.approx(by_hand.get(goal, np.arcsinh(level / 2)), rel=1e-7)
    for i in range(3):
        up = at(p + np.eye(3)[i] * h)
        down = at(p - np.eye(3)[i] * h)
        known = goal == "level, known rate"
        wanted = 0.0 if known and i == 2 else (up[0] - down[0])[0] / (2 * h)
        assert gradient[0, i] == pytest.approx(wanted, abs=2e-6)
        second = np.zeros(3) if known and i == 2 else (up[1] - down[1])[0] / (2 * h)
        np.testing.assert_allclose(hessian[0, i], second, rtol=1e-6, atol=2e-5)


def test_a_value_beyond_the_end_point_is_never_exceeded() -> None:
    """1 + θd < 0: log p has no value there, at the end point itself neither."""
    one = log_exceedance_interest(np.array([2.0, 2.0, 2.0]))
    with np.errstate(all="ignore"):
        value = one(np.arange(3), np.array([-0.49, -0.5, -0.6]), np.ones(3), np.zeros(3))[0]
    assert np.isnan(value).tolist() == [False, True, True]


@pytest.mark.parametrize("kind", LIKELIHOODS)
def test_the_chart_of_a_contour(kind: str) -> None:
    """Witness: central differences in (φ, log ν, ℓ), the definition of φ.

    The tangent by `numpy.linalg`.
    """
    likelihood = likelihood_of(kind)
    rows, theta, nu, ell = points_of(likelihood)
    interest = level_interest(np.full(3, 6.0), rate_known=kind == "fixed")
    chart = Chart(likelihood, rows, interest)
    every = np.arange(3)
    place = chart.placed(every, theta, nu, ell)
    low = likelihood.samples.lower[rows]
    high = likelihood.samples.upper[rows]
    np.testing.assert_allclose(
        place[:, 0], np.log1p(theta * high) - np.log1p(theta * low), atol=1e-12
    )
    np.testing.assert_allclose(place[:, 1:], np.stack([np.log(nu), ell], -1))
    np.testing.assert_allclose(chart.shape(every, place), theta / nu, rtol=1e-9)
    parts = chart.at(every, place)
    h = 1e-5
    assert parts[2].tolist() == (theta > -nu).tolist()
    for i in range(2 if kind == "fixed" else 3):
        ends = [chart.at(every, place + sign * h * np.eye(3)[i]) for sign in (1.0, -1.0)]
        for which in (0, 1):
            (_, gradient, hessian), (up, down) = parts[which], (end[which] for end in ends)
            size = np.abs(hessian).max((1, 2))[:, None]
            np.testing.assert_allclose(
                gradient[:, i], (up[0] - down[0]) / (2 * h), rtol=1e-6, atol=1e-4
            )
            second = (up[1] - down[1]) / (2 * h)
            np.testing.assert_allclose(hessian[:, i] / size, second / size, atol=1e-6)
    centre, direction, spread, value = chart.tangent()
    _, (estimate, slope, _), _ = chart.at(every, centre)
    np.testing.assert_allclose(value, estimate, rtol=1e-12)
    for i in range(3):
        wanted = np.linalg.solve(chart.at(every, centre)[0][2][i], slope[i])
        np.testing.assert_allclose(direction[i], wanted, rtol=1e-8, atol=1e-12)
        assert spread[i] == pytest.approx(np.sqrt(slope[i] @ wanted), rel=1e-8)


def counted(
    objective: Callable[..., tuple[Any, ...]],
) -> tuple[Callable[..., tuple[Any, ...]], list[int]]:
    """The same function, and how often it was asked."""
    asked: list[int] = []

    def asking(*given: Any) -> tuple[Any, ...]:
        asked.append(1)
        return objective(*given)

    return asking, asked


def test_searches_take_few_evaluations() -> None:
    """Newton's method doubles the digits at each step: of smooth functions a dozen evaluations do.

    Witness: the minimum of x − a + e^(a − x) at a, of νb − log ν at 1/b, and (x/2)² = 4 at 4.
    """
    a = np.array([0.3, -1.2, 2.0])

    def objective(rows: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, ...]:
        e = np.exp(a[rows, None] - x)
        return x - a[rows, None] + e, 1.0 - e, e

    asking, asked = counted(objective)
    found = newton_in_bracket(asking, np.arange(3), a + 0.8, a - 3.0, a + 2.0)
    np.testing.assert_allclose(found, a, atol=1e-12)
    assert len(asked) <= 8
    from_far = newton_in_bracket(objective, np.arange(3), a + 1.99, a - 30.0, a + 2.0)
    np.testing.assert_allclose(from_far, a, atol=1e-12)
    rng = np.random.default_rng(1)
    y = gpd_series(rng, 0.2, 60)
    samples = Samples.from_excesses(y)

    def plain(theta: float) -> tuple[float, ...]:
        z = 1 + theta * samples.y[0]
        xi = np.log(z).mean()
        first = (samples.y[0] / z).mean()
        second = -((samples.y[0] / z) ** 2).mean()
        slope = first / xi - 1 / theta + first
        bend = second / xi - (first / xi) ** 2 + theta**-2 + second
        return np.log(xi / theta) + xi, slope, bend

    asking, asked = counted(plain)
    ends = samples.lower, samples.upper, np.log(samples.n)
    wanted = fit_gpd_samples(samples)
    theta, value = minimise_over_tail(_no_other, *ends, start=wanted.theta + 0.05, one=asking)
    assert theta[0] == pytest.approx(wanted.theta[0], rel=1e-6)
    assert 60 * (value[0] + 1 + np.log(samples.unit[0])) == pytest.approx(wanted.nll[0], abs=1e-9)
    assert len(asked) <= 10

    b = np.array([0.2, 1.0, 7.0])
    asking, asked = counted(lambda nu: (b - 1 / nu, 1 / nu**2))
    np.testing.assert_allclose(minimise_convex(asking, np.ones(3)), 1 / b, rtol=1e-12)
    assert len(asked) <= 12
    # a barrier at the cap, −log(cap − ν), is never reached
    cap = np.array([2.0, 0.5, 0.1])
    asking, asked = counted(lambda nu: (1 / (cap - nu) - 3.0 / nu, (cap - nu) ** -2 + 3.0 / nu**2))
    np.testing.assert_allclose(minimise_convex(asking, 0.5 * cap, cap), 0.75 * cap, rtol=1e-9)
    assert len(asked) <= 10

    asking, asked = counted(lambda which, x: ((x / 2) ** 2, x / 2))
    ends = find_crossings(asking, np.zeros(2), np.array([1.0, -1.0]), np.full(2, 4.0))
    np.testing.assert_allclose(ends, [4.0, -4.0], rtol=1e-9)
    assert len(asked) <= 8
    asking, asked = counted(lambda which, x: ((x / 2) ** 2, np.full_like(x, np.nan)))
    ends = find_crossings(asking, np.zeros(2), np.array([1.0, -1.0]), np.full(2, 4.0))
    np.testing.assert_allclose(ends, [4.0, -4.0], rtol=1e-9)
    assert len(asked) <= 30


def _no_other(rows: np.ndarray, theta: np.ndarray) -> tuple[np.ndarray, ...]:
    raise AssertionError("a start near the minimum needs no grid")


def test_crossings_that_there_are_not() -> None:
    """The deviance log(1 + x²) never reaches 9 before the limit 2, x²/(1 + x²) none at all; with a
    limit that lies beyond the crossing, e^4.5 = √(1 + x²), that is the same; a jump is found where
    it is."""
    given = np.zeros(1), np.ones(1)
    nothing = np.full(1, np.nan)
    far = np.sqrt(np.expm1(9.0))

    def logarithm(which: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.log1p(x**2), 2 * x / (1 + x**2)

    target = np.array([9.0])
    assert find_crossings(logarithm, *given, target, limit=np.array([2.0]))[0] == 2.0
    assert find_crossings(logarithm, *given, target, limit=np.array([1e3]))[0] == pytest.approx(
        far, rel=1e-9
    )
    assert find_crossings(logarithm, *given, target)[0] == pytest.approx(far, rel=1e-9)
    assert find_crossings(logarithm, *given, target, guess=np.array([80.0]))[0] == pytest.approx(
        far, rel=1e-9
    )
    bounded = find_crossings(
        lambda w, x: (x**2 / (1 + x**2), 2 * x / (1 + x**2) ** 2), *given, target
    )
    assert bounded[0] == np.inf
    below = find_crossings(
        lambda w, x: (x**2 / (1 + x**2), nothing), np.zeros(1), -np.ones(1), target
    )
    assert below[0] == -np.inf
    jump = find_crossings(
        lambda w, x: (np.where(x < 1.7, 0.1 * x**2, np.inf), nothing), *given, target
    )
    assert jump[0] == pytest.approx(1.7, rel=1e-9)


LO = np.array([0.0, -1.5, -0.2])
HI = np.array([3.0, 2.0, 40.0])
LOG_N = np.array([4.0, 3.0, 5.5])


def in_phi(
    of: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, ...]],
) -> Callable[..., tuple[Any, ...]]:
    """An objective in θ from one in φ = log(1 + θ·hi) − log(1 + θ·lo), with its slope and curvature
    there.
    """

    def objective(rows: np.ndarray, theta: np.ndarray) -> tuple[np.ndarray, ...]:
        a = HI[rows, None]
        b = LO[rows, None]
        phi = np.log1p(theta * a) - np.log1p(theta * b)
        first = a / (1 + theta * a) - b / (1 + theta * b)
        second = -((a / (1 + theta * a)) ** 2) + (b / (1 + theta * b)) ** 2
        f, slope, bend = of(rows, phi)
        return f, slope * first, bend * first**2 + slope * second

    return objective


@pytest.mark.parametrize("at", [-20.0, -16.0, -9.3, -4.5, -0.9, 0.0, 0.07, 1.4, 7.7, 15.5, 70.0])
def test_a_valley_is_found_wherever_it_lies(at: float) -> None:
    """Witness: √(1 + (φ − at)²), whose minimum 1 is at φ = at: on the grid, beside it next to the
    end point, and in a heavier tail than it has; with a start near it, elsewhere, or NaN; alone in
    plain numbers."""
    places = at * np.array([1.0, 0.9, 1.1])

    def root(which: np.ndarray, phi: np.ndarray) -> tuple[np.ndarray, ...]:
        gap = phi - places[which, None]
        f = np.sqrt(1 + gap**2)
        return f, gap / f, f**-3

    objective = in_phi(root)
    # next to the lower end of negative values, 1 + θ·lo = e^−70 is 0
    rows = np.arange(3 if abs(at) < 30 else 1)
    ends = LO[rows], HI[rows], LOG_N[rows]
    wanted, near = (np.expm1(p) / (HI - LO * np.exp(p)) for p in (places, 0.97 * places))
    for start in (
        None,
        near[rows],
        np.full(rows.size, np.nan),
        np.full(rows.size, 0.1),
        -0.2 / HI[rows],
    ):
        theta, value = minimise_over_tail(objective, *ends, start)
        np.testing.assert_allclose(value, 1.0, atol=1e-9)
        np.testing.assert_allclose(theta, wanted[rows], rtol=1e-6, atol=1e-9)
    first = np.zeros(1, dtype=np.intp)

    def plain(theta: float) -> tuple[float, ...]:
        return tuple(float(part[0, 0]) for part in objective(first, np.array([[theta]])))

    for start in (None, near[:1], np.full(1, 0.1)):
        theta, value = minimise_over_tail(objective, *(end[:1] for end in ends), start, plain)
        assert value[0] == pytest.approx(1.0, abs=1e-9)
        assert theta[0] == pytest.approx(wanted[0], rel=1e-6, abs=1e-9)


def test_a_minimum_on_a_point_of_the_grid() -> None:
    """−.8 log n is one: the slope is 0 there, neither below nor above."""
    places = -0.8 * LOG_N

    def square(which: np.ndarray, phi: np.ndarray) -> tuple[np.ndarray, ...]:
        gap = phi - places[which, None]
        gap[np.abs(gap) < 1e-9] = 0.0
        return gap**2, 2 * gap, 0 * gap + 2

    theta, value = minimise_over_tail(in_phi(square), LO, HI, LOG_N)
    assert (value == 0).all()
    np.testing.assert_allclose(np.log1p(theta * HI) - np.log1p(theta * LO), places, rtol=1e-9)


def test_narrow_valleys_and_none() -> None:
    """A dent of width .3 between two points of the coarse grid, which the dense one finds; of two
    valleys the lower; none where the objective rises or falls throughout."""
    rows = np.arange(3)
    places = np.array([-7.6, -4.1, -10.5])

    def dent(which: np.ndarray, phi: np.ndarray) -> tuple[np.ndarray, ...]:
        z = (phi - places[which, None]) / 0.3
        e = np.exp(-z * z)
        return 0.01 * phi - e, 0.01 + 2 * z * e / 0.3, (2 - 4 * z * z) * e / 0.09

    theta, value = minimise_over_tail(in_phi(dent), LO, HI, LOG_N)
    found = np.log1p(theta * HI) - np.log1p(theta * LO)
    np.testing.assert_allclose(found, places, atol=0.001)
    np.testing.assert_allclose(value, 0.01 * places - 1, atol=1e-4)

    def two(which: np.ndarray, phi: np.ndarray) -> tuple[np.ndarray, ...]:
        tilt = np.array([0.02, -0.02, 0.02])[which, None]
        return (
            (phi**2 - 9) ** 2 / 40 + tilt * phi,
            (phi**2 - 9) * phi / 10 + tilt,
            (3 * phi**2 - 9) / 10,
        )

    theta, value = minimise_over_tail(in_phi(two), LO, HI, LOG_N)
    found = np.log1p(theta * HI) - np.log1p(theta * LO)
    assert np.sign(found).tolist() == [-1, 1, -1]
    np.testing.assert_allclose(np.abs(found), 3.0, atol=0.02)
    for sign in (1.0, -1.0):
        theta, value = minimise_over_tail(
            in_phi(lambda which, phi, sign=sign: (sign * phi, sign + 0 * phi, 0 * phi)),
            LO,
            HI,
            LOG_N,
        )
        assert np.isnan(theta).all()
        assert (value == np.inf).all()
    assert rows.size == theta.size


def test_cofactors_are_inverses() -> None:
    """Witness: `numpy.linalg`; one singular matrix of a batch gives no exception."""
    rng = np.random.default_rng(2)
    matrix = rng.normal(size=(5, 3, 3))
    matrix = matrix + matrix.transpose(0, 2, 1)
    vector = rng.normal(size=(5, 3))
    adjugate, determinant = cofactors(matrix)
    np.testing.assert_allclose(determinant, np.linalg.det(matrix), rtol=1e-10)
    wanted = np.linalg.solve(matrix, vector[:, :, None])[:, :, 0]
    np.testing.assert_allclose(solved(adjugate, determinant, vector), wanted, rtol=1e-8)
    with np.errstate(all="ignore"):
        assert not np.isfinite(solved(*cofactors(np.ones((1, 3, 3))), vector[:1])).any()


def test_batch_is_the_same_as_one_by_one() -> None:
    """Rows filled up with zeros, and fits alone, give the same numbers."""
    rng = np.random.default_rng(8)
    parts = [rng.exponential(size=n) for n in (12, 30, 55)]
    padded = np.zeros((3, 55))
    for row, part in zip(padded, parts, strict=True):
        row[: part.size] = part
    together = fit_gpd_samples(Samples.from_excesses(padded, np.array([12.0, 30.0, 55.0])))
    for i, part in enumerate(parts):
        alone = fit_gpd_samples(Samples.from_excesses(part[None, :]))
        assert together.shape[i] == pytest.approx(alone.shape[0], abs=1e-10)
        assert together.scale[i] == pytest.approx(alone.scale[0], rel=1e-10)
        assert together.nll[i] == pytest.approx(alone.nll[0], abs=1e-10)
        np.testing.assert_allclose(together.covariance[i], alone.covariance[0], rtol=1e-8)


@pytest.mark.parametrize("penalised", [False, True])
def test_standard_parameters_are_those_of_the_data(penalised: bool) -> None:
    """ξ = θ/ν, and the level with ℓ = log λ (log q) has the likelihood's parameters: σ = unit/ν
    above the threshold; σ = unit·q^ξ/ν and μ = centre + unit·(q^ξ − 1)/θ of maxima. At the edge ξ =
    −1 the end point is the largest value. Likelihoods by SciPy."""
    rng = np.random.default_rng(4)
    y = np.stack([gpd_series(rng, shape, 35) for shape in (-1.8, -0.3, 0.2, 0.9)])
    fits = fit_gpd_samples(Samples.from_excesses(3 * y), penalised=penalised)
    samples = Samples.from_excesses(3 * y)
    assert fits.at_boundary.tolist() == [True, False, False, False]
    np.testing.assert_allclose(fits.theta / fits.nu, fits.shape, atol=1e-12)
    np.testing.assert_allclose(samples.unit / fits.nu, fits.scale, rtol=1e-12)
    assert fits.scale[0] == pytest.approx(3 * y[0].max(), rel=1e-12)
    nll = [
        -genpareto.logpdf(3 * row, c, scale=s).sum()
        for row, c, s in zip(y, fits.shape, fits.scale, strict=True)
    ]
    np.testing.assert_allclose(fits.nll[1:], nll[1:], rtol=1e-9)
    assert fits.nll[0] == pytest.approx(35 * np.log(3 * y[0].max()), rel=1e-12)
    assert np.isnan(fits.covariance[0]).all()
    x = 5 + 2 * np.stack(
        [
            np.asarray(power_ratio(-np.log(rng.exponential(size=35)), c))
            for c in (-1.8, -0.3, 0.1, 0.6)
        ]
    )
    samples = Samples.from_maxima(x)
    fits = fit_gev_samples(samples, penalised=penalised)
    assert fits.at_boundary.tolist() == [True, False, False, False]
    np.testing.assert_allclose(fits.theta / fits.nu, fits.shape, atol=1e-12)
    log_q = GevLikelihood(samples, fits).log_rate[1:]
    inner = fits.theta[1:], fits.nu[1:], fits.shape[1:]
    scale = samples.unit[1:] * np.exp(inner[2] * log_q) / inner[1]
    location = samples.centre[1:] + samples.unit[1:] * np.expm1(inner[2] * log_q) / inner[0]
    np.testing.assert_allclose(fits.params[1:, :2], np.stack([location, scale], -1), rtol=1e-9)
    gap = x[0].max() - x[0].mean()
    np.testing.assert_allclose(fits.params[0], [x[0].mean(), gap, -1.0], rtol=1e-12)
    assert samples.unit[0] / fits.nu[0] == pytest.approx(gap, rel=1e-12)
    for row, (mu, s, c), ours in zip(x[1:], fits.params[1:], fits.nll[1:], strict=True):
        assert ours == pytest.approx(-scipy_gev(c, mu, s).logpdf(row).sum(), abs=1e-8)
    assert fits.nll[0] == pytest.approx(35 * (np.log(gap) + 1), rel=1e-12)
    assert np.isnan(fits.covariance[0]).all()


def test_parameters_from_population_lmoments() -> None:
    """Hosking & Wallis: uniform (½, 1/6), exponential (1, ½).

    Gumbel (γ, log 2, .1699·log 2) to 1e-3.
    """
    l1 = np.array([0.5, 1.0])
    l2 = np.array([1 / 6, 0.5])
    np.testing.assert_allclose(gpd_from_lmoments(l1, l2), [[1.0, -1.0], [1.0, 0.0]], atol=1e-12)
    third = np.log(2.0) * 0.169925
    found = gev_from_lmoments(np.array(np.euler_gamma), np.array(np.log(2.0)), np.array(third))
    np.testing.assert_allclose(found, [0.0, 1.0, 0.0], atol=1e-3)


def test_sample_lmoments_are_means_of_order_statistics() -> None:
    """Witness: l₂ and l₃ by all pairs and triples (Hosking 1990), also of rows that begin with
    zeros.
    """
    x = np.sort(np.random.default_rng(1).gumbel(size=9))
    pairs = np.array(list(combinations(x, 2)))
    triples = np.array(list(combinations(x, 3)))
    second = (pairs[:, 1] - pairs[:, 0]).mean() / 2
    third = (triples[:, 2] - 2 * triples[:, 1] + triples[:, 0]).mean() / 3
    rows = np.stack([x, np.append(np.zeros(3), x[:6])])
    found = sample_lmoments(rows, np.array([9.0, 6.0]))
    np.testing.assert_allclose([part[0] for part in found], [x.mean(), second, third], rtol=1e-12)
    np.testing.assert_allclose([part[1] for part in found], sample_lmoments(x[:6]), rtol=1e-12)


@pytest.mark.parametrize("shape", [-1.0, -0.5, -1e-9, 0.0, 1e-11, 3e-9, 1e-7, 0.4, 1.5])
def test_the_exponential_scale_of_a_value(shape: float) -> None:
    """Witness: log1p in extended precision; −∞ and +∞ beyond the support."""
    z = np.array([-0.6, -1e-3, 0.0, 1e-9, 0.3, 0.9])
    long = z.astype(np.longdouble)
    wanted = np.log1p(np.longdouble(shape) * long) / np.longdouble(shape) if shape else long
    np.testing.assert_allclose(exponential_scale(z, shape), wanted.astype(float), rtol=1e-14)
    if abs(shape) > 0.1:
        beyond = exponential_scale(np.array([-1.1 / shape, -1 / shape]), shape)
        assert (beyond == (np.inf if shape < 0 else -np.inf)).all()


def test_densities_at_the_ends() -> None:
    """By hand: ξ = −1 is uniform on [0, σ], and the reversed exponential for maxima.

    Ends belong to them.
    """
    y = np.array([-1e-9, 0.0, 1.0, 2.0, 2.0 + 1e-9])
    np.testing.assert_allclose(gpd_logpdf(y, 2.0, -1.0), [-np.inf, *[-np.log(2)] * 3, -np.inf])
    np.testing.assert_allclose(
        gpd_logpdf(np.array([0.0, 1.0]), 2.0, 0.5), [-np.log(2), -np.log(2) - 3 * np.log(1.25)]
    )
    x = np.array([-3.0, 0.5, 1.0, 1.0 + 1e-9])
    np.testing.assert_allclose(gev_logpdf(x, 0.0, 1.0, -1.0), [-4.0, -0.5, 0.0, -np.inf], atol=1e-9)


def test_a_value_at_its_end_point_is_infinite_without_a_warning() -> None:
    """1 + θy rounds to 0 there; the suite turns a RuntimeWarning into an error."""
    v, first, second = exponential_scale_partials(np.array([[1.0, 2.0]]), np.array([-0.5]))
    assert v[0, 0] == pytest.approx(2 * np.log(2), rel=1e-15)
    assert v[0, 1] == np.inf
    assert not np.isfinite(first[0, 1])
    assert not np.isfinite(second[0, 1])


def test_newton_where_its_steps_go_to_and_fro() -> None:
    """The slope |x − a|^.502: from a + d Newton's step goes to a − .992 d, and half of d is left
    after 80.
    """
    a = np.array([0.3, -1.2, 0.0])
    power = 0.502

    def objective(rows: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        gap = x - a[rows, None]
        size = np.abs(gap)
        return size ** (1 + power), np.sign(gap) * size**power, power * size ** (power - 1)

    found = newton_in_bracket(objective, np.arange(3), a + 0.5, a - 0.9, a + 1.0)
    assert found == pytest.approx(a, abs=1e-7)  # steps end at 1e-8 of 1 + |x|

    def one(theta: float) -> tuple[float, float, float]:
        # the same in φ = log(1 + θ), the parameter of the search for lo = 0 and hi = 1
        phi = np.log1p(theta)
        value, slope, curvature = (
            part[0, 0] for part in objective(np.zeros(1, int), np.array([[phi]]))
        )
        return value, slope / (1 + theta), (curvature - slope) / (1 + theta) ** 2

    lo = np.zeros(1)
    hi = np.ones(1)
    theta, _ = minimise_over_tail(objective, lo, hi, hi, start=np.expm1(np.array([0.8])), one=one)
    assert np.log1p(theta) == pytest.approx(0.3, abs=1e-7)


MAXIMA = 5 + 2 * np.asarray(power_ratio(np.random.default_rng(8).gumbel(size=60), np.array(-0.35)))
PAIRS = {"shape": 2, "location": 0, "scale": 1, "level": 3, "end point": 4, "period": 5}


@pytest.mark.parametrize("what", PAIRS)
def test_intervals_of_maxima_by_another_optimiser(what: str) -> None:
    """Witness: SciPy's density, maximised by a simplex over two parameters while the third is tied
    to the end of the interval: twice the fall is the χ² quantile, to 1e-5 of a simplex that stops
    at 1e-10."""
    fit = fit_gev(MAXIMA, backend="scipy")
    ends = {
        "level": lambda: fit.return_level(40).confidence_interval,
        "end point": lambda: fit.endpoint().confidence_interval,
        "period": lambda: fit.exceedance_probability(9.0).confidence_interval,
    }.get(what, lambda: fit.interval(what))()
    y = -np.log(-np.log1p(-1 / 40))

    def fixed(value: float, p: np.ndarray) -> tuple[float, float, float]:
        """μ, σ and ξ from log σ and another one."""
        scale = float(np.exp(p[0]))
        if what == "shape":
            return p[1], scale, value
        if what == "location":
            return value, scale, p[1]
        if what == "scale":
            return p[0], value, p[1]
        if what == "level":
            return value - scale * np.expm1(p[1] * y) / p[1], scale, p[1]
        if what == "end point":
            return value + scale / p[1], scale, p[1]
        s = -np.log(-np.log1p(-value))
        return 9.0 - scale * np.expm1(p[1] * s) / p[1], scale, p[1]

    def nll(p: np.ndarray, value: float) -> float:
        mu, scale, xi = fixed(value, p)
        with np.errstate(all="ignore"):
            found = -float(scipy_gev(xi, mu, scale).logpdf(MAXIMA).sum())
        return found if np.isfinite(found) else 1e9

    first = fit.location if what == "scale" else np.log(fit.scale)
    second = fit.location if what == "shape" else fit.shape
    tight = {"xatol": 1e-9, "fatol": 1e-10, "maxiter": 4000, "maxfev": 4000}
    assert 0 < ends.width < np.inf
    for end in ends:
        begin = [
            np.array([first + a, second + b]) for a in (-0.2, 0.0, 0.2) for b in (-0.1, 0.0, 0.1)
        ]
        start = min(begin, key=lambda p, end=end: nll(p, end))
        best = minimize(nll, start, args=(end,), method="Nelder-Mead", options=tight).fun
        assert 2 * (best - fit.nll) == pytest.approx(CRITICAL, abs=1e-5)
