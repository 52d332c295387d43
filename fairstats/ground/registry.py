"""The registry: every rate and every metric that compares it between groups, once.

Public functions, worst-case bounds, the audit, its words, the cross-check and R derive from the tables in
``registry.toml``; R reads them as ``r/inst/metrics.json``, which ``python -m fairstats.ground.registry`` writes.
Formulas are text: arithmetic on the cells of a confusion matrix that Python and R both read.
"""

from __future__ import annotations

import ast
import json
import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from types import CodeType
from typing import Any, Literal, TypeVar

import numpy as np

from fairstats.ground.errors import InputError

#: Cells of a confusion matrix, in the order of every count table.
CELLS = ("tp", "fp", "fn", "tn")
Contrast = Literal["ratio", "difference", "gap"]
_Entry = TypeVar("_Entry")
#: Contrast → how a metric's name ends.
ENDINGS: dict[Contrast, str] = {"ratio": "_ratio", "difference": "_difference", "gap": "_max"}
#: All that a formula may call; without builtins there is nothing else to reach.
_FUNCTIONS: dict[str, Any] = {"__builtins__": {}, "sqrt": np.sqrt}


def evaluate(formula: str, cells: Mapping[str, Any]) -> Any:
    """Value of a formula (+ - * /, numbers, sqrt, cells) at cell totals, numbers or arrays of one shape; 0/0 is NaN."""
    code, names = _compiled(formula)
    if names - set(cells):
        raise InputError("formula", got=formula, allowed=f"the cells {', '.join(cells)}")
    arrays = {name: np.asarray(cells[name]) for name in names}
    values = {name: (x if x.dtype.kind in "fc" else x.astype(np.float64))[()] for name, x in arrays.items()}
    with np.errstate(divide="ignore", invalid="ignore"):
        return eval(code, _FUNCTIONS, values)  # noqa: S307 only arithmetic on cells passes `_check`


def as_function(formula: str, cells: Sequence[str]) -> Callable[..., Any]:
    """The formula as a function of float arrays of these cells, for who evaluates it many times."""
    code, _ = _compiled(formula)

    def function(*values: Any) -> Any:
        return eval(code, _FUNCTIONS, dict(zip(cells, values, strict=True)))  # noqa: S307 as in `evaluate`

    return function


@lru_cache(maxsize=256)
def _parse(formula: str) -> ast.expr:
    return ast.parse(formula, mode="eval").body


@lru_cache(maxsize=256)
def _compiled(formula: str) -> tuple[CodeType, frozenset[str]]:
    """Code of a formula, and the names of the cells in it."""
    node = _parse(formula)
    _check(node)
    names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)} - {"sqrt"}
    return compile(ast.Expression(node), "<formula>", "eval"), frozenset(names)


def _check(node: ast.expr) -> None:
    """Raise unless a formula is arithmetic and nothing else: no attribute, no other call."""
    match node:
        case ast.Name() | ast.Constant(value=int() | float()):
            return
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div(), right=right):
            _check(left)
            _check(right)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            _check(operand)
        case ast.Call(func=ast.Name(id="sqrt"), args=[argument], keywords=[]):
            _check(argument)
        case _:
            allowed = "+ - * /, numbers, sqrt(…) and names of cells"
            raise InputError("formula", got=ast.unparse(node), allowed=allowed)


@lru_cache(maxsize=256)
def shape_of(formula: str) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Cells of successes and of cases, and the formulas (of different rows) that this is the mean of, or nothing."""
    if not formula:
        return (), (), ()
    node = _parse(formula)
    successes, cases = _proportion(node)
    if successes or not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Div):
        return successes, cases, ()
    terms = _terms(node.left)
    mean = isinstance(node.right, ast.Constant) and node.right.value == len(terms)
    counted = [cell for term in terms for cell in _proportion(term)[1]]
    disjoint = len(counted) == len(set(counted))  # else the parts are not independent
    whole = mean and disjoint and all(_proportion(term)[0] for term in terms)
    return (), (), tuple(map(ast.unparse, terms)) if whole else ()


def _proportion(node: ast.expr) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Cells of numerator and denominator of a quotient of sums of cells, the one among the other."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        sides = _terms(node.left), _terms(node.right)
        top, bottom = (tuple(t.id for t in side if isinstance(t, ast.Name)) for side in sides)
        if (len(top), len(bottom)) == (len(sides[0]), len(sides[1])) and set(top) < set(bottom):
            return top, bottom
    return (), ()


def _terms(node: ast.expr) -> list[ast.expr]:
    """Terms of a sum."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return [*_terms(node.left), *_terms(node.right)]
    return [node]


