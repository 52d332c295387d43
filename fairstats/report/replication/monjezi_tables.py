"""Monjezi et al. (2025): what the text says of tables II to VII, counted in the printed tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from fairstats.datasets import load_adult, load_german_credit
from fairstats.report.replication.items import Outcome, PrintedNumber, read_items

Outcomes = Mapping[str, Outcome]
#: The paper's tolerance of ECD and AOD, with room for the last digit of a float.
_TOLERANCE = 0.05 + 1e-9
#: Two printed numbers of two digits and their difference, each half a unit off at most.
_ROUNDING = 0.015 + 1e-9
_OF_AVERAGES = ("EG", "STEALTH", "MAAT", "Fair-SMOTE-like")


def _numbers(item: str) -> tuple[PrintedNumber, ...]:
    items = {one.name: one for one in read_items("monjezi")}
    return items[item].numbers


def _ending_in(items: tuple[str, ...], *words: str) -> np.ndarray:
    """Printed numbers whose names end in these words, over several items."""

    def found() -> Iterator[float]:
        for item in items:
            for number in _numbers(item):
                if number.name.split(", ")[-len(words) :] == list(words):
                    yield float(number.printed)

    return np.array(list(found()))


def _features() -> Outcomes:
    """Columns beside the outcome; sex of German credit is derived from another column."""
    adult = load_adult().frame
    german = load_german_credit().frame.drop(columns=["sex"])
    return {
        "Adult": Outcome(float(adult.shape[1] - 1)),
        "German credit": Outcome(float(german.shape[1] - 1)),
    }


def _words_of_table_3() -> Outcomes:
    """The figures of section V-A in the table that they are about."""
    cells = {number.name: float(number.printed) for number in _numbers("table-3")}
    similarity = [value for name, value in cells.items() if name.endswith(", KL")]
    distance = [value for name, value in cells.items() if name.endswith(", FID")]
    signs = {"FID": -1, "KL": 1, "detection": 1, "F1 loss": -1}
    ahead = []
    for measure, sign in signs.items():
        gap = cells[f"Adult, TVAE, {measure}"] - cells[f"Adult, CTGAN, {measure}"]
        ahead.append(sign * gap > 0)
    return {
        "COMPAS: KL of CTGAN": Outcome(cells["COMPAS, CTGAN, KL"]),
        "largest KL": Outcome(max(similarity)),
        "least FID": Outcome(min(distance)),
        "Adult: measures by which TVAE is the better": Outcome(float(sum(ahead))),
    }


def _words_of_table_4() -> Outcomes:
    """ECD as printed against the printed locations, and cases above .05."""
    cells = {number.name: float(number.printed) for number in _numbers("table-4-locations")}
    differing = 0
    above = 0
    for name, value in cells.items():
        case, _, column = name.rpartition(", ")
        if column == "ECD":
            difference = cells[f"{case}, μ unprivileged"] - cells[f"{case}, μ privileged"]
            differing += abs(value - difference) > _ROUNDING
            above += value > _TOLERANCE
    return {
        "cells of ECD that are not μ_u − μ_p": Outcome(float(differing)),
        "cases with ECD above .05": Outcome(float(above)),
        "cases in which ECD is significantly greater, % (13 of 40)": Outcome(100 * 13 / 40),
    }


def _averages(
    variants: tuple[str, ...], sizes: tuple[str, ...], others: tuple[str, ...]
) -> Outcomes:
    """Means, and cases of at most .05, of the printed ECD and AOD."""
    averages = {}
    for variant in variants:
        ecd = _ending_in(sizes, variant)
        odds = _ending_in(others, variant, "AOD")
        averages[f"{variant}: mean AOD"] = Outcome(float(odds.mean()))
        averages[f"{variant}: AOD of at most .05"] = Outcome(float((odds <= _TOLERANCE).sum()))
        averages[f"{variant}: mean ECD"] = Outcome(float(ecd.mean()))
        averages[f"{variant}: ECD of at most .05"] = Outcome(float((ecd <= _TOLERANCE).sum()))
    return averages


COMPUTATIONS = {
    "monjezi.features": _features,
    "monjezi.words-of-table-3": _words_of_table_3,
    "monjezi.words-of-table-4": _words_of_table_4,
    "monjezi.words-of-tables-5-and-6": lambda: _averages(
        _OF_AVERAGES, ("table-5", "table-6"), ("table-5-columns", "table-6-columns")
    ),
    "monjezi.words-of-table-7": lambda: _averages(
        ("EcdSearch",), ("table-7",), ("table-7-columns",)
    ),
}
