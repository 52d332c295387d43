"""Engine × format × oddity: the same table gives the same groups, counts and intervals, or the same
refusal.

Expected groups are written by hand beside the values: of text files what stands between the
separators, of typed files the rule of `ground/values.py`. Spreadsheets, SPSS and Stata hold
doubles: they are asked for what those can store."""

from __future__ import annotations

import csv
import datetime
import gzip
import warnings
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairstats as fs
from fairstats.ground.engines.sources import engine_errors
from tests.ground.engines.conftest import DASK
from tests.ground.reading.conftest import need
from tests.ground.reading.spreadsheet import write_workbook

#: Where a table may be: by the reader, or moved from what the reader gave.
WAYS = [
    "rows",
    "duckdb",
    "polars",
    pytest.param("polars eager", marks=pytest.mark.slow),
    pytest.param("arrow", marks=pytest.mark.slow),
    pytest.param("dask", marks=[*DASK.marks, pytest.mark.slow]),
    pytest.param("spark", marks=pytest.mark.spark),
]
#: Rows of each value, of which the first is selected.
TIMES = 4

#: Oddity → fields of a text file; what is written as another field than its group is a pair; None:
#: missing.
TEXT: dict[str, list[Any]] = {
    "leading zeros": ["01", "1", "007", "7", "+1", "1.0", "-0"],
    "twenty digits": ["12345678901234567890", "12345678901234567891", "1e19"],
    "beyond doubles": ["9007199254740991", "9007199254740992", "9007199254740993", ("", None)],
    "hexadecimal": ["0x10", "16", "0X10", "1_0", "010"],
    "booleans": ["True", "true", "TRUE", "1", "yes", "t", "T", "False", "0"],
    "tokens": [
        ("NA", None),
        ("N/A", None),
        ("null", None),
        ("nan", None),
        ("None", None),
        "na",
        "NAN",
        " NA",
        "-",
    ],
    "empty fields": [("", None), "a", "b", " "],
    "zeros": ["0", "-0", "0.0", "-0.0"],
    "dates": ["2020-01-01", "2020-1-1", "01/02/2020", "2020-01-01 00:00:00", "0001-01-01"],
    "times": ["12:00", "12:00:00", "12:00:00.000000001", "12:00:00.000000002"],
    "spaces": ["a", "a ", " a", "a\t"],
    "quoted line ends": ["a\nb", "a\r\nb", "a", "b"],
    "quotes and separators": ['"x"', "x", 'x"y', "a,b", "a;b"],
    "Unicode": ["é", "e\u0301", "日本", "🙂", "\u00a0", "ﬁ"],
    "words of languages": ["Inf", "infinity", "1e5", "100000", "1,5", "TRUE "],
}

#: Oddity → values of a typed column beside their groups.
TYPED: dict[str, list[tuple[Any, str | None]]] = {
    "leading zeros": [("01", "01"), ("1", "1"), ("007", "007")],
    "tokens are values": [("NA", "NA"), ("nan", "nan"), ("null", "null"), ("", None), (None, None)],
    "whole numbers with a null": [(1, "1"), (2, "2"), (None, None)],
    "beyond doubles": [
        (2**53 - 1, "9007199254740991"),
        (2**53 + 1, "9007199254740993"),
        (2**53, "9007199254740992"),
        (2**60 + 1, "1152921504606846977"),
        (None, None),
    ],
    "booleans": [(True, "True"), (False, "False"), (None, None)],
    "doubles": [
        (1.0, "1"),
        (0.0, "0"),
        (-0.0, "0"),
        (2.5, "2.5"),
        (float("nan"), None),
        (None, None),
    ],
    "decimals": [(Decimal("1.50"), "1.5"), (Decimal("2.00"), "2")],
    "days": [
        (datetime.date(2020, 1, 2), "2020-01-02"),
        (datetime.date(1970, 1, 1), "1970-01-01"),
        (None, None),
    ],
    "nanoseconds": [
        (np.datetime64("2020-01-02T00:00:00.000000001", "ns"), "2020-01-02 00:00:00.000000001"),
        (np.datetime64("2020-01-02T00:00:00.000000002", "ns"), "2020-01-02 00:00:00.000000002"),
        (np.datetime64("2020-01-02", "ns"), "2020-01-02"),
    ],
    "spaces and line ends": [("a", "a"), ("a ", "a "), ("a\nb", "a\nb"), (" ", " ")],
    "Unicode": [("é", "é"), ("e\u0301", "e\u0301"), ("🙂", "🙂")],
}
#: What Arrow files hold, a spreadsheet, and the statistics packages.
STORED = {
    "parquet": tuple(TYPED),
    "feather": tuple(TYPED),
    "xlsx": (
        "leading zeros",
        "tokens are values",
        "whole numbers with a null",
        "booleans",
        "Unicode",
    ),
    "sav": ("leading zeros", "tokens are values", "whole numbers with a null", "Unicode"),
    "dta": ("leading zeros", "tokens are values", "whole numbers with a null", "Unicode"),
}
FORMATS = [(kind, case) for kind, cases in STORED.items() for case in cases]


