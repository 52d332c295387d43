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

from fairstats.ground.checks import Floats
from fairstats.ground.errors import InputError
from fairstats.ground.lazy import pd
from fairstats.ground.multiplicity import normal_cdf, normal_quantile, two_sided_pvalue
from fairstats.ground.registry import RATES, SELECTED, Metric, Rate, find_metric
from fairstats.ground.results import HypothesisTest, Interval
from fairstats.ground.serialise import serialisable
from fairstats.ground.strata import StratumCounts
from fairstats.ground.verdict import Evidence, bound_level, z_evidence
from fairstats.methods.rates.limits import Mover
from fairstats.methods.rates.result import DifferenceResult, Inference, RateComparison, RatioResult, as_family
from fairstats.numerics.rates import conditional, homogeneity, pooled, strata
from fairstats.numerics.rates.strata import EQUALITY, Contrast, Strata

#: Name of the metric of an adjusted comparison: that of the crude one with this ending.
ENDING = "_stratified"
SCORE = "stratified score"
_WHOLE: dict[str, tuple[float, float]] = {"ratio": (0.0, math.inf), "difference": (-1.0, 1.0)}


@serialisable(kw_only=True)
class StratifiedComparison(RateComparison):
    """A group against its reference within strata.

    `rate` and `rate_reference` are the adjusted rates Σwr/Σw, of which the estimate is the ratio or difference, and `n`
    and `n_reference` the cases in the strata that both share.

    Attributes
    ----------
    crude, crude_verdict : float and str
        The same contrast without strata, and its verdict.
    disagreement : str
        A sentence where crude and adjusted comparison disagree; empty where they do not.
    n_strata : int
        Strata with cases of both groups.
    pvalue_homogeneity : float
        That one contrast holds in all strata; NaN where there is no test of it.
    """

    further = (*RateComparison.further, "crude", "crude_verdict", "n_strata", "pvalue_homogeneity")

    crude: float = math.nan
    crude_verdict: str = ""
    disagreement: str = ""
    n_strata: int = 0
    pvalue_homogeneity: float = math.nan


class _Adjusted:
    """What adjusted results of ratios and of differences share."""

    comparisons: tuple[StratifiedComparison, ...]
    stratum_counts: StratumCounts
    metric: str
    settings: Inference

    @property
    def strata(self) -> tuple[str, ...]:
        """Names of the strata."""
        return self.stratum_counts.strata

    @property
    def crude(self) -> tuple[float, ...]:
        """The contrast without strata, per comparison."""
        return tuple(c.crude for c in self.comparisons)

    def notes(self) -> list[str]:
        """Sentences below the table."""
        by = f" of {self.stratum_counts.attribute}" if self.stratum_counts.attribute else ""
        lines = super().notes()  # type: ignore[misc]
        lines.append(f"Estimates of Mantel and Haenszel over {len(self.strata)} strata{by}; limits by the {SCORE}.")
        for c in self.comparisons:
            lines += [f"{c.group} against {c.reference}: {text}" for text in _homogeneity_words(c)]
        return list(dict.fromkeys(lines))

    def _finding(self, c: RateComparison) -> str:
        """The comparison in words: adjusted rates are no rates of anybody."""
        return f"Within strata, {super()._finding(c)}"  # type: ignore[misc]

    def regime_notes(self) -> list[str]:
        """Nothing: below the size that simulation shows to be enough there is no verdict."""
        return []

    def worst_case_bounds(self) -> pd.DataFrame:
        """Refused: rows that lack a value may lack their stratum, too."""
        cure = "worst_case_bounds() of the comparison without strata"
        raise InputError("strata", got="an adjusted comparison", allowed="a crude one", cure=cure)

    def by_stratum(self) -> pd.DataFrame:
        """Rates and contrast of every comparison in every stratum.

        Returns
        -------
        DataFrame
            metric, rate_name, stratum, group, reference, successes, n, rate, successes_reference, n_reference,
            rate_reference, estimate, ci_low, ci_high (by the score of the stratum alone), informative.
        """
        rows = []
        contrast = cast("Contrast", self.scale)  # type: ignore[attr-defined]
        critical = normal_quantile((1 + self.settings.confidence_level) / 2)
        for c in self.comparisons:
            for rate in _parts_of(c.metric, self.stratum_counts):
                tables = _tables(self.stratum_counts, rate, c.group, c.reference)
                each = Strata.of(*(column[:, None] for column in (tables.k1, tables.n1, tables.k0, tables.n0)))
                low, high = (strata.score_limit(each, critical, contrast, side=side) for side in (-1, 1))
                estimate = strata.mantel_haenszel(each, contrast)
                for h, name in enumerate(self.strata):
                    n, n_reference = int(tables.n1[h]), int(tables.n0[h])
                    rows.append(
                        {
                            "metric": c.metric,
                            "rate_name": rate.name,
                            "stratum": name,
                            "group": c.group,
                            "reference": c.reference,
                            "successes": int(tables.k1[h]),
                            "n": n,
                            "rate": tables.k1[h] / n if n else math.nan,
                            "successes_reference": int(tables.k0[h]),
                            "n_reference": n_reference,
                            "rate_reference": tables.k0[h] / n_reference if n_reference else math.nan,
                            "estimate": estimate[h] if n and n_reference else math.nan,
                            "ci_low": low[h],
                            "ci_high": high[h],
                            "informative": bool(tables.informative[h]),
                        }
                    )
        return pd.DataFrame(rows)

    def _by_value(self, c: RateComparison) -> tuple[str, str, Rate | None]:
        plain = replace(c, metric=c.metric.removesuffix(ENDING))
        return super()._by_value(plain)  # type: ignore[misc, no-any-return]


