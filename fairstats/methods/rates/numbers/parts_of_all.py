"""Parts of the Brier score and isotonic curves of each group beside those of everybody.

Everybody's part has the rows of the group among its own. Curves that fit best move a mean squared
error in the second order only, so that with g and G the gains of a row by the group's curve and by
everybody's, W_g and W the weights, the difference of both parts has the error

    Σ w·(g − ḡ)/W_g − Σ w·(G − Ḡ_g)/W      of the group's rows,      −Σ w·(G − Ḡ_h)/W      of all others,

the shares of the groups fixed. Either sum is a variance of its own, with which the limits of both
parts are made as they are without everybody. `strata_parts.py` sums both over strata.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats, check_given
from fairstats.methods.rates.numbers.areas import names_and_masks, scored_rows
from fairstats.methods.rates.numbers.compare import OVERALL, Side
from fairstats.methods.rates.numbers.contrasts import (
    CentredContrast,
    LimitContrast,
    MoverContrast,
    NumberContrast,
)
from fairstats.methods.rates.numbers.cutoffs import CutRows
from fairstats.methods.rates.numbers.isotonic import PartValues, part_values, risks_of
from fairstats.methods.rates.numbers.strata_shared import NO_MOVES, Moves
from fairstats.numerics.means.isotonic import BrierPart
from fairstats.numerics.means.placements import ScoredRows
from fairstats.numerics.means.weighted_risks import WeightedRisks, fit_of_sums, gains_of_rows


def sides_of_all_parts(
    rows: CutRows, values: PartValues, metric: str, group_sizes: NDArray[np.int64], z: float
) -> dict[int, Side]:
    """Everybody as what each group is compared with; `z`: of the interval of everybody's part."""
    everybody = PartOfAll(rows, metric, values)
    sides = {}
    for group, note in enumerate(values.notes):
        contrast: NumberContrast | None = None
        if not note:
            contrast = everybody.contrast(group)
        sides[group] = Side(
            name=OVERALL,
            n=int(group_sizes.sum()),
            value=everybody.value,
            interval=everybody.limits(z),
            positions=(group,),
            contrast=contrast,
        )
    return sides


class PartOfAll:
    """A part of all rows, as what each group is compared with.

    `values`: of the groups, from the place `first` on.
    """

    def __init__(self, rows: CutRows, metric: str, values: PartValues, first: int = 0) -> None:
        self.rows = rows
        self.metric = metric
        self.values = values
        self.first = first
        self.of_all = part_values(rows.as_one_group(), metric)
        self.gains = None if metric == "uncertainty" else Gains(rows, metric)

    @property
    def value(self) -> float:
        """The part."""
        return self.of_all.value(0)

    @property
    def bias(self) -> float:
        """Of ȳ(1 − ȳ), which lacks 1/n of what it estimates; of others by curves without a row."""
        number = self.of_all.numbers[0]
        return 0.0 if math.isnan(number) else -self.value / max(number, 1.0)

    def limits(self, z: float) -> tuple[float, float]:
        """Of the part, each at Φ(z)."""
        return self.of_all.interval(0, z)

    def has_error(self, group: int) -> bool:
        """Whether a group has a part."""
        return not self.values.notes[self.first + group]

    def both(self, group: int) -> tuple[BrierPart, BrierPart] | None:
        """A group's part and everybody's, with what the difference has of either's variance.

        None of uncertainty.
        """
        own = self.values.parts[self.first + group]
        whole = self.of_all.parts[0]
        if self.gains is None or own is None or whole is None:
            return None
        variances = self.gains.variances(group)
        return replace(own, variance=variances[0]), replace(whole, variance=variances[1])

    def moves(self) -> Moves:
        """What rows of clusters move the part by."""
        (moves,) = moves_of_parts(self.rows.as_one_group(), self.metric)
        return moves

    def moves_beside(self, group: int) -> tuple[Moves, Moves] | None:
        """What rows of a group, and all others, move the difference by; None of uncertainty."""
        if self.gains is None or not self.has_error(group):
            return None
        outcomes = self.rows.required_outcomes()
        unit = check_given("cluster", outcomes.cluster).codes.astype(np.intp)
        values = self.gains.scored.weight * self.gains.shift(group)
        inside = self.gains.scored.stratum == group
        return Moves(unit[inside], values[inside]), Moves(unit[~inside], values[~inside])

    def contrast(
        self, group: int, scales: tuple[float, float] | None = None, *, ratio: bool = False
    ) -> MoverContrast:
        """A group's part less everybody's; of uncertainty by the one's limits less the other's."""
        place = self.first + group
        values = (self.values.value(place), self.value)
        parts = self.both(group)
        if parts is None:
            return LimitContrast(values, lambda z: self.values.interval(place, z), self.limits)
        return contrast_of_parts(parts, values)


