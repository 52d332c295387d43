"""Besse et al. (2018): what comes out on Adult, German credit and COMPAS.

Every interval of section 4 is that of theorem 3.1, the plain delta method.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal

import numpy as np

from fairstats.datasets import load_adult, load_compas, load_german_credit
from fairstats.ground.lazy import pd
from fairstats.ground.multiplicity import normal_quantile
from fairstats.methods.rates.inferred.result import InferredResult
from fairstats.methods.rates.ratios import conditional_accuracy, disparate_impact
from fairstats.methods.rates.result import RatioResult
from fairstats.report.replication.items import Outcome

Outcomes = Mapping[str, Outcome]
_SEED = 34
#: Samples of a simulation of counts, and of the empirical covariance.
_SAMPLES = 200_000
_Z = normal_quantile(0.975)


@cache
def _adult() -> pd.DataFrame:
    return load_adult(subset="besse").frame


@cache
def _compas() -> pd.DataFrame:
    return load_compas(subset="besse").frame


def _outcome_of(result: RatioResult | InferredResult) -> Outcome:
    low, high = result.confidence_interval
    return Outcome(float(result.estimate), float(low), float(high))


def _impact_on_adult(column: str, reference: str) -> RatioResult | InferredResult:
    frame = _adult()
    group = frame[column].eq(reference).map({True: reference, False: f"not {reference}"})
    return disparate_impact(
        frame["income"],
        sensitive_features=group,
        reference=reference,
        pos_label=">50K",
        method="delta",
    )


def _accuracy_on_compas(*, label: Literal[0, 1], errors: bool) -> RatioResult | InferredResult:
    """Ratio of P(Low | label): recidivism as label 1, the paper's, or no recidivism as 1."""
    frame = _compas()
    recidivist = frame["two_year_recid"].eq(1)
    return conditional_accuracy(
        recidivist if errors else ~recidivist,
        frame["score_text"].eq("Low"),
        sensitive_features=frame["race"],
        reference="Caucasian",
        label=label,
        method="delta",
    )


# ------------------------------------------------------------------------------- the theorems


def _sigma4(p0: float, p1: float, r0: float, r1: float, *, as_printed: bool) -> np.ndarray:
    """Covariance of (success₀, success₁, case₀, case₁), right or as theorems 3.2 and 3.3 print."""
    last = p0 * r1 if as_printed else -p0 * r1
    second = -p0 * r1 if as_printed else -p0 * p1
    return np.array(
        [
            [p0 * (1 - p0), second, p0 * (1 - r0), last],
            [second, p1 * (1 - p1), -p1 * r0, p1 * (1 - r1)],
            [p0 * (1 - r0), -p1 * r0, r0 * (1 - r0), -r0 * r1],
            [last, p1 * (1 - r1), -r0 * r1, r1 * (1 - r1)],
        ]
    )


def _sigma(shares: tuple[float, float, float, float], *, as_printed: bool) -> float:
    """σ = √(∇φᵀ Σ₄ ∇φ) with φ(x) = x₁x₄/(x₂x₃)."""
    p0, p1, r0, r1 = shares
    gradient = np.array(
        [r1 / (p1 * r0), -p0 * r1 / (p1**2 * r0), -p0 * r1 / (p1 * r0**2), p0 / (p1 * r0)]
    )
    return float(math.sqrt(gradient @ _sigma4(*shares, as_printed=as_printed) @ gradient))


def _theorem_31() -> Outcomes:
    """σ/√n of Σ₄ against the reported standard error, and the interval's coverage on Adult."""
    frame = _adult()
    rich = frame["income"].eq(">50K")
    male = frame["sex"].eq("Male")
    n = len(frame)
    shares = (
        float((rich & ~male).mean()),
        float((rich & male).mean()),
        float((~male).mean()),
        float(male.mean()),
    )
    result = _impact_on_adult("sex", "Male")
    error = _sigma(shares, as_printed=False) / math.sqrt(n)
    # p₀ and p₁ are joint shares: here every row is a case, so that Σ₄'s events fit theorem 3.1.
    p0, p1, r0, r1 = shares
    generator = np.random.default_rng(_SEED)
    cells = generator.multinomial(n, [p0, r0 - p0, p1, r1 - p1], size=_SAMPLES)
    k0 = cells[:, 0]
    d0 = cells[:, 0] + cells[:, 1]
    k1 = cells[:, 2]
    d1 = cells[:, 2] + cells[:, 3]
    ratio = (k0 / d0) / (k1 / d1)
    half = _Z * ratio * np.sqrt((1 - k0 / d0) / k0 + (1 - k1 / d1) / k1)
    truth = (p0 / r0) / (p1 / r1)
    covered = np.abs(ratio - truth) <= half
    return {
        "σ/√n less the standard error reported, relative": Outcome(error / result.std_error - 1),
        "coverage of the 95% interval": _share(covered),
    }


def _share(events: np.ndarray) -> Outcome:
    """A share over independent samples with its 95% Monte Carlo interval."""
    share = float(np.mean(events))
    half = _Z * math.sqrt(share * (1 - share) / len(events))
    return Outcome(share, share - half, share + half)


