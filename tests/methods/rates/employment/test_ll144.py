"""The tables of Local Law 144. Witnesses: the rule's own definitions, counted by hand."""

from __future__ import annotations

import csv
import io
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairstats as fs
from fairstats.results import AdverseImpact

PUBLISHED = {
    "sex": {"Male": (30, 20), "Female": (20, 30)},
    "race": {"White": (33, 27), "=Black": (15, 20), "Asian": (2, 3), "Other": (0, 0)},
}


def quiet(*args: Any, **options: Any) -> AdverseImpact:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fs.FairstatsWarning)
        return fs.adverse_impact(*args, template="ll144", **options)


def cells(result: AdverseImpact) -> list[list[str]]:
    return list(csv.reader(io.StringIO(str(result.to_csv()))))


def test_the_tables_as_counted_by_hand() -> None:
    head, *rows = cells(quiet(PUBLISHED))
    assert head == ["Table", "Category", "Number", "Selected", "Selection rate", "Impact ratio"]
    assert rows == [
        ["sex", "Male", "50", "30", "0.600", "1.000"],
        ["sex", "Female", "50", "20", "0.400", "0.667"],
        ["race", "White", "60", "33", "0.550", "1.000"],
        ["race", "'=Black", "35", "15", "0.429", "0.779"],
        ["race", "Asian", "5", "2", "0.400", "0.727"],
        ["race", "Other", "0", "0", "—", "—"],
    ]


def test_a_small_category_keeps_number_and_rate_but_has_no_ratio_and_is_no_reference() -> None:
    counts = {"W": (300, 700), "B": (200, 500), "N": (20, 10)}
    with_all = {row[1]: row for row in cells(quiet(counts))}
    assert with_all["N"][-1] == "1.000"
    left_out = quiet(counts, reason="too few to be of use")
    rows = {row[1]: row for row in cells(left_out)}
    assert rows["N"][2:] == ["30", "20", "0.667", "—"]
    assert rows["W"][-1] == "1.000"
    assert rows["B"][-1] == f"{(2 / 7) / 0.3:.3f}"
    page = str(left_out.to_html())
    assert "too few to be of use" in page
    assert "1.7% of all people" in page
    kept = {row[1]: row for row in cells(quiet(counts, reason="too few", least_share=0.01))}
    assert kept["N"][-1] == "1.000"


def test_scoring_rates_are_above_the_median_of_everybody() -> None:
    """Five known and one of unknown sex.

    The median of all six is 4.5, of the known it would be 4.
    """
    frame = pd.DataFrame({"sex": ["f", "f", "m", "m", "m", None], "score": [1, 5, 3, 4, 9, 8]})
    result = quiet(frame, score="score", sex="sex")
    assert result.median == 4.5
    rows = {row[1]: row for row in cells(result)}
    assert rows["f"][2:6] == ["2", "1", "0.500", "1.000"]
    assert rows["m"][2:6] == ["3", "1", "0.333", "0.667"]
    assert rows["Unknown category"][2] == "1"
    assert cells(result)[0][3:5] == ["Above the median", "Scoring rate"]


def test_ties_at_the_median_are_not_above_it_and_are_said() -> None:
    frame = pd.DataFrame({"sex": list("ffmm"), "score": [1.0, 2.0, 2.0, 3.0]})
    result = quiet(frame, score="score", sex="sex")
    assert (result.median, result.n_at_median) == (2.0, 2)
    assert "number of people who have just it: 2)" in str(result.to_html())


@pytest.mark.parametrize("seed", range(3))
def test_the_median_of_numbered_rows_is_that_of_the_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame(
        {"sex": rng.choice(["f", "m"], 41 + seed), "score": rng.integers(0, 9, 41 + seed)}
    )
    numbered = rows.groupby(["sex", "score"]).size().rename("people").reset_index()
    by_rows = quiet(rows, score="score", sex="sex")
    by_number = quiet(numbered, score="score", sex="sex", number="people")
    assert by_rows.median == np.median(rows["score"]) == by_number.median
    assert by_rows.n_at_median == by_number.n_at_median
    assert sorted(cells(by_rows)) == sorted(cells(by_number))


