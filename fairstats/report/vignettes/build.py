"""Build vignettes, several at a time, by Python or by R Markdown."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairstats._version import __version__
from fairstats.ground.checks import check_choice, check_whole
from fairstats.ground.errors import InputError, VignetteError
from fairstats.ground.progress import under_way
from fairstats.ground.rprobe import probe_r
from fairstats.ground.writing import Inputs, write_file
from fairstats.report.pages import check_convertible, convert
from fairstats.report.vignettes.by_python import render_by_python
from fairstats.report.vignettes.by_r import lacking_for_r, render_by_r
from fairstats.report.vignettes.place import r_library, run_r
from fairstats.report.vignettes.record import read_recorded, write_recorded
from fairstats.report.vignettes.source import (
    Vignette,
    find_vignette,
    read_vignette,
    vignette_names,
)


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
    files = [vignette.path for vignette in vignettes]
    files += [Path(value) for value in (params or {}).values() if Path(value).is_file()]
    inputs = Inputs(files)
    targets = {vignette.name: out / f"{vignette.name}.{to}" for vignette in vignettes}
    if len(targets) < len(vignettes):
        raise InputError(
            "names",
            got="two vignettes that would become one page",
            allowed="vignettes of different names",
            cure="build one after the other",
        )
    for target in targets.values():
        if inputs.hold(target):
            raise InputError(
                "out",
                got=f"{str(target)!r}, which is read here",
                allowed="a folder without the inputs",
                cure="name another folder",
            )
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
            return write_file(targets[vignette.name], content, argument="out", inputs=inputs)

        return _in_order(write, vignettes, jobs, tell)


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
                params={},
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

    finished = []
    with (
        under_way("vignettes", total=len(vignettes)) as work,
        ThreadPoolExecutor(max_workers=jobs) as pool,
    ):
        for built in pool.map(timed, vignettes):
            finished.append(built)
            work.advance()
            if tell is not None:
                tell(built)
    return finished
