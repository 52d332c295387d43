"""Functions of the cells of two groups within strata, and means of rates, by the delta method.

In stratum h a group g has the cells t_gh (c of them) among n_gh = Σ t_gh rows, held fixed. What is
compared is a function of the *standardised cells* of each group,

    T_g = n_g Σ_h W_h t_gh/n_gh,        n_g = Σ_h n_gh,        W_h = w_h/Σw,    w = n₁n₀/(n₁ + n₀),

the cells that it would have if both had the same strata, with the weights of Mantel and Haenszel; or
a mean of rates, each Σ_h ω_h r_gh with the weights ω of Mantel and Haenszel of its own cases. Where
a group is compared with everybody, everybody's cells in a stratum are those of the group and of all
others, and the weights the group's rows (or cases): observed against expected. With J_kgh the
derivative of value k in t_gh, n_gh held fixed, rows of independent multinomials have

    Cov(F_k, F_l) = κ Σ_gh [Σ_c J_k J_l t − (Σ_c J_k t)(Σ_c J_l t)/n],

and sampling units u, which may lie in several strata, Σ_u e_ku e_lu with e_ku = Σ_gh Σ_c (J_kgh −
Σ_c J_kgh t_gh/n_gh) t_ugh. Shares lose of their variance what the strata take from them, and

    κ = (1 − A)/(1 − λ),    A = Σ_u (Σ_h W_h a_uh)²,    λ = Σ_hk W_h W_k (Σ_u a_uh a_uk)²/A,

with a_uh the share of unit u in the rows of a stratum, gives it back: 1 in one stratum, n/(n − 1)
over many. Of such units a value has 1 + ν effective ones, ν as in
`numerics/rates/stratum_design.py`.

So many rows more in every cell, as the limits of functions without strata are about, are added to
the standardised cells at their worth, 1/Σ_h W²/n_h rows: every stratum has them in proportion to
its rows.

With one stratum all of this is what two groups without strata have.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats

#: Which groups the cells of the first and of the second value are of, beside a reference and beside
#: everybody.
_OF_TWO = np.eye(2)
_OF_ALL = np.array([[1.0, 0.0], [1.0, 1.0]])
#: Least share of their squares that residuals keep; below it strata have a row each.
_LEAST_KEPT = 1e-9


class Values(NamedTuple):
    """Both values, shape (2,), and their derivatives in the cells of both groups, shape (2, 2, H,
    c).
    """

    values: Floats
    slopes: Floats


@dataclass(frozen=True, eq=False)
class PairCells:
    """Cells of a group (position 0) and its reference (1) in H strata.

    `totals`, shape (2, H, c); `weight`, shape (H,): W, 0 in strata that both do not share; `of_all`:
    whether the second value is everybody's, and the reference here is all others.
    """

    totals: Floats
    weight: Floats
    of_all: bool

    @classmethod
    def of(cls, totals: Floats, *, of_all: bool) -> PairCells:
        """With the weights of these cells."""
        weight = common_weight(totals.sum(axis=2), of_all=of_all)
        return cls(totals=totals, weight=weight / _or_one(weight.sum()), of_all=of_all)

    @property
    def members(self) -> Floats:
        """Whether the cells of a value (first axis) hold those of a group (second)."""
        return _OF_ALL if self.of_all else _OF_TWO

    @property
    def shared(self) -> NDArray[np.bool_]:
        """Strata with rows of both, shape (H,)."""
        return np.asarray(self.weight > 0)

    @property
    def cells(self) -> Floats:
        """Of both values, shape (2, H, c)."""
        return np.asarray(np.einsum("kg,ghc->khc", self.members, self.totals))

    @property
    def factors(self) -> Floats:
        """What the cells of a stratum count by in the standardised ones, shape (2, H)."""
        sizes = self.cells.sum(axis=2)
        in_shared = np.where(self.shared, sizes, 0.0)
        return np.where(
            self.shared,
            in_shared.sum(axis=1, keepdims=True) * self.weight / _or_one(sizes),
            0.0,
        )

    @property
    def standardised(self) -> Floats:
        """T of both values, shape (2, c)."""
        return np.asarray(np.einsum("kh,khc->kc", self.factors, self.cells))

    @property
    def worth(self) -> Floats:
        """Rows that the standardised cells of each group are worth, shape (2,)."""
        sizes = np.where(self.shared, self.totals.sum(axis=2), np.inf)
        weight = np.stack([self.weight, self.weight])
        if self.of_all:
            others = sizes[1] / (sizes[0] + sizes[1])
            weight[1] = np.where(self.shared, self.weight * np.nan_to_num(others), 0.0)
        return np.asarray(weight.sum(axis=1) ** 2 / (weight**2 / sizes).sum(axis=1))

    def with_added(self, rows: float) -> PairCells:
        """With so many rows more in every standardised cell, at their worth."""
        share = (rows / self.worth)[:, None, None]
        of_stratum = self.totals.sum(axis=2, keepdims=True)
        return replace(self, totals=self.totals + share * of_stratum)

    def covariance(self, slopes: Floats) -> Floats:
        """Of both values of independent rows with these derivatives, shape (2, 2), without κ."""
        sizes = _or_one(self.totals.sum(axis=2))
        products = np.einsum("kghc,lghc,ghc->kl", slopes, slopes, self.totals)
        sums = np.einsum("kghc,ghc->kgh", slopes, self.totals)
        return np.asarray(products - np.einsum("kgh,lgh,gh->kl", sums, sums, 1 / sizes))

    def centred(self, slopes: Floats) -> Floats:
        """What the rows of a sampling unit add to the errors of both values, by their cells, shape
        (2, 2, H, c).
        """
        sizes = _or_one(self.totals.sum(axis=2))
        means = np.einsum("kghc,ghc->kgh", slopes, self.totals) / sizes
        centred = np.where(self.shared[:, None], slopes - means[..., None], 0.0)
        return np.asarray(centred)


def common_weight(sizes: Floats, *, of_all: bool) -> Floats:
    """Mantel and Haenszel's w = n₁n₀/(n₁ + n₀), beside everybody n₁; 0 where either has none.

    `sizes`, shape (2, H).
    """
    shared = (sizes > 0).all(axis=0)
    if of_all:
        return np.where(shared, sizes[0], 0.0)
    return np.where(shared, sizes[0] * sizes[1] / _or_one(sizes.sum(axis=0)), 0.0)


def of_function(pair: PairCells, function: Callable[[Floats], Floats]) -> Values:
    """F(T) of both; `function`: of the cells of any number of values, shape (k, c), to (k,)."""
    factors = pair.factors
    standardised = pair.standardised
    values = function(standardised)
    sizes = pair.cells.sum(axis=2)
    shares = pair.cells / _or_one(sizes)[..., None]
    variances = np.einsum("kh,khc->kc", factors**2 * sizes, shares * (1 - shares))
    gradients = np.stack(
        [
            _gradient(function, cells, np.sqrt(of_cells))
            for cells, of_cells in zip(standardised, variances, strict=True)
        ]
    )
    of_cells = factors[..., None] * gradients[:, None, :]
    slopes = np.einsum("kg,khc->kghc", pair.members, of_cells)
    return Values(values=values, slopes=slopes)


def difference_steps(point: Floats, std_errors: Floats) -> Floats:
    """Steps of numerical derivatives, a fraction of one standard error each."""
    return 1e-3 * np.where(std_errors > 0, std_errors, np.maximum(1.0, np.abs(point)))


def _gradient(function: Callable[[Floats], Floats], cells: Floats, std_errors: Floats) -> Floats:
    """Fourth-order central differences of a function at the cells of one value, shape (c,)."""
    steps = difference_steps(cells, std_errors)
    moved = np.diag(steps)
    near, before, far, far_before = np.split(
        function(cells + np.concatenate([moved, -moved, 2 * moved, -2 * moved])), 4
    )
    return np.asarray((8 * (near - before) - (far - far_before)) / (12 * steps))


def of_mean(
    pair: PairCells,
    rates: Sequence[tuple[NDArray[np.bool_], NDArray[np.bool_]]],
    weights: Sequence[Floats],
) -> Values:
    """The mean of rates of both.

    `rates`: of each whether a cell is a success, and whether it is a case, shape (c,); `weights`:
    ω, shape (H,), adding up to 1.
    """
    cells = pair.cells
    values = np.zeros(2)
    of_cells = np.zeros_like(cells)
    for (is_success, is_case), weight in zip(rates, weights, strict=True):
        cases = cells @ is_case.astype(np.float64)
        counted = _or_one(cases)
        rate = cells @ is_success.astype(np.float64) / counted
        values += (weight * rate).sum(axis=1) / len(rates)
        residual = is_case * (is_success - rate[..., None])
        of_cells += weight[:, None] * residual / counted[..., None] / len(rates)
    slopes = np.einsum("kg,khc->kghc", pair.members, of_cells)
    return Values(values=values, slopes=slopes)


class Units(NamedTuple):
    """Of both values, shape (2,): κ, and degrees of freedom ν."""

    kept: Floats
    degrees_of_freedom: Floats


def units_of_values(weight: Floats, shares: Floats) -> Units:
    """κ and ν of both values; `shares`, shape (2, H, H): Σ_u a_uh a_uk."""
    together = np.einsum("h,khj,j->k", weight, shares, weight)
    lost = np.einsum("h,khj,j->k", weight, shares**2, weight) / together
    pulled = weight * np.einsum("khj,j->kh", shares, weight)
    fourth = np.einsum("kh,khj,kj->k", pulled, shares, pulled)
    left = 1 - lost
    with np.errstate(divide="ignore", invalid="ignore"):
        kept = np.where(left > _LEAST_KEPT, (1 - together) / left, np.nan)
        df = left * together**2 / fourth
    return Units(kept=kept, degrees_of_freedom=df)


def _or_one(sizes: Floats) -> Floats:
    """Sizes, and 1 where there is none."""
    return np.asarray(np.where(sizes > 0, sizes, 1.0))
