"""Areas under ROC curves of two groups, or of a group and everybody, within strata."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats, check_given
from fairstats.ground.scores import ScoreCounts
from fairstats.ground.serialise import serialisable
from fairstats.ground.stored import check_shape
from fairstats.ground.tallies.moments import MomentCounts
from fairstats.ground.tallies.stratum_moments import StratumMoments
from fairstats.methods.rates.numbers.areas import (
    AREA_INTERVAL,
    AREA_METHOD,
    area_of_everybody,
    beside_everybody,
    contrast_of_part,
    label_sizes,
    scored_rows,
    with_small_joined,
)
from fairstats.methods.rates.numbers.contrasts import NumberContrast, contrast_by_mover
from fairstats.methods.rates.numbers.cutoffs import CutRows
from fairstats.methods.rates.numbers.strata_pairs import (
    PairNames,
    divided,
    row_of_one_stratum,
    words_of_left_out,
)
from fairstats.numerics.means.placements import (
    BesideAll,
    ScoredRows,
    area_of_rows,
    areas_between_strata,
    scaled_errors,
    shares_in_labels,
    with_variances,
)
from fairstats.numerics.means.ranks import (
    Areas,
    AreasBetween,
    adjusted_area,
    adjusted_area_limits,
    area_limits,
    area_of_counts,
)
from fairstats.numerics.means.shared_units import products_between_strata, shares_units
from fairstats.numerics.means.strata import (
    Homogeneity,
    homogeneity_of_areas,
    mantel_haenszel_weights,
)

#: Rows of either label that a stratum needs for an area, and a group beyond the first of each.
ROWS_OF_AREA = 3
ROWS_BEYOND_OF_LABEL = 9
#: What `StratumAreas` has of every area.
_OF_AREAS = ("area", "variance", "positives", "negatives", "degrees_of_freedom")


@dataclass(frozen=True, eq=False)
class _RowsOfStrata:
    """Rows of all groups, stratum after stratum, whose clusters lie in several.

    `strata`: of each; `notes`: why a group has no area there; `unit`, `stratum`: of every row.
    """

    strata: tuple[ScoredRows, ...]
    notes: tuple[tuple[str, ...], ...]
    unit: NDArray[np.intp]
    stratum: NDArray[np.intp]

    @classmethod
    def of(cls, strata: Sequence[CutRows]) -> _RowsOfStrata:
        """From the rows of every stratum."""
        units = []
        for rows in strata:
            cluster = check_given("cluster", rows.required_outcomes().cluster)
            units.append(cluster.codes.astype(np.intp))
        sizes = [codes.size for codes in units]
        return cls(
            strata=tuple(scored_rows(rows) for rows in strata),
            notes=tuple(label_sizes(rows).notes() for rows in strata),
            unit=np.concatenate(units),
            stratum=np.repeat(np.arange(len(sizes)), sizes),
        )

    def products(self, values: Floats, others: Floats | None = None) -> Floats:
        """Σ over clusters of the products of their sums in two strata, shape (H, H)."""
        shape = (len(self.strata), 1)
        found = products_between_strata(self.unit, self.stratum, values, shape, others)
        return np.asarray(found[0])

    def errors_as_one(self) -> Floats:
        """What every row adds to the error of the area of its stratum as one group."""
        return np.concatenate([scaled_errors(rows.as_one()) for rows in self.strata])

    def shared_with(self, group: int) -> Floats:
        """What a group, and all others, add to the area of all, and the covariance; (3, H, H)."""
        insides = []
        of_all = []
        own = []
        for rows, notes in zip(self.strata, self.notes, strict=True):
            inside = rows.stratum == group
            own_errors = np.zeros(inside.size)
            own_rows = rows.of(inside).as_one()
            if own_rows.has_area():
                own_errors[inside] = scaled_errors(own_rows)
            insides.append(inside)
            own.append(own_errors)
            of_all.append(scaled_errors(with_small_joined(rows, group, notes)))
        errors = np.concatenate(of_all)
        from_group = np.where(np.concatenate(insides), errors, 0.0)
        return np.stack(
            [
                self.products(from_group),
                self.products(errors - from_group),
                self.products(np.concatenate(own), from_group),
            ]
        )

    def units_between(self, label: bool) -> Floats:
        """Σ over clusters of the products of their shares in the weight of a label, shape (H, H)."""
        shares = np.concatenate([shares_in_labels(rows) for rows in self.strata])
        positive = np.concatenate([rows.positive for rows in self.strata])
        return self.products(np.where(positive == label, shares, 0.0))


@serialisable(eq=False)
class StratumAreas:
    """Areas under the ROC curves of every group within the strata.

    Attributes
    ----------
    area, variance : ndarray of float, shape (H, G)
        AUC and its variance, NaN where a label has fewer than two rows.
    positives, negatives : ndarray, shape (H, G)
        Rows of either label, effective ones of rows with weights or in clusters.
    counted : ndarray of int, shape (2, H, G), optional
        Of such rows: rows, or clusters that have some, with label 1 and with label 0.
    weight : ndarray of float, shape (H, G), optional
        Of such rows: sum of the weights of the positives.
    df : ndarray of float, shape (H, G), optional
        Of such rows: degrees of freedom of the variance.
    everybody : StratumAreas, optional
        Of groups beside everybody, of whom all others stand behind the G/2 groups: the area of all
        rows, shape (H, 1 + G/2), first as one group, and then as each group is compared with it.
    shared : ndarray of float, shape (3, H, G/2), optional
        Of these: what rows of the group, and what all others, add to the variance of the area of all
        rows, and the covariance of both areas.
    covariance : ndarray of float, shape (G, H, H), optional
        Where clusters lie in several strata: of the areas of a group in these.
    units_between : ndarray of float, shape (2, G, H, H), optional
        Of these: sums over clusters of the products of their shares in the weight of label 1, and of
        label 0, of two strata.
    shared_between : ndarray of float, shape (3, G/2, H, H), optional
        As `shared`, of two strata.
    """

    area: NDArray[np.float64]
    variance: NDArray[np.float64]
    positives: NDArray[Any]
    negatives: NDArray[Any]
    counted: NDArray[np.int64] | None = None
    weight: NDArray[np.float64] | None = None
    df: NDArray[np.float64] | None = None
    everybody: StratumAreas | None = None
    shared: NDArray[np.float64] | None = None
    covariance: NDArray[np.float64] | None = None
    units_between: NDArray[np.float64] | None = None
    shared_between: NDArray[np.float64] | None = None

    def check_stored(self) -> None:
        """Raise unless what was read from a file has one entry a stratum and group."""
        for name in ("variance", "positives", "negatives", "weight", "df"):
            check_shape(self, name, getattr(self, name), self.area.shape)
        check_shape(self, "counted", self.counted, (2, *self.area.shape))
        n_strata, n_sides = self.area.shape
        between = (n_sides, n_strata, n_strata)
        check_shape(self, "covariance", self.covariance, between)
        check_shape(self, "units_between", self.units_between, (2, *between))
        if self.everybody is not None:
            check_shape(self, "everybody", self.everybody.area, (n_strata, 1 + n_sides // 2))
            check_shape(self, "shared", self.shared, (3, n_strata, n_sides // 2))
            of_groups = (3, n_sides // 2, n_strata, n_strata)
            check_shape(self, "shared_between", self.shared_between, of_groups)

    @classmethod
    def _from_scores(cls, cells: ScoreCounts, n_strata: int, n_groups: int) -> StratumAreas:
        """Of rows counted by score in the crossings, the groups of a stratum next to each other."""
        shape = (n_strata, n_groups)
        area = np.full(n_strata * n_groups, np.nan)
        variance = np.full(n_strata * n_groups, np.nan)
        rows = cells.counts.sum(axis=2)
        for place, (negatives, positives) in enumerate(cells.counts):
            if min(rows[place]) > 1:
                found = area_of_counts(negatives, positives)
                area[place] = found.area
                variance[place] = found.variance
        return cls(
            area=area.reshape(shape),
            variance=variance.reshape(shape),
            positives=rows[:, 1].reshape(shape).astype(np.int64),
            negatives=rows[:, 0].reshape(shape).astype(np.int64),
        )

    @classmethod
    def _from_rows(
        cls, scored: ScoredRows, n_strata: int, n_groups: int, *, is_spread: bool = False
    ) -> StratumAreas:
        """Of rows with weights or in clusters, whose strata are the crossings.

        `is_spread`: whether clusters lie in several strata.
        """
        size = n_strata * n_groups
        found = {name: np.full(size, np.nan) for name in ("area", "variance", "df")}
        effective = np.zeros((2, size))
        counted = np.zeros((2, size), dtype=np.int64)
        weight = np.zeros(size)
        for place in range(size):
            own_rows = scored.of(scored.stratum == place).as_one()
            weight[place] = own_rows.weight[own_rows.positive].sum()
            for label, chosen in enumerate(own_rows.of_label()):
                counted[label, place] = own_rows.count_units(chosen)
            if own_rows.has_area():
                areas = area_of_rows(own_rows)
                found["area"][place] = areas.area
                found["variance"][place] = areas.variance
                found["df"][place] = max(float(areas.degrees_of_freedom), 1.0)
                effective[:, place] = areas.positives, areas.negatives
        shape = (n_strata, n_groups)
        covariance = None
        units_between = None
        if is_spread:
            covariance, units_between = areas_between_strata(scored, found["variance"], shape)
        return cls(
            covariance=covariance,
            units_between=units_between,
            area=found["area"].reshape(shape),
            variance=found["variance"].reshape(shape),
            positives=effective[0].reshape(shape),
            negatives=effective[1].reshape(shape),
            counted=counted.reshape(2, *shape),
            weight=weight.reshape(shape),
            df=found["df"].reshape(shape),
        )

    def _with_everybody(self, strata: Sequence[CutRows]) -> StratumAreas:
        """The same with the area of all rows of every stratum, as its groups are compared with it."""
        n_groups = self.area.shape[1] // 2
        shape = (len(strata), 1 + n_groups)
        columns = {name: np.full(shape, np.nan) for name in _OF_AREAS}
        shared = np.full((3, len(strata), n_groups), np.nan)
        for stratum, rows in enumerate(strata):
            scored = scored_rows(rows)
            notes = label_sizes(rows).notes()
            found = {0: area_of_everybody(scored)}
            for group in np.flatnonzero(np.isfinite(self.area[stratum, :n_groups])).tolist():
                beside = beside_everybody(scored, group, notes)
                found[1 + group] = beside.of_all
                shared[:, stratum, group] = (
                    beside.from_group,
                    beside.from_others,
                    beside.covariance,
                )
            for place, areas in found.items():
                if areas is not None:
                    for name, column in columns.items():
                        column[stratum, place] = getattr(areas, name)
        everybody = StratumAreas(
            area=columns["area"],
            variance=columns["variance"],
            positives=columns["positives"],
            negatives=columns["negatives"],
            df=None if self.df is None else columns["degrees_of_freedom"],
        )
        with_all = replace(self, everybody=everybody, shared=shared)
        return with_all if self.covariance is None else with_all._with_shared_clusters(strata)

    def _with_shared_clusters(self, strata: Sequence[CutRows]) -> StratumAreas:
        """The same with what the strata share of everybody."""
        everybody = check_given("everybody", self.everybody)
        shared = check_given("shared", self.shared)
        rows = _RowsOfStrata.of(strata)
        n_groups = shared.shape[2]
        covariance = [rows.products(rows.errors_as_one())]
        between = []
        for group in range(n_groups):
            of_parts = rows.shared_with(group)
            covariance.append(of_parts[0] + of_parts[1])
            between.append(with_variances(of_parts, shared[:, :, group]))
        units = np.stack([rows.units_between(label) for label in (True, False)])
        everybody = replace(
            everybody,
            covariance=with_variances(np.stack(covariance), everybody.variance.T),
            units_between=np.repeat(units[:, None], 1 + n_groups, axis=1),
        )
        return replace(self, everybody=everybody, shared_between=np.stack(between, axis=1))

    def _counted_of(self, place: int) -> NDArray[np.int64]:
        """Rows, or clusters, of one group with label 1 and 0 in all strata, shape (2, H)."""
        if self.counted is None:
            return np.stack([self.positives[:, place], self.negatives[:, place]])
        return self.counted[:, :, place]

    def _weight_of(self, place: int) -> Floats:
        """Weight of the positives of one group in all strata, shape (H,)."""
        weight = self.positives if self.weight is None else self.weight
        return weight[:, place].astype(np.float64)

    def _of_group(self, place: int) -> Areas:
        """Those of one group in all strata."""
        return Areas(
            area=self.area[:, place],
            variance=self.variance[:, place],
            positives=self.positives[:, place].astype(np.float64),
            negatives=self.negatives[:, place].astype(np.float64),
            df=None if self.df is None else self.df[:, place],
            between=self._between(place),
        )

    def _shared_with_all(self, group: int) -> Floats:
        """What a group and everybody share, shape (3, H), or (3, H, H) of shared clusters."""
        if self.shared_between is not None:
            return np.asarray(self.shared_between[:, group])
        return np.asarray(check_given("shared", self.shared)[:, :, group])

    def _between(self, place: int) -> AreasBetween | None:
        """What the strata of a group share; None where clusters lie in one each."""
        if self.covariance is None or self.units_between is None:
            return None
        between = AreasBetween(self.covariance[place], self.units_between[:, place])
        return between if shares_units(*between.weights) else None


@dataclass(frozen=True, eq=False)
class PairOfAreas:
    """Adjusted AUCs of a group (position 0) and its reference (1), as `GroupValues`.

    As `PairWithinStrata`, with areas in place of means; strata count by their positives. `counted`:
    rows, or clusters, of both labels in all strata, shape (2, H) each.
    """

    names: tuple[str, str]
    strata: tuple[str, ...]
    parts: tuple[Areas, Areas]
    counted: tuple[NDArray[np.int64], NDArray[np.int64]]
    n: tuple[NDArray[np.int64], NDArray[np.int64]]
    used: NDArray[np.bool_]
    shares: Floats
    rows: MomentCounts

    @property
    def _needs(self) -> str:
        kind = "clusters" if self.rows.clustered else "rows"
        return f"{ROWS_OF_AREA} {kind} of each label of both"

    @property
    def method(self) -> str:
        """Name of the procedure."""
        return AREA_METHOD

    @property
    def interval_method(self) -> str:
        """Name of what a group's own interval is by."""
        return AREA_INTERVAL

    def value(self, position: int) -> float:
        """The adjusted area."""
        if not self.used.any():
            return math.nan
        return float(adjusted_area(self.parts[position].take(self.used), self.shares))

    def interval(self, position: int, z: float) -> tuple[float, float]:
        """The wider of both limits."""
        if not self.used.any():
            return math.nan, math.nan
        low, high = adjusted_area_limits(self.parts[position].take(self.used), self.shares, z)
        return float(low), float(high)

    def variances(self) -> Floats:
        """Variances of the adjusted areas."""
        found = []
        for part in self.parts:
            found.append(float((self.shares**2 * part.take(self.used).variance).sum()))
        return np.array(found)

    def why_not(self, position: int, *, ratio: bool) -> str:
        """Too few rows of a label in the strata that both share."""
        name = self.names[position]
        if not self.used.any():
            if position == 1:
                return ""
            return f"{name} and {self.names[1]}: no stratum has {self._needs}."
        beyond = float((self.counted[position][:, self.used] - 1).sum(axis=1).min())
        between = self.parts[position].take(self.used).between
        if between is not None:
            # a cluster in several strata counts once
            fewest = [1 / float(self.shares @ each @ self.shares) for each in between.weights]
            beyond = min(beyond, min(fewest) - 1)
        if beyond < ROWS_BEYOND_OF_LABEL - 1e-9:
            kind = "clusters" if self.rows.clustered else "rows"
            return (
                f"{name} has {beyond:.3g} {kind} of its rarer label beyond the first of every stratum"
                f" that it shares with {self.names[1 - position]}, and adjusted areas need"
                f" {ROWS_BEYOND_OF_LABEL}."
            )
        return ""

    def contrast(self, group: int, reference: int, *, ratio: bool) -> NumberContrast:
        """By MOVER, of ratios on the logarithmic scale."""
        return contrast_by_mover(self.value, self.interval, (group, reference), ratio=ratio)

    def homogeneity(self, *, ratio: bool) -> Homogeneity | None:
        """Whether one difference holds in all strata; of ratios there is no test.

        Nor where clusters lie in several strata, which are not independent.
        """
        if ratio or any(part.between is not None for part in self.parts):
            return None
        return homogeneity_of_areas(*(part.take(self.used) for part in self.parts))

    def informative(self, *, ratio: bool) -> int:
        """Strata with five rows of each label of both and a spread."""
        return homogeneity_of_areas(*(part.take(self.used) for part in self.parts)).informative

    def left_out(self) -> str:
        """Which strata are not used, with their rows; empty where all are."""
        return words_of_left_out(self.names, self.strata, self.n, self.used, self._needs)

    def row_of_stratum(self, place: int, z: float, *, ratio: bool) -> dict[str, Any]:
        """What a table says of one stratum."""
        alone = np.arange(len(self.strata)) == place
        parts = [part.take(alone) for part in self.parts]
        values = [float(np.asarray(part.area)[0]) for part in parts]
        estimate = divided(*values) if ratio else values[0] - values[1]
        limits = (math.nan, math.nan)
        if self.used[place]:

            def interval(position: int, z: float) -> tuple[float, float]:
                low, high = area_limits(parts[position], z)
                return float(np.asarray(low)[0]), float(np.asarray(high)[0])

            contrast = contrast_by_mover(values.__getitem__, interval, (0, 1), ratio=ratio)
            limits = contrast.limits(z)
        return row_of_one_stratum(self, place, values, estimate, limits)


