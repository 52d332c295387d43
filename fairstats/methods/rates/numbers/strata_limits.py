"""Two groups within strata by what has limits in each stratum: quantiles, slopes, intercepts.

The value of a group is Σ ω·v over the strata, with limits by MOVER over them
(`numerics/means/strata.py`), and two groups are compared by MOVER once more. Beside everybody ω are
the shares of the group, and the difference in a stratum has limits as without strata, which MOVER
joins over them. Where clusters lie in several strata their values correlate (`strata_shared.py`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats, check_given
from fairstats.ground.serialise import serialisable
from fairstats.ground.stored import check_shape
from fairstats.ground.tallies.moments import MomentCounts
from fairstats.ground.tallies.stratum_moments import StratumMoments
from fairstats.methods.rates.numbers.compare import GroupValues
from fairstats.methods.rates.numbers.contrasts import (
    MoverContrast,
    NumberContrast,
    PartContrast,
    contrast_by_mover,
)
from fairstats.methods.rates.numbers.strata_of_all import (
    Everybody,
    StoredEverybody,
    from_logarithm,
    logarithm,
)
from fairstats.methods.rates.numbers.strata_pairs import (
    PairNames,
    divided,
    row_of_one_stratum,
    shares_of_rows,
    words_of_left_out,
)
from fairstats.methods.rates.numbers.strata_shared import SharedClusters
from fairstats.numerics.means.shared_units import root_of_products, shares_units
from fairstats.numerics.means.strata import (
    Homogeneity,
    homogeneity_of_estimates,
    limits_of_sum,
)

#: Standard errors at which the width of limits stands for one: at a single one few order statistics
#: lie between them (eight strata of 20 and 100 rows: size .12 of a test at .05; at two .06).
_Z_OF_WIDTHS = 2.0


@dataclass(frozen=True, eq=False)
class CellValues:
    """A statistic of every crossing of stratum and group, the groups of a stratum together.

    `values`: of the H·G crossings; `enough`: whether a crossing may be used, shape (H, G);
    `positive`: whether it has a ratio, alike; `needs`: what a stratum needs of both groups, in
    words; `spread`: standard deviations, shape (H, G), of standardised differences;
    `biases`: of values in strata of few rows, shape (H·G,); `everybody`: of every stratum, where
    groups are compared with all rows; `shared`: where clusters lie in several strata.
    """

    values: GroupValues
    enough: NDArray[np.bool_]
    positive: NDArray[np.bool_]
    needs: str
    spread: NDArray[np.float64] | None = None
    biases: NDArray[np.float64] | None = None
    everybody: tuple[Everybody, ...] = ()
    shared: SharedClusters | None = None

    def pair(self, moments: StratumMoments, pair: PairNames) -> PairOfLimits:
        """A group and its reference within strata."""
        if pair.of_all and self.everybody:
            return PairBesideEverybody(**pair_beside_everybody(self, moments, pair))
        return PairOfLimits(**pair_of_cells(self, moments, pair))

    def stored(self, z: float, *, ratio: bool = False) -> StratumValues:
        """Values and limits at Φ(z) of all crossings."""
        places = range(self.enough.size)
        limits = np.array([self.values.interval(place, z) for place in places])
        return StratumValues(
            value=np.array([self.values.value(place) for place in places]).reshape(
                self.enough.shape
            ),
            low=limits[:, 0].reshape(self.enough.shape),
            high=limits[:, 1].reshape(self.enough.shape),
            enough=self.enough,
            positive=self.positive,
            method=self.values.method,
            needs=self.needs,
            spread=self.spread,
            everybody=self._stored_everybody(z, ratio=ratio),
        )

    def _stored_everybody(self, z: float, *, ratio: bool) -> NDArray[np.float64] | None:
        """Everybody's value in every stratum, and limits of the groups' contrasts with it."""
        if not self.everybody:
            return None
        n_groups = self.enough.shape[1] // 2
        found = np.full((len(self.everybody), 1 + 2 * n_groups), np.nan)
        positive = self.positive[:, :n_groups] & self.positive[:, n_groups:]
        used = self.enough[:, :n_groups] & self.enough[:, n_groups:]
        for place, each in enumerate(self.everybody):
            found[place, 0] = each.value
            for group in range(n_groups):
                if used[place, group] and (positive[place, group] or not ratio):
                    limits = each.contrast(group, None, ratio=ratio).limits(z)
                    found[place, [1 + group, 1 + n_groups + group]] = limits
        return found


@serialisable(eq=False)
class StratumValues:
    """A quantile, slope or intercept of every group within the strata, with its limits.

    Attributes
    ----------
    value, low, high : ndarray of float, shape (H, G)
        The statistic and its limits at the level of the result; NaN where it has none.
    enough, positive : ndarray of bool, shape (H, G)
        Whether there are rows enough, and whether it has a ratio.
    method : str
        What the limits are by.
    needs : str
        What a stratum needs of both groups to be used.
    spread : ndarray of float, shape (H, G), optional
        Of standardised differences: standard deviations, by which those of values are divided.
    everybody : ndarray of float, shape (H, 1 + G), optional
        Of groups beside everybody, of whom all others stand behind the G/2 groups: everybody's
        value, then the lower and then the upper limits of the contrasts of the groups with it.
    """

    value: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    enough: NDArray[np.bool_]
    positive: NDArray[np.bool_]
    method: str
    needs: str
    spread: NDArray[np.float64] | None = None
    everybody: NDArray[np.float64] | None = None

    def check_stored(self) -> None:
        """Raise unless what was read from a file has one entry a stratum and group."""
        for name in ("low", "high", "enough", "positive", "spread"):
            check_shape(self, name, getattr(self, name), self.value.shape)
        n_strata, n_groups = self.value.shape
        check_shape(self, "everybody", self.everybody, (n_strata, 1 + n_groups))

    def _as_cells(self) -> CellValues:
        """The same, with these limits at every level."""
        return CellValues(
            values=_StoredValues(self),
            enough=self.enough,
            positive=self.positive,
            needs=self.needs,
            spread=self.spread,
            everybody=self._of_everybody(),
        )

    def _of_everybody(self) -> tuple[Everybody, ...]:
        if self.everybody is None:
            return ()
        n_groups = self.value.shape[1] // 2
        found = []
        for own, row in zip(self.value, self.everybody, strict=True):
            found.append(
                StoredEverybody(
                    value=float(row[0]),
                    own=own[:n_groups],
                    low=row[1 : 1 + n_groups],
                    high=row[1 + n_groups :],
                )
            )
        return tuple(found)


@dataclass(frozen=True, eq=False)
class _StoredValues:
    """Values of a file, with their limits at the one level that they have, as `GroupValues`."""

    stored: StratumValues

    @property
    def method(self) -> str:
        """Name of the procedure."""
        return self.stored.method

    @property
    def interval_method(self) -> str:
        """Name of what a group's own interval is by."""
        return self.stored.method

    def value(self, position: int) -> float:
        """The statistic of a crossing."""
        return float(self.stored.value.ravel()[position])

    def interval(self, position: int, z: float) -> tuple[float, float]:
        """Its limits, whatever z."""
        return float(self.stored.low.ravel()[position]), float(self.stored.high.ravel()[position])

    def variances(self) -> Floats:
        """Of a standard error that nobody asks for."""
        return np.full(self.stored.value.size, np.nan)

    def why_not(self, position: int, *, ratio: bool) -> str:
        """Whether there are enough is known already."""
        return ""

    def contrast(self, group: int, reference: int, *, ratio: bool) -> NumberContrast:
        """By MOVER."""
        return contrast_by_mover(self.value, self.interval, (group, reference), ratio=ratio)


