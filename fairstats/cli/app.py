"""The command line: ``fairstats audit``, ``adverse-impact``, ``demo``, ``crosscheck``, ``doctor`` and more.

Exit codes: 0 done; 1 a finding (``--fail-on violated`` and a violation, or a cross-check disagrees); 2 usage or
unusable input; 3 any other failure; 130 interrupted. Files are written first, then text goes to the terminal.
"""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from fairstats._version import __version__
from fairstats.ground.errors import FairstatsError, FairstatsWarning, InputError, MissingDependencyError
from fairstats.ground.outputs import Outputs
from fairstats.ground.reading.places import STANDARD
from fairstats.ground.reading.record import record_of
from fairstats.ground.reading.table import held_input, read_roles
from fairstats.ground.serialise import decode, parse_json, read_json
from fairstats.ground.tally import Tally, tally
from fairstats.ground.writing import CSV, DOCUMENTS, HTML, JSON
from fairstats.report.pages import convert
from fairstats.report.report import AuditReport, page_of, read_report
from fairstats.report.vignettes.build import Built
from fairstats.report.vignettes.source import find_vignette, read_vignette, vignette_names

try:
    import typer
    from typer.core import TyperGroup
except ImportError as problem:
    raise MissingDependencyError(
        "typer", extra="cli", purpose="The command line", alternative="call fairstats.audit(…) from Python"
    ) from problem

from fairstats.cli import exits, options
from fairstats.cli.delivery import check_made_by_template, default_name, deliver, delivery_of, finish, kind_of_page_in


