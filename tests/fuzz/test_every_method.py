"""Every public method of every public class with odd values.

An answer, or an error of ours, as of functions.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairstats.ground.errors import FairstatsWarning, ResultAttributeError
from tests.fuzz.cases import faults, limits
from tests.fuzz.methods import ALWAYS, ARGUMENTS, MADE_BY, NO_OBJECT, REFUSES, method_calls, objects
from tests.fuzz.public import methods, public_classes

FAMILIES = tuple(MADE_BY)
#: Cases in the default run.
FEW = 450


@pytest.fixture(autouse=True)
def _limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A folder for what is written under odd names; alarms and back end as for functions."""
    monkeypatch.chdir(tmp_path)
    with limits():
        yield


def test_every_public_method_has_good_arguments() -> None:
    """A new public method needs an entry in `ARGUMENTS`; without one it would not be tried."""
    homes = {home for kind in public_classes() for home in methods(kind).values()}
    assert homes - set(ARGUMENTS) == set(), (
        "check their arguments, and add them to tests/fuzz/methods.py"
    )
    assert set(ARGUMENTS) - homes == set()
    assert set(ALWAYS) - homes == set()


def test_every_public_class_has_an_object() -> None:
    """A new public class needs a call that returns one.

    Without it its methods would not be tried.
    """
    tried = {kind for family in FAMILIES for kind in objects(family)}
    lacking = {kind.__name__ for kind in public_classes() if methods(kind) and kind not in tried}
    assert lacking - set(NO_OBJECT) == set(), "add what returns one to tests/fuzz/methods.py"
    assert set(NO_OBJECT) <= {kind.__name__ for kind in public_classes()}


@pytest.mark.parametrize("family", FAMILIES)
def test_good_arguments_give_an_answer(family: str) -> None:
    """Otherwise a case would meet the same error whatever is spoiled."""
    refused = []
    for name, call in method_calls(family).items():
        if call.always or name in REFUSES:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FairstatsWarning)
            try:
                call.function(**call.good)
            except ResultAttributeError:  # what a class lacks, it refuses whatever is asked for
                continue
            except Exception as problem:  # noqa: BLE001  # all of them are shown
                refused.append(f"{name}: {type(problem).__name__}: {problem}")
    assert refused == []


@pytest.mark.parametrize("family", FAMILIES)
def test_odd_values(family: str) -> None:
    assert faults(method_calls(family), FEW // len(FAMILIES)) == []


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_many_odd_values(family: str) -> None:
    assert faults(method_calls(family), 10_000) == []
