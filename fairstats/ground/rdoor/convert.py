"""Values on their way to R and back, and what a call of R came to: one rule for both doors.

`rsession` calls R within this process by rpy2, `aside` by a process of Rscript; both pass their
classes of vectors as `ri`: ``rpy2.rinterface``, or `wire`, whose classes bear the same names.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fairstats.ground import errors
from fairstats.ground.checks import as_generator

#: R's integers.
_LARGEST_R_INTEGER = 2**31 - 1
NA_INTEGER = -(2**31)


def check_function(function: str) -> None:
    """InputError unless this is the name of a function, with its package or without."""
    if not re.fullmatch(r"(?:[A-Za-z][\w.]*::)?[A-Za-z.][\w.]*", function):
        raise errors.InputError(
            "function", got=repr(function), allowed='an R function, "name" or "package::name"'
        )


def draw_r_seed(rng: Any) -> int:
    """R's seed for one call."""
    return int(as_generator(rng)[0].integers(2**31 - 1))


def deliver_answer(
    answer_kind: str,
    answer: Any,
    r_warnings: list[tuple[str, str]],
    printed: str,
) -> Any:
    """The value that R returned; its warnings are warned of, and its error is raised."""
    if isinstance(answer, errors.FairstatsError):
        raise answer
    for message_text, call_text in r_warnings:
        warnings.warn(
            f"R: {message_text.strip()}{_in_call_words(call_text)}",
            errors.FairstatsWarning,
            stacklevel=3,
        )
    if answer_kind == "error":
        message_text, call_text = answer
        r_error = errors.RBackendError(f"R: {message_text.strip()}{_in_call_words(call_text)}")
        if printed.strip():
            r_error.add_note(f"R had printed:\n{printed.strip()}")
        raise r_error
    return answer


def r_code_folder(package: Path | None = None) -> Path | None:
    """Folder of the project's R code.

    ``../r/R`` beside the package (a source tree), else ``_r/R`` within it.
    """
    package = package or Path(__file__).resolve().parents[2]
    source_folder = package.parent / "r"
    if (source_folder / "DESCRIPTION").is_file() and (source_folder / "R").is_dir():
        return source_folder / "R"
    packaged_folder = package / "_r" / "R"
    if packaged_folder.is_dir():
        return packaged_folder
    return None


def _in_call_words(call_text: str) -> str:
    if call_text:
        return f" (in R's call `{call_text}`)"
    return ""


def to_r_arguments(args: tuple[Any, ...], kwargs: Mapping[str, Any], ri: Any) -> Any:
    """R's list of the arguments of a call."""
    values = ri.ListSexpVector([to_r(value, ri) for value in (*args, *kwargs.values())])
    if kwargs:
        values.names = ri.StrSexpVector(["" for _ in args] + list(kwargs))
    return values


def from_r_answer(r_answer: Any, ri: Any) -> tuple[str, Any, list[tuple[str, str]]]:
    """Kind, value and warnings of what `call` of session.R returned."""
    r_warnings = [(str(r_warning[0]), str(r_warning[1])) for r_warning in r_answer[2]]
    return str(r_answer[0][0]), from_r(r_answer[1], ri), r_warnings


def to_r(value: Any, ri: Any) -> Any:
    """R object of a Python value; raises `InputError` for what R cannot hold."""
    if value is None:
        return ri.NULL
    if isinstance(value, str):
        return ri.StrSexpVector([value])
    if isinstance(value, Mapping):
        r_list = ri.ListSexpVector([to_r(entry, ri) for entry in value.values()])
        if value:
            r_list.names = ri.StrSexpVector([str(entry_name) for entry_name in value])
        return r_list
    if isinstance(value, (list, tuple)):
        if value and all(isinstance(entry, str) for entry in value):
            return ri.StrSexpVector(list(value))
        all_plain = all(
            isinstance(entry, (bool, int, float, np.bool_, np.integer, np.floating))
            for entry in value
        )
        if all_plain:
            return _array_to_r(np.asarray(value), ri)
        return ri.ListSexpVector([to_r(entry, ri) for entry in value])
    if isinstance(value, (bool, np.bool_)):
        return ri.BoolSexpVector([bool(value)])
    if isinstance(value, (int, np.integer)):
        fits_integer = abs(int(value)) <= _LARGEST_R_INTEGER
        if fits_integer:
            return ri.IntSexpVector([int(value)])
        return ri.FloatSexpVector([float(value)])
    if isinstance(value, (float, np.floating)):
        return ri.FloatSexpVector([float(value)])
    if hasattr(value, "__array__"):
        return _array_to_r(np.asarray(value), ri)
    allowed = "None, numbers, text, arrays, lists and mappings of these"
    advice = "convert it before handing it to R"
    raise errors.InputError("value", got=f"a {type(value).__name__}", allowed=allowed, cure=advice)


