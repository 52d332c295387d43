"""How a run ends: its exit code, the one line that says why, and streams that do not end it.

===  =====================================================================================
0    done
1    a finding: a violation under ``--fail-on``, a number that disagrees in ``crosscheck``
2    unusable input: an option, a file or a column that cannot be used as it came
3    any other failure: a full disk, a package or program that is missing, an error of ours
130  interrupted from the keyboard (SIGINT)
143  ended from outside (SIGTERM); 129 where the terminal went away (SIGHUP)
===  =====================================================================================
"""

from __future__ import annotations

import codecs
import io
import os
import re
import shlex
import signal
import sys
from types import FrameType

from fairstats.ground.errors import EngineError, FairstatsError, InputError

FINDING = 1
UNUSABLE = 2
FAILURE = 3
INTERRUPTED = 130
#: What a shell adds to the number of a signal that ended a program.
_OF_SIGNALS = 128
#: Exceptions of engines that are about the machine.
_WITHOUT_ROOM = ("OutOfMemoryException", "OutOfMemoryError")
#: With this variable, or the option, an error of ours shows where it arose.
TRACEBACK = "FAIRSTATS_TRACEBACK"


class Terminated(BaseException):
    """A signal asked the run to end; raised where the run was, so that temporary files go."""

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(signal.Signals(number).name)


def code_of(problem: BaseException) -> int:
    """The exit code of a run that this ended."""
    if isinstance(problem, KeyboardInterrupt):
        return INTERRUPTED
    if isinstance(problem, Terminated):
        return _OF_SIGNALS + problem.number
    if isinstance(problem, EngineError):
        # What an engine says of a table is about the table, unless it lacked room.
        if type(problem.__cause__).__name__ in _WITHOUT_ROOM:
            return FAILURE
        return UNUSABLE
    if isinstance(problem, InputError):
        return UNUSABLE
    return FAILURE


def line_of(problem: BaseException) -> str:
    """What is said of it, in one line."""
    if isinstance(problem, KeyboardInterrupt):
        return "fairstats: interrupted"
    if isinstance(problem, Terminated):
        return f"fairstats: ended by {problem}"
    if isinstance(problem, FairstatsError):
        return f"fairstats: {in_words_of_options(str(problem))}"
    if isinstance(problem, MemoryError):
        return "fairstats: the memory is full; --engine duckdb counts what does not fit into it"
    problem_words = " ".join(str(problem).split())
    if isinstance(problem, OSError):
        if problem.filename:
            file_words = f" {problem.filename!r}"
        else:
            file_words = ""
        return f"fairstats: {problem.strerror or problem_words}{file_words}"
    class_name = type(problem).__name__
    traceback_hint = f"{TRACEBACK}=1 shows where; please report it"
    return f"fairstats: an error within fairstats ({class_name}: {problem_words}); {traceback_hint}"


#: What a cure says to Python → the option that does the same.
_WORDS = {
    "(a mapping {'y_true': …, 'y_pred': …} where the columns differ)": (
        "(--pos-label-pred for the prediction, where the columns differ)"
    ),
    ", or a mapping {'y_true': …, 'y_pred': …}": "; --pos-label-pred for the prediction",
}


#: Argument of Python → its option, where hyphens in place of underscores do not make it.
_RENAMED = {
    "sensitive_features": "--group",
    "features": "--feature",
    "sample_weight": "--weight",
    "rng": "--seed",
}
#: Arguments of Python that are options of nearly every command that reads rows.
_ARGUMENTS = (
    "y_true",
    "y_pred",
    "score",
    "outcome",
    "predicted",
    "pos_label",
    "label_values",
    "counterfactual_score",
    "cluster",
    "strata",
    "reference",
    "na_values",
    "score_range",
    "method",
    "simultaneous",
    "comparisons",
    "family",
    "subgroups",
    "n_resamples",
    "risks",
    "sep",
    "decimal",
    "encoding",
    "engine",
    "missing",
    *_RENAMED,
)
_ARGUMENT = "|".join(_ARGUMENTS)
_LISTED = re.compile(rf"\b({_ARGUMENT})=[\[(]([^\])]*)[\])]")
#: A call of Python, as fs.means(y, sensitive_features=group), stays as it is.
_VALUED = re.compile(rf"\b({_ARGUMENT})=(\"[^\"]*\"|'[^']*'|(?=[ ,;.)(]|$))")
_QUOTED = re.compile(rf"`({_ARGUMENT})`")
_LINE_END_IN_NAME = re.compile(r"did you mean ('[^']*\\n[^']*')\?")


