"""Frames in every engine that is installed, and the comparison of two tallies."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairstats as fs


def lazily(engine: str) -> Callable[[pd.DataFrame], Any]:
    """Function from a pandas frame to a lazy table; skips where the engine is not installed."""
    if engine == "polars":
        pl = pytest.importorskip("polars")
        return lambda frame: pl.from_pandas(frame, nan_to_null=False).lazy()
    if engine == "duckdb":
        duckdb = pytest.importorskip("duckdb")
        return lambda frame: duckdb.connect().from_df(frame)
    dataframe = pytest.importorskip("dask.dataframe")
    return lambda frame: dataframe.from_pandas(frame, npartitions=3)


def alike(a: Any, b: Any, path: str = "") -> None:
    """Two values of JSON: whole numbers and texts equal, sums to 1e-12 of their size."""
    if isinstance(a, dict):
        assert set(a) == set(b), path
        for key in a:
            alike(a[key], b[key], f"{path}.{key}")
    elif isinstance(a, list):
        assert len(a) == len(b), path
        for k, (x, y) in enumerate(zip(a, b, strict=True)):
            alike(x, y, f"{path}[{k}]")
    elif isinstance(a, float) or isinstance(b, float):
        assert a == pytest.approx(b, rel=1e-12, abs=1e-12), path
    else:
        assert a == b, path


def same(a: fs.Tally, b: fs.Tally) -> None:
    """Two tallies that agree in every field."""
    alike(json.loads(a.to_json(exact=True)), json.loads(b.to_json(exact=True)))


def people(seed: int, n: int) -> pd.DataFrame:
    """Rows with three attributes, labels of several types, ties, weights, clusters and a
    stratum.
    """
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "y": rng.choice(["yes", "no"], n),
            "hat": rng.integers(0, 2, n).astype(float),
            "hat_b": rng.integers(0, 2, n).astype(bool),
            "score": rng.integers(0, 21, n) / 20,
            "flipped": rng.integers(0, 2001, n) / 2000,
            "sex": rng.choice(["f", "m"], n, p=[0.7, 0.3]),
            "race": rng.choice(["A", "B", "C"], n, p=[0.2, 0.5, 0.3]),
            "old": rng.integers(0, 2, n),
            "site": rng.choice([1, 2], n),
            "weight": rng.random(n) + 0.1,
            "school": rng.integers(0, max(n // 8, 2), n),
            "age": rng.integers(18, 22, n),
            "job": rng.choice(["clerk", "cook"], n),
        }
    )


def with_gaps(frame: pd.DataFrame) -> pd.DataFrame:
    """The same with missing values in labels, groups, scores and clusters, as NaN and as None."""
    frame = frame.astype({"school": float})
    for step, column, value in (
        (17, "hat", np.nan),
        (23, "race", None),
        (29, "score", np.nan),
        (31, "school", np.nan),
    ):
        frame.loc[step // 2 :: step, column] = value
    return frame
