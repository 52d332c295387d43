"""Tails that depend on covariates: formulas, fits, levels at given covariates, and tests between fits."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from scipy.special import chdtrc

from fairstats.ground import checks
from fairstats.ground.encoding import as_frame_columns, as_narwhals
from fairstats.ground.errors import InputError
from fairstats.ground.lazy import pd
from fairstats.ground.results import Comparison, HypothesisTest, Interval
from fairstats.ground.serialise import kept_in_memory, serialisable
from fairstats.numerics.evt.backends import scipy_backend
from fairstats.numerics.evt.distributions import Floats
from fairstats.numerics.evt.intervals import chi2_quantile
from fairstats.numerics.evt.likelihood import REGULAR_ABOVE
from fairstats.numerics.evt.regression import Smooth, TailRegression, hessian, likelihood_end
from fairstats.numerics.evt.return_levels import ReturnLevel, ReturnLevels
from fairstats.numerics.evt.tail import WithParameters, tail_row


@serialisable(kw_only=True)
class ConditionalLevel(ReturnLevel):
    """The level of m observations at given covariates, `at`.

    Attributes
    ----------
    at : dict of str
    """

    metric: ClassVar[str] = "return level of {0.m:g} at {0.where}"

    at: dict[str, Any]

    @property
    def where(self) -> str:
        """The covariates in words."""
        return ", ".join(f"{name} = {value}" for name, value in self.at.items())

    def rows(self) -> list[dict[str, Any]]:
        """The only row, with the covariates."""
        return [{**row, **self.at} for row in super().rows()]


@serialisable(eq=False)
class CovariateFit(WithParameters):
    """A tail whose parameters depend on covariates.

    Attributes
    ----------
    model : {"gpd", "gev"}
    formulas : dict of str to str
        Of "location" (block maxima), "scale" and "shape".
    scale_link : {"log", "identity"}
        What the scale's formula gives: log σ or σ.
    params : dict of str to float
        Coefficients by name, such as "scale: age".
    covariance : ndarray of float, shape (p, p)
        Inverse observed information, in the order of `params`; NaN where the fit is not regular.
    nll : float
        Negative log-likelihood.
    n_exceedances, n_total : int
        Values fitted, and N.
    regular : bool
        Whether every shape exceeds −1/2, so that standard errors exist.
    confidence_level : float
    backend : str
    """

    title: ClassVar[str] = "Extreme value fit with covariates"
    lacks: ClassVar[Mapping[str, str]] = {
        "pvalue": "a fit tests nothing; .test_against() does",
        "statistic": "a fit tests nothing; .test_against() does",
        "verdict": "a tail is not judged by itself; fs.ecd compares the tails of two groups",
        "plot": "return_level(m, at).to_frame() has the levels to draw",
        "__getitem__": "a fit has no groups; .params and .interval(name) are by name",
    }

    model: str
    formulas: dict[str, str]
    scale_link: str
    params: dict[str, float]
    covariance: Floats
    nll: float
    n_exceedances: int
    n_total: int
    regular: bool
    confidence_level: float
    backend: str
    #: The likelihood and its best point, for levels, tests and intervals; not in `to_dict`.
    _regression: tuple[TailRegression, Floats] | None = kept_in_memory(default=None)

    def interval(self, name: str, confidence_level: float | None = None) -> Interval:
        """Likelihood interval of a coefficient."""
        checks.check_choice("name", name, tuple(self.params))
        i = list(self.params).index(name)
        matrix, shift = self._made_of()[0].coefficients()
        return self._likely(lambda z: (float(matrix[i] @ z + shift[i]), matrix[i]), confidence_level)

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Estimate, standard error and interval of each coefficient."""
        errors, n = self.std_error, self.n_exceedances
        return tuple(
            tail_row(f"{self.model} {name}", value, self.interval(name), n, errors[name])
            for name, value in self.params.items()
        )

    def sentences(self) -> list[str]:
        """Every coefficient with its interval, then the notes."""
        rows = self.comparisons
        return [f"{c.metric}: {c.estimate:.4g} ({c.confidence_interval.words('.4g')})." for c in rows] + self.notes()

    def notes(self) -> list[str]:
        """Formulas, link, sample and likelihood."""
        values = "block maxima" if self.model == "gev" else f"of {self.n_total} values exceed the threshold"
        lines = [f"{self._formulas} ({self.scale_link} link of the scale). {self.n_exceedances} {values}."]
        lines.append(f"log L = {-self.nll:.6g}, AIC = {self.aic:.6g}.")
        return lines if self.regular else [*lines, "Shapes of −1/2 or less: no standard errors exist."]

    def return_level(
        self, m: Any, at: Any, *, method: str = "profile", confidence_level: float | None = None
    ) -> ReturnLevels:
        """Levels of m observations at given covariates.

        Parameters
        ----------
        m : float, or several of them
            Observations or blocks. Excesses have one rate for all; where it depends on covariates, fit above thresholds
            by row.
        at : frame or mapping
            The covariates, one row for each level; with a column "threshold" where the fit has many.
        method : {"profile", "delta"}
            Likelihood intervals, the rate included, or normal ones.
        confidence_level : float, optional
            Default: the fit's.

        Returns
        -------
        ReturnLevels
            For each m and each row of `at`.

        Raises
        ------
        InputError
            m too small, covariates that are missing or of an unknown category, a delta interval of a fit that is not
            regular, or a fit read from a dictionary, which does not carry the rows.
        """
        checks.check_choice("method", method, ("profile", "delta"))
        checks.check_that(self.regular or method == "profile", "method", method, "'profile': the fit is not regular")
        (regression, best), frame = self._made_of(), as_frame("at", at)
        rows = {
            name: design("at", spec, frame)[0] @ np.linalg.inv(regression.turns[name])
            for name, spec in regression.specs.items()
        }
        origin = regression.origin
        if self.model == "gpd" and np.ndim(origin):
            checks.check_that("threshold" in frame, "at", list(frame.columns), "a column 'threshold' too")
            origin = checks.finite_array("at", frame["threshold"], "thresholds that are numbers")
        origins = np.broadcast_to(np.asarray(origin, dtype=np.float64), len(frame))
        least = 1.0 if self.model == "gev" else self.n_total / self.n_exceedances
        periods = checks.finite_array("m", m, "a number of observations, or several").ravel()
        fine = periods.size and (periods > least if self.model == "gev" else periods >= least).all()
        allowed = f"{'more than' if self.model == 'gev' else 'at least'} {least:g}"
        checks.check_that(fine, "m", m, allowed, "a larger m")
        levels, curved = [], hessian(regression, best)
        for each in periods.tolist():
            for i, known in enumerate(frame.to_dict("records")):
                interest = regression.level({name: matrix[i : i + 1] for name, matrix in rows.items()}, each)
                value, slope = interest(best)
                error = np.sqrt(slope @ np.linalg.solve(curved, slope))
                interval = self._likely(interest, confidence_level, error if method == "delta" else None)
                at_unit = [float(origins[i] + regression.unit * end) for end in (value, *interval)]
                levels.append(
                    ConditionalLevel(
                        m=each, at={str(name): covariate for name, covariate in known.items()}, estimate=at_unit[0],
                        std_error=float(regression.unit * error) if self.regular else float("nan"),
                        confidence_interval=replace(interval, low=at_unit[1], high=at_unit[2]),
                        critical_value=None, rate="estimated", model=self.model, n_total=self.n_total,
                        n_exceedances=self.n_exceedances, n_resamples=None, seed=None, backend=self.backend,
                    )
                )  # fmt: skip
        return ReturnLevels(tuple(levels))

    def test_against(self, null: CovariateFit) -> HypothesisTest:
        """Likelihood-ratio test against a smaller model of the same values.

        Parameters
        ----------
        null : CovariateFit
            With formulas that those of this fit contain; "~ 1" is no dependence.

        Returns
        -------
        HypothesisTest
            Twice the difference of the log-likelihoods, by χ² with the difference of coefficients as its degrees.

        Raises
        ------
        InputError
            A model of other values, or one that this fit does not contain, or fits that are not regular.

        Examples
        --------
        One shape for two groups with scales of their own:

        >>> import numpy as np
        >>> from fairstats.numerics.evt import fit_gpd
        >>> x, group = np.random.default_rng(1).exponential(size=4000), np.repeat(["a", "b"], 2000)
        >>> free = fit_gpd(x, 2.0, covariates={"group": group}, scale="~ group", shape="~ group")
        >>> common = fit_gpd(x, 2.0, covariates={"group": group}, scale="~ group")
        >>> round(free.test_against(common).pvalue, 2)
        0.14
        """
        checks.check_type("null", null, CovariateFit, "a fit with covariates", "fit_gpd(x, u, covariates=frame)")
        mine, theirs = self._made_of()[0], null._made_of()[0]
        series = [one.values * one.unit + one.origin for one in (mine, theirs)]
        same = self.model == null.model and series[0].size == series[1].size and np.allclose(series[0], series[1])
        pairs = [(own, theirs.columns[name]) for name, own in mine.columns.items()] if same else []
        inside = same and all(np.allclose(b, own @ (own.T @ b) / len(own), atol=1e-6) for own, b in pairs)
        df = len(self.params) - len(null.params)
        one_scale = theirs.columns["scale"].shape[1] == 1
        fine = inside and df > 0 and (mine.link == theirs.link or one_scale) and self.regular and null.regular
        got = f"{null.formulas}, {null.scale_link} link, {null.n_exceedances} values"
        checks.check_that(fine, "null", got, f"a smaller regular model of the same values within {self.formulas}")
        statistic = max(2.0 * (null.nll - self.nll), 0.0)
        method = f"likelihood ratio, {df} df"
        return HypothesisTest(null._formulas, "two-sided", statistic, float(chdtrc(df, statistic)), method)

    @property
    def _formulas(self) -> str:
        return ", ".join(f"{name} {formula}" for name, formula in self.formulas.items())

    def _made_of(self) -> tuple[TailRegression, Floats]:
        if self._regression is None:
            allowed, cure = "a fit from this session", "fit again: a file does not carry the rows"
            raise InputError("fit", got="a fit read from a dictionary", allowed=allowed, cure=cure)
        return self._regression

    def _likely(self, interest: Smooth, confidence_level: float | None, error: Any = None) -> Interval:
        """Likelihood interval of a function of z, or the normal one with a given standard error."""
        regression, best = self._made_of()
        level = self.confidence_level if confidence_level is None else confidence_level
        critical = chi2_quantile(checks.check_confidence_level(level))
        if error is not None:
            value, reach = interest(best)[0], np.sqrt(critical) * error
            return Interval(float(value - reach), float(value + reach), level, "delta")
        low, high = (likelihood_end(regression, best, interest, side, critical) for side in (-1.0, 1.0))
        missing = "" if np.isfinite(low + high) else ", of which an end was not found"
        return Interval(low, high, level, f"profile likelihood{missing}")


