"""No two lines of an audit contradict each other.

Counts, limits, p-values, verdicts, sentences and notes.
"""

from __future__ import annotations

import math
import re
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairstats as fs
from fairstats.ground.verdict import judge
from fairstats.methods.rates.maxima import MaximumResult
from fairstats.methods.rates.result import ComparisonResult
from fairstats.report.contents import compared, headline
from fairstats.report.report import AuditReport
from fairstats.report.sets import view_sets

#: Group → (tp, fn, fp, tn): small groups beside larger ones, one without a favourable prediction.
CELLS = {"a": (130, 30, 25, 95), "b": (66, 16, 12, 56), "d": (9, 6, 1, 14), "e": (0, 3, 0, 6)}
#: Groups of which all pairs are judged where the data choose the reference, some of them by limits
#: on one side.
CELLS_OF_ALL_PAIRS = {
    "a": (530, 130, 125, 495),
    "b": (166, 56, 32, 156),
    "d": (49, 26, 9, 74),
    "e": (0, 3, 0, 6),
}


def rows(cells: dict[str, tuple[int, ...]]) -> pd.DataFrame:
    """One row per person."""
    kinds = (1, 1), (1, 0), (0, 1), (0, 0)
    found = [
        (g, y, hat)
        for g, own in cells.items()
        for (y, hat), n in zip(kinds, own, strict=True)
        for _ in range(n)
    ]
    return pd.DataFrame(found, columns=["g", "y", "hat"])


def quietly(frame: pd.DataFrame, **options: Any) -> AuditReport:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fs.FairstatsWarning)
        return fs.audit(
            frame,
            **{"y_true": "y", "y_pred": "hat", "sensitive_features": "g", "rng": 1, **options},
        )


@pytest.fixture(
    scope="module",
    params=[
        (CELLS, {}),
        (CELLS, {"adjust": "none", "confidence_level": 0.9}),
        (CELLS_OF_ALL_PAIRS, {"reference": "highest"}),
    ],
    ids=["plain", "alone", "highest"],
)
def report(request: pytest.FixtureRequest) -> AuditReport:
    cells, options = request.param
    return quietly(rows(cells), **options)


@pytest.fixture(scope="module")
def plain() -> AuditReport:
    return quietly(rows(CELLS))


def statement(report: AuditReport, title: str) -> str:
    return {s.title: s.text for s in report.statements}[title]


# ---------------------------------------------------------------- numbers of one row


def test_limits_pvalue_verdict_and_sentence_of_every_row_agree(report: AuditReport) -> None:
    """Each from the others: limits by the verdict's rule, sentence by its numbers (no witness but
    logic).
    """
    size = 1 - report.settings.confidence_level
    seen = 0
    for result in report.results:
        if not isinstance(result, ComparisonResult):
            continue
        scale = result.scale if result.scale in ("ratio", "difference") else "gap"
        fair = result.settings._fair_range(scale)
        settings = result.settings
        for c, text in zip(result.comparisons, result.sentences(), strict=True):
            if c.verdict == "insufficient evidence":
                assert c.note
                assert c.note in text
                assert math.isnan(c.pvalue_verdict)
                continue
            seen += 1
            said = {"below": "violated", "above": "violated", "inside": "satisfied"}[c.direction]
            assert judge(*c.bounds, fair=fair) == (
                said if c.pvalue_verdict <= size else "undecided"
            )
            assert c.verdict == (said if c.pvalue_verdict_adjusted <= size else "undecided")
            low, high = c.confidence_interval
            assert low - 1e-12 <= c.estimate <= high + 1e-12
            null = float(scale == "ratio")
            chosen = settings.reference_rule == "highest"
            equal = c.pvalue_adjusted if chosen else c.pvalue
            assert (equal < size) == (not low <= null <= high if scale != "gap" else low > 0)
            for number in (c.estimate, low, high):
                assert f"{abs(number):.3f}" in text
            if c.verdict == "violated" and scale != "gap":
                lower = c.group if c.direction == "below" else c.reference
                assert f"{lower} has the lower " in text
                assert (c.rate < c.rate_reference) == (lower == c.group)
    assert seen > 40


def test_counts_of_the_headline_are_those_of_the_rows(report: AuditReport) -> None:
    shown = [
        row
        for view in view_sets(report)
        for block in view.blocks
        for row in block.rows
        if row.judged
    ]
    head = headline(report)
    violated, total = re.match(r"(\w+) of (\d+) comparisons?", head).groups()  # type: ignore[union-attr]
    assert int(total) == len(shown)
    assert ("0" if violated == "None" else violated) == str(
        sum(r.verdict == "violated" for r in shown)
    )
    size = 1 - report.settings.confidence_level
    alone = sum(r.verdict == "undecided" and r.pvalue_verdict <= size for r in shown)
    told = re.search(r"Judged one by one, (\d+) more", head)
    assert alone == (int(told[1]) if told else 0)


