"""The vectorised study of strata decides as the public functions do; a few cells notice wrong formulas."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import fairstats as fs

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))  # the folder of studies is no part of the package

from tests.calibration import strata as study
from tests.calibration.study import Cell, run_cell


@pytest.mark.parametrize("contrast", ["ratio", "difference"])
def test_verdicts_of_the_study_are_those_of_the_functions(contrast: str) -> None:
    rng = np.random.default_rng(8)
    rates, n, m = [0.5, 0.7], [12, 15], [40, 60]
    setting = study.Setting(n, m, rates, contrast, 0.8 if contrast == "ratio" else -0.1)
    tables, _ = setting.draw(rng, 30)
    size = 0.8 if contrast == "ratio" else 0.1
    wanted = study.verdicts(tables, contrast, size)
    function = fs.disparate_impact if contrast == "ratio" else fs.demographic_parity_difference
    for row in range(0, tables.k1.shape[0], 2):
        y, g, s = [], [], []
        for h in range(2):
            for name, k, cases in (("a", tables.k1[row, h], n[h]), ("b", tables.k0[row, h], m[h])):
                y += [1] * int(k) + [0] * int(cases - k)
                g += [name] * cases
                s += [h] * cases
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", fs.FairstatsWarning)
            result = function(y_pred=y, sensitive_features=g, strata=s, reference="b")
        assert result.stratified.verdict == wanted[row]


def of(cells: tuple[Cell, ...], text: str) -> Cell:
    return next(cell for cell in cells if text in cell.key)


def test_errors_of_verdicts_and_coverage_in_a_few_samples() -> None:
    """4,000 samples of 3 × (10/300) at .85–.97, ratio .9: errors at most .06 and three Monte Carlo errors (.012)."""
    line = run_cell(of(study.CELLS, "3 × 10/300, rates 0.85 to 0.97, ratio 0.9"), runs=4_000)["measures"]
    for error in ("false violated", "false satisfied"):
        assert line[error][0] / line[error][1] < 0.072
    assert line["coverage"][0] / line["coverage"][1] == pytest.approx(0.95, abs=0.012)


def test_size_of_equality_in_small_strata() -> None:
    line = run_cell(of(study.CELLS, "equality | 10 × 5/5, rates 0.02 to 0.1"), runs=4_000)["measures"]
    assert line["size"][0] / line["size"][1] < 0.06


def test_the_search_looks_where_verdicts_are_given() -> None:
    """Six settings only: the number beside the table comes from hundreds (the notes of the study)."""
    found = study.worst(seed=1, settings=6, samples=2_000)
    assert all(sum(setting.n) >= 20 and sum(setting.n_reference) >= 20 for _, setting in found)
    assert found[0][0] < 0.08
