"""Arguments of methods that used to go unchecked.

An error of ours that names the argument and its cure.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairstats as fs
from fairstats.ground.errors import FairstatsWarning
from fairstats.results import CounterfactualSample, Crosscheck, Interval, PairedCounts
from tests.fuzz.calls import calls
from tests.fuzz.refusals import check_refusal

N = 60
INTERVAL = Interval(0.1, 0.9, 0.95, "score")


@cache
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    columns = {
        "y": np.tile([0, 1], N // 2),
        "p": rng.integers(0, 2, N),
        "s": rng.random(N).round(2),
    }
    return pd.DataFrame({**columns, "g": np.resize(["a", "a", "b", "b"], N), "x": 1, "z": 2})


def counts() -> fs.ConfusionCounts:
    rows = frame()
    return fs.ConfusionCounts.from_arrays(rows["y"], rows["p"], sensitive_features=rows["g"])


def paired() -> PairedCounts:
    return PairedCounts.from_counts({"a": tuple(range(1, 9)), "b": tuple(range(2, 10))})


def scored(**roles: Any) -> fs.Tally:
    return fs.tally(frame(), sensitive_features="g", score="s", **roles)


@cache
def areas() -> Any:
    """ROC curves of two groups, and of one that has a single label."""
    rows = frame()
    groups = np.where((rows["y"] == 1) & (np.arange(N) < 20), "one label", rows["g"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairstatsWarning)
        return fs.abroca(rows["y"], rows["s"], sensitive_features=groups, n_resamples=100, rng=1)


@cache
def hiring() -> Any:
    return fs.adverse_impact({"f": (20, 80), "m": (50, 50)})


@cache
def experiment() -> Any:
    call = calls()["hfm_experiment"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairstatsWarning)
        return call.function(**call.good)


def sample() -> CounterfactualSample:
    return CounterfactualSample.from_values({"a": [0.1, 0.2, -0.1], "b": [0.0, 0.3]})


@cache
def report() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairstatsWarning)
        return fs.audit(
            frame(), y_true="y", y_pred="p", sensitive_features="g", n_resamples=100, rng=1
        )


@cache
def pilot() -> Any:
    rng = np.random.default_rng(1)
    smooth = {"a": 0.3 * rng.beta(2, 8, 2000), "b": 0.5 * rng.beta(2, 8, 1000)}
    return fs.ecd(smooth, backend="scipy", n_resamples=0, rng=1)


def of_several_classes() -> Any:
    rows = frame()
    return fs.um_multiclass(
        np.resize([0, 1, 2], N), rows["p"], sensitive_features=rows["g"], draws=100, rng=1
    ).counts


CELLS = (1, 2, 3, 4)

#: What was passed → the call, the argument that the error names, and words of its message.
NAMED: dict[str, tuple[Callable[[], Any], str, str]] = {
    "a column in an interval": (
        lambda: np.array([0.1, 0.2]) in INTERVAL,
        "value",
        "allowed: a number",
    ),
    "a wide format": (lambda: INTERVAL.words("9999999999f"), "number", "'.3f'"),
    "no alternative": (lambda: INTERVAL.words(alternative="below"), "alternative", "'less'"),
    "no cell": (lambda: counts().total("tp", "hits"), "cells", "no 'hits'"),
    "a cell twice": (lambda: counts().total("tp", "tp"), "cells", "with repeats"),
    "no cell within strata": (
        lambda: (
            fs.tally(frame(), y_pred="p", sensitive_features="g", strata="x").strata().total("tp")
        ),
        "cells",
        "no 'tp'",
    ),
    "no third model": (lambda: paired().confusion(2), "model", "from 0 to 1"),
    "counts of other groups": (
        lambda: counts() + fs.ConfusionCounts.from_counts({"a": CELLS, "d": CELLS}),
        "other",
        "groups = ('a', 'd')",
    ),
    "scores with and without labels": (
        lambda: scored(y_true="y").histogram() + scored().histogram(),
        "other",
        "labelled = False",
    ),
    "rows of other columns": (
        lambda: scored(features=["x", "z"]).rows() + scored(features=["x"]).rows(),
        "other",
        "columns = ('x',)",
    ),
    "a number to what was left out": (lambda: counts().missing + 1, "other", "MissingReport"),
    "groups of no counts": (
        lambda: fs.ConfusionCounts.from_counts({"a": CELLS}, groups=3),
        "groups",
        "different ones",
    ),
    "a group too few": (
        lambda: fs.ConfusionCounts.from_counts({"a": CELLS, "b": CELLS}, groups=["a"]),
        "groups",
        "in some order",
    ),
    "cells of classes that are not known": (
        lambda: of_several_classes().from_counts({"a": (1, 2)}),
        "counts",
        "um_multiclass",
    ),
    "no curve of a group": (lambda: areas().roc("z"), "group", "one of "),
    "no curve of one label": (
        lambda: areas().roc("one label"),
        "group",
        "0 rows of label 0 and 10 of label 1",
    ),
    "no bounds of a group": (lambda: hiring().tables[0].bounds_of("x"), "group", "'m'"),
    "no table of an attribute": (lambda: hiring().by("age"), "attributes", "('age',)"),
    "no measure": (lambda: experiment().compare("speed"), "measure", "'HFM'"),
    "no measure of a ranking": (lambda: experiment().ranking("speed"), "measure", "'HFM'"),
    "no measure of wins": (lambda: experiment().wins(3), "measure", "'HFM'"),
    "the error as fairness": (
        lambda: experiment().tradeoff(measure="Accuracy"),
        "measure",
        "'HFM'",
    ),
    "weights beyond 1": (lambda: experiment().tradeoff([0.5, 1.5]), "alphas", "from 0 to 1"),
    "no weights": (lambda: experiment().tradeoff([]), "alphas", "[0, 0.05, 0.1]"),
    "a weight below 0": (lambda: experiment().scores("DP", alpha=-1), "alpha", "both included"),
    "a share of all": (lambda: sample()["a"].cvar(1.0), "level", "both excluded"),
    "samples of nothing": (lambda: CounterfactualSample.of_groups("a"), "groups", "TailSample"),
    "an attribute without a name": (
        lambda: CounterfactualSample.of_groups(*sample().groups, attribute=3),
        "attribute",
        "sensitive column",
    ),
    "more synthetic rows than rows": (
        lambda: CounterfactualSample.from_values({"a": [0.1, 0.2]}, n_synthetic={"a": 3}),
        "n_synthetic",
        "0 to 2",
    ),
    "synthetic rows of no group": (
        lambda: CounterfactualSample.from_values({"a": [0.1]}, n_synthetic={"z": 1}),
        "n_synthetic",
        "no 'z'",
    ),
    "a page of no cross-check": (
        lambda: report().to_html("page.html", crosscheck=1),
        "crosscheck",
        "fs.crosscheck(report)",
    ),
    "a vignette of a list": (
        lambda: report().to_vignette("new.Rmd", ["data.csv"]),
        "data",
        "path of a file",
    ),
    "half a table": (lambda: Crosscheck(()).summary(full=1), "full", "True or False"),
    "more rows than there are people": (
        lambda: pilot().rows_for(1e-308),
        "width",
        "more than 9,007,199,254,740,992 rows",
    ),
    "a calibration of two": (
        lambda: calls()["evt.tail_type"].good["fit"].return_level(20, calibrated=2),
        "calibrated",
        "True or False",
    ),
}


@pytest.mark.parametrize("name", NAMED)
def test_named_by_an_error(name: str) -> None:
    check_refusal(*NAMED[name])


def test_what_the_gate_lets_through() -> None:
    """By hand."""
    assert 0.5 in INTERVAL
    assert 0.1 in INTERVAL
    assert np.float32(0.95) not in INTERVAL
    assert np.nan not in INTERVAL
    assert -(10**400) not in INTERVAL
    assert np.inf in Interval(0.0, np.inf, 0.95, "score")
    assert INTERVAL.words(".1%", "greater") == "at least 10.0%, 95% limit"
    assert paired().confusion(1).total("tp", "fn").tolist() == [1 + 2 + 3 + 4, 2 + 3 + 4 + 5]
    assert paired().confusion(0).total("tp").tolist() == [1 + 2, 2 + 3]
    assert areas().roc("a").fpr[-1] == 1.0
    assert np.isnan(hiring().tables[0].bounds_of("f")).all()
    assert sample()["a"].cvar(0.5).estimate == pytest.approx(0.1 + (0.2 - 0.1) / 3 / 0.5)
