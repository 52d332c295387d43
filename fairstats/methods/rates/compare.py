"""From a count table to a result: intervals, bounds, tests and verdicts of any metric of the registry."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, TypeVar

import numpy as np

from fairstats.ground import multiplicity
from fairstats.ground.checks import Floats, as_generator, check_choice
from fairstats.ground.counts import CellCounts
from fairstats.ground.errors import DataWarning, InsufficientEvidenceWarning, caution
from fairstats.ground.groups import find_reference
from fairstats.ground.registry import ENDINGS, METRICS, RATES, Metric
from fairstats.ground.results import HypothesisTest, Interval
from fairstats.ground.verdict import Evidence, bound_level, z_evidence
from fairstats.methods.rates.estimates import RateEstimates, estimate_rate, joint_covariance
from fairstats.methods.rates.exact import ExactTest, exact_unconditional_pvalue
from fairstats.methods.rates.limits import PairMethod
from fairstats.methods.rates.maxima import MaximumResult, largest_gap
from fairstats.methods.rates.pair import (
    SMALL_CELL,
    Chosen,
    natural_std_error,
    pair_method,
    point_estimate,
    smallest_cell,
)
from fairstats.methods.rates.result import (
    ComparisonResult,
    DifferenceResult,
    Inference,
    RateComparison,
    RatioResult,
    with_adjusted,
    with_verdicts,
)
from fairstats.methods.rates.score import Contrast
from fairstats.methods.rates.setup import check_groups, count_table, make_settings

#: Below this count in any cell verdicts of the score method are by exact tests, where the smaller group has
#: at most so many cases, and the p-value by score is not above so many times the error.
EXACT_BELOW, MAX_CASES, _NEAR = 10, 2_000, 4.0
EXACT = "exact unconditional"
_Result = TypeVar("_Result", bound=ComparisonResult)


def run(name: str, **given: Any) -> _Result:  # type: ignore[type-var]
    """Compute a metric of the registry from the arguments of its public function.

    ``agg="max"`` among them turns a difference into its largest gap.
    """
    aggregate = given.get("agg")
    check_choice("agg", aggregate, (None, "max"))
    table = count_table(given, METRICS[name].needs)
    if aggregate:
        name = name.removesuffix(ENDINGS["difference"]) + ENDINGS["gap"]
    settings = make_settings(METRICS[name].contrast, given)
    asked = given.get("method") is not None
    reference, rng = given["reference"], given.get("rng")
    result: Any = compare_metric(METRICS[name], table, settings, reference, rng, asked=asked)
    return result  # type: ignore[no-any-return]


def compare_metric(
    metric: Metric,
    table: CellCounts,
    settings: Inference,
    reference: Hashable | None = None,
    rng: Any = None,
    *,
    asked: bool = True,
    chosen: bool = False,
) -> RatioResult | DifferenceResult | MaximumResult:
    """Compare the rates of a metric over all groups of a table, and warn of what could not be computed.

    `asked` says that the method was asked for; otherwise it is the score. `chosen`: the data chose the
    reference, as "highest" does.
    """
    check_groups(table.groups)
    if not asked:
        settings = replace(settings, method="score")
    if metric.contrast == "gap":
        return warned(largest_gap(table, metric, settings))
    estimates = [estimate_rate(table, RATES[name]) for name in metric.rates]
    return compare_estimates(metric, table, estimates, settings, reference, rng, chosen=chosen)


def compare_estimates(
    metric: Metric,
    table: CellCounts,
    estimates: list[RateEstimates],
    settings: Inference,
    reference: Hashable | None,
    rng: Any = None,
    *,
    chosen: bool = False,
) -> RatioResult | DifferenceResult:
    """Compare estimated rates, those of one metric in one family."""
    contrast: Contrast = "ratio" if metric.contrast == "ratio" else "difference"
    index, rule = find_reference(table.groups, reference, sizes=table.group_sizes, rates=estimates[0].rate)
    rule = "highest" if chosen else rule
    smooth = any(e.smooth for e in estimates)
    if smooth:
        method = "delta" if contrast == "difference" else "log" if table.weighted else "fieller"
        settings = replace(settings, method=method)
    generator, seed = as_generator(rng) if settings.method == "bootstrap" else (None, None)
    settings = replace(settings, reference_rule=rule, seed=seed)
    # with a reference that the data choose, all pairs could have been compared
    chosen_from = multiplicity.make_pairs(
        len(table.groups), index, "all" if rule == "highest" else settings.comparisons
    )
    simultaneous = settings.simultaneous or ("max-z" if rule == "highest" else None)
    level, count = settings.confidence_level, len(estimates) * len(chosen_from)
    levels = (level, 2 * level - 1)
    joint = None
    if simultaneous and count > 1:
        joint = _joint(table, estimates, contrast, chosen_from) if simultaneous == "max-z" else None
        levels = tuple(_level_of_each(v, count, joint) for v in levels)  # type: ignore[assignment]
    # what every verdict is far from needs no exact test: of chosen pairs those beyond the family's level
    near = _NEAR * (1 - level) / (count if rule == "highest" else 1)
    compared = [
        _compare_pair(e, pair, name, contrast, settings, levels, generator, near)
        for name, e in zip(metric.row_names, estimates, strict=True)
        for pair in multiplicity.make_pairs(len(table.groups), index, settings.comparisons)
    ]
    evidence = [found for _, found in compared]
    chosen_among = count if rule == "highest" else 0  # the pairs that could have been chosen count too
    comparisons = with_verdicts([c for c, _ in compared], evidence, settings, chosen_among=chosen_among)
    if chosen_among:
        sides = 2 if settings.alternative == "two-sided" else 1
        together = [_pvalue_of_all(c.pvalue, sides, count, joint) for c in comparisons]
        comparisons = with_adjusted(comparisons, together)
    else:
        comparisons = adjusted(comparisons, settings.adjust)
    told = metric.name, comparisons, settings, table, metric.title, "statsmodels" if smooth else "numpy"
    return warned(RatioResult(*told) if contrast == "ratio" else DifferenceResult(*told))


def adjusted(comparisons: Sequence[RateComparison], method: str) -> tuple[RateComparison, ...]:
    """The comparisons of one family with their adjusted p-values."""
    return with_adjusted(comparisons, multiplicity.adjust_pvalues([c.pvalue for c in comparisons], method))


def _joint(
    table: CellCounts, estimates: list[RateEstimates], contrast: Contrast, pairs: list[tuple[int, int]]
) -> multiplicity.MaxZ | None:
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
    return multiplicity.MaxZ(covariance, table.degrees_of_freedom, places.reshape(-1, 2))


def _level_of_each(level: float, count: int, joint: multiplicity.MaxZ | None) -> float:
    """Level of each of `count` intervals so that all hold at once; by Bonferroni without `joint`."""
    if joint is None:
        return 1 - (1 - level) / count
    return 2 * multiplicity.normal_cdf(joint.quantile(level), joint.degrees_of_freedom) - 1


def _pvalue_of_all(pvalue: float, sides: int, count: int, joint: multiplicity.MaxZ | None) -> float:
    """The p-value of one of `count` comparisons over all, by the law of their simultaneous intervals."""
    if joint is None or math.isnan(pvalue):
        return min(count * pvalue, 1.0)
    z = -multiplicity.normal_quantile(min(pvalue / sides, 0.5), joint.degrees_of_freedom)
    return max(joint.pvalue(z) * sides / 2, pvalue)


def _compare_pair(
    estimates: RateEstimates,
    pair: tuple[int, int],
    metric: str,
    contrast: Contrast,
    settings: Inference,
    levels: tuple[float, ...],
    rng: np.random.Generator | None,
    near: float,
) -> tuple[RateComparison, Evidence]:
    (i, j), level = pair, settings.confidence_level
    known = estimates.groups, estimates.rate, estimates.rows
    empty = RateComparison.unknown(metric, settings, pair, *known)
    lacking = [estimates.groups[g] for g in (i, j) if not estimates.cases[g] > 0]
    words = estimates.rate_of
    if lacking:
        own = () if estimates.smooth or not estimates.weighted else estimates.parts or (estimates,)
        without = [part.rows[g] == 0 for part in own for g in (i, j) if not estimates.cases[g] > 0]
        none = f"no {words.case_words}"
        none = f"all weights of {words.case_words} are 0" if own and not any(without) else none
        note = f"{' and '.join(lacking)}: {none}, so no {words.title}."
        return replace(empty, note=note), Evidence()
    if contrast == "ratio" and estimates.successes[i] == 0 and estimates.successes[j] == 0:
        note = f"{empty.group} and {empty.reference}: {words.title} 0 in both; 0/0 can be any ratio."
        unbounded = Interval(0.0, float("inf"), level, "score")
        return replace(empty, note=note, confidence_interval=unbounded, bounds=unbounded), Evidence()
    estimate = point_estimate(estimates, i, j, contrast)
    std_error = natural_std_error(estimates, i, j, contrast)
    by = pair_method(estimates, i, j, contrast, settings.method, n_resamples=settings.n_resamples, rng=rng)
    if by.how is None:
        known_part = replace(empty, estimate=estimate, std_error=std_error, method=by.name)
        return replace(known_part, note=by.note), Evidence()
    how, degrees = by.how, by.degrees_of_freedom
    bounds, evidence = _evidence(how, estimates, pair, contrast, settings, by, near)
    tests = (
        *directed_tests(how, contrast, settings, degrees, by.name),
        *_equivalence_test(how, contrast, settings, degrees, by.name),
        *(_exact_tests(estimates, i, j, contrast, settings) if near >= _NEAR * (1 - level) else ()),
    )
    chosen = next(t for t in tests if t.alternative == settings.alternative)
    directed = settings.alternative != "two-sided"
    interval = Interval(*how.interval(levels[directed]), level, by.name)
    if directed:
        interval = one_sided(interval, contrast, settings.alternative, bounded=not estimates.smooth)
    found = replace(
        empty, estimate=estimate, std_error=std_error, confidence_interval=interval, bounds=bounds,
        statistic=chosen.statistic, pvalue=chosen.pvalue, tests=tests, method=by.name, note=by.note,
    )  # fmt: skip
    return found, evidence


def _evidence(
    how: PairMethod,
    estimates: RateEstimates,
    pair: tuple[int, int],
    contrast: Contrast,
    settings: Inference,
    by: Chosen,
    near: float,
) -> tuple[Interval, Evidence]:
    """The one-sided limits and the p-values of the verdict.

    By the method of the row; where a cell has fewer than `EXACT_BELOW` rows the score's are exact ones, unless the
    p-value by score is above `near`, far from a verdict. Enumerated for thresholds .8 to .95, groups of 10 to 400
    beside 1 to 50 times as many and rates .005 to .995, the score alone is wrongly "violated" in up to .113, .098, .082
    and .073 of samples where the smallest expected cell is below 1, 2, 5 and 10, and in up to .061 beyond.
    """
    level, degrees = settings.confidence_level, by.degrees_of_freedom
    low, high = settings.fair(contrast)
    z_low, z_high = how.statistic(low), how.statistic(high)
    width = z_low - z_high
    side = bound_level(width, level, degrees)
    bounds = Interval(*how.interval(2 * side - 1), side, by.name)
    evidence = z_evidence(z_low, z_high, degrees)
    if not evidence.smallest[0] <= near or by.name != "score" or not _countable(estimates, pair):
        return bounds, evidence
    k0, n0, k1, n1 = (int(v) for v in estimates.table(*pair))
    exact = ExactTest((k0, n0, k1, n1), contrast)
    tail = {}
    for end, alternative in product((low, high), ("less", "greater")):
        p = exact.pvalue(end, alternative)
        tail[end, alternative] = min(p + multiplicity.normal_cdf(multiplicity.normal_quantile(p) - width), 1.0)
    inside = max(tail[low, "greater"], tail[high, "less"])
    least = exact.limit(side, "greater", (low, high), bounds.low)
    most = exact.limit(side, "less", (low, high), bounds.high)
    return Interval(least, most, side, EXACT), Evidence(tail[low, "less"], tail[high, "greater"], inside)


def _countable(estimates: RateEstimates, pair: tuple[int, int]) -> bool:
    """Whether a pair is judged by exact tests: whole counts, a cell below `EXACT_BELOW`."""
    if estimates.parts or estimates.weighted or estimates.smooth:
        return False
    table = estimates.table(*pair)
    whole = all(float(v).is_integer() for v in table)
    return whole and smallest_cell(table) < EXACT_BELOW and min(table[1], table[3]) <= MAX_CASES


def one_sided(interval: Interval, contrast: Contrast, alternative: str, *, bounded: bool = True) -> Interval:
    """The interval with the end open that the alternative does not ask about."""
    least, most = (0.0, float("inf")) if contrast == "ratio" else (-1.0, 1.0)
    if contrast == "difference" and not bounded:
        least, most = float("-inf"), float("inf")
    return replace(interval, low=least) if alternative == "less" else replace(interval, high=most)


def directed_tests(
    method: PairMethod, contrast: Contrast, settings: Inference, degrees: float, name: str
) -> list[HypothesisTest]:
    """Both directions against the threshold, and equality."""
    null = settings.nulls(contrast)
    less, greater, equal = (method.statistic(null[side]) for side in ("less", "greater", "two-sided"))
    both = multiplicity.two_sided_pvalue(equal, degrees)
    words = f"{contrast} >= {null['less']:.6g}", f"{contrast} <= {null['greater']:.6g}"
    return [
        HypothesisTest(words[0], "less", less, multiplicity.normal_cdf(less, degrees), name),
        HypothesisTest(words[1], "greater", greater, multiplicity.normal_cdf(-greater, degrees), name),
        HypothesisTest(f"{contrast} = {null['two-sided']:g}", "two-sided", equal, both, name),
    ]


def _equivalence_test(
    method: PairMethod, contrast: Contrast, settings: Inference, degrees: float, name: str
) -> list[HypothesisTest]:
    low, high = settings.fair(contrast)
    if not low < high:
        return []
    z_low, z_high = method.statistic(low), method.statistic(high)
    p_low, p_high = multiplicity.normal_cdf(-z_low, degrees), multiplicity.normal_cdf(z_high, degrees)
    statistic = z_low if p_low >= p_high else z_high
    null = f"{contrast} outside ({low:.6g}, {high:.6g})"
    return [HypothesisTest(null, "equivalence", statistic, max(p_low, p_high), f"TOST ({name})")]


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
        text = f"{contrast} {sign} {null[side]:.6g}"
        found.append(HypothesisTest(text, side, *exact, EXACT))
    return found


def warned(result: _Result) -> _Result:
    """The result, after warning of what could not be computed, and of methods that had to be replaced."""
    lacking = sorted({c.note for c in result.comparisons if c.verdict == "insufficient evidence" and c.note})
    replaced = sorted({c.note for c in result.comparisons if c.note} - set(lacking))
    if lacking:
        caution(f"{result.metric}: " + " ".join(lacking), InsufficientEvidenceWarning)
    if replaced:
        caution(f"{result.metric}: " + " ".join(replaced), DataWarning)
    return result
