"""Result of `adverse_impact`, per table every group against its reference, and the page of Local
Law 144.
"""

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
from fairstats.ground.results import Result, html_table
from fairstats.ground.serialise import serialisable
from fairstats.ground.writing import CSV, HTML, write_file
from fairstats.methods.rates.bounds import Bounds
from fairstats.methods.rates.result import RateComparison, RatioResult
from fairstats.methods.rates.strata.result import (
    BRESLOW_DAY,
    COCHRAN_MANTEL_HAENSZEL,
    StratifiedRatioResult,
)

METRIC = "adverse_impact"
#: Columns that the template of Local Law 144 has not.
_JUDGING = (
    "verdict",
    "reading",
    "bound_low",
    "bound_high",
    "pvalue_verdict",
    "pvalue_verdict_adjusted",
    "one_decision",
    "flip_flop",
    "shortfall_four_fifths",
)
#: Tests over strata → columns of their p-values.
_OF_STRATA = {"cmh_pvalue": COCHRAN_MANTEL_HAENSZEL, "breslow_day_pvalue": BRESLOW_DAY}

#: What the page says about the audit: argument → heading.
ABOUT = {
    "tool": "Tool",
    "auditor": "Independent auditor",
    "audit_date": "Date of the bias audit",
    "distribution_date": "Distribution date of the tool",
    "source": "Source of the data",
    "explanation": "Explanation of the data",
}
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
    """Statistics of one group against its reference.

    Ratio, interval and verdict stand in the comparison.

    `fisher`, `mid_p`: two-sided p-values of Fisher's exact test, and Lancaster's: less half the
    probability of the table; `z`, `z_pvalue`: difference in standard deviations of the pooled rate;
    `cohen_h`: 2 arcsin √r₀ − 2 arcsin √r₁; `phi`: z/√N; `shortfall`: selections that the group
    lacks of the pooled rate, n₀K/N − k₀; `shortfall_four_fifths`: fewest selections to be moved
    from the reference to the group for a ratio of the threshold; `one_decision`: whether one other
    decision, in either group, would put the ratio on the other side of the threshold; `flip_flop`:
    whether one selection moved would reverse which group has the higher rate (Questions and Answers
    on the Uniform Guidelines, no. 21); `power`: of the two-sided test of equal rates, were the
    ratio at the threshold.
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

    `by`: the attributes; `step`: of the process, empty where it has one; `counts`: all categories,
    and what is known of people in none; `result`: ratios with intervals and verdicts; `figures`: of
    each comparison; `bounds`: group → what people of unknown category could make of its ratio, low
    and high, and the interval around them; `stratified`: Mantel–Haenszel over jobs or years, if
    asked for; `excluded`: category → why it has no ratio.
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
        if self.result is None:
            return ()
        return self.result.comparisons

    def bounds_of(self, group: Hashable) -> Bounds:
        """Bounds of the ratio of a group; NaN where nobody is of unknown category.

        Parameters
        ----------
        group : hashable
            A category of the table.

        Returns
        -------
        Bounds
            `low`, `high`: what people of unknown category could make of the ratio; and the interval
            around them.

        Raises
        ------
        InputError
            For a group that the table does not have.
        """
        group_name = self.counts.groups[group_index(self.counts.groups, group, "group")]
        return Bounds(*self.bounds.get(group_name, (math.nan,) * 4))


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

    Examples
    --------
    >>> import fairstats as fs
    >>> result = fs.adverse_impact({"women": (2, 8), "men": (15, 10)})
    >>> result.comparisons[0].group, round(result.estimate, 3), len(result.tables)
    ('women', 0.333, 1)
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
        "by",
        "step",
        "group",
        "reference",
        "rate",
        "rate_reference",
        "n",
        "estimate",
        "ci_low",
        "ci_high",
        "verdict",
        "reading",
        "z",
        "fisher",
        "mid_p",
        "shortfall",
        "shortfall_four_fifths",
        "unknown_low",
        "unknown_high",
    )

    @property
    def comparisons(self) -> tuple[RateComparison, ...]:
        """Every comparison of every table, in the order of the tables."""
        result = []
        for table in self.tables:
            for comparison in table.comparisons:
                result.append(comparison)
        return tuple(result)

    def by(self, *attributes: str) -> Self:
        """The tables of one set of attributes.

        ``result.by("sex")``, ``result.by("sex", "race")``.
        """
        check_choice("attributes", attributes, dict.fromkeys(table.by for table in self.tables))
        return replace(self, tables=tuple(table for table in self.tables if table.by == attributes))

    def rows(self) -> list[dict[str, Any]]:
        """Rows of the tidy table; those over strata at the end of each table."""
        table_rows = []
        for table in self.tables:
            place_columns = {"by": INTERSECTION.join(table.by), "step": table.step}
            for comparison, figures in zip(table.comparisons, table.figures, strict=True):
                known_bounds = table.bounds_of(comparison.group)._asdict()
                table_row = {
                    **comparison._row(self.backend),
                    "metric": METRIC,
                    **place_columns,
                    **asdict(figures),
                }
                table_row |= {
                    "reading": self._significance_in_words(comparison),
                    "n_unknown": table.n_unknown,
                }
                table_rows.append(
                    table_row
                    | {
                        f"unknown_{column_name}": value
                        for column_name, value in known_bounds.items()
                    }
                )
            if table.stratified is not None:
                for comparison, table_row in zip(
                    table.stratified.comparisons, table.stratified.rows(), strict=True
                ):
                    pvalues_by_test = {}
                    for hypothesis_test in comparison.tests:
                        pvalues_by_test[hypothesis_test.method] = hypothesis_test.pvalue
                    pvalues = {}
                    for column_name, test_name in _OF_STRATA.items():
                        pvalues[column_name] = pvalues_by_test.get(test_name, math.nan)
                    table_rows.append({**table_row, **place_columns, **pvalues})
        hidden = _JUDGING if self.template == "ll144" else ()  # the law has no threshold
        return [
            {
                column_name: table_row[column_name]
                for column_name in table_row
                if column_name not in hidden
            }
            for table_row in table_rows
        ]

    def _significance_in_words(self, c: RateComparison) -> str:
        """Practical and statistical significance of a comparison in words.

        Empty where there is no ratio.
        """
        if math.isnan(c.estimate):
            return ""
        practical = not self.threshold <= c.estimate <= 1 / self.threshold
        statistical = c.pvalue_adjusted <= 1 - self.confidence_level
        significance_words = {
            (True, True): "practical and statistical",
            (True, False): "practical only",
        }
        return significance_words.get(
            (practical, statistical), "statistical only" if statistical else "neither"
        )

    def sentences(self) -> list[str]:
        """One sentence per comparison."""
        if self.template == "ll144":
            named_comparisons = (
                (table.name, comparison)
                for table in self.tables
                for comparison in table.comparisons
            )
            sentences: list[str] = []
            for table_name, comparison in named_comparisons:
                sentences.append(
                    f"{table_name}, {comparison.group}: rate {comparison.rate:.3f}, "
                    f"impact ratio {comparison.estimate:.3f} to"
                    f" {comparison.reference}."
                )
            return sentences
        result: list[str] = []
        for table in self.tables:
            if table.result is not None:
                for sentence, comparison, figures in zip(
                    table.result.sentences(), table.comparisons, table.figures, strict=True
                ):
                    result.append(
                        f"{table.name}: {sentence}{self._practical_words(comparison, figures)}"
                    )
        return result

    def _practical_words(self, c: RateComparison, figures: ImpactFigures) -> str:
        """What the table says in the practitioner's words."""
        if math.isnan(c.estimate):
            return ""
        is_below = c.estimate < self.threshold
        selections_moved = figures.shortfall_four_fifths
        side_words = f"{'below' if is_below else 'at least'} {self.threshold:g} of the reference's"
        test_words = f"z = {figures.z:.2f}, Fisher's p = {figures.fisher:.3g}"
        sentences = [
            f" The rate is {side_words} (significance: {self._significance_in_words(c)}), {test_words}"
        ]
        if is_below and selections_moved is not None:
            reach_words = f"would reach {self.threshold:g}, {figures.shortfall:.1f} the pooled rate"
            sentences.append(
                f"{selections_moved} selection{'' if selections_moved == 1 else 's'} moved {reach_words}"
            )
        if figures.one_decision:
            sentences.append("one other decision would put the ratio on the other side of it")
        return "; ".join(sentences) + "."

    def notes(self) -> list[str]:
        """Sentences below the table."""
        if self.template == "ll144":
            remarks = []
            for impact_table in self.tables:
                for remark in _remarks_below_table(impact_table):
                    remarks.append(f"{impact_table.name}: {remark}")
            return [*_explain_numbers(self), *remarks, *self._unselected_labels()]
        sentences = [
            (
                f"Ratio of rates to the reference, threshold {self.threshold:g}; intervals and"
                " verdicts count the choice of the reference by the data, where it is the highest"
                " rate. Fisher, mid-P and z are those of single pairs, as is customary, and do"
                " not."
            ),
            (
                "Practical: the ratio lies beyond the threshold; statistical: rates differ, p"
                " adjusted within the table. Nothing here is a finding of law."
            ),
        ]
        if self.median is not None:
            median_words = (
                f"people with just this score ({self.n_at_median:,}) do not count as above it."
            )
            sentences.append(
                f"Scoring rate: share above the median of the whole sample, {self.median:g};"
                f" {median_words}"
            )
        for table in self.tables:
            if n_unknown := table.n_unknown:
                if n_unknown > 1:
                    people_words = f"{n_unknown:,} people"
                    verb = "are"
                else:
                    people_words = "1 person"
                    verb = "is"
                unknown_words = (
                    f"{table.name}: {people_words} of unknown category or outcome {verb} in no rate"
                )
                sentences.append(f"{unknown_words}; the bounds say what they could change.")
            for category, reason in table.excluded.items():
                sentences.append(f"{table.name}, {category}: {reason}")
            if table.stratified is None:
                strata_notes = []
            else:
                strata_notes = table.stratified.notes()
            for note in strata_notes:
                if "Breslow" in note:
                    sentences.append(f"{table.name}, over strata: {note}")
        return [*sentences, *self._unselected_labels()]

    def _unselected_labels(self) -> list[str]:
        """The labels that count as not selected, of each step, where there are several."""
        label_sentences = [table.counts.missing.labels_in_words for table in self.tables]
        return list(
            dict.fromkeys(label_sentence for label_sentence in label_sentences if label_sentence)
        )

    def to_html(self, path: str | PathLike[str] | None = None) -> Path | str:
        """The page of Local Law 144, to be published as it is.

        Of the other template ``fs.audit(result)``.

        Parameters
        ----------
        path : path-like, optional
            Where to write it; default: the text is returned.

        Raises
        ------
        InputError
            Of another template.
        """
        return self._write_template(
            "to_html", "fs.audit(result).to_html(path)", _render_page, path, HTML
        )

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
        return self._write_template(
            "to_csv", "result.to_frame().to_csv(path)", _render_csv, path, CSV
        )

    def _write_template(
        self,
        what: str,
        cure: str,
        text_of: Callable[[AdverseImpact], str],
        path: str | PathLike[str] | None,
        endings: tuple[str, ...],
    ) -> Path | str:
        is_local_law = self.template == "ll144"
        check_that(
            is_local_law,
            "template",
            self.template,
            f"'ll144', whose page and CSV {what} writes",
            cure,
        )
        rendered = text_of(self)
        if path is None:
            return rendered
        return write_file(path, rendered, endings)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Forest plot of the first table.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; default a new figure. Of another table: ``result.by("race").plot()``.
        """
        first_result = next(
            (
                impact_table.result
                for impact_table in self.tables
                if impact_table.result is not None
            ),
            None,
        )
        check_that(
            first_result is not None, "tables", "no ratio", "a table with two groups or more"
        )
        return first_result.plot(ax)  # type: ignore[union-attr]


def _table_headings(result: AdverseImpact) -> list[str]:
    """Headings of every table; bounds only where somebody's category is unknown."""
    scoring = result.measure == "scoring"
    headings = ["Category", "Number", "Above the median" if scoring else "Selected"]
    headings += ["Scoring rate" if scoring else "Selection rate", "Impact ratio"]
    if any(table.bounds for table in result.tables):
        headings += [
            "Bounds for unknown categories",
            f"{100 * result.confidence_level:g}% interval around them",
        ]
    return headings


