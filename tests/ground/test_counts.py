"""Count tables: pandas' crosstab is the witness of the counts, a loop over units that of the
scatter.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairstats import ConfusionCounts
from fairstats.ground.counts import CellCounts, confusion_cells
from fairstats.ground.errors import InputError, MissingValuesWarning
from fairstats.ground.outcomes import Outcomes
from fairstats.ground.scores import ScoreCounts
from fairstats.results import PairedCounts, SelectionCounts

pl = pytest.importorskip("polars", reason="polars is not installed")
pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")

ROWS = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.integers(0, 1),
        st.sampled_from("abc"),
        st.floats(0.1, 9),
        st.integers(0, 4),
    ),
    min_size=2,
    max_size=40,
)


def columns_of(rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["y", "p", "g", "w", "u"])


def cell_of(y: int, p: int) -> str:
    return {(1, 1): "tp", (0, 1): "fp", (1, 0): "fn", (0, 0): "tn"}[y, p]


# ---------------------------------------------------------------- counting rows


@given(ROWS)
def test_confusion_counts_are_the_crosstab(rows: list[tuple[Any, ...]]) -> None:
    frame = columns_of(rows)
    counts = ConfusionCounts.from_arrays(frame["y"], frame["p"], sensitive_features=frame["g"])
    cell = [cell_of(y, p) for y, p in zip(frame["y"], frame["p"], strict=True)]
    wanted = pd.crosstab(frame["g"], pd.Series(cell)).reindex(
        index=list(counts.groups), columns=list(counts.cells), fill_value=0
    )
    np.testing.assert_array_equal(counts.totals, wanted.to_numpy())
    np.testing.assert_array_equal(counts.rows, wanted.to_numpy())
    assert counts.n == len(frame)
    assert counts.n_units == len(frame)
    assert counts.scatter is None
    assert not counts.weighted
    assert counts.degrees_of_freedom == np.inf


@given(ROWS)
def test_weighted_totals_are_sums_of_weights(rows: list[tuple[Any, ...]]) -> None:
    frame = columns_of(rows)
    counts = ConfusionCounts.from_arrays(
        frame["y"], frame["p"], sensitive_features=frame["g"], sample_weight=frame["w"]
    )
    frame["cell"] = [cell_of(y, p) for y, p in zip(frame["y"], frame["p"], strict=True)]
    for g, group in enumerate(counts.groups):
        for c, cell in enumerate(counts.cells):
            part = frame[(frame["g"] == group) & (frame["cell"] == cell)]
            assert counts.totals[g, c] == pytest.approx(
                part["w"].sum(), rel=1e-13
            )  # order of summation
            assert counts.rows[g, c] == len(part)
    assert counts.degrees_of_freedom == len(frame) - 1


def scatter_by_hand(frame: pd.DataFrame, counts: CellCounts, unit: pd.Series) -> np.ndarray:
    """Σ over units of t tᵀ, one unit at a time."""
    place = {
        (g, c): i for i, (g, c) in enumerate((g, c) for g in counts.groups for c in counts.cells)
    }
    scatter = np.zeros((len(place), len(place)))
    for _, part in frame.groupby(unit.to_numpy()):
        total = np.zeros(len(place))
        for _, row in part.iterrows():
            total[place[row["g"], cell_of(row["y"], row["p"])]] += row["w"]
        scatter += np.outer(total, total)
    return scatter


@given(ROWS)
def test_scatter_over_rows(rows: list[tuple[Any, ...]]) -> None:
    frame = columns_of(rows)
    counts = ConfusionCounts.from_arrays(
        frame["y"], frame["p"], sensitive_features=frame["g"], sample_weight=frame["w"]
    )
    assert counts.scatter is not None
    wanted = scatter_by_hand(frame, counts, pd.Series(range(len(frame))))
    np.testing.assert_allclose(counts.scatter, wanted, rtol=1e-12, atol=1e-12)


@given(ROWS)
def test_scatter_over_clusters(rows: list[tuple[Any, ...]]) -> None:
    frame = columns_of(rows)
    arguments = {
        "sensitive_features": frame["g"],
        "sample_weight": frame["w"],
        "cluster": [f"u{u}" for u in frame["u"]],
    }
    n_clusters = frame["u"].nunique()
    counts = ConfusionCounts.from_arrays(frame["y"], frame["p"], **arguments)
    if n_clusters < 2:  # a part of a sum may have one, a variance may not
        with pytest.raises(InputError, match="`cluster`: got 1 sampling unit"):
            counts.covariance()
        return
    assert counts.scatter is not None
    np.testing.assert_allclose(
        counts.scatter, scatter_by_hand(frame, counts, frame["u"]), rtol=1e-12, atol=1e-12
    )
    assert counts.n_units == n_clusters
    assert counts.degrees_of_freedom == n_clusters - 1
    assert counts.clustered


def test_many_clusters_are_taken_in_blocks(rng: np.random.Generator) -> None:
    """150,000 clusters of two rows are several blocks; the scatter is known in closed form."""
    n = 150_000
    y = np.ones(2 * n, dtype=int)
    p = np.ones(2 * n, dtype=int)
    groups = np.tile(["a", "b"], n)
    counts = ConfusionCounts.from_arrays(
        y, p, sensitive_features=groups, cluster=rng.permutation(n).repeat(2)
    )
    assert counts.scatter is not None
    wanted = np.zeros((8, 8))
    wanted[np.ix_([0, 4], [0, 4])] = n
    np.testing.assert_array_equal(counts.scatter, wanted)


def test_more_rows_than_one_block(rng: np.random.Generator) -> None:
    """Counting goes in blocks of 2^20 rows; witness: `numpy.bincount` in one go."""
    n = 2_500_000
    y = rng.integers(0, 2, n)
    p = rng.integers(0, 2, n)
    g = rng.integers(0, 3, n)
    counts = ConfusionCounts.from_arrays(y, p, sensitive_features=g, groups=[0, 1, 2])
    wanted = np.bincount(g * 4 + 3 - 2 * p - y, minlength=12).reshape(3, 4)
    np.testing.assert_array_equal(counts.rows, wanted)


# ---------------------------------------------------------------- covariance


@given(ROWS)
def test_unit_weights_are_no_weights_times_n_over_n_minus_1(rows: list[tuple[Any, ...]]) -> None:
    frame = columns_of(rows)
    plain = ConfusionCounts.from_arrays(frame["y"], frame["p"], sensitive_features=frame["g"])
    unit = ConfusionCounts.from_arrays(
        frame["y"], frame["p"], sensitive_features=frame["g"], sample_weight=np.ones(len(frame))
    )
    n = len(frame)
    np.testing.assert_allclose(
        unit.covariance(), plain.covariance() * n / (n - 1), rtol=1e-12, atol=1e-12
    )


def test_covariance_is_that_of_a_multinomial(rng: np.random.Generator) -> None:
    """Witness: the covariance of a million multinomial draws; four Monte Carlo standard errors."""
    counts = SelectionCounts.from_counts({"a": (12, 18), "b": (5, 15)})
    draws = rng.multinomial(50, counts.totals.ravel() / 50, size=1_000_000)
    error = 4 * np.sqrt(2 / 1_000_000) * np.outer(draws.std(0), draws.std(0))
    assert (np.abs(np.cov(draws.T) - counts.covariance()) < error).all()


# ---------------------------------------------------------------- tables from counts

TABLE = {"a": (4, 3, 2, 1), "b": (1, 2, 3, 4)}


@pytest.mark.parametrize(
    "counts",
    [
        TABLE,
        {"a": [4, 3, 2, 1], "b": np.array([1, 2, 3, 4])},
        {"a": {"tn": 1, "tp": 4, "fp": 3, "fn": 2}, "b": {"tp": 1, "fp": 2, "fn": 3, "tn": 4}},
        {"a": (4.0, 3.0, 2.0, 1.0), "b": (1, 2, 3, 4)},
        pd.DataFrame(
            {"group": ["a", "b"], "tp": [4, 1], "fp": [3, 2], "fn": [2, 3], "tn": [1, 4], "more": 0}
        ),
        pd.DataFrame({"tp": [4, 1], "fp": [3, 2], "fn": [2, 3], "tn": [1, 4]}, index=["a", "b"]),
        pl.DataFrame({"group": ["a", "b"], "tp": [4, 1], "fp": [3, 2], "fn": [2, 3], "tn": [1, 4]}),
        pa.table({"group": ["a", "b"], "tp": [4, 1], "fp": [3, 2], "fn": [2, 3], "tn": [1, 4]}),
    ],
    ids=["tuples", "sequences", "names", "floats", "frame", "frame by index", "polars", "pyarrow"],
)
def test_from_counts(counts: Any) -> None:
    table = ConfusionCounts.from_counts(counts)
    assert table.groups == ("a", "b")
    np.testing.assert_array_equal(table.totals, [[4, 3, 2, 1], [1, 2, 3, 4]])
    assert table.n == 20


def test_from_counts_is_counting_rows() -> None:
    y = [1, 1, 0, 0, 1, 0]
    p = [1, 0, 0, 1, 1, 0]
    g = list("aaabbb")
    rows = ConfusionCounts.from_arrays(y, p, sensitive_features=g)
    again = ConfusionCounts.from_counts(rows.to_frame())
    np.testing.assert_array_equal(rows.totals, again.totals)
    assert rows.groups == again.groups


def test_from_counts_in_a_given_order() -> None:
    assert ConfusionCounts.from_counts(TABLE, groups=["b", "a"]).groups == ("b", "a")


BAD_COUNTS = {
    "negative": ({"a": (4, -3, 2, 1)}, "`counts`: got fp = -3 in group 'a'"),
    "fractional": ({"a": (4, 3.5, 2, 1)}, "`counts`: got fp = 3.5 in group 'a'.*sample_weight"),
    "NaN": ({"a": (4, float("nan"), 2, 1)}, "`counts`: got fp = nan"),
    "infinite": ({"a": (4, float("inf"), 2, 1)}, "`counts`: got fp = inf"),
    "three cells": (
        {"a": (4, 3, 2)},
        "`counts`: got .* for group 'a'; allowed: 4 counts: tp, fp, fn, tn",
    ),
    "wrong names": ({"a": {"tp": 1, "fp": 1, "fn": 1, "TN": 1}}, "`counts`: got .* for group 'a'"),
    "a number": ({"a": 5}, "`counts`: got 5 for group 'a'"),
    "text": ({"a": ("4", "x", "2", "1")}, "`counts`"),
    "None": ({"a": (None, 3, 2, 1)}, "`counts`"),
    "empty": ({}, "`counts`: got no group"),
    "no mapping": ([(4, 3, 2, 1)], "`counts`: got list; allowed: a mapping group"),
    "text alone": ("abc", "`counts`: got str"),
    "no column": (
        pd.DataFrame({"group": ["a"], "tp": [1]}),
        "`counts`: got no column 'fp', 'fn', 'tn'",
    ),
    "group twice": (
        pd.DataFrame({"group": ["a", "a"], "tp": [1, 1], "fp": [1, 1], "fn": [1, 1], "tn": [1, 1]}),
        "`counts`: got a group twice",
    ),
    "two groups that read alike": ({1: (1, 1, 1, 1), "1": (2, 2, 2, 2)}, "`counts`"),
}


@pytest.mark.parametrize("case", BAD_COUNTS)
def test_bad_counts(case: str) -> None:
    counts, words = BAD_COUNTS[case]
    with pytest.raises(InputError, match=words):
        ConfusionCounts.from_counts(counts)


@pytest.mark.parametrize("groups", [["a"], ["a", "b", "c"], ["a", "a"]], ids=str)
def test_bad_order_of_counts(groups: list[str]) -> None:
    with pytest.raises(InputError, match="`groups`: got"):
        ConfusionCounts.from_counts(TABLE, groups=groups)


# ---------------------------------------------------------------- from a frame

FRAME = {
    "y": [1, 0, 1, 0],
    "p": [1, 1, 0, 0],
    "sex": ["F", "M", "F", "M"],
    "race": ["x", "x", "y", "y"],
    "w": [1.0, 2.0, 3.0, 4.0],
    "u": [1, 1, 2, 2],
}


@pytest.mark.parametrize(
    "make", [pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.table], ids=lambda f: f.__module__
)
def test_from_frame(make: Any) -> None:
    names = {"y_true": "y", "y_pred": "p"}
    counts = ConfusionCounts.from_frame(make(FRAME), **names, sensitive_features="sex")
    assert counts.groups == ("F", "M")
    assert counts.attributes == ("sex",)
    np.testing.assert_array_equal(counts.totals, [[1, 0, 1, 0], [0, 1, 0, 1]])
    crossed = ConfusionCounts.from_frame(
        make(FRAME), **names, sensitive_features=["sex", "race"], sample_weight="w", cluster="u"
    )
    assert set(crossed.groups) == {"F & x", "M & x", "F & y", "M & y"}
    assert crossed.totals.sum() == 10
    assert crossed.n_units == 2


def test_from_frame_without_the_column() -> None:
    with pytest.raises(
        InputError, match="`frame`: got no column 'gender'; allowed: its columns: 'y', 'p', 'sex'"
    ):
        ConfusionCounts.from_frame(
            pd.DataFrame(FRAME), y_true="y", y_pred="p", sensitive_features="gender"
        )


# ---------------------------------------------------------------- views of a table


def test_totals() -> None:
    counts = ConfusionCounts.from_counts(TABLE)
    np.testing.assert_array_equal(counts.total("tp", "fn"), [6, 4])
    np.testing.assert_array_equal(counts.group_sizes, [10, 10])


def test_selection_merges_cells() -> None:
    selection = ConfusionCounts.from_counts(TABLE).selection()
    assert isinstance(selection, SelectionCounts)
    np.testing.assert_array_equal(selection.totals, [[7, 3], [3, 7]])


@given(ROWS)
def test_merging_cells_is_counting_without_them(rows: list[tuple[Any, ...]]) -> None:
    frame = columns_of(rows)
    arguments = {"sensitive_features": frame["g"], "sample_weight": frame["w"]}
    merged = ConfusionCounts.from_arrays(frame["y"], frame["p"], **arguments).selection()
    direct = SelectionCounts._from_outcomes(Outcomes.from_arrays(None, frame["p"], **arguments))
    np.testing.assert_allclose(merged.totals, direct.totals, rtol=1e-13)
    np.testing.assert_allclose(merged.covariance(), direct.covariance(), rtol=1e-12, atol=1e-12)
    assert merged.n_units == direct.n_units


def test_paired_counts_hold_both_models() -> None:
    paired = PairedCounts.from_counts({"a": (1, 2, 3, 4, 5, 6, 7, 8)})
    # cells yab: 111 110 101 100 011 010 001 000
    assert paired.confusion(0).totals.tolist() == [[3, 11, 7, 15]]
    assert paired.confusion(1).totals.tolist() == [[4, 12, 6, 14]]


def test_confusion_cells_need_both_columns() -> None:
    with pytest.raises(InputError, match="`y_true`: got None"):
        ConfusionCounts._from_outcomes(
            Outcomes.from_arrays(None, [1, 0], sensitive_features=["a", "b"])
        )
    with pytest.raises(InputError, match="`y_pred`: got None"):
        SelectionCounts._from_outcomes(
            Outcomes.from_arrays([1, 0], None, sensitive_features=["a", "b"])
        )
    cells = confusion_cells(
        Outcomes.from_arrays([1, 0, 1, 0], [1, 1, 0, 0], sensitive_features=list("aaaa"))
    )
    assert cells.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("argument", "call"),
    [
        ("outcomes", lambda: ConfusionCounts._from_outcomes([1, 0])),  # type: ignore[arg-type]
        ("outcomes", lambda: SelectionCounts._from_outcomes(None)),  # type: ignore[arg-type]
        ("outcomes", lambda: ScoreCounts._from_outcomes(None)),  # type: ignore[arg-type]
        ("outcomes", lambda: ConfusionCounts._count_rows(None, np.array([0]))),  # type: ignore[arg-type]
        ("cell", lambda: ConfusionCounts._count_rows(ROWS, np.array([0, 4]))),
        ("cell", lambda: ConfusionCounts._count_rows(ROWS, np.array([0]))),
        ("cell", lambda: ConfusionCounts._count_rows(ROWS, None)),  # type: ignore[arg-type]
        ("kind", lambda: PAIR._merge_cells(None, np.eye(4))),  # type: ignore[type-var]
        ("mapping", lambda: PAIR._merge_cells(SelectionCounts, np.eye(4))),
        ("mapping", lambda: PAIR._merge_cells(SelectionCounts, None)),  # type: ignore[arg-type]
        ("groups", lambda: PAIR._with_new_groups(3, [0, 0])),  # type: ignore[arg-type]
        ("position", lambda: PAIR._with_new_groups(("all",), [0, 1])),
        ("position", lambda: PAIR._with_new_groups(("all",), [0])),
        ("position", lambda: PAIR._with_new_groups(("all",), None)),  # type: ignore[arg-type]
    ],
)
def test_parts_name_the_argument_they_cannot_use(argument: str, call: Any) -> None:
    with pytest.raises(InputError, match=f"^`{argument}`: got "):
        call()


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda: PAIR._with_new_groups(("x", "y"), [0, 2]),
            "`position`: got [0, 2]; allowed: for each group one of 0 to 1, its new place.",
        ),
        (
            lambda: PAIR._merge_cells(SelectionCounts, np.eye(4)),
            "`mapping`: got ndarray of shape (4, 4); allowed: zeros and ones in shape (4, 2).",
        ),
        (
            lambda: ConfusionCounts._count_rows(ROWS, np.array([0, -1])),
            (
                "`cell`: got ndarray of shape (2,); allowed: the number of the cell of every row,"
                " from 0 to 3."
            ),
        ),
        (
            lambda: PAIR._left_out_report({("a", 1, 1): 3}),
            (
                "`left_out`: got ('a', 1, 1); allowed: numbers of rows by (group, y_true, y_pred),"
                " None for unknown. To fix: {(None, 1): 5, (None, 0): 20}, say."
            ),
        ),
        (
            lambda: SelectionCounts.from_counts({"a": (1, 2)}, left_out={(None, 2): 2}),
            (
                "`left_out`: got (None, 2); allowed: numbers of rows by (group, y_pred), None for"
                " unknown. To fix: {(None, 1): 5, (None, 0): 20}, say."
            ),
        ),
        (
            lambda: SelectionCounts.from_counts({"a": (1, 2), "b": (1.5, 2)}),
            (
                "`counts`: got selected = 1.5 in group 'b'; allowed: whole numbers ≥ 0. To fix:"
                " pass row counts; weighted data go in row by row with sample_weight=."
            ),
        ),
        (
            lambda: ConfusionCounts.from_effective({"a": {"tp": 1, "fp": -0.5, "fn": 1, "tn": 1}}),
            (
                "`counts`: got fp = -0.5 in group 'a'; allowed: finite numbers ≥ 0, whole or"
                " effective. To fix: pass row counts; weighted data go in row by row with"
                " sample_weight=."
            ),
        ),
        (
            lambda: ConfusionCounts.from_effective({"a": (1, 2, 3, 4)}),
            (
                "`counts`: got (1, 2, 3, 4); allowed: the cells tp, fp, fn, tn by name. "
                "To fix: {'tp': 10, 'fp': 11, 'fn': 12, 'tn': 13}."
            ),
        ),
        (
            lambda: SelectionCounts.from_counts({"a": (1, 2, 3)}),
            (
                "`counts`: got (1, 2, 3) for group 'a'; allowed: 2 counts: selected, not_selected."
                " To fix: pass them in this order, or as a mapping with these names."
            ),
        ),
        (
            lambda: SelectionCounts.from_counts(3),
            (
                "`counts`: got int; allowed: a mapping group → (selected, not_selected), or a frame"
                " with these columns. To fix: e.g. {'a': (10, 11), 'b': …}."
            ),
        ),
        (
            lambda: SelectionCounts.from_counts({"a": (1, 2), "b": (3, 4)}, groups=["b"]),
            (
                "`groups`: got ['b']; allowed: the groups of `counts` ['a', 'b'] in some order. To"
                " fix: name every group of `counts` once."
            ),
        ),
        (
            lambda: SelectionCounts.from_counts({1: (1, 2), "1": (3, 4)}),
            "`counts`: got [1, '1']; allowed: groups that do not read alike. To fix: rename one.",
        ),
    ],
)
def test_parts_say_what_they_take(call: Any, said: str) -> None:
    """Written down by hand."""
    with pytest.raises(InputError) as problem:
        call()
    assert str(problem.value) == said


ROWS = Outcomes.from_arrays([1, 0], [1, 1], sensitive_features=["a", "b"])
PAIR = ConfusionCounts.from_counts({"a": (1, 2, 3, 4), "b": (4, 3, 2, 1)})


def test_cells_after_dropping_rows() -> None:
    """The codes of labels with gaps are signed, those without are not: the cells are the same."""
    with pytest.warns(MissingValuesWarning):
        counts = ConfusionCounts.from_arrays(
            [1, None, 0, 0, 1], [1, 1, 1, 0, 0], sensitive_features=list("aaaaa"), missing="drop"
        )
    assert counts.totals.tolist() == [[1, 1, 1, 1]]


def test_tables_print_and_become_frames() -> None:
    counts = ConfusionCounts.from_counts(TABLE)
    frame = counts.to_frame()
    assert frame.columns.tolist() == ["group", "tp", "fp", "fn", "tn", "n"]
    assert frame["tp"].dtype == "int64"
    assert "tp" in str(counts)


@pytest.mark.parametrize("n_units", [0, 1])
def test_one_sampling_unit_has_no_variance(n_units: int) -> None:
    if n_units == 0:
        with pytest.raises(InputError, match="0 rows"):
            ConfusionCounts.from_arrays([], [], sensitive_features=[], sample_weight=[])
        return
    counts = ConfusionCounts.from_arrays([1], [1], sensitive_features=["a"], sample_weight=[2.0])
    with pytest.raises(InputError, match="`sample_weight`: got 1 sampling unit"):
        counts.covariance()


# ---------------------------------------------------------------- score counts

SCORED = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 30), st.sampled_from("ab")), min_size=1, max_size=80
)


@given(SCORED)
def test_score_counts_are_the_crosstab(rows: list[tuple[int, int, str]]) -> None:
    y, score, g = (np.array(v) for v in zip(*rows, strict=True))
    counts = ScoreCounts._from_outcomes(
        Outcomes.from_arrays(y, score=score / 30, sensitive_features=g)
    )
    np.testing.assert_array_equal(counts.values, np.unique(score) / 30)
    for place, group in enumerate(counts.groups):
        for label in (0, 1):
            wanted = [np.sum((g == group) & (y == label) & (score == v)) for v in np.unique(score)]
            assert counts.counts[place, label].tolist() == wanted
    assert counts.group_sizes.sum() == len(rows)


@given(SCORED, st.integers(1, 12))
def test_bins_merge_neighbours_and_lose_nobody(
    rows: list[tuple[int, int, str]], n_bins: int
) -> None:
    y, score, g = (np.array(v) for v in zip(*rows, strict=True))
    counts = ScoreCounts._from_outcomes(
        Outcomes.from_arrays(y, score=score / 30, sensitive_features=g)
    )
    merged = counts._merge_into_bins(n_bins)
    assert merged.values.size <= n_bins or merged is counts
    np.testing.assert_array_equal(merged.counts.sum(axis=2), counts.counts.sum(axis=2))
    assert merged.values[-1] == counts.values[-1]
    ends = np.searchsorted(counts.values, merged.values)
    np.testing.assert_array_equal(
        np.cumsum(merged.counts, axis=2), np.cumsum(counts.counts, axis=2)[:, :, ends]
    )


# ---------------------------------------------------------------- scores


def some_scores(seed: int, *, weighted: bool) -> tuple[Outcomes, pd.DataFrame]:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"g": rng.choice(["a", "b", "c"], 90), "y": rng.integers(0, 2, 90)})
    frame["s"] = rng.integers(0, 30, 90) / 30
    frame["w"] = rng.random(90) + 0.5 if weighted else 1.0
    weight = frame["w"] if weighted else None
    given = {"score": frame["s"], "sensitive_features": frame["g"], "groups": ["a", "b", "c"]}
    return Outcomes.from_arrays(frame["y"], None, sample_weight=weight, **given), frame


@pytest.mark.parametrize("weighted", [False, True])
def test_merged_scores_by_plain_loops(weighted: bool) -> None:
    """Intervals of ten rows or more, their cost and error of the AUC, and cuts, one row after the
    other.
    """
    outcomes, frame = some_scores(4, weighted=weighted)
    single = ScoreCounts._from_outcomes(outcomes)
    assert (single.cost, single.auc_error.tolist()) == (0.0, [0.0] * 3)
    assert not single._splits_interval(np.array([0.5]))
    wanted = []
    held = 0
    for value in sorted(frame["s"].unique()):
        if held == 0:
            wanted.append([value, value])
        wanted[-1][1] = value
        held += int((frame["s"] == value).sum())
        held = 0 if held >= 10 else held
    if held:  # what is left at the end joins the interval before
        last = wanted.pop()
        wanted[-1][1] = last[1]
    merged = single._merge_small_intervals(10)
    assert merged.lower is not None
    assert np.column_stack([merged.lower, merged.values]).tolist() == wanted
    errors = np.zeros(3)
    cost = 0.0
    for k, (low, high) in enumerate(wanted):
        inside = frame["s"].between(low, high)
        for g, name in enumerate("abc"):
            own = frame["g"] == name
            for label in (0, 1):
                rows = own & inside & (frame["y"] == label)
                assert merged.counts[g, label, k] == rows.sum()
                if weighted:
                    assert merged.totals is not None
                    assert merged.squares is not None
                    assert merged.totals[g, label, k] == pytest.approx(frame["w"][rows].sum())
                    assert merged.squares[g, label, k] == pytest.approx(
                        (frame["w"][rows] ** 2).sum()
                    )
            if low < high:
                cost = max(cost, (own & inside).sum() / own.sum())
                shares = [
                    frame["w"][own & inside & (frame["y"] == y)].sum()
                    / frame["w"][own & (frame["y"] == y)].sum()
                    for y in (0, 1)
                ]
                errors[g] += shares[0] * shares[1] / 2
    assert merged.cost == pytest.approx(cost)
    np.testing.assert_allclose(merged.auc_error, errors, rtol=1e-12)
    assert merged.weighted is weighted
    for edge in np.arange(0, 60) / 60:
        between = any(low < edge <= high for low, high in wanted)
        assert merged._splits_interval(np.array([edge])) is between


@pytest.mark.parametrize("weighted", [False, True])
def test_scores_add_up(weighted: bool) -> None:
    """Counting two sets of rows together, exactly; of intervals those that overlap become one."""
    parts = [some_scores(seed, weighted=weighted) for seed in (1, 2)]
    one, two = (ScoreCounts._from_outcomes(outcomes) for outcomes, _ in parts)
    both = one + two
    frame = pd.concat([rows for _, rows in parts])
    assert both.lower is None
    assert both.values.tolist() == sorted(frame["s"].unique())
    for g, name in enumerate("abc"):
        for label in (0, 1):
            own = frame[(frame["g"] == name) & (frame["y"] == label)]
            counted = [(own["s"] == v).sum() for v in both.values]
            assert both.counts[g, label].tolist() == counted
            if weighted:
                assert both.totals is not None
                sums = [own["w"][own["s"] == v].sum() for v in both.values]
                np.testing.assert_allclose(both.totals[g, label], sums)
    mixed = one._merge_small_intervals(10) + two
    assert mixed.lower is not None
    assert (mixed.lower <= mixed.values).all()
    assert (mixed.lower[1:] > mixed.values[:-1]).all()
    np.testing.assert_array_equal(mixed.counts.sum(axis=2), both.counts.sum(axis=2))
    merged = one._merge_small_intervals(10)
    for low, high in zip(mixed.lower, mixed.values, strict=True):
        assert merged.lower is not None
        reach = [
            (a, b)
            for a, b in zip(merged.lower, merged.values, strict=True)
            if low <= a and b <= high
        ]
        assert (low, high) in reach or low == high
        inside = frame["s"].between(low, high).sum()
        assert mixed.counts[:, :, mixed.values == high].sum() == inside
    moved = both._with_new_groups(("y", "x"), [1, 0, 1])
    assert moved.groups == ("y", "x")
    np.testing.assert_array_equal(moved.counts, [both.counts[1], both.counts[0] + both.counts[2]])


def test_bins_of_about_equal_size() -> None:
    """A bin ends at the first score where the share of the rows reaches k/m."""
    outcomes, frame = some_scores(7, weighted=False)
    counts = ScoreCounts._from_outcomes(outcomes)
    weight = np.ones(90)
    values = np.sort(frame["s"].unique())
    share = np.array([weight[frame["s"] <= v].sum() for v in values]) / weight.sum()
    ends = sorted({int(np.argmax(share >= k / 6 - 1e-9)) for k in range(1, 7)})
    merged = counts._merge_into_bins(6)
    assert merged.values.tolist() == values[ends].tolist()
    assert merged.counts.sum() == 90
    assert counts._merge_into_bins(values.size) is counts
