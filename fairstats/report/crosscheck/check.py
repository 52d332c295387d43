"""One quantity, computed twice.

Its line in a table, R, the two values and how far they may lie apart.

The other modules of this room are tables of lines, and the code that asks R.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Protocol

import numpy as np

from fairstats._version import __version__
from fairstats.ground import rsession
from fairstats.ground.errors import BackendError, FairstatsWarning
from fairstats.ground.rdoor.aside import probe_rscript
from fairstats.ground.rprobe import RProbe, probe_r
from fairstats.ground.serialise import serialisable

AGREES = "agrees"
DISAGREES = "disagrees"
WITHIN = "within Monte Carlo error"
NEEDS_DATA = "needs --data"
NOT_RECOMPUTED = "not recomputed"
#: Verdicts that count as agreement, and those that count at all.
AGREEING = (AGREES, WITHIN)
COUNTED = (*AGREEING, DISAGREES)
#: Both sides solve the same equations in double precision; root finders stop at about 1e-12.
RELATIVE = 1e-8
ABSOLUTE = 1e-10
#: Monte Carlo standard errors that two values may lie apart: of 1,000 right pairs, one in 500
#: reports is called wrong at 5 if the errors are known; they are estimated, hence 6.
ERRORS = 6.0
ADJUSTED = "p-value, adjusted"
VERDICT = "p-value of the verdict"
#: Our name of an adjustment → that of `p.adjust`; Šidák's is not there and has a twin.
_ADJUSTMENTS = {"fdr_bh": "BH"} | {name: name for name in ("holm", "bonferroni", "hommel", "none")}
#: Columns of the table.
COLUMNS = (
    "quantity",
    "section",
    "sensitive_features",
    "metric",
    "group",
    "reference",
    "python",
    "r",
    "source",
    "absolute_difference",
    "relative_difference",
    "tolerance",
    "verdict",
    "note",
)


@serialisable()
class Check:
    """One quantity.

    `quantity`: "estimate", "interval, lower end", "p-value (two-sided)", …; `python`, `r`: the two
    values, NaN where there is none; `source`: function of R and package with version; `tolerance`:
    largest absolute difference that is agreement; `note`: why it was not recomputed, or what the
    tolerance rests on; `section`, `sensitive_features`: of the report; empty for a single result.
    """

    quantity: str
    metric: str
    group: str
    reference: str
    python: float
    r: float
    source: str
    tolerance: float
    verdict: str
    note: str = ""
    section: str = ""
    sensitive_features: str = ""

    @property
    def absolute_difference(self) -> float:
        """|Python − R|; 0 where both are the same infinity or both are unknown."""
        return _absolute_distance(self.python, self.r)

    @property
    def relative_difference(self) -> float:
        """|Python − R| over the larger size; 0 where both are 0."""
        largest_size = max(abs(self.python), abs(self.r))
        return self.absolute_difference / (
            largest_size if largest_size > 0 and math.isfinite(largest_size) else 1.0
        )

    @property
    def counted(self) -> bool:
        """Whether R gave a value to compare with."""
        return self.verdict in COUNTED

    @property
    def agreed(self) -> bool:
        """Whether the two values agree."""
        return self.verdict in AGREEING

    def row(self) -> dict[str, Any]:
        """Row of the table."""
        unknown = () if self.counted else ("absolute_difference", "relative_difference")
        return {name: math.nan if name in unknown else getattr(self, name) for name in COLUMNS}


@dataclass(frozen=True)
class Line:
    """One number of a result.

    `quantity`: in words; ``{0.…}`` stands for an attribute, "interval, lower end
    ({0.confidence_interval.method})"; `attribute`: of the result or its row, with dots:
    "confidence_interval.low"; `twin`: name in the answer of R; default the attribute; `error`: name
    of its Monte Carlo error there; empty for what is not random; `relative`, `absolute`: tolerance
    of what is not random: the larger of `absolute` and `relative` times the value; `function`:
    function of R that gives it, where that is another than the one that was called.
    """

    quantity: str
    attribute: str
    twin: str = ""
    error: str = ""
    relative: float = RELATIVE
    absolute: float = ABSOLUTE
    function: str = ""


def ends(
    quantity: str, attribute: str, twin: str = "", of: str = "", *, random: bool = False, **how: Any
) -> tuple[Line, ...]:
    """Both ends of an interval; R names them `twin` + "low" and "high", and their errors with
    "_error".
    """
    result = []
    for end, words in (("low", "lower"), ("high", "upper")):
        result.append(
            Line(
                quantity=f"{quantity}, {words} end{of}",
                attribute=f"{attribute}.{end}",
                twin=twin + end,
                error=f"{twin}{end}_error" * random,
                **how,
            )
        )
    return tuple(result)


@dataclass(frozen=True)
class Place:
    """Where checks belong: metric, group, reference; the user's tolerance.

    Function of R → with its version.
    """

    metric: str
    group: str = ""
    reference: str = ""
    tolerance: float | None = None
    source: Callable[[str], str] = str

    def compare(
        self,
        quantity: str,
        python: Any,
        r: Any,
        function: str,
        *,
        relative: float = RELATIVE,
        absolute: float = ABSOLUTE,
        error: Any = 0.0,
        note: str = "",
    ) -> Check:
        """Compare two values: tolerances as in `Line`, `error` the Monte Carlo standard error
        itself.
        """
        our_value = _number_or_nan(python)
        their_value = _number_or_nan(r)
        standard_error = _number_or_nan(error)
        if not math.isfinite(standard_error):
            standard_error = 0.0
        largest_size = max(
            (abs(value) for value in (our_value, their_value) if math.isfinite(value)), default=0.0
        )
        if self.tolerance is None:
            exact = max(absolute, relative * largest_size)
        else:
            exact = self.tolerance * max(1.0, largest_size)
        allowed = exact + ERRORS * standard_error
        is_near = _absolute_distance(our_value, their_value) <= allowed
        if is_near:
            verdict = WITHIN if standard_error > 0 else AGREES
        else:
            verdict = DISAGREES
        return self._make_check(
            quantity, our_value, their_value, self.source(function), allowed, verdict, note
        )

    def compare_all(
        self,
        lines: Iterable[Line],
        ours: Any,
        answer: Mapping[str, Any],
        function: str,
        *,
        relative: float = 0.0,
        absolute: float = 0.0,
        note: str = "",
    ) -> Iterator[Check]:
        """Compare the numbers of `ours` with what `function` of R found, line by line.

        `relative`, `absolute`: at least so much tolerance on every line.
        """
        for line in lines:
            yield self.compare(
                line.quantity.format(ours),
                attrgetter(line.attribute)(ours),
                answer[line.twin or line.attribute],
                line.function or function,
                relative=max(line.relative, relative),
                absolute=max(line.absolute, absolute),
                error=answer[line.error] if line.error else 0.0,
                note=note,
            )

    def needs_data(self, quantity: str, python: Any, note: str) -> Check:
        """A quantity that the report's counts cannot give."""
        return self._make_check(
            quantity, _number_or_nan(python), math.nan, "", math.nan, NEEDS_DATA, note
        )

    def left_out(self, quantity: str, python: Any, note: str) -> Check:
        """A quantity that R does not recompute."""
        return self._make_check(
            quantity, _number_or_nan(python), math.nan, "", math.nan, NOT_RECOMPUTED, note
        )

    def _make_check(self, quantity: str, *values: Any) -> Check:
        return Check(quantity, self.metric, self.group or "", self.reference or "", *values)


