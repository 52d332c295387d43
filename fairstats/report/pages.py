"""Pictures of a page as inline SVG, which needs no file, script or font, and pages as Word or PDF.

Pandoc writes the one, a headless browser prints the other, or LaTeX does. Pandoc carries no SVG
over: pictures of a report are drawn by Matplotlib for it.
"""

from __future__ import annotations

import base64
import io
import math
import re
import shutil
import subprocess
import tempfile
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.errors import BackendError, InputError
from fairstats.ground.writing import DOCUMENTS
from fairstats.plots.picture import LIMIT, NEUTRAL, Mark, Picture, draw, pyplot
from fairstats.report.format import escaped

#: Size in units of the drawing, and what is left around the axes for words.
_WIDTH = 340.0
_HEIGHT = 236.0
_LEFT = 56.0
_RIGHT = 8.0
_TOP = 8.0
_BOTTOM = 40.0
#: The same beside a table whose rows have names.
_LEFT_OF_NAMES = 112.0
#: Where names stand within the drawing: half the first label of the numbers below.
_LEFT_OF_FIRST_LABEL = 14.0
_INNER_HEIGHT = _HEIGHT - _TOP - _BOTTOM
#: Points nearer than this to the one before are left out.
_NEAR = 0.6
_CLASSES = {NEUTRAL: "neutral", LIMIT: "apart"}
_SERIES = 6
#: Kind of a mark → classes of what is drawn, and their samples in the legend; others are areas.
_FILL = (("fill", "M0 0H22V12H0Z"),)
_HATCHING = "M0 12L12 0M8 12L20 0M16 12L22 6"
_LINES = {
    "span": (("line", "M0 6H22"),),
    "cell": _FILL,
    "hatching": (("hatching", _HATCHING),),
    "rule": (("rule", "M0 6H22"),),
    "box": (("rule", "M2 1H20V11H2Z"),),
    "line": (("line", "M0 6H22"),),
    "steps": (*_FILL, ("line", "M0 6H22")),
}
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome", "microsoft-edge")
_LATEX = ("xelatex", "lualatex", "pdflatex")
#: A picture of a part of a report, as SVG.
_PICTURE = re.compile(r'(<figure class="picture">)<svg\b.*?</svg>(?=<figcaption>)', re.DOTALL)
_IMAGE = re.compile(r'(?<=src=")data:image/png;base64,([^"]+)')
#: A drawing that holds no other one.
_DRAWING = re.compile(r"<svg\b(?:(?!<svg\b).)*?</svg>", re.DOTALL)


def svg(picture: Picture) -> str:
    """The drawing with its legend, as a figure of HTML; every text is escaped.

    The legend stands below as text, so that long names of groups wrap.
    """
    labelled = [mark for mark in picture.marks if mark.label]
    labels_said = "; ".join(mark.label for mark in labelled)
    words = f"{picture.title}: {labels_said}. {picture.ylabel} by {picture.xlabel}."
    if picture.ynames and not picture.xnames:
        words = f"{picture.title}: {picture.xlabel} of {', '.join(picture.ynames[::-1])}."
    left = _left_of(picture)
    width = _width_of(picture)
    parts = [
        f'<svg viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" role="img" aria-label="{escaped(words)}">',
        *_draw_axes(picture),
        f'<svg x="{left:g}" y="{_TOP:g}" width="{width:g}" height="{_INNER_HEIGHT:g}">',
        *(_draw_mark(mark, picture) for mark in picture.marks),
        (
            f'</svg><text class="name" x="{left + width / 2:g}"'
            f' y="{_HEIGHT - 6:g}">{escaped(picture.xlabel)}</text>'
        ),
        _draw_ylabel(picture),
        "</svg>",
    ]
    return (
        f'<figure class="picture">{"".join(parts)}<figcaption><b>{escaped(picture.title)}</b>'
        f'<ul class="keys">{"".join(map(_legend_entry, labelled))}</ul></figcaption></figure>'
    )


def _draw_ylabel(picture: Picture) -> str:
    """What stands up the axis; nothing for names that speak for themselves."""
    if not picture.ylabel:
        return ""
    turned = f"translate(11 {_TOP + _INNER_HEIGHT / 2:g}) rotate(-90)"
    return f'<text class="name" transform="{turned}">{escaped(picture.ylabel)}</text>'


