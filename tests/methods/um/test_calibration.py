"""A small part of the study of coverage (tests/calibration/um.py) with a fixed seed."""

from __future__ import annotations

import numpy as np
import pytest

from ...calibration import um as study


@pytest.mark.slow
def test_intervals_cover_the_metrics_of_the_fitted_model() -> None:
    """95% within 93–97% for hold-out, parameter target; the margin for 500 repeats is 3 binomial errors."""
    rows = [r for r in study.hold_out(500, np.random.default_rng(3)) if not r["n"].startswith("60")]
    for row in rows:
        assert abs(row["coverage"] - 0.95) < 0.02 + 3 * np.sqrt(0.95 * 0.05 / 500), row


def test_paired_posterior_has_the_spread_over_test_sets() -> None:
    """Witness: standard deviation over 150 simulated test sets; its relative error is 6%."""
    over, paired, independent = (r["width"] for r in study.pairing(150, np.random.default_rng(4)))
    assert paired == pytest.approx(over, rel=0.18)
    assert independent > 1.6 * over
