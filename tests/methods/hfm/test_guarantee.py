"""m1 and m2 for a wanted probability.

Closed forms, simulation, and where the paper's own bounds fail.

Witnesses: the bound written out pair by pair; angles of triangles that are known by hand; the share
of random projections that fail; the distribution of sums of Laplace and normal variables."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.special import gamma

import fairstats as fs
from fairstats.ground.errors import InputError
from fairstats.methods.hfm.approx import acceleration, choose, failure_bound, isotropic_weights
from fairstats.methods.hfm.set_distance import SetDistance

from .conftest import brute, make_pair


def written_out(a: np.ndarray, b: np.ndarray, factor: float, m2: int) -> float:
    """The bound of one m2, row by row."""
    distances = cdist(a, b)
    limit = factor * max(distances.min(axis=1).max(), distances.min(axis=0).max())
    found = 0.0
    for cells in (*distances, *distances.T):
        beyond = cells[cells > limit]
        if beyond.size >= m2:
            found += min(1.0, float(np.arcsin(cells.min() / beyond).sum() / np.pi / m2))
    return found


@pytest.mark.parametrize(("kind", "d"), [("normal", 2), ("uniform", 6), ("binary", 5)])
@pytest.mark.parametrize("factor", [1.0, 1.4, 2.5])
def test_bound_as_written_out(kind: str, d: int, factor: float) -> None:
    a, b = make_pair(kind, "independent", 60, 45, d, 3)
    found = failure_bound(a, b, factor)
    assert found[-1] == 0
    assert (np.diff(found) <= 1e-9).all()
    for m2 in range(1, found.size + 1):
        assert found[m2 - 1] == pytest.approx(written_out(a, b, factor, m2), abs=1e-9)


def test_one_triangle() -> None:
    """Rows 0 and v against t and v, |t| = 1, |v| = 2, right angle at t.

    v projects between 0 and t in 1/6.
    """
    t = np.array([1.0, 0.0])
    v = np.array([1.0, math.sqrt(3)])
    a = np.array([np.zeros(2), v])
    b = np.array([t, v])
    of_zero = math.asin(1 / 2)
    of_t = math.asin(1 / math.sqrt(3))
    assert failure_bound(a, b, 1.5) == pytest.approx([(of_zero + of_t) / math.pi, 0])
    rng = np.random.default_rng(1)
    values = [
        max(x[0] for x in acceleration(a, b, isotropic_weights(2, rng), 1)[:2])
        for _ in range(3_000)
    ]
    failed = np.mean(np.array(values) > 1.5)
    assert failed == pytest.approx(
        1 / 6, abs=4 * math.sqrt(5 / 36 / 3_000)
    )  # both rows fail together
    # 1 − .363^m1 ≥ .95 from m1 = 3 on; one more neighbour costs less
    assert choose(a, b, 0.95, 1.5, None, 1)[:2] == (3, 1)
    assert choose(a, b, 0.95, 1.5, None, None) == (1, 2, 1.0)


def rows_missed(a: np.ndarray, b: np.ndarray, w: np.ndarray, m2: int, most: float) -> int:
    """Rows of both sets for which one projection finds nothing within `most`, from all pairs."""
    missed = 0
    for distances, apart in (
        (cdist(a, b), b @ w - (a @ w)[:, None]),
        (cdist(b, a), a @ w - (b @ w)[:, None]),
    ):
        found = np.full(len(distances), np.inf)
        for side in (apart, -apart):
            order = np.argsort(np.where(side >= 0, side, np.inf), axis=1)[:, :m2]
            seen = np.where(
                np.take_along_axis(side, order, 1) >= 0,
                np.take_along_axis(distances, order, 1),
                np.inf,
            )
            found = np.minimum(found, seen.min(axis=1))
        missed += int((found > most).sum())
    return missed


@pytest.mark.parametrize("m2", [1, 3, 8])
@pytest.mark.parametrize(
    ("kind", "d", "factor"), [("uniform", 3, 1.2), ("uniform", 2, 2.0), ("normal", 6, 1.1)]
)
def test_no_more_rows_are_missed_than_the_bound(kind: str, d: int, factor: float, m2: int) -> None:
    """Mean number per projection: the sum that bounds the probability that there is any."""
    a, b = make_pair(kind, "independent", 40, 40, d, 5)
    most = factor * brute(a, b) * (1 + 1e-9)
    bound = failure_bound(a, b, factor)
    rng = np.random.default_rng(2)
    missed = [rows_missed(a, b, isotropic_weights(d, rng), m2, most) for _ in range(150)]
    error = np.std(missed, ddof=1) / math.sqrt(150)
    assert np.mean(missed) <= (bound[m2 - 1] if m2 <= bound.size else 0) + 4 * error
    assert m2 > 1 or np.mean(missed) > 1  # the bound is put to the test


@pytest.mark.parametrize("probability", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("factor", [1.0, 1.5, 3.0])
def test_the_guarantee_holds(probability: float, factor: float) -> None:
    a, b = make_pair("normal", "independent", 100, 80, 2, 6)
    exact = brute(a, b)
    found = [
        fs.approx_set_distance(a, b, probability=probability, factor=factor, rng=seed)
        for seed in range(40)
    ]
    share = np.mean([d.value <= factor * exact * (1 + 1e-9) for d in found])
    assert found[0].probability >= probability
    assert share >= probability - 3 * math.sqrt(probability * (1 - probability) / 40)


def test_what_was_chosen_is_said_and_kept() -> None:
    a, b = make_pair("normal", "independent", 100, 100, 2, 5)
    bound = failure_bound(a, b, 3.0)
    found = fs.approx_set_distance(a, b, probability=0.95, factor=3, m2=30, rng=1)
    assert found.m2 == 30
    assert found.m1 == max(1, math.ceil(math.log(0.05) / math.log(bound[29])) if bound[29] else 1)
    assert found.probability == pytest.approx(1 - bound[29] ** found.m1)
    assert f"m1 = {found.m1} random projections with m2 = 30" in found.summary().replace("\n", " ")
    assert SetDistance.from_dict(found.to_dict()) == found
    given = fs.approx_set_distance(a, b, probability=0.95, factor=3, m1=4, rng=1)
    assert (given.m1, bound[given.m2 - 1] ** 4 <= 0.05) == (4, True)
    assert given.m2 == 1 or bound[given.m2 - 2] ** 4 > 0.05
    sure = fs.approx_set_distance(a, b, probability=0.95, m2=10_000, rng=1)
    assert (sure.m1, sure.probability, sure.value) == (1, 1.0, pytest.approx(brute(a, b)))
    assert "Always" in sure.sentences()[1]
    assert fs.approx_set_distance(a, b, rng=1).probability is None
    line = fs.approx_set_distance(
        a[:, :1], b[:, :1], probability=0.99, factor=1, rng=1
    )  # neighbours are nearest
    assert (line.m1, line.m2, line.probability, line.value) == (
        1,
        1,
        1.0,
        brute(a[:, :1], b[:, :1]),
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"probability": 1.0}, "probability"),
        ({"probability": 0.95, "factor": 0.5}, "factor"),
        ({"probability": 0.95, "m2": 1}, "do not guarantee"),
        ({"probability": 0.95, "m1": 1, "m2": 1}, "do not guarantee"),
    ],
)
def test_bad_wishes(options: dict, words: str) -> None:
    a, b = make_pair("uniform", "independent", 50, 50, 2, 5)
    with pytest.raises(InputError, match=words):
        fs.approx_set_distance(a, b, **options)


# ---------------------------------------------------------------- what the paper prints


def test_lemma_1_on_the_sphere() -> None:
    """Its bounds hold there; its upper one is not the least.

    (2/π)·arctan(r1/r2), at a right angle.
    """
    rng = np.random.default_rng(3)
    w = rng.standard_normal((40_000, 3))
    for ratio, angle in ((0.1, 1.2), (0.5, math.pi / 2), (0.5, 0.4), (1.0, 2.0)):
        v1 = ratio * np.array([1.0, 0, 0])
        v2 = np.array([math.cos(angle), math.sin(angle), 0])
        share = np.mean(np.abs(w @ v1) >= np.abs(w @ v2))
        error = 4 * 0.5 / math.sqrt(len(w))
        assert (
            math.sin(angle) / math.pi * ratio - error
            <= share
            <= 2 / math.pi * math.atan(ratio) + error
        )
        assert (
            2 * math.atan(ratio) / math.pi
            <= ratio / (1 + ratio**2)
            <= ratio / math.sqrt(1 + ratio**2)
        )


def test_lemma_1_fails_for_uniform_weights_on_the_diamond() -> None:
    """v2 one coordinate, v1 all others.

    r1/r2 times E|Laplace sum| = 2/√π = 1.128 > 1 for a small ratio.
    """
    w = np.random.default_rng(4).laplace(size=(100_000, 40))  # random_weights, but for its scale
    ratio = 0.05
    share = np.mean(np.abs(w[:, 1:] @ np.full(39, ratio / math.sqrt(39))) >= np.abs(w[:, 0]))
    printed = ratio / math.sqrt(1 + ratio**2)
    assert share > printed + 3 * math.sqrt(printed / len(w))


def test_equation_10_is_no_bound() -> None:
    """Evenly distributed rows in ten dimensions: it promises certainty where every run is beyond.

    μ: rows expected in a ball of radius D; with α = (1 + n/μ)^(1/(k + 1)) nothing is left of the
    bracket."""
    rng = np.random.default_rng(5)
    a = rng.random((1_000, 10))
    b = rng.random((1_000, 10))
    exact = fs.set_distance(a, b).value
    mu = 2_000 * math.pi**5 / gamma(6) * exact**10
    certain = (1 + 2_000 / mu) ** 0.1
    assert certain == pytest.approx(1.25, abs=0.01)
    for seed in range(4):
        assert fs.approx_set_distance(a, b, rng=seed).value > 1.5 * exact