@dataclass(frozen=True)
class Rate:
    """A quantity of one group: a function of its cells.

    `formula`: empty for a function of the user's; `case_words`: what its denominator counts, for messages;
    `favourable`: which value is to a group's advantage; `larger_is_better`: as a quality of the model, None for
    neither; `short`: in names of events; `no_bounds`: why missing values give no worst-case bounds.
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
        """Cells of the numerator, where the rate is successes among cases; else none."""
        return shape_of(self.formula)[0]

    @property
    def cases(self) -> tuple[str, ...]:
        """Cells of the denominator, where the rate is successes among cases; else none."""
        return shape_of(self.formula)[1]

    @property
    def parts(self) -> tuple[Rate, ...]:
        """The rates that this one is the mean of; empty for others."""
        return tuple(_named(text) for text in shape_of(self.formula)[2])

    @property
    def interval(self) -> Literal["score", "mover", "delta"]:
        """Of its differences: "score" for successes among cases, "mover" for a mean of such, "delta" for others."""
        successes, _, parts = shape_of(self.formula)
        return "score" if successes else ("mover" if parts else "delta")

    def evaluate(self, cells: Mapping[str, Any]) -> Any:
        """Value at cell totals, numbers or arrays of one shape; 0/0 is NaN."""
        return evaluate(self.formula, cells)


@dataclass(frozen=True)
class Criterion:
    """A notion of fairness: rates (keys of `RATES`) that are to be equal in all groups; `short`: in names of events."""

    name: str
    title: str
    rates: tuple[str, ...]
    short: str


@dataclass(frozen=True)
class Metric:
    """A comparison of rates between groups.

    `rates`: keys of `RATES`, several stand in one family (none for a metric of scores); `contrast`: of each group to
    its reference, or the largest between any two; `definition`, `references`: for the methods paragraph of a report,
    keys of `report/sections/words.toml` or whole citations; `function`, `arguments`: what computes it; `audit`:
    whether an audit shows it; `components`: names of the rows of several rates, each an entry of its own.
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
        metric, name=metric.name.removesuffix(ENDINGS["difference"]) + ENDINGS["gap"], contrast="gap", audit="no",
        title=f"{metric.title.split(':')[0]}: largest gap between any two groups", components=(),
        definition=f"The largest absolute value over all pairs of groups of: {metric.definition}",
        references=tuple(dict.fromkeys((*metric.references, "hothorn"))),
        arguments=(("agg", "max"),) if metric.function != "group_metric" else (),
    )  # fmt: skip


_COMPONENTS = {name for metric in METRICS.values() for name in metric.components}
for _metric in list(METRICS.values()):
    _shares = all(RATES[rate].interval != "delta" for rate in _metric.rates)
    if _metric.contrast == "difference" and _shares and _metric.name not in _COMPONENTS:
        METRICS.setdefault((_derived := _gap(_metric)).name, _derived)


def find_metric(name: str) -> Metric | None:
    """The metric of a name, None where there is none: an entry, or any rate or criterion with a contrast's ending."""
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
    rates, title = (CRITERIA[stem].rates, CRITERIA[stem].title) if stem in CRITERIA else ((stem,), RATES[stem].title)
    words = {"ratio": "ratio", "difference": "difference", "gap": "largest gap"}[contrast]
    formulas = "; ".join(RATES[rate].formula for rate in rates)
    several = len(rates) > 1 and contrast != "gap"
    return Metric(
        stem + ENDINGS[contrast], f"{title[0].upper()}{title[1:]}: {words} between groups", rates, contrast,
        f"{words[0].upper()}{words[1:]} between groups of {formulas}.",
        components=tuple(rate + ENDINGS[contrast] for rate in rates) if several else (),
    )  # fmt: skip


def registry_json() -> str:
    """The tables as R reads them; what Python derives from a formula is spelt out, infinity is null."""
    rates = []
    for rate in RATES.values():
        high, parts = rate.high if math.isfinite(rate.high) else None, [part.name for part in rate.parts]
        derived = {"interval": rate.interval, "successes": rate.successes, "cases": rate.cases, "parts": parts}
        rates.append({**asdict(rate), "high": high, **derived})
    metrics = [{**asdict(metric), "arguments": dict(metric.arguments)} for metric in METRICS.values()]
    tables = {"rates": rates, "criteria": [asdict(criterion) for criterion in CRITERIA.values()], "metrics": metrics}
    return json.dumps(tables, ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    from fairstats.ground.writing import JSON, write_file

    path = Path(__file__).resolve().parents[2] / "r" / "inst" / "metrics.json"
    write_file(path, registry_json(), JSON)
