"""HTML that needs no network: what a page would load, pictures put into it, their alternatives."""

from __future__ import annotations

import base64
import html
import mimetypes
import re
from pathlib import Path
from urllib.parse import unquote

from fairstats.ground.errors import VignetteError

__all__ = ["embed_pictures", "name_pictures", "refuse_remote", "remote_addresses"]

_REMOTE = r"(?:https?:)?//"
#: What loads an address by itself; links of text (`<a href>`) are followed only by the reader.
_LOADS = (
    re.compile(
        rf"<(?:script|img|iframe|video|audio|source|embed|track|input)\b[^>]*?\bsrc(?:set)?\s*=\s*[\"']?(?P<url>{_REMOTE}[^\"'\s>]*)",
        re.IGNORECASE,
    ),
    re.compile(rf"<link\b[^>]*?\bhref\s*=\s*[\"']?(?P<url>{_REMOTE}[^\"'\s>]*)", re.IGNORECASE),
    re.compile(rf"<object\b[^>]*?\bdata\s*=\s*[\"']?(?P<url>{_REMOTE}[^\"'\s>]*)", re.IGNORECASE),
    re.compile(rf"<(?:image|use)\b[^>]*?\bhref\s*=\s*[\"']?(?P<url>{_REMOTE}[^\"'\s>]*)", re.IGNORECASE),
)
_IN_CODE = (
    re.compile(rf"url\(\s*[\"']?(?P<url>{_REMOTE}[^\"')\s]*)", re.IGNORECASE),
    re.compile(rf"@import\s+[\"'](?P<url>{_REMOTE}[^\"']*)", re.IGNORECASE),
    re.compile(rf"(?<!@)\bimport\s*\(?\s*[\"'](?P<url>{_REMOTE}[^\"']*)", re.IGNORECASE),
    re.compile(rf"\.src\s*=\s*[\"'](?P<url>{_REMOTE}[^\"']*)", re.IGNORECASE),
)
_CODE = re.compile(r"<(script|style)\b[^>]*>(?P<body>.*?)</\1>", re.IGNORECASE | re.DOTALL)
_STYLE = re.compile(r"\bstyle\s*=\s*(\"[^\"]*\"|'[^']*')", re.IGNORECASE)
_PICTURE = re.compile(r"<img\b[^>]*>", re.IGNORECASE)
_SRC = re.compile(r"""\bsrc\s*=\s*(?P<quote>["'])(?P<src>.*?)(?P=quote)""", re.IGNORECASE)
_ALT = re.compile(r"""\balt\s*=\s*(?:"[^"]+"|'[^']+')""", re.IGNORECASE)
_EMPTY_ALT = re.compile(r"""\s*\balt\s*=\s*(?:""|'')""", re.IGNORECASE)


def remote_addresses(page: str) -> list[str]:
    """Addresses on other machines that a page would load when it is opened.

    Parameters
    ----------
    page : str
        HTML text.

    Examples
    --------
    >>> remote_addresses('<a href="https://example.org">x</a><script src="https://cdn.example.org/x.js"></script>')
    ['https://cdn.example.org/x.js']
    """
    code = "\n".join([*(m["body"] for m in _CODE.finditer(page)), *_STYLE.findall(page)])
    found = [m["url"] for pattern in _LOADS for m in pattern.finditer(page)]
    return found + [m["url"] for pattern in _IN_CODE for m in pattern.finditer(code)]


def refuse_remote(page: str, name: str) -> str:
    """The page, if it loads nothing from elsewhere.

    Raises
    ------
    VignetteError
        Naming the addresses.
    """
    found = sorted(set(remote_addresses(page)))
    if found:
        raise VignetteError(
            f"vignette {name}: the page would load {', '.join(found[:5])}. To fix: leave it out."
        )
    return page


def embed_pictures(page: str, folder: Path, name: str) -> str:
    """Put the pictures that a page takes from a folder into the page itself.

    Raises
    ------
    VignetteError
        If one is missing.
    """

    def embed(match: re.Match[str]) -> str:
        tag = match[0]
        source = _SRC.search(tag)
        if source is None or re.match(r"data:|https?:|//", source["src"]):
            return tag
        path = folder / unquote(html.unescape(source["src"]))
        if not path.is_file():
            raise VignetteError(f"vignette {name}: the picture {path} is missing.")
        kind = mimetypes.guess_type(path.name)[0] or "image/png"
        data = f"data:{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"
        return tag[: source.start()] + f'src="{data}"' + tag[source.end() :]

    return _PICTURE.sub(embed, page)


def name_pictures(page: str) -> str:
    """Give each picture without an alternative text the heading above it as such."""
    heading = ""

    def name(match: re.Match[str]) -> str:
        nonlocal heading
        if match["title"] is not None:
            heading = html.unescape(re.sub(r"<[^>]+>", "", match["title"])).strip()
            return match[0]
        tag = match[0]
        if _ALT.search(tag):
            return tag
        text = html.escape(f"Figure: {heading}" if heading else "Figure", quote=True)
        return f'<img alt="{text}"' + _EMPTY_ALT.sub("", tag)[4:]

    pattern = re.compile(
        rf"<h[1-6]\b[^>]*>(?P<title>.*?)</h[1-6]>|{_PICTURE.pattern}", re.DOTALL | re.IGNORECASE
    )
    return pattern.sub(name, page)
