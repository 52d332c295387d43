"""The cross-check as an HTML fragment, for notebooks and for the report."""

from __future__ import annotations

import html
from itertools import groupby
from typing import TYPE_CHECKING

from fairstats.report.crosscheck.table import small_text, value_text
from fairstats.report.format import printable

if TYPE_CHECKING:
    from fairstats.report.crosscheck.check import Check
    from fairstats.report.crosscheck.table import Crosscheck

__all__ = ["TONES", "fragment", "rows_of"]

HEADS = (
    "Quantity",
    "Python",
    "R",
    "Absolute difference",
    "Relative difference",
    "Tolerance",
    "Verdict",
    "By",
)
#: Verdict → class of the report's style sheet.
TONES = {
    "agrees": "satisfied",
    "within Monte Carlo error": "satisfied",
    "disagrees": "violated",
    "needs --data": "insufficient",
    "not recomputed": "insufficient",
}
#: Verdict → sign that stands beside the word.
SIGNS = {
    "agrees": "✓",
    "within Monte Carlo error": "≈",
    "disagrees": "✗",
    "needs --data": "–",
    "not recomputed": "–",
}


def fragment(found: Crosscheck) -> str:
    """A ``section`` with the table; on narrow screens the report's style sheet makes cards of its rows.

    Agreeing rows of one comparison are folded; disagreements stand open.
    """
    numbers = {source: k for k, source in enumerate(found.sources, start=1)}
    parts = [
        '<section aria-labelledby="crosscheck" class="crosscheck">',
        '<h2 id="crosscheck">Cross-check in R</h2>',
        f"<p><b>{_text(found.verdict_line())}</b>, recomputed by independent code in R "
        f"{_text(found.r_version)}.</p>",
        *(f'<p class="small">{_text(note)}</p>' for note in found.notes()),
    ]
    for place, members in groupby(found.checks, key=_section):
        parts.append(_block(place, list(members), numbers))
    sources = "".join(f"<li>{_text(source)}</li>" for source in numbers)
    parts.append(f'<h3>Functions of R</h3><ol class="refs">{sources}</ol></section>')
    return "".join(parts)


def rows_of(members: list[Check], numbers: dict[str, int]) -> str:
    """Table rows of the checks of one section, grouped by metric and groups."""
    rows = []
    for (metric, group, reference), own in groupby(members, key=lambda c: (c.metric, c.group, c.reference)):
        against = f" against <bdi>{_text(reference)}</bdi>" if reference else ""
        whose = f": <bdi>{_text(group)}</bdi>{against}" if group else ""
        title = f"{_text(metric.replace('_', ' '))}{whose}"
        head = f'<th role="rowheader" scope="rowgroup" colspan="{len(HEADS)}">{title}</th>'
        rows.append(f'<tr role="row" class="metric">{head}</tr>')
        rows.extend(_row(check, numbers) for check in own)
    return "".join(rows)


def _block(place: tuple[str, str], members: list[Check], numbers: dict[str, int]) -> str:
    bad = sum(check.counted and not check.agreed for check in members)
    counted = sum(check.counted for check in members)
    name = " · ".join(part for part in place if part) or "Result"
    heads = "".join(f'<th role="columnheader" scope="col">{head}</th>' for head in HEADS)
    table = (
        f'<table class="cards" role="table"><thead role="rowgroup"><tr role="row">{heads}</tr></thead>'
        f'<tbody role="rowgroup">{rows_of(members, numbers)}</tbody></table>'
    )
    said = f"{_text(name)}: {counted - bad} of {counted} agree"
    return f"<details{' open' if bad else ''}><summary>{said}</summary>{table}</details>"


def _row(check: Check, numbers: dict[str, int]) -> str:
    tone = TONES[check.verdict]
    verdict = (
        f'<span class="chip {tone}"><i aria-hidden="true">{SIGNS[check.verdict]}</i>{check.verdict}</span>'
    )
    if check.note:
        verdict += f" <small>{_text(check.note)}</small>"
    known = check.counted
    cells = (
        value_text(check.python),
        value_text(check.r) if known else "—",
        small_text(check.absolute_difference) if known else "",
        small_text(check.relative_difference) if known else "",
        small_text(check.tolerance) if known else "",
        verdict,
        str(numbers.get(check.source, "")),
    )
    written = "".join(_cell(head, cell) for head, cell in zip(HEADS[1:], cells, strict=True))
    return f'<tr role="row"><th role="rowheader" scope="row">{_text(check.quantity)}</th>{written}</tr>'


def _cell(head: str, content: str) -> str:
    kind = "num" if content else "num empty"
    return f'<td role="cell" class="{kind}" data-label="{head}"><span>{content}</span></td>'


def _section(check: Check) -> tuple[str, str]:
    return check.section, check.sensitive_features


def _text(value: str) -> str:
    return html.escape(printable(value))
