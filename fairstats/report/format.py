"""Numbers, labels, versions and axes as text, the same in every view."""

from __future__ import annotations

import html
import math
import platform
import unicodedata
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
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
#: From here on numbers have no decimals.
_LARGE = 1000.0
_RATIO_STEPS = (2.0, 4.0, 8.0, 16.0)
_DIFFERENCE_STEPS = (0.2, 0.3, 0.4, 0.5, 0.75, 1.0)
_DISTANCE_STEPS = (*_DIFFERENCE_STEPS, 1.5, 2.0)
_UNIT_STEPS = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
_ROUND = (0.5, 0.25, 0.3, 0.2)


def number(value: float, digits: int = 3, *, signed: bool = False) -> str:
    """Fixed number of decimals, fewer from 100 on and none from 1,000 on; a dash for NaN.

    >>> number(0.74051), number(-0.2, signed=True), number(float("nan")), number(float("inf"))
    ('0.741', '−0.200', '—', '∞')
    >>> number(313.2217), number(-32286.93)
    ('313.2', '−32,287')
    """
    if not math.isfinite(value):
        return exact_number(value)
    if abs(value) >= _LARGE:
        digits = 0
    elif abs(value) >= _LARGE / 10:
        digits = min(digits, 1)
    if signed:
        text = f"{value:+,.{digits}f}"
    else:
        text = f"{value:,.{digits}f}"
    if float(text.replace(",", "")):
        return text.replace("-", "−")
    return f"{0:.{digits}f}"


def exact_number(value: float) -> str:
    """Ten significant digits; a dash for NaN.

    >>> exact_number(0.74051), exact_number(float("inf")), exact_number(float("nan"))
    ('0.74051', '∞', '—')
    """
    if math.isnan(value):
        return "—"
    return f"{value:.10g}".replace("inf", "∞").replace("-", "−")


def interval(low: float, high: float, *, signed: bool = False, side: str = "two-sided") -> str:
    """Both ends in brackets; of a one-sided interval its limit in words.

    A dash where there is none.

    >>> interval(0.702, 0.7821), interval(0.0, float("inf")), interval(0.081, 2.0, side="greater")
    ('[0.702, 0.782]', '[0.000, ∞)', 'at least 0.081')
    """
    if math.isnan(low) or math.isnan(high):
        return "—"
    if side != "two-sided":
        if side == "greater":
            words = "at least"
            end = low
        else:
            words = "at most"
            end = high
        return f"{words} {number(end, signed=signed)}"
    if math.isinf(high):
        close = ")"
    else:
        close = "]"
    return f"[{number(low, signed=signed)}, {number(high, signed=signed)}{close}"


def pvalue(value: float) -> str:
    """Four decimals, or a bound.

    >>> pvalue(0.0312), pvalue(2e-9), pvalue(float("nan"))
    ('0.0312', '<0.0001', '—')
    """
    if math.isnan(value):
        return "—"
    if value < 0.0001:
        return "<0.0001"
    return f"{value:.4f}"


def percent(value: float) -> str:
    """One decimal; a dash for NaN."""
    if math.isnan(value):
        return "—"
    return f"{100 * value:.1f}%"


def chance(share: float) -> str:
    """A probability in percent, which is never rounded to certainty."""
    if share < 0.001:
        return "less than 0.1%"
    if share > 0.999:
        return "more than 99.9%"
    return percent(share)


def count(value: float) -> str:
    """Whole number with separators."""
    return f"{int(value):,}"


def whole_or_weighted(value: float) -> str:
    """Whole totals as counts, weighted ones with a decimal."""
    if float(value).is_integer():
        return count(value)
    return f"{value:,.1f}"


def printable(text: object) -> str:
    r"""The text without control characters, lone surrogates and marks that turn its direction.

    >>> printable("a\x1b[31mb")
    'a�[31mb'
    """
    characters = []
    for character in str(text):
        hidden = unicodedata.category(character) in ("Cc", "Cs") or character in _DIRECTIONS
        characters.append("\ufffd" if hidden else character)
    return "".join(characters)


def isolate(text: str, labels: Iterable[str]) -> str:
    """Wrap labels written from right to left in isolating marks.

    Numbers beside them stay in place.
    """
    for label in sorted(set(labels), key=len, reverse=True):
        if any(unicodedata.bidirectional(character) in ("R", "AL", "AN") for character in label):
            text = text.replace(label, f"\u2068{label}\u2069")
    return text


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table in columns of equal width."""
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    result: list[str] = []
    for row in rows:
        result.append(
            "  "
            + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        )
    return result


def escaped(text: object) -> str:
    """The text as HTML."""
    return html.escape(printable(text))


def installed_versions() -> dict[str, str]:
    """fairstats, Python and the packages that numbers come from."""
    versions = {"fairstats": __version__, "python": platform.python_version()}
    for package in _PACKAGES:
        with suppress(PackageNotFoundError):
            versions[package] = _version_of(package)
    return versions


@cache
def _version_of(package: str) -> str:
    """Looked up once a process: to read a package's metadata takes 8 milliseconds."""
    return version(package)


@dataclass(frozen=True)
class Tick:
    """A tick: its value, its label, its place in percent."""

    value: float
    label: str
    place: float


