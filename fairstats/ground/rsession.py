"""The one door to R: lazy, locked, converts, and turns R's conditions into exceptions and warnings.

R starts with the first `call`, without the user's profile (its library paths are kept), so that numbers do not
depend on it. One lock for the process: R is not re-entrant, and rpy2 lets go of Python's lock while R computes.
Nothing of R leaves the lock: values are copied on both ways.
"""

from __future__ import annotations

import atexit
import logging
import os
import re
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from fairstats._version import __version__
from fairstats.ground import errors
from fairstats.ground.checks import as_generator
from fairstats.ground.rprobe import RProbe, diagnose, probe_r, settle_probe

#: Options of the embedded R: no workspace, no profile.
_OPTIONS = ("rpy2", "--quiet", "--no-save", "--no-restore", "--no-init-file", "--no-site-file")
#: R functions that load the code and call a function of it.
_IN_R = Path(__file__).with_name("session.R").read_text(encoding="utf-8")
#: R's integers.
_LARGEST, _NA_INTEGER = 2**31 - 1, -(2**31)


@dataclass(frozen=True)
class _Session:
    """A running R and the functions that reach into it."""

    pid: int
    ri: Any
    callbacks: Any
    rlib: Any
    home: Any
    caller: Any


_lock = threading.RLock()
_running: _Session | None = None


def call(function: str, /, *args: Any, rng: Any = None, **kwargs: Any) -> Any:
    """Call a function of R (``"fit_gpd"`` of the project's code, or ``"package::function"``), and return its value.

    Arguments are None, numbers, text, arrays, lists and mappings of these; names that Python does not allow go in as
    ``**{"na.rm": True}``; `rng` gives R's seed for this call, and R's own generator is put back as it was. Raises
    BackendError if R or rpy2 cannot be used, also in a child forked after R had started; RBackendError with R's message
    and call, and what it printed as a note; KeyboardInterrupt on Ctrl-C, after which the session stays usable. Each
    warning of R is a FairstatsWarning.
    """
    if not re.fullmatch(r"(?:[A-Za-z][\w.]*::)?[A-Za-z.][\w.]*", function):
        raise errors.InputError("function", got=repr(function), allowed='an R function, "name" or "package::name"')
    seed = int(as_generator(rng)[0].integers(2**31 - 1))
    _refuse_forked_child()
    with _lock:
        session = _start()
        with interruptible(session.rlib) as stopped:
            kind, value, warned, printed = _evaluate(session, function, args, kwargs, seed)
    if stopped or kind == "interrupt":
        interrupt()
    if isinstance(value, errors.FairstatsError):
        raise value
    for text, where in warned:
        warnings.warn(f"R: {text.strip()}{_in(where)}", errors.FairstatsWarning, stacklevel=2)
    if kind == "error":
        text, where = value
        error = errors.RBackendError(f"R: {text.strip()}{_in(where)}")
        if printed.strip():
            error.add_note(f"R had printed:\n{printed.strip()}")
        raise error
    return value


def r_code_folder(package: Path | None = None) -> Path | None:
    """Folder of the project's R code: ``../r/R`` beside the package (a source tree), else ``_r/R`` within it."""
    package = package or Path(__file__).resolve().parents[1]
    beside = package.parent / "r"
    if (beside / "DESCRIPTION").is_file() and (beside / "R").is_dir():
        return beside / "R"
    within = package / "_r" / "R"
    return within if within.is_dir() else None


def _in(where: str) -> str:
    return f" (in R's call `{where}`)" if where else ""


def _refuse_forked_child() -> None:
    """Raise in a child of a process that had started R; asked before the lock, which may be held for ever."""
    started = None if _running is None else str(_running.pid)
    embedded = _embedded()
    if started is None and embedded is not None and embedded.isinitialized():
        match = re.search(r"current_pid=(\d+)", os.environ.get("PYTHON_SESSION_INITIALIZED", ""))
        started = match[1] if match else None
    if started is not None and started != str(os.getpid()):
        raise errors.BackendError(
            f"R was started in process {started}, of which this process ({os.getpid()}) is a forked child; "
            "R cannot be shared between processes. To fix: start workers with "
            'multiprocessing.get_context("spawn") or joblib\'s "loky", use threads, or pass backend="scipy".'
        )


def _embedded() -> Any:
    """rpy2's module that knows whether R runs, if anyone has imported it."""
    return sys.modules.get("rpy2.rinterface_lib.embedded")


def _after_fork_in_child() -> None:
    """A fresh lock, and no clean-up of the parent's R when this child ends."""
    global _lock
    _lock = threading.RLock()
    if _running is not None:
        atexit.unregister(_running.ri.endr)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


