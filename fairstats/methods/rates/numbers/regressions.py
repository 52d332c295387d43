"""Calibration by logistic regression: slope or intercept of every group, with limits by Wald's."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats, check_given
from fairstats.ground.errors import InputError
from fairstats.methods.rates.numbers.areas import (
    label_sizes,
    names_and_counts,
    names_and_masks,
)
from fairstats.methods.rates.numbers.compare import OVERALL, Side
from fairstats.methods.rates.numbers.contrasts import (
    NumberContrast,
    PartContrast,
    contrast_by_mover,
)
from fairstats.methods.rates.numbers.cutoffs import CutRows
from fairstats.methods.rates.numbers.strata_shared import NO_MOVES, Moves
from fairstats.numerics.means.hall import as_student
from fairstats.numerics.means.logistic import (
    Coefficient,
    RowsOfAll,
    WeightedRows,
    calibration_intercept,
    calibration_slope,
    intercept_beside_all,
    slope_beside_all,
    weighted_intercept,
    weighted_slope,
)

REGRESSION_METHOD = "logistic regression, Wald"
JACKKNIFE_METHOD = "weighted logistic regression, jackknife"
CALIBRATIONS: dict[str, Callable[[Floats, Any, Any], Coefficient]] = {
    "calibration_slope": calibration_slope,
    "calibration_intercept": calibration_intercept,
}
_WITH_WEIGHTS: dict[str, Callable[[WeightedRows], Coefficient]] = {
    "calibration_slope": weighted_slope,
    "calibration_intercept": weighted_intercept,
}


_BESIDE_ALL: dict[str, Callable[[RowsOfAll, int], Coefficient]] = {
    "calibration_slope": slope_beside_all,
    "calibration_intercept": intercept_beside_all,
}


@dataclass(frozen=True, eq=False)
class RegressionValues:
    """A coefficient of every group with its standard error, compared by Wald's limits.

    `by_jackknife`: whether rows have weights or clusters; then limits have Student's t.
    """

    coefficients: tuple[Coefficient, ...]
    notes: tuple[str, ...]
    by_jackknife: bool = False

    @property
    def method(self) -> str:
        """Name of the procedure."""
        return JACKKNIFE_METHOD if self.by_jackknife else REGRESSION_METHOD

    @property
    def interval_method(self) -> str:
        """Name of what a group's own interval is by."""
        return "jackknife, t" if self.by_jackknife else "Wald"

    def value(self, position: int) -> float:
        """The coefficient of a group."""
        return self.coefficients[position].estimate

    def interval(self, position: int, z: float) -> tuple[float, float]:
        """Estimate ± z standard errors, or those of Student's t."""
        coefficient = self.coefficients[position]
        quantile = z
        if math.isfinite(coefficient.df):
            quantile = float(as_student(z, coefficient.df))
        reach = quantile * coefficient.std_error
        return coefficient.estimate - reach, coefficient.estimate + reach

    def variances(self) -> Floats:
        """Squares of the standard errors."""
        return np.array([coefficient.std_error**2 for coefficient in self.coefficients])

    def why_not(self, position: int, *, ratio: bool) -> str:
        """Too few rows of a label, or labels that the scores separate."""
        return self.notes[position]

    def contrast(self, group: int, reference: int, *, ratio: bool) -> NumberContrast:
        """The difference by MOVER, which of normal limits is Wald's."""
        return contrast_by_mover(self.value, self.interval, (group, reference), ratio=ratio)


def regression_values(rows: CutRows, metric: str, *, beside_rest: bool = False) -> RegressionValues:
    """Intercept or slope of all groups, and behind them of all others of each where asked for."""
    scores, counted = rows.scores_with_rows()
    _refuse_ends(scores, counted)
    sizes = label_sizes(rows, beside_rest=beside_rest)
    coefficients = []
    if rows.counts is not None:
        _, counts = names_and_counts(rows.counts, beside_rest=beside_rest)
        for negatives, positives in counts:
            coefficients.append(CALIBRATIONS[metric](rows.counts.values, negatives, positives))
    else:
        _, masks = names_and_masks(rows.required_outcomes(), beside_rest=beside_rest)
        all_rows = _weighted_rows(rows)
        for mask in masks:
            unit = None if all_rows.unit is None else all_rows.unit[mask]
            own_rows = WeightedRows(
                all_rows.scores[mask], all_rows.labels[mask], all_rows.weights[mask], unit
            )
            coefficients.append(_WITH_WEIGHTS[metric](own_rows))
    notes = []
    for name, note, coefficient in zip(sizes.names, sizes.notes(), coefficients, strict=True):
        separated = f"{name}: the scores separate the labels, or are all equal: no {metric}."
        notes.append(separated if not note and math.isnan(coefficient.estimate) else note)
    return RegressionValues(tuple(coefficients), tuple(notes), by_jackknife=rows.counts is None)


