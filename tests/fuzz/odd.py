"""Odd values: what users, and libraries that users trust, pass where a column, number or choice is
meant.
"""

from __future__ import annotations

import array
import datetime
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pandas as pd


class OnlyPredict:
    """A model that gives labels and nothing else."""

    def predict(self, X: Any) -> Any:
        """The label 1 for every row."""
        return np.ones(len(X), dtype=int)


def _pairs(n: int) -> pd.MultiIndex:
    return pd.MultiIndex.from_tuples([("a", k) for k in range(n)])


#: Values that are no column.
SINGLE: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "NA": lambda: pd.NA,
    "NaT": lambda: pd.NaT,
    "NaN": lambda: float("nan"),
    "inf": lambda: float("inf"),
    "-inf": lambda: -np.inf,
    "1e308": lambda: 1e308,
    "1e-308": lambda: 1e-308,
    "10**400": lambda: 10**400,
    "-1": lambda: -1,
    "0": lambda: 0,
    "1": lambda: 1,
    "2": lambda: 2,
    "0.5": lambda: 0.5,
    "True": lambda: True,
    "np.True_": lambda: np.True_,
    "np.float32": lambda: np.float32(0.5),
    "longdouble": lambda: np.longdouble(2),
    "complex": lambda: 1 + 2j,
    "np.complex64": lambda: np.complex64(1),
    "Decimal": lambda: Decimal("0.7"),
    "Fraction": lambda: Fraction(1, 3),
    "text number": lambda: "0.7",
    "text": lambda: "sex",
    "no text": lambda: "",
    "text with NUL": lambda: "a\x00b",
    "bytes": lambda: b"0.7",
    "date": lambda: datetime.date(2020, 1, 1),
    "Timestamp": lambda: pd.Timestamp("2020-01-01"),
    "np.datetime64": lambda: np.datetime64("2020-01-01"),
    "timedelta": lambda: datetime.timedelta(1),
    "0-d array": lambda: np.array(0.5),
    "0-d objects": lambda: np.array(None, dtype=object),
    "masked": lambda: np.ma.masked,
    "empty list": list,
    "empty tuple": tuple,
    "empty dict": dict,
    "empty set": set,
    "empty array": lambda: np.zeros(0),
    "empty table": lambda: np.zeros((0, 3)),
    "no columns": lambda: np.zeros((3, 0)),
    "empty frame": pd.DataFrame,
    "frame without columns": lambda: pd.DataFrame(index=range(12)),
    "list": lambda: ["a"],
    "list of list": lambda: [["a"], ["b"]],
    "ragged": lambda: [[1.0, 2.0], [3.0]],
    "tuple": lambda: (1, 2),
    "nested tuple": lambda: (("a", "b"), "c"),
    "dict": lambda: {"a": 1},
    "dict of columns": lambda: {"a": [1, 2, 3], "b": [1.0, 2.0, np.nan]},
    "dict of dict": lambda: {"a": {"b": 1}},
    "dict of NA": lambda: {pd.NA: pd.NA},
    "set": lambda: {1, 2},
    "frozenset": lambda: frozenset({"a"}),
    "generator": lambda: (k for k in range(3)),
    "iterator": lambda: iter([1, 2, 3]),
    "range": lambda: range(12),
    "ellipsis": lambda: ...,
    "object": object,
    "class": lambda: OnlyPredict,
    "only predict": OnlyPredict,
    "function": lambda: lambda X: np.full(len(X), 0.5),
    "function of text": lambda: lambda X: ["a"] * len(X),
    "function of None": lambda: lambda X: None,
    "module": lambda: np,
    "memoryview": lambda: memoryview(b"abc"),
    "array of bool": lambda: np.array([True, False]),
    "array of text": lambda: np.array(["a", "b"]),
    "matrix": lambda: np.ones((2, 3)),
    "cube": lambda: np.ones((2, 3, 4)),
    "identity": lambda: np.eye(12),
    "series": lambda: pd.Series([1.0, 2.0], index=["u", "v"]),
    "MultiIndex": lambda: _pairs(12),
    "frame of MultiIndex": lambda: pd.DataFrame(
        np.ones((12, 2)), index=pd.MultiIndex.from_tuples([("a", 1)] * 12)
    ),
    "MultiIndex columns": lambda: pd.DataFrame(
        np.ones((12, 2)), columns=pd.MultiIndex.from_tuples([("a", 1), ("a", 2)])
    ),
    "duplicated columns": lambda: pd.DataFrame(np.ones((12, 2)), columns=["g", "g"]),
    "structured": lambda: np.zeros(12, dtype=[("a", int), ("b", float)]),
    "interval": lambda: pd.Interval(0, 1),
    "a rule": lambda: "highest",
    "a group": lambda: "a",
    "seed": lambda: np.random.default_rng(1),
}