def _left_of(picture: Picture) -> float:
    """What is left beside the axes, for numbers or for names."""
    if picture.xnames:
        return _LEFT_OF_NAMES
    if picture.ynames:
        return _LEFT_OF_FIRST_LABEL
    return _LEFT


def _width_of(picture: Picture) -> float:
    """Width of what the axes enclose."""
    return _WIDTH - _left_of(picture) - _RIGHT


def _places_across(values: Any, picture: Picture) -> NDArray[np.float64]:
    """From values to places in the drawing."""
    lowest, highest = picture.xlim
    values = np.asarray(values, dtype=np.float64)
    if picture.log:
        values = np.log(np.maximum(values, lowest / 1e3))
        lowest = math.log(lowest)
        highest = math.log(highest)
    return np.asarray(_width_of(picture) * (values - lowest) / (highest - lowest))


def _places_up(values: Any, picture: Picture) -> NDArray[np.float64]:
    lowest, highest = picture.ylim
    return np.asarray(
        _INNER_HEIGHT * (1 - (np.asarray(values, dtype=np.float64) - lowest) / (highest - lowest))
    )


def _round_ticks(limits: Sequence[float], most: int) -> list[tuple[float, str]]:
    """Round values within the limits, with their labels."""
    lowest, highest = limits
    rough = (highest - lowest) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(
        power * multiple for multiple in (1, 2, 5, 10) if power * multiple >= rough * (1 - 1e-9)
    )
    values = step * np.arange(
        math.ceil(lowest / step - 1e-9), math.floor(highest / step + 1e-9) + 1
    )
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    return [(float(value), f"{value:,.{digits}f}".replace("-", "−")) for value in values + 0.0]


def _log_ticks(limits: Sequence[float]) -> list[tuple[float, str]]:
    lowest, highest = (math.log10(value) for value in limits)
    every = max(1, math.ceil((highest - lowest) / 5))
    powers = []
    for exponent in range(math.ceil(lowest - 1e-9), math.floor(highest + 1e-9) + 1, every):
        powers.append(10.0**exponent)
    log_ticks: list[tuple[float, str]] = []
    for value in powers:
        log_ticks.append((value, f"{value:,.0f}" if value >= 1 else f"{value:g}"))
    return log_ticks


def _draw_axes(picture: Picture) -> Iterator[str]:
    bottom = _TOP + _INNER_HEIGHT
    left = _left_of(picture)
    right = left + _width_of(picture)
    for value, label in _ticks_across(picture):
        across = left + float(_places_across(value, picture))
        if across > right - 14 and not picture.xnames:
            anchor = ' class="last"'
        else:
            anchor = ""
        if not picture.xnames:
            yield f'<path class="grid" d="M{across:.1f} {_TOP:g}V{bottom:g}"/>'
        yield f'<text{anchor} x="{min(across, right):.1f}" y="{bottom + 14:g}">{label}</text>'
    if picture.ynames:
        yield from _draw_names(picture)
        return
    for value, label in _round_ticks(picture.ylim, 5):
        upward = _TOP + float(_places_up(value, picture))
        yield f'<path class="grid" d="M{left:g} {upward:.1f}H{right:g}"/>'
        yield f'<text class="up" x="{left - 5:g}" y="{upward + 4:.1f}">{label}</text>'


def _ticks_across(picture: Picture) -> list[tuple[float, str]]:
    """Places and labels below a drawing; of names what fits."""
    if picture.xnames:
        most = max(3, int(_width_of(picture) / len(picture.xnames) / 6.2))
        ticks_across: list[tuple[float, str]] = []
        for place, name in enumerate(picture.xnames):
            ticks_across.append((float(place), escaped(_cut_name(name, most))))
        return ticks_across
    if picture.log:
        return _log_ticks(picture.xlim)
    return _round_ticks(picture.xlim, 6)


#: Letters about twice as wide as others, as far as a drawing without a font can know.
_WIDE_LETTERS = frozenset("WM@%mw")
_WIDTH_OF_WIDE = 1.8


