"""The vectorised copies of the calibration study decide as the public functions do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fairstats as fs
from tests.calibration import means as study


def public(samples: tuple[Any, Any], truth: float, **options: Any) -> dict[str, bool]:
    """What the public function says of one pair of samples."""
    y = np.concatenate(samples)
    group = np.repeat(["g", "r"], [len(sample) for sample in samples])
    if options.pop("errors", False):
        result = fs.prediction_errors(
            np.zeros(y.size), y, sensitive_features=group, reference="r", **options
        )
    else:
        result = fs.means(y, sensitive_features=group, reference="r", **options)
    low, high = result.confidence_interval
    return {"above": low > truth, "below": high < truth}


CASES = {
    "difference": (lambda a, b: study.mean_decisions(a, b, 0.1, "difference"), 0.1, {}),
    "ratio": (lambda a, b: study.mean_decisions(a, b, 1.1, "ratio"), 1.1, {"contrast": "ratio"}),
    "median": (lambda a, b: study.quantile_decisions(a, b, 0.1, 0.5), 0.1, {"statistic": "median"}),
    "root": (
        lambda a, b: study.root_decisions(a, b, 0.1),
        0.1,
        {"errors": True, "metric": "root_mean_squared_error"},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_study_decides_as_the_public_function(name: str) -> None:
    decide, truth, options = CASES[name]
    setting = study.Setting(study.EXPONENTIAL, 25, study.EXPONENTIAL, 60)
    # a shift, so that some intervals lie beside the truth
    ((group, reference),) = setting.blocks(np.random.default_rng(7), 60)
    group = group * np.linspace(0.4, 2.2, 60)[:, None]
    expected = decide(group, reference)
    assert 0 < expected["above"].sum() < 60
    assert expected["below"].sum() > 0
    for place in range(60):
        said = public((group[place], reference[place]), truth, **dict(options))
        assert said == {side: bool(expected[side][place]) for side in ("above", "below")}
