"""The R renderer: rmarkdown and knitr, with Python chunks through reticulate."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Mapping
from importlib.resources import as_file, files
from pathlib import Path

from fairstats.ground.errors import VignetteError
from fairstats.report.vignettes.page import finish, footnote
from fairstats.report.vignettes.place import run_r, temporary_place
from fairstats.report.vignettes.source import Vignette, check_installed

_LACKING = """
packages <- c("rmarkdown", "knitr", "reticulate")
cat(packages[!vapply(packages, requireNamespace, NA, quietly = TRUE)])
"""
_QUITTING = re.compile(r"Quitting from lines? (?P<line>\d+)")


def lacking_for_r() -> str | None:
    """What the R renderer lacks here and how to get it; None where nothing."""
    try:
        lacking = run_r(["--vanilla", "-e", _LACKING]).stdout.split()
    except VignetteError as problem:
        return str(problem)
    if lacking:
        debian = " ".join(f"r-cran-{name}" for name in lacking)
        return (
            f"R lacks the packages {', '.join(lacking)}. To fix: apt-get install {debian}"
            " (Debian/Ubuntu), or install.packages() in R."
        )
    if shutil.which("pandoc") is None:
        return (
            "pandoc is not on PATH. To fix: apt-get install pandoc (Debian/Ubuntu), or pandoc.org."
        )
    variables = os.environ | {"RETICULATE_PYTHON": sys.executable}
    finished = run_r(["--vanilla", "-e", "invisible(reticulate::py_config())"], env=variables)
    if finished.returncode == 0:
        return None
    return (
        f"R's package reticulate cannot use {sys.executable}: {finished.stderr.strip()[-300:]} To"
        " fix: a newer reticulate (1.28 cannot use Python 3.12), a Python with a shared library"
        " (Debian/Ubuntu: libpython3-dev), or --renderer python."
    )


def render_by_r(
    vignette: Vignette,
    *,
    fast: bool,
    library: Path,
    r_version: str,
    params: Mapping[str, str],
) -> str:
    """Render a vignette by R Markdown and return its page.

    A `VignetteError` names the chunk that fails.

    `library` is the R library with the R package fairstats, `r_version` is for the page's last
    line.
    """
    check_installed("bs4", "ipykernel", "matplotlib")
    resources = files("fairstats.report.vignettes")
    params = vignette.parameters(params)
    with temporary_place(fast=fast, library=library, params=params) as place:
        # reticulate wants the input in the working directory
        source = place.folder / f"{vignette.name}.Rmd"
        source.write_text(vignette.text, encoding="utf-8")
        pictures = vignette.path.parent / "images"
        if pictures.is_dir():
            (place.folder / "images").symlink_to(pictures.resolve())
        written = place.aside / "page.html"
        variables = place.variables | {"RETICULATE_PYTHON": sys.executable}
        with as_file(resources / "render.R") as script, as_file(resources / "vignette.css") as css:
            arguments = ["--vanilla", *map(str, (script, source, written, css))]
            finished = run_r(arguments, cwd=place.folder, env=variables)
        if finished.returncode or not written.is_file():
            raise VignetteError(_failure_by_r(vignette, finished.stderr or finished.stdout))
        page = written.read_text(encoding="utf-8")
    return finish(page, vignette.name, footnote("r", r_version, fast=fast))


def _failure_by_r(vignette: Vignette, message: str) -> str:
    """Which chunk failed, and why, from what knitr says."""
    place = ""
    quitting = _QUITTING.search(message)
    if quitting:
        for chunk in vignette.chunks:
            if chunk.line <= int(quitting["line"]):
                place = f", chunk {chunk.name}"
    return f"vignette {vignette.name}{place}: {message.strip()[-600:]}"
