"""The last hand on the page that either renderer wrote.

Formulas are MathML, pictures have words, what is wide scrolls, and nothing is loaded from elsewhere.
"""

from __future__ import annotations

import html
import platform
import re
from typing import TYPE_CHECKING

from fairstats._version import __version__
from fairstats.ground.errors import VignetteError

if TYPE_CHECKING:
    from bs4 import BeautifulSoup

_REMOTE = re.compile(r"(?:https?:)?//[^\s\"'>]+")
#: Attributes whose address is loaded with the page; `<a href>` is followed only by the reader.
_LOADING = ("src", "srcset", "data", "poster")
_LOADING_BY_HREF = ("link", "image", "use")
#: What scripts and styles load: url(), @import, import() and an assignment to src.
_IN_CODE = re.compile(
    r"(?:url\(\s*[\"']?|@import\s+[\"']|(?<!@)\bimport\s*\(?\s*[\"']|\.src\s*=\s*[\"'])"
    r"(?P<url>(?:https?:)?//[^\"')\s]*)",
    re.IGNORECASE,
)


def footnote(renderer: str, r_version: str, *, fast: bool) -> str:
    """Who built the page, as HTML; `r_version` is empty where the R chunks were not run."""
    interpreters = f"Python {platform.python_version()}" + (f", R {r_version}" if r_version else "")
    rendered = "R Markdown" if renderer == "r" else "nbconvert"
    text = f"fairstats {__version__}; {interpreters}; rendered by {rendered}."
    if fast:
        text += (
            " Built with fewer draws than the text speaks of (--fast): random figures are coarser."
        )
    return f'<footer class="built">{html.escape(text)}</footer>'


def finish(page: str, name: str, foot: str) -> str:
    """Let what is wide scroll, also by keys, name headings and pictures, end with `foot`, refuse
    what would be loaded.

    Raises VignetteError for an address elsewhere, and for a picture that is no part of the page.
    """
    soup = _parse(page)
    for formula in soup.find_all("math", display="block"):
        formula.wrap(soup.new_tag("span", attrs={"class": "formula"}))
    for wide in soup.find_all(["pre", "table"]):
        wide["tabindex"] = "0"
    heading = ""
    for tag in soup.find_all(["h1", "h2", "h3", "h4", "h5", "h6", "img"]):
        if tag.name != "img":
            heading = " ".join(tag.get_text().split())
            words = re.sub(r"[^\w\s.-]", "", heading.lower()).split()
            # the name that pandoc gives it
            named = re.sub(r"^[^a-z]+", "", "-".join(words)) or "section"
            tag["id"] = tag.get("id") or named
        elif not tag.get("alt"):
            tag["alt"] = f"Figure: {heading}" if heading else "Figure"
    if soup.body is not None:
        soup.body.append(_parse(foot))
    if remote := sorted(set(_remote_addresses(soup))):
        raise VignetteError(
            f"vignette {name}: the page would load {', '.join(remote[:5])}. To fix: leave it out."
        )
    for picture in soup.find_all("img"):
        if not str(picture.get("src", "data:")).startswith("data:"):
            raise VignetteError(f"vignette {name}: the picture {picture['src']} is missing.")
    return str(soup)


def remote_addresses(page: str) -> list[str]:
    """Addresses on other machines that a page (HTML text) would load when it is opened."""
    return _remote_addresses(_parse(page))


def _remote_addresses(soup: BeautifulSoup) -> list[str]:
    addresses = []
    code = []
    for tag in soup.find_all(True):
        loading = [tag.get(attribute) for attribute in _LOADING]
        if tag.name in _LOADING_BY_HREF:
            loading += [tag.get("href"), tag.get("xlink:href")]
        for value in loading:
            remote = _REMOTE.match(str(value or "").strip())
            if remote:
                addresses.append(remote[0])
        code.append(str(tag.get("style", "")))
        if tag.name in ("script", "style"):
            code.append(tag.get_text())
    for text in code:
        addresses += [loaded["url"] for loaded in _IN_CODE.finditer(text)]
    return addresses


def _parse(page: str) -> BeautifulSoup:
    from bs4 import BeautifulSoup

    return BeautifulSoup(page, "html.parser")


def to_mathml(latex: str, *, display: bool = False) -> str:
    """MathML of a formula without its dollar signs; a `VignetteError` where it cannot be read."""
    from latex2mathml.converter import convert

    try:
        return str(convert(latex.strip(), display="block" if display else "inline"))
    except Exception as problem:
        raise VignetteError(f"the formula {latex!r} cannot be read: {problem!r}") from problem
