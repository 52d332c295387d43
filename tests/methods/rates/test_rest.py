"""Each group against all other rows.

Witness: the comparison of two groups, the group and everybody else, made by hand.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fairstats as fs

COUNTS = {"north": (40, 12, 10, 38), "south": (30, 10, 20, 40), "west": (18, 9, 3, 12)}


def by_hand(name: str) -> dict[str, tuple[int, ...]]:
    """The group and all others."""
    others = [cells for other, cells in COUNTS.items() if other != name]
    return {name: COUNTS[name], "others": tuple(np.sum(others, axis=0).tolist())}


CASES: dict[str, dict[str, Any]] = {
    "disparate_impact": {},
    "conditional_accuracy": {},
    "demographic_parity_difference": {},
    "equal_opportunity_difference": {"margin": 0.05},
    "average_odds_difference": {},
    "group_metric": {"metric": "f1"},
}


@pytest.mark.parametrize("name", CASES)
def test_each_comparison_is_that_of_two_groups(name: str) -> None:
    function = getattr(fs, name)
    result = function(counts=COUNTS, comparisons="rest", adjust="none", **CASES[name])
    assert [row.group for row in result.comparisons] == sorted(
        COUNTS, key=[row.group for row in result.comparisons].index
    )
    for row in result.comparisons:
        alone = function(counts=by_hand(row.group), reference="others", **CASES[name])
        (expected,) = alone.comparisons
        assert row.reference == f"all but {row.group}"
        for field in ("estimate", "std_error", "pvalue", "pvalue_verdict", "rate_reference"):
            assert getattr(row, field) == pytest.approx(getattr(expected, field), nan_ok=True)
        assert tuple(row.confidence_interval) == pytest.approx(tuple(expected.confidence_interval))
        assert row.verdict == expected.verdict
        assert row.n_reference == expected.n_reference


def test_the_family_is_all_groups() -> None:
    result = fs.disparate_impact(counts=COUNTS, comparisons="rest", adjust="bonferroni")
    for row in result.comparisons:
        assert row.pvalue_adjusted == pytest.approx(min(3 * row.pvalue, 1))
    assert "Each group is compared with all other rows." in result.notes()
    assert "Reference" not in result.summary()
    assert fs.results.Result.from_dict(result.to_dict()).to_dict() == result.to_dict()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reference": "north"}, "reference"),
        ({"simultaneous": "max-z"}, "bonferroni"),
    ],
)
def test_what_it_does_not_go_with(options: dict[str, Any], message: str) -> None:
    with pytest.raises(fs.InputError, match=message):
        fs.disparate_impact(
            [1, 0, 1, 0], sensitive_features=["a", "a", "b", "b"], comparisons="rest", **options
        )


def test_worst_cases_and_areas_are_refused() -> None:
    rng = np.random.default_rng(1)
    hired, group = rng.integers(0, 2, 300), rng.choice(["a", "b", "c"], 300)
    result = fs.disparate_impact(hired, sensitive_features=group, comparisons="rest")
    with pytest.raises(fs.InputError, match="'rest'"):
        result.worst_case_bounds()
    with pytest.raises(fs.InputError, match="comparisons"):
        fs.abroca(hired, rng.random(300), sensitive_features=group, comparisons="rest")  # type: ignore[arg-type]


@pytest.mark.r
def test_every_number_is_recomputed_in_r() -> None:
    for result in (
        fs.disparate_impact(counts=COUNTS, comparisons="rest"),
        fs.equal_opportunity_difference(counts=COUNTS, comparisons="rest"),
    ):
        table = fs.crosscheck(result).to_frame()
        assert len(table) > 50
        assert set(table["verdict"]) == {"agrees"}
