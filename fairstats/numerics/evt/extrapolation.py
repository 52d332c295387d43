"""The type of a tail, and how far it may be extrapolated.

    type III   an upper end point: the likelihood interval of ξ lies below 0
    type II    heavy: it lies above 0;  an interval that contains 0 does not show type I

(Fisher & Tippett 1928). The horizon is the largest m whose return level r(m) has an interval
narrower than a share of r(m), and ending below the logical bound of the data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fairstats.ground import checks
from fairstats.ground.errors import InputError
from fairstats.ground.serialise import serialisable
from fairstats.numerics.evt.distributions import Flags, Floats
from fairstats.numerics.evt.intervals import chi2_quantile
from fairstats.numerics.evt.profile import endpoint_estimate, parameter_interval
from fairstats.numerics.evt.return_levels import power_levels
from fairstats.numerics.evt.tail import FittedTail, TailEstimate

#: The horizon is sought up to so many exceedances, at so many levels at a time, these first;
#: and so many between two of them.
_FARTHEST = 1e6
_HORIZON_LEVELS = 25
_NEAR_LEVELS = 16
_INNER_LEVELS = 4

#: Types of a tail that need a word beside them.
UNDECIDED = "undecided (I not excluded)"
PRE_ASYMPTOTIC = "II, pre-asymptotic"


@serialisable(kw_only=True)
class TailType(TailEstimate):
    """Type of a tail with the interval behind it, and its horizon.

    Attributes
    ----------
    type : str
        "III" (an upper end point), "II" or "II, pre-asymptotic" (heavy), or "undecided (I not
        excluded)".
    estimate : float
        ξ.
    confidence_interval : Interval
        Likelihood interval of ξ, by the standardised signed root.
    horizon : float
        B: the largest m whose return level has an interval narrower than `max_relative_width` of
        its estimate, and ending below `bound`; NaN if there is none, infinite if there is no limit
        up to 10⁶ exceedances.
    horizon_reason : str
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
        note_lines = []
        if self.type == UNDECIDED:
            note_lines.append(
                "An interval of ξ that contains 0 is no evidence for an exponential tail (type I)."
            )
        if self.type == PRE_ASYMPTOTIC:
            reason = "a heavy tail cannot last, and nothing is extrapolated from it"
            note_lines.append(f"The data are bounded by {self.bound:g}: {reason}.")
        if self.bound is not None and self.bound < self.endpoint < float("inf"):
            note_lines.append(
                f"The fitted end point, {self.endpoint:.4g}, is beyond the bound {self.bound:g}."
            )
        note_lines.append(f"Horizon: {self.horizon_reason}.")
        return note_lines