@dataclass(frozen=True, eq=False)
class PairOfAreasBesideAll(PairOfAreas):
    """A group (position 0) beside everybody (1), as `GroupValues`.

    The second of `parts` and `counted` are all others; `everybody`: the area of all rows of every
    stratum as one group; `beside`: as the group is compared with it.
    """

    everybody: Areas = None  # type: ignore[assignment]
    beside: BesideAll = None  # type: ignore[assignment]

    def _shown(self, position: int) -> Areas:
        """The areas of the group, or of everybody, in the strata that are used."""
        areas = self.parts[0] if position == 0 else self.everybody
        return areas.take(self.used)

    def value(self, position: int) -> float:
        """The adjusted area."""
        if not self.used.any():
            return math.nan
        return float(adjusted_area(self._shown(position), self.shares))

    def interval(self, position: int, z: float) -> tuple[float, float]:
        """The wider of both limits."""
        if not self.used.any():
            return math.nan, math.nan
        low, high = adjusted_area_limits(self._shown(position), self.shares, z)
        return float(low), float(high)

    def why_not(self, position: int, *, ratio: bool) -> str:
        """Too few rows of a label of the group: everybody has these, too."""
        return super().why_not(position, ratio=ratio) if position == 0 else ""

    def contrast(self, group: int, reference: int, *, ratio: bool) -> NumberContrast:
        """By MOVER over the strata of what the difference has of either's errors."""
        areas = (self.parts[0].take(self.used), self.beside.of_all.take(self.used))
        values = (self.value(0), self.value(1))
        part = self.beside.take(self.used).part(values if ratio else (1.0, 1.0), self.shares)

        def interval(position: int, z: float) -> tuple[float, float]:
            low, high = adjusted_area_limits(areas[position], self.shares, z)
            return float(low), float(high)

        return contrast_of_part(values, interval, part, ratio=ratio)

    def homogeneity(self, *, ratio: bool) -> Homogeneity | None:
        """None: a group is not as far from everybody in every stratum, where its share differs."""
        return None

    def informative(self, *, ratio: bool) -> int:
        """None."""
        return 0

    def left_out(self) -> str:
        """Which strata are not used, with their rows; empty where all are."""
        n = (self.n[0], self.n[0] + self.n[1])
        return words_of_left_out(self.names, self.strata, n, self.used, self._needs)

    def row_of_stratum(self, place: int, z: float, *, ratio: bool) -> dict[str, Any]:
        """What a table says of one stratum."""
        alone = np.arange(len(self.strata)) == place
        pair = replace(self, used=alone, shares=np.ones(1))
        values = (pair.value(0), pair.value(1))
        estimate = divided(*values) if ratio else values[0] - values[1]
        limits = (math.nan, math.nan)
        if self.used[place]:
            limits = pair.contrast(0, 1, ratio=ratio).limits(z)
        row = row_of_one_stratum(self, place, values, estimate, limits)
        row["n_reference"] += row["n"]
        return row


