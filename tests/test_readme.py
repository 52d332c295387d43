"""Every Python block of the README runs and prints what is shown; its commands are what CI runs."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

README = Path(__file__).resolve().parents[1] / "README.md"
TEXT = README.read_text(encoding="utf-8")
#: (language, content) of every fenced block.
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", TEXT, flags=re.MULTILINE | re.DOTALL)
COMMANDS = [line for language, block in BLOCKS if language == "bash" for line in block.splitlines()]
#: A first line that says which extra a block needs.
NEEDS = re.compile(r"# needs the extra `(\w+)`")
PACKAGES = {"report": ("matplotlib", "jinja2")}


def run_blocks() -> Iterator[tuple[int, str]]:
    """Run the Python blocks in one namespace; number of each `text` block and what was printed before it."""
    namespace: dict[str, object] = {"__name__": "readme"}
    printed = ""
    for number, (language, block) in enumerate(BLOCKS):
        needed = NEEDS.match(block)
        if language == "python" and (not needed or all(map(importlib.util.find_spec, PACKAGES[needed[1]]))):
            with contextlib.redirect_stdout(io.StringIO()) as output:
                exec(compile(block, f"README block {number}", "exec"), namespace)  # noqa: S102
            printed = output.getvalue()
        elif language == "text":
            yield number, printed


def test_every_block_runs_and_prints_what_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for number, printed in run_blocks():
        assert printed.split() == BLOCKS[number][1].split(), "run `python tests/test_readme.py` and look"


def test_there_is_code_to_run() -> None:
    assert sum(language == "python" for language, _ in BLOCKS) >= 5


@pytest.mark.parametrize(
    ("requirement", "then"),
    [('".[report,cli]"', "fairstats demo"), ('-e ".[all,test]"', "python -m pytest")],
)
def test_first_use_and_test_run_are_one_command_each(requirement: str, then: str) -> None:
    assert f"python3 -m venv .venv && .venv/bin/pip install {requirement} && .venv/bin/{then}" in COMMANDS


def test_pictures_are_there() -> None:
    for target in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", TEXT):
        assert target.startswith("https://") or (README.parent / target).exists(), target


if __name__ == "__main__":  # write what the blocks print into the README
    pieces = re.split(r"(^```\w+\n.*?^```)", TEXT, flags=re.MULTILINE | re.DOTALL)
    with contextlib.chdir(tempfile.mkdtemp()):
        for number, printed in run_blocks():
            pieces[2 * number + 1] = f"```text\n{printed}```"
    README.write_text("".join(pieces), encoding="utf-8")
