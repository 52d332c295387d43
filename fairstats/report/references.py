"""The papers that a report cites, by the keys of its words and of the registry of metrics."""

from __future__ import annotations

#: Key → paper; the registry's metrics may cite papers in full.
REFERENCES: dict[str, str] = {
    "angelopoulos": (
        "Angelopoulos, A. N., Bates, S., Fannjiang, C., Jordan, M. I. and Zrnic, T. "
        "(2023). Prediction-powered inference. Science 382, 669–674."
    ),
    "athey": (
        "Athey, S. and Imbens, G. (2016). Recursive partitioning for heterogeneous causal effects. "
        "PNAS 113, 7353–7360."
    ),
    "barrainkua": (
        "Barrainkua, A., Gordaliza, P., Lozano, J. A. and Quadrianto, N. (2024). "
        "Uncertainty matters: stable conclusions under unstable assessment of "
        "fairness results. AISTATS 27, PMLR 238."
    ),
    "bellamy": (
        "Bellamy, R. K. E. et al. (2019). AI Fairness 360. IBM Journal of Research "
        "and Development 63(4/5)."
    ),
    "benjamini": (
        "Benjamini, Y. and Yekutieli, D. (2001). The control of the false discovery rate in "
        "multiple testing under dependency. Annals of Statistics 29, 1165–1188."
    ),
    "besse": (
        "Besse, P., del Barrio, E., Gordaliza, P. and Loubes, J.-M. (2018). "
        "Confidence intervals for testing disparate impact in fair learning. "
        "arXiv:1807.06362."
    ),
    "blinder": (
        "Blinder, A. S. (1973). Wage discrimination: reduced form and structural estimates. "
        "Journal of Human Resources 8, 436–455."
    ),
    "bian": (
        "Bian, Y. and Luo, Y. (2024). Does machine bring in extra bias in learning? "
        "Approximating fairness in models promptly."
    ),
    "biddle": (
        "Biddle, D. A. and Morris, S. B. (2011). Using Lancaster's mid-P correction "
        "to the Fisher's exact test for adverse impact analyses. Journal of Applied "
        "Psychology 96, 956–965."
    ),
    "binder": (
        "Binder, D. A. (1983). On the variances of asymptotically normal estimators "
        "from complex surveys. International Statistical Review 51, 279–292."
    ),
    "caelen": (
        "Caelen, O. (2017). A Bayesian interpretation of the confusion matrix. Annals "
        "of Mathematics and Artificial Intelligence 81, 429–450."
    ),
    "cherian": (
        "Cherian, J. J. and Candès, E. J. (2024). Statistical inference for fairness auditing. "
        "Journal of Machine Learning Research 25."
    ),
    "chan": (
        "Chan, I. S. F. (1998). Exact tests of equivalence and efficacy with a "
        "non-zero lower bound for comparative studies. Statistics in Medicine 17, "
        "1403–1413."
    ),
    "chen": (
        "Chen, J., Kallus, N., Mao, X., Svacha, G. and Udell, M. (2019). Fairness "
        "under unawareness: assessing disparity when protected class is unobserved. "
        "FAT* 2019, 339–348."
    ),
    "chandler": (
        "Chandler, R. E. and Bate, S. (2007). Inference for clustered data using the "
        "independence loglikelihood. Biometrika 94, 167–183."
    ),
    "chouldechova": (
        "Chouldechova, A. (2017). Fair prediction with disparate impact. Big Data 5, 153–163."
    ),
    "coles": (
        "Coles, S. (2001). An Introduction to Statistical Modeling of Extreme Values. Springer."
    ),
    "corp": (
        "Dimitriadis, T., Gneiting, T., Jordan, A. I. (2021). Stable reliability diagrams for "
        "probabilistic classifiers. PNAS 118, e2016191118."
    ),
    "eeoc": (
        "U.S. Equal Employment Opportunity Commission (1978). Uniform guidelines on "
        "employee selection procedures, 29 CFR 1607.4(D): the four-fifths rule."
    ),
    "efron": "Efron, B. (1987). Better bootstrap confidence intervals. JASA 82, 171–185.",
    "fang": (
        "Fang, Z. and Santos, A. (2019). Inference on directionally differentiable "
        "functions. Review of Economic Studies 86, 377–412."
    ),
    "fieller": (
        "Fieller, E. C. (1954). Some problems in interval estimation. Journal of the "
        "Royal Statistical Society B 16, 175–185."
    ),
    "gardner": (
        "Gardner, J., Brooks, C. and Baker, R. (2019). Evaluating the fairness of "
        "predictive student models through slicing analysis. LAK19, 225–234."
    ),
    "hall": (
        "Hall, P. (1992). On the removal of skewness by transformation. Journal of the "
        "Royal Statistical Society B 54, 221–228."
    ),
    "hardt": (
        "Hardt, M., Price, E. and Srebro, N. (2016). Equality of opportunity in "
        "supervised learning. Advances in Neural Information Processing Systems 29."
    ),
    "holm": (
        "Holm, S. (1979). A simple sequentially rejective multiple test procedure. "
        "Scandinavian Journal of Statistics 6, 65–70."
    ),
    "honest": (
        "Dimitriadis, T., Dümbgen, L., Henzi, A., Puke, M., Ziegel, J. (2023). Honest calibration "
        "assessment for binary outcome predictions. Biometrika 110, 663–680."
    ),
    "hothorn": (
        "Hothorn, T., Bretz, F. and Westfall, P. (2008). Simultaneous inference in "
        "general parametric models. Biometrical Journal 50, 346–363."
    ),
    "imbens": (
        "Imbens, G. W. and Manski, C. F. (2004). Confidence intervals for partially "
        "identified parameters. Econometrica 72, 1845–1857."
    ),
    "ji": (
        "Ji, W., Lei, L. and Spector, A. (2023). Model-agnostic covariate-assisted "
        "inference on partially identified causal effects. arXiv:2310.08115."
    ),
    "jann": (
        "Jann, B. (2008). The Blinder–Oaxaca decomposition for linear regression models. Stata "
        "Journal 8, 453–479."
    ),
    "kallus": (
        "Kallus, N., Mao, X. and Zhou, A. (2022). Assessing algorithmic fairness with "
        "unobserved protected class using data combination. Management Science 68, "
        "1959–1981."
    ),
    "katz": (
        "Katz, D., Baptista, J., Azen, S. P. and Pike, M. C. (1978). Obtaining "
        "confidence intervals for the risk ratio in cohort studies. Biometrics 34, "
        "469–474."
    ),
    "kitagawa": (
        "Kitagawa, E. M. (1955). Components of a difference between two rates. JASA 50, 1168–1194."
    ),
    "koopman": (
        "Koopman, P. A. R. (1984). Confidence intervals for the ratio of two binomial "
        "proportions. Biometrics 40, 513–517."
    ),
    "korn": (
        "Korn, E. L. and Graubard, B. I. (1998). Confidence intervals for proportions "
        "with small expected number of positive counts estimated from survey data. "
        "Survey Methodology 24, 193–201."
    ),
    "manski": (
        "Manski, C. F. (2003). Partial Identification of Probability Distributions. Springer."
    ),
    "mee": (
        "Mee, R. W. (1984). Confidence bounds for the difference between two "
        "probabilities. Biometrics 40, 1175–1176."
    ),
    "miettinen": (
        "Miettinen, O. and Nurminen, M. (1985). Comparative analysis of two rates. "
        "Statistics in Medicine 4, 213–226."
    ),
    "mantel": (
        "Mantel, N. and Haenszel, W. (1959). Statistical aspects of the analysis of "
        "data from retrospective studies of disease. Journal of the National Cancer "
        "Institute 22, 719–748."
    ),
    "monjezi": (
        "Monjezi, V., Trivedi, A., Kreinovich, V. and Tizpaz-Niari, S. (2025). "
        "Fairness testing through extreme value theory. International Conference on "
        "Software Engineering."
    ),
    "nam": (
        "Nam, J. and Blackwelder, W. C. (2002). Analysis of the ratio of marginal "
        "probabilities in a matched-pair setting. Statistics in Medicine 21, 689–699."
    ),
    "oaxaca": (
        "Oaxaca, R. (1973). Male–female wage differentials in urban labor markets. International "
        "Economic Review 14, 693–709."
    ),
    "pitman": (
        "Pitman, E. J. G. (1937). Significance tests which may be applied to samples "
        "from any populations. Supplement to the Journal of the Royal Statistical "
        "Society 4, 119–130."
    ),
    "robbins": (
        "Robbins, H. (1970). Statistical methods related to the law of the iterated "
        "logarithm. Annals of Mathematical Statistics 41, 1397–1409."
    ),
    "sarndal": (
        "Särndal, C.-E., Swensson, B. and Wretman, J. (1992). Model Assisted Survey "
        "Sampling. Springer: chapter 9, two-phase sampling."
    ),
    "schuirmann": (
        "Schuirmann, D. J. (1987). A comparison of the two one-sided tests procedure "
        "and the power approach. Journal of Pharmacokinetics and Biopharmaceutics 15, "
        "657–680."
    ),
    "stoye": (
        "Stoye, J. (2009). More on confidence intervals for partially identified "
        "parameters. Econometrica 77, 1299–1315."
    ),
    "ugesp": (
        "Equal Employment Opportunity Commission (1978). Uniform guidelines on "
        "employee selection procedures. 29 CFR 1607."
    ),
    "verger": (
        "Verger, M., Fan, C., Lallé, S., Bouchet, F. and Luengo, V. (2024). A "
        "comprehensive study on evaluating and mitigating algorithmic unfairness with "
        "the MADD metric. Journal of Educational Data Mining 16(1), 365–409."
    ),
    "vickers": (
        "Vickers, A. J., Elkin, E. B. (2006). Decision curve analysis. Medical Decision Making "
        "26, 565–574."
    ),
    "ville": "Ville, J. (1939). Étude critique de la notion de collectif. Gauthier-Villars.",
    "zou": (
        "Zou, G. Y. and Donner, A. (2008). Construction of confidence limits about "
        "effect measures. Statistics in Medicine 27, 1693–1702."
    ),
}
