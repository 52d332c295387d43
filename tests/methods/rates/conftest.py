"""What the tests of the rates share: rows that make up a table of counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pytest


class Rows(NamedTuple):
    """Labels, predictions and groups, row by row."""

    y_true: np.ndarray
    y_pred: np.ndarray
    group: np.ndarray


def _rows(table: Mapping[str, Sequence[int]]) -> Rows:
    cells = {"tp": (1, 1), "fp": (0, 1), "fn": (1, 0), "tn": (0, 0)}
    parts = [
        (y, p, group, count)
        for group, counts in table.items()
        for (y, p), count in zip(cells.values(), counts, strict=True)
    ]
    repeat = [count for *_, count in parts]
    return Rows(
        np.repeat([y for y, *_ in parts], repeat),
        np.repeat([p for _, p, *_ in parts], repeat),
        np.repeat([group for _, _, group, _ in parts], repeat),
    )


@pytest.fixture(scope="session")
def rows_of() -> Callable[[Mapping[str, Sequence[int]]], Rows]:
    """Function from confusion counts (tp, fp, fn, tn) per group to rows."""
    return _rows
