"""Up to 10,000 repeated cross-validations of German credit: the ground truth of both comparisons.

    python -m tests.benchmarks.um_german_many --minutes M --out FILE
    python -m tests.benchmarks.um_german_many --merge FILE             # puts FILE into the record

Barrainkua et al. (2024) take 10,000 cross-validations of each method as the truth. This script makes
them, with the folds and the counts of `um_german_credit` for the same seed, and several times faster:
distances between all rows are computed once, kernels are handed to the support vector machine, and
Hardt's post-processing of a hard prediction is solved on its one corner. A test compares the counts
with those of the slow record: a row on the very edge of the margin falls to the other side in one
cross-validation of a hundred at most. Every finished cross-validation is a line of JSON in FILE, and a run
that was broken off goes on where it stopped. What is in the record is every cross-validation that
was ever made by this script, in the order of the seeds 0, 1, 2, …; it ended by the clock.

First 2,000 of the three methods of comparisons (a) and (b), then 2,000 of the two methods of section
14.2, then up to 10,000 of all. `--methods` takes some of them only: Feldman's repair alone needs
aif360 and BlackBoxAuditing."""

from __future__ import annotations

import argparse
import gzip
import json
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.svm import SVC

from fairstats.methods.um.draws import entropy_of
from fairstats.methods.um.folds import stratified_folds
from tests.benchmarks.um_german_figures import of_counts
from tests.benchmarks.um_german_methods import columns, repaired

RECORD = Path(__file__).parent / "um_german_many.jsonl.gz"
FOLDS = 10
#: Cells of a record: tp, fp, fn, tn of the older, then of the young.
PLANNED = 10_000
FIRST = 2_000
COMPARED = ("Feldman + SVM", "FERM", "Lin. SVM + Hardt")
OF_SECTION_14 = ("LFERM", "SVM + Hardt")
#: Bins of fairlearn's `ThresholdOptimizer`.
GRID = 1_000
#: Digits of a point in the record.
DIGITS = 6


@dataclass(frozen=True)
class Machine:
    """A method: its kernel, and what is done to it.

    `kernel` is "rbf" or "linear", `repaired` whether columns are Feldman's; `fair` projects the
    kernel as FERM does; `hardt` post-processes predictions.
    """

    kernel: str = "rbf"
    C: float = 1.0
    repaired: bool = False
    fair: bool = False
    hardt: bool = False


MACHINES = {
    "Feldman + SVM": Machine(repaired=True),
    "FERM": Machine(fair=True),
    "LFERM": Machine("linear", C=0.1, fair=True),
    "SVM + Hardt": Machine(hardt=True),
    "Lin. SVM + Hardt": Machine("linear", C=0.1, hardt=True),
}


