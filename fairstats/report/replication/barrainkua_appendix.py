"""Barrainkua et al. (2024): events, classes, lemma 9.1 and sections 9 to 13."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import product

import numpy as np

from fairstats.datasets import load_adult, load_german_credit
from fairstats.ground.counts import ConfusionCounts
from fairstats.methods.um.comparison import um_compare
from fairstats.methods.um.events import event_name
from fairstats.methods.um.posterior import um_multiclass, um_posterior
from fairstats.report.replication.items import Item, Outcome, read_items

Outcomes = Mapping[str, Outcome]
_SEED = 34
_SAMPLES = 200_000
_NAMES = ("A", "B")


# -------------------------------------------------------------------------------------- events


def _definition_31() -> Outcomes:
    """P(A≫B) as the share in (−ε, ∞)² less P(A≈B), and the sum over all events."""
    posteriors = []
    for seed in (0, 1):
        cells = {"a": (40 + 2 * seed, 8, 9, 43), "b": (21, 7, 8, 14 + seed)}
        counts = ConfusionCounts.from_counts(cells)
        posteriors.append(um_posterior(counts=counts, rng=_SEED + seed))
    compared = um_compare(
        *posteriors, metrics=("accuracy", "equal_opportunity"), rope=0.02, rng=_SEED
    )
    shares = {event.event: event.probability for event in compared.events}
    delta = np.asarray(compared.delta)
    delta = delta[np.isfinite(delta).all(axis=1)]
    alike = (np.abs(delta) <= 0.02).all(axis=1).mean()
    ahead = (delta >= -0.02).all(axis=1).mean() - alike
    behind = (delta <= 0.02).all(axis=1).mean() - alike
    return {
        "P(A≈B) less the share in the RoPE": Outcome(float(shares["A≈B"] - alike)),
        "P(A≫B) less the share in (−ε, ∞)² without the RoPE": Outcome(float(shares["A≫B"] - ahead)),
        "P(B≫A) less the share in (−∞, ε)² without the RoPE": Outcome(
            float(shares["B≫A"] - behind)
        ),
        "sum over all events less 1": Outcome(float(sum(shares.values()) - 1)),
    }


def _outcomes_of_three() -> Outcomes:
    """Events that a better, an equal and a worse coordinate make."""
    values = {}
    for number, words in ((2, "two objectives"), (3, "three objectives")):
        shorts = [f"metric {k}" for k in range(number)]
        patterns = product((1, 0, -1), repeat=number)
        names = {event_name(pattern, _NAMES, shorts) for pattern in patterns}
        values[f"events of {words}"] = Outcome(float(len(names)))
    return values


def _printed(item: str) -> dict[str, float]:
    items: dict[str, Item] = {one_item.name: one_item for one_item in read_items("barrainkua")}
    return {number.name: float(number.printed) for number in items[item].numbers}


def _more_objectives() -> Outcomes:
    """Table 13.1 less table 2, mean of both comparisons and four approximations of ρ."""
    three = _printed("table-13.1")
    two = _printed("table-2")
    values = {}
    for event in ("A≫B", "B≫A", "A≈B"):
        changes = []
        for name, value in three.items():
            if name.endswith(f", {event}") and name in two:
                changes.append(value - two[name])
        values[f"P({event}), mean change"] = Outcome(float(np.mean(changes)))
    return values


def _same_under_every_rope() -> Outcomes:
    """Tables 12.2 to 12.5 as printed: RoPEs whose likeliest event is that of the first RoPE."""
    values = {}
    for table in ("12.2", "12.3", "12.4", "12.5"):
        by_rope: dict[str, dict[str, float]] = {}
        for name, value in _printed(f"table-{table}").items():
            rope, level, event = name.split(", ", 2)
            if level == "HDR 0.95":
                by_rope.setdefault(rope, {})[event] = value
        likeliest = [max(events, key=lambda event: events[event]) for events in by_rope.values()]
        values[f"table {table}, likeliest events"] = Outcome(float(len(set(likeliest))))
    return values


# ------------------------------------------------------------------------------------- classes


def _equations_7_8() -> Outcomes:
    """Two groups of three classes, each right in 60 of 90 rows, but not in the same classes."""
    classes = np.repeat([0, 1, 2], 30)
    right = {"a": (30, 20, 10), "b": (10, 20, 30)}
    truth = np.tile(classes, 2)
    group = np.repeat(["a", "b"], 90)
    predicted = []
    for counts in right.values():
        for label, hits in enumerate(counts):
            predicted += [label] * hits + [(label + 1) % 3] * (30 - hits)
    posterior = um_multiclass(
        np.tile(truth, 40),
        np.tile(predicted, 40),
        sensitive_features=np.tile(group, 40),
        draws=2_000,
        rng=_SEED,
    )
    values = {}
    for name in ("micro", "macro"):
        draws = np.abs(np.asarray(posterior.metric(f"equal_opportunity_{name}")))
        low, high = np.quantile(draws, [0.025, 0.975])
        values[f"|EOp_{name}| of groups whose rates differ by 2/3 in two of three classes"] = (
            Outcome(float(np.median(draws)), float(low), float(high))
        )
    return values


def _equations_9_16() -> Outcomes:
    """Macro and macro-micro averages of the package against loops over groups and classes."""
    generator = np.random.default_rng(_SEED)
    group = np.repeat(["a", "b", "c"], 150)
    truth = generator.integers(0, 3, 450)
    predicted = np.where(generator.random(450) < 0.6, truth, generator.integers(0, 3, 450))
    posterior = um_multiclass(truth, predicted, sensitive_features=group, draws=100, rng=_SEED)
    tables = np.asarray(posterior.draws).reshape(100, 3, 3, 3)
    largest = dict.fromkeys(("DP_macro", "EOp_macro", "DP", "EOp"), 0.0)
    for draw, table in enumerate(tables):
        rows = table.sum(axis=(1, 2))
        share = table.sum(axis=(0, 2)) / table.sum()
        selected = table.sum(axis=1) / rows[:, None]
        right = np.diagonal(table, axis1=1, axis2=2) / table.sum(axis=2)
        share_of_cells = table.sum(axis=2) / rows[:, None]
        by_hand = {
            "DP_macro": float((share * np.ptp(selected, axis=0)).sum()),
            "EOp_macro": float((share * np.ptp(right, axis=0)).sum()),
            "DP": float(np.ptp((share_of_cells * selected).sum(axis=1))),
            "EOp": float(np.ptp((share_of_cells * right).sum(axis=1))),
        }
        for name, value in by_hand.items():
            measure = "demographic_parity" if name.startswith("DP") else "equal_opportunity"
            ending = "macro" if name.endswith("macro") else "macro_micro"
            distance = float(np.abs(np.asarray(posterior.metric(f"{measure}_{ending}"))[draw]))
            largest[name] = max(largest[name], abs(distance - value))
    return {f"{name}, largest difference": Outcome(value) for name, value in largest.items()}


# -------------------------------------------------------------------------------- sections 9, 10


def _lemma_91() -> Outcomes:
    """Moments of K = 10 correlated numbers from their covariance matrix, δ = 1.7 and γ = .4."""
    k = 10
    delta = 1.7
    gamma = 0.4
    ratio = gamma / delta
    covariance = np.full((k, k), gamma) + (delta - gamma) * np.eye(k)
    of_mean = covariance.sum() / k**2
    of_sample = (np.trace(covariance) - covariance.sum() / k) / (k - 1)
    negative = np.full((60, 60), -0.05) + 1.05 * np.eye(60)
    return {
        "Var[Ū] less δ(π + (1 − π)/K)": Outcome(float(of_mean - delta * (ratio + (1 - ratio) / k))),
        "E[S²] less δ − γ": Outcome(float(of_sample - (delta - gamma))),
        "γ = −.05, δ = 1, K = 60: least variance of a sum": Outcome(
            float(np.linalg.eigvalsh(negative)[0])
        ),
    }


def _equations_17_18() -> Outcomes:
    """Var[TP] of 80 positives and a rate of .7: printed and right, over the binomial variance."""
    rate = 0.7
    positives = 80
    support = np.arange(positives + 1)
    log_choose = np.array([math.log(math.comb(positives, int(k))) for k in support])
    chances = np.exp(log_choose + support * math.log(rate) + (80 - support) * math.log(1 - rate))
    variance = float((chances * (support - positives * rate) ** 2).sum())
    return {
        "r(r − 1)n₊/K, as printed, over Var[TP]": Outcome(rate * (rate - 1) * positives / variance),
        "r(1 − r)n₊/K over Var[TP]": Outcome(rate * (1 - rate) * positives / variance),
    }


def _equation_20() -> Outcomes:
    """Mean of (θ − θᶜ)²/2 over the variance of θ, an accuracy of .8 in halves of 500 rows."""
    generator = np.random.default_rng(_SEED)
    halves = generator.binomial(500, 0.8, size=(_SAMPLES, 2)) / 500
    estimates = (halves[:, 0] - halves[:, 1]) ** 2 / 2 / (0.8 * 0.2 / 500)
    mean = float(estimates.mean())
    half = 1.96 * float(estimates.std()) / math.sqrt(_SAMPLES)
    return {"mean of the estimate over the variance": Outcome(mean, mean - half, mean + half)}


# ------------------------------------------------------------------------------- sections 11


def _data_sets() -> Outcomes:
    """Instances, features and the share of the young."""
    german = load_german_credit().frame
    adult = load_adult().frame
    # sex is derived from the column of personal status
    features = german.drop(columns=["credit", "sex"])
    return {
        "German credit, instances": Outcome(float(len(german))),
        "German credit, features": Outcome(float(features.shape[1])),
        "German credit, 25 or younger, %": Outcome(100 * float(german["age"].le(25).mean())),
        "Adult, training instances": Outcome(float(len(adult))),
        "Adult, features": Outcome(float(adult.shape[1] - 1)),
    }


def _quantile_approach() -> Outcomes:
    """f_α of a normal law as the ⌈.95n⌉-th largest density of n draws, beside φ(1.96)."""
    generator = np.random.default_rng(_SEED)
    n = 1_000
    values = generator.normal(size=(2_000, n))
    density = -np.sort(-np.exp(-0.5 * values**2) / math.sqrt(2 * math.pi), axis=1)
    level = density[:, math.ceil(0.95 * n) - 1]
    reach = np.sqrt(-2 * np.log(level * math.sqrt(2 * math.pi)))
    content = np.array([math.erf(x / math.sqrt(2)) for x in reach])
    mean = float(content.mean())
    half = 1.96 * float(content.std()) / math.sqrt(len(content))
    return {"content of the region, 1,000 draws": Outcome(mean, mean - half, mean + half)}


COMPUTATIONS = {
    "barrainkua.definition-3.1": _definition_31,
    "barrainkua.outcomes-of-three": _outcomes_of_three,
    "barrainkua.more-objectives": _more_objectives,
    "barrainkua.rope": _same_under_every_rope,
    "barrainkua.equations-7-8": _equations_7_8,
    "barrainkua.equations-9-16": _equations_9_16,
    "barrainkua.lemma-9.1": _lemma_91,
    "barrainkua.equations-17-18": _equations_17_18,
    "barrainkua.equation-20": _equation_20,
    "barrainkua.data-sets": _data_sets,
    "barrainkua.quantile-approach": _quantile_approach,
}
