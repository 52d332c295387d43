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

import fairstats as fs
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
        return _drawn(self, rng, stratum, group, chance)


class Pooled(NamedTuple):
    """Rows of the group and of two others in every stratum, rates of these two, and the contrast
    of the group with them together ("rest") or with everybody ("overall") in all strata.

    Designs as in `Setting`.
    """

    n: tuple[int, ...]
    n_second: tuple[int, ...]
    n_third: tuple[int, ...]
    rates_second: tuple[float, float]
    rates_third: tuple[float, float]
    contrast: Contrast
    truth: float
    comparisons: str
    cv: float = 0.0
    slope: float = 0.0
    cluster: int = 0
    icc: float = 0.0
    across: bool = True
    both: bool = True

    @property
    def words(self) -> str:
        """The setting in words."""
        sizes = []
        for rows in zip(self.n, self.n_second, self.n_third, strict=True):
            sizes.append("/".join(map(str, rows)))
        words = ", ".join(sizes)
        if len(set(sizes)) == 1:
            words = f"{len(sizes)} × {sizes[0]}"
        others = " and ".join(f"{low:g} to {high:g}" for low, high in self._rates_of_others())
        contrast = self.contrast.replace("_", " ")
        words += f", rates of the others {others}, {contrast} {self.truth:g}"
        if self.cv:
            words += f", weights CV {self.cv:g}"
        if self.cluster:
            words += f", clusters of {self.cluster} in several strata and groups, ICC {self.icc:g}"
        return words

    def _rates_of_others(self) -> tuple[tuple[float, float], tuple[float, float]]:
        return self.rates_second, self.rates_third

    def chances(self) -> np.ndarray:
        """Chances of success of the three groups, shape (3, H)."""
        sizes = np.array([self.n, self.n_second, self.n_third], dtype=float)
        second, third = (np.linspace(*rates, len(self.n)) for rates in self._rates_of_others())
        of_others = (sizes[1] * second + sizes[2] * third) / (sizes[1] + sizes[2])
        share = np.zeros(len(self.n))
        if self.comparisons == "overall":
            share = sizes[0] / sizes.sum(axis=0)
        if self.contrast == "ratio":
            own = self.truth * (1 - share) * of_others / (1 - self.truth * share)
        elif self.contrast == "difference":
            own = of_others + self.truth / (1 - share)
        else:
            odds = self.truth * of_others / (1 - of_others)
            own = odds / (1 + odds)
        return np.array([own, second, third])

    def draw(self, rng: np.random.Generator) -> StratumCounts:
        """One sample."""
        strata = np.arange(len(self.n))
        sizes = (self.n, self.n_second, self.n_third)
        stratum = np.concatenate([np.repeat(strata, rows) for rows in sizes])
        group = np.repeat([0, 1, 2], [sum(rows) for rows in sizes])
        return _drawn(self, rng, stratum, group, self.chances()[group, stratum])


def _drawn(
    setting: Setting | Pooled,
    rng: np.random.Generator,
    stratum: np.ndarray,
    group: np.ndarray,
    chance: np.ndarray,
) -> StratumCounts:
    """Rows of these strata and groups with successes, weights and clusters as the setting has."""
    cluster = None
    latent = rng.standard_normal(group.size)
    n_groups = int(group.max()) + 1
    if setting.cluster:
        within = np.zeros(group.size, dtype=int)
        if not setting.across:
            within = stratum
        if not setting.both:
            within = n_groups * within + group
        cluster = _clusters_of(rng, within, setting.cluster)
        effects = rng.standard_normal(cluster.max() + 1)[cluster]
        latent = np.sqrt(setting.icc) * effects + np.sqrt(1 - setting.icc) * latent
    success = (latent < ndtri(chance)).astype(int)
    weight = np.exp(setting.slope * success)
    if setting.cv:
        weight = weight * np.exp(np.sqrt(np.log1p(setting.cv**2)) * rng.standard_normal(group.size))
    shape = (len(setting.n), n_groups, 2)
    positions = ((n_groups * stratum + group) * 2 + 1 - success).astype(np.intp)
    counts = StratumCounts(
        strata=tuple(map(str, range(len(setting.n)))),
        groups=tuple("abc"[:n_groups]),
        cells=("selected", "not_selected"),
        rows=np.bincount(positions, minlength=int(np.prod(shape))).reshape(shape),
    )
    if not (setting.cv or setting.slope or setting.cluster):
        return counts
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


