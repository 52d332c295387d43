"""A vignette as a notebook that runs in a kernel of the running interpreter."""

from __future__ import annotations

import ast
import asyncio
import json
import os
import re
import sys
from dataclasses import dataclass
from typing import Any

from fairstats.ground.errors import MissingDependencyError, VignetteError
from fairstats.report.vignettes.parse import Chunk, Vignette
from fairstats.report.vignettes.surroundings import Surroundings

__all__ = ["Ran", "require_notebook_tools", "run_chunks"]

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


@dataclass(frozen=True)
class Ran:
    """A vignette that has run.

    Attributes
    ----------
    prose : dict of int to str
        Number of chunks before it → Markdown; consecutive pieces are joined.
    outputs : dict of int to list
        Number of a chunk → its outputs as nbformat has them.
    """

    prose: dict[int, str]
    outputs: dict[int, list[Any]]


def require_notebook_tools() -> None:
    """Raise a `MissingDependencyError` that names the first missing package."""
    from importlib.util import find_spec

    for package in ("jupytext", "nbconvert", "nbclient", "ipykernel", "latex2mathml", "matplotlib"):
        if find_spec(package) is None:
            raise MissingDependencyError(
                package, extra="docs", purpose="Building vignettes by Python", alternative="--renderer r"
            )


def run_chunks(vignette: Vignette, place: Surroundings, *, with_r: bool) -> Ran:
    """Run every chunk in order.

    Parameters
    ----------
    vignette : Vignette
        What to run.
    place : Surroundings
        Where.
    with_r : bool
        Whether R chunks are run by rpy2's magic; otherwise they have no outputs.

    Raises
    ------
    VignetteError
        If a chunk fails; names it and the cause.
    """
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
    from nbformat.v4 import new_code_cell, new_notebook

    prose, cells = _read(vignette)
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

    where = {"metadata": {"path": str(place.folder)}}
    client = Client(notebook, resources=where, timeout=None, startup_timeout=120)
    try:
        asyncio.run(client.async_execute(env=_kernel_variables(place)))
    except CellExecutionError as problem:
        raise VignetteError(_failure(vignette, notebook, owner)) from problem
    except (DeadKernelError, CellTimeoutError, RuntimeError) as problem:
        last = max((i for i, cell in enumerate(notebook.cells) if cell.outputs), default=0)
        raise VignetteError(
            f"vignette {vignette.name}: the kernel ended after cell {last} of {len(notebook.cells)}: "
            f"{problem}"
        ) from problem
    return Ran(prose, {chunk.number: list(notebook.cells[at].outputs) for at, chunk in owner.items()})


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
        raise VignetteError(
            f"vignette {vignette.name}: jupytext sees {len(cells)} chunks, fairstats {len(vignette.chunks)}. "
            "To fix: give each chunk a line of ```{python} or ```{r} and an end, with empty lines around."
        )
    return prose, cells


def _kernel(place: Surroundings) -> Any:
    """A manager for a kernel of this interpreter, whose specification lies aside."""
    from jupyter_client.kernelspec import KernelSpecManager
    from jupyter_client.manager import AsyncKernelManager

    folder = place.aside / "kernels" / "fairstats"
    folder.mkdir(parents=True)
    specification = {
        "argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}", "--log-level=ERROR"],
        "display_name": "fairstats",
        "language": "python",
    }
    (folder / "kernel.json").write_text(json.dumps(specification), encoding="utf-8")
    connection = str(place.aside / "k.json")
    manager = AsyncKernelManager(
        kernel_name="fairstats",
        kernel_spec_manager=KernelSpecManager(kernel_dirs=[str(folder.parent)], ensure_native_kernel=False),
        connection_file=connection,
    )
    if (
        os.name == "posix" and len(connection) < 80
    ):  # the system's limit for the name of a socket is 104 or 108
        manager.transport = "ipc"
        manager.ip = str(place.aside / "k")
    return manager


def _kernel_variables(place: Surroundings) -> dict[str, str]:
    inline = "module://matplotlib_inline.backend_inline"
    return {**place.variables, "MPLBACKEND": inline, "IPYTHONDIR": str(place.aside / "ipython")}


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
