"""Exact unconditional tests of tables: p-values of many null values, and limits, at once.

The procedure is that of `fairstats.numerics.rates.exact`. Everything that one round of questions
asks, of one table or of hundreds, is computed by the same operations on arrays with a row for each
question: `Questions` has them, `ExactTable` keeps what has been answered.
"""

from __future__ import annotations

import functools
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from math import atanh, inf, isfinite, log, pi, sqrt
from types import ModuleType
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, ndtri

from fairstats.ground.checks import Floats
from fairstats.numerics.rates.binomial import (
    PARTS,
    binomial_cdf,
    binomial_mass,
    binomial_masses,
    interpolation,
    refine,
    vertex,
)
from fairstats.numerics.rates.boundary import boundary, larger_rate, rate_range, smaller_rate
from fairstats.numerics.rates.nuisance import (
    GAMMA,
    REACH,
    SPACING,
    LargerGroup,
    Tails,
    larger_group,
)
from fairstats.numerics.rates.score import EQUALITY, STATISTICS, Contrast, score_statistic
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

#: Nuisance rates where the null hypothesis ends among them: places are up to π/2 times as far apart
#: as even ones.
_FEWEST_UP_TO_THE_END = 48
_DENSER = 2.0
#: Standard errors of the smaller group for one of the larger one, up to which nuisance rates are
#: dense enough for both.
_AS_DENSE = 1.3
#: Numbers in one array of probabilities, of counts and rates of several questions.
_MOST_AT_ONCE = 400_000

#: Jumps of p that one search asks for at a time.
_MOST_JUMPS = 4
#: A jump counts from this share of what p falls by within a bracket.
_LARGE_JUMP = 0.1

#: Exact p-values that are asked of arrays before compiled loops are loaded: about forty rows, .4 s.
#: Loading takes half a second, compiling them, once for an installation, ten. One of large groups
#: counts as several, one more for so many probabilities.
_BEFORE_LOOPS: float = 2_000
_PROBABILITIES = 2_000

#: Successes and cases of the smaller and of the larger group.
Table: TypeAlias = tuple[int, int, int, int]

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


@dataclass(frozen=True)
class Question:
    """A null value with its alternative, of a table that has the smaller group first.

    Attributes
    ----------
    k, n, k0, n0 : int
        Successes and cases of the smaller and of the larger group.
    larger : LargerGroup
        The nuisance rates that the larger one leaves.
    null : float
    alternative : {"less", "greater", "two-sided"}
    """

    k: int
    n: int
    k0: int
    n0: int
    larger: LargerGroup
    null: float
    alternative: str


def answer(contrast: Contrast, questions: Sequence[Question]) -> list[Answer]:
    """Answers to questions about any tables, by compiled loops where there are any."""
    loops = compiled_loops(sum(map(_count_of_work, questions)))
    if loops is None:
        return answer_by_arrays(contrast, questions)
    answers: dict[int, Answer] = {}
    for place, question in enumerate(questions):
        found = answer_by_loops(loops, contrast, question)
        if found is not None:
            answers[place] = found
    left = [place for place in range(len(questions)) if place not in answers]
    if left:
        by_arrays = answer_by_arrays(contrast, [questions[place] for place in left])
        answers.update(zip(left, by_arrays, strict=True))
    return [answers[place] for place in range(len(questions))]


class _Asked:
    """Questions that this process has asked so far, large ones as several."""

    number = 0


def _count_of_work(question: Question) -> int:
    """As how many p-values of small groups a question counts."""
    return 1 + _count_of_likely(question) * question.larger.rates.size // _PROBABILITIES


def _count_of_likely(question: Question) -> int:
    """About as many counts of the smaller group are not all but impossible where both groups are of
    one size.
    """
    return int(min(question.n, 8 * sqrt(question.n))) + 1


def compiled_loops(number: int = 0) -> ModuleType | None:
    """The loops that numba compiles, once so many questions have been asked that they pay.

    `number`: of questions that are asked now. None before, and where numba is missing or cannot be
    used.
    """
    _Asked.number += number
    if _Asked.number < _BEFORE_LOOPS:
        return None
    return _load_loops()