def _cut_name(name: str, most: int) -> str:
    """A name of so many letters at most, of fewer where they are wide."""
    width = 0.0
    for position, letter in enumerate(name):
        wide = letter in _WIDE_LETTERS or unicodedata.east_asian_width(letter) in "WF"
        width += _WIDTH_OF_WIDE if wide else 1.0
        if width > most:
            return f"{name[: max(position - 1, 1)]}…"
    return name


def _draw_names(picture: Picture) -> Iterator[str]:
    """Names up the axis: beside a table of cells, else in the drawing, above what they name."""
    beside = bool(picture.xnames)
    for place, name in enumerate(picture.ynames):
        upward = _TOP + float(_places_up(place, picture))
        if beside:
            text = escaped(_cut_name(name, 16))
            yield f'<text class="up" x="{_LEFT_OF_NAMES - 5:g}" y="{upward + 4:.1f}">{text}</text>'
        else:
            step = _INNER_HEIGHT / len(picture.ynames)
            height = min(11.0, 0.62 * step)
            above = min(7.0, 0.25 * step)
            text = escaped(_cut_name(name, 46))
            yield (
                f'<text class="place" style="font-size:{height:.1f}px" x="{_LEFT_OF_FIRST_LABEL + 3:g}"'
                f' y="{upward - above:.1f}">{text}</text>'
            )


def _draw_mark(mark: Mark, picture: Picture) -> str:
    """A mark of a picture as elements of SVG, in the units of the drawing."""
    across = _places_across(mark.x, picture)
    upward = _places_up(mark.y, picture)
    if mark.kind == "dots":
        finite = np.isfinite(across) & np.isfinite(upward)
        return "".join(
            f'<circle class="dot {_class_of_mark(mark)}" cx="{dot_x:.1f}" cy="{dot_y:.1f}" r="2.6"/>'
            for dot_x, dot_y in zip(across[finite], upward[finite], strict=True)
        )
    if mark.kind == "span":
        ends = _places_across(mark.low, picture)
        path = "".join(
            f"M{start:.1f} {height:.1f}H{end:.1f}"
            for start, end, height in zip(across, ends, upward, strict=True)
            if math.isfinite(start) and math.isfinite(end)
        )
        return f'<path class="line {_class_of_mark(mark)}" d="{path}"/>'
    if mark.kind in ("cell", "hatching"):
        return _draw_cell(mark, across, upward)
    if mark.kind == "rule":
        if across.size:
            path = f"M{across[0]:.1f} 0V{_INNER_HEIGHT:g}"
        else:
            path = f"M0 {upward[0]:.1f}H{_width_of(picture):g}"
    elif mark.kind == "box":
        path = f"M{across[0]:.1f} {upward[0]:.1f}H{across[1]:.1f}V{upward[1]:.1f}H{across[0]:.1f}Z"
    elif mark.kind == "line":
        path = _path_through(across, upward)
    elif mark.kind == "steps":
        path = _path_through(
            np.repeat(across, 2),
            np.concatenate([[_INNER_HEIGHT], np.repeat(upward, 2), [_INNER_HEIGHT]]),
        )
    else:
        if mark.low is not None:
            across = np.concatenate([across, across[::-1]])
            upward = np.concatenate([upward, _places_up(mark.low, picture)[::-1]])
        path = f"{_path_through(across, upward)}Z"
    return "".join(
        f'<path class="{line} {_class_of_mark(mark)}" d="{path}"/>'
        for line, _ in _LINES.get(mark.kind, _FILL)
    )


def _draw_cell(cell: Mark, across: NDArray[np.float64], upward: NDArray[np.float64]) -> str:
    """A filled cell with its text, or slanted lines in it."""
    left = float(across[0])
    right = float(across[1])
    top = float(upward[1])
    bottom = float(upward[0])
    box = f"M{left:.1f} {top:.1f}H{right:.1f}V{bottom:.1f}H{left:.1f}Z"
    if cell.kind == "hatching":
        lines = "".join(_slanted_lines(left, right, top, bottom))
        return f'<path class="hatching {_class_of_mark(cell)}" d="{lines}"/>'
    shade = f"{0.08 + 0.62 * cell.shade:.2f}"
    middle = f'x="{(left + right) / 2:.1f}" y="{(top + bottom) / 2 + 4:.1f}"'
    return (
        f"<g><title>{escaped(cell.title)}</title>"
        f'<path class="fill cell {_class_of_mark(cell)}" style="opacity:{shade}" d="{box}"/>'
        f'<text class="name" {middle}>{escaped(cell.text)}</text></g>'
    )


