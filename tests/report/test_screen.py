"""The first screen: its sentences, its rows needed, its length, and the facts behind it."""

from __future__ import annotations

import math
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairstats as fs
from fairstats.ground.errors import FairstatsWarning, InputError
from fairstats.methods.rates.planning import growth_for_difference, growth_for_ratio
from fairstats.report.audit import audit, demo_report
from fairstats.report.facts import find_facts, tables_of_facts
from fairstats.report.report import AuditReport
from fairstats.report.sets import view_sets


def rows(cells: dict[str, tuple[int, int]]) -> pd.DataFrame:
    """Rows of groups with so many selected and so many not."""
    return pd.DataFrame(
        [
            (group, selected)
            for group, counts in cells.items()
            for selected, n in zip((1, 0), counts, strict=True)
            for _ in range(n)
        ],
        columns=["g", "hat"],
    )


def said(report: AuditReport) -> str:
    return " ".join(report.screen().findings[0].sentences)


def test_a_violation_that_holds() -> None:
    """Rates, ratio and difference by hand: 300 and 600 of 1,000."""
    report = audit(rows({"a": (600, 400), "b": (300, 700)}), y_pred="hat", sensitive_features="g")
    text = said(report)
    assert text.startswith("b fares worse: 30.0% selected, against 60.0% of a (ratio 0.500 [")
    assert "difference −0.300 [" in text
    assert "The difference is real: shown over the whole audit." in text
    assert (
        "Ratio and difference are both beyond their limits (fair from 0.8 to 1.25; fair within"
        " ±0.1), over the whole audit." in text
    )
    assert "takes about" not in text
    # .8 of 600 in 1,000 are 480
    assert "With 180 more of the 1,000 rows of b selected the ratio would be 0.8." in text
    lead = report.screen().lead
    assert lead.startswith("The one difference examined is real, and it is shown to be beyond")


def test_the_reference_may_be_the_one_that_fares_worse() -> None:
    frame = rows({"a": (300, 700), "b": (600, 400)})
    text = said(audit(frame, y_pred="hat", sensitive_features="g", reference="a"))
    assert text.startswith("a fares worse: 30.0% selected, against 60.0% of b (ratio 2.000 [")
    assert "of b to a)" in text
    assert "With 180 more of the 1,000 rows of a selected the ratio would be 1.25." in text


def test_an_undecided_ratio_says_what_would_settle_it() -> None:
    """Witness: exact power at the size that is told, by `power_ratio`."""
    frame = rows({"a": (300, 300), "b": (105, 195)})
    report = audit(frame, y_pred="hat", sensitive_features="g")
    text = said(report)
    assert "is undecided" in text
    told = re.search(
        r"ratio at the present estimate with 80% power takes about ([\d,]+) rows", text
    )
    assert told is not None
    n = int(told[1].replace(",", ""))
    plan = fs.power_ratio(0.5, 0.7, n=n, n_reference=2 * n, alternative="violated")
    assert plan.power == pytest.approx(0.8, abs=0.02)


def test_near_the_limit_no_number_of_rows_would_do() -> None:
    frame = rows({"a": (500, 500), "b": (401, 599)})
    text = said(audit(frame, y_pred="hat", sensitive_features="g"))
    assert "None would do for the ratio" in text


def test_another_ratio_can_be_named() -> None:
    report = audit(rows({"a": (500, 500), "b": (401, 599)}), y_pred="hat", sensitive_features="g")
    text = " ".join(report.screen(ratio=0.7).findings[0].sentences)
    assert "if the true ratio is 0.7" in text
    assert "None would do for the ratio" not in text
    with pytest.raises(InputError, match="`ratio`"):
        report.screen(ratio=0)
    with pytest.raises(InputError, match="`power`"):
        report.screen(power=1.0)


def test_equal_groups_are_within_limits() -> None:
    report = audit(rows({"a": (900, 900), "b": (900, 900)}), y_pred="hat", sensitive_features="g")
    text = said(report)
    assert text.startswith(("b and a fare alike", "a and b fare alike"))
    assert "That there is a difference at all is not shown." in text
    assert "both within their limits" in text


