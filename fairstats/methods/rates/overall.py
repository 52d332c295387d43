"""Each group against everybody, its own rows among them.

With f the group's share of the cases, held fixed, and r̄ the rate of all other rows, the rate of all
is r_all = f·r + (1 − f)·r̄. So

    r − r_all = (1 − f)(r − r̄),        r/r_all = ρ/(fρ + 1 − f) with ρ = r/r̄,

and every question about the group and all rows, which depend on each other, is one about the group
and all others, which do not: tests, limits and verdicts are those, at the null values and on the
scale that these lines say. All others count as one sample. Where their rates differ and their
shares are fixed, their successes vary less than that (Hoeffding 1956), so that limits are
conservative; the standard error knows their shares:

    Var(r − r_all) = (1 − f)²·v + Σ_h f_h²·v_h   over the other groups h.

An odds ratio θ against all rows is no function of that against all others, ψ, alone
(`numerics/rates/odds_of_all.py`): its score has the most likely rates with that θ. Where exact tests
decide, they are those of the ψ that these rates have.

A function of the cells has the value of all rows' cells, a ratio of means that of their rates. With
t the cells of the group, u those of all others and their sizes n and m held fixed, the cells of
everybody are n·t/Σt + m·u/Σu, and the delta method gives both values with their covariance; the
limits are about half a row and a whole one more in every cell of both, as without everybody.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairstats.ground.checks import Floats
from fairstats.ground.counts import CellCounts
from fairstats.ground.registry import Rate
from fairstats.ground.results import Interval
from fairstats.methods.rates.decision import ExactPair
from fairstats.methods.rates.estimates import (
    RateEstimates,
    estimate_rate,
    joint_covariance,
    rate_in,
    rows_added,
    values_by_delta,
    values_of_cells,
    with_added_rows,
    with_usable_cases,
)
from fairstats.methods.rates.limits import OddsOfAll, ScaleOfAll
from fairstats.methods.rates.own_values import own_intervals
from fairstats.methods.rates.result import RateComparison
from fairstats.methods.rates.setup import beside_all, beside_rest
from fairstats.numerics.rates.exact import ExactRow, RowAsked
from fairstats.numerics.rates.odds_of_all import (
    odds_against_all,
    odds_of_others,
    odds_ratio_of_all,
)
from fairstats.numerics.rates.score import Contrast

#: What everybody is called as a reference.
OVERALL = "all"


def is_by_delta(rate: Rate, contrast: str) -> bool:
    """Whether a comparison with everybody is by the delta method: of functions, ratios of means."""
    return rate.interval == "delta" or (contrast == "ratio" and bool(rate.parts))


def estimate_beside_all(
    table: CellCounts, rate: Rate, function: Callable[..., Any] | None = None
) -> RateEstimates:
    """Values of every group, and behind them as often that of everybody, with their covariance.

    `rate`: a function of the cells, or a mean of rates; `function`: of the user.
    """
    rate = rate_in(table, rate)
    value = function or _function_of(table, rate)
    estimates = _beside_all(table, rate, value, added_rows=0.0)
    if not table.weighted:
        added = []
        for added_rows in rows_added(table.cells):
            added.append(_beside_all(table, rate, value, added_rows=added_rows))
        estimates = replace(estimates, add_rows=lambda: tuple(added))
    if rate.parts:
        return estimates
    return with_usable_cases(estimates)


def _function_of(table: CellCounts, rate: Rate) -> Callable[..., Any]:
    """A function of the cells, or the mean of rates as one."""
    if not rate.parts:
        return rate.function_of(table.cells)
    parts = []
    for part in rate.parts:
        successes = [table.cells.index(cell) for cell in part.successes]
        cases = [table.cells.index(cell) for cell in part.cases]
        parts.append((successes, cases))

    def mean(*totals: Any) -> Any:
        value: Any = 0.0
        for successes, cases in parts:
            value = value + sum(totals[cell] for cell in successes) / sum(
                totals[cell] for cell in cases
            )
        return value / len(parts)

    return mean


def _beside_all(
    table: CellCounts, rate: Rate, value: Callable[..., Any], *, added_rows: float
) -> RateEstimates:
    """The same with so many rows more in every cell of each group, and of all others."""
    n_groups = len(table.groups)
    enlarged = with_added_rows(beside_rest(table), added_rows)
    sizes = enlarged.totals.sum(axis=1)

    def values(totals: Floats) -> Floats:
        cells = totals.reshape(enlarged.totals.shape)
        rows = cells.sum(axis=1)
        held = np.where(rows > 0, sizes / np.where(rows > 0, rows, 1.0), 0.0)
        parts_of_all = cells * held[:, None]
        everybody = parts_of_all[:n_groups] + parts_of_all[n_groups:]
        return values_of_cells(value, np.vstack([cells[:n_groups], everybody]))

    at_totals, covariance = values_by_delta(values, enlarged)
    together = beside_all(table, OVERALL)
    parts = tuple(estimate_rate(together, part) for part in rate.parts)
    cases = together.totals.sum(axis=1)
    rows = together.group_sizes
    if parts:
        cases = np.min([part.cases for part in parts], axis=0)
        rows = np.sum([part.rows for part in parts], axis=0)
    return RateEstimates.of(
        together,
        rate,
        successes=np.full(2 * n_groups, np.nan),
        cases=cases,
        rows=rows,
        rate=at_totals,
        joint=covariance,
        parts=parts,
        smooth=not parts,
    )


@dataclass(frozen=True, eq=False)
class EverybodyByDelta:
    """A function of the cells, or a mean of rates, of all rows, beside that of every group.

    `estimates`: of the groups, and of everybody behind them; `own_interval`: of the value of all,
    as of one group.
    """

    estimates: RateEstimates
    own_interval: Interval

    @classmethod
    def of(
        cls,
        table: CellCounts,
        estimates: RateEstimates,
        estimate: Callable[[CellCounts], RateEstimates],
        level: float,
    ) -> EverybodyByDelta:
        """With `estimate` as it is of any table."""
        together = table._with_new_groups((OVERALL,), [0] * len(table.groups))
        (own_interval,) = own_intervals(estimate(together), level)
        return cls(estimates=estimates, own_interval=own_interval)

    def shares_of(self, group: int) -> tuple[float, ...]:
        """None: the cells of everybody hold the group's own."""
        return ()

    def beside(self, comparison: RateComparison, group: int, contrast: Contrast) -> RateComparison:
        """The comparison with everybody, with its estimate and standard error."""
        everybody = len(self.estimates.groups) // 2 + group
        estimate, std_error = self.estimates.contrast(group, everybody, contrast=contrast)
        return replace(
            comparison,
            value_reference_interval=self.own_interval,
            estimate=estimate,
            std_error=std_error,
        )


