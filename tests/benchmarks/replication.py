"""Writes the record and the page of `fairstats.replication`.

    python -m tests.benchmarks.replication            # all papers, a minute
    python -m tests.benchmarks.replication --studies  # only what follows from records of studies
    python -m tests.benchmarks.replication --only besse.education  # what follows from studies, and these
    python -m tests.benchmarks.replication --page     # only vignettes/replication.md
    python -m tests.benchmarks.replication --rows     # rows of data sets in ../shared/data

``fairstats/report/replication/records.json`` receives, for every item of
``fairstats/report/replication/papers``, what the package computes from data that travel with it,
and what follows from the records of studies in this folder. Nothing in it is typed: a test compares
it with the records and with what the package computes."""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t
from statsmodels.stats.proportion import proportion_confint

import fairstats as fs
from fairstats.report.replication import run
from fairstats.report.replication.items import PAPERS, PLURALS, Item, Outcome, read_items
from fairstats.report.replication.run import computations, compute_record
from tests.benchmarks import (
    besse_paper,
    ecd_real_claims,
    ecd_real_data,
    ecd_real_impact,
    ecd_real_recent,
    hfm_pool,
    um_adult,
    um_german_figures,
    um_german_many,
    um_pymc,
)
from tests.benchmarks.ecd_real_mitigators import SEARCHED
from tests.benchmarks.ecd_real_page import read_rows
from tests.benchmarks.ecd_real_sets import shared
from tests.benchmarks.um_german_paper import EVENTS, STRATEGIES

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
RECORDS = ROOT / "fairstats" / "report" / "replication" / "records.json"
PAGE = ROOT / "vignettes" / "replication.md"
ROW_COUNTS = HERE / "replication_rows.json"
Found = dict[str, Outcome]


def range_of(values: Any) -> Outcome:
    """Mean and range."""
    numbers = np.asarray(values, dtype=float)
    return Outcome(float(numbers.mean()), float(numbers.min()), float(numbers.max()))


def wilson(successes: float, trials: int) -> Outcome:
    """A share with Wilson's 95% interval, whose ends at none and all are 0 and 1 to the digit."""
    number = round(successes)
    low, high = proportion_confint(number, trials, method="wilson")
    return Outcome(
        successes / trials,
        0.0 if number == 0 else float(low),
        1.0 if number == trials else float(high),
    )


