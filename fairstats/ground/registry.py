"""The registry: every rate and every metric that compares it between groups, once.

Public functions, worst-case bounds, the audit, its words, the cross-check and R derive from the
tables in ``registry.toml``; R reads them as ``r/inst/metrics.json``, which ``python -m
fairstats.ground.registry`` writes. Formulas are text: arithmetic on the cells of a confusion matrix
that Python and R both read.
"""

from __future__ import annotations

import ast
import json
import math
import tomllib
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from types import CodeType
from typing import Any, Literal, TypeVar

import numpy as np

from fairstats.ground.errors import InputError

#: Cells of a confusion matrix, in the order of every count table.
CELLS = ("tp", "fp", "fn", "tn")
Contrast = Literal["ratio", "difference", "odds_ratio", "gap"]
_Entry = TypeVar("_Entry")
#: Contrast → how a metric's name ends.
ENDINGS: dict[Contrast, str] = {
    "ratio": "_ratio",
    "difference": "_difference",
    "odds_ratio": "_odds_ratio",
    "gap": "_max",
}
#: Contrast → what it is called.
CONTRAST_WORDS: dict[Contrast, str] = {
    "ratio": "ratio",
    "difference": "difference",
    "odds_ratio": "odds ratio",
    "gap": "largest gap",
}
#: All that a formula may call; without builtins there is nothing else to reach.
_ALLOWED_FUNCTIONS: dict[str, Any] = {"__builtins__": {}, "sqrt": np.sqrt}


def evaluate(formula: str, cells: Mapping[str, Any]) -> Any:
    """Value of a formula (+ - * /, numbers, sqrt, cells) at cell totals, numbers or arrays of one
    shape; 0/0 is NaN.
    """
    compiled_code, names = _compile_formula(formula)
    if names - set(cells):
        raise InputError("formula", got=formula, allowed=f"the cells {', '.join(cells)}")
    arrays = {name: np.asarray(cells[name]) for name in names}
    values = {}
    for name, cell_totals in arrays.items():
        values[name] = (
            cell_totals if cell_totals.dtype.kind in "fc" else cell_totals.astype(np.float64)
        )[()]
    with np.errstate(divide="ignore", invalid="ignore"):
        return eval(compiled_code, _ALLOWED_FUNCTIONS, values)  # noqa: S307 only arithmetic on cells passes `_check_arithmetic`


def as_function(formula: str, cells: Sequence[str]) -> Callable[..., Any]:
    """The formula as a function of float arrays of these cells, for who evaluates it many times."""
    compiled_code, _ = _compile_formula(formula)

    def function(*values: Any) -> Any:
        return eval(compiled_code, _ALLOWED_FUNCTIONS, dict(zip(cells, values, strict=True)))  # noqa: S307 as in `evaluate`

    return function


@lru_cache(maxsize=256)
def _parse_formula(formula: str) -> ast.expr:
    return ast.parse(formula, mode="eval").body


@lru_cache(maxsize=256)
def _compile_formula(formula: str) -> tuple[CodeType, frozenset[str]]:
    """Code of a formula, and the names of the cells in it."""
    formula_node = _parse_formula(formula)
    _check_arithmetic(formula_node)
    names = {
        inner_node.id for inner_node in ast.walk(formula_node) if isinstance(inner_node, ast.Name)
    } - {"sqrt"}
    return compile(ast.Expression(formula_node), "<formula>", "eval"), frozenset(names)


def _check_arithmetic(formula_node: ast.expr) -> None:
    """Raise unless a formula is arithmetic and nothing else: no attribute, no other call."""
    match formula_node:
        case ast.Name() | ast.Constant(value=int() | float()):
            return
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div(), right=right):
            _check_arithmetic(left)
            _check_arithmetic(right)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            _check_arithmetic(operand)
        case ast.Call(func=ast.Name(id="sqrt"), args=[argument], keywords=[]):
            _check_arithmetic(argument)
        case _:
            allowed = "+ - * /, numbers, sqrt(…) and names of cells"
            raise InputError("formula", got=ast.unparse(formula_node), allowed=allowed)


