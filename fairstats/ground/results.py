"""Intervals, tests, comparisons and the base of every result: a frozen dataclass, whose one table is `to_frame()`."""

from __future__ import annotations

import html
import math
import re
import textwrap
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from fairstats.ground.checks import check_choice, check_real, check_that
from fairstats.ground.errors import InputError, ResultAttributeError
from fairstats.ground.groups import group_index
from fairstats.ground.lazy import pd
from fairstats.ground.serialise import decode, encode, serialisable
from fairstats.ground.verdict import Procedure, Ruling

#: The columns that every `to_frame()` begins with.
TIDY_COLUMNS = (
    "metric", "group", "reference", "estimate", "std_error", "ci_low", "ci_high", "statistic", "pvalue",
    "pvalue_adjusted", "n", "method", "backend",
)  # fmt: skip
_ENDS_OF = {"ci_low": "ci_low=confidence_interval.low", "ci_high": "ci_high=confidence_interval.high"}
_OF_COMPARISONS = tuple(_ENDS_OF.get(name, name) for name in TIDY_COLUMNS[:-1])
#: The confidence level of a comparison as a column.
LEVEL = "confidence_level=confidence_interval.confidence_level"
#: Columns of a verdict: what it rests on, and its own p-values.
OF_VERDICT = (
    "bound_low=bounds.low", "bound_high=bounds.high", "pvalue_verdict", "pvalue_verdict_adjusted", "verdict",
)  # fmt: skip


#: Formats of numbers: sign, separator of thousands, up to two digits of precision, and the kind.
_FORMAT = re.compile(r"[+]?,?(\.\d{1,2})?[efg%]?", re.ASCII)


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
        """Whether a number lies between the ends, or is one of them; NaN does not, and ends of NaN hold nothing."""
        return self.low <= check_real("value", value, cure="0.8 in interval, say") <= self.high

    def words(self, number: str = ".3f", alternative: str = "two-sided") -> str:
        """The interval in words, "95% interval 0.081 to 0.200"; of a one-sided one only the end that is a limit.

        Parameters
        ----------
        number : str, default ".3f"
            How numbers are written: Python's format of one, as ``".3g"`` or ``".1%"``.
        alternative : {"two-sided", "less", "greater"}, default "two-sided"
            Of the test that the interval goes with: "greater" has a lower limit only, "less" an upper one.

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
        fine = isinstance(number, str) and _FORMAT.fullmatch(number) is not None
        check_that(fine, "number", number, "the format of a number: '.3f', '.3g', ',.0f', '.1%'", "'.3f'")
        check_choice("alternative", alternative, ("two-sided", "less", "greater"))
        level = f"{100 * self.confidence_level:g}%"
        if alternative == "two-sided":
            return f"{level} interval {self.low:{number}} to {self.high:{number}}"
        end = f"at least {self.low:{number}}" if alternative == "greater" else f"at most {self.high:{number}}"
        return f"{end}, {level} limit"


_NO_INTERVAL = Interval(math.nan, math.nan, math.nan, "")
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
        Of the test; NaN where the data cannot give it. A statistic z is positive where the estimate lies above the null
        value. For equivalence both are of the one-sided test that decides, that of the larger p-value: positive at
        the lower end of the fair range, negative at its upper end, where the estimate lies within.
    exact : bool
        Whether the p-value holds at every size, by enumeration.
    """

    null: str
    alternative: str
    statistic: float
    pvalue: float
    method: str
    exact: bool = False


def columns_of(thing: Any, *columns: str) -> dict[str, Any]:
    """Column → value: each an attribute of a thing, or "column=attribute.below"."""
    named = (column.partition("=") for column in columns)
    return {name: attrgetter(path or name)(thing) for name, _, path in named}


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
        At the confidence level, one-sided where the alternative is; and the two one-sided limits of the verdict.
    statistic, pvalue, pvalue_adjusted : float
        Of the test, NaN where there is none.
    verdict, direction : str
        "violated", "undecided", "insufficient evidence", "satisfied", or empty where nothing is judged; and what its
        p-value speaks for: "below", "above" or "inside" the fair range.
    pvalue_verdict, pvalue_verdict_adjusted : float
        Of the verdict's own null hypothesis, alone and over the comparisons of the metric.
    n : int
        Rows behind the estimate.
    method, note : str
        How interval and test were computed; what could not be computed, and why.
    procedure : Procedure
        The same for programs: what kind of evidence verdict, p-values and limits rest on.
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
        """Row of the tidy table: `TIDY_COLUMNS`, then the columns that the class adds in `further`."""
        return {**columns_of(self, *_OF_COMPARISONS), "backend": backend, **columns_of(self, *self.further)}

    def _ruled(self, ruling: Ruling) -> Self:
        """The same comparison with the verdict that its family allows."""
        return replace(
            self, verdict=ruling.verdict, direction=ruling.direction, pvalue_verdict=ruling.pvalue,
            pvalue_verdict_adjusted=ruling.pvalue_adjusted,
        )  # fmt: skip


