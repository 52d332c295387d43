"""Results: one tidy table, words, and a dictionary that survives JSON with the sufficient statistics."""

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
        (y, p, g) for g, c in counts.items() for (y, p), n in zip(cells, c, strict=True) for _ in range(n)
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
        y, p, sensitive_features=g, sample_weight=np.linspace(0.5, 2, y.size), cluster=np.arange(y.size) // 3
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
    return fs.stratified_ratio(p, sensitive_features=g, strata=np.arange(p.size) % 4)


RESULTS: dict[str, Callable[[], Result]] = {
    "ratio": lambda: fs.disparate_impact(counts=COUNTS),
    "ratio, all pairs, bootstrap": lambda: fs.disparate_impact(
        counts=COUNTS, comparisons="all", method="bootstrap", rng=2
    ),
    "ratio, holes": lambda: fs.conditional_accuracy(counts=HOLES),
    "ratio, infinite": lambda: fs.conditional_accuracy(counts=HOLES, reference="c"),
    "ratio, missing rows": with_missing,
    "difference": lambda: fs.demographic_parity_difference(counts=COUNTS, simultaneous="max-z"),
    "difference, one-sided": lambda: fs.equal_opportunity_difference(counts=COUNTS, alternative="less"),
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
    """JSON without NaN or Infinity literals; the object that comes back writes the same JSON and the same
    table.
    """
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
    text, html = str(result), result._repr_html_()
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
    """A thousand people with a score each: what is written is a table that merges them, not their scores."""
    rng = np.random.default_rng(3)
    n = 1_000
    y, g, score = rng.integers(0, 2, n), rng.choice(["a", "b"], n), rng.random(n)
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
    assert many.estimate.shape == many.pvalue.shape == many.std_error.shape == many.statistic.shape == (2,)
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
    told = "Fewer than 10 successes or failures: verdicts on a by the exact test."
    assert told in result.notes()
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
    result = fs.disparate_impact(counts={"a": (500, 500), "b": (6, 3)}, reference="b")
    assert [note for note in result.regime_notes() if note.endswith("are expected: b.")]


def test_a_fair_range_of_1_alone_is_no_range() -> None:
    result = fs.disparate_impact(counts={"a": (52, 48), "b": (50, 50)}, reference="b", threshold=1.0)
    (said,) = result.sentences()
    assert said.endswith("undecided; the data do not settle whether it is 1.")
