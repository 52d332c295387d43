"""Rates and net benefit of selecting the rows from a cut-off on, at many cut-offs at once.

Also of numbers in any unit: the share of each group that cut-offs at quantiles of all rows select,
"adverse impact ratio by quantile" in lending.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats, check_given, check_that
from fairstats.ground.counts import CellCounts, ConfusionCounts, SelectionCounts
from fairstats.ground.errors import InputError
from fairstats.ground.outcomes import Outcomes
from fairstats.ground.registry import ENDINGS, RATES, find_metric
from fairstats.ground.results import Interval
from fairstats.ground.scores import ScoreCounts
from fairstats.ground.tallies.moments import MomentCounts
from fairstats.methods.rates.compare import compare_estimates
from fairstats.methods.rates.estimates import RateEstimates, estimate_rate
from fairstats.methods.rates.numbers.compare import MeanValues
from fairstats.methods.rates.numbers.curves import (
    CurveDifferenceResult,
    CurvePoint,
    CurveRatioResult,
    as_cutoffs,
    at_cutoff,
    check_reference_of_curve,
    compare_along,
    z_of_level,
)
from fairstats.methods.rates.overall import Everybody
from fairstats.methods.rates.result import Inference
from fairstats.methods.rates.setup import POOLED, beside_rest, without_idle_weights
from fairstats.numerics.means.hall import as_student

#: Rates that have a curve: successes among cases, of the predictions.
CURVE_RATES = tuple(
    name for name, rate in RATES.items() if rate.interval == "score" and name != "base_rate"
)
NET_BENEFIT = "net_benefit"
NET_BENEFIT_TITLE = "Net benefit: difference between groups along thresholds"
#: Comparisons with all other rows, and with all rows, which curves have, too.
REST_OF_ROWS = "rest"
OVERALL_ROWS = "overall"
#: End of the name of a comparison at quantiles of all rows.
BY_QUANTILE = "_by_quantile"
#: Cut-offs where none are named: quantiles of the scores of all groups.
_N_CUTOFFS = 19


@dataclass(frozen=True, eq=False)
class CutRows:
    """Rows of scores and labels, as counts or, where they have weights or clusters, row by row.

    `numbers`: what is cut instead of the scores of `outcomes`; of `larger_is_better` False rows up
    to a cut-off are selected.
    """

    counts: ScoreCounts | None = None
    outcomes: Outcomes | None = None
    numbers: Floats | None = None
    larger_is_better: bool = True

    def scores_with_rows(self) -> tuple[Floats, NDArray[np.intp]]:
        """Distinct scores, ascending, and the rows of each."""
        if self.counts is not None:
            return self.counts.values, self.counts.counts.sum(axis=(0, 1))
        values, rows = np.unique(self.score, return_counts=True)
        return values, rows

    @property
    def score(self) -> Floats:
        """Score of every row, or the number in its place."""
        if self.numbers is not None:
            return self.numbers
        return check_given("score", self.required_outcomes().score)

    def is_selected(self, numbers: Floats, cutoff: float) -> NDArray[np.bool_]:
        """Which of these numbers a cut-off selects."""
        chosen = numbers >= cutoff if self.larger_is_better else numbers <= cutoff
        return np.asarray(chosen)

    def of_rows(self) -> CutRows:
        """The same row by row, without the counts."""
        return replace(self, counts=None)

    def as_one_group(self) -> CutRows:
        """All rows as one group."""
        if self.counts is not None:
            counts = replace(
                self.counts,
                groups=("all",),
                counts=self.counts.counts.sum(axis=0, keepdims=True),
            )
            return replace(self, counts=counts, outcomes=None)
        outcomes = self.required_outcomes()
        codes = np.zeros_like(outcomes.groups.codes)
        everybody = replace(outcomes.groups, codes=codes, labels=("all",))
        return replace(self, outcomes=replace(outcomes, groups=everybody))

    def required_outcomes(self) -> Outcomes:
        """The rows, where they are there."""
        if self.outcomes is None:
            raise TypeError("neither counts nor rows")
        return self.outcomes

    def table(self, cutoff: float) -> ConfusionCounts | SelectionCounts:
        """Confusion counts, without labels counts of rows, of selecting scores from the cut-off on."""
        if self.counts is None:
            outcomes = self.required_outcomes()
            predicted = self.is_selected(self.score, cutoff).astype(np.uint8)
            selected_rows = replace(outcomes, y_pred=predicted)
            if outcomes.y_true is None:
                return SelectionCounts._from_outcomes(selected_rows)
            return ConfusionCounts._from_outcomes(selected_rows)
        selected = self.is_selected(self.counts.values, cutoff)
        negatives = self.counts.counts[:, 0]
        positives = self.counts.counts[:, 1]
        rows = np.stack(
            [
                positives[:, selected].sum(axis=1),
                negatives[:, selected].sum(axis=1),
                positives[:, ~selected].sum(axis=1),
                negatives[:, ~selected].sum(axis=1),
            ],
            axis=1,
        )
        return ConfusionCounts(
            groups=self.counts.groups,
            totals=rows.astype(np.float64),
            rows=rows,
            n_units=int(rows.sum()),
            missing=self.counts.missing,
            group_units=rows.sum(axis=1),
        )

    def benefits(self, cutoff: float) -> Floats:
        """Net benefit of every row at a threshold."""
        harm = cutoff / (1 - cutoff)
        selected = self.score >= cutoff
        return np.asarray(np.where(self.required_outcomes().y_true == 1, 1.0, -harm) * selected)

    def moments(self, cutoff: float) -> MomentCounts:
        """Moments of the net benefit of every row at a threshold.

        1 for a selected row with label 1, −t/(1 − t) for one with label 0, 0 for others.
        """
        if self.counts is None:
            of_rows = {NET_BENEFIT: self.benefits(cutoff)}
            return MomentCounts._from_outcomes(self.required_outcomes(), of_rows)
        harm = cutoff / (1 - cutoff)
        selected = self.counts.values >= cutoff
        numbers = np.concatenate([-harm * selected, 1.0 * selected])
        rows = np.concatenate([self.counts.counts[:, 0], self.counts.counts[:, 1]], axis=1)
        return MomentCounts._from_counted(
            self.counts.groups, NET_BENEFIT, numbers, rows, self.counts.missing
        )


def check_unmerged(counted: ScoreCounts) -> None:
    """Raise for scores that were merged to intervals, of which a cut-off says too little."""
    if counted.lower is not None:
        raise InputError(
            "counts",
            got="scores that were merged to intervals",
            allowed="rows of every score",
            cure="tally.to_json(exact=True), or the columns row by row",
        )


def choose_cutoffs(
    rows: CutRows, cutoffs: Any, argument: str = "cutoffs", *, below_one: bool = False
) -> Floats:
    """Cut-offs that were named, or quantiles of the scores of all groups, blind to labels."""
    highest = math.nextafter(1.0, 0.0) if below_one else 1.0
    if cutoffs is not None:
        return as_cutoffs(cutoffs, argument, low=0.0, high=highest)
    orders = np.arange(1, _N_CUTOFFS + 1) / (_N_CUTOFFS + 1)
    chosen = np.unique(quantiles_of_all(rows, orders))
    chosen = chosen[chosen <= highest]
    if not chosen.size:
        raise InputError(
            argument,
            got="scores of 1 only",
            allowed="cut-offs below 1",
            cure=f"{argument}=[0.1, 0.2, 0.3], say",
        )
    return np.asarray(chosen)


def quantiles_of_all(rows: CutRows, orders: Floats) -> Floats:
    """The first value up to which a share of all rows lies, for every share."""
    values, counted = rows.scores_with_rows()
    shares = np.cumsum(counted) / max(int(counted.sum()), 1)
    places = np.minimum(np.searchsorted(shares, orders - 1e-12), values.size - 1)
    return np.asarray(values[places])


def compare_selection_by_quantile(
    rows: CutRows,
    orders: Any,
    settings: Inference,
    reference: Hashable | None,
    *,
    ratio: bool,
) -> CurveDifferenceResult | CurveRatioResult:
    """Shares of every group that cut-offs at quantiles of all rows select, as one family.

    `orders`: of the quantiles, in (0, 1); None for the nine deciles.
    """
    if orders is None:
        orders = np.arange(1, 10) / 10
    asked = as_cutoffs(orders, "quantiles", low=0.0, high=1.0)
    check_that(
        bool(((asked > 0) & (asked < 1)).all()),
        "quantiles",
        orders,
        "orders of quantiles between 0 and 1, neither among them",
        "quantiles=[0.25, 0.5, 0.75], say",
    )
    cutoffs = quantiles_of_all(rows, asked)
    result = compare_rates_along(
        rows, "selection_rate", cutoffs, settings, reference, ratio=ratio, any_unit=True
    )
    contrast: Literal["ratio", "difference"] = "ratio" if ratio else "difference"
    places = [f"{order:.4g} ({cutoff:.4g})" for order, cutoff in zip(asked, cutoffs, strict=True)]
    side = "or more" if rows.larger_is_better else "or less"
    remark = (
        f"Selected: the cut-off {side}. Cut-offs are quantiles of all rows, and taken as given:"
        f" {', '.join(places)}."
    )
    metric = f"selection_rate_{contrast}{BY_QUANTILE}"
    comparisons = []
    for comparison in result.comparisons:
        comparisons.append(replace(comparison, metric=metric))
    return replace(
        result,
        metric=metric,
        comparisons=tuple(comparisons),
        words=f"Selection rate: {contrast} between groups by quantile of all rows",
        remarks=(remark,),
        larger_is_better=rows.larger_is_better,
    )


def compare_net_benefits(
    rows: CutRows, cutoffs: Any, settings: Inference, reference: Hashable | None
) -> CurveDifferenceResult:
    """Net benefit at every threshold."""
    points = []
    for cutoff in choose_cutoffs(rows, cutoffs, below_one=True).tolist():
        moments = rows.moments(cutoff)
        points.append(CurvePoint(cutoff, MeanValues(moments, NET_BENEFIT), moments))
    return compare_along(points, settings, reference, metric=NET_BENEFIT, words=NET_BENEFIT_TITLE)


def compare_rates_along(
    rows: CutRows,
    rate: str,
    cutoffs: Any,
    settings: Inference,
    reference: Hashable | None,
    *,
    ratio: bool,
    any_unit: bool = False,
) -> CurveDifferenceResult | CurveRatioResult:
    """A rate at every cut-off: each as the rates of predictions are, and all as one family.

    `any_unit`: of numbers that are no scores between 0 and 1, whose cut-offs are taken as they are.
    """
    check_reference_of_curve(reference, settings.comparisons)
    is_pooled = settings.comparisons in POOLED
    if any_unit:
        chosen = np.unique(cutoffs).tolist()
    else:
        chosen = choose_cutoffs(rows, cutoffs).tolist()
    tables = []
    everybody: list[Everybody] = []
    for cutoff in chosen:
        table: CellCounts = rows.table(cutoff)
        if is_pooled:
            table = without_idle_weights(table, settings.comparisons)
            if settings.comparisons == OVERALL_ROWS:
                everybody.append(Everybody.of(table, RATES[rate], settings.confidence_level))
            table = beside_rest(table)
        tables.append(table.without_even_weights())
    estimates = [estimate_rate(table, RATES[rate]) for table in tables]
    contrast: Literal["ratio", "difference"] = "ratio" if ratio else "difference"
    metric = find_metric(rate + ENDINGS[contrast])
    if metric is None:
        raise TypeError(f"no comparison of {rate}")
    name = metric_along(rate, contrast)
    metric = replace(metric, name=name, components=(name,) * len(estimates))
    settings = replace(settings, method="score", simultaneous="bonferroni")
    compared = compare_estimates(
        metric, tables[0], estimates, settings, reference, everybody=everybody
    )
    n_pairs = len(compared.comparisons) // len(chosen)
    comparisons = []
    for place, comparison in enumerate(compared.comparisons):
        at_point = estimates[place // n_pairs]
        group_limits = _own_interval(at_point, comparison.group, settings.confidence_level)
        if everybody:
            of_reference = everybody[place // n_pairs].own_interval
        else:
            of_reference = _own_interval(at_point, comparison.reference, settings.confidence_level)
        comparisons.append(
            at_cutoff(
                comparison,
                chosen[place // n_pairs],
                value_interval=group_limits,
                value_reference_interval=of_reference,
            )
        )
    result_class = CurveRatioResult if ratio else CurveDifferenceResult
    return result_class(
        metric=name,
        comparisons=tuple(comparisons),
        settings=compared.settings,
        counts=_moments_of_scores(rows),  # type: ignore[arg-type]
        words=title_along(rate, contrast),
        column="score",
        rate=rate,
    )


def metric_along(rate: str, contrast: str) -> str:
    """Name of the comparison of a rate along cut-offs."""
    return f"{rate}_{contrast}_by_cutoff"


def title_along(rate: str, contrast: str) -> str:
    """Its title."""
    title = RATES[rate].title
    return f"{title[:1].upper()}{title[1:]}: {contrast} between groups along cut-offs"


def _own_interval(estimates: RateEstimates, group: str, level: float) -> Interval:
    """Wilson's interval of a group's own rate, from its effective cases."""
    place = estimates.groups.index(group)
    rate = float(estimates.rate[place])
    variance = float(estimates.variance[place])
    cases = float(estimates.cases[place])
    z = z_of_level(level)
    if estimates.weighted and estimates.units is not None:
        units = float(estimates.units[place])
        # a rate of 0 or 1 shows no variance: then the units count
        if variance > 0 and 0 < rate < 1:
            cases = min(rate * (1 - rate) / variance, units)
        else:
            cases = units
        z = float(as_student(z, max(units - 1, 1.0)))
    if not cases > 0:
        return Interval(low=math.nan, high=math.nan, confidence_level=level, method="Wilson")
    low, high = wilson_limits(np.array([rate]), np.array([cases]), z)
    return Interval(low=float(low[0]), high=float(high[0]), confidence_level=level, method="Wilson")


def wilson_limits(rates: Floats, cases: Floats, z: float) -> tuple[Floats, Floats]:
    """Wilson's limits of rates among so many cases each, at Φ(z)."""
    squared = z * z
    centre = (rates * cases + squared / 2) / (cases + squared)
    reach = z * np.sqrt(cases * rates * (1 - rates) + squared / 4) / (cases + squared)
    return np.maximum(centre - reach, 0.0), np.minimum(centre + reach, 1.0)


def _moments_of_scores(rows: CutRows) -> MomentCounts:
    """Moments of the scores, which the result carries."""
    if rows.counts is None:
        return MomentCounts._from_outcomes(rows.required_outcomes(), {"score": rows.score})
    both = rows.counts.counts.sum(axis=1)
    return MomentCounts._from_counted(
        rows.counts.groups, "score", rows.counts.values, both, rows.counts.missing
    )
