"""Cells of numbers within strata: clusters that lie in several of them, all other rows, everybody.

Every cell asks for limits of the public functions, whose margin is the truth. Of three groups the
first is judged; against all others ("rest") the contrast is the mean difference of the strata by
the weights of Mantel and Haenszel, beside everybody ("overall") observed less, or by, expected.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

import fairstats as fs
from fairstats.ground.tallies.moments import MomentCounts
from fairstats.ground.tallies.stratum_moments import StratumMoments, cross_names
from fairstats.methods.rates.numbers.strata_pairs import names_of_pair, pair_within_strata
from fairstats.methods.rates.numbers.stratified import make_pair
from fairstats.methods.rates.strata.result import ENDING
from fairstats.numerics.means.hall import Statistics
from tests.calibration.mean_strata import public_cell
from tests.calibration.means import EXPONENTIAL, LOGNORMAL, NORMAL, ONE_SIDED, TWO_SIDED, Law
from tests.calibration.study import Cell, Counts

_Draw = Callable[[np.random.Generator], Any]


def _cell(name: str, regime: str, make: _Draw, truth: float, runs: int, **about: str) -> Cell:
    """`make`: a generator to a result within strata, of whose first comparison this is the truth."""

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        wrong = dict.fromkeys(("above", "below", "false violated", "false satisfied"), 0)
        answered = 0
        for _ in range(runs):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = make(rng).stratified
            row = result.comparisons[0]
            if not row.tests:
                continue
            answered += 1
            _count(statistics_of(result, truth), wrong)
        return _counts(wrong, answered, runs)

    about = {"claim": "conservative", **about}
    return Cell("means", name, regime, simulate, runs, **about)


def _count(found: Statistics, wrong: dict[str, int]) -> None:
    """Add up what the statistics of the truth reject."""
    wrong["above"] += int(found.above > TWO_SIDED)
    wrong["below"] += int(found.below < -TWO_SIDED)
    wrong["false violated"] += int(found.above > ONE_SIDED)
    wrong["false satisfied"] += int(found.below < -ONE_SIDED)


def _counts(wrong: dict[str, int], answered: int, runs: int) -> Counts:
    counts = {measure: (float(total), answered) for measure, total in wrong.items()}
    held = answered - wrong["above"] - wrong["below"]
    return {**counts, "coverage": (float(held), answered), "answered": (answered, runs)}


def statistics_of(result: Any, truth: float) -> Statistics:
    """Of H0: the first comparison of means within strata has this value, which its limits invert."""
    row = result.comparisons[0]
    moments = result.stratum_moments
    names = names_of_pair(moments, row.group, row.reference, result.settings.comparisons)
    metric = result.metric.removesuffix(ENDING)
    pair = make_pair(metric, result.column, names, moments)
    ratio = result.scale == "ratio"
    return pair.contrast(0, 1, ratio=ratio).statistics(truth)


class Visits(NamedTuple):
    """Clusters of two groups, with so many rows each in strata at random.

    `share`: of a row that its cluster's rows have in common.
    """

    law: Law
    clusters: tuple[int, int]
    rows: int
    strata: int
    share: float

    @property
    def words(self) -> str:
        """The setting in words."""
        return (
            f"{self.law.words}, {self.clusters[0]} and {self.clusters[1]} clusters of {self.rows} rows"
            f" in {self.strata} strata, {self.share:.0%} common"
        )

    def draw(self, rng: np.random.Generator, contrast: str) -> Any:
        """One comparison, which is 0, or 1."""
        total = sum(self.clusters)
        unit = np.repeat(np.arange(total), self.rows)
        stratum = rng.integers(0, self.strata, unit.size)
        common = self.law.draw(rng, (total,))[unit]
        y = self.share * common + (1 - self.share) * self.law.draw(rng, (unit.size,)) + stratum
        return fs.means(
            y,
            sensitive_features=np.where(unit < self.clusters[0], "a", "b"),
            strata=stratum,
            cluster=unit,
            contrast=contrast,  # type: ignore[arg-type]
            reference="b",
        )


class Pools(NamedTuple):
    """Rows of three groups in every stratum, of one law, the first with other scales or shifts.

    `shifts`: what is added to numbers of the first group in every stratum; `scales`: what numbers of
    the three groups are multiplied with.
    """

    law: Law
    sizes: Sequence[tuple[int, int, int]]
    shifts: tuple[float, ...] = ()
    scales: tuple[float, float, float] = (1.0, 1.0, 1.0)

    @property
    def words(self) -> str:
        """The setting in words."""
        listed = ["/".join(map(str, sizes)) for sizes in self.sizes]
        words = ", ".join(listed)
        if len(set(listed)) == 1:
            words = f"{len(listed)} × {listed[0]}"
        words = f"{self.law.words}, {words}"
        if self.shifts:
            words += f", shifts {', '.join(f'{shift:g}' for shift in self.shifts)}"
        if len(set(self.scales)) > 1:
            words += f", scales {', '.join(f'{scale:g}' for scale in self.scales)}"
        return words

    def rows(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Numbers, groups and strata."""
        sizes = np.array(self.sizes)
        stratum = np.repeat(np.arange(len(sizes)), sizes.sum(axis=1))
        group = np.concatenate([np.repeat([0, 1, 2], row) for row in sizes])
        y = np.array(self.scales)[group] * self.law.draw(rng, (group.size,))
        shifts = np.array(self.shifts or [0.0] * len(sizes))
        y = y + stratum + np.where(group == 0, shifts[stratum], 0.0)
        return y, np.array(["a", "b", "c"])[group], stratum

    def moments(self, rng: np.random.Generator, *, squared: bool) -> StratumMoments:
        """Of the first group and of all others in every stratum; or of squared errors."""
        y, group, stratum = self.rows(rng)
        if squared:
            y = (y - stratum) ** 2
        codes = 2 * stratum + (group != "a")
        size = 2 * len(self.sizes)
        n = np.bincount(codes, minlength=size)
        mean = np.bincount(codes, y, size) / n
        excess = y - mean[codes]
        squares = np.bincount(codes, excess**2, size)
        cubes = np.bincount(codes, excess**3, size)
        nothing = np.zeros(size)
        strata = tuple(map(str, range(len(self.sizes))))
        groups = ("a", "all but a")
        cells = MomentCounts(
            groups=cross_names(strata, groups),
            columns=("y",),
            n=n,
            units=n,
            weights=np.array([n, n, n], dtype=float),
            mean=mean[None],
            centred=np.array([squares, cubes, nothing, squares, nothing])[:, None],
            negative=np.bincount(codes[y < 0], minlength=size)[None],
        )
        return StratumMoments(strata=strata, groups=groups, cells=cells)

    def truth(self, mean: float, comparisons: str, contrast: str) -> float:
        """Of the first group, whose numbers have this mean where the scale is 1."""
        sizes = np.array(self.sizes, dtype=float)
        stratum = np.arange(len(sizes))
        shifts = np.array(self.shifts or [0.0] * len(sizes))
        means = np.array(self.scales) * mean + stratum[:, None]
        means[:, 0] += shifts
        rest = (sizes[:, 1:] * means[:, 1:]).sum(axis=1) / sizes[:, 1:].sum(axis=1)
        weight = sizes[:, 0]
        expected = (sizes * means).sum(axis=1) / sizes.sum(axis=1)
        if comparisons == "rest":
            weight = weight * sizes[:, 1:].sum(axis=1) / sizes.sum(axis=1)
            expected = rest
        sums = float(weight @ means[:, 0]), float(weight @ expected)
        if contrast == "ratio":
            return sums[0] / sums[1]
        return (sums[0] - sums[1]) / float(weight.sum())


