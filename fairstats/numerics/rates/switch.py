"""When two rates are compared by exact tests rather than by the score."""

from __future__ import annotations


def needs_exact(n: int, n0: int, expected: float, level: float) -> bool:
    """Whether the score's error at this level needs an exact test.

    Parameters
    ----------
    n, n0 : int
        Cases of both groups.
    expected : float
        Smallest expected cell, of the pooled rate: min(n, n0)·min(r, 1 − r).
    level : float
        Error that the decision has after adjustment for the family, 0.05/G under Holm's first step.
    """
    return min(n, n0) <= 500 and expected < 10 + 40 * (0.05 / level > 1)