def _slanted_lines(left: float, right: float, top: float, bottom: float) -> Iterator[str]:
    """Lines x + y = c within a rectangle."""
    step = 7.0
    total = math.ceil((left + top) / step) * step
    while total < right + bottom:
        start = (max(left, total - bottom), min(bottom, total - left))
        end = (min(right, total - top), max(top, total - right))
        yield f"M{start[0]:.1f} {start[1]:.1f}L{end[0]:.1f} {end[1]:.1f}"
        total += step


def _path_through(across: NDArray[np.float64], upward: NDArray[np.float64]) -> str:
    """Path through points; those that no eye tells from the one before are left out."""
    finite = np.isfinite(across) & np.isfinite(upward)
    points = np.clip(np.column_stack([across[finite], upward[finite]]), -9e3, 9e3)
    kept_points = []
    last = np.array([np.inf, np.inf])
    for position, point in enumerate(points):
        if position == len(points) - 1 or np.abs(point - last).max() >= _NEAR:
            kept_points.append(f"{point[0]:.1f} {point[1]:.1f}")
            last = point
    if kept_points:
        return "M" + "L".join(kept_points)
    return ""


def _class_of_mark(mark: Mark) -> str:
    return _CLASSES.get(mark.series, f"s{mark.series % _SERIES}")


def _legend_entry(mark: Mark) -> str:
    """A sample of the mark beside its label."""
    lines = _LINES.get(mark.kind, _FILL)
    sample = "".join(
        f'<path class="{line} {_class_of_mark(mark)}" d="{path}"/>' for line, path in lines
    )
    if mark.kind == "dots":
        sample = f'<circle class="dot {_class_of_mark(mark)}" cx="11" cy="6" r="3"/>'
    return (
        '<li><svg aria-hidden="true" viewBox="0 0 22'
        f' 12">{sample}</svg><bdi>{escaped(mark.label)}</bdi></li>'
    )


def check_convertible(kind: str, argument: str = "path") -> None:
    """Raise InputError unless a page can be made a document here.

    ``".docx"`` by pandoc, ``".pdf"`` by a browser.
    """
    if kind not in DOCUMENTS:
        got = f"a name that ends in {kind!r}"
        raise InputError(
            argument,
            got=got,
            allowed=".docx or .pdf",
            cure="to_html(path) writes a page",
        )
    pandoc = _first_on_path(("pandoc",))
    if kind == ".docx" and pandoc is None:
        raise _lacking_tool("pandoc", kind, argument, "apt-get install pandoc")
    if (
        kind == ".pdf"
        and _first_on_path(_BROWSERS) is None
        and (pandoc is None or _first_on_path(_LATEX) is None)
    ):
        tools = "a browser (chromium), or pandoc with LaTeX"
        raise _lacking_tool(tools, kind, argument, "apt-get install chromium")


def _lacking_tool(tools: str, kind: str, argument: str, cure: str) -> InputError:
    got = f"{kind!r} without {tools} on PATH"
    return InputError(
        argument,
        got=got,
        allowed="a format that can be made",
        cure=f"{cure}, or write HTML",
    )