def fit_covariates(
    values: Floats, origin: Any, keep: Any, covariates: Any, formulas: dict[str, str], link: str, total: int,
    confidence_level: float,
) -> CovariateFit:  # fmt: skip
    """Fit values above their thresholds, or maxima (origin 0), by the covariates' rows that are kept."""
    checks.check_choice("scale_link", link, ("log", "identity"))
    frame = as_frame("covariates", covariates)
    checks.check_rows("covariates", frame, len(keep))
    specs, columns, turns = {}, {}, {}
    for name, formula in formulas.items():
        checks.check_type(name, formula, str, "a formula", "'~ age'")
        matrix, specs[name] = design(name, formula, frame)
        columns[name] = matrix[keep]
    count = sum(matrix.shape[1] for matrix in columns.values())
    if count >= values.size:
        got = f"{count} coefficients for {values.size} values"
        raise InputError("covariates", got=got, allowed="fewer", cure="shorter formulas, a lower threshold")
    for name, formula in formulas.items():
        matrix = columns[name]
        orthogonal, turn = np.linalg.qr(matrix)
        if not (matrix.size and (np.abs(np.diag(turn)) > 1e-9 * np.linalg.norm(matrix, axis=0)).all()):
            got = f"{formula!r}: columns {list(specs[name].column_names)} of which one follows from the others"
            allowed, cure = "columns that differ among the values fitted", "leave it out, or join categories"
            raise InputError(name, got=got, allowed=allowed, cure=cure)
        columns[name], turns[name] = orthogonal * np.sqrt(values.size), turn / np.sqrt(values.size)
    constant = {name: np.allclose(matrix @ matrix.mean(axis=0), 1.0) for name, matrix in columns.items()}
    model = "gev" if "location" in formulas else "gpd"
    if model == "gev":
        origin = float(values.mean()) if constant["location"] else 0.0
    # a logarithm takes up the unit where it has a constant
    unit = float(np.abs(values - origin).mean()) if constant["scale"] or link == "identity" else 1.0
    about = specs, columns, turns, total if model == "gpd" else 0, link
    regression = TailRegression((values - origin) / unit, unit, origin, *about)
    matrix, shift = regression.coefficients()
    found = regression.fitted()
    if found is None:
        got = "a likelihood that has no maximum with shapes above −1"
        cure = "shape='~ 1', scale_link='log', or a lower threshold"
        raise InputError("covariates", got=got, allowed="formulas that the values determine", cure=cure)
    best, value = found
    if regression.has_rate:
        # the rate has its own maximum, and no part in what is compared with other fits
        share = values.size / total
        value += float(values.size * np.log(share) + (total - values.size) * np.log1p(-share))
    regular = bool(regression.natural(best, columns)[2].min() > REGULAR_ABOVE)
    covariance = matrix @ np.linalg.inv(hessian(regression, best)) @ matrix.T
    names = [f"{name}: {column}" for name, spec in specs.items() for column in spec.column_names]
    return CovariateFit(
        model=model, formulas=formulas, scale_link=link,
        params=dict(zip(names, (matrix @ best + shift).tolist(), strict=True)),
        covariance=covariance if regular else np.full_like(covariance, np.nan),
        nll=value + values.size * float(np.log(unit)), n_exceedances=values.size, n_total=total, regular=regular,
        confidence_level=confidence_level, backend=scipy_backend.version(), _regression=(regression, best),
    )  # fmt: skip


