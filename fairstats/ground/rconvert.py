"""Values between Python and R, by copy.

Every function takes the module ``rpy2.rinterface`` as its last argument; only `fairstats.ground.rsession`
imports it, and calls these while it holds the lock.

============================  =============================  ======================================
Python                        R                              back again
============================  =============================  ======================================
None                          NULL                           None
bool, int, float, str         a vector of length one         bool, int, float, str
array, list of numbers        numeric, integer, logical      ndarray of float64, int64, bool
array of two or more axes     matrix, array                  ndarray in the same shape
list of str                   character                      list of str
mapping                       named list                     dict
other list, tuple             list                           list
============================  =============================  ======================================

A vector of length one comes back as a scalar unless it has dimensions; a data frame as a dict of its
columns; a factor as its labels; integers and logicals with NA as float64 with NaN; ``NA_character_`` as None.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fairstats.ground.errors import BackendError, InputError

__all__ = ["from_r", "to_r"]

_LARGEST = 2**31 - 1
_NA_INTEGER = -(2**31)


def to_r(value: Any, ri: Any) -> Any:
    """R object of a Python value; raises `InputError` for what R cannot hold."""
    if value is None:
        return ri.NULL
    if isinstance(value, str):
        return ri.StrSexpVector([value])
    if isinstance(value, Mapping):
        return _named_list(value, ri)
    if isinstance(value, (list, tuple)):
        return _sequence(value, ri)
    if isinstance(value, (bool, np.bool_)):
        return ri.BoolSexpVector([bool(value)])
    if isinstance(value, (int, np.integer)):
        small = abs(int(value)) <= _LARGEST
        return ri.IntSexpVector([int(value)]) if small else ri.FloatSexpVector([float(value)])
    if isinstance(value, (float, np.floating)):
        return ri.FloatSexpVector([float(value)])
    if hasattr(value, "__array__"):
        return _array(np.asarray(value), ri)
    raise InputError(
        "value",
        got=f"a {type(value).__name__}",
        allowed="None, numbers, text, arrays, lists and mappings of these",
        cure="convert it before handing it to R",
    )


def _sequence(values: list[Any] | tuple[Any, ...], ri: Any) -> Any:
    if values and all(isinstance(v, str) for v in values):
        return ri.StrSexpVector(list(values))
    if all(isinstance(v, (bool, int, float, np.bool_, np.integer, np.floating)) for v in values):
        return _array(np.asarray(values), ri)
    return ri.ListSexpVector([to_r(v, ri) for v in values])


def _named_list(values: Mapping[Any, Any], ri: Any) -> Any:
    out = ri.ListSexpVector([to_r(v, ri) for v in values.values()])
    if values:
        out.names = ri.StrSexpVector([str(name) for name in values])
    return out


def _array(values: np.ndarray[Any, Any], ri: Any) -> Any:
    flat = values.ravel(order="F")
    kind = values.dtype.kind
    if not flat.size:
        out = (ri.FloatSexpVector if kind == "f" else ri.BoolSexpVector if kind == "b" else ri.IntSexpVector)(
            []
        )
    elif kind == "b":
        out = ri.BoolSexpVector.from_memoryview(np.ascontiguousarray(flat, dtype=np.intc).data)
    elif kind in "iu" and flat.min() > _NA_INTEGER and flat.max() <= _LARGEST:
        out = ri.IntSexpVector.from_memoryview(np.ascontiguousarray(flat, dtype=np.intc).data)
    elif kind in "iuf":
        out = ri.FloatSexpVector.from_memoryview(np.ascontiguousarray(flat, dtype=np.float64).data)
    elif kind == "U" or (kind == "O" and all(isinstance(v, str) for v in flat)):
        out = ri.StrSexpVector(flat.tolist())
    else:
        raise InputError(
            "value",
            got=f"an array of {values.dtype}",
            allowed="arrays of numbers, booleans or text",
            cure="convert it with astype(float) before handing it to R",
        )
    if values.ndim > 1:
        out.do_slot_assign("dim", ri.IntSexpVector(list(values.shape)))
    return out


def from_r(value: Any, ri: Any) -> Any:
    """Python value of an R object; raises `BackendError` for functions, environments and the like."""
    if isinstance(value, ri.NULLType):
        return None
    if isinstance(value, ri.StrSexpVector):
        return _scalar_or([None if v is ri.NA_Character else str(v) for v in value], value)
    if isinstance(value, ri.FloatSexpVector):
        return _shaped(_copied(value, np.float64), value)
    if isinstance(value, (ri.IntSexpVector, ri.BoolSexpVector)):
        return _whole(value, ri)
    if isinstance(value, ri.ListSexpVector):
        items = [from_r(value[i], ri) for i in range(len(value))]
        names = _attribute(value, "names")
        return items if names is None else dict(zip(map(str, names), items, strict=True))
    raise BackendError(f"R returned a {type(value).__name__}, which has no counterpart in Python")


def _copied(value: Any, dtype: Any) -> np.ndarray[Any, Any]:
    return np.array(value.memoryview() if len(value) else [], dtype=dtype)


def _whole(value: Any, ri: Any) -> Any:
    codes = _copied(value, np.int64)
    levels = _attribute(value, "levels")
    if levels is not None:
        labels = [str(level) for level in levels]
        return [None if code == _NA_INTEGER else labels[code - 1] for code in codes.tolist()]
    lacking = codes == _NA_INTEGER
    if lacking.any():
        return _shaped(np.where(lacking, np.nan, codes), value)
    return _shaped(codes.astype(bool) if isinstance(value, ri.BoolSexpVector) else codes, value)


def _shaped(flat: np.ndarray[Any, Any], value: Any) -> Any:
    dim = _attribute(value, "dim")
    if dim is not None:
        return flat.reshape(tuple(int(d) for d in dim), order="F")
    return flat[0].item() if flat.size == 1 else flat


def _scalar_or(items: list[Any], value: Any) -> Any:
    return items[0] if len(items) == 1 and _attribute(value, "dim") is None else items


def _attribute(value: Any, name: str) -> Any:
    try:
        return value.do_slot(name)
    except LookupError:
        return None
