"""What every test shares: seeds, the shared data, and who may be skipped for which reason.

Nothing here needs more than pytest and fairstats' core dependencies, so that the same suite runs
without extras. The hooks live in plugin objects registered at configuration, because those of a
conftest.py are not called for the doctests of ``fairstats/``.

A run may refuse to skip: FAIRSTATS_REQUIRE_EXTRAS=1 where every package must be there,
FAIRSTATS_REQUIRE_R=1 where the tests marked `r` must run (at least `MIN_LIVE_R_TESTS`),
FAIRSTATS_REQUIRE_BROWSER=1 for `browser`."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import importlib.util
import math
import os
import re
import shutil
import subprocess
import sys
import traceback
import warnings
from collections.abc import Generator, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

os.environ.setdefault("MPLBACKEND", "Agg")
# Workers of pytest-xdist share the processors: one thread of linear algebra each, said before NumPy
# loads.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")

import numpy as np
import pytest

from fairstats.ground.errors import MissingDependencyError
from fairstats.numerics.rates import exact_table
from tests.long_tests import FOLDER, Measured, long_tests

#: With FAIRSTATS_REQUIRE_R=1 the run fails when fewer tests marked `r` than this ran to their end.
MIN_LIVE_R_TESTS = 200

#: Packages of the extras and of the test tools: a test file that imports one of them is skipped
#: where it is missing. Every other import that fails is an error.
OPTIONAL_PACKAGES = frozenset(
    {
        *(
            "matplotlib",
            "jinja2",
            "typer",
            "rich",
            "pyarrow",
            "pymc",
            "pytensor",
            "arviz",
            "optuna",
            "ctgan",
        ),
        *("duckdb", "sqlglot", "numba"),
        *(
            "rpy2",
            "polars",
            "hypothesis",
            "fairlearn",
            "pytest_benchmark",
            "importlinter",
            "hatchling",
            "hatch_fancy_pypi_readme",
        ),
        *("jupytext", "nbconvert", "nbclient", "nbformat", "ipykernel", "latex2mathml", "sphinx"),
        "bs4",
    }
)

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"
CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
EXTRAS_REQUIRED = os.environ.get("FAIRSTATS_REQUIRE_EXTRAS") == "1"
#: Extras that `all` does not bring: what needs them may be skipped even where extras are required.
NOT_IN_ALL = ("docs", "generate")
R_REQUIRED = os.environ.get("FAIRSTATS_REQUIRE_R") == "1"
BROWSER_REQUIRED = os.environ.get("FAIRSTATS_REQUIRE_BROWSER") == "1"

try:
    from hypothesis import settings as hypothesis_settings
except ModuleNotFoundError:  # the run without extras
    pass
else:
    # A law that 20 examples do not break is looked at longer by --hypothesis-profile=thorough.
    hypothesis_settings.register_profile("default", deadline=None, max_examples=20)
    hypothesis_settings.register_profile(
        "ci", deadline=None, max_examples=20, derandomize=True, database=None
    )
    hypothesis_settings.register_profile("thorough", deadline=None, max_examples=1_000)
    hypothesis_settings.load_profile("ci" if os.environ.get("CI") else "default")


def pytest_configure(config: pytest.Config) -> None:
    """Register the plugins, and skip benchmarks unless they are asked for."""
    if not hasattr(config, "workerinput") and getattr(config.option, "numprocesses", None):
        _warn_once()
    if config.pluginmanager.hasplugin("benchmark") and not config.getoption("benchmark_enable"):
        config.option.benchmark_skip = not config.getoption("benchmark_only")
    config.pluginmanager.register(MissingPackages(), "fairstats-missing-packages")
    config.pluginmanager.register(OutsidePrograms(), "fairstats-outside-programs")
    config.pluginmanager.register(LiveRCount(), "fairstats-live-r-count")
    config.pluginmanager.register(EveryTest(), "fairstats-every-test")
    # compiled loops would come in after so many tests; `test_compiled.py` compares both
    exact_table._BEFORE_LOOPS = math.inf
    if FOLDER in os.environ:
        config.pluginmanager.register(Measured(os.environ[FOLDER]), "fairstats-measured")


def _warn_once() -> None:
    """Let ArviZ 0.23 note today's warning here.

    Of two workers that do so at once, one fails to import it.
    """
    with contextlib.suppress(ImportError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        importlib.import_module("arviz")


# ---------------------------------------------------------------- fixtures


@pytest.fixture
def rng() -> np.random.Generator:
    """A generator with a fixed seed."""
    return np.random.default_rng(20180718)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of data and recorded references that travels beside the repository, not in it."""
    if not SHARED.is_dir():
        pytest.skip("the folder ../shared is not here")
    return SHARED


