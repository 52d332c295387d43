"""What every build runs in: an empty folder, the same variables for both renderers, R and its package."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fairstats.ground.errors import VignetteError

_PACKAGE = Path(__file__).resolve().parents[2]

#: Chunks take fewer draws where it is "1".
FAST = "FAIRSTATS_VIGNETTE_FAST"
#: The parameters of the vignette's head as JSON.
PARAMS = "FAIRSTATS_PARAMS"


@dataclass(frozen=True)
class Surroundings:
    """Where one vignette runs.

    `folder`: the working directory of both languages; empty at the start, gone at the end; `aside`: a second
    folder, for the renderer's own files; `variables`: the environment.
    """

    folder: Path
    aside: Path
    variables: dict[str, str]


@contextmanager
def surroundings(
    *, fast: bool, library: Path | None, params: Mapping[str, str] | None = None
) -> Iterator[Surroundings]:
    """Make the folders and the environment of one build.

    `library`: the R library to look into first; `params`: of the vignette's head, which chunks read.
    """
    with _folder() as top:
        folder, aside = Path(top, "work"), Path(top, "aside")
        folder.mkdir()
        aside.mkdir()
        variables = {k: v for k, v in os.environ.items() if k not in (FAST, "MPLBACKEND", "PYTHONSTARTUP")}
        # R's own fits are for R chunks: within knitr's process rpy2 cannot start another R.
        variables.update(FAIRSTATS_BACKEND="scipy", PYTHONHASHSEED="0")
        variables[PARAMS] = json.dumps(dict(params or {}))
        if fast:
            variables[FAST] = "1"
        if library is not None:
            variables["R_LIBS"] = os.pathsep.join(filter(None, (str(library), os.environ.get("R_LIBS"))))
        if os.name == "posix" and "utf" not in variables.get("LC_ALL", variables.get("LANG", "")).lower():
            variables["LC_ALL"] = "C.UTF-8"
        yield Surroundings(folder, aside, variables)


def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="fs-", ignore_cleanup_errors=True)


def run_r(
    arguments: Sequence[str], *, program: str = "Rscript", cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run R without a terminal and keep what it says; a `VignetteError` where it is not on PATH."""
    path = shutil.which(program)
    if path is None:
        raise VignetteError("R is not on PATH. To fix: install R (Debian/Ubuntu: apt-get install r-base-core).")
    return subprocess.run(  # noqa: S603 - R itself, on the project's own code
        [path, *arguments], cwd=cwd, env=env, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )


@contextmanager
def r_library() -> Iterator[Path]:
    """Install the R package that this fairstats carries into a library that lives as long as the block."""
    with _folder() as top:
        library, source, carried = Path(top, "library"), Path(top, "fairstats"), r_package_folder()
        library.mkdir()
        source.mkdir()
        for name in ("DESCRIPTION", "NAMESPACE"):
            shutil.copy(carried / name, source / name)
        for name in ("R", "inst"):
            shutil.copytree(carried / name, source / name)
        options = ["--no-docs", "--no-test-load", "--no-byte-compile", f"--library={library}"]
        done = run_r(["CMD", "INSTALL", *options, str(source)], program="R")
        if done.returncode:
            last = " | ".join(done.stderr.strip().splitlines()[-4:])
            raise VignetteError(f"R cannot install the R package fairstats: {last}")
        yield library


def r_package_folder(package: Path = _PACKAGE) -> Path:
    """Folder of the R package's source: ``../r`` of a source tree, else ``_r`` within the package."""
    for folder in (package.parent / "r", package / "_r"):
        if (folder / "DESCRIPTION").is_file() and (folder / "R").is_dir():
            return folder
    raise VignetteError("the source of the R package fairstats is missing. To fix: reinstall fairstats.")
