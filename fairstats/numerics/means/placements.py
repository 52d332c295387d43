"""Areas under ROC curves of weighted or clustered rows, and of a group beside all rows.

V of a row with label 1 is the weighted share of the rows with label 0 below it, of a row with label
0 that of the rows with label 1 above it (ties count half). The area is linear in the rows of either
label, so that a row of weight w adds w·d to its error, with d = (V − mean V)/W and W the weight of
its label,

    A = Σ w·V/W₁,      Var A = Σ over labels n/(n − 1)·Σ (w·d)²,

which is DeLong's variance where all weights are 1. Of rows in clusters the sums P and Q of w·d over
the rows of a cluster with label 1 and 0 take their place (Obuchowski),

    Var A = I₁/(I₁ − 1)·Σ P² + I₀/(I₀ − 1)·Σ Q² + 2·I/(I − 1)·Σ P·Q,

I₁, I₀ and I the clusters with rows of label 1, of label 0, and all. The shares of the groups in
the rows of a label are held fixed in an area of several groups: then mean V is that of the row's
own group and label, and two areas of overlapping rows vary together by the products of their w·d.

Clusters with rows in several strata make areas of these vary together, by the products of their sums
of w·d, each with √(n/(n − 1)) of its stratum.

References: DeLong, DeLong, Clarke-Pearson (1988), Biometrics 44, 837–845; Obuchowski (1997),
Nonparametric analysis of clustered ROC curve data, Biometrics 53, 567–578.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats, Numbers, check_given
from fairstats.ground.outcomes import even_weights
from fairstats.numerics.means.ranks import Areas
from fairstats.numerics.means.shared_units import products_between_strata


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Rows, or kinds of rows that agree in all of this; arrays of shape (k,).

    `place`: position of the score among all scores, ascending; `positive`: whether the label is 1;
    `stratum`: rows among which V is centred, a group or several; `number`: of rows; `weight`,
    `squares`: sums of their weights and of the squares of these; `unit`: the cluster of each, None
    where rows are independent.
    """

    place: NDArray[np.intp]
    positive: NDArray[np.bool_]
    stratum: NDArray[np.intp]
    number: NDArray[Any]
    weight: Floats
    squares: Floats
    unit: NDArray[np.intp] | None = None

    def of(self, chosen: NDArray[np.bool_]) -> ScoredRows:
        """Some of the rows."""
        return replace(
            self,
            place=self.place[chosen],
            positive=self.positive[chosen],
            stratum=self.stratum[chosen],
            number=self.number[chosen],
            weight=self.weight[chosen],
            squares=self.squares[chosen],
            unit=None if self.unit is None else self.unit[chosen],
        )

    def as_one(self) -> ScoredRows:
        """The same rows as one stratum."""
        return replace(self, stratum=np.zeros_like(self.stratum))

    @property
    def is_plain(self) -> bool:
        """Whether rows are independent and of one weight."""
        return self.unit is None and bool(
            even_weights(self.number.sum(), self.weight.sum(), self.squares.sum())
        )

    def has_area(self) -> bool:
        """Whether there are two rows of either label, with weights above 0."""
        for chosen in self.of_label():
            if self.number[chosen].sum() < 2 or not self.weight[chosen].sum() > 0:
                return False
        return True

    def of_label(self) -> Iterator[NDArray[np.bool_]]:
        """The rows with label 1, and those with label 0."""
        yield self.positive
        yield ~self.positive

    def placements(self) -> Floats:
        """V of every row."""
        n_places = int(self.place.max(initial=-1)) + 1
        of_negatives = np.bincount(self.place, self.weight * ~self.positive, n_places)
        of_positives = np.bincount(self.place, self.weight * self.positive, n_places)
        below = (np.cumsum(of_negatives) - of_negatives / 2) / of_negatives.sum()
        above = 1 - (np.cumsum(of_positives) - of_positives / 2) / of_positives.sum()
        return np.asarray(np.where(self.positive, below[self.place], above[self.place]))

    def effective_rows(self, chosen: NDArray[np.bool_]) -> float:
        """Kish's (Σ w)²/Σ w² of some rows."""
        squares = float(self.squares[chosen].sum())
        return float(self.weight[chosen].sum()) ** 2 / squares if squares > 0 else 0.0

    def count_units(self, chosen: NDArray[np.bool_]) -> int:
        """The clusters that some rows lie in; the rows where there are none."""
        if self.unit is None:
            return int(self.number[chosen].sum())
        return int(np.unique(self.unit[chosen]).size)

    def effective_units(self, chosen: NDArray[np.bool_]) -> float:
        """Kish's number of the clusters that some rows lie in; of rows where there are none."""
        if self.unit is None:
            return self.effective_rows(chosen)
        unit_weights = np.bincount(self.unit[chosen], self.weight[chosen])
        squares = float((unit_weights**2).sum())
        return float(unit_weights.sum()) ** 2 / squares if squares > 0 else 0.0