def pair_of_areas(moments: StratumMoments, areas: StratumAreas, pair: PairNames) -> PairOfAreas:
    """Both groups in all strata; those with three rows of each label of both are used.

    Beside everybody strata count by the positives of the group alone.
    """
    places = pair.places
    parts = (areas._of_group(places[0]), areas._of_group(places[1]))
    counted = (areas._counted_of(places[0]), areas._counted_of(places[1]))
    has_areas = np.isfinite(parts[0].area) & np.isfinite(parts[1].area)
    fewest = np.minimum(counted[0].min(axis=0), counted[1].min(axis=0))
    used = np.asarray((fewest >= ROWS_OF_AREA) & has_areas)
    shares = np.zeros(0)
    if used.any():
        weights = [areas._weight_of(place)[used] for place in places]
        shares = mantel_haenszel_weights(weights[0], weights[1])
        if pair.of_all:
            shares = weights[0] / weights[0].sum()
    n_of_cells = moments.cells.n.reshape(len(moments.strata), len(moments.groups))
    of_pair = PairOfAreas(
        names=pair.names,
        strata=moments.strata,
        parts=parts,
        counted=counted,
        n=(n_of_cells[:, places[0]], n_of_cells[:, places[1]]),
        used=used,
        shares=shares,
        rows=pair.named(moments._pair(places[0], places[1], np.flatnonzero(used))),
    )
    if not pair.of_all:
        return of_pair
    everybody = check_given("everybody", areas.everybody)
    from_group, from_others, covariance = areas._shared_with_all(places[0])
    beside = BesideAll(
        area=parts[0],
        of_all=everybody._of_group(1 + places[0]),
        from_group=from_group,
        from_others=from_others,
        covariance=covariance,
    )
    of_both = {each.name: getattr(of_pair, each.name) for each in fields(of_pair)}
    return PairOfAreasBesideAll(**of_both, everybody=everybody._of_group(0), beside=beside)
