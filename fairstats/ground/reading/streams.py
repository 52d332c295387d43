"""The bytes of a file: decompressed, decoded to UTF-8, and looked at before they are read."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, cast

from fairstats.ground.errors import FairstatsError, InputError, MissingDependencyError
from fairstats.ground.reading.places import COMPRESSIONS, ending_of, name_of_bytes

#: Bytes that are read at a time, and that are looked at to recognise how a text is written.
BLOCK = 1 << 20
#: Of an archive so many bytes are read to tell its expansion, unless it has expanded to more than
#: the third number.
_BYTES_PROBED = 2 << 20
_EXPANDED_PROBED = 64 << 20
_MOST_EXPANDED = 1 << 30
#: An expansion up to here is believed of the length that gzip states, which is that of the last of
#: several parts.
_PLAUSIBLE_EXPANSION = 50
#: Deflate makes at most so many bytes of one: below this size the length that gzip states cannot
#: have wrapped around.
_MOST_OF_DEFLATE = 1032
_STATED_SURELY = (1 << 32) // _MOST_OF_DEFLATE
#: Encodings that are tried where a text is no UTF-8, and how they are called in notes. Every text
#: is latin-1.
FALLBACKS = ("cp1252", "latin-1")
_ENCODING_NAMES = {
    "utf-8": "UTF-8",
    "utf-16": "UTF-16",
    "utf-16-le": "UTF-16 (little-endian)",
    "utf-16-be": "UTF-16 (big-endian)",
    "utf-32": "UTF-32",
    "cp1252": "Windows-1252",
    "latin-1": "latin-1",
}
#: What parsers, decoders and decompressors raise: Arrow too, zipfile (RuntimeError: a password),
#: pandas (warnings).
UNREADABLE = (
    OSError,
    ValueError,
    EOFError,
    RuntimeError,
    Warning,
    zipfile.BadZipFile,
    lzma.LZMAError,
    zlib.error,
)


class NulError(ValueError):
    """A text holds a NUL character."""


@dataclass(frozen=True)
class Source:
    """A file, or bytes that came without one.

    `shown`: how errors name it; `name`: what its format is told from; `path`: where it lies, None
    for `held` bytes.
    """

    shown: str
    name: str
    path: Path | None = None
    held: bytes | None = None

    @classmethod
    def of_path(cls, path: Path) -> Source:
        """A file."""
        return cls(repr(str(path)), path.name, path)

    @classmethod
    def of_bytes(cls, held: bytes, shown: str = "standard input") -> Source:
        """Bytes, whose beginning tells what they are."""
        return cls(shown, "standard input" + name_of_bytes(held[:4096]), None, held)

    @property
    def ending(self) -> str:
        """The format, as the ending of a name: ".csv"."""
        return ending_of(self.name)

    @property
    def compression(self) -> str:
        """The ending of a compressed file, empty for others."""
        lower = self.name.lower()
        return next((ending for ending in COMPRESSIONS if lower.endswith(ending)), "")

    @cached_property
    def n_bytes(self) -> int:
        """Bytes as they lie there."""
        if self.held is not None:
            return len(self.held)
        return cast(Path, self.path).stat().st_size

    def open_raw(self) -> BinaryIO:
        """The bytes as they lie there."""
        if self.held is not None:
            return io.BytesIO(self.held)
        return cast(Path, self.path).open("rb")

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """The bytes, decompressed."""
        with self.open_raw() as raw_stream:
            if self.compression == ".zip":
                with (
                    zipfile.ZipFile(raw_stream) as archive,
                    archive.open(_only_member(archive)) as member,
                ):
                    yield cast(BinaryIO, member)
                return
            with _open_decompressed(raw_stream, self.compression) as stream:
                yield stream

    @contextmanager
    def open_text(self, encoding: str) -> Iterator[io.BufferedReader]:
        """The bytes of the text in UTF-8, without a byte order mark; `raw` is the `Utf8Stream`."""
        with self.open() as stream:
            yield io.BufferedReader(Utf8Stream(stream, encoding), BLOCK)

    def sample(self, n_bytes: int = BLOCK) -> bytes:
        """The first decompressed bytes."""
        with self.open() as stream:
            read_parts = []
            n_left = n_bytes
            while n_left > 0 and (read_part := stream.read(n_left)):
                read_parts.append(read_part)
                n_left -= len(read_part)
        return b"".join(read_parts)

    @cached_property
    def expanded_bytes(self) -> int:
        """Bytes once decompressed; of large archives an estimate from their first 64 MB."""
        if not self.compression:
            return self.n_bytes
        if self.compression == ".zip":
            with self.open_raw() as raw_stream, zipfile.ZipFile(raw_stream) as archive:
                return _only_member(archive).file_size
        if self.compression == ".gz" and self.n_bytes < _STATED_SURELY:
            with self.open_raw() as raw_stream:
                raw_stream.seek(-4, io.SEEK_END)
                stated_bytes = int.from_bytes(raw_stream.read(4), "little")
            is_plausible = self.n_bytes // 2 <= stated_bytes <= _PLAUSIBLE_EXPANSION * self.n_bytes
            is_possible = stated_bytes <= _MOST_OF_DEFLATE * self.n_bytes
            if is_plausible or (stated_bytes > _MOST_EXPANDED and is_possible):
                return stated_bytes
        with (
            self.open_raw() as raw_stream,
            _open_decompressed(raw_stream, self.compression) as stream,
        ):
            expanded = 0
            while expanded_part := stream.read(BLOCK):
                expanded += len(expanded_part)
                if expanded > _MOST_EXPANDED or (
                    expanded > _EXPANDED_PROBED and raw_stream.tell() > _BYTES_PROBED
                ):
                    break
            n_read = max(raw_stream.tell(), 1)
        if n_read >= self.n_bytes:
            return expanded
        return expanded * self.n_bytes // n_read


class Utf8Stream(io.RawIOBase):
    """A text of any encoding as UTF-8.

    Raises UnicodeDecodeError, and `NulError` where a NUL is in it.
    """

    def __init__(self, stream: BinaryIO, encoding: str) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder(encoding)("strict")
        self._ready = b""
        self._started = False
        self._ended = False
        #: Quotes so far: an odd number at the end says that one is not closed, or stands within a
        #: field.
        self.n_quotes = 0

    def readable(self) -> bool:
        """It can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer as far as one block goes; 0 at the end."""
        while not self._ready and not self._ended:
            self._ready = self._next_block()
        n_copied = min(len(buffer), len(self._ready))
        buffer[:n_copied] = self._ready[:n_copied]
        self._ready = self._ready[n_copied:]
        return n_copied

    def _next_block(self) -> bytes:
        block_bytes = self._stream.read(BLOCK)
        self._ended = not block_bytes
        decoded_text = self._decoder.decode(block_bytes, final=self._ended)
        if "\0" in decoded_text:
            raise NulError("a NUL character in the text; is it another encoding?")
        if decoded_text and not self._started:
            self._started = True
            decoded_text = decoded_text.removeprefix("\ufeff")
        self.n_quotes += decoded_text.count('"')
        return decoded_text.encode()


def encoding_of(sample: bytes) -> str:
    """The encoding of a text, told from its beginning.

    A byte order mark, zeros beside letters, or what is valid.
    """
    if sample.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "utf-32"
    if sample.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    zeros_at_even = sample[0:4096:2].count(0)
    zeros_at_odd = sample[1:4096:2].count(0)
    # ASCII letters in UTF-16 have a zero beside them, on one side only
    if (
        max(zeros_at_even, zeros_at_odd) > len(sample[:4096]) // 8
        and min(zeros_at_even, zeros_at_odd) == 0
    ):
        return "utf-16-be" if zeros_at_even else "utf-16-le"
    for encoding in ("utf-8", *FALLBACKS[:-1]):
        try:
            codecs.getincrementaldecoder(encoding)("strict").decode(sample)
        except UnicodeDecodeError:
            continue
        return encoding
    return FALLBACKS[-1]


def encoding_name(encoding: str) -> str:
    """How an encoding is called in a sentence."""
    return _ENCODING_NAMES.get(encoding, encoding)


def check_encoding(encoding: str | None) -> str | None:
    """The encoding that was asked for, by Python's name.

    An InputError where Python has none of that name.
    """
    if encoding is None:
        return None
    try:
        python_name = codecs.lookup(encoding).name
        "text".encode(python_name)
    except (LookupError, TypeError, ValueError) as problem:
        allowed = "the name of an encoding: utf-8, utf-16, latin-1, cp1252, …"
        raise InputError(
            "encoding",
            got=repr(encoding),
            allowed=allowed,
            cure="encoding='cp1252'",
        ) from problem
    return python_name


@contextmanager
def readable(shown: str) -> Iterator[None]:
    """Around the reading of a file: what parsers and decompressors raise as an error of ours."""
    try:
        yield
    except FairstatsError:
        raise
    except UNREADABLE as problem:
        reason = next(iter(str(problem).strip().splitlines()), type(problem).__name__)
        received = f"{shown}, which cannot be read ({reason})"
        allowed = (
            "a whole file of the format that its name ends in; a text file begins with a line of"
            " names"
        )
        advice = "open it in another program to see whether it is whole"
        raise InputError("file", got=received, allowed=allowed, cure=advice) from problem


def _only_member(archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    members = []
    for member in archive.infolist():
        if not member.is_dir():
            members.append(member)
    if len(members) != 1:
        raise ValueError(f"an archive of {len(members)} files instead of one")
    return members[0]


def _open_decompressed(raw_stream: BinaryIO, compression: str) -> BinaryIO:
    if compression == ".gz":
        return cast(BinaryIO, gzip.GzipFile(fileobj=raw_stream, mode="rb"))
    if compression == ".bz2":
        return cast(BinaryIO, bz2.BZ2File(raw_stream))
    if compression == ".xz":
        return cast(BinaryIO, lzma.LZMAFile(raw_stream))
    if compression == ".zst":
        return _open_zstandard(raw_stream)
    return raw_stream


def _open_zstandard(raw_stream: BinaryIO) -> BinaryIO:
    try:
        zstandard = import_module("zstandard")
    except ImportError:
        try:
            pyarrow_module = import_module("pyarrow")
        except ImportError as problem:
            raise MissingDependencyError(
                "pyarrow", extra="files", purpose="Reading .zst"
            ) from problem
        return cast(BinaryIO, pyarrow_module.CompressedInputStream(raw_stream, "zstd"))
    return cast(BinaryIO, zstandard.ZstdDecompressor().stream_reader(raw_stream))
