"""What commands write: targets looked at before the work. `ground/reading` reads tables."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from fairstats.ground.errors import InputError
from fairstats.ground.reading.places import STANDARD, files_of
from fairstats.ground.serialise import write_text


def check_targets(targets: Mapping[str, Path | None], inputs: Iterable[Path | None]) -> None:
    """Raise unless every target can be written, is none of the inputs, and no other target.

    `targets`: option → file, ``-`` for standard output, None for nothing; `inputs`: files, folders and globs
    that the command reads.
    """
    read = [file for path in inputs if path is not None and str(path) != STANDARD for file in files_of(path)]
    taken: dict[str, str] = {}
    for option, path in targets.items():
        if path is None:
            continue
        place = STANDARD if str(path) == STANDARD else os.path.realpath(path)
        if place in taken:
            got = f"{str(path)!r}, where {taken[place]} writes, too"
            raise InputError(option, got=got, allowed="a place of its own", cure="name another file")
        taken[place] = option
        if place == STANDARD:
            continue
        if any(_same(path, file) for file in read):
            got = f"{str(path)!r}, which is read here"
            cure = "name another file: an input is never written over"
            raise InputError(option, got=got, allowed="a file that is not among the inputs", cure=cure)
        _check_writable(option, path)


def deliver(target: Path, text: str) -> str:
    """Write a text where it was wanted; what is to be said of it, empty for standard output."""
    if str(target) == STANDARD:
        sys.stdout.write(text)
        return ""
    return f"Written: {write_text(target, text)}"


def _same(path: Path, file: Path) -> bool:
    """Whether two paths are one file, by links too, or names that differ in case where that is one file."""
    try:
        return path.samefile(file)
    except OSError:
        return os.path.realpath(path) == os.path.realpath(file)


def _check_writable(option: str, path: Path) -> None:
    """Raise where the file could not be written; nothing stays behind."""
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            return  # a pipe or a device: opening it could wait
        there = path.exists()
        with path.open("ab"):
            pass
        if not there:
            path.unlink()
    except (OSError, ValueError) as problem:
        why = problem.strerror if isinstance(problem, OSError) else str(problem)
        got = f"{str(path)!r}, which cannot be written ({why})"
        allowed = "a file in a folder that exists and may be written to"
        raise InputError(option, got=got, allowed=allowed, cure="choose another place") from problem
