"""Near end points: draws of the power tail, and how the fits and ECD use them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import genpareto, norm, t

import fairstats as fs
from fairstats.ground.errors import InputError
from fairstats.methods.ecd.contrast import NEAR_END
from fairstats.methods.ecd.level_curve import CurveContrast
from fairstats.numerics.evt import fit_gpd
from fairstats.numerics.evt.bootstrap import PowerTail, root_of_draws
from fairstats.numerics.evt.return_levels import power_draws


def top(shape: float, rng: np.random.Generator, n: int = 2000, k: int = 50) -> np.ndarray:
    return np.sort(genpareto.rvs(shape, size=n, random_state=rng))[-k - 1 :]


@pytest.mark.slow
@pytest.mark.parametrize("shape", [-0.7, -1.5])
def test_coverage(shape: float) -> None:
    """40 samples of k = 50, 95% intervals of level and end point.

    At least .93 less three errors.
    """
    rng = np.random.default_rng(7)
    level = float(genpareto.isf(1 / 1000, shape))
    end = -1 / shape
    inside = np.zeros((40, 2), dtype=bool)
    for row in inside:
        x = top(shape, rng)
        for j, (drawn, truth) in enumerate(
            ((PowerTail.of(x, 2000, 1000).level(1000), level), (PowerTail.of(x, 2000).end, end))
        ):
            low, high = np.quantile(drawn, [0.025, 0.975])
            row[j] = low <= truth <= high
    assert (inside.mean(axis=0) >= 0.93 - 3 * np.sqrt(0.93 * 0.07 / 40)).all()


class Recorder:
    """A generator that keeps what it has given."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.last = []
        self.below = []

    def beta(self, a: float, b: float, size: int) -> np.ndarray:
        self.a = a
        self.b = b
        self.last.append(self.rng.beta(a, b, size))
        return self.last[-1]

    def random(self, size: tuple[int, int]) -> np.ndarray:
        self.below.append(self.rng.random(size))
        return self.below[-1]


