"""The Python renderer: a kernel of this interpreter runs the chunks, nbconvert makes HTML of them."""

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
from fairstats.report.vignettes.page import (
    embed_pictures,
    extract_formulas,
    finish,
    footnote,
    whole_page,
)
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
#: R starts through fairstats' own door, without the user's profile; then rpy2's magic finds it
#: running.
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
_R_CELL = (
    "%%R\nsource(exprs = parse(text = {}, keep.source = FALSE), print.eval = TRUE, echo = FALSE)\n"
)


def render_by_python(
    vignette: Vignette,
    *,
    fast: bool,
    library: Path | None,
    r_version: str,
    params: Any = (),
) -> tuple[str, dict[int, str]]:
    """Run a vignette and make its page.

    Beside it, what each R chunk printed, by the chunk's number.

    `library` is an R library with the R package fairstats; where R is missing it is None,
    `r_version` is empty, and recorded output is shown. A `VignetteError` names the chunk that
    fails.
    """
    for package in ("nbconvert", "nbclient", "ipykernel", "latex2mathml", "matplotlib"):
        if find_spec(package) is None:
            raise MissingDependencyError(
                package,
                extra="docs",
                purpose="Building vignettes by Python",
                alternative="--renderer r",
            )
    # not from the package, which replaces itself while another thread may be importing it
    from pygments.formatters.html import HtmlFormatter

    with surroundings(
        fast=fast,
        library=library,
        params=vignette.parameters(dict(params)),
    ) as place:
        outputs_by_chunk = _run_chunks(vignette, place, with_r=library is not None)
    if library is not None:
        recorded = Recorded()
    else:
        recorded = read_recorded(vignette.path)
    keys = chunk_keys(vignette)
    body = [_render_prose(vignette.prose[0], vignette)]
    for chunk, prose in zip(vignette.chunks, vignette.prose[1:], strict=True):
        outputs = outputs_by_chunk.get(chunk.number)
        if chunk.shows("include"):
            body.append(_render_code(chunk) if chunk.shows("echo") else "")
            body.append(
                _render_recorded(recorded, keys[chunk.number])
                if outputs is None
                else _render_outputs(outputs, chunk)
            )
        body.append(_render_prose(prose, vignette))
    style = HtmlFormatter(style="xcode").get_style_defs(".highlight")
    page = whole_page(vignette.title, "\n".join(filter(None, body)), style)
    printed = {}
    for chunk_number, output in outputs_by_chunk.items():
        if chunk_number in keys:
            printed[chunk_number] = r_output(output)
    return finish(page, vignette.name, footnote("python", r_version, fast=fast)), printed


def r_output(outputs: Iterable[Any]) -> str:
    """What an R chunk printed, its messages included."""
    message = (
        output.text
        if output.output_type == "stream"
        else output.get("data", {}).get("text/plain", "")
        for output in outputs
    )
    return "".join(map(str, message)).strip("\n")


def _render_prose(markdown: str, vignette: Vignette) -> str:
    if not markdown.strip():
        return ""
    made_html = _HEADING.sub(
        _with_id, _render_markdown(markdown, escape=False, exclude_anchor_links=True)
    )
    return embed_pictures(made_html, vignette.path.parent, vignette.name)


def _render_markdown(text: str, **options: bool) -> str:
    from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

    marked, put_back = extract_formulas(text)
    return put_back(MarkdownWithMath(renderer=IPythonRenderer(**options)).render(marked))


def _with_id(heading: re.Match[str]) -> str:
    """A heading that can be linked to, by the name that pandoc gives it."""
    words = html.unescape(re.sub("<[^>]+>|\ue000\\d+\ue001", "", heading["title"])).lower()
    name = re.sub(r"\s+", "-", re.sub(r"[^\w\s.-]", "", words).strip())
    depth = heading["depth"]
    return (
        f'<h{depth} id="{re.sub("^[^a-z]+", "", name) or "section"}">{heading["title"]}</h{depth}>'
    )


def _render_code(chunk: Chunk) -> str:
    from nbconvert.filters.highlight import Highlight2HTML

    made_html = Highlight2HTML()(chunk.code, language="r" if chunk.language == "r" else "ipython3")
    return f'<div class="language-{chunk.language}">{made_html}</div>'


def _render_recorded(recorded: Recorded, key: str) -> str:
    text = recorded.outputs.get(key)
    if text is None:
        return (
            '<p class="unrecorded">R is not available here, and there is no recorded output for'
            " this version.</p>"
        )
    note = f"R is not available here; recorded output ({recorded.by}):"
    return f'<p class="recorded">{html.escape(note)}</p>{_render_text(text)}'


def _render_outputs(outputs: list[Any], chunk: Chunk) -> str:
    if chunk.language == "r":
        return _render_text(r_output(outputs))
    parts = []
    printed = ""
    for position, output in enumerate(outputs):
        if output.output_type == "stream":
            printed += output.text
            if position + 1 < len(outputs):
                following = outputs[position + 1]
            else:
                following = None
            if following is None or following.get("name") != output.name:
                parts.append(_render_text(printed, output.name))
                printed = ""
        elif "data" in output:
            parts.append(_render_value(output, chunk))
    return "\n".join(filter(None, parts))


def _render_text(text: str, kind: str = "stdout") -> str:
    from nbconvert.filters.ansi import ansi2html

    text = text.strip("\n")
    if text:
        return f'<div class="output"><pre class="{kind}">{ansi2html(text)}</pre></div>'
    return ""


