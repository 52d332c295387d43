"""Files that take the place of others in one step.

Written beside them, brought to the disk, renamed.

Where the system has files without a name (Linux), a draft is one until it is whole: nothing stays
behind even of a process that was killed. Elsewhere it has a hidden name that nobody can guess, and
goes when the block ends.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: A folder's entries cannot be flushed on every system.
_NO_FLUSH = frozenset({errno.EINVAL, errno.ENOTSUP, errno.EACCES, errno.EBADF})


def pour(handle: int, data: bytes) -> None:
    """Write all bytes; a reader that has gone has what it wanted."""
    remaining_bytes = memoryview(data)
    while remaining_bytes:
        try:
            remaining_bytes = remaining_bytes[os.write(handle, remaining_bytes) :]
        except BrokenPipeError:
            return


def flush_folder(folder: Path) -> None:
    """Bring the names in a folder to the disk, where the system can."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as problem:
        if problem.errno not in _NO_FLUSH:
            raise
    finally:
        os.close(handle)


class Draft:
    """A file in the folder of the one that it becomes.

    Without a name where the system has such (Linux).

    Of a file without a name nothing stays behind, not even when the process is killed.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.handle = -1
        self.hidden: Path | None = None

    def open(self) -> None:
        """Make it."""
        open_flags = os.O_WRONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
        unnamed_flag = getattr(os, "O_TMPFILE", 0)
        if unnamed_flag:
            # file systems that have none such say so in several ways
            with contextlib.suppress(OSError):
                self.handle = os.open(self.folder, open_flags | unnamed_flag, 0o666)
            if self.handle >= 0 and os.path.exists(self._open_file):
                return
            self._close_handle()
        self.hidden = self._unused_name()
        self.handle = os.open(self.hidden, open_flags | os.O_CREAT | os.O_EXCL, 0o666)

    @property
    def _open_file(self) -> str:
        return f"/proc/self/fd/{self.handle}"

    def _unused_name(self) -> Path:
        return self.folder / f".fairstats-{secrets.token_hex(16)}"

    def imitate(self, target: Path, before: os.stat_result) -> None:
        """Take over owner, permissions and extended attributes, as far as this user may give
        them.
        """
        if os.name != "posix":
            return
        with contextlib.suppress(OSError):
            os.fchown(self.handle, -1, before.st_gid)
        with contextlib.suppress(OSError):
            os.fchown(self.handle, before.st_uid, -1)
        os.fchmod(self.handle, stat.S_IMODE(before.st_mode))
        if hasattr(os, "listxattr"):
            with contextlib.suppress(OSError):
                for attribute_name in os.listxattr(target):
                    os.setxattr(self.handle, attribute_name, os.getxattr(target, attribute_name))

    def take_the_place_of(self, target: Path, *, replace: bool) -> None:
        """Give it the name of `target` in one step.

        FileExistsError where that is taken and may not be replaced.
        """
        if self.hidden is None and not os.path.lexists(target):
            try:
                self._link_as(target)
                return
            except FileExistsError:
                if not replace:
                    raise
        if self.hidden is None:
            self.hidden = self._unused_name()
            self._link_as(self.hidden)
        if os.name == "nt":
            self._close_handle()  # an open file cannot be renamed there
        if replace:
            os.replace(self.hidden, target)
        else:
            _rename_to_new(self.hidden, target)
        self.hidden = None

    def _link_as(self, link_path: Path) -> None:
        # os.link follows the link of /proc to the open file only where it is given a folder, which
        # is not looked at.
        folder_handle = os.open(self.folder, os.O_RDONLY)
        try:
            os.link(self._open_file, link_path, src_dir_fd=folder_handle, follow_symlinks=True)
        finally:
            os.close(folder_handle)

    def _close_handle(self) -> None:
        handle = self.handle
        self.handle = -1
        if handle >= 0:
            os.close(handle)

    def discard(self) -> None:
        """Remove what has not taken its place."""
        try:
            if self.hidden is not None:
                if os.name == "nt":
                    self._close_handle()
                self.hidden.unlink(missing_ok=True)
        finally:
            self._close_handle()


def _rename_to_new(hidden: Path, target: Path) -> None:
    """Rename a file unless the name is taken."""
    try:
        os.link(hidden, target)
    except FileExistsError:
        raise
    except OSError:  # file systems without hard links
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, "File exists") from None
        os.rename(hidden, target)
    else:
        hidden.unlink()


@contextmanager
def open_draft(folder: Path) -> Iterator[Draft]:
    """A file to be written, which is gone after the block unless it has taken its place."""
    draft = Draft(folder)
    try:
        draft.open()
        yield draft
    finally:
        draft.discard()
