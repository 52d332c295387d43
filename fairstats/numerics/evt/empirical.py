"""Return levels below the threshold: the empirical quantile with its binomial interval."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairstats.ground.errors import InputError
from fairstats.ground.results import Interval, check_confidence_level
from fairstats.numerics.evt.checks import as_positive, as_series
from fairstats.numerics.evt.return_level import ReturnLevel

__all__ = ["empirical_return_level"]


def empirical_return_level(x: Any, m: float, *, confidence_level: float = 0.95) -> ReturnLevel:
    """The 1 − 1/m quantile of a series, with an interval between order statistics.

    For levels that the tail model does not reach (m·λ < 1). The number of values below the quantile is
    binomial, which makes the interval exact (conservative) for any continuous distribution.

    Parameters
    ----------
    x : array-like, shape (N,)
        The whole series.
    m : float
        Observations, more than 1.
    confidence_level : float

    Returns
    -------
    ReturnLevel
        Its upper end is infinite where the sample is too small to bound the quantile.

    Raises
    ------
    InputError
        Values that are no finite numbers, m ≤ 1, or fewer than ten values.

    Examples
    --------
    >>> import numpy as np
    >>> from fairstats.numerics.evt.empirical import empirical_return_level
    >>> level = empirical_return_level(np.arange(1000.0), 10)
    >>> round(level.estimate, 1), list(level.interval)
    (899.1, [880.0, 918.0])
    """
    from scipy.stats import binom

    series = np.sort(as_series("x", x))
    m = as_positive("m", m, "a number of observations, e.g. 100")
    level = check_confidence_level(confidence_level)
    if m <= 1.0:
        raise InputError("m", got=f"{m:g}", allowed="more than 1", cure="m counts observations")
    n = series.size
    if n < 10:
        raise InputError("x", got=f"{n} values", allowed="at least 10", cure="more values")
    p = 1.0 - 1.0 / m
    low = int(binom.ppf(0.5 - 0.5 * level, n, p))  # x_(low) ≤ quantile
    high = int(binom.ppf(0.5 + 0.5 * level, n, p)) + 1
    ends = (
        float(series[low - 1]) if low >= 1 else float("-inf"),
        float(series[high - 1]) if high <= n else float("inf"),
    )
    return ReturnLevel(
        m=m,
        estimate=float(np.quantile(series, p)),
        std_error=float("nan"),
        interval=Interval(*ends, level, "binomial, order statistics"),
        critical_value=None,
        rate="estimated",
        model="empirical",
        n_exceedances=int((series > np.quantile(series, p)).sum()),
        n_total=n,
        n_resamples=None,
        seed=None,
        backend="exact",
    )
