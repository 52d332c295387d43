"""Intervals, tests, comparisons and the base of every result.

A frozen dataclass, whose one table is `to_frame()`.
"""

from __future__ import annotations

import functools
import html
import math
import re
import textwrap
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from fairstats.ground.checks import check_choice, check_real, check_that
from fairstats.ground.errors import InputError, MissingDependencyError, ResultAttributeError
from fairstats.ground.groups import group_index
from fairstats.ground.lazy import pd
from fairstats.ground.serialise import decode, encode, serialisable
from fairstats.ground.verdict import Procedure, Ruling, with_fields

#: The columns that every `to_frame()` begins with.
TIDY_COLUMNS = (
    "metric",
    "group",
    "reference",
    "estimate",
    "std_error",
    "ci_low",
    "ci_high",
    "statistic",
    "pvalue",
    "pvalue_adjusted",
    "n",
    "method",
    "backend",
)
_ENDS_OF = {
    "ci_low": "ci_low=confidence_interval.low",
    "ci_high": "ci_high=confidence_interval.high",
}
_OF_COMPARISONS = tuple(_ENDS_OF.get(name, name) for name in TIDY_COLUMNS[:-1])
#: The confidence level of a comparison as a column.
LEVEL = "confidence_level=confidence_interval.confidence_level"
#: Columns of a verdict: what it rests on, and its own p-values.
OF_VERDICT = (
    "bound_low=bounds.low",
    "bound_high=bounds.high",
    "pvalue_verdict",
    "pvalue_verdict_adjusted",
    "verdict",
)


#: Formats of numbers: sign, separator of thousands, up to two digits of precision, and the kind.
_NUMBER_FORMAT = re.compile(r"[+]?,?(\.\d{1,2})?[efg%]?", re.ASCII)


@serialisable()
class Interval:
    """A confidence interval, which unpacks as ``low, high``.

    Attributes
    ----------
    low, high : float
        Ends; infinite where the interval has no end.
    confidence_level : float
        Nominal level in (0, 1).
    method : str
        How it was computed.

    Examples
    --------
    >>> from fairstats.results import Interval
    >>> 0.8 in Interval(0.34, 0.39, 0.95, "log")
    False
    """

    low: float
    high: float
    confidence_level: float
    method: str

    @property
    def width(self) -> float:
        """Distance between the ends."""
        return self.high - self.low

    def __iter__(self) -> Iterator[float]:
        yield self.low
        yield self.high

    def __contains__(self, value: float) -> bool:
        """Whether a number lies between the ends, or is one of them.

        NaN does not, and ends of NaN hold nothing.
        """
        return self.low <= check_real("value", value, cure="0.8 in interval, say") <= self.high

    def words(self, number: str = ".3f", alternative: str = "two-sided") -> str:
        """The interval in words, "95% interval 0.081 to 0.200".

        Of a one-sided one only the end that is a limit.

        Parameters
        ----------
        number : str, default ".3f"
            How numbers are written: Python's format of one, as ``".3g"`` or ``".1%"``.
        alternative : {"two-sided", "less", "greater"}, default "two-sided"
            Of the test that the interval goes with: "greater" has a lower limit only, "less" an
            upper one.

        Raises
        ------
        InputError
            For another format or alternative.

        Examples
        --------
        >>> from fairstats.results import Interval
        >>> Interval(0.34, 0.39, 0.95, "log").words(".2f")
        '95% interval 0.34 to 0.39'
        """
        is_format = isinstance(number, str) and _NUMBER_FORMAT.fullmatch(number) is not None
        check_that(
            is_format,
            "number",
            number,
            "the format of a number: '.3f', '.3g', ',.0f', '.1%'",
            "'.3f'",
        )
        check_choice("alternative", alternative, ("two-sided", "less", "greater"))
        level = f"{100 * self.confidence_level:g}%"
        if alternative == "two-sided":
            return f"{level} interval {self.low:{number}} to {self.high:{number}}"
        if alternative == "greater":
            limit_text = f"at least {self.low:{number}}"
        else:
            limit_text = f"at most {self.high:{number}}"
        return f"{limit_text}, {level} limit"


_NO_INTERVAL = Interval(low=math.nan, high=math.nan, confidence_level=math.nan, method="")
_NO_PROCEDURE = Procedure()


