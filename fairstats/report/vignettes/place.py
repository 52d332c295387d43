"""What every build runs in: folders, environment, R and its copy of the R package."""

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
_FAST = "FAIRSTATS_VIGNETTE_FAST"


@dataclass(frozen=True)
class Place:
    """Where one vignette runs.

    `folder`: the working directory of both languages; empty at the start, gone at the end; `aside`:
    for the renderer's own files; `variables`: the environment.
    """

    folder: Path
    aside: Path
    variables: dict[str, str]


@contextmanager
def temporary_place(
    *, fast: bool, library: Path | None, params: Mapping[str, str]
) -> Iterator[Place]:
    """The folders and the environment of one build; `library`: the R library to look into first."""
    with _temporary_folder() as top_folder:
        folder = Path(top_folder, "work")
        aside = Path(top_folder, "aside")
        folder.mkdir()
        aside.mkdir()
        # R's own fits are for R chunks: within knitr's process rpy2 cannot start another R.
        variables = os.environ | {
            "FAIRSTATS_BACKEND": "scipy",
            "FAIRSTATS_PARAMS": json.dumps(dict(params)),
            "IPYTHONDIR": str(aside / "ipython"),
            "MPLBACKEND": "module://matplotlib_inline.backend_inline",
            "PYTHONHASHSEED": "0",
        }
        for name in ("PYTHONSTARTUP", _FAST):
            variables.pop(name, None)
        if fast:
            variables[_FAST] = "1"
        if library is not None:
            libraries = [str(library), os.environ.get("R_LIBS", "")]
            variables["R_LIBS"] = os.pathsep.join(filter(None, libraries))
        locale = variables.get("LC_ALL", variables.get("LANG", ""))
        if os.name == "posix" and "utf" not in locale.lower():
            variables["LC_ALL"] = "C.UTF-8"
        yield Place(folder, aside, variables)


def _temporary_folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="fs-", ignore_cleanup_errors=True)


def run_r(
    arguments: Sequence[str],
    *,
    program: str = "Rscript",
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run R without a terminal and keep what it says; a `VignetteError` where it is not on PATH."""
    path = shutil.which(program)
    if path is None:
        raise VignetteError(
            "R is not on PATH. To fix: install R (Debian/Ubuntu: apt-get install r-base-core)."
        )
    return subprocess.run(  # noqa: S603 - R itself, on the project's own code
        [path, *arguments],
        cwd=cwd,
        env=env,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )


@contextmanager
def r_library() -> Iterator[Path]:
    """Install the R package that this fairstats carries into a library that lives as long as the
    block.
    """
    with _temporary_folder() as top_folder:
        library = Path(top_folder, "library")
        source = Path(top_folder, "fairstats")
        library.mkdir()
        # tests and documentation stay behind
        unneeded = shutil.ignore_patterns("man", "tests", "vignettes", "reference")
        shutil.copytree(r_package_folder(), source, ignore=unneeded)
        options = ["--no-docs", "--no-test-load", "--no-byte-compile", f"--library={library}"]
        finished = run_r(["CMD", "INSTALL", *options, str(source)], program="R")
        if finished.returncode:
            last = " | ".join(finished.stderr.strip().splitlines()[-4:])
            raise VignetteError(f"R cannot install the R package fairstats: {last}")
        yield library


def r_package_folder(package: Path = _PACKAGE) -> Path:
    """Folder of the R package's source.

    ``../r`` of a source tree, else ``_r`` within the package.
    """
    for folder in (package.parent / "r", package / "_r"):
        if (folder / "DESCRIPTION").is_file() and (folder / "R").is_dir():
            return folder
    raise VignetteError(
        "the source of the R package fairstats is missing. To fix: reinstall fairstats."
    )
