"""Exact unconditional tests of two rates, and the limits that they exclude.

The one procedure, for a ratio, a difference or an odds ratio of k/n and k₀/n₀:

1. Tables are ordered by the score statistic of the null value (Chan 1998), ties included.
2. The p-value is the largest probability of a table as extreme as the observed one, over the rate
   of the larger group within its Clopper–Pearson interval of level 1 − γ, plus γ (Berger & Boos
   1994); γ = 10⁻⁷.
3. Limits are where the test begins to reject: one-sided limits of the one-sided tests; of the
   two-sided test, which orders tables by |z|, a two-sided interval (Agresti & Min 2001).

Step 2 is valid in the whole composite hypothesis, not on its boundary alone: where the true
contrast lies beyond the null value there is a point of the boundary with the larger group's true
rate (or at the end of the boundary, where the other rate is 0 or 1), and the statistic rises in k
and falls in k₀, so that extreme tables are likelier there.

Without step 2's interval the procedure would be `scipy.stats.barnard_exact`; with it a peak of the
probability at a rate that the data exclude counts for nothing, as for 0 of 3 beside 380 of 400:
.0023 instead of .0063.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrc

from fairstats.ground.checks import Floats
from fairstats.numerics.rates.binomial import beta_limits
from fairstats.numerics.rates.exact_table import ExactTable, ask, find_limits
from fairstats.numerics.rates.nuisance import GAMMA
from fairstats.numerics.rates.score import Contrast, rates_with_difference
from fairstats.numerics.rates.search import WantedLimit

#: Answers that are kept: many small groups beside one reference make few different tables.
KEPT = 1 << 12
#: Tables that are prepared at a time, and tables whose p-values are kept.
AT_ONCE = 64
_KEPT_TABLES = 2 * AT_ONCE
#: Share of a bound that p-values surely reach: of a case or two, p is interpolated between nuisance
#: rates with an error of up to 3e-4 of it.
_SURELY = 0.9


@dataclass(frozen=True)
class ExactEvidence:
    """Exact p-values of one table.

    Attributes
    ----------
    below, above : float
        p-values of H0: contrast ≥ low, and of H0: contrast ≤ high.
    above_low, below_high : float
        p-values of H0: contrast ≤ low, and of H0: contrast ≥ high: the two one-sided tests of
        equivalence.
    equality : float
        Two-sided p-value of H0: contrast = equal.
    """

    below: float
    above: float
    above_low: float
    below_high: float
    equality: float

    @property
    def inside(self) -> float:
        """The p-value of H0: the contrast lies outside the fair range, the larger one of the two
        one-sided tests.
        """
        return max(self.above_low, self.below_high)

    @classmethod
    def of(cls, exact: ExactTable, low: float, high: float, equal: float) -> ExactEvidence:
        """All p-values of one table at once."""
        nulls, alternatives = zip(*pvalues_of_evidence(low, high, equal), strict=True)
        below, above, above_low, below_high, equality = exact.pvalues(nulls, alternatives)
        return cls(
            below=below,
            above=above,
            above_low=above_low,
            below_high=below_high,
            equality=equality,
        )


@dataclass(frozen=True)
class ExactRow:
    """Everything that one row of a comparison says by exact tests.

    Attributes
    ----------
    evidence : ExactEvidence
        p-values.
    bounds : tuple of float
        One-sided limits, each at the level of the verdict: a limit lies beyond an end of the fair
        range exactly where the p-value of that end is at least 1 − level.
    interval : tuple of float
        Two-sided interval: it excludes equality exactly where the p-value of equality is below 1 −
        level.
    """

    evidence: ExactEvidence
    bounds: tuple[float, float]
    interval: tuple[float, float]


@dataclass(frozen=True)
class Asked:
    """What will be asked about one table.

    Attributes
    ----------
    table : tuple of int
        k, n, k₀, n₀.
    contrast : {"ratio", "difference", "odds_ratio"}
    pvalues : tuple of (float, str)
        Null values with their alternatives.
    limits : tuple of WantedLimit
    """

    table: tuple[int, int, int, int]
    contrast: Contrast
    pvalues: tuple[tuple[float, str], ...] = ()
    limits: tuple[WantedLimit, ...] = ()


def prepare(asked: Sequence[Asked]) -> None:
    """Compute what will be asked about several tables together, at most `AT_ONCE` of them.

    The functions below then find it. The same operations on arrays answer for all tables, so that a
    table costs a half or a third of what it does alone.
    """
    limits = []
    pvalues = []
    for of_table in asked:
        exact = exact_table(of_table.table, of_table.contrast)
        for limit in of_table.limits:
            limits.append((exact, limit))
        for null, alternative in of_table.pvalues:
            pvalues.append((exact, null, alternative))
    find_limits(limits)
    ask(pvalues)


def least_pvalues(
    tables: Floats,
    null: float | Floats,
    *,
    upwards: NDArray[np.bool_],
) -> Floats:
    """What exact p-values of a difference are at least, of many tables; shape (E,).

    Tables with more successes in one group and fewer in the other are at least as extreme as the
    observed one, so that at any nuisance rate within its interval

        p ≥ γ + P(K ≥ k)·P(K₀ ≤ k₀),      or with ≤ and ≥ where the estimate lies below the null value.

    Parameters
    ----------
    tables : ndarray, shape (E, 4)
        k, n, k₀, n₀.
    null : float or ndarray, shape (E,)
        Null values.
    upwards : ndarray of bool, shape (E,)
        Whether tables with larger differences are extreme: the alternative "greater", or
        "two-sided" where the estimate lies above the null value.
    """
    k, n, k0, n0 = np.asarray(tables, dtype=np.float64).T
    null = np.broadcast_to(np.asarray(null, dtype=np.float64), k.shape)
    rate, reference_rate = rates_with_difference(k / n, k0 / n0, n0 / n, null)
    # the nuisance rate is that of the larger group, of equal ones of that with more successes
    larger_first = (n > n0) | ((n == n0) & (k > k0))
    low, high = beta_limits(np.where(larger_first, k, k0), np.where(larger_first, n, n0), GAMMA / 2)
    nuisance = np.clip(np.where(larger_first, rate, reference_rate), low, high)
    # where the null hypothesis allows none of that interval, its end is tested
    signed_null = np.where(larger_first, -null, null)
    nuisance = np.clip(nuisance, np.maximum(-signed_null, 0.0), np.minimum(1.0 - signed_null, 1.0))
    rate = np.clip(np.where(larger_first, nuisance, nuisance + null), 0.0, 1.0)
    reference_rate = np.clip(np.where(larger_first, nuisance - null, nuisance), 0.0, 1.0)
    cases = n.astype(np.int64)
    reference_cases = n0.astype(np.int64)
    at_least = np.where(k > 0, bdtrc(np.maximum(k - 1, 0.0), cases, rate), 1.0)
    at_least0 = np.where(
        k0 > 0, bdtrc(np.maximum(k0 - 1, 0.0), reference_cases, reference_rate), 1.0
    )
    corner = np.where(
        upwards,
        at_least * bdtr(k0, reference_cases, reference_rate),
        bdtr(k, cases, rate) * at_least0,
    )
    return np.asarray(GAMMA + _SURELY * corner)


def pvalues_of_evidence(low: float, high: float, equal: float) -> tuple[tuple[float, str], ...]:
    """Null values and alternatives of `ExactEvidence`, in its order."""
    return (
        (low, "less"),
        (high, "greater"),
        (low, "greater"),
        (high, "less"),
        (equal, "two-sided"),
    )


def one_sided_limits(level: float, anchors: tuple[float, ...]) -> tuple[WantedLimit, WantedLimit]:
    """The two limits of `exact_limits`."""
    error = 1 - level
    return (
        WantedLimit(side=-1, error=error, alternative="greater", anchors=anchors),
        WantedLimit(side=1, error=error, alternative="less", anchors=anchors),
    )


def two_sided_limits(confidence_level: float, equal: float) -> tuple[WantedLimit, WantedLimit]:
    """The two limits of `exact_interval`."""
    error = 1 - confidence_level
    return (
        WantedLimit(side=-1, error=error, alternative="two-sided", anchors=(equal,)),
        WantedLimit(side=1, error=error, alternative="two-sided", anchors=(equal,)),
    )


@functools.lru_cache(maxsize=_KEPT_TABLES)
def exact_table(table: tuple[int, int, int, int], contrast: Contrast) -> ExactTable:
    """The exact tests of a table (k, n, k₀, n₀), kept for the next question about it."""
    return ExactTable(table, contrast)


@functools.lru_cache(maxsize=KEPT)
def exact_evidence(
    k: int,
    n: int,
    k0: int,
    n0: int,
    *,
    contrast: Contrast,
    low: float,
    high: float,
    equal: float,
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
    return ExactEvidence.of(exact_table((k, n, k0, n0), contrast), low, high, equal)


def exact_pvalue(
    k: int,
    n: int,
    k0: int,
    n0: int,
    *,
    contrast: Contrast,
    null: float,
    alternative: str,
) -> float:
    """p-value of H0: contrast ≥ null ("less"), ≤ null ("greater") or = null ("two-sided")."""
    return exact_table((k, n, k0, n0), contrast).pvalues([null], [alternative])[0]


@functools.lru_cache(maxsize=KEPT)
def exact_limits(
    k: int,
    n: int,
    k0: int,
    n0: int,
    *,
    contrast: Contrast,
    level: float,
    anchors: tuple[float, ...] = (),
) -> tuple[float, float]:
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
        The values that the one-sided tests begin to reject, to 2⁻¹⁵ on the scale of the logarithm,
        or of 2 atanh.
    """
    exact = exact_table((k, n, k0, n0), contrast)
    low, high = exact.limits(one_sided_limits(level, anchors))
    return low, high


