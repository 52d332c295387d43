"""Every result of the room answers to the names of a result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fairstats as fs
from fairstats.ground.results import Comparison, Interval

from .conftest import TABLE, Sample


@pytest.fixture(scope="module")
def results(two_models: Sample) -> dict[str, Any]:
    first, second = (fs.um_posterior(counts=TABLE, rng=seed) for seed in (1, 2))
    return {
        "posterior": first,
        "comparison": fs.um_compare(first, second, rng=1),
        "ranking": fs.um_compare({"svm": first, "lr": second}, rng=1),
        "multiclass": fs.um_multiclass(
            two_models.y, two_models.a, sensitive_features=two_models.group, rng=1
        ),
    }


@pytest.mark.parametrize("name", ["posterior", "comparison", "ranking", "multiclass"])
def test_rows_sentences_and_what_is_lacking(results: dict[str, Any], name: str) -> None:
    result = results[name]
    rows = result.comparisons
    assert all(isinstance(row, Comparison) for row in rows)
    assert np.array_equal(result.estimate, [row.estimate for row in rows])
    frame = result.to_frame()
    assert frame["estimate"].tolist() == result.estimate.tolist()
    assert len(result.sentences()) == len(rows)
    for lacking in ("pvalue", "statistic", "verdict"):
        assert not hasattr(result, lacking)
        assert lacking not in dir(result)
    with pytest.raises(fs.FairstatsError, match="no p-value"):
        _ = result.pvalue
    if name in ("posterior", "multiclass"):
        assert all(
            isinstance(i, Interval) and i.method == "HDI" for i in result.confidence_interval
        )
    else:
        assert not hasattr(result, "confidence_interval")


def test_rows_by_name(results: dict[str, Any]) -> None:
    posterior = results["posterior"]
    assert {row.group for row in posterior["women"]} == {"women"}
    gap = next(row for row in posterior["women"] if row.metric == "equal_opportunity")
    assert gap.estimate == pytest.approx(posterior.metric("equal_opportunity").mean())
    assert gap.sentence() in posterior.sentences()
    assert results["comparison"]["A≫B"].estimate == results["comparison"].p_a_better
    ranking = results["ranking"]
    assert ranking["svm", "lr"].estimate == ranking.better[0, 1]
    assert ranking["lr"].estimate == ranking.front[1]
    assert [row.metric for row in results["multiclass"]["x"]] == ["accuracy"]


def test_json_names_the_cells(results: dict[str, Any]) -> None:
    """Who reads the file need not know the order of the columns."""
    assert results["posterior"].to_dict()["counts"]["cells"] == ["tp", "fp", "fn", "tn"]
