"""Rounded values: the likelihood of cells, its derivatives, and what it says beside the unrounded
values.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import genpareto

import fairstats as fs
from fairstats.ground.errors import InputError
from fairstats.numerics.evt import EvtFit, fit_gpd, fit_point_process
from fairstats.numerics.evt.grid import GridLikelihood, cells_of, grid_width
from fairstats.numerics.evt.likelihood import level_profile
from fairstats.numerics.evt.optimise import tail_parameter

H = 0.01


def series(shape: float, seed: int = 1, k: int = 200) -> np.ndarray:
    """20k values, of which about k exceed .3 by generalised Pareto excesses of scale .05."""
    rng = np.random.default_rng(seed)
    tail = 0.3 + genpareto.rvs(shape, scale=0.05, size=k, random_state=rng)
    return np.r_[0.3 * rng.random(19 * k), tail]


def fitted(shape: float, **change: object) -> EvtFit:
    return fit_gpd(np.round(series(shape), 2), 0.3, backend="scipy", **change)  # type: ignore[arg-type]


@pytest.mark.parametrize("shape", [-0.8, -0.3, 0.0, 0.2])
def test_the_fit_against_masses_of_scipy(shape: float) -> None:
    """Witness: masses of cells by `scipy.stats.genpareto`, maximised by a simplex, which reaches
    1e-6.
    """
    fit = fitted(shape)
    place, count = cells_of(fit.sample, fit.origin, H)

    def nll(p: np.ndarray) -> float:
        if p[1] < -1:
            return 1e9
        law = genpareto(p[1], scale=np.exp(p[0]))
        return float(
            -(count * np.log(np.maximum(law.sf(place * H) - law.sf((place + 1) * H), 1e-300))).sum()
        )

    tight = {"xatol": 1e-10, "fatol": 1e-12, "maxiter": 5000}
    best = min(
        (
            minimize(nll, [np.log(0.05), xi], method="Nelder-Mead", options=tight)
            for xi in (shape, -0.5, 0.1)
        ),
        key=lambda found: found.fun,
    )
    assert fit.nll == pytest.approx(best.fun, abs=1e-6)
    np.testing.assert_allclose(
        [fit.scale, fit.shape], [np.exp(best.x[0]), best.x[1]], rtol=1e-5, atol=1e-6
    )
    assert fit.grid == pytest.approx(H)
    assert "grid of width 0.01" in str(fit)


def test_derivatives() -> None:
    """Central differences of step 1e-5, whose error is 1e-6."""
    x = np.round(series(-0.2)[-200:], 2)
    one = GridLikelihood.of(x, float(x.min()) - H / 2, H, 4000.0, "binomial")
    rows = np.zeros(1, dtype=np.intp)
    theta = np.array([[0.02, -0.004, 0.0]])
    nu = np.array([[0.2, 0.3, 0.25]])
    _, f_t, f_v, f_tt, f_tv, f_vv = one.partials(rows, theta, nu)
    e = 1e-5
    up, down = (one.partials(rows, theta + s * e, nu) for s in (1, -1))
    more, less = (one.partials(rows, theta, nu + s * e) for s in (1, -1))
    for ours, (a, b) in (
        (f_t, (up[0], down[0])),
        (f_v, (more[0], less[0])),
        (f_tt, (up[1], down[1])),
        (f_tv, (more[1], less[1])),
        (f_vv, (more[2], less[2])),
    ):
        np.testing.assert_allclose(ours, (a - b) / (2 * e), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("counts", [[10.0, 0.0], [8.0, 1.0], [17.0, 1.0]])
def test_values_that_leave_no_curvature_have_no_standard_error(counts: list[float]) -> None:
    """Nearly all in the lowest cell: the information is singular, once an error of NumPy's."""
    with np.errstate(all="ignore"):
        fits = GridLikelihood.of_counts(np.arange(2.0), np.array([counts]), 0.01, 1e3, "fixed").fits
    variances = fits.covariance[0, [0, 1], [0, 1]]
    assert np.isfinite(fits.params).all()
    assert np.isnan(variances).all() or (variances > 0).all()


