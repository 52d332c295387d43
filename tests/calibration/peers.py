"""The bootstrap of fairlearn's MetricFrame, at settings of the other tables.

It resamples the rows and takes quantiles of the largest difference, or smallest ratio, of the
groups: where groups are alike the quantiles lie above 0 (below 1) by construction. Here counts are
drawn in place of rows, which is the same law a thousand times faster;
`tests/methods/rates/test_calibration.py` holds it against fairlearn itself."""

from __future__ import annotations

from functools import partial

import numpy as np

from tests.calibration.study import Cell, Counts, tally_interval

LEVEL = 0.95


def percentiles(
    rng: np.random.Generator, selected: np.ndarray, rows: np.ndarray, *, ratio: bool, n_boot: int
) -> tuple[float, float]:
    """Quantiles of the difference (largest − smallest rate) or ratio over resamples of all rows."""
    cells = np.concatenate([selected, rows - selected]) / rows.sum()
    drawn = rng.multinomial(int(rows.sum()), cells, n_boot).reshape(n_boot, 2, -1)
    with np.errstate(invalid="ignore"):
        rates = drawn[:, 0] / drawn.sum(axis=1)
        low = rates.min(axis=1)
        high = rates.max(axis=1)
        values = low / high if ratio else high - low
    ends = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(ends[0]), float(ends[1])


def bootstrap(
    rng: np.random.Generator,
    runs: int,
    *,
    sizes: tuple[int, int],
    rates: tuple[float, float],
    ratio: bool,
) -> Counts:
    """Coverage of the interval of the difference or the ratio of two selection rates, 200
    resamples.
    """
    truth = min(rates) / max(rates) if ratio else max(rates) - min(rates)
    drawn = rng.binomial(sizes, rates, (runs, 2))
    rows = np.array(sizes)
    return tally_interval(
        truth, (percentiles(rng, k, rows, ratio=ratio, n_boot=200) for k in drawn)
    )


CELLS = [
    Cell(
        "peers",
        f"fairlearn: MetricFrame(n_boot=200).{'ratio' if ratio else 'difference'}_ci()",
        f"{sizes[0]:,} and {sizes[1]} rows, rates {rates[0]:g} and {rates[1]:g}",
        partial(bootstrap, sizes=sizes, rates=rates, ratio=ratio),
        runs=4_000,
        claim="fails",
        remark="nothing is claimed for it: percentiles of a maximum (or minimum) over groups",
    )
    for sizes, rates in (
        ((100, 100), (0.5, 0.5)),
        ((100, 100), (0.5, 0.4)),
        ((2_000, 40), (0.5, 0.5)),
        ((2_000, 40), (0.5, 0.4)),
        ((2_000, 40), (0.95, 0.76)),
        ((10_000, 500), (0.5, 0.4)),
    )
    for ratio in (True, False)
]
