"""Standardised differences of means, and R² of predictions, by a studentised bootstrap of rows.

Limits of R² have the standard error of the jackknife, and lie on each side at least as far from the
estimate as symmetric ones, by the quantile of |T*| (Hall 1988, Journal of the Royal Statistical
Society B 50, 35–45).
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats, SeedOrGenerator, as_generator, check_that, check_whole
from fairstats.ground.multiplicity import normal_quantile
from fairstats.ground.outcomes import Outcomes
from fairstats.ground.tallies.moments import OUTCOME, MomentCounts, errors_of_prediction
from fairstats.methods.rates.numbers.bootstrap import (
    LARGEST_LOST,
    MIN_UNITS,
    NO_DRAWS,
    STUDENTISED,
    SYMMETRIC,
    BootstrapContrast,
)
from fairstats.methods.rates.numbers.compare import (
    OVERALL,
    REST,
    MeanValues,
    Side,
    compare_numbers,
)
from fairstats.methods.rates.numbers.result import (
    FEW_UNITS,
    STANDARDISED,
    NumberDifferenceResult,
    NumberRatioResult,
)
from fairstats.methods.rates.result import Inference
from fairstats.numerics.means.resampling import Draws
from fairstats.numerics.means.smooth import (
    DeterminationDifference,
    GroupTotals,
    SmoothContrast,
    StandardisedDifference,
    UnitTable,
    draw_totals,
    draws_of_contrast,
    sample_totals,
)

DETERMINATION = "r_squared"
#: Fewest resamples.
LEAST_RESAMPLES = 199
_FIRST_SIDE = 0
_SECOND_SIDE = 1


@dataclass(frozen=True, eq=False)
class SmoothValues:
    """What is compared of every group, and of all that it is pooled with, by draws of their units.

    `scale`: of the numbers, by which they were divided.

    `names`: groups, and behind them what each is compared with where that is all other rows;
    `effective_units`, `units` and `sample` alike.
    """

    metric: str
    names: tuple[str, ...]
    moments: MomentCounts
    effective_units: Floats
    units: tuple[UnitTable, ...]
    sample: GroupTotals
    resamples: GroupTotals
    scale: float = 1.0

    @property
    def method(self) -> str:
        """Name of the procedure."""
        return SYMMETRIC if self.is_determination else STUDENTISED

    @property
    def interval_method(self) -> str:
        """Name of what a group's own interval is by."""
        return SYMMETRIC if self.is_determination else "t"

    @property
    def is_determination(self) -> bool:
        """Whether R² are compared."""
        return self.metric == DETERMINATION

    def value(self, position: int) -> float:
        """R², or the mean of a group."""
        if not self.is_determination:
            return MeanValues(self.moments, OUTCOME).value(position)
        return self._own_draws(self.of_groups([position])).value

    def interval(self, position: int, z: float) -> tuple[float, float]:
        """Limits of a group's own value."""
        if not self.is_determination:
            return MeanValues(self.moments, OUTCOME).interval(position, z)
        if self.why_not(position, ratio=False):
            return math.nan, math.nan
        return self.limits_of_determination(self.of_groups([position]), z)

    def limits_of_determination(self, members: Floats, z: float) -> tuple[float, float]:
        """Of R² of some groups together, which is at most 1."""
        draws = self._own_draws(members)
        if not draws.variance > 0:
            return math.nan, math.nan
        low, high = self._by_draws(draws).limits(z)
        return min(low, 1.0), min(high, 1.0)

    def of_groups(self, positions: list[int]) -> Floats:
        """How often each group is counted, shape (G,)."""
        members = np.zeros(len(self.names))
        members[positions] = 1.0
        return members

    def _own_draws(self, members: Floats) -> Draws:
        mix = np.stack([members, np.zeros_like(members)])
        contrast = DeterminationDifference(single=True)
        return draws_of_contrast(contrast, self.sample, self.resamples, mix, self.units)

    def variances(self) -> Floats:
        """Variance of every R²; a standardised difference is no difference of two such values."""
        n_groups = len(self.moments.groups)
        if not self.is_determination:
            return np.full(n_groups, math.nan)
        return np.array([self._own_draws(self.of_groups([g])).variance for g in range(n_groups)])

    def why_not(self, position: int, *, ratio: bool) -> str:
        """Too few units, or numbers that do not vary."""
        units = float(self.effective_units[position])
        name = self.names[position]
        if units < MIN_UNITS - 1e-9:
            kind = "clusters" if self.moments.clustered else "rows"
            effective = "effective " if self.moments.weighted else ""
            return f"{name} has {units:.3g} {effective}{kind}, and a bootstrap needs {MIN_UNITS}."
        if not self.is_determination:
            return ""
        draws = self._own_draws(self.of_groups([position]))
        if not math.isfinite(draws.value) or not draws.variance > 0:
            return f"{name}: outcomes, or errors, do not vary, so R² has no standard error."
        lost = float(np.isnan(draws.values).mean())
        if lost > LARGEST_LOST:
            return f"{name}: R² has no value in {lost:.0%} of resamples."
        return ""

    def contrast(self, group: int, reference: int, *, ratio: bool) -> BootstrapContrast:
        """Of two groups."""
        return self.contrast_of(group, self.of_groups([reference]))

    def contrast_of(self, group: int, others: Floats) -> BootstrapContrast:
        """Of a group and of some groups together."""
        kind: SmoothContrast = StandardisedDifference()
        units = None
        if self.is_determination:
            kind = DeterminationDifference()
            units = self.units
        mix = np.stack([self.of_groups([group]), others])
        return self._by_draws(draws_of_contrast(kind, self.sample, self.resamples, mix, units))

    def _by_draws(self, draws: Draws) -> BootstrapContrast:
        return BootstrapContrast(
            group=draws,
            reference=NO_DRAWS,
            logarithms=False,
            studentised=True,
            symmetric=self.is_determination,
        )


