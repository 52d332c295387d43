"""The R renderer: rmarkdown with knitr, whose Python engine is the running interpreter through reticulate."""

from __future__ import annotations

import os
import re
import shutil
import sys
from importlib.resources import as_file, files
from pathlib import Path

from fairstats.ground.errors import VignetteError
from fairstats.report.vignettes.page import finish, footnote
from fairstats.report.vignettes.source import Vignette
from fairstats.report.vignettes.surroundings import run_r, surroundings

_PACKAGES = ("rmarkdown", "knitr", "reticulate")
_QUITTING = re.compile(r"Quitting from lines? (?P<line>\d+)")
_CAUSE = re.compile(
    r"^Error(?: in [^\n]*?:| ?:)?\s*(?P<cause>.*?)(?=^(?:Calls:|Execution halted)|\Z)",
    re.MULTILINE | re.DOTALL,
)


def lacking_for_r() -> str | None:
    """What the R renderer lacks here and how to get it; None where nothing."""
    names = ", ".join(f'"{name}"' for name in _PACKAGES)
    ask = f"p <- c({names}); cat(p[!vapply(p, requireNamespace, NA, quietly = TRUE)])"
    try:
        done = run_r(["--vanilla", "-e", ask])
    except VignetteError as problem:
        return str(problem)
    if done.returncode:
        return f"Rscript does not run: {done.stderr.strip()[-300:]}"
    missing = done.stdout.split()
    if missing:
        debian = " ".join(f"r-cran-{name}" for name in missing)
        quoted = ", ".join(f'"{name}"' for name in missing)
        return (
            f"R lacks the packages {', '.join(missing)}. To fix: apt-get install {debian} (Debian/Ubuntu), "
            f"or in R install.packages(c({quoted}))."
        )
    if shutil.which("pandoc") is None:
        return "pandoc is not on PATH. To fix: apt-get install pandoc (Debian/Ubuntu), or pandoc.org."
    return _python_is_too_new() if sys.version_info >= (3, 12) else None


def _python_is_too_new() -> str | None:
    """Whether reticulate cannot read the running Python: old versions call modules that 3.12 removed."""
    variables = {**os.environ, "RETICULATE_PYTHON": sys.executable}
    if run_r(["--vanilla", "-e", "invisible(reticulate::py_config())"], env=variables).returncode == 0:
        return None
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return (
        f"R's package reticulate cannot use Python {version}. To fix: install a newer reticulate, run "
        "fairstats with Python 3.11, or take --renderer python."
    )


def render_by_r(vignette: Vignette, *, fast: bool, library: Path, r_version: str) -> str:
    """Render a vignette by R Markdown and return its page; a `VignetteError` names the chunk that fails.

    `library` is the R library with the R package fairstats, `r_version` is for the page's last line.
    """
    lacking = lacking_for_r()
    if lacking is not None:
        raise VignetteError(f"the R renderer cannot be used: {lacking}")
    ours = files("fairstats.report.vignettes")
    with surroundings(fast=fast, library=library) as place:
        source = place.folder / f"{vignette.name}.Rmd"  # reticulate wants the input in the working directory
        source.write_text(vignette.text, encoding="utf-8")
        pictures = vignette.path.parent / "images"
        if pictures.is_dir():
            (place.folder / "images").symlink_to(pictures.resolve())
        written = place.aside / "page.html"
        variables = {**place.variables, "RETICULATE_PYTHON": sys.executable, "MPLBACKEND": "Agg"}
        with as_file(ours / "render.R") as script, as_file(ours / "vignette.css") as css:
            arguments = ["--vanilla", *map(str, (script, source, written, css))]
            done = run_r(arguments, cwd=place.folder, env=variables)
        if done.returncode or not written.is_file():
            raise VignetteError(_failure(vignette, done.stderr or done.stdout))
        page = written.read_text(encoding="utf-8")
    return finish(page, vignette.name, footnote("r", r_version, fast=fast))


def _failure(vignette: Vignette, said: str) -> str:
    """Which chunk failed, and why, from what knitr says."""
    where = hint = ""
    quitting = _QUITTING.search(said)
    if quitting:
        line = int(quitting["line"])
        before = [chunk for chunk in vignette.chunks if chunk.line <= line]
        where = f", chunk {before[-1].name}" if before else f", line {line}"
    match = _CAUSE.search(said)
    cause = match["cause"].strip() if match and match["cause"].strip() else said.strip()[-600:]
    if "shared librar" in said or "libpython" in said:
        hint = (
            f" reticulate needs a Python with a shared library; {sys.executable} has none that it finds. To "
            "fix: a Python built with --enable-shared, or the distribution's (Debian/Ubuntu: libpython3-dev)."
        )
    return f"vignette {vignette.name}{where}: {cause}{hint}"
