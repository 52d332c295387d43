"""Readers of the original layouts.

On made-up files always, on the real data where shared copies are.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import pandas as pd
import pytest

from fairstats.datasets import (
    load_adult,
    load_compas,
    read_adult,
    read_bank,
    read_compas,
    read_credit_default,
    read_heart,
    read_student,
)
from fairstats.datasets.description import entry, read_bundled
from fairstats.ground.errors import DataWarning, InputError, MissingDependencyError

IDENTIFYING = {
    "id",
    "name",
    "first",
    "last",
    "dob",
    "compas_screening_date",
    "c_case_number",
    "r_case_number",
}


def described(dataset) -> pd.DataFrame:
    """Check that the description fits the frame, and return the frame."""
    frame, about = dataset
    assert list(about.columns) == list(frame.columns)
    assert (about.n_rows, about.n_columns) == frame.shape
    assert isinstance(frame.index, pd.RangeIndex)
    return frame


def same(frame: pd.DataFrame, expected: pd.DataFrame) -> None:
    """Equal to the last bit, types included; the order of rows and columns too."""
    pd.testing.assert_frame_equal(frame, expected, check_exact=True)


# --- COMPAS
# -----------------------------------------------------------------------------------------------


def test_compas_drops_what_identifies(originals: Path) -> None:
    frame = described(read_compas(originals / "compas.csv"))
    assert list(frame.columns) == list(load_compas().frame.columns)
    assert not IDENTIFYING & set(frame.columns)
    assert "example" not in frame.to_csv()
    assert frame["decile_score"].tolist() == [1, 9, -1, 6, 6]
    assert frame["score_text"].isna().tolist() == [False, False, True, False, False]
    assert frame["days_b_screening_arrest"].isna().sum() == 1
    same(frame.dtypes.astype(str).to_frame(), load_compas().frame.dtypes.astype(str).to_frame())


def test_compas_subsets(originals: Path) -> None:
    assert described(read_compas(originals / "compas.csv", subset="propublica"))[
        "age"
    ].tolist() == [69, 24, 24]
    assert described(read_compas(originals / "compas.csv", subset="besse"))["age"].tolist() == [69]


def test_violent_is_recognised(originals: Path) -> None:
    dataset = read_compas(originals / "compas-violent.csv")
    frame = described(dataset)
    assert frame.shape == (5, 17)
    assert dataset.description.name == "compas_two_years_violent"
    assert dataset.description.y_pred == "v_score_text"
    assert "violent" in dataset.description.columns["two_year_recid"]
    assert len(read_compas(originals / "compas-violent.csv", subset="propublica").frame) == 3
    with pytest.raises(InputError, match="`subset`: got 'besse' with the violent file"):
        read_compas(originals / "compas-violent.csv", subset="besse")


@pytest.mark.parametrize("name", ["compas_two_years", "compas_two_years_violent"])
def test_compas_real(name: str, shared, tmp_path: Path) -> None:
    expected = shared(name)
    original = expected.assign(name="somebody", dob="1970-01-01", c_case_number="13011352CF10A")
    original["score_text"] = original["score_text"].fillna("N/A")
    columns = [*original.columns, "decile_score", "priors_count"]
    if name.endswith("violent"):
        columns.append("two_year_recid")
    original[columns].to_csv(tmp_path / "original.csv", index=False)
    same(described(read_compas(tmp_path / "original.csv")), expected)
    analysed = read_compas(tmp_path / "original.csv", subset="propublica").frame
    assert len(analysed) == (4_020 if name.endswith("violent") else 6_172)


# --- Adult
# ------------------------------------------------------------------------------------------------


def test_adult(originals: Path) -> None:
    train = described(read_adult(originals / "adult.data"))
    assert train.shape == (2, 15)
    assert train.isna().sum().sum() == 3
    assert train["income"].tolist() == ["<=50K", ">50K"]
    both = described(read_adult(originals / "adult.data", originals / "adult.test"))
    assert both.shape == (4, 16)
    assert both["split"].tolist() == ["train", "train", "test", "test"]
    assert both["income"].tolist() == ["<=50K", ">50K", "<=50K", ">50K"]
    same(
        both.dtypes.drop("split").astype(str).to_frame(),
        load_adult().frame.dtypes.astype(str).to_frame(),
    )


def write_adult(frame: pd.DataFrame, path: Path, *, test: bool) -> Path:
    rows = frame.drop(columns="split").fillna("?").astype(str)
    if test:
        rows["income"] += "."
    lines = [", ".join(row) for row in rows.itertuples(index=False)]
    path.write_text(
        ("|1x3 Cross validator\n" if test else "") + "\n".join(lines) + "\n\n", encoding="utf-8"
    )
    return path


def test_adult_real(shared, tmp_path: Path) -> None:
    expected = shared("adult")
    train = write_adult(
        expected[expected["split"].eq("train")], tmp_path / "adult.data", test=False
    )
    test = write_adult(expected[expected["split"].eq("test")], tmp_path / "adult.test", test=True)
    same(described(read_adult(train, test)), expected)
    same(read_adult(train).frame, read_bundled("adult_train.csv.gz", entry("adult")))


def test_train_and_test_exchanged(originals: Path) -> None:
    with pytest.raises(InputError, match="`train`: got labels that end with a full stop"):
        read_adult(originals / "adult.test", originals / "adult.data")


# --- Bank, credit, heart, student
# -------------------------------------------------------------------------


def test_bank(originals: Path) -> None:
    frame = described(read_bank(originals / "bank-full.csv"))
    assert frame.shape == (2, 17)
    assert frame["balance"].tolist() == [-2143, 29]
    assert frame["contact"].tolist() == ["unknown", "cellular"]


def test_bank_real(shared, tmp_path: Path) -> None:
    expected = shared("bank_full")
    expected.to_csv(tmp_path / "bank-full.csv", sep=";", index=False, quoting=2)
    same(described(read_bank(tmp_path / "bank-full.csv")), expected)
    assert expected.shape == (45_211, 17)


def test_gzip_is_read_too(originals: Path) -> None:
    packed = originals / "bank-full.csv.gz"
    packed.write_bytes(gzip.compress((originals / "bank-full.csv").read_bytes()))
    same(read_bank(packed).frame, read_bank(str(originals / "bank-full.csv")).frame)


def test_credit_default_with_one_or_two_header_lines(originals: Path) -> None:
    frame = described(read_credit_default(originals / "credit.csv"))
    assert frame.shape == (2, 24)
    assert "ID" not in frame
    assert frame["default_payment_next_month"].tolist() == [1, 0]
    assert frame["BILL_AMT3"].tolist() == [689, -268]
    one = originals / "one.csv"
    one.write_text((originals / "credit.csv").read_text().split("\n", 1)[1])
    same(read_credit_default(one).frame, frame)


def test_credit_default_real(shared, tmp_path: Path) -> None:
    expected = shared("credit_default")
    original = expected.rename(columns={"default_payment_next_month": "default payment next month"})
    original.insert(0, "ID", range(1, len(original) + 1))
    lines = original.to_csv(index=False)
    numbers = ",".join(f"X{i}" for i in range(1, 24))
    (tmp_path / "credit.csv").write_text(f",{numbers},Y\n{lines}")
    same(described(read_credit_default(tmp_path / "credit.csv")), expected)
    assert expected["default_payment_next_month"].value_counts().to_dict() == {0: 23_364, 1: 6_636}


def test_credit_default_excel(originals: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without needing an Excel reader here: what it would return is read as the CSV is."""
    cells = pd.read_csv(originals / "credit.csv", header=None, dtype="str", keep_default_na=False)
    monkeypatch.setattr(pd, "read_excel", lambda *args, **kwargs: cells)
    sheet = originals / "default of credit card clients.XLS"
    sheet.write_bytes(b"sheet")
    same(read_credit_default(sheet).frame, read_credit_default(originals / "credit.csv").frame)


