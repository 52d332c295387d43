"""What the cross-check asks R for, and what the tables of this room work with: R, rows, and tolerance."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from fairstats._version import __version__
from fairstats.ground import rsession
from fairstats.ground.errors import BackendError, FairstatsWarning
from fairstats.ground.results import Comparison
from fairstats.ground.rprobe import RProbe, probe_r
from fairstats.report.crosscheck.check import Check, Line, Place

ADJUSTED = "p-value, adjusted"
VERDICT, VERDICT_ADJUSTED = "p-value of the verdict", "p-value of the verdict, adjusted"
#: Our name of an adjustment → that of `p.adjust`; Šidák's is not there and has a twin.
_ADJUSTMENTS = {"fdr_bh": "BH"} | {name: name for name in ("holm", "bonferroni", "hommel", "none")}


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
    """The running R; every call draws its random numbers from one seed."""

    probe: RProbe
    seed: int = 20180721

    @property
    def version(self) -> str:
        """Version of R."""
        return self.probe.r_version

    def call(self, function: str, *args: Any, **kwargs: Any) -> Any:
        """What the function of R returns; what R warns of is passed over, since the values are compared."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FairstatsWarning)
            return rsession.call(function, *args, rng=np.random.default_rng(self.seed), **kwargs)

    def source(self, function: str) -> str:
        """The function, and the package with its version: ``"stats::p.adjust (R 4.2.2)"``."""
        package, sign, _ = function.partition("::")
        if not sign:
            return f"{function} (fairstats {__version__}, base R {self.version})"
        installed = self.probe.packages.get(package)
        return f"{function} ({package} {installed})" if installed else f"{function} (R {self.version})"

    def has(self, package: str) -> bool:
        """Whether an R package is installed."""
        return package in self.probe.packages


def open_door() -> RDoor:
    """The door to R; a `BackendError` with cause and cure where R or rpy2 cannot be used."""
    found = probe_r()
    if not found.works:
        raise BackendError(
            f"The cross-check recomputes in R, which cannot be used here: {found.cause}. "
            f"To fix: {found.cure}; or take the report's JSON to a machine with R."
        )
    return RDoor(found)


@dataclass(frozen=True)
class Bench:
    """R and the data.

    `data`: arguments of the function that made the result (y_true, score, sensitive_features, …); None where
    no rows were given; `tolerance`: the user's, in place of those of the tables; `adjusted_here`: whether
    adjusted p-values are those of one result; otherwise the family is the audit.
    """

    door: Door
    data: Mapping[str, Any] | None = None
    tolerance: float | None = None
    adjusted_here: bool = True

    def place(self, metric: str, group: str = "", reference: str = "") -> Place:
        """Where checks belong."""
        return Place(metric, group, reference, self.tolerance)

    def place_of(self, row: Comparison) -> Place:
        """Where the checks of a row belong."""
        return self.place(row.metric, row.group, row.reference)

    def call(self, function: str, *args: Any, **kwargs: Any) -> Any:
        """What the function of R returns."""
        return self.door.call(function, *args, **kwargs)

    def source(self, function: str) -> str:
        """The function of R with package and version."""
        return self.door.source(function)

    def compare(
        self, place: Place, lines: Iterable[Line], ours: Any, found: Mapping[str, Any], function: str, **near: Any
    ) -> Iterator[Check]:
        """The lines of a table: numbers of `ours` with what a function of R found."""
        return place.compare_lines(lines, ours, found, lambda own: self.source(own or function), **near)

    def given(self, *names: str) -> list[Any] | None:
        """The named columns of the data, or None where one of them is missing."""
        if self.data is None or any(self.data.get(name) is None for name in names):
            return None
        return [self.data[name] for name in names]

    def p_adjust(self, pvalues: Sequence[float], method: str) -> tuple[list[float], str]:
        """Adjusted p-values of one family and their source; unknown ones stay so and do not count."""
        known = [p for p in pvalues if not math.isnan(p)]
        name = _ADJUSTMENTS.get(method)
        function = "stats::p.adjust" if name else "adjust_pvalues"
        if not known:
            return list(pvalues), self.source(function)
        values = iter(np.atleast_1d(self.call(function, known, name or method)).tolist())
        return [p if math.isnan(p) else float(next(values)) for p in pvalues], self.source(function)

    def adjusted(self, rows: Sequence[Comparison], method: str, metric: str = "") -> Iterator[Check]:
        """The adjusted p-values of a result, unless the audit is the family."""
        if not self.adjusted_here:
            return
        found, source = self.p_adjust([row.pvalue for row in rows], method)
        for row, adjusted in zip(rows, found, strict=True):
            place = self.place(metric or row.metric, row.group, row.reference)
            yield place.compare(ADJUSTED, row.pvalue_adjusted, adjusted, source)


def column(found: Mapping[str, Any], name: str) -> list[float]:
    """A column of what R returned: always a list, also of one number."""
    return [float(value) for value in np.atleast_1d(found[name]).tolist()]


def rows_of(found: Mapping[str, Any]) -> list[dict[str, float]]:
    """Rows of what R returned by columns."""
    columns = {name: column(found, name) for name in found}
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
