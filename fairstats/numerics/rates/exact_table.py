"""Exact unconditional tests of one table: p-values of many null values, and limits, at once.

The procedure is that of `fairstats.numerics.rates.exact`.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from math import asin, atanh, ceil, floor, inf, isfinite, log, pi, sin, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, ndtri

from fairstats.ground.checks import Floats
from fairstats.numerics.rates.binomial import (
    PARTS,
    binomial_cdf,
    binomial_mass,
    binomial_masses,
    clopper_pearson,
    interpolation,
    refinement,
    vertex,
)
from fairstats.numerics.rates.boundary import boundary, larger_rate, rate_range, smaller_rate
from fairstats.numerics.rates.score import Contrast, score_statistic
from fairstats.numerics.rates.search import (
    SPAN,
    STEP,
    WantedLimit,
    end_of,
    falsi,
    from_scale,
    inverse,
    null_range,
    search,
    to_scale,
)

#: Error of the nuisance rate's interval, part of every p-value.
GAMMA = 1e-7
#: Spacing of nuisance rates, in standard errors of the larger group's rate on the angular scale.
_SPACING = 0.22
#: Fewest nuisance rates.
_FEWEST = 24
#: The same where the null hypothesis ends among them: places are up to π/2 times as far apart as
#: even ones.
_FEWEST_UP_TO_THE_END = 48
_DENSER = 2.0
#: Standard errors of the smaller group for one of the larger one, up to which nuisance rates are
#: dense enough for both.
_AS_DENSE = 1.3
#: P(X ≥ Mx) ≤ exp(−2M(arcsin √x − arcsin √q)²): beyond this angle times 1/√M less than 1e-13 is
#: left.
_REACH = 3.87
#: Tail probabilities of so many counts and rates are tabulated; more are computed one by one.
_MOST_TABULATED = 400_000

#: Jumps of p that one search asks for at a time.
_MOST_JUMPS = 4
#: A jump counts from this share of what p falls by within a bracket.
_LARGE_JUMP = 0.1

OPPOSITE = {"less": "greater", "greater": "less", "two-sided": "two-sided"}


@dataclass(frozen=True)
class Answer:
    """The p-value of one null value, and the region whose largest probability it is.

    Attributes
    ----------
    pvalue : float
    null : float
        As the smaller group beside the larger one has it.
    counts, low, high : ndarray of int, shape (I,)
        Successive counts of the smaller group. Beside each, counts ≥ low and counts < high of the
        larger one are as extreme.
    larger_rate : float
        Nuisance rate at which their probability is largest.
    """

    pvalue: float
    null: float
    counts: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    larger_rate: float


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
        self.tails = self._tabulate_tails() if tabulated <= _MOST_TABULATED else None
        self._answers: dict[tuple[float, str], Answer] = {}

    def _tabulate_tails(self) -> Floats:
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
        """p-values of several null values, each with its alternative, as the caller's table has
        them.
        """
        least, most = null_range(self.contrast)
        wanted = []
        for key in zip(nulls, alternatives, strict=True):
            if least < key[0] < most and key not in self._answers:
                wanted.append(key)
        if wanted:
            wanted = list(dict.fromkeys(wanted))
            inner_nulls = []
            inner_alternatives = []
            for null, alternative in wanted:
                turned = self._must_turn(null)
                inner_nulls.append(inverse(self.contrast, null) if turned else null)
                inner_alternatives.append(OPPOSITE[alternative] if turned else alternative)
            answers = self._compute_answers(inner_nulls, inner_alternatives)
            self._answers.update(zip(wanted, answers, strict=True))
        result = []
        for key in zip(nulls, alternatives, strict=True):
            answer = self._answers.get(key)
            result.append(1.0 if answer is None else answer.pvalue)
        return result

    def _must_turn(self, null: float) -> bool:
        """Whether the groups change places: the smaller one comes first.

        Of two equal groups the one that the null says to have the larger rate counts as the larger
        group.
        """
        return self.turned or (self.alike and null < inverse(self.contrast, null))

    def pvalues_of_line(
        self,
        smaller_counts: Sequence[int],
        null: float,
        alternative: str,
    ) -> list[float]:
        """p-values of tables with this count of the larger group, and other counts of the smaller
        one.
        """
        if self._must_turn(null):
            null = inverse(self.contrast, null)
            alternative = OPPOSITE[alternative]
        number = len(smaller_counts)
        answers = self._compute_answers([null] * number, [alternative] * number, smaller_counts)
        return [answer.pvalue for answer in answers]

    def _compute_answers(
        self,
        nulls: list[float],
        alternatives: list[str],
        smaller_counts: Sequence[int] | None = None,
    ) -> list[Answer]:
        k, n, k0, n0 = self.table
        if smaller_counts is None:
            smaller_counts = [k] * len(nulls)
        statistics = []
        for null_value, count in zip(nulls, smaller_counts, strict=True):
            statistics.append(self.statistic(null_value, count))
        # which row of the boundary belongs to which null value: tables with z ≤ low value, and z ≥
        # high value
        low_rows = []
        low_values = []
        high_rows = []
        high_values = []
        for row, (z, alternative) in enumerate(zip(statistics, alternatives, strict=True)):
            if alternative != "greater":
                low_rows.append(row)
                low_values.append(-abs(z) if alternative == "two-sided" else z)
            if alternative != "less":
                high_rows.append(row)
                high_values.append(abs(z) if alternative == "two-sided" else z)
        null = np.array(nulls)[:, None]
        observed = np.array(statistics)[:, None]
        counts, descending = self._list_smaller_counts(null)
        rows = low_rows + high_rows
        critical_values = np.array(low_values + high_values)[:, None]
        first, number = boundary(self.contrast, counts[rows], (n, n0), null[rows], critical_values)
        n_low = len(low_rows)
        low = np.full(counts.shape, n0 + 1)
        low[low_rows] = first[:n_low]
        high = np.zeros(counts.shape, dtype=np.int64)
        high[high_rows] = number[n_low:]
        # the observed table is as extreme as itself, also where the boundary touches it and
        # rounding decides
        two_sided = np.array([[alternative == "two-sided"] for alternative in alternatives])
        less = np.array([[alternative == "less"] for alternative in alternatives])
        in_low = less | (two_sided & (observed <= 0))
        in_high = ~(less | (two_sided & (observed < 0)))
        is_observed = counts == np.array(smaller_counts)[:, None]
        low = np.where(is_observed & in_low, np.minimum(low, k0), low)
        high = np.where(is_observed & in_high, np.maximum(high, k0 + 1), high)
        largest, rates = self._maximise_probability(null, counts, descending, low, high)
        answers = []
        for row, alternative in enumerate(alternatives):
            pvalue = min(float(largest[row]) + GAMMA, 1.0)
            if alternative == "two-sided" and statistics[row] == 0:
                pvalue = 1.0
            upwards = slice(-2, None, -1) if descending[row, 0] else slice(0, -1)
            answers.append(
                Answer(
                    pvalue=pvalue,
                    null=nulls[row],
                    counts=counts[row, upwards].astype(np.int64),
                    low=low[row, upwards],
                    high=high[row, upwards],
                    larger_rate=float(rates[row]),
                )
            )
        return answers

    def statistic(self, null: float, smaller_count: int) -> float:
        """Score statistic of a table with this count of the smaller group, exactly 0 where rounding
        alone keeps it from 0.
        """
        _, n, k0, n0 = self.table
        z = score_statistic((smaller_count, n, k0, n0), self.contrast, null)
        return 0.0 if abs(z) < 1e-12 else z

    def _list_smaller_counts(self, null: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """Counts of the smaller group that are not all but impossible, shape (R, I + 1), and
        whether they fall.

        The last is the one that all of the group has at the end of the null hypothesis.
        """
        n = self.table[1]
        end_rates = smaller_rate(self.contrast, np.array([[self.rates[0], self.rates[-1]]]), null)
        angles = np.arcsin(np.sqrt(np.minimum(np.maximum(end_rates, 0.0), 1.0)))
        reach = _REACH / sqrt(n)
        first = np.floor(n * np.sin(np.maximum(angles[:, :1] - reach, 0.0)) ** 2)
        last = np.ceil(n * np.sin(np.minimum(angles[:, 1:] + reach, pi / 2)) ** 2)
        steps = np.arange((last - first).max() + 1)
        descending = pi / 2 - angles[:, 1:] < angles[:, :1]
        counts = np.where(descending, last - steps, first + steps)
        at_end = np.where(rate_range(self.contrast, null)[1] == 1.0, float(n), 0.0)
        return np.hstack([counts, at_end]), descending

    def _maximise_probability(
        self,
        null: Floats,
        counts: Floats,
        descending: NDArray[np.bool_],
        low: NDArray[np.int64],
        high: NDArray[np.int64],
    ) -> tuple[Floats, Floats]:
        """Largest probability over the nuisance rate, of counts ≥ low and counts < high, and that
        rate; shape (R,).
        """
        first, last = self.angle_ends
        least, most = rate_range(self.contrast, null)
        ends = np.hstack(
            [larger_rate(self.contrast, least, null), larger_rate(self.contrast, most, null)]
        )
        angles = np.arcsin(np.sqrt(np.minimum(np.maximum(ends, 0.0), 1.0)))
        beyond = (angles[:, 0] >= last) | (angles[:, 1] <= first)
        spans = self._measure_spans(null, np.maximum(angles, first), np.minimum(angles, last))
        as_dense = spans[:, 0] <= _AS_DENSE * 2 * sqrt(self.table[3]) * (last - first)
        whole = (angles[:, 0] <= first) & (angles[:, 1] >= last) & as_dense
        points = np.ceil(_DENSER * spans.max(axis=1) / _SPACING).astype(np.int64) + 1
        largest = np.empty(len(null))
        rates = np.empty(len(null))
        batches = []
        if whole.any():
            batches.append((whole, 0))
        # Null values that need about as many rates go together. How many, each says by itself, so that
        # a p-value does not depend on what else is asked.
        sizes = np.maximum(2 ** np.ceil(np.log2(np.maximum(points, 1))), _FEWEST_UP_TO_THE_END)
        others = ~(beyond | whole)
        for size in np.unique(sizes[others]):
            batch = others & (sizes == size)
            batches.append((batch, int(size)))
        for batch, number in batches:
            rows = np.flatnonzero(batch)
            arguments = (null[rows], counts[rows], descending[rows], low[rows], high[rows])
            if number == 0:
                largest[rows], rates[rows] = self._maximise_over_all(*arguments)
            else:
                largest[rows], rates[rows] = self._maximise_between_ends(
                    *arguments, angles[rows], number
                )
        for row in np.flatnonzero(beyond):
            # at the end of the null hypothesis all cases of the smaller group have one count
            rate = float(ends[row, 0] if angles[row, 0] >= last else ends[row, 1])
            n0 = self.table[3]
            at_least_low = 1.0 - binomial_cdf(int(low[row, -1]) - 1, n0, rate)
            largest[row] = at_least_low + binomial_cdf(int(high[row, -1]) - 1, n0, rate)
            rates[row] = rate
        return largest, rates

    def _measure_spans(self, null: Floats, low_ends: Floats, high_ends: Floats) -> Floats:
        """Standard errors of the smaller and of the larger group's rate between two angles of the
        larger one's.
        """
        n = self.table[1]
        n0 = self.table[3]
        ends = np.hstack([low_ends[:, :1], high_ends[:, 1:]])
        of_smaller = np.minimum(
            np.maximum(smaller_rate(self.contrast, np.sin(ends) ** 2, null), 0.0), 1.0
        )
        angles = np.arcsin(np.sqrt(of_smaller))
        spans = np.empty((len(null), 2))
        spans[:, 0] = 2 * sqrt(n) * np.abs(angles[:, 1] - angles[:, 0])
        spans[:, 1] = 2 * sqrt(n0) * np.abs(ends[:, 1] - ends[:, 0])
        return spans

    def _maximise_over_all(
        self,
        null: Floats,
        counts: Floats,
        descending: NDArray[np.bool_],
        low: NDArray[np.int64],
        high: NDArray[np.int64],
    ) -> tuple[Floats, Floats]:
        """At all nuisance rates."""
        rates = np.minimum(
            np.maximum(smaller_rate(self.contrast, self.rates[None], null), 0.0), 1.0
        )
        masses = binomial_masses(counts[:, :-1], self.table[1], rates, descending)
        extreme = self._sum_extreme_tables(low[:, :-1], high[:, :-1])
        probability = np.einsum("rig,rig->rg", masses, extreme)
        largest, place = vertex(probability @ refinement(self.rates.size))
        return largest, self.rates[place // PARTS]

    def _maximise_between_ends(
        self,
        null: Floats,
        counts: Floats,
        descending: NDArray[np.bool_],
        low: NDArray[np.int64],
        high: NDArray[np.int64],
        angles: Floats,
        points: int,
    ) -> tuple[Floats, Floats]:
        """At so many rates between the ends of the null hypothesis, given as angles of the larger
        group's rate.

        Where the null hypothesis allows only some of the nuisance rates, the smaller group's rate
        is 0 or 1 at its end; where it is far from equality, the smaller group's rate changes faster
        than the larger one's.
        """
        first, last = self.angle_ends
        # towards an end of the null hypothesis the angle of the smaller group's rate changes as a
        # square root
        low_end = np.maximum(angles[:, :1], first)
        high_end = np.minimum(angles[:, 1:], last)
        shares = _spread_towards_ends(points, low=angles[:, :1] > first, high=angles[:, 1:] < last)
        places = low_end + (high_end - low_end) * shares
        rates = np.sin(places) ** 2
        of_smaller = np.minimum(np.maximum(smaller_rate(self.contrast, rates, null), 0.0), 1.0)
        masses = binomial_masses(counts[:, :-1], self.table[1], of_smaller, descending)
        if self.tails is None:
            extreme = self._extreme_by_sums(low[:, :-1], high[:, :-1], rates)
        else:
            # the tails of the larger group's count are smooth in its rate, also beyond the end
            steps = (places - first) / (last - first) * (self.rates.size - 1)
            extreme = self._sum_extreme_tables(low[:, :-1], high[:, :-1]) @ interpolation(
                self.rates.size, steps
            )
        probability = np.einsum("rig,rig->rg", masses, extreme)
        largest, place = vertex(probability @ refinement(points))
        return largest, rates[np.arange(len(rates)), place // PARTS]

    def _sum_extreme_tables(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> Floats:
        """P(X ≥ low) + P(X < high) of the larger group's count, shape (R, I, G)."""
        if self.tails is None:
            rates = np.broadcast_to(self.rates, (len(low), self.rates.size))
            return self._extreme_by_sums(low, high, rates)
        last = len(self.tails) - 1
        places = np.minimum(np.maximum(low - self.first_count, 0), last)
        result = self.tails.take(places, axis=0)
        np.subtract(1.0, result, out=result)
        if high.any():
            places = np.minimum(np.maximum(high - self.first_count, 0), last)
            result += self.tails.take(places, axis=0)
        return result

    def _extreme_by_sums(
        self,
        low: NDArray[np.int64],
        high: NDArray[np.int64],
        rates: Floats,
    ) -> Floats:
        """The same at rates of each row, (R, G), each probability by itself.

        Of references too large for a table.
        """
        n0 = self.table[3]
        result = np.zeros((*low.shape, rates.shape[1]))
        for counts, sign in ((low - 1, -1.0), (high - 1, 1.0)):
            tail = np.zeros(result.shape)
            tail[counts >= self.last_count] = 1.0
            inner = (counts >= self.first_count) & (counts < self.last_count)
            rows = np.nonzero(inner)[0]
            tail[inner] = bdtr(counts[inner, None].astype(np.float64), n0, rates[rows])
            result += 1.0 - tail if sign < 0 else tail
        return result

    # ------------------------------------------------------------------------------ limits

    def limits(self, wanted: Sequence[WantedLimit]) -> list[float]:
        """Several limits at once: all searches go step by step together."""
        results = [end_of(self.contrast, limit.side) for limit in wanted]
        nulls: list[float] = []
        alternatives: list[str] = []
        searches: dict[int, Generator[list[float], list[float], float]] = {}
        nulls_of_search: dict[int, list[float]] = {}
        for limit_number, limit in enumerate(wanted):
            nulls += limit.anchors
            alternatives += [limit.alternative] * len(limit.anchors)
            if self._is_unlimited(limit.side):
                continue
            searches[limit_number] = self._start_search(limit)
            nulls_of_search[limit_number] = list(limit.anchors) + [
                from_scale(self.contrast, x) for x in next(searches[limit_number])
            ]
        while nulls or nulls_of_search:
            for limit_number, values in nulls_of_search.items():
                nulls += values
                alternatives += [wanted[limit_number].alternative] * len(values)
            self.pvalues(nulls, alternatives)
            for limit_number, values in list(nulls_of_search.items()):
                pvalues = self.pvalues(values, [wanted[limit_number].alternative] * len(values))
                try:
                    following = searches[limit_number].send(pvalues)
                    nulls_of_search[limit_number] = [
                        from_scale(self.contrast, x) for x in following
                    ]
                except StopIteration as done:
                    del nulls_of_search[limit_number]
                    if abs(done.value) < SPAN:
                        results[limit_number] = from_scale(self.contrast, done.value)
            nulls = []
            alternatives = []
        return results

    def _start_search(self, limit: WantedLimit) -> Generator[list[float], list[float], float]:
        start, standard_error = self._approximate_limit(limit)
        anchors = [to_scale(self.contrast, null) for null in limit.anchors]
        null_of_place = dict(zip(anchors, limit.anchors, strict=True))

        def ties(one: float, other: float) -> list[float]:
            nulls = [null_of_place.get(x, from_scale(self.contrast, x)) for x in (one, other)]
            return self._jumps(nulls[0], nulls[1], limit.alternative)

        return search(limit, anchors, start, standard_error, self._estimate_on_scale(), ties)

    def _jumps(self, one: float, other: float, alternative: str) -> list[float]:
        """The largest jumps of p between two null values, on the scale of the search.

        p jumps where a table that is as extreme at one of them only has the same statistic as the
        observed one.
        """
        before = self._answers.get((one, alternative))
        after = self._answers.get((other, alternative))
        if before is None or after is None or self._must_turn(one) != self._must_turn(other):
            return []
        least = _LARGE_JUMP * abs(before.pvalue - after.pvalue)
        tables = sorted(self._tables_that_differ(before, after, least), reverse=True)
        if not tables:
            return []
        ends = [to_scale(self.contrast, answer.null) for answer in (before, after)]
        jumps = []
        for _, count, count0 in tables[:_MOST_JUMPS]:
            x = self._tie(count, count0, ends[0], ends[1], two_sided=alternative == "two-sided")
            if x is not None:
                jumps.append(-x if self._must_turn(one) else x)
        return jumps

    def _tables_that_differ(
        self,
        one: Answer,
        other: Answer,
        least: float,
    ) -> list[tuple[float, int, int]]:
        """Tables (i, j) in one region only, each after its probability where that of the first
        region is largest.

        Those with a probability of `least` or less are left out.
        """
        n = self.table[1]
        q = one.larger_rate
        p = float(smaller_rate(self.contrast, np.array(q), np.array(one.null)))
        if not 0 < p < 1:
            return []
        first = max(one.counts[0], other.counts[0], 0)
        last = min(one.counts[-1], other.counts[-1], n)
        if first > last:
            return []
        counts = np.arange(first, last + 1)
        chances = binomial_mass(counts, n, p)
        mine = slice(first - one.counts[0], last - one.counts[0] + 1)
        others = slice(first - other.counts[0], last - other.counts[0] + 1)
        tables = []
        for here, there in (
            (one.low[mine], other.low[others]),
            (one.high[mine], other.high[others]),
        ):
            rows = ((here != there) & (chances > least)).nonzero()[0]
            if not rows.size:
                continue
            lowest = np.minimum(here[rows], there[rows])[:, None]
            highest = np.maximum(here[rows], there[rows])[:, None]
            of_larger = lowest + np.arange(_MOST_JUMPS)
            chance = chances[rows, None] * binomial_mass(of_larger, self.table[3], q)
            for row, column in np.argwhere((chance > least) & (of_larger < highest)).tolist():
                tables.append(
                    (chance[row, column], int(counts[rows[row]]), int(of_larger[row, column]))
                )
        return tables

    def _tie(
        self,
        count: int,
        count0: int,
        low: float,
        high: float,
        *,
        two_sided: bool,
    ) -> float | None:
        """Where a table has the statistic of the observed one, between two places on the scale of
        the search.
        """
        other = (count, self.table[1], count0, self.table[3])

        def gap(x: float) -> float:
            null = from_scale(self.contrast, x)
            z = score_statistic(other, self.contrast, null)
            observed = score_statistic(self.table, self.contrast, null)
            return abs(z) - abs(observed) if two_sided else z - observed

        at_low = gap(low)
        at_high = gap(high)
        if not (isfinite(at_low) and isfinite(at_high)) or at_low * at_high >= 0:
            return None
        return falsi(gap, (low, at_low), (high, at_high), STEP / 8)

    @property
    def _table_as_asked(self) -> tuple[int, int, int, int]:
        """The table as the caller has it: (k, n) of the group, (k₀, n₀) of the reference."""
        k, n, k0, n0 = self.table
        return (k0, n0, k, n) if self.turned else (k, n, k0, n0)

    def _is_unlimited(self, side: int) -> bool:
        """Whether no count shows that the contrast is not at this end of its range."""
        k, n, k0, n0 = self._table_as_asked
        if self.contrast == "ratio":
            return (k0 if side > 0 else k) == 0
        if self.contrast == "difference":
            return (k == n and k0 == 0) if side > 0 else (k == 0 and k0 == n0)
        return (k0 == 0 or k == n) if side > 0 else (k == 0 or k0 == n0)

    def _estimate_on_scale(self) -> float:
        """The contrast of the observed rates, on the scale of the search.

        Infinite at an end of a ratio's range.
        """
        k, n, k0, n0 = self._table_as_asked
        if self.contrast == "difference":
            return to_scale(self.contrast, k / n - k0 / n0)
        above = k * n0
        below = k0 * n
        if self.contrast == "odds_ratio":
            above = k * (n0 - k0)
            below = k0 * (n - k)
        if above == 0 or below == 0:
            return inf if above > 0 else -inf
        return log(above / below)

    def _approximate_limit(self, limit: WantedLimit) -> tuple[float, float]:
        """About where the limit lies, and a standard error, on the scale of the search.

        By the score, else by Wald.
        """
        k, n, k0, n0 = self._table_as_asked
        tail_error = limit.error / 2 if limit.alternative == "two-sided" else limit.error
        critical = -float(ndtri(tail_error))
        rate = (k + 0.5) / (n + 1)
        reference_rate = (k0 + 0.5) / (n0 + 1)
        variance = rate * (1 - rate) / (n + 1)
        reference_variance = reference_rate * (1 - reference_rate) / (n0 + 1)
        if self.contrast == "ratio":
            centre = log(rate / reference_rate)
            error = sqrt(variance / rate**2 + reference_variance / reference_rate**2)
        elif self.contrast == "difference":
            centre = 2 * atanh(rate - reference_rate)
            error = sqrt(variance + reference_variance) * 2 / (1 - (rate - reference_rate) ** 2)
        else:
            centre = log(rate / (1 - rate)) - log(reference_rate / (1 - reference_rate))
            error = sqrt(
                variance / (rate * (1 - rate)) ** 2
                + reference_variance / (reference_rate * (1 - reference_rate)) ** 2
            )
        start = centre + limit.side * critical * error
        if critical <= 0.5 or self.contrast == "odds_ratio":
            return start, error
        # the score's limit, from a bracket that begins at the estimate, or half a standard error
        # within Wald's
        estimate = self._estimate_on_scale()
        inner = estimate if isfinite(estimate) else start - limit.side * (critical + 0.5) * error
        outer = start + limit.side * (0.5 + 0.5 * critical) * error

        def excess(x: float) -> float:
            z = score_statistic(self._table_as_asked, self.contrast, from_scale(self.contrast, x))
            return critical + limit.side * z

        at_inner = excess(inner)
        at_outer = excess(outer)
        if not (isfinite(at_inner) and isfinite(at_outer)) or not at_inner > 0 > at_outer:
            return start, error
        start = falsi(excess, (inner, at_inner), (outer, at_outer), 0.01 * error)
        if isfinite(estimate):
            error = max(abs(start - estimate) / critical, 0.3 * error)
        return start, error


def _spread_towards_ends(points: int, *, low: NDArray[np.bool_], high: NDArray[np.bool_]) -> Floats:
    """Places from 0 to 1 as close to each end that is asked for as a square root needs.

    Of rows (R, 1).
    """
    even_shares = np.linspace(0.0, 1.0, points)[None]
    sine = np.sin(even_shares * pi / 2)
    to_high = np.where(low, sine**2, sine)
    to_low = np.where(low, 1.0 - sine[:, ::-1], even_shares)
    return np.where(high, to_high, to_low)
