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
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from fairstats.ground.checks import Floats
from fairstats.ground.counts import CellCounts
from fairstats.ground.errors import InputError
from fairstats.ground.registry import RATES, Metric, Rate
from fairstats.ground.results import Interval
from fairstats.methods.rates.decision import ExactPair
from fairstats.methods.rates.estimates import RateEstimates, estimate_rate, joint_covariance
from fairstats.methods.rates.limits import ScaleOfAll
from fairstats.methods.rates.own_values import own_intervals
from fairstats.methods.rates.result import RateComparison
from fairstats.numerics.rates.exact import ExactRow, RowAsked
from fairstats.numerics.rates.score import Contrast

#: What everybody is called as a reference.
OVERALL = "all"


def check_overall(metric: Metric) -> None:
    """Raise where a metric has no comparison with everybody."""
    if has_overall(metric):
        return
    raise InputError(
        "comparisons",
        got=f"'overall' for {metric.name}",
        allowed="'overall' for ratios and differences of rates, and differences of their means",
        cure="comparisons='rest': each group against all others",
    )


def has_overall(metric: Metric) -> bool:
    """Whether a metric has a comparison with everybody."""
    rates = [RATES[name] for name in metric.rates if name in RATES]
    is_function = len(rates) < len(metric.rates) or any(rate.interval == "delta" for rate in rates)
    if is_function:
        return False
    if metric.contrast == "ratio":
        return not any(rate.parts for rate in rates)
    return metric.contrast == "difference"


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
class ExactPairOfAll(ExactPair):
    """Exact tests of a group and everybody, from those of the group and all others.

    `share`: of the group in all cases.
    """

    share: float

    def _nulls_of_others(self, contrast: Contrast, nulls: tuple[float, ...]) -> tuple[float, ...]:
        scale = ScaleOfAll(contrast, self.share)
        return tuple(scale.null_of_others(null) for null in nulls)

    def width(self, contrast: Contrast, fair: tuple[float, float]) -> float:
        """Standard errors in the fair range, by the score."""
        low, high = self._nulls_of_others(contrast, fair)
        return super().width(contrast, (low, high))

    def pvalue(self, contrast: Contrast, null: float, alternative: str) -> float:
        """Of H0: contrast ≥ null ("less") or ≤ null ("greater")."""
        (null_of_others,) = self._nulls_of_others(contrast, (null,))
        return super().pvalue(contrast, null_of_others, alternative)

    def row(
        self,
        contrast: Contrast,
        fair: tuple[float, float],
        bound_level: float,
        confidence_level: float,
    ) -> ExactRow:
        """p-values of single directions, one-sided limits, and the two-sided interval."""
        of_others = super().row(contrast, fair, bound_level, confidence_level)
        scale = ScaleOfAll(contrast, self.share)
        return ExactRow(
            evidence=of_others.evidence,
            bounds=scale.ends(of_others.bounds),
            interval=scale.ends(of_others.interval),
        )

    def asked_of_row(
        self,
        contrast: Contrast,
        fair: tuple[float, float],
        bound_level: float,
        confidence_level: float,
    ) -> RowAsked:
        """What `row` asks of the group and all others."""
        low, high = self._nulls_of_others(contrast, fair)
        return super().asked_of_row(contrast, (low, high), bound_level, confidence_level)

    def limits(
        self,
        contrast: Contrast,
        level: float,
        anchors: tuple[float, ...],
    ) -> tuple[float, float]:
        """One-sided limits, each at this level."""
        of_others = super().limits(contrast, level, self._nulls_of_others(contrast, anchors))
        return ScaleOfAll(contrast, self.share).ends(of_others)
