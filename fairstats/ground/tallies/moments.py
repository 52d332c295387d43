"""Moments of numbers per group: the sufficient statistic of means, errors and their ratios."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import LARGEST, Floats, check_choice, check_summand
from fairstats.ground.errors import InputError
from fairstats.ground.outcomes import MissingReport, Outcomes
from fairstats.ground.serialise import serialisable
from fairstats.ground.stored import check_amounts, check_counts, check_length, check_shape

#: Rows of `MomentCounts.centred`.
_SQUARES, _CUBES, _WITH_WEIGHT, _SQUARES_WITH_WEIGHT, _WITH_SQUARED_WEIGHT = range(5)


@serialisable(eq=False)
class MomentCounts:
    """Sums of numbers per group, centred at the group's mean, up to the third power.

    A sampling unit u (a row, or a cluster of rows) has the weight W_u, the sum of its rows', and
    the excess e_u = Σ w·(x − m) over the mean m = Σ w·x/Σ w of its group. What is kept merges
    without loss: where the mean moves by δ, e_u becomes e_u − δ·W_u. Raw sums of powers would
    cancel.

    Attributes
    ----------
    groups, columns : tuple of str
        Of G groups and V numbers: "y", or errors of predictions.
    n, units : ndarray of int, shape (G,)
        Rows, and sampling units.
    weights : ndarray of float, shape (3, G)
        Σ W, Σ W² and Σ W³ over the units; without weights and clusters each is the number of rows.
    mean : ndarray of float, shape (V, G)
        Mean of every number, 0 where a group has no rows.
    centred : ndarray of float, shape (5, V, G)
        Σ e², Σ e³, Σ eW, Σ e²W and Σ eW² over the units.
    negative : ndarray of int, shape (V, G)
        Rows with a number below 0, of which ratios of means have no meaning.
    weighted, clustered : bool
        Whether rows had weights, and came in clusters.
    missing : MissingReport
        What was left out.
    """

    groups: tuple[str, ...]
    columns: tuple[str, ...]
    n: NDArray[np.int64]
    units: NDArray[np.int64]
    weights: NDArray[np.float64]
    mean: NDArray[np.float64]
    centred: NDArray[np.float64]
    negative: NDArray[np.int64]
    weighted: bool = False
    clustered: bool = False
    missing: MissingReport = field(default_factory=MissingReport)

    def check_stored(self) -> None:
        """Raise unless what was read from a file has its sums for every group and number."""
        n_groups = len(self.groups)
        table_shape = (len(self.columns), n_groups)
        for field_name in ("n", "units"):
            check_length(self, field_name, getattr(self, field_name), n_groups)
            check_counts(self, field_name, getattr(self, field_name))
        check_shape(self, "weights", self.weights, (3, n_groups))
        check_shape(self, "mean", self.mean, table_shape)
        check_shape(self, "negative", self.negative, table_shape)
        check_shape(self, "centred", self.centred, (5, *table_shape))
        check_counts(self, "negative", self.negative)
        check_amounts(self, "weights", self.weights)
        check_amounts(self, "mean", self.mean, least=-LARGEST)
        check_amounts(self, "centred", self.centred[_SQUARES])

    @classmethod
    def _from_outcomes(
        cls, outcomes: Outcomes, numbers: Mapping[str, Floats], *, stratified: bool = False
    ) -> Self:
        """Sums of the numbers of validated rows, column by column.

        `stratified`: groups are those of a tally within its strata.
        """
        groups = outcomes.groups
        n_groups = len(groups.labels)
        codes = groups.codes.astype(np.intp)
        rows = np.bincount(codes, minlength=n_groups)
        units = rows
        if outcomes.weight is None and outcomes.cluster is None:
            weights = np.array([rows, rows, rows], dtype=np.float64)
            sums = [_sum_rows(values, codes, rows) for values in numbers.values()]
        else:
            design = _Design.of(outcomes, codes, n_groups)
            refuse_spread_clusters(design.n_spread, stratified=stratified)
            units = np.bincount(design.group_of_unit, minlength=n_groups)
            weights = design.weights
            sums = [design.sum_values(values) for values in numbers.values()]
        negative = []
        for values in numbers.values():
            negative.append(np.bincount(codes[values < 0], minlength=n_groups))
        return cls(
            groups=groups.labels,
            columns=tuple(numbers),
            n=rows.astype(np.int64),
            units=units.astype(np.int64),
            weights=weights,
            mean=np.array([mean for mean, _ in sums]),
            centred=np.stack([centred for _, centred in sums], axis=1),
            negative=np.array(negative, dtype=np.int64),
            weighted=outcomes.weight is not None,
            clustered=outcomes.cluster is not None,
            missing=outcomes.missing,
        )

    @classmethod
    def _from_counted(
        cls,
        groups: tuple[str, ...],
        column: str,
        values: Floats,
        counts: NDArray[Any],
        missing: MissingReport,
    ) -> Self:
        """Of counted rows of equal weight: `values`, shape (c,), and rows of each, shape (G, c)."""
        n = counts.sum(axis=1)
        mean = counts @ values / np.maximum(n, 1)
        excess = values - mean[:, None]
        # factor by factor: a power of 3 takes ten times as long
        powers = counts * excess
        sums = [powers.sum(axis=1)]
        for _ in range(2):
            powers *= excess
            sums.append(powers.sum(axis=1))
        return cls(
            groups=groups,
            columns=(column,),
            n=n.astype(np.int64),
            units=n.astype(np.int64),
            weights=np.array([n, n, n], dtype=np.float64),
            mean=mean[None],
            centred=np.array([sums[1], sums[2], sums[0], sums[1], sums[0]])[:, None],
            negative=counts[:, values < 0].sum(axis=1)[None].astype(np.int64),
            missing=missing,
        )

    @property
    def group_sizes(self) -> NDArray[np.int64]:
        """Rows per group, shape (G,)."""
        return self.n

    @property
    def effective_units(self) -> Floats:
        """Kish's (Σ W)²/Σ W², shape (G,): the number of units where these weigh alike."""
        squares = np.where(self.weights[1] > 0, self.weights[1], 1.0)
        return np.asarray(self.weights[0] ** 2 / squares)

    def variance_of_mean(self, column: str) -> Floats:
        """Variance of every group's mean, shape (G,): u/(u − 1)·Σ e²/(Σ W)², u units."""
        spread = self.centred[_SQUARES, self._place_of(column)]
        return self._by_total_weight(spread, 2) * self._bessel_factor(1)

    def third_cumulant_of_mean(self, column: str) -> Floats:
        """Third cumulant of every group's mean: u²/((u − 1)(u − 2))·Σ e³/(Σ W)³, u units."""
        cubes = self.centred[_CUBES, self._place_of(column)]
        return self._by_total_weight(cubes, 3) * self._bessel_factor(1) * self._bessel_factor(2)

    def means(self, column: str) -> Floats:
        """Mean of every group, shape (G,), NaN where it has no rows."""
        return np.where(self.n > 0, self.mean[self._place_of(column)], np.nan)

    def _place_of(self, column: str) -> int:
        check_choice("column", column, self.columns)
        return self.columns.index(column)

    def _by_total_weight(self, sums: Floats, power: int) -> Floats:
        total_weight = np.where(self.weights[0] > 0, self.weights[0], np.nan)
        return np.asarray(sums / total_weight**power)

    def _bessel_factor(self, lost: int) -> Floats:
        """u/(u − lost) of u units, NaN where there are no more than are lost."""
        units = self.units.astype(np.float64)
        return units / np.where(units > lost, units - lost, np.nan)

    def _with_new_groups(self, groups: tuple[str, ...], position: Sequence[int]) -> MomentCounts:
        """Groups merged, reordered or added: group g becomes group ``position[g]`` of `groups`."""
        n_groups = len(groups)

        def add_up(old_array: NDArray[Any]) -> NDArray[Any]:
            new_array = np.zeros((*old_array.shape[:-1], n_groups), dtype=old_array.dtype)
            for old_group, new_group in enumerate(position):
                new_array[..., new_group] += old_array[..., old_group]
            return new_array

        weights = add_up(self.weights)
        total_weight = np.where(weights[0] > 0, weights[0], 1.0)
        new_place = np.asarray(position, dtype=np.intp)
        # about one of the old means first: a weighted mean of large equal numbers would round
        anchor = np.zeros((len(self.columns), n_groups))
        anchor[:, new_place] = self.mean
        excess_mean = add_up(self.weights[0] * (self.mean - anchor[:, new_place])) / total_weight
        mean = anchor + excess_mean
        shifted = shift_centre(self.centred, self.weights, mean[:, new_place] - self.mean)
        return replace(
            self,
            groups=groups,
            n=add_up(self.n),
            units=add_up(self.units),
            weights=weights,
            mean=mean,
            centred=add_up(shifted),
            negative=add_up(self.negative),
            missing=self.missing._with_new_groups(position),
        )

    def _take_groups(self, places: Sequence[int]) -> MomentCounts:
        """Some of the groups, in this order."""
        kept = list(places)
        return replace(
            self,
            groups=tuple(self.groups[place] for place in kept),
            n=self.n[kept],
            units=self.units[kept],
            weights=self.weights[:, kept],
            mean=self.mean[:, kept],
            centred=self.centred[..., kept],
            negative=self.negative[:, kept],
            missing=MissingReport(),
        )

    def _beside(self, other: MomentCounts) -> MomentCounts:
        """The groups of both, those of the other behind."""
        return replace(
            self,
            groups=(*self.groups, *other.groups),
            n=np.concatenate([self.n, other.n]),
            units=np.concatenate([self.units, other.units]),
            weights=np.concatenate([self.weights, other.weights], axis=-1),
            mean=np.concatenate([self.mean, other.mean], axis=-1),
            centred=np.concatenate([self.centred, other.centred], axis=-1),
            negative=np.concatenate([self.negative, other.negative], axis=-1),
            weighted=self.weighted or other.weighted,
            missing=MissingReport(),
        )

    def __add__(self, other: MomentCounts) -> MomentCounts:
        """Those of two sets of rows with the same groups; no unit may have rows in both."""
        check_summand(self, other, "groups", "columns", "clustered")
        joined = self._beside(other)
        merged = joined._with_new_groups(self.groups, [*range(len(self.groups))] * 2)
        return replace(merged, missing=self.missing + other.missing)


