"""One rate of two models on the same people: its change in a group, and between groups."""

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
#: Where fewer effective sampling units of a group changed, changes are skew and compared by score; below the
#: first number their variance does not even say what a row is worth.
FEW_CHANGED, MANY_CHANGED = 5.0, 20.0
_STEP = 1e-30
_MAPS = np.array([PairedCounts._confusion_map(model) for model in (0, 1)])
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
            return np.array([_function(self.rate)(*(self.counts.totals @ own).T) for own in _MAPS])

    @cached_property
    def _rates(self) -> tuple[Rate, ...]:
        """The rates on fixed cases that this one is, or is the mean of; empty where there are none."""
        rates = (self.rate,) if self.rate.successes else () if self.ratio else self.rate.parts
        return rates if all(map(fixed, rates)) else ()

    def _part(self, cells: Floats, sign: int) -> score.Part:
        """Change (−1) or sum (+1) of a group with these cells."""
        if not self._rates:
            return self._smoothed(cells, sign)
        within = score.change_within if sign < 0 else score.sum_within
        parts = [within(_table(cells, rate), ratio=self.ratio) for rate in self._rates]
        return parts[0] if len(parts) == 1 else score.Part.mean(parts)

    def _smoothed(self, cells: Floats, sign: int) -> score.Part:
        """B plus or minus A by the delta method on the cells, half a row added to each (Moskowitz & Pepe).

        So models with the same predictions do not have a variance of 0.
        """
        plain, _ = _value_and_gradient(self.rate, cells, self.ratio)
        rough, gradient = _value_and_gradient(self.rate, cells + 0.5, self.ratio)
        std_error = float(np.sqrt((cells + 0.5) @ (gradient[1] + sign * gradient[0]) ** 2))
        with np.errstate(invalid="ignore"):
            at, centre = (float(value[1] + sign * value[0]) for value in (plain, rough))
        return score.Part.normal(at, std_error, centre)

    @cached_property
    def _parts(self) -> dict[int, list[score.Part]]:
        """Of unweighted rows: sign → one part per group."""
        return {sign: [self._part(cells, sign).kept() for cells in self.counts.totals] for sign in (-1, 1)}

    @cached_property
    def gradients(self) -> Floats:
        """Gradients of the rates (of their logarithms) in the cells of their group, shape (2, G, 8)."""
        return np.stack([_value_and_gradient(self.rate, t, self.ratio)[1] for t in self.counts.totals], 1)

    def _covariance(self, i: int, j: int, sign: int) -> float:
        """Of the change (sum) in groups i and j, linearised."""
        own = self.gradients[1] + sign * self.gradients[0]
        if self.counts.scatter is None:
            return float(self.counts.totals[i] @ own[i] ** 2) if i == j else 0.0
        n = len(CHANGED)
        block = self.counts.scatter[n * i : n * (i + 1), n * j : n * (j + 1)]
        return float(own[i] @ block @ own[j]) * self.counts.unit_factor

    def _variance(self, groups: tuple[int, ...], sign: int) -> float:
        """Of the change (sum) in a group, or of the difference of two groups."""
        own = sum(self._covariance(g, g, sign) for g in groups)
        return max(own - (2 * self._covariance(*groups, sign) if len(groups) == 2 else 0.0), 0.0)

    def change(self, *groups: int) -> Change | str:
        """Of a group, or of a group against its reference; in words why there is none."""
        if lacking := self._where(np.isnan(self.values), groups):
            own = list(groups)
            weightless = (self.counts.group_sizes[own] > 0) & ~(self.counts.totals[own].sum(axis=1) > 0)
            why = f"no {self.rate.case_words} under one of the models"
            return f"{lacking}: {'all weights of rows are 0' if weightless.any() else why}."
        with np.errstate(divide="ignore", invalid="ignore"):
            std_error = float(np.sqrt(self._variance(groups, -1)))
        if self.counts.weighted:
            # also of the other groups, some of which may have a rate of 0
            with np.errstate(divide="ignore", invalid="ignore"):
                return self._linearised(groups, std_error)
        shift, total = (_combined([self._parts[sign][g] for g in groups]) for sign in (-1, 1))
        zero = "a rate of 0: after / before is 0, infinite or not known; its limits are by score"
        note = "" if np.isfinite(shift.estimate) else f"{self._where(self.values == 0, groups)}: {zero}."
        if not note and not self.counts.totals[:, CHANGED].any():
            note = UNCHANGED
        return Change(shift, total, std_error, note=note)

    def _where(self, true: NDArray[np.bool_], groups: tuple[int, ...]) -> str:
        """Names of those of the groups of which something is true under a model."""
        return " and ".join(self.counts.groups[g] for g in groups if true[:, g].any())

    def _linearised(self, groups: tuple[int, ...], std_error: float) -> Change | str:
        """By the delta method with Satterthwaite's degrees of freedom; groups with few changes by score."""
        counts = self.counts
        if self.ratio and (lacking := self._where(self.values == 0, groups)):
            return f"{lacking}: a rate of 0: under weights or clusters changes of a ratio have no interval."
        units = self.units[list(groups)]
        if (units < MIN_UNITS).any():
            g = groups[int(np.argmax(units < MIN_UNITS))]
            few = effective(float(self.units[g]), "clusters" if counts.clustered else "rows")
            return f"{counts.groups[g]}: {few}, too few for an interval."
        variance = np.array([self._variance((g,), -1) for g in groups])
        sparse = [bool(self._changed[g] < MANY_CHANGED or not v > 0) for g, v in zip(groups, variance, strict=True)]
        weight = variance if variance.sum() > 0 else np.ones(len(groups))
        degrees = float(weight.sum() ** 2 / np.sum(weight**2 / (units - 1)))
        wider = 1 / np.sqrt((1 - 2 / units) * counts.unit_factor)
        overall = math.sqrt(weight @ wider**2 / weight.sum())
        found = []
        for sign in (-1, 1):
            value = self._scaled[1] + sign * self._scaled[0]
            if not any(sparse):
                at = float(value[groups[0]] - (value[groups[1]] if len(groups) == 2 else 0.0))
                found.append(score.Part.normal(at, overall * float(np.sqrt(self._variance(groups, sign)))))
                continue
            parts = []
            for g, v, scarce, wide in zip(groups, variance, sparse, wider, strict=True):
                normal = score.Part.normal(float(value[g]), float(wide * np.sqrt(self._variance((g,), sign))))
                parts.append(self._part(self._effective(g, v * wide**2), sign) if scarce else normal)
            found.append(_combined(parts))
        return Change(found[0], found[1], std_error, degrees)

    @property
    def _scaled(self) -> Floats:
        with np.errstate(divide="ignore"):  # a rate of 0 is refused where it is used
            return np.log(self.values) if self.ratio else self.values

    @cached_property
    def units(self) -> Floats:
        """Effective sampling units behind the rate in each group, as in comparisons of one model."""
        return self._worth(np.ones(len(CHANGED), dtype=bool))

    def _worth(self, which: NDArray[np.bool_]) -> Floats:
        """Effective units behind the cases in these cells; of a mean that of its poorer part, 0 without."""
        parts = self.rate.parts or (self.rate,)
        found = [self.counts._effective_units(_members(part)[1].any(axis=0) & which) for part in parts]
        return np.asarray(np.nan_to_num(found).min(axis=0))

    @cached_property
    def _changed(self) -> Floats:
        """Effective sampling units that changed in each group, (Σc)²/Σc², c the changed cases of a unit."""
        return self._worth(CHANGED)

    def _effective(self, g: int, variance: float) -> Floats:
        """Cells of a group as so many independent rows as give the change this variance (Korn & Graubard).

        Where fewer than `FEW_CHANGED` units changed, as its units are worth (Kish).
        """
        totals = self.counts.totals[g]
        if self._changed[g] < FEW_CHANGED or not variance > 0:
            return np.asarray(totals * self.units[g] / totals[_members(self.rate)[1].any(axis=0)].sum())
        alone = float(totals @ (self.gradients[1, g] - self.gradients[0, g]) ** 2)
        return np.asarray(totals * alone / variance)

    @property
    def method(self) -> str:
        """What limits are computed with, in words."""
        if self.counts.weighted:
            return "log or plain scale, linearised, Satterthwaite"
        return "paired score, MOVER" if self._rates else "paired delta with half a row per cell, MOVER"


