"""Between Python and R: values in both directions, and the guards around a call."""

from __future__ import annotations

import logging
import os
import signal
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np

from fairstats.ground.errors import BackendError, InputError

_LARGEST = 2**31 - 1
_NA_INTEGER = -(2**31)


def to_r(value: Any, ri: Any) -> Any:
    """R object of a Python value; raises `InputError` for what R cannot hold."""
    if value is None:
        return ri.NULL
    if isinstance(value, str):
        return ri.StrSexpVector([value])
    if isinstance(value, Mapping):
        out = ri.ListSexpVector([to_r(v, ri) for v in value.values()])
        if value:
            out.names = ri.StrSexpVector([str(name) for name in value])
        return out
    if isinstance(value, (list, tuple)):
        if value and all(isinstance(v, str) for v in value):
            return ri.StrSexpVector(list(value))
        plain = all(isinstance(v, (bool, int, float, np.bool_, np.integer, np.floating)) for v in value)
        return _array(np.asarray(value), ri) if plain else ri.ListSexpVector([to_r(v, ri) for v in value])
    if isinstance(value, (bool, np.bool_)):
        return ri.BoolSexpVector([bool(value)])
    if isinstance(value, (int, np.integer)):
        small = abs(int(value)) <= _LARGEST
        return ri.IntSexpVector([int(value)]) if small else ri.FloatSexpVector([float(value)])
    if isinstance(value, (float, np.floating)):
        return ri.FloatSexpVector([float(value)])
    if hasattr(value, "__array__"):
        return _array(np.asarray(value), ri)
    allowed, cure = "None, numbers, text, arrays, lists and mappings of these", "convert it before handing it to R"
    raise InputError("value", got=f"a {type(value).__name__}", allowed=allowed, cure=cure)


def _array(values: np.ndarray[Any, Any], ri: Any) -> Any:
    flat = values.ravel(order="F")
    kind = values.dtype.kind
    if not flat.size:
        out = {"f": ri.FloatSexpVector, "b": ri.BoolSexpVector}.get(kind, ri.IntSexpVector)([])
    elif kind == "b":
        out = ri.BoolSexpVector.from_memoryview(np.ascontiguousarray(flat, dtype=np.intc).data)
    elif kind in "iu" and flat.min() > _NA_INTEGER and flat.max() <= _LARGEST:
        out = ri.IntSexpVector.from_memoryview(np.ascontiguousarray(flat, dtype=np.intc).data)
    elif kind in "iuf":
        out = ri.FloatSexpVector.from_memoryview(np.ascontiguousarray(flat, dtype=np.float64).data)
    elif kind == "U" or (kind == "O" and all(isinstance(v, str) for v in flat)):
        out = ri.StrSexpVector(flat.tolist())
    else:
        got, cure = f"an array of {values.dtype}", "convert it with astype(float) before handing it to R"
        raise InputError("value", got=got, allowed="arrays of numbers, booleans or text", cure=cure)
    if values.ndim > 1:
        out.do_slot_assign("dim", ri.IntSexpVector(list(values.shape)))
    return out


def from_r(value: Any, ri: Any) -> Any:
    """Python value of an R object; raises `BackendError` for functions, environments and the like."""
    if isinstance(value, ri.NULLType):
        return None
    if isinstance(value, ri.StrSexpVector):
        texts = [None if v is ri.NA_Character else str(v) for v in value]
        return texts[0] if len(texts) == 1 and _attribute(value, "dim") is None else texts
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
    # By NumPy's array interface: each `memoryview()` of rpy2 takes a reference from None that it never had,
    # so that before Python 3.12 a process that has read some ten thousand vectors dies of it.
    return np.array(value if len(value) else [], dtype=dtype)


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
    if dim is None:
        return flat[0].item() if flat.size == 1 else flat
    return flat.reshape(tuple(int(d) for d in dim), order="F")


def _attribute(value: Any, name: str) -> Any:
    try:
        return value.do_slot(name)
    except LookupError:
        return None


@contextmanager
def quiet_start() -> Iterator[None]:
    """Keep rpy2's log and warnings, and what the user's R profile prints, to ourselves while R starts.

    rpy2 may ask R for its environment in a process whose output it does not catch: that one gets no profile.
    """
    profiles = {name: os.environ.get(name) for name in ("R_PROFILE", "R_PROFILE_USER")}
    chatter = logging.getLogger("rpy2")
    level = chatter.level
    chatter.setLevel(logging.CRITICAL)
    os.environ.update(dict.fromkeys(profiles, os.devnull))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # among them: R is not started by the main thread
            yield
    finally:
        chatter.setLevel(level)
        for name in profiles:
            os.environ.pop(name, None)
        os.environ.update({name: value for name, value in profiles.items() if value is not None})


@contextmanager
def replaced(module: Any, **values: Any) -> Iterator[None]:
    """Give attributes of a module other values for a while; those that it does not have are left alone."""
    before = {name: getattr(module, name) for name in values if hasattr(module, name)}
    try:
        vars(module).update({name: values[name] for name in before})
        yield
    finally:
        vars(module).update(before)


@contextmanager
def console(callbacks: Any) -> Iterator[list[str]]:
    """Collect what R prints; nothing reaches stdout or stderr, and nothing is read from stdin."""
    printed: list[str] = []
    ours = dict.fromkeys(("consolewrite_print", "consolewrite_warnerror", "showmessage"), printed.append)
    with replaced(callbacks, **ours, consoleread=lambda prompt: ""):
        yield printed


@contextmanager
def interruptible(rlib: Any) -> Iterator[list[int]]:
    """Pass Ctrl-C on to R while it computes, in the main thread; yields the list of signals that came, for `interrupt`.

    Python's own handler would raise inside a callback from R, where the exception is lost; ours only sets R's flag.
    """
    seen: list[int] = []
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield seen
        return
    flag = "UserBreak" if os.name == "nt" else "R_interrupts_pending"

    def pass_on(signum: int, frame: Any) -> None:
        seen.append(signum)
        setattr(rlib, flag, 1)

    signal.signal(signal.SIGINT, pass_on)
    try:
        yield seen
    finally:
        signal.signal(signal.SIGINT, before)
        if seen:
            setattr(rlib, flag, 0)


def interrupt() -> NoReturn:
    """What Ctrl-C does in this program, then KeyboardInterrupt."""
    handler = signal.getsignal(signal.SIGINT)
    if callable(handler):
        handler(signal.SIGINT, None)
    raise KeyboardInterrupt
