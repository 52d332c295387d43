"""What cannot be used is refused by name, with a cure.

What should be known is said in a warning.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import trapezoid

from fairstats.ground.errors import BackendError, DataWarning, InputError
from fairstats.numerics.hdr.region import hdr

GOOD = np.random.default_rng(1).standard_normal(200)
PLANE = np.random.default_rng(2).standard_normal((200, 2))
GRID = np.linspace(-5, 5, 501)
NORMAL = np.exp(-0.5 * GRID**2) / np.sqrt(2 * np.pi)

REFUSED: dict[str, tuple[str, dict[str, Any]]] = {
    "neither": ("samples", {}),
    "NaN": ("samples", {"samples": np.append(GOOD, np.nan)}),
    "infinite": ("samples", {"samples": np.append(GOOD, -np.inf)}),
    "masked": ("samples", {"samples": np.ma.masked_greater(GOOD, 1.0)}),
    "text": ("samples", {"samples": ["a", "b"] * 20}),
    "complex": ("samples", {"samples": GOOD + 1j}),
    "dates": ("samples", {"samples": np.arange("2020-01", "2022-01", dtype="datetime64[M]")}),
    "one number": ("samples", {"samples": 3.0}),
    "empty": ("samples", {"samples": []}),
    "too few": ("samples", {"samples": GOOD[:9]}),
    "tails of another scale": (
        "samples",
        {
            "samples": np.minimum(
                np.exp(np.clip(3 * np.abs(np.random.default_rng(4).standard_cauchy(500)), 0, 700)),
                1e100,
            )
        },
    ),
    "too few for their dimension": ("samples", {"samples": np.ones((19, 4))}),
    "three axes": ("samples", {"samples": np.zeros((20, 2, 2))}),
    "no columns": ("samples", {"samples": np.zeros((20, 0))}),
    "beyond any unit": ("samples", {"samples": GOOD * 5e307}),
    "area beyond any unit": ("samples", {"samples": PLANE * 1e-200}),
    "density beyond any unit": ("samples", {"samples": GOOD * 1e-310}),
    "constant column": ("samples", {"samples": np.column_stack([GOOD, np.ones(200)])}),
    "twice the same column": ("samples", {"samples": np.column_stack([GOOD, GOOD])}),
    "dependent columns": ("samples", {"samples": np.column_stack([PLANE, PLANE.sum(axis=1)])}),
    "prob 0": ("prob", {"samples": GOOD, "prob": 0.0}),
    "prob 1": ("prob", {"samples": GOOD, "prob": 1}),
    "prob in percent": ("prob", {"samples": GOOD, "prob": 95}),
    "prob NaN": ("prob", {"samples": GOOD, "prob": np.nan}),
    "no prob": ("prob", {"samples": GOOD, "prob": []}),
    "one of several probs": ("prob", {"samples": GOOD, "prob": [0.5, 1.5]}),
    "bandwidth 0": ("bandwidth", {"samples": GOOD, "bandwidth": 0}),
    "bandwidth NaN": ("bandwidth", {"samples": GOOD, "bandwidth": np.nan}),
    "bandwidth by name": ("bandwidth", {"samples": GOOD, "bandwidth": "scott"}),
    "bandwidth far beyond the draws": ("bandwidth", {"samples": GOOD, "bandwidth": 1e160}),
    "three bandwidths for two": ("bandwidth", {"samples": PLANE, "bandwidth": [1, 1, 1]}),
    "support excludes samples": ("samples", {"samples": GOOD, "support": (0, 1)}),
    "support reversed": ("support", {"samples": GOOD, "support": (9, -9)}),
    "support of one number": ("support", {"samples": GOOD, "support": 9}),
    "support NaN": ("support", {"samples": GOOD, "support": (np.nan, 9)}),
    "one support for two": ("support", {"samples": PLANE, "support": (-9, 9)}),
    "support in three dimensions": (
        "support",
        {"samples": np.column_stack([PLANE, GOOD]), "support": [(-9, 9)] * 3},
    ),
    "tails too long for any grid": ("samples", {"samples": np.append(GOOD, 1e9)}),
    "tails too long on the plane": ("samples", {"samples": np.vstack([PLANE, [1e9, 0]])}),
    "gridsize": ("gridsize", {"samples": GOOD, "gridsize": 3}),
    "estimator": ("estimator", {"samples": GOOD, "estimator": "knn"}),
    "ash on a line": ("estimator", {"samples": GOOD, "estimator": "ash"}),
    "ash with a bandwidth": ("bandwidth", {"samples": PLANE, "estimator": "ash", "bandwidth": 1}),
    "backend": ("backend", {"samples": GOOD, "backend": "julia"}),
    "density of one array": ("density", {"density": (GRID,)}),
    "density is an array": ("density", {"density": NORMAL}),
    "density with NaN": ("density", {"density": (GRID, np.where(GRID > 4, np.nan, NORMAL))}),
    "density negative": ("density", {"density": (GRID, NORMAL - 0.1)}),
    "density zero": ("density", {"density": (GRID, 0 * GRID)}),
    "density without a float's mass": ("density", {"density": (GRID, NORMAL * 1e-300)}),
    "density of other length": ("density", {"density": (GRID, NORMAL[1:])}),
    "density descending": ("density", {"density": (GRID[::-1], NORMAL)}),
    "density with ties": ("density", {"density": (np.repeat(GRID, 2), np.repeat(NORMAL, 2))}),
    "density transposed": ("density", {"density": (GRID, GRID[:9], np.ones((9, 501)))}),
    "density and bandwidth": ("bandwidth", {"density": (GRID, NORMAL), "bandwidth": 1}),
    "density and support": ("support", {"density": (GRID, NORMAL), "support": (-5, 5)}),
    "samples outside the density": ("samples", {"samples": 4 * GOOD, "density": (GRID, NORMAL)}),
    "samples of other dimension": ("samples", {"samples": PLANE, "density": (GRID, NORMAL)}),
    "samples where the density is 0": (
        "density",
        {"samples": GOOD, "density": (GRID, np.maximum(NORMAL - 0.3, 0.0) * 20)},
    ),
}


@pytest.mark.filterwarnings("ignore::fairstats.ground.errors.DataWarning")
@pytest.mark.parametrize("name", REFUSED)
def test_refused_by_name(name: str) -> None:
    argument, arguments = REFUSED[name]
    with pytest.raises(InputError) as refusal:
        hdr(**arguments)
    assert refusal.value.argument == argument
    assert refusal.value.cure


@pytest.mark.parametrize("power", [-1000, -530, 530, 1000])
@pytest.mark.parametrize(
    "draws", [GOOD, PLANE, np.column_stack([PLANE, GOOD])], ids=["1-D", "2-D", "3-D"]
)
def test_any_unit_gives_the_same_region(power: int, draws: np.ndarray) -> None:
    """The witness is the region of the draws themselves.

    A power of two changes no digit, but that on a plane the kernel is cut at four of the larger
    bandwidth, as in ks: 6e-5 of its mass."""
    unit = np.ldexp(1.0, power)
    scale = unit if draws.ndim == 1 else np.array([1.0, unit, 1.0])[: draws.shape[1]]
    plain, scaled = (hdr(x, [0.5, 0.9], backend="scipy") for x in (draws, draws * scale))
    np.testing.assert_array_equal(scaled.mode, plain.mode * scale)
    np.testing.assert_array_equal(scaled.bandwidth, plain.bandwidth * scale)
    np.testing.assert_allclose(scaled.falpha, np.array(plain.falpha) / unit, rtol=2e-4)
    assert (scaled.contains(draws * scale) == plain.contains(draws)).mean() >= 0.99
    if draws.ndim == 1:
        np.testing.assert_array_equal(scaled.intervals[1], plain.intervals[1] * unit)


def test_r_has_no_method_in_three_dimensions() -> None:
    with pytest.raises(BackendError, match="hdrcde has one and two"):
        hdr(np.column_stack([PLANE, GOOD]), backend="r")


@pytest.mark.parametrize("value", [0.0, -3.5, 1e9, 1e-9, 0.1 + 0.2])
@pytest.mark.parametrize("bandwidth", [None, 0.5])
def test_constant_draws_are_a_point(value: float, bandwidth: float | None) -> None:
    with pytest.warns(DataWarning, match="one point"):
        result = hdr(np.full(50, value), bandwidth=bandwidth)
    np.testing.assert_array_equal(result.intervals, [[value, value]])
    assert (result.mode, result.mass, result.kind) == (value, 1.0, "discrete")


def test_constant_up_to_rounding() -> None:
    with pytest.warns(DataWarning, match="one point"):
        assert hdr(np.array([0.1 + 0.2, 0.3] * 20)).kind == "discrete"


def test_constant_draws_on_the_plane() -> None:
    with pytest.warns(DataWarning, match="one point"):
        result = hdr(np.tile([1.0, 2.0], (30, 1)))
    np.testing.assert_array_equal(result.contains([[1.0, 2.0], [1.0, 2.1]]), [True, False])


def test_an_atom_is_pointed_out(rng: np.random.Generator) -> None:
    draws = np.where(rng.random(2000) < 0.3, 0.0, rng.standard_normal(2000))
    with pytest.warns(DataWarning, match="31% of the draws equal 0"):
        hdr(draws)


def test_most_draws_one_value(rng: np.random.Generator) -> None:
    """The interquartile range is 0, where R's rules stop."""
    draws = np.where(rng.random(2000) < 0.8, 1.0, rng.random(2000))
    with pytest.warns(DataWarning, match="of the draws equal 1"):
        result = hdr(draws, 0.5)
    assert result.contains([1.0]).all()


