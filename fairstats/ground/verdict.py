"""The one rule that turns evidence into verdicts.

A quantity is judged against a fair range: shown to lie below it, above it, inside it, or none of these. Over
the comparisons of a metric the verdicts are family-wise: the smallest p-value of each names its direction,
and those p-values are adjusted together.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import scipy

from fairstats.ground.multiplicity import adjust_pvalues, normal_cdf, normal_quantile

__all__ = [
    "VERDICTS", "Evidence", "Ruling", "Verdict", "bound_level", "explain", "fair_range", "judge", "settle",
    "z_evidence",
]  # fmt: skip

Verdict = Literal["violated", "undecided", "insufficient evidence", "satisfied"]
#: Every verdict, gravest first.
VERDICTS: tuple[Verdict, ...] = ("violated", "undecided", "insufficient evidence", "satisfied")


def fair_range(scale: str, size: float) -> tuple[float, float]:
    """The values that count as fair.

    `scale`, {"ratio", "difference", "gap"}: what is judged: a ratio against a threshold θ in (0, 1] and 1/θ;
    a signed difference against ± a margin; or a size that cannot be negative (largest gap, area, MADD)
    against a margin; `size`: the threshold or the margin.

    Examples
    --------
    >>> fair_range("difference", 0.1)
    (-0.1, 0.1)
    """
    if scale == "ratio":
        return size, 1 / size
    return (-size if scale == "difference" else -math.inf), size


@dataclass(frozen=True)
class Evidence:
    """p-values of one quantity against its fair range; NaN where the data cannot give one.

    `below`: of H0 "at or above the lower end", small where the quantity lies below; `above`: of H0 "at or
    below the upper end"; `inside`: of H0 "outside the range" (the larger of the two equivalence p-values).
    """

    below: float = math.nan
    above: float = math.nan
    inside: float = math.nan

    @property
    def smallest(self) -> tuple[float, str]:
        """The p-value that names the direction, and the direction; (NaN, "") where there is none."""
        known = [(p, side) for side, p in vars(self).items() if not math.isnan(p)]
        return min(known, default=(math.nan, ""))


def z_evidence(z_low: float, z_high: float, degrees_of_freedom: float = math.inf) -> Evidence:
    """Evidence from two statistics that are about normal, or t.

    `z_low`, `z_high`: statistics of H0 "quantity = lower end" and "= upper end", positive where the estimate
    lies above; an infinite end of the range has z = ∞ (lower) or −∞ (upper).

    Both directions count: at an end of a range of Δ = z_low − z_high standard errors, rejecting by z below or
    above has probability Φ(−z) + Φ(−z − Δ) (the test of an interval hypothesis, Hodges & Lehmann 1954). So a
    range much wider than its standard error costs nothing, and one of no width is the two-sided test.

    Examples
    --------
    >>> found = z_evidence(-2.5, -7.0)
    >>> found.smallest[1], round(found.below, 4)
    ('below', 0.0062)
    >>> round(z_evidence(-2.5, -2.5).below, 4)
    0.0124
    """
    if math.isnan(z_low) or math.isnan(z_high):
        return Evidence()
    tail = functools.partial(_tail, width=z_low - z_high, degrees_of_freedom=degrees_of_freedom)
    return Evidence(tail(-z_low), tail(z_high), max(tail(z_low), tail(-z_high)))


def _tail(z: float, *, width: float, degrees_of_freedom: float) -> float:
    """Φ(−z) + Φ(−z − width), at most 1."""
    beyond = normal_cdf(-z - width, degrees_of_freedom) if math.isfinite(width) else 0.0
    return min(normal_cdf(-z, degrees_of_freedom) + beyond, 1.0)


def bound_level(width: float, confidence_level: float, degrees_of_freedom: float = math.inf) -> float:
    """Level of each one-sided limit that belongs to `z_evidence`: p < α exactly where it excludes the end.

    `width`: of the fair range in standard errors (z_low − z_high). Between the confidence level (a wide
    range) and the middle between it and 1 (a range without width).

    Examples
    --------
    >>> bound_level(10.0, 0.95), round(bound_level(0.0, 0.95), 6), round(bound_level(1.0, 0.95), 4)
    (0.95, 0.975, 0.9537)
    """
    alpha = 1 - confidence_level
    if not normal_cdf(-normal_quantile(confidence_level) - width, degrees_of_freedom) > 1e-12:
        return confidence_level  # so wide that the other direction does not count, or infinite, or NaN

    def excess(z: float) -> float:
        return _tail(z, width=max(width, 0.0), degrees_of_freedom=degrees_of_freedom) - alpha

    ends = (normal_quantile(level, degrees_of_freedom) for level in (confidence_level, 1 - alpha / 2))
    least, most = (z + shift for z, shift in zip(ends, (-1e-9, 1e-9), strict=True))
    return 1 - normal_cdf(-float(scipy.optimize.brentq(excess, least, most, xtol=1e-14)), degrees_of_freedom)


@dataclass(frozen=True)
class Ruling:
    """What the evidence on one comparison allows, within its family.

    `verdict`; `direction`: "below", "above" or "inside", what the smallest p-value speaks for; `pvalue`: that
    p-value; `pvalue_adjusted`: over the family; the verdict is "undecided" where it is above the level.
    """

    verdict: Verdict
    direction: str
    pvalue: float
    pvalue_adjusted: float


def settle(family: Sequence[Evidence], *, confidence_level: float, adjust: str = "holm") -> tuple[Ruling, ...]:
    """Verdicts on all comparisons of one metric.

    With "holm" (or another method that keeps the family-wise error) the probability of any false verdict is
    at most 1 − confidence_level, since of each comparison only one direction can be false.

    Examples
    --------
    >>> rulings = settle([z_evidence(-2.2, -9.0), z_evidence(3.1, -4.0)], confidence_level=0.95)
    >>> [(r.verdict, round(r.pvalue_adjusted, 3)) for r in rulings]
    [('violated', 0.014), ('satisfied', 0.002)]
    """
    smallest = [evidence.smallest for evidence in family]
    adjusted = adjust_pvalues([p for p, _ in smallest], adjust)
    return tuple(
        Ruling(_verdict(direction, float(q), 1 - confidence_level), direction, p, float(q))
        for (p, direction), q in zip(smallest, adjusted, strict=True)
    )


def _verdict(direction: str, pvalue: float, level: float) -> Verdict:
    if not direction:
        return "insufficient evidence"
    if pvalue > level:
        return "undecided"
    return "satisfied" if direction == "inside" else "violated"


def judge(low: float, high: float, *, fair: tuple[float, float]) -> Verdict:
    """The verdict on one quantity by two one-sided limits, where no p-value stands behind them.

    `low`, `high`: each at the level of the verdict; `fair`: ends of the fair range; an infinite end needs no
    evidence; NaN limits are "insufficient evidence".

    Examples
    --------
    >>> judge(0.62, 0.78, fair=fair_range("ratio", 0.8))
    'violated'
    >>> judge(-0.02, 0.12, fair=fair_range("difference", 0.1))
    'undecided'
    """
    least, most = fair
    if math.isnan(low) or math.isnan(high):
        return "insufficient evidence"
    if high < least or low > most:
        return "violated"
    inside = (low > least or least == -math.inf) and (high < most or most == math.inf)
    return "satisfied" if inside else "undecided"


def explain(
    interval: Iterable[float],
    bounds: Iterable[float],
    fair: tuple[float, float],
    verdict: str,
    *,
    adjusted: bool,
    alternative: str = "two-sided",
) -> str:
    """One sentence where the interval and the verdict seem to differ; empty where they agree.

    `interval`: what is printed, one-sided unless `alternative` is "two-sided"; `bounds`: the two one-sided
    limits; `adjusted`: whether the verdict counts its family, so that it may be weaker than its own limits.
    """
    low, high = bounds
    shown, alone = judge(*interval, fair=fair), judge(low, high, fair=fair)
    if verdict not in ("violated", "satisfied", "undecided") or shown in (verdict, "insufficient evidence"):
        return ""
    limits = f"the one-sided limits {low:.3g} and {high:.3g}"
    if alone == verdict:
        printed = f"one-sided ({alternative})"
        if alternative == "two-sided":
            least, most = interval
            printed = "two-sided and " + ("wider" if least <= low <= high <= most else "by another method")
        return f"The verdict rests on {limits}; the printed interval is {printed}."
    if adjusted:
        return f"Alone this comparison would be {alone}; over all comparisons of the metric it is {verdict}."
    return f"The verdict rests on {limits}."
