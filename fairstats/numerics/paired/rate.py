"""One rate of two models on the same people: its change in a group, and between groups.

With n_c the rows of a group in the eight cells c (label × prediction of A × prediction of B) and
r_A(n), r_B(n) the rates (their logarithms for a ratio), the change is d = r_B − r_A. Where both
rates have the same cases its limits are by the score (`score`); otherwise by the delta method with
half a row added to each cell (Moskowitz & Pepe 2006), weighted rows without:

    Var d = Σ_c n_c·(∂d/∂n_c)²,      clusters:  Σ_ij ∂d/∂n_i·S_ij·∂d/∂n_j, S their scatter,

with Satterthwaite's degrees of freedom. A difference of two groups' changes is by MOVER.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats
from fairstats.ground.counts import PairedCounts
from fairstats.ground.multiplicity import make_pairs, normal_quantile, two_sided_pvalue
from fairstats.ground.registry import CELLS, RATES, Metric, Rate, as_function
from fairstats.ground.verdict import effective
from fairstats.numerics.paired import score
from fairstats.numerics.paired.change import UNCHANGED, Change, Found, ModelPair

#: A group of weighted or clustered rows needs so many effective sampling units.
MIN_UNITS = 8.0
#: Where fewer effective sampling units of a group changed, changes are skew and compared by score;
#: below the first number their variance does not even say what a row is worth.
FEW_CHANGED = 5.0
MANY_CHANGED = 20.0
_COMPLEX_STEP = 1e-30
_CONFUSION_MAPS = np.array([PairedCounts._confusion_map(model) for model in (0, 1)])
#: Which of the eight cells are changed decisions.
CHANGED = np.array([cell[1] != cell[2] for cell in PairedCounts.cells])


@dataclass(frozen=True, eq=False)
class PairedRate:
    """One rate under models A and B in every group; `ratio`: on the logarithmic scale."""

    counts: PairedCounts
    rate: Rate
    ratio: bool

    @cached_property
    def values(self) -> Floats:
        """Rates of both models, shape (2, G)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.array(
                [
                    _rate_function(self.rate)(*(self.counts.totals @ model_map).T)
                    for model_map in _CONFUSION_MAPS
                ]
            )

    @cached_property
    def _fixed_case_rates(self) -> tuple[Rate, ...]:
        """The rates on fixed cases that this one is, or is the mean of.

        Empty where there are none.
        """
        candidate_rates: tuple[Rate, ...]
        if self.rate.successes:
            candidate_rates = (self.rate,)
        elif self.ratio:
            candidate_rates = ()
        else:
            candidate_rates = self.rate.parts
        if all(map(fixed, candidate_rates)):
            return candidate_rates
        return ()

    def _part(self, cells: Floats, sign: int) -> score.Part:
        """Change (−1) or sum (+1) of a group with these cells."""
        if not self._fixed_case_rates:
            return self._smoothed_part(cells, sign)
        if sign < 0:
            part_within = score.change_within
        else:
            part_within = score.sum_within
        rate_parts = []
        for fixed_rate in self._fixed_case_rates:
            rate_parts.append(part_within(_success_table(cells, fixed_rate), ratio=self.ratio))
        if len(rate_parts) == 1:
            return rate_parts[0]
        return score.Part.mean(rate_parts)

    def _smoothed_part(self, cell_counts: Floats, sign: int) -> score.Part:
        """B plus or minus A by the delta method on the cells, half a row added to each (Moskowitz &
        Pepe).

        So models with the same predictions do not have a variance of 0.
        """
        plain_values, _ = _value_and_gradient(self.rate, cell_counts, self.ratio)
        smoothed_values, gradient = _value_and_gradient(self.rate, cell_counts + 0.5, self.ratio)
        std_error = float(np.sqrt((cell_counts + 0.5) @ (gradient[1] + sign * gradient[0]) ** 2))
        with np.errstate(invalid="ignore"):
            estimate, interval_centre = (
                float(model_values[1] + sign * model_values[0])
                for model_values in (plain_values, smoothed_values)
            )
        return score.Part.normal(estimate, std_error, interval_centre)

    @cached_property
    def _parts(self) -> dict[int, list[score.Part]]:
        """Of unweighted rows: sign → one part per group."""
        parts: dict[int, list[score.Part]] = {}
        for sign in (-1, 1):
            parts[sign] = [
                self._part(cell_counts, sign).kept() for cell_counts in self.counts.totals
            ]
        return parts

    @cached_property
    def gradients(self) -> Floats:
        """Gradients of the rates (of their logarithms) in the cells of their group, shape (2, G,
        8).
        """
        return np.stack(
            [
                _value_and_gradient(self.rate, cell_totals, self.ratio)[1]
                for cell_totals in self.counts.totals
            ],
            1,
        )

    def _linearised_covariance(self, i: int, j: int, sign: int) -> float:
        """Of the change (sum) in groups i and j, linearised."""
        change_gradients = self.gradients[1] + sign * self.gradients[0]
        if self.counts.scatter is None:
            if i == j:
                return float(self.counts.totals[i] @ change_gradients[i] ** 2)
            return 0.0
        n_cells = len(CHANGED)
        scatter_block = self.counts.scatter[
            n_cells * i : n_cells * (i + 1), n_cells * j : n_cells * (j + 1)
        ]
        return (
            float(change_gradients[i] @ scatter_block @ change_gradients[j])
            * self.counts.unit_factor
        )

    def _linearised_variance(self, groups: tuple[int, ...], sign: int) -> float:
        """Of the change (sum) in a group, or of the difference of two groups."""
        summed_variance = sum(
            self._linearised_covariance(group_index, group_index, sign) for group_index in groups
        )
        return max(
            summed_variance
            - (2 * self._linearised_covariance(*groups, sign) if len(groups) == 2 else 0.0),
            0.0,
        )

    def change(self, *groups: int) -> Change | str:
        """Of a group, or of a group against its reference; in words why there is none."""
        if lacking_groups := self._groups_in_words(np.isnan(self.values), groups):
            group_list = list(groups)
            weightless = (self.counts.group_sizes[group_list] > 0) & ~(
                self.counts.totals[group_list].sum(axis=1) > 0
            )
            reason = f"no {self.rate.case_words} under one of the models"
            return (
                f"{lacking_groups}: {'all weights of rows are 0' if weightless.any() else reason}."
            )
        with np.errstate(divide="ignore", invalid="ignore"):
            std_error = float(np.sqrt(self._linearised_variance(groups, -1)))
        if self.counts.weighted:
            # also of the other groups, some of which may have a rate of 0
            with np.errstate(divide="ignore", invalid="ignore"):
                return self._linearised_change(groups, std_error)
        change_part, sum_part = (
            _combine_parts([self._parts[sign][group_index] for group_index in groups])
            for sign in (-1, 1)
        )
        zero_rate_note = (
            "a rate of 0: after / before is 0, infinite or not known; its limits are by score"
        )
        if np.isfinite(change_part.estimate):
            change_note = ""
        else:
            change_note = f"{self._groups_in_words(self.values == 0, groups)}: {zero_rate_note}."
        if not change_note and not self.counts.totals[:, CHANGED].any():
            change_note = UNCHANGED
        return Change(change_part, sum_part, std_error, note=change_note)

    def _groups_in_words(self, is_true: NDArray[np.bool_], groups: tuple[int, ...]) -> str:
        """Names of those of the groups of which something is true under a model."""
        return " and ".join(
            self.counts.groups[group_index]
            for group_index in groups
            if is_true[:, group_index].any()
        )

    def _linearised_change(self, groups: tuple[int, ...], std_error: float) -> Change | str:
        """By the delta method with Satterthwaite's degrees of freedom.

        Groups with few changes by score.
        """
        counts = self.counts
        if self.ratio and (lacking_groups := self._groups_in_words(self.values == 0, groups)):
            return (
                f"{lacking_groups}: a rate of 0: under weights or clusters changes of a ratio have no"
                " interval."
            )
        group_units = self.units[list(groups)]
        if (group_units < MIN_UNITS).any():
            group_index = groups[int(np.argmax(group_units < MIN_UNITS))]
            units_in_words = effective(
                float(self.units[group_index]), "clusters" if counts.clustered else "rows"
            )
            return f"{counts.groups[group_index]}: {units_in_words}, too few for an interval."
        group_variances = np.array(
            [self._linearised_variance((group_index,), -1) for group_index in groups]
        )
        is_sparse = [
            bool(self._changed_units[group_index] < MANY_CHANGED or not group_variance > 0)
            for group_index, group_variance in zip(groups, group_variances, strict=True)
        ]
        if group_variances.sum() > 0:
            variance_weights = group_variances
        else:
            variance_weights = np.ones(len(groups))
        degrees_of_freedom = float(
            variance_weights.sum() ** 2 / np.sum(variance_weights**2 / (group_units - 1))
        )
        wider_factors = 1 / np.sqrt((1 - 2 / group_units) * counts.unit_factor)
        overall_factor = math.sqrt(variance_weights @ wider_factors**2 / variance_weights.sum())
        combined_parts = []
        for sign in (-1, 1):
            scaled_values = self._scaled_rates[1] + sign * self._scaled_rates[0]
            if not any(is_sparse):
                contrast_value = float(
                    scaled_values[groups[0]]
                    - (scaled_values[groups[1]] if len(groups) == 2 else 0.0)
                )
                combined_parts.append(
                    score.Part.normal(
                        contrast_value,
                        overall_factor * float(np.sqrt(self._linearised_variance(groups, sign))),
                    )
                )
                continue
            group_parts = []
            for group_index, group_variance, few_changed, wider_factor in zip(
                groups, group_variances, is_sparse, wider_factors, strict=True
            ):
                normal_part = score.Part.normal(
                    float(scaled_values[group_index]),
                    float(wider_factor * np.sqrt(self._linearised_variance((group_index,), sign))),
                )
                group_parts.append(
                    self._part(
                        self._effective_cells(group_index, group_variance * wider_factor**2), sign
                    )
                    if few_changed
                    else normal_part
                )
            combined_parts.append(_combine_parts(group_parts))
        return Change(
            shift=combined_parts[0],
            total=combined_parts[1],
            std_error=std_error,
            degrees_of_freedom=degrees_of_freedom,
        )

    @property
    def _scaled_rates(self) -> Floats:
        with np.errstate(divide="ignore"):  # a rate of 0 is refused where it is used
            return np.log(self.values) if self.ratio else self.values

    @cached_property
    def units(self) -> Floats:
        """Effective sampling units behind the rate in each group, as in comparisons of one
        model.
        """
        return self._units_behind_cells(np.ones(len(CHANGED), dtype=bool))

    def _units_behind_cells(self, is_counted: NDArray[np.bool_]) -> Floats:
        """Effective units behind the cases in these cells.

        Of a mean that of its poorer part, 0 without.
        """
        rate_parts = self.rate.parts or (self.rate,)
        effective_units = []
        for rate_part in rate_parts:
            effective_units.append(
                self.counts._effective_units(
                    _cell_membership(rate_part)[1].any(axis=0) & is_counted
                )
            )
        return np.asarray(np.nan_to_num(effective_units).min(axis=0))

    @cached_property
    def _changed_units(self) -> Floats:
        """Effective sampling units that changed in each group, (Σc)²/Σc², c the changed cases of a
        unit.
        """
        return self._units_behind_cells(CHANGED)

    def _effective_cells(self, group_index: int, variance: float) -> Floats:
        """Cells of a group as so many independent rows as give the change this variance (Korn &
        Graubard).

        Where fewer than `FEW_CHANGED` units changed, as its units are worth (Kish).
        """
        cell_totals = self.counts.totals[group_index]
        if self._changed_units[group_index] < FEW_CHANGED or not variance > 0:
            return np.asarray(
                cell_totals
                * self.units[group_index]
                / cell_totals[_cell_membership(self.rate)[1].any(axis=0)].sum()
            )
        plain_variance = float(
            cell_totals @ (self.gradients[1, group_index] - self.gradients[0, group_index]) ** 2
        )
        return np.asarray(cell_totals * plain_variance / variance)

    @property
    def method(self) -> str:
        """What limits are computed with, in words."""
        if self.counts.weighted:
            return "log or plain scale, linearised, Satterthwaite"
        if self._fixed_case_rates:
            return "paired score, MOVER"
        return "paired delta with half a row per cell, MOVER"


