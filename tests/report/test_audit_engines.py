"""An audit of a lazy table is the audit of its rows. Witness: the same call on the frame."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import fairstats as fs
from tests.ground.engines.frames import lazily, people, with_gaps

pytestmark = pytest.mark.filterwarnings("ignore::fairstats.ground.errors.FairstatsWarning")


#: What is drawn in a simultaneous band.
ENDS = ["ci_low", "ci_high", "bound_low", "bound_high", "width"]
PVALUES = ["pvalue", "pvalue_adjusted", "pvalue_verdict", "pvalue_verdict_adjusted"]


def alike(first: pd.DataFrame, second: pd.DataFrame) -> None:
    """Two tables of an audit: every text equal, every number to rounding of sums."""
    assert first.columns.tolist() == second.columns.tolist()
    pd.testing.assert_frame_equal(second, first, check_exact=False, rtol=1e-9, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_compas(engine):
    frame, _ = fs.datasets.load_compas(subset="propublica")
    frame = frame.assign(score=1 - (frame["decile_score"] - 1) / 9)
    options = {
        "y_true": "two_year_recid",
        "y_pred": "score_text",
        "score": "score",
        "sensitive_features": ["race", "sex"],
        "pos_label": {"y_true": 0, "y_pred": "Low"},
        "rng": 1,
    }
    rows, table = (fs.audit(t, **options) for t in (frame, lazily(engine)(frame)))
    alike(rows.to_frame(), table.to_frame())
    assert table.sections[0].key == rows.sections[0].key
    assert table.notes == rows.notes


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize("sampling", [{}, {"sample_weight": "weight"}, {"cluster": "school"}])
def test_gaps_count_for_the_attributes_that_they_are_in(engine, sampling):
    """A row without its race counts in the comparison of the sexes."""
    frame = with_gaps(people(3, 1_200))
    options = {
        "y_true": "y",
        "y_pred": "hat",
        "pos_label": {"y_true": "yes", "y_pred": 1},
        "sensitive_features": ["sex", "race"],
        "missing": "drop",
        "rng": 1,
        **sampling,
    }
    rows, table = (fs.audit(t, **options).to_frame() for t in (frame, lazily(engine)(frame)))
    # Sums of weights in another order turn the eigenvectors that simultaneous bands are drawn with:
    # their quantiles, right to .01 each, differ by .02 and their p-values by the error of two times
    # 2^16 draws.
    drawn = rows["metric"].str.endswith("_max") & ("sample_weight" in sampling)
    alike(rows[~drawn], table[~drawn])
    alike(
        rows.loc[drawn].drop(columns=[*ENDS, *PVALUES]),
        table.loc[drawn].drop(columns=[*ENDS, *PVALUES]),
    )
    if drawn.any():
        moved = (
            (rows.loc[drawn, ENDS] - table.loc[drawn, ENDS])
            .abs()
            .div(rows.loc[drawn, "std_error"], axis=0)
        )
        assert np.nanmax(moved) < 0.04  # of a standard error: a width has two ends
        np.testing.assert_allclose(
            rows.loc[drawn, PVALUES], table.loc[drawn, PVALUES], rtol=0, atol=0.011
        )


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_counterfactual_scores_and_features_of_two_attributes(engine):
    frame = people(4, 800)
    frame["other"] = np.clip(frame["flipped"] + 0.01, 0, 1)
    options = {
        "y_true": "y",
        "y_pred": "hat",
        "score": "score",
        "pos_label": {"y_true": "yes", "y_pred": 1},
        "sensitive_features": ["sex", "old"],
        "counterfactual_score": {"sex": "flipped", "old": "other"},
        "features": ["age", "job"],
        "intersections": False,
        "rng": 1,
    }
    # distinct rows come in an order of their own, which draws of HFM depend on
    rows, table = (fs.audit(t, **options).to_frame() for t in (frame, lazily(engine)(frame)))
    drawn = rows["metric"].str.startswith("hfm")
    alike(rows[~drawn], table[~drawn])
    np.testing.assert_allclose(
        table.loc[drawn, "estimate"], rows.loc[drawn, "estimate"], rtol=1e-12
    )


def test_clusters_with_scores_say_what_needs_rows():
    frame = people(5, 600)
    options = {
        "y_true": "y",
        "score": "score",
        "sensitive_features": "sex",
        "pos_label": "yes",
        "cluster": "school",
    }
    report = fs.audit(lazily("polars")(frame), **options, rng=1)
    assert any("MADD of clusters is not computed from a tally" in note for note in report.notes)
    whole = fs.audit(lazily("polars")(frame), **options, rng=1, engine="rows")
    alike(fs.audit(frame, **options, rng=1).to_frame(), whole.to_frame())
