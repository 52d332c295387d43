"""An option of an audit has an effect, or an error says why it has none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairstats as fs


def people() -> pd.DataFrame:
    """Eighty people of two groups, with a score, a prediction, an outcome and probabilities."""
    number = np.arange(80)
    return pd.DataFrame(
        {
            "g": np.where(number % 2 == 0, "a", "b"),
            "hat": (number % 3 == 0).astype(int),
            "fact": (number % 4 == 0).astype(int),
            "score": number / 80,
            "age": number,
            "prob_a": np.where(number % 2 == 0, 0.8, 0.2),
            "prob_b": np.where(number % 2 == 0, 0.2, 0.8),
        }
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"score_range": (300, 850)}, "`score_range`: got (300, 850) without score="),
        ({"risks": True}, "`risks`: got True without score="),
        ({"risks": True, "score": "score"}, "`risks`: got True without y_true="),
        ({"features": ["age"]}, "`features`: got 'age' without y_true="),
        (
            {"calibration_sample": (["a"], {"a": [0.5], "b": [0.5]})},
            "`calibration_sample`: got a sample without sensitive_probabilities=",
        ),
    ],
)
def test_what_the_columns_cannot_give_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(fs.InputError) as caught:
        fs.audit(people(), y_pred="hat", sensitive_features="g", **options)
    assert str(caught.value).startswith(words)


@pytest.mark.parametrize(
    "options",
    [{"score_range": (10, 1)}, {"family": "audit"}, {"engine": "duckdb"}, {"n_resamples": 299}],
    ids=lambda options: next(iter(options)),
)
def test_what_inferred_groups_do_not_have_is_refused(options: dict[str, Any]) -> None:
    (name,) = options
    with pytest.raises(fs.InputError, match=f"^`{name}`: .* with sensitive_probabilities="):
        fs.audit(
            people(),
            y_pred="hat",
            sensitive_probabilities={"a": "prob_a", "b": "prob_b"},
            **options,
        )


def test_the_scale_of_the_scores_of_a_tally_is_fixed() -> None:
    counted = fs.tally(people(), y_true="fact", score="score", sensitive_features="g")
    with pytest.raises(fs.InputError, match="beside a Tally"):
        fs.audit(counted, score_range=(0, 2))


def test_features_that_a_tally_counted_are_nothing_that_was_asked_for() -> None:
    """Who counted them for later can audit what is there."""
    counted = fs.tally(people(), y_true="fact", features=["age"], sensitive_features="g")
    assert fs.audit(counted).to_frame()["metric"].eq("disparate_impact_labels").any()


@pytest.mark.parametrize("options", [{"features": ["age"]}, {"risks": True, "score": "score"}])
def test_what_needs_two_labels_is_refused_of_several_classes(options: dict[str, Any]) -> None:
    frame = people()
    for column in ("hat", "fact"):
        frame[column] = frame[column].map({0: "low", 1: "high"})
        frame.loc[frame["age"] % 7 == 0, column] = "none"
    with pytest.raises(fs.InputError, match="with labels of several classes"):
        fs.audit(frame, y_true="fact", y_pred="hat", sensitive_features="g", **options)
