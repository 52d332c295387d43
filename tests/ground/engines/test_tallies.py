"""A lazy table gives the tally of its rows. Witness throughout: the same rows counted by NumPy."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairstats as fs
from fairstats.ground.encoding import as_frame_columns
from fairstats.ground.engines import parts
from fairstats.ground.engines.parts import CELLS, edge_cells, farey_edges
from fairstats.ground.errors import DataWarning, EngineError, InputError
from fairstats.methods.madd.scores import farey_grid
from tests.ground.engines.frames import lazily, people, same, with_gaps

ALL = {
    "y_true": "y",
    "y_pred": "hat",
    "score": "score",
    "counterfactual_score": "flipped",
    "features": ("age", "job"),
    "sensitive_features": ("sex", "race", "old"),
    "pos_label": {"y_true": "yes", "y_pred": 1},
}
SHAPES = {
    "all parts": ALL,
    "two models": {**ALL, "y_pred_b": "hat_b"},
    "two models, clusters": {**ALL, "y_pred_b": "hat_b", "cluster": "school"},
    "weights": {**ALL, "sample_weight": "weight"},
    "clusters": {**ALL, "cluster": "school"},
    "weights, clusters, strata": {
        **ALL,
        "sample_weight": "weight",
        "cluster": "school",
        "strata": "site",
    },
    "predictions": {"y_pred": "hat", "sensitive_features": "race", "cluster": "school"},
    "labels": {"y_true": "y", "sensitive_features": "sex", "pos_label": "yes", "score": "score"},
    "scores": {"score": "score", "sensitive_features": "sex"},
    "an order": {"y_pred": "hat", "sensitive_features": "race", "groups": ["C", "A", "B"]},
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_lazy_table_gives_the_tally_of_its_rows(lazy, shape):
    frame = people(1, 1_500)
    same(fs.tally(lazy(frame), **SHAPES[shape]), fs.tally(frame, **SHAPES[shape]))


@pytest.mark.filterwarnings("ignore::fairstats.ground.errors.MissingValuesWarning")
@pytest.mark.parametrize(
    "shape", ["all parts", "weights, clusters, strata", "predictions", "scores"]
)
def test_rows_with_gaps_are_left_out_and_counted_alike(lazy, shape):
    frame = with_gaps(people(2, 900))
    options = {**SHAPES[shape], "missing": "drop"}
    same(fs.tally(lazy(frame), **options), fs.tally(frame, **options))


def test_missing_values_of_a_group_can_be_a_group(fast_lazy):
    frame = people(3, 400)
    frame.loc[::7, "race"] = None
    options = {**ALL, "missing": "group", "cluster": "school"}
    counted = fs.tally(fast_lazy(frame), **options)
    same(counted, fs.tally(frame, **options))
    assert "(missing)" in counted.by("race").groups


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10_000),
    st.integers(1, 40),
    st.sampled_from(list(SHAPES)),
    st.booleans(),
    st.sampled_from(["polars", "duckdb"]),
)
@pytest.mark.filterwarnings("ignore::fairstats.ground.errors.FairstatsWarning")
def test_small_tables_of_every_kind(seed, n, shape, gaps, engine):
    """Rows and engine agree: in the tally, or in the error that they raise."""
    frame = people(seed, n)
    options = {**SHAPES[shape], "missing": "drop"}
    if gaps:
        frame = with_gaps(frame)
    rows, found = (_tally_or_argument(f, options) for f in (frame, lazily(engine)(frame)))
    if isinstance(rows, str):
        assert found == rows
    else:
        same(found, rows)


def _tally_or_argument(frame, options):
    """The tally, or the argument that an error names."""
    try:
        return fs.tally(frame, **options)
    except InputError as problem:
        return problem.argument


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("hat", np.nan),
        ("race", None),
        ("score", 1.5),
        ("score", -0.1),
        ("weight", -1.0),
        ("weight", np.nan),
        ("weight", np.inf),
        ("flipped", np.nan),
    ],
)
def test_what_cannot_be_used_is_refused_in_the_same_words(fast_lazy, column, value):
    frame = people(4, 60)
    frame.loc[3, column] = value
    options = {**ALL, "sample_weight": "weight"}
    with pytest.raises(InputError) as rows:
        fs.tally(frame, **options)
    with pytest.raises(InputError) as engine:
        fs.tally(fast_lazy(frame), **options)
    assert str(engine.value) == str(rows.value)


def test_a_column_that_is_not_there_and_one_that_is_no_number(fast_lazy):
    frame = people(5, 30)
    with pytest.raises(InputError, match="no column 'gender'"):
        fs.tally(fast_lazy(frame), y_pred="hat", sensitive_features="gender")
    with pytest.raises(InputError, match="`score`: got a column of type String"):
        fs.tally(fast_lazy(frame), score="job", sensitive_features="sex")
    with pytest.raises(InputError, match="0 rows"):
        fs.tally(fast_lazy(frame.iloc[:0]), y_pred="hat", sensitive_features="sex")


def test_declared_orders_and_missing_numbers_survive():
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame(
        {
            "hat": [1, 0, None, 1, 0, 1],
            "race": pl.Series(list("ababba"), dtype=pl.Enum(["b", "c", "a"])),
        }
    )
    with pytest.warns(fs.FairstatsWarning):
        lazy, rows = (
            fs.tally(f, y_pred="hat", sensitive_features="race", missing="drop")
            for f in (frame.lazy(), frame)
        )
    assert lazy.groups == ("b", "a")
    assert lazy.orders == (("b", "c", "a"),)
    same(lazy, rows)


def test_decimal_scores_and_the_scale_of_scores(fast_lazy):
    duckdb = pytest.importorskip("duckdb")
    table = duckdb.sql(
        "SELECT i % 2 AS g, (i % 11) / 10.0::DECIMAL(4, 2) AS s FROM range(200) t(i)"
    )
    same(
        fs.tally(table, sensitive_features="g", score="s"),
        fs.tally(table.df(), sensitive_features="g", score="s"),
    )
    frame = people(6, 200).assign(decile=lambda f: 1 + (f.score * 9).round())
    options = {"sensitive_features": "sex", "score": "decile", "score_range": (1, 10)}
    counted = fs.tally(fast_lazy(frame), **options)
    same(counted, fs.tally(frame, **options))
    assert counted.histogram().values.max() == 1
    reversed_scale = fs.tally(frame, **{**options, "score_range": (10, 1)}).histogram()
    np.testing.assert_allclose(np.sort(1 - reversed_scale.values), counted.histogram().values)
    for ends in ((1, 1), (1, 5, 10)):
        with pytest.raises(
            InputError, match="`score_range`: got .*; allowed: two different numbers, the worse"
        ):
            fs.tally(frame, **{**options, "score_range": ends})


def test_edges_are_those_of_every_grid_and_no_cell_holds_two():
    np.testing.assert_array_equal(farey_edges(), farey_grid(1_000).edges)
    assert np.unique(np.floor(farey_edges() * CELLS)).size == farey_edges().size
    cells = edge_cells()
    rng = np.random.default_rng(1)
    score = np.concatenate(
        [rng.random(100_000), farey_edges()[::50], np.nextafter(farey_edges()[::50], 0), [0, 1]]
    )
    cell = np.floor(score * CELLS).astype(int)
    found = cells["fs_base"][cell] + (score >= cells["fs_edge"][cell])
    np.testing.assert_array_equal(found, np.searchsorted(farey_edges(), score, side="right"))


def test_a_score_on_an_edge_is_above_it(fast_lazy, monkeypatch):
    """The interval is that of NumPy's search, for an edge and for the number before it."""
    monkeypatch.setattr(parts, "MOST_EXACT", 20)
    edges = farey_edges()[1:-1:9_001]
    score = np.concatenate([edges, np.nextafter(edges, 0)])
    frame = pd.DataFrame({"g": np.resize(["a", "b"], score.size), "s": score})
    counted = fs.tally(fast_lazy(frame), sensitive_features="g", score="s").histogram()
    ends = np.append(np.nextafter(farey_edges(), 0), 1.0)
    wanted, times = np.unique(
        ends[np.searchsorted(farey_edges(), score, side="right")], return_counts=True
    )
    np.testing.assert_array_equal(counted.values, wanted)
    np.testing.assert_array_equal(counted.counts.sum(axis=(0, 1)), times)


