"""Fits with covariates: extRemes and evd, recorded, and the fits without covariates, which they
contain.
"""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import chi2, genpareto

from fairstats.ground.errors import InputError
from fairstats.numerics.evt import fit_gev, fit_gpd
from fairstats.numerics.evt.distributions import power_ratio
from fairstats.numerics.evt.interests import FreeCoordinates, LevelInterest
from fairstats.numerics.evt.regression import TailRegression
from fairstats.results import ConditionalLevel, CovariateFit, ReturnLevels

from .conftest import REFERENCE

R = json.loads((REFERENCE / "evt_covariates.json").read_text(encoding="utf-8"))
X = np.array(R["x"])
U = R["threshold"]
ROWS = pd.DataFrame(R["rows"])
Z = np.array(R["z"])
YEAR = {"year": R["year"]}


def gpd(**formulas: str) -> CovariateFit:
    return fit_gpd(X, U, covariates=ROWS, **formulas)


def agree(fit: CovariateFit, theirs: dict) -> None:
    """Negative log-likelihood 1e-9; parameters 1e-5 standard errors.

    Errors, by steps of 1e-3 in R, 1e-4.
    """
    error = np.array(list(fit.std_error.values()))
    assert fit.nll == pytest.approx(theirs["nll"], abs=1e-9)
    np.testing.assert_array_less(np.abs(fit.estimate - theirs["par"]) / error, 1e-5)
    np.testing.assert_allclose(error, theirs["se"], rtol=1e-4)


@pytest.mark.parametrize("case", R["gpd"], ids=lambda c: f"{c['scale']}, {c['shape']}, {c['link']}")
def test_excesses_against_extremes(case: dict) -> None:
    """Witness: `fevd(type="GP", scale.fun=, shape.fun=, use.phi=)`, recorded by
    evt_covariates.R.
    """
    agree(gpd(scale=case["scale"], shape=case["shape"], scale_link=case["link"]), case["r"])


@pytest.mark.parametrize(
    "case", R["gev"], ids=lambda c: f"{c['location']}, {c['scale']}, {c['link']}"
)
def test_maxima_against_extremes(case: dict) -> None:
    """Witness: `fevd(type="GEV", location.fun=, scale.fun=)`, and evd's `fgev(nsloc=)` for the
    first.
    """
    formulas = {"location": case["location"], "scale": case["scale"], "scale_link": case["link"]}
    fit = fit_gev(Z, covariates=YEAR, **formulas)
    agree(fit, case["r"])
    if formulas["scale"] == "~ 1":
        # evd, without gradients, stops 1.4e-10 of log-likelihood short: 2e-5 standard errors
        assert fit.nll == pytest.approx(R["evd"]["nll"], abs=1e-9)
        off = np.abs(fit.estimate - R["evd"]["par"]) / R["evd"]["se"]
        np.testing.assert_array_less(off, 1e-4)


def test_likelihood_ratio_against_extremes() -> None:
    """Witness: `lr.test` of both fits."""
    test = gpd(scale="~ age + sex").test_against(gpd())
    assert test.statistic == pytest.approx(R["statistic"], abs=1e-6)
    assert test.pvalue == pytest.approx(R["pvalue"], rel=1e-5)
    assert "2 df" in test.method


@pytest.mark.parametrize("link", ["log", "identity"])
def test_without_dependence_it_is_the_plain_fit(link: str) -> None:
    """Estimates, errors, and likelihood intervals, which come from another algorithm."""
    plain = fit_gpd(X, U)
    fit = gpd(scale_link=link)
    assert fit.nll == pytest.approx(plain.nll, abs=1e-9)
    scale = np.exp(fit.estimate[0]) if link == "log" else fit.estimate[0]
    assert [scale, fit.estimate[1]] == pytest.approx(list(plain.params.values()), rel=1e-6)
    assert fit.std_error["shape: Intercept"] == pytest.approx(plain.std_error["shape"], rel=1e-6)
    for found, wanted in [
        (
            fit.interval("shape: Intercept", method="profile"),
            plain.interval("shape", method="profile"),
        ),
        *(
            (found.confidence_interval, wanted.confidence_interval)
            for method in ("profile", "delta")
            for found, wanted in zip(
                fit.return_level([20, 500], {"age": [1.0]}, method=method).levels,
                plain.return_level([20, 500], method=method).levels,
                strict=True,
            )
        ),
    ]:
        assert tuple(found) == pytest.approx(tuple(wanted), rel=1e-6)