def test_unnormalised_density_is_pointed_out() -> None:
    with pytest.warns(DataWarning, match="integrates to 3"):
        result = hdr(density=(GRID, 3 * NORMAL))
    np.testing.assert_allclose(result.intervals, [[-1.96, 1.96]], atol=1e-3)


@pytest.mark.parametrize(
    "density", [(np.array([0.0, 1.0]), np.ones(2)), (np.arange(2.0),) * 2 + (np.ones((2, 2)),)]
)
def test_flat_density_is_pointed_out(density: Any) -> None:
    with pytest.warns(DataWarning, match="flat"):
        result = hdr(density=density, prob=0.5)
    assert result.falpha == pytest.approx(1.0)
    assert result.mass == pytest.approx(1.0)


def test_long_tails_get_a_finer_grid(rng: np.random.Generator) -> None:
    """Cauchy draws: 1,001 points would be many bandwidths apart.

    True half-widths: 1 at 50%, 6.314 at 90%.
    """
    result = hdr(rng.standard_cauchy(5000), [0.5, 0.9])
    step = np.diff(result.density[0])[0]
    assert 0 < step <= 0.5 * result.bandwidth * (1 + 1e-9)
    assert trapezoid(result.density[1], result.density[0]) == pytest.approx(1.0, abs=5e-3)
    assert result.density[0].size < 100_000
    for region, half in zip(result.regions, (1.0, 6.314), strict=True):
        assert region.intervals[[0, -1], [0, 1]] == pytest.approx([-half, half], rel=0.2)


def test_warnings_point_at_the_caller() -> None:
    for call in (lambda: hdr(np.zeros(20)), lambda: hdr(density=(GRID, 3 * NORMAL))):
        with pytest.warns(DataWarning) as caught:
            call()
        assert caught[0].filename == __file__
    draws = np.append(np.zeros(100), GOOD)
    with pytest.warns(DataWarning) as caught:
        hdr(draws)
    assert caught[0].filename == __file__
