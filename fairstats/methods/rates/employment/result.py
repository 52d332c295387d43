"""Result of `adverse_impact`: per table every group against the one with the highest rate, or a named one."""

from __future__ import annotations

import math
from dataclasses import asdict, field, replace
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Self

from fairstats.ground.checks import check_that
from fairstats.ground.counts import SelectionCounts
from fairstats.ground.groups import INTERSECTION
from fairstats.ground.lazy import Axes
from fairstats.ground.results import Result
from fairstats.ground.serialise import serialisable, write_text
from fairstats.methods.rates.bounds import Bounds
from fairstats.methods.rates.employment import ll144
from fairstats.methods.rates.employment.figures import ImpactFigures
from fairstats.methods.rates.result import RateComparison, RatioResult
from fairstats.methods.rates.stratified import StratifiedRatioResult

METRIC = "adverse_impact"
#: Columns that the template of Local Law 144 has not.
_JUDGING = (
    "verdict", "reading", "bound_low", "bound_high", "pvalue_verdict", "pvalue_verdict_adjusted",
    "one_decision", "flip_flop", "shortfall_four_fifths",
)  # fmt: skip
#: Tests over strata → columns of their p-values.
_OF_STRATA = {"cmh_pvalue": "Cochran–Mantel–Haenszel", "breslow_day_pvalue": "Breslow–Day"}


