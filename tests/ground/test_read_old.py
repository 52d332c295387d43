"""Tables from files."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import pandas as pd
import pytest

from fairstats.ground.errors import InputError, MissingDependencyError
from fairstats.ground.reading.table import read_table

TABLE = pd.DataFrame({"y": [1, 0, 1], "s": ["a", "b", "a"], "not needed": [1.5, 2.5, 3.5]})


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.csv.bz2", "t.csv.xz", "t.csv.zip", "T.CSV"])
def test_csv(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    TABLE.to_csv(path, index=False)
    found = read_table(path, ["s", "y"])
    assert set(found.columns) == {"y", "s"}
    pd.testing.assert_frame_equal(found[["y", "s"]], TABLE[["y", "s"]], check_dtype=False)


def test_tsv_and_other_separators(tmp_path: Path) -> None:
    TABLE.to_csv(tmp_path / "t.tsv", index=False, sep="\t")
    TABLE.to_csv(tmp_path / "t.csv", index=False, sep=";")
    assert len(read_table(tmp_path / "t.tsv", ["y"])) == 3
    assert len(read_table(tmp_path / "t.csv", ["y"], delimiter=";")) == 3
    with pytest.raises(InputError, match="--delimiter"):
        read_table(tmp_path / "t.csv", ["y"])


def test_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("y,s\n1,a\n", encoding="utf-8-sig")
    assert list(read_table(tmp_path / "t.csv", ["y"]).columns) == ["y"]


def test_parquet(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    TABLE.to_parquet(tmp_path / "t.parquet")
    found = read_table(tmp_path / "t.parquet", ["s", "y", "s"])
    assert list(found.columns) == ["s", "y"]
    with pytest.raises(InputError, match="no column 'x'"):
        read_table(tmp_path / "t.parquet", ["x"])


def test_parquet_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingDependencyError, match="pyarrow"):
        read_table(tmp_path / "t.parquet", ["y"])


BAD_FILES = {
    "empty.csv": (b"", "cannot be read"),
    "header.csv": (b"y,s\n", "0 rows"),
    "column.csv": (b"a,s\n1,a\n", "no column 'y'; allowed: its columns: 'a', 's'"),
    "latin.csv": (b"y,s\n1,\xe9\n", "cannot be read"),
    "ragged.csv": (b"y,s\n1,a\n1,a,b,c\n", "cannot be read"),
    "all too long.csv": (b"y,s\n1,a,b\n1,a,b\n", "cannot be read"),
    "torn.csv.gz": (gzip.compress(b"y,s\n1,a\n" * 100)[:30], "cannot be read"),
    "false.csv.gz": (b"y,s\n1,a\n", "cannot be read"),
    "false.csv.zip": (b"not a zip", "cannot be read"),
    "people.xlsx": (b"PK", "a name that ends in"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files(tmp_path: Path, name: str) -> None:
    content, said = BAD_FILES[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=said):
        read_table(tmp_path / name, ["y", "s"])


def test_false_parquet(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    (tmp_path / "t.parquet").write_bytes(b"not parquet at all")
    with pytest.raises(InputError, match="cannot be read"):
        read_table(tmp_path / "t.parquet", ["y"])


def test_no_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not there"):
        read_table(tmp_path / "none.csv", ["y"])
    with pytest.raises(InputError, match="a folder"):
        read_table(tmp_path, ["y"])
