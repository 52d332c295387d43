"""MADD from a tally alone: the same numbers as from the rows, and what needs rows says so."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import fairstats as fs
from fairstats.ground.errors import DataWarning, InputError


def _frame() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    group = rng.choice(["a", "b", "c"], 3_000, p=[0.5, 0.3, 0.2])
    score = np.round(rng.beta(2, 4, 3_000) + 0.05 * (group == "b"), 3).clip(0, 1)
    return pd.DataFrame(
        {
            "group": group,
            "score": score,
            "passed": (rng.random(3_000) < score).astype(int),
            "weight": rng.uniform(0.5, 2, 3_000),
            "school": rng.integers(0, 60, 3_000),
        }
    )


FRAME = _frame()


def tallied(**columns: str) -> fs.Tally:
    made = fs.tally(FRAME, y_true="passed", score="score", sensitive_features="group", **columns)
    return fs.Tally.from_json(made.to_json(exact=True))


@pytest.mark.parametrize("options", [{}, {"n_bins": 20}, {"comparisons": "rest"}], ids=str)
def test_the_same_to_the_last_bit(options: dict[str, object]) -> None:
    rows = fs.madd(
        FRAME["score"], sensitive_features=FRAME["group"], n_resamples=199, rng=1, **options
    )
    counted = fs.madd(counts=tallied(), n_resamples=199, rng=1, **options)
    pd.testing.assert_frame_equal(counted.to_frame(), rows.to_frame(), check_exact=True)
    assert counted.sentences() == rows.sentences()


def test_weights() -> None:
    rows = fs.madd(
        FRAME["score"],
        sensitive_features=FRAME["group"],
        sample_weight=FRAME["weight"],
        n_resamples=199,
        rng=1,
    )
    counted = fs.madd(counts=tallied(sample_weight="weight"), n_resamples=199, rng=1)
    pd.testing.assert_frame_equal(counted.to_frame(), rows.to_frame(), rtol=1e-9)


def test_the_search_runs_again_in_permutations_of_a_tally() -> None:
    options = {"permutations": "search", "n_resamples": 99, "max_bins": 200, "rng": 1}
    rows = fs.madd(FRAME["score"], sensitive_features=FRAME["group"] == "a", **options)
    two = fs.tally(
        FRAME.assign(group=FRAME["group"] == "a"), score="score", sensitive_features="group"
    )
    assert (
        fs.madd(counts=two, **options).comparisons[0].headline_pvalue
        == rows.comparisons[0].headline_pvalue
    )


def test_curve() -> None:
    pair = ("a", "b")
    rows = fs.madd_curve(FRAME["score"], sensitive_features=FRAME["group"], pair=pair)
    assert np.array_equal(fs.madd_curve(counts=tallied(), pair=pair).madd, rows.madd)


def test_what_needs_rows_says_so() -> None:
    with pytest.raises(InputError, match="clusters are permuted whole"):
        fs.madd(counts=tallied(cluster="school"))
    with pytest.raises(InputError, match="without scores"):
        fs.madd(counts=fs.tally(FRAME, y_pred="passed", sensitive_features="group"))
    with pytest.raises(InputError, match="both counts and rows"):
        fs.madd(FRAME["score"], sensitive_features=FRAME["group"], counts=tallied())
    with pytest.raises(InputError, match="score"):
        fs.madd()


@pytest.mark.filterwarnings("ignore:scores are merged to")
def test_merged_scores_are_said() -> None:
    merged = fs.Tally.from_json(tallied().to_json())
    with pytest.warns(DataWarning, match="merged to intervals"):
        found = fs.madd(counts=merged, n_bins=4, n_resamples=199, rng=1)
    exact = fs.madd(counts=tallied(), n_bins=4, n_resamples=199, rng=1)
    assert found.estimate == pytest.approx(exact.estimate, abs=0.1)
