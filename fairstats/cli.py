"""The command line: ``fairstats audit``, ``demo``, ``doctor``; ``crosscheck`` and ``vignettes`` have modules.

Exit codes: 0 done, 1 a violation was found and ``--fail-on violated`` given, 2 usage or input that cannot
be used.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fairstats._version import __version__
from fairstats.ground.errors import FairstatsError, FairstatsWarning, MissingDependencyError

try:
    import typer
    from typer.core import TyperGroup
except ImportError as problem:
    raise MissingDependencyError(
        "typer", extra="cli", purpose="The command line", alternative="call fairstats.audit(…) from Python"
    ) from problem

from fairstats.cli_crosscheck import crosscheck_command
from fairstats.cli_vignettes import vignettes

if TYPE_CHECKING:
    from fairstats.report.report import AuditReport

__all__ = ["app"]

DEMO_REPORT = "fairstats-report.html"


class Commands(TyperGroup):
    """The commands; an error of ours becomes one line on standard error and exit code 2."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except FairstatsError as problem:
            typer.echo(f"fairstats: {problem}", err=True)
            raise typer.Exit(2) from None
        except KeyboardInterrupt:
            typer.echo("fairstats: interrupted", err=True)
            raise typer.Exit(130) from None


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Inference-grade algorithmic fairness: every figure with an interval and a test.",
)
app.add_typer(vignettes, name="vignettes")
app.command("crosscheck")(crosscheck_command)


class Missing(StrEnum):
    """What to do with missing values."""

    refuse = "raise"
    drop = "drop"
    group = "group"


class Method(StrEnum):
    """Interval method."""

    log = "log"
    score = "score"
    koopman = "koopman"
    delta = "delta"
    bootstrap = "bootstrap"


class Simultaneous(StrEnum):
    """Simultaneous intervals."""

    bonferroni = "bonferroni"
    max_z = "max-z"


class Family(StrEnum):
    """What p-values are adjusted over."""

    metric = "metric"
    audit = "audit"


class EvaluatedOn(StrEnum):
    """Whether the rows were used in training."""

    training = "training"
    held_out = "held-out"


class FailOn(StrEnum):
    """When to exit with 1."""

    violated = "violated"


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"fairstats {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Inference-grade algorithmic fairness: every figure with an interval and a test."""


Out = Annotated[
    Path | None, typer.Option("--out", help="Write the report as one HTML file.", show_default=False)
]
Json = Annotated[Path | None, typer.Option("--json", help="Write the results as JSON.", show_default=False)]
Full = Annotated[bool, typer.Option("--full", help="Print every comparison of intersections, too.")]
Fail = Annotated[
    FailOn | None,
    typer.Option("--fail-on", help="Exit with 1 when a comparison is violated.", show_default=False),
]


