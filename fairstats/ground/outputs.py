"""The outputs of one run: none is an input, no two go to one place, one that fails does not hold up
the others.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from fairstats.ground.errors import InputError
from fairstats.ground.writing import (
    Content,
    Inputs,
    as_bytes,
    check_writable,
    identity,
    is_character_device,
    is_standard_output,
    write_file,
)


@dataclass(frozen=True)
class _PlannedOutput:
    """One output: what the user calls it, where it goes, how names may end, whether it may replace
    a file.
    """

    option: str
    path: Path
    endings: tuple[str, ...]
    replace: bool


class Outputs:
    """The outputs of one run: none is an input, no two go to one place, one that fails does not
    hold up the others.

    Parameters
    ----------
    reads : iterable of path-like or None
        All that the run reads: files, folders, patterns, ``-`` for standard input.

    Attributes
    ----------
    written : list of Path
        What was written, without standard output.
    failures : list of Exception
        What could not be written, and why.
    """

    def __init__(self, reads: Iterable[str | PathLike[str] | None] = ()) -> None:
        self.inputs = Inputs(reads)
        self.written: list[Path] = []
        self.failures: list[Exception] = []
        self._planned: dict[str, _PlannedOutput] = {}

    def plan(
        self,
        option: str,
        path: Path | None,
        endings: Sequence[str],
        *,
        replace: bool = True,
    ) -> None:
        """Look at the place of an output before the work; None is an output that nobody asked for.

        Raises
        ------
        InputError
            Where it cannot be written, is an input, has another ending, or is the place of another
            output.
        """
        if path is None:
            return
        for planned_output in self._planned.values():
            if _is_one_place(path, planned_output.path):
                received = f"{str(path)!r}, where {planned_output.option} writes, too"
                raise InputError(
                    option,
                    got=received,
                    allowed="a place of its own",
                    cure="name another file",
                )
        if is_standard_output(path):
            self._check_standard_output(option)
        else:
            check_writable(option, path, endings, inputs=self.inputs, replace=replace)
        self._planned[option] = _PlannedOutput(
            option=option,
            path=path,
            endings=tuple(endings),
            replace=replace,
        )

    def _check_standard_output(self, option: str) -> None:
        """Standard output may be a file, and that an input: ``>> people.csv``."""
        if self.inputs.hold("/dev/fd/1"):
            raise InputError(
                option,
                got="standard output, which is a file that is read here",
                allowed="a file that is not among the inputs",
                cure="send it to another file",
            )

    @property
    def to_standard_output(self) -> bool:
        """Whether one of them goes to standard output, so that all other words belong on standard
        error.
        """
        return any(is_standard_output(output.path) for output in self._planned.values())

    def place(self, option: str) -> Path | None:
        """Where an output goes; None for one that nobody asked for."""
        planned_output = self._planned.get(option)
        if planned_output is None:
            return None
        return planned_output.path

    def write(self, contents: Mapping[str, Callable[[], Content]]) -> None:
        """Make and write every output that was planned, files first.

        Failures are kept, and hold up no other.

        Parameters
        ----------
        contents : mapping of str to callable
            By option: what makes the content. It is called only where the output was asked for.
        """
        wanted_outputs = [
            planned_output for option, planned_output in self._planned.items() if option in contents
        ]
        for planned_output in sorted(
            wanted_outputs, key=lambda planned_output: is_standard_output(planned_output.path)
        ):
            try:
                self._write_one(planned_output, contents[planned_output.option]())
            except Exception as problem:  # noqa: BLE001 - whatever it is, the other outputs are still to be written
                self.failures.append(problem)

    def _write_one(self, output: _PlannedOutput, content: Content) -> None:
        """Write one file, or to standard output; no two outputs may be the same file."""
        if is_standard_output(output.path):
            _to_standard_output(content)
            return
        # Two names of one file that was not there at first (capitals, links that lead nowhere) show
        # only now.
        if any(_is_one_place(output.path, path) for path in self.written):
            received = f"{str(output.path)!r}, which was written just before"
            raise InputError(
                output.option,
                got=received,
                allowed="a place of its own",
                cure="name another file",
            )
        write_file(
            output.path,
            content,
            output.endings,
            argument=output.option,
            inputs=self.inputs,
            replace=output.replace,
        )
        self.written.append(output.path)


def _is_one_place(path: Path, other_path: Path) -> bool:
    """Whether two outputs would go to one file; ``/dev/null`` takes any number of them."""
    if is_standard_output(path) or is_standard_output(other_path):
        return is_standard_output(path) and is_standard_output(other_path)
    file_identity = identity(path)
    if file_identity is None or identity(other_path) is None:
        return os.path.realpath(path) == os.path.realpath(other_path)
    return file_identity == identity(other_path) and not is_character_device(path)


def _to_standard_output(content: Content) -> None:
    """The bytes that a file would hold, whatever the encoding of the terminal."""
    stream = sys.stdout
    binary_stream = getattr(stream, "buffer", None)
    if binary_stream is None:
        stream.write(as_bytes(content).decode("utf-8"))
    else:
        stream.flush()
        binary_stream.write(as_bytes(content))
    stream.flush()
