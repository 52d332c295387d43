"""The vectorised copies of the study of means within strata decide as the public functions do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fairstats as fs
from tests.calibration import mean_strata as study


@pytest.mark.parametrize("contrast", ["difference", "ratio"])
def test_the_study_decides_as_the_public_function(contrast: Any) -> None:
    setting = study.Setting(study.EXPONENTIAL, (2, 9, 30), (40, 12, 25))
    group, reference = setting.draw(np.random.default_rng(7), 30)
    # a factor, so that some intervals lie beside the truth
    factors = np.linspace(0.3, 2.4, 30)[:, None]
    group = [sample * factors for sample in group]
    truth = 1.1 if contrast == "ratio" else 0.1
    expected = study.adjusted_decisions(group, reference, truth, contrast)
    assert 0 < expected["above"].sum() < 30
    assert expected["below"].sum() > 0
    # strata of two rows have no say there
    pvalues = study.homogeneity_pvalues(group[1:], reference[1:], contrast)
    names = np.repeat(["g", "r"], [41, 77])
    strata = np.concatenate([np.repeat(np.arange(3), part) for part in ((2, 9, 30), (40, 12, 25))])
    for place in range(30):
        y = np.concatenate([sample[place] for sample in (*group, *reference)])
        result = fs.means(
            y, sensitive_features=names, strata=strata, reference="r", contrast=contrast
        )
        row = result.stratified.comparisons[0]
        low, high = row.confidence_interval
        said = {"above": low > truth, "below": high < truth}
        assert said == {side: bool(expected[side][place]) for side in said}
        assert row.pvalue_homogeneity == pytest.approx(pvalues[place], rel=1e-5)
        assert row.n_informative == 2
