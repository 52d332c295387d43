"""The vignettes' ``.Rmd`` files.

Where they lie, how they are read and checked, what R printed, what they run in.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from fairstats.ground.errors import InputError, VignetteError
from fairstats.ground.writing import JSON, write_file

_PACKAGE = Path(__file__).resolve().parents[2]
_OPEN = re.compile(r"^(?P<fence>`{3,})\s*\{(?P<head>[^}]*)\}\s*$")
_FENCE = re.compile(r"^(?P<fence>`{3,}|~{3,})")
_HEADER = re.compile(r"\A---\n(?P<fields>.*?)^---\s*$", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"^(?P<name>[\w-]+):\s*(?P<value>.*?)\s*$", re.MULTILINE)
_PARAMS = re.compile(r"^params:\n(?P<lines>(?:[ \t]+.*\n)*)", re.MULTILINE)
_PARAM = re.compile(r"^[ \t]+(?P<name>[\w-]+):\s*(?P<value>.*?)\s*$", re.MULTILINE)
_OPTION = re.compile(
    r"""\s*(?P<name>[A-Za-z][\w.]*)\s*=\s*(?P<value>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^,]*)(?:,|$)"""
)
_HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$")
_ALLOWED_OPTION = re.compile(r"echo|include|fig\.(?:width|height|cap|alt)")
_INLINE_CODE = re.compile(r"(?<!`)`(?:r|python) [^`]+`(?!`)")
#: Language → what a chunk must not hold, since objects never pass between the languages.
_FORBIDDEN = {
    "python": re.compile(
        r"(?<![\w.\"'])r\.[A-Za-z_]|^\s*%%?R\b|\brpy2\b|\breticulate\b", re.MULTILINE
    ),
    "r": re.compile(r"\bpy\$|\breticulate\b"),
}


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


def find_vignette(name: str) -> Path:
    """The ``.Rmd`` file of a name (``"02-madd"``), of a part that no other has (``"madd"``), or a
    path.
    """
    path = Path(name)
    if path.suffix in (".Rmd", ".qmd") and path.is_file():
        return path
    folder = vignette_folder()
    names = vignette_names(folder)
    if path.suffix == ".Rmd":
        wanted = path.stem
    else:
        wanted = name
    if wanted in names:
        matching = [wanted]
    else:
        matching = []
        for candidate in names:
            if wanted and wanted in candidate:
                matching.append(candidate)
    if len(matching) != 1:
        allowed = "the path of an .Rmd file" + (f", or one of {', '.join(names)}" if names else "")
        raise InputError("name", got=repr(name), allowed=allowed)
    return folder / f"{matching[0]}.Rmd"


# ---------------------------------------------------------------- taken apart


@dataclass(frozen=True)
class Chunk:
    """One chunk of code, under a heading; `number` and the opening fence's `line` count from 1."""

    number: int
    language: str
    label: str
    options: Mapping[str, str]
    code: str
    line: int
    heading: str

    @property
    def name(self) -> str:
        """Label (or number) and line, for messages."""
        if self.label:
            return f"{self.label!r} (line {self.line})"
        return f"{self.number} (line {self.line})"

    def shows(self, part: str) -> bool:
        """Whether ``"echo"`` (the code) or ``"include"`` (code and output) is shown."""
        return self.options.get(part, "TRUE").upper() not in ("FALSE", "F")

    @property
    def caption(self) -> str:
        """What is written below its figure."""
        return self.options.get("fig.cap", "")

    @property
    def alternative(self) -> str:
        """What stands for its figure where it cannot be seen."""
        return (
            self.options.get("fig.alt")
            or self.caption
            or (f"Figure: {self.heading}" if self.heading else "Figure")
        )

    @property
    def figure_size(self) -> tuple[float, float] | None:
        """Width and height in inches; None where the options do not say."""
        width, height = (self.options.get(f"fig.{side}") for side in ("width", "height"))
        if width is height is None:
            return None
        return (float(width or 7), float(height or 5))


