"""The signed differences under a largest gap: in memory, as objects, and in a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.serialise import serialisable
from fairstats.ground.stored import check_length, check_shape, damaged
from fairstats.methods.rates.decision import ExactPair
from fairstats.methods.rates.exact_terms import ExactTerms

#: Limits by exact tests that a file may lack: fewer are found before it is written.
_FEW_LACKING = 500


@serialisable()
class GapComponent:
    """One signed difference under the maximum, with its simultaneous interval."""

    rate: str
    group: str
    reference: str
    estimate: float
    std_error: float
    low: float
    high: float
    n: int


class GapComponents(Sequence[GapComponent]):
    """Differences by columns, each made into an object when it is asked for.

    Of 500 groups there are 124,750, of which a reader wants the first few. Limits by exact tests are
    found then, too.
    """

    def __init__(
        self,
        columns: Mapping[str, Sequence[Any] | NDArray[Any]],
        order: Any,
        exact: ExactTerms | None = None,
    ) -> None:
        self._columns = {name: np.asarray(column) for name, column in columns.items()}
        self._order = np.asarray(order, dtype=np.intp)
        # number of the exact tests whose limits stand for those of the score, −1 of none
        self._lacking = np.full(self._order.size, -1)
        self._exact = exact
        if exact is not None:
            self._lacking[exact.places] = np.arange(len(exact))

    def __len__(self) -> int:
        """Number of differences."""
        return int(self._order.size)

    @overload
    def __getitem__(self, place: int) -> GapComponent: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[GapComponent, ...]: ...

    def __getitem__(self, place: int | slice) -> GapComponent | tuple[GapComponent, ...]:
        """One difference, or several as a tuple."""
        if isinstance(place, slice):
            return tuple(self._make(self._order[place]))
        (component,) = self._make(self._order[[place]])
        return component

    def __iter__(self) -> Iterator[GapComponent]:
        """All of them, the largest first."""
        return iter(self._make(self._order))

    def __eq__(self, other: object) -> bool:
        """Whether another sequence has the same differences in the same order."""
        if not isinstance(other, (tuple, GapComponents)):
            return NotImplemented
        return tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """As a tuple's."""
        return repr(tuple(self))

    def to_store(self) -> StoredGaps | None:
        """Columns for a file, where the limits of many differences are not known yet.

        None where few are lacking: a file has them all then.
        """
        lacking = self._lacking[self._order]
        places = np.flatnonzero(lacking >= 0)
        if self._exact is None or places.size < _FEW_LACKING:
            return None
        columns = {name: column[self._order] for name, column in self._columns.items()}
        for name in ("low", "high"):
            columns[name] = columns[name].astype(np.float64)
            columns[name][places] = np.nan
        return StoredGaps(
            rate=tuple(columns["rate"].tolist()),
            group=tuple(columns["group"].tolist()),
            reference=tuple(columns["reference"].tolist()),
            estimate=columns["estimate"],
            std_error=columns["std_error"],
            low=columns["low"],
            high=columns["high"],
            n=columns["n"],
            lacking=places,
            tables=self._exact.tables_of(lacking[places]),
            error_of_each=self._exact.error_of_each,
        )

    def _make(self, places: NDArray[np.intp]) -> list[GapComponent]:
        self._find_limits(places)
        chosen = {}
        for name, column in self._columns.items():
            chosen[name] = column[places].tolist()
        rows = zip(*chosen.values(), strict=True)
        return [GapComponent(**dict(zip(chosen, row, strict=True))) for row in rows]

    def _find_limits(self, places: NDArray[np.intp]) -> None:
        """Write the limits of differences that exact tests judge, where they are not known yet."""
        lacking = places[self._lacking[places] >= 0]
        if self._exact is None or not lacking.size:
            return
        limits = np.array(self._exact.limits(self._lacking[lacking].tolist()))
        self._columns["low"][lacking] = limits[:, 0]
        self._columns["high"][lacking] = limits[:, 1]
        self._lacking[lacking] = -1


@serialisable(eq=False)
class StoredGaps:
    """Differences as a file has them, where limits by exact tests are found when they are read.

    Of 200 groups there are thousands, and a file of an audit that had to have them all would take
    longer than the audit.

    Attributes
    ----------
    rate, group, reference : tuple of str, length E
    estimate, std_error, low, high, n : ndarray, shape (E,)
        As in `GapComponent`; limits that are not known are NaN.
    lacking : ndarray of int, shape (F,)
        Places of these.
    tables : ndarray of int, shape (F, 4)
        Their successes and cases, of group and reference.
    error_of_each : float
        Of each of the limits, so that all hold at once.
    """

    rate: tuple[str, ...]
    group: tuple[str, ...]
    reference: tuple[str, ...]
    estimate: NDArray[np.float64]
    std_error: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    n: NDArray[np.int64]
    lacking: NDArray[np.int64]
    tables: NDArray[np.int64]
    error_of_each: float

    def check_stored(self) -> None:
        """Raise where a file has been changed so that its parts do not fit together."""
        length = len(self.rate)
        for name in ("group", "reference"):
            check_length(self, name, getattr(self, name), length)
        for name in ("estimate", "std_error", "low", "high", "n"):
            check_shape(self, name, getattr(self, name), (length,))
        check_shape(self, "tables", self.tables, (self.lacking.size, 4))
        places = self.lacking
        if self.lacking.ndim != 1 or not ((places >= 0) & (places < length)).all():
            raise damaged("differences without limits that are none of its own", "their places")
        hits = self.tables[:, ::2]
        cases = self.tables[:, 1::2]
        if not ((hits >= 0) & (hits <= cases) & (cases > 0)).all():
            raise damaged("tables with more successes than cases", "counts of a group, and of all")
        if not 0 < self.error_of_each < 1:
            raise damaged(f"an error of {self.error_of_each!r:.40}", "a number between 0 and 1")

    def restored(self) -> GapComponents:
        """The differences, as they were before."""
        columns: dict[str, Any] = {}
        for name in ("rate", "group", "reference"):
            columns[name] = np.array(getattr(self, name), dtype=object)
        for name in ("estimate", "std_error", "low", "high", "n"):
            columns[name] = np.array(getattr(self, name))
        pairs = {}
        for place, table in zip(self.lacking.tolist(), self.tables.tolist(), strict=True):
            pairs[place] = ExactPair(*table)
        # what is asked of limits alone needs no margin
        exact = ExactTerms(pairs, 0.0, self.error_of_each)
        return GapComponents(columns, np.arange(len(self.rate)), exact)