@pytest.fixture(scope="session")
def shared_data(shared: Path) -> Path:
    """Data sets that the package does not carry."""
    data = shared / "data"
    if not data.is_dir():
        pytest.skip("the folder ../shared/data is not here")
    return data


@pytest.fixture(scope="session")
def chromium() -> str:
    """Path of a Chromium-like browser."""
    lacking(_no_browser(), required=BROWSER_REQUIRED)
    return str(_chromium())


class EveryTest:
    """What holds for every test and doctest."""

    @pytest.hookimpl(tryfirst=True)  # before pytest leaves out what `-m` does not name
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Mark long tests, and refuse names that differ between processes.

        The workers of pytest-xdist must agree on them.
        """
        listed = long_tests()
        for item in items:
            if item.nodeid in listed:
                item.add_marker("listed")
                item.add_marker("slow")
        unstable = [item.nodeid for item in items if re.search(r" at 0x[0-9a-fA-F]+", item.nodeid)]
        if unstable:
            raise pytest.UsageError(
                "memory addresses in test names; give ids=: " + ", ".join(unstable[:5])
            )

    @pytest.fixture(autouse=True)
    def _no_figure_stays_open(self) -> Iterator[None]:
        yield
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is not None:
            pyplot.close("all")


# ---------------------------------------------------------------- packages that may be missing


class MissingPackages:
    """Skip a test, a test file or the doctests of a module that need a package which is not
    installed.

    A test may import such a package, and may meet fairstats' own error that names the extra; a
    module of fairstats that imports it without saying so is a fault, and stays one."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if call.excinfo is None or not report.failed:
            return report
        raised = _raised(call.excinfo.value)
        if EXTRAS_REQUIRED and getattr(raised, "extra", None) not in NOT_IN_ALL:
            return report
        package = _optional_package(raised)
        if package is not None and (
            isinstance(raised, MissingDependencyError) or _raised_in_a_test(raised)
        ):
            report.outcome = "skipped"
            report.longrepr = _needs(item.path, package)
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> pytest.CollectReport | None:
        if EXTRAS_REQUIRED or not isinstance(collector, pytest.Module):  # DoctestModule is one, too
            return None
        try:
            package = _lacking_for_doctests(collector.path) or _lacking_for_tests(collector)
        except pytest.skip.Exception as skipped:
            # said here: a second import would find the half-made module, with no tests and no
            # reason
            reason = (str(collector.path), 0, f"Skipped: {skipped.msg}")
            return pytest.CollectReport(collector.nodeid, "skipped", reason, [])
        if package is None:
            return None
        return pytest.CollectReport(
            collector.nodeid, "skipped", _needs(collector.path, package), []
        )


def _raised(problem: BaseException) -> BaseException:
    """The exception of an example, where a doctest wraps it."""
    failures = getattr(problem, "failures", [problem])  # pytest's, of one or several examples
    if failures and isinstance(failures[0], doctest.UnexpectedException):
        return failures[0].exc_info[1]
    return problem


def _raised_in_a_test(problem: BaseException) -> bool:
    frames = traceback.extract_tb(problem.__traceback__)
    where = frames[-1].filename if frames else ""
    return where.startswith("<doctest") or Path(where).is_relative_to(ROOT / "tests")


def _needs(path: Path, package: str) -> tuple[str, int, str]:
    return str(path), 0, f"Skipped: needs the package {package}, which is not installed"


def _lacking_for_doctests(path: Path) -> str | None:
    """The optional package without which a module of fairstats cannot be imported."""
    try:
        parts = path.relative_to(ROOT / "fairstats").with_suffix("").parts
    except ValueError:
        return None
    name = ".".join(["fairstats", *(part for part in parts if part != "__init__")])
    try:
        importlib.import_module(name)
    except ImportError as problem:
        return _optional_package(problem)
    return None


def _lacking_for_tests(collector: pytest.Collector) -> str | None:
    """The optional package without which a test file cannot be imported."""
    if not isinstance(collector, pytest.Module) or collector.path.name == "conftest.py":
        return None
    try:
        _ = collector.obj
    except Exception as problem:  # noqa: BLE001 - whatever a file raises is for pytest to report
        package = _optional_package(problem)
        if package is None:
            # a fault: the half-made module goes, or pytest would take it for one without tests and
            # report nothing
            made = [
                name
                for name, m in sys.modules.items()
                if getattr(m, "__file__", None) == str(collector.path)
            ]
            for name in made:
                del sys.modules[name]
        return package
    return None