def coefficients_beside_all(
    rows: CutRows, values: RegressionValues, metric: str, group_sizes: NDArray[np.int64], z: float
) -> dict[int, Side]:
    """Everybody as what each group is compared with; `z`: of the interval of everybody's."""
    everybody = CoefficientOfAll(rows, metric, values)
    sides = {}
    for group, note in enumerate(values.notes):
        contrast: NumberContrast | None = None
        why_not = ""
        if not note and everybody.has_error(group):
            contrast = everybody.contrast(group)
        elif not note:
            why_not = f"{values.value(group):.3g} beside everybody has no standard error."
        sides[group] = Side(
            name=OVERALL,
            n=int(group_sizes.sum()),
            value=everybody.value,
            interval=everybody.limits(z),
            positions=(group,),
            contrast=contrast,
            why_not=why_not,
        )
    return sides


class CoefficientOfAll:
    """Slope or intercept of all rows, as what each group is compared with.

    `values`: of the groups, from the place `first` on.
    """

    def __init__(
        self, rows: CutRows, metric: str, values: RegressionValues, first: int = 0
    ) -> None:
        self.values = values
        self.first = first
        if rows.counts is not None:
            negatives, positives = rows.counts.counts.sum(axis=0)
            self.coefficient = CALIBRATIONS[metric](rows.counts.values, negatives, positives)
            n_groups = len(rows.counts.groups)
        else:
            self.coefficient = _WITH_WEIGHTS[metric](_weighted_rows(rows))
            n_groups = len(rows.required_outcomes().groups.labels)
        of_rows = _rows_of_all(rows)
        self.differences: dict[int, Coefficient] = {}
        for group in range(n_groups):
            if not values.notes[first + group]:
                self.differences[group] = _BESIDE_ALL[metric](of_rows, group)

    @property
    def value(self) -> float:
        """The coefficient."""
        return self.coefficient.estimate

    @property
    def bias(self) -> float:
        """Of the coefficient, to the first order."""
        return self.coefficient.bias

    def limits(self, z: float) -> tuple[float, float]:
        """By Wald's, or Student's t."""
        return RegressionValues((self.coefficient,), ("",)).interval(0, z)

    def has_error(self, group: int) -> bool:
        """Whether the difference of a group has a standard error."""
        return group in self.differences and not math.isnan(self.differences[group].estimate)

    def moves(self) -> Moves:
        """What clusters move the coefficient by."""
        return moves_of_coefficient(self.coefficient)

    def moves_beside(self, group: int) -> tuple[Moves, Moves] | None:
        """What they move the difference of a group by, all of which is one part."""
        if not self.has_error(group):
            return None
        moves = moves_of_coefficient(self.differences[group])
        return moves, moves

    def contrast(
        self, group: int, scales: tuple[float, float] | None = None, *, ratio: bool = False
    ) -> PartContrast:
        """A group's coefficient less that of all rows."""
        own = self.values.value(self.first + group)
        return _wald(own, self.value, self.differences[group])


def moves_of_coefficient(coefficient: Coefficient) -> Moves:
    """What each cluster moves a coefficient by; none where it has no value."""
    if coefficient.units is None or coefficient.steps is None:
        return NO_MOVES
    return Moves(coefficient.units, coefficient.steps)


def _wald(own: float, of_all: float, difference: Coefficient) -> PartContrast:
    """Student's t of a difference."""

    def limits(z: float) -> tuple[float, float]:
        reach = float(as_student(z, difference.df)) * difference.std_error
        return own - reach, own + reach

    return PartContrast(
        (own, of_all), limits, lambda z: (of_all, of_all), error=difference.std_error
    )


def _rows_of_all(rows: CutRows) -> RowsOfAll:
    """All rows with their groups; counted ones stand for several."""
    if rows.counts is not None:
        group, label, place = np.nonzero(rows.counts.counts)
        return RowsOfAll(
            scores=rows.counts.values[place],
            labels=label.astype(np.float64),
            weights=np.ones(place.size),
            group=group,
            number=rows.counts.counts[group, label, place].astype(np.float64),
        )
    weighted = _weighted_rows(rows)
    return RowsOfAll(
        scores=weighted.scores,
        labels=weighted.labels,
        weights=weighted.weights,
        group=rows.required_outcomes().groups.codes.astype(np.intp),
        number=np.ones(weighted.scores.size),
        unit=weighted.unit,
    )


def _weighted_rows(rows: CutRows) -> WeightedRows:
    outcomes = rows.required_outcomes()
    labels = check_given("y_true", outcomes.y_true).astype(np.float64)
    return WeightedRows(
        scores=rows.score,
        labels=labels,
        weights=np.ones(labels.size) if outcomes.weight is None else outcomes.weight,
        unit=None if outcomes.cluster is None else outcomes.cluster.codes.astype(np.intp),
    )


def _refuse_ends(scores: Floats, counted: Any) -> None:
    """Raise for scores of 0 or 1."""
    at_ends = (scores <= 0) | (scores >= 1)
    n_ends = int(counted[at_ends].sum())
    if n_ends:
        raise InputError(
            "score",
            got=f"{n_ends:,} scores of 0 or 1, whose logit is infinite",
            allowed="probabilities above 0 and below 1",
            cure='fs.scores(metric="calibration_in_the_large"), or scores kept off 0 and 1',
        )
