"""Pictures of a page as inline SVG, which needs no file, script or font, and pages as Word or PDF.

Pandoc writes the one, a headless browser prints the other, or LaTeX does. Pandoc carries no SVG over: pictures of a
report are drawn by Matplotlib for it.
"""

from __future__ import annotations

import base64
import io
import math
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.errors import BackendError, InputError
from fairstats.ground.writing import DOCUMENTS
from fairstats.plots.picture import LIMIT, NEUTRAL, Mark, Picture, draw, pyplot
from fairstats.report.format import escaped

#: Size in units of the drawing, and what is left around the axes for words.
_WIDTH, _HEIGHT = 340.0, 236.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 56.0, 8.0, 8.0, 40.0
_INNER = (_WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM)
#: Points nearer than this to the one before are left out.
_NEAR = 0.6
_CLASSES = {NEUTRAL: "neutral", LIMIT: "apart"}
_SERIES = 6
#: Kind of a mark → classes of what is drawn, and their samples in the legend; others are areas.
_FILL = (("fill", "M0 0H22V12H0Z"),)
_LINES = {
    "rule": (("rule", "M0 6H22"),), "box": (("rule", "M2 1H20V11H2Z"),), "line": (("line", "M0 6H22"),),
    "steps": (*_FILL, ("line", "M0 6H22")),
}  # fmt: skip
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
    said = "; ".join(mark.label for mark in labelled)
    words = f"{picture.title}: {said}. {picture.ylabel} by {picture.xlabel}."
    parts = [
        f'<svg viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" role="img" aria-label="{escaped(words)}">',
        *_axes(picture),
        f'<svg x="{_LEFT:g}" y="{_TOP:g}" width="{_INNER[0]:g}" height="{_INNER[1]:g}">',
        *(_drawn(mark, picture) for mark in picture.marks),
        f'</svg><text class="name" x="{_LEFT + _INNER[0] / 2:g}" y="{_HEIGHT - 6:g}">{escaped(picture.xlabel)}</text>',
        f'<text class="name" transform="translate(11 {_TOP + _INNER[1] / 2:g}) rotate(-90)">',
        f"{escaped(picture.ylabel)}</text></svg>",
    ]
    return (
        f'<figure class="picture">{"".join(parts)}<figcaption><b>{escaped(picture.title)}</b>'
        f'<ul class="keys">{"".join(map(_key, labelled))}</ul></figcaption></figure>'
    )


def _x(values: Any, picture: Picture) -> NDArray[np.float64]:
    """From values to places in the drawing."""
    low, high = picture.xlim
    values = np.asarray(values, dtype=np.float64)
    if picture.log:
        values, low, high = np.log(np.maximum(values, low / 1e3)), math.log(low), math.log(high)
    return np.asarray(_INNER[0] * (values - low) / (high - low))


def _y(values: Any, picture: Picture) -> NDArray[np.float64]:
    low, high = picture.ylim
    return np.asarray(_INNER[1] * (1 - (np.asarray(values, dtype=np.float64) - low) / (high - low)))


