"""What an audit claims as a whole: each fact once, Holm over facts, one sentence at the head.

Witnesses: Holm's procedure by statsmodels where every fact has one p-value; simulation of fair
audits."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.multitest import multipletests

import fairstats as fs
from fairstats.ground.errors import FairstatsWarning
from fairstats.report.claims import over_facts
from fairstats.report.contents import headline

pytestmark = pytest.mark.filterwarnings("ignore::fairstats.ground.errors.FairstatsWarning")


def test_facts_with_one_pvalue_are_holm(rng: np.random.Generator) -> None:
    pvalues = rng.uniform(0.0, 0.2, 12)
    expected = multipletests(pvalues, method="holm")[1]
    assert over_facts(list(enumerate(pvalues.tolist()))) == pytest.approx(expected.tolist())


def test_two_scales_of_one_fact_count_once() -> None:
    pvalues = [("rates", 0.004), ("rates", 0.02), ("others", 0.03), ("third", math.nan)]
    assert over_facts(pvalues)[:3] == pytest.approx([0.008, 0.04, 0.03])
    assert math.isnan(over_facts(pvalues)[3])
    assert over_facts(pvalues, step_down=False)[:3] == pytest.approx([0.008, 0.04, 0.06])


def test_the_table_says_what_is_real_and_what_holds() -> None:
    frame = pd.DataFrame(
        {"hired": [1, 0] * 50 + [0, 0, 0, 1] * 25, "sex": ["m"] * 100 + ["f"] * 100}
    )
    report = fs.audit(frame, y_pred="hired", sensitive_features="sex", reference="m")
    table = report.to_frame()
    assert table["real_over_audit"].tolist() == [True, True, True]
    assert (
        table["pvalue_audit"].nunique() == 1
    )  # ratio, difference and gap are one fact, and the only one
    assert table["pvalue_audit"].iloc[0] == pytest.approx(table["pvalue"].max())
    assert table["holds_over_audit"].tolist() == [True, True, True]
    assert "Over the whole audit (1 fact, Holm, error 5%) 1 difference is real" in headline(report)
    assert "errs in more than half of fair audits" in headline(report)


def test_a_verdict_can_hold_for_its_metric_alone() -> None:
    """About .01 beside other facts: below .05, and above it over all of them."""
    rng = np.random.default_rng(3)
    sizes = {"m": 400, "f": 400}
    sex = np.repeat(list(sizes), list(sizes.values()))
    chosen = np.concatenate([np.arange(400) < 200, np.arange(400) < 128]).astype(int)
    frame = pd.DataFrame({"hired": chosen, "sex": sex})
    for name in ("region", "shift", "site", "team"):
        frame[name] = rng.permutation(np.arange(800) % 2).astype(str)
    report = fs.audit(
        frame, y_pred="hired", sensitive_features=["sex", "region", "shift", "site", "team"]
    )
    table = report.to_frame()
    violated = table[table["verdict"] == "violated"]
    assert len(violated) > 0
    assert not violated["holds_over_audit"].all()
    assert "for their metric alone" in headline(report)


@pytest.mark.slow
def test_fair_audits_claim_nothing() -> None:
    """Two attributes and their crossing, all rates alike.

    Some difference is "real" in at most .05 of audits.
    """
    n_audits = 80
    real = 0
    unadjusted = 0
    rng = np.random.default_rng(11)
    sex = np.repeat(["f", "m"], 4_000)
    race = np.tile(np.repeat(["a", "b", "c"], [800, 160, 40]), 8)
    for _ in range(n_audits):
        frame = pd.DataFrame(
            {
                "sex": sex,
                "race": race,
                "hired": rng.random(8_000) < 0.4,
                "good": rng.random(8_000) < 0.5,
            }
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FairstatsWarning)
            report = fs.audit(
                frame.astype({"hired": int, "good": int}),
                y_pred="hired",
                sensitive_features=["sex", "race"],
            )
        table = report.to_frame()
        real += bool((table["real_over_audit"] == True).any())  # noqa: E712 - None stands for what is not tested
        unadjusted += bool((table["pvalue"] <= 0.05).any())
    assert real / n_audits <= 0.05 + 4 * math.sqrt(0.05 * 0.95 / n_audits)
    assert unadjusted / n_audits > 0.2


def test_findings_are_named_by_titles_and_not_by_keys() -> None:
    """MADD's largest distance stood as "madd max" at the head of a report."""
    scores = np.r_[
        np.linspace(0.0, 0.4, 200), np.linspace(0.6, 1.0, 200), np.linspace(0.0, 1.0, 200)
    ]
    frame = pd.DataFrame(
        {"s": scores, "hat": np.tile([0, 1], 300), "g": np.repeat(["a", "b", "c"], 200)}
    )
    report = fs.audit(
        frame, y_pred="hat", score="s", sensitive_features="g", n_resamples=199, rng=1
    )
    text = " ".join(report.summary(full=True).replace("│", " ").split())
    assert "MADD, b against a" in text or "MADD, a against b" in text
    assert "madd max" not in text
