"""Where a cell of the calibration table claims less than "valid", the docstring and the result say
so.

Every such cell falls under a row of `SAID`: words of a docstring, and for what "fails" a sentence
that a result carries whose own data are in that regime. A new cell without a row fails the first
test."""

from __future__ import annotations

import json
import re
import sys
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import fairstats as fs

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # the folder of studies is no part of the package

from fairstats.numerics.rates.switch import needs_exact  # noqa: E402
from tests.calibration import __main__ as command  # noqa: E402
from tests.calibration import page  # noqa: E402
from tests.calibration.study import read_record  # noqa: E402


def _rates(k0: int, n0: int, k1: int, n1: int, **options: Any) -> list[str]:
    """Notes of a ratio of two rates; the first group is small."""
    counts = fs.results.SelectionCounts.from_counts(
        {"small": (k0, n0 - k0), "large": (k1, n1 - k1)}
    )
    return fs.disparate_impact(counts=counts, reference="large", **options).notes()


def _differences(k0: int, n0: int, k1: int, n1: int, **options: Any) -> list[str]:
    counts = fs.results.SelectionCounts.from_counts(
        {"small": (k0, n0 - k0), "large": (k1, n1 - k1)}
    )
    return fs.demographic_parity_difference(counts=counts, reference="large", **options).notes()


def _inferred() -> list[str]:
    """Notes of a result whose probabilities nobody checked."""
    shares = np.tile([0.98, 0.02], 200)
    hired = np.tile([1, 0, 0, 1], 100)
    told = {"a": shares, "b": 1 - shares}
    return fs.disparate_impact(hired, sensitive_probabilities=told, rng=1).notes()


def _weighted(function: Any, option: str) -> list[str]:
    """Fourteen of 60 rows of the small group are selected, with weights of CV 1.5, or eight
    clusters beside 300.
    """
    rng = np.random.default_rng(1)
    if option == "sample_weight":
        y = np.r_[np.ones(14), np.zeros(46), np.tile([1, 0], 450)].astype(int)
        group = np.repeat(["small", "large"], [60, 900])
        units = rng.lognormal(0, np.sqrt(np.log1p(1.5**2)), 960)
    else:
        units = np.repeat(np.arange(308), 10)
        y = (
            rng.random(units.size) < np.r_[rng.beta(4, 4, 8), rng.beta(50, 50, 300)][units]
        ).astype(int)
        group = np.where(units < 8, "small", "large")
    result = function(y_pred=y, sensitive_features=group, reference="large", **{option: units})
    assert result.verdict != "insufficient evidence"
    return list(result.notes())


def _weighted_function() -> list[str]:
    """Notes of F1 of 60 rows with weights of CV .7."""
    rng = np.random.default_rng(1)
    group = np.repeat(["small", "large"], [60, 500])
    y = rng.integers(0, 2, 560)
    predicted = np.where(rng.random(560) < 0.3, 1 - y, y)
    return fs.group_metric(
        y,
        predicted,
        metric="f1_difference",
        sensitive_features=group,
        sample_weight=rng.lognormal(0, 0.63, 560),
    ).notes()


def _tail(n: int) -> Any:
    x = np.random.default_rng(2).exponential(size=20 * n)
    return fs.evt.fit_gpd(x, np.sort(x)[-n - 1])


def _fit_by(method: Any) -> list[str]:
    x = np.random.default_rng(2).pareto(3.0, size=1_200)
    return list(fs.evt.fit_gpd(x, np.sort(x)[-61], method=method, backend="scipy").notes())


def _posterior(prior: str, groups: int) -> list[str]:
    counts = {f"g{g}": {"tp": 48, "tn": 47, "fp": 3, "fn": 2} for g in range(groups)}
    return list(fs.um_posterior(counts=counts, prior=prior, rng=1).notes())


def _pooled(concentration: tuple[float, float]) -> list[str]:
    counts = {f"g{g}": {"tp": 8, "tn": 7, "fp": 3, "fn": 2} for g in range(3)}
    return list(fs.um_hierarchical(counts, concentration=concentration, draws=200, rng=1).notes())


@cache
def _rows() -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(160, 2))
    return X, (X[:, 0] + rng.normal(size=160) > 0).astype(int), rng.integers(0, 2, 160)


def _cross_validated() -> list[str]:
    from sklearn.linear_model import LogisticRegression

    X, y, group = _rows()
    found = fs.um_cross_validate(
        LogisticRegression(),
        X,
        y,
        sensitive_features=group,
        cv=3,
        correlation="1/K",
        rng=1,
        progress=False,
    )
    return list(found.notes())


