"""Which tests take long: `python -m tests.long_tests` measures the suite and writes the list.

A test that takes more processor seconds than `MOST_SECONDS`, with what it starts, runs by
``-m slow``: the command of the README stays below five minutes on two cores. The list is
`long_tests.txt`; a test that carries the marker `slow` itself needs no line there.

Processor seconds are counted, not those of the clock, so that another program beside the run does
not change the list much.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

LIST = Path(__file__).with_suffix(".txt")
MOST_SECONDS = 0.5
#: The folder into which each worker of a measured run writes its seconds.
FOLDER = "FAIRSTATS_TEST_SECONDS"


def long_tests() -> frozenset[str]:
    """Names of the tests in the list."""
    return frozenset(LIST.read_text(encoding="utf-8").splitlines())


def processor_seconds() -> float:
    """Seconds of this process and of those that it started and that have ended."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


class Measured:
    """Writes the processor seconds of every test, where the environment names a folder."""

    def __init__(self, folder: str) -> None:
        worker = os.environ.get("PYTEST_XDIST_WORKER", "alone")
        self.path = Path(folder) / f"{worker}-{os.getpid()}.txt"

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        start = processor_seconds()
        answer = yield
        seconds = processor_seconds() - start
        with self.path.open("a", encoding="utf-8") as file:
            file.write(f"{seconds:.3f}\t{item.nodeid}\n")
        return answer


def measured(folder: Path) -> dict[str, float]:
    """Seconds of each test, from the files of all workers."""
    seconds: dict[str, float] = {}
    for path in sorted(folder.glob("*.txt")):
        for line in path.read_text(encoding="utf-8").splitlines():
            spent, _, name = line.partition("\t")
            seconds[name] = float(spent)
    return seconds


def main(arguments: list[str]) -> int:
    """Run all tests but the marked ones, and write the names of those that took long."""
    marked = "not slow or listed"  # what is in the list now is measured again
    command = [sys.executable, "-m", "pytest", "-q", "-m", marked, *arguments]
    with tempfile.TemporaryDirectory() as folder:
        status = subprocess.run(command, env={**os.environ, FOLDER: folder}, check=False).returncode
        seconds = measured(Path(folder))
    names = sorted(name for name, spent in seconds.items() if spent > MOST_SECONDS)
    LIST.write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["-n", "2", "--dist", "worksteal"]))
