"""Numbers, labels and versions as text, the same in every view."""

from __future__ import annotations

import html
import math
import platform
import unicodedata
from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version

from fairstats._version import __version__

#: Characters that turn the direction of the text around them.
_DIRECTIONS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c")


def number(value: float, digits: int = 3, *, signed: bool = False) -> str:
    """Fixed number of decimals; a dash for NaN.

    Examples
    --------
    >>> number(0.74051), number(-0.2, signed=True), number(float("nan")), number(float("inf"))
    ('0.741', '−0.200', '—', '∞')
    """
    if not math.isfinite(value):
        return _no_number(value)
    text = f"{value:+.{digits}f}" if signed else f"{value:.{digits}f}"
    if float(text) == 0:
        return f"{0:.{digits}f}"
    return text.replace("-", "−")


def _no_number(value: float) -> str:
    return "—" if math.isnan(value) else "∞" if value > 0 else "−∞"


def exact_number(value: float) -> str:
    """Ten significant digits; a dash for NaN.

    Examples
    --------
    >>> exact_number(0.74051), exact_number(float("inf")), exact_number(float("nan"))
    ('0.74051', '∞', '—')
    """
    return f"{value:.10g}".replace("-", "−") if math.isfinite(value) else _no_number(value)


def interval(low: float, high: float, *, signed: bool = False, side: str = "two-sided") -> str:
    """Both ends in brackets; of a one-sided interval its limit in words; a dash where there is none.

    Examples
    --------
    >>> interval(0.702, 0.7821), interval(0.0, float("inf")), interval(0.081, 2.0, side="greater")
    ('[0.702, 0.782]', '[0.000, ∞)', 'at least 0.081')
    """
    if math.isnan(low) or math.isnan(high):
        return "—"
    if side != "two-sided":
        words, end = ("at least", low) if side == "greater" else ("at most", high)
        return f"{words} {number(end, signed=signed)}"
    close = ")" if math.isinf(high) else "]"
    return f"[{number(low, signed=signed)}, {number(high, signed=signed)}{close}"


def pvalue(value: float) -> str:
    """Four decimals, or a bound.

    Examples
    --------
    >>> pvalue(0.0312), pvalue(2e-9), pvalue(float("nan"))
    ('0.0312', '<0.0001', '—')
    """
    if math.isnan(value):
        return "—"
    return "<0.0001" if value < 0.0001 else f"{value:.4f}"


def percent(value: float) -> str:
    """One decimal; a dash for NaN."""
    return "—" if math.isnan(value) else f"{100 * value:.1f}%"


def count(value: float) -> str:
    """Whole number with separators."""
    return f"{int(value):,}"


def whole_or_weighted(value: float) -> str:
    """Whole totals as counts, weighted ones with a decimal."""
    return count(value) if float(value).is_integer() else f"{value:,.1f}"


def printable(text: object) -> str:
    r"""The text without control characters, lone surrogates and marks that turn its direction.

    Examples
    --------
    >>> printable("a\x1b[31mb")
    'a�[31mb'
    """
    return "".join(
        "\ufffd" if unicodedata.category(c) in ("Cc", "Cs") or c in _DIRECTIONS else c for c in str(text)
    )


def isolate(text: str, labels: Iterable[str]) -> str:
    """Wrap labels written from right to left in isolating marks: numbers beside them stay in place."""
    for label in sorted(set(labels), key=len, reverse=True):
        if any(unicodedata.bidirectional(c) in ("R", "AL", "AN") for c in label):
            text = text.replace(label, f"\u2068{label}\u2069")
    return text


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table in columns of equal width."""
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    return [
        "  " + "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def escaped(text: object) -> str:
    """The text as HTML."""
    return html.escape(printable(text))


_PACKAGES = ("numpy", "scipy", "pandas", "statsmodels", "narwhals")


def installed_versions() -> dict[str, str]:
    """fairstats, Python and the packages that numbers come from."""
    found = {"fairstats": __version__, "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
