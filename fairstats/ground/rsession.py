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
_R_OPTIONS = ("rpy2", "--quiet", "--no-save", "--no-restore", "--no-init-file", "--no-site-file")
#: R functions that load the code and call a function of it.
_IN_R = Path(__file__).with_name("session.R").read_text(encoding="utf-8")
#: R's integers.
_LARGEST_R_INTEGER = 2**31 - 1
_NA_INTEGER = -(2**31)


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
    generator is put back as it was. Raises BackendError if R or rpy2 cannot be used, also in a
    child forked after R had started; RBackendError with R's message and call, and what it printed
    as a note; KeyboardInterrupt on Ctrl-C, after which the session stays usable. Each warning of R
    is a FairstatsWarning.
    """
    if not re.fullmatch(r"(?:[A-Za-z][\w.]*::)?[A-Za-z.][\w.]*", function):
        raise errors.InputError(
            "function", got=repr(function), allowed='an R function, "name" or "package::name"'
        )
    r_seed = int(as_generator(rng)[0].integers(2**31 - 1))
    _refuse_forked_child()
    with _lock:
        session = _running_session()
        with interruptible(session.rlib) as stopped:
            answer_kind, answer, r_warnings, printed = _evaluate_call(
                session, function, args, kwargs, r_seed
            )
    if stopped or answer_kind == "interrupt":
        interrupt()
    if isinstance(answer, errors.FairstatsError):
        raise answer
    for message_text, call_text in r_warnings:
        warnings.warn(
            f"R: {message_text.strip()}{_in_call_words(call_text)}",
            errors.FairstatsWarning,
            stacklevel=2,
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
    package = package or Path(__file__).resolve().parents[1]
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
    session: _Session, function: str, args: tuple[Any, ...], kwargs: dict[str, Any], seed: int
) -> tuple[str, Any, list[tuple[str, str]], str]:
    """(kind, value, warnings, printed) of one call; kind is "value", "error" or "interrupt".

    Errors are returned, not raised: a traceback would keep objects of R alive outside the lock.
    """
    rinterface = session.ri
    with console(session.callbacks) as printed:
        try:
            values = rinterface.ListSexpVector(
                [to_r(argument_value, rinterface) for argument_value in (*args, *kwargs.values())]
            )
            if kwargs:
                values.names = rinterface.StrSexpVector(["" for _ in args] + list(kwargs))
            r_answer = session.caller(
                session.home, to_r(function, rinterface), values, to_r(seed, rinterface)
            )
            warning_texts = [(str(r_warning[0]), str(r_warning[1])) for r_warning in r_answer[2]]
            return (
                str(r_answer[0][0]),
                from_r(r_answer[1], rinterface),
                warning_texts,
                "".join(printed),
            )
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
        and flat_values.min() > _NA_INTEGER
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
            "value", got=received, allowed="arrays of numbers, booleans or text", cure=advice
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
        if len(texts) == 1 and _r_attribute(value, "dim") is None:
            return texts[0]
        return texts
    if isinstance(value, ri.FloatSexpVector):
        return _with_dimensions(_copy_values(value, np.float64), value)
    if isinstance(value, (ri.IntSexpVector, ri.BoolSexpVector)):
        return _from_integers(value, ri)
    if isinstance(value, ri.ListSexpVector):
        list_entries = [from_r(value[entry_number], ri) for entry_number in range(len(value))]
        names = _r_attribute(value, "names")
        if names is None:
            return list_entries
        return dict(zip(map(str, names), list_entries, strict=True))
    raise errors.BackendError(
        f"R returned a {type(value).__name__}, which has no counterpart in Python"
    )


def _copy_values(value: Any, dtype: Any) -> np.ndarray[Any, Any]:
    # By NumPy's array interface: each `memoryview()` of rpy2 takes a reference from None that it
    # never had, so that before Python 3.12 a process that has read some ten thousand vectors dies
    # of it.
    return np.array(value if len(value) else [], dtype=dtype)


def _from_integers(value: Any, rinterface: Any) -> Any:
    codes = _copy_values(value, np.int64)
    levels = _r_attribute(value, "levels")
    if levels is not None:
        labels = [str(level) for level in levels]
        result = []
        for level_code in codes.tolist():
            result.append(None if level_code == _NA_INTEGER else labels[level_code - 1])
        return result
    lacking = codes == _NA_INTEGER
    if lacking.any():
        return _with_dimensions(np.where(lacking, np.nan, codes), value)
    return _with_dimensions(
        codes.astype(bool) if isinstance(value, rinterface.BoolSexpVector) else codes, value
    )


def _with_dimensions(flat_values: np.ndarray[Any, Any], value: Any) -> Any:
    dimensions = _r_attribute(value, "dim")
    if dimensions is None:
        if flat_values.size == 1:
            return flat_values[0].item()
        return flat_values
    return flat_values.reshape(tuple(int(dimension) for dimension in dimensions), order="F")


def _r_attribute(value: Any, attribute_name: str) -> Any:
    try:
        return value.do_slot(attribute_name)
    except LookupError:
        return None


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