@functools.lru_cache(maxsize=1)
def _load_loops() -> ModuleType | None:
    if find_spec("numba") is None:
        return None
    try:
        return import_module("fairstats.numerics.rates.compiled")
    # numba refuses a NumPy that is newer than it, and a place where it may not write
    except (ImportError, RuntimeError):
        return None


#: Cases up to which compiled loops hold logarithms of factorials.
_MOST_CASES = 1 << 20


def answer_by_loops(loops: ModuleType, contrast: Contrast, question: Question) -> Answer | None:
    """The answer by compiled loops; None where arrays have to give it."""
    larger = question.larger
    if larger.tails is None or question.n0 >= _MOST_CASES:
        return None
    answered, pvalue, rate, first, low, high = loops.evaluate(
        loops.CONTRASTS[contrast],
        question.k,
        question.n,
        question.k0,
        question.n0,
        question.null,
        loops.ALTERNATIVES[question.alternative],
        larger.angle_ends,
        larger.rates,
        larger.tails,
        larger.lost,
        larger.first_count,
        larger.last_count,
        loops.factorials_up_to(1 << question.n0.bit_length()),
        loops.refinement_nodes(larger.rates.size),
        loops.refinements_between(),
    )
    if not answered:
        return None
    if pvalue == loops.UNKNOWN:
        largest = _tails_at_end(int(low[-1]), int(high[-1]), question.n0, rate)
        pvalue = min(largest + GAMMA, 1.0)
        low = low[:-1]
        high = high[:-1]
    return Answer(
        pvalue=pvalue,
        null=question.null,
        counts=np.arange(first, first + low.size),
        low=low,
        high=high,
        larger_rate=rate,
    )


def answer_by_arrays(contrast: Contrast, questions: Sequence[Question]) -> list[Answer]:
    """Answers to questions about any tables.

    Questions whose larger groups have as many nuisance rates are rows of the same arrays, smaller
    groups of about one size beside each other.
    """
    batches: dict[tuple[int, bool], list[int]] = {}
    for place, question in enumerate(questions):
        larger = question.larger
        batches.setdefault((larger.rates.size, larger.tails is None), []).append(place)
    answers: dict[int, Answer] = {}
    room = _Room()
    for places in batches.values():
        places.sort(key=lambda place: questions[place].n)
        for block in _cut(places, questions):
            # two-sided questions come last: theirs are two tails
            block.sort(key=lambda place: questions[place].alternative == "two-sided")
            of_block = _Block(contrast, [questions[place] for place in block], room).answers()
            answers.update(zip(block, of_block, strict=True))
    return [answers[place] for place in range(len(questions))]


def _cut(places: list[int], questions: Sequence[Question]) -> Iterator[list[int]]:
    """Runs of places whose arrays are not too large."""
    start = 0
    while start < len(places):
        stop = start + 1
        while stop < len(places):
            question = questions[places[stop]]
            counts = _count_of_likely(question)
            if (stop + 1 - start) * counts * question.larger.rates.size > _MOST_AT_ONCE:
                break
            stop += 1
        yield places[start:stop]
        start = stop


class _Room:
    """Room for three large arrays, which one block after the other writes into: new memory costs
    more than what is computed.
    """

    def __init__(self) -> None:
        self._arrays = [np.empty(0), np.empty(0), np.empty(0)]

    def get(self, number: int, shape: tuple[int, int, int]) -> Floats:
        """One of them, with this shape."""
        size = shape[0] * shape[1] * shape[2]
        if self._arrays[number].size < size:
            self._arrays[number] = np.empty(size)
        return self._arrays[number][:size].reshape(shape)