@lru_cache(maxsize=256)
def shape_of(formula: str) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Cells of successes and of cases, and the formulas (of different rows) that this is the mean
    of, or nothing.
    """
    if not formula:
        return (), (), ()
    formula_node = _parse_formula(formula)
    success_cells, case_cells = _cells_of_proportion(formula_node)
    if (
        success_cells
        or not isinstance(formula_node, ast.BinOp)
        or not isinstance(formula_node.op, ast.Div)
    ):
        return success_cells, case_cells, ()
    sum_terms = _terms_of_sum(formula_node.left)
    is_mean = isinstance(formula_node.right, ast.Constant) and formula_node.right.value == len(
        sum_terms
    )
    counted_cells = []
    for sum_term in sum_terms:
        for cell_name in _cells_of_proportion(sum_term)[1]:
            counted_cells.append(cell_name)
    # parts that share a cell are not independent
    is_disjoint = len(counted_cells) == len(set(counted_cells))
    is_mean_of_proportions = (
        is_mean and is_disjoint and all(_cells_of_proportion(sum_term)[0] for sum_term in sum_terms)
    )
    return (), (), tuple(map(ast.unparse, sum_terms)) if is_mean_of_proportions else ()


def _cells_of_proportion(formula_node: ast.expr) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Cells of numerator and denominator of a quotient of sums of cells, the one among the
    other.
    """
    if isinstance(formula_node, ast.BinOp) and isinstance(formula_node.op, ast.Div):
        numerator_cells = _cells_of_sum(formula_node.left)
        denominator_cells = _cells_of_sum(formula_node.right)
        if numerator_cells and set(numerator_cells) < set(denominator_cells):
            return numerator_cells, denominator_cells
    return (), ()


def _cells_of_sum(formula_node: ast.expr) -> tuple[str, ...]:
    """Names of the cells of a sum; none where a term is anything else."""
    cells = []
    for term in _terms_of_sum(formula_node):
        if not isinstance(term, ast.Name):
            return ()
        cells.append(term.id)
    return tuple(cells)


def _terms_of_sum(formula_node: ast.expr) -> list[ast.expr]:
    """Terms of a sum."""
    if isinstance(formula_node, ast.BinOp) and isinstance(formula_node.op, ast.Add):
        return [*_terms_of_sum(formula_node.left), *_terms_of_sum(formula_node.right)]
    return [formula_node]


class Title(str):
    """A heading ``"label: quantity"``: what it is called, and what is measured; or a label alone.

    >>> title = Title("MADD: distance between the score distributions")
    >>> title.label, title.quantity
    ('MADD', 'distance between the score distributions')
    >>> Title("Threshold").label, Title("Threshold").quantity
    ('Threshold', '')
    """

    __slots__ = ()

    @property
    def label(self) -> str:
        """What it is called in few words."""
        return self.partition(":")[0]

    @property
    def quantity(self) -> str:
        """What is measured; empty where the title is a label alone."""
        return self.partition(":")[2].strip()


