"""A page as Word or PDF: pandoc writes the one, a headless browser prints the other, or LaTeX does.

Pandoc carries no SVG over: pictures of a report are drawn by Matplotlib for it.
"""

from __future__ import annotations

import base64
import io
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from fairstats.ground.errors import InputError
from fairstats.plots.picture import Picture, draw, pyplot
from fairstats.report.format import escaped
from fairstats.report.svg import svg

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome", "microsoft-edge")
_LATEX = ("xelatex", "lualatex", "pdflatex")
#: A picture of a part of a report, as SVG.
_PICTURE = re.compile(r'(<figure class="picture">)<svg\b.*?</svg>(?=<figcaption>)', re.DOTALL)
_IMAGE = re.compile(r'(?<=src=")data:image/png;base64,([^"]+)')
#: A drawing that holds no other one.
_DRAWING = re.compile(r"<svg\b(?:(?!<svg\b).)*?</svg>", re.DOTALL)


def convert(page: str, target: Path) -> Path:
    """Write a page of HTML as the file that the ending of its name asks for: ``.docx`` or ``.pdf``.

    Raises InputError for another ending, and where the tool is missing or fails.
    """
    kind = target.suffix.lower()
    if kind not in (".docx", ".pdf"):
        got, cure = f"a name that ends in {kind!r}", "to_html(path) writes a page"
        raise InputError("path", got=got, allowed=".docx or .pdf", cure=cure)
    browser, latex, pandoc = (_first(names) for names in (_BROWSERS, _LATEX, ("pandoc",)))
    with tempfile.TemporaryDirectory(prefix="fs-") as folder:
        held, made = Path(folder, "page.html"), Path(folder, f"page{kind}")
        held.write_text(page, encoding="utf-8", errors="xmlcharrefreplace")
        if kind == ".pdf" and browser:
            quiet = "--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer", "--no-first-run"
            command = [browser, *quiet, f"--user-data-dir={folder}/profile", f"--print-to-pdf={made}", held.as_uri()]
        elif pandoc and (kind == ".docx" or latex):
            held.write_text(_filed(_plain(page), Path(folder)), encoding="utf-8", errors="xmlcharrefreplace")
            engine = [f"--pdf-engine={latex}"] if kind == ".pdf" else []
            command = [pandoc, "--quiet", *engine, "--from=html", str(held), "--output", str(made)]
        else:
            what = "pandoc" if kind == ".docx" else "a browser (chromium), or pandoc with LaTeX"
            cure = "apt-get install " + ("pandoc" if kind == ".docx" else "chromium") + ", or write HTML"
            got = f"{kind!r} without {what} on PATH"
            raise InputError("path", got=got, allowed="a format that can be made", cure=cure)
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)  # noqa: S603 - our page
        if not made.is_file():
            got = f"{Path(command[0]).name} that failed: {done.stderr.strip()[-300:]}"
            raise InputError("path", got=got, allowed="a document", cure="write HTML and print it")
        target.write_bytes(made.read_bytes())
    return target


def picture_for(target: Path) -> Callable[[Picture], str]:
    """How a page that becomes this file draws a picture."""
    kind = target.suffix.lower()
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