@pytest.mark.slow
@pytest.mark.parametrize("weight", [None, "weight"])
def test_many_scores_are_counted_between_edges_and_madd_is_exact(lazy, weight, monkeypatch):
    monkeypatch.setattr(parts, "MOST_EXACT", 500)
    rng = np.random.default_rng(7)
    n = 30_000
    frame = pd.DataFrame(
        {"g": rng.choice(["a", "b"], n), "y": rng.integers(0, 2, n), "weight": rng.random(n)}
    )
    edges = rng.choice(farey_edges(), n)
    frame["score"] = np.select(
        [rng.random(n) < 0.2, rng.random(n) < 0.2],
        [edges, np.nextafter(edges, 0)],
        rng.beta(2, 3, n),
    )
    frame.loc[:1, "score"] = [0.0, 1.0]
    options = {"sensitive_features": "g", "y_true": "y", "score": "score", "sample_weight": weight}
    merged, exact = (fs.tally(f, **options) for f in (lazy(frame), frame))
    held = merged.histogram()
    assert held.lower is not None
    assert held.values.size < exact.histogram().values.size
    assert not held._splits_interval(farey_edges())
    first, second = (fs.madd_curve(counts=t).madd for t in (merged, exact))
    if weight is None:
        np.testing.assert_array_equal(first, second)
    else:
        # differences of cumulative shares: their error is that of the shares, which are near 1
        np.testing.assert_allclose(first, second, rtol=1e-12, atol=1e-14)
    assert_finer_grids_are_said(merged)
    if weight is None:
        with pytest.warns(fs.FairstatsWarning, match="off by .* at most"):
            areas = [fs.abroca(counts=t, n_resamples=199, rng=1) for t in (merged, exact)]
        error = held.auc_error
        assert (error > 0).all()
        gap = abs(areas[0].comparisons[0].rate - areas[1].comparisons[0].rate)
        assert gap <= error.max()
        assert abs(areas[0].estimate - areas[1].estimate) <= error.sum()


