"""Rows and point estimates of Besse et al. (2018), section 4, from plain counts.

The computed digits are asserted; the paper's beside them in the comments.
"""

from __future__ import annotations

import pandas as pd
import pytest

from fairstats.datasets import load_adult, load_compas, load_german_credit


def ratio(success: pd.Series, unprivileged: pd.Series, among: pd.Series | None = None) -> float:
    """(successes / cases) of the unprivileged group over that of everybody else, by counting."""
    if among is not None:
        success = success[among]
        unprivileged = unprivileged[among]
    k0 = int((success & unprivileged).sum())
    d0 = int(unprivileged.sum())
    k1 = int((success & ~unprivileged).sum())
    d1 = int((~unprivileged).sum())
    return (k0 / d0) / (k1 / d1)


def test_row_counts() -> None:
    assert len(load_adult(subset="besse").frame) == 29_825
    compas = load_compas().frame
    assert len(compas) == 7_214
    analysed = load_compas(subset="propublica").frame
    assert len(analysed) == 6_172
    assert analysed["race"].isin(["African-American", "Caucasian"]).sum() == 5_278
    besse = load_compas(subset="besse").frame
    assert len(besse) == 3_821
    assert set(besse["score_text"]) == {"Low", "High"}
    assert set(besse["race"]) == {"African-American", "Caucasian"}
    assert list(besse.index) == list(range(3_821))


def test_adult_filters_one_by_one() -> None:
    frame = load_adult().frame
    complete = frame.dropna()
    assert len(complete) == 30_162
    kept = complete[complete["age"].gt(17) & complete["occupation"].ne("Armed-Forces")].reset_index(
        drop=True
    )
    pd.testing.assert_frame_equal(load_adult(subset="besse").frame, kept)


def test_adult() -> None:
    frame = load_adult(subset="besse").frame
    rich = frame["income"].eq(">50K")
    # sex: paper 0.36
    assert ratio(rich, frame["sex"].eq("Female")) == pytest.approx(0.3645, abs=5e-5)
    # "origin": paper 0.60; it is race
    assert ratio(rich, frame["race"].ne("White")) == pytest.approx(0.5981, abs=5e-5)
    # what the paper's words would mean
    assert ratio(rich, frame["native_country"].ne("United-States")) == pytest.approx(
        0.754, abs=5e-4
    )


def test_german_credit() -> None:
    frame = load_german_credit().frame
    good = frame["credit"].eq("good")
    assert frame["foreign_worker"].value_counts().to_dict() == {"A201": 963, "A202": 37}
    # paper 0.77, with the swapped codes
    assert ratio(good, frame["foreign_worker"].eq("A201")) == pytest.approx(0.7766, abs=5e-5)
    assert ratio(good, frame["foreign_worker"].eq("A202")) == pytest.approx(1.288, abs=5e-4)


def test_compas() -> None:
    frame = load_compas(subset="besse").frame
    black = frame["race"].eq("African-American")
    low = frame["score_text"].eq("Low")
    innocent = frame["two_year_recid"].eq(0)
    # label: paper 0.76; score: paper 0.71
    assert ratio(innocent, black) == pytest.approx(0.7608, abs=5e-5)
    assert ratio(low, black) == pytest.approx(0.7117, abs=5e-5)
    # the paper's "TPR" 0.60 and "TNR" 3.38 are ratios of error rates
    assert ratio(low, black, among=~innocent) == pytest.approx(0.5969, abs=5e-5)
    assert ratio(~low, black, among=innocent) == pytest.approx(3.3824, abs=5e-5)
    # the true ratios, with Low and no recidivism favourable
    assert ratio(low, black, among=innocent) == pytest.approx(0.8545, abs=5e-5)
    assert ratio(~low, black, among=~innocent) == pytest.approx(2.0151, abs=5e-5)


def test_compas_by_the_words_of_the_paper() -> None:
    """7,214 rows and "non-Caucasian" give other figures than those printed."""
    frame = load_compas().frame
    other = frame["race"].ne("Caucasian")
    assert ratio(frame["two_year_recid"].eq(0), other) == pytest.approx(0.8575, abs=5e-5)
    assert ratio(frame["score_text"].eq("Low"), other) == pytest.approx(0.740, abs=5e-4)
