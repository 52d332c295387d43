"""Parts of the Brier score of two groups within strata.

A part of a group is Σ ω·m over the strata, with the weights of Mantel and Haenszel. Miscalibration
and discrimination have limits as without strata, of the sums of estimates and of what curves that
leave rows out have, with variance Σ ω²·v; uncertainty has those of every stratum by MOVER. Beside
everybody ω are the shares of the group, and v what either's rows add to the difference of a stratum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast

import numpy as np

from fairstats.ground.checks import Floats, check_given
from fairstats.ground.tallies.stratum_moments import StratumMoments
from fairstats.methods.rates.numbers.areas import LEAST_OF_LABEL
from fairstats.methods.rates.numbers.contrasts import LimitContrast, NumberContrast
from fairstats.methods.rates.numbers.cutoffs import CutRows
from fairstats.methods.rates.numbers.isotonic import PartValues, part_values
from fairstats.methods.rates.numbers.parts_of_all import PartOfAll, contrast_of_parts
from fairstats.methods.rates.numbers.strata_limits import (
    CellValues,
    PairBesideEverybody,
    PairOfLimits,
    pair_beside_everybody,
    pair_of_cells,
)
from fairstats.methods.rates.numbers.strata_pairs import PairNames
from fairstats.numerics.means.isotonic import BrierPart
from fairstats.numerics.means.strata import Homogeneity
from fairstats.numerics.means.weighted_risks import sum_of_parts


@dataclass(frozen=True, eq=False)
class PartCells(CellValues):
    """A part of the Brier score of every crossing of stratum and group."""

    def pair(self, moments: StratumMoments, pair: PairNames) -> PairOfLimits:
        """A group and its reference within strata."""
        if pair.of_all:
            return PairOfPartsBesideAll(**pair_beside_everybody(self, moments, pair))
        return PairOfParts(**pair_of_cells(self, moments, pair))


@dataclass(frozen=True, eq=False)
class _AdjustedParts(PairOfLimits):
    """What adjusted parts have in common, beside another group and beside everybody."""

    def correlations_of(self, position: int) -> Floats | None:
        """Of values of the strata that are used; of uncertainty without their signs."""
        return _without_signs(self.cells, super().correlations_of(position))

    def value(self, position: int) -> float:
        """The adjusted part."""
        part = self._part(position)
        return super().value(position) if part is None else part.estimate

    def interval(self, position: int, z: float) -> tuple[float, float]:
        """Its limits at Φ(z) each."""
        part = self._part(position)
        if part is not None:
            return part.limits(z)
        low, high = super().interval(position, z)
        return max(low, 0.0), min(high, 0.25)

    def _part(self, position: int) -> BrierPart | None:
        """Miscalibration or discrimination, None for uncertainty or where no stratum is used."""
        values = cast(PartValues, self.cells.values)
        if not self.used.any() or values.centres is None:
            return None
        parts = [check_given("part", part) for part in self._parts_of_strata(position)]
        return sum_of_parts(parts, self.shares, self.correlations_of(position))

    def _parts_of_strata(self, position: int) -> list[BrierPart | None]:
        """The part of a side in every stratum that is used."""
        values = cast(PartValues, self.cells.values)
        return [values.parts[place] for place in self.places[position][self.used].tolist()]


@dataclass(frozen=True, eq=False)
class PairOfParts(_AdjustedParts):
    """Adjusted parts of a group (position 0) and its reference (1), as `GroupValues`."""

    def contrast(self, group: int, reference: int, *, ratio: bool) -> NumberContrast:
        """The difference, by the rule of parts without strata."""
        values = (self.value(group), self.value(reference))
        parts = (self._part(group), self._part(reference))
        if parts[0] is None or parts[1] is None:
            return LimitContrast(
                values, lambda z: self.interval(group, z), lambda z: self.interval(reference, z)
            )
        return contrast_of_parts((parts[0], parts[1]), values)

    def homogeneity(self, *, ratio: bool) -> Homogeneity | None:
        """None: estimates of few rows are biased, by other amounts in every stratum."""
        return None


@dataclass(frozen=True, eq=False)
class PairOfPartsBesideAll(_AdjustedParts, PairBesideEverybody):
    """Parts of a group (position 0) and of everybody (1), as `GroupValues`.

    Both are summed with the weights ω of the group, and so are, as ω², the variances of what either's
    rows add to the differences of the strata.
    """

    def contrast(self, group: int, reference: int, *, ratio: bool) -> NumberContrast:
        """The difference, by the rule of parts beside everybody without strata."""
        values = (self.value(0), self.value(1))
        of_strata = [each.both(self.group) for each in self._parts_of_all()]
        sums = []
        for position in (0, 1):
            parts = [pair[position] for pair in of_strata if pair is not None]
            if not parts:
                return LimitContrast(
                    values, lambda z: self.interval(0, z), lambda z: self.interval(1, z)
                )
            sums.append(sum_of_parts(parts, self.shares, self.correlations_of_part(position)))
        return contrast_of_parts((sums[0], sums[1]), values)

    def _parts_of_all(self) -> list[PartOfAll]:
        return [cast(PartOfAll, each) for each in self._of_used()]

    def _parts_of_strata(self, position: int) -> list[BrierPart | None]:
        """The group's, or everybody's."""
        if position == 0:
            return super()._parts_of_strata(position)
        return [each.of_all.parts[0] for each in self._parts_of_all()]


def _without_signs(cells: CellValues, correlations: Floats | None) -> Floats | None:
    """Of ȳ(1 − ȳ) the size of the correlations of ȳ: its slope changes its sign at ½, where errors are
    squares.
    """
    values = cast(PartValues, cells.values)
    if correlations is None or values.centres is not None:
        return correlations
    return np.abs(correlations)


def part_cells(crossed: CutRows, metric: str, within: StratumMoments, n_sides: int) -> PartCells:
    """A part of the Brier score of every crossing of stratum and group, or all others of each."""
    values = part_values(crossed, metric)
    shape = (len(within.strata), n_sides)
    # rows without weight are counted, and have no part
    has_part = np.isfinite(values.estimates)
    enough = np.array([not note for note in values.notes]) & has_part
    biases = None
    if values.centres is None:
        # the mean of ȳ(1 − ȳ) lacks 1/n of what it estimates
        rows = [math.inf if math.isnan(number) else number for number in values.numbers]
        biases = -np.nan_to_num(np.array(values.estimates)) / np.maximum(rows, 1.0)
    kind = "clusters" if within.cells.clustered else "rows"
    return PartCells(
        values=values,
        enough=enough.reshape(shape),
        positive=np.ones(shape, dtype=bool),
        needs=f"{LEAST_OF_LABEL} {kind} of each label of both",
        biases=biases,
    )