def test_the_text_says_why_where_interval_and_verdict_seem_to_differ(report: AuditReport) -> None:
    """In plain text, terminal and notebook as in the sentences of the page."""
    text = " ".join(report.summary(full=True).split())
    reasons = 0
    for result in report.results:
        sentences = result.sentences() if compared(result) else []
        for c, said in zip(compared(result), sentences, strict=False):
            why = re.search(r"(The verdict rests|Alone this comparison).*", said)
            if why:
                reasons += 1
                name = (
                    f"{c.group} – {c.reference}" if isinstance(result, MaximumResult) else c.group
                )
                assert f" {name}: {why[0]}" in text
                assert why[0] in report._repr_html_()
    assert reasons
    assert text.count("The verdict rests on the") + text.count("Alone this") == reasons


# ---------------------------------------------------------------- statements


def test_weights_are_said_beside_clusters() -> None:
    frame = rows(CELLS)
    frame["site"], frame["w"] = np.arange(len(frame)) % 97, 1.0 + np.arange(len(frame)) % 3
    said = statement(quietly(frame, cluster="site", sample_weight="w"), "Sampling")
    assert "97 clusters (site)" in said
    assert said.endswith("Rows are weighted by w.")


def test_columns_of_pvalues_are_said_to_be_adjusted(plain: AuditReport) -> None:
    said = statement(plain, "p-values")
    assert (
        "“p (equal)” and “p (verdict)” are adjusted. Intervals are of each comparison alone" in said
    )
    alone = statement(quietly(rows(CELLS), adjust="none"), "p-values")
    assert alone.startswith("p-values (two-sided tests of equality) are not adjusted.")
    assert "Adjusted" not in alone


def test_a_threshold_of_one_has_no_range() -> None:
    report = quietly(rows(CELLS), threshold=1.0)
    assert "a value outside the fair range (a ratio other than 1; " in statement(report, "Verdicts")
    (ratio,) = (r for r in report.results if getattr(r, "metric", "") == "disparate_impact")
    assert ratio["b"].bounds.confidence_level == pytest.approx(0.975, abs=1e-6)
    assert any("at that level, or up to 97.5% where" in note for note in ratio.notes())


def test_the_page_says_at_which_level_limits_are(plain: AuditReport, tmp_path: Any) -> None:
    text = " ".join(plain.to_html(tmp_path / "r.html").read_text().split())
    assert (
        "Thick line: the one-sided limits, each at 95% or more, that the verdict rests on." in text
    )


# ---------------------------------------------------------------- notes


def test_ratio_and_difference_are_compared_at_both_ends() -> None:
    """90/200 against 300/1,000 is above: what 1.25 is as a difference counts, not what 0.8 is."""
    frame = rows({"a": (300, 700, 0, 0), "b": (90, 110, 0, 0)}).drop(columns="y")
    report = quietly(frame, y_true=None)
    (note,) = (n for n in report.notes if "two questions" in n)
    assert "violated as a ratio" in note
    assert (
        "At a selection rate of 30.0% in the reference ratios of 0.8 and 1.25 are differences of"
        in note
    )
    assert "differences of 0.060 and 0.075: these are two questions." in note


def test_a_gap_of_two_groups_is_the_same_difference() -> None:
    """3 of 23 against 21 of 46 (transplants by age, Stanford).

    Once violated as a difference, and as a gap not.
    """
    report = quietly(rows({"a": (21, 25, 0, 0), "b": (3, 20, 0, 0)}).drop(columns="y"), y_true=None)
    verdicts = report.to_frame().set_index("metric")["verdict"]
    assert verdicts["demographic_parity_difference"] == "violated"
    assert verdicts["demographic_parity_max"] == "violated"
    assert not [note for note in report.notes if "all pairs" in note]


def test_what_simulation_says_against_an_interval_stands_in_the_report(plain: AuditReport) -> None:
    """0 of 9 of e are selected: limits by Koopman's method, asked for, may be too narrow there.

    By exact tests not.

    Means of two rates have no exact test, and keep the note.
    """
    (of_means,) = (n for n in plain.notes if "may be too narrow" in n)
    assert of_means.endswith(
        ": e. (mean of the differences of TPR and FPR; difference of the means of TPR and TNR)"
    )
    notes = quietly(rows(CELLS), method="koopman").notes
    told = [n for n in notes if "may be too narrow where fewer than 5" in n]
    assert any("expected: e. (" in n and "ratio of selection rates" in n for n in told)
    assert not any("b" in n.partition("expected: ")[2].partition(".")[0].split(", ") for n in told)


def test_gaps_say_which_rate_lacks_what() -> None:
    frame = rows({"a": (330, 70, 60, 240), "b": (20, 16, 9, 5)})
    frame["site"] = np.where(
        frame["g"] == "a", np.arange(len(frame)) % 60, 100 + np.arange(len(frame)) % 2
    )
    (note,) = (n for n in quietly(frame, cluster="site").notes if "(largest gap in TPR or FPR" in n)
    assert re.search(
        r"too few for an interval \(true positive rate\)\. .*\(false positive rate\)\.", note
    )


