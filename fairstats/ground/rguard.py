"""What stands between R and the rest of the program: console, Ctrl-C, and the two R functions of the door."""

from __future__ import annotations

import logging
import os
import signal
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

__all__ = ["CALL", "LOAD", "console", "interrupt", "interruptible", "quiet_start", "replaced"]

# Where the project's R code lives: an environment, and a word on where it came from.
LOAD = r"""
function(version, folder, libraries) {
  if (length(libraries)) .libPaths(libraries)
  if (!nzchar(folder) || grepl("_r", basename(dirname(folder)), fixed = TRUE)) {
    there <- tryCatch(as.character(utils::packageVersion("fairstats")), error = function(e) "")
    if (identical(there, version)) return(list(asNamespace("fairstats"), "the installed R package fairstats"))
  }
  home <- new.env(parent = asNamespace("stats"))
  for (file in sort(list.files(folder, "[.]R$", full.names = TRUE))) {
    sys.source(file, envir = home, keep.source = FALSE)
  }
  list(home, folder)
}
"""

# Evaluates name(args) with R's seed set and put back; conditions come back as values.
CALL = r"""
function(home, name, args, seed) {
  global <- globalenv()
  kept <- global$.Random.seed
  on.exit(
    if (!is.null(kept)) assign(".Random.seed", kept, global)
    else suppressWarnings(rm(".Random.seed", envir = global))
  )
  set.seed(seed, "Mersenne-Twister", "Inversion", "Rejection")
  frame <- new.env(parent = home)
  symbols <- sprintf("arg%d", seq_along(args))
  for (i in seq_along(args)) assign(symbols[i], args[[i]], frame)
  symbols <- lapply(symbols, as.name)
  names(symbols) <- names(args)
  code <- as.call(c(str2lang(name), symbols))
  where <- function(condition) {
    call <- conditionCall(condition)
    if (is.null(call)) return("")
    if (identical(call, quote(eval(code, frame)))) call <- code
    deparse(call, 120L, nlines = 1L)[1L]
  }
  warned <- list()
  value <- tryCatch(
    withCallingHandlers(
      list("value", eval(code, frame)),
      warning = function(w) {
        warned[[length(warned) + 1L]] <<- c(conditionMessage(w), where(w))
        tryInvokeRestart("muffleWarning")
      }
    ),
    error = function(e) list("error", c(conditionMessage(e), where(e))),
    interrupt = function(e) list("interrupt", NULL)
  )
  c(value, list(warned))
}
"""


@contextmanager
def quiet_start() -> Iterator[None]:
    """Keep rpy2's log and warnings, and what the user's R profile prints, to ourselves while R starts.

    rpy2 may ask R for its environment in a process whose output it does not catch: that one gets no profile.
    """
    profiles = {name: os.environ.get(name) for name in ("R_PROFILE", "R_PROFILE_USER")}
    chatter = logging.getLogger("rpy2")
    level = chatter.level
    try:
        chatter.setLevel(logging.CRITICAL)
        os.environ.update(dict.fromkeys(profiles, os.devnull))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # among them: R is not started by the main thread
            yield
    finally:
        chatter.setLevel(level)
        for name, value in profiles.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def replaced(module: Any, **values: Any) -> Iterator[None]:
    """Give attributes of a module other values for a while; those that it does not have are left alone."""
    before = {name: getattr(module, name) for name in values if hasattr(module, name)}
    for name in before:
        setattr(module, name, values[name])
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(module, name, value)


@contextmanager
def console(callbacks: Any) -> Iterator[list[str]]:
    """Collect what R prints; nothing reaches stdout or stderr, and nothing is read from stdin."""
    printed: list[str] = []
    ours = {
        "consolewrite_print": printed.append,
        "consolewrite_warnerror": printed.append,
        "showmessage": printed.append,
        "consoleread": lambda prompt: "",
    }
    with replaced(callbacks, **ours):
        yield printed


@contextmanager
def interruptible(rlib: Any) -> Iterator[list[int]]:
    """Pass Ctrl-C on to R while it computes, in the main thread; yields the list of signals that came.

    Python's own handler would raise inside a callback from R, where the exception is lost; ours only sets R's
    flag. Afterwards the caller hands what came to `interrupt`.
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
