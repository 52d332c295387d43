"""Definitions and citations of the rate metrics, for the methods paragraph of a report."""

from __future__ import annotations

from fairstats.report.words import MetricWords

__all__ = ["INTERVALS", "REFERENCES", "TESTS", "WORDS"]

REFERENCES: dict[str, str] = {
    "besse": "Besse, P., del Barrio, E., Gordaliza, P. and Loubes, J.-M. (2018). Confidence intervals for "
    "testing disparate impact in fair learning. arXiv:1807.06362.",
    "eeoc": "U.S. Equal Employment Opportunity Commission (1978). Uniform guidelines on employee selection "
    "procedures, 29 CFR 1607.4(D): the four-fifths rule.",
    "hardt": "Hardt, M., Price, E. and Srebro, N. (2016). Equality of opportunity in supervised learning. "
    "Advances in Neural Information Processing Systems 29.",
    "chouldechova": "Chouldechova, A. (2017). Fair prediction with disparate impact. Big Data 5, 153–163.",
    "bellamy": "Bellamy, R. K. E. et al. (2019). AI Fairness 360. IBM Journal of Research and Development "
    "63(4/5).",
    "gardner": "Gardner, J., Brooks, C. and Baker, R. (2019). Evaluating the fairness of predictive "
    "student models through slicing analysis. LAK19, 225–234.",
    "katz": "Katz, D., Baptista, J., Azen, S. P. and Pike, M. C. (1978). Obtaining confidence intervals "
    "for the risk ratio in cohort studies. Biometrics 34, 469–474.",
    "miettinen": "Miettinen, O. and Nurminen, M. (1985). Comparative analysis of two rates. Statistics in "
    "Medicine 4, 213–226.",
    "koopman": "Koopman, P. A. R. (1984). Confidence intervals for the ratio of two binomial proportions. "
    "Biometrics 40, 513–517.",
    "mee": "Mee, R. W. (1984). Confidence bounds for the difference between two probabilities. Biometrics "
    "40, 1175–1176.",
    "zou": "Zou, G. Y. and Donner, A. (2008). Construction of confidence limits about effect measures. "
    "Statistics in Medicine 27, 1693–1702.",
    "efron": "Efron, B. (1987). Better bootstrap confidence intervals. JASA 82, 171–185.",
    "hothorn": "Hothorn, T., Bretz, F. and Westfall, P. (2008). Simultaneous inference in general parametric "
    "models. Biometrical Journal 50, 346–363.",
    "binder": "Binder, D. A. (1983). On the variances of asymptotically normal estimators from complex "
    "surveys. International Statistical Review 51, 279–292.",
    "korn": "Korn, E. L. and Graubard, B. I. (1998). Confidence intervals for proportions with small "
    "expected number of positive counts estimated from survey data. Survey Methodology 24, 193–201.",
    "schuirmann": "Schuirmann, D. J. (1987). A comparison of the two one-sided tests procedure and the power "
    "approach. Journal of Pharmacokinetics and Biopharmaceutics 15, 657–680.",
    "chan": "Chan, I. S. F. (1998). Exact tests of equivalence and efficacy with a non-zero lower bound for "
    "comparative studies. Statistics in Medicine 17, 1403–1413.",
    "holm": "Holm, S. (1979). A simple sequentially rejective multiple test procedure. Scandinavian "
    "Journal of Statistics 6, 65–70.",
    "manski": "Manski, C. F. (2003). Partial Identification of Probability Distributions. Springer.",
}

