"""Rows of changes, and changes of weighted rates: closed forms, and linearisation row by row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm, t

import fairstats as fs
from fairstats.ground.registry import METRICS
from fairstats.numerics.paired.change import Change, Found, ModelPair, finished
from fairstats.numerics.paired.score import Part, distance_limits

PAIR = ModelPair("new", "old")


def found(kind: str, at: float, error: float, total: float = 9.0, **given: Any) -> Found:
    """A change with a standard error, where the sum of both models' values has the same one."""
    change = Change(
        Part.normal(at, error), Part.normal(total, error), error, given.pop("df", np.inf)
    )
    before = 0.8 if kind == "ratio" else 0.3
    after = before * np.exp(at) if kind == "ratio" else before + at
    return Found(
        name="m",
        groups=("a", "b"),
        pair=PAIR,
        change=change,
        kind=kind,
        n=70,
        method="how",
        ends=(before, after),
        **given,
    )


@pytest.mark.parametrize("df", [np.inf, 9.0])
@pytest.mark.parametrize("kind", ["ratio", "difference"])
def test_a_row_of_a_change_in_closed_form(kind: str, df: float) -> None:
    """Normal or t intervals; standard errors and ends of ratios on their own scale."""
    at = -0.4
    error = 0.15
    (row,) = finished([found(kind, at, error, df=df)], 0.9, "holm")
    z = t(df).ppf(0.95) if np.isfinite(df) else norm.ppf(0.95)
    ends = np.array([at - z * error, at + z * error])
    ratio = kind == "ratio"
    assert row.metric == "m_change"
    assert (row.group, row.reference, row.model, row.baseline, row.n) == (
        "a",
        "b",
        "new",
        "old",
        70,
    )
    assert row.estimate == pytest.approx(np.exp(at) if ratio else at, rel=1e-12)
    assert row.std_error == pytest.approx(error * (np.exp(at) if ratio else 1.0), rel=1e-12)
    assert tuple(row.confidence_interval) == pytest.approx(
        tuple(np.exp(ends) if ratio else ends), rel=1e-9
    )
    assert row.simultaneous == row.confidence_interval
    assert row.statistic == pytest.approx(at / error, rel=1e-9)
    p = 2 * (t(df).sf(0.4 / 0.15) if np.isfinite(df) else norm.sf(0.4 / 0.15))
    assert row.pvalue == pytest.approx(p, rel=1e-9)
    assert row.pvalue_adjusted == row.pvalue
    sizes = np.abs(np.log([row.before, row.after]) if ratio else [row.before, row.after])
    assert row.distance_change == pytest.approx(sizes[1] - sizes[0], rel=1e-12)
    total = (9.0 - z * error, 9.0 + z * error)
    assert tuple(row.distance_interval) == pytest.approx(
        distance_limits(tuple(ends), total), rel=1e-9
    )
    assert row.verdict == "closer to parity"


@pytest.mark.parametrize(
    ("kind", "at", "total", "verdict"),
    [
        ("difference", 0.4, 9.0, "further from parity"),
        ("difference", 0.4, -9.0, "closer to parity"),
        ("difference", 0.4, 0.1, "undecided"),
        ("ratio", 0.4, 9.0, "further from parity"),
        ("size", 0.4, -9.0, "further from parity"),
        ("size", -0.4, -9.0, "closer to parity"),
        ("better", 0.4, 9.0, "better"),
        ("better", -0.4, 9.0, "worse"),
        ("worse", 0.4, 9.0, "worse"),
        ("worse", -0.4, 9.0, "better"),
        ("better", 0.2, 9.0, "undecided"),
        ("size", -0.2, 9.0, "undecided"),
    ],
)
def test_what_a_change_is_called(kind: str, at: float, total: float, verdict: str) -> None:
    """Of signed values the sum says on which side of parity both lie.

    Sizes and scores have one direction.
    """
    (row,) = finished([found(kind, at, 0.15, total)], 0.95, "holm")
    assert row.verdict == verdict


