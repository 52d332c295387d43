"""The Python renderer: nbclient runs a vignette's notebook, nbconvert makes a page of it."""

from __future__ import annotations

import ast
import asyncio
import copy
import html
import json
import os
import re
from collections.abc import Iterable, Mapping
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from fairstats.ground.errors import VignetteError
from fairstats.report.vignettes.page import finish, footnote, to_mathml
from fairstats.report.vignettes.place import Place, temporary_place
from fairstats.report.vignettes.record import Recorded, chunk_keys, read_recorded
from fairstats.report.vignettes.source import Chunk, Vignette, check_installed

_PREPARE = """\
get_ipython().run_line_magic("matplotlib", "inline")
__import__("matplotlib_inline").backend_inline.set_matplotlib_formats("retina")
"""
#: R starts through fairstats' own door, without the user's profile; then rpy2's magic finds it
#: running.
_PREPARE_R = """\
__import__("fairstats.ground.rsession").ground.rsession.call("base::options", width=80)
get_ipython().run_line_magic("load_ext", "rpy2.ipython")
"""
_PYTHON_CELL = '__import__("matplotlib").rcParams["figure.figsize"] = ({}, {})\n{}'
#: Every visible value is printed, as at R's prompt and by knitr, not only the last.
_R_CELL = (
    "%%R\nsource(exprs = parse(text = {}, keep.source = FALSE), print.eval = TRUE, echo = FALSE)\n"
)
_RICHEST_FIRST = ["text/html", "image/png", "text/markdown", "text/plain"]
#: How rpy2's magic hands over R's message: as Python writes text.
_R_ERROR = re.compile(r"R error message: ('.*'|\".*\")", re.DOTALL)


def render_by_python(
    vignette: Vignette,
    *,
    fast: bool,
    library: Path | None,
    r_version: str,
    params: Mapping[str, str],
) -> tuple[str, dict[int, str]]:
    """Run a vignette and make its page.

    Beside it, what each R chunk printed, by the chunk's number.

    `library` is an R library with the R package fairstats; where R is missing it is None,
    `r_version` is empty, and recorded output is shown. A `VignetteError` names the chunk that
    fails.
    """
    check_installed("nbconvert", "nbclient", "ipykernel", "latex2mathml", "matplotlib")
    recorded = read_recorded(vignette.path) if library is None else Recorded()
    with temporary_place(fast=fast, library=library, params=vignette.parameters(params)) as place:
        notebook = _run_notebook(vignette, place, with_r=library is not None)
    keys = chunk_keys(vignette)
    printed = {}
    for chunk, cell in _cells_of_chunks(vignette, notebook):
        if chunk.language != "r":
            continue
        cell.metadata["magics_language"] = "r"
        if library is None:
            cell.outputs = _outputs_of_record(recorded, keys[chunk.number])
        else:
            printed[chunk.number] = printed_by_r(cell.outputs)
            cell.outputs = [_stream(printed[chunk.number])]
    page = finish(
        _page_of(notebook, vignette), vignette.name, footnote("python", r_version, fast=fast)
    )
    return page, printed


def printed_by_r(outputs: Iterable[Any]) -> str:
    """What an R chunk printed, its messages included."""
    texts = []
    for output in outputs:
        if output.output_type == "stream":
            texts.append(output.text)
        else:
            texts.append(output.get("data", {}).get("text/plain", ""))
    return "".join(texts).strip("\n")


def _outputs_of_record(recorded: Recorded, key: str) -> list[Any]:
    """What a cell shows in the place of what R would print."""
    from nbformat.v4 import new_output

    text = recorded.outputs.get(key)
    if text is None:
        note = (
            '<p class="unrecorded">R is not available here, and there is no recorded output for'
            " this version.</p>"
        )
        return [new_output("display_data", {"text/html": note})]
    by = html.escape(recorded.by)
    note = f'<p class="recorded">R is not available here; recorded output ({by}):</p>'
    return [new_output("display_data", {"text/html": note}), _stream(text)]


def _stream(text: str) -> Any:
    from nbformat.v4 import new_output

    return new_output("stream", name="stdout", text=text)


def _cells_of_chunks(vignette: Vignette, notebook: Any) -> Iterable[tuple[Chunk, Any]]:
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return zip(vignette.chunks, cells[-len(vignette.chunks) :], strict=True)


# ---------------------------------------------------------------- nbclient runs it


