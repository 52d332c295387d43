"""The rule of typing as laws: one column in any container gives the same groups, labels and counts.

Witness throughout: the labels written by hand beside each table, and counting them with
`collections.Counter`."""

from __future__ import annotations

import datetime
import warnings
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairstats as fs
from fairstats.ground.encoding import MISSING, as_float_column, factorize, label_text, missing_rows
from fairstats.ground.errors import DataWarning, InputError
from fairstats.ground.parts import dates_as_days
from fairstats.ground.values import FALSE_LIKE, TRUE_LIKE, labels_of

pl = pytest.importorskip("polars", reason="polars is not installed")
pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")

NAN = float("nan")
UTC = datetime.UTC


def labels(column: Any) -> list[str | None]:
    return labels_of(column, "x").tolist()


def arrow(values: list[Any], kind: Any) -> Any:
    return pa.array(values, type=kind, from_pandas=False)


# ---------------------------------------------------------------- container × oddity

#: Oddity → (values, their labels, type of Arrow, type of polars).
ODDITIES: dict[str, tuple[list[Any], list[str | None], Any, Any]] = {
    "leading zeros": (["01", "1", "001", None], ["01", "1", "001", None], pa.string(), pl.String),
    "empty text": (["a", "", None, "b"], ["a", None, None, "b"], pa.string(), pl.String),
    "tokens are values": (
        ["NA", "nan", "None", "null"],
        ["NA", "nan", "None", "null"],
        pa.string(),
        pl.String,
    ),
    "blanks and line ends": (
        ["a ", " a", "a\n", "a"],
        ["a ", " a", "a\n", "a"],
        pa.string(),
        pl.String,
    ),
    "zero characters": (
        ["a", "a\0", "a\0b", None],
        ["a", "a\0", "a\0b", None],
        pa.string(),
        pl.String,
    ),
    "large integers beside a null": (
        [2**53 - 1, 2**53, 2**53 + 1, 2**60 + 1, None],
        ["9007199254740991", "9007199254740992", "9007199254740993", "1152921504606846977", None],
        pa.int64(),
        pl.Int64,
    ),
    "whole floats": (
        [1.0, 2.0, NAN, None, 0.5],
        ["1", "2", None, None, "0.5"],
        pa.float64(),
        pl.Float64,
    ),
    "zeros": ([0.0, -0.0, 1.5], ["0", "0", "1.5"], pa.float64(), pl.Float64),
    "booleans": ([True, False, None], ["True", "False", None], pa.bool_(), pl.Boolean),
    "days": (
        [datetime.date(1, 1, 1), datetime.date(2020, 2, 29), datetime.date(9999, 12, 31), None],
        ["0001-01-01", "2020-02-29", "9999-12-31", None],
        pa.date32(),
        pl.Date,
    ),
    "moments": (
        [
            datetime.datetime(2020, 1, 2),
            datetime.datetime(2020, 1, 2, 12),
            datetime.datetime(9999, 1, 1, microsecond=500_000),
        ],
        ["2020-01-02", "2020-01-02 12:00:00", "9999-01-01 00:00:00.5"],
        pa.timestamp("us"),
        pl.Datetime("us"),
    ),
    "moments with a zone": (
        [datetime.datetime(2020, 1, 2, tzinfo=UTC), None],
        ["2020-01-02 00:00:00+00:00", None],
        pa.timestamp("us", tz="UTC"),
        pl.Datetime("us", "UTC"),
    ),
    "times": (
        [datetime.time(12), datetime.time(0, 0, 0, 1), None],
        ["12:00:00", "00:00:00.000001", None],
        pa.time64("us"),
        pl.Time,
    ),
    "decimals": (
        [Decimal("1.50"), Decimal("2.00"), None],
        ["1.5", "2", None],
        pa.decimal128(5, 2),
        pl.Decimal(5, 2),
    ),
}


def _nullable(values: list[Any], kind: Any) -> Any:
    name = {
        pa.int64(): "Int64",
        pa.float64(): "Float64",
        pa.bool_(): "boolean",
        pa.string(): "string",
    }.get(kind)
    return pd.array([None if v is None else v for v in values], dtype=name) if name else None


def _numpy(values: list[Any], kind: Any) -> Any:
    if None in values or kind not in (pa.int64(), pa.float64(), pa.bool_()):
        return None
    return np.array(values)


