"""What weighted or clustered rows of two groups are worth in the strata of a confounder.

The rate of a group in stratum h is r_h = Σ w y/W_h over its cases, W_h = Σ w, and the sums of both
groups over the strata, Σ c_h r_h, have what `numerics/rates/strata.py` compares: c = w the weights
of Mantel and Haenszel of ratios and differences, w·∂S/∂r_h of odds ratios. A sampling unit u
(a cluster, or a row) adds to such a sum and takes of its cases

    e_u = Σ_h c_h Σ_{i in u, h} w_i (y_i − r_h)/W_h,        a_uh = Σ_{i in u, h} w_i/W_h,

over all strata in which it lies, so that clusters may lie in several. The effective cases of a
stratum are those that its weights allow, n_h = W_h²/Σ w² (Kish 1965), over one design factor of the
group,

    n*_h = n_h/D,    D = max(Σ_u e_u²·κ/Σ_h c_h² r_h(1 − r_h)/n_h, B),    κ = (ν + 1)/(ν − 1)·…,

with B = 1 of independent rows; of clusters B = τ·A/Σ c_h²/n_h with A = Σ_u (Σ_h c_h a_uh)² and τ
the variance of clusters that both groups show together, as `RateEstimates.effective` has it. The
residuals e_u lose a share λ = Σ_{h,k} c_h c_k (Σ_u a_uh a_uk)²/A of their squares to the rates that
they are taken from, 1/m of m equal units in one stratum, and have by Satterthwaite

    ν = (1 − λ)·A²/Σ_u (Σ_h a_uh b_h)²,        b_h = c_h Σ_u a_uh Σ_k c_k a_uk,

degrees of freedom: Σv²/(Σ v_h²/m_h) of units in one stratum each, v_h = c_h²/m_h. With one stratum
all of this is what two groups without strata have.

References: Kish (1965), Survey Sampling; Korn, Graubard (1998), Survey Methodology 24, 193–201;
Bell, McCaffrey (2002), Survey Methodology 28, 169–181; Satterthwaite (1946), Biometrics Bulletin 2,
110–114.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats
from fairstats.numerics.rates.score import Contrast
from fairstats.numerics.rates.strata import Strata, mantel_haenszel

#: Of a group and its reference, the first axis.
GROUP = 0
REFERENCE = 1
#: A variance below this share of that of independent rows is the rounding of sums.
ROUNDING = 1e-12
#: Least share of their squares that residuals are taken to keep.
_LEAST_KEPT = 0.25


@dataclass(frozen=True, eq=False)
class UnitSums:
    """One rate of a group (position 0) and its reference (1) in H strata, by sampling units.

    `of_all`: whether the group is compared with all rows, its own among them, and the reference here
    is all others; `rows`, `size`, `rate`, `worth`, shape (2, H) each: cases, W, r (0 without cases), and W²/Σw²;
    `errors`, shape (2, H, 2, H): Σ_u of products of Σ w(y − r)/W over the rows of u; `shares`,
    shape (2, H, H): Σ_u a_uh a_uk; `even`, shape (2,): whether the rows of a group have one weight
    in each stratum; `clustered`: whether units are clusters.
    """

    rows: NDArray[np.int64]
    size: Floats
    rate: Floats
    worth: Floats
    errors: Floats
    shares: Floats
    even: NDArray[np.bool_]
    clustered: bool
    of_all: bool = False

    @property
    def shared(self) -> NDArray[np.bool_]:
        """Strata with cases of both, shape (H,)."""
        return np.asarray((self.size > 0).all(axis=0))

    @property
    def weight(self) -> Floats:
        """Mantel and Haenszel's w = W₁W₀/(W₁ + W₀), beside everybody W₁, shape (H,)."""
        if self.of_all:
            return np.where(self.shared, self.size[GROUP], 0.0)
        total = np.where(self.shared, self.size.sum(axis=0), 1.0)
        return np.asarray(np.where(self.shared, self.size[0] * self.size[1] / total, 0.0))

    def at(self, stratum: int) -> UnitSums:
        """Of one stratum alone."""
        one = [stratum]
        return UnitSums(
            rows=self.rows[:, one],
            size=self.size[:, one],
            rate=self.rate[:, one],
            worth=self.worth[:, one],
            errors=self.errors[:, one][:, :, :, one],
            shares=self.shares[:, one][:, :, one],
            even=self.even,
            clustered=self.clustered,
            of_all=self.of_all,
        )

    @property
    def share_of_all(self) -> Floats | None:
        """The group's share in all cases of a stratum, by weights; None of two groups."""
        if not self.of_all:
            return None
        return share_in_all(self.size)

    @property
    def spread(self) -> bool:
        """Whether clusters lie in several strata that both groups share."""
        if not self.clustered:
            return False
        kept = self.shared
        between = self.shares[:, kept][:, :, kept].sum(axis=0)
        return bool((between - np.diag(np.diag(between)) > 0).any())

    def as_rows(self) -> Strata:
        """As if every row counted once: rates and sizes of rows, weights of Mantel and Haenszel by
        their weights.
        """
        return self._tables(self.worth)

    def _tables(self, cases: Floats) -> Strata:
        cases = np.where(self.shared, cases, 0.0)
        successes = self.rate * cases
        return Strata(
            k1=successes[GROUP],
            n1=cases[GROUP],
            k0=successes[REFERENCE],
            n0=cases[REFERENCE],
            sizes=self.weight,
            share=self.share_of_all,
        )

    def slopes(self, contrast: Contrast, theta: float) -> Floats:
        """Slopes c of both groups, shape (2, H): the derivative of Σ w S(θ) in their rates, without
        sign.
        """
        weight = self.weight
        if contrast != "odds_ratio":
            null = np.array([theta])
            factor, factor_of_reference = self.as_rows().terms(null, contrast)
            return np.stack([weight * factor, weight * factor_of_reference])
        rate, reference_rate = self.rate
        of_group = 1 - reference_rate + theta * reference_rate
        of_reference = rate + theta * (1 - rate)
        return np.stack([weight * of_group, weight * of_reference])

    def variance(self, slopes: Floats) -> Floats:
        """Σ_u of products of e_u of both groups, shape (2, 2)."""
        return np.asarray(np.einsum("gh,ghfk,fk->gf", slopes, self.errors, slopes))


