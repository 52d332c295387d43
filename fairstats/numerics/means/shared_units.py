"""Sampling units whose rows lie in several strata: what estimates of the strata share.

With t_uh what unit u adds to the error of the estimate of stratum h, Σ_u t_uh·t_uk is the covariance
of two strata. A sum Σ ω·v over strata has the variance Σ ω_h ω_k cov_hk; limits of each stratum are
joined by MOVER for estimates that correlate, with r = cov_hk/√(cov_hh cov_kk) and l, u the limits,

    V − √(Σ ω_h ω_k r_hk (v − l)_h (v − l)_k)      and      V + √(Σ ω_h ω_k r_hk (u − v)_h (u − v)_k).

Degrees of freedom of the variance, with a_uh the share of unit u in the weight of stratum h, S_hk =
Σ_u a_uh·a_uk, and s_h² the variance in stratum h by S_hh, c = ω·s:

    ν = (1 − Σ c_h c_k S_hk²/A)·A²/Σ b_h b_k S_hk,    A = Σ c_h c_k S_hk,    b_h = c_h Σ_k S_hk c_k,

by Satterthwaite, less what the estimates of the strata take (`numerics/rates/stratum_design.py`).

References: Satterthwaite (1946), Biometrics Bulletin 2, 110–114; Zou, Donner (2008), Construction of
confidence limits about effect measures, Statistics in Medicine 27, 1693–1702.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats


def degrees_of_freedom(slopes: Floats, weights: Floats) -> float:
    """ν of Σ ω·v over strata, `slopes` the c, `weights` the S."""
    pulled = slopes * (weights @ slopes)
    total = float(pulled.sum())
    lost = float(slopes @ weights**2 @ slopes) / total
    return (1 - lost) * total**2 / float(pulled @ weights @ pulled)


def products_between_strata(
    unit: NDArray[np.intp],
    cell: NDArray[np.intp],
    values: Floats,
    shape: tuple[int, int],
    others: Floats | None = None,
) -> Floats:
    """Σ_u t_uh·t_uk of every side, shape (sides, H, H).

    `unit`, `values`: of every row, whose sums are the t; `cell`: its crossing of stratum and side,
    the sides of a stratum next to each other; `shape`: numbers of strata and of sides; `others`:
    whose sums are the t_uk, default the same.
    """
    from scipy.sparse import coo_array

    n_strata, n_sides = shape
    codes = np.unique(unit, return_inverse=True)[1]
    n_units = int(codes.max(initial=-1)) + 1
    found = np.zeros((n_sides, n_strata, n_strata))
    stratum, side = np.divmod(cell, n_sides)
    for place in range(n_sides):
        own = side == place
        places = (codes[own], stratum[own])
        totals = coo_array((values[own], places), shape=(n_units, n_strata))
        of_others = totals
        if others is not None:
            of_others = coo_array((others[own], places), shape=(n_units, n_strata))
        found[place] = (totals.T @ of_others.tocsr()).toarray()
    return found


def shares_units(*products: Floats) -> bool:
    """Whether some strata have anything in common, of matrices of shape (H, H)."""
    return any(bool(np.triu(each, 1).any()) for each in products)


def correlations_of(products: Floats) -> Floats:
    """R of every side, from its Σ_u t_uh·t_uk; 1 on the diagonal, 0 where a stratum has no t."""
    deviations = np.sqrt(np.diagonal(products, axis1=1, axis2=2))
    scale = deviations[:, :, None] * deviations[:, None, :]
    found = np.divide(products, scale, out=np.zeros_like(products), where=scale > 0)
    places = np.arange(products.shape[1])
    found[:, places, places] = 1.0
    return np.asarray(found)


def root_of_products(distances: Floats, correlations: Floats | None) -> float:
    """√(Σ r·d_h·d_k), which is that of the sum of squares where nothing is shared."""
    if correlations is None or not np.isfinite(distances).all():
        return math.hypot(*distances.tolist())
    return math.sqrt(max(float(distances @ correlations @ distances), 0.0))
