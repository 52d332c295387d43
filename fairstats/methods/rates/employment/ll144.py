"""The tables of New York City's Local Law 144 as a page and as CSV (6 RCNY §§ 5-300 to 5-304)."""

from __future__ import annotations

import csv
import html
import io
import math
from collections.abc import Iterator
from typing import Any

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


def heads(result: Any) -> list[str]:
    """Headings of every table; bounds only where somebody's category is unknown."""
    scoring = result.measure == "scoring"
    found = ["Category", "Number", "Above the median" if scoring else "Selected"]
    found += ["Scoring rate" if scoring else "Selection rate", "Impact ratio"]
    if any(table.bounds for table in result.tables):
        found += ["Bounds for unknown categories", f"{100 * result.confidence_level:g}% interval around them"]
    return found


def table_rows(result: Any, table: Any) -> Iterator[list[str]]:
    """Rows of a table as text: every category, also those without a ratio."""
    ratios = {c.group: c.estimate for c in table.comparisons}
    ratios |= {c.reference: 1.0 for c in table.comparisons if c.rate_reference > 0}
    for g, group in enumerate(table.counts.groups):
        k, d = (int(v) for v in table.counts.totals[g])
        row = [group, f"{k + d:,}", f"{k:,}", f"{k / (k + d):.3f}" if k + d else "—"]
        row.append(f"{ratios[group]:.3f}" if not math.isnan(ratios.get(group, math.nan)) else "—")
        if len(heads(result)) > len(row):
            low, high, *interval = (f"{v:.3f}" for v in table.bounds_of(group))
            known = group in table.bounds
            row += [f"{low} to {high}" if known else "—", " to ".join(interval) if known else "—"]
        yield row


def page(result: Any) -> str:
    """The page as one HTML file."""
    text = html.escape
    title = "Bias audit under New York City Local Law 144"
    parts = [f"<h1>{title}</h1><dl>"]
    parts += [f"<dt>{text(ABOUT[k])}</dt><dd>{text(v)}</dd>" for k, v in result.about.items() if k in ABOUT]
    parts.append("</dl>")
    for table in result.tables:
        head = "".join(f'<th scope="col">{text(name)}</th>' for name in heads(result))
        body = "".join(
            f'<tr><th scope="row">{text(first)}</th>' + "".join(f"<td>{text(c)}</td>" for c in rest) + "</tr>"
            for first, *rest in table_rows(result, table)
        )
        parts.append(
            f'<div class="wide" tabindex="0" role="region" aria-label="{text(table.name)}"><table>'
            f"<caption>{text(table.name)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
            f"</div>{''.join(f'<p class=note>{text(said)}</p>' for said in remarks(result, table))}"
        )
    parts.append(f'<p class="note">{text(" ".join(meaning(result)))}</p>')
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>'
    whole = f"<head>{head}<style>{_STYLE}</style></head><body><main>{''.join(parts)}</main></body>"
    return f'<!DOCTYPE html><html lang="en">{whole}</html>\n'


def remarks(result: Any, table: Any) -> list[str]:
    """What stands below a table: people of unknown category, categories without a ratio."""
    n = table.n_unknown
    unknown = f"{n:,} {'person' if n == 1 else 'people'} of an unknown category: in none of the rates."
    return [unknown if n else "No category was unknown."] + [f"{name}: {why}" for name, why in table.excluded.items()]


def meaning(result: Any) -> list[str]:
    """How the numbers are made."""
    rate = "The selection rate is the number selected over the number of the category."
    if result.measure == "scoring":
        rate = "The scoring rate is the share of the category above the median score of the whole sample"
        at = (
            ""
            if result.median is None
            else f" ({result.median:g}; number of people who have just it: {result.n_at_median:,})"
        )
        rate += f"{at}; a score at the median is not above it."
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


def csv_text(result: Any) -> str:
    """The tables below each other, one row per category."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["Table", *heads(result)])
    for table in result.tables:
        for row in table_rows(result, table):
            writer.writerow([safe(table.name), safe(row[0]), *(cell.replace(",", "") for cell in row[1:])])
        if table.n_unknown:
            empty = [""] * (len(heads(result)) - 2)
            writer.writerow([safe(table.name), "Unknown category", table.n_unknown, *empty])
    return out.getvalue()


def safe(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula.

    Examples
    --------
    >>> safe("=2+3"), safe("Women")
    ("'=2+3", 'Women')
    """
    text = " ".join(cell.split())  # a tab or an end of line starts a formula, too
    return f"'{text}" if text[:1] in ("=", "+", "-", "@") else text