def test_growth_by_hand() -> None:
    """Of a difference: (1.645 + .842)² v / distance² with v = .25/100 + .21/100, distance .1."""
    wanted = (1.6448536 + 0.8416212) ** 2 * (0.25 / 100 + 0.21 / 100) / 0.1**2
    growth = growth_for_difference(0.3, 0.5, 100, 100, 0.1, 0.95)
    assert growth == pytest.approx(wanted, rel=1e-6)
    assert math.isinf(growth_for_difference(0.4, 0.5, 100, 100, 0.1, 0.95))
    assert math.isnan(growth_for_difference(0.0, 1.0, 100, 100, 0.1, 0.95))
    assert growth_for_difference(0.0 + 0.1, 0.9, 10_000, 10_000, 0.1, 0.95) == 1.0


def test_growth_of_a_ratio_reaches_the_power() -> None:
    """Witness: the smallest exact sample size of `sample_size_ratio`, two-sided in direction."""
    growth = growth_for_ratio(0.5, 0.7, 100, 100, 0.8, 0.95)
    n = fs.sample_size_ratio(0.5, 0.7, power=0.8).n
    assert 100 * growth == pytest.approx(n, rel=0.02)
    assert math.isinf(growth_for_ratio(0.5, 0.8001, 100, 100, 0.8, 0.95))
    assert math.isnan(growth_for_ratio(0.0, 0.7, 100, 100, 0.8, 0.95))
    assert growth_for_ratio(0.5, 0.3, 10_000, 10_000, 0.8, 0.95) == 1.0


def test_what_limits_the_whole() -> None:
    frame = rows({"a": (300, 300), "b": (10, 12)})
    frame["y"] = (np.arange(len(frame)) % 3 == 0).astype(float)
    frame.loc[::100, "y"] = np.nan
    with pytest.warns(UserWarning, match="left out"):
        report = audit(
            frame,
            y_true="y",
            y_pred="hat",
            sensitive_features="g",
            missing="drop",
            evaluated_on="training",
            rng=1,
        )
    limits = " ".join(report.screen().limits)
    assert "7 of 622 rows were left out for missing values" in limits
    assert "few rows in b (21)" in limits or "few rows in b (22)" in limits
    assert "The model was trained on these rows" in limits


def test_adverse_impact_has_a_screen() -> None:
    result = fs.adverse_impact({"sex": {"women": [20, 80], "men": [45, 55]}})
    text = said(fs.audit(result))
    assert text.startswith("women fares worse: 20.0% selected, against 45.0% of men (ratio 0.444")
    assert "The ratio is beyond its limit (fair from 0.8 to 1.25), over the whole audit." in text


# ---------------------------------------------------------------- facts


def test_ratio_difference_and_gap_are_readings_of_one_fact(report: AuditReport) -> None:
    view = view_sets(report)[1]  # two groups
    facts = {fact.rate: fact for fact in find_facts(view.charts)}
    (pair,) = facts["selection_rate"].pairs
    assert [reading.row.scale for reading in pair.readings] == ["ratio", "difference", "maximum"]
    (pair,) = facts["tnr"].pairs  # the difference of false positive rates is of the complement
    assert [reading.row.scale for reading in pair.readings] == ["ratio", "difference"]


def test_every_comparison_is_a_reading_of_one_fact(report: AuditReport) -> None:
    for view in view_sets(report):
        tables = tables_of_facts(view.charts)
        readings = [
            id(reading.row)
            for table in tables
            for fact in table.facts
            for pair in fact.pairs
            for reading in pair.readings
        ]
        shown = [id(row) for block in view.blocks for row in block.rows]
        assert sorted(readings) == sorted(shown)


# ---------------------------------------------------------------- length