def design(argument: str, formula: Any, frame: pd.DataFrame) -> tuple[Floats, Any]:
    """Design matrix of a formula, or of one whose coding is known, and that coding."""
    from formulaic import ModelMatrix, model_matrix
    from formulaic.errors import FormulaicError

    cure = "a formula such as '~ age + C(sex)' of columns of the covariates, none of them missing"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a category that the fit has not seen
            found = model_matrix(formula, frame, context={}, na_action="raise")
            if not isinstance(found, ModelMatrix):
                raise TypeError("a formula of two sides")
            matrix = np.asarray(found, dtype=np.float64)
        size = np.abs(matrix).max(axis=0, initial=0.0)
        if ((size == 0) | ((size > 1e-100) & (size < 1e100))).all():
            return matrix, found.model_spec
        why = "columns that are not finite, or beyond 1e±100"
    except (FormulaicError, ValueError, TypeError, SyntaxError, Warning) as problem:
        why = str(problem).partition("\n")[0]
    columns = f"columns {checks.listed(list(frame.columns))}"
    got = f"{formula!r}: {why}" if isinstance(formula, str) else f"{columns}: {why}"
    raise InputError(argument, got=got, allowed=f"a formula of {columns}", cure=cure)


def as_frame(argument: str, given: Any) -> pd.DataFrame:
    """Covariates as a pandas frame with rows numbered from 0."""
    if isinstance(given, Mapping):
        columns = {str(name): np.atleast_1d(values) for name, values in given.items()}
        checks.check_one_length(argument, {name: len(values) for name, values in columns.items()})
        return pd.DataFrame(columns)
    names = getattr(as_narwhals(given, argument), "columns", ())
    return as_frame_columns(given, list(names), argument).reset_index(drop=True)
