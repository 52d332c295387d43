"""The search for limits by exact tests: where their p-values fall below an error.

With p(θ) the p-value of the null value θ and ε the error, the limit on a side is the outermost root
of

    Φ⁻¹(p(θ)) = Φ⁻¹(ε),      on the scale x = log θ of ratios, x = 2·atanh δ of differences,

Φ the normal distribution function: on these scales the left side is nearly straight, and secants
find the root in a few p-values, each of which is dear.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from math import atanh, ceil, exp, floor, inf, isfinite, log, tanh
from typing import NamedTuple

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

    Attributes
    ----------
    side : int
        1 for the upper, −1 for the lower limit.
    error : float
        Error of the test that it inverts.
    alternative : str
        Alternative of that test.
    anchors : tuple of float
        Null values beyond which the limit lies where they are kept, and within which it lies where
        they are rejected.
    """

    side: int
    error: float
    alternative: str
    anchors: tuple[float, ...] = ()


class Point(NamedTuple):
    """A value outwards on the scale of the search, and Φ⁻¹(p) less that of the error, which falls
    outwards.
    """

    place: float
    excess: float


@dataclass
class Bracket:
    """The outermost value that is kept, and the innermost one that is rejected."""

    inner: Point | None = None
    outer: Point | None = None

    def add(self, points: Sequence[Point]) -> None:
        """Narrow it by points in outward order.

        Of several limits the outermost one that shows is followed.
        """
        within = [point for point in points if self._holds(point)]
        for point in reversed(within):
            if point.excess >= 0:
                self.inner = point
                return
            self.outer = point

    def _holds(self, point: Point) -> bool:
        beyond_inner = self.inner is None or point.place > self.inner.place
        return beyond_inner and (self.outer is None or point.place < self.outer.place)


#: Exact limits lie beyond those of the score, in standard errors: half of all between 0 and .1.
_BEYOND_SCORE = 0.12
_FIRST_DOUBT = 0.18
#: Jumps of p keep a secant from its root, in standard errors.
_JUMPS = 0.01
#: So few steps are asked all at once.
_FEW_STEPS = 4
MOST_SECANTS = 12


