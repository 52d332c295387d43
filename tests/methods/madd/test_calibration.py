"""A small part, with a fixed seed, of the study in ``tests/calibration/madd.py``."""

from __future__ import annotations

import numpy as np
import pytest

from ...calibration.madd import COVERAGE_CASES, run

#: Four Monte Carlo errors of a share of 5% in 400 data sets.
SLACK = 4 * np.sqrt(0.05 * 0.95 / 400)


def test_size_of_the_exact_test() -> None:
    table = run(400, 11, studies=("size",), n_resamples=199, choose=lambda c: c.n0 == 50)
    assert (table["size"] <= 0.05 + SLACK).all(), table.to_string()
    enough = table["occupied_bins"] >= 5
    assert enough.all()
    assert table.loc[enough, "size_mid"].between(0.05 - SLACK, 0.05 + SLACK).all(), table.to_string()


@pytest.mark.parametrize("apart", [0.0, 0.25, 1.0, "far"])
def test_coverage(apart: float | str) -> None:
    """At least 93% at n = 500 and 5,000, m ≤ 30; percentile intervals cover none of the equal groups."""
    table = run(
        150,
        12,
        studies=("coverage",),
        n_resamples=199,
        choose=lambda c: c.apart == apart and c.n_bins in (5, 30),
    )
    assert len(table) == sum(c.apart == apart and c.n_bins in (5, 30) for c in COVERAGE_CASES)
    slack = 2.5 * np.sqrt(0.07 * 0.93 / 150)  # Monte Carlo error; the study itself has 2,500 replicates
    assert (table["coverage"] >= 0.93 - slack).all(), table.to_string()
    assert (table["width"] < 1.1).all()
    if apart == 0.0:
        assert (table["coverage_percentile"] == 0).all()


def test_weights_clusters_and_three_groups() -> None:
    table = run(200, 13, studies=("linearised",), n_resamples=199).set_index("scores")
    assert (table["size"] <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 200)).all(), table.to_string()
    assert (table["coverage"].dropna() >= 0.93 - 0.03).all(), table.to_string()


def test_same_seed_same_numbers() -> None:
    def choose(case: object) -> bool:
        return case in COVERAGE_CASES[:2]

    first = run(5, 3, studies=("coverage",), n_resamples=99, choose=choose)
    assert first.equals(run(5, 3, studies=("coverage",), n_resamples=99, choose=choose))