def test_the_page_says_what_was_given_and_judges_nothing() -> None:
    about = {
        "tool": "Rank <3",
        "auditor": "A & B",
        "audit_date": "2026-05-01",
        "source": "historical data",
    }
    result = quiet(PUBLISHED, unknown={"sex": 3, "race": (2, 5)}, about=about)
    page = str(result.to_html())
    for said in (
        "Rank &lt;3",
        "A &amp; B",
        "2026-05-01",
        "historical data",
        "7 people of an unknown category",
    ):
        assert said in page
    for word in ("violated", "satisfied", "four fifths", "0.8 "):
        assert word not in page
    assert "verdict" not in result.to_frame()
    assert all(
        "violated" not in said for said in (*result.sentences(), *result.notes(), str(result))
    )
    with pytest.raises(fs.InputError, match="ugesp"):
        fs.audit(result)


RATE = "The selection rate is the number selected over the number of the category."
RATIO = "The impact ratio is the rate over that of the category with the highest rate."
BOUNDS = (
    "Bounds: the smallest and largest impact ratio that people of unknown category could make, with"
    " an interval for the ratio of the population they were drawn from (Imbens and Manski 2004)."
)
SEXES = {"sex": {"women": (170, 830), "men": (200, 800)}}


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({}, [RATE, RATIO, "sex: No category was unknown."]),
        (
            {"unknown": (1, 0)},
            [RATE, RATIO, BOUNDS, "sex: 1 person of an unknown category: in none of the rates."],
        ),
        (
            {"unknown": (900, 300)},
            [
                RATE,
                RATIO,
                BOUNDS,
                "sex: 1,200 people of an unknown category: in none of the rates.",
            ],
        ),
        (
            {"reference": "women"},
            [
                RATE,
                RATIO,
                "Not so in the table sex: there it is the rate over that of women.",
                "sex: No category was unknown.",
            ],
        ),
        (
            {"measure": "scoring"},
            [
                (
                    "The scoring rate is the share of the category above the median score of the"
                    " whole sample; a score at the median is not above it."
                ),
                RATIO,
                "sex: No category was unknown.",
            ],
        ),
    ],
    ids=["plain", "one unknown", "many unknown", "another reference", "scores"],
)
def test_what_stands_below_the_tables(options: dict[str, Any], wanted: list[str]) -> None:
    """By hand, in this order; the page has every line, and the CSV a row for the unknown."""
    result = quiet(SEXES, **options)
    assert result.notes() == wanted
    page = str(result.to_html())
    assert all(said.removeprefix("sex: ") in page for said in wanted)
    number = sum(options.get("unknown", ()))
    unknown = [row for row in cells(result) if row[1] == "Unknown category"]
    assert unknown == ([["sex", "Unknown category", str(number), *[""] * 5]] if number else [])
    ratio = 170 / 200 if "reference" not in options else 200 / 170
    who = ("women", 0.170, "men") if "reference" not in options else ("men", 0.200, "women")
    assert result.sentences() == [
        f"sex, {who[0]}: rate {who[1]:.3f}, impact ratio {ratio:.3f} to {who[2]}."
    ]


def test_bounds_stand_in_the_tables_of_unknown_people_alone() -> None:
    """The smallest and largest ratio and the interval around them, as in the frame.

    "—" for the reference.
    """
    result = quiet(SEXES, unknown=(40, 60), confidence_level=0.9, reference="men")
    (row,) = result.to_frame().to_dict("records")
    head, women, men, _ = cells(result)
    assert head[-2:] == ["Bounds for unknown categories", "90% interval around them"]
    assert women[-2:] == [
        f"{row['unknown_low']:.3f} to {row['unknown_high']:.3f}",
        f"{row['unknown_ci_low']:.3f} to {row['unknown_ci_high']:.3f}",
    ]
    assert men[-2:] == ["—", "—"]
    assert row["n_unknown"] == 100
    # every one of the 100 where it hurts most: 60 not selected women, 40 selected men; and the
    # other way
    assert row["unknown_low"] == pytest.approx(170 / 1060 / (240 / 1040))
    assert row["unknown_high"] == pytest.approx(210 / 1040 / (200 / 1060))


