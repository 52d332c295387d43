"""Group sizes and denominators: every rate with the counts that it rests on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairstats.ground.counts import CellCounts, ConfusionCounts
from fairstats.methods.rates.definitions import RATES
from fairstats.report.format import count, percent, printable, whole_or_weighted

if TYPE_CHECKING:
    from fairstats.report.settings import AuditColumns

__all__ = ["GroupsTable", "RateCell", "groups_table"]

_SHOWN = (
    ("selection_rate", "Selected", "ŷ=1 of rows"),
    ("base_rate", "Favourable outcome", "Y=1 of rows"),
    ("tpr", "TPR", "ŷ=1 of Y=1"),
    ("tnr", "TNR", "ŷ=0 of Y=0"),
    ("ppv", "PPV", "Y=1 of ŷ=1"),
    ("npv", "NPV", "Y=0 of ŷ=0"),
)


@dataclass(frozen=True)
class RateCell:
    """A rate as text, and the counts behind it."""

    rate: str
    counts: str


@dataclass(frozen=True)
class GroupsTable:
    """Sizes and rates of every group.

    Attributes
    ----------
    headings : tuple of (str, str)
        Name and meaning of every rate.
    rows : tuple of (label, rows, share of rows, cells)
    weighted : bool
    total : str
    """

    headings: tuple[tuple[str, str], ...]
    rows: tuple[tuple[str, str, str, tuple[RateCell, ...]], ...]
    weighted: bool
    total: str


def groups_table(table: CellCounts, columns: AuditColumns) -> GroupsTable:
    """The table of one set of attributes.

    Parameters
    ----------
    table : CellCounts
    columns : AuditColumns
        Says whether a table of selections counts predictions or outcomes.
    """
    if isinstance(table, ConfusionCounts):
        shown = [(name, meaning, RATES[key].successes, RATES[key].cases) for key, name, meaning in _SHOWN]
    else:
        _, name, meaning = _SHOWN[0 if columns.y_pred is not None else 1]
        shown = [(name, meaning, ("selected",), ("selected", "not_selected"))]
    totals = [(table.total(*successes), table.total(*cases)) for _, _, successes, cases in shown]
    sizes = table.group_sizes
    rows = []
    for g, label in enumerate(table.groups):
        cells = tuple(_cell(float(k[g]), float(d[g])) for k, d in totals)
        share = percent(float(sizes[g]) / table.n) if table.n else "—"
        rows.append((printable(label), count(sizes[g]), share, cells))
    return GroupsTable(
        headings=tuple((name, meaning) for name, meaning, _, _ in shown),
        rows=tuple(rows),
        weighted=table.weighted,
        total=count(table.n),
    )


def _cell(successes: float, cases: float) -> RateCell:
    rate = percent(successes / cases) if cases > 0 else "—"
    return RateCell(rate, f"{whole_or_weighted(successes)} of {whole_or_weighted(cases)}")