@serialisable()
class HypothesisTest:
    """One test of one null hypothesis.

    Attributes
    ----------
    null, method : str
        The null hypothesis in words, e.g. ``"ratio >= 0.8"``, and the name of the test.
    alternative : {"less", "greater", "two-sided", "equivalence"}
        What a small p-value speaks for.
    statistic, pvalue : float
        Of the test; NaN where the data cannot give it. A statistic z is positive where the estimate
        lies above the null value. For equivalence both are of the one-sided test that decides, that
        of the larger p-value: positive at the lower end of the fair range, negative at its upper
        end, where the estimate lies within.
    exact : bool
        Whether the p-value holds at every size, by enumeration.

    Examples
    --------
    >>> import fairstats as fs
    >>> result = fs.disparate_impact(counts={"men": (390, 610), "women": (250, 750)}, reference="men")
    >>> [(test.null, test.alternative) for test in result["women"].tests[:2]]
    [('ratio >= 0.8', 'less'), ('ratio <= 0.8', 'greater')]
    """

    null: str
    alternative: str
    statistic: float
    pvalue: float
    method: str
    exact: bool = False


def columns_of(thing: Any, *columns: str) -> dict[str, Any]:
    """Column → value: each an attribute of a thing, or "column=attribute.below"."""
    values = {}
    for name, getter in _getters_of(columns):
        values[name] = getter(thing)
    return values


@functools.lru_cache(maxsize=256)
def _getters_of(columns: tuple[str, ...]) -> tuple[tuple[str, Callable[[Any], Any]], ...]:
    """Column, and what gives its value, of columns as `columns_of` takes them."""
    getters: list[tuple[str, Callable[[Any], Any]]] = []
    for column in columns:
        name, _, path = column.partition("=")
        getters.append((name, attrgetter(path or name)))
    return tuple(getters)


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """One row of a result: an estimate, of a group against its reference or of the group itself.

    `further`: columns of the tidy table beside `TIDY_COLUMNS`, as `columns_of` takes them.

    Attributes
    ----------
    metric, group, reference : str
        What is compared; the reference is empty where there is none.
    estimate, std_error : float
        On the natural scale; NaN where the data cannot give them.
    confidence_interval, bounds : Interval
        At the confidence level, one-sided where the alternative is; and the two one-sided limits of
        the verdict.
    statistic, pvalue, pvalue_adjusted : float
        Of the test, NaN where there is none.
    verdict, direction : str
        "violated", "undecided", "insufficient evidence", "satisfied", or empty where nothing is
        judged; and what its p-value speaks for: "below", "above" or "inside" the fair range.
    pvalue_verdict, pvalue_verdict_adjusted : float
        Of the verdict's own null hypothesis, alone and over the comparisons of the metric.
    n : int
        Rows behind the estimate.
    method, note : str
        How interval and test were computed; what could not be computed, and why.
    procedure : Procedure
        The same for programs: what kind of evidence verdict, p-values and limits rest on.

    Examples
    --------
    >>> import fairstats as fs
    >>> counts = {"men": (390, 610), "women": (250, 750)}
    >>> row = fs.disparate_impact(counts=counts, reference="men").comparisons[0]
    >>> row.group, row.reference, round(row.estimate, 3), row.verdict, row.direction
    ('women', 'men', 0.641, 'violated', 'below')
    >>> row.procedure.kind
    'score'
    """

    further: ClassVar[tuple[str, ...]] = ()

    metric: str = ""
    group: str = ""
    reference: str = ""
    estimate: float = math.nan
    std_error: float = math.nan
    confidence_interval: Interval = _NO_INTERVAL
    statistic: float = math.nan
    pvalue: float = math.nan
    pvalue_adjusted: float = math.nan
    verdict: str = ""
    bounds: Interval = _NO_INTERVAL
    direction: str = ""
    pvalue_verdict: float = math.nan
    pvalue_verdict_adjusted: float = math.nan
    n: int = 0
    method: str = ""
    note: str = ""
    procedure: Procedure = _NO_PROCEDURE

    def _row(self, backend: str) -> dict[str, Any]:
        """Row of the tidy table: `TIDY_COLUMNS`, then the columns that the class adds in
        `further`.
        """
        return {
            **columns_of(self, *_OF_COMPARISONS),
            "backend": backend,
            **columns_of(self, *self.further),
        }

    def _with_ruling(self, ruling: Ruling, pvalue_adjusted: float | None = None) -> Self:
        """The same comparison with the verdict that its family allows, and the adjusted p-value
        where there is one.
        """
        if pvalue_adjusted is None:
            pvalue_adjusted = self.pvalue_adjusted
        return with_fields(
            self,
            pvalue_adjusted=pvalue_adjusted,
            verdict=ruling.verdict,
            direction=ruling.direction,
            pvalue_verdict=ruling.pvalue,
            pvalue_verdict_adjusted=ruling.pvalue_adjusted,
        )