#: Name of an outcome in moments, and of the errors of its prediction.
OUTCOME = "y"
ERRORS = ("absolute_error", "residual", "squared_error")


def numbers_of_outcome(columns: Mapping[str, Floats]) -> dict[str, Floats]:
    """The outcome, and where there is a prediction its errors, row by row.

    `columns`: "outcome", and "predicted" where there is one.
    """
    numbers = {OUTCOME: columns["outcome"]}
    if "predicted" in columns:
        numbers |= errors_of_prediction(columns["outcome"], columns["predicted"])
    return numbers


def errors_of_prediction(outcome: Floats, predicted: Floats) -> dict[str, Floats]:
    """Absolute error, residual (prediction less outcome) and squared error of every row."""
    residual = predicted - outcome
    return {"absolute_error": np.abs(residual), "residual": residual, "squared_error": residual**2}


def shift_centre(centred: Floats, weights: Floats, shift: Floats) -> Floats:
    """The sums of e − δ·W instead of those of e, δ the `shift` of the mean, shape (V, G).

    Σ (e − δW)² = Σ e² − 2δ Σ eW + δ² Σ W², and so on; Σ eW is no square, and Σ e is 0.
    """
    squares, cubes, with_weight, squares_with_weight, with_squared_weight = centred
    _, squared_weights, cubed_weights = weights
    return np.array(
        [
            # where all numbers are equal rounding may go below 0
            np.maximum(squares - 2 * shift * with_weight + shift**2 * squared_weights, 0.0),
            cubes
            - 3 * shift * squares_with_weight
            + 3 * shift**2 * with_squared_weight
            - shift**3 * cubed_weights,
            with_weight - shift * squared_weights,
            squares_with_weight - 2 * shift * with_squared_weight + shift**2 * cubed_weights,
            with_squared_weight - shift * cubed_weights,
        ]
    )


