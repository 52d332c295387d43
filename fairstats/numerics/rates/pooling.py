"""Partial pooling of one rate over groups.

A beta-binomial whose mean and concentration are integrated over a grid.

Of x_g successes in n_g trials of group g, with rates p_g ~ Beta(κm, κ(1 − m)),

    log p(x | m, κ) = Σ_g [log B(x_g + κm, n_g − x_g + κ(1 − m)) − log B(κm, κ(1 − m))],
    p_g | m, κ, x ~ Beta(x_g + κm, n_g − x_g + κ(1 − m)).

A priori m ~ Beta(½, ½), and log κ is normal. The posterior of (logit m, log κ) is evaluated on a
grid of log κ, at each point of which logit m has a grid of its own, as wide as its posterior there;
the trapezoid rule is exact to 1e-6 for such smooth functions that fall to nothing at both ends.
Draws are of the density that is bilinear between points.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, log_expit

from fairstats.ground.checks import Floats

#: Points of a grid: of log κ, and of logit m at each of them.
POINTS_KAPPA = 48
POINTS_MEAN = 64
#: Points of the coarser grids by which these are narrowed to where the density is.
POINTS_COARSE = 20
#: Log density below its largest at which a grid ends.
DEPTH = 25.0
#: Standard deviations of log κ a priori at which its grid begins and ends before it is narrowed.
PRIOR_REACH = 10.0
#: Logits of m at which its grid begins and ends before it is narrowed.
LOGIT_REACH = 40.0
#: Both parameters of the prior of m: with ½ a mean near 0 or 1 is not drawn away from it.
PRIOR_OF_MEAN = 0.5
#: Narrowings of a grid at most; each leaves as little as two steps of the coarse grid.
_NARROWINGS = 12
#: A grid of which the density fills this share is narrow enough.
_FILLED_SHARE = 0.6


@dataclass(frozen=True, eq=False)
class RatePosterior:
    """Posterior of logit m and log κ of one rate on a grid.

    `successes`, `trials`, shape (G,): counts, effective ones too; `log_kappa`, shape (K,):
    ascending, equally spaced; `low`, `high`, shape (K,): where the grid of logit m begins and ends
    at each log κ; `weights`, shape (K, M): probability of each point, which sum to 1.
    """

    successes: Floats
    trials: Floats
    log_kappa: Floats
    low: Floats
    high: Floats
    weights: Floats

    def draw(self, draws: int, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
        """Draws of m, κ, both of shape (draws,), and of the rate of every group, (draws, G)."""
        kappa_points, mean_points = self.weights.shape
        cumulative = np.cumsum(self.weights.ravel())
        drawn_points = np.searchsorted(cumulative, rng.random(draws) * cumulative[-1], side="right")
        kappa_index, mean_index = np.divmod(
            np.minimum(drawn_points, cumulative.size - 1), mean_points
        )

        # A triangular step around a point of the grid makes the density linear between the points.
        row_place = np.clip(kappa_index + _triangular_draws(draws, rng), 0, kappa_points - 1)
        column_place = np.clip(mean_index + _triangular_draws(draws, rng), 0, mean_points - 1)
        row_numbers = np.arange(kappa_points)
        lower_ends = np.interp(row_place, row_numbers, self.low)
        upper_ends = np.interp(row_place, row_numbers, self.high)
        logit_mean = lower_ends + (upper_ends - lower_ends) * column_place / (mean_points - 1)
        log_kappa = np.interp(row_place, row_numbers, self.log_kappa)

        # log of κm and κ(1 − m): a mean that rounds to 0 or 1 keeps its distance from them
        success_shape = np.exp(log_kappa + log_expit(logit_mean))
        failure_shape = np.exp(log_kappa + log_expit(-logit_mean))
        group_rates = rng.beta(
            success_shape[:, None] + self.successes,
            failure_shape[:, None] + (self.trials - self.successes),
        )
        return (
            success_shape / (success_shape + failure_shape),
            success_shape + failure_shape,
            group_rates,
        )

    def means(self) -> Floats:
        """Posterior mean of the rate of every group, shape (G,)."""
        n_means = self.weights.shape[1]
        steps = np.linspace(0.0, 1.0, n_means)
        logit_mean = self.low[:, None] + (self.high - self.low)[:, None] * steps
        success_shape = np.exp(self.log_kappa[:, None] + log_expit(logit_mean))
        kappa = np.exp(self.log_kappa)[:, None]
        means = np.empty(self.successes.size)
        for group in range(means.size):
            conditional = (self.successes[group] + success_shape) / (self.trials[group] + kappa)
            means[group] = float((self.weights * conditional).sum())
        return means


def _triangular_draws(size: int, rng: np.random.Generator) -> Floats:
    """Triangular variables on (−1, 1)."""
    return np.asarray(rng.random(size) - rng.random(size))


def pool_rate(
    successes: Floats, trials: Floats, concentration: tuple[float, float]
) -> RatePosterior:
    """The posterior of mean and concentration of one rate.

    `successes`, `trials`, shape (G,): of every group, 0 ≤ successes ≤ trials; `concentration`:
    median of κ a priori, and standard deviation of log κ.
    """
    informative = trials > 0
    counts = successes[informative], trials[informative]
    log_median = np.log(concentration[0])
    log_spread = concentration[1]

    def density_at(log_kappa: Floats, points: int) -> tuple[Floats, Floats, Floats]:
        """Ends of the grid of logit m at every log κ, (K,), and the log density there, (K,
        points).
        """
        lower_ends, upper_ends = _ends_of_means(*counts, log_kappa)
        logit_mean = lower_ends[:, None] + (upper_ends - lower_ends)[:, None] * np.linspace(
            0.0, 1.0, points
        )
        log_density_found = log_marginal(*counts, logit_mean, log_kappa[:, None])
        log_density_found -= 0.5 * ((log_kappa[:, None] - log_median) / log_spread) ** 2
        # a point of the grid of logit m stands for a stretch of it that differs from row to row
        log_density_found += np.log(upper_ends - lower_ends)[:, None]
        return lower_ends, upper_ends, log_density_found

    log_kappa_low = log_median - PRIOR_REACH * log_spread
    log_kappa_high = log_median + PRIOR_REACH * log_spread
    for _ in range(_NARROWINGS):
        log_kappa = np.linspace(log_kappa_low, log_kappa_high, POINTS_COARSE)
        marginal = np.logaddexp.reduce(density_at(log_kappa, POINTS_COARSE)[2], axis=1)
        near_largest = np.flatnonzero(marginal >= marginal.max() - DEPTH)
        first_point = max(int(near_largest[0]) - 1, 0)
        last_point = min(int(near_largest[-1]) + 1, POINTS_COARSE - 1)
        log_kappa_low = log_kappa[first_point]
        log_kappa_high = log_kappa[last_point]
        if last_point - first_point >= _FILLED_SHARE * (POINTS_COARSE - 1):
            break

    log_kappa = np.linspace(log_kappa_low, log_kappa_high, POINTS_KAPPA)
    lower_ends, upper_ends, log_density = density_at(log_kappa, POINTS_MEAN)
    weights = np.exp(log_density - log_density.max())
    return RatePosterior(
        successes=successes,
        trials=trials,
        log_kappa=log_kappa,
        low=lower_ends,
        high=upper_ends,
        weights=weights / weights.sum(),
    )


def _ends_of_means(successes: Floats, trials: Floats, log_kappa: Floats) -> tuple[Floats, Floats]:
    """Where the density of logit m begins and ends at every log κ, both of shape (K,)."""
    lower_ends = np.full(log_kappa.size, -LOGIT_REACH)
    upper_ends = np.full(log_kappa.size, LOGIT_REACH)
    grid_steps = np.linspace(0.0, 1.0, POINTS_COARSE)
    for _ in range(_NARROWINGS):
        logit_mean = lower_ends[:, None] + (upper_ends - lower_ends)[:, None] * grid_steps
        log_density = log_marginal(successes, trials, logit_mean, log_kappa[:, None])
        near_largest = log_density >= log_density.max(axis=1, keepdims=True) - DEPTH
        first_point = np.maximum(near_largest.argmax(axis=1) - 1, 0)
        last_point = np.minimum(
            POINTS_COARSE - near_largest[:, ::-1].argmax(axis=1), POINTS_COARSE - 1
        )
        lower_ends, upper_ends = (
            lower_ends + (upper_ends - lower_ends) * grid_steps[first_point],
            lower_ends + (upper_ends - lower_ends) * grid_steps[last_point],
        )
        if (last_point - first_point).min() >= _FILLED_SHARE * (POINTS_COARSE - 1):
            break
    return lower_ends, upper_ends


def log_marginal(successes: Floats, trials: Floats, logit: Floats, log_kappa: Floats) -> Floats:
    """Log density of (logit m, data) given κ, up to a constant.

    `logit` and `log_kappa` go together by broadcasting.
    """
    log_mean = log_expit(logit)
    log_rest = log_expit(-logit)
    kappa = np.exp(log_kappa)
    success_shape = np.exp(log_kappa + log_mean)
    failure_shape = np.exp(log_kappa + log_rest)
    # the Beta prior of m, and the derivative m(1 − m) of m by its logit
    log_density = PRIOR_OF_MEAN * (log_mean + log_rest)
    for added_counts, beta_shape in (
        (successes, success_shape),
        (trials - successes, failure_shape),
    ):
        log_density = log_density + _log_rising(beta_shape, added_counts)
    return np.asarray(log_density - _log_rising(kappa, trials))


def _log_rising(beta_shape: Floats, added_counts: Floats) -> Floats:
    """Σ_g log Γ(shape + added_g) − log Γ(shape), each distinct number of cases once."""
    values, multiplicities = np.unique(added_counts[added_counts > 0], return_counts=True)
    log_gamma_base = gammaln(beta_shape)
    log_sum = np.zeros_like(log_gamma_base)
    for added_cases, n_times in zip(values.tolist(), multiplicities.tolist(), strict=True):
        log_sum += n_times * (gammaln(beta_shape + added_cases) - log_gamma_base)
    return np.asarray(log_sum)