def convert(page: str, kind: str) -> bytes:
    """A page of HTML as the bytes of a document.

    `kind`, {".docx", ".pdf"}. Raises InputError for another one and where the tool is missing,
    BackendError where the tool fails.
    """
    check_convertible(kind)
    browser = _first_on_path(_BROWSERS)
    latex = _first_on_path(_LATEX)
    pandoc = _first_on_path(("pandoc",))
    with tempfile.TemporaryDirectory(prefix="fs-") as folder:
        written = Path(folder, "page.html")
        made_file = Path(folder, f"page{kind}")
        written.write_text(page, encoding="utf-8", errors="xmlcharrefreplace")
        if kind == ".pdf" and browser:
            quiet_options = (
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--no-pdf-header-footer",
                "--no-first-run",
            )
            command = [
                browser,
                *quiet_options,
                f"--user-data-dir={folder}/profile",
                f"--print-to-pdf={made_file}",
                written.as_uri(),
            ]
        else:
            written.write_text(
                _images_as_files(_without_drawings(page), Path(folder)),
                encoding="utf-8",
                errors="xmlcharrefreplace",
            )
            engine = [f"--pdf-engine={latex}"] if kind == ".pdf" else []
            command = [
                str(pandoc),
                "--quiet",
                *engine,
                "--from=html",
                str(written),
                "--output",
                str(made_file),
            ]
        finished = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)  # noqa: S603 - our page
        if not made_file.is_file():
            failed = f"{Path(command[0]).name} failed: {finished.stderr.strip()[-300:]}"
            raise BackendError(
                f"no {kind} was made, because {failed}. To fix: write HTML and print it"
            )
        return made_file.read_bytes()


def picture_for(kind: str) -> Callable[[Picture], str]:
    """How a page that becomes a document of this kind (``".docx"``, ``".pdf"``) draws a picture."""
    by_pandoc = kind == ".docx" or (kind == ".pdf" and not _first_on_path(_BROWSERS))
    if by_pandoc and _first_on_path(("pandoc",)):
        return png
    return svg


def png(picture: Picture) -> str:
    """The drawing with its legend as an image within the page.

    MissingDependencyError without Matplotlib.
    """
    pyplot_module = pyplot()
    written = io.BytesIO()
    figure, axes = pyplot_module.subplots(figsize=(6, 4.2))
    draw(picture, axes)
    figure.savefig(written, format="png", dpi=150, bbox_inches="tight")
    pyplot_module.close(figure)
    data = base64.b64encode(written.getvalue()).decode("ascii")
    return (
        f'<p><img alt="{escaped(picture.title)}" width="430"'
        f' src="data:image/png;base64,{data}"></p>'
    )


def write_pictures(folder: Path, pictures: Mapping[str, Mapping[str, Picture]]) -> tuple[Path, ...]:
    """Write pictures as SVG and PNG: ``{set}-{name}.svg``, what no file name can hold replaced.

    Raises InputError where the folder cannot be made or written to, MissingDependencyError without
    Matplotlib.
    """
    pyplot_module = pyplot()
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for attribute, of_set in pictures.items():
            for name, picture in of_set.items():
                stem = re.sub(r"[^\w.-]+", "-", f"{attribute}-{name}").strip("-.")[:120]
                height = 4.2
                if picture.ynames:
                    height = max(2.4, 1.4 + 0.42 * len(picture.ynames))
                figure, axes = pyplot_module.subplots(figsize=(6.4, height), layout="constrained")
                draw(picture, axes)
                for ending in ("svg", "png"):
                    path = folder / f"{stem}.{ending}"
                    figure.savefig(path, dpi=150)
                    written.append(path)
                pyplot_module.close(figure)
    except OSError as problem:
        raise InputError(
            "folder",
            got=f"{str(folder)!r}, which cannot be written ({problem.strerror or problem})",
            allowed="a folder that can be made or written to",
            cure="name another folder",
        ) from problem
    return tuple(written)


def _images_as_files(page: str, folder: Path) -> str:
    """The page with its images as files: pandoc repeats the text of an image in the document."""

    def written(image: re.Match[str]) -> str:
        path = folder / f"drawing-{image.start()}.png"
        path.write_bytes(base64.b64decode(image[1]))
        return str(path)

    return _IMAGE.sub(written, page)


def _first_on_path(names: tuple[str, ...]) -> str | None:
    return next((path for name in names if (path := shutil.which(name))), None)


def _without_drawings(page: str) -> str:
    """The page without SVG, which pandoc does not carry over: tables and legends say the same."""
    page = _PICTURE.sub(r"\1<p><i>The drawing is in the HTML page.</i></p>", page)
    n_removed = 1
    while n_removed:
        page, n_removed = _DRAWING.subn("", page)
    return page