def _judged(setting: Setting | Pooled, name: str) -> Cell:
    """Interval and both one-sided limits at the truth."""
    comparisons = "reference"
    if isinstance(setting, Pooled):
        comparisons = setting.comparisons

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        seen = dict.fromkeys(("above", "below", "false violated", "false satisfied"), 0)
        answered = 0
        for _ in range(runs):
            counts = setting.draw(rng)
            pair = pair_tables(counts, [SELECTED], setting.contrast, "a", "b", comparisons)
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
    yield from _beside_all()


def _beside_all() -> Iterator[Cell]:
    """A group beside all others, and beside everybody, within strata; the others' rates differ."""
    few = ((6,) * 5, (20,) * 5, (40,) * 5)
    large = ((60,) * 3, (30,) * 3, (20,) * 3)
    uneven = ((4, 30, 60), (200, 20, 10), (100, 40, 15))
    middle = ((0.3, 0.6), (0.4, 0.7))
    low = ((0.03, 0.1), (0.05, 0.2))
    for comparisons in ("rest", "overall"):
        for sizes, rates, contrast, truth in (
            (few, middle, "ratio", 0.8),
            (few, low, "difference", 0.1),
            (large, middle, "ratio", 0.8),
            (large, low, "difference", 0.1),
            (uneven, middle, "ratio", 0.9),
            (uneven, middle, "difference", -0.1),
        ):
            setting = Pooled(*sizes, *rates, contrast, truth, comparisons)
            name = f"{_NAMES[contrast]}(strata=, comparisons='{comparisons}')"
            yield _judged(setting, name)
        weighted = Pooled(*large, *middle, "ratio", 0.8, comparisons, cv=1.0)
        name = f"disparate_impact(strata=, comparisons='{comparisons}', sample_weight=)"
        yield _judged(weighted, name)
        clustered = Pooled(*large, *middle, "difference", -0.1, comparisons, cluster=5, icc=0.3)
        name = f"demographic_parity_difference(strata=, comparisons='{comparisons}', cluster=)"
        yield _judged(clustered, name)
    yield _judged(
        Pooled(*few, *middle, "odds_ratio", 0.5, "rest"),
        f"{_NAMES['odds_ratio']}(strata=, comparisons='rest')",
    )
    for rows in ((15, 100), (60, 90)):
        yield _family_of_classes(*rows)


def _family_of_classes(n: int, n_reference: int) -> Cell:
    """Four classes in three strata, of the same shares in both groups: any of the family is shown.

    By the public function; the rarest class has a share of .05 to .08.
    """
    shares = np.array([[0.5, 0.3, 0.15, 0.05], [0.3, 0.4, 0.22, 0.08], [0.25, 0.25, 0.44, 0.06]])
    stratum = np.concatenate([np.repeat(np.arange(3), n), np.repeat(np.arange(3), n_reference)])
    group = np.repeat(["a", "b"], [3 * n, 3 * n_reference])
    steps = shares.cumsum(axis=1)[stratum]

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        seen = dict.fromkeys(("size", "false violated", "false satisfied"), 0)
        for _ in range(runs):
            label = (rng.random(group.size)[:, None] > steps).sum(axis=1)
            result = fs.disparate_impact(
                label,
                sensitive_features=group,
                strata=stratum,
                classes="one-vs-rest",
                label_values=[0, 1, 2, 3],
                threshold=0.9999,
                reference="b",
            )
            within = result.stratified.comparisons
            verdicts = [each.verdict for each in within]
            seen["size"] += any(each.pvalue_adjusted <= 1 - _LEVEL for each in within)
            seen["false violated"] += "violated" in verdicts
            seen["false satisfied"] += "satisfied" in verdicts
        return {measure: (count, runs) for measure, count in seen.items()}

    words = f"four classes of the same shares, 3 × {n}/{n_reference}, all as one family"
    name = "disparate_impact(strata=, classes='one-vs-rest')"
    return Cell("strata", name, words, simulate, 2_000, "conservative")


CELLS = tuple(_cells())
