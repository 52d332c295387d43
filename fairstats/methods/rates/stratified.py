"""Comparisons within the strata of a confounder, beside the crude ones: the stratified score.

The estimate is that of Mantel and Haenszel, where the stratified score is 0; interval, tests and verdict are by that
score (`numerics/rates/strata.py`), its decisions by the rule of every other comparison.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from fairstats.ground.errors import InputError
from fairstats.ground.multiplicity import normal_cdf, normal_quantile, two_sided_pvalue
from fairstats.ground.registry import RATES, Metric
from fairstats.ground.results import HypothesisTest, Interval
from fairstats.ground.strata import StratumCounts
from fairstats.ground.verdict import Evidence, Procedure, bound_level, z_evidence
from fairstats.methods.rates.decision import equivalence_test
from fairstats.methods.rates.limits import Mover
from fairstats.methods.rates.result import Inference, RateComparison, as_family
from fairstats.methods.rates.stratified_result import (
    CONDITIONAL,
    ENDING,
    SCORE,
    StratifiedComparison,
    StratifiedDifferenceResult,
    StratifiedRatioResult,
    disagreement,
    rates_of,
    stratum_table,
)
from fairstats.numerics.rates import conditional, homogeneity, pooled, strata
from fairstats.numerics.rates.strata import EQUALITY, Contrast, Strata

_WHOLE: dict[str, tuple[float, float]] = {"ratio": (0.0, math.inf), "difference": (-1.0, 1.0)}


def can_be_adjusted(metric: Metric) -> bool:
    """Whether a metric has an adjusted version: ratios and differences of rates, differences of means of rates."""
    kinds = {RATES[name].interval for name in metric.rates if name in RATES}
    if not metric.rates or len(kinds) != 1 or not all(name in RATES for name in metric.rates):
        return False
    return (metric.contrast in ("ratio", "difference") and kinds == {"score"}) or (
        metric.contrast == "difference" and kinds == {"mover"}
    )


def check_adjustable(metric: Metric) -> None:
    """Raise where a metric has no adjusted version."""
    if can_be_adjusted(metric):
        return
    if metric.contrast == "gap":
        got, cure = "strata with the largest gap", "the signed differences, with comparisons='all' for all pairs"
    else:
        got, cure = f"strata with {metric.name}", "a rate such as 'true_positive_rate', or leave out strata"
    allowed = "ratios and differences of rates (successes among cases), or differences of their means"
    raise InputError("strata", got=got, allowed=allowed, cure=cure)


def adjusted(result: Any, metric: Metric, counts: StratumCounts) -> Any:
    """The result with its comparisons within strata in `stratified`: the same pairs, as one family of their own."""
    check_adjustable(metric)
    settings = replace(result.settings, method=SCORE)
    chosen = settings.reference_rule == "highest"
    together = together_of(result)
    levels = _Levels.of(settings, together)
    compared = [_compared(c, metric.contrast, counts, settings, levels) for c in result.comparisons]
    judged = as_family(compared, settings, chosen_among=together if chosen else 0)
    known: dict[str, Any] = {
        "metric": metric.name + ENDING,
        "comparisons": _with_disagreements(result.comparisons, judged, metric.contrast, counts),
        "settings": settings,
        "counts": result.counts,
        "words": f"{metric.title.split(':')[0]} within strata",
        "stratum_counts": counts,
    }
    result_class = StratifiedRatioResult if metric.contrast == "ratio" else StratifiedDifferenceResult
    return replace(result, stratified=result_class(**known))


def together_of(result: Any) -> int:
    """Comparisons whose intervals hold at once (Bonferroni): all that the data could have chosen, or those shown."""
    if result.settings.reference_rule == "highest":
        n_groups = len(result.counts.groups)
        rows = len({c.metric for c in result.comparisons})
        return int(max(rows * n_groups * (n_groups - 1) // 2, 1))
    return max(len(result.comparisons), 1) if result.settings.simultaneous else 1


def _with_disagreements(
    crude: Sequence[RateComparison], judged: Sequence[StratifiedComparison], scale: str, counts: StratumCounts
) -> tuple[StratifiedComparison, ...]:
    among = f"{len(counts.strata)} strata" + (f" of {counts.attribute}" if counts.attribute else "")
    pairs = zip(crude, judged, strict=True)
    return tuple(replace(c, disagreement=disagreement(plain, c, scale, among)) for plain, c in pairs)


@dataclass(frozen=True)
class _Levels:
    """Levels of intervals that hold together (Bonferroni): two-sided ones, and one-sided ones."""

    two_sided: float
    one_sided: float

    @classmethod
    def of(cls, settings: Inference, together: int) -> _Levels:
        level = 1 - (1 - settings.confidence_level) / together
        return cls(two_sided=level, one_sided=level)


@dataclass(frozen=True)
class _Pooled:
    """The stratified score of one rate, as a method of limits."""

    tables: Strata
    contrast: Contrast
    guarded: bool

    def statistic(self, null: float) -> float:
        """Stratified score z(θ)."""
        compute = strata.guarded_statistic if self.guarded else strata.score_statistic
        return float(compute(self.tables, null, self.contrast))

    def limit(self, critical: float, side: int) -> float:
        """Lower (side −1) or upper end of {θ : |z(θ)| ≤ critical}."""
        return float(strata.score_limit(self.tables, critical, self.contrast, side=side, guarded=self.guarded))


@dataclass(frozen=True)
class _Means:
    """The stratified score of a difference of means of two rates: their scores, joined by MOVER."""

    scores: tuple[_Pooled, ...]

    @property
    def mover(self) -> Mover:
        """MOVER of the parts' differences."""
        parts: Any = tuple((float(strata.mantel_haenszel(s.tables, s.contrast)), s) for s in self.scores)
        return Mover(math.inf, parts)

    def statistic(self, null: float) -> float:
        """Critical value at which the interval ends at `null`."""
        return self.mover.statistic(null)

    def limit(self, critical: float, side: int) -> float:
        """Lower (side −1) or upper end."""
        low, high = self.mover.limits(critical)
        return low if side < 0 else high