def search(
    limit: WantedLimit,
    anchors: Sequence[float],
    start: float,
    standard_error: float,
    estimate: float,
    ties: Callable[[float, float], list[float]],
) -> Generator[list[float], list[float], float]:
    """Yield values whose p-values are wanted, and return the limit between one kept and one
    rejected.

    The first answer begins with the p-values of the anchors. A two-sided test keeps the estimate
    and rejects again on its other side, where nothing is looked for.

    p jumps at null values where another table comes to be as extreme as the observed one, and is
    smooth between them. So the limit is bracketed by secants on Φ⁻¹(p); then both sides of the
    largest jumps within the bracket are asked, then the root between two of them; a bracket that
    does not halve is divided by eighths. All over multiples of `STEP`. Where p goes back and forth
    over the error there are several limits: the anchors decide, then the outermost one that shows
    (which need not be the outermost of all: nothing is asked beyond a bracket).

    Parameters
    ----------
    limit : WantedLimit
        What is sought.
    anchors : sequence of float
        Its anchors, on the scale of the search.
    start, standard_error : float
        About where it lies, on the scale of the search.
    estimate : float
        On the same scale.
    ties : callable
        The largest jumps of p between two values whose p-values have been given.
    """
    side = limit.side
    innermost = -round(SPAN / STEP)
    if limit.alternative == "two-sided" and isfinite(estimate):
        innermost = ceil(side * estimate / STEP)

    root = side * start + _BEYOND_SCORE * standard_error
    places = _round_about(root, _FIRST_DOUBT * standard_error, innermost)
    pvalues = yield [side * place * STEP for place in places]
    points_of_anchors = _list_points(limit, [side * place for place in anchors], pvalues)
    bracket = _bracket_by_anchors(limit, points_of_anchors, side * estimate)
    pvalues = pvalues[len(anchors) :]

    stride = standard_error
    width = inf
    rounds_without_halving = 0
    while True:
        points = _list_points(limit, [place * STEP for place in places], pvalues)
        bracket.add(points)
        inner = bracket.inner
        outer = bracket.outer
        if inner is not None and outer is not None:
            first = floor(inner.place / STEP) + 1
            last = ceil(outer.place / STEP) - 1
            if first > last:
                return side * (inner.place + outer.place) / 2
            if outer.place - inner.place > 0.5 * width:
                rounds_without_halving = rounds_without_halving + 1
            else:
                rounds_without_halving = 0
            width = outer.place - inner.place
            if last - first < _FEW_STEPS:
                places = list(range(first, last + 1))
            elif rounds_without_halving > 1:
                places = [first + (last - first) * eighth // 8 for eighth in range(1, 8)]
            else:
                places = _choose_within(side, inner, outer, standard_error, ties)
            places = sorted({min(max(place, first), last) for place in places})
        else:
            root, doubt = _extrapolate_root(points, standard_error)
            places = _round_about(root, doubt, innermost)
            if inner is not None:
                # what lies within an anchor that is kept says nothing: p may go back and forth over
                # the error there
                first = floor(inner.place / STEP) + 1
                places[1] = max(places[1], floor((inner.place + stride) / STEP), first)
                places = [max(place, first) for place in places]
            elif outer is not None:
                last = ceil(outer.place / STEP) - 1
                if last < innermost:
                    return side * outer.place
                places[0] = min(places[0], ceil((outer.place - stride) / STEP), last)
                places = [min(place, last) for place in places]
            stride *= 2
            places = sorted({max(place, innermost) for place in places})
        if min(abs(place) for place in places) * STEP >= SPAN:
            return side * SPAN
        pvalues = yield [side * place * STEP for place in places]


def falsi(
    function: Callable[[float], float],
    one: tuple[float, float],
    other: tuple[float, float],
    step: float,
) -> float:
    """Root of a function between two places with its values there, by secants that keep the bracket
    (Illinois).

    It ends where a secant moves by less than `step`: of a function that is nearly a line the root
    is nearer then.
    """
    low, at_low = one
    high, at_high = other
    x = low
    for _ in range(MOST_SECANTS):
        before = x
        x = low - at_low * (high - low) / (at_high - at_low)
        if abs(x - before) < step:
            break
        at_x = function(x)
        if at_x == 0:
            break
        if at_x * at_low > 0:
            low = x
            at_low = at_x
            at_high /= 2
        else:
            high = x
            at_high = at_x
            at_low /= 2
    return x


def _round_about(root: float, doubt: float, innermost: int) -> list[int]:
    """Two multiples of the step about a root, of which the second may not be the first."""
    low = max(round((root - doubt) / STEP), innermost)
    high = max(round((root + doubt) / STEP), low + 1)
    return [low, high]


def _list_points(
    limit: WantedLimit, places: Sequence[float], pvalues: Sequence[float]
) -> list[Point]:
    """Places with what their p-values say.

    The sign is that of the decision, also where Φ⁻¹ rounds.
    """
    goal = _compute_probit(limit.error)
    points = []
    for place, pvalue in zip(places, pvalues, strict=False):
        excess = _compute_probit(pvalue) - goal
        if pvalue < limit.error:
            excess = min(excess, -1e-15)
        else:
            excess = max(excess, 0.0)
        points.append(Point(place, excess))
    return points


def _bracket_by_anchors(limit: WantedLimit, points: Sequence[Point], estimate: float) -> Bracket:
    """What null values that were asked about anyway say about the limit.

    All of it in outward order.
    """
    inner: Point | None = None
    outer: Point | None = None
    for point in points:
        kept = point.excess >= 0
        # a two-sided test may reject on the other side of the estimate, too
        speaks = limit.alternative != "two-sided" or point.place > estimate
        if kept and (inner is None or point.place > inner.place):
            inner = point
        if not kept and speaks and (outer is None or point.place < outer.place):
            outer = point
    if inner is not None and outer is not None and inner.place > outer.place:
        between = Point(outer.place, abs(inner.excess))
        outer = Point(inner.place, -abs(outer.excess))
        inner = between
    return Bracket(inner, outer)


def _choose_within(
    side: int,
    inner: Point,
    outer: Point,
    standard_error: float,
    ties: Callable[[float, float], list[float]],
) -> list[int]:
    """Where to ask next in a bracket.

    On both sides of the jumps of p, or about the root of the smooth p.
    """
    width = outer.place - inner.place
    if width < 0.5 * standard_error:
        jumps = ties(side * inner.place, side * outer.place)
        if jumps:
            below = [floor(side * jump / STEP) for jump in jumps]
            return below + [place + 1 for place in below]
    share = inner.excess / max(inner.excess - outer.excess, 1e-300)
    root = inner.place + min(max(share, 0.02), 0.98) * width
    doubt = max(0.5 * STEP, 0.1 * width * min(width / standard_error, 1.0))
    return [floor((root - doubt) / STEP), ceil((root + doubt) / STEP)]


def _extrapolate_root(points: list[Point], standard_error: float) -> tuple[float, float]:
    """Where the line through the outermost of some points meets 0, and how far off that may be."""
    nearest = min(points, key=lambda point: abs(point.excess))
    slope = -1 / standard_error
    if len(points) > 1:
        secant = (points[-1].excess - points[0].excess) / (points[-1].place - points[0].place)
        slope = min(max(secant, -4 / standard_error), -0.25 / standard_error)
    ahead = -nearest.excess / slope
    return nearest.place + ahead, 0.2 * abs(ahead) + _JUMPS * standard_error


def _compute_probit(pvalue: float) -> float:
    return float(ndtri(min(max(pvalue, 1e-12), 1 - 1e-6)))
