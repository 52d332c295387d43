"""Standardised differences and R² within strata, by draws of the units of every stratum.

Means, variances and mean squared errors are summed over the strata with the weights of Mantel and
Haenszel; the contrast is the smooth function of these sums that it is without strata. Clusters that
have rows in several strata are drawn as a whole, once for all of these.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairstats.ground.checks import Floats, check_given
from fairstats.ground.outcomes import Outcomes
from fairstats.ground.tallies.moments import OUTCOME
from fairstats.ground.tallies.stratum_moments import StratumMoments, cross_with_strata
from fairstats.methods.rates.numbers.bootstrap import LARGEST_LOST, NO_DRAWS, BootstrapContrast
from fairstats.methods.rates.numbers.bootstrap import MIN_UNITS as UNITS_OF_BOOTSTRAP
from fairstats.methods.rates.numbers.compare import MeanValues, interval_of_mean
from fairstats.methods.rates.numbers.smooth import (
    SmoothValues,
    columns_of_rows,
    scale_of,
    tables_of_units,
)
from fairstats.methods.rates.numbers.strata_limits import (
    CellValues,
    PairOfLimits,
    pair_of_cells,
)
from fairstats.methods.rates.numbers.strata_pairs import (
    PairNames,
    between_strata,
    rows_by_side,
)
from fairstats.methods.rates.result import Inference
from fairstats.numerics.means.hall import Moments
from fairstats.numerics.means.resampling import Draws
from fairstats.numerics.means.smooth import (
    DeterminationDifference,
    GroupTotals,
    OverStrata,
    SmoothContrast,
    StandardisedDifference,
    UnitTable,
    draw_totals,
    draws_of_contrast,
    sample_totals,
    strata_kept_unbiased,
)
from fairstats.numerics.means.strata import (
    Homogeneity,
    adjusted_mean,
    homogeneity_of_estimates,
)

#: Units that a stratum needs of both groups; a test that one difference holds in all of them.
UNITS_OF_STRATUM = 5
UNITS_OF_HOMOGENEITY = 20


@dataclass(frozen=True, eq=False)
class DrawnCells(CellValues):
    """Totals of every crossing of stratum and group, and those of its resamples.

    `units`: of every crossing, and `sample` and `resamples` by these; or where clusters lie in
    several strata of every side, with columns of all strata; `effective_units`: of every crossing;
    `moments_of_all`: moments of all rows as one group, where such groups are compared with them.
    """

    units: tuple[UnitTable, ...] = ()
    effective_units: Floats | None = None
    sample: GroupTotals | None = None
    resamples: GroupTotals | None = None
    is_determination: bool = False
    across: bool = False
    moments_of_all: StratumMoments | None = None

    def pair(self, moments: StratumMoments, pair: PairNames) -> PairOfDraws:
        """A group and its reference within strata."""
        parts = pair_of_cells(self, moments, pair)
        if not pair.of_all:
            return PairOfDraws(**parts, drawn=self, moments=moments)
        weights = [moments._of_group(moments.cells.weights[0], place) for place in pair.places]
        used = parts["used"]
        parts["shares"] = weights[0][used] / max(weights[0][used].sum(), 1e-300)
        return PairOfDraws(**parts, drawn=self, moments=moments, weights=tuple(weights))


@dataclass(frozen=True, eq=False)
class PairOfDraws(PairOfLimits):
    """Two groups within strata by draws, as `GroupValues`.

    `weights`: where the second are all others, and the group is compared with everybody, those of
    both in all strata: means and variances are summed by the group's.
    """

    drawn: DrawnCells = None  # type: ignore[assignment]
    moments: StratumMoments = None  # type: ignore[assignment]
    weights: tuple[Floats, ...] = ()

    @property
    def of_all(self) -> bool:
        """Whether the group is compared with everybody."""
        return bool(self.weights)

    def members(self, position: int) -> list[list[int]]:
        """Crossings of one of both in every stratum that is used, all of everybody's."""
        positions = (0, 1) if self.of_all and position == 1 else (position,)
        columns = [self.places[each][self.used].tolist() for each in positions]
        return [list(crossings) for crossings in zip(*columns, strict=True)]

    def mean(self, position: int) -> Moments:
        """Moments of the adjusted mean."""
        if self.drawn.across:
            return self._mean_across(position)
        cells = self.moments.cells
        joined = []
        for place, crossings in enumerate(self.members(position)):
            joined.extend([place] * len(crossings))
        chosen = [crossing for crossings in self.members(position) for crossing in crossings]
        merged = cells._take_groups(chosen)._with_new_groups(
            tuple(self.strata[place] for place in np.flatnonzero(self.used)), joined
        )
        parts = Moments(
            mean=merged.means(OUTCOME),
            variance=merged.variance_of_mean(OUTCOME),
            third=merged.third_cumulant_of_mean(OUTCOME),
            size=merged.effective_units,
        )
        return adjusted_mean(parts, self.shares)

    def _mean_across(self, position: int) -> Moments:
        """The same of clusters that lie in several strata."""
        within = self.moments
        column = self.columns[position]
        if self.of_all and position == 1:
            within = check_given("moments_of_all", self.drawn.moments_of_all)
            column = 0
        cells = within.cells
        parts = Moments(
            mean=within._of_group(cells.means(OUTCOME), column),
            variance=within._of_group(cells.variance_of_mean(OUTCOME), column),
            third=within._of_group(cells.third_cumulant_of_mean(OUTCOME), column),
            size=within._of_group(cells.effective_units, column),
        )
        between = between_strata(within, OUTCOME, column)
        return adjusted_mean(
            parts.take(self.used),
            self.shares,
            None if between is None else between.take(self.used),
        )

    def value(self, position: int) -> float:
        """The adjusted mean, or R²."""
        if not self.used.any():
            return math.nan
        if self.drawn.is_determination:
            return self.own_draws(position).value
        return float(self.mean(position).mean)

    def interval(self, position: int, z: float) -> tuple[float, float]:
        """Of the adjusted mean by Student's t; of R² by its draws."""
        if not self.used.any():
            return math.nan, math.nan
        if not self.drawn.is_determination:
            return interval_of_mean(self.mean(position), z, root=False)
        draws = self.own_draws(position)
        if not draws.variance > 0:
            return math.nan, math.nan
        low, high = self._by_draws(draws).limits(z)
        return min(low, 1.0), min(high, 1.0)

    def why_not(self, position: int, *, ratio: bool) -> str:
        """Too few units in the strata that both share, or numbers that do not vary."""
        name = self.names[position]
        kind = "clusters" if self.rows.clustered else "rows"
        if not self.used.any():
            if position == 1:
                return ""
            return f"{name} and {self.names[1]}: no stratum has {self.cells.needs}."
        sizes = self._sizes(position)
        beyond = min(float((sizes - 1).sum()), self._clusters_of_all_strata(position) - 1)
        if beyond < UNITS_OF_BOOTSTRAP - 1 - 1e-9:
            return (
                f"{name} has {beyond:.3g} {kind} beyond the first of every stratum that it shares"
                f" with {self.names[1 - position]}, and a bootstrap needs {UNITS_OF_BOOTSTRAP - 1}."
            )
        if not self.drawn.is_determination:
            return ""
        draws = self.own_draws(position)
        if not math.isfinite(draws.value) or not draws.variance > 0:
            return f"{name}: outcomes, or errors, do not vary, so R² has no standard error."
        lost = float(np.isnan(draws.values).mean())
        if lost > LARGEST_LOST:
            return f"{name}: R² has no value in {lost:.0%} of resamples."
        return ""

    def contrast(self, group: int, reference: int, *, ratio: bool) -> BootstrapContrast:
        """Of both groups, by draws."""
        kind: SmoothContrast
        if self.drawn.is_determination:
            kind = DeterminationDifference(shares=self._shares(), spreads=self._spreads())
            return self._by_draws(self._draws(kind, (0, 1), jackknife=True))
        kind = StandardisedDifference(shares=self._shares(), spreads=self._spreads())
        return self._by_draws(self._draws(kind, (0, 1), jackknife=False))

    def row_of_stratum(self, place: int, z: float, *, ratio: bool) -> dict[str, Any]:
        """What a table says of one stratum."""
        row = super().row_of_stratum(place, z, ratio=ratio)
        if not self.of_all:
            return row
        alone = np.arange(len(self.strata)) == place
        row["n_reference"] += row["n"]
        if self.used[place]:
            pair = replace(self, used=alone, shares=np.ones(1))
            row["value_reference"] = pair.value(1)
            row["estimate"] = row["value"] - row["value_reference"]
            if not self.drawn.is_determination:
                row["estimate"] = pair.contrast(0, 1, ratio=False).estimate
        return row

    def homogeneity(self, *, ratio: bool) -> Homogeneity | None:
        """Whether one standardised difference holds in all strata; of R² there is no test.

        Nor where clusters lie in several strata, which are not independent.
        """
        if self.drawn.is_determination or self.of_all or self.drawn.across:
            return None
        differences = []
        variances = []
        for place in np.flatnonzero(self.used).tolist():
            pair = [int(self.places[0][place]), int(self.places[1][place])]
            sizes = self._effective_units()[pair]
            if sizes.min() < UNITS_OF_HOMOGENEITY - 1e-9:
                continue
            sides = [[place] for place in pair]
            draws = self._draws_of_cells(StandardisedDifference(), sides, jackknife=False)
            differences.append(draws.value)
            variances.append(draws.variance)
        return homogeneity_of_estimates(np.array(differences), np.array(variances))

    def own_draws(self, position: int) -> Draws:
        """R² of one of both, drawn."""
        kind = DeterminationDifference(
            single=True, shares=self._shares(), spreads=self._spreads(position)
        )
        return self._draws(kind, (position, position), jackknife=True)

    def _effective_units(self) -> Floats:
        return np.asarray(self.drawn.effective_units)

    def _sizes(self, position: int) -> Floats:
        """Units in the strata that are used, of everybody by Kish's formula."""
        units = [self._effective_units()[places[self.used]] for places in self.places]
        if not self.of_all or position == 0:
            return np.asarray(units[position])
        total, others = (weight[self.used] for weight in self.weights)
        squares = total**2 / units[0] + others**2 / units[1]
        return np.asarray((total + others) ** 2 / squares)

    def _clusters_of_all_strata(self, position: int) -> float:
        """Kish's number of clusters over all strata that are used, each once; infinite if in one each."""
        if not self.drawn.across:
            return math.inf
        within = self.moments
        column = self.columns[position]
        if self.of_all and position == 1:
            within = check_given("moments_of_all", self.drawn.moments_of_all)
            column = 0
        between = between_strata(within, OUTCOME, column)
        if between is None:
            return math.inf
        weight = within._of_group(within.cells.weights[0], column)[self.used]
        own = weight / weight.sum()
        return 1 / float(own @ between.take(self.used).weights @ own)

    def _shares(self) -> Floats:
        return np.concatenate([self.shares, self.shares])

    def _spreads(self, position: int | None = None) -> Floats:
        """ω·c of both groups, or of one on either side."""
        positions = (0, 1) if position is None else (position, position)
        factors = [strata_kept_unbiased(self._sizes(each)) for each in positions]
        return self._shares() * np.concatenate(factors)

    def _draws(self, kind: SmoothContrast, positions: tuple[int, int], *, jackknife: bool) -> Draws:
        if self.drawn.across:
            return self._draws_of_sides(kind, positions, jackknife=jackknife)
        sides = []
        for position in positions:
            sides.extend(self.members(position))
        return self._draws_of_cells(kind, sides, jackknife=jackknife)

    def _draws_of_cells(
        self, kind: SmoothContrast, sides: list[list[int]], *, jackknife: bool
    ) -> Draws:
        """A contrast of sides, each of some crossings."""
        chosen = list(dict.fromkeys(place for members in sides for place in members))
        mix = np.zeros((len(sides), len(chosen)))
        for side, members in enumerate(sides):
            for place in members:
                mix[side, chosen.index(place)] = 1.0
        units = [self.drawn.units[place] for place in chosen] if jackknife else None
        return draws_of_contrast(
            kind,
            _of_cells(self.drawn.sample, chosen),
            _of_cells(self.drawn.resamples, chosen),
            mix,
            units,
        )

    def _draws_of_sides(
        self, kind: SmoothContrast, positions: tuple[int, int], *, jackknife: bool
    ) -> Draws:
        """The same of whole clusters, with their rows of all strata."""
        chosen = list(dict.fromkeys(self.columns))
        mix = np.zeros((2, len(chosen)))
        for side, position in enumerate(positions):
            members = (0, 1) if self.of_all and position == 1 else (position,)
            for member in members:
                mix[side, chosen.index(self.columns[member])] = 1.0
        units = [self.drawn.units[column] for column in chosen] if jackknife else None
        return draws_of_contrast(
            OverStrata(kind, self.used),
            _of_cells(self.drawn.sample, chosen),
            _of_cells(self.drawn.resamples, chosen),
            mix,
            units,
        )

    def _by_draws(self, draws: Draws) -> BootstrapContrast:
        return BootstrapContrast(
            group=draws,
            reference=NO_DRAWS,
            logarithms=False,
            studentised=True,
            symmetric=self.drawn.is_determination,
        )


