"""Every exception and warning of the package, in one tree, and how a warning finds the caller's
line.
"""

from __future__ import annotations

import contextlib
import sys
import warnings
from functools import partial
from pathlib import Path

#: Characters of each part of a message: a label may be as long as a book.
_MAX_TEXT_LENGTH = 1200


def _shorten_text(text: str) -> str:
    if len(text) <= _MAX_TEXT_LENGTH:
        return text
    return f"{text[: _MAX_TEXT_LENGTH * 3 // 4]} … {text[-_MAX_TEXT_LENGTH // 4 :]}"


class FairstatsError(Exception):
    """Base class of every error that fairstats raises on purpose."""


class _ComposedError(FairstatsError):
    """An error that words its message from arguments, which it keeps under their names.

    It can be pickled.
    """

    def __reduce__(self) -> tuple[object, ...]:
        arguments = {}
        for argument_name, argument_value in vars(self).items():
            if argument_name != "__notes__":
                arguments[argument_name] = argument_value
        return (partial(type(self), **arguments), ())


class InputError(_ComposedError, ValueError):
    """An argument cannot be used as it came.

    Parameters
    ----------
    argument : str
        Name of the argument, as the caller wrote it.
    got, allowed : str
        What came, and what is allowed.
    cure : str, optional
        What the caller can do about it.
    """

    def __init__(self, argument: str, *, got: str, allowed: str, cure: str | None = None) -> None:
        self.argument = argument
        self.got = got
        self.allowed = allowed
        self.cure = cure
        error_message = (
            f"`{argument}`: got {_shorten_text(got)}; allowed: {_shorten_text(allowed)}."
        )
        if cure:
            error_message += f" To fix: {_shorten_text(cure)}" + ("" if cure.endswith("?") else ".")
        super().__init__(error_message)


class ResultAttributeError(_ComposedError, AttributeError):
    """A result was asked for what it cannot have.

    The message says why and where to look instead.
    """

    def __init__(self, result: str, attribute: str, reason: str) -> None:
        self.result = result
        self.attribute = attribute
        self.reason = reason
        super().__init__(f"{result} has no `{attribute}`: {reason}.")


class MissingDependencyError(_ComposedError, ImportError):
    """An optional package is needed for what was asked.

    `extra` is None where no extra of ours has it.
    """

    def __init__(
        self,
        package: str,
        *,
        extra: str | None,
        purpose: str,
        alternative: str | None = None,
    ) -> None:
        self.package = package
        self.extra = extra
        self.purpose = purpose
        self.alternative = alternative
        if extra:
            requirement = f'"fairstats[{extra}]"'
        else:
            requirement = package
        error_message = f"{purpose} needs `{package}`: pip install {requirement}."
        if alternative:
            error_message += f" Without it: {alternative}."
        super().__init__(error_message)


class BackendError(FairstatsError, RuntimeError):
    """A numerical back end cannot do what was asked."""


class RBackendError(BackendError):
    """R raised an error; the message carries R's own message and call."""


class EngineError(_ComposedError, RuntimeError):
    """The engine that holds a lazy table failed; the message names it and gives its own words."""

    def __init__(self, engine: str, cause: str) -> None:
        self.engine = engine
        self.cause = cause
        super().__init__(f"The engine {engine} failed: {cause}")


class WriteError(_ComposedError, OSError):
    """A file could not be written, for want of room or because a device failed.

    What was there is as it was.
    """

    def __init__(self, path: str, cause: str) -> None:
        self.path = path
        self.cause = cause
        super().__init__(
            f"{path!r} could not be written ({cause}); what was there before is unchanged"
        )


class VignetteError(FairstatsError):
    """A vignette cannot be read or built; the message names it, the chunk and the cause."""


class FairstatsWarning(UserWarning):
    """Base class of every warning that fairstats issues."""


class InsufficientEvidenceWarning(FairstatsWarning):
    """A group lacks the cases that a statistic needs; its result is NaN and says so."""


class MissingValuesWarning(FairstatsWarning):
    """Rows with missing values were left out, as ``missing="drop"`` asked."""


class DataWarning(FairstatsWarning):
    """The data can be used, but something about it should be known."""


_PACKAGE_FOLDER = str(Path(__file__).resolve().parents[1])
#: What stands between a user's call and the package's work: itself, and the functions that
#: `contextlib` wraps around it (progress bars).
_OWN_FILES = (_PACKAGE_FOLDER, contextlib.__file__)


def caution(message: str, category: type[Warning]) -> None:
    """Warn at the first frame outside the package."""
    level = 1
    frame = sys._getframe()
    while frame is not None and frame.f_code.co_filename.startswith(_OWN_FILES):
        level, frame = level + 1, frame.f_back  # type: ignore[assignment]
    warnings.warn(_shorten_text(message), category, stacklevel=level)