def _rows_as_text(result: AdverseImpact, table: ImpactTable) -> Iterator[list[str]]:
    """Rows of a table as text: every category, also those without a ratio."""
    ratios = {comparison.group: comparison.estimate for comparison in table.comparisons}
    ratios |= {
        comparison.reference: 1.0
        for comparison in table.comparisons
        if comparison.rate_reference > 0
    }
    for group_number, group in enumerate(table.counts.groups):
        n_selected, n_rejected = (int(number) for number in table.counts.totals[group_number])
        cells_of_row = [
            group,
            f"{n_selected + n_rejected:,}",
            f"{n_selected:,}",
            f"{n_selected / (n_selected + n_rejected):.3f}" if n_selected + n_rejected else "—",
        ]
        cells_of_row.append(
            f"{ratios[group]:.3f}" if not math.isnan(ratios.get(group, math.nan)) else "—"
        )
        if len(_table_headings(result)) > len(cells_of_row):
            lower_bound, upper_bound, *interval = (
                f"{number:.3f}" for number in table.bounds_of(group)
            )
            has_bounds = group in table.bounds
            cells_of_row += [
                f"{lower_bound} to {upper_bound}" if has_bounds else "—",
                " to ".join(interval) if has_bounds else "—",
            ]
        yield cells_of_row


