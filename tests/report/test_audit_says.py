"""What an audit says: statements, missing values, weights and clusters, warnings."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairstats as fs
from fairstats.ground.errors import (
    DataWarning,
    InputError,
    InsufficientEvidenceWarning,
    MissingValuesWarning,
)
from fairstats.ground.verdict import judge
from fairstats.report.audit import audit
from fairstats.report.contents import headline
from fairstats.report.report import AuditReport


def metrics(report: AuditReport) -> set[str]:
    return set(report.to_frame()["metric"])


def statement(report: AuditReport, title: str) -> str:
    return {s.title: s.text for s in report.statements}[title]


# ---------------------------------------------------------------- statements


@pytest.mark.parametrize(
    ("evaluated_on", "said"),
    [
        (None, "was not stated whether"),
        ("training", "were used to train the model"),
        ("held-out", "were not used to train"),
    ],
)
def test_rows_used_in_training_are_said(
    audit_all: Any, frame: pd.DataFrame, evaluated_on: Any, said: str
) -> None:
    assert said in statement(audit_all(frame, evaluated_on=evaluated_on), "Rows used in training")


def test_inference_is_conditional_and_the_verdict_rule_is_said(report: AuditReport) -> None:
    assert "conditional on the fitted model" in statement(report, "Conditional on the model")
    rule = statement(report, "Verdicts")
    assert "a ratio below 0.8 or above 1.25; a difference beyond ±0.1" in rule
    assert "Over all comparisons of one metric the error is at most 5% (holm)" in rule


def test_confidence_level_is_honoured_everywhere(audit_all: Any, frame: pd.DataFrame) -> None:
    report = audit_all(frame, score="score", confidence_level=0.9)
    assert set(report.to_frame()["confidence_level"]) == {0.9}
    assert "the error is at most 10% (holm)" in statement(report, "Verdicts")
    found = audit_all(frame, adjust="fdr_bh")
    assert "the expected share of false verdicts is at most 5% (fdr_bh)" in statement(
        found, "Verdicts"
    )


def test_methods_name_papers(report: AuditReport) -> None:
    said = " ".join(m.text for m in report.methods)
    assert "Theorem 3.1" in said
    assert any("1807.06362" in reference for reference in report.references)
    assert not any("Binder" in reference for reference in report.references)


# ---------------------------------------------------------------- missing values, weights, clusters


@pytest.fixture
def holes(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows with some missing predictions and groups."""
    full = frame.astype({"granted": float})
    full.loc[full.index[:7], "granted"] = np.nan
    full.loc[full.index[20:25], "region"] = None
    return full


def test_missing_raises_by_default(audit_all: Any, holes: pd.DataFrame) -> None:
    with pytest.raises(InputError, match=r'missing="drop"'):
        audit_all(holes)


def test_missing_rows_are_dropped_counted_and_bounded(audit_all: Any, holes: pd.DataFrame) -> None:
    with pytest.warns(MissingValuesWarning, match="12 of 900 rows"):
        report = audit_all(holes, missing="drop")
    said = statement(report, "Missing values")
    assert "12 of 900 rows left out" in said
    assert "Worst-case bounds" in said
    table = report.to_frame().set_index(["metric", "group"])
    bounds = table.loc[("worst_case_disparate_impact", "south")]
    estimate = table.loc[("disparate_impact", "south"), "estimate"]
    assert bounds["bound_low"] < estimate < bounds["bound_high"]
    said = [text for s in report.sections for r in s.results for text in r.sentences()]
    assert any(text.startswith("Disparate impact, south against ") for text in said)


def test_worst_case_bounds_of_outcomes_hold_for_every_completion() -> None:
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 40).astype(float)
    y[:4] = np.nan
    frame = pd.DataFrame({"y": y, "s": np.tile(["a", "b"], 20)})
    with pytest.warns(MissingValuesWarning):
        report = audit(frame, y_true="y", sensitive_features="s", reference="a", missing="drop")
    table = report.to_frame().set_index("metric")
    low, high = table.loc["worst_case_disparate_impact_labels", ["bound_low", "bound_high"]]
    found = []
    for code in range(16):
        full = frame.copy()
        full.loc[:3, "y"] = [code >> i & 1 for i in range(4)]
        share = full.groupby("s")["y"].mean()
        found.append(share["b"] / share["a"])
    assert (low, high) == pytest.approx((min(found), max(found)), rel=1e-12)


