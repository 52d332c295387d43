"""Random splits of counted rows: draws with and without replacement, of any number of rows.

Of N rows in m cells with the counts n_c, samples of s rows have counts X_c with

    with replacement      X ~ Multinomial(s, n/N),        X_c ~ Binomial(s, p_c)
    without               X ~ Hypergeometric(n; s),       Var X_c = s·p_c(1 − p_c)·(N − s)/(N − 1),

p_c = n_c/N. Cell by cell, X_c given those before it is a binomial (hypergeometric) count among what
is left. Large counts are drawn by the quantile of Cornish & Fisher (1938),

    x = mean + √variance·(z + skewness·(z² − 1)/6),       z ~ N(0, 1),

very large ones together as rounded normals with the covariance v(diag(p) − ppᵀ), which
√v·(√p_c·z_c − p_c·Σ √p_j·z_j) has.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.progress import under_way

#: From so many rows on NumPy does not draw without replacement.
TOO_MANY = 10**9
#: Counts of at least this variance are drawn by their quantiles (`_count_of_normal`): the
#: distribution function of one is right to .001, that of a sum of several absolute deviations to
#: less, at a tenth of the time of a hypergeometric count by rejection.
QUANTILES_FROM = 30.0
#: Counts of at least this variance are drawn together as rounded normals. Their law has a skewness
#: of at most 1/10, so that one count's distribution function is off by at most φ(0)/(6·10) = .0066;
#: that of a distance, where both signs count alike, by less than .001.
NORMAL_FROM = 100.0
#: So many rows are shuffled, or drawn one by one, in the time in which one count is drawn.
_ROWS_FOR_A_COUNT = 8
#: Numbers in one array of a block of simulated samples (3.2 MB): a fit of a block holds some ten
#: arrays of that size at a time, and the whole stays below 64 MB.
NUMBERS_PER_BLOCK = 400_000


def resample_blocks(
    n_resamples: int,
    width: int,
    words: str,
    *,
    most_numbers: float = math.inf,
) -> Iterator[int]:
    """Sizes of successive blocks of resamples, of `width` numbers each, with a progress bar.

    A generator of random numbers gives the same stream for blocks of whole resamples as for all
    of them at once, so that memory no longer grows with their number, and results stay.
    `most_numbers`: in one array of a block, where fewer than usual.

    Examples
    --------
    >>> from fairstats.numerics.draws import resample_blocks
    >>> list(resample_blocks(5, 200_000, "samples"))
    [2, 2, 1]
    """
    per_block = max(int(min(NUMBERS_PER_BLOCK, most_numbers)) // max(width, 1), 1)
    with under_way(words, total=n_resamples) as work:
        for start in range(0, n_resamples, per_block):
            size = min(per_block, n_resamples - start)
            yield size
            work.advance(size)


def _count_of_normal(
    normal: NDArray[np.float64],
    mean: Any,
    variance: Any,
    skewness: Any,
) -> NDArray[np.int64]:
    """Whole numbers with these moments, one for each standard normal value z, shape (n,).

    The quantile of Cornish and Fisher (1938) at Φ(z), rounded:

        x = mean + √variance·(z + skewness·(z² − 1)/6).
    """
    skewed = normal * normal
    skewed -= 1.0
    skewed *= skewness / 6
    skewed += normal
    skewed *= np.sqrt(variance)
    skewed += mean
    return np.rint(skewed).astype(np.int64)


class SharedNormals:
    """Standard normal values that every comparison of a family uses again.

    A comparison's p-value and limits have the law that values of its own would give them; those of
    two comparisons hang together more. Adjustments by Bonferroni and Holm allow for any dependence.
    `rng` draws what is no function of normal values.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self._rows: dict[tuple[str, int], NDArray[np.float64]] = {}

    def rows(self, purpose: str, m: int, n: int) -> NDArray[np.float64]:
        """The first m rows of n values for this purpose, shape (m, n)."""
        kept = self._rows.get((purpose, n))
        if kept is None:
            kept = np.ascontiguousarray(self.rng.standard_normal((n, m)).T)
        elif len(kept) < m:
            kept = np.concatenate([kept, self.rng.standard_normal((n, m - len(kept))).T])
        self._rows[purpose, n] = kept
        return kept[:m]


