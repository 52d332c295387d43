"""ApproxDist: never below the exact distance, equal to it in the limit, as printed step by step."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

import fairstats as fs
from fairstats.ground.errors import InputError
from fairstats.methods.hfm.approx import acceleration, default_m2, random_weights
from fairstats.methods.hfm.set_distance import SetDistance

from .conftest import KINDS, PAIRS, brute, make_pair


def printed_algorithm_2(a: np.ndarray, b: np.ndarray, w: np.ndarray, m2: int) -> float:
    """Algorithm 2 line by line, row by row: the witness of the vectorised one."""
    rows = np.vstack([a, b])
    group = np.repeat([0, 1], [len(a), len(b)])
    along = np.concatenate([a @ w, b @ w])
    order = np.argsort(along, kind="stable")
    nearest = []
    for i in range(len(rows)):
        other = [k for k in order if group[k] != group[i]]
        below = [k for k in other if along[k] <= along[i]][-m2:]
        above = [k for k in other if along[k] >= along[i]][:m2]
        nearest.append(min(math.dist(rows[i], rows[k]) for k in (*below, *above)))
    return max(nearest)


@given(
    kind=st.sampled_from(sorted(KINDS)),
    relation=st.sampled_from(PAIRS),
    n=st.integers(1, 25),
    m=st.integers(1, 25),
    d=st.integers(1, 12),
    m2=st.integers(1, 8),
    seed=st.integers(0, 2**32 - 1),
)
@hypothesis_settings(max_examples=100)
def test_algorithm_2_as_printed(
    kind: str, relation: str, n: int, m: int, d: int, m2: int, seed: int
) -> None:
    a, b = make_pair(kind, relation, n, m, d, seed)
    w = random_weights(d, np.random.default_rng(seed))
    (ab, *_), (ba, *_), _ = acceleration(a, b, w, m2)
    assert max(ab, ba) == pytest.approx(printed_algorithm_2(a, b, w, m2), rel=1e-9, abs=1e-300)


@given(
    kind=st.sampled_from(sorted(KINDS)),
    relation=st.sampled_from(PAIRS),
    n=st.integers(1, 150),
    m=st.integers(1, 150),
    d=st.integers(1, 40),
    seed=st.integers(0, 2**32 - 1),
)
@hypothesis_settings(max_examples=80)
def test_never_below_the_exact_distance(
    kind: str, relation: str, n: int, m: int, d: int, seed: int
) -> None:
    a, b = make_pair(kind, relation, n, m, d, seed)
    found = fs.approx_set_distance(a, b, m1=4, rng=seed)
    assert found.value >= fs.set_distance(a, b).value * (1 - 1e-9)
    assert found.value == min(found.per_projection)


def test_equals_the_exact_distance_with_all_neighbours() -> None:
    a, b = make_pair("normal", "independent", 80, 60, 5, 4)
    found = fs.approx_set_distance(a, b, m1=1, m2=80, rng=1)
    assert found.value == pytest.approx(brute(a, b), rel=1e-12)
    assert found.n_distances >= 2 * 80 * 60


def test_approaches_the_exact_distance_as_m1_and_m2_grow() -> None:
    a, b = make_pair("normal", "independent", 120, 120, 6, 5)
    exact = brute(a, b)
    errors = [
        np.mean([fs.approx_set_distance(a, b, m1=m1, m2=m2, rng=s).value for s in range(5)]) / exact
        - 1
        for m1, m2 in ((1, 2), (10, 4), (30, 15), (30, 60))
    ]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 0.02


def test_weights_are_uniform_on_the_l1_sphere() -> None:
    """Witness: |w| is Dirichlet(1, …, 1), so E|w_i| = 1/d and Var|w_i| = (d − 1)/(d²(d + 1))."""
    rng = np.random.default_rng(6)
    d = 7
    w = np.array([random_weights(d, rng) for _ in range(20_000)])
    assert np.allclose(np.abs(w).sum(axis=1), 1)
    variance = (d - 1) / (d**2 * (d + 1))
    assert np.abs(np.abs(w).mean(axis=0) - 1 / d).max() < 4 * math.sqrt(variance / len(w))
    # Beta(1, 6) has kurtosis 4.62: 4.5 errors of a variance of 20,000 draws are 6%
    assert np.allclose(np.abs(w).var(axis=0), variance, rtol=4.5 * math.sqrt(3.62 / len(w)))
    assert np.abs((w > 0).mean(axis=0) - 0.5).max() < 4 * 0.5 / math.sqrt(len(w))


@pytest.mark.parametrize(("n", "m2"), [(1, 1), (2, 1), (10, 2), (100, 4), (1_000, 6), (30_162, 9)])
def test_m2_is_base_ten(n: int, m2: int) -> None:
    """⌈2 lg n⌉ by hand."""
    assert default_m2(n) == m2


def test_same_seed_same_numbers_and_json() -> None:
    a, b = make_pair("uniform", "independent", 50, 40, 3, 7)
    first = fs.approx_set_distance(a, b, rng=3)
    second = fs.approx_set_distance(a, b, rng=3)
    assert first.per_projection == second.per_projection
    assert first.seed == 3
    assert SetDistance.from_dict(first.to_dict()) == first
    assert "ApproxDist never lies below" in first.summary()
    pair = first.witnesses
    assert np.linalg.norm(a[pair[0]] - b[pair[1]]) == pytest.approx(first.value, rel=1e-12)


@pytest.mark.parametrize("arguments", [{"m1": 0}, {"m1": 2.5}, {"m1": True}, {"m2": 0}])
def test_bad_numbers(arguments: dict) -> None:
    with pytest.raises(InputError, match="whole number"):
        fs.approx_set_distance([[0.0]], [[1.0]], **arguments)