#: Attributes that every result answers to, from its comparisons where the class has none of its
#: own.
_ANSWERED_ATTRIBUTES = (
    "estimate",
    "std_error",
    "statistic",
    "pvalue",
    "confidence_interval",
    "verdict",
)


class _AnswersFromComparisons:
    """Names that a result answers to from its comparisons.

    Properties would become defaults of dataclass fields.
    """

    #: Names that a class cannot answer to → why, and where to look instead.
    lacks: ClassVar[Mapping[str, str]] = {}

    if TYPE_CHECKING:

        @property
        def backend(self) -> str: ...
        @property
        def comparisons(self) -> Any: ...
        @property
        def estimate(self) -> Any: ...
        @property
        def std_error(self) -> Any: ...
        @property
        def confidence_interval(self) -> Any: ...
        @property
        def statistic(self) -> Any: ...
        @property
        def pvalue(self) -> Any: ...
        @property
        def verdict(self) -> Any: ...
        def plot(self, *args: Any, **options: Any) -> Any: ...
    else:

        def __getattr__(self, name: str) -> Any:
            if name in self.lacks:
                raise ResultAttributeError(type(self).__name__, name, self.lacks[name])
            if name in ("comparisons", "plot"):
                raise ResultAttributeError(type(self).__name__, name, "its table is in to_frame()")
            if name not in _ANSWERED_ATTRIBUTES:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            values = [getattr(c, name) for c in self.comparisons]
            if len(values) == 1:
                return values[0]
            if name in ("confidence_interval", "verdict"):
                return tuple(values)
            return np.array(values)