@dataclass(frozen=True)
class Rate:
    """A quantity of one group: a function of its cells.

    `formula`: empty for a function of the user's; `case_words`: what its denominator counts, for
    messages; `favourable`: which value is to a group's advantage; `larger_is_better`: as a quality
    of the model, None for neither; `short`: in names of events; `no_bounds`: why missing values
    give no worst-case bounds.
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
        return tuple(_rate_of_formula(part_formula) for part_formula in shape_of(self.formula)[2])

    @property
    def interval(self) -> Literal["score", "mover", "delta"]:
        """Of its differences: "score" for successes among cases, "mover" for a mean of such,
        "delta" for others.
        """
        success_cells, _, part_formulas = shape_of(self.formula)
        if success_cells:
            return "score"
        return "mover" if part_formulas else "delta"

    def function_of(self, cells: Sequence[str]) -> Callable[..., Any]:
        """The rate as a function of float arrays of these cells."""
        return as_function(self.formula, cells)

    def evaluate(self, cells: Mapping[str, Any]) -> Any:
        """Value at cell totals, numbers or arrays of one shape; 0/0 is NaN."""
        return evaluate(self.formula, cells)


@dataclass(frozen=True)
class Criterion:
    """A notion of fairness: rates (keys of `RATES`) that are to be equal in all groups; `short`: in
    names of events.
    """

    name: str
    title: str
    rates: tuple[str, ...]
    short: str


@dataclass(frozen=True)
class Metric:
    """A comparison of rates between groups.

    `rates`: keys of `RATES`, several stand in one family (none for a metric of scores); `contrast`:
    of each group to its reference, or the largest between any two; `definition`, `references`: for
    the methods paragraph of a report, keys of `report/references.py` or whole citations;
    `function`, `arguments`: what computes it; `audit`: whether an audit shows it; `components`:
    names of the rows of several rates, each an entry of its own.
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
    def label(self) -> str:
        """What it is called in few words: its title up to the colon."""
        return Title(self.title).label

    @property
    def row_names(self) -> tuple[str, ...]:
        """Name of the rows of every rate."""
        return self.components or (self.name,) * max(len(self.rates), 1)


@lru_cache(maxsize=256)
def _rate_of_formula(formula: str) -> Rate:
    """The rate of the registry with this formula, whatever the order of its sums."""
    wanted_cells = [set(cells) for cells in shape_of(formula)[:2]]
    matching_rates = (
        each_rate
        for each_rate in RATES.values()
        if each_rate.successes and [set(each_rate.successes), set(each_rate.cases)] == wanted_cells
    )
    return next(
        matching_rates, Rate(name=formula, title=formula, formula=formula, case_words="cases")
    )


with Path(__file__).with_name("registry.toml").open("rb") as _stream:
    _TABLES = tomllib.load(_stream)


def _registry_entries(kind: Callable[..., _Entry], table: str) -> dict[str, _Entry]:
    """Entries of a table by name; lists are tuples."""
    entries_by_name = {}
    for name, entry_fields in _TABLES[table].items():
        entry_fields |= (
            {"arguments": tuple(entry_fields["arguments"].items())}
            if "arguments" in entry_fields
            else {}
        )
        entries_by_name[name] = kind(
            name,
            **{
                field_name: tuple(field_value) if isinstance(field_value, list) else field_value
                for field_name, field_value in entry_fields.items()
            },
        )
    return entries_by_name


RATES = _registry_entries(Rate, "rates")
#: Selection rate of a table that knows selected and not selected only.
SELECTED = replace(RATES["selection_rate"], formula="selected / (selected + not_selected)")
CRITERIA = _registry_entries(Criterion, "criteria")
METRICS = _registry_entries(Metric, "metrics")


def _largest_gap_metric(metric: Metric) -> Metric:
    """The largest absolute difference between any two groups, of the metric that has the signed
    ones.
    """
    return replace(
        metric,
        name=metric.name.removesuffix(ENDINGS["difference"]) + ENDINGS["gap"],
        contrast="gap",
        audit="no",
        title=f"{metric.label}: largest gap between any two groups",
        components=(),
        definition=f"The largest absolute value over all pairs of groups of: {metric.definition}",
        references=tuple(dict.fromkeys((*metric.references, "hothorn"))),
        arguments=(("agg", "max"),) if metric.function != "group_metric" else (),
    )


_COMPONENTS = {name for metric in METRICS.values() for name in metric.components}
for _metric in list(METRICS.values()):
    _shares = all(RATES[rate].interval != "delta" for rate in _metric.rates)
    if _metric.contrast == "difference" and _shares and _metric.name not in _COMPONENTS:
        METRICS.setdefault((_derived := _largest_gap_metric(_metric)).name, _derived)


def find_metric(name: str) -> Metric | None:
    """The metric of a name, None where there is none.

    An entry, or any rate or criterion with a contrast's ending.
    """
    if name in METRICS:
        return METRICS[name]
    for contrast, ending in ENDINGS.items():
        name_stem = name.removesuffix(ending)
        if name_stem != name and name_stem in (*RATES, *CRITERIA):
            return derive_metric(name_stem, contrast)
    return None


