"""Settings and arguments that cannot be.

One table, a row each, every one an `InputError` with a cure.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fairstats as fs
from fairstats.ground.errors import InputError

Y = [1, 0, 1, 0, 1, 1, 0, 0]
P = [1, 1, 0, 0, 1, 0, 1, 0]
G = list("aaaabbbb")
NAN = float("nan")


def impact(y_pred: Any = P, groups_of: Any = G, **options: Any) -> fs.results.RatioResult:
    return fs.disparate_impact(y_pred, sensitive_features=groups_of, **options)


def accuracy(
    y_true: Any = Y, y_pred: Any = P, groups_of: Any = G, **options: Any
) -> fs.results.RatioResult:
    return fs.conditional_accuracy(y_true, y_pred, sensitive_features=groups_of, **options)


def parity(y_pred: Any = P, groups_of: Any = G, **options: Any) -> Any:
    return fs.demographic_parity_difference(None, y_pred, sensitive_features=groups_of, **options)


def counted(*tables: tuple[Any, ...], **options: Any) -> fs.results.RatioResult:
    return fs.disparate_impact(counts=dict(zip("abcdef", tables, strict=False)), **options)


#: Name → call and words of the message.
TABLE: dict[str, tuple[Callable[[], Any], str]] = {
    # ------------------------------------------------ settings
    "method": (
        lambda: impact(method="wald"),
        "`method`: got 'wald'; allowed: None, 'log', 'delta', 'score'",
    ),
    "method of ratios for a difference": (
        lambda: parity(method="log"),
        "`method`: got 'log'; allowed: None, 'score'",
    ),
    "method for average odds": (
        lambda: fs.average_odds_difference(Y, P, sensitive_features=G, method="bootstrap"),
        "`method`: got 'bootstrap'",
    ),
    "agg": (lambda: parity(agg="mean"), "`agg`: got 'mean'; allowed: None, 'max'"),
    "threshold 10 for 10%": (
        lambda: parity(margin=10),
        r"`margin`: got 10; allowed: a size in \(0, 1\)",
    ),
    "n_resamples": (lambda: impact(method="bootstrap", n_resamples=10), "`n_resamples`: got 10"),
    "rng": (lambda: parity(method="bootstrap", rng="seed"), "`rng`: got 'seed'"),
    "groups": (lambda: impact(groups=["a"]), "`groups`: got .*without 'b'"),
    "groups, a number": (lambda: impact(groups=2), "`groups`"),
    "cluster of one": (lambda: impact(cluster=[1] * 8), "`cluster`: got 1 sampling unit"),
    "cluster missing": (
        lambda: impact(cluster=[None] + [1, 2] * 3 + [3]),
        "`cluster`: got missing values",
    ),
    "strata of a largest gap": (
        lambda: parity(strata=G, agg="max"),
        "`strata`: got strata with the largest gap",
    ),
    "strata missing": (
        lambda: impact(strata=[None] + [1, 2] * 3 + [3]),
        "`strata`: got missing values",
    ),
    # ------------------------------------------------ what is passed
    "nothing": (lambda: fs.disparate_impact(), "`y_pred`: got None"),
    "no labels": (lambda: accuracy(None), "`y_true`: got None"),
    "no groups": (lambda: fs.disparate_impact(P), "`sensitive_features`: got None"),
    "rows and counts": (
        lambda: fs.disparate_impact(P, sensitive_features=G, counts={"a": (1, 2)}),
        "`counts`: got both",
    ),
    "a table for one row": (
        lambda: impact(np.ones((8, 2))),
        r"`y_pred`: got an array of shape \(8, 2\)",
    ),
    "a single value": (lambda: impact(1), "`y_pred`: got a value of type int"),
    "counts, a number": (lambda: fs.disparate_impact(counts={"a": 5, "b": 6}), "`counts`"),
    "counts, a list": (lambda: fs.disparate_impact(counts=[(1, 2), (3, 4)]), "`counts`: got list"),
    "counts, empty": (lambda: fs.disparate_impact(counts={}), "`counts`: got no group"),
    "counts without labels": (
        lambda: fs.conditional_accuracy(
            counts=fs.results.SelectionCounts.from_counts({"a": (1, 2), "b": (3, 4)})
        ),
        "`counts`: got selection counts",
    ),
    "counts of pairs": (
        lambda: fs.disparate_impact(
            counts=fs.results.PairedCounts.from_counts({"a": range(8), "b": range(8)})
        ),
        "`counts`",
    ),
    "models: a mapping for counts": (
        lambda: fs.compare_models(None, None, None, counts={"a": range(8), "b": range(8)}),
        "`counts`",
    ),
    "models: metric": (
        lambda: fs.compare_models(Y, P, P, sensitive_features=G, metrics="nothing"),
        "`metrics`: got 'nothing'",
    ),
    "metric unknown": (
        lambda: fs.group_metric(Y, P, metric="auc", sensitive_features=G),
        "`metric`: got 'auc'; allowed: 'selection_rate'",
    ),
    "metric of one number": (
        lambda: fs.group_metric(Y, P, metric=lambda tp, fp, fn, tn: tp.sum(), sensitive_features=G),
        "`metric`: got a function that returns shape",
    ),
    "contrast": (
        lambda: fs.group_metric(Y, P, metric="f1", sensitive_features=G, contrast="quotient"),
        "`contrast`: got",
    ),
}
SETTINGS: dict[str, tuple[Any, ...]] = {
    "confidence_level": (95, 0.05, NAN, "high", None),
    "threshold": (0, NAN, "80%", -0.1, 1.25),
    "missing": ("ignore",),
    "adjust": ("fdr",),
    "simultaneous": ("tukey",),
    "comparisons": ("pairs",),
    "alternative": ("lower",),
}
TABLE |= {
    f"{name} {value!r}": (
        lambda o={name: value}: impact(**o),
        f"`{name}`: got {re.escape(repr(value))}; allowed: ",
    )
    for name, values in SETTINGS.items()
    for value in values
}


COUNTS: dict[str, tuple[Any, str]] = {
    "negative": ((5, -1), "not_selected = -1 in group 'a'"),
    "fractional": ((5.5, 1), "selected = 5.5.*sample_weight="),
    "NaN": ((NAN, 1), "selected = nan"),
    "text": (("x", 1), ""),
    "None": ((None, 1), ""),
    "three cells": ((1, 2, 3), ".*allowed: "),
}
TABLE |= {
    f"counts, {name}": (lambda c=cells: counted(c, (5, 5)), f"`counts`: got {words}")
    for name, (cells, words) in COUNTS.items()
}
PLANNING: tuple[tuple[Any, tuple[float, float], dict[str, Any], str], ...] = (
    (fs.power_ratio, (1.5, 0.7), {"n": 100}, "`rate_reference`: got 1.5"),
    (fs.power_ratio, (0.8, 1.5), {"n": 100}, "`ratio`: got 1.5"),
    (fs.power_ratio, (0.5, 0.9), {"n": 100}, "`ratio`: got 0.9 with alternative"),
    (fs.power_ratio, (0.5, 0.7), {"n": 0}, "`n`: got 0"),
    (fs.power_ratio, (0.5, 0.7), {"n": "100"}, "`n`: got '100'"),
    (fs.sample_size_ratio, (0.5, 0.7), {"power": 80}, "`power`: got 80"),
    (fs.sample_size_ratio, (0.5, 0.7), {"power": 0.04}, "`power`: got 0.04"),
    (fs.sample_size_ratio, (0.5, 0.7), {"allocation": 0}, "`allocation`: got 0"),
)
TABLE |= {
    f"{function.__name__} {words}": (
        lambda f=function, a=rates, o=options: f(*a, **o),
        re.escape(words),
    )
    for function, rates, options, words in PLANNING
}


@pytest.mark.parametrize("name", TABLE)
def test_row(name: str) -> None:
    call, words = TABLE[name]
    with pytest.raises(InputError, match=words) as caught:
        call()
    message = str(caught.value)
    assert message.startswith("`")
    assert "allowed: " in message
    assert "To fix: " in message, "say what the caller can do"