def assert_finer_grids_are_said(merged):
    """More than 1,000 bins cut through the intervals, whichever function asks for them."""
    for ask in (
        lambda: fs.madd_curve(counts=merged, max_bins=1_003),
        lambda: fs.madd(counts=merged, n_bins=1_003, grid_bins=10, n_resamples=99, rng=1),
    ):
        with pytest.warns(DataWarning, match="below an edge of a bin is right to that only"):
            ask()


def test_few_scores_are_single_ones_even_where_the_first_rows_do_not_tell(fast_lazy, monkeypatch):
    monkeypatch.setattr(parts, "MOST_EXACT", 100)
    frame = pd.DataFrame({"g": ["a", "b"] * 1_000, "s": np.repeat([0.25, 0.5], 1_000)})
    assert fs.tally(fast_lazy(frame), sensitive_features="g", score="s").histogram().lower is None
    frame.loc[1_500:, "s"] = np.linspace(0, 1, 500) ** 3  # beyond the rows that are looked at first
    counted = fs.tally(fast_lazy(frame), sensitive_features="g", score="s").histogram()
    assert counted.lower is not None
    assert counted.counts.sum() == 2_000


@pytest.mark.parametrize(("most", "single"), [(40, True), (39, False)])
def test_as_many_scores_as_may_be_single_are_single(fast_lazy, monkeypatch, most, single):
    """Forty distinct scores, seen among the first rows or not."""
    monkeypatch.setattr(parts, "MOST_EXACT", most)
    frame = pd.DataFrame({"g": ["a", "b"] * 100, "s": np.repeat(np.arange(40) / 40, 5)})
    for rows in (frame, frame.iloc[np.argsort(np.arange(200) % 5, kind="stable")]):
        counted = fs.tally(
            fast_lazy(rows.reset_index(drop=True)), sensitive_features="g", score="s"
        )
        assert (counted.histogram().lower is None) is single
        assert counted.histogram().counts.sum() == 200


def test_casts_that_round_and_casts_that_truncate_give_one_floor(lazy):
    import narwhals.stable.v2 as nw

    values = [0.0, 0.5, 0.999999, 1.0, 1.5, 2.5, -0.25, -1.0, -1.5]
    table = nw.from_native(lazy(pd.DataFrame({"x": values})))
    floors = parts.floor_cells(table, nw.col("x"), "cell").collect()
    found = dict(zip(floors["x"].to_list(), floors["cell"].to_list(), strict=True))
    assert found == {x: np.floor(x) for x in values}


@pytest.mark.parametrize("decimals", [3, 6], ids=["a value a cell", "several in the last cell"])
def test_tails_of_large_groups_are_cut_at_the_same_value(fast_lazy, decimals):
    rng = np.random.default_rng(9)
    n = 45_000
    frame = pd.DataFrame(
        {"g": rng.choice(["a", "b", None], n, p=[0.9, 0.08, 0.02]), "s": rng.random(n).round(2)}
    )
    frame["t"] = rng.random(n).round(decimals)
    options = {
        "sensitive_features": "g",
        "score": "s",
        "counterfactual_score": "t",
        "missing": "group",
    }
    counted = fs.tally(fast_lazy(frame), **options)
    same(counted, fs.tally(frame, **options))
    assert np.isfinite(counted.extremes().complete[0])


