"""The one door to R: lazy, locked, converts, and turns R's conditions into exceptions and warnings.

R starts with the first `call`, without the user's profile (its library paths are kept), so that numbers do not
depend on it. One lock for the process: R is not re-entrant, and rpy2 lets go of Python's lock while R computes.
Nothing of R leaves the lock: values are copied on both ways.
"""

from __future__ import annotations

import atexit
import os
import re
import signal
import sys
import threading
import warnings
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from fairstats._version import __version__
from fairstats.ground import errors, rconvert
from fairstats.ground.checks import as_generator
from fairstats.ground.rconvert import from_r, to_r
from fairstats.ground.rprobe import RProbe, diagnose, probe_r, settle_probe

#: Options of the embedded R: no workspace, no profile.
_OPTIONS = ("rpy2", "--quiet", "--no-save", "--no-restore", "--no-init-file", "--no-site-file")
#: R functions that load the code and call a function of it.
_IN_R = Path(__file__).with_name("session.R").read_text(encoding="utf-8")
_FUNCTION = re.compile(r"(?:[A-Za-z][\w.]*::)?[A-Za-z.][\w.]*")


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
    if not _FUNCTION.fullmatch(function):
        raise errors.InputError("function", got=repr(function), allowed='an R function, "name" or "package::name"')
    seed = int(as_generator(rng)[0].integers(2**31 - 1))
    _refuse_forked_child()
    with _lock:
        session = _start()
        with rconvert.interruptible(session.rlib) as stopped:
            kind, value, warned, printed = _evaluate(session, function, args, kwargs, seed)
    if stopped or kind == "interrupt":
        rconvert.interrupt()
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
        with rconvert.quiet_start():
            ri = _import_rpy2(found)
            from rpy2.rinterface_lib import callbacks, embedded, openrlib

            if not embedded.isinitialized():
                embedded.set_initoptions(_OPTIONS)
                variables = tuple((k, v) for k, v in found.variables.items() if os.environ.get(k) != v)
                with rconvert.replaced(ri, **({"_getrenvvars": lambda: variables} if variables else {})):
                    ri.initr()
    except Exception as error:  # ffi.error, RuntimeError, ValueError, …
        cause, cure = diagnose(f"{type(error).__name__}: {error}")
        raise errors.BackendError(f"R cannot be started: {cause}. To fix: {cure}.") from error
    finally:
        if threading.current_thread() is threading.main_thread() and before is not None:
            signal.signal(signal.SIGINT, before)  # rpy2 takes SIGINT at the start
    with rconvert.console(callbacks) as printed:
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
    with rconvert.replaced(situation, r_ld_library_path_from_subprocess=lambda home: path):
        return import_module("rpy2.rinterface")


def _evaluate(
    session: _Session, function: str, args: tuple[Any, ...], kwargs: dict[str, Any], seed: int
) -> tuple[str, Any, list[tuple[str, str]], str]:
    """(kind, value, warnings, printed) of one call; kind is "value", "error" or "interrupt".

    Errors are returned, not raised: a traceback would keep objects of R alive outside the lock.
    """
    ri = session.ri
    with rconvert.console(session.callbacks) as printed:
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
