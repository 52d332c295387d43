"""Result of `adverse_impact`, per table every group against its reference, and the page of Local Law 144."""

from __future__ import annotations

import csv
import html
import io
import math
from collections.abc import Callable, Hashable, Iterator
from dataclasses import asdict, field, replace
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Self

from fairstats.ground.checks import check_choice, check_that
from fairstats.ground.counts import SelectionCounts
from fairstats.ground.groups import INTERSECTION, group_index
from fairstats.ground.lazy import Axes
from fairstats.ground.results import Result
from fairstats.ground.serialise import serialisable
from fairstats.ground.writing import CSV, HTML, write_file
from fairstats.methods.rates.bounds import Bounds
from fairstats.methods.rates.result import RateComparison, RatioResult
from fairstats.methods.rates.stratified_result import StratifiedRatioResult

METRIC = "adverse_impact"
#: Columns that the template of Local Law 144 has not.
_JUDGING = (
    "verdict", "reading", "bound_low", "bound_high", "pvalue_verdict", "pvalue_verdict_adjusted",
    "one_decision", "flip_flop", "shortfall_four_fifths",
)  # fmt: skip
#: Tests over strata → columns of their p-values.
_OF_STRATA = {"cmh_pvalue": "Cochran–Mantel–Haenszel", "breslow_day_pvalue": "Breslow–Day"}

#: What the page says about the audit: argument → heading.
ABOUT = {
    "tool": "Tool", "auditor": "Independent auditor", "audit_date": "Date of the bias audit",
    "distribution_date": "Distribution date of the tool", "source": "Source of the data",
    "explanation": "Explanation of the data",
}  # fmt: skip
_STYLE = """
:root{color-scheme:light dark}
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
.wide{overflow-x:auto}table{border-collapse:collapse;margin:.5rem 0 1.5rem;width:100%}
th,td{border-bottom:1px solid #8886;padding:.35rem .6rem;text-align:right;white-space:nowrap}
th{white-space:normal;vertical-align:bottom}th:first-child{text-align:left}caption{text-align:left;font-weight:600}
dt{font-weight:600}dd{margin:0 0 .5rem}.note{font-size:.875rem}
@media print{body{margin:0;max-width:none;padding:0}.wide{overflow:visible}
table{font-size:.8rem}th,td{padding:.3rem}}
"""


@serialisable()
class ImpactFigures:
    """Statistics of one group against its reference; ratio, interval and verdict stand in the comparison.

    `fisher`, `mid_p`: two-sided p-values of Fisher's exact test, and Lancaster's: less half the probability of the
    table; `z`, `z_pvalue`: difference in standard deviations of the pooled rate; `cohen_h`: 2 arcsin √r₀ − 2 arcsin
    √r₁; `phi`: z/√N; `shortfall`: selections that the group lacks of the pooled rate, n₀K/N − k₀;
    `shortfall_four_fifths`: fewest selections to be moved from the reference to the group for a ratio of the threshold;
    `one_decision`: whether one other decision, in either group, would put the ratio on the other side of the threshold;
    `flip_flop`: whether one selection moved would reverse which group has the higher rate (Questions and Answers on the
    Uniform Guidelines, no. 21); `power`: of the two-sided test of equal rates, were the ratio at the threshold.
    """

    fisher: float
    mid_p: float
    z: float
    z_pvalue: float
    cohen_h: float
    phi: float
    shortfall: float
    shortfall_four_fifths: int | None
    one_decision: bool
    flip_flop: bool
    power: float


