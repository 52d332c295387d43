"""Rows of three classes in three groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest

CLASSES = ["low", "medium", "high"]


@dataclass(frozen=True)
class Rows:
    """Labels, predictions, groups, weights and clusters of the same people."""

    y_true: Any
    y_pred: Any
    group: Any
    weight: Any
    cluster: Any

    def frame(self) -> pd.DataFrame:
        """The same as a table."""
        columns = {"y": self.y_true, "hat": self.y_pred, "g": self.group}
        return pd.DataFrame({**columns, "w": self.weight, "c": self.cluster})


@pytest.fixture(scope="session")
def rows() -> Rows:
    rng = np.random.default_rng(35)
    n = 600
    y = rng.choice(CLASSES, n, p=[0.5, 0.35, 0.15])
    hat = np.where(rng.random(n) < 0.65, y, rng.choice(CLASSES, n))
    group = rng.choice(["a", "b", "c"], n, p=[0.5, 0.35, 0.15])
    return Rows(y, hat, group, rng.integers(1, 4, n).astype(float), np.arange(n) // 3)
