"""The report of an audit: results by section, what they rest on, and every view of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any, Self

from fairstats._version import __version__
from fairstats.ground import serialise
from fairstats.ground.checks import check_choice, check_flag, check_type
from fairstats.ground.errors import FairstatsWarning, InputError, caution
from fairstats.ground.lazy import Axes
from fairstats.ground.progress import under_way
from fairstats.ground.results import Result, markdown_table
from fairstats.ground.writing import DOCUMENTS, HTML, JSON, write_file
from fairstats.plots.picture import Picture, draw
from fairstats.report.claims import claims_sentence
from fairstats.report.contents import Contents
from fairstats.report.crosscheck.table import Crosscheck
from fairstats.report.methods import check_pages
from fairstats.report.packed import pack, unpack
from fairstats.report.pages import check_convertible, convert, picture_for, write_pictures
from fairstats.report.parts import general_parts, set_parts
from fairstats.report.pictures import pictures_of
from fairstats.report.render import (
    ShownPart,
    render_brief,
    render_fragment,
    render_html,
    render_screen,
    render_terminal,
    render_text,
)
from fairstats.report.screen.page import Screen, make_screen
from fairstats.report.sets import view_sets


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

    def __iter__(self) -> Iterator[Result]:
        """Every result, in the order of the sections."""
        return iter(self.results)

    def __len__(self) -> int:
        """How many results there are."""
        return len(self.results)

    def __bool__(self) -> bool:
        """True, also of a report in which nothing could be compared."""
        return True

    def to_markdown(self) -> str:
        """The first screen in Markdown, and the table of every comparison below it."""
        frame = self.to_frame()
        names = [name for name in _MARKDOWN_COLUMNS if name in frame]
        table = markdown_table(frame[names], "All comparisons", self.notes)
        return f"{self.screen().to_markdown()}\n\n{table}\n"

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
            check_pages(report.sections)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as problem:
            got = f"a report whose parts do not fit together ({type(problem).__name__}: {problem})"
            raise InputError(
                "data",
                got=got,
                allowed=allowed,
                cure="write the file anew",
            ) from problem
        return report

    def to_json(self, path: str | PathLike[str]) -> Path:
        """Write the report as JSON, from which `from_json` reads it back without loss.

        What repeats is stated once (`fairstats.report.packed` says how, R reads it too). The key
        ``table`` holds the columns of `to_frame` once more, for readers that know no results (a
        spreadsheet, ``pandas.DataFrame(json.load(file)["table"])``): missing and infinite numbers
        are null there; the key ``claims`` holds the sentence that says what holds over the whole audit. `from_json`
        leaves both unread.

        Parameters
        ----------
        path : path-like

        Returns
        -------
        Path
        """
        return write_file(path, self.json_text(), JSON)

    @under_way("writing JSON")
    def json_text(self) -> str:
        """The text that `to_json` writes."""
        frame = self.to_frame().astype(object)
        frame = frame.where(frame.notna(), None)
        table: dict[str, list[Any]] = {}
        for name in frame.columns:
            encoded_values = [serialise.encode(value) for value in frame[name].tolist()]
            table[str(name)] = [
                None if isinstance(encoded, dict) else encoded for encoded in encoded_values
            ]
        claimed = claims_sentence(self.sections, self.settings.confidence_level, self.claims)
        written = {**pack(self.to_dict()), _CLAIMS: claimed, _TABLE: table}
        return json.dumps(written, allow_nan=False, separators=(",", ":")) + "\n"

    @classmethod
    def from_json(cls, path: str | PathLike[str]) -> Self:
        """Read what `to_json` wrote.

        Raises
        ------
        InputError
            If the file cannot be read or holds something else, also what another version of
            fairstats wrote and this one does not know; the message names both versions.

        Warns
        -----
        FairstatsWarning
            Where another version of fairstats wrote it.
        """
        return cls.from_dict(
            serialise.read_json(serialise.check_path("path", path), "path", _WRITTEN)
        )

    def to_html(self, path: str | PathLike[str], *, crosscheck: Crosscheck | None = None) -> Path:
        """Write the report as one self-contained HTML file.

        Parameters
        ----------
        path : path-like
        crosscheck : Crosscheck, optional
            What `fs.crosscheck(report)` returned: adds a section with every number and what R makes
            of it.

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
        """One part of the report: a plain sentence, its pictures, its tables.

        It shows itself in notebooks.

        Parameters
        ----------
        key : str
            "summary", "rates", "power", "madd", "hfm", "um", "ecd", "models", "limits",
            "references": those that the audit has.
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
        parts = self.parts()
        if sensitive_features is None:
            name = next(iter(parts))
        else:
            name = sensitive_features
        check_choice("sensitive_features", name, tuple(parts))
        check_choice("key", key, tuple(parts[name]))
        return parts[name][key]

    def parts(self) -> dict[str, dict[str, ShownPart]]:
        """Every part by its key, by set of sensitive columns; of two with one key the first."""
        made = {}
        for view in view_sets(self):
            made[view.name] = (*general_parts(self, view), *reversed(set_parts(self, view)))
        result: dict[str, dict[str, ShownPart]] = {}
        for name, parts in made.items():
            result[name] = {part.key: ShownPart(**vars(part)) for part in parts}
        return result

    def to_document(
        self, path: str | PathLike[str], *, crosscheck: Crosscheck | None = None
    ) -> Path:
        """Write the report as Word (``.docx``, by pandoc) or as PDF (``.pdf``, by a browser or
        LaTeX).

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
        self,
        path: str | PathLike[str],
        data: str | PathLike[str] | None = None,
        *,
        overwrite: bool = False,
    ) -> Path:
        """Write an R Markdown vignette about this audit, to be edited.

        See ``fairstats vignettes new``.

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
        if data is None:
            keys = {name: list(parts) for name, parts in self.parts().items()}
        else:
            keys = {}
        return vignette_of_report(self, path, data, keys, overwrite=overwrite)

    def summary(self, *, full: bool = False) -> str:
        """The report as plain text.

        Parameters
        ----------
        full : bool, default False
            Everything; otherwise the first screen: what was found for each attribute, how sure
            that is, what would settle what is undecided, and what limits the whole.
        """
        if check_flag("full", full):
            return render_text(self)
        return render_screen(self)

    def screen(self, *, ratio: float | None = None, power: float = 0.8) -> Screen:
        """The first screen as an object, also for another ratio than the one that was found.

        Parameters
        ----------
        ratio : float, optional
            True ratio of the rates for which the rows needed are told; default the estimate of
            each comparison.
        power : float, default 0.8
            Chance of the right verdict for which they are told.

        Returns
        -------
        Screen
            With `lead`, `findings` and `limits`; it prints itself.

        Raises
        ------
        InputError
            For a ratio that is not above 0, or a power outside [0.5, 1).

        Examples
        --------
        >>> import fairstats as fs
        >>> from fairstats.datasets import load_ricci
        >>> frame, about = load_ricci()
        >>> report = fs.audit(frame, y_pred="Promoted", sensitive_features="Race", reference="W")
        >>> report.screen(ratio=0.5).findings[0].sentences[0].partition(" (")[0]
        'H fares worse: 26.1% selected, against 60.3% of W'
        """
        return make_screen(self, ratio=ratio, power=power)

    def plot(
        self,
        name: str = "first",
        sensitive_features: str | None = None,
        *,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw one picture of all groups.

        Parameters
        ----------
        name : str
            "first", or one of `picture_names`: "rates-selection-rate" and other rates with their
            intervals, "intersections", "scores", "roc", "calibration".
        sensitive_features : str, optional
            Of which groups, as ``"race"`` or ``"race & sex"``; default the first that have it.
        ax : matplotlib.axes.Axes, optional

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        InputError
            For a picture, or groups, that the report does not have.
        MissingDependencyError
            Without matplotlib (extra ``report``).
        """
        pictures = self._pictures()
        names = self.picture_names
        if sensitive_features is not None:
            check_choice("sensitive_features", sensitive_features, tuple(names))
            names = {sensitive_features: names[sensitive_features]}
        have = dict.fromkeys(one for of_set in names.values() for one in of_set)
        check_choice("name", name, ("first", *have))
        for attribute, of_set in names.items():
            if name == "first" and of_set:
                return draw(pictures[attribute][of_set[0]], ax)
            if name in of_set:
                return draw(pictures[attribute][name], ax)
        raise InputError(
            "name",
            got="a report without pictures",
            allowed="an audit of rates",
            cure="to_frame()",
        )

    @property
    def picture_names(self) -> dict[str, tuple[str, ...]]:
        """Names of the pictures that `plot` draws, by set of sensitive columns."""
        return {attribute: tuple(of_set) for attribute, of_set in self._pictures().items()}

    def _pictures(self) -> dict[str, dict[str, Picture]]:
        pictures: dict[str, dict[str, Picture]] = {}
        for view in view_sets(self):
            pictures[view.name] = {one.name: one.picture for one in pictures_of(self, view)}
        return pictures

    def to_plots(self, folder: str | PathLike[str]) -> tuple[Path, ...]:
        """Write every picture of all groups to a folder, as SVG and as PNG.

        Parameters
        ----------
        folder : path-like
            It is made where it is not there; files of the same names are replaced.

        Returns
        -------
        tuple of Path
            What was written: ``race-rates-tpr.svg`` and so on.

        Raises
        ------
        InputError
            Where the folder cannot be written to.
        MissingDependencyError
            Without matplotlib (extra ``report``).
        """
        target = Path(serialise.check_path("folder", folder))
        return write_pictures(target, self._pictures())

    def __str__(self) -> str:
        return render_brief(self)

    def __rich__(self) -> Any:
        return render_terminal(self)

    def _repr_html_(self) -> str:
        return render_fragment(self)