def _estimators() -> list[str]:
    from sklearn.linear_model import LogisticRegression

    X, y, group = _rows()
    models = {"one": LogisticRegression(), "other": LogisticRegression(C=0.01)}
    found = fs.um_compare_estimators(
        models,
        X,
        y,
        sensitive_features=group,
        metrics="accuracy",
        cv=3,
        correlation="1/K",
        rng=1,
        progress=False,
    )
    return list(found.notes())


def _medians_of_few_rows() -> list[str]:
    """Eight strata of 20 rows beside 100."""
    rng = np.random.default_rng(1)
    group = np.tile(np.repeat(["small", "large"], [20, 100]), 8)
    result = fs.means(
        rng.exponential(size=group.size),
        sensitive_features=group,
        strata=np.repeat(np.arange(8), 120),
        statistic="median",
        reference="large",
    )
    return list(result.stratified.notes())


def _quantiles_of_rising_weights() -> list[str]:
    """120 rows, of which the highest weigh most."""
    rng = np.random.default_rng(1)
    numbers = rng.normal(size=720)
    result = fs.means(
        numbers,
        sensitive_features=np.repeat(["small", "large"], [120, 600]),
        statistic=0.9,
        sample_weight=np.exp(0.83 * numbers),
        reference="large",
    )
    return list(result.notes())


def _roots_beside_all() -> list[str]:
    """400 rows beside 60 of twice the spread."""
    errors = np.random.default_rng(1).normal(size=460) * np.repeat([1, 2], [400, 60])
    return list(
        fs.prediction_errors(
            errors,
            np.zeros(460),
            sensitive_features=np.repeat(["large", "small"], [400, 60]),
            metric="root_mean_squared_error",
            comparisons="overall",
        ).notes()
    )


def _determination_in_strata() -> list[str]:
    """Three strata of 20 rows beside 200."""
    rng = np.random.default_rng(1)
    outcome = rng.normal(size=660)
    result = fs.prediction_errors(
        outcome,
        outcome + rng.normal(size=660),
        sensitive_features=np.tile(np.repeat(["small", "large"], [20, 200]), 3),
        strata=np.repeat(np.arange(3), 220),
        metric="r_squared",
        reference="large",
        rng=1,
    )
    return list(result.stratified.notes())