def _ticks(limits: Sequence[float], most: int) -> list[tuple[float, str]]:
    """Round values within the limits, with their labels."""
    low, high = limits
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * k for k in (1, 2, 5, 10) if power * k >= rough * (1 - 1e-9))
    values = step * np.arange(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    return [(float(v), f"{v:,.{digits}f}".replace("-", "−")) for v in values + 0.0]


def _log_ticks(limits: Sequence[float]) -> list[tuple[float, str]]:
    low, high = (math.log10(v) for v in limits)
    every = max(1, math.ceil((high - low) / 5))
    found = [10.0**k for k in range(math.ceil(low - 1e-9), math.floor(high + 1e-9) + 1, every)]
    return [(v, f"{v:,.0f}" if v >= 1 else f"{v:g}") for v in found]


def _axes(picture: Picture) -> Iterator[str]:
    bottom, right = _TOP + _INNER[1], _LEFT + _INNER[0]
    for value, label in _log_ticks(picture.xlim) if picture.log else _ticks(picture.xlim, 6):
        x = _LEFT + float(_x(value, picture))
        anchor = ' class="last"' if x > right - 14 else ""
        yield f'<path class="grid" d="M{x:.1f} {_TOP:g}V{bottom:g}"/>'
        yield f'<text{anchor} x="{min(x, right):.1f}" y="{bottom + 14:g}">{label}</text>'
    for value, label in _ticks(picture.ylim, 5):
        y = _TOP + float(_y(value, picture))
        yield f'<path class="grid" d="M{_LEFT:g} {y:.1f}H{right:g}"/>'
        yield f'<text class="up" x="{_LEFT - 5:g}" y="{y + 4:.1f}">{label}</text>'


def _drawn(mark: Mark, picture: Picture) -> str:
    x, y = _x(mark.x, picture), _y(mark.y, picture)
    if mark.kind == "dots":
        known = np.isfinite(x) & np.isfinite(y)
        return "".join(
            f'<circle class="dot {_class(mark)}" cx="{a:.1f}" cy="{b:.1f}" r="2.6"/>'
            for a, b in zip(x[known], y[known], strict=True)
        )
    if mark.kind == "rule":
        path = f"M{x[0]:.1f} 0V{_INNER[1]:g}" if x.size else f"M0 {y[0]:.1f}H{_INNER[0]:g}"
    elif mark.kind == "box":
        path = f"M{x[0]:.1f} {y[0]:.1f}H{x[1]:.1f}V{y[1]:.1f}H{x[0]:.1f}Z"
    elif mark.kind == "line":
        path = _path(x, y)
    elif mark.kind == "steps":
        path = _path(np.repeat(x, 2), np.concatenate([[_INNER[1]], np.repeat(y, 2), [_INNER[1]]]))
    else:
        if mark.low is not None:
            x, y = np.concatenate([x, x[::-1]]), np.concatenate([y, _y(mark.low, picture)[::-1]])
        path = f"{_path(x, y)}Z"
    return "".join(f'<path class="{line} {_class(mark)}" d="{path}"/>' for line, _ in _LINES.get(mark.kind, _FILL))


def _path(x: NDArray[np.float64], y: NDArray[np.float64]) -> str:
    """Path through points; those that no eye tells from the one before are left out."""
    fine = np.isfinite(x) & np.isfinite(y)
    points = np.clip(np.column_stack([x[fine], y[fine]]), -9e3, 9e3)
    kept, last = [], np.array([np.inf, np.inf])
    for k, point in enumerate(points):
        if k == len(points) - 1 or np.abs(point - last).max() >= _NEAR:
            kept.append(f"{point[0]:.1f} {point[1]:.1f}")
            last = point
    return "M" + "L".join(kept) if kept else ""


def _class(mark: Mark) -> str:
    return _CLASSES.get(mark.series, f"s{mark.series % _SERIES}")


def _key(mark: Mark) -> str:
    """A sample of the mark beside its label."""
    lines = _LINES.get(mark.kind, _FILL)
    sample = "".join(f'<path class="{line} {_class(mark)}" d="{path}"/>' for line, path in lines)
    if mark.kind == "dots":
        sample = f'<circle class="dot {_class(mark)}" cx="11" cy="6" r="3"/>'
    return f'<li><svg aria-hidden="true" viewBox="0 0 22 12">{sample}</svg><bdi>{escaped(mark.label)}</bdi></li>'


def check_convertible(kind: str, argument: str = "path") -> None:
    """Raise InputError unless a page can be made a document here: ``".docx"`` by pandoc, ``".pdf"`` by a browser."""
    if kind not in DOCUMENTS:
        got = f"a name that ends in {kind!r}"
        raise InputError(argument, got=got, allowed=".docx or .pdf", cure="to_html(path) writes a page")
    pandoc = _first(("pandoc",))
    if kind == ".docx" and pandoc is None:
        raise _without("pandoc", kind, argument, "apt-get install pandoc")
    if kind == ".pdf" and _first(_BROWSERS) is None and (pandoc is None or _first(_LATEX) is None):
        tools = "a browser (chromium), or pandoc with LaTeX"
        raise _without(tools, kind, argument, "apt-get install chromium")


def _without(tools: str, kind: str, argument: str, cure: str) -> InputError:
    got = f"{kind!r} without {tools} on PATH"
    return InputError(argument, got=got, allowed="a format that can be made", cure=f"{cure}, or write HTML")


def convert(page: str, kind: str) -> bytes:
    """A page of HTML as the bytes of a document.

    `kind`, {".docx", ".pdf"}. Raises InputError for another one and where the tool is missing, BackendError where the
    tool fails.
    """
    check_convertible(kind)
    browser = _first(_BROWSERS)
    latex = _first(_LATEX)
    pandoc = _first(("pandoc",))
    with tempfile.TemporaryDirectory(prefix="fs-") as folder:
        held, made = Path(folder, "page.html"), Path(folder, f"page{kind}")
        held.write_text(page, encoding="utf-8", errors="xmlcharrefreplace")
        if kind == ".pdf" and browser:
            quiet = "--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer", "--no-first-run"
            command = [browser, *quiet, f"--user-data-dir={folder}/profile", f"--print-to-pdf={made}", held.as_uri()]
        else:
            held.write_text(_filed(_plain(page), Path(folder)), encoding="utf-8", errors="xmlcharrefreplace")
            engine = [f"--pdf-engine={latex}"] if kind == ".pdf" else []
            command = [str(pandoc), "--quiet", *engine, "--from=html", str(held), "--output", str(made)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)  # noqa: S603 - our page
        if not made.is_file():
            failed = f"{Path(command[0]).name} failed: {done.stderr.strip()[-300:]}"
            raise BackendError(f"no {kind} was made, because {failed}. To fix: write HTML and print it")
        return made.read_bytes()


def picture_for(kind: str) -> Callable[[Picture], str]:
    """How a page that becomes a document of this kind (``".docx"``, ``".pdf"``) draws a picture."""
    by_pandoc = kind == ".docx" or (kind == ".pdf" and not _first(_BROWSERS))
    return png if by_pandoc and _first(("pandoc",)) else svg


def png(picture: Picture) -> str:
    """The drawing with its legend as an image within the page; MissingDependencyError without Matplotlib."""
    plot, held = pyplot(), io.BytesIO()
    figure, ax = plot.subplots(figsize=(6, 4.2))
    draw(picture, ax)
    figure.savefig(held, format="png", dpi=150, bbox_inches="tight")
    plot.close(figure)
    data = base64.b64encode(held.getvalue()).decode("ascii")
    return f'<p><img alt="{escaped(picture.title)}" width="430" src="data:image/png;base64,{data}"></p>'


def _filed(page: str, folder: Path) -> str:
    """The page with its images as files: pandoc repeats the text of an image in the document."""

    def written(found: re.Match[str]) -> str:
        path = folder / f"drawing-{found.start()}.png"
        path.write_bytes(base64.b64decode(found[1]))
        return str(path)

    return _IMAGE.sub(written, page)


def _first(names: tuple[str, ...]) -> str | None:
    return next((path for name in names if (path := shutil.which(name))), None)


def _plain(page: str) -> str:
    """The page without SVG, which pandoc does not carry over: tables and legends say the same."""
    page, found = _PICTURE.sub(r"\1<p><i>The drawing is in the HTML page.</i></p>", page), 1
    while found:
        page, found = _DRAWING.subn("", page)
    return page
