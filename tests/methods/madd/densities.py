"""The densities of section 4.4 of Verger et al., with what is known of them exactly.

f0 is Γ(4, 1) at 11x and f1 the normal density at 10x − 5.5, that is N(0.55, sd 0.1), both cut to
[0, 1]. Equation 9 prints N(0.55, 1) at 10x instead, whose L1 distance from f0 is 1.4306 and which
would score group 1 lower, against the text."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.integrate import quad
from scipy.special import gammainc, gammaincinv, gammaln, ndtr, ndtri

__all__ = ["PRINTED", "RIGHT", "binned_distance", "distance_between", "draw", "l1_distance"]

Density = Callable[[float], float]

_GAMMA_MASS = float(gammainc(4, 11))


def gamma_density(x: float) -> float:
    """f0."""
    z = 11 * x
    return float(11 * np.exp(3 * np.log(max(z, 1e-300)) - z - gammaln(4)) / _GAMMA_MASS)


def normal_density(x: float) -> float:
    """f1 as the paper's numbers need it."""
    z = 10 * x - 5.5
    return float(10 * np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi) / (ndtr(4.5) - ndtr(-5.5)))


def printed_density(x: float) -> float:
    """f1 as equation 9 prints it."""
    z = 10 * x - 0.55
    return float(10 * np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi) / (ndtr(9.45) - ndtr(-0.55)))


#: The two densities, with the misprint put right, and as printed.
RIGHT: tuple[Density, Density] = (gamma_density, normal_density)
PRINTED: tuple[Density, Density] = (gamma_density, printed_density)


def l1_distance(densities: tuple[Density, Density]) -> float:
    """∫₀¹ |f0 − f1| of known densities."""
    first, second = densities
    grid = np.linspace(0, 1, 2001)
    gap = np.array([first(x) - second(x) for x in grid])
    crossings = grid[:-1][np.sign(gap[:-1]) != np.sign(gap[1:])]
    return float(
        quad(lambda x: abs(first(x) - second(x)), 0, 1, points=list(crossings), limit=500)[0]
    )


def binned_distance(n_bins: int) -> float:
    """δ_m of f0 and f1 in equally wide bins."""
    return distance_between(np.arange(1, n_bins) / n_bins)


def distance_between(inner: np.ndarray) -> float:
    """δ of f0 and f1 in bins with these inner edges, from their distribution functions."""
    edges = np.concatenate([[0.0], inner, [1.0]])
    first = gammainc(4, 11 * edges) / _GAMMA_MASS
    second = (ndtr(10 * edges - 5.5) - ndtr(-5.5)) / (ndtr(4.5) - ndtr(-5.5))
    return float(np.abs(np.diff(first - second)).sum())


def draw(n0: int, n1: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Scores of both groups by inversion: group 1 tends to score higher."""
    first = gammaincinv(4, rng.random(n0) * _GAMMA_MASS) / 11
    low = ndtr(-5.5)
    high = ndtr(4.5)
    second = (ndtri(low + rng.random(n1) * (high - low)) + 5.5) / 10
    return np.clip(first, 0, 1), np.clip(second, 0, 1)