@app.command("audit")
def audit_command(
    file: Annotated[Path, typer.Argument(help="CSV (also .gz) or Parquet file, one row per person.")],
    group: Annotated[list[str], typer.Option("--group", help="Sensitive column; repeat for several.")],
    y_true: Annotated[str | None, typer.Option("--y-true", help="Column of the outcomes.")] = None,
    y_pred: Annotated[str | None, typer.Option("--y-pred", help="Column of the predictions.")] = None,
    score: Annotated[
        str | None, typer.Option("--score", help="Column of scores in [0, 1], larger = better; adds MADD.")
    ] = None,
    reference: Annotated[
        list[str] | None,
        typer.Option("--reference", help="Reference group; for several columns COLUMN=GROUP, repeated."),
    ] = None,
    favorable: Annotated[
        str | None, typer.Option("--favorable", help="Favourable value of outcome and prediction.")
    ] = None,
    favorable_pred: Annotated[
        str | None,
        typer.Option("--favorable-pred", help="Favourable value of the prediction, where it differs."),
    ] = None,
    weight: Annotated[str | None, typer.Option("--weight", help="Column of sampling weights.")] = None,
    cluster: Annotated[
        str | None, typer.Option("--cluster", help="Column of clusters (person, site).")
    ] = None,
    feature: Annotated[
        list[str] | None,
        typer.Option("--feature", help="Feature column, repeated: with outcomes and predictions adds HFM."),
    ] = None,
    counterfactual_score: Annotated[
        list[str] | None,
        typer.Option(
            "--counterfactual-score",
            help="Column of the score with another value of the sensitive attribute (for several: "
            "ATTRIBUTE=COLUMN, repeated); adds ECD.",
        ),
    ] = None,
    missing: Annotated[
        Missing, typer.Option("--missing", help="What to do with missing values.")
    ] = Missing.refuse,
    confidence_level: Annotated[float, typer.Option("--confidence-level", help="Of the intervals.")] = 0.95,
    threshold: Annotated[
        float, typer.Option("--threshold", help="Ratio below which lies a violation.")
    ] = 0.8,
    tolerance: Annotated[
        float, typer.Option("--tolerance", help="Size of a difference that is tolerated (MADD: twice).")
    ] = 0.1,
    method: Annotated[Method | None, typer.Option("--method", help="Interval method.")] = None,
    simultaneous: Annotated[
        Simultaneous | None,
        typer.Option("--simultaneous", help="Make the intervals of a metric hold at once."),
    ] = None,
    family: Annotated[Family, typer.Option("--family", help="Adjust p-values over this.")] = Family.metric,
    intersections: Annotated[
        bool, typer.Option("--intersections/--no-intersections", help="Cross several sensitive columns.")
    ] = True,
    evaluated_on: Annotated[
        EvaluatedOn | None, typer.Option("--evaluated-on", help="Whether the rows were used in training.")
    ] = None,
    title: Annotated[str | None, typer.Option("--title", help="Title of the report.")] = None,
    delimiter: Annotated[str | None, typer.Option("--delimiter", help="Separator of the CSV file.")] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of what is random.")] = 1,
    out: Out = None,
    json: Json = None,
    full: Full = False,
    fail_on: Fail = None,
) -> None:
    """Audit the predictions in a file for differences between groups."""
    from fairstats.report.audit import audit
    from fairstats.report.read import read_table

    changed = _by_column(counterfactual_score, group, "--counterfactual-score")
    given = [y_true, y_pred, score, weight, cluster, *(feature or ()), *changed.values()]
    frame = read_table(file, [*group, *(name for name in given if name is not None)], delimiter=delimiter)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairstatsWarning)  # the report's notes say the same
        report = audit(
            frame,
            y_true=y_true,
            y_pred=y_pred,
            score=score,
            sensitive_features=group,
            reference=_reference(reference, group),
            favorable_label=_favorable(favorable, favorable_pred),
            sample_weight=weight,
            cluster=cluster,
            features=tuple(feature or ()),
            counterfactual_score=changed or None,
            missing=missing.value,
            confidence_level=confidence_level,
            threshold=threshold,
            tolerance=tolerance,
            method=method.value if method else None,
            simultaneous=simultaneous.value if simultaneous else None,
            family=family.value,
            intersections=intersections,
            evaluated_on=evaluated_on.value if evaluated_on else None,
            rng=seed,
            title=title,
        )
    _deliver(report, out, json, full=full)
    if fail_on is not None and report.violated:
        raise typer.Exit(1)


@app.command()
def demo(
    out: Annotated[Path, typer.Option("--out", help="Where to write the HTML report.")] = Path(DEMO_REPORT),
    intersections: Annotated[bool, typer.Option("--intersections", help="Cross race and sex, too.")] = False,
    json: Json = None,
    full: Full = False,
    fail_on: Fail = None,
) -> None:
    """Audit the COMPAS scores that come with the package (ProPublica's 6,172 rows) by race and sex."""
    from fairstats.report.demo import demo_report

    report = demo_report(intersections=intersections)
    _deliver(report, out, json, full=full)
    if fail_on is not None and report.violated:
        raise typer.Exit(1)


@app.command()
def doctor() -> None:
    """Say what is installed, which back ends work and, if not, why."""
    from fairstats.ground.doctor import doctor as examine

    typer.echo(str(examine()))


def _deliver(report: AuditReport, out: Path | None, json: Path | None, *, full: bool) -> None:
    """Print the report, write the files that were asked for, say where they are."""
    from fairstats.report.terminal import show

    show(report, full=full, stream=sys.stdout)
    written = [report.to_html(out)] if out is not None else []
    if json is not None:
        written.append(report.to_json(json))
    for path in written:
        typer.echo(f"Written: {path}")


def _reference(given: Sequence[str] | None, groups: Sequence[str]) -> Any:
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


def _by_column(given: Sequence[str] | None, groups: Sequence[str], option: str) -> dict[str, str]:
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


def _favorable(favorable: str | None, favorable_pred: str | None) -> Any:
    if favorable_pred is None:
        return favorable
    both = {"y_true": favorable, "y_pred": favorable_pred}
    return {name: value for name, value in both.items() if value is not None}
