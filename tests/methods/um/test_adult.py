"""Adult hold-out (the paper's appendix 14.1) with our SVM and a reweighed one.

Certainty becomes .6.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import fairstats as fs

# as many test rows as the paper's 16,281
TRAIN = slice(0, 3_000)
TEST = slice(3_000, 19_281)


@pytest.mark.slow
def test_a_dominance_that_looks_certain_gets_a_probability() -> None:
    """The paper's case: .84/.07 against .83/.09 gives P(A ≫ B) = .54 instead of certainty.

    Its rates are rounded and its SVM is not ours, so that only the shape is asked for: A better in
    both point estimates by more or about the RoPE, P(A ≫ B) far from 1 over RoPE sizes, priors
    within .05."""
    frame, _ = fs.datasets.load_adult()
    y = frame["income"].astype(str).str.contains(">50K").to_numpy().astype(int)
    sex = frame["sex"].astype(str).to_numpy()
    wide = pd.get_dummies(frame.drop(columns=["income", "fnlwgt", "education"])).to_numpy(
        dtype=float
    )
    X = StandardScaler().fit_transform(wide)
    weight = np.ones(3_000)
    for group in ("Male", "Female"):
        for label in (0, 1):
            s = sex[TRAIN] == group
            t = y[TRAIN] == label
            weight[s & t] = s.mean() * t.mean() / (s & t).mean()  # Kamiran and Calders (2012)
    models = [SVC().fit(X[TRAIN], y[TRAIN]), SVC().fit(X[TRAIN], y[TRAIN], sample_weight=weight)]
    predicted = [model.predict(X[TEST]) for model in models]
    events = {}
    for prior in (1.0, 0.5, 0.0):
        posteriors = [
            fs.um_posterior(
                y[TEST], p, sensitive_features=sex[TEST], prior=prior, draws=40_000, rng=1
            )
            for p in predicted
        ]
        result = fs.um_compare(*posteriors, rng=2)
        events[prior] = {event.name: event.probability for event in result.events}
        if prior == 1.0:
            names = ["accuracy", "equal_opportunity_max"]
            tables = [p.to_frame(names) for p in posteriors]
            seen = [
                t[t["group"].isin(["all", "largest gap"])]["observed"].to_numpy() for t in tables
            ]
            assert seen[0][0] > seen[1][0]  # more accurate
            assert seen[0][1] < seen[1][1] - 0.01  # and fairer by more than the RoPE
            assert result.paired
            assert 0.4 < result.p_a_better < 0.8
            by_size = result.sensitivity()["A≫B"]
            assert 0.2 < by_size.min() < by_size.max() < 0.9
    for prior in (0.5, 0.0):
        for name, probability in events[1.0].items():
            assert events[prior][name] == pytest.approx(probability, abs=0.05)
