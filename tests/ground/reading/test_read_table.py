"""Tables from files, in memory and for engines.

Expected values are written by hand beside the file's text.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import sys
import zipfile
from pathlib import Path

import narwhals as nw
import numpy as np
import pandas as pd
import pytest

import fairstats as fs
from fairstats.ground.errors import InputError, MissingDependencyError
from fairstats.ground.reading import parse, sizes, streams
from fairstats.ground.reading.fields import typed_by_arrow, typed_by_python
from fairstats.ground.reading.record import record_of
from fairstats.ground.reading.roles import ReadingOptions, Roles
from fairstats.ground.reading.streams import Source
from fairstats.ground.reading.table import read_roles
from fairstats.ground.reading.text import MISSING_TOKENS, number_of
from tests.ground.reading.conftest import values_of
from tests.ground.reading.spreadsheet import write_workbook

TABLE = b"code,score,hired\n01,0.5,NA\n1,0.25,yes\n007,1,no\n"
ROWS = [("007", 1.0, "no"), ("01", 0.5, None), ("1", 0.25, "yes")]


def compressed(text: bytes) -> dict[str, bytes]:
    """The same text in every archive that is read."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as opened:
        opened.writestr("t.csv", text)
    return {
        "t.csv": text,
        "T.CSV": text,
        "t.csv.gz": gzip.compress(text),
        "t.csv.bz2": bz2.compress(text),
        "t.csv.xz": lzma.compress(text),
        "t.csv.zip": archive.getvalue(),
    }


@pytest.mark.parametrize("name", compressed(b""))
def test_plain_and_compressed(tmp_path: Path, name: str, engine: str) -> None:
    path = tmp_path / name
    path.write_bytes(compressed(TABLE)[name])
    assert values_of(fs.read_table(path, numbers="score", engine=engine)) == ROWS


@pytest.mark.parametrize("name", [name for name in compressed(b"") if name != "T.CSV"])
def test_bytes_and_streams_are_recognised(name: str) -> None:
    held = compressed(TABLE)[name]
    for source in (held, io.BytesIO(held)):
        assert values_of(fs.read_table(source, numbers="score")) == ROWS


def test_zstandard(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    (tmp_path / "t.csv.zst").write_bytes(arrow.compress(TABLE, "zstd", asbytes=True))
    held = io.BytesIO()
    with arrow.CompressedOutputStream(held, "zstd") as stream:
        stream.write(TABLE)
        stream.flush()
        (tmp_path / "t.csv.zst").write_bytes(b"")
    with arrow.CompressedOutputStream(str(tmp_path / "t.csv.zst"), "zstd") as stream:
        stream.write(TABLE)
    assert values_of(fs.read_table(tmp_path / "t.csv.zst", numbers="score")) == ROWS


# ---------------------------------------------------------------- how a text is written


@pytest.mark.parametrize(
    ("text", "encoding", "said"),
    [
        (
            "g;x\né;0,5\nß;1\n",
            "latin-1",
            "semicolons between the fields, decimal commas, text in Windows-1252",
        ),
        (
            "g;x\né €;0,5\nß;1\n",
            "cp1252",
            "semicolons between the fields, decimal commas, text in Windows-1252",
        ),
        ("g\tx\né\t0.5\nß\t1\n", "utf-16", "tabs between the fields, text in UTF-16"),
        (
            "g|x\ne|0.5\ns|1\n",
            "utf-16-le",
            "bars between the fields, text in UTF-16 (little-endian)",
        ),
        ("g,x\né,0.5\nß,1\n", "utf-8-sig", ""),
        ('g,x\né,"0,5"\nß,1\n', "utf-8", "decimal commas"),
    ],
)
def test_separator_decimal_mark_and_encoding_are_recognised_and_said(
    tmp_path: Path, engine: str, quiet: pytest.WarningsRecorder, text: str, encoding: str, said: str
) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode(encoding))
    table = fs.read_table(path, numbers="x", engine=engine)
    first, second = (line.split(text[1])[0] for line in text.splitlines()[1:])
    assert values_of(table) == sorted([(first, 0.5), (second, 1.0)], key=repr)
    notes = [f"t.csv was read with {said}, as its beginning shows."] if said else []
    assert list(record_of(table).notes) == notes
    assert [
        str(warning.message)
        for warning in quiet
        if issubclass(warning.category, fs.FairstatsWarning)
    ] == notes


