"""Numbers, labels, versions and axes as text, the same in every view."""

from __future__ import annotations

import html
import math
import platform
import unicodedata
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version

import numpy as np

from fairstats._version import __version__

#: Characters that turn the direction of the text around them.
_DIRECTIONS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c")
_PACKAGES = ("numpy", "scipy", "pandas", "statsmodels", "narwhals")
#: Width in pixels that tick labels are spaced for: the plot on a phone.
_NARROW = 310.0
_CHARACTER = 7.0
_PADDING = 0.05
_RATIO_STEPS = (2.0, 4.0, 8.0, 16.0)
_DIFFERENCE_STEPS = (0.2, 0.3, 0.4, 0.5, 0.75, 1.0)
_DISTANCE_STEPS = (*_DIFFERENCE_STEPS, 1.5, 2.0)
_ROUND = (0.5, 0.25, 0.3, 0.2)


def number(value: float, digits: int = 3, *, signed: bool = False) -> str:
    """Fixed number of decimals; a dash for NaN.

    >>> number(0.74051), number(-0.2, signed=True), number(float("nan")), number(float("inf"))
    ('0.741', '−0.200', '—', '∞')
    """
    if not math.isfinite(value):
        return exact_number(value)
    text = f"{value:+.{digits}f}" if signed else f"{value:.{digits}f}"
    return text.replace("-", "−") if float(text) else f"{0:.{digits}f}"


def exact_number(value: float) -> str:
    """Ten significant digits; a dash for NaN.

    >>> exact_number(0.74051), exact_number(float("inf")), exact_number(float("nan"))
    ('0.74051', '∞', '—')
    """
    if math.isnan(value):
        return "—"
    return f"{value:.10g}".replace("inf", "∞").replace("-", "−")


def interval(low: float, high: float, *, signed: bool = False, side: str = "two-sided") -> str:
    """Both ends in brackets; of a one-sided interval its limit in words; a dash where there is none.

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

    >>> pvalue(0.0312), pvalue(2e-9), pvalue(float("nan"))
    ('0.0312', '<0.0001', '—')
    """
    return "—" if math.isnan(value) else "<0.0001" if value < 0.0001 else f"{value:.4f}"


def percent(value: float) -> str:
    """One decimal; a dash for NaN."""
    return "—" if math.isnan(value) else f"{100 * value:.1f}%"


def chance(share: float) -> str:
    """A probability in percent, which is never rounded to certainty."""
    return "less than 0.1%" if share < 0.001 else "more than 99.9%" if share > 0.999 else percent(share)


def count(value: float) -> str:
    """Whole number with separators."""
    return f"{int(value):,}"


def whole_or_weighted(value: float) -> str:
    """Whole totals as counts, weighted ones with a decimal."""
    return count(value) if float(value).is_integer() else f"{value:,.1f}"


def printable(text: object) -> str:
    r"""The text without control characters, lone surrogates and marks that turn its direction.

    >>> printable("a\x1b[31mb")
    'a�[31mb'
    """
    return "".join("\ufffd" if unicodedata.category(c) in ("Cc", "Cs") or c in _DIRECTIONS else c for c in str(text))