class Compared(NamedTuple):
    """A result, and what its comparisons within strata go on with: values, numbers, generator."""

    result: NumberDifferenceResult | NumberRatioResult
    values: SmoothValues
    numbers: dict[str, Floats]
    rng: np.random.Generator


def compare_smooth(
    outcomes: Outcomes,
    metric: str,
    settings: Inference,
    reference: Hashable | None,
    *,
    words: str,
    n_resamples: Any,
    rng: SeedOrGenerator,
) -> Compared:
    """Compare standardised means or R² of validated rows.

    Parameters
    ----------
    outcomes : Outcomes
        With the numbers "y", or "y_true" and "y_pred".
    metric : {"standardised_mean_difference", "r_squared"}
        What is compared.
    settings, reference, n_resamples, rng
        As in `means`.
    words : str
        Title of the result.
    """
    check_whole("n_resamples", n_resamples, low=LEAST_RESAMPLES)
    if metric == STANDARDISED:
        check_that(
            settings.simultaneous != "max-z",
            "simultaneous",
            settings.simultaneous,
            'None or "bonferroni" for standardised differences, each with its own denominator',
            'simultaneous="bonferroni"',
        )
    generator, seed = as_generator(rng)
    # one stratum draws what the groups draw
    same_draws = deepcopy(generator)
    numbers = dict(outcomes.numbers)
    if metric == DETERMINATION:
        errors = errors_of_prediction(numbers["y_true"], numbers["y_pred"])
        numbers = {OUTCOME: numbers["y_true"], "squared_error": errors["squared_error"]}
    moments = MomentCounts._from_outcomes(outcomes, numbers)
    tables, names, effective_units = tables_of_units(outcomes, numbers, moments, settings)
    values = SmoothValues(
        metric=metric,
        names=names,
        moments=moments,
        effective_units=effective_units,
        units=tuple(tables),
        sample=sample_totals(tables),
        resamples=draw_totals(tables, n_resamples, generator),
        scale=scale_of(numbers[OUTCOME]),
    )
    result = compare_numbers(
        values,
        moments,
        replace(settings, n_resamples=n_resamples, seed=seed),
        reference,
        metric=metric,
        words=words,
        column=OUTCOME,
        ratio=False,
        remarks=_remarks_on_few(values),
        pooled=_pooled_sides(values, settings),
    )
    return Compared(result, values, numbers, same_draws)


def scale_of(numbers: Floats) -> float:
    """What numbers are divided by: their standard deviation, 1 where they have none."""
    scale = float(numbers.std()) if numbers.size else 1.0
    return scale if scale > 0 else 1.0


