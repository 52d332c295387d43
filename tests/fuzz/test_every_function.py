"""Every public function with odd values: a result, or an error of ours.

No warning but ours, and no hang.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator

import pytest

import fairstats as fs
from fairstats.ground.errors import FairstatsWarning
from tests.fuzz.calls import NOT_CALLED, calls
from tests.fuzz.cases import faults, limits

FAMILIES = ("ground", "rates", "madd", "hfm", "um", "ecd", "hdr", "evt")
#: Cases in the default run.
FEW = 460


@pytest.fixture(autouse=True)
def _limits() -> Iterator[None]:
    with limits():
        yield


def faults_of(family: str, cases: int) -> list[str]:
    """The faults of so many cases of the functions of a family."""
    return faults({name: call for name, call in calls().items() if call.family == family}, cases)


def test_every_public_name_has_good_arguments() -> None:
    """A new public function needs an entry in `calls`; without one it would not be tried."""
    public = {*fs.__all__, *(f"evt.{name}" for name in fs.evt.__all__)}
    public |= {f"rates.{name}" for name in fs.rates.__all__}
    tried = {name for name in calls() if name in public} | {name.split(".")[0] for name in calls()}
    assert public - tried - set(NOT_CALLED) == set(), "add to tests/fuzz/calls.py"
    assert set(NOT_CALLED) <= public
    assert Counter(call.family for call in calls().values()).keys() == set(FAMILIES)


@pytest.mark.parametrize("name", [name for name, call in calls().items() if not call.always])
def test_good_arguments_give_a_result(name: str) -> None:
    """Otherwise a case would meet the same error whatever is spoiled."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairstatsWarning)
        calls()[name].function(**calls()[name].good)


@pytest.mark.parametrize("family", FAMILIES)
def test_odd_values(family: str) -> None:
    assert faults_of(family, FEW // len(FAMILIES)) == []


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_many_odd_values(family: str) -> None:
    assert faults_of(family, 10_000) == []
