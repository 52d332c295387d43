"""`Crosscheck`: the table of every number with what R makes of it, as a frame, as text and as
HTML.
"""

from __future__ import annotations

import math
from itertools import groupby

from fairstats.ground.checks import check_flag
from fairstats.ground.lazy import pd
from fairstats.ground.serialise import serialisable
from fairstats.report.crosscheck.check import (
    AGREES,
    COLUMNS,
    DISAGREES,
    NEEDS_DATA,
    NOT_RECOMPUTED,
    WITHIN,
    Check,
)
from fairstats.report.format import aligned, escaped, exact_number, printable

#: Columns of the printed table, and of the HTML table.
_HEADS = ("quantity", "Python", "R", "abs. diff.", "rel. diff.", "tolerance", "verdict", "by")
_HTML_HEADS = (
    "Quantity",
    "Python",
    "R",
    "Absolute difference",
    "Relative difference",
    "Tolerance",
    "Verdict",
    "By",
)
#: Verdict, in the order of `counts` → class of the report's style sheet, and the sign that stands
#: beside the word.
_TONES = {
    AGREES: ("satisfied", "✓"),
    WITHIN: ("satisfied", "≈"),
    DISAGREES: ("violated", "✗"),
    NEEDS_DATA: ("insufficient", "–"),
    NOT_RECOMPUTED: ("insufficient", "–"),
}
#: Verdict → what is said of those that have it.
_NOTES = {
    WITHIN: (
        "random quantities: R draws for itself, and agreement is a distance of at most six Monte"
        " Carlo standard errors."
    ),
    NEEDS_DATA: (
        "quantities need rows, which a report does not hold; they are not counted: pass the data "
        "(--data FILE)."
    ),
    NOT_RECOMPUTED: "quantities are not recomputed; the table says why.",
}


@serialisable(eq=False)
class Crosscheck:
    """Every number of a report or result beside what R gives, computed by independent code.

    Attributes
    ----------
    checks : tuple of Check
        One per quantity, in the order of the report.
    title : str
        Of what was checked.
    r_version : str
    written_by : str
        Version of fairstats that computed the numbers.
    """

    checks: tuple[Check, ...]
    title: str = ""
    r_version: str = ""
    written_by: str = ""

    @property
    def n_checked(self) -> int:
        """Quantities that R gave a value for; those that need rows are not among them."""
        return sum(check.counted for check in self.checks)

    @property
    def n_agree(self) -> int:
        """Quantities that agree, random ones within their Monte Carlo error."""
        return sum(check.agreed for check in self.checks)

    @property
    def agrees(self) -> bool | None:
        """True where all that was compared agrees, False where something does not, None where
        nothing was.
        """
        if self.n_agree < self.n_checked:
            return False
        if any(check.counted and not math.isnan(check.r) for check in self.checks):
            return True
        return None

    @property
    def verdict(self) -> str:
        """What `agrees` says in words: agrees, disagrees, not compared."""
        return {True: "agrees", False: "disagrees", None: "not compared"}[self.agrees]

    @property
    def disagreements(self) -> tuple[Check, ...]:
        """The quantities that disagree."""
        result = []
        for check in self.checks:
            if check.verdict == DISAGREES:
                result.append(check)
        return tuple(result)

    @property
    def sources(self) -> tuple[str, ...]:
        """Functions of R that answered, in the order of their first use."""
        return tuple(dict.fromkeys(check.source for check in self.checks if check.source))

    @property
    def numbers(self) -> dict[str, int]:
        """Function of R → its number in the list of sources."""
        return {source: number for number, source in enumerate(self.sources, start=1)}

    def to_frame(self) -> pd.DataFrame:
        """One row per quantity.

        Returns
        -------
        DataFrame
            Columns ``quantity``, ``section``, ``sensitive_features``, ``metric``, ``group``,
            ``reference``, ``python``, ``r``, ``source``, ``absolute_difference``,
            ``relative_difference``, ``tolerance`` (largest absolute difference that is agreement),
            ``verdict``, ``note``.
        """
        return pd.DataFrame([check.row() for check in self.checks], columns=list(COLUMNS))

    def counts(self) -> dict[str, int]:
        """Number of quantities per verdict."""
        verdicts = [check.verdict for check in self.checks]
        return {name: verdicts.count(name) for name in _TONES}

    def summary(self, *, full: bool = True) -> str:
        """The table as text; its last line says how many agree.

        Parameters
        ----------
        full : bool, default True
            Every quantity; otherwise only those that disagree, or could not be recomputed.
        """
        full = check_flag("full", full)
        shown = []
        for check in self.checks:
            if full or not check.agreed:
                shown.append(check)
        numbers = self.numbers
        lines = [f"Cross-check in R {self.r_version}: {printable(self.title)}".rstrip(": "), ""]
        for place, members in groupby(shown, key=_place_in_words):
            lines += [
                printable(place),
                *aligned([_HEADS, *(_cells_of_check(check, numbers) for check in members)]),
                "",
            ]
        if shown and numbers:
            lines += ["By", *(f"  [{number}] {source}" for source, number in numbers.items()), ""]
        return "\n".join([*lines, *self.notes(), self.verdict_line()])

    def notes(self) -> list[str]:
        """What was compared how, and what was not."""
        verdict_counts = self.counts()
        result: list[str] = []
        for verdict, words in _NOTES.items():
            if verdict_counts[verdict]:
                result.append(f"{verdict_counts[verdict]} {words}")
        return result

    def verdict_line(self) -> str:
        """How many agree, as "N of N agree"."""
        return f"{self.n_agree} of {self.n_checked} agree"

    def to_html(self) -> str:
        """A ``section`` with the table.

        On narrow screens the report's style sheet makes cards of its rows.

        Agreeing rows of one comparison are folded; disagreements stand open.
        """
        words = (
            f"<b>{escaped(self.verdict_line())}</b>, recomputed by independent code in R"
            f" {escaped(self.r_version)}."
        )
        parts = [
            '<section aria-labelledby="crosscheck" class="crosscheck">',
            f'<h2 id="crosscheck">Cross-check in R</h2><p>{words}</p>',
            *(f'<p class="small">{escaped(note)}</p>' for note in self.notes()),
        ]
        for place, members in groupby(
            self.checks, key=lambda check: (check.section, check.sensitive_features)
        ):
            parts.append(_html_section(place, list(members), self.numbers))
        sources = "".join(f"<li>{escaped(source)}</li>" for source in self.sources)
        parts.append(f'<h3>Functions of R</h3><ol class="refs">{sources}</ol></section>')
        return "".join(parts)

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        return self.to_html()


