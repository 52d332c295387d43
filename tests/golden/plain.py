"""Results as plain JSON values, independent of how the package itself serialises them."""

from __future__ import annotations

import math
import re
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pandas as pd

__all__ = ["LONG", "flatten", "plain", "words"]

#: Longer runs of numbers are kept as length, sums and ends.
LONG = 200
_ENDS = 20

#: Attributes of results, beside their fields.
ATTRIBUTES = (
    "estimate",
    "std_error",
    "statistic",
    "pvalue",
    "confidence_interval",
    "verdict",
    "reference",
    "bandwidth",
    "grid_bins",
    "lower_limit",
    "null_mean",
    "bias_corrected",
    "mid_pvalue",
    "h_sup",
    "crude",
    "d",
    "d_f",
    "hfm",
    "p_a_better",
    "p_b_better",
    "p_equivalent",
    "paired",
    "passed",
)

#: Differs from run to run or from machine to machine.
VOLATILE = frozenset(
    {"seconds", "created", "versions", "n_distances", "n_tree_queries", "n_loop_queries"}
)

_VERSION = re.compile(
    r"\b(scipy|numpy|statsmodels|pandas|scikit-learn|sklearn|fairstats|Python) \d[\w.+]*"
)
#: How much work a distance took, which the machine's load decides.
_ROUTE = re.compile(
    r"[\d,]+ of [\d,]+ distances evaluated(, [\d,]+ quer\w+ of a tree)?(, [\d,]+ rows in a loop)?;"
    r" [\d.]+ s"
)


def plain(value: Any) -> Any:
    """`value` as dictionaries, lists, text and numbers; long runs of numbers are reduced."""
    if value is None or isinstance(value, (bool, np.bool_)):
        return None if value is None else bool(value)
    if isinstance(value, str):
        return _ROUTE.sub("…", _VERSION.sub(r"\1 *", value))
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return _number(float(value))
    if isinstance(value, np.ndarray):
        return _array(value)
    if isinstance(value, pd.DataFrame):
        return {"columns": {str(n): _column(value[n]) for n in value.columns if n not in VOLATILE}}
    if isinstance(value, pd.Series):
        return _column(value)
    if value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, dict):
        return _dictionary(value)
    if isinstance(value, (list, tuple, pd.Index)):
        return _sequence(list(value))
    if hasattr(value, "to_dict") and hasattr(value, "to_frame"):
        return _result(value)
    if is_dataclass(value) and not isinstance(value, type):
        shown = {
            f.name: plain(getattr(value, f.name))
            for f in fields(value)
            if f.init and f.name not in VOLATILE
        }
        return {"class": type(value).__name__, **shown}
    return plain(str(value))


def _number(value: float) -> Any:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")


def _result(value: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"result class": type(value).__name__, "fields": plain(value.to_dict())}
    found["table"] = plain(value.to_frame())
    for name in ("sentences", "notes"):
        part = words(value, name)
        if part is not None:
            found[name] = plain(part)
    given = {name: getattr(value, name) for name in ATTRIBUTES if hasattr(value, name)}
    found["attributes"] = {name: plain(part) for name, part in given.items() if not callable(part)}
    return found


def words(value: Any, name: str) -> Any:
    """What ``value.<name>()`` says, None where the class says nothing."""
    part = getattr(value, name, None)
    return part() if callable(part) else part


def _dictionary(value: dict[Any, Any]) -> Any:
    if set(value) == {"float"}:  # how results write what JSON cannot hold
        return value["float"]
    if set(value) == {"array", "dtype", "shape"}:
        return _array(np.array(_undo(value["array"])).reshape(value["shape"]))
    if set(value) == {"mapping"}:
        return _dictionary(value["mapping"])
    return {str(k): plain(v) for k, v in value.items() if k not in VOLATILE}


def _undo(value: Any) -> Any:
    if isinstance(value, list):
        return [_undo(v) for v in value]
    if isinstance(value, dict) and set(value) == {"float"}:
        return {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}[value["float"]]
    return value


def _array(value: np.ndarray[Any, Any]) -> Any:
    if value.dtype.kind in "biuf" and value.size > LONG:
        return _reduced(value.astype(float).ravel(), list(value.shape))
    return _sequence(value.tolist())


def _sequence(value: list[Any]) -> Any:
    if len(value) > LONG:
        if all(isinstance(v, (int, float, np.number)) and not isinstance(v, bool) for v in value):
            return _reduced(np.array(value, dtype=float), [len(value)])
        return {"length": len(value), "first": plain(value[:_ENDS]), "last": plain(value[-_ENDS:])}
    return [plain(v) for v in value]


def _reduced(values: np.ndarray[Any, Any], shape: list[int]) -> dict[str, Any]:
    finite = values[np.isfinite(values)]
    return {
        "shape": shape,
        "n_finite": int(finite.size),
        "sum": math.fsum(finite),
        "sum_of_squares": math.fsum(finite**2),
        "first": [_number(v) for v in values[:_ENDS].tolist()],
        "last": [_number(v) for v in values[-_ENDS:].tolist()],
    }


def _column(column: pd.Series[Any]) -> Any:
    """A column; None and NaN are the same there."""
    values = [
        "NaN" if missing else v for v, missing in zip(column.tolist(), column.isna(), strict=True)
    ]
    if (
        len(values) > LONG
        and pd.api.types.is_numeric_dtype(column)
        and not pd.api.types.is_bool_dtype(column)
    ):
        return _reduced(column.to_numpy(dtype=float, na_value=np.nan), [len(values)])
    return _sequence(values)


def flatten(value: Any, path: str = "") -> dict[str, Any]:
    """Path → leaf."""
    if isinstance(value, dict):
        parts = [flatten(v, f"{path}/{k}") for k, v in value.items()]
    elif isinstance(value, list):
        parts = [flatten(v, f"{path}/{k}") for k, v in enumerate(value)]
    else:
        return {path: value}
    return {k: v for part in parts for k, v in part.items()}