@serialisable(eq=False)
class ImpactTable:
    """One table: a set of attributes at one step of the process.

    `by`: the attributes; `step`: of the process, empty where it has one; `counts`: all categories, and what is known of
    people in none; `result`: ratios with intervals and verdicts; `figures`: of each comparison; `bounds`: group → what
    people of unknown category could make of its ratio, low and high, and the interval around them; `stratified`:
    Mantel–Haenszel over jobs or years, if asked for; `excluded`: category → why it has no ratio.
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

    def bounds_of(self, group: Hashable) -> Bounds:
        """Bounds of the ratio of a group; NaN where nobody is of unknown category.

        Parameters
        ----------
        group : hashable
            A category of the table.

        Returns
        -------
        Bounds
            `low`, `high`: what people of unknown category could make of the ratio; and the interval around them.

        Raises
        ------
        InputError
            For a group that the table does not have.
        """
        name = self.counts.groups[group_index(self.counts.groups, group, "group")]
        return Bounds(*self.bounds.get(name, (math.nan,) * 4))


@serialisable(eq=False)
class AdverseImpact(Result):
    """Adverse impact of a selection process, table by table.

    Attributes
    ----------
    tables : tuple of ImpactTable
        By sex, by race, crossed; with several steps the whole process first, then each step.
    template, threshold, confidence_level, about
        As in `adverse_impact`.
    measure : {"selection", "scoring"}
        Whether people are selected, or score above the median.
    median : float or None
        Of all scores; `n_at_median` people have just this score, and are not above it.
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
        check_choice("attributes", attributes, dict.fromkeys(table.by for table in self.tables))
        return replace(self, tables=tuple(table for table in self.tables if table.by == attributes))

    def rows(self) -> list[dict[str, Any]]:
        """Rows of the tidy table; those over strata at the end of each table."""
        found = []
        for table in self.tables:
            place = {"by": INTERSECTION.join(table.by), "step": table.step}
            for c, figures in zip(table.comparisons, table.figures, strict=True):
                known = table.bounds_of(c.group)._asdict()
                row = {**c._row(self.backend), "metric": METRIC, **place, **asdict(figures)}
                row |= {"reading": self._reading(c), "n_unknown": table.n_unknown}
                found.append(row | {f"unknown_{name}": value for name, value in known.items()})
            if table.stratified is not None:
                for c, row in zip(table.stratified.comparisons, table.stratified.rows(), strict=True):
                    tests = {t.method.split()[0]: t.pvalue for t in c.tests}
                    pvalues = {name: tests.get(start, math.nan) for name, start in _OF_STRATA.items()}
                    found.append({**row, **place, **pvalues})
        hidden = _JUDGING if self.template == "ll144" else ()  # the law has no threshold
        return [{name: row[name] for name in row if name not in hidden} for row in found]

    def _reading(self, c: RateComparison) -> str:
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
            told = ((table.name, c) for table in self.tables for c in table.comparisons)
            return [
                f"{name}, {c.group}: rate {c.rate:.3f}, impact ratio {c.estimate:.3f} to {c.reference}."
                for name, c in told
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
        below, moved = c.estimate < self.threshold, figures.shortfall_four_fifths
        side = f"{'below' if below else 'at least'} {self.threshold:g} of the reference's"
        tests = f"z = {figures.z:.2f}, Fisher's p = {figures.fisher:.3g}"
        said = [f" The rate is {side} (significance: {self._reading(c)}), {tests}"]
        if below and moved is not None:
            reach = f"would reach {self.threshold:g}, {figures.shortfall:.1f} the pooled rate"
            said.append(f"{moved} selection{'' if moved == 1 else 's'} moved {reach}")
        if figures.one_decision:
            said.append("one other decision would put the ratio on the other side of it")
        return "; ".join(said) + "."

    def notes(self) -> list[str]:
        """Sentences below the table."""
        if self.template == "ll144":
            said = [f"{t.name}: {line}" for t in self.tables for line in _remarks(t)]
            return [*_meaning(self), *said, *self._labels()]
        lines = [
            f"Ratio of rates to the reference, threshold {self.threshold:g}; intervals and verdicts count "
            "the choice of the reference by the data, where it is the highest rate. Fisher, mid-P and z are "
            "those of single pairs, as is customary, and do not.",
            "Practical: the ratio lies beyond the threshold; statistical: rates differ, p adjusted within "
            "the table. Nothing here is a finding of law.",
        ]
        if self.median is not None:
            equal = f"people with just this score ({self.n_at_median:,}) do not count as above it."
            lines.append(f"Scoring rate: share above the median of the whole sample, {self.median:g}; {equal}")
        for table in self.tables:
            if n := table.n_unknown:
                who, are = (f"{n:,} people", "are") if n > 1 else ("1 person", "is")
                told = f"{table.name}: {who} of unknown category or outcome {are} in no rate"
                lines.append(f"{told}; the bounds say what they could change.")
            lines += [f"{table.name}, {name}: {why}" for name, why in table.excluded.items()]
            over = [] if table.stratified is None else table.stratified.notes()
            lines += [f"{table.name}, over strata: {note}" for note in over if "Breslow" in note]
        return [*lines, *self._labels()]

    def _labels(self) -> list[str]:
        """The labels that count as not selected, of each step, where there are several."""
        words = [table.counts.missing.labels_in_words for table in self.tables]
        return list(dict.fromkeys(line for line in words if line))

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
        return self._written("to_html", "fs.audit(result).to_html(path)", _page, path, HTML)

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
        return self._written("to_csv", "result.to_frame().to_csv(path)", _csv, path, CSV)

    def _written(
        self,
        what: str,
        cure: str,
        text_of: Callable[[AdverseImpact], str],
        path: str | PathLike[str] | None,
        endings: tuple[str, ...],
    ) -> Path | str:
        fine = self.template == "ll144"
        check_that(fine, "template", self.template, f"'ll144', whose page and CSV {what} writes", cure)
        text = text_of(self)
        if path is None:
            return text
        return write_file(path, text, endings)

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


def _heads(result: AdverseImpact) -> list[str]:
    """Headings of every table; bounds only where somebody's category is unknown."""
    scoring = result.measure == "scoring"
    found = ["Category", "Number", "Above the median" if scoring else "Selected"]
    found += ["Scoring rate" if scoring else "Selection rate", "Impact ratio"]
    if any(table.bounds for table in result.tables):
        found += ["Bounds for unknown categories", f"{100 * result.confidence_level:g}% interval around them"]
    return found


def _rows(result: AdverseImpact, table: ImpactTable) -> Iterator[list[str]]:
    """Rows of a table as text: every category, also those without a ratio."""
    ratios = {c.group: c.estimate for c in table.comparisons}
    ratios |= {c.reference: 1.0 for c in table.comparisons if c.rate_reference > 0}
    for g, group in enumerate(table.counts.groups):
        k, d = (int(v) for v in table.counts.totals[g])
        row = [group, f"{k + d:,}", f"{k:,}", f"{k / (k + d):.3f}" if k + d else "—"]
        row.append(f"{ratios[group]:.3f}" if not math.isnan(ratios.get(group, math.nan)) else "—")
        if len(_heads(result)) > len(row):
            low, high, *interval = (f"{v:.3f}" for v in table.bounds_of(group))
            known = group in table.bounds
            row += [f"{low} to {high}" if known else "—", " to ".join(interval) if known else "—"]
        yield row


def _page(result: AdverseImpact) -> str:
    """The page as one HTML file."""
    text = html.escape
    title = "Bias audit under New York City Local Law 144"
    parts = [f"<h1>{title}</h1><dl>"]
    parts += [f"<dt>{text(ABOUT[k])}</dt><dd>{text(v)}</dd>" for k, v in result.about.items() if k in ABOUT]
    parts.append("</dl>")
    for table in result.tables:
        name, head = text(table.name), "".join(f'<th scope="col">{text(name)}</th>' for name in _heads(result))
        parts.append(f'<div class="wide" tabindex="0" role="region" aria-label="{name}"><table>')
        parts.append(f"<caption>{name}</caption><thead><tr>{head}</tr></thead><tbody>")
        for first, *rest in _rows(result, table):
            cells = "".join(f"<td>{text(cell)}</td>" for cell in rest)
            parts.append(f'<tr><th scope="row">{text(first)}</th>{cells}</tr>')
        parts.append("</tbody></table></div>")
        parts += [f"<p class=note>{text(said)}</p>" for said in _remarks(table)]
    parts.append(f'<p class="note">{text(" ".join(_meaning(result)))}</p>')
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>'
    whole = f"<head>{head}<style>{_STYLE}</style></head><body><main>{''.join(parts)}</main></body>"
    return f'<!DOCTYPE html><html lang="en">{whole}</html>\n'


def _remarks(table: ImpactTable) -> list[str]:
    """What stands below a table: people of unknown category, categories without a ratio."""
    n = table.n_unknown
    unknown = f"{n:,} {'person' if n == 1 else 'people'} of an unknown category: in none of the rates."
    return [unknown if n else "No category was unknown."] + [f"{name}: {why}" for name, why in table.excluded.items()]


def _meaning(result: AdverseImpact) -> list[str]:
    """How the numbers are made."""
    rate = "The selection rate is the number selected over the number of the category."
    if result.measure == "scoring":
        rate = "The scoring rate is the share of the category above the median score of the whole sample"
        if result.median is not None:
            rate += f" ({result.median:g}; number of people who have just it: {result.n_at_median:,})"
        rate += "; a score at the median is not above it."
    found = [rate, "The impact ratio is the rate over that of the category with the highest rate."]
    found += [
        f"Not so in the table {table.name}: there it is the rate over that of {table.result.reference}."
        for table in result.tables
        if table.result is not None and table.result.settings.reference_rule != "highest"
    ]
    if any(table.bounds for table in result.tables):
        found.append(
            "Bounds: the smallest and largest impact ratio that people of unknown category could make, with "
            "an interval for the ratio of the population they were drawn from (Imbens and Manski 2004)."
        )
    return found


def _csv(result: AdverseImpact) -> str:
    """The tables below each other, one row per category."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["Table", *_heads(result)])
    for table in result.tables:
        for row in _rows(result, table):
            writer.writerow([_safe(table.name), _safe(row[0]), *(cell.replace(",", "") for cell in row[1:])])
        if table.n_unknown:
            writer.writerow([_safe(table.name), "Unknown category", table.n_unknown, *[""] * (len(_heads(result)) - 2)])
    return out.getvalue()


def _safe(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula.

    Examples
    --------
    >>> _safe("=2+3"), _safe("Women")
    ("'=2+3", 'Women')
    """
    text = " ".join(cell.split())  # a tab or an end of line starts a formula, too
    return f"'{text}" if text[:1] in ("=", "+", "-", "@") else text