@pytest.mark.parametrize("k", [25, 50, 100])
def test_level_profile_against_a_dense_search(k: int) -> None:
    """Logistic scores with a near end point, where the curvature jumps as a cell loses its upper
    end.

    Witness: the lowest of 6,001 points between −12 and 12 of φ. The profile is as low, to 1e-7
    (Newton's last step), and lower by at most what such a grid misses, .004²/8 of a curvature of up
    to 800."""
    x = np.round(1 / (1 + np.exp(1 - np.random.default_rng(1).normal(size=25_000))), 2)
    fit = fit_gpd(x, float(np.sort(x)[-k - 1]), grid=H, backend="scipy")
    tail = fit._profile_likelihood()
    one = tail.standard
    tau = np.log(1000.0)
    d = (np.linspace(fit.threshold, x.max() + 0.1, 60) - tail.origin) / tail.unit
    profile = level_profile(one, np.zeros(60, dtype=np.intp), d, np.full(60, tau)).value
    low = np.minimum(one.samples.lower, d)
    high = np.maximum(one.samples.upper, d)
    theta = tail_parameter(np.linspace(-12, 12, 6001), low[:, None], high[:, None])[0]
    with np.errstate(all="ignore"):
        values = [
            one.level(np.zeros(1, dtype=np.intp), t[None], g[None], np.array([tau]))[0]
            for t, g in zip(theta, d, strict=True)
        ]
    dense = np.nanmin(values, axis=(1, 2))
    assert (profile - dense).max() < 1e-7
    assert (dense - profile).max() < 2e-3


@pytest.mark.parametrize("shape", [-0.3, 0.2])
def test_little_is_lost_by_rounding(shape: float) -> None:
    """The same data unrounded, above the same threshold.

    A dozen cells cost under a tenth of the widths.
    """
    rounded = fitted(shape)
    plain = fit_gpd(series(shape), rounded.origin, grid=None, backend="scipy")
    for ours, wanted in (
        (rounded.interval("shape"), plain.interval("shape")),
        (
            rounded.return_level(1000).confidence_interval,
            plain.return_level(1000).confidence_interval,
        ),
    ):
        assert ours.width == pytest.approx(wanted.width, rel=0.15)
        np.testing.assert_allclose(list(ours), list(wanted), atol=0.2 * wanted.width)


@pytest.mark.slow
def test_coverage_beside_the_unrounded() -> None:
    """60 samples, ξ = −.2, k = 50.

    Levels cover as often as unrounded ones do, less three paired errors.
    """
    rng = np.random.default_rng(5)
    truth = float(genpareto.isf(20 / 1000, -0.2, scale=0.05))
    inside = []
    for _ in range(60):
        x = genpareto.rvs(-0.2, scale=0.05, size=50, random_state=rng)
        fits = [
            fit_gpd(v, u, n_total=1000, backend="scipy", grid=g)
            for v, u, g in ((x, 0.0, None), ((np.floor(x / 0.02) + 0.5) * 0.02, 0.0, 0.02))
        ]
        inside.append([truth in f.return_level(1000 / 1.0).confidence_interval for f in fits])
    plain, rounded = np.array(inside).T
    spread = np.sqrt(max((plain != rounded).sum(), 1)) / 60
    assert rounded.mean() >= plain.mean() - 0.015 - 3 * spread


def test_a_grid_is_found() -> None:
    x = series(-0.2)[-200:]
    assert grid_width(np.round(x, 2)) == pytest.approx(0.01, rel=1e-12)
    assert grid_width(np.round(x * 250) / 250) == pytest.approx(0.004, rel=1e-12)
    assert grid_width(np.round(x, 2) - np.round(0.3 * x, 2)) == pytest.approx(0.01, rel=1e-9)
    assert grid_width(x) == 0
    assert grid_width(np.full(5, 0.3)) == 0


def test_widths_by_hand() -> None:
    """Common divisors of the steps.

    None of one value, of steps below rounding, of over 100,000 cells.
    """
    assert grid_width(np.array([0.0, 6.0, 15.0])) == 3.0
    assert grid_width(np.array([7.0, 7.0, 9.5])) == 2.5
    assert grid_width(np.array([1.0, 1.0 + 1e-15, 3.0])) == pytest.approx(2.0, rel=1e-12)
    assert grid_width(np.array([])) == 0.0
    whole = np.array([0.0, 1.0, 100_000.0])
    assert grid_width(whole) == 1.0
    assert grid_width(np.append(whole, 100_001.0)) == 0.0
    assert grid_width(np.array([0.0, 1.0, 2.0, 3.0 + 1e-13])) == pytest.approx(1.0, rel=1e-12)
    assert grid_width(np.array([0.0, 1.0, 2.0, 3.0 + 1e-7])) == 0.0
    assert grid_width(np.array([0.0, 1.0, np.sqrt(2.0), np.pi])) == 0.0
    place, count = cells_of(np.array([0.25, 0.35, 0.25, 0.65]), 0.2, 0.1)
    assert (place.tolist(), count.tolist()) == ([0.0, 1.0, 4.0], [2.0, 1.0, 1.0])


