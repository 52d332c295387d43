"""Where the vignettes and the R package lie: beside the package in a source tree, else within the package."""

from __future__ import annotations

from pathlib import Path

from fairstats.ground.errors import InputError, VignetteError

__all__ = ["find_vignette", "r_package_folder", "recorded_file", "vignette_folder", "vignette_names"]

_PACKAGE = Path(__file__).resolve().parents[2]


def vignette_folder(package: Path = _PACKAGE) -> Path:
    """Folder of the ``.Rmd`` files: ``../vignettes`` of a source tree, else ``_vignettes`` within it.

    Parameters
    ----------
    package : Path
        Folder of the Python package, default the one that runs.

    Raises
    ------
    VignetteError
        If neither is there.
    """
    beside = package.parent / "vignettes"
    if (package.parent / "pyproject.toml").is_file() and beside.is_dir():
        return beside
    within = package / "_vignettes"
    if within.is_dir():
        return within
    raise VignetteError(
        f"the vignettes are neither in {beside} nor in {within}. To fix: reinstall fairstats, or give the "
        "path of an .Rmd file."
    )


def vignette_names(folder: Path | None = None) -> tuple[str, ...]:
    """Names of the vignettes of a folder, default `vignette_folder`, in order."""
    return tuple(sorted(path.stem for path in (folder or vignette_folder()).glob("*.Rmd")))


def find_vignette(name: str) -> Path:
    """The ``.Rmd`` file that is meant.

    Parameters
    ----------
    name : str
        A name (``"02-madd"``), a part that no other has (``"madd"``), or the path of an ``.Rmd`` file.

    Raises
    ------
    InputError
        If there is no such vignette, or if several are meant.
    """
    path = Path(name)
    if path.suffix == ".Rmd" and path.is_file():
        return path
    folder = vignette_folder()
    names = vignette_names(folder)
    wanted = path.stem if path.suffix == ".Rmd" else name
    matching = [wanted] if wanted in names else [n for n in names if wanted and wanted in n]
    if len(matching) != 1:
        allowed = "the path of an .Rmd file" + (f", or one of {', '.join(names)}" if names else "")
        raise InputError("name", got=repr(name), allowed=allowed)
    return folder / f"{matching[0]}.Rmd"


def recorded_file(source: Path) -> Path:
    """Where the recorded output of a vignette's R chunks lies: ``recorded/NAME.json`` beside it."""
    return source.parent / "recorded" / f"{source.stem}.json"


def r_package_folder(package: Path = _PACKAGE) -> Path:
    """Folder of the R package's source: ``../r`` of a source tree, else ``_r`` within the package.

    Raises
    ------
    VignetteError
        If neither holds a DESCRIPTION.
    """
    for folder in (package.parent / "r", package / "_r"):
        if (folder / "DESCRIPTION").is_file() and (folder / "R").is_dir():
            return folder
    raise VignetteError("the source of the R package fairstats is missing. To fix: reinstall fairstats.")
