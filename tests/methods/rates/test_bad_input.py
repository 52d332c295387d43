"""Bad input: one table, a row each. Every row is an error or a warning of ours that names the
argument and the cure.

The faults that users meet most come first. A CSV without the named column and an
unreadable file are tested with the command line and the audit, which read files.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

import fairstats as fs
from fairstats.ground.errors import (
    DataWarning,
    FairstatsWarning,
    InputError,
    InsufficientEvidenceWarning,
    MissingValuesWarning,
)

Y = [1, 0, 1, 0, 1, 1, 0, 0]
P = [1, 1, 0, 0, 1, 0, 1, 0]
G = list("aaaabbbb")
NAN = float("nan")


class Row(NamedTuple):
    """A call, what it must give, and words of the message."""

    call: Callable[[], Any]
    gives: type[Exception]
    words: str


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


def area(
    y_true: Any = Y,
    score: Any = (0.1, 0.9, 0.8, 0.4, 0.5, 0.6, 0.7, 0.2),
    groups_of: Any = G,
    **o: Any,
) -> Any:
    return fs.abroca(y_true, score, sensitive_features=groups_of, n_resamples=100, rng=1, **o)


SPARE = InsufficientEvidenceWarning
TABLE: dict[str, Row] = {
    # ------------------------------------------------ what users meet most
    "empty group, declared": Row(
        lambda: impact(groups=["a", "z", "b"]), SPARE, "z: no rows, so no selection rate"
    ),
    "empty group, category": Row(
        lambda: impact(groups_of=pd.Categorical(G, categories=["a", "b", "z"])),
        DataWarning,
        "group: of the declared values 'z' has no rows",
    ),
    "empty group, counts": Row(
        lambda: counted((5, 5), (0, 0)), SPARE, "b: no rows, so no selection rate"
    ),
    "empty group, max": Row(
        lambda: parity(groups=["a", "z", "b"], agg="max"), FairstatsWarning, "z: no rows"
    ),
    "empty group, abroca": Row(
        lambda: area(groups=["a", "z", "b"]), SPARE, "z has no row with an unfavourable"
    ),
    "one group only": Row(
        lambda: impact(groups_of=["a"] * 8),
        InputError,
        r"`sensitive_features`: got one group \('a'\)",
    ),
    "one group only, difference": Row(
        lambda: parity(groups_of=["a"] * 8), InputError, "one group .*two groups or more"
    ),
    "one group only, max": Row(
        lambda: parity(groups_of=["a"] * 8, agg="max"), InputError, "one group"
    ),
    "one group only, abroca": Row(lambda: area(groups_of=["a"] * 8), InputError, "one group"),
    "one group only, stratified": Row(
        lambda: fs.disparate_impact(P, sensitive_features=["a"] * 8, strata=G),
        InputError,
        "one group",
    ),
    "one group only, models": Row(
        lambda: fs.compare_models(Y, P, P, sensitive_features=["a"] * 8), InputError, "one group"
    ),
    "one group only, metric": Row(
        lambda: fs.group_metric(Y, P, metric="f1", sensitive_features=["a"] * 8),
        InputError,
        "one group",
    ),
    "no positives": Row(
        lambda: accuracy([1, 0, 1, 0, 0, 0, 0, 0]),
        SPARE,
        "b: no rows with a favourable label, so no true positive rate",
    ),
    "no positives, difference": Row(
        lambda: fs.equal_opportunity_difference([1, 0, 1, 0, 0, 0, 0, 0], P, sensitive_features=G),
        SPARE,
        "b: no rows with a fav",
    ),
    "no positives, odds": Row(
        lambda: fs.equalized_odds_difference([1, 0, 1, 0, 0, 0, 0, 0], P, sensitive_features=G),
        SPARE,
        "b: no rows",
    ),
    "no positives, average odds": Row(
        lambda: fs.average_odds_difference([1, 0, 1, 0, 0, 0, 0, 0], P, sensitive_features=G),
        SPARE,
        "b: no rows of both",
    ),
    "no positives, abroca": Row(
        lambda: area([1, 0, 1, 0, 0, 0, 0, 0]), SPARE, "b has no row with a favourable label"
    ),
    "no predicted positives": Row(
        lambda: fs.conditional_use_accuracy(Y, [1, 1, 0, 0, 0, 0, 0, 0], sensitive_features=G),
        SPARE,
        "b: no rows with a favourable prediction, so no positive predictive value",
    ),
    "0/0": Row(
        lambda: counted((0, 9), (0, 9)), SPARE, "selection rate 0 in both; 0/0 can be any ratio"
    ),
    "0/0, empty tables": Row(
        lambda: counted((0, 0), (0, 0)), SPARE, "a and b: no rows|b and a: no rows"
    ),
    "0/0, models": Row(
        lambda: fs.compare_models(Y, [0] * 8, P, sensitive_features=G),
        SPARE,
        "a and b: a rate of 0|b and a: a rate of 0",
    ),
    "0/0, stratified": Row(
        lambda: fs.disparate_impact(
            [0, 0, 0, 0], sensitive_features=list("aabb"), strata=[1, 2, 1, 2]
        ),
        SPARE,
        "no success in any stratum that both share",
    ),
    "label NaN": Row(
        lambda: accuracy([NAN, *Y[1:]]),
        InputError,
        r"`y_true`: got missing values: y_true \(1\) of 8 rows",
    ),
    "label None": Row(lambda: accuracy([None, *Y[1:]]), InputError, '`y_true`: .*missing="drop"'),
    "prediction NaN": Row(
        lambda: impact([NAN, *P[1:]]), InputError, "`y_pred`: got missing values"
    ),
    "group NaN": Row(
        lambda: impact(groups_of=[None, *G[1:]]),
        InputError,
        '`sensitive_features`: .*missing="group"',
    ),
    "NaN dropped": Row(
        lambda: impact([NAN, *P[1:]], missing="drop"), MissingValuesWarning, "1 of 8 rows left out"
    ),
    "unknown reference": Row(
        lambda: impact(reference="Martian"),
        InputError,
        "`reference`: got 'Martian'; allowed: one of 'a', 'b'",
    ),
    "unknown reference, max is indifferent": Row(
        lambda: parity(reference="Martian"), InputError, "`reference`: got 'Martian'"
    ),
    "unknown reference, models": Row(
        lambda: fs.compare_models(Y, P, P, sensitive_features=G, reference="z"),
        InputError,
        "`reference`: got 'z'",
    ),
    "weights negative": Row(
        lambda: impact(sample_weight=[-1] + [1] * 7), InputError, "`sample_weight`: got 1 negative"
    ),
    "weights NaN": Row(
        lambda: impact(sample_weight=[NAN] + [1] * 7),
        InputError,
        "`sample_weight`: got 1 values .*NaN",
    ),
    "weights all zero": Row(
        lambda: impact(sample_weight=[0] * 8), InputError, "`sample_weight`: got only zeros"
    ),
    "weights zero in a group": Row(
        lambda: impact(sample_weight=[0] * 4 + [1] * 4), SPARE, "a: all weights of rows are 0"
    ),
    "weights text": Row(
        lambda: impact(sample_weight=list("abcdefgh")),
        InputError,
        "`sample_weight`: got values that are not",
    ),
    "lengths differ": Row(lambda: accuracy(Y[:5]), InputError, "different lengths: .*y_true 5"),
    "lengths differ, groups": Row(
        lambda: impact(groups_of=G[:5]), InputError, "different lengths: sensitive_features 5"
    ),
    "lengths differ, models": Row(
        lambda: fs.compare_models(Y, P, P[:5], sensitive_features=G),
        InputError,
        "different lengths: .*y_pred_b 5",
    ),
    "3 classes": Row(
        lambda: impact([0, 1, 2, 0, 1, 2, 0, 1]),
        InputError,
        "`y_pred`: got the values 0, 1, 2; .*pos_label=",
    ),
    "score above 1": Row(
        lambda: area(score=[5.0] * 8),
        InputError,
        r"`score`: got values from 5 to 5; .*\[0, 1\].*rescale",
    ),
    "score below 0": Row(
        lambda: area(score=np.linspace(-0.1, 1, 8)), InputError, "`score`: got values from -0.1"
    ),
    "score NaN": Row(
        lambda: area(score=[NAN] + [0.5] * 7), InputError, "`score`: got missing values"
    ),
    "score None": Row(lambda: area(score=None), InputError, "`score`: got None"),
    "0 rows": Row(lambda: impact([], []), InputError, "`sensitive_features`: got 0 rows"),
    "0 rows, frame": Row(
        lambda: fs.ConfusionCounts.from_frame(
            pd.DataFrame({"y": [], "p": [], "g": []}),
            y_true="y",
            y_pred="p",
            sensitive_features="g",
        ),
        InputError,
        "got 0 rows",
    ),
    "a frame without the column": Row(
        lambda: fs.ConfusionCounts.from_frame(
            pd.DataFrame({"y": Y, "p": P}), y_true="y", y_pred="p", sensitive_features="sex"
        ),
        InputError,
        "`frame`: got no column 'sex'; allowed: its columns: 'y', 'p'",
    ),
    # ------------------------------------------------ labels
    "text labels": Row(
        lambda: impact(list("ynynynyn")),
        InputError,
        "`y_pred`: got the values 'y', 'n'.* pos_label=",
    ),
    "text labels, models": Row(
        lambda: fs.compare_models(list("ynynynyn"), P, P, sensitive_features=G),
        InputError,
        "`y_true`: .*pos_label=",
    ),
    "pos_label unknown": Row(
        lambda: impact(pos_label=7),
        InputError,
        "`pos_label`: got 7, which does not occur in y_pred",
    ),
    "pos_label in one column": Row(
        lambda: accuracy(["good", "bad"] * 4, P, pos_label="good"),
        InputError,
        "`pos_label`: .*does not occur in y_pred",
    ),
    "pos_label never predicted": Row(
        lambda: accuracy(["y", "n"] * 4, ["n"] * 8, pos_label="y"),
        DataWarning,
        "every row of y_pred counts as unfavourable",
    ),
    "pos_label for a column that is not there": Row(
        lambda: impact(pos_label={"label": 1}), InputError, "`pos_label`: got a mapping with"
    ),
    "label, not 0 or 1": Row(
        lambda: accuracy(label=2), InputError, "`label`: got 2; allowed: 0, 1"
    ),
    "prediction, not 0 or 1": Row(
        lambda: fs.conditional_use_accuracy(Y, P, sensitive_features=G, prediction="1"),
        InputError,
        "`prediction`: got '1'",
    ),
    "metric without a value": Row(
        lambda: fs.group_metric(
            metric="treatment_equality", counts={"a": (5, 0, 5, 5), "b": (5, 5, 5, 5)}
        ),
        SPARE,
        "a: no ",
    ),
}


def warnings_of(call: Callable[[], Any]) -> list[warnings.WarningMessage]:
    """Our warnings; any other is an error, as everywhere."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("error")
        warnings.filterwarnings("always", category=FairstatsWarning)
        call()
    return caught


