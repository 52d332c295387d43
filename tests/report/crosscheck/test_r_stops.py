"""A function of R that stops is a row of the cross-check, and the others go on (case D7)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

import fairstats as fs
from fairstats.ground.errors import BackendError, RBackendError
from fairstats.report.crosscheck.check import NOT_RECOMPUTED
from fairstats.report.crosscheck.run import crosscheck

CAUSE = "sample size in each stratum must be > 1"


@dataclass
class Stops:
    """R that answers nothing: every call stops with an error of R, or of the door."""

    error: type[Exception]
    version: str = "4.2.2"
    asked: list[str] = field(default_factory=list)

    def call(self, function: str, *args: Any, **kwargs: Any) -> Any:
        self.asked.append(function)
        raise self.error(CAUSE)

    def source(self, function: str) -> str:
        return function

    def has(self, package: str) -> bool:
        return False


COUNTS = {"north": (40, 12), "south": (30, 10), "west": (18, 9)}


def test_what_r_cannot_compute_is_a_row_each_with_the_cause() -> None:
    door = Stops(RBackendError)
    result = fs.disparate_impact(counts=COUNTS)
    checked = crosscheck(result, door=door)
    assert door.asked
    assert {(c.group, c.reference) for c in checked.checks} == {
        (c.group, c.reference) for c in result.comparisons
    }
    for check in checked.checks:
        assert check.verdict == NOT_RECOMPUTED
        assert CAUSE in check.note
    assert checked.agrees is None


def test_the_other_results_of_a_report_are_still_asked_for() -> None:
    import pandas as pd

    table = pd.DataFrame({"y": [0, 1, 1, 0, 1] * 24, "hat": [0, 1, 1] * 40, "sex": ["f", "m"] * 60})
    report = fs.audit(table, y_true="y", y_pred="hat", sensitive_features="sex", rng=1)
    door = Stops(RBackendError)
    checked = crosscheck(report, door=door)
    results = [result for section in report.sections for result in section.results]
    assert len(results) > 3
    assert {check.metric for check in checked.checks} >= {
        row["metric"] for result in results for row in result.rows()
    }


def test_a_door_that_is_shut_is_an_error() -> None:
    """Not of a function, but of R as a whole: nothing could be compared."""
    with pytest.raises(BackendError, match="sample size"):
        crosscheck(fs.disparate_impact(counts=COUNTS), door=Stops(BackendError))
