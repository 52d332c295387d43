"""Rates per group with their joint covariance, from a count table."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats
from fairstats.ground.counts import CellCounts, SelectionCounts
from fairstats.ground.errors import InputError
from fairstats.ground.registry import SELECTED, Rate, as_function

#: Rows more in every cell that limits of functions of the cells and of ratios of means are about: the wider
#: of both. Where a small group is nearly perfect, limits about half a row more err in up to .13 on the side
#: of the end of the range, those about a whole row more in up to .17 on that of its middle.
ADDED = (0.5, 1.0)
#: A variance below this share of r(1−r) is the rounding of sums, and no variance.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class RateEstimates:
    """Rates of G groups.

    `successes`, `cases`, shape (G,): k_s and d_s (weighted totals); `rows`, shape (G,): rows behind d_s; `rate`, shape
    (G,): k_s / d_s, NaN where d_s = 0; `joint`: variances of the rates, r(1−r)/d, shape (G,), for independent
    unweighted rows, their linearised covariance, shape (G, G), otherwise; `degrees_of_freedom`: infinite, or sampling
    units − 1; `weighted`, `clustered`: whether the variance is linearised, and whether over clusters; `units`, shape
    (G,): effective sampling units behind each rate; `worth`, shape (G,): its rows by their weights, (Σw)²/Σw²;
    `even`, shape (G,): groups of rows of equal weight, None without weights; `inflation`, shape (G,): of the variance
    of linear methods in small samples; `parts`: the two rates that this one is the mean of (average odds); `smooth`:
    whether `rate` holds a general function of the counts, which has no successes; `added`: of such a function or a
    mean those with `ADDED` rows more in every cell.
    """

    rate_of: Rate
    groups: tuple[str, ...]
    successes: Floats
    cases: Floats
    rows: NDArray[np.int64]
    rate: Floats
    joint: Floats
    degrees_of_freedom: float = float("inf")
    weighted: bool = False
    clustered: bool = False
    units: Floats | None = None
    worth: Floats | None = None
    even: NDArray[np.bool_] | None = None
    inflation: Floats | None = None
    parts: tuple[RateEstimates, ...] = ()
    smooth: bool = False
    added: tuple[RateEstimates, ...] = ()

    @classmethod
    def of(cls, counts: CellCounts, which: Rate, /, **values: Any) -> RateEstimates:
        """Estimates with what they take over from their table."""
        known: dict[str, Any] = {"degrees_of_freedom": counts.degrees_of_freedom, "weighted": counts.weighted}
        known |= {"clustered": counts.clustered, **_small_sample(counts, which)}
        return cls(rate_of=which, groups=counts.groups, **known, **values)

    @property
    def covariance(self) -> Floats:
        """Of the rates, shape (G, G)."""
        return self.joint if self.joint.ndim == 2 else np.diag(self.joint)

    @property
    def variance(self) -> Floats:
        """Of each rate, shape (G,)."""
        return self.joint if self.joint.ndim == 1 else np.diag(self.joint)

    def uneven(self, i: int, j: int) -> bool:
        """Whether a comparison of two groups has to do with clusters or unequal weights."""
        return self.weighted and (self.clustered or self.even is None or not bool(self.even[[i, j]].all()))

    def for_pair(self, i: int, j: int) -> RateEstimates:
        """The estimates that a comparison of two groups is made of: without weights where both have equal ones."""
        if not self.weighted or self.smooth or self.uneven(i, j):
            return self
        with np.errstate(divide="ignore", invalid="ignore"):
            variance = self.rate * (1 - self.rate) / self.cases
        parts = tuple(part.for_pair(i, j) for part in self.parts)
        if parts:
            variance = np.asarray(np.sum([part.variance for part in parts], axis=0) / len(parts) ** 2)
        return replace(
            self, joint=variance, degrees_of_freedom=math.inf, weighted=False, units=None, worth=None, even=None,
            inflation=None, parts=parts,
        )  # fmt: skip

    def contrast_degrees(self, i: int, j: int, *, ratio: bool, linear: bool = False) -> float:
        """Degrees of freedom of a contrast under weights or clusters, infinite without.

        Of effective counts those of the smaller group, u − 1 with u its effective units; of methods that are `linear`
        in the rates Satterthwaite's, (v_i + v_j)²/(v_i²/(u_i − 1) + v_j²/(u_j − 1)), v the variances of both terms.
        """
        if self.units is None or not self.uneven(i, j):
            return self.degrees_of_freedom if self.units is None else math.inf
        units = self.units[[i, j]]
        if not linear:
            smaller = float(units.min()) - 1
            return smaller if smaller > 0 else math.nan
        with np.errstate(divide="ignore", invalid="ignore"):
            variance = self._terms(i, j, ratio)
            degrees = variance.sum() ** 2 / np.sum(variance**2 / np.maximum(units - 1, 1))
        return float(degrees) if np.isfinite(degrees) else self.degrees_of_freedom

    def _terms(self, i: int, j: int, ratio: bool) -> Floats:
        """Variances of both terms of a contrast, of log rates for a ratio."""
        return np.asarray(self.variance[[i, j]] / (self.rate[[i, j]] ** 2 if ratio else 1.0))

    def widening(self, i: int, j: int, *, ratio: bool) -> float:
        """Factor of the standard error of a contrast in small samples of weighted or clustered rows."""
        if self.inflation is None:
            return 1.0
        terms = self._terms(i, j, ratio)
        return math.sqrt(terms @ self.inflation[[i, j]] / terms.sum()) if terms.sum() > 0 else 1.0

    def dependence(self, i: int, j: int, *, ratio: bool) -> float:
        """Standard error of a contrast with all proportions independent, over its own: 1 without clusters."""
        if not self.clustered:
            return 1.0
        own = self.parts or (self,)
        with np.errstate(divide="ignore", invalid="ignore"):
            apart = sum(part._terms(i, j, ratio).sum() for part in own) / len(own) ** 2
        together = self.std_error(i, j, ratio=ratio)
        # rates that show no variance show nothing that the groups share
        shown = all(part.varies[[i, j]].any() for part in own) and 0 < together < math.inf
        return math.sqrt(apart) / together if shown else 1.0

    @functools.cached_property
    def effective(self) -> tuple[Floats, Floats]:
        """Effective successes k* = r·n* and cases n*, shape (G,) each; the counts themselves without weights.

        n* is the smaller of what two things allow, u being the effective units of the group (Kish 1965):

            its variance               r(1−r)/Var(r), inflated for few units (Korn & Graubard 1998);
            its weights, or clusters   u, or u/τ with τ ≤ 1 the `variance_of_clusters` that groups have together.

        Where few clusters or weights happen to agree the variance is too small by chance, most of all near a rate of 0
        or 1: the other term does not look at the outcomes of the group alone. A rate of 0 or 1 shows no variance: then
        n* is the number of units.
        """
        if self.units is None or self.inflation is None:
            return self.successes, self.cases
        rate, units = self.rate, self.units
        variance = self.variance * self.inflation
        with np.errstate(divide="ignore", invalid="ignore"):
            shown = rate * (1 - rate) / variance
            allowed = units / self.variance_of_clusters if self.clustered else units
            cases = np.where(self.varies, np.fmin(shown, allowed), units)
        if self.even is not None and not self.clustered:
            cases = np.where(self.even, self.rows, cases)
        return np.where(cases > 0, rate * cases, 0.0), np.where(np.isnan(rate), 0.0, cases)

    @property
    def varies(self) -> NDArray[np.bool_]:
        """Whether units of a group differ in their rates by more than rounding, shape (G,)."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.variance > ROUNDING * self.rate * (1 - self.rate))

    @functools.cached_property
    def variance_of_clusters(self) -> Floats:
        """τ of each group, shape (G,): the variance of the mean of a cluster over r(1−r), by all groups together.

        τ_g = Σ_h (u_h − 1)·t_h·min(1, m_h/m_g)/Σ_h (u_h − 1),     t_h = Var(r_h)·u_h/(r_h(1 − r_h)), within (0, 1],

        m the rows of a cluster. A cluster of m rows with correlation ρ has ρ + (1 − ρ)/m: of larger clusters less is
        expected, by as much as if ρ were 0; of smaller ones no less. Copies of all rows within their clusters change
        none of it.
        """
        if self.units is None or self.worth is None:
            return np.ones(len(self.groups))
        rate, units = self.rate, self.units
        share_of_units = self.degrees_of_freedom / (self.degrees_of_freedom + 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            # the factor n/(n − 1) of all units becomes that of the group's own
            variance = self.variance * share_of_units * units / (units - 1)
            own = np.minimum(variance * units / (rate * (1 - rate)), 1.0)
            size = self.worth / units
            fewer_rows = np.minimum(size[None, :] / size[:, None], 1.0)
        usable = np.isfinite(own) & self.varies & (units > 1)
        if not usable.any():
            return np.ones(len(self.groups))
        weight = np.where(usable, units - 1, 0.0)
        each = np.where(usable, own, 0.0) * np.nan_to_num(fewer_rows, nan=1.0)
        return np.asarray(each @ weight / weight.sum())

    def table(self, i: int, j: int) -> tuple[float, float, float, float]:
        """Effective successes and cases of a group and its reference: (k_i, d_i, k_j, d_j)."""
        successes, cases = self.effective
        return float(successes[i]), float(cases[i]), float(successes[j]), float(cases[j])

    def contrast(self, i: int, j: int, *, ratio: bool) -> tuple[float, float]:
        """r_i / r_j (NaN for 0/0) or r_i − r_j, with its standard error on this scale (delta method)."""
        over, under = self.rate[[i, j]].tolist()
        if not ratio:
            return over - under, self.std_error(i, j, ratio=False)
        if under == 0:
            return (math.inf if over > 0 else math.nan), math.nan
        return over / under, over / under * self.std_error(i, j, ratio=True)

    def std_error(self, i: int, j: int, *, ratio: bool) -> float:
        """Of r_i − r_j, or of log(r_i / r_j); NaN where it is not defined."""
        a, b = self.rate[[i, j]].tolist() if ratio else (1.0, 1.0)
        if a == 0 or b == 0:
            return math.nan
        between = float(self.joint[i, j]) / (a * b) if self.joint.ndim == 2 else 0.0
        variance = float(self.variance[i]) / a**2 + float(self.variance[j]) / b**2 - 2 * between
        return math.sqrt(max(variance, 0.0)) if not math.isnan(variance) else math.nan


def _small_sample(counts: CellCounts, rate: Rate) -> dict[str, Any]:
    """Effective sampling units and rows behind a rate in each group, and the inflation of its variance.

    Residuals shrink the variance of a group to 1 − 2Σh³/Σh² + Σh² of itself, h = d_u/Σd with d_u the weighted cases of
    a unit, where the working model has independent units (Bell & McCaffrey 2002): 1 − 1/m for m equal units, 1 − 3/m at
    most for sizes by a gamma law; methods that are linear in the rates take 1 − 2/m for all.
    """
    if counts.scatter is None:
        return {}
    n_groups, n_cells = counts.totals.shape
    units, worth = np.full((2, n_groups), np.inf)
    for part in rate.parts or (rate,):
        cells = [counts.cells.index(cell) for cell in part.cases] or list(range(n_cells))
        units = np.fmin(units, counts._effective_units(cells))
        worth = np.fmin(worth, counts._effective_rows(cells))
    inflation = 1 / (np.maximum(1 - 2 / units, 0.25) * counts.unit_factor)
    return {"units": units, "worth": worth, "even": counts.even_groups, "inflation": inflation}


def rate_in(counts: CellCounts, rate: Rate) -> Rate:
    """The rate as the table counts it: one without labels has the selection rate only."""
    return SELECTED if isinstance(counts, SelectionCounts) else rate


def influence_matrix(counts: CellCounts, rate: Rate) -> Floats:
    """Gradient of the rates in the cell totals: rows (K_s − r_s D_s)/d_s, shape (G, G·c)."""
    successes, cases = counts.total(*rate.successes), counts.total(*rate.cases)
    n_groups, each = len(counts.groups), np.arange(len(counts.groups))
    matrix = np.zeros((n_groups, n_groups, len(counts.cells)))
    with np.errstate(divide="ignore", invalid="ignore"):
        for cell in rate.cases:
            own = (float(cell in rate.successes) - successes / cases) / cases
            matrix[each, each, counts.cells.index(cell)] = own
    return matrix.reshape(n_groups, -1)


def joint_covariance(counts: CellCounts, rates: Sequence[Rate]) -> Floats:
    """Covariance of several rates of all groups, shape (R·G, R·G), rate by rate; NaN where a rate is."""
    influence = np.vstack([influence_matrix(counts, rate) for rate in rates])
    known = np.isfinite(influence).all(axis=1)
    part = influence[known]
    covariance = np.full((known.size, known.size), np.nan)
    weighted = part * counts.totals.ravel() if counts.scatter is None else part @ counts.scatter * counts.unit_factor
    covariance[np.ix_(known, known)] = weighted @ part.T
    return covariance


def linear_covariance(matrix: Floats, covariance: Floats) -> Floats:
    """A Σ Aᵀ where Σ is known in part; NaN for a row of A that needs what is not known."""
    known = np.isfinite(np.diag(covariance))
    usable = ~(np.abs(matrix) @ (~known)).astype(bool)
    found = np.full((matrix.shape[0], matrix.shape[0]), np.nan)
    part = matrix[np.ix_(usable, known)]
    found[np.ix_(usable, usable)] = part @ covariance[np.ix_(known, known)] @ part.T
    return found


def estimate_rate(counts: CellCounts, rate: Rate) -> RateEstimates:
    """Any rate of the registry for every group: a proportion, a mean of such, or a smooth function."""
    rate = rate_in(counts, rate)
    if rate.interval == "delta":
        return estimate_smooth(counts, rate, as_function(rate.formula, counts.cells))
    if rate.interval == "mover":
        return _mean_of(counts, rate)
    successes, cases = counts.total(*rate.successes), counts.total(*rate.cases)
    rows = counts.rows[:, [counts.cells.index(cell) for cell in rate.cases]].sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = successes / cases
        joint = rates * (1 - rates) / cases if counts.scatter is None else joint_covariance(counts, [rate])
    return RateEstimates.of(counts, rate, successes=successes, cases=cases, rows=rows, rate=rates, joint=joint)


def _with_more(counts: CellCounts, estimate: Callable[[CellCounts], RateEstimates]) -> tuple[RateEstimates, ...]:
    """The same with `ADDED` rows more in every cell; of weighted rows nothing."""
    if counts.weighted:
        return ()
    return tuple(estimate(replace(counts, totals=counts.totals + more)) for more in ADDED)


def _mean_of(counts: CellCounts, rate: Rate, *, add: bool = True) -> RateEstimates:
    """The mean of several proportions (average odds): linear in them, so its covariance is closed."""
    parts, n_groups = tuple(estimate_rate(counts, part) for part in rate.parts), len(counts.groups)
    mean = np.hstack([np.eye(n_groups)] * len(parts)) / len(parts)
    added = _with_more(counts, lambda more: _mean_of(more, rate, add=False)) if add else ()
    return RateEstimates.of(
        counts, rate, successes=np.full(n_groups, np.nan),
        cases=np.min([part.cases for part in parts], axis=0),
        rows=np.sum([part.rows for part in parts], axis=0),
        rate=np.sum([part.rate for part in parts], axis=0) / len(parts),
        joint=linear_covariance(mean, joint_covariance(counts, rate.parts)), parts=parts, added=added,
    )  # fmt: skip


def estimate_smooth(counts: CellCounts, rate: Rate, function: Callable[..., Any], *, add: bool = True) -> RateEstimates:
    """Values of a function of the cells per group, with their covariance by the delta method.

    Without weights intervals are about those with `ADDED` rows more in every cell: about the values
    themselves they cover .64 to .93 where a group has fewer than ten errors.
    """

    def values(totals: Floats) -> Floats:
        try:
            return np.asarray(function(*totals.reshape(counts.totals.shape).T), dtype=np.float64)
        except (TypeError, ValueError) as problem:
            got, allowed = f"a function that fails ({problem})", "a function of tp, fp, fn, tn to one array"
            cure = "lambda tp, fp, fn, tn: tp / (tp + fn)"
            raise InputError("metric", got=got, allowed=allowed, cure=cure) from problem

    with np.errstate(divide="ignore", invalid="ignore"):
        value = values(counts.totals.ravel())
    if value.shape != (len(counts.groups),):
        got = f"a function that returns shape {value.shape} for {len(counts.groups)} groups"
        allowed = "one number per group: element-wise arithmetic on arrays (tp, fp, fn, tn)"
        raise InputError("metric", got=got, allowed=allowed, cure="write it with NumPy functions")
    known = np.isfinite(value)
    covariance = np.full((known.size, known.size), np.nan)
    if known.any():
        with np.errstate(divide="ignore", invalid="ignore"):
            covariance[np.ix_(known, known)] = delta_covariance(
                lambda totals: values(totals)[known], counts.totals.ravel(), counts.covariance()
            )
    added = _with_more(counts, lambda more: estimate_smooth(more, rate, function, add=False)) if add else ()
    # a group without an error varies with half a row more
    variance = (added[0].covariance if added else covariance).diagonal()
    usable = known & np.isfinite(variance) & (variance > 1e-24 * np.maximum(value**2, 1e-24))
    return RateEstimates.of(
        counts, rate, successes=np.full(known.size, np.nan),
        cases=np.where(usable, counts.totals.sum(axis=1), 0.0), rows=counts.group_sizes, rate=value,
        joint=covariance, smooth=True, added=added,
    )  # fmt: skip


def delta_covariance(function: Callable[[Floats], Floats], totals: Floats, covariance: Floats) -> Floats:
    """Covariance, shape (q, q), of a function (m,) → (q,) of totals, by statsmodels' `NonlinearDeltaCov`."""
    from statsmodels.stats._delta_method import NonlinearDeltaCov

    scale = np.sqrt(np.diag(covariance))

    def jacobian(point: Floats) -> Floats:
        """Fourth-order central differences with steps of a fraction of one standard error."""
        columns = []
        steps = 1e-3 * np.where(scale > 0, scale, np.maximum(1.0, np.abs(point)))
        for step, shift in zip(steps, np.diag(steps), strict=True):
            near, far = (function(point + k * shift) - function(point - k * shift) for k in (1, 2))
            columns.append((8 * near - far) / (12 * step))
        return np.column_stack(columns)

    delta = NonlinearDeltaCov(function, totals, covariance, deriv=jacobian)
    return np.atleast_2d(np.asarray(delta.cov(), dtype=np.float64))
