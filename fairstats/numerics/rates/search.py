"""The search for limits by exact tests: where their p-values fall below an error."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from math import atanh, ceil, exp, floor, inf, isfinite, log, tanh

from scipy.special import ndtri

from fairstats.numerics.rates.score import Contrast

#: Limits are sought on multiples of it: steps of log θ, or of 2 atanh of a difference.
STEP = 2.0**-14
#: Limits beyond e^±60 are 0 and ∞.
SPAN = 60.0


def null_range(contrast: Contrast) -> tuple[float, float]:
    """Ends of the values that a contrast can have."""
    return (-1.0, 1.0) if contrast == "difference" else (0.0, inf)


def end_of(contrast: Contrast, side: int) -> float:
    """The end of the range on a side."""
    least, most = null_range(contrast)
    return most if side > 0 else least


def inverse(contrast: Contrast, null: float) -> float:
    """The same hypothesis with the groups in the other order."""
    return -null if contrast == "difference" else 1 / null


def to_scale(contrast: Contrast, value: float) -> float:
    """Scale on which limits are sought: log of ratios, 2 atanh of differences."""
    if contrast == "difference":
        return 2 * atanh(min(max(value, -1 + 1e-15), 1 - 1e-15))
    return log(value)


def from_scale(contrast: Contrast, x: float) -> float:
    """Inverse of `to_scale`."""
    return tanh(x / 2) if contrast == "difference" else exp(x)


@dataclass(frozen=True)
class WantedLimit:
    """A limit to be found.

    `side`: 1 for the upper, −1 for the lower limit; `error`: of the test that it inverts; `alternative`: of that test;
    `anchors`: null values, on the scale of the search, and their p-values: the limit lies beyond them where they are
    kept and within them where they are rejected.
    """

    side: int
    error: float
    alternative: str
    anchors: tuple[tuple[float, float], ...] = ()


def search(
    limit: WantedLimit, about: tuple[float, float], estimate: float
) -> Generator[list[float], list[float], float]:
    """Yield values whose p-values are wanted, and return the limit between one kept and one rejected.

    `about`: where the limit may lie, and its standard error; `estimate`: on the scale of the search. A two-sided test
    keeps the estimate and rejects again on its other side, where nothing is looked for.

    By secants on Φ⁻¹(p), two values about the expected root at a time, farther apart where these did not halve the
    bracket, then by eighths; over multiples of `STEP`. Where p jumps back and forth over the error there are several
    limits: the anchors decide, then the innermost one that shows.
    """
    side = limit.side
    goal = _probit(limit.error)
    start, standard_error = about

    # places outwards on the scale of the search, with Φ⁻¹(p) less that of the error: it falls outwards
    inner: tuple[float, float] | None = None
    outer: tuple[float, float] | None = None
    for x, pvalue in limit.anchors:
        point = (side * x, _probit(pvalue) - goal)
        kept = pvalue >= limit.error
        if kept and (inner is None or point[0] > inner[0]):
            inner = point
        if not kept and (outer is None or point[0] < outer[0]):
            outer = point
    if inner is not None and outer is not None and inner[0] > outer[0]:
        inner, outer = (outer[0], abs(inner[1])), (inner[0], -abs(outer[1]))

    innermost = -round(SPAN / STEP)
    if limit.alternative == "two-sided" and isfinite(estimate):
        innermost = ceil(side * estimate / STEP)

    root = side * start
    doubt = 0.2 * standard_error
    stride = standard_error
    width = inf
    misses = 0
    while True:
        nearest = round((root - doubt) / STEP), round((root + doubt) / STEP)
        places = [nearest[0], max(nearest[1], nearest[0] + 1)]
        if inner is not None and outer is not None:
            first = floor(inner[0] / STEP) + 1
            last = ceil(outer[0] / STEP) - 1
            if first > last:
                return side * (inner[0] + outer[0]) / 2
            misses = misses + 1 if outer[0] - inner[0] > 0.5 * width else 0
            if misses == 1:
                places = [round((root - 8 * doubt) / STEP), round((root + 8 * doubt) / STEP)]
            elif misses > 1:
                places = [first + (last - first) * part // 8 for part in range(1, 8)]
            width = outer[0] - inner[0]
            places = sorted({min(max(place, first), last) for place in places})
        elif inner is not None:
            # what lies within an anchor that is kept says nothing: p may go back and forth over the error there
            first = floor(inner[0] / STEP) + 1
            places[1] = max(places[1], floor((inner[0] + stride) / STEP), first)
            places = sorted({max(place, first) for place in places})
            stride *= 2
        elif outer is not None:
            last = ceil(outer[0] / STEP) - 1
            if last < innermost:
                return side * outer[0]
            places[0] = min(places[0], ceil((outer[0] - stride) / STEP), last)
            places = sorted({min(place, last) for place in places})
            stride *= 2
        places = sorted({max(place, innermost) for place in places})
        if min(abs(place) for place in places) * STEP >= SPAN:
            return side * SPAN

        pvalues = yield [side * place * STEP for place in places]
        points = [(place * STEP, _probit(pvalue) - goal) for place, pvalue in zip(places, pvalues, strict=True)]
        for point, pvalue in zip(points, pvalues, strict=True):
            if pvalue < limit.error:
                if outer is None or point[0] < outer[0]:
                    outer = point
                break
            if inner is None or point[0] > inner[0]:
                inner = point
        root, doubt = _expected_root(points, standard_error)


def _expected_root(points: list[tuple[float, float]], standard_error: float) -> tuple[float, float]:
    """Where the line through the outermost of some values meets 0, and how far off that may be."""
    nearest = min(points, key=lambda point: abs(point[1]))
    slope = -1 / standard_error
    if len(points) > 1:
        secant = (points[-1][1] - points[0][1]) / (points[-1][0] - points[0][0])
        slope = min(max(secant, -20 / standard_error), -0.1 / standard_error)
    ahead = -nearest[1] / slope
    return nearest[0] + ahead, max(0.06 * abs(ahead), 0.5 * STEP)


def _probit(pvalue: float) -> float:
    return float(ndtri(min(max(pvalue, 1e-12), 1 - 1e-6)))