def _render_value(output: Any, chunk: Chunk) -> str:
    """The richest form of a value."""
    data: Any = output.data
    if "text/html" in data:
        return f'<div class="output">{data["text/html"]}</div>'
    if "image/png" in data:
        width = output.metadata.get("image/png", {}).get("width")
        if width:
            sized = f' width="{int(width)}"'
        else:
            sized = ""
        source = f"data:image/png;base64,{''.join(data['image/png'].split())}"
        if chunk.caption:
            caption = f"<figcaption>{html.escape(chunk.caption)}</figcaption>"
        else:
            caption = ""
        return (
            f'<figure><img src="{source}"'
            f' alt="{html.escape(chunk.alternative)}"{sized}>{caption}</figure>'
        )
    if "text/markdown" in data:
        return _render_markdown(data["text/markdown"], escape=True)
    return _render_text(str(data.get("text/plain", "")))


# ---------------------------------------------------------------- a notebook that runs


def _run_chunks(vignette: Vignette, place: Surroundings, *, with_r: bool) -> dict[int, list[Any]]:
    """Run every chunk in order, R's by rpy2's magic or not at all; the outputs are nbformat's."""
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
    from nbformat.v4 import new_code_cell, new_notebook

    notebook = new_notebook()
    notebook.cells = [new_code_cell(_PREPARE + (_PREPARE_R if with_r else ""))]
    owner: dict[int, Chunk] = {}
    for chunk in vignette.chunks:
        if chunk.language == "r" and not with_r:
            continue
        size = chunk.figure_size
        if size is not None:
            notebook.cells.append(new_code_cell(_RESIZE.format(*size)))
        if chunk.language == "r":
            source = _R_CELL.format(json.dumps(chunk.code))
        else:
            source = chunk.code
        owner[len(notebook.cells)] = chunk
        notebook.cells.append(new_code_cell(source))
        if size is not None:
            notebook.cells.append(new_code_cell(_RESIZE.format(7, 5)))

    class Client(NotebookClient):  # type: ignore[misc]  # untyped base
        """It owns its kernel, and so ends it."""

        def create_kernel_manager(self) -> Any:
            """A kernel of this interpreter."""
            self.km = _make_kernel(place)
            return self.km

    resources = {"metadata": {"path": str(place.folder)}}
    inline = "module://matplotlib_inline.backend_inline"
    variables = {
        **place.variables,
        "MPLBACKEND": inline,
        "IPYTHONDIR": str(place.aside / "ipython"),
    }
    client = Client(notebook, resources=resources, timeout=None, startup_timeout=120)
    try:
        asyncio.run(client.async_execute(env=variables))
    except CellExecutionError as problem:
        raise VignetteError(_failure_of_chunk(vignette, notebook, owner)) from problem
    except (DeadKernelError, CellTimeoutError, RuntimeError) as problem:
        last = max(
            (cell_index for cell_index, cell in enumerate(notebook.cells) if cell.outputs),
            default=0,
        )
        place_words = f"after cell {last} of {len(notebook.cells)}"
        raise VignetteError(
            f"vignette {vignette.name}: the kernel ended {place_words}: {problem}"
        ) from problem
    run_chunks: dict[int, list[Any]] = {}
    for position, chunk in owner.items():
        run_chunks[chunk.number] = list(notebook.cells[position].outputs)
    return run_chunks


def _make_kernel(place: Surroundings) -> Any:
    """A manager for a kernel of this interpreter, whose specification lies aside."""
    from jupyter_client.kernelspec import KernelSpecManager
    from jupyter_client.manager import AsyncKernelManager

    folder = place.aside / "kernels" / "fairstats"
    folder.mkdir(parents=True)
    argv = [
        sys.executable,
        "-m",
        "ipykernel_launcher",
        "-f",
        "{connection_file}",
        "--log-level=ERROR",
    ]
    specification = {"argv": argv, "display_name": "fairstats", "language": "python"}
    (folder / "kernel.json").write_text(json.dumps(specification), encoding="utf-8")
    connection = str(place.aside / "k.json")
    kernels = KernelSpecManager(kernel_dirs=[str(folder.parent)], ensure_native_kernel=False)
    manager = AsyncKernelManager(
        kernel_name="fairstats",
        kernel_spec_manager=kernels,
        connection_file=connection,
    )
    # the system's limit for a socket's name is 104 or 108
    if os.name == "posix" and len(connection) < 80:
        manager.transport = "ipc"
        manager.ip = str(place.aside / "k")
    return manager


def _failure_of_chunk(vignette: Vignette, notebook: Any, owner: dict[int, Chunk]) -> str:
    """Which chunk failed, and why."""
    for position, cell in enumerate(notebook.cells):
        for output in cell.outputs:
            if output.output_type == "error":
                chunk = owner.get(position)
                if chunk:
                    place_words = f"chunk {chunk.name}"
                else:
                    place_words = "before the first chunk"
                message = _R_SAID.search(output.evalue)
                if message:
                    cause = f"R: {ast.literal_eval(message[1])}"
                else:
                    cause = f"{output.ename}: {output.evalue}"
                return f"vignette {vignette.name}, {place_words}: {cause.strip()}"
    return f"vignette {vignette.name}: a chunk failed"
