"""Selection by error and fairness; ranks of rules.

Witnesses: the average ranks printed in the paper's Table 1(a), from the accuracies printed there;
Demšar's (2006) table of critical values and his worked example."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import fairstats as fs
from fairstats.ground.errors import InputError
from fairstats.methods.hfm.selection import RankingResult

RULES = ["Accuracy", "DP", "EO", "PQP", "DR", "df", "df hat"]
#: Table 1(a), test accuracy in percent.
TABLE_1A = [
    [98.2609, 91.3043, 98.2609, 98.2609, 90.4348, 98.2609, 98.2609],
    [68.5000, 70.0000, 68.5000, 68.5000, 70.0000, 72.5000, 72.4000],
    [68.5000, 70.0000, 68.5000, 68.5000, 70.0000, 71.0000, 72.4000],
    [81.7642, 83.4356, 83.4488, 84.7156, 83.4356, 84.7621, 84.7156],
    [81.7642, 83.4654, 83.2797, 84.5863, 83.4356, 84.7156, 81.1574],
    [62.2565, 46.8669, 62.1104, 62.1104, 59.4318, 63.7175, 59.4318],
    [62.2565, 46.8669, 62.2565, 62.1104, 65.0162, 62.2565, 66.3636],
    [79.6005, 83.9451, 83.9451, 79.6005, 83.9451, 83.0462, 79.6005],
    [79.6005, 83.9451, 83.9451, 79.6005, 83.9451, 79.6005, 81.2235],
]
PRINTED_RANKS = [5.1111, 4.3889, 3.9444, 4.5556, 3.8889, 2.5556, 3.5556]


def test_ranks_of_the_papers_table_1a() -> None:
    result = fs.rank_rules(pd.DataFrame(TABLE_1A, columns=RULES))
    assert result.rules == tuple(RULES)
    assert result.ranks == pytest.approx(PRINTED_RANKS, abs=5e-5)
    assert result.to_frame().loc[0, "group"] == "df"


def test_the_papers_table_1a_gives_no_rejection() -> None:
    """Its figure 2(a) reports one at 5%.

    χ² by Demšar's formula with his correction for ties, and SciPy's.
    """
    from scipy.stats import chi2, friedmanchisquare, rankdata

    result = fs.rank_rules(pd.DataFrame(TABLE_1A, columns=RULES))
    n = 9
    k = 7
    ranks = rankdata(-np.array(TABLE_1A), axis=1)
    sizes = [np.unique(row, return_counts=True)[1] for row in ranks]
    ties = 1 - sum((s**3 - s).sum() for s in sizes) / (n * (k**3 - k))
    statistic = (
        12 * n / (k * (k + 1)) * ((ranks.mean(axis=0) ** 2).sum() - k * (k + 1) ** 2 / 4) / ties
    )
    assert result.statistic == pytest.approx(statistic, rel=1e-12)
    assert result.pvalue == pytest.approx(chi2.sf(statistic, k - 1), rel=1e-9)
    assert result.pvalue == pytest.approx(
        friedmanchisquare(*np.array(TABLE_1A).T).pvalue, rel=1e-12
    )
    assert result.pvalue == pytest.approx(0.196, abs=5e-4)
    assert result.critical_difference == pytest.approx(3.00, abs=5e-3)
    assert "none significantly behind" in result.sentences()[0]


@pytest.mark.parametrize(("k", "q"), [(3, 2.343), (4, 2.569), (7, 2.949), (10, 3.164)])
def test_critical_difference(k: int, q: float) -> None:
    """CD = q √(k(k+1)/6N), q of Demšar's Table 5 at 0.05."""
    scores = np.random.default_rng(k).random((12, k))
    found = fs.rank_rules(scores).critical_difference
    assert found == pytest.approx(q * math.sqrt(k * (k + 1) / (6 * 12)), rel=5e-4)


def test_friedman_by_its_closed_form() -> None:
    """Without ties: 12N/(k(k+1)) [ΣR² − k(k+1)²/4] (Demšar 2006, section 3.2.2)."""
    scores = np.random.default_rng(1).random((14, 4))
    result = fs.rank_rules(scores, larger_is_better=False)
    ranks = (np.argsort(np.argsort(scores, axis=1), axis=1) + 1).mean(axis=0)
    assert result.ranks == pytest.approx(ranks)
    statistic = 12 * 14 / (4 * 5) * ((ranks**2).sum() - 4 * 25 / 4)
    assert result.friedman.statistic == pytest.approx(statistic, rel=1e-9)


def test_nemenyi_agrees_with_the_critical_difference() -> None:
    result = fs.rank_rules(np.random.default_rng(2).random((30, 5)) + np.arange(5) * 0.2)
    ranks = np.array(result.ranks)
    p = np.array(result.pvalues)
    apart = np.abs(ranks[:, None] - ranks)
    assert ((apart > result.critical_difference) == (p < 0.05)).all()
    assert np.allclose(p, p.T)
    assert (np.diag(p) == 1).all()


def test_all_alike() -> None:
    result = fs.rank_rules(np.ones((4, 3)))
    assert (result.friedman.pvalue, result.ranks) == (1.0, (2.0, 2.0, 2.0))
    assert RankingResult.from_dict(result.to_dict()) == result
    assert "Nemenyi" in result.summary()


def test_plot() -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    result = fs.rank_rules(pd.DataFrame(TABLE_1A, columns=RULES))
    ax = result.plot()
    assert [line.get_xdata()[0] for line in ax.lines] == pytest.approx(list(result.ranks))


def test_selection() -> None:
    """By hand: 0.05·error + 0.95·|fairness|."""
    error = [0.10, 0.20, 0.15]
    fairness = [0.2, -0.05, 0.06]
    scores = [0.05 * e + 0.95 * abs(f) for e, f in zip(error, fairness, strict=True)]
    assert fs.select_model(error, fairness) == int(np.argmin(scores)) == 1
    assert fs.select_model(error, fairness, alpha=1) == 0
    assert fs.select_model([0.1, 0.3], [0.15, 0.0], alpha=0.5) == 0  # .125 against .15
    assert fs.select_model([0.1, 0.9], [np.inf, 0.5]) == 1
    assert fs.select_model([0.1, 0.9], [np.inf, 0.5], alpha=1) == 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"error": [0.1]}, "one value per model"),
        ({"error": [np.nan, 0.1]}, "error"),
        ({"fairness": ["a", "b"]}, "fairness"),
        ({"error": [], "fairness": []}, "error"),
        ({"alpha": 2}, "alpha"),
        ({"alpha": "x"}, "alpha"),
    ],
)
def test_bad_selection(change: dict, words: str) -> None:
    with pytest.raises(InputError, match=words):
        fs.select_model(**{"error": [0.1, 0.2], "fairness": [0.0, 0.1], **change})


@pytest.mark.parametrize(
    ("scores", "rules", "words"),
    [
        ([[1.0, 2.0]], None, "three rules"),
        ([[1.0, 2.0, np.nan]] * 2, None, "NaN"),
        ([[1.0, 2.0, 3.0]] * 2, ["a"], "1 names"),
    ],
)
def test_bad_ranking(scores: list, rules: list | None, words: str) -> None:
    with pytest.raises(InputError, match=words):
        fs.rank_rules(scores, rules=rules)