def test_spaces_separate_where_nothing_else_does(
    tmp_path: Path, engine: str, quiet: pytest.WarningsRecorder
) -> None:
    """What R's `write.table` writes, with the ending that its users give it."""
    path = tmp_path / "t.dat"
    path.write_text('"g" "x y"\n"a b" 0.5\n"c" 1\n', encoding="utf-8")
    table = fs.read_table(path, numbers="x y", engine=engine)
    assert values_of(table) == [("a b", 0.5), ("c", 1.0)]
    assert "spaces between the fields" in record_of(table).notes[0]
    path.write_text("g h|x y\na b|0.5\nc d|1\n", encoding="utf-8")
    assert values_of(fs.read_table(path, numbers="x y", engine=engine)) == [
        ("a b", 0.5),
        ("c d", 1.0),
    ]


def test_what_only_a_later_line_shows_is_met_by_a_second_start(
    quiet: pytest.WarningsRecorder,
) -> None:
    many = b"".join(b"a;1\n" for _ in range(400_000))
    found = fs.read_table(b"g;x\n" + many + b"b;0,5\n\xe9;2\n", numbers="x")
    assert len(found) == 400_002
    assert found["x"].iloc[-2] == 0.5
    assert found["g"].iloc[-1] == "é"


def test_what_is_asked_for_is_not_recognised(tmp_path: Path) -> None:
    held = "g;x,y\na;0,5\n".encode("utf-16")
    found = fs.read_table(held, sep=";", encoding="utf-16", columns=["x,y"])
    assert list(found["x,y"]) == ["0,5"]
    for option in (
        {"sep": ";;"},
        {"encoding": "utf-99"},
        {"decimal": "'"},
        {"na_values": 3},
        {"memory": "much"},
    ):
        with pytest.raises(InputError, match=next(iter(option))):
            fs.read_table(held, **option)
    assert list(fs.read_table(b"a\tb\n1\t2\n", sep="tab")["b"]) == ["2"]