class Unfolded(HTMLParser):
    """The words of a page outside what is folded."""

    VOID = frozenset({"meta", "link", "br", "img"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        """Nothing is opened."""

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        folded = self.open.count("details")
        if "style" in self.open or folded > 1 or (folded and "summary" not in self.open):
            return
        self.words += data.split()


@pytest.mark.slow
def test_the_demo_is_short_unfolded_and_on_paper() -> None:
    """At most 1,200 words on the page before anything is opened, 60 lines printed."""
    from fairstats.report.render import render_html

    report = demo_report(intersections=True)
    assert len(Unfolded(render_html(report)).words) <= 1200
    assert len(str(report).splitlines()) <= 60
    assert "What limits this" in str(report)


def test_a_report_iterates_and_writes_markdown(report: AuditReport) -> None:
    assert list(report) == list(report.results)
    assert len(report) == len(report.results)
    text = report.to_markdown()
    assert text.startswith(f"# {report.title}\n\n{report.screen().lead}")
    table = [line for line in text.splitlines() if line.startswith("| ")]
    assert len(table) == 2 + len(report.to_frame())


def test_numbers_stand_in_their_own_block() -> None:
    """Pay of m is half as high again: beyond 1.25."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"g": rng.choice(["f", "m"], 600), "hired": rng.integers(0, 2, 600)})
    frame["pay"] = rng.gamma(9, 100, 600) * np.where(frame["g"] == "m", 1.5, 1.0)
    report = audit(
        frame, y_pred="hired", outcome="pay", sensitive_features="g", reference="f", rng=1
    )
    (finding,) = report.screen().findings
    assert any(text.startswith("Means (pay): m against f, ratio 1.") for text in finding.also)
    facts = {fact.title: fact.concern.key for fact in find_facts(view_sets(report)[0].charts)}
    assert facts == {"Selection rate": "selected", "Means": "amounts"}


def test_the_screen_says_what_counts_as_favourable(tmp_path: Path) -> None:
    """A column "rejected" of 0 and 1 would say the opposite: what nobody named is told as such."""
    frame = rows({"a": (30, 70), "b": (60, 40)})
    assumed = audit(frame, y_pred="hat", sensitive_features="g").screen()
    assert assumed.meaning.startswith("Selected: hat is 1 (true). For hat that was assumed;")
    assert assumed.meaning in " ".join(" ".join(assumed.lines()).split())
    named = audit(frame, y_pred="hat", pos_label=0, sensitive_features="g")
    assert named.screen().meaning == "Selected: hat is 0."
    named.to_html(tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "<p>Selected: hat is 0.</p>" in page
    assert "<p>Selected: hat is 0.</p>" in named._repr_html_()
    assert "\n\nSelected: hat is 0.\n\n" in named.screen().to_markdown()


def test_of_several_classes_none_counts_as_favourable() -> None:
    frame = pd.DataFrame({"g": ["a", "b"] * 60, "grade": ["low", "mid", "high"] * 40})
    meaning = audit(frame, y_pred="grade", sensitive_features="g").screen().meaning
    assert meaning.startswith("grade: 3 classes, none of them named as favourable;")
    assert "1 (true)" not in meaning


def test_groups_called_by_numbers_or_yes_bear_the_name_of_their_column() -> None:
    frame = rows({"1": (30, 70), "2": (60, 40)}).rename(columns={"g": "sex"})
    assert said(audit(frame, y_pred="hat", sensitive_features="sex", reference="2")).startswith(
        "sex = 1 fares worse: 30.0% selected, against 60.0% of sex = 2 ("
    )
    crossed = frame.assign(smoker=np.tile(["yes", "no"], 100))
    report = audit(crossed, y_pred="hat", sensitive_features=["sex", "smoker"])
    assert "sex = 1 & smoker = " in " ".join(report.screen().findings[-1].sentences)


def test_groups_and_labels_called_like_missing_values_are_told() -> None:
    frame = pd.DataFrame({"race": ["NA", "b", "c"] * 40, "hat": ["yes", "no", "None", "no"] * 30})
    report = audit(frame, y_pred="hat", pos_label="yes", sensitive_features="race")
    limits = " ".join(report.screen().limits)
    assert "race: 'NA' counts as a value like any other." in limits
    assert "hat: 'None' counts as a value like any other." in limits


def test_what_was_read_as_missing_is_told(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    lines = ["a,1", "b,0", "None,1", "a,0", "b,1"] * 20
    path.write_text("\n".join(["g,hat", *lines]), encoding="utf-8")
    with pytest.warns(FairstatsWarning):
        report = audit(path, y_pred="hat", sensitive_features="g", missing="drop")
    assert any(
        text.endswith("left out for missing values (read as missing: 'None' in g).")
        for text in report.screen().limits
    )


def test_the_worst_group_is_named_where_another_is_shown_best() -> None:
    """Four rows fare worst, b of many rows is shown to; of two groups nothing is added."""
    cells = {"a": (600, 400), "b": (300, 700), "four": (1, 3)}
    text = said(audit(rows(cells), y_pred="hat", sensitive_features="g"))
    assert text.startswith("b fares worse: 30.0% selected, against 60.0% of a (")
    assert "Over all groups: from 25.0% (four, 4 rows) to 60.0% (a)." in text
    (finding,) = audit(rows(cells), y_pred="hat", sensitive_features="g").screen().findings
    # the gap of a and the four is real by a test of all groups, and stands apart
    assert finding.also[0].startswith("Selection rate: a – four, gap 0.350 [")
    cells.pop("four")
    assert "Over all groups" not in said(audit(rows(cells), y_pred="hat", sensitive_features="g"))


def test_the_reading_beyond_its_limit_is_drawn() -> None:
    """82 and 95 of 100: a ratio of .86 within its limit, a difference beyond .1; a picture
    of the ratio alone would say "satisfied" beside it.
    """
    frame = rows({"a": (9_500, 500), "b": (8_200, 1_800)})
    (finding,) = audit(frame, y_pred="hat", sensitive_features="g").screen().findings
    assert "The ratio is within its limit" in finding.sentences[1]
    assert finding.drawn is not None
    assert (finding.drawn.row.scale, finding.drawn.row.verdict) == ("difference", "violated")


def test_the_first_screen_says_that_predictions_widen_the_gap_of_the_outcomes() -> None:
    """60 and 50 of 100 deserve it, 90 and 10 get it: the head counts that, so the screen names it."""
    frame = rows({"1": (900, 100), "2": (100, 900)})
    frame["fact"] = 0
    for group, n_good in (("1", 600), ("2", 500)):
        frame.loc[frame.index[frame["g"] == group][:n_good], "fact"] = 1
    report = audit(frame, y_true="fact", y_pred="hat", sensitive_features="g", reference="1")
    (finding,) = report.screen().findings
    assert (
        "The predictions are further from parity than the outcomes (real): g = 2 against g = 1,"
        " ratio 0.833 of the outcomes, 0.111 of the predictions." in finding.others
    )
    frame["hat"] = (frame["fact"] + (np.arange(len(frame)) % 10 == 0)) % 2
    alike = audit(frame, y_true="fact", y_pred="hat", sensitive_features="g", reference="1")
    assert "further from parity" not in alike.screen().findings[0].others


def test_few_rows_are_named_by_a_label_that_speaks() -> None:
    frame = rows({"0": (60, 40), "1": (10, 10)})
    limits = audit(frame, y_pred="hat", sensitive_features="g").screen().limits
    assert "g: few rows in g = 1 (20)." in limits


def test_one_difference_is_not_counted_as_one_of_one() -> None:
    lead = audit(rows({"a": (600, 400), "b": (300, 700)}), y_pred="hat", sensitive_features="g")
    assert lead.screen().lead == (
        "The one difference examined is real, and it is shown to be beyond a limit, over the whole"
        " audit with an error of 5%."
    )
    alike = audit(rows({"a": (50, 50), "b": (51, 49)}), y_pred="hat", sensitive_features="g")
    assert alike.screen().lead.startswith("The one difference examined is not shown to be real")


def test_a_difference_within_strata_that_its_metric_alone_shows_is_said_to_be_so() -> None:
    """60 and 48 of 100 at both sites: p = .02, which four more attributes make too large."""
    sites = [rows({"a": (60, 40), "b": (48, 52)}).assign(site=site) for site in ("x", "y")]
    frame = pd.concat(sites, ignore_index=True)
    rng = np.random.default_rng(3)
    others = ["h", "i", "j", "k"]
    for column in others:
        frame[column] = rng.choice(["u", "v"], len(frame))
    report = audit(
        frame,
        y_pred="hat",
        sensitive_features=["g", *others],
        strata="site",
        intersections=False,
    )
    strata = {finding.attribute: finding.strata for finding in report.screen().findings}
    assert strata["g"].endswith(
        "A difference within strata is shown by its metric alone, not over the whole audit."
    )
    assert strata["h"].endswith("That there is a difference within strata is not shown.")