@pytest.mark.parametrize(
    ("adjust", "chosen", "judged"),
    [("holm", 1.0, 3), ("none", 1.0, 1), ("none", 2.0, 6), ("holm", 2.0, 6)],
)
def test_levels_of_a_family_of_changes(adjust: str, chosen: float, judged: int) -> None:
    """Bonferroni over three changes, or six that the data chose from; Holm's p-values by hand.

    A size of .1 with error .045 is shown at 95% alone (z = 2.22), not over three (2.39).
    """
    family = [found("size", at, 0.045) for at in (0.1, -0.2, 0.05)]
    rows = finished(family, 0.95, adjust, chosen)
    count = 3 * chosen
    for row, at in zip(rows, (0.1, -0.2, 0.05), strict=True):
        alone, wide = (
            at + np.array([-z, z]) * 0.045 for z in (norm.ppf(0.975), norm.ppf(1 - 0.025 / count))
        )
        far = at + np.array([-1, 1]) * norm.ppf(1 - 0.025 / judged) * 0.045
        assert tuple(row.simultaneous) == pytest.approx(tuple(wide), rel=1e-9)
        assert tuple(row.confidence_interval) == pytest.approx(
            tuple(wide if chosen > 1 else alone), rel=1e-9
        )
        assert tuple(row.distance_interval) == pytest.approx(tuple(far), rel=1e-9)
    p = 2 * norm.sf(np.abs([0.1, -0.2, 0.05]) / 0.045)
    wanted = {
        ("holm", 1.0): [max(2 * p[0], 3 * p[1]), 3 * p[1], max(2 * p[0], p[2])],
        ("none", 1.0): list(p),
    }.get((adjust, chosen), np.minimum(6 * p, 1.0).tolist())
    assert [row.pvalue_adjusted for row in rows] == pytest.approx(wanted, rel=1e-9)
    alone = "further from parity" if judged == 1 else "undecided"
    assert [row.verdict for row in rows] == [alone, "closer to parity", "undecided"]


def test_ends_stay_where_values_can_be() -> None:
    """Differences of differences lie within ±2, ratios above 0; an open interval is no evidence."""
    (row,) = finished([found("difference", 1.5, 2.0)], 0.95, "holm")
    assert tuple(row.confidence_interval) == (-2.0, 2.0)
    whole = Change(
        Part(0.0, lambda z: -np.inf, lambda z: np.inf), Part.normal(0.0, 1.0), np.nan, note="why"
    )
    open_ = Found("m", ("a",), PAIR, whole, "ratio", 5, "how", (0.5, 0.5))
    (row,) = finished([open_], 0.95, "holm")
    assert (tuple(row.confidence_interval), row.verdict, row.note) == (
        (0.0, np.inf),
        "insufficient evidence",
        "why",
    )
    assert (row.group, row.reference) == ("a", "")
    for kind, ends in (("ratio", (0.0, np.inf)), ("size", (-np.inf, np.inf))):
        lacking = Found("m", ("a", "b"), PAIR, "no cases.", kind, 5, "how", (0.5, 0.25))
        (row,) = finished([lacking], 0.95, "holm")
        assert (row.verdict, row.note) == ("insufficient evidence", "no cases.")
        assert tuple(row.confidence_interval) == tuple(row.simultaneous) == ends
        assert tuple(row.distance_interval) == (-np.inf, np.inf)
        assert row.estimate == (0.5 if kind == "ratio" else -0.25)
        assert row.distance_change == pytest.approx(np.log(2) if kind == "ratio" else -0.25)


def selection(y: Any, p: Any) -> tuple[Any, Any]:
    """Successes and cases of each row."""
    return p == 1, np.ones(y.size, dtype=bool)


def tpr(y: Any, p: Any) -> tuple[Any, Any]:
    """True positives among positives."""
    return (p == 1) & (y == 1), y == 1


def fpr(y: Any, p: Any) -> tuple[Any, Any]:
    """False positives among negatives."""
    return (p == 1) & (y == 0), y == 0


def ppv(y: Any, p: Any) -> tuple[Any, Any]:
    """True positives among predicted ones."""
    return (p == 1) & (y == 1), p == 1


