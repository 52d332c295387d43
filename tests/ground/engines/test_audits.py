"""An audit of a lazy table is the audit of its rows.

Witness throughout: the same rows, counted by NumPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairstats as fs
from tests.ground.engines.frames import lazily, people, same, with_gaps

pytestmark = pytest.mark.filterwarnings("ignore::fairstats.ground.errors.FairstatsWarning")

ROLES: dict[str, Any] = {
    "y_true": "y",
    "y_pred": "hat",
    "score": "score",
    "sensitive_features": ["sex", "race", "old"],
    "pos_label": {"y_true": "yes", "y_pred": 1},
    "missing": "drop",
}
#: Positions of the rows that a distance is between: in the frame, or among a tally's distinct rows.
POSITIONS = ["row_group", "row_reference"]


def audits_agree(frame: pd.DataFrame, engine: str, **options: Any) -> None:
    """Every number of both audits.

    Sums to 1e-12 of their size, and what is solved from them to 1e-9.

    MADD of clustered rows needs the rows, and the other report says so.
    """
    rows, there = (fs.audit(table, **options, rng=1) for table in (frame, lazily(engine)(frame)))
    first, second = (
        report.to_frame().drop(columns=POSITIONS, errors="ignore") for report in (rows, there)
    )
    if "cluster" in options:
        assert any("MADD of clusters is not computed from a tally" in note for note in there.notes)
        first = (
            first[first["section"] != "madd"]
            .reset_index(drop=True)
            .dropna(axis="columns", how="all")
        )
        second = second.dropna(axis="columns", how="all")
    pd.testing.assert_frame_equal(second, first, rtol=1e-9, atol=1e-12)
    assert [table.missing for table in there.tables] == [table.missing for table in rows.tables]


@pytest.mark.parametrize(("engine", "weight"), [("polars", "weight"), ("duckdb", None)])
def test_every_number_of_an_audit(engine, weight):
    options = {**ROLES, "sensitive_features": ["sex", "old"], "sample_weight": weight}
    audits_agree(with_gaps(people(1, 300)), engine, **options, intersections=False, n_resamples=100)


def test_distances_of_crossed_attributes_are_between_crossed_groups():
    """One attribute, the crossing; not each attribute by itself."""
    frame = people(2, 200)
    roles = {
        "y_true": "y",
        "y_pred": "hat",
        "features": ("age", "job"),
        "pos_label": ROLES["pos_label"],
    }
    counted = fs.tally(frame, **roles, sensitive_features=["sex", "old"], strata="site").crossed()
    assert counted.attributes == ("sex & old",)
    assert counted.n == len(frame)
    both = frame["sex"] + " & " + frame["old"].astype(str)
    plain = {"n_resamples": 0, "n_subsamples": 0}
    rows = fs.hfm(
        frame[["age", "job"]],
        frame["y"] == "yes",
        frame["hat"],
        sensitive_features={"sex & old": both},
        **plain,
    )
    found = fs.hfm(counts=counted, **plain)
    values = [(e.attribute, e.group, e.d, e.d_f, e.n) for e in rows.entries]
    assert [(e.attribute, e.group, e.d, e.d_f, e.n) for e in found.entries] == values


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_distances_and_tails_of_an_audit(engine):
    frame = people(3, 250)
    roles = {**ROLES, "features": ["age", "job"], "counterfactual_score": {"sex": "flipped"}}
    audits_agree(frame, engine, **{**roles, "sensitive_features": ["sex", "old"]})


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_compas(engine):
    frame, _ = fs.datasets.load_compas(subset="propublica")
    frame = frame.assign(decile_reversed=1 - (frame["decile_score"] - 1) / 9)
    audits_agree(
        frame,
        engine,
        y_true="two_year_recid",
        y_pred="score_text",
        score="decile_reversed",
        sensitive_features=["race", "sex"],
        pos_label={"y_true": 0, "y_pred": "Low"},
    )


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_adult(engine):
    frame, _ = fs.datasets.load_adult()
    frame = frame.assign(years=frame["education_num"] >= 13, hours=frame["hours_per_week"] / 100)
    audits_agree(
        frame,
        engine,
        y_true="income",
        y_pred="years",
        score="hours",
        sensitive_features=["race", "sex"],
        pos_label={"y_true": ">50K", "y_pred": True},
        missing="drop",
    )


@pytest.mark.slow
@pytest.mark.large
@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize("extra", [{}, {"sample_weight": "weight"}, {"cluster": "school"}])
def test_a_million_rows(engine, extra):
    frame = with_gaps(people(4, 10**6))
    audits_agree(frame, engine, **ROLES, **extra)
    every = {
        **ROLES,
        **extra,
        "features": ("age", "job"),
        "counterfactual_score": "flipped",
        "strata": "site",
    }
    frame["flipped"] = np.where(frame.index % 3 == 0, frame["flipped"], 0.5)
    same(fs.tally(lazily(engine)(frame), **every), fs.tally(frame, **every))
