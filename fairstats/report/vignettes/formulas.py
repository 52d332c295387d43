"""Formulas as MathML, which browsers show without a script and without a network."""

from __future__ import annotations

import re
from collections.abc import Callable

from fairstats.ground.errors import MissingDependencyError, VignetteError

__all__ = ["extract_formulas", "to_mathml"]

#: Code, where a dollar sign is a dollar sign; then displayed and inline formulas as pandoc knows them.
_TOKENS = re.compile(
    r"(?P<code>^(?P<fence>`{3,}|~{3,}).*?^(?P=fence)[^\n]*$|(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`))"
    r"|(?P<escaped>\\\$)"
    r"|\$\$(?P<display>.+?)\$\$"
    r"|\$(?P<inline>[^\s$](?:[^$]*?[^\s$])?)\$(?!\d)",
    re.MULTILINE | re.DOTALL,
)


def to_mathml(latex: str, *, display: bool = False) -> str:
    """MathML of a formula.

    Parameters
    ----------
    latex : str
        Without its dollar signs.
    display : bool
        Whether it stands on a line of its own.

    Raises
    ------
    VignetteError
        If it cannot be read.

    Examples
    --------
    >>> to_mathml("x^2")[:5]
    '<math'
    """
    try:
        from latex2mathml.converter import convert
    except ImportError as problem:
        raise MissingDependencyError(
            "latex2mathml",
            extra="docs",
            purpose="Formulas of a vignette",
            alternative="--renderer r (pandoc sets them)",
        ) from problem
    try:
        return str(convert(latex, display="block" if display else "inline"))
    except Exception as problem:
        raise VignetteError(f"the formula {latex!r} cannot be read: {problem!r}") from problem


def extract_formulas(markdown: str) -> tuple[str, Callable[[str], str]]:
    """Put marks in the place of formulas; code is left alone.

    Parameters
    ----------
    markdown : str
        Prose with ``$…$`` and ``$$…$$``.

    Returns
    -------
    str
        The prose with marks.
    callable
        Puts the MathML of the formulas into the HTML made from it.

    Examples
    --------
    >>> marked, put_back = extract_formulas("a ratio $p/q$ costs `$5`")
    >>> "$p/q$" in marked, "`$5`" in marked, "<math" in put_back(marked)
    (False, True, True)
    """
    kept: list[str] = []

    def mark(match: re.Match[str]) -> str:
        if match["code"]:
            return match[0]
        if match["escaped"]:
            kept.append("$")
        elif match["display"]:
            kept.append(f'<span class="formula">{to_mathml(match["display"].strip(), display=True)}</span>')
        else:
            kept.append(to_mathml(match["inline"]))
        return f"\ue000{len(kept) - 1}\ue001"

    marked = _TOKENS.sub(mark, markdown)
    return marked, lambda html: re.sub("\ue000(\\d+)\ue001", lambda m: kept[int(m[1])], html)