def _run_notebook(vignette: Vignette, place: Place, *, with_r: bool) -> Any:
    """The vignette's notebook with outputs; R's chunks run by rpy2's magic or not at all."""
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
    from nbformat.v4 import new_code_cell

    notebook = copy.deepcopy(vignette.notebook)
    for chunk, cell in _cells_of_chunks(vignette, notebook):
        if chunk.language == "python":
            size = (chunk.options.get("fig.width", 7), chunk.options.get("fig.height", 5))
            cell.source = _PYTHON_CELL.format(*size, chunk.code)
        else:
            cell.source = _R_CELL.format(json.dumps(chunk.code))
            if not with_r:
                cell.metadata.setdefault("tags", []).append("skip-execution")
    prepare = _PREPARE + (_PREPARE_R if with_r else "")
    notebook.cells.insert(0, new_code_cell(prepare, metadata={"tags": ["remove_cell"]}))
    client = NotebookClient(
        notebook,
        km=_make_kernel(place),
        resources={"metadata": {"path": str(place.folder)}},
        timeout=None,
        startup_timeout=120,
    )
    try:
        asyncio.run(client.async_execute(env=place.variables, cleanup_kc=True))
    except CellExecutionError as problem:
        raise VignetteError(_failure_of_chunk(vignette, notebook)) from problem
    except (DeadKernelError, CellTimeoutError, RuntimeError) as problem:
        n_run = sum(bool(cell.get("execution_count")) for cell in notebook.cells)
        raise VignetteError(
            f"vignette {vignette.name}: the kernel ended after cell {n_run} of"
            f" {len(vignette.chunks) + 1}: {problem}"
        ) from problem
    for chunk, cell in _cells_of_chunks(vignette, notebook):
        cell.source = chunk.code
    return notebook


def _make_kernel(place: Place) -> Any:
    """A manager for a kernel of this interpreter, whatever kernels are installed."""
    from jupyter_client.kernelspec import KernelSpecManager
    from jupyter_client.manager import AsyncKernelManager

    connection = str(place.aside / "k.json")
    manager = AsyncKernelManager(
        kernel_name="python3",
        kernel_spec_manager=KernelSpecManager(kernel_dirs=[]),
        connection_file=connection,
    )
    # the system's limit for a socket's name is 104 or 108
    if os.name == "posix" and len(connection) < 80:
        manager.transport = "ipc"
        manager.ip = str(place.aside / "k")
    return manager


def _failure_of_chunk(vignette: Vignette, notebook: Any) -> str:
    """Which chunk failed, and why."""
    for chunk, cell in _cells_of_chunks(vignette, notebook):
        for output in cell.outputs:
            if output.output_type == "error":
                message = _R_ERROR.search(output.evalue)
                if message:
                    cause = f"R: {ast.literal_eval(message[1])}"
                else:
                    cause = f"{output.ename}: {output.evalue}"
                return f"vignette {vignette.name}, chunk {chunk.name}: {cause.strip()}"
    causes = [output.get("evalue", "") for output in notebook.cells[0].outputs]
    return f"vignette {vignette.name}, before the first chunk: {' '.join(causes)}"


# ---------------------------------------------------------------- nbconvert shows it


def _page_of(notebook: Any, vignette: Vignette) -> str:
    """The notebook as a page by the template `page.html.j2`."""
    from nbconvert.exporters.html import HTMLExporter

    # not from pygments.formatters, which loads its names lazily: two threads may meet there
    from pygments.formatters.html import HtmlFormatter

    css = files("fairstats.report.vignettes").joinpath("vignette.css").read_text(encoding="utf-8")
    style = f"{HtmlFormatter(style='xcode').get_style_defs('.highlight')}\n{css}"
    folder = str(vignette.path.parent)

    def render_markdown(text: str) -> str:
        return _render_markdown(text, folder)

    with as_file(files("fairstats.report.vignettes")) as templates:
        exporter = HTMLExporter(
            template_name="base",
            template_file=str(templates / "page.html.j2"),
            filters={"markdown2html": render_markdown},
            config={
                "NbConvertBase": {"display_data_priority": _RICHEST_FIRST},
                "TagRemovePreprocessor": {
                    "enabled": True,
                    "remove_cell_tags": {"remove_cell"},
                    "remove_input_tags": {"remove_input"},
                },
            },
        )
        resources = {"title": vignette.title, "style": style}
        page, _ = exporter.from_notebook_node(notebook, resources=resources)
    return str(page)


def _render_markdown(text: str, folder: str) -> str:
    """HTML of Markdown, with formulas as MathML and the pictures of a folder within it."""
    from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

    class Renderer(IPythonRenderer):  # type: ignore[misc]  # untyped base
        def inline_math(self, body: str) -> str:
            """A formula within a line."""
            return to_mathml(body)

        def block_math(self, body: str) -> str:
            """A formula on a line of its own."""
            return to_mathml(body, display=True)

    renderer = Renderer(escape=False, embed_images=True, path=folder, exclude_anchor_links=True)
    return str(MarkdownWithMath(renderer=renderer).render(text))