class Study:
    """The rows, their products and squared distances."""

    def __init__(self, *, with_repair: bool = True) -> None:
        self.X, self.label, self.group = columns()
        self.young = (self.group == "young").astype(np.intp)
        self.strata = 2 * self.young + self.label
        tables = {False: self.X}
        if with_repair:
            tables[True] = repaired(self.X, self.label, self.group)
        self.tables = tables
        self.products = {name: table @ table.T for name, table in tables.items()}
        self.distances = {}
        for name, products in self.products.items():
            squares = np.diag(products)
            self.distances[name] = squares[:, None] + squares[None, :] - 2.0 * products

    def kernels(
        self, machine: Machine, train: np.ndarray, test: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """K(x, x') of training rows by training rows, and of test rows by training rows.

        The width of the Gaussian is scikit-learn's, of training rows. The exponential is taken in
        place, of the rows that are needed: the same digits as of the whole table in less time.
        """
        if machine.kernel == "linear":
            products = self.products[machine.repaired]
            return products[np.ix_(train, train)], products[np.ix_(test, train)]
        table = self.tables[machine.repaired]
        gamma = 1.0 / (table.shape[1] * table[train].var())
        found = []
        for rows in (train, test):
            exponents = self.distances[machine.repaired][np.ix_(rows, train)]
            exponents *= -gamma
            found.append(np.exp(exponents, out=exponents))
        return found[0], found[1]

    def fold_cells(self, method: str, seed: int) -> np.ndarray:
        """Counts tp, fp, fn, tn (fold, group, cell) of one cross-validation."""
        machine = MACHINES[method]
        entropy = entropy_of(seed)
        streams = np.random.SeedSequence(entropy).spawn(8)
        folds = stratified_folds(self.strata, FOLDS, np.random.default_rng(streams[0]))
        cells = np.zeros((FOLDS, 2, 4), dtype=np.int64)
        for fold in range(FOLDS):
            train = np.flatnonzero(folds != fold)
            test = np.flatnonzero(folds == fold)
            random_state = int(streams[1].generate_state(fold + 1)[fold]) >> 1
            predicted = self.predict(machine, train, test, random_state)
            # 0 tp, 1 fp, 2 fn, 3 tn
            cell = np.where(predicted == 1, 1 - self.label[test], 3 - self.label[test])
            counts = np.bincount(4 * self.young[test] + cell, minlength=8)
            cells[fold] = counts.reshape(2, 4)
        return cells

    def predict(
        self, machine: Machine, train: np.ndarray, test: np.ndarray, random_state: int
    ) -> np.ndarray:
        """Labels of the test rows."""
        of_training, of_test = self.kernels(machine, train, test)
        y = self.label[train]
        if machine.fair:
            # at right angles to u = Σ direction_i φ(x_i), the difference of the groups' means
            favourable = y == 1
            one = favourable & (self.young[train] == 0)
            two = favourable & (self.young[train] == 1)
            direction = one / one.sum() - two / two.sum()
            along = of_training @ direction
            square = float(along @ direction)
            for kernel, own in ((of_test, of_test @ direction), (of_training, along)):
                shared = np.outer(own, along)
                shared /= square
                kernel -= shared
        fitted = SVC(kernel="precomputed", C=machine.C).fit(of_training, y)
        predicted = np.asarray(fitted.predict(of_test))
        if not machine.hardt:
            return predicted
        hard = np.asarray(fitted.predict(of_training))
        probability = equalised(hard, y, self.young[train])
        chances = probability[self.young[test], predicted]
        return (chances >= np.random.RandomState(random_state).rand(len(test))).astype(int)


def equalised(hard: np.ndarray, label: np.ndarray, group: np.ndarray) -> np.ndarray:
    """P(favourable | group, hard prediction) under equalised odds, shape (2, 2).

    Each group's curve has the corners (0, 0), its own point (x_s, y_s) and (1, 1). On a grid of x
    the lower of both curves is what both groups can reach; the point of the best balanced accuracy
    is taken. A group whose curve is higher there is mixed with a coin of probability x.
    """
    grid = np.linspace(0, 1, GRID + 1)
    curves = []
    chances = []
    for s in (0, 1):
        own = group == s
        x = float(hard[own & (label == 0)].mean())
        y = float(hard[own & (label == 1)].mean())
        curve, chance = _curve(x, y, grid)
        curves.append(curve)
        chances.append(chance)
    lowest = np.minimum(curves[0], curves[1])
    best = int(np.argmax(np.around(0.5 * lowest + 0.5 * (1.0 - grid), 15)))
    probability = np.empty((2, 2))
    for s in (0, 1):
        above = curves[s][best] - grid[best]
        ignored = 0.0 if above == 0 else (curves[s][best] - lowest[best]) / above
        probability[s] = ignored * grid[best] + (1 - ignored) * chances[s][best]
    return probability


def _curve(x: float, y: float, grid: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Height of (0, 0) – (x, y) – (1, 1) over the grid; P(1 | hard 0), P(1 | hard 1) there."""
    chance = np.empty((len(grid), 2))
    if y <= x:
        # below the diagonal: only always and never
        chance[:] = grid[:, None]
        return grid.copy(), chance
    left = grid <= x
    share = np.divide(grid, x, out=np.ones_like(grid), where=left & (x > 0))
    chance[left, 0] = 0.0
    chance[left, 1] = share[left]
    further = (grid[~left] - x) / (1 - x)
    chance[~left, 0] = further
    chance[~left, 1] = 1.0
    height = chance[:, 0] * (1 - y) + chance[:, 1] * y
    return height, chance


def keys(wanted: Collection[str] = tuple(MACHINES)) -> Iterator[tuple[int, str]]:
    """Rounds and wanted methods, in the order in which they are made."""
    compared = [method for method in COMPARED if method in wanted]
    of_section_14 = [method for method in OF_SECTION_14 if method in wanted]
    for methods in (compared, of_section_14):
        for seed in range(FIRST):
            for method in methods:
                yield seed, method
    for seed in range(FIRST, PLANNED):
        for method in (*compared, *of_section_14):
            yield seed, method


def make_line(study: Study, seed: int, method: str) -> dict[str, Any]:
    """Summed counts, and accuracy and both gaps as means over folds."""
    cells = study.fold_cells(method, seed)
    point = of_counts(cells).mean(axis=0)
    return {
        "seed": seed,
        "method": method,
        "cells": cells.sum(axis=0).ravel().tolist(),
        "point": [None if np.isnan(v) else round(float(v), DIGITS) for v in point],
    }


def run(out: Path, minutes: float, methods: Collection[str]) -> None:
    """Compute these methods until the CPU minutes are used up."""
    lines = read()
    if out.exists():
        lines += [json.loads(line) for line in out.open(encoding="utf-8")]
    done = {(line["seed"], line["method"]) for line in lines}
    study = Study(with_repair=any(MACHINES[method].repaired for method in methods))
    with out.open("a", encoding="utf-8") as file:
        for seed, method in keys(methods):
            if (seed, method) in done:
                continue
            if time.process_time() > 60 * minutes:
                return
            line = make_line(study, seed, method)
            file.write(json.dumps(line, separators=(",", ":")) + "\n")
            file.flush()


def read(record: Path = RECORD) -> list[dict[str, Any]]:
    """Every cross-validation of the record."""
    if not record.exists():
        return []
    with gzip.open(record, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def merge(out: Path) -> None:
    """The record with a finished run: the same bytes for the same cross-validations."""
    known = {(line["method"], line["seed"]): line for line in read()}
    for text in out.open(encoding="utf-8"):
        line = json.loads(text)
        known.setdefault((line["method"], line["seed"]), line)
    lines = [json.dumps(known[key], separators=(",", ":")) + "\n" for key in sorted(known)]
    RECORD.write_bytes(gzip.compress("".join(lines).encode(), 9, mtime=0))


@cache
def points() -> dict[str, dict[int, np.ndarray]]:
    """Method → seed → accuracy and both gaps, means over folds; NaN where a fold has none."""
    found: dict[str, dict[int, np.ndarray]] = {}
    for line in read():
        point = np.array([np.nan if v is None else v for v in line["point"]])
        found.setdefault(line["method"], {})[line["seed"]] = point
    return found


def differences(first: str, second: str, metrics: int = 2) -> np.ndarray:
    """Δ of accuracy and of both |gaps| of the rounds that both methods have, larger better."""
    both = sorted(points()[first].keys() & points()[second].keys())
    delta = np.array([points()[first][k] - points()[second][k] for k in both])
    delta = (delta * np.array([1.0, -1.0, -1.0]))[:, :metrics]
    return delta[np.isfinite(delta).all(axis=1)]


def main() -> None:
    """Parse the command line and run, or merge a run into the record."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.um_german_many", description=__doc__
    )
    parser.add_argument("--minutes", type=float, default=25.0, help="CPU minutes")
    parser.add_argument("--out", type=Path, help="lines of JSON of a run under way")
    parser.add_argument("--merge", type=Path, help="lines of JSON of a finished run")
    parser.add_argument(
        "--methods",
        nargs="+",
        choices=MACHINES,
        default=tuple(MACHINES),
        help="only these methods",
    )
    options = parser.parse_args()
    if options.merge:
        merge(options.merge)
    else:
        run(options.out, options.minutes, options.methods)


if __name__ == "__main__":
    main()