def _optional_package(problem: BaseException) -> str | None:
    """The package that an import lacked, if it may be lacking here."""
    seen: BaseException | None = problem
    while seen is not None:
        name = getattr(seen, "package", None) or getattr(seen, "name", None)
        if isinstance(seen, ImportError) and isinstance(name, str):
            package = name.partition(".")[0]
            if package in OPTIONAL_PACKAGES and importlib.util.find_spec(package) is None:
                return package
        seen = seen.__cause__ or seen.__context__
    return None


# ---------------------------------------------------------------- programs that may be missing


class OutsidePrograms:
    """Skip tests marked `r`, `r_extra`, `rpy2` or `browser` where R, an R package, rpy2 or the
    browser is missing.

    ``@pytest.mark.r("survey", "boot")`` and ``@pytest.mark.r_extra("extRemes")`` name the R
    packages that a test needs."""

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        for name, required in (("r", R_REQUIRED), ("r_extra", False)):
            for mark in item.iter_markers(name):
                lacking(_no_live_r() or _no_r_packages(tuple(mark.args)), required=required)
        if item.get_closest_marker("rpy2") is not None:
            lacking(_no_rpy2(), required=R_REQUIRED)
        if item.get_closest_marker("browser") is not None:
            lacking(_no_browser(), required=BROWSER_REQUIRED)


def lacking(reason: str | None, *, required: bool) -> None:
    """Skip, or fail where it must not lack, if there is a reason."""
    if reason is not None and required:
        pytest.fail(reason, pytrace=False)
    if reason is not None:
        pytest.skip(reason)


@lru_cache(maxsize=1)
def _chromium() -> str | None:
    return next((path for path in map(shutil.which, CHROMIUM_NAMES) if path), None)


def _no_browser() -> str | None:
    return None if _chromium() else f"no browser on PATH ({', '.join(CHROMIUM_NAMES)})"


@lru_cache(maxsize=1)
def _no_live_r() -> str | None:
    """Why R cannot be called from Python here: neither by rpy2 nor by Rscript."""
    if shutil.which("R") is None:
        return "R is not on PATH"
    if _no_rpy2() is None or _rscript_answers():
        return None
    return f"Rscript does not answer, and {_no_rpy2()}"


@lru_cache(maxsize=1)
def _rscript_answers() -> bool:
    try:
        probe = subprocess.run(["Rscript", "-e", "1"], capture_output=True, check=False)
    except OSError:
        return False
    return probe.returncode == 0


@lru_cache(maxsize=1)
def _no_rpy2() -> str | None:
    """Why R cannot be started within Python here.

    Asked in another process, since R may take it down.
    """
    if importlib.util.find_spec("rpy2") is None:
        return 'rpy2 is not installed: pip install "fairstats[r]"'
    command = [sys.executable, "-W", "ignore", "-c", "import rpy2.robjects"]
    probe = subprocess.run(command, capture_output=True, text=True, check=False)
    if probe.returncode == 0:
        return None
    last = (probe.stderr.strip().splitlines() or [f"exit code {probe.returncode}"])[-1]
    return f"rpy2 cannot start R: {last}"


@lru_cache
def _no_r_packages(packages: tuple[str, ...]) -> str | None:
    for package in packages:
        code = f'quit(status = if (requireNamespace("{package}", quietly = TRUE)) 0 else 1)'
        if subprocess.run(["Rscript", "-e", code], capture_output=True, check=False).returncode:
            return f"the R package {package} is not installed"
    return None


# ---------------------------------------------------------------- how many tests called R


class LiveRCount:
    """Count the tests marked `r` that ran, here or in the workers of pytest-xdist."""

    def __init__(self) -> None:
        self.ran = 0

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        if item.get_closest_marker("r") is not None:
            item.user_properties.append(("live_r", True))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if (
            report.when == "call"
            and report.outcome != "skipped"
            and ("live_r", True) in _pairs(report)
        ):
            self.ran += 1

    @property
    def too_few(self) -> bool:
        return R_REQUIRED and self.ran < MIN_LIVE_R_TESTS

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if not hasattr(session.config, "workerinput") and self.too_few:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self.ran or R_REQUIRED:
            terminalreporter.write_line(
                f"tests that called R: {self.ran}, wanted: {MIN_LIVE_R_TESTS}"
            )
        if self.too_few:
            terminalreporter.write_line(
                "ERROR: FAIRSTATS_REQUIRE_R=1, but too few tests called R", red=True
            )


def _pairs(report: pytest.TestReport) -> list[tuple[str, object]]:
    return [tuple(pair) for pair in report.user_properties]  # type: ignore[misc]  # lists after xdist's transport
