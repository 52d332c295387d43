"""Checks of numbers, choices and seeds that many functions take: one wording, one rule each."""

from __future__ import annotations

import difflib
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Sized
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.errors import InputError

T = TypeVar("T")
Floats: TypeAlias = NDArray[np.float64]

#: Beyond this, whole numbers are no floats any more.
MOST = 2**53
#: Beyond this, squares overflow.
LARGEST = 1e100
#: Characters of a value that an error shows.
_SHOWN = 200


def check_that(fine: Any, argument: str, value: Any, allowed: str, cure: str | None = None) -> None:
    """Raise about `value` unless `fine`."""
    if not fine:
        raise InputError(argument, got=shown(value), allowed=allowed, cure=cure)


def shown(value: Any) -> str:
    """A value as an error shows it: columns by type and shape, long ones cut."""
    shape = None if isinstance(value, (str, bytes, np.generic)) else getattr(value, "shape", None)
    if isinstance(shape, tuple):
        return f"{type(value).__name__} of shape {shape}"
    text = repr(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def is_plain(value: Any) -> bool:
    """Whether a value can be a choice or a label: hashable and equal to itself, so no column, NaN or NA.

    A tuple is plain where its entries are: Python compares these one by one.
    """
    if isinstance(value, tuple):
        return all(map(is_plain, value))
    try:
        hash(value)
        return bool(value == value) and not isinstance(value, (complex, np.complexfloating))
    except (TypeError, ValueError):
        return False


def check_label(argument: str, value: Any, allowed: str, cure: str | None = None) -> None:
    """Raise unless a value can name a group or a label."""
    check_that(is_plain(value), argument, value, allowed, cure)


def check_choice(argument: str, value: Any, choices: Iterable[Any], *, cure: str | None = "choose one of them") -> None:
    """Raise unless `value` is one of `choices`."""
    choices = tuple(choices)
    check_that(is_plain(value) and value in choices, argument, value, ", ".join(map(repr, choices)), cure)


def check_flag(argument: str, value: Any) -> bool:
    """Return `value` as a bool, or raise unless it is one."""
    check_that(isinstance(value, (bool, np.bool_)), argument, value, "True or False", f"{argument}=True")
    return bool(value)


def check_type(
    argument: str, value: Any, kind: type[T] | tuple[type[T], ...], allowed: str, cure: str | None = None
) -> T:
    """Return `value`, or raise unless it is an instance of `kind`."""
    if not isinstance(value, kind):
        raise InputError(argument, got=f"a value of type {type(value).__name__}", allowed=allowed, cure=cure)
    return value


def check_given(argument: str, value: T | None, allowed: str = "one value per row") -> T:
    """Return `value`, or raise where it is None."""
    if value is None:
        raise InputError(argument, got="None", allowed=allowed, cure=f"pass {argument}")
    return value


def check_names(
    argument: str, names: Iterable[Any], known: Iterable[Any], *, cure: str | None = "check the spelling"
) -> None:
    """Raise unless every one of `names` is known, and none comes twice."""
    # NA and columns are the name of nothing, and cannot be compared with names
    known = [name for name in known if is_plain(name)]
    flat = isinstance(names, (str, bytes)) or (isinstance(names, np.ndarray) and names.ndim == 0)
    several = isinstance(names, Iterable) and not flat
    check_that(several, argument, names, f"a list of different ones of {listed(known)}", cure)
    names = list(names)
    lacking = [name for name in names if not is_plain(name) or name not in known]
    if lacking or len(set(names)) < len(names):
        got = "no " + ", ".join(dict.fromkeys(map(shown, lacking))) if lacking else f"{names!r}, with repeats"
        cure = (nearest(lacking[0], known) if lacking else "") or cure
        raise InputError(argument, got=got, allowed=f"different ones of {listed(known)}", cure=cure)


def check_different(argument: str, names: Iterable[Any], where: str = "") -> None:
    """Raise where two columns bear one name; `where` begins what came."""
    twice = [name for name, number in Counter(map(str, names)).items() if name and number > 1]
    if twice:
        got, allowed = f"{where}more than one column named {listed(twice)}", "columns with names of their own"
        cure = "rename or leave out all but one: a name must say which column is meant"
        raise InputError(argument, got=got, allowed=allowed, cure=cure)


def check_summand(summand: T, other: Any, *alike: str) -> T:
    """Return `other`, or raise unless it is of the kind of `summand` and has the same values of the fields `alike`."""
    kind = type(summand)
    cure = f"a + b of two objects of the class {kind.__name__}"
    check_type("other", other, kind, f"a {kind.__name__}", cure)
    for name in alike:
        wanted = getattr(summand, name)
        value = getattr(other, name)
        if value != wanted:
            got = f"a {kind.__name__} with {name} = {shown(value)}"
            cure = "add tallies (fs.tally): these bring groups into one order"
            raise InputError("other", got=got, allowed=f"one with {name} = {shown(wanted)}", cure=cure)
    return other  # type: ignore[no-any-return]


def nearest(name: Any, known: Iterable[Any]) -> str:
    """A question that names what was probably meant, "did you mean 'sex'?"; empty where nothing is near."""
    plain = {str(other).strip().casefold(): other for other in known}
    found = difflib.get_close_matches(str(name).strip().casefold(), plain, n=1, cutoff=0.6)
    return f"did you mean {plain[found[0]]!r}?" if found else ""


def listed(values: Sequence[Any], most: int = 20) -> str:
    """The values in words, at most so many of them."""
    return ", ".join(map(shown, values[:most])) + (", …" if len(values) > most else "")


def column_names(argument: str, given: Any) -> tuple[str, ...]:
    """One name of a column, or several in a list or tuple, as a tuple."""
    names = (given,) if isinstance(given, str) else given
    fine = isinstance(names, (list, tuple)) and all(isinstance(name, str) for name in names)
    check_that(fine, argument, given, "the name of a column, or a list of names", f"{argument}='its name'")
    return tuple(names)


def column_name(argument: str, given: Any) -> str | None:
    """The name of one column, or None."""
    cure = f"put the values into a column of the frame and pass {argument}='its name'"
    return check_type(argument, given, (str, type(None)), "the name of a column of the frame", cure)


def check_one_length(argument: str, lengths: Mapping[str, int]) -> None:
    """Raise unless all columns have one length."""
    if len(set(lengths.values())) > 1:
        got = "different lengths: " + ", ".join(f"{name} {n:,}" for name, n in lengths.items())
        cure = "take all columns from the same rows"
        raise InputError(argument, got=got, allowed="columns of one length, one entry per row", cure=cure)


def check_rows(argument: str, values: NDArray[Any] | Sized, n_rows: int, *, per_row: str = "value") -> None:
    """Raise unless `values` has one entry for each of `n_rows` rows."""
    shape = values.shape if isinstance(values, np.ndarray) else (len(values),)
    if shape != (n_rows,):
        got = f"{shape[0]:,} values for {n_rows:,} rows" if len(shape) == 1 else f"shape {shape}"
        raise InputError(argument, got=got, allowed=f"one {per_row} per row", cure="take all from the same rows")


def check_two_groups(groups: Sequence[str], *, cure: str = "compare with another group") -> None:
    """Raise where there is nothing to compare with."""
    if len(groups) < 2:
        got = f"one group ({groups[0]!r})" if groups else "no group"
        raise InputError("sensitive_features", got=got, allowed="two groups or more", cure=cure)


def float_array(argument: str, value: Any, allowed: str) -> Floats:
    """`value` as a new float64 array of any shape; raises unless all are numbers, NaN and ∞ too."""
    if isinstance(value, np.ma.MaskedArray) and np.ma.getmaskarray(value).any():
        raise InputError(argument, got="a masked array", allowed=allowed, cure="pass value.compressed()")
    kind = "a ragged list"
    if isinstance(value, (list, tuple)) and any(v is np.ma.masked for v in value):
        raise InputError(argument, got="masked entries", allowed=allowed, cure="leave them out")
    try:
        raw = np.asarray(value)
        kind = f"values of type {raw.dtype}"
        if raw.dtype.kind == "O":
            raw = np.array([as_number(v) for v in raw.ravel()], dtype=np.float64).reshape(raw.shape)
        if raw.dtype.kind not in "biuf":
            raise TypeError
        return np.array(raw, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(argument, got=kind, allowed=allowed, cure="convert them to numbers") from None


def finite_array(argument: str, value: Any, allowed: str, *, largest: float = LARGEST) -> Floats:
    """`value` as a new float64 array of any shape; raises unless all are finite numbers up to `largest`."""
    array = float_array(argument, value, allowed)
    # NaN passes through both; no copy of a long series is made where all is well
    low, high = (float(array.min()), float(array.max())) if array.size else (0.0, 0.0)
    if not (math.isfinite(low) and math.isfinite(high)):
        got = f"{array.size - int(np.isfinite(array).sum())} NaN or infinite values among {array.size}"
        raise InputError(argument, got=got, allowed=allowed, cure="leave them out, and say so in your report")
    if max(-low, high) > largest:
        raise InputError(argument, got=f"values beyond {largest:g}", allowed=allowed, cure="change the unit")
    return array


def as_number(value: Any) -> float:
    """A real number, NaN where it is missing; TypeError or ValueError for anything else."""
    if isinstance(value, (str, bytes, complex, np.complexfloating, np.datetime64, np.timedelta64)):
        raise TypeError(f"{value!r:.40}")
    # pandas' NA and NaT are the values that are neither equal to themselves nor numbers
    return math.nan if value is None or type(value).__name__ in ("NAType", "NaTType") else float(value)


def check_whole(
    argument: str, value: Any, *, low: int | None = None, high: int | None = None, cure: str | None = None
) -> int:
    """Return `value` as a whole number in [low, high], or raise; True, 3.5 and 3.0 are none."""
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    high = MOST if whole and high is None and value > MOST else high
    if not whole or (low is not None and value < low) or (high is not None and value > high):
        allowed = "a whole number" + _range_words(low, high)
        raise InputError(argument, got=shown(value), allowed=allowed, cure=cure)
    return int(value)


def check_number(
    argument: str, value: Any, *, low: float | None = None, high: float | None = None,
    open_low: bool = False, open_high: bool = False, allowed: str | None = None, cure: str | None = None,
) -> float:  # fmt: skip
    """Return `value` as a finite number in the range, or raise; open ends are excluded."""
    plain = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    try:
        number = float(value) if plain else math.nan
    except OverflowError:  # 10**400 is no float
        number = math.inf
    below = low is not None and (number <= low if open_low else number < low)
    above = high is not None and (number >= high if open_high else number > high)
    if not math.isfinite(number) or below or above:
        words = allowed or "a finite number" + _range_words(low, high, open_low=open_low, open_high=open_high)
        raise InputError(argument, got=shown(value), allowed=words, cure=cure)
    return number


def check_real(argument: str, value: Any, *, cure: str | None = None) -> float:
    """Return `value` as a number, ±∞ and NaN too, or raise; True and text are none."""
    plain = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    check_that(plain, argument, value, "a number", cure)
    try:
        return float(value)
    except OverflowError:  # 10**400 is no float, but lies beyond all of them
        return math.inf if value > 0 else -math.inf


def check_share(argument: str, value: Any, *, closed: bool = False, cure: str | None = "0.95, say") -> float:
    """Return `value` as a number in (0, 1), or in [0, 1] where `closed`, or raise."""
    allowed, out = f"a number between 0 and 1, both {'included' if closed else 'excluded'}", not closed
    return check_number(argument, value, low=0, high=1, open_low=out, open_high=out, allowed=allowed, cure=cure)


def check_confidence_level(confidence_level: Any) -> float:
    """Return the level, or raise unless it lies in (0, 1)."""
    return check_share("confidence_level", confidence_level, cure="0.95 for a 95% interval")


def _range_words(low: float | None, high: float | None, *, open_low: bool = False, open_high: bool = False) -> str:
    if low is not None and high is not None:
        excluded = [end for end, left_out in ((f"{low:g}", open_low), (f"{high:g}", open_high)) if left_out]
        ends = f", {'both' if len(excluded) > 1 else excluded[0]} excluded" if excluded else ""
        return f" from {low:,} to {high:,}{ends}"
    if low is not None:
        return f" above {low:,}" if open_low else f" ≥ {low:,}"
    if high is not None:
        return f" below {high:,}" if open_high else f" ≤ {high:,}"
    return ""


def as_generator(rng: Any) -> tuple[np.random.Generator, int | None]:
    """Generator and the seed to report: of None one that is drawn; a Generator has none."""
    if isinstance(rng, np.random.Generator):
        return rng, None
    if rng is None:
        rng = int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(rng, (int, np.integer)) and not isinstance(rng, bool) and rng >= 0:
        return np.random.default_rng(int(rng)), int(rng)
    allowed = "None, a non-negative integer or a numpy.random.Generator"
    raise InputError("rng", got=shown(rng), allowed=allowed, cure="rng=1")
