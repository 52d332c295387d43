"""Tails that depend on covariates: formulas, fits, levels at given covariates, tests of fits.

With x a row of covariates, an excess over the threshold is generalised Pareto and a block maximum
GEV (Coles 2001, chapter 6) with parameters that are linear in x, the scale by its link:

    g(σ(x)) = xᵀβ_σ (g = log, or the identity),      ξ(x) = xᵀβ_ξ,      μ(x) = xᵀβ_μ (block maxima).

The level of m observations at x is  u + σ(x)·[(m·λ)^ξ(x) − 1]/ξ(x),  λ the rate of exceedances, and
of block maxima the 1 − 1/m quantile. A restricted fit is tested by the likelihood ratio
2(nll_null − nll), χ² with as many degrees of freedom as coefficients fewer. The likelihood is in
`regression`, the law of its signed roots in `simulated_root`.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
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
from fairstats.numerics.evt.interests import (
    CoefficientInterest,
    ConstrainedInterest,
    LevelInterest,
)
from fairstats.numerics.evt.intervals import chi2_quantile
from fairstats.numerics.evt.likelihood import REGULAR_ABOVE
from fairstats.numerics.evt.regression import TailRegression, likelihood_end
from fairstats.numerics.evt.return_levels import ReturnLevel, ReturnLevels
from fairstats.numerics.evt.simulated_root import RootLaw
from fairstats.numerics.evt.tail import PROFILE, SIGNED_ROOT, WithParameters, tail_row

#: The interval holds the estimate also where the mean of its root exceeds z.
_LEAST_ROOT = 1e-6
#: Rounds in which the end of an interval and the moments of its root find each other, and the root
#: that ends them.
_ROUNDS = 12
_SETTLED = 1e-5
#: Levels of fewer block maxima are remarked on: at 30 and 60 they cover too little, though coefficients
#: do not.
_FEW_MAXIMA = 150


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
        return ", ".join(
            f"{covariate} = {covariate_value}" for covariate, covariate_value in self.at.items()
        )

    def notes(self) -> list[str]:
        """Meaning and settings; that intervals by χ² and by the delta method are too narrow."""
        note_lines = super().notes()
        if self.confidence_interval.method in (PROFILE, "delta"):
            coverage = "at 100 exceedances it covers .91 to .93 where ξ < 0"
            note_lines.append(
                f"With covariates this interval is too narrow ({coverage}); method='auto' allows"
                " for it."
            )
        elif self.model == "gev" and self.n_exceedances < _FEW_MAXIMA:
            note_lines.append(
                f"Few block maxima ({self.n_exceedances}) with covariates: 95% intervals of levels"
                " cover .92 to .93 at 30 and 60 of them."
            )
        return note_lines

    def rows(self) -> list[dict[str, Any]]:
        """The only row, with the covariates."""
        return [{**level_row, **self.at} for level_row in super().rows()]


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

    def interval(
        self,
        name: str,
        confidence_level: float | None = None,
        *,
        method: str = "auto",
    ) -> Interval:
        """Likelihood interval of a coefficient.

        Parameters
        ----------
        name : str
            As in `params`.
        confidence_level : float, optional
            Default: the fit's.
        method : {"auto", "profile"}
            By the standardised signed root ("auto", see the notes of `return_level`), or by χ²,
            which is too narrow: at 100 exceedances it covers .87 of shapes of −.3.

        Returns
        -------
        Interval

        Raises
        ------
        InputError
            A name that is not there, or a fit read from a dictionary, which does not carry the
            rows.

        Notes
        -----
        A coefficient of the shape has no limit on one side where the likelihood does not fall far
        enough before a shape of −1: that end is infinite, and `method` of the interval says so. With
        a shape of each of two groups of some fifty values and ξ near −.3 one in eight to twenty
        samples has such an interval; counted like the others, all of them cover .95.

        Examples
        --------
        >>> import numpy as np
        >>> from fairstats.numerics.evt import fit_gpd
        >>> rng = np.random.default_rng(1)
        >>> age = rng.random(2000)
        >>> fit = fit_gpd(np.exp(age) * rng.exponential(size=2000), 4.0, covariates={"age": age}, scale="~ age")
        >>> interval = fit.interval("scale: age")
        >>> interval.low < 1.0 < interval.high
        True
        """
        checks.check_choice("name", name, tuple(self.params))
        checks.check_choice("method", method, ("auto", "profile"))
        coefficient_index = list(self.params).index(name)
        matrix, shifts = self._made_of()[0].coefficients()
        interest = CoefficientInterest(
            weights=matrix[coefficient_index], shift=float(shifts[coefficient_index])
        )
        if method == "profile":
            return self._by_chi2(interest, confidence_level)
        return self._by_root(interest, confidence_level)

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Estimate, standard error and interval of each coefficient."""
        std_errors = self.std_error
        n_values = self.n_exceedances
        result = []
        for coefficient, estimate in self.params.items():
            result.append(
                tail_row(
                    f"{self.model} {coefficient}",
                    estimate,
                    self.interval(coefficient),
                    n_values,
                    std_errors[coefficient],
                )
            )
        return tuple(result)

    def sentences(self) -> list[str]:
        """Every coefficient with its interval, then the notes."""
        coefficient_rows = self.comparisons
        return [
            (
                f"{coefficient_row.metric}: {coefficient_row.estimate:.4g} "
                f"({coefficient_row.confidence_interval.words('.4g')})."
            )
            for coefficient_row in coefficient_rows
        ] + self.notes()

    def notes(self) -> list[str]:
        """Formulas, link, sample and likelihood."""
        if self.model == "gev":
            values_in_words = "block maxima"
        else:
            values_in_words = f"of {self.n_total} values exceed the threshold"
        note_lines = [
            f"{self._formulas_in_words} ({self.scale_link} link of the scale). {self.n_exceedances}"
            f" {values_in_words}."
        ]
        note_lines.append(f"log L = {-self.nll:.6g}, AIC = {self.aic:.6g}.")
        if self.regular:
            return note_lines
        return [*note_lines, "Shapes of −1/2 or less: no standard errors exist."]

    def return_level(
        self,
        m: Any,
        at: Any,
        *,
        method: str = "auto",
        confidence_level: float | None = None,
    ) -> ReturnLevels:
        """Levels of m observations at given covariates.

        Parameters
        ----------
        m : float, or several of them
            Observations or blocks. Excesses have one rate for all; where it depends on covariates,
            fit above thresholds by row.
        at : frame or mapping
            The covariates, one row for each level; with a column "threshold" where the fit has
            many.
        method : {"auto", "signed_root", "profile", "delta"}
            Likelihood intervals, the rate included: by the standardised signed root ("auto" and
            "signed_root") or by χ² ("profile"), which is too narrow; or normal ones, for display.
        confidence_level : float, optional
            Default: the fit's.

        Returns
        -------
        ReturnLevels
            For each m and each row of `at`.

        Raises
        ------
        InputError
            m too small, covariates that are missing or of an unknown category, a delta interval of
            a fit that is not regular, or a fit read from a dictionary, which does not carry the
            rows.

        Notes
        -----
        The interval holds the values whose signed root sign(ψ̂ − ψ)·√deviance lies within ±z after
        its mean and standard deviation are taken off. These depend on the design, and come from
        twice 300 samples, always the same, in each of which the best point and the best point with
        the true ψ are found (DiCiccio, Martin & Stern 2001): at mean shapes three standard errors
        below and above the fitted one, but between −.35 and .8, with the moments at an end of the
        interval on the line between them.

        Coverage of 95% intervals at 100 exceedances, scale ~ z + d, ξ from −.3 to .3 (2,000 samples,
        Monte Carlo error .005): shapes .949 to .961 (by χ² .870 at ξ = −.3), coefficients of the
        scale .944 to .953 (.910), levels of 400 observations .945 to .955 (.913); with shape ~ d
        too, levels .953 and .954, coefficients of shapes .952 to .956 (see `interval`). Of 30 and 60
        block maxima, location ~ year, ξ = −.3 and .1: location .929 to .953, shape .941 to .956 (by
        χ² .913); of 30 with ξ = −.3 one sample in forty has no maximum. Levels of 50 of so few maxima
        cover .918 to .934 at 30 and .924 and .939 at 60: too little, and a note says so; .933 and .942
        at 150.

        References
        ----------
        DiCiccio, T. J., Martin, M. A. and Stern, S. E. (2001). Simple and accurate one-sided
        inference from signed roots of likelihood ratios. Canadian Journal of Statistics 29, 67–76.
        """
        checks.check_choice("method", method, ("auto", "signed_root", "profile", "delta"))
        checks.check_that(
            self.regular or method != "delta", "method", method, "'auto': the fit is not regular"
        )
        regression, best_point = self._made_of()
        covariate_frame = as_frame("at", at)
        design_rows = {}
        for column_name, design_spec in regression.specs.items():
            design_rows[column_name] = design("at", design_spec, covariate_frame)[
                0
            ] @ np.linalg.inv(regression.turns[column_name])
        origin = regression.origin
        if self.model == "gpd" and np.ndim(origin):
            checks.check_that(
                "threshold" in covariate_frame,
                "at",
                list(covariate_frame.columns),
                "a column 'threshold' too",
            )
            origin = checks.finite_array(
                "at", covariate_frame["threshold"], "thresholds that are numbers"
            )
        row_origins = np.broadcast_to(np.asarray(origin, dtype=np.float64), len(covariate_frame))
        if self.model == "gev":
            least_period = 1.0
        else:
            least_period = self.n_total / self.n_exceedances
        periods = checks.finite_array("m", m, "a number of observations, or several").ravel()
        are_valid = (
            periods.size
            and (periods > least_period if self.model == "gev" else periods >= least_period).all()
        )
        allowed = f"{'more than' if self.model == 'gev' else 'at least'} {least_period:g}"
        checks.check_that(are_valid, "m", m, allowed, "a larger m")
        conditional_levels = []
        information = regression.information(best_point)
        for period in periods.tolist():
            for row_number, covariate_values in enumerate(covariate_frame.to_dict("records")):
                design_row = {}
                for column_name, matrix in design_rows.items():
                    design_row[column_name] = matrix[row_number : row_number + 1]
                interest = LevelInterest(regression=regression, rows=design_row, m=period)
                level_value, level_gradient = (
                    part[0] for part in interest.derivatives(best_point[None])[:2]
                )
                standard_error = np.sqrt(
                    level_gradient @ np.linalg.solve(information, level_gradient)
                )
                if method == "delta":
                    interval = self._normal_interval(
                        float(level_value), float(standard_error), confidence_level
                    )
                elif method == "profile":
                    interval = self._by_chi2(interest, confidence_level)
                else:
                    interval = self._by_root(interest, confidence_level)
                level_and_ends = []
                for interval_end in (level_value, *interval):
                    level_and_ends.append(
                        float(row_origins[row_number] + regression.unit * interval_end)
                    )
                conditional_levels.append(
                    ConditionalLevel(
                        m=period,
                        at={
                            str(column_name): covariate
                            for column_name, covariate in covariate_values.items()
                        },
                        estimate=level_and_ends[0],
                        std_error=float(regression.unit * standard_error)
                        if self.regular
                        else float("nan"),
                        confidence_interval=replace(
                            interval, low=level_and_ends[1], high=level_and_ends[2]
                        ),
                        critical_value=None,
                        rate="estimated",
                        model=self.model,
                        n_total=self.n_total,
                        n_exceedances=self.n_exceedances,
                        n_resamples=None,
                        seed=None,
                        backend=self.backend,
                    )
                )
        return ReturnLevels(tuple(conditional_levels))

    def test_against(self, null: CovariateFit) -> HypothesisTest:
        """Likelihood-ratio test against a smaller model of the same values.

        Parameters
        ----------
        null : CovariateFit
            With formulas that those of this fit contain; "~ 1" is no dependence.

        Returns
        -------
        HypothesisTest
            Twice the difference of the log-likelihoods, by χ² with the difference of coefficients
            as its degrees.

        Raises
        ------
        InputError
            A model of other values, or one that this fit does not contain, or fits that are not
            regular.

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
        checks.check_type(
            "null", null, CovariateFit, "a fit with covariates", "fit_gpd(x, u, covariates=frame)"
        )
        own_regression = self._made_of()[0]
        null_regression = null._made_of()[0]
        series = []
        for regression in (own_regression, null_regression):
            series.append(regression.values * regression.unit + regression.origin)
        same_values = (
            self.model == null.model
            and series[0].size == series[1].size
            and np.allclose(series[0], series[1])
        )
        if same_values:
            column_pairs = []
            for parameter, own_columns in own_regression.columns.items():
                column_pairs.append((own_columns, null_regression.columns[parameter]))
        else:
            column_pairs = []
        is_nested = same_values and all(
            np.allclose(
                null_columns,
                own_columns @ (own_columns.T @ null_columns) / len(own_columns),
                atol=1e-6,
            )
            for own_columns, null_columns in column_pairs
        )
        degrees_of_freedom = len(self.params) - len(null.params)
        one_scale = null_regression.columns["scale"].shape[1] == 1
        is_valid = (
            is_nested
            and degrees_of_freedom > 0
            and (own_regression.link == null_regression.link or one_scale)
            and self.regular
            and null.regular
        )
        got = f"{null.formulas}, {null.scale_link} link, {null.n_exceedances} values"
        checks.check_that(
            is_valid,
            "null",
            got,
            f"a smaller regular model of the same values within {self.formulas}",
        )
        statistic = max(2.0 * (null.nll - self.nll), 0.0)
        method = f"likelihood ratio, {degrees_of_freedom} df"
        return HypothesisTest(
            null=null._formulas_in_words,
            alternative="two-sided",
            statistic=statistic,
            pvalue=float(chdtrc(degrees_of_freedom, statistic)),
            method=method,
        )

    @property
    def _formulas_in_words(self) -> str:
        return ", ".join(f"{parameter} {formula}" for parameter, formula in self.formulas.items())

    def _made_of(self) -> tuple[TailRegression, Floats]:
        if self._regression is None:
            allowed = "a fit from this session"
            cure = "fit again: a file does not carry the rows"
            raise InputError("fit", got="a fit read from a dictionary", allowed=allowed, cure=cure)
        return self._regression

    @cached_property
    def _root_law(self) -> RootLaw:
        """Samples around the fit, drawn at the first question; all intervals share them."""
        regression, best_point = self._made_of()
        return RootLaw.of(regression, best_point)

    def _by_chi2(self, interest: ConstrainedInterest, confidence_level: float | None) -> Interval:
        """Likelihood interval of a function of z by χ²."""
        regression, best_point = self._made_of()
        interval_level = self._level_of(confidence_level)
        end_points = []
        for side in (-1.0, 1.0):
            end_points.append(
                likelihood_end(
                    regression, best_point, interest, side, chi2_quantile(interval_level)
                )
            )
        return _interval_between(interest, end_points, interval_level, PROFILE)

    def _by_root(
        self,
        interest: ConstrainedInterest,
        confidence_level: float | None,
    ) -> Interval:
        """Interval of a function of z where its standardised signed root is ±z.

        The moments at an end depend on the mean shape there: a fixed point, near the first guess.
        """
        regression, best_point = self._made_of()
        interval_level = self._level_of(confidence_level)
        z = float(np.sqrt(chi2_quantile(interval_level)))
        moments = self._root_law.moments(interest)
        end_points = []
        for side in (-1.0, 1.0):
            end_root = z
            end_shape = regression.mean_shape(best_point)
            end_point = best_point
            for round_number in range(_ROUNDS):
                root_mean, root_sd = moments(end_shape)
                root_before = end_root
                end_root = max(root_sd * z - side * root_mean, _LEAST_ROOT)
                end_point = likelihood_end(
                    regression,
                    best_point,
                    interest,
                    side,
                    end_root**2,
                    near=end_point if round_number > 0 else None,
                )
                end_shape = regression.mean_shape(end_point)
                if abs(end_root - root_before) < _SETTLED or np.isnan(end_shape):
                    break
            end_points.append(end_point)
        return _interval_between(interest, end_points, interval_level, SIGNED_ROOT)

    def _normal_interval(
        self,
        estimate: float,
        error: float,
        confidence_level: float | None,
    ) -> Interval:
        """Normal interval with a given standard error."""
        interval_level = self._level_of(confidence_level)
        half_width = float(np.sqrt(chi2_quantile(interval_level))) * error
        return Interval(
            low=estimate - half_width,
            high=estimate + half_width,
            confidence_level=interval_level,
            method="delta",
        )

    def _level_of(self, confidence_level: float | None) -> float:
        """The confidence level asked for, by default the fit's."""
        return checks.check_confidence_level(
            self.confidence_level if confidence_level is None else confidence_level
        )


