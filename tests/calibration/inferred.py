"""Groups that are inferred: limits around bounds, weighted limits, audit and calibration samples,
posteriors.

Group 1 has the probability p, drawn from a Beta law: near 0 and 1 where the proxy is good. "Truth at
the end": the groups of the successes are as unlike as the probabilities allow, so that the true
difference is the upper end of what is possible, and the margin is the truth, so that any verdict is
false. The truth is the mean over 2,000,000 people.

Rows have weights that say nothing (exponential, coefficient of variation 1), or that undo a selection by
which successes come in 3.3 times as often; or come in clusters of geometric sizes, whose members' probabilities, groups
and outcomes are each correlated (.2 on the normal scale) with the laws of single people unchanged.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from scipy.special import ndtr
from scipy.stats import beta

import fairstats as fs
from fairstats.ground.errors import FairstatsWarning
from tests.calibration.study import Cell, Counts, tally_interval

LEVEL = 0.95
_PEOPLE = 2_000_000


@dataclass(frozen=True)
class Law:
    """Probabilities Beta(a, b); successes by probability and group; `case`: P(case | group)."""

    shape: tuple[float, float]
    success: str
    level: float = 0.4
    case: tuple[float, float] = (1.0, 1.0)

    def rate(self, p: np.ndarray, group: np.ndarray) -> np.ndarray:
        """P(success | p, group)."""
        if self.success == "end":  # members of group 1 succeed first
            inside = np.minimum(1.0, self.level / np.maximum(p, 1e-9))
            outside = np.maximum(0.0, (self.level - p) / np.maximum(1 - p, 1e-9))
            return np.where(group == 1, inside, outside)
        if self.success == "group":
            return np.where(group == 1, self.level + 0.2, self.level)
        if self.success == "same":
            return group.astype(float)
        return self.level + 0.2 * p  # "proxy": alike within equal probabilities

    def draw(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        """Probability, group, case and success of n people."""
        p = rng.beta(*self.shape, n)
        group = (rng.random(n) < p).astype(int)
        is_case = rng.random(n) < np.where(group == 1, self.case[1], self.case[0])
        return p, group, is_case, rng.random(n) < self.rate(p, group)

    def draw_in_clusters(
        self, clusters: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, ...]:
        """The same of people in clusters, who are alike there."""
        n = clusters.size
        p = np.interp(_alike(clusters, rng), _GRID, _quantiles(self.shape))
        group = (_alike(clusters, rng) < p).astype(int)
        is_case = rng.random(n) < np.where(group == 1, self.case[1], self.case[0])
        return p, group, is_case, _alike(clusters, rng) < self.rate(p, group)


_GRID = np.linspace(0, 1, 20_001)
_CORRELATION = 0.2


@cache
def _quantiles(shape: tuple[float, float]) -> np.ndarray:
    return np.asarray(beta.ppf(_GRID, *shape))


def _alike(clusters: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Uniform numbers whose normal scores are correlated within clusters."""
    of_cluster = rng.normal(size=int(clusters.max()) + 1)[clusters]
    own = rng.normal(size=clusters.size)
    return np.asarray(ndtr(_CORRELATION**0.5 * of_cluster + (1 - _CORRELATION) ** 0.5 * own))


def _clusters_of(n: int, mean_size: int, rng: np.random.Generator) -> np.ndarray:
    """Codes of n rows in clusters of geometric sizes."""
    sizes = rng.geometric(1 / mean_size, n)
    return np.repeat(np.arange(n), sizes)[:n]


@dataclass(frozen=True)
class Rows:
    """People of a law as they come: with weights, in clusters, or each alone."""

    people: tuple[np.ndarray, ...]
    options: dict[str, Any]

    @classmethod
    def drawn(
        cls, law: Law, n: int, weights: str, cluster_size: int, rng: np.random.Generator
    ) -> Rows:
        """n people; about n of four times as many where successes come in more often."""
        drawn = 4 * n if weights == "selective" else n
        options: dict[str, Any] = {}
        if cluster_size:
            options["cluster"] = _clusters_of(drawn, cluster_size, rng)
            people = law.draw_in_clusters(options["cluster"], rng)
        else:
            people = law.draw(drawn, rng)
        if weights == "exponential":
            options["sample_weight"] = rng.exponential(size=n)
        if weights == "selective":
            chance = np.where(people[3], 0.5, 0.15) * np.minimum(1, rng.gamma(4, 0.25, drawn))
            kept = rng.random(drawn) < chance
            people = tuple(column[kept] for column in people)
            options = {name: column[kept] for name, column in options.items()}
            options["sample_weight"] = 1 / chance[kept]
        return cls(people, options)


@cache
def truth_of(law: Law, contrast: str) -> float:
    """Difference or ratio of the rates of group 1 and group 0."""
    p, group, is_case, _ = law.draw(_PEOPLE, np.random.default_rng(20221))
    rates = []
    for one in (1, 0):
        inside = (group == one) & is_case
        rates.append(law.rate(p[inside], group[inside]).mean())
    if law.success == "same":
        return 1.0
    return float(rates[0] / rates[1] if contrast == "ratio" else rates[0] - rates[1])


