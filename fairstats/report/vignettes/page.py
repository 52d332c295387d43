"""The page that both renderers write: one style, formulas that fit, pictures with words, no network."""

from __future__ import annotations

import html
import platform
import re
from importlib.resources import files
from pathlib import Path

from fairstats._version import __version__
from fairstats.report.vignettes.offline import name_pictures, refuse_remote

__all__ = ["finish", "footnote", "style", "whole_page"]

_DISPLAYED = re.compile(r"(?<!<span class=\"formula\">)<math\b[^>]*\bdisplay=\"block\".*?</math>", re.DOTALL)


def style() -> str:
    """The style sheet."""
    return files("fairstats.report.vignettes").joinpath("vignette.css").read_text(encoding="utf-8")


def footnote(renderer: str, r_version: str, *, fast: bool) -> str:
    """Who built the page, as HTML.

    Parameters
    ----------
    renderer : str
        ``"python"`` or ``"r"``.
    r_version : str
        Of the R that ran the R chunks; empty where they were not run.
    fast : bool
        Whether with fewer draws.
    """
    ran = f"Python {platform.python_version()}" + (f", R {r_version}" if r_version else "")
    text = f"fairstats {__version__}; {ran}; rendered by {'R Markdown' if renderer == 'r' else 'nbconvert'}."
    if fast:
        text += " Built with fewer draws than the text speaks of (--fast): random figures are coarser."
    return f'<footer class="built">{html.escape(text)}</footer>'


def whole_page(title: str, body: str, code_style: str) -> str:
    """An HTML page around a body.

    Parameters
    ----------
    title : str
        Text.
    body, code_style : str
        HTML, and CSS of highlighted code.
    """
    named = html.escape(title)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>{named}</title>\n<style>\n{code_style}\n{style()}</style>\n</head>\n"
        f'<body>\n<h1 class="title">{named}</h1>\n{body}\n</body>\n</html>\n'
    )


def finish(page: str, name: str, foot: str) -> str:
    """Last hand on a page: displayed formulas may scroll, pictures have words, nothing is loaded.

    Parameters
    ----------
    page : str
        HTML text.
    name : str
        The vignette's.
    foot : str
        HTML that goes to the end of the body.

    Raises
    ------
    VignetteError
        If the page would load something.
    """
    page = _DISPLAYED.sub(lambda m: f'<span class="formula">{m[0]}</span>', page)
    head, end, tail = page.rpartition("</body>")
    page = f"{head}{foot}\n{end}{tail}" if end else page + foot
    return refuse_remote(name_pictures(page), name)


def write_page(page: str, path: Path) -> Path:
    """Write a page; the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page, encoding="utf-8")
    return path