def test_maxima_without_dependence() -> None:
    plain = fit_gev(Z)
    fit = fit_gev(Z, covariates=YEAR)
    level = plain.return_level(50)
    own = fit.return_level(50, {"year": 0.0}, method="profile").levels[0]
    assert own.estimate == pytest.approx(level.estimate, rel=1e-7)
    assert tuple(own.confidence_interval) == pytest.approx(
        tuple(level.confidence_interval), rel=1e-6
    )
    assert own.std_error == pytest.approx(level.std_error, rel=1e-5)
    location = fit.interval("location: Intercept", method="profile")
    assert location.low == pytest.approx(plain.interval("location").low, rel=1e-6)


def test_a_group_of_its_own_is_its_own_fit_and_one_shape_is_tested() -> None:
    """Separate fits of the groups are the model "~ sex" in both; thresholds may differ by row."""
    u = np.where(ROWS["sex"] == "f", 0.5, 0.8)
    parts = {sex: fit_gpd(X[ROWS["sex"] == sex], u[ROWS["sex"] == sex][0]) for sex in "fm"}
    free, common = (
        fit_gpd(X, u, covariates=ROWS, scale="~ sex", shape=shape) for shape in ("~ sex", "~ 1")
    )
    assert free.nll == pytest.approx(sum(part.nll for part in parts.values()), abs=1e-8)
    assert free.params["shape: Intercept"] == pytest.approx(parts["f"].shape, abs=1e-6)
    # one shape: the groups' profiles of the shape, from another algorithm, add up to the same test
    shape = common.params["shape: Intercept"]
    fall = sum(part.test_shape(shape, method="profile").statistic for part in parts.values())
    test = free.test_against(common)
    assert test.statistic == pytest.approx(fall, abs=1e-7)
    assert test.pvalue == pytest.approx(chi2.sf(fall, 1), rel=1e-6)
    level = common.return_level(200, {"sex": ["f", "m"], "threshold": [0.5, 0.8]})
    scales = [np.exp(common.estimate[0]), np.exp(common.estimate[:2].sum())]
    rate = common.n_exceedances / X.size
    wanted = [
        v + s / shape * ((200 * rate) ** shape - 1) for v, s in zip([0.5, 0.8], scales, strict=True)
    ]
    np.testing.assert_allclose(level.estimate, wanted, rtol=1e-8)


@pytest.mark.parametrize("factor", [1e-8, 1e8])
def test_units_do_not_matter(factor: float) -> None:
    one = gpd(scale="~ age + sex")
    other = fit_gpd(
        factor * X, factor * U, covariates=ROWS.assign(age=1e4 * ROWS["age"]), scale="~ age + sex"
    )
    assert other.params["scale: age"] * 1e4 == pytest.approx(one.params["scale: age"], rel=1e-6)
    assert other.params["scale: Intercept"] - np.log(factor) == pytest.approx(
        one.estimate[0], abs=1e-6
    )
    there = other.return_level(300, {"age": 8000.0, "sex": "m"}).to_frame()
    here = one.return_level(300, {"age": 0.8, "sex": "m"}).to_frame()
    np.testing.assert_allclose(
        there[["ci_low", "ci_high"]] / factor, here[["ci_low", "ci_high"]], rtol=1e-5
    )


def test_ends_of_intervals_have_the_deviance() -> None:
    """At the end of an interval the best likelihood with that coefficient has fallen by 3.84/2."""
    fit = gpd(scale="~ age")
    for end in fit.interval("scale: age", method="profile"):
        x = X * np.exp(
            -end * ROWS["age"]
        )  # with that slope the rescaled excesses have constant scale
        y = (X - U)[X > U] * np.exp(-end * ROWS["age"][X > U])
        fixed = fit_gpd(np.append(y, -np.ones(x.size - y.size)), 0.0)
        nll = fixed.nll + end * ROWS["age"][X > U].sum()
        assert 2 * (nll - fit.nll) == pytest.approx(chi2.ppf(0.95, 1), abs=1e-6)


