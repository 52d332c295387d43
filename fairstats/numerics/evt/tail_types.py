"""What kind of tail: heavier than exponential or not, with an end point or without, and how far it may go on.

Excesses of exponential data over their (k + 1)-th largest value are exponential again, with coefficient of
variation 1; a heavier tail has a larger one, a tail with an end point a smaller one. The thresholds k =
k_min … k_max look at nested samples: their joint distribution is simulated.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from fairstats.ground import checks
from fairstats.ground.errors import InputError
from fairstats.ground.results import Comparison, Interval
from fairstats.ground.serialise import serialisable
from fairstats.numerics.evt.distributions import Counts, Flags, Floats
from fairstats.numerics.evt.fit import EvtFit
from fairstats.numerics.evt.intervals import chi2_quantile
from fairstats.numerics.evt.profile import endpoint_estimate
from fairstats.numerics.evt.return_levels import power_levels
from fairstats.numerics.evt.series import as_series, refuse_constant
from fairstats.numerics.evt.tail import TailEstimate, TailTest

_RULES = ("max_cv", "paper_excess", "paper_raw")
#: The horizon is sought up to this many exceedances.
_FARTHEST = 1e6
_GRID = 25


@serialisable(eq=False)
class ExponentialityTest(TailTest):
    """Test of an exponential tail against a heavier one.

    Attributes
    ----------
    statistic : float
        max over k of (CV_k − E CV_k)/sd_k; for the paper's rules, max of CV_k less its bound 1 + 1/(4k).
    pvalue : float
        One-sided, simulated; NaN for the paper's rules, which have no level.
    critical_value : float
        Of the statistic at the level of this look (0 for the paper's rules).
    passed : bool
        Not shown heavier than exponential: p-value above the level of this look.
    rule : {"max_cv", "paper_excess", "paper_raw"}
    k : ndarray of int, shape (K,)
        Numbers of largest values.
    cv : ndarray of float, shape (K,)
        CV_k.
    standardised : ndarray of float, shape (K,)
        (CV_k − E CV_k)/sd_k.
    confidence_level : float
        1 − the level of all looks together.
    max_looks : int or None
        Looks that share that level; None: no such limit was stated.
    n_resamples : int
    seed : int or None
    """

    title: ClassVar[str] = "Exponential tail"
    in_row: ClassVar[tuple[str, ...]] = ("critical_value", "passed")
    backend: ClassVar[str] = "numpy"  # what simulates

    statistic: float
    pvalue: float
    critical_value: float
    passed: bool
    rule: str
    k: Counts
    cv: Floats
    standardised: Floats
    confidence_level: float
    max_looks: int | None
    n_resamples: int
    seed: int | None

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """The only row."""
        return (self.row("exponential tail", int(self.k[-1]), self.rule),)

    def sentences(self) -> list[str]:
        """The p-value in words, and what passing means."""
        passed = "passed" if self.passed else "not passed"
        how = f"p = {self.pvalue:.3g}" if self.rule == "max_cv" else passed
        return [f"Test of an exponential tail against a heavier one ({self.rule}): {how}.", *self.notes()]

    def notes(self) -> list[str]:
        """What passing means."""
        if self.rule != "max_cv":
            return ["The paper's rule: it has no error level; see exponentiality_test for how often it passes."]
        verdict = "not shown heavier than exponential" if self.passed else "heavier than exponential"
        level = 1.0 - self.confidence_level
        look = f"One look at level {level:g}"
        if self.max_looks is None:
            verdict = verdict.replace("not shown", "passed by stopping rule, no error guarantee: not shown")
            look += ", repeated without a stated limit"
        elif self.max_looks > 1:
            look = f"One of at most {self.max_looks} looks, level {level / self.max_looks:.3g} each"
        return [f"{look}: {verdict} (k = {self.k[0]}…{self.k[-1]})."]


def exponentiality_test(
    x: Any, *, k_min: int = 10, k_max: int = 50, rule: str = "max_cv", confidence_level: float = 0.95,
    max_looks: int | None = 1, n_resamples: int = 9999, rng: Any = None,
) -> ExponentialityTest:  # fmt: skip
    """Test that the tail of x is exponential, against a heavier one.

    Parameters
    ----------
    x : array-like, shape (N,)
        The series; more than `k_max` values.
    k_min, k_max : int
        Numbers of largest values to look at. CV_k is the coefficient of variation of the excesses of the k
        largest values over the (k + 1)-th.
    rule : {"max_cv", "paper_excess", "paper_raw"}
        "max_cv": max over k of (CV_k − E CV_k)/sd_k, moments and critical value under the exponential. The other two
        are the rules of Monjezi et al.: CV_k < 1 + 1/(4k) for every k, on excesses and on raw values.
    confidence_level : float
        1 − α, with α the level of the test, of all looks together.
    max_looks : int or None
        Where the test is repeated on a growing sample: how often at the most, stated beforehand. Each look
        has the level α/`max_looks`, so that an exponential tail is rejected at any of them with
        probability α at the most (conservative). None: looks at level α without a limit; the result then says
        that passing has no error guarantee.
    n_resamples : int
        Simulated exponential samples.
    rng : None, int or Generator

    Returns
    -------
    ExponentialityTest

    Raises
    ------
    InputError
        Fewer than k_max + 1 values, or the largest ones all equal.

    Notes
    -----
    The critical value for k = 10…50 at 5% is about 2.75. 1/(4k) is a bias adjustment, not a critical value: on excesses
    the paper's rule passes a true exponential tail only 24% of the time, and ξ = .3 4%; repeated until it passes, 78%
    and 24% in 20 looks, 86% and 32% in 50. On raw values it passes 100% for ξ ≤ .1 and 71% at ξ = .5. (2,000 values a
    look; `vignettes/calibration.md`.) Power of "max_cv" at one look: 46% for ξ = .3, 74% for .5, 89% for .7.

    Examples
    --------
    >>> import numpy as np
    >>> from fairstats.numerics.evt import exponentiality_test
    >>> rng = np.random.default_rng(1)
    >>> exponentiality_test(rng.exponential(size=2000), rng=1).passed
    True
    >>> exponentiality_test(rng.standard_cauchy(size=2000), rng=1).passed
    False
    """
    checks.check_choice("rule", rule, _RULES)
    series = as_series("x", x)
    k_min = checks.check_whole("k_min", k_min, low=2)
    k_max = checks.check_whole("k_max", k_max, low=k_min)
    replicates = checks.check_whole("n_resamples", n_resamples, low=99)
    # rounded: 1 − 0.95 is not 0.05, and p-values are compared with it
    alpha = round(1.0 - checks.check_confidence_level(confidence_level), 12)
    level = alpha / (1 if max_looks is None else checks.check_whole("max_looks", max_looks, low=1, high=10**6))
    if series.size <= k_max:
        got, cure = f"{k_max} for a series of {series.size} values", "a smaller k_max, or more values"
        raise InputError("k_max", got=got, allowed="less than the number of values", cure=cure)
    top = np.sort(np.partition(series, series.size - k_max - 1)[-(k_max + 1) :])[::-1]
    refuse_constant("x", top[k_min::-1], "largest values")
    k = np.arange(k_min, k_max + 1)
    generator, seed = checks.as_generator(rng)
    cv = coefficients_of_variation(top[None, :], k)[0]
    null = coefficients_of_variation(_exponential_top(generator, replicates, k_max), k)
    mean, sd = null.mean(axis=0), null.std(axis=0, ddof=1)
    standardised = (cv - mean) / sd
    if rule == "max_cv":
        maxima = ((null - mean) / sd).max(axis=1)
        statistic = float(standardised.max())
        pvalue = (1.0 + float((maxima >= statistic).sum())) / (replicates + 1.0)
        critical = float(np.quantile(maxima, 1.0 - level))
        passed = pvalue > level
    else:
        if rule == "paper_raw":
            cv = coefficients_of_variation(top[None, :], k, raw=True)[0]
        statistic, pvalue, critical = float((cv - 1.0 - 0.25 / k).max()), float("nan"), 0.0
        passed = statistic < 0.0
    outcome = (statistic, pvalue, critical, bool(passed), rule)
    return ExponentialityTest(*outcome, k, cv, standardised, confidence_level, max_looks, replicates, seed)


def coefficients_of_variation(top: Floats, k: Counts, *, raw: bool = False) -> Floats:
    """CV of the excesses of the k largest values over the (k + 1)-th; of the values themselves where `raw`.

    Standard deviation (divisor k − 1) over mean, shape (B, K), of `top` values in descending order, shape (B,
    k_max + 1). Excesses that are all 0 have CV 0, values whose mean is 0 an infinite one.
    """
    shifted = top - top[:, -1:]
    mean = np.cumsum(shifted, axis=1)[:, k - 1] / k
    squares = np.cumsum(shifted**2, axis=1)[:, k - 1] / k
    spread = np.sqrt(np.maximum(squares - mean**2, 0.0) * k / (k - 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        if raw:
            level = np.abs(mean + top[:, -1:])
            return np.where(level != 0, spread / level, np.inf)
        excess = mean - shifted[:, k]
        return np.where(excess > 0, spread / excess, 0.0)


def _exponential_top(rng: np.random.Generator, replicates: int, k_max: int) -> Floats:
    """Largest values of exponential samples less the (k_max + 1)-th, descending (Rényi's representation)."""
    spacings = rng.standard_exponential((replicates, k_max)) / np.arange(1, k_max + 1)
    top = np.zeros((replicates, k_max + 1))
    top[:, :-1] = np.cumsum(spacings[:, ::-1], axis=1)[:, ::-1]
    return top


@serialisable(kw_only=True)
class TailType(TailEstimate):
    """Type of a tail with the interval behind it, and its horizon.

    Attributes
    ----------
    type : str
        "III" (an upper end point), "II" or "II, pre-asymptotic" (heavy), or "undecided (I not excluded)".
    estimate : float
        ξ.
    confidence_interval : Interval
        Likelihood interval of ξ, by the standardised signed root.
    horizon : float
        B: the largest m whose return level has an interval narrower than `max_relative_width` of its estimate, and
        ending below `bound`; NaN if there is none, infinite if there is no limit up to 10⁶ exceedances.
    horizon_reason : str
        What sets it.
    max_relative_width : float
    bound : float or None
        Logical upper bound of the data.
    endpoint : float
        Upper end point of the fit, infinite for ξ ≥ 0.
    """

    title: ClassVar[str] = "Tail type"
    metric: ClassVar[str] = "shape"
    in_row: ClassVar[tuple[str, ...]] = ("type", "horizon")

    type: str
    horizon: float
    horizon_reason: str
    max_relative_width: float
    bound: float | None
    endpoint: float

    def sentences(self) -> list[str]:
        """The type, the shape behind it, then the notes."""
        return [f"Type of the tail: {self.type}.", *super().sentences()]

    def notes(self) -> list[str]:
        """What the type rests on."""
        lines = []
        if self.type.startswith("undecided"):
            lines.append("An interval of ξ that contains 0 is no evidence for an exponential tail (type I).")
        if self.type.startswith("II,"):
            lines.append(
                f"The data are bounded by {self.bound:g}: a heavy tail cannot last, and nothing is "
                "extrapolated from it."
            )
        if self.bound is not None and self.bound < self.endpoint < float("inf"):
            lines.append(f"The fitted end point, {self.endpoint:.4g}, is beyond the bound {self.bound:g}.")
        lines.append(f"Horizon: {self.horizon_reason}.")
        return lines


def tail_type(
    fit: EvtFit, *, bound: float | None = None, max_relative_width: float = 0.5, confidence_level: float | None = None
) -> TailType:
    """Type of the tail of a threshold fit, and the horizon of extrapolation.

    Type III if the interval of ξ lies below 0, type II if above (with a bound: "II, pre-asymptotic", since bounded data
    have an end point in the end), otherwise undecided: an interval that contains 0 does not show type I.

    Parameters
    ----------
    fit : EvtFit
        Of excesses or of the point process, by maximum likelihood.
    bound : float, optional
        Logical upper bound of the data, 1 for differences of probabilities.
    max_relative_width : float
        Widest interval of a return level that counts as knowledge, as a share of its estimate.
    confidence_level : float, optional
        Default: the fit's.

    Returns
    -------
    TailType

    Raises
    ------
    InputError
        Block maxima; a fit by L-moments; a bound that the data exceed.

    Examples
    --------
    >>> import numpy as np
    >>> from fairstats.numerics.evt import fit_gpd, tail_type
    >>> x = np.random.default_rng(1).beta(2.0, 3.0, size=5000)
    >>> tail_type(fit_gpd(x, threshold=0.8, backend="scipy"), bound=1.0).type
    'III'
    """
    checks.check_type("fit", fit, EvtFit, "a fit above a threshold", "fit_gpd(x, threshold)").need_likelihood()
    if fit.model == "gev":
        allowed, cure = "a fit above a threshold", "fit_gpd(x, threshold)"
        raise InputError("fit", got="a fit of block maxima", allowed=allowed, cure=cure)
    level = fit.level_of(confidence_level)
    checks.check_number("max_relative_width", max_relative_width, low=0, open_low=True, cure="0.5")
    largest = float(fit.sample[-1])
    if bound is not None and largest > checks.check_number("bound", bound, cure="1.0"):
        got, allowed = f"{bound!r}, which the largest value {largest:g} exceeds", "an upper bound of the data"
        raise InputError("bound", got=got, allowed=allowed, cure="leave it out if there is none")
    interval = fit.interval("shape", level)
    horizon, reason = _horizon(fit, bound, max_relative_width, level)
    return TailType(
        type=_name(interval, bound),
        estimate=fit.shape,
        confidence_interval=interval,
        horizon=horizon,
        horizon_reason=reason,
        max_relative_width=max_relative_width,
        bound=None if bound is None else float(bound),
        endpoint=endpoint_estimate(fit),
        **fit.source,
    )


def _name(interval: Interval, bound: float | None) -> str:
    if interval.high < 0:
        return "III"
    if interval.low > 0:
        return "II" if bound is None else "II, pre-asymptotic"
    return "undecided (I not excluded)"


def _horizon(fit: EvtFit, bound: float | None, width: float, level: float) -> tuple[float, str]:
    """Largest m that passes, on a grid of log m that is refined around the first failure."""
    low, high = np.log(1.0 / fit.rate), np.log(_FARTHEST / fit.rate)
    reason = ""
    for _ in range(3):
        periods = np.linspace(low, high, _GRID)
        good, reasons = _passes(fit, periods, level, bound, width)
        if good.all():
            if not reason:
                return float("inf"), f"no limit up to {_FARTHEST:g} exceedances"
            low = high
            break
        first = int(np.argmin(good))
        reason = reasons[first]
        if first == 0:
            if low == np.log(1.0 / fit.rate):
                return float("nan"), f"already at the threshold {reason}"
            break
        low, high = periods[first - 1], periods[first]
    return float(np.floor(np.exp(low) * (1.0 + 1e-12))), f"beyond it {reason}"


def _passes(fit: EvtFit, periods: Floats, level: float, bound: float | None, width: float) -> tuple[Flags, list[str]]:
    """Whether each level has an interval that is narrow and below the bound: the one `return_level` gives."""
    if fit.by_power:
        low, estimate, high = power_levels(fit, np.exp(periods).tolist(), level).T
    else:
        likelihood, target = fit.likelihood(), np.full(periods.size, chi2_quantile(level))
        low, high = likelihood.level_interval(periods, target, standardised=True)
        estimate = np.array([likelihood.level(t) for t in periods])
    narrow = high - low < width * np.abs(estimate)
    below = np.ones(periods.size, dtype=bool) if bound is None else high < bound
    words = np.where(
        narrow, f"the interval ends above the bound {bound}", f"the interval is wider than {width:g} of the level"
    )
    return narrow & below, [str(w) for w in words]
