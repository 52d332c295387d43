"""Bian and Luo (2024): HFM and ApproxDist, the paper's lemma, and its printed tables."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import product

import numpy as np
from scipy.stats import friedmanchisquare, rankdata, studentized_range

from fairstats.datasets import load_adult, load_compas, load_german_credit, load_ricci
from fairstats.ground.lazy import pd
from fairstats.methods.hfm.approx import approx_set_distance
from fairstats.methods.hfm.metric import hfm
from fairstats.methods.hfm.risk import discriminative_risk
from fairstats.methods.hfm.set_distance import set_distance
from fairstats.methods.rates.metrics import group_metric
from fairstats.report.replication.items import Outcome, read_items

Outcomes = Mapping[str, Outcome]
_SEED = 34
#: Rules that choose a classifier, in the order of the printed columns.
RULES = ("Accuracy", "DP", "EO", "PQP", "DR", "df", "df̂")


def _equation_3() -> Outcomes:
    """HFM = D_f/D − 1: 0 where predictions are the labels, and by its own two distances."""
    frame = load_german_credit().frame
    features = frame[["age", "month", "credit_amount"]]
    y = frame["credit"].eq("good").astype(int)
    sex = frame["sex"]
    same = hfm(features, y, y, sensitive_features=sex, n_resamples=0)
    shifted = hfm(features, y, 1 - y, sensitive_features=sex, n_resamples=0)
    return {
        "HFM where every prediction is right": Outcome(float(same.hfm)),
        "HFM less D_f/D − 1": Outcome(float(shifted.hfm - (shifted.d_f / shifted.d - 1))),
    }


def _random_sets(dimension: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    rows = rng.random((300, dimension))
    return rows[:120], rows[120:]


def _distance_of_sets(first: np.ndarray, second: np.ndarray) -> float:
    return float(set_distance(first, second).value)


def _properties() -> Outcomes:
    """Section 3.1: D of a set and its copy, of sets that differ, of three sets; the first remark."""
    generator = np.random.default_rng(_SEED)
    copies = 0.0
    least = math.inf
    triangle = -math.inf
    remark = -math.inf
    for _ in range(40):
        sets = generator.random((3, 60, 4))
        copies = max(copies, _distance_of_sets(sets[0], generator.permutation(sets[0])))
        least = min(least, _distance_of_sets(sets[0], sets[0][1:]))
        longest = _distance_of_sets(sets[0], sets[2])
        parts = _distance_of_sets(sets[0], sets[1]) + _distance_of_sets(sets[1], sets[2])
        triangle = max(triangle, longest - parts)
        # the same features in both groups, labels of their own
        labels = generator.integers(0, 2, (2, 60, 1)).astype(float)
        of_both = [np.hstack([sets[0], one]) for one in labels]
        largest = float(np.abs(labels[0] - labels[1]).max())
        remark = max(remark, _distance_of_sets(of_both[0], of_both[1]) - largest)
    return {
        "D of a set and its rows in another order": Outcome(copies),
        "least D of a set and the set without a row": Outcome(least),
        "largest D(0,2) − D(0,1) − D(1,2)": Outcome(triangle),
        "same features: largest D less the largest |y − y'|": Outcome(remark),
    }


def _overstatement(dimension: int, apart: float, *, sets: int = 12) -> np.ndarray:
    """100·(ApproxDist/D − 1) of pairs of 150 and 250 rows, `apart` along the first column."""
    overstatements = np.empty(sets)
    for seed in range(sets):
        generator = np.random.default_rng([_SEED, seed])
        first = generator.random((150, dimension))
        second = generator.random((250, dimension))
        second[:, 0] += apart
        exact = set_distance(first, second).value
        overstatements[seed] = 100 * (
            approx_set_distance(first, second, rng=seed).value / exact - 1
        )
    return overstatements


def _more_less(more: np.ndarray, less: np.ndarray) -> Outcome:
    """Mean difference of the same seeds with its 95% interval, t with eleven degrees of freedom."""
    gap = more - less
    half = 2.201 * float(gap.std(ddof=1)) / math.sqrt(len(gap))
    mean = float(gap.mean())
    return Outcome(mean, mean - half, mean + half)


def _efficiency() -> Outcomes:
    """What proposition 2 is said to imply: more columns, and sets further apart, help."""
    few = _overstatement(2, 0.0)
    many = _overstatement(20, 0.0)
    far = _overstatement(2, 2.0)
    return {
        "overstatement at 20 attributes less at 2, %": _more_less(many, few),
        "overstatement of sets 2 apart less of mixed sets, %": _more_less(far, few),
    }


def _equations_21_22() -> Outcomes:
    """DP, EO, PQP and DR by their formulas on German credit, against the package's."""
    frame = load_german_credit().frame
    y = frame["credit"].eq("good").to_numpy().astype(int)
    male = frame["sex"].eq("male").to_numpy()

    def decide(rows: pd.DataFrame) -> np.ndarray:
        longest = np.where(rows["sex"].eq("male"), 30, 24)
        return np.asarray(rows["month"].to_numpy() < longest).astype(int)

    chosen = decide(frame)
    gaps = {
        "demographic_parity_difference": (chosen, np.ones_like(y)),
        "equal_opportunity_difference": (chosen, y),
        "predictive_parity_difference": (y, chosen),
    }
    values = {}
    for name, (event, case) in gaps.items():
        rates = [event[(case == 1) & (male == side)].mean() for side in (True, False)]
        package = group_metric(
            y, chosen, metric=name, sensitive_features=frame["sex"], reference="male"
        ).estimate
        word = {"d": "DP", "e": "EO", "p": "PQP"}[name[0]]
        values[f"{word} less the formula"] = Outcome(abs(float(package)) - abs(rates[0] - rates[1]))
    other = frame.assign(sex=np.where(male, "female", "male"))
    by_hand = float(np.mean(chosen != decide(other)))
    risk = discriminative_risk(decide, frame, sensitive_features="sex", draws="all")
    values["DR less the formula"] = Outcome(float(risk.estimate) - by_hand)
    return values


