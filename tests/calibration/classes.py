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
from fairstats.results import ClassCounts
from tests.calibration.study import Cell, Counts, tally_interval

NAMES = ("a", "b", "c", "d", "e")


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
    """The mean over classes of one group against the reference."""
    ours = setting.law.value(rate).mean()
    theirs = setting.reference.value(rate).mean()
    options: dict[str, Any] = {"metric": f"{rate}_{contrast}", "classes": "macro"}
    if contrast == "ratio":
        truth = float(ours / theirs)
        options["threshold"] = min(truth, 1 / truth)
    else:
        truth = float(ours - theirs)
        options["margin"] = abs(truth)
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(runs):
            counts = _draw(rng, setting)
            found.append(_answer(fs.group_metric(counts=counts, reference="l", **options)))
    return _count(found, truth)


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
    return Cell("classes", method, setting.words, run, 2_000, "conservative")


def _cells() -> Iterator[Cell]:
    for setting in _settings():
        for rate, contrast in (
            ("tpr", "difference"),
            ("tpr", "ratio"),
            ("ppv", "difference"),
            ("f1", "difference"),
            ("fpr", "difference"),
        ):
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


CELLS = tuple(_cells())
