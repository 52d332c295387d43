"""Cells of rates within strata under weights and clusters: limits, verdicts, homogeneity.

Every sample goes through the kernel of the public functions (`pair_tables`, the stratified score);
`tests/methods/rates/test_stratified_designs.py` holds `decided` against these. The margin (or
threshold) of every cell is the truth itself: "false violated" and "false satisfied" are its
one-sided errors at .05.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri, stdtr

from fairstats.ground.registry import SELECTED
from fairstats.ground.strata import StratumCounts, StratumDesign
from fairstats.methods.rates.strata.compare import _score_of
from fairstats.methods.rates.strata.design import LEAST_DF, PairTables, pair_tables
from fairstats.numerics.rates.homogeneity import homogeneity_test
from fairstats.numerics.rates.pooled import FEWEST_CASES
from fairstats.numerics.rates.score import Contrast
from tests.calibration.study import Cell, Counts

_LEVEL = 0.95


class Setting(NamedTuple):
    """Rows of the group and its reference in every stratum, rates of the reference, the contrast of
    all strata, and how rows are drawn.

    `cv`: of lognormal weights; `slope`: log of how much more a success weighs; `cluster`: rows of a
    cluster, 0 for independent rows, with the correlation `icc` on the normal scale; `across`:
    whether clusters lie in several strata; `both`: whether in both groups.
    """

    n: tuple[int, ...]
    n_reference: tuple[int, ...]
    rates: tuple[float, float]
    contrast: Contrast
    truth: float
    cv: float = 0.0
    slope: float = 0.0
    cluster: int = 0
    icc: float = 0.0
    across: bool = False
    both: bool = False

    @property
    def words(self) -> str:
        """The setting in words."""
        pairs = list(zip(self.n, self.n_reference, strict=True))
        sizes = ", ".join(f"{n}/{m}" for n, m in pairs)
        if len(set(pairs)) == 1:
            sizes = f"{len(pairs)} × {pairs[0][0]}/{pairs[0][1]}"
        low, high = self.rates
        contrast = self.contrast.replace("_", " ")
        words = f"{sizes}, rates {low:g} to {high:g}, {contrast} {self.truth:g}"
        if self.cv:
            words += f", weights CV {self.cv:g}"
        if self.slope:
            words += f", successes weigh e^{self.slope:g} times as much"
        if self.cluster:
            where = "several strata" if self.across else "one stratum"
            of_groups = "both groups" if self.both else "one group"
            words += f", clusters of {self.cluster} in {where} and {of_groups}, ICC {self.icc:g}"
        return words

    def chances(self) -> tuple[np.ndarray, np.ndarray]:
        """Chances of success of the group and its reference, so that weighted rates have the
        contrast.
        """
        reference = np.linspace(*self.rates, len(self.n))
        own = reference + self.truth
        if self.contrast == "ratio":
            own = self.truth * reference
        if self.contrast == "odds_ratio":
            odds = self.truth * reference / (1 - reference)
            own = odds / (1 + odds)
        factor = np.exp(self.slope)
        return own / (own + factor * (1 - own)), reference / (reference + factor * (1 - reference))

    def draw(self, rng: np.random.Generator) -> StratumCounts:
        """One sample."""
        strata = np.arange(len(self.n))
        stratum = np.concatenate([np.repeat(strata, self.n), np.repeat(strata, self.n_reference)])
        group = np.repeat([0, 1], [sum(self.n), sum(self.n_reference)])
        own, reference = self.chances()
        chance = np.where(group == 0, own[stratum], reference[stratum])
        cluster = None
        latent = rng.standard_normal(group.size)
        if self.cluster:
            within = np.zeros(group.size, dtype=int)
            if not self.across:
                within = stratum
            if not self.both:
                within = 2 * within + group
            cluster = _clusters_of(rng, within, self.cluster)
            effects = rng.standard_normal(cluster.max() + 1)[cluster]
            latent = np.sqrt(self.icc) * effects + np.sqrt(1 - self.icc) * latent
        success = (latent < ndtri(chance)).astype(int)
        weight = np.exp(self.slope * success)
        if self.cv:
            weight = weight * np.exp(
                np.sqrt(np.log1p(self.cv**2)) * rng.standard_normal(group.size)
            )
        shape = (len(self.n), 2, 2)
        positions = ((2 * stratum + group) * 2 + 1 - success).astype(np.intp)
        counts = StratumCounts(
            strata=tuple(map(str, strata)),
            groups=("a", "b"),
            cells=("selected", "not_selected"),
            rows=np.bincount(positions, minlength=int(np.prod(shape))).reshape(shape),
        )
        design = StratumDesign._of_rows(positions, shape, weight, cluster, None)
        return counts._with_design(design)


def _clusters_of(rng: np.random.Generator, within: np.ndarray, size: int) -> np.ndarray:
    """Numbers of clusters of about `size` rows, none with rows of two of the parts."""
    cluster = np.zeros(within.size, dtype=int)
    first = 0
    for part in np.unique(within):
        rows = rng.permutation(np.flatnonzero(within == part))
        count = max(1, round(rows.size / size))
        cluster[rows] = first + np.arange(rows.size) % count
        first += count
    return cluster


def decided(pair: PairTables, truth: float) -> dict[str, bool]:
    """Whether the interval lies above or below the truth, and each direction shown at .05."""
    df = pair.degrees
    plain = stdtr(df, _score_of(pair, guarded=False).statistic(truth))
    guarded = stdtr(df, _score_of(pair, guarded=True).statistic(truth))
    half = (1 - _LEVEL) / 2
    return {
        "above": bool(1 - plain < half),
        "below": bool(plain < half),
        "false violated": bool(1 - guarded <= 1 - _LEVEL),
        "false satisfied": bool(guarded <= 1 - _LEVEL),
    }


def answers(pair: PairTables) -> bool:
    """Whether there is a verdict."""
    return pair.degrees >= LEAST_DF and min(pair.cases) >= FEWEST_CASES


def _judged(setting: Setting, name: str) -> Cell:
    """Interval and both one-sided limits at the truth."""

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        seen = dict.fromkeys(("above", "below", "false violated", "false satisfied"), 0)
        answered = 0
        for _ in range(runs):
            pair = pair_tables(setting.draw(rng), [SELECTED], setting.contrast, "a", "b")
            if not answers(pair) or np.isnan(pair.estimate()):
                continue
            answered += 1
            for measure, happened in decided(pair, setting.truth).items():
                seen[measure] += happened
        outside = seen["above"] + seen["below"]
        # errors are shares of all samples
        counted = {measure: (count, runs) for measure, count in seen.items()}
        counted["coverage"] = (runs - outside, runs)
        return {**counted, "answered": (answered, runs)}

    return Cell("strata", name, setting.words, simulate, 2_000, "conservative")


def _homogeneous(setting: Setting) -> Cell:
    """Size of the test of one contrast in all strata."""

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        rejected = 0
        known = 0
        for _ in range(runs):
            pair = pair_tables(setting.draw(rng), [SELECTED], setting.contrast, "a", "b")
            pvalue = float(homogeneity_test(pair.tables[0], setting.contrast).pvalue)
            known += not np.isnan(pvalue)
            rejected += pvalue <= 1 - _LEVEL
        return {"size": (rejected, known), "answered": (known, runs)}

    name = (
        f"strata= of weights or clusters: homogeneity of the {setting.contrast.replace('_', ' ')}"
    )
    return Cell("strata", name, setting.words, simulate, 2_000, "conservative")


_NAMES = {
    "ratio": "disparate_impact",
    "difference": "demographic_parity_difference",
    "odds_ratio": "group_metric(contrast='odds_ratio')",
}
MIDDLE = ((0.3, 0.6), "ratio", 0.8)
HIGH = ((0.85, 0.97), "ratio", 0.9)
LOW = ((0.05, 0.2), "difference", 0.1)
ODDS = ((0.3, 0.6), "odds_ratio", 0.5)


def _cells() -> Iterator[Cell]:
    sizes = {
        "3": ((20,) * 3, (300,) * 3),
        "10": ((5,) * 10, (50,) * 10),
        "5": ((20,) * 5, (30,) * 5),
        "uneven": ((3, 30, 100), (400, 60, 20)),
        "small": ((8,) * 3, (100,) * 3),
    }
    weighted = (
        ("3", MIDDLE, 0.5, 0.0),
        ("3", HIGH, 1.0, 0.0),
        ("3", LOW, 1.5, 0.0),
        ("10", MIDDLE, 0.5, 0.0),
        ("10", HIGH, 0.5, 0.0),
        ("10", LOW, 1.0, 0.0),
        ("5", ODDS, 1.0, 0.0),
        ("5", MIDDLE, 1.5, 0.0),
        ("uneven", MIDDLE, 1.0, 0.0),
        ("uneven", LOW, 1.0, 0.0),
        ("small", HIGH, 1.0, 0.0),
        ("3", MIDDLE, 0.5, 0.6),
        ("5", LOW, 1.0, 0.6),
        ("5", HIGH, 0.5, -0.6),
        ("5", ODDS, 1.0, -0.6),
    )
    for name, (rates, contrast, truth), cv, slope in weighted:
        n, n_reference = sizes[name]
        setting = Setting(n, n_reference, rates, contrast, truth, cv=cv, slope=slope)
        yield _judged(setting, f"{_NAMES[contrast]}(strata=, sample_weight=)")
    sizes |= {"3": ((40,) * 3, (300,) * 3), "5": ((40,) * 5, (60,) * 5)}
    sizes |= {"10": ((15,) * 10, (60,) * 10), "small": ((9,) * 3, (100,) * 3)}
    sizes |= {"uneven": ((4, 30, 100), (400, 60, 20))}
    high = ((0.85, 0.95), "ratio", 0.9)
    clustered = (
        ("3", MIDDLE, 5, 0.3, False, False),
        ("3", high, 5, 0.3, True, False),
        ("3", LOW, 10, 0.1, True, False),
        ("5", MIDDLE, 5, 0.3, False, True),
        ("5", high, 5, 0.3, True, True),
        ("5", ODDS, 5, 0.3, True, True),
        ("5", LOW, 3, 0.6, True, True),
        ("10", MIDDLE, 3, 0.6, False, False),
        ("10", ODDS, 5, 0.3, True, False),
        ("small", LOW, 3, 0.3, False, False),
        ("small", MIDDLE, 3, 0.3, True, False),
        ("uneven", MIDDLE, 4, 0.3, False, False),
        ("uneven", LOW, 4, 0.3, True, True),
    )
    for name, (rates, contrast, truth), rows, icc, across, both in clustered:
        n, n_reference = sizes[name]
        setting = Setting(
            n,
            n_reference,
            rates,
            contrast,
            truth,
            cluster=rows,
            icc=icc,
            across=across,
            both=both,
        )
        yield _judged(setting, f"{_NAMES[contrast]}(strata=, cluster=)")
    both_designs = Setting((60,) * 4, (120,) * 4, *MIDDLE, cv=0.7, cluster=5, icc=0.3, across=True)
    yield _judged(both_designs, "disparate_impact(strata=, sample_weight=, cluster=)")
    for rates, contrast, truth in (MIDDLE, LOW, ODDS):
        yield _homogeneous(Setting((30,) * 4, (100,) * 4, rates, contrast, truth, cv=1.0))
        yield _homogeneous(
            Setting((40,) * 5, (60,) * 5, rates, contrast, truth, cluster=5, icc=0.3)
        )


CELLS = tuple(_cells())