@dataclass(frozen=True, eq=False)
class PairOfLimits:
    """Adjusted values of a group (position 0) and its reference (1), as `GroupValues`.

    As `PairWithinStrata`, with a statistic that has limits in place of means; `places`: of both
    groups' crossings, shape (H,) each; `sizes`: effective rows or clusters there; `columns`: the
    places of both among the sides of a stratum.
    """

    names: tuple[str, str]
    strata: tuple[str, ...]
    cells: CellValues
    places: tuple[NDArray[np.intp], NDArray[np.intp]]
    n: tuple[NDArray[np.int64], NDArray[np.int64]]
    sizes: tuple[Floats, Floats]
    used: NDArray[np.bool_]
    shares: Floats
    rows: MomentCounts
    columns: tuple[int, int] = (0, 1)

    @property
    def method(self) -> str:
        """Name of the procedure."""
        return self.cells.values.method

    @property
    def interval_method(self) -> str:
        """Name of what a group's own interval is by."""
        return self.cells.values.interval_method

    def corrections(self, position: int) -> Floats:
        """Bias of one of both in the strata that are used, less that of all their rows together.

        A bias is as 1/n, so that of N rows in one stratum it would be n/N of it.
        """
        places = self.places[position][self.used]
        if self.cells.biases is None:
            return np.zeros(places.size)
        sizes = self.sizes[position][self.used]
        return np.asarray(self.cells.biases[places] * (1 - sizes / sizes.sum()))

    def values_of(self, position: int) -> Floats:
        """The statistic of one of both in the strata that are used."""
        places = self.places[position][self.used].tolist()
        values = np.array([self.cells.values.value(place) for place in places])
        return values - self.corrections(position)

    def limits_of(self, position: int, z: float) -> tuple[Floats, Floats]:
        """Its limits there, at Φ(z) each."""
        places = self.places[position][self.used].tolist()
        limits = np.array([self.cells.values.interval(place, z) for place in places])
        shift = self.corrections(position)
        return limits[:, 0] - shift, limits[:, 1] - shift

    def correlations_of(self, position: int) -> Floats | None:
        """Of values of the strata that are used; None where clusters lie in one each."""
        if self.cells.shared is None:
            return None
        return self._of_used_strata(self.cells.shared.of_sides[self.columns[position]])

    def _of_used_strata(self, correlations: Floats) -> Floats:
        return np.asarray(correlations[self.used][:, self.used])

    def value(self, position: int) -> float:
        """The adjusted value."""
        if not self.used.any():
            return math.nan
        return float(self.shares @ self.values_of(position))

    def interval(self, position: int, z: float) -> tuple[float, float]:
        """By MOVER over the strata."""
        if not self.used.any():
            return math.nan, math.nan
        return limits_of_sum(
            self.values_of(position),
            self.limits_of(position, z),
            self.shares,
            self.correlations_of(position),
        )

    def variances(self) -> Floats:
        """From the width of the interval at one standard error."""
        widths = []
        for low, high in (self.interval(position, 1.0) for position in (0, 1)):
            widths.append(high - low)
        return (np.array(widths) / 2) ** 2

    def why_not(self, position: int, *, ratio: bool) -> str:
        """Too few rows in the strata that both share, or no ratio."""
        name = self.names[position]
        if not self.used.any():
            if position == 1:
                return ""
            return f"{name} and {self.names[1]}: no stratum has {self.cells.needs}."
        positive = self.cells.positive.ravel()[self.places[position][self.used]]
        if ratio and not positive.all():
            return f"{name} has numbers of 0 or below, of which ratios of quantiles have no limits."
        return ""

    def contrast(self, group: int, reference: int, *, ratio: bool) -> NumberContrast:
        """By MOVER, of ratios on the logarithmic scale."""
        return contrast_by_mover(self.value, self.interval, (group, reference), ratio=ratio)

    def _differences(self, *, ratio: bool) -> tuple[Floats, Floats]:
        """Of both in the strata that are used, of logarithms for a ratio, and their variances."""
        distances = []
        variance = np.zeros(int(self.used.sum()))
        for position in (0, 1):
            values = self.values_of(position)
            low, high = self.limits_of(position, _Z_OF_WIDTHS)
            if ratio:
                values, low, high = (np.log(column) for column in (values, low, high))
            distances.append(values)
            variance = variance + ((high - low) / (2 * _Z_OF_WIDTHS)) ** 2
        return distances[0] - distances[1], variance

    def homogeneity(self, *, ratio: bool) -> Homogeneity | None:
        """Whether one contrast holds in all strata, by the widths of limits at two standard errors.

        None where clusters lie in several, which are not independent.
        """
        related = [self.correlations_of(position) for position in (0, 1)]
        if shares_units(*[each for each in related if each is not None]):
            return None
        if not self.used.any() or self.why_not(0, ratio=ratio) or self.why_not(1, ratio=ratio):
            return Homogeneity(math.nan, 0, math.nan)
        return homogeneity_of_estimates(*self._differences(ratio=ratio))

    def informative(self, *, ratio: bool) -> int:
        """Strata that such a test counts."""
        found = self.homogeneity(ratio=ratio)
        return 0 if found is None else found.informative

    def left_out(self) -> str:
        """Which strata are not used, with their rows; empty where all are."""
        return words_of_left_out(self.names, self.strata, self.n, self.used, self.cells.needs)

    def row_of_stratum(self, place: int, z: float, *, ratio: bool) -> dict[str, Any]:
        """What a table says of one stratum."""
        pair = (int(self.places[0][place]), int(self.places[1][place]))
        values = [self.cells.values.value(each) for each in pair]
        estimate = divided(values[0], values[1]) if ratio else values[0] - values[1]
        if self.cells.spread is not None:
            spreads = self.cells.spread.ravel()[list(pair)]
            estimate = divided(estimate, float(np.sqrt((spreads**2).mean())))
        limits = (math.nan, math.nan)
        positive = self.cells.positive.ravel()[list(pair)].all()
        if self.used[place] and (positive or not ratio):
            contrast = contrast_by_mover(
                self.cells.values.value, self.cells.values.interval, pair, ratio=ratio
            )
            limits = contrast.limits(z)
        return row_of_one_stratum(self, place, values, estimate, limits)


