"""Signatures and docstrings of the public functions, whose shared parts are the same everywhere."""

from __future__ import annotations

import inspect
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairstats as fs
from fairstats.ground.tally import tally

FUNCTIONS = (
    fs.disparate_impact,
    fs.conditional_accuracy,
    fs.conditional_use_accuracy,
    fs.demographic_parity_difference,
    fs.equal_opportunity_difference,
    fs.predictive_parity_difference,
    fs.average_odds_difference,
    fs.equalized_odds_difference,
    fs.group_metric,
    fs.abroca,
    fs.compare_models,
)
SECTIONS = ("Parameters", "Returns", "Raises", "Warns")


def parameter_texts(function: Any) -> dict[str, str]:
    """What the docstring says of every parameter."""
    text = inspect.getdoc(function) or ""
    section = text.split("\nParameters\n----------\n")[1].split("\n\nReturns\n")[0]
    texts: dict[str, str] = {}
    for entry in re.split(r"\n(?=\S)", section):
        names, _, what = entry.partition(" : ")
        for name in names.split(", "):
            assert name not in texts, f"{function.__name__}: {name} is documented twice"
            texts[name] = what
    return texts


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_every_parameter_is_there_and_documented_once(function: Any) -> None:
    parameters = inspect.signature(function).parameters
    assert all(p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) for p in parameters.values())
    assert sorted(parameter_texts(function)) == sorted(parameters)
    text = inspect.getdoc(function) or ""
    assert [h for h in SECTIONS if f"\n{h}\n---" in text] == list(SECTIONS)


@pytest.mark.parametrize(
    ("first", "others"),
    [(fs.disparate_impact, FUNCTIONS[1:3]), (fs.demographic_parity_difference, FUNCTIONS[4:8])],
)
def test_shared_parameters_are_the_same_everywhere(first: Any, others: Any) -> None:
    """Each signature stands where it is read; this keeps their words and defaults alike."""
    texts, parameters = parameter_texts(first), inspect.signature(first).parameters
    own = {"agg", "y_pred", "y_true"} | ({"method"} if first is not fs.disparate_impact else set())
    for other in others:
        other_texts = parameter_texts(other)
        other_parameters = inspect.signature(other).parameters
        for name in texts.keys() & other_texts.keys() - own:
            assert other_texts[name] == texts[name], f"{other.__name__}: {name}"
            assert other_parameters[name] == parameters[name], f"{other.__name__}: {name}"


CELLS = {"a": (40, 10, 9, 41), "b": (30, 12, 20, 44)}


@pytest.mark.parametrize("function", FUNCTIONS[:8], ids=lambda f: f.__name__)
def test_a_tally_counts_as_counts(function: Any, rows_of: Any) -> None:
    rows = rows_of(CELLS)
    frame = pd.DataFrame({"y": rows.y_true, "p": rows.y_pred, "g": rows.group})
    counted = tally(frame, y_true="y", y_pred="p", sensitive_features="g")
    found = function(counts=counted, reference="a")
    wanted = function(counts=CELLS, reference="a")
    assert found.confidence_interval == wanted.confidence_interval
    np.testing.assert_array_equal(found.estimate, wanted.estimate)