def _function_in_strata(**options: Any) -> list[str]:
    """F1 of 60 rows beside 240 in three strata."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 300)
    return fs.group_metric(
        y,
        np.where(rng.random(300) < 0.2, 1 - y, y),
        metric="f1",
        sensitive_features=np.where(np.arange(300) % 5 == 0, "small", "large"),
        strata=np.arange(300) % 3,
        **options,
    ).stratified.notes()


def _weighted_ratio_in_strata() -> list[str]:
    weight = np.random.default_rng(4).lognormal(0, 0.6, 300)
    return _function_in_strata(contrast="ratio", sample_weight=weight)


def _few_that_count_in_strata() -> list[str]:
    """F1 of 57 rows of which few are positive, or predicted to be."""
    rng = np.random.default_rng(5)
    y = (rng.random(400) < 0.12).astype(int)
    result = fs.group_metric(
        y,
        np.where(rng.random(400) < 0.05, 1 - y, y),
        metric="f1",
        sensitive_features=np.where(np.arange(400) % 7 == 0, "small", "large"),
        strata=np.arange(400) % 3,
    )
    notes: list[str] = result.stratified.notes()
    return notes


def _few_in_strata() -> list[str]:
    """Eight of a group in two strata."""
    y = np.r_[np.zeros(8), np.tile([1, 1, 0], 20)].astype(int)
    group = np.repeat(["small", "large"], [8, 60])
    stratum = np.r_[np.repeat([1, 2], 4), np.repeat([1, 2], 30)]
    result = fs.disparate_impact(y, sensitive_features=group, strata=stratum, reference="large")
    return list(result.notes())


class Said(NamedTuple):
    """Cells (patterns of room, method, and remark or regime), words of a docstring, words of a
    result.
    """

    room: str
    method: str
    why: str
    where: Any
    words: str
    result: Callable[[], list[str]] | None = None
    note: str = ""


def _with_covariates(method: str) -> list[str]:
    rng = np.random.default_rng(1)
    x = rng.exponential(size=500)
    z = rng.random(500)
    fit = fs.evt.fit_gpd(x, 1.0, covariates={"z": z}, scale="~ z")
    return fit.return_level(100, {"z": 0.5}, method=method).levels[0].notes()


def _level_of_few_maxima() -> list[str]:
    year = np.linspace(-1.0, 1.0, 30)
    maxima = np.random.default_rng(1).gumbel(size=30)
    fit = fs.evt.fit_gev(maxima, covariates={"year": year}, location="~ year")
    return fit.return_level(50, {"year": 1.0}).levels[0].notes()


RATIO = fs.disparate_impact
DIFFERENCE = fs.demographic_parity_difference
EVT = fs.evt
FEW = "may be too narrow where fewer than 5 successes or failures are expected"
CONSERVATIVE = "Exact tests are conservative"
LIBERAL = "too liberal beside a small group"
SAID = (
    Said(
        "rates", r"worst_case_bounds", "", fs.results.RatioResult.worst_case_bounds, "conservative"
    ),
    *(
        Said(
            "rates",
            rf"{f.__name__}\({option}",
            why,
            f,
            words,
            lambda f=f, option=option: _weighted(f, option),
            "limits are wider for it",
        )
        for f in (RATIO, DIFFERENCE)
        for option, why, words in (
            (
                "sample_weight",
                "^ |go with the outcome",
                "weights that go with the outcome (CV 1: .075",
            ),
            (
                "cluster",
                "^ |hold together far more",
                "clusters that hold together ten times as much",
            ),
        )
    ),
    Said("rates", r"\(agg='max'", "", DIFFERENCE, "coverage is at least nominal"),
    Said("rates", r"simultaneous=|reference='highest'", "", RATIO, "coverage is at least nominal"),
    *(
        Said(
            "rates",
            rf"{f.__name__}\(method='{method}'\)",
            "",
            f,
            LIBERAL,
            lambda make=make, method=method: make(9, 30, 45, 100, method=method),
            LIBERAL,
        )
        for f, make, methods in (
            (RATIO, _rates, ("log", "delta")),
            (DIFFERENCE, _differences, ("delta",)),
        )
        for method in methods
    ),
    *(
        Said(
            "rates",
            rf"{f.__name__}\(method='bootstrap'\)",
            "",
            f,
            "fewer than 5",
            lambda make=make: make(3, 30, 4, 30, method="bootstrap", n_resamples=199, rng=1),
            "may be far off",
        )
        for f, make in ((RATIO, _rates), (DIFFERENCE, _differences))
    ),
    Said(
        "rates",
        r"\(\)|\(label=1\)|\(prediction=0\)|_labels'\)|false_omission",
        "",
        RATIO,
        CONSERVATIVE,
    ),
    Said(
        "rates", r"parity_difference\(\)|opportunity_difference\(\)", "", DIFFERENCE, CONSERVATIVE
    ),
    *(
        Said(
            "rates",
            rf"method='{method}'",
            "below five",
            f,
            FEW,
            lambda make=make, method=method: make(2, 40, 400, 2000, method=method),
            FEW,
        )
        for f, make, method in ((RATIO, _rates, "koopman"), (DIFFERENCE, _differences, "mee"))
    ),
    Said(
        "rates",
        r"group_metric\(metric='f1', contrast='difference', comparisons='overall'",
        "few effective rows",
        fs.group_metric,
        "errs in up to .077",
        _weighted_function,
        "limits of weighted functions",
    ),
    Said(
        "rates",
        r"group_metric\(metric='(f1|mcc|.*_ratio)",
        "",
        fs.group_metric,
        "they are conservative",
    ),
    Said(
        "strata",
        r"disparate_impact",
        "fewer than 20",
        RATIO,
        "With fewer than 20 cases of a group",
        _few_in_strata,
        "only equality is tested within strata",
    ),
    Said(
        "strata",
        r"disparate_impact",
        "holds equality wherever",
        fs.rates.stratified,
        "In small strata they are",
    ),
    Said(
        "strata",
        r"equality|homogeneity|Breslow",
        "",
        fs.rates.stratified,
        "In small strata they are conservative",
    ),
    Said(
        "anytime",
        r"disparate_impact",
        "",
        fs.disparate_impact,
        "hold at every look",
        lambda: _rates(20, 60, 300, 900, method="anytime", planned=2_000),
        "hold at every look",
    ),
    Said(
        "anytime",
        r"demographic_parity_difference",
        "",
        fs.demographic_parity_difference,
        "hold at every look",
        lambda: _differences(20, 60, 300, 900, method="anytime", planned=2_000),
        "hold at every look",
    ),
    Said("subgroups", r"subgroups", "", fs.subgroups, "holds under any dependence"),
    Said(
        "inferred",
        r"\(sensitive_probabilities=",
        "",
        fs.disparate_impact,
        "sharp",
        _inferred,
        "takes the probabilities to be right",
    ),
    Said("evt", r"exponentiality_test\(max_looks", "", EVT.exponentiality_test, "conservative"),
    Said(
        "evt",
        r"exponentiality_test\(rule",
        "",
        EVT.exponentiality_test,
        "not a critical value",
        lambda: EVT.exponentiality_test(np.arange(1.0, 500.0), rule="paper_raw").notes(),
        "it has no error level",
    ),
    Said(
        "evt",
        r"fit_gpd",
        "χ² is too short",
        EVT.fit_gpd,
        "Below 100 exceedances",
        lambda: _tail(30).notes(),
        "a little too narrow",
    ),
    Said(
        "evt",
        r"method='(lmoments|coles_dixon)'",
        "a normal interval",
        EVT.fit_gpd,
        "miss more on one side",
        lambda: _fit_by("lmoments") + _fit_by("coles_dixon"),
        "method='mle'",
    ),
    Said(
        "evt",
        r"return_level\(method='(delta|bootstrap)'",
        "upper end is too low",
        fs.results.EvtFit.return_level,
        "bootstrap intervals is too low",
        lambda: _tail(60).return_level(2000, method="delta").notes(),
        "The upper end is too low",
    ),
    Said(
        "evt",
        r"endpoint\(method='profile'\)",
        "too narrow",
        fs.results.EvtFit.endpoint,
        "too narrow below 300",
        lambda: _tail(60).endpoint(method="profile").notes(),
        "is too narrow",
    ),
    Said(
        "ecd",
        r"people with several rows",
        "",
        fs.ecd,
        "the signed root is compared with a law as much wider",
    ),
    Said("hdr", r"discrete=True", "", fs.hdr, "the set of the most frequent"),
    Said("evt", r"empirical_return_level", "", EVT.empirical_return_level, "conservative"),
    Said(
        "evt",
        r"mean_residual_life",
        "",
        EVT.mean_residual_life,
        "A picture to look at",
        lambda: EVT.mean_residual_life(np.random.default_rng(1).pareto(2, 1000)).notes(),
        "are too short",
    ),
    Said(
        "evt",
        r"extremal_index",
        "",
        EVT.extremal_index,
        "it covers .88",
        lambda: EVT.extremal_index(
            np.random.default_rng(1).exponential(size=1000), 3.0, rng=1
        ).notes(),
        "somewhat too narrow",
    ),
    Said("evt", r"choose_threshold\(false", "", EVT.choose_threshold, "conservative"),
    Said(
        "evt",
        r"choose_threshold",
        "too few values",
        EVT.choose_threshold,
        "Below 1,000 values",
        lambda: EVT.choose_threshold(
            np.random.default_rng(1).exponential(size=700), method="k_largest"
        ).notes(),
        "Insufficient evidence",
    ),
    Said(
        "evt",
        r"fit_gpd\(covariates",
        "for comparison",
        fs.results.CovariateFit.return_level,
        "too narrow",
        lambda: _with_covariates("profile") + _with_covariates("delta"),
        "this interval is too narrow",
    ),
    Said(
        "evt",
        r"fit_gev\(covariates",
        "few block maxima",
        fs.results.CovariateFit.return_level,
        "Levels of 50 of so few maxima cover",
        _level_of_few_maxima,
        "Few block maxima (30) with covariates",
    ),
    Said(
        "rates",
        r"clusters of both groups",
        "hold together strongly",
        DIFFERENCE,
        "in the same clusters with an ICC of .3 (.065)",
        lambda: _weighted(DIFFERENCE, "cluster"),
        "limits are wider for it",
    ),
    Said("classes", r"^group_metric", "", fs.group_metric, "errs in up to .06 of samples"),
    Said("classes", r"agg='max'", "", DIFFERENCE, "coverage is at least nominal"),
    Said("classes", r"simultaneous=", "", DIFFERENCE, "coverage is at least nominal"),
    Said("rates", r"comparisons='overall'", "", RATIO, "or against all rows, its own among them"),
    Said(
        "rates",
        r"agg='mean'",
        "",
        fs.group_metric,
        "from the limits of all pairs, and conservative",
    ),
    Said(
        "strata",
        r"contrast='odds_ratio'",
        "",
        fs.group_metric,
        "Limits of odds ratios within small strata",
    ),
    Said(
        "strata",
        r"conditional_demographic_disparity",
        "",
        fs.group_metric,
        "and of conditional demographic disparity, are conservative",
    ),
    Said("means", r"^means", "", fs.means, "conservative"),
    Said("means", r"^group_metric", "", fs.group_metric, "err on one side"),
    Said(
        "means",
        r"^group_metric",
        "BCa",
        fs.group_metric,
        "by BCa more often than by the studentised",
        lambda: fs.group_metric(
            np.random.default_rng(1).exponential(size=220),
            np.zeros(220),
            metric=lambda y_true, y_pred: float(np.mean(y_true)),
            sensitive_features=np.repeat(["a", "b"], [180, 40]),
            method="bca",
            n_resamples=199,
            n_permutations=0,
            rng=1,
        ).notes(),
        "limits err more often than they say",
    ),
    Said("means", r"decompose", "", fs.decompose, "coverage .94 to .97"),
    Said("means", r"scores", "", fs.scores, "the wider of two"),
    Said("means", r"calibration", "", fs.calibration, "coverage .947 to .970"),
    Said(
        "means",
        r"scores",
        "tail",
        fs.scores,
        "up to .079",
        lambda: fs.scores(
            [0, 1] * 220,
            np.random.default_rng(1).random(440),
            sensitive_features=np.repeat(["a", "b"], [400, 40]),
        ).notes(),
        "spread much",
    ),
    Said("means", r"prediction_errors", "", fs.prediction_errors, "as in `means`"),
    Said(
        "means",
        r"prediction_errors",
        "tail",
        fs.prediction_errors,
        "of fewer than 100 rows",
        lambda: fs.prediction_errors(
            np.random.default_rng(1).normal(size=440),
            np.zeros(440),
            sensitive_features=np.repeat(["a", "b"], [400, 40]),
        ).notes(),
        "long tail",
    ),
    Said(
        "means",
        r"homogeneity",
        "opposite sizes",
        fs.means,
        "up to .13 where tails are long",
        lambda: fs.means(
            np.random.default_rng(1).lognormal(size=440),
            sensitive_features=np.repeat(["a", "b"], [400, 40]),
            strata=np.arange(440) % 2,
        ).notes(),
        "long tail",
    ),
    Said(
        "means",
        r"means",
        "tail",
        fs.means,
        "worse where most",
        lambda: fs.means(
            np.random.default_rng(1).lognormal(size=440),
            sensitive_features=np.repeat(["a", "b"], [400, 40]),
        ).notes(),
        "long tail",
    ),
    Said("hfm", r"hfm", "nearly without power", fs.hfm, "nearly without power"),
    Said("hfm", r"hfm", "", fs.hfm, "conservative"),
    Said("hfm", r"discriminative_risk", "", fs.discriminative_risk, "conservative by construction"),
    Said("hfm", r"rank_rules", "", fs.rank_rules, "conservative"),
    Said("madd", r"madd", "", fs.madd, "conservative"),
    Said("paired", r"MaddMitigator", "", fs.MaddMitigator.evaluate, "conservative"),
    Said("paired", r"compare_models", "", fs.compare_models, "the interval is wide"),
    Said("power", r"abroca", "", fs.abroca, "It is conservative"),
    Said("ecd", r"fs\.ecd: ", "", fs.ecd, "the wider interval and the larger p-value stand"),
    Said("ecd", r"scores on a grid", "", fs.ecd, "on a coarse grid it is conservative"),
    Said("ecd", r"synthetic_quality", "", fs.synthetic_quality, "conservative"),
    *(
        Said(
            "um",
            rf"um_posterior\(prior='{prior}'\)\.metric\('(accuracy|equal_opp)",
            "",
            fs.um_posterior,
            "with fewer than about 10",
            lambda prior=prior: _posterior(prior, 8),
            "errors",
        )
        for prior in ("uniform", "jeffreys", "perks")
    ),
    Said(
        "um",
        r"demographic_parity_max",
        "",
        fs.um_posterior,
        "never 0 among draws",
        lambda: _posterior("uniform", 8),
        "never 0 among draws",
    ),
    Said("um", r"um_compare\(", "", fs.um_compare, "conservative"),
    Said(
        "um",
        r"um_cross_validate",
        "",
        fs.um_cross_validate,
        "demographic parity in 78 to 86% of samples",
        _cross_validated,
        "held its demographic parity in 78 to 86%",
    ),
    Said(
        "um",
        r"um_hierarchical",
        "",
        fs.um_hierarchical,
        "those of a group far from all others cover less",
        lambda: _pooled((20.0, 1.5)),
        "a larger median of κ takes groups to be more alike",
    ),
    Said(
        "hdr",
        r"level='in_sample'",
        "",
        fs.hdr,
        "93.4% at n = 100",
        lambda: list(
            fs.hdr(
                np.random.default_rng(1).normal(size=50), level="in_sample", backend="scipy"
            ).notes()
        ),
        "The level counts the kernel that each draw put on itself",
    ),
    Said(
        "means",
        r"means\(strata=, statistic='median'\)",
        "few skewed rows",
        fs.means,
        "of few skewed rows in many strata more",
        _medians_of_few_rows,
        "Quantiles of few skewed rows are biased alike in every stratum",
    ),
    Said(
        "means",
        r"means\(statistic=0.9, sample_weight=\)",
        "rise with the number",
        fs.means,
        "few effective rows beyond",
        _quantiles_of_rising_weights,
        "effective rows lie beyond a quantile",
    ),
    Said(
        "means",
        r"root_mean_squared_error', comparisons='overall'",
        "errors with a long tail|spreads",
        fs.prediction_errors,
        "groups spread unequally they err in up to .078",
        _roots_beside_all,
        "groups spread unequally",
    ),
    Said(
        "means",
        r"strata=, metric='r_squared'",
        "R² of few rows",
        fs.prediction_errors,
        "within strata normal 3 × 20/200 .071",
        _determination_in_strata,
        "R² of few rows",
    ),
    Said(
        "strata",
        r"strata=, (sample_weight|cluster|comparisons|classes)=|strata= of weights or clusters",
        "",
        fs.disparate_impact,
        "these limits are conservative (coverage .940 to .992)",
    ),
    Said(
        "strata",
        r"metric='(f1|mcc|balanced_accuracy)_(difference|ratio)', strata=",
        "",
        fs.group_metric,
        "they are conservative",
        _weighted_ratio_in_strata,
        "limits of ratios of weighted functions",
    ),
    Said(
        "strata",
        r"metric=jaccard, strata=",
        "",
        fs.group_metric,
        "of fewer in up to .09",
        _few_that_count_in_strata,
        "Few of the rows count",
    ),
    Said(
        "strata",
        r"a group's own rate",
        "",
        fs.scores,
        "limits of a group's own adjusted rate are conservative",
    ),
    Said(
        "um",
        r"um_compare_estimators",
        "",
        fs.um_compare_estimators,
        "leave out the spread between",
        _estimators,
        "held its demographic parity in 78 to 86%",
    ),
)


def test_every_cell_that_claims_less_has_its_words() -> None:
    """Peers apart: nothing is claimed for them."""
    lacking = []
    for cell in command.cells().values():
        if cell.claim == "valid" or cell.room == "peers":
            continue
        own = [
            said
            for said in SAID
            if said.room == cell.room
            and re.search(said.method, cell.method)
            and re.search(said.why, f"{cell.remark} {cell.regime}")
        ]
        if not own or (cell.claim == "fails" and not any(said.result for said in own)):
            lacking.append(cell.key)
    assert lacking == []


def test_docstrings_quote_the_worst_that_was_found() -> None:
    """Of families by the recorded search; of weights and clusters by the record."""
    cells = command.cells()
    record = read_record()
    search = json.loads(page.SEARCH.read_text(encoding="utf-8"))
    worst = search["worst where the score decides"][0]["of family"]
    found = [
        page.worst_of(f"rates . (?!.*agg=).*{option}=…", cells, record)
        for option in ("sample_weight", "cluster")
    ]
    largest = max(float(share.split(" ")[0]) for share, _ in found)
    for function in (RATIO, DIFFERENCE):
        words = " ".join(function.__doc__.split())
        assert f"over {search['settings']:,} settings" in words
        assert f"in more than .{10_000 * worst:04.0f}" in words
        assert f"verdicts wrong in at most .{1_000 * largest:03.0f}" in words
    assert f"in .{1_000 * worst:03.0f} (" in " ".join(needs_exact.__doc__.split())


@pytest.mark.parametrize("said", SAID, ids=lambda said: f"{said.room} {said.method} {said.why}")
def test_docstring_and_result_say_so(said: Said) -> None:
    assert said.words in " ".join(said.where.__doc__.split())
    if said.result is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", fs.FairstatsWarning)
            assert said.note in " ".join(said.result())