#: Attributes that every result answers to, from its comparisons where the class has none of its own.
_ANSWERS = ("estimate", "std_error", "statistic", "pvalue", "confidence_interval", "verdict")


class _Answers:
    """Names that a result answers to from its comparisons: properties would become defaults of dataclass fields."""

    #: Names that a class cannot answer to → why, and where to look instead.
    lacks: ClassVar[Mapping[str, str]] = {}

    if TYPE_CHECKING:
        # fmt: off
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
        # fmt: on
    else:

        def __getattr__(self, name: str) -> Any:
            if name in self.lacks:
                raise ResultAttributeError(type(self).__name__, name, self.lacks[name])
            if name in ("comparisons", "plot"):
                raise ResultAttributeError(type(self).__name__, name, "its table is in to_frame()")
            if name not in _ANSWERS:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            values = [getattr(c, name) for c in self.comparisons]
            if len(values) == 1:
                return values[0]
            return tuple(values) if name in ("confidence_interval", "verdict") else np.array(values)


@dataclass(frozen=True)
class Result(_Answers):
    """Base of every result: one tidy table, one set of names, and everything else derived from them.

    `estimate`, `std_error`, `confidence_interval`, `statistic`, `pvalue` and `verdict` are those of the only
    comparison, or an array (of intervals and verdicts a tuple) over all, in the order of `comparisons`.
    """

    #: One line above the table.
    title: ClassVar[str] = "Result"
    #: Columns of the printed table, where these are not all of the tidy one.
    _shown: ClassVar[tuple[str, ...]] = ()

    def __dir__(self) -> Iterable[str]:
        known = set(super().__dir__()) | {f.name for f in fields(self)}
        return sorted((known | set(_ANSWERS if "comparisons" in known else ())) - set(self.lacks))

    def __getitem__(self, group: Hashable) -> Any:
        """The comparison of one group; where pairs are compared, of ``(group, reference)``."""
        if "__getitem__" in self.lacks:
            raise ResultAttributeError(type(self).__name__, "[group]", self.lacks["__getitem__"])
        pair = tuple(map(str, group)) if isinstance(group, tuple) and len(group) == 2 else None
        for comparison in self.comparisons:
            if (comparison.group, comparison.reference) == pair:
                return comparison
        return self.comparisons[group_index([c.group for c in self.comparisons], group, "group")]

    def sentences(self) -> list[str]:
        """What the result says, in sentences."""
        raise TypeError(f"{type(self).__name__} words nothing")

    def rows(self) -> list[dict[str, Any]]:
        """Rows of the tidy table, one per estimate."""
        return [c._row(self.backend) for c in self.comparisons]

    def to_frame(self) -> pd.DataFrame:
        """Tidy table: one row per estimate, columns `TIDY_COLUMNS` in that order, then those of the method."""
        rows = self.rows()
        extra = [name for name in dict.fromkeys(k for row in rows for k in row) if name not in TIDY_COLUMNS]
        return pd.DataFrame(rows, columns=[*TIDY_COLUMNS, *extra])

    def summary(self) -> str:
        """The result as text: title, table, notes."""
        frame = self.to_frame()
        return printed(self.title, frame[self._telling_columns(frame)], self.notes())

    def _summary_columns(self, frame: pd.DataFrame) -> list[str]:
        """Columns that the printed table may show; those without any entry are left out."""
        shown = self._shown or [c for c in frame.columns if c not in ("backend", "method")]
        return [c for c in shown if c in frame]

    def _telling_columns(self, frame: pd.DataFrame) -> list[str]:
        """Of the columns of the printed table those that say something in some row."""
        columns = ((name, frame[name].tolist()) for name in self._summary_columns(frame))
        return [name for name, values in columns if any(v is not None and v == v and v != "" for v in values)]

    def to_latex(self) -> str:
        r"""The printed table in LaTeX (package booktabs), with the notes below it; all text is escaped.

        Examples
        --------
        >>> import fairstats as fs
        >>> result = fs.disparate_impact(counts={"a_1": (40, 60), "b": (25, 75)}, reference="a_1")
        >>> print(result.to_latex().splitlines()[4][:44])
        b & a\_1 & 0.25 & 0.4 & 0.625 & 0.41 & 0.943
        """
        frame = self.to_frame()
        frame = _rounded(frame[self._telling_columns(frame)])
        rows = [[_cell_text(value) for value in row] for row in frame.itertuples(index=False)]
        return latex_table([str(name) for name in frame.columns], rows, self.title, self.notes())

    def notes(self) -> list[str]:
        """Sentences below the table: settings, reference, what could not be computed."""
        return []

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready dictionary with every field and the sufficient statistics; `from_dict` undoes it."""
        return encode(self)  # type: ignore[no-any-return]

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The result that `to_dict` wrote; an InputError where the dictionary holds something else."""
        value = decode(data)
        if not isinstance(value, cls):
            got, allowed = f"a {type(value).__name__}", f"what {cls.__name__}.to_dict() returns"
            raise InputError("data", got=got, allowed=allowed, cure="use the from_dict of the right class")
        return value

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        frame = self.to_frame()
        table = frame[self._telling_columns(frame)].to_html(index=False, float_format=_short, na_rep="—", border=0)
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes())
        return f"<section><h4>{html.escape(self.title)}</h4>{table}{notes}</section>"


