"""Rates under clusters and weights, many samples at once.

Small groups beside larger ones, rates near 0, 1.

The rule of the public functions, vectorised (`tests/methods/rates/test_calibration.py` holds it
against them): the score by effective counts, t with the effective units of the smaller group less
1, no answer below `MIN_UNITS` of them. Two groups that share no unit. Largest gaps are by the
public functions themselves."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit, stdtr, stdtrit

import fairstats as fs
from fairstats.ground import multiplicity
from fairstats.ground.counts import ConfusionCounts, SelectionCounts
from fairstats.methods.rates.pair import MIN_UNITS
from fairstats.numerics.rates.score import difference_score_statistic, ratio_score_statistic
from tests.calibration.study import Cell, Counts, tally_interval

Group = Mapping[str, NDArray[np.float64]]
#: Numbers that are drawn at once.
_BLOCK = 2_000_000
#: Of the procedure: 2 has the smaller of two effective sizes, and t of the smaller group.
VERSION = "2"
#: Of largest gaps: 3 has the degrees of freedom of the two groups of each difference.
OF_GAPS = "3"


def summary(
    successes: NDArray[Any], cases: NDArray[Any], squares: NDArray[Any], *, clustered: bool
) -> Group:
    """What the rule needs of a group, from its units, shape (runs, units).

    Weighted successes and cases.

    `squares`: sums of squared weights of the rows of each unit. Rate, variance of its linearised
    residuals, effective units, rows by their weights."""
    total = cases.sum(axis=1)
    rate = successes.sum(axis=1) / total
    variance = ((successes - rate[:, None] * cases) ** 2).sum(axis=1) / total**2
    return {
        "rate": rate,
        "variance": variance,
        "units": total**2 / (cases**2).sum(axis=1),
        "worth": total**2 / squares.sum(axis=1),
        "clustered": np.full(rate.shape, float(clustered)),
    }


def answers(group: Group) -> NDArray[np.bool_]:
    """Whether there is an answer about a group."""
    return np.asarray(group["units"] >= MIN_UNITS)


def variance_of_clusters(a: Group, b: Group) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Variance of the mean of a cluster over r(1 − r) in either group, by both together."""
    found = []
    for here in (a, b):
        total, weights = np.zeros((2, *a["rate"].shape))
        for g in (a, b):
            rate = g["rate"]
            units = g["units"]
            with np.errstate(divide="ignore", invalid="ignore"):
                variance = g["variance"] * units / (units - 1)
                own = np.minimum(variance * units / (rate * (1 - rate)), 1)
                fewer_rows = np.minimum(g["worth"] / units / (here["worth"] / here["units"]), 1)
            usable = np.isfinite(own) & (own > 0) & (units > 1)
            weight = np.where(usable, units - 1, 0.0)
            total += weight * np.where(usable, own, 0.0) * fewer_rows
            weights += weight
        found.append(np.where(weights > 0, total / np.maximum(weights, 1e-12), 1.0))
    return found[0], found[1]


def effective_cases(group: Group, tau: NDArray[Any]) -> NDArray[np.float64]:
    """Effective cases: the fewer of what variance, and weights or clusters allow."""
    rate = group["rate"]
    units = group["units"]
    variance = group["variance"] / np.maximum(1 - 2 / units, 0.25)
    with np.errstate(divide="ignore", invalid="ignore"):
        shown = np.where(variance > 0, rate * (1 - rate) / variance, np.inf)
        allowed = np.where(group["clustered"] > 0, units / tau, units)
    return np.where(variance > 0, np.minimum(shown, allowed), units)


