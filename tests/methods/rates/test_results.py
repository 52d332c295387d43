"""Results: one tidy table, words, and a dictionary that survives JSON with the sufficient
statistics.
"""

from __future__ import annotations

import json
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairstats as fs
from fairstats.ground.results import TIDY_COLUMNS, Result

COUNTS = {"a": (40, 20, 10, 30), "b": (35, 15, 15, 35), "c": (20, 5, 25, 50)}
HOLES = {"a": (40, 20, 10, 30), "b": (0, 15, 0, 35), "c": (0, 5, 25, 50), "none": (0, 0, 0, 0)}


def rows(counts: dict[str, tuple[int, ...]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    cells = [(1, 1), (0, 1), (1, 0), (0, 0)]
    parts = [
        (y, p, g)
        for g, c in counts.items()
        for (y, p), n in zip(cells, c, strict=True)
        for _ in range(n)
    ]
    y, p, g = zip(*parts, strict=True)
    return np.array(y), np.array(p), np.array(g)


def with_missing() -> fs.results.RatioResult:
    y, p, g = rows(COUNTS)
    labels: list[Any] = y.tolist()
    labels[3] = labels[90] = None
    return fs.conditional_accuracy(labels, p, sensitive_features=g, missing="drop")


def weighted() -> Any:
    y, p, g = rows(COUNTS)
    return fs.equalized_odds_difference(
        y,
        p,
        sensitive_features=g,
        sample_weight=np.linspace(0.5, 2, y.size),
        cluster=np.arange(y.size) // 3,
    )


def scores() -> Any:
    y, p, g = rows(COUNTS)
    score = np.clip(0.3 + 0.2 * y + 0.1 * p + np.arange(y.size) % 7 / 15 - 0.2, 0, 1)
    return fs.abroca(y, score, sensitive_features=g, n_resamples=100, rng=1)


def models() -> Any:
    y, p, g = rows(COUNTS)
    return fs.compare_models(y, p, np.where(np.arange(p.size) % 7, p, 1 - p), sensitive_features=g)


def strata() -> Any:
    _, p, g = rows(COUNTS)
    return fs.disparate_impact(p, sensitive_features=g, strata=np.arange(p.size) % 4).stratified


RESULTS: dict[str, Callable[[], Result]] = {
    "ratio": lambda: fs.disparate_impact(counts=COUNTS),
    "ratio, all pairs, bootstrap": lambda: fs.disparate_impact(
        counts=COUNTS, comparisons="all", method="bootstrap", rng=2
    ),
    "ratio, holes": lambda: fs.conditional_accuracy(counts=HOLES),
    "ratio, infinite": lambda: fs.conditional_accuracy(counts=HOLES, reference="c"),
    "ratio, missing rows": with_missing,
    "difference": lambda: fs.demographic_parity_difference(counts=COUNTS, simultaneous="max-z"),
    "difference, one-sided": lambda: fs.equal_opportunity_difference(
        counts=COUNTS, alternative="less"
    ),
    "average odds": lambda: fs.average_odds_difference(counts=COUNTS),
    "odds": lambda: fs.equalized_odds_difference(counts=COUNTS, reference="highest"),
    "odds, weights and clusters": weighted,
    "maximum": lambda: fs.equalized_odds_difference(counts=COUNTS, agg="max"),
    "maximum, holes": lambda: fs.equal_opportunity_difference(counts=HOLES, agg="max"),
    "abroca": scores,
    "metric": lambda: fs.group_metric(metric="mcc", counts=COUNTS),
    "metric, ratio": lambda: fs.group_metric(metric="f1", counts=COUNTS, contrast="ratio"),
    "models": models,
    "strata": strata,
    "power": lambda: fs.power_ratio(0.5, 0.7, n=200),
    "size": lambda: fs.sample_size_ratio(0.5, 0.7),
}


@pytest.fixture(params=RESULTS)
def result(request: pytest.FixtureRequest) -> Result:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fs.FairstatsWarning)
        return RESULTS[request.param]()


def same(first: Any, second: Any) -> bool:
    """Equality that knows NaN, arrays and tuples."""
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(same(first[k], second[k]) for k in first)
    if isinstance(first, list):
        return len(first) == len(second) and all(map(same, first, second))
    return bool(first == second) and type(first) is type(second)


def test_through_json_and_back(result: Result) -> None:
    """JSON without NaN or Infinity literals; the object that comes back writes the same JSON and
    the same table."""
    text = json.dumps(result.to_dict(), allow_nan=False)
    again = type(result).from_dict(json.loads(text))
    assert type(again) is type(result)
    assert same(again.to_dict(), result.to_dict())
    pd.testing.assert_frame_equal(again.to_frame(), result.to_frame(), check_exact=True)
    assert str(again) == str(result)


def test_through_pickle(result: Result) -> None:
    again = pickle.loads(pickle.dumps(result))  # noqa: S301
    assert same(again.to_dict(), result.to_dict())


def test_the_table_is_tidy(result: Result) -> None:
    frame = result.to_frame()
    assert tuple(frame.columns[: len(TIDY_COLUMNS)]) == TIDY_COLUMNS
    assert not frame.columns.duplicated().any()
    assert frame["estimate"].dtype == float
    assert frame["metric"].notna().all()
    assert frame["backend"].notna().all()
    known = frame["ci_low"].notna() & frame["estimate"].notna()
    assert (frame["ci_low"] <= frame["estimate"])[known].all()
    assert (frame["estimate"] <= frame["ci_high"])[known].all()


def test_every_result_prints_itself(result: Result) -> None:
    text = str(result)
    html = result._repr_html_()
    assert text.splitlines()[0] == result.title
    assert html.startswith("<section>")
    assert "nan" not in text.lower().replace("finance", "")
    if hasattr(result, "sentences"):
        sentences = result.sentences()
        assert len(sentences) == len(result.to_frame())
        assert all(s.endswith(".") and "nan" not in s for s in sentences)


@pytest.mark.filterwarnings("ignore::fairstats.ground.errors.FairstatsWarning")
def test_names_are_escaped_in_html() -> None:
    evil = "<script>alert('x')</script>"
    result = fs.disparate_impact(counts={evil: (3, 5), "b & c": (5, 0)}, reference="b & c")
    html = result._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


@pytest.mark.filterwarnings("ignore::fairstats.ground.errors.InsufficientEvidenceWarning")
def test_sufficient_statistics_travel_with_the_result() -> None:
    """From the dictionary alone the same inference can be done again."""
    y, p, g = rows(COUNTS)
    first = fs.average_odds_difference(y, p, sensitive_features=g)
    again = fs.results.DifferenceResult.from_dict(json.loads(json.dumps(first.to_dict())))
    repeated = fs.average_odds_difference(counts=again.counts)
    pd.testing.assert_frame_equal(repeated.to_frame(), first.to_frame())
    whole = weighted()
    again = fs.results.DifferenceResult.from_dict(json.loads(json.dumps(whole.to_dict())))
    repeated = fs.equalized_odds_difference(counts=again.counts)
    pd.testing.assert_frame_equal(repeated.to_frame(), whole.to_frame())


def test_no_rows_of_people_in_the_dictionary() -> None:
    """A thousand people with a score each.

    What is written is a table that merges them, not their scores.
    """
    rng = np.random.default_rng(3)
    n = 1_000
    y = rng.integers(0, 2, n)
    g = rng.choice(["a", "b"], n)
    score = rng.random(n)
    result = fs.abroca(y, score, sensitive_features=g, n_resamples=100, rng=1)
    stored = result.to_dict()["counts"]
    values = stored["values"]["array"]
    assert len(values) < n / 2, "each person's own score, label and group can be read from the JSON"


def test_one_comparison_gives_numbers_several_give_arrays() -> None:
    one = fs.disparate_impact(counts={g: COUNTS[g] for g in "ab"})
    assert isinstance(one.estimate, float)
    assert isinstance(one.pvalue, float)
    assert isinstance(one.verdict, str)
    low, high = one.confidence_interval
    assert low < one.estimate < high
    many = fs.disparate_impact(counts=COUNTS)
    assert (
        many.estimate.shape
        == many.pvalue.shape
        == many.std_error.shape
        == many.statistic.shape
        == (2,)
    )
    assert len(many.confidence_interval) == len(many.verdict) == 2


def test_comparisons_by_group() -> None:
    result = fs.disparate_impact(counts={1: (5, 5), 2: (6, 4), 3: (7, 3)}, reference=1)
    assert result[2].group == "2"
    assert result["3"].estimate == pytest.approx(1.4)
    with pytest.raises(fs.InputError, match="`group`: got 9; allowed: one of '2', '3'"):
        result[9]


def test_notes_say_what_was_done() -> None:
    with pytest.warns(fs.FairstatsWarning, match="2 of 300 rows left out"):
        text = str(with_missing())
    assert "2 of 300 rows left out for missing values (y_true: 2)." in text
    assert "Reference: b (the largest group)" in text  # a lost both rows
    assert "95% intervals" in text


def test_notes_of_abroca_say_nothing_about_counts() -> None:
    """Score bounds of two rates have no place under an area between ROC curves."""
    assert not [note for note in scores().notes() if "score bounds" in note or "successes" in note]


def test_a_small_cell_is_told() -> None:
    result = fs.disparate_impact(counts={"a": (3, 40), "b": (30, 40)})
    told = (
        "Few cases expected: a by exact unconditional tests, tables ordered by the score; verdict,"
        " p-value and "
    )
    assert f"{told}limits alike." in result.notes()
    assert result.comparisons[0].bounds.method == "exact unconditional"
    assert result.method == "score"


def test_adjusting_over_another_family() -> None:
    result = fs.disparate_impact(counts=COUNTS)
    changed = result._with_adjusted(np.array([0.5, 0.25]), "audit")
    assert [c.pvalue_adjusted for c in changed.comparisons] == [0.5, 0.25]
    assert changed.settings.family == "audit"
    assert "over audit" in str(changed)


def test_from_dict_of_another_class() -> None:
    data = fs.disparate_impact(counts=COUNTS).to_dict()
    with pytest.raises(fs.InputError, match="`data`: got a RatioResult"):
        fs.results.DifferenceResult.from_dict(data)
    assert isinstance(Result.from_dict(data), fs.results.RatioResult)


def test_rows_can_be_concatenated() -> None:
    frames = [
        fs.disparate_impact(counts=COUNTS).to_frame(),
        fs.demographic_parity_difference(counts=COUNTS).to_frame(),
    ]
    whole = pd.concat(frames, ignore_index=True)
    assert whole.columns.tolist() == frames[0].columns.tolist()
    assert len(whole) == 4


def test_a_small_reference_is_named_where_intervals_may_be_too_narrow() -> None:
    """3 of 1,000 beside half of 100,000.

    At the pooled rate 495 are expected, enough for the score.
    """
    result = fs.disparate_impact(counts={"a": (50_000, 50_000), "b": (3, 997)}, reference="b")
    assert not result.comparisons[0].procedure.exact
    assert [note for note in result.regime_notes() if note.endswith("are expected: b.")]


@pytest.mark.filterwarnings("ignore::fairstats.FairstatsWarning")
def test_intervals_of_exact_tests_are_not_called_too_narrow() -> None:
    """They hold at every size; Koopman's of the same table do not, nor those of a larger group
    beside it.
    """
    counts = {"a": (50_000, 50_000), "b": (3, 6), "c": (3, 997)}
    result = fs.disparate_impact(counts=counts, reference="a")
    assert [c.procedure.exact for c in result.comparisons] == [True, False]
    assert [note for note in result.regime_notes() if "too narrow" in note] == [
        "Intervals may be too narrow where fewer than 5 successes or failures are expected: c."
    ]
    (asked,) = fs.disparate_impact(counts=counts, reference="a", method="koopman").regime_notes()
    assert asked.endswith("are expected: b, c.")


def test_a_fair_range_of_1_alone_is_no_range() -> None:
    result = fs.disparate_impact(
        counts={"a": (52, 48), "b": (50, 50)}, reference="b", threshold=1.0
    )
    (said,) = result.sentences()
    assert said.endswith("undecided; the data do not settle whether it is 1.")


RATIO_TAILS = [
    (
        {"a": (30, 70), "b": (160, 140)},
        {},
        (
            "violated; the data show a ratio below 0.8: a has the lower "
            "selection rate, to the disadvantage of a."
        ),
    ),
    (
        {"a": (90, 10), "b": (150, 150)},
        {},
        (
            "violated; the data show a ratio above 1.25: b has the lower "
            "selection rate, to the disadvantage of b."
        ),
    ),
    (
        {"a": (490, 510), "b": (500, 500)},
        {},
        "satisfied; the data show a ratio between 0.8 and 1.25.",
    ),
    (
        {"a": (45, 55), "b": (50, 50)},
        {},
        "undecided; the data do not settle whether it lies between 0.8 and 1.25.",
    ),
    (
        {"a": (45, 55), "b": (50, 50)},
        {"threshold": 0.9},
        "undecided; the data do not settle whether it lies between 0.9 and 1.111.",
    ),
]
DIFFERENCE_TAILS = [
    (
        {"a": (30, 70), "b": (160, 140)},
        {},
        (
            "violated; the data show a difference below -0.1: a has the lower "
            "selection rate, to the disadvantage of a."
        ),
    ),
    (
        {"a": (90, 10), "b": (150, 150)},
        {},
        (
            "violated; the data show a difference above 0.1: b has the lower "
            "selection rate, to the disadvantage of b."
        ),
    ),
    ({"a": (490, 510), "b": (500, 500)}, {}, "satisfied; the data show a difference within ±0.1."),
    (
        {"a": (45, 55), "b": (50, 50)},
        {},
        "undecided; the data do not settle whether it lies within ±0.1.",
    ),
]
GAP_TAILS = [
    (
        {"a": (15, 85), "b": (50, 50)},
        {},
        (
            "violated; the data show a gap above 0.1: a has the lower "
            "selection rate, to the disadvantage of a."
        ),
    ),
    (
        {"a": (48, 52), "b": (50, 50)},
        {"margin": 0.3},
        "satisfied; the data show that every gap is below 0.3.",
    ),
    (
        {"a": (40, 52), "b": (50, 50)},
        {},
        "undecided; the data do not settle on which side of 0.1 it lies.",
    ),
]


@pytest.mark.parametrize(("counts", "options", "tail"), RATIO_TAILS)
def test_what_a_ratio_is_told_with(counts: Any, options: dict[str, Any], tail: str) -> None:
    """The whole sentence: rates, ratio and interval of the row, and a verdict's words by hand."""
    result = fs.disparate_impact(counts=counts, reference="b", **options)
    (c,), (k0, f0), (k1, f1) = result.comparisons, counts["a"], counts["b"]
    low, high = c.confidence_interval
    assert result.sentences() == [
        f"a against b: {100 * k0 / (k0 + f0):.1f}% against {100 * k1 / (k1 + f1):.1f}%, "
        f"ratio {c.estimate:.3f} (95% interval {low:.3f} to {high:.3f}): {tail}"
    ]


@pytest.mark.parametrize(("counts", "options", "tail"), DIFFERENCE_TAILS)
def test_what_a_difference_is_told_with(counts: Any, options: dict[str, Any], tail: str) -> None:
    """The whole sentence, with signs."""
    result = fs.demographic_parity_difference(counts=counts, reference="b", **options)
    (c,) = result.comparisons
    low, high = c.confidence_interval
    assert result.sentences() == [
        f"a against b: difference {c.estimate:+.3f} (95% interval {low:+.3f} to {high:+.3f}):"
        f" {tail}"
    ]


@pytest.mark.parametrize(("counts", "options", "tail"), GAP_TAILS)
def test_what_a_largest_gap_is_told_with(counts: Any, options: dict[str, Any], tail: str) -> None:
    """The whole sentence, which names the rate, and the one note, which names the band."""
    result = fs.demographic_parity_difference(counts=counts, agg="max", **options)
    (c,) = result.comparisons
    low, high = c.confidence_interval
    assert result.sentences() == [
        f"Largest gap {c.estimate:.3f} (95% interval {low:.3f} to {high:.3f}), between {c.group}"
        f" and {c.reference} in selection rate: {tail}"
    ]
    (note,) = result.notes()
    assert note == "The only difference, without its sign: its tests, limits and verdict (95%)."
    assert result.width == pytest.approx(high - low)


THREE = {"a": (45, 55), "b": (50, 50), "c": (30, 20)}


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        (
            {},
            [
                "Reference: a (the largest group).",
                "95% intervals; verdicts by one-sided limits at that level.",
                "p-values adjusted by holm over metric.",
            ],
        ),
        (
            {"reference": "c", "adjust": "bonferroni", "confidence_level": 0.9},
            [
                "Reference: c (named by the user).",
                "90% intervals; verdicts by one-sided limits at that level.",
                "p-values adjusted by bonferroni over metric.",
            ],
        ),
        (
            {"comparisons": "all", "adjust": "none", "simultaneous": "bonferroni", "margin": 0.3},
            [
                "All pairs of groups are compared.",
                (
                    "95% intervals, simultaneous (bonferroni); verdicts by one-sided limits at that"
                    " level."
                ),
                "p-values not adjusted, each verdict by itself.",
            ],
        ),
        (
            {"reference": "highest", "margin": 0.3},
            [
                (
                    "Reference: c (the highest rate: chosen by the data, hence simultaneous over"
                    " all pairs)."
                ),
                "95% intervals; verdicts by one-sided limits at that level.",
                (
                    "p-values adjusted over all pairs: of equality as the intervals are, of"
                    " verdicts by bonferroni."
                ),
            ],
        ),
        (
            {"method": "delta", "margin": 0.3},
            [
                "Reference: a (the largest group).",
                "95% intervals; verdicts by one-sided limits at that level.",
                "p-values adjusted by holm over metric.",
                (
                    "The delta method, asked for, is too liberal beside a small group: there its"
                    " verdicts are wrong in up to 10% of samples."
                ),
            ],
        ),
    ],
    ids=lambda value: ", ".join(value) if isinstance(value, dict) else None,
)
def test_notes_name_reference_level_and_family(options: dict[str, Any], wanted: list[str]) -> None:
    """By hand, in this order; a range of ±.1 of groups of 50 is so narrow that it is said, ±.3 is
    not.
    """
    found = fs.demographic_parity_difference(counts=THREE, **options).notes()
    found = [note for note in found if not note.startswith("Few cases expected")]
    if "margin" not in options:
        wanted = [note.replace("that level.", "that level") for note in wanted]
        found = [note.split(", or up to")[0] for note in found]
    assert [note.rstrip(".") for note in found] == [note.rstrip(".") for note in wanted]


def test_a_single_comparison_has_no_family_to_tell_of() -> None:
    """Of two groups there is one p-value; a narrow range says the level up to which limits go."""
    two = {"a": (45, 55), "b": (50, 50)}
    assert not [n for n in fs.disparate_impact(counts=two).notes() if n.startswith("p-values")]
    result = fs.disparate_impact(counts=two, threshold=1.0)
    level = 100 * result.comparisons[0].bounds.confidence_level
    assert (
        f"level, or up to {level:.3g}% where the fair range is as narrow as their error."
        in result.notes()[1]
    )
    assert level == pytest.approx(97.5)
