"""Each p-value is below α exactly where its own limits exclude its null value, whatever the method.

The witness of a test is the interval that is printed beside it, and of a verdict the one-sided
limits. Tables are random and of all sizes: groups of 1 to 4,000 rows, empty cells among them, one
reference beside many groups. p-values within 1e-7 of α are left out: limits are roots, known to
1e-8 or so."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import fairstats as fs

RATIO = (fs.disparate_impact, "ratio")
DIFFERENCE = (fs.demographic_parity_difference, "difference")
ODDS = (fs.average_odds_difference, "difference")
#: Settings that the tables are judged under, in turn.
LEVELS = (0.95, 0.8, 0.99, 0.9)
ALTERNATIVES = ("two-sided", "less", "greater")
SIZES = {"ratio": (0.8, 0.9, 0.3, 0.95, 1.0), "difference": (0.1, 0.05, 0.01, 0.3)}


class Seen(NamedTuple):
    """Comparisons that had an answer, and those whose verdict is by exact tests."""

    answered: int = 0
    exact: int = 0


@pytest.fixture(autouse=True)
def _small_cells_are_wanted() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fs.FairstatsWarning)
        yield


def settings_of(k: int, contrast: str) -> dict[str, Any]:
    size = SIZES[contrast][k % len(SIZES[contrast])]
    return {
        "confidence_level": LEVELS[k % 4],
        "alternative": ALTERNATIVES[k % 3],
        "adjust": "none",
        ("threshold" if contrast == "ratio" else "margin"): size,
    }


def check(result: Any, contrast: str) -> Seen:
    """Assert the law for every comparison."""
    settings = result.settings
    exact = 0
    answered = 0
    alpha = 1 - settings.confidence_level
    null = settings._null_values(contrast)[settings.alternative]
    least, most = settings._fair_range(contrast)
    for c in result.comparisons:
        if c.verdict == "insufficient evidence":
            continue
        answered += 1
        exact += c.bounds.method.startswith("exact")
        low, high = c.confidence_interval
        excluded = {
            "two-sided": not low <= null <= high,
            "less": high < null,
            "greater": low > null,
        }
        if abs(c.pvalue - alpha) > 1e-7:
            assert (c.pvalue < alpha) == excluded[settings.alternative], (c, settings)
        low, high = c.bounds
        shown = {"below": high < least, "above": low > most, "inside": least < low and high < most}
        if abs(c.pvalue_verdict - alpha) > 1e-7:
            assert (c.pvalue_verdict < alpha) == any(shown.values()), (c, settings)
            assert not c.pvalue_verdict < alpha or shown[c.direction], (c, settings)
    return Seen(answered, exact)


def table(rng: np.random.Generator, groups: int, cells: int, smallest: int = 1) -> dict[str, Any]:
    """Counts of groups of very different sizes and rates."""
    counts = {}
    for g in range(groups):
        n = (
            int(rng.choice([smallest + 9, 40, 400, 4_000]))
            if g
            else int(rng.choice([60, 600, 6_000]))
        )
        counts[f"g{g}"] = rng.multinomial(n, rng.dirichlet(np.full(cells, 0.7))).tolist()
    return counts


CASES = [
    *((RATIO, 2, m) for m in ("score", "koopman", "log", "delta")),
    *((DIFFERENCE, 2, m) for m in ("score", "mee", "delta")),
    *((ODDS, 4, m) for m in ("score", "mee", "delta")),
]


@pytest.mark.parametrize(("which", "cells", "method"), CASES)
def test_counts(which: tuple[Callable[..., Any], str], cells: int, method: str) -> None:
    """600 tables of each method (of means of rates 300).

    One or thirty groups beside a reference.
    """
    function, contrast = which
    rng = np.random.default_rng(21)
    answered = 0
    several = [31] * 12 + [2] * 240
    for k, groups in enumerate(several[:: cells // 2]):
        counts = table(
            rng, groups, cells, smallest=1 if method in ("score", "koopman", "mee") else 30
        )
        with _no_exact_tests():
            result = function(
                counts=counts, reference="g0", method=method, **settings_of(k, contrast)
            )
        answered += check(result, contrast).answered
    assert answered > 400 / (cells // 2) - 100


def _no_exact_tests() -> Any:
    """The exact tests cost a hundred times the rest, and have a test of their own below."""
    from unittest import mock

    return mock.patch("fairstats.methods.rates.decision.needs_exact", return_value=False)


@pytest.mark.parametrize("which", [RATIO, DIFFERENCE])
def test_rows_judged_by_exact_tests(which: tuple[Callable[..., Any], str]) -> None:
    """Default settings, groups of 3 to 30 rows beside 25 to 300.

    Verdicts by exact tests among them.
    """
    function, contrast = which
    rng = np.random.default_rng(22)
    exact = 0
    for k in range(32):
        n = rng.integers((25, 3), (300, 30))
        rate = rng.uniform(0.05, 0.95)
        k1, k0 = rng.binomial(n, [rate, rate * rng.choice([0.2, 0.5, 1.0])]).tolist()
        counts = {"a": (k1, int(n[0]) - k1), "b": (k0, int(n[1]) - k0)}
        result = function(counts=counts, reference="a", **settings_of(k, contrast))
        exact += check(result, contrast).exact
    assert exact > 8


@pytest.mark.parametrize("metric", ["f1", "mcc", "balanced_accuracy", "false_omission_rate"])
@pytest.mark.parametrize("contrast", ["difference", "ratio"])
def test_functions_of_the_counts(metric: str, contrast: str) -> None:
    """The delta method, MOVER and score by way of `group_metric`."""
    rng = np.random.default_rng(23)
    answered = 0
    for k in range(12):
        counts = {f"g{g}": rng.integers(15, 400, 4).tolist() for g in range(4)}
        if metric == "mcc":  # above 0 in every group, as a ratio needs
            counts = {g: (tp + 400, fp, fn, tn + 400) for g, (tp, fp, fn, tn) in counts.items()}
        method = ("delta", "score")[k % 2]
        result = fs.group_metric(
            metric=metric,
            contrast=contrast,
            method=method,
            counts=counts,
            reference="g0",
            **settings_of(k, contrast),
        )
        answered += check(result, contrast).answered
    assert answered == 36


DESIGNS = [
    *(
        (w, m, d)
        for w, m in ((RATIO, "log"), (RATIO, "delta"), (DIFFERENCE, "delta"))
        for d in ("w", "c", "wc")
    ),
    (RATIO, "score", "w"),  # the score method takes no clusters
]


@pytest.mark.parametrize(("which", "method", "design"), DESIGNS)
def test_weights_and_clusters(
    which: tuple[Callable[..., Any], str], method: str, design: str
) -> None:
    """t with the degrees of freedom of each contrast."""
    function, contrast = which
    rng = np.random.default_rng(24)
    answered = 0
    for k in range(12):
        n = 2_400
        group = rng.integers(0, 6, n)
        y = rng.random(n) < np.linspace(0.3, 0.7, 6)[group]
        options: dict[str, Any] = {}
        if "w" in design:
            options["sample_weight"] = rng.lognormal(0, 0.6, n)
        if "c" in design:
            options["cluster"] = rng.integers(0, 150, n)
        result = function(
            y_pred=y,
            sensitive_features=group,
            reference=0,
            method=method,
            **options,
            **settings_of(k, contrast),
        )
        answered += check(result, contrast).answered
    assert answered > 40


@pytest.mark.parametrize(
    "function",
    [fs.demographic_parity_difference, fs.equalized_odds_difference, fs.average_odds_difference],
)
def test_largest_gaps(function: Callable[..., Any]) -> None:
    """The simultaneous band: at 0 for the p-value, at the margin for the verdict."""
    rng = np.random.default_rng(25)
    for k in range(20):
        settings = {"confidence_level": LEVELS[k % 4], "margin": SIZES["difference"][k % 4]}
        counts = {f"g{g}": rng.integers(1, (15, 400)[k % 2], 4).tolist() for g in range(2 + k % 4)}
        (c,) = (result := function(counts=counts, agg="max", **settings)).comparisons
        alpha, (low, high) = 1 - settings["confidence_level"], c.bounds
        if abs(c.pvalue - alpha) > 1e-7:
            assert (c.pvalue < alpha) == (result.confidence_interval.low > 0)
        decided = low > settings["margin"] or high < settings["margin"]
        if abs(c.pvalue_verdict - alpha) > 1e-7:
            assert (c.pvalue_verdict < alpha) == decided


def test_strata() -> None:
    """Mantel–Haenszel ratios."""
    rng = np.random.default_rng(26)
    for k in range(12):
        n = 600
        strata = rng.integers(0, 4, n)
        group = rng.integers(0, 4, n)
        y = rng.random(n) < 0.2 + 0.15 * strata + 0.05 * group
        settings = settings_of(k, "ratio")
        result = fs.disparate_impact(
            y, sensitive_features=group, strata=strata, reference=0, **settings
        ).stratified
        assert check(result, "ratio").answered == 3