def _compared(
    crude: RateComparison, contrast: str, counts: StratumCounts, settings: Inference, levels: _Levels
) -> tuple[StratifiedComparison, Evidence]:
    """One adjusted comparison, and the evidence of its verdict."""
    kind = cast("Contrast", contrast)
    parts = [stratum_table(counts, rate, crude.group, crude.reference) for rate in rates_of(crude.metric, counts)]
    open_interval = Interval(*_WHOLE[contrast], settings.confidence_level, SCORE)
    tables = parts[0]
    shared = [part.shared for part in parts]
    homogeneous = homogeneity.homogeneity_test(tables, kind) if len(parts) == 1 else None
    row = StratifiedComparison(
        metric=crude.metric + ENDING,
        group=crude.group,
        reference=crude.reference,
        confidence_interval=open_interval,
        bounds=open_interval,
        verdict="insufficient evidence",
        n=sum(int(part.n1[part.shared].sum()) for part in parts),
        n_reference=sum(int(part.n0[part.shared].sum()) for part in parts),
        method=SCORE,
        crude=crude.estimate,
        crude_verdict=crude.verdict,
        n_strata=int(np.min([own.sum() for own in shared])),
        pvalue_homogeneity=float(homogeneous.pvalue) if homogeneous else math.nan,
    )
    who = f"{crude.group} and {crude.reference}"
    if any(not own.any() for own in shared):
        return replace(row, note=f"{who}: no stratum has cases of both."), Evidence()
    estimates = [float(strata.mantel_haenszel(part, kind)) for part in parts]
    errors = [float(strata.standard_error(part, kind)) for part in parts]
    rates = np.mean([strata.adjusted_rates(part) for part in parts], axis=0)
    row = replace(
        row,
        estimate=float(np.mean(estimates)),
        std_error=math.hypot(*errors) / len(errors),
        rate=float(rates[0]),
        rate_reference=float(rates[1]),
    )
    if math.isnan(row.estimate):
        note = f"{who}: no success in any stratum that both share; 0/0 can be any ratio."
        return replace(row, note=note), Evidence()
    return _decided(row, parts, kind, settings, levels)


