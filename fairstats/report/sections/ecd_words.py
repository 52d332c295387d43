"""Definitions and citations of extreme counterfactual discrimination, for the methods paragraph."""

from __future__ import annotations

from fairstats.report.words import MetricWords

__all__ = ["INTERVALS", "REFERENCES", "WORDS"]

REFERENCES: dict[str, str] = {
    "monjezi": "Monjezi, V., Kreinovich, V., Trivedi, A. and Tizpaz-Niari, S. (2025). Fairness testing "
    "through extreme value theory. International Conference on Software Engineering.",
    "coles": "Coles, S. (2001). An Introduction to Statistical Modeling of Extreme Values. Springer.",
}

WORDS: dict[str, MetricWords] = {
    "average causal discrimination": MetricWords(
        "ACD: average causal discrimination",
        "Mean of CD = score with another value of the sensitive attribute − score as it is, per group, with "
        "its z-test; positive where the other value would have helped.",
        ("monjezi",),
    ),
    "ECD": MetricWords(
        "ECD: extreme counterfactual discrimination",
        "Difference of two groups' return levels of CD at 1,000 interactions, RL(m) = u + σ/ξ((mλ)^ξ − 1), "
        "the 1 − 1/m quantile, from the 50 largest values of each group. The test is the likelihood ratio of "
        "equal return levels with rate, scale and shape of both groups profiled, against Student's t with "
        "k − 3 degrees of freedom; the verdict compares it with 0.05. Tails of ties are not fitted: "
        "order statistics take their place, and there is no test.",
        ("monjezi", "coles"),
    ),
}

#: Method of an interval → what the report says about it, and the citations.
INTERVALS: dict[str, tuple[str, tuple[str, ...]]] = {
    "profile likelihood": (
        "profile likelihood: the values that the likelihood ratio does not reject, with the rate of "
        "exceedances profiled, too.",
        ("coles",),
    ),
}
