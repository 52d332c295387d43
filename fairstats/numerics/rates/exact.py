"""Exact unconditional tests of two rates, and the limits that they exclude.

The one procedure, for a ratio, a difference or an odds ratio of k/n and k₀/n₀:

1. Tables are ordered by the score statistic of the null value (Chan 1998), ties included.
2. The p-value is the largest probability of a table as extreme as the observed one, over the rate of the larger group
   within its Clopper–Pearson interval of level 1 − γ, plus γ (Berger & Boos 1994); γ = 10⁻⁷.
3. Limits are where the test begins to reject: one-sided limits of the one-sided tests; of the two-sided test, which
   orders tables by |z|, a two-sided interval (Agresti & Min 2001).

Step 2 is valid in the whole composite hypothesis, not on its boundary alone: where the true contrast lies beyond the
null value there is a point of the boundary with the larger group's true rate (or at the end of the boundary, where the
other rate is 0 or 1), and the statistic rises in k and falls in k₀, so that extreme tables are likelier there.

Without step 2's interval the procedure would be `scipy.stats.barnard_exact`; with it a peak of the probability at a
rate that the data exclude counts for nothing, as for 0 of 3 beside 380 of 400: .0023 instead of .0063.
"""

from __future__ import annotations

import functools
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from math import asin, atanh, ceil, exp, floor, inf, log, pi, sin, sqrt, tanh

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, betaincinv, gammaln, ndtri

from fairstats.ground.checks import Floats
from fairstats.numerics.rates.boundary import boundary, larger_rate, rate_range, smaller_rate
from fairstats.numerics.rates.score import Contrast, score_statistic