@pytest.mark.parametrize(("suffix", "engine"), [(".xls", "xlrd"), (".xlsx", "openpyxl")])
def test_excel_reader_lacking(
    suffix: str, engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lacking(*args: object, **kwargs: object) -> pd.DataFrame:
        raise ImportError(engine)

    monkeypatch.setattr(pd, "read_excel", lacking)
    sheet = tmp_path / f"credit{suffix}"
    sheet.write_bytes(b"sheet")
    with pytest.raises(
        MissingDependencyError, match=f"pip install {engine}.*save the sheet as CSV"
    ) as caught:
        read_credit_default(sheet)
    assert caught.value.package == engine


def test_excel_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def damaged(*args: object, **kwargs: object) -> pd.DataFrame:
        raise KeyError("Workbook")

    monkeypatch.setattr(pd, "read_excel", damaged)
    sheet = tmp_path / "credit.xls"
    sheet.write_bytes(b"sheet")
    with pytest.raises(InputError, match="which xlrd cannot read"):
        read_credit_default(sheet)


def test_heart(originals: Path) -> None:
    frame = described(read_heart(originals / "processed.cleveland.data"))
    assert frame.shape == (2, 14)
    assert frame.isna().sum().to_dict() == {**dict.fromkeys(frame.columns, 0), "ca": 1, "thal": 1}
    assert frame["num"].tolist() == [0, 2]


def test_heart_with_a_damaged_label(originals: Path) -> None:
    file = originals / "processed.cleveland.data"
    file.write_text(file.read_text().replace("6.0,0\n", "6.0,10\n"))
    with pytest.warns(DataWarning, match=r"`num` should be 0 to 4 but is \[10\] in 1 row"):
        frame = read_heart(file).frame
    assert frame["num"].tolist() == [10, 2]


def test_heart_real(shared, tmp_path: Path) -> None:
    """The shared copy has the label 10 in two rows where the published file has 1.

    Mended before writing.
    """
    expected = shared("heart_cleveland")
    expected["num"] = expected["num"].replace(10, 1)
    assert expected["num"].value_counts().to_dict() == {0: 164, 1: 55, 2: 36, 3: 35, 4: 13}
    expected.to_csv(tmp_path / "processed.cleveland.data", index=False, header=False, na_rep="?")
    frame = described(read_heart(tmp_path / "processed.cleveland.data"))
    same(frame, expected)
    assert len(frame.dropna()) == 297


def test_student(originals: Path) -> None:
    frame = described(read_student(originals / "student-mat.csv", originals / "student-por.csv"))
    assert frame.shape == (3, 34)
    assert frame["subject"].tolist() == ["mat", "por", "por"]
    assert frame["G1"].tolist() == [5, 5, 5]


def test_student_real(shared, tmp_path: Path) -> None:
    expected = shared("student")
    for subject, part in expected.groupby("subject"):
        part.drop(columns="subject").to_csv(
            tmp_path / f"{subject}.csv", sep=";", index=False, quoting=2
        )
    frame = described(read_student(tmp_path / "mat.csv", tmp_path / "por.csv"))
    same(frame, expected)
    assert frame["subject"].value_counts().to_dict() == {"por": 649, "mat": 395}
