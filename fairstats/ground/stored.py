"""What a field may hold that is read back from a file.

`serialise.decode` knows the type of every field from its declaration. A type does not say that a
share lies between 0 and 1, or that a table has a row per group: that stands here, by the name of
the field (one name means one thing in all result classes), and in the method ``check_stored`` of
the classes whose fields must fit each other. Objects that functions make are not checked again:
their arguments were.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import LARGEST, MOST
from fairstats.ground.errors import InputError

CURE = "write the file anew: it was changed or damaged"


@dataclass(frozen=True)
class Range:
    """Numbers from `low` to `high`.

    NaN where `unknown` allows it, infinity where the range reaches it.
    """

    low: float
    high: float
    words: str
    open_low: bool = False
    open_high: bool = False
    unknown: bool = False

    def holds(self, value: float) -> bool:
        """Whether a number lies in the range."""
        if math.isnan(value):
            return self.unknown
        if self.open_low:
            above_lower_end = value > self.low
        else:
            above_lower_end = value >= self.low
        if self.open_high:
            below_upper_end = value < self.high
        else:
            below_upper_end = value <= self.high
        return above_lower_end and below_upper_end


#: An interval that rests on no level (order statistics, worst cases) has NaN.
_LEVEL_RANGE = Range(
    0,
    1,
    "a number between 0 and 1, or NaN",
    open_low=True,
    open_high=True,
    unknown=True,
)
_PROBABILITY_RANGE = Range(0, 1, "a number from 0 to 1, or NaN", unknown=True)
_ERROR_RANGE = Range(0, math.inf, "a number ≥ 0, or NaN", unknown=True)
_COUNT_RANGE = Range(0, MOST, f"a number from 0 to {MOST:,}")
_MARGIN_RANGE = Range(0, LARGEST, "a number ≥ 0")

#: Field → the numbers that it may hold, in every class.
RANGES: dict[str, Range] = {
    "confidence_level": _LEVEL_RANGE,
    "cvar_level": _LEVEL_RANGE,
    "pvalue": _PROBABILITY_RANGE,
    "pvalue_adjusted": _PROBABILITY_RANGE,
    "pvalue_verdict": _PROBABILITY_RANGE,
    "pvalue_verdict_adjusted": _PROBABILITY_RANGE,
    "std_error": _ERROR_RANGE,
    "margin": _MARGIN_RANGE,
    "n": _COUNT_RANGE,
    "n_reference": _COUNT_RANGE,
    "n_rows": _COUNT_RANGE,
    "n_dropped": _COUNT_RANGE,
    "n_units": _COUNT_RANGE,
    "n_real": _COUNT_RANGE,
    "n_synthetic": _COUNT_RANGE,
    "n_people": _COUNT_RANGE,
    "n_resamples": _COUNT_RANGE,
}


def check_numbers(owner: str, name: str, value: Any) -> None:
    """Raise where a number in a field is outside what the field may hold."""
    allowed = RANGES.get(name)
    if allowed is None or isinstance(value, bool) or not isinstance(value, (int, float)):
        return
    if not allowed.holds(value):
        raise damaged(f"{owner} whose {name} is {value!r:.40}", f"{name}: {allowed.words}")


def damaged(got: str, allowed: str) -> InputError:
    """The error about a file whose parts are not what fairstats wrote."""
    return InputError("json", got=got, allowed=allowed, cure=CURE)


def check_shape(
    owner: object,
    name: str,
    array: NDArray[Any] | None,
    shape: tuple[int, ...],
) -> None:
    """Raise unless the array of a field has the shape that the other fields ask for.

    None is no array.
    """
    if array is not None and array.shape != shape:
        received = f"a {type(owner).__name__} whose {name} has shape {array.shape}"
        raise damaged(received, f"{name} of shape {shape}, as its other fields say")


def check_length(owner: object, name: str, values: Any, length: int) -> None:
    """Raise unless a field has as many entries as the other fields ask for."""
    if len(values) != length:
        received = f"a {type(owner).__name__} whose {name} has {len(values)} entries"
        raise damaged(received, f"{length} entries, as its other fields say")


def check_amounts(
    owner: object,
    name: str,
    array: NDArray[Any] | None,
    *,
    least: float = 0.0,
) -> None:
    """Raise unless all entries are finite numbers from `least` on, below what floats count
    exactly.
    """
    if array is None or not array.size:
        return
    numbers = array.dtype.kind in "iuf"
    if not numbers or not np.isfinite(array).all() or array.min() < least or array.max() > LARGEST:
        received = f"a {type(owner).__name__} whose {name} has entries that are no amounts"
        raise damaged(received, f"finite numbers from {least:g} on")


def check_counts(owner: object, name: str, array: NDArray[Any] | None) -> None:
    """Raise unless all entries are amounts that can be counted."""
    check_amounts(owner, name, array)
    if array is not None and array.size and array.max() > MOST:
        raise damaged(
            f"a {type(owner).__name__} whose {name} has counts beyond {MOST:,}", "numbers of rows"
        )


def check_positions(
    owner: object,
    name: str,
    array: NDArray[Any] | None,
    number: int,
    *,
    least: int = 0,
) -> None:
    """Raise unless all entries are whole numbers from `least` to `number` − 1."""
    if array is None or not array.size:
        return
    if array.dtype.kind not in "iu" or array.min() < least or array.max() >= number:
        received = f"a {type(owner).__name__} whose {name} points at what is not there"
        raise damaged(received, f"whole numbers from {least} to {number - 1}")


def check_stored(value: Any) -> None:
    """What the class of an object that was read says of its fields together."""
    check_fields: Callable[[], None] | None = getattr(value, "check_stored", None)
    if check_fields is not None:
        check_fields()
