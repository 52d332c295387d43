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
#: One number, or an array of them: what broadcasts.
Numbers: TypeAlias = Floats | float
#: What an argument `rng` may be; `as_generator` reads it.
SeedOrGenerator: TypeAlias = int | np.integer[Any] | np.random.Generator | None

#: Beyond this, whole numbers are no floats any more.
MOST = 2**53
#: Beyond this, squares overflow.
LARGEST = 1e100
#: Characters of a value that an error shows.
_MAX_SHOWN_LENGTH = 200


def check_that(fine: Any, argument: str, value: Any, allowed: str, cure: str | None = None) -> None:
    """Raise about `value` unless `fine`."""
    if not fine:
        raise InputError(argument, got=shown(value), allowed=allowed, cure=cure)


def shown(value: Any) -> str:
    """A value as an error shows it: columns by type and shape, long ones cut."""
    if isinstance(value, (str, bytes, np.generic)):
        array_shape = None
    else:
        array_shape = getattr(value, "shape", None)
    if isinstance(array_shape, tuple):
        return f"{type(value).__name__} of shape {array_shape}"
    value_text = repr(value)
    if len(value_text) <= _MAX_SHOWN_LENGTH:
        return value_text
    return value_text[:_MAX_SHOWN_LENGTH] + "…"