def isolate(text: str, labels: Iterable[str]) -> str:
    """Wrap labels written from right to left in isolating marks: numbers beside them stay in place."""
    for label in sorted(set(labels), key=len, reverse=True):
        if any(unicodedata.bidirectional(c) in ("R", "AL", "AN") for c in label):
            text = text.replace(label, f"\u2068{label}\u2069")
    return text


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table in columns of equal width."""
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    return ["  " + "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]


def escaped(text: object) -> str:
    """The text as HTML."""
    return html.escape(printable(text))


def installed_versions() -> dict[str, str]:
    """fairstats, Python and the packages that numbers come from."""
    found = {"fairstats": __version__, "python": platform.python_version()}
    for package in _PACKAGES:
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


@dataclass(frozen=True)
class Tick:
    """A tick: its value, its label, its place in percent."""

    value: float
    label: str
    place: float


@dataclass(frozen=True)
class Axis:
    """A linear or logarithmic scale from 0 to 100 percent.

    `low`, `high`: ends, padding included; `neutral`: value of equality: 1 or 0; `band`: values between which
    a comparison passes; `tick_values`: the more important first; `signed`: tick labels of a linear scale have a sign.
    """

    low: float
    high: float
    log: bool
    neutral: float
    band: tuple[float, float]
    tick_values: tuple[float, ...]
    signed: bool = True

    @property
    def limits(self) -> tuple[float, ...]:
        """Ends of the band that are thresholds, not equality."""
        return tuple(v for v in self.band if v != self.neutral)

    def _place(self, value: float) -> float:
        """Percent of the width, held within [0, 100]."""
        low, high = self.low, self.high
        if self.log:
            value = math.log(value) if value > 0 else -math.inf
            low, high = math.log(low), math.log(high)
        return float(min(max(100 * (value - low) / (high - low), 0.0), 100.0))

    def _holds(self, value: float) -> bool:
        """Whether the value lies on the axis."""
        return self.low <= value <= self.high

    @property
    def ticks(self) -> list[Tick]:
        """Ticks whose labels do not collide on a phone, from left to right."""
        kept: list[Tick] = []
        for value in filter(self._holds, self.tick_values):
            text = f"{value:+.3g}" if self.signed and value and not self.log else f"{value:.3g}"
            tick = Tick(value, text.replace("-", "−"), self._place(value))
            if all(_apart(tick, other) for other in kept):
                kept.append(tick)
        return sorted(kept, key=lambda tick: tick.place)


def _apart(tick: Tick, other: Tick) -> bool:
    distance = abs(tick.place - other.place) / 100 * _NARROW
    return distance >= (len(tick.label) + len(other.label)) / 2 * _CHARACTER + 3


def _finite(values: Iterable[float]) -> list[float]:
    return [v for v in values if math.isfinite(v)]


def ratio_axis(estimates: Iterable[float], ends: Iterable[float], threshold: float) -> Axis:
    """Logarithmic scale that holds the ratios and most of the ends of their intervals."""
    points, limits = ([v for v in _finite(values) if v > 0] for values in (estimates, ends))
    below = _step([1 / v for v in points], [1 / v for v in limits], _RATIO_STEPS)
    above = _step(points, limits, _RATIO_STEPS)
    below = max(below, min(1.25 / threshold, 32.0))
    padding = (below * above) ** _PADDING
    candidates = (1.0, threshold, 1 / below, above, 1 / threshold, 0.5, 2.0, 0.25, 4.0, 0.125, 8.0)
    return Axis(1 / below / padding, above * padding, True, 1.0, (threshold, 1 / threshold), candidates)


def difference_axis(estimates: Iterable[float], ends: Iterable[float], margin: float) -> Axis:
    """Linear scale, symmetric around 0."""
    points, limits = ([abs(v) for v in _finite(values)] for values in (estimates, ends))
    reach = max(_step(points, limits, _DIFFERENCE_STEPS), min(1.5 * margin, 1.0))
    candidates = (0.0, -margin, margin, -reach, reach, *(s * v for v in _ROUND for s in (-1, 1)))
    width = reach * (1 + 2 * _PADDING)
    return Axis(-width, width, False, 0.0, (-margin, margin), candidates)


def gap_axis(
    estimates: Iterable[float], ends: Iterable[float], margin: float, *, steps: Sequence[float] = _DIFFERENCE_STEPS
) -> Axis:
    """Linear scale from 0 to the last of `steps` at most, for sizes without sign and distances."""
    reach = max(_step(_finite(estimates), _finite(ends), steps), min(1.5 * margin, steps[-1]))
    candidates = (0.0, margin, reach, *_ROUND)
    return Axis(-_PADDING * reach, reach * (1 + _PADDING), False, 0.0, (0.0, margin), candidates, signed=False)


#: The same up to 2, for distances between distributions.
distance_axis = partial(gap_axis, steps=_DISTANCE_STEPS)


def _step(points: Sequence[float], limits: Sequence[float], steps: Sequence[float]) -> float:
    """Least step that holds every point and nine tenths of the limits; the largest where none does."""
    wanted = max([*points, float(np.quantile(limits, 0.9)) if limits else 0.0, 0.0])
    return next((step for step in steps if wanted <= step), steps[-1])
