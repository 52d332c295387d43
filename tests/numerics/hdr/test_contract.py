"""A back end has the functions of the contract, with its argument names and return types."""

from __future__ import annotations

import importlib
import importlib.util
import inspect

import pytest

from fairstats.numerics.hdr.grids import Kernel

PACKAGE = "fairstats.numerics.hdr"
BACK_ENDS = [
    name for name in ("scipy_backend", "r_backend") if importlib.util.find_spec(f"{PACKAGE}.{name}")
]
FUNCTIONS = [
    name for name, member in vars(Kernel).items() if inspect.isfunction(member) and name[0] != "_"
]


def test_the_contract_has_functions() -> None:
    assert set(FUNCTIONS) >= {"version", "density_1d", "density_2d", "shifted_histogram", "levels"}


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("back_end", BACK_ENDS)
def test_same_signature(back_end: str, function: str) -> None:
    ours = inspect.signature(getattr(importlib.import_module(f"{PACKAGE}.{back_end}"), function))
    asked = inspect.signature(getattr(Kernel, function))
    assert list(ours.parameters) == list(asked.parameters)[1:]
    assert ours.return_annotation == asked.return_annotation
