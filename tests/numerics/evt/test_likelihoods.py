"""The kernels against SciPy's distributions, a dense search, finite differences and Nelder–Mead."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import genextreme, genpareto

from fairstats.numerics.evt import EvtFit
from fairstats.numerics.evt.contour import (
    contour_extremes,
    log_scale_interest,
    return_level_interest,
    shape_interest,
)
from fairstats.numerics.evt.distributions import (
    exponential_scale_partials,
    gev_from_lmoments,
    gev_logpdf,
    gpd_from_lmoments,
    gpd_logpdf,
    mean_exponential_scale,
    power_ratio,
    power_ratio_shape_derivative,
)
from fairstats.numerics.evt.gev import GevLikelihood, fit_gev_samples
from fairstats.numerics.evt.gpd import GpdLikelihood, fit_gpd_samples
from fairstats.numerics.evt.intervals import level_ends
from fairstats.numerics.evt.likelihood import Samples, level_profile
from fairstats.numerics.evt.optimise import minimise_over_tail, newton_in_bracket

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
            [alone.scale[0], alone.shape[0]], [together.scale[i], together.shape[i]], rtol=1e-7, atol=1e-9
        )
    for theta in (-0.9 / y[1].max(), -1e-6, 0.0, 1e-4, 0.3, 20.0):
        plain = [v.mean() for v in exponential_scale_partials(y[1], np.array(theta))]
        several = mean_exponential_scale(y[1:2], np.array([n]), y[1:2].max(axis=1), np.array([[theta]]))
        np.testing.assert_allclose([float(a[0, 0]) for a in several], plain, rtol=1e-9)


def known(model: str, **params: float) -> EvtFit:
    """A fit with these parameters, whatever the sample."""
    nothing = np.full((len(params), len(params)), np.nan)
    rest = (None, None, "mle", True, False, 0.95, "none")
    return EvtFit(model, params, nothing, 0.0, np.arange(10.0), 10, *rest)


def test_distributions_are_scipys() -> None:
    for shape in SHAPES:
        fitted = known("gpd", scale=2.0, shape=shape), known("gev", location=3.0, scale=2.0, shape=shape)
        for fit, law in zip(fitted, (genpareto(shape, scale=2.0), scipy_gev(shape, 3.0, 2.0)), strict=True):
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
    assert gpd_logpdf(1.0, 1.0, -1.0) == 0.0  # the end point of the uniform distribution belongs to it
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
    means = mean_exponential_scale(y[None, :], np.array([5.0]), np.array([3.0]), np.array([[theta]]))
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
    """Never above a dense grid of θ and the edge ξ = −1, and the likelihood of the parameters returned."""
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
    """Observed information by fourth-order differences in long double: 1e-6, where R's own differ by 2e-3."""
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
                total = sum(wa * wb * at(a, b) for a, wa in weights.items() for b, wb in weights.items())
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
        centre = float(power_ratio(np.log(m_lambda), likelihood.fits.shape[0])) / likelihood.fits.nu[0]
        levels = centre * np.array([-0.3, 0.6, 1.0, 1.5])
        points = level_profile(likelihood, np.zeros(4, dtype=int), levels, np.full(4, log_m))
        for d, value, theta, nu in zip(levels, points.value, points.theta, points.nu, strict=True):

            def nll(p: np.ndarray, d: float = d, log_m: float = log_m) -> float:
                scale, xi = np.exp(p[0]), p[1]
                if 1 + xi * min(z.max() / scale, d / scale) <= 0 or 1 + xi * max(z.max(), d) / scale <= 0:
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
            starts = [at_minimum, np.array([-np.log(likelihood.fits.nu[0]), likelihood.fits.shape[0] + 1e-9])]
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
        d, tau, h = np.array([4.0]), np.array([5.0]), 1e-5
        for in_offset in (False, True):
            ends = [
                level_profile(likelihood, row, d + s * h * (not in_offset), tau + s * h * in_offset).value[0]
                for s in (-1.0, 1.0)
            ]
            slope = level_profile(likelihood, row, d, tau, in_offset=in_offset).slope[0]
            assert slope == pytest.approx((ends[1] - ends[0]) / (2 * h), rel=1e-6)


