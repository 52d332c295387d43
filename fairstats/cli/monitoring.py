"""``fairstats monitor``: one state file, to which months are added."""

from __future__ import annotations

import contextlib
import hashlib
import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import narwhals as nw
import typer

from fairstats.cli import exits, options
from fairstats.cli.delivery import finish, kind_of_page_in
from fairstats.ground.errors import FairstatsWarning, InputError
from fairstats.ground.outputs import Outputs
from fairstats.ground.reading.places import files_of
from fairstats.ground.reading.roles import ReadingOptions
from fairstats.ground.reading.table import held_input, read_roles
from fairstats.ground.serialise import parse_json
from fairstats.ground.tally import Tally, tally
from fairstats.ground.writing import CSV, DOCUMENTS, HTML, JSON
from fairstats.methods.rates.monitoring import MonitorResult, MonitorSettings
from fairstats.report.pages import check_convertible
from fairstats.report.report import page_of

#: What the state file is, in words.
_STATE = "what an earlier fairstats monitor wrote, or a new name"
#: Settings that the command names otherwise.
_OPTION_OF_SETTING = {"sensitive_features": "group"}


def run_monitor(state: Path, files: Sequence[Path], arguments: dict[str, Any]) -> None:
    """Read the state, add the files, write it, say what changed."""
    outputs = Outputs(files)
    outputs.plan("state", state, JSON)
    outputs.plan("--csv", arguments.pop("csv"), CSV)
    outputs.plan("--out", arguments.pop("out"), (*HTML, *DOCUMENTS))
    if kind_of_page_in(outputs) in DOCUMENTS:
        check_convertible(kind_of_page_in(outputs), "--out")
    reading = options.reading_options(arguments)
    engine = arguments.pop("engine").value
    state_bytes = state.read_bytes() if state.is_file() else None
    settings = _settings_of(arguments)
    if state_bytes is None:
        watched = MonitorResult(settings=_new_settings(settings))
    else:
        watched = _read_state(state_bytes, state)
        _check_unchanged(watched.settings, settings)
    n_before = len(watched.files)
    notes: dict[str, None] = {}
    for file in files:
        with warnings.catch_warnings(record=True) as reading_warnings:
            warnings.simplefilter("always", FairstatsWarning)
            digest, counts, clusters = _count_file(file, watched.settings, reading, engine)
        notes |= {str(warning.message): None for warning in reading_warnings}
        watched = watched.add(str(file), digest, counts, clusters)

    def state_text() -> str:
        if (state.read_bytes() if state.is_file() else None) != state_bytes:
            raise InputError(
                "state",
                got=f"{str(state)!r}, which another run wrote meanwhile",
                allowed="one run at a time",
                cure="run this one again",
            )
        return json.dumps(watched.to_dict(), ensure_ascii=False, allow_nan=False)

    def page_text() -> str | bytes:
        from fairstats.report.audit import audit

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FairstatsWarning)  # the report's notes say the same
            return page_of(audit(watched), kind_of_page_in(outputs))

    contents: dict[str, Callable[[], str | bytes]] = {
        "--csv": lambda: str(watched.path().to_csv(index=False)),
        "--out": page_text,
    }
    if files or state_bytes is None:
        contents["state"] = state_text
    outputs.write(contents)
    to_error = outputs.to_standard_output
    for note in notes:
        typer.echo(note, err=True)
    if not outputs.failures:
        for sentence in _describe_run(watched, n_before):
            typer.echo(sentence, err=to_error)
    finish(outputs)
    if watched.alarm:
        raise typer.Exit(exits.FINDING)


def _describe_run(watched: MonitorResult, n_before: int) -> list[str]:
    """What the run has to say."""
    n_new = len(watched.files) - n_before
    lines = [f"{watched.title}."]
    if watched.files:
        lines = [f"{watched.title}: {watched.counts.n:,} rows ({n_new} of the files new)."]
    lines += watched.changes(n_before if n_new else len(watched.files))
    # without outcomes, with clusters, or after one file there is no such split
    with contextlib.suppress(InputError):
        lines += watched.drift_sentences()
    if watched.alarm:
        lines.append(f"ALARM: a violation was first shown after {watched.alarm}.")
    return lines