@dataclass(frozen=True)
class Vignette:
    """One ``.Rmd`` file: where it lies, all its text, the header's title, the chunks in order.

    `prose`: Markdown before the first chunk, and after each.
    """

    path: Path
    text: str
    title: str
    chunks: tuple[Chunk, ...]
    prose: tuple[str, ...]

    @property
    def name(self) -> str:
        """The file's name without its ending."""
        return self.path.stem

    def parameters(self, given: Mapping[str, str]) -> dict[str, str]:
        """The header's `params`, with those that are given; paths of files are made absolute.

        Raises InputError for one that the header does not have.
        """
        header = _HEADER.match(self.text)
        block = _PARAMS.search(header["fields"]) if header else None
        values_found = {}
        for matched in _PARAM.finditer(block["lines"] if block else ""):
            values_found[matched["name"]] = _read_scalar(matched["value"])
        for name in given:
            if name not in values_found:
                allowed = ", ".join(values_found) or "none: the vignette has no params in its head"
                raise InputError(
                    "--param",
                    got=repr(name),
                    allowed=allowed,
                    cure="--param data=FILE",
                )
        stored = {}
        for name, value in values_found.items():
            stored[name] = str(self.path.resolve().parent / value)
        values_found = {
            name: stored[name] if Path(stored[name]).is_file() else values_found[name]
            for name in values_found
        }
        return values_found | {
            name_of: str(Path(value_of).resolve()) if Path(value_of).is_file() else value_of
            for name_of, value_of in given.items()
        }


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

    Raises VignetteError without a title, for a chunk that does not end, or options that cannot be
    read.

    >>> v = parse('---\ntitle: "T"\n---\n\n```{python a, echo=FALSE}\n1 + 1\n```\n', Path("t.Rmd"))
    >>> v.title, v.chunks[0].label, v.chunks[0].code, v.chunks[0].shows("echo")
    ('T', 'a', '1 + 1', False)
    """
    text = text.replace("\r\n", "\n")
    header = _HEADER.match(text)
    if header:
        fields = {}
        for matched in _FIELD.finditer(header["fields"]):
            fields[matched["name"]] = _read_scalar(matched["value"])
    else:
        fields = {}
    if not fields.get("title"):
        raise VignetteError(
            f"vignette {path.stem}: no title. To fix: begin with a YAML header that has one."
        )
    # Markdown: a sign after a backslash is the sign
    title = re.sub(r"\\([^\w\s])", r"\1", fields["title"])
    header_end = header.end() if header else 0
    chunks = []
    prose = []
    for piece in _split_pieces(text, path.stem, text.count("\n", 0, header_end)):
        if isinstance(piece, Chunk):
            chunks.append(piece)
        else:
            prose.append(piece)
    return Vignette(path=path, text=text, title=title, chunks=tuple(chunks), prose=tuple(prose))


def _read_scalar(value: str) -> str:
    """A value of the header without its quotes: in double ones YAML escapes as JSON does."""
    try:
        scalar = json.loads(value)
    except json.JSONDecodeError:
        if value[:1] == value[-1:] == "'":
            scalar = value[1:-1].replace("''", "'")
        else:
            scalar = value
    if isinstance(scalar, str):
        return scalar
    return value


def _split_pieces(text: str, name: str, first_line: int) -> Iterator[str | Chunk]:
    """Prose, chunk, prose, …, prose, beginning at a line; prose may be empty.

    Blocks that only show code belong to the prose, with whatever looks like a chunk within them.
    """
    lines = text.split("\n")
    prose: list[str] = []
    line_index = first_line
    chunk_number = 0
    heading = ""
    while line_index < len(lines):
        line = lines[line_index]
        fence = _FENCE.match(line)
        if fence is None:
            title = _HEADING.match(line)
            if title:
                heading = title[1]
            prose.append(line)
            line_index += 1
            continue
        place_words = f"vignette {name}, line {line_index + 1}"
        end = _find_end(lines, line_index, fence["fence"], place_words)
        opening = _OPEN.match(line)
        if opening is None:
            prose += lines[line_index : end + 1]
        else:
            yield "\n".join(prose)
            prose = []
            chunk_number += 1
            language, label, options = _read_head(opening["head"], place_words)
            yield Chunk(
                number=chunk_number,
                language=language,
                label=label,
                options=options,
                code="\n".join(lines[line_index + 1 : end]),
                line=line_index + 1,
                heading=heading,
            )
        line_index = end + 1
    yield "\n".join(prose)


def _find_end(lines: Sequence[str], start: int, fence: str, place_words: str) -> int:
    """The line that closes the block that begins at `start`."""
    closing = re.compile(rf"{fence}{fence[0]}*\s*")
    for line_index in range(start + 1, len(lines)):
        if closing.fullmatch(lines[line_index]):
            return line_index
    raise VignetteError(f"{place_words}: this block has no end. To fix: close it.")


def _read_head(head: str, place_words: str) -> tuple[str, str, dict[str, str]]:
    """Language, label and options of ``{python label, echo=FALSE}``."""
    match = re.match(
        r"\s*(?P<language>\w+)\s*,?\s*(?P<label>[^\s,=]+(?=\s*(?:,|$)))?\s*,?(?P<rest>.*)$", head
    )
    if match is None:
        raise VignetteError(f"{place_words}: {head!r} names no language. Allowed: python, r.")
    options: dict[str, str] = {}
    unread = match["rest"].strip()
    while unread:
        option = _OPTION.match(unread)
        if option is None:
            raise VignetteError(
                f"{place_words}: cannot read the options {unread!r}. Allowed: name=value, …"
            )
        value = option["value"].strip()
        quoted = value[:1] in ('"', "'")
        options[option["name"]] = re.sub(r"\\(.)", r"\1", value[1:-1]) if quoted else value
        unread = unread[option.end() :].strip()
    return match["language"].lower(), match["label"] or "", options


def faults(vignette: Vignette) -> list[str]:
    """What the renderers would not treat alike, each with its line; empty where all is well."""
    problems_found = []
    labels: set[str] = set()
    for chunk in vignette.chunks:
        place_words = f"chunk {chunk.name}"
        if chunk.language not in _FORBIDDEN:
            problems_found.append(f"{place_words}: language {chunk.language!r}; allowed: python, r")
            continue
        for option in chunk.options:
            if not _ALLOWED_OPTION.fullmatch(option):
                problems_found.append(
                    f"{place_words}: option {option!r}; allowed: echo, include, fig.width, fig.height, fig.cap,"
                    " fig.alt"
                )
        if chunk.label and chunk.label in labels:
            problems_found.append(f"{place_words}: another chunk has this label")
        labels.add(chunk.label)
        matched_code = _FORBIDDEN[chunk.language].search(chunk.code)
        if matched_code:
            problems_found.append(
                f"{place_words}: {matched_code[0].strip()!r}; chunks exchange files, never objects"
            )
    for matched_code in _INLINE_CODE.finditer(vignette.text):
        line = vignette.text.count("\n", 0, matched_code.start()) + 1
        problems_found.append(f"line {line}: inline code {matched_code[0]!r}; only chunks are run")
    return problems_found


# ---------------------------------------------------------------- what R printed


@dataclass(frozen=True)
class Recorded:
    """What a vignette's R chunks printed.

    By what (``R 4.2.2, fairstats 0.2.0``), and by the chunk's key.
    """

    by: str = ""
    outputs: Mapping[str, str] = field(default_factory=dict)


def chunk_keys(vignette: Vignette) -> dict[int, str]:
    """Number of each R chunk → a key that changes when it or any chunk before it changes."""
    digest = hashlib.sha256()
    keys = {}
    for chunk in vignette.chunks:
        digest.update(f"{chunk.language}\0{chunk.code.strip()}\0".encode())
        if chunk.language == "r":
            keys[chunk.number] = digest.hexdigest()[:16]
    return keys


def read_recorded(source: Path) -> Recorded:
    """The recorded output of a vignette, empty where there is none.

    A `VignetteError` for a damaged file.
    """
    path = _recorded_file(source)
    if not path.is_file():
        return Recorded()
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        return Recorded(
            str(stored["by"]),
            {str(name_of): str(value_of) for name_of, value_of in stored["outputs"].items()},
        )
    except (ValueError, KeyError, AttributeError, TypeError) as problem:
        cure = "To fix: move it away, then fairstats vignettes record."
        raise VignetteError(
            f"{path} is damaged, or no record of what R printed: {problem!r}. {cure}"
        ) from problem


def write_recorded(vignette: Vignette, by: str, outputs: Mapping[int, str]) -> Path:
    """Write what R printed (number of a chunk → text) beside the vignette; the file's path.

    Raises VignetteError where a file of that name is there which is no such record.
    """
    keys = chunk_keys(vignette)
    path = _recorded_file(vignette.path)
    read_recorded(vignette.path)
    path.parent.mkdir(exist_ok=True)
    record = {
        "by": by,
        "outputs": {keys[chunk_number]: text for chunk_number, text in sorted(outputs.items())},
    }
    return write_file(path, json.dumps(record, indent=1, ensure_ascii=False) + "\n", JSON)


def _recorded_file(source: Path) -> Path:
    """``recorded/NAME.json`` beside the vignette."""
    return source.parent / "recorded" / f"{source.stem}.json"


# ---------------------------------------------------------------- what every build runs in

#: Chunks take fewer draws where it is "1".
_FAST = "FAIRSTATS_VIGNETTE_FAST"


@dataclass(frozen=True)
class Surroundings:
    """Where one vignette runs.

    `folder`: the working directory of both languages; empty at the start, gone at the end; `aside`:
    for the renderer's own files; `variables`: the environment.
    """

    folder: Path
    aside: Path
    variables: dict[str, str]


@contextmanager
def surroundings(
    *, fast: bool, library: Path | None, params: Mapping[str, str] | None = None
) -> Iterator[Surroundings]:
    """The folders and the environment of one build; `library`: the R library to look into first."""
    with _temporary_folder() as top_folder:
        folder = Path(top_folder, "work")
        aside = Path(top_folder, "aside")
        folder.mkdir()
        aside.mkdir()
        variables = {}
        for name_of, value_of in os.environ.items():
            if name_of not in (_FAST, "MPLBACKEND", "PYTHONSTARTUP"):
                variables[name_of] = value_of
        # R's own fits are for R chunks: within knitr's process rpy2 cannot start another R.
        variables |= {
            "FAIRSTATS_BACKEND": "scipy",
            "PYTHONHASHSEED": "0",
            "FAIRSTATS_PARAMS": json.dumps(params or {}),
        }
        if fast:
            variables[_FAST] = "1"
        if library is not None:
            variables["R_LIBS"] = os.pathsep.join(
                filter(None, (str(library), os.environ.get("R_LIBS")))
            )
        if (
            os.name == "posix"
            and "utf" not in variables.get("LC_ALL", variables.get("LANG", "")).lower()
        ):
            variables["LC_ALL"] = "C.UTF-8"
        yield Surroundings(folder, aside, variables)


def _temporary_folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="fs-", ignore_cleanup_errors=True)


def run_r(
    arguments: Sequence[str],
    *,
    program: str = "Rscript",
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run R without a terminal and keep what it says; a `VignetteError` where it is not on PATH."""
    path = shutil.which(program)
    if path is None:
        raise VignetteError(
            "R is not on PATH. To fix: install R (Debian/Ubuntu: apt-get install r-base-core)."
        )
    return subprocess.run(  # noqa: S603 - R itself, on the project's own code
        [path, *arguments],
        cwd=cwd,
        env=env,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )


