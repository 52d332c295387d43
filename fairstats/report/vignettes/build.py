"""Build vignettes, several at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fairstats._version import __version__
from fairstats.ground.checks import check_choice, check_whole
from fairstats.ground.errors import VignetteError
from fairstats.ground.rprobe import probe_r
from fairstats.report.vignettes.by_python import render_by_python
from fairstats.report.vignettes.by_r import lacking_for_r, render_by_r
from fairstats.report.vignettes.source import (
    Vignette,
    find_vignette,
    read_vignette,
    vignette_names,
    write_recorded,
)
from fairstats.report.vignettes.surroundings import r_library, run_r


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
) -> list[Built]:
    """Build vignettes as self-contained HTML files.

    `names`: names, parts of names or paths; empty: all; `out`: folder for ``NAME.html``; made where it is
    missing; `renderer`, {"python", "r"}: jupytext and nbconvert, or R Markdown; `fast`: fewer draws: chunks
    see ``FAIRSTATS_VIGNETTE_FAST=1``; `jobs`: how many run at a time; `tell`: called with each as it is done.
    Returns them in the order of `names`. Raises VignetteError for the first that fails (those that run are
    finished), and InputError for a name that is none.
    """
    check_choice("renderer", renderer, ("python", "r"))
    check_whole("jobs", jobs, low=1)
    wanted = _wanted(names)
    lacking = lacking_for_r() if renderer == "r" else None
    if lacking is not None:
        raise VignetteError(f"the R renderer cannot be used: {lacking}")

    with _r_at_hand(required=renderer == "r") as (library, r_version):

        def write(vignette: Vignette) -> Path:
            if renderer == "r" and library is not None:
                page = render_by_r(vignette, fast=fast, library=library, r_version=r_version)
            else:
                page, _ = render_by_python(vignette, fast=fast, library=library, r_version=r_version)
            path = out / f"{vignette.name}.html"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(page, encoding="utf-8")
            return path

        return _in_order(write, wanted, jobs, tell)


def record_vignettes(
    names: Sequence[str] = (), *, jobs: int = 2, tell: Callable[[Built], None] | None = None
) -> list[Built]:
    """Run vignettes in full and write what their R chunks print beside them, for machines without R.

    The arguments are those of `build_vignettes`. A `VignetteError` where R is missing or a chunk fails.
    """
    wanted = _wanted(names)
    with _r_at_hand(required=True) as (library, r_version):
        if not probe_r().works:
            raise VignetteError(f"R chunks cannot be run from Python: {probe_r().cause}")
        by = f"R {r_version}, fairstats {__version__}"

        def write(vignette: Vignette) -> Path:
            _, printed = render_by_python(vignette, fast=False, library=library, r_version=r_version)
            return write_recorded(vignette, by, printed)

        return _in_order(write, wanted, jobs, tell)


def _wanted(names: Sequence[str]) -> list[Vignette]:
    """The vignettes that are meant, all read before the first is run."""
    chosen = list(names) or list(vignette_names())
    if not chosen:
        raise VignetteError("there are no vignettes to build.")
    return [read_vignette(find_vignette(name)) for name in chosen]


@contextmanager
def _r_at_hand(*, required: bool) -> Iterator[tuple[Path | None, str]]:
    """A library with the R package and R's version; (None, "") where R chunks cannot be run from Python."""
    if not required and not probe_r().works:
        yield None, ""
        return
    with r_library() as library:
        yield library, run_r(["--vanilla", "-e", "cat(as.character(getRversion()))"]).stdout.strip()


def _in_order(
    write: Callable[[Vignette], Path],
    wanted: Sequence[Vignette],
    jobs: int,
    tell: Callable[[Built], None] | None,
) -> list[Built]:
    """Run some at a time; at the first failure those that wait are not begun."""

    def timed(vignette: Vignette) -> Built:
        started = time.perf_counter()
        return Built(vignette.name, write(vignette), time.perf_counter() - started)

    with ThreadPoolExecutor(max_workers=jobs) as pool:
        running = [pool.submit(timed, vignette) for vignette in wanted]
        try:
            for done in as_completed(running):
                built = done.result()
                if tell is not None:
                    tell(built)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return [done.result() for done in running]
