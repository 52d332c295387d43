"""Distances between two groups under several scores.

Limits, evidence, draws, by plain computations.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom, binomtest, norm

from fairstats.numerics.paired.distance import (
    Apart,
    Unseen,
    cross_table,
    drawn_shares,
    effective_rows,
    grid_codes,
    madd,
    placements,
    unseen,
    unseen_reach,
    unseen_share,
    with_unseen,
)
from fairstats.numerics.paired.score import Part

REACHES = (0.0, 1.5, 3.0)
LEVELS = (0.5, 1.2816, 1.96, 2.5)


def apart(hidden: Any = (), pseudo: float = 4.0) -> Apart:
    """Two models on a grid of six, one bin clearly apart, others within some standard errors of
    0.
    """
    rng = np.random.default_rng(5)
    observed = np.array(
        [[0.3, -0.05, -0.12, 0.02, -0.15, 0.0], [0.1, 0.2, -0.1, -0.16, 0.01, -0.05]]
    )
    noise = 0.05 * rng.standard_normal((2, 199, 6)) + 0.01
    return Apart(
        observed,
        noise,
        REACHES[-1],
        step=0.5,
        most=0.6,
        rows=[50, 80],
        pseudo=pseudo,
        hidden=hidden,
    )


def laws_of(a: Apart) -> list[list[np.ndarray]]:
    """Per model and reach the errors of ∫|D|, draw by draw: sign(D)·h away from 0, |h| near it."""
    found = []
    for d, noise in zip(a.observed, a.noise, strict=True):
        error = noise.std(axis=0)
        of_model = []
        for reach in REACHES:
            errors = []
            for h in noise:
                total = 0.0
                for value, move, sd in zip(d, h, error, strict=True):
                    if abs(value) < reach * sd:
                        total += abs(move)
                    elif value != 0:
                        total += move if value > 0 else -move
                errors.append(a.step * total)
            of_model.append(np.array(errors))
        found.append(of_model)
    return found


def widest(
    at: float, laws: list[np.ndarray], z: float, least: float, most: float
) -> tuple[float, float]:
    """Ends at − the k-th largest and smallest error, k = Φ(−z)·(B + 1) rounded down, of the widest
    law.
    """
    k = int(norm.sf(z) * (laws[0].size + 1) + 1e-9)
    if k == 0:
        return least, most
    ordered = [np.sort(law) for law in laws]
    return max(at - max(law[-k] for law in ordered), least), min(
        at - min(law[k - 1] for law in ordered), most
    )


def test_limits_and_evidence_of_a_distance_are_those_of_its_laws() -> None:
    """The laws are added up draw by draw.

    P-values are (1 + draws as far)/(1 + B), of the larger law.
    """
    a = apart()
    margin = 0.33
    estimates = a.step * np.abs(a.observed).sum(axis=1)
    level = a.measure(estimates, [(1, 0)], margin).level
    np.testing.assert_array_equal(level.estimates, estimates)
    for k, laws in enumerate(laws_of(a)):
        at = float(estimates[k])
        n = laws[0].size
        assert not np.allclose(laws[0], laws[1])
        assert not np.allclose(laws[1], laws[2])
        for z in (*LEVELS, 4.0):
            assert level.parts[k].limits(z) == pytest.approx(
                widest(at, laws, z, 0.0, a.most), abs=1e-12
            )
        over = max((1 + np.sum(law >= at - margin)) / (1 + n) for law in laws)
        under = max((1 + np.sum(law <= at - margin)) / (1 + n) for law in laws)
        assert (level.evidence[k].above, level.evidence[k].inside) == pytest.approx(
            (over, under), rel=1e-12
        )
        areas = [a.step * np.abs(a.observed[k] + h).sum() for h in a.noise[k]]
        assert level.std_errors[k] == pytest.approx(np.std(areas, ddof=1), rel=1e-12)


@pytest.mark.parametrize("pseudo", [0.0, 4.0])
def test_limits_of_a_change_are_those_of_the_differences_of_laws(pseudo: float) -> None:
    """Draw by draw and reach by reach, wider by √(1 + Σ pseudo·(most/n)²/s²), s the drawn standard
    error.
    """
    a = apart(pseudo=pseudo)
    estimates = a.step * np.abs(a.observed).sum(axis=1)
    found = a.measure(estimates, [(1, 0), (0, 1)], 0.1)
    areas = a.step * np.abs(a.observed[:, None] + a.noise).sum(axis=2)
    error = float(np.std(areas[1] - areas[0], ddof=1))
    wider = np.sqrt(1 + pseudo * sum((a.most / n) ** 2 for n in a.rows) / error**2)
    assert (wider > 1.01) == (pseudo > 0)
    laws = laws_of(a)
    for (b, c), change in found.changes.items():
        at = float(estimates[b] - estimates[c])
        moved = [wider * (one - other) for one, other in zip(laws[b], laws[c], strict=True)]
        assert change.shift.estimate == pytest.approx(at, abs=1e-15)
        assert change.std_error == pytest.approx(error, rel=1e-12)
        for z in (*LEVELS, 4.0):
            wanted = widest(at, moved, z, -a.most, a.most)
            assert change.shift.limits(z) == pytest.approx(wanted, abs=1e-12)


def test_what_errors_hide_widens_the_limits_and_weakens_the_evidence() -> None:
    """Each end is the farther one of the laws and of what the errors hide.

    P-values are the larger ones.
    """
    hidden = Unseen(9.0, ((20.0, 1.5, 0.9),)), Unseen(400.0, ())
    a = apart(hidden)
    plain = apart()
    margin = 0.35
    estimates = a.step * np.abs(a.observed).sum(axis=1)
    found, alone = (each.measure(estimates, [], margin).level for each in (a, plain))
    for k, own in enumerate(hidden):
        at = float(estimates[k])
        for z in LEVELS:
            low, high = alone.parts[k].limits(z)
            reach = own.reach(norm.sf(z))
            wanted = max(min(low, at - reach), 0.0), min(max(high, at + reach), a.most)
            assert found.parts[k].limits(z) == pytest.approx(wanted, abs=1e-12)
        least = own.pvalue(abs(at - margin))
        assert found.evidence[k].above == max(alone.evidence[k].above, least)
        assert found.evidence[k].inside == max(alone.evidence[k].inside, least)
    assert found.evidence[0] != alone.evidence[0]
    assert found.parts[0].limits(1.96) != alone.parts[0].limits(1.96)


@pytest.mark.parametrize(("k", "x"), [(12, 1), (30, 4), (9, 0)])
@pytest.mark.parametrize("p", [0.025, 0.2])
def test_hidden_errors_reach_to_clopper_and_pearsons_limit(k: int, x: int, p: float) -> None:
    """SciPy's exact limit of x of k, less x/k, times the size of an error.

    Its p-value is binomial.
    """
    size = 0.4
    few = Unseen(errors=((float(k), float(x), size),))
    upper = binomtest(x, k).proportion_ci(1 - 2 * p, method="exact").high
    assert few.reach(p) == pytest.approx(size * (upper - x / k), rel=1e-9)
    assert few.pvalue(few.reach(p)) == pytest.approx(p, rel=1e-9)
    for distance in (0.02, 0.1, 0.3):
        share = min(x / k + distance / size, 1.0)
        assert few.pvalue(distance) == pytest.approx(binom.cdf(x, k, share), abs=1e-12)
    both = Unseen(25.0, ((float(k), float(x), size),))
    assert both.reach(p) == max(unseen(p, 25.0), few.reach(p))
    assert both.pvalue(0.15) == max(Unseen(25.0).pvalue(0.15), few.pvalue(0.15))


@pytest.mark.parametrize("rows", [10.0, 75.0])
def test_no_error_seen_allows_a_distance(rows: float) -> None:
    """The root of (1 − d/2)²ᵏ = p, and that probability; no rows without an error allow none."""
    none = Unseen(rows)
    for p in (0.01, 0.3):
        d = brentq(lambda d, p=p: (1 - d / 2) ** (2 * rows) - p, 0, 2)
        assert unseen(p, rows) == pytest.approx(d, rel=1e-9)
        assert none.reach(p) == pytest.approx(d, rel=1e-9)
    assert none.pvalue(0.2) == pytest.approx(0.9 ** (2 * rows), rel=1e-12)
    assert none.pvalue(-0.5) == none.pvalue(0.0) == 1.0
    assert none.pvalue(3.0) == none.pvalue(1.0)
    assert Unseen().reach(0.025) == 0.0
    assert Unseen().pvalue(0.1) == 0.0


def test_rows_that_no_model_told_apart_could_yet_differ() -> None:
    """z²/(n + z²) of each set of rows (Tango's limit of no changed pair), as independent ones."""
    part = Part.normal(0.0, 0.0)
    part = with_unseen(part, unseen_reach([20, 50], [1.0, 1.0], 2.0))
    for z in LEVELS:
        reach = 2.0 * np.sqrt((z * z / (20 + z * z)) ** 2 + (z * z / (50 + z * z)) ** 2)
        assert part.limits(z) == pytest.approx((-reach, reach), rel=1e-12)
    assert part.estimate == 0.0


def test_limits_of_what_changed_and_of_what_may_change_unseen() -> None:
    """Squared distances add up; twenty rows that moved by .05 or more leave nothing open, ten half
    of it.
    """
    moved = np.zeros(60)
    assert unseen_share(moved) == 1.0
    moved[:10] = [0.05, -0.3, 1.0, 0.06, 0.05, -0.05, 0.5, 0.2, 0.05, 0.9]
    assert unseen_share(moved) == pytest.approx(0.5, rel=1e-12)
    assert unseen_share(np.full(60, 0.01)) == pytest.approx(1 - 60 * 0.2 / 20, rel=1e-12)
    moved[:20] = 0.2
    assert unseen_share(moved) == 0.0
    part = with_unseen(Part.normal(0.1, 0.02), unseen_reach([60], [0.5]))
    for z in LEVELS:
        reach = np.hypot(0.02 * z, 0.5 * z * z / (60 + z * z))
        assert part.limits(z) == pytest.approx((0.1 - reach, 0.1 + reach), rel=1e-12)


def test_placements_are_shares_of_the_other_label() -> None:
    """Counted pair by pair, ties half."""
    rng = np.random.default_rng(3)
    scores = rng.integers(0, 6, (2, 40)) / 5
    y = rng.integers(0, 2, 40)
    above, below = placements(scores, y)
    for k in range(2):
        low = scores[k][y == 0]
        high = scores[k][y == 1]
        order = np.sign(high[:, None] - low) / 2 + 0.5
        assert above[k] == pytest.approx(order.mean(axis=0), abs=1e-12)
        assert below[k] == pytest.approx(order.mean(axis=1), abs=1e-12)


def test_bins_are_closed_on_the_left_and_the_last_on_both_sides() -> None:
    """By hand, and a table of pairs of bins counted row by row.

    Codes of one byte do not overflow (C1).
    """
    scores = np.array([0.0, 0.1999, 0.2, 0.4, 0.59, 0.6, 0.8, 0.99, 1.0])
    fifths = np.arange(1, 5) / 5
    assert grid_codes(scores, fifths).tolist() == [0, 0, 1, 2, 2, 3, 4, 4, 4]
    other = grid_codes(scores[::-1], fifths[:3])
    table = cross_table(grid_codes(scores, fifths), other, (5, 4))
    wanted = np.zeros((5, 4))
    for one, two in zip(grid_codes(scores, fifths), other, strict=True):
        wanted[one, two] += 1
    np.testing.assert_array_equal(table, wanted)


@pytest.mark.parametrize("how", ["few rows", "many rows", "weights", "many weighted rows"])
def test_drawn_shares_have_the_covariance_of_a_sample(how: str) -> None:
    """Of both models together: Σ u uᵀ over rows, u = w/Σw · (bin − share), as linearisation has it.

    40,000 draws: variances and covariances to five standard errors, 5·√2/200 of the larger
    variances."""
    rng = np.random.default_rng(7)
    n = 2_200 if how.startswith("many") else 200
    first = rng.choice(4, n, p=[0.35, 0.3, 0.2, 0.15])
    codes = np.stack([first, np.where(rng.random(n) < 0.6, first, rng.integers(0, 4, n))])
    weights = rng.uniform(0.2, 3.0, n) * (1 + 3 * (first == 1)) if "weight" in how else None
    drawn = drawn_shares(codes, 4, 40_000, np.random.default_rng(8), weights)
    w = np.ones(n) if weights is None else weights
    rows = np.hstack([np.eye(4)[c] for c in codes])
    shares = w @ rows / w.sum()
    influence = w[:, None] / w.sum() * (rows - shares)
    wanted = influence.T @ influence
    assert drawn.shape == (2, 40_000, 4)
    assert drawn.min() >= 0
    np.testing.assert_allclose(drawn.sum(axis=2), 1.0, atol=1e-12)
    flat = np.moveaxis(drawn, 1, 0).reshape(40_000, 8)
    scale = np.sqrt(np.outer(np.diag(wanted), np.diag(wanted)))
    np.testing.assert_allclose(np.cov(flat.T) / scale, wanted / scale, atol=5 * np.sqrt(2) / 200)
    np.testing.assert_allclose(
        flat.mean(axis=0), shares, atol=5 * np.sqrt(np.diag(wanted).max()) / 200
    )


def test_madd_of_models_and_its_standard_errors() -> None:
    """Σ|shares − shares| counted row by row.

    Standard errors beside those of rows drawn again by hand.

    800 draws each: a standard deviation is known to 1/√1,600, two of them to five times √2 of it,
    18%."""
    rng = np.random.default_rng(9)
    a = rng.beta([[2.0], [3.0]], 3.0, (2, 45))
    b = rng.beta([[4.0], [3.5]], 3.0, (2, 70))
    found: Any = madd((a, b), [(1, 0)], 0.1, 800, np.random.default_rng(1), n_bins=5)
    assert [e.tolist() for e in found.edges] == [[0.2, 0.4, 0.6, 0.8]] * 2

    def distance(rows_a: Any, rows_b: Any) -> np.ndarray:
        one, two = (
            np.array([np.histogram(s, 5, (0, 1))[0] / s.size for s in part])
            for part in (rows_a, rows_b)
        )
        return np.abs(one - two).sum(axis=1)

    np.testing.assert_allclose(found.level.estimates, distance(a, b), rtol=1e-12)
    again = np.array(
        [distance(a[:, rng.integers(0, 45, 45)], b[:, rng.integers(0, 70, 70)]) for _ in range(800)]
    )
    np.testing.assert_allclose(found.level.std_errors, again.std(axis=0, ddof=1), rtol=0.18)
    moved = np.std(again[:, 1] - again[:, 0], ddof=1)
    assert found.changes[1, 0].std_error == pytest.approx(moved, rel=0.18)
    assert found.changes[1, 0].shift.estimate == pytest.approx(
        np.diff(distance(a, b))[0], rel=1e-12
    )


def test_weights_of_madd_are_shares_and_rows_of_the_same_precision() -> None:
    """(Σw)²/Σw² by hand; below ten such rows no answer; weighted shares as of copies of rows."""
    rng = np.random.default_rng(3)
    assert effective_rows(np.array([1.0, 2.0, 5.0])) == pytest.approx(64 / 30)
    assert effective_rows(np.zeros(4)) == 0.0
    a = rng.random((1, 12))
    b = rng.random((1, 30))
    few: Any = madd((a, b), [], 0.1, 99, rng, weights=(np.r_[np.ones(11), 30.0], np.ones(30)))
    assert few == "fewer than 10 rows, by their weights."
    assert madd((a[:, :9], b), [], 0.1, 99, rng) == "fewer than 10 rows."
    assert not isinstance(madd((a[:, :10], b), [], 0.1, 99, rng), str)
    copies = rng.integers(1, 4, 12)
    weighted: Any = madd(
        (a, b), [], 0.1, 99, rng, n_bins=4, weights=(copies.astype(float), np.ones(30))
    )
    copied: Any = madd((np.repeat(a, copies, axis=1), b), [], 0.1, 99, rng, n_bins=4)
    np.testing.assert_allclose(weighted.level.estimates, copied.level.estimates, rtol=1e-12)
