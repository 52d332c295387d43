"""Build vignettes, several at a time, by Python or by R Markdown."""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from fairstats._version import __version__
from fairstats.ground.checks import check_choice, check_whole
from fairstats.ground.errors import InputError, VignetteError
from fairstats.ground.rprobe import probe_r
from fairstats.ground.writing import Inputs, write_file
from fairstats.report.pages import check_convertible, convert
from fairstats.report.vignettes.by_python import render_by_python
from fairstats.report.vignettes.page import finish, footnote
from fairstats.report.vignettes.source import (
    Vignette,
    find_vignette,
    r_library,
    read_recorded,
    read_vignette,
    run_r,
    surroundings,
    vignette_names,
    write_recorded,
)

_PACKAGES = ("rmarkdown", "knitr", "reticulate")
_QUITTING = re.compile(r"Quitting from lines? (?P<line>\d+)")
_CAUSE = re.compile(
    r"^Error(?: in [^\n]*?:| ?:)?\s*(?P<cause>.*?)(?=^(?:Calls:|Execution halted)|\Z)",
    re.MULTILINE | re.DOTALL,
)


def lacking_for_r() -> str | None:
    """What the R renderer lacks here and how to get it; None where nothing."""
    question = f"p <- c({_quote_names(_PACKAGES)}); cat(p[!vapply(p, requireNamespace, NA, quietly = TRUE)])"
    try:
        finished = run_r(["--vanilla", "-e", question])
    except VignetteError as problem:
        return str(problem)
    if finished.returncode:
        return f"Rscript does not run: {finished.stderr.strip()[-300:]}"
    if missing := finished.stdout.split():
        debian = " ".join(f"r-cran-{name}" for name in missing)
        return (
            f"R lacks the packages {', '.join(missing)}. To fix: apt-get install {debian}"
            f" (Debian/Ubuntu), or in R install.packages(c({_quote_names(missing)}))."
        )
    if shutil.which("pandoc") is None:
        return (
            "pandoc is not on PATH. To fix: apt-get install pandoc (Debian/Ubuntu), or pandoc.org."
        )
    variables = {**os.environ, "RETICULATE_PYTHON": sys.executable}
    # old versions of reticulate call modules that Python 3.12 removed
    new = sys.version_info >= (3, 12)
    read = ["--vanilla", "-e", "invisible(reticulate::py_config())"]
    if not new or run_r(read, env=variables).returncode == 0:
        return None
    cure = "install a newer reticulate, run fairstats with Python 3.11, or take --renderer python."
    return (
        f"R's package reticulate cannot use Python {'.'.join(map(str, sys.version_info[:2]))}. To"
        f" fix: {cure}"
    )


