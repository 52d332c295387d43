"""What kind of column a generator has to do with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairstats.ground.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Column", "as_columns", "as_people"]

#: Whole numbers with no more values than this are categories in all but name.
_FEW = 12


@dataclass(frozen=True)
class Column:
    """One column.

    Attributes
    ----------
    name : hashable
    kind : {"constant", "category", "whole", "real"}
    series : Series
        The column as it came: what is generated has its type.
    """

    name: Any
    kind: str
    series: pd.Series[Any]

    @property
    def numbers(self) -> NDArray[np.float64]:
        """The values of a numeric column."""
        return self.series.to_numpy(dtype=np.float64)

    def finish(self, values: Any) -> pd.Series[Any]:
        """Generated values in the column's own type."""
        if self.kind == "whole":
            values = np.round(values)
        return pd.Series(values).astype(self.series.dtype)

    def at(self, positions: NDArray[np.intp]) -> Any:
        """Values of these rows."""
        return self.series.array.take(positions)


def as_people(frame: Any, argument: str) -> pd.DataFrame:
    """A pandas frame with at least two rows and no missing values.

    Raises
    ------
    InputError
        For anything else.
    """
    if not isinstance(frame, pd.DataFrame):
        raise InputError(
            argument,
            got=type(frame).__name__,
            allowed="a pandas data frame",
            cure="pd.DataFrame(X, columns=[…]) names the columns of an array",
        )
    missing = int(frame.isna().any(axis=1).sum())
    if len(frame) < 2 or missing:
        raise InputError(
            argument,
            got=f"{len(frame):,} rows" + (f", {missing:,} of them with missing values" if missing else ""),
            allowed="at least two rows, without missing values",
            cure="drop or impute them first, and say so",
        )
    return frame


def as_columns(frame: pd.DataFrame) -> list[Column]:
    """The columns with their kinds."""
    return [Column(name, _kind(frame[name]), frame[name].reset_index(drop=True)) for name in frame.columns]


def _kind(series: pd.Series[Any]) -> str:
    values = series.nunique()
    if values == 1:
        return "constant"
    if not pd.api.types.is_numeric_dtype(series) or pd.api.types.is_bool_dtype(series) or values == 2:
        return "category"
    if pd.api.types.is_integer_dtype(series) or bool((series == series.round()).all()):
        return "category" if values <= _FEW else "whole"
    return "real"
