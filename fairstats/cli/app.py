"""The command line: ``fairstats audit``, ``adverse-impact``, ``demo``, ``crosscheck``, ``doctor``
and more.

Exit codes: 0 done; 1 a finding (``--fail-on violated`` and a violation, or a cross-check
disagrees); 2 usage or unusable input; 3 any other failure; 130 interrupted. Files are written
first, then text goes to the terminal.
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
from fairstats.ground.errors import (
    FairstatsError,
    FairstatsWarning,
    InputError,
    MissingDependencyError,
)
from fairstats.ground.outputs import Outputs
from fairstats.ground.reading.places import STANDARD
from fairstats.ground.reading.record import record_of
from fairstats.ground.reading.roles import Roles
from fairstats.ground.reading.table import held_input, read_roles
from fairstats.ground.serialise import decode, parse_json, read_json
from fairstats.ground.tally import Tally, tally
from fairstats.ground.writing import CSV, DOCUMENTS, HTML, JSON
from fairstats.report.pages import convert
from fairstats.report.report import AuditReport, page_of, read_report
from fairstats.report.vignettes.build import Built
from fairstats.report.vignettes.source import vignette_titles

try:
    import typer
    from typer.core import TyperGroup
except ImportError as problem:
    raise MissingDependencyError(
        "typer",
        extra="cli",
        purpose="The command line",
        alternative="call fairstats.audit(…) from Python",
    ) from problem

from fairstats.cli import exits, monitoring, options
from fairstats.cli.delivery import (
    check_made_by_template,
    default_name,
    deliver,
    delivery_of,
    finish,
    kind_of_page_in,
)


class Commands(TyperGroup):
    """The commands; an error that is foreseen becomes one line on standard error and an exit
    code.
    """

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
    cls=Commands,
    no_args_is_help=True,
    add_completion=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    help="Inference-grade algorithmic fairness: every figure with an interval and a test.",
    epilog=(
        "Exit codes: 0 done, 1 a finding (--fail-on violated; a cross-check that disagrees), 2"
        " unusable input, 3 any other failure (full disk, missing package or program), 130"
        " interrupted."
    ),
)
vignettes = typer.Typer(
    no_args_is_help=True,
    help="The vignettes: each method told on real data, with Python and R side by side.",
)
app.add_typer(vignettes, name="vignettes")


def command(
    name: str, *tables: str, to: typer.Typer = app
) -> Callable[[Callable[..., None]], None]:
    """Make a command with the parameters of tables in ``options.toml``."""

    def register(function: Any) -> None:
        parameters = []
        for table in tables:
            for option_item in options.TABLES[table].items():
                parameters.append(options.parameter(*option_item))
        function.__signature__ = inspect.Signature(parameters)
        function.__annotations__ = {
            each_parameter.name: each_parameter.annotation for each_parameter in parameters
        }
        to.command(name)(function)

    return register


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"fairstats {__version__}")
        raise typer.Exit


def _show_traceback(wanted: bool) -> None:
    if wanted:
        os.environ[exits.TRACEBACK] = "1"


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_print_version,
            is_eager=True,
            help="Print the version and exit.",
        ),
    ] = False,
    traceback: Annotated[
        bool,
        typer.Option(
            "--traceback",
            callback=_show_traceback,
            help="Show where an error arose, as Python does.",
        ),
    ] = False,
) -> None:
    """Inference-grade algorithmic fairness: every figure with an interval and a test."""


@command(
    "audit",
    "file",
    "rows",
    "numbers",
    "audit",
    "comparing",
    "inferred",
    "mitigation",
    "reading",
    "engine",
    "delivery",
)
def audit_command(file: Path, **arguments: Any) -> None:
    """Audit the predictions in a table, or a tally of it, for differences between groups."""
    from fairstats.report.audit import audit

    delivery = delivery_of(
        arguments, [file, arguments["mitigation"], arguments["calibration_sample"]]
    )
    if arguments["sensitive_probabilities"]:
        frame, plain_options = _inferred_arguments(file, arguments)
    else:
        refuse_sample_alone(arguments)
        frame, plain_options = _audit_arguments(file, arguments)
    if plain_options["mitigation"] is not None:
        expected_words = (
            "the JSON of what MaddMitigator.evaluate returned: json.dump(effect.to_dict(), file)"
        )
        plain_options["mitigation"] = decode(
            read_json(plain_options["mitigation"], "--mitigation", expected_words)
        )
    with (
        warnings.catch_warnings(),
        _as_written("file", file) if isinstance(frame, Tally) else nullcontext(),
    ):
        warnings.simplefilter("ignore", FairstatsWarning)  # the report's notes say the same
        report = audit(frame, **plain_options)
    deliver(report, delivery)


def _audit_arguments(file: Path | None, arguments: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """What `audit` reads (nothing without a file), and its keyword arguments."""
    frame, plain_options = _read_arguments(file, arguments)
    groups = plain_options["sensitive_features"]
    counterfactual_columns = plain_options["counterfactual_score"]
    plain_options["reference"] = options.reference_of(plain_options["reference"], groups)
    return frame, plain_options | {
        "sensitive_features": groups or None,
        "counterfactual_score": counterfactual_columns or None,
    }


def _inferred_arguments(file: Path, arguments: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """What `audit` reads of rows whose groups are inferred, and its keyword arguments."""
    probabilities = options.by_key(arguments.pop("sensitive_probabilities"), "--probability")
    groups = arguments.pop("group") or []
    if len(groups) > 1:
        raise typer.BadParameter(
            "one column of true groups beside --probability", param_hint="--group"
        )
    sample_file = arguments.pop("calibration_sample")
    if sample_file is not None and not groups:
        raise typer.BadParameter(
            "needs --group, the column of the true groups in it", param_hint="--calibration"
        )
    for name in ("y_pred", "score"):
        arguments[name] = options.by_model(arguments[name], f"--{name.replace('_', '-')}")
        if isinstance(arguments[name], Mapping):
            raise typer.BadParameter(
                "one model where groups are inferred", param_hint=f"--{name.replace('_', '-')}"
            )
    asked_reading = options.reading_options(arguments)
    numbers = tuple(probabilities.values())
    roles = options.roles_of("rows", arguments, [] if sample_file is not None else groups, numbers)
    frame, _ = options.read_rows(file, held_input(file), roles, asked_reading)
    sample = None
    if sample_file is not None:
        sample_frame, _ = options.read_rows(
            sample_file, None, Roles.of(groups, numbers), asked_reading
        )
        columns = {group: sample_frame[name] for group, name in probabilities.items()}
        sample = (sample_frame[groups[0]], columns)
    arguments["pos_label"] = options.pos_labels(
        arguments["pos_label"], arguments.pop("pos_label_pred")
    )
    arguments["label_values"] = options.label_values(arguments["label_values"])
    arguments["features"] = tuple(arguments["features"] or ())
    arguments["score_range"] = options.score_range_of(arguments["score_range"])
    arguments["reference"] = options.reference_of(arguments["reference"], groups)
    true_groups = groups[0] if groups and sample is None else None
    return frame, options.plain_values(arguments) | {
        "counterfactual_score": arguments["counterfactual_score"] or None,
        "sensitive_probabilities": probabilities,
        "sensitive_features": true_groups,
        "calibration_sample": sample,
    }


def refuse_sample_alone(arguments: dict[str, Any]) -> None:
    """Raise where a calibration sample comes without probabilities; neither stays."""
    if arguments.pop("calibration_sample") is not None:
        raise typer.BadParameter("goes with --probability", param_hint="--calibration")
    arguments.pop("sensitive_probabilities")


def _read_arguments(file: Path | None, given_options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """What a command reads, and its other options as the arguments of `fairstats.audit`."""
    groups = given_options.pop("group") or []
    strata = given_options.get("strata")
    counterfactual_columns = options.by_column(
        given_options["counterfactual_score"], groups, "--counterfactual-score"
    )
    given_options |= {
        argument_name: options.by_model(
            given_options[argument_name], f"--{argument_name.replace('_', '-')}"
        )
        for argument_name in ("y_pred", "score")
    }
    labels = [*groups, *([] if strata is None else [strata])]
    numbers = list(counterfactual_columns.values())
    if "subgroups" in given_options:
        given_options["subgroups"] = options.cuts_of(given_options["subgroups"])
        for column, cuts in (given_options["subgroups"] or {}).items():
            (labels if cuts is None else numbers).append(column)
    if file is None:
        frame = None
    else:
        frame = _read_input(
            file, given_options, labels, tuple(numbers), has_groups=bool(groups or strata)
        )
    given_options |= {"sensitive_features": groups, "counterfactual_score": counterfactual_columns}
    given_options["pos_label"] = options.pos_labels(
        given_options["pos_label"], given_options.pop("pos_label_pred")
    )
    given_options["label_values"] = options.label_values(given_options["label_values"])
    if "score_range" in given_options:
        given_options["score_range"] = options.score_range_of(given_options["score_range"])
    given_options["features"] = tuple(given_options["features"] or ())
    if "circumstances" in given_options:
        given_options["circumstances"] = tuple(given_options["circumstances"] or ())
    return frame, options.plain_values(given_options)


def _read_input(
    file: Path,
    arguments: dict[str, Any],
    labels: list[str],
    numbers: tuple[str, ...],
    *,
    has_groups: bool,
) -> Any:
    """What a command reads: a tally, the rows of a file, or a lazy table.

    Its own options leave `arguments`.
    """
    asked_reading = options.reading_options(arguments)
    engine = arguments.pop("engine").value
    held_bytes = held_input(file)
    if file.suffix == ".json" or (held_bytes or b"").lstrip().startswith(b"{"):
        arguments.pop("missing")
        return Tally.from_json(
            file if held_bytes is None else held_bytes.decode("utf-8", "replace")
        )
    if not has_groups:
        allowed = "a sensitive column; repeat for several"
        raise InputError("--group", got="nothing", allowed=allowed, cure="--group sex")
    several_models = any(
        isinstance(arguments[argument_name], Mapping) for argument_name in ("y_pred", "score")
    )
    outcome_numbers = []
    for argument_name in ("outcome", "predicted"):
        if arguments.get(argument_name) is not None:
            outcome_numbers.append(arguments[argument_name])
    described = [*(arguments["features"] or ()), *(arguments.get("circumstances") or ())]
    column_roles = options.roles_of(
        "rows", arguments | {"features": described}, labels, (*numbers, *outcome_numbers)
    )
    input_source = options.source_of(file, held_bytes)
    return read_roles(
        input_source, column_roles, asked_reading, engine=engine, needs_rows=several_models
    )[0]


@command("tally", "file", "rows", "numbers", "reading", "engine", "tally")
def tally_command(file: Path, **arguments: Any) -> None:
    """Count a table once: a tally holds all that an audit needs, and no person."""
    output_path, keep_exact, min_cell = (
        arguments.pop(argument_name) for argument_name in ("out", "exact", "min_cell")
    )
    outputs = Outputs([file])
    outputs.plan("--out", output_path or default_name("tally.json", b'"class": "Tally"'), JSON)
    for argument_name in ("y_pred", "score"):
        if len(arguments[argument_name] or ()) > 1:
            raise typer.BadParameter(
                "a tally counts one model", param_hint=f"--{argument_name.replace('_', '-')}"
            )
    frame, plain_options = _read_arguments(file, arguments)
    plain_options["counterfactual_score"] = next(
        iter(plain_options["counterfactual_score"].values()), None
    )
    with warnings.catch_warnings(record=True) as tally_warnings:
        warnings.simplefilter("always", FairstatsWarning)
        counted_rows = tally(frame, **plain_options, classes=None)
        if min_cell is not None:
            counted_rows = counted_rows.withheld(min_cell)
        json_text = counted_rows.to_json(exact=keep_exact)
    outputs.write({"--out": lambda: json_text})
    notes = record_of(frame).notes
    for printed_text in dict.fromkeys(
        [*notes, *(str(warning.message) for warning in tally_warnings)]
    ):
        typer.echo(printed_text, err=True)
    typer.echo(str(counted_rows), err=outputs.to_standard_output)
    finish(outputs)


@command("monitor", "monitor", "reading", "engine")
def monitor_command(state: Path, files: list[str] | None, **arguments: Any) -> None:
    """Count new files beside those of before, and say what they changed; limits hold at every look.

    Exit code 1 is an alarm: a violation is shown, now or at an earlier look. A file that was counted
    before is refused, and the state is whole at any time.
    """
    monitoring.run_monitor(state, [Path(file) for file in files or ()], arguments)


@command("adverse-impact", "file", "adverse-impact", "reading", "delivery")
def adverse_impact_command(file: Path, **arguments: Any) -> None:
    """Adverse impact of a selection process by sex and race: uniform guidelines, or Local Law 144.

    FILE may also be JSON with counts: {"women": [2, 8], "men": [15, 10]}, or several tables by
    name.
    """
    from fairstats.methods.rates.employment.adverse_impact import adverse_impact
    from fairstats.report.audit import audit

    target = arguments.pop("csv")
    title = arguments.pop("title")
    for_law = arguments["template"].value == "ll144"
    if for_law and target is None and str(arguments["out"]) != STANDARD:
        target = Path(STANDARD)
    check_made_by_template(arguments, target, for_law=for_law)
    delivery = delivery_of(arguments, [file])
    delivery.outputs.plan("--csv", target, CSV)
    asked_reading = options.reading_options(arguments)
    held_bytes = held_input(file)
    arguments["about"] = options.by_key(arguments["about"], "--about")
    arguments["unknown"] = options.numbers_of(arguments["unknown"])
    arguments["label_values"] = options.label_values(arguments["label_values"])
    arguments["reference"] = arguments["reference"] or "highest"
    people_or_counts: Any
    notes: tuple[str, ...] = ()
    if file.suffix == ".json" or (held_bytes or b"").lstrip().startswith(b"{"):
        if held_bytes is None and file.is_file():
            input_text = file.read_bytes()
        else:
            input_text = held_bytes or b""
        people_or_counts = parse_json(
            input_text,
            "file",
            repr(str(file)),
            "a tally, or counts {group: [selected, not selected]}",
        )
        if "class" in people_or_counts:
            people_or_counts = Tally.from_json(input_text.decode("utf-8", "replace"))
    else:
        people_or_counts, notes = options.read_rows(
            file, held_bytes, options.roles_of("adverse-impact", arguments), asked_reading
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairstatsWarning)  # the report's notes say the same
        result = adverse_impact(people_or_counts, **options.plain_values(arguments))
        if result.template == "ugesp":
            report = audit(result, title=title)
        else:
            report = None
    if report is not None:
        deliver(replace(report, notes=(*notes, *report.notes)), delivery)
        return
    page_kind = delivery.kind_of_page
    page = str(result.to_html())
    delivery.outputs.write(
        {
            "--csv": lambda: str(result.to_csv()),
            "--out": lambda: convert(page, page_kind) if page_kind in DOCUMENTS else page,
        }
    )
    finish(delivery.outputs, err=True)


@command("demo", "demo", "delivery")
def demo(intersections: bool, **arguments: Any) -> None:
    """Audit the COMPAS scores that come with the package (ProPublica's 6,172 rows) by race and
    sex.
    """
    from fairstats.report.audit import demo_report

    page = arguments["out"] or default_name(
        "fairstats-report.html", b'<meta name="generator" content="fairstats'
    )
    delivery = delivery_of(arguments | {"out": page}, [])
    deliver(demo_report(intersections=intersections), delivery)


@app.command()
def doctor() -> None:
    """Say what is installed, which back ends work and, if not, why."""
    from fairstats.ground.backends import doctor as examine

    typer.echo(str(examine()))


@command("crosscheck", "crosscheck", "reading")
def crosscheck_command(
    report: Path,
    data: Path | None,
    tolerance: float | None,
    out: Path | None,
    brief: bool,
    **reading: Any,
) -> None:
    """Recompute every number of a report in R by independent code, and print both with their
    difference.

    The last line says how many agree. Exit codes: 0 all agree, 1 some do not, 2 usage or input that
    cannot be used, 3 another failure, as no R.
    """
    from fairstats.report.crosscheck.run import crosscheck

    outputs = Outputs([report, data])
    outputs.plan("--out", out, (*HTML, *DOCUMENTS))
    page_kind = kind_of_page_in(outputs)
    asked_reading = options.reading_options(reading)
    report_text = held_input(report)
    person_rows = None
    if report_text is None:
        read_audit = AuditReport.from_json(report)
    else:
        read_audit = read_report(report_text, "standard input")
    if data is not None:
        person_rows, _ = options.read_rows(
            data, held_input(data), read_audit.columns._reading_roles, asked_reading
        )
    with _as_written("report", report):
        crosscheck_result = crosscheck(read_audit, data=person_rows, tolerance=tolerance)

    def page() -> str | bytes:
        with _as_written("report", report):
            return page_of(read_audit, page_kind, crosscheck_result)

    outputs.write({"--out": page})
    typer.echo(crosscheck_result.summary(full=not brief), err=outputs.to_standard_output)
    finish(outputs, err=True)
    if crosscheck_result.agrees is None:
        received = f"{str(report)!r} without a number that R could recompute"
        allowed = "the report of an audit"
        raise InputError(
            "report",
            got=received,
            allowed=allowed,
            cure="pass --data FILE where rows are needed",
        )
    if not crosscheck_result.agrees:
        raise typer.Exit(exits.FINDING)


@contextmanager
def _as_written(argument: str, file: Path) -> Iterator[None]:
    """Around work on what a JSON file held.

    Parts that do not fit together are an error of that file.
    """
    try:
        yield
    except (FairstatsError, typer.Exit):
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as problem:
        received = (
            f"{str(file)!r}, whose parts do not fit together ({type(problem).__name__}: {problem})"
        )
        raise InputError(
            argument,
            got=received,
            allowed="a file as fairstats wrote it",
            cure="write it anew",
        ) from problem


@vignettes.command("list")
def list_command() -> None:
    """List the vignettes: name and title."""
    for vignette_name, title in vignette_titles().items():
        typer.echo(f"{vignette_name:28} {title}")


@command("new", "new", "rows", "audit", to=vignettes)
def new_command(path: Path, data: Path | None, overwrite: bool, **arguments: Any) -> None:
    """Write a vignette about a table: the audit in Python and R, sentences that follow the data.

    It is R Markdown to be edited; fairstats vignettes build renders it, and rmarkdown::render does.
    """
    from fairstats.report.vignettes.own import write_vignette

    if data is None or not arguments["group"]:
        option_name, advice = (
            ("--data", "--data people.csv") if data is None else ("--group", "--group sex")
        )
        raise InputError(
            option_name,
            got="nothing",
            allowed="a file, and a sensitive column of it",
            cure=advice,
        )
    _, plain_options = _audit_arguments(None, arguments)
    default_values = {
        option_name: option_entry.get("default")
        for option_name, option_entry in (options.TABLES["rows"] | options.TABLES["audit"]).items()
    }
    changed_arguments = {}
    for argument_name, argument_value in plain_options.items():
        if argument_value != default_values.get(argument_name) or argument_name == "rng":
            changed_arguments[argument_name] = argument_value
    typer.echo(f"Written: {write_vignette(path, data, changed_arguments, overwrite=overwrite)}")


@command("build", "names", "build", "jobs", to=vignettes)
def build(
    names: list[str] | None, out: Path | None, param: list[str] | None, **arguments: Any
) -> None:
    """Build vignettes as self-contained HTML files, which need no network to be read."""
    from fairstats.report.vignettes.build import build_vignettes

    if out is None:  # typer 0.16 with click 8.5 does not ask for a required option
        raise InputError("--out", got="nothing", allowed="a folder", cure="--out build/vignettes")
    given_parameters = {}
    for parameter_name, _, parameter_value in (
        parameter_text.partition("=") for parameter_text in param or ()
    ):
        given_parameters[parameter_name] = parameter_value
    build_vignettes(
        names or (),
        out=out,
        tell=_tell_built,
        params=given_parameters,
        **options.plain_values(arguments),
    )


@command("record", "names", "jobs", to=vignettes)
def record(names: list[str] | None, jobs: int) -> None:
    """Run vignettes in full and keep what their R chunks print, for machines without R."""
    from fairstats.report.vignettes.build import record_vignettes

    record_vignettes(names or (), jobs=jobs, tell=_tell_built)


def _tell_built(built_vignette: Built) -> None:
    typer.echo(f"{built_vignette.path} ({built_vignette.seconds:.0f} s)")
