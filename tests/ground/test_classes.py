"""The part `classes` of a tally. Witnesses: counts by hand, and the same rows of two labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairstats as fs
from fairstats.ground.errors import MissingValuesWarning
from fairstats.results import ClassCounts

CLASSES = ["low", "medium", "high"]
COLUMNS = {"y_true": "y", "y_pred": "hat", "sensitive_features": "g"}


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(35)
    n = 400
    y = rng.choice(CLASSES, n, p=[0.5, 0.35, 0.15])
    hat = np.where(rng.random(n) < 0.65, y, rng.choice(CLASSES, n))
    columns = {"y": y, "hat": hat, "g": rng.choice(["a", "b"], n), "h": rng.choice(["u", "v"], n)}
    return pd.DataFrame({**columns, "w": rng.integers(1, 4, n), "c": np.arange(n) // 3})


def same(ours: ClassCounts, theirs: ClassCounts) -> None:
    assert (ours.groups, ours.classes) == (theirs.groups, theirs.classes)
    assert (ours.labelled, ours.ordered) == (theirs.labelled, theirs.ordered)
    np.testing.assert_array_equal(ours.rows, theirs.rows)
    np.testing.assert_allclose(ours.totals, theirs.totals, rtol=1e-12)
    if theirs.scatter is not None:
        assert ours.scatter is not None
        np.testing.assert_allclose(ours.scatter, theirs.scatter, rtol=1e-12)
    assert ours.n_units == theirs.n_units


def test_counts_by_hand(frame: pd.DataFrame) -> None:
    counts = fs.tally(frame, **COLUMNS, classes=True, label_values=CLASSES).of_classes()
    wanted = pd.crosstab(
        frame["g"], [pd.Categorical(frame["y"], CLASSES), pd.Categorical(frame["hat"], CLASSES)]
    )
    for group, rows in zip(counts.groups, counts.rows, strict=True):
        assert rows.tolist() == wanted.loc[group].tolist()
    assert counts.ordered


@pytest.mark.parametrize("label", CLASSES)
@pytest.mark.parametrize("design", [{}, {"sample_weight": "w"}, {"cluster": "c"}])
def test_one_class_is_what_pos_label_counts(
    label: str, design: dict[str, str], frame: pd.DataFrame
) -> None:
    counts = fs.tally(frame, **COLUMNS, **design, classes=True).of_classes()
    ours = counts.one_against_rest(label)
    theirs = fs.tally(frame, **COLUMNS, **design, pos_label=label).confusion()
    np.testing.assert_array_equal(ours.totals, theirs.totals)
    np.testing.assert_array_equal(ours.covariance(), theirs.covariance())


@pytest.mark.parametrize("design", [{}, {"sample_weight": "w"}, {"cluster": "c"}])
@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize("columns", [COLUMNS, {"y_pred": "hat", "sensitive_features": ["g", "h"]}])
def test_engines_count_alike(
    engine: str, design: dict[str, str], columns: dict[str, Any], frame: pd.DataFrame
) -> None:
    pytest.importorskip(engine)
    options = {**columns, **design, "classes": True}
    by_rows = fs.tally(frame, **options)
    by_engine = fs.tally(frame, **options, engine=engine)
    same(by_engine.of_classes(), by_rows.of_classes())


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("design", [{}, {"cluster": "c"}])
def test_json_and_sums(exact: bool, design: dict[str, str], frame: pd.DataFrame) -> None:
    options = {**COLUMNS, **design, "classes": True}
    whole = fs.tally(frame, **options)
    same(fs.Tally.from_json(whole.to_json(exact=exact)).of_classes(), whole.of_classes())
    cut = 201  # between two clusters
    first, second = (fs.tally(part, **options) for part in (frame[:cut], frame[cut:]))
    joined = first.add(second, disjoint_clusters=True)
    same(joined.of_classes(), whole.of_classes())


def test_months_with_other_classes_add_up() -> None:
    months = []
    for labels in (["b", "a", "b", "a"], ["c", "c", "b", "c"]):
        month = pd.DataFrame({"hat": labels, "g": ["f", "m", "f", "m"]})
        months.append(
            fs.tally(
                month,
                y_pred="hat",
                sensitive_features="g",
                classes=True,
                label_values=["c", "b", "a"],
            )
        )
    year = (months[0] + months[1]).of_classes()
    assert year.classes == ("c", "b", "a")
    assert year.rows.tolist() == [[1, 3, 0], [2, 0, 2]]


def test_orders_of_sums() -> None:
    def counts(*names: str, ordered: bool = True) -> ClassCounts:
        table = {"a": [1] * len(names), "b": [2] * len(names)}
        return ClassCounts.from_tables(table, classes=names)._with_order(names, ordered=ordered)

    numbers = counts("1", "3") + counts("2", "10")
    assert (numbers.classes, numbers.ordered) == (("1", "2", "3", "10"), True)
    nested = counts("low", "high") + counts("low", "medium", "high")
    assert (nested.classes, nested.ordered) == (("low", "medium", "high"), True)
    unlike = counts("low", "high") + counts("high", "low")
    assert not unlike.ordered
    assert unlike.rows.tolist() == [[2, 2], [4, 4]]
    assert not (counts("a", "b", ordered=False) + counts("a", "b")).ordered


@pytest.mark.parametrize(
    ("values", "names", "ordered"),
    [
        ([3, 1, 2, 10], ("1", "2", "3", "10"), True),
        (["3", "1", "2", "10"], ("1", "2", "3", "10"), True),
        (["b", "c", "a", "a"], ("a", "b", "c"), False),
        (pd.Categorical(["b", "c", "a", "a"]), ("a", "b", "c"), False),
        (
            pd.Categorical(["b", "c", "a", "a"], ["c", "b", "a"], ordered=True),
            ("c", "b", "a"),
            True,
        ),
    ],
)
def test_order_of_classes(values: Any, names: tuple[str, ...], ordered: bool) -> None:
    frame = pd.DataFrame({"hat": values, "g": ["f", "m", "f", "m"]})
    counted = fs.tally(frame, y_pred="hat", sensitive_features="g", classes=True).of_classes()
    assert (counted.classes, counted.ordered) == (names, ordered)


def test_rows_of_a_query_are_counted(frame: pd.DataFrame) -> None:
    keys = ["g", "y", "hat"]
    answer = frame.groupby(keys, as_index=False).agg(number_of_rows=("w", "size"), w=("w", "sum"))
    squares = frame.assign(w=frame["w"] ** 2).groupby(keys, as_index=False)["w"].sum()
    answer["w_squares"] = squares["w"]
    for design in ({}, {"sample_weight": "w"}):
        ours = fs.Tally.from_frame(answer, **COLUMNS, **design, classes=True)
        same(ours.of_classes(), fs.tally(frame, **COLUMNS, **design, classes=True).of_classes())


def test_missing_labels_are_left_out_and_counted(frame: pd.DataFrame) -> None:
    holed = frame.assign(y=frame["y"].where(np.arange(len(frame)) > 9))
    with pytest.warns(MissingValuesWarning, match="10 of 400 rows"):
        counted = fs.tally(holed, **COLUMNS, classes=True, missing="drop")
    assert counted.of_classes().n == 390
    assert counted.missing.n_dropped == 10
    with pytest.raises(fs.InputError, match="missing values"):
        fs.tally(holed, **COLUMNS, classes=True)


def test_by_itself_where_labels_are_several(frame: pd.DataFrame) -> None:
    assert fs.tally(frame, **COLUMNS, classes=None).classes is not None
    of_one = fs.tally(frame, **COLUMNS, classes=None, pos_label="high")
    assert of_one.classes is None
    with pytest.raises(fs.InputError, match="pass pos_label="):
        fs.tally(frame, **COLUMNS)


def test_other_parts_know_no_labels(frame: pd.DataFrame) -> None:
    scored = frame.assign(s=np.linspace(0, 1, len(frame)))
    counted = fs.tally(scored, **COLUMNS, score="s", features=["w"], classes=True)
    assert not counted.histogram().labelled
    assert counted.rows().y_true is None
    with pytest.raises(fs.InputError, match="tally without"):
        counted.confusion()
    with pytest.raises(fs.InputError, match="classes=True"):
        fs.tally(frame, **COLUMNS, pos_label="high").of_classes()


def test_a_tally_answers_as_its_rows(frame: pd.DataFrame) -> None:
    counted = fs.tally(frame, **{**COLUMNS, "sensitive_features": ["g", "h"]}, classes=True)
    ours = fs.disparate_impact(counts=counted.by("g"), classes="one-vs-rest")
    theirs = fs.disparate_impact(frame["hat"], sensitive_features=frame["g"], classes="one-vs-rest")
    pd.testing.assert_frame_equal(ours.to_frame(), theirs.to_frame())
    ordered = fs.disparate_impact(counts=counted, classes="ordered", label_values=CLASSES)
    assert ordered.class_counts.classes == tuple(CLASSES)


def test_stored_tables_are_checked(frame: pd.DataFrame) -> None:
    text = fs.tally(frame, **COLUMNS, classes=True).to_json()
    with pytest.raises(fs.InputError):
        fs.Tally.from_json(text.replace('"medium"', '"low"'))


def test_too_many_cells_of_weighted_rows() -> None:
    n = 400
    frame = pd.DataFrame(
        {"y": np.arange(n) % 20, "hat": np.arange(n) // 20, "g": np.arange(n) % 11}
    )
    frame["w"] = 1.5
    fs.tally(frame, **COLUMNS, classes=True)
    with pytest.raises(fs.InputError, match="4,096 cells"):
        fs.tally(frame, **COLUMNS, sample_weight="w", classes=True)