def _quote_names(names: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


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
    resources = files("fairstats.report.vignettes")
    with surroundings(fast=fast, library=library, params=vignette.parameters(params)) as place:
        # reticulate wants the input in the working directory
        source = place.folder / f"{vignette.name}.Rmd"
        source.write_text(vignette.text, encoding="utf-8")
        pictures = vignette.path.parent / "images"
        if pictures.is_dir():
            (place.folder / "images").symlink_to(pictures.resolve())
        written = place.aside / "page.html"
        variables = {**place.variables, "RETICULATE_PYTHON": sys.executable, "MPLBACKEND": "Agg"}
        with as_file(resources / "render.R") as script, as_file(resources / "vignette.css") as css:
            arguments = ["--vanilla", *map(str, (script, source, written, css))]
            finished = run_r(arguments, cwd=place.folder, env=variables)
        if finished.returncode or not written.is_file():
            raise VignetteError(_failure_by_r(vignette, finished.stderr or finished.stdout))
        page = written.read_text(encoding="utf-8")
    return finish(page, vignette.name, footnote("r", r_version, fast=fast))


def _failure_by_r(vignette: Vignette, message: str) -> str:
    """Which chunk failed, and why, from what knitr says."""
    place_words = hint = ""
    if quitting := _QUITTING.search(message):
        line = int(quitting["line"])
        before = []
        for chunk in vignette.chunks:
            if chunk.line <= line:
                before.append(chunk)
        if before:
            place_words = f", chunk {before[-1].name}"
        else:
            place_words = f", line {line}"
    match = _CAUSE.search(message)
    if match and match["cause"].strip():
        cause = match["cause"].strip()
    else:
        cause = message.strip()[-600:]
    if "shared librar" in message or "libpython" in message:
        hint = (
            f" reticulate needs a Python with a shared library; {sys.executable} has none that it"
            " finds. To fix: a Python built with --enable-shared, or the distribution's"
            " (Debian/Ubuntu: libpython3-dev)."
        )
    return f"vignette {vignette.name}{place_words}: {cause}{hint}"


@dataclass(frozen=True)
class Built:
    """One file that was written: the vignette's name, the file, and how many seconds it took."""

    name: str
    path: Path
    seconds: float


def build_vignettes(
    names: Sequence[str] = (),
    *,
    out: Path,
    renderer: str = "python",
    fast: bool = False,
    jobs: int = 2,
    tell: Callable[[Built], None] | None = None,
    params: Mapping[str, str] | None = None,
    to: str = "html",
) -> list[Built]:
    """Build vignettes as self-contained HTML files.

    `names`: names, parts of names or paths; empty: all; `out`: folder for ``NAME.html``; made where
    it is missing; `renderer`, {"python", "r"}: a notebook's kernel and nbconvert, or R Markdown; `fast`: fewer
    draws: chunks see ``FAIRSTATS_VIGNETTE_FAST=1``; `jobs`: how many run at a time; `tell`: called
    with each as it is done; `params`: of the head, in place of what stands there; `to`, {"html",
    "docx", "pdf"}. Returns them in the order of `names`. Raises VignetteError for the first that
    fails (those that run are finished), and InputError for a name that is none.
    """
    check_choice("renderer", renderer, ("python", "r"))
    check_whole("jobs", jobs, low=1)
    check_choice("to", to, ("html", "docx", "pdf"))
    vignettes = _vignettes_named(names)
    given_files = []
    for value in (params or {}).values():
        if Path(value).is_file():
            given_files.append(value)
    inputs = Inputs([*(vignette.path for vignette in vignettes), *given_files])

    def target_of(vignette: Vignette) -> Path:
        return out / f"{vignette.name}.{to}"

    _check_targets([target_of(vignette) for vignette in vignettes], inputs)
    if to != "html":
        check_convertible(f".{to}", "to")
    if renderer == "r" and (lacking := lacking_for_r()):
        raise VignetteError(f"the R renderer cannot be used: {lacking}")
    with _r_at_hand(required=renderer == "r") as (library, r_version):

        def write(vignette: Vignette) -> Path:
            options: dict[str, Any] = {"fast": fast, "r_version": r_version, "params": params or {}}
            if renderer == "r" and library is not None:
                page = render_by_r(vignette, library=library, **options)
            else:
                page, _ = render_by_python(vignette, library=library, **options)
            content: str | bytes = page
            if to != "html":
                content = convert(page, f".{to}")
            out.mkdir(parents=True, exist_ok=True)
            return write_file(target_of(vignette), content, argument="out", inputs=inputs)

        return _in_order(write, vignettes, jobs, tell)


def _check_targets(targets: Sequence[Path], inputs: Inputs) -> None:
    """Raise unless every page has a place of its own that is no input."""
    for target in targets:
        if targets.count(target) > 1:
            got = f"two vignettes that would become {str(target)!r}"
            raise InputError(
                "names",
                got=got,
                allowed="vignettes of different names",
                cure="build one after the other",
            )
        if inputs.hold(target):
            got = f"{str(target)!r}, which is read here"
            raise InputError(
                "out",
                got=got,
                allowed="a folder without the inputs",
                cure="name another folder",
            )


def record_vignettes(
    names: Sequence[str] = (), *, jobs: int = 2, tell: Callable[[Built], None] | None = None
) -> list[Built]:
    """Run vignettes in full and write what their R chunks print beside them, for machines without
    R.

    The arguments are those of `build_vignettes`. A `VignetteError` where R is missing or a chunk
    fails.
    """
    vignettes = _vignettes_named(names)
    for vignette in vignettes:
        read_recorded(vignette.path)  # what is there must be a record: it is replaced at the end
    with _r_at_hand(required=True) as (library, r_version):
        if not probe_r().works:
            raise VignetteError(f"R chunks cannot be run from Python: {probe_r().cause}")
        recorded_by = f"R {r_version}, fairstats {__version__}"

        def write(vignette: Vignette) -> Path:
            _, printed = render_by_python(
                vignette,
                fast=False,
                library=library,
                r_version=r_version,
            )
            return write_recorded(vignette, recorded_by, printed)

        return _in_order(write, vignettes, jobs, tell)


def _vignettes_named(names: Sequence[str]) -> list[Vignette]:
    """The vignettes that are meant, all read before the first is run."""
    chosen = names or vignette_names()
    if not chosen:
        raise VignetteError("there are no vignettes to build.")
    return [read_vignette(find_vignette(name)) for name in chosen]


@contextmanager
def _r_at_hand(*, required: bool) -> Iterator[tuple[Path | None, str]]:
    """A library with the R package and R's version.

    (None, "") where R chunks cannot be run from Python.
    """
    if not required and not probe_r().works:
        yield None, ""
        return
    with r_library() as library:
        yield library, run_r(["--vanilla", "-e", "cat(as.character(getRversion()))"]).stdout.strip()


def _in_order(
    write: Callable[[Vignette], Path],
    vignettes: Sequence[Vignette],
    jobs: int,
    tell: Callable[[Built], None] | None,
) -> list[Built]:
    """Run some at a time; at the first failure those that wait are not begun."""

    def timed(vignette: Vignette) -> Built:
        started = time.perf_counter()
        return Built(vignette.name, write(vignette), time.perf_counter() - started)

    with ThreadPoolExecutor(max_workers=jobs) as pool:
        running = [pool.submit(timed, vignette) for vignette in vignettes]
        try:
            for finished in as_completed(running):
                built = finished.result()
                if tell is not None:
                    tell(built)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return [finished.result() for finished in running]