def _combine_parts(parts: list[score.Part]) -> score.Part:
    if len(parts) == 1:
        return parts[0]
    return score.contrast(*parts)


def fixed(rate: Rate) -> bool:
    """Whether the cases of a rate do not depend on the prediction: labels, or all rows."""
    return set(rate.cases) in ({"tp", "fn"}, {"tn", "fp"}, {"tp", "fp", "fn", "tn"})


@lru_cache(maxsize=256)
def _rate_function(rate: Rate) -> Callable[..., Any]:
    return as_function(rate.formula, CELLS)


@lru_cache(maxsize=256)
def _cell_membership(rate: Rate) -> NDArray[np.bool_]:
    """Which of the eight cells are a success, and a case, of either model; shape (2, 2, 8)."""
    cell_sets = []
    for cell_set in (rate.successes, rate.cases or CELLS):
        cell_sets.append([CELLS.index(cell) for cell in cell_set])
    return np.stack([_CONFUSION_MAPS[:, :, cell_set].sum(axis=2) > 0 for cell_set in cell_sets])


def _success_table(cell_counts: Floats, rate: Rate) -> score.Table:
    """Successes of both models, of A only, of B only, of neither, of one group."""
    (a_succeeds, b_succeeds), (are_cases, _) = _cell_membership(rate)
    both_succeed, only_a, only_b = (
        float(cell_counts[is_counted].sum())
        for is_counted in (
            a_succeeds & b_succeeds,
            a_succeeds & ~b_succeeds,
            ~a_succeeds & b_succeeds,
        )
    )
    return (
        both_succeed,
        only_a,
        only_b,
        float(cell_counts[are_cases].sum()) - both_succeed - only_a - only_b,
    )


