"""Rates of groups that nobody recorded: estimates and bounds from probabilities of the groups.

Row i has probabilities p_ig of the groups, an outcome (success, failure, or no case of the rate) and
no group. Sums over cells of the probabilities, halves of the rows and outcomes are all that is read.

With 1_g for "is of group g", N_g = E[1_g · success] and F_g = E[1_g · failure], the rate of g is
r_g = N_g / (N_g + F_g). Within people of equal probabilities p only the margins of group and outcome
are known, so that (Fréchet)

    max(0, p_g + P(success | p) − 1) ≤ P(g, success | p) ≤ min(p_g, P(success | p)),

and the same for failures. r_g is largest where N_g is largest and F_g smallest; both are attained
together, and for two groups at once (Kallus, Mao & Zhou 2022), since what lacks a place among
successes goes first to rows that are no cases.

min(p_g, P(success | p)) is never more than E[s · success + (1 − s) · p_g | p] with any choice s of
0 or 1 by p: a linear quantity, whose sampling error is that of a mean. The choice is made on the one
half of the rows and the bound is computed on the other, and both ways: so a wrong choice makes a
bound wider, never too narrow (dual bounds: Ji, Lei & Spector 2023). s = 1 is chosen where the share
of the outcome lies below p_g by more than the largest noise of all cells: where both are alike every
choice has the same mean, but choices that follow the noise have errors that are not normal.

Under weights w_i every mean is one of w_i times its term, over Σ w_i; its variance is that of a ratio
by linearisation, Σ_i (w_i · influence_i)², or, where rows come in clusters, Σ_k (Σ_{i in k} w_i ·
influence_i)². An influence is linear in the probabilities within each cell, half and outcome, so that
the first needs sums with squared weights, and the second the clusters' scatter: the products of each
cluster's sums, for each half, since a cluster lies in one half. All probabilities of a row sum to 1:
a constant is a slope alike for all groups.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats

#: Outcomes of a row, in the order of the tables.
SUCCESS = 0
FAILURE = 1
NO_CASE = 2
#: Fewest rows of a cell of probabilities, and fewest of the calibration sample in it.
CELL_ROWS = 100
CELL_SAMPLE = 20
#: Most cells: 2 to the power of this; of clusters fewer, whose scatter has a row for each cell,
#: outcome and group.
MOST_SPLITS = 6
MOST_SPLITS_OF_CLUSTERS = 3
#: Fewest audited rows of an outcome from which the probabilities are calibrated.
_LEAST_FITTED = 10


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over rows by cell of probabilities, half and outcome.

    `number`, shape (C, 2, 3); `sums` of the probabilities, (C, 2, 3, G); `products` of pairs of
    them, (C, 2, 3, G, G): all times the rows' weights. `squares`: the same with squared weights,
    where rows have weights. `scatter`, where rows come in clusters, shape (2, 6CG / 2, 6CG / 2): by
    half, products of the clusters' sums of probabilities by cell, outcome and group.
    """

    number: Floats
    sums: Floats
    products: Floats
    squares: Sums | None = None
    scatter: Floats | None = None

    @property
    def n(self) -> float:
        """The weight of all rows; their number where they have none."""
        return float(self.number.sum())

    @property
    def units(self) -> float:
        """How many rows, or clusters, of one weight all rows are worth (Kish): (Σw)² / Σw²."""
        return Term(np.ones(self.number.shape), np.zeros(self.sums.shape)).units(self)

    @property
    def has_design(self) -> bool:
        """Whether rows have weights or come in clusters."""
        return self.squares is not None or self.scatter is not None


