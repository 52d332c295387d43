"""R in a process of its own, by ``Rscript``: for the cross-check where rpy2 is missing.

It is asked by files, and its answers are those of the R within this process: the same functions of
`session.R`, the same seeds, the same rules of conversion. `choose_backend` does not count it:
``backend="auto"`` takes SciPy where rpy2 is missing.
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from fairstats._version import __version__
from fairstats.ground import errors
from fairstats.ground.rdoor import wire
from fairstats.ground.rdoor.convert import (
    deliver_answer,
    from_r_answer,
    r_code_folder,
    to_r,
    to_r_arguments,
)
from fairstats.ground.rprobe import ASK, INSTALL_R, R_PACKAGES, RProbe, run_aside

_HERE = Path(__file__).parent
_ANSWER_MARK = "fairstats-probe:"
_ANSWERED = "fairstats-answer"


def find_rscript() -> str | None:
    """``Rscript`` of ``R_HOME``, else of PATH; None where there is none."""
    home = os.environ.get("R_HOME")
    if home:
        return shutil.which("Rscript", path=str(Path(home, "bin")))
    return shutil.which("Rscript")


def probe_rscript() -> RProbe:
    """What R says of itself by ``Rscript``, asked once for each that is found. Never raises."""
    return _probe(find_rscript(), os.environ.get("R_LIBS"), os.environ.get("R_LIBS_USER"))


@lru_cache(maxsize=8)
def _probe(rscript: str | None, *_libraries: str | None) -> RProbe:
    """What a run of Rscript says of R and its packages."""
    if rscript is None:
        return RProbe("missing", cause="there is no Rscript on PATH", cure=INSTALL_R)
    advice = "see what `Rscript -e 1` says in a terminal"
    try:
        completed = run_aside(rscript, "-e", ASK, _ANSWER_MARK, *R_PACKAGES)
    except (OSError, subprocess.TimeoutExpired) as error:
        return RProbe("broken", cause=f"Rscript does not answer: {error}", cure=advice)
    answers: dict[str, list[list[str]]] = {}
    for line in completed.stdout.splitlines():
        if line.startswith(_ANSWER_MARK):
            kind, *words = line.removeprefix(_ANSWER_MARK).split("\t")
            answers.setdefault(kind, []).append(words)
    if "end" not in answers:
        last_words = completed.stderr.strip()[-200:]
        cause = f"Rscript ended with code {completed.returncode}: {last_words}"
        return RProbe("broken", cause=cause, cure=advice)
    return RProbe(
        "ok",
        r_version=answers["version"][0][0],
        r_home=answers["home"][0][0],
        packages={name: version for name, version in answers.get("package", []) if version},
        libraries=tuple(path for (path,) in answers.get("library", [])),
    )


class _Process:
    """A running Rscript and the folder by which it is asked."""

    def __init__(self, rscript: str) -> None:
        self.pid = os.getpid()
        self.folder = tempfile.TemporaryDirectory(prefix="fairstats-r-")
        self.messages = Path(self.folder.name, "messages.txt")
        command = [
            rscript,
            "--no-save",
            "--no-restore",
            "--no-init-file",
            "--no-site-file",
            str(_HERE / "aside.R"),
            str(_HERE.parent / "session.R"),
            self.folder.name,
            __version__,
            str(r_code_folder() or ""),
            *probe_rscript().libraries,
        ]
        with self.messages.open("wb") as messages:
            self.running = subprocess.Popen(  # noqa: S603 - our own script, no shell
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=messages,
            )

    def ask(self, question: Any) -> tuple[Any, str]:
        """What R answers, and what it printed meanwhile.

        RBackendError where it has ended.
        """
        Path(self.folder.name, "question.rds").write_bytes(wire.write(question))
        printed: list[str] = []
        with suppress(BrokenPipeError):
            self._write_line()
            for line in self._lines():
                if line.strip() == _ANSWERED:
                    answer = Path(self.folder.name, "answer.rds").read_bytes()
                    return wire.read(answer), "".join(printed)
                printed.append(line)
        last_messages = self.messages.read_text(encoding="utf-8", errors="replace").strip()[-400:]
        raise errors.RBackendError(
            f"R, run by Rscript, has ended: {last_messages or 'it says nothing'}"
        )

    def _write_line(self) -> None:
        if self.running.stdin is not None:
            self.running.stdin.write(b"ask\n")
            self.running.stdin.flush()

    def _lines(self) -> Iterator[str]:
        for line in self.running.stdout or ():
            yield line.decode("utf-8", errors="replace")

    def close(self) -> None:
        """End it, and take its files away."""
        self.running.kill()
        for pipe in (self.running.stdin, self.running.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()
        self.running.wait()
        self.folder.cleanup()


_lock = threading.RLock()
_process: _Process | None = None


def call_aside(function: str, /, *args: Any, seed: int, **kwargs: Any) -> Any:
    """As `rsession.call`, which calls this, by a process of ``Rscript`` that is started with the first call.

    After Ctrl-C, or where R has ended, the next call starts a new one.
    """
    question = wire.ListSexpVector(
        [to_r(function, wire), to_r_arguments(args, kwargs, wire), to_r(seed, wire)]
    )
    with _lock:
        process = _running_process()
        try:
            r_answer, printed = process.ask(question)
        except BaseException:
            close()
            raise
    answer_kind, answer, r_warnings = from_r_answer(r_answer, wire)
    if answer_kind == "interrupt":
        raise KeyboardInterrupt
    return deliver_answer(answer_kind, answer, r_warnings, printed)


def _running_process() -> _Process:
    """The running process; one is started where there is none, or only that of a parent."""
    global _process
    if _process is None or _process.pid != os.getpid():
        rscript = find_rscript()
        if rscript is None:
            raise errors.BackendError(f"There is no Rscript on PATH. To fix: {INSTALL_R}.")
        _process = _Process(rscript)
        atexit.register(close)
    return _process


def close() -> None:
    """End the process of R, if this process of Python has one."""
    global _process
    if _process is not None and _process.pid == os.getpid():
        _process.close()
    _process = None
    atexit.unregister(close)
