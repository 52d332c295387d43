"""How much less the rows of people know than independent rows.

The level of m observations is h = u + σ·((mλ)^ξ − 1)/ξ. Row i with the excess y·σ over the threshold
u moves its estimate by

    ψ_i = ∇h·(1 + ξ)/k·[2σ², −σ; −σ, 1 + ξ]·∇ℓ_i + σ·(mλ)^ξ·(1 − λ)/k,
    ∂ℓ_i/∂σ = (−1 + (1 + ξ)·y/(1 + ξy))/σ,   ∂ℓ_i/∂ξ = log(1 + ξy)/ξ² − (1 + 1/ξ)·y/(1 + ξy),

∇h being that in (σ, ξ) and the matrix the inverse of k times the expected information; a row below
the threshold by −σ·(mλ)^ξ·λ/k. The difference of two levels has the variance Σ_i ψ_i² (those of the
reference with the other sign) where rows are independent, and Σ_p (Σ_i ψ_i)², the inner sum over the
rows of person p, where they are people's (Liang & Zeger 1986). The ratio of the two is the design
effect d². A likelihood that takes rows as independent knows as much of k exceedances as they are worth
by k/d² (Chandler & Bate 2007): its signed root is d times too long, so that its mean, which falls as
1/√k does, is d²·μ and its standard deviation d·s.

Three parameters are fitted, so that sums of influences are too small by (G − 3)/G, G being the people
who own exceedances, and those of single rows by (k − 3)/k: both are undone first. Of few people nothing
is known: one person who owns all exceedances has the sum 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairstats.methods.ecd.root_law import TailsUnder
from fairstats.methods.ecd.sample import GroupSample
from fairstats.methods.ecd.tail import LEAST
from fairstats.numerics.evt.distributions import Floats
from fairstats.numerics.evt.fit import EvtFit

#: Nearer to 0 than this the logarithm of 1 + ξy is all its first terms.
_EXPONENTIAL = 1e-5
#: Of a tail: rate, scale, shape.
N_PARAMETERS = 3
#: People who own exceedances of a group, at least, for anything to be said: so many as exceedances.
LEAST_OWNERS = LEAST


@dataclass(frozen=True)
class ClusterEffect:
    """`std_error` of the difference of two levels over people; `design_effect`: its square by that
    over independent rows; `owners`: people who own exceedances, in the group with fewer.
    """

    std_error: float
    design_effect: float
    owners: float

    @property
    def rows_for_one(self) -> float:
        """How many rows know as much as one independent row: at least one, also where people who
        stand in both groups make the difference surer.
        """
        return max(self.design_effect, 1.0)


#: Rows are independent.
NO_CLUSTERS = ClusterEffect(std_error=math.nan, design_effect=1.0, owners=math.inf)


def has_shared_clusters(first: GroupSample, second: GroupSample) -> bool:
    """Whether people own several rows, within a group or over both."""
    if first.cluster is None or second.cluster is None:
        return False
    owners = np.concatenate([first.cluster, second.cluster])
    return bool(np.unique(owners).size < owners.size)


def effect_of_clusters(
    samples: Sequence[GroupSample], fits: Sequence[EvtFit], interactions: float
) -> ClusterEffect:
    """Of the difference of two groups' levels, first − second."""
    of_rows = []
    of_people = []
    owners = []
    numbers_of_owners = []
    for sign, sample, fit in zip((1.0, -1.0), samples, fits, strict=True):
        influence = sign * level_influence(sample, fit, interactions)
        owner = np.asarray(sample.cluster)
        n_owners = np.unique(owner[sample.values() > fit.origin]).size
        of_rows.append(influence * _by_parameters(fit.n_exceedances))
        of_people.append(influence * _by_parameters(n_owners))
        owners.append(owner)
        numbers_of_owners.append(n_owners)
    _, owner_codes = np.unique(np.concatenate(owners), return_inverse=True)
    sum_of_person = np.bincount(owner_codes, weights=np.concatenate(of_people))
    variance = float(sum_of_person @ sum_of_person)
    variance_of_rows = float(np.sum(np.concatenate(of_rows) ** 2))
    return ClusterEffect(
        std_error=math.sqrt(variance),
        design_effect=variance / variance_of_rows,
        owners=min(numbers_of_owners),
    )


def _by_parameters(number: int) -> float:
    """What undoes the loss by the fitted parameters in a standard deviation of so many."""
    return math.sqrt(number / max(number - N_PARAMETERS, 1))


def level_influence(sample: GroupSample, fit: EvtFit, interactions: float) -> Floats:
    """ψ: by how much each row moves the level of so many interactions, shape (n,)."""
    values = sample.values()
    is_exceedance = values > fit.origin
    k = int(is_exceedance.sum())
    rate = k / values.size
    scale = fit.scale
    shape = fit.shape
    y = (values[is_exceedance] - fit.origin) / scale
    # the largest excess of a tail at the edge ξ = −1 lies at its end point, where scores are infinite
    stretch = np.maximum(1.0 + shape * y, 1.0 / (k + 1))
    score_of_scale = (-1.0 + (1.0 + shape) * y / stretch) / scale
    if abs(shape) < _EXPONENTIAL:
        score_of_shape = 0.5 * y**2 - y
    else:
        score_of_shape = np.log(stretch) / shape**2 - (1.0 + 1.0 / shape) * y / stretch
    tail = TailsUnder(
        exceedances=k,
        total=float(values.size),
        log_period=math.log(interactions),
        scale=np.array([scale]),
        shape=np.array([shape]),
        log_rate=np.array([math.log(rate)]),
    )
    in_scale, in_shape, in_rate = tail.level_partials()
    known_shape = tail.known_shape
    for_scale = 2.0 * scale**2 * in_scale - scale * in_shape
    for_shape = -scale * in_scale + (1.0 + known_shape) * in_shape
    of_excesses = (1.0 + known_shape) * (for_scale * score_of_scale + for_shape * score_of_shape)
    influence = np.repeat(-in_rate * rate / k, values.size)
    influence[is_exceedance] += (of_excesses + in_rate) / k
    return influence
