"""Signatures and docstrings of the public functions, whose shared parts are told once."""

from __future__ import annotations

import inspect
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairstats as fs
from fairstats.ground.tally import tally
from fairstats.methods.rates.setup import documented

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


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_every_parameter_is_there_and_documented_once(function: Any) -> None:
    parameters = inspect.signature(function).parameters
    assert all(p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) for p in parameters.values())
    text = inspect.getdoc(function) or ""
    section = text.split("\nParameters\n----------\n")[1].split("\n\nReturns\n")[0]
    told = [name for names in re.findall(r"^(\S.*?) : ", section, re.MULTILINE) for name in names.split(", ")]
    assert sorted(told) == sorted(parameters), f"{function.__name__}: documented {told}"
    assert [h for h in SECTIONS if f"\n{h}\n---" in text] == list(SECTIONS)


def test_what_a_docstring_says_itself_is_kept() -> None:
    @documented({"rng": "told elsewhere"})
    def function(reference: Any, rng: Any) -> None:
        """A function.

        Parameters
        ----------
        reference : int
            Its own words.

        Returns
        -------
        None
        """

    assert "Its own words." in (function.__doc__ or "")
    assert "rng : told elsewhere" in (function.__doc__ or "")


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
