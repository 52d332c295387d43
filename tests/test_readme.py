"""Every Python block of the README and the guide runs and prints what is shown."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
PAGES = {page.name: page for page in (README, ROOT / "vignettes" / "guide.md")}


def blocks_of(page: Path) -> list[tuple[str, str]]:
    """(language, content) of every fenced block."""
    text = page.read_text(encoding="utf-8")
    return re.findall(r"^```(\w+)\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


COMMANDS = [
    line for language, block in blocks_of(README) if language == "bash" for line in block.splitlines()
]
#: A first line that says which extra a block needs.
NEEDS = re.compile(r"# needs the extra `(\w+)`")
PACKAGES = {"report": ("matplotlib", "jinja2")}


def run_blocks(blocks: list[tuple[str, str]]) -> Iterator[tuple[int, str]]:
    """Run the Python blocks in one namespace; number of each `text` block and what was printed before it."""
    namespace: dict[str, object] = {"__name__": "readme"}
    printed = ""
    for number, (language, block) in enumerate(blocks):
        needed = NEEDS.match(block)
        if language == "python" and (not needed or all(map(importlib.util.find_spec, PACKAGES[needed[1]]))):
            with contextlib.redirect_stdout(io.StringIO()) as output:
                exec(compile(block, f"block {number}", "exec"), namespace)  # noqa: S102
            printed = output.getvalue()
        elif language == "text":
            yield number, printed


@pytest.mark.parametrize("page", PAGES)
def test_every_block_runs_and_prints_what_is_shown(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = blocks_of(PAGES[page])
    assert sum(language == "python" for language, _ in blocks) >= 5
    for number, printed in run_blocks(blocks):
        assert printed.split() == blocks[number][1].split(), "run `python tests/test_readme.py` and look"


@pytest.mark.parametrize(
    ("requirement", "then"),
    [('".[report,cli]"', "fairstats demo"), ('-e ".[all,test]"', "python -m pytest -n auto")],
)
def test_first_use_and_test_run_are_one_command_each(requirement: str, then: str) -> None:
    assert f"python3 -m venv .venv && .venv/bin/pip install {requirement} && .venv/bin/{then}" in COMMANDS


@pytest.mark.parametrize("page", PAGES)
def test_pictures_and_pages_are_there(page: str) -> None:
    text = PAGES[page].read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        assert target.startswith("https://") or (PAGES[page].parent / target).exists(), target


if __name__ == "__main__":  # write what the blocks print into the pages
    for path in PAGES.values():
        pieces = re.split(
            r"(^```\w+\n.*?^```)", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
        )
        with contextlib.chdir(tempfile.mkdtemp()):
            for number, printed in run_blocks(blocks_of(path)):
                pieces[2 * number + 1] = f"```text\n{printed}```"
        path.write_text("".join(pieces), encoding="utf-8")