def tables_of_units(
    outcomes: Outcomes, numbers: dict[str, Floats], moments: MomentCounts, settings: Inference
) -> tuple[list[UnitTable], tuple[str, ...], Floats]:
    """A table of units of every group, and of all others where these are what it is compared with.

    Numbers are centred and scaled by those of all rows first: nothing that is compared changes, and
    squares of large numbers do not cancel.
    """
    rows, unit = columns_of_rows(outcomes, numbers)
    codes = outcomes.groups.codes
    tables = []
    for group in range(len(moments.groups)):
        tables.append(_table_of(rows[codes == group], unit[codes == group]))
    names = moments.groups
    effective_units = moments.effective_units
    if settings.comparisons == "rest":
        n_groups = len(names)
        squares = moments.weights[1]
        for group in range(n_groups):
            others = [tables[other].sums for other in range(n_groups) if other != group]
            tables.append(UnitTable.of(np.concatenate(others)))
        rest_weights = moments.weights[0].sum() - moments.weights[0]
        rest_squares = np.maximum(squares.sum() - squares, 1e-300)
        names = (*names, *([REST] * n_groups))
        effective_units = np.concatenate([effective_units, rest_weights**2 / rest_squares])
    return tables, names, effective_units


def columns_of_rows(
    outcomes: Outcomes, numbers: dict[str, Floats]
) -> tuple[Floats, NDArray[np.intp]]:
    """Columns of every row, whose sums a contrast is a function of, and its unit."""
    outcome = numbers[OUTCOME]
    centre = float(outcome.mean()) if outcome.size else 0.0
    scale = scale_of(outcome)
    standardised = (outcome - centre) / scale
    weight = np.ones(outcome.size) if outcomes.weight is None else outcomes.weight
    columns = [weight, weight * standardised, weight * standardised**2]
    if "squared_error" in numbers:
        columns.append(weight * numbers["squared_error"] / scale**2)
    unit = np.arange(outcome.size)
    if outcomes.cluster is not None:
        unit = np.unique(outcomes.cluster.codes, return_inverse=True)[1]
    return np.stack(columns, axis=1), unit


def _table_of(rows: Floats, unit: Any) -> UnitTable:
    """Sums of the rows of every unit."""
    if not rows.size:
        return UnitTable.of(np.zeros((1, rows.shape[1])))
    places = np.unique(unit, return_inverse=True)[1]
    n_units = int(places.max()) + 1
    sums = [np.bincount(places, column, n_units) for column in rows.T]
    return UnitTable.of(np.stack(sums, axis=1))


def _pooled_sides(values: SmoothValues, settings: Inference) -> dict[int, Side] | None:
    """What every group is compared with where groups are pooled; None where they are not."""
    kind = settings.comparisons
    if kind not in ("rest", "overall"):
        return None
    moments = values.moments
    n_groups = len(moments.groups)
    z = normal_quantile((1 + settings.confidence_level) / 2)
    sides = {}
    for group in range(n_groups):
        positions: tuple[int, ...] = ()
        if kind == "rest":
            members = values.of_groups([n_groups + group])
            pooled = MeanValues(moments, OUTCOME).rest_of(group)
            place = _SECOND_SIDE
            n_rows = int(moments.n.sum() - moments.n[group])
            why_not = values.why_not(n_groups + group, ratio=False)
        else:
            members = values.of_groups(list(range(n_groups)))
            positions = tuple(range(n_groups))
            pooled = moments._with_new_groups((OVERALL,), [0] * n_groups)
            place = _FIRST_SIDE
            n_rows = int(moments.n.sum())
            why_not = ""
        reasons = [values.why_not(place, ratio=False) for place in (group, *positions)]
        of_pooled = MeanValues(pooled, OUTCOME)
        value = of_pooled.value(place)
        interval = of_pooled.interval(place, z)
        if values.is_determination:
            value = values._own_draws(members).value
            interval = values.limits_of_determination(members, z)
        sides[group] = Side(
            name=REST if kind == "rest" else OVERALL,
            n=n_rows,
            value=value,
            interval=interval,
            positions=positions,
            contrast=None if why_not or any(reasons) else values.contrast_of(group, members),
            why_not=why_not,
        )
    return sides


def _remarks_on_few(values: SmoothValues) -> tuple[str, ...]:
    """Where simulation (`vignettes/calibration.md`) shows more errors than are nominal."""
    few = []
    for position, name in enumerate(values.moments.groups):
        is_few = values.effective_units[position] < FEW_UNITS
        if is_few and not values.why_not(position, ratio=False):
            few.append(name)
    if not few:
        return ()
    return (
        f"{', '.join(few)}: fewer than {FEW_UNITS} rows or clusters. If their numbers have a long"
        " tail that so few have not shown, limits err more often than they say.",
    )
