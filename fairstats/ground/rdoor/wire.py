"""R's vectors as bytes: what `saveRDS(x, version = 2, compress = FALSE)` writes and `readRDS` reads.

The classes bear the names of rpy2's, so that `rsession.to_r` and `rsession.from_r`, where the rules
of conversion stand, take this module in the place of ``rpy2.rinterface``. Only vectors, lists and
their attributes are known; what is more must be taken off on R's side (`aside.R` does).

The format is told in "R Internals", section 1.8 (serialization formats): big-endian words, each
object behind a word that holds its type in 8 bits and flags above them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.errors import BackendError

#: "X\n": big-endian binary; format 2, written by R 4.2.0, read by R 2.3.0 and later.
_HEADER = b"X\n" + struct.pack(">3i", 2, 0x040200, 0x020300)
#: Numbers of the types of objects.
_SYMBOL = 1
_PAIRLIST = 2
_TEXT = 9
_LOGICAL = 10
_INTEGER = 13
_DOUBLE = 14
_TEXTS = 16
_LIST = 19
_END_OF_PAIRLIST = 254
_NULL = 254
_REFERENCE = 255
#: Flags in the word before an object.
_HAS_ATTRIBUTES = 1 << 9
_HAS_TAG = 1 << 10
_UTF8 = 1 << 15
#: Length that stands for a missing text.
_MISSING_TEXT = -1


class NULLType:
    """R's NULL."""


class _MissingText:
    """R's NA among texts."""


NULL = NULLType()
NA_Character = _MissingText()


class Vector:
    """A vector of R with its attributes."""

    def __init__(self, values: Any) -> None:
        self.values = self._stored(values)
        self.attributes: dict[str, Any] = {}

    @staticmethod
    def _stored(values: Any) -> Any:
        return list(values)

    @classmethod
    def from_memoryview(cls, values: Any) -> Vector:
        """A vector of what a memory holds."""
        return cls(np.asarray(values))

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, position: int) -> Any:
        return self.values[position]

    def do_slot(self, name: str) -> Any:
        """An attribute; LookupError where there is none."""
        return self.attributes[name]

    def do_slot_assign(self, name: str, value: Any) -> None:
        """Set an attribute."""
        self.attributes[name] = value

    @property
    def names(self) -> Any:
        """Names of the elements."""
        return self.attributes.get("names", NULL)

    @names.setter
    def names(self, names: Iterable[str]) -> None:
        self.attributes["names"] = names if isinstance(names, StrSexpVector) else _texts(names)


class _NumberVector(Vector):
    """A vector of numbers."""

    dtype: Any = np.float64

    @classmethod
    def _stored(cls, values: Any) -> NDArray[Any]:
        return np.array(values, dtype=cls.dtype).reshape(-1)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.values, dtype=dtype or self.dtype)


class FloatSexpVector(_NumberVector):
    """Doubles."""


class IntSexpVector(_NumberVector):
    """Integers of 32 bits."""

    dtype = np.int32


class BoolSexpVector(_NumberVector):
    """Logical values, integers of 32 bits of which the smallest is NA."""

    dtype = np.int32


class StrSexpVector(Vector):
    """Texts."""


class ListSexpVector(Vector):
    """A list."""


def _texts(names: Iterable[str]) -> StrSexpVector:
    return StrSexpVector(names)


#: Class → number of its type, and how its elements are written.
_NUMBER_TYPES: Mapping[type, tuple[int, str]] = {
    BoolSexpVector: (_LOGICAL, ">i4"),
    IntSexpVector: (_INTEGER, ">i4"),
    FloatSexpVector: (_DOUBLE, ">f8"),
}


def write(vector: Any) -> bytes:
    """The bytes that `readRDS` reads."""
    parts = [_HEADER]
    _write_object(vector, parts)
    return b"".join(parts)


def _write_object(value: Any, parts: list[bytes]) -> None:
    if isinstance(value, NULLType):
        parts.append(_word(_NULL))
        return
    flags = _HAS_ATTRIBUTES if value.attributes else 0
    length = _word(len(value))
    if type(value) in _NUMBER_TYPES:
        number, layout = _NUMBER_TYPES[type(value)]
        parts += [_word(number | flags), length, value.values.astype(layout).tobytes()]
    elif isinstance(value, StrSexpVector):
        parts += [_word(_TEXTS | flags), length]
        for text in value.values:
            _write_text(text, parts)
    else:
        parts += [_word(_LIST | flags), length]
        for entry in value.values:
            _write_object(entry, parts)
    if value.attributes:
        _write_attributes(value.attributes, parts)


def _write_text(text: Any, parts: list[bytes]) -> None:
    if isinstance(text, _MissingText):
        parts += [_word(_TEXT), _word(_MISSING_TEXT)]
        return
    encoded = str(text).encode("utf-8")
    parts += [_word(_TEXT | _UTF8), _word(len(encoded)), encoded]


def _write_attributes(attributes: Mapping[str, Any], parts: list[bytes]) -> None:
    # Each name is written whole: R takes a symbol that comes twice for the same.
    for name, value in attributes.items():
        parts += [_word(_PAIRLIST | _HAS_TAG), _word(_SYMBOL)]
        _write_text(name, parts)
        _write_object(value, parts)
    parts.append(_word(_END_OF_PAIRLIST))


def _word(number: int) -> bytes:
    return struct.pack(">i", number)


def read(content: bytes) -> Any:
    """The vector or list that `saveRDS(version = 2, compress = FALSE)` wrote.

    BackendError for objects of R that are neither.
    """
    return _Reader(content).read()


class _Reader:
    """Reads objects one after the other."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.position = len(_HEADER)
        self.symbols: list[str] = []

    def read(self) -> Any:
        """The next object."""
        flags = self._read_word()
        number = flags & 255
        if number == _NULL:
            return NULL
        if number == _SYMBOL:
            self._read_word()  # the word before its text
            self.symbols.append(str(self._read_text()))
            return self.symbols[-1]
        if number == _REFERENCE:
            return self.symbols[(flags >> 8) - 1]
        for vector_class, (number_of_class, layout) in _NUMBER_TYPES.items():
            if number == number_of_class:
                vector = vector_class(self._read_numbers(layout))
                return self._with_attributes(vector, flags)
        if number == _TEXTS:
            texts = []
            for _ in range(self._read_word()):
                self._read_word()  # the word before its text
                texts.append(self._read_text())
            return self._with_attributes(StrSexpVector(texts), flags)
        if number == _LIST:
            entries = [self.read() for _ in range(self._read_word())]
            return self._with_attributes(ListSexpVector(entries), flags)
        raise BackendError(f"R returned an object of type {number}, which has no counterpart here")

    def _with_attributes(self, vector: Vector, flags: int) -> Vector:
        if not flags & _HAS_ATTRIBUTES:
            return vector
        while self._read_word() & 255 == _PAIRLIST:
            name = self.read()
            vector.attributes[name] = self.read()
        return vector

    def _read_numbers(self, layout: str) -> NDArray[Any]:
        length = self._read_word()
        numbers = np.frombuffer(self.content, layout, length, self.position)
        self.position += numbers.nbytes
        return numbers.astype(numbers.dtype.newbyteorder("="))

    def _read_text(self) -> Any:
        length = self._read_word()
        if length == _MISSING_TEXT:
            return NA_Character
        encoded = self.content[self.position : self.position + length]
        self.position += length
        return encoded.decode("utf-8", errors="replace")

    def _read_word(self) -> int:
        (number,) = struct.unpack_from(">i", self.content, self.position)
        self.position += 4
        return int(number)
