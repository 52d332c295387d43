"""The one door to R: lazy, locked, converts, and turns R's conditions into exceptions and warnings.

R starts with the first `call`, without the user's profile (its library paths are kept), so that
numbers do not depend on it. One lock for the process: R is not re-entrant, and rpy2 lets go of
Python's lock while R computes. Nothing of R leaves the lock: values are copied on both ways.
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
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from fairstats._version import __version__
from fairstats.ground import errors
from fairstats.ground.rdoor.aside import call_aside, probe_rscript
from fairstats.ground.rdoor.convert import (
    check_function,
    deliver_answer,
    draw_r_seed,
    from_r_answer,
    r_code_folder,
    to_r,
    to_r_arguments,
)
from fairstats.ground.rprobe import RProbe, diagnose, probe_r, settle_probe

#: Options of the embedded R: no workspace, no profile.
_R_OPTIONS = ("rpy2", "--quiet", "--no-save", "--no-restore", "--no-init-file", "--no-site-file")
#: R functions that load the code and call a function of it.
_IN_R = Path(__file__).with_name("session.R").read_text(encoding="utf-8")


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
    """Call a function of R (``"fit_gpd"`` of the project's code, or ``"package::function"``), and
    return its value.

    Arguments are None, numbers, text, arrays, lists and mappings of these; names that Python does
    not allow go in as ``**{"na.rm": True}``; `rng` gives R's seed for this call, and R's own
    generator is put back as it was. Where rpy2 is missing or does not work, R is asked by Rscript.
    Raises BackendError if neither works, also in a child forked after R had started; RBackendError
    with R's message and call, and what it printed as a note; KeyboardInterrupt on Ctrl-C, after
    which the session stays usable. Each warning of R is a FairstatsWarning.
    """
    check_function(function)
    r_seed = draw_r_seed(rng)
    _refuse_forked_child()
    if _goes_aside():
        return call_aside(function, *args, seed=r_seed, **kwargs)
    with _lock:
        session = _running_session()
        with interruptible(session.rlib) as stopped:
            answer_kind, answer, r_warnings, printed = _evaluate_call(
                session, function, args, kwargs, r_seed
            )
    if stopped or answer_kind == "interrupt":
        interrupt()
    return deliver_answer(answer_kind, answer, r_warnings, printed)


def _refuse_forked_child() -> None:
    """Raise in a child of a process that had started R.

    Asked before the lock, which may be held for ever.
    """
    if _running is None:
        starting_pid = None
    else:
        starting_pid = str(_running.pid)
    embedded = _embedded_module()
    if starting_pid is None and embedded is not None and embedded.isinitialized():
        pid_match = re.search(
            r"current_pid=(\d+)", os.environ.get("PYTHON_SESSION_INITIALIZED", "")
        )
        starting_pid = pid_match[1] if pid_match else None
    if starting_pid is not None and starting_pid != str(os.getpid()):
        raise errors.BackendError(
            f"R was started in process {starting_pid}, of which this process ({os.getpid()}) is a forked"
            " child; R cannot be shared between processes. To fix: start workers with"
            ' multiprocessing.get_context("spawn") or joblib\'s "loky", use threads, or pass'
            ' backend="scipy".'
        )


def _goes_aside() -> bool:
    """Whether R runs neither here nor can be started here, but answers by Rscript."""
    embedded = _embedded_module()
    runs_here = _running is not None or (embedded is not None and embedded.isinitialized())
    return not runs_here and not probe_r().works and probe_rscript().works


def _embedded_module() -> Any:
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


def _running_session() -> _Session:
    """The running session; R is started if it does not run yet."""
    global _running
    if _running is None:
        embedded = _embedded_module()
        probe = RProbe("ok")
        if embedded is None or not embedded.isinitialized():
            probe = probe_r()
            if not probe.works:
                raise errors.BackendError(f"R cannot be used: {probe.cause}. To fix: {probe.cure}.")
            if probe.cause:
                errors.caution(f"{probe.cause}. To fix: {probe.cure}.", errors.FairstatsWarning)
            settle_probe(probe)
        _running = _open_session(probe)
    return _running


def _open_session(probe: RProbe) -> _Session:
    """Start R within this process, once, with our options; Python's Ctrl-C is kept."""
    handler_before = signal.getsignal(signal.SIGINT)
    try:
        with quiet_start():
            rinterface = _import_rpy2(probe)
            from rpy2.rinterface_lib import callbacks, embedded, openrlib

            if not embedded.isinitialized():
                embedded.set_initoptions(_R_OPTIONS)
                variables = tuple(
                    (variable, variable_value)
                    for variable, variable_value in probe.variables.items()
                    if os.environ.get(variable) != variable_value
                )
                with replaced(
                    rinterface, **({"_getrenvvars": lambda: variables} if variables else {})
                ):
                    rinterface.initr()
    except Exception as error:  # ffi.error, RuntimeError, ValueError, …
        failure_cause, advice = diagnose(f"{type(error).__name__}: {error}")
        raise errors.BackendError(
            f"R cannot be started: {failure_cause}. To fix: {advice}."
        ) from error
    finally:
        if threading.current_thread() is threading.main_thread() and handler_before is not None:
            signal.signal(signal.SIGINT, handler_before)  # rpy2 takes SIGINT at the start
    with console(callbacks) as printed:
        folder = str(r_code_folder() or "")
        try:
            load_code, call_function = rinterface.evalr(_IN_R, envir=rinterface.baseenv)
            r_environment = load_code(
                to_r(__version__, rinterface),
                to_r(folder, rinterface),
                to_r(list(probe.libraries), rinterface),
            )
        except embedded.RRuntimeError as error:
            raise errors.RBackendError(
                f"R cannot load the R code of fairstats: {error}{''.join(printed)}"
            ) from None
        return _Session(
            pid=os.getpid(),
            ri=rinterface,
            callbacks=callbacks,
            rlib=openrlib.rlib,
            home=r_environment,
            caller=call_function,
        )


def _import_rpy2(probe: RProbe) -> Any:
    """The module ``rpy2.rinterface``.

    What the probe knows, rpy2 need not ask in further processes of R.
    """
    import rpy2.situation as situation

    if not probe.variables:
        return import_module("rpy2.rinterface")
    path = probe.variables.get("LD_LIBRARY_PATH", "")
    with replaced(situation, r_ld_library_path_from_subprocess=lambda home: path):
        return import_module("rpy2.rinterface")


def _evaluate_call(
    session: _Session,
    function: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    seed: int,
) -> tuple[str, Any, list[tuple[str, str]], str]:
    """(kind, value, warnings, printed) of one call; kind is "value", "error" or "interrupt".

    Errors are returned, not raised: a traceback would keep objects of R alive outside the lock.
    """
    rinterface = session.ri
    with console(session.callbacks) as printed:
        try:
            values = to_r_arguments(args, kwargs, rinterface)
            r_answer = session.caller(
                session.home, to_r(function, rinterface), values, to_r(seed, rinterface)
            )
            return *from_r_answer(r_answer, rinterface), "".join(printed)
        except errors.FairstatsError as error:  # a value that cannot be converted
            return "error", error.with_traceback(None), [], ""
        except Exception as error:  # noqa: BLE001 - rpy2's RRuntimeError is a bare Exception
            return "error", (str(error), ""), [], "".join(printed)


@contextmanager
def quiet_start() -> Iterator[None]:
    """Keep rpy2's log and warnings, and what the user's R profile prints, to ourselves while R
    starts.

    rpy2 may ask R for its environment in a process whose output it does not catch: that one gets no
    profile. R's start puts the system's folders into ``LD_LIBRARY_PATH``, which this process never
    reads again; a Python that it starts later (a Jupyter kernel, a worker) would load the system's
    libpython in place of its own.
    """
    profiles = ("R_PROFILE", "R_PROFILE_USER")
    rpy2_logger = logging.getLogger("rpy2")
    level = rpy2_logger.level
    with _environment_as_before(*profiles, "LD_LIBRARY_PATH"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # among them: R is not started by the main thread
        os.environ.update(dict.fromkeys(profiles, os.devnull))
        rpy2_logger.setLevel(logging.CRITICAL)
        try:
            yield
        finally:
            rpy2_logger.setLevel(level)


@contextmanager
def _environment_as_before(*names: str) -> Iterator[None]:
    """Give these variables of the environment back as they were."""
    values_before = {}
    for variable in names:
        if variable in os.environ:
            values_before[variable] = os.environ[variable]
    try:
        yield
    finally:
        for variable in names:
            os.environ.pop(variable, None)
        os.environ.update(values_before)


@contextmanager
def replaced(module: Any, **values: Any) -> Iterator[None]:
    """Give attributes of a module other values for a while.

    Those that it does not have are left alone.
    """
    values_before = {}
    for attribute in values:
        if hasattr(module, attribute):
            values_before[attribute] = getattr(module, attribute)
    try:
        vars(module).update({attribute: values[attribute] for attribute in values_before})
        yield
    finally:
        vars(module).update(values_before)


@contextmanager
def console(callbacks: Any) -> Iterator[list[str]]:
    """Collect what R prints; nothing reaches stdout or stderr, and nothing is read from stdin."""
    printed: list[str] = []
    our_callbacks = dict.fromkeys(
        ("consolewrite_print", "consolewrite_warnerror", "showmessage"), printed.append
    )
    with replaced(callbacks, **our_callbacks, consoleread=lambda prompt: ""):
        yield printed


@contextmanager
def interruptible(rlib: Any) -> Iterator[list[int]]:
    """Pass Ctrl-C on to R while it computes, in the main thread.

    Yields the list of signals that came, for `interrupt`.

    Python's own handler would raise inside a callback from R, where the exception is lost; ours
    only sets R's flag.
    """
    received_signals: list[int] = []
    handler_before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler_before):
        yield received_signals
        return
    if os.name == "nt":
        interrupt_flag = "UserBreak"
    else:
        interrupt_flag = "R_interrupts_pending"

    def pass_on(signum: int, frame: Any) -> None:
        received_signals.append(signum)
        setattr(rlib, interrupt_flag, 1)

    signal.signal(signal.SIGINT, pass_on)
    try:
        yield received_signals
    finally:
        signal.signal(signal.SIGINT, handler_before)
        if received_signals:
            setattr(rlib, interrupt_flag, 0)


def interrupt() -> NoReturn:
    """What Ctrl-C does in this program, then KeyboardInterrupt."""
    handler = signal.getsignal(signal.SIGINT)
    if callable(handler):
        handler(signal.SIGINT, None)
    raise KeyboardInterrupt
