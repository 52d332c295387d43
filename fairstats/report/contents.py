"""What a report holds, and what its views read: statements, sections, verdicts, the one table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fairstats.ground.counts import CellCounts
from fairstats.ground.groups import INTERSECTION
from fairstats.ground.lazy import pd
from fairstats.ground.outcomes import words_of_labels
from fairstats.ground.results import TIDY_COLUMNS, Result
from fairstats.ground.serialise import serialisable
from fairstats.ground.verdict import VERDICTS
from fairstats.methods.madd.mitigation import MitigationResult
from fairstats.methods.madd.result import MaddResult
from fairstats.methods.rates.models.result import ModelComparison
from fairstats.methods.rates.result import ComparisonResult
from fairstats.methods.rates.stratified_result import StratifiedComparison
from fairstats.report.claims import Claim, claims_of, claims_sentence
from fairstats.report.inputs import AuditColumns, AuditSettings


@serialisable()
class Statement:
    """One statement: what it is about, and the text."""

    title: str
    text: str


@serialisable(eq=False)
class Section:
    """Results of one method for one set of attributes.

    `key`, `title`: of the method; `attributes`: the sensitive columns; several are crossed; `warnings`:
    warnings that no result repeats in its notes.
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
        """Rows of the table of each result: data frames of so few rows take longer than their statistics."""
        return tuple(result.rows() for result in self.results)

    @property
    def judged(self) -> list[str]:
        """Verdicts of the comparisons; what changes between models is judged otherwise."""
        others = (MitigationResult, ModelComparison)
        kept = (rows for r, rows in zip(self.results, self.rows, strict=True) if not isinstance(r, others))
        return [row["verdict"] for rows in kept for row in rows if "verdict" in row]


def count_verdicts(sections: Iterable[Section]) -> dict[str, int]:
    """Number of comparisons per verdict."""
    found = [verdict for section in sections for verdict in section.judged]
    return {name: found.count(name) for name in VERDICTS}


def compares(result: Any) -> bool:
    """Whether a result compares rates or score distributions: with bounds, tests and verdicts."""
    return isinstance(result, (ComparisonResult, MaddResult))


def compared(result: Any) -> tuple[Any, ...]:
    """Comparisons of rates or of score distributions; of other results none."""
    return tuple(result.comparisons) if compares(result) else ()


def rests_on_exact_test(comparison: Any) -> bool:
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
        return tuple(result for section in self.sections for result in section.results)

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
        """What every row says over the whole audit, by the positions of its section, its result and its row."""
        return claims_of(self.sections, self.settings.confidence_level)

    def to_frame(self) -> pd.DataFrame:
        """The tidy tables of all results, one below the other.

        Returns
        -------
        DataFrame
            Columns ``section``, ``sensitive_features``, those of the results, and what each row says over the whole
            audit: ``pvalue_audit`` and ``real_over_audit`` (rates differ), ``pvalue_verdict_audit`` and
            ``holds_over_audit`` (the verdict of the row), by Holm over the facts of the audit; None where nothing is
            tested or decided.
        """
        rows = []
        for s, section in enumerate(self.sections):
            place = {"section": section.key, "sensitive_features": section.attribute_text}
            for r, of_result in enumerate(section.rows):
                for at, row in enumerate(of_result):
                    claim = self.claims.get((s, r, at), Claim())
                    rows.append({**place, **row, **claim._asdict()})
        first = ["section", "sensitive_features", *TIDY_COLUMNS]
        names = dict.fromkeys(name for row in rows for name in row)
        extra = [name for name in names if name not in first and name not in Claim._fields]
        return pd.DataFrame(rows, columns=[*first, *extra, *Claim._fields])


def headline(report: Contents) -> str:
    """The verdicts in one sentence, and what of them holds over the whole audit in another."""
    v, total, s = report.verdicts, sum(report.verdicts.values()), report.settings
    if not total:
        return "Nothing was compared."
    alpha = 1 - s.confidence_level
    head = f"{v['violated']} of {total} comparisons show{'s' if v['violated'] == 1 else ''} a violation"
    if not v["violated"]:
        head = f"None of {total} comparisons shows a violation"
    few = v["insufficient evidence"]
    rest = [
        f"{v['satisfied']} {'satisfies' if v['satisfied'] == 1 else 'satisfy'} the threshold",
        f"{v['undecided']} {'is' if v['undecided'] == 1 else 'are'} undecided",
        *([f"{few} {'lacks' if few == 1 else 'lack'} the evidence"] if few else []),
    ]
    judged = [c for result in report.results for c in compared(result) if c.direction]
    changed = sum(c.verdict == "undecided" and c.pvalue_verdict <= alpha for c in judged)
    alone = f" Judged one by one, {changed} more would be decided." if changed else ""
    family = "per comparison" if s.adjust == "none" else "per metric"
    what = "a false discovery rate" if s.adjust.startswith("fdr") else "an error"
    claimed = claims_sentence(report.sections, s.confidence_level, report.claims)
    text = f"{head}, with {what} of {100 * alpha:.3g}% {family}; {', '.join(rest)}.{alone}"
    return " ".join(filter(None, (text, claimed, within_strata(report.results), *labels_beside(report))))


def labels_beside(report: Contents) -> list[str]:
    """The labels that counted as not favourable, with their rows, where there are several: one sentence a column."""
    if not report.tables:
        return []
    columns = {"y_true": report.columns.y_true, "y_pred": report.columns.y_pred}
    said = report.tables[0].missing.unfavourable
    return [words_of_labels(columns.get(argument) or argument, labels) for argument, labels in said.items()]


def within_strata(results: Iterable[Any]) -> str:
    """One sentence where crude and adjusted comparisons disagree; empty where none do, or there are no strata."""
    rows = [c for result in results for c in compared(result) if isinstance(c, StratifiedComparison)]
    said = [c.disagreement for c in rows if c.disagreement]
    if not said:
        return ""
    more = f" (and {len(said) - 1} more; the notes list them)" if len(said) > 1 else ""
    return f"Strata change the answer for {len(said)} of {len(rows)} comparisons: {said[0]}{more}"
