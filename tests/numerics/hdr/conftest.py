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
from fairstats.numerics.hdr.region import hdr
from fairstats.numerics.hdr.result import HdrResult

REFERENCE = Path(__file__).resolve().parents[2] / "reference"


@pytest.fixture(autouse=True)
def _scipy() -> Iterator[None]:
    with use_backend("scipy"):
        yield


def case_names(kind: str) -> list[str]:
    """Names of the recorded cases, ``hdr1`` or ``hdr2``."""
    return sorted(
        path.name.removesuffix(".json.gz") for path in REFERENCE.glob(f"{kind}_*.json.gz")
    )


def load_case(name: str) -> dict[str, Any]:
    """One recorded case; lists of numbers as they came."""
    with gzip.open(REFERENCE / f"{name}.json.gz", "rt", encoding="utf-8") as file:
        return json.load(file)  # type: ignore[no-any-return]


def load_grid(
    name: str, method: str, shape: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The recorded density (x, y, values) of a two-dimensional case.

    x varies fastest in the file.
    """
    with gzip.open(REFERENCE / f"{name}_{method}.csv.gz", "rt", encoding="utf-8") as file:
        table = np.loadtxt(file, delimiter=",", skiprows=1)
    return table[: shape[0], 0], table[:: shape[0], 1], table[:, 2].reshape(shape[1], shape[0]).T


def with_own_kernels(samples: np.ndarray, probs: Any, **how: Any) -> HdrResult:
    """The region at the level that hdrcde takes, which counts the kernel that each draw put on
    itself.
    """
    return hdr(samples, probs, level="in_sample", **how)
