"""Monjezi et al. (2025): what follows from the printed parameters, and the rules of algorithm 1."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from scipy.optimize import brentq

from fairstats.datasets import load_adult, load_compas, load_german_credit
from fairstats.ground.lazy import pd
from fairstats.methods.ecd.discrimination import counterfactual_discrimination
from fairstats.numerics.evt.fit import fit_gpd, fit_point_process
from fairstats.report.replication.items import Outcome, read_items

Outcomes = Mapping[str, Outcome]
_SEED = 34
_SAMPLES = 1_000
#: Rows of either group and exceedances of section II's network.
_ROWS = {"white": 25_658, "black": 3_076}
_EXCEEDANCES = 50


def _excess_scale(location: float, scale: float, shape: float, threshold: float) -> float:
    """σ of the excesses over u from a location, scale and shape: σ − ξ(μ − u)."""
    return scale - shape * (location - threshold)


def _level(threshold: float, scale: float, shape: float, expected: float) -> float:
    """U + σ/ξ·((mλ)^ξ − 1), mλ the exceedances expected in m interactions."""
    return float(threshold + scale / shape * (expected**shape - 1))


#: Group → location, scale, shape and threshold as section II prints them.
_ORIGINAL = {"white": (0.15, 0.03, -0.08, 0.12), "black": (0.28, 0.08, -0.08, 0.20)}
_MITIGATED = {"white": (0.84, 0.02, -0.10, 0.81), "black": (0.77, 0.04, -0.05, 0.72)}


def _table_1() -> Outcomes:
    """Return levels from the printed parameters, sizes and thresholds."""
    values = {}
    for group, (location, scale, shape, threshold) in _ORIGINAL.items():
        sigma = _excess_scale(location, scale, shape, threshold)
        for interactions in (500, 1_000, 2_000):
            expected = interactions * _EXCEEDANCES / _ROWS[group]
            value = _level(threshold, sigma, shape, expected)
            values[f"original, {group}, {interactions:,}"] = Outcome(value)
    return values


def _table_1_mitigated() -> Outcomes:
    """Levels at 1,000 and 2,000 that the printed level at 500 and the parameters imply."""
    first = {"white": 0.90, "black": 0.78}
    values = {}
    for group, (location, scale, shape, threshold) in _MITIGATED.items():
        sigma = _excess_scale(location, scale, shape, threshold)

        def excess(log_expected: float, group: str = group, sigma: float = sigma) -> float:
            _, _, xi, u = _MITIGATED[group]
            return _level(u, sigma, xi, math.exp(log_expected)) - first[group]

        at_500 = math.exp(brentq(excess, -5, 50))
        for interactions in (1_000, 2_000):
            value = _level(threshold, sigma, shape, at_500 * interactions / 500)
            values[f"mitigated, {group}, {interactions:,}"] = Outcome(value)
    return values


def _standard_errors() -> Outcomes:
    """(1 + ξ)/√k, the likelihood's standard error of ξ at k = 50."""
    standard_errors = {}
    for group, (_, _, shape, _) in _ORIGINAL.items():
        standard_errors[f"ξ, {group}"] = Outcome((1 + shape) / math.sqrt(_EXCEEDANCES))
    return standard_errors


def _section_2() -> Outcomes:
    """Differences of the printed means and locations."""
    return {
        "difference of mean CD": Outcome(0.03 + 0.04),
        "difference of locations": Outcome(_ORIGINAL["black"][0] - _ORIGINAL["white"][0]),
    }


def _means_of_the_law() -> Outcomes:
    """μ + σ(Γ(1 − ξ) − 1)/ξ, the mean of a GEV law, from the printed parameters."""
    means = {}
    for group, (location, scale, shape, _) in _ORIGINAL.items():
        means[group] = location + scale * (math.gamma(1 - shape) - 1) / shape
    return {
        "expected extreme of White": Outcome(means["white"]),
        "expected extreme of Black": Outcome(means["black"]),
        "difference of expected extremes": Outcome(means["black"] - means["white"]),
    }


def _definition_1() -> Outcomes:
    """A score that is .1 higher for White: CD is +.1 for Black and −.1 for White."""
    frame = load_adult().frame.head(400)
    frame = frame[frame["race"].isin(["White", "Black"])]

    def score(rows: pd.DataFrame) -> np.ndarray:
        return np.asarray(0.5 + 0.1 * rows["race"].eq("White"))

    sample = counterfactual_discrimination(score, frame, sensitive_features="race")
    return {
        "mean CD of Black": Outcome(float(sample["Black"].average.estimate)),
        "mean CD of White": Outcome(float(sample["White"].average.estimate)),
    }


