"""Every exception and warning of the package, in one tree.

An error names the argument, what came, what is allowed and the cure::

    InputError("reference", got="'Martian'", allowed="one of 'Female', 'Male'", cure="pass …")
"""

from __future__ import annotations

__all__ = [
    "BackendError",
    "DataWarning",
    "FairstatsError",
    "FairstatsWarning",
    "InputError",
    "InsufficientEvidenceWarning",
    "MissingDependencyError",
    "MissingValuesWarning",
    "RBackendError",
    "VignetteError",
]


class FairstatsError(Exception):
    """Base class of every error that fairstats raises on purpose."""


class InputError(FairstatsError, ValueError):
    """An argument cannot be used as it came.

    Parameters
    ----------
    argument : str
        Name of the argument, as the caller wrote it.
    got : str
        What came.
    allowed : str
        What is allowed.
    cure : str, optional
        What the caller can do about it.
    """

    def __init__(self, argument: str, *, got: str, allowed: str, cure: str | None = None) -> None:
        self.argument = argument
        self.got = got
        self.allowed = allowed
        self.cure = cure
        message = f"`{argument}`: got {got}; allowed: {allowed}."
        if cure:
            message += f" To fix: {cure}."
        super().__init__(message)

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild_input_error, (self.argument, self.got, self.allowed, self.cure))


def _rebuild_input_error(argument: str, got: str, allowed: str, cure: str | None) -> InputError:
    return InputError(argument, got=got, allowed=allowed, cure=cure)


class MissingDependencyError(FairstatsError, ImportError):
    """An optional package is needed for what was asked; `extra` is None where no extra of ours has it."""

    def __init__(
        self, package: str, *, extra: str | None, purpose: str, alternative: str | None = None
    ) -> None:
        self.package = package
        self.extra = extra
        self.purpose = purpose
        self.alternative = alternative
        source = f'"fairstats[{extra}]"' if extra else package
        message = f"{purpose} needs `{package}`: pip install {source}."
        if alternative:
            message += f" Without it: {alternative}."
        super().__init__(message)

    def __reduce__(self) -> tuple[object, ...]:
        return (
            _rebuild_missing_dependency,
            (self.package, self.extra, self.purpose, self.alternative),
        )


def _rebuild_missing_dependency(
    package: str, extra: str | None, purpose: str, alternative: str | None
) -> MissingDependencyError:
    return MissingDependencyError(package, extra=extra, purpose=purpose, alternative=alternative)


class BackendError(FairstatsError, RuntimeError):
    """A numerical back end cannot do what was asked."""


class RBackendError(BackendError):
    """R raised an error; the message carries R's own message and call."""


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