def _sparse(values: Any) -> Any:
    from scipy import sparse

    return sparse.csr_array(np.atleast_2d(np.asarray(values, dtype=float)))


def _polars(values: Any) -> Any:
    import polars

    return polars.Series("x", values)


def _arrow(values: Any) -> Any:
    import pyarrow

    return pyarrow.array(values)


def _gappy(values: list[Any], gap: Any) -> list[Any]:
    return [gap if k % 4 == 1 else v for k, v in enumerate(values)]


#: From the values of a column, as a list, to the same or worse in another shape.
COLUMN: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "tuple": tuple,
    "objects": lambda v: np.array(v, dtype=object),
    "generator": lambda v: (x for x in v),
    "iterator": iter,
    "set": set,
    "dict": lambda v: dict(enumerate(v)),
    "mapping": lambda v: {"g": v},
    "short": lambda v: v[:-1],
    "long": lambda v: v + v[:2],
    "empty": lambda v: v[:0],
    "one row": lambda v: v[:1],
    "constant": lambda v: v[:1] * len(v),
    "text": lambda v: [str(x) for x in v],
    "bytes": lambda v: [str(x).encode() for x in v],
    "S": lambda v: np.array([str(x) for x in v], dtype="S"),
    "mixed text": lambda v: [str(x) if k % 2 else x for k, x in enumerate(v)],
    "mixed bytes": lambda v: [str(x) if k % 2 else str(x).encode() for k, x in enumerate(v)],
    "lists": lambda v: [[x] for x in v],
    "two columns": lambda v: [[x, x] for x in v],
    "ragged": lambda v: [[x] * (1 + k % 2) for k, x in enumerate(v)],
    "unhashable": lambda v: np.array(
        [[x] if k % 2 else [x, x] for k, x in enumerate(v)], dtype=object
    ),
    "sets": lambda v: [{x} for x in v],
    "dicts": lambda v: [{"v": x} for x in v],
    "None": lambda v: _gappy(v, None),
    "NaN": lambda v: _gappy(v, np.nan),
    "NA": lambda v: _gappy(v, pd.NA),
    "NaT": lambda v: _gappy(v, pd.NaT),
    "inf": lambda v: _gappy(v, np.inf),
    "1e308": lambda v: _gappy(v, 1e308),
    "10**400": lambda v: _gappy(v, 10**400),
    "complex": lambda v: _gappy(v, 1j),
    "-1": lambda v: _gappy(v, -1),
    "dates": lambda v: [datetime.date(2020, 1, 1 + k % 20) for k in range(len(v))],
    "all None": lambda v: [None] * len(v),
    "all NaN": lambda v: np.full(len(v), np.nan),
    "all masked": lambda v: np.ma.masked_all(len(v)),
    "masked": lambda v: np.ma.array(v, mask=[k % 4 == 1 for k in range(len(v))]),
    "masked objects": lambda v: np.ma.array(
        v, mask=[k % 4 == 1 for k in range(len(v))], dtype=object
    ),
    "masked entries": lambda v: _gappy(v, np.ma.masked),
    "zeros": lambda v: np.zeros(len(v)),
    "ones": lambda v: np.ones(len(v)),
    "huge": lambda v: np.full(len(v), 1e308),
    "tiny": lambda v: np.full(len(v), 5e-324),
    "float16": lambda v: np.arange(len(v), dtype=np.float16),
    "longdouble": lambda v: np.linspace(0, 1, len(v), dtype=np.longdouble),
    "uint64": lambda v: np.full(len(v), 2**64 - 1, dtype=np.uint64),
    "complex64": lambda v: np.ones(len(v), dtype=np.complex64),
    "datetime64": lambda v: np.arange(len(v)).astype("M8[s]"),
    "timedelta64": lambda v: np.arange(len(v)).astype("m8[D]"),
    "structured": lambda v: np.zeros(len(v), dtype=[("a", int)]),
    "matrix": lambda v: np.arange(len(v) * 2.0).reshape(-1, 2),
    "column matrix": lambda v: np.array(v, dtype=object)[:, None],
    "np.matrix": lambda v: np.asmatrix(np.arange(len(v))).T,
    "cube": lambda v: np.zeros((len(v), 2, 2)),
    "array.array": lambda v: array.array("d", range(len(v))),
    "memoryview": lambda v: memoryview(bytes(len(v))),
    "bytes object": lambda v: bytes(len(v)),
    "Decimal": lambda v: [Decimal(k) / 16 for k in range(len(v))],
    "Fraction": lambda v: [Fraction(k, 16) for k in range(len(v))],
    "sparse": lambda v: _sparse(range(len(v))),
    "sparse transposed": lambda v: _sparse(range(len(v))).T,
    "series": pd.Series,
    "shuffled series": lambda v: pd.Series(v, index=range(len(v))[::-1]),
    "series of other labels": lambda v: pd.Series(v, index=[f"r{k}" for k in range(len(v))]),
    "series of one label": lambda v: pd.Series(v, index=[0] * len(v)),
    "series of a MultiIndex": lambda v: pd.Series(
        v, index=pd.MultiIndex.from_tuples([(0, k) for k in range(len(v))])
    ),
    "series of dates": lambda v: pd.Series(pd.date_range("2020", periods=len(v))),
    "series of periods": lambda v: pd.Series(pd.period_range("2020", periods=len(v), freq="D")),
    "series of intervals": lambda v: pd.Series(pd.interval_range(0, len(v))),
    "series, no name": lambda v: pd.Series(v, name=None),
    "series of NA": lambda v: pd.Series(_gappy([1] * len(v), pd.NA), dtype="Int64"),
    "boolean": lambda v: pd.Series(_gappy([True] * len(v), pd.NA), dtype="boolean"),
    "sparse series": lambda v: pd.Series(np.arange(len(v)) % 2, dtype=pd.SparseDtype(int)),
    "category": lambda v: pd.Categorical([str(x) for x in v]),
    "category, unused": lambda v: pd.Categorical(
        [str(x) for x in v], ["zz", *sorted({str(x) for x in v}), "yy"]
    ),
    "category of numbers": lambda v: pd.Series(np.arange(len(v)) % 2).astype("category"),
    "category with gaps": lambda v: pd.Categorical(_gappy([str(x) for x in v], None)),
    "index": pd.Index,
    "MultiIndex": lambda v: _pairs(len(v)),
    "frame": lambda v: pd.DataFrame({"x": v}),
    "frame of two": lambda v: pd.DataFrame({"x": v, "y": v}),
    "polars": lambda v: _polars([str(x) for x in v]),
    "polars with gaps": lambda v: _polars(_gappy([1.0] * len(v), None)),
    "polars lists": lambda v: _polars([[1, 2]] * len(v)),
    "arrow": lambda v: _arrow([str(x) for x in v]),
    "arrow with gaps": lambda v: _arrow(_gappy([1] * len(v), None)),
    "arrow dictionary": lambda v: _arrow([str(x) for x in v]).dictionary_encode(),
}


def odd_value(random: Random, like: Any) -> tuple[str, Any]:
    """An odd value and its name; in place of a column, mostly a column."""
    column = like.tolist() if isinstance(like, (np.ndarray, pd.Series)) and like.ndim == 1 else like
    flat = isinstance(column, list) and len(column) > 2 and not isinstance(column[0], list)
    if flat and random.random() < 0.75:
        name = random.choice(list(COLUMN))
        return f"column {name}", COLUMN[name](column)
    name = random.choice(list(SINGLE))
    return name, SINGLE[name]()
