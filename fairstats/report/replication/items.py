"""What the papers print, item by item, and the rules by which a printed number is judged.

``papers/*.toml`` hold the items of a paper in its order: what is printed, on which data, by which
rule it is judged. Values that come out here stand nowhere in them.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final

from fairstats.datasets.description import DatasetDescription, entry

HOLDS: Final = "holds"
ROUNDED: Final = "holds within printed rounding"
FAILS: Final = "does not hold"
OPEN: Final = "cannot be decided"
#: From worst to best: an item is judged by the worst of its numbers.
VERDICTS: Final = (FAILS, OPEN, ROUNDED, HOLDS)

#: The verdicts of several items.
PLURALS: Final = {
    HOLDS: "hold",
    ROUNDED: "hold within printed rounding",
    FAILS: "do not hold",
    OPEN: "cannot be decided",
}

#: Paper (by its first author) → how it is cited.
PAPERS: Final = {
    "besse": "Besse et al. (2018), Confidence intervals for testing disparate impact",
    "verger": "Verger et al. (2024), Evaluating and mitigating unfairness with the MADD metric",
    "bian": "Bian and Luo (2024), Does machine bring in extra bias in learning?",
    "barrainkua": "Barrainkua et al. (2024), Uncertainty matters",
    "monjezi": "Monjezi et al. (2025), Fairness testing through extreme value theory",
}

#: A number is printed in units of its last digit; two floats of one unit differ by less than this.
_SPARE: Final = 1e-9
#: In the same units: what arithmetic leaves of equal numbers.
_EQUAL: Final = 1e-6


@dataclass(frozen=True)
class Outcome:
    """What comes out here: a value, its interval where it has one, and a claim's side and bound."""

    value: float
    low: float = math.nan
    high: float = math.nan
    side: str = ""
    bound: float = math.nan


@dataclass(frozen=True)
class PrintedNumber:
    """One number of an item, as printed, and the rule that judges it.

    Attributes
    ----------
    name : str
        What the number is.
    printed, printed_low, printed_high : str
        The number and the ends of its interval with the digits that the paper gives; empty where
        it gives none.
    rule : str
        "rounding": equal up to one unit of the last printed digit. "inside": the value here lies in
        the printed interval. "interval": the printed number lies in the interval here. "near": the
        interval here lies within `tolerance` of the printed number. "claim": the interval here
        lies on one `side` of `bound`. "identity": at most `tolerance` from 0. "beside": both are
        shown and not judged.
    tolerance, bound : float
        Of the rule.
    side : str
        "above" or "below", of a claim.
    """

    name: str
    printed: str = ""
    printed_low: str = ""
    printed_high: str = ""
    rule: str = "rounding"
    tolerance: float = math.nan
    side: str = ""
    bound: float = math.nan

    def verdict(self, outcome: Outcome) -> str:
        """The verdict about this number, one of `VERDICTS`."""
        if math.isnan(outcome.value) or self.rule == "beside":
            return OPEN
        return _RULES[self.rule](self, outcome)


def _judge_rounding(number: PrintedNumber, outcome: Outcome) -> str:
    pairs = (
        (number.printed, outcome.value),
        (number.printed_low, outcome.low),
        (number.printed_high, outcome.high),
    )
    for printed, value in pairs:
        if printed and not abs(value - float(printed)) < unit_of(printed) * (1 - _SPARE):
            return FAILS
    exact = all(
        abs(value - float(printed)) < _EQUAL * unit_of(printed)
        for printed, value in pairs
        if printed
    )
    return HOLDS if exact else ROUNDED


def unit_of(printed: str) -> float:
    """One unit of the last digit of a printed number.

    >>> unit_of("0.36"), unit_of("29825"), unit_of("-.27")
    (0.01, 1.0, 0.01)
    """
    return float(10.0 ** -len(printed.partition(".")[2]))


def _judge_inside(number: PrintedNumber, outcome: Outcome) -> str:
    low = float(number.printed_low)
    high = float(number.printed_high)
    return HOLDS if low <= outcome.value <= high else FAILS


def _judge_interval(number: PrintedNumber, outcome: Outcome) -> str:
    if outcome.low <= float(number.printed) <= outcome.high:
        return HOLDS
    return FAILS