def same_question(rate: Rate) -> Hashable:
    """What a rate and its complement share: the cases, and how they are divided."""
    if not rate.successes:
        return rate.name
    successes = frozenset(rate.successes)
    cases = frozenset(rate.cases)
    return cases, frozenset((successes, cases - successes))


@lru_cache(maxsize=64)
def rates_of_largest_family(name: str) -> int:
    """Rates of the largest family that a rate of the registry, or its complement, stands in.

    Two of those of equalised odds, one of any other.

    >>> rates_of_largest_family("fpr"), rates_of_largest_family("selection_rate")
    (2, 1)
    """
    largest = 1
    if name not in RATES:
        return largest
    question = same_question(RATES[name])
    for metric in METRICS.values():
        asked = [same_question(RATES[rate]) for rate in metric.rates if rate in RATES]
        if question in asked:
            largest = max(largest, len(asked))
    return largest


def with_class(name: str, label: str) -> str:
    """Name of the rows of a metric in one class, cut or mean of classes: "disparate_impact[high]"."""
    return f"{name}[{label}]"


def class_of(name: str) -> str:
    """The class in the name of a row; empty where it has none.

    >>> class_of("disparate_impact[high]"), class_of("disparate_impact")
    ('high', '')
    """
    return name.partition("[")[2].removesuffix("]")


def without_class(name: str) -> str:
    """The name of a metric without that of a class."""
    return name.partition("[")[0]


def of_all_classes(name: str) -> str:
    """The name of a row of one class with that of the class left open: "disparate_impact[]"."""
    return with_class(without_class(name), "") if "[" in name else name


def is_ratio(metric: str) -> bool:
    """Whether a metric is a ratio, whose changes are ratios, too."""
    found_metric = find_metric(metric)
    return found_metric is not None and found_metric.contrast == "ratio"


@lru_cache(maxsize=256)
def derive_metric(stem: str, contrast: Contrast) -> Metric:
    """The comparison of a rate or of a criterion's rates, in words made from theirs."""
    if stem in CRITERIA:
        rates = CRITERIA[stem].rates
        title = CRITERIA[stem].title
    else:
        rates = (stem,)
        title = RATES[stem].title
    contrast_words = CONTRAST_WORDS[contrast]
    formulas = "; ".join(RATES[rate_name].formula for rate_name in rates)
    has_components = len(rates) > 1 and contrast != "gap"
    return Metric(
        stem + ENDINGS[contrast],
        f"{title[0].upper()}{title[1:]}: {contrast_words} between groups",
        rates,
        contrast,
        f"{contrast_words[0].upper()}{contrast_words[1:]} between groups of {formulas}.",
        components=tuple(rate_name + ENDINGS[contrast] for rate_name in rates)
        if has_components
        else (),
    )


def registry_json() -> str:
    """The tables as R reads them.

    What Python derives from a formula is spelt out, infinity is null.
    """
    rates = []
    for each_rate in RATES.values():
        if math.isfinite(each_rate.high):
            upper_end = each_rate.high
        else:
            upper_end = None
        part_names = [part_rate.name for part_rate in each_rate.parts]
        derived_fields = {
            "interval": each_rate.interval,
            "successes": each_rate.successes,
            "cases": each_rate.cases,
            "parts": part_names,
        }
        rates.append({**asdict(each_rate), "high": upper_end, **derived_fields})
    metrics = []
    for metric in METRICS.values():
        metrics.append({**asdict(metric), "arguments": dict(metric.arguments)})
    tables = {
        "rates": rates,
        "criteria": [asdict(criterion) for criterion in CRITERIA.values()],
        "metrics": metrics,
    }
    return json.dumps(tables, ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    from fairstats.ground.writing import JSON, write_file

    path = Path(__file__).resolve().parents[2] / "r" / "inst" / "metrics.json"
    write_file(path, registry_json(), JSON)
