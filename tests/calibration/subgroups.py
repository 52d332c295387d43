"""Subgroups of a balanced crossed table: false discoveries, simultaneous limits, the search's p-value.

The kernels of the package on tables with fixed cells, of which every run draws new successes. In a
balanced table a difference by the first attribute leaves all subgroups that do not name it exactly
alike to the rest: these are the true null hypotheses beside false ones.
`tests/methods/rates/test_subgroups.py` holds the public function against the kernels.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from fairstats.ground.multiplicity import adjust_pvalues
from fairstats.numerics.rates.subgroups import (
    exact_limits,
    exact_pvalues,
    largest_scores,
    lattice,
    marginal_sums,
    normal_score,
    search_pvalues,
)
from tests.calibration.study import Cell, Counts

LEVEL = 0.95
RATE = 0.05
DEPTH = 3
N_RESAMPLES = 999
#: Runs that share draws of the largest |z|.
_RUNS_PER_LAW = 20
#: Values of the attributes, 120 cells; subgroups of fewer rows are not looked at.
LEVELS = (2, 3, 4, 5)


def crossed_codes() -> np.ndarray:
    """Values of the attributes of every cell, shape (C, 4)."""
    grids = np.meshgrid(*[np.arange(size) for size in LEVELS], indexing="ij")
    return np.stack(grids, axis=-1).reshape(-1, len(LEVELS))


def simulate(
    rng: np.random.Generator, runs: int, *, per_cell: int, rate: float, effect: float, adjust: str
) -> Counts:
    """False discoveries (their share, 0 where nothing is flagged), coverage of all limits together,
    and size of the search's p-value where nothing differs.
    """
    codes = crossed_codes()
    nodes = lattice(codes, DEPTH)
    cases_of_cells = np.full(len(codes), float(per_cell))
    rates = np.where(codes[:, 0] == 0, rate - effect, rate)
    cases = marginal_sums(nodes, cases_of_cells, DEPTH)
    expected = marginal_sums(nodes, cases_of_cells * rates, DEPTH)
    total = float(cases_of_cells.sum())
    rest = total - cases
    truth = expected / cases - (float((cases_of_cells * rates).sum()) - expected) / rest
    is_null = np.abs(truth) < 1e-12
    kept = np.ones(cases.size, dtype=bool)
    harmonic = float((1 / np.arange(1, cases.size + 1)).sum()) if adjust == "fdr_by" else 1.0
    false_share = 0.0
    held = found = 0
    largest = np.zeros(0)
    critical = np.nan
    for run in range(runs):
        successes = rng.binomial(per_cell, rates).astype(float)
        k = marginal_sums(nodes, successes, DEPTH)
        total_k = float(successes.sum())
        pvalues = exact_pvalues(
            k.astype(np.int64), cases.astype(np.int64), int(total_k), int(total)
        )
        flagged = adjust_pvalues(pvalues.tolist(), "fdr_bh") * harmonic <= RATE
        false_share += (flagged & is_null).sum() / max(flagged.sum(), 1)
        if run % _RUNS_PER_LAW == 0:  # of the cases alone, which all runs share
            largest = largest_scores(nodes, cases_of_cells, kept, DEPTH, N_RESAMPLES, rng)
            critical = float(np.quantile(largest, LEVEL, method="higher"))
        low, high = exact_limits(k, cases, total_k - k, rest, critical)
        held += bool(((low <= truth) & (truth <= high)).all())
        smallest = search_pvalues(normal_score(pvalues), largest).min()
        found += bool(smallest <= 1 - LEVEL)
    counts: dict[str, tuple[float, int]] = {
        "false verdict": (false_share, runs),
        "coverage": (held, runs),
    }
    if effect == 0:
        counts["size"] = (found, runs)
    return counts


def _cells() -> Iterator[Cell]:
    for adjust in ("fdr_by", "fdr_bh"):
        for per_cell, rate in ((10, 0.1), (40, 0.05), (40, 0.3)):
            for effect in (0.0, 0.04):
                what = "no difference" if effect == 0 else f"first attribute differs by {effect:g}"
                yield Cell(
                    "subgroups",
                    f'subgroups, adjust="{adjust}"',
                    f"2 × 3 × 4 × 5 cells of {per_cell}, depth {DEPTH}, rate {rate:g}, {what}",
                    partial(simulate, per_cell=per_cell, rate=rate, effect=effect, adjust=adjust),
                    runs=2_000,
                    claim="conservative",
                )


CELLS = tuple(_cells())
