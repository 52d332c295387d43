"""The one writer: every file of a user that fairstats writes goes through here.

The rules, in words:

1. An input of the run is never written, whatever it is called: files are told apart by device and
   inode, so that a symbolic link, a hard link, another spelling, another case or ``/dev/fd/3`` is
   the file that it leads to.
2. The ending of a name says what is in the file; an ending that is not made is refused.
3. A file is whole or it is not there. The text goes to a file beside it, which takes its place in
   one step (`os.replace`) after it has reached the disk. A full disk or a signal leaves the file of
   before, or the new one.
4. A file that is replaced keeps its permissions and its owner; a symbolic link stays a link, and
   what it leads to is replaced. Pipes and devices are written as they are.
5. No name is made up beside the files of the user: the file of rule 3 has no name, or where the
   system knows none such a hidden one that nobody can guess.
"""

from __future__ import annotations

import errno
import glob
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from os import PathLike, fspath
from pathlib import Path

from fairstats.ground.drafts import flush_folder, open_draft, pour
from fairstats.ground.errors import InputError, WriteError
from fairstats.ground.reading.places import STANDARD, files_of
from fairstats.ground.serialise import check_path

#: In place of a path: standard input, or standard output.
HTML = (".html", ".htm")
DOCUMENTS = (".docx", ".pdf")
JSON = (".json",)
CSV = (".csv",)
VIGNETTES = (".Rmd", ".qmd")

#: A file by its device and its inode.
Identity = tuple[int, int]
Content = str | bytes

_OF_STANDARD_OUTPUT = ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")
_DESCRIPTOR_PATH = re.compile(r"/(?:dev|proc/self)/fd/(\d+)")
_STANDARD_ERROR = "/dev/stderr"
#: Errors of the system that a path has, and that another path cures; all others are failures of
#: writing.
_FAULTS_OF_THE_PATH = frozenset(
    {
        errno.EACCES,
        errno.EBADF,
        errno.EBUSY,
        errno.EINVAL,
        errno.EISDIR,
        errno.ELOOP,
        errno.ENAMETOOLONG,
        errno.ENOENT,
        errno.ENOTDIR,
        errno.ENXIO,
        errno.EPERM,
        errno.EROFS,
    }
)


def as_bytes(content: Content) -> bytes:
    """A text as the bytes of a file.

    What UTF-8 cannot hold (half a pair of surrogates) is written as a reference.
    """
    if isinstance(content, bytes):
        return content
    return content.encode("utf-8", "xmlcharrefreplace")


# ---------------------------------------------------------------- which file a path is


def identity(path: str | PathLike[str]) -> Identity | None:
    """Device and inode of the file that a path leads to; None where there is none."""
    descriptor = _descriptor_of(path)
    try:
        if descriptor is None:
            status = os.stat(path)
        else:
            status = os.fstat(descriptor)
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino


def _descriptor_of(path: str | PathLike[str]) -> int | None:
    """The open file of this process that a path such as ``/dev/fd/3`` names."""
    path_text = fspath(path)
    if path_text == _STANDARD_ERROR:
        return 2
    if path_text in _OF_STANDARD_OUTPUT:
        return 1
    descriptor_match = _DESCRIPTOR_PATH.fullmatch(path_text)
    if descriptor_match:
        return int(descriptor_match[1])
    return None


def is_standard_output(path: str | PathLike[str]) -> bool:
    """Whether a path is ``-``, or a name of the system for standard output."""
    return fspath(path) == STANDARD or fspath(path) in _OF_STANDARD_OUTPUT