def _sum_rows(
    values: Floats, codes: NDArray[np.intp], rows: NDArray[np.intp]
) -> tuple[Floats, Floats]:
    """Means and centred sums of plain rows, of which each is a unit of weight 1."""
    n_groups = rows.size
    counted = np.maximum(rows, 1)
    mean = np.bincount(codes, values, n_groups) / counted
    excess = values - mean[codes]
    # the second pass takes away what rounding left in the first
    correction = np.bincount(codes, excess, n_groups) / counted
    mean = mean + correction
    excess -= correction[codes]
    squared = excess * excess
    squares = np.bincount(codes, squared, n_groups)
    squared *= excess
    cubes = np.bincount(codes, squared, n_groups)
    nothing = np.zeros(n_groups)
    return mean, np.array([squares, cubes, nothing, squares, nothing])


@dataclass(frozen=True, eq=False)
class _Design:
    """Rows with weights or clusters: `weights`, Σ W, Σ W² and Σ W³ per group; `n_spread`: clusters with
    rows in several groups, of which nothing here holds.
    """

    codes: NDArray[np.intp]
    row_weight: Floats
    unit_of_row: NDArray[np.intp]
    group_of_unit: NDArray[np.intp]
    unit_weight: Floats
    weights: Floats
    n_spread: int

    @classmethod
    def of(cls, outcomes: Outcomes, codes: NDArray[np.intp], n_groups: int) -> Self:
        """The design of validated rows."""
        if outcomes.weight is None:
            row_weight = np.ones(codes.size)
        else:
            row_weight = outcomes.weight
        unit_of_row = np.arange(codes.size)
        group_of_unit = codes
        n_spread = 0
        if outcomes.cluster is not None:
            unit_of_row, group_of_unit = _units_within_groups(outcomes.cluster.codes, codes)
            is_elsewhere = group_of_unit[unit_of_row] != codes
            n_spread = int(np.unique(unit_of_row[is_elsewhere]).size)
        unit_sums = np.bincount(unit_of_row, row_weight, group_of_unit.size)
        unit_weight = np.asarray(unit_sums, dtype=np.float64)
        powers = (unit_weight**power for power in (1, 2, 3))
        weights = np.array([np.bincount(group_of_unit, power, n_groups) for power in powers])
        return cls(
            codes=codes,
            row_weight=row_weight,
            unit_of_row=unit_of_row,
            group_of_unit=group_of_unit,
            unit_weight=unit_weight,
            weights=weights,
            n_spread=n_spread,
        )

    def sum_values(self, values: Floats) -> tuple[Floats, Floats]:
        """Means and centred sums of one number."""
        n_groups = self.weights.shape[1]
        total_weight = np.where(self.weights[0] > 0, self.weights[0], 1.0)
        mean = np.bincount(self.codes, self.row_weight * values, n_groups) / total_weight
        excess_of_rows = self.row_weight * (values - mean[self.codes])
        correction = np.bincount(self.codes, excess_of_rows, n_groups) / total_weight
        mean = mean + correction
        excess_of_rows = self.row_weight * (values - mean[self.codes])
        excess = np.bincount(self.unit_of_row, excess_of_rows, self.unit_weight.size)
        products = (
            excess**2,
            excess**3,
            excess * self.unit_weight,
            excess**2 * self.unit_weight,
            excess * self.unit_weight**2,
        )
        sums = [np.bincount(self.group_of_unit, product, n_groups) for product in products]
        return mean, np.array(sums)


