"""How a command delivers: files first, then words on the terminal, then what could not be
written.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from fairstats.cli import exits, options
from fairstats.ground.checks import check_number
from fairstats.ground.errors import InputError
from fairstats.ground.outputs import Outputs
from fairstats.ground.writing import DOCUMENTS, HTML, JSON
from fairstats.report.pages import check_convertible
from fairstats.report.render import show
from fairstats.report.report import AuditReport, page_of


@dataclass(frozen=True)
class Delivery:
    """Where a report goes, how much of it is printed, and whether a violation is a failure.

    `plots`: the folder for its pictures; `assume_ratio`: the ratio for which the rows needed are
    told, None for that of the rows.
    """

    outputs: Outputs
    full: bool
    fail_on: str | None
    plots: Path | None = None
    assume_ratio: float | None = None

    @property
    def kind_of_page(self) -> str:
        """The ending of the page's file."""
        return kind_of_page_in(self.outputs)


def delivery_of(arguments: dict[str, Any], inputs: Sequence[Path | None]) -> Delivery:
    """How a report is delivered, which leaves `arguments`; its files are looked at before the work."""
    asked_delivery = {}
    for option_name in options.TABLES["delivery"]:
        asked_delivery[option_name] = arguments.pop(option_name)
    outputs = Outputs(inputs)
    outputs.plan("--out", asked_delivery["out"], (*HTML, *DOCUMENTS))
    outputs.plan("--json", asked_delivery["json"], JSON)
    delivery = Delivery(
        outputs=outputs,
        full=asked_delivery["full"],
        fail_on=asked_delivery["fail_on"],
        plots=asked_delivery["plots"],
        assume_ratio=asked_delivery["assume_ratio"],
    )
    if delivery.assume_ratio is not None:
        check_number("--assume-ratio", delivery.assume_ratio, low=0, open_low=True, cure="0.7, say")
    if delivery.kind_of_page in DOCUMENTS:
        check_convertible(delivery.kind_of_page, "--out")
    return delivery


def kind_of_page_in(outputs: Outputs) -> str:
    """The ending of the file that a page goes to; of a pipe ".html", too."""
    page_place = outputs.place("--out")
    if page_place is None:
        ending = ""
    else:
        ending = page_place.suffix.lower()
    return ending if ending in DOCUMENTS else HTML[0]


def default_name(name: str, mark: bytes) -> Path:
    """A name that the user did not write, as long as it is free, or bears a file that an earlier
    run wrote there.

    `mark`: what stands near the beginning of such a file.
    """
    path = Path(name)
    if path.is_file():
        with path.open("rb") as file:
            first_bytes = file.read(4096)
        if mark not in first_bytes:
            received = f"no name, and {name!r} is a file that fairstats did not write"
            raise InputError(
                "--out",
                got=received,
                allowed="the name of a file",
                cure=f"--out my-{name}",
            )
    return path


def deliver(report: AuditReport, delivery: Delivery) -> None:
    """Write the files that were asked for, print the report, say where the files are, fail where
    asked to.

    Where a file goes to standard output, the rest is said on standard error.
    """
    outputs = delivery.outputs
    outputs.write(
        {"--out": lambda: page_of(report, delivery.kind_of_page), "--json": report.json_text}
    )
    show(
        report,
        full=delivery.full,
        stream=sys.stderr if outputs.to_standard_output else sys.stdout,
        ratio=delivery.assume_ratio,
    )
    if delivery.plots is not None:
        written = report.to_plots(delivery.plots)
        words = f"Written: {len(written)} pictures in {delivery.plots}"
        typer.echo(words, err=outputs.to_standard_output)
    finish(outputs)
    if delivery.fail_on is not None and report.violated:
        raise typer.Exit(exits.FINDING)


def finish(outputs: Outputs, *, err: bool = False) -> None:
    """Say what was written, and end the run with the gravest code where something could not be."""
    for path in outputs.written:
        typer.echo(f"Written: {path}", err=err or outputs.to_standard_output)
    if not outputs.failures:
        return
    if exits.shows_traceback():
        raise outputs.failures[0]
    for problem in outputs.failures:
        typer.echo(exits.line_of(problem), err=True)
    raise typer.Exit(max(exits.code_of(problem) for problem in outputs.failures))


def check_made_by_template(arguments: dict[str, Any], csv: Path | None, *, for_law: bool) -> None:
    """Raise InputError for an output that the template does not make, rather than leave it out
    without a word.
    """
    if not for_law and csv is not None:
        advice = "--json, or --template ll144"
        raise InputError(
            "--csv",
            got="the template ugesp",
            allowed="the template ll144",
            cure=advice,
        )
    for option_name in ("json", "fail_on"):
        if for_law and arguments[option_name] is not None:
            option = f"--{option_name.replace('_', '-')}"
            allowed = (
                "the template ugesp; Local Law 144 asks for a page and tables, and judges nothing"
            )
            raise InputError(
                option,
                got="the template ll144",
                allowed=allowed,
                cure="--out page.html --csv tables.csv",
            )