def _value_and_gradient(rate: Rate, cell_counts: Floats, ratio: bool) -> tuple[Floats, Floats]:
    """Rate (its logarithm) of models A and B, shape (2,), and gradients in the eight cells, shape
    (2, 8).

    By a complex step, which is exact to rounding.
    """
    stepped_cells = cell_counts + 1j * _COMPLEX_STEP * np.eye(cell_counts.size)
    with np.errstate(divide="ignore", invalid="ignore"):
        complex_rates = np.array(
            [
                _rate_function(rate)(*(np.vstack([cell_counts, stepped_cells]) @ model_map).T)
                for model_map in _CONFUSION_MAPS
            ]
        )
        model_rates = complex_rates[:, 0].real
        gradient = complex_rates[:, 1:].imag / _COMPLEX_STEP
        if ratio:
            return (np.log(model_rates), gradient / model_rates[:, None])
        return (model_rates, gradient)


def change_of_rate(
    rate: PairedRate,
    groups: tuple[int, ...],
    name: str,
    pair: ModelPair,
    kind: str,
) -> Found:
    """The change of a rate in a group, or of its comparison with the reference."""
    with np.errstate(divide="ignore", invalid="ignore"):
        model_values = rate.values[:, groups[0]]
        if len(groups) > 1:
            reference_values = rate.values[:, groups[1]]
            if rate.ratio:
                model_values = model_values / reference_values
            else:
                model_values = model_values - reference_values
    return Found(
        name=name,
        groups=tuple(rate.counts.groups[group_index] for group_index in groups),
        pair=pair,
        change=rate.change(*groups),
        kind=kind,
        n=int(rate.counts.group_sizes[list(groups)].sum()),
        method=rate.method,
        ends=(float(model_values[0]), float(model_values[1])),
    )