def refuse_spread_clusters(n_spread: int, *, stratified: bool = False) -> None:
    """Raise where clusters have rows in several groups, whose means would not be independent.

    `stratified`: the groups are those of a tally within its strata, whose sums would count a cluster
    in several strata as several.
    """
    if n_spread and stratified:
        raise InputError(
            "cluster",
            got=f"{n_spread:,} clusters with rows in more than one group or stratum",
            allowed="clusters that lie within one group and stratum: a tally of numbers has sums of"
            " every stratum, each by itself",
            cure="pass the rows, fs.means(y, strata=, cluster=), which counts such a cluster once"
            " over all strata; or make the tally without strata",
        )
    if n_spread:
        raise InputError(
            "cluster",
            got=f"{n_spread:,} clusters with rows in more than one group",
            allowed="clusters that lie within one group: only then are groups independent",
            cure="cross cluster and group, if they are independent, or compare within clusters",
        )


def _units_within_groups(
    cluster_codes: NDArray[Any], group_codes: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The unit of every row, and a group of every unit: of one with rows in two, one of them."""
    clusters, unit_of_row = np.unique(cluster_codes, return_inverse=True)
    group_of_unit = np.full(clusters.size, -1, dtype=np.intp)
    group_of_unit[unit_of_row] = group_codes
    return unit_of_row.astype(np.intp), group_of_unit
