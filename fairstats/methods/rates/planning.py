"""Planning: power and sample size of the disparate-impact test."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log, sqrt
from numbers import Real
from typing import Any, ClassVar, Literal

from fairstats.ground.errors import InputError
from fairstats.ground.results import Result, check_choice, check_confidence_level
from fairstats.ground.serialise import serialisable
from fairstats.methods.rates.simultaneous import normal_cdf, normal_quantile

__all__ = ["PowerResult", "power_ratio", "sample_size_ratio"]

Alternative = Literal["less", "greater", "two-sided"]


@serialisable
@dataclass(frozen=True)
class PowerResult(Result):
    """Power of the log-ratio test at given sample sizes.

    Attributes
    ----------
    power : float
        Probability of rejecting the null hypothesis.
    n, n_reference : int
        Cases in the group and in the reference.
    rate, rate_reference, ratio : float
        Assumed rates and their ratio.
    threshold : float
        Ratio under the null hypothesis (1 for the two-sided test).
    alternative : str
    confidence_level : float
        The test has size 1 − confidence_level.
    """

    power: float
    n: int
    n_reference: int
    rate: float
    rate_reference: float
    ratio: float
    threshold: float
    alternative: str
    confidence_level: float
    backend: str = "numpy"

    title: ClassVar[str] = "Power of the disparate-impact test (log ratio)"

    def rows(self) -> list[dict[str, Any]]:
        """Row of the tidy table: the assumed ratio with its power."""
        return [
            {
                "metric": "power_ratio",
                "estimate": self.power,
                "n": self.n,
                "method": "log",
                "backend": self.backend,
                "n_reference": self.n_reference,
                "rate": self.rate,
                "rate_reference": self.rate_reference,
                "ratio": self.ratio,
                "threshold": self.threshold,
                "alternative": self.alternative,
                "confidence_level": self.confidence_level,
            }
        ]


def _check(rate_reference: float, ratio: float, threshold: float, alternative: str) -> float:
    check_choice("alternative", alternative, ("less", "greater", "two-sided"))
    for name, value, high in (("rate_reference", rate_reference, 1.0), ("threshold", threshold, None)):
        if not value > 0 or (high is not None and not value < high):
            raise InputError(
                name,
                got=repr(value),
                allowed="a rate in (0, 1)" if high else "a ratio above 0",
                cure="assume a plausible value",
            )
    if not 0 < ratio < 1 / rate_reference:
        raise InputError(
            "ratio",
            got=repr(ratio),
            allowed=f"above 0 and below 1/rate_reference = {1 / rate_reference:.4g}",
            cure="ratio × rate_reference is a rate and stays below 1",
        )
    null = 1.0 if alternative == "two-sided" else threshold
    if (alternative == "less" and ratio >= null) or (alternative == "greater" and ratio <= null):
        raise InputError(
            "ratio",
            got=f"{ratio:g} with alternative={alternative!r} and threshold {null:g}",
            allowed=f"a ratio {'below' if alternative == 'less' else 'above'} the threshold",
            cure="the assumed ratio must lie in the alternative",
        )
    if alternative == "two-sided" and ratio == 1:
        raise InputError("ratio", got="1", allowed="another ratio than 1", cure="assume a difference to find")
    return null


def _power(ratio: float, null: float, std_error: float, alternative: str, level: float) -> float:
    distance = (log(ratio) - log(null)) / std_error
    if alternative == "two-sided":
        critical = normal_quantile((1 + level) / 2)
        return normal_cdf(distance - critical) + normal_cdf(-distance - critical)
    critical = normal_quantile(level)
    return normal_cdf((-distance if alternative == "less" else distance) - critical)


def power_ratio(
    rate_reference: float,
    ratio: float,
    *,
    n: int,
    n_reference: int | None = None,
    threshold: float = 0.8,
    alternative: Alternative = "less",
    confidence_level: float = 0.95,
) -> PowerResult:
    """Power of the disparate-impact test with ``method="log"``.

    Parameters
    ----------
    rate_reference : float
        Assumed rate of the reference group, in (0, 1).
    ratio : float
        Assumed true ratio, in the alternative.
    n, n_reference : int
        Cases in the group and in the reference (default: as many as in the group).
    threshold : float, default 0.8
        Null value of the one-sided tests; the two-sided test asks whether the ratio is 1.
    alternative : {"less", "greater", "two-sided"}, default "less"
        "less": show a violation, H0 ratio ≥ threshold. "greater": show compliance, H0 ratio ≤ threshold.
    confidence_level : float, default 0.95

    Returns
    -------
    PowerResult

    Raises
    ------
    InputError
        If the assumptions contradict each other.

    Notes
    -----
    log T̂ is taken as normal with variance (1−r₀)/(n·r₀) + (1−r₁)/(n_ref·r₁) at the assumed rates; simulation
    confirms it where every expected count is 10 or more.

    Examples
    --------
    >>> import fairstats as fs
    >>> print(f"{fs.power_ratio(0.5, 0.7, n=400).power:.3f}")
    0.474
    """
    null = _check(rate_reference, ratio, threshold, alternative)
    level = check_confidence_level(confidence_level)
    n_reference = n if n_reference is None else n_reference
    for name, size in (("n", n), ("n_reference", n_reference)):
        if not isinstance(size, Real) or not size >= 1:
            raise InputError(name, got=repr(size), allowed="1 or more cases", cure="pass the planned size")
    rate = rate_reference * ratio
    variance = (1 - rate) / (n * rate) + (1 - rate_reference) / (n_reference * rate_reference)
    power = _power(ratio, null, sqrt(variance), alternative, level)
    return PowerResult(
        power=power,
        n=int(n),
        n_reference=int(n_reference),
        rate=rate,
        rate_reference=float(rate_reference),
        ratio=float(ratio),
        threshold=null,
        alternative=alternative,
        confidence_level=level,
    )


def sample_size_ratio(
    rate_reference: float,
    ratio: float,
    *,
    power: float = 0.8,
    allocation: float = 1.0,
    threshold: float = 0.8,
    alternative: Alternative = "less",
    confidence_level: float = 0.95,
) -> PowerResult:
    """Smallest group size at which the disparate-impact test has the wanted power.

    Parameters
    ----------
    rate_reference, ratio, threshold, alternative, confidence_level
        As in `power_ratio`.
    power : float, default 0.8
        Wanted power, in (0, 1) and above 1 − confidence_level.
    allocation : float, default 1
        Cases in the reference per case in the group.

    Returns
    -------
    PowerResult
        With `n`, `n_reference` and the power that they reach.

    Raises
    ------
    InputError
        If the assumptions contradict each other.

    Examples
    --------
    >>> import fairstats as fs
    >>> plan = fs.sample_size_ratio(0.5, 0.7, power=0.8)
    >>> print(plan.n, f"{plan.power:.3f}")
    991 0.800
    """
    null = _check(rate_reference, ratio, threshold, alternative)
    level = check_confidence_level(confidence_level)
    if not 1 - level < power < 1:
        raise InputError(
            "power",
            got=repr(power),
            allowed=f"between 1 − confidence_level = {1 - level:.4g} and 1",
            cure="0.8 or 0.9",
        )
    if not allocation > 0:
        raise InputError(
            "allocation", got=repr(allocation), allowed="above 0", cure="reference cases per case"
        )
    rate = rate_reference * ratio
    unit = (1 - rate) / rate + (1 - rate_reference) / (allocation * rate_reference)
    low, high = 1, 2
    while _power(ratio, null, sqrt(unit / high), alternative, level) < power:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if _power(ratio, null, sqrt(unit / middle), alternative, level) < power:
            low = middle
        else:
            high = middle
    return power_ratio(
        rate_reference,
        ratio,
        n=high,
        n_reference=ceil(allocation * high),
        threshold=threshold,
        alternative=alternative,
        confidence_level=level,
    )
