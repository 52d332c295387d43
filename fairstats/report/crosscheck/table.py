"""`Crosscheck`: the table of every number with what R makes of it, and its views."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from fairstats.ground.serialise import serialisable
from fairstats.report.crosscheck.check import COUNTED, DISAGREES, NOT_RECOMPUTED, Check
from fairstats.report.format import printable

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Crosscheck"]

_HEADS = ("quantity", "Python", "R", "abs. diff.", "rel. diff.", "tolerance", "verdict", "by")


@serialisable
@dataclass(frozen=True, eq=False)
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
    def agrees(self) -> bool:
        """Whether everything that was checked agrees, and something was."""
        return self.n_checked > 0 and self.n_agree == self.n_checked

    @property
    def disagreements(self) -> tuple[Check, ...]:
        """The quantities that disagree."""
        return tuple(check for check in self.checks if check.verdict == DISAGREES)

    @property
    def sources(self) -> tuple[str, ...]:
        """Functions of R that answered, in the order of their first use."""
        return tuple(dict.fromkeys(check.source for check in self.checks if check.source))

    def to_frame(self) -> pd.DataFrame:
        """One row per quantity.

        Returns
        -------
        DataFrame
            Columns ``quantity``, ``section``, ``sensitive_features``, ``metric``, ``group``, ``reference``,
            ``python``, ``r``, ``source``, ``absolute_difference``, ``relative_difference``, ``tolerance``
            (largest absolute difference that is agreement), ``verdict``, ``note``.
        """
        import pandas as pd

        names = list(Check("", "", "", "", 0.0, 0.0, "", 0.0, "").row())
        return pd.DataFrame([check.row() for check in self.checks], columns=names)

    def counts(self) -> dict[str, int]:
        """Number of quantities per verdict."""
        found = dict.fromkeys((*COUNTED, "needs --data", NOT_RECOMPUTED), 0)
        for check in self.checks:
            found[check.verdict] += 1
        return found

    def summary(self, *, full: bool = True) -> str:
        """The table as text; its last line says how many agree.

        Parameters
        ----------
        full : bool, default True
            Every quantity; otherwise only those that disagree, or could not be recomputed.
        """
        shown = [c for c in self.checks if full or not c.agreed]
        numbers = {source: k for k, source in enumerate(self.sources, start=1)}
        lines = [f"Cross-check in R {self.r_version}: {printable(self.title)}".rstrip(": "), ""]
        for place, members in groupby(shown, key=_place):
            lines += [printable(place), *_table([_cells(check, numbers) for check in members]), ""]
        if shown and numbers:
            lines += ["By", *(f"  [{k}] {source}" for source, k in numbers.items()), ""]
        return "\n".join([*lines, *self.notes(), self.verdict_line()])

    def notes(self) -> list[str]:
        """What was compared how, and what was not."""
        found = self.counts()
        said = []
        if found["within Monte Carlo error"]:
            said.append(
                f"{found['within Monte Carlo error']} random quantities: R draws for itself, and agreement "
                "is a distance of at most six Monte Carlo standard errors."
            )
        if found["needs --data"]:
            said.append(
                f"{found['needs --data']} quantities need rows, which a report does not hold; they are not "
                "counted: pass the data (--data FILE)."
            )
        if found[NOT_RECOMPUTED]:
            said.append(f"{found[NOT_RECOMPUTED]} quantities are not recomputed; the table says why.")
        return said

    def verdict_line(self) -> str:
        """How many agree, as "N of N agree"."""
        return f"{self.n_agree} of {self.n_checked} agree"

    def to_html(self) -> str:
        """HTML fragment: the table, without styles of its own."""
        from fairstats.report.crosscheck.html import fragment

        return fragment(self)

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        return self.to_html()


def _place(check: Check) -> str:
    where = " · ".join(part for part in (check.section, check.sensitive_features, check.metric) if part)
    against = f" against {check.reference}" if check.reference else ""
    return where + (f": {check.group}{against}" if check.group else "")


def _cells(check: Check, numbers: dict[str, int]) -> tuple[str, ...]:
    if not check.counted:
        said = f"{check.verdict}: {check.note}" if check.note else check.verdict
        return (check.quantity, value_text(check.python), "—", "", "", "", printable(said), "")
    return (
        check.quantity,
        value_text(check.python),
        value_text(check.r),
        small_text(check.absolute_difference),
        small_text(check.relative_difference),
        small_text(check.tolerance),
        check.verdict,
        f"[{numbers[check.source]}]",
    )


def value_text(value: float) -> str:
    """Ten significant digits; a dash for what is not known.

    Examples
    --------
    >>> value_text(0.74051), value_text(float("inf")), value_text(float("nan"))
    ('0.74051', '∞', '—')
    """
    if math.isnan(value):
        return "—"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return f"{value:.10g}".replace("-", "−")


def small_text(value: float) -> str:
    """A difference or tolerance: one digit and the power of ten.

    Examples
    --------
    >>> small_text(0.0), small_text(3.2e-13), small_text(float("nan"))
    ('0', '3e-13', '')
    """
    if math.isnan(value):
        return ""
    if value == 0:
        return "0"
    return "∞" if math.isinf(value) else f"{value:.0e}"


def _table(rows: Iterable[tuple[str, ...]]) -> list[str]:
    every = [_HEADS, *rows]
    widths = [max(len(row[k]) for row in every if row[-1] or k < 3) for k in range(len(_HEADS))]
    return [
        "  " + "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in every
    ]
