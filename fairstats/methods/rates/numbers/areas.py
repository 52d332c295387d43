"""Areas under ROC curves by group: of counted rows, of rows with weights or clusters, of all rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats, check_given
from fairstats.ground.outcomes import Outcomes
from fairstats.ground.scores import ScoreCounts
from fairstats.methods.rates.numbers.compare import OVERALL, REST, Side
from fairstats.methods.rates.numbers.contrasts import (
    NumberContrast,
    PartContrast,
    contrast_by_mover,
)
from fairstats.methods.rates.numbers.cutoffs import CutRows
from fairstats.numerics.means.placements import (
    BesideAll,
    Part,
    ScoredRows,
    area_beside_all,
    area_of_rows,
)
from fairstats.numerics.means.ranks import Areas, area_limits, area_of_counts

#: Rows of either label that a group needs for an area or a regression.
LEAST_OF_LABEL = 10
#: Fewer rows of a label are remarked on.
FEW_OF_LABEL = 30
#: Names of what an area's own interval is by, and of what compares two of them.
AREA_INTERVAL = "logit DeLong and Newcombe"
AREA_METHOD = f"{AREA_INTERVAL} (MOVER)"


@dataclass(frozen=True, eq=False)
class LabelSizes:
    """Rows of both labels, of every group and, behind them, of all others of each where asked for.

    `sizes`, shape (N, 2): rows, or where rows come in clusters the clusters that have such rows;
    `effective`: by their weights; `kind`: what is counted.
    """

    names: tuple[str, ...]
    sizes: NDArray[np.int64]
    effective: Floats
    kind: str = "rows"

    def notes(self) -> tuple[str, ...]:
        """Why a group has no area or regression, empty where it has one."""
        notes = []
        for name, sizes in zip(self.names, self.sizes.tolist(), strict=True):
            note = ""
            if min(sizes) < LEAST_OF_LABEL:
                note = f"{name} has {sizes[0]:,} and {sizes[1]:,} {self.kind} of the two labels,"
                note += f" and needs {LEAST_OF_LABEL} of each."
            notes.append(note)
        return tuple(notes)

    def remarks(self) -> tuple[str, ...]:
        """A sentence on groups whose area rests on few rows of a label."""
        few = []
        for name, sizes, effective in zip(self.names, self.sizes, self.effective, strict=True):
            if sizes.min() >= LEAST_OF_LABEL and effective.min() < FEW_OF_LABEL:
                few.append(name)
        if not few:
            return ()
        is_effective = bool((self.effective < self.sizes - 1e-9).any())
        kind = f"effective {self.kind}" if is_effective else self.kind
        return (
            f"{', '.join(dict.fromkeys(few))}: fewer than {FEW_OF_LABEL} {kind} of a label. If their"
            " scores spread much more than those of the other label, limits of the area err more"
            " often than they say.",
        )


def label_sizes(rows: CutRows, *, beside_rest: bool = False) -> LabelSizes:
    """Rows of both labels of every group, and of all others of each."""
    if rows.counts is not None:
        names, counts = names_and_counts(rows.counts, beside_rest=beside_rest)
        sizes = counts.sum(axis=2)
        return LabelSizes(names, sizes, sizes.astype(np.float64))
    names, masks = names_and_masks(rows.required_outcomes(), beside_rest=beside_rest)
    scored = scored_rows(rows)
    sizes = []
    effective = []
    for mask in masks:
        own_rows = scored.of(mask)
        of_labels = [own_rows.positive == label for label in (False, True)]
        sizes.append([own_rows.count_units(chosen) for chosen in of_labels])
        effective.append([own_rows.effective_units(chosen) for chosen in of_labels])
    return LabelSizes(
        names,
        np.array(sizes, dtype=np.int64),
        np.array(effective),
        kind="rows" if scored.unit is None else "clusters",
    )


def names_and_counts(
    counted: ScoreCounts, *, beside_rest: bool
) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Groups and their counts, and behind them those of all others of each where asked for."""
    if not beside_rest:
        return counted.groups, counted.counts
    others = counted.counts.sum(axis=0) - counted.counts
    names = (*counted.groups, *([REST] * len(counted.groups)))
    return names, np.concatenate([counted.counts, others])


def names_and_masks(
    outcomes: Outcomes, *, beside_rest: bool
) -> tuple[tuple[str, ...], list[NDArray[np.bool_]]]:
    """Groups and their rows, and behind them all other rows of each where asked for."""
    names = outcomes.groups.labels
    masks = [outcomes.groups.codes == code for code in range(len(names))]
    if beside_rest:
        masks += [~mask for mask in masks]
        names = (*names, *([REST] * len(names)))
    return names, masks


def scored_rows(rows: CutRows) -> ScoredRows:
    """All rows, the group as the stratum of each."""
    if rows.counts is not None:
        group, label, place = np.nonzero(rows.counts.counts)
        number = rows.counts.counts[group, label, place]
        weight = number.astype(np.float64)
        return ScoredRows(
            place=place,
            positive=label == 1,
            stratum=group,
            number=number,
            weight=weight,
            squares=weight,
        )
    outcomes = rows.required_outcomes()
    number = np.ones(outcomes.groups.codes.size, dtype=np.int64)
    weight = number.astype(np.float64) if outcomes.weight is None else outcomes.weight
    unit = None
    if outcomes.cluster is not None:
        unit = np.unique(outcomes.cluster.codes, return_inverse=True)[1]
    return ScoredRows(
        place=np.unique(check_given("score", outcomes.score), return_inverse=True)[1],
        positive=check_given("y_true", outcomes.y_true) == 1,
        stratum=outcomes.groups.codes.astype(np.intp),
        number=number,
        weight=weight,
        squares=weight**2,
        unit=unit,
    )