def _array_to_r(values: np.ndarray[Any, Any], rinterface: Any) -> Any:
    """A vector, matrix or array of R with the values of a NumPy array."""
    flat_values = values.ravel(order="F")
    dtype_kind = values.dtype.kind
    if not flat_values.size:
        r_vector = {"f": rinterface.FloatSexpVector, "b": rinterface.BoolSexpVector}.get(
            dtype_kind, rinterface.IntSexpVector
        )([])
    elif dtype_kind == "b":
        r_vector = rinterface.BoolSexpVector.from_memoryview(
            np.ascontiguousarray(flat_values, dtype=np.intc).data
        )
    elif (
        dtype_kind in "iu"
        and flat_values.min() > NA_INTEGER
        and flat_values.max() <= _LARGEST_R_INTEGER
    ):
        r_vector = rinterface.IntSexpVector.from_memoryview(
            np.ascontiguousarray(flat_values, dtype=np.intc).data
        )
    elif dtype_kind in "iuf":
        r_vector = rinterface.FloatSexpVector.from_memoryview(
            np.ascontiguousarray(flat_values, dtype=np.float64).data
        )
    elif dtype_kind == "U" or (
        dtype_kind == "O" and all(isinstance(each_value, str) for each_value in flat_values)
    ):
        r_vector = rinterface.StrSexpVector(flat_values.tolist())
    else:
        received = f"an array of {values.dtype}"
        advice = "convert it with astype(float) before handing it to R"
        raise errors.InputError(
            "value",
            got=received,
            allowed="arrays of numbers, booleans or text",
            cure=advice,
        )
    if values.ndim > 1:
        r_vector.do_slot_assign("dim", rinterface.IntSexpVector(list(values.shape)))
    return r_vector


def from_r(value: Any, ri: Any) -> Any:
    """Python value of an R object.

    Raises `BackendError` for functions, environments and the like.
    """
    if isinstance(value, ri.NULLType):
        return None
    if isinstance(value, ri.StrSexpVector):
        texts = []
        for text_value in value:
            texts.append(None if text_value is ri.NA_Character else str(text_value))
        if len(texts) == 1 and r_attribute(value, "dim") is None:
            return texts[0]
        return texts
    if isinstance(value, ri.FloatSexpVector):
        return _with_dimensions(copy_values(value, np.float64), value)
    if isinstance(value, (ri.IntSexpVector, ri.BoolSexpVector)):
        return _from_integers(value, ri)
    if isinstance(value, ri.ListSexpVector):
        list_entries = [from_r(value[entry_number], ri) for entry_number in range(len(value))]
        names = r_attribute(value, "names")
        if names is None:
            return list_entries
        return dict(zip(map(str, names), list_entries, strict=True))
    raise errors.BackendError(
        f"R returned a {type(value).__name__}, which has no counterpart in Python"
    )


def copy_values(value: Any, dtype: Any) -> np.ndarray[Any, Any]:
    """The numbers of a vector of R, as an array of Python's own."""
    # By NumPy's array interface: each `memoryview()` of rpy2 takes a reference from None that it
    # never had, so that before Python 3.12 a process that has read some ten thousand vectors dies
    # of it.
    return np.array(value if len(value) else [], dtype=dtype)


def _from_integers(value: Any, rinterface: Any) -> Any:
    codes = copy_values(value, np.int64)
    levels = r_attribute(value, "levels")
    if levels is not None:
        labels = [str(level) for level in levels]
        result = []
        for level_code in codes.tolist():
            result.append(None if level_code == NA_INTEGER else labels[level_code - 1])
        return result
    lacking = codes == NA_INTEGER
    if lacking.any():
        return _with_dimensions(np.where(lacking, np.nan, codes), value)
    return _with_dimensions(
        codes.astype(bool) if isinstance(value, rinterface.BoolSexpVector) else codes, value
    )


def _with_dimensions(flat_values: np.ndarray[Any, Any], value: Any) -> Any:
    dimensions = r_attribute(value, "dim")
    if dimensions is None:
        if flat_values.size == 1:
            return flat_values[0].item()
        return flat_values
    return flat_values.reshape(tuple(int(dimension) for dimension in dimensions), order="F")


def r_attribute(value: Any, attribute_name: str) -> Any:
    """An attribute of an object of R; None where it has none of this name."""
    try:
        return value.do_slot(attribute_name)
    except LookupError:
        return None
