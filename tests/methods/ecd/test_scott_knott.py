"""Scott–Knott ranks: separated groups, ties, size under equality; Cliff's delta by brute force."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairstats as fs
from fairstats.methods.ecd.scott_knott import _best_cut, _bootstrap_cut, _pooled_cut, cliffs_delta


def runs(means: dict[str, float], n: int = 30, seed: int = 1) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {name: rng.normal(mean, 0.02, n) for name, mean in means.items()}


def test_ranks_wins_ties_losses() -> None:
    found = fs.scott_knott(runs({"a": 0.1, "b": 0.3, "c": 0.1, "d": 0.2}), rng=1)
    ranks = {t.name: (t.rank, t.wins, t.ties, t.losses) for t in found.treatments}
    assert ranks == {"a": (1, 2, 1, 0), "c": (1, 2, 1, 0), "d": (2, 1, 0, 2), "b": (3, 0, 0, 3)}


def test_larger_is_better() -> None:
    found = fs.scott_knott(runs({"a": 0.1, "b": 0.3}), larger_is_better=True, rng=1)
    assert [(t.name, t.rank) for t in found.treatments] == [("b", 1), ("a", 2)]


def test_a_negligible_effect_is_no_split() -> None:
    """Many runs make a small difference significant.

    Cliff's delta .1 is negligible (Romano et al. 2006).
    """
    found = fs.scott_knott(runs({"a": 0.1, "b": 0.1035}, n=3000), rng=1)
    assert {t.rank for t in found.treatments} == {1}
    split = fs.scott_knott(runs({"a": 0.1, "b": 0.1035}, n=3000), least_effect=0, rng=1)
    assert {t.rank for t in split.treatments} == {1, 2}


@pytest.mark.parametrize(("names", "n"), [("ab", 15), ("abcdefgh", 30)])
def test_equal_treatments_are_rarely_split(names: str, n: int) -> None:
    """At most 5% plus three binomial standard errors of 200 samples; eight were split in 59% when
    the test did not know that the split was chosen."""
    alike = dict.fromkeys(names, 0.0)
    split = sum(
        len({t.rank for t in fs.scott_knott(runs(alike, n, s), n_resamples=99, rng=s).treatments})
        > 1
        for s in range(200)
    )
    assert split / 200 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 200)


def test_the_cut_and_its_statistic_by_brute_force() -> None:
    """Welch's t by SciPy between the parts whose sum of squares between is largest, at unequal
    sizes.
    """
    from scipy.stats import ttest_ind

    rng = np.random.default_rng(4)
    values = sorted((rng.normal(k % 3, 1 + k, 5 + 2 * k) for k in range(5)), key=np.mean)
    rows = np.array([(v.mean(), v.var() * v.size, v.size) for v in values])
    cut, t = _best_cut(*rows.T)
    parts = [(np.concatenate(values[:c]), np.concatenate(values[c:])) for c in range(1, 5)]
    mean = np.concatenate(values).mean()
    between = [sum(part.size * (part.mean() - mean) ** 2 for part in pair) for pair in parts]
    assert cut == 1 + int(np.argmax(between))
    assert t == pytest.approx(
        abs(ttest_ind(*parts[int(cut) - 1], equal_var=False).statistic), rel=1e-10
    )


def test_the_least_p_value_is_that_of_no_draw_as_far() -> None:
    """(1 + 0)/(B + 1) (Davison and Hinkley 1997, equation 4.11) where the treatments are far
    apart.
    """
    values = list(runs({"a": 0.0, "b": 9.0}).values())
    assert _bootstrap_cut(values, 99, np.random.default_rng(1)) == (1, 0.01)


def test_cliffs_delta_by_brute_force() -> None:
    rng = np.random.default_rng(2)
    a = rng.integers(0, 6, 40)
    b = rng.integers(1, 7, 30)
    wanted = np.sign(a[:, None].astype(int) - b[None, :]).mean()
    assert cliffs_delta(a, b) == pytest.approx(wanted, abs=1e-15)


def test_what_it_says() -> None:
    """By hand: one sentence for each rank, and the error and the least effect as they were set."""
    found = fs.scott_knott(
        runs({"a": 0.1, "b": 0.3, "c": 0.1, "d": 0.2}),
        rng=1,
        confidence_level=0.9,
        least_effect=0.33,
    )
    assert found.sentences() == [
        "Rank 1: a, c.",
        "Rank 2: d.",
        "Rank 3: b.",
    ] or found.sentences() == ["Rank 1: c, a.", "Rank 2: d.", "Rank 3: b."]
    assert (
        "Cliff's delta of at least 0.33; any split among alike treatments has the error 0.1."
        in found.notes()[0]
    )
    best = found.treatments[0]
    given = runs({"a": 0.1, "b": 0.3, "c": 0.1, "d": 0.2})[best.name]
    assert (best.mean, best.std, best.n) == pytest.approx((given.mean(), given.std(ddof=1), 30))
    row = found.comparisons[0]
    assert (row.group, row.std_error, row.n) == (
        best.name,
        pytest.approx(best.std / np.sqrt(30)),
        30,
    )
    assert found["d"].rank == 2
    with pytest.raises(fs.InputError, match="`name`"):
        found["z"]


def test_the_level_of_a_split_is_ryans(monkeypatch: pytest.MonkeyPatch) -> None:
    """m of k treatments are split at p ≤ 1 − (1 − α)^(m/k), for k = 3 and α = .05.

    .05, and .0336 for two.
    """
    from fairstats.methods.ecd import scott_knott as module

    three = {"a": [0.0, 0.1], "b": [1.0, 1.1], "c": [5.0, 5.1]}
    for first, second, ranks in (
        (0.05, 0.0336, [1, 2, 3]),
        (0.05, 0.0337, [1, 1, 2]),
        (0.0501, 0.0, [1, 1, 1]),
    ):
        pvalues = iter([first, second])
        monkeypatch.setattr(
            module, "_bootstrap_cut", lambda values, *_, p=pvalues: (len(values) - 1, next(p))
        )
        assert [t.rank for t in fs.scott_knott(three, rng=1).treatments] == ranks


def test_a_split_of_no_spread_and_the_least_effect() -> None:
    """Cliff's delta of one half: a split at least effects up to that, the end included."""
    a = [0.0, 0.0, 1.0, 1.0] * 30
    b = [1.0, 1.0, 1.0, 1.0] * 30
    for least, ranks in ((0.5, 2), (0.51, 1)):
        found = fs.scott_knott({"a": a, "b": b}, least_effect=least, rng=1)
        assert len({t.rank for t in found.treatments}) == ranks