def test_missing_tokens_are_listed_changed_and_counted(engine: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    lines = [f"{token},{k}" for k, token in enumerate(MISSING_TOKENS)]
    path.write_text(
        "\n".join(["region,x", *lines, ",-9", '"",0', "EU,NA", "NA,1"]), encoding="utf-8"
    )
    usual = fs.read_table(path, numbers="x", engine=engine)
    assert sum(region is not None for region, _ in values_of(usual)) == 1
    tokens = dict.fromkeys(MISSING_TOKENS, 1) | {"NA": 2}
    assert record_of(usual).tokens == {"region": tokens, "x": {"NA": 1}}
    own = fs.read_table(path, na_values=["NA", "-9"], engine=engine)
    assert record_of(own).tokens == {"region": {"NA": 2}, "x": {"-9": 1, "NA": 1}}
    kept = fs.read_table(path, na_values="", engine=engine)
    assert sum(region is None for region, _ in values_of(kept)) == 2
    assert record_of(kept).tokens == {}
    if engine == "rows":
        assert usual.attrs["fairstats_tokens"]["region"] == tokens


# ---------------------------------------------------------------- numbers and features


def test_a_number_is_a_number_or_an_error_that_shows_its_line(engine: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    for text in (
        "0x10",
        "1_000",
        "1,000",
        "inf",
        "-Infinity",
        "NaN.",
        "5%",
        "1e999",
        "１",
        "−1",
        "1 2",
        "e5",
        ".",
    ):
        path.write_text(f'g,x\n"a\nb",1\n\na,"{text}"\na,0x11\n', encoding="utf-8")
        with pytest.raises(InputError, match=r"line 5 of") as caught:
            fs.read_table(path, numbers="x", engine=engine)
        assert repr(text) in str(caught.value)
    good = {
        "1": 1.0,
        "+1.50": 1.5,
        " .5\t": 0.5,
        "-0": 0.0,
        "1.": 1.0,
        "2E-3": 0.002,
        "9" * 20: 1e20,
    }
    path.write_text("g,x\n" + "".join(f'a,"{text}"\n' for text in good), encoding="utf-8")
    found = [x for _, x in values_of(fs.read_table(path, numbers="x", engine=engine))]
    assert sorted(found) == sorted(good.values())


def test_a_comma_that_could_group_digits_is_not_taken_for_a_decimal_mark(
    quiet: pytest.WarningsRecorder,
) -> None:
    with pytest.raises(
        InputError, match=r"'1,250' in column 'x', line 3 .*if it groups digits, leave it out"
    ):
        fs.read_table(b"g;x\na;1\nb;1,250\n", numbers="x")
    assert list(fs.read_table(b"g;x\na;0,5\nb;1,250\n", numbers="x")["x"]) == [0.5, 1.25]
    assert list(fs.read_table(b"g;x\na;1\nb;1,250\n", numbers="x", decimal=",")["x"]) == [1.0, 1.25]


def test_features_are_numbers_categories_or_an_error(engine: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("g,age,band,mixed\na,1,low,1\nb,2.5,NA,2\nc,,high,many\n", encoding="utf-8")
    found = values_of(fs.read_table(path, columns="g", features=["age", "band"], engine=engine))
    assert found == [("a", 1.0, "low"), ("b", 2.5, None), ("c", None, "high")]
    with pytest.raises(
        InputError, match=r"'many' in column 'mixed', line 4 of .*all numbers, or all categories"
    ):
        fs.read_table(path, features="mixed", engine=engine)


def test_a_label_that_is_a_number_too_keeps_its_groups_apart() -> None:
    roles = Roles.of(["age"], (), ["age"])
    found, _ = read_roles(b"age\n18\n19.0\n", roles, ReadingOptions())
    assert list(found["age"]) == [18.0, 19.0]
    with pytest.raises(InputError, match="as '01' and '1' are"):
        read_roles(b"age\n01\n1\n", roles, ReadingOptions())


TEXTS = [
    "1",
    "-0",
    "+1.5",
    " 2\t",
    "1.",
    ".5",
    "1e5",
    "1e999",
    "0x1",
    "inf",
    "nan",
    "",
    "NA",
    "1,5",
    "1.2.3",
    "é",
]


@pytest.mark.parametrize("decimal", [".", ","])
def test_arrow_and_python_read_fields_alike(decimal: str) -> None:
    arrow = pytest.importorskip("pyarrow")
    for text in TEXTS:
        values = [text, "3", "NA"]
        by_python = typed_by_python(values, MISSING_TOKENS, numbers=True, decimal=decimal)
        by_arrow = typed_by_arrow(
            arrow.array(values), MISSING_TOKENS, numbers=True, decimal=decimal
        )
        assert by_arrow.text.to_pylist() == by_python.text
        assert (
            by_arrow.numbers.to_pylist()
            == by_python.numbers
            == [None if v in ("", *MISSING_TOKENS) else number_of(v, decimal) for v in values]
        )
        assert (by_arrow.n_numbers, by_arrow.not_number) == (
            by_python.n_numbers,
            by_python.not_number,
        )
        assert by_arrow.tokens == by_python.tokens


ODD_TEXTS = {
    "line ends within quotes": (b'a,b\n"x\r\ny",1\r\n"p\nq",2\n', [("p\nq", "2"), ("x\r\ny", "1")]),
    "old line ends": (b"a,b\rx,1\ry,2", [("x", "1"), ("y", "2")]),
    "blank lines": (b"\n\na,b\n\nx,1\n\n\ny,2\n\n", [("x", "1"), ("y", "2")]),
    "doubled quotes": (b'a,b\n"""x""",1\n5" pipe,2\n', [('"x"', "1"), ('5" pipe', "2")]),
    "spaces": (b"a,b\n x , 1\ny ,2\n", [(" x ", " 1"), ("y ", "2")]),
    "quoted names": (b'"a","b, c"\nx,1\n', [("x", "1")]),
    "an empty name": (b"a,\nx,1\n", [("x", "1")]),
}


@pytest.mark.parametrize("case", ODD_TEXTS)
@pytest.mark.parametrize("with_arrow", [True, False])
def test_odd_texts(case: str, with_arrow: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    text, expected = ODD_TEXTS[case]
    monkeypatch.setattr(
        "fairstats.ground.reading.textfiles.has_arrow", lambda: with_arrow and parse.has_arrow()
    )
    assert values_of(fs.read_table(text)) == expected


# ---------------------------------------------------------------- what is refused

BAD_FILES = {
    "empty.csv": (b"", "cannot be read"),
    "header.csv": (b"y,s\n", "0 rows"),
    "column.csv": (b"a,s\n1,a\n", "no column 'y'; allowed: its columns: 'a', 's'"),
    "ragged.csv": (b"y,s\n1,a\n1,a,b,c\n", "line 3 has 4 fields"),
    "short.csv": (b"y,s\n1,a\n\n1\n", "line 4 has 1 fields"),
    "all too long.csv": (b"y,s\n1,a,b\n1,a,b\n", "line 2 has 3 fields"),
    "unclosed.csv": (b'y,s\n1,a\n1,"b\n1,c\n', "cannot be read near line"),
    "nul.csv": (b"y,s\n1,a\x00b\n", "a NUL character"),
    "two of a name.csv": (b"y,s,s\n1,a,b\n", "more than one column named 's'"),
    "torn.csv.gz": (gzip.compress(b"y,s\n1,a\n" * 100)[:30], "cannot be read"),
    "false.csv.gz": (b"y,s\n1,a\n", "cannot be read"),
    "false.csv.zip": (b"not a zip", "cannot be read"),
    "people.doc": (b"PK", "a name that ends in"),
    "no objects.jsonl": (b"1\n2\n", "whose line 1 holds a int"),
    "no json.jsonl": (b'{"y": 1, "s": 2}\n{"y": 1,\n', "line 2 is no JSON"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files(tmp_path: Path, name: str, engine: str) -> None:
    content, said = BAD_FILES[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=said):
        fs.read_table(tmp_path / name, columns=["y", "s"], engine=engine)


@pytest.mark.parametrize(
    "name", ["t.parquet", "t.feather", "t.sav", "t.dta", "t.xlsx", "t.sas7bdat", "t.xpt"]
)
def test_files_that_are_not_what_their_name_says(tmp_path: Path, name: str) -> None:
    packages = {
        ".sav": "pyreadstat",
        ".dta": "pyreadstat",
        ".xpt": "pyreadstat",
        ".sas7bdat": "pyreadstat",
    }
    pytest.importorskip(
        packages.get(Path(name).suffix, "python_calamine" if "xlsx" in name else "pyarrow")
    )
    (tmp_path / name).write_bytes(b"not what it says at all")
    with pytest.raises(InputError, match="cannot be read"):
        fs.read_table(tmp_path / name, columns=["y"])


def test_no_file_and_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not there"):
        fs.read_table(tmp_path / "none.csv")
    with pytest.raises(InputError, match="no file that can be read"):
        fs.read_table(tmp_path)
    with pytest.raises(InputError, match="a path, bytes"):
        fs.read_table(3)


@pytest.mark.parametrize(
    ("name", "package"),
    [
        ("t.parquet", "pyarrow"),
        ("t.feather", "pyarrow"),
        ("t.sav", "pyreadstat"),
        ("t.xlsx", "python_calamine"),
    ],
)
def test_a_package_that_is_not_installed_is_named_with_its_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, package: str
) -> None:
    (tmp_path / name).write_bytes(b"PAR1")
    for module in (package, f"{package}.parquet", f"{package}.feather"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingDependencyError, match=r"fairstats\[files\]"):
        fs.read_table(tmp_path / name)


# ---------------------------------------------------------------- places


def test_a_path_that_exists_is_that_file(tmp_path: Path, engine: str) -> None:
    for ending in (".csv", ".parquet"):
        if ending == ".parquet":
            pytest.importorskip("pyarrow")
        for name, group in (
            ("people[1]", "literal"),
            ("people1", "other"),
            ("x{a,b}", "braces"),
            ("q?*", "star"),
        ):
            path = tmp_path / f"{name}{ending}"
            frame = pd.DataFrame({"g": [group, group]})
            frame.to_csv(path, index=False) if ending == ".csv" else frame.to_parquet(path)
        for name, group in (("people[1]", "literal"), ("x{a,b}", "braces"), ("q?*", "star")):
            found = fs.read_table(tmp_path / f"{name}{ending}", engine=engine)
            assert values_of(found) == [(group,), (group,)]
        both = fs.read_table(tmp_path / f"people*{ending}", engine=engine)
        assert values_of(both) == [("literal",), ("literal",), ("other",), ("other",)]


def test_a_folder_is_read_with_all_below_it_each_file_as_it_is_written(
    tmp_path: Path, engine: str, quiet: pytest.WarningsRecorder
) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "a.csv").write_text("g,x\n01,1.5\n", encoding="utf-8")
    (tmp_path / "below" / "b.csv").write_bytes("x;g\n0,5;é\n".encode("latin-1"))
    (tmp_path / "notes.md").write_text("not a table", encoding="utf-8")
    found = fs.read_table(tmp_path, columns="g", numbers="x", engine=engine)
    names = list(nw.from_native(found).collect_schema().names())
    assert names == ["g", "x"]
    assert values_of(found) == [("01", 1.5), ("é", 0.5)]
    (tmp_path / "c.jsonl").write_text("{}", encoding="utf-8")
    with pytest.raises(InputError, match="several kinds"):
        fs.read_table(tmp_path)


def test_parquet_files_of_two_types_are_refused(tmp_path: Path, engine: str) -> None:
    pytest.importorskip("pyarrow")
    pd.DataFrame({"g": ["1"]}).to_parquet(tmp_path / "a.parquet")
    pd.DataFrame({"g": [1]}).to_parquet(tmp_path / "b.parquet")
    with pytest.raises(InputError, match="holds text in .* and whole numbers in"):
        fs.read_table(tmp_path, engine=engine)


def test_names_that_differ_in_capitals_alone(tmp_path: Path, engine: str) -> None:
    for name in ("t.csv", "t.parquet"):
        frame = pd.DataFrame({"Sex": ["A", "B"], "sex": ["c", "d"]})
        if name == "t.csv":
            frame.to_csv(tmp_path / name, index=False)
        else:
            pytest.importorskip("pyarrow")
            frame.to_parquet(tmp_path / name)
        if engine in ("rows", "polars"):
            assert values_of(fs.read_table(tmp_path / name, engine=engine)) == [
                ("A", "c"),
                ("B", "d"),
            ]
        else:
            with pytest.raises(InputError, match="differs in capitals alone"):
                fs.read_table(tmp_path / name, engine=engine)


# ---------------------------------------------------------------- sizes


def test_large_tables_go_to_duckdb_and_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quiet: pytest.WarningsRecorder
) -> None:
    pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"g": ["a", "b"] * 500, "y": [1, 0] * 500})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    assert isinstance(fs.read_table(tmp_path / "t.parquet"), pd.DataFrame)
    monkeypatch.setattr(sizes, "MANY_ROWS", 1_000)
    for name, words in (("t.parquet", "the 1,000 rows"), ("t.csv", "the about 1,000 rows")):
        table = fs.read_table(tmp_path / name)
        assert not isinstance(table, pd.DataFrame)
        assert words in record_of(table).notes[0]
        report = fs.audit(str(tmp_path / name), y_pred="y", pos_label="1", sensitive_features="g")
        assert words in report.notes[0]
        assert isinstance(fs.read_table(tmp_path / name, engine="rows"), pd.DataFrame)


def test_what_the_memory_cannot_hold_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.csv"
    path.write_text("g,y\n" + "a,1\n" * 10_000, encoding="utf-8")
    monkeypatch.setattr(sizes, "free_memory", lambda: 10_000)
    with pytest.raises(InputError, match=r"which take about .* GB in memory.*engine='duckdb'"):
        fs.read_table(path, engine="rows")
    pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    with pytest.warns(fs.FairstatsWarning, match="Counted by DuckDB"):
        assert not isinstance(fs.read_table(path), pd.DataFrame)
    monkeypatch.setattr("sys.stdin", type("In", (), {"buffer": io.BytesIO(b"a" * 20_000)}))
    with pytest.raises(InputError, match="by a pipe"):
        fs.read_table("-")


def test_an_archive_that_expands_as_no_data_do_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "bomb.csv.gz"
    # twenty parts, of which the last states its own length only
    path.write_bytes(gzip.compress(b"a,1\n" * (1 << 24)) * 20)
    assert path.stat().st_size < 3_000_000
    with pytest.raises(InputError, match=r"expands .* times, to 1\.\d GB"):
        fs.read_table(path)


def test_a_million_columns_end_soon(tmp_path: Path) -> None:
    n = 1_000_000
    path = tmp_path / "wide.csv"
    path.write_text(
        ",".join(f"c{k}" for k in range(n)) + "\n" + ",".join("1" * n) + "\n", encoding="utf-8"
    )
    assert values_of(fs.read_table(path, columns=["c5", "c999999"])) == [("1", "1")]
    path.write_text(
        ",".join(f"c{k}" for k in range(30_000)) + "\n" + ",".join("1" * 30_000), encoding="utf-8"
    )
    with pytest.raises(InputError, match="30,000 columns"):
        fs.read_table(path)
    with pytest.raises(InputError, match="no column 'sex'"):
        fs.read_table(path, columns="sex")


def test_expanded_bytes_are_known_or_estimated() -> None:
    text = os.urandom(200_000).hex().encode()
    for name, held in compressed(text).items():
        assert Source(name, name, None, held).expanded_bytes == len(text)


def test_free_memory_is_that_of_the_machine() -> None:
    assert 1 << 28 < sizes.free_memory() < 1 << 46


# ---------------------------------------------------------------- typed formats


def test_words_that_mean_missing_in_a_spreadsheet_are_those_that_are_named(
    tmp_path: Path, engine: str
) -> None:
    """A number among which "n/a" stands is a number; by default it would be refused as text."""
    pytest.importorskip("python_calamine")
    path = tmp_path / "t.xlsx"
    write_workbook(path, {"s": [["g", "x"], ["NA", 1], ["b", "n/a"], ["c", 2.5]]})
    table = fs.read_table(path, na_values=["NA", "n/a"], engine=engine)
    assert values_of(table) == [("b", None), ("c", 2.5), (None, 1.0)]
    assert record_of(table).tokens == {"g": {"NA": 1}, "x": {"n/a": 1}}
    assert ("NA", "1.0") in [(g, str(x)) for g, x in values_of(fs.read_table(path, engine="rows"))]
    held = tmp_path / "t.parquet"
    pd.DataFrame({"g": ["a"]}).to_parquet(held)
    with pytest.raises(InputError, match="`na_values`.*Parquet"):
        fs.read_table(held, na_values="NA", engine=engine)


def test_spreadsheets_and_their_sheets(
    tmp_path: Path, engine: str, quiet: pytest.WarningsRecorder
) -> None:
    pytest.importorskip("python_calamine")
    path = tmp_path / "t.xlsx"
    cells = [
        ["code", "n", "yes", "note"],
        ["01", 1, True, "NA"],
        ["1", 2.5, None, ""],
        ["007", None, False, " x "],
    ]
    write_workbook(path, {"first": cells, "second": [["code"], ["x"], ["y"]]})
    table = fs.read_table(path, engine=engine)
    assert values_of(table) == [
        ("007", None, False, " x "),
        ("01", 1.0, True, "NA"),
        ("1", 2.5, None, None),
    ]
    assert "the first was read, 'first'; the others are 'second'" in record_of(table).notes[0]
    for sheet in ("second", 2, "2"):
        assert values_of(fs.read_table(path, sheet=sheet, engine=engine)) == [("x",), ("y",)]
    with pytest.raises(InputError, match="name the sheet that has it, 'second'"):
        fs.read_table(path, columns="income", engine=engine)
    with pytest.raises(InputError, match="one of 'first', 'second'"):
        fs.read_table(path, sheet="third")
    assert values_of(fs.read_table(path.read_bytes(), sheet=1, columns="code")) == [
        ("007",),
        ("01",),
        ("1",),
    ]


def test_value_labels_become_the_labels_and_declared_missing_values_are_missing(
    tmp_path: Path, engine: str
) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    frame = pd.DataFrame(
        {
            "sex": [1.0, 2.0, 1.0, 9.0],
            "partly": [1.0, 5.0, 5.0, 2.0],
            "age": [20.0, 99.0, 30.0, 31.0],
            "text": ["01", "1", "", "NA"],
        }
    )
    labels = {"sex": {1.0: "male", 2.0: "female"}, "partly": {1.0: "low"}, "age": {99.0: "refused"}}
    path = tmp_path / "t.sav"
    pyreadstat.write_sav(
        frame, path, variable_value_labels=labels, missing_ranges={"sex": [9.0], "age": [99.0]}
    )
    found = fs.read_table(path, columns=["sex", "partly", "text"], numbers="age", engine=engine)
    assert values_of(found) == [
        ("female", "5", "1", None),
        ("male", "5", None, 30.0),
        ("male", "low", "01", 20.0),
        (None, "2", "NA", 31.0),
    ]
    pyreadstat.write_dta(
        frame[["sex"]], tmp_path / "t.dta", variable_value_labels={"sex": labels["sex"]}
    )
    assert values_of(fs.read_table(tmp_path / "t.dta", engine=engine)) == [
        ("9",),
        ("female",),
        ("male",),
        ("male",),
    ]


@pytest.mark.parametrize("name", ["t.xpt", "t.por", "t.zsav", "t.dta"])
def test_other_statistics_packages(tmp_path: Path, name: str) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    frame = pd.DataFrame({"G": ["01", "1", ""], "X": [0.5, np.nan, 2.0]})
    if name == "t.zsav":
        pyreadstat.write_sav(frame, tmp_path / name, compress=True)
    else:
        write = {
            "t.xpt": pyreadstat.write_xport,
            "t.por": pyreadstat.write_por,
            "t.dta": pyreadstat.write_dta,
        }[name]
        write(frame, tmp_path / name)
    assert values_of(fs.read_table(tmp_path / name)) == [("01", 0.5), ("1", None), (None, 2.0)]
    assert values_of(fs.read_table(tmp_path / name, columns="G")) == [("01",), ("1",), (None,)]


def test_json_lines_keep_types(tmp_path: Path, engine: str) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(
        '{"g": "01", "n": 9007199254740993, "b": true, "x": 0.5}\n\n{"g": "", "n": null, "b":'
        ' false, "x": 1}\n',
        encoding="utf-8",
    )
    assert values_of(fs.read_table(path, engine=engine)) == [
        ("01", 9007199254740993, True, 0.5),
        (None, None, False, 1.0),
    ]


@pytest.mark.parametrize("name", ["t.parquet", "t.feather"])
def test_whole_numbers_stay_whole_with_missing_values(
    tmp_path: Path, engine: str, name: str
) -> None:
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import feather, parquet

    table = arrow.table(
        {
            "n": arrow.array([2**53 + 1, None, -(2**60)]),
            "b": arrow.array([True, None, False]),
            "kind": arrow.array(["x", "y", "x"]).dictionary_encode(),
        }
    )
    (parquet if name == "t.parquet" else feather).__dict__[
        "write_table" if name == "t.parquet" else "write_feather"
    ](table, str(tmp_path / name))
    assert values_of(fs.read_table(tmp_path / name, engine=engine)) == [
        (-(2**60), False, "x"),
        (2**53 + 1, True, "x"),
        (None, None, "y"),
    ]


@pytest.mark.r
def test_rds_by_r(tmp_path: Path) -> None:
    from fairstats.ground.rsession import call

    path = tmp_path / "t.rds"
    call("base::saveRDS", {"g": ["01", "1"], "n": [1, 2]}, str(path))
    with pytest.raises(fs.FairstatsError, match="a data frame"):
        fs.read_table(path)
    frame = call("base::as.data.frame", {"g": ["01", "1"]})
    assert frame == {"g": ["01", "1"]}


def test_streams_that_are_not_at_hand_are_one_error() -> None:
    with streams.readable("'x'"), pytest.raises(ZeroDivisionError):
        _ = 1 / 0  # what is no fault of a file passes
    with pytest.raises(InputError, match="'x', which cannot be read"), streams.readable("'x'"):
        raise EOFError
