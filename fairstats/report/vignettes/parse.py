"""An ``.Rmd`` file taken apart: header, prose and chunks, and what both renderers can do with them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fairstats.ground.errors import VignetteError

__all__ = ["Chunk", "Vignette", "faults", "parse", "read_vignette"]

_OPEN = re.compile(r"^(?P<fence>`{3,})\s*\{(?P<head>[^}]*)\}\s*$")
_FENCE = re.compile(r"^(?P<fence>`{3,}|~{3,})")
_HEADER = re.compile(r"\A---\n(?P<fields>.*?)^---\s*$", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"^(?P<name>[\w-]+):\s*(?P<value>.*?)\s*$", re.MULTILINE)
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


@dataclass(frozen=True)
class Chunk:
    """One chunk of code.

    Attributes
    ----------
    number : int
        1 for the first.
    language : str
        ``"python"`` or ``"r"``.
    label : str
        Its label, empty where it has none.
    options : mapping of str to str
        As written, quotation marks removed.
    code : str
        The lines between the fences.
    line : int
        Line of the opening fence, from 1.
    heading : str
        The heading that it stands under.
    """

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
        told = self.options.get("fig.alt") or self.caption
        return told or (f"Figure: {self.heading}" if self.heading else "Figure")

    @property
    def figure_size(self) -> tuple[float, float] | None:
        """Width and height in inches; None where the options do not say."""
        width, height = (self.options.get(f"fig.{side}") for side in ("width", "height"))
        if width is None and height is None:
            return None
        return float(width or 7), float(height or 5)


@dataclass(frozen=True)
class Vignette:
    """One ``.Rmd`` file.

    Attributes
    ----------
    path : Path
        The file.
    text : str
        All of it.
    title : str
        From the header.
    chunks : tuple of Chunk
        In order.
    """

    path: Path
    text: str
    title: str
    chunks: tuple[Chunk, ...]

    @property
    def name(self) -> str:
        """The file's name without its ending."""
        return self.path.stem


def read_vignette(path: Path) -> Vignette:
    """Read a file and refuse what the two renderers would not treat alike.

    Raises
    ------
    VignetteError
        With every fault and its line.
    """
    vignette = parse(path.read_text(encoding="utf-8"), path)
    found = faults(vignette)
    if found:
        raise VignetteError(f"vignette {vignette.name}: " + "; ".join(found))
    return vignette


def parse(text: str, path: Path) -> Vignette:
    r"""Take the text of an ``.Rmd`` file apart.

    Parameters
    ----------
    text : str
        The text.
    path : Path
        Where it is from; its stem is the vignette's name.

    Raises
    ------
    VignetteError
        Without a title, for a chunk that does not end, or options that cannot be read.

    Examples
    --------
    >>> v = parse('---\ntitle: "T"\n---\n\n```{python a, echo=FALSE}\n1 + 1\n```\n', Path("t.Rmd"))
    >>> v.title, v.chunks[0].label, v.chunks[0].code, v.chunks[0].shows("echo")
    ('T', 'a', '1 + 1', False)
    """
    text = text.replace("\r\n", "\n")
    header = _HEADER.match(text)
    fields = {m["name"]: m["value"].strip("\"'") for m in _FIELD.finditer(header["fields"])} if header else {}
    if not fields.get("title"):
        raise VignetteError(f"vignette {path.stem}: no title. To fix: begin with a YAML header that has one.")
    return Vignette(path, text, fields["title"], tuple(_chunks(text, path.stem)))


def _chunks(text: str, name: str) -> Iterator[Chunk]:
    lines = text.split("\n")
    at, number, heading = 0, 0, ""
    while at < len(lines):
        opening = _OPEN.match(lines[at])
        fence = _FENCE.match(lines[at])
        title = _HEADING.match(lines[at])
        if fence is None:
            heading = title[1] if title else heading
            at += 1
            continue
        end = next((i for i in range(at + 1, len(lines)) if _closes(lines[i], fence["fence"])), None)
        if end is None:
            raise VignetteError(f"vignette {name}, line {at + 1}: this block has no end. To fix: close it.")
        if opening is not None:
            number += 1
            where = f"vignette {name}, line {at + 1}"
            language, label, options = _head(opening["head"], where)
            yield Chunk(number, language, label, options, "\n".join(lines[at + 1 : end]), at + 1, heading)
        at = end + 1


def _closes(line: str, fence: str) -> bool:
    return line.rstrip() == fence[0] * len(line.rstrip()) and len(line.rstrip()) >= len(fence)


def _head(head: str, where: str) -> tuple[str, str, dict[str, str]]:
    """Language, label and options of ``{python label, echo=FALSE}``."""
    match = re.match(
        r"\s*(?P<language>\w+)\s*,?\s*(?P<label>[^\s,=]+(?=\s*(?:,|$)))?\s*,?(?P<rest>.*)$", head
    )
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
    """What the renderers would not treat alike, each with its line; empty where all is well.

    Allowed are chunks of Python and R with the options ``echo``, ``include``, ``fig.width``, ``fig.height``,
    ``fig.cap`` and ``fig.alt``; objects must not pass between the languages, nor code stand in prose.
    """
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