def selections(groups: list[str | None]) -> dict[str, tuple[int, int]]:
    """Group → selected and not selected."""
    found: dict[str, tuple[int, int]] = {}
    for group in groups:
        name = "(missing)" if group is None else group
        selected, others = found.get(name, (0, 0))
        found[name] = (selected + 1, others + TIMES - 1)
    return found


def moved(path: Path, way: str) -> Any:
    """The table of a file by the engine of its way."""
    engine = {"polars eager": "polars", "arrow": "polars", "dask": "rows"}.get(way, way)
    need(engine)
    table = fs.read_table(path, columns="g", numbers="hired", engine=engine)
    if way == "polars eager":
        return table.collect()
    if way == "arrow":
        return table.collect().to_arrow()
    if way == "dask":
        return pytest.importorskip("dask.dataframe").from_pandas(table, npartitions=2)
    return table


def counted(table: Any) -> fs.Tally:
    """Selections by group, the missing a group of their own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fs.FairstatsWarning)
        return fs.tally(table, y_pred="hired", pos_label=1, sensitive_features="g", missing="group")


def agrees(table: Any, groups: list[str | None]) -> None:
    """Groups and counts are those written by hand, intervals those of the counts."""
    found = counted(table)
    expected = selections(groups)
    cells = found.selection()
    rows = {
        group: tuple(row)
        for group, row in zip(cells.groups, cells.rows.astype(int).tolist(), strict=True)
    }
    assert rows == expected
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fs.FairstatsWarning)
        here = fs.disparate_impact(counts=found).to_frame().set_index("group")
        there = fs.disparate_impact(counts=expected).to_frame().set_index("group")
    shared = [group for group in here.index if group in there.index]
    if set(here["reference"]) == set(there["reference"]):
        for bound in ("estimate", "ci_low", "ci_high"):
            np.testing.assert_allclose(
                here.loc[shared, bound], there.loc[shared, bound], rtol=1e-12
            )


def fields_of(case: str) -> Iterator[tuple[str, str | None]]:
    """What is written, and the group that it is."""
    for field in TEXT[case]:
        yield field if isinstance(field, tuple) else (field, field)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("ending", ["csv", pytest.param("csv.gz", marks=pytest.mark.slow)])
@pytest.mark.parametrize("case", TEXT)
def test_text_files(tmp_path: Path, case: str, ending: str, way: str) -> None:
    path = tmp_path / f"t.{ending}"
    opened: Callable[..., Any] = gzip.open if ending.endswith("gz") else open
    with opened(path, "wt", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, quoting=csv.QUOTE_ALL)
        writer.writerow(["g", "hired"])
        for field, _ in fields_of(case):
            writer.writerows([field, int(k == 0)] for k in range(TIMES))
    agrees(moved(path, way), [group for _, group in fields_of(case)])


@pytest.mark.parametrize("way", WAYS)
def test_a_nul_in_a_text_is_refused_by_all(tmp_path: Path, way: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"g,hired\na\x00,1\nb,0\n")
    with pytest.raises(fs.InputError, match="a NUL character"):
        moved(path, way)


def arrow_column(case: str) -> Any:
    """The values of a typed case, each so many times, as Arrow holds them."""
    arrow = pytest.importorskip("pyarrow")
    values = [value for value, _ in TYPED[case] for _ in range(TIMES)]
    if case == "nanoseconds":
        return arrow.array(np.array(values, dtype="datetime64[ns]"))
    return arrow.array(values)


def write_typed(path: Path, case: str) -> None:
    """A file of the format that its name ends in."""
    hired = [int(k == 0) for _ in TYPED[case] for k in range(TIMES)]
    if path.suffix in (".parquet", ".feather"):
        arrow = pytest.importorskip("pyarrow")
        table = arrow.table({"g": arrow_column(case), "hired": hired})
        if path.suffix == ".parquet":
            pytest.importorskip("pyarrow.parquet").write_table(table, path)
        else:
            pytest.importorskip("pyarrow.feather").write_feather(table, str(path))
        return
    values = [value for value, _ in TYPED[case] for _ in range(TIMES)]
    if path.suffix == ".xlsx":
        pytest.importorskip("python_calamine")
        write_workbook(path, {"one": [["g", "hired"], *zip(values, hired, strict=True)]})
        return
    pyreadstat = pytest.importorskip("pyreadstat")
    numbers = all(value is None or isinstance(value, int) for value in values)
    column = pd.Series(
        [np.nan if v is None else float(v) for v in values]
        if numbers
        else [v or "" for v in values]
    )
    frame = pd.DataFrame({"g": column, "hired": np.array(hired, dtype=np.float64)})
    (pyreadstat.write_sav if path.suffix == ".sav" else pyreadstat.write_dta)(frame, str(path))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("kind", "case"), FORMATS)
def test_typed_files(tmp_path: Path, kind: str, case: str, way: str) -> None:
    if (way, case) == ("dask", "decimals"):
        pytest.skip("Dask makes text of decimals before anything of ours sees them")
    path = tmp_path / f"t.{kind}"
    write_typed(path, case)
    if (way, case) == ("spark", "nanoseconds"):
        with pytest.raises(fs.InputError, match="Spark holds no less"):
            moved(path, way)
        return
    agrees(moved(path, way), [group for _, group in TYPED[case]])


# ---------------------------------------------------------------- clusters, weights, scores, and R


@cache
def odd_people() -> str:
    """A table of every role: codes with zeros, clusters of twenty digits, weights, scores, tokens,
    features.
    """
    rng = np.random.default_rng(29)
    lines = ["region,hired,fit,score,weight,site,age"]
    for k in range(600):
        region = ["NA", "01", "1", "EU"][k % 4]
        site = 12345678901234567890 + k // 6
        fields = [
            region,
            rng.integers(2),
            rng.integers(2),
            f"{rng.random():.4f}",
            f"{1 + rng.random():.3f}",
            site,
        ]
        lines.append(",".join(map(str, [*fields, rng.integers(18, 60)])))
    return "\n".join(lines)


OPTIONS: dict[str, dict[str, Any]] = {
    "clusters": {"y_pred": "hired", "cluster": "site"},
    "weights": {"y_true": "fit", "y_pred": "hired", "sample_weight": "weight"},
    "scores and features": {
        "y_true": "fit",
        "y_pred": "hired",
        "score": "score",
        "features": ["age"],
    },
}


@pytest.mark.parametrize(
    "engine", ["duckdb", "polars", pytest.param("spark", marks=pytest.mark.spark)]
)
@pytest.mark.parametrize("asked", OPTIONS)
def test_an_audit_of_a_file_is_that_of_its_rows(tmp_path: Path, asked: str, engine: str) -> None:
    need(engine)
    path = tmp_path / "t.csv"
    path.write_text(odd_people(), encoding="utf-8")
    options = {
        **OPTIONS[asked],
        "sensitive_features": "region",
        "pos_label": "1",
        "missing": "drop",
        "rng": 1,
    }
    with warnings.catch_warnings(), engine_errors("duckdb"):
        warnings.simplefilter("ignore", fs.FairstatsWarning)
        rows, there = (fs.audit(path, engine=e, **options) for e in ("rows", engine))
        passed = fs.audit(
            fs.read_table(path, features="age", numbers=["score", "weight"]), **options
        )
    # which rows decided a distance, a tally does not know
    shown = [name for name in rows.to_frame().columns if not name.startswith("row_")]
    pd.testing.assert_frame_equal(there.to_frame()[shown], rows.to_frame()[shown], rtol=1e-12)
    pd.testing.assert_frame_equal(passed.to_frame(), rows.to_frame())
    assert rows.tables[0].groups == ("01", "1", "EU")
    assert rows.tables[0].missing.n_dropped == 150
    if asked == "clusters":
        assert rows.tables[0].n_units == there.tables[0].n_units == 100


@pytest.mark.r
def test_r_gives_the_same_numbers(tmp_path: Path) -> None:
    from fairstats.ground.rsession import call

    path = tmp_path / "t.csv"
    path.write_text(odd_people(), encoding="utf-8")
    rows = call("fs_read_table", str(path), columns=["region", "hired", "fit"], numbers="score")
    table = fs.read_table(path, columns=["region", "hired", "fit"], numbers="score")
    for name in ("region", "hired", "fit"):
        assert rows[name] == [None if pd.isna(text) else text for text in table[name]]
    np.testing.assert_array_equal(rows["score"], table["score"])
    options = {
        "y_true": "fit",
        "y_pred": "hired",
        "sensitive_features": "region",
        "missing": "drop",
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fs.FairstatsWarning)
        report = fs.audit(path, pos_label="1", rng=1, **options)
        report.to_json(tmp_path / "report.json")
        compared = pd.DataFrame(call("fs_compare", str(tmp_path / "report.json"), str(path), rng=3))
    assert compared["agree"].all(), compared[~compared["agree"]]
    assert set(compared["group"]) >= {"1", "EU"}
