"""The engines that tests go through.

With FAIRSTATS_REQUIRE_ENGINES=1 none may be skipped: the run that installs every engine sets it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from typing import Any

import pandas as pd
import pytest

from tests.ground.engines.frames import lazily

#: narwhals announces that its reader of Dask becomes a package of its own.
DASK = pytest.param(
    "dask", marks=pytest.mark.filterwarnings("ignore:Dask support is moving:FutureWarning")
)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """What is skipped has failed where every engine is there."""
    report = yield
    if report.skipped and os.environ.get("FAIRSTATS_REQUIRE_ENGINES") == "1":
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} must not be skipped: {report.longrepr}"
    return report


@pytest.fixture(params=["polars", "duckdb", DASK])
def lazy(request: pytest.FixtureRequest) -> Callable[[pd.DataFrame], Any]:
    """The same for each engine in turn."""
    return lazily(request.param)


@pytest.fixture(params=["polars", "duckdb"])
def fast_lazy(request: pytest.FixtureRequest) -> Callable[[pd.DataFrame], Any]:
    """The same for the two engines that answer at once."""
    return lazily(request.param)
