"""The exact tests of R and Python.

One ordering, one nuisance interval, one search, one switch (live R).
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from fairstats.ground.rsession import call
from fairstats.numerics.rates.exact import exact_interval, exact_limits, exact_pvalue
from fairstats.numerics.rates.search import STEP, to_scale
from fairstats.numerics.rates.switch import needs_exact

pytestmark = pytest.mark.r
TABLES = (
    (3, 12, 8, 15),
    (1, 1, 0, 300),
    (0, 3, 380, 400),
    (9, 9, 3, 10),
    (30, 40, 6, 9),
    (5, 12, 5, 12),
)
NULLS = {"ratio": (0.8, 1.0, 1.25), "difference": (-0.1, 0.0, 0.1)}


@pytest.mark.parametrize("contrast", ["ratio", "difference"])
@pytest.mark.parametrize("table", TABLES, ids=str)
def test_p_values(table: tuple[int, int, int, int], contrast: Any) -> None:
    """To 2e-6 of the p-value: R maximises by `optimize` where Python interpolates between nuisance
    rates.
    """
    for null, alternative in product(NULLS[contrast], ("less", "greater", "two-sided")):
        here = exact_pvalue(*table, contrast=contrast, null=null, alternative=alternative)
        there = call("exact_pvalue", *table, contrast, null, alternative)
        assert here == pytest.approx(float(there), rel=2e-5, abs=2e-6)


@pytest.mark.parametrize("contrast", ["ratio", "difference"])
@pytest.mark.parametrize("table", TABLES[:4], ids=str)
def test_limits(table: tuple[int, int, int, int], contrast: Any) -> None:
    """To two steps of the search, on its scale."""
    fair = (0.8, 1.25) if contrast == "ratio" else (-0.1, 0.1)
    equal = 1.0 if contrast == "ratio" else 0.0
    here = exact_limits(*table, contrast=contrast, level=0.95, anchors=fair)
    there = call("exact_one_sided", np.array(table, float), contrast, np.array(fair), 0.05)
    compare(contrast, here, there)
    here = exact_interval(*table, contrast=contrast, confidence_level=0.95, equal=equal)
    there = call("exact_interval", *table, contrast, 0.95)
    compare(contrast, here, there)


@pytest.mark.parametrize(
    ("table", "level"),
    [((0, 6, 595, 700), 0.99), ((21, 21, 44, 1_300), 0.9999), ((14, 14, 28, 100), 0.5)],
    ids=str,
)
def test_two_sided_limits_of_groups_that_all_agree(
    table: tuple[int, int, int, int], level: float
) -> None:
    """The search stays on its side of the estimate."""
    here = exact_interval(*table, contrast="difference", confidence_level=level, equal=0.0)
    compare("difference", here, call("exact_interval", *table, "difference", level))


def compare(contrast: Any, here: tuple[float, float], there: Any) -> None:
    for own, other in zip(here, np.asarray(there, float).tolist(), strict=True):
        if own in (0.0, np.inf, -1.0, 1.0):
            assert other == own
        else:
            assert to_scale(contrast, own) == pytest.approx(to_scale(contrast, other), abs=2 * STEP)


def test_the_switch() -> None:
    for n, n0, expected, error in product(
        (5, 52, 500, 5_000), (500, 20_000), (2.0, 60.0, 130.0, 700.0), (0.05, 0.0025)
    ):
        there = call("needs_exact", n, n0, expected, error)
        assert bool(np.asarray(there).item()) == needs_exact(n, n0, expected, error)
