"""Rates of several classes: of one class against the rest, of a cut of ordered ones, their mean.

Each counts cells of the J × J table of labels and predictions: the question of a rate of two labels
with some of the classes as the favourable ones, asked of one table, so that all of them have their
joint covariance there. The mean over classes of rates whose cases do not overlap, as true positive
rates, is a mean of independent proportions; of others it is a smooth function of the cells.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.errors import InputError
from fairstats.ground.registry import CELLS, SELECTED, Rate, as_function
from fairstats.ground.tallies.classes import ClassCounts, places_of_cells

#: How several classes are asked about.
Kind: TypeAlias = Literal["one-vs-rest", "macro", "ordered"]
KINDS: tuple[Kind, ...] = ("one-vs-rest", "macro", "ordered")
#: Rates whose mean over classes is 1/J in every group, whatever is predicted.
_CONSTANT = ("selection_rate", "base_rate")
_SELECTIONS = ("selected", "not_selected")
#: What `case_words` of two labels say of the label or prediction → what they say of a class.
_WORDS = {
    "a favourable label": "the label {0}",
    "an unfavourable label": "another label than {0}",
    "a favourable prediction": "the prediction {0}",
    "an unfavourable prediction": "another prediction than {0}",
    "both labels": "the label {0} and of others",
}


class Event(NamedTuple):
    """A class, or all from a cut on: how it is named, and the positions of its classes."""

    label: str
    positions: tuple[int, ...]


def events_of(counts: ClassCounts, kind: Kind) -> list[Event]:
    """Every class by itself, or of ordered ones all from each but the first on.

    Raises
    ------
    InputError
        For cuts of classes without an order.
    """
    classes = counts.classes
    if kind != "ordered":
        return [Event(name, (place,)) for place, name in enumerate(classes)]
    if not counts.ordered:
        raise InputError(
            "classes",
            got=f"'ordered' of {', '.join(classes)}, whose order is not known",
            allowed="classes that are numbers, ordered categories, or declared in their order",
            cure=f"label_values={list(classes)!r}, in the order that they have",
        )
    events = []
    for cut in range(1, len(classes)):
        events.append(Event(f"from {classes[cut]} on", tuple(range(cut, len(classes)))))
    return events


@dataclass(frozen=True)
class ClassRate(Rate):
    """A rate that counts cells of several classes.

    `of_rate`: the name of the rate of two labels; `label`: its class, or cut, and `positions` of
    the classes; empty of a mean over classes; `success_cells`, `case_cells`: of successes among
    cases; `mean_of`: the rates that it is the mean of; `smooth`: of others, the function of all
    cells; `name_in_r`: what R knows it by.
    """

    of_rate: str = ""
    label: str = ""
    positions: tuple[int, ...] = ()
    success_cells: tuple[str, ...] = ()
    case_cells: tuple[str, ...] = ()
    mean_of: tuple[Rate, ...] = ()
    smooth: Callable[..., Any] | None = None
    name_in_r: str = ""

    @property
    def successes(self) -> tuple[str, ...]:
        """Cells of the numerator."""
        return self.success_cells

    @property
    def cases(self) -> tuple[str, ...]:
        """Cells of the denominator."""
        return self.case_cells

    @property
    def parts(self) -> tuple[Rate, ...]:
        """The rates that this one is the mean of."""
        return self.mean_of

    @property
    def interval(self) -> Literal["score", "mover", "delta"]:
        """Of its differences."""
        if self.success_cells:
            return "score"
        return "mover" if self.mean_of else "delta"

    def function_of(self, cells: Sequence[str]) -> Callable[..., Any]:
        """The rate as a function of arrays of all cells."""
        if self.smooth is None:
            raise TypeError(f"{self.name} is no smooth function")
        return self.smooth


def rates_of_classes(
    counts: ClassCounts,
    rates: Sequence[Rate],
    kind: Kind,
    function: Callable[..., Any] | None = None,
) -> list[ClassRate]:
    """Every rate of every class or cut, or its mean over classes; `function`: of the cells of two
    labels, in place of the formula of a rate.
    """
    events = events_of(counts, kind)
    result = []
    for rate in rates:
        of_events = [rate_of_event(counts, rate, event, function) for event in events]
        if kind == "macro":
            result.append(_mean_over_classes(counts, rate, of_events))
        else:
            result.extend(of_events)
    return result


def rate_of_event(
    counts: ClassCounts,
    rate: Rate,
    event: Event,
    function: Callable[..., Any] | None = None,
) -> ClassRate:
    """The rate of two labels, with the classes of an event as the favourable ones."""
    place = places_of_cells(len(counts.classes), event.positions, labelled=counts.labelled)
    cells_of_two: tuple[str, ...] = CELLS
    counted = rate
    if not counts.labelled:
        cells_of_two = _SELECTIONS
        counted = SELECTED
    case_words = rate.case_words
    for of_two, of_class in _WORDS.items():
        case_words = case_words.replace(of_two, of_class.format(event.label))
    words: dict[str, Any] = {
        "name": f"{rate.name} of {event.label}",
        "title": f"{rate.title} of {event.label}",
        "case_words": case_words,
        "of_rate": rate.name,
        "label": event.label,
        "positions": event.positions,
        "name_in_r": _name_in_r(counts, rate, event.positions),
    }
    if function is None and counted.successes:
        return ClassRate(
            formula="",
            success_cells=_cells_at(counts, place, cells_of_two, counted.successes),
            case_cells=_cells_at(counts, place, cells_of_two, counted.cases),
            larger_is_better=rate.larger_is_better,
            **words,
        )
    if function is None and rate.parts:
        parts = tuple(rate_of_event(counts, part, event) for part in rate.parts)
        return ClassRate(formula="", mean_of=parts, **words)
    of_cells = function or as_function(rate.formula, CELLS)
    sums = np.eye(len(cells_of_two))[place].T

    def smooth(*totals: Any) -> Any:
        return of_cells(*(sums @ np.array(totals, dtype=np.float64)))

    return ClassRate(formula="", smooth=smooth, low=rate.low, high=rate.high, **words)


def _name_in_r(counts: ClassCounts, rate: Rate, positions: Sequence[int]) -> str:
    """The rate, its favourable classes by their positions from 1, and the number of classes:
    "tpr@2+3/3"; of a mean "tpr@mean/3".
    """
    classes = "+".join(str(position + 1) for position in positions) or "mean"
    return f"{rate.name}@{classes}/{len(counts.classes)}"


def _cells_at(
    counts: ClassCounts,
    place: NDArray[np.intp],
    cells_of_two: Sequence[str],
    wanted: Sequence[str],
) -> tuple[str, ...]:
    """The cells of several classes that lie in some of those of two labels."""
    wanted_places = [cells_of_two.index(cell) for cell in wanted]
    result = []
    for cell, cell_place in zip(counts.cells, place.tolist(), strict=True):
        if cell_place in wanted_places:
            result.append(cell)
    return tuple(result)


def _mean_over_classes(
    counts: ClassCounts, rate: Rate, of_classes: Sequence[ClassRate]
) -> ClassRate:
    """The mean of a rate over all classes; of accuracy the share of right predictions."""
    if rate.name in _CONSTANT:
        raise InputError(
            "classes",
            got=f"'macro' of the {rate.title}",
            allowed=f"rates that differ: this mean is 1/{len(of_classes)} in every group",
            cure='classes="one-vs-rest"',
        )
    words: dict[str, Any] = {
        "name": f"mean of {rate.name}",
        "of_rate": rate.name,
        "name_in_r": _name_in_r(counts, rate, ()),
    }
    if rate.name == "accuracy":
        n_classes = len(counts.classes)
        diagonal = tuple(counts.cells[:: n_classes + 1])
        return ClassRate(
            title="share of right predictions",
            formula="",
            case_words="rows",
            success_cells=diagonal,
            case_cells=counts.cells,
            **words,
        )
    words["title"] = f"mean over classes of the {rate.title}"
    all_cases: list[str] = []
    for of_class in of_classes:
        all_cases.extend(of_class.cases)
    # else the parts are not independent
    disjoint = bool(all_cases) and len(all_cases) == len(set(all_cases))
    if disjoint:
        return ClassRate(
            formula="", case_words="rows of every class", mean_of=tuple(of_classes), **words
        )
    smooth_parts = [_as_smooth(counts, of_class) for of_class in of_classes]

    def smooth(*totals: Any) -> Any:
        return sum(part(*totals) for part in smooth_parts) / len(smooth_parts)

    return ClassRate(formula="", smooth=smooth, low=rate.low, high=rate.high, **words)


def _as_smooth(counts: ClassCounts, rate: Rate) -> Callable[..., Any]:
    """Any rate as a function of arrays of all cells."""
    if isinstance(rate, ClassRate) and rate.smooth is not None:
        return rate.smooth
    if rate.parts:
        parts = [_as_smooth(counts, part) for part in rate.parts]
        return lambda *totals: sum(part(*totals) for part in parts) / len(parts)
    successes = [counts.cells.index(cell) for cell in rate.successes]
    cases = [counts.cells.index(cell) for cell in rate.cases]

    def proportion(*totals: Any) -> Any:
        return sum(totals[cell] for cell in successes) / sum(totals[cell] for cell in cases)

    return proportion
