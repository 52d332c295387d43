"""From rows with probabilities of groups to a result: estimates, bounds, limits, verdicts."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from fairstats.ground import checks
from fairstats.ground.errors import InputError
from fairstats.ground.groups import find_reference
from fairstats.ground.multiplicity import make_pairs, normal_quantile
from fairstats.ground.proxies import ARGUMENT
from fairstats.ground.registry import RATES, Metric, Rate
from fairstats.ground.results import Interval
from fairstats.ground.verdict import (
    Evidence,
    Procedure,
    beside_equality,
    bound_level,
    evidence_by_side,
    reach_fair_range,
)
from fairstats.methods.rates.bounds import imbens_manski
from fairstats.methods.rates.inferred.reading import (
    SAMPLE,
    CellsOfRows,
    InferredCounts,
    InferredRows,
)
from fairstats.methods.rates.inferred.result import (
    AUDIT_METHOD,
    BOUNDS_METHOD,
    InferredComparison,
    InferredResult,
)
from fairstats.methods.rates.result import Inference, as_family, warned
from fairstats.methods.rates.setup import RateArguments, make_settings
from fairstats.numerics.rates import inferred as kernels

#: Fewest rows that the cases of a group are worth, and fewest rows of each outcome, for limits.
LEAST_ROWS = 20
LEAST_OF_OUTCOME = 10
#: The same of audited rows: of each outcome in either group.
LEAST_AUDITED = 5
#: Ends so many standard errors apart are one-sided each.
_FAR_APART = 10.0
#: Arguments that do not go with probabilities → what each may be.
_WITHOUT = {
    "counts": None,
    "strata": None,
    "simultaneous": None,
    "planned": None,
    "method": None,
    "agg": None,
    "classes": None,
}


def is_inferred(arguments: RateArguments) -> bool:
    """Whether groups come as probabilities; an error for a sample of a proxy without them."""
    lacking = arguments.sensitive_probabilities is None
    checks.check_that(
        not lacking or arguments.calibration_sample is None,
        SAMPLE,
        "a sample",
        f"None without {ARGUMENT}=",
        f"{ARGUMENT}= of the rows that are compared",
    )
    return not lacking


def run_inferred(metric: Metric, arguments: RateArguments) -> InferredResult:
    """Compare a metric of the registry between groups that are inferred."""
    for argument, allowed in _WITHOUT.items():
        value = getattr(arguments, argument)
        if value is not allowed:
            raise InputError(
                argument,
                got=f"{checks.shown(value)} with {ARGUMENT}=",
                allowed=f"{allowed}: rows whose groups are inferred",
                cure=f"leave out {argument}=",
            )
    checks.check_choice("alternative", arguments.alternative, ("two-sided",))
    is_rule = isinstance(arguments.reference, str) and arguments.reference == "highest"
    checks.check_that(
        not is_rule, "reference", arguments.reference, f"a group, or the largest, with {ARGUMENT}="
    )
    checks.check_choice("missing", arguments.missing, ("raise", "drop"))
    rates = rates_that_can_be_inferred(metric)
    settings = replace(
        make_settings(metric.contrast, arguments, any_margin=False), method=BOUNDS_METHOD
    )
    rows = InferredRows.read(arguments, needs=metric.needs)
    cells = CellsOfRows.of(rows, arguments.calibration_sample, arguments.rng)
    if rows.true_groups is not None and arguments.calibration_sample is not None:
        raise InputError(
            SAMPLE,
            got="a sample beside rows with true groups",
            allowed="one of them",
            cure="leave out calibration_sample=: rows with true groups say more",
        )
    counts = []
    for rate in rates:
        counts.append(cells.count(rate))
    return compare_counts(metric, tuple(counts), settings, arguments.reference)


def rates_that_can_be_inferred(metric: Metric) -> list[Rate]:
    """The rates of a metric, which are successes among cases; an error for others."""
    rates = [RATES[name] for name in metric.rates]
    are_shares = bool(rates) and all(rate.successes for rate in rates)
    if metric.contrast not in ("ratio", "difference") or not are_shares:
        raise InputError(
            ARGUMENT,
            got=f"the metric {metric.name!r}",
            allowed="ratios and differences of rates that are successes among cases",
            cure="fs.equalized_odds_difference has both rates of average odds, one by one",
        )
    return rates


def compare_counts(
    metric: Metric,
    counts: tuple[InferredCounts, ...],
    settings: Inference,
    reference: Any = None,
) -> InferredResult:
    """Compare all groups of the counts of each rate with their reference, as one family."""
    groups = counts[0].groups
    sizes = counts[0].sums.sum(axis=(0, 1, 2))
    reference_index, rule = find_reference(groups, reference, sizes=sizes)
    settings = replace(settings, reference_rule=rule)
    contrast = metric.contrast
    compared = []
    for row_name, of_rate in zip(metric.row_names, counts, strict=True):
        for pair in make_pairs(len(groups), reference_index, settings.comparisons):
            compared.append(_compare_pair(row_name, of_rate, pair, contrast, settings))
    result = InferredResult(
        metric=metric.name,
        words=metric.title,
        scale=contrast,
        comparisons=as_family(compared, settings),
        settings=settings,
        counts=counts,
    )
    return warned(result, metric.name)


def _compare_pair(
    row_name: str,
    counts: InferredCounts,
    pair: tuple[int, int],
    contrast: str,
    settings: Inference,
) -> tuple[InferredComparison, Evidence]:
    """One pair of groups, and the evidence of its verdict."""
    table = counts._table
    limits = kernels.compare_groups(table, pair, contrast, counts._calibration)
    regression = kernels.regression_rates(table)[list(pair)]
    group, other = pair
    expected = counts.expected_cases
    degrees_of_freedom = _degrees_of_freedom(counts, pair)
    two_sided = normal_quantile((1 + settings.confidence_level) / 2, degrees_of_freedom)
    comparison = InferredComparison(
        metric=row_name,
        group=counts.groups[group],
        reference=counts.groups[other],
        estimate=_unlogged(limits.weighted.value, contrast),
        std_error=_std_error(limits.weighted, contrast),
        rate=limits.rates[0],
        rate_reference=limits.rates[1],
        set_low=_unlogged(limits.low.value, contrast),
        set_high=_unlogged(limits.high.value, contrast),
        weighted=_unlogged(limits.weighted.value, contrast),
        weighted_interval=_interval(
            limits.weighted,
            limits.weighted,
            two_sided,
            contrast,
            settings.confidence_level,
            "weighted",
        ),
        regression=_contrast_of(regression, contrast),
        n=round(float(expected[group])),
        n_reference=round(float(expected[other])),
        method=BOUNDS_METHOD,
        verdict="insufficient evidence",
    )
    audited = counts._audited
    if audited is not None:
        return _with_audit(comparison, counts, audited, pair, contrast, settings)
    lacking = _what_lacks(counts, pair)
    if lacking:
        return replace(comparison, note=lacking), Evidence()
    # each end alone at half the error
    level = settings.confidence_level
    of_set = _interval(limits.low, limits.high, two_sided, contrast, level, BOUNDS_METHOD)
    comparison = replace(comparison, set_interval=of_set)
    width = _distance(limits.low, limits.high)
    critical = imbens_manski(
        width,
        settings.confidence_level,
        n=int(table.units),
        degrees_of_freedom=degrees_of_freedom,
    )
    return _decide(
        comparison, limits.low, limits.high, critical, contrast, settings, degrees_of_freedom
    )


def _degrees_of_freedom(counts: InferredCounts, pair: tuple[int, int]) -> float:
    """Under weights or clusters what the smaller group's cases are worth, less 1; else the normal
    law's.
    """
    if counts.design is None:
        return math.inf
    return max(float(counts.effective_cases[list(pair)].min()) - 1, 1.0)


def _what_lacks(counts: InferredCounts, pair: tuple[int, int]) -> str:
    """Why there are no limits, in words; empty where there are."""
    effective = counts.effective_cases
    unit = "clusters" if counts.clustered else "rows"
    for group in pair:
        if effective[group] < LEAST_ROWS:
            return (
                f"{counts.groups[group]}: its probabilities are worth {effective[group]:.3g} {unit};"
                f" limits need {LEAST_ROWS}."
            )
    few = min(counts._of_outcome(kernels.SUCCESS), counts._of_outcome(kernels.FAILURE))
    if few < LEAST_OF_OUTCOME:
        return f"{few:.3g} successes or failures in all; limits need {LEAST_OF_OUTCOME}."
    return ""


def _with_audit(
    comparison: InferredComparison,
    counts: InferredCounts,
    audited: kernels.Audited,
    pair: tuple[int, int],
    contrast: str,
    settings: Inference,
) -> tuple[InferredComparison, Evidence]:
    """The comparison with its estimate and limits from rows with true groups."""
    value, rates = kernels.audited_contrast(audited, pair, contrast)
    by_outcome = np.array(
        [
            [audited.units_of(group, outcome) for outcome in (kernels.SUCCESS, kernels.FAILURE)]
            for group in pair
        ]
    )
    comparison = replace(
        comparison,
        estimate=_unlogged(value.value, contrast),
        std_error=_std_error(value, contrast),
        rate=rates[0],
        rate_reference=rates[1],
        n_audited=counts.n_audited,
        method=AUDIT_METHOD,
    )
    if by_outcome.min() < LEAST_AUDITED or not math.isfinite(value.std_error):
        name = (comparison.group, comparison.reference)[int(by_outcome.min(axis=1).argmin())]
        note = (
            f"{name}: {by_outcome.min():.3g} successes or failures among the rows with a true group;"
            f" limits need {LEAST_AUDITED}."
        )
        return replace(comparison, note=note), Evidence()
    degrees_of_freedom = min(audited.units_of(group) for group in pair) - 1
    critical = normal_quantile((1 + settings.confidence_level) / 2, degrees_of_freedom)
    return _decide(comparison, value, value, critical, contrast, settings, degrees_of_freedom)


def _decide(
    comparison: InferredComparison,
    low: kernels.ValueWithError,
    high: kernels.ValueWithError,
    critical: float,
    contrast: str,
    settings: Inference,
    degrees_of_freedom: float = math.inf,
) -> tuple[InferredComparison, Evidence]:
    """Interval, one-sided limits, p-value of equality, and the evidence of the verdict.

    `low`, `high`: ends of what is possible, with their errors; both the estimate where it is one
    value. Above a fair range is shown by the lower end, below it by the upper end.
    """
    level = settings.confidence_level
    fair = settings._fair_range(contrast)
    if contrast == "ratio":
        fair = (math.log(fair[0]), math.log(fair[1]))
    largest = max(_finite_error(low), _finite_error(high))
    width = (fair[1] - fair[0]) / largest if largest > 0 else math.inf
    evidence = evidence_by_side(
        at_low=(_statistic(low, fair[0]), _statistic(high, fair[0])),
        at_high=(_statistic(low, fair[1]), _statistic(high, fair[1])),
        width=width,
        degrees_of_freedom=degrees_of_freedom,
    )
    equality = evidence_by_side(
        at_low=(_statistic(low, 0.0), _statistic(high, 0.0)),
        at_high=(_statistic(low, 0.0), _statistic(high, 0.0)),
        width=0.0,
        degrees_of_freedom=degrees_of_freedom,
    )
    nearest = 0.0
    if low.value > 0:
        nearest = _statistic(low, 0.0)
    elif high.value < 0:
        nearest = _statistic(high, 0.0)
    pvalue = min(equality.below, equality.above, 1.0)
    evidence = beside_equality(evidence, pvalue, fair)
    limit_level = bound_level(width, level, degrees_of_freedom)
    one_sided = normal_quantile(limit_level, degrees_of_freedom)
    limits = _interval(low, high, one_sided, contrast, limit_level, comparison.method)
    ends = reach_fair_range(
        (limits.low, limits.high), evidence, settings._fair_range(contrast), 1 - level
    )
    decided = replace(
        comparison,
        confidence_interval=_interval(low, high, critical, contrast, level, comparison.method),
        bounds=replace(limits, low=ends[0], high=ends[1]),
        statistic=nearest,
        pvalue=pvalue,
        procedure=Procedure(name=comparison.method, kind="standard error", df=degrees_of_freedom),
    )
    return decided, evidence


def _statistic(end: kernels.ValueWithError, value: float) -> float:
    """(end − value) / error; infinite where the end is, or has no error."""
    distance = end.value - value
    if math.isinf(distance) or not end.std_error > 0:
        return math.copysign(math.inf, distance) if distance else 0.0
    return distance / end.std_error


def _finite_error(end: kernels.ValueWithError) -> float:
    return end.std_error if math.isfinite(end.std_error) else 0.0


def _distance(low: kernels.ValueWithError, high: kernels.ValueWithError) -> float:
    """How far both ends lie apart, in standard errors of the less certain one."""
    largest = max(_finite_error(low), _finite_error(high))
    distance = high.value - low.value
    if not largest > 0 or math.isinf(distance):
        return _FAR_APART if distance > 0 else 0.0
    return min(max(distance / largest, 0.0), _FAR_APART)


def _interval(
    low: kernels.ValueWithError,
    high: kernels.ValueWithError,
    critical: float,
    contrast: str,
    level: float,
    method: str,
) -> Interval:
    """Ends less and plus so many errors, on the scale of the contrast."""
    lower = low.value - critical * _finite_error(low)
    upper = high.value + critical * _finite_error(high)
    if contrast == "difference":
        lower = max(lower, -1.0)
        upper = min(upper, 1.0)
    return Interval(
        low=_unlogged(lower, contrast),
        high=_unlogged(upper, contrast),
        confidence_level=level,
        method=method,
    )


def _unlogged(value: float, contrast: str) -> float:
    if contrast == "difference":
        return value
    return float(np.exp(value))


def _std_error(value: kernels.ValueWithError, contrast: str) -> float:
    """On the scale of the contrast."""
    if contrast == "difference":
        return value.std_error
    return float(np.exp(value.value)) * value.std_error


def _contrast_of(rates: Any, contrast: str) -> float:
    """Difference or ratio of two rates; NaN for 0/0."""
    if contrast == "difference":
        return float(rates[0] - rates[1])
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.divide(rates[0], rates[1]))