def statistic(a: Group, b: Group, null: float, contrast: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """z of H0: contrast of a against b = null, with its degrees of freedom."""
    of_a, of_b = variance_of_clusters(a, b)
    n = effective_cases(a, of_a)
    m = effective_cases(b, of_b)
    function = ratio_score_statistic if contrast == "ratio" else difference_score_statistic
    z = function(a["rate"] * n, n, b["rate"] * m, m, null)
    return z, np.minimum(a["units"], b["units"]) - 1


def clusters(
    rng: np.random.Generator,
    runs: int,
    *,
    n: int,
    rate: float,
    size: int,
    icc: float,
    cv: float,
    law: str = "gamma",
) -> Group:
    """A group of `n` clusters: beta-binomial, of one size or of sizes by a gamma or a lognormal
    law.
    """
    parts = []
    for some in _blocks(runs, n):
        cases = np.full((some, n), size)
        if cv:
            spread = np.log1p(cv**2)
            drawn = (
                rng.gamma(1 / cv**2, size * cv**2, (some, n))
                if law == "gamma"
                else rng.lognormal(np.log(size) - spread / 2, np.sqrt(spread), (some, n))
            )
            cases = np.maximum(np.rint(drawn), 1).astype(int)
        drawn = rng.binomial(
            cases, rng.beta(rate * (1 / icc - 1), (1 - rate) * (1 / icc - 1), (some, n))
        )
        parts.append(summary(drawn, cases, cases, clustered=True))
    return _joined(parts)


def weights(
    rng: np.random.Generator, runs: int, *, n: int, rate: float, cv: float, slope: float = 0.0
) -> Group:
    """A group of `n` rows with lognormal weights of a CV.

    `rate` is that of the weighted population.

    `slope`: of the logit of the outcome in the logarithm of the weight.
    """
    parts = []
    spread = np.sqrt(np.log1p(cv**2))
    level = _level(rate, spread, slope)
    for some in _blocks(runs, n):
        logarithm = spread * rng.standard_normal((some, n))
        weight = np.exp(logarithm)
        chance = expit(level + slope * logarithm) if slope else rate
        parts.append(
            summary(weight * (rng.random((some, n)) < chance), weight, weight**2, clustered=False)
        )
    return _joined(parts)


def _level(rate: float, spread: float, slope: float) -> float:
    """Logit at a weight of 1 that gives the weighted population this rate, by Gauss-Hermite
    quadrature.
    """
    if not slope:
        return 0.0
    nodes, mass = np.polynomial.hermite_e.hermegauss(80)
    mass = mass / mass.sum()
    # weighting by exp(sX) moves a normal X by s
    return float(
        brentq(
            lambda level: mass @ expit(level + slope * spread * (nodes + spread)) - rate,
            -30.0,
            30.0,
        )
    )


def _blocks(runs: int, n: int) -> list[int]:
    step = max(_BLOCK // n, 1)
    return [min(step, runs - start) for start in range(0, runs, step)]


def _joined(parts: list[Group]) -> Group:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def judged(
    rng: np.random.Generator, runs: int, *, small: Any, large: Any, contrast: str, truth: float
) -> Counts:
    """Intervals and verdicts of one comparison; `small`, `large`: draw the groups."""
    a = small(rng, runs)
    b = large(rng, runs)
    there = answers(a) & answers(b)
    a, b = ({name: values[there] for name, values in g.items()} for g in (a, b))
    n = int(there.sum())
    if not n:
        return {"answered": (0, runs)}
    low, high = (0.8, 1.25) if contrast == "ratio" else (-0.1, 0.1)
    (z, degrees), (at_low, _), (at_high, _) = (
        statistic(a, b, v, contrast) for v in (truth, low, high)
    )
    critical = stdtrit(degrees, 0.975)

    def tail(x: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(stdtr(degrees, -x) + stdtr(degrees, -x - (at_low - at_high)))

    outside = np.minimum(tail(-at_low), tail(at_high))
    inside = np.maximum(tail(at_low), tail(-at_high))
    found = {
        "coverage": np.abs(z) <= critical,
        "above": z > critical,
        "below": z < -critical,
        "false violated": (outside <= 0.05) & (outside < inside),
    }
    if not low < truth < high:
        found["false satisfied"] = (inside <= 0.05) & (inside < outside)
    counts = {name: (float(hits.sum()), max(n, 1)) for name, hits in found.items()}
    return {**counts, "answered": (n, runs)}


_OUTCOME = (
    "Weights that go with the outcome: the rows with the largest ones decide, and samples miss"
    " them."
)
_APART = (
    "The few clusters hold together far more than those of the other group, which say nothing of"
    " them."
)


def _pairs(
    words: str, function: Any, sizes: tuple[Any, Any], *, rate: float, option: str, **claim: str
) -> Iterator[Cell]:
    """Cells of one design and rate of the reference: ratio .8 and 1, and a difference of .1."""
    small, large = (partial(function, **given) for given in sizes)
    off = -0.1 if rate > 0.15 else 0.1
    for contrast, truth in (("ratio", 0.8), ("ratio", 1.0), ("difference", off)):
        own = rate * truth if contrast == "ratio" else rate + truth
        name = "disparate_impact" if contrast == "ratio" else "demographic_parity_difference"
        drawn = {"small": partial(small, rate=own), "large": partial(large, rate=rate)}
        simulate = partial(judged, **drawn, contrast=contrast, truth=truth)
        told = f"{words}, rate of the reference {rate:g}, {contrast} {truth:g}"
        given = {"claim": "conservative", **claim}
        yield Cell("rates", f"{name}({option}=…)", told, simulate, version=VERSION, **given)


def of_clusters() -> Iterator[Cell]:
    """By clusters of the small and the large group, their size, its variation, and correlation of
    both.
    """
    designs = (
        (3, 100, 10, 0.3, 0.0),
        (5, 100, 50, 0.1, 0.0),
        (6, 194, 20, 0.1, 0.0),
        (8, 300, 50, 0.1, 0.0),
        (8, 300, 10, 0.3, 0.0),
        (8, 300, 20, 0.3, 1.2),
        (8, 80, 50, 0.02, 0.0),
        (12, 12, 50, 0.1, 0.7),
        (20, 20, 10, 0.3, 0.0),
        (20, 200, 50, 0.02, 0.7),
        (30, 30, 20, 0.3, 1.2),
        (40, 400, 20, 0.02, 0.0),
        (60, 600, 15, 0.1, 2.0),
    )
    for (few, many, size, icc, cv), rate in product(designs, (0.05, 0.2, 0.5, 0.8, 0.95)):
        law = "lognormal" if many == 600 else "gamma"
        alike = {"size": size, "icc": icc, "cv": cv, "law": law}
        varied = f" (CV {cv:g}{', lognormal' if law == 'lognormal' else ''})" if cv else ""
        words = f"{many} and {few} clusters of {size} rows{varied}, ICC {icc:g}"
        both = {**alike, "n": few}, {**alike, "n": many}
        yield from _pairs(words, clusters, both, rate=rate, option="cluster")
    for few, many, rate in product((8, 30), (300,), (0.05, 0.5, 0.95)):
        words = f"{many} and {few} clusters of 50 rows, ICC 0.01 and 0.1"
        both = (
            {"n": few, "size": 50, "icc": 0.1, "cv": 0.0},
            {"n": many, "size": 50, "icc": 0.01, "cv": 0.0},
        )
        yield from _pairs(
            words, clusters, both, rate=rate, option="cluster", claim="fails", remark=_APART
        )


def of_weights() -> Iterator[Cell]:
    """By rows of the small and the large group, and by the variation of weights."""
    designs = (
        (8, 100, 1.0),
        (20, 300, 1.5),
        (30, 600, 1.0),
        (60, 60, 1.0),
        (60, 900, 0.5),
        (60, 900, 1.0),
        (60, 900, 1.5),
        (200, 2_000, 0.5),
        (200, 2_000, 1.0),
        (200, 2_000, 1.5),
        (2_000, 2_000, 1.0),
    )
    for (few, many, cv), rate in product(designs, (0.05, 0.12, 0.4, 0.67, 0.95)):
        words = f"{many:,} and {few:,} rows, weights with CV {cv:g}"
        both = {"n": few, "cv": cv}, {"n": many, "cv": cv}
        yield from _pairs(words, weights, both, rate=rate, option="sample_weight")
    for cv, slope, rate in product((0.5, 1.0, 1.5), (0.8, -0.8), (0.12, 0.67)):
        words = (
            f"900 and 60 rows, weights with CV {cv:g} that go with the outcome (logit slope"
            f" {slope:g})"
        )
        both = {"n": 60, "cv": cv, "slope": slope}, {"n": 900, "cv": cv, "slope": slope}
        weak = {"claim": "fails", "remark": _OUTCOME} if cv > 1 else {}
        yield from _pairs(words, weights, both, rate=rate, option="sample_weight", **weak)


# ---------------------------------------------------------------- largest gaps


def table(
    rng: np.random.Generator,
    sizes: tuple[int, ...],
    rates: tuple[tuple[float, ...], ...],
    design: Mapping[str, Any],
) -> SelectionCounts | ConfusionCounts:
    """A count table with its scatter.

    Two rates are of true and false positives, half of the labels true.
    """
    blocks = []
    rows = []
    squares = []
    for g, n in enumerate(sizes):
        shape = n, design.get("size", 1)
        label = rng.random(shape) < 0.5 if len(rates) == 2 else None
        chances = [np.full((n, 1), rate[g]) for rate in rates]
        if "icc" in design:
            b = 1 / design["icc"] - 1
            chances = [rng.beta(rate[g] * b, (1 - rate[g]) * b, (n, 1)) for rate in rates]
        hit = rng.random(shape) < (chances[0] if label is None else np.where(label, *chances))
        kinds = (
            [hit, ~hit]
            if label is None
            else [hit & label, hit & ~label, ~hit & label, ~hit & ~label]
        )
        cells = np.stack([kind.sum(axis=1) for kind in kinds], axis=1).astype(float)
        rows.append(cells.sum(axis=0).astype(int))
        squares.append(cells.sum(axis=0))
        if "cv" in design:
            cells *= rng.lognormal(0.0, np.sqrt(np.log1p(design["cv"] ** 2)), n)[:, None]
        blocks.append(cells)
    scatter = np.zeros((len(sizes) * blocks[0].shape[1],) * 2)
    for g, cells in enumerate(blocks):
        at = slice(g * cells.shape[1], (g + 1) * cells.shape[1])
        scatter[at, at] = cells.T @ cells
    kind = SelectionCounts if len(rates) == 1 else ConfusionCounts
    return kind(
        groups=tuple(f"g{g}" for g in range(len(sizes))),
        totals=np.array([c.sum(axis=0) for c in blocks]),
        rows=np.array(rows),
        scatter=scatter,
        n_units=sum(sizes),
        clustered="icc" in design,
        group_units=np.array(sizes),
        squares=np.array(squares) if "icc" in design else None,
    )


def largest(
    rng: np.random.Generator,
    runs: int,
    *,
    sizes: tuple[int, ...],
    rates: Any,
    design: Mapping[str, Any],
) -> Counts:
    """Coverage of the largest gap, and the size of its test where all groups are alike."""
    truth = max(max(r) - min(r) for r in rates)
    function: Any = (
        fs.demographic_parity_difference if len(rates) == 1 else fs.equalized_odds_difference
    )
    found = []
    rejected = 0
    answered = 0
    # the critical value is right to .02
    drawn = multiplicity._N_DRAWS
    multiplicity._N_DRAWS = 1 << 13
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", fs.FairstatsWarning)
            for _ in range(runs):
                result = function(counts=table(rng, sizes, rates, design), agg="max")
                there = result.verdict != "insufficient evidence"
                low, high = result.confidence_interval
                found.append((low - 1e-12, high + 1e-12) if there else (np.nan, np.nan))
                answered += there
                rejected += there and result.pvalue <= 0.05
    finally:
        multiplicity._N_DRAWS = drawn
    counts = tally_interval(truth, found)
    return counts if truth else {**counts, "size": (rejected, max(answered, 1))}


def of_gaps() -> Iterator[Cell]:
    """Largest gaps of selection rates and equalised odds."""
    one = ((0.3, 0.3, 0.3),)
    two = ((0.7, 0.7), (0.2, 0.2))
    other = ((0.9, 0.8, 0.85),)
    apart = ((0.7, 0.8), (0.2, 0.3))
    for design, sizes in (
        ({"size": 10, "icc": 0.1}, (12, 40, 100)),
        ({"size": 20, "icc": 0.3}, (20, 20, 60)),
        ({"size": 10, "icc": 0.1}, (4, 40, 100)),
        ({"size": 20, "icc": 0.3}, (8, 300, 300)),
        ({"cv": 0.5}, (100, 400, 1_000)),
        ({"cv": 1.0}, (300, 300, 1_000)),
    ):
        for rates in (one, other, two, apart):
            own = sizes[: len(rates[0])]
            name = (
                "demographic_parity_difference" if len(rates) == 1 else "equalized_odds_difference"
            )
            option = "cluster" if "icc" in design else "sample_weight"
            told = (
                f"clusters of {design['size']}, ICC {design['icc']:g}"
                if "icc" in design
                else (f"rows, weights with CV {design['cv']:g}")
            )
            words = (
                f"{', '.join(map(str, own))} {told}, rates {' and '.join(str(r) for r in rates)}"
            )
            simulate = partial(largest, sizes=own, rates=rates, design=design)
            method = f"{name}(agg='max', {option}=…)"
            yield Cell("rates", method, words, simulate, claim="conservative", version=OF_GAPS)


CELLS = [*of_clusters(), *of_weights(), *of_gaps()]
