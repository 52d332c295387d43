"""An audit of a tally says what the audit of its rows says."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import fairstats as fs
from fairstats.ground.errors import FairstatsWarning, InputError

pytestmark = pytest.mark.filterwarnings("ignore::fairstats.ground.errors.FairstatsWarning")

COLUMNS = {"y_true": "y", "y_pred": "hat", "score": "score"}
#: What depends on the rows' order or on their identity, not on their number.
BY_ROWS = {"distance", "hfm"}


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    n = 600
    sex = rng.choice(["f", "m"], n, p=[0.4, 0.6])
    score = np.clip(rng.beta(2, 2, n) + 0.1 * (sex == "m"), 0, 1).round(2)
    return pd.DataFrame(
        {
            "sex": sex,
            "race": pd.Categorical(rng.choice(["A", "B", "C"], n), ["B", "A", "C"]),
            "score": score,
            "flipped": np.clip(score + rng.normal(0, 0.05, n), 0, 1),
            "y": (rng.random(n) < score).astype(int),
            "hat": (score > 0.5).astype(int),
            "age": rng.integers(18, 25, n),
        }
    )


def table(report: fs.results.AuditReport) -> pd.DataFrame:
    frame = report.to_frame()
    return frame.drop(columns=[c for c in ("note",) if c in frame])


@pytest.mark.parametrize("sensitive", ["sex", ["sex", "race"]])
def test_an_audit_of_a_tally_is_the_audit_of_its_rows(people, sensitive):
    counted = fs.Tally.from_json(
        fs.tally(people, **COLUMNS, sensitive_features=sensitive).to_json(exact=True)
    )
    rows = fs.audit(people, **COLUMNS, sensitive_features=sensitive, n_resamples=199, rng=1)
    again = fs.audit(counted, n_resamples=199, rng=1)
    pd.testing.assert_frame_equal(table(again), table(rows), check_exact=False, rtol=1e-12)
    assert again.columns == rows.columns
    assert again.statements == rows.statements


@pytest.mark.slow
def test_extremes_and_set_distances_come_from_their_parts(people):
    options = {
        **COLUMNS,
        "sensitive_features": "sex",
        "features": ["age"],
        "counterfactual_score": "flipped",
    }
    counted = fs.tally(people, **options)
    rows = fs.audit(people, **options, rng=1)
    again = fs.audit(counted, rng=1)
    first, second = (r.to_frame().set_index(["section", "metric", "group"]) for r in (rows, again))
    assert set(second.index) == set(first.index)
    for section, columns in (
        ("ecd", ["estimate", "ci_low", "ci_high", "pvalue"]),
        ("hfm", ["estimate"]),
    ):
        pd.testing.assert_frame_equal(
            second.loc[[section], columns].sort_index(),
            first.loc[[section], columns].sort_index(),
            rtol=1e-9,
        )


def test_names_of_columns_beside_a_tally_are_refused(people):
    counted = fs.tally(people, y_pred="hat", sensitive_features="sex")
    with pytest.raises(InputError, match="a Tally alone"):
        fs.audit(counted, y_pred="hat")


def test_one_attribute_of_a_crossed_tally_can_be_chosen(people):
    counted = fs.tally(people, y_pred="hat", sensitive_features=["sex", "race"])
    chosen = fs.audit(counted, sensitive_features="race").to_frame()
    own = fs.audit(people, y_pred="hat", sensitive_features="race").to_frame()
    pd.testing.assert_frame_equal(chosen, own)


def test_a_tally_of_labels_alone_is_audited_as_labels(people):
    counted = fs.tally(people, y_true="y", sensitive_features="sex")
    found = fs.audit(counted).to_frame()
    pd.testing.assert_frame_equal(
        found, fs.audit(people, y_true="y", sensitive_features="sex").to_frame()
    )


def test_missing_rows_keep_their_worst_case_bounds(people):
    lacking = people.astype({"hat": float})
    lacking.loc[:20, "hat"] = np.nan
    with pytest.warns(FairstatsWarning):
        counted = fs.tally(lacking, y_pred="hat", sensitive_features="sex", missing="drop")
    found = fs.audit(counted).to_frame()
    rows = fs.audit(lacking, y_pred="hat", sensitive_features="sex", missing="drop").to_frame()
    pd.testing.assert_frame_equal(found, rows)
