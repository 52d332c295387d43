"""Conditional demographic disparity.

Witnesses: the formula of Wachter et al. by hand, as SageMaker Clarify prints it; limits of every
stratum by `fs.rates.contrast_interval`; coverage by simulation (`tests/calibration/contrasts.py`);
R's twin.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import fairstats as fs
from fairstats.ground.errors import InsufficientEvidenceWarning

NAME = "conditional_demographic_disparity"
#: Department → women admitted and applied, men admitted and applied (Bickel et al. 1975).
BERKELEY = {
    "A": (89, 108, 512, 825),
    "B": (17, 25, 353, 560),
    "C": (202, 593, 120, 325),
    "D": (131, 375, 138, 417),
    "E": (94, 393, 53, 191),
    "F": (24, 341, 22, 373),
}


def rows(tables: dict[str, tuple[int, ...]]) -> dict[str, Any]:
    """Decisions, sexes and departments, row by row."""
    decision: list[int] = []
    sex: list[str] = []
    department: list[str] = []
    for name, (k, n, k0, n0) in tables.items():
        decision += [1] * k + [0] * (n - k) + [1] * k0 + [0] * (n0 - k0)
        sex += ["women"] * n + ["men"] * n0
        department += [name] * (n + n0)
    return {"y_pred": decision, "sensitive_features": sex, "strata": department}


def by_hand(tables: dict[str, tuple[int, ...]]) -> tuple[float, float]:
    """CDD of women, and its standard error."""
    value = 0.0
    variance = 0.0
    total = sum(n + n0 for _, n, _, n0 in tables.values())
    for k, n, k0, n0 in tables.values():
        weight = (n + n0) / total
        accepted, rejected = k + k0, n + n0 - k - k0
        p, q = (n - k) / rejected, k / accepted
        value += weight * (p - q)
        variance += weight**2 * (p * (1 - p) / rejected + q * (1 - q) / accepted)
    return value, math.sqrt(variance)


def test_as_wachter_and_others_define_it() -> None:
    result = fs.group_metric(metric=NAME, **rows(BERKELEY))
    value, std_error = by_hand(BERKELEY)
    row = result["women"]
    assert row.estimate == pytest.approx(value, rel=1e-12)
    assert row.std_error == pytest.approx(std_error, rel=1e-12)
    assert row.rate - row.rate_reference == pytest.approx(value)
    assert row.confidence_interval.low == pytest.approx(value - 1.96 * std_error, abs=2e-3)
    assert row.verdict == "satisfied"
    # two groups: what one has more, the other has less
    assert result["men"].estimate == pytest.approx(-value)
    assert result["men"].confidence_interval.low == pytest.approx(-row.confidence_interval.high)


def test_without_strata_it_is_demographic_disparity() -> None:
    columns = rows(BERKELEY)
    del columns["strata"]
    result = fs.group_metric(metric=NAME, margin=0.05, **columns)
    admitted = sum(k for k, *_ in BERKELEY.values())
    refused = sum(n - k for k, n, *_ in BERKELEY.values())
    n_admitted = sum(k + k0 for k, _, k0, _ in BERKELEY.values())
    n_refused = sum(n + n0 - k - k0 for k, n, k0, n0 in BERKELEY.values())
    ends = fs.rates.contrast_interval(
        refused, n_refused, admitted, n_admitted, contrast="difference"
    )
    row = result["women"]
    assert row.estimate == pytest.approx(refused / n_refused - admitted / n_admitted)
    assert tuple(row.confidence_interval) == pytest.approx(
        tuple(float(end) for end in ends), rel=1e-8
    )
    assert row.verdict == "violated"
    assert "women is more often among the rejected" in " ".join(result.sentences())


def test_limits_are_those_of_the_strata_together() -> None:
    small = {name: BERKELEY[name] for name in "BF"}
    row = fs.group_metric(metric=NAME, **rows(small))["women"]
    value, std_error = by_hand(small)
    total = sum(n + n0 for _, n, _, n0 in small.values())
    below = above = 0.0
    for k, n, k0, n0 in small.values():
        accepted, rejected = k + k0, n + n0 - k - k0
        difference = (n - k) / rejected - k / accepted
        low, high = fs.rates.contrast_interval(n - k, rejected, k, accepted, contrast="difference")
        below += ((n + n0) / total * (difference - float(low))) ** 2
        above += ((n + n0) / total * (float(high) - difference)) ** 2
    # and no nearer than the standard error says
    least = 1.959963985 * std_error
    below, above = max(math.sqrt(below), least), max(math.sqrt(above), least)
    assert tuple(row.confidence_interval) == pytest.approx((value - below, value + above), rel=1e-8)


def test_strata_without_a_comparison_are_left_out_and_few_rows_have_no_limits() -> None:
    tables = {**BERKELEY, "G": (0, 10, 0, 20)}
    with pytest.warns(fs.FairstatsWarning, match="left out"):
        result = fs.group_metric(metric=NAME, **rows(tables))
    assert result["women"].estimate == pytest.approx(by_hand(BERKELEY)[0])
    with pytest.warns(InsufficientEvidenceWarning, match="fewer than 50"):
        few = fs.group_metric(metric=NAME, **rows({"A": (5, 20, 6, 30)}))
    assert set(few.verdict) == {"insufficient evidence"}
    assert few["women"].estimate == pytest.approx(15 / 39 - 5 / 11)


def test_tallies_json_and_pictures() -> None:
    import matplotlib as mpl
    import pandas as pd

    mpl.use("Agg")
    columns = rows(BERKELEY)
    frame = pd.DataFrame(
        {"p": columns["y_pred"], "sex": columns["sensitive_features"], "d": columns["strata"]}
    )
    tally = fs.tally(frame, y_pred="p", sensitive_features="sex", strata="d")
    of_tally = fs.group_metric(metric=NAME, counts=tally)
    of_rows = fs.group_metric(metric=NAME, **columns)
    assert list(of_tally.estimate) == pytest.approx(list(of_rows.estimate))
    assert fs.results.Result.from_dict(of_rows.to_dict()).to_dict() == of_rows.to_dict()
    assert of_rows.plot().get_xscale() == "linear"
    assert "6 strata" in of_rows.notes()[0]


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"reference": "men"}, "reference"),
        ({"contrast": "ratio"}, "contrast"),
        ({"comparisons": "all"}, "comparisons"),
        ({"method": "delta"}, "method"),
        ({"sample_weight": np.ones(4526)}, "sample_weight"),
        ({"agg": "max"}, "agg"),
    ],
)
def test_what_it_does_not_go_with(options: dict[str, Any], argument: str) -> None:
    with pytest.raises(fs.InputError, match=argument):
        fs.group_metric(metric=NAME, **rows(BERKELEY), **options)


@pytest.mark.r
@pytest.mark.parametrize("alternative", ["two-sided", "less"])
def test_every_number_is_recomputed_in_r(alternative: Any) -> None:
    result = fs.group_metric(metric=NAME, alternative=alternative, **rows(BERKELEY))
    table = fs.crosscheck(result).to_frame()
    assert len(table) > 30
    assert set(table["verdict"]) == {"agrees"}