CONTAINERS: dict[str, Callable[[list[Any], Any, Any], Any]] = {
    "list": lambda v, a, p: list(v),
    "NumPy object": lambda v, a, p: np.fromiter(v, dtype=object, count=len(v)),
    "NumPy": lambda v, a, p: _numpy(v, a),
    "pandas object": lambda v, a, p: pd.Series(v, dtype=object),
    "pandas nullable": lambda v, a, p: _nullable(v, a),
    "pandas Arrow": lambda v, a, p: pd.Series(arrow(v, a), dtype=pd.ArrowDtype(a)),
    "pandas category": lambda v, a, p: pd.Series(v, dtype=object).astype("category"),
    "Arrow": lambda v, a, p: arrow(v, a),
    "Arrow chunked": lambda v, a, p: pa.chunked_array([arrow(v[:1], a), arrow(v[1:], a)]),
    "Arrow dictionary": lambda v, a, p: arrow(v, a).dictionary_encode(),
    "polars": lambda v, a, p: pl.Series(v, dtype=p),
    "polars Categorical": lambda v, a, p: (
        pl.Series(v, dtype=p).cast(pl.Categorical) if p is pl.String else None
    ),
}


HELD = {
    f"{container}, {oddity}": (column, wanted)
    for oddity, (values, wanted, in_arrow, in_polars) in ODDITIES.items()
    for container, make in CONTAINERS.items()
    if (column := make(values, in_arrow, in_polars))
    is not None  # not every container holds such values
}


@pytest.mark.parametrize("kind", HELD)
def test_every_container_gives_the_labels_of_the_rule(kind: str) -> None:
    column, wanted = HELD[kind]
    assert labels(column) == wanted
    assert missing_rows(column, "x").tolist() == [label is None for label in wanted]


@pytest.mark.parametrize("engine", ["polars", "duckdb", "rows"])
@pytest.mark.parametrize("oddity", ODDITIES)
@pytest.mark.filterwarnings("ignore::fairstats.ground.errors.FairstatsWarning")
def test_every_engine_counts_the_groups_of_the_rule(engine: str, oddity: str) -> None:
    values, wanted, in_arrow, _ = ODDITIES[oddity]
    table = pa.table(
        {"g": arrow(values * 3, in_arrow), "y": [k % 2 for k in range(3 * len(values))]}
    )
    source: Any = table
    if engine == "polars":
        source = pl.from_arrow(table).lazy()
    elif engine == "duckdb":
        connection = duckdb.connect()
        connection.register("t", table)
        source = connection.sql("SELECT * FROM t")
    counted = fs.tally(source, y_pred="y", sensitive_features="g", missing="group")
    sizes = dict(zip(counted.groups, counted.group_sizes.tolist(), strict=True))
    assert sizes == Counter("(missing)" if label is None else label for label in wanted * 3)


@given(
    st.lists(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)), min_size=1, max_size=30)
    | st.lists(
        st.one_of(st.none(), st.text(st.characters(codec="utf-8"), max_size=3)),
        min_size=1,
        max_size=30,
    )
    | st.lists(st.one_of(st.none(), st.floats()), min_size=1, max_size=30)
    | st.lists(st.one_of(st.none(), st.booleans()), min_size=1, max_size=30)
)
def test_one_column_in_every_container_is_one_column(values: list[Any]) -> None:
    kinds = {type(value) for value in values} - {type(None)}
    in_arrow = {int: pa.int64(), str: pa.string(), float: pa.float64(), bool: pa.bool_()}.get(
        next(iter(kinds), str)
    )
    in_polars = {int: pl.Int64, str: pl.String, float: pl.Float64, bool: pl.Boolean}.get(
        next(iter(kinds), str)
    )
    missing = [value is None or value == "" or value != value for value in values]
    wanted = [
        None if gone else label_text(value) for gone, value in zip(missing, values, strict=True)
    ]
    for name in (
        "list",
        "NumPy object",
        "pandas object",
        "pandas nullable",
        "pandas Arrow",
        "Arrow",
        "polars",
    ):
        assert labels(CONTAINERS[name](values, in_arrow, in_polars)) == wanted, name
    with duckdb.connect() as connection:
        connection.register("t", pa.table({"g": arrow(values, in_arrow)}))
        assert labels(connection.sql("SELECT g FROM t")) == wanted


