"""Algorithm 1: against the algorithm as printed, loop by loop."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairstats.ground.errors import InputError
from fairstats.ground.scores import bandwidth_order, label_blind_bins
from fairstats.methods.madd.curve import MaddCurve, curve_of, stable_bandwidth
from fairstats.methods.madd.scores import Sample

from .densities import draw


def as_printed(
    lh: np.ndarray, lmadd: np.ndarray, n0: float, n1: float, nb_points_min: int, percent: float
) -> tuple[tuple[int, int], float, float]:
    """Algorithm 1, lines 11 to 37, with its names; a stretch holds both of its ends."""
    indexes = (0, 0)
    std_min = np.inf
    h_max = lh[-1]
    order = ((np.sqrt(n0) + np.sqrt(n1)) / np.sqrt(n0 * n1)) ** (2 / 3)
    interval_length_min = order * percent
    for i in range(len(lmadd) - nb_points_min + 1):
        left_bound = lh[i]
        if left_bound > h_max - interval_length_min:
            break
        right_bound = left_bound + interval_length_min
        right_bound_index = int(np.searchsorted(lh, right_bound, side="right")) - 1
        right_bound_index = max(right_bound_index, i + nb_points_min)
        for j in range(right_bound_index, len(lmadd)):
            std = float(np.std(lmadd[i : j + 1]))
            if std < std_min:
                std_min = std
                indexes = (i, j)
    i, j = indexes
    return indexes, std_min, float(np.mean(lmadd[i : j + 1]))


def curve_from(madd: np.ndarray, n0: float = 200, n1: float = 300) -> MaddCurve:
    return MaddCurve(np.arange(1, madd.size + 1), madd, n0, n1, ("a", "b"))


@pytest.mark.parametrize("seed", range(4))
def test_as_printed_on_the_papers_simulation(seed: int) -> None:
    first, second = (Sample(np.sort(x)) for x in draw(400, 300, np.random.default_rng(seed)))
    curve = curve_of(first, second, 150, ("a", "b"))
    (i, j), std, mean = as_printed(curve.bandwidth[::-1], curve.madd[::-1], 400, 300, 50, 0.45)
    stable = stable_bandwidth(curve)
    assert (stable.low, stable.high) == (curve.bandwidth[::-1][i], curve.bandwidth[::-1][j])
    assert stable.std == pytest.approx(std, rel=1e-9)
    assert stable.mean == pytest.approx(mean, rel=1e-12)
    assert (stable.n_points, stable.n_searched) == (j - i + 1, 150)


@settings(max_examples=60)
@given(
    st.lists(st.floats(0, 2), min_size=12, max_size=40),
    st.integers(1, 10),
    st.sampled_from([0.0, 0.1, 0.45, 1.0]),
)
def test_as_printed_on_any_curve(values: list[float], min_points: int, width: float) -> None:
    curve = curve_from(np.array(values))
    (i, j), std, _ = as_printed(
        curve.bandwidth[::-1], curve.madd[::-1], 200, 300, min_points, width
    )
    if not np.isfinite(std):
        with pytest.raises(InputError, match="eligible"):
            stable_bandwidth(curve, min_points=min_points, width=width)
        return
    stable = stable_bandwidth(curve, min_points=min_points, width=width)
    assert stable.std <= std + 1e-12
    if std > 1e-9:  # of nearly constant stretches rounding decides in the loop, not here
        best = (curve.bandwidth[::-1][i], curve.bandwidth[::-1][j])
        spread = stable.std == pytest.approx(std, rel=1e-9)
        assert (stable.low, stable.high) == best or spread


def test_of_constant_stretches_the_first_wins() -> None:
    """A decision tree's MADD does not change once its leaves are apart.

    Standard deviation exactly 0.
    """
    madd = np.full(100, 0.1 + 0.2)
    madd[:3] = [0.0, 0.2, 0.25]
    stable = stable_bandwidth(curve_from(madd))
    assert stable.std == 0.0
    assert stable.mean == 0.1 + 0.2
    assert (
        stable.low == 1 / 100
    )  # the least bandwidth, and the shortest eligible stretch from there
    ends = 1 / np.arange(100, 0, -1)
    first = max(
        int(np.searchsorted(ends, 0.01 + 0.45 * bandwidth_order(200, 300), side="right")) - 1, 50
    )
    assert stable.high == ends[first]


def test_constant_up_to_rounding_counts_as_constant(rng: np.random.Generator) -> None:
    """Weighted scores: sums in another order differ by 1e-16, which must neither decide nor cost
    time.
    """
    madd = 0.3 + 1e-15 * rng.standard_normal(1000)
    madd[:2] = [0.0, 0.1]
    assert stable_bandwidth(curve_from(madd)).low == 1 / 1000


def test_prefix_sums_do_not_lose_small_differences(rng: np.random.Generator) -> None:
    """A stretch that varies by 1e-8 against one that varies by 2e-8, in a curve that varies by
    1.
    """
    noise = rng.standard_normal(400)
    madd = np.where(np.arange(400) < 5, np.linspace(0, 1, 400), 1 + 2e-8 * noise)
    madd[340:] = 1.5 + 1e-8 * noise[340:]
    curve = curve_from(madd, 1e8, 1e8)
    (i, j), std, _ = as_printed(curve.bandwidth[::-1], madd[::-1], 1e8, 1e8, 50, 0.45)
    stable = stable_bandwidth(curve)
    assert stable.std == pytest.approx(std, rel=1e-6)
    assert (stable.low, stable.high) == (curve.bandwidth[::-1][i], curve.bandwidth[::-1][j])


def test_no_eligible_stretch_is_an_error_with_a_cure() -> None:
    curve = curve_from(np.linspace(0, 1, 50))
    with pytest.raises(InputError, match=r"none of whose stretches.*search more bandwidths"):
        stable_bandwidth(curve)
    with pytest.raises(InputError, match="eligible"):
        stable_bandwidth(curve_from(np.linspace(0, 1, 200)), width=50.0)


def test_a_curve_with_a_gap_is_an_error() -> None:
    madd = np.linspace(0, 1, 200)
    madd[7] = np.nan
    with pytest.raises(InputError, match="200 and 300 rows with values that are no numbers"):
        stable_bandwidth(curve_from(madd))


@pytest.mark.parametrize(
    "options", [{"min_points": 0}, {"min_points": 2.5}, {"width": -0.1}, {"width": np.nan}]
)
def test_options_out_of_range(options: dict[str, float]) -> None:
    with pytest.raises(InputError, match=next(iter(options))):
        stable_bandwidth(curve_from(np.linspace(0, 1, 200)), **options)


def test_order_of_the_bandwidth() -> None:
    """0.0737 for 10,000 + 10,000: exponent 2/3; 1/3, as one place prints, would give 0.271."""
    assert bandwidth_order(10_000, 10_000) == pytest.approx(0.07368, abs=5e-6)
    assert bandwidth_order(100, 400) == pytest.approx(((10 + 20) / np.sqrt(40_000)) ** (2 / 3))
    assert bandwidth_order(3, 1000) == bandwidth_order(1000, 3)
    assert label_blind_bins(10_000, 10_000) == 14
    assert label_blind_bins(1, 1) == 2
