"""Confidence limits for the binned distance δ_m = Σ_k |p0_k − p1_k| on a grid chosen without the labels.

|·| has a kink at 0, so the percentile bootstrap fails where groups are alike: resamples add noise, the limits
lie above the truth. The limits here hold for alike, close and distant groups:

* lower, by the directional delta method: MADD − δ_m ≤ Σ_near |h_k| + Σ_far sign(D_k)·h_k with h the noise of
  D̂. The quantile of the right side, |·| kept in the bins near 0, is subtracted.
* upper: Σ_k |D̂_k| ≥ Σ_k s_k D̂_k = δ_m + Σ_k s_k h_k for the true signs s, whatever they are. The largest
  standard error of Σ s_k h_k over the signs that the data leave open is used.

Since δ_m ≤ ∫|f0 − f1| for every m, the lower limit is one for the L1 distance, too; no upper one exists
there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fairstats.methods.madd.noise import Noise

__all__ = ["SMALLEST_GROUP", "DistanceLimits", "distance_limits", "near_zero"]

#: Groups with fewer effective rows, or clusters, give no lower limit but 0, and under weights or clusters no
#: upper one but 2: a variance of so few units is a guess.
SMALLEST_GROUP = 5


@dataclass(frozen=True, eq=False)
class DistanceLimits:
    """Where confidence limits for δ_m come from.

    Attributes
    ----------
    estimate : float
        MADD on the grid.
    excess : ndarray, shape (B,)
        Draws that bound MADD − δ_m from above in distribution, ascending; 2 in tiny groups.
    shortfall : float
        Largest standard error of Σ s_k D̂_k over the open signs; infinite where it cannot be told.
    n_near : int
        Bins whose sign is left open.
    degrees_of_freedom : float
    """

    estimate: float
    excess: NDArray[np.float64]
    shortfall: float
    n_near: int
    degrees_of_freedom: float

    def lower(self, probability: float) -> float:
        """Limit that lies below δ_m with at least this probability, in [0, 2]; 0 if the draws are too few."""
        if (1 - probability) * (self.excess.size + 1) < 1:
            return 0.0
        reach = float(np.quantile(self.excess, probability, method="higher"))
        return float(np.clip(self.estimate - reach, 0.0, 2.0))

    def upper(self, probability: float) -> float:
        """Limit that lies above δ_m with at least this probability, in [0, 2]."""
        from scipy.special import ndtri, stdtrit

        finite = np.isfinite(self.degrees_of_freedom)
        z = float(stdtrit(self.degrees_of_freedom, probability) if finite else ndtri(probability))
        return float(np.clip(self.estimate + z * self.shortfall, 0.0, 2.0))


def near_zero(noise: Noise, smallest: float) -> NDArray[np.bool_]:
    """Bins whose difference may be 0: |D̂_k| within √(log n) standard errors, √(2 log m) and 2.5 at least.

    Parameters
    ----------
    noise : Noise
    smallest : float
        Effective rows, or clusters, of the smaller group.
    """
    kappa = max(2.5, float(np.sqrt(np.log(smallest))), float(np.sqrt(2 * np.log(noise.difference.size))))
    return np.asarray(np.abs(noise.difference) <= kappa * noise.std_errors())


def distance_limits(
    noise: Noise, smallest: float, n_resamples: int, rng: np.random.Generator
) -> DistanceLimits:
    """Confidence limits for the binned distance.

    Parameters
    ----------
    noise : Noise
        Of the differences of bin shares.
    smallest : float
        Effective rows, or clusters, of the smaller group.
    n_resamples : int
    rng : numpy.random.Generator
    """
    near = near_zero(noise, smallest)
    drawn = noise.draws(near, n_resamples, rng)
    signed = drawn @ np.where(near, 0.0, np.sign(noise.difference))
    excess = np.abs(drawn[:, near]).sum(axis=1) + signed
    shortfall = float(np.sqrt(noise.worst_variance(near)))
    if smallest < SMALLEST_GROUP:
        excess = np.full(n_resamples, 2.0)
        shortfall = np.inf if noise.linearised else shortfall
    return DistanceLimits(
        estimate=float(np.abs(noise.difference).sum()),
        excess=np.sort(excess),
        shortfall=shortfall,
        n_near=int(near.sum()),
        degrees_of_freedom=noise.degrees_of_freedom,
    )
