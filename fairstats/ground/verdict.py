"""The one rule that turns evidence into verdicts.

A quantity is shown to lie below, above or inside a fair range.

Every verdict of the package is made here. What a method brings is `Evidence`: three p-values, small
where the quantity lies below, above or inside its fair range, by an exact test, a score, a standard
error with degrees of freedom, or draws; and limits that belong to them. What comes out is a
`Ruling`: verdict, direction, p-value, and the p-value over the family. A verdict is given exactly
where the p-value over the family is at most the error, and the one-sided limits at `bound_level`
leave the fair range, or lie inside it, exactly where the p-value of the comparison alone is.
What lies outside the fair range is not equal: "violated" never has a smaller p-value than "differs"
(`beside_equality`), neither alone nor over the family, and where the fair range is one value both
are one question with one p-value.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple, TypeVar

import scipy

from fairstats.ground.multiplicity import adjust_pvalues, normal_cdf, normal_quantile
from fairstats.ground.serialise import serialisable

Verdict = Literal["violated", "undecided", "insufficient evidence", "satisfied"]
#: Of a root by Newton's steps: the most of them, and how small the last one is.
_MOST_STEPS = 100
_LAST_STEP = 1e-15
#: Every verdict, gravest first.
VERDICTS: tuple[Verdict, ...] = ("violated", "undecided", "insufficient evidence", "satisfied")


def fair_range(scale: str, size: float) -> tuple[float, float]:
    """The values that count as fair.

    Of a "ratio" or "odds_ratio" from a threshold θ to 1/θ, of a "difference" within ± a margin.

    A "gap" (a size that cannot be negative: largest gap, area, MADD) lies below a margin.
    """
    if scale in ("ratio", "odds_ratio"):
        return size, 1 / size
    # 0 − 0 is 0, where −0 would be written "-0"
    return (0.0 - size if scale == "difference" else -math.inf), size


@serialisable()
class Procedure:
    """What verdict, p-values and limits of one row are computed with.

    Attributes
    ----------
    name : str
        In words, with the ordering of tables where the test is exact.
    kind : {"score", "exact", "standard error", "bootstrap", "draws", "none"}
        What evidence it is.
    exact : bool
        Whether p-values and limits hold at every size, by enumeration.
    df : float
        Degrees of freedom of Student's t; infinite for the normal law.
    """

    name: str = ""
    kind: str = "none"
    exact: bool = False
    df: float = math.inf


_Frozen = TypeVar("_Frozen")


def with_fields(instance: _Frozen, **fields: Any) -> _Frozen:
    """A frozen dataclass with other values of these fields, in a fifth of the time of
    `dataclasses.replace`.

    For rows, of which a comparison of many groups makes thousands, each several times. The class
    has no `__post_init__`, no cached property and no slots.

    Examples
    --------
    >>> with_fields(Procedure("score", "score"), exact=True)
    Procedure(name='score', kind='score', exact=True, df=inf)
    """
    copied = object.__new__(type(instance))
    copied.__dict__.update(instance.__dict__)
    copied.__dict__.update(fields)
    return copied


class Evidence(NamedTuple):
    """p-values of one quantity, small where it lies below, above or inside its fair range.

    NaN where there is none. `equality`: the two-sided p-value of no difference; `of_one_value`:
    whether equality alone is fair, so that it is the same question (`beside_equality` fills both).
    """

    below: float = math.nan
    above: float = math.nan
    inside: float = math.nan
    equality: float = math.nan
    of_one_value: bool = False

    @property
    def smallest(self) -> tuple[float, str]:
        """The p-value that names the direction, and the direction.

        (NaN, "") where there is none.
        """
        pvalue = math.inf
        direction = ""
        # a NaN is not smaller, and of equal ones the first counts
        if self.above < pvalue:
            pvalue = self.above
            direction = "above"
        if self.below < pvalue:
            pvalue = self.below
            direction = "below"
        if self.inside < pvalue:
            pvalue = self.inside
            direction = "inside"
        return (pvalue, direction) if direction else (math.nan, "")


def beside_equality(evidence: Evidence, pvalue: float, fair: tuple[float, float]) -> Evidence:
    """The evidence of a row whose equality has this p-value.

    Who lies outside the fair range differs: neither direction outside may have a smaller p-value
    than equality, which it could where both are found in different ways (twice a tail of an exact
    test beside the tables of both tails; a permutation beside draws). Where the fair range is one
    value, outside and different are one question: the side of the estimate has the p-value of
    equality, the other one 1.

    Parameters
    ----------
    evidence : Evidence
        As its own method gives it.
    pvalue : float
        Two-sided p-value of equality; NaN where there is none.
    fair : tuple of float
        The fair range.

    Examples
    --------
    >>> beside_equality(Evidence(below=0.002, above=1.0, inside=1.0), 0.004, (0.99, 1 / 0.99)).below
    0.004
    >>> beside_equality(Evidence(below=0.096, above=1.0, inside=1.0), 0.048, (1.0, 1.0)).below
    0.048
    """
    if math.isnan(pvalue) or not evidence.smallest[1]:
        return evidence
    fair_low, fair_high = fair
    if fair_low < fair_high:
        # a direction without a p-value, as below a size, stays without one
        return Evidence(
            below=_at_least(evidence.below, pvalue),
            above=_at_least(evidence.above, pvalue),
            inside=evidence.inside,
            equality=pvalue,
        )
    # also of what can lie on one side alone, and has no p-value on the other
    is_below = not evidence.above <= evidence.below
    return Evidence(
        below=pvalue if is_below else 1.0,
        above=1.0 if is_below else pvalue,
        inside=evidence.inside,
        equality=pvalue,
        of_one_value=True,
    )


def _at_least(pvalue: float, least: float) -> float:
    """The larger of two p-values; NaN where the first is."""
    if math.isnan(pvalue):
        return math.nan
    return float(max(pvalue, least))


def reach_fair_range(
    bounds: tuple[float, float], evidence: Evidence, fair: tuple[float, float], error: float
) -> tuple[float, float]:
    """One-sided limits that leave the fair range only where the p-value of equality allows it.

    `fair`: the fair range; `error`: of the verdict.
    """
    low, high = bounds
    if evidence.equality <= error or math.isnan(evidence.equality) or math.isnan(low):
        return low, high
    fair_low, fair_high = fair
    return min(low, fair_high), max(high, fair_low)


def z_evidence(z_low: float, z_high: float, degrees_of_freedom: float = math.inf) -> Evidence:
    """Evidence from two statistics that are about normal, or t.

    Of H0 "quantity = lower end" and "= upper end".

    They are positive where the estimate lies above; an infinite end of the range has z = ∞ (lower)
    or −∞ (upper). Both directions count: at an end of a range of Δ = z_low − z_high standard
    errors, rejecting by z below or above has probability Φ(−z) + Φ(−z − Δ) (the test of an interval
    hypothesis, Hodges & Lehmann 1954). So a range much wider than its standard error costs nothing,
    and one of no width is the two-sided test.
    """
    return evidence_by_side(
        at_low=(z_low, z_low),
        at_high=(z_high, z_high),
        width=z_low - z_high,
        degrees_of_freedom=degrees_of_freedom,
    )


def evidence_by_side(
    *,
    at_low: tuple[float, float],
    at_high: tuple[float, float],
    width: float,
    degrees_of_freedom: float = math.inf,
) -> Evidence:
    """Evidence as `z_evidence`, from statistics that differ by the side that they speak for.

    Parameters
    ----------
    at_low, at_high : tuple of float
        Of H0 "quantity = lower end" and "= upper end": the statistic that is large where the
        quantity is shown to lie above the end, and the one that is small where it lies below.
    width : float
        Standard errors in the fair range.
    degrees_of_freedom : float
        Of Student's t.
    """
    low_above, low_below = at_low
    high_above, high_below = at_high
    low_is_unknown = math.isnan(low_above) or math.isnan(low_below)
    if low_is_unknown or math.isnan(high_above) or math.isnan(high_below):
        return Evidence()
    return Evidence(
        below=_tail_probability(-low_below, width, degrees_of_freedom),
        above=_tail_probability(high_above, width, degrees_of_freedom),
        inside=max(
            _tail_probability(low_above, width, degrees_of_freedom),
            _tail_probability(-high_below, width, degrees_of_freedom),
        ),
    )


def _tail_probability(z: float, width: float, degrees_of_freedom: float) -> float:
    """Φ(−z) + Φ(−z − width), at most 1."""
    if math.isfinite(width):
        probability_beyond = normal_cdf(-z - width, degrees_of_freedom)
    else:
        probability_beyond = 0.0
    return min(normal_cdf(-z, degrees_of_freedom) + probability_beyond, 1.0)


def with_the_other_direction(pvalue: float, width: float) -> float:
    """The p-value of one direction where both count, p + Φ(Φ⁻¹(p) − width), as in `z_evidence`.

    `width`: standard errors in the fair range.
    """
    return _tail_probability(-normal_quantile(pvalue), width, math.inf)


@functools.lru_cache(maxsize=128)
def bound_level(
    width: float, confidence_level: float, degrees_of_freedom: float = math.inf
) -> float:
    """Level of each one-sided limit that belongs to `z_evidence`.

    p < α exactly where it excludes the end.

    Between the confidence level (a fair range of many standard errors: `width`) and the middle
    between it and 1. Kept for exact tests, which ask for it before and after they are computed.
    """
    alpha = 1 - confidence_level
    if not normal_cdf(-normal_quantile(confidence_level) - width, degrees_of_freedom) > 1e-12:
        return (
            confidence_level  # so wide that the other direction does not count, or infinite, or NaN
        )

    def excess(z: float) -> float:
        return _tail_probability(z, max(width, 0.0), degrees_of_freedom) - alpha

    if degrees_of_freedom == math.inf:
        return 1 - normal_cdf(-_normal_root(width, alpha))
    # a hair beyond both ends, so that rounding leaves the root between them
    least_quantile = normal_quantile(confidence_level, degrees_of_freedom) - 1e-9
    greatest_quantile = normal_quantile(1 - alpha / 2, degrees_of_freedom) + 1e-9
    z = float(scipy.optimize.brentq(excess, least_quantile, greatest_quantile, xtol=1e-14))
    return 1 - normal_cdf(-z, degrees_of_freedom)


def _normal_root(width: float, alpha: float) -> float:
    """The z with Φ(−z) + Φ(−z − width) = α, by Newton's steps.

    The sum is convex in z > 0: from a z below the root no step goes beyond it.
    """
    width = max(width, 0.0)
    z = normal_quantile(1 - alpha)
    for _ in range(_MOST_STEPS):
        excess = _tail_probability(z, width, math.inf) - alpha
        density = math.exp(-z * z / 2) + math.exp(-((z + width) ** 2) / 2)
        step = excess * math.sqrt(2 * math.pi) / density
        z += step
        if step <= _LAST_STEP:
            break
    return z


class Ruling(NamedTuple):
    """What the evidence on one comparison allows, within its family.

    `direction`: "below", "above" or "inside", what the smallest p-value (`pvalue`) speaks for.
    """

    verdict: Verdict
    direction: str
    pvalue: float
    pvalue_adjusted: float


def settle(
    family: Sequence[Evidence],
    *,
    confidence_level: float,
    adjust: str = "holm",
    adjusted_equality: Sequence[float] | None = None,
) -> tuple[Ruling, ...]:
    """Verdicts on all comparisons of one metric.

    With "holm" (or another method that keeps the family-wise error) the probability of any false
    verdict is at most 1 − confidence_level, since of each comparison only one direction can be
    false. `adjusted_equality`: the p-values of equality over their family, as rows print them; by
    default those of the evidence, adjusted in the same way.
    """
    smallest_pvalues = [evidence.smallest[0] for evidence in family]
    if adjusted_equality is None:
        equality_pvalues = [evidence.equality for evidence in family]
        adjusted_equality = adjust_pvalues(equality_pvalues, adjust).tolist()
    return _rule(
        family,
        adjusted=adjust_pvalues(smallest_pvalues, adjust).tolist(),
        adjusted_equality=adjusted_equality,
        error=1 - confidence_level,
    )


def decide(
    family: Sequence[Evidence],
    *,
    confidence_level: float,
    adjust: str = "holm",
    chosen_among: int = 0,
    adjusted_equality: Sequence[float] | None = None,
) -> tuple[Ruling, ...]:
    """Verdicts on the comparisons of one metric, also where the data chose which are shown.

    Parameters
    ----------
    family : sequence of Evidence
        One per comparison shown.
    confidence_level : float
        1 − the error of any false verdict.
    adjust : str
        As in `adjust_pvalues`; where the data chose the comparisons it is Bonferroni's over all of
        them.
    chosen_among : int
        Number of comparisons that the data chose these from; 0 where they are the family.
    adjusted_equality : sequence of float, optional
        The p-values of equality over their family, as rows print them; default those of the
        evidence, adjusted in the same way.
    """
    if not chosen_among:
        return settle(
            family,
            confidence_level=confidence_level,
            adjust=adjust,
            adjusted_equality=adjusted_equality,
        )
    if adjusted_equality is None:
        adjusted_equality = [min(chosen_among * evidence.equality, 1.0) for evidence in family]
    return _rule(
        family,
        adjusted=[min(chosen_among * evidence.smallest[0], 1.0) for evidence in family],
        adjusted_equality=adjusted_equality,
        error=1 - confidence_level,
    )


def _rule(
    family: Sequence[Evidence],
    *,
    adjusted: Sequence[float],
    adjusted_equality: Sequence[float],
    error: float,
) -> tuple[Ruling, ...]:
    """Rulings by p-values over the family; outside the fair range none below that of equality.

    The p-values of verdicts and of equality are families of their own: where other comparisons are
    shown to be fair, which is no difference, the former have fewer left to share the error with.
    """
    rulings = []
    for evidence, over_family, equality in zip(family, adjusted, adjusted_equality, strict=True):
        pvalue, direction = evidence.smallest
        pvalue_adjusted = over_family
        if direction in ("below", "above") and not math.isnan(equality):
            if evidence.of_one_value:
                pvalue_adjusted = equality
            else:
                pvalue_adjusted = max(over_family, equality)
        verdict: Verdict = "satisfied" if direction == "inside" else "violated"
        if pvalue_adjusted > error:
            verdict = "undecided"
        if not direction:
            verdict = "insufficient evidence"
        rulings.append(
            Ruling(
                verdict=verdict,
                direction=direction,
                pvalue=pvalue,
                pvalue_adjusted=pvalue_adjusted,
            )
        )
    return tuple(rulings)


def sharpest_level(
    confidence_level: float,
    n_comparisons: int,
    adjust: str,
    chosen_among: int = 0,
) -> float:
    """The error that the smallest p-value of a family is held to: what a test must be right at.

    Holm, Hommel, Šidák and Bonferroni begin at α/m, and so does the false discovery rate; without
    adjusting it is α.
    """
    error_level = 1 - confidence_level
    if chosen_among:
        return error_level / chosen_among
    if adjust == "none":
        return error_level
    return error_level / max(n_comparisons, 1)


def judge(low: float, high: float, *, fair: tuple[float, float]) -> Verdict:
    """The verdict on one quantity by two one-sided limits, where no p-value stands behind them.

    Examples
    --------
    >>> judge(0.62, 0.78, fair=fair_range("ratio", 0.8)), judge(-0.02, 0.12, fair=fair_range("difference", 0.1))
    ('violated', 'undecided')
    """
    if math.isnan(low) or math.isnan(high):
        return "insufficient evidence"
    interval_side = side_of(low, high, fair=fair)
    if interval_side in ("below", "above"):
        return "violated"
    if interval_side == "inside":
        return "satisfied"
    return "undecided"


def side_of(low: float, high: float, *, fair: tuple[float, float]) -> str:
    """Where two limits lie: "below", "above" or "inside" the fair range, empty where they reach
    over an end of it.

    Examples
    --------
    >>> side_of(-0.3, -0.1, fair=(0.0, 0.0)), side_of(-0.3, 0.1, fair=(0.0, 0.0))
    ('below', '')
    """
    fair_low, fair_high = fair
    if high < fair_low:
        return "below"
    if low > fair_high:
        return "above"
    is_inside = (low > fair_low or fair_low == -math.inf) and (
        high < fair_high or fair_high == math.inf
    )
    return "inside" if is_inside else ""


def explain(
    interval: Iterable[float],
    bounds: Iterable[float],
    fair: tuple[float, float],
    verdict: str,
    *,
    adjusted: bool,
    alternative: str = "two-sided",
) -> str:
    """One sentence where the printed interval and the verdict by one-sided `bounds` seem to differ.

    Empty elsewhere.
    """
    lower_bound, upper_bound = bounds
    shown_verdict = judge(*interval, fair=fair)
    unadjusted_verdict = judge(lower_bound, upper_bound, fair=fair)
    if verdict not in ("violated", "satisfied", "undecided") or shown_verdict in (
        verdict,
        "insufficient evidence",
    ):
        return ""
    limits = f"the one-sided limits {lower_bound:.3g} and {upper_bound:.3g}"
    if unadjusted_verdict == verdict:
        printed = f"one-sided ({alternative})"
        if alternative == "two-sided":
            interval_low, interval_high = interval
            printed = "two-sided and " + (
                "wider"
                if interval_low <= lower_bound <= upper_bound <= interval_high
                else "by another method"
            )
        return f"The verdict rests on {limits}; the printed interval is {printed}."
    if adjusted:
        return (
            f"Alone this comparison would be {unadjusted_verdict}; over all comparisons of the metric it is"
            f" {verdict}."
        )
    return f"The verdict rests on {limits}."


def effective(number: float, kind: str) -> str:
    """So many effective cases in words, "1 effective cluster"; `kind`: in the plural."""
    number_text = f"{number:.3g}"
    singular = {"successes": "success"}.get(kind, kind.removesuffix("s"))
    return f"{number_text} effective {singular if number_text == '1' else kind}"
