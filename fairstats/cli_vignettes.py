"""The commands ``fairstats vignettes build``, ``list`` and ``record``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairstats.ground.errors import InputError

if TYPE_CHECKING:
    from fairstats.report.vignettes.build import Built

__all__ = ["vignettes"]

vignettes = typer.Typer(
    no_args_is_help=True,
    help="The vignettes: each method told on real data, with Python and R side by side.",
)


class Renderer(StrEnum):
    """Whose tools render."""

    python = "python"
    r = "r"


Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="[NAME]…", help="Name, part of it, or .Rmd file; none: all.", show_default=False),
]
Jobs = Annotated[int, typer.Option("--jobs", min=1, help="How many run at a time.")]


@vignettes.command("list")
def list_command() -> None:
    """List the vignettes: name and title."""
    from fairstats.report.vignettes.parse import read_vignette
    from fairstats.report.vignettes.source import find_vignette, vignette_names

    for name in vignette_names():
        typer.echo(f"{name:28} {read_vignette(find_vignette(name)).title}")


@vignettes.command()
def build(
    names: Names = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for the HTML files; needed.", show_default=False)
    ] = None,
    renderer: Annotated[
        Renderer, typer.Option("--renderer", help="jupytext and nbconvert, or R Markdown.")
    ] = Renderer.python,
    fast: Annotated[
        bool, typer.Option("--fast", help="Fewer draws: chunks see FAIRSTATS_VIGNETTE_FAST=1.")
    ] = False,
    jobs: Jobs = 2,
) -> None:
    """Build vignettes as self-contained HTML files, which need no network to be read."""
    from fairstats.report.vignettes.build import build_vignettes

    if out is None:  # typer 0.16 with click 8.5 does not ask for a required option
        raise InputError("--out", got="nothing", allowed="a folder", cure="--out build/vignettes")
    build_vignettes(names or (), out=out, renderer=renderer.value, fast=fast, jobs=jobs, tell=_tell)


@vignettes.command()
def record(names: Names = None, jobs: Jobs = 2) -> None:
    """Run vignettes in full and keep what their R chunks print, for machines without R."""
    from fairstats.report.vignettes.build import record_vignettes

    record_vignettes(names or (), jobs=jobs, tell=_tell)


def _tell(built: Built) -> None:
    typer.echo(f"{built.path} ({built.seconds:.0f} s)")