def tail_type(
    fit: FittedTail,
    *,
    bound: float | None = None,
    max_relative_width: float = 0.5,
    confidence_level: float | None = None,
) -> TailType:
    """Type of the tail of a threshold fit, and the horizon of extrapolation.

    Type III if the interval of ξ lies below 0, type II if above (with a bound: "II,
    pre-asymptotic", since bounded data have an end point in the end), otherwise undecided: an
    interval that contains 0 does not show type I (the types of Gnedenko 1943; Coles 2001, section
    3.1.3).

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
    checks.check_type(
        "fit", fit, FittedTail, "a fit above a threshold", "fit_gpd(x, threshold)"
    ).need_likelihood()
    if fit.model == "gev":
        allowed = "a fit above a threshold"
        cure = "fit_gpd(x, threshold)"
        raise InputError("fit", got="a fit of block maxima", allowed=allowed, cure=cure)
    interval_level = fit._level_of(confidence_level)
    checks.check_number("max_relative_width", max_relative_width, low=0, open_low=True, cure="0.5")
    largest = float(fit.sample[-1])
    if bound is not None and largest > checks.check_number("bound", bound, cure="1.0"):
        got = f"{bound!r}, which the largest value {largest:g} exceeds"
        allowed = "an upper bound of the data"
        raise InputError("bound", got=got, allowed=allowed, cure="leave it out if there is none")
    interval = parameter_interval(fit, "shape", interval_level)
    tail_kind = UNDECIDED
    if interval.high < 0:
        tail_kind = "III"
    elif interval.low > 0:
        if bound is None:
            tail_kind = "II"
        else:
            tail_kind = PRE_ASYMPTOTIC
    horizon, reason = _extrapolation_horizon(fit, bound, max_relative_width, interval_level)
    return TailType(
        type=tail_kind,
        estimate=fit.shape,
        confidence_interval=interval,
        horizon=horizon,
        horizon_reason=reason,
        max_relative_width=max_relative_width,
        bound=None if bound is None else float(bound),
        endpoint=endpoint_estimate(fit),
        **fit.source,
    )


@dataclass(frozen=True)
class _LevelSlacks:
    """By how much the interval of each level, as `return_level` gives it, is narrower than may be,
    and ends below the bound; both in shares of the level, shape (Q,).
    """

    in_width: Floats
    below_bound: Floats

    @property
    def passes(self) -> Flags:
        return np.asarray((self.in_width > 0.0) & (self.below_bound > 0.0))

    @property
    def least(self) -> Floats:
        return np.minimum(self.in_width, self.below_bound)

    def first_failure(self, slacks_of: Callable[[int], _LevelSlacks]) -> int | None:
        """Number of the first level that does not pass; None where all do.

        `slacks_of` gives those of a level that is not known yet, NaN: only what stands before the
        first failure is asked for.
        """
        failures = np.flatnonzero(~self.passes)
        for failure in failures.tolist():
            if np.isnan(self.in_width[failure]):
                slacks = slacks_of(failure)
                self.in_width[failure] = slacks.in_width[0]
                self.below_bound[failure] = slacks.below_bound[0]
            if not self.passes[failure]:
                return int(failure)
        return None


def _extrapolation_horizon(
    fit: FittedTail,
    bound: float | None,
    largest_width: float,
    interval_level: float,
) -> tuple[float, str]:
    """Largest m that passes, on a grid of log m that is refined twice around the first failure."""

    def slacks_at(periods: Floats, quick: bool = False) -> _LevelSlacks:
        return _slacks_of_levels(fit, periods, interval_level, bound, largest_width, quick)

    def reason_at(slacks: _LevelSlacks, failure: int) -> str:
        if slacks.in_width[failure] > 0.0:
            return f"the interval ends above the bound {bound}"
        return f"the interval is wider than {largest_width:g} of the level"

    nearest = np.log(1.0 / fit.rate)
    periods = np.linspace(nearest, np.log(_FARTHEST / fit.rate), _HORIZON_LEVELS)
    # levels far out, whose intervals cost most, are asked for where all before them pass
    slacks = slacks_at(periods[:_NEAR_LEVELS], quick=True)
    first_failure = slacks.first_failure(lambda level: slacks_at(periods[level : level + 1]))
    if first_failure is None:
        farther = slacks_at(periods[_NEAR_LEVELS:], quick=True)
        slacks = _LevelSlacks(
            np.append(slacks.in_width, farther.in_width),
            np.append(slacks.below_bound, farther.below_bound),
        )
        first_failure = slacks.first_failure(lambda level: slacks_at(periods[level : level + 1]))
    if first_failure is None:
        return float("inf"), f"no limit up to {_FARTHEST:g} exceedances"
    failure = first_failure
    reason = reason_at(slacks, failure)
    if failure == 0:
        return float("nan"), f"already at the threshold {reason}"
    last = _guess_last_passing(periods, slacks, failure, slacks_at)
    if last is not None:
        # the guess holds where the next level of the grid fails
        pair = np.array([_fine_period(periods, failure, last + step) for step in (0, 1)])
        slacks_of_pair = slacks_at(pair)
        if slacks_of_pair.passes.tolist() == [True, False]:
            return _whole_period(pair[0]), f"beyond it {reason_at(slacks_of_pair, 1)}"
    low_period = periods[failure - 1]
    high_period = periods[failure]
    for _ in range(2):
        periods = np.linspace(low_period, high_period, _HORIZON_LEVELS)
        slacks = slacks_at(periods)
        failures = np.flatnonzero(~slacks.passes)
        if not failures.size:
            low_period = high_period
            break
        failure = int(failures[0])
        reason = reason_at(slacks, failure)
        if failure == 0:
            break
        low_period = periods[failure - 1]
        high_period = periods[failure]
    return _whole_period(low_period), f"beyond it {reason}"


def _whole_period(log_period: float) -> float:
    return float(np.floor(np.exp(log_period) * (1.0 + 1e-12)))


def _guess_last_passing(
    periods: Floats,
    slacks: _LevelSlacks,
    failure: int,
    slacks_at: Callable[[Floats], _LevelSlacks],
) -> int | None:
    """Number of the last level of the finest grid between a failure and the level before it that
    passes, by cubics through a few levels; None where they do not tell.
    """
    from scipy.interpolate import PchipInterpolator

    inner = np.linspace(periods[failure - 1], periods[failure], _INNER_LEVELS + 2)
    between = slacks_at(inner[1:-1])
    ends = slacks.least[[failure - 1, failure]]
    least = np.concatenate([ends[:1], between.least, ends[1:]])
    if not (np.isfinite(least).all() and (np.diff(least) < 0.0).all()):
        return None
    crossing = float(PchipInterpolator(-least, inner)(0.0))
    share = (crossing - inner[0]) / (inner[-1] - inner[0])
    cells = (_HORIZON_LEVELS - 1) ** 2
    return min(max(int(np.floor(share * cells)), 0), cells - 1)


def _fine_period(periods: Floats, failure: int, number: int) -> float:
    """A level of the finest grid: every cell of the second grid has one of its own."""
    cells = _HORIZON_LEVELS - 1
    middle = np.linspace(periods[failure - 1], periods[failure], _HORIZON_LEVELS)
    cell = min(number // cells, cells - 1)
    fine = np.linspace(middle[cell], middle[cell + 1], _HORIZON_LEVELS)
    return float(fine[number - cell * cells])


def _slacks_of_levels(
    fit: FittedTail,
    periods: Floats,
    interval_level: float,
    bound: float | None,
    largest_width: float,
    quick: bool,
) -> _LevelSlacks:
    """How far the intervals of levels are from too wide, and from the bound; where `quick`, NaN
    where an interval takes a search.
    """
    if fit.by_power:
        lower_ends, estimate, upper_ends = power_levels(
            fit, np.exp(periods).tolist(), interval_level
        ).T
    else:
        likelihood = fit._profile_likelihood()
        target = np.full(periods.size, chi2_quantile(interval_level))
        if quick:
            lower_ends, upper_ends = likelihood.quick_level_interval(periods, target)
        else:
            lower_ends, upper_ends = likelihood.level_interval(periods, target, standardised=True)
        estimate = likelihood.levels(periods)
    size = np.abs(estimate)
    highest = np.inf if bound is None else bound
    with np.errstate(invalid="ignore"):
        return _LevelSlacks(
            in_width=largest_width * size - (upper_ends - lower_ends),
            below_bound=highest - upper_ends,
        )
