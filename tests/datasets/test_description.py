"""Descriptions: readable, complete, serialisable, not to be changed by accident."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle

import pytest

from fairstats.datasets import Dataset, DatasetDescription, load_compas, load_ricci
from fairstats.datasets.description import catalogue, entry


@pytest.mark.parametrize("name", sorted(catalogue()))
def test_every_entry_is_complete(name) -> None:
    known = entry(name)
    about = known.about
    assert about.title
    assert about.source
    assert about.citation
    assert about.licence
    assert about.faults
    assert all(fault.endswith(".") for fault in about.faults)
    assert all(about.columns.values())
    assert list(known.dtypes) == list(about.columns)
    assert set(known.dtypes.values()) <= {"int64", "float64", "str"}
    assert about.y_true in about.columns
    assert set(about.sensitive_features) <= set(about.columns)
    assert set(about.reference) <= set(about.sensitive_features)
    assert set(known.published_names) <= set(about.columns)


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
