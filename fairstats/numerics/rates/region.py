"""Which tables of a whole design exact tests show: regions of counts, found along lines on which p
rises.

With k of n and k₀ of n₀ the region is {(k, k₀) : p(k, k₀) ≤ error}, p the exact p-value of `exact`.
The exact test takes the nuisance rate from an interval about the count of the larger group
(`exact_table`). So where that count is fixed, all tables have the same nuisance rates, their
rejection regions are nested in the order of the score statistic, and the p-value rises with it: on
each such line the tables that are shown are the first ones, and their number is found by halves.
Between tables of different lines p need not rise with the statistic (15 beside 30: in that order
.2504 for a power of .3426), and so no order of all tables is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.verdict import with_the_other_direction
from fairstats.numerics.rates.exact import exact_table
from fairstats.numerics.rates.exact_table import ExactTable
from fairstats.numerics.rates.score import ratio_score_statistic

#: Tables on either side of the end of a line that are asked one by one: the width of the fair range
#: in standard errors differs from table to table, so that the evidence with both directions may
#: fall by a hair where p rises.
NEAR = 2


def first_true(
    true: Callable[[NDArray[np.int64]], NDArray[np.bool_]], rows: int, last: int
) -> NDArray[np.int64]:
    """For each row the first count from 0 to `last` at which `true` begins to hold, last + 1 for
    nowhere.
    """
    low = np.zeros(rows, dtype=np.int64)
    high = np.full(rows, last + 1, dtype=np.int64)
    for _ in range((last + 1).bit_length()):
        middle = (low + high) // 2
        holds = true(np.minimum(middle, last)) | (middle > last)
        low = np.where(holds, low, np.minimum(middle + 1, high))
        high = np.where(holds, middle, high)
    return high


def exactly_shown(
    k: NDArray[np.int64],
    n: int,
    j: NDArray[np.int64],
    m: int,
    *,
    null: float,
    other: float,
    side: Literal["less", "greater"],
    error: float,
    asked: NDArray[np.bool_],
    violation: bool = False,
) -> NDArray[np.bool_]:
    """Whether exact tests show a ratio below ("less") or above ("greater") an end of the fair
    range, by table.

    Parameters
    ----------
    k, j : ndarray of int, shapes (K,) and (J,)
        Successive counts of the group, of n cases, and of the reference, of m.
    n, m : int
        Cases of both.
    null, other : float
        The end of the fair range, and the opposite one.
    side : {"less", "greater"}
        Where the ratio is shown to lie.
    error : float
        Largest p-value, with both directions counted (`with_the_other_direction`), of a table that
        is shown.
    asked : ndarray of bool, shape (K, J)
        Tables that matter: judged by exact tests, and not all but impossible.
    violation : bool, default False
        Whether what is shown is to lie outside the fair range: then it lies beyond the opposite end
        too, and differs (`beside_equality`).

    Returns
    -------
    ndarray of bool, shape (K, J)
        False where a table was not asked for.
    """
    group, reference = np.meshgrid(k, j, indexing="ij")
    width = np.abs(
        ratio_score_statistic(group, n, reference, m, null)
        - ratio_score_statistic(group, n, reference, m, other)
    )
    shown = np.zeros(asked.shape, dtype=bool)
    number_of_line_before = 0
    for rows, columns, group_is_smaller in _list_lines(k, n, j, m, null, side):
        wanted = asked[rows, columns]
        rows = rows[wanted]
        columns = columns[wanted]
        if not rows.size:
            continue
        # of the counts on a line the one that differs is that of the smaller group
        line = exact_table((int(k[rows[0]]), n, int(j[columns[0]]), m), "ratio")
        of_smaller = k[rows] if group_is_smaller else j[columns]

        def shows(
            places: NDArray[np.int64],
            line: ExactTable = line,
            of_smaller: NDArray[np.int64] = of_smaller,
            widths: NDArray[np.float64] = width[rows, columns],
        ) -> NDArray[np.bool_]:
            counts = of_smaller[places].tolist()
            pvalues = np.array(line.pvalues_of_line(counts, null, side))
            equality = np.zeros(pvalues.size)
            if violation:
                equality = np.array(line.pvalues_of_line(counts, 1.0, "two-sided"))
                if null == other:
                    return equality <= error
                beyond_both = np.array(line.pvalues_of_line(counts, other, side))
                pvalues = np.maximum(pvalues, beyond_both)
            evidence = []
            for pvalue, of_table in zip(pvalues.tolist(), widths[places].tolist(), strict=True):
                evidence.append(with_the_other_direction(pvalue, of_table))
            return np.maximum(evidence, equality) <= error

        leading = _find_leading(shows, rows.size, number_of_line_before)
        shown[rows, columns] = leading
        number_of_line_before = int(leading.sum())
    return shown


def _list_lines(
    k: NDArray[np.int64],
    n: int,
    j: NDArray[np.int64],
    m: int,
    null: float,
    side: str,
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], bool]]:
    """Tables with one count of the larger group, as places in k and j, those that show most first.

    With them, whether the group is the smaller one.

    Of two groups of one size the one with more successes counts as the larger, of two alike tables
    the one that the null says to have the larger rate, as in `ExactTable`.
    """
    rows = np.arange(k.size)
    columns = np.arange(j.size)
    if side == "greater":
        rows = rows[::-1]
    else:
        columns = columns[::-1]
    group, reference = np.meshgrid(k, j, indexing="ij")
    if n == m:
        group_is_larger = (group > reference) | ((group == reference) & (null < 1))
    else:
        group_is_larger = np.full(group.shape, n > m)
    for column in range(j.size):
        of_line = rows[~group_is_larger[rows, column]]
        yield of_line, np.full(of_line.size, column), True
    for row in range(k.size):
        of_line = columns[group_is_larger[row, columns]]
        yield np.full(of_line.size, row), of_line, False


def _find_leading(
    shows: Callable[[NDArray[np.int64]], NDArray[np.bool_]], size: int, guess: int
) -> NDArray[np.bool_]:
    """Which of `size` tables are shown, about the first ones; `guess`: how many, as of the line
    before.

    Blocks of neighbours are asked at once, `NEAR` on either side of where the end is expected; the
    end lies between two of them, or farther on by steps that double, then halve.
    """
    answers: dict[int, bool] = {}

    def ask(middle: int) -> None:
        neighbours = range(max(middle - NEAR, 0), min(middle + NEAR, size))
        places = []
        for place in neighbours:
            if place not in answers:
                places.append(place)
        if places:
            answers.update(zip(places, shows(np.array(places)).tolist(), strict=True))

    low = -1
    high = size
    middle = min(max(guess, 1), size - 1) if size > 1 else 0
    step = 2 * NEAR
    while high - low > 1:
        ask(middle)
        places_asked = sorted(place for place in answers if low < place < high)
        if not places_asked:
            break
        for place in places_asked:
            if not answers[place]:
                high = place
                break
            low = place
        if high - low <= 1:
            break
        if high == size:
            middle = min(low + step, size - 1)
        elif low == -1:
            middle = max(high - step, 0)
        else:
            middle = (low + high) // 2
        step *= 2
    ask(high)
    leading = np.arange(size) < high
    for place, shown in answers.items():
        if abs(place - high) <= NEAR:
            leading[place] = shown
    return leading
