"""Quantiles of groups beside those of all rows, which contain the groups' own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairstats.ground.outcomes import Outcomes
from fairstats.ground.tallies.moments import OUTCOME
from fairstats.ground.tallies.stratum_moments import places_of_strata
from fairstats.methods.rates.numbers.compare import OVERALL, QuantileValues, Side
from fairstats.methods.rates.numbers.contrasts import MoverContrast
from fairstats.methods.rates.numbers.strata_shared import (
    Moves,
    SharedClusters,
    correlations_of_moves,
    correlations_with_all,
)
from fairstats.numerics.means.quantile_of_all import NumbersOfAll, excess_below
from fairstats.numerics.means.weighted_quantiles import SampleQuantile, quantile_of_rows

#: Standard errors at which widths of limits are measured.
_Z_OF_WIDTHS = 2.0


def quantiles_beside_all(
    outcomes: Outcomes, values: QuantileValues, order: float, z: float, *, ratio: bool
) -> dict[int, Side]:
    """Everybody as what each group is compared with; `z`: of everybody's own interval."""
    numbers = outcomes.numbers[OUTCOME]
    clusters = None if outcomes.cluster is None else outcomes.cluster.codes
    everybody = quantile_of_rows(numbers, outcomes.weight, clusters, order)
    rows = numbers_of_all(outcomes)
    sides = {}
    for group in range(len(values.groups)):
        why_not = ""
        if ratio and not everybody.smallest > 0:
            why_not = "Some numbers are 0 or below, of which ratios of quantiles have no limits."
        contrast = None
        if not values.why_not(group, ratio=ratio) and not why_not:
            contrast = contrast_with_all(rows, group, values.samples[group], everybody, ratio=ratio)
        sides[group] = Side(
            name=OVERALL,
            n=int(numbers.size),
            value=everybody.value,
            interval=everybody.limits(z),
            positions=(group,),
            contrast=contrast,
            why_not=why_not,
        )
    return sides


@dataclass(frozen=True, eq=False)
class QuantileOfAll:
    """The quantile of all rows of a stratum, as what its groups are compared with.

    `own`: of its groups; `ratio`: whether ratios are compared.
    """

    rows: NumbersOfAll
    sample: SampleQuantile
    own: Sequence[SampleQuantile]
    ratio: bool = False
    bias: float = 0.0

    @property
    def value(self) -> float:
        """The quantile."""
        return self.sample.value

    def limits(self, z: float) -> tuple[float, float]:
        """By order statistics."""
        return self.sample.limits(z)

    def moves(self) -> Moves:
        """What rows move the quantile by."""
        return Moves(self.rows.units, self.rows.moves(self.value))

    def moves_beside(self, group: int) -> tuple[Moves, Moves] | None:
        """What rows of a group, and all others, move the difference of their quantiles by."""
        inside = self.rows.group == group
        if not inside.any():
            return None
        own = self.own[group]
        widths = (_width_of(own), _width_of(self.sample))
        if not math.isfinite(widths[0]):
            return None
        values = (own.value, self.value)
        if self.ratio and not min(values) > 0:
            return None
        # of ratios of sums over strata these, not the stratum's, divide errors: near enough here
        moves = self.rows.part(group, *values, widths, values if self.ratio else None).moves
        return (
            Moves(self.rows.units[inside], moves[inside]),
            Moves(self.rows.units[~inside], moves[~inside]),
        )

    def contrast(
        self, group: int, scales: tuple[float, float] | None, *, ratio: bool
    ) -> MoverContrast:
        """A group's quantile less that of all rows, or their ratio."""
        return contrast_with_all(
            self.rows, group, self.own[group], self.sample, ratio=ratio, scales=scales
        )


def quantiles_of_strata(
    outcomes: Outcomes,
    samples: Sequence[Sequence[SampleQuantile]],
    order: float,
    *,
    ratio: bool,
) -> list[QuantileOfAll]:
    """Everybody in every stratum; `samples`: of the groups of each."""
    codes, _ = places_of_strata(outcomes)
    found = []
    for place, own in enumerate(samples):
        inside = outcomes.take(codes == place)
        clusters = None if inside.cluster is None else inside.cluster.codes
        everybody = quantile_of_rows(inside.numbers[OUTCOME], inside.weight, clusters, order)
        found.append(
            QuantileOfAll(rows=numbers_of_all(inside), sample=everybody, own=own, ratio=ratio)
        )
    return found


def shared_by_quantiles(
    crossed: Outcomes,
    samples: Sequence[SampleQuantile],
    shape: tuple[int, int],
    everybody: Sequence[QuantileOfAll],
) -> SharedClusters:
    """What strata share whose clusters lie in several.

    `crossed`: rows, the crossings of strata and sides being the groups; `samples`: of these;
    `shape`: numbers of strata and of sides; `everybody`: of every stratum, where groups are compared
    with all rows.
    """
    rows = numbers_of_all(crossed)
    moves = []
    for cell, sample in enumerate(samples):
        inside = rows.group == cell
        values = np.zeros(0)
        if inside.any():
            values = excess_below(rows.numbers[inside], rows.weights[inside], sample.value)
        moves.append(Moves(rows.units[inside], values))
    of_sides = correlations_of_moves(moves, shape)
    if not everybody:
        return SharedClusters(of_sides)
    return correlations_with_all(of_sides, everybody, shape[1] // 2)


def numbers_of_all(outcomes: Outcomes) -> NumbersOfAll:
    """Rows that have a weight, with their units and groups."""
    numbers = outcomes.numbers[OUTCOME]
    weights = np.ones(numbers.size) if outcomes.weight is None else outcomes.weight
    units = np.arange(numbers.size)
    if outcomes.cluster is not None:
        units = outcomes.cluster.codes
    counted = weights > 0
    return NumbersOfAll(
        numbers=numbers[counted],
        weights=weights[counted],
        units=units[counted].astype(np.intp),
        group=outcomes.groups.codes[counted].astype(np.intp),
    )


def contrast_with_all(
    rows: NumbersOfAll,
    group: int,
    sample: SampleQuantile,
    everybody: SampleQuantile,
    *,
    ratio: bool,
    scales: tuple[float, float] | None = None,
) -> MoverContrast:
    """By MOVER, each distance to a limit by the share of its error that the difference has.

    `scales`: of a ratio of sums over strata, these sums, by which errors of both are divided.
    """
    samples = (sample, everybody)
    widths = (_width_of(sample), _width_of(everybody))
    if ratio and scales is None:
        scales = (sample.value, everybody.value)
    part = rows.part(group, sample.value, everybody.value, widths, scales)
    factors = (part.own, part.others)
    values = [each.value for each in samples]
    if ratio:
        values = [math.log(value) for value in values]

    def limits_of(position: int, z: float) -> tuple[float, float]:
        low, high = samples[position].limits(z)
        if ratio:
            low = math.log(low) if low > 0 else -math.inf
            high = math.log(high)
        centre = values[position]
        factor = factors[position]
        if factor == 0:
            return centre, centre
        return centre - factor * max(centre - low, 0.0), centre + factor * max(high - centre, 0.0)

    return MoverContrast(
        (values[0], values[1]),
        lambda z: limits_of(0, z),
        lambda z: limits_of(1, z),
        logarithms=ratio,
    )


def _width_of(sample: SampleQuantile) -> float:
    """Of the limits at two standard errors."""
    low, high = sample.limits(_Z_OF_WIDTHS)
    return high - low
