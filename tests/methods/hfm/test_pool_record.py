"""The record of Bian and Luo's pool: its shape, and rules that choose as they say.

Witness: the choice α·error + (1 − α)·|fairness| by hand, on the record's own arrays.
"""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sklearn")

from tests.benchmarks import hfm_pool


def test_the_record_has_the_papers_cases_and_models() -> None:
    lines = hfm_pool.read()
    cases = [(line["data"], line["attribute"]) for line in lines]
    assert cases == [
        ("ricci", "race"),
        *(("credit", name) for name in ("sex", "age")),
        *((data, name) for data in ("income",) for name in ("race", "sex")),
        *((data, name) for data in ("ppr", "ppvr") for name in ("sex", "race")),
    ]
    for line in lines:
        shape = (5, len(line["models"]), len(hfm_pool.RULES))
        for part in ("train", "test"):
            assert np.array(line[part], dtype=float).shape == shape
            assert np.array(line[f"f1_{part}"], dtype=float).shape == shape[:2]
        assert len(line["models"]) + len(line["left_out"]) == 12
        assert line["rows"] <= hfm_pool.MOST_ROWS


@pytest.mark.parametrize(("error", "alpha"), [("accuracy", 0.05), ("f1", 0.1)])
def test_rules_choose_on_training_rows(error: str, alpha: float) -> None:
    experiment = hfm_pool.experiment(error)
    case = experiment.cases.index("credit, sex")
    train = experiment.train[case]
    test = experiment.test[case]
    for place, rule in enumerate(experiment.rules):
        weight = 1.0 if place == 0 else alpha
        fairness = np.nan_to_num(np.abs(train[:, :, place]), nan=np.inf)
        unfair = 0.0 if place == 0 else (1 - weight) * fairness
        chosen = (weight * train[:, :, 0] + unfair).argmin(axis=1)
        expected = 1 - test[np.arange(5), chosen, 0]
        assert experiment.scores(rule)[case] == pytest.approx(expected)


def test_encoded_columns_have_plain_names_and_the_sensitive_ones_first() -> None:
    import pandas as pd

    features = pd.DataFrame({"a [1]": [1.0, 2.0], "b": ["x", "y"]})
    table = hfm_pool.encoded(features, {"sex": pd.Series([True, False])})
    assert list(table) == ["sex", "x0", "x1", "x2"]
    assert table["sex"].tolist() == [1, 0]