def moves_of_parts(rows: CutRows, metric: str) -> list[Moves]:
    """What rows of clusters move the part of every group by."""
    outcomes = rows.required_outcomes()
    unit = check_given("cluster", outcomes.cluster).codes.astype(np.intp)
    weight = np.ones(unit.size) if outcomes.weight is None else outcomes.weight
    _, masks = names_and_masks(outcomes, beside_rest=False)
    found = []
    for mask, risks in zip(masks, risks_of(rows), strict=True):
        if not risks.size or not isinstance(risks, WeightedRisks):
            found.append(NO_MOVES)
            continue
        gains = gains_of_rows(risks, metric)
        excess = risks.weights * (gains - float(np.average(gains, weights=risks.weights)))
        # rows without weight are no rows there
        found.append(Moves(unit[mask & (weight > 0)], excess))
    return found


def contrast_of_parts(
    parts: tuple[BrierPart, BrierPart], values: tuple[float, float]
) -> CentredContrast:
    """The difference of two parts about less bias than their `values` have."""
    group, reference = parts
    centres = (group.centre, reference.centre)
    return CentredContrast(centres, group.limits, reference.limits, biased=values)


class Gains:
    """What calibration gains in every row, by its group's curve and by everybody's."""

    def __init__(self, rows: CutRows, metric: str) -> None:
        self.scored: ScoredRows = scored_rows(rows)
        self.scores = rows.scores_with_rows()[0]
        self.metric = metric
        everybody = np.ones(self.scored.place.size, dtype=bool)
        self.of_all = self._of(everybody)

    def shift(self, group: int) -> Floats:
        """What the difference moves by with a row of weight 1."""
        scored = self.scored
        inside = scored.stratum == group
        total = float(scored.weight.sum())
        of_all = -self._centred(self.of_all) / total
        own = self._centred(self._of(inside)) / float(scored.weight[inside].sum())
        return np.where(inside, own + of_all, of_all)

    def variances(self, group: int) -> tuple[float, float]:
        """Of the sums of the group's rows, and of all others."""
        scored = self.scored
        shift = self.shift(group)
        found = np.zeros(2)
        for stratum in np.unique(scored.stratum):
            chosen = scored.stratum == stratum
            found[int(stratum != group)] += self._variance(shift, chosen)
        return float(found[0]), float(found[1])

    def _of(self, chosen: NDArray[np.bool_]) -> Floats:
        """(y − forecast)² − (y − p̂)² by the curve of some rows, 0 in others."""
        scored = self.scored
        weight = np.where(chosen, scored.weight, 0.0)
        size = self.scores.size
        sums = np.bincount(scored.place, weight, size).astype(np.float64)
        positives = np.bincount(scored.place, weight * scored.positive, size).astype(np.float64)
        present = sums > 0
        fitted = np.zeros(self.scores.size)
        fitted[present] = fit_of_sums(positives[present], sums[present])
        forecast = self.scores
        if self.metric == "discrimination":
            forecast = np.full(self.scores.size, positives.sum() / sums.sum())
        label = scored.positive.astype(np.float64)
        gain = (label - forecast[scored.place]) ** 2 - (label - fitted[scored.place]) ** 2
        return np.where(chosen, gain, 0.0)

    def _centred(self, gains: Floats) -> Floats:
        """Less the mean of the row's own group."""
        scored = self.scored
        size = int(scored.stratum.max()) + 1
        sums = np.bincount(scored.stratum, scored.weight * gains, size)
        weights = np.bincount(scored.stratum, scored.weight, size)
        mean = sums / np.where(weights > 0, weights, 1.0)
        return np.asarray(gains - mean[scored.stratum])

    def _variance(self, shift: Floats, chosen: NDArray[np.bool_]) -> float:
        """Of the sum of w·shift over the rows, or clusters, of one group."""
        scored = self.scored
        if scored.unit is None:
            squares = float(scored.squares[chosen] @ shift[chosen] ** 2)
            number = int(scored.number[chosen].sum())
        else:
            units, codes = np.unique(scored.unit[chosen], return_inverse=True)
            sums = np.bincount(codes, scored.weight[chosen] * shift[chosen], units.size)
            squares = float(sums @ sums)
            number = units.size
        return squares * number / max(number - 1, 1)
