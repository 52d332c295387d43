"""When two rates are compared by exact tests rather than by the score.

With r = (k + k₀)/(n + n₀) the pooled rate and ε the error of the decision, exactly where

    min(n, n₀)·min(r, 1 − r) < 125·(.05/ε)^.68·max(½, |n − n₀|/(n + n₀)).

The score statistic of few cases is skew, and the skewness of both groups cancels where they are of
one size. No source has the constants: they are from enumeration (`needs_exact`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairstats.ground.checks import Floats

#: Expected successes or failures that the score needs at an error of .05 beside a far larger
#: reference.
LEAST_EXPECTED = 125.0
#: Growth of that number with the family: 20 groups need 7.7 times as many as one does.
GROWTH = 0.68
#: Share of that number that groups of one size need, whose skewness cancels.
BALANCED = 0.5


def smallest_expected(k: Any, n: Any, k0: Any, n0: Any) -> Floats:
    """Fewest successes or failures that a group has on average at the pooled rate, of tables of
    counts.

    Never the observed cell: many failures in it *are* the evidence.
    """
    pooled = (np.asarray(k) + k0) / (n + n0)
    return np.asarray(np.minimum(n, n0) * np.minimum(pooled, 1 - pooled))


def needed_cases(n: Any, n0: Any, level: float) -> Any:
    """Expected cases from which on the score is right enough, 125·(.05/level)^.68·max(½, |n −
    n₀|/(n + n₀)).
    """
    imbalance = abs(n - n0) / (n + n0)
    least = LEAST_EXPECTED * float((0.05 / level) ** GROWTH)
    return least * np.maximum(BALANCED, imbalance)


def needs_exact(n: int, n0: int, expected: float, level: float) -> bool:
    """Whether the score's error at this level needs an exact test.

    The score statistic of a small cell is skew: its upper tail beyond the quantile of an error α is
    up to 3.7 times α at .05 and up to 34 times at .05/20, and the excess falls about as
    log(1/α)/√cell. So the number of cases that it needs grows as the level falls, and is less where
    both groups are of one size. Never the observed cell: many failures *are* the evidence.

    Parameters
    ----------
    n, n0 : int
        Cases of both groups.
    expected : float
        Smallest expected cell, of the pooled rate r: min(n, n₀)·min(r, 1 − r).
    level : float
        Error that the decision has after adjustment for the family, .05/G at Holm's first step of G
        comparisons.

    Returns
    -------
    bool
        True below 125·(.05/level)^.68·max(½, |n − n₀|/(n + n₀)) expected cases.

    Notes
    -----
    Enumerated (`tests/calibration/exact_search.py`): groups of 5 to 5,000 beside 500 to 20,000,
    rates .02 to .98, θ .8 to 1, margins .02 to .2, families of 1 to 20 independent groups that are
    all at an end of the fair range. By the score alone the worst family has a false verdict in .711
    (18 beside 20,000, margin .02); where this function leaves the decision to the score, in .054
    (1,500 beside 20,000).

    Examples
    --------
    >>> from fairstats.numerics.rates.switch import needs_exact
    >>> needs_exact(52, 5_000, 52 * 0.02, 0.05), needs_exact(2_000, 20_000, 600, 0.05)
    (True, False)
    """
    return bool(expected < needed_cases(n, n0, level))