@pytest.mark.slow
def test_coverage_of_levels() -> None:
    """ξ = .1, about 150 exceedances, the level of 200 at a covariate.

    Four Monte Carlo errors are .062.
    """
    inside = 0
    age = np.linspace(0, 1, 600)
    for seed in range(200):
        e = np.random.default_rng(seed).exponential(size=600)
        excess = np.exp(age) * np.expm1(0.1 * e) / 0.1
        above = np.random.default_rng(1000 + seed).random(600) < 0.25
        fit = fit_gpd(np.where(above, excess, -1.0), 0.0, covariates={"age": age}, scale="~ age")
        truth = np.exp(0.8) * ((200 * 0.25) ** 0.1 - 1) / 0.1
        inside += truth in fit.return_level(200, {"age": 0.8}).levels[0].confidence_interval
    assert inside / 200 > 0.95 - 0.062


def test_frames_and_round_trip() -> None:
    fit = gpd(scale="~ age + C(sex)")
    assert list(fit.params) == [
        "scale: Intercept",
        "scale: age",
        "scale: C(sex)[T.m]",
        "shape: Intercept",
    ]
    again = fit_gpd(X, U, covariates=pl.from_pandas(ROWS), scale="~ age + C(sex)")
    assert again.params == pytest.approx(fit.params, rel=1e-9)
    back = CovariateFit.from_dict(json.loads(json.dumps(fit.to_dict())))
    assert (back.params, back.nll) == (fit.params, fit.nll)
    with pytest.raises(InputError, match="dictionary"):
        back.return_level(100, {"age": 1.0, "sex": "f"})
    levels = fit.return_level([100, 1000], {"age": [0.5, 1.2], "sex": ["f", "m"]})
    frame = levels.to_frame()
    assert frame[["m", "age", "sex"]].to_numpy().tolist() == [
        [100, 0.5, "f"],
        [100, 1.2, "m"],
        [1000, 0.5, "f"],
        [1000, 1.2, "m"],
    ]
    assert (frame["ci_low"] < frame["estimate"]).all()
    assert (frame["ci_high"] > frame["estimate"]).all()
    assert ReturnLevels.from_dict(json.loads(json.dumps(levels.to_dict()))) == levels
    assert isinstance(levels.levels[0], ConditionalLevel)
    assert "at age = 0.5, sex = f" in levels.sentences()[0]
    assert "log link" in str(fit)
    assert len(fit.sentences()) == 6


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"scale": "~ height"}, "scale"),
        ({"scale": "age ~ sex"}, "scale"),
        ({"scale": "~ age +"}, "scale"),
        ({"shape": "~ age + I(2 * age)"}, "shape"),
        ({"scale": "~ 0"}, "scale"),
        ({"scale": 3}, "scale"),
        ({"shape": {}}, "shape"),
        ({"grid": np.ones(2)}, "grid"),
        ({"covariates": ROWS.iloc[:5]}, "covariates"),
        ({"covariates": 7}, "covariates"),
        ({"covariates": {"age": [np.nan] * len(X)}, "scale": "~ age"}, "scale"),
        ({"covariates": {"a": [1, 2], "b": [1]}}, "covariates"),
        ({"scale_link": "probit"}, "scale_link"),
        ({"method": "lmoments"}, "method"),
        ({"backend": "r"}, "backend"),
        ({"grid": 0.1}, "grid"),
        ({"threshold": [0.5, 0.5]}, "threshold"),
        ({"threshold": 1e9}, "threshold"),
        ({"covariates": None, "scale": "~ age"}, "scale"),
    ],
)
def test_bad_input(changed: dict, named: str) -> None:
    given = {"threshold": U, "covariates": ROWS, **changed}
    with pytest.raises(InputError, match=named):
        fit_gpd(X, **given)