def _frame(p: np.ndarray, told: str) -> dict[str, np.ndarray]:
    """Probabilities of both groups as a proxy tells them, which has .2 too much, or is too sure."""
    one = p
    if told == ".2 too high":
        one = np.minimum(p + 0.2, 1.0)
    elif told == "too sure":
        one = np.where(p > 0.5, 0.98, 0.02)
    return {"0": 1 - one, "1": one}


def simulate(
    rng: np.random.Generator,
    runs: int,
    *,
    law: Law,
    n: int,
    metric: str,
    told: str = "right",
    audited: int = 0,
    sample: int = 0,
    weighted: bool = False,
    edge: bool = True,
    weights: str = "",
    cluster_size: int = 0,
) -> Counts:
    """Coverage of the interval, and false verdicts where the margin is the truth (`edge`)."""
    contrast = "ratio" if metric == "disparate_impact" else "difference"
    truth = truth_of(law, contrast)
    options: dict[str, Any] = {"reference": "0"}
    if contrast == "ratio":
        options["threshold"] = min(truth, 1 / truth)
    else:
        options["margin"] = min(abs(truth), 0.99)
    function: Callable[..., Any] = getattr(fs, metric)
    intervals: list[tuple[float, float]] = []
    judged = 0
    wrong = {"violated": 0, "satisfied": 0}
    for _ in range(runs):
        rows = Rows.drawn(law, n, weights, cluster_size, rng)
        p, group, is_case, success = rows.people
        more = dict(rows.options)
        if audited:
            known = np.full(p.size, None, dtype=object)
            chosen = rng.permutation(p.size)[:audited]
            known[chosen] = group[chosen].astype(str)
            more["sensitive_features"] = known
        if sample:
            other, true_group, _, _ = law.draw(sample, rng)
            more["calibration_sample"] = (true_group.astype(str), _frame(other, told))
        columns = (success.astype(int),)
        if contrast != "ratio":
            columns = (is_case.astype(int), success.astype(int))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FairstatsWarning)
            result = function(
                *columns, sensitive_probabilities=_frame(p, told), rng=rng, **options, **more
            )
        comparison = result.comparisons[0]
        intervals.append(
            tuple(comparison.weighted_interval if weighted else comparison.confidence_interval)
        )
        if comparison.verdict != "insufficient evidence":
            judged += 1
            if comparison.verdict in wrong:
                wrong[comparison.verdict] += 1
    counts: dict[str, tuple[float, int]] = dict(tally_interval(truth, intervals))
    if edge:
        for verdict, number in wrong.items():
            counts[f"false {verdict}"] = (number, judged)
    return counts


def simulate_posterior(
    rng: np.random.Generator, runs: int, *, law: Law, n: int, metric: str, lost: float, known: float
) -> Counts:
    """Coverage of the shortest interval; `lost`: share of missing labels, `known`: of groups."""
    truth = truth_of(law, "difference")
    intervals = []
    for _ in range(runs):
        p, group, is_case, success = law.draw(n, rng)
        labels = is_case.astype(float)
        labels[rng.random(n) < lost] = np.nan
        groups = np.full(n, None, dtype=object)
        seen = rng.random(n) < known
        groups[seen] = group[seen].astype(str)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FairstatsWarning)
            posterior = fs.um_posterior(
                labels,
                success.astype(int),
                sensitive_probabilities=_frame(p, "right"),
                sensitive_features=groups,
                reference="0",
                draws=800,
                rng=int(rng.integers(2**31)),
            )
        row = posterior._table([metric], LEVEL)[0]
        intervals.append(tuple(row.confidence_interval))
    return tally_interval(truth, intervals)


#: Weights and sizes of clusters, in words.
_DESIGNS = {
    "weights that say nothing": ("exponential", 0),
    "weights that undo a selection": ("selective", 0),
    "clusters of 10": ("", 10),
    "clusters of 10, weights": ("exponential", 10),
}


def _cells_of_designs() -> Iterator[Cell]:
    """Weights and clusters: bounds, the weighted interval, rows with true groups."""
    shapes = {"fair": (0.3, 0.3), "fair, small group": (0.05, 0.4)}
    laws = [
        ("limits of bounds", "end", "truth at the end", 0),
        ("weighted interval", "proxy", "groups alike within equal probabilities", 0),
        ("100 of known group", "group", "rates .4 and .6", 100),
        ("400 of known group", "group", "rates .4 and .6", 400),
    ]
    for design, (weights, cluster_size) in _DESIGNS.items():
        for name, shape in shapes.items():
            for what, success, words, audited in laws:
                if audited == 100 and name != "fair":
                    continue  # eleven rows of known group: hardly ever an answer
                is_audit = audited > 0
                metric = "demographic_parity_difference"
                if is_audit and name == "fair":
                    metric = "disparate_impact"
                yield Cell(
                    "inferred",
                    f"{metric}(sensitive_probabilities=), {design}, {what}",
                    f"1,000 rows, {name} proxy, {words}",
                    partial(
                        simulate,
                        law=Law(shape, success),
                        n=1_000,
                        metric=metric,
                        audited=audited,
                        weighted=success == "proxy",
                        edge=success != "proxy",
                        weights=weights,
                        cluster_size=cluster_size,
                    ),
                    runs=2_000,
                    claim="valid" if success == "proxy" else "conservative",
                )


