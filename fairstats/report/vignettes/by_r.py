"""The R renderer: rmarkdown with knitr, whose Python engine is the running interpreter through reticulate."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.resources import as_file, files
from pathlib import Path

from fairstats.ground.errors import VignetteError
from fairstats.report.vignettes.page import finish, footnote
from fairstats.report.vignettes.parse import Vignette
from fairstats.report.vignettes.surroundings import surroundings

__all__ = ["lacking_for_r", "render_by_r"]

_PACKAGES = ("rmarkdown", "knitr", "reticulate")
_QUITTING = re.compile(r"Quitting from lines? (?P<line>\d+)")
_LIBPYTHON = "import sysconfig; print(sysconfig.get_config_var('Py_ENABLE_SHARED'))"


def lacking_for_r() -> str | None:
    """What the R renderer lacks here and how to get it; None where nothing."""
    program = shutil.which("Rscript")
    if program is None:
        return "R is not on PATH. To fix: install R (Debian/Ubuntu: apt-get install r-base-core)."
    names = ", ".join(f'"{name}"' for name in _PACKAGES)
    ask = f"p <- c({names}); cat(p[!vapply(p, requireNamespace, NA, quietly = TRUE)])"
    done = subprocess.run(  # noqa: S603 - R itself, code of ours
        [program, "--vanilla", "-e", ask],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
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
    return _python_is_too_new(program) if sys.version_info >= (3, 12) else None


def _python_is_too_new(program: str) -> str | None:
    """Whether reticulate cannot read the running Python: old versions call modules that 3.12 removed."""
    done = subprocess.run(  # noqa: S603 - R itself, code of ours
        [program, "--vanilla", "-e", "invisible(reticulate::py_config())"],
        env={**os.environ, "RETICULATE_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    if done.returncode == 0:
        return None
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return (
        f"R's package reticulate cannot use Python {version}. To fix: install a newer reticulate, run "
        "fairstats with Python 3.11, or take --renderer python."
    )


def render_by_r(vignette: Vignette, *, fast: bool, library: Path, r_version: str) -> str:
    """Render a vignette by R Markdown and return its page.

    Parameters
    ----------
    vignette : Vignette
        What to run.
    fast : bool
        Whether with fewer draws.
    library : Path
        R library with the R package fairstats.
    r_version : str
        For the page's last line.

    Raises
    ------
    VignetteError
        If a chunk fails (names it and the cause), or if something is missing.
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
            done = subprocess.run(  # noqa: S603 - R itself, a script of ours
                ["Rscript", "--vanilla", str(script), str(source), str(written), str(css)],  # noqa: S607
                cwd=place.folder,
                env=variables,
                capture_output=True,
                text=True,
                check=False,
                stdin=subprocess.DEVNULL,
            )
        if done.returncode or not written.is_file():
            raise VignetteError(_failure(vignette, done.stderr or done.stdout))
        page = written.read_text(encoding="utf-8")
    return finish(page, vignette.name, footnote("r", r_version, fast=fast))


def _failure(vignette: Vignette, said: str) -> str:
    """Which chunk failed, and why, from what knitr says."""
    where = ""
    quitting = _QUITTING.search(said)
    if quitting:
        line = int(quitting["line"])
        before = [chunk for chunk in vignette.chunks if chunk.line <= line]
        where = f", chunk {before[-1].name}" if before else f", line {line}"
    match = re.search(r"^Error(?: in [^\n]*?:| ?:)?\s*(?P<cause>.*?)(?=^(?:Calls:|Execution halted)|\Z)",
                      said, re.MULTILINE | re.DOTALL)  # fmt: skip
    cause = match["cause"].strip() if match and match["cause"].strip() else said.strip()[-600:]
    shared = _shared_library_hint(said)
    return f"vignette {vignette.name}{where}: {cause}{shared}"


def _shared_library_hint(said: str) -> str:
    if "shared librar" not in said and "libpython" not in said:
        return ""
    return (
        f" reticulate needs a Python with a shared library; {sys.executable} has none that it finds. "
        "To fix: a Python built with --enable-shared, or the distribution's (Debian/Ubuntu: libpython3-dev)."
    )
