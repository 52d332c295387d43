"""The Python renderer: jupytext reads, a kernel runs, nbconvert's filters make HTML of it."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fairstats.report.vignettes.formulas import extract_formulas
from fairstats.report.vignettes.notebook import require_notebook_tools, run_chunks
from fairstats.report.vignettes.offline import embed_pictures
from fairstats.report.vignettes.page import finish, footnote, whole_page
from fairstats.report.vignettes.parse import Chunk, Vignette
from fairstats.report.vignettes.recorded import Recorded, chunk_keys, read_recorded
from fairstats.report.vignettes.surroundings import surroundings

__all__ = ["r_output", "render_by_python"]

_HEADING = re.compile(r"<h(?P<depth>[1-6])[^>]*>(?P<title>.*?)</h(?P=depth)>", re.DOTALL)


def render_by_python(
    vignette: Vignette, *, fast: bool, library: Path | None, r_version: str
) -> tuple[str, dict[int, str]]:
    """Run a vignette and make its page.

    Parameters
    ----------
    vignette : Vignette
        What to run.
    fast : bool
        Whether with fewer draws.
    library : Path or None
        R library with the R package fairstats; None where R is missing: recorded output is shown then.
    r_version : str
        Version of R, empty where it is missing.

    Returns
    -------
    str
        The page.
    dict of int to str
        Number of each R chunk that ran → what it printed.

    Raises
    ------
    VignetteError
        If a chunk fails.
    MissingDependencyError
        Without the extra ``docs``.
    """
    require_notebook_tools()
    with surroundings(fast=fast, library=library) as place:
        ran = run_chunks(vignette, place, with_r=library is not None)
    recorded = Recorded() if library is not None else read_recorded(vignette.path)
    keys = chunk_keys(vignette)
    body = [_prose(ran.prose.get(0, ""), vignette)]
    for chunk in vignette.chunks:
        outputs = ran.outputs.get(chunk.number)
        if chunk.shows("include"):
            if chunk.shows("echo"):
                body.append(_code(chunk))
            if outputs is None:
                body.append(_recorded(recorded, keys[chunk.number]))
            else:
                body.append(_outputs(outputs, chunk))
        body.append(_prose(ran.prose.get(chunk.number, ""), vignette))
    page = whole_page(vignette.title, "\n".join(filter(None, body)), _code_style())
    printed = {n: r_output(o) for n, o in ran.outputs.items() if n in keys}
    return finish(page, vignette.name, footnote("python", r_version, fast=fast)), printed


def r_output(outputs: Iterable[Any]) -> str:
    """What an R chunk printed, its messages included."""
    parts = []
    for output in outputs:
        if output.output_type == "stream":
            parts.append(str(output.text))
        elif "data" in output:
            parts.append(str(output.data.get("text/plain", "")))
    return "".join(parts).strip("\n")


def _prose(markdown: str, vignette: Vignette) -> str:
    if not markdown.strip():
        return ""
    from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

    marked, put_back = extract_formulas(markdown)
    made = MarkdownWithMath(renderer=IPythonRenderer(escape=False, exclude_anchor_links=True)).render(marked)
    made = _HEADING.sub(_with_id, made)
    return embed_pictures(put_back(made), vignette.path.parent, vignette.name)


def _with_id(heading: re.Match[str]) -> str:
    """A heading that can be linked to, by the name that pandoc gives it."""
    words = html.unescape(re.sub("<[^>]+>|\ue000\\d+\ue001", "", heading["title"])).lower()
    name = re.sub(r"\s+", "-", re.sub(r"[^\w\s.-]", "", words).strip())
    depth = heading["depth"]
    return f'<h{depth} id="{re.sub("^[^a-z]+", "", name) or "section"}">{heading["title"]}</h{depth}>'


def _code(chunk: Chunk) -> str:
    from nbconvert.filters.highlight import Highlight2HTML

    made = Highlight2HTML()(chunk.code, language="r" if chunk.language == "r" else "ipython3")
    return f'<div class="language-{chunk.language}">{made}</div>'


def _code_style() -> str:
    from pygments.formatters import HtmlFormatter

    return str(HtmlFormatter(style="friendly").get_style_defs(".highlight"))


def _recorded(recorded: Recorded, key: str) -> str:
    text = recorded.outputs.get(key)
    if text is None:
        note = "R is not available here, and there is no recorded output for this version."
        return f'<p class="unrecorded">{note}</p>'
    note = f"R is not available here; recorded output ({recorded.by}):"
    return f'<p class="recorded">{html.escape(note)}</p>{_pre(text)}'


def _outputs(outputs: list[Any], chunk: Chunk) -> str:
    if chunk.language == "r":
        return _pre(r_output(outputs))
    parts: list[str] = []
    printed = ""
    for at, output in enumerate(outputs):
        if output.output_type == "stream":
            printed += output.text
            following = outputs[at + 1] if at + 1 < len(outputs) else None
            if following is None or following.get("name") != output.name:
                parts.append(_pre(printed, output.name))
                printed = ""
        elif "data" in output:
            parts.append(_shown(output, chunk))
    return "\n".join(filter(None, parts))


def _pre(text: str, kind: str = "stdout") -> str:
    from nbconvert.filters.ansi import ansi2html

    text = text.strip("\n")
    return f'<div class="output"><pre class="{kind}">{ansi2html(text)}</pre></div>' if text else ""


def _shown(output: Any, chunk: Chunk) -> str:
    """The richest form of a value."""
    data = output.data
    if "text/html" in data:
        return f'<div class="output">{data["text/html"]}</div>'
    if "image/png" in data:
        width = output.metadata.get("image/png", {}).get("width")
        sized = f' width="{int(width)}"' if width else ""
        source = f"data:image/png;base64,{''.join(data['image/png'].split())}"
        caption = f"<figcaption>{html.escape(chunk.caption)}</figcaption>" if chunk.caption else ""
        words = html.escape(chunk.alternative, quote=True)
        return f'<figure><img src="{source}" alt="{words}"{sized}>{caption}</figure>'
    if "text/markdown" in data:
        from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

        marked, put_back = extract_formulas(data["text/markdown"])
        return put_back(MarkdownWithMath(renderer=IPythonRenderer(escape=True)).render(marked))
    return _pre(str(data.get("text/plain", "")))
