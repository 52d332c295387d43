"""What a report holds, and what its views read: statements, sections, verdicts, the one table."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fairstats.ground.counts import CellCounts
from fairstats.ground.groups import INTERSECTION
from fairstats.ground.lazy import pd
from fairstats.ground.multiplicity import FALSE_DISCOVERY
from fairstats.ground.outcomes import words_of_labels
from fairstats.ground.results import TIDY_COLUMNS, Comparison, Result
from fairstats.ground.serialise import serialisable
from fairstats.ground.verdict import VERDICTS
from fairstats.methods.madd.mitigation import MitigationResult
from fairstats.methods.madd.result import MaddResult
from fairstats.methods.rates.inferred.result import lead_of_inferred
from fairstats.methods.rates.models.result import ModelComparison
from fairstats.methods.rates.monitoring import MonitorResult
from fairstats.methods.rates.numbers.curves import CURVES
from fairstats.methods.rates.numbers.decomposition import DecompositionResult
from fairstats.methods.rates.result import ComparisonResult
from fairstats.methods.rates.strata.result import StratifiedComparison
from fairstats.report.claims import Claim, answers_by_fact, claims_of, claims_sentence
from fairstats.report.inputs import AuditColumns, AuditSettings


@serialisable()
class Statement:
    """One statement: what it is about, and the text."""

    title: str
    text: str


@serialisable(eq=False)
class Section:
    """Results of one method for one set of attributes.

    `key`, `title`: of the method; `attributes`: the sensitive columns; several are crossed;
    `warnings`: warnings that no result repeats in its notes.
    """

    key: str
    title: str
    attributes: tuple[str, ...]
    results: tuple[Result, ...]
    warnings: tuple[str, ...] = ()

    @property
    def attribute_text(self) -> str:
        """Name of the set of attributes."""
        return INTERSECTION.join(self.attributes)

    @cached_property
    def rows(self) -> tuple[list[dict[str, Any]], ...]:
        """Rows of the table of each result.

        Data frames of so few rows take longer than their statistics.
        """
        return tuple(result.rows() for result in self.results)

    @property
    def judged(self) -> list[str]:
        """Verdicts of the comparisons; what changes between models is judged otherwise, and so is
        what goes along cut-offs: by stretches. The last look of a monitor stands among the rates.
        """
        judged_otherwise = (
            MitigationResult,
            ModelComparison,
            MonitorResult,
            DecompositionResult,
            *CURVES,
        )
        rows_judged = (
            rows
            for result, rows in zip(self.results, self.rows, strict=True)
            if not isinstance(result, judged_otherwise)
        )
        result: list[str] = []
        for rows in rows_judged:
            for row in rows:
                if "verdict" in row:
                    result.append(row["verdict"])
        return result


def count_verdicts(sections: Iterable[Section]) -> dict[str, int]:
    """Number of comparisons per verdict."""
    verdicts = []
    for section in sections:
        for verdict in section.judged:
            verdicts.append(verdict)
    return {name: verdicts.count(name) for name in VERDICTS}


def compares(result: Result) -> bool:
    """Whether a result compares rates or score distributions: with bounds, tests and verdicts."""
    if isinstance(result, (DecompositionResult, *CURVES)):
        return False
    return isinstance(result, (ComparisonResult, MaddResult))


def compared(result: Result) -> tuple[Any, ...]:
    """Comparisons of rates or of score distributions; of other results none."""
    if compares(result):
        return tuple(result.comparisons)
    return ()


def rests_on_exact_test(comparison: Comparison) -> bool:
    """Whether the verdict is by an exact test, for want of cases."""
    return bool(comparison.procedure.exact)


@dataclass(frozen=True, eq=False)
class Contents:
    """Everything that an audit found; `AuditReport` says what each field is, and adds the views."""

    title: str
    created: str
    columns: AuditColumns
    settings: AuditSettings
    tables: tuple[CellCounts, ...]
    sections: tuple[Section, ...]
    statements: tuple[Statement, ...]
    notes: tuple[str, ...]
    methods: tuple[Statement, ...]
    references: tuple[str, ...]
    versions: dict[str, str]

    @property
    def results(self) -> tuple[Result, ...]:
        """Every result, in the order of the sections."""
        results = []
        for section in self.sections:
            for result in section.results:
                results.append(result)
        return tuple(results)

    @property
    def verdicts(self) -> dict[str, int]:
        """Number of comparisons per verdict."""
        return count_verdicts(self.sections)

    @property
    def violated(self) -> bool:
        """Whether any comparison is judged violated."""
        return self.verdicts["violated"] > 0

    @cached_property
    def claims(self) -> dict[tuple[int, int, int], Claim]:
        """What every row says over the whole audit, by the positions of its section, its result and
        its row.
        """
        return claims_of(self.sections, self.settings.confidence_level)

    def _answers_by_fact(self) -> dict[Hashable, tuple[bool, bool]]:
        """Whether a difference is real, and whether it is beyond a limit, of every fact tested."""
        return answers_by_fact(self.sections, self.claims)

    def to_frame(self) -> pd.DataFrame:
        """The tidy tables of all results, one below the other.

        Returns
        -------
        DataFrame
            Columns ``section``, ``sensitive_features``, those of the results, and what each row
            says over the whole audit: ``pvalue_audit`` and ``real_over_audit`` (rates differ),
            ``pvalue_verdict_audit`` and ``holds_over_audit`` (the verdict of the row), by Holm over
            the facts of the audit; None where nothing is tested or decided.
        """
        rows = []
        for section_at, section in enumerate(self.sections):
            place = {"section": section.key, "sensitive_features": section.attribute_text}
            for result_at, of_result in enumerate(section.rows):
                for row_at, row in enumerate(of_result):
                    claim = self.claims.get((section_at, result_at, row_at), Claim())
                    rows.append({**place, **row, **claim._asdict()})
        first = ["section", "sensitive_features", *TIDY_COLUMNS]
        names = dict.fromkeys(name for row in rows for name in row)
        extra = []
        for name in names:
            if name not in first and name not in Claim._fields:
                extra.append(name)
        return pd.DataFrame(rows, columns=[*first, *extra, *Claim._fields])


def headline(report: Contents) -> str:
    """The verdicts in one sentence, and what of them holds over the whole audit in another."""
    verdicts = report.verdicts
    total = sum(report.verdicts.values())
    settings = report.settings
    if not total:
        return "Nothing was compared."
    alpha = 1 - settings.confidence_level
    n_violated = verdicts["violated"]
    n_satisfied = verdicts["satisfied"]
    n_undecided = verdicts["undecided"]
    n_lacking = verdicts["insufficient evidence"]
    show = "shows" if n_violated == 1 else "show"
    beginning = f"{n_violated} of {total} comparisons {show} a violation"
    if not n_violated:
        beginning = f"None of {total} comparisons shows a violation"
    satisfy = "satisfies" if n_satisfied == 1 else "satisfy"
    are = "is" if n_undecided == 1 else "are"
    other_verdicts = [f"{n_satisfied} {satisfy} the threshold", f"{n_undecided} {are} undecided"]
    if n_lacking:
        lack = "lacks" if n_lacking == 1 else "lack"
        other_verdicts.append(f"{n_lacking} {lack} the evidence")
    judged = []
    for result in report.results:
        for comparison in compared(result):
            if comparison.direction:
                judged.append(comparison)
    changed = sum(
        comparison.verdict == "undecided" and comparison.pvalue_verdict <= alpha
        for comparison in judged
    )
    if changed:
        sentence_alone = f" Judged one by one, {changed} more would be decided."
    else:
        sentence_alone = ""
    if settings.adjust == "none":
        family = "per comparison"
    else:
        family = "per metric"
    if settings.adjust in FALSE_DISCOVERY:
        error_words = "a false discovery rate"
    else:
        error_words = "an error"
    claimed = claims_sentence(report.sections, settings.confidence_level, report.claims)
    text = (
        f"{beginning}, with {error_words} of {100 * alpha:.3g}% {family};"
        f" {', '.join(other_verdicts)}.{sentence_alone}"
    )
    inferred = lead_of_inferred(report.results)
    return " ".join(
        filter(
            None, (inferred, text, claimed, within_strata(report.results), *labels_beside(report))
        )
    )


def labels_beside(report: Contents) -> list[str]:
    """The labels that counted as not favourable, with their rows, where there are several.

    One sentence a column.
    """
    if not report.tables:
        return []
    columns = {"y_true": report.columns.y_true, "y_pred": report.columns.y_pred}
    labels_by_argument = report.tables[0].missing.unfavourable
    result: list[str] = []
    for argument, labels in labels_by_argument.items():
        result.append(words_of_labels(columns.get(argument) or argument, labels))
    return result


def within_strata(results: Iterable[Any]) -> str:
    """One sentence where crude and adjusted comparisons disagree.

    Empty where none do, or there are no strata.
    """
    rows = []
    for result in results:
        for comparison in compared(result):
            if isinstance(comparison, StratifiedComparison):
                rows.append(comparison)
    disagreements = []
    for comparison in rows:
        if comparison.disagreement:
            disagreements.append(comparison.disagreement)
    if not disagreements:
        return ""
    if len(disagreements) > 1:
        more_text = f" (and {len(disagreements) - 1} more; the notes list them)"
    else:
        more_text = ""
    return (
        f"Strata change the answer for {len(disagreements)} of {len(rows)} comparisons:"
        f" {disagreements[0]}{more_text}"
    )