@dataclass(frozen=True, eq=False)
class Everybody:
    """A rate of all rows together, beside that of every group.

    `proportions`: the rate, or those that it is the mean of, in every group; `shares`, shape
    (P, G): of the groups in their cases, by weights; `covariance`, shape (P·G,) or (P·G, P·G): of
    the groups' proportions; `own_interval`: of the rate of all, as of one group.
    """

    proportions: tuple[RateEstimates, ...]
    shares: Floats
    covariance: Floats
    own_interval: Interval

    @classmethod
    def of(cls, table: CellCounts, rate: Rate, level: float) -> Everybody:
        """Of a table of the groups, with the weights that they have."""
        estimates = estimate_rate(table, rate)
        proportions = estimates.parts or (estimates,)
        cases = np.stack([proportion.cases for proportion in proportions])
        if table.scatter is None:
            covariance = np.concatenate([proportion.variance for proportion in proportions])
        else:
            covariance = joint_covariance(table, [proportion.rate_of for proportion in proportions])
        with np.errstate(invalid="ignore"):
            shares = cases / cases.sum(axis=1, keepdims=True)
        together = table._with_new_groups((OVERALL,), [0] * len(table.groups))
        (own_interval,) = own_intervals(estimate_rate(together, rate), level)
        return cls(proportions, shares, covariance, own_interval)

    def shares_of(self, group: int) -> tuple[float, ...]:
        """The share of a group in the cases of each proportion."""
        return tuple(self.shares[:, group].tolist())

    def beside(self, comparison: RateComparison, group: int, contrast: Contrast) -> RateComparison:
        """The comparison of a group with all others, as one with everybody.

        Rates, sizes, estimate and standard error.
        """
        n_parts = len(self.proportions)
        rate_of_all = 0.0
        for proportion, shares in zip(self.proportions, self.shares, strict=True):
            has_cases = shares > 0
            rate_of_all += float(shares[has_cases] @ proportion.rate[has_cases]) / n_parts
        rate = comparison.rate
        slope_of_group = 1.0
        slope_of_all = -1.0
        estimate = rate - rate_of_all
        if contrast == "ratio":
            slope_of_group = 1 / rate_of_all if rate_of_all > 0 else math.nan
            slope_of_all = -rate * slope_of_group**2
            estimate = rate * slope_of_group
        elif contrast == "odds_ratio":
            estimate = odds_ratio_of_all(rate, rate_of_all)
            spread = rate * (1 - rate)
            spread_of_all = rate_of_all * (1 - rate_of_all)
            has_slopes = spread > 0 and spread_of_all > 0
            slope_of_group = estimate / spread if has_slopes else math.nan
            slope_of_all = -estimate / spread_of_all if has_slopes else math.nan
        gradient = slope_of_all * self.shares
        gradient[:, group] += slope_of_group
        slopes = gradient.ravel() / n_parts
        variances = self.covariance
        if variances.ndim == 2:
            variances = np.diag(variances)
        has_variance = np.isfinite(variances)
        if self.covariance.ndim == 1:
            variance = float(slopes[has_variance] ** 2 @ variances[has_variance])
        else:
            covariance = self.covariance[np.ix_(has_variance, has_variance)]
            variance = float(slopes[has_variance] @ covariance @ slopes[has_variance])
        rows = sum(int(proportion.rows.sum()) for proportion in self.proportions)
        return replace(
            comparison,
            reference=OVERALL,
            rate_reference=rate_of_all,
            value_reference_interval=self.own_interval,
            n_reference=rows,
            estimate=estimate,
            std_error=math.sqrt(max(variance, 0.0)),
        )


