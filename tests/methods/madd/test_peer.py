"""The authors' package, `maddlib` (PyPI, CC BY-NC 4.0): equal wherever it has no binning defect.

Its defect: ⌊1/h⌋ in floating point loses a bin for 70 of m = 1 … 1,000.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

import fairstats as fs
from fairstats.methods.madd.curve import stable_bandwidth

from .conftest import scored

MISSING = 'maddlib is not installed: pip install "fairstats[peers]"'
#: Numbers of bins at which ⌊1/(1/m)⌋ is m − 1.
LOST = [m for m in range(1, 1001) if int(np.floor(1 / (1 / m))) != m]


@pytest.fixture(scope="module")
def evaluation() -> ModuleType:
    return pytest.importorskip("maddlib.evaluation", reason=MISSING)


@pytest.fixture(scope="module")
def search() -> ModuleType:
    return pytest.importorskip("maddlib.optimal_bandwidth", reason=MISSING)


def both_curves(
    evaluation: ModuleType, n0: int, n1: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Ours and theirs for m = 1 … 1,000."""
    rows = scored(n0, n1, seed)
    ours = fs.madd_curve(rows.score, sensitive_features=rows.group, groups=[0, 1]).madd
    sides = {f"pred_proba_sf{g}": rows.score[rows.group == g] for g in (0, 1)}
    theirs = np.array([evaluation.MADD(1 / m, **sides) for m in range(1, 1001)])
    return ours, theirs


@pytest.mark.parametrize(("n0", "n1"), [(2_000, 2_000), (300, 5_000), (37, 20)])
def test_equal_at_every_m_without_the_defect(evaluation: ModuleType, n0: int, n1: int) -> None:
    ours, theirs = both_curves(evaluation, n0, n1, 3)
    sound = ~np.isin(np.arange(1, 1001), LOST)
    assert sound.sum() == 930
    assert np.abs(ours - theirs)[sound].max() < 1e-12


def test_the_peer_has_one_bin_too_few_at_70_numbers_of_bins(evaluation: ModuleType) -> None:
    """Its MADD there is ours with one bin fewer, up to .007 away from that with as many."""
    assert len(LOST) == 70
    assert LOST[:3] == [93, 99, 105]
    ours, theirs = both_curves(evaluation, 10_000, 10_000, 1)
    places = np.array(LOST) - 1
    assert np.abs(theirs[places] - ours[places - 1]).max() < 1e-12
    gap = np.abs(theirs - ours)[places]
    assert (gap > 0).all()
    assert 0.002 < gap.max() < 0.01


def test_a_score_on_an_edge(evaluation: ModuleType) -> None:
    """Its edges are k·(1/m), rounded twice: 0.7 falls below 7/10."""
    first = np.full(10, 0.7)
    second = np.full(10, 0.71)
    theirs = evaluation.MADD(0.1, pred_proba_sf0=first, pred_proba_sf1=second)
    curve = fs.madd_curve(
        np.concatenate([first, second]), sensitive_features=np.repeat([0, 1], 10), max_bins=10
    )
    assert curve.madd[9] == 0
    assert theirs == 2


@pytest.mark.parametrize("seed", range(3))
def test_algorithm_1(search: ModuleType, seed: int) -> None:
    """The same stretch; theirs passes over those with few steps, which the printed one extends."""
    rows = scored(2_000, 1_500, seed)
    curve = fs.madd_curve(rows.score, sensitive_features=rows.group, groups=[0, 1], max_bins=400)
    stable = stable_bandwidth(curve)
    theirs = search.find_stable_interval(
        curve.bandwidth[::-1], curve.madd[::-1], n0=2_000, n1=1_500
    )
    i, j = theirs["indexes"]
    assert (stable.low, stable.high) == (curve.bandwidth[::-1][i], curve.bandwidth[::-1][j])
    assert stable.mean == pytest.approx(theirs["madd average"], rel=1e-12)
    assert stable.std == pytest.approx(theirs["min madd std"], rel=1e-9)


def test_no_eligible_stretch(search: ModuleType) -> None:
    """Theirs answers the indexes (0, 0) with an infinite standard deviation.

    Ours says what to do.
    """
    h = 1 / np.arange(40, 0, -1)
    answer = search.find_stable_interval(h, np.linspace(1, 0, 40), n0=100, n1=100)
    assert answer["indexes"] == (0, 0)
    assert answer["min madd std"] == np.inf
    rows = scored(100, 100, 1)
    curve = fs.madd_curve(rows.score, sensitive_features=rows.group, max_bins=40)
    with pytest.raises(fs.InputError, match="search more bandwidths"):
        stable_bandwidth(curve)