_PROXIES = {"good": (0.05, 0.05), "fair": (0.3, 0.3), "fair, small group": (0.05, 0.4)}


def _cells() -> Iterator[Cell]:
    bounds = "limits of bounds"
    for name, shape in _PROXIES.items():
        for n in (400, 2_000):
            for metric in ("demographic_parity_difference", "disparate_impact"):
                yield Cell(
                    "inferred",
                    f"{metric}(sensitive_probabilities=), {bounds}",
                    f"{n:,} rows, {name} proxy, truth at the end",
                    partial(simulate, law=Law(shape, "end"), n=n, metric=metric),
                    runs=1_000,
                    claim="conservative",
                )
    for n in (400, 2_000):
        yield Cell(
            "inferred",
            f"demographic_parity_difference(sensitive_probabilities=), {bounds}",
            f"{n:,} rows, fair proxy, everybody of one group succeeds and nobody of the other",
            partial(
                simulate,
                law=Law((0.5, 0.5), "same"),
                n=n,
                metric="demographic_parity_difference",
                edge=False,
            ),
            runs=1_000,
            claim="conservative",
        )
        yield Cell(
            "inferred",
            f"equal_opportunity_difference(sensitive_probabilities=), {bounds}",
            f"{n:,} rows, good proxy, cases .3 and .6, rates .4 and .6",
            partial(
                simulate,
                law=Law((0.05, 0.05), "group", case=(0.3, 0.6)),
                n=n,
                metric="equal_opportunity_difference",
            ),
            runs=1_000,
            claim="conservative",
        )
        yield Cell(
            "inferred",
            "demographic_parity_difference(sensitive_probabilities=), weighted interval",
            f"{n:,} rows, fair proxy, groups alike within equal probabilities",
            partial(
                simulate,
                law=Law((0.3, 0.3), "proxy"),
                n=n,
                metric="demographic_parity_difference",
                weighted=True,
                edge=False,
            ),
            runs=1_000,
        )
    yield Cell(
        "inferred",
        f"demographic_parity_difference(sensitive_probabilities=), {bounds}",
        "2,000 rows, fair proxy, probabilities too sure, truth at the end",
        partial(
            simulate,
            law=Law((0.3, 0.3), "end"),
            n=2_000,
            told="too sure",
            metric="demographic_parity_difference",
            edge=False,
        ),
        runs=1_000,
        claim="fails",
        remark="the probabilities are wrong, and no sample says so",
    )
    for sample in (200, 1_000):
        for told in ("right", ".2 too high", "too sure"):
            yield Cell(
                "inferred",
                "demographic_parity_difference(sensitive_probabilities=, calibration_sample=)",
                f"2,000 rows, sample of {sample:,}, fair proxy, {told}, truth at the end",
                partial(
                    simulate,
                    law=Law((0.3, 0.3), "end"),
                    n=2_000,
                    told=told,
                    sample=sample,
                    metric="demographic_parity_difference",
                ),
                runs=1_000,
                claim="conservative",
            )
    for audited in (100, 400):
        for name, shape in (("half", (0.3, 0.3)), ("a tenth", (0.05, 0.45))):
            for told in ("right", "too sure"):
                for metric in ("demographic_parity_difference", "disparate_impact"):
                    yield Cell(
                        "inferred",
                        f"{metric}(sensitive_probabilities=, sensitive_features=)",
                        f"2,000 rows, {audited} of known group, {name} in group 1, {told}",
                        partial(
                            simulate,
                            law=Law(shape, "group"),
                            n=2_000,
                            told=told,
                            audited=audited,
                            metric=metric,
                        ),
                        runs=500,
                        claim="conservative",
                    )
    for shape, name in (((0.3, 0.3), "fair"), ((0.05, 0.05), "good")):
        for metric, lost, known in (
            ("demographic_parity", 0.0, 0.0),
            ("equal_opportunity", 0.2, 0.1),
        ):
            yield Cell(
                "inferred",
                f"um_posterior(sensitive_probabilities=), {metric}",
                f"400 rows, {name} proxy, {100 * lost:g}% of labels missing, groups of {100 * known:g}%"
                " known",
                partial(
                    simulate_posterior,
                    law=Law(shape, "group", case=(0.5, 0.5)),
                    n=400,
                    metric=metric,
                    lost=lost,
                    known=known,
                ),
                runs=200,
            )


CELLS = (*_cells(), *_cells_of_designs())
