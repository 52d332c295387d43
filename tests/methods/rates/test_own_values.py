"""A group's own rate with its interval.

Witnesses: `statsmodels.stats.proportion.proportion_confint` and `scipy.stats.binomtest` for
Wilson's; MOVER and the delta method by hand; R by the cross-check.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest
from statsmodels.stats.proportion import proportion_confint

import fairstats as fs
from fairstats.ground.errors import InsufficientEvidenceWarning
from fairstats.plots.forest import forest_plot

COUNTS = {"north": (40, 12, 10, 38), "south": (30, 10, 20, 40), "west": (18, 9, 3, 12)}


def test_rates_have_wilsons_interval_in_columns_of_their_own() -> None:
    result = fs.equal_opportunity_difference(counts=COUNTS, reference="north", confidence_level=0.9)
    frame = result.to_frame().set_index("group")
    for name in ("south", "west"):
        tp, _, fn, _ = COUNTS[name]
        expected = proportion_confint(tp, tp + fn, alpha=0.1, method="wilson")
        assert tuple(frame.loc[name, ["rate_low", "rate_high"]]) == pytest.approx(expected)
        ends = binomtest(40, 50).proportion_ci(0.9, method="wilson")
        assert tuple(frame.loc[name, ["rate_reference_low", "rate_reference_high"]]) == (
            pytest.approx((ends.low, ends.high))
        )
        assert result[name].value_interval.method == "Wilson"
        assert "value_interval" in result.to_dict()["comparisons"][0]


def test_everybodys_interval_is_that_of_all_rows() -> None:
    result = fs.disparate_impact(counts=COUNTS, comparisons="overall")
    selected = sum(tp + fp for tp, fp, _, _ in COUNTS.values())
    expected = proportion_confint(selected, 242, method="wilson")
    for row in result.comparisons:
        assert tuple(row.value_reference_interval) == pytest.approx(expected)


def test_a_mean_of_rates_has_the_limits_of_both() -> None:
    row = fs.average_odds_difference(counts=COUNTS, reference="north")["south"]
    tpr = np.array(proportion_confint(30, 50, method="wilson"))
    fpr = np.array(proportion_confint(10, 50, method="wilson"))
    reach = np.sqrt((tpr - 0.6) ** 2 + (fpr - 0.2) ** 2) / 2
    assert tuple(row.value_interval) == pytest.approx((0.4 - reach[0], 0.4 + reach[1]))


def test_a_function_has_the_delta_methods_and_stays_in_its_range() -> None:
    row = fs.group_metric(metric="f1", counts=COUNTS, reference="north")["south"]
    ends = []
    for more in (0.5, 1.0):
        tp, fp, fn = 30 + more, 10 + more, 20 + more
        f1 = 2 * tp / (2 * tp + fp + fn)
        slopes = np.array([2 * (fp + fn), -2 * tp, -2 * tp]) / (2 * tp + fp + fn) ** 2
        error = math.sqrt(slopes**2 @ np.array([tp, fp, fn]))
        ends.append((f1 - 1.959964 * error, f1 + 1.959964 * error))
    expected = (min(low for low, _ in ends), max(high for _, high in ends))
    assert tuple(row.value_interval) == pytest.approx(expected, rel=1e-6)
    perfect = {"a": (50, 0, 0, 50), "b": (40, 5, 5, 50)}
    row = fs.group_metric(metric="f1", counts=perfect, reference="b")["a"]
    assert row.value_interval.high == 1.0


def test_under_weights_counts_are_effective_and_few_have_none() -> None:
    rng = np.random.default_rng(2)
    group = np.repeat(["a", "b", "c"], [200, 80, 2])
    hired = rng.integers(0, 2, 282)
    hired[-2:] = [0, 1]
    weight = rng.gamma(2, size=282)
    with pytest.warns(InsufficientEvidenceWarning):
        result = fs.disparate_impact(hired, sensitive_features=group, sample_weight=weight)
    plain = fs.disparate_impact(hired, sensitive_features=group)
    assert result["b"].value_interval.width > plain["b"].value_interval.width
    assert math.isnan(result["c"].value_interval.low)
    assert result["b"].rate in result["b"].value_interval


def test_what_has_no_cases_has_none() -> None:
    counts = {"a": (5, 5, 5, 5), "b": (0, 3, 0, 7)}
    with pytest.warns(InsufficientEvidenceWarning):
        row = fs.equal_opportunity_difference(counts=counts, reference="a")["b"]
    assert math.isnan(row.value_interval.low)
    assert row.value_reference_interval.low < 0.5 < row.value_reference_interval.high


def test_an_interval_for_one_look_does_not_stand_beside_those_for_all() -> None:
    frame = fs.disparate_impact(counts=COUNTS, method="anytime-exact", reference="north").to_frame()
    assert "rate_low" not in frame


def test_pictures_and_pages_show_it(tmp_path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    result = fs.disparate_impact(counts=COUNTS, reference="north")
    words = [text.get_text() for text in forest_plot(result).texts]
    low, high = result["south"].value_interval
    assert f"0.4 ({low:.3g} to {high:.3g})" in words
    frame = {
        "sex": ["m"] * 60 + ["f"] * 60,
        "hired": [1] * 40 + [0] * 20 + [1] * 20 + [0] * 40,
    }
    report = fs.audit(pd.DataFrame(frame), y_pred="hired", sensitive_features="sex")
    page = report.to_html(tmp_path / "report.html").read_text(encoding="utf-8")
    low, high = (100 * end for end in proportion_confint(20, 60, method="wilson"))
    assert f"{low:.1f}% to {high:.1f}%" in page


def test_files_of_before_have_no_such_columns() -> None:
    stored = fs.disparate_impact(counts=COUNTS).to_dict()
    for comparison in stored["comparisons"]:
        comparison.pop("value_interval")
        comparison.pop("value_reference_interval")
    result = fs.results.Result.from_dict(stored)
    assert "rate_low" not in result.to_frame()
    assert "rate_low" in fs.disparate_impact(counts=COUNTS).to_frame()
