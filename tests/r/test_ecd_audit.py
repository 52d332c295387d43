"""The section of extremes of an audit in base R beside Python's, live: tails of every kind.

fs_compare holds what is not random to `tolerance`, fitted tails to 1e-4 and their standard errors
to 1e-2 (relative), what is random on either side to five Monte Carlo errors."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fairstats as fs
from fairstats.ground.rsession import call

pytestmark = pytest.mark.r("jsonlite")


def scores(seed: int, sizes: dict[str, int]) -> pd.DataFrame:
    """Scores, and those under another group.

    Regular tails, a near end point, rounded scores, few rows.
    """
    rng = np.random.default_rng(seed)
    group = np.repeat(list(sizes), list(sizes.values()))
    n = group.size
    gain = {
        "reference": 0.3 * rng.beta(2, 8, n),
        "regular": 0.5 * rng.beta(2, 8, n),
        "end": 0.25 * rng.beta(2, 0.6, n),
        "rounded": 0.4 * rng.beta(2, 8, n),
        "few": 0.2 * rng.beta(2, 8, n),
    }
    score = rng.uniform(0, 0.5, n)
    other = score + np.select([group == name for name in sizes], [gain[name] for name in sizes])
    frame = pd.DataFrame({"group": group, "score": score, "other": other})
    frame.loc[group == "rounded", ["score", "other"]] = frame[group == "rounded"].round(2)
    return frame.assign(hired=(score > 0.25).astype(int))


@pytest.mark.parametrize(
    "sizes",
    [
        {"reference": 900, "end": 400, "few": 8},
        pytest.param({"reference": 2000, "regular": 600, "rounded": 900}, marks=pytest.mark.slow),
    ],
    ids=["end and few", "regular and rounded"],
)
def test_the_section_is_met_by_base_r(sizes: dict[str, int], tmp_path: Path) -> None:
    frame = scores(3, sizes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fs.FairstatsWarning)
        report = fs.audit(
            frame,
            y_pred="hired",
            score="score",
            sensitive_features="group",
            counterfactual_score="other",
            reference="reference",
            n_resamples=100,
            rng=1,
        )
    report.to_json(tmp_path / "report.json")
    data = {name: column.tolist() for name, column in frame.items()}
    found = pd.DataFrame(call("fs_compare", str(tmp_path / "report.json"), data, rng=3))
    found = found[found["section"] == "ecd"]
    agree = np.asarray(found["agree"], dtype=bool)
    assert agree.all(), found[~agree][["metric", "group", "quantity", "python", "r", "tolerance"]]
    table = report.to_frame()
    table = table[table["section"] == "ecd"]
    assert set(found["metric"]) == set(table["metric"])
    verdicts = found[found["quantity"] == "verdict"]
    assert set(verdicts["group"]) == set(sizes) - {"reference"}
    # the tolerances of what is random are not idle
    near = found[
        (found["metric"] == "ECD") & found["quantity"].isin(["estimate", "ci_low", "bound_low"])
    ]
    # of a tail at ξ = −1, where base R has no likelihood ratio beside the draws, nothing is compared
    assert (near["tolerance"] < 0.1).all()
    assert len(near) >= 1