@pytest.mark.parametrize("shape", [-0.3, 0.0, 0.3])
def test_standard_errors_on_a_grid(shape: float) -> None:
    """Witness: the inverse of second differences of the log likelihood of masses by SciPy, to 1e-4
    of the largest; a rate has no part in it."""
    fit = fitted(shape)
    place, count = cells_of(fit.sample, fit.origin, H)

    def nll(scale: float, xi: float) -> float:
        law = genpareto(xi, scale=scale)
        return float(-(count * np.log(law.sf(place * H) - law.sf((place + 1) * H))).sum())

    at = np.array([fit.scale, fit.shape])
    steps = np.array([1e-4 * fit.scale, 1e-4])
    information = np.empty((2, 2))
    for i in range(2):
        for j in range(2):
            a = np.eye(2)[i] * steps
            b = np.eye(2)[j] * steps
            ends = nll(*(at + a + b)) - nll(*(at + a - b)) - nll(*(at - a + b)) + nll(*(at - a - b))
            information[i, j] = ends / (4 * steps[i] * steps[j])
    wanted = np.linalg.inv(information)
    spread = np.sqrt(np.outer(np.diag(wanted), np.diag(wanted)))
    np.testing.assert_allclose(fit.covariance / spread, wanted / spread, atol=1e-4)
    assert fit.regular
    assert np.isnan(fitted(-0.8).covariance).all()


def test_untied_values_are_taken_as_they_are() -> None:
    x = series(-0.2)
    assert fit_gpd(x, 0.3, backend="scipy").grid is None
    assert fit_gpd(np.round(x, 5), 0.3, backend="scipy").grid is None


def test_tests_and_goodness_of_fit() -> None:
    fit = fitted(-0.2)
    level = fit.return_level(1000).estimate
    assert fit.test_return_level(1000, level, method="profile").pvalue == pytest.approx(1, abs=1e-6)
    assert fit.goodness_of_fit(n_resamples=99, rng=1).pvalue > 0.05
    rng = np.random.default_rng(1)
    bent = np.round(np.r_[0.3 * rng.random(3800), 0.3 + 0.1 * rng.beta(30, 30, 200)], 2)
    assert fit_gpd(bent, 0.3, backend="scipy").goodness_of_fit(n_resamples=99, rng=1).pvalue < 0.05


def test_the_point_process_on_a_grid() -> None:
    x = np.round(series(-0.2), 2)
    process = fit_point_process(x, 0.3, 1000, backend="scipy")
    assert process.grid == pytest.approx(H)
    assert process.location == pytest.approx(process.return_level(1000).estimate, abs=1e-10)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"grid": 0.003}, "multiples"),
        ({"grid": -1}, "above 0"),
        ({"grid": "yes"}, "auto"),
        ({"grid": 0.01, "method": "lmoments"}, "L-moments"),
    ],
)
def test_bad_grids(change: dict[str, object], match: str) -> None:
    with pytest.raises(InputError, match=match):
        fitted(-0.2, **change)


def test_three_cells_are_refused() -> None:
    x = np.repeat([0.1, 0.2, 0.3, 0.4], [900, 60, 30, 10])
    with pytest.raises(InputError, match="3 cells"):
        fit_gpd(x, 0.15, backend="scipy")


def test_ecd_of_rounded_scores() -> None:
    """Each group by its cells, said so; the difference is near that of the unrounded scores."""
    rng = np.random.default_rng(3)
    cd = {"a": 0.3 * rng.beta(2, 8, 6000), "b": 0.5 * rng.beta(2, 8, 2000)}
    options = {
        "privileged": "a",
        "unprivileged": "b",
        "backend": "scipy",
        "n_resamples": 0,
        "threshold": 50,
    }
    found = fs.ecd({g: np.round(x, 2) for g, x in cd.items()}, **options)
    plain = fs.ecd(cd, **options)
    assert found.test == plain.test
    assert found.verdict == "violated"
    assert found.estimate == pytest.approx(
        plain.estimate, abs=0.3 * plain.confidence_interval.width
    )
    for tail in found.tails:
        assert tail.fit.grid == pytest.approx(H)
        assert tail.n_exceedances >= 50
        assert "grid of width 0.01" in tail.sentence


