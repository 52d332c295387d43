"""The Python renderer: jupytext reads, a kernel of this interpreter runs, nbconvert makes HTML of it."""

from __future__ import annotations

import ast
import asyncio
import html
import json
import os
import re
import sys
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fairstats.ground.errors import MissingDependencyError, VignetteError
from fairstats.report.vignettes.page import embed_pictures, extract_formulas, finish, footnote, whole_page
from fairstats.report.vignettes.source import (
    Chunk,
    Recorded,
    Surroundings,
    Vignette,
    chunk_keys,
    read_recorded,
    surroundings,
)

_HEADING = re.compile(r"<h(?P<depth>[1-6])[^>]*>(?P<title>.*?)</h(?P=depth)>", re.DOTALL)
_PREPARE = """\
import matplotlib as _matplotlib, matplotlib_inline.backend_inline as _inline
get_ipython().run_line_magic("matplotlib", "inline")
_inline.set_matplotlib_formats("retina")
_matplotlib.rcParams["figure.figsize"] = (7, 5)
del _matplotlib, _inline
"""
#: R starts through fairstats' own door, without the user's profile; then rpy2's magic finds it running.
_PREPARE_R = """\
from fairstats.ground.rsession import call as _call
_call("base::options", width=80)
del _call
get_ipython().run_line_magic("load_ext", "rpy2.ipython")
"""
#: How rpy2's magic hands over R's message: as Python writes text.
_R_SAID = re.compile(r"R error message: ('.*'|\".*\")", re.DOTALL)
_RESIZE = '__import__("matplotlib").rcParams["figure.figsize"] = ({}, {})\n'
#: Every visible value is printed, as at R's prompt and by knitr, not only the last.
_R_CELL = "%%R\nsource(exprs = parse(text = {}, keep.source = FALSE), print.eval = TRUE, echo = FALSE)\n"


def render_by_python(
    vignette: Vignette, *, fast: bool, library: Path | None, r_version: str, params: Any = ()
) -> tuple[str, dict[int, str]]:
    """Run a vignette and make its page; beside it, what each R chunk printed, by the chunk's number.

    `library` is an R library with the R package fairstats; where R is missing it is None, `r_version` is
    empty, and recorded output is shown. A `VignetteError` names the chunk that fails.
    """
    for package in ("jupytext", "nbconvert", "nbclient", "ipykernel", "latex2mathml", "matplotlib"):
        if find_spec(package) is None:
            raise MissingDependencyError(
                package, extra="docs", purpose="Building vignettes by Python", alternative="--renderer r"
            )
    # not from the package, which replaces itself while another thread may be importing it
    from pygments.formatters.html import HtmlFormatter

    with surroundings(fast=fast, library=library, params=vignette.parameters(dict(params))) as place:
        prose, cells = _read(vignette)
        ran = _run_chunks(vignette, cells, place, with_r=library is not None)
    recorded = Recorded() if library is not None else read_recorded(vignette.path)
    keys = chunk_keys(vignette)
    body = [_prose(prose.get(0, ""), vignette)]
    for chunk in vignette.chunks:
        outputs = ran.get(chunk.number)
        if chunk.shows("include"):
            body.append(_code(chunk) if chunk.shows("echo") else "")
            body.append(_recorded(recorded, keys[chunk.number]) if outputs is None else _outputs(outputs, chunk))
        body.append(_prose(prose.get(chunk.number, ""), vignette))
    style = HtmlFormatter(style="xcode").get_style_defs(".highlight")
    page = whole_page(vignette.title, "\n".join(filter(None, body)), style)
    printed = {n: r_output(o) for n, o in ran.items() if n in keys}
    return finish(page, vignette.name, footnote("python", r_version, fast=fast)), printed


def r_output(outputs: Iterable[Any]) -> str:
    """What an R chunk printed, its messages included."""
    said = (o.text if o.output_type == "stream" else o.get("data", {}).get("text/plain", "") for o in outputs)
    return "".join(map(str, said)).strip("\n")


def _prose(markdown: str, vignette: Vignette) -> str:
    if not markdown.strip():
        return ""
    made = _HEADING.sub(_with_id, _markdown(markdown, escape=False, exclude_anchor_links=True))
    return embed_pictures(made, vignette.path.parent, vignette.name)


def _markdown(text: str, **options: bool) -> str:
    from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

    marked, put_back = extract_formulas(text)
    return put_back(MarkdownWithMath(renderer=IPythonRenderer(**options)).render(marked))


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


def _recorded(recorded: Recorded, key: str) -> str:
    text = recorded.outputs.get(key)
    if text is None:
        return '<p class="unrecorded">R is not available here, and there is no recorded output for this version.</p>'
    note = f"R is not available here; recorded output ({recorded.by}):"
    return f'<p class="recorded">{html.escape(note)}</p>{_pre(text)}'


