"""Rates under clusters and weights, many samples at once: small groups beside larger ones, rates near 0, 1.

The rule of the public functions, vectorised (`tests/methods/rates/test_calibration.py` holds it against
them): the score by effective counts, t by Satterthwaite's degrees of freedom, nothing below the limits of
`too_few_units`, statistics shrunk near them. Two groups that share no unit. Largest gaps are by the public
functions themselves.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

import fairstats as fs
from fairstats.ground import multiplicity
from fairstats.ground.counts import ConfusionCounts, SelectionCounts
from fairstats.methods.rates.pair import EDGEWORTH, FULL_EFFECTIVE, MIN_EFFECTIVE, MIN_UNITS
from fairstats.numerics.rates.score import difference_score_statistic, ratio_score_statistic
from tests.calibration.study import Cell, Counts, tally_interval

Group = Mapping[str, NDArray[np.float64]]
#: Numbers that are drawn at once.
_BLOCK = 2_000_000


def summary(successes: NDArray[Any], cases: NDArray[Any], *, clustered: bool) -> Group:
    """What the rule needs of a group, from its units, shape (runs, units): weighted successes and cases.

    Rate, variance before its inflation, effective units, cases and successes; factors that shrink statistics.
    """
    total = cases.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = successes.sum(axis=1) / total
        variance = ((successes - rate[:, None] * cases) ** 2).sum(axis=1) / total**2
        units = total**2 / (cases**2).sum(axis=1)
        n = rate * (1 - rate) / variance * np.maximum(1 - 2 / units, 0.25)
    n = np.where(variance > 0, n, units)
    uneven = cases.shape[1] / units
    if clustered:
        more, fewer = (skewed(side, n, uneven) for side in (1 - rate, rate))
        uneven = 1.0
    else:
        more = fewer = np.ones(len(rate))
    many, few = (np.clip(side * n / uneven / FULL_EFFECTIVE, 0, 1) for side in (rate, 1 - rate))
    return {
        "rate": rate, "variance": variance, "units": units, "n": n, "k": rate * n,
        "enough": np.minimum(many, few), "more": many * more, "fewer": few * fewer,
    }  # fmt: skip


def skewed(rate: NDArray[Any], n: NDArray[Any], uneven: NDArray[Any]) -> NDArray[Any]:
    """Factor of statistics by which a group has fewer successes, in clusters of unequal size."""
    with np.errstate(divide="ignore", invalid="ignore"):
        skew = 2 * (uneven - 1) * (1 - 2 * rate) / np.sqrt(rate * (1 - rate) * n)
    return np.asarray(1 / (1 + EDGEWORTH * np.maximum(np.nan_to_num(skew), 0)))


def answers(group: Group) -> NDArray[np.bool_]:
    """Whether there is an answer about a group."""
    return np.asarray((group["units"] >= MIN_UNITS) & (group["enough"] >= MIN_EFFECTIVE / FULL_EFFECTIVE))


def statistic(a: Group, b: Group, null: float, contrast: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """z of H0: contrast of a against b = null, with its degrees of freedom."""
    first, second = (g["variance"] / (g["rate"] ** 2 if contrast == "ratio" else 1.0) for g in (a, b))
    of_each = (v**2 / np.maximum(g["units"] - 1, 1) for v, g in ((first, a), (second, b)))
    degrees = (first + second) ** 2 / sum(of_each)
    function = ratio_score_statistic if contrast == "ratio" else difference_score_statistic
    z = function(a["k"], a["n"], b["k"], b["n"], null)
    shrunk = np.where(z > 0, np.minimum(a["more"], b["fewer"]), np.minimum(a["fewer"], b["more"]))
    return z * shrunk, degrees


def clusters(
    rng: np.random.Generator, runs: int, *, n: int, rate: float, size: int, icc: float, cv: float,
    law: str = "gamma",
) -> Group:  # fmt: skip
    """A group of `n` clusters: beta-binomial, of one size or of sizes by a gamma or a lognormal law."""
    parts = []
    for some in _blocks(runs, n):
        cases = np.full((some, n), size)
        if cv:
            spread = np.log1p(cv**2)
            drawn = (
                rng.gamma(1 / cv**2, size * cv**2, (some, n)) if law == "gamma"
                else rng.lognormal(np.log(size) - spread / 2, np.sqrt(spread), (some, n))
            )  # fmt: skip
            cases = np.maximum(np.rint(drawn), 1).astype(int)
        drawn = rng.binomial(cases, rng.beta(rate * (1 / icc - 1), (1 - rate) * (1 / icc - 1), (some, n)))
        parts.append(summary(drawn, cases, clustered=True))
    return _joined(parts)


def weights(rng: np.random.Generator, runs: int, *, n: int, rate: float, cv: float) -> Group:
    """A group of `n` rows with lognormal weights that have nothing to do with the outcome."""
    parts = []
    for some in _blocks(runs, n):
        weight = rng.lognormal(0.0, np.sqrt(np.log1p(cv**2)), (some, n))
        parts.append(summary(weight * (rng.random((some, n)) < rate), weight, clustered=False))
    return _joined(parts)


def _blocks(runs: int, n: int) -> list[int]:
    step = max(_BLOCK // n, 1)
    return [min(step, runs - start) for start in range(0, runs, step)]


def _joined(parts: list[Group]) -> Group:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def judged(rng: np.random.Generator, runs: int, *, small: Any, large: Any, contrast: str, truth: float) -> Counts:
    """Intervals and verdicts of one comparison; `small`, `large`: draw the groups."""
    a, b = small(rng, runs), large(rng, runs)
    there = answers(a) & answers(b)
    a, b = ({name: values[there] for name, values in g.items()} for g in (a, b))
    n = int(there.sum())
    if not n:
        return {"answered": (0, runs)}
    low, high = (0.8, 1.25) if contrast == "ratio" else (-0.1, 0.1)
    (z, degrees), (at_low, _), (at_high, _) = (statistic(a, b, v, contrast) for v in (truth, low, high))
    critical = stdtrit(degrees, 0.975)

    def tail(x: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(stdtr(degrees, -x) + stdtr(degrees, -x - (at_low - at_high)))

    outside = np.minimum(tail(-at_low), tail(at_high))
    inside = np.maximum(tail(at_low), tail(-at_high))
    found = {
        "coverage": np.abs(z) <= critical, "above": z > critical, "below": z < -critical,
        "false violated": (outside <= 0.05) & (outside < inside),
    }  # fmt: skip
    if not low < truth < high:
        found["false satisfied"] = (inside <= 0.05) & (inside < outside)
    counts = {name: (float(hits.sum()), max(n, 1)) for name, hits in found.items()}
    return {**counts, "answered": (n, runs)}


_NEAR = "fewer than 25 effective successes or failures expected: statistics are shrunk, and many samples refused"
_UNEVEN = "clusters of very unequal size make totals skew: statistics are shrunk"
_REFUSED = "most samples are refused; those that answer are a selection, by chance far from the truth"


def _claim(expected: float, cv: float) -> dict[str, str]:
    """What is claimed where so many effective successes or failures are expected in a group."""
    if expected < MIN_EFFECTIVE:
        return {"claim": "fails", "remark": _REFUSED}
    if expected < 25:
        return {"claim": "conservative", "remark": _NEAR}
    return {"claim": "conservative", "remark": _UNEVEN} if cv >= 1 else {}


def _pairs(
    words: str, function: Any, sizes: tuple[Any, Any], *, rate: float, option: str, worth: float, cv: float = 0.0
) -> Iterator[Cell]:
    """Cells of one design and rate of the reference: ratio .8 and 1, and a difference of 0."""
    small, large = (partial(function, **given) for given in sizes)
    for contrast, truth in (("ratio", 0.8), ("ratio", 1.0), ("difference", 0.0)):
        if contrast == "difference" and not 0.1 <= rate <= 0.9:
            continue
        own = rate * truth if contrast == "ratio" else rate
        ratio_of_sizes = sizes[1]["n"] / sizes[0]["n"]
        expected = worth * min(own, 1 - own, ratio_of_sizes * rate, ratio_of_sizes * (1 - rate))
        if expected < 7:
            continue  # hardly any sample would answer
        name = "disparate_impact" if contrast == "ratio" else "demographic_parity_difference"
        drawn = {"small": partial(small, rate=own), "large": partial(large, rate=rate)}
        simulate = partial(judged, **drawn, contrast=contrast, truth=truth)
        told = f"{words}, rate of the reference {rate:g}, {contrast} {truth:g}"
        known = _claim(expected, cv)
        yield Cell("rates", f"{name}({option}=…)", told, simulate, **known)


def of_clusters() -> Iterator[Cell]:
    """By clusters of the small and the large group, their size, its variation, and correlation."""
    designs = (
        (8, 80, 50, 0.02, 0.0), (12, 60, 10, 0.1, 0.0), (12, 12, 50, 0.1, 0.7), (20, 200, 50, 0.02, 0.7),
        (20, 20, 10, 0.3, 0.0), (40, 40, 10, 0.1, 1.2), (40, 400, 20, 0.02, 0.0), (40, 120, 50, 0.3, 0.7),
        (100, 100, 50, 0.02, 1.2), (100, 300, 50, 0.1, 0.0), (100, 100, 10, 0.3, 0.7),
        (100, 2_000, 50, 0.02, 1.2), (60, 600, 15, 0.1, 2.0), (40, 800, 10, 0.2, 1.2),
    )  # fmt: skip
    for (few, many, size, icc, cv), rate in product(designs, (0.01, 0.03, 0.1, 0.5, 0.9, 0.97, 0.99)):
        law = "lognormal" if many in (600, 800) else "gamma"
        alike = {"size": size, "icc": icc, "cv": cv, "law": law}
        worth = few * size / (1 + (size * (1 + cv**2) - 1) * icc)
        varied = f" (CV {cv:g}{', lognormal' if law == 'lognormal' else ''})" if cv else ""
        words = f"{many} and {few} clusters of {size} rows{varied}, ICC {icc:g}"
        both = {**alike, "n": few}, {**alike, "n": many}
        yield from _pairs(words, clusters, both, rate=rate, option="cluster", worth=worth, cv=cv)


def of_weights() -> Iterator[Cell]:
    """By rows of the small and the large group, and by the variation of weights."""
    designs = (
        (60, 600, 0.5), (100, 1_000, 1.0), (400, 400, 1.0), (400, 4_000, 0.5), (1_000, 1_000, 1.5),
        (2_000, 2_000, 1.0), (3_000, 6_000, 0.5),
    )  # fmt: skip
    for (few, many, cv), rate in product(designs, (0.005, 0.01, 0.03, 0.1, 0.5, 0.9, 0.97, 0.99, 0.995)):
        words = f"{many:,} and {few:,} rows, weights with CV {cv:g}"
        worth = few / (1 + cv**2) ** 2  # in units of what makes the total skew
        both = {"n": few, "cv": cv}, {"n": many, "cv": cv}
        yield from _pairs(words, weights, both, rate=rate, option="sample_weight", worth=worth)


# ---------------------------------------------------------------- largest gaps


def table(
    rng: np.random.Generator, sizes: tuple[int, ...], rates: tuple[tuple[float, ...], ...], design: Mapping[str, Any]
) -> SelectionCounts | ConfusionCounts:
    """A count table with its scatter; two rates are of true and false positives, half of the labels true."""
    blocks, rows = [], []
    for g, n in enumerate(sizes):
        shape = n, design.get("size", 1)
        label = rng.random(shape) < 0.5 if len(rates) == 2 else None
        chances = [np.full((n, 1), rate[g]) for rate in rates]
        if "icc" in design:
            b = 1 / design["icc"] - 1
            chances = [rng.beta(rate[g] * b, (1 - rate[g]) * b, (n, 1)) for rate in rates]
        hit = rng.random(shape) < (chances[0] if label is None else np.where(label, *chances))
        kinds = [hit, ~hit] if label is None else [hit & label, hit & ~label, ~hit & label, ~hit & ~label]
        cells = np.stack([kind.sum(axis=1) for kind in kinds], axis=1).astype(float)
        rows.append(cells.sum(axis=0).astype(int))
        if "cv" in design:
            cells *= rng.lognormal(0.0, np.sqrt(np.log1p(design["cv"] ** 2)), n)[:, None]
        blocks.append(cells)
    scatter = np.zeros((len(sizes) * blocks[0].shape[1],) * 2)
    for g, cells in enumerate(blocks):
        at = slice(g * cells.shape[1], (g + 1) * cells.shape[1])
        scatter[at, at] = cells.T @ cells
    kind = SelectionCounts if len(rates) == 1 else ConfusionCounts
    return kind(
        groups=tuple(f"g{g}" for g in range(len(sizes))), totals=np.array([c.sum(axis=0) for c in blocks]),
        rows=np.array(rows), scatter=scatter, n_units=sum(sizes), clustered="icc" in design,
        group_units=np.array(sizes),
    )  # fmt: skip


def largest(
    rng: np.random.Generator, runs: int, *, sizes: tuple[int, ...], rates: Any, design: Mapping[str, Any]
) -> Counts:
    """Coverage of the largest gap, and the size of its test where all groups are alike."""
    truth = max(max(r) - min(r) for r in rates)
    function: Any = fs.demographic_parity_difference if len(rates) == 1 else fs.equalized_odds_difference
    found, rejected, answered = [], 0, 0
    drawn, multiplicity._N_DRAWS = multiplicity._N_DRAWS, 1 << 13  # the critical value is right to .02
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
    one, two = ((0.3, 0.3, 0.3),), ((0.7, 0.7), (0.2, 0.2))
    other, apart = ((0.9, 0.8, 0.85),), ((0.7, 0.8), (0.2, 0.3))
    for design, sizes in (
        ({"size": 10, "icc": 0.1}, (12, 40, 100)), ({"size": 20, "icc": 0.3}, (20, 20, 60)),
        ({"cv": 0.5}, (100, 400, 1_000)), ({"cv": 1.0}, (300, 300, 1_000)),
    ):  # fmt: skip
        for rates in (one, other, two, apart):
            own = sizes[: len(rates[0])]
            name = "demographic_parity_difference" if len(rates) == 1 else "equalized_odds_difference"
            option = "cluster" if "icc" in design else "sample_weight"
            told = (
                f"clusters of {design['size']}, ICC {design['icc']:g}"
                if "icc" in design
                else (f"rows, weights with CV {design['cv']:g}")
            )
            words = f"{', '.join(map(str, own))} {told}, rates {' and '.join(str(r) for r in rates)}"
            simulate = partial(largest, sizes=own, rates=rates, design=design)
            yield Cell("rates", f"{name}(agg='max', {option}=…)", words, simulate, claim="conservative")


CELLS = [*of_clusters(), *of_weights(), *of_gaps()]
