"""Columns by name from any data frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from fairstats.ground.encoding import as_column
from fairstats.ground.errors import InputError

__all__ = ["as_frame_columns"]


def as_frame_columns(frame: Any, names: Sequence[str], argument: str) -> pd.DataFrame:
    """The named columns of a frame of any kind, as pandas.

    Raises
    ------
    InputError
        If a column is not there.
    """
    import narwhals as nw

    native = nw.from_native(frame, pass_through=True)
    if not isinstance(native, (nw.DataFrame, nw.LazyFrame)):
        raise InputError(
            argument,
            got=f"{type(frame).__name__}",
            allowed="a pandas, polars or pyarrow table (any frame that narwhals reads)",
            cure="pass a data frame",
        )
    have = native.collect_schema().names()
    lacking = [name for name in names if name not in have]
    if lacking:
        raise InputError(
            argument,
            got=f"no column {', '.join(map(repr, lacking))}",
            allowed=f"its columns: {', '.join(map(repr, have[:20]))}" + (", …" if len(have) > 20 else ""),
            cure="check the spelling",
        )
    chosen = native.select(*dict.fromkeys(names))
    if isinstance(chosen, nw.LazyFrame):
        chosen = chosen.collect()
    if isinstance(nw.to_native(chosen), pd.DataFrame):
        return nw.to_native(chosen)  # type: ignore[no-any-return]
    return pd.DataFrame({name: as_column(chosen[name].to_native(), name) for name in chosen.columns})
