"""Parts of the report: sentences that follow the data, pictures, tables behind them, power."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairstats as fs
from fairstats.methods.rates.planning import chance_of_verdict, detectable_ratio
from fairstats.report.audit import audit
from fairstats.report.leads import count_others
from fairstats.report.parts import set_parts
from fairstats.report.report import AuditReport
from fairstats.report.sets import view_sets

pytest.importorskip("jinja2")


def made(unlucky: str, n: int = 1500) -> pd.DataFrame:
    """Rows in which one of two groups is selected, scored and favoured less."""
    rng = np.random.default_rng(2)
    group = rng.choice(["north", "south"], n)
    low = group == unlucky
    y = (rng.random(n) < 0.5).astype(int)
    score = np.clip(0.45 + 0.25 * y - 0.25 * low + 0.15 * rng.standard_normal(n), 0, 1)
    other = np.clip(score + 0.3 * low * rng.beta(2, 4, n), 0, 1)
    p = (score > 0.5).astype(int)
    return pd.DataFrame(
        {"g": group, "y": y, "p": p, "score": score, "other": other, "x": rng.random(n)}
    )


def audited(unlucky: str) -> AuditReport:
    return audit(
        made(unlucky),
        y_true="y",
        y_pred="p",
        score="score",
        counterfactual_score="other",
        features="x",
        sensitive_features="g",
        reference="north",
        n_resamples=199,
        rng=1,
    )


@pytest.fixture(scope="module")
def unlucky_south() -> AuditReport:
    return audited("south")


def leads(report: AuditReport) -> dict[str, str]:
    return {
        part.title.partition(":")[0]: part.lead for part in set_parts(report, view_sets(report)[0])
    }


@pytest.mark.parametrize(
    ("verdicts", "said"),
    [
        ("", ""),
        ("s", "The other comparison is shown to be within it."),
        ("i", "The other comparison is without sufficient evidence."),
        ("u", "The other comparison is open."),
        (
            "vsiui",
            (
                "Of 5 other comparisons, 1 shown to be beyond it, 1 within it, 2 without sufficient"
                " evidence, 1 open."
            ),
        ),
        ("ss", "Of 2 other comparisons, none shown to be beyond it, 2 within it, none open."),
    ],
)
def test_the_lead_counts_the_other_comparisons(verdicts: str, said: str) -> None:
    """Counted by hand; what lacks evidence is not called open."""
    words = {"v": "violated", "s": "satisfied", "i": "insufficient evidence", "u": "undecided"}
    shown = SimpleNamespace(verdict="violated")
    others = [SimpleNamespace(verdict=words[one]) for one in verdicts]
    assert count_others(shown, [*others, shown]).strip() == said


def test_every_part_has_a_sentence_and_its_pictures(
    unlucky_south: AuditReport, tmp_path: Path
) -> None:
    parts = {part.key: part for part in set_parts(unlucky_south, view_sets(unlucky_south)[0])}
    assert list(parts) == ["rates", "power", "madd", "hfm", "um", "ecd"]
    assert all(part.lead.endswith(".") for part in parts.values())
    pictures = {key: sum(len(row) for _, row in part.figures) for key, part in parts.items()}
    assert pictures == {"rates": 0, "power": 1, "madd": 4, "hfm": 0, "um": 1, "ecd": 1}
    page = unlucky_south.to_html(tmp_path / "r.html").read_text(encoding="utf-8")
    of_all_groups = sum(map(len, unlucky_south.picture_names.values()))
    assert page.count('<figure class="picture">') == 7 + of_all_groups
    assert "p rope" not in page
    assert "probability of practical equivalence" in page


def test_sentences_turn_with_the_data(unlucky_south: AuditReport) -> None:
    """The same audit with the groups' fortunes exchanged.

    What was said of one is not said any more.
    """
    here = leads(unlucky_south)
    mirrored = leads(audited("north"))
    south, north = (
        re.search(r"group south, (\d+) got .* in north, (\d+):", said["Rates"])
        for said in (here, mirrored)
    )
    assert south is not None
    assert north is not None
    assert int(south[1]) < int(south[2])
    assert int(north[1]) > int(north[2])
    assert "beyond the limit" in here["Rates"]
    assert " more in score than north" in here["The worst that can happen"]
    assert " less in score than north" in mirrored["The worst that can happen"]


def test_equal_groups_are_not_called_unequal() -> None:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"g": rng.choice(["a", "b"], 6000), "y": rng.integers(0, 2, 6000)})
    frame["p"] = np.where(rng.random(6000) < 0.8, frame["y"], 1 - frame["y"])
    report = audit(frame, y_true="y", y_pred="p", sensitive_features="g", reference="a", rng=1)
    said = leads(report)
    assert "shown to be within the limit" in said["Rates"]
    assert "more than 99.9%" in said["Both kinds of error at once"]
    assert said["Amplification"].startswith("In no group")


def test_few_cases_say_so() -> None:
    frame = pd.DataFrame({"p": [1, 0] * 6 + [1, 0, 0] * 3, "s": ["a"] * 12 + ["b"] * 9})
    report = audit(frame, y_pred="p", sensitive_features="s")
    assert leads(report)["What this audit could have shown"].startswith("The groups are too small")


@pytest.mark.filterwarnings("ignore::fairstats.ground.errors.FairstatsWarning")
def test_people_with_several_rows_are_not_too_few_cases(tmp_path: Path) -> None:
    """Differences of 0 to .0004 in four steps: of clusters with values on a grid no interval is
    shown to hold.
    """
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"score": rng.uniform(0.2, 0.8, 800), "s": np.repeat(["a", "b"], 400)})
    frame["score"] = frame["score"].round(4)
    frame["changed"] = (frame["score"] + rng.integers(0, 5, 800) / 10_000).round(4)
    frame["person"], frame["y"] = np.arange(800) // 2, rng.integers(0, 2, 800)
    report = audit(
        frame,
        y_true="y",
        y_pred="y",
        score="score",
        sensitive_features="s",
        cluster="person",
        counterfactual_score="changed",
    )
    said = leads(report)["The worst that can happen"]
    assert "no interval is known to hold, nothing is judged" in said
    assert "too few cases" not in said
    averages, *_ = (p for p in set_parts(report, view_sets(report)[0]) if p.key == "ecd")
    cells = [cell for row in averages.tables[0].rows for cell in row]
    assert "0.0002" in cells  # the mean of values up to .0004, which was 0.000


def test_weights_have_no_power(frame: pd.DataFrame) -> None:
    report = audit(frame, y_pred="granted", sensitive_features="region", sample_weight="weight")
    assert "power" not in [part.key for part in set_parts(report, view_sets(report)[0])]


@pytest.mark.parametrize(("rate", "n", "m"), [(0.5, 400, 900), (0.3, 250, 250), (0.7, 2000, 500)])
def test_what_could_have_been_shown_against_exact_power(rate: float, n: int, m: int) -> None:
    """The witness is exact enumeration, `power_ratio`.

    0.03 is the error of the normal approximation.
    """
    found = detectable_ratio(rate, n, m, 0.8, 0.95)
    exact = fs.power_ratio(rate, found, n=n, n_reference=m, alternative="violated").power
    assert exact == pytest.approx(0.8, abs=0.03)
    equal = chance_of_verdict(rate, 1.0, n, m, 0.8, 0.95)
    known = fs.power_ratio(rate, 1.0, n=n, n_reference=m, alternative="satisfied").power
    assert equal == pytest.approx(known, abs=0.03)


def test_the_best_known_group_is_named_before_the_least_known() -> None:
    """What can be found is named for the largest group first, then for the smallest that can show
    anything.
    """
    sizes = {"many": 4000, "some": 900, "few": 200, "handful": 6}
    group = np.repeat([*sizes], [*sizes.values()])
    frame = pd.DataFrame({"p": np.arange(group.size) % 2, "g": group})
    lead = leads(audit(frame, y_pred="p", sensitive_features="g"))[
        "What this audit could have shown"
    ]
    found = re.findall(
        r"ratio is (0\.\d\d) or less for some \(900 cases\), and only if it is (0\.\d\d) or less",
        lead,
    )
    assert len(found) == 1, lead
    assert float(found[0][0]) > float(found[0][1])
    assert lead.endswith("for few (200 cases); 1 more: too few cases.")


def test_no_power_at_all() -> None:
    assert detectable_ratio(0.5, 3, 3, 0.8, 0.95) == 0.0


@pytest.fixture(scope="module")
def two_hundred() -> AuditReport:
    rng = np.random.default_rng(4)
    n = 24_000
    frame = pd.DataFrame(
        {"g": [f"group {k}" for k in rng.integers(0, 200, n)], "p": rng.integers(0, 2, n)}
    )
    return audit(frame, y_pred="p", sensitive_features="g")


def test_two_hundred_groups_stay_readable(two_hundred: AuditReport, tmp_path: Path) -> None:
    path = two_hundred.to_html(tmp_path / "r.html")
    assert path.stat().st_size < 2_000_000
    page = path.read_text(encoding="utf-8")
    open_part = re.sub(r"<details.*?</details>", "", page, flags=re.DOTALL)
    rows = open_part.count('<th role="rowheader" scope="row" class="group">')
    assert rows < 60  # of 398 comparisons those furthest from equality; the rest is folded away
    assert "more groups, nearer to equality" in page


@pytest.mark.browser
def test_pictures_of_a_page(browser: Any, unlucky_south: AuditReport, tmp_path: Path) -> None:
    """Dark, light and print: pictures are inside the page, and words in them are legible and do not
    touch.
    """
    path = unlucky_south.to_html(tmp_path / "r.html")
    inside = """[...document.querySelectorAll('.picture')].every(f => {
      const page = f.getBoundingClientRect();
      return [...f.querySelectorAll('text')].every(t => {
        const box = t.getBoundingClientRect();
        return box.left >= page.left - 1 && box.right <= page.right + 1 && box.height >= 10;
      });
    })"""
    for width in (390, 768, 1280):
        browser.open(path, width=width)
        browser.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        assert browser.evaluate(inside)
        assert browser.evaluate("document.scrollingElement.scrollWidth") <= width
    paper = "getComputedStyle(document.body).backgroundColor"
    light = browser.evaluate(paper)
    dark = [{"name": "prefers-color-scheme", "value": "dark"}]
    browser.send("Emulation.setEmulatedMedia", features=dark)
    assert browser.evaluate(paper) != light
    browser.send("Emulation.setEmulatedMedia", media="print", features=dark)
    assert browser.evaluate(paper) == light
    browser.send("Emulation.setEmulatedMedia", media="", features=[])
    assert browser.complaints() == []
