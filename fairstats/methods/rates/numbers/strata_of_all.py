"""Everybody of a stratum, as what its groups are compared with.

Of what has limits in each stratum: quantiles (`quantile_sides.py`), slopes and intercepts
(`regressions.py`), parts of the Brier score (`parts_of_all.py`); `strata_limits.py` and
`strata_parts.py` sum over the strata.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from fairstats.ground.checks import Floats
from fairstats.methods.rates.numbers.contrasts import MoverContrast


class Everybody(Protocol):
    """All rows of a stratum, as what its groups are compared with."""

    @property
    def value(self) -> float:
        """The statistic of all rows."""

    @property
    def bias(self) -> float:
        """Of the value, to the first order."""

    def limits(self, z: float) -> tuple[float, float]:
        """Of the value, each at Φ(z)."""

    def contrast(
        self, group: int, scales: tuple[float, float] | None, *, ratio: bool
    ) -> MoverContrast:
        """A group beside all rows.

        `scales`: of a ratio what errors of both are divided by; None for the values themselves.
        """


@dataclass(frozen=True, eq=False)
class StoredEverybody:
    """All rows of a stratum of a file, with limits at the one level that they have.

    `own`: values of the groups; `low`, `high`: limits of the contrasts of all groups with everybody.
    """

    value: float
    own: Floats
    low: Floats
    high: Floats
    bias: float = 0.0

    def limits(self, z: float) -> tuple[float, float]:
        """None: nobody asks for them."""
        return math.nan, math.nan

    def contrast(
        self, group: int, scales: tuple[float, float] | None, *, ratio: bool
    ) -> MoverContrast:
        """With these limits at every level."""
        low = float(self.low[group])
        high = float(self.high[group])
        values = (float(self.own[group]), self.value)
        if ratio:
            low, high = (logarithm(end) for end in (low, high))
            values = (logarithm(values[0]), logarithm(values[1]))
        return MoverContrast(
            values,
            lambda z: (low + values[1], high + values[1]),
            lambda z: (values[1], values[1]),
            logarithms=ratio,
        )


def logarithm(value: float) -> float:
    """−∞ of what is 0 or below."""
    if value == math.inf:
        return math.inf
    return math.log(value) if value > 0 else -math.inf


def from_logarithm(value: float) -> float:
    """Infinite where it is too large."""
    return math.exp(value) if value < math.log(1e300) else math.inf