@pytest.mark.parametrize("family", ["gpd", "gev"])
@pytest.mark.parametrize("shape", [-0.4, 0.0, 0.5])
def test_contour_and_search_agree(family: str, shape: float) -> None:
    """Two ways to the ends of an interval: Lagrange conditions, and a bracketed search on the profile."""
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
    rows, side, target = np.tile(np.arange(30), 2), np.repeat([-1.0, 1.0], 30), np.full(60, CRITICAL)
    for m in periods:
        tau = np.full(30, np.log(m) if family == "gpd" else -np.log(-np.log1p(-1 / m)))
        d = np.asarray(power_ratio((likelihood.log_rate + tau) / likelihood.fits.nu, likelihood.fits.theta))
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
    side, target = np.repeat([-1.0, 1.0], 20), np.full(40, CRITICAL)
    xi = contour_extremes(likelihood, rows, shape_interest(), side, target)
    assert np.isfinite(xi).all()
    deviance = 2.0 * (
        shape_profile(likelihood, rows, xi, likelihood.fits.nu[rows]).value - likelihood.minimum()[rows]
    )
    np.testing.assert_allclose(deviance, CRITICAL, atol=1e-6)
    log_scale = contour_extremes(likelihood, rows, log_scale_interest(None), side, target)
    nu = np.exp(-log_scale)
    deviance = 2.0 * (
        scale_profile(likelihood, rows, nu, likelihood.fits.theta[rows]).value - likelihood.minimum()[rows]
    )
    np.testing.assert_allclose(deviance, CRITICAL, atol=1e-6)


@pytest.mark.parametrize("goal", ["level", "shape", "block scale"])
def test_goal_derivatives(goal: str) -> None:
    tau, unit = np.array([np.log(400.0)]), np.array([2.0])
    made = {
        "level": return_level_interest(tau, unit),
        "shape": shape_interest(),
        "block scale": log_scale_interest(tau),
    }[goal]
    row = np.zeros(1, dtype=int)
    for point in ([0.2, 1.1, -3.0], [-0.15, 0.9, -3.2], [1e-9, 1.0, -3.0]):
        p = np.array(point)

        def value(q: np.ndarray) -> float:
            return float(made(row, q[:1], q[1:2], q[2:])[0][0])

        _, gradient, hessian = made(row, p[:1], p[1:2], p[2:])
        h = 1e-4
        for i in range(3):
            step = np.eye(3)[i] * h
            assert gradient[0, i] == pytest.approx((value(p + step) - value(p - step)) / (2 * h), abs=2e-6)
            second = (value(p + step) - 2 * value(p) + value(p - step)) / h**2
            assert hessian[0, i, i] == pytest.approx(second, abs=2e-5)
        np.testing.assert_allclose(hessian[0], hessian[0].T)


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


def test_parameters_from_population_lmoments() -> None:
    """Hosking & Wallis: uniform (½, 1/6), exponential (1, ½); Gumbel (γ, log 2, .1699·log 2) to 1e-3."""
    l1, l2 = np.array([0.5, 1.0]), np.array([1 / 6, 0.5])
    np.testing.assert_allclose(gpd_from_lmoments(l1, l2), [[1.0, -1.0], [1.0, 0.0]], atol=1e-12)
    third = np.log(2.0) * 0.169925
    found = gev_from_lmoments(np.array(np.euler_gamma), np.array(np.log(2.0)), np.array(third))
    np.testing.assert_allclose(found, [0.0, 1.0, 0.0], atol=1e-3)


def test_a_value_at_its_end_point_is_infinite_without_a_warning() -> None:
    """1 + θy rounds to 0 there; the suite turns a RuntimeWarning into an error."""
    v, first, second = exponential_scale_partials(np.array([[1.0, 2.0]]), np.array([-0.5]))
    assert v[0, 0] == pytest.approx(2 * np.log(2), rel=1e-15)
    assert v[0, 1] == np.inf
    assert not np.isfinite(first[0, 1])
    assert not np.isfinite(second[0, 1])


def test_newton_where_its_steps_go_to_and_fro() -> None:
    """The slope |x − a|^.502: from a + d Newton's step goes to a − .992 d, and half of d is left after 80."""
    a, power = np.array([0.3, -1.2, 0.0]), 0.502

    def objective(rows: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        gap = x - a[rows, None]
        size = np.abs(gap)
        return size ** (1 + power), np.sign(gap) * size**power, power * size ** (power - 1)

    found = newton_in_bracket(objective, np.arange(3), a + 0.5, a - 0.9, a + 1.0)
    assert found == pytest.approx(a, abs=1e-7)  # steps end at 1e-8 of 1 + |x|

    def one(theta: float) -> tuple[float, float, float]:
        # the same in φ = log(1 + θ), the parameter of the search for lo = 0 and hi = 1
        phi = np.log1p(theta)
        value, slope, curvature = (part[0, 0] for part in objective(np.zeros(1, int), np.array([[phi]])))
        return value, slope / (1 + theta), (curvature - slope) / (1 + theta) ** 2

    lo, hi = np.zeros(1), np.ones(1)
    theta, _ = minimise_over_tail(objective, lo, hi, hi, start=np.expm1(np.array([0.8])), one=one)
    assert np.log1p(theta) == pytest.approx(0.3, abs=1e-7)
