"""What every build runs in: an empty folder, the same variables for both renderers, the R package at hand."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fairstats.ground.errors import VignetteError
from fairstats.report.vignettes.source import r_package_folder

__all__ = ["FAST", "Surroundings", "r_library", "surroundings"]

#: The one documented variable: chunks take fewer draws where it is "1".
FAST = "FAIRSTATS_VIGNETTE_FAST"


@dataclass(frozen=True)
class Surroundings:
    """Where one vignette runs.

    Attributes
    ----------
    folder : Path
        The working directory of both languages; empty at the start, gone at the end.
    aside : Path
        A second folder, for the renderer's own files.
    variables : dict of str to str
        The environment.
    """

    folder: Path
    aside: Path
    variables: dict[str, str]


@contextmanager
def surroundings(*, fast: bool, library: Path | None) -> Iterator[Surroundings]:
    """Make the folders and the environment of one build.

    Parameters
    ----------
    fast : bool
        Whether chunks may take fewer draws.
    library : Path or None
        R library to look into first, see `r_library`.
    """
    with tempfile.TemporaryDirectory(prefix="fs-", ignore_cleanup_errors=True) as top:
        folder, aside = Path(top, "work"), Path(top, "aside")
        folder.mkdir()
        aside.mkdir()
        variables = {k: v for k, v in os.environ.items() if k not in (FAST, "MPLBACKEND", "PYTHONSTARTUP")}
        # R's own fits are for R chunks: within knitr's process rpy2 cannot start another R.
        variables.update(FAIRSTATS_BACKEND="scipy", PYTHONHASHSEED="0")
        if fast:
            variables[FAST] = "1"
        if library is not None:
            variables["R_LIBS"] = os.pathsep.join(filter(None, (str(library), os.environ.get("R_LIBS"))))
        if os.name == "posix" and "utf" not in variables.get("LC_ALL", variables.get("LANG", "")).lower():
            variables["LC_ALL"] = "C.UTF-8"
        yield Surroundings(folder, aside, variables)


@contextmanager
def r_library() -> Iterator[Path]:
    """Install the R package that this fairstats carries into a library that lives as long as the block.

    Raises
    ------
    VignetteError
        If R cannot install it.
    """
    program = shutil.which("R")
    if program is None:
        raise VignetteError(
            "R is not on PATH. To fix: install R (Debian/Ubuntu: apt-get install r-base-core)."
        )
    with tempfile.TemporaryDirectory(prefix="fs-", ignore_cleanup_errors=True) as top:
        library, source = Path(top, "library"), Path(top, "fairstats")
        library.mkdir()
        given = r_package_folder()
        source.mkdir()
        for name in ("DESCRIPTION", "NAMESPACE"):
            shutil.copy(given / name, source / name)
        shutil.copytree(given / "R", source / "R")
        options = ["--no-docs", "--no-test-load", "--no-byte-compile", f"--library={library}"]
        done = subprocess.run(  # noqa: S603 - R itself, on the project's own source
            [program, "CMD", "INSTALL", *options, str(source)],
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        if done.returncode:
            last = " | ".join(done.stderr.strip().splitlines()[-4:])
            raise VignetteError(f"R cannot install the R package fairstats: {last}")
        yield library