def test_missing_groups_form_a_group(audit_all: Any, frame: pd.DataFrame) -> None:
    frame = frame.copy()
    frame.loc[frame.index[:50], "region"] = None
    report = audit_all(frame, missing="group")
    assert "(missing)" in set(report.to_frame()["group"])
    assert "group of their own" in statement(report, "Missing values")


def test_weights_and_clusters(audit_all: Any, frame: pd.DataFrame) -> None:
    report = audit_all(frame, score="score", sample_weight="weight", cluster="branch")
    assert "abroca" not in metrics(report)
    for left_out in ("ABROCA", "Uncertainty Matters"):
        assert any(
            f"{left_out} takes neither weights nor clusters" in note for note in report.notes
        )
    assert not any("between models" in note for note in report.notes)
    both = {"granted": "score", "other": "turned"}
    frame["turned"] = 1 - frame["score"]
    turned = audit_all(
        frame, y_pred=dict.fromkeys(both, "granted"), score=both, sample_weight="weight"
    )
    assert any("(AUC, Brier score, MADD, ABROCA) take neither" in note for note in turned.notes)
    assert "40 clusters (branch)" in statement(report, "Sampling")
    assert any("Binder" in reference for reference in report.references)
    direct = fs.disparate_impact(
        frame["granted"],
        sensitive_features=frame["region"],
        sample_weight=frame["weight"],
        cluster=frame["branch"],
    )
    mine = report.to_frame().query("metric == 'disparate_impact'")
    np.testing.assert_allclose(mine["std_error"], direct.std_error, rtol=1e-12)


# ---------------------------------------------------------------- what is warned of