def _render_page(result: AdverseImpact) -> str:
    """The page as one HTML file."""
    escape = html.escape
    page_title = "Bias audit under New York City Local Law 144"
    page_parts = [f"<h1>{page_title}</h1><dl>"]
    for about_key, about_text in result.about.items():
        if about_key in ABOUT:
            page_parts.append(f"<dt>{escape(ABOUT[about_key])}</dt><dd>{escape(about_text)}</dd>")
    page_parts.append("</dl>")
    for table in result.tables:
        table_in_html = html_table(
            _table_headings(result),
            _rows_as_text(result, table),
            caption=table.name,
            row_headings=True,
        )
        page_parts.append(
            '<div class="wide" tabindex="0" role="region"'
            f' aria-label="{escape(table.name)}">{table_in_html}</div>'
        )
        for remark in _remarks_below_table(table):
            page_parts.append(f"<p class=note>{escape(remark)}</p>")
    page_parts.append(f'<p class="note">{escape(" ".join(_explain_numbers(result)))}</p>')
    headings = (
        '<meta charset="utf-8"><meta name="viewport"'
        f' content="width=device-width"><title>{page_title}</title>'
    )
    page_text = f"<head>{headings}<style>{_STYLE}</style></head><body><main>{''.join(page_parts)}</main></body>"
    return f'<!DOCTYPE html><html lang="en">{page_text}</html>\n'