# ---------------------------------------------------------------- single cases of R1 to R15


@pytest.mark.parametrize(
    "kind", ["Arrow", "pandas nullable", "pandas Arrow", "polars", "list", "NumPy object"]
)
def test_a_null_does_not_merge_clusters(kind: str) -> None:
    numbers = [1_200_000_000_000_000_000 + k for k in range(1_000)] + [None]
    factor = factorize(CONTAINERS[kind](numbers, pa.int64(), pl.Int64), "cluster")
    assert len(factor.levels) == 1_000
    assert factor.levels[1] == 1_200_000_000_000_000_001
    assert factor.codes[-1] == MISSING


@pytest.mark.parametrize("engine", ["rows", "polars", "duckdb"])
@pytest.mark.filterwarnings("ignore::fairstats.ground.errors.FairstatsWarning")
def test_clusters_of_large_numbers_are_counted_alike(engine: str) -> None:
    ids = [1_200_000_000_000_000_000 + k // 2 for k in range(400)]
    table = pl.DataFrame(
        {"g": ["a", "b", "a", "b"] * 100, "y": [0, 1, 1, 1] * 100, "c": [None, *ids[1:]]}
    )
    counted = fs.tally(
        table, y_pred="y", sensitive_features="g", cluster="c", missing="drop", engine=engine
    )
    assert counted.cells is not None
    assert counted.cells.n_units == 200


@pytest.mark.parametrize("engine", ["rows", "polars", "duckdb"])
@pytest.mark.filterwarnings("ignore::fairstats.ground.errors.FairstatsWarning")
def test_empty_text_is_missing_in_every_role_and_engine(engine: str) -> None:
    frame = pd.DataFrame(
        {
            "g": ["a", "", "b", "a", "b", "b"] * 20,
            "y": ["no", "yes", "", "yes", "no", "yes"] * 20,
            "c": [f"{k}" if k % 7 else "" for k in range(120)],
            "f": ["x", "y", "x", "", "y", "x"] * 20,
        }
    )
    options = {
        "sensitive_features": "g",
        "y_pred": "y",
        "pos_label": "yes",
        "cluster": "c",
        "features": ["f"],
    }
    counted = fs.tally(frame, **options, missing="drop", engine=engine)
    kept = frame[(frame != "").all(axis=1)]
    assert counted.n == len(kept)
    assert counted.cells is not None
    assert counted.cells.n_units == kept.c.nunique()
    assert (
        dict(zip(counted.groups, counted.group_sizes.tolist(), strict=True))
        == kept.g.value_counts().to_dict()
    )


def test_nan_is_missing_in_text_that_numpy_made() -> None:
    assert labels(np.array(["A", "B", np.nan])) == ["A", "B", None]
    assert labels(np.array(["A", "nan"])) == ["A", "nan"]  # text, as wide as it is


def test_truth_values_are_not_numbers() -> None:
    assert labels([True, 1, 0, None, "a", False]) == ["True", "1", "0", None, "a", "False"]


def test_a_day_and_its_midnight_are_one_value() -> None:
    day = datetime.date(2020, 1, 2)
    assert (
        labels([day, datetime.datetime(2020, 1, 2), pd.Timestamp(day), np.datetime64(day)])
        == ["2020-01-02"] * 4
    )


@pytest.mark.parametrize(
    "column",
    [
        pl.Series([1, 2, None]).cast(pl.Time),
        pa.array([1, 2, None]).cast(pa.time64("ns")),
        pd.Series(
            pa.array([1, 2, None]).cast(pa.time64("ns")), dtype=pd.ArrowDtype(pa.time64("ns"))
        ),
    ],
    ids=["polars", "Arrow", "pandas"],
)
def test_nanoseconds_are_kept(column: Any) -> None:
    assert labels(column) == ["00:00:00.000000001", "00:00:00.000000002", None]
    moments = pa.array([1, 2, None]).cast(pa.timestamp("ns"))
    assert labels(moments) == [
        "1970-01-01 00:00:00.000000001",
        "1970-01-01 00:00:00.000000002",
        None,
    ]


@pytest.mark.parametrize(
    "column", [["a", "\ud800"], np.array(["\udfff"], dtype=object), [b"a", b"\xff"]], ids=ascii
)
def test_what_no_file_can_hold_is_refused(column: Any) -> None:
    with pytest.raises(InputError, match=r"^`sensitive_features`: got .* no UTF-8"):
        fs.disparate_impact([0] * len(column), sensitive_features=column)


def test_bytes_are_their_text() -> None:
    assert labels([b"a", b"a\0", b""]) == ["a", "a\0", None]
    assert labels(np.array([b"a", b"b"])) == ["a", "b"]


def test_dates_of_the_first_and_the_last_year_are_days() -> None:
    found = dates_as_days(pd.Series([datetime.date(1, 1, 1), None, datetime.date(9999, 12, 31)]))
    assert found is not None
    epoch = datetime.date(1970, 1, 1).toordinal()
    np.testing.assert_array_equal(found, [1 - epoch, np.nan, datetime.date.max.toordinal() - epoch])


def test_tuples_in_a_list_make_no_group_without_rows() -> None:
    found = fs.disparate_impact([1, 0, 1, 0] * 5, sensitive_features=[("F", "a"), ("M", "b")] * 10)
    assert found.counts.groups == ("F & a", "M & b")


def test_an_unnamed_group_is_no_reference_by_default() -> None:
    found = fs.disparate_impact(counts={"": (50, 50), "a": (20, 20), "b": (10, 10)})
    assert {c.reference for c in found.comparisons} == {"a"}


# ---------------------------------------------------------------- labels and pos_label


@pytest.mark.parametrize(
    "pair", [(False, True), ("false", "true"), ("FALSE", "TRUE"), (0, 1), ("0", "1"), (0.0, 1.0)]
)
@pytest.mark.parametrize("pos_label", [True, "true", "TRUE", 1, "1", 1.0, "1.0"])
@pytest.mark.parametrize("engine", ["rows", "polars", "duckdb"])
def test_what_means_true_is_matched_alike_in_every_engine(
    pair: Any, pos_label: Any, engine: str
) -> None:
    frame = pd.DataFrame(
        {"y": [pair[0], pair[1], pair[1], pair[1]] * 5, "g": ["a", "b", "a", "b"] * 5}
    )
    counted = fs.tally(
        frame, y_pred="y", sensitive_features="g", pos_label=pos_label, engine=engine
    )
    assert counted.selection().total("selected").tolist() == [5, 10]


def test_the_written_label_comes_before_what_means_the_same() -> None:
    assert TRUE_LIKE.isdisjoint(FALSE_LIKE)
    found = fs.disparate_impact(
        ["true", "1", "no", "1"] * 5, sensitive_features=["a", "b"] * 10, pos_label="true"
    )
    assert found.counts.total("selected").sum() == 5


def test_labels_beside_the_favourable_one_are_counted_and_named(tmp_path: Path) -> None:
    risk = ["Low"] * 30 + ["Medium"] * 1_200 + ["High"] * 800
    frame = pd.DataFrame({"risk": risk, "sex": ["f", "m"] * (len(risk) // 2)})
    said = "counted as not favourable: Medium 1,200 rows, High 800."
    found = fs.disparate_impact(frame.risk, sensitive_features=frame.sex, pos_label="Low")
    assert found.counts.missing.unfavourable == {"y_pred": {"Medium": 1_200, "High": 800}}
    assert said in str(found)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = fs.audit(frame, y_pred="risk", sensitive_features="sex", pos_label="Low", rng=1)
    assert f"risk: {said}" in report.summary(full=True)
    assert f"risk: {said}" in report.to_html(tmp_path / "report.html").read_text(encoding="utf-8")
    again = fs.disparate_impact(
        ["no", "yes"] * 20, sensitive_features=["a", "b"] * 20, pos_label="yes"
    )
    assert again.counts.missing.unfavourable == {}  # the one other label needs no word


def test_rows_left_out_are_not_among_the_labels_counted() -> None:
    y = ["yes", "no", "pending", "no"] * 10
    with pytest.warns(fs.FairstatsWarning):
        found = fs.disparate_impact(
            y, sensitive_features=["a", "b", None, "b"] * 10, pos_label="yes", missing="drop"
        )
    assert found.counts.missing.unfavourable == {"y_pred": {"no": 20}}


ZEROS = {
    "0/1": (np.zeros(40, dtype=int), 1, None),
    "a mapping": (np.zeros(40, dtype=int), {"y_true": 1, "y_pred": 1}, None),
    "booleans": (np.zeros(40, dtype=bool), "true", None),
    "categories": (pd.Categorical(["no"] * 40, categories=["no", "yes"]), "yes", None),
    "label_values": (["no"] * 40, "yes", ["no", "yes"]),
}


@pytest.mark.parametrize("case", ZEROS)
@pytest.mark.filterwarnings("ignore::fairstats.ground.errors.InsufficientEvidenceWarning")
def test_a_favourable_value_that_is_possible_is_a_rate_of_zero(case: str) -> None:
    y, pos_label, label_values = ZEROS[case]
    options = {"sensitive_features": "g", "pos_label": pos_label, "label_values": label_values}
    frame = pd.DataFrame({"y": y, "g": ["a", "b"] * 20})
    with pytest.warns(DataWarning, match="every row of y_pred counts as unfavourable"):
        found = fs.disparate_impact(y, **{**options, "sensitive_features": frame.g})
    assert found.counts.total("selected").tolist() == [0, 0]
    with pytest.warns(DataWarning, match="every row of y_pred counts as unfavourable"):
        counted = fs.tally(frame, y_pred="y", **options)
    assert counted.selection().total("selected").tolist() == [0, 0]


def test_other_labels_know_the_favourable_value_where_they_share_one() -> None:
    true = ["yes", "no"] * 20
    group = ["a", "b", "b", "a"] * 10
    with pytest.warns(DataWarning, match="every row of y_pred counts"):
        fs.ConfusionCounts.from_arrays(
            true, ["no", "pending"] * 20, sensitive_features=group, pos_label="yes"
        )
    with pytest.raises(InputError, match="did you mean 'yes.'"):
        fs.ConfusionCounts.from_arrays(
            true, ["no.", "yes."] * 20, sensitive_features=group, pos_label="yes"
        )


def test_what_is_not_possible_names_the_nearest_and_label_values() -> None:
    options = {"sensitive_features": ["a", "b"] * 20, "pos_label": "yes"}
    with pytest.raises(InputError, match=r"did you mean 'Yes'\?.*label_values="):
        fs.disparate_impact(["no", "Yes"] * 20, **options)
    with pytest.raises(
        InputError, match=r"^`y_pred`: got 'maybe' in 20 rows; allowed: what label_values declares"
    ):
        fs.disparate_impact(["no", "maybe"] * 20, **options, label_values=["no", "yes"])
    with pytest.raises(InputError, match="^`label_values`"):
        fs.disparate_impact(["no", "yes"] * 20, **options, label_values="no,yes")


# ---------------------------------------------------------------- missing values, scores, tokens


@pytest.mark.parametrize("engine", ["rows", "polars", "duckdb"])
def test_a_missing_feature_is_missing_as_other_columns_are(engine: str) -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {"y": rng.integers(0, 2, 200), "p": rng.integers(0, 2, 200), "g": ["a", "b"] * 100}
    )
    frame["age"] = rng.integers(20, 30, 200).astype(float)
    frame.loc[[3, 7], "age"] = np.nan
    options = {
        "y_true": "y",
        "y_pred": "p",
        "sensitive_features": "g",
        "features": ["age"],
        "rng": 1,
        "engine": engine,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = fs.audit(frame, **options, missing="drop")
    assert report.tables[0].missing.by_column["features"] == 2
    assert report.tables[0].n == 198
    with pytest.raises(InputError, match=r"^`features`: got missing values: features \(2\)"):
        fs.audit(frame, **options)
    frame["age"] = frame.age.fillna(np.inf)
    if engine == "rows":
        with pytest.raises(InputError, match="^`features"):
            fs.audit(frame, **options)


@pytest.mark.parametrize("engine", ["rows", "polars", "duckdb"])
def test_scores_that_miss_the_ends_by_rounding_are_clipped(engine: str) -> None:
    score = np.concatenate([[1.0000000000000002, -1e-17], np.linspace(0, 1, 98)])
    frame = pd.DataFrame({"s": score, "g": ["a", "b"] * 50})
    held = fs.tally(frame, score="s", sensitive_features="g", engine=engine).histogram()
    assert (held.values.min(), held.values.max()) == (0.0, 1.0)
    frame.loc[0, "s"] = 1.00000001
    with pytest.raises(InputError, match="got values from -1e-17 to 1.00000001;"):
        fs.tally(frame, score="s", sensitive_features="g", engine=engine)


def test_tokens_that_stood_for_missing_values_are_said() -> None:
    frame = pd.DataFrame({"y": [0, 1, 1, 0] * 30, "race": ["A", None, "B", None] * 30})
    frame.attrs["fairstats_tokens"] = {"race": {"NA": 48}, "other": {"-": 3}}
    with pytest.warns(fs.FairstatsWarning, match="race: 48 rows with 'NA'"):
        found = fs.disparate_impact(frame["y"], sensitive_features=frame["race"], missing="drop")
    assert found.counts.missing.tokens == {"race": {"NA": 48}}
    with pytest.warns(fs.FairstatsWarning, match="race: 48 rows with 'NA'"):
        report = fs.audit(frame, y_pred="y", sensitive_features="race", missing="drop", rng=1)
    assert "race: 48 rows with 'NA'" in report.summary(full=True)
    counted = fs.tally(frame, y_pred="y", sensitive_features="race", missing="group")
    assert "race: 48 rows with 'NA'" in counted.missing.sentence


# ---------------------------------------------------------------- R's values


@pytest.mark.rpy2
@pytest.mark.r
@pytest.mark.filterwarnings("ignore::fairstats.ground.errors.FairstatsWarning")
def test_missing_values_of_r_are_missing_in_every_role() -> None:
    """A frame that pandas2ri made, and R's own vectors. Witness: R's is.na on the same columns."""
    from fairstats.ground import rsession

    rsession.call("sum", 1)  # our R starts first
    ro = pytest.importorskip("rpy2.robjects")
    from rpy2.robjects import default_converter, pandas2ri
    from rpy2.robjects.conversion import get_conversion, localconverter

    frame = ro.r("""data.frame(
      text = rep(c("a", NA, "b"), 20), whole = rep(c(1L, NA, 2L), 20), truth = rep(c(TRUE, NA, FALSE, TRUE), 15),
      level = factor(rep(c("x", NA, "y"), 20), levels = c("y", "x")), real = rep(c(.1, NA, .5, NaN), 15))""")
    with localconverter(default_converter + pandas2ri.converter):
        held = get_conversion().rpy2py(frame)
    wanted = {"text": ["a", None, "b"], "whole": ["1", None, "2"], "level": ["x", None, "y"]}
    for name, texts in wanted.items():
        assert labels(held[name])[:3] == labels(frame.rx2(name))[:3] == texts
    assert (
        labels(held["truth"])[:4]
        == labels(frame.rx2("truth"))[:4]
        == ["True", None, "False", "True"]
    )
    assert factorize(frame.rx2("level"), "x").levels == ("y", "x")
    for column in (held["whole"], frame.rx2("whole")):
        np.testing.assert_array_equal(as_float_column(column, "score")[:3], [1, np.nan, 2])
    complete = 60 - int(
        ro.r("function(d) sum(!stats::complete.cases(d[c('text', 'whole', 'truth', 'level')]))")(
            frame
        )[0]
    )
    for source in (held, frame):
        counted = fs.tally(
            source,
            y_pred="truth",
            sensitive_features=["text", "whole"],
            strata="level",
            cluster="whole",
            missing="drop",
        )
        assert counted.n == complete
        assert not any("NA" in group or "2147483648" in group for group in counted.groups)


@pytest.mark.parametrize(
    "texts",
    [
        ["b", "", "a", "b", "abcdefghi", "a b", "\t"],
        ["é", "a", "é"],
        ["abcdefghij", "a", "abcdefghij"],
        ["a\x00b", "a", "b"],
        ["nan", "1", "nan"],
    ],
    ids=["short", "beyond ASCII", "long", "with a null", "nan"],
)
def test_short_texts_are_coded_as_strings_of_python_are(texts: list[str]) -> None:
    """NumPy's texts of nine letters become numbers: two are one level where Python calls them
    equal.

    (Not compared with texts as objects: pandas before 3 ends them at a null.)
    """
    found = factorize(np.array(texts), "sex")
    assert set(found.levels) == {text for text in texts if text}
    said = [found.levels[code] if code >= 0 else "" for code in found.codes]
    assert said == texts  # the empty text is missing