@pytest.mark.parametrize("design", ["weights", "clusters", "both"])
@pytest.mark.parametrize(
    ("metric", "parts"),
    [
        ("disparate_impact", [selection]),
        ("conditional_accuracy_1", [tpr]),
        ("predictive_parity_difference", [ppv]),
        ("average_odds_difference", [tpr, fpr]),
    ],
)
def test_a_weighted_change_by_linearisation_of_rows(
    metric: str, parts: list[Callable[[Any, Any], tuple[Any, Any]]], design: str
) -> None:
    """Each row's share in the change, w(s − r·c)/Σwc of either model, added up by unit over both
    groups.

    Standard error √(U/(U − 1)·Σ(u_b − u_a)²). Interval: of the sums alone, each group's wider by
    1/(1 − 2/m), m = (Σd)²/Σd² of the cases of either model (of a mean those of the poorer part),
    Satterthwaite's t with m − 1. The limits of the distance take the sum of both models the same
    way."""
    rng = np.random.default_rng(11)
    n = 1_200
    unit = rng.permutation(n) // 3 if design != "weights" else np.arange(n)
    shift = rng.normal(0, 0.2, n)[unit]
    group = np.where(rng.random(n) < 0.4, "b", "a")
    y = (rng.random(n) < 0.5 + shift).astype(int)
    a = (rng.random(n) < 0.35 + 0.25 * y + shift - 0.1 * (group == "b")).astype(int)
    b = np.where(rng.random(n) < 0.25, (rng.random(n) < 0.6).astype(int), a)
    w = rng.uniform(0.5, 2.0, n) if design != "clusters" else np.ones(n)
    options: dict[str, Any] = {"sample_weight": w} if design != "clusters" else {}
    options |= {"cluster": unit} if design != "weights" else {}
    (c,) = fs.compare_models(
        y, a, b, sensitive_features=group, reference="a", metrics=metric, **options
    ).comparisons
    ratio = METRICS[metric].contrast == "ratio"
    factor = (unit.max() + 1) / unit.max()
    shares: dict[Any, np.ndarray] = {}
    values = np.zeros((2, 2))
    worth = {}
    for k, g in enumerate("ba"):
        own = group == g
        fewest = np.inf
        for model, p in enumerate((a, b)):
            total = np.zeros(n)
            for part in parts:
                success, cases = part(y, p)
                weight = w * own * cases
                rate = weight @ success / weight.sum()
                values[model, k] += rate / len(parts)
                total += (
                    weight * (success - rate) / weight.sum() / len(parts) / (rate if ratio else 1.0)
                )
            shares[model, g] = np.bincount(unit, total)
        for part in parts:
            d = np.bincount(unit, w * own * (part(y, a)[1] | part(y, b)[1]))
            fewest = min(fewest, d.sum() ** 2 / (d @ d))
        worth[g] = fewest
    values = np.log(values) if ratio else values
    estimate = values[1, 0] - values[0, 0] - values[1, 1] + values[0, 1]
    spread = {}
    for sign in (-1, 1):
        moved = {g: shares[1, g] + sign * shares[0, g] for g in "ba"}
        spread[sign] = np.sqrt(factor * np.sum((moved["b"] - moved["a"]) ** 2))
        if sign < 0:
            own_variance = {g: factor * np.sum(moved[g] ** 2) for g in "ba"}
    together = sum(own_variance.values())
    wider = sum(own_variance[g] / ((1 - 2 / worth[g]) * factor) for g in "ba") / together
    df = together**2 / sum(own_variance[g] ** 2 / (worth[g] - 1) for g in "ba")
    reach = t(df).ppf(0.975) * np.sqrt(wider)
    shift_ends = estimate - reach * spread[-1], estimate + reach * spread[-1]
    total = values[1, 0] + values[0, 0] - values[1, 1] - values[0, 1]
    total_ends = total - reach * spread[1], total + reach * spread[1]
    scale = np.exp(estimate) if ratio else 1.0
    assert c.estimate == pytest.approx(np.exp(estimate) if ratio else estimate, rel=1e-9)
    assert c.std_error == pytest.approx(spread[-1] * scale, rel=1e-9)
    assert tuple(c.confidence_interval) == pytest.approx(
        tuple(np.exp(shift_ends)) if ratio else shift_ends, rel=1e-9
    )
    assert c.pvalue == pytest.approx(
        2 * t(df).sf(abs(estimate) / (np.sqrt(wider) * spread[-1])), rel=1e-6, abs=1e-12
    )
    assert tuple(c.distance_interval) == pytest.approx(
        distance_limits(shift_ends, total_ends), rel=1e-9
    )
    ends = (values[0, 0] - values[0, 1], values[1, 0] - values[1, 1])
    assert (c.before, c.after) == pytest.approx(tuple(np.exp(ends)) if ratio else ends, rel=1e-9)
    assert c.method == "log or plain scale, linearised, Satterthwaite"