#: Columns of a printed result, longest text of a cell, and what is repeated where a table is too wide.
WIDTH, _CELL, _NAMES = 100, 40, ("metric", "group", "reference")
#: Ends of an interval that belong together; below this share of the other an end is 0, up to rounding.
_ENDS, _NOTHING = (("ci_low", "ci_high"), ("bound_low", "bound_high")), 1e-12


def _rounded(frame: pd.DataFrame) -> pd.DataFrame:
    """The table without ends of intervals that differ from 0 by rounding only."""
    shown = frame.copy()
    for low, high in _ENDS:
        if low in shown and high in shown:
            reach = shown[high].abs()
            tiny = ((shown[low].abs() < _NOTHING * reach) & (reach < np.inf)).to_numpy(dtype=bool)
            shown.loc[tiny, low] = 0.0
    return shown


#: Character → what LaTeX prints it as.
_LATEX = str.maketrans(
    {c: f"\\{c}" for c in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "−": "$-$"}
    | {"∞": r"$\infty$", "≥": r"$\geq$", "≤": r"$\leq$", "±": r"$\pm$", "ŷ": r"$\hat{y}$"}
)


def latex_table(heads: Sequence[str], rows: Sequence[Sequence[str]], caption: str, notes: Iterable[str] = ()) -> str:
    """A table of texts in LaTeX, with rules of booktabs; notes stand below it."""
    lines = [" & ".join(cell.translate(_LATEX) for cell in row) + r" \\" for row in (heads, *rows)]
    align = "".join("l" if any(c.isalpha() for row in rows for c in row[k]) else "r" for k in range(len(heads)))
    below = [rf"\par\footnotesize {note.translate(_LATEX)}" for note in notes]
    head = [r"\begin{table}", rf"\caption{{{caption.translate(_LATEX)}}}", rf"\begin{{tabular}}{{{align}}} \toprule"]
    table = [*head, lines[0] + r" \midrule", *lines[1:], r"\bottomrule", r"\end{tabular}"]
    return "\n".join([*table, *below, r"\end{table}"])


def _cell_text(value: Any) -> str:
    if isinstance(value, float):
        return "—" if math.isnan(value) else _short(value)
    return str(value)


def printed(title: str, frame: pd.DataFrame, notes: Iterable[str]) -> str:
    """Title, table and notes in `WIDTH` columns; a table that needs more goes on below, names repeated."""
    lines = [line for text in (title, *notes) for line in text.splitlines()]
    head, *rest = (textwrap.fill(line, WIDTH, break_on_hyphens=False) for line in lines)
    return "\n".join([head, *_pieces(_rounded(frame)), *rest])


def _pieces(frame: pd.DataFrame) -> Iterator[str]:
    """The table as text, in as many pieces as its width needs; written once, and cut between columns."""
    for name in frame:
        if frame[name].dtype.kind not in "biuf":
            frame[name] = [_cut(value) for value in frame[name]]
        elif str(name).startswith("pvalue") and (frame[name] == 0).any():  # below what a float can hold
            frame[name] = ["<1e-300" if p == 0 else _cell_text(float(p)) for p in frame[name]]
    text = frame.to_string(index=False, float_format=_short, na_rep="—", justify="right")
    if frame.empty:
        yield text
        return
    lines, end, blocks = text.splitlines(), -1, {}
    for name in map(str, frame):  # to the right, as its heading ends
        start, end = end + 1, lines[0].index(name, end + 1) + len(name)
        blocks[name] = [line[start:end] for line in lines]
    names = [name for name in _NAMES if name in blocks]
    pieces: list[list[str]] = [names[:]]
    for name in (name for name in blocks if name not in names):
        wide = sum(len(blocks[own][0]) + 1 for own in (*pieces[-1], name)) > WIDTH + 1
        if wide and len(pieces[-1]) > len(names):
            pieces.append(names[:])
        pieces[-1].append(name)
    for piece in pieces:
        yield "\n".join(map(" ".join, zip(*(blocks[own] for own in piece), strict=True)))


def _cut(value: Any) -> Any:
    long = isinstance(value, (str, tuple, list, dict)) and len(str(value)) > _CELL
    return str(value)[: _CELL - 1] + "…" if long else value


def _short(value: float) -> str:
    if abs(value) < 1e15 and value == round(value):
        return str(int(value))  # a number of rows, or a row's label
    if 1e-3 <= abs(value) < 1e5:
        return f"{value:.4g}"
    return f"{value:.2e}" if np.isfinite(value) else ("∞" if value > 0 else "-∞")