def _sigma_as_printed(success: Any, case: Any) -> Outcomes:
    """σ from the printed and the right Σ₄ over the standard deviation of simulated ratios."""
    frame = _compas()
    reference = frame["race"].eq("Caucasian").to_numpy()
    success = np.asarray(success) & np.asarray(case)
    case = np.asarray(case)
    n = len(frame)
    shares = (
        float(np.mean(success & ~reference)),
        float(np.mean(success & reference)),
        float(np.mean(case & ~reference)),
        float(np.mean(case & reference)),
    )
    p0, p1, r0, r1 = shares
    generator = np.random.default_rng(_SEED)
    cells = [p0, r0 - p0, p1, r1 - p1, 1 - r0 - r1]
    draws = generator.multinomial(n, cells, size=_SAMPLES)
    ratio = draws[:, 0] * (draws[:, 2] + draws[:, 3]) / (draws[:, 2] * (draws[:, 0] + draws[:, 1]))
    simulated = math.sqrt(n) * float(np.std(ratio))
    # The simulated σ differs from its limit by the Monte Carlo error and by a bias of order 1/n.
    reach = 0.02
    outcomes = {}
    for name, as_printed in (("Σ₄ as printed", True), ("Σ₄ with both entries put right", False)):
        value = _sigma(shares, as_printed=as_printed) / simulated
        outcomes[f"{name}: σ over the simulated σ"] = Outcome(value, value - reach, value + reach)
    return outcomes


def _theorem_32() -> Outcomes:
    frame = _compas()
    return _sigma_as_printed(frame["score_text"].eq("Low"), frame["two_year_recid"].eq(1))


def _theorem_33() -> Outcomes:
    frame = _compas()
    return _sigma_as_printed(frame["two_year_recid"].eq(0), frame["score_text"].eq("Low"))


def _definitions() -> Outcomes:
    """The "TPR" of section 4 by the printed definition, and as a plain ratio of rates."""
    frame = _compas()
    reference = frame["race"].eq("Caucasian")
    recidivist = frame["two_year_recid"].eq(1)
    share_0 = float((recidivist & ~reference).mean())
    share_1 = float((recidivist & reference).mean())
    plain = float(_accuracy_on_compas(label=1, errors=True).estimate)
    return {
        "CA₁ as defined, divided by the joint shares again": Outcome(plain * share_1 / share_0),
        "CA₁ as a ratio of rates": Outcome(plain),
    }


def _test_size() -> Outcomes:
    """P(√n(T − β)/σ̂ ≥ z₀.₉₅) where DI = β = 0.8, groups of Adult's sizes."""
    generator = np.random.default_rng(_SEED)
    frame = _adult()
    n1 = int(frame["sex"].eq("Male").sum())
    n0 = len(frame) - n1
    rate = float(frame.loc[frame["sex"].eq("Male"), "income"].eq(">50K").mean())
    k0 = generator.binomial(n0, 0.8 * rate, _SAMPLES)
    k1 = generator.binomial(n1, rate, _SAMPLES)
    ratio = (k0 / n0) / (k1 / n1)
    error = ratio * np.sqrt((1 - k0 / n0) / k0 + (1 - k1 / n1) / k1)
    return {"size of the z test at 5%": _share((ratio - 0.8) / error >= normal_quantile(0.95))}


# ---------------------------------------------------------------------------------- section 4


def _adult_rows() -> Outcomes:
    return {"rows": Outcome(float(len(_adult())))}


def _both_discriminate() -> Outcomes:
    """Both ratios below 0.8, and sex below race, resampled from the cells of sex × race × income."""
    frame = _adult()
    male = frame["sex"].eq("Male").to_numpy()
    white = frame["race"].eq("White").to_numpy()
    rich = frame["income"].eq(">50K").to_numpy()
    cells = np.bincount(4 * male + 2 * white + rich, minlength=8)
    generator = np.random.default_rng(_SEED)
    draws = generator.multinomial(len(frame), cells / len(frame), size=20_000).reshape(-1, 2, 2, 2)
    by_sex = draws.sum(axis=2)
    by_race = draws.sum(axis=1)

    def ratios(counts: np.ndarray) -> np.ndarray:
        rates = counts[:, :, 1] / counts.sum(axis=2)
        return np.asarray(rates[:, 0] / rates[:, 1])

    gap = ratios(by_race) - ratios(by_sex)
    low, high = np.quantile(gap, [0.025, 0.975])
    sex = _outcome_of(_impact_on_adult("sex", "Male"))
    race = _outcome_of(_impact_on_adult("race", "White"))
    return {
        "DI by sex": sex,
        "DI by origin": race,
        "DI by origin less DI by sex": Outcome(race.value - sex.value, float(low), float(high)),
    }


def _german(reference: str = "A202") -> RatioResult | InferredResult:
    frame = load_german_credit().frame
    return disparate_impact(
        frame["credit"],
        sensitive_features=frame["foreign_worker"],
        reference=reference,
        pos_label="good",
        method="delta",
    )