def page_of(report: AuditReport, kind: str, crosscheck: Crosscheck | None = None) -> str | bytes:
    """What `to_html` and `to_document` write.

    The text of a page, or where `kind` is one the bytes of a document.
    """
    cure = "fs.crosscheck(report)"
    check_type(
        "crosscheck",
        crosscheck,
        (Crosscheck, type(None)),
        "what fs.crosscheck returned, or None",
        cure,
    )
    if kind in DOCUMENTS:
        return convert(render_html(report, crosscheck, picture_for(kind)), kind)
    return render_html(report, crosscheck)


#: Columns of the table that `to_markdown` writes.
_MARKDOWN_COLUMNS = (
    "sensitive_features",
    "metric",
    "group",
    "reference",
    "estimate",
    "ci_low",
    "ci_high",
    "pvalue_adjusted",
    "verdict",
    "real_over_audit",
    "holds_over_audit",
)
_WRITTEN = "a file that AuditReport.to_json wrote"
#: The tidy table, which a report's JSON repeats for other readers.
_TABLE = "table"
#: The sentence of what holds over the whole audit, which other readers cannot make.
_CLAIMS = "claims"


def read_report(held: bytes, name: str) -> AuditReport:
    """The report whose JSON is held in memory; `name` says in errors where it came from."""
    return AuditReport.from_dict(serialise.parse_json(held, "report", name, _WRITTEN))


