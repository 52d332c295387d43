"""The first screen of a report: what was found, how sure that is, and what would settle the rest.

Page, terminal and notebook show the same sentences, which are made here and nowhere else. Per set
of attributes there are three: the finding with its rates; whether the difference is real and
whether it is beyond the limit; what would settle a verdict that is undecided.
"""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass, replace

from fairstats.ground.checks import check_number
from fairstats.report.contents import Contents
from fairstats.report.format import Axis, number, printable
from fairstats.report.screen.findings import Finding, make_finding
from fairstats.report.screen.sentences import Planned
from fairstats.report.screen.whole import lead_of_audit, limits_of, meaning_of_labels
from fairstats.report.sets import view_sets
from fairstats.report.view import Row

_WIDTH = 100
#: Characters of a forest row in plain text.
_DRAWING = 61
_INDENTED = textwrap.TextWrapper(
    _WIDTH,
    initial_indent="  ",
    subsequent_indent="  ",
    break_on_hyphens=False,
)
_ITEM = textwrap.TextWrapper(
    _WIDTH,
    initial_indent="  - ",
    subsequent_indent="    ",
    break_on_hyphens=False,
)
_PLAIN = textwrap.TextWrapper(_WIDTH, break_on_hyphens=False)
#: Heading of other quantities with a violation.
ALSO_BEYOND = "Also beyond a limit (over the whole audit, unless said otherwise)"
#: Verdict → sign of the estimate in a forest row of plain text.
_POINTS = {"violated": "◆", "satisfied": "●"}


@dataclass(frozen=True)
class Screen:
    """The first screen.

    `lead`: the audit in one sentence; `meaning`: which value counts as favourable, empty where no
    label is compared; `findings`: one a set of attributes; `limits`: what limits the whole.
    """

    title: str
    lead: str
    meaning: str
    findings: tuple[Finding, ...]
    limits: tuple[str, ...]

    def lines(
        self, *, brief_intersections: bool = False, most_also: int | None = None
    ) -> list[str]:
        """The screen as lines of plain text.

        Parameters
        ----------
        brief_intersections : bool, default False
            Of intersections the sentences alone.
        most_also : int, optional
            Other quantities beyond a limit that are named of each set of attributes.
        """
        lines = [self.title, "=" * min(len(self.title), _WIDTH), *_PLAIN.wrap(self.lead)]
        lines += [*_PLAIN.wrap(self.meaning), ""]
        for finding in self.findings:
            lines += [finding.attribute, "-" * min(len(finding.attribute), _WIDTH)]
            if finding.crossed and brief_intersections:
                finding = replace(finding, also=(), others="")
            if most_also is not None and len(finding.also) > most_also:
                more = f"{len(finding.also) - most_also} more, named by summary()."
                finding = replace(finding, also=(*finding.also[:most_also], more))
            lines += lines_of_finding(finding)
            lines.append("")
        if self.limits:
            lines.append("What limits this")
            for limit in self.limits:
                lines += _ITEM.wrap(limit)
        return lines

    def paragraphs(self) -> str:
        """What was found, as one text without drawings."""
        texts = [self.lead, self.meaning] if self.meaning else [self.lead]
        for finding in self.findings:
            texts.append(f"{finding.attribute}: {' '.join(finding.sentences)}")
            if finding.strata:
                texts.append(finding.strata)
        return " ".join(texts)

    def to_markdown(self) -> str:
        """The screen in Markdown, without drawings."""
        parts = [f"# {self.title}", self.lead, self.meaning]
        for finding in self.findings:
            parts.append(f"## {finding.attribute}")
            parts += [*finding.sentences, finding.strata]
            if finding.also:
                items = "\n".join(f"- {text}" for text in finding.also)
                parts.append(f"{ALSO_BEYOND}:\n\n{items}")
            parts += [finding.others, count_words(finding.verdicts)]
        if self.limits:
            items = "\n".join(f"- {text}" for text in self.limits)
            parts.append(f"## What limits this\n\n{items}")
        return "\n\n".join(filter(None, parts))

    def __str__(self) -> str:
        return "\n".join(self.lines()).rstrip()


def lines_of_finding(finding: Finding) -> list[str]:
    """What a finding says, as lines of plain text with its forest row."""
    lines = _INDENTED.wrap(finding.sentences[0])
    lines += _INDENTED.wrap(" ".join(finding.sentences[1:]))
    if finding.drawn is not None:
        lines.append(f"  {draw_row(finding.drawn.row, finding.drawn.axis)}")
    if finding.strata:
        lines += _INDENTED.wrap(finding.strata)
    if finding.also:
        lines.append(f"  {ALSO_BEYOND}:")
    for text in finding.also:
        lines += _ITEM.wrap(text)
    if finding.others:
        lines += _INDENTED.wrap(finding.others)
    lines += _INDENTED.wrap(count_words(finding.verdicts))
    return lines


def count_words(verdicts: dict[str, int]) -> str:
    """How many comparisons have which verdict; verdicts that none has are left out."""
    counted = ", ".join(f"{n} {verdict}" for verdict, n in verdicts.items() if n)
    n_comparisons = sum(verdicts.values())
    noun = "comparison" if n_comparisons == 1 else "comparisons"
    return f"{n_comparisons} {noun}: {counted or 'none judged'}."


def draw_row(row: Row, axis: Axis) -> str:
    """A forest row of characters: interval, estimate, limits (┊) and equality (│), with the ends
    of the scale.
    """
    characters = [" "] * _DRAWING

    def place(value: float) -> int:
        return round(axis._place_value(value) / 100 * (_DRAWING - 1))

    if not math.isnan(row.low):
        for position in range(place(row.low), place(row.high) + 1):
            characters[position] = "─"
    for limit in axis.limits:
        characters[place(limit)] = "┊"
    characters[place(axis.neutral)] = "│"
    if math.isfinite(row.estimate):
        characters[place(row.estimate)] = _POINTS.get(row.verdict, "○")
    return f"{number(axis.low, 2)} {''.join(characters)} {number(axis.high, 2)}"


def make_screen(report: Contents, *, ratio: float | None = None, power: float = 0.8) -> Screen:
    """The first screen of a report.

    Parameters
    ----------
    report : Contents
    ratio : float, optional
        True ratio of the rates that the rows needed are told for; default the present estimate of
        each comparison.
    power : float, default 0.8
        Chance of the right verdict that the rows needed are told for.
    """
    if ratio is not None:
        check_number("ratio", ratio, low=0, open_low=True, cure="0.7, say")
    check_number(
        "power",
        power,
        low=0.5,
        high=1,
        open_high=True,
        allowed="from 0.5 to below 1",
        cure="0.8",
    )
    planned = Planned(ratio=ratio, power=power)
    findings = tuple(make_finding(report, view, planned) for view in view_sets(report))
    return Screen(
        title=printable(report.title),
        lead=lead_of_audit(report),
        meaning=meaning_of_labels(report),
        findings=findings,
        limits=tuple(limits_of(report)),
    )