@dataclass(frozen=True, eq=False)
class PairBesideEverybody(PairOfLimits):
    """A group (position 0) beside everybody (1), as `GroupValues`.

    `everybody`: of all strata; `group`: which one.
    """

    everybody: tuple[Everybody, ...] = ()
    group: int = 0

    def _of_used(self) -> list[Everybody]:
        return [self.everybody[place] for place in np.flatnonzero(self.used).tolist()]

    def corrections(self, position: int) -> Floats:
        """As of a pair, of everybody by the bias of all rows."""
        if position == 0 or self.cells.biases is None:
            return super().corrections(position)
        sizes = self.sizes[1][self.used]
        biases = np.array([each.bias for each in self._of_used()])
        return np.asarray(biases * (1 - sizes / sizes.sum()))

    def correlations_of(self, position: int) -> Floats | None:
        """Of values of the strata that are used."""
        shared = self.cells.shared
        if position == 0 or shared is None:
            return super().correlations_of(position)
        return self._of_used_strata(check_given("of_all", shared.of_all))

    def correlations_of_part(self, position: int) -> Floats | None:
        """Of the parts of the differences from everybody."""
        shared = self.cells.shared
        if shared is None:
            return None
        of_part = (shared.of_group, shared.of_others)[position]
        return self._of_used_strata(check_given("of_part", of_part)[self.group])

    def values_of(self, position: int) -> Floats:
        """The statistic of one of both in the strata that are used."""
        if position == 0:
            return super().values_of(position)
        return np.array([each.value for each in self._of_used()]) - self.corrections(1)

    def limits_of(self, position: int, z: float) -> tuple[Floats, Floats]:
        """Its limits there, at Φ(z) each."""
        if position == 0:
            return super().limits_of(position, z)
        limits = np.array([each.limits(z) for each in self._of_used()])
        shift = self.corrections(1)
        return limits[:, 0] - shift, limits[:, 1] - shift

    def contrast(self, group: int, reference: int, *, ratio: bool) -> NumberContrast:
        """By MOVER over the strata of what the difference has from either."""
        totals = (self.value(0), self.value(1))
        parts = []
        for each in self._of_used():
            parts.append(each.contrast(self.group, totals if ratio else None, ratio=ratio))

        def limits_of(position: int, z: float) -> tuple[float, float]:
            limits = []
            for part in parts:
                of_part = (part.of_group, part.of_reference)[position](z)
                limits.append([from_logarithm(end) for end in of_part] if ratio else of_part)
            shift = self.corrections(position)
            low, high = np.array(limits).T
            ends = limits_of_sum(
                self.values_of(position),
                (low - shift, high - shift),
                self.shares,
                self.correlations_of_part(position),
            )
            return (logarithm(ends[0]), logarithm(ends[1])) if ratio else ends

        centres = totals
        if ratio:
            centres = (logarithm(totals[0]), logarithm(totals[1]))
        errors = [part.error for part in parts if isinstance(part, PartContrast)]
        if len(errors) == len(parts):
            return PartContrast(
                centres,
                lambda z: limits_of(0, z),
                lambda z: limits_of(1, z),
                logarithms=ratio,
                error=root_of_products(
                    self.shares * np.array(errors), self.correlations_of_part(0)
                ),
            )
        return MoverContrast(
            centres, lambda z: limits_of(0, z), lambda z: limits_of(1, z), logarithms=ratio
        )

    def homogeneity(self, *, ratio: bool) -> Homogeneity | None:
        """None: a group is not as far from everybody in every stratum, where its share differs."""
        return None

    def left_out(self) -> str:
        """Which strata are not used, with their rows; empty where all are."""
        n = (self.n[0], self.n[0] + self.n[1])
        return words_of_left_out(self.names, self.strata, n, self.used, self.cells.needs)

    def row_of_stratum(self, place: int, z: float, *, ratio: bool) -> dict[str, Any]:
        """What a table says of one stratum."""
        everybody = self.everybody[place]
        values = [self.cells.values.value(int(self.places[0][place])), everybody.value]
        estimate = divided(values[0], values[1]) if ratio else values[0] - values[1]
        limits = (math.nan, math.nan)
        pair = [int(places[place]) for places in self.places]
        positive = self.cells.positive.ravel()[pair].all()
        if self.used[place] and (positive or not ratio):
            limits = everybody.contrast(self.group, None, ratio=ratio).limits(z)
        row = row_of_one_stratum(self, place, values, estimate, limits)
        row["n_reference"] += row["n"]
        return row