def is_plain(value: Any) -> bool:
    """Whether a value can be a choice or a label.

    Hashable and equal to itself, so no column, NaN or NA.

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


def check_choice(
    argument: str,
    value: Any,
    choices: Iterable[Any],
    *,
    cure: str | None = "choose one of them",
) -> None:
    """Raise unless `value` is one of `choices`."""
    choices = tuple(choices)
    # their words cost more than the check
    if is_plain(value) and value in choices:
        return
    check_that(False, argument, value, ", ".join(map(repr, choices)), cure)


def check_flag(argument: str, value: Any) -> bool:
    """Return `value` as a bool, or raise unless it is one."""
    check_that(
        isinstance(value, (bool, np.bool_)), argument, value, "True or False", f"{argument}=True"
    )
    return bool(value)


def check_type(
    argument: str,
    value: Any,
    kind: type[T] | tuple[type[T], ...],
    allowed: str,
    cure: str | None = None,
) -> T:
    """Return `value`, or raise unless it is an instance of `kind`."""
    if not isinstance(value, kind):
        raise InputError(
            argument,
            got=f"a value of type {type(value).__name__}",
            allowed=allowed,
            cure=cure,
        )
    return value


def check_given(argument: str, value: T | None, allowed: str = "one value per row") -> T:
    """Return `value`, or raise where it is None."""
    if value is None:
        raise InputError(argument, got="None", allowed=allowed, cure=f"pass {argument}")
    return value


def check_names(
    argument: str,
    names: Iterable[Any],
    known_names: Iterable[Any],
    *,
    cure: str | None = "check the spelling",
) -> None:
    """Raise unless every one of `names` is known, and none comes twice."""
    # NA and columns are the name of nothing, and cannot be compared with names
    known_names = [each_name for each_name in known_names if is_plain(each_name)]
    is_scalar = isinstance(names, (str, bytes)) or (
        isinstance(names, np.ndarray) and names.ndim == 0
    )
    is_list = isinstance(names, Iterable) and not is_scalar
    check_that(is_list, argument, names, f"a list of different ones of {listed(known_names)}", cure)
    names = list(names)
    lacking = []
    for each_name in names:
        if not is_plain(each_name) or each_name not in known_names:
            lacking.append(each_name)
    if lacking or len(set(names)) < len(names):
        if lacking:
            received = "no " + ", ".join(dict.fromkeys(map(shown, lacking)))
        else:
            received = f"{names!r}, with repeats"
        cure = (nearest(lacking[0], known_names) if lacking else "") or cure
        raise InputError(
            argument,
            got=received,
            allowed=f"different ones of {listed(known_names)}",
            cure=cure,
        )


def check_different(argument: str, names: Iterable[Any], where: str = "") -> None:
    """Raise where two columns bear one name; `where` begins what came."""
    texts = list(map(str, names))
    if len(set(texts)) == len(texts):
        return
    repeated_names = []
    for column_text, number in Counter(texts).items():
        if column_text and number > 1:
            repeated_names.append(column_text)
    if repeated_names:
        received = f"{where}more than one column named {listed(repeated_names)}"
        allowed = "columns with names of their own"
        cure = "rename or leave out all but one: a name must say which column is meant"
        raise InputError(argument, got=received, allowed=allowed, cure=cure)


def check_summand(summand: T, other: Any, *alike: str) -> T:
    """Return `other`, or raise unless it is of the kind of `summand` and has the same values of the
    fields `alike`.
    """
    summand_class = type(summand)
    cure = f"a + b of two objects of the class {summand_class.__name__}"
    check_type("other", other, summand_class, f"a {summand_class.__name__}", cure)
    for field_name in alike:
        wanted_value = getattr(summand, field_name)
        other_value = getattr(other, field_name)
        if other_value != wanted_value:
            received = f"a {summand_class.__name__} with {field_name} = {shown(other_value)}"
            cure = "add tallies (fs.tally): these bring groups into one order"
            raise InputError(
                "other",
                got=received,
                allowed=f"one with {field_name} = {shown(wanted_value)}",
                cure=cure,
            )
    return other  # type: ignore[no-any-return]


def nearest(name: Any, known_names: Iterable[Any]) -> str:
    """A question that names what was probably meant, "did you mean 'sex'?".

    Empty where nothing is near.
    """
    name_by_text = {str(known_name).strip().casefold(): known_name for known_name in known_names}
    close_matches = difflib.get_close_matches(
        str(name).strip().casefold(), name_by_text, n=1, cutoff=0.6
    )
    if close_matches:
        return f"did you mean {name_by_text[close_matches[0]]!r}?"
    return ""


def listed(values: Sequence[Any], most: int = 20) -> str:
    """The values in words, at most so many of them."""
    return ", ".join(map(shown, values[:most])) + (", …" if len(values) > most else "")


def column_names(argument: str, columns: Any) -> tuple[str, ...]:
    """One name of a column, or several in a list or tuple, as a tuple."""
    names = (columns,) if isinstance(columns, str) else columns
    all_are_texts = isinstance(names, (list, tuple)) and all(
        isinstance(each_name, str) for each_name in names
    )
    check_that(
        all_are_texts,
        argument,
        columns,
        "the name of a column, or a list of names",
        f"{argument}='its name'",
    )
    return tuple(names)


def column_name(argument: str, column: Any) -> str | None:
    """The name of one column, or None."""
    cure = f"put the values into a column of the frame and pass {argument}='its name'"
    return check_type(
        argument, column, (str, type(None)), "the name of a column of the frame", cure
    )


def check_one_length(argument: str, lengths: Mapping[str, int]) -> None:
    """Raise unless all columns have one length."""
    if len(set(lengths.values())) > 1:
        received = "different lengths: " + ", ".join(
            f"{column_text} {n_entries:,}" for column_text, n_entries in lengths.items()
        )
        cure = "take all columns from the same rows"
        raise InputError(
            argument,
            got=received,
            allowed="columns of one length, one entry per row",
            cure=cure,
        )


def check_rows(
    argument: str,
    values: NDArray[Any] | Sized,
    n_rows: int,
    *,
    per_row: str = "value",
) -> None:
    """Raise unless `values` has one entry for each of `n_rows` rows."""
    if isinstance(values, np.ndarray):
        values_shape = values.shape
    else:
        values_shape = (len(values),)
    if values_shape != (n_rows,):
        if len(values_shape) == 1:
            received = f"{values_shape[0]:,} values for {n_rows:,} rows"
        else:
            received = f"shape {values_shape}"
        raise InputError(
            argument,
            got=received,
            allowed=f"one {per_row} per row",
            cure="take all from the same rows",
        )


def check_two_groups(groups: Sequence[str], *, cure: str = "compare with another group") -> None:
    """Raise where there is nothing to compare with."""
    if len(groups) < 2:
        if groups:
            received = f"one group ({groups[0]!r})"
        else:
            received = "no group"
        raise InputError(
            "sensitive_features",
            got=received,
            allowed="two groups or more",
            cure=cure,
        )


def float_array(argument: str, value: Any, allowed: str) -> Floats:
    """`value` as a new float64 array of any shape; raises unless all are numbers, NaN and ∞ too."""
    if isinstance(value, np.ma.MaskedArray) and np.ma.getmaskarray(value).any():
        raise InputError(
            argument,
            got="a masked array",
            allowed=allowed,
            cure="pass value.compressed()",
        )
    came_as = "a ragged list"
    if isinstance(value, (list, tuple)) and any(entry is np.ma.masked for entry in value):
        raise InputError(argument, got="masked entries", allowed=allowed, cure="leave them out")
    try:
        raw_array = np.asarray(value)
        came_as = f"values of type {raw_array.dtype}"
        if raw_array.dtype.kind == "O":
            raw_array = np.array(
                [as_number(entry) for entry in raw_array.ravel()], dtype=np.float64
            ).reshape(raw_array.shape)
        if raw_array.dtype.kind not in "biuf":
            raise TypeError
        return np.array(raw_array, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            argument,
            got=came_as,
            allowed=allowed,
            cure="convert them to numbers",
        ) from None


def finite_array(argument: str, value: Any, allowed: str, *, largest: float = LARGEST) -> Floats:
    """`value` as a new float64 array of any shape.

    Raises unless all are finite numbers up to `largest`.
    """
    numbers = float_array(argument, value, allowed)
    # NaN passes through both; no copy of a long series is made where all is well
    if numbers.size:
        smallest = float(numbers.min())
        greatest = float(numbers.max())
    else:
        smallest = 0.0
        greatest = 0.0
    if not (math.isfinite(smallest) and math.isfinite(greatest)):
        received = (
            f"{numbers.size - int(np.isfinite(numbers).sum())} NaN or infinite values among"
            f" {numbers.size}"
        )
        raise InputError(
            argument,
            got=received,
            allowed=allowed,
            cure="leave them out, and say so in your report",
        )
    if max(-smallest, greatest) > largest:
        raise InputError(
            argument,
            got=f"values beyond {largest:g}",
            allowed=allowed,
            cure="change the unit",
        )
    return numbers


def as_number(value: Any) -> float:
    """A real number, NaN where it is missing; TypeError or ValueError for anything else."""
    if isinstance(value, (str, bytes, complex, np.complexfloating, np.datetime64, np.timedelta64)):
        raise TypeError(f"{value!r:.40}")
    # pandas' NA and NaT are the values that are neither equal to themselves nor numbers
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return math.nan
    return float(value)


def check_whole(
    argument: str,
    value: Any,
    *,
    low: int | None = None,
    high: int | None = None,
    cure: str | None = None,
) -> int:
    """Return `value` as a whole number in [low, high], or raise; True, 3.5 and 3.0 are none."""
    is_whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if is_whole and high is None and value > MOST:
        high = MOST
    if not is_whole or (low is not None and value < low) or (high is not None and value > high):
        allowed = "a whole number" + _range_words(low, high)
        raise InputError(argument, got=shown(value), allowed=allowed, cure=cure)
    return int(value)


def check_number(
    argument: str,
    value: Any,
    *,
    low: float | None = None,
    high: float | None = None,
    open_low: bool = False,
    open_high: bool = False,
    allowed: str | None = None,
    cure: str | None = None,
) -> float:
    """Return `value` as a finite number in the range, or raise; open ends are excluded."""
    is_plain_number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(
        value, bool
    )
    try:
        number = float(value) if is_plain_number else math.nan
    except OverflowError:  # 10**400 is no float
        number = math.inf
    is_below = low is not None and (number <= low if open_low else number < low)
    is_above = high is not None and (number >= high if open_high else number > high)
    if not math.isfinite(number) or is_below or is_above:
        allowed_words = allowed or "a finite number" + _range_words(
            low, high, open_low=open_low, open_high=open_high
        )
        raise InputError(argument, got=shown(value), allowed=allowed_words, cure=cure)
    return number


def check_real(argument: str, value: Any, *, cure: str | None = None) -> float:
    """Return `value` as a number, ±∞ and NaN too, or raise; True and text are none."""
    is_plain_number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(
        value, bool
    )
    check_that(is_plain_number, argument, value, "a number", cure)
    try:
        return float(value)
    except OverflowError:  # 10**400 is no float, but lies beyond all of them
        return math.inf if value > 0 else -math.inf


def check_share(
    argument: str,
    value: Any,
    *,
    closed: bool = False,
    cure: str | None = "0.95, say",
) -> float:
    """Return `value` as a number in (0, 1), or in [0, 1] where `closed`, or raise."""
    allowed = f"a number between 0 and 1, both {'included' if closed else 'excluded'}"
    ends_excluded = not closed
    return check_number(
        argument,
        value,
        low=0,
        high=1,
        open_low=ends_excluded,
        open_high=ends_excluded,
        allowed=allowed,
        cure=cure,
    )


def check_confidence_level(confidence_level: Any) -> float:
    """Return the level, or raise unless it lies in (0, 1)."""
    return check_share("confidence_level", confidence_level, cure="0.95 for a 95% interval")


def check_level_of_verdicts(confidence_level: Any) -> float:
    """The same of results that judge: each side of the fair range has a bound at this level."""
    return check_number(
        "confidence_level",
        check_confidence_level(confidence_level),
        low=0.5,
        open_low=True,
        allowed="more than 0.5: verdicts rest on one-sided bounds at this level",
        cure="0.95, say",
    )


def _range_words(
    low: float | None,
    high: float | None,
    *,
    open_low: bool = False,
    open_high: bool = False,
) -> str:
    """What a number must lie between, in words."""
    if low is not None and high is not None:
        excluded_ends = []
        for end_text, left_out in ((f"{low:g}", open_low), (f"{high:g}", open_high)):
            if left_out:
                excluded_ends.append(end_text)
        if excluded_ends:
            excluded_words = f", {'both' if len(excluded_ends) > 1 else excluded_ends[0]} excluded"
        else:
            excluded_words = ""
        return f" from {low:,} to {high:,}{excluded_words}"
    if low is not None:
        return f" above {low:,}" if open_low else f" ≥ {low:,}"
    if high is not None:
        if open_high:
            return f" below {high:,}"
        return f" ≤ {high:,}"
    return ""


def as_generator(rng: SeedOrGenerator) -> tuple[np.random.Generator, int | None]:
    """Generator and the seed to report: of None one that is drawn; a Generator has none."""
    if isinstance(rng, np.random.Generator):
        return rng, None
    if rng is None:
        rng = int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(rng, (int, np.integer)) and not isinstance(rng, bool) and rng >= 0:
        return np.random.default_rng(int(rng)), int(rng)
    allowed = "None, a non-negative integer or a numpy.random.Generator"
    raise InputError("rng", got=shown(rng), allowed=allowed, cure="rng=1")