class Commands(TyperGroup):
    """The commands; an error that is foreseen becomes one line on standard error and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except (FairstatsError, KeyboardInterrupt, OSError) as problem:
            if exits.shows_traceback():
                raise
            typer.echo(exits.line_of(problem), err=True)
            raise typer.Exit(exits.code_of(problem)) from None


app = typer.Typer(
    cls=Commands, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False,
    help="Inference-grade algorithmic fairness: every figure with an interval and a test.",
    epilog="Exit codes: 0 done, 1 a finding (--fail-on violated; a cross-check that disagrees), 2 unusable input, "
    "3 any other failure (full disk, missing package or program), 130 interrupted.",
)  # fmt: skip
vignettes = typer.Typer(
    no_args_is_help=True, help="The vignettes: each method told on real data, with Python and R side by side."
)
app.add_typer(vignettes, name="vignettes")


def command(name: str, *tables: str, to: typer.Typer = app) -> Callable[[Callable[..., None]], None]:
    """Make a command with the parameters of tables in ``options.toml``."""

    def register(function: Any) -> None:
        parameters = [options.parameter(*item) for table in tables for item in options.TABLES[table].items()]
        function.__signature__ = inspect.Signature(parameters)
        function.__annotations__ = {p.name: p.annotation for p in parameters}
        to.command(name)(function)

    return register


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"fairstats {__version__}")
        raise typer.Exit


def _traceback(wanted: bool) -> None:
    if wanted:
        os.environ[exits.TRACEBACK] = "1"


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    traceback: Annotated[
        bool, typer.Option("--traceback", callback=_traceback, help="Show where an error arose, as Python does.")
    ] = False,
) -> None:
    """Inference-grade algorithmic fairness: every figure with an interval and a test."""


@command("audit", "file", "rows", "audit", "mitigation", "reading", "engine", "delivery")
def audit_command(file: Path, **given: Any) -> None:
    """Audit the predictions in a table, or a tally of it, for differences between groups."""
    from fairstats.report.audit import audit

    delivery = delivery_of(given, [file, given["mitigation"]])
    frame, plain = _asked(file, given)
    if plain["mitigation"] is not None:
        written = "the JSON of what MaddMitigator.evaluate returned: json.dump(effect.to_dict(), file)"
        plain["mitigation"] = decode(read_json(plain["mitigation"], "--mitigation", written))
    with warnings.catch_warnings(), _as_written("file", file) if isinstance(frame, Tally) else nullcontext():
        warnings.simplefilter("ignore", FairstatsWarning)  # the report's notes say the same
        report = audit(frame, **plain)
    deliver(report, delivery)


def _asked(file: Path | None, given: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """What `audit` reads (nothing without a file), and its keyword arguments."""
    frame, plain = _read(file, given)
    groups, changed = plain["sensitive_features"], plain["counterfactual_score"]
    plain["reference"] = options.reference_of(plain["reference"], groups)
    return frame, plain | {"sensitive_features": groups or None, "counterfactual_score": changed or None}


def _read(file: Path | None, given: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """What a command reads, and its other options as the arguments of `fairstats.audit`."""
    groups, strata = given.pop("group") or [], given.get("strata")
    changed = options.by_column(given["counterfactual_score"], groups, "--counterfactual-score")
    given |= {name: options.by_model(given[name], f"--{name.replace('_', '-')}") for name in ("y_pred", "score")}
    labels = [*groups, *([] if strata is None else [strata])]
    frame = None if file is None else _table(file, given, labels, tuple(changed.values()))
    given |= {"sensitive_features": groups, "counterfactual_score": changed}
    given["pos_label"] = options.pos_labels(given["pos_label"], given.pop("pos_label_pred"))
    given["label_values"] = options.label_values(given["label_values"])
    given["features"] = tuple(given["features"] or ())
    return frame, options.plain_values(given)


def _table(file: Path, given: dict[str, Any], labels: list[str], numbers: tuple[str, ...]) -> Any:
    """What a command reads: a tally, the rows of a file, or a lazy table; its own options leave `given`."""
    asked = options.reading_options(given)
    engine = given.pop("engine").value
    held = held_input(file)
    if file.suffix == ".json" or (held or b"").lstrip().startswith(b"{"):
        given.pop("missing")
        return Tally.from_json(file if held is None else held.decode("utf-8", "replace"))
    if not labels:
        allowed = "a sensitive column; repeat for several"
        raise InputError("--group", got="nothing", allowed=allowed, cure="--group sex")
    several_models = any(isinstance(given[name], Mapping) for name in ("y_pred", "score"))
    roles = options.roles_of("rows", given, labels, numbers)
    source = options.source_of(file, held)
    return read_roles(source, roles, asked, engine=engine, needs_rows=several_models)[0]


@command("tally", "file", "rows", "reading", "engine", "tally")
def tally_command(file: Path, **given: Any) -> None:
    """Count a table once: a tally holds all that an audit needs, and no person."""
    out, exact, min_cell = (given.pop(name) for name in ("out", "exact", "min_cell"))
    outputs = Outputs([file])
    outputs.plan("--out", out or default_name("tally.json", b'"class": "Tally"'), JSON)
    for name in ("y_pred", "score"):
        if len(given[name] or ()) > 1:
            raise typer.BadParameter("a tally counts one model", param_hint=f"--{name.replace('_', '-')}")
    frame, plain = _read(file, given)
    plain["counterfactual_score"] = next(iter(plain["counterfactual_score"].values()), None)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", FairstatsWarning)
        counted = tally(frame, **plain)
        counted = counted if min_cell is None else counted.withheld(min_cell)
        text = counted.to_json(exact=exact)
    outputs.write({"--out": lambda: text})
    notes = record_of(frame).notes
    for words in dict.fromkeys([*notes, *(str(warning.message) for warning in said)]):
        typer.echo(words, err=True)
    typer.echo(str(counted), err=outputs.to_standard_output)
    finish(outputs)


@command("adverse-impact", "file", "adverse-impact", "reading", "delivery")
def adverse_impact_command(file: Path, **given: Any) -> None:
    """Adverse impact of a selection process by sex and race: uniform guidelines, or Local Law 144.

    FILE may also be JSON with counts: {"women": [2, 8], "men": [15, 10]}, or several tables by name.
    """
    from fairstats.methods.rates.employment.adverse_impact import adverse_impact
    from fairstats.report.audit import audit

    target, title = given.pop("csv"), given.pop("title")
    for_law = given["template"].value == "ll144"
    if for_law and target is None and str(given["out"]) != STANDARD:
        target = Path(STANDARD)
    check_made_by_template(given, target, for_law=for_law)
    delivery = delivery_of(given, [file])
    delivery.outputs.plan("--csv", target, CSV)
    asked, held = options.reading_options(given), held_input(file)
    given["about"] = options.by_key(given["about"], "--about")
    given["unknown"] = options.numbers_of(given["unknown"])
    given["label_values"] = options.label_values(given["label_values"])
    given["reference"] = given["reference"] or "highest"
    data: Any
    notes: tuple[str, ...] = ()
    if file.suffix == ".json" or (held or b"").lstrip().startswith(b"{"):
        text = file.read_bytes() if held is None and file.is_file() else held or b""
        data = parse_json(text, "file", repr(str(file)), "a tally, or counts {group: [selected, not selected]}")
        data = Tally.from_json(text.decode("utf-8", "replace")) if "class" in data else data
    else:
        data, notes = options.read_rows(file, held, options.roles_of("adverse-impact", given), asked)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairstatsWarning)  # the report's notes say the same
        result = adverse_impact(data, **options.plain_values(given))
        report = audit(result, title=title) if result.template == "ugesp" else None
    if report is not None:
        deliver(replace(report, notes=(*notes, *report.notes)), delivery)
        return
    kind = delivery.kind_of_page
    page = str(result.to_html())
    delivery.outputs.write(
        {"--csv": lambda: str(result.to_csv()), "--out": lambda: convert(page, kind) if kind in DOCUMENTS else page}
    )
    finish(delivery.outputs, err=True)


@command("demo", "demo", "delivery")
def demo(intersections: bool, **given: Any) -> None:
    """Audit the COMPAS scores that come with the package (ProPublica's 6,172 rows) by race and sex."""
    from fairstats.report.audit import demo_report

    page = given["out"] or default_name("fairstats-report.html", b'<meta name="generator" content="fairstats')
    delivery = delivery_of(given | {"out": page}, [])
    deliver(demo_report(intersections=intersections), delivery)


@app.command()
def doctor() -> None:
    """Say what is installed, which back ends work and, if not, why."""
    from fairstats.ground.backends import doctor as examine

    typer.echo(str(examine()))


@command("crosscheck", "crosscheck", "reading")
def crosscheck_command(
    report: Path, data: Path | None, tolerance: float | None, out: Path | None, brief: bool, **reading: Any
) -> None:
    """Recompute every number of a report in R by independent code, and print both with their difference.

    The last line says how many agree. Exit codes: 0 all agree, 1 some do not, 2 usage or input that cannot be
    used, 3 another failure, as no R.
    """
    from fairstats.report.crosscheck.run import crosscheck

    outputs = Outputs([report, data])
    outputs.plan("--out", out, (*HTML, *DOCUMENTS))
    kind = kind_of_page_in(outputs)
    asked, text, rows = options.reading_options(reading), held_input(report), None
    read = AuditReport.from_json(report) if text is None else read_report(text, "standard input")
    if data is not None:
        rows, _ = options.read_rows(data, held_input(data), read.columns._reading_roles, asked)
    with _as_written("report", report):
        found = crosscheck(read, data=rows, tolerance=tolerance)

    def page() -> str | bytes:
        with _as_written("report", report):
            return page_of(read, kind, found)

    outputs.write({"--out": page})
    typer.echo(found.summary(full=not brief), err=outputs.to_standard_output)
    finish(outputs, err=True)
    if found.agrees is None:
        got, allowed = f"{str(report)!r} without a number that R could recompute", "the report of an audit"
        raise InputError("report", got=got, allowed=allowed, cure="pass --data FILE where rows are needed")
    if not found.agrees:
        raise typer.Exit(exits.FINDING)


@contextmanager
def _as_written(argument: str, file: Path) -> Iterator[None]:
    """Around work on what a JSON file held: parts that do not fit together are an error of that file."""
    try:
        yield
    except (FairstatsError, typer.Exit):
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as problem:
        got = f"{str(file)!r}, whose parts do not fit together ({type(problem).__name__}: {problem})"
        raise InputError(argument, got=got, allowed="a file as fairstats wrote it", cure="write it anew") from problem


@vignettes.command("list")
def list_command() -> None:
    """List the vignettes: name and title."""
    for name in vignette_names():
        typer.echo(f"{name:28} {read_vignette(find_vignette(name)).title}")


@command("new", "new", "rows", "audit", to=vignettes)
def new_command(path: Path, data: Path | None, overwrite: bool, **given: Any) -> None:
    """Write a vignette about a table: the audit in Python and R, sentences that follow the data.

    It is R Markdown to be edited; fairstats vignettes build renders it, and rmarkdown::render does.
    """
    from fairstats.report.vignettes.own import write_vignette

    if data is None or not given["group"]:
        name, cure = ("--data", "--data people.csv") if data is None else ("--group", "--group sex")
        raise InputError(name, got="nothing", allowed="a file, and a sensitive column of it", cure=cure)
    _, plain = _asked(None, given)
    default = {name: said.get("default") for name, said in (options.TABLES["rows"] | options.TABLES["audit"]).items()}
    asked = {k: v for k, v in plain.items() if v != default.get(k) or k == "rng"}
    typer.echo(f"Written: {write_vignette(path, data, asked, overwrite=overwrite)}")


@command("build", "names", "build", "jobs", to=vignettes)
def build(names: list[str] | None, out: Path | None, param: list[str] | None, **how: Any) -> None:
    """Build vignettes as self-contained HTML files, which need no network to be read."""
    from fairstats.report.vignettes.build import build_vignettes

    if out is None:  # typer 0.16 with click 8.5 does not ask for a required option
        raise InputError("--out", got="nothing", allowed="a folder", cure="--out build/vignettes")
    params = {name: value for name, _, value in (text.partition("=") for text in param or ())}
    build_vignettes(names or (), out=out, tell=_tell, params=params, **options.plain_values(how))


@command("record", "names", "jobs", to=vignettes)
def record(names: list[str] | None, jobs: int) -> None:
    """Run vignettes in full and keep what their R chunks print, for machines without R."""
    from fairstats.report.vignettes.build import record_vignettes

    record_vignettes(names or (), jobs=jobs, tell=_tell)


def _tell(built: Built) -> None:
    typer.echo(f"{built.path} ({built.seconds:.0f} s)")