def test_only_this_template_has_the_page(tmp_path: Any) -> None:
    result = fs.adverse_impact({"a": (5, 5), "b": (4, 6)})
    for write in (result.to_html, result.to_csv):
        with pytest.raises(fs.InputError, match="ll144"):
            write(tmp_path / "x")
    written = quiet(PUBLISHED).to_csv(tmp_path / "tables.csv")
    assert written == tmp_path / "tables.csv"


@pytest.mark.parametrize("start", ["=", "+", "-", "@", " =", "\t=", "\r"])
def test_no_cell_is_a_formula(start: str) -> None:
    counts = {f"{start}cmd": (5, 5), "b": (4, 6)}
    for row in cells(quiet(counts))[1:]:
        assert not row[1].lstrip().startswith(("=", "+", "-", "@"))


@st.composite
def published(draw: st.DrawFn) -> tuple[dict[str, tuple[int, int]], str, int, int]:
    """A table as audits publish it.

    Counts, the comparator of its ratios, their digits, people unknown.
    """
    sizes = draw(st.lists(st.integers(20, 3000), min_size=2, max_size=6))
    counts = {}
    for g, n in enumerate(sizes):
        k = draw(st.integers(1, n))
        counts[f"g{g}"] = (k, n - k)
    return (
        counts,
        draw(st.sampled_from(sorted(counts))),
        draw(st.integers(2, 3)),
        draw(st.integers(0, 60)),
    )


@pytest.mark.slow
@settings(max_examples=40)
@given(audit=published(), data=st.data())
def test_published_ratios_are_met_by_rounding_or_by_their_comparator(
    audit: Any, data: st.DataObject
) -> None:
    """As in 116 published audits.

    Ratios that are not those to the highest rate differ by one factor.

    Named as the reference, the auditor's comparator gives what was printed, up to half a unit of
    its last digit; the page then says whose rate it is. People of unknown category never leave the
    bounds."""
    counts, comparator, digits, unknown = audit
    rates = {g: k / (k + f) for g, (k, f) in counts.items()}
    printed = {g: round(rate / rates[comparator], digits) for g, rate in rates.items()}
    known = {**counts, "nobody": (0, 0)}
    own = quiet(known, unknown=unknown or None)
    named = quiet(known, reference=comparator, unknown=unknown or None)
    rows, again = ({row[1]: row for row in cells(result)} for result in (own, named))
    step = 0.5 * 10.0**-digits + 0.0005 + 1e-9
    for g in counts:
        assert abs(float(again[g][5]) - printed[g]) <= step
        factor = rates[comparator] / max(rates.values())
        assert abs(float(rows[g][5]) - printed[g] * factor) <= step
    assert rows["nobody"][4:6] == ["—", "—"]
    assert "nobody: nobody" in str(own.to_html())
    other = f"there it is the rate over that of {comparator}."
    assert other in str(named.to_html())
    assert other not in str(own.to_html())
    if unknown:
        assert rows["Unknown category"][2] == str(unknown)
        inner = 2 * len(counts) - 1
        cuts = sorted(data.draw(st.lists(st.integers(0, unknown), min_size=inner, max_size=inner)))
        parts = np.diff([0, *cuts, unknown])
        filled = [
            (k + parts[2 * i], f + parts[2 * i + 1]) for i, (k, f) in enumerate(counts.values())
        ]
        true = [k / (k + f) for k, f in filled]
        for g, rate in zip(counts, true, strict=True):
            low, high, *_ = own.tables[0].bounds_of(g)
            assert low - 1e-9 <= rate / max(true) <= high + 1e-9
