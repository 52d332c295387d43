"""A group's own rate with its interval: Wilson's, of effective counts under weights or clusters.

Under weights and clusters the critical value is Student's, by the effective units of the group less
1, as in comparisons. The mean of two rates has the limits of both (MOVER; Zou, Donner 2008), a
function of the cells those of the delta method about half a row and a whole one more in every cell,
whichever lie farther out.
"""

from __future__ import annotations

import math

import numpy as np

from fairstats.ground.checks import Floats
from fairstats.ground.multiplicity import normal_quantile
from fairstats.ground.results import Interval
from fairstats.methods.rates.estimates import RateEstimates
from fairstats.methods.rates.pair import MIN_UNITS
from fairstats.numerics.paired.score import wilson_limits

WILSON = "Wilson"
WILSON_MOVER = "Wilson (MOVER)"
DELTA = "delta"


def own_intervals(estimates: RateEstimates, level: float) -> tuple[Interval, ...]:
    """The interval of every group's own value, two-sided at this level; NaN where it has none."""
    if estimates.smooth:
        method = DELTA
        limits = _by_delta(estimates, level).tolist()
    elif estimates.parts:
        method = WILSON_MOVER
        limits = _of_mean(estimates, level).tolist()
    else:
        method = WILSON
        limits = wilson_of_groups(estimates, level)
    intervals = []
    for low, high in limits:
        intervals.append(Interval(low, high, level, method))
    return tuple(intervals)


def wilson_of_groups(estimates: RateEstimates, level: float) -> list[tuple[float, float]]:
    """Wilson's limits of the rate of every group, NaN where it has none."""
    successes, cases = estimates.effective
    critical_values = _critical_values(estimates, level)
    limits = []
    for k, n, critical in zip(successes.tolist(), cases.tolist(), critical_values, strict=True):
        if n > 0 and not math.isnan(critical):
            limits.append(wilson_limits(k, n, critical, ratio=False))
        else:
            limits.append((math.nan, math.nan))
    return limits


def _critical_values(estimates: RateEstimates, level: float) -> list[float]:
    """Of every group: normal without weights, NaN where too few units show a variance."""
    normal = normal_quantile((1 + level) / 2)
    critical_values = [normal] * len(estimates.groups)
    if estimates.units is None:
        return critical_values
    for place, units in enumerate(estimates.units.tolist()):
        if not estimates.uneven(place, place):
            continue
        if units < MIN_UNITS - 1e-9 or math.isnan(units):
            critical_values[place] = math.nan
        else:
            critical_values[place] = normal_quantile((1 + level) / 2, units - 1)
    return critical_values


def _of_mean(estimates: RateEstimates, level: float) -> Floats:
    """Of the mean of several rates, from the limits of each."""
    below = np.zeros(len(estimates.groups))
    above = np.zeros(len(estimates.groups))
    for proportion in estimates.parts:
        low, high = np.transpose(wilson_of_groups(proportion, level))
        below += (proportion.rate - low) ** 2
        above += (high - proportion.rate) ** 2
    n_parts = len(estimates.parts)
    return np.column_stack(
        [
            estimates.rate - np.sqrt(below) / n_parts,
            estimates.rate + np.sqrt(above) / n_parts,
        ]
    )


def _by_delta(estimates: RateEstimates, level: float) -> Floats:
    """Of a function of the cells; none where a comparison would have none."""
    critical_values = _critical_values(estimates, level)
    lower_limits = []
    upper_limits = []
    for added in estimates.added or (estimates,):
        with np.errstate(invalid="ignore"):
            reach = np.array(critical_values) * np.sqrt(added.variance)
        lower_limits.append(added.rate - reach)
        upper_limits.append(added.rate + reach)
    limits = np.column_stack([np.min(lower_limits, axis=0), np.max(upper_limits, axis=0)])
    limits[~(estimates.cases > 0)] = math.nan
    within = (estimates.rate_of.low, estimates.rate_of.high)
    return np.clip(limits, *within) if estimates.rate_of.formula else limits