def test_more_distinct_rows_than_can_be_held_are_refused(fast_lazy, monkeypatch):
    monkeypatch.setattr(parts, "MOST_DISTINCT", 5)
    with pytest.raises(InputError, match="more than 5 distinct rows"):
        fs.tally(fast_lazy(people(8, 100)), **ALL)


def test_nothing_but_grouped_counts_is_collected(monkeypatch):
    """The rows that leave the engine do not depend on the rows in it."""
    from fairstats.ground.engines import table

    sizes = []
    collected = table.collected
    monkeypatch.setattr(
        table, "collected", lambda query: sizes.append(len(found := collected(query))) or found
    )
    pl = pytest.importorskip("polars")
    options = {**ALL, "counterfactual_score": None, "cluster": "school", "sample_weight": "weight"}
    held = []
    for copies in (1, 40):
        frame = pd.concat([people(10, 4_000)] * copies)
        sizes.clear()
        fs.tally(pl.from_pandas(frame).lazy(), **options)
        held.append([n for n in sizes if n < 2 * parts.MOST_EXACT])
    assert held[0][0] == held[1][0]
    assert max(held[1][:1] + held[1][2:]) <= 4_000


def test_a_frame_moves_into_an_engine_and_a_lazy_table_out_of_one():
    pl = pytest.importorskip("polars")
    frame = people(11, 300)
    rows = fs.tally(frame, **ALL)
    for engine in ("polars", "duckdb"):
        pytest.importorskip(engine)
        same(fs.tally(frame, **ALL, engine=engine), rows)
    same(fs.tally(pl.from_pandas(frame).lazy(), **ALL, engine="rows"), rows)
    with pytest.raises(InputError, match="'duckdb' for a lazy table of polars"):
        fs.tally(pl.from_pandas(frame).lazy(), **ALL, engine="duckdb")
    with pytest.raises(InputError, match="`engine`"):
        fs.tally(frame, **ALL, engine="pandas")


def test_an_engine_that_fails_gives_its_own_words():
    duckdb = pytest.importorskip("duckdb")
    table = duckdb.sql(
        "SELECT 'f' AS g, CAST(s AS INTEGER) AS hat FROM (VALUES ('1'), ('one')) t(s)"
    )
    with pytest.raises(EngineError, match="engine duckdb failed: Conversion Error.*'one'"):
        fs.tally(table, y_pred="hat", sensitive_features="g")


def test_engines_are_loaded_by_nobody_else():
    code = (
        "import sys, pandas, fairstats as fs\nbefore = {'duckdb', 'polars', 'pyspark', 'dask',"
        " 'sqlglot'} & set(sys.modules)\nfs.tally(pandas.DataFrame({'g': ['a', 'b'], 'p': [0, 1]}),"
        " y_pred='p', sensitive_features='g')\nsys.exit(bool(({'duckdb', 'polars', 'pyspark',"
        " 'dask', 'sqlglot'} & set(sys.modules)) - before))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_collected_answers_read_like_frames(fast_lazy):
    frame = people(12, 20)
    found = as_frame_columns(fast_lazy(frame), ["sex", "hat"], "frame")
    assert sorted(found["sex"]) == sorted(frame["sex"])


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("VARCHAR", "k"),
        ("ENUM('0', '1', '2')", "k::VARCHAR"),
        ("DATE", "DATE '2020-01-01' + k::INT"),
        ("TIMESTAMP", "TIMESTAMP '2020-01-01' + k * INTERVAL 1 DAY"),
        ("BOOLEAN", "k > 0"),
        ("DECIMAL(4, 1)", "k / 2"),
        ("HUGEINT", "k"),
        ("DOUBLE", "k + 0.5"),
    ],
)
def test_groups_of_every_type(key, kind):
    """Groups that are coded in the engine, and those that are not, read as they do row by row."""
    duckdb = pytest.importorskip("duckdb")
    query = f"SELECT CAST({kind} AS {key}) AS g, k % 2 AS y, s FROM rows"  # noqa: S608
    with duckdb.connect() as connection:
        rng = np.random.default_rng(1)
        connection.register(
            "rows", pd.DataFrame({"k": rng.integers(0, 3, 200), "s": rng.random(200).round(2)})
        )
        table = connection.sql(query)
        options = {"sensitive_features": "g", "y_true": "y", "score": "s"}
        same(fs.tally(table, **options), fs.tally(table, **options, engine="rows"))
