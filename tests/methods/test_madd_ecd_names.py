"""Results of MADD and ECD answer to one set of names, or say where to look instead."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairstats as fs
from fairstats.ground.errors import ResultAttributeError
from fairstats.ground.results import Comparison, Result

NAMES = ("estimate", "confidence_interval", "pvalue", "verdict", "comparisons", "plot")
RNG = np.random.default_rng(5)
GROUP = np.repeat(["a", "b"], 600)
SCORE = np.concatenate([RNG.beta(2, 4, 600), RNG.beta(3, 3, 600)])
PEOPLE = pd.DataFrame({"sex": np.where(GROUP == "a", "F", "M"), "pay": RNG.gamma(2.0, 1.0, 1200)})


def _model(x: pd.DataFrame) -> np.ndarray:
    return np.clip(0.2 + 0.02 * x["pay"] * (x["sex"] == "M"), 0, 1).to_numpy()


def _results() -> dict[str, Result]:
    by: dict[str, Any] = {"sensitive_features": GROUP}
    curve = fs.madd_curve(SCORE, **by)
    label = RNG.random(1200) < SCORE
    half = np.arange(1200) % 2 == 0
    mitigator = fs.MaddMitigator(n_lambdas=21, bandwidth=0.1, random_state=1)
    mitigator.fit(SCORE[half], label[half], sensitive_features=GROUP[half])
    cd = {"a": 0.3 * RNG.beta(2, 8, 900), "b": 0.5 * RNG.beta(2, 8, 900)}
    runs = {"none": RNG.normal(0.2, 0.02, 20), "EG": RNG.normal(0.1, 0.02, 20)}
    return {
        "madd": fs.madd(SCORE, n_bins=10, n_resamples=99, rng=1, **by),
        "curve": curve,
        "stable": fs.stable_bandwidth(curve),
        "mitigation": mitigator.evaluate(
            SCORE[~half], label[~half], sensitive_features=GROUP[~half], n_bins=10, n_resamples=99
        ),
        "counterfactual": fs.results.CounterfactualSample.from_values(cd),
        "ecd": fs.ecd(cd, privileged="a", unprivileged="b", backend="scipy", n_resamples=0, rng=1),
        "tail": fs.sample_tail(
            _model, PEOPLE, sensitive_features="sex", group="F", n_resamples=499, rng=1
        ),
        "quality": fs.synthetic_quality(
            PEOPLE, PEOPLE.sample(900, replace=True, random_state=1), rng=1
        ),
        "scott": fs.scott_knott(runs, n_resamples=99, rng=1),
    }


RESULTS = _results()


@pytest.mark.parametrize("name", RESULTS)
def test_every_name_answers_or_says_why(name: str) -> None:
    result = RESULTS[name]
    for asked in NAMES:
        if asked in result.lacks:
            assert not hasattr(result, asked)
            assert asked not in dir(result)
            with pytest.raises(ResultAttributeError, match=f"has no `{asked}`"):
                getattr(result, asked)
        else:
            assert getattr(result, asked) is not None
    assert result.sentences()
    assert all(isinstance(said, str) and said for said in result.sentences())
    assert len(result.to_frame())
    assert (
        type(result).from_dict(json.loads(json.dumps(result.to_dict()))).sentences()
        == result.sentences()
    )


@pytest.mark.parametrize("name", RESULTS)
def test_comparisons_and_groups(name: str) -> None:
    result = RESULTS[name]
    if "comparisons" not in result.lacks:
        assert all(isinstance(c, Comparison) for c in result.comparisons)
    group = {"madd": "a", "mitigation": "a", "counterfactual": "a", "ecd": "a", "scott": "EG"}.get(
        name
    )
    if group is None:
        with pytest.raises(ResultAttributeError, match=r"\[group\]"):
            result["a"]
    else:
        assert result[group] is not None