def _interval_between(
    interest: ConstrainedInterest,
    end_points: list[Floats],
    level: float,
    name: str,
) -> Interval:
    """The interval between the values of an interest at two points.

    A point of NaN is an end that was not found: the interval has no limit on its side.
    """
    found_ends = interest.derivatives(np.stack(end_points))[0]
    is_missing = np.isnan(found_ends)
    lower_end, upper_end = np.where(is_missing, (-np.inf, np.inf), found_ends).tolist()
    if is_missing.any():
        missing_note = ", without a limit where no end above a shape of −1 was found"
    else:
        missing_note = ""
    return Interval(
        low=lower_end, high=upper_end, confidence_level=level, method=f"{name}{missing_note}"
    )


def fit_covariates(
    values: Floats,
    origin: Any,
    keep: Any,
    covariates: Any,
    formulas: dict[str, str],
    link: str,
    total: int,
    confidence_level: float,
) -> CovariateFit:
    """Fit values above their thresholds, or maxima (origin 0), by the covariates' rows that are
    kept.
    """
    checks.check_choice("scale_link", link, ("log", "identity"))
    covariate_frame = as_frame("covariates", covariates)
    checks.check_rows("covariates", covariate_frame, len(keep))
    design_specs = {}
    columns = {}
    column_turns = {}
    for parameter, formula in formulas.items():
        checks.check_type(parameter, formula, str, "a formula", "'~ age'")
        matrix, design_specs[parameter] = design(parameter, formula, covariate_frame)
        columns[parameter] = matrix[keep]
    n_coefficients = sum(matrix.shape[1] for matrix in columns.values())
    if n_coefficients >= values.size:
        got = f"{n_coefficients} coefficients for {values.size} values"
        raise InputError(
            "covariates",
            got=got,
            allowed="fewer",
            cure="shorter formulas, a lower threshold",
        )
    for parameter, formula in formulas.items():
        matrix = columns[parameter]
        orthogonal, column_turn = np.linalg.qr(matrix)
        if not (
            matrix.size
            and (np.abs(np.diag(column_turn)) > 1e-9 * np.linalg.norm(matrix, axis=0)).all()
        ):
            got = (
                f"{formula!r}: columns {list(design_specs[parameter].column_names)} of which one follows from"
                " the others"
            )
            allowed = "columns that differ among the values fitted"
            cure = "leave it out, or join categories"
            raise InputError(parameter, got=got, allowed=allowed, cure=cure)
        columns[parameter] = orthogonal * np.sqrt(values.size)
        column_turns[parameter] = column_turn / np.sqrt(values.size)
    has_constant = {
        parameter: np.allclose(matrix @ matrix.mean(axis=0), 1.0)
        for parameter, matrix in columns.items()
    }
    model = "gev" if "location" in formulas else "gpd"
    if model == "gev":
        if has_constant["location"]:
            origin = float(values.mean())
        else:
            origin = 0.0
    # a logarithm takes up the unit where it has a constant
    if has_constant["scale"] or link == "identity":
        value_unit = float(np.abs(values - origin).mean())
    else:
        value_unit = 1.0
    regression_arguments = design_specs, columns, column_turns, total if model == "gpd" else 0, link
    regression = TailRegression(
        (values - origin) / value_unit, value_unit, origin, *regression_arguments
    )
    matrix, shifts = regression.coefficients()
    best_fit = regression.fitted()
    if best_fit is None:
        got = "a likelihood that has no maximum with shapes above −1"
        cure = "shape='~ 1', scale_link='log', or a lower threshold"
        raise InputError(
            "covariates",
            got=got,
            allowed="formulas that the values determine",
            cure=cure,
        )
    best_point, lowest_value = best_fit
    if regression.has_rate:
        # the rate has its own maximum, and no part in what is compared with other fits
        exceedance_share = values.size / total
        lowest_value += float(
            values.size * np.log(exceedance_share)
            + (total - values.size) * np.log1p(-exceedance_share)
        )
    is_regular = bool(regression.natural(best_point, columns)[2].min() > REGULAR_ABOVE)
    covariance = matrix @ np.linalg.inv(regression.information(best_point)) @ matrix.T
    coefficient_names = []
    for parameter, design_spec in design_specs.items():
        for column_name in design_spec.column_names:
            coefficient_names.append(f"{parameter}: {column_name}")
    return CovariateFit(
        model=model,
        formulas=formulas,
        scale_link=link,
        params=dict(zip(coefficient_names, (matrix @ best_point + shifts).tolist(), strict=True)),
        covariance=covariance if is_regular else np.full_like(covariance, np.nan),
        nll=lowest_value + values.size * float(np.log(value_unit)),
        n_exceedances=values.size,
        n_total=total,
        regular=is_regular,
        confidence_level=confidence_level,
        backend=scipy_backend.version(),
        _regression=(regression, best_point),
    )