@dataclass(frozen=True, eq=False)
class Result(_AnswersFromComparisons):
    """Base of every result: one tidy table, one set of names, and everything else derived from
    them.

    `estimate`, `std_error`, `confidence_interval`, `statistic`, `pvalue` and `verdict` are those of
    the only comparison, or an array (of intervals and verdicts a tuple) over all, in the order of
    `comparisons`.

    Examples
    --------
    >>> import fairstats as fs
    >>> counts = {"men": (390, 610), "women": (250, 750), "others": (90, 110)}
    >>> result = fs.disparate_impact(counts=counts, reference="men")
    >>> result.verdict
    ('violated', 'undecided')
    >>> [(row.group, round(row.estimate, 3)) for row in result]
    [('women', 0.641), ('others', 1.154)]
    >>> result["women"].verdict, len(result.to_frame())
    ('violated', 2)
    """

    #: One line above the table.
    title: ClassVar[str] = "Result"
    #: Columns of the printed table, where these are not all of the tidy one.
    _shown: ClassVar[tuple[str, ...]] = ()

    def __dir__(self) -> Iterable[str]:
        known_names = set(super().__dir__()) | {own_field.name for own_field in fields(self)}
        return sorted(
            (known_names | set(_ANSWERED_ATTRIBUTES if "comparisons" in known_names else ()))
            - set(self.lacks)
        )

    def __getitem__(self, group: Hashable) -> Any:
        """The comparison of one group; where pairs are compared, of ``(group, reference)``."""
        if "__getitem__" in self.lacks:
            raise ResultAttributeError(type(self).__name__, "[group]", self.lacks["__getitem__"])
        if isinstance(group, tuple) and len(group) == 2:
            group_pair = tuple(map(str, group))
        else:
            group_pair = None
        for comparison in self.comparisons:
            if (comparison.group, comparison.reference) == group_pair:
                return comparison
        return self.comparisons[group_index([c.group for c in self.comparisons], group, "group")]

    def __iter__(self) -> Iterator[Any]:
        """The comparisons; of a result without any the rows of its table."""
        if "comparisons" in self.lacks:
            return iter(self.rows())
        return iter(self.comparisons)

    def __len__(self) -> int:
        """How many comparisons there are, or rows where there is none."""
        if "comparisons" in self.lacks:
            return len(self.rows())
        return len(self.comparisons)

    def __bool__(self) -> bool:
        """True: a result without a comparison is a result."""
        return True

    def __float__(self) -> float:
        """The estimate of the only comparison, for searches and sums."""
        estimate = np.asarray(self.estimate, dtype=np.float64)
        if estimate.size != 1:
            raise ResultAttributeError(
                type(self).__name__,
                "one number",
                f'it has {estimate.size} comparisons: result["group"].estimate, agg="max", or'
                " fs.make_scorer",
            )
        return float(estimate.reshape(()))

    def sentences(self) -> list[str]:
        """What the result says, in sentences."""
        raise TypeError(f"{type(self).__name__} words nothing")

    def rows(self) -> list[dict[str, Any]]:
        """Rows of the tidy table, one per estimate."""
        return [c._row(self.backend) for c in self.comparisons]

    def to_frame(self) -> pd.DataFrame:
        """Tidy table: one row per estimate, columns `TIDY_COLUMNS` in that order, then those of the
        method.
        """
        tidy_rows = self.rows()
        further_columns = []
        for name in dict.fromkeys(row_key for tidy_row in tidy_rows for row_key in tidy_row):
            if name not in TIDY_COLUMNS:
                further_columns.append(name)
        return pd.DataFrame(tidy_rows, columns=[*TIDY_COLUMNS, *further_columns])

    def summary(self) -> str:
        """The result as text: title, table, notes."""
        frame = self.to_frame()
        return printed(self.title, frame[self._telling_columns(frame)], self.notes())

    def _summary_columns(self, frame: pd.DataFrame) -> list[str]:
        """Columns that the printed table may show; those without any entry are left out."""
        shown_columns = self._shown or [c for c in frame.columns if c not in ("backend", "method")]
        return [c for c in shown_columns if c in frame]

    def _telling_columns(self, frame: pd.DataFrame) -> list[str]:
        """Of the columns of the printed table those that say something in some row."""
        columns = ((name, frame[name].tolist()) for name in self._summary_columns(frame))
        return [
            name
            for name, values in columns
            if any(entry is not None and entry == entry and entry != "" for entry in values)
        ]

    def to_latex(self) -> str:
        r"""The printed table in LaTeX (package booktabs), with the notes below it.

        All text is escaped.

        Examples
        --------
        >>> import fairstats as fs
        >>> result = fs.disparate_impact(counts={"a_1": (40, 60), "b": (25, 75)}, reference="a_1")
        >>> print(result.to_latex().splitlines()[4][:44])
        b & a\_1 & 0.25 & 0.4 & 0.625 & 0.41 & 0.943
        """
        frame = self.to_frame()
        frame = _without_tiny_ends(frame[self._telling_columns(frame)])
        text_rows = []
        for frame_row in frame.itertuples(index=False):
            text_rows.append([_cell_text(cell_value) for cell_value in frame_row])
        return latex_table(
            [str(name) for name in frame.columns], text_rows, self.title, self.notes()
        )

    def to_markdown(self) -> str:
        """The printed table in Markdown, with the notes below it.

        Examples
        --------
        >>> import fairstats as fs
        >>> result = fs.disparate_impact(counts={"a": (40, 60), "b": (25, 75)}, reference="a")
        >>> print(result.to_markdown().splitlines()[2][:46])
        | group | reference | rate | rate_reference |
        """
        frame = self.to_frame()
        return markdown_table(
            _without_tiny_ends(frame[self._telling_columns(frame)]), self.title, self.notes()
        )

    def to_great_table(self) -> Any:
        """The printed table as a `great_tables.GT`, to be styled further.

        Raises
        ------
        MissingDependencyError
            Without great-tables.
        """
        frame = self.to_frame()
        return great_table(
            _without_tiny_ends(frame[self._telling_columns(frame)]), self.title, self.notes()
        )

    def notes(self) -> list[str]:
        """Sentences below the table: settings, reference, what could not be computed."""
        return []

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready dictionary with every field and the sufficient statistics.

        `from_dict` undoes it.
        """
        return encode(self)  # type: ignore[no-any-return]

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The result that `to_dict` wrote.

        An InputError where the dictionary holds something else.
        """
        decoded = decode(data)
        if not isinstance(decoded, cls):
            received = f"a {type(decoded).__name__}"
            allowed = f"what {cls.__name__}.to_dict() returns"
            raise InputError(
                "data",
                got=received,
                allowed=allowed,
                cure="use the from_dict of the right class",
            )
        return decoded

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        frame = self.to_frame()
        table = frame[self._telling_columns(frame)].to_html(
            index=False,
            float_format=_format_number,
            na_rep="—",
            border=0,
        )
        notes = "".join(f"<p>{html.escape(note_text)}</p>" for note_text in self.notes())
        return f"<section><h4>{html.escape(self.title)}</h4>{table}{notes}</section>"


