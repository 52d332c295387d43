"""Cells of numbers and scores within strata whose clusters lie in several of them.

Clusters of two groups have rows in strata at random, and half of a row's error is that of its cluster.
Both groups have one law in every stratum, so that each difference is 0, which is its margin, too.
Means are in `strata_pooled.py`, areas in `strata_scores.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

import fairstats as fs
from fairstats.ground.checks import check_given
from fairstats.ground.outcomes import Outcomes
from fairstats.ground.tallies.moments import OUTCOME
from fairstats.methods.rates.numbers import means
from fairstats.methods.rates.numbers.strata_pairs import names_of_pair
from fairstats.methods.rates.numbers.stratified import stratum_moments_of_rows
from fairstats.methods.rates.result import Inference
from tests.calibration.mean_strata import public_cell
from tests.calibration.means import EXPONENTIAL, NORMAL, Law
from tests.calibration.strata_scores import Limits, limits_cell, limits_within
from tests.calibration.study import Cell


class Visits(NamedTuple):
    """Clusters of a group and of its reference, of so many rows each, in so many strata.

    `common`: share of rows whose chance is that of their cluster, or of the variance of numbers that
    clusters have in common.
    """

    clusters: tuple[int, int]
    rows: int
    strata: int
    common: float = 0.5
    comparisons: str = "reference"

    @property
    def words(self) -> str:
        """The setting in words."""
        return (
            f"{self.clusters[0]} and {self.clusters[1]} clusters of {self.rows} rows in"
            f" {self.strata} strata, {self.common:.0%} common"
        )

    def columns(self, rng: np.random.Generator) -> dict[str, Any]:
        """Groups, strata and clusters of all rows."""
        unit = np.repeat(np.arange(sum(self.clusters)), self.rows)
        return {
            "sensitive_features": np.where(unit < self.clusters[0], "g0", "g1"),
            "strata": rng.integers(0, self.strata, unit.size),
            "cluster": unit,
        }

    def numbers(self, rng: np.random.Generator, law: Law, columns: dict[str, Any]) -> np.ndarray:
        """Of one law in every stratum, others in each."""
        unit = columns["cluster"]
        stratum = columns["strata"]
        common = law.draw(rng, (int(unit.max()) + 1,))[unit]
        own = law.draw(rng, (unit.size,))
        noise = np.sqrt(self.common) * common + np.sqrt(1 - self.common) * own
        return np.asarray(noise * (1 + 0.3 * stratum) + 2 * stratum)

    @property
    def reference(self) -> dict[str, Any]:
        """Arguments that name what the group is compared with."""
        named = {} if self.comparisons != "reference" else {"reference": "g1"}
        return {"comparisons": self.comparisons, **named}


def _first(result: Any) -> Any:
    """Of a comparison with pooled groups the row of the first alone."""
    row = result.stratified["g0"]
    return type("One", (), {"stratified": type("Rows", (), {"comparisons": (row,)})})


def median_limits(y: np.ndarray, columns: dict[str, Any], comparisons: str) -> Limits | None:
    """Of the medians of group g0 and g1, or everybody, by the code that `fs.means` calls."""
    settings = Inference(comparisons=comparisons, margin=0.0)
    outcomes = Outcomes.from_arrays(**columns, numbers={OUTCOME: y})
    moments = check_given("strata", stratum_moments_of_rows(outcomes, outcomes.numbers, None))
    cells = means._quantiles_by_stratum(outcomes, moments, 0.5, settings)
    if comparisons != "reference":
        moments = moments._beside_rest()
    pair = cells.pair(moments, names_of_pair(moments, "g0", "g1", comparisons))
    return pair.contrast(0, 1, ratio=False).limits if pair.used.any() else None


def _medians(law: Law, visits: Visits) -> Cell:
    def draw(rng: np.random.Generator) -> tuple[Limits, float] | None:
        columns = visits.columns(rng)
        y = visits.numbers(rng, law, columns)
        limits = median_limits(y, columns, visits.comparisons)
        return None if limits is None else (limits, 0.0)

    name = _name("means", "statistic='median'", visits)
    return limits_cell(name, f"{law.words}, {visits.words}", draw)


def _drawn(law: Law, visits: Visits) -> Cell:
    def make(rng: np.random.Generator) -> Any:
        columns = visits.columns(rng)
        y = visits.numbers(rng, law, columns)
        return _first(
            fs.means(
                y,
                **columns,
                contrast="standardised_difference",
                n_resamples=399,
                rng=rng,
                **visits.reference,
            )
        )

    words = f"{law.words}, {visits.words}"
    return _cell("means", "contrast='standardised_difference'", words, visits, make)


def _determination(law: Law, visits: Visits) -> Cell:
    def make(rng: np.random.Generator) -> Any:
        columns = visits.columns(rng)
        y = visits.numbers(rng, law, columns)
        errors = visits.numbers(rng, NORMAL, columns) - 2 * columns["strata"]
        return _first(
            fs.prediction_errors(
                y,
                y + 0.8 * errors,
                **columns,
                metric="r_squared",
                n_resamples=399,
                rng=rng,
                **visits.reference,
            )
        )

    words = f"{law.words}, {visits.words}"
    return _cell("prediction_errors", "metric='r_squared'", words, visits, make)


def _cell(function: str, options: str, words: str, visits: Visits, make: Any) -> Cell:
    return public_cell(_name(function, options, visits), words, make, 2_000)


def _name(function: str, options: str, visits: Visits) -> str:
    if visits.comparisons != "reference":
        options += f", comparisons='{visits.comparisons}'"
    return f"{function}(strata=, cluster=, {options})"


def _scores(metric: str, visits: Visits) -> Cell:
    """Of calibrated scores, of coefficients by regressions of rows."""

    def draw(rng: np.random.Generator) -> tuple[Limits, float] | None:
        columns = visits.columns(rng)
        unit = columns["cluster"]
        score = np.clip(rng.beta(2 + 0.5 * columns["strata"], 3), 0.02, 0.98).round(2)
        chance = rng.random(unit.size)
        common = rng.random(unit.max() + 1)[unit]
        chance = np.where(rng.random(unit.size) < visits.common, common, chance)
        columns |= {"y_true": (chance < score).astype(int), "score": score}
        limits = limits_within(metric, columns, visits.comparisons)
        return None if limits is None else (limits, 0.0)

    function = "calibration" if metric.startswith("calibration_") else "scores"
    name = _name(function, f"metric='{metric.removeprefix('calibration_')}'", visits)
    return limits_cell(name, f"calibrated, {visits.words}", draw)


def _cells() -> Iterator[Cell]:
    few = Visits((60, 200), 4, 3)
    many = Visits((60, 120), 12, 6, common=0.7)
    for law in (NORMAL, EXPONENTIAL):
        yield _medians(law, few)
        yield _medians(law, many)
    yield _medians(EXPONENTIAL, many._replace(comparisons="overall"))
    wide = Visits((100, 200), 6, 3)
    for metric in ("calibration_slope", "calibration_intercept"):
        yield _scores(metric, wide)
        yield _scores(metric, Visits((60, 120), 15, 4, common=0.7))
        yield _scores(metric, wide._replace(comparisons="overall"))
    for metric in ("discrimination", "uncertainty"):
        yield _scores(metric, Visits((60, 120), 8, 3))
    yield _scores("uncertainty", Visits((60, 120), 8, 3, comparisons="overall"))
    yield _drawn(NORMAL, few)
    yield _drawn(EXPONENTIAL, many)
    yield _drawn(EXPONENTIAL, few._replace(comparisons="overall"))
    yield _determination(NORMAL, few)
    yield _determination(EXPONENTIAL, many)


CELLS = tuple(_cells())