def in_words_of_options(message: str) -> str:
    """A message with options of the command line where it names arguments of Python.

    >>> in_words_of_options("`y_pred`: pass missing='drop', or label_values=['no', 'yes'].")
    '--y-pred: pass --missing drop, or --label-values no,yes.'
    """
    for words, option in _WORDS.items():
        message = message.replace(words, option)

    def option_of(argument: str) -> str:
        return _RENAMED.get(argument, f"--{argument.replace('_', '-')}")

    def with_list(match: re.Match[str]) -> str:
        items = [item.strip().strip("'\"") for item in match[2].split(", ")]
        return f"{option_of(match[1])} {shlex.quote(','.join(items))}"

    def with_value(match: re.Match[str]) -> str:
        value = match[2].strip("'\"")
        return f"{option_of(match[1])} {shlex.quote(value) if value else ''}".rstrip()

    message = _LISTED.sub(with_list, message)
    message = _VALUED.sub(with_value, message)
    message = _QUOTED.sub(lambda match: option_of(match[1]), message)
    message = re.sub(r"\bsensitive_features\b(?!=)", "--group", message)
    # a line end within a name is no key on a keyboard
    return _LINE_END_IN_NAME.sub(r"did you mean \1? (A shell takes it as $\1.)", message)


def shows_traceback() -> bool:
    """Whether an error of ours is shown as Python shows it."""
    return os.environ.get(TRACEBACK, "") not in ("", "0")


# ---------------------------------------------------------------- signals


def end_in_order() -> None:
    """Let SIGTERM and SIGHUP end the run as an exception does, and at once when they come twice."""
    for signal_name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, signal_name, None)
        # A shell's nohup ignores SIGHUP: it stays ignored.
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _end_by_signal)


def _end_by_signal(number: int, frame: FrameType | None) -> None:
    signal.signal(number, signal.SIG_DFL)
    raise Terminated(number)


# ---------------------------------------------------------------- streams


#: What stands for signs that an encoding lacks: a minus that became a question mark would be
#: another number.
_PLAIN_SIGNS = {
    "−": "-",
    "–": "-",
    "—": "-",
    "±": "+-",
    "∞": "inf",
    "≤": "<=",
    "≥": ">=",
    "≫": ">>",
    "×": "x",
    "·": "*",
    "…": "...",
    "✓": "+",
    "✗": "x",
    "“": '"',
    "”": '"',
    "’": "'",
    "θ": "theta",
    "→": "->",
}
_REPLACING_HANDLER = "fairstats.plain"


def _replace_signs(problem: UnicodeError) -> tuple[str, int]:
    """Signs for those that an encoding lacks, as an error handler of codecs."""
    if not isinstance(problem, UnicodeEncodeError):
        raise problem
    lacking = problem.object[problem.start : problem.end]
    return "".join(_PLAIN_SIGNS.get(each_sign, "?") for each_sign in lacking), problem.end


class _PatientStream(io.RawIOBase):
    """A stream that takes all bytes, also when its reader has gone (``| head``)."""

    def __init__(self, raw: io.RawIOBase) -> None:
        self._raw = raw
        self._ended = False

    def write(self, data: bytes) -> int | None:  # type: ignore[override]
        """Pass bytes on while somebody takes them; raise once where the device fails."""
        if self._ended:
            return len(data)
        try:
            return self._raw.write(data)
        except BrokenPipeError:
            self._ended = True
            return len(data)
        except OSError as problem:
            self._ended = True
            failure_cause = problem.strerror or problem
            raise OSError(
                problem.errno,
                f"the text could not be shown ({failure_cause}); files are written before",
            ) from None

    def writable(self) -> bool:
        """It is."""
        return True

    def fileno(self) -> int:
        """The descriptor of the stream behind it."""
        return self._raw.fileno()

    def isatty(self) -> bool:
        """Whether a terminal is behind it."""
        return self._raw.isatty()


def steady_streams() -> None:
    """Standard output and error that replace what their encoding lacks, and outlive their
    readers.
    """
    codecs.register_error(_REPLACING_HANDLER, _replace_signs)
    for stream_name in ("stdout", "stderr"):
        stream = getattr(sys, stream_name)
        if stream is None:  # closed by the shell: >&-
            setattr(sys, stream_name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - it lives as long as the process
            continue
        stream_buffer = getattr(stream, "buffer", None)
        raw_stream = getattr(stream_buffer, "raw", stream_buffer)  # python -u has no buffer between
        if not isinstance(raw_stream, io.RawIOBase):
            continue
        stream.flush()
        steady_stream = io.TextIOWrapper(
            io.BufferedWriter(_PatientStream(raw_stream)),  # type: ignore[type-var]  # typeshed wants more of it than is used
            encoding=stream.encoding,
            errors=_REPLACING_HANDLER,
            line_buffering=stream_name == "stderr" or raw_stream.isatty(),
        )
        setattr(sys, stream_name, steady_stream)
