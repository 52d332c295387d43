"""Cases of the highest density regions."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from tests.golden.api import call
from tests.golden.cases import Room

ROOM = Room("hdr")


@cache
def _draws(kind: str) -> Any:
    rng = np.random.default_rng(5)
    if kind == "two-modes":
        return np.concatenate([rng.normal(-2, 0.7, 1200), rng.normal(2, 1.0, 800)])
    if kind == "beta":
        return rng.beta(0.8, 3.0, 1500)
    if kind == "few":
        return rng.normal(size=25)
    if kind == "heavy":
        return rng.standard_t(2.5, 1000)
    if kind == "counts":
        return rng.poisson(3.0, 600).astype(float)
    if kind == "plane":
        return rng.multivariate_normal([0, 1], [[1.0, 0.6], [0.6, 2.0]], 1000)
    if kind == "square":
        return rng.beta(1.0, 2.0, (800, 2))
    if kind == "cells":
        return rng.integers(0, 3, (500, 2)).astype(float)
    return rng.multivariate_normal([0, 1, 2], np.eye(3) + 0.4, 400)


def _hdr(kind: str, prob: Any = 0.95, **options: Any) -> dict[str, Any]:
    draws = _draws(kind)
    result = call("hdr", draws, prob, **options)
    points = draws[:40]
    level = prob[0] if isinstance(prob, tuple) else prob
    return {"result": result, "contains": result.contains(points, level)}


def _add(name: str, kind: str, prob: Any = 0.95, **options: Any) -> None:
    ROOM.add(name, lambda _: _hdr(kind, prob, **options), "optimised")


for _kind in ("two-modes", "beta", "few", "heavy"):
    _add(f"line/{_kind}", _kind)
    _add(f"line/{_kind}-several", _kind, (0.5, 0.9, 0.99))
_add("line/two-modes-bandwidth", "two-modes", 0.9, bandwidth=0.3, gridsize=501)
_add("line/beta-support", "beta", 0.9, support=(0.0, 1.0))
_add("line/beta-half-support", "beta", 0.9, support=(0.0, None))
_add("discrete/counts", "counts", (0.5, 0.9))
_add("discrete/as-continuous", "counts", 0.9, discrete=False)
_add("discrete/cells", "cells", 0.8)
for _kind in ("plane", "square"):
    _add(f"plane/{_kind}", _kind, (0.5, 0.95))
_add("plane/ash", "plane", 0.9, estimator="ash")
_add("plane/bandwidth", "plane", 0.9, bandwidth=(0.4, 0.5), gridsize=61)
_add("plane/support", "square", 0.9, support=((0.0, 1.0), (0.0, 1.0)))
_add("space/three", "space", (0.5, 0.9))


def _given() -> dict[str, Any]:
    grid = np.linspace(0, 1, 401)
    x = np.linspace(-3, 3, 61)
    y = np.linspace(-4, 4, 81)
    bump = np.exp(-0.5 * (x[:, None] ** 2 + y[None, :] ** 2 / 2)) / (2 * np.pi * np.sqrt(2))
    draws = np.random.default_rng(2).beta(1, 2, 500)
    return {
        "line": call("hdr", density=(grid, 2 * (1 - grid)), prob=(0.5, 0.75)),
        "plane": call("hdr", density=(x, y, bump), prob=0.9),
        "with draws": call("hdr", draws, 0.8, density=(grid, 2 * (1 - grid))),
    }


ROOM.add("density", lambda _: _given(), "optimised")
