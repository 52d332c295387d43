"""Random splits of counted rows: draws without replacement, of any number of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: From so many rows on NumPy does not draw without replacement.
TOO_MANY = 10**9


def split_rows(
    counts: NDArray[np.int64],
    size: int,
    n: int,
    rng: np.random.Generator,
    how: Literal["count", "marginals"] = "marginals",
) -> NDArray[np.int64]:
    """How many of `size` rows drawn at random lie in each bin, shape (n, m); `counts`, shape (m,): of all."""
    if counts.sum() < TOO_MANY:
        return np.asarray(rng.multivariate_hypergeometric(counts, size, size=n, method=how))
    return split_each(np.tile(counts, (n, 1)), size, rng)


def split_each(counts: NDArray[np.int64], size: Any, rng: np.random.Generator) -> NDArray[np.int64]:
    """The same, one draw from each row of counts, shape (n, m), of equal sums; `size`: one, or shape (n,).

    Too many rows are halved, and how many of either half are drawn is taken as normal, which it is to 1 part
    in 10⁴ of its standard deviation; the rest is exact.
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
    left = np.ascontiguousarray(counts.T)
    drawn = np.zeros_like(left)
    wanted, after = np.broadcast_to(size, left.shape[1]), left.sum(axis=0)
    for k in range(len(left) - 1):
        after = after - left[k]
        drawn[k] = rng.hypergeometric(left[k], after, wanted)
        wanted = wanted - drawn[k]
    drawn[-1] = wanted
    return drawn.T
