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
from fairstats.numerics.means.quantile_of_all import NumbersOfAll
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

    `own`: of its groups.
    """

    rows: NumbersOfAll
    sample: SampleQuantile
    own: Sequence[SampleQuantile]
    bias: float = 0.0

    @property
    def value(self) -> float:
        """The quantile."""
        return self.sample.value

    def limits(self, z: float) -> tuple[float, float]:
        """By order statistics."""
        return self.sample.limits(z)

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
) -> list[QuantileOfAll]:
    """Everybody in every stratum; `samples`: of the groups of each."""
    codes, _ = places_of_strata(outcomes)
    found = []
    for place, own in enumerate(samples):
        inside = outcomes.take(codes == place)
        clusters = None if inside.cluster is None else inside.cluster.codes
        everybody = quantile_of_rows(inside.numbers[OUTCOME], inside.weight, clusters, order)
        found.append(QuantileOfAll(rows=numbers_of_all(inside), sample=everybody, own=own))
    return found


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
    widths = []
    for each in samples:
        low, high = each.limits(_Z_OF_WIDTHS)
        widths.append(high - low)
    if ratio and scales is None:
        scales = (sample.value, everybody.value)
    part = rows.part(group, sample.value, everybody.value, (widths[0], widths[1]), scales)
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