def _place_in_words(check: Check) -> str:
    where = " · ".join(
        part for part in (check.section, check.sensitive_features, check.metric) if part
    )
    if check.reference:
        against = f" against {check.reference}"
    else:
        against = ""
    return where + (f": {check.group}{against}" if check.group else "")


def _values_in_words(check: Check) -> tuple[str, ...]:
    """Both values, their differences and the tolerance."""
    our_text = exact_number(check.python)
    sizes = (check.absolute_difference, check.relative_difference, check.tolerance)
    if check.counted:
        return (our_text, exact_number(check.r), *map(small_text, sizes))
    return (our_text, "—", "", "", "")


def _cells_of_check(check: Check, numbers: dict[str, int]) -> tuple[str, ...]:
    if check.note and not check.counted:
        words = f"{check.verdict}: {check.note}"
    else:
        words = check.verdict
    if check.counted:
        source_number = f"[{numbers[check.source]}]"
    else:
        source_number = ""
    return (check.quantity, *_values_in_words(check), printable(words), source_number)


def small_text(value: float) -> str:
    """A difference or tolerance: one digit and the power of ten.

    >>> small_text(0.0), small_text(3.2e-13), small_text(float("nan"))
    ('0', '3e-13', '')
    """
    if math.isnan(value):
        return ""
    if value == 0:
        return "0"
    if math.isinf(value):
        return "∞"
    return f"{value:.0e}"


def _html_section(place: tuple[str, str], members: list[Check], numbers: dict[str, int]) -> str:
    agreed = sum(check.agreed for check in members)
    counted = sum(check.counted for check in members)
    name = " · ".join(part for part in place if part) or "Result"
    heads = "".join(
        f'<th role="columnheader" scope="col">{heading}</th>' for heading in _HTML_HEADS
    )
    table = (
        '<table class="cards" role="table"><thead role="rowgroup"><tr'
        f' role="row">{heads}</tr></thead><tbody'
        f' role="rowgroup">{_html_rows(members, numbers)}</tbody></table>'
    )
    words = f"{escaped(name)}: {agreed} of {counted} agree"
    return (
        f"<details{' open' if agreed < counted else ''}><summary>{words}</summary>{table}</details>"
    )


def _html_rows(members: list[Check], numbers: dict[str, int]) -> str:
    """Table rows of the checks of one section, grouped by metric and groups."""
    rows = []
    for (metric, group, reference), checks_of_groups in groupby(
        members, key=lambda check: (check.metric, check.group, check.reference)
    ):
        if reference:
            against = f" against <bdi>{escaped(reference)}</bdi>"
        else:
            against = ""
        if group:
            groups_in_words = f": <bdi>{escaped(group)}</bdi>{against}"
        else:
            groups_in_words = ""
        title = f"{escaped(metric.replace('_', ' '))}{groups_in_words}"
        heading = f'<th role="rowheader" scope="rowgroup" colspan="{len(_HTML_HEADS)}">{title}</th>'
        rows.append(f'<tr role="row" class="metric">{heading}</tr>')
        rows.extend(_html_row(check, numbers) for check in checks_of_groups)
    return "".join(rows)


def _html_row(check: Check, numbers: dict[str, int]) -> str:
    style_class, sign = _TONES[check.verdict]
    verdict = (
        f'<span class="chip {style_class}"><i aria-hidden="true">{sign}</i>{check.verdict}</span>'
    )
    if check.note:
        verdict += f" <small>{escaped(check.note)}</small>"
    cells = (*_values_in_words(check), verdict, str(numbers.get(check.source, "")))
    written = "".join(
        f'<td role="cell" class="{"num" if cell else "num empty"}"'
        f' data-label="{heading}"><span>{cell}</span></td>'
        for heading, cell in zip(_HTML_HEADS[1:], cells, strict=True)
    )
    return (
        '<tr role="row"><th role="rowheader"'
        f' scope="row">{escaped(check.quantity)}</th>{written}</tr>'
    )