def test_the_largest_of_the_distances_is_called_so() -> None:
    frame = rows(CELLS)
    frame["s"] = np.clip(0.2 + 0.5 * frame["hat"] + (np.arange(len(frame)) % 10) / 40, 0, 1)
    text = quietly(frame[frame["g"] < "e"], y_true=None, score="s").summary(full=True)
    assert "\nMADD: the largest of all comparisons\n" in text
    assert "Binned MADD" not in text


def test_a_posterior_without_a_favourable_prediction_is_the_prior(plain: AuditReport) -> None:
    """0 of 9 of e are selected: the difference of precisions is the prior's, whatever the labels
    are.
    """
    (note,) = (n for n in plain.notes if "is the prior, not evidence" in n)
    assert "'e' has no rows with a favourable prediction (PPV)" in note


def test_power_counts_every_pair_that_could_have_been_chosen() -> None:
    lead = quietly(rows(CELLS), reference="highest").parts()["g"]["power"]
    (table,) = lead.tables
    assert "that each of 6 comparisons has" in table.notes[0]
    assert "at the level 99.17%" in table.notes[0]


def test_what_a_manager_reads_of_posteriors_rests_on_rows() -> None:
    """Group e has no favourable label; b and c are both certainly unlike a, c further."""
    cells = {
        "a": (450, 50, 50, 450),
        "b": (150, 150, 150, 150),
        "c": (60, 240, 240, 60),
        "e": (0, 0, 2, 6),
    }
    report = quietly(rows(cells))
    lead = report.parts()["g"]["um"].lead
    assert "practically the same for c and a" in lead
    assert lead.endswith(
        "with a probability of less than 0.1%. 1 other group is no less nearly equal."
    )
    assert any("'e' has no rows with a favourable label" in note for note in report.notes)


def test_sets_as_far_apart_need_no_chance() -> None:
    frame = rows(CELLS)
    frame["x"], frame["hat"] = np.arange(len(frame)) % 13, frame["y"]
    lead = quietly(frame[frame["g"] < "d"], features=["x"]).parts()["g"]["hfm"].lead
    assert (
        lead
        == "Seen as sets of people, the predictions set the groups as far apart as the recorded"
        " outcomes do."
    )


# ---------------------------------------------------------------- models on the same people


def models(**options: Any) -> Any:
    frame = rows({"a": (330, 70, 60, 240), "b": (20, 16, 9, 5)})
    site = np.where(frame["g"] == "a", np.arange(len(frame)) % 60, 100 + np.arange(len(frame)) % 2)
    other = np.where(np.arange(len(frame)) % 7 == 0, 1 - frame["hat"], frame["hat"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fs.FairstatsWarning)
        return fs.compare_models(
            frame["y"],
            frame["hat"],
            other,
            sensitive_features=frame["g"],
            cluster=site,
            reference="a",
            rng=1,
            **options,
        )


def test_a_refused_change_has_its_estimate() -> None:
    """After / before and after − before of the columns beside it, as of rates refused for few
    clusters.
    """
    found = models(metrics=["disparate_impact", "equal_opportunity_difference", "accuracy"])
    refused = [c for c in found.comparisons if c.verdict == "insufficient evidence"]
    assert len(refused) == 3
    for c in refused:
        ratio = c.metric == "disparate_impact_change"
        assert c.estimate == (c.after / c.before if ratio else c.after - c.before)
        assert c.distance_change == pytest.approx(
            (
                abs(math.log(c.after)) - abs(math.log(c.before))
                if ratio
                else abs(c.after) - abs(c.before)
            ),
            abs=1e-15,
        )
        assert tuple(c.confidence_interval) == ((0, math.inf) if ratio else (-math.inf, math.inf))
        assert math.isnan(c.pvalue)


def test_notes_of_changes_name_their_metric() -> None:
    notes = models(metrics=["disparate_impact", "equal_opportunity_difference"]).notes()
    (refused,) = (
        note for note in notes if "effective clusters, too few for an interval. (" in note
    )
    assert refused.endswith("(disparate_impact, equal_opportunity_difference)")


def test_a_chosen_reference_counts_all_pairs_whatever_the_adjustment() -> None:
    """Three groups, alike but for one.

    The verdict is by the simultaneous interval, as the notes say.
    """
    group = np.repeat(["a", "b", "c"], 400)
    y = np.tile([1, 0], 600)
    before = (np.arange(1200) % 10 < np.repeat([8, 5, 6], 400)).astype(int)
    after = np.where(
        (group == "b") & (np.arange(1200) % 10 == 5) & (np.arange(1200) % 4 == 1), 1, before
    )
    asked = {"sensitive_features": group, "reference": "highest", "rng": 1}
    none, holm = (
        fs.compare_models(y, before, after, adjust=adjust, **asked) for adjust in ("none", "holm")
    )
    for one, other in zip(none.comparisons, holm.comparisons, strict=True):
        assert one.distance_interval == other.distance_interval
    assert (
        "p-values adjusted by bonferroni over all pairs; what is said to change" in none.notes()[-1]
    )
