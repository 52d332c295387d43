"""Two groups within strata as the stratified score reads them: counts, or what they are worth.

Of independent rows of one weight within every group of a stratum these are the counts themselves;
of others effective ones (`numerics/rates/stratum_design.py`), with Student's t and, where clusters
have rows of both groups, the standard error that knows what the groups share.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairstats.ground.checks import Floats
from fairstats.ground.multiplicity import normal_quantile
from fairstats.ground.outcomes import even_weights
from fairstats.ground.registry import Rate
from fairstats.ground.strata import StratumCounts, StratumDesign
from fairstats.ground.verdict import effective
from fairstats.methods.rates.limits import SharedUnits
from fairstats.methods.rates.pair import names_with_design
from fairstats.methods.rates.setup import POOLED
from fairstats.numerics.rates import strata
from fairstats.numerics.rates.score import Contrast
from fairstats.numerics.rates.strata import Strata
from fairstats.numerics.rates.stratum_design import (
    GROUP,
    REFERENCE,
    ROUNDING,
    UnitSums,
    effective_strata,
    share_in_all,
)

#: Name of the procedure.
SCORE = "stratified score"
#: Degrees of freedom that both groups need within strata.
LEAST_DF = 2.0


@dataclass(frozen=True, eq=False)
class PairTables:
    """A group and its reference in all strata, for each rate that their comparison is of.

    `counts`: successes and cases in rows; `tables`: these, or effective ones; `cases`: of the group
    and of the reference in the strata
    that both share, summed over the rates; `units`: where rows have weights or clusters; `degrees`:
    of freedom, infinite without; `errors`: of the group and the reference in all rates, Σ over
    sampling units of products, shape (P, 2, H, P, 2, H); `unit_factor`: n/(n − 1) of all units.
    """

    contrast: Contrast
    rates: tuple[Rate, ...]
    counts: tuple[Strata, ...]
    tables: tuple[Strata, ...]
    cases: tuple[int, int]
    units: tuple[UnitSums, ...] = ()
    degrees: float = math.inf
    errors: Floats | None = None
    unit_factor: float = 1.0

    @property
    def method(self) -> str:
        """Name of the procedure."""
        plain, _, by_rows, by_clusters = names_with_design(SCORE)
        if not self.units:
            return plain
        return by_clusters if self.units[0].clustered else by_rows

    @property
    def spread(self) -> bool:
        """Whether clusters lie in several strata: these then depend on each other."""
        return any(units.spread for units in self.units)

    def lacking(self, group: str, reference: str) -> str:
        """Why there is no verdict on weighted or clustered rows; empty where there is one."""
        if not self.units or self.degrees >= LEAST_DF - 1e-9:
            return ""
        kind = "clusters" if self.units[0].clustered else "rows"
        beyond = effective(max(self.degrees, 0.0), kind)
        return (
            f"{group} against {reference}: {beyond} beyond those that the rates of the strata take,"
            f" too few for an interval."
        )

    def estimate(self) -> float:
        """Of Mantel and Haenszel, over all rates."""
        of_rates = []
        for tables in self.tables:
            of_rates.append(float(strata.mantel_haenszel(tables, self.contrast)))
        return float(np.mean(of_rates))

    def std_error(self) -> float:
        """Of the estimate: by the score's variance at it, or linearised over sampling units."""
        if self.units:
            return self._linearised_error()
        of_rates = []
        for tables in self.tables:
            of_rates.append(float(strata.standard_error(tables, self.contrast)))
        return math.hypot(*of_rates) / len(of_rates)

    def _linearised_error(self) -> float:
        """√ of Σ_u e_u² over the slope of the estimating function, of all rates together."""
        estimate = self.estimate()
        usable = math.isfinite(estimate) and (self.contrast == "difference" or estimate > 0)
        if not usable:
            return math.nan
        slopes = []
        for units in self.units:
            of_stratum = units.weight
            if self.contrast == "ratio":
                of_stratum = of_stratum * units.as_rows().rate_of_reference
            elif self.contrast == "odds_ratio":
                of_stratum = of_stratum * units.rate[REFERENCE] * (1 - units.rate[GROUP])
            slopes.append(units.slopes(self.contrast, estimate) / of_stratum.sum())
        variance = self._variance(slopes) * self.unit_factor
        return math.sqrt(max(variance, 0.0))

    def _variance(self, slopes: Sequence[Floats]) -> float:
        """Σ_u of the squared mean over the rates of slope times error, the reference's taken
        away.
        """
        direction = (np.stack(slopes) * np.array([[1.0], [-1.0]])).ravel()
        errors = np.asarray(self.errors).reshape(direction.size, direction.size)
        return float(direction @ errors @ direction) / len(slopes) ** 2

    @functools.cached_property
    def _shared_of_differences(self) -> SharedUnits | None:
        """What both groups share, of the sums that ratios and differences are made of."""
        slopes = []
        variances = np.zeros(2)
        for units in self.units:
            of_rate = units.slopes("difference", 1.0) / units.weight.sum()
            slopes.append(of_rate)
            variances += np.diag(units.variance(of_rate)) / len(self.units) ** 2
        together = self._variance(slopes)
        return _shared(variances, (float(variances.sum()) - together) / 2)

    def scale(self, null: float) -> float:
        """What the statistic of independent groups is multiplied by at a null value."""
        if not self.units or not self.units[0].clustered:
            return 1.0
        units = self.units[0]
        if self.contrast == "odds_ratio" or (self.contrast == "ratio" and units.of_all):
            of_groups = units.variance(units.slopes(self.contrast, null))
            shared = _shared(np.diag(of_groups), float(of_groups[0, 1]))
            return 1.0 if shared is None else shared.scale(1.0)
        shared = self._shared_of_differences
        if shared is None:
            return 1.0
        return shared.scale(null if self.contrast == "ratio" else 1.0)

    def of_stratum(self, place: int, stratum: int, level: float) -> dict[str, Any]:
        """What a table says of one rate in one stratum; `level`: of each of its limits."""
        table = self.counts[place].at([stratum])
        n_group = int(table.n1[0])
        n_reference = int(table.n0[0])
        rate = float(table.k1[0]) / n_group if n_group else math.nan
        reference_rate = float(table.k0[0]) / n_reference if n_reference else math.nan
        df = math.inf
        alone = table
        if self.units:
            units = self.units[place].at(stratum)
            worth = effective_strata(units, self.contrast)
            alone = worth.tables
            df = float(np.nan_to_num(worth.degrees_of_freedom).min())
            rate = float(units.rate[GROUP, 0]) if n_group else math.nan
            reference_rate = float(units.rate[REFERENCE, 0]) if n_reference else math.nan
        limits = [math.nan, math.nan]
        if df > 0:
            critical = normal_quantile(level, df)
            for place_of_end, side in enumerate((-1, 1)):
                end = strata.score_limit(alone, critical, self.contrast, side=side)
                limits[place_of_end] = float(end)
        estimate = math.nan
        if n_group and n_reference:
            estimate = float(strata.mantel_haenszel(alone, self.contrast))
        return {
            "successes": int(table.k1[0]),
            "n": n_group,
            "rate": rate,
            "successes_reference": int(table.k0[0]),
            "n_reference": n_reference,
            "rate_reference": reference_rate,
            "estimate": estimate,
            "ci_low": limits[0],
            "ci_high": limits[1],
            "informative": bool(table.informative[0]),
        }