def test_table_and_json() -> None:
    found = fs.scott_knott(runs({"a": 0.1, "b": 0.3}), rng=1)
    assert list(found.to_frame()["rank"]) == [1, 2]
    pd.testing.assert_frame_equal(
        fs.results.ScottKnott.from_dict(found.to_dict()).to_frame(), found.to_frame()
    )


@pytest.mark.parametrize(
    ("given", "change", "match"),
    [
        ({"a": [1, 2]}, {}, "1 treatments"),
        ({"a": [1, 2], "b": [1]}, {}, "b with fewer than two runs"),
        ({"a": [1, 2], "b": [1, np.nan]}, {}, "NaN"),
        ({"a": [1, 2], "b": [1, 3]}, {"confidence_level": 2}, "confidence_level"),
        ({"a": [1, 2], "b": [1, 3]}, {"n_resamples": 5}, "n_resamples"),
    ],
)
def test_bad_input(given: Any, change: Any, match: str) -> None:
    with pytest.raises(fs.InputError, match=match):
        fs.scott_knott(given, **change)


def test_the_pooled_test_of_two_treatments_is_t() -> None:
    """Witness: of two treatments B/s² is the square of Student's t (SciPy), at unequal runs."""
    from scipy.stats import ttest_ind

    rng = np.random.default_rng(5)
    values = sorted((rng.normal(shift, 1, n) for shift, n in ((0, 6), (0.9, 11))), key=np.mean)
    cut, pvalue = _pooled_cut(values, 20_000, rng)
    assert cut == 1
    assert pvalue == pytest.approx(ttest_ind(*values).pvalue, abs=4 * np.sqrt(0.25 / 20_000))


def test_the_pooled_test_of_all_alike_runs_splits_nothing() -> None:
    found = fs.scott_knott(
        {"a": [1.0, 1.0], "b": [1.0, 1.0], "c": [1.0, 1.0]}, method="pooled", rng=1
    )
    assert {t.rank for t in found.treatments} == {1}
    apart = fs.scott_knott({"a": [1.0, 1.0], "b": [2.0, 2.0]}, method="pooled", rng=1)
    assert {t.rank for t in apart.treatments} == {1, 2}


def test_twenty_treatments_of_five_runs() -> None:
    """D18: two of twenty lie two standard deviations apart.

    The classical test splits 56 of 60, the bootstrap 44.
    """
    found = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        given = {str(k): rng.normal(2.0 * (k >= 18), 1.0, 5) for k in range(20)}
        ranks = fs.scott_knott(given, method="pooled", n_resamples=199, rng=seed).treatments
        found += len({t.rank for t in ranks}) > 1
    assert found >= 54


@pytest.mark.parametrize(("k", "n"), [(3, 3), (20, 5)])
def test_alike_treatments_are_rarely_split_by_the_pooled_test(k: int, n: int) -> None:
    """At most 5% plus three binomial standard errors of 300 samples."""
    split = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        given = {str(j): rng.normal(size=n) for j in range(k)}
        ranks = fs.scott_knott(given, method="pooled", n_resamples=99, rng=seed).treatments
        split += len({t.rank for t in ranks}) > 1
    assert split / 300 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 300)