def _equation_4() -> Outcomes:
    """Largest |g(a) − g(b)| − |a − b| over random pairs and weights with Σ|w| = 1."""
    generator = np.random.default_rng(_SEED)
    largest = -math.inf
    for dimension in (2, 5, 20, 100):
        weights = generator.normal(size=(200, dimension))
        weights /= np.abs(weights).sum(axis=1, keepdims=True)
        first, second = generator.random((2, 500, dimension))
        projected = np.abs((first - second) @ weights.T)
        distances = np.linalg.norm(first - second, axis=1)[:, None]
        largest = max(largest, float((projected - distances).max()))
    return {"largest |g(a) − g(b)| less the distance": Outcome(largest)}


def _algorithm_1() -> Outcomes:
    """ApproxDist less the exact distance on twelve pairs of random sets."""
    generator = np.random.default_rng(_SEED)
    gaps = []
    for dimension in (2, 5, 20):
        for seed in range(4):
            first, second = _random_sets(dimension, generator)
            exact = set_distance(first, second).value
            gaps.append(approx_set_distance(first, second, rng=seed).value - exact)
    return {"least ApproxDist less D": Outcome(float(min(gaps)))}


def _algorithm_2() -> Outcomes:
    """With m₂ as large as either set every neighbour is compared: the exact distance."""
    generator = np.random.default_rng(_SEED)
    largest = 0.0
    for dimension in (2, 5, 20):
        first, second = _random_sets(dimension, generator)
        approximation = approx_set_distance(first, second, m1=1, m2=300, rng=1).value
        largest = max(largest, abs(approximation - set_distance(first, second).value))
    return {"largest difference with m₂ = n": Outcome(largest)}


def _lemma_1() -> Outcomes:
    """P(v₁, v₂) = θ/π in closed form against both bounds, over lengths and angles."""
    ratios = np.linspace(0.001, 1, 200)
    angles = np.linspace(0.001, math.pi - 0.001, 200)
    below = math.inf
    above = math.inf
    for ratio, angle in product(ratios, angles):
        inner = ratio * math.cos(angle)
        # θ is the acute angle between v₂ − v₁ and v₁ + v₂, with r₂ = 1 and r₁ the ratio.
        cosine = (1 - ratio**2) / math.sqrt((1 + ratio**2) ** 2 - 4 * inner**2)
        probability = math.acos(min(1.0, cosine)) / math.pi
        below = min(below, probability - math.sin(angle) / math.pi * ratio)
        above = min(above, ratio / math.sqrt(1 + ratio**2) - probability)
    generator = np.random.default_rng(_SEED)
    w = generator.normal(size=(200_000, 3))
    first = np.array([0.6, 0.0, 0.0])
    second = np.array([math.cos(1.0), math.sin(1.0), 0.0])
    events = np.abs(w @ first) >= np.abs(w @ second)
    inner = 0.6 * math.cos(1.0)
    cosine = (1 - 0.36) / math.sqrt(1.36**2 - 4 * inner**2)
    half = 1.96 * math.sqrt(events.mean() * (1 - events.mean()) / len(events))
    gap = float(events.mean()) - math.acos(cosine) / math.pi
    return {
        "least P less the lower bound": Outcome(below),
        "least upper bound less P": Outcome(above),
        "simulated P less θ/π, one pair": Outcome(gap, gap - half, gap + half),
    }