@dataclass(frozen=True, eq=False)
class Term:
    """What every row adds: a constant by its cell, half and outcome, and a slope by group.

    `constant`, shape (C, 2, 3); `slope`, (C, 2, 3, G), times the row's probabilities.
    """

    constant: Floats
    slope: Floats

    def __add__(self, other: Term) -> Term:
        return Term(self.constant + other.constant, self.slope + other.slope)

    def times(self, factor: float) -> Term:
        """The same, every row's part times a factor."""
        return Term(self.constant * factor, self.slope * factor)

    def shifted(self, shift: Floats) -> Term:
        """The same of probabilities that are shifted by cell; `shift`, shape (C, G)."""
        moved = np.einsum("cfog,cg->cfo", self.slope, shift)
        return Term(self.constant + moved, self.slope)

    def total(self, table: Sums) -> float:
        """Sum over all rows."""
        return float((self.constant * table.number).sum() + (self.slope * table.sums).sum())

    def sum_of_squares(self, table: Sums) -> float:
        """Sum of the squares over all rows, or over the clusters."""
        if table.scatter is not None:
            slopes = self.slope + self.constant[..., None]
            by_half = slopes.transpose(1, 0, 2, 3).reshape(2, -1)
            return float(np.einsum("fi,fij,fj->", by_half, table.scatter, by_half))
        if table.squares is not None:
            table = table.squares
        squares = (self.constant**2 * table.number).sum()
        mixed = 2 * (self.constant[..., None] * self.slope * table.sums).sum()
        return float(
            squares + mixed + np.einsum("cfog,cfogh,cfoh->", self.slope, table.products, self.slope)
        )

    def units(self, table: Sums) -> float:
        """How many rows (or clusters) the total is worth: its square over the sum of squares."""
        squares = self.sum_of_squares(table)
        if not squares > 0:
            return 0.0
        return self.total(table) ** 2 / squares


