"""Vectors, factors and data frames of R that a user holds in Python, as columns and frames of
pandas.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from fairstats.ground import rsession
from fairstats.ground.lazy import pd
from fairstats.ground.rdoor import convert


def column_of(value: Any) -> Any:
    """A vector of R that a user holds as a pandas column, a data frame of R as a pandas frame.

    NA is missing in every type, factors become categoricals with their labels, dates and moments
    pandas' own. Raises TypeError for what is no vector.
    """
    rinterface = sys.modules["rpy2.rinterface"]
    with rsession._lock:
        if (
            isinstance(value, rinterface.ListSexpVector)
            and convert.r_attribute(value, "names") is not None
        ):
            names = [str(entry_name) for entry_name in convert.r_attribute(value, "names")]
            columns = {}
            for position, entry_name in enumerate(names):
                columns[entry_name] = column_of(value[position])
            return pd.DataFrame(columns)
        r_classes = [str(entry_name) for entry_name in convert.r_attribute(value, "class") or ()]
        if isinstance(value, rinterface.StrSexpVector):
            return pd.Series(
                [
                    None if text_value is rinterface.NA_Character else str(text_value)
                    for text_value in value
                ],
                dtype=object,
            )
        if isinstance(value, rinterface.FloatSexpVector):
            return _numbers_or_dates(np.array(convert.copy_values(value, np.float64)), r_classes)
        if not isinstance(value, (rinterface.IntSexpVector, rinterface.BoolSexpVector)):
            raise TypeError(f"a {type(value).__name__}")
        codes = convert.copy_values(value, np.int64)
        lacking = codes == convert.NA_INTEGER
        levels = convert.r_attribute(value, "levels")
        if levels is not None:
            labels = [str(level) for level in levels]
            places: Any = np.where(lacking, -1, codes - 1)
            return pd.Series(
                pd.Categorical.from_codes(places, pd.Index(labels), ordered="ordered" in r_classes)
            )
        if "Date" in r_classes or "POSIXct" in r_classes:
            return _numbers_or_dates(np.where(lacking, np.nan, codes), r_classes)
        if isinstance(value, rinterface.BoolSexpVector):
            return pd.Series(pd.arrays.BooleanArray(codes.astype(bool), lacking))
        return pd.Series(pd.arrays.IntegerArray(np.where(lacking, 0, codes), lacking))


def _numbers_or_dates(numbers: np.ndarray[Any, Any], classes: list[str]) -> Any:
    """Numbers of R as they are; days since 1970 as dates, seconds since 1970 as moments in UTC."""
    if "Date" in classes:
        days = np.where(np.isnan(numbers), np.iinfo(np.int64).min, np.floor(numbers)).astype(
            np.int64
        )
        return pd.Series(days.view("M8[D]").astype("M8[s]"))
    if "POSIXct" in classes:
        return pd.Series(pd.to_datetime(numbers, unit="s", utc=True))
    return pd.Series(numbers)
