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

References: DeLong, DeLong, Clarke-Pearson (1988), Biometrics 44, 837–845; Obuchowski (1997),
Nonparametric analysis of clustered ROC curve data, Biometrics 53, 567–578.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats
from fairstats.ground.outcomes import even_weights
from fairstats.numerics.means.ranks import Areas


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
class Part:
    """The area A of a group, `area`, beside that of all rows B, `of_all`.

    `own`: √(variance of A − B from rows of the group / Var A), for both have errors from these;
    `others`: √(variance of A − B from all other rows / Var B); `std_error`: of A − B. Of a ratio
    log A and log B stand for A and B.
    """

    area: Areas
    of_all: Areas
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


def area_beside_all(rows: ScoredRows, chosen: NDArray[np.bool_], *, ratio: bool) -> Part:
    """The area of some rows, of one stratum, beside that of all rows."""
    own_rows = rows.of(chosen)
    own_area = area_of_rows(own_rows)
    placements = rows.placements()
    positive_weights = rows.weight[rows.positive]
    area = float(np.average(placements[rows.positive], weights=positive_weights))
    of_all = _deviations(rows, placements)
    of_group = np.zeros_like(of_all)
    of_group[chosen] = _deviations(own_rows, own_rows.placements())
    variance = variance_of(rows, of_all)
    everybody = _with_sizes(rows, area, variance, of_all)
    scales = (1.0, 1.0)
    if ratio:
        scales = (float(own_area.area), area)
    contrast = of_group / scales[0] - of_all / scales[1]
    from_group = variance_of(own_rows, contrast[chosen])
    from_others = variance_of(rows.of(~chosen), contrast[~chosen])
    return Part(
        area=own_area,
        of_all=everybody,
        own=_root_of_share(from_group, float(own_area.variance) / scales[0] ** 2),
        others=_root_of_share(from_others, variance / scales[1] ** 2),
        std_error=float(np.sqrt(from_group + from_others)),
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
    variance = 0.0
    for stratum in np.unique(rows.stratum).tolist():
        in_stratum = rows.stratum == stratum
        inside = rows.of(in_stratum)
        if inside.unit is None:
            spread = inside.squares * deviation[in_stratum] ** 2
            for chosen in inside.of_label():
                variance += _bessel(int(inside.number[chosen].sum())) * float(spread[chosen].sum())
        else:
            excess = inside.weight * deviation[in_stratum]
            variance += _variance_of_clusters(inside, inside.unit, excess)
    return variance


def _variance_of_clusters(rows: ScoredRows, unit_codes: NDArray[np.intp], excess: Floats) -> float:
    """From the sums P and Q of every cluster over its rows of each label."""
    units, unit = np.unique(unit_codes, return_inverse=True)
    variance = 0.0
    sums = []
    for chosen in rows.of_label():
        sums_of_label = np.bincount(unit[chosen], excess[chosen], units.size)
        variance += _bessel(np.unique(unit[chosen]).size) * float(sums_of_label @ sums_of_label)
        sums.append(sums_of_label)
    of_positives, of_negatives = sums
    return variance + 2 * _bessel(units.size) * float(of_positives @ of_negatives)


def _bessel(n_units: int) -> float:
    """n/(n − 1); 1 of one, which shows no spread."""
    return n_units / (n_units - 1) if n_units > 1 else 1.0