def change_of_gap(metric: Metric, counts: PairedCounts, pair: ModelPair) -> Found:
    """The change of a largest gap, which all gaps under it bound at once (Bonferroni).

    max|b| − max|a| lies between the least and the largest |b_j| − |a_j|.
    """
    gap_changes = []
    gap_sizes = []
    gap_groups = []
    lacking_reason = ""
    for rate_name in metric.rates:
        paired_rate = PairedRate(counts, RATES[rate_name], False)
        for i, j in make_pairs(len(counts.groups), 0, "all"):
            gap_change = paired_rate.change(i, j)
            if isinstance(gap_change, str) and np.isfinite(paired_rate.values[:, [i, j]]).all():
                lacking_reason = gap_change  # a gap that may be the largest
            elif not isinstance(gap_change, str):
                gap_changes.append(gap_change)
                gap_sizes.append(np.abs(paired_rate.values[:, i] - paired_rate.values[:, j]))
                gap_groups.append((counts.groups[i], counts.groups[j]))
    common_fields: dict[str, Any] = {
        "name": metric.name,
        "pair": pair,
        "kind": "size",
        "n": counts.n,
    }
    common_fields["method"] = f"{paired_rate.method}, all gaps"
    if lacking_reason or not gap_changes:
        return Found(
            groups=counts.groups[:2],
            change=lacking_reason or "No gap is known under both models.",
            **common_fields,
        )
    before, after = np.max(gap_sizes, axis=0)
    largest_gap = int(np.argmax(np.array(gap_sizes)[:, 1]))

    def end(z: float, side: int) -> float:
        joint_critical = normal_quantile(
            1 - two_sided_pvalue(z, degrees_of_freedom) / len(gap_changes) / 2, degrees_of_freedom
        )
        gap_limits = []
        for each_change in gap_changes:
            gap_limits.append(
                score.distance_limits(
                    each_change.shift.limits(joint_critical),
                    each_change.total.limits(joint_critical),
                )[side]
            )
        return max(gap_limits) if side else min(gap_limits)

    degrees_of_freedom = min(each_change.degrees_of_freedom for each_change in gap_changes)
    gap_part = score.Part(float(after - before), lambda z: end(z, 0), lambda z: end(z, 1))
    change = Change(
        shift=gap_part,
        total=gap_part,
        std_error=gap_changes[largest_gap].std_error,
        degrees_of_freedom=degrees_of_freedom,
    )
    return Found(
        groups=gap_groups[largest_gap],
        change=change,
        ends=(float(before), float(after)),
        **common_fields,
    )
