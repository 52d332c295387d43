"""What the tests of MADD share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from .densities import draw


class Scored(NamedTuple):
    """Scores, labels and groups, row by row."""

    score: np.ndarray
    y: np.ndarray
    group: np.ndarray


def scored(n0: int, n1: int, seed: int) -> Scored:
    """The paper's simulation: group 1 scores higher, labels are drawn with the score as
    probability.
    """
    rng = np.random.default_rng(seed)
    score = np.concatenate(draw(n0, n1, rng))
    return Scored(score, (rng.random(score.size) < score).astype(int), np.repeat([0, 1], [n0, n1]))


@pytest.fixture(scope="session")
def paper_rows() -> Scored:
    """2,000 + 2,000 rows of the paper's simulation."""
    return scored(2_000, 2_000, 7)