def _decided(
    row: StratifiedComparison, parts: Sequence[Strata], contrast: Contrast, settings: Inference, levels: _Levels
) -> tuple[StratifiedComparison, Evidence]:
    """Interval, tests, limits and evidence of a comparison that has an estimate."""
    equality, alpha = EQUALITY[contrast], 1 - settings.confidence_level
    plain = _score_of(parts, contrast, guarded=False)
    guarded = _score_of(parts, contrast, guarded=True)
    exact = _exact_equality(parts)
    z_equal = plain.statistic(equality)
    p_equal = two_sided_pvalue(z_equal)
    if not math.isnan(exact):
        p_equal = max(p_equal, exact)
    few = [part for part in parts if strata.fewest_cases(part) < pooled.FEWEST_CASES]

    low, high = settings._fair(contrast)
    judged_by_equality = low == high
    judge = plain if judged_by_equality else guarded
    z_low, z_high = judge.statistic(low), judge.statistic(high)
    evidence = z_evidence(z_low, z_high)
    if judged_by_equality and not math.isnan(exact):
        evidence = Evidence(below=max(evidence.below, exact), above=max(evidence.above, exact), inside=evidence.inside)
    side = bound_level(z_low - z_high, settings.confidence_level)
    critical = normal_quantile(side)
    bound_low, bound_high = judge.limit(critical, -1), judge.limit(critical, 1)
    if judged_by_equality and exact > alpha:
        # the exact test keeps equality: so do the limits of the verdict
        bound_low, bound_high = min(bound_low, equality), max(bound_high, equality)
    bounds = Interval(bound_low, bound_high, side, SCORE)

    nulls = settings._nulls(contrast)
    z_less, z_greater = judge.statistic(nulls["less"]), judge.statistic(nulls["greater"])
    p_less, p_greater = normal_cdf(z_less), normal_cdf(-z_greater)
    note = ""
    if few and not judged_by_equality:
        evidence = Evidence()
        p_less = p_greater = math.nan
        fewest = int(min(strata.fewest_cases(part) for part in few))
        note = (
            f"{row.group} against {row.reference}: {fewest} cases of the smaller group in the strata that both share; "
            f"below {pooled.FEWEST_CASES} only equality is tested within strata."
        )
    tests = [
        HypothesisTest(f"{contrast} >= {nulls['less']:.6g}", "less", z_less, p_less, SCORE),
        HypothesisTest(f"{contrast} <= {nulls['greater']:.6g}", "greater", z_greater, p_greater, SCORE),
        HypothesisTest(f"{contrast} = {equality:g}", "two-sided", z_equal, p_equal, SCORE),
    ]
    if not few:
        tests += equivalence_test(
            contrast,
            (low, high),
            statistics=(z_low, z_high),
            pvalues=(normal_cdf(-z_low), normal_cdf(z_high)),
            method=f"TOST ({SCORE})",
        )
    if len(parts) == 1:
        tests += _tests_of_strata(parts[0], contrast)

    quoted = next(test for test in tests if test.alternative == settings.alternative)
    interval = _interval(plain, guarded, settings, levels, contrast)
    if settings.alternative == "two-sided" and not math.isnan(exact) and p_equal > alpha:
        # the exact test does not reject equality: neither does the interval
        interval = (min(interval[0], equality), max(interval[1], equality))
    return replace(
        row,
        confidence_interval=Interval(*interval, settings.confidence_level, SCORE),
        bounds=bounds,
        statistic=quoted.statistic,
        pvalue=quoted.pvalue,
        tests=tuple(tests),
        note=note,
        procedure=Procedure(SCORE, "score"),
    ), evidence


def _score_of(parts: Sequence[Strata], contrast: Contrast, *, guarded: bool) -> _Pooled | _Means:
    scores = tuple(_Pooled(part, contrast, guarded) for part in parts)
    return scores[0] if len(scores) == 1 else _Means(scores)


def _exact_equality(parts: Sequence[Strata]) -> float:
    """Twice the smaller tail of the exact conditional test, where cells are small; NaN elsewhere and for means."""
    tables = parts[0]
    small = strata.least_expected(tables) < pooled.EXACT_BELOW
    if len(parts) > 1 or not small or conditional.values_possible(tables) > pooled.MOST_VALUES:
        return math.nan
    return float(conditional.conditional_test(tables).central)


def _interval(
    plain: _Pooled | _Means, guarded: _Pooled | _Means, settings: Inference, levels: _Levels, contrast: Contrast
) -> tuple[float, float]:
    """Two-sided by the plain score; of a one-sided alternative the limit that its test inverts."""
    least, most = _WHOLE[contrast]
    if settings.alternative == "two-sided":
        critical = normal_quantile((1 + levels.two_sided) / 2)
        return plain.limit(critical, -1), plain.limit(critical, 1)
    critical = normal_quantile(levels.one_sided)
    if settings.alternative == "less":
        return least, guarded.limit(critical, 1)
    return guarded.limit(critical, -1), most


def _tests_of_strata(tables: Strata, contrast: Contrast) -> list[HypothesisTest]:
    """Cochran–Mantel–Haenszel, the exact conditional test, and homogeneity of the contrast and of odds ratios."""
    z = float(strata.score_statistic(tables, EQUALITY[contrast], contrast))
    null = "odds ratio = 1 in all strata"
    name = "Cochran–Mantel–Haenszel"
    tests = [HypothesisTest(null, "any difference", z * z, two_sided_pvalue(z), name)]
    if conditional.values_possible(tables) <= pooled.MOST_VALUES:
        exact = float(conditional.conditional_test(tables).central)
        successes = float(tables.k1[tables.shared].sum())
        tests.append(HypothesisTest(null, "any difference", successes, exact, CONDITIONAL, exact=True))
    informative = int(tables.informative.sum())
    strata_words = f"{informative} informative strata"
    by_contrast = homogeneity.homogeneity_test(tables, contrast)
    by_odds = homogeneity.homogeneity_test(tables, "odds_ratio")
    for what, name, test in (
        (contrast, "score test of homogeneity", by_contrast),
        ("odds ratio", "Breslow–Day with Tarone's adjustment", by_odds),
    ):
        null = f"one {what} in all of {strata_words}"
        values = float(test.statistic), float(test.pvalue)
        tests.append(HypothesisTest(null, "heterogeneity", *values, name))
    return tests
