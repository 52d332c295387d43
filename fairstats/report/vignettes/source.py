"""The vignettes' ``.Rmd`` files: where they lie, how jupytext reads them, what both renderers
treat alike.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fairstats.ground.errors import InputError, MissingDependencyError, VignetteError

_PACKAGE = Path(__file__).resolve().parents[2]
_TITLE = re.compile(r'^title: "(.+)"$', re.MULTILINE)
#: A block between fences; that of a chunk has a language in braces behind the first.
_BLOCK = re.compile(
    r"^(?P<fence>`{3,}|~{3,})(?:[ ]*\{[ ]*(?P<language>\w+))?.*?(?:^(?P=fence)[`~]*[ ]*$|\Z)",
    re.MULTILINE | re.DOTALL,
)
#: Metadata of cells by jupytext; ``include=FALSE`` and ``echo=FALSE`` become tags.
_ALLOWED_OPTIONS = {"name", "echo", "fig.width", "fig.height", "fig.cap", "fig.alt"} | {
    "tags",
    "remove_cell",
    "remove_input",
    "lines_to_next_cell",
}
_INLINE_CODE = re.compile(r"(?<!`)`(?:r|python) [^`]+`(?!`)")
_LANGUAGES = ("python", "r")


# ---------------------------------------------------------------- where they lie


def vignette_folder(package: Path = _PACKAGE) -> Path:
    """Folder of the ``.Rmd`` files.

    ``../vignettes`` of a source tree, else ``_vignettes`` within it.
    """
    beside = package.parent / "vignettes"
    if (package.parent / "pyproject.toml").is_file() and beside.is_dir():
        return beside
    within = package / "_vignettes"
    if within.is_dir():
        return within
    cure = "To fix: reinstall fairstats, or give the path of an .Rmd file."
    raise VignetteError(f"the vignettes are neither in {beside} nor in {within}. {cure}")


def vignette_names(folder: Path | None = None) -> tuple[str, ...]:
    """Names of the vignettes of a folder, default `vignette_folder`, in order."""
    return tuple(sorted(path.stem for path in (folder or vignette_folder()).glob("*.Rmd")))


def vignette_titles() -> dict[str, str]:
    """Name → title of the vignettes that come with the package; reading them needs no extra."""
    titles = {}
    for name in vignette_names():
        title = _TITLE.search(find_vignette(name).read_text(encoding="utf-8"))
        titles[name] = title[1] if title else ""
    return titles


def find_vignette(name: str) -> Path:
    """The ``.Rmd`` file of a name (``"02-madd"``), of a part that no other has (``"madd"``), or a
    path.
    """
    path = Path(name)
    if path.suffix in (".Rmd", ".qmd") and path.is_file():
        return path
    folder = vignette_folder()
    names = vignette_names(folder)
    wanted = path.stem if path.suffix == ".Rmd" else name
    matching = [candidate for candidate in names if wanted and wanted in candidate]
    if wanted in names:
        matching = [wanted]
    if len(matching) != 1:
        allowed = "the path of an .Rmd file" + (f", or one of {', '.join(names)}" if names else "")
        raise InputError("name", got=repr(name), allowed=allowed)
    return folder / f"{matching[0]}.Rmd"


# ---------------------------------------------------------------- what they hold


@dataclass(frozen=True)
class Chunk:
    """One chunk of code; `number` and the opening fence's `line` count from 1.

    `options` are the metadata that jupytext gives to its cell, `code` is without its fences.
    """

    number: int
    language: str
    label: str
    code: str
    line: int
    options: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Label (or number) and line, for messages."""
        return f"{repr(self.label) if self.label else self.number} (line {self.line})"


@dataclass(frozen=True)
class Vignette:
    """One ``.Rmd`` file: where it lies, all its text, title and `params` of its header, its chunks.

    `notebook` is what jupytext makes of it: a cell for each chunk, with its code, and for prose.
    """

    path: Path
    text: str
    title: str
    params: Mapping[str, str]
    chunks: tuple[Chunk, ...]
    notebook: Any

    @property
    def name(self) -> str:
        """The file's name without its ending."""
        return self.path.stem

    def parameters(self, given: Mapping[str, str]) -> dict[str, str]:
        """The header's `params`, with those that are given; paths of files are made absolute.

        Raises InputError for one that the header does not have.
        """
        for name in given:
            if name not in self.params:
                raise InputError(
                    "--param",
                    got=repr(name),
                    allowed=", ".join(self.params)
                    or "none: the head of the vignette has no params",
                    cure="--param data=FILE",
                )
        values = {}
        for name, value in self.params.items():
            values[name] = _absolute(value, self.path.resolve().parent)
        for name, value in given.items():
            values[name] = _absolute(value, Path.cwd())
        return values


