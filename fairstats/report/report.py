"""The report of an audit: results by section, what they rest on, and every view of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from fairstats.ground.counts import CellCounts
from fairstats.ground.errors import InputError
from fairstats.ground.results import TIDY_COLUMNS, Result
from fairstats.ground.serialise import encode, serialisable
from fairstats.report.reading import decode_report
from fairstats.report.section import VERDICTS, Section
from fairstats.report.sections import load_sections
from fairstats.report.settings import AuditColumns, AuditSettings
from fairstats.report.statements import Statement

if TYPE_CHECKING:
    import pandas as pd

    from fairstats.report.crosscheck.table import Crosscheck

__all__ = ["AuditReport"]


@serialisable
@dataclass(frozen=True, eq=False)
class AuditReport:
    """What an audit found.

    Attributes
    ----------
    title : str
    created : str
        Date and time, ISO 8601, UTC.
    columns : AuditColumns
        Which columns were read.
    settings : AuditSettings
        Every choice.
    tables : tuple of CellCounts
        Counts per set of attributes: group sizes and denominators.
    sections : tuple of Section
        Results, per set of attributes and method.
    statements : tuple of Statement
        What the inference rests on.
    notes : tuple of str
        What could not be computed, and methods that had to be replaced.
    methods : tuple of Statement
        Definitions, intervals and tests.
    references : tuple of str
        Papers.
    versions : dict of str to str
        Of fairstats, Python and the numerical packages.

    Examples
    --------
    >>> import pandas as pd, fairstats as fs
    >>> frame = pd.DataFrame({"hired": [1, 0] * 50 + [0, 0, 0, 1] * 25, "sex": ["m"] * 100 + ["f"] * 100})
    >>> report = fs.audit(frame, y_pred="hired", sensitive_features="sex", reference="m")
    >>> report.verdicts
    {'violated': 3, 'undecided': 0, 'insufficient evidence': 0, 'satisfied': 0}
    >>> report.to_frame()[["metric", "group", "estimate"]].round(3)
                              metric group  estimate
    0               disparate_impact     f      0.50
    1  demographic_parity_difference     f     -0.25
    2         demographic_parity_max     f      0.25
    """

    title: str
    created: str
    columns: AuditColumns
    settings: AuditSettings
    tables: tuple[CellCounts, ...]
    sections: tuple[Section, ...]
    statements: tuple[Statement, ...]
    notes: tuple[str, ...]
    methods: tuple[Statement, ...]
    references: tuple[str, ...]
    versions: dict[str, str]

    @property
    def results(self) -> tuple[Result, ...]:
        """Every result, in the order of the sections."""
        return tuple(result for section in self.sections for result in section.results)

    @property
    def verdicts(self) -> dict[str, int]:
        """Number of comparisons per verdict."""
        total = dict.fromkeys(VERDICTS, 0)
        for section in self.sections:
            for verdict, count in section.verdicts().items():
                total[verdict] += count
        return total

    @property
    def violated(self) -> bool:
        """Whether any comparison is judged violated."""
        return self.verdicts["violated"] > 0

    def to_frame(self) -> pd.DataFrame:
        """The tidy tables of all results, one below the other.

        Returns
        -------
        DataFrame
            Columns ``section``, ``sensitive_features``, then those of the results.
        """
        import pandas as pd

        rows: list[dict[str, Any]] = []
        for section in self.sections:
            for result in section.results:
                for row in result.to_frame().to_dict("records"):
                    place = {"section": section.key, "sensitive_features": section.attribute_text}
                    rows.append({**place, **{str(k): v for k, v in row.items()}})
        first = ["section", "sensitive_features", *TIDY_COLUMNS]
        extra = [name for name in dict.fromkeys(k for row in rows for k in row) if name not in first]
        return pd.DataFrame(rows, columns=[*first, *extra])

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready dictionary: results with their sufficient statistics, never rows."""
        return encode(self)  # type: ignore[no-any-return]

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The report that `to_dict` wrote.

        Raises
        ------
        InputError
            If the dictionary holds something else.
        """
        load_sections()
        report = decode_report(data)
        if not isinstance(report, cls):
            raise InputError(
                "data",
                got=f"a {type(report).__name__}",
                allowed="what AuditReport.to_dict() or to_json() wrote",
                cure="pass the file of an audit",
            )
        return report

    def to_json(self, path: str | PathLike[str]) -> Path:
        """Write the report as JSON, from which `from_json` reads it back without loss.

        The key ``table`` holds the rows of `to_frame` once more, for readers that know no results (R's
        ``fs_read_report``, a spreadsheet): missing and infinite numbers are null there. `from_json` leaves it
        unread.

        Parameters
        ----------
        path : path-like

        Returns
        -------
        Path
        """
        whole = {**self.to_dict(), "table": self._table_records()}
        return write_text(path, json.dumps(whole, allow_nan=False, indent=1) + "\n")

    def _table_records(self) -> list[dict[str, Any]]:
        """Rows of `to_frame` as JSON holds them: null for what is missing or infinite."""
        frame = self.to_frame().astype(object)
        records = frame.where(frame.notna(), None).to_dict("records")
        return [{str(k): _plain(v) for k, v in record.items()} for record in records]

    @classmethod
    def from_json(cls, path: str | PathLike[str]) -> Self:
        """Read what `to_json` wrote.

        Raises
        ------
        InputError
            If the file cannot be read or holds something else, also what another version of fairstats wrote
            and this one does not know; the message names both versions.

        Warns
        -----
        FairstatsWarning
            Where another version of fairstats wrote it.
        """
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError) as problem:
            raise InputError(
                "path",
                got=f"{fspath(path)!r}, which cannot be read as JSON ({problem})",
                allowed="a file that AuditReport.to_json wrote",
                cure="write it again with to_json",
            ) from problem
        if not isinstance(data, dict):
            raise InputError(
                "path",
                got=f"{fspath(path)!r} without a report",
                allowed="a file that AuditReport.to_json wrote",
            )
        return cls.from_dict(data)

    def to_html(self, path: str | PathLike[str], *, crosscheck: Crosscheck | None = None) -> Path:
        """Write the report as one self-contained HTML file.

        Parameters
        ----------
        path : path-like
        crosscheck : Crosscheck, optional
            What `fs.crosscheck(report)` returned: adds a section with every number and what R makes of it.

        Returns
        -------
        Path

        Raises
        ------
        MissingDependencyError
            Without jinja2 (extra ``report``).
        """
        from fairstats.report.html import render_html

        return write_text(path, render_html(self, crosscheck))

    def summary(self, *, full: bool = True) -> str:
        """The report as plain text.

        Parameters
        ----------
        full : bool, default True
            Every comparison; otherwise intersections list only what is not satisfied.
        """
        from fairstats.report.text import render_text

        return render_text(self, full=full)

    def __str__(self) -> str:
        return self.summary()

    def __rich__(self) -> Any:
        from fairstats.report.terminal import render_terminal

        return render_terminal(self)

    def _repr_html_(self) -> str:
        from fairstats.report.notebook import render_fragment

        return render_fragment(self)


def _plain(value: Any) -> Any:
    """A value of a table that JSON can hold."""
    shown = encode(value)
    return None if isinstance(shown, dict) else shown


def write_text(path: str | PathLike[str], text: str) -> Path:
    """Write a file, or say why it cannot be written."""
    target = Path(path)
    try:
        target.write_text(text, encoding="utf-8", errors="xmlcharrefreplace", newline="\n")
    except OSError as problem:
        raise InputError(
            "path",
            got=f"{fspath(path)!r}, which cannot be written ({problem.strerror or problem})",
            allowed="a file in a folder that exists and may be written to",
            cure="choose another place",
        ) from problem
    return target