@dataclass(frozen=True)
class _ExactBesideAll(ExactPair):
    """Exact tests of a group and everybody, from those of the group and all others.

    `share`: of the group in all cases. Every null value goes to the scale of all others, every limit
    comes back from it.
    """

    share: float

    def _null_of_others(self, contrast: Contrast, null: float) -> float:
        """The contrast with all others where that with everybody is `null`."""
        raise NotImplementedError

    def _ends(self, contrast: Contrast, of_others: tuple[float, float]) -> tuple[float, float]:
        """Limits of the contrast with everybody from those of the one with all others."""
        raise NotImplementedError

    def pvalue(self, contrast: Contrast, null: float, alternative: str) -> float:
        """Of H0: contrast ≥ null ("less") or ≤ null ("greater")."""
        return super().pvalue(contrast, self._null_of_others(contrast, null), alternative)

    def row(
        self,
        contrast: Contrast,
        fair: tuple[float, float],
        bound_level: float,
        confidence_level: float,
    ) -> ExactRow:
        """p-values of single directions, one-sided limits, and the two-sided interval."""
        of_others = super().row(contrast, fair, bound_level, confidence_level)
        return ExactRow(
            evidence=of_others.evidence,
            bounds=self._ends(contrast, of_others.bounds),
            interval=self._ends(contrast, of_others.interval),
        )

    def asked_of_row(
        self,
        contrast: Contrast,
        fair: tuple[float, float],
        bound_level: float,
        confidence_level: float,
    ) -> RowAsked:
        """What `row` asks of the group and all others."""
        low = self._null_of_others(contrast, fair[0])
        high = self._null_of_others(contrast, fair[1])
        return super().asked_of_row(contrast, (low, high), bound_level, confidence_level)

    def limits(
        self,
        contrast: Contrast,
        level: float,
        anchors: tuple[float, ...],
    ) -> tuple[float, float]:
        """One-sided limits, each at this level."""
        of_others = tuple(self._null_of_others(contrast, anchor) for anchor in anchors)
        return self._ends(contrast, super().limits(contrast, level, of_others))

    def interval(self, contrast: Contrast, level: float) -> tuple[float, float]:
        """Two-sided interval."""
        return self._ends(contrast, super().interval(contrast, level))


@dataclass(frozen=True)
class ExactPairOfAll(_ExactBesideAll):
    """Of ratio and difference, which are those with all others on another scale."""

    def width(self, contrast: Contrast, fair: tuple[float, float]) -> float:
        """Standard errors in the fair range, by the score."""
        low = self._null_of_others(contrast, fair[0])
        high = self._null_of_others(contrast, fair[1])
        return super().width(contrast, (low, high))

    def _null_of_others(self, contrast: Contrast, null: float) -> float:
        return ScaleOfAll(contrast, self.share).null_of_others(null)

    def _ends(self, contrast: Contrast, of_others: tuple[float, float]) -> tuple[float, float]:
        return ScaleOfAll(contrast, self.share).ends(of_others)


@dataclass(frozen=True)
class ExactOddsOfAll(_ExactBesideAll):
    """Of odds, which are those of all others at the most likely rates.

    `score`: of the odds ratio against everybody.
    """

    score: OddsOfAll

    def width(self, contrast: Contrast, fair: tuple[float, float]) -> float:
        """Standard errors in the fair range, by the score."""
        low, high = fair
        return self.score.statistic(low) - self.score.statistic(high)

    def _null_of_others(self, contrast: Contrast, null: float) -> float:
        return odds_of_others(self.table, self.share, null)

    def _ends(self, contrast: Contrast, of_others: tuple[float, float]) -> tuple[float, float]:
        low, high = of_others
        return (
            odds_against_all(self.table, self.share, low),
            odds_against_all(self.table, self.share, high),
        )
