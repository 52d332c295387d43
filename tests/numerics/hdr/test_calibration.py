"""A small part, with a fixed seed, of the study in ``tests/calibration/hdr.py``."""

from __future__ import annotations

from ...calibration.hdr import run


def test_mean_mass_on_a_line() -> None:
    """200 replicates at n = 5,000: half a point; the Monte Carlo error is .02–.05 points."""
    cases = ("normal", "two normals", "Beta(2, 8) on [0, 1]", "half-normal on [0, ∞)")
    table = run(replicates=200, seed=1, cases=cases, probs=(0.5, 0.95))
    assert (100 * table["mc_error"] < 0.06).all()
    assert table["within_half_a_point"].all(), table.to_string()


def test_same_seed_same_numbers() -> None:
    together = run(replicates=3, seed=2, cases=("normal", "t with 3 df"), probs=(0.9,))
    alone = run(replicates=3, seed=2, cases=("t with 3 df",), probs=(0.9,))
    assert together.iloc[1].equals(alone.iloc[0])
