"""The vignettes' ``.Rmd`` files: where they lie, how they are read and checked, what R printed, what they run in."""

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
    "python": re.compile(r"(?<![\w.\"'])r\.[A-Za-z_]|^\s*%%?R\b|\brpy2\b|\breticulate\b", re.MULTILINE),
    "r": re.compile(r"\bpy\$|\breticulate\b"),
}


# ---------------------------------------------------------------- where they lie


def vignette_folder(package: Path = _PACKAGE) -> Path:
    """Folder of the ``.Rmd`` files: ``../vignettes`` of a source tree, else ``_vignettes`` within it."""
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
    """The ``.Rmd`` file of a name (``"02-madd"``), of a part that no other has (``"madd"``), or a path."""
    path = Path(name)
    if path.suffix in (".Rmd", ".qmd") and path.is_file():
        return path
    folder = vignette_folder()
    names = vignette_names(folder)
    wanted = path.stem if path.suffix == ".Rmd" else name
    matching = [wanted] if wanted in names else [n for n in names if wanted and wanted in n]
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
        return f"{self.label!r} (line {self.line})" if self.label else f"{self.number} (line {self.line})"

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
        return self.options.get("fig.alt") or self.caption or (f"Figure: {self.heading}" if self.heading else "Figure")

    @property
    def figure_size(self) -> tuple[float, float] | None:
        """Width and height in inches; None where the options do not say."""
        width, height = (self.options.get(f"fig.{side}") for side in ("width", "height"))
        return None if width is height is None else (float(width or 7), float(height or 5))


@dataclass(frozen=True)
class Vignette:
    """One ``.Rmd`` file: where it lies, all its text, the header's title, the chunks in order."""

    path: Path
    text: str
    title: str
    chunks: tuple[Chunk, ...]

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
        found = {m["name"]: _scalar(m["value"]) for m in _PARAM.finditer(block["lines"] if block else "")}
        for name in given:
            if name not in found:
                allowed = ", ".join(found) or "none: the vignette has no params in its head"
                raise InputError("--param", got=repr(name), allowed=allowed, cure="--param data=FILE")
        held = {name: str(self.path.resolve().parent / value) for name, value in found.items()}
        found = {name: held[name] if Path(held[name]).is_file() else found[name] for name in found}
        return found | {k: str(Path(v).resolve()) if Path(v).is_file() else v for k, v in given.items()}


def read_vignette(path: Path) -> Vignette:
    """Read a file; a `VignetteError` says what the two renderers would not treat alike, with its line."""
    vignette = parse(path.read_text(encoding="utf-8"), path)
    if wrong := faults(vignette):
        raise VignetteError(f"vignette {vignette.name}: " + "; ".join(wrong))
    return vignette


def parse(text: str, path: Path) -> Vignette:
    r"""Take the text of an ``.Rmd`` file apart; its path's stem is the vignette's name.

    Raises VignetteError without a title, for a chunk that does not end, or options that cannot be read.

    >>> v = parse('---\ntitle: "T"\n---\n\n```{python a, echo=FALSE}\n1 + 1\n```\n', Path("t.Rmd"))
    >>> v.title, v.chunks[0].label, v.chunks[0].code, v.chunks[0].shows("echo")
    ('T', 'a', '1 + 1', False)
    """
    text = text.replace("\r\n", "\n")
    header = _HEADER.match(text)
    fields = {m["name"]: _scalar(m["value"]) for m in _FIELD.finditer(header["fields"])} if header else {}
    if not fields.get("title"):
        raise VignetteError(f"vignette {path.stem}: no title. To fix: begin with a YAML header that has one.")
    title = re.sub(r"\\([^\w\s])", r"\1", fields["title"])  # Markdown: a sign after a backslash is the sign
    return Vignette(path, text, title, tuple(_chunks(text, path.stem)))


def _scalar(value: str) -> str:
    """A value of the header without its quotes: in double ones YAML escapes as JSON does."""
    try:
        found = json.loads(value)
    except json.JSONDecodeError:
        found = value[1:-1].replace("''", "'") if value[:1] == value[-1:] == "'" else value
    return found if isinstance(found, str) else value


