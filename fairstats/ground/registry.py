"""The registry: every rate and every metric that compares it between groups, once.

Public functions, worst-case bounds, the audit, its words, the cross-check and R derive from the tables in
``registry.toml``; R reads them as ``r/inst/metrics.json``, which ``python -m fairstats.ground.registry``
writes. A new metric is one entry of its rates, if its rate is new, and one of its metrics.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from fairstats.ground.formula import evaluate, shape_of

#: Cells of a confusion matrix, in the order of every count table.
CELLS = ("tp", "fp", "fn", "tn")
Contrast = Literal["ratio", "difference", "gap"]
_Entry = TypeVar("_Entry")
#: Contrast → how a metric's name ends.
ENDINGS: dict[Contrast, str] = {"ratio": "_ratio", "difference": "_difference", "gap": "_max"}


@dataclass(frozen=True)
class Rate:
    """A quantity of one group: a function of its cells.

    `formula`: arithmetic on the names of cells that Python and R both read (+ − * /, numbers, sqrt(…)), empty
    for a function of the user's; `case_words`: what its denominator counts, for messages; `favourable`: which
    value is to a group's advantage; `larger_is_better`: as a quality of the model, None for neither; `short`:
    in names of events; `low`, `high`: range; `no_bounds`: why missing values give no worst-case bounds.
    """

    name: str
    title: str
    formula: str
    case_words: str = "cells from which the metric and its variance can be computed"
    favourable: Literal["higher", "lower", "none"] = "none"
    larger_is_better: bool | None = None
    short: str = ""
    low: float = 0.0
    high: float = 1.0
    no_bounds: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "short", self.short or self.name)

    @property
    def successes(self) -> tuple[str, ...]:
        """Cells of the numerator, where the rate is successes among cases; else empty."""
        return shape_of(self.formula)[0]

    @property
    def cases(self) -> tuple[str, ...]:
        """Cells of the denominator, where the rate is successes among cases; else empty."""
        return shape_of(self.formula)[1]

    @property
    def parts(self) -> tuple[Rate, ...]:
        """The rates that this one is the mean of; empty for others."""
        return tuple(_named(text) for text in shape_of(self.formula)[2])

    @property
    def interval(self) -> Literal["score", "mover", "delta"]:
        """How its differences get their interval.

        "score" for successes among cases, "mover" for a mean of such (from their score intervals), "delta"
        for any other smooth function.
        """
        successes, _, parts = shape_of(self.formula)
        return "score" if successes else ("mover" if parts else "delta")

    def evaluate(self, cells: Mapping[str, Any]) -> Any:
        """Value at cell totals, numbers or arrays of one shape; 0/0 is NaN.

        Examples
        --------
        >>> from fairstats.ground.registry import RATES
        >>> print(RATES["tpr"].evaluate({"tp": 30, "fp": 10, "fn": 10, "tn": 50}))
        0.75
        """
        return evaluate(self.formula, cells)


@dataclass(frozen=True)
class Criterion:
    """A notion of fairness: rates that are to be equal in all groups.

    `rates`: keys of `RATES`; `short`: in names of events.
    """

    name: str
    title: str
    rates: tuple[str, ...]
    short: str


@dataclass(frozen=True)
class Metric:
    """A comparison of rates between groups.

    `rates`: keys of `RATES`, several stand in one family (none for a metric of scores); `contrast`: of
    each group to its reference, or the largest absolute difference between any two; `definition`: for the
    methods paragraph of a report; `references`: keys of the papers in `report/sections/words.toml`, or
    whole citations; `function`, `arguments`: the public function that computes it; `audit`: whether an
    audit shows it: always where the data allow, never, or only where nothing but labels is there;
    `components`: names of the rows where there are several rates, each an entry of its own.
    """

    name: str
    title: str
    rates: tuple[str, ...]
    contrast: Contrast
    definition: str
    references: tuple[str, ...] = ()
    function: str = "group_metric"
    arguments: tuple[tuple[str, Any], ...] = ()
    needs: tuple[str, ...] = ("predictions", "labels")
    audit: Literal["yes", "no", "labels only"] = "no"
    components: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.function == "group_metric" and not self.arguments:
            object.__setattr__(self, "arguments", (("metric", self.name),))

    @property
    def row_names(self) -> tuple[str, ...]:
        """Name of the rows of every rate."""
        return self.components or (self.name,) * max(len(self.rates), 1)


def _named(formula: str) -> Rate:
    """The rate of the registry with this formula, whatever the order of its sums."""
    wanted = [set(cells) for cells in shape_of(formula)[:2]]
    same = (r for r in RATES.values() if r.successes and [set(r.successes), set(r.cases)] == wanted)
    return next(same, Rate(formula, formula, formula, "cases"))


with Path(__file__).with_name("registry.toml").open("rb") as _stream:
    _TABLES = tomllib.load(_stream)


def _entries(kind: Callable[..., _Entry], table: str) -> dict[str, _Entry]:
    """Entries of a table by name; lists are tuples."""
    found = {}
    for name, said in _TABLES[table].items():
        said |= {"arguments": tuple(said["arguments"].items())} if "arguments" in said else {}
        found[name] = kind(name, **{k: tuple(v) if isinstance(v, list) else v for k, v in said.items()})
    return found


RATES = _entries(Rate, "rates")
#: Selection rate of a table that knows selected and not selected only.
SELECTED = replace(RATES["selection_rate"], formula="selected / (selected + not_selected)")
CRITERIA = _entries(Criterion, "criteria")
METRICS = _entries(Metric, "metrics")


def _gap(metric: Metric) -> Metric:
    """The largest absolute difference between any two groups, of the metric that has the signed ones."""
    return replace(
        metric,
        name=metric.name.removesuffix(ENDINGS["difference"]) + ENDINGS["gap"],
        title=f"{metric.title.split(':')[0]}: largest gap between any two groups",
        contrast="gap",
        definition=f"The largest absolute value over all pairs of groups of: {metric.definition}",
        references=tuple(dict.fromkeys((*metric.references, "hothorn"))),
        arguments=(("agg", "max"),) if metric.function != "group_metric" else (),
        audit="no",
        components=(),
    )


_COMPONENTS = {name for metric in METRICS.values() for name in metric.components}
for _metric in list(METRICS.values()):
    _shares = all(RATES[rate].interval != "delta" for rate in _metric.rates)
    if _metric.contrast == "difference" and _shares and _metric.name not in _COMPONENTS:
        METRICS.setdefault((_derived := _gap(_metric)).name, _derived)


def find_metric(name: str) -> Metric | None:
    """The metric of a name: an entry, or any rate or criterion with the ending of a contrast.

    `name`: "disparate_impact", "f1_difference", "npv_ratio", "predictive_equality_max", …. Returns Metric or
    None: None where there is no such metric.

    Examples
    --------
    >>> from fairstats.ground.registry import find_metric
    >>> find_metric("f1_ratio").rates
    ('f1',)
    """
    if name in METRICS:
        return METRICS[name]
    for contrast, ending in ENDINGS.items():
        stem = name.removesuffix(ending)
        if stem != name and stem in (*RATES, *CRITERIA):
            return derive_metric(stem, contrast)
    return None


def is_ratio(metric: str) -> bool:
    """Whether a metric is a ratio, whose changes are ratios, too."""
    known = find_metric(metric)
    return known is not None and known.contrast == "ratio"


def derive_metric(stem: str, contrast: Contrast) -> Metric:
    """The comparison of a rate or of a criterion's rates, in words made from theirs."""
    rates = CRITERIA[stem].rates if stem in CRITERIA else (stem,)
    title = CRITERIA[stem].title if stem in CRITERIA else RATES[stem].title
    words = {"ratio": "ratio", "difference": "difference", "gap": "largest gap"}[contrast]
    formulas = "; ".join(RATES[rate].formula for rate in rates)
    several = len(rates) > 1 and contrast != "gap"
    return Metric(
        stem + ENDINGS[contrast],
        f"{title[0].upper()}{title[1:]}: {words} between groups",
        rates,
        contrast,
        f"{words[0].upper()}{words[1:]} between groups of {formulas}.",
        components=tuple(rate + ENDINGS[contrast] for rate in rates) if several else (),
    )


def registry_json() -> str:
    """The tables as R reads them; what Python derives from a formula is spelt out, infinity is null."""
    rates = [
        {
            **asdict(rate),
            "high": rate.high if math.isfinite(rate.high) else None,
            "interval": rate.interval,
            "successes": rate.successes,
            "cases": rate.cases,
            "parts": [part.name for part in rate.parts],
        }
        for rate in RATES.values()
    ]
    metrics = [{**asdict(metric), "arguments": dict(metric.arguments)} for metric in METRICS.values()]
    tables = {"rates": rates, "criteria": [asdict(criterion) for criterion in CRITERIA.values()], "metrics": metrics}
    return json.dumps(tables, ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    path = Path(__file__).resolve().parents[2] / "r" / "inst" / "metrics.json"
    path.write_text(registry_json(), encoding="utf-8")
