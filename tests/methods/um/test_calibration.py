"""A few cells of the study (tests/calibration/um.py) with few runs and a fixed seed."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from ...calibration import um as study
from ...calibration.study import run_cell


def covered(simulate: Any, runs: int, seed: int = 3) -> float:
    held, answered = simulate(np.random.default_rng(seed), runs)["coverage"]
    assert answered == runs
    return float(held / answered)


@pytest.mark.parametrize("metric", ["accuracy", "demographic_parity"])
def test_intervals_cover_the_metrics_of_the_fitted_model(metric: str) -> None:
    """Ten times as many rows in one group as in the other; within 3 binomial errors of .95."""
    share = covered(partial(study.held_out, sizes=(400, 40), truth=study.TRUTH, metric=metric), 400)
    assert abs(share - 0.95) < 3 * np.sqrt(0.95 * 0.05 / 400)


def test_the_uniform_prior_fails_where_the_note_says_so_and_jeffreys_does_not() -> None:
    case = partial(
        study.held_out, sizes=(100, 100), truth=study.BY_ACCURACY[0.95], metric="accuracy"
    )
    assert 0.84 < covered(partial(case, prior="uniform"), 400) < 0.92
    assert covered(partial(case, prior="jeffreys"), 400) > 0.92


@pytest.mark.slow
def test_paired_comparisons_cover_and_independent_ones_are_wide() -> None:
    case = partial(study.of_a_comparison, n=500, agree=0.8, metric=0)
    assert abs(covered(partial(case, paired=True), 200) - 0.95) < 0.05
    assert covered(partial(case, paired=False), 100) > 0.96


@pytest.mark.filterwarnings("ignore::fairstats.ground.errors.InsufficientEvidenceWarning")
@pytest.mark.parametrize("method", ["um_posterior", "um_multiclass"])
def test_ranks_of_truths_from_the_prior_are_uniform(method: str) -> None:
    """Simulation-based calibration: Kolmogorov–Smirnov of the ranks."""
    from scipy import stats

    ranks = list(study.ranks(np.random.default_rng(5), 300, method=method, groups=2, n=40))
    assert stats.kstest(ranks, "uniform").pvalue > 1e-3


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_cross_validation_covers_the_algorithm_only_where_it_says_so() -> None:
    """300 training sets: three binomial errors below .95.

    The fitted models' intervals cover about .85.
    """
    case = partial(study.cross_validated, n=400, folds=5)
    assert covered(partial(case, target="algorithm"), 300) > 0.95 - 3 * np.sqrt(0.95 * 0.05 / 300)
    assert covered(partial(case, target="parameter", correlation="1/K"), 300) < 0.92


@pytest.mark.slow
# PyTensor warns where it finds no BLAS; chains as short as these may miss the limit of r-hat by a
# hair.
@pytest.mark.filterwarnings("ignore::UserWarning:pytensor", "ignore:PyTensor could not link")
@pytest.mark.filterwarnings("ignore:.*did not converge:fairstats.ground.errors.DataWarning")
# Truths from the prior have cells near 0: a group of 30 may have no row of one label.
@pytest.mark.filterwarnings("ignore::fairstats.ground.errors.InsufficientEvidenceWarning")
@pytest.mark.parametrize(
    ("method", "groups"), [("um_model", 2), ("um_hierarchical", 3), ("um_hierarchical", 30)]
)
def test_ranks_of_what_is_sampled_are_uniform(method: str, groups: int) -> None:
    pytest.importorskip("pymc")
    from scipy import stats

    ranks = list(study.ranks(np.random.default_rng(5), 12, method=method, groups=groups, n=30))
    assert stats.kstest(ranks, "uniform").pvalue > 1e-3


def test_cells_have_names_of_their_own_and_run() -> None:
    keys = [cell.key for cell in study.CELLS]
    assert len(set(keys)) == len(keys)
    line = run_cell(study.CELLS[0], runs=20)
    assert line["measures"]["answered"] == [20.0, 20]  # type: ignore[index]
