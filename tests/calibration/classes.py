"""Cells of several classes: means over classes, families of classes and groups, largest gaps.

Every row has a label, drawn by the shares of the classes, and a prediction, right with the rate of
its class and else one of the other classes by their shares. The truth stands at the edge of the
fair range, so that any verdict is false.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

import fairstats as fs
from fairstats.ground.multiplicity import normal_quantile
from fairstats.numerics.rates.score_limits import difference_limits_of
from fairstats.results import ClassCounts
from tests.calibration.study import Cell, Counts, tally_interval

NAMES = ("a", "b", "c", "d", "e")
#: Quantiles of the normal law: of verdicts, and of 95% intervals.
_ONE_SIDED = normal_quantile(0.95)
_TWO_SIDED = normal_quantile(0.975)


class Law(NamedTuple):
    """Shares of the classes, and how often those of each are predicted rightly."""

    shares: tuple[float, ...]
    right: tuple[float, ...]

    def cells(self) -> np.ndarray:
        """Probability of every label and prediction, shape (J, J)."""
        shares = np.array(self.shares)
        table = np.zeros((shares.size, shares.size))
        for label, (share, right) in enumerate(zip(self.shares, self.right, strict=True)):
            others = np.where(np.arange(shares.size) == label, 0.0, shares)
            table[label] = share * (1 - right) * others / others.sum()
            table[label, label] = share * right
        return table

    def value(self, rate: str) -> np.ndarray:
        """A rate of every class against the others, shape (J,)."""
        table = self.cells()
        tp, labels, predictions = np.diag(table), table.sum(axis=1), table.sum(axis=0)
        return {
            "tpr": tp / labels,
            "ppv": tp / predictions,
            "f1": 2 * tp / (labels + predictions),
            "fpr": (predictions - tp) / (1 - labels),
            "selection_rate": predictions,
        }[rate]


class Setting(NamedTuple):
    """Two laws in words, and the sizes of group and reference."""

    words: str
    law: Law
    reference: Law
    n: int
    n_reference: int


_GOOD = Law((0.6, 0.3, 0.1), (0.97, 0.95, 0.9)), Law((0.6, 0.3, 0.1), (0.9, 0.88, 0.8))
_RARE = (
    Law((0.5, 0.25, 0.15, 0.06, 0.04), (0.9, 0.8, 0.7, 0.6, 0.5)),
    Law((0.5, 0.25, 0.15, 0.06, 0.04), (0.85, 0.75, 0.6, 0.5, 0.4)),
)
_UNLIKE = Law((0.6, 0.3, 0.1), (0.95, 0.9, 0.8)), Law((0.4, 0.3, 0.3), (0.8, 0.6, 0.5))
_WORDS = {
    _GOOD: "3 classes, the rarest 10%, right in .97 to .9",
    _RARE: "5 classes, the rarest 4%, right in .9 to .5",
    _UNLIKE: "3 classes, shares .6 to .1 beside .4 to .3",
}


def _settings() -> Iterator[Setting]:
    for laws, words in _WORDS.items():
        for n, n_reference in ((40, 400), (100, 1_000), (300, 3_000), (80, 80)):
            yield Setting(f"{words}; {n:,}/{n_reference:,} rows", *laws, n, n_reference)


def _draw(rng: np.random.Generator, setting: Setting) -> ClassCounts:
    tables = {}
    for name, law, n in (
        ("s", setting.law, setting.n),
        ("l", setting.reference, setting.n_reference),
    ):
        cells = law.cells()
        tables[name] = rng.multinomial(n, cells.ravel()).reshape(cells.shape)
    return ClassCounts.from_tables(tables, classes=NAMES[: len(setting.law.shares)])


def _count(results: list[tuple[float, float, str]], truth: float) -> Counts:
    """Coverage, and verdicts among the answered, of which all are false."""
    counts = dict(tally_interval(truth, [(low, high) for low, high, _ in results]))
    verdicts = [verdict for _, _, verdict in results]
    n = len(verdicts) - verdicts.count("insufficient evidence")
    counts["false violated"] = (verdicts.count("violated"), n)
    counts["false satisfied"] = (verdicts.count("satisfied"), n)
    return counts


def _answer(result: Any) -> tuple[float, float, str]:
    (comparison,) = result.comparisons
    if comparison.verdict == "insufficient evidence":
        return np.nan, np.nan, comparison.verdict
    low, high = comparison.confidence_interval
    return low, high, comparison.verdict


def simulate_mean(
    setting: Setting, rate: str, contrast: str, rng: np.random.Generator, runs: int
) -> Counts:
    """The mean over classes of one group against the reference, many samples at once.

    By the statistic at the truth, which a test holds beside what `group_metric` says.
    """
    ours = setting.law.value(rate).mean()
    theirs = setting.reference.value(rate).mean()
    truth = float(ours / theirs) if contrast == "ratio" else float(ours - theirs)
    pair = []
    for law, n in ((setting.law, setting.n), (setting.reference, setting.n_reference)):
        cells = law.cells()
        pair.append(rng.multinomial(n, cells.ravel(), runs).reshape(-1, *cells.shape))
    is_answered = answered(pair, rate, contrast)
    tables = [one[is_answered].astype(np.float64) for one in pair]
    sides = {z: limits_beyond(tables, rate, contrast, truth, z) for z in (_ONE_SIDED, _TWO_SIDED)}
    n = int(is_answered.sum())
    above, below = (int(side.sum()) for side in sides[_TWO_SIDED])
    high, low = (int(side.sum()) for side in sides[_ONE_SIDED])
    # beyond the truth, on the side where values lie outside the fair range, or inside
    outside = low if (truth < 1 if contrast == "ratio" else truth < 0) else high
    return {
        "coverage": (n - above - below, n),
        "above": (above, n),
        "below": (below, n),
        "false violated": (outside, n),
        "false satisfied": (high + low - outside, n),
        "answered": (n, runs),
    }


def answered(pair: list[np.ndarray], rate: str, contrast: str) -> np.ndarray:
    """Whether samples have an answer: cases of every class, or ten rows of each."""
    needs_rows = contrast == "ratio" or rate in ("f1", "fpr")
    known = np.ones(len(pair[0]), dtype=bool)
    for tables in pair:
        cases = tables.sum(axis=1 if rate == "ppv" else 2)
        known &= (cases >= (10 if needs_rows else 1)).all(axis=1)
    return known


def limits_beyond(
    pair: list[np.ndarray], rate: str, contrast: str, truth: float, z: float
) -> tuple[np.ndarray, np.ndarray]:
    """Whether the lower limit lies above the truth, and the upper one below it."""
    if contrast == "difference" and rate in ("tpr", "ppv"):
        return _beyond_by_mover(pair, rate, truth, z)
    statistics = []
    share = 4 / pair[0].shape[1] ** 2
    for added in (0.0, 0.5, 1.0):
        (value, variance), (value_0, variance_0) = (
            mean_and_variance(tables + added * share, rate) for tables in pair
        )
        if contrast == "ratio":
            apart = value - truth * value_0
            spread = variance + truth**2 * variance_0
        else:
            apart = value - value_0 - truth
            spread = variance + variance_0
        with np.errstate(divide="ignore", invalid="ignore"):
            one = apart / np.sqrt(spread)
        statistics.append(np.where(spread > 0, one, np.nan))
    return np.nanmin(statistics, axis=0) > z, np.nanmax(statistics, axis=0) < -z


def _beyond_by_mover(
    pair: list[np.ndarray], rate: str, truth: float, z: float
) -> tuple[np.ndarray, np.ndarray]:
    columns = []
    for tables in pair:
        columns.append(np.einsum("njj->nj", tables))
        columns.append(tables.sum(axis=2 if rate == "tpr" else 1))
    successes, cases, successes_0, cases_0 = columns
    pooled = (successes + successes_0) / (cases + cases_0)
    expected = np.minimum(cases, cases_0) * np.minimum(pooled, 1 - pooled)
    corrected = (expected.min(axis=1) < 20)[:, None] & np.ones(cases.shape, dtype=bool)
    tables = np.stack(columns, axis=-1).reshape(-1, 4)
    low, high = difference_limits_of(tables, np.full(len(tables), z), corrected.ravel())
    apart = successes / cases - successes_0 / cases_0
    mean = apart.mean(axis=1)
    n_classes = cases.shape[1]
    below = np.sqrt(((apart - low.reshape(cases.shape)) ** 2).sum(axis=1)) / n_classes
    above = np.sqrt(((high.reshape(cases.shape) - apart) ** 2).sum(axis=1)) / n_classes
    return mean - below > truth, mean + above < truth


def mean_and_variance(tables: np.ndarray, rate: str) -> tuple[np.ndarray, np.ndarray]:
    """The mean over classes of every table, shape (n, J, J), and its variance by its gradient."""
    n_classes = tables.shape[1]
    place = np.arange(n_classes)
    right = np.einsum("njj->nj", tables)
    labels = tables.sum(axis=2)
    predictions = tables.sum(axis=1)
    slope = np.zeros_like(tables)
    if rate == "f1":
        value = 2 * right / (labels + predictions)
        each = value / (labels + predictions)
        slope -= each[:, :, None] + each[:, None, :]
        slope[:, place, place] += 2 / (labels + predictions)
    elif rate == "fpr":
        others = tables.sum(axis=(1, 2))[:, None] - labels
        value = (predictions - right) / others
        slope += (1 / others)[:, None, :] * np.ones((n_classes, 1))
        slope[:, place, place] -= 1 / others
        each = value / others
        slope -= (each.sum(axis=1)[:, None] - each)[:, :, None]
    else:
        value = right / labels
        slope -= (value / labels)[:, :, None]
        slope[:, place, place] += 1 / labels
    slope /= n_classes
    total = tables.sum(axis=(1, 2))
    variance = (tables * slope**2).sum(axis=(1, 2)) - (tables * slope).sum(axis=(1, 2)) ** 2 / total
    return value.mean(axis=1), variance


def simulate_clusters(setting: Setting, size: int, rng: np.random.Generator, runs: int) -> Counts:
    """The mean of true positive rates, of clusters whose rows share whether they are right."""
    truth = float(setting.law.value("tpr").mean() - setting.reference.value("tpr").mean())
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(runs):
            columns: list[np.ndarray] = []
            for law, n in ((setting.law, setting.n), (setting.reference, setting.n_reference)):
                columns.append(_clustered_rows(rng, law, n, size))
            y, hat = np.concatenate(columns, axis=1)
            group = np.repeat(["s", "l"], [setting.n, setting.n_reference])
            result = fs.group_metric(
                y,
                hat,
                metric="tpr_difference",
                classes="macro",
                sensitive_features=group,
                cluster=np.arange(group.size) // size,
                reference="l",
                margin=abs(truth),
                label_values=list(range(len(setting.law.shares))),
            )
            found.append(_answer(result))
    return _count(found, truth)


def _clustered_rows(rng: np.random.Generator, law: Law, n: int, size: int) -> np.ndarray:
    """Labels and predictions, shape (2, n): half of the rows of a cluster share one chance."""
    shares = np.array(law.shares)
    y = rng.choice(shares.size, n, p=shares)
    own = rng.random(n)
    shared = np.repeat(rng.random(-(-n // size)), size)[:n]
    chance = np.where(rng.random(n) < 0.3, shared, own)
    hat = y.copy()
    for label, right in enumerate(law.right):
        others = np.where(np.arange(shares.size) == label, 0.0, shares)
        wrong = (y == label) & (chance > right)
        hat[wrong] = rng.choice(shares.size, int(wrong.sum()), p=others / others.sum())
    return np.array([y, hat])


def simulate_family(
    n: int, n_reference: int, n_classes: int, rng: np.random.Generator, runs: int
) -> Counts:
    """Ratios of the shares of all classes in two groups beside a reference: one class of one group
    is at the threshold, which any verdict on it denies; all else is equal, which only "violated"
    denies."""
    shares = np.array([0.4, 0.3, 0.15, 0.1, 0.05])[:n_classes]
    shares = shares / shares.sum()
    lower = shares.copy()
    lower[0] *= 0.8
    lower[1:] *= (1 - lower[0]) / shares[1:].sum()
    wrong = 0
    for _ in range(runs):
        tables = {
            "s": rng.multinomial(n, lower),
            "t": rng.multinomial(n, shares),
            "l": rng.multinomial(n_reference, shares),
        }
        counts = ClassCounts.from_tables(tables, classes=NAMES[:n_classes])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = fs.disparate_impact(counts=counts, classes="one-vs-rest", reference="l")
        false = False
        for comparison in result.comparisons:
            is_edge = (comparison.group, comparison.label) == ("s", "a")
            if comparison.verdict == "violated" or (is_edge and comparison.verdict == "satisfied"):
                false = True
        wrong += false
    return {"false verdict": (wrong, runs)}


def simulate_gap(setting: Setting, rng: np.random.Generator, runs: int) -> Counts:
    """The largest gap of true positive rates over classes and two groups."""
    gaps = np.abs(setting.law.value("tpr") - setting.reference.value("tpr"))
    truth = float(gaps.max())
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(runs):
            counts = _draw(rng, setting)
            result = fs.equal_opportunity_difference(
                counts=counts, classes="one-vs-rest", agg="max", margin=truth
            )
            found.append(_answer(result))
    return _count(found, truth)


def simulate_simultaneous(setting: Setting, rng: np.random.Generator, runs: int) -> Counts:
    """Whether the max-z intervals of the shares of all classes hold at once."""
    truths = setting.law.value("selection_rate") - setting.reference.value("selection_rate")
    held = 0
    for _ in range(runs):
        result = fs.demographic_parity_difference(
            counts=_draw(rng, setting),
            classes="one-vs-rest",
            reference="l",
            simultaneous="max-z",
        )
        held += all(
            truth in comparison.confidence_interval
            for truth, comparison in zip(truths, result.comparisons, strict=True)
        )
    return {"coverage": (held, runs)}


def _mean_cell(setting: Setting, rate: str, contrast: str) -> Cell:
    def run(rng: np.random.Generator, runs: int) -> Counts:
        return simulate_mean(setting, rate, contrast, rng, runs)

    method = f"group_metric(metric='{rate}_{contrast}', classes='macro')"
    return Cell("classes", method, setting.words, run, 10_000, "conservative")


def _cells() -> Iterator[Cell]:
    for setting in _settings():
        for rate, contrast in (
            ("tpr", "difference"),
            ("tpr", "ratio"),
            ("ppv", "difference"),
            ("f1", "difference"),
            ("fpr", "difference"),
        ):
            # functions and ratios need ten rows of every class, which few small groups have
            needs_rows = contrast == "ratio" or rate in ("f1", "fpr")
            if not needs_rows or setting.n * min(setting.law.shares) >= 10:
                yield _mean_cell(setting, rate, contrast)
    for n, n_reference, n_classes in ((40, 1_000, 3), (200, 2_000, 5), (150, 150, 4)):

        def of_family(
            rng: np.random.Generator, runs: int, sizes: Any = (n, n_reference, n_classes)
        ) -> Counts:
            return simulate_family(*sizes, rng, runs)

        regime = f"{n_classes} classes, two groups of {n:,} rows beside {n_reference:,}"
        method = "disparate_impact(classes='one-vs-rest')"
        yield Cell("classes", method, regime, of_family, 2_000)
    for setting in _settings():
        if setting.n not in (100, 300):
            continue

        def of_gap(rng: np.random.Generator, runs: int, setting: Setting = setting) -> Counts:
            return simulate_gap(setting, rng, runs)

        def at_once(rng: np.random.Generator, runs: int, setting: Setting = setting) -> Counts:
            return simulate_simultaneous(setting, rng, runs)

        def of_clusters(rng: np.random.Generator, runs: int, setting: Setting = setting) -> Counts:
            return simulate_clusters(setting, 5, rng, runs)

        method = "equal_opportunity_difference(agg='max', classes='one-vs-rest')"
        yield Cell("classes", method, setting.words, of_gap, 2_000, "conservative")
        method = "demographic_parity_difference(classes='one-vs-rest', simultaneous='max-z')"
        yield Cell("classes", method, setting.words, at_once, 2_000, "conservative")
        method = "group_metric(metric='tpr_difference', classes='macro', cluster=…)"
        yield Cell(
            "classes", method, f"{setting.words}, clusters of 5", of_clusters, 2_000, "conservative"
        )

    for n, n_reference, shift, clustered in (
        (60, 200, -0.1, False),
        (100, 100, -0.1, False),
        (60, 600, 0.05, False),
        (100, 100, -0.1, True),
    ):
        yield _mean_in_strata(n, n_reference, shift, clustered=clustered)


def _mean_in_strata(n: int, n_reference: int, shift: float, *, clustered: bool) -> Cell:
    """The mean over three classes of true positive rates within three strata, at the margin.

    The rates of the group are those of its reference and the shift, in every class and stratum;
    strata have other shares of classes. Clusters are five rows of one group and stratum, of which
    each has its first row's prediction, right or not, with probability .5.
    """
    shares = np.array([[0.5, 0.35, 0.15], [0.3, 0.5, 0.2], [0.35, 0.25, 0.4]])
    right_of_reference = np.array([[0.9, 0.8, 0.7], [0.85, 0.75, 0.6], [0.8, 0.6, 0.5]])
    stratum = np.concatenate([np.repeat(np.arange(3), n), np.repeat(np.arange(3), n_reference)])
    is_group = np.repeat([True, False], [3 * n, 3 * n_reference])
    group = np.where(is_group, "a", "b")
    steps = shares.cumsum(axis=1)[stratum]
    unit = np.arange(group.size) // 5
    first = 5 * unit

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        results = []
        for _ in range(runs):
            label = np.minimum((rng.random(group.size)[:, None] > steps).sum(axis=1), 2)
            chance = rng.random(group.size)
            if clustered:
                common = rng.random(group.size) < 0.5
                chance = np.where(common, chance[first], chance)
            right = chance < right_of_reference[stratum, label] + shift * is_group
            other = (label + rng.integers(1, 3, group.size)) % 3
            result = fs.group_metric(
                label,
                np.where(right, label, other),
                metric="tpr_difference",
                sensitive_features=group,
                strata=stratum,
                classes="macro",
                label_values=[0, 1, 2],
                margin=abs(shift),
                reference="b",
                cluster=unit if clustered else None,
            )
            results.append(_answer(result.stratified))
        return _count(results, shift)

    words = f"3 classes of unlike shares, 3 × {n}/{n_reference}, difference {shift:g}"
    name = "group_metric(metric='tpr_difference', strata=, classes='macro')"
    if clustered:
        words += ", clusters of 5"
        name = "group_metric(metric='tpr_difference', strata=, classes='macro', cluster=…)"
    return Cell("strata", name, words, simulate, 2_000, "conservative")


CELLS = tuple(_cells())