@pytest.mark.parametrize("shape", [-0.6, -1.8])
def test_draws_solve_their_equations(shape: float) -> None:
    """Witness: `brentq` for g with Γ = N times the k smallest uniforms, then c and the end point
    through the order statistic next to the level, in the upper half; both sides of the equation by
    the formulas of the module. The bisection leaves 1e-6 of log g."""
    x = np.sort(top(shape, np.random.default_rng(3), k=20))[::-1]
    total = 2000
    k = x.size
    periods = [None, 2000.0, 700.0, 100.0]
    rng = Recorder(1)
    tails = PowerTail.of_each(x, total, periods, rng)  # type: ignore[arg-type]
    assert (rng.a, rng.b) == (k, total - k + 1)
    last = np.concatenate(rng.last)
    below = np.sort(np.concatenate(rng.below), axis=1)
    assert below.shape == (2000, k - 1)
    observed = np.log((x[0] - x[-1]) / (x[0] - x[1:-1])).mean()
    solved = 0
    for i in range(0, 2000, 137):
        gamma = total * last[i] * np.append(below[i], 1.0)

        def off(log_g: float, gamma: np.ndarray = gamma) -> float:
            p = gamma ** np.exp(log_g)
            return float(np.log((p[-1] - p[0]) / (p[1:-1] - p[0])).mean() - observed)

        ends = np.log([0.02, 20.0])
        if off(ends[0]) > 0:
            assert tails[0].g[i] == pytest.approx(0.02, rel=1e-6)  # as low as is looked
            continue
        g = np.exp(brentq(off, *ends))
        solved = solved + 1
        for tail, m, place in zip(tails, periods, (1, 1, 3, k // 2), strict=True):
            c = (x[place - 1] - x[-1]) / (gamma[-1] ** g - gamma[place - 1] ** g)
            end = x[place - 1] + c * gamma[place - 1] ** g
            assert (tail.g[i], tail.c[i], tail.end[i]) == pytest.approx((g, c, end), rel=1e-5)
            assert tail.level(500.0)[i] == pytest.approx(end - c * 4**g, rel=1e-5)
            value = 0.5 * (x[0] + x[-1])
            assert tail.probability(value)[i] == pytest.approx(
                ((end - value) / c) ** (1 / g) / total, rel=1e-4
            )
            assert tail.probability(end + 1e-9)[i] == pytest.approx(0.0, abs=1e-6)
            assert m is None or place == min(max(round(total / m), 1), k // 2)
    assert solved > 10


def test_roots_of_draws_by_hand() -> None:
    """Φ⁻¹ of the share above, ties counted half.

    Of 4 draws no share is nearer to 0 or 1 than an eighth.
    """
    drawn = np.array([1.0, 2.0, 2.0, 5.0])
    for value, share in (
        (0.0, 0.875),
        (1.0, 0.875),
        (1.5, 0.75),
        (2.0, 0.5),
        (3.0, 0.25),
        (9.0, 0.125),
    ):
        assert root_of_draws(drawn, value) == pytest.approx(norm.ppf(share), abs=1e-9)
    assert PowerTail.of(np.array([1.0, 2.0, 3.0]), 100) is None
    assert PowerTail.of(np.array([0.5, 1.0, 2.0, 3.0]), 100) is not None


@pytest.mark.parametrize(
    ("shape", "samples"),
    [(-0.7, 40), *(pytest.param(shape, 300, marks=pytest.mark.slow) for shape in (-0.7, -1.7))],
)
def test_levels_near_the_threshold(shape: float, samples: int) -> None:
    """49 and 40 of the 50 exceedances lie above the level.

    Of 300 samples each side is missed in 2.5% ± 3 errors.

    Through the order statistic next to the level, a spacing, the nearer intervals were five times
    as wide; forty samples show their widths."""
    rng = np.random.default_rng(9)
    misses = np.zeros((2, 2))
    widths = []
    for _ in range(samples):
        survival = np.sort(rng.random(3000))[:50]
        tails = PowerTail.of_each(1 - survival**-shape, 3000, [3000 / 49, 3000 / 40, 3000 / 25])
        ends = [
            np.quantile(t.level(m), [0.025, 0.975])
            for t, m in zip(tails, (3000 / 49, 75, 120), strict=True)
        ]
        truth = 1 - np.array([49 / 3000, 40 / 3000]) ** -shape
        misses += [[t < low, t > high] for t, (low, high) in zip(truth, ends[:2], strict=True)]
        widths.append([high - low for low, high in ends])
    near, middle, half = np.median(widths, axis=0)
    assert near < 1.6 * middle
    assert middle < 2 * half
    if samples == 300:
        assert (misses / 300 < 0.025 + 3 * np.sqrt(0.025 * 0.975 / 300)).all()


def test_equivariance() -> None:
    """The ratio does not feel x ↦ a + bx, so that all draws move with the values."""
    x = top(-1.0, np.random.default_rng(3))
    plain = PowerTail.of(x, 2000, 1000)
    moved = PowerTail.of(5 + 0.01 * x, 2000, 1000)
    np.testing.assert_allclose(moved.g, plain.g, rtol=1e-6)
    np.testing.assert_allclose(moved.level(1000), 5 + 0.01 * plain.level(1000), rtol=1e-9)
    np.testing.assert_allclose(moved.end, 5 + 0.01 * plain.end, rtol=1e-9)
    assert np.median(plain.g) == pytest.approx(1.0, abs=0.5)


@pytest.mark.filterwarnings("ignore:the likelihood has no maximum")
def test_a_fit_uses_it_by_itself() -> None:
    x = genpareto.rvs(-0.9, size=2000, random_state=np.random.default_rng(2))
    fit = fit_gpd(x, float(np.sort(x)[-51]), backend="scipy")
    level = fit.return_level(1000)
    end = fit.endpoint()
    for found, truth in ((level, genpareto.isf(1 / 1000, -0.9)), (end, 1 / 0.9)):
        assert found.confidence_interval.method == "power tail"
        assert truth in found.confidence_interval
        assert found.estimate in found.confidence_interval
    assert fit.return_level(1000).confidence_interval == level.confidence_interval
    several = fit.return_level([100, 1000]).levels  # by the same draws
    assert [each.confidence_interval for each in several] == [
        fit.return_level(m).confidence_interval for m in (100, 1000)
    ]
    assert (
        fit.return_level(1000, method="profile").confidence_interval.method == "profile likelihood"
    )
    regular = fit_gpd(np.random.default_rng(1).exponential(size=2000), 3.0, backend="scipy")
    assert regular.return_level(1000).confidence_interval.method == "standardised signed root"


@pytest.mark.filterwarnings("ignore:the likelihood has no maximum")
def test_ties_at_the_maximum_are_no_power_tail() -> None:
    x = genpareto.rvs(-0.9, size=2000, random_state=np.random.default_rng(2))
    x = np.minimum(x, np.sort(x)[-3])
    fit = fit_gpd(x, float(np.sort(x)[-51]), backend="scipy")
    assert fit.return_level(1000).confidence_interval.method == "standardised signed root"
    with pytest.raises(InputError, match="tied at the maximum"):
        fit.return_level(1000, method="power_tail")
    assert PowerTail.of(np.sort(x)[-50:], 2000) is None


@pytest.mark.filterwarnings("ignore:the likelihood has no maximum")
@pytest.mark.parametrize("m", [60, 300, 5000])
def test_probabilities_and_tests_say_what_the_interval_of_the_level_says(m: float) -> None:
    """All are read from the same draws.

    The test is at its level where the interval of the level ends.

    Where p is the probability of exceeding a value, the level of 1/p observations is that value
    again. (p itself need not be 1/m: neighbouring order statistics draw nearly the same level.
    1e-6: draws are interpolated.)"""
    x = genpareto.rvs(-0.9, size=2000, random_state=np.random.default_rng(2))
    fit = fit_gpd(x, float(np.sort(x)[-51]), backend="scipy")
    level = fit.return_level(m)
    low, high = level.confidence_interval
    for value, place in ((low, 0), (high, 1)):
        assert fit.test_return_level(m, value).pvalue == pytest.approx(0.05, abs=0.002)
        found = fit.exceedance_probability(value).confidence_interval
        assert found.method == "power tail"
        back = fit.return_level(1 / tuple(found)[place]).confidence_interval
        assert tuple(back)[place] == pytest.approx(value, rel=1e-6)
    middle = fit.test_return_level(m, level.estimate)
    assert middle.method == "power tail"
    assert middle.pvalue == pytest.approx(1, abs=0.01)
    p = fit.exceedance_probability(level.estimate).estimate
    assert fit.return_level(1 / p).estimate == pytest.approx(level.estimate, rel=1e-6)
    beyond = fit.exceedance_probability(fit.endpoint().confidence_interval.high * 1.01)
    assert beyond.estimate == beyond.confidence_interval.low == 0


def test_a_tied_maximum_is_a_cell_or_no_tail() -> None:
    """With three decimals the largest two are tied: cells of .001.

    Without a grid: order statistics.
    """
    rng = np.random.default_rng(1)
    end = np.r_[0.2 * rng.random(1996), 0.2, 0.2]
    other = 0.3 * rng.beta(2, 8, 2000)
    options = {"privileged": "a", "unprivileged": "b", "backend": "scipy", "n_resamples": 0}
    with pytest.warns(fs.FairstatsWarning, match="2 values share the largest, 0.2, and its end"):
        tied = fs.ecd({"a": end, "b": other}, **options)["a"]
    assert tied.fit is None
    assert tied.level.empirical
    cells = fit_gpd(np.round(end, 3), 0.195, backend="scipy")
    assert cells.grid == pytest.approx(0.001)
    assert 0.1999 in cells.return_level(1000).confidence_interval


def test_ecd_of_near_end_points() -> None:
    """Both tails irregular, one of them, and equal ones.

    The less sure of draws and likelihood ratio.
    """
    rng = np.random.default_rng(4)
    short = 0.25 * rng.random(6000)
    other = 0.4 * rng.random(2000)
    usual = 0.5 * rng.beta(2, 8, 2000)
    options = {"privileged": "a", "unprivileged": "b", "backend": "scipy", "n_resamples": 0}
    both = fs.ecd({"a": short, "b": other}, **options)
    assert both.test == NEAR_END
    assert 0.15 in both.confidence_interval
    assert both.confidence_interval.width < 0.01
    assert both.verdict == "violated"
    assert "end point is near" in both["a"].sentence
    mixed = fs.ecd({"a": short, "b": usual}, **options)
    assert mixed.test == NEAR_END
    assert mixed.estimate in mixed.confidence_interval
    same = fs.ecd({"a": short, "b": 0.25 * rng.random(2000)}, **options)
    assert same.verdict == "satisfied"
    assert same.pvalue > 0.001


def test_a_comparison_by_draws_is_that_of_the_draws() -> None:
    """Witness: the draws of both levels, those of each in an order of their own by the same seed;
    interval and limits are quantiles of their difference, the p-value is twice the smaller share
    beyond 0."""
    rng = np.random.default_rng(4)
    cd = {"a": 0.25 * rng.random(3000), "b": 0.2504 * rng.random(2000)}
    options = {"privileged": "a", "unprivileged": "b", "backend": "scipy", "n_resamples": 0}
    found = fs.ecd(cd, **options, rng=5, confidence_level=0.9, margin=0.003)
    stream = np.random.default_rng(5)
    b, a = (stream.permutation(power_draws(found[g].fit, 1000).level(1000)) for g in "ba")
    drawn, (c,) = b - a, found.comparisons
    np.testing.assert_allclose(
        list(c.confidence_interval), np.quantile(drawn, [0.05, 0.95]), rtol=1e-9
    )
    one_sided = c.bounds.confidence_level
    np.testing.assert_allclose(
        list(c.bounds), np.quantile(drawn, [1 - one_sided, one_sided]), rtol=1e-9
    )
    share = min((drawn > 0).mean(), (drawn < 0).mean())
    assert 0.0005 < share < 0.5
    # or the likelihood ratio's, where that is less sure
    fewer = min(found[g].n_exceedances for g in "ab")
    z = (np.copysign(np.sqrt(c.statistic), c.estimate) - c.root_mean) / c.root_sd
    assert c.pvalue == pytest.approx(max(2 * share, 2 * t.sf(abs(z), fewer - 3)), rel=0.01)
    assert c.estimate == found["b"].level.estimate - found["a"].level.estimate
    assert np.isnan(c.std_error)


def test_levels_of_a_regular_tail_by_their_roots() -> None:
    """Witness: the ends of intervals by the standardised signed root, whose root is the normal
    quantile; the interpolation between them leaves 1e-3 of a standard error."""
    x = np.random.default_rng(6).exponential(size=3000)
    fit = fit_gpd(x, float(np.sort(x)[-81]), backend="scipy")
    curve = CurveContrast.of_fits(fit, fit, 1000).first
    for z in (0.5, 0.8, 1.2816, 1.96, 2.2, 3.5, 4.0):
        ends = fit.return_level(1000, confidence_level=2 * norm.cdf(z) - 1).confidence_interval
        near = np.array([curve.levels_of_root(np.array([s * z]))[0] for s in (-1, 1)])
        np.testing.assert_allclose(near, list(ends), atol=2e-3 * (ends.high - ends.low))
    assert (np.diff(curve.levels_of_root(np.linspace(-4.0, 4.0, 99))) > 0).all()