def _absolute(value: str, folder: Path) -> str:
    """The whole path of a file that is named as seen from a folder; any other value as it is."""
    path = folder / value
    return os.path.abspath(path) if path.is_file() else value


def read_vignette(path: Path) -> Vignette:
    """Read a file; a `VignetteError` says what the two renderers would not treat alike, with its
    line.
    """
    vignette = parse(path.read_text(encoding="utf-8"), path)
    if problems := faults(vignette):
        raise VignetteError(f"vignette {vignette.name}: " + "; ".join(problems))
    return vignette


def parse(text: str, path: Path) -> Vignette:
    r"""Take the text of an ``.Rmd`` file apart; its path's stem is the vignette's name.

    Raises VignetteError without a title or where jupytext takes a chunk for prose,
    MissingDependencyError without jupytext.

    >>> v = parse('---\ntitle: "T"\n---\n\n```{python a, echo=FALSE}\n1 + 1\n```\n', Path("t.Rmd"))
    >>> v.title, v.chunks[0].label, v.chunks[0].code, v.chunks[0].options["tags"]
    ('T', 'a', '1 + 1', ['remove_input'])
    """
    check_installed("jupytext")
    import jupytext

    text = text.replace("\r\n", "\n")
    # a comment that looks like a command of IPython stays a comment
    notebook = jupytext.reads(text, fmt={"extension": ".Rmd", "comment_magics": False})
    header = _read_header(notebook, path.stem)
    openings = [block for block in _BLOCK.finditer(text) if block["language"]]
    code_cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    if len(openings) != len(code_cells):
        raise VignetteError(
            f"vignette {path.stem}: {len(openings)} chunks, of which jupytext reads"
            f" {len(code_cells)}. To fix: indent fences that are shown, instead of fencing them."
        )
    chunks: list[Chunk] = []
    for cell, opening in zip(code_cells, openings, strict=True):
        language = opening["language"].lower()
        if language != notebook.metadata.jupytext.main_language.lower():
            # jupytext names any other language in a line of its own
            cell.source = cell.source.partition("\n")[2]
        cell.source = cell.source.strip("\n")
        for option in ("fig.cap", "fig.alt"):
            if option in cell.metadata:
                cell.metadata[option] = _without_backslashes(cell.metadata[option])
        if cell.metadata.get("echo") is False:
            cell.metadata.setdefault("tags", []).append("remove_input")
        chunks.append(
            Chunk(
                number=len(chunks) + 1,
                language=language,
                label=cell.metadata.get("name", ""),
                code=cell.source,
                line=text.count("\n", 0, opening.start()) + 1,
                options=cell.metadata,
            )
        )
    return Vignette(
        path=path,
        text=text,
        title=_without_backslashes(header["title"]),
        params=header.get("params") or {},
        chunks=tuple(chunks),
        notebook=notebook,
    )


def _without_backslashes(text: str) -> str:
    """A sign after a backslash is the sign: so in Markdown, and in R's quotes."""
    return re.sub(r"\\([^\w\s])", r"\1", text)


def check_installed(*packages: str) -> None:
    """Raise MissingDependencyError for a package that the extra `docs` would bring."""
    for package in packages:
        if find_spec(package) is None:
            raise MissingDependencyError(
                package,
                extra="docs",
                purpose="Building vignettes",
                alternative="rmarkdown::render in R takes the same files",
            )


def _read_header(notebook: Any, name: str) -> dict[str, Any]:
    """The fields of the YAML header, every value as text; the cell that holds it goes."""
    import yaml

    fields: Any = None
    if notebook.cells and notebook.cells[0].cell_type == "raw":
        header = notebook.cells.pop(0).source
        try:
            fields = next(yaml.load_all(header, Loader=yaml.BaseLoader))
        except yaml.YAMLError as problem:
            raise VignetteError(f"vignette {name}: the header is no YAML: {problem}") from problem
    if not isinstance(fields, dict) or not fields.get("title"):
        raise VignetteError(
            f"vignette {name}: no title. To fix: begin with a YAML header that has one."
        )
    return fields


def faults(vignette: Vignette) -> list[str]:
    """What the renderers would not treat alike, each with its line; empty where all is well."""
    problems = []
    for chunk in vignette.chunks:
        if chunk.language not in _LANGUAGES:
            problems.append(f"chunk {chunk.name}: language {chunk.language!r}; allowed: python, r")
            continue
        for option in {*chunk.options, *chunk.options.get("tags", ())} - _ALLOWED_OPTIONS:
            problems.append(
                f"chunk {chunk.name}: option {option!r}; allowed: echo, include, fig.width,"
                " fig.height, fig.cap, fig.alt"
            )
    for inline in _INLINE_CODE.finditer(vignette.text):
        line = vignette.text.count("\n", 0, inline.start()) + 1
        problems.append(f"line {line}: inline code {inline[0]!r}; only chunks are run")
    return problems
