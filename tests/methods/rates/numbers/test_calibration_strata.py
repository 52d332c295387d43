"""The vectorised copies of the study of means within strata decide as the public functions do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import ndtri

import fairstats as fs
from fairstats.numerics.means.strata import mantel_haenszel_weights
from tests.calibration import mean_strata as study
from tests.calibration import strata_limits as limits
from tests.calibration import strata_scores


@pytest.mark.parametrize("contrast", ["difference", "ratio"])
def test_the_study_decides_as_the_public_function(contrast: Any) -> None:
    setting = study.Setting(study.EXPONENTIAL, (2, 9, 30), (40, 12, 25))
    group, reference = setting.draw(np.random.default_rng(7), 30)
    # a factor, so that some intervals lie beside the truth
    factors = np.linspace(0.3, 2.4, 30)[:, None]
    group = [sample * factors for sample in group]
    truth = 1.1 if contrast == "ratio" else 0.1
    expected = study.adjusted_decisions(group, reference, truth, contrast)
    assert 0 < expected["above"].sum() < 30
    assert expected["below"].sum() > 0
    # strata of two rows have no say there
    pvalues = study.homogeneity_pvalues(group[1:], reference[1:], contrast)
    names = np.repeat(["g", "r"], [41, 77])
    strata = np.concatenate([np.repeat(np.arange(3), part) for part in ((2, 9, 30), (40, 12, 25))])
    for place in range(30):
        y = np.concatenate([sample[place] for sample in (*group, *reference)])
        result = fs.means(
            y, sensitive_features=names, strata=strata, reference="r", contrast=contrast
        )
        row = result.stratified.comparisons[0]
        low, high = row.confidence_interval
        said = {"above": low > truth, "below": high < truth}
        assert said == {side: bool(expected[side][place]) for side in said}
        assert row.pvalue_homogeneity == pytest.approx(pvalues[place], rel=1e-5)
        assert row.n_informative == 2


def test_quantiles_of_the_study_are_decided_as_by_the_public_function() -> None:
    setting = study.Setting(study.EXPONENTIAL, (20, 25, 30), (40, 22, 25))
    group, reference = setting.draw(np.random.default_rng(7), 30)
    factors = np.linspace(0.3, 2.4, 30)[:, None]
    group = [sample * factors for sample in group]
    expected = limits.quantile_decisions(group, reference, 0.5)
    pair = [limits.quantile_parts(part, 0.5) for part in (group, reference)]
    pvalues = limits.homogeneity_pvalues(pair)
    assert 0 < expected["above"].sum() < 30
    assert expected["below"].sum() > 0
    names, strata = _names_and_strata((20, 25, 30), (40, 22, 25))
    for place in range(30):
        y = np.concatenate([sample[place] for sample in (*group, *reference)])
        result = fs.means(
            y, sensitive_features=names, strata=strata, reference="r", statistic="median"
        )
        row = result.stratified.comparisons[0]
        low, high = row.confidence_interval
        said = {"above": low > 0, "below": high < 0}
        assert said == {side: bool(expected[side][place]) for side in said}
        assert row.pvalue_homogeneity == pytest.approx(pvalues[place], rel=1e-8)


@pytest.mark.parametrize("metric", ["slope", "intercept"])
def test_regressions_of_the_study_are_those_of_the_public_function(metric: Any) -> None:
    rng = np.random.default_rng(2)
    sizes = ((70, 90), (110, 80))
    pair = []
    rows = []
    for part in sizes:
        fits = []
        for n in part:
            score = rng.beta(2, 2, (4, n))
            label = (rng.random(score.shape) < score).astype(float)
            fits.append(limits.fit_many(score, label, slope=metric == "slope"))
            rows.append((score, label))
        pair.append(limits.fit_parts(fits, np.array(part, dtype=float)))
    shares = mantel_haenszel_weights(np.array([70.0, 90.0]), np.array([110.0, 80.0]))
    ends = [parts.ends(shares, study.TWO_SIDED) for parts in pair]
    pvalues = limits.homogeneity_pvalues(pair)
    names, strata = _names_and_strata(*sizes)
    for place in range(4):
        result = fs.calibration(
            np.concatenate([label[place] for _, label in rows]),
            np.concatenate([score[place] for score, _ in rows]),
            sensitive_features=names,
            strata=strata,
            reference="r",
            metric=metric,
        )
        row = result.stratified.comparisons[0]
        assert tuple(row.value_interval) == pytest.approx(
            (ends[0][0][place], ends[0][1][place]), rel=1e-7
        )
        assert tuple(row.value_reference_interval) == pytest.approx(
            (ends[1][0][place], ends[1][1][place]), rel=1e-7
        )
        assert row.pvalue_homogeneity == pytest.approx(pvalues[place], rel=1e-6)


def _names_and_strata(*sizes: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    names = np.repeat(["g", "r"], [sum(part) for part in sizes])
    return names, np.concatenate([np.repeat(np.arange(len(part)), part) for part in sizes])


@pytest.mark.parametrize("contrast", ["difference", "ratio"])
@pytest.mark.parametrize("comparisons", ["overall", "reference"])
def test_areas_of_the_study_have_the_limits_of_the_public_function(
    contrast: Any, comparisons: Any
) -> None:
    sizes = [[(10, 20), (20, 40)], [(12, 8), (5, 30)]]
    setting = strata_scores.AreaSetting(
        strata_scores.TIED, sizes, "", contrast, cv=0.5, cluster_rows=2, comparisons=comparisons
    )
    columns, _ = setting.sample(np.random.default_rng(1))
    found = strata_scores.limits_within("auc", columns, comparisons, ratio=contrast == "ratio")
    assert found is not None
    reference = {"reference": "g1"} if comparisons == "reference" else {}
    row = fs.scores(**columns, comparisons=comparisons, contrast=contrast, **reference).stratified[
        "g0"
    ]
    assert tuple(row.confidence_interval) == pytest.approx(found(strata_scores.TWO_SIDED))
    z_of_bounds = float(ndtri(row.bounds.confidence_level))
    assert tuple(row.bounds) == pytest.approx(found(z_of_bounds))