def design(argument: str, formula: Any, frame: pd.DataFrame) -> tuple[Floats, Any]:
    """Design matrix of a formula, or of one whose coding is known, and that coding."""
    from formulaic import ModelMatrix, model_matrix
    from formulaic.errors import FormulaicError

    cure = "a formula such as '~ age + C(sex)' of columns of the covariates, none of them missing"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a category that the fit has not seen
            formula_matrix = model_matrix(formula, frame, context={}, na_action="raise")
            if not isinstance(formula_matrix, ModelMatrix):
                raise TypeError("a formula of two sides")
            matrix = np.asarray(formula_matrix, dtype=np.float64)
        column_sizes = np.abs(matrix).max(axis=0, initial=0.0)
        if ((column_sizes == 0) | ((column_sizes > 1e-100) & (column_sizes < 1e100))).all():
            return matrix, formula_matrix.model_spec
        reason = "columns that are not finite, or beyond 1e±100"
    except (FormulaicError, ValueError, TypeError, SyntaxError, Warning) as problem:
        reason = str(problem).partition("\n")[0]
    columns_in_words = f"columns {checks.listed(list(frame.columns))}"
    if isinstance(formula, str):
        got = f"{formula!r}: {reason}"
    else:
        got = f"{columns_in_words}: {reason}"
    raise InputError(argument, got=got, allowed=f"a formula of {columns_in_words}", cure=cure)


def as_frame(argument: str, covariates: Any) -> pd.DataFrame:
    """Covariates as a pandas frame with rows numbered from 0."""
    if isinstance(covariates, Mapping):
        columns = {}
        for column_name, column_values in covariates.items():
            columns[str(column_name)] = np.atleast_1d(column_values)
        checks.check_one_length(
            argument,
            {column_name: len(column_values) for column_name, column_values in columns.items()},
        )
        return pd.DataFrame(columns)
    column_names = getattr(as_narwhals(covariates, argument), "columns", ())
    return as_frame_columns(covariates, list(column_names), argument).reset_index(drop=True)