def _shared(variances: Floats, covariance: float) -> SharedUnits | None:
    """None where groups share nothing, and where they show no variance."""
    apart = float(variances.sum())
    if not apart > 0 or not abs(covariance) > ROUNDING * apart:
        return None
    return SharedUnits(
        variance=float(variances[GROUP]),
        variance_reference=float(variances[REFERENCE]),
        covariance=covariance,
    )


def pair_tables(
    counts: StratumCounts,
    rates: Sequence[Rate],
    contrast: Contrast,
    group: str,
    reference: str,
    comparisons: str = "reference",
) -> PairTables:
    """Both groups in all strata, by counts or by what they are worth.

    `comparisons`: "rest" or "overall" where the reference is all other groups, or all rows.
    """
    of_pair = pair_counts(counts, group, reference, comparisons)
    of_all = comparisons == "overall"
    tables = []
    cases = [0, 0]
    for rate in rates:
        table = count_table(of_pair, rate, of_all=of_all)
        tables.append(table)
        cases[GROUP] += int(table.n1[table.shared].sum())
        cases[REFERENCE] += int(table.n0[table.shared].sum())
        if of_all:
            cases[REFERENCE] += int(table.n1[table.shared].sum())
    design = of_pair.design
    if design is None:
        return PairTables(
            contrast=contrast,
            rates=tuple(rates),
            counts=tuple(tables),
            tables=tuple(tables),
            cases=(cases[GROUP], cases[REFERENCE]),
        )
    units = tuple(_unit_sums(of_pair, design, rate, of_all=of_all) for rate in rates)
    worth = [effective_strata(units_of_rate, contrast) for units_of_rate in units]
    degrees = math.inf
    for of_rate in worth:
        degrees = min(degrees, *np.nan_to_num(of_rate.degrees_of_freedom).tolist())
    return PairTables(
        contrast=contrast,
        rates=tuple(rates),
        counts=tuple(tables),
        tables=tuple(of_rate.tables for of_rate in worth),
        cases=(cases[GROUP], cases[REFERENCE]),
        units=units,
        degrees=degrees,
        errors=_joint_errors(of_pair, design, rates, units),
        unit_factor=design.n_units / max(design.n_units - 1, 1),
    )