def test_bad_questions() -> None:
    fit = gpd(scale="~ age + sex")
    for m, at, named in (
        (1.0, {"age": 1.0, "sex": "f"}, "m"),
        ([], {"age": 1.0, "sex": "f"}, "m"),
        (100, {"age": 1.0}, "at"),
        (100, {"age": 1.0, "sex": "x"}, "at"),
        (100, {"age": np.nan, "sex": "f"}, "at"),
    ):
        with pytest.raises(InputError, match=named):
            fit.return_level(m, at)
    with pytest.raises(InputError, match="method"):
        fit.return_level(100, {"age": 1.0, "sex": "f"}, method="bootstrap")
    with pytest.raises(InputError, match="name"):
        fit.interval("scale: height")
    for null in (None, fit_gpd(X, U), fit, gpd(shape="~ age"), fit_gpd(X, 1.0, covariates=ROWS)):
        with pytest.raises(InputError, match="null"):
            fit.test_against(null)


@pytest.mark.parametrize(
    ("formula", "match"),
    [
        ("~ open(1).read()", "invalid syntax"),
        ("~ number", "coefficients for"),
        ("~ C(age)", "coefficients for"),
        ("~ huge", "beyond"),
        ("~ tiny", "beyond"),
        ("~ cplx", "imaginary"),
        ("~ endless", "not finite"),
        ("~ lacking", "null"),
        ("~ 0", "columns"),
        ("~ one", "follows"),
        ("~ age + twice", "follows"),
        ("~ when", "`"),
        ("~ bag", "`"),
        ("~ nope", "nope"),
        ("~ age | one", "two sides"),
        ("~ (age", "formula"),
        ("~ lag(age)", "null"),
    ],
)
@pytest.mark.parametrize("name", ["scale", "shape"])
def test_odd_formulas_are_errors_of_ours(formula: str, match: str, name: str) -> None:
    n = 60
    age = np.linspace(0.1, 1.0, n)
    frame = pd.DataFrame(
        {
            "age": age,
            "number": np.arange(n).astype(str),
            "huge": 1e300 * age,
            "tiny": 1e-300 * age,
            "cplx": age + 1j,
            "endless": np.where(age < 0.2, np.inf, age),
            "bag": [{} for _ in age],
            "one": 1.0,
            "lacking": np.where(age < 0.2, np.nan, age),
            "twice": 2.0 * age,
            "when": pd.date_range("2020", periods=n),
        }
    )
    x = np.random.default_rng(1).exponential(size=n)
    with pytest.raises(InputError, match=match):
        fit_gpd(x, 0.3, covariates=frame, **{name: formula})


def test_ragged_thresholds_are_an_error_of_ours() -> None:
    with pytest.raises(InputError, match=r"`threshold`: got a ragged list"):
        fit_gpd(X, [[1.0, 2.0], [3.0]], covariates=ROWS)


@pytest.mark.parametrize("link", ["log", "identity"])
@pytest.mark.parametrize("kind", ["excesses", "maxima"])
def test_second_derivatives_are_differences_of_the_gradient(kind: str, link: str) -> None:
    """Witness: central differences, which are right to about 1e-8 of the largest entry."""
    rng = np.random.default_rng(5)
    n, step = 60, 1e-5
    covariate = rng.standard_normal(n).clip(-2, 2)
    design = np.column_stack([np.ones(n), covariate])
    values = rng.standard_exponential(n) if kind == "excesses" else rng.gumbel(size=n)
    columns = {"location": design} if kind == "maxima" else {}
    columns |= {"scale": design, "shape": design}
    regression = TailRegression(
        values=values,
        unit=1.0,
        origin=0.0,
        specs={},
        columns=columns,
        turns={},
        total=1_000 if kind == "excesses" else 0,
        link=link,
    )
    scale = [0.1, 0.05] if link == "log" else [1.2, 0.1]
    point = [*([0.1, 0.2] if kind == "maxima" else []), *scale, 0.05, 0.02]
    z = np.array(point + ([-2.7] if kind == "excesses" else []))
    assert np.isfinite(regression.derivatives(z[None])[0]).all()
    row = {parameter: matrix[:1] for parameter, matrix in columns.items()}
    level = LevelInterest(regression=regression, rows=row, m=100.0)
    for smooth in (regression, level):
        ahead = smooth.derivatives(z + step * np.eye(z.size))
        behind = smooth.derivatives(z - step * np.eye(z.size))
        _, gradient, matrix = (part[0] for part in smooth.derivatives(z[None]))
        slopes = (ahead[0] - behind[0]) / (2 * step)
        rows = (ahead[1] - behind[1]) / (2 * step)
        np.testing.assert_allclose(gradient, slopes, rtol=0, atol=1e-7 * np.abs(gradient).max())
        np.testing.assert_allclose(matrix, rows, rtol=0, atol=1e-7 * np.abs(matrix).max())
    z[-1 if kind == "maxima" else -3] = -1e3  # ξ below −1, or values beyond the end point
    assert np.isposinf(regression.derivatives(z[None])[0]).all()


