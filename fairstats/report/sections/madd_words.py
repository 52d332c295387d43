"""Definitions and citations of MADD, for the methods paragraph of a report."""

from __future__ import annotations

from fairstats.report.words import MetricWords

__all__ = ["INTERVALS", "REFERENCES", "TESTS", "WORDS"]

REFERENCES: dict[str, str] = {
    "verger": "Verger, M., Fan, C., Lallé, S., Bouchet, F. and Luengo, V. (2024). A comprehensive study on "
    "evaluating and mitigating algorithmic unfairness with the MADD metric. Journal of Educational Data "
    "Mining 16(1), 365–409.",
    "fang": "Fang, Z. and Santos, A. (2019). Inference on directionally differentiable functions. Review "
    "of Economic Studies 86, 377–412.",
    "pitman": "Pitman, E. J. G. (1937). Significance tests which may be applied to samples from any "
    "populations. Supplement to the Journal of the Royal Statistical Society 4, 119–130.",
    "holm": "Holm, S. (1979). A simple sequentially rejective multiple test procedure. Scandinavian "
    "Journal of Statistics 6, 65–70.",
    "binder": "Binder, D. A. (1983). On the variances of asymptotically normal estimators from complex "
    "surveys. International Statistical Review 51, 279–292.",
}

WORDS: dict[str, MetricWords] = {
    "madd": MetricWords(
        "MADD: distance between score distributions",
        "Σ_k |d_k − d_ref,k| over bins of the score, d_k the share of a group's rows (equation 3 of Verger "
        "et al.), from 0 (same histogram) to 2 (no bin in common), averaged over the stable stretch of "
        "bandwidths (Algorithm 1). It is biased upwards: null_mean is what alike groups would show. Its "
        "lower limit is one for the L1 distance of the densities; no upper limit exists without "
        "assumptions on smoothness.",
        ("verger",),
    ),
    "madd_binned": MetricWords(
        "Binned MADD: distance between histograms on a grid blind to the groups",
        "The same in ⌈1/h_sup⌉ bins, h_sup = ((√n₀+√n₁)/√(n₀n₁))^(2/3) (theorem 2). Interval, test and "
        "verdict are about the distance of the two histograms in these bins. Half of it bounds the "
        "difference of selection rates under any cut-off at an edge, so the threshold is twice the "
        "tolerance.",
        ("verger",),
    ),
    "madd_max": MetricWords(
        "MADD: the largest of all comparisons",
        "The largest binned distance, with limits that hold for all comparisons at once, and the "
        "permutation test of one distribution in all groups by the largest standardised MADD, which "
        "accounts for the search.",
        ("verger", "pitman"),
    ),
}

#: Method of an interval → what the report says about it, and the citations.
INTERVALS: dict[str, tuple[str, tuple[str, ...]]] = {
    "directional delta": (
        "directional delta: MADD less the quantile of its bootstrap noise, absolute values kept in the "
        "bins whose difference may be 0, up to MADD plus z times the largest standard error over the signs "
        "left open. It covers alike groups, too, where a percentile interval never does.",
        ("fang",),
    ),
}

#: Kind of test → what the report says about it, and the citations.
TESTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "exact": (
        "Equal score distributions are tested by permutation of the labels, exactly: p = (1 + #{MADD* ≥ "
        "MADD})/(B + 1).",
        ("pitman",),
    ),
    "clusters": (
        "Equal score distributions are tested by permutation of the labels of whole clusters.",
        ("pitman",),
    ),
    "holm": (
        "Holm's step-down adjustment controls the family-wise error.",
        ("holm",),
    ),
    "weighted": (
        "Weighted rows cannot be permuted: variances are linearised, and the test compares MADD with draws "
        "of the noise alone.",
        ("binder",),
    ),
}
