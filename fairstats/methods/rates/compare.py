"""From a count table to a result.

Intervals, bounds, tests and verdicts of any metric of the registry.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from fairstats.ground.checks import Floats, SeedOrGenerator, as_generator, check_choice, check_that
from fairstats.ground.counts import CellCounts
from fairstats.ground.groups import find_reference
from fairstats.ground.multiplicity import MaxZ, make_pairs, normal_cdf, normal_quantile
from fairstats.ground.progress import each_of
from fairstats.ground.registry import ENDINGS, METRICS, RATES, Metric, Rate
from fairstats.ground.results import Interval
from fairstats.ground.strata import StratumCounts
from fairstats.ground.verdict import Evidence, with_fields
from fairstats.methods.rates.anytime import check_watchable, decide_at_every_look
from fairstats.methods.rates.decision import (
    ExactPair,
    PairDecision,
    asked_exactly,
    decide_by_method,
    decide_exactly,
    error_of_switch,
    exact_pair,
)
from fairstats.methods.rates.estimates import (
    RateEstimates,
    estimate_rate,
    spread_of_terms,
    without_ratio,
)
from fairstats.methods.rates.extremes import (
    ExtremeDifferenceResult,
    ExtremeRatioResult,
    check_extreme,
    extreme_of_rates,
)
from fairstats.methods.rates.inferred.compare import is_inferred, run_inferred
from fairstats.methods.rates.limits import KnownLimits, OddsOfAll
from fairstats.methods.rates.maxima import MaximumResult, covariance_of_rates, largest_gap
from fairstats.methods.rates.overall import (
    Everybody,
    EverybodyByDelta,
    ExactOddsOfAll,
    ExactPairOfAll,
    estimate_beside_all,
    is_by_delta,
)
from fairstats.methods.rates.own_values import own_intervals
from fairstats.methods.rates.pair import Chosen, Refused, limits_of_pairs, pair_method
from fairstats.methods.rates.result import (
    ANYTIME_METHODS,
    DifferenceResult,
    Inference,
    OddsRatioResult,
    RateComparison,
    RatioResult,
    as_family,
    before_evidence,
    warned,
)
from fairstats.methods.rates.setup import (
    POOLED,
    RateArguments,
    beside_rest,
    check_groups,
    count_tables,
    make_settings,
    without_idle_weights,
)
from fairstats.methods.rates.strata.compare import adjusted, check_adjustable
from fairstats.numerics.rates.exact import AT_ONCE, exact_rows
from fairstats.numerics.rates.score import Contrast

_Compared: TypeAlias = RatioResult | DifferenceResult | OddsRatioResult
_Result = TypeVar("_Result", bound=_Compared | MaximumResult)
#: What the comparisons of a contrast are returned as.
RESULT_CLASSES: dict[Contrast, type[_Compared]] = {
    "ratio": RatioResult,
    "difference": DifferenceResult,
    "odds_ratio": OddsRatioResult,
}


def run(name: str, arguments: RateArguments) -> _Result:  # type: ignore[type-var]
    """Compute a metric of the registry from the arguments of its public function.

    ``agg="max"`` among them turns a difference into its largest gap, ``agg="mean"`` into the mean
    of those of its rates.
    """
    aggs = (None, "max", "mean") if len(METRICS[name].rates) > 1 else (None, "max")
    check_choice("agg", arguments.agg, aggs)
    if is_inferred(arguments):
        inferred: Any = run_inferred(METRICS[name], arguments)
        return inferred  # type: ignore[no-any-return]
    count_table, strata = count_tables(arguments, METRICS[name].needs)
    if arguments.agg == "max":
        name = name_with("max", name)
    is_gap = METRICS[name].contrast == "gap" or arguments.agg == "mean"
    settings = make_settings(METRICS[name].contrast, arguments, rest=not is_gap)
    if arguments.agg == "mean":
        mean: Any = compare_extremes(METRICS[name], count_table, settings, arguments)
        return mean  # type: ignore[no-any-return]
    result: Any = compare_metric(
        METRICS[name], count_table, settings, arguments.reference, arguments.rng, strata=strata
    )
    return result  # type: ignore[no-any-return]


def compare_extremes(
    metric: Metric, table: CellCounts, settings: Inference, arguments: RateArguments
) -> ExtremeRatioResult | ExtremeDifferenceResult:
    """One number over all groups and rates of a metric, and a warning of what is lacking."""
    check_groups(table.groups)
    agg = str(arguments.agg)
    check_extreme(metric, agg)
    nothing = f'None with agg="{agg}": all pairs of groups count'
    check_that(arguments.strata is None, "strata", "a column", nothing)
    check_that(arguments.reference is None, "reference", arguments.reference, nothing)
    check_that(arguments.simultaneous is None, "simultaneous", arguments.simultaneous, nothing)
    check_choice("method", arguments.method, (None, "score"), cure="leave it out")
    check_choice("alternative", arguments.alternative, ("two-sided",), cure="leave it out")
    return warned(extreme_of_rates(table, metric, settings, agg), metric.name)


def name_with(agg: str | None, name: str) -> str:
    """The name of a metric, with ``agg="max"`` that of its largest gap."""
    check_choice("agg", agg, (None, "max"))
    if agg == "max":
        return name.removesuffix(ENDINGS["difference"]) + ENDINGS["gap"]
    return name


def compare_metric(
    metric: Metric,
    table: CellCounts,
    settings: Inference,
    reference: Hashable | None = None,
    rng: SeedOrGenerator = None,
    *,
    strata: StratumCounts | None = None,
    whole_clusters: bool = False,
) -> _Compared | MaximumResult:
    """Compare the rates of a metric over all groups of a table, and warn of what could not be
    computed.

    `strata`: the same rows by the strata of a confounder; the result then has the adjusted
    comparisons beside it; `whole_clusters`: whether no row of a cluster can come later, which
    limits at every look rest on.
    """
    check_groups(table.groups)
    table = without_idle_weights(table, settings.comparisons)
    if strata is not None:
        check_adjustable(metric)
    if metric.contrast == "gap":
        check_watchable(metric, table, settings, reference, whole_clusters=whole_clusters)
        chosen_by_data = reference == "highest" and reference not in table.groups
        found = largest_gap(table, metric, settings, chosen_by_data=chosen_by_data)
        return warned(found, metric.name)
    rates = [RATES[rate_name] for rate_name in metric.rates]
    pooled = pool_estimates(table, rates, metric.contrast, settings)
    result = compare_estimates(
        metric,
        pooled.table,
        pooled.estimates,
        settings,
        reference,
        rng,
        everybody=pooled.everybody,
        whole_clusters=whole_clusters,
    )
    if strata is None:
        return result
    with_strata: _Compared = adjusted(result, metric, strata)
    warned(with_strata.stratified, metric.name)
    return with_strata


@dataclass(frozen=True, eq=False)
class PooledEstimates:
    """What a comparison is of: the table, with pooled groups below it where these are compared.

    `estimates`: of every rate; `everybody`: of each rate, where groups are compared with all rows.
    """

    table: CellCounts
    estimates: list[RateEstimates]
    everybody: list[Everybody | EverybodyByDelta]


def estimate_of(rate: Rate, table: CellCounts) -> RateEstimates:
    """A rate of every group of a table."""
    return estimate_rate(table, rate)


def pool_estimates(
    table: CellCounts,
    rates: Sequence[Rate],
    contrast: str,
    settings: Inference,
    estimate: Callable[[Rate, CellCounts], RateEstimates] = estimate_of,
    function: Callable[..., Any] | None = None,
) -> PooledEstimates:
    """The rates of a table as the comparisons of these settings need them.

    `estimate`: of a rate and a table; `function`: of the user, in place of a formula.
    """
    compared_table = table
    if settings.comparisons in POOLED:
        compared_table = beside_rest(table)
    without_weights = compared_table.without_even_weights()
    estimates = []
    everybody: list[Everybody | EverybodyByDelta] = []
    for rate in rates:
        if settings.comparisons != "overall":
            estimates.append(estimate(rate, without_weights))
        elif function is not None or is_by_delta(rate, contrast):
            by_delta = estimate_beside_all(table, rate, function)
            estimates.append(by_delta)
            everybody.append(
                EverybodyByDelta.of(
                    table,
                    by_delta,
                    functools.partial(estimate, rate),
                    settings.confidence_level,
                )
            )
        else:
            estimates.append(estimate(rate, without_weights))
            everybody.append(Everybody.of(table, rate, settings.confidence_level))
    return PooledEstimates(table=compared_table, estimates=estimates, everybody=everybody)


def compare_estimates(
    metric: Metric,
    table: CellCounts,
    estimates: list[RateEstimates],
    settings: Inference,
    reference: Hashable | None,
    rng: SeedOrGenerator = None,
    *,
    everybody: Sequence[Everybody | EverybodyByDelta] = (),
    whole_clusters: bool = False,
) -> _Compared:
    """Compare estimated rates, those of one metric in one family.

    `everybody`: of each rate, where groups are compared with all rows.

    The reference counts as chosen by the data where it is "highest", or the settings have that
    rule; `whole_clusters`: as in `compare_metric`.
    """
    check_watchable(metric, table, settings, reference, whole_clusters=whole_clusters)
    contrast = contrast_of_metric(metric)
    sizes = table.group_sizes
    reference_index, rule_of_reference = find_reference(
        table.groups, reference, sizes=sizes, rates=estimates[0].rate
    )
    chosen_by_data = "highest" in (rule_of_reference, settings.reference_rule)
    smooth = any(rate_estimates.smooth for rate_estimates in estimates)
    if smooth:
        if contrast == "difference":
            method = "delta"
        else:
            method = "log" if table.weighted else "fieller"
        settings = replace(settings, method=method)
    if settings.method == "bootstrap":
        generator, seed = as_generator(rng)
    else:
        generator = None
        seed = None
    rule_of_reference = "highest" if chosen_by_data else rule_of_reference
    if (rule_of_reference, seed) != (settings.reference_rule, settings.seed):
        settings = replace(settings, reference_rule=rule_of_reference, seed=seed)
    pairs_shown = make_pairs(len(table.groups), reference_index, settings.comparisons)
    # with a reference that the data choose, all pairs could have been compared
    if chosen_by_data:
        pairs_possible = make_pairs(len(table.groups), reference_index, "all")
    else:
        pairs_possible = pairs_shown
    simultaneous = settings.simultaneous or ("max-z" if chosen_by_data else None)
    single_level = settings.confidence_level
    n_comparisons = len(estimates) * len(pairs_possible)
    levels = (single_level, 2 * single_level - 1)
    joint_law = None
    if simultaneous and n_comparisons > 1:
        if simultaneous == "max-z":
            joint_law = _joint_law_of_contrasts(table, estimates, contrast, pairs_possible)
        else:
            joint_law = None
        levels = (
            level_of_each(levels[0], n_comparisons, joint_law),
            level_of_each(levels[1], n_comparisons, joint_law),
        )
    sharpest_error = error_of_switch(
        metric,
        settings,
        len(pairs_possible) * len(estimates) / max(len(metric.rates), 1),
        chosen_by_data=chosen_by_data,
    )
    if settings.comparisons == "rest":
        # below the groups stand all rows but theirs, which are the same rows once more
        sizes = sizes[: len(sizes) // 2]
    n_rows = float(sizes.sum())
    named_estimates = zip(metric.row_names, estimates, strict=True)
    compared = []
    for place, (row_name, rate_estimates) in enumerate(named_estimates):
        of_all = everybody[place] if everybody else None
        known_limits = limits_of_pairs(
            rate_estimates, pairs_shown, contrast, settings.method, levels
        )
        group_limits: tuple[Interval, ...] = ()
        # an interval for one look has no place beside those for all of them
        if settings.method not in ANYTIME_METHODS:
            group_limits = own_intervals(rate_estimates, single_level)
        options_of_rate = _FamilyOptions(
            contrast=contrast,
            settings=settings,
            levels=levels,
            error=sharpest_error,
            rng=generator,
            n_rows=n_rows,
            known_limits=known_limits,
            own_intervals=group_limits,
        )
        compared += options_of_rate.compare_pairs(rate_estimates, pairs_shown, row_name, of_all)
    n_sides = 2 if settings.alternative == "two-sided" else 1
    if chosen_by_data:
        pvalues_of_all = []
        for comparison, _ in compared:
            pvalues_of_all.append(
                pvalue_of_all(comparison.pvalue, n_sides, n_comparisons, joint_law)
            )
    else:
        pvalues_of_all = None
    comparisons = as_family(
        compared,
        settings,
        chosen_among=n_comparisons if chosen_by_data else 0,
        of_all=pvalues_of_all,
    )
    result_fields = (
        metric.name,
        comparisons,
        settings,
        table,
        metric.title,
        "statsmodels" if smooth else "numpy",
    )
    result = RESULT_CLASSES[contrast](*result_fields)
    return warned(result, metric.name)


def contrast_of_metric(metric: Metric) -> Contrast:
    """How a metric compares two rates; a largest gap is made of differences."""
    if metric.contrast == "gap":
        return "difference"
    return metric.contrast


def _joint_law_of_contrasts(
    table: CellCounts,
    estimates: list[RateEstimates],
    contrast: Contrast,
    group_pairs: list[tuple[int, int]],
) -> MaxZ | None:
    """Joint distribution of all contrasts (log ratios or differences).

    None where one has no variance.
    """
    n_groups = len(table.groups)
    covariance: Floats = estimates[0].covariance
    if len(estimates) > 1:
        if any(rate_estimates.smooth for rate_estimates in estimates):
            return None
        covariance = covariance_of_rates(table, estimates)
    elif not (table.weighted or estimates[0].smooth):
        covariance = np.diag(covariance)  # independent groups
    if contrast != "difference":
        all_rates = np.concatenate([rate_estimates.rate for rate_estimates in estimates])
        spread = spread_of_terms(all_rates, contrast)
        with np.errstate(divide="ignore", invalid="ignore"):
            covariance = covariance / (
                spread**2 if covariance.ndim == 1 else np.outer(spread, spread)
            )
    if covariance.ndim == 1:
        variance = covariance
    else:
        variance = np.diag(covariance)
    groups_used = sorted({group for pair in group_pairs for group in pair})
    if not np.isfinite(variance.reshape(-1, n_groups)[:, groups_used]).all():
        return None
    places = np.array(group_pairs)[None] + n_groups * np.arange(len(estimates))[:, None, None]
    return MaxZ(covariance, table.degrees_of_freedom, places.reshape(-1, 2))


def level_of_each(level: float, n_comparisons: int, joint_law: MaxZ | None) -> float:
    """Level of each of `n_comparisons` intervals so that all hold at once.

    By Bonferroni without `joint_law`.
    """
    if joint_law is None:
        return 1 - (1 - level) / n_comparisons
    return 2 * normal_cdf(joint_law.quantile(level), joint_law.degrees_of_freedom) - 1


def pvalue_of_all(pvalue: float, n_sides: int, n_comparisons: int, joint_law: MaxZ | None) -> float:
    """The p-value of one of `n_comparisons` comparisons over all, by the law of their simultaneous
    intervals.
    """
    if joint_law is None or math.isnan(pvalue):
        return min(n_comparisons * pvalue, 1.0)
    z = -normal_quantile(min(pvalue / n_sides, 0.5), joint_law.degrees_of_freedom)
    of_law = joint_law.pvalue(z) * n_sides / 2
    if math.isnan(of_law):  # no group's rate varies
        return min(n_comparisons * pvalue, 1.0)
    return max(of_law, pvalue)


class _Plan(NamedTuple):
    """A pair that is to be compared by a method.

    `comparison`: what does not depend on it; `bounded`: whether a difference lies within ±1.
    """

    comparison: RateComparison
    estimate: float
    std_error: float
    method: Chosen
    exact_tests: ExactPair | None
    bounded: bool


@dataclass(frozen=True)
class _FamilyOptions:
    """What all pairs of a family are compared by.

    `levels`: of intervals, and of the two-sided ones that one-sided ones are ends of; `error`: what
    the smallest p-value of the family is held to, which says where exact tests are necessary;
    `n_rows`: of the whole table, so far; `known_limits`: by the score, of pairs that were searched
    for together; `own_intervals`: of every group's rate.
    """

    contrast: Contrast
    settings: Inference
    levels: tuple[float, float]
    error: float
    rng: np.random.Generator | None
    n_rows: float
    known_limits: Mapping[tuple[int, int], KnownLimits]
    own_intervals: tuple[Interval, ...]

    def compare_pairs(
        self,
        estimates: RateEstimates,
        pairs: Sequence[tuple[int, int]],
        metric: str,
        everybody: Everybody | EverybodyByDelta | None = None,
    ) -> list[tuple[RateComparison, Evidence]]:
        """All pairs, each with the evidence of its verdict.

        With `everybody` the second of each pair is all others, and the first is compared with all.
        Exact tests of many pairs are computed together.
        """
        without_groups = before_evidence(metric, self.settings)
        compared: list[tuple[RateComparison, Evidence]] = []
        for start in each_of(range(0, len(pairs), AT_ONCE), "comparisons"):
            planned = []
            for pair in pairs[start : start + AT_ONCE]:
                planned.append(self.plan(estimates, pair, without_groups, everybody))
            asked = []
            for plan in planned:
                if isinstance(plan, _Plan) and plan.exact_tests is not None:
                    asked.append(
                        asked_exactly(plan.exact_tests, self.contrast, self.settings, self.levels)
                    )
            if asked:
                # each decision then finds its row
                exact_rows(asked)
            for plan in planned:
                compared.append(self.decide(plan) if isinstance(plan, _Plan) else plan)
        return compared

    def plan(
        self,
        estimates: RateEstimates,
        pair: tuple[int, int],
        without_groups: RateComparison,
        everybody: Everybody | EverybodyByDelta | None = None,
    ) -> _Plan | tuple[RateComparison, Evidence]:
        """How one pair will be compared, or what is said of it without a comparison.

        `without_groups`: what the comparisons of all pairs have in common.
        """
        i, j = pair
        contrast = self.contrast
        settings = self.settings
        estimates = estimates.for_pair(i, j)
        empty_comparison = without_groups._of_pair(
            pair, estimates.groups, estimates.rate, estimates.rows, self.own_intervals
        )
        beside_everybody = empty_comparison
        if everybody is not None:
            beside_everybody = everybody.beside(empty_comparison, i, contrast)
            empty_comparison = replace(beside_everybody, estimate=math.nan, std_error=math.nan)
        if without := without_cases(estimates, pair):
            return replace(empty_comparison, note=without), Evidence()
        if undefined := without_ratio(estimates, pair, contrast):
            note = f"{empty_comparison.group} and {empty_comparison.reference}: {undefined}"
            unbounded = Interval(
                low=0.0,
                high=float("inf"),
                confidence_level=settings.confidence_level,
                method=empty_comparison.method,
            )
            return replace(
                empty_comparison,
                note=note,
                confidence_interval=unbounded,
                bounds=unbounded,
            ), Evidence()
        if everybody is None:
            estimate, std_error = estimates.contrast(i, j, contrast=contrast)
        else:
            estimate = beside_everybody.estimate
            std_error = beside_everybody.std_error
        if settings.method in ANYTIME_METHODS:
            comparison = replace(empty_comparison, estimate=estimate, std_error=std_error)
            watched = decide_at_every_look(
                estimates, pair, contrast, settings, self.levels[0], self.n_rows
            )
            if isinstance(watched, Refused):
                return replace(comparison, note=watched.note), Evidence()
            return _with_decision(comparison, watched), watched.evidence
        n_resamples = settings.n_resamples
        chosen_method = pair_method(
            estimates,
            i,
            j,
            contrast,
            settings.method,
            n_resamples=n_resamples,
            rng=self.rng,
            known_limits=self.known_limits.get(pair),
            shares_of_all=everybody.shares_of(i) if everybody else (),
        )
        if isinstance(chosen_method, Refused):
            return replace(
                empty_comparison,
                estimate=estimate,
                std_error=std_error,
                method=chosen_method.name,
                note=chosen_method.note,
            ), Evidence()
        if chosen_method.name == "score":
            exact_tests = exact_pair(estimates, i, j, self.error)
        else:
            exact_tests = None
        if exact_tests is not None and everybody is not None:
            (share,) = everybody.shares_of(i)
            if isinstance(chosen_method.how, OddsOfAll):
                exact_tests = ExactOddsOfAll(
                    *exact_tests.table, score=chosen_method.how, share=share
                )
            else:
                exact_tests = ExactPairOfAll(*exact_tests.table, share=share)
        return _Plan(
            comparison=empty_comparison,
            estimate=estimate,
            std_error=std_error,
            method=chosen_method,
            exact_tests=exact_tests,
            bounded=not estimates.smooth,
        )

    def decide(self, plan: _Plan) -> tuple[RateComparison, Evidence]:
        """What the counts of a pair show."""
        if plan.exact_tests is None:
            decision = decide_by_method(
                plan.method, self.contrast, self.settings, self.levels, bounded=plan.bounded
            )
        else:
            decision = decide_exactly(
                plan.exact_tests, plan.method, self.contrast, self.settings, self.levels
            )
        # one copy with all that is known: copies are what a pair costs
        comparison = _with_decision(
            plan.comparison,
            decision,
            estimate=plan.estimate,
            std_error=plan.std_error,
            note=plan.method.note,
        )
        return comparison, decision.evidence


def _with_decision(
    comparison: RateComparison, decision: PairDecision, **other_fields: Any
) -> RateComparison:
    """The comparison with everything that was decided of its pair, and what else is known."""
    return with_fields(
        comparison,
        **other_fields,
        method=decision.interval.method,
        **decision.fields_of_row(),
    )


def without_cases(estimates: RateEstimates, pair: tuple[int, int]) -> str:
    """Which group of a pair has no cases of the rate, in words; empty where both have."""
    lacking = []
    cases = estimates.cases
    for group_index in pair:
        if not cases[group_index] > 0:
            lacking.append(group_index)
    if not lacking:
        return ""
    rate_words = estimates.rate_of
    weighted_parts: tuple[RateEstimates, ...] = ()
    if estimates.weighted and not estimates.smooth:
        weighted_parts = estimates.parts or (estimates,)
    what_lacks = f"no {rate_words.case_words}"
    if weighted_parts and not any(
        part_estimates.rows[group_index] == 0
        for part_estimates in weighted_parts
        for group_index in lacking
    ):
        what_lacks = f"all weights of {rate_words.case_words} are 0"
    lacking_names = " and ".join(estimates.groups[group_index] for group_index in lacking)
    return f"{lacking_names}: {what_lacks}, so no {rate_words.title}."