def _by_moments(
    setting: Pools, comparisons: str, contrast: str, truth: float, *, root: bool
) -> Callable[[np.random.Generator, int], Counts]:
    """Errors of the statistics that limits invert, by the kernel of the public functions."""
    reference = "the rest" if comparisons == "rest" else "all"
    ratio = contrast == "ratio"

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        wrong = dict.fromkeys(("above", "below", "false violated", "false satisfied"), 0)
        answered = 0
        for _ in range(runs):
            moments = setting.moments(rng, squared=root)
            names = names_of_pair(moments, "a", reference, comparisons)
            pair = pair_within_strata(moments, names, "y", root=root)
            if pair.why_not(0, ratio=ratio) or pair.why_not(1, ratio=ratio):
                continue
            answered += 1
            _count(pair.contrast(0, 1, ratio=ratio).statistics(truth), wrong)
        return _counts(wrong, answered, runs)

    return simulate


def _pooled(
    setting: Pools, mean: float, comparisons: str, contrast: str, runs: int, **about: str
) -> Cell:
    truth = setting.truth(mean, comparisons, contrast)
    name = f"means(strata=, comparisons='{comparisons}')"
    if contrast == "ratio":
        name = name.replace(")", ", contrast='ratio')")
    simulate = _by_moments(setting, comparisons, contrast, truth, root=False)
    about = {"claim": "conservative", **about}
    return Cell("means", name, setting.words, simulate, runs, **about)


