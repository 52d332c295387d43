"""What practitioners of employment testing expect beside a ratio of two selection rates, from one table."""

from __future__ import annotations

import math

import numpy as np

from fairstats.ground.multiplicity import two_sided_pvalue
from fairstats.ground.serialise import serialisable
from fairstats.methods.rates.planning import equality_power


@serialisable()
class ImpactFigures:
    """Statistics of one group against its reference; ratio, interval and verdict stand in the comparison.

    `fisher`, `mid_p`: two-sided p-values of Fisher's exact test, and Lancaster's: less half the probability of the
    table (Biddle & Morris 2011); `z`, `z_pvalue`: difference in standard deviations of the pooled rate (two standard
    deviations: |z| ≥ 1.96); `cohen_h`: 2 arcsin √r₀ − 2 arcsin √r₁; `phi`: z/√N; `shortfall`: selections that the group
    lacks of the pooled rate, n₀K/N − k₀; `shortfall_four_fifths`: fewest selections to be moved from the reference to
    the group for a ratio of the threshold; `one_decision`: whether one other decision, in either group, would put the
    ratio on the other side of the threshold; `flip_flop`: whether one selection moved would reverse which group has the
    higher rate (Questions and Answers on the Uniform Guidelines, no. 21); `power`: of the two-sided test of equal rates
    for groups of this size, were the ratio at the threshold.
    """

    fisher: float
    mid_p: float
    z: float
    z_pvalue: float
    cohen_h: float
    phi: float
    shortfall: float
    shortfall_four_fifths: int | None
    one_decision: bool
    flip_flop: bool
    power: float


def impact_figures(table: tuple[int, int, int, int], threshold: float, level: float) -> ImpactFigures:
    """All figures of a table (k₀, n₀, k₁, n₁) with cases in both groups.

    Examples
    --------
    Morris (2017): 2 of 10 women and 15 of 25 men are selected.

    >>> found = impact_figures((2, 10, 15, 25), 0.8, 0.95)
    >>> print(f"z = {found.z:.3f}, p = {found.z_pvalue:.4f}, shortfall {found.shortfall:.1f}")
    z = -2.139, p = 0.0324, shortfall 2.9
    """
    k0, n0, k1, n1 = table
    total, hits = n0 + n1, k0 + k1
    r0, r1, pooled = k0 / n0, k1 / n1, hits / total
    exact, own = _fisher(table)
    spread = math.sqrt(pooled * (1 - pooled) * (1 / n0 + 1 / n1))
    z = (r0 - r1) / spread if spread > 0 else math.nan
    lacking = (threshold * r1 - r0) / (1 / n0 + threshold / n1)
    # a whole number of decisions, whatever rounding makes of an exact one
    moved = None if hits == 0 else max(math.ceil(lacking - 1e-9), 0)
    below = _below(table, threshold)
    other = [_below((a, n0, b, n1), threshold) for a, b in _one_changed(table)]
    before, after = r0 - r1, (k0 + 1) / n0 - (k1 - 1) / n1
    return ImpactFigures(
        fisher=exact, mid_p=exact - own / 2, z=z, z_pvalue=two_sided_pvalue(z),
        cohen_h=2 * math.asin(math.sqrt(r0)) - 2 * math.asin(math.sqrt(r1)), phi=z / math.sqrt(total),
        shortfall=n0 * pooled - k0, shortfall_four_fifths=moved,
        one_decision=any(side != below for side in other if side is not None),
        flip_flop=k0 < n0 and k1 > 0 and before < 0 < after,
        power=equality_power(n0, n1, r1, threshold, level),
    )  # fmt: skip


def _fisher(table: tuple[int, int, int, int]) -> tuple[float, float]:
    """Two-sided p-value of Fisher's exact test, and the probability of the table.

    By the ratios of probabilities of neighbouring tables, up and down from the mean, which lose no digits to
    factorials of millions; tables within 1e-7 count as equally probable, as in R. What lies further out than
    the window has less probability than the smallest number (Bernstein: exp(−t²/(2v + 2t/3)) < e⁻⁷⁴⁵).
    """
    k0, n0, k1, n1 = table
    hits, total = k0 + k1, n0 + n1
    mean = n0 * hits / total
    reach = 40 * math.sqrt(mean * (1 - hits / total)) + 800
    first = max(0, hits - n1, math.floor(mean - reach))
    last = min(n0, hits, math.ceil(mean + reach))
    if not first <= k0 <= last:
        return 0.0, 0.0
    k = np.arange(first, last, dtype=np.float64)
    steps = np.log((hits - k) * (n0 - k) / ((k + 1) * (n1 - hits + k + 1)))
    middle = min(max(round(mean), first), last) - first
    down, up = -np.cumsum(steps[:middle][::-1])[::-1], np.cumsum(steps[middle:])
    logs = np.concatenate([down, [0.0], up])
    weights = np.exp(logs)
    weights /= weights.sum()
    own = k0 - first
    return min(float(weights[logs <= logs[own] + 1e-7].sum()), 1.0), float(weights[own])


def _below(table: tuple[int, int, int, int], threshold: float) -> bool | None:
    """Whether the ratio is below the threshold, in whole numbers; None for 0/0."""
    k0, n0, k1, n1 = table
    return None if k0 == k1 == 0 else k0 * n1 < threshold * k1 * n0 * (1 - 1e-12)


def _one_changed(table: tuple[int, int, int, int]) -> list[tuple[int, int]]:
    """Selections of both groups after one other decision."""
    k0, n0, k1, n1 = table
    changed = [(k0 - 1, k1), (k0 + 1, k1), (k0, k1 - 1), (k0, k1 + 1)]
    return [(a, b) for a, b in changed if 0 <= a <= n0 and 0 <= b <= n1]
