"""The same numbers from every kind of column: NumPy, lists, pandas, polars, pyarrow; any labels;
intersections.

Witness: the result from plain lists; the estimates of those by counting in the test.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairstats as fs

pl = pytest.importorskip("polars", reason="polars is not installed")
pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")

RNG = np.random.default_rng(8)
N = 120
Y = RNG.integers(0, 2, N).tolist()
P = RNG.integers(0, 2, N).tolist()
G = RNG.choice(["east", "north", "south"], N, p=[0.2, 0.3, 0.5]).tolist()
R = RNG.choice(["x", "y"], N).tolist()
WEIGHT = RNG.uniform(0.5, 2, N).tolist()
UNIT = RNG.integers(0, 12, N).tolist()

#: How to make a column of integers, and of text.
KINDS: dict[str, tuple[Callable[[list[Any]], Any], Callable[[list[Any]], Any]]] = {
    "list": (list, list),
    "tuple": (tuple, tuple),
    "numpy": (np.array, np.array),
    "numpy object": (lambda v: np.array(v, dtype=object),) * 2,
    "numpy float": (lambda v: np.array(v, dtype=float), np.array),
    "numpy int8": (lambda v: np.array(v, dtype="i1"), np.array),
    "numpy bool": (lambda v: np.array(v, dtype=bool), np.array),
    "pandas": (pd.Series, pd.Series),
    "pandas nullable": (
        lambda v: pd.Series(v, dtype="Int64"),
        lambda v: pd.Series(v, dtype="string"),
    ),
    "pandas boolean": (
        lambda v: pd.Series(v, dtype="boolean"),
        lambda v: pd.Series(v, dtype="str"),
    ),
    "pandas category": (lambda v: pd.Series(v, dtype="category"),) * 2,
    "pandas ordered": (
        lambda v: pd.Series(pd.Categorical(v, categories=sorted(set(v)), ordered=True)),
    )
    * 2,
    "pandas arrow": (
        lambda v: pd.Series(v, dtype=pd.ArrowDtype(pa.int64())),
        lambda v: pd.Series(v, dtype=pd.ArrowDtype(pa.string())),
    ),
    "pandas string[python]": (pd.Series, lambda v: pd.Series(v, dtype=pd.StringDtype("python"))),
    "pandas string[pyarrow]": (pd.Series, lambda v: pd.Series(v, dtype=pd.StringDtype("pyarrow"))),
    "pandas index": (pd.Index, pd.Index),
    "pandas, other index": (lambda v: pd.Series(v, index=range(N, 0, -1)),) * 2,
    "polars": (pl.Series, pl.Series),
    "polars Int8": (
        lambda v: pl.Series(v, dtype=pl.Int8),
        lambda v: pl.Series(v, dtype=pl.Categorical),
    ),
    "polars Enum": (pl.Series, lambda v: pl.Series(v, dtype=pl.Enum(sorted(set(v))))),
    "polars Boolean": (lambda v: pl.Series([bool(x) for x in v]), pl.Series),
    "polars frame": (lambda v: pl.DataFrame({"v": v}), lambda v: pl.DataFrame({"v": v})),
    "polars lazy": (lambda v: pl.LazyFrame({"v": v}),) * 2,
    "pyarrow": (pa.array, pa.array),
    "pyarrow chunked": (lambda v: pa.chunked_array([v[:50], v[50:]]),) * 2,
    "pyarrow dictionary": (pa.array, lambda v: pa.array(v).dictionary_encode()),
    "pyarrow table": (lambda v: pa.table({"v": v}),) * 2,
}
ORDER = ["south", "east", "north"]


def numbers(result: Any) -> pd.DataFrame:
    return result.to_frame()


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_column_gives_the_same_table(kind: str) -> None:
    of_numbers, of_text = KINDS[kind]
    for function in (fs.equalized_odds_difference, fs.conditional_use_accuracy):
        wanted = function(Y, P, sensitive_features=G, groups=ORDER)
        found = function(of_numbers(Y), of_numbers(P), sensitive_features=of_text(G), groups=ORDER)
        pd.testing.assert_frame_equal(numbers(found), numbers(wanted), check_exact=True)


@pytest.mark.filterwarnings("ignore::fairstats.ground.errors.InsufficientEvidenceWarning")
@pytest.mark.parametrize(
    "kind",
    [k for k in KINDS if "bool" not in k.lower() and "category" not in k and "ordered" not in k],
)
def test_weights_and_clusters_of_every_kind(kind: str) -> None:
    of_numbers, of_text = KINDS[kind]
    if kind in {"numpy int8", "polars Int8", "pandas nullable", "pandas arrow"}:
        of_numbers = np.array
    wanted = fs.disparate_impact(
        P, sensitive_features=G, sample_weight=WEIGHT, cluster=UNIT, groups=ORDER
    )
    found = fs.disparate_impact(
        P,
        sensitive_features=of_text(G),
        sample_weight=of_numbers(WEIGHT),
        cluster=of_numbers(UNIT),
        groups=ORDER,
    )
    # clusters named by text are summed in another order: the last digit may differ
    pd.testing.assert_frame_equal(numbers(found), numbers(wanted), rtol=1e-13, atol=0)


def test_the_estimates_by_counting() -> None:
    result = fs.disparate_impact(P, sensitive_features=G, reference="south")
    rate = {g: np.mean([p for p, h in zip(P, G, strict=True) if h == g]) for g in set(G)}
    for c in result.comparisons:
        assert c.estimate == pytest.approx(rate[c.group] / rate["south"], rel=1e-14)


LABELS: dict[str, tuple[list[Any], Any]] = {
    "0/1": ([0, 1], None),
    "0.0/1.0": ([0.0, 1.0], None),
    "booleans": ([False, True], None),
    "-1/1": ([-1, 1], None),
    "1/2": ([1, 2], 2),
    "2/1": ([2, 1], 1),
    "text": (["denied", "granted"], "granted"),
    "text with spaces": ([" <=50K", " >50K"], " >50K"),
    "dates": ([pd.Timestamp("2020-01-01"), pd.Timestamp("2021-01-01")], pd.Timestamp("2021-01-01")),
    "1.5/2.5": ([1.5, 2.5], 2.5),
    "1.0 named": ([0.0, 1.0], 1.0),
    "True named": ([False, True], True),
}


@pytest.mark.parametrize("name", LABELS)
def test_any_labels(name: str) -> None:
    values, pos_label = LABELS[name]
    wanted = fs.equalized_odds_difference(Y, P, sensitive_features=G)
    found = fs.equalized_odds_difference(
        [values[v] for v in Y], [values[v] for v in P], sensitive_features=G, pos_label=pos_label
    )
    pd.testing.assert_frame_equal(numbers(found), numbers(wanted), check_exact=True)


def test_labels_of_two_kinds() -> None:
    wanted = fs.equalized_odds_difference(Y, P, sensitive_features=G)
    found = fs.equalized_odds_difference(
        [["bad", "good"][v] for v in Y],
        [[1, 2][v] for v in P],
        sensitive_features=G,
        pos_label={"y_true": "good", "y_pred": 2},
    )
    pd.testing.assert_frame_equal(numbers(found), numbers(wanted), check_exact=True)


def test_one_class_against_the_rest() -> None:
    classes = [["low", "medium", "high"][v] for v in RNG.integers(0, 3, N)]
    wanted = fs.disparate_impact([int(c == "low") for c in classes], sensitive_features=G)
    found = fs.disparate_impact(classes, sensitive_features=G, pos_label="low")
    pd.testing.assert_frame_equal(numbers(found), numbers(wanted), check_exact=True)


INTERSECTIONS: dict[str, Any] = {
    "mapping": {"region": G, "type": R},
    "pandas": pd.DataFrame({"region": G, "type": R}),
    "pandas categories": pd.DataFrame({"region": pd.Categorical(G), "type": R}),
    "polars": pl.DataFrame({"region": G, "type": R}),
    "polars lazy": pl.LazyFrame({"region": G, "type": R}),
    "pyarrow": pa.table({"region": G, "type": R}),
    "numpy": np.array([G, R]).T,
    "rows": list(map(list, zip(G, R, strict=True))),
}


@pytest.mark.parametrize("kind", INTERSECTIONS)
def test_intersections_are_groups(kind: str) -> None:
    joined = [f"{g} & {r}" for g, r in zip(G, R, strict=True)]
    order = sorted(set(joined))
    wanted = fs.disparate_impact(P, sensitive_features=joined, groups=order, reference="south & x")
    found = fs.disparate_impact(
        P, sensitive_features=INTERSECTIONS[kind], groups=order, reference=("south", "x")
    )
    pd.testing.assert_frame_equal(numbers(found), numbers(wanted), check_exact=True)


@pytest.mark.parametrize("kind", ["pandas", "polars", "polars lazy", "pyarrow"])
def test_counts_from_a_frame(kind: str) -> None:
    make = {
        "pandas": pd.DataFrame,
        "polars": pl.DataFrame,
        "polars lazy": pl.LazyFrame,
        "pyarrow": pa.table,
    }[kind]
    frame = make({"y": Y, "p": P, "g": G})
    counts = fs.ConfusionCounts.from_frame(frame, y_true="y", y_pred="p", sensitive_features="g")
    wanted = fs.average_odds_difference(Y, P, sensitive_features=G)
    pd.testing.assert_frame_equal(
        numbers(fs.average_odds_difference(counts=counts)), numbers(wanted), check_exact=True
    )


@pytest.mark.parametrize(
    "make",
    [pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.table],
    ids=["pandas", "polars", "polars lazy", "pyarrow"],
)
def test_a_frame_of_counts(make: Any) -> None:
    wanted = fs.disparate_impact(counts={"a": (10, 20), "b": (20, 20)})
    two = make({"group": ["a", "b"], "selected": [10, 20], "not_selected": [20, 20]})
    pd.testing.assert_frame_equal(
        numbers(fs.disparate_impact(counts=two)), numbers(wanted), check_exact=True
    )
    four = make({"group": ["a", "b"], "tp": [6, 12], "fp": [4, 8], "fn": [8, 10], "tn": [12, 10]})
    pd.testing.assert_frame_equal(
        numbers(fs.disparate_impact(counts=four)), numbers(wanted), check_exact=True
    )


def test_polars_without_pandas_objects_leaking() -> None:
    """Only the columns that are needed are collected from a lazy frame, and nothing is written to
    it.
    """
    lazy = pl.LazyFrame({"y": Y, "p": P, "g": G, "never": G}).with_columns(
        pl.col("never").map_batches(
            lambda _: sys.exit("this column is not needed"), return_dtype=pl.String
        )
    )
    counts = fs.ConfusionCounts.from_frame(lazy, y_true="y", y_pred="p", sensitive_features="g")
    assert counts.n == N


def test_missing_policies() -> None:
    labels: list[Any] = list(Y)
    groups: list[Any] = list(G)
    labels[0] = groups[1] = None
    with pytest.raises(fs.InputError, match='missing="drop"'):
        fs.conditional_accuracy(labels, P, sensitive_features=groups)
    with pytest.warns(fs.FairstatsWarning, match=r"2 of 120 rows left out"):
        dropped = fs.conditional_accuracy(labels, P, sensitive_features=groups, missing="drop")
    wanted = fs.conditional_accuracy(Y[2:], P[2:], sensitive_features=G[2:])
    pd.testing.assert_frame_equal(numbers(dropped), numbers(wanted), check_exact=True)
    groups[2:8] = [None] * 6
    grouped = fs.demographic_parity_difference(Y, P, sensitive_features=groups, missing="group")
    assert "(missing)" in grouped.to_frame()["group"].tolist()