def test_small_groups_are_warned_of_once_and_noted() -> None:
    frame = pd.DataFrame(
        {"hired": [1, 0] * 30 + [0] * 8, "good": [1, 0] * 34, "s": ["a"] * 60 + ["b"] * 8}
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        report = audit(frame, y_true="good", y_pred="hired", sensitive_features="s")
    kinds = [w.category for w in caught]
    assert len(kinds) == len(set(kinds))
    assert set(kinds) <= {DataWarning, InsufficientEvidenceWarning}
    assert report.notes
    assert all(w.filename == __file__ for w in caught)


def test_no_evidence_is_a_verdict_not_a_silent_nan() -> None:
    frame = pd.DataFrame({"hired": [1, 0, 0, 1] * 10, "s": ["a", "b"] * 20})
    with pytest.warns(InsufficientEvidenceWarning), pytest.warns(DataWarning):
        report = audit(
            fs.tally(frame, y_pred="hired", sensitive_features="s", groups=["a", "b", "empty"])
        )
    assert report.verdicts["insufficient evidence"] == 2
    assert any("empty" in note for note in report.notes)


def test_a_declared_group_without_rows_is_a_note() -> None:
    """An ordinary filter leaves it behind; it is no group."""
    categories = pd.Categorical(["a", "b"] * 20, categories=["a", "b", "gone"])
    frame = pd.DataFrame({"hired": [1, 0, 0, 1] * 10, "s": categories})
    with pytest.warns(DataWarning, match="s: of the declared values 'gone' has no rows"):
        report = audit(frame, y_pred="hired", sensitive_features="s")
    assert "gone" not in set(report.to_frame()["group"])
    assert "declared values 'gone' has no rows" in report.notes[0]


def test_what_is_judged_by_itself_and_what_among_all_pairs() -> None:
    """With adjust="none" and a reference that the data chose no sentence contradicts another."""
    cells = {"a": (1138, 262), "b": (192, 35), "c": (21, 4), "d": (196, 4)}
    rows = [
        (g, hat)
        for g, own in cells.items()
        for hat, n in zip((1, 0), own, strict=True)
        for _ in range(n)
    ]
    frame = pd.DataFrame(rows, columns=["g", "hat"])
    alone, chosen = (
        fs.audit(
            frame, y_pred="hat", sensitive_features="g", adjust="none", reference=reference, rng=1
        )
        for reference in ("a", "highest")
    )
    for report in (alone, chosen):
        assert "with an error of 5% per comparison" in headline(report)
        assert "Each comparison is judged by itself, with an error of 5%" in statement(
            report, "Verdicts"
        )
    assert "are not adjusted. " in statement(alone, "p-values")
    assert "all pairs" not in statement(alone, "Verdicts")
    assert "all pairs counted where the data chose the reference: of many" in statement(
        chosen, "Verdicts"
    )
    said = statement(chosen, "p-values")
    assert (
        "are adjusted over all pairs, as the intervals are, where the data chose the reference"
        in said
    )
    assert "is about its own null hypothesis, and is adjusted likewise" in said
    # a against d: limits inside the fair range, and yet undecided among six pairs
    (ratio,) = (r for r in chosen.results if getattr(r, "metric", "") == "disparate_impact")
    low, high = ratio["a"].bounds
    assert 0.8 < low < high < 1.25
    assert ratio["a"].verdict == "undecided"
    (words,) = (line for line in ratio.sentences() if line.startswith("a against d"))
    # the interval that is shown holds over all pairs, too, and reaches below 0.8: it needs no
    # further words
    assert ratio["a"].confidence_interval.low < 0.8
    assert words.endswith("undecided; the data do not settle whether it lies between 0.8 and 1.25.")


def test_an_interval_over_all_pairs_never_says_more_than_the_verdict() -> None:
    """So no row is undecided whose interval lies inside the fair range or outside, and none needs
    "Alone …".

    Two-sided simultaneous limits (2.57 standard errors of four groups) lie outside of Bonferroni's
    one-sided ones (2.39), by which all pairs are judged; by exact tests, too. This took the place
    of the sentence "Alone this comparison would be satisfied", which a reference that the data
    chose had while its intervals were of each comparison alone."""
    rng = np.random.default_rng(8)
    decided = 0
    for _ in range(12):
        sizes = rng.choice([12, 2_000, 5_000, 20_000], 4, p=[0.1, 0.3, 0.3, 0.3])
        chosen = rng.binomial(
            sizes, rng.choice([0.1, 0.5, 0.7, 0.9]) + rng.choice([0.0, 0.0, 0.08], 4)
        )
        counts = {g: (int(k), int(n - k)) for g, k, n in zip("abcd", chosen, sizes, strict=True)}
        for result, fair in (
            (fs.disparate_impact(counts=counts, reference="highest"), (0.8, 1.25)),
            (fs.demographic_parity_difference(counts=counts, reference="highest"), (-0.1, 0.1)),
        ):
            for c, sentence in zip(result.comparisons, result.sentences(), strict=True):
                shown = judge(*c.confidence_interval, fair=fair)
                assert shown in (c.verdict, "undecided")
                assert "Alone this comparison" not in sentence
                decided += shown != "undecided"
    assert decided > 20


def test_a_named_reference_says_what_a_comparison_is_alone() -> None:
    """Holm over three: .024 alone is .071 beside two others, and the sentence says so."""
    cells = {"a": (7_000, 3_000), "b": (12, 5), "c": (9, 3), "d": (120, 70)}
    ratio = fs.disparate_impact(counts=cells, reference="a")
    (words,) = (line for line in ratio.sentences() if "would be satisfied" in line)
    assert words.endswith(
        "Alone this comparison would be satisfied; over all comparisons of the metric it is"
        " undecided."
    )


OWN = "The p-value of a verdict is about its own null hypothesis, and is adjusted "
SINGLE = " The tests against each single threshold are unadjusted."
OVER = OWN + "over the comparisons of its metric." + SINGLE
SETS = "Across metrics, and between sets of attributes, nothing is adjusted. "
ADJUSTED = " In tables “p (equal)” and “p (verdict)” are adjusted."
ALONE = (
    " Intervals are of each comparison alone, and can leave out equality where p (equal) is large."
)
WITHIN = (
    "Adjusted p-values (two-sided tests of equality) are adjusted by {} within one metric over all"
    " its "
)
LEFT_OUT = 'Rows with a missing value were left out (missing="drop"). g: '
TEN = (
    LEFT_OUT
    + "10 of 470 rows left out for missing values (y_pred: 10). Complete rows may differ from the"
    " rest. "
)
OWN_GROUP = 'Missing sensitive values form a group of their own (missing="group"). '
CHOSEN = (
    "the group with the highest rate, chosen by the data: intervals are simultaneous over all pairs"
)
CASES = {
    "p-values": [
        (
            {"simultaneous": "bonferroni", "adjust": "fdr_bh"},
            (
                f"{WITHIN.format('Benjamini–Hochberg')}group comparisons. {SETS}{OVER}{ADJUSTED}"
                " Intervals hold for all comparisons of a metric at once (bonferroni)."
            ),
        ),
        (
            {"adjust": "hommel", "reference": "highest"},
            (
                f"{WITHIN.format('Hommel')}group comparisons (over all pairs, as the intervals are,"
                f" where the data chose the reference). {SETS}{OVER}{ADJUSTED}"
            ),
        ),
        ({}, f"{WITHIN.format('Holm')}group comparisons. {SETS}{OVER}{ADJUSTED}{ALONE}"),
        (
            {"family": "audit"},
            (
                "Adjusted p-values are adjusted by Holm over all p-values of the audit (two-sided"
                " tests of equality, largest gaps), by Bonferroni where the data chose the"
                f" reference. {OVER}{ADJUSTED}{ALONE}"
            ),
        ),
        (
            {"adjust": "none"},
            (
                "p-values (two-sided tests of equality) are not adjusted."
                f" {SETS}{OWN}likewise.{SINGLE}"
            ),
        ),
    ],
    "Sampling": [
        (
            {},
            (
                "Rows are taken as independent draws: pass cluster= where one person or site has"
                " several."
            ),
        ),
        (
            {"cluster": "u", "sample_weight": "w"},
            (
                "Rows are grouped in 94 clusters (u), taken as independent of each other; rows"
                " within one may depend. Rows are weighted by w."
            ),
        ),
    ],
    "Missing values": [
        ({}, 'Missing values were not accepted (missing="raise"); none occurred.'),
        ({"missing": "drop"}, f"{LEFT_OUT}No rows were left out for missing values."),
        (
            {"missing": "drop", "y_pred": "m"},
            (
                f"{TEN}Worst-case bounds over all values that they could have are given with the"
                " results."
            ),
        ),
        (
            {"missing": "drop", "y_pred": "m", "sample_weight": "w"},
            f"{TEN}Worst-case bounds are offered for unweighted, unclustered rows only.",
        ),
        (
            {"missing": "group", "sensitive_features": "gm"},
            f"{OWN_GROUP}gm: 10 rows with a missing sensitive value form a group of their own.",
        ),
        ({"missing": "group"}, f"{OWN_GROUP}g: No rows were left out for missing values."),
    ],
    "Reference groups": [
        ({"reference": "a"}, "g: a (named by the user)."),
        ({"comparisons": "all"}, "All pairs of groups are compared with each other."),
        (
            {
                "sensitive_features": ["g", "h"],
                "reference": {"g": "highest"},
                "intersections": False,
            },
            f"g: b ({CHOSEN}); h: x (the largest group).",
        ),
        (
            {"score": "w", "reference": "highest"},
            f"g: b ({CHOSEN}); score distributions: all pairs of groups.",
        ),
    ],
}


@pytest.mark.filterwarnings("ignore::fairstats.FairstatsWarning")
@pytest.mark.parametrize(
    ("title", "options", "wanted"),
    [(title, options, wanted) for title, cases in CASES.items() for options, wanted in cases],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_statements_are_of_the_settings(title: str, options: dict[str, Any], wanted: str) -> None:
    """Written down by hand: 470 rows in 94 clusters of 5, every 47th prediction and group
    missing.
    """
    place = np.arange(470)
    frame = pd.DataFrame({"g": np.repeat(["a", "b", "c"], [150, 200, 120])})
    frame["hat"] = np.repeat([1, 0, 1, 0, 1, 0], [90, 60, 120, 80, 40, 80])
    frame = frame.assign(w=np.tile([0.25, 0.5], 235), u=place // 5, h=np.where(place % 2, "x", "y"))
    frame = frame.assign(m=frame["hat"].where(place % 47 > 0), gm=frame["g"].where(place % 47 > 0))
    given = {"y_pred": "hat", "sensitive_features": "g", "n_resamples": 100, "rng": 1, **options}
    assert statement(fs.audit(frame, **given), title) == wanted


def test_ecd_is_adjusted_as_the_audit_says() -> None:
    rng = np.random.default_rng(3)
    score = rng.beta(2, 5, 900)
    group = np.repeat(["a", "b", "c"], 300)
    frame = pd.DataFrame(
        {
            "g": group,
            "hat": score > 0.3,
            "s": score,
            "other": np.clip(score + rng.normal(0, 0.02, 900), 0, 1),
        }
    )
    report = fs.audit(
        frame,
        y_pred="hat",
        score="s",
        sensitive_features="g",
        counterfactual_score="other",
        adjust="none",
    )
    (found,) = (r for r in report.results if isinstance(r, fs.results.EcdResult))
    assert found.settings.adjust == "none"
    assert [c.pvalue_adjusted for c in found.comparisons] == [c.pvalue for c in found.comparisons]
    assert f"ECD beyond ±{found.settings.margin:g})" in statement(report, "Verdicts")
    (distance,) = (r for r in report.results if isinstance(r, fs.results.MaddResult))
    assert distance.settings.margin == 0.2  # MADD/2 bounds the difference of selection rates
    assert "above 0.1; MADD 0.2; " in statement(report, "Verdicts")


def test_a_rate_judged_with_another_says_so() -> None:
    """Written down: .042 alone is .085 beside a second open rate (Holm).

    147 of 200 are .165 below .9.
    """
    cells = {"a": (147, 75, 53, 125), "b": (180, 60, 20, 140)}
    pairs = ((1, 1), (0, 1), (1, 0), (0, 0))
    rows = [
        (g, y, hat)
        for g, own in cells.items()
        for (y, hat), n in zip(pairs, own, strict=True)
        for _ in range(n)
    ]
    frame = pd.DataFrame(rows, columns=["g", "y", "hat"])
    report = fs.audit(frame, y_true="y", y_pred="hat", sensitive_features="g", reference="b", rng=1)
    table = report.to_frame().set_index("metric")
    alone, together = (
        table.loc[name] for name in ("equal_opportunity_difference", "tpr_difference")
    )
    assert (alone["verdict"], together["verdict"]) == ("violated", "undecided")
    assert together["pvalue_verdict_adjusted"] == pytest.approx(2 * alone["pvalue_verdict"])
    (note,) = (
        n for n in report.notes if n.startswith("g: a (") and "of the true positive rates" in n
    )
    fair = "as a difference of the true positive rates (fair within ±0.1)"
    assert note.startswith("g: a (0.817, −0.165, 0.165) against b: ")
    assert "undecided as a ratio of the true positive rates (fair from 0.8 to 1.25); " in note
    assert f"; violated {fair}; undecided {fair}, judged together with 1 other rate; " in note
    sizes = "ratios of 0.8 and 1.25 are differences of 0.180 and 0.225: these are two questions."
    assert f" At a true positive rate of 90.0% in the reference {sizes}" in note
    assert note.count("judged together") == 1
