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
from dataclasses import dataclass

from fairstats.numerics.rates.exact_table import ExactTable
from fairstats.numerics.rates.score import Contrast
from fairstats.numerics.rates.search import WantedLimit

#: Answers that are kept: many small groups beside one reference make few different tables.
KEPT = 1 << 12


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
        below, above, above_low, below_high, equality = exact.pvalues(
            [low, high, low, high, equal], ["less", "greater", "greater", "less", "two-sided"]
        )
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


@functools.lru_cache(maxsize=128)
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
    low, high = exact.limits(
        [
            WantedLimit(side=-1, error=1 - level, alternative="greater", anchors=anchors),
            WantedLimit(side=1, error=1 - level, alternative="less", anchors=anchors),
        ]
    )
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
    low, high = exact.limits(
        [
            WantedLimit(
                side=-1, error=1 - confidence_level, alternative="two-sided", anchors=(equal,)
            ),
            WantedLimit(
                side=1, error=1 - confidence_level, alternative="two-sided", anchors=(equal,)
            ),
        ]
    )
    return low, high


@functools.lru_cache(maxsize=KEPT)
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
    exact = exact_table((k, n, k0, n0), contrast)
    verdict_error = 1 - bound_level
    interval_error = 1 - confidence_level
    bound_low, bound_high, interval_low, interval_high = exact.limits(
        [
            WantedLimit(side=-1, error=verdict_error, alternative="greater", anchors=(low, high)),
            WantedLimit(side=1, error=verdict_error, alternative="less", anchors=(low, high)),
            WantedLimit(side=-1, error=interval_error, alternative="two-sided", anchors=(equal,)),
            WantedLimit(side=1, error=interval_error, alternative="two-sided", anchors=(equal,)),
        ]
    )
    # the anchors of the limits are all that the evidence asks: their p-values are there
    evidence = ExactEvidence.of(exact, low, high, equal)
    return ExactRow(
        evidence=evidence,
        bounds=(bound_low, bound_high),
        interval=(interval_low, interval_high),
    )
