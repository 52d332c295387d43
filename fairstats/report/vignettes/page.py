"""The page that both renderers write.

One style, formulas as MathML, pictures with words, no network.
"""

from __future__ import annotations

import base64
import html
import mimetypes
import platform
import re
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from urllib.parse import unquote

from fairstats._version import __version__
from fairstats.ground.errors import MissingDependencyError, VignetteError

_DISPLAYED = re.compile(
    r"(?<!<span class=\"formula\">)<math\b[^>]*\bdisplay=\"block\".*?</math>", re.DOTALL
)
#: Code, where a dollar sign is a dollar sign; then displayed and inline formulas as pandoc knows
#: them.
_TOKENS = re.compile(
    r"(?P<code>^(?P<fence>`{3,}|~{3,}).*?^(?P=fence)[^\n]*$|(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`))"
    r"|(?P<escaped>\\\$)"
    r"|\$\$(?P<display>.+?)\$\$"
    r"|\$(?P<inline>[^\s$](?:[^$]*?[^\s$])?)\$(?!\d)",
    re.MULTILINE | re.DOTALL,
)
_REMOTE = r"(?:https?:)?//"
#: What loads an address by itself; links of text (`<a href>`) are followed only by the reader.
_LOADS = re.compile(
    r"<(?:(?:script|img|iframe|video|audio|source|embed|track|input)\b[^>]*?\bsrc(?:set)?"
    r"|(?:link|image|use)\b[^>]*?\bhref|object\b[^>]*?\bdata)"
    rf"\s*=\s*[\"']?(?P<url>{_REMOTE}[^\"'\s>]*)",
    re.IGNORECASE,
)
#: The same in scripts and styles: url(), @import, import() and an assignment to src.
_IN_CODE = re.compile(
    r"(?:url\(\s*[\"']?|@import\s+[\"']|(?<!@)\bimport\s*\(?\s*[\"']|\.src\s*=\s*[\"'])"
    rf"(?P<url>{_REMOTE}[^\"')\s]*)",
    re.IGNORECASE,
)
_CODE = re.compile(r"<(script|style)\b[^>]*>(?P<body>.*?)</\1>", re.IGNORECASE | re.DOTALL)
_STYLE = re.compile(r"\bstyle\s*=\s*(\"[^\"]*\"|'[^']*')", re.IGNORECASE)
_PICTURE = re.compile(r"<img\b[^>]*>", re.IGNORECASE)
_HEADING_OR_PICTURE = re.compile(
    rf"<h[1-6]\b[^>]*>(?P<title>.*?)</h[1-6]>|{_PICTURE.pattern}", re.DOTALL | re.IGNORECASE
)
_SRC = re.compile(r"""\bsrc\s*=\s*(?P<quote>["'])(?P<src>.*?)(?P=quote)""", re.IGNORECASE)
_ALT = re.compile(r"""\balt\s*=\s*(?:"[^"]+"|'[^']+')""", re.IGNORECASE)
_EMPTY_ALT = re.compile(r"""\s*\balt\s*=\s*(?:""|'')""", re.IGNORECASE)

#: What scrolls where it is wider than the screen.
_WIDE = re.compile(r"<(pre|table)(?=[\s>])(?![^>]*tabindex)")


def footnote(renderer: str, r_version: str, *, fast: bool) -> str:
    """Who built the page, as HTML; `r_version` is empty where the R chunks were not run."""
    interpreters = f"Python {platform.python_version()}" + (f", R {r_version}" if r_version else "")
    text = (
        f"fairstats {__version__}; {interpreters}; rendered by"
        f" {'R Markdown' if renderer == 'r' else 'nbconvert'}."
    )
    if fast:
        text += (
            " Built with fewer draws than the text speaks of (--fast): random figures are coarser."
        )
    return f'<footer class="built">{html.escape(text)}</footer>'


def whole_page(title: str, body: str, code_style: str) -> str:
    """An HTML page around a body; `title` is text, `code_style` the CSS of highlighted code."""
    escaped_title = html.escape(title)
    style = files("fairstats.report.vignettes").joinpath("vignette.css").read_text(encoding="utf-8")
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>{escaped_title}</title>\n<style>\n{code_style}\n{style}</style>\n</head>\n"
        f'<body>\n<h1 class="title">{escaped_title}</h1>\n{body}\n</body>\n</html>\n'
    )


