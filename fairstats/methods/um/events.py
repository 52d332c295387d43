"""Events of a comparison: better, worse or equivalent in every metric (the paper's section 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from fairstats.ground.serialise import serialisable

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Event", "event_codes", "event_names", "probabilities"]

#: A difference this little above the RoPE is on its boundary.
TOLERANCE = 1e-12
#: Patterns of more metrics than this are listed only where they occur.
_LISTED = 3


@serialisable
@dataclass(frozen=True)
class Event:
    """One event and its probability.

    Attributes
    ----------
    name : str
        "A≫B", "B≫A", "A≈B", or the pattern of a mixed event such as "A_acc, B_fair".
    probability, mc_error : float
        Share of the draws, and its Monte Carlo standard error.
    n_draws : int
        Draws that it is a share of.
    """

    name: str
    probability: float
    mc_error: float
    n_draws: int


def signs(delta: NDArray[np.float64], rope: Sequence[float]) -> NDArray[np.int64]:
    """1 where A is better by more than ε, −1 where B is, 0 where |Δ| ≤ ε, shape (n, M)."""
    width = np.asarray(rope) + TOLERANCE
    return (delta > width).astype(np.int64) - (delta < -width)


def event_names(names: tuple[str, str], shorts: Sequence[str]) -> dict[int, str]:
    """Code of a pattern → name of its event.

    The code of a pattern of signs s_1 … s_M is Σ_j (s_j + 1)·3^(M−j). All patterns in which A is nowhere
    worse and somewhere better are one event, and so mirrored.
    """
    a, b = names
    found = {}
    for pattern in product((-1, 0, 1), repeat=len(shorts)):
        code = 0
        for sign in pattern:
            code = 3 * code + sign + 1
        if 1 in pattern and -1 in pattern:
            owner = {1: a, -1: b, 0: "≈"}
            found[code] = ", ".join(
                f"{owner[sign]}_{short}" for sign, short in zip(pattern, shorts, strict=True)
            )
        else:
            found[code] = f"{a}≫{b}" if 1 in pattern else f"{b}≫{a}" if -1 in pattern else f"{a}≈{b}"
    return found


def event_codes(delta: NDArray[np.float64], rope: Sequence[float]) -> NDArray[np.int64]:
    """Code of the pattern of every draw, shape (n,); see `event_names`."""
    found = signs(delta, rope)
    code = np.zeros(len(delta), dtype=np.int64)
    for column in found.T:
        code = 3 * code + column + 1
    return code


def probabilities(
    delta: NDArray[np.float64], rope: Sequence[float], names: tuple[str, str], shorts: Sequence[str]
) -> tuple[Event, ...]:
    """Probability of every event; they partition, so that the sum is 1.

    Parameters
    ----------
    delta : ndarray, shape (n, M)
        Draws of ΔΘ, larger better for A, without NaN.
    rope : sequence of M floats
    names : (str, str)
        Of the algorithms.
    shorts : sequence of M str
        Short names of the metrics.
    """
    by_code = event_names(names, shorts)
    n = len(delta)
    counts = np.bincount(event_codes(delta, rope), minlength=3 ** len(shorts))
    a, b = names
    totals = {f"{a}≫{b}": 0, f"{b}≫{a}": 0, f"{a}≈{b}": 0}
    mixed: dict[str, int] = {}
    for code in sorted(by_code, reverse=True):
        name, count = by_code[code], int(counts[code])
        if name in totals:
            totals[name] += count
        elif count or len(shorts) <= _LISTED:
            mixed[name] = count
    events = []
    for name, count in {**totals, **mixed}.items():
        share = count / n
        events.append(Event(name, share, float(np.sqrt(share * (1 - share) / n)), n))
    return tuple(events)
