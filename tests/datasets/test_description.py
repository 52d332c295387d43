"""Descriptions: readable, complete, serialisable, not to be changed by accident."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle

import pytest

from fairstats.datasets import Dataset, DatasetDescription, load_compas, load_ricci
from fairstats.datasets.catalogue_bundled import ADULT, COMPAS, GERMAN_CREDIT, RICCI
from fairstats.datasets.catalogue_own import (
    BANK,
    COMPAS_VIOLENT,
    CREDIT_DEFAULT,
    HEART,
    OULAD,
    OULAD_COURSE,
    STUDENT,
)
from fairstats.datasets.meps import MEPS

CATALOGUE = (
    ADULT,
    BANK,
    COMPAS,
    COMPAS_VIOLENT,
    CREDIT_DEFAULT,
    GERMAN_CREDIT,
    HEART,
    MEPS,
    OULAD,
    OULAD_COURSE,
    RICCI,
    STUDENT,
)


@pytest.mark.parametrize("entry", CATALOGUE, ids=lambda entry: entry.name)
def test_every_entry_is_complete(entry) -> None:
    assert entry.title
    assert entry.source
    assert entry.citation
    assert entry.licence
    assert entry.faults
    assert all(fault.endswith(".") for fault in entry.faults)
    assert all(column.meaning for column in entry.columns.values())
    assert set(entry.dtypes.values()) <= {"int64", "float64", "str"}
    assert entry.y_true in entry.columns
    assert set(entry.sensitive_features) <= set(entry.columns)
    assert set(entry.reference) <= set(entry.sensitive_features)


def test_names_are_unique() -> None:
    assert len({entry.name for entry in CATALOGUE}) == len(CATALOGUE)


def test_unpacks_as_a_pair() -> None:
    dataset = load_ricci()
    frame, description = dataset
    assert isinstance(dataset, Dataset)
    assert isinstance(description, DatasetDescription)
    assert frame is dataset.frame
    assert repr(dataset) == "<Dataset ricci: 118 rows × 6 columns>"


def test_str_tells_everything() -> None:
    description = load_compas(subset="propublica").description
    printed = str(description)
    assert "6,172 rows × 17 columns" in printed
    assert "screening within 30 days" in printed
    assert "None stated" in printed
    assert "y_true='two_year_recid' (favourable: 0)" in printed
    assert all(f"\n  {name} " in printed for name in description.columns)
    assert f"\n  {len(description.faults)}. " in printed
    assert max(map(len, printed.splitlines())) <= 100


def test_str_without_faults_or_suggestions() -> None:
    plain = dataclasses.replace(
        load_ricci().description, faults=(), y_true=None, score=None, sensitive_features=()
    )
    assert "Known faults" not in str(plain)
    assert "suggested" not in str(plain)


def test_to_dict_survives_json() -> None:
    description = load_compas().description
    plain = description.to_dict()
    assert set(plain) == {field.name for field in dataclasses.fields(description)}
    assert json.loads(json.dumps(plain)) == plain
    assert plain["reference"] == {"race": "Caucasian", "sex": "Male"}


def test_copies_and_equality() -> None:
    description = load_ricci().description
    unpickled = pickle.loads(pickle.dumps(description))  # noqa: S301
    for other in (copy.deepcopy(description), unpickled, load_ricci().description):
        assert other == description
        assert hash(other) == hash(description)
    assert load_compas().description != load_compas(subset="besse").description


def test_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        load_ricci().description.licence = "mine"  # type: ignore[misc]
