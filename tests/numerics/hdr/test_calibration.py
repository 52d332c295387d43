"""A small part, with a fixed seed, of the cells in ``tests/calibration/hdr.py``."""

from __future__ import annotations

import numpy as np
import pytest

from ...calibration.hdr import masses


@pytest.mark.parametrize(
    "name", ["normal", "two normals", "Beta(2, 8) on [0, 1]", "half-normal on [0, ∞)"]
)
@pytest.mark.parametrize("prob", [0.5, 0.95])
def test_mean_mass_on_a_line(name: str, prob: float) -> None:
    """100 replicates at n = 5,000.

    Half a point and three Monte Carlo errors, which are below .1 points.
    """
    found = masses(name, 5_000, prob, 100, np.random.default_rng(1))
    error = found.std(ddof=1) / 10
    assert error < 1.5e-3
    assert abs(found.mean() - prob) < 0.005 + 3 * error


def test_same_seed_same_numbers() -> None:
    first, second = (masses("t with 3 df", 500, 0.9, 3, np.random.default_rng(2)) for _ in range(2))
    np.testing.assert_array_equal(first, second)