def pair_counts(
    counts: StratumCounts, group: str, reference: str, comparisons: str
) -> StratumCounts:
    """The counts of a group and of what it is compared with, all others pooled or one of them."""
    others = None
    if comparisons in POOLED:
        others = [name for name in counts.groups if name != group]
    return counts._pair(group, reference, others)


def count_table(of_pair: StratumCounts, rate: Rate, *, of_all: bool = False) -> Strata:
    """Successes and cases of two groups, stratum by stratum, in rows."""
    successes = of_pair.total(*rate.successes)
    cases = of_pair.total(*rate.cases)
    table = Strata.of(successes[:, 0], cases[:, 0], successes[:, 1], cases[:, 1])
    if not of_all:
        return table
    share = share_in_all(cases.T)
    if of_pair.design is None:
        return replace(table, share=share)
    return table


def _unit_sums(
    of_pair: StratumCounts, design: StratumDesign, rate: Rate, *, of_all: bool
) -> UnitSums:
    """Of a table of two groups."""
    is_case = np.array([cell_name in rate.cases for cell_name in of_pair.cells])
    is_success = np.array([cell_name in rate.successes for cell_name in of_pair.cells])
    size = design.totals[..., is_case].sum(axis=2)
    squares = design.squares[..., is_case].sum(axis=2)
    rows = of_pair.rows[..., is_case].sum(axis=2)
    with np.errstate(divide="ignore", invalid="ignore"):
        rate_of_cell = np.where(size > 0, design.totals[..., is_success].sum(axis=2) / size, 0.0)
        worth = np.where(size > 0, size**2 / squares, 0.0)
    even = np.where(rows > 0, even_weights(rows, size, squares), True)
    worth = np.where(even, rows, worth)
    of_cases = np.where(size[..., None] > 0, is_case / _or_one(size)[..., None], 0.0)
    errors = products_of_units(design, _residuals(is_case, is_success, rate_of_cell, size))
    n_strata = size.shape[0]
    shares = products_of_units(design, of_cases)
    both = np.arange(2)
    return UnitSums(
        rows=rows.T,
        size=size.T,
        rate=rate_of_cell.T,
        worth=worth.T,
        errors=errors.reshape(2, n_strata, 2, n_strata),
        shares=shares.reshape(2, n_strata, 2, n_strata)[both, :, both],
        even=np.asarray(even.all(axis=0) & (not design.clustered)),
        clustered=design.clustered,
        of_all=of_all,
    )


def _or_one(size: Floats) -> Floats:
    return np.asarray(np.where(size > 0, size, 1.0))


def _residuals(is_case: Floats, is_success: Floats, rate: Floats, size: Floats) -> Floats:
    """What a unit's total in each cell adds to its error, shape (H, 2, c)."""
    of_cell = is_case * (is_success - rate[..., None]) / _or_one(size)[..., None]
    return np.asarray(np.where(size[..., None] > 0, of_cell, 0.0))


def products_of_units(
    design: StratumDesign, factors: Floats, other_factors: Floats | None = None
) -> Floats:
    """Σ over units of products of their totals times factors of the cells, summed over cells.

    Shape (2·H, 2·H), the strata of a group next to each other; `other_factors`: of the second.
    """
    if other_factors is None:
        other_factors = factors
    n_strata, n_groups, n_cells = design.totals.shape
    first, second = design.places.T
    stratum, group = np.divmod(np.arange(n_strata * n_groups * n_cells) // n_cells, n_groups)
    row = group * n_strata + stratum
    size = n_groups * n_strata
    left = factors.ravel()
    right = other_factors.ravel()
    above = design.products * left[first] * right[second]
    below = design.products * left[second] * right[first]
    below = np.where(first == second, 0.0, below)
    sums = np.bincount(row[first] * size + row[second], above, size * size)
    sums = sums + np.bincount(row[second] * size + row[first], below, size * size)
    return np.asarray(sums.reshape(size, size))


def _joint_errors(
    of_pair: StratumCounts,
    design: StratumDesign,
    rates: Sequence[Rate],
    units: Sequence[UnitSums],
) -> Floats:
    """Errors of all rates together, shape (P, 2, H, P, 2, H)."""
    if len(rates) == 1:
        return units[0].errors
    residuals = []
    for rate, of_rate in zip(rates, units, strict=True):
        is_case = np.array([float(cell_name in rate.cases) for cell_name in of_pair.cells])
        is_success = np.array([float(cell_name in rate.successes) for cell_name in of_pair.cells])
        residuals.append(_residuals(is_case, is_success, of_rate.rate.T, of_rate.size.T))
    size = 2 * len(of_pair.strata)
    joint = np.zeros((len(rates), size, len(rates), size))
    for place, own in enumerate(residuals):
        for other_place, other in enumerate(residuals):
            joint[place, :, other_place] = products_of_units(design, own, other)
    return joint