def _chunks(text: str, name: str) -> Iterator[Chunk]:
    lines = text.split("\n")
    at, number, heading = 0, 0, ""
    while at < len(lines):
        opening, fence, title = (sign.match(lines[at]) for sign in (_OPEN, _FENCE, _HEADING))
        if fence is None:
            heading = title[1] if title else heading
            at += 1
            continue
        where, closing = f"vignette {name}, line {at + 1}", re.compile(rf"{fence['fence']}{fence['fence'][0]}*\s*")
        end = next((i for i in range(at + 1, len(lines)) if closing.fullmatch(lines[i])), None)
        if end is None:
            raise VignetteError(f"{where}: this block has no end. To fix: close it.")
        if opening is not None:
            number += 1
            language, label, options = _head(opening["head"], where)
            yield Chunk(number, language, label, options, "\n".join(lines[at + 1 : end]), at + 1, heading)
        at = end + 1


def _head(head: str, where: str) -> tuple[str, str, dict[str, str]]:
    """Language, label and options of ``{python label, echo=FALSE}``."""
    match = re.match(r"\s*(?P<language>\w+)\s*,?\s*(?P<label>[^\s,=]+(?=\s*(?:,|$)))?\s*,?(?P<rest>.*)$", head)
    if match is None:
        raise VignetteError(f"{where}: {head!r} names no language. Allowed: python, r.")
    options: dict[str, str] = {}
    rest = match["rest"].strip()
    while rest:
        option = _OPTION.match(rest)
        if option is None:
            raise VignetteError(f"{where}: cannot read the options {rest!r}. Allowed: name=value, …")
        value = option["value"].strip()
        quoted = value[:1] in ('"', "'")
        options[option["name"]] = re.sub(r"\\(.)", r"\1", value[1:-1]) if quoted else value
        rest = rest[option.end() :].strip()
    return match["language"].lower(), match["label"] or "", options


def faults(vignette: Vignette) -> list[str]:
    """What the renderers would not treat alike, each with its line; empty where all is well."""
    found = []
    labels: set[str] = set()
    for chunk in vignette.chunks:
        where = f"chunk {chunk.name}"
        if chunk.language not in _FORBIDDEN:
            found.append(f"{where}: language {chunk.language!r}; allowed: python, r")
            continue
        found += [
            f"{where}: option {option!r}; allowed: echo, include, fig.width, fig.height, fig.cap, fig.alt"
            for option in chunk.options
            if not _ALLOWED_OPTION.fullmatch(option)
        ]
        if chunk.label and chunk.label in labels:
            found.append(f"{where}: another chunk has this label")
        labels.add(chunk.label)
        hit = _FORBIDDEN[chunk.language].search(chunk.code)
        if hit:
            found.append(f"{where}: {hit[0].strip()!r}; chunks exchange files, never objects")
    for hit in _INLINE_CODE.finditer(vignette.text):
        line = vignette.text.count("\n", 0, hit.start()) + 1
        found.append(f"line {line}: inline code {hit[0]!r}; only chunks are run")
    return found


# ---------------------------------------------------------------- what R printed


@dataclass(frozen=True)
class Recorded:
    """What a vignette's R chunks printed: by what (``R 4.2.2, fairstats 0.1.0``), and by the chunk's key."""

    by: str = ""
    outputs: Mapping[str, str] = field(default_factory=dict)


def chunk_keys(vignette: Vignette) -> dict[int, str]:
    """Number of each R chunk → a key that changes when it or any chunk before it changes."""
    seen, keys = hashlib.sha256(), {}
    for chunk in vignette.chunks:
        seen.update(f"{chunk.language}\0{chunk.code.strip()}\0".encode())
        if chunk.language == "r":
            keys[chunk.number] = seen.hexdigest()[:16]
    return keys