WORDS: dict[str, MetricWords] = {
    "disparate_impact": MetricWords(
        "Disparate impact: ratio of selection rates",
        "T = P(ŷ=1 | S=s) / P(ŷ=1 | S=reference), estimated by the ratio of the shares selected (Tₙ of "
        "Theorem 3.1 of Besse et al.). The threshold is that of the four-fifths rule.",
        ("besse", "eeoc"),
    ),
    "disparate_impact_labels": MetricWords(
        "Disparate impact of the labels: ratio of base rates",
        "P(Y=1 | S=s) / P(Y=1 | S=reference): the same ratio for the recorded outcomes. It describes the "
        "data, not the predictions.",
        ("besse",),
    ),
    "conditional_accuracy_1": MetricWords(
        "Conditional accuracy, label 1: ratio of true positive rates",
        "P(ŷ=1 | Y=1, S=s) / P(ŷ=1 | Y=1, S=reference): Rₙ of Besse et al., Theorem 3.2, as the plain "
        "ratio of rates.",
        ("besse",),
    ),
    "conditional_accuracy_0": MetricWords(
        "Conditional accuracy, label 0: ratio of true negative rates",
        "P(ŷ=0 | Y=0, S=s) / P(ŷ=0 | Y=0, S=reference) (Theorem 3.2).",
        ("besse",),
    ),
    "conditional_use_accuracy_1": MetricWords(
        "Conditional use accuracy, prediction 1: ratio of precisions",
        "P(Y=1 | ŷ=1, S=s) / P(Y=1 | ŷ=1, S=reference): Uₙ of Besse et al., Theorem 3.3.",
        ("besse",),
    ),
    "conditional_use_accuracy_0": MetricWords(
        "Conditional use accuracy, prediction 0: ratio of negative predictive values",
        "P(Y=0 | ŷ=0, S=s) / P(Y=0 | ŷ=0, S=reference) (Theorem 3.3).",
        ("besse",),
    ),
    "demographic_parity_difference": MetricWords(
        "Demographic parity: difference of selection rates",
        "P(ŷ=1 | S=s) − P(ŷ=1 | S=reference), also known as statistical parity difference.",
    ),
    "demographic_parity_difference_labels": MetricWords(
        "Demographic parity of the labels: difference of base rates",
        "P(Y=1 | S=s) − P(Y=1 | S=reference), for the recorded outcomes.",
    ),
    "equal_opportunity_difference": MetricWords(
        "Equal opportunity: difference of true positive rates",
        "P(ŷ=1 | Y=1, S=s) − P(ŷ=1 | Y=1, S=reference).",
        ("hardt",),
    ),
    "predictive_parity_difference": MetricWords(
        "Predictive parity: difference of precisions",
        "P(Y=1 | ŷ=1, S=s) − P(Y=1 | ŷ=1, S=reference).",
        ("chouldechova",),
    ),
    "average_odds_difference": MetricWords(
        "Average odds: mean of the differences of TPR and FPR",
        "½ [(TPRₛ − TPR_ref) + (FPRₛ − FPR_ref)]. Opposite differences cancel: read it beside equalised "
        "odds.",
        ("bellamy",),
    ),
    "tpr_difference": MetricWords(
        "Equalised odds: difference of true positive rates",
        "P(ŷ=1 | Y=1, S=s) − P(ŷ=1 | Y=1, S=reference), in one family with the false positive rates.",
        ("hardt",),
    ),
    "fpr_difference": MetricWords(
        "Equalised odds: difference of false positive rates",
        "P(ŷ=1 | Y=0, S=s) − P(ŷ=1 | Y=0, S=reference), in one family with the true positive rates.",
        ("hardt",),
    ),
    "demographic_parity_max": MetricWords(
        "Demographic parity: largest gap between any two groups",
        "max |P(ŷ=1 | S=s) − P(ŷ=1 | S=t)| over all pairs of groups. A maximum of estimates is biased "
        "upwards; its interval covers the population maximum with at least the nominal probability.",
        ("hothorn",),
    ),
    "equalized_odds_max": MetricWords(
        "Equalised odds: largest gap in TPR or FPR between any two groups",
        "The largest of |TPRₛ − TPRₜ| and |FPRₛ − FPRₜ| over all pairs of groups, with the interval of a "
        "maximum.",
        ("hardt", "hothorn"),
    ),
    "abroca": MetricWords(
        "ABROCA: area between ROC curves",
        "∫₀¹ |ROCₛ(t) − ROC_ref(t)| dt, exact for the empirical curves. As the size of a noisy difference "
        "it is biased upwards.",
        ("gardner",),
    ),
}

#: Method of an interval → (sentence, citations).
INTERVALS: dict[str, tuple[str, tuple[str, ...]]] = {
    "log": (
        "log: T·exp(±z·√[(1−r₀)/k₀ + (1−r₁)/k₁]), with r the two rates and k the two numbers of successes.",
        ("katz",),
    ),
    "delta": ("delta: estimate ± z·standard error; for a ratio Theorem 3.1 of Besse et al.", ("besse",)),
    "score": (
        "score: all values that the score test does not reject, with the factor N/(N−1) of Miettinen and "
        "Nurminen.",
        ("miettinen",),
    ),
    "koopman": ("koopman: all ratios that the score test does not reject, without N/(N−1).", ("koopman",)),
    "mee": ("mee: all differences that the score test does not reject, without N/(N−1).", ("mee",)),
    "score (MOVER)": (
        "score (MOVER): recovered from the score intervals of the two differences of rates.",
        ("zou", "miettinen"),
    ),
    "mee (MOVER)": ("mee (MOVER): recovered from the intervals of the two differences.", ("zou", "mee")),
    "bootstrap (BCa)": ("bootstrap: BCa over resampled cell counts.", ("efron",)),
    "simultaneous band": (
        "simultaneous band: [max(|d| − c·s)₊, max(|d| + c·s)] with c the critical value of the largest |z|.",
        ("hothorn",),
    ),
    "bootstrap of the curves": (
        "bootstrap of the curves: [(A − q)₊, A + q], q the quantile of the area between a resampled and "
        "the observed difference of curves; at least the nominal coverage.",
        (),
    ),
}

#: Kind of test → (sentence, citations).
TESTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "one-sided": (
        "Both directions are tested against the threshold: a small p-value of H0: ratio ≥ threshold shows "
        "a violation, of H0: ratio ≤ threshold shows compliance.",
        (),
    ),
    "equivalence": (
        "Equivalence is tested by two one-sided tests (TOST) of the whole range from threshold to "
        "1/threshold.",
        ("schuirmann",),
    ),
    "exact": (
        "Where a cell holds fewer than five rows, exact unconditional tests stand beside the asymptotic "
        "ones.",
        ("chan",),
    ),
    "holm": ("Holm's step-down adjustment controls the family-wise error.", ("holm",)),
    "weighted": (
        "Variances under weights or clusters are linearised over the sampling units, with Student's t on "
        "units − 1 degrees of freedom; the score method works with effective counts.",
        ("binder", "korn"),
    ),
    "worst case": (
        "Worst-case bounds are the extremes of the estimate over all values that the missing entries could "
        "have.",
        ("manski",),
    ),
}