#: Error of the nuisance rate's interval, part of every p-value.
GAMMA = 1e-7
#: Tables whose parts are kept: many small groups beside one reference make few different tables.
KEPT = 1 << 12
#: Limits are sought on multiples of it: steps of log θ, or of 2 atanh of a difference.
STEP = 2.0**-14
#: Limits beyond e^±60 are 0 and ∞.
_SPAN = 60.0
#: Spacing of nuisance rates, in standard errors of the larger group's rate on the angular scale.
_SPACING = 0.22
#: Fewest nuisance rates.
_FEWEST = 24
#: P(X ≥ Mx) ≤ exp(−2M(arcsin √x − arcsin √q)²): beyond this angle times 1/√M less than 1e-13 is left.
_REACH = 3.87
#: Tail probabilities of so many counts and rates are tabulated; more are computed one by one.
_MOST_TABULATED = 400_000
#: Nodes of the interpolation between nuisance rates, and parts into which a step is divided.
_STENCIL = 6
_PARTS = 4

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
            if self.turned:
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
        n, n0 = self.table[1], self.table[3]
        own_rates = smaller_rate(self.contrast, self.rates[None], null)
        feasible = (own_rates >= 0) & (own_rates <= 1)
        masses = binomial_masses(counts[:, :-1], n, np.minimum(np.maximum(own_rates, 0.0), 1.0), descending)
        probability = np.einsum("rig,rig->rg", masses, self._extreme(low[:, :-1], high[:, :-1]))
        every_rate = feasible.all()
        if not every_rate:
            probability = np.where(feasible, probability, 0.0)
        refined = probability @ refinement(self.rates.size)
        if every_rate:
            return vertex(refined)
        largest = np.empty(len(null))
        starts = stencil_starts(self.rates.size)
        end_rates = self._end_rates(null[:, 0])
        for row in range(len(null)):
            end_rate = end_rates[row]
            usable = feasible[row]
            if usable.all():
                largest[row] = vertex(refined[row : row + 1])[0]
                continue
            # where the smaller group's rate is 0 or 1, all of its cases have one count
            at_end = 1.0 - binomial_cdf(low[row, -1] - 1, n0, end_rate)
            at_end += binomial_cdf(high[row, -1] - 1, n0, end_rate)
            largest[row] = at_end
            if usable.any():
                whole = np.logical_and.reduce([usable[starts + t] for t in range(_STENCIL)])
                candidates = refined[row, :-1][np.repeat(whole, _PARTS)]
                largest[row] = max(
                    at_end,
                    probability[row][usable].max(),
                    candidates.max(initial=0.0),
                    self._beside_the_end(usable, probability[row], end_rate, at_end),
                )
        return largest

    def _extreme(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> Floats:
        """P(X ≥ low) + P(X < high) of the larger group's count, shape (R, I, G)."""
        if self.tails is None:
            n0 = self.table[3]
            below_low, below_high = np.minimum(low - 1, n0), np.minimum(high - 1, n0)
            result = np.zeros((*low.shape, self.rates.size))
            # outside of the counts that are possible the probability is 0 or 1
            for counts, sign in ((below_low, -1.0), (below_high, 1.0)):
                inner = (counts >= self.first_count) & (counts < self.last_count)
                tail = np.where(counts >= self.last_count, 1.0, 0.0)[..., None] + np.zeros(self.rates.size)
                tail[inner] = bdtr(counts[inner, None].astype(float), n0, self.rates)
                result += tail if sign > 0 else 1.0 - tail
            return result
        last = len(self.tails) - 1
        below_low = self.tails[np.minimum(np.maximum(low - self.first_count, 0), last)]
        result = np.subtract(1.0, below_low, out=below_low)
        # nothing lies below where the first count is 0, nothing above where it is the last
        if high.any():
            result += self.tails[np.minimum(np.maximum(high - self.first_count, 0), last)]
        return result

    def _end_rates(self, null: Floats) -> Floats:
        """Rate of the larger group where the smaller one's is 0 or 1 (which the null decides)."""
        least, most = rate_range(self.contrast, null)
        return np.asarray(larger_rate(self.contrast, np.where(most == 1.0, most, least), null))

    def _beside_the_end(self, usable: NDArray[np.bool_], probability: Floats, end_rate: float, at_end: float) -> float:
        """Largest value of the parabola through the two last usable rates and the end."""
        places = np.flatnonzero(usable)
        if places.size < 2:
            return 0.0
        nearest = places[-2:] if end_rate > self.rates[places[-1]] else places[1::-1]
        x = np.arcsin(np.sqrt(np.append(self.rates[nearest], end_rate)))
        y = np.append(probability[nearest], at_end)
        middle = x[1]
        if (y[1] < y.max() and y.argmax() == 0) or abs(x[2] - x[1]) < 1e-12:
            return 0.0
        a, b, c = np.polyfit(x - middle, y, 2)
        if not a < 0:
            return 0.0
        top = min(max(-b / (2 * a), min(x - middle)), max(x - middle))
        return float(a * top * top + b * top + c)

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
            searches[place] = search(limit, self._spread(limit))
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
                    if abs(done.value) < _SPAN:
                        results[place] = from_scale(self.contrast, done.value)
        return results

    def _unlimited(self, side: int) -> bool:
        """Whether no count shows that the contrast is not at this end of its range."""
        k, n, k0, n0 = self.table
        if self.turned:
            k, n, k0, n0 = k0, n0, k, n
        if self.contrast == "ratio":
            return (k0 if side > 0 else k) == 0
        if self.contrast == "difference":
            return (k == n and k0 == 0) if side > 0 else (k == 0 and k0 == n0)
        return (k0 == 0 or k == n) if side > 0 else (k == 0 or k0 == n0)

    def _spread(self, limit: WantedLimit) -> tuple[float, float]:
        """About where the limit lies, and its standard error, on the scale of the search."""
        k, n, k0, n0 = self.table
        if self.turned:
            k, n, k0, n0 = k0, n0, k, n
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


@dataclass(frozen=True)
class WantedLimit:
    """A limit to be found.

    `side`: 1 for the upper, −1 for the lower limit; `error`: of the test that it inverts; `alternative`: of that test;
    `anchors`: null values, on the scale of the search, and their p-values: the limit lies beyond them where they are
    kept and within them where they are rejected.
    """

    side: int
    error: float
    alternative: str
    anchors: tuple[tuple[float, float], ...] = ()


def search(limit: WantedLimit, about: tuple[float, float]) -> Generator[list[float], list[float], float]:
    """Yield values whose p-values are wanted, and return the limit between one kept and one rejected.

    By secants on Φ⁻¹(p), two values about the expected root at a time, farther apart where these did not halve the
    bracket, then by quarters; over multiples of `STEP`. Where p jumps back and forth over the error there are several limits: the anchors
    decide, then the innermost one that shows.
    """
    side = limit.side
    goal = _probit(limit.error)
    start, standard_error = about

    # places outwards on the scale of the search, with Φ⁻¹(p) less that of the error: it falls outwards
    inner: tuple[float, float] | None = None
    outer: tuple[float, float] | None = None
    for x, pvalue in limit.anchors:
        point = (side * x, _probit(pvalue) - goal)
        kept = pvalue >= limit.error
        if kept and (inner is None or point[0] > inner[0]):
            inner = point
        if not kept and (outer is None or point[0] < outer[0]):
            outer = point
    if inner is not None and outer is not None and inner[0] > outer[0]:
        inner, outer = (outer[0], abs(inner[1])), (inner[0], -abs(outer[1]))

    root = side * start
    doubt = 0.2 * standard_error
    stride = standard_error
    width = inf
    misses = 0
    while True:
        nearest = round((root - doubt) / STEP), round((root + doubt) / STEP)
        places = [nearest[0], max(nearest[1], nearest[0] + 1)]
        if inner is not None and outer is not None:
            first = floor(inner[0] / STEP) + 1
            last = ceil(outer[0] / STEP) - 1
            if first > last:
                return side * (inner[0] + outer[0]) / 2
            misses = misses + 1 if outer[0] - inner[0] > 0.5 * width else 0
            if misses == 1:
                places = [round((root - 8 * doubt) / STEP), round((root + 8 * doubt) / STEP)]
            elif misses > 1:
                places = [first + (last - first) * quarter // 4 for quarter in (1, 2, 3)]
            width = outer[0] - inner[0]
            places = sorted({min(max(place, first), last) for place in places})
        elif inner is not None:
            places[1] = max(places[1], floor((inner[0] + stride) / STEP))
            stride *= 2
        elif outer is not None:
            places[0] = min(places[0], ceil((outer[0] - stride) / STEP))
            stride *= 2
        if min(abs(place) for place in places) * STEP >= _SPAN:
            return side * _SPAN

        pvalues = yield [side * place * STEP for place in places]
        points = [(place * STEP, _probit(pvalue) - goal) for place, pvalue in zip(places, pvalues, strict=True)]
        for point, pvalue in zip(points, pvalues, strict=True):
            if pvalue < limit.error:
                if outer is None or point[0] < outer[0]:
                    outer = point
                break
            if inner is None or point[0] > inner[0]:
                inner = point
        root, doubt = _expected_root(points, standard_error)


def _expected_root(points: list[tuple[float, float]], standard_error: float) -> tuple[float, float]:
    """Where the line through the outermost of some values meets 0, and how far off that may be."""
    nearest = min(points, key=lambda point: abs(point[1]))
    slope = -1 / standard_error
    if len(points) > 1:
        secant = (points[-1][1] - points[0][1]) / (points[-1][0] - points[0][0])
        slope = min(max(secant, -20 / standard_error), -0.1 / standard_error)
    ahead = -nearest[1] / slope
    return nearest[0] + ahead, max(0.06 * abs(ahead), 0.5 * STEP)


def _probit(pvalue: float) -> float:
    return float(ndtri(min(max(pvalue, 1e-12), 1 - 1e-6)))


def clopper_pearson(k: int, n: int, error: float) -> tuple[float, float]:
    """Exact two-sided interval of a rate."""
    low = 0.0 if k == 0 else float(betaincinv(k, n - k + 1, error / 2))
    high = 1.0 if k == n else float(betaincinv(k + 1, n - k, 1 - error / 2))
    return low, high


def binomial_cdf(count: int, n: int, rate: float) -> float:
    """P(X ≤ count), also of −1 and of n and more."""
    if count < 0:
        return 0.0
    return 1.0 if count >= n else float(bdtr(float(count), n, rate))


def null_range(contrast: Contrast) -> tuple[float, float]:
    """Ends of the values that a contrast can have."""
    return (-1.0, 1.0) if contrast == "difference" else (0.0, inf)


def end_of(contrast: Contrast, side: int) -> float:
    """The end of the range on a side."""
    least, most = null_range(contrast)
    return most if side > 0 else least


def inverse(contrast: Contrast, null: float) -> float:
    """The same hypothesis with the groups in the other order."""
    return -null if contrast == "difference" else 1 / null


def to_scale(contrast: Contrast, value: float) -> float:
    """Scale on which limits are sought: log of ratios, 2 atanh of differences."""
    if contrast == "difference":
        return 2 * atanh(min(max(value, -1 + 1e-15), 1 - 1e-15))
    return log(value)


def from_scale(contrast: Contrast, x: float) -> float:
    """Inverse of `to_scale`."""
    return tanh(x / 2) if contrast == "difference" else exp(x)


def binomial_masses(counts: Floats, n: int, rates: Floats, descending: NDArray[np.bool_]) -> Floats:
    """Binomial probabilities of consecutive counts, shape (R, I, G).

    The first is by logarithms, the others follow by b(i + 1) = b(i)·(n − i)/(i + 1)·p/(1 − p), or the same downwards.

    Parameters
    ----------
    counts : ndarray, shape (R, I)
        From the end of the range that is nearer to a rate of 0, or 1: where the first probability underflows, the
        others are 0.
    rates : ndarray, shape (R, G)
        Probabilities of success.
    descending : ndarray of bool, shape (R, 1)
        Whether the counts of a row fall.
    """
    rates = np.minimum(np.maximum(rates, 1e-300), 1 - 1e-16)
    start = counts[:, :1]
    log_first = start * np.log(rates) + (n - start) * np.log1p(-rates)
    log_first += gammaln(n + 1.0) - gammaln(start + 1.0) - gammaln(n - start + 1.0)
    masses = np.empty((*counts.shape, rates.shape[1]))
    masses[:, 0] = np.exp(log_first)
    if counts.shape[1] == 1:
        return masses
    earlier = counts[:, :-1]
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        odds = np.where(descending, (1 - rates) / rates, rates / (1 - rates))
        falling = earlier / (n - earlier + 1)
        factor = np.where(descending, falling, (n - earlier) / (earlier + 1))
        np.multiply(np.maximum(factor, 0.0)[:, :, None], odds[:, None, :], out=masses[:, 1:])
        np.multiply.accumulate(masses, axis=1, out=masses)
    return masses


def vertex(values: Floats) -> Floats:
    """Largest value of each row, of the parabola through the largest and its neighbours; shape (R,)."""
    rows = np.arange(len(values))
    place = values.argmax(axis=1)
    top = values[rows, place]
    before = values[rows, np.maximum(place - 1, 0)]
    after = values[rows, np.minimum(place + 1, values.shape[1] - 1)]
    bend = 2 * top - before - after
    within = (place > 0) & (place < values.shape[1] - 1) & (bend > 0)
    return top + np.where(within, (before - after) ** 2 / (8 * np.where(within, bend, 1.0)), 0.0)


@functools.lru_cache(maxsize=64)
def stencil_starts(points: int) -> NDArray[np.int64]:
    """First node of the interpolation in each of the `points` − 1 steps."""
    return np.clip(np.arange(points - 1) - _STENCIL // 2 + 1, 0, points - _STENCIL)


@functools.lru_cache(maxsize=64)
def refinement(points: int) -> Floats:
    """Matrix of the local polynomial interpolation of equally spaced values, shape (points, parts·(points − 1) + 1)."""
    starts = stencil_starts(points)
    matrix = np.zeros((points, _PARTS * (points - 1) + 1))
    for step, start in enumerate(starts):
        nodes = np.arange(start, start + _STENCIL)
        for part in range(_PARTS):
            at = step + part / _PARTS
            for node in nodes:
                others = nodes[nodes != node]
                matrix[node, _PARTS * step + part] = np.prod((at - others) / (node - others))
    matrix[-1, -1] = 1.0
    return matrix


# ------------------------------------------------------------------------------ one table's answers


@dataclass(frozen=True)
class ExactEvidence:
    """Exact p-values of one table.

    Attributes
    ----------
    below, above : float
        p-values of H0: contrast ≥ low, and of H0: contrast ≤ high.
    inside : float
        The larger p-value of H0: contrast ≤ low and H0: contrast ≥ high.
    equality : float
        Two-sided p-value of H0: contrast = equal.
    """

    below: float
    above: float
    inside: float
    equality: float


@dataclass(frozen=True)
class ExactRow:
    """Everything that one row of a comparison says by exact tests.

    Attributes
    ----------
    evidence : ExactEvidence
        p-values.
    bounds : tuple of float
        One-sided limits, each at the level of the verdict: a limit lies beyond an end of the fair range exactly where
        the p-value of that end is at least 1 − level.
    interval : tuple of float
        Two-sided interval: it excludes equality exactly where the p-value of equality is below 1 − level.
    """

    evidence: ExactEvidence
    bounds: tuple[float, float]
    interval: tuple[float, float]


@functools.lru_cache(maxsize=128)
def exact_table(table: tuple[int, int, int, int], contrast: Contrast) -> ExactTable:
    """The exact tests of a table (k, n, k₀, n₀), kept for the next question about it."""
    return ExactTable(table, contrast)


@functools.lru_cache(maxsize=KEPT)
def exact_evidence(
    k: int, n: int, k0: int, n0: int, *, contrast: Contrast, low: float, high: float, equal: float
) -> ExactEvidence:
    """p-values of the group's k of n beside the reference's k₀ of n₀.

    Parameters
    ----------
    k, n, k0, n0 : int
        Successes and cases of group and reference.
    contrast : {"ratio", "difference", "odds_ratio"}
        Group over, or less, reference.
    low, high : float
        Ends of the fair range.
    equal : float
        The value of equality, 1 or 0.

    Examples
    --------
    >>> from fairstats.numerics.rates.exact import exact_evidence
    >>> evidence = exact_evidence(0, 3, 380, 400, contrast="ratio", low=0.8, high=1.25, equal=1.0)
    >>> print(f"{evidence.below:.4f} {evidence.equality:.4f}")
    0.0113 0.0023
    """
    exact = exact_table((k, n, k0, n0), contrast)
    below, above, outside_low, outside_high, equality = exact.pvalues(
        [low, high, low, high, equal], ["less", "greater", "greater", "less", "two-sided"]
    )
    return ExactEvidence(below=below, above=above, inside=max(outside_low, outside_high), equality=equality)


def exact_pvalue(k: int, n: int, k0: int, n0: int, *, contrast: Contrast, null: float, alternative: str) -> float:
    """p-value of H0: contrast ≥ null ("less"), ≤ null ("greater") or = null ("two-sided")."""
    return exact_table((k, n, k0, n0), contrast).pvalues([null], [alternative])[0]


@functools.lru_cache(maxsize=KEPT)
def exact_limits(
    k: int, n: int, k0: int, n0: int, *, contrast: Contrast, level: float, anchors: tuple[float, ...] = ()
) -> tuple[float, float]:  # fmt: skip
    """One-sided limits, each at `level`.

    Parameters
    ----------
    k, n, k0, n0 : int
        Successes and cases of group and reference.
    contrast : {"ratio", "difference", "odds_ratio"}
        Group over, or less, reference.
    level : float
        Confidence level of each limit.
    anchors : tuple of float
        Null values that a limit lies beyond exactly where their own p-value is at least 1 − level.

    Returns
    -------
    low, high : float
        The values that the one-sided tests begin to reject, to 2⁻¹⁵ on the scale of the logarithm, or of 2 atanh.
    """
    exact = exact_table((k, n, k0, n0), contrast)
    wanted = []
    for side, alternative in ((-1, "greater"), (1, "less")):
        pvalues = exact.pvalues(anchors, [alternative] * len(anchors))
        places = tuple(to_scale(contrast, value) for value in anchors)
        known = tuple(zip(places, pvalues, strict=True))
        wanted.append(WantedLimit(side, 1 - level, alternative, known))
    low, high = exact.limits(wanted)
    return low, high


@functools.lru_cache(maxsize=KEPT)
def exact_interval(
    k: int, n: int, k0: int, n0: int, *, contrast: Contrast, confidence_level: float, equal: float
) -> tuple[float, float]:
    """Two-sided interval: the values that the two-sided test does not reject, around the estimate.

    Of equality it says what the test says (`equal`: 1 or 0).
    """
    exact = exact_table((k, n, k0, n0), contrast)
    pvalue = exact.pvalues([equal], ["two-sided"])[0]
    low, high = exact.limits(_ends_of_interval(exact, equal, pvalue, confidence_level))
    return low, high


@functools.lru_cache(maxsize=KEPT)
def exact_row(
    k: int, n: int, k0: int, n0: int, *, contrast: Contrast, low: float, high: float, equal: float,
    bound_level: float, confidence_level: float,
) -> ExactRow:  # fmt: skip
    """p-values, one-sided limits at `bound_level` and the two-sided interval at `confidence_level`, all at once.

    The parameters are those of `exact_evidence` and `exact_limits`; no two parts of the row contradict each other.

    Examples
    --------
    >>> from fairstats.numerics.rates.exact import exact_row
    >>> row = exact_row(3, 12, 80, 150, contrast="ratio", low=0.8, high=1.25, equal=1.0, bound_level=0.95,
    ...     confidence_level=0.95)
    >>> print(f"{row.evidence.below:.4f} {row.bounds[1]:.3f} {row.interval[0]:.3f} {row.interval[1]:.3f}")
    0.1233 0.949 0.153 1.024
    """
    exact = exact_table((k, n, k0, n0), contrast)
    below, above, outside_low, outside_high, equality = exact.pvalues(
        [low, high, low, high, equal], ["less", "greater", "greater", "less", "two-sided"]
    )
    at_low, at_high = to_scale(contrast, low), to_scale(contrast, high)
    error = 1 - bound_level
    wanted = [
        WantedLimit(-1, error, "greater", ((at_low, outside_low), (at_high, above))),
        WantedLimit(1, error, "less", ((at_low, below), (at_high, outside_high))),
        *_ends_of_interval(exact, equal, equality, confidence_level),
    ]
    bound_low, bound_high, interval_low, interval_high = exact.limits(wanted)
    inside = max(outside_low, outside_high)
    return ExactRow(
        evidence=ExactEvidence(below=below, above=above, inside=inside, equality=equality),
        bounds=(bound_low, bound_high),
        interval=(interval_low, interval_high),
    )


def _ends_of_interval(exact: ExactTable, equal: float, pvalue: float, confidence_level: float) -> list[WantedLimit]:
    """Both ends of the two-sided interval, which lie on the side of equality that its p-value says."""
    error = 1 - confidence_level
    null = inverse(exact.contrast, equal) if exact.turned else equal
    above = exact.statistic(null) > 0
    if exact.turned:
        above = not above
    anchor = ((to_scale(exact.contrast, equal), pvalue),)
    wanted = []
    for side in (-1, 1):
        # equality bounds the end that lies between it and the estimate; kept, it lies within both
        speaks = pvalue >= error or (side < 0) == above
        wanted.append(WantedLimit(side, error, "two-sided", anchor if speaks else ()))
    return wanted
