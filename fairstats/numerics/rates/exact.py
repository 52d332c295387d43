"""Exact tests of two rates, with tables ordered by the score statistic, and limits by their inversion.

p-values are the largest over the nuisance rate (Chan 1998); for a ratio of 1 or a difference of 0 that of
`scipy.stats.barnard_exact` with pooled variance.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from math import atanh, ceil, exp, floor, inf, log, tanh
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrc, gammaln, ndtr, ndtri

from fairstats.ground.checks import Floats
from fairstats.numerics.rates import score
from fairstats.numerics.rates.score import Contrast

#: Points of the first grid of nuisance rates, besides one per standard error; of each refinement.
_FIRST, _REFINED = 160, (24, 24, 24)
#: Limits by exact tests are sought on its multiples: steps of log θ, or of 2 atanh of a difference.
_STEP = 2.0**-14
#: Local maxima of the first grid that are refined, and how high they are beside the highest: between two
#: points of the grid the value cannot rise by more than an eighth.
_PEAKS, _HIGH = 3, 0.8
#: The binomial distribution is summed where its range is less than so many times the counts asked for.
_FULL_SUMS = 16
#: Runs of tables of less than this probability do not count.
_RARE = 1e-12


@functools.lru_cache(maxsize=score.KEPT)
def exact_unconditional_pvalue(
    k0: int, n0: int, k1: int, n1: int, *, contrast: Contrast = "ratio", null: float = 1.0,
    alternative: str = "two-sided",
) -> tuple[float, float]:  # fmt: skip
    """Exact unconditional test of H0: contrast = null: score statistic of the table, and p-value.

    `k0`, `n0`, `k1`, `n1`: successes and cases of group and reference; `null`: > 0 for a ratio, in (−1, 1) for a
    difference; `alternative`, {"less", "greater", "two-sided"}: "less": tables with a statistic as small as the
    observed one count as extreme. The p-value is the largest probability of an equally extreme table over the nuisance
    rate (on a grid, equally spaced in arcsine √p, that is refined three times around its three highest local maxima).

    Examples
    --------
    >>> from fairstats.numerics.rates.exact import exact_unconditional_pvalue
    >>> statistic, pvalue = exact_unconditional_pvalue(1, 10, 7, 10, alternative="less")
    >>> print(f"{pvalue:.5f}")
    0.00398
    """
    test = score.ratio_score_statistic if contrast == "ratio" else score.difference_score_statistic
    observed = float(test(k0, n0, k1, n1, null, correction=False))
    slack = 1e-9 * max(1.0, abs(observed)) if np.isfinite(observed) else 0.0
    few, many = min(n0, n1), max(n0, n1)
    k = np.arange(few + 1)

    def below(bound: float) -> NDArray[np.int64]:
        """For each count of the smaller group: where among those of the larger one z ≤ bound begins, or ends.

        z rises in k₀ and falls in k₁, so that the tables lie on one side.
        """
        if n0 <= n1:
            return first_true(lambda j: test(k, n0, j, n1, null, correction=False) <= bound, k.size, many)
        return first_true(lambda j: test(j, n0, k, n1, null, correction=False) > bound, k.size, many)

    # runs of extreme counts of the larger group, from 0 up or from all down: sizes per count of the smaller one
    low, high = (-abs(observed), abs(observed)) if alternative == "two-sided" else (observed, observed)
    runs: list[tuple[NDArray[np.int64], bool]] = []
    if alternative != "greater":
        start = below(low + slack)
        runs.append((many + 1 - start, False) if n0 <= n1 else (start, True))
    if alternative != "less":
        start = below(float(np.nextafter(high - slack, -np.inf)))
        runs.append((start, True) if n0 <= n1 else (many + 1 - start, False))
    if alternative == "two-sided" and observed == 0:
        runs = [(np.array([many + 1]), True)]

    def probability(grid: Floats) -> Floats:
        rate0 = np.clip(grid * null if contrast == "ratio" else grid + null, 0.0, 1.0)
        of_few, of_many = (rate0, grid) if n0 <= n1 else (grid, rate0)
        extreme = sum(_outermost(size, many, of_many, up=up) for size, up in runs)
        return np.asarray(np.sum(_binomial_pmf(few, of_few) * extreme, axis=1))

    low, high = max(0.0, -null), min(1.0, 1.0 - null)
    if contrast == "ratio":
        low, high = 0.0, min(1.0, 1.0 / null)
    return observed, min(_largest(probability, low, high, many), 1.0)


def first_true(true: Callable[[NDArray[np.int64]], NDArray[np.bool_]], rows: int, last: int) -> NDArray[np.int64]:
    """For each row the first count from 0 to `last` at which `true` begins to hold, last + 1 for nowhere."""
    low, high = np.zeros(rows, dtype=np.int64), np.full(rows, last + 1, dtype=np.int64)
    for _ in range((last + 1).bit_length()):
        middle = (low + high) // 2
        holds = true(np.minimum(middle, last)) | (middle > last)
        low, high = np.where(holds, low, np.minimum(middle + 1, high)), np.where(holds, middle, high)
    return high


def exactly_shown(
    tables: tuple[NDArray[Any], int, NDArray[Any], int], chance: Floats, z: Floats, width: Floats, null: float,
    side: str, error: float,
) -> NDArray[np.bool_]:  # fmt: skip
    """Whether exact tests on a side of an end of the fair range show it left, or kept, per table.

    `z`: the statistic, low where they do. With the other direction (`z_evidence`) p + Φ(Φ⁻¹(p) − width) is at most the
    error where p is at most a limit of the table. Along the tables ordered by `z` p rises, so that runs are halved
    until a p before them or that of their last table settles them, or their `chance` is too small to count.
    """
    k, n, j, m = tables
    order = np.argsort(z, kind="stable")
    limit, most = np.full(order.size, error / 2), np.full(order.size, error)
    for _ in range(50):
        middle = (limit + most) / 2
        fine = middle + ndtr(ndtri(middle) - width[order]) <= error
        limit, most = np.where(fine, middle, limit), np.where(fine, most, middle)
    shown, known = np.zeros(order.size, dtype=bool), dict[int, float]()
    runs = [(0, order.size)] if order.size else []
    while runs:
        first, end = runs.pop()
        own, last = limit[first:end], end - 1
        before = max((p for at, p in known.items() if at < first), default=0.0)
        if before > own.max() or chance[order[first:end]].sum() < _RARE:
            continue
        if last not in known:
            table = int(k[order[last]]), n, int(j[order[last]]), m
            known[last] = exact_unconditional_pvalue(*table, null=null, alternative=side)[1]
        if known[last] <= own.min():
            shown[order[first:end]] = True
        elif last > first:
            runs += [((first + end) // 2, end), (first, (first + end) // 2)]
    return shown


@dataclass(frozen=True)
class ExactTest:
    """Exact unconditional tests of one table as p-values of both sides, and limits by their inversion."""

    table: tuple[int, int, int, int]
    contrast: Contrast

    def pvalue(self, null: float, alternative: str) -> float:
        """Of H0: contrast ≥ null ("less") or ≤ null ("greater")."""
        least, most = (0.0, inf) if self.contrast == "ratio" else (-1.0, 1.0)
        if not least < null < most:
            return 1.0
        how: dict[str, Any] = {"contrast": self.contrast, "null": null, "alternative": alternative}
        return exact_unconditional_pvalue(*self.table, **how)[1]

    def limit(self, level: float, alternative: str, ends: tuple[float, float], start: float) -> float:
        """The limit that excludes what the one-sided test rejects at 1 − `level`: upper for "less".

        `ends`: of the fair range, on the same side of which the limit lies as the p-values there say;
        `start`: where it is about, the score limit.
        """
        side, ratio = (1.0 if alternative == "less" else -1.0), self.contrast == "ratio"
        to, back = (log, exp) if ratio else (_logit, _expit)
        k0, n0, k1, n1 = self.table
        if side > 0 and (k1 if ratio else k1 + n0 - k0) == 0:
            return inf if ratio else 1.0
        if side < 0 and (k0 if ratio else k0 + n1 - k1) == 0:
            return 0.0 if ratio else -1.0

        def excess(x: float) -> float:
            return self.pvalue(back(x), alternative) - (1 - level)

        # rejected values lie beyond the limit
        at = {to(end): excess(to(end)) for end in ends}
        inner = max((x for x, e in at.items() if e >= 0), key=lambda x: side * x, default=None)
        outer = min((x for x, e in at.items() if e < 0), key=lambda x: side * x, default=None)
        x, step = to(min(max(start, 1e-12), 1e12) if ratio else start), 0.05
        if inner is None:
            inner = min(side * x, side * outer - 1e-9 if outer is not None else side * x) * side
            while excess(inner) < 0:
                inner, step = inner - side * step, 2 * step
        if outer is None:
            outer, step = max(side * x, side * inner + 1e-9) * side, 0.05
            while excess(outer) >= 0:
                outer, step = outer + side * step, 2 * step
                if abs(outer) > score.LOG_SPAN:
                    return back(side * score.LOG_SPAN)
        # By halves over multiples of a fixed step: where p jumps back and forth over the level, a root
        # depends on the last digits of where the search began; this does not.
        while (first := floor(min(inner, outer) / _STEP) + 1) <= (last := ceil(max(inner, outer) / _STEP) - 1):
            middle = (first + last) // 2 * _STEP
            inner, outer = (middle, outer) if excess(middle) >= 0 else (inner, middle)
        return back((inner + outer) / 2)


def _logit(difference: float) -> float:
    return 2 * atanh(min(max(difference, -1 + 1e-15), 1 - 1e-15))


def _expit(x: float) -> float:
    return tanh(x / 2)


def _largest(probability: Callable[[Floats], Floats], low: float, high: float, n: int) -> float:
    """Largest value on [low, high]; peaks near the ends are as narrow as 1/n."""
    size = _FIRST + int(np.pi * np.sqrt(n))
    grid = low + (high - low) * np.sin(np.linspace(0.0, np.pi / 2, size)) ** 2
    value = probability(grid)
    padded = np.concatenate([[-1.0], value, [-1.0]])
    peaks = np.flatnonzero((value >= padded[:-2]) & (value >= padded[2:]))
    best = float(value.max())
    top = peaks[np.argsort(-value[peaks], kind="stable")[:_PEAKS]]
    top = top[value[top] >= _HIGH * best]
    left, right = grid[np.maximum(top - 1, 0)], grid[np.minimum(top + 1, size - 1)]
    for points in _REFINED:
        finer = np.linspace(left, right, points, axis=1)
        values = probability(finer.ravel()).reshape(finer.shape)
        best = max(best, float(values.max()))
        at, rows = np.argmax(values, axis=1), np.arange(len(finer))
        left, right = finer[rows, np.maximum(at - 1, 0)], finer[rows, np.minimum(at + 1, points - 1)]
    return best


def _outermost(size: NDArray[np.int64], n: int, rate: Floats, *, up: bool) -> Floats:
    """Binomial probability of so many counts from 0 up, or from n down, shape (rates, sizes).

    Summed from that end of the range, so that small probabilities keep their digits.
    """
    if n < _FULL_SUMS * size.size:
        each = _binomial_pmf(n, rate)
        sums = np.zeros((rate.size, n + 2))
        np.cumsum(each if up else each[:, ::-1], axis=1, out=sums[:, 1:])
        return np.minimum(sums, 1.0)[:, size]
    last = np.maximum(size - 1.0, 0.0)
    tail = bdtr(last, n, rate[:, None]) if up else bdtrc(n - last - 1, n, rate[:, None])
    return np.where(size < 1, 0.0, np.asarray(tail, dtype=np.float64))


def _binomial_pmf(n: int, rate: Floats) -> Floats:
    """Binomial probabilities, shape (rates, n+1)."""
    inner = np.clip(rate, 1e-300, 1 - 1e-16)  # at 0 and 1 all lies in one count
    rest = np.log1p(-inner)
    logs: Floats = np.multiply.outer(np.log(inner) - rest, np.arange(n + 1))
    logs += _log_choose(n)
    logs += (n * rest)[:, None]
    return np.exp(logs, out=logs)


@functools.lru_cache(maxsize=score.KEPT)
def _log_choose(n: int) -> Floats:
    """Logarithms of the binomial coefficients, shape (n+1,)."""
    k = np.arange(n + 1)
    logs: Floats = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return logs


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
        the p-value of that end is below 1 − level.
    interval : tuple of float
        Two-sided interval: it excludes equality exactly where the p-value of equality is below 1 − level.
    """

    evidence: ExactEvidence
    bounds: tuple[float, float]
    interval: tuple[float, float]


