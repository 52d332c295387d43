"""Bian and Luo (2024): wins, ties and losses of tables 1, 3, 4 and 5 against what is printed."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

from fairstats.ground.multiplicity import normal_quantile
from fairstats.report.replication.items import Outcome, PrintedNumber, read_items

Outcomes = Mapping[str, Outcome]
_RULES: Final = ("Accuracy", "DP", "EO", "PQP", "DR", "df")
_BASELINE: Final = "df̂"
_FOLDS: Final = 5
_LARGER_IS_BETTER: Final = ("1a", "4a")
#: Half a unit of the last printed digit of two deviations.
_ROUNDING: Final = 1e-4
_BETTER: Final = "‡"
_WORSE: Final = "†"


@dataclass(frozen=True)
class _Cell:
    """A rule's mean, deviation and mark beside those of d̂f, one case of one table."""

    table: str
    rule: str
    mean: float
    deviation: float
    mark: str
    baseline_mean: float
    baseline_deviation: float

    @property
    def baseline_is_better(self) -> bool:
        if self.table in _LARGER_IS_BETTER:
            return self.baseline_mean > self.mean
        return self.baseline_mean < self.mean

    @property
    def largest_t(self) -> float:
        """|Δ|√5 / |s − s'|: differences of two columns deviate by no less; s by four."""
        least = abs(self.deviation - self.baseline_deviation) - _ROUNDING
        if least <= 0:
            return math.inf
        return math.sqrt(_FOLDS) * abs(self.mean - self.baseline_mean) / least

    @property
    def smallest_t(self) -> float:
        """|Δ|·2 / (s + s'): differences of two columns deviate by no more; s by five."""
        most = self.deviation + self.baseline_deviation + _ROUNDING
        return math.sqrt(_FOLDS - 1) * abs(self.mean - self.baseline_mean) / most


def _deviations() -> dict[str, dict[str, list[str]]]:
    """Table → case → deviations of all rules with their marks, as printed."""
    folder = files("fairstats.report.replication").joinpath("papers")
    with folder.joinpath("bian_deviations.toml").open("rb") as stream:
        return tomllib.load(stream)


def _cells() -> Iterator[_Cell]:
    items = {item.name: item for item in read_items("bian")}
    for table, cases in _deviations().items():
        means = {number.name: number.printed for number in items[f"table-{table}"].numbers}
        for case, deviations in cases.items():
            for rule, text in zip(_RULES, deviations, strict=False):
                yield _Cell(
                    table=table,
                    rule=rule,
                    mean=float(means[f"{case}, {rule}"]),
                    deviation=float(text.rstrip(_BETTER + _WORSE)),
                    mark=text[-1] if text[-1] in (_BETTER, _WORSE) else "",
                    baseline_mean=float(means[f"{case}, {_BASELINE}"]),
                    baseline_deviation=float(deviations[-1]),
                )


def _counted_otherwise(cells: list[_Cell], numbers: tuple[PrintedNumber, ...]) -> int:
    """Columns whose printed wins, ties and losses are not the numbers of their marks."""
    printed = {number.name: int(number.printed) for number in numbers}
    different = 0
    for table in dict.fromkeys(cell.table for cell in cells):
        for rule in _RULES:
            marks = [cell.mark for cell in cells if (cell.table, cell.rule) == (table, rule)]
            counted = [marks.count(mark) for mark in (_BETTER, "", _WORSE)]
            words = ("better", "as good", "worse")
            different += counted != [printed[f"{table}, {rule}, {word}"] for word in words]
    return different


def _wins_as_printed() -> Outcomes:
    """What the printed means and deviations say of the marks, and these of W/T/L."""
    items = {item.name: item for item in read_items("bian")}
    cells = list(_cells())
    critical = normal_quantile(0.975, _FOLDS - 1)
    marked = [cell for cell in cells if cell.mark]
    against = [cell for cell in marked if cell.baseline_is_better != (cell.mark == _BETTER)]
    impossible = [cell for cell in marked if cell.largest_t < critical]
    lacking = [cell for cell in cells if not cell.mark and cell.smallest_t > critical]
    counts = {
        "columns (of 48) whose W/T/L do not count their marks": _counted_otherwise(
            cells, items["wins"].numbers
        ),
        "marks against the printed means": len(against),
        "marks that no paired t-test of these means and deviations gives": len(impossible),
        "cells without a mark that every paired t-test would mark": len(lacking),
    }
    return {name: Outcome(float(count)) for name, count in counts.items()}


COMPUTATIONS = {"bian.wins-as-printed": _wins_as_printed}