@pytest.mark.parametrize("decimals", [2, 3])
def test_ecd_with_a_grid_that_is_given(decimals: int) -> None:
    """Witness: fits of both tails by `fit_gpd` with that grid, above the lower end of the lowest
    cell.

    To .01 the width is found, and the numbers are the same; to .001 too few of the values of "b"
    are tied for that. Below it, and with half and twice the exceedances, all is by the fits."""
    rng = np.random.default_rng(3)
    cd = {"a": 0.3 * rng.beta(2, 8, 6000), "b": 0.5 * rng.beta(2, 8, 2000)}
    cd = {g: np.round(x, decimals) for g, x in cd.items()}
    h = 10.0**-decimals
    options = {
        "privileged": "b",
        "unprivileged": "a",
        "backend": "scipy",
        "n_resamples": 99,
        "threshold": 50,
        "rng": 1,
    }
    found = fs.ecd(cd, **options, grid=h)
    by_itself = fs.ecd(cd, **options)
    grids = [tail.fit.grid for tail in by_itself.tails]
    assert (
        grids == pytest.approx([h, h], rel=1e-9)
        if decimals == 2
        else grids == [None, pytest.approx(h)]
    )
    for tail in found.tails:
        fit = fit_gpd(cd[tail.group], tail.threshold, grid=h, backend="scipy")
        assert tail.fit.grid == h
        assert f"grid of width {h:g}" in tail.sentence
        assert tail.n_exceedances == fit.n_exceedances >= 50
        assert tail.fit.params == pytest.approx(fit.params, rel=1e-9)
        level = fit.return_level(1000)
        assert tail.level.estimate == pytest.approx(level.estimate, rel=1e-9)
        assert tuple(tail.level.confidence_interval) == pytest.approx(
            tuple(level.confidence_interval), rel=1e-7
        )
        assert tail.type.confidence_interval == fit.interval("shape")
    ours, theirs = (
        [c.estimate for c in (r.comparisons[0], *r.sensitivity)] for r in (found, by_itself)
    )
    assert len(ours) == 3
    if decimals == 2:
        assert ours == pytest.approx(theirs, rel=1e-8)
        assert tuple(found.bounds) == pytest.approx(tuple(by_itself.bounds), rel=1e-7)
        assert found["a"].goodness_pvalue == by_itself["a"].goodness_pvalue
    else:
        assert all(abs(a / b - 1) > 1e-5 for a, b in zip(ours[:2], theirs[:2], strict=True))


@pytest.mark.filterwarnings("ignore::fairstats.ground.errors.InsufficientEvidenceWarning")
def test_ecd_without_a_grid_or_with_a_fine_one() -> None:
    """None: unrounded values have the same numbers, rounded ones are ties, an order statistic of
    which stands in without the width. A given width widens where two values lie too far apart for
    one to be found; of 10,000 cells in the tail, which hold 50 values, the rounding is none that
    matters."""
    rng = np.random.default_rng(3)
    cd = {"a": 0.3 * rng.beta(2, 8, 6000), "b": 0.5 * rng.beta(2, 8, 2000)}
    options = {"backend": "scipy", "n_resamples": 0, "calibrated": False}
    plain = fs.ecd(cd, **options)
    assert fs.ecd(cd, **options, grid=None).confidence_interval == plain.confidence_interval
    fine = {g: np.round(x, 5) for g, x in cd.items()}
    given, exact = (fs.ecd(fine, **options, grid=h) for h in (1e-5, None))
    assert given.confidence_interval == exact.confidence_interval
    coarse = {**cd, "b": np.round(cd["b"], 1)}
    found, alone = (fs.ecd(coarse, **options, **how)["b"].level for how in ({}, {"grid": None}))
    assert alone.estimate == found.estimate
    assert alone.confidence_interval.low == pytest.approx(found.confidence_interval.low + 0.1)
    two = {**cd, "b": np.repeat([0.0, 0.2], [800, 200])}
    for how, width in (({}, 0.0), ({"grid": 0.2}, 0.2)):
        low, high = fs.ecd({"a": two["b"], "b": two["b"]}, **options, **how)[
            "b"
        ].level.confidence_interval
        assert (low, high) == pytest.approx((0.2 - width, 0.2 + width) if width else (0.2, 1.0))