def _of_cells(totals: Any, chosen: list[int]) -> GroupTotals:
    return GroupTotals(totals.totals[..., chosen, :], totals.scatter[..., chosen, :, :])


def drawn_cells(
    outcomes: Outcomes,
    numbers: dict[str, Floats],
    within: StratumMoments,
    crude: SmoothValues,
    settings: Inference,
    n_resamples: int,
    rng: np.random.Generator,
) -> DrawnCells:
    """Totals of every crossing, and of resamples of its units."""
    rows, places = rows_by_side(outcomes, settings.comparisons)
    of_rows = numbers
    if places is not None:
        within = within._beside_rest()
        numbers = {name: column[places] for name, column in numbers.items()}
    _, crossed = cross_with_strata(rows)
    pairs = replace(settings, comparisons="reference")
    tables, _, effective_units = tables_of_units(crossed, numbers, within.cells, pairs)
    shape = (len(within.strata), len(within.groups))
    drawn_from = tables
    moments_of_all = None
    across = within.shared is not None
    if across:
        drawn_from = _tables_of_sides(crossed, numbers, shape)
        if settings.comparisons == "overall":
            moments_of_all = _moments_of_everybody(outcomes, of_rows)
    enough = effective_units >= UNITS_OF_STRATUM - 1e-9
    kind = "clusters" if within.cells.clustered else "rows"
    values = _CrossedValues(crude, within, tuple(tables), scale_of(numbers[OUTCOME]))
    return DrawnCells(
        values=values,
        enough=enough.reshape(shape),
        positive=np.ones(shape, dtype=bool),
        needs=f"{UNITS_OF_STRATUM} {kind} of both",
        spread=None if crude.is_determination else values.deviations().reshape(shape),
        units=tuple(drawn_from),
        effective_units=effective_units,
        sample=sample_totals(drawn_from),
        resamples=draw_totals(drawn_from, n_resamples, rng),
        is_determination=crude.is_determination,
        across=across,
        moments_of_all=moments_of_all,
    )


