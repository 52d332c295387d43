"""The switch to exact tests: the score's family-wise error where it decides.

Witness: enumeration.
"""

from __future__ import annotations

import json

import pytest

from fairstats.numerics.rates.switch import needs_exact
from tests.calibration.exact_search import RESULTS, by_score, search, settings, worst


def test_where_the_score_decides_a_family_errs_in_at_most_055() -> None:
    """A small part of the search.

    Two groups of sizes beside two references, families of 1 and 12.
    """
    records = search(settings({500: (350,), 5_000: (900, 2_500)}, families=(1, 12)))
    decided = by_score(records)
    assert 0.1 * len(records) < len(decided) < 0.9 * len(records)
    assert worst(decided, 1)[0]["of family"] <= 0.055
    assert worst(records, 1)[0]["of family"] > 0.08


def test_the_recorded_search_is_what_the_docstring_quotes() -> None:
    record = json.loads(RESULTS.read_text(encoding="utf-8"))
    told = needs_exact.__doc__ or ""
    for key in ("worst by the score alone", "worst where the score decides"):
        value = max(entry["of family"] for entry in record[key])
        assert f"{value:.3f}".removeprefix("0") in told
    assert record["worst where the score decides"][0]["of family"] <= 0.055


@pytest.mark.parametrize(
    ("n", "n0", "rate", "groups"),
    [(52, 5_000, 0.985, 1), (450, 20_000, 0.9, 12), (18, 5_000, 0.5, 1), (30, 30, 0.4, 10)],
)
def test_former_failures_are_exact(n: int, n0: int, rate: float, groups: int) -> None:
    """METHODS §7: .069, .074, .092 and .33 of families had a false finding by the score."""
    assert needs_exact(n, n0, n * min(rate, 1 - rate), 0.05 / groups)


def test_more_cases_need_less_and_more_groups_need_more() -> None:
    assert not needs_exact(5_000, 20_000, 2_000, 0.05 / 20)
    assert needs_exact(5_000, 20_000, 100, 0.05 / 20)
    assert not needs_exact(5_000, 5_000, 100, 0.05)
    assert needs_exact(5_000, 500_000, 100, 0.05)