@serialisable(eq=False)
class StratifiedRatioResult(_Adjusted, RatioResult):
    """Ratios within strata; `stratum_counts` are the sufficient statistics.

    Attributes
    ----------
    stratum_counts : StratumCounts
        Cells of every group within the strata.
    """

    stratum_counts: StratumCounts = None  # type: ignore[assignment]


@serialisable(eq=False)
class StratifiedDifferenceResult(_Adjusted, DifferenceResult):
    """Differences within strata; `stratum_counts` are the sufficient statistics.

    Attributes
    ----------
    stratum_counts : StratumCounts
        Cells of every group within the strata.
    """

    stratum_counts: StratumCounts = None  # type: ignore[assignment]


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


def tables_of(result: Any, c: StratifiedComparison) -> list[tuple[Floats, Floats, Floats, Floats]]:
    """Successes and cases of both groups by stratum (k₁, n₁, k₀, n₀), for each rate that the comparison is of."""
    counts: StratumCounts = result.stratum_counts
    tables = [_tables(counts, rate, c.group, c.reference) for rate in _parts_of(c.metric, counts)]
    return [(t.k1, t.n1, t.k0, t.n0) for t in tables]


def _with_disagreements(
    crude: Sequence[RateComparison], judged: Sequence[StratifiedComparison], scale: str, counts: StratumCounts
) -> tuple[StratifiedComparison, ...]:
    among = f"{len(counts.strata)} strata" + (f" of {counts.attribute}" if counts.attribute else "")
    pairs = zip(crude, judged, strict=True)
    return tuple(replace(c, disagreement=disagreement(plain, c, scale, among)) for plain, c in pairs)