def _tables_of_sides(
    crossed: Outcomes, numbers: dict[str, Floats], shape: tuple[int, int]
) -> list[UnitTable]:
    """Tables of the clusters of every side, with the columns of every stratum next to each other."""
    columns, unit = columns_of_rows(crossed, numbers)
    n_strata, n_sides = shape
    stratum, side = np.divmod(crossed.groups.codes, n_sides)
    tables = []
    for place in range(n_sides):
        inside = side == place
        _, units = np.unique(unit[inside], return_inverse=True)
        size = max(int(units.max(initial=-1)) + 1, 1)
        cell = units * n_strata + stratum[inside]
        sums = [np.bincount(cell, column, size * n_strata) for column in columns[inside].T]
        by_stratum = np.stack(sums, axis=1).reshape(size, -1)
        tables.append(UnitTable.of(by_stratum.astype(np.float64)))
    return tables


def _moments_of_everybody(outcomes: Outcomes, numbers: dict[str, Floats]) -> StratumMoments:
    """Of all rows of every stratum as one group."""
    groups = outcomes.groups
    as_one = replace(groups, codes=np.zeros_like(groups.codes), labels=("all",), levels=("all",))
    return StratumMoments._from_outcomes(replace(outcomes, groups=as_one), numbers)


@dataclass(frozen=True, eq=False)
class _CrossedValues:
    """Means, or R², of all crossings, without limits, as `GroupValues`; `scale`: of the numbers."""

    crude: SmoothValues
    within: StratumMoments
    units: tuple[UnitTable, ...]
    scale: float

    @property
    def method(self) -> str:
        """Name of the procedure."""
        return self.crude.method

    @property
    def interval_method(self) -> str:
        """Name of what a group's own interval is by."""
        return self.crude.interval_method

    def value(self, position: int) -> float:
        """The mean of a crossing, or its R²."""
        if not self.crude.is_determination:
            return MeanValues(self.within.cells, OUTCOME).value(position)
        total = self.units[position].sums.sum(axis=0)
        value = DeterminationDifference(single=True).determination(np.stack([total, total]))
        return float(value[0])

    def interval(self, position: int, z: float) -> tuple[float, float]:
        """None: draws are of all strata together."""
        return math.nan, math.nan

    def variances(self) -> Floats:
        """None."""
        return np.full(len(self.units), np.nan)

    def why_not(self, position: int, *, ratio: bool) -> str:
        """Whether there are enough units is known already."""
        return ""

    def contrast(self, group: int, reference: int, *, ratio: bool) -> BootstrapContrast:
        """None of a single stratum."""
        raise TypeError("a stratum alone is not drawn")

    def deviations(self) -> Floats:
        """Standard deviations of all crossings, with the divisor n, in the unit of the number."""
        found = []
        for table in self.units:
            weight, total, squares = table.sums.sum(axis=0)[:3]
            variance = math.nan
            if weight > 0:
                variance = max(squares / weight - (total / weight) ** 2, 0.0)
            found.append(self.scale * math.sqrt(variance))
        return np.array(found)