def _draw_binomial(
    size: NDArray[np.int64],
    share: float,
    normal: NDArray[np.float64] | None,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Successes of `size` rows, shape (n,); of these `normal` values, if any."""
    mean = size * share
    variance = mean * (1 - share)
    if not variance.min() >= QUANTILES_FROM:
        return np.asarray(rng.binomial(size, share))
    if normal is None:
        normal = rng.standard_normal(size.size)
    drawn = _count_of_normal(normal, mean, variance, (1 - 2 * share) / np.sqrt(variance))
    return np.clip(drawn, 0, size)


def _draw_hypergeometric(
    good: NDArray[np.int64],
    bad: NDArray[np.int64],
    size: NDArray[np.int64],
    normal: NDArray[np.float64] | None,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """How many of `size` rows drawn without replacement are good ones, shape (n,); of these
    `normal` values, if any.
    """
    rows = good + bad
    with np.errstate(divide="ignore", invalid="ignore"):
        share = good / rows
        mean = size * share
        variance = mean * (1 - share) * ((rows - size) / (rows - 1))
        if not variance.min() >= QUANTILES_FROM:
            return np.asarray(rng.hypergeometric(good, bad, size))
        skewness = (1 - 2 * share) * ((rows - 2 * size) / (rows - 2)) / np.sqrt(variance)
    if normal is None:
        normal = rng.standard_normal(size.size)
    drawn = _count_of_normal(normal, mean, variance, skewness)
    return np.clip(drawn, np.maximum(size - bad, 0), np.minimum(size, good))


def drawn_rows(
    size: int,
    shares: NDArray[np.float64],
    n: int,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Multinomial counts of `size` rows, shape (n, m); `shares`, shape (m,), of sum 1."""
    if not (size * (shares * (1 - shares)) >= QUANTILES_FROM).any():
        return np.asarray(rng.multinomial(size, shares, size=n))
    return _draw_cells(
        shares[None],
        np.full(n, size),
        lambda share, others, wanted, normal: _draw_binomial(
            wanted, share / (share + others), normal, rng
        ),
        lambda wanted, _: wanted,
        rng,
    )


def redrawn_rows(counts: NDArray[np.int64], n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Multinomial counts of as many rows as there are, shape (n, m), by the shares of the counts.

    Of few rows a cell each row is drawn by itself: the same law, at some 8 instead of 70
    nanoseconds.
    """
    size = int(counts.sum())
    if size > _ROWS_FOR_A_COUNT * counts.size:
        return drawn_rows(size, counts / size, n, rng)
    cell_of_row = np.repeat(np.arange(counts.size), counts)
    drawn_cells = cell_of_row.take(rng.integers(0, size, (n, size)))
    drawn_cells += counts.size * np.arange(n)[:, None]
    return np.bincount(drawn_cells.ravel(), minlength=n * counts.size).reshape(n, -1)


def split_rows(
    counts: NDArray[np.int64],
    size: int,
    n: int,
    rng: np.random.Generator,
    normal: Callable[[], NDArray[np.float64]] | None = None,
) -> NDArray[np.int64]:
    """How many of `size` rows drawn at random lie in each bin, shape (n, m).

    `counts`, shape (m,): of all rows. `normal`: asked for standard normal values, (m, n), where
    large counts are made of them.
    """
    n_rows = int(counts.sum())
    # shuffling the smaller part costs its rows, drawing counts the cells
    few_rows = min(size, n_rows - size) < _ROWS_FOR_A_COUNT * counts.size
    if few_rows and n_rows < TOO_MANY:
        return np.asarray(rng.multivariate_hypergeometric(counts, size, size=n, method="count"))
    return split_each(np.broadcast_to(counts, (n, counts.size)), size, rng, normal)


def split_each(
    counts: NDArray[np.int64],
    size: Any,
    rng: np.random.Generator,
    normal: Callable[[], NDArray[np.float64]] | None = None,
) -> NDArray[np.int64]:
    """The same, one draw from each row of counts, shape (n, m), of equal sums; `size`: one, or
    shape (n,).

    Too many rows are halved, and how many of either half are drawn is taken as normal, which it is
    to 1 part in 10⁴ of its standard deviation.
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
    return _draw_cells(
        counts[:1] if counts.strides[0] == 0 else counts,
        wanted,
        lambda good, bad, rows, normal: _draw_hypergeometric(good, bad, rows, normal, rng),
        lambda size_wanted, n_rows: size_wanted * ((n_rows - size_wanted) / (n_rows - 1)),
        rng,
        normal,
    )


def _draw_cells(
    cells: NDArray[Any],
    wanted: NDArray[np.int64],
    draw_count: Callable[[Any, Any, Any, Any], Any],
    spread: Callable[[Any, Any], Any],
    rng: np.random.Generator,
    normal: Callable[[], NDArray[np.float64]] | None = None,
) -> NDArray[np.int64]:
    """Draws of `wanted` rows, (n,), from cells, (n or 1, m).

    Small counts one cell after the other by `draw_count`, the others together as normals, by the
    values that `normal` gives, if any. `spread` gives the variance of a count, divided by p(1 − p),
    from the rows wanted and there.
    """
    cells_by_row = np.ascontiguousarray(cells.T)
    rows = cells.sum(axis=1)
    share = cells / rows[:, None]
    least_variance = (share * (1 - share)).min(axis=0) * spread(wanted, rows).min()
    is_small = least_variance < NORMAL_FROM
    small = np.flatnonzero(is_small & (share.max(axis=0) > 0))
    large = np.flatnonzero(~is_small)
    if not large.size:
        # what is left over after all others is the last one's
        last = small[-1:]
        small = small[:-1]
    given = normal() if normal is not None and least_variance.max() >= QUANTILES_FROM else None
    drawn = np.zeros((cells.shape[1], wanted.size), dtype=np.int64)
    for cell in small:
        rows = rows - cells_by_row[cell]
        values = None if given is None else given[cell]
        drawn[cell] = draw_count(cells_by_row[cell], rows, wanted, values)
        wanted = wanted - drawn[cell]
    if not large.size:
        drawn[last] = wanted
        return drawn.T
    share = cells_by_row[large] / rows
    if given is None:
        noise = np.ascontiguousarray(rng.standard_normal((wanted.size, large.size)).T)
        noise *= np.sqrt(share)
    else:
        if large.size < len(given):
            given = given[large]
        # a new array: what is given is shared with other draws
        noise = given * np.sqrt(share)
    noise -= share * noise.sum(axis=0)
    if not small.size and wanted.strides == (0,) and rows.size == 1:
        # all draws want the same number of rows: one spread, not as many equal ones as draws
        wanted = wanted[:1]
    noise *= np.sqrt(spread(wanted, rows))
    noise += wanted * share
    counts = np.rint(noise, out=noise)
    # what rounding leaves over belongs to the cell where it matters least
    counts[share.min(axis=1).argmax()] += wanted - counts.sum(axis=0)
    if large.size == len(drawn):
        return counts.astype(np.int64).T
    drawn[large] = counts
    return drawn.T