def disagreement(crude: RateComparison, within: StratifiedComparison, scale: str, among: str) -> str:
    """A sentence where crude and adjusted comparison say different things; empty where they agree.

    They disagree where their verdicts differ; or where the adjusted estimate lies outside the crude interval, and on
    the other side of equality, or only one of both differs from it. `among`: the strata in words.
    """
    unknown = "insufficient evidence"
    if unknown in (crude.verdict, within.verdict) or math.isnan(within.estimate):
        return ""
    equality = EQUALITY[scale]
    number = ".3f" if scale == "ratio" else "+.3f"
    moved = within.estimate not in crude.confidence_interval
    turned = (crude.estimate - equality) * (within.estimate - equality) < 0
    error = 1 - crude.confidence_interval.confidence_level
    shown = (crude.pvalue <= error) != (within.pvalue <= error)
    if crude.verdict == within.verdict and not (moved and (turned or shown)):
        return ""
    interval = within.confidence_interval.words(number)
    sentence = (
        f"{crude.group} against {crude.reference}: crude {scale} {crude.estimate:{number}} ({crude.verdict}), "
        f"within {among} {within.estimate:{number}} ({interval}; {within.verdict})."
    )
    if within.pvalue_homogeneity < error:
        sentence += f" Strata differ (p = {within.pvalue_homogeneity:.2g}): one {scale} does not describe all of them."
    return sentence


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


def _parts_of(metric: str, counts: StratumCounts) -> tuple[Rate, ...]:
    """The rates of a row: one, or those that it is the mean of; the selection rate where there are no labels."""
    known = find_metric(metric.removesuffix(ENDING))
    rate = RATES[known.rates[0]] if known is not None else None
    if rate is None or "selected" in counts.cells:
        return (SELECTED,)
    return rate.parts or (rate,)


def _tables(counts: StratumCounts, rate: Rate, group: str, reference: str) -> Strata:
    """Successes and cases of both groups, stratum by stratum."""
    successes = counts.total(*rate.successes)
    cases = counts.total(*rate.cases)
    i, j = counts.groups.index(group), counts.groups.index(reference)
    return Strata.of(successes[:, i], cases[:, i], successes[:, j], cases[:, j])


def _compared(
    crude: RateComparison, contrast: str, counts: StratumCounts, settings: Inference, levels: _Levels
) -> tuple[StratifiedComparison, Evidence]:
    """One adjusted comparison, and the evidence of its verdict."""
    kind = cast("Contrast", contrast)
    parts = [_tables(counts, rate, crude.group, crude.reference) for rate in _parts_of(crude.metric, counts)]
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

    low, high = settings.fair(contrast)
    judged_by_equality = low == high
    judge = plain if judged_by_equality else guarded
    z_low, z_high = judge.statistic(low), judge.statistic(high)
    evidence = z_evidence(z_low, z_high)
    if judged_by_equality and not math.isnan(exact):
        evidence = Evidence(below=max(evidence.below, exact), above=max(evidence.above, exact), inside=evidence.inside)
    side = bound_level(z_low - z_high, settings.confidence_level)
    critical = normal_quantile(side)
    bounds = Interval(judge.limit(critical, -1), judge.limit(critical, 1), side, SCORE)

    nulls = settings.nulls(contrast)
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
    if not judged_by_equality and not few:
        worse = min(z_low, -z_high)
        null = f"{contrast} outside ({low:.6g}, {high:.6g})"
        tests.append(HypothesisTest(null, "equivalence", worse, normal_cdf(-worse), f"TOST ({SCORE})"))
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
        name = "exact conditional (twice the smaller tail)"
        tests.append(HypothesisTest(null, "any difference", successes, exact, name))
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


def _homogeneity_words(c: StratifiedComparison) -> list[str]:
    """What the tests of homogeneity say, also where there is none."""
    lines = []
    for test in c.tests:
        if test.alternative != "heterogeneity":
            continue
        what = test.null.partition(" in all of ")
        if math.isnan(test.pvalue):
            why = f"not defined for {what[2]}"
            if not what[2].startswith(("0 ", "1 ")):
                why = f"not defined where the pooled {what[0].removeprefix('one ')} is 0, infinite or 0/0"
            lines.append(f"{test.method} {why}.")
            continue
        end = f": {what[0]} does not describe all strata." if test.pvalue < 0.05 else "."
        lines.append(f"{test.method}, H0 {test.null}: p = {test.pvalue:.3g}{end}")
    return lines
