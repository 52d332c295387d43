"""The leaks that were reported, one by one.

An error of ours that names the argument and its cure.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import fairstats as fs
from fairstats.ground.errors import InputError
from tests.fuzz.calls import Constant
from tests.fuzz.odd import OnlyPredict
from tests.fuzz.refusals import check_refusal

N = 60
RNG = np.random.default_rng(1)
Y = RNG.integers(0, 2, N)
P = RNG.integers(0, 2, N)
G = np.array(["a", "b", "a", "b", "b", "c"] * 10)
FRAME = pd.DataFrame({"y": Y, "p": P, "g": G, "x": RNG.random(N)})
TWICE = pd.concat([FRAME, FRAME[["g"]]], axis=1)
LEVELS = FRAME.set_axis(pd.MultiIndex.from_product([["t"], FRAME.columns]), axis=1)
NAMES: dict[str, Any] = {"y_true": "y", "y_pred": "p", "sensitive_features": "g"}
CD = {"a": RNG.random(N) - 0.5, "b": RNG.random(N) - 0.4}
NESTED = FRAME.assign(x=[[1, 2]] * N)


def half(X: Any) -> Any:
    return np.full(len(X), 0.5)


def weighed(weights: Any) -> Callable[[], Any]:
    return lambda: fs.disparate_impact(P, sensitive_features=G, sample_weight=weights)


def folded(n: int, cv: int) -> Any:
    return fs.um_cross_validate(
        Constant(), FRAME[["x"]][:n], Y[:n], sensitive_features=G[:n], cv=cv, correlation="1/K"
    )


#: What was passed → the call, the argument that the error names, and words of its message.
NAMED: dict[str, tuple[Callable[[], Any], str, str]] = {
    "two columns of one name, audit": (lambda: fs.audit(TWICE, **NAMES), "frame", "named 'g'"),
    "two columns of one name, tally": (lambda: fs.tally(TWICE, **NAMES), "frame", "named 'g'"),
    "two columns of one name, counts": (
        lambda: fs.ConfusionCounts.from_frame(TWICE, **NAMES),
        "frame",
        "named 'g'",
    ),
    "two columns of one name, hfm": (
        lambda: fs.hfm(TWICE, Y, P, sensitive_features=G),
        "X",
        "named 'g'",
    ),
    "two columns of one name, distance": (lambda: fs.set_distance(TWICE, TWICE), "a", "named 'g'"),
    "two columns of one name, discrimination": (
        lambda: fs.counterfactual_discrimination(half, TWICE, sensitive_features="g"),
        "X",
        "named 'g'",
    ),
    "two columns of one name, risk": (
        lambda: fs.discriminative_risk(half, TWICE, sensitive_features="g"),
        "X",
        "named 'g'",
    ),
    "two columns of one name, quality": (
        lambda: fs.synthetic_quality(TWICE, TWICE),
        "real",
        "named 'g'",
    ),
    "two columns of one name, groups": (
        lambda: fs.disparate_impact(P, sensitive_features=TWICE[["g"]]),
        "sensitive_features",
        "named 'g'",
    ),
    "names of several levels": (lambda: fs.audit(LEVELS, **NAMES), "frame", "('t', 'y')"),
    "lists as features": (
        lambda: fs.audit(NESTED, **NAMES, features=["x"]),
        "features",
        "cannot be told apart",
    ),
    "a frame without columns": (
        lambda: fs.audit(pd.DataFrame(index=range(9)), **NAMES),
        "frame",
        "'y'",
    ),
    "more folds than rows": (lambda: folded(8, 10), "cv", "2 to 8. To fix: cv=8"),
    "folds of a half": (
        lambda: fs.um_cross_validate(
            Constant(), FRAME[["x"]][:8], Y[:8], sensitive_features=G[:8], cv=8
        ),
        "cv",
        "2 to 4. To fix: cv=4",
    ),
    "only predict": (
        lambda: fs.counterfactual_discrimination(OnlyPredict(), FRAME, sensitive_features="g"),
        "predict",
        "model.predict",
    ),
    "no columns to change": (
        lambda: fs.counterfactual_discrimination(half, FRAME, sensitive_features=()),
        "sensitive_features",
        "name the columns",
    ),
    "no column to change": (
        lambda: fs.discriminative_risk(half, FRAME, sensitive_features=()),
        "sensitive_features",
        "name a",
    ),
    "weights of several levels": (
        weighed(pd.MultiIndex.from_tuples([(1, 2)] * N)),
        "sample_weight",
        "single column",
    ),
    "weights of 1e308": (weighed(np.full(N, 1e308)), "sample_weight", "squares overflow"),
    "complex weights": (weighed(np.ones(N) * 1j), "sample_weight", "not numbers"),
    "weights from a generator": (weighed(1.0 for _ in range(N)), "sample_weight", "type generator"),
    "sparse weights": (
        weighed(sparse.csr_matrix(np.ones((1, N)))),
        "sample_weight",
        "type csr_matrix",
    ),
    "a set of weights": (weighed({1.0, 2.0}), "sample_weight", "type set"),
    "text for weights": (weighed("w"), "sample_weight", "type str"),
    "NA for weights": (weighed(pd.NA), "sample_weight", "type NAType"),
    "unhashable groups": (
        lambda: fs.disparate_impact(P, sensitive_features=pd.Series([[1], [2]] * 30)),
        "sensitive_features",
        "cannot be told apart",
    ),
    "ragged lists": (
        lambda: fs.disparate_impact([[1], [1, 2]] * 30, sensitive_features=G),
        "y_pred",
        "NumPy cannot read",
    ),
    "ragged points": (lambda: fs.set_distance([[1, 2], [3]], [[1, 2]]), "a", "not numbers"),
    "NA for a choice": (
        lambda: fs.disparate_impact(P, sensitive_features=G, adjust=pd.NA),
        "adjust",
        "'holm'",
    ),
    "an array for a choice": (
        lambda: fs.disparate_impact(P, sensitive_features=G, missing=np.array(["drop"])),
        "missing",
        "'drop'",
    ),
    "a number for metrics": (
        lambda: fs.um_compare(
            *[fs.um_posterior(Y, P, sensitive_features=G, draws=100, rng=1)] * 2, metrics=1
        ),
        "metrics",
        "names of metrics",
    ),
    "no end of rows": (lambda: fs.power_ratio(0.5, 0.7, n=np.inf), "n", "a whole number"),
    "text for a ratio": (lambda: fs.sample_size_ratio(0.5, "0.7"), "ratio", "'0.7'"),  # type: ignore[arg-type]
    "an array for a sample": (lambda: fs.ecd(np.ones(30)), "sample", "group → values"),
    "text for a group's threshold": (
        lambda: fs.ecd(CD, interactions=20, threshold={"a": "0.3", "b": 0.2}),
        "threshold",
        "'0.3'",
    ),
    "no threshold for a group": (
        lambda: fs.ecd(CD, interactions=20, threshold={"a": 0.3}),
        "threshold",
        "no threshold for 'b'",
    ),
}


@pytest.mark.parametrize("name", NAMED)
def test_named_by_an_error(name: str) -> None:
    check_refusal(*NAMED[name])


def test_polars_structs_are_no_labels() -> None:
    polars = pytest.importorskip("polars")
    with pytest.raises(InputError, match="Struct"):
        fs.tally(
            polars.DataFrame({"g": [{"a": 1}] * N, "p": P}), y_pred="p", sensitive_features="g"
        )
