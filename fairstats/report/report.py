"""The report of an audit: results by section, what they rest on, and every view of them."""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import Any, Self

import fairstats.report.sections  # noqa: F401 - knows every class that a stored report may hold
from fairstats._version import __version__
from fairstats.ground import serialise
from fairstats.ground.checks import check_choice, check_flag, check_type
from fairstats.ground.errors import FairstatsWarning, InputError, caution
from fairstats.ground.writing import DOCUMENTS, HTML, JSON, write_file
from fairstats.report.contents import Contents
from fairstats.report.crosscheck.table import Crosscheck
from fairstats.report.pages import check_convertible, convert, picture_for
from fairstats.report.parts import general_parts, set_parts
from fairstats.report.render import ShownPart, render_fragment, render_html, render_terminal, render_text
from fairstats.report.view import view_sets


@serialise.serialisable(eq=False)
class AuditReport(Contents):
    """What an audit found.

    Attributes
    ----------
    title, created : str
        Name; date and time, ISO 8601, UTC.
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

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready dictionary: results with their sufficient statistics, never rows."""
        return serialise.encode(self)  # type: ignore[no-any-return]

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The report that `to_dict` wrote.

        Raises
        ------
        InputError
            If the dictionary holds something else.
        """
        allowed = "what AuditReport.to_dict() or to_json() wrote"
        report = check_type("data", decode_report(data), cls, allowed, "pass the file of an audit")
        try:
            render_fragment(report)  # what fits field by field need not fit together
            report.to_frame()
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as problem:
            got = f"a report whose parts do not fit together ({type(problem).__name__}: {problem})"
            raise InputError("data", got=got, allowed=allowed, cure="write the file anew") from problem
        return report

    def to_json(self, path: str | PathLike[str]) -> Path:
        """Write the report as JSON, from which `from_json` reads it back without loss.

        The key ``table`` holds the rows of `to_frame` once more, for readers that know no results (R's
        ``fs_read_report``, a spreadsheet): missing and infinite numbers are null there. `from_json` leaves it unread.

        Parameters
        ----------
        path : path-like

        Returns
        -------
        Path
        """
        return write_file(path, self.json_text(), JSON)

    def json_text(self) -> str:
        """The text that `to_json` writes."""
        frame = self.to_frame().astype(object)
        rows = [
            {name: None if isinstance(held := serialise.encode(value), dict) else held for name, value in row.items()}
            for row in frame.where(frame.notna(), None).to_dict("records")
        ]
        return json.dumps({**self.to_dict(), _TABLE: rows}, allow_nan=False, indent=1) + "\n"

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
        return cls.from_dict(serialise.read_json(serialise.check_path("path", path), "path", _WRITTEN))

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
        return write_file(path, page_of(self, "", crosscheck), HTML)

    def part(self, key: str, sensitive_features: str | None = None) -> ShownPart:
        """One part of the report: a plain sentence, its pictures, its tables; it shows itself in notebooks.

        Parameters
        ----------
        key : str
            "summary", "rates", "power", "madd", "hfm", "um", "ecd", "models", "limits", "references": those
            that the audit has.
        sensitive_features : str, optional
            Of which groups, as ``"race"`` or ``"race & sex"``; default the first.

        Returns
        -------
        ShownPart
            With `lead`, the sentence, `figures`, `tables` and `to_latex()`.

        Raises
        ------
        InputError
            For a part, or groups, that the report does not have.
        """
        known = self.parts()
        name = next(iter(known)) if sensitive_features is None else sensitive_features
        check_choice("sensitive_features", name, tuple(known))
        check_choice("key", key, tuple(known[name]))
        return known[name][key]

    def parts(self) -> dict[str, dict[str, ShownPart]]:
        """Every part by its key, by set of sensitive columns; of two with one key the first."""
        made = {view.name: (*general_parts(self, view), *reversed(set_parts(self, view))) for view in view_sets(self)}
        return {name: {part.key: ShownPart(**vars(part)) for part in parts} for name, parts in made.items()}

    def to_document(self, path: str | PathLike[str], *, crosscheck: Crosscheck | None = None) -> Path:
        """Write the report as Word (``.docx``, by pandoc) or as PDF (``.pdf``, by a browser or LaTeX).

        Parameters
        ----------
        path : path-like
        crosscheck : Crosscheck, optional
            As in `to_html`.

        Raises
        ------
        InputError
            For another ending, or where the tool is missing; the message names the cure.
        """
        target = Path(serialise.check_path("path", path))
        kind = target.suffix.lower()
        check_convertible(kind)
        return write_file(target, page_of(self, kind, crosscheck), DOCUMENTS)

    def to_vignette(
        self, path: str | PathLike[str], data: str | PathLike[str] | None = None, *, overwrite: bool = False
    ) -> Path:
        """Write an R Markdown vignette about this audit, to be edited: see ``fairstats vignettes new``.

        Parameters
        ----------
        path : path-like
            The file, ``.Rmd`` or ``.qmd``.
        data : path-like, optional
            File with the audited rows, which the vignette reads. Default: the report itself,
            which the vignette then carries. No other file is written.
        overwrite : bool, default False
            Whether a file that is there may be replaced.

        Raises
        ------
        InputError
            For another ending, or a file that is there already.
        """
        from fairstats.report.vignettes.own import vignette_of_report

        path = Path(serialise.check_path("path", path))
        check_flag("overwrite", overwrite)
        if data is not None:
            serialise.check_path("data", data)
        keys = {name: list(parts) for name, parts in self.parts().items()} if data is None else {}
        return vignette_of_report(self, path, data, keys, overwrite=overwrite)

    def summary(self, *, full: bool = True) -> str:
        """The report as plain text.

        Parameters
        ----------
        full : bool, default True
            Every comparison; otherwise intersections list only what is not satisfied.
        """
        return render_text(self, full=check_flag("full", full))

    def __str__(self) -> str:
        return self.summary()

    def __rich__(self) -> Any:
        return render_terminal(self)

    def _repr_html_(self) -> str:
        return render_fragment(self)


def page_of(report: AuditReport, kind: str, crosscheck: Crosscheck | None = None) -> str | bytes:
    """What `to_html` and `to_document` write: the text of a page, or where `kind` is one the bytes of a document."""
    cure = "fs.crosscheck(report)"
    check_type("crosscheck", crosscheck, (Crosscheck, type(None)), "what fs.crosscheck returned, or None", cure)
    if kind in DOCUMENTS:
        return convert(render_html(report, crosscheck, picture_for(kind)), kind)
    return render_html(report, crosscheck)


_WRITTEN = "a file that AuditReport.to_json wrote"
#: The tidy table, which a report's JSON repeats for other readers.
_TABLE = "table"


def read_report(held: bytes, name: str) -> AuditReport:
    """The report whose JSON is held in memory; `name` says in errors where it came from."""
    return AuditReport.from_dict(serialise.parse_json(held, "report", name, _WRITTEN))


def decode_report(data: dict[str, Any]) -> Any:
    """The value that a dictionary holds; warns or raises where another version wrote it."""
    data = check_type("data", data, dict, "what AuditReport.to_dict() returns")
    # NA as a key cannot be compared with text
    whole = {key: value for key, value in data.items() if not (isinstance(key, str) and key == _TABLE)}
    try:
        written = str(whole["versions"]["mapping"]["fairstats"])
    except (KeyError, TypeError):
        written = ""
    if written in ("", __version__):
        return serialise.decode(whole)
    if unknown := serialise.unknown_parts(whole):
        raise _other_version(written, ", ".join(unknown[:3]) + (", …" if len(unknown) > 3 else ""))
    try:
        found = serialise.decode(whole)
    except (InputError, TypeError, ValueError, KeyError) as problem:
        raise _other_version(written, str(problem)) from problem
    whose = f"its numbers are those of {written}, the words around them those of {__version__}."
    caution(f"The report was written by fairstats {written}, and is read by {__version__}: {whose}", FairstatsWarning)
    return found


def _other_version(written: str, why: str) -> InputError:
    got = f"a report of fairstats {written}, which fairstats {__version__} cannot read: {why}"
    allowed = f"a report of fairstats {__version__}, or one that holds nothing else"
    cure = f'read it with the version that wrote it, pip install "fairstats=={written}", or audit again'
    return InputError("data", got=got, allowed=allowed, cure=cure)