def _combined(parts: list[score.Part]) -> score.Part:
    return parts[0] if len(parts) == 1 else score.contrast(*parts)


def fixed(rate: Rate) -> bool:
    """Whether the cases of a rate do not depend on the prediction: labels, or all rows."""
    return set(rate.cases) in ({"tp", "fn"}, {"tn", "fp"}, {"tp", "fp", "fn", "tn"})


@lru_cache(maxsize=256)
def _function(rate: Rate) -> Callable[..., Any]:
    return as_function(rate.formula, CELLS)


@lru_cache(maxsize=256)
def _members(rate: Rate) -> NDArray[np.bool_]:
    """Which of the eight cells are a success, and a case, of either model; shape (2, 2, 8)."""
    owns = [[CELLS.index(cell) for cell in own] for own in (rate.successes, rate.cases or CELLS)]
    return np.stack([_MAPS[:, :, own].sum(axis=2) > 0 for own in owns])


def _table(cells: Floats, rate: Rate) -> score.Table:
    """Successes of both models, of A only, of B only, of neither, of one group."""
    (a, b), (cases, _) = _members(rate)
    both, only_a, only_b = (float(cells[own].sum()) for own in (a & b, a & ~b, ~a & b))
    return both, only_a, only_b, float(cells[cases].sum()) - both - only_a - only_b