def _judge_near(number: PrintedNumber, outcome: Outcome) -> str:
    target = float(number.printed)
    low = outcome.value if math.isnan(outcome.low) else outcome.low
    high = outcome.value if math.isnan(outcome.high) else outcome.high
    if target - number.tolerance <= low and high <= target + number.tolerance:
        return HOLDS
    if high < target - number.tolerance or low > target + number.tolerance:
        return FAILS
    return OPEN


def _judge_claim(number: PrintedNumber, outcome: Outcome) -> str:
    side = outcome.side or number.side
    bound = number.bound if math.isnan(outcome.bound) else outcome.bound
    low = outcome.value if math.isnan(outcome.low) else outcome.low
    high = outcome.value if math.isnan(outcome.high) else outcome.high
    if side == "below":
        # "at most" is "at least" of the negative
        low, high = -high, -low
        bound = -bound
    if low >= bound:
        return HOLDS
    return FAILS if high < bound else OPEN


def _judge_identity(number: PrintedNumber, outcome: Outcome) -> str:
    return HOLDS if abs(outcome.value) <= number.tolerance else FAILS


_RULES: Final = {
    "rounding": _judge_rounding,
    "inside": _judge_inside,
    "interval": _judge_interval,
    "near": _judge_near,
    "claim": _judge_claim,
    "identity": _judge_identity,
}


@dataclass(frozen=True)
class Item:
    """One numbered result of a paper.

    Attributes
    ----------
    paper, name : str
        First author, and the item's short name within the paper.
    kind : str
        "table", "figure", "theorem", "algorithm", "claim", "number" or "definition".
    place, title : str
        Where the paper has it, and what it is.
    printed : str
        What is printed, in words, where the numbers alone do not say it.
    numbers : tuple of PrintedNumber
        Its numbers; empty where nothing is computed.
    interval : str
        What the intervals are.
    why : str
        What a reader must know about the verdict.
    data : tuple of str
        Names of data sets in the catalogue, or words in parentheses.
    command : str
        What recomputes it; empty where `replication(run=True)` does.
    """

    paper: str
    name: str
    kind: str
    place: str
    title: str
    printed: str = ""
    numbers: tuple[PrintedNumber, ...] = ()
    interval: str = ""
    why: str = ""
    data: tuple[str, ...] = ()
    command: str = ""

    @property
    def key(self) -> str:
        """Paper and name, under which computations and records are kept."""
        return f"{self.paper}.{self.name}"

    @property
    def data_words(self) -> str:
        """The data: names of the catalogue, or words."""
        return ", ".join(name.strip("()") for name in self.data)

    @property
    def data_sets(self) -> tuple[DatasetDescription, ...]:
        """Descriptions of those of the data that the catalogue has."""
        result = []
        for name in self.data:
            if not name.startswith("("):
                result.append(entry(name).about)
        return tuple(result)

    @property
    def licence(self) -> str:
        """The licence of each data set of the catalogue, once each."""
        return "; ".join(dict.fromkeys(data_set.licence for data_set in self.data_sets))


def read_items(paper: str) -> tuple[Item, ...]:
    """The items of one paper, in its order."""
    folder = files("fairstats.report.replication").joinpath("papers")
    with folder.joinpath(f"{paper}.toml").open("rb") as stream:
        tables = tomllib.load(stream)["item"]
    return tuple(_make_item(paper, table) for table in tables)


def _make_item(paper: str, table: dict[str, Any]) -> Item:
    shared: dict[str, Any] = {}
    for name in ("rule", "tolerance", "side", "bound"):
        if name in table:
            shared[name] = table.pop(name)
    numbers = table.pop("numbers", {})
    data = tuple(table.pop("data", ()))
    made = tuple(_make_number(name, printed, shared) for name, printed in numbers.items())
    return Item(paper=paper, numbers=made, data=data, **table)


def _make_number(name: str, printed: Any, shared: Mapping[str, Any]) -> PrintedNumber:
    """From "0.36", ["0.36", "0.34", "0.39"], or a table of fields."""
    if isinstance(printed, str):
        return PrintedNumber(name, printed, **shared)
    if isinstance(printed, list):
        return PrintedNumber(name, *printed, **shared)
    return PrintedNumber(name, **{**shared, **printed})
