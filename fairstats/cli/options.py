"""The options of the command line as tables, and what their text means."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer


def choice(name: str, *values: str) -> Any:
    """An enumeration, which typer offers as choices."""
    return StrEnum(name, {value.replace("-", "_"): value for value in values})


@dataclass(frozen=True)
class Option:
    """One option of ``fairstats audit``.

    Attributes
    ----------
    name : str
        Argument of `fairstats.audit` that it becomes, or of the command itself.
    help : str
    kind : type
        Of the value; a StrEnum for a choice, a list for what may be repeated.
    default : object
    flag : str
        Default: the name with hyphens.
    column : bool
        Whether it names columns of the file.
    """

    name: str
    help: str
    kind: Any = str
    default: Any = None
    flag: str = ""
    column: bool = False

    def parameter(self) -> inspect.Parameter:
        """As a parameter of the command."""
        flag = self.flag or "--" + self.name.replace("_", "-")
        kind = self.kind | None if self.default is None else self.kind
        shown = self.default is not None
        return inspect.Parameter(
            self.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=self.default,
            annotation=Annotated[kind, typer.Option(flag, help=self.help, show_default=shown)],
        )


MISSING = choice("Missing", "raise", "drop", "group")
FAMILY = choice("Family", "metric", "audit")
TEMPLATE = choice("Template", "ugesp", "ll144")
ENGINE = choice("Engine", "auto", "rows", "duckdb", "polars", "spark")
#: How a table is read.
READING = (
    Option("delimiter", r"Separator of the CSV file; \t is a tab."),
    Option(
        "engine",
        "What counts. auto: rows in memory for a file below 256 MB, else DuckDB, which loads nothing.",
        ENGINE,
        ENGINE("auto"),
    ),
    Option("memory", "Memory that DuckDB may use, as 2GB; the rest goes to disk."),
)
#: Every option of ``fairstats audit``.
OPTIONS = (
    Option("group", "Sensitive column; repeat for several.", list[str], column=True),
    Option("y_true", "Column of the outcomes.", column=True),
    Option(
        "y_pred",
        "Column of the predictions; of several models NAME=COLUMN, repeated.",
        list[str],
        column=True,
    ),
    Option(
        "score",
        "Column of scores in [0, 1], larger = better; adds MADD. Of several models NAME=COLUMN, repeated.",
        list[str],
        column=True,
    ),
    Option("reference", "Reference group; for several columns COLUMN=GROUP, repeated.", list[str]),
    Option("pos_label", "Favourable value of outcome and prediction."),
    Option("pos_label_pred", "Favourable value of the prediction, where it differs."),
    Option("sample_weight", "Column of sampling weights.", flag="--weight", column=True),
    Option("cluster", "Column of clusters (person, site).", column=True),
    Option(
        "features",
        "Feature column, repeated: with outcomes and predictions adds HFM.",
        list[str],
        flag="--feature",
        column=True,
    ),
    Option(
        "counterfactual_score",
        "Column of the score with another value of the sensitive attribute (for several: ATTRIBUTE=COLUMN, "
        "repeated); adds ECD.",
        list[str],
    ),
    Option("missing", "What to do with missing values.", MISSING, MISSING("raise")),
    Option("confidence_level", "Of the intervals.", float, 0.95),
    Option("threshold", "Ratio below which, or above whose inverse, lies a violation.", float, 0.8),
    Option("margin", "Size of a difference beyond which it is violated (MADD: twice).", float, 0.1),
    Option("method", "Interval method.", choice("Method", "log", "score", "koopman", "delta", "bootstrap")),
    Option(
        "simultaneous",
        "Make the intervals of a metric hold at once.",
        choice("Simultaneous", "bonferroni", "max-z"),
    ),
    Option("family", "Adjust p-values over this.", FAMILY, FAMILY("metric")),
    Option(
        "intersections",
        "Cross several sensitive columns.",
        bool,
        True,
        flag="--intersections/--no-intersections",
    ),
    Option(
        "evaluated_on",
        "Whether the rows were used in training.",
        choice("EvaluatedOn", "training", "held-out"),
    ),
    Option("mitigation", "JSON of what MaddMitigator.evaluate returned; adds a section.", Path),
    Option("title", "Title of the report."),
    Option("rng", "Seed of what is random.", int, 1, flag="--seed"),
    *READING,
)
#: The options of ``fairstats tally``, beside those that it shares with ``audit``.
TALLIED = (
    Option("strata", "Column of strata."),
    Option("out", "The JSON file; - is standard output.", Path, Path("tally.json")),
    Option("min_cell", "Withhold cells of fewer rows than this (and all but cells).", int),
    Option("exact", "Keep every score and the rows of features, which can point at people.", bool, False),
)
#: The options of ``fairstats adverse-impact``.
IMPACT = (
    Option("selected", "Column of the decision; repeat for the steps of a process.", list[str], column=True),
    Option("score", "In place of it: column of scores, compared above the median of all.", column=True),
    Option("sex", "Column of the sex.", column=True),
    Option("race", "Column of race or ethnicity.", column=True),
    Option("strata", "Column of jobs or years; adds Mantel–Haenszel and Breslow–Day.", column=True),
    Option("number", "Column with the number of people that each row stands for.", column=True),
    Option("reference", "highest, or a group; repeat for several tables.", list[str]),
    Option("template", "Uniform guidelines, or Local Law 144.", TEMPLATE, TEMPLATE("ugesp")),
    Option("threshold", "Four fifths.", float, 0.8),
    Option("confidence_level", "Of the intervals.", float, 0.95),
    Option("pos_label", "The value that means selected."),
    Option("measure", "What counts (.json) are counts of.", choice("Measure", "selection", "scoring")),
    Option("least_share", "ll144: share below which a category may have no ratio.", float, 0.02),
    Option("reason", "ll144: why such categories are left out of the ratios."),
    Option("about", "ll144: KEY=TEXT, repeated: tool, auditor, audit_date, source …", list[str]),
    Option("unknown", "Of counts: people of unknown category, or TABLE=NUMBER, repeated.", list[str]),
    Option("title", "Title of the report."),
    Option("csv", "ll144: write the tables as CSV; - is standard output.", Path),
    READING[0],
)
#: Options of ``audit`` that ``tally`` has, too.
SHARED = (
    "group", "y_true", "y_pred", "score", "pos_label", "pos_label_pred", "sample_weight", "cluster",
    "features", "counterfactual_score", "missing", *(option.name for option in READING),
)  # fmt: skip
#: What every command that makes a report delivers.
DELIVERY = (
    Option(
        "out",
        "Write the report as one HTML file (Word or PDF: name.docx, name.pdf); - is standard output.",
        Path,
    ),
    Option("json", "Write the results as JSON; - is standard output.", Path),
    Option("full", "Print every comparison of intersections, too.", bool, False, flag="--full"),
    Option("fail_on", "Exit with 1 when a comparison is violated.", choice("FailOn", "violated")),
)


def reference_of(given: Sequence[str] | None, groups: Sequence[str]) -> Any:
    """``None``, one group, or a mapping from column to group."""
    if not given:
        return None
    found: dict[str, str] = {}
    for text in given:
        column, sign, value = text.partition("=")
        if sign and (column in groups or " & " in column):
            found[column] = value
        elif len(given) == 1:
            return text
        else:
            raise typer.BadParameter(f"{text!r}: with several, write COLUMN=GROUP", param_hint="--reference")
    return found


def by_model(given: Sequence[str] | None, option: str) -> Any:
    """``None``, one column, or a mapping from model to column."""
    if not given or len(given) == 1:
        return given[0] if given else None
    parts = [text.partition("=") for text in given]
    if not all(sign and name and column for name, sign, column in parts):
        raise typer.BadParameter(f"{', '.join(given)}: with several, write NAME=COLUMN", param_hint=option)
    return {name: column for name, _, column in parts}


def by_column(given: Sequence[str] | None, groups: Sequence[str], option: str) -> dict[str, str]:
    """Sensitive column → column, from ``COLUMN`` or ``ATTRIBUTE=COLUMN``."""
    found: dict[str, str] = {}
    for text in given or ():
        attribute, sign, column = text.partition("=")
        if sign and attribute in groups:
            found[attribute] = column
        elif len(given or ()) == 1 and len(groups) == 1:
            found[groups[0]] = text
        else:
            raise typer.BadParameter(
                f"{text!r}: with several sensitive columns, write ATTRIBUTE=COLUMN", param_hint=option
            )
    return found


def by_key(given: Sequence[str] | None, option: str) -> dict[str, str]:
    """KEY → text, from ``KEY=TEXT``."""
    parts = [text.partition("=") for text in given or ()]
    if not all(sign and key for key, sign, _ in parts):
        raise typer.BadParameter(f"{', '.join(given or ())}: write KEY=TEXT", param_hint=option)
    return {key: text for key, _, text in parts}


def numbers_of(given: Sequence[str] | None) -> Any:
    """``None``, one number, or table → number, from ``NUMBER`` or ``TABLE=NUMBER``."""
    if not given:
        return None
    named = {} if len(given) == 1 and "=" not in given[0] else by_key(given, "--unknown")
    try:
        return {table: int(text) for table, text in named.items()} or int(given[0])
    except ValueError as problem:
        raise typer.BadParameter(f"{', '.join(given)}: no whole number", param_hint="--unknown") from problem


def pos_labels(pos_label: str | None, pos_label_pred: str | None) -> Any:
    """``None``, one value for both columns, or a mapping."""
    if pos_label_pred is None:
        return pos_label
    both = {"y_true": pos_label, "y_pred": pos_label_pred}
    return {name: value for name, value in both.items() if value is not None}


def columns_in(value: Any) -> list[str]:
    """Columns named by one, several, or a mapping from model to column."""
    if isinstance(value, Mapping):
        return list(value.values())
    return [value] if isinstance(value, str) else list(value)
