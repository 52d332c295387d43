"""Speed of highest density regions, each beside its peer in the same run.

Asked: `hdr` of 10⁵ two-dimensional draws below 0.3 s. On record for R, in milliseconds: hdrcde::hdr
241 (5.4 with a bandwidth given), hdr.2d with ash 2, with ks 963 (n = 5,000)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fairstats.numerics.hdr.region import hdr

pytest.importorskip("pytest_benchmark", reason="pytest-benchmark is not installed")

RNG = np.random.default_rng(1)
LINE = np.concatenate([RNG.normal(-2, 0.7, 60_000), RNG.normal(2, 1.0, 40_000)])
PLANE = RNG.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], 100_000)
SPACE = RNG.standard_normal((10_000, 3))
#: Seconds that the two-dimensional region of 10⁵ draws may take.
MOST = 0.3


@pytest.mark.benchmark(group="hdr 1-D")
@pytest.mark.parametrize("n", [5_000, 100_000])
def test_line(benchmark: Any, n: int) -> None:
    benchmark(hdr, RNG.permutation(LINE)[:n], backend="scipy")


@pytest.mark.benchmark(group="hdr 1-D")
def test_line_peer_gaussian_kde(benchmark: Any) -> None:
    """SciPy's kernel density at 1,001 points, without a region: O(n) points each."""
    from scipy.stats import gaussian_kde

    grid = np.linspace(-6, 6, 1001)
    benchmark(lambda: gaussian_kde(LINE[::20])(grid))


@pytest.mark.benchmark(group="hdr 2-D")
@pytest.mark.parametrize("n", [5_000, 100_000])
def test_plane(benchmark: Any, n: int) -> None:
    benchmark(hdr, PLANE[:n], backend="scipy")
    if benchmark.stats is not None:  # None where benchmarks are disabled
        assert benchmark.stats.stats.min < MOST


@pytest.mark.benchmark(group="hdr 2-D")
def test_plane_shifted_histogram(benchmark: Any) -> None:
    benchmark(hdr, PLANE, estimator="ash", backend="scipy")


@pytest.mark.benchmark(group="hdr 2-D")
def test_plane_peer_gaussian_kde(benchmark: Any) -> None:
    """SciPy's kernel density of 2,000 draws at the draws.

    What a region needs at the least, in O(n²).
    """
    from scipy.stats import gaussian_kde

    draws = PLANE[:2000].T
    benchmark.pedantic(lambda: np.quantile(gaussian_kde(draws)(draws), 0.05), rounds=3)


@pytest.mark.benchmark(group="hdr 3-D")
def test_space(benchmark: Any) -> None:
    benchmark.pedantic(lambda: hdr(SPACE, backend="scipy"), rounds=3)