@pytest.mark.parametrize("name", TABLE)
def test_row(name: str) -> None:
    row = TABLE[name]
    if issubclass(row.gives, Warning):
        caught = warnings_of(row.call)
        assert any(
            issubclass(w.category, row.gives) and re.search(row.words, str(w.message))
            for w in caught
        ), [str(w.message) for w in caught]
        return
    with pytest.raises(row.gives, match=row.words) as caught:
        row.call()
    message = str(caught.value)
    assert isinstance(caught.value, fs.FairstatsError)
    assert isinstance(caught.value, ValueError)
    assert message.startswith("`")
    assert "allowed: " in message
    assert "To fix: " in message, "say what the caller can do"


@pytest.mark.parametrize(
    "name", [name for name, row in TABLE.items() if issubclass(row.gives, Warning)]
)
def test_a_warning_points_at_the_caller(name: str) -> None:
    assert {w.filename for w in warnings_of(TABLE[name].call)} == {__file__}


@pytest.mark.filterwarnings("ignore::fairstats.ground.errors.FairstatsWarning")
def test_nan_is_never_silent() -> None:
    """Where an estimate is NaN, the row says "insufficient evidence" and why."""
    for counts in ({"a": (5, 5, 5, 5), "b": (0, 5, 0, 5)}, {"a": (0, 0, 5, 5), "b": (0, 0, 3, 7)}):
        for function in (
            fs.conditional_accuracy,
            fs.conditional_use_accuracy,
            fs.equal_opportunity_difference,
            fs.predictive_parity_difference,
            fs.equalized_odds_difference,
            fs.average_odds_difference,
        ):
            for comparison in function(counts=counts).comparisons:
                if np.isnan(comparison.estimate):
                    assert comparison.verdict == "insufficient evidence"
                    assert comparison.note
                else:
                    assert not np.isnan(comparison.pvalue)
