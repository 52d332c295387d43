"""What theory says must not change: order of rows, names of groups, copies of the data, who is the
reference.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairstats as fs

pytestmark = pytest.mark.filterwarnings("ignore::fairstats.ground.errors.DataWarning")
ROWS = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 1), st.sampled_from("abc")), min_size=2, max_size=60
).filter(lambda rows: len({g for *_, g in rows}) > 1)
Columns = tuple[np.ndarray, np.ndarray, np.ndarray]
METRICS: dict[str, Callable[..., Any]] = {
    "DI": lambda y, p, **k: fs.disparate_impact(p, **k),
    "CA1": lambda y, p, **k: fs.conditional_accuracy(y, p, label=1, **k),
    "CA0": lambda y, p, **k: fs.conditional_accuracy(y, p, label=0, **k),
    "CU1": lambda y, p, **k: fs.conditional_use_accuracy(y, p, prediction=1, **k),
    "CU0": lambda y, p, **k: fs.conditional_use_accuracy(y, p, prediction=0, **k),
    "DP": fs.demographic_parity_difference,
    "EO": fs.equal_opportunity_difference,
    "PP": fs.predictive_parity_difference,
    "AOD": fs.average_odds_difference,
    "odds": fs.equalized_odds_difference,
    "max": lambda y, p, **k: fs.equalized_odds_difference(y, p, agg="max", **k),
}
RATIOS = ("DI", "CA1", "CA0", "CU1", "CU0")
DIFFERENCES = ("DP", "EO", "PP", "AOD", "odds")


@pytest.fixture(autouse=True)
def _sparse_tables_are_wanted_here() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fs.FairstatsWarning)
        yield


def columns(rows: list[tuple[int, int, str]]) -> Columns:
    y, p, g = zip(*rows, strict=True)
    return np.array(y), np.array(p), np.array(g)


def quiet(metric: str, *arguments: Any, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fs.FairstatsWarning)
        return METRICS[metric](*arguments, **options)


def numbers(result: Any) -> np.ndarray:
    """Every number of the tidy table."""
    return result.to_frame().select_dtypes("number").to_numpy(dtype=float)


@pytest.mark.parametrize("metric", METRICS)
@settings(max_examples=10)
@given(rows=ROWS, random=st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter(
    metric: str, rows: list[tuple[int, int, str]], random: Any
) -> None:
    shuffled = random.sample(rows, len(rows))
    first = quiet(metric, *columns(rows)[:2], sensitive_features=columns(rows)[2])
    other = quiet(metric, *columns(shuffled)[:2], sensitive_features=columns(shuffled)[2])
    np.testing.assert_array_equal(numbers(first), numbers(other))
    assert first.to_frame()["group"].tolist() == other.to_frame()["group"].tolist()


@pytest.mark.parametrize("metric", METRICS)
@settings(max_examples=10)
@given(rows=ROWS)
def test_the_names_of_the_groups_do_not_matter(
    metric: str, rows: list[tuple[int, int, str]]
) -> None:
    """Names in another alphabetical order, of another type, with the same explicit order of
    groups.
    """
    y, p, g = columns(rows)
    first = (
        quiet(metric, y, p, sensitive_features=g, groups=list("abc"), reference="a")
        if metric != "max"
        else quiet(metric, y, p, sensitive_features=g, groups=list("abc"))
    )
    for names in (
        {"a": "z", "b": "y", "c": "x"},
        {"a": 3, "b": 1, "c": 2},
        {"a": "x & y", "b": " y", "c": "highest"},
    ):
        renamed = [names[v] for v in g]
        options = {} if metric == "max" else {"reference": names["a"]}
        other = quiet(
            metric, y, p, sensitive_features=renamed, groups=[names[v] for v in "abc"], **options
        )
        np.testing.assert_array_equal(numbers(first), numbers(other))


@pytest.mark.parametrize("metric", METRICS)
@settings(max_examples=10)
@given(rows=ROWS, copies=st.integers(2, 5))
def test_copies_of_the_data_shrink_the_standard_error(
    metric: str, rows: list[tuple[int, int, str]], copies: int
) -> None:
    """The estimates stay, the standard errors shrink by √copies."""
    y, p, g = columns(rows)
    once = quiet(metric, y, p, sensitive_features=g).to_frame()
    more = quiet(
        metric, *(np.tile(v, copies) for v in (y, p)), sensitive_features=np.tile(g, copies)
    ).to_frame()
    np.testing.assert_allclose(more["estimate"], once["estimate"], rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(
        more["std_error"].astype(float),
        once["std_error"].astype(float) / np.sqrt(copies),
        rtol=1e-9,
        atol=1e-12,
    )
    assert more["n"].tolist() == (once["n"] * copies).tolist()


@pytest.mark.parametrize("method", ["log", "score", "koopman"])
@pytest.mark.parametrize("metric", RATIOS)
@settings(max_examples=10)
@given(rows=ROWS)
def test_swapping_the_reference_inverts_a_ratio(
    metric: str, method: str, rows: list[tuple[int, int, str]]
) -> None:
    """Estimate and interval invert; the equality test stays.

    The one-sided tests at 1 change places.
    """
    y, p, g = columns(
        [(y, p, "a" if g == "a" else "b") for y, p, g in rows]
        + [(1, 1, "a"), (0, 0, "a"), (1, 0, "b"), (0, 1, "b")]
    )
    options = {"sensitive_features": g, "method": method, "threshold": 1.0}
    ab, ba = (quiet(metric, y, p, reference=r, **options).comparisons[0] for r in "ba")
    if ab.verdict == ba.verdict == "insufficient evidence":
        return
    with np.errstate(divide="ignore"):
        assert ab.estimate == pytest.approx(np.divide(1.0, ba.estimate), rel=1e-12)
        low, high = np.divide(1.0, tuple(ba.confidence_interval)[::-1])
    assert tuple(ab.confidence_interval) == pytest.approx((low, high), rel=1e-7)
    tests, swapped = (
        {t.alternative: t for t in c.tests if "exact" not in t.method} for c in (ab, ba)
    )
    # Score p-values depend on the contrast only through z, and z at ratio 1 is the same both ways.
    assert tests["two-sided"].pvalue == pytest.approx(
        swapped["two-sided"].pvalue, rel=1e-7, abs=1e-12
    )
    assert tests["less"].pvalue == pytest.approx(swapped["greater"].pvalue, rel=1e-7, abs=1e-12)


@pytest.mark.parametrize("method", ["score", "delta", "mee"])
@pytest.mark.parametrize("metric", DIFFERENCES)
@settings(max_examples=10)
@given(rows=ROWS)
def test_swapping_the_reference_flips_a_difference(
    metric: str, method: str, rows: list[tuple[int, int, str]]
) -> None:
    y, p, g = columns(
        [(y, p, "a" if g == "a" else "b") for y, p, g in rows]
        + [(1, 1, "a"), (0, 0, "a"), (1, 0, "b"), (0, 1, "b")]
    )
    options = {"sensitive_features": g, "method": method}
    for ab, ba in zip(
        *(quiet(metric, y, p, reference=r, **options).comparisons for r in "ba"), strict=True
    ):
        assert ab.estimate == pytest.approx(-ba.estimate, abs=1e-14)
        assert tuple(ab.confidence_interval) == pytest.approx(
            (-ba.confidence_interval.high, -ba.confidence_interval.low),
            abs=1e-8,
            nan_ok=method == "delta",
        )  # with an empty cell the delta method has no interval either way
        assert ab.std_error == pytest.approx(ba.std_error, abs=1e-14)
        assert ab.verdict == ba.verdict
        if not np.isnan(ab.pvalue):
            assert ab.pvalue == pytest.approx(ba.pvalue, rel=1e-6, abs=1e-12)


@settings(max_examples=10)
@given(rows=ROWS)
def test_counts_and_rows_are_the_same(rows: list[tuple[int, int, str]]) -> None:
    y, p, g = columns(rows)
    counts = fs.ConfusionCounts.from_arrays(y, p, sensitive_features=g)
    for metric, function in METRICS.items():
        by_rows = quiet(metric, y, p, sensitive_features=g)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", fs.FairstatsWarning)
            by_counts = function(None, None, counts=counts)
        np.testing.assert_array_equal(numbers(by_rows), numbers(by_counts))


@settings(max_examples=30)
@given(rows=ROWS)
def test_favourable_and_unfavourable_trade_places(rows: list[tuple[int, int, str]]) -> None:
    """With 0 as the favourable value TPR is TNR, PPV is NPV, and the selection difference turns."""
    y, p, g = columns(rows)
    options = {"sensitive_features": g, "groups": list("abc"), "reference": "a"}
    flipped = {**options, "pos_label": 0}
    for one, zero in (("CA1", "CA0"), ("CU1", "CU0")):
        if not (0 in y and 0 in p):
            continue
        np.testing.assert_array_equal(
            quiet(one, y, p, **flipped).to_frame()["estimate"],
            quiet(zero, y, p, **options).to_frame()["estimate"],
        )
    if 0 in p:
        np.testing.assert_allclose(
            quiet("DP", y, p, **{**flipped, "pos_label": {"y_pred": 0}}).to_frame()["estimate"],
            -quiet("DP", y, p, **options).to_frame()["estimate"],
            atol=1e-14,
        )


def test_the_same_seed_gives_the_same_numbers() -> None:
    counts = {"a": (18, 42), "b": (33, 37), "c": (20, 20)}
    results = [
        fs.disparate_impact(counts=counts, method="bootstrap", rng=np.random.default_rng(4))
        for _ in range(2)
    ]
    np.testing.assert_array_equal(numbers(results[0]), numbers(results[1]))


def test_inputs_are_not_changed() -> None:
    y = np.array([1, 0, 1, 0])
    p = np.array([1.0, 1.0, 0.0, 0.0])
    g = np.array(list("aabb"))
    weight = np.array([1.0, 2.0, 3.0, 4.0])
    before = [v.copy() for v in (y, p, g, weight)]
    for v in (y, p, g, weight):
        v.flags.writeable = False
    fs.equalized_odds_difference(y, p, sensitive_features=g, sample_weight=weight)
    for v, w in zip((y, p, g, weight), before, strict=True):
        np.testing.assert_array_equal(v, w)
