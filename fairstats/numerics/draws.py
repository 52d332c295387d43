"""Random splits of counted rows: draws without replacement, of any number of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

#: From so many rows on NumPy does not draw without replacement.
TOO_MANY = 10**9
#: In tables of so many rows, counts of at least this variance are drawn together as rounded normals: their
#: law has a skewness of at most 1/20, so that one count's distribution function is off by at most
#: φ(0)/(6·20) = .0033 and that of a distance, where both signs count alike, by less.
MANY, NORMAL_FROM = 10**6, 400.0


def drawn_rows(size: int, shares: NDArray[np.float64], n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Multinomial counts of `size` rows, shape (n, m); `shares`, shape (m,), of sum 1."""
    if size < MANY:
        return np.asarray(rng.multinomial(size, shares, size=n))
    return _together(
        shares[None], np.full(n, size), lambda p, rest, k: rng.binomial(k, p / (p + rest)), lambda k, _: k, rng
    )


def split_rows(
    counts: NDArray[np.int64], size: int, n: int, rng: np.random.Generator,
    how: Literal["count", "marginals"] = "marginals",
) -> NDArray[np.int64]:  # fmt: skip
    """How many of `size` rows drawn at random lie in each bin, shape (n, m); `counts`, shape (m,): of all."""
    if counts.sum() < MANY:
        return np.asarray(rng.multivariate_hypergeometric(counts, size, size=n, method=how))
    return split_each(np.broadcast_to(counts, (n, counts.size)), size, rng)


def split_each(counts: NDArray[np.int64], size: Any, rng: np.random.Generator) -> NDArray[np.int64]:
    """The same, one draw from each row of counts, shape (n, m), of equal sums; `size`: one, or shape (n,).

    Too many rows are halved, and how many of either half are drawn is taken as normal, which it is to 1 part
    in 10⁴ of its standard deviation.
    """
    rows = int(counts[0].sum())
    if rows >= TOO_MANY:
        half = counts // 2
        part = half.sum(axis=1)
        share = part / rows
        spread = np.sqrt(size * share * (1 - share) * ((rows - size) / (rows - 1)))
        drawn = np.rint(size * share + spread * rng.standard_normal(part.size)).astype(np.int64)
        drawn = np.clip(drawn, np.maximum(size - (rows - part), 0), np.minimum(size, part))
        return split_each(half, drawn, rng) + split_each(counts - half, size - drawn, rng)
    wanted = np.broadcast_to(size, len(counts))
    if rows >= MANY:
        return _together(counts, wanted, rng.hypergeometric, lambda k, rows: k * ((rows - k) / (rows - 1)), rng)
    left = np.ascontiguousarray(counts.T)
    drawn = np.zeros_like(left)
    after = left.sum(axis=0)
    for k in range(len(left) - 1):
        after = after - left[k]
        drawn[k] = rng.hypergeometric(left[k], after, wanted)
        wanted = wanted - drawn[k]
    drawn[-1] = wanted
    return drawn.T


def _together(
    cells: NDArray[Any], wanted: NDArray[np.int64], one: Callable[[Any, Any, Any], Any],
    spread: Callable[[Any, Any], Any], rng: np.random.Generator,
) -> NDArray[np.int64]:  # fmt: skip
    """Draws of `wanted` rows, (n,), from cells, (n or 1, m): small counts by `one`, the others normal.

    `spread` gives the variance of a count, divided by p(1 − p), from the rows wanted and there.
    """
    rows = cells.sum(axis=1)
    share = cells / rows[:, None]
    most = (share * (1 - share)).min(axis=0) * spread(wanted, rows).min()
    drawn = np.zeros((wanted.size, cells.shape[1]), dtype=np.int64)
    for k in np.flatnonzero((most < NORMAL_FROM) & (share.max(axis=0) > 0)):
        rows = rows - cells[:, k]
        drawn[:, k] = one(cells[:, k], rows, wanted)
        wanted = wanted - drawn[:, k]
    large = np.flatnonzero(most >= NORMAL_FROM)
    if large.size:
        share = cells[:, large] / rows[:, None]
        z = rng.standard_normal((wanted.size, large.size)) * np.sqrt(share)
        z -= share * z.sum(axis=1, keepdims=True)
        found = np.rint(wanted[:, None] * share + np.sqrt(spread(wanted, rows))[:, None] * z).astype(np.int64)
        # what rounding leaves over belongs to the cell where it matters least
        found[:, share.min(axis=0).argmax()] += wanted - found.sum(axis=1)
        drawn[:, large] = found
    return drawn