def read_recorded(source: Path) -> Recorded:
    """The recorded output of a vignette, empty where there is none; a `VignetteError` for a damaged file."""
    path = _recorded_file(source)
    if not path.is_file():
        return Recorded()
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
        return Recorded(str(held["by"]), {str(k): str(v) for k, v in held["outputs"].items()})
    except (ValueError, KeyError, AttributeError, TypeError) as problem:
        cure = "To fix: move it away, then fairstats vignettes record."
        raise VignetteError(f"{path} is damaged, or no record of what R printed: {problem!r}. {cure}") from problem


def write_recorded(vignette: Vignette, by: str, outputs: Mapping[int, str]) -> Path:
    """Write what R printed (number of a chunk → text) beside the vignette; the file's path.

    Raises VignetteError where a file of that name is there which is no such record.
    """
    keys = chunk_keys(vignette)
    path = _recorded_file(vignette.path)
    read_recorded(vignette.path)
    path.parent.mkdir(exist_ok=True)
    record = {"by": by, "outputs": {keys[number]: text for number, text in sorted(outputs.items())}}
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

    `folder`: the working directory of both languages; empty at the start, gone at the end; `aside`: for the
    renderer's own files; `variables`: the environment.
    """

    folder: Path
    aside: Path
    variables: dict[str, str]


@contextmanager
def surroundings(
    *, fast: bool, library: Path | None, params: Mapping[str, str] | None = None
) -> Iterator[Surroundings]:
    """The folders and the environment of one build; `library`: the R library to look into first."""
    with _folder() as top:
        folder, aside = Path(top, "work"), Path(top, "aside")
        folder.mkdir()
        aside.mkdir()
        variables = {k: v for k, v in os.environ.items() if k not in (_FAST, "MPLBACKEND", "PYTHONSTARTUP")}
        # R's own fits are for R chunks: within knitr's process rpy2 cannot start another R.
        variables |= {"FAIRSTATS_BACKEND": "scipy", "PYTHONHASHSEED": "0", "FAIRSTATS_PARAMS": json.dumps(params or {})}
        if fast:
            variables[_FAST] = "1"
        if library is not None:
            variables["R_LIBS"] = os.pathsep.join(filter(None, (str(library), os.environ.get("R_LIBS"))))
        if os.name == "posix" and "utf" not in variables.get("LC_ALL", variables.get("LANG", "")).lower():
            variables["LC_ALL"] = "C.UTF-8"
        yield Surroundings(folder, aside, variables)


def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="fs-", ignore_cleanup_errors=True)


def run_r(
    arguments: Sequence[str], *, program: str = "Rscript", cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run R without a terminal and keep what it says; a `VignetteError` where it is not on PATH."""
    path = shutil.which(program)
    if path is None:
        raise VignetteError("R is not on PATH. To fix: install R (Debian/Ubuntu: apt-get install r-base-core).")
    return subprocess.run(  # noqa: S603 - R itself, on the project's own code
        [path, *arguments], cwd=cwd, env=env, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )


@contextmanager
def r_library() -> Iterator[Path]:
    """Install the R package that this fairstats carries into a library that lives as long as the block."""
    with _folder() as top:
        library, source, carried = Path(top, "library"), Path(top, "fairstats"), r_package_folder()
        library.mkdir()
        source.mkdir()
        for name in ("DESCRIPTION", "NAMESPACE"):
            shutil.copy(carried / name, source / name)
        for name in ("R", "inst"):
            shutil.copytree(carried / name, source / name)
        options = ["--no-docs", "--no-test-load", "--no-byte-compile", f"--library={library}"]
        done = run_r(["CMD", "INSTALL", *options, str(source)], program="R")
        if done.returncode:
            last = " | ".join(done.stderr.strip().splitlines()[-4:])
            raise VignetteError(f"R cannot install the R package fairstats: {last}")
        yield library


def r_package_folder(package: Path = _PACKAGE) -> Path:
    """Folder of the R package's source: ``../r`` of a source tree, else ``_r`` within the package."""
    for folder in (package.parent / "r", package / "_r"):
        if (folder / "DESCRIPTION").is_file() and (folder / "R").is_dir():
            return folder
    raise VignetteError("the source of the R package fairstats is missing. To fix: reinstall fairstats.")
