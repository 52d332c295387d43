"""The engines that tests go through."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from tests.ground.engines.frames import lazily

#: narwhals announces that its reader of Dask becomes a package of its own.
DASK = pytest.param("dask", marks=pytest.mark.filterwarnings("ignore:Dask support is moving:FutureWarning"))


@pytest.fixture(params=["polars", "duckdb", DASK])
def lazy(request: pytest.FixtureRequest) -> Callable[[pd.DataFrame], Any]:
    """The same for each engine in turn."""
    return lazily(request.param)


@pytest.fixture(params=["polars", "duckdb"])
def fast_lazy(request: pytest.FixtureRequest) -> Callable[[pd.DataFrame], Any]:
    """The same for the two engines that answer at once."""
    return lazily(request.param)