def read_lines(name: str) -> list[Any]:
    """A record of one line of JSON per piece."""
    text = (HERE / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


# ----------------------------------------------------------------------------------- besse

LEARNERS = ("logit", "forest")
ATTRIBUTES = {"sex": "sex", "race": "origin"}


#: The split that is shown.
SHOWN = "vignette 01"


def besse_cells(seed: int | str, model: str, attribute: str) -> np.ndarray:
    """(group, outcome, prediction with, prediction without) of one split."""
    for piece in besse_paper.read_record():
        if (piece["seed"], piece["model"]) == (seed, model):
            return np.array(piece["counts"][attribute])
    raise LookupError(f"no split {seed} of {model} in {besse_paper.RECORD.name}")


def impact_of_cells(cells: np.ndarray, kind: str) -> Outcome:
    """Disparate impact of label, prediction with or without, by the delta method."""
    axis = {"label": (2, 3), "with": (1, 3), "without": (1, 2)}[kind]
    selected = cells.sum(axis=axis)
    counts = {
        name: (int(selected[group, 1]), int(selected[group, 0]))
        for group, name in enumerate(("protected", "reference"))
    }
    result = fs.disparate_impact(counts=counts, reference="reference", method="delta")
    low, high = result.confidence_interval
    return Outcome(float(result.estimate), float(low), float(high))


def learned(kind: str) -> Found:
    """The four ratios of the split that is shown, then mean and range over the tuned splits."""
    seeds = [piece["seed"] for piece in besse_paper.read_record() if piece["seed"] != SHOWN]
    found = {}
    for attribute, word in ATTRIBUTES.items():
        for model in LEARNERS:
            shown = besse_cells(SHOWN, model, attribute)
            found[f"{model}, {word}"] = impact_of_cells(shown, kind)
            tuned = [besse_cells(seed, model, attribute) for seed in dict.fromkeys(seeds)]
            values = [impact_of_cells(cells, kind).value for cells in tuned]
            found[f"{model}, {word}, five splits"] = range_of(values)
    return found


def resampled_ratio(cells: np.ndarray, above: str, below: str) -> Outcome:
    """Ratio of two disparate impacts of the same rows, 20,000 resamples of their counts."""
    generator = np.random.default_rng(34)
    n = int(cells.sum())
    draws = generator.multinomial(n, cells.ravel() / n, size=20_000).reshape(-1, *cells.shape)

    def impact(counts: np.ndarray, kind: str) -> Any:
        axis = {"label": (3, 4), "with": (2, 4), "without": (2, 3)}[kind]
        selected = counts.sum(axis=axis)
        rates = selected[..., 1] / selected.sum(axis=-1)
        return rates[:, 0] / rates[:, 1]

    value = float((impact(cells[None], above) / impact(cells[None], below))[0])
    low, high = np.quantile(impact(draws, above) / impact(draws, below), [0.025, 0.975])
    return Outcome(value, float(low), float(high))


def compared_on_adult(above: str, below: str) -> Found:
    """The four ratios of ratios of the split that is shown."""
    return {
        f"{model}, {word}": resampled_ratio(besse_cells(SHOWN, model, attribute), above, below)
        for attribute, word in ATTRIBUTES.items()
        for model in LEARNERS
    }


# ---------------------------------------------------------------------------------- verger


def madd_pieces(study: str) -> dict[tuple[Any, ...], Any]:
    """Pieces of one study of `madd_paper`."""
    return {
        tuple(key[1:]): value for key, value in read_lines("madd_paper.jsonl") if key[0] == study
    }


def decay_slope(balance: float) -> Outcome:
    """Slope of log error in log n over the sizes, with its 95% interval."""
    rows = [value for key, value in madd_pieces("decay").items() if key[0] == balance]
    x = np.log([row["n"] for row in rows])
    y = np.log([row["error"] for row in rows])
    (slope, _), covariance = np.polyfit(x, y, 1, cov=True)
    half = float(t.ppf(0.975, len(rows) - 2)) * math.sqrt(covariance[0, 0])
    return Outcome(float(slope), float(slope - half), float(slope + half))


def theorem_2() -> Found:
    return {
        "slope, shares 1/2 and 1/2": decay_slope(0.5),
        "slope, shares 1/5 and 4/5": decay_slope(0.2),
    }


def error_at(n: int) -> Outcome:
    """Mean error at the size nearest to n, balanced; the paper's is a mean of fifty samples, too.

    The interval is that of where another mean of as many samples falls.
    """
    pieces = madd_pieces("decay")
    key, row = min(
        ((key, row) for key, row in pieces.items() if key[0] == 0.5),
        key=lambda pair: abs(pair[1]["n"] - n),
    )
    half = float(t.ppf(0.975, key[2] - 1)) * math.sqrt(2) * row["mc_error"]
    return Outcome(row["error"], row["error"] - half, row["error"] + half)


def figure_11() -> Found:
    return {
        "slope, balanced groups": decay_slope(0.5),
        "error at 403 rows": error_at(403),
        "error at 2,981 rows": error_at(2_981),
    }


def claim_balanced() -> Found:
    errors = {key[:2]: value["error"] for key, value in madd_pieces("decay").items()}
    sizes = sorted({exponent for balance, exponent in errors if balance == 0.5})
    gaps = np.log([errors[0.2, s] for s in sizes]) - np.log([errors[0.5, s] for s in sizes])
    half = float(t.ppf(0.975, len(gaps) - 1) * gaps.std(ddof=1) / math.sqrt(len(gaps)))
    mean = float(gaps.mean())
    return {"log error, unbalanced less balanced": Outcome(mean, mean - half, mean + half)}


def course_rows() -> dict[str, Any]:
    return {key[0]: value for key, value in madd_pieces("rows").items()}


def table_1() -> Found:
    rows = course_rows()
    return {
        "columns beside the outcome": Outcome(float(rows["BBB"]["columns"])),
        "test rows of BBB": Outcome(float(rows["BBB"]["test"])),
        "test rows of FFF": Outcome(float(rows["FFF"]["test"])),
    }


def enrolments() -> Found:
    return {course: Outcome(float(row["rows"])) for course, row in course_rows().items()}


def imbalances() -> Found:
    words = {"disability": "disabled", "gender": "male", "poverty": "more deprived"}
    return {
        f"{course}, {word}": Outcome(100 * row["shares"][name])
        for course, row in course_rows().items()
        for name, word in words.items()
    }


def accuracy() -> Found:
    row = course_rows()["BBB"]
    trials = int(row["test"])
    found = {model: wilson(share * trials, trials) for model, share in row["accuracy"].items()}
    return {**found, "DT, the highest": found["DT"]}


def previous_table(course: str) -> Found:
    return {
        f"{model}, {feature}": Outcome(value["madd"])
        for (own, model, feature), value in madd_pieces("previous").items()
        if own == course
    }


def searched_table(course: str) -> Found:
    return {
        f"{model}, {feature}": Outcome(value["reproduced"])
        for (own, model, feature), value in madd_pieces("tables").items()
        if own == course
    }


def stretches(course: str) -> Found:
    found = {}
    for (own, model, feature), value in madd_pieces("tables").items():
        if own == course:
            for end, bandwidth in zip(("from", "to"), value["reproduced_stretch"], strict=True):
                found[f"{model}, {feature}, {end}"] = Outcome(bandwidth)
    return found


def poverty_worst() -> Found:
    tables = madd_pieces("tables")

    def mean_of(feature: str, kind: str) -> float:
        own = [v[kind] for (c, _, f), v in tables.items() if (c, f) == ("BBB", feature)]
        return float(np.mean(own))

    def ahead(kind: str) -> Outcome:
        others = max(mean_of("gender", kind), mean_of("disability", kind))
        return Outcome(mean_of("poverty", kind) - others)

    def of(model: str, feature: str) -> float:
        return float(tables["BBB", model, feature]["reproduced"])

    least = min(of(model, "gender") for model in ("LR", "KN", "DT")) - of("NB", "gender")
    low = min(of(model, "disability") for model in ("LR", "NB"))
    high = max(of(model, "disability") for model in ("KN", "DT"))
    return {
        "poverty less the larger of the others, mean of four models": ahead("reproduced"),
        "least other MADD by gender less NB's": Outcome(least),
        "LR's and NB's least MADD by disability less KN's and DT's largest": Outcome(low - high),
        "poverty less the larger of the others, one score": ahead("one_score"),
    }


def one_score() -> Found:
    found = {}
    for (course, model, feature), value in madd_pieces("tables").items():
        estimate = value["judged"] if "judged" in value else value["binned"]
        found[f"{course}, {model}, {feature}"] = Outcome(estimate, *value["interval"])
    return found


def figure_19() -> Found:
    splits = list(madd_pieces("oulad").values())
    return {
        "accuracy loss at λ = 0": range_of([one["inside_error"][0] for one in splits]),
        "accuracy loss at λ = 1": range_of([one["inside_error"][1] for one in splits]),
        "fairness loss at λ = 0": range_of([one["inside_fairness"][0] for one in splits]),
        "fairness loss at λ = 1": range_of([one["inside_fairness"][1] for one in splits]),
        "λ*": range_of([one["inside_lambda"] for one in splits]),
    }


def held_out() -> Found:
    splits = list(madd_pieces("oulad").values())
    gains = [100 * (1 - one["new_fairness"][1] / one["new_fairness"][0]) for one in splits]
    costs = [one["new_error"][1] - one["new_error"][0] for one in splits]
    return {
        "fairness loss falls by, %, new rows": range_of(gains),
        "accuracy loss rises by, new rows": range_of(costs),
    }


def figure_20() -> Found:
    gaps = {value["n"]: value["gap"] for value in madd_pieces("line").values()}
    return {
        "gap at 100 rows a group less gap at 1,000": Outcome(gaps[100] - gaps[1_000]),
        "gap at 1,000 less gap at 10,000": Outcome(gaps[1_000] - gaps[10_000]),
        "gap at 10,000 less gap at 100,000": Outcome(gaps[10_000] - gaps[100_000]),
        "gap at 100,000": Outcome(gaps[100_000]),
    }


# ------------------------------------------------------------------------------------ bian


def hfm_folds() -> list[dict[str, Any]]:
    return [line for line in read_lines("hfm_paper.jsonl") if "study" not in line]


def both_distances(lines: list[dict[str, Any]], suffix: str) -> np.ndarray:
    return np.array([[line[f"{name}{suffix}"] for name in ("D", "D_f")] for line in lines]).ravel()


def complexity() -> Found:
    lines = hfm_folds()
    direct = both_distances(lines, "_direct_seconds")
    approx = both_distances(lines, "_approx_seconds")
    income = [line for line in lines if line["data"] == "income"]
    by_income = both_distances(income, "_approx_seconds")
    return {
        "share of folds in which ApproxDist is faster": Outcome(float((approx < direct).mean())),
        "seconds direct over ApproxDist, Income": range_of(
            both_distances(income, "_direct_seconds") / by_income
        ),
        "seconds exact here over ApproxDist, Income": range_of(
            both_distances(income, "_seconds") / by_income
        ),
    }


def figure_3() -> Found:
    lines = hfm_folds()
    exact = both_distances(lines, "")
    approx = both_distances(lines, "_approx")
    correlation = float(np.corrcoef(exact, approx)[0, 1])
    half = 1.96 / math.sqrt(len(exact) - 3)
    ends = [math.tanh(math.atanh(correlation) + sign * half) for sign in (-1, 1)]
    excess = 100 * (approx / exact - 1)
    within = []
    by_case = []
    for case in sorted({(line["data"], line["attribute"]) for line in lines}):
        own = [line for line in lines if (line["data"], line["attribute"]) == case]
        first = both_distances(own, "")
        second = both_distances(own, "_approx")
        by_case.append(float(100 * (second / first - 1).mean()))
        if np.ptp(first) > 0 and np.ptp(second) > 0:
            within.append(float(np.corrcoef(first, second)[0, 1]))
    return {
        "correlation over all folds": Outcome(correlation, *ends),
        "least correlation within a data set and attribute": Outcome(min(within)),
        "mean overstatement, %": range_of(by_case),
        "largest overstatement, %": Outcome(float(excess.max())),
        "overstatement in % falls with D: correlation": Outcome(
            float(np.corrcoef(exact, excess)[0, 1])
        ),
    }


def hfm_sign() -> Found:
    lines = hfm_folds()
    same = [np.sign(line["hfm"]) == np.sign(line["hfm_approx"]) for line in lines]
    return {"folds in which both have the same sign": wilson(float(np.sum(same)), len(same))}


def figure_4() -> Found:
    lines = [line for line in read_lines("hfm_paper.jsonl") if "study" in line]
    # The first five settings of a case are those of m₂ by m₁ = 20, the others those of m₁.
    by_case: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for line in lines:
        by_case.setdefault((line["data"], line["attribute"]), []).append(line)
    excess = np.array(
        [[100 * (one["D_approx"] / one["D"] - 1) for one in own] for own in by_case.values()]
    ).mean(axis=0)
    seconds = np.array([[one["seconds"] for one in own] for own in by_case.values()]).mean(axis=0)
    return {
        "mean overstatement at m₂ = 1 less at m₂ = 16, %": Outcome(float(excess[0] - excess[4])),
        "mean overstatement at m₁ = 1 less at m₁ = 50, %": Outcome(float(excess[5] - excess[9])),
        "mean seconds at m₂ = 16 less at m₂ = 1": Outcome(float(seconds[4] - seconds[0])),
        "mean seconds at m₁ = 50 less at m₁ = 1": Outcome(float(seconds[9] - seconds[5])),
    }


#: The rules of the paper's tables, and how `hfm_pool` names them.
PAPER_RULES = ("Accuracy", "DP", "EO", "PQP", "DR", "df", "df̂")
#: Table → what chooses, and what is measured of the chosen.
POOL_TABLES = {
    "table-1a": ("accuracy", ""),
    "table-1b": ("accuracy", "DR"),
    "table-3a": ("accuracy", "DP"),
    "table-3b": ("accuracy", "EO"),
    "table-3c": ("accuracy", "PQP"),
    "table-4a": ("f1", ""),
    "table-4b": ("f1", "DR"),
    "table-5a": ("f1", "DP"),
    "table-5b": ("f1", "EO"),
    "table-5c": ("f1", "PQP"),
}


def pool_table(item: str) -> Found:
    """Mean and range over folds of what each rule chooses, in % where it is accuracy or F1."""
    error, measure = POOL_TABLES[item]
    experiment = hfm_pool.experiment(error)
    factor = 1.0 if measure else 100.0
    found = {}
    for word, rule in zip(PAPER_RULES, experiment.rules, strict=True):
        for case, values in zip(experiment.cases, experiment.scores(rule, measure), strict=True):
            defined = factor * values[np.isfinite(values)]
            if len(defined):
                found[f"{case}, {word}"] = range_of(defined)
            else:
                found[f"{case}, {word}"] = Outcome(math.nan)
    return found


def pool_wins() -> Found:
    """Cases in which d̂f is significantly better, as good, worse, table by table."""
    found = {}
    for item, (error, measure) in POOL_TABLES.items():
        counts = hfm_pool.experiment(error).wins(measure)
        for word, (_, row) in zip(PAPER_RULES, counts.iterrows(), strict=False):
            for outcome, words in (("win", "better"), ("tie", "as good"), ("loss", "worse")):
                name = f"{item.removeprefix('table-')}, {word}, {words}"
                found[name] = Outcome(float(row[outcome]))
    return found


def pool_claims() -> Found:
    """Section 4.2: average ranks of one rule less those of the best other, ± Nemenyi's difference."""

    def gap(
        error: str, measure: str, own: tuple[str, ...], pick: Callable[[Any], float]
    ) -> Outcome:
        ranking = hfm_pool.experiment(error).ranking(measure)
        ranks = dict(zip(ranking.rules, ranking.ranks, strict=True))
        chosen = pick([ranks[rule] for rule in own])
        others = min(rank for rule, rank in ranks.items() if rule not in own)
        difference = chosen - others
        critical = ranking.critical_difference
        return Outcome(difference, difference - critical, difference + critical)

    both = ("HFM", "HFM approx")
    found = {}
    for error, word in (("accuracy", "accuracy"), ("f1", "F1")):
        ranking = hfm_pool.experiment(error).ranking()
        found[f"{word}: Friedman's p"] = Outcome(float(ranking.friedman.pvalue))
        found[f"{word}: best rank of df and d̂f less the others' best"] = gap(error, "", both, min)
    found["accuracy: worse rank of df and d̂f less the others' best"] = gap(
        "accuracy", "", both, max
    )
    for error, alpha in (("accuracy", ".05"), ("f1", ".1")):
        name = f"discriminative risk, α = {alpha}: rank of DR less the others' best"
        found[name] = gap(error, "DR", ("DR",), min)
    name = "predictive parity, α = .05: best rank of df and d̂f less the others' best"
    found[name] = gap("accuracy", "PQP", both, min)
    return found


def pool_tradeoff() -> Found:
    """Figure 1: shares of α at which HFM's rules cost least, by 2,000 resamples of the cases."""
    alphas = np.linspace(0, 1, 21)
    generator = np.random.default_rng(34)
    n_cases = len(hfm_pool.experiment().cases)
    resampled = generator.integers(0, n_cases, size=(2_000, n_cases))
    found = {}
    for error, word in (("accuracy", "error"), ("f1", "1 − F1")):
        experiment = hfm_pool.experiment(error)
        rules = experiment.rules[1:]
        of_hfm = np.array([rule.startswith("HFM") for rule in rules])
        for measure, words in (
            ("", "each rule's own measure"),
            ("DR", "discriminative risk of all"),
        ):
            costs = np.empty((len(alphas), len(rules), n_cases))
            for i, alpha in enumerate(alphas):
                for j, rule in enumerate(rules):
                    right = experiment.scores(rule, "", alpha)
                    unfair = experiment.scores(rule, measure or rule, alpha)
                    for case in range(n_cases):
                        costs[i, j, case] = alpha * (1 - np.nanmean(right[case])) + (
                            1 - alpha
                        ) * np.nanmean(unfair[case])
            name = f"by {word}, {words}"
            least = of_hfm[costs.mean(axis=2).argmin(axis=1)].mean()
            draws = costs[:, :, resampled].mean(axis=3).argmin(axis=1)
            shares = of_hfm[draws].mean(axis=0)
            low, high = np.quantile(shares, [0.025, 0.975])
            found[name] = Outcome(float(least), float(low), float(high))
    return found


# ------------------------------------------------------------------------------ barrainkua


def um_figures() -> dict[str, Any]:
    figures: dict[str, Any] = json.loads(um_german_figures.FIGURES.read_text(encoding="utf-8"))
    return figures


def um_drawn(name: str) -> Any:
    return um_figures()["drawn"][name]["value"]


def instability() -> Found:
    record = um_german_figures.loaded()
    opportunity = []
    parity = []
    for method, points in record.points.items():
        values = np.array(list(points.values()))
        opportunity.append(values[:, 1].std(ddof=1) / values[:, 0].std(ddof=1))
        if np.isfinite(values[:, 2]).all():
            parity.append(values[:, 2].std(ddof=1) / values[:, 0].std(ddof=1))
        elif method == "Lin. SVM + Hardt":
            kept = values[np.isfinite(values[:, 2])]
            parity.append(kept[:, 2].std(ddof=1) / kept[:, 0].std(ddof=1))
    return {
        "equal opportunity over accuracy": range_of(opportunity),
        "demographic parity over accuracy": range_of(parity),
    }


def regions_of(item: str) -> Found:
    """Area and %RES of the predictive posterior, r from all half splits, means over folds."""
    names = [number.name for number in items_by_key()[f"barrainkua.{item}"].numbers]
    found = {}
    for method in dict.fromkeys(name.split(", ")[0] for name in names):
        if f"regions|{method}" not in um_figures()["drawn"]:
            continue
        for row in um_drawn(f"regions|{method}"):
            if row["target"] == "predictive" and row["strategy"] in STRATEGIES:
                found[f"{method}, {row['strategy']}, area"] = Outcome(row["area"])
                found[f"{method}, {row['strategy']}, %RES"] = Outcome(row["shares"][0])
    return found


def claim_rho() -> Found:
    found = {}
    number = um_figures()["fast"]["number"]
    for method in ("LR + Hardt", "Lin. SVM + Hardt"):
        trials = int(number[f"2|{method}|cv"])
        for row in um_drawn(f"regions|{method}"):
            name = f"{method}, {row['strategy']}, {row['target']}, %RES"
            share = wilson(row["shares"][0] / 100 * trials, trials)
            found[name] = Outcome(row["shares"][0], 100 * share.low, 100 * share.high)
    names = {number.name for number in items_by_key()["barrainkua.claim-rho"].numbers}
    return {name: outcome for name, outcome in found.items() if name in names}


def differences_of(pair: tuple[str, str]) -> np.ndarray:
    """Δ of accuracy and of equal opportunity, means over folds, in every cross-validation there is.

    Those of `um_german_many` and of the runs before it; one seed makes the same folds in both.
    """
    record = um_german_figures.loaded()
    many = um_german_many.points()
    first, second = ({**record.points.get(method, {}), **many.get(method, {})} for method in pair)
    both = sorted(first.keys() & second.keys())
    delta = np.array([first[k][:2] - second[k][:2] for k in both]) * np.array([1.0, -1.0])
    return np.asarray(delta[np.isfinite(delta).all(axis=1)])


def truth() -> Found:
    found = {}
    for name in "ab":
        delta = differences_of(um_german_figures.PAIRS[name])
        shares = um_german_figures.events_of(delta, 0.01)
        for event in EVENTS:
            share = shares.get(event, 0.0)
            found[f"({name}), {event}"] = wilson(share * len(delta), len(delta))
        found[f"({name}), cross-validations"] = Outcome(float(len(delta)))
    return found


def likeliest() -> Found:
    shares = truth()
    return {name: shares[name] for name in ("(a), A_acc, B_fair", "(b), B≫A")}


def events_of_case(case: str) -> Found:
    found = {}
    for pair in "ab":
        drawn = um_drawn(f"comparison|{pair}")["found"][case]
        for strategy in STRATEGIES:
            events = drawn[f"{strategy}|predictive"]
            for event in EVENTS:
                found[f"({pair}), {strategy}, {event}"] = Outcome(events.get(event, 0.0))
    return found


def grid_of_case(pair: str, case: str) -> Found:
    drawn = um_drawn(f"comparison|{pair}")["found"][f"{case}, grid"]
    found = {}
    for key, events in drawn.items():
        rope, level = key.split("|")
        for event in EVENTS:
            found[f"RoPE {rope}, HDR {level}, {event}"] = Outcome(events.get(event, 0.0))
    return found


def same_under_every_rope() -> Found:
    """Number of different likeliest events under the three RoPEs, 95% HDR."""
    tables = {
        "12.2": ("a", "most probable"),
        "12.3": ("b", "most probable"),
        "12.4": ("a", "worst"),
        "12.5": ("b", "worst"),
    }
    found = {}
    for table, (pair, case) in tables.items():
        by_rope: dict[str, dict[str, float]] = {}
        for name, outcome in grid_of_case(pair, case).items():
            rope, level, event = name.split(", ", 2)
            if level == "HDR 0.95":
                by_rope.setdefault(rope, {})[event] = outcome.value
        likeliest = {max(events, key=lambda event: events[event]) for events in by_rope.values()}
        found[f"table {table}, likeliest events"] = Outcome(float(len(likeliest)))
    return found


def prioritises() -> Found:
    found = {}
    shares = um_figures()["fast"]["truths"]
    for pair, strategy in (("b", "ρ_rel"), ("b", "1/K"), ("a", "ρ_rel")):
        events = shares[f"{pair}|mean over folds"]["events"]["0.01"]
        first = max(events, key=lambda event: events[event])
        drawn = um_drawn(f"comparison|{pair}")
        share = drawn["found"][f"initial|{strategy}|predictive"]["likeliest"].get(first, 0.0)
        found[f"({pair}), {strategy}"] = wilson(share * drawn["initial"], drawn["initial"])
    return found


def half_splits() -> Found:
    few = um_figures()["fast"]["few"]
    return {
        word: Outcome(few[f"FERM|{metric}"][1] / few[f"FERM|{metric}"][0])
        for metric, word in (("accuracy", "accuracy"), ("tpr", "true positive rate"))
    }


def three_objectives() -> Found:
    found = {}
    shares = um_figures()["fast"]["truths"]
    for pair in "ab":
        truths = shares[f"{pair}|mean over folds"]["three"]["events"]
        drawn = {"truth": truths}
        for strategy in STRATEGIES:
            drawn[strategy] = um_drawn(f"three|{pair}")[f"{strategy}|predictive"]
        for strategy, events in drawn.items():
            for event in ("A≫B", "B≫A", "A≈B"):
                found[f"({pair}), {strategy}, {event}"] = Outcome(events.get(event, 0.0))
    return found


def events_between(pair: tuple[str, str], wanted: tuple[str, ...]) -> Found:
    """Shares of the repeated cross-validations of two methods, by means over folds."""
    delta = differences_of(pair)
    events = um_german_figures.events_of(delta, 0.01)
    found = {event: wilson(events.get(event, 0.0) * len(delta), len(delta)) for event in wanted}
    return {**found, "cross-validations": Outcome(float(len(delta)))}


def adult_hold_out() -> Found:
    """Accuracy, gap and the event's probability of three cases, over five training samples.

    The posterior is the paper's: of another test set of the same size, draws of A and B
    independent.
    """
    found = {}
    methods = (*um_adult.MACHINES, um_adult.HARDT)
    seeds = [
        seed
        for seed in range(um_adult.SEEDS)
        if all((seed, method) in um_adult.cells() for method in methods)
    ]
    for case, (first, second, event) in um_adult.CASES.items():
        levels: dict[str, list[float]] = {}
        for seed in seeds:
            posteriors = []
            for place, (side, method) in enumerate((("A", first), ("B", second))):
                cells = um_adult.cells()[seed, method]
                tp, _, fn, tn = cells.T.astype(float)
                rates = tp / (tp + fn)
                accuracy = float((tp + tn).sum() / cells.sum())
                levels.setdefault(f"{side}, accuracy", []).append(accuracy)
                levels.setdefault(f"{side}, EOp", []).append(float(abs(rates[0] - rates[1])))
                counts = fs.ConfusionCounts(um_adult.GROUPS, cells, cells)
                posteriors.append(
                    fs.um_posterior(counts=counts, target="predictive", rng=2 * seed + place)
                )
            compared = fs.um_compare(
                *posteriors, metrics=("accuracy", "equal_opportunity"), rope=0.01, rng=seed
            )
            shares = {one.event: one.probability for one in compared.events}
            levels.setdefault(f"P({event})", []).append(shares.get(event, 0.0))
        for name, values in levels.items():
            found[f"case {case}, {name}"] = t_interval(values)
    return found


def within_unit(outcome: Outcome) -> Outcome:
    """A share whose interval ends at 0 and 1."""
    return Outcome(outcome.value, max(outcome.low, 0.0), min(outcome.high, 1.0))


def adult_levels() -> Found:
    """Levels of the three cases, beside the printed ones."""
    return {name: one for name, one in adult_hold_out().items() if "P(" not in name}


def adult_events() -> Found:
    """Probabilities of the events that the paper names."""
    return {name: within_unit(one) for name, one in adult_hold_out().items() if "P(" in name}


def t_interval(values: Any) -> Outcome:
    """Mean of a few numbers with its 95% t interval."""
    numbers = np.asarray(values, dtype=float)
    half = float(t.ppf(0.975, len(numbers) - 1) * numbers.std(ddof=1) / math.sqrt(len(numbers)))
    mean = float(numbers.mean())
    return Outcome(mean, mean - half, mean + half)


def priors() -> Found:
    """Largest change of an event between the priors 1, 1/2 and 0, at the most probable CV."""
    record = um_german_figures.loaded()
    found = {}
    for name in "ab":
        pair = um_german_figures.PAIRS[name]
        k = um_german_figures.cases(record, pair)["most probable"]
        every = []
        for prior in (1.0, 0.5, 0.0):
            posteriors = []
            for place, method in enumerate(pair):
                ratio = record.ratios(method, ("accuracy", "tpr"))[0]
                factor, _ = um_german_figures.strategy_factors("relative-uniform", 10, ratio)
                cells = record.sums[method][k]
                counts = fs.ConfusionCounts(
                    um_german_figures.GROUPS, cells * factor[:, None], cells
                )
                posteriors.append(
                    fs.um_posterior(
                        counts=counts, prior=prior, draws=40_000, target="predictive", rng=place
                    )
                )
            compared = fs.um_compare(
                *posteriors, metrics=("accuracy", "equal_opportunity"), rope=0.01, hdr=0.95, rng=1
            )
            every.append({event.event: event.probability for event in compared.events})
        changes = [abs(every[0][event] - other[event]) for other in every[1:] for event in every[0]]
        found[f"({name}), largest change"] = Outcome(float(max(changes)))
    return found


def samplers() -> Found:
    """PyMC less exact: means in standard deviations, and log ratios of standard deviations."""
    runs = json.loads(um_pymc.RECORD.read_text(encoding="utf-8"))
    # Six numbers together: each at 1 − .05/6; a mean's error is sd/√ess, a deviation's sd/√(2·ess).
    critical = 2.638
    found = {}
    for name in um_pymc.METRICS:
        both = [run["metrics"][name] for run in runs]
        sampled = np.mean([one["pymc"] for one in both], axis=0)
        exact = np.mean([one["exact"] for one in both], axis=0)
        of_mean, of_deviation = np.sum([one["effective_sizes"] for one in both], axis=0)
        shift = float((sampled[0] - exact[0]) / exact[1])
        half = float(critical / np.sqrt(of_mean))
        found[f"{name}, mean"] = Outcome(shift, shift - half, shift + half)
        ratio = float(np.log(sampled[1] / exact[1]))
        half = float(critical / np.sqrt(2 * of_deviation))
        found[f"{name}, deviation"] = Outcome(ratio, ratio - half, ratio + half)
    return found


# --------------------------------------------------------------------------------- monjezi


def claims_of(names: list[str], questions: dict[str, Any]) -> Found:
    """Claims by what is measured: interval, side and bound of the rule in `ecd_real_claims`."""
    found = {}
    for name in names:
        claim = questions[name]
        mean = claim.mean
        found[name] = Outcome(mean.estimate, mean.low, mean.high, claim.side, claim.bound)
    return found


def seeds_of(variant: str) -> dict[tuple[str, str], list[Any]]:
    """(task, model) → fits over seeds."""
    by = ecd_real_claims.fits(ecd_lines())[variant]
    return {key: list(seeds.values()) for key, seeds in by.items()}


_KEPT: dict[str, Any] = {}


def ecd_lines() -> list[dict[str, Any]]:
    if "lines" not in _KEPT:
        _KEPT["lines"] = ecd_real_data.read(ecd_real_data.RECORD)
    lines: list[dict[str, Any]] = _KEPT["lines"]
    return lines


def ecd_table_4() -> Found:
    found = {}
    for (task, model), fits in seeds_of("original").items():
        for measure, word in (("acd", "ACD"), ("ecd", "ECD")):
            values = [ecd_real_claims.value(fit, measure) for fit in fits]
            if np.isfinite(values).any():
                finite = [value for value in values if math.isfinite(value)]
                found[f"{task}, {model}, {word}"] = range_of(finite)
    return found


def ecd_sizes(item: str) -> Found:
    """|ECD| of mitigated models over seeds, for the numbers of an item."""
    found = {}
    for number in items_by_key()[f"monjezi.{item}"].numbers:
        task, model, variant = number.name.rsplit(", ", 2)
        fits = seeds_of(variant).get((task, model), [])
        values = [abs(ecd_real_claims.value(fit, "ecd")) for fit in fits]
        found[number.name] = range_where_finite(values)
    return found


def range_where_finite(values: list[float]) -> Outcome:
    """Mean and range over seeds; without any run, or any finite value, nothing."""
    finite = [value for value in values if math.isfinite(value)]
    return range_of(finite) if finite else Outcome(math.nan)


def ecd_table_6() -> Found:
    """|ECD| under MAAT and STEALTH over seeds."""
    by = ecd_real_recent.by_variant()
    found = {}
    for number in items_by_key()["monjezi.table-6"].numbers:
        task, model, variant = number.name.rsplit(", ", 2)
        seeds = by[variant].get((task, model), {})
        values = [abs(ecd_real_claims.value(fit, "ecd")) for fit in seeds.values()]
        found[number.name] = range_where_finite(values)
    return found


def ecd_columns(item: str) -> Found:
    """Change of accuracy, |AOD|, |EOD|, |SPD| and DI of mitigated models over seeds."""
    by = {**ecd_real_claims.fits(ecd_lines()), **ecd_real_recent.by_variant()}
    found = {}
    for number in items_by_key()[f"monjezi.{item}"].numbers:
        task, model, variant, column = number.name.rsplit(", ", 3)
        if column == "DI":
            impacts = ecd_real_impact.impacts().get((task, model, variant), {})
            found[number.name] = range_where_finite(list(impacts.values()))
            continue
        mitigated = by[variant].get((task, model), {})
        original = by["original"].get((task, model), {})
        values = []
        for seed, fit in mitigated.items():
            if column != "accuracy":
                values.append(abs(ecd_real_claims.value(fit, column)))
            elif seed in original:
                values.append(fit["accuracy"] - original[seed]["accuracy"])
        found[number.name] = range_where_finite(values)
    return found


def ecd_cvar() -> Found:
    """Difference of conditional values at risk of the unmitigated models, over seeds."""
    found = {}
    for number in items_by_key()["monjezi.table-4-cvar"].numbers:
        task, model, _ = number.name.rsplit(", ", 2)
        fits = seeds_of("original").get((task, model), [])
        found[number.name] = range_where_finite(
            [ecd_real_claims.value(fit, "cvar") for fit in fits]
        )
    return found


def tail_based_claims() -> dict[str, ecd_real_claims.Claim]:
    """What the abstract and V-D say of MiniMax and ECD-Fair beside their wins by ECD."""
    by = ecd_real_claims.fits(ecd_lines())
    slack = ecd_real_claims.SLACK
    least = ecd_real_claims.CHANGE
    measures = {"AOD": "AOD", "EOD": "EOD", "ECD": "ecd"}
    bounds = {
        "EcdSearch: |AOD| smaller by .01": 9 / 20 - slack,
        "EcdSearch: |EOD| smaller by .01": 10 / 20 - slack,
        "MiniMax: |AOD| smaller by .01": 5 / 20 - slack,
        "MiniMax: |EOD| smaller by .01": 7 / 20 - slack,
        "MiniMax: |ECD| larger by .01": 0.30 - slack,
        "EcdSearch: mean of |AOD|": 0.04 + slack,
        "EcdSearch: mean of |ECD|": 0.03 + slack,
        "EcdSearch: |AOD| at most .05": 15 / 20 - slack,
    }
    found = {}
    for name, bound in bounds.items():
        variant, _, what = name.partition(": ")
        measure = measures[what.split("|")[1]]
        size = ecd_real_claims.size(measure)
        change = ecd_real_claims.change(measure)
        pairs = ecd_real_claims.paired(by["original"], by[variant])
        if what.startswith("mean"):
            mean = ecd_real_claims.mean_over_tasks(by[variant], size)
        elif what.endswith("at most .05"):
            limit = ecd_real_claims.TOLERANCE
            mean = ecd_real_claims.mean_over_tasks(
                by[variant],
                lambda fit, size=size, limit=limit: float(size(fit) <= limit),
                share=True,
            )
        else:
            sign = -1 if "smaller" in what else 1
            mean = ecd_real_claims.mean_over_tasks(
                pairs,
                lambda pair, change=change, sign=sign: float(sign * change(pair) > least),
                share=True,
            )
        side = "below" if what.startswith("mean") else "above"
        share = not what.startswith("mean")
        found[name] = ecd_real_claims.Claim("RQ4", name, name, mean, side, bound, share)
    return found


def recent_claims(item: str) -> Found:
    """Claims about the four mitigators of averages."""
    names = [number.name for number in items_by_key()[f"monjezi.{item}"].numbers]
    return claims_of(names, ecd_real_recent.claims())


def mitigated_differ() -> dict[str, ecd_real_claims.Claim]:
    """|ECD| above |ACD| by the paper's tolerance, under the four mitigators of averages together."""
    value = ecd_real_claims.value
    tolerance = ecd_real_claims.TOLERANCE
    cells: ecd_real_claims.Cells = {}
    for variant in ("EG", "Fair-SMOTE-like", "MAAT", "STEALTH"):
        for (task, model), fits in ecd_real_recent.by_variant()[variant].items():
            cells[task, f"{model}, {variant}"] = fits
    mean = ecd_real_claims.mean_over_tasks(
        cells,
        lambda fit: float(abs(value(fit, "ecd")) > abs(value(fit, "acd")) + tolerance),
        share=True,
    )
    name = "cases where |ECD| is larger than |ACD| by .05, four mitigators"
    bound = 0.52 - ecd_real_claims.SLACK
    return {name: ecd_real_claims.Claim("RQ3", name, name, mean, "above", bound, True)}


def stealth_of_20() -> dict[str, ecd_real_claims.Claim]:
    """What section V-D says of STEALTH on the 20 cases of DNN and logistic regression."""
    by = ecd_real_recent.by_variant()
    pairs = {
        (task, model): fits
        for (task, model), fits in ecd_real_claims.paired(by["original"], by["STEALTH"]).items()
        if model in SEARCHED
    }
    slack = ecd_real_claims.SLACK
    least = ecd_real_claims.CHANGE
    rows = (
        ("EOD", "EOD", "smaller", 6 / 20 - slack),
        ("AOD", "AOD", "smaller", 8 / 20 - slack),
        ("ECD", "ecd", "smaller", 16 / 20 - slack),
        ("ECD", "ecd", "larger", 2 / 20 + slack),
    )
    named = {}
    for word, measure, direction, bound in rows:
        name = f"STEALTH, LR and MLP: |{word}| {direction} by .01"
        sign = -1 if direction == "smaller" else 1
        change = ecd_real_claims.change(measure)
        mean = ecd_real_claims.mean_over_tasks(
            pairs,
            lambda pair, change=change, sign=sign: float(sign * change(pair) > least),
            share=True,
        )
        side = "above" if direction == "smaller" else "below"
        named[name] = ecd_real_claims.Claim("RQ4", name, name, mean, side, bound, True)
    return named


def claims_undecided() -> dict[str, ecd_real_claims.Claim]:
    """Claims of RQ1 to RQ4 that the records leave open, by what is measured."""
    every = ecd_real_claims.claims(ecd_lines(), read_rows())
    named = {claim.ours: claim for claim in every if claim.question != "further"}
    named |= ecd_real_recent.claims() | tail_based_claims()
    named |= mitigated_differ() | stealth_of_20()
    return {name: claim for name, claim in named.items() if claim.judged == "undecided"}


def runs_needed() -> Found:
    """How many tasks would decide what is undecided, at the mean and the spread found here."""
    return {
        name: Outcome(float(ecd_real_recent.tasks_that_decide(claim)))
        for name, claim in claims_undecided().items()
    }


def ecd_table_3() -> Found:
    measures = {
        "frechet": "FID",
        "kl_similarity": "KL",
        "detection": "detection",
        "f1_loss": "F1 loss",
    }
    values: dict[str, list[float]] = {}
    for line in read_rows():
        what, task, generator, _ = line["key"]
        if what == "quality" and task != "Adult, race":
            for measure, word in measures.items():
                name = f"{task.partition(',')[0]}, {generator}, {word}"
                values.setdefault(name, []).append(line[measure])
    names = [number.name for number in items_by_key()["monjezi.table-3"].numbers]
    return {name: range_where_finite(values.get(name, [])) for name in names}


def counted_rows(what: str) -> Found:
    counts = json.loads(ROW_COUNTS.read_text(encoding="utf-8"))[what]
    return {name: Outcome(float(count)) for name, count in counts.items()}


def count_rows() -> dict[str, dict[str, int]]:
    """Rows and features of the data sets that do not travel with the package, and men less women.

    Heart without missing values; columns beside the outcome.
    """
    files = {
        "Bank": ("bank_full", "y"),
        "Default": ("credit_default", "default_payment_next_month"),
        "Heart": ("heart_cleveland", "num"),
        "Student": ("student", "G3"),
    }
    tables = {name: shared(file) for name, (file, _) in files.items()}
    tables["Heart"] = tables["Heart"].dropna()
    features = {name: table.shape[1] - 1 for name, table in tables.items()}
    # the subject is ours: which of the two files a row comes from
    features["Student"] -= int("subject" in tables["Student"])
    german = fs.datasets.load_german_credit().frame
    men = {
        "Heart": tables["Heart"]["sex"].eq(1),
        "German credit": german["sex"].eq("male"),
        "Student": tables["Student"]["sex"].eq("M"),
        "Default": tables["Default"]["SEX"].eq(1),
    }
    more = {f"{name}, men less women": int(2 * own.sum() - len(own)) for name, own in men.items()}
    rows = {name: len(table) for name, table in tables.items()}
    return {"rows": rows, "features": features, "men": more}


# ---------------------------------------------------------------------------------- writing


def items_by_key() -> dict[str, Item]:
    if "items" not in _KEPT:
        _KEPT["items"] = {item.key: item for paper in PAPERS for item in read_items(paper)}
    found: dict[str, Item] = _KEPT["items"]
    return found


def studies() -> Iterator[tuple[str, str, Callable[[], Found]]]:
    """Key of an item, file of the record, what computes its outcomes from it."""
    splits = "tests/benchmarks/besse_paper.jsonl"
    yield "besse.learned-with", splits, lambda: learned("with")
    yield "besse.learned-without", splits, lambda: learned("without")
    yield "besse.enforce", splits, lambda: compared_on_adult("with", "label")
    yield "besse.discard", splits, lambda: compared_on_adult("without", "with")

    madd = "tests/benchmarks/madd_paper.jsonl"
    yield "verger.theorem-2", madd, theorem_2
    yield "verger.figure-11", madd, figure_11
    yield "verger.claim-balanced", madd, claim_balanced
    yield "verger.table-1", madd, table_1
    yield "verger.enrolments", madd, enrolments
    yield "verger.imbalances", madd, imbalances
    yield "verger.accuracy", madd, accuracy
    yield "verger.table-2", madd, lambda: previous_table("BBB")
    yield "verger.table-3", madd, lambda: searched_table("BBB")
    yield "verger.table-3-stretches", madd, lambda: stretches("BBB")
    yield "verger.poverty-worst", madd, poverty_worst
    yield "verger.one-score", madd, one_score
    yield "verger.table-4", madd, lambda: previous_table("FFF")
    yield "verger.table-5", madd, lambda: searched_table("FFF")
    yield "verger.table-5-stretches", madd, lambda: stretches("FFF")
    yield "verger.figure-19", madd, figure_19
    yield "verger.held-out", madd, held_out
    yield "verger.figure-20", madd, figure_20

    hfm = "tests/benchmarks/hfm_paper.jsonl"
    yield "bian.complexity", hfm, complexity
    yield "bian.figure-3", hfm, figure_3
    yield "bian.hfm-sign", hfm, hfm_sign
    yield "bian.figure-4", hfm, figure_4
    pool = "tests/benchmarks/hfm_pool.jsonl"
    yield "bian.figure-1", pool, pool_tradeoff
    yield "bian.section-4.2", pool, pool_claims
    for item in POOL_TABLES:
        yield f"bian.{item}", pool, lambda item=item: pool_table(item)

    yield "bian.wins", pool, pool_wins

    um = "tests/benchmarks/um_german_credit.jsonl.gz"
    yield "barrainkua.figure-1", um, instability
    yield "barrainkua.table-1", um, lambda: regions_of("table-1")
    yield "barrainkua.claim-rho", um, claim_rho
    many = "tests/benchmarks/um_german_many.jsonl.gz"
    yield "barrainkua.truth", many, truth
    yield "barrainkua.likeliest", many, likeliest
    yield "barrainkua.table-2", um, lambda: events_of_case("most probable")
    yield "barrainkua.table-3", um, lambda: events_of_case("worst")
    yield "barrainkua.prioritises", um, prioritises
    yield "barrainkua.figure-10.1", um, half_splits
    yield "barrainkua.table-12.1", um, lambda: regions_of("table-12.1")
    yield "barrainkua.table-12.2", um, lambda: grid_of_case("a", "most probable")
    yield "barrainkua.table-12.3", um, lambda: grid_of_case("b", "most probable")
    yield "barrainkua.table-12.4", um, lambda: grid_of_case("a", "worst")
    yield "barrainkua.table-12.5", um, lambda: grid_of_case("b", "worst")
    yield "barrainkua.rope-here", um, same_under_every_rope
    yield "barrainkua.table-13.1", um, three_objectives
    hardt = "Lin. SVM + Hardt"
    first = ("SVM + Hardt", hardt)
    yield "barrainkua.section-14.2", many, lambda: events_between(first, ("A≫B", "A_acc, B_fair"))
    yield "barrainkua.section-14.2-case-2", many, lambda: events_between((hardt, "LFERM"), ("B≫A",))
    adult = "tests/benchmarks/um_adult.jsonl"
    yield "barrainkua.section-14.1", adult, adult_levels
    yield "barrainkua.section-14.1-events", adult, adult_events
    yield "barrainkua.table-15.1", um, priors
    yield "barrainkua.sampler", "tests/benchmarks/um_pymc.json", samplers

    ecd = "tests/benchmarks/ecd_real_data.jsonl.gz, ecd_real_rows.jsonl"
    counts = "tests/benchmarks/replication_rows.json"
    yield "monjezi.table-2-others", counts, lambda: counted_rows("rows")
    yield "monjezi.features-others", counts, lambda: counted_rows("features")
    yield "monjezi.group-sizes", counts, lambda: counted_rows("men")
    yield "monjezi.table-3", ecd, ecd_table_3
    yield "monjezi.table-4", ecd, ecd_table_4
    yield "monjezi.table-4-cvar", ecd, ecd_cvar
    yield "monjezi.table-5", ecd, lambda: ecd_sizes("table-5")
    yield "monjezi.table-5-columns", ecd, lambda: ecd_columns("table-5-columns")
    recent = "tests/benchmarks/ecd_real_recent.jsonl.gz"
    yield "monjezi.table-6", recent, ecd_table_6
    yield "monjezi.table-6-columns", recent, lambda: ecd_columns("table-6-columns")
    for name in ("claim-stealth", "claim-rankings"):
        yield f"monjezi.{name}", recent, lambda name=name: recent_claims(name)
    for key, claims in (
        ("claim-stealth-of-20", stealth_of_20),
        ("claim-mitigated-differ", mitigated_differ),
    ):
        yield f"monjezi.{key}", recent, lambda claims=claims: claims_of(list(claims()), claims())
    yield "monjezi.runs-needed", recent, runs_needed
    yield "monjezi.table-7", ecd, lambda: ecd_sizes("table-7")
    yield "monjezi.table-7-columns", ecd, lambda: ecd_columns("table-7-columns")
    tail_based = tail_based_claims()
    yield "monjezi.claim-tail-based", ecd, lambda: claims_of(list(tail_based), tail_based)
    claims = ecd_real_claims.claims(ecd_lines(), read_rows())
    questions = {claim.ours: claim for claim in claims if claim.question != "further"}
    for key, item in items_by_key().items():
        judged_above = (
            "monjezi.claim-stealth",
            "monjezi.claim-rankings",
            "monjezi.claim-tail-based",
            "monjezi.claim-stealth-of-20",
            "monjezi.claim-mitigated-differ",
        )
        if key.startswith("monjezi.claim-") and key not in judged_above:
            names = [number.name for number in item.numbers]
            yield key, ecd, lambda names=names: claims_of(names, questions)


def rounded(outcome: Outcome) -> list[Any]:
    """Six significant digits; what is missing at the end is left out."""
    values = [
        None if math.isnan(v) else float(f"{v:.6g}")
        for v in (outcome.value, outcome.low, outcome.high)
    ]
    if outcome.side:
        return [*values, outcome.side, outcome.bound]
    while len(values) > 1 and values[-1] is None:
        values.pop()
    return values


def from_studies() -> dict[str, Any]:
    """Records of all studies; seconds are those of a study's own reading, not of its runs."""
    found = {}
    for key, source, compute in studies():
        started = time.perf_counter()
        outcomes = compute()
        found[key] = {
            "source": source,
            "seconds": float(f"{time.perf_counter() - started:.2g}"),
            "numbers": {name: rounded(outcome) for name, outcome in outcomes.items()},
        }
    return found


def from_package(only: list[str] | None = None) -> dict[str, Any]:
    """Everything that the package computes from data that travel with it, or some keys of it."""
    found = {}
    for key, item in items_by_key().items():
        if key in computations(item.paper) and (only is None or key in only):
            record = compute_record(item)
            found[key] = {
                "source": record.source,
                "seconds": float(f"{record.seconds:.2g}"),
                "numbers": {name: rounded(one) for name, one in record.outcomes.items()},
            }
    return found


PREFACE = """# Which printed result holds?

Every numbered table, figure, theorem, algorithm and claim of the five papers that this package
implements: what is printed, what comes out here with its interval, the verdict and its reason. This
page is made by `fairstats.replication()` (`python -m tests.benchmarks.replication --page`), and a
test compares both. What the papers print stands in `fairstats/report/replication/papers`, what
comes out in `records.json` beside it; no number of what comes out is typed. The rows on data that
travel with the package are recomputed by `fs.replication(run=True, paper="besse")`, the others
follow from records of studies in `tests/benchmarks`, whose commands are named.

A verdict is **holds**, **holds within printed rounding** (less than one unit of the last printed
digit away), **does not hold**, or **cannot be decided**. An item is judged by the worst of its
numbers. Numbers that depend on splits, seeds or code that nobody but the authors has are shown
beside the printed ones and not judged. Seconds are those of the row's computation, for rows of
studies those of reading the record: the runs themselves take what the script says.

"""

#: Wish, where the paper has it, and where it exists.
WISHES = (
    (
        "MADD of several groups and of crossed attributes",
        "Verger et al., sections 7 and 8",
        "here: `fs.madd` takes any number of groups and crosses several columns",
    ),
    (
        "MADD of several classes and of numeric outcomes",
        "Verger et al., section 7",
        'here: `fs.madd` of a matrix of probabilities, `scale="class"` of predicted classes,'
        ' `scale="rank"` of numbers',
    ),
    (
        "other predictive tasks and data sets",
        "Verger et al., section 8",
        "here: `fs.madd` takes any score in [0, 1], any number, any classes",
    ),
    (
        "HFM of several attributes with several values",
        "Bian and Luo, section 3.1",
        "here: `fs.hfm`",
    ),
    (
        "posteriors under noisy or missing group labels",
        "Barrainkua et al., section 6",
        "here: `fs.um_posterior(sensitive_probabilities=…)` of probabilities of groups",
    ),
    (
        "unlabelled rows to sharpen the posterior",
        "Barrainkua et al., section 6",
        "Ji, Smyth and Steyvers (2020), not here",
    ),
    (
        "other comparisons of several aims, such as privacy",
        "Barrainkua et al., section 6",
        "in part: `fs.um_compare` takes any metrics of the confusion matrix",
    ),
    (
        "a notion of harm from extreme values",
        "Monjezi et al., section VIII",
        "in part: horizon and end point of `fs.ecd`",
    ),
)


def wishes() -> str:
    """The section of wishes."""
    lines = ["## What the papers' authors wish for next", ""]
    lines += ["| wish | paper | where it exists |", "| --- | --- | --- |"]
    lines += [f"| {wish} | {paper} | {where} |" for wish, paper, where in WISHES]
    return "\n".join(lines) + "\n"


def page() -> str:
    """The page: preface, counts, the sections of the papers, wishes."""
    table = fs.replication()
    counts = table.counts()
    lines = [f"* {sentence}" for sentence in table.sentences()]
    total = ", ".join(f"{number} {PLURALS[verdict]}" for verdict, number in counts.items())
    head = f"**In short.** Of {len(table)} items: {total}.\n\n" + "\n".join(lines) + "\n\n"
    return PREFACE + head + table.to_markdown() + "\n" + wishes()


def write_json(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--studies", action="store_true")
    parser.add_argument("--only", nargs="+", help="items that the package computes")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--rows", action="store_true")
    options = parser.parse_args()
    if options.rows:
        write_json(ROW_COUNTS, count_rows())
        return
    if not options.page:
        known = (
            json.loads(RECORDS.read_text(encoding="utf-8")) if RECORDS.exists() else {"items": {}}
        )
        if options.only:
            made = {**known["items"], **from_package(options.only)}
        else:
            made = known["items"] if options.studies else from_package()
        made = {**made, **from_studies()}
        ordered = {key: made[key] for key in items_by_key() if key in made}
        write_json(RECORDS, {"version": fs.__version__, "items": ordered})
        run._records.cache_clear()
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
