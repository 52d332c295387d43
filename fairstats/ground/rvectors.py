"""Vectors, factors and data frames of R that a user holds in Python, as columns and frames of pandas."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from fairstats.ground import rsession
from fairstats.ground.lazy import pd


def column_of(value: Any) -> Any:
    """A vector of R that a user holds as a pandas column, a data frame of R as a pandas frame.

    NA is missing in every type, factors become categoricals with their labels, dates and moments pandas' own. Raises
    TypeError for what is no vector.
    """
    ri = sys.modules["rpy2.rinterface"]
    with rsession._lock:
        if isinstance(value, ri.ListSexpVector) and rsession._attribute(value, "names") is not None:
            names = [str(name) for name in rsession._attribute(value, "names")]
            columns = {name: column_of(value[position]) for position, name in enumerate(names)}
            return pd.DataFrame(columns)
        classes = [str(name) for name in rsession._attribute(value, "class") or ()]
        if isinstance(value, ri.StrSexpVector):
            return pd.Series([None if v is ri.NA_Character else str(v) for v in value], dtype=object)
        if isinstance(value, ri.FloatSexpVector):
            return _numbers_or_dates(np.array(rsession._copied(value, np.float64)), classes)
        if not isinstance(value, (ri.IntSexpVector, ri.BoolSexpVector)):
            raise TypeError(f"a {type(value).__name__}")
        codes = rsession._copied(value, np.int64)
        lacking = codes == rsession._NA_INTEGER
        levels = rsession._attribute(value, "levels")
        if levels is not None:
            labels = [str(level) for level in levels]
            places: Any = np.where(lacking, -1, codes - 1)
            return pd.Series(pd.Categorical.from_codes(places, pd.Index(labels), ordered="ordered" in classes))
        if "Date" in classes or "POSIXct" in classes:
            return _numbers_or_dates(np.where(lacking, np.nan, codes), classes)
        if isinstance(value, ri.BoolSexpVector):
            return pd.Series(pd.arrays.BooleanArray(codes.astype(bool), lacking))
        return pd.Series(pd.arrays.IntegerArray(np.where(lacking, 0, codes), lacking))


def _numbers_or_dates(numbers: np.ndarray[Any, Any], classes: list[str]) -> Any:
    """Numbers of R as they are; days since 1970 as dates, seconds since 1970 as moments in UTC."""
    if "Date" in classes:
        days = np.where(np.isnan(numbers), np.iinfo(np.int64).min, np.floor(numbers)).astype(np.int64)
        return pd.Series(days.view("M8[D]").astype("M8[s]"))
    if "POSIXct" in classes:
        return pd.Series(pd.to_datetime(numbers, unit="s", utc=True))
    return pd.Series(numbers)