def finish(page: str, name: str, foot: str) -> str:
    """Let what is wide scroll, also by keys, name pictures, end with `foot`, refuse what would be
    loaded.
    """
    page = _DISPLAYED.sub(lambda matched: f'<span class="formula">{matched[0]}</span>', page)
    page = _WIDE.sub(r'<\1 tabindex="0"', page)
    head, end, tail = page.rpartition("</body>")
    if end:
        page = f"{head}{foot}\n{end}{tail}"
    else:
        page = page + foot
    return refuse_remote(name_pictures(page), name)


# ---- formulas


def to_mathml(latex: str, *, display: bool = False) -> str:
    """MathML of a formula without its dollar signs; a `VignetteError` where it cannot be read.

    >>> to_mathml("x^2")[:5]
    '<math'
    """
    try:
        from latex2mathml.converter import convert
    except ImportError as problem:
        what = {
            "purpose": "Formulas of a vignette",
            "alternative": "--renderer r (pandoc sets them)",
        }
        raise MissingDependencyError("latex2mathml", extra="docs", **what) from problem
    try:
        return str(convert(latex, display="block" if display else "inline"))
    except Exception as problem:
        raise VignetteError(f"the formula {latex!r} cannot be read: {problem!r}") from problem


def extract_formulas(markdown: str) -> tuple[str, Callable[[str], str]]:
    """Put marks in the place of formulas, ``$…$`` and ``$$…$$``; code is left alone.

    Returns the prose with marks, and a function that puts the formulas' MathML into the HTML made
    from it.

    >>> marked, put_back = extract_formulas("a ratio $p/q$ costs `$5`")
    >>> "$p/q$" in marked, "`$5`" in marked, "<math" in put_back(marked)
    (False, True, True)
    """
    kept_formulas: list[str] = []

    def mark(match: re.Match[str]) -> str:
        if match["code"]:
            return match[0]
        if match["escaped"]:
            kept_formulas.append("$")
        elif match["display"]:
            kept_formulas.append(
                f'<span class="formula">{to_mathml(match["display"].strip(), display=True)}</span>'
            )
        else:
            kept_formulas.append(to_mathml(match["inline"]))
        return f"\ue000{len(kept_formulas) - 1}\ue001"

    marked = _TOKENS.sub(mark, markdown)
    return marked, lambda html: re.sub(
        "\ue000(\\d+)\ue001", lambda matched: kept_formulas[int(matched[1])], html
    )


# ---- offline


def remote_addresses(page: str) -> list[str]:
    """Addresses on other machines that a page (HTML text) would load when it is opened.

    >>> remote_addresses('<a href="https://example.org">x</a><script src="https://cdn.example.org/x.js"></script>')
    ['https://cdn.example.org/x.js']
    """
    code = "\n".join(
        [*(matched["body"] for matched in _CODE.finditer(page)), *_STYLE.findall(page)]
    )
    return [matched["url"] for matched in (*_LOADS.finditer(page), *_IN_CODE.finditer(code))]


def refuse_remote(page: str, name: str) -> str:
    """The page, if it loads nothing from elsewhere.

    Otherwise a `VignetteError` with the addresses.
    """
    if remote := sorted(set(remote_addresses(page))):
        raise VignetteError(
            f"vignette {name}: the page would load {', '.join(remote[:5])}. To fix: leave it out."
        )
    return page


def embed_pictures(page: str, folder: Path, name: str) -> str:
    """Put the pictures that a page takes from a folder into the page itself.

    None may be missing.
    """

    def embed(match: re.Match[str]) -> str:
        picture_tag = match[0]
        source = _SRC.search(match[0])
        if source is None or re.match(r"data:|https?:|//", source["src"]):
            return picture_tag
        path = folder / unquote(html.unescape(source["src"]))
        if not path.is_file():
            raise VignetteError(f"vignette {name}: the picture {path} is missing.")
        kind = mimetypes.guess_type(path.name)[0] or "image/png"
        data = f"data:{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"
        return picture_tag[: source.start()] + f'src="{data}"' + picture_tag[source.end() :]

    return _PICTURE.sub(embed, page)


def name_pictures(page: str) -> str:
    """Give each picture without an alternative text the heading above it as such."""
    heading = ""

    def name(match: re.Match[str]) -> str:
        nonlocal heading
        if match["title"] is not None:
            heading = html.unescape(re.sub(r"<[^>]+>", "", match["title"])).strip()
        if match["title"] is not None or _ALT.search(match[0]):
            return match[0]
        text = html.escape(f"Figure: {heading}" if heading else "Figure")
        return f'<img alt="{text}"' + _EMPTY_ALT.sub("", match[0])[4:]

    return _HEADING_OR_PICTURE.sub(name, page)
