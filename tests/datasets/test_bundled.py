"""The bundled data: what ships, its size, its values, its descriptions."""

from __future__ import annotations

import gzip
import hashlib
import math
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import fairstats.datasets as datasets
from fairstats.datasets import load_adult, load_compas, load_german_credit, load_ricci
from fairstats.ground.errors import InputError

DATA = Path(datasets.__file__).parent / "data"

#: loader, shape, name of the shared copy, SHA-256 of the unpacked file.
BUNDLED = {
    "adult_train": (
        load_adult,
        (32561, 15),
        "adult",
        "98fbe372dd00d6afcdec811b8bb79925ff35cf6ca47fc83193913554531e8bc9",
    ),
    "compas_two_years": (
        load_compas,
        (7214, 17),
        "compas_two_years",
        "37b525f8d3e47ea47d9a4fe50bffc52bb7b7ce983e8b15bf56f611567d16baa6",
    ),
    "german_credit": (
        load_german_credit,
        (1000, 22),
        "german_credit",
        "d563cccead093df01b3b0b02a45a91a5732ee25cd56a7dbddf4d64f2a17cfaf9",
    ),
    "ricci": (
        load_ricci,
        (118, 6),
        "ricci",
        "25ea3e962e7ce2f02b3d9a4b65a22f44df5b7b2cefe2a78f1e98fec6d0556753",
    ),
}
EACH = pytest.mark.parametrize("file", BUNDLED)

#: Columns of ProPublica's file that name a person, a case or a day.
IDENTIFYING = (
    "id",
    "name",
    "first",
    "last",
    "dob",
    "case_number",
    "date",
    "jail",
    "custody",
    "desc",
)


@EACH
def test_shape_and_description_agree(file: str) -> None:
    load, shape, _, _ = BUNDLED[file]
    frame, description = load()
    assert frame.shape == shape == (description.n_rows, description.n_columns)
    assert list(description.columns) == list(frame.columns)
    assert all(len(meaning) > 3 for meaning in description.columns.values())
    assert description.licence
    assert description.source
    assert description.citation
    assert description.faults
    assert description.subset is None


@EACH
def test_suggestions_exist_in_the_frame(file: str) -> None:
    frame, about = BUNDLED[file][0]()
    assert about.pos_label in set(frame[about.y_true])
    if about.y_pred is not None:
        assert about.pos_label_pred in set(frame[about.y_pred])
    if about.score is not None:
        assert pd.api.types.is_numeric_dtype(frame[about.score])
    assert set(about.sensitive_features) <= set(frame.columns)
    for column, group in about.reference.items():
        assert column in about.sensitive_features
        assert group in set(frame[column])


@EACH
def test_types_are_int64_float64_or_strings(file: str) -> None:
    frame = BUNDLED[file][0]().frame
    for name, dtype in frame.dtypes.items():
        if pd.api.types.is_numeric_dtype(dtype):
            assert str(dtype) in ("int64", "float64"), name
        else:
            assert all(isinstance(value, str) or math.isnan(value) for value in frame[name]), name


@EACH
def test_file_is_the_recorded_one_and_reproducible(file: str) -> None:
    packed = (DATA / f"{file}.csv.gz").read_bytes()
    flags = packed[3]
    mtime = packed[4:8]
    assert flags == 0, "no file name in the gzip header"
    assert mtime == b"\0\0\0\0"
    assert hashlib.sha256(gzip.decompress(packed)).hexdigest() == BUNDLED[file][3]


@EACH
def test_values_equal_the_shared_copy(file: str, shared) -> None:
    load, _, name, _ = BUNDLED[file]
    expected = shared(name)
    if name == "adult":
        expected = (
            expected[expected["split"].eq("train")].drop(columns="split").reset_index(drop=True)
        )
    pd.testing.assert_frame_equal(load().frame, expected, check_exact=True)


def test_all_files_stay_small() -> None:
    assert {path.name for path in DATA.iterdir()} == {
        *(f"{name}.csv.gz" for name in BUNDLED),
        "README.md",
    }
    assert sum(path.stat().st_size for path in DATA.iterdir()) < 3_000_000


def test_compas_carries_nothing_that_identifies() -> None:
    header = (
        gzip.decompress((DATA / "compas_two_years.csv.gz").read_bytes()).split(b"\n", 1)[0].decode()
    )
    columns = header.split(",")
    assert len(columns) == 17
    assert not {
        name for name in columns for part in IDENTIFYING if part in name.split("_") or name == part
    }
    assert "case_number" not in header


def test_missing_values_are_where_they_were() -> None:
    missing = load_adult().frame.isna().sum()
    assert missing[missing > 0].to_dict() == {
        "workclass": 1836,
        "occupation": 1843,
        "native_country": 583,
    }
    missing = load_compas().frame.isna().sum()
    assert missing[missing > 0].to_dict() == {"days_b_screening_arrest": 307}
    assert not load_german_credit().frame.isna().any(axis=None)
    assert not load_ricci().frame.isna().any(axis=None)


def test_ricci_outcome_is_the_pass_mark() -> None:
    frame = load_ricci().frame
    assert frame["Promoted"].eq(frame["Combine"].ge(70)).all()
    assert frame["Promoted"].sum() == 56
    assert (frame["Combine"] - 0.6 * frame["Written"] - 0.4 * frame["Oral"]).abs().max() < 1e-9


def test_german_sex_follows_the_published_codes() -> None:
    frame, about = load_german_credit()
    assert frame["sex"].eq("female").eq(frame["personal_status"].eq("A92")).all()
    assert any("swapped" in fault and "A201" in fault for fault in about.faults)


def test_a_change_does_not_reach_the_next_caller() -> None:
    first = load_ricci()
    first.frame.loc[0, "Oral"] = -1.0
    first.description.columns["Oral"] = "changed"
    second = load_ricci()
    assert second.frame.loc[0, "Oral"] > 0
    assert second.description.columns["Oral"] == "Score in the oral exam"


@pytest.mark.parametrize("load", [load_compas, load_adult])
@pytest.mark.parametrize("subset", ["Besse", "", "train", 1, ["besse"], True])
def test_unknown_subset(load, subset) -> None:
    with pytest.raises(
        InputError, match=r"`subset`: got .*allowed: .*'besse' or None for all rows"
    ):
        load(subset=subset)


def test_the_recipe_is_told() -> None:
    assert "Medium dropped" in load_compas(subset="besse").description.subset
    assert "Armed-Forces" in load_adult(subset="besse").description.subset


def test_import_is_light() -> None:
    """Importing the module loads nothing heavier than pandas, and opens no data."""
    code = (
        "import sys, fairstats.datasets\n"
        "heavy = ['scipy.stats', 'statsmodels', 'sklearn', 'matplotlib', 'rpy2', 'pymc', 'xlrd']\n"
        "loaded = [name for name in heavy if name in sys.modules]\n"
        "sys.exit(', '.join(loaded) or 0)"
    )
    root = str(Path(datasets.__file__).parents[2])
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([root, os.environ.get("PYTHONPATH", "")]),
    }
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
