"""From a count table to a result: intervals, bounds, tests and verdicts of any metric of the registry."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from fairstats.ground.checks import Floats, as_generator, check_choice
from fairstats.ground.counts import CellCounts
from fairstats.ground.groups import find_reference
from fairstats.ground.multiplicity import MaxZ, make_pairs, normal_cdf, normal_quantile
from fairstats.ground.registry import ENDINGS, METRICS, RATES, Metric
from fairstats.ground.results import Interval
from fairstats.ground.strata import StratumCounts
from fairstats.ground.verdict import Evidence, sharpest_level
from fairstats.methods.rates.decision import decide_by_method, decide_exactly, exact_pair
from fairstats.methods.rates.estimates import RateEstimates, estimate_rate, joint_covariance
from fairstats.methods.rates.maxima import MaximumResult, largest_gap
from fairstats.methods.rates.pair import Refused, pair_method
from fairstats.methods.rates.result import DifferenceResult, Inference, RateComparison, RatioResult, as_family, warned
from fairstats.methods.rates.setup import check_groups, count_tables, make_settings
from fairstats.methods.rates.stratified import adjusted, check_adjustable
from fairstats.numerics.rates.score import Contrast

_Result = TypeVar("_Result", bound=RatioResult | DifferenceResult | MaximumResult)


def run(name: str, **given: Any) -> _Result:  # type: ignore[type-var]
    """Compute a metric of the registry from the arguments of its public function.

    ``agg="max"`` among them turns a difference into its largest gap.
    """
    check_choice("agg", given.get("agg"), (None, "max"))
    table, strata = count_tables(given, METRICS[name].needs)
    if given.get("agg"):
        name = name.removesuffix(ENDINGS["difference"]) + ENDINGS["gap"]
    settings = make_settings(METRICS[name].contrast, given)
    reference, rng = given["reference"], given.get("rng")
    result: Any = compare_metric(METRICS[name], table, settings, reference, rng, strata=strata)
    return result  # type: ignore[no-any-return]


def compare_metric(
    metric: Metric, table: CellCounts, settings: Inference, reference: Hashable | None = None, rng: Any = None,
    *, strata: StratumCounts | None = None,
) -> RatioResult | DifferenceResult | MaximumResult:  # fmt: skip
    """Compare the rates of a metric over all groups of a table, and warn of what could not be computed.

    `strata`: the same rows by the strata of a confounder; the result then has the adjusted comparisons beside it.
    """
    check_groups(table.groups)
    table = table.without_even_weights()
    if strata is not None:
        check_adjustable(metric)
    if metric.contrast == "gap":
        return warned(largest_gap(table, metric, settings), metric.name)
    estimates = [estimate_rate(table, RATES[name]) for name in metric.rates]
    result = compare_estimates(metric, table, estimates, settings, reference, rng)
    if strata is None:
        return result
    with_strata: RatioResult | DifferenceResult = adjusted(result, metric, strata)
    warned(with_strata.stratified, metric.name)
    return with_strata


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
    error = sharpest_level(level, count, settings.adjust, chosen_among=count if chosen else 0)
    asked = _Asked(contrast, settings, levels, error, generator)
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

    `levels`: of intervals, and of the two-sided ones that one-sided ones are ends of; `error`: what the smallest
    p-value of the family is held to, which says where exact tests are necessary.
    """

    contrast: Contrast
    settings: Inference
    levels: tuple[float, float]
    error: float
    rng: np.random.Generator | None

    def compare(self, estimates: RateEstimates, pair: tuple[int, int], metric: str) -> tuple[RateComparison, Evidence]:
        """One pair, and the evidence of its verdict."""
        i, j = pair
        contrast, settings = self.contrast, self.settings
        estimates = estimates.for_pair(i, j)
        empty = RateComparison._unknown(metric, settings, pair, estimates.groups, estimates.rate, estimates.rows)
        if without := without_cases(estimates, pair):
            return replace(empty, note=without), Evidence()
        if contrast == "ratio" and estimates.successes[i] == 0 and estimates.successes[j] == 0:
            title = estimates.rate_of.title
            note = f"{empty.group} and {empty.reference}: {title} 0 in both; 0/0 can be any ratio."
            unbounded = Interval(0.0, float("inf"), settings.confidence_level, "score")
            return replace(empty, note=note, confidence_interval=unbounded, bounds=unbounded), Evidence()
        estimate, std_error = estimates.contrast(i, j, ratio=contrast == "ratio")
        n_resamples = settings.n_resamples
        by = pair_method(estimates, i, j, contrast, settings.method, n_resamples=n_resamples, rng=self.rng)
        row = replace(empty, estimate=estimate, std_error=std_error, method=by.name, note=by.note)
        if isinstance(by, Refused):
            return row, Evidence()
        exact = exact_pair(estimates, i, j, self.error) if by.name == "score" else None
        if exact is None:
            bounded = not estimates.smooth
            decision = decide_by_method(by, contrast, settings, self.levels, bounded=bounded)
        else:
            decision = decide_exactly(exact, by, contrast, settings, self.levels)
        row = replace(
            row, method=decision.interval.method, procedure=decision.procedure, bounds=decision.bounds,
            confidence_interval=decision.interval, tests=decision.tests, statistic=decision.statistic,
            pvalue=decision.pvalue,
        )  # fmt: skip
        return row, decision.evidence


def without_cases(estimates: RateEstimates, pair: tuple[int, int]) -> str:
    """Which group of a pair has no cases of the rate, in words; empty where both have."""
    lacking = [g for g in pair if not estimates.cases[g] > 0]
    if not lacking:
        return ""
    words = estimates.rate_of
    parts: tuple[RateEstimates, ...] = ()
    if estimates.weighted and not estimates.smooth:
        parts = estimates.parts or (estimates,)
    none = f"no {words.case_words}"
    if parts and not any(part.rows[g] == 0 for part in parts for g in lacking):
        none = f"all weights of {words.case_words} are 0"
    who = " and ".join(estimates.groups[g] for g in lacking)
    return f"{who}: {none}, so no {words.title}."