def split_by_probabilities(
    probabilities: Floats,
    sample: Floats | None = None,
    most_splits: int = MOST_SPLITS,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Cells of rows with similar probabilities, from 0; and those of a calibration sample.

    Halves at the median of the column that varies most, again and again, as long as both parts keep
    `CELL_ROWS` rows (and `CELL_SAMPLE` of the sample), `most_splits` times. `probabilities`, shape
    (n, G).
    """
    if sample is None:
        sample = np.empty((0, probabilities.shape[1]))
        least_of_sample = 0
    else:
        least_of_sample = CELL_SAMPLE
    cells = np.zeros(len(probabilities), dtype=np.int64)
    cells_of_sample = np.zeros(len(sample), dtype=np.int64)
    for _ in range(most_splits):
        n_cells = int(cells.max(initial=0)) + 1
        for cell in range(n_cells):
            rows = np.flatnonzero(cells == cell)
            values = probabilities[rows]
            rows_of_sample = np.flatnonzero(cells_of_sample == cell)
            column = int(np.argmax(values.var(axis=0)))
            cut = _cut_between(values[:, column])
            if cut is None:
                continue
            above = values[:, column] > cut
            above_of_sample = sample[rows_of_sample, column] > cut
            n_above = int(above.sum())
            n_sample_above = int(above_of_sample.sum())
            smaller = min(n_above, rows.size - n_above)
            smaller_of_sample = min(n_sample_above, rows_of_sample.size - n_sample_above)
            if smaller < CELL_ROWS or smaller_of_sample < least_of_sample:
                continue
            new_cell = int(cells.max()) + 1
            cells[rows[above]] = new_cell
            cells_of_sample[rows_of_sample[above_of_sample]] = new_cell
        if int(cells.max(initial=0)) + 1 == n_cells:
            break
    return cells, cells_of_sample


def _cut_between(values: Floats) -> float | None:
    """The value at or below which about half of the values lie, and some above; None for one."""
    ordered = np.sort(values)
    if ordered[0] == ordered[-1]:
        return None
    middle = float(ordered[(ordered.size - 1) // 2])
    if middle < ordered[-1]:
        below = ordered[ordered < middle]
        n_to = int(np.searchsorted(ordered, middle, side="right"))
        if below.size and abs(below.size - ordered.size / 2) < abs(n_to - ordered.size / 2):
            return float(below[-1])
        return middle
    return float(ordered[ordered < middle][-1])


def halve_clusters(clusters: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int64]:
    """Half, 0 or 1, of every row, drawn for whole clusters in the order in which they appear."""
    _, first_rows, codes = np.unique(clusters, return_index=True, return_inverse=True)
    order = np.empty(first_rows.size, dtype=np.int64)
    order[np.argsort(first_rows)] = np.arange(first_rows.size)
    halves = rng.permutation(first_rows.size) % 2
    return np.asarray(halves[order[codes.ravel()]])


def sum_rows(
    probabilities: Floats,
    outcomes: NDArray[Any],
    halves: NDArray[Any],
    cells: NDArray[Any],
    n_cells: int,
    weights: Floats | None = None,
    clusters: NDArray[Any] | None = None,
) -> Sums:
    """The table of rows with these outcomes (0, 1, 2), halves (0, 1) and cells.

    `weights`, None for 1 each; `clusters`: codes from 0, each within one half.
    """
    places = (cells * 2 + halves) * 3 + outcomes
    table = _sum_by_place(probabilities, places, n_cells, weights)
    if weights is not None:
        table = replace(table, squares=_sum_by_place(probabilities, places, n_cells, weights**2))
    if clusters is None:
        return table
    weighted = probabilities
    if weights is not None:
        weighted = probabilities * weights[:, None]
    columns = cells * 3 + outcomes
    scatter = _scatter_of_clusters(weighted, columns, n_cells * 3, clusters, halves)
    return replace(table, scatter=scatter)


def _scatter_of_clusters(
    weighted: Floats,
    columns: NDArray[Any],
    n_columns: int,
    clusters: NDArray[Any],
    halves: NDArray[Any],
) -> Floats:
    """Σ_k s_k s_kᵀ of the clusters of each half, s_k the sums of the rows of a cluster by column
    and group; shape (2, n_columns · G, n_columns · G).
    """
    from scipy.sparse import coo_array

    n_groups = weighted.shape[1]
    size = n_columns * n_groups
    places = columns[:, None] * n_groups + np.arange(n_groups)
    rows = np.broadcast_to(clusters[:, None], places.shape)
    scatter = np.zeros((2, size, size))
    for half in (0, 1):
        inside = halves == half
        entries = (weighted[inside].ravel(), (rows[inside].ravel(), places[inside].ravel()))
        shape = (int(clusters.max(initial=-1)) + 1, size)
        # several rows of a cluster at one place are added up
        sums = coo_array(entries, shape=shape).tocsr()
        scatter[half] = (sums.T @ sums).toarray()
    return scatter


def _sum_by_place(
    probabilities: Floats, places: NDArray[Any], n_cells: int, weights: Floats | None
) -> Sums:
    """Sums of 1, of probabilities and of their products, times weights."""
    n_groups = probabilities.shape[1]
    n_places = n_cells * 6
    number = np.bincount(places, weights, n_places).astype(np.float64)
    sums = np.empty((n_places, n_groups))
    products = np.empty((n_places, n_groups, n_groups))
    for one in range(n_groups):
        column = probabilities[:, one]
        if weights is not None:
            column = column * weights
        sums[:, one] = np.bincount(places, column, n_places)
        for other in range(one + 1):
            product = column * probabilities[:, other]
            products[:, one, other] = np.bincount(places, product, n_places)
            products[:, other, one] = products[:, one, other]
    return Sums(
        number.reshape(n_cells, 2, 3),
        sums.reshape(n_cells, 2, 3, n_groups),
        products.reshape(n_cells, 2, 3, n_groups, n_groups),
    )


# ------------------------------------------------------------------ terms of the quantities


def weighted_term(table: Sums, group: int, outcome: int) -> Term:
    """E[p_g · outcome]: what the probabilities say where outcomes do not differ within equal ones."""
    slope = np.zeros(table.sums.shape)
    slope[:, :, outcome, group] = 1.0
    return Term(np.zeros(table.number.shape), slope)


def largest_term(table: Sums, group: int, outcome: int, probability: Floats) -> Term:
    """An upper bound of E[1_g · outcome]; `probability` of g by cell, shape (C,)."""
    share, noise = share_in_other_half(table, outcome)
    takes_all = share + noise < probability[:, None]
    constant = np.zeros(table.number.shape)
    constant[:, :, outcome] = takes_all
    slope = np.zeros(table.sums.shape)
    slope[..., group] = ~takes_all[..., None]
    return Term(constant, slope)


def smallest_term(table: Sums, group: int, outcome: int, probability: Floats) -> Term:
    """A lower bound of E[1_g · outcome]; `probability` of g by cell, shape (C,)."""
    share, noise = share_in_other_half(table, outcome)
    must_have = share - noise + probability[:, None] > 1
    constant = np.zeros(table.number.shape)
    constant -= must_have[..., None]
    constant[:, :, outcome] += must_have
    slope = np.zeros(table.sums.shape)
    slope[..., group] = must_have[..., None]
    return Term(constant, slope)


def share_in_other_half(table: Sums, outcome: int) -> tuple[Floats, Floats]:
    """Share of an outcome in the other half of the rows of a cell, and its noise, shapes (C, 2).

    The noise is √(2 log 4C) standard errors, which the largest error of 2C halves rarely exceeds,
    with half a row of the outcome and half a row without it more, so that none is 0. Under weights
    and clusters rows count for what they are worth.
    """
    worth = np.ones(table.number.shape[:2])
    if table.has_design:
        worth = _worth_of_a_row(table, outcome)
    rows = table.number.sum(axis=2) * worth + 1.0
    shares = (table.number[..., outcome] * worth + 0.5) / rows
    noise = np.sqrt(2 * np.log(4 * len(rows)) * shares * (1 - shares) / rows)
    return shares[:, ::-1], noise[:, ::-1]


def _worth_of_a_row(table: Sums, outcome: int) -> Floats:
    """Rows that the share of an outcome in a cell's half is worth, over their weight, shape (C, 2).

    s(1 − s) over the variance of the share s: no more than (Σw)²/Σw², and under clusters no less
    than the same of the clusters, since a cluster is worth one row at least; that where s is 0 or 1.
    """
    total = table.number.sum(axis=2)
    of_outcome = np.zeros(3)
    of_outcome[outcome] = 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(total > 0, table.number[..., outcome] / total, 0.0)
        residuals = of_outcome - share[..., None]
        squares_of_weights = _squares_in_halves(table, np.ones(table.number.shape))
        units = np.where(total > 0, total**2 / squares_of_weights, 0.0)
        of_share = share * (1 - share) * total**2 / _squares_in_halves(table, residuals)
        most = total
        if table.squares is not None:
            most = np.where(total > 0, total**2 / table.squares.number.sum(axis=2), 0.0)
        least = units if table.scatter is not None else 0.0
        known = (share > 0) & (share < 1)
        worth = np.where(known, np.clip(of_share, least, most), units)
        return np.where(total > 0, worth / total, 0.0)


def _squares_in_halves(table: Sums, values: Floats) -> Floats:
    """Sum of squares of values by outcome within each cell's half, shape (C, 2); `values` (C, 2, 3)."""
    if table.scatter is None:
        squares = table.number if table.squares is None else table.squares.number
        return np.asarray((values**2 * squares).sum(axis=2))
    n_cells = len(table.number)
    n_groups = table.sums.shape[-1]
    shape = (2, n_cells, 3, n_groups, n_cells, 3, n_groups)
    by_outcome = np.einsum("fcogcph->cfop", table.scatter.reshape(shape))
    return np.asarray(np.einsum("cfo,cfop,cfp->cf", values, by_outcome, values))


@dataclass(frozen=True, eq=False)
class Calibration:
    """What a sample with true groups says of the probabilities, by cell.

    `number` of its rows, shape (C,); `shift`, (C, G): true shares less mean probabilities;
    `covariance`, (C, G, G): of a row's difference of both.
    """

    number: Floats
    shift: Floats
    covariance: Floats

    @classmethod
    def of_rows(
        cls,
        probabilities: Floats,
        groups: NDArray[Any],
        cells: NDArray[Any],
        n_cells: int,
    ) -> Calibration:
        """From probabilities and true groups of the sample."""
        n_groups = probabilities.shape[1]
        errors = np.eye(n_groups)[groups] - probabilities
        number = np.bincount(cells, minlength=n_cells).astype(np.float64)
        shift = np.zeros((n_cells, n_groups))
        covariance = np.zeros((n_cells, n_groups, n_groups))
        for cell in range(n_cells):
            errors_in_cell = errors[cells == cell]
            if len(errors_in_cell):
                shift[cell] = errors_in_cell.mean(axis=0)
            if len(errors_in_cell) > 1:
                covariance[cell] = np.cov(errors_in_cell, rowvar=False)
        return cls(number, shift, covariance)


@dataclass(frozen=True, eq=False)
class RateTerm:
    """A rate N/(N + F), and what every row adds to its error (influence)."""

    value: float
    influence: Term


def rate_from(table: Sums, success: Term, failure: Term) -> RateTerm:
    """The rate of E[success] and E[failure]; NaN where both are 0."""
    successes = success.total(table)
    failures = failure.total(table)
    cases = successes + failures
    if not cases > 0:
        return RateTerm(np.nan, success.times(np.nan))
    rate = min(max(successes / cases, 0.0), 1.0)
    influence = success.times((1 - rate) / cases) + failure.times(-rate / cases)
    return RateTerm(rate, influence)


@dataclass(frozen=True)
class ValueWithError:
    """A contrast and its standard error."""

    value: float
    std_error: float


def contrast_rates(
    table: Sums,
    rate: RateTerm,
    reference: RateTerm,
    contrast: str,
    calibration: Calibration | None = None,
) -> ValueWithError:
    """Difference r − r₀, or log ratio, with its standard error.

    A log ratio is −∞ or ∞ where a rate is 0.
    """
    if contrast == "difference":
        value = rate.value - reference.value
        influence = rate.influence + reference.influence.times(-1.0)
    else:
        if not min(rate.value, reference.value) > 0:
            return ValueWithError(_log_ratio(rate.value, reference.value), np.nan)
        value = float(np.log(rate.value / reference.value))
        influence = rate.influence.times(1 / rate.value) + reference.influence.times(
            -1 / reference.value
        )
    n = table.units
    variance = influence.sum_of_squares(table) * n / (n - 1)
    if calibration is not None:
        weight = np.einsum("cfog,cfo->cg", influence.slope, table.number)
        with np.errstate(divide="ignore", invalid="ignore"):
            by_cell = (
                np.einsum("cg,cgh,ch->c", weight, calibration.covariance, weight)
                / calibration.number
            )
        variance += float(by_cell[calibration.number > 0].sum())
    return ValueWithError(value, float(np.sqrt(max(variance, 0.0))))


def _log_ratio(rate: float, reference: float) -> float:
    """Of rates of which one is 0; NaN where both are."""
    if np.isnan(rate) or np.isnan(reference) or rate == reference:
        return float(np.nan)
    return float(-np.inf if rate == 0 else np.inf)


@dataclass(frozen=True)
class FromProbabilities:
    """What probabilities say of one group against another.

    `weighted`: where outcomes do not depend on the group within equal probabilities; `low`, `high`:
    ends of all that is possible (log ratios, or differences); rates weighted, smallest and largest.
    """

    weighted: ValueWithError
    low: ValueWithError
    high: ValueWithError
    rates: tuple[float, float]
    ranges: tuple[tuple[float, float], tuple[float, float]]


def compare_groups(
    table: Sums,
    pair: tuple[int, int],
    contrast: str,
    calibration: Calibration | None = None,
) -> FromProbabilities:
    """One group against another by their probabilities alone."""
    rows = table.number.sum(axis=(1, 2))
    shift = np.zeros((len(rows), table.sums.shape[-1]))
    if calibration is not None:
        shift = calibration.shift
    mean = table.sums.sum(axis=(1, 2)) / np.maximum(rows, 1)[:, None] + shift
    weighted = []
    smallest = []
    largest = []
    for group in pair:
        probability = np.clip(mean[:, group], 0.0, 1.0)
        terms = []
        for outcome in (SUCCESS, FAILURE):
            terms.append(
                (
                    weighted_term(table, group, outcome).shifted(shift),
                    smallest_term(table, group, outcome, probability).shifted(shift),
                    largest_term(table, group, outcome, probability).shifted(shift),
                )
            )
        success, failure = terms
        weighted.append(rate_from(table, success[0], failure[0]))
        smallest.append(rate_from(table, success[1], failure[2]))
        largest.append(rate_from(table, success[2], failure[1]))
    ranges = []
    for least, greatest in zip(smallest, largest, strict=True):
        ranges.append((least.value, greatest.value))
    return FromProbabilities(
        weighted=contrast_rates(table, weighted[0], weighted[1], contrast, calibration),
        low=contrast_rates(table, smallest[0], largest[1], contrast, calibration),
        high=contrast_rates(table, largest[0], smallest[1], contrast, calibration),
        rates=(weighted[0].value, weighted[1].value),
        ranges=(ranges[0], ranges[1]),
    )


def regression_rates(table: Sums) -> Floats:
    """Rates where outcomes depend on the group alone, not on the probabilities beside it.

    Ecological regression (Goodman 1953): successes among cases on the probabilities, without a
    constant. Clipped to [0, 1]; NaN where the probabilities do not tell the groups apart.
    """
    products = table.products[:, :, (SUCCESS, FAILURE)].sum(axis=(0, 1, 2))
    successes = table.sums[:, :, SUCCESS].sum(axis=(0, 1))
    n_groups = len(successes)
    scale = np.trace(products)
    if not scale > 0 or np.linalg.eigvalsh(products)[0] < 1e-8 * scale:
        return np.full(n_groups, np.nan)
    return np.clip(np.linalg.solve(products, successes), 0.0, 1.0)


# ------------------------------------------------------------------ some rows with true groups


@dataclass(frozen=True, eq=False)
class Audited:
    """Rows of which some have a true group, by true group in place of cells (the last: unknown)."""

    table: Sums

    @property
    def n_groups(self) -> int:
        """Groups."""
        return int(self.table.sums.shape[-1])

    @property
    def n_audited(self) -> float:
        """Weight of the rows with a true group; their number where rows have none."""
        return float(self.table.number[:-1].sum())

    @property
    def units(self) -> float:
        """How many rows, or clusters, of one weight those with a true group are worth."""
        return self._of_rows(slice(-1), slice(None)).units(self.table)

    def units_of(self, group: int, outcome: int | None = None) -> float:
        """The same of the rows of a true group with an outcome, or of all its cases."""
        outcomes = slice(0, NO_CASE)
        if outcome is not None:
            outcomes = slice(outcome, outcome + 1)
        return self._of_rows(slice(group, group + 1), outcomes).units(self.table)

    def _of_rows(self, groups: slice, outcomes: slice) -> Term:
        """1 for each row of these true groups and outcomes."""
        constant = np.zeros(self.table.number.shape)
        constant[groups, :, outcomes] = 1.0
        return Term(constant, np.zeros(self.table.sums.shape))

    def calibrate(self, group: int, outcome: int) -> tuple[Floats, Floats]:
        """Constant and slope of P(g | p_g, outcome), for each half from the other one.

        Least squares over its audited rows with the outcome; 0 and 1, the probability itself, where
        they are few or alike.
        """
        constants = np.zeros(2)
        slopes = np.ones(2)
        table = self.table
        for half in (0, 1):
            other = 1 - half
            number = table.number[:-1, other, outcome].sum()
            hits = table.number[group, other, outcome]
            if number < _LEAST_FITTED:
                continue
            mean = table.sums[:-1, other, outcome, group].sum() / number
            mean_square = table.products[:-1, other, outcome, group, group].sum() / number
            mean_product = table.sums[group, other, outcome, group] / number
            variance = mean_square - mean**2
            if variance > 1e-6:
                slopes[half] = (mean_product - mean * hits / number) / variance
            constants[half] = hits / number - slopes[half] * mean
        return constants, slopes

    def terms(self, group: int, outcome: int) -> tuple[Term, Term]:
        """What every row adds to E[1_g · outcome], and what an audited row corrects of it."""
        table = self.table
        constants, slopes = self.calibrate(group, outcome)
        expected = np.zeros(table.number.shape)
        expected[:, :, outcome] = constants
        slope = np.zeros(table.sums.shape)
        slope[:, :, outcome, group] = slopes
        correction = -expected
        correction[group, :, outcome] += 1.0
        correction[-1] = 0.0
        slope_of_correction = -slope
        slope_of_correction[-1] = 0.0
        return Term(expected, slope), Term(correction, slope_of_correction)


def audited_contrast(
    audited: Audited,
    pair: tuple[int, int],
    contrast: str,
) -> tuple[ValueWithError, tuple[float, float]]:
    """Difference or log ratio without bias, from probabilities and rows with true groups.

    E[f] over all rows and E[1_g · outcome − f] over the audited ones, which are a random part of
    them: the difference (two-phase, prediction-powered) estimate, which is unbiased whatever f, the
    expected group given probability and outcome, is.
    """
    table = audited.table
    n = table.n
    n_audited = audited.n_audited
    values = []
    errors = []
    for group in pair:
        parts = []
        for outcome in (SUCCESS, FAILURE):
            expected, correction = audited.terms(group, outcome)
            mean = expected.total(table) / n + correction.total(table) / n_audited
            parts.append((mean, expected, correction))
        success, failure = parts
        cases = success[0] + failure[0]
        if not cases > 0 or success[0] < 0 or failure[0] < 0:
            return ValueWithError(np.nan, np.nan), (np.nan, np.nan)
        rate = success[0] / cases
        weights = ((1 - rate) / cases, -rate / cases)
        values.append(rate)
        errors.append(
            (
                success[1].times(weights[0]) + failure[1].times(weights[1]),
                success[2].times(weights[0]) + failure[2].times(weights[1]),
            )
        )
    if contrast == "difference":
        value = values[0] - values[1]
        factors = (1.0, -1.0)
    else:
        if not min(values) > 0:
            return ValueWithError(_log_ratio(values[0], values[1]), np.nan), (values[0], values[1])
        value = float(np.log(values[0] / values[1]))
        factors = (1 / values[0], -1 / values[1])
    expected = errors[0][0].times(factors[0]) + errors[1][0].times(factors[1])
    correction = errors[0][1].times(factors[0]) + errors[1][1].times(factors[1])
    expected = Term(expected.constant - expected.total(table) / n, expected.slope)
    is_audited = np.ones(table.number.shape)
    is_audited[-1] = 0.0
    mean_correction = correction.total(table) / n_audited
    correction = Term(correction.constant - mean_correction * is_audited, correction.slope)
    influence = expected.times(1 / n) + correction.times(1 / n_audited)
    units = audited.units
    variance = influence.sum_of_squares(table) * units / max(units - 1, 1.0)
    return ValueWithError(value, float(np.sqrt(variance))), (values[0], values[1])