class Inputs:
    """The files that a run reads: none of them is written.

    Parameters
    ----------
    paths : iterable of path-like or None
        Files, folders and patterns; ``-`` for standard input, None for nothing.
    """

    def __init__(self, paths: Iterable[str | PathLike[str] | None] = ()) -> None:
        self._identities: set[Identity] = set()
        self._places: set[str] = set()
        for path in paths:
            if path is None:
                continue
            if fspath(path) == STANDARD:
                self._add_standard_input()
                continue
            for member_file in _member_files(path):
                self._add(member_file)

    def _add(self, path: Path) -> None:
        self._places.add(os.path.realpath(path))
        file_identity = identity(path)
        # Terminals and /dev/null are read and written by one name; nothing is lost there.
        if file_identity is not None and not is_character_device(path):
            self._identities.add(file_identity)

    def _add_standard_input(self) -> None:
        """A file that the shell opened for reading (``< people.csv``) is an input like any
        other.
        """
        try:
            status = os.fstat(sys.stdin.fileno())
        except (AttributeError, OSError, ValueError):
            return
        if stat.S_ISREG(status.st_mode):
            self._identities.add((status.st_dev, status.st_ino))

    def hold(self, path: str | PathLike[str]) -> bool:
        """Whether a path leads to one of the files."""
        file_identity = identity(path)
        if file_identity is not None:
            return file_identity in self._identities
        return os.path.realpath(path) in self._places


def _member_files(path: str | PathLike[str]) -> list[Path]:
    """The files that a path names.

    A path that exists is that file, a folder holds its files, others are patterns.
    """
    is_file = os.path.lexists(path) and not os.path.isdir(path)
    if is_file or not (os.path.isdir(path) or glob.has_magic(fspath(path))):
        return [Path(path)]
    return files_of(Path(path))


