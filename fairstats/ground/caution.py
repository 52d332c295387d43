"""Warnings that point at the line of the caller outside fairstats, however deep they arise."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

__all__ = ["caution"]

_PACKAGE = str(Path(__file__).resolve().parents[1])


def caution(message: str, category: type[Warning]) -> None:
    """Warn at the first frame outside the package.

    Parameters
    ----------
    message : str
        What happened and what it means.
    category : type of Warning
        One of the package's classes.
    """
    level, frame = 1, sys._getframe()
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back  # type: ignore[assignment]
    warnings.warn(message, category, stacklevel=level)
