"""Build vignettes, several at a time."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fairstats._version import __version__
from fairstats.ground.errors import InputError, VignetteError
from fairstats.ground.rprobe import probe_r
from fairstats.report.vignettes.by_python import render_by_python
from fairstats.report.vignettes.by_r import lacking_for_r, render_by_r
from fairstats.report.vignettes.page import write_page
from fairstats.report.vignettes.parse import Vignette, read_vignette
from fairstats.report.vignettes.recorded import write_recorded
from fairstats.report.vignettes.source import find_vignette, vignette_names
from fairstats.report.vignettes.surroundings import r_library

__all__ = ["Built", "build_vignettes", "record_vignettes"]


@dataclass(frozen=True)
class Built:
    """One file that was written.

    Attributes
    ----------
    name : str
        The vignette's.
    path : Path
        The file.
    seconds : float
        How long it took.
    """

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

    Parameters
    ----------
    names : sequence of str
        Names, parts of names or paths; empty: all.
    out : Path
        Folder for ``NAME.html``; made where it is missing.
    renderer : {"python", "r"}
        jupytext and nbconvert, or R Markdown.
    fast : bool
        Fewer draws: chunks see ``FAIRSTATS_VIGNETTE_FAST=1``.
    jobs : int
        How many run at a time.
    tell : callable, optional
        Called with each as it is done.

    Returns
    -------
    list of Built
        In the order of `names`.

    Raises
    ------
    VignetteError
        For the first that fails; those that run are finished.
    InputError
        For a name that is none.
    """
    if renderer not in ("python", "r"):
        raise InputError("renderer", got=repr(renderer), allowed="'python' or 'r'")
    if jobs < 1:
        raise InputError("jobs", got=repr(jobs), allowed="1 or more")
    wanted = _wanted(names)
    if renderer == "r":
        lacking = lacking_for_r()
        if lacking is not None:
            raise VignetteError(f"the R renderer cannot be used: {lacking}")

    with _r_at_hand(required=renderer == "r") as (library, r_version):

        def one(vignette: Vignette) -> Built:
            started = time.perf_counter()
            if renderer == "r":
                if library is None:
                    raise VignetteError("R is not on PATH.")
                page = render_by_r(vignette, fast=fast, library=library, r_version=r_version)
            else:
                page, _ = render_by_python(vignette, fast=fast, library=library, r_version=r_version)
            path = write_page(page, out / f"{vignette.name}.html")
            return Built(vignette.name, path, time.perf_counter() - started)

        return _in_order(one, wanted, jobs, tell)


def record_vignettes(
    names: Sequence[str] = (), *, jobs: int = 2, tell: Callable[[Built], None] | None = None
) -> list[Built]:
    """Run vignettes in full and write what their R chunks print beside them, for machines without R.

    Parameters
    ----------
    names, jobs, tell
        As for `build_vignettes`.

    Raises
    ------
    VignetteError
        Where R or rpy2 is missing, or a chunk fails.
    """
    wanted = _wanted(names)
    with _r_at_hand(required=True) as (library, r_version):
        if library is None or not probe_r().works:
            raise VignetteError(f"R chunks cannot be run from Python: {probe_r().cause}")
        by = f"R {r_version}, fairstats {__version__}"

        def one(vignette: Vignette) -> Built:
            started = time.perf_counter()
            _, printed = render_by_python(vignette, fast=False, library=library, r_version=r_version)
            return Built(vignette.name, write_recorded(vignette, by, printed), time.perf_counter() - started)

        return _in_order(one, wanted, jobs, tell)


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
        yield library, _r_version()


def _r_version() -> str:
    program = shutil.which("Rscript")
    if program is None:
        return ""
    ask = [program, "--vanilla", "-e", "cat(as.character(getRversion()))"]
    return subprocess.run(ask, capture_output=True, text=True, check=False).stdout.strip()  # noqa: S603


def _in_order(
    one: Callable[[Vignette], Built],
    wanted: Sequence[Vignette],
    jobs: int,
    tell: Callable[[Built], None] | None,
) -> list[Built]:
    """Run some at a time; at the first failure those that wait are not begun."""
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        running = [pool.submit(one, vignette) for vignette in wanted]
        try:
            for done in as_completed(running):
                built = done.result()
                if tell is not None:
                    tell(built)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return [done.result() for done in running]