def _value_and_gradient(rate: Rate, cells: Floats, ratio: bool) -> tuple[Floats, Floats]:
    """Rate (its logarithm) of models A and B, shape (2,), and gradients in the eight cells, shape (2, 8).

    By a complex step, which is exact to rounding.
    """
    steps = cells + 1j * _STEP * np.eye(cells.size)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.array([_function(rate)(*(np.vstack([cells, steps]) @ own).T) for own in _MAPS])
        value, gradient = values[:, 0].real, values[:, 1:].imag / _STEP
        return (np.log(value), gradient / value[:, None]) if ratio else (value, gradient)


def change_of_rate(rate: PairedRate, groups: tuple[int, ...], name: str, pair: ModelPair, kind: str) -> Found:
    """The change of a rate in a group, or of its comparison with the reference."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = rate.values[:, groups[0]]
        if len(groups) > 1:
            other = rate.values[:, groups[1]]
            ends = ends / other if rate.ratio else ends - other
    return Found(
        name=name, groups=tuple(rate.counts.groups[g] for g in groups), pair=pair,
        change=rate.change(*groups), kind=kind, n=int(rate.counts.group_sizes[list(groups)].sum()),
        method=rate.method, ends=(float(ends[0]), float(ends[1])),
    )  # fmt: skip


def change_of_gap(metric: Metric, counts: PairedCounts, pair: ModelPair) -> Found:
    """The change of a largest gap, which all gaps under it bound at once (Bonferroni).

    max|b| − max|a| lies between the least and the largest |b_j| − |a_j|.
    """
    changes, gaps, groups, lacking = [], [], [], ""
    for name in metric.rates:
        rate = PairedRate(counts, RATES[name], False)
        for i, j in make_pairs(len(counts.groups), 0, "all"):
            one = rate.change(i, j)
            if isinstance(one, str) and np.isfinite(rate.values[:, [i, j]]).all():
                lacking = one  # a gap that may be the largest
            elif not isinstance(one, str):
                changes.append(one)
                gaps.append(np.abs(rate.values[:, i] - rate.values[:, j]))
                groups.append((counts.groups[i], counts.groups[j]))
    row: dict[str, Any] = {"name": metric.name, "pair": pair, "kind": "size", "n": counts.n}
    row["method"] = f"{rate.method}, all gaps"
    if lacking or not changes:
        return Found(groups=counts.groups[:2], change=lacking or "No gap is known under both models.", **row)
    before, after = np.max(gaps, axis=0)
    top = int(np.argmax(np.array(gaps)[:, 1]))

    def end(z: float, side: int) -> float:
        critical = normal_quantile(1 - two_sided_pvalue(z, degrees) / len(changes) / 2, degrees)
        found = [score.distance_limits(c.shift.limits(critical), c.total.limits(critical))[side] for c in changes]
        return max(found) if side else min(found)

    degrees = min(c.degrees_of_freedom for c in changes)
    part = score.Part(float(after - before), lambda z: end(z, 0), lambda z: end(z, 1))
    change = Change(part, part, changes[top].std_error, degrees)
    return Found(groups=groups[top], change=change, ends=(float(before), float(after)), **row)
