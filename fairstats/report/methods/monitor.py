"""The page of what is watched: since when, and what a change is made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fairstats.ground.errors import InputError
from fairstats.ground.results import Result
from fairstats.methods.rates.monitoring import MonitorResult
from fairstats.report import questions
from fairstats.report.contents import Section
from fairstats.report.format import count, interval, number, printable, pvalue
from fairstats.report.inputs import AuditInput, AuditSettings
from fairstats.report.leads import isolate_names, one_row
from fairstats.report.methods.page import Answer, Exhibit, Page, Words, WordsOfTest
from fairstats.report.view import Part, SetView, Table

_PATH_HEADS = ("look", "file", "rows so far", "group", "reference", "estimate", "limits", "verdict")
_DRIFT_HEADS = ("group", "reference", "what", "estimate", "interval", "p-value of no change")
_DRIFT_TITLE = "What the change since the first file is made of"


def run_monitor(inputs: AuditInput) -> list[Result]:
    """Nothing: what is watched is a report of its own."""
    return []


def show_looks(section: Section, view: SetView) -> Iterator[Part]:
    """The path of the limits; where outcomes were counted, the change in two."""
    for result in section.results:
        if not isinstance(result, MonitorResult):
            continue
        title = printable(result.title)
        groups = []
        for comparison in result.comparisons:
            groups += [comparison.group, comparison.reference]
        yield Part(
            section.key,
            title,
            isolate_names(_lead_of_path(result), *groups),
            figures=one_row((result._make_picture(),)),
            tables=(
                Table(
                    title=title,
                    heads=_PATH_HEADS,
                    rows=tuple(_rows_of_path(result)),
                    notes=tuple(result.notes()),
                ),
            ),
        )
        drift = _drift_table(result)
        if drift is not None:
            lead = isolate_names(" ".join(result.drift_sentences()), *groups)
            yield Part("drift", _DRIFT_TITLE, lead, tables=(drift,))


def _lead_of_path(result: MonitorResult) -> str:
    n_files = len(result.files)
    noun = "file" if n_files == 1 else "files"
    beginning = f"After {n_files} {noun} with {result.counts.n:,} rows: "
    changes = " ".join(result.changes(n_files - 1))
    if result.alarm:
        return f"{beginning}{changes} A violation was first shown after {result.alarm}."
    return f"{beginning}{changes} No look has shown a violation."


def _rows_of_path(result: MonitorResult) -> Iterator[tuple[str, ...]]:
    signed = result.looks[-1].scale == "difference"
    for row in result.path().to_dict("records"):
        yield (
            count(row["look"]),
            printable(row["file"]),
            count(row["n_rows"]),
            printable(row["group"]),
            printable(row["reference"]),
            number(row["estimate"], signed=signed),
            interval(row["ci_low"], row["ci_high"], signed=signed),
            row["verdict"],
        )


def _drift_table(result: MonitorResult) -> Table | None:
    """Case mix and treatment from the first file to the last; None where they are not known."""
    try:
        drift = result.drift()
    except InputError:  # one file, or no outcomes
        return None
    rows = []
    for row in drift.to_dict("records"):
        rows.append(
            (
                printable(row["group"]),
                printable(row["reference"]),
                row["quantity"],
                number(row["estimate"], signed=True),
                interval(row["ci_low"], row["ci_high"], signed=True),
                pvalue(row["pvalue"]),
            )
        )
    note = (
        "Of the selection rate, by Kitagawa: case mix are other shares of cases with a favourable"
        " outcome, treatment other selection rates of cases that are alike in it. With a reference:"
        " of the difference between the groups. Limits of one look (delta method), which do not hold"
        " at every look."
    )
    return Table(title=_DRIFT_TITLE, heads=_DRIFT_HEADS, rows=tuple(rows), notes=(note,))


def _always(results: Sequence[Result], settings: AuditSettings) -> bool:
    return True


_TESTS = (
    WordsOfTest(
        _always,
        Words(
            text=(
                "Limits, p-values and verdicts hold at every look: the probability that any of them"
                " is ever false is at most 1 − the confidence level, however often one looks and for"
                " whatever reason one stops."
            ),
            cites=("robbins", "ville"),
        ),
    ),
)

PAGE = Page(
    method="monitor",
    run=run_monitor,
    answers=(Answer(questions.EVERY_LOOK, parts=show_looks, tests=_TESTS),),
    exhibits=(
        Exhibit(
            MonitorResult,
            questions.EVERY_LOOK,
            no_twin="a path of looks: each is a result of its own, with its twin",
        ),
    ),
)
