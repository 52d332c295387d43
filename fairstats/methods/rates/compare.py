"""From a count table to a result: intervals, bounds, tests and verdicts of any metric of the registry."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, TypeVar

import numpy as np

from fairstats.ground.checks import Floats, as_generator, check_choice
from fairstats.ground.counts import CellCounts
from fairstats.ground.groups import find_reference
from fairstats.ground.multiplicity import MaxZ, make_pairs, normal_cdf, normal_quantile, two_sided_pvalue
from fairstats.ground.registry import ENDINGS, METRICS, RATES, Metric
from fairstats.ground.results import HypothesisTest, Interval
from fairstats.ground.verdict import Evidence, bound_level, z_evidence
from fairstats.methods.rates.estimates import RateEstimates, estimate_rate, joint_covariance
from fairstats.methods.rates.exact import ExactTest, exact_unconditional_pvalue
from fairstats.methods.rates.maxima import MaximumResult, largest_gap
from fairstats.methods.rates.pair import SMALL_CELL, Chosen, Refused, pair_method, smallest_cell
from fairstats.methods.rates.result import DifferenceResult, Inference, RateComparison, RatioResult, as_family, warned
from fairstats.methods.rates.score import Contrast
from fairstats.methods.rates.setup import check_groups, count_table, make_settings

#: Below this count in any cell verdicts of the score method are by exact tests, where the smaller group has
#: at most so many cases, and the p-value by score is not above so many times the error.
EXACT_BELOW, MAX_CASES, _NEAR = 10, 2_000, 4.0
EXACT = "exact unconditional"
_Result = TypeVar("_Result", bound=RatioResult | DifferenceResult | MaximumResult)


def run(name: str, **given: Any) -> _Result:  # type: ignore[type-var]
    """Compute a metric of the registry from the arguments of its public function.

    ``agg="max"`` among them turns a difference into its largest gap.
    """
    check_choice("agg", given.get("agg"), (None, "max"))
    table = count_table(given, METRICS[name].needs)
    if given.get("agg"):
        name = name.removesuffix(ENDINGS["difference"]) + ENDINGS["gap"]
    settings = make_settings(METRICS[name].contrast, given)
    result: Any = compare_metric(METRICS[name], table, settings, given["reference"], given.get("rng"))
    return result  # type: ignore[no-any-return]


def compare_metric(
    metric: Metric, table: CellCounts, settings: Inference, reference: Hashable | None = None, rng: Any = None
) -> RatioResult | DifferenceResult | MaximumResult:
    """Compare the rates of a metric over all groups of a table, and warn of what could not be computed."""
    check_groups(table.groups)
    table = table.without_even_weights()
    if metric.contrast == "gap":
        return warned(largest_gap(table, metric, settings), metric.name)
    estimates = [estimate_rate(table, RATES[name]) for name in metric.rates]
    return compare_estimates(metric, table, estimates, settings, reference, rng)


def compare_estimates(
    metric: Metric, table: CellCounts, estimates: list[RateEstimates], settings: Inference, reference: Hashable | None,
    rng: Any = None,
) -> RatioResult | DifferenceResult:  # fmt: skip
    """Compare estimated rates, those of one metric in one family.

    The reference counts as chosen by the data where it is "highest", or the settings have that rule.
    """
    contrast: Contrast = "ratio" if metric.contrast == "ratio" else "difference"
    index, rule = find_reference(table.groups, reference, sizes=table.group_sizes, rates=estimates[0].rate)
    chosen = "highest" in (rule, settings.reference_rule)
    smooth = any(e.smooth for e in estimates)
    if smooth:
        method = "delta" if contrast == "difference" else "log" if table.weighted else "fieller"
        settings = replace(settings, method=method)
    generator, seed = as_generator(rng) if settings.method == "bootstrap" else (None, None)
    settings = replace(settings, reference_rule="highest" if chosen else rule, seed=seed)
    pairs = make_pairs(len(table.groups), index, settings.comparisons)
    # with a reference that the data choose, all pairs could have been compared
    family = make_pairs(len(table.groups), index, "all") if chosen else pairs
    simultaneous = settings.simultaneous or ("max-z" if chosen else None)
    level, count = settings.confidence_level, len(estimates) * len(family)
    levels, joint = (level, 2 * level - 1), None
    if simultaneous and count > 1:
        joint = _joint(table, estimates, contrast, family) if simultaneous == "max-z" else None
        levels = _level_of_each(levels[0], count, joint), _level_of_each(levels[1], count, joint)
    # what every verdict is far from needs no exact test: of chosen pairs those beyond the family's level
    near = _NEAR * (1 - level) / (count if chosen else 1)
    asked = _Asked(contrast, settings, levels, near, generator)
    named = zip(metric.row_names, estimates, strict=True)
    compared = [asked.compare(e, pair, name) for name, e in named for pair in pairs]
    sides = 2 if settings.alternative == "two-sided" else 1
    of_all = [_pvalue_of_all(c.pvalue, sides, count, joint) for c, _ in compared] if chosen else None
    comparisons = as_family(compared, settings, chosen_among=count if chosen else 0, of_all=of_all)
    told = metric.name, comparisons, settings, table, metric.title, "statsmodels" if smooth else "numpy"
    return warned(RatioResult(*told) if contrast == "ratio" else DifferenceResult(*told), metric.name)


def _joint(
    table: CellCounts, estimates: list[RateEstimates], contrast: Contrast, pairs: list[tuple[int, int]]
) -> MaxZ | None:
    """Joint distribution of all contrasts (log ratios or differences); None where one has no variance."""
    n_groups = len(table.groups)
    covariance: Floats = estimates[0].covariance
    if len(estimates) > 1:
        covariance = joint_covariance(table, [e.rate_of for e in estimates])
    elif not (table.weighted or estimates[0].smooth):
        covariance = np.diag(covariance)  # independent groups
    if contrast == "ratio":
        rate = np.concatenate([e.rate for e in estimates])
        with np.errstate(divide="ignore", invalid="ignore"):
            covariance = covariance / (rate**2 if covariance.ndim == 1 else np.outer(rate, rate))
    variance = covariance if covariance.ndim == 1 else np.diag(covariance)
    used = sorted({group for pair in pairs for group in pair})
    if not np.isfinite(variance.reshape(-1, n_groups)[:, used]).all():
        return None
    places = np.array(pairs)[None] + n_groups * np.arange(len(estimates))[:, None, None]
    return MaxZ(covariance, table.degrees_of_freedom, places.reshape(-1, 2))


def _level_of_each(level: float, count: int, joint: MaxZ | None) -> float:
    """Level of each of `count` intervals so that all hold at once; by Bonferroni without `joint`."""
    if joint is None:
        return 1 - (1 - level) / count
    return 2 * normal_cdf(joint.quantile(level), joint.degrees_of_freedom) - 1


def _pvalue_of_all(pvalue: float, sides: int, count: int, joint: MaxZ | None) -> float:
    """The p-value of one of `count` comparisons over all, by the law of their simultaneous intervals."""
    if joint is None or math.isnan(pvalue):
        return min(count * pvalue, 1.0)
    z = -normal_quantile(min(pvalue / sides, 0.5), joint.degrees_of_freedom)
    return max(joint.pvalue(z) * sides / 2, pvalue)


@dataclass(frozen=True)
class _Asked:
    """What all pairs of a family are compared by.

    `levels`: of intervals, and of the two-sided ones that one-sided ones are ends of; `near`: a p-value by score above
    it is far from a verdict.
    """

    contrast: Contrast
    settings: Inference
    levels: tuple[float, float]
    near: float
    rng: np.random.Generator | None

    def compare(self, estimates: RateEstimates, pair: tuple[int, int], metric: str) -> tuple[RateComparison, Evidence]:
        """One pair, and the evidence of its verdict."""
        (i, j), contrast, settings = pair, self.contrast, self.settings
        estimates = estimates.for_pair(i, j)
        empty = RateComparison.unknown(metric, settings, pair, estimates.groups, estimates.rate, estimates.rows)
        lacking = [g for g in pair if not estimates.cases[g] > 0]
        words = estimates.rate_of
        if lacking:
            own = () if estimates.smooth or not estimates.weighted else estimates.parts or (estimates,)
            without = [part.rows[g] == 0 for part in own for g in lacking]
            none = f"all weights of {words.case_words} are 0" if own and not any(without) else f"no {words.case_words}"
            who = " and ".join(estimates.groups[g] for g in lacking)
            return replace(empty, note=f"{who}: {none}, so no {words.title}."), Evidence()
        if contrast == "ratio" and estimates.successes[i] == 0 and estimates.successes[j] == 0:
            note = f"{empty.group} and {empty.reference}: {words.title} 0 in both; 0/0 can be any ratio."
            unbounded = Interval(0.0, float("inf"), settings.confidence_level, "score")
            return replace(empty, note=note, confidence_interval=unbounded, bounds=unbounded), Evidence()
        estimate, std_error = estimates.contrast(i, j, ratio=contrast == "ratio")
        n_resamples = settings.n_resamples
        by = pair_method(estimates, i, j, contrast, settings.method, n_resamples=n_resamples, rng=self.rng)
        known = replace(empty, estimate=estimate, std_error=std_error, method=by.name, note=by.note)
        if isinstance(by, Refused):
            return known, Evidence()
        tests = [*directed_tests(by, contrast, settings), *_equivalence_test(by, contrast, settings)]
        if self.near >= _NEAR * (1 - settings.confidence_level):
            tests += _exact_tests(estimates, i, j, contrast, settings)
        bounds, evidence = self._exactly(by, estimates, pair)
        known = replace(known, bounds=bounds)
        return answered(known, by, contrast, settings, tests, self.levels, bounded=not estimates.smooth), evidence

    def _exactly(self, by: Chosen, estimates: RateEstimates, pair: tuple[int, int]) -> tuple[Interval, Evidence]:
        """The one-sided limits and the p-values of the verdict.

        By the method of the row; where a cell has fewer than `EXACT_BELOW` rows the score's are exact ones, unless the
        p-value by score is above `near`. Enumerated for thresholds .8 to .95, groups of 10 to 400 beside 1 to 50 times
        as many and rates .005 to .995, the score alone is wrongly "violated" in up to .113, .098, .082 and .073 of
        samples where the smallest expected cell is below 1, 2, 5 and 10, and in up to .061 beyond.
        """
        bounds, evidence = limits_and_evidence(by, self.contrast, self.settings)
        if not evidence.smallest[0] <= self.near or by.name != "score" or not _countable(estimates, pair):
            return bounds, evidence
        low, high = fair = self.settings.fair(self.contrast)
        width, side = by.how.statistic(low) - by.how.statistic(high), bounds.confidence_level
        k0, n0, k1, n1 = (int(v) for v in estimates.table(*pair))
        exact = ExactTest((k0, n0, k1, n1), self.contrast)
        tail = {}
        for end, alternative in product(fair, ("less", "greater")):
            p = exact.pvalue(end, alternative)
            tail[end, alternative] = min(p + normal_cdf(normal_quantile(p) - width), 1.0)
        inside = max(tail[low, "greater"], tail[high, "less"])
        least, most = exact.limit(side, "greater", fair, bounds.low), exact.limit(side, "less", fair, bounds.high)
        return Interval(least, most, side, EXACT), Evidence(tail[low, "less"], tail[high, "greater"], inside)


def _countable(estimates: RateEstimates, pair: tuple[int, int]) -> bool:
    """Whether a pair is judged by exact tests: whole counts, a cell below `EXACT_BELOW`."""
    if estimates.parts or estimates.weighted or estimates.smooth:
        return False
    table = estimates.table(*pair)
    whole = all(float(v).is_integer() for v in table)
    return whole and smallest_cell(table) < EXACT_BELOW and min(table[1], table[3]) <= MAX_CASES


def limits_and_evidence(by: Chosen, contrast: Contrast, settings: Inference) -> tuple[Interval, Evidence]:
    """One-sided limits and p-values of a verdict by a method."""
    z_low, z_high = (by.how.statistic(end) for end in settings.fair(contrast))
    side = bound_level(z_low - z_high, settings.confidence_level, by.degrees_of_freedom)
    return Interval(*by.how.interval(2 * side - 1), side, by.name), z_evidence(z_low, z_high, by.degrees_of_freedom)


def answered(
    known: RateComparison, by: Chosen, contrast: Contrast, settings: Inference, tests: list[HypothesisTest],
    levels: tuple[float, float], *, bounded: bool = True,
) -> RateComparison:  # fmt: skip
    """The comparison with its interval and tests; the end that the alternative does not ask about is open."""
    chosen = next(t for t in tests if t.alternative == settings.alternative)
    low, high = by.how.interval(levels[settings.alternative != "two-sided"])
    least, most = (0.0, math.inf) if contrast == "ratio" else (-1.0, 1.0) if bounded else (-math.inf, math.inf)
    low, high = least if settings.alternative == "less" else low, most if settings.alternative == "greater" else high
    return replace(
        known, confidence_interval=Interval(low, high, settings.confidence_level, by.name), tests=tuple(tests),
        statistic=chosen.statistic, pvalue=chosen.pvalue,
    )  # fmt: skip


def directed_tests(by: Chosen, contrast: Contrast, settings: Inference) -> list[HypothesisTest]:
    """Both directions against the threshold, and equality."""
    null, df, name = settings.nulls(contrast), by.degrees_of_freedom, by.name
    less, greater, equal = (by.how.statistic(null[side]) for side in ("less", "greater", "two-sided"))
    return [
        HypothesisTest(f"{contrast} >= {null['less']:.6g}", "less", less, normal_cdf(less, df), name),
        HypothesisTest(f"{contrast} <= {null['greater']:.6g}", "greater", greater, normal_cdf(-greater, df), name),
        HypothesisTest(f"{contrast} = {null['two-sided']:g}", "two-sided", equal, two_sided_pvalue(equal, df), name),
    ]


def _equivalence_test(by: Chosen, contrast: Contrast, settings: Inference) -> list[HypothesisTest]:
    low, high = settings.fair(contrast)
    if not low < high:
        return []
    z_low, z_high = by.how.statistic(low), by.how.statistic(high)
    p_low, p_high = normal_cdf(-z_low, by.degrees_of_freedom), normal_cdf(z_high, by.degrees_of_freedom)
    worse = (z_low, p_low) if p_low >= p_high else (z_high, p_high)
    return [HypothesisTest(f"{contrast} outside ({low:.6g}, {high:.6g})", "equivalence", *worse, f"TOST ({by.name})")]


def _exact_tests(
    estimates: RateEstimates, i: int, j: int, contrast: Contrast, settings: Inference
) -> list[HypothesisTest]:
    if smallest_cell(estimates.table(i, j)) >= SMALL_CELL or not _countable(estimates, (i, j)):
        return []
    k0, n0, k1, n1 = (int(v) for v in estimates.table(i, j))
    null = settings.nulls(contrast)
    found = []
    for side, sign in (("less", ">="), ("greater", "<="), ("two-sided", "=")):
        exact = exact_unconditional_pvalue(k0, n0, k1, n1, contrast=contrast, null=null[side], alternative=side)
        found.append(HypothesisTest(f"{contrast} {sign} {null[side]:.6g}", side, *exact, EXACT))
    return found