#: Columns of a printed result, and lengths that texts of a table are cut to: the first with which it
#: fits.
WIDTH = 100
_CELL_WIDTHS = (40, 32, 24)
#: What is repeated where a table is too wide.
_NAME_COLUMNS = ("metric", "class", "group", "reference")
#: Ends of an interval that belong together; below this share of the other an end is 0, up to
#: rounding.
_INTERVAL_END_COLUMNS = (("ci_low", "ci_high"), ("bound_low", "bound_high"))
_NEGLIGIBLE_SHARE = 1e-12


def _without_tiny_ends(frame: pd.DataFrame) -> pd.DataFrame:
    """The table without ends of intervals that differ from 0 by rounding only."""
    shown_frame = frame.copy()
    for lower_column, upper_column in _INTERVAL_END_COLUMNS:
        if lower_column in shown_frame and upper_column in shown_frame:
            upper_size = shown_frame[upper_column].abs()
            is_negligible = (
                (shown_frame[lower_column].abs() < _NEGLIGIBLE_SHARE * upper_size)
                & (upper_size < np.inf)
            ).to_numpy(dtype=bool)
            shown_frame.loc[is_negligible, lower_column] = 0.0
    return shown_frame


def html_text(value: object) -> str:
    """A value as text in HTML."""
    return html.escape(str(value))


#: Character → what LaTeX prints it as.
_LATEX_CHARACTERS = str.maketrans(
    {c: f"\\{c}" for c in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "−": "$-$"}
    | {"∞": r"$\infty$", "≥": r"$\geq$", "≤": r"$\leq$", "±": r"$\pm$", "ŷ": r"$\hat{y}$"}
)


def html_table(
    headings: Iterable[object],
    rows: Iterable[Iterable[object]],
    *,
    caption: str = "",
    row_headings: bool = False,
    to_html: Callable[[object], str] = html_text,
) -> str:
    """A plain table of texts in HTML, of which every cell is escaped.

    `caption`: none if empty; `row_headings`: whether the first cell of a row heads it; `to_html`:
    how a cell is escaped.
    """
    lines = ["<table>"]
    if caption:
        lines.append(f"<caption>{to_html(caption)}</caption>")
    cells = [f'<th scope="col">{to_html(heading)}</th>' for heading in headings]
    lines.append(f"<thead><tr>{''.join(cells)}</tr></thead><tbody>")
    for row in rows:
        cells = [f"<td>{to_html(text)}</td>" for text in row]
        if row_headings:
            first = cells[0].removeprefix("<td>").removesuffix("</td>")
            cells[0] = f'<th scope="row">{first}</th>'
        lines.append(f"<tr>{''.join(cells)}</tr>")
    lines.append("</tbody></table>")
    return "".join(lines)