@pytest.mark.parametrize("link", ["log", "identity"])
@pytest.mark.parametrize("kind", ["excesses", "maxima"])
def test_levels_are_held_at_their_value(kind: str, link: str) -> None:
    """Closed form: the points that satisfy a constraint have the level asked for."""
    rng = np.random.default_rng(6)
    design = np.column_stack([np.ones(40), rng.standard_normal(40)])
    columns = {"location": design} if kind == "maxima" else {}
    columns |= {"scale": design, "shape": design}
    regression = TailRegression(
        values=np.ones(40),
        unit=1.0,
        origin=0.0,
        specs={},
        columns=columns,
        turns={},
        total=800 if kind == "excesses" else 0,
        link=link,
    )
    row = {parameter: matrix[:1] for parameter, matrix in columns.items()}
    level = LevelInterest(regression=regression, rows=row, m=100.0)
    held = FreeCoordinates.of(level.constraint(5.0))
    points = np.abs(rng.normal(size=(8, regression.dimension - 1))) * 0.1
    found = []

    def keep(z: np.ndarray) -> tuple[np.ndarray, ...]:
        found.append(z)
        return level.derivatives(z)

    value, gradient, _ = held.pulled_back(points, keep)
    inside = regression.natural(found[0], row)[1][:, 0] > 0
    assert inside.any()
    np.testing.assert_allclose(value[inside], 5.0, rtol=1e-12)
    np.testing.assert_allclose(gradient[inside], 0.0, atol=1e-12)


def two_groups(first_shape: float) -> tuple[np.ndarray, CovariateFit]:
    """Fifty quantiles of a tail with a given shape beside fifty of one with .1; the first ones."""
    survival = (np.arange(50) + 0.5) / 50
    first, second = (
        power_ratio(-np.log(survival), np.asarray(shape)) for shape in (first_shape, 0.1)
    )
    values = np.concatenate([first, second, np.full(100, -1.0)])
    group = np.repeat([0.0, 1.0, 0.0, 1.0], 50)
    return first, fit_gpd(values, 0.0, covariates={"d": group}, scale="~ d", shape="~ d")


def deviance_of_a_uniform_law(excesses: np.ndarray) -> float:
    """2(log L(ξ̂) − log L(−1)): with ξ = −1 the best density is 1/max of the excesses (SciPy)."""
    c, _, scale = genpareto.fit(excesses, -0.7, floc=0.0, scale=0.9)
    highest = genpareto.logpdf(excesses, c, 0.0, scale).sum()
    return float(2.0 * (highest + excesses.size * np.log(excesses.max())))


@pytest.mark.parametrize("method", ["auto", "profile"])
def test_no_limit_where_the_likelihood_reaches_the_edge(method: str) -> None:
    excesses, fit = two_groups(-0.8)
    assert deviance_of_a_uniform_law(excesses) < chi2.ppf(0.95, 1)
    shape = fit.interval("shape: Intercept", method=method)
    difference = fit.interval("shape: d", method=method)
    assert shape.low == -np.inf
    assert difference.high == np.inf
    assert shape.high < -0.4
    assert difference.low > 0.4
    assert "no end above a shape of −1" in shape.method
    again = CovariateFit.from_dict(json.loads(json.dumps(fit.to_dict())))
    assert again.params == fit.params


def test_limits_where_the_likelihood_falls_before_the_edge() -> None:
    excesses, fit = two_groups(-0.6)
    assert deviance_of_a_uniform_law(excesses) > chi2.ppf(0.95, 1)
    for name in ("shape: Intercept", "shape: d"):
        interval = fit.interval(name)
        assert -1.0 < interval.low < interval.high < 1.5
        assert "no end" not in interval.method