@dataclass(frozen=True, eq=False)
class BesideAll:
    """The area A of a group, `area`, beside that of all rows B, `of_all`.

    What rows of the group add to the variance of B is `from_group`, and all others add `from_others`;
    `covariance`: of A and B, which have errors from rows of the group both. Floats, or arrays of
    shape (H,) of the strata, or (H, H) where these share clusters.
    """

    area: Areas
    of_all: Areas
    from_group: Numbers
    from_others: Numbers
    covariance: Numbers

    def take(self, places: NDArray[np.bool_]) -> BesideAll:
        """Some of the strata, of arrays of shape (H,)."""
        columns = {}
        for name in ("from_group", "from_others", "covariance"):
            of_strata = np.asarray(getattr(self, name))
            columns[name] = of_strata[np.ix_(*[places] * of_strata.ndim)]
        return BesideAll(area=self.area.take(places), of_all=self.of_all.take(places), **columns)

    def part(self, scales: tuple[float, float], shares: Floats | None = None) -> Part:
        """The variance of Σ ω·(A/scale − B/scale of all), `shares` the ω of strata."""
        weights = np.ones(1) if shares is None else shares

        def total(variance: Numbers) -> float:
            if np.ndim(variance) == 2:
                return float(weights @ variance @ weights)
            return float((weights**2 * variance).sum())

        own, everybody = scales
        variances = []
        for areas in (self.area, self.of_all):
            shared = areas.between
            variances.append(total(areas.variance if shared is None else shared.covariance))
        of_group = (
            variances[0] / own**2
            - 2 * total(self.covariance) / (own * everybody)
            + total(self.from_group) / everybody**2
        )
        of_group = max(of_group, 0.0)
        of_others = total(self.from_others) / everybody**2
        return Part(
            own=_root_of_share(of_group, variances[0] / own**2),
            others=_root_of_share(of_others, variances[1] / everybody**2),
            std_error=float(np.sqrt(of_group + of_others)),
        )


class Part(NamedTuple):
    """What a difference of A and B has of the errors of either.

    `own`: √(variance of A − B from rows of the group / Var A), for both have errors from these;
    `others`: √(variance of A − B from all other rows / Var B); `std_error`: of A − B. Of a ratio
    A and B are divided by their estimates.
    """

    own: float
    others: float
    std_error: float


def area_of_rows(rows: ScoredRows) -> Areas:
    """The area of rows with both labels, with its variance and effective rows."""
    placements = rows.placements()
    area = float(np.average(placements[rows.positive], weights=rows.weight[rows.positive]))
    deviation = _deviations(rows, placements)
    variance = variance_of(rows, deviation)
    return _with_sizes(rows, area, variance, deviation)


def errors_of_area(rows: ScoredRows) -> Floats:
    """What every row adds to the error of the area of all of them, w·d."""
    return rows.weight * _deviations(rows, rows.placements())


def scaled_errors(rows: ScoredRows) -> Floats:
    """The same, in every stratum times √(n/(n − 1)), n its rows or clusters; 0 without an area."""
    if not rows.has_area():
        return np.zeros(rows.place.size)
    errors = errors_of_area(rows)
    for stratum in np.unique(rows.stratum).tolist():
        inside = rows.stratum == stratum
        errors[inside] *= np.sqrt(_bessel(rows.count_units(inside)))
    return errors


def shares_in_labels(rows: ScoredRows) -> Floats:
    """Share of every row in the weight of its label."""
    shares = np.zeros(rows.place.size)
    for label in rows.of_label():
        total = float(rows.weight[label].sum())
        if total > 0:
            shares[label] = rows.weight[label] / total
    return shares


def areas_between_strata(
    rows: ScoredRows, variances: Floats, shape: tuple[int, int]
) -> tuple[Floats, Floats]:
    """What areas of the strata share whose rows are of the same clusters, of every side.

    `rows`: of crossings of strata and sides, the sides of a stratum next to each other; `variances`:
    of their areas; `shape`: numbers of strata and of sides. Covariances have the shape (sides, H,
    H), products of the clusters' shares in the weight of either label (2, sides, H, H).
    """
    unit = check_given("cluster", rows.unit)
    errors = np.zeros(rows.place.size)
    shares = np.zeros(rows.place.size)
    for cell in np.flatnonzero(np.isfinite(variances)).tolist():
        chosen = rows.stratum == cell
        inside = rows.of(chosen).as_one()
        errors[chosen] = scaled_errors(inside)
        shares[chosen] = shares_in_labels(inside)
    covariance = products_between_strata(unit, rows.stratum, errors, shape)
    covariance = with_variances(covariance, variances.reshape(shape).T)
    return covariance, units_between_strata(rows, unit, rows.stratum, shares, shape)


def with_variances(covariance: Floats, variances: Floats) -> Floats:
    """Covariances of strata, shape (…, H, H), with these on the diagonal, 0 where there are none."""
    places = np.arange(covariance.shape[-1])
    filled = covariance.copy()
    filled[..., places, places] = np.nan_to_num(variances)
    return filled


