"""The table of replicated results: one row per item, and one per number of an item."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from fairstats.ground.checks import check_choice
from fairstats.ground.lazy import pd
from fairstats.ground.results import html_table, html_text, latex_table, printed
from fairstats.report.replication.items import (
    HOLDS,
    OPEN,
    PAPERS,
    PLURALS,
    ROUNDED,
    VERDICTS,
    Item,
    Outcome,
    PrintedNumber,
)

#: An item with more numbers than this is summed up in its row and listed below the table.
MOST_NUMBERS_IN_A_ROW = 8
_NOTHING = Outcome(math.nan)
_HEADS = ("item", "printed", "here", "verdict", "data", "command", "seconds")


@dataclass(frozen=True)
class Record:
    """Outcomes of an item, the seconds they took, and what computed them."""

    outcomes: Mapping[str, Outcome]
    seconds: float
    source: str


@dataclass(frozen=True)
class ReplicatedNumber:
    """A printed number beside what comes out here."""

    number: PrintedNumber
    outcome: Outcome

    @property
    def verdict(self) -> str:
        """About this number alone."""
        return self.number.verdict(self.outcome)

    @property
    def verdict_words(self) -> str:
        """The verdict; of a number that is only shown, that it is not judged."""
        return "not judged" if self.number.rule == "beside" else self.verdict

    @property
    def printed_words(self) -> str:
        """As printed, with its interval."""
        number = self.number
        if number.rule == "claim":
            side = self.outcome.side or number.side
            if math.isnan(self.outcome.bound):
                bound = number.bound
            else:
                bound = self.outcome.bound
            words = f"{'at least' if side == 'above' else 'at most'} {bound:.4g}"
            return f"{number.printed} ({words})" if number.printed else words
        if number.rule == "identity":
            return number.printed or "equal"
        if not number.printed_low:
            return number.printed
        interval = f"[{number.printed_low}, {number.printed_high}]"
        return f"{number.printed} {interval}".strip()

    @property
    def words(self) -> str:
        """What comes out here, with its interval."""
        outcome = self.outcome
        if math.isnan(outcome.value):
            return "—"
        value = _write_value(outcome.value, self.number)
        if math.isnan(outcome.low) and math.isnan(outcome.high):
            return value
        low = _write_value(outcome.low, self.number)
        high = _write_value(outcome.high, self.number)
        return f"{value} [{low}, {high}]"


def _write_value(value: float, number: PrintedNumber) -> str:
    """Two digits more than are printed, four significant ones where nothing is."""
    decimals = number.printed or number.printed_low
    if number.rule in ("claim", "identity") or not decimals:
        return f"{value:.4g}"
    places = len(decimals.partition(".")[2])
    return f"{value:,.{places + 2}f}" if places else f"{value:,.6g}"


@dataclass(frozen=True)
class ReplicationRow:
    """One item of a paper and what became of it.

    Attributes
    ----------
    item : Item
        What is printed, where, and on which data.
    record : Record
        What comes out here, in how many seconds, and what computed it.
    """

    item: Item
    record: Record

    @property
    def numbers(self) -> tuple[ReplicatedNumber, ...]:
        """Every number of the item."""
        outcomes = self.record.outcomes
        result = []
        for number in self.item.numbers:
            result.append(ReplicatedNumber(number, outcomes.get(number.name, _NOTHING)))
        return tuple(result)

    @property
    def judged(self) -> tuple[ReplicatedNumber, ...]:
        """The numbers that are judged, not only shown."""
        result = []
        for number in self.numbers:
            if number.number.rule != "beside":
                result.append(number)
        return tuple(result)

    @property
    def verdict(self) -> str:
        """The worst verdict of the judged numbers; without any it cannot be decided."""
        verdicts = [number.verdict for number in self.judged]
        return min(verdicts, key=VERDICTS.index) if verdicts else OPEN

    @property
    def n_hold(self) -> int:
        """Judged numbers that hold, or hold within printed rounding."""
        return sum(number.verdict in (HOLDS, ROUNDED) for number in self.judged)

    @property
    def command(self) -> str:
        """What recomputes the item; empty where nothing does."""
        if self.item.command:
            return self.item.command
        if not self.record.outcomes:
            return ""
        return f'fairstats.replication(run=True, paper="{self.item.paper}")'

    @property
    def printed_words(self) -> str:
        """What is printed, in words or in numbers."""
        if self.item.printed or len(self.numbers) > MOST_NUMBERS_IN_A_ROW:
            return self.item.printed
        return "; ".join(f"{n.number.name}: {n.printed_words}" for n in self.numbers)

    @property
    def words(self) -> str:
        """What comes out here; of many numbers how many hold."""
        if not self.record.outcomes:
            return "—"
        if len(self.numbers) > MOST_NUMBERS_IN_A_ROW:
            if not self.judged:
                return f"{len(self.numbers)} numbers (below)"
            return f"{self.n_hold} of {len(self.judged)} numbers hold (below)"
        return "; ".join(f"{n.number.name}: {n.words}" for n in self.numbers)

    @property
    def reason(self) -> str:
        """Why the verdict is what it is: how many numbers hold, what the interval is, the rest."""
        parts = []
        if len(self.judged) > 1 and 0 < self.n_hold < len(self.judged):
            parts.append(f"{self.n_hold} of {len(self.judged)} numbers hold.")
        if self.item.why:
            parts.append(self.item.why)
        if self.item.interval:
            parts.append(f"Interval: {self.item.interval}.")
        return " ".join(parts)


@dataclass(frozen=True)
class Replication:
    """Which printed results hold.

    Attributes
    ----------
    rows : tuple of ReplicationRow
        One per item, in the order of the papers.
    recomputed : bool
        Whether what can be recomputed in seconds was computed now.
    version : str
        The version whose record the other rows are read from.
    """

    rows: tuple[ReplicationRow, ...]
    recomputed: bool
    version: str

    #: One line above the table.
    title = "Which printed results hold"

    def __getitem__(self, name: str) -> ReplicationRow:
        """The row of an item by its name, "di-sex", or with the paper, "besse.di-sex"."""
        rows = {row.item.key: row for row in self.rows}
        short = {row.item.name: row for row in self.rows}
        check_choice("item", name, (*short, *rows), cure="see the column 'item' of to_frame()")
        return rows.get(name) or short[name]

    def __len__(self) -> int:
        return len(self.rows)

    def counts(self) -> dict[str, int]:
        """Number of items per verdict."""
        verdicts = [row.verdict for row in self.rows]
        return {name: verdicts.count(name) for name in reversed(VERDICTS)}

    def to_frame(self) -> pd.DataFrame:
        """One row per item.

        Returns
        -------
        DataFrame
            Columns ``paper``, ``item``, ``kind``, ``place``, ``title``, ``printed``, ``here``,
            ``verdict``, ``n_judged``, ``n_hold``, ``reason``, ``data``, ``licence``, ``command``,
            ``seconds``, ``source``.
        """
        return pd.DataFrame([_row_of_frame(row) for row in self.rows])

    def numbers(self) -> pd.DataFrame:
        """One row per number.

        Returns
        -------
        DataFrame
            Columns ``paper``, ``item``, ``number``, ``printed``, ``printed_low``,
            ``printed_high``, ``value``, ``ci_low``, ``ci_high``, ``rule``, ``verdict``.
        """
        rows = []
        for row in self.rows:
            for number in row.numbers:
                rows.append(
                    {
                        "paper": row.item.paper,
                        "item": row.item.name,
                        "number": number.number.name,
                        "printed": number.number.printed,
                        "printed_low": number.number.printed_low,
                        "printed_high": number.number.printed_high,
                        "value": number.outcome.value,
                        "ci_low": number.outcome.low,
                        "ci_high": number.outcome.high,
                        "rule": number.number.rule,
                        "verdict": number.verdict,
                    }
                )
        return pd.DataFrame(rows)

    def sentences(self) -> list[str]:
        """How many items of every paper hold."""
        sentences = []
        for paper, title in PAPERS.items():
            rows = []
            for row in self.rows:
                if row.item.paper == paper:
                    rows.append(row.verdict)
            if rows:
                parts = []
                for verdict in reversed(VERDICTS):
                    if verdict in rows:
                        parts.append(_count_words(rows.count(verdict), verdict))
                sentences.append(f"{title}: of {len(rows)} items {', '.join(parts)}.")
        return sentences

    def notes(self) -> list[str]:
        """What the table rests on."""
        if self.recomputed:
            made = "computed now"
        else:
            made = f"as recorded with version {self.version}"
        return [
            f"Rows on data that travel with the package are {made}; the others are read from the"
            " record of a study.",
            *self.sentences(),
        ]

    def summary(self) -> str:
        """The table as text."""
        frame = self.to_frame()[["paper", "item", "kind", "verdict", "n_hold", "n_judged"]]
        return printed(self.title, frame, self.notes())

    def __str__(self) -> str:
        return self.summary()

    def to_markdown(self) -> str:
        """A section per paper: its items, then the numbers of the large ones; data and licences."""
        lines: list[str] = []
        for paper, title in PAPERS.items():
            rows = [row for row in self.rows if row.item.paper == paper]
            if rows:
                lines += [f"## {title}", "", *_markdown_of_items(rows), ""]
                for row in rows:
                    if len(row.numbers) > MOST_NUMBERS_IN_A_ROW:
                        lines += [*_markdown_of_numbers(row), ""]
        lines += ["## Data and licences", "", *_markdown_of_data(self.rows)]
        return "\n".join(lines).rstrip() + "\n"

    def to_latex(self) -> str:
        """The table in LaTeX (package booktabs), a row per item."""
        rows = [[*_texts_of_row(row)] for row in self.rows]
        return latex_table(list(_HEADS), rows, self.title, self.notes())

    def to_html(self) -> str:
        """A ``section`` with the table."""
        table = html_table(_HEADS, [_texts_of_row(row) for row in self.rows])
        notes = "".join(f"<p>{html_text(note)}</p>" for note in self.notes())
        return f"<section><h4>{self.title}</h4>{table}{notes}</section>"

    def _repr_html_(self) -> str:
        return self.to_html()


def _count_words(number: int, verdict: str) -> str:
    """How many items have a verdict, in words."""
    return f"{number} {verdict if number == 1 else PLURALS[verdict]}"


def _row_of_frame(row: ReplicationRow) -> dict[str, object]:
    return {
        "paper": row.item.paper,
        "item": row.item.name,
        "kind": row.item.kind,
        "place": row.item.place,
        "title": row.item.title,
        "printed": row.printed_words,
        "here": row.words,
        "verdict": row.verdict,
        "n_judged": len(row.judged),
        "n_hold": row.n_hold,
        "reason": row.reason,
        "data": row.item.data_words,
        "licence": row.item.licence,
        "command": row.command,
        "seconds": row.record.seconds,
        "source": row.record.source,
    }


def _texts_of_row(row: ReplicationRow) -> Iterator[str]:
    """The cells of `_HEADS`."""
    yield f"{row.item.place}: {row.item.title}"
    yield row.printed_words
    yield row.words
    yield f"{row.verdict}. {row.reason}".rstrip()
    yield row.item.data_words
    yield row.command
    yield "" if math.isnan(row.record.seconds) else f"{row.record.seconds:.2g}"


def _markdown_of_items(rows: list[ReplicationRow]) -> Iterator[str]:
    yield from _markdown_line(_HEADS)
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for row in rows:
        item, stated, here, verdict, data, command, seconds = _texts_of_row(row)
        word, _, reason = verdict.partition(". ")
        command = f"`{command}`" if command else ""
        yield from _markdown_line(
            (
                item,
                stated,
                here,
                f"**{word.rstrip('.')}**. {reason}".rstrip(),
                data,
                command,
                seconds,
            )
        )


def _markdown_of_numbers(row: ReplicationRow) -> Iterator[str]:
    yield f"**{row.item.place}, number by number.** {row.item.title}."
    yield ""
    yield "| number | printed | here | verdict |"
    yield "| --- | --- | --- | --- |"
    for number in row.numbers:
        yield from _markdown_line(
            (number.number.name, number.printed_words, number.words, number.verdict_words)
        )


def _markdown_of_data(rows: tuple[ReplicationRow, ...]) -> Iterator[str]:
    abouts = {}
    for row in rows:
        for data_set in row.item.data_sets:
            abouts[data_set.name] = data_set
    yield "| name | data set | licence |"
    yield "| --- | --- | --- |"
    for name, data_set in sorted(abouts.items()):
        yield from _markdown_line((name, data_set.title, data_set.licence))


def _markdown_line(cells: tuple[str, ...]) -> Iterator[str]:
    yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
