"""A change of a selection rate over time, split into case mix and treatment (Kitagawa 1955).

With π the share of cases with a favourable outcome and r₁, r₀ the selection rates of those and of the
others, the selection rate is πr₁ + (1 − π)r₀. Of its change from one period to another (Δ; a bar is
the mean of both periods)

    case mix   Δπ·(r̄₁ − r̄₀),            treatment   π̄·Δr₁ + (1 − π̄)·Δr₀,

which add up to it exactly. π, r₁, r₀ of both periods are independent binomial shares, so that by the
delta method

    Var(case mix)  = (r̄₁ − r̄₀)²·ΣV(π) + (Δπ/2)²·Σ[V(r₁) + V(r₀)],
    Var(treatment) = π̄²·ΣV(r₁) + (1 − π̄)²·ΣV(r₀) + [(Δr₁ − Δr₀)/2]²·ΣV(π),

sums over both periods, V of a share p of n cases p(1 − p)/n.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairstats.ground.checks import Floats


@dataclass(frozen=True, eq=False)
class Split:
    """Change, case mix and treatment of every group, shape (3, G), and their variances, alike."""

    estimates: Floats
    variances: Floats


def split_change(before: Floats, after: Floats) -> Split:
    """Both parts of the change of every group's selection rate.

    `before`, `after`: cells (tp, fp, fn, tn) of every group, shape (G, 4). NaN where a group lacks
    cases of either outcome in a period.
    """
    shares = []
    variances = []
    for cells in (before, after):
        tp, fp, fn, tn = np.asarray(cells, dtype=np.float64).T
        positive = tp + fn
        negative = fp + tn
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.stack([positive / (positive + negative), tp / positive, fp / negative])
            variance = share * (1 - share) / np.stack([positive + negative, positive, negative])
        shares.append(share)
        variances.append(variance)
    (mix_change, change_1, change_0) = shares[1] - shares[0]
    (mix_mean, mean_1, mean_0) = (shares[0] + shares[1]) / 2
    (mix_variance, variance_1, variance_0) = variances[0] + variances[1]
    case_mix = mix_change * (mean_1 - mean_0)
    treatment = mix_mean * change_1 + (1 - mix_mean) * change_0
    rates = [share[0] * share[1] + (1 - share[0]) * share[2] for share in shares]
    sizes = [np.asarray(cells, dtype=np.float64).sum(axis=1) for cells in (before, after)]
    of_change = sum(rate * (1 - rate) / size for rate, size in zip(rates, sizes, strict=True))
    of_mix = (mean_1 - mean_0) ** 2 * mix_variance
    of_mix = of_mix + (mix_change / 2) ** 2 * (variance_1 + variance_0)
    of_treatment = mix_mean**2 * variance_1 + (1 - mix_mean) ** 2 * variance_0
    of_treatment = of_treatment + ((change_1 - change_0) / 2) ** 2 * mix_variance
    return Split(
        estimates=np.stack([case_mix + treatment, case_mix, treatment]),
        variances=np.stack([np.asarray(of_change), of_mix, of_treatment]),
    )
