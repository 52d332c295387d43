"""Formulas of rates as text: arithmetic on the cells of a confusion matrix that Python and R both read."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import CodeType
from typing import Any

import numpy as np

from fairstats.ground.errors import InputError


def evaluate(formula: str, cells: Mapping[str, Any]) -> Any:
    """Value of a formula at cell totals, numbers or arrays of one shape; 0/0 is NaN.

    `formula`: + - * /, numbers, sqrt(…) and the names of cells; anything else is an error.

    Examples
    --------
    >>> from fairstats.ground.formula import evaluate
    >>> print(evaluate("tp / (tp + fn)", {"tp": 30, "fn": 10}))
    0.75
    """
    code, names = _compiled(formula)
    lacking = names - set(cells)
    if lacking:
        raise InputError("formula", got=formula, allowed=f"the cells {', '.join(cells)}")
    values = {name: _as_float(cells[name]) for name in names}
    with np.errstate(divide="ignore", invalid="ignore"):
        return eval(code, _FUNCTIONS, values)  # noqa: S307 only arithmetic on cells passes `_check`


def as_function(formula: str, cells: Sequence[str]) -> Callable[..., Any]:
    """The formula as a function of float arrays of these cells, for who evaluates it many times."""
    code, _ = _compiled(formula)

    def function(*values: Any) -> Any:
        return eval(code, _FUNCTIONS, dict(zip(cells, values, strict=True)))  # noqa: S307 as in `evaluate`

    return function


#: All that a formula may call; without builtins there is nothing else to reach.
_FUNCTIONS: dict[str, Any] = {"__builtins__": {}, "sqrt": np.sqrt}


def _as_float(value: Any) -> Any:
    array = np.asarray(value)
    return (array if array.dtype.kind in "fc" else array.astype(np.float64))[()]


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
    """Cells of successes and of cases, and the formulas that this one is the mean of; empty where not so.

    The terms of a mean rest on different rows.

    Examples
    --------
    >>> from fairstats.ground.formula import shape_of
    >>> shape_of("tp / (tp + fn)")
    (('tp',), ('tp', 'fn'), ())
    >>> shape_of("(tp / (tp + fn) + tn / (tn + fp)) / 2")
    ((), (), ('tp / (tp + fn)', 'tn / (tn + fp)'))
    """
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
    if mean and disjoint and all(_proportion(term)[0] for term in terms):
        return (), (), tuple(ast.unparse(term) for term in terms)
    return (), (), ()


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
