"""One number for all groups and rates, as fairlearn makes it: smallest ratios, means of extremes.

Of each rate the largest difference between two groups, max_j |δ_j|, or the smallest ratio, min_j
min(ρ_j, 1/ρ_j), over the pairs j of groups; of several rates (equalised odds has two) the mean of
these, or of ratios the smallest. fairlearn's `equalized_odds_difference(agg="mean")`,
`equalized_odds_ratio(agg="worst_case")` and `(agg="mean")`, `demographic_parity_ratio`.

Limits follow from those of every pair. That an extreme lies *farther* from equality than some value
all J pairs may say: each has the error ε = e/J (two-sided). That it lies *nearer*, only the pairs
that attain it in the population need to say, one of each rate, or one alone for the smallest of
all: ε = e/R, R rates, or e. Which pairs these are need not be known, as the extreme of all limits
lies beyond theirs. p-values are the smallest e at which a limit excludes the value, those of
equality twice that. Limits of pairs are by the score, with the continuity correction where fewer
than ten successes or failures are expected, and effective counts under weights or clusters.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, ClassVar, Literal

import numpy as np

from fairstats.ground.counts import CellCounts
from fairstats.ground.errors import InputError
from fairstats.ground.multiplicity import normal_quantile
from fairstats.ground.registry import RATES, Metric
from fairstats.ground.results import Interval
from fairstats.ground.serialise import serialisable
from fairstats.ground.verdict import (
    Evidence,
    Procedure,
    beside_equality,
    reach_fair_range,
    settle,
)
from fairstats.methods.rates.decision import smallest_expected_cell
from fairstats.methods.rates.estimates import RateEstimates, estimate_rate
from fairstats.methods.rates.limits import Score
from fairstats.methods.rates.maxima import CORRECTED_BELOW
from fairstats.methods.rates.pair import Refused, pair_method
from fairstats.methods.rates.result import ComparisonResult, Inference, RateComparison
from fairstats.numerics.rates.score import Contrast

Agg = Literal["min", "mean"]
METHOD = "limits of all pairs"
#: Steps of halving that find a p-value, and the least one that is told.
_STEPS = 40
_LEAST_PVALUE = 1e-12
#: A limit with a larger error would lie on the other side of the estimate: a p-value above is 1.
_LARGEST_ERROR = 0.49


@serialisable()
class ExtremeOfRate:
    """Of one rate the two groups that are farthest apart, and their difference or ratio."""

    rate: str
    group: str
    reference: str
    estimate: float
    rate_lower: float
    rate_higher: float


@dataclass(frozen=True, eq=False)
class ExtremeResult(ComparisonResult):
    """One number over all groups and the rates of a metric.

    `components`: of each rate the pair that is farthest apart; `agg`, {"min", "mean"}: how they
    make the number.
    """

    components: tuple[ExtremeOfRate, ...] = ()
    agg: str = "mean"

    lacks: ClassVar[dict[str, str]] = {
        "worst_case_bounds": "the ranges of the rates are those of their differences"
    }

    def _name_comparison(self, c: RateComparison) -> str:
        return self.title

    def _name_disadvantaged(self, comparison: RateComparison) -> str:
        return ""

    def _describe_finding(self, c: RateComparison) -> str:
        parts = []
        for component in self.components:
            parts.append(
                f"{RATES[component.rate].title} {component.estimate:.3f} ({component.group} to"
                f" {component.reference})"
            )
        words = "Mean" if self.agg == "mean" else "Smallest"
        interval = c.confidence_interval.words(alternative=self.settings.alternative)
        return f"{words} {c.estimate:.3f} ({interval}) of {', '.join(parts)}"

    def notes(self) -> list[str]:
        """Sentences below the table."""
        n_groups = len(self.counts.groups)
        n_pairs = len(self.components) * n_groups * (n_groups - 1) // 2
        return [
            f"{self.settings.level_text} interval from the limits of all {n_pairs} pairs of groups"
            " and rates (Bonferroni): coverage is at least nominal.",
            *self._common_notes(),
        ]


@serialisable(eq=False)
class ExtremeRatioResult(ExtremeResult):
    """The smallest ratio between two groups, of several rates the smallest or the mean.

    At most 1; compared with the threshold.

    Attributes
    ----------
    components : tuple of ExtremeOfRate
        Of each rate the two groups that are farthest apart.
    agg : str
        "min" or "mean".
    """

    scale: ClassVar[str] = "ratio"
    tails: ClassVar[dict[str, str]] = {
        "violated": "show a ratio below {low}",
        "satisfied": "show a ratio above {low}",
        "undecided": "do not settle on which side of {low} it lies",
    }


@serialisable(eq=False)
class ExtremeDifferenceResult(ExtremeResult):
    """The mean, over several rates, of the largest difference between two groups.

    At least 0; compared with the margin.

    Attributes
    ----------
    components : tuple of ExtremeOfRate
        Of each rate the two groups that are farthest apart.
    agg : str
        "mean".
    """

    scale: ClassVar[str] = "maximum"
    tails: ClassVar[dict[str, str]] = {
        "violated": "show a value above {high}",
        "satisfied": "show a value below {high}",
        "undecided": "do not settle on which side of {high} it lies",
    }


@dataclass(frozen=True)
class _PairOfGroups:
    """The limits of one pair in one rate; without a `score` nothing is known of it."""

    score: Score | None

    def limits(self, error: float, contrast: Contrast) -> tuple[float, float]:
        """Each at this error."""
        if self.score is None:
            return (-1.0, 1.0) if contrast == "difference" else (0.0, math.inf)
        critical = normal_quantile(1 - min(error, _LARGEST_ERROR), self.score.degrees_of_freedom)
        return self.score.limits(critical)

    def farther(self, error: float, contrast: Contrast) -> float:
        """The value at least as near to equality: |δ| is at least, or the ratio at most this."""
        low, high = self.limits(error, contrast)
        if contrast == "difference":
            return max(low, -high, 0.0)
        if low > 1:
            return 1 / low
        return min(high, 1.0)

    def nearer(self, error: float, contrast: Contrast) -> float:
        """The value at least as far from equality: |δ| is at most, or the ratio at least this."""
        low, high = self.limits(error, contrast)
        if contrast == "difference":
            return min(max(-low, high), 1.0)
        return min(low, 1 / high if high > 0 else math.inf)


@dataclass(frozen=True)
class Extreme:
    """The number, by its limits at any error."""

    contrast: Contrast
    agg: str
    rates: tuple[tuple[_PairOfGroups, ...], ...]

    @property
    def n_pairs(self) -> int:
        """Pairs of groups in all rates."""
        return sum(len(pairs) for pairs in self.rates)

    def farther(self, error: float) -> float:
        """A limit on the side of equality: the number lies farther away but for this error."""
        of_pair = error / (2 * self.n_pairs)
        of_rates = []
        for pairs in self.rates:
            values = [pair.farther(of_pair, self.contrast) for pair in pairs]
            of_rates.append(max(values) if self.contrast == "difference" else min(values))
        return self._together(of_rates)

    def nearer(self, error: float) -> float:
        """A limit on the far side: the number lies nearer to equality but for this error."""
        of_pair = error / (len(self.rates) if self.agg == "mean" else 1)
        of_rates = []
        for pairs in self.rates:
            values = [pair.nearer(of_pair, self.contrast) for pair in pairs]
            of_rates.append(max(values) if self.contrast == "difference" else min(values))
        return self._together(of_rates)

    def _together(self, of_rates: Sequence[float]) -> float:
        return float(np.mean(of_rates)) if self.agg == "mean" else min(of_rates)

    def range(self, error: float) -> tuple[float, float]:
        """Both limits in ascending order, each with this error."""
        ends = self.farther(error), self.nearer(error)
        return ends if self.contrast == "difference" else (ends[1], ends[0])

    def pvalue_farther(self, value: float) -> float:
        """The smallest error at which the number lies farther from equality than a value."""
        if self.contrast == "difference":
            return _smallest_error(lambda error: self.farther(error) > value)
        return _smallest_error(lambda error: self.farther(error) < value)

    def pvalue_nearer(self, value: float) -> float:
        """The smallest error at which the number lies nearer to equality than a value."""
        if self.contrast == "difference":
            return _smallest_error(lambda error: self.nearer(error) < value)
        return _smallest_error(lambda error: self.nearer(error) > value)


def _smallest_error(excludes: Any) -> float:
    """Where a limit, which moves towards the estimate with the error, begins to exclude a value."""
    if not excludes(1.0):
        return 1.0
    if excludes(_LEAST_PVALUE):
        return _LEAST_PVALUE
    low = math.log(_LEAST_PVALUE)
    high = 0.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if excludes(math.exp(middle)):
            high = middle
        else:
            low = middle
    return math.exp(high)


def check_extreme(metric: Metric, agg: str) -> None:
    """Raise where a metric has no such number."""
    rates = [RATES[name] for name in metric.rates if name in RATES]
    is_rate = len(rates) == len(metric.rates) and all(rate.interval == "score" for rate in rates)
    allowed_aggs = {"ratio": ("min", "mean"), "difference": ("mean",)}.get(metric.contrast, ())
    if is_rate and agg in allowed_aggs:
        return
    raise InputError(
        "agg",
        got=f"{agg!r} of {metric.name}",
        allowed='"min" and "mean" of ratios of rates, "mean" of their differences',
        cure='agg="max" for the largest difference, or metric="equalized_odds"',
    )


def extreme_of_rates(
    counts: CellCounts, metric: Metric, settings: Inference, agg: str
) -> ExtremeRatioResult | ExtremeDifferenceResult:
    """The mean of the extremes of a metric's rates, or the smallest of their smallest ratios."""
    check_extreme(metric, agg)
    contrast: Contrast = "ratio" if metric.contrast == "ratio" else "difference"
    settings = replace(settings, method=METHOD, comparisons="all")
    table = counts.without_even_weights()
    estimates = [estimate_rate(table, RATES[name]) for name in metric.rates]
    components = []
    for rate_estimates in estimates:
        components.append(_farthest_pair(rate_estimates, contrast))
    extreme, lacking = make_extreme(estimates, contrast, agg)
    values = [component.estimate for component in components]
    estimate = float(np.mean(values)) if agg == "mean" else float(np.min(values))
    whole = Interval(low=0.0, high=1.0, confidence_level=settings.confidence_level, method=METHOD)
    comparison = RateComparison(
        metric=metric.name,
        estimate=estimate,
        confidence_interval=whole,
        bounds=whole,
        verdict="insufficient evidence",
        n=counts.n,
        method=METHOD,
        note=" ".join(dict.fromkeys(lacking)),
        procedure=Procedure(METHOD, "score"),
    )
    if not math.isnan(estimate):
        comparison = _decide(comparison, extreme, settings, contrast)
    result_class = ExtremeRatioResult if contrast == "ratio" else ExtremeDifferenceResult
    words = "smallest ratios" if contrast == "ratio" else "largest differences"
    title = f"{metric.label}: {'mean of the ' * (agg == 'mean')}{words}"
    return result_class(
        metric=metric.name,
        comparisons=(comparison,),
        settings=settings,
        counts=counts,
        words=title,
        components=tuple(components),
        agg=agg,
    )


