"""A small part, with its fixed seed, of the cells in ``tests/calibration/madd.py``."""

from __future__ import annotations

from math import sqrt

import pytest

from ...calibration.madd import CELLS
from ...calibration.study import run_cell

#: Cells that broke other methods, one of each kind; few runs, so that four Monte Carlo errors are
#: wide.
CHOSEN = {
    "200 and 2,000 rows, deciles, alike": 150,
    "40 and 2,000 rows, deciles, at the margin, one bin": 150,
    "permutation test, 40 and 2,000 rows, 20 atoms": 150,
    "8 groups of 40 to 2,000 rows, some at the margin": 20,
    "test of the largest, 3 groups": 60,
    "weights, CV 1, 40 and 400": 100,
    "60 and 60 clusters, ICC 0.3": 60,
}


@pytest.mark.parametrize("regime", CHOSEN)
def test_no_cell_is_beyond_its_claim(regime: str) -> None:
    cells = [c for c in CELLS if regime in c.regime]
    assert cells
    for cell in cells:
        measures = run_cell(cell, runs=CHOSEN[regime])["measures"]
        for name, (count, runs) in measures.items():
            least, most = (0.935, 1.0) if name == "coverage" else (0.0, 0.06)
            for bound, sign in ((least, -1), (most, 1)):
                slack = 4 * sqrt(max(bound * (1 - bound), 0.02) / runs)
                assert sign * (count / runs - bound) <= slack, (cell.regime, name, count, runs)


def test_the_same_seed_gives_the_same_counts() -> None:
    first, second = (run_cell(CELLS[0], runs=5) for _ in range(2))
    assert first["measures"] == second["measures"]