def units_between_strata(
    rows: ScoredRows,
    unit: NDArray[np.intp],
    cell: NDArray[np.intp],
    shares: Floats,
    shape: tuple[int, int],
) -> Floats:
    """Σ_u a_uh·a_uk of either label, from the shares of rows in its weight."""
    found = []
    for label in rows.of_label():
        found.append(products_between_strata(unit[label], cell[label], shares[label], shape))
    return np.stack(found)


def _with_sizes(rows: ScoredRows, area: float, variance: float, deviation: Floats) -> Areas:
    """The area with rows of both labels: effective ones under weights and clusters.

    Rows of clusters count as many as would have this variance if they were independent.
    """
    positives, negatives = (rows.effective_rows(chosen) for chosen in rows.of_label())
    if rows.is_plain:
        return Areas(area=area, variance=variance, positives=positives, negatives=negatives)
    units = [rows.effective_units(chosen) for chosen in rows.of_label()]
    if rows.unit is not None:
        independent = replace(rows, unit=None)
        variance_of_rows = variance_of(independent, deviation)
        if variance > 0 and variance_of_rows > 0:
            share = min(variance_of_rows / variance, 1.0)
            positives *= share
            negatives *= share
        else:
            # labels that scores separate show no variance: then the clusters count
            positives, negatives = units
    return Areas(
        area=area,
        variance=variance,
        positives=positives,
        negatives=negatives,
        df=max(min(units) - 1, 1.0),
    )


def area_beside_all(rows: ScoredRows, chosen: NDArray[np.bool_]) -> BesideAll:
    """The area of some rows, of one stratum, beside that of all rows."""
    own_rows = rows.of(chosen)
    own_area = area_of_rows(own_rows)
    placements = rows.placements()
    positive_weights = rows.weight[rows.positive]
    area = float(np.average(placements[rows.positive], weights=positive_weights))
    of_all = _deviations(rows, placements)
    of_group = _deviations(own_rows, own_rows.placements())
    other_rows = rows.of(~chosen)
    from_group = variance_of(own_rows, of_all[chosen])
    from_others = variance_of(other_rows, of_all[~chosen])
    return BesideAll(
        area=own_area,
        of_all=_with_sizes(rows, area, from_group + from_others, of_all),
        from_group=from_group,
        from_others=from_others,
        covariance=covariance_of(own_rows, of_group, of_all[chosen]),
    )


def _root_of_share(part: float, whole: float) -> float:
    """√(part/whole); 1 where the whole has no variance."""
    return float(np.sqrt(part / whole)) if whole > 0 else 1.0


def _deviations(rows: ScoredRows, placements: Floats) -> Floats:
    """D of every row: V less its mean in the stratum and label, by the weight of the label."""
    deviation = np.zeros(placements.size)
    n_strata = int(rows.stratum.max(initial=-1)) + 1
    for chosen in rows.of_label():
        stratum = rows.stratum[chosen]
        weight = rows.weight[chosen]
        total = np.bincount(stratum, weight, n_strata)
        sums = np.bincount(stratum, weight * placements[chosen], n_strata)
        mean = sums / np.where(total > 0, total, 1.0)
        deviation[chosen] = (placements[chosen] - mean[stratum]) / weight.sum()
    return deviation


def variance_of(rows: ScoredRows, deviation: Floats) -> float:
    """Variance of an area, or of a difference of two, from d of every row."""
    return covariance_of(rows, deviation, deviation)


def covariance_of(rows: ScoredRows, deviation: Floats, other: Floats) -> float:
    """Covariance of two areas of the same rows, from d of every row in either."""
    covariance = 0.0
    for stratum in np.unique(rows.stratum).tolist():
        in_stratum = rows.stratum == stratum
        inside = rows.of(in_stratum)
        if inside.unit is None:
            products = inside.squares * deviation[in_stratum] * other[in_stratum]
            for chosen in inside.of_label():
                factor = _bessel(int(inside.number[chosen].sum()))
                covariance += factor * float(products[chosen].sum())
        else:
            excesses = (inside.weight * deviation[in_stratum], inside.weight * other[in_stratum])
            covariance += _covariance_of_clusters(inside, inside.unit, excesses)
    return covariance


def _covariance_of_clusters(
    rows: ScoredRows, unit_codes: NDArray[np.intp], excesses: tuple[Floats, Floats]
) -> float:
    """From the sums P and Q of every cluster over its rows of each label, of both areas."""
    units, unit = np.unique(unit_codes, return_inverse=True)
    covariance = 0.0
    sums = []
    for chosen in rows.of_label():
        of_label = [np.bincount(unit[chosen], each[chosen], units.size) for each in excesses]
        factor = _bessel(np.unique(unit[chosen]).size)
        covariance += factor * float(of_label[0] @ of_label[1])
        sums.append(of_label)
    positives, negatives = sums
    crossed = float(positives[0] @ negatives[1]) + float(negatives[0] @ positives[1])
    return covariance + _bessel(units.size) * crossed


def _bessel(n_units: int) -> float:
    """n/(n − 1); 1 of one, which shows no spread."""
    return n_units / (n_units - 1) if n_units > 1 else 1.0