def _settings_of(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """What the command line says of the settings; what it leaves out is not among them."""
    plain = options.plain_values(arguments)
    plain["sensitive_features"] = tuple(plain.pop("group") or ()) or None
    label_values = options.label_values(plain["label_values"])
    plain["label_values"] = tuple(label_values) if label_values else None
    plain.pop("memory", None)
    settings: dict[str, Any] = {}
    for name, value in plain.items():
        if value is not None:
            settings[name] = value
    return settings


def _new_settings(arguments: Mapping[str, Any]) -> MonitorSettings:
    """Settings of a new monitor; an InputError names the option that is missing or does not fit."""
    settings = MonitorSettings(**arguments)
    if not settings.sensitive_features:
        raise InputError("--group", got="nothing", allowed="a sensitive column", cure="--group sex")
    if settings.y_true is None and settings.y_pred is None:
        raise InputError(
            "--y-pred",
            got="nothing",
            allowed="a column of predictions or outcomes",
            cure="--y-pred hired",
        )
    if settings.method != "anytime" and settings.cluster is not None:
        raise InputError(
            "--cluster",
            got=f"{settings.cluster!r} with --method {settings.method}",
            allowed="clusters with --method anytime, whose standard errors count them",
            cure="leave --method out",
        )
    if settings.method == "anytime" and settings.planned is None:
        raise InputError(
            "--planned",
            got="nothing",
            allowed="the rows that are expected in all, fixed before the first look",
            cure="--planned 20000, or --method anytime-exact",
        )
    return settings


def _read_state(state_bytes: bytes, path: Path) -> MonitorResult:
    """The state that an earlier run wrote; what is another file stays as it is."""
    state = parse_json(state_bytes, "state", repr(str(path)), _STATE)
    if state.get("class") != MonitorResult.__name__:
        raise InputError(
            "state",
            got=f"{str(path)!r}, another file",
            allowed=_STATE,
            cure="name another file",
        )
    return MonitorResult.from_dict(state)


def _check_unchanged(settings: MonitorSettings, arguments: Mapping[str, Any]) -> None:
    """Refuse other settings than those that were fixed before the first look."""
    for name, value in arguments.items():
        kept = getattr(settings, name)
        if value == kept:
            continue
        option = "--" + _OPTION_OF_SETTING.get(name, name).replace("_", "-")
        raise InputError(
            option,
            got=repr(value),
            allowed=f"{kept!r}, as it was fixed before the first look",
            cure="leave the option out, or begin a new state with all files",
        )


def _count_file(
    file: Path,
    settings: MonitorSettings,
    reading: ReadingOptions,
    engine: str,
) -> tuple[str, Tally, list[Any] | None]:
    """The digest of a file, its tally, and the names of its clusters where it has some."""
    held_bytes = held_input(file)
    digest = _digest_of(file, held_bytes)
    if file.suffix == ".json" or (held_bytes or b"").lstrip().startswith(b"{"):
        text = file if held_bytes is None else held_bytes.decode("utf-8", "replace")
        return digest, Tally.from_json(text), None
    columns = {
        "y_true": settings.y_true,
        "y_pred": settings.y_pred,
        "cluster": settings.cluster,
    }
    roles = options.roles_of("monitor", columns, list(settings.sensitive_features))
    frame, _ = read_roles(options.source_of(file, held_bytes), roles, reading, engine=engine)
    labels = settings.label_values
    counts = tally(
        frame,
        y_true=settings.y_true,
        y_pred=settings.y_pred,
        sensitive_features=settings.sensitive_features,
        pos_label=options.pos_labels(settings.pos_label, settings.pos_label_pred),
        label_values=None if labels is None else list(labels),
        missing=settings.missing,
        cluster=settings.cluster,
    )
    clusters = None
    if settings.cluster is not None:
        clusters = _distinct_values(frame, settings.cluster)
    return digest, counts, clusters


def _distinct_values(frame: Any, column: str) -> list[Any]:
    """The distinct values of a column of a table or a lazy table, those that are missing left out."""
    table = nw.from_native(frame).select(nw.col(column)).unique()
    if isinstance(table, nw.LazyFrame):
        table = table.collect()
    values = []
    for value in table[column].to_list():
        if value is not None and value == value:
            values.append(value)
    return values


def _digest_of(file: Path, held_bytes: bytes | None) -> str:
    """SHA-256 of what is read: a file, or all files of a folder or pattern in order."""
    total = hashlib.sha256()
    if held_bytes is not None:
        total.update(held_bytes)
        return total.hexdigest()
    for one_file in files_of(file):
        if not one_file.is_file():
            raise InputError(
                "file",
                got=f"{str(file)!r}, which is not there",
                allowed="a file",
                cure="check it",
            )
        with one_file.open("rb") as stream:
            while block := stream.read(1 << 20):
                total.update(block)
    return total.hexdigest()