def decode_report(data: dict[str, Any]) -> Any:
    """The value that a dictionary holds; warns or raises where another version wrote it."""
    data = check_type("data", data, dict, "what AuditReport.to_dict() returns")
    # NA as a key cannot be compared with text
    repeated = (_TABLE, _CLAIMS)
    whole = {}
    for key, value in data.items():
        if not (isinstance(key, str) and key in repeated):
            whole[key] = value
    whole = unpack(whole)
    try:
        written = str(whole["versions"]["mapping"]["fairstats"])
    except (KeyError, TypeError):
        written = ""
    if written in ("", __version__):
        return serialise.decode(whole)
    if unknown := serialise.unknown_parts(whole):
        raise _other_version(written, ", ".join(unknown[:3]) + (", …" if len(unknown) > 3 else ""))
    try:
        report = serialise.decode(whole)
    except (InputError, TypeError, ValueError, KeyError) as problem:
        raise _other_version(written, str(problem)) from problem
    whose = f"its numbers are those of {written}, the words around them those of {__version__}."
    caution(
        f"The report was written by fairstats {written}, and is read by {__version__}: {whose}",
        FairstatsWarning,
    )
    return report


def _other_version(written: str, why: str) -> InputError:
    got = f"a report of fairstats {written}, which fairstats {__version__} cannot read: {why}"
    allowed = f"a report of fairstats {__version__}, or one that holds nothing else"
    cure = (
        f'read it with the version that wrote it, pip install "fairstats=={written}", or audit'
        " again"
    )
    return InputError("data", got=got, allowed=allowed, cure=cure)