def share_in_all(size: Floats) -> Floats:
    """Of the first of two groups in the cases of both, shape (H,); 0 without cases."""
    total = size.sum(axis=0)
    return np.asarray(size[0] / np.where(total > 0, total, 1.0))


class Worth(NamedTuple):
    """Effective counts, and the degrees of freedom of either group, shape (2,)."""

    tables: Strata
    degrees_of_freedom: Floats


def effective_strata(units: UnitSums, contrast: Contrast) -> Worth:
    """Effective successes and cases of every stratum, for one contrast."""
    theta = 1.0
    if contrast == "odds_ratio":
        estimate = float(mantel_haenszel(units.as_rows(), contrast))
        if 0 < estimate < np.inf:
            theta = estimate
    slopes = units.slopes(contrast, theta)
    if contrast == "ratio":
        slopes = units.slopes("difference", theta)
    squares = slopes**2
    worth = np.where(units.shared & (units.worth > 0), units.worth, np.inf)
    binomial = units.rate * (1 - units.rate)
    with np.errstate(divide="ignore", invalid="ignore"):
        # A, λ and ν of the units, and what A and λ are of rows
        of_units = np.einsum("gh,ghk,gk->g", slopes, units.shares, slopes)
        lost = np.einsum("gh,ghk,gk->g", slopes, units.shares**2, slopes) / of_units
        pulled = slopes * np.einsum("ghk,gk->gh", units.shares, slopes)
        fourth = np.einsum("gh,ghk,gk->g", pulled, units.shares, pulled)
        df = (1 - lost) * of_units**2 / fourth
        of_rows = (squares / worth).sum(axis=1)
        lost_rows = (squares / worth**2).sum(axis=1) / of_rows
        total = slopes.sum(axis=1) ** 2
        kept_units = (1 - of_units / total) / (1 - lost)
        kept_rows = (1 - of_rows / total) / (1 - lost_rows)
        if not units.clustered:
            kept_units = np.ones(2)
            kept_rows = np.ones(2)
        independent = (squares * binomial / worth).sum(axis=1)
        observed = np.diag(units.variance(slopes))
        small = np.maximum(1 - 2 / (df + 1), _LEAST_KEPT)
        factor = observed * kept_units / (small * independent * kept_rows)
        varies = observed > ROUNDING * independent
        least = np.ones(2)
        if units.clustered:
            clusters = of_units / of_rows
            unbiased = observed / (1 - lost)
            ratio = unbiased / (independent * kept_rows * clusters)
            least = clusters * _variance_of_clusters(ratio, clusters, df, varies)
            factor = np.where(varies, np.fmax(factor, least), clusters)
        else:
            factor = np.where(varies & ~units.even, np.fmax(factor, least), 1.0)
    cases = np.where(units.shared, units.worth, 0.0) / factor[:, None]
    return Worth(tables=units._tables(np.nan_to_num(cases)), degrees_of_freedom=df)


def _variance_of_clusters(
    ratio: Floats, cluster_sizes: Floats, df: Floats, varies: NDArray[np.bool_]
) -> Floats:
    """τ of either group, by both together: as `RateEstimates.variance_of_clusters`."""
    usable = varies & np.isfinite(ratio) & (df > 0)
    if not usable.any():
        return np.ones(2)
    weight = np.where(usable, df, 0.0)
    variances = np.where(usable, np.minimum(ratio, 1.0), 0.0)
    fewer_rows = np.minimum(cluster_sizes[None, :] / cluster_sizes[:, None], 1.0)
    return np.asarray((variances * np.nan_to_num(fewer_rows, nan=1.0)) @ weight / weight.sum())
