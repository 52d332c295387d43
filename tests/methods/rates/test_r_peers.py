"""Beside R packages by others.

Ratesci (Laud), exact2x2 (Fay, Hunsberger), clubSandwich (Pustejovsky).

Score intervals, of independent rates and of two models on the same people; exact tests; variance
and degrees of freedom under clusters.

Their answers are recorded in `tests/reference/r_peers.json`, with the versions; pROC is asked live.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

import fairstats as fs
from fairstats.ground.counts import SelectionCounts
from fairstats.ground.outcomes import Outcomes
from fairstats.ground.registry import SELECTED
from fairstats.ground.rsession import call
from fairstats.methods.rates.estimates import estimate_rate
from fairstats.numerics.paired.score import difference_end, log_ratio_end
from fairstats.numerics.rates import nuisance
from fairstats.numerics.rates.exact_table import GAMMA, ExactTable
from fairstats.numerics.rates.score import difference_score_statistic, ratio_score_statistic
from tests.numerics.rates.score_arrays import difference_limits, ratio_limits

RECORD = json.loads(
    (Path(__file__).parents[2] / "reference" / "r_peers.json").read_text(encoding="utf-8")
)
#: ratesci searches to ten digits; exact2x2 looks for the nuisance rate on a grid of 2,000 points.
RATESCI = 1e-7
EXACT2X2 = 2e-4


def written(table: list[int]) -> str:
    return "{}/{} against {}/{}".format(*table)


@pytest.mark.parametrize("case", RECORD["score"], ids=lambda c: written(c["table"]))
@pytest.mark.parametrize("level", [0.95, 0.9])
@pytest.mark.parametrize("correction", [True, False], ids=["N/(N-1)", "plain"])
@pytest.mark.parametrize("contrast", ["RR", "RD"])
def test_score_intervals_as_ratesci(
    case: dict[str, Any], level: float, correction: bool, contrast: str
) -> None:
    limits = ratio_limits if contrast == "RR" else difference_limits
    found = limits(tuple(case["table"]), float(ndtri((1 + level) / 2)), correction)
    wanted = case[f"{contrast} {'corrected' if correction else 'plain'} {level:g}"]
    for ours, theirs in zip(found, map(float, wanted), strict=True):
        assert (
            ours == theirs
            if math.isinf(theirs)
            else ours == pytest.approx(theirs, rel=RATESCI, abs=RATESCI)
        )


@pytest.mark.parametrize("case", RECORD["score"], ids=lambda c: written(c["table"]))
def test_score_p_values_as_ratesci(case: dict[str, Any]) -> None:
    for contrast, z in (
        ("RR", ratio_score_statistic(*case["table"], 0.8)),
        ("RD", difference_score_statistic(*case["table"], -0.1)),
    ):
        assert float(ndtr(z)) == pytest.approx(
            float(case[f"{contrast} p left"]), rel=1e-6, abs=1e-9
        )


@pytest.mark.parametrize("case", RECORD["paired"], ids=lambda c: "/".join(map(str, c["table"])))
@pytest.mark.parametrize("level", [0.95, 0.9])
def test_paired_score_intervals_as_ratesci(case: dict[str, Any], level: float) -> None:
    """`pairbinci(method="Score", skew=FALSE, bcf=FALSE)`: Tango's, and Nam and Blackwelder's."""
    z = float(ndtri((1 + level) / 2))
    for contrast, end in (("RD", difference_end), ("RR", log_ratio_end)):
        found = [float(end(tuple(case["table"]), side * z)) for side in (1, -1)]
        found = np.exp(found).tolist() if contrast == "RR" else found
        assert found == pytest.approx(case[f"{contrast} {level:g}"], rel=RATESCI, abs=RATESCI)


@pytest.mark.parametrize("case", RECORD["clusters"], ids=lambda c: c["design"])
def test_clusters_as_clubsandwich(case: dict[str, Any]) -> None:
    """`coef_test(lm(y ~ group), "CR2", test="Satterthwaite")`.

    In its working model rows have one variance.

    For clusters of one size its variance is ours with 1 − 1/m in place of 1 − 2/m, and its degrees
    of freedom are ours at the working variances, exactly. Else m by Kish is a stand-in for the
    adjustment of each cluster: within 3% of the standard error and a third of the degrees of
    freedom. Ours is always the wider."""
    rows = [
        (y, group, f"{group} {u}")
        for group in ("group", "reference")
        for u, (k, n) in enumerate(case[group])
        for y in [1] * k + [0] * (n - k)
    ]
    y, group, unit = zip(*rows, strict=True)
    outcomes = Outcomes.from_arrays(
        None, y, sensitive_features=group, cluster=unit, groups=["group", "reference"]
    )
    counts = SelectionCounts._from_outcomes(outcomes)
    of = estimate_rate(counts, SELECTED)
    assert of.units is not None
    assert of.rate[0] - of.rate[1] == pytest.approx(case["estimate"], abs=1e-12)
    std_error = math.sqrt(np.sum(of.variance / counts.unit_factor / (1 - 1 / of.units)))
    working = replace(of, joint=1 / of.cases).contrast_degrees(
        0, 1, contrast="difference", linear=True
    )
    alike = case["design"].startswith("equal")
    assert std_error == pytest.approx(case["std_error"], rel=1e-9 if alike else 0.03)
    assert working == pytest.approx(case["degrees"], rel=1e-9 if alike else 1 / 3)
    assert (
        of.std_error(0, 1, contrast="difference") * of.widening(0, 1, contrast="difference")
        > case["std_error"]
    )


@pytest.mark.parametrize("case", RECORD["exact"], ids=lambda c: written(c["table"]))
def test_exact_p_values_as_exact2x2(
    case: dict[str, Any], monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """Over all nuisance rates, as there; ours are within the interval that the data leave them."""
    monkeypatch.setattr(nuisance, "clopper_pearson", lambda *_: (1e-4, 1 - 1e-4))
    nuisance.larger_group.cache_clear()
    request.addfinalizer(nuisance.larger_group.cache_clear)
    for key, wanted in case.items():
        if key == "table":
            continue
        contrast, null, alternative = key.split(" ")
        side = alternative.replace("two.sided", "two-sided")
        test = ExactTable(tuple(case["table"]), contrast)  # type: ignore[arg-type]
        found = test.pvalues([float(null)], [side])[0] - GAMMA
        if (
            side == "two-sided"
        ):  # exact2x2 squares the statistic without slack, and so loses tied tables
            assert wanted - EXACT2X2 <= found <= 1.1 * wanted + EXACT2X2, key
        elif wanted < 0.5:
            assert found == pytest.approx(wanted, rel=1e-3, abs=EXACT2X2), key
        # the table 0/0 counts as extreme here where it shows less than what was observed, there never
        else:
            # and a p-value of 1 is met only at a rate of 0
            assert found >= min(wanted, 0.99) - EXACT2X2, key


@pytest.mark.r("pROC")
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_areas_as_proc_live(seed: int) -> None:
    """AUCs of both groups by pROC.

    Its DeLong variance beside the bootstrap's of the difference of AUCs.
    """
    call("base::source", str(Path(__file__).parents[2] / "r" / "proc_auc.R"))
    rng = np.random.default_rng(seed)
    g = np.repeat(["a", "b"], [300, 120])
    y = rng.integers(0, 2, 420)
    score = np.round(ndtr(rng.standard_normal(420) + y * np.where(g == "a", 0.2, 1.9)), 2)
    result = fs.abroca(y, score, sensitive_features=g, reference="a", n_resamples=999, rng=1)
    (c,) = result.comparisons
    delong = {}
    for name, ours in (("a", c.rate_reference), ("b", c.rate)):
        own = g == name
        there = call("proc_auc", y[own].astype(float), score[own])
        assert ours == pytest.approx(there["auc"], abs=1e-12)
        delong[name] = there["variance"]
    assert c.estimate >= abs(c.rate - c.rate_reference) - 1e-12
    # one curve far above the other: the area between them is about the difference of the AUCs
    assert c.std_error == pytest.approx(math.sqrt(sum(delong.values())), rel=0.2)