@dataclass(frozen=True, eq=False)
class AreaValues:
    """Areas under the ROC curves of all groups; None where there are too few rows."""

    groups: tuple[str, ...]
    areas: tuple[Areas | None, ...]
    notes: tuple[str, ...]

    @property
    def method(self) -> str:
        """Name of the procedure."""
        return AREA_METHOD

    @property
    def interval_method(self) -> str:
        """Name of what a group's own interval is by."""
        return AREA_INTERVAL

    def value(self, position: int) -> float:
        """The area of a group."""
        areas = self.areas[position]
        return math.nan if areas is None else float(areas.area)

    def interval(self, position: int, z: float) -> tuple[float, float]:
        """The wider of both limits."""
        return _limits_of(self.areas[position], z)

    def variances(self) -> Floats:
        """DeLong's variances."""
        return np.array([np.nan if areas is None else areas.variance for areas in self.areas])

    def why_not(self, position: int, *, ratio: bool) -> str:
        """Too few rows of a label."""
        return self.notes[position]

    def contrast(self, group: int, reference: int, *, ratio: bool) -> NumberContrast:
        """By MOVER, of ratios on the logarithmic scale."""
        return contrast_by_mover(self.value, self.interval, (group, reference), ratio=ratio)


def _limits_of(areas: Areas | None, z: float) -> tuple[float, float]:
    if areas is None:
        return math.nan, math.nan
    low, high = area_limits(areas, z)
    return float(low), float(high)


def area_values(rows: CutRows, *, beside_rest: bool = False) -> AreaValues:
    """Areas of all groups, and behind them of all others of each where asked for."""
    sizes = label_sizes(rows, beside_rest=beside_rest)
    areas: list[Areas | None] = []
    if rows.counts is not None:
        _, counts = names_and_counts(rows.counts, beside_rest=beside_rest)
        for negatives, positives in counts:
            has_area = min(negatives.sum(), positives.sum()) > 1
            areas.append(area_of_counts(negatives, positives) if has_area else None)
    else:
        scored = scored_rows(rows)
        _, masks = names_and_masks(rows.required_outcomes(), beside_rest=beside_rest)
        for mask in masks:
            own_rows = scored.of(mask).as_one()
            areas.append(area_of_rows(own_rows) if own_rows.has_area() else None)
    return AreaValues(sizes.names, tuple(areas), sizes.notes())


def sides_of_all(
    rows: CutRows, values: AreaValues, group_sizes: NDArray[np.int64], z: float, *, ratio: bool
) -> dict[int, Side]:
    """Everybody as what each group is compared with.

    `z`: of the interval of the area of all rows. Groups with too few rows are one stratum.
    """
    scored = scored_rows(rows)
    of_all = area_of_everybody(scored)
    sides = {}
    for group, note in enumerate(values.notes):
        contrast: NumberContrast | None = None
        if not note:
            beside = beside_everybody(scored, group, values.notes)
            contrast = contrast_beside_all(beside, ratio=ratio)
        sides[group] = Side(
            name=OVERALL,
            n=int(group_sizes.sum()),
            value=math.nan if of_all is None else float(of_all.area),
            interval=_limits_of(of_all, z),
            positions=(group,),
            contrast=contrast,
        )
    return sides


def area_of_everybody(scored: ScoredRows) -> Areas | None:
    """The area of all rows, None where there is none."""
    everybody = scored.as_one()
    return area_of_rows(everybody) if everybody.has_area() else None


def beside_everybody(scored: ScoredRows, group: int, notes: Sequence[str]) -> BesideAll:
    """The area of a group and that of all rows, whose groups are their strata.

    `notes`: why a group has no area: such groups are one stratum.
    """
    return area_beside_all(with_small_joined(scored, group, notes), scored.stratum == group)


def with_small_joined(scored: ScoredRows, group: int, notes: Sequence[str]) -> ScoredRows:
    """The rows with all groups but one that have too few of a label as one stratum."""
    small = [place for place, note in enumerate(notes) if note and place != group]
    stratum = scored.stratum.copy()
    stratum[np.isin(stratum, small)] = len(notes)
    return replace(scored, stratum=stratum)


def contrast_beside_all(beside: BesideAll, *, ratio: bool) -> PartContrast:
    """The contrast of a group and all rows; of areas that both have a limit above 0."""
    areas = (beside.area, beside.of_all)
    values = (float(beside.area.area), float(beside.of_all.area))
    part = beside.part(values if ratio else (1.0, 1.0))
    return contrast_of_part(values, lambda place, z: _limits_of(areas[place], z), part, ratio=ratio)


def contrast_of_part(
    values: tuple[float, float],
    interval: Callable[[int, float], tuple[float, float]],
    part: Part,
    *,
    ratio: bool,
) -> PartContrast:
    """Of both areas and their limits at Φ(z), which count by the shares of their variances."""
    shares = (part.own, part.others)
    centres = values
    if ratio:
        centres = (math.log(values[0]), math.log(values[1]))

    def limits_of(position: int, z: float) -> tuple[float, float]:
        low, high = interval(position, z)
        if ratio:
            low, high = (math.log(end) if end > 0 else -math.inf for end in (low, high))
        centre = centres[position]
        share = shares[position]
        return centre - share * (centre - low), centre + share * (high - centre)

    return PartContrast(
        centres,
        lambda z: limits_of(0, z),
        lambda z: limits_of(1, z),
        logarithms=ratio,
        error=part.std_error,
    )
