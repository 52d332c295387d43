"""Docstrings are written to be read in Python; what Sphinx takes for its own signs is escaped."""

from __future__ import annotations

import re
from typing import Any

_LITERAL = re.compile(r"(``.*?``|`[^`]*`)")
_WORD_ENDING = re.compile(r"(?<=\w)_(?!\w)")


def escape(app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Make bars (absolute values) and names that end in an underscore plain text."""
    example = False
    for at, line in enumerate(lines):
        example = line.lstrip().startswith(">>>") or (example and bool(line.strip()))
        if not example and not line.lstrip().startswith(".."):
            parts = _LITERAL.split(line)
            parts[::2] = [_WORD_ENDING.sub(r"\\_", part).replace("|", r"\|") for part in parts[::2]]
            lines[at] = "".join(parts)


def skip(app: Any, what: str, name: str, value: Any, skipped: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn adds to an estimator."""
    return True if re.fullmatch(r"set_\w+_request", name) else None


def setup(app: Any) -> dict[str, bool]:
    """Tell Sphinx; after numpydoc has had its turn."""
    app.connect("autodoc-process-docstring", escape, priority=900)
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