def make_extreme(
    estimates: Sequence[RateEstimates], contrast: Contrast, agg: str
) -> tuple[Extreme, list[str]]:
    """The number of these rates by its limits, and of which groups there is nothing to say."""
    lacking: list[str] = []
    pairs_of_rates = []
    for rate_estimates in estimates:
        pairs, notes = _pairs_of(rate_estimates, contrast)
        pairs_of_rates.append(pairs)
        lacking += notes
    return Extreme(contrast, agg, tuple(pairs_of_rates)), lacking


def _decide(
    comparison: RateComparison, extreme: Extreme, settings: Inference, contrast: Contrast
) -> RateComparison:
    """Interval, one-sided limits, p-values and verdict."""
    level = settings.confidence_level
    equality = 0.0 if contrast == "difference" else 1.0
    farther = extreme.pvalue_farther(settings.limit)
    nearer = extreme.pvalue_nearer(settings.limit)
    of_equality = min(2 * extreme.pvalue_farther(equality), 1.0)
    # a smallest ratio is at most 1 and a mean difference at least 0: one end of the range is asked
    if contrast == "difference":
        fair_range = (-settings.limit, settings.limit)
        evidence = Evidence(above=farther, inside=nearer)
    else:
        fair_range = (settings.limit, math.inf)
        evidence = Evidence(below=farther, inside=nearer)
    evidence = beside_equality(evidence, of_equality, fair_range)
    ends_of_bounds = reach_fair_range(extreme.range(1 - level), evidence, fair_range, 1 - level)
    (ruling,) = settle([evidence], confidence_level=level, adjust="none")
    return replace(
        comparison,
        confidence_interval=Interval(*extreme.range((1 - level) / 2), level, METHOD),
        bounds=Interval(*ends_of_bounds, level, METHOD),
        pvalue=of_equality,
        pvalue_adjusted=of_equality,
    )._with_ruling(ruling)