def _location_is_a_level() -> Outcomes:
    """Location of the point process at block size m against the return level at m."""
    sample = np.random.default_rng(_SEED).beta(2, 8, 5_000)
    threshold = float(np.sort(sample)[-201])
    level = fit_gpd(sample, threshold, backend="scipy").return_level(1_000).estimate
    process = fit_point_process(sample, threshold, 1_000, backend="scipy")
    return {"location less the return level": Outcome(float(process.params["location"] - level))}


def _coefficients_of_variation(values: np.ndarray, *, excesses: bool) -> np.ndarray:
    """CV of the k largest values, k = 10…50, or of their excesses over the (k + 1)-th."""
    ordered = -np.sort(-values, axis=1)[:, :51]
    coefficients = []
    for k in range(10, 51):
        top = ordered[:, :k]
        if excesses:
            top = top - ordered[:, k : k + 1]
        coefficients.append(top.std(axis=1, ddof=1) / top.mean(axis=1))
    return np.stack(coefficients, axis=1)


def _pass_rate(shape: float, *, excesses: bool) -> Outcome:
    """Share of samples of 2,000 whose tail of this shape passes CV_k < 1 + 1/(4k) for every k."""
    generator = np.random.default_rng(_SEED)
    exponential = generator.exponential(size=(_SAMPLES, 2_000))
    if shape == 0:
        values = exponential
    else:
        values = np.expm1(shape * exponential) / shape
    limits = 1 + 1 / (4 * np.arange(10, 51))
    share = float(
        (_coefficients_of_variation(values, excesses=excesses) < limits).all(axis=1).mean()
    )
    half = 1.96 * math.sqrt(max(share * (1 - share), 1 / _SAMPLES) / _SAMPLES)
    return Outcome(share, max(share - half, 0.0), min(share + half, 1.0))


def _algorithm_1() -> Outcomes:
    return {
        "heavy tails (ξ = 0.5) that pass, raw values as printed": _pass_rate(0.5, excesses=False),
        "heavy tails (ξ = 0.5) that pass, excesses": _pass_rate(0.5, excesses=True),
        "exponential tails that pass, excesses": _pass_rate(0.0, excesses=True),
    }


def _confidence_of_the_test() -> Outcomes:
    return {
        "exponential tails that pass for every k, excesses": _pass_rate(0.0, excesses=True),
        "light tails (ξ = −0.3) that pass for every k, excesses": _pass_rate(-0.3, excesses=True),
    }


def _table_2() -> Outcomes:
    adult = load_adult().frame
    german = load_german_credit().frame
    compas = load_compas().frame
    counts = {"Adult": len(adult), "German credit": len(german), "COMPAS": len(compas)}
    return {name: Outcome(float(count)) for name, count in counts.items()}


def _types() -> Outcomes:
    """Counts of types in the printed table IV, and whether types follow the printed shapes."""
    items = {item.name: item for item in read_items("monjezi")}
    shapes: dict[str, list[float]] = {"I": [], "II": [], "III": []}
    for number in items["table-4-shapes"].numbers:
        shapes[number.name.rpartition(" ")[2]].append(float(number.printed))
    return {
        "tails of type III": Outcome(float(len(shapes["III"]))),
        "tails of type I": Outcome(float(len(shapes["I"]))),
        "tails with a guarantee": Outcome(float(len(shapes["III"]) + len(shapes["I"]))),
        "least ξ of type II less largest ξ of type I": Outcome(
            min(shapes["II"]) - max(shapes["I"])
        ),
        "type III tails with ξ at most −1/2": Outcome(
            float(sum(xi <= -0.5 for xi in shapes["III"]))
        ),
    }


COMPUTATIONS = {
    "monjezi.section-2": _section_2,
    "monjezi.table-1": _table_1,
    "monjezi.table-1-mitigated": _table_1_mitigated,
    "monjezi.standard-errors": _standard_errors,
    "monjezi.definition-3.1": _definition_1,
    "monjezi.location": _location_is_a_level,
    "monjezi.algorithm-1": _algorithm_1,
    "monjezi.location-is-no-mean": _means_of_the_law,
    "monjezi.confidence-of-the-test": _confidence_of_the_test,
    "monjezi.table-2": _table_2,
    "monjezi.types": _types,
}