def _roots(setting: Pools, comparisons: str, runs: int, **about: str) -> Cell:
    """Roots of mean squared normal errors; the squares of scales are their means."""
    sizes = np.array(setting.sizes, dtype=float)
    squares = np.array(setting.scales) ** 2
    rest = sizes[:, 1:] @ squares[1:] / sizes[:, 1:].sum(axis=1)
    weight = sizes[:, 0]
    expected = sizes @ squares / sizes.sum(axis=1)
    if comparisons == "rest":
        weight = weight * sizes[:, 1:].sum(axis=1) / sizes.sum(axis=1)
        expected = rest
    truth = float(setting.scales[0] - np.sqrt(weight @ expected / weight.sum()))
    name = f"prediction_errors('root_mean_squared_error', strata=, comparisons='{comparisons}')"
    simulate = _by_moments(setting, comparisons, "difference", truth, root=True)
    version = "3" if comparisons == "overall" else "1"
    about = {"claim": "conservative", "version": version, **about}
    return Cell("means", name, setting.words, simulate, runs, **about)


def _standardised(setting: Pools, comparisons: str, runs: int, **about: str) -> Cell:
    """Groups of one law in every stratum: the difference is 0."""

    def make(rng: np.random.Generator) -> Any:
        y, group, stratum = setting.rows(rng)
        result = fs.means(
            y,
            sensitive_features=group,
            strata=stratum,
            comparisons=comparisons,  # type: ignore[arg-type]
            contrast="standardised_difference",
            groups=["a", "b", "c"],
            n_resamples=399,
            rng=rng,
        )
        first = replace(result.stratified, comparisons=result.stratified.comparisons[:1])
        return replace(result, stratified=first)

    name = f"means(strata=, comparisons='{comparisons}', contrast='standardised_difference')"
    return public_cell(name, setting.words, make, runs, **about)


def _visits(setting: Visits, contrast: str, runs: int, **about: str) -> Cell:
    truth = 1.0 if contrast == "ratio" else 0.0
    name = "means(strata=, cluster=)"
    if contrast == "ratio":
        name = "means(strata=, cluster=, contrast='ratio')"

    def make(rng: np.random.Generator) -> Any:
        return setting.draw(rng, contrast)

    return _cell(name, setting.words, make, truth, runs, **about)


def _cells() -> Iterator[Cell]:
    runs = 4_000
    yield _visits(Visits(NORMAL, (25, 100), 4, 4, 0.7), "difference", runs)
    yield _visits(Visits(EXPONENTIAL, (25, 100), 4, 4, 0.7), "difference", runs)
    yield _visits(Visits(EXPONENTIAL, (60, 200), 4, 4, 0.7), "difference", runs)
    yield _visits(Visits(EXPONENTIAL, (25, 100), 4, 4, 0.2), "difference", runs)
    yield _visits(Visits(EXPONENTIAL, (22, 200), 10, 3, 0.5), "difference", runs)
    yield _visits(Visits(LOGNORMAL, (40, 300), 4, 4, 0.6), "difference", runs)
    yield _visits(Visits(EXPONENTIAL, (30, 60), 3, 8, 0.7), "difference", runs)
    yield _visits(Visits(EXPONENTIAL, (40, 60), 3, 8, 0.7), "ratio", runs)
    runs = 8_000
    even = ((30, 100, 60),) * 3
    tiny = ((8, 30, 10),) * 8
    opposite = ((80, 20, 10), (40, 30, 30), (10, 60, 40))
    for comparisons in ("rest", "overall"):
        for sizes in (even, tiny, opposite):
            yield _pooled(Pools(EXPONENTIAL, sizes), 1.0, comparisons, "difference", runs)
        shifted = Pools(EXPONENTIAL, opposite, shifts=(0.2, 0.6, -0.3))
        yield _pooled(shifted, 1.0, comparisons, "difference", runs)
        yield _pooled(shifted, 1.0, comparisons, "ratio", runs)
        spread = Pools(EXPONENTIAL, opposite, scales=(1.5, 1.0, 0.7))
        yield _pooled(spread, 1.0, comparisons, "difference", runs)
        yield _pooled(spread, 1.0, comparisons, "ratio", runs)
        yield _roots(Pools(NORMAL, even), comparisons, runs)
        yield _roots(Pools(NORMAL, opposite, scales=(1.3, 1.0, 0.8)), comparisons, runs)
    unequal = ((130, 20, 14),) * 3
    yield _roots(Pools(NORMAL, unequal, scales=(1.0, 2.0, 1.0)), "overall", runs)
    yield _standardised(Pools(NORMAL, even), "overall", 1_000)
    yield _standardised(Pools(EXPONENTIAL, opposite), "overall", 1_000)


CELLS = tuple(_cells())
