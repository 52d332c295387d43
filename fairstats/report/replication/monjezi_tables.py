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
#: In table IV the privileged group stands first, but here.
_WOMEN_FIRST = "German credit, sex, SVM"
#: Runs of every case.
_RUNS = 20
#: Tables V to VII: where ECD stands, and where the other columns.
_SIZES = ("table-5", "table-6", "table-7")
_COLUMNS = ("table-5-columns", "table-6-columns", "table-7-columns")
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


def _tails() -> Iterator[dict[str, str]]:
    """Columns of the 80 tails of table IV, in its order."""
    columns: dict[str, dict[str, str]] = {}
    for number in _numbers("table-4-others"):
        tail, _, column = number.name.partition(", ")
        columns.setdefault(tail, {})[column] = number.printed
    named = {n.name: n.printed for n in _numbers("table-4-locations")}
    locations = []
    for name in named:
        case, _, column = name.rpartition(", ")
        if column == "ECD":
            both = [named[f"{case}, μ privileged"], named[f"{case}, μ unprivileged"]]
            locations += both[::-1] if case == _WOMEN_FIRST else both
    types = [n.name.rpartition(" ")[2] for n in _numbers("table-4-shapes")]
    for others, location, kind in zip(columns.values(), locations, types, strict=True):
        yield {**others, "μ": location, "type": kind}


def _horizon_of_type(horizon: str, kind: str) -> bool:
    """Whether B is unlimited in type III, bounded in type I and 0 in type II."""
    if kind == "III":
        return horizon == "∞"
    if kind == "II":
        return horizon == "0"
    return horizon not in ("0", "∞")


def _other_words_of_table_4() -> Outcomes:
    tails = list(_tails())
    astray = [tail for tail in tails if not _horizon_of_type(tail["B"], tail["type"])]
    below = [tail for tail in tails if float(tail["μ"]) < float(tail["τ"])]
    return {
        "tails whose B does not go with their type": Outcome(float(len(astray))),
        "tails with a location below the threshold": Outcome(float(len(below))),
        "Adult by race, MLP: cases of White, thousands": Outcome(float(tails[0]["cases"])),
    }


def _section_2() -> Outcomes:
    """The first row of tables V and VII, Adult by race and the network."""
    cells = {n.name: float(n.printed) for item in _SIZES + _COLUMNS for n in _numbers(item)}
    case = "Adult, race, MLP"
    return {
        "EG: AOD": Outcome(cells[f"{case}, EG, AOD"]),
        "EG: accuracy": Outcome(cells[f"{case}, EG, accuracy"]),
        "EG: |ECD|": Outcome(cells[f"{case}, EG"]),
        "MiniMax: |ECD|": Outcome(cells[f"{case}, MiniMax"]),
        "ECD-Fair: |ECD|": Outcome(cells[f"{case}, EcdSearch"]),
        "AOD of the two TPRs, FPRs alike": Outcome((0.75 - 0.65) / 2),
    }


def _size_of_the_study() -> Outcomes:
    """Cases of the printed tables; those printed "NV" have their other columns."""
    models = len(_ending_in(("table-4-locations",), "ECD"))
    mitigated = len(_ending_in(_COLUMNS[:2], "AOD"))
    tail_aware = len(_ending_in(_COLUMNS[2:], "AOD"))
    return {
        "cases of table IV": Outcome(float(models)),
        "cases of tables V and VI": Outcome(float(mitigated)),
        "cases of tables IV to VII, by 20": Outcome(
            float(_RUNS * (models + mitigated + tail_aware))
        ),
    }


def _column_di() -> Outcomes:
    """SPD over |1 − ratio|: the rate in the denominator."""
    cells = {n.name: float(n.printed) for item in _COLUMNS for n in _numbers(item)}
    ratios = {name: value for name, value in cells.items() if name.endswith(", DI")}

    def below(case: str) -> Outcome:
        rates = []
        for name, value in ratios.items():
            if name.startswith(case):
                rates.append(cells[name.removesuffix("DI") + "SPD"] / value)
        return Outcome(float(np.mean(rates)), min(rates), max(rates))

    return {
        "cells above 1, of 200": Outcome(float(sum(value > 1 for value in ratios.values()))),
        "Adult by race, mean of SPD over DI": below("Adult, race"),
        "Adult by sex, mean of SPD over DI": below("Adult, sex"),
        "German credit by sex, mean of SPD over DI": below("German credit, sex"),
        "COMPAS by race, mean of SPD over DI": below("COMPAS, race"),
        "Heart by sex, mean of SPD over DI": below("Heart, sex"),
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
    "monjezi.words-of-table-4-others": _other_words_of_table_4,
    "monjezi.section-2-in-tables": _section_2,
    "monjezi.size-of-the-study": _size_of_the_study,
    "monjezi.column-di": _column_di,
    "monjezi.words-of-tables-5-and-6": lambda: _averages(
        _OF_AVERAGES, ("table-5", "table-6"), ("table-5-columns", "table-6-columns")
    ),
    "monjezi.words-of-table-7": lambda: _averages(
        ("EcdSearch",), ("table-7",), ("table-7-columns",)
    ),
}