@functools.lru_cache(maxsize=KEPT)
def exact_interval(
    k: int,
    n: int,
    k0: int,
    n0: int,
    *,
    contrast: Contrast,
    confidence_level: float,
    equal: float,
) -> tuple[float, float]:
    """Two-sided interval: the values that the two-sided test does not reject, around the estimate.

    Of equality it says what the test says (`equal`: 1 or 0).
    """
    exact = exact_table((k, n, k0, n0), contrast)
    low, high = exact.limits(two_sided_limits(confidence_level, equal))
    return low, high


@dataclass(frozen=True)
class RowAsked:
    """A row that exact tests are asked for: the parameters of `exact_row`."""

    table: tuple[int, int, int, int]
    contrast: Contrast
    low: float
    high: float
    equal: float
    bound_level: float
    confidence_level: float

    @property
    def limits(self) -> tuple[WantedLimit, ...]:
        """Its limits; their anchors are all that its evidence asks."""
        return (
            *one_sided_limits(self.bound_level, (self.low, self.high)),
            *two_sided_limits(self.confidence_level, self.equal),
        )


#: Rows that have been computed, so that counts that repeat are computed once.
_rows: dict[RowAsked, ExactRow] = {}


def forget_rows() -> None:
    """Forget all rows and tables, as a benchmark has to."""
    _rows.clear()
    exact_table.cache_clear()