@pytest.mark.parametrize(
    ("grid", "match"),
    [
        (0.003, "values of '[ab]' are no multiples"),
        (0, "above 0"),
        (-0.01, "above 0"),
        (2, "at most 1"),
        (float("nan"), "above 0"),
        (True, "above 0"),
        ([0.01], "above 0"),
        ("yes", "'auto'"),
    ],
)
def test_bad_grids_of_ecd(grid: object, match: str) -> None:
    cd = {g: np.round(series(-0.2, seed)[::3], 2) for g, seed in (("b", 1), ("a", 2))}
    with pytest.raises(InputError, match=match) as caught:
        fs.ecd(cd, grid=grid)  # type: ignore[arg-type]
    assert "`grid`" in str(caught.value)
    assert "To fix" in str(caught.value)


def test_goodness_of_fit_of_a_fine_grid() -> None:
    """Each value by itself has the likelihood of cells with their counts, empty ones, too (Newton
    to 1e-8).

    Witness of the p-value: the unrounded values above the same threshold, whose seeded draws are
    the same."""
    place = np.random.default_rng(1).geometric(0.02, (3, 50)).astype(float) - 1.0
    cells = np.arange(place.max() + 1.0)
    counts = np.stack([np.bincount(row.astype(int), minlength=cells.size) for row in place]).astype(
        float
    )
    one, other = (
        GridLikelihood.of_counts(at, number, H, 1000.0, "binomial").fits
        for at, number in ((cells, counts), (place, np.ones_like(place)))
    )
    np.testing.assert_allclose(one.params, other.params, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(one.covariance, other.covariance, rtol=1e-6)
    x = series(-0.2, k=50)
    fit = fit_gpd(np.round(x, 5), 0.3, grid=1e-5, backend="scipy")
    plain = fit_gpd(x, fit.origin, grid=None, backend="scipy")
    ours, theirs = (f.goodness_of_fit(n_resamples=199, rng=1).pvalue for f in (fit, plain))
    assert ours == pytest.approx(theirs, abs=0.05)


@pytest.mark.parametrize(
    ("power", "match"), [(0.6, "up to 9% and 14%"), (2.0, "do not hold where ξ < −1")]
)
@pytest.mark.filterwarnings("ignore:the likelihood has no maximum")
def test_near_end_points_on_a_grid_are_said_to_be_uncertain(power: float, match: str) -> None:
    """Witness of the figures: 200 samples of 1 − u^g on 8 cells of the tail, k = 50, N = 2,000."""
    x = 1 - np.random.default_rng(3).random(2000) ** power
    h = (50 / 2000) ** power / 7.5
    fit = fit_gpd(np.round(x / h) * h, 1 - 8 * h, grid=h, backend="scipy")
    assert fit.at_boundary == (power > 1)
    assert match in str(fit).replace("\n", " ")
    found = fit.endpoint()
    assert found.confidence_interval.low >= found.largest - h / 2 - 1e-12


def test_cells_of_half_multiples_are_counted_as_they_are() -> None:
    """.5, 1.5, 2.5 and 3.5 widths are four cells: rounded to even multiples they would be three."""
    x = np.repeat([-3.0, 0.5, 1.5, 2.5, 3.5], [400, 30, 18, 8, 4])
    fit, moved = (fit_gpd(x + by, by, grid=1.0, backend="scipy") for by in (0.0, 0.5))
    assert fit.n_exceedances == 60
    assert fit.shape == pytest.approx(moved.shape, abs=1e-9)


@pytest.mark.filterwarnings("ignore::fairstats.FairstatsWarning")
def test_decisions_are_no_rounded_scores() -> None:
    """Differences of decisions are −1, 0 and 1, and their largest is 1 whatever a rounding could
    hide.

    1 in 20 and 1 in 30 of the rows have it, so that the level of 1,000 interactions is 1 in both
    groups; the chance of fewer than ten of them in 800 rows is 6e-4."""
    rng = np.random.default_rng(1)
    share = {"a": (5000, 0.05), "b": (800, 0.03)}
    cd = {g: rng.choice([-1.0, 0.0, 1.0], n, p=[p, 1 - 2 * p, p]) for g, (n, p) in share.items()}
    result = fs.ecd(cd, reference="a", backend="scipy")
    assert (result.estimate, *result.confidence_interval) == (0, 0, 0)
    assert result.verdict == "satisfied"
    assert not any("grid" in note for note in result.notes())
    # votes of five lie on steps of .2, as scores that were rounded might
    votes = {g: np.round(x * rng.integers(0, 6, x.size) / 5, 1) for g, x in cd.items()}
    assert any(
        "a grid of width 0.2" in note
        for note in fs.ecd(votes, reference="a", backend="scipy").notes()
    )
