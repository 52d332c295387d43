"""Cross-checks against recorded answers of R: everywhere, also where R is missing.

The witness is R itself: ``python tests/report/crosscheck/test_recorded.py`` (with rpy2) writes its
answers to `tests/reference/crosscheck_answers.json`, together with the version of R."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fairstats as fs
from fairstats.ground.serialise import decode, encode
from fairstats.report.crosscheck.run import crosscheck

RECORDED = Path(__file__).resolve().parents[2] / "reference" / "crosscheck_answers.json"
COUNTS = {"north": (40, 12, 10, 38), "south": (30, 10, 20, 40), "west": (18, 9, 3, 12)}
SELECTED = {"a": (25, 2), "b": (70, 30)}


def confusion() -> fs.ConfusionCounts:
    return fs.ConfusionCounts.from_counts(COUNTS)


def posterior(seed: int = 1) -> Any:
    return replace(
        fs.um_posterior(counts=confusion(), draws=2000, rng=seed),
        table_metrics=("accuracy", "equal_opportunity", "demographic_parity_max"),
    )


def excesses() -> Any:
    return fs.evt.fit_gpd(np.random.default_rng(1).exponential(size=2000), 3.0, backend="scipy")


def scores() -> tuple[Any, Any, Any]:
    """Labels, scores and groups of 300 people."""
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 300)
    return (
        y,
        np.clip(rng.normal(0.4 + 0.2 * y, 0.2), 0, 1).round(2),
        np.repeat(["a", "b"], [200, 100]),
    )


def areas() -> Any:
    y, score, group = scores()
    return fs.abroca(y, score, sensitive_features=group, n_resamples=499, rng=1)


def extremes() -> Any:
    rng = np.random.default_rng(3)
    cd = {"white": 0.3 * rng.beta(2, 8, 8000), "black": 0.5 * rng.beta(2, 8, 3000)}
    return fs.ecd(cd, privileged="white", unprivileged="black", n_resamples=0, backend="scipy")


def density() -> tuple[Any, Any]:
    grid = np.linspace(-5, 5, 401)
    values = np.exp(-(grid**2) / 2) + np.exp(-4 * (grid - 3) ** 2)
    return grid, values / values.sum() / (grid[1] - grid[0])


#: Name → result.
CASES: dict[str, Callable[[], Any]] = {
    "ratio": lambda: fs.disparate_impact(
        counts=SELECTED, reference="b"
    ),  # a cell below 5: exact tests
    "differences": lambda: fs.equalized_odds_difference(counts=confusion(), reference="north"),
    "average odds": lambda: fs.average_odds_difference(counts=confusion(), reference="north"),
    "largest gap": lambda: fs.equalized_odds_difference(counts=confusion(), agg="max"),
    "f1": lambda: fs.group_metric(metric="f1", counts=confusion(), reference="north"),
    "balanced accuracy": lambda: fs.group_metric(
        metric="balanced_accuracy_difference", counts=confusion(), reference="north"
    ),
    "areas": areas,
    "MADD": lambda: fs.madd(
        scores()[1], sensitive_features=scores()[2], n_bins=10, n_resamples=499, rng=1
    ),
    "ECD": extremes,
    "regions": lambda: fs.hdr(density=density(), backend="scipy"),
    "posterior": posterior,
    "comparison": lambda: fs.um_compare(posterior(), posterior(2), paired=False, rng=3),
    "ranking": lambda: fs.um_compare({"a": posterior(), "b": posterior(2)}, paired=False, rng=3),
    "gpd": excesses,
}


class Replay:
    """Answers for R what was recorded, in the order of the calls."""

    version = ""

    def __init__(self, answers: list[list[Any]]) -> None:
        self.answers = iter(answers)

    def call(self, function: str, *args: Any, **kwargs: Any) -> Any:
        name, answer = next(self.answers)
        assert name == function
        return decode(answer)

    def source(self, function: str) -> str:
        return function

    def has(self, package: str) -> bool:
        return False


class Recorder:
    """Asks R and keeps what it says."""

    version = ""

    def __init__(self, r: Any) -> None:
        self.r = r
        self.answers: list[list[Any]] = []

    def call(self, function: str, *args: Any, **kwargs: Any) -> Any:
        answer = self.r.call(function, *args, **kwargs)
        self.answers.append([function, encode(answer)])
        return answer

    def source(self, function: str) -> str:
        return str(self.r.source(function))

    def has(self, package: str) -> bool:
        return False


@lru_cache(maxsize=1)
def recorded() -> dict[str, Any]:
    return json.loads(RECORDED.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", CASES)
def test_everything_agrees(name: str) -> None:
    found = crosscheck(CASES[name](), door=Replay(recorded()["answers"][name]))
    assert found.disagreements == ()
    assert found.agrees
    assert found.n_checked >= 4


@pytest.mark.parametrize("name", ["ratio", "differences", "largest gap", "posterior", "gpd"])
def test_a_changed_number_disagrees(name: str) -> None:
    """Each value of R in turn is moved by a tenth: every one that is compared must be missed."""
    right = crosscheck(CASES[name](), door=Replay(recorded()["answers"][name]))
    moved = [c for c in right.checks if c.counted and abs(c.r) > 0.02]
    missed = [c.quantity for c in moved if abs(c.python - 1.1 * c.r) <= c.tolerance]
    share = (
        0.35 if name == "posterior" else 0.05
    )  # 2,000 draws: intervals have errors of some percent
    assert len(missed) <= share * len(moved), missed


def test_a_changed_twin_disagrees_everywhere() -> None:
    answers = [
        [name, encode(_moved(decode(answer)))] for name, answer in recorded()["answers"]["ratio"]
    ]
    found = crosscheck(CASES["ratio"](), door=Replay(answers))
    assert not found.agrees
    assert len(found.disagreements) > 0.8 * found.n_checked


def _moved(answer: Any) -> Any:
    if isinstance(answer, dict):
        return {name: _moved(value) for name, value in answer.items()}
    if answer is None or isinstance(answer, (str, tuple)):
        return answer
    return 1.01 * np.asarray(answer) + 0.001


if __name__ == "__main__":
    from fairstats.report.crosscheck.check import open_door

    r = open_door()
    answers = {}
    for name, make in CASES.items():
        recorder = Recorder(r)
        crosscheck(make(), door=recorder)
        answers[name] = recorder.answers
    RECORDED.write_text(
        json.dumps({"r": r.probe.r_version, "answers": answers}, allow_nan=False) + "\n",
        encoding="utf-8",
    )
