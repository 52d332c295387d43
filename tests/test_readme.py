"""Every Python block of README, guide and how-tos runs and prints what is shown.

So does R of how-tos.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import re
import shlex
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
HOWTOS = {page.name: page for page in sorted((ROOT / "vignettes" / "howto").glob("*.md"))}
PAGES = {page.name: page for page in (README, ROOT / "vignettes" / "guide.md", *HOWTOS.values())}


def blocks_of(page: Path) -> list[tuple[str, str]]:
    """(language, content) of every fenced block."""
    text = page.read_text(encoding="utf-8")
    return re.findall(r"^```(\w+)\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


COMMANDS = [
    line
    for language, block in blocks_of(README)
    if language == "bash"
    for line in block.splitlines()
]
#: A first line that says which extra a block needs.
NEEDS = re.compile(r"# needs the extra `(\w+)`")
PACKAGES = {
    "report": ("matplotlib", "jinja2"),
    "cli": ("typer", "rich", "pyarrow"),
    "scale": ("duckdb", "sqlglot", "pyarrow"),
    "peers": ("fairlearn",),
}


def lacking(page: Path) -> list[str]:
    """Packages that a how-to needs as a whole and that are not installed."""
    names = [
        name
        for _, block in blocks_of(page)
        for extra in NEEDS.findall(block)
        for name in PACKAGES[extra]
    ]
    names += PACKAGES["cli"] * any(language == "bash" for language, _ in blocks_of(page))
    return [name for name in names if importlib.util.find_spec(name) is None]


def run_blocks(
    blocks: list[tuple[str, str]], *, commands: bool = False
) -> Iterator[tuple[int, str]]:
    """Run the Python blocks in one namespace.

    Number of each `text` block and what was printed before it.

    `commands`: also every line of a `bash` block, which then is a call of fairstats; its exit code
    is 0."""
    namespace: dict[str, object] = {"__name__": "readme"}
    printed = ""
    for number, (language, block) in enumerate(blocks):
        needed = NEEDS.match(block)
        if language == "python" and (
            not needed or all(map(importlib.util.find_spec, PACKAGES[needed[1]]))
        ):
            with contextlib.redirect_stdout(io.StringIO()) as output:
                exec(compile(block, f"block {number}", "exec"), namespace)  # noqa: S102
            printed = output.getvalue()
        elif language == "bash" and commands:
            printed = "".join(map(run_command, block.splitlines()))
        elif language == "text":
            yield number, printed


def run_r_blocks(blocks: list[tuple[str, str]], folder: Path) -> Iterator[tuple[int, str]]:
    """Run the R blocks in one session.

    Number of each `rout` block and what was printed before it.
    """
    package = (
        f'CODE_FOLDER <- "{ROOT}/r/R"; for (f in list.files(CODE_FOLDER, full.names = TRUE))'
        " source(f)"
    )
    code = [
        block.replace("library(fairstats)", package)
        for language, block in blocks
        if language == "r"
    ]
    script = 'cat("\\n=====\\n")\n'.join(code)
    (folder / "page.R").write_text(script, encoding="utf-8")
    done = subprocess.run(
        ["Rscript", "page.R"], capture_output=True, text=True, check=False, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    printed = iter(done.stdout.split("\n=====\n"))
    last = ""
    for number, (language, _) in enumerate(blocks):
        if language == "r":
            last = next(printed)
        elif language == "rout":
            yield number, last


def run_command(line: str) -> str:
    """What a command line of fairstats prints."""
    from typer.testing import CliRunner

    from fairstats.cli.app import app

    program, *arguments = shlex.split(line, comments=True)
    assert program == "fairstats", line
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, (line, done.output)
    return done.stdout


@pytest.mark.parametrize("page", PAGES)
def test_every_block_runs_and_prints_what_is_shown(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = blocks_of(PAGES[page])
    if page in HOWTOS and lacking(PAGES[page]):
        pytest.skip(f"{', '.join(lacking(PAGES[page]))} is not installed")
    assert sum(language in ("python", "bash", "r") for language, _ in blocks) >= (
        1 if page in HOWTOS else 5
    )
    for number, printed in run_blocks(blocks, commands=page in HOWTOS):
        assert printed.split() == blocks[number][1].split(), (
            "run `python tests/test_readme.py` and look"
        )


@pytest.mark.r("jsonlite")
@pytest.mark.parametrize(
    "page", [name for name, page in HOWTOS.items() if "```r\n" in page.read_text()]
)
def test_every_r_block_runs_and_prints_what_is_shown(page: str, tmp_path: Path) -> None:
    for number, printed in run_r_blocks(blocks_of(HOWTOS[page]), tmp_path):
        assert printed.split() == blocks_of(HOWTOS[page])[number][1].split()


@pytest.mark.parametrize("page", HOWTOS)
def test_no_block_is_of_a_language_that_nothing_runs(page: str) -> None:
    """`console` is for what is typed before the package is there."""
    blocks = blocks_of(HOWTOS[page])
    assert {language for language, _ in blocks} <= {
        "python",
        "bash",
        "r",
        "text",
        "rout",
        "console",
    }
    assert all(
        "pip install" in block or "R CMD" in block
        for language, block in blocks
        if language == "console"
    )


@pytest.mark.parametrize(
    ("requirement", "then"),
    [
        ('".[report,cli,files]"', "fairstats demo"),
        ('-e ".[all,test]"', "python -m pytest -n auto --dist worksteal"),
    ],
)
def test_first_use_and_test_run_are_one_command_each(requirement: str, then: str) -> None:
    assert (
        f"python3 -m venv .venv && .venv/bin/pip install {requirement} && .venv/bin/{then}"
        in COMMANDS
    )


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
        blocks = blocks_of(path)
        with contextlib.chdir(tempfile.mkdtemp()):
            for number, printed in run_blocks(blocks, commands=path.name in HOWTOS):
                pieces[2 * number + 1] = f"```text\n{printed}```"
            if any(language == "rout" for language, _ in blocks):
                for number, printed in run_r_blocks(blocks, Path.cwd()):
                    pieces[2 * number + 1] = f"```rout\n{printed.rstrip()}\n```"
        path.write_text("".join(pieces), encoding="utf-8")
