"""Recorded cases, and SciPy as the back end: the live R door has its own tests."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairstats.ground.backends import use_backend

REFERENCE = Path(__file__).resolve().parents[2] / "reference"


@pytest.fixture(autouse=True)
def _scipy() -> Iterator[None]:
    with use_backend("scipy"):
        yield


def case_names(kind: str) -> list[str]:
    """Names of the recorded cases, ``gp``, ``gev`` or ``pp``."""
    return sorted(
        path.name.removesuffix(".json.gz") for path in REFERENCE.glob(f"{kind}_*.json.gz")
    )


def load_case(name: str) -> dict[str, Any]:
    """One recorded case; lists of numbers as they came."""
    with gzip.open(REFERENCE / f"{name}.json.gz", "rt", encoding="utf-8") as file:
        return json.load(file)  # type: ignore[no-any-return]


def whole_series(case: dict[str, Any]) -> np.ndarray:
    """Exceedances, and the rest of the series at a value below the threshold, which does not
    matter.
    """
    below = np.full(case["N"] - case["n_exceed"], case["threshold"] - case["true"]["scale"])
    return np.concatenate([case["exceedances"], below])


def gpd_series(
    rng: np.random.Generator, shape: float, n: int = 1000, scale: float = 1.0
) -> np.ndarray:
    """A series of generalised Pareto values above 0."""
    e = rng.exponential(size=n)
    return scale * (np.expm1(shape * e) / shape if shape else e)