def _table_2() -> Outcomes:
    """Rows and privileged members of the data that travel with the package."""
    ricci = load_ricci().frame
    german = load_german_credit().frame
    income = load_adult().frame.dropna()
    ppr = load_compas(subset="propublica").frame
    counts = {
        "ricci, instances": len(ricci),
        "ricci, privileged by race": int(ricci["Race"].eq("W").sum()),
        "credit, instances": len(german),
        "credit, raw features": german.shape[1],
        "credit, privileged by sex": int(german["sex"].eq("male").sum()),
        "credit, privileged by age": int(german["age"].ge(25).sum()),
        "income, instances": len(income),
        "income, privileged by race": int(income["race"].eq("White").sum()),
        "income, privileged by sex": int(income["sex"].eq("Male").sum()),
        "ppr, instances": len(ppr),
        "ppr, privileged by sex": int(ppr["sex"].eq("Male").sum()),
        "ppr, privileged by race": int(ppr["race"].eq("Caucasian").sum()),
    }
    return {name: Outcome(float(count)) for name, count in counts.items()}


def _hyperparameters() -> Outcomes:
    """λ of equation 11 at the largest and smallest data set of the paper, m₁ = 25."""
    values = {}
    for name, n, features in (("income", 30_162, 99), ("ricci", 118, 6)):
        m2 = math.ceil(2 * math.log10(n))
        values[f"λ, {name}"] = Outcome(-25 * (math.log10(n) / (features + 1) - math.log10(m2)))
    return values


# ------------------------------------------------------------------------- the printed tables


def _printed_columns(item: str) -> np.ndarray:
    """Printed means, one row per data set and attribute, one column per rule."""
    items = {one_item.name: one_item for one_item in read_items("bian")}
    values = [float(number.printed) for number in items[item].numbers]
    return np.array(values).reshape(-1, len(RULES))


def _average_ranks(item: str, *, largest_first: bool) -> np.ndarray:
    values = _printed_columns(item)
    return np.asarray(rankdata(-values if largest_first else values, axis=1).mean(axis=0))


def _ranks_of(item: str, *, largest_first: bool) -> Outcomes:
    ranks = _average_ranks(item, largest_first=largest_first)
    result = {}
    for rule, r in zip(RULES, ranks, strict=True):
        result[f"average rank, {rule}"] = Outcome(float(r))
    return result


def _figure_2(item: str) -> Outcomes:
    """Friedman's test and Nemenyi's difference, on the printed levels and ranks of a table."""
    values = _printed_columns(item)
    ranks = _average_ranks(item, largest_first=True)
    cases, rules = values.shape
    critical = float(studentized_range.ppf(0.95, rules, math.inf)) / math.sqrt(2)
    difference = critical * math.sqrt(rules * (rules + 1) / (6 * cases))
    best = np.sort(ranks)[:2]
    return {
        "Friedman's p": Outcome(float(friedmanchisquare(*values.T).pvalue)),
        "largest difference of ranks less Nemenyi's critical one": Outcome(
            float(np.ptp(ranks)) - difference
        ),
        "best two ranks are df and df̂": Outcome(float(np.abs(best - np.sort(ranks[5:])).max())),
    }


COMPUTATIONS = {
    "bian.equation-3": _equation_3,
    "bian.properties": _properties,
    "bian.equation-4": _equation_4,
    "bian.efficiency": _efficiency,
    "bian.equations-21-22": _equations_21_22,
    "bian.algorithm-1": _algorithm_1,
    "bian.algorithm-2": _algorithm_2,
    "bian.lemma-1": _lemma_1,
    "bian.equation-11": _hyperparameters,
    "bian.ranks-1a": lambda: _ranks_of("table-1a", largest_first=True),
    "bian.ranks-1b": lambda: _ranks_of("table-1b", largest_first=False),
    "bian.figure-2": lambda: _figure_2("table-1a"),
    "bian.figure-2-f1": lambda: _figure_2("table-4a"),
    "bian.table-2": _table_2,
    "bian.ranks-3a": lambda: _ranks_of("table-3a", largest_first=False),
    "bian.ranks-3b": lambda: _ranks_of("table-3b", largest_first=False),
    "bian.ranks-3c": lambda: _ranks_of("table-3c", largest_first=False),
    "bian.ranks-4a": lambda: _ranks_of("table-4a", largest_first=True),
    "bian.ranks-4b": lambda: _ranks_of("table-4b", largest_first=False),
    "bian.ranks-5a": lambda: _ranks_of("table-5a", largest_first=False),
    "bian.ranks-5b": lambda: _ranks_of("table-5b", largest_first=False),
    "bian.ranks-5c": lambda: _ranks_of("table-5c", largest_first=False),
}