def is_character_device(path: str | PathLike[str]) -> bool:
    """Whether a path is a terminal, ``/dev/null`` or the like."""
    try:
        return stat.S_ISCHR(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


# ---------------------------------------------------------------- what may be written


def check_ending(argument: str, path: Path, endings: Sequence[str]) -> None:
    """Raise InputError unless the name of a file ends as one of `endings`, in small letters or
    capitals.
    """
    if not endings or path.name.lower().endswith(tuple(ending.lower() for ending in endings)):
        return
    if path.suffix:
        ending_words = f"which ends in {path.suffix!r}"
    else:
        ending_words = "a name without an ending"
    allowed = f"a name that ends in {_listed_endings(endings)}"
    raise InputError(
        argument,
        got=f"{str(path)!r}, {ending_words}",
        allowed=allowed,
        cure=f"{path.stem}{endings[0]}",
    )


def _listed_endings(endings: Sequence[str]) -> str:
    if len(endings) == 1:
        return endings[0]
    return f"{', '.join(endings[:-1])} or {endings[-1]}"


def check_writable(
    argument: str,
    path: Path,
    endings: Sequence[str] = (),
    *,
    inputs: Inputs | None = None,
    replace: bool = True,
) -> None:
    """Raise InputError where a file could not be written; nothing changes and nothing stays behind.

    Parameters
    ----------
    argument : str
        What the caller calls the path, for errors.
    path : Path
    endings : sequence of str, optional
        Those that are made; default any.
    inputs : Inputs, optional
        Files that are read, and never written.
    replace : bool, default True
        Whether a file that is there may be replaced.
    """
    if inputs is not None and inputs.hold(path):
        raise InputError(
            argument,
            got=f"{str(path)!r}, which is read here",
            allowed="a file that is not among the inputs",
            cure="name another file: an input is never written over",
        )
    with _faults_named(argument, path):
        descriptor = _descriptor_of(path)
        if descriptor is not None:
            os.fstat(descriptor)
            return
        status = _file_status(path)
        if status is not None and _is_special(status):
            return
        check_ending(argument, path, endings)
        if status is not None and not replace:
            raise _is_there(argument, path)
        target = Path(os.path.realpath(path))
        if status is not None:
            with target.open("ab"):  # a file that is protected against writing stays what it is
                pass
        with open_draft(target.parent):
            pass


def _file_status(path: Path) -> os.stat_result | None:
    """What is at a path, links followed; None where nothing is."""
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None


def _is_special(status: os.stat_result) -> bool:
    """Whether it is a pipe, a terminal or another device that takes bytes as they come."""
    file_type = stat.S_IFMT(status.st_mode)
    if file_type == stat.S_IFDIR:
        raise IsADirectoryError(errno.EISDIR, "Is a directory")
    if file_type == stat.S_IFBLK:
        raise PermissionError(errno.EACCES, "It is a device that holds files")
    return file_type != stat.S_IFREG


def _is_there(argument: str, path: Path) -> InputError:
    return InputError(
        argument,
        got=f"{str(path)!r}, which is there already",
        allowed="a new file",
        cure="choose another name, or say that it may be overwritten (overwrite=True, --overwrite)",
    )


@contextmanager
def _faults_named(argument: str, path: Path) -> Iterator[None]:
    """Turn errors of the system into ours.

    An InputError where another path is the cure, else a WriteError.
    """
    try:
        yield
    except (InputError, WriteError):
        raise
    except (OSError, ValueError) as problem:
        failure_cause = str(problem)
        if isinstance(problem, OSError):
            failure_cause = problem.strerror or failure_cause
        if isinstance(problem, OSError) and problem.errno not in _FAULTS_OF_THE_PATH:
            raise WriteError(str(path), failure_cause) from problem
        raise InputError(
            argument,
            got=f"{str(path)!r}, which cannot be written ({failure_cause})",
            allowed="a file in a folder that exists and may be written to",
            cure="choose another place",
        ) from problem


# ---------------------------------------------------------------- writing


def write_file(
    path: str | PathLike[str],
    content: Content,
    endings: Sequence[str] = (),
    *,
    argument: str = "path",
    inputs: Inputs | None = None,
    replace: bool = True,
) -> Path:
    """Write a file whole, or leave what was there.

    Parameters
    ----------
    path : path-like
    content : str or bytes
        Text is written in UTF-8 with ends of lines as they are.
    endings : sequence of str, optional
        Endings of names that are made; default any.
    argument : str, default "path"
        What the caller calls the path, for errors.
    inputs : Inputs, optional
        Files that are read, and never written.
    replace : bool, default True
        Whether a file that is there may be replaced.

    Returns
    -------
    Path

    Raises
    ------
    InputError
        For an input, another ending, a file that is there and may not be replaced, a path that
        cannot be written.
    WriteError
        Where the disk is full or fails.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = write_file(f"{folder}/words.json", "{}", JSON)
    ...     print(written.name, written.read_text())
    words.json {}
    """
    target_path = Path(check_path(argument, path))
    content_bytes = as_bytes(content)
    check_writable(argument, target_path, endings, inputs=inputs, replace=replace)
    with _faults_named(argument, target_path):
        descriptor = _descriptor_of(target_path)
        if descriptor is not None:
            pour(descriptor, content_bytes)
            return target_path
        status = _file_status(target_path)
        if status is not None and _is_special(status):
            _write_special(target_path, content_bytes)
            return target_path
        try:
            _write_regular(
                Path(os.path.realpath(target_path)), content_bytes, status, replace=replace
            )
        except FileExistsError as problem:
            raise _is_there(argument, target_path) from problem
    return target_path


def _write_regular(
    target: Path,
    content_bytes: bytes,
    before: os.stat_result | None,
    *,
    replace: bool,
) -> None:
    with open_draft(target.parent) as draft:
        pour(draft.handle, content_bytes)
        if before is not None:
            draft.imitate(target, before)
        os.fsync(draft.handle)
        draft.take_the_place_of(target, replace=replace)
    flush_folder(target.parent)


def _write_special(path: Path, content_bytes: bytes) -> None:
    handle = os.open(path, os.O_WRONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOCTTY", 0))
    try:
        pour(handle, content_bytes)
    finally:
        os.close(handle)