def pair_beside_everybody(
    cells: CellValues, moments: StratumMoments, pair: PairNames
) -> dict[str, Any]:
    """What makes a group and everybody in all strata, with the weights of the group."""
    parts = pair_of_cells(cells, moments, pair)
    used = parts["used"]
    weights = [moments._of_group(moments.cells.weights[0], place) for place in pair.places]
    shares = weights[0][used]
    parts["shares"] = shares / max(shares.sum(), 1e-300)
    own, others = parts["sizes"]
    with np.errstate(divide="ignore", invalid="ignore"):
        # by Kish's formula, of the units of both
        squares = sum(weight**2 / size for weight, size in zip(weights, (own, others), strict=True))
        of_all = (weights[0] + weights[1]) ** 2 / squares
    parts["sizes"] = (own, of_all)
    return {**parts, "everybody": cells.everybody, "group": pair.places[0]}


def pair_of_cells(cells: CellValues, moments: StratumMoments, pair: PairNames) -> dict[str, Any]:
    """What makes a pair of both groups in all strata, and the weights of those that are used."""
    columns = pair.places
    used = cells.enough[:, columns[0]] & cells.enough[:, columns[1]]
    sizes = moments.cells.effective_units
    first_places = np.arange(len(moments.strata)) * len(moments.groups)
    n_of_cells = moments.cells.n.reshape(len(moments.strata), len(moments.groups))
    return {
        "names": pair.names,
        "strata": moments.strata,
        "cells": cells,
        "columns": columns,
        "places": (first_places + columns[0], first_places + columns[1]),
        "n": (n_of_cells[:, columns[0]], n_of_cells[:, columns[1]]),
        "sizes": tuple(moments._of_group(sizes, column) for column in columns),
        "used": used,
        "shares": shares_of_rows(moments, columns, used),
        "rows": pair.named(moments._pair(columns[0], columns[1], np.flatnonzero(used))),
    }