class _Block:
    """Questions as arrays with one row each, (R, 1) where nothing else is said.

    Two-sided ones are the last.
    """

    def __init__(self, contrast: Contrast, questions: Sequence[Question], room: _Room) -> None:
        self.contrast = contrast
        self.questions = questions
        self.room = room
        numbers = np.array([(ask.k, ask.n, ask.k0, ask.n0) for ask in questions])
        self.k, self.n, self.k0, self.n0 = numbers.T[:, :, None]
        self.null = np.array([[ask.null] for ask in questions])
        self.two_sided = np.array([[ask.alternative == "two-sided"] for ask in questions])
        self.upwards = np.array([[ask.alternative == "greater"] for ask in questions])
        larger = [ask.larger for ask in questions]
        alone = all(group is larger[0] for group in larger)
        distinct = larger[:1] if alone else list({id(group): group for group in larger}.values())
        tails = Tails(distinct)
        self.tails = tails.table
        self.offsets = tails.offsets(larger)
        ends = np.array([group.angle_ends for group in larger])
        self.first_angle = ends[:, :1]
        self.last_angle = ends[:, 1:]
        counts = np.array([(group.first_count, group.last_count) for group in larger])
        self.first_count = counts[:, :1]
        self.last_count = counts[:, 1:]
        self.points = larger[0].rates.size
        self.rates = larger[0].rates[None] if alone else np.stack([group.rates for group in larger])
        self.lost = larger[0].lost[None] if alone else np.stack([group.lost for group in larger])

    def answers(self) -> list[Answer]:
        """Of every question, in their order."""
        statistics = []
        for ask in self.questions:
            statistics.append(statistic((ask.k, ask.n, ask.k0, ask.n0), self.contrast, ask.null))
        # which row of the boundary belongs to which question: tables with z ≤ low value, and z ≥
        # high value
        low_rows = []
        low_values = []
        high_rows = []
        high_values = []
        for row, (z, ask) in enumerate(zip(statistics, self.questions, strict=True)):
            if ask.alternative != "greater":
                low_rows.append(row)
                low_values.append(-abs(z) if ask.alternative == "two-sided" else z)
            if ask.alternative != "less":
                high_rows.append(row)
                high_values.append(abs(z) if ask.alternative == "two-sided" else z)
        observed = np.array(statistics)[:, None]
        counts = self._list_smaller_counts()
        rows = low_rows + high_rows
        critical_values = np.array(low_values + high_values)[:, None]
        first, number = boundary(
            self.contrast,
            counts[rows],
            (self.n[rows], self.n0[rows]),
            self.null[rows],
            critical_values,
        )
        n_low = len(low_rows)
        low = np.repeat(self.n0 + 1, counts.shape[1], axis=1)
        low[low_rows] = first[:n_low]
        high = np.zeros(counts.shape, dtype=np.int64)
        high[high_rows] = number[n_low:]
        # the observed table is as extreme as itself, also where the boundary touches it and
        # rounding decides
        two_sided = self.two_sided
        less = np.array([[ask.alternative == "less"] for ask in self.questions])
        in_low = less | (two_sided & (observed <= 0))
        in_high = ~(less | (two_sided & (observed < 0)))
        is_observed = counts == self.k
        low = np.where(is_observed & in_low, np.minimum(low, self.k0), low)
        high = np.where(is_observed & in_high, np.maximum(high, self.k0 + 1), high)
        largest, rates = self._maximise_probability(counts, low, high)
        pvalues = np.minimum(largest + GAMMA, 1.0)
        pvalues[(two_sided & (observed == 0))[:, 0]] = 1.0
        answers = []
        for row, (pvalue, rate) in enumerate(zip(pvalues.tolist(), rates.tolist(), strict=True)):
            answers.append(
                Answer(
                    pvalue=pvalue,
                    null=self.questions[row].null,
                    counts=counts[row, :-1],
                    low=low[row, :-1],
                    high=high[row, :-1],
                    larger_rate=rate,
                )
            )
        return answers

    def _list_smaller_counts(self) -> NDArray[np.int64]:
        """Successive counts of the smaller group that are not all but impossible, shape (R, I + 1).

        The last is the one that all of the group has at the end of the null hypothesis.
        """
        ends = np.hstack([self.rates[:, :1], self.rates[:, -1:]])
        angles = np.arcsin(np.sqrt(self._smaller_rate(ends)))
        reach = REACH / np.sqrt(self.n)
        first = np.floor(self.n * np.sin(np.maximum(angles[:, :1] - reach, 0.0)) ** 2)
        last = np.ceil(self.n * np.sin(np.minimum(angles[:, 1:] + reach, pi / 2)) ** 2)
        counts = np.empty((len(self.null), int((last - first).max()) + 2), dtype=np.int64)
        counts[:, :-1] = first + np.arange(counts.shape[1] - 1)
        counts[:, -1:] = np.where(rate_range(self.contrast, self.null)[1] == 1.0, self.n, 0)
        return counts

    def _smaller_rate(self, rates: Floats, rows: slice | NDArray[np.intp] = slice(None)) -> Floats:
        """Of the smaller group, where the larger one has these rates, (R, G)."""
        of_smaller = smaller_rate(self.contrast, rates, self.null[rows])
        return np.minimum(np.maximum(of_smaller, 0.0), 1.0)

    def _maximise_probability(
        self, counts: NDArray[np.int64], low: NDArray[np.int64], high: NDArray[np.int64]
    ) -> tuple[Floats, Floats]:
        """Largest probability over the nuisance rate, of counts ≥ low and counts < high, and that
        rate; shape (R,).
        """
        first = self.first_angle
        last = self.last_angle
        least, most = rate_range(self.contrast, self.null)
        ends = np.hstack(
            [
                larger_rate(self.contrast, least, self.null),
                larger_rate(self.contrast, most, self.null),
            ]
        )
        angles = np.arcsin(np.sqrt(np.minimum(np.maximum(ends, 0.0), 1.0)))
        beyond = (angles[:, :1] >= last) | (angles[:, 1:] <= first)
        low_ends = np.maximum(angles[:, :1], first)
        high_ends = np.minimum(angles[:, 1:], last)
        of_smaller, of_larger = self._measure_spans(low_ends, high_ends)
        as_dense = of_smaller <= _AS_DENSE * 2 * np.sqrt(self.n0) * (last - first)
        whole = ((angles[:, :1] <= first) & (angles[:, 1:] >= last) & as_dense)[:, 0]
        if whole.all():
            return self._maximise_over_all(slice(None), counts[:, :-1], low[:, :-1], high[:, :-1])
        others = ~(whole | beyond[:, 0])
        points = np.ceil(_DENSER * np.maximum(of_smaller, of_larger)[:, 0] / SPACING) + 1
        # Null values that need about as many rates go together. How many, each says by itself, so that
        # a p-value does not depend on what else is asked.
        sizes = np.maximum(2 ** np.ceil(np.log2(np.maximum(points, 1))), _FEWEST_UP_TO_THE_END)
        largest = np.empty(len(self.null))
        rates = np.empty(len(self.null))
        if whole.any():
            rows = whole.nonzero()[0]
            largest[rows], rates[rows] = self._maximise_over_all(
                rows, counts[rows, :-1], low[rows, :-1], high[rows, :-1]
            )
        for size in np.unique(sizes[others]).astype(np.int64).tolist():
            rows = (others & (sizes == size)).nonzero()[0]
            largest[rows], rates[rows] = self._maximise_between_ends(
                rows, counts[rows, :-1], low[rows, :-1], high[rows, :-1], angles[rows], size
            )
        for row in beyond[:, 0].nonzero()[0].tolist():
            # at the end of the null hypothesis all cases of the smaller group have one count
            rate = float(ends[row, 0] if angles[row, 0] >= last[row, 0] else ends[row, 1])
            n0 = int(self.n0[row, 0])
            largest[row] = _tails_at_end(int(low[row, -1]), int(high[row, -1]), n0, rate)
            rates[row] = rate
        return largest, rates

    def _measure_spans(self, low_ends: Floats, high_ends: Floats) -> tuple[Floats, Floats]:
        """Standard errors of the smaller and of the larger group's rate between two angles of the
        larger one's, shape (R, 1).
        """
        ends = np.hstack([low_ends, high_ends])
        angles = np.arcsin(np.sqrt(self._smaller_rate(np.sin(ends) ** 2)))
        of_smaller = 2 * np.sqrt(self.n) * np.abs(angles[:, 1:] - angles[:, :1])
        return of_smaller, 2 * np.sqrt(self.n0) * np.abs(high_ends - low_ends)

    def _maximise_over_all(
        self,
        rows: slice | NDArray[np.intp],
        counts: NDArray[np.int64],
        low: NDArray[np.int64],
        high: NDArray[np.int64],
    ) -> tuple[Floats, Floats]:
        """At all nuisance rates."""
        rates = self.rates
        if len(rates) > 1:
            rates = rates[rows]
        masses = self._compute_masses(rows, counts, rates)
        tails = self.tails
        if tails is None:
            rates = np.broadcast_to(rates, (len(counts), self.points))
            probability = np.einsum("rig,rig->rg", masses, self._sum_tails(rows, low, high, rates))
        else:
            extreme = self._take_tails(tails, rows, low, high)
            probability = np.einsum("rig,rig->rg", masses, extreme)
            probability += self._lost_of(rows)
        largest, place = vertex(refine(probability))
        places = place // PARTS
        return largest, rates[0, places] if len(rates) == 1 else rates[
            np.arange(len(rates)), places
        ]

    def _maximise_between_ends(
        self,
        rows: NDArray[np.intp],
        counts: NDArray[np.int64],
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
        first = self.first_angle[rows]
        last = self.last_angle[rows]
        # towards an end of the null hypothesis the angle of the smaller group's rate changes as a
        # square root
        low_end = np.maximum(angles[:, :1], first)
        high_end = np.minimum(angles[:, 1:], last)
        shares = _spread_towards_ends(points, low=angles[:, :1] > first, high=angles[:, 1:] < last)
        places = low_end + (high_end - low_end) * shares
        rates = np.sin(places) ** 2
        masses = self._compute_masses(rows, counts, rates)
        tails = self.tails
        if tails is None:
            probability = np.einsum("rig,rig->rg", masses, self._sum_tails(rows, low, high, rates))
        else:
            # the tails of the larger group's count are smooth in its rate, also beyond the end
            steps = (places - first) / (last - first) * (self.points - 1)
            weights = interpolation(self.points, steps)
            extreme = self._take_tails(tails, rows, low, high)
            # the sum over fewer numbers comes last
            if counts.shape[1] < self.points:
                probability = np.einsum("rip,rip->rp", masses, extreme @ weights)
            else:
                at_all_rates = np.matmul(masses.transpose(0, 2, 1), extreme)
                probability = np.einsum("rpg,rgp->rp", at_all_rates, weights)
            if self.upwards[rows].any():
                probability += np.einsum("rg,rgp->rp", self._lost_of(rows), weights)
        largest, place = vertex(refine(probability))
        return largest, rates[np.arange(len(rates)), place // PARTS]

    def _lost_of(self, rows: slice | NDArray[np.intp]) -> Floats:
        """What rounding loses of the larger group's probabilities, at all rates: it counts as
        extreme where few successes do, as it does where many do.
        """
        lost = self.lost if len(self.lost) == 1 else self.lost[rows]
        return self.upwards[rows] * lost

    def _compute_masses(
        self,
        rows: slice | NDArray[np.intp],
        counts: NDArray[np.int64],
        rates: Floats,
    ) -> Floats:
        """Probabilities of the smaller group's counts, where the larger one has these rates."""
        of_smaller = self._smaller_rate(rates, rows)
        room = self.room.get(0, (*counts.shape, of_smaller.shape[1]))
        return binomial_masses(counts, self.n[rows], of_smaller, room)

    def _take_tails(
        self,
        tails: Floats,
        rows: slice | NDArray[np.intp],
        low: NDArray[np.int64],
        high: NDArray[np.int64],
    ) -> Floats:
        """P(X ≥ low), or P(X < high), of the larger group's count, or both of two-sided rows,
        (R, I, G).
        """
        first = self.first_count[rows]
        number = self.last_count[rows] - first + 2
        offsets = self.offsets[rows]
        upwards = self.upwards[rows]
        low_places = np.minimum(np.maximum(low - first, 0), number - 1) + (offsets + number)
        high_places = np.minimum(np.maximum(high - first, 0), number - 1) + offsets
        room = self.room.get(1, (*low.shape, self.points))
        places = np.where(upwards, high_places, low_places)
        extreme = tails.take(places, axis=0, out=room, mode="clip")
        two_sided = int(self.two_sided[rows].sum())
        if two_sided:
            start = len(low) - two_sided
            of_high = self.room.get(2, (two_sided, low.shape[1], self.points))
            extreme[start:] += tails.take(high_places[start:], axis=0, out=of_high, mode="clip")
        return extreme

    def _sum_tails(
        self,
        rows: slice | NDArray[np.intp],
        low: NDArray[np.int64],
        high: NDArray[np.int64],
        rates: Floats,
    ) -> Floats:
        """P(X ≥ low) + P(X < high) of the larger group's count at rates of each row, (R, G), each by
        itself.

        Of references too large for a table.
        """
        n0 = np.broadcast_to(self.n0[rows], low.shape)
        first = self.first_count[rows]
        last = self.last_count[rows]
        result = np.zeros((*low.shape, rates.shape[1]))
        for counts, sign in ((low - 1, -1.0), (high - 1, 1.0)):
            tail = np.zeros(result.shape)
            tail[counts >= last] = 1.0
            inner = (counts >= first) & (counts < last)
            inner_rows = inner.nonzero()[0]
            tail[inner] = bdtr(
                counts[inner, None].astype(np.float64), n0[inner][:, None], rates[inner_rows]
            )
            result += 1.0 - tail if sign < 0 else tail
        return result


def _tails_at_end(low: int, high: int, n0: int, rate: float) -> float:
    """P(X ≥ low) + P(X < high) of the larger group's count, at the end of a null hypothesis."""
    return 1.0 - binomial_cdf(low - 1, n0, rate) + binomial_cdf(high - 1, n0, rate)


def statistic(table: tuple[int, int, int, int], contrast: Contrast, null: float) -> float:
    """Score statistic of a table (k, n, k₀, n₀), exactly 0 where rounding alone keeps it from 0."""
    z = score_statistic(table, contrast, null)
    return 0.0 if abs(z) < 1e-12 else z


class ExactTable:
    """Exact tests of one table; what has been asked is kept.

    Within, the group is the smaller one: tables are turned around otherwise, null values inverted.
    """

    def __init__(
        self,
        table: tuple[int, int, int, int],
        contrast: Contrast,
        larger: LargerGroup | None = None,
    ) -> None:
        k, n, k0, n0 = table
        self.contrast = contrast
        self.turned = n > n0 or (n == n0 and k > k0)
        self.table = (k, n, k0, n0)
        if self.turned:
            self.table = (k0, n0, k, n)
        self.alike = k == k0 and n == n0
        if larger is None:
            _, _, k_of_larger, n_of_larger = self.table
            larger = larger_group(k_of_larger, n_of_larger)
        self.larger = larger
        self._answers: dict[tuple[float, str], Answer] = {}
        self._limits: dict[WantedLimit, float] = {}

    # ------------------------------------------------------------------------------ p-values

    def pvalues(self, nulls: Sequence[float], alternatives: Sequence[str]) -> list[float]:
        """p-values of several null values, each with its alternative, as the caller's table has
        them.
        """
        keys = list(zip(nulls, alternatives, strict=True))
        ask([(self, null, alternative) for null, alternative in keys])
        return [self.known_pvalue(null, alternative) for null, alternative in keys]

    def known_pvalue(self, null: float, alternative: str) -> float:
        """The p-value of a null value that has been asked; 1 at the ends of the range and beyond."""
        known = self._answers.get((null, alternative))
        return 1.0 if known is None else known.pvalue

    def lacks(self, null: float, alternative: str) -> bool:
        """Whether a p-value is not known yet."""
        least, most = null_range(self.contrast)
        return least < null < most and (null, alternative) not in self._answers

    def keep(self, null: float, alternative: str, answer: Answer) -> None:
        """Keep an answer, with the null value as the caller's table has it."""
        self._answers[null, alternative] = answer

    def question(self, null: float, alternative: str, smaller_count: int | None = None) -> Question:
        """A null value of the caller's table as a question; another count of the smaller group in
        place of its own.
        """
        k, n, k0, n0 = self.table
        if self._must_turn(null):
            null = inverse(self.contrast, null)
            alternative = OPPOSITE[alternative]
        return Question(
            k=k if smaller_count is None else smaller_count,
            n=n,
            k0=k0,
            n0=n0,
            larger=self.larger,
            null=null,
            alternative=alternative,
        )

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
        if alternative == "two-sided" and null == EQUALITY[self.contrast]:
            _, n, k0, n0 = self.table
            forms = [_one_form((count, n, k0, n0)) for count in smaller_counts]
            equality = _answer_equality(forms)
            return [equality[form].pvalue for form in forms]
        questions = [self.question(null, alternative, count) for count in smaller_counts]
        return [found.pvalue for found in answer(self.contrast, questions)]

    # ------------------------------------------------------------------------------ limits

    def limits(self, wanted: Sequence[WantedLimit]) -> list[float]:
        """Several limits at once."""
        find_limits([(self, limit) for limit in wanted])
        return [self._limits[limit] for limit in wanted]

    def has_limit(self, limit: WantedLimit) -> bool:
        """Whether a limit has been found."""
        return limit in self._limits

    def keep_limit(self, limit: WantedLimit, value: float) -> None:
        """Keep a limit that has been found."""
        self._limits[limit] = value

    def start_search(self, limit: WantedLimit) -> Generator[list[float], list[float], float]:
        """The search for a limit, which yields places whose p-values it wants."""
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
        loops = compiled_loops()
        if loops is not None and self.table[3] < _MOST_CASES:
            found = loops.find_jumps(
                loops.CONTRASTS[self.contrast],
                self.table,
                before.null,
                before.larger_rate,
                least,
                (to_scale(self.contrast, before.null), to_scale(self.contrast, after.null)),
                alternative == "two-sided",
                _MOST_JUMPS,
                int(before.counts[0]),
                before.low,
                before.high,
                int(after.counts[0]),
                after.low,
                after.high,
                loops.factorials_up_to(1 << self.table[3].bit_length()),
            )
            return [-x if self._must_turn(one) else x for x in found.tolist()]
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
        mine = slice(first - one.counts[0], last - one.counts[0] + 1)
        others = slice(first - other.counts[0], last - other.counts[0] + 1)
        # counts of the larger group as the first region has them, and the other one, of both tails
        here = np.array([one.low[mine], one.high[mine]])
        there = np.array([other.low[others], other.high[others]])
        differs = here != there
        rows = differs.nonzero()[1]
        if not rows.size:
            return []
        chances = binomial_mass(first + rows, n, p)
        likely = chances > least
        rows = rows[likely]
        if not rows.size:
            return []
        here = here[differs][likely]
        there = there[differs][likely]
        of_larger = np.minimum(here, there)[:, None] + np.arange(_MOST_JUMPS)
        chance = chances[likely, None] * binomial_mass(of_larger, self.table[3], q)
        in_one_only = of_larger < np.maximum(here, there)[:, None]
        row, column = ((chance > least) & in_one_only).nonzero()
        return list(
            zip(
                chance[row, column].tolist(),
                (first + rows[row]).tolist(),
                of_larger[row, column].tolist(),
                strict=True,
            )
        )

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

        statistic_of = STATISTICS[self.contrast]

        def gap(x: float) -> float:
            null = from_scale(self.contrast, x)
            z = statistic_of(other, null, False)
            observed = statistic_of(self.table, null, False)
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

    def is_unlimited(self, side: int) -> bool:
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


def ask(questions: Sequence[tuple[ExactTable, float, str]]) -> None:
    """Have the p-values of null values, each with its table and alternative, kept by the tables."""
    lacking: dict[Contrast, dict[tuple[int, float, str], ExactTable]] = {}
    equal: dict[int, ExactTable] = {}
    for table, null, alternative in questions:
        if not table.lacks(null, alternative):
            continue
        if alternative == "two-sided" and null == EQUALITY[table.contrast]:
            equal[id(table)] = table
            continue
        of_contrast = lacking.setdefault(table.contrast, {})
        of_contrast[id(table), null, alternative] = table
    if equal:
        _ask_equality(list(equal.values()))
    for contrast, tables in lacking.items():
        asked = []
        for (_, null, alternative), table in tables.items():
            asked.append(table.question(null, alternative))
        answers = answer(contrast, asked)
        for ((_, null, alternative), table), found in zip(tables.items(), answers, strict=True):
            table.keep(null, alternative, found)


def _ask_equality(tables: Sequence[ExactTable]) -> None:
    """Have the p-values of equal rates kept by tables.

    That two rates are equal is one question, whatever contrast it is put in, whichever group stands
    first, and whether successes or failures are counted. So it is asked as a difference, and of one
    of the forms that a table has.
    """
    forms = []
    for table in tables:
        # a region of the table itself, and the p-value of its one form
        forms += [table.table, _one_form(table.table)]
    answers = _answer_equality(forms)
    for table in tables:
        equality = EQUALITY[table.contrast]
        pvalue = answers[_one_form(table.table)].pvalue
        of_table = replace(answers[table.table], pvalue=pvalue, null=equality)
        table.keep(equality, "two-sided", of_table)


def _answer_equality(tables: Sequence[Table]) -> dict[Table, Answer]:
    """Answers to whether both rates are equal, of tables (k, n, k₀, n₀) as they stand."""
    asked: dict[Table, Question] = {}
    for table in tables:
        k, n, k0, n0 = table
        asked[table] = Question(
            k=k,
            n=n,
            k0=k0,
            n0=n0,
            larger=larger_group(k0, n0),
            null=EQUALITY["difference"],
            alternative="two-sided",
        )
    return dict(zip(asked, answer("difference", list(asked.values())), strict=True))


def _one_form(table: Table) -> Table:
    """Of groups of one size either may count as the larger one, whose rate is the nuisance, and by
    successes another does than by failures: one of the two forms.

    Where one group is larger p is the same by successes and by failures, but for rounding.
    """
    k, n, k0, n0 = table
    if n < n0:
        return table
    fewer = min(k, k0)
    more = max(k, k0)
    return min((fewer, n, more, n), (n - more, n, n - fewer, n))


def find_limits(wanted: Sequence[tuple[ExactTable, WantedLimit]]) -> None:
    """Have limits kept by their tables: all searches go step by step together."""
    asked: list[tuple[ExactTable, float, str]] = []
    searches: dict[int, Generator[list[float], list[float], float]] = {}
    nulls_of_search: dict[int, list[float]] = {}
    for place, (table, limit) in enumerate(wanted):
        if table.has_limit(limit):
            continue
        for null in limit.anchors:
            asked.append((table, null, limit.alternative))
        if table.is_unlimited(limit.side):
            table.keep_limit(limit, end_of(table.contrast, limit.side))
            continue
        searches[place] = table.start_search(limit)
        nulls = list(limit.anchors)
        for x in next(searches[place]):
            nulls.append(from_scale(table.contrast, x))
        nulls_of_search[place] = nulls
    while asked or nulls_of_search:
        for place, nulls in nulls_of_search.items():
            table, limit = wanted[place]
            for null in nulls:
                asked.append((table, null, limit.alternative))
        ask(asked)
        asked = []
        for place, nulls in list(nulls_of_search.items()):
            table, limit = wanted[place]
            pvalues = [table.known_pvalue(null, limit.alternative) for null in nulls]
            try:
                following = searches[place].send(pvalues)
                nulls_of_search[place] = [from_scale(table.contrast, x) for x in following]
            except StopIteration as done:
                del nulls_of_search[place]
                value = end_of(table.contrast, limit.side)
                if abs(done.value) < SPAN:
                    value = from_scale(table.contrast, done.value)
                table.keep_limit(limit, value)


def _spread_towards_ends(points: int, *, low: NDArray[np.bool_], high: NDArray[np.bool_]) -> Floats:
    """Places from 0 to 1 as close to each end that is asked for as a square root needs.

    Of rows (R, 1).
    """
    return _spreads(points)[(low + 2 * high)[:, 0]]


@functools.lru_cache(maxsize=16)
def _spreads(points: int) -> Floats:
    """Places from 0 to 1: even ones, closer to 0, to 1, and to both; shape (4, points)."""
    even_shares = np.linspace(0.0, 1.0, points)
    sine = np.sin(even_shares * pi / 2)
    return np.stack([even_shares, 1.0 - sine[::-1], sine, sine**2])
