"""The command ``fairstats crosscheck``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairstats.ground.errors import InputError

if TYPE_CHECKING:
    from fairstats.report.report import AuditReport

__all__ = ["crosscheck_command"]


def crosscheck_command(
    report: Annotated[Path, typer.Argument(help="JSON file that audit or demo wrote with --json.")],
    data: Annotated[
        Path | None,
        typer.Option("--data", help="The audited CSV or Parquet file, for what counts cannot give."),
    ] = None,
    tolerance: Annotated[
        float | None,
        typer.Option("--tolerance", help="Largest difference, relative to the larger of 1 and the value."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Write the report with the cross-check as one HTML file.")
    ] = None,
    brief: Annotated[bool, typer.Option("--brief", help="Print only what does not agree.")] = False,
    delimiter: Annotated[str | None, typer.Option("--delimiter", help="Separator of the CSV file.")] = None,
) -> None:
    """Recompute every number of a report in R by independent code, and print both with their difference.

    The last line says how many agree. Exit codes: 0 all agree, 1 some do not, 2 usage, input that cannot be
    used, or no R.
    """
    from fairstats.report.crosscheck.run import crosscheck
    from fairstats.report.report import AuditReport

    read = AuditReport.from_json(report)
    rows = None if data is None else _rows(read, data, delimiter)
    found = crosscheck(read, data=rows, tolerance=tolerance)
    typer.echo(found.summary(full=not brief))
    if out is not None:
        typer.echo(f"Written: {read.to_html(out, crosscheck=found)}", err=True)
    if found.n_checked == 0:
        raise InputError(
            "report",
            got=f"{str(report)!r} without a number that R could recompute",
            allowed="the report of an audit",
            cure="pass --data FILE where rows are needed",
        )
    if not found.agrees:
        raise typer.Exit(1)


def _rows(report: AuditReport, file: Path, delimiter: str | None) -> object:
    from fairstats.report.read import read_table

    return read_table(file, report.columns.names, delimiter=delimiter)
