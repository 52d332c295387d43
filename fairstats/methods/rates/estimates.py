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
from fairstats.ground.registry import SELECTED, Rate
from fairstats.methods.rates.limits import SharedUnits
from fairstats.numerics.rates.score import Contrast
from fairstats.numerics.rates.standardised import difference_steps

#: Rows more in every cell that limits of functions of the cells and of ratios of means are about:
#: the wider of both. Where a small group is nearly perfect, limits about half a row more err in up
#: to .13 on the side of the end of the range, those about a whole row more in up to .17 on that of
#: its middle.
ADDED = (0.5, 1.0)
#: The same of several classes, where rare ones draw a mean over classes to the middle: limits about
#: the values themselves count as well.
ADDED_TO_CLASSES = (0.0, *ADDED)
#: Cells of labels and predictions of two classes.
_CELLS_OF_TWO = 4
#: A variance below this share of r(1−r) is the rounding of sums, and no variance.
ROUNDING = 1e-12


# nothing changes one, but a frozen one takes three times as long to make
@dataclass(eq=False)
class RateEstimates:
    """Rates of G groups.

    `successes`, `cases`, shape (G,): k_s and d_s (weighted totals); `rows`, shape (G,): rows behind
    d_s; `rate`, shape (G,): k_s / d_s, NaN where d_s = 0; `joint`: variances of the rates,
    r(1−r)/d, shape (G,), for independent unweighted rows, their linearised covariance, shape (G,
    G), otherwise; `degrees_of_freedom`: infinite, or sampling units − 1; `weighted`, `clustered`:
    whether the variance is linearised, and whether over clusters; `units`, shape (G,): effective
    sampling units behind each rate; `worth`, shape (G,): its rows by their weights, (Σw)²/Σw²;
    `even`, shape (G,): groups of rows of equal weight, None without weights; `inflation`, shape
    (G,): of the variance of linear methods in small samples; `parts`: the two rates that this one
    is the mean of (average odds); `smooth`: whether `rate` holds a general function of the counts,
    which has no successes; `add_rows`: makes what `added` holds, of such a function or a mean;
    `fewest`, shape (G,): of a function of several classes the rows of its rarest one.
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
    add_rows: Callable[[], tuple[RateEstimates, ...]] = tuple
    fewest: Floats | None = None

    @classmethod
    def of(cls, counts: CellCounts, which: Rate, /, **values: Any) -> RateEstimates:
        """Estimates with what they take over from their table."""
        return cls(
            rate_of=which,
            groups=counts.groups,
            degrees_of_freedom=counts.degrees_of_freedom,
            weighted=counts.weighted,
            clustered=counts.clustered,
            **_small_sample_factors(counts, which),
            **values,
        )

    @property
    def added(self) -> tuple[RateEstimates, ...]:
        """Of a function or a mean those with `ADDED` rows more in every cell, else none."""
        return self.add_rows()

    @property
    def covariance(self) -> Floats:
        """Of the rates, shape (G, G)."""
        if self.joint.ndim == 2:
            return self.joint
        return np.diag(self.joint)

    @property
    def variance(self) -> Floats:
        """Of each rate, shape (G,)."""
        if self.joint.ndim == 1:
            return self.joint
        return np.diag(self.joint)

    def covariance_of(self, i: int, j: int) -> float:
        """Of two rates, 0 of independent groups."""
        if self.joint.ndim == 2:
            return float(self.joint[i, j])
        return 0.0

    def uneven(self, i: int, j: int) -> bool:
        """Whether a comparison of two groups has to do with clusters or unequal weights."""
        return self.weighted and (
            self.clustered or self.even is None or not bool(self.even[[i, j]].all())
        )

    def for_pair(self, i: int, j: int) -> RateEstimates:
        """The estimates that a comparison of two groups is made of.

        Without weights where both have equal ones.
        """
        if not self.weighted or self.smooth or self.uneven(i, j):
            return self
        with np.errstate(divide="ignore", invalid="ignore"):
            variance = self.rate * (1 - self.rate) / self.cases
        unweighted_parts = tuple(part_estimates.for_pair(i, j) for part_estimates in self.parts)
        if unweighted_parts:
            variance = np.asarray(
                np.sum([part_estimates.variance for part_estimates in unweighted_parts], axis=0)
                / len(unweighted_parts) ** 2
            )
        return replace(
            self,
            joint=variance,
            degrees_of_freedom=math.inf,
            weighted=False,
            units=None,
            worth=None,
            even=None,
            inflation=None,
            parts=unweighted_parts,
        )

    def contrast_degrees(
        self,
        i: int,
        j: int,
        *,
        contrast: Contrast,
        linear: bool = False,
    ) -> float:
        """Degrees of freedom of a contrast under weights or clusters, infinite without.

        Of effective counts those of the smaller group, u − 1 with u its effective units; of methods
        that are `linear` in the rates Satterthwaite's, (v_i + v_j)²/(v_i²/(u_i − 1) + v_j²/(u_j −
        1)), v the variances of both terms.
        """
        if self.units is None or not self.uneven(i, j):
            if self.units is None:
                return self.degrees_of_freedom
            return math.inf
        units_of_pair = self.units[[i, j]]
        if not linear:
            smaller = float(units_of_pair.min()) - 1
            return smaller if smaller > 0 else math.nan
        with np.errstate(divide="ignore", invalid="ignore"):
            variance = self._variances_of_terms(i, j, contrast)
            degrees = variance.sum() ** 2 / np.sum(variance**2 / np.maximum(units_of_pair - 1, 1))
        if np.isfinite(degrees):
            return float(degrees)
        return self.degrees_of_freedom

    def _variances_of_terms(self, i: int, j: int, contrast: Contrast) -> Floats:
        """Variances of both terms of a contrast, of log rates or log odds for ratios."""
        return np.asarray(self.variance[[i, j]] / spread_of_terms(self.rate[[i, j]], contrast) ** 2)

    def widening(self, i: int, j: int, *, contrast: Contrast) -> float:
        """Factor of the standard error of a contrast in small samples of weighted or clustered
        rows.
        """
        if self.inflation is None:
            return 1.0
        term_variances = self._variances_of_terms(i, j, contrast)
        if term_variances.sum() > 0:
            return math.sqrt(term_variances @ self.inflation[[i, j]] / term_variances.sum())
        return 1.0

    def shared(self, i: int, j: int) -> SharedUnits | None:
        """What two groups share that are in the same clusters; None where they share nothing.

        Of a mean the sums over its proportions.
        """
        if not self.clustered:
            return None
        proportions = self.parts or (self,)
        # rates that show no variance show nothing that the groups share
        if not all(proportion.varies[[i, j]].any() for proportion in proportions):
            return None
        variances = np.zeros(2)
        for proportion in proportions:
            variances += proportion.variance[[i, j]] / len(proportions) ** 2
        apart = float(variances.sum())
        joint = self.covariance
        covariance = (apart - float(joint[i, i] + joint[j, j] - 2 * joint[i, j])) / 2
        if not abs(covariance) > ROUNDING * apart:
            return None
        return SharedUnits(
            variance=float(variances[0]),
            variance_reference=float(variances[1]),
            covariance=covariance,
        )

    @functools.cached_property
    def effective(self) -> tuple[Floats, Floats]:
        """Effective successes k* = r·n* and cases n*, shape (G,) each.

        The counts themselves without weights.

        n* is the smaller of what two things allow, u being the effective units of the group (Kish
        1965):

            its variance               r(1−r)/Var(r), inflated for few units (Korn & Graubard 1998);
            its weights, or clusters   u, or u/τ with τ ≤ 1 the `variance_of_clusters` that groups have together.

        Where few clusters or weights happen to agree the variance is too small by chance, most of
        all near a rate of 0 or 1: the other term does not look at the outcomes of the group alone.
        A rate of 0 or 1 shows no variance: then n* is the number of units.
        """
        if self.units is None or self.inflation is None:
            return self.successes, self.cases
        rate = self.rate
        units = self.units
        variance = self.variance * self.inflation
        with np.errstate(divide="ignore", invalid="ignore"):
            allowed_by_variance = rate * (1 - rate) / variance
            if self.clustered:
                allowed_by_units = units / self.variance_of_clusters
            else:
                allowed_by_units = units
            effective_cases = np.where(
                self.varies, np.fmin(allowed_by_variance, allowed_by_units), units
            )
        if self.even is not None and not self.clustered:
            effective_cases = np.where(self.even, self.rows, effective_cases)
        return np.where(effective_cases > 0, rate * effective_cases, 0.0), np.where(
            np.isnan(rate), 0.0, effective_cases
        )

    @property
    def varies(self) -> NDArray[np.bool_]:
        """Whether units of a group differ in their rates by more than rounding, shape (G,)."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.variance > ROUNDING * self.rate * (1 - self.rate))

    @functools.cached_property
    def variance_of_clusters(self) -> Floats:
        """τ of each group, shape (G,).

        The variance of the mean of a cluster over r(1−r), by all groups together.

        τ_g = Σ_h (u_h − 1)·t_h·min(1, m_h/m_g)/Σ_h (u_h − 1),     t_h = Var(r_h)·u_h/(r_h(1 − r_h)), within (0, 1],

        m the rows of a cluster. A cluster of m rows with correlation ρ has ρ + (1 − ρ)/m: of larger
        clusters less is expected, by as much as if ρ were 0; of smaller ones no less. Copies of all
        rows within their clusters change none of it.
        """
        if self.units is None or self.worth is None:
            return np.ones(len(self.groups))
        rate = self.rate
        units = self.units
        share_of_units = self.degrees_of_freedom / (self.degrees_of_freedom + 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            # the factor n/(n − 1) of all units becomes that of the group's own
            variance = self.variance * share_of_units * units / (units - 1)
            cluster_variances = np.minimum(variance * units / (rate * (1 - rate)), 1.0)
            cluster_sizes = self.worth / units
            fewer_rows = np.minimum(cluster_sizes[None, :] / cluster_sizes[:, None], 1.0)
        usable = np.isfinite(cluster_variances) & self.varies & (units > 1)
        if not usable.any():
            return np.ones(len(self.groups))
        weight = np.where(usable, units - 1, 0.0)
        compared_variances = np.where(usable, cluster_variances, 0.0) * np.nan_to_num(
            fewer_rows, nan=1.0
        )
        return np.asarray(compared_variances @ weight / weight.sum())

    def table(self, i: int, j: int) -> tuple[float, float, float, float]:
        """Effective successes and cases of a group and its reference: (k_i, d_i, k_j, d_j)."""
        successes, cases = self.effective
        return float(successes[i]), float(cases[i]), float(successes[j]), float(cases[j])

    def contrast(self, i: int, j: int, *, contrast: Contrast) -> tuple[float, float]:
        """r_i / r_j or the ratio of the odds (NaN for 0/0), or r_i − r_j, with its standard error
        on this scale (delta method).
        """
        group_rate = float(self.rate[i])
        reference_rate = float(self.rate[j])
        std_error = self.std_error(i, j, contrast=contrast)
        if contrast == "difference":
            return group_rate - reference_rate, std_error
        numerator = group_rate
        denominator = reference_rate
        if contrast == "odds_ratio":
            numerator *= 1 - reference_rate
            denominator *= 1 - group_rate
        if denominator == 0:
            return (math.inf if numerator > 0 else math.nan), math.nan
        return numerator / denominator, numerator / denominator * std_error

    def std_error(self, i: int, j: int, *, contrast: Contrast) -> float:
        """Of r_i − r_j, or of the logarithm of a ratio; NaN where it is not defined."""
        group_spread = spread_of_term(float(self.rate[i]), contrast)
        reference_spread = spread_of_term(float(self.rate[j]), contrast)
        if group_spread == 0 or reference_spread == 0:
            return math.nan
        if self.joint.ndim == 2:
            scaled_covariance = float(self.joint[i, j]) / (group_spread * reference_spread)
        else:
            scaled_covariance = 0.0
        variance = (
            float(self.variance[i]) / group_spread**2
            + float(self.variance[j]) / reference_spread**2
            - 2 * scaled_covariance
        )
        if not math.isnan(variance):
            return math.sqrt(max(variance, 0.0))
        return math.nan

    def ratio_error_by_delta(self, i: int, j: int) -> float:
        """Standard error of r_i / r_j by statsmodels' delta method, as ``method="delta"`` takes it.

        φ(r) = r_i / r_j with gradient (1/r_j, −r_i/r_j²) at the covariance of the two rates. In
        closed form it is `contrast`'s: T·√(v_i/r_i² + v_j/r_j² − 2c/(r_i r_j)), which a test holds
        beside it.
        """
        rates = self.rate[[i, j]].astype(np.float64)
        between = float(self.joint[i, j]) if self.joint.ndim == 2 else 0.0
        covariance = np.array(
            [[float(self.variance[i]), between], [between, float(self.variance[j])]]
        )
        variance = delta_covariance(
            lambda point: np.array([point[0] / point[1]]),
            rates,
            covariance,
            gradient=lambda point: np.array([[1 / point[1], -point[0] / point[1] ** 2]]),
        )
        return math.sqrt(max(float(variance[0, 0]), 0.0))


def spread_of_terms(rates: Floats, contrast: Contrast) -> Floats:
    """What the standard error of a rate is divided by on the scale of a contrast: the inverse of
    its derivative there.

    1 for a difference, r on the scale of log r, r(1 − r) on that of the log odds.
    """
    if contrast == "ratio":
        return rates
    if contrast == "odds_ratio":
        return rates * (1 - rates)
    return np.ones_like(rates)


def _small_sample_factors(counts: CellCounts, rate: Rate) -> dict[str, Any]:
    """Effective sampling units and rows behind a rate in each group, and the inflation of its
    variance.

    Residuals shrink the variance of a group to 1 − 2Σh³/Σh² + Σh² of itself, h = d_u/Σd with d_u
    the weighted cases of a unit, where the working model has independent units (Bell & McCaffrey
    2002): 1 − 1/m for m equal units, 1 − 3/m at most for sizes by a gamma law; methods that are
    linear in the rates take 1 − 2/m for all.
    """
    if counts.scatter is None:
        return {}
    n_groups, n_cells = counts.totals.shape
    effective_units, effective_rows = np.full((2, n_groups), np.inf)
    for part_rate in rate.parts or (rate,):
        cell_indices = [counts.cells.index(cell_name) for cell_name in part_rate.cases] or list(
            range(n_cells)
        )
        effective_units = np.fmin(effective_units, counts._effective_units(cell_indices))
        effective_rows = np.fmin(effective_rows, counts._effective_rows(cell_indices))
    inflation = 1 / (np.maximum(1 - 2 / effective_units, 0.25) * counts.unit_factor)
    return {
        "units": effective_units,
        "worth": effective_rows,
        "even": counts.even_groups,
        "inflation": inflation,
    }


def rate_in(counts: CellCounts, rate: Rate) -> Rate:
    """The rate as the table counts it: one without labels has the selection rate only."""
    if isinstance(counts, SelectionCounts):
        return SELECTED
    return rate


def spread_of_term(rate: float, contrast: Contrast) -> float:
    """`spread_of_terms` of one rate, in plain floats."""
    if contrast == "ratio":
        return rate
    if contrast == "odds_ratio":
        return rate * (1 - rate)
    return 1.0


def own_influence(counts: CellCounts, rate: Rate) -> Floats:
    """Gradient of each group's rate in its own cells: (K_s − r_s D_s)/d_s, shape (G, c)."""
    successes = counts.total(*rate.successes)
    cases = counts.total(*rate.cases)
    gradient = np.zeros(counts.totals.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        for cell_name in rate.cases:
            of_cell = (float(cell_name in rate.successes) - successes / cases) / cases
            gradient[:, counts.cells.index(cell_name)] = of_cell
    return gradient


def influence_matrix(counts: CellCounts, rate: Rate) -> Floats:
    """Gradient of the rates in the cell totals: rows (K_s − r_s D_s)/d_s, shape (G, G·c)."""
    n_groups = len(counts.groups)
    group_indices = np.arange(n_groups)
    matrix = np.zeros((n_groups, n_groups, len(counts.cells)))
    matrix[group_indices, group_indices] = own_influence(counts, rate)
    return matrix.reshape(n_groups, -1)


def joint_covariance(counts: CellCounts, rates: Sequence[Rate]) -> Floats:
    """Covariance of several rates of all groups, shape (R·G, R·G), rate by rate.

    NaN where a rate is.
    """
    if counts.scatter is None:
        return _covariance_of_independent_groups(counts, rates)
    influence = np.vstack([influence_matrix(counts, each_rate) for each_rate in rates])
    known_rates = np.isfinite(influence).all(axis=1)
    known_influence = influence[known_rates]
    covariance = np.full((known_rates.size, known_rates.size), np.nan)
    weighted = known_influence @ counts.scatter * counts.unit_factor
    covariance[np.ix_(known_rates, known_rates)] = weighted @ known_influence.T
    return covariance


def _covariance_of_independent_groups(counts: CellCounts, rates: Sequence[Rate]) -> Floats:
    """The same where rows are independent: rates of one group only depend on each other.

    Σ_cells (∂r_a)(∂r_b)·total for each pair of rates and each group.
    """
    n_groups = len(counts.groups)
    influence: Floats = np.stack([own_influence(counts, each_rate) for each_rate in rates])
    known_rates = np.asarray(np.isfinite(influence).all(axis=2))
    influence = np.where(known_rates[:, :, None], influence, 0.0)
    of_each_group = np.einsum("agc,bgc,gc->abg", influence, influence, counts.totals)
    n_rates = len(rates)
    by_rate_and_group = np.zeros((n_rates, n_groups, n_rates, n_groups))
    groups = np.arange(n_groups)
    by_rate_and_group[:, groups, :, groups] = of_each_group.transpose(2, 0, 1)
    covariance: Floats = by_rate_and_group.reshape(n_rates * n_groups, -1)
    unknown = ~known_rates.ravel()
    covariance[unknown] = np.nan
    covariance[:, unknown] = np.nan
    return covariance


def linear_covariance(matrix: Floats, covariance: Floats) -> Floats:
    """A Σ Aᵀ where Σ is known in part; NaN for a row of A that needs what is not known."""
    known_inputs = np.isfinite(np.diag(covariance))
    usable_rows = ~(np.abs(matrix) @ (~known_inputs)).astype(bool)
    result_covariance = np.full((matrix.shape[0], matrix.shape[0]), np.nan)
    usable_matrix = matrix[np.ix_(usable_rows, known_inputs)]
    result_covariance[np.ix_(usable_rows, usable_rows)] = (
        usable_matrix @ covariance[np.ix_(known_inputs, known_inputs)] @ usable_matrix.T
    )
    return result_covariance


def estimate_rate(counts: CellCounts, rate: Rate) -> RateEstimates:
    """Any rate of the registry for every group.

    A proportion, a mean of such, or a smooth function.
    """
    rate = rate_in(counts, rate)
    if rate.interval == "delta":
        return estimate_smooth(counts, rate, rate.function_of(counts.cells))
    if rate.interval == "mover":
        return _mean_of(counts, rate)
    successes = counts._sum_of_cells(counts.totals, rate.successes)
    cases = counts._sum_of_cells(counts.totals, rate.cases)
    group_rates = np.full(len(counts.groups), math.nan)
    np.divide(successes, cases, out=group_rates, where=cases > 0)
    if counts.scatter is None:
        # of a group without cases NaN/0, which is NaN
        joint_variance = group_rates * (1 - group_rates) / cases
    else:
        joint_variance = joint_covariance(counts, [rate])
    return RateEstimates.of(
        counts,
        rate,
        successes=successes,
        cases=cases,
        rows=counts._sum_of_cells(counts.rows, rate.cases),
        rate=group_rates,
        joint=joint_variance,
    )


def with_added_rows(counts: CellCounts, added_rows: float) -> CellCounts:
    """The table with so many rows more in every cell; of several classes with as many in all as of
    two.
    """
    return replace(counts, totals=counts.totals + added_share(counts.cells) * added_rows)


def added_share(cells: Sequence[str]) -> float:
    """What of a row is added to each of these cells: all of them get as many as those of two."""
    return min(1.0, _CELLS_OF_TWO / len(cells))


def rows_added(cells: Sequence[str]) -> tuple[float, ...]:
    """Rows more that limits are about, in the cells of two classes or of more."""
    return ADDED if len(cells) <= _CELLS_OF_TWO else ADDED_TO_CLASSES


def _adder_of_rows(
    counts: CellCounts, estimate: Callable[[CellCounts], RateEstimates]
) -> Callable[[], tuple[RateEstimates, ...]]:
    """What makes the same with `ADDED` rows more in every cell; of weighted rows nothing.

    Made once, where it is asked for: differences of means need none.
    """

    @functools.cache
    def add_rows() -> tuple[RateEstimates, ...]:
        if counts.weighted:
            return ()
        result = []
        for added_rows in rows_added(counts.cells):
            result.append(estimate(with_added_rows(counts, added_rows)))
        return tuple(result)

    return add_rows


def _mean_of(counts: CellCounts, rate: Rate) -> RateEstimates:
    """The mean of several proportions (average odds).

    Linear in them, so its covariance is closed.
    """
    part_estimates = tuple(estimate_rate(counts, proportion) for proportion in rate.parts)
    n_groups = len(counts.groups)
    averaging_matrix = np.hstack([np.eye(n_groups)] * len(part_estimates)) / len(part_estimates)
    return RateEstimates.of(
        counts,
        rate,
        successes=np.full(n_groups, np.nan),
        cases=np.min([proportion.cases for proportion in part_estimates], axis=0),
        rows=np.sum([proportion.rows for proportion in part_estimates], axis=0),
        rate=np.sum([proportion.rate for proportion in part_estimates], axis=0)
        / len(part_estimates),
        joint=linear_covariance(averaging_matrix, joint_covariance(counts, rate.parts)),
        parts=part_estimates,
        add_rows=_adder_of_rows(counts, lambda larger_counts: _mean_of(larger_counts, rate)),
    )


def estimate_smooth(
    counts: CellCounts,
    rate: Rate,
    function: Callable[..., Any],
    *,
    add: bool = True,
) -> RateEstimates:
    """Values of a function of the cells per group, with their covariance by the delta method.

    Without weights intervals are about those with `ADDED` rows more in every cell: about the values
    themselves they cover .64 to .93 where a group has fewer than ten errors.
    """

    def values(totals: Floats) -> Floats:
        return values_of_cells(function, totals.reshape(counts.totals.shape))

    group_values, covariance = values_by_delta(values, counts)
    add_rows: Callable[[], tuple[RateEstimates, ...]] = tuple
    if add:
        add_rows = _adder_of_rows(
            counts, lambda larger_counts: estimate_smooth(larger_counts, rate, function, add=False)
        )
    estimates = RateEstimates.of(
        counts,
        rate,
        successes=np.full(group_values.size, np.nan),
        cases=counts.totals.sum(axis=1),
        rows=counts.group_sizes,
        rate=group_values,
        joint=covariance,
        smooth=True,
        add_rows=add_rows,
    )
    return with_usable_cases(estimates)


def values_of_cells(function: Callable[..., Any], cells: Floats) -> Floats:
    """A function of the cells of every group, shape (G, c)."""
    try:
        with np.errstate(divide="ignore", invalid="ignore"):
            values = np.asarray(function(*cells.T), dtype=np.float64)
    except (TypeError, ValueError) as problem:
        received = f"a function that fails ({problem})"
        allowed = "a function of tp, fp, fn, tn to one array"
        suggestion = "lambda tp, fp, fn, tn: tp / (tp + fn)"
        raise InputError("metric", got=received, allowed=allowed, cure=suggestion) from problem
    if values.shape != (len(cells),):
        received = f"a function that returns shape {values.shape} for {len(cells)} groups"
        allowed = "one number per group: element-wise arithmetic on arrays (tp, fp, fn, tn)"
        raise InputError(
            "metric",
            got=received,
            allowed=allowed,
            cure="write it with NumPy functions",
        )
    return values


def values_by_delta(
    values: Callable[[Floats], Floats], counts: CellCounts
) -> tuple[Floats, Floats]:
    """Values of a function of all cells, and their covariance; NaN of what is not known."""
    totals = counts.totals.ravel()
    at_totals = values(totals)
    is_known = np.isfinite(at_totals)
    covariance = np.full((is_known.size, is_known.size), np.nan)
    if is_known.any():
        with np.errstate(divide="ignore", invalid="ignore"):
            covariance[np.ix_(is_known, is_known)] = delta_covariance(
                lambda near: values(near)[is_known], totals, counts.covariance()
            )
    return at_totals, covariance


def with_usable_cases(estimates: RateEstimates) -> RateEstimates:
    """The estimates without cases of those groups whose value is not known, or does not vary.

    A group without an error varies with half a row more.
    """
    variance = estimates.variance
    if estimates.added:
        variance = estimates.added[-1].variance
    is_usable = (
        np.isfinite(estimates.rate)
        & np.isfinite(variance)
        & (variance > 1e-24 * np.maximum(estimates.rate**2, 1e-24))
    )
    return replace(estimates, cases=np.where(is_usable, estimates.cases, 0.0))


def without_ratio(estimates: RateEstimates, pair: tuple[int, int], contrast: Contrast) -> str:
    """Why counts of a pair leave a ratio open, in words; empty where they do not."""
    if contrast == "difference":
        return ""
    i, j = pair
    rate = estimates.rate[i]
    rate_reference = estimates.rate[j]
    title = estimates.rate_of.title
    if rate == 0 and rate_reference == 0:
        return f"{title} 0 in both; 0/0 can be any ratio."
    if contrast == "odds_ratio" and rate == 1 and rate_reference == 1:
        return f"{title} 1 in both, without any odds against; 0/0 can be any ratio."
    return ""


def delta_covariance(
    function: Callable[[Floats], Floats],
    totals: Floats,
    covariance: Floats,
    *,
    gradient: Callable[[Floats], Floats] | None = None,
) -> Floats:
    """Covariance, shape (q, q), of a function (m,) → (q,) of totals, by statsmodels'
    `NonlinearDeltaCov`.

    Statsmodels 0.15 has no public name for it; `tests/methods/rates/test_delta.py` says where it
    is. `gradient`: (m,) → (q, m); by default differences.
    """
    from statsmodels.stats._delta_method import NonlinearDeltaCov

    std_errors = np.sqrt(np.diag(covariance))

    def jacobian(point: Floats) -> Floats:
        """Fourth-order central differences with steps of a fraction of one standard error."""
        columns = []
        step_sizes = difference_steps(point, std_errors)
        for step_size, step_vector in zip(step_sizes, np.diag(step_sizes), strict=True):
            near_difference, far_difference = (
                function(point + n_steps * step_vector) - function(point - n_steps * step_vector)
                for n_steps in (1, 2)
            )
            columns.append((8 * near_difference - far_difference) / (12 * step_size))
        return np.column_stack(columns)

    delta_method = NonlinearDeltaCov(function, totals, covariance, deriv=gradient or jacobian)
    return np.atleast_2d(np.asarray(delta_method.cov(), dtype=np.float64))