@serialisable(eq=False)
class ImpactTable:
    """One table: a set of attributes at one step of the process.

    `by`: the attributes; `step`: of the process, empty where it has one; `counts`: all categories, and what
    is known of people in none; `result`: ratios with intervals and verdicts; `figures`: of each comparison,
    as `ImpactFigures`; `bounds`: group → what people of unknown category could make of its ratio, low and
    high, and the interval around them; empty where nobody is; `stratified`: Mantel–Haenszel over jobs or
    years, if asked for; `excluded`: category → why it has no ratio.
    """

    by: tuple[str, ...]
    step: str
    counts: SelectionCounts
    result: RatioResult | None
    figures: tuple[ImpactFigures, ...] = ()
    bounds: dict[str, tuple[float, float, float, float]] = field(default_factory=dict)
    stratified: StratifiedRatioResult | None = None
    excluded: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of the table: its attributes, and the step."""
        return INTERSECTION.join(self.by) + (f", {self.step}" if self.step else "")

    @property
    def n_unknown(self) -> int:
        """People of whom the category, or the outcome, is not known."""
        return self.counts.missing.n_dropped

    @property
    def comparisons(self) -> tuple[RateComparison, ...]:
        """Every group against the reference."""
        return () if self.result is None else self.result.comparisons

    def bounds_of(self, group: str) -> Bounds:
        """Bounds of the ratio of a group; NaN where nobody is of unknown category."""
        return Bounds(*self.bounds.get(group, (math.nan,) * 4))


@serialisable(eq=False)
class AdverseImpact(Result):
    """Adverse impact of a selection process, table by table.

    Attributes
    ----------
    tables : tuple of ImpactTable
        By sex, by race, crossed; with several steps the whole process first, then each step.
    template : {"ugesp", "ll144"}
    threshold : float
        Of the four-fifths rule.
    confidence_level : float
    about : dict of str to str
        What the template prints about the audit: sources, dates.
    measure : {"selection", "scoring"}
        Whether people are selected, or score above the median.
    median : float or None
        Of all scores.
    n_at_median : int
        People with just this score, who are not above it.
    """

    tables: tuple[ImpactTable, ...]
    template: str
    threshold: float
    confidence_level: float
    about: dict[str, str] = field(default_factory=dict)
    measure: str = "selection"
    median: float | None = None
    n_at_median: int = 0
    backend: str = "scipy"

    title: ClassVar[str] = "Adverse impact: every group against the reference of its table"
    _shown: ClassVar[tuple[str, ...]] = (
        "by", "step", "group", "reference", "rate", "rate_reference", "n", "estimate", "ci_low", "ci_high",
        "verdict", "reading", "z", "fisher", "mid_p", "shortfall", "shortfall_four_fifths", "unknown_low",
        "unknown_high",
    )  # fmt: skip

    @property
    def comparisons(self) -> tuple[RateComparison, ...]:
        """Every comparison of every table, in the order of the tables."""
        return tuple(c for table in self.tables for c in table.comparisons)

    def by(self, *attributes: str) -> Self:
        """The tables of one set of attributes: ``result.by("sex")``, ``result.by("sex", "race")``."""
        known = tuple(dict.fromkeys(table.by for table in self.tables))
        check_that(attributes in known, "attributes", attributes, f"one of {known}")
        return replace(self, tables=tuple(table for table in self.tables if table.by == attributes))

    def rows(self) -> list[dict[str, Any]]:
        """Rows of the tidy table; those over strata at the end of each table."""
        found = []
        for table in self.tables:
            place = {"by": INTERSECTION.join(table.by), "step": table.step}
            for c, figures in zip(table.comparisons, table.figures, strict=True):
                known = table.bounds_of(c.group)._asdict()
                row = {**c.row(self.backend), "metric": METRIC, **place, **asdict(figures)}
                row |= {"reading": self.reading(c), "n_unknown": table.n_unknown}
                found.append(row | {f"unknown_{name}": value for name, value in known.items()})
            if table.stratified is not None:
                for c, row in zip(table.stratified.comparisons, table.stratified.rows(), strict=True):
                    tests = {t.method.split()[0]: t.pvalue for t in c.tests}
                    pvalues = {name: tests.get(start, math.nan) for name, start in _OF_STRATA.items()}
                    found.append({**row, **place, **pvalues})
        hidden = _JUDGING if self.template == "ll144" else ()  # the law has no threshold
        return [{name: row[name] for name in row if name not in hidden} for row in found]

    def reading(self, c: RateComparison) -> str:
        """Practical and statistical significance of a comparison in words; empty where there is no ratio."""
        if math.isnan(c.estimate):
            return ""
        practical = not self.threshold <= c.estimate <= 1 / self.threshold
        statistical = c.pvalue_adjusted <= 1 - self.confidence_level
        words = {(True, True): "practical and statistical", (True, False): "practical only"}
        return words.get((practical, statistical), "statistical only" if statistical else "neither")

    def sentences(self) -> list[str]:
        """One sentence per comparison."""
        if self.template == "ll144":
            return [
                f"{table.name}, {c.group}: rate {c.rate:.3f}, impact ratio {c.estimate:.3f} to {c.reference}."
                for table in self.tables
                for c in table.comparisons
            ]
        return [
            f"{table.name}: {said}{self._practice(c, figures)}"
            for table in self.tables
            if table.result is not None
            for said, c, figures in zip(table.result.sentences(), table.comparisons, table.figures, strict=True)
        ]

    def _practice(self, c: RateComparison, figures: ImpactFigures) -> str:
        """What the table says in the practitioner's words."""
        if math.isnan(c.estimate):
            return ""
        below = c.estimate < self.threshold
        said = [
            f" The rate is {'below' if below else 'at least'} {self.threshold:g} of the reference's"
            f" (significance: {self.reading(c)}), z = {figures.z:.2f}, Fisher's p = {figures.fisher:.3g}"
        ]
        if below and figures.shortfall_four_fifths is not None:
            moved = figures.shortfall_four_fifths
            said.append(
                f"{moved} selection{'' if moved == 1 else 's'} moved would reach {self.threshold:g}, "
                f"{figures.shortfall:.1f} the pooled rate"
            )
        if figures.one_decision:
            said.append("one other decision would put the ratio on the other side of it")
        return "; ".join(said) + "."

    def notes(self) -> list[str]:
        """Sentences below the table."""
        if self.template == "ll144":
            said = [f"{t.name}: {line}" for t in self.tables for line in ll144.remarks(self, t)]
            return [*ll144.meaning(self), *said]
        lines = [
            f"Ratio of rates to the reference, threshold {self.threshold:g}; intervals and verdicts count "
            "the choice of the reference by the data, where it is the highest rate. Fisher, mid-P and z are "
            "those of single pairs, as is customary, and do not.",
            "Practical: the ratio lies beyond the threshold; statistical: rates differ, p adjusted within "
            "the table. Nothing here is a finding of law.",
        ]
        if self.median is not None:
            lines.append(
                f"Scoring rate: share above the median of the whole sample, {self.median:g}; "
                f"people with just this score ({self.n_at_median:,}) do not count as above it."
            )
        for table in self.tables:
            if table.n_unknown:
                n = table.n_unknown
                who, are = (f"{n:,} people", "are") if n > 1 else ("1 person", "is")
                lines.append(
                    f"{table.name}: {who} of unknown category or outcome {are} in no rate; the bounds say "
                    "what they could change."
                )
            lines += [f"{table.name}, {name}: {why}" for name, why in table.excluded.items()]
            if table.stratified is not None:
                said = [note for note in table.stratified.notes() if "Breslow" in note]
                lines += [f"{table.name}, over strata: {note}" for note in said]
        return lines

    def to_html(self, path: str | PathLike[str] | None = None) -> Path | str:
        """The page of Local Law 144, to be published as it is; of the other template ``fs.audit(result)``.

        Parameters
        ----------
        path : path-like, optional
            Where to write it; default: the text is returned.

        Raises
        ------
        InputError
            Of another template.
        """
        self._check_template("to_html", "fs.audit(result).to_html(path)")
        text = ll144.page(self)
        return text if path is None else write_text(path, text)

    def to_csv(self, path: str | PathLike[str] | None = None) -> Path | str:
        """The tables of Local Law 144 as CSV; cells that a spreadsheet would run are made text.

        Parameters
        ----------
        path : path-like, optional
            Where to write it; default: the text is returned.

        Raises
        ------
        InputError
            Of another template.
        """
        self._check_template("to_csv", "result.to_frame().to_csv(path)")
        text = ll144.csv_text(self)
        return text if path is None else write_text(path, text)

    def _check_template(self, what: str, cure: str) -> None:
        fine = self.template == "ll144"
        check_that(fine, "template", self.template, f"'ll144', whose page and CSV {what} writes", cure)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Forest plot of the first table.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; default a new figure. Of another table: ``result.by("race").plot()``.
        """
        shown = next((t.result for t in self.tables if t.result is not None), None)
        check_that(shown is not None, "tables", "no ratio", "a table with two groups or more")
        return shown.plot(ax)  # type: ignore[union-attr]