def exact_evidence(
    k: int, n: int, k0: int, n0: int, *, contrast: Contrast, low: float, high: float, equal: float
) -> ExactEvidence:
    """p-values of the group's k of n beside the reference's k0 of n0."""
    test = ExactTest((k, n, k0, n0), contrast)
    return ExactEvidence(
        below=test.pvalue(low, "less"),
        above=test.pvalue(high, "greater"),
        inside=max(test.pvalue(low, "greater"), test.pvalue(high, "less")),
        equality=test.pvalue(equal, "two-sided"),
    )


def exact_limits(
    k: int, n: int, k0: int, n0: int, *, contrast: Contrast, level: float, anchors: tuple[float, ...] = ()
) -> tuple[float, float]:
    """One-sided limits, each at `level`.

    `anchors`: values that a limit lies beyond exactly where their own p-value is below 1 − level.
    """
    test = ExactTest((k, n, k0, n0), contrast)
    start = 1.0 if contrast == "ratio" else 0.0
    ends = anchors or (start,)
    return test.limit(level, "greater", ends, start), test.limit(level, "less", ends, start)


def exact_interval(
    k: int, n: int, k0: int, n0: int, *, contrast: Contrast, confidence_level: float, equal: float
) -> tuple[float, float]:
    """Two-sided interval by inversion of the two-sided test."""
    return exact_limits(k, n, k0, n0, contrast=contrast, level=(1 + confidence_level) / 2, anchors=(equal,))


def exact_row(
    k: int, n: int, k0: int, n0: int, *, contrast: Contrast, low: float, high: float, equal: float,
    bound_level: float, confidence_level: float,
) -> ExactRow:  # fmt: skip
    """p-values, one-sided limits at `bound_level` and the two-sided interval of one table."""
    table = (k, n, k0, n0)
    return ExactRow(
        evidence=exact_evidence(*table, contrast=contrast, low=low, high=high, equal=equal),
        bounds=exact_limits(*table, contrast=contrast, level=bound_level, anchors=(low, high)),
        interval=exact_interval(*table, contrast=contrast, confidence_level=confidence_level, equal=equal),
    )