def latex_table(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    caption: str,
    notes: Iterable[str] = (),
) -> str:
    """A table of texts in LaTeX, with rules of booktabs; notes stand below it."""
    lines = []
    for row_texts in (heads, *rows):
        lines.append(
            " & ".join(cell_text.translate(_LATEX_CHARACTERS) for cell_text in row_texts) + r" \\"
        )
    alignment = "".join(
        "l" if any(c.isalpha() for row_texts in rows for c in row_texts[column_number]) else "r"
        for column_number in range(len(heads))
    )
    note_lines = []
    for note_text in notes:
        note_lines.append(rf"\par\footnotesize {note_text.translate(_LATEX_CHARACTERS)}")
    table_beginning = [
        r"\begin{table}",
        rf"\caption{{{caption.translate(_LATEX_CHARACTERS)}}}",
        rf"\begin{{tabular}}{{{alignment}}} \toprule",
    ]
    table = [
        *table_beginning,
        lines[0] + r" \midrule",
        *lines[1:],
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join([*table, *note_lines, r"\end{table}"])


def markdown_table(frame: pd.DataFrame, title: str, notes: Iterable[str] = ()) -> str:
    """A table in Markdown: title, pipe table, notes; signs that would end a cell are escaped."""

    def line(texts: Iterable[str]) -> str:
        cells = (text.replace("\\", "\\\\").replace("|", "\\|") for text in texts)
        return f"| {' | '.join(' '.join(cell.split()) for cell in cells)} |"

    rows = []
    for row in frame.itertuples(index=False):
        rows.append([_cell_text(value) for value in row])
    rules = ["---:" if frame[name].dtype.kind in "if" else "---" for name in frame]
    lines = [f"**{title}**", "", line(map(str, frame.columns)), f"| {' | '.join(rules)} |"]
    lines += [line(row) for row in rows]
    for note in notes:
        lines += ["", note]
    return "\n".join(lines)


def great_table(frame: pd.DataFrame, title: str, notes: Iterable[str] = ()) -> Any:
    """A table of great-tables: title, cells as they are printed, notes as source notes."""
    try:
        from great_tables import GT
    except ImportError as problem:
        raise MissingDependencyError(
            "great_tables",
            extra=None,
            purpose="Tables of great-tables",
            alternative="use to_markdown(), to_latex() or to_frame()",
        ) from problem
    texts = pd.DataFrame(
        {name: [_cell_text(value) for value in frame[name].tolist()] for name in frame}
    )
    table = GT(texts).tab_header(title=title)
    for note in notes:
        table = table.tab_source_note(source_note=note)
    return table


def _cell_text(value: Any) -> str:
    if isinstance(value, float):
        if math.isnan(value):
            return "—"
        return _format_number(value)
    return str(value)


def printed(title: str, frame: pd.DataFrame, notes: Iterable[str]) -> str:
    """Title, table and notes in `WIDTH` columns.

    A table that needs more goes on below, names repeated.
    """
    lines = []
    for each_text in (title, *notes):
        for text_line in each_text.splitlines():
            lines.append(text_line)
    title_lines, *note_lines = (
        textwrap.fill(text_line, WIDTH, break_on_hyphens=False) for text_line in lines
    )
    table = _without_tiny_ends(frame)
    for longest_cell in _CELL_WIDTHS:
        pieces = list(_table_pieces(table, longest_cell))
        if all(len(line) <= WIDTH for piece in pieces for line in piece.splitlines()):
            break
    return "\n".join([title_lines, *pieces, *note_lines])


def _table_pieces(frame: pd.DataFrame, longest_cell: int) -> Iterator[str]:
    """The table as text, in as many pieces as its width needs.

    Written once, and cut between columns; texts are cut to `longest_cell`.
    """
    for name in frame:
        if frame[name].dtype.kind not in "biuf":
            frame[name] = [_cut_long_text(value, longest_cell) for value in frame[name]]
        elif str(name).startswith("pvalue") and (frame[name] == 0).any():
            # below what a float can hold
            frame[name] = [
                "<1e-300" if pvalue == 0 else _cell_text(float(pvalue)) for pvalue in frame[name]
            ]
    table_text = frame.to_string(
        index=False,
        float_format=_format_number,
        na_rep="—",
        justify="right",
    )
    if frame.empty:
        yield table_text
        return
    lines = table_text.splitlines()
    column_end = -1
    text_by_column = {}
    for name in map(str, frame):  # to the right, as its heading ends
        column_start = column_end + 1
        column_end = lines[0].index(name, column_end + 1) + len(name)
        text_by_column[name] = [table_line[column_start:column_end] for table_line in lines]
    names = [name for name in _NAME_COLUMNS if name in text_by_column]
    pieces: list[list[str]] = [names[:]]
    for name in (name for name in text_by_column if name not in names):
        is_too_wide = (
            sum(len(text_by_column[piece_column][0]) + 1 for piece_column in (*pieces[-1], name))
            > WIDTH + 1
        )
        if is_too_wide and len(pieces[-1]) > len(names):
            pieces.append(names[:])
        pieces[-1].append(name)
    for piece_columns in pieces:
        yield "\n".join(
            map(
                " ".join,
                zip(*(text_by_column[piece_column] for piece_column in piece_columns), strict=True),
            )
        )


def _cut_long_text(value: Any, longest_cell: int) -> Any:
    is_too_long = isinstance(value, (str, tuple, list, dict)) and len(str(value)) > longest_cell
    if is_too_long:
        return str(value)[: longest_cell - 1] + "…"
    return value


def _format_number(value: float) -> str:
    if abs(value) < 1e15 and value == round(value):
        return str(int(value))  # a number of rows, or a row's label
    if 1e-3 <= abs(value) < 1e5:
        return f"{value:.4g}"
    if np.isfinite(value):
        return f"{value:.2e}"
    return "∞" if value > 0 else "-∞"