def _number_or_nan(value: Any) -> float:
    if value is None:
        return math.nan
    return float(value)


def _absolute_distance(first: float, second: float) -> float:
    if first == second or (math.isnan(first) and math.isnan(second)):
        return 0.0
    if math.isnan(first) or math.isnan(second):
        return math.inf
    return abs(first - second)


# ---------------------------------------------------------------- R


class Door(Protocol):
    """Something that answers for R."""

    @property
    def version(self) -> str:
        """Version of R."""

    def call(self, function: str, *args: Any, **kwargs: Any) -> Any:
        """What the function of R returns."""

    def source(self, function: str) -> str:
        """The function, and the package with its version."""

    def has(self, package: str) -> bool:
        """Whether an R package is installed."""


@dataclass(frozen=True)
class RDoor:
    """R, by rpy2 or by Rscript; every call draws its random numbers from one seed."""

    probe: RProbe
    seed: int = 20180721

    @property
    def version(self) -> str:
        """Version of R."""
        return self.probe.r_version

    def call(self, function: str, *args: Any, **kwargs: Any) -> Any:
        """What the function of R returns.

        What R warns of is passed over, since the values are compared.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FairstatsWarning)
            return rsession.call(function, *args, rng=np.random.default_rng(self.seed), **kwargs)

    def source(self, function: str) -> str:
        """The function, and the package with its version: ``"stats::p.adjust (R 4.2.2)"``."""
        package, separator, _ = function.partition("::")
        if not separator:
            return f"{function} (fairstats {__version__}, base R {self.version})"
        installed = self.probe.packages.get(package)
        if installed:
            return f"{function} ({package} {installed})"
        return f"{function} (R {self.version})"

    def has(self, package: str) -> bool:
        """Whether an R package is installed."""
        return package in self.probe.packages


def open_door() -> RDoor:
    """The door to R: by rpy2 or, where that is missing or does not work, by Rscript.

    A `BackendError` with cause and cure where neither works.
    """
    probed = probe_r()
    if probed.works:
        return RDoor(probed)
    probed_aside = probe_rscript()
    if probed_aside.works:
        return RDoor(probed_aside)
    problem = (
        "The cross-check recomputes in R, which cannot be used here: "
        f"{probed.cause}; {probed_aside.cause}."
    )
    raise BackendError(
        f"{problem} To fix: {probed_aside.cure} (rpy2 is not needed); or take the report's JSON to"
        " a machine with R."
    )


@dataclass(frozen=True)
class Bench:
    """R and the data.

    `data`: arguments of the function that made the result (y_true, score, sensitive_features, …);
    None where no rows were given; `tolerance`: the user's, in place of those of the tables;
    `adjusted_here`: whether adjusted p-values are those of one result; otherwise the family is the
    audit.
    """

    door: Door
    data: Mapping[str, Any] | None = None
    tolerance: float | None = None
    adjusted_here: bool = True
    _adjusted: dict[tuple[str, tuple[float, ...]], list[float]] = field(
        default_factory=dict, repr=False, compare=False
    )

    def place(self, metric: str, group: str = "", reference: str = "") -> Place:
        """Where checks belong."""
        return Place(
            metric=metric,
            group=group,
            reference=reference,
            tolerance=self.tolerance,
            source=self.door.source,
        )

    def place_of(self, row: Any) -> Place:
        """Where the checks of a row belong."""
        return self.place(row.metric, row.group, row.reference)

    def call(self, function: str, *args: Any, **kwargs: Any) -> Any:
        """What the function of R returns."""
        return self.door.call(function, *args, **kwargs)

    def given(self, *names: str) -> list[Any] | None:
        """The named columns of the data, or None where one of them is missing."""
        if self.data is None or any(self.data.get(name) is None for name in names):
            return None
        return [self.data[name] for name in names]

    def p_adjust(self, pvalues: Sequence[float], method: str) -> tuple[list[float], str]:
        """Adjusted p-values of one family and the function of R.

        Unknown ones stay so and do not count.
        """
        finite_pvalues = []
        for pvalue in pvalues:
            if not math.isnan(pvalue):
                finite_pvalues.append(pvalue)
        name = _ADJUSTMENTS.get(method)
        if name:
            function = "stats::p.adjust"
        else:
            function = "adjust_pvalues"
        # verdicts ask once more for the family of equality, and of two groups both are one
        family = (method, tuple(finite_pvalues))
        if finite_pvalues and family not in self._adjusted:
            answer = self.call(function, finite_pvalues, name or method)
            self._adjusted[family] = np.atleast_1d(answer).tolist()
        values = iter(self._adjusted.get(family, []))
        return [
            pvalue if math.isnan(pvalue) else float(next(values)) for pvalue in pvalues
        ], function

    def adjusted(
        self,
        rows: Sequence[Any],
        place: Callable[[Any], Place],
        method: str,
        name: str = "pvalue",
        factor: float = 1.0,
        *,
        counts_all: bool = False,
    ) -> Iterator[Check]:
        """The adjusted p-values of a family.

        Those of equality are left to the audit where it is the family.

        `name`, {"pvalue", "pvalue_verdict"}; `factor`: comparisons that could have been chosen per
        one that was; `counts_all`: whether rows without a p-value count in their family, as 1.
        """
        if name == "pvalue" and not self.adjusted_here:
            return
        if name == "pvalue":
            quantity = ADJUSTED
        else:
            quantity = f"{VERDICT}, adjusted"
        pvalues = [getattr(row, name) for row in rows]
        answered = [not math.isnan(pvalue) for pvalue in pvalues]
        if counts_all:
            pvalues = [1.0 if math.isnan(pvalue) else pvalue for pvalue in pvalues]
        adjusted_pvalues, function = self.p_adjust(pvalues, method)
        theirs = [min(factor * pvalue, 1.0) for pvalue in adjusted_pvalues]
        if name == "pvalue_verdict":
            of_equality = [_pvalue_of_equality(row) for row in rows]
            if counts_all:
                of_equality = [1.0 if math.isnan(pvalue) else pvalue for pvalue in of_equality]
            equality, _ = self.p_adjust(of_equality, method)
            theirs = _beside_equality(rows, theirs, [factor * pvalue for pvalue in equality])
        for row, pvalue, has_answer in zip(rows, theirs, answered, strict=True):
            if counts_all and not has_answer:
                continue
            yield place(row).compare(quantity, getattr(row, f"{name}_adjusted"), pvalue, function)


def _pvalue_of_equality(row: Any) -> float:
    """The two-sided p-value of a row, whatever alternative it quotes."""
    for test in getattr(row, "tests", ()):
        if test.alternative == "two-sided":
            return float(test.pvalue)
    return float(row.pvalue)


def _beside_equality(
    rows: Sequence[Any], verdicts: Sequence[float], equality: Sequence[float]
) -> list[float]:
    """p-values of verdicts over the family: outside the fair range none is below that of
    equality.
    """
    result = []
    for row, verdict, of_equality in zip(rows, verdicts, equality, strict=True):
        outside = row.direction in ("below", "above") and not math.isnan(of_equality)
        result.append(min(max(verdict, of_equality), 1.0) if outside else verdict)
    return result


def column(answer: Mapping[str, Any], name: str) -> list[float]:
    """A column of what R returned: always a list, also of one number."""
    return [float(value) for value in np.atleast_1d(answer[name]).tolist()]


def rows_of(answer: Mapping[str, Any]) -> list[dict[str, float]]:
    """Rows of what R returned by columns."""
    columns = {name: column(answer, name) for name in answer}
    rows: list[dict[str, float]] = []
    for values in zip(*columns.values(), strict=True):
        rows.append(dict(zip(columns, values, strict=True)))
    return rows