def exact_rows(asked: Sequence[RowAsked]) -> list[ExactRow]:
    """Rows of several tables, which are computed together."""
    found: dict[RowAsked, ExactRow] = {}
    lacking = []
    for row in dict.fromkeys(asked):
        known = _rows.get(row)
        if known is None:
            lacking.append(row)
        else:
            found[row] = known
    for start in range(0, len(lacking), AT_ONCE):
        block = lacking[start : start + AT_ONCE]
        prepare([Asked(row.table, row.contrast, limits=row.limits) for row in block])
        for row in block:
            exact = exact_table(row.table, row.contrast)
            bound_low, bound_high, interval_low, interval_high = exact.limits(row.limits)
            found[row] = ExactRow(
                evidence=ExactEvidence.of(exact, row.low, row.high, row.equal),
                bounds=(bound_low, bound_high),
                interval=(interval_low, interval_high),
            )
            if len(_rows) >= KEPT:
                _rows.clear()
            _rows[row] = found[row]
    return [found[row] for row in asked]


def exact_row(
    k: int,
    n: int,
    k0: int,
    n0: int,
    *,
    contrast: Contrast,
    low: float,
    high: float,
    equal: float,
    bound_level: float,
    confidence_level: float,
) -> ExactRow:
    """p-values, one-sided limits at `bound_level` and the two-sided interval at `confidence_level`,
    all at once.

    The parameters are those of `exact_evidence` and `exact_limits`; no two parts of the row
    contradict each other.

    Examples
    --------
    >>> from fairstats.numerics.rates.exact import exact_row
    >>> row = exact_row(3, 12, 80, 150, contrast="ratio", low=0.8, high=1.25, equal=1.0, bound_level=0.95,
    ...     confidence_level=0.95)
    >>> print(f"{row.evidence.below:.4f} {row.bounds[1]:.3f} {row.interval[0]:.3f} {row.interval[1]:.3f}")
    0.1233 0.949 0.153 1.024
    """
    (row,) = exact_rows(
        [
            RowAsked(
                table=(k, n, k0, n0),
                contrast=contrast,
                low=low,
                high=high,
                equal=equal,
                bound_level=bound_level,
                confidence_level=confidence_level,
            )
        ]
    )
    return row