def _remarks_below_table(table: ImpactTable) -> list[str]:
    """What stands below a table: people of unknown category, categories without a ratio."""
    n_unknown = table.n_unknown
    unknown = f"{n_unknown:,} {'person' if n_unknown == 1 else 'people'} of an unknown category: in none of the rates."
    return [unknown if n_unknown else "No category was unknown."] + [
        f"{category}: {reason}" for category, reason in table.excluded.items()
    ]


def _explain_numbers(result: AdverseImpact) -> list[str]:
    """How the numbers are made."""
    rate_sentence = "The selection rate is the number selected over the number of the category."
    if result.measure == "scoring":
        rate_sentence = (
            "The scoring rate is the share of the category above the median score of the whole"
            " sample"
        )
        if result.median is not None:
            rate_sentence += (
                f" ({result.median:g}; number of people who have just it: {result.n_at_median:,})"
            )
        rate_sentence += "; a score at the median is not above it."
    sentences = [
        rate_sentence,
        "The impact ratio is the rate over that of the category with the highest rate.",
    ]
    for table in result.tables:
        if table.result is not None and table.result.settings.reference_rule != "highest":
            sentences.append(
                f"Not so in the table {table.name}: there it is the rate over that of"
                f" {table.result.reference}."
            )
    if any(table.bounds for table in result.tables):
        sentences.append(
            "Bounds: the smallest and largest impact ratio that people of unknown category could"
            " make, with an interval for the ratio of the population they were drawn from (Imbens"
            " and Manski 2004)."
        )
    return sentences


def _render_csv(result: AdverseImpact) -> str:
    """The tables below each other, one row per category."""
    text_buffer = io.StringIO()
    writer = csv.writer(text_buffer, lineterminator="\n")
    writer.writerow(["Table", *_table_headings(result)])
    for table in result.tables:
        for cells_of_row in _rows_as_text(result, table):
            writer.writerow(
                [
                    _safe(table.name),
                    _safe(cells_of_row[0]),
                    *(cell_text.replace(",", "") for cell_text in cells_of_row[1:]),
                ]
            )
        if table.n_unknown:
            writer.writerow(
                [
                    _safe(table.name),
                    "Unknown category",
                    table.n_unknown,
                    *[""] * (len(_table_headings(result)) - 2),
                ]
            )
    return text_buffer.getvalue()


def _safe(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula.

    Examples
    --------
    >>> _safe("=2+3"), _safe("Women")
    ("'=2+3", 'Women')
    """
    plain_text = " ".join(cell.split())  # a tab or an end of line starts a formula, too
    if plain_text[:1] in ("=", "+", "-", "@"):
        return f"'{plain_text}"
    return plain_text