@contextmanager
def r_library() -> Iterator[Path]:
    """Install the R package that this fairstats carries into a library that lives as long as the
    block.
    """
    with _temporary_folder() as top_folder:
        library = Path(top_folder, "library")
        source = Path(top_folder, "fairstats")
        carried = r_package_folder()
        library.mkdir()
        source.mkdir()
        for name in ("DESCRIPTION", "NAMESPACE"):
            shutil.copy(carried / name, source / name)
        for name in ("R", "inst"):
            shutil.copytree(carried / name, source / name)
        options = ["--no-docs", "--no-test-load", "--no-byte-compile", f"--library={library}"]
        finished = run_r(["CMD", "INSTALL", *options, str(source)], program="R")
        if finished.returncode:
            last = " | ".join(finished.stderr.strip().splitlines()[-4:])
            raise VignetteError(f"R cannot install the R package fairstats: {last}")
        yield library


def r_package_folder(package: Path = _PACKAGE) -> Path:
    """Folder of the R package's source.

    ``../r`` of a source tree, else ``_r`` within the package.
    """
    for folder in (package.parent / "r", package / "_r"):
        if (folder / "DESCRIPTION").is_file() and (folder / "R").is_dir():
            return folder
    raise VignetteError(
        "the source of the R package fairstats is missing. To fix: reinstall fairstats."
    )