def _german_claim() -> Outcomes:
    """The one-sided upper limit, and the ratio with the codes put right."""
    right = _german(reference="A201")
    result = _german()
    upper = float(result.estimate + normal_quantile(0.95) * result.std_error)
    return {
        "upper 95% limit of DI as printed": Outcome(upper),
        "DI of foreign against native, codes put right": _outcome_of(right),
    }


def _compas_label() -> RatioResult | InferredResult:
    frame = _compas()
    return disparate_impact(
        frame["two_year_recid"],
        sensitive_features=frame["race"],
        reference="Caucasian",
        pos_label=0,
        method="delta",
    )


def _compas_score() -> RatioResult | InferredResult:
    frame = _compas()
    return disparate_impact(
        frame["score_text"],
        sensitive_features=frame["race"],
        reference="Caucasian",
        pos_label="Low",
        method="delta",
    )


def _compas_level() -> Outcomes:
    return {
        "DI of the label": _outcome_of(_compas_label()),
        "DI of the score": _outcome_of(_compas_score()),
    }


def _compas_words() -> Outcomes:
    """True positive and true negative rates where Low and no recidivism are favourable."""
    return {
        "TPR ratio, both favourable": _outcome_of(_accuracy_on_compas(label=1, errors=False)),
        "TNR ratio, both favourable": _outcome_of(_accuracy_on_compas(label=0, errors=False)),
    }


def _compas_rows() -> Outcomes:
    return {"offenders": Outcome(float(len(load_compas().frame)))}


def _compas_errors() -> Outcomes:
    """Both ratios of section 4 with their intervals: 1 is outside."""
    return {
        "TPR": _outcome_of(_accuracy_on_compas(label=1, errors=True)),
        "TNR": _outcome_of(_accuracy_on_compas(label=0, errors=True)),
    }


def _adult_attributes() -> Outcomes:
    """Columns of Adult beside the outcome."""
    columns = load_adult().frame.drop(columns=["income"])
    numeric = columns.select_dtypes("number").shape[1]
    return {
        "attributes": Outcome(float(columns.shape[1])),
        "numeric": Outcome(float(numeric)),
        "categorical": Outcome(float(columns.shape[1] - numeric)),
    }


def _whatever_the_education() -> Outcomes:
    """Ratios of one level of education at a time, and of all levels together.

    Mantel and Haenszel's ratio over the sixteen levels by the stratified score; the largest ratio
    of a level between the largest lower and the largest upper limit, for all at once (Bonferroni).
    """
    frame = _adult()
    rich = frame["income"]
    values = {}
    for column, reference, word in (("sex", "Male", "women"), ("race", "White", "not White")):
        group = frame[column].eq(reference).map({True: reference, False: f"not {reference}"})
        options: dict[str, Any] = {"reference": reference, "pos_label": ">50K"}
        together = disparate_impact(
            rich, sensitive_features=group, strata=frame["education"], method="score", **options
        )
        adjusted = together.stratified if isinstance(together, RatioResult) else None
        if adjusted is not None:
            values[f"{word}, levels of education together"] = _outcome_of(adjusted)
        levels = frame["education"].unique()
        by_level = []
        for level in levels:
            rows = frame["education"].eq(level)
            result = disparate_impact(
                rich[rows],
                sensitive_features=group[rows],
                method="score",
                confidence_level=1 - 0.05 / len(levels),
                label_values=["<=50K", ">50K"],
                **options,
            )
            if np.isfinite(result.estimate):
                by_level.append(_outcome_of(result))
        values[f"{word}, the largest ratio of a level"] = Outcome(
            max(one.value for one in by_level),
            max(one.low for one in by_level),
            max(one.high for one in by_level),
        )
    return values


def _only(name: str, result: RatioResult | InferredResult) -> Outcomes:
    return {name: _outcome_of(result)}


COMPUTATIONS = {
    "besse.theorem-3.1": _theorem_31,
    "besse.theorem-3.2": _theorem_32,
    "besse.theorem-3.3": _theorem_33,
    "besse.definitions": _definitions,
    "besse.test": _test_size,
    "besse.adult-rows": _adult_rows,
    "besse.di-sex": lambda: _only("DI", _impact_on_adult("sex", "Male")),
    "besse.di-origin": lambda: _only("DI", _impact_on_adult("race", "White")),
    "besse.di-country": lambda: _only("DI", _impact_on_adult("native_country", "United-States")),
    "besse.both-discriminate": _both_discriminate,
    "besse.german-credit": lambda: _only("DI", _german()),
    "besse.german-claim": _german_claim,
    "besse.compas-label": lambda: _only("DI", _compas_label()),
    "besse.compas-score": lambda: _only("DI", _compas_score()),
    "besse.compas-level": _compas_level,
    "besse.compas-tpr": lambda: _only("TPR", _accuracy_on_compas(label=1, errors=True)),
    "besse.compas-tnr": lambda: _only("TNR", _accuracy_on_compas(label=0, errors=True)),
    "besse.compas-words": _compas_words,
    "besse.compas-rows": _compas_rows,
    "besse.compas-errors": _compas_errors,
    "besse.adult-attributes": _adult_attributes,
    "besse.education": _whatever_the_education,
}