def _outputs(outputs: list[Any], chunk: Chunk) -> str:
    if chunk.language == "r":
        return _pre(r_output(outputs))
    parts, printed = [], ""
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
    data: Any = output.data
    if "text/html" in data:
        return f'<div class="output">{data["text/html"]}</div>'
    if "image/png" in data:
        width = output.metadata.get("image/png", {}).get("width")
        sized = f' width="{int(width)}"' if width else ""
        source = f"data:image/png;base64,{''.join(data['image/png'].split())}"
        caption = f"<figcaption>{html.escape(chunk.caption)}</figcaption>" if chunk.caption else ""
        return f'<figure><img src="{source}" alt="{html.escape(chunk.alternative)}"{sized}>{caption}</figure>'
    if "text/markdown" in data:
        return _markdown(data["text/markdown"], escape=True)
    return _pre(str(data.get("text/plain", "")))


# ---------------------------------------------------------------- a notebook that runs


def _run_chunks(vignette: Vignette, cells: list[Any], place: Surroundings, *, with_r: bool) -> dict[int, list[Any]]:
    """Run every chunk in order, R's by rpy2's magic or not at all; the outputs are nbformat's."""
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
    from nbformat.v4 import new_code_cell, new_notebook

    notebook = new_notebook()
    notebook.cells = [new_code_cell(_PREPARE + (_PREPARE_R if with_r else ""))]
    owner: dict[int, Chunk] = {}
    for chunk, cell in zip(vignette.chunks, cells, strict=True):
        if chunk.language == "r" and not with_r:
            continue
        size = chunk.figure_size
        if size is not None:
            notebook.cells.append(new_code_cell(_RESIZE.format(*size)))
        cell.source = _R_CELL.format(json.dumps(chunk.code)) if chunk.language == "r" else chunk.code
        owner[len(notebook.cells)] = chunk
        notebook.cells.append(cell)
        if size is not None:
            notebook.cells.append(new_code_cell(_RESIZE.format(7, 5)))

    class Client(NotebookClient):  # type: ignore[misc]  # untyped base
        """It owns its kernel, and so ends it."""

        def create_kernel_manager(self) -> Any:
            """A kernel of this interpreter."""
            self.km = _kernel(place)
            return self.km

    resources = {"metadata": {"path": str(place.folder)}}
    inline = "module://matplotlib_inline.backend_inline"
    variables = {**place.variables, "MPLBACKEND": inline, "IPYTHONDIR": str(place.aside / "ipython")}
    client = Client(notebook, resources=resources, timeout=None, startup_timeout=120)
    try:
        asyncio.run(client.async_execute(env=variables))
    except CellExecutionError as problem:
        raise VignetteError(_failure(vignette, notebook, owner)) from problem
    except (DeadKernelError, CellTimeoutError, RuntimeError) as problem:
        last = max((i for i, cell in enumerate(notebook.cells) if cell.outputs), default=0)
        where = f"after cell {last} of {len(notebook.cells)}"
        raise VignetteError(f"vignette {vignette.name}: the kernel ended {where}: {problem}") from problem
    return {chunk.number: list(notebook.cells[at].outputs) for at, chunk in owner.items()}


def _read(vignette: Vignette) -> tuple[dict[int, str], list[Any]]:
    """Prose by the number of chunks before it, and a cell for each chunk, as jupytext reads the file."""
    import jupytext

    notebook = jupytext.reads(vignette.text, fmt="Rmd")
    prose: dict[int, str] = {}
    cells = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cells.append(cell)
        elif cell.cell_type == "markdown":
            prose[len(cells)] = "\n\n".join(filter(None, (prose.get(len(cells)), cell.source)))
    if len(cells) != len(vignette.chunks):
        cure = "give each chunk a line of ```{python} or ```{r} and an end, with empty lines around."
        seen = f"jupytext sees {len(cells)} chunks, fairstats {len(vignette.chunks)}"
        raise VignetteError(f"vignette {vignette.name}: {seen}. To fix: {cure}")
    return prose, cells


def _kernel(place: Surroundings) -> Any:
    """A manager for a kernel of this interpreter, whose specification lies aside."""
    from jupyter_client.kernelspec import KernelSpecManager
    from jupyter_client.manager import AsyncKernelManager

    folder = place.aside / "kernels" / "fairstats"
    folder.mkdir(parents=True)
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}", "--log-level=ERROR"]
    specification = {"argv": argv, "display_name": "fairstats", "language": "python"}
    (folder / "kernel.json").write_text(json.dumps(specification), encoding="utf-8")
    connection = str(place.aside / "k.json")
    kernels = KernelSpecManager(kernel_dirs=[str(folder.parent)], ensure_native_kernel=False)
    manager = AsyncKernelManager(kernel_name="fairstats", kernel_spec_manager=kernels, connection_file=connection)
    if os.name == "posix" and len(connection) < 80:  # the system's limit for a socket's name is 104 or 108
        manager.transport = "ipc"
        manager.ip = str(place.aside / "k")
    return manager


def _failure(vignette: Vignette, notebook: Any, owner: dict[int, Chunk]) -> str:
    """Which chunk failed, and why."""
    for at, cell in enumerate(notebook.cells):
        for output in cell.outputs:
            if output.output_type == "error":
                chunk = owner.get(at)
                where = f"chunk {chunk.name}" if chunk else "before the first chunk"
                said = _R_SAID.search(output.evalue)
                cause = f"R: {ast.literal_eval(said[1])}" if said else f"{output.ename}: {output.evalue}"
                return f"vignette {vignette.name}, {where}: {cause.strip()}"
    return f"vignette {vignette.name}: a chunk failed"
