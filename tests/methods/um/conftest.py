"""What the tests of Uncertainty Matters share."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest


def cells(tp: float, tn: float, fp: float, fn: float) -> dict[str, float]:
    return {"tp": tp, "tn": tn, "fp": fp, "fn": fn}


#: Two groups, the larger one first.
TABLE: dict[str, dict[str, float]] = {
    "men": cells(420, 380, 120, 80),
    "women": cells(150, 230, 70, 50),
}


class Sample(NamedTuple):
    """Labels, two models' predictions, groups, row by row."""

    y: np.ndarray
    a: np.ndarray
    b: np.ndarray
    group: np.ndarray


def agreeing(n: int, seed: int, agreement: float = 0.92) -> Sample:
    """Two models of the same rows that agree on most of them."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    a = np.where(rng.random(n) < 0.8, y, 1 - y)
    b = np.where(rng.random(n) < agreement, a, 1 - a)
    return Sample(y, a, b, rng.choice(["x", "z"], n, p=[0.6, 0.4]))


@pytest.fixture(scope="session")
def two_models() -> Sample:
    return agreeing(2_000, 3)


@pytest.fixture(scope="session")
def table() -> dict[str, Any]:
    return TABLE