def _start() -> _Session:
    """The running session; R is started if it does not run yet."""
    global _running
    if _running is None:
        embedded = _embedded()
        found = RProbe("ok")
        if embedded is None or not embedded.isinitialized():
            found = probe_r()
            if not found.works:
                raise errors.BackendError(f"R cannot be used: {found.cause}. To fix: {found.cure}.")
            if found.cause:
                errors.caution(f"{found.cause}. To fix: {found.cure}.", errors.FairstatsWarning)
            settle_probe(found)
        _running = _open(found)
    return _running


def _open(found: RProbe) -> _Session:
    before = signal.getsignal(signal.SIGINT)
    try:
        with quiet_start():
            ri = _import_rpy2(found)
            from rpy2.rinterface_lib import callbacks, embedded, openrlib

            if not embedded.isinitialized():
                embedded.set_initoptions(_OPTIONS)
                variables = tuple((k, v) for k, v in found.variables.items() if os.environ.get(k) != v)
                with replaced(ri, **({"_getrenvvars": lambda: variables} if variables else {})):
                    ri.initr()
    except Exception as error:  # ffi.error, RuntimeError, ValueError, …
        cause, cure = diagnose(f"{type(error).__name__}: {error}")
        raise errors.BackendError(f"R cannot be started: {cause}. To fix: {cure}.") from error
    finally:
        if threading.current_thread() is threading.main_thread() and before is not None:
            signal.signal(signal.SIGINT, before)  # rpy2 takes SIGINT at the start
    with console(callbacks) as printed:
        folder = str(r_code_folder() or "")
        try:
            load, caller = ri.evalr(_IN_R, envir=ri.baseenv)
            home = load(to_r(__version__, ri), to_r(folder, ri), to_r(list(found.libraries), ri))
        except embedded.RRuntimeError as error:
            raise errors.RBackendError(f"R cannot load the R code of fairstats: {error}{''.join(printed)}") from None
        return _Session(pid=os.getpid(), ri=ri, callbacks=callbacks, rlib=openrlib.rlib, home=home, caller=caller)


def _import_rpy2(found: RProbe) -> Any:
    """The module ``rpy2.rinterface``; what the probe knows, rpy2 need not ask in further processes of R."""
    import rpy2.situation as situation

    if not found.variables:
        return import_module("rpy2.rinterface")
    path = found.variables.get("LD_LIBRARY_PATH", "")
    with replaced(situation, r_ld_library_path_from_subprocess=lambda home: path):
        return import_module("rpy2.rinterface")


def _evaluate(
    session: _Session, function: str, args: tuple[Any, ...], kwargs: dict[str, Any], seed: int
) -> tuple[str, Any, list[tuple[str, str]], str]:
    """(kind, value, warnings, printed) of one call; kind is "value", "error" or "interrupt".

    Errors are returned, not raised: a traceback would keep objects of R alive outside the lock.
    """
    ri = session.ri
    with console(session.callbacks) as printed:
        try:
            values = ri.ListSexpVector([to_r(v, ri) for v in (*args, *kwargs.values())])
            if kwargs:
                values.names = ri.StrSexpVector(["" for _ in args] + list(kwargs))
            out = session.caller(session.home, to_r(function, ri), values, to_r(seed, ri))
            warned = [(str(w[0]), str(w[1])) for w in out[2]]
            return str(out[0][0]), from_r(out[1], ri), warned, "".join(printed)
        except errors.FairstatsError as error:  # a value that cannot be converted
            return "error", error.with_traceback(None), [], ""
        except Exception as error:  # noqa: BLE001 - rpy2's RRuntimeError is a bare Exception
            return "error", (str(error), ""), [], "".join(printed)


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
    raise errors.InputError("value", got=f"a {type(value).__name__}", allowed=allowed, cure=cure)


def _array(values: np.ndarray[Any, Any], ri: Any) -> Any:
    flat, kind = values.ravel(order="F"), values.dtype.kind
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
        raise errors.InputError("value", got=got, allowed="arrays of numbers, booleans or text", cure=cure)
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
    raise errors.BackendError(f"R returned a {type(value).__name__}, which has no counterpart in Python")


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

    rpy2 may ask R for its environment in a process whose output it does not catch: that one gets no profile. R's start
    puts the system's folders into ``LD_LIBRARY_PATH``, which this process never reads again; a Python that it starts
    later (a Jupyter kernel, a worker) would load the system's libpython in place of its own.
    """
    profiles = ("R_PROFILE", "R_PROFILE_USER")
    chatter = logging.getLogger("rpy2")
    level = chatter.level
    with _environment_as_before(*profiles, "LD_LIBRARY_PATH"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # among them: R is not started by the main thread
        os.environ.update(dict.fromkeys(profiles, os.devnull))
        chatter.setLevel(logging.CRITICAL)
        try:
            yield
        finally:
            chatter.setLevel(level)


@contextmanager
def _environment_as_before(*names: str) -> Iterator[None]:
    """Give these variables of the environment back as they were."""
    before = {name: os.environ[name] for name in names if name in os.environ}
    try:
        yield
    finally:
        for name in names:
            os.environ.pop(name, None)
        os.environ.update(before)


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
