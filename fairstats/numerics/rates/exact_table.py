"""Exact unconditional tests of one table: p-values of many null values, and limits, at once.

The procedure is that of `fairstats.numerics.rates.exact`.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from math import asin, atanh, ceil, floor, inf, log, pi, sin, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, ndtri

from fairstats.ground.checks import Floats
from fairstats.numerics.rates.binomial import (
    binomial_cdf,
    binomial_masses,
    clopper_pearson,
    interpolation,
    refinement,
    vertex,
)
from fairstats.numerics.rates.boundary import boundary, larger_rate, rate_range, smaller_rate
from fairstats.numerics.rates.score import Contrast, score_statistic
from fairstats.numerics.rates.search import SPAN, WantedLimit, end_of, from_scale, inverse, null_range, search, to_scale

#: Error of the nuisance rate's interval, part of every p-value.
GAMMA = 1e-7
#: Spacing of nuisance rates, in standard errors of the larger group's rate on the angular scale.
_SPACING = 0.22
#: Fewest nuisance rates.
_FEWEST = 24
#: P(X ≥ Mx) ≤ exp(−2M(arcsin √x − arcsin √q)²): beyond this angle times 1/√M less than 1e-13 is left.
_REACH = 3.87
#: Tail probabilities of so many counts and rates are tabulated; more are computed one by one.
_MOST_TABULATED = 400_000

OPPOSITE = {"less": "greater", "greater": "less", "two-sided": "two-sided"}


class ExactTable:
    """Exact tests of one table; what does not depend on the null value is computed once.

    Within, the group is the smaller one: tables are turned around otherwise, null values inverted.
    """

    def __init__(self, table: tuple[int, int, int, int], contrast: Contrast) -> None:
        k, n, k0, n0 = table
        self.contrast = contrast
        self.turned = n > n0 or (n == n0 and k > k0)
        if self.turned:
            k, n, k0, n0 = k0, n0, k, n
        self.table = (k, n, k0, n0)
        self.alike = k == k0 and n == n0
        low, high = clopper_pearson(k0, n0, GAMMA)
        self.angle_ends = asin(sqrt(low)), asin(sqrt(high))
        standard_errors = 2 * sqrt(n0) * (self.angle_ends[1] - self.angle_ends[0])
        points = max(ceil(standard_errors / _SPACING), _FEWEST - 1) + 1
        self.rates = np.sin(np.linspace(*self.angle_ends, points)) ** 2
        reach = _REACH / sqrt(n0)
        self.first_count = floor(n0 * sin(max(self.angle_ends[0] - reach, 0.0)) ** 2)
        self.last_count = ceil(n0 * sin(min(self.angle_ends[1] + reach, pi / 2)) ** 2)
        tabulated = (self.last_count - self.first_count + 1) * points
        self.tails = self._tails() if tabulated <= _MOST_TABULATED else None

    def _tails(self) -> Floats:
        """P(X < first_count + t) of the larger group's count X, shape (counts + 2, rates)."""
        n0 = self.table[3]
        counts = np.arange(self.first_count, self.last_count + 1.0)
        from_top = 2 * self.table[2] > n0
        if from_top:
            counts = counts[::-1]
        rates = self.rates[None]
        masses = binomial_masses(counts[None], n0, rates, np.array([[from_top]]))[0]
        if from_top:
            masses = masses[::-1]
        tails = np.zeros((masses.shape[0] + 1, masses.shape[1]))
        np.cumsum(masses, axis=0, out=tails[1:])
        return tails

    # ------------------------------------------------------------------------------ p-values

    def pvalues(self, nulls: Sequence[float], alternatives: Sequence[str]) -> list[float]:
        """p-values of several null values, each with its alternative, as the caller's table has them."""
        result = [1.0] * len(nulls)
        rows, values, sides = [], [], []
        least, most = null_range(self.contrast)
        for row, (null, alternative) in enumerate(zip(nulls, alternatives, strict=True)):
            if not least < null < most:
                continue
            # of two equal groups the one that the null says to have the larger rate counts as the larger group
            if self.turned or (self.alike and null < inverse(self.contrast, null)):
                null = inverse(self.contrast, null)
                alternative = OPPOSITE[alternative]
            rows.append(row)
            values.append(null)
            sides.append(alternative)
        if rows:
            for row, pvalue in zip(rows, self._pvalues(values, sides), strict=True):
                result[row] = pvalue
        return result

    def _pvalues(self, nulls: list[float], alternatives: list[str]) -> list[float]:
        statistics = np.array([self.statistic(null) for null in nulls])
        low_rows, low_values, high_rows, high_values = [], [], [], []
        for row, (z, alternative) in enumerate(zip(statistics.tolist(), alternatives, strict=True)):
            if alternative != "greater":
                low_rows.append(row)
                low_values.append(-abs(z) if alternative == "two-sided" else z)
            if alternative != "less":
                high_rows.append(row)
                high_values.append(abs(z) if alternative == "two-sided" else z)
        null = np.array(nulls)[:, None]
        counts, descending = self._smaller_counts(null)
        rows = low_rows + high_rows
        first, number = boundary(
            self.contrast,
            counts[rows],
            (self.table[1], self.table[3]),
            null[rows],
            np.array(low_values + high_values)[:, None],
        )
        n_low = len(low_rows)
        extreme_low = np.full(counts.shape, self.table[3] + 1)
        extreme_low[low_rows] = first[:n_low]
        extreme_high = np.zeros(counts.shape, dtype=np.int64)
        extreme_high[high_rows] = number[n_low:]
        largest = self._largest(null, counts, descending, extreme_low, extreme_high)
        for row, alternative in enumerate(alternatives):
            if alternative == "two-sided" and statistics[row] == 0:
                largest[row] = 1.0
        return np.minimum(largest + GAMMA, 1.0).tolist()  # type: ignore[no-any-return]

    def statistic(self, null: float) -> float:
        """Score statistic of the table, exactly 0 where rounding alone keeps it from 0."""
        z = score_statistic(self.table, self.contrast, null)
        return 0.0 if abs(z) < 1e-12 else z

    def _smaller_counts(self, null: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """Counts of the smaller group that are not all but impossible, shape (R, I + 1), and whether they fall.

        The last is the one that all of the group has at the end of the null hypothesis.
        """
        n = self.table[1]
        ends = smaller_rate(self.contrast, np.array([[self.rates[0], self.rates[-1]]]), null)
        angles = np.arcsin(np.sqrt(np.minimum(np.maximum(ends, 0.0), 1.0)))
        reach = _REACH / sqrt(n)
        first = np.floor(n * np.sin(np.maximum(angles[:, :1] - reach, 0.0)) ** 2)
        last = np.ceil(n * np.sin(np.minimum(angles[:, 1:] + reach, pi / 2)) ** 2)
        steps = np.arange((last - first).max() + 1)
        descending = pi / 2 - angles[:, 1:] < angles[:, :1]
        counts = np.where(descending, last - steps, first + steps)
        at_end = np.where(rate_range(self.contrast, null)[1] == 1.0, float(n), 0.0)
        return np.hstack([counts, at_end]), descending

    def _largest(
        self, null: Floats, counts: Floats, descending: NDArray[np.bool_], low: NDArray[np.int64],
        high: NDArray[np.int64],
    ) -> Floats:  # fmt: skip
        """Largest probability over the nuisance rate, of counts ≥ low and counts < high; shape (R,)."""
        n = self.table[1]
        own_rates = smaller_rate(self.contrast, self.rates[None], null)
        feasible = (own_rates >= 0) & (own_rates <= 1)
        inner_rates = np.minimum(np.maximum(own_rates, 0.0), 1.0)
        masses = binomial_masses(counts[:, :-1], n, inner_rates, descending)
        extreme = self._extreme(low[:, :-1], high[:, :-1])
        probability = np.einsum("rig,rig->rg", masses, extreme)
        if feasible.all():
            return vertex(probability @ refinement(self.rates.size))
        largest = np.empty(len(null))
        for row in range(len(null)):
            if feasible[row].all():
                largest[row] = vertex(probability[row : row + 1] @ refinement(self.rates.size))[0]
                continue
            part = slice(row, row + 1)
            largest[row] = self._largest_up_to_the_end(
                null[part], counts[part], descending[part], low[part], high[part], extreme[row]
            )
        return largest

    def _largest_up_to_the_end(
        self, null: Floats, counts: Floats, descending: NDArray[np.bool_], low: NDArray[np.int64],
        high: NDArray[np.int64], extreme: Floats,
    ) -> float:  # fmt: skip
        """The same where the null hypothesis allows only some of the nuisance rates, or none.

        At its end the smaller group's rate is 0 or 1, and all of its cases have one count.
        """
        n, n0 = self.table[1], self.table[3]
        least, most = rate_range(self.contrast, null)
        ends = larger_rate(self.contrast, np.hstack([least, most]), null)[0]
        angles = np.arcsin(np.sqrt(np.minimum(np.maximum(ends, 0.0), 1.0)))
        first, last = self.angle_ends
        if angles[0] >= last or angles[1] <= first:
            rate = float(ends[0] if angles[0] >= last else ends[1])
            at_end = 1.0 - binomial_cdf(int(low[0, -1]) - 1, n0, rate)
            return at_end + binomial_cdf(int(high[0, -1]) - 1, n0, rate)
        # towards an end of the null hypothesis the angle of the smaller group's rate changes as a square root
        low_end = max(angles[0], first)
        high_end = min(angles[1], last)
        points = 2 * self.rates.size
        shares = _towards_ends(points, low=angles[0] > first, high=angles[1] < last)
        places = low_end + (high_end - low_end) * shares
        rates = np.sin(places) ** 2
        own_rates = smaller_rate(self.contrast, rates[None], null)
        own_rates = np.minimum(np.maximum(own_rates, 0.0), 1.0)
        masses = binomial_masses(counts[:, :-1], n, own_rates, descending)[0]
        if self.tails is None:
            extreme = self._extreme_by_sums(low[:, :-1], high[:, :-1], rates)[0]
        else:
            # the tails of the larger group's count are smooth in its rate, also beyond the end
            steps = (places - first) / (last - first) * (self.rates.size - 1)
            extreme = extreme @ interpolation(self.rates.size, steps)
        probability = np.sum(masses * extreme, axis=0)[None]
        return float(vertex(probability @ refinement(points))[0])

    def _extreme(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> Floats:
        """P(X ≥ low) + P(X < high) of the larger group's count, shape (R, I, G)."""
        if self.tails is None:
            return self._extreme_by_sums(low, high, self.rates)
        last = len(self.tails) - 1
        below_low = self.tails[np.minimum(np.maximum(low - self.first_count, 0), last)]
        result = np.subtract(1.0, below_low, out=below_low)
        if high.any():
            result += self.tails[np.minimum(np.maximum(high - self.first_count, 0), last)]
        return result

    def _extreme_by_sums(self, low: NDArray[np.int64], high: NDArray[np.int64], rates: Floats) -> Floats:
        """The same, each probability by itself: of references too large for a table."""
        n0 = self.table[3]
        result = np.zeros((*low.shape, rates.size))
        for counts, sign in ((low - 1, -1.0), (high - 1, 1.0)):
            tail = np.zeros((*low.shape, rates.size))
            tail[counts >= self.last_count] = 1.0
            inner = (counts >= self.first_count) & (counts < self.last_count)
            tail[inner] = bdtr(counts[inner, None].astype(np.float64), n0, rates)
            result += 1.0 - tail if sign < 0 else tail
        return result

    # ------------------------------------------------------------------------------ limits

    def limits(self, wanted: Sequence[WantedLimit]) -> list[float]:
        """Several limits at once: all searches go step by step together."""
        results: list[float] = [0.0] * len(wanted)
        searches: dict[int, Generator[list[float], list[float], float]] = {}
        asked: dict[int, list[float]] = {}
        for place, limit in enumerate(wanted):
            results[place] = end_of(self.contrast, limit.side)
            if self._unlimited(limit.side):
                continue
            searches[place] = search(limit, self._spread(limit), self._estimate())
            asked[place] = next(searches[place])
        while asked:
            nulls, alternatives = [], []
            for place, values in asked.items():
                nulls += [from_scale(self.contrast, x) for x in values]
                alternatives += [wanted[place].alternative] * len(values)
            pvalues = iter(self.pvalues(nulls, alternatives))
            for place, values in list(asked.items()):
                answers = [next(pvalues) for _ in values]
                try:
                    asked[place] = searches[place].send(answers)
                except StopIteration as done:
                    del asked[place]
                    if abs(done.value) < SPAN:
                        results[place] = from_scale(self.contrast, done.value)
        return results

    @property
    def _as_asked(self) -> tuple[int, int, int, int]:
        """The table as the caller has it: (k, n) of the group, (k₀, n₀) of the reference."""
        k, n, k0, n0 = self.table
        return (k0, n0, k, n) if self.turned else (k, n, k0, n0)

    def _unlimited(self, side: int) -> bool:
        """Whether no count shows that the contrast is not at this end of its range."""
        k, n, k0, n0 = self._as_asked
        if self.contrast == "ratio":
            return (k0 if side > 0 else k) == 0
        if self.contrast == "difference":
            return (k == n and k0 == 0) if side > 0 else (k == 0 and k0 == n0)
        return (k0 == 0 or k == n) if side > 0 else (k == 0 or k0 == n0)

    def _estimate(self) -> float:
        """The contrast of the observed rates, on the scale of the search: infinite at an end of a ratio's range."""
        k, n, k0, n0 = self._as_asked
        if self.contrast == "difference":
            return to_scale(self.contrast, k / n - k0 / n0)
        above, below = k * n0, k0 * n
        if self.contrast == "odds_ratio":
            above, below = k * (n0 - k0), k0 * (n - k)
        if above == 0 or below == 0:
            return inf if above > 0 else -inf
        return log(above / below)

    def _spread(self, limit: WantedLimit) -> tuple[float, float]:
        """About where the limit lies, and its standard error, on the scale of the search."""
        k, n, k0, n0 = self._as_asked
        critical = -float(ndtri(limit.error))
        p, q = (k + 0.5) / (n + 1), (k0 + 0.5) / (n0 + 1)
        of_p, of_q = p * (1 - p) / (n + 1), q * (1 - q) / (n0 + 1)
        if self.contrast == "ratio":
            centre, error = log(p / q), sqrt(of_p / p**2 + of_q / q**2)
        elif self.contrast == "difference":
            centre = 2 * atanh(p - q)
            error = sqrt(of_p + of_q) * 2 / (1 - (p - q) ** 2)
        else:
            centre = log(p / (1 - p)) - log(q / (1 - q))
            error = sqrt(of_p / (p * (1 - p)) ** 2 + of_q / (q * (1 - q)) ** 2)
        return centre + limit.side * critical * error, error


def _towards_ends(points: int, *, low: bool, high: bool) -> Floats:
    """Places from 0 to 1, as close to an end that is asked for as a square root needs."""
    even = np.linspace(0.0, 1.0, points)
    if low and high:
        return np.asarray(np.sin(even * pi / 2) ** 2)
    if high:
        return np.asarray(np.sin(even * pi / 2))
    if low:
        return np.asarray(1.0 - np.cos(even * pi / 2))
    return even
