"""Tests and intervals beside the five methods.

Thresholds of tails, ranks of algorithms, synthetic rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

import fairstats as fs
from fairstats.ground.backends import use_backend
from fairstats.numerics.evt.distributions import power_ratio
from tests.calibration.study import Cell, Counts, tally_interval

LEVEL = 0.95
MANY = 2_000


def tail(rng: np.random.Generator, n: int, shape: float) -> np.ndarray:
    """Values of the generalised Pareto law of scale 1: above u it has the scale 1 + ξu."""
    return np.asarray(power_ratio(rng.standard_exponential(n), np.asarray(shape)))


def quiet(simulate: Callable[[np.random.Generator, int], Counts]) -> Callable[..., Counts]:
    """The same without warnings, and without R."""

    def inner(rng: np.random.Generator, runs: int) -> Counts:
        with warnings.catch_warnings(), use_backend("scipy"):
            warnings.simplefilter("ignore")
            return simulate(rng, runs)

    return inner


def _level(m: float) -> Callable[[np.random.Generator, int], Counts]:
    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        found = (
            fs.evt.empirical_return_level(tail(rng, MANY, 0.1), m).confidence_interval
            for _ in range(runs)
        )
        return tally_interval(
            float(power_ratio(np.asarray(np.log(m)), np.asarray(0.1))), map(tuple, found)
        )

    return simulate


def _mean_excess(shape: float) -> Callable[[np.random.Generator, int], Counts]:
    """The interval at the threshold 1, whose mean excess is (1 + ξ)/(1 − ξ)."""

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        found = []
        for _ in range(runs):
            (row,) = fs.evt.mean_residual_life(tail(rng, 500, shape), [1.0]).comparisons
            found.append(tuple(row.confidence_interval))
        return tally_interval((1 + shape) / (1 - shape), found)

    return simulate


def _stability(quantity: str) -> Callable[[np.random.Generator, int], Counts]:
    """Shape and modified scale σ − ξu, at the threshold 1."""

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        found = []
        for _ in range(runs):
            rows = fs.evt.threshold_stability(tail(rng, 1_000, 0.1), [1.0]).comparisons
            found += [tuple(r.confidence_interval) for r in rows if r.metric == quantity]
        return tally_interval(0.1 if quantity == "shape" else 1.0, found)

    return simulate


def _point_process(name: str) -> Callable[[np.random.Generator, int], Counts]:
    """ξ, or the location: the level of 100 observations, which the law has at ((100)^ξ − 1)/ξ."""

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        truth = {"shape": 0.1, "location": (100**0.1 - 1) / 0.1}[name]
        found = []
        for _ in range(runs):
            x = tail(rng, MANY, 0.1)
            fit = fs.evt.fit_point_process(x, float(np.sort(x)[-101]), 100.0)
            row = fit.to_frame().set_index("parameter").loc[name]
            found.append((row["ci_low"], row["ci_high"]))
        return tally_interval(truth, found)

    return simulate


def _fit(shape: float) -> Callable[[np.random.Generator, int], Counts]:
    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        rejected = 0
        for _ in range(runs):
            x = tail(rng, 500, shape)
            fit = fs.evt.fit_gpd(x, float(np.sort(x)[-61]))
            rejected += fs.evt.goodness_of_fit(fit, n_resamples=99, rng=rng).pvalue <= 1 - LEVEL
        return {"size": (rejected, runs)}

    return simulate


def _threshold(rng: np.random.Generator, runs: int) -> Counts:
    """ForwardStop at 5% on exact tails: any threshold rejected, so that the lowest is not taken."""
    rejected = 0
    for _ in range(runs):
        x = tail(rng, 600, 0.1)
        grid = np.quantile(x, [0.8, 0.85, 0.9])
        found = fs.evt.choose_threshold(
            x, thresholds=grid, false_discovery_rate=0.05, n_resamples=99, rng=rng
        )
        rejected += found.threshold > grid[0]
    return {"size": (rejected, runs)}


def _tests_of_thresholds(which: str, shape: float) -> Callable[[np.random.Generator, int], Counts]:
    """The lowest of ten thresholds, or any change among them, on exact tails."""

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        rejected = 0
        for _ in range(runs):
            x = tail(rng, 500, shape)
            draws = 99 if which == "white noise" else 19  # the score test draws nothing
            found = fs.evt.threshold_tests(x, n_thresholds=10, n_resamples=draws, rng=rng)
            pvalue = found.change_pvalue if which == "white noise" else found.pvalues[0]
            rejected += pvalue <= 1 - LEVEL
        return {"size": (rejected, runs)}

    return simulate


def _rounded(shape: float, cells: int) -> Callable[[np.random.Generator, int], Counts]:
    """The level of 20,000 observations from 60 exceedances of 1,200 values, in about so many
    cells.
    """
    width = float(power_ratio(np.asarray(np.log(60.0)), np.asarray(shape))) / (cells - 0.5)

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        truth = float(power_ratio(np.asarray(np.log(1_000.0)), np.asarray(shape)))
        found = []
        for _ in range(runs):
            x = np.where(
                rng.random(1_200) < 0.05, tail(rng, 1_200, shape), -rng.random(1_200) - width
            )
            x = (np.floor(x / width) + 0.5) * width
            try:
                fit = fs.evt.fit_gpd(x, 0.0, grid=width)
            except fs.InputError:  # fewer than four cells
                found.append((np.nan, np.nan))
                continue
            found.append(tuple(fit.return_level(20_000).confidence_interval))
        return tally_interval(truth, found)

    return simulate


def _differences_of_rounded_scores(
    shape: float, width: float, other: float
) -> Callable[[np.random.Generator, int], Counts]:
    """ECD of 1,500 and 4,000 rows, 6% of either in the tail; both scores are rounded.

    Only modelled tails.
    """

    def drawn(rng: np.random.Generator, n: int, scale: float) -> Any:
        excess = scale * power_ratio(rng.exponential(size=n), np.full(n, shape))
        cd = np.where(rng.random(n) < 0.06, 0.2 + excess, 0.2 * rng.random(n))
        score = rng.random(n)
        cells = np.round((score + cd) / width) - np.round(score / width)
        return np.minimum(cells * width, 1.0)

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        level = float(power_ratio(np.asarray(np.log(60.0)), np.asarray(shape)))
        settings: dict[str, Any] = {"sensitivity": (), "other_interactions": (), "n_resamples": 0}
        found = []
        rejected = 0
        for _ in range(runs):
            cd = {"a": drawn(rng, 4_000, 0.03), "b": drawn(rng, 1_500, other)}
            result = fs.ecd(cd, privileged="a", unprivileged="b", threshold=50, rng=1, **settings)
            modelled = not any(t.level.empirical for t in result.tails)
            found.append(tuple(result.confidence_interval) if modelled else (np.nan, np.nan))
            rejected += modelled and result.comparisons[0].pvalue <= 1 - LEVEL
        counts: dict[str, Any] = tally_interval((other - 0.03) * level, found)
        if other == 0.03:
            counts["size"] = (rejected, counts["answered"][0])
        return counts

    return simulate


def _averaged(law: str) -> Callable[[np.random.Generator, int], Counts]:
    """The level of 2,000 observations, averaged over six thresholds of 1,000 values."""

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        from scipy import stats

        laws = {
            "ξ = 0.1": stats.genpareto(0.1),
            "ξ = -0.2": stats.genpareto(-0.2),
            "|t₅|": stats.t(5),
            "lognormal": stats.lognorm(0.8),
            "beta(2, 8)": stats.beta(2, 8),
        }

        def quantile(p: Any) -> Any:
            return laws[law].ppf(0.5 + 0.5 * p if law == "|t₅|" else p)

        found = [
            fs.evt.average_return_level(quantile(rng.random(1_000)), 2_000, n_thresholds=6)
            for _ in range(runs)
        ]
        return tally_interval(
            float(quantile(1 - 1 / 2_000)), [tuple(f.confidence_interval) for f in found]
        )

    return simulate


def _type(shape: float, k: int) -> Callable[[np.random.Generator, int], Counts]:
    """A type that the tail has not: bounded for ξ ≥ 0, heavy for ξ ≤ 0."""

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        wrong = 0
        for _ in range(runs):
            x = tail(rng, 20 * k, shape)
            named = fs.evt.tail_type(fs.evt.fit_gpd(x, float(np.sort(x)[-k - 1]))).type
            wrong += (named.startswith("III") and shape >= 0) or (
                named.startswith("II,") and shape <= 0
            )
        return {"false verdict": (wrong, runs)}

    return simulate


def _clusters(theta: float, n: int) -> Callable[[np.random.Generator, int], Counts]:
    """Maxima of the last value, shrunk, and a new one (Fréchet): extremal index `theta`.

    5% exceed.
    """

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        intervals = []
        for _ in range(runs):
            fresh = theta / rng.exponential(size=n)
            x = np.empty(n)
            x[0] = 1 / rng.exponential()
            for t in range(1, n):
                x[t] = max((1 - theta) * x[t - 1], fresh[t])
            found = fs.evt.extremal_index(x, float(np.quantile(x, 0.95)), n_resamples=499, rng=rng)
            intervals.append(tuple(found.confidence_interval))
        return tally_interval(theta, intervals)

    return simulate


def _ranks(groups: int, n: int) -> Callable[[np.random.Generator, int], Counts]:
    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        split = 0
        for _ in range(runs):
            alike = {f"t{k}": rng.normal(size=n) for k in range(groups)}
            ranks = fs.scott_knott(alike, n_resamples=199, rng=rng).to_frame()["rank"]
            split += ranks.nunique() > 1
        return {"size": (split, runs)}

    return simulate


def _friedman(rules: int, n: int) -> Callable[[np.random.Generator, int], Counts]:
    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        rejected = sum(
            fs.rank_rules(rng.normal(size=(n, rules))).pvalue <= 1 - LEVEL for _ in range(runs)
        )
        return {"size": (int(rejected), runs)}

    return simulate


def _detection(rng: np.random.Generator, runs: int) -> Counts:
    """Synthetic rows of the law of the real ones: detection is 1, not to be told apart."""
    found = []
    for _ in range(runs):
        frame = pd.DataFrame({**dict(zip("xz", rng.normal(size=(2, 300)), strict=True))})
        quality = fs.synthetic_quality(frame[:150], frame[150:], rng=rng)
        found.append(tuple(quality.detection_interval))
    return tally_interval(1.0, found)


def _cells() -> Iterator[Cell]:
    evt = partial(Cell, "evt")
    for m in (20.0, 100.0):
        regime = f"2,000 values, 1 in {m:g}"
        yield evt("empirical_return_level", regime, quiet(_level(m)), 4_000, "conservative")
    for shape in (-0.3, 0.0, 0.3):
        heavy = {
            "claim": "fails",
            "remark": "a normal interval of a skewed mean: a picture to look at",
        }
        yield evt(
            "mean_residual_life",
            f"500 values, threshold 1, ξ = {shape:g}",
            quiet(_mean_excess(shape)),
            4_000,
            **(heavy if shape > 0 else {}),
        )
    for quantity in ("shape", "modified scale"):
        yield evt(
            "threshold_stability",
            f"{quantity}, 1,000 values, ξ = .1",
            quiet(_stability(quantity)),
            500,
        )
    for name in ("shape", "location"):
        yield evt(
            "fit_point_process",
            f"{name}, 100 of 2,000 values, ξ = .1",
            quiet(_point_process(name)),
            500,
        )
    for theta, n in ((0.3, 1_000), (0.3, 5_000), (0.8, 1_000), (0.8, 5_000)):
        yield evt(
            "extremal_index",
            f"{n:,} values, 5% exceed, θ = {theta:g}",
            quiet(_clusters(theta, n)),
            2_000,
            "fails",
            "an estimate that jumps with the number of clusters: the result says so",
        )
    for shape in (-0.2, 0.2):
        yield evt("goodness_of_fit", f"60 exceedances, ξ = {shape:g}", quiet(_fit(shape)), 500)
    yield evt(
        "choose_threshold(false_discovery_rate=0.05)",
        "600 exact values, three thresholds",
        quiet(_threshold),
        300,
        "conservative",
    )
    for which in ("score test", "white noise"):
        for shape in (-0.2, 0.2):
            simulate = quiet(_tests_of_thresholds(which, shape))
            yield evt(
                "threshold_tests",
                f"{which}, 500 values, ten thresholds, ξ = {shape:g}",
                simulate,
                1_000,
            )
    for shape in (-0.2, 0.1):
        for count in (4, 8):
            regime = f"60 of 1,200 values, ξ = {shape:g}, about {count} cells, mλ = 1,000"
            yield evt("fit_gpd(grid=…).return_level", regime, quiet(_rounded(shape, count)), 1_000)
    for shape, width, other in (
        (0.1, 0.05, 0.03),
        (0.1, 0.05, 0.04),
        (-0.2, 0.027, 0.03),
        (0.1, 0.03, 0.03),
    ):
        what = "alike tails" if other == 0.03 else "tails apart"
        regime = f"1,500 and 4,000 rows, ξ = {shape:g}, {what}, both scores rounded to {width:g}"
        simulate = quiet(_differences_of_rounded_scores(shape, width, other))
        # of the coarse grids the samples that have a model are those of wide tails
        claim = "valid" if width == 0.03 else "conservative"
        yield Cell("ecd", "ecd: scores on a grid", regime, simulate, 500, claim)
    for law in ("ξ = 0.1", "ξ = -0.2", "|t₅|", "lognormal", "beta(2, 8)"):
        regime = f"1,000 values of {law}, six thresholds, 1 in 2,000"
        yield evt("average_return_level", regime, quiet(_averaged(law)), 500)
    for shape, k in ((0.0, 50), (0.0, 200)):
        yield evt(
            "tail_type", f"ξ = {shape:g}, {k} of {20 * k:,} values", quiet(_type(shape, k)), 1_000
        )
    for groups, n in ((4, 10), (8, 30)):
        yield Cell(
            "ecd",
            "scott_knott",
            f"{groups} alike treatments of {n} runs",
            quiet(_ranks(groups, n)),
            500,
        )
    for rules, n in ((3, 8), (4, 20), (8, 40)):
        yield Cell(
            "hfm",
            "rank_rules",
            f"Friedman test, {rules} alike rules on {n} data sets",
            quiet(_friedman(rules, n)),
            1_000,
            "conservative" if n < 10 else "valid",
        )
    yield Cell(
        "ecd",
        "synthetic_quality",
        "detection, 150 real and 150 synthetic rows of one law",
        quiet(_detection),
        300,
        "conservative",
    )


CELLS = tuple(_cells())