def _farthest_pair(estimates: RateEstimates, contrast: Contrast) -> ExtremeOfRate:
    """The groups with the lowest and the highest of the rates that are known."""
    finite = np.flatnonzero(np.isfinite(estimates.rate))
    if finite.size < 2:
        return ExtremeOfRate(
            rate=estimates.rate_of.name,
            group="",
            reference="",
            estimate=math.nan,
            rate_lower=math.nan,
            rate_higher=math.nan,
        )
    lowest = finite[np.argmin(estimates.rate[finite])]
    highest = finite[np.argmax(estimates.rate[finite])]
    low = float(estimates.rate[lowest])
    high = float(estimates.rate[highest])
    if contrast == "difference":
        value = high - low
    else:
        value = low / high if high > 0 else math.nan
    return ExtremeOfRate(
        rate=estimates.rate_of.name,
        group=estimates.groups[lowest],
        reference=estimates.groups[highest],
        estimate=value,
        rate_lower=low,
        rate_higher=high,
    )


def _pairs_of(
    estimates: RateEstimates, contrast: Contrast
) -> tuple[tuple[_PairOfGroups, ...], list[str]]:
    """Every pair of groups in one rate, and of which there is nothing to say."""
    pairs = []
    notes = []
    for i, j in combinations(range(len(estimates.groups)), 2):
        lacking = [estimates.groups[g] for g in (i, j) if not estimates.cases[g] > 0]
        if lacking:
            notes += [f"{name}: no {estimates.rate_of.case_words}." for name in lacking]
            pairs.append(_PairOfGroups(None))
            continue
        of_pair = estimates.for_pair(i, j)
        chosen = pair_method(of_pair, i, j, contrast, "score", n_resamples=0, rng=None)
        if isinstance(chosen, Refused) or not isinstance(chosen.how, Score):
            notes.append(chosen.note)
            pairs.append(_PairOfGroups(None))
            continue
        score = chosen.how
        few = smallest_expected_cell(score.table) < CORRECTED_BELOW
        pairs.append(_PairOfGroups(replace(score, continuity=few and not of_pair.weighted)))
    return tuple(pairs), notes