@dataclass(frozen=True)
class Axis:
    """A linear or logarithmic scale from 0 to 100 percent.

    `low`, `high`: ends, padding included; `neutral`: value of equality: 1 or 0; `band`: values
    between which a comparison passes; `tick_values`: the more important first; `signed`: tick
    labels of a linear scale have a sign.
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
        result = []
        for value in self.band:
            if value != self.neutral:
                result.append(value)
        return tuple(result)

    def _place_value(self, value: float) -> float:
        """Percent of the width, held within [0, 100]."""
        low = self.low
        high = self.high
        if self.log:
            if value > 0:
                value = math.log(value)
            else:
                value = -math.inf
            low = math.log(low)
            high = math.log(high)
        return float(min(max(100 * (value - low) / (high - low), 0.0), 100.0))

    def _holds_value(self, value: float) -> bool:
        """Whether the value lies on the axis."""
        return self.low <= value <= self.high

    @property
    def ticks(self) -> list[Tick]:
        """Ticks whose labels do not collide on a phone, from left to right."""
        kept_ticks: list[Tick] = []
        for value in filter(self._holds_value, self.tick_values):
            if self.signed and value and not self.log:
                text = f"{value:+.3g}"
            else:
                text = f"{value:.3g}"
            tick = Tick(value, text.replace("-", "−"), self._place_value(value))
            if all(_labels_fit(tick, other) for other in kept_ticks):
                kept_ticks.append(tick)
        return sorted(kept_ticks, key=lambda tick: tick.place)


def _labels_fit(tick: Tick, other: Tick) -> bool:
    distance = abs(tick.place - other.place) / 100 * _NARROW
    return distance >= (len(tick.label) + len(other.label)) / 2 * _CHARACTER + 3


def _finite_values(values: Iterable[float]) -> list[float]:
    return [value for value in values if math.isfinite(value)]


def ratio_axis(estimates: Iterable[float], ends: Iterable[float], threshold: float) -> Axis:
    """Logarithmic scale that holds the ratios and most of the ends of their intervals."""
    points, limits = (
        [value for value in _finite_values(values) if value > 0] for values in (estimates, ends)
    )
    below = _least_step(
        [1 / value for value in points], [1 / value for value in limits], _RATIO_STEPS
    )
    above = _least_step(points, limits, _RATIO_STEPS)
    below = max(below, min(1.25 / threshold, 32.0))
    padding = (below * above) ** _PADDING
    candidates = (1.0, threshold, 1 / below, above, 1 / threshold, 0.5, 2.0, 0.25, 4.0, 0.125, 8.0)
    return Axis(
        1 / below / padding, above * padding, True, 1.0, (threshold, 1 / threshold), candidates
    )


def difference_axis(estimates: Iterable[float], ends: Iterable[float], margin: float) -> Axis:
    """Linear scale, symmetric around 0."""
    points, limits = (
        [abs(value) for value in _finite_values(values)] for values in (estimates, ends)
    )
    reach = max(_least_step(points, limits, _DIFFERENCE_STEPS), min(1.5 * margin, 1.0))
    candidates = (
        0.0,
        -margin,
        margin,
        -reach,
        reach,
        *(sign * value for value in _ROUND for sign in (-1, 1)),
    )
    width = reach * (1 + 2 * _PADDING)
    return Axis(-width, width, False, 0.0, (-margin, margin), candidates)


def units_axis(estimates: Iterable[float], ends: Iterable[float], margin: float) -> Axis:
    """Linear scale of differences in the units of a number, as wide as these need.

    `margin`: 0, since none is known in these units.
    """
    points, limits = (
        [abs(value) for value in _finite_values(values)] for values in (estimates, ends)
    )
    largest = max([*points, *limits, margin])
    if largest == 0.0:
        largest = 1.0
    power = 10.0 ** math.floor(math.log10(largest))
    reach = _least_step(points, limits, [step * power for step in _UNIT_STEPS])
    candidates = (0.0, -reach, reach, -reach / 2, reach / 2)
    width = reach * (1 + 2 * _PADDING)
    return Axis(-width, width, False, 0.0, (0.0, 0.0), candidates)


def gap_axis(
    estimates: Iterable[float],
    ends: Iterable[float],
    margin: float,
    *,
    steps: Sequence[float] = _DIFFERENCE_STEPS,
) -> Axis:
    """Linear scale from 0 to the last of `steps` at most, for sizes without sign and distances."""
    reach = max(
        _least_step(_finite_values(estimates), _finite_values(ends), steps),
        min(1.5 * margin, steps[-1]),
    )
    candidates = (0.0, margin, reach, *_ROUND)
    return Axis(
        -_PADDING * reach,
        reach * (1 + _PADDING),
        False,
        0.0,
        (0.0, margin),
        candidates,
        signed=False,
    )


#: The same up to 2, for distances between distributions.
distance_axis = partial(gap_axis, steps=_DISTANCE_STEPS)


def _least_step(points: Sequence[float], limits: Sequence[float], steps: Sequence[float]) -> float:
    """Least step that holds every point and nine tenths of the limits.

    The largest where none does.
    """
    wanted = max([*points, float(np.quantile(limits, 0.9)) if limits else 0.0, 0.0])
    return next((step for step in steps if wanted <= step), steps[-1])
